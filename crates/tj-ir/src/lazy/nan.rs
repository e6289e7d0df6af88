//! Reductions that pass over NaN, as NumPy's `nan` functions do. For integers they are the plain ones.

use std::panic::Location;

use super::movement::Attempt;
use super::reduce::{Axes, reduce, reduce_in};
use super::statistics::{Ops, float_of};
use super::{Along, LazyTensor};
use crate::op::{Op, ReduceOp};
use tj_tensor::{DType, Scalar};

type Loc = &'static Location<'static>;

impl LazyTensor {
    /// Sum of what is not NaN; 0 if nothing is.
    #[track_caller]
    pub fn nansum(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| Ok(reduce(ReduceOp::Sum, &self.without_nan(0.0, location), &axes, location)))
    }

    /// Product of what is not NaN; 1 if nothing is.
    #[track_caller]
    pub fn nanprod(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| Ok(reduce(ReduceOp::Prod, &self.without_nan(1.0, location), &axes, location)))
    }

    /// Greatest of what is not NaN; NaN if all are.
    ///
    /// # Errors
    /// Size 0 along an axis, found when sizes are known.
    #[track_caller]
    pub fn nanmax(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| Ok(self.extreme("nanmax", ReduceOp::Max, &axes, location)))
    }

    /// Least of what is not NaN; NaN if all are.
    ///
    /// # Errors
    /// As [`nanmax`](LazyTensor::nanmax).
    #[track_caller]
    pub fn nanmin(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| Ok(self.extreme("nanmin", ReduceOp::Min, &axes, location)))
    }

    /// Mean of what is not NaN; NaN if nothing is.
    #[track_caller]
    pub fn nanmean(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| self.mean_of_numbers("nanmean", &axes, location))
    }

    /// As [`var`](LazyTensor::var) of what is not NaN; NaN where that is not more than `correction` elements.
    #[track_caller]
    pub fn nanvar(&self, axes: impl Into<Axes>, correction: f64) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| self.variance_of_numbers("nanvar", &axes, correction, location))
    }

    /// The square root of [`nanvar`](LazyTensor::nanvar).
    #[track_caller]
    pub fn nanstd(&self, axes: impl Into<Axes>, correction: f64) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            let variance = self.variance_of_numbers("nanstd", &axes, correction, location)?;
            Ok(Ops(location).unary(Op::Sqrt, &variance))
        })
    }

    /// Sums of what is not NaN up to each element.
    ///
    /// ```
    /// use tj_ir::input;
    /// use tj_tensor::DType;
    /// let x = input("x", DType::F32, [3.into()])?;
    /// assert_eq!(x.nancumsum(0).shape(), x.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn nancumsum(&self, along: impl Into<Along>) -> LazyTensor {
        let along = along.into();
        self.attempt(|location| Ok(self.without_nan(0.0, location).cumulative_sum(along)))
    }

    /// Products of what is not NaN up to each element.
    #[track_caller]
    pub fn nancumprod(&self, along: impl Into<Along>) -> LazyTensor {
        let along = along.into();
        self.attempt(|location| Ok(self.without_nan(1.0, location).cumulative_prod(along)))
    }

    fn without_nan(&self, value: f64, location: Loc) -> LazyTensor {
        if !self.dtype().is_float() {
            return self.clone();
        }
        let ops = Ops(location);
        let instead = ops.constant(Scalar::F64(value).cast(self.dtype()));
        ops.choose(&ops.is_nan(self), &instead, self)
    }

    fn extreme(&self, name: &'static str, op: ReduceOp, axes: &Axes, location: Loc) -> LazyTensor {
        if !self.dtype().is_float() {
            return reduce_in(name, op, self, axes, self.dtype(), location);
        }
        let ops = Ops(location);
        let worst = if op == ReduceOp::Max { f64::NEG_INFINITY } else { f64::INFINITY };
        let numbers = self.without_nan(worst, location);
        let extreme = reduce_in(name, op, &numbers, axes, self.dtype(), location);
        let nothing = reduce_in(name, ReduceOp::Prod, &ops.is_nan(self), axes, DType::Bool, location);
        ops.choose(&nothing, ops.constant(Scalar::F64(f64::NAN).cast(self.dtype())), &extreme)
    }

    /// How many elements are not NaN.
    fn numbers(&self, name: &'static str, axes: &Axes, dtype: DType, location: Loc) -> LazyTensor {
        let ops = Ops(location);
        let is_number = ops.binary(Op::Equal, self, self);
        let count = reduce_in(name, ReduceOp::Sum, &is_number, axes, DType::I64, location);
        ops.unary(Op::Cast(dtype), &count)
    }

    fn mean_of_numbers(&self, name: &'static str, axes: &Axes, location: Loc) -> Attempt {
        let ops = Ops(location);
        let dtype = float_of(name, self.dtype())?;
        let numbers = ops.unary(Op::Cast(dtype), &self.without_nan(0.0, location));
        let total = reduce(ReduceOp::Sum, &numbers, axes, location);
        Ok(ops.binary(Op::Div, &total, self.numbers(name, axes, dtype, location)))
    }

    fn variance_of_numbers(
        &self,
        name: &'static str,
        axes: &Axes,
        correction: f64,
        location: Loc,
    ) -> Attempt {
        let ops = Ops(location);
        let dtype = float_of(name, self.dtype())?;
        let mean = self.mean_of_numbers(name, &axes.clone().keepdims(), location)?;
        let distance = ops.binary(Op::Sub, &ops.unary(Op::Cast(dtype), self), &mean);
        let distance = distance.without_nan_of(self, location);
        let square = ops.binary(Op::Mul, &distance, &distance);
        let degrees = ops.binary(Op::Sub, &self.numbers(name, axes, dtype, location), correction);
        let total = reduce(ReduceOp::Sum, &square, axes, location);
        let variance = ops.binary(Op::Div, &total, &degrees);
        let enough = ops.binary(Op::Greater, &degrees, 0.0);
        Ok(ops.choose(&enough, &variance, ops.constant(Scalar::F64(f64::NAN).cast(dtype))))
    }

    /// Zero where `other` is NaN.
    fn without_nan_of(&self, other: &LazyTensor, location: Loc) -> LazyTensor {
        let ops = Ops(location);
        ops.choose(&ops.is_nan(other), ops.constant(Scalar::zero(self.dtype())), self)
    }
}
