//! The scalar operators: what they are, which dtypes they take, and where the rest about them is.
//!
//! One row of a table (`op/table.rs`) says everything that the rest of the compiler knows about an operator: its
//! names, how many arguments it takes, which dtype it works in and gives, what it does to fills, and its algebra
//! (`op/algebra.rs`). What it computes is in `expand`, over primitive operations, and nowhere else. Parser,
//! documentation, simplifier and tests read the table; adding an operator is a row there and an arm in `expand`.

mod algebra;
mod complex;
pub(crate) mod laws;
mod reduce;
mod table;
#[cfg(test)]
mod tests;
mod user;

use tj_tensor::{DType, Scalar};

pub use algebra::{Algebra, Annihilator, Domain, Named};
pub use reduce::ReduceOp;
pub use table::{OpInfo, TABLE};
pub(crate) use user::kept_name;
pub use user::{Body, Laws, Step, UserOp};

use table::{CASTS, FILLED};

/// A scalar operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// True quotient; of integers in f64.
    Div,
    /// Quotient rounded down. Of integers by zero 0.
    FloorDiv,
    /// Remainder with the sign of the divisor. Of integers by zero 0.
    Remainder,
    /// Remainder with the sign of the dividend, exact.
    Fmod,
    /// The first to the power of the second. Integers wrap; to a negative power they are 0, but for 1 and -1.
    Pow,
    /// Sign flipped.
    Neg,
    /// Absolute value; of a complex number a real one.
    Abs,
    /// `max(x, 0)`: NaN stays, -0 becomes +0.
    Relu,
    /// `x > 0`.
    Positive,
    /// 1, 0 or -1, by the sign; NaN stays, and zeros give +0.
    Sign,
    /// `x * x`.
    Square,
    /// `1 / x`.
    Reciprocal,
    /// Least integer not below.
    Ceil,
    /// Greatest integer not above.
    Floor,
    /// The integer part.
    Trunc,
    /// Nearest integer, the even one of two.
    Round,
    /// Whether NaN.
    IsNan,
    /// Whether an infinity.
    IsInf,
    /// Whether neither NaN nor an infinity.
    IsFinite,
    /// Whether the sign bit is set, of a number; for integers whether negative. False for NaN, whose sign depends on the
    /// machine that computed it.
    Signbit,
    /// The first with the sign of the second; NaN counts as positive.
    Copysign,
    /// The neighbour of the first in the direction of the second.
    Nextafter,
    /// Square root.
    Sqrt,
    /// Natural exponential.
    Exp,
    /// Natural logarithm.
    Log,
    /// Hyperbolic tangent.
    Tanh,
    /// 2 to a power.
    Exp2,
    /// `exp(x) - 1`, accurate near 0.
    Expm1,
    /// `log(1 + x)`, accurate near 0.
    Log1p,
    /// Logarithm to base 2.
    Log2,
    /// Logarithm to base 10.
    Log10,
    /// Sine of an angle in radians.
    Sin,
    /// Cosine of an angle in radians.
    Cos,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The error function.
    Erf,
    /// Tangent of an angle in radians.
    Tan,
    /// Inverse sine; NaN outside -1..=1.
    Asin,
    /// Inverse cosine; NaN outside -1..=1.
    Acos,
    /// Inverse tangent.
    Atan,
    /// Angle of the point (second, first) in radians, between minus pi and pi.
    Atan2,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine; NaN below 1.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Cube root.
    Cbrt,
    /// `sqrt(x^2 + y^2)` without overflow.
    Hypot,
    /// `log(exp(x) + exp(y))` without overflow.
    Logaddexp,
    /// `1 - erf(x)`, accurate where that is small.
    Erfc,
    /// `x` times the probability that a normal variate is less, by the error function.
    Gelu,
    /// `x sigmoid(x)`.
    Silu,
    /// `log(1 + exp(x))` without overflow.
    Softplus,
    /// `log(sigmoid(x))`.
    LogSigmoid,
    /// Logarithm of the absolute value of the gamma function.
    Lgamma,
    /// Greater of two; NaN if either is.
    Maximum,
    /// Lesser of two; NaN if either is.
    Minimum,
    /// Greater of two, ignoring NaN.
    Fmax,
    /// Lesser of two, ignoring NaN.
    Fmin,
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterEqual,
    /// Whether both are true, that is not zero.
    LogicalAnd,
    /// Whether any is true, that is not zero.
    LogicalOr,
    /// Whether exactly one is true, that is not zero.
    LogicalXor,
    /// Whether zero.
    LogicalNot,
    /// Shift left; counts outside the width give 0.
    ShiftLeft,
    /// Shift right, of signed integers with the sign; counts outside the width give 0 or the sign.
    ShiftRight,
    /// Logical or bitwise and.
    And,
    /// Logical or bitwise or.
    Or,
    /// Logical or bitwise exclusive or.
    Xor,
    /// Logical or bitwise not.
    Not,
    /// Second argument where the first is true, else the third.
    Where,
    /// 64 random bits: a function of a key and a counter (see `random`).
    RandomBits,
    /// The first argument. The second says what that is wherever nothing that it reads is stored, which depends on numbers of the
    /// program: a constant, or a constant under conditions, and else the first argument again, of which that says nothing.
    /// Only `trace` may say so, of programs whose key does. It has no row in the table, but one of its own.
    Filled,
    /// Conversion, total: integers wrap, floats saturate, NaN becomes 0.
    Cast(DType),
    /// What a user defined, for certain dtypes. It has no row in the table, but one of its own.
    User(UserOp),
}

