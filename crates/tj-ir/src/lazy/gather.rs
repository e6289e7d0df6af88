//! Elements at positions that are data: gathers and scatters.

use std::panic::Location;

use super::call::{Made, Place, as_shape, call_one, from_last, merge_axes, or_failed, positions, to_last};
use super::complex::{PartsOp, by_parts, join, part};
use super::elementwise::{Fit, broadcast, map, require_equal};
use super::movement::{insert_axes, moved};
use super::positions::size_number;
use super::reduce::resolve_axis;
use super::{BROADCAST, LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::function::{Combine, Function};
use crate::guard::Guard;
use crate::op::{Op, ReduceOp};

impl LazyTensor {
    /// Slices at positions along an axis, counted from the end if negative; the axes of `indices` take the place of that
    /// axis. A position outside of the axis is an error of the call.
    ///
    /// ```
    /// use tj_ir::{Dim, input};
    /// use tj_tensor::DType;
    ///
    /// let words = Dim::new("W", ..)?;
    /// let table = input("table", DType::F32, [words, 64.into()])?;
    /// let text = input("text", DType::I32, [2.into(), 9.into()])?;
    /// assert_eq!(table.take(&text, 0).shape(), [2, 9, 64].map(Dim::from));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn take(&self, indices: &LazyTensor, axis: i64) -> LazyTensor {
        or_failed(take(self, indices, axis, Location::caller()))
    }

    /// Elements at positions along an axis, which each vector along that axis has of its own: `indices` has the shape of
    /// this tensor but for the axis, or sizes of 1. What [`LazyTensor::argsort`] gives sorts.
    ///
    /// ```
    /// use tj_ir::{Order, input};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F32, [5.into(), 3.into()])?;
    /// let sorted = x.take_along_axis(&x.argsort(0, Order::Ascending), 0);
    /// assert_eq!(sorted.shape(), x.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn take_along_axis(&self, indices: &LazyTensor, axis: i64) -> LazyTensor {
        or_failed(take_along(self, indices, axis, Location::caller()))
    }

    /// This tensor with `updates` combined into slices at positions along an axis, in order. `updates` broadcasts to the
    /// shape that [`LazyTensor::take`] of the same positions has.
    ///
    /// ```
    /// use tj_ir::{Combine, input};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F32, [5.into(), 3.into()])?;
    /// let at = input("at", DType::I64, [2.into()])?;
    /// let rows = input("rows", DType::F32, [2.into(), 3.into()])?;
    /// assert_eq!(x.scatter(&at, &rows, 0, Combine::Set).shape(), x.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn scatter(
        &self,
        indices: &LazyTensor,
        updates: &LazyTensor,
        axis: i64,
        combine: Combine,
    ) -> LazyTensor {
        or_failed(scatter(self, indices, updates, axis, combine, Location::caller()))
    }

    /// [`LazyTensor::scatter`] that adds.
    #[track_caller]
    pub fn scatter_add(&self, indices: &LazyTensor, updates: &LazyTensor, axis: i64) -> LazyTensor {
        let combine = Combine::Reduce(ReduceOp::Sum);
        or_failed(scatter(self, indices, updates, axis, combine, Location::caller()))
    }

    /// This tensor with `updates` combined into elements at positions along an axis, which each vector along that axis has
    /// of its own. `updates` broadcasts to the shape of `indices`.
    #[track_caller]
    pub fn scatter_along_axis(
        &self,
        indices: &LazyTensor,
        updates: &LazyTensor,
        axis: i64,
        combine: Combine,
    ) -> LazyTensor {
        or_failed(scatter_along(self, indices, updates, axis, combine, Location::caller()))
    }
}

fn axis_of(op: &'static str, x: &LazyTensor, axis: i64, location: Place) -> Made<usize> {
    x.check()?;
    resolve_axis(op, x.rank(), axis).map_err(|cause| IrError::new(cause, location))
}

