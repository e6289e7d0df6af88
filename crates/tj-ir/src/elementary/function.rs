//! The functions as data: names, and what each expands into.

use super::{
    Arith, acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, erf, erfc, exp, exp2, expm1, gelu,
    hypot, lgamma, log, log_sigmoid, log1p, log2, log10, logaddexp, pow, sigmoid, silu, sin, sinh, softplus,
    tan, tanh,
};

/// A function of this module, as data.
///
/// ```
/// use tj_ir::elementary::{Elementary, eval_f64};
///
/// assert_eq!(eval_f64(Elementary::Exp, 0.0), 1.0);
/// assert_eq!(eval_f64(Elementary::Log, 0.0), f64::NEG_INFINITY);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elementary {
    /// The natural exponential.
    Exp,
    /// Two to the power.
    Exp2,
    /// `exp(x) - 1`, accurate near zero.
    Expm1,
    /// The natural logarithm.
    Log,
    /// The logarithm to base 2.
    Log2,
    /// The logarithm to base 10.
    Log10,
    /// `log(1 + x)`, accurate near zero.
    Log1p,
    /// The sine of an angle in radians.
    Sin,
    /// The cosine of an angle in radians.
    Cos,
    /// The hyperbolic tangent.
    Tanh,
    /// The logistic function, `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The error function.
    Erf,
    /// The tangent of an angle in radians.
    Tan,
    /// The inverse sine, an angle in radians.
    Asin,
    /// The inverse cosine, an angle in radians.
    Acos,
    /// The inverse tangent, an angle in radians.
    Atan,
    /// The hyperbolic sine.
    Sinh,
    /// The hyperbolic cosine.
    Cosh,
    /// The inverse hyperbolic sine.
    Asinh,
    /// The inverse hyperbolic cosine.
    Acosh,
    /// The inverse hyperbolic tangent.
    Atanh,
    /// The cube root.
    Cbrt,
    /// One minus the error function, accurate where that is small.
    Erfc,
    /// `x` times the probability that a normal variate is less.
    Gelu,
    /// `x` times the logistic function.
    Silu,
    /// `log(1 + exp(x))`.
    Softplus,
    /// The logarithm of the logistic function.
    LogSigmoid,
    /// The logarithm of the absolute value of the gamma function.
    Lgamma,
}

impl Elementary {
    /// Every function, in declaration order.
    pub const ALL: &[Elementary] = &[
        Elementary::Exp,
        Elementary::Exp2,
        Elementary::Expm1,
        Elementary::Log,
        Elementary::Log2,
        Elementary::Log10,
        Elementary::Log1p,
        Elementary::Sin,
        Elementary::Cos,
        Elementary::Tanh,
        Elementary::Sigmoid,
        Elementary::Erf,
        Elementary::Tan,
        Elementary::Asin,
        Elementary::Acos,
        Elementary::Atan,
        Elementary::Sinh,
        Elementary::Cosh,
        Elementary::Asinh,
        Elementary::Acosh,
        Elementary::Atanh,
        Elementary::Cbrt,
        Elementary::Erfc,
        Elementary::Gelu,
        Elementary::Silu,
        Elementary::Softplus,
        Elementary::LogSigmoid,
        Elementary::Lgamma,
    ];

    /// The name a user writes.
    pub const fn name(self) -> &'static str {
        match self {
            Elementary::Exp => "exp",
            Elementary::Exp2 => "exp2",
            Elementary::Expm1 => "expm1",
            Elementary::Log => "log",
            Elementary::Log2 => "log2",
            Elementary::Log10 => "log10",
            Elementary::Log1p => "log1p",
            Elementary::Sin => "sin",
            Elementary::Cos => "cos",
            Elementary::Tanh => "tanh",
            Elementary::Sigmoid => "sigmoid",
            Elementary::Erf => "erf",
            Elementary::Tan => "tan",
            Elementary::Asin => "asin",
            Elementary::Acos => "acos",
            Elementary::Atan => "atan",
            Elementary::Sinh => "sinh",
            Elementary::Cosh => "cosh",
            Elementary::Asinh => "asinh",
            Elementary::Acosh => "acosh",
            Elementary::Atanh => "atanh",
            Elementary::Cbrt => "cbrt",
            Elementary::Erfc => "erfc",
            Elementary::Gelu => "gelu",
            Elementary::Silu => "silu",
            Elementary::Softplus => "softplus",
            Elementary::LogSigmoid => "log_sigmoid",
            Elementary::Lgamma => "lgamma",
        }
    }

    /// Expands the function applied to `x` into primitive operations of `a`.
    pub fn emit<A: Arith>(self, a: &mut A, x: A::Float) -> A::Float {
        match self {
            Elementary::Exp => exp(a, x),
            Elementary::Exp2 => exp2(a, x),
            Elementary::Expm1 => expm1(a, x),
            Elementary::Log => log(a, x),
            Elementary::Log2 => log2(a, x),
            Elementary::Log10 => log10(a, x),
            Elementary::Log1p => log1p(a, x),
            Elementary::Sin => sin(a, x),
            Elementary::Cos => cos(a, x),
            Elementary::Tanh => tanh(a, x),
            Elementary::Sigmoid => sigmoid(a, x),
            Elementary::Erf => erf(a, x),
            Elementary::Tan => tan(a, x),
            Elementary::Asin => asin(a, x),
            Elementary::Acos => acos(a, x),
            Elementary::Atan => atan(a, x),
            Elementary::Sinh => sinh(a, x),
            Elementary::Cosh => cosh(a, x),
            Elementary::Asinh => asinh(a, x),
            Elementary::Acosh => acosh(a, x),
            Elementary::Atanh => atanh(a, x),
            Elementary::Cbrt => cbrt(a, x),
            Elementary::Erfc => erfc(a, x),
            Elementary::Gelu => gelu(a, x),
            Elementary::Silu => silu(a, x),
            Elementary::Softplus => softplus(a, x),
            Elementary::LogSigmoid => log_sigmoid(a, x),
            Elementary::Lgamma => lgamma(a, x),
        }
    }
}

/// A function of two arguments, as data.
///
/// ```
/// use tj_ir::elementary::{Elementary2, eval2_f64};
///
/// assert_eq!(eval2_f64(Elementary2::Pow, -2.0, 3.0), -8.0);
/// assert_eq!(eval2_f64(Elementary2::Hypot, 3.0, -4.0), 5.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elementary2 {
    /// The first to the power of the second.
    Pow,
    /// The angle of the point (second, first), in radians.
    Atan2,
    /// The root of the sum of squares.
    Hypot,
    /// `log(exp(x) + exp(y))`.
    Logaddexp,
}

impl Elementary2 {
    /// Every function, in declaration order.
    pub const ALL: &[Elementary2] =
        &[Elementary2::Pow, Elementary2::Atan2, Elementary2::Hypot, Elementary2::Logaddexp];

    /// The name a user writes.
    pub const fn name(self) -> &'static str {
        match self {
            Elementary2::Pow => "pow",
            Elementary2::Atan2 => "atan2",
            Elementary2::Hypot => "hypot",
            Elementary2::Logaddexp => "logaddexp",
        }
    }

    /// Expands the function applied to `x` and `y` into primitive operations of `a`.
    pub fn emit<A: Arith>(self, a: &mut A, x: A::Float, y: A::Float) -> A::Float {
        match self {
            Elementary2::Pow => pow(a, x, y),
            Elementary2::Atan2 => atan2(a, x, y),
            Elementary2::Hypot => hypot(a, x, y),
            Elementary2::Logaddexp => logaddexp(a, x, y),
        }
    }
}
