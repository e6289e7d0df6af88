//! Comparisons of numbers that are rounded, and numbers in place of those that are none.

use std::panic::Location;

use tj_tensor::Scalar;

use super::LazyTensor;
use super::call::or_failed;
use super::complex::by_parts;
use super::create::built;
use super::elementwise::{broadcast, map, require_equal};
use super::movement::Attempt;
use super::positions::scalar;
use super::reduce::{Axes, reduce_in};
use super::statistics::Ops;
use crate::op::{Op, ReduceOp};
use tj_tensor::DType;

type Loc = &'static Location<'static>;

/// When two numbers are close: if they differ by no more than `absolute + relative * |y|`.
///
/// ```
/// use tj_ir::{Close, number};
/// let close = number(1.0).isclose(&number(1.0 + 1e-9), Close::default());
/// let near = number(1.0).isclose(&number(1.1), Close { relative: 0.2, ..Close::default() });
/// assert_eq!(close.dtype(), near.dtype());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Close {
    /// As a share of the second number; 1e-5 by default.
    pub relative: f64,
    /// Whatever the numbers are; 1e-8 by default.
    pub absolute: f64,
    /// Whether two NaNs are close; not by default.
    pub equal_nan: bool,
}

impl Default for Close {
    fn default() -> Close {
        Close { relative: 1e-5, absolute: 1e-8, equal_nan: false }
    }
}

impl LazyTensor {
    /// Whether elements are close to those of another tensor; infinities are if they are equal.
    #[track_caller]
    pub fn isclose(&self, other: &LazyTensor, close: Close) -> LazyTensor {
        let other = other.clone();
        self.attempt(|location| is_close("isclose", self, &other, close, location))
    }

    /// Whether all elements are close to those of another tensor, as [`isclose`](LazyTensor::isclose) says.
    ///
    /// ```
    /// use tj_ir::{Close, zeros};
    /// use tj_tensor::DType;
    /// let x = zeros([2, 3], DType::F32);
    /// let same = x.allclose(&(&x + 1e-9), Close::default());
    /// assert_eq!((same.rank(), same.dtype()), (0, DType::Bool));
    /// ```
    #[track_caller]
    pub fn allclose(&self, other: &LazyTensor, close: Close) -> LazyTensor {
        let other = other.clone();
        self.attempt(|location| {
            let close = is_close("allclose", self, &other, close, location)?;
            Ok(reduce_in("allclose", ReduceOp::Prod, &close, &Axes::all(), DType::Bool, location))
        })
    }

    /// Whether both have one shape and equal elements. Sizes that may differ or not are guarded to be equal.
    ///
    /// ```
    /// use tj_ir::zeros;
    /// use tj_tensor::DType;
    /// let x = zeros([2, 3], DType::F32);
    /// assert_eq!(x.array_equal(&x.transpose()).dtype(), DType::Bool);
    /// ```
    #[track_caller]
    pub fn array_equal(&self, other: &LazyTensor) -> LazyTensor {
        let location = Location::caller();
        if let Some(failed) = [self, other].into_iter().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        let op = "array_equal";
        built(location, || {
            let mut guards = Vec::new();
            let pairs = self.shape().iter().zip(other.shape());
            let fits = self.rank() == other.rank()
                && pairs.into_iter().all(|sizes| {
                    require_equal(op, self.shape(), other.shape(), sizes, &mut guards, location).is_ok()
                });
            if !fits {
                return Ok(scalar(Scalar::Bool(false), location));
            }
            broadcast(op, self.shape(), other.shape(), &mut guards, location)?;
            let equal = map(Op::Equal, [self.into(), other.into()], location);
            Ok(reduce_in(op, ReduceOp::Prod, &equal, &Axes::all(), DType::Bool, location))
        })
    }

    /// Numbers in place of NaN and of both infinities; `None` is the greatest or least number of the dtype. What is no float
    /// stays.
    ///
    /// ```
    /// use tj_ir::number;
    /// let zero = number(f64::NAN).nan_to_num(0.0, None, None);
    /// assert!(zero.check().is_ok());
    /// ```
    #[track_caller]
    pub fn nan_to_num(
        &self,
        nan: f64,
        posinf: impl Into<Option<f64>>,
        neginf: impl Into<Option<f64>>,
    ) -> LazyTensor {
        let (posinf, neginf) = (posinf.into(), neginf.into());
        self.attempt(|location| Ok(numbers(self, nan, posinf, neginf, location)))
    }
}

fn numbers(x: &LazyTensor, nan: f64, posinf: Option<f64>, neginf: Option<f64>, location: Loc) -> LazyTensor {
    if x.dtype().is_complex() {
        return or_failed(by_parts(x, location, |part| Ok(numbers(part, nan, posinf, neginf, location))));
    }
    let Some(info) = x.dtype().finfo() else { return x.clone() };
    let ops = Ops(location);
    let number = |value: f64| ops.constant(Scalar::F64(value).cast(x.dtype()));
    let mut found = ops.choose(&ops.is_nan(x), number(nan), x);
    for (infinity, value) in
        [(f64::INFINITY, posinf.unwrap_or(info.max)), (f64::NEG_INFINITY, neginf.unwrap_or(info.min))]
    {
        let here = ops.binary(Op::Equal, x, number(infinity));
        found = ops.choose(&here, number(value), &found);
    }
    found
}

fn is_close(op: &'static str, x: &LazyTensor, y: &LazyTensor, close: Close, location: Loc) -> Attempt {
    let ops = Ops(location);
    broadcast(op, x.shape(), y.shape(), &mut Vec::new(), location)?;
    let dtype = DType::promote(x.dtype(), y.dtype());
    let dtype = if dtype.is_complex() || dtype.is_float() { dtype } else { DType::F64 };
    let (x, y) = (ops.unary(Op::Cast(dtype), x), ops.unary(Op::Cast(dtype), y));
    let distance = ops.unary(Op::Abs, &ops.binary(Op::Sub, &x, &y));
    let size = ops.binary(Op::Mul, &ops.unary(Op::Abs, &y), close.relative);
    let within = ops.binary(Op::LessEqual, &distance, ops.binary(Op::Add, &size, close.absolute));
    // An infinity is as far as it gets from every number.
    let within = ops.binary(Op::And, &within, ops.unary(Op::IsFinite, &y));
    let mut found = ops.binary(Op::Or, &within, ops.binary(Op::Equal, &x, &y));
    if close.equal_nan {
        let nans = ops.binary(Op::And, &ops.is_nan(&x), ops.is_nan(&y));
        found = ops.binary(Op::Or, &found, nans);
    }
    Ok(found)
}
