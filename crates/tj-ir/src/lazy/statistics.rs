//! Reductions that are made of others: logic, positions of extremes, spread, counts, differences.

use std::panic::Location;

use super::complex::{PartsOp, part};
use super::elementwise::map;
use super::movement::{Attempt, insert_axes};
use super::positions::{positions_along, scalar, size_number};
use super::reduce::{Axes, reduce, reduce_in, resolve, resolve_axis};
use super::{LazyTensor, Operand};
use crate::dim::Dim;
use crate::error::Cause;
use crate::op::{Op, ReduceOp};
use tj_tensor::{DType, Scalar};

type Loc = &'static Location<'static>;

/// Operators with one place in the user's program.
#[derive(Clone, Copy)]
pub(super) struct Ops(pub Loc);

impl Ops {
    pub fn unary(self, op: Op, a: &LazyTensor) -> LazyTensor {
        map(op, [a.into()], self.0)
    }

    pub fn binary(self, op: Op, a: &LazyTensor, b: impl Into<Operand>) -> LazyTensor {
        map(op, [a.into(), b.into()], self.0)
    }

    pub fn choose(self, mask: &LazyTensor, yes: impl Into<Operand>, no: impl Into<Operand>) -> LazyTensor {
        map(Op::Where, [mask.into(), yes.into(), no.into()], self.0)
    }

    pub fn is_nan(self, x: &LazyTensor) -> LazyTensor {
        self.binary(Op::NotEqual, x, x)
    }

    pub fn constant(self, value: Scalar) -> LazyTensor {
        scalar(value, self.0)
    }
}

/// How many elements a reduction combines, as a number of this dtype.
pub(super) fn count(
    op: &'static str,
    arg: &LazyTensor,
    axes: &Axes,
    dtype: DType,
    location: Loc,
) -> Result<LazyTensor, Cause> {
    let list = resolve(op, arg.rank(), axes)?;
    let elements: Dim = list.iter().map(|&axis| arg.shape()[axis].clone()).product();
    elements.check()?;
    Ok(map(Op::Cast(dtype), [size_number(&elements, location).into()], location))
}

/// The dtype that a mean of this dtype has.
pub(super) fn float_of(op: &'static str, dtype: DType) -> Result<DType, Cause> {
    let result = Op::Div.dtypes(&[dtype]).map(|(_, result)| result);
    result.ok_or_else(|| Cause::DTypes { op, dtypes: vec![dtype] })
}

impl LazyTensor {
    /// Whether any element is not 0; false over nothing.
    #[track_caller]
    pub fn any(&self, axes: impl Into<Axes>) -> LazyTensor {
        truth("any", ReduceOp::Or, self, &axes.into(), Location::caller())
    }

    /// Whether no element is 0; true over nothing.
    #[track_caller]
    pub fn all(&self, axes: impl Into<Axes>) -> LazyTensor {
        truth("all", ReduceOp::And, self, &axes.into(), Location::caller())
    }

    /// How many elements are not 0, as an `i64`.
    #[track_caller]
    pub fn count_nonzero(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            let truth = map(Op::Cast(DType::Bool), [self.into()], location);
            Ok(reduce_in("count_nonzero", ReduceOp::Sum, &truth, &axes, DType::I64, location))
        })
    }

    /// Position of the greatest element along an axis, or in row-major order over all; the first one if there are
    /// several, the first NaN if there is one.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// let x = zeros([2, 3], DType::F32);
    /// assert_eq!((x.argmax(1).shape(), x.argmax(None).dtype()), ([Dim::from(2)].as_slice(), DType::I64));
    /// assert_eq!(x.argmax(tj_ir::axis(1).keepdims()).shape(), [2, 1].map(Dim::from));
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank, or several; size 0 along it, found when sizes are known.
    #[track_caller]
    pub fn argmax(&self, axis: impl Into<Axes>) -> LazyTensor {
        let axis = axis.into();
        self.attempt(|location| extreme_at("argmax", ReduceOp::Max, self, &axis, location))
    }

    /// Position of the least element, as [`argmax`](LazyTensor::argmax).
    ///
    /// # Errors
    /// As `argmax`.
    #[track_caller]
    pub fn argmin(&self, axis: impl Into<Axes>) -> LazyTensor {
        let axis = axis.into();
        self.attempt(|location| extreme_at("argmin", ReduceOp::Min, self, &axis, location))
    }

    /// Mean of the squared distances to the mean, where the number of elements counts as `correction` less (at least
    /// 0): 0 for a whole population, 1 for a sample. In two passes: the mean, then the distances. Integers and `bool`
    /// go to f64. Of complex numbers it is real, the sum of those of the parts.
    #[track_caller]
    pub fn var(&self, axes: impl Into<Axes>, correction: f64) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| variance("var", self, &axes, correction, location))
    }

    /// The square root of [`var`](LazyTensor::var).
    #[track_caller]
    pub fn std(&self, axes: impl Into<Axes>, correction: f64) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            Ok(map(Op::Sqrt, [variance("std", self, &axes, correction, location)?.into()], location))
        })
    }

    /// Greatest minus least.
    ///
    /// # Errors
    /// Size 0 along an axis, found when sizes are known; `bool`.
    #[track_caller]
    pub fn ptp(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            let side = |op| reduce_in("ptp", op, self, &axes, self.dtype(), location);
            Ok(map(Op::Sub, [side(ReduceOp::Max).into(), side(ReduceOp::Min).into()], location))
        })
    }

    /// Sum of elements times weights, divided by the sum of weights. Weights have the shape of this tensor, or broadcast
    /// to it.
    #[track_caller]
    pub fn average(&self, axes: impl Into<Axes>, weights: &LazyTensor) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            let ops = Ops(location);
            let dtype = float_of("average", DType::promote(self.dtype(), weights.dtype()))?;
            let whole = ops.binary(Op::Mul, &self.ones_in(dtype, location), weights);
            let total = reduce_in("average", ReduceOp::Sum, &whole, &axes, dtype, location);
            let product = ops.binary(Op::Mul, &map(Op::Cast(dtype), [self.into()], location), weights);
            let sum = reduce_in("average", ReduceOp::Sum, &product, &axes, dtype, location);
            Ok(ops.binary(Op::Div, &sum, &total))
        })
    }

    fn ones_in(&self, dtype: DType, location: Loc) -> LazyTensor {
        let one = scalar(Scalar::one(dtype), location);
        super::movement::moved("ones", &one, self.0.shape.clone(), Default::default(), location)
    }

    /// Sum in a dtype of choice: elements are converted first, sums wrap in it.
    #[track_caller]
    pub fn sum_in(&self, axes: impl Into<Axes>, dtype: DType) -> LazyTensor {
        reduce_in("sum", ReduceOp::Sum, self, &axes.into(), dtype, Location::caller())
    }

    /// Product in a dtype of choice, as [`sum_in`](LazyTensor::sum_in).
    #[track_caller]
    pub fn prod_in(&self, axes: impl Into<Axes>, dtype: DType) -> LazyTensor {
        reduce_in("prod", ReduceOp::Prod, self, &axes.into(), dtype, Location::caller())
    }
}

