//! Scalar operators by name.

use std::panic::Location;

use tj_tensor::{Complex, DType};

use super::LazyTensor;
use super::elementwise::{Operand, map};
use crate::error::{Cause, IrError};
use crate::op::Op;

/// An argument that may be left out: an [`Operand`], or `None`.
#[derive(Clone, Debug)]
pub struct OptionalOperand(pub(super) Option<Operand>);

macro_rules! optional {
    ($($from:ty),* $(,)?) => {
        $(impl From<$from> for OptionalOperand {
            fn from(x: $from) -> OptionalOperand {
                OptionalOperand(Some(x.into()))
            }
        })*
    };
}

// One by one, so that the type of a plain `None` is known.
optional!(Operand, LazyTensor, &LazyTensor, i32, i64, f32, f64, bool, Complex<f64>);

impl From<Option<Operand>> for OptionalOperand {
    fn from(x: Option<Operand>) -> OptionalOperand {
        OptionalOperand(x)
    }
}

/// Where the first is true the second, else the third.
#[track_caller]
pub fn where_(condition: &LazyTensor, yes: impl Into<Operand>, no: impl Into<Operand>) -> LazyTensor {
    map(Op::Where, [condition.into(), yes.into(), no.into()], Location::caller())
}

/// Greater of two, NaN if either is NaN.
#[track_caller]
pub fn maximum(a: impl Into<Operand>, b: impl Into<Operand>) -> LazyTensor {
    map(Op::Maximum, [a.into(), b.into()], Location::caller())
}

/// Lesser of two, NaN if either is NaN.
#[track_caller]
pub fn minimum(a: impl Into<Operand>, b: impl Into<Operand>) -> LazyTensor {
    map(Op::Minimum, [a.into(), b.into()], Location::caller())
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident => $op:ident),* $(,)?) => {
        impl LazyTensor {
            $($(#[$doc])*
            #[track_caller]
            pub fn $name(&self) -> LazyTensor {
                map(Op::$op, [self.into()], Location::caller())
            })*
        }
    };
}

unary! {
    /// `max(x, 0)`; NaN stays, -0 becomes +0.
    relu => Relu,
    /// `x > 0`.
    is_positive => Positive,
    /// 1, 0 or -1, by the sign; NaN stays, and zeros give +0. Of complex numbers `z / |z|`.
    sign => Sign,
    /// `x * x`.
    square => Square,
    /// `1 / x`; integers go to f64.
    reciprocal => Reciprocal,
    /// Least integer not below.
    ceil => Ceil,
    /// Greatest integer not above.
    floor => Floor,
    /// The integer part.
    trunc => Trunc,
    /// Nearest integer, the even one of two.
    round => Round,
    /// Whether NaN.
    isnan => IsNan,
    /// Whether an infinity.
    isinf => IsInf,
    /// Whether neither NaN nor an infinity.
    isfinite => IsFinite,
    /// Whether the sign bit is set, of a number; for integers whether negative. False for NaN, whose sign depends on the
    /// machine that computed it.
    signbit => Signbit,
    /// Whether zero; NaN is not.
    logical_not => LogicalNot,
    /// Every bit of an integer, or a truth value, the other way round.
    bitwise_invert => Not,
    /// Absolute value; of complex numbers real, without overflow.
    abs => Abs,
    /// Square root; integers go to f64.
    sqrt => Sqrt,
    /// Natural exponential; integers go to f64.
    exp => Exp,
    /// Natural logarithm; integers go to f64.
    log => Log,
    /// Hyperbolic tangent; integers go to f64.
    tanh => Tanh,
    /// 2 to a power; integers go to f64.
    exp2 => Exp2,
    /// `exp(x) - 1`, accurate near 0; integers go to f64.
    expm1 => Expm1,
    /// `log(1 + x)`, accurate near 0; integers go to f64.
    log1p => Log1p,
    /// Logarithm to base 2; integers go to f64.
    log2 => Log2,
    /// Logarithm to base 10; integers go to f64.
    log10 => Log10,
    /// Sine of an angle in radians; integers go to f64.
    sin => Sin,
    /// Cosine of an angle in radians; integers go to f64.
    cos => Cos,
    /// `1 / (1 + exp(-x))`; integers go to f64.
    sigmoid => Sigmoid,
    /// The error function; integers go to f64.
    erf => Erf,
    /// Tangent of an angle in radians; integers go to f64.
    tan => Tan,
    /// Inverse sine; NaN outside -1..=1; integers go to f64.
    asin => Asin,
    /// Inverse cosine; NaN outside -1..=1; integers go to f64.
    acos => Acos,
    /// Inverse tangent; integers go to f64.
    atan => Atan,
    /// Hyperbolic sine; integers go to f64.
    sinh => Sinh,
    /// Hyperbolic cosine; integers go to f64.
    cosh => Cosh,
    /// Inverse hyperbolic sine; integers go to f64.
    asinh => Asinh,
    /// Inverse hyperbolic cosine; NaN below 1; integers go to f64.
    acosh => Acosh,
    /// Inverse hyperbolic tangent; integers go to f64.
    atanh => Atanh,
    /// Cube root; integers go to f64.
    cbrt => Cbrt,
    /// `1 - erf(x)`, accurate where that is small; integers go to f64.
    erfc => Erfc,
    /// `x` times the probability that a normal variate is less, by the error function; integers go to f64.
    gelu => Gelu,
    /// `x sigmoid(x)`; integers go to f64.
    silu => Silu,
    /// `log(1 + exp(x))` without overflow; integers go to f64.
    softplus => Softplus,
    /// `log(sigmoid(x))`; integers go to f64.
    log_sigmoid => LogSigmoid,
    /// Logarithm of the absolute value of the gamma function; integers go to f64.
    lgamma => Lgamma,
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident => $op:ident),* $(,)?) => {
        impl LazyTensor {
            $($(#[$doc])*
            #[track_caller]
            pub fn $name(&self, other: impl Into<Operand>) -> LazyTensor {
                map(Op::$op, [self.into(), other.into()], Location::caller())
            })*
        }
    };
}