/// Repeats axes of size 1, and new leading ones, to reach a shape.
pub(super) fn spread(
    op: &'static str,
    x: &LazyTensor,
    shape: &[Dim],
    guards: &mut Vec<Guard>,
    location: Place,
) -> Made {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    let whole = broadcast(op, x.shape(), shape, guards, location);
    let whole = whole.map_err(|cause| IrError::new(cause, location))?;
    let is_one = |d: usize| shape[d].actual() == Some(1) && whole[d].actual() != Some(1);
    let missing = whole.len().checked_sub(shape.len() + 1);
    if let Some(d) = missing.map(|_| 0).or_else(|| (0..shape.len()).find(|&d| is_one(d))) {
        let wanted = if missing.is_some() { Dim::ONE } else { shape[d].clone() };
        let (left, right, dims) = (x.shape().to_vec(), shape.to_vec(), Box::new((whole[d].clone(), wanted)));
        return Err(IrError::new(Cause::Shapes { op, left, right, dims }, location));
    }
    let at = Fit::read_at(x.shape(), shape);
    Ok(moved(BROADCAST, x, shape.iter().cloned().collect(), at, location))
}

/// `x` with `axis` replaced by the axes of `indices`.
fn taken_shape(x: &LazyTensor, indices: &LazyTensor, axis: usize) -> Shape {
    let (before, after) = (&x.shape()[..axis], &x.shape()[axis + 1..]);
    before.iter().chain(indices.shape()).chain(after).cloned().collect()
}

/// Positions along an axis of this size, counted from its start; one outside is an error of the call.
pub(super) fn located(op: &'static str, at: &LazyTensor, axis: usize, size: &Dim, location: Place) -> Made {
    let flat = merge_axes(&positions(op, at, location)?, 0, at.rank(), location);
    let size = insert_axes(&size_number(size, location), &[0], location);
    // A rank is far below 256.
    let function = Function::Locate { axis: u8::try_from(axis).unwrap_or(u8::MAX) };
    let found = call_one(op, function, vec![flat, size], &[], location)?;
    Ok(as_shape(&found, at.0.shape.clone(), location))
}

pub(super) fn take(x: &LazyTensor, indices: &LazyTensor, axis: i64, location: Place) -> Made {
    let op = "take";
    if x.dtype().is_complex() {
        return by_parts(x, location, |part| take(part, indices, axis, location));
    }
    let axis = axis_of(op, x, axis, location)?;
    let indices = positions(op, indices, location)?;
    let flat = merge_axes(&indices, 0, indices.rank(), location);
    let taken = if x.rank() == 1 {
        // One row of elements needs no axis of slices.
        call_one(op, Function::TakeAlong, vec![x.clone(), flat], &[], location)?
    } else {
        let slices = merge_axes(x, axis + 1, x.rank(), location);
        call_one(op, Function::Take, vec![slices, flat], &[], location)?
    };
    let shape = taken_shape(x, &indices, axis);
    let tensor = as_shape(&taken, shape, location);
    tensor.check()?;
    Ok(tensor)
}

fn take_along(x: &LazyTensor, indices: &LazyTensor, axis: i64, location: Place) -> Made {
    let op = "take_along_axis";
    if x.dtype().is_complex() {
        return by_parts(x, location, |part| take_along(part, indices, axis, location));
    }
    let axis = axis_of(op, x, axis, location)?;
    let indices = positions(op, indices, location)?;
    let mut guards = Vec::new();
    let (x, indices) = (to_last(x, axis, location), same_rank(op, x, &indices, axis, location)?);
    let rows = x.rank() - 1;
    let shared = broadcast(op, &x.shape()[..rows], &indices.shape()[..rows], &mut guards, location);
    let shared = shared.map_err(|cause| IrError::new(cause, location))?;
    let with = |last: &Dim| -> Shape { shared.iter().cloned().chain([last.clone()]).collect() };
    let x = spread(op, &x, &with(&x.shape()[rows]), &mut guards, location)?;
    let indices = spread(op, &indices, &with(&indices.shape()[rows]), &mut guards, location)?;
    let taken = call_one(op, Function::TakeAlong, vec![x, indices], &guards, location)?;
    Ok(from_last(&taken, axis, location))
}

