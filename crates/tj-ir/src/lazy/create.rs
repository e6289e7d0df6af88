//! Tensors made of nothing but sizes and numbers.

use std::panic::Location;

use tj_tensor::{DType, Scalar};

use super::elementwise::{attach, map};
use super::movement::{Attempt, moved};
use super::positions::{positions_along, scalar};
use super::shape::NewShape;
use super::sizes::require_size;
use super::{LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::op::Op;

pub(super) fn built(location: &'static Location<'static>, f: impl FnOnce() -> Attempt) -> LazyTensor {
    f().unwrap_or_else(|cause| LazyTensor::failed(IrError::new(cause, location)))
}

/// For functions whose results are made of float arithmetic.
pub(super) fn require_float(op: &'static str, dtype: DType) -> Result<(), Cause> {
    if dtype != DType::F32 && dtype != DType::F64 {
        return Err(Cause::Argument { op, problem: format!("gives f32 or f64, not {dtype}") });
    }
    Ok(())
}

/// One number everywhere.
///
/// ```
/// use tj_ir::{full, Dim};
/// use tj_tensor::DType;
///
/// let n = Dim::new("N", ..)?;
/// let x = full([n.clone(), 3.into()], 0.5_f32);
/// assert_eq!((x.shape(), x.dtype()), ([n, 3.into()].as_slice(), DType::F32));
/// # Ok::<(), tj_ir::DimError>(())
/// ```
///
/// # Errors
/// A size that is negative whatever the symbols are, or left open.
#[track_caller]
pub fn full(shape: impl Into<NewShape>, value: impl Into<Scalar>) -> LazyTensor {
    filled("full", &shape.into(), value.into(), Location::caller())
}

/// Zeros.
///
/// # Errors
/// As [`full`].
#[track_caller]
pub fn zeros(shape: impl Into<NewShape>, dtype: DType) -> LazyTensor {
    filled("zeros", &shape.into(), Scalar::zero(dtype), Location::caller())
}

/// What NumPy leaves undefined and this library does not: zeros, which fuse into whatever reads them, so that memory that was
/// never written is never seen.
///
/// ```
/// use tj_ir::empty;
/// use tj_tensor::DType;
/// assert_eq!(empty([2, 3], DType::F32).rank(), 2);
/// ```
///
/// # Errors
/// As [`full`].
#[track_caller]
pub fn empty(shape: impl Into<NewShape>, dtype: DType) -> LazyTensor {
    filled("empty", &shape.into(), Scalar::zero(dtype), Location::caller())
}

/// Ones.
///
/// # Errors
/// As [`full`].
#[track_caller]
pub fn ones(shape: impl Into<NewShape>, dtype: DType) -> LazyTensor {
    filled("ones", &shape.into(), Scalar::one(dtype), Location::caller())
}

impl LazyTensor {
    /// Zeros of the shape and dtype of this tensor.
    #[track_caller]
    pub fn zeros_like(&self) -> LazyTensor {
        self.attempt(|location| Ok(spread("zeros", &self.0.shape, Scalar::zero(self.dtype()), location)))
    }

    /// As [`empty`], of the shape and dtype of this tensor.
    #[track_caller]
    pub fn empty_like(&self) -> LazyTensor {
        self.attempt(|location| Ok(spread("empty", &self.0.shape, Scalar::zero(self.dtype()), location)))
    }

    /// Ones of the shape and dtype of this tensor.
    #[track_caller]
    pub fn ones_like(&self) -> LazyTensor {
        self.attempt(|location| Ok(spread("ones", &self.0.shape, Scalar::one(self.dtype()), location)))
    }

    /// One number everywhere, in the shape and dtype of this tensor; converts the number.
    #[track_caller]
    pub fn full_like(&self, value: impl Into<Scalar>) -> LazyTensor {
        let value = value.into().cast(self.dtype());
        self.attempt(|location| Ok(spread("full", &self.0.shape, value, location)))
    }
}

fn filled(
    op: &'static str,
    sizes: &NewShape,
    value: Scalar,
    location: &'static Location<'static>,
) -> LazyTensor {
    built(location, || {
        let shape: Shape =
            sizes.as_slice().iter().map(|size| size.clone().unwrap_or(Dim::from(-1))).collect();
        let mut guards = Vec::new();
        for (axis, size) in shape.iter().enumerate() {
            require_size(op, axis, size, &mut guards, location)?;
        }
        let mut tensor = spread(op, &shape, value, location);
        if tensor.check().is_ok() && !shape.is_empty() {
            attach(&mut tensor, guards);
        }
        Ok(tensor)
    })
}

fn spread(
    op: &'static str,
    shape: &[Dim],
    value: Scalar,
    location: &'static Location<'static>,
) -> LazyTensor {
    let number = scalar(value, location);
    if shape.is_empty() {
        return number;
    }
    moved(op, &number, Shape::from(shape), Indices::new(), location)
}

/// Ones on a diagonal of a matrix, zeros elsewhere. The diagonal starts `offset` columns to the right of the first
/// element, or below it if negative.
///
/// # Errors
/// A size that is negative whatever the symbols are.
#[track_caller]
pub fn eye(rows: impl Into<Dim>, columns: impl Into<Dim>, offset: i64, dtype: DType) -> LazyTensor {
    let (shape, location) = ([rows.into(), columns.into()], Location::caller());
    built(location, || {
        let mut guards = Vec::new();
        for (axis, size) in shape.iter().enumerate() {
            require_size("eye", axis, size, &mut guards, location)?;
        }
        let mut row = positions_along(&shape[0], 0, 2, location);
        attach(&mut row, guards);
        let column = positions_along(&shape[1], 1, 2, location);
        let shifted = map(Op::Add, [row.into(), offset.into()], location);
        let hit = map(Op::Equal, [column.into(), shifted.into()], location);
        Ok(map(Op::Cast(dtype), [hit.into()], location))
    })
}
