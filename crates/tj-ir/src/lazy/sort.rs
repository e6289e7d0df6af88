//! Sorting, searching in what is sorted, and scans.

use std::panic::Location;

use super::LazyTensor;
use super::call::{Made, Place, as_shape, call_one, from_last, merge_axes, or_failed, to_last};
use super::complex::by_parts;
use super::elementwise::{map, require_equal};
use super::reduce::resolve_axis;
use crate::error::{Cause, IrError};
use crate::function::{Field, Function};
use crate::op::{Op, ReduceOp};
use tj_tensor::DType;

/// An order of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// From the least on.
    #[default]
    Ascending,
    /// From the greatest on.
    Descending,
}

/// Which of several positions a search gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first.
    #[default]
    Left,
    /// One past the last.
    Right,
}

/// The axis of a scan, and whether its result begins with the value over nothing.
///
/// ```
/// use tj_ir::{Dim, along, input};
/// use tj_tensor::DType;
///
/// let x = input("x", DType::F32, [Dim::from(3)])?;
/// assert_eq!(x.cumulative_sum(0).shape(), [Dim::from(3)]);
/// assert_eq!(x.cumulative_sum(along(0).include_initial()).shape(), [Dim::from(4)]);
/// assert_eq!(x.cumulative_sum(along(0).in_dtype(DType::F64)).dtype(), DType::F64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    axis: i64,
    initial: bool,
    dtype: Option<DType>,
}

/// Along an axis, counted from the end if negative.
pub fn along(axis: i64) -> Along {
    Along { axis, initial: false, dtype: None }
}

impl Along {
    /// Begins with the value over nothing: one element more.
    pub fn include_initial(self) -> Along {
        Along { initial: true, ..self }
    }

    /// Converts elements first, and combines them in this dtype.
    pub fn in_dtype(self, dtype: DType) -> Along {
        Along { dtype: Some(dtype), ..self }
    }
}

impl From<i64> for Along {
    fn from(axis: i64) -> Along {
        along(axis)
    }
}

impl From<i32> for Along {
    fn from(axis: i32) -> Along {
        along(axis.into())
    }
}

impl LazyTensor {
    /// Elements along an axis in order. Stable, and NaN comes last in both orders.
    ///
    /// ```
    /// use tj_ir::{Dim, Order, input};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F32, [Dim::new("N", ..)?, 4.into()])?;
    /// assert_eq!(x.sort(0, Order::Ascending).shape(), x.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn sort(&self, axis: i64, order: Order) -> LazyTensor {
        let function = Function::Sort { descending: order == Order::Descending };
        or_failed(along_axis("sort", function, self, axis, Location::caller()))
    }

    /// Positions along an axis, as `i64`, in the order of [`LazyTensor::sort`].
    #[track_caller]
    pub fn argsort(&self, axis: i64, order: Order) -> LazyTensor {
        let function = Function::Argsort { descending: order == Order::Descending };
        or_failed(along_axis("argsort", function, self, axis, Location::caller()))
    }

    /// Where each value would have to stand in this sorted vector: the first such position or the last. A sorted tensor of
    /// a higher rank is one vector a row, and has as many rows as the values.
    ///
    /// ```
    /// use tj_ir::{Side, input};
    /// use tj_tensor::DType;
    ///
    /// let edges = input("edges", DType::F32, [10.into()])?;
    /// let x = input("x", DType::F32, [2.into(), 3.into()])?;
    /// let bins = edges.searchsorted(&x, Side::Right);
    /// assert_eq!((bins.dtype(), bins.shape()), (DType::I64, x.shape()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn searchsorted(&self, values: &LazyTensor, side: Side) -> LazyTensor {
        or_failed(search(self, values, side, Location::caller()))
    }

    /// [`LazyTensor::searchsorted`] in a vector that `sorter`, such as [`LazyTensor::argsort`] gives, would sort. Rows have a
    /// sorter each.
    ///
    /// ```
    /// use tj_ir::{Order, Side, input};
    /// use tj_tensor::DType;
    ///
    /// let edges = input("edges", DType::F32, [10.into()])?;
    /// let x = input("x", DType::F32, [2.into(), 3.into()])?;
    /// let bins = edges.searchsorted_by(&x, Side::Left, &edges.argsort(0, Order::Ascending));
    /// assert_eq!(bins.shape(), x.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn searchsorted_by(&self, values: &LazyTensor, side: Side, sorter: &LazyTensor) -> LazyTensor {
        let location = Location::caller();
        let sorted = self.take_along_axis(sorter, -1);
        or_failed(search(&sorted, values, side, location))
    }

    /// Sums of all elements up to each one. `bool` and narrow integers widen to 64 bits.
    #[track_caller]
    pub fn cumulative_sum(&self, along: impl Into<Along>) -> LazyTensor {
        or_failed(scan("cumulative_sum", ReduceOp::Sum, self, along.into(), Location::caller()))
    }

    /// Products of all elements up to each one. `bool` and narrow integers widen to 64 bits.
    #[track_caller]
    pub fn cumulative_prod(&self, along: impl Into<Along>) -> LazyTensor {
        or_failed(scan("cumulative_prod", ReduceOp::Prod, self, along.into(), Location::caller()))
    }

    /// The greatest of all elements up to each one; NaN from the first NaN on.
    #[track_caller]
    pub fn cumulative_max(&self, along: impl Into<Along>) -> LazyTensor {
        or_failed(scan("cumulative_max", ReduceOp::Max, self, along.into(), Location::caller()))
    }

    /// The least of all elements up to each one; NaN from the first NaN on.
    #[track_caller]
    pub fn cumulative_min(&self, along: impl Into<Along>) -> LazyTensor {
        or_failed(scan("cumulative_min", ReduceOp::Min, self, along.into(), Location::caller()))
    }
}

