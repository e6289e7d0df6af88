//! Medians and quantiles: elements of what is sorted, at positions that follow from the size.

use std::panic::Location;

use tj_tensor::DType;

use super::call::{Made, Place, call_one, or_failed, to_last};
use super::elementwise::{attach, map};
use super::gather::spread;
use super::movement::{moved, position};
use super::reduce::resolve_axis;
use super::{Kind, LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::function::Function;
use crate::guard::{Condition, Guard};
use crate::op::Op;

impl LazyTensor {
    /// The element in the middle of those along an axis, or the mean of both in the middle; NaN if any is NaN. Integers go to
    /// f64. Over an axis of size 0 it is an error, found when sizes are known.
    ///
    /// ```
    /// use tj_ir::{Dim, input};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::I32, [Dim::new("N", ..)?, 4.into()])?;
    /// let middle = x.median(0);
    /// assert_eq!((middle.dtype(), middle.shape()), (DType::F64, &[Dim::from(4)][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn median(&self, axis: i64) -> LazyTensor {
        or_failed(median(self, axis, Location::caller()))
    }

    /// The value below which a share `q` of the elements along an axis lies, between neighbours on a straight line; NaN if
    /// any is NaN. Integers go to f64. Over an axis of size 0 it is an error, found when sizes are known.
    #[track_caller]
    pub fn quantile(&self, q: f64, axis: i64) -> LazyTensor {
        or_failed(quantile(self, q, axis, Location::caller()))
    }
}

impl LazyTensor {
    /// [`quantile`](LazyTensor::quantile) of a share in percent, from 0 to 100.
    ///
    /// ```
    /// use tj_ir::input;
    /// use tj_tensor::DType;
    /// let x = input("x", DType::F32, [3.into()])?;
    /// assert_eq!(x.percentile(25.0, 0).rank(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn percentile(&self, percent: f64, axis: i64) -> LazyTensor {
        or_failed(quantile(self, percent / 100.0, axis, Location::caller()))
    }
}

/// Elements along an axis, sorted along the last one, which is not empty.
fn sorted(op: &'static str, x: &LazyTensor, axis: i64, location: Place) -> Made {
    x.check()?;
    let fail = |cause| IrError::new(cause, location);
    let axis = resolve_axis(op, x.rank(), axis).map_err(fail)?;
    let dtypes = [x.dtype()];
    let (_, dtype) =
        Op::Div.dtypes(&dtypes).ok_or_else(|| fail(Cause::DTypes { op, dtypes: dtypes.to_vec() }))?;
    let floats = map(Op::Cast(dtype), [to_last(x, axis, location).into()], location);
    let size = &x.shape()[axis];
    let guards = match Dim::ONE.known_le(size) {
        Some(true) => Vec::new(),
        Some(false) => return Err(fail(Cause::EmptyReduction { op, axis })),
        None => vec![Guard {
            condition: Condition::LessEqual(Dim::ONE, size.clone()),
            reason: format!("{op}: it is undefined over axis {axis} of size 0"),
            location,
        }],
    };
    let sorted = call_one(op, Function::Sort { descending: false }, vec![floats], &guards, location)?;
    // A size that is there already may have broken the guard.
    sorted.check()?;
    Ok(sorted)
}

/// The element at one position along the last axis.
fn element(op: &'static str, x: &LazyTensor, at: Dim, location: Place) -> LazyTensor {
    let last = x.rank() - 1;
    let map: Indices = (0..last).map(position).chain([at]).collect();
    moved(op, x, x.shape()[..last].iter().cloned().collect(), map, location)
}

/// `value`, or NaN where the last of what is sorted is NaN.
fn unless_nan(op: &'static str, sorted: &LazyTensor, value: LazyTensor, location: Place) -> LazyTensor {
    let last = element(op, sorted, &sorted.shape()[sorted.rank() - 1] - 1, location);
    let is_number = map(Op::Equal, [(&last).into(), (&last).into()], location);
    map(Op::Where, [is_number.into(), value.into(), last.into()], location)
}

fn median(x: &LazyTensor, axis: i64, location: Place) -> Made {
    let op = "median";
    let sorted = sorted(op, x, axis, location)?;
    let size = &sorted.shape()[sorted.rank() - 1];
    let two = Dim::from(2);
    let low = element(op, &sorted, (size - 1).floordiv(&two), location);
    let high = element(op, &sorted, size.floordiv(&two), location);
    let sum = map(Op::Add, [(&low).into(), (&high).into()], location);
    let mean = map(Op::Div, [sum.into(), 2.into()], location);
    // An infinity has itself for a neighbour, and a number as great as can be is not doubled.
    let same = map(Op::Equal, [(&low).into(), high.into()], location);
    let value = map(Op::Where, [same.into(), low.into(), mean.into()], location);
    Ok(unless_nan(op, &sorted, value, location))
}

fn quantile(x: &LazyTensor, q: f64, axis: i64, location: Place) -> Made {
    let op = "quantile";
    if !(0.0..=1.0).contains(&q) {
        let problem = format!("{q} is not between 0 and 1");
        return Err(IrError::new(Cause::Argument { op, problem }, location));
    }
    let sorted = sorted(op, x, axis, location)?;
    let (rows, dtype) = (sorted.rank() - 1, sorted.dtype());
    let last = &sorted.shape()[rows] - 1;
    let last = LazyTensor::node(Kind::Size(last), Shape::new(), DType::I64, location);
    let last_float = map(Op::Cast(DType::F64), [(&last).into()], location);
    let place = map(Op::Mul, [last_float.into(), q.into()], location);
    let low = map(Op::Cast(DType::I64), [(&place).into()], location);
    let high = map(Op::Add, [(&low).into(), 1.into()], location);
    let high = map(Op::Minimum, [high.into(), last.into()], location);
    let low_float = map(Op::Cast(DType::F64), [(&low).into()], location);
    let share = map(Op::Sub, [place.into(), low_float.into()], location);
    let share = map(Op::Cast(dtype), [share.into()], location);

    let mut guards = Vec::new();
    let shape: Shape = sorted.shape()[..rows].iter().cloned().chain([Dim::ONE]).collect();
    let mut at = |index: &LazyTensor| -> Made {
        let index = spread(op, index, &shape, &mut guards, location)?;
        let taken = call_one(op, Function::TakeAlong, vec![sorted.clone(), index], &[], location)?;
        Ok(element(op, &taken, Dim::ZERO, location))
    };
    let (low, high) = (at(&low)?, at(&high)?);
    let step = map(Op::Sub, [(&high).into(), (&low).into()], location);
    // From the nearer end, so that both ends are met exactly.
    let up = map(Op::Mul, [(&step).into(), (&share).into()], location);
    let up = map(Op::Add, [low.into(), up.into()], location);
    let rest = map(Op::Sub, [1.into(), (&share).into()], location);
    let down = map(Op::Mul, [step.into(), rest.into()], location);
    let down = map(Op::Sub, [high.into(), down.into()], location);
    let is_low = map(Op::Less, [share.into(), 0.5.into()], location);
    let value = map(Op::Where, [is_low.into(), up.into(), down.into()], location);
    let mut value = unless_nan(op, &sorted, value, location);
    if !guards.is_empty() {
        attach(&mut value, guards);
    }
    Ok(value)
}