/// The indices with their axis last, if they have as many axes as the tensor.
fn same_rank(op: &'static str, x: &LazyTensor, indices: &LazyTensor, axis: usize, location: Place) -> Made {
    if indices.rank() != x.rank() {
        let expected = "needs indices with as many axes as the tensor";
        return Err(IrError::new(Cause::Rank { op, expected, rank: indices.rank() }, location));
    }
    Ok(to_last(indices, axis, location))
}

/// Refuses to combine what has no arithmetic.
fn check_combine(op: &'static str, x: &LazyTensor, combine: Combine, location: Place) -> Made<()> {
    let dtype = x.dtype();
    match combine {
        Combine::Reduce(with) if dtype.is_complex() && with != ReduceOp::Sum => {
            Err(IrError::new(Cause::DTypes { op, dtypes: vec![dtype] }, location))
        }
        Combine::Reduce(with) if with.op().dtypes(&[dtype]).is_none() => {
            Err(IrError::new(Cause::DTypes { op, dtypes: vec![dtype] }, location))
        }
        Combine::Set | Combine::Reduce(_) => Ok(()),
    }
}

pub(super) fn scatter(
    x: &LazyTensor,
    indices: &LazyTensor,
    updates: &LazyTensor,
    axis: i64,
    combine: Combine,
    location: Place,
) -> Made {
    let op = "scatter";
    if x.dtype().is_complex() && updates.check().is_ok() {
        check_combine(op, x, combine, location)?;
        let updates = map(Op::Cast(x.dtype()), [updates.into()], location);
        let [re, im] = [PartsOp::Real, PartsOp::Imag].map(|which| {
            let updates = part(which, &updates, location);
            scatter(&part(which, x, location), indices, &updates, axis, combine, location)
        });
        return Ok(join(re?, im?, location));
    }
    let axis = axis_of(op, x, axis, location)?;
    let indices = positions(op, indices, location)?;
    updates.check()?;
    check_combine(op, x, combine, location)?;
    let updates = map(Op::Cast(x.dtype()), [updates.into()], location);
    let mut guards = Vec::new();
    let updates = spread(op, &updates, &taken_shape(x, &indices, axis), &mut guards, location)?;
    let merged = merge_axes(&updates, axis + indices.rank(), updates.rank(), location);
    let merged = merge_axes(&merged, axis, axis + indices.rank(), location);
    let flat = merge_axes(&indices, 0, indices.rank(), location);
    let slices = merge_axes(x, axis + 1, x.rank(), location);
    let result = call_one(op, Function::Scatter { combine }, vec![slices, flat, merged], &guards, location)?;
    Ok(as_shape(&result, x.0.shape.clone(), location))
}

fn scatter_along(
    x: &LazyTensor,
    indices: &LazyTensor,
    updates: &LazyTensor,
    axis: i64,
    combine: Combine,
    location: Place,
) -> Made {
    let op = "scatter_along_axis";
    if x.dtype().is_complex() && updates.check().is_ok() {
        check_combine(op, x, combine, location)?;
        let updates = map(Op::Cast(x.dtype()), [updates.into()], location);
        let [re, im] = [PartsOp::Real, PartsOp::Imag].map(|which| {
            let updates = part(which, &updates, location);
            scatter_along(&part(which, x, location), indices, &updates, axis, combine, location)
        });
        return Ok(join(re?, im?, location));
    }
    let axis = axis_of(op, x, axis, location)?;
    let indices = positions(op, indices, location)?;
    updates.check()?;
    check_combine(op, x, combine, location)?;
    let updates = map(Op::Cast(x.dtype()), [updates.into()], location);
    let mut guards = Vec::new();
    let updates = spread(op, &updates, indices.shape(), &mut guards, location)?;
    let indices = same_rank(op, x, &indices, axis, location)?;
    let (x, updates) = (to_last(x, axis, location), to_last(&updates, axis, location));
    let rows = x.rank() - 1;
    for (a, b) in x.shape()[..rows].iter().zip(indices.shape()) {
        require_equal(op, x.shape(), indices.shape(), (a, b), &mut guards, location)
            .map_err(|cause| IrError::new(cause, location))?;
    }
    let args = vec![x, indices, updates];
    let result = call_one(op, Function::ScatterAlong { combine }, args, &guards, location)?;
    Ok(from_last(&result, axis, location))
}
