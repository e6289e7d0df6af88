//! Counts of what falls between edges, and values between points.

use std::panic::Location;

use tj_tensor::{DType, Scalar};

use super::call::{Made, Place, merge_axes, or_failed};
use super::elementwise::{Operand, attach, map, operand_dtype};
use super::gather::{scatter, spread, take};
use super::movement::{moved, position};
use super::positions::{scalar, size_number};
use super::sizes::require_size;
use super::sort::{Side, search};
use super::statistics::Ops;
use super::{LazyTensor, OptionalOperand, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::function::Combine;
use crate::guard::{Condition, Guard};
use crate::op::{Op, ReduceOp};

impl LazyTensor {
    /// Which of the bins between ascending edges each element falls into: 0 before the first edge, as many as there are
    /// edges behind the last. An element that is an edge belongs to the bin behind it, or before it with [`Side::Right`],
    /// where the right edge belongs to a bin.
    ///
    /// ```
    /// use tj_ir::{Side, input};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F32, [2.into(), 3.into()])?;
    /// let edges = input("edges", DType::F32, [4.into()])?;
    /// assert_eq!(x.digitize(&edges, Side::Left).shape(), x.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn digitize(&self, edges: &LazyTensor, closed: Side) -> LazyTensor {
        let side = if closed == Side::Left { Side::Right } else { Side::Left };
        or_failed(bins("digitize", self, edges, side, Location::caller()))
    }

    /// How often each number from 0 on stands in this vector of integers, up to a length; with weights the sums of those
    /// that stand beside it. A number below 0 or from the length on is an error of the call.
    ///
    /// ```
    /// use tj_ir::{Dim, input};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::I64, [9.into()])?;
    /// assert_eq!(x.bincount(5, None).shape(), [Dim::from(5)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn bincount(&self, length: impl Into<Dim>, weights: impl Into<OptionalOperand>) -> LazyTensor {
        let (length, OptionalOperand(weights), location) =
            (length.into(), weights.into(), Location::caller());
        or_failed(self.check().and_then(|()| {
            let op = "bincount";
            if !self.dtype().is_int() {
                return Err(IrError::new(Cause::DTypes { op, dtypes: vec![self.dtype()] }, location));
            }
            if self.rank() != 1 {
                let cause = Cause::Rank { op, expected: "needs a vector", rank: self.rank() };
                return Err(IrError::new(cause, location));
            }
            let at = map(Op::Cast(DType::I64), [self.into()], location);
            // A scatter would count a negative number from the end.
            let is_negative = map(Op::Less, [(&at).into(), 0.into()], location);
            let end = size_number(&length, location);
            let at = map(Op::Where, [is_negative.into(), end.into(), at.into()], location);
            counted(op, &at, &length, weights, location)
        }))
    }

    /// How many elements fall between neighbours of ascending edges; with weights the sums of those that stand beside them.
    /// An element that is an edge belongs to the bin behind it, and the last edge to the last bin. What is outside is not
    /// counted.
    ///
    /// ```
    /// use tj_ir::{Dim, input, linspace};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F64, [2.into(), 3.into()])?;
    /// let edges = linspace(0.0, 1.0, 11, DType::F64);
    /// assert_eq!(x.histogram(&edges, None).shape(), [Dim::from(10)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn histogram(&self, edges: &LazyTensor, weights: impl Into<OptionalOperand>) -> LazyTensor {
        let (OptionalOperand(weights), location) = (weights.into(), Location::caller());
        or_failed(histogram(self, edges, weights, location))
    }
}

/// Values at `x` on straight lines between the points `(xp, fp)`, of which `xp` ascends; before the first point and behind
/// the last they are those of that point.
///
/// ```
/// use tj_ir::{arange, input, interp};
/// use tj_tensor::DType;
///
/// let x = input("x", DType::F64, [2.into(), 3.into()])?;
/// let squares = arange(0, 5, 1).square();
/// assert_eq!(interp(&x, &arange(0, 5, 1), &squares).shape(), x.shape());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Points that are not two vectors of one size, or none.
#[track_caller]
pub fn interp(x: &LazyTensor, xp: &LazyTensor, fp: &LazyTensor) -> LazyTensor {
    or_failed(interpolated(x, xp, fp, Location::caller()))
}

/// Where elements stand among edges.
fn bins(op: &'static str, x: &LazyTensor, edges: &LazyTensor, side: Side, location: Place) -> Made {
    x.check()?;
    edges.check()?;
    if edges.rank() != 1 {
        return Err(IrError::new(
            Cause::Rank { op, expected: "needs a vector of edges", rank: edges.rank() },
            location,
        ));
    }
    search(edges, x, side, location)
}

/// Sums over what has the same number, of `length` numbers.
fn counted(
    op: &'static str,
    at: &LazyTensor,
    length: &Dim,
    weights: Option<Operand>,
    location: Place,
) -> Made {
    let mut guards = Vec::new();
    require_size(op, 0, length, &mut guards, location).map_err(|cause| IrError::new(cause, location))?;
    let ops = Ops(location);
    let weights = match weights {
        None => ops.constant(Scalar::I64(1)),
        Some(weights) => {
            let dtype = operand_dtype(&weights, None);
            let (_, dtype) = Op::Div
                .dtypes(&[dtype])
                .ok_or_else(|| IrError::new(Cause::DTypes { op, dtypes: vec![dtype] }, location))?;
            let weights = map(Op::Cast(dtype), [weights], location);
            weights.check()?;
            let weights = spread(op, &weights, at.shape(), &mut guards, location)?;
            merge_axes(&weights, 0, weights.rank(), location)
        }
    };
    let flat = merge_axes(at, 0, at.rank(), location);
    let none = scalar(Scalar::zero(weights.dtype()), location);
    let mut none = moved("zeros", &none, Shape::from_iter([length.clone()]), Indices::new(), location);
    attach(&mut none, guards);
    none.check()?;
    scatter(&none, &flat, &weights, 0, Combine::Reduce(ReduceOp::Sum), location)
}

