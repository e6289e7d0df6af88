//! Other values for the same entries.

use super::{Leaf, Stored};
use crate::{LeafKind, Scalar, Tensor, TensorError};

impl Tensor {
    /// A tensor with the entries of this one and other values: one for each position of the leaf, in order. Index arrays are
    /// shared.
    ///
    /// ```
    /// use tj_tensor::{Scalar, Tensor};
    /// let x = Tensor::csr([2, 3], vec![0u32, 1, 2], vec![2u32, 0], vec![1.5, 2.5])?;
    /// let y = x.with_values(Tensor::from_shape_vec([2], vec![7i64, 8])?, Scalar::I64(0))?;
    /// assert_eq!(y.to_vec::<i64>()?, [0, 0, 7, 8, 0, 0]);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// A tensor that is strided; values of another number or rank, or of another dtype than the fill.
    pub fn with_values(&self, values: Tensor, fill: Scalar) -> Result<Tensor, TensorError> {
        let Some(stored) = self.stored() else {
            let reason = "a strided tensor has no entries to give values to".to_string();
            return Err(TensorError::Format { reason });
        };
        if values.dtype() != fill.dtype() {
            return Err(TensorError::DType { expected: values.dtype(), found: fill.dtype() });
        }
        let format = stored.format().clone().with_leaf(LeafKind::Values)?;
        let leaf = Leaf::Values(values.to_contiguous()?);
        let mut other = Stored::unchecked(format, &stored.shape, stored.levels.clone(), leaf, fill)?;
        other.counts.clone_from(&stored.counts);
        other.check_leaf()?;
        Ok(Tensor::of_stored(other))
    }
}
