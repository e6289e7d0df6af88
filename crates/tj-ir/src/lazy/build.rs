//! Leaves: inputs, data, numbers and sizes.

use std::panic::Location;
use std::sync::Arc;

use tj_tensor::{DType, Scalar, Tensor};

use super::elementwise::attach;
use super::sizes::require_size;
use super::{Kind, LazyTensor, Shape, Storage};
use crate::dim::Dim;
use crate::error::{Cause, IrError};

/// An argument of a program, without data. It is dense unless [`LazyTensor::with_format`] says otherwise.
///
/// ```
/// use tj_ir::{input, Dim};
/// use tj_tensor::DType;
///
/// let n = Dim::new("N", 0..=4096)?;
/// let x = input("x", DType::F32, [n, 64.into()])?;
/// assert_eq!(x.rank(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A name that is not an identifier; a size that overflowed or is negative whatever the symbols are; more than
/// [`MAX_RANK`](super::MAX_RANK) axes.
#[track_caller]
pub fn input(name: &str, dtype: DType, shape: impl IntoIterator<Item = Dim>) -> Result<LazyTensor, IrError> {
    let location = Location::caller();
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !starts || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(IrError::new(Cause::Name { name: name.to_string() }, location));
    }
    let shape: Shape = shape.into_iter().collect();
    let what = format!("input {name}");
    let mut guards = Vec::new();
    for (axis, dim) in shape.iter().enumerate() {
        require_size(&what, axis, dim, &mut guards, location)
            .map_err(|cause| IrError::new(cause, location))?;
    }
    let mut tensor = LazyTensor::node(
        Kind::Input { name: Arc::from(name), storage: Storage::default() },
        shape,
        dtype,
        location,
    );
    tensor.check()?;
    attach(&mut tensor, guards);
    Ok(tensor)
}

/// A tensor that is there already; its sizes are fixed. Shares the storage.
#[track_caller]
pub fn constant(tensor: &Tensor) -> LazyTensor {
    let location = Location::caller();
    let shape: Shape = tensor.shape().iter().map(|&extent| Dim::from(extent)).collect();
    LazyTensor::node(Kind::Data(Arc::new(tensor.clone())), shape, tensor.dtype(), location)
}

/// A number of a certain dtype, as a tensor of rank 0.
#[track_caller]
pub fn number(value: impl Into<Scalar>) -> LazyTensor {
    let value = value.into();
    LazyTensor::node(Kind::Const(value), Shape::new(), value.dtype(), Location::caller())
}

/// A size as an `i64` tensor of rank 0.
#[track_caller]
pub fn size(dim: &Dim) -> LazyTensor {
    LazyTensor::node(Kind::Size(dim.clone()), Shape::new(), DType::I64, Location::caller())
}