/// Which dtype an operator works in and which it gives. Arguments are first promoted to one dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypeRule {
    /// Works in the promoted dtype and gives it.
    Same,
    /// As `Same`, but not for `bool`.
    Number,
    /// Works in a float (integers and `bool` go to f64) and gives it.
    Float,
    /// Works in the promoted dtype and gives `bool`.
    Predicate,
    /// `bool` and integers only.
    Bits,
    /// Integers only.
    Integer,
    /// First argument `bool`, the others promoted; gives their dtype.
    Choice,
    /// Gives the named dtype.
    To(DType),
}

/// What the fill of a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillRule {
    /// The operator applied to the fills, unless an argument annihilates.
    Apply,
    /// By the mask: see the sparse rules of `where`.
    Mask,
}

impl Op {
    /// The result where a law says that an argument of a type decides it.
    pub fn decided(self, law: &Annihilator, argument: DType) -> Scalar {
        // What a user declared has the type of the result.
        if let Named::Number(value) = law.result {
            return value;
        }
        let is_predicate = self.info().dtypes == DTypeRule::Predicate;
        law.result.scalar(if is_predicate { DType::Bool } else { argument })
    }

    /// The row of this operator.
    pub fn info(self) -> &'static OpInfo {
        if let Op::Cast(to) = self {
            return &CASTS[to as usize];
        }
        if let Op::User(user) = self {
            return user.info();
        }
        if self == Op::Filled {
            return &FILLED;
        }
        let at = TABLE.binary_search_by(|info| info.op.cmp(&self));
        &TABLE[at.expect("every operator has a row in order, as a test checks")]
    }

    /// Its name in every text.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The operator of this name.
    pub fn by_name(name: &str) -> Option<Op> {
        TABLE.iter().find(|info| info.name == name).map(|info| info.op)
    }

    /// The operator of two arguments that is written with this symbol.
    pub fn by_symbol(symbol: &str) -> Option<Op> {
        TABLE.iter().find(|info| info.arity == 2 && info.symbol == Some(symbol)).map(|info| info.op)
    }

    /// Dtype in which arguments of these dtypes are combined, and dtype of the result; `None` if undefined. For `where` the
    /// first argument is left out of the promotion. With f16 and bf16 is computed in f32, rounded after each operator.
    ///
    /// ```
    /// use tj_ir::Op;
    /// use tj_tensor::DType;
    /// assert_eq!(Op::Div.dtypes(&[DType::I8, DType::I8]), Some((DType::F64, DType::F64)));
    /// assert_eq!(Op::Add.dtypes(&[DType::F16, DType::F32]), Some((DType::F32, DType::F32)));
    /// assert_eq!(Op::Add.dtypes(&[DType::F16, DType::F16]), Some((DType::F16, DType::F16)));
    /// ```
    pub fn dtypes(self, args: &[DType]) -> Option<(DType, DType)> {
        self.dtypes_by(self.info().dtypes, args)
    }

    /// The dtype of an argument, where the others have the dtype in which the operator works.
    pub(crate) fn arg_dtype(self, position: usize, work: DType) -> DType {
        match (self, position) {
            (Op::Where, 0) => DType::Bool,
            (Op::User(user), _) => user.body().args[position],
            _ => work,
        }
    }

    /// As [`Op::dtypes`], for who has the rule at hand.
    pub(crate) fn dtypes_by(self, rule: DTypeRule, args: &[DType]) -> Option<(DType, DType)> {
        if let Op::User(user) = self {
            return user.dtypes(args);
        }
        use DTypeRule::{Bits, Choice, Float, Integer, Number, Predicate, Same, To};
        let promoted = match rule {
            Choice => args.get(1..)?,
            Same | Number | Float | Predicate | Bits | Integer | To(_) => args,
        }
        .iter()
        .copied()
        .reduce(DType::promote)?;
        if promoted.is_complex() {
            return self.complex_dtypes(args, promoted);
        }
        match rule {
            Same => Some((promoted, promoted)),
            Number => (!promoted.is_bool()).then_some((promoted, promoted)),
            Float => {
                let work = if promoted.is_float() { promoted } else { DType::F64 };
                Some((work, work))
            }
            Predicate => Some((promoted, DType::Bool)),
            Bits => (promoted.is_bool() || promoted.is_int()).then_some((promoted, promoted)),
            Integer => promoted.is_int().then_some((promoted, promoted)),
            Choice => (args.first() == Some(&DType::Bool)).then_some((promoted, promoted)),
            To(to) => Some((promoted, to)),
        }
    }
}
