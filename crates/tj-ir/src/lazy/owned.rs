//! Data that a program is given for good.
//!
//! A tensor that is deferred by value lies in its node until a program that reads it is computed, which takes it out. If
//! nobody else holds its memory then, a result may be written there. Handles to the node do not count, since a temporary
//! like `&defer_owned(x)` lives as long as the statement around it; so whoever comes second finds nothing, and is told so.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use tj_tensor::{Scalar, Tensor};

use super::{Kind, LazyTensor};
use crate::error::{Cause, IrError};

/// A tensor, until a program takes it.
#[derive(Clone)]
pub struct Owned(Arc<Mutex<Option<Arc<Tensor>>>>);

/// What is known of owned data even if they are gone.
pub(crate) struct OwnedData {
    pub owned: Owned,
    pub fill: Option<Scalar>,
}

/// Data as a lazy tensor that one computation takes.
///
/// A result of the same dtype and shape may be written to its memory, if no other tensor shares it and the program reads each
/// element before the result has it. Everything else is as if the tensor had been deferred by [`defer`](super::defer). A
/// second computation that needs it is an error, whether the first one used the memory or not, and even if it failed;
/// programs in stages, whose sizes depend on values, read it and leave it. Memory that the program which computed the tensor
/// keeps for its next call is shared, so that the first update copies.
///
/// ```
/// use tj_ir::{defer_owned, where_};
/// use tj_tensor::{DType, Tensor};
///
/// let x = defer_owned(Tensor::full([2, 3], 1.0)?);
/// let (mask, new) = (Tensor::full([2, 3], true)?, Tensor::full([3], 2.0)?);
/// let next = where_(&tj_ir::defer(&mask), &tj_ir::defer(&new), &x);
/// assert_eq!(next.dtype(), DType::F64);
/// # Ok::<(), tj_tensor::TensorError>(())
/// ```
#[track_caller]
pub fn defer_owned(tensor: Tensor) -> LazyTensor {
    let location = Location::caller();
    let (shape, dtype, fill) = (super::defer::sizes(&tensor), tensor.dtype(), tensor.fill());
    let owned = Owned(Arc::new(Mutex::new(Some(Arc::new(tensor)))));
    LazyTensor::node(Kind::Owned(OwnedData { owned, fill }), shape, dtype, location)
}

impl Owned {
    /// Takes the tensor out; `None` for whoever comes second.
    pub fn take(&self) -> Option<Arc<Tensor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The tensor, if it is still there.
    pub(crate) fn look(&self, location: &'static Location<'static>) -> Result<Arc<Tensor>, IrError> {
        let tensor = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tensor.ok_or_else(|| Owned::gone(location))
    }

    /// The error about a tensor that is not there any more, with the call that deferred it.
    pub fn gone(location: &'static Location<'static>) -> IrError {
        IrError::new(Cause::Taken, location)
    }
}

impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owned")
    }
}
