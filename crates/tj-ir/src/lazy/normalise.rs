//! Exponentials that are scaled so that none overflows: softmax and its logarithm, the logarithm of a sum.

use std::panic::Location;

use super::movement::{moved, position};
use super::reduce::{Axes, reduce, reduce_in, resolve};
use super::statistics::{Ops, float_of};
use super::{LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::Cause;
use crate::expr::Indices;
use crate::op::{Op, ReduceOp};

type Loc = &'static Location<'static>;

/// What the exponentials of some axes are made of.
struct Scaled {
    /// `x - greatest`.
    shifted: LazyTensor,
    /// Their exponentials.
    exps: LazyTensor,
}

impl LazyTensor {
    /// `exp(x)` divided by its sum along some axes. Rows with NaN or +inf are NaN.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// assert_eq!(zeros([2, 3], DType::F32).softmax(-1).shape(), [2, 3].map(Dim::from));
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank; size 0 along it, found when sizes are known.
    #[track_caller]
    pub fn softmax(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into().keepdims();
        self.attempt(|location| {
            let exps = scaled("softmax", self, &axes, location)?.exps;
            Ok(Ops(location).binary(Op::Div, &exps, reduce(ReduceOp::Sum, &exps, &axes, location)))
        })
    }

    /// The logarithm of [`softmax`](LazyTensor::softmax), without the loss of taking it after the division.
    ///
    /// # Errors
    /// As `softmax`.
    #[track_caller]
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into().keepdims();
        self.attempt(|location| {
            let ops = Ops(location);
            let Scaled { shifted, exps } = scaled("log_softmax", self, &axes, location)?;
            let total = ops.unary(Op::Log, &reduce(ReduceOp::Sum, &exps, &axes, location));
            Ok(ops.binary(Op::Sub, &shifted, &total))
        })
    }

    /// `log(sum(exp(x)))` along some axes; -inf or +inf alone give themselves.
    ///
    /// # Errors
    /// As [`softmax`](LazyTensor::softmax).
    #[track_caller]
    pub fn logsumexp(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            let (ops, op) = (Ops(location), "logsumexp");
            let dtype = float_of(op, self.dtype())?;
            let x = ops.unary(Op::Cast(dtype), self);
            let greatest = reduce_in(op, ReduceOp::Max, &x, &axes.clone().keepdims(), dtype, location);
            // An infinite row is not shifted, since inf - inf is no number.
            let rest = ops.binary(Op::Sub, &greatest, &greatest);
            let finite = ops.binary(Op::Equal, &rest, 0.0);
            let shift = ops.choose(&finite, &greatest, 0.0);
            let exps = ops.unary(Op::Exp, &ops.binary(Op::Sub, &x, &shift));
            let total = ops.unary(Op::Log, &reduce(ReduceOp::Sum, &exps, &axes, location));
            let gone = resolve(op, self.rank(), &axes)?;
            let shift = if axes.keepdims { shift } else { shift.without_axes(&gone, location) };
            Ok(ops.binary(Op::Add, &total, &shift))
        })
    }

    /// Without these axes, which have size 1.
    fn without_axes(&self, gone: &[usize], location: Loc) -> LazyTensor {
        let (mut shape, mut at) = (Shape::new(), Indices::new());
        for (d, size) in self.shape().iter().enumerate() {
            if gone.contains(&d) {
                at.push(Dim::ZERO);
            } else {
                at.push(position(shape.len()));
                shape.push(size.clone());
            }
        }
        moved("squeeze", self, shape, at, location)
    }
}

fn scaled(op: &'static str, arg: &LazyTensor, axes: &Axes, location: Loc) -> Result<Scaled, Cause> {
    let ops = Ops(location);
    let dtype = float_of(op, arg.dtype())?;
    let x = ops.unary(Op::Cast(dtype), arg);
    let greatest = reduce_in(op, ReduceOp::Max, &x, axes, dtype, location);
    let shifted = ops.binary(Op::Sub, &x, &greatest);
    let exps = ops.unary(Op::Exp, &shifted);
    Ok(Scaled { shifted, exps })
}