fn truth(name: &'static str, op: ReduceOp, arg: &LazyTensor, axes: &Axes, location: Loc) -> LazyTensor {
    arg.attempt(|_| Ok(reduce_in(name, op, arg, axes, DType::Bool, location)))
}

/// The least position at which the extreme stands, or NaN if that is the extreme.
fn extreme_at(name: &'static str, op: ReduceOp, arg: &LazyTensor, wanted: &Axes, location: Loc) -> Attempt {
    let ops = Ops(location);
    let (source, axis) = match wanted.named() {
        Some(&[axis]) => (arg.clone(), resolve_axis(name, arg.rank(), axis)?),
        Some(several) => {
            let problem = format!("{} axes; it takes one, or all", several.len());
            return Err(Cause::Argument { op: name, problem });
        }
        None => (arg.try_reshape(&[None], location)?, 0),
    };
    let axes = Axes::from(axis as i64);
    let kept = axes.clone().keepdims();
    let extreme = reduce_in(name, op, &source, &kept, source.dtype(), location);
    let mut hit = ops.binary(Op::Equal, &source, &extreme);
    if source.dtype().is_float() {
        hit = ops.binary(Op::Or, &hit, ops.is_nan(&source));
    }
    let size = &source.shape()[axis];
    let at = positions_along(size, axis, source.rank(), location);
    // Every row has a hit, so that the size itself is never the result.
    let found = ops.choose(&hit, &at, size_number(size, location));
    let found = reduce_in(name, ReduceOp::Min, &found, &axes, DType::I64, location);
    if !wanted.keepdims || found.check().is_err() {
        return Ok(found);
    }
    let kept: Vec<usize> = if wanted.named().is_some() { vec![axis] } else { (0..arg.rank()).collect() };
    Ok(insert_axes(&found, &kept, location))
}

fn variance(name: &'static str, arg: &LazyTensor, axes: &Axes, correction: f64, location: Loc) -> Attempt {
    let ops = Ops(location);
    if arg.dtype().is_complex() {
        let [re, im] = [PartsOp::Real, PartsOp::Imag].map(|op| {
            let part = part(op, arg, location);
            variance(name, &part, axes, correction, location)
        });
        return Ok(ops.binary(Op::Add, &re?, &im?));
    }
    let dtype = float_of(name, arg.dtype())?;
    let floats = ops.unary(Op::Cast(dtype), arg);
    let count = count(name, arg, axes, dtype, location)?;
    let total = reduce(ReduceOp::Sum, &floats, &axes.clone().keepdims(), location);
    let mean = ops.binary(Op::Div, &total, &count);
    let distance = ops.binary(Op::Sub, &floats, &mean);
    let square = ops.binary(Op::Mul, &distance, &distance);
    let degrees = ops.binary(Op::Sub, &count, correction);
    let degrees = ops.binary(Op::Maximum, &degrees, 0.0);
    Ok(ops.binary(Op::Div, &reduce(ReduceOp::Sum, &square, axes, location), &degrees))
}
