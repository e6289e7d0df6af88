//! Other shapes of as many elements.

use tj_tensor::{Tensor, TensorError};

use super::entries::{Entries, cells, empty_columns, push_cell};
use crate::LibraryError;

/// The same elements in row-major order under another shape. The number of elements may be anything below 2^128. O(n).
///
/// ```
/// use tj_library::sparse::reshape;
/// use tj_tensor::{Duplicates, Tensor};
/// let (i, j) = (Tensor::from(vec![0_i64, 5]), Tensor::from(vec![1_i64, 2]));
/// let x = Tensor::coo([1 << 40, 1 << 40], &[i, j], vec![1, 2], Duplicates::Sum)?;
/// let y = reshape(&x, &[1 << 30, 1 << 50])?;
/// assert_eq!(y.get(&[0, (5 << 40) + 2])?, 2.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Another number of elements; more than can be counted; a size that no axis may have, such as -1 cast to `usize`.
pub fn reshape(x: &Tensor, shape: &[usize]) -> Result<Tensor, LibraryError> {
    if let Some(axis) = shape.iter().position(|&extent| isize::try_from(extent).is_err()) {
        let problem = format!(
            "size {} of axis {axis} is no size; each has to be given, as none is found by -1",
            shape[axis]
        );
        return Err(LibraryError::Argument { function: "reshape", problem });
    }
    let (from_count, to_count) = (cells(x.shape()), cells(shape));
    if from_count != to_count || from_count == u128::MAX {
        let (from, to) = (x.shape().to_vec(), shape.to_vec());
        return Err(TensorError::Reshape { from, to, from_count, to_count }.into());
    }
    let entries = Entries::of(x)?;
    let mut columns = empty_columns(shape.len(), entries.len())?;
    for at in 0..entries.len() {
        push_cell(&mut columns, shape, entries.place(at));
    }
    Entries { shape: shape.to_vec(), columns, ..entries }.build()
}
