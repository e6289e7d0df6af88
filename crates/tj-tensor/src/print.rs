//! Printing, in the manner of NumPy.

use std::fmt;

use crate::Tensor;

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}{:?}, {})", self.dtype, self.shape(), self.format())
    }
}