/// A function of vectors, on those along an axis.
fn along_axis(op: &'static str, function: Function, x: &LazyTensor, axis: i64, location: Place) -> Made {
    x.check()?;
    let axis = resolve_axis(op, x.rank(), axis).map_err(|cause| IrError::new(cause, location))?;
    let result = call_one(op, function, vec![to_last(x, axis, location)], &[], location)?;
    Ok(from_last(&result, axis, location))
}

fn scan(op: &'static str, with: ReduceOp, x: &LazyTensor, along: Along, location: Place) -> Made {
    x.check()?;
    let dtype = along.dtype.unwrap_or(with.dtype(x.dtype()));
    if with.op().dtypes(&[dtype]).is_none() {
        return Err(IrError::new(Cause::DTypes { op, dtypes: vec![dtype] }, location));
    }
    let wide = map(Op::Cast(dtype), [x.into()], location);
    if dtype.is_complex() && with == ReduceOp::Sum {
        return by_parts(&wide, location, |part| scan(op, with, part, along, location));
    }
    let field = if dtype.is_complex() { Field::Complex } else { Field::Real };
    let function = Function::Scan { op: with, initial: along.initial, field };
    along_axis(op, function, &wide, along.axis, location)
}

pub(super) fn search(sorted: &LazyTensor, values: &LazyTensor, side: Side, location: Place) -> Made {
    let op = "searchsorted";
    let fail = |cause| IrError::new(cause, location);
    sorted.check()?;
    values.check()?;
    let rank = sorted.rank();
    if rank == 0 {
        return Err(fail(Cause::Rank { op, expected: "needs a vector to search in", rank }));
    }
    let dtype = sorted.dtype().promote(values.dtype());
    let sorted = map(Op::Cast(dtype), [sorted.into()], location);
    let values = map(Op::Cast(dtype), [values.into()], location);
    let function = Function::Searchsorted { right: side == Side::Right };
    if rank == 1 {
        let flat = merge_axes(&values, 0, values.rank(), location);
        let found = call_one(op, function, vec![sorted, flat], &[], location)?;
        return Ok(as_shape(&found, values.0.shape.clone(), location));
    }
    if values.rank() != rank {
        let expected = "needs as many axes in the values as in the sorted rows";
        return Err(fail(Cause::Rank { op, expected, rank: values.rank() }));
    }
    let mut guards = Vec::new();
    for (a, b) in sorted.shape()[..rank - 1].iter().zip(values.shape()) {
        require_equal(op, sorted.shape(), values.shape(), (a, b), &mut guards, location).map_err(fail)?;
    }
    call_one(op, function, vec![sorted, values], &guards, location)
}
