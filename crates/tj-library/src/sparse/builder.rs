//! Tensors that are built entry by entry.

use tj_tensor::{DType, Duplicates, Format, Scalar, Tensor, TensorError, with_dtype};

use super::entries::room;
use crate::LibraryError;

/// Collects entries, in any order, for a tensor. O(1) an entry, O(n log n) at the end. What was pushed stays usable after an
/// error of [`Builder::push`], which leaves nothing behind.
///
/// ```
/// use tj_library::sparse::Builder;
/// use tj_tensor::{DType, Duplicates, Format};
/// let mut builder = Builder::new(DType::F64, [2, 3]);
/// builder.push(&[1, 2], 5.0)?;
/// builder.push(&[0, 0], 1.0)?;
/// builder.push(&[1, 2], 2.0)?;
/// assert!(builder.push(&[2, 0], 1.0).is_err());
/// let x = builder.finish(Duplicates::Sum, &Format::csr())?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 0.0, 0.0, 0.0, 0.0, 7.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    dtype: DType,
    shape: Vec<usize>,
    fill: Scalar,
    columns: Vec<Vec<i64>>,
    /// The bits of each.
    values: Vec<u128>,
}

impl Builder {
    /// No entries yet, and 0 for the fill.
    pub fn new(dtype: DType, shape: impl AsRef<[usize]>) -> Builder {
        let shape = shape.as_ref().to_vec();
        let columns = vec![vec![]; shape.len()];
        Builder { dtype, shape, fill: Scalar::zero(dtype), columns, values: vec![] }
    }

    /// Another fill, which is rounded to the dtype.
    #[must_use]
    pub fn with_fill(self, fill: impl Into<Scalar>) -> Builder {
        let fill = fill.into().cast(self.dtype);
        Builder { fill, ..self }
    }

    /// Adds an entry. The value is rounded to the dtype.
    ///
    /// # Errors
    /// Coordinates that are not in the shape; no memory.
    pub fn push(&mut self, coordinates: &[usize], value: impl Into<Scalar>) -> Result<(), LibraryError> {
        if coordinates.len() != self.shape.len() {
            let (found, rank) = (coordinates.len(), self.shape.len());
            return Err(TensorError::IndexCount { found, rank }.into());
        }
        for (axis, (&value, &extent)) in coordinates.iter().zip(&self.shape).enumerate() {
            if value >= extent || i64::try_from(value).is_err() {
                let at = self.values.len();
                return Err(TensorError::Coordinate { axis, at, value, extent }.into());
            }
        }
        for column in &mut self.columns {
            reserve(column)?;
        }
        reserve(&mut self.values)?;
        self.columns.iter_mut().zip(coordinates).for_each(|(column, &c)| column.push(c as i64));
        self.values.push(value.into().cast(self.dtype).bits());
        Ok(())
    }

    /// The number of entries pushed, each counted that has the coordinates of another.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The tensor. Entries that equal the fill in the end are not stored, where the format allows.
    ///
    /// # Errors
    /// Duplicates that are refused; a format of another rank, or one that cannot hold the entries; no memory.
    pub fn finish(self, duplicates: Duplicates, format: &Format) -> Result<Tensor, LibraryError> {
        let Builder { dtype, shape, fill, columns, values } = self;
        let values = with_dtype!(dtype, T => {
            let value = |&bits: &u128| <T as tj_tensor::Element>::from_scalar(Scalar::from_bits(dtype, bits));
            let mut typed: Vec<T> = room(values.len())?;
            typed.extend(values.iter().map(|bits| value(bits).expect("the bits are of this dtype")));
            Tensor::from(typed)
        });
        let coordinates: Vec<Tensor> = columns.into_iter().map(Tensor::from).collect();
        // In coordinates first: another format may not hold what sums have made the fill.
        let coo = Format::coo(shape.len());
        let listed = Tensor::from_entries(&shape, &coordinates, values, fill, duplicates, &coo)?;
        Ok(listed.with_format(format)?)
    }
}

fn reserve<T>(column: &mut Vec<T>) -> Result<(), LibraryError> {
    let bytes = column.len().saturating_add(1).saturating_mul(2 * size_of::<T>());
    Ok(column.try_reserve(1).map_err(|_| TensorError::OutOfMemory { bytes })?)
}
