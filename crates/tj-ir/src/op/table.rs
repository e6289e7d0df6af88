//! The table of operators, one row each.

use super::DTypeRule::{Bits, Choice, Float, Integer, Number, Predicate, Same};
use super::algebra::{
    ADD, AND, Algebra, BOTH, DIV, EITHER, MAX, MIN, MUL, NAN_IGNORING, NO_ALGEBRA, OF_ZERO, OR, ROUNDED, SUB,
    SYMMETRIC, XOR,
};
use tj_tensor::DType;

use super::{DTypeRule, FillRule, Op};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpInfo {
    /// The operator.
    pub op: Op,
    /// Its name in every text.
    pub name: &'static str,
    /// Infix or prefix symbol, if it has one.
    pub symbol: Option<&'static str>,
    /// Number of arguments.
    pub arity: usize,
    /// Dtypes.
    pub dtypes: DTypeRule,
    /// Fills.
    pub fill: FillRule,
    /// Algebra.
    pub algebra: Algebra,
    /// Rough cost in additions, for decisions.
    pub cost: u32,
}

/// Every operator that programs are written with but the casts, one row each, in the order of [`Op`].
pub const TABLE: &[OpInfo] = &[
    symbol(row(Op::Add, "add", 2, Same, 1, ADD), "+"),
    symbol(row(Op::Sub, "sub", 2, Number, 1, SUB), "-"),
    symbol(row(Op::Mul, "mul", 2, Same, 1, MUL), "*"),
    symbol(row(Op::Div, "div", 2, Float, 4, DIV), "/"),
    symbol(row(Op::FloorDiv, "floor_divide", 2, Number, 20, OF_ZERO), "//"),
    symbol(row(Op::Remainder, "remainder", 2, Number, 20, OF_ZERO), "%"),
    row(Op::Fmod, "fmod", 2, Float, 16, NO_ALGEBRA),
    symbol(row(Op::Pow, "pow", 2, Number, 80, NO_ALGEBRA), "**"),
    symbol(row(Op::Neg, "neg", 1, Number, 1, NO_ALGEBRA), "-"),
    row(Op::Abs, "abs", 1, Number, 1, NO_ALGEBRA),
    row(Op::Relu, "relu", 1, Number, 2, NO_ALGEBRA),
    row(Op::Positive, "is_positive", 1, Predicate, 1, NO_ALGEBRA),
    row(Op::Sign, "sign", 1, Number, 4, NO_ALGEBRA),
    row(Op::Square, "square", 1, Number, 1, NO_ALGEBRA),
    row(Op::Reciprocal, "reciprocal", 1, Float, 4, NO_ALGEBRA),
    row(Op::Ceil, "ceil", 1, Number, 3, NO_ALGEBRA),
    row(Op::Floor, "floor", 1, Number, 1, NO_ALGEBRA),
    row(Op::Trunc, "trunc", 1, Number, 3, NO_ALGEBRA),
    row(Op::Round, "round", 1, Number, 6, NO_ALGEBRA),
    row(Op::IsNan, "isnan", 1, Predicate, 1, NO_ALGEBRA),
    row(Op::IsInf, "isinf", 1, Predicate, 2, NO_ALGEBRA),
    row(Op::IsFinite, "isfinite", 1, Predicate, 2, NO_ALGEBRA),
    row(Op::Signbit, "signbit", 1, Predicate, 2, NO_ALGEBRA),
    row(Op::Copysign, "copysign", 2, Float, 3, NO_ALGEBRA),
    row(Op::Nextafter, "nextafter", 2, Float, 12, NO_ALGEBRA),
    row(Op::Sqrt, "sqrt", 1, Float, 4, NO_ALGEBRA),
    row(Op::Exp, "exp", 1, Float, 12, NO_ALGEBRA),
    row(Op::Log, "log", 1, Float, 12, NO_ALGEBRA),
    row(Op::Tanh, "tanh", 1, Float, 16, NO_ALGEBRA),
    row(Op::Exp2, "exp2", 1, Float, 12, NO_ALGEBRA),
    row(Op::Expm1, "expm1", 1, Float, 14, NO_ALGEBRA),
    row(Op::Log1p, "log1p", 1, Float, 14, NO_ALGEBRA),
    row(Op::Log2, "log2", 1, Float, 14, NO_ALGEBRA),
    row(Op::Log10, "log10", 1, Float, 14, NO_ALGEBRA),
    row(Op::Sin, "sin", 1, Float, 40, NO_ALGEBRA),
    row(Op::Cos, "cos", 1, Float, 40, NO_ALGEBRA),
    row(Op::Sigmoid, "sigmoid", 1, Float, 14, NO_ALGEBRA),
    row(Op::Erf, "erf", 1, Float, 20, NO_ALGEBRA),
    row(Op::Tan, "tan", 1, Float, 45, NO_ALGEBRA),
    row(Op::Asin, "asin", 1, Float, 20, NO_ALGEBRA),
    row(Op::Acos, "acos", 1, Float, 20, NO_ALGEBRA),
    row(Op::Atan, "atan", 1, Float, 16, NO_ALGEBRA),
    row(Op::Atan2, "atan2", 2, Float, 30, NO_ALGEBRA),
    row(Op::Sinh, "sinh", 1, Float, 20, NO_ALGEBRA),
    row(Op::Cosh, "cosh", 1, Float, 20, NO_ALGEBRA),
    row(Op::Asinh, "asinh", 1, Float, 26, NO_ALGEBRA),
    row(Op::Acosh, "acosh", 1, Float, 26, NO_ALGEBRA),
    row(Op::Atanh, "atanh", 1, Float, 20, NO_ALGEBRA),
    row(Op::Cbrt, "cbrt", 1, Float, 20, NO_ALGEBRA),
    row(Op::Hypot, "hypot", 2, Float, 14, ROUNDED),
    row(Op::Logaddexp, "logaddexp", 2, Float, 30, ROUNDED),
    row(Op::Erfc, "erfc", 1, Float, 30, NO_ALGEBRA),
    row(Op::Gelu, "gelu", 1, Float, 34, NO_ALGEBRA),
    row(Op::Silu, "silu", 1, Float, 18, NO_ALGEBRA),
    row(Op::Softplus, "softplus", 1, Float, 28, NO_ALGEBRA),
    row(Op::LogSigmoid, "log_sigmoid", 1, Float, 28, NO_ALGEBRA),
    row(Op::Lgamma, "lgamma", 1, Float, 60, NO_ALGEBRA),
    row(Op::Maximum, "maximum", 2, Same, 3, MAX),
    row(Op::Minimum, "minimum", 2, Same, 3, MIN),
    row(Op::Fmax, "fmax", 2, Same, 5, NAN_IGNORING),
    row(Op::Fmin, "fmin", 2, Same, 5, NAN_IGNORING),
    symbol(row(Op::Equal, "equal", 2, Predicate, 1, SYMMETRIC), "=="),
    symbol(row(Op::NotEqual, "not_equal", 2, Predicate, 1, SYMMETRIC), "!="),
    symbol(row(Op::Less, "less", 2, Predicate, 1, NO_ALGEBRA), "<"),
    symbol(row(Op::LessEqual, "less_equal", 2, Predicate, 1, NO_ALGEBRA), "<="),
    symbol(row(Op::Greater, "greater", 2, Predicate, 1, NO_ALGEBRA), ">"),
    symbol(row(Op::GreaterEqual, "greater_equal", 2, Predicate, 1, NO_ALGEBRA), ">="),
    row(Op::LogicalAnd, "logical_and", 2, Predicate, 3, BOTH),
    row(Op::LogicalOr, "logical_or", 2, Predicate, 3, EITHER),
    row(Op::LogicalXor, "logical_xor", 2, Predicate, 3, SYMMETRIC),
    row(Op::LogicalNot, "logical_not", 1, Predicate, 1, NO_ALGEBRA),
    symbol(row(Op::ShiftLeft, "bitwise_left_shift", 2, Integer, 2, OF_ZERO), "<<"),
    symbol(row(Op::ShiftRight, "bitwise_right_shift", 2, Integer, 2, OF_ZERO), ">>"),
    symbol(row(Op::And, "and", 2, Bits, 1, AND), "&"),
    symbol(row(Op::Or, "or", 2, Bits, 1, OR), "|"),
    symbol(row(Op::Xor, "xor", 2, Bits, 1, XOR), "^"),
    symbol(row(Op::Not, "not", 1, Bits, 1, NO_ALGEBRA), "~"),
    OpInfo { fill: FillRule::Mask, ..row(Op::Where, "where", 3, Choice, 1, NO_ALGEBRA) },
    row(Op::RandomBits, "random_bits", 2, Integer, 110, NO_ALGEBRA),
];

/// The casts, in the order of dtypes.
pub(super) static CASTS: [OpInfo; DType::ALL.len()] = {
    let mut rows =
        [row(Op::Cast(DType::Bool), "cast", 1, DTypeRule::To(DType::Bool), 1, NO_ALGEBRA); DType::ALL.len()];
    let mut at = 0;
    while at < rows.len() {
        let to = DType::ALL[at];
        rows[at] = row(Op::Cast(to), "cast", 1, DTypeRule::To(to), 1, NO_ALGEBRA);
        at += 1;
    }
    rows
};

/// What `trace` says of an expression.
pub(super) static FILLED: OpInfo = row(Op::Filled, "filled", 2, Same, 0, NO_ALGEBRA);

const fn row(
    op: Op,
    name: &'static str,
    arity: usize,
    dtypes: DTypeRule,
    cost: u32,
    algebra: Algebra,
) -> OpInfo {
    OpInfo { op, name, symbol: None, arity, dtypes, fill: FillRule::Apply, algebra, cost }
}

const fn symbol(info: OpInfo, symbol: &'static str) -> OpInfo {
    OpInfo { symbol: Some(symbol), ..info }
}
