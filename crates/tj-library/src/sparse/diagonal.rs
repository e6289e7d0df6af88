//! Diagonals and what lies on either side of them.
//!
//! Diagonal `k` holds the elements at `i, i + k`. What a function leaves out becomes the fill, which is 0 unless somebody
//! declared another one.

use tj_tensor::{
    Coordinate, DType, Edge, Format, Leaf, LeafKind, Level, LevelFormat, LevelKind, Scalar, Tensor,
};

use super::entries::{Entries, extent_sum};
use crate::LibraryError;

/// Of a vector the square matrix with it as diagonal `k`, and of a matrix its diagonal `k` as a vector.
///
/// ```
/// use tj_library::sparse::diag;
/// use tj_tensor::Tensor;
/// let x = diag(&Tensor::from(vec![1.0, 2.0]), -1)?;
/// assert_eq!(x.to_vec::<f64>()?, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
/// assert_eq!(diag(&x, -1)?.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A tensor that is neither; a matrix that would be too large.
pub fn diag(x: &Tensor, k: isize) -> Result<Tensor, LibraryError> {
    let (down, right) = (k.min(0).unsigned_abs(), k.max(0).unsigned_abs());
    let entries = Entries::of(x)?;
    match *x.shape() {
        [n] => {
            let extent = extent_sum("diag", [n, down, right])?;
            let column = |by: usize| entries.columns[0].iter().map(|c| c + by as i64).collect();
            let columns = vec![column(down), column(right)];
            Entries { shape: vec![extent, extent], columns, ..entries }.build()
        }
        [rows, columns] => {
            let n = rows.saturating_sub(down).min(columns.saturating_sub(right));
            let mut entries = on_side(entries, |above| above == k as i128)?;
            let mut column = entries.columns.swap_remove(0);
            column.iter_mut().for_each(|c| *c -= down as i64);
            Entries { shape: vec![n], columns: vec![column], ..entries }.build()
        }
        _ => {
            let problem = format!("takes a vector or a matrix, not shape {:?}", x.shape());
            Err(LibraryError::Shape { function: "diag", problem })
        }
    }
}

/// The elements on diagonal `k` and below it, of each matrix in the last two axes; the others are the fill.
///
/// ```
/// use tj_library::sparse::{tril, triu};
/// use tj_tensor::Tensor;
/// let x = Tensor::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
/// assert_eq!(tril(&x, 0)?.to_vec::<i32>()?, [1, 0, 0, 4, 5, 0]);
/// assert_eq!(triu(&x, 1)?.to_vec::<i32>()?, [0, 2, 3, 0, 0, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A tensor without two axes.
pub fn tril(x: &Tensor, k: isize) -> Result<Tensor, LibraryError> {
    need_matrix("tril", x)?;
    on_side(Entries::of(x)?, |above| above <= k as i128)?.build()
}

/// As [`tril`], on the diagonal and above it.
///
/// # Errors
/// As [`tril`].
pub fn triu(x: &Tensor, k: isize) -> Result<Tensor, LibraryError> {
    need_matrix("triu", x)?;
    on_side(Entries::of(x)?, |above| above >= k as i128)?.build()
}

/// A matrix with ones on diagonal `k`, zeros elsewhere. It is stored as an interval a row and one value: O(1).
///
/// ```
/// use tj_library::sparse::eye;
/// use tj_tensor::{DType, Tensor};
/// assert_eq!(eye(2, 3, 1, DType::I64)?.to_vec::<i64>()?, [0, 1, 0, 0, 0, 1]);
/// assert_eq!(eye(1 << 62, 1 << 62, 0, DType::F64)?.get(&[5, 5])?, 1.0.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A size beyond `isize::MAX`.
pub fn eye(rows: usize, columns: usize, k: isize, dtype: DType) -> Result<Tensor, LibraryError> {
    // Beyond the greatest distance there is no diagonal.
    let k = k.min(isize::MAX - 1);
    let interval = LevelKind::Interval { low: Edge::Above(k), high: Edge::Above(k + 1) };
    let level = |dim, kind| LevelFormat { coordinate: Coordinate::Dim(dim), kind };
    let format = Format::new(vec![level(0, LevelKind::Dense), level(1, interval)], LeafKind::Iso)?;
    let (levels, leaf) = (vec![Level::Dense, Level::Interval], Leaf::Iso(Scalar::one(dtype)));
    Ok(Tensor::from_levels(format, [rows, columns], levels, leaf, Scalar::zero(dtype))?)
}

/// The entries of which a test holds of how far they are above the main diagonal.
fn on_side(entries: Entries, test: impl Fn(i128) -> bool) -> Result<Entries, LibraryError> {
    entries.retain(|entries, at| {
        let [.., rows, columns] = &entries.columns[..] else { return false };
        test(columns[at] as i128 - rows[at] as i128)
    })
}

fn need_matrix(function: &'static str, x: &Tensor) -> Result<(), LibraryError> {
    if x.rank() >= 2 {
        return Ok(());
    }
    let problem = format!("takes matrices, not shape {:?}", x.shape());
    Err(LibraryError::Shape { function, problem })
}
