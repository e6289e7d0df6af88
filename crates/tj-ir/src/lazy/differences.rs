//! Differences and sums of neighbours: finite differences, slopes, areas.

use std::panic::Location;

use super::arrange::along;
use super::elementwise::{Operand, as_tensor, map, operand_dtype};
use super::join::join;
use super::movement::{Attempt, insert_axes, position};
use super::positions::{positions_along, size_number};
use super::reduce::{Axes, reduce, resolve_axis};
use super::statistics::{Ops, float_of};
use super::{LazyTensor, OptionalOperand, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::guard::{Condition, Guard};
use crate::op::{Op, ReduceOp};

type Loc = &'static Location<'static>;

impl LazyTensor {
    /// Differences of neighbours along an axis, `times` times over; each makes the axis one shorter, down to 0. Of
    /// `bool`: whether they differ.
    ///
    /// ```
    /// use tj_ir::{arange, Dim};
    /// assert_eq!(arange(0, 5, 1).diff(2, 0).shape(), [Dim::from(3)]);
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank.
    #[track_caller]
    pub fn diff(&self, times: u32, axis: i64) -> LazyTensor {
        self.attempt(|location| differences(self, times, axis, location))
    }

    /// [`diff`](LazyTensor::diff) with elements put before and after those along the axis first: tensors of the same other
    /// sizes, or one number for all.
    ///
    /// ```
    /// use tj_ir::{arange, Dim};
    /// assert_eq!(arange(0, 5, 1).diff_with(1, 0, 0, None).shape(), [Dim::from(5)]);
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank; tensors of other sizes.
    #[track_caller]
    pub fn diff_with(
        &self,
        times: u32,
        axis: i64,
        prepend: impl Into<OptionalOperand>,
        append: impl Into<OptionalOperand>,
    ) -> LazyTensor {
        let (OptionalOperand(prepend), OptionalOperand(append)) = (prepend.into(), append.into());
        self.attempt(|location| {
            let d = resolve_axis("diff", self.rank(), axis)?;
            let side = |x: &Option<Operand>| x.as_ref().map(|x| beside(self, d, x, location)).transpose();
            let (before, after) = (side(&prepend)?, side(&append)?);
            let parts: Vec<LazyTensor> = before.into_iter().chain([self.clone()]).chain(after).collect();
            differences(&join("diff", &parts, axis, location)?, times, axis, location)
        })
    }

    /// Slopes along an axis whose positions are `spacing` apart: half the difference of both neighbours inside, the
    /// difference to the one neighbour at both ends. Integers go to f64.
    ///
    /// ```
    /// use tj_ir::{arange, Dim};
    /// assert_eq!(arange(0, 5, 1).gradient(0.5, 0).shape(), [Dim::from(5)]);
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank, or with fewer than 2 elements.
    #[track_caller]
    pub fn gradient(&self, spacing: f64, axis: i64) -> LazyTensor {
        self.attempt(|location| {
            let (op, ops) = ("gradient", Ops(location));
            let d = resolve_axis(op, self.rank(), axis)?;
            let size = &self.shape()[d];
            let least = Dim::from(2);
            let guards = match least.known_le(size) {
                Some(true) => Vec::new(),
                Some(false) => {
                    let problem = format!("axis {d} has size {size}; it needs 2 elements at least");
                    return Err(Cause::Argument { op, problem });
                }
                None => vec![Guard {
                    condition: Condition::LessEqual(least, size.clone()),
                    reason: format!("{op}: axis {d} needs 2 elements at least"),
                    location,
                }],
            };
            let x = ops.unary(Op::Cast(float_of(op, self.dtype())?), self);
            let read = |at: Dim| along(op, &x, d, size.clone(), at, location);
            let mut above = read((position(d) + 1).min(&(size - 1)));
            super::elementwise::attach(&mut above, guards);
            let below = read((position(d) - 1).max(&Dim::ZERO));
            let at = positions_along(size, d, self.rank(), location);
            let is_first = ops.binary(Op::Equal, &at, 0);
            let is_last = ops.binary(Op::Equal, &at, size_number(&(size - 1), location));
            let is_end = ops.binary(Op::Or, &is_first, is_last);
            let distance = |times: f64| ops.constant(tj_tensor::Scalar::F64(times * spacing));
            let distance = ops.choose(&is_end, distance(1.0), distance(2.0));
            let distance = ops.unary(Op::Cast(x.dtype().real()), &distance);
            Ok(ops.binary(Op::Div, &ops.binary(Op::Sub, &above, &below), distance))
        })
    }

    /// The area below straight lines between the elements along an axis, by the trapezoidal rule. `x` is the distance of
    /// two positions, or a vector of them all, or a tensor of the shape of this one. Integers go to f64.
    ///
    /// ```
    /// use tj_ir::{arange, linspace, Dim};
    /// use tj_tensor::DType;
    /// let y = arange(0, 5, 1);
    /// assert_eq!(y.trapezoid(0.5, -1).rank(), 0);
    /// assert_eq!(y.trapezoid(linspace(0.0, 1.0, 5, DType::F64), -1).rank(), 0);
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank; positions that do not fit.
    #[track_caller]
    pub fn trapezoid(&self, x: impl Into<Operand>, axis: i64) -> LazyTensor {
        let x = x.into();
        self.attempt(|location| {
            let (op, ops) = ("trapezoid", Ops(location));
            let d = resolve_axis(op, self.rank(), axis)?;
            let y = ops.unary(Op::Cast(float_of(op, self.dtype())?), self);
            let width = match x {
                Operand::Tensor(x) if x.rank() == 1 => {
                    let widths = differences(&x, 1, 0, location)?;
                    let others: Vec<usize> = (0..self.rank()).filter(|&other| other != d).collect();
                    Operand::from(insert_axes(&widths, &others, location))
                }
                Operand::Tensor(x) if x.rank() > 0 => Operand::from(differences(&x, 1, axis, location)?),
                number @ (Operand::Tensor(_)
                | Operand::Int(_)
                | Operand::Float(_)
                | Operand::Bool(_)
                | Operand::Complex(_)) => number,
            };
            let [right, left] = [1, 0].map(|by| neighbours(op, &y, d, by, location));
            let sum = ops.binary(Op::Add, &right, &left);
            let areas = ops.binary(Op::Div, &ops.binary(Op::Mul, &sum, width), 2.0);
            Ok(reduce(ReduceOp::Sum, &areas, &Axes::from(d as i64), location))
        })
    }
}

/// What stands beside the elements along an axis: a number is one element everywhere.
fn beside(x: &LazyTensor, axis: usize, side: &Operand, location: Loc) -> Attempt {
    let dtype = operand_dtype(side, Some(x.dtype()));
    let fail = |error: IrError| Cause::clone(&error.cause);
    let side = as_tensor(side, dtype, "diff", location).map_err(fail)?;
    side.check().map_err(fail)?;
    if side.rank() > 0 {
        return Ok(side);
    }
    let mut shape = Shape::from(x.shape());
    shape[axis] = Dim::ONE;
    Ok(super::movement::moved("diff", &side, shape, Default::default(), location))
}

/// All elements along an axis but the last one, moved by so many.
fn neighbours(op: &'static str, x: &LazyTensor, axis: usize, by: i64, location: Loc) -> LazyTensor {
    let size = (&x.shape()[axis] - 1).max(&Dim::ZERO);
    along(op, x, axis, size, position(axis) + by, location)
}

fn differences(x: &LazyTensor, times: u32, axis: i64, location: Loc) -> Attempt {
    let axis = resolve_axis("diff", x.rank(), axis)?;
    let op = if x.dtype().is_bool() { Op::NotEqual } else { Op::Sub };
    let mut rest = x.clone();
    for _ in 0..times {
        if rest.check().is_err() {
            break;
        }
        let [right, left] = [1, 0].map(|by| neighbours("diff", &rest, axis, by, location));
        rest = map(op, [right.into(), left.into()], location);
    }
    Ok(rest)
}