/// A guard that a vector has an element.
fn require_points(op: &'static str, x: &LazyTensor, location: Place) -> Made<Vec<Guard>> {
    let size = &x.shape()[0];
    match Dim::ONE.known_le(size) {
        Some(true) => Ok(Vec::new()),
        Some(false) => Err(IrError::new(
            Cause::Argument { op, problem: "a vector without elements".to_string() },
            location,
        )),
        None => Ok(vec![Guard {
            condition: Condition::LessEqual(Dim::ONE, size.clone()),
            reason: format!("{op} needs an element at least"),
            location,
        }]),
    }
}

fn histogram(x: &LazyTensor, edges: &LazyTensor, weights: Option<Operand>, location: Place) -> Made {
    let (op, ops) = ("histogram", Ops(location));
    let behind = bins(op, x, edges, Side::Right, location)?;
    let guards = require_points(op, edges, location)?;
    let count = &edges.shape()[0] - 1;
    let last = moved(op, edges, Shape::new(), Indices::from_iter([count.clone()]), location);
    let is_last = ops.binary(Op::Equal, x, &last);
    let bin = ops.binary(Op::Sub, &behind, 1);
    let bin = ops.binary(Op::Sub, &bin, map(Op::Cast(DType::I64), [is_last.into()], location));
    // What is outside goes into a bin of its own, which is left out.
    let outside = ops.binary(Op::Less, &bin, 0);
    let bin = ops.choose(&outside, size_number(&count, location), &bin);
    let all = counted(op, &bin, &(&count + 1), weights, location)?;
    let mut inside = moved(op, &all, Shape::from_iter([count]), Indices::from_iter([position(0)]), location);
    attach(&mut inside, guards);
    inside.check()?;
    Ok(inside)
}

fn interpolated(x: &LazyTensor, xp: &LazyTensor, fp: &LazyTensor, location: Place) -> Made {
    let (op, ops) = ("interp", Ops(location));
    let found = bins(op, x, xp, Side::Right, location)?;
    fp.check()?;
    if fp.rank() != 1 {
        let cause = Cause::Rank { op, expected: "needs a vector of values", rank: fp.rank() };
        return Err(IrError::new(cause, location));
    }
    let mut guards = require_points(op, xp, location)?;
    let sizes = (&xp.shape()[0], &fp.shape()[0]);
    super::elementwise::require_equal(op, xp.shape(), fp.shape(), sizes, &mut guards, location)
        .map_err(|cause| IrError::new(cause, location))?;
    let float = |x: &LazyTensor| -> Made {
        let refused = || IrError::new(Cause::DTypes { op, dtypes: vec![x.dtype()] }, location);
        let (_, dtype) = Op::Div.dtypes(&[x.dtype()]).ok_or_else(refused)?;
        Ok(ops.unary(Op::Cast(dtype), x))
    };
    let (x, xp, mut fp) = (float(x)?, float(xp)?, float(fp)?);
    if !guards.is_empty() {
        fp = moved(op, &fp, fp.0.shape.clone(), Indices::from_iter([position(0)]), location);
        attach(&mut fp, guards);
        fp.check()?;
    }
    let last = &sizes.0.clone() - 1;
    let top = size_number(&(&last - 1).max(&Dim::ZERO), location);
    let low = ops.binary(Op::Maximum, &ops.binary(Op::Minimum, &ops.binary(Op::Sub, &found, 1), &top), 0);
    let high = ops.binary(Op::Minimum, &ops.binary(Op::Add, &low, 1), size_number(&last, location));
    let (x0, x1) = (take(&xp, &low, 0, location)?, take(&xp, &high, 0, location)?);
    let (y0, y1) = (take(&fp, &low, 0, location)?, take(&fp, &high, 0, location)?);
    let slope = ops.binary(Op::Div, &ops.binary(Op::Sub, &y1, &y0), ops.binary(Op::Sub, &x1, &x0));
    let from = |x0: &LazyTensor, y0: &LazyTensor| {
        ops.binary(Op::Add, &ops.binary(Op::Mul, &slope, ops.binary(Op::Sub, &x, x0)), y0)
    };
    // Where infinities cancel seen from the left point, the right one may still tell, and two equal ones do.
    let (left, right) = (from(&x0, &y0), from(&x1, &y1));
    let line = ops.choose(&ops.is_nan(&left), &right, &left);
    let is_level = ops.binary(Op::And, &ops.binary(Op::Equal, &y0, &y1), ops.binary(Op::Equal, &x, &x));
    let is_level = ops.binary(Op::And, &is_level, ops.is_nan(&line));
    let line = ops.choose(&is_level, &y0, &line);
    let line = ops.choose(&ops.binary(Op::Equal, &x, &x0), &y0, &line);
    let end = |at: Dim, of: &LazyTensor| moved(op, of, Shape::new(), Indices::from_iter([at]), location);
    let before = ops.binary(Op::Less, &x, end(Dim::ZERO, &xp));
    let line = ops.choose(&before, end(Dim::ZERO, &fp), &line);
    let behind = ops.binary(Op::GreaterEqual, &x, end(last.clone(), &xp));
    Ok(ops.choose(&behind, end(last, &fp), &line))
}
