//! Positions as numbers, and reads that a mask guards.
//!
//! **Problem.** A concatenation reads its second part at `i - n`, which is outside of it while `i < n`; a mask throws
//! the element away, but the read must stay inside wherever it is evaluated, and a part of size 0 has no inside.
//! **Idea.** Such a read is clamped into `0..max(n, 1)`, and reads a copy with `max(n, 1)` elements along the axis if
//! `n` may be 0. The copy is a sum over an index that runs over `0..min(n, 1)`: one term if there are elements, the
//! empty sum if there are none. So no read is ever outside, whatever the sizes, and no layer below knows of masks.
//! **Cost.** Nothing where the size is known to be at least 1; else the copy.

use std::panic::Location;

use tj_tensor::{DType, Scalar};

use super::elementwise::map;
use super::movement::{insert_axes, moved, position};
use super::reduce::accumulated;
use super::{Kind, LazyTensor, Shape};
use crate::dim::Dim;
use crate::expr::Indices;
use crate::op::{Op, ReduceOp};

/// `0, 1, .., size - 1`.
pub(super) fn positions(size: &Dim, location: &'static Location<'static>) -> LazyTensor {
    LazyTensor::node(Kind::Positions, Shape::from_iter([size.clone()]), DType::I64, location)
}

/// Positions along `axis` of a tensor of this rank, with size 1 along all other axes.
pub(super) fn positions_along(
    size: &Dim,
    axis: usize,
    rank: usize,
    location: &'static Location<'static>,
) -> LazyTensor {
    let others: Vec<usize> = (0..rank).filter(|&d| d != axis).collect();
    insert_axes(&positions(size, location), &others, location)
}

/// A size as a number.
pub(super) fn size_number(size: &Dim, location: &'static Location<'static>) -> LazyTensor {
    LazyTensor::node(Kind::Size(size.clone()), Shape::new(), DType::I64, location)
}

/// A constant of rank 0.
pub(super) fn scalar(value: Scalar, location: &'static Location<'static>) -> LazyTensor {
    LazyTensor::node(Kind::Const(value), Shape::new(), value.dtype(), location)
}

/// `0 <= at < size` for a position inside of `max(size, 1)` elements.
pub(super) fn clamped(at: &Dim, size: &Dim) -> Dim {
    at.min(&(size.max(&Dim::ONE) - 1)).max(&Dim::ZERO)
}

/// `arg` with `max(n, 1)` elements along `axis`, where it has `n`: a zero if there are none.
pub(super) fn at_least_one(
    arg: &LazyTensor,
    axis: usize,
    location: &'static Location<'static>,
) -> LazyTensor {
    let size = &arg.shape()[axis];
    if Dim::ONE.known_le(size) == Some(true) {
        return arg.clone();
    }
    let dtype = arg.dtype();
    let rank = arg.rank();
    let mut shape = arg.0.shape.clone();
    shape[axis] = size.max(&Dim::ONE);
    let mut at: Indices = (0..rank).map(position).collect();
    at[axis] = position(axis).min(&(size - 1));
    let mut whole = shape.clone();
    whole.push(size.min(&Dim::ONE));
    let whole = moved("at_least_one", arg, whole, at, location);
    let work = accumulated(dtype);
    let arg = map(Op::Cast(work), [whole.into()], location);
    let sum = LazyTensor::node(Kind::Reduce { op: ReduceOp::Sum, arg, axis: rank }, shape, work, location);
    map(Op::Cast(dtype), [sum.into()], location)
}