binary! {
    /// Greater of two, NaN if either is NaN.
    maximum => Maximum,
    /// Lesser of two, NaN if either is NaN.
    minimum => Minimum,
    /// Greater of two, ignoring NaN.
    fmax => Fmax,
    /// Lesser of two, ignoring NaN.
    fmin => Fmin,
    /// Whether equal, element by element.
    equal => Equal,
    /// Whether different, element by element.
    not_equal => NotEqual,
    /// Whether less.
    less => Less,
    /// Whether less or equal.
    less_equal => LessEqual,
    /// Whether greater.
    greater => Greater,
    /// Whether greater or equal.
    greater_equal => GreaterEqual,
    /// Quotient rounded down. Of integers by zero 0, and `MIN // -1` wraps.
    floor_divide => FloorDiv,
    /// Remainder with the sign of the divisor. Of integers by zero 0.
    remainder => Remainder,
    /// Remainder with the sign of the dividend, exact; integers go to f64.
    fmod => Fmod,
    /// The size of this with the sign of the other, where NaN counts as positive; integers go to f64.
    copysign => Copysign,
    /// The neighbour of this in the direction of the other; integers go to f64.
    nextafter => Nextafter,
    /// The angle in radians of the point whose ordinate is this and whose abscissa is the other; integers go to f64.
    atan2 => Atan2,
    /// `sqrt(x^2 + y^2)` without overflow; integers go to f64.
    hypot => Hypot,
    /// `log(exp(x) + exp(y))` without overflow; integers go to f64.
    logaddexp => Logaddexp,
    /// Whether both are true, that is not zero.
    logical_and => LogicalAnd,
    /// Whether any is true, that is not zero.
    logical_or => LogicalOr,
    /// Whether exactly one is true, that is not zero.
    logical_xor => LogicalXor,
    /// Bits that are set in both.
    bitwise_and => And,
    /// Bits that are set in any.
    bitwise_or => Or,
    /// Bits that are set in exactly one.
    bitwise_xor => Xor,
    /// Shift left; counts outside the width give 0.
    bitwise_left_shift => ShiftLeft,
    /// Shift right, of signed integers with the sign; counts outside the width give 0 or the sign.
    bitwise_right_shift => ShiftRight,
}

impl LazyTensor {
    /// Converts every element; total: integers wrap, floats saturate, NaN becomes 0.
    #[track_caller]
    pub fn cast(&self, to: DType) -> LazyTensor {
        map(Op::Cast(to), [self.into()], Location::caller())
    }

    /// This to a power. Integers wrap; to a negative power they are 0, but for 1 and -1. Floats have the special values
    /// of C. A host number 2 squares, and complex numbers to the power of a host number that is a small integer are
    /// multiplied: whole parts give exact results.
    #[track_caller]
    pub fn pow(&self, exponent: impl Into<Operand>) -> LazyTensor {
        let (exponent, location) = (exponent.into(), Location::caller());
        let is_float = self.dtype().is_float() || self.dtype().is_complex();
        let whole = match exponent {
            Operand::Int(n) => Some(n),
            Operand::Float(x) if is_float && x.fract() == 0.0 => Some(x as i64),
            Operand::Float(_) | Operand::Tensor(_) | Operand::Bool(_) | Operand::Complex(_) => None,
        };
        match whole {
            Some(2) => map(Op::Square, [self.into()], location),
            Some(n) if self.dtype().is_complex() && (1..=64).contains(&n.unsigned_abs()) => {
                super::complex::whole_power(self, n, location)
            }
            Some(_) | None => map(Op::Pow, [self.into(), exponent], location),
        }
    }

    /// `+x`: the tensor itself; not defined on `bool`.
    #[track_caller]
    pub fn positive(&self) -> LazyTensor {
        if self.check().is_ok() && self.dtype().is_bool() {
            let cause = Cause::DTypes { op: "positive", dtypes: vec![DType::Bool] };
            return LazyTensor::failed(IrError::new(cause, Location::caller()));
        }
        self.clone()
    }

    /// `minimum(maximum(x, low), high)`; NaN stays. Either bound may be `None`.
    ///
    /// ```
    /// use tj_ir::input;
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F32, [3.into()])?;
    /// assert_eq!(x.clip(0.0, 1.0).dtype(), DType::F32);
    /// assert_eq!(x.clip(None, 1.0).dtype(), DType::F32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn clip(&self, low: impl Into<OptionalOperand>, high: impl Into<OptionalOperand>) -> LazyTensor {
        let location = Location::caller();
        let (low, high) = (low.into().0, high.into().0);
        let raised = low.map_or(self.clone(), |low| map(Op::Maximum, [self.into(), low], location));
        high.map_or(raised.clone(), |high| map(Op::Minimum, [raised.into(), high], location))
    }

    /// Applies any operator of the table.
    ///
    /// ```
    /// use tj_ir::{LazyTensor, Op, number};
    /// use tj_tensor::DType;
    ///
    /// let half = LazyTensor::map(Op::Div, [number(1_i64).into(), 2.into()]);
    /// assert_eq!(half.dtype(), DType::F64);
    /// ```
    #[track_caller]
    pub fn map(op: Op, args: impl IntoIterator<Item = Operand>) -> LazyTensor {
        map(op, args, Location::caller())
    }
}
