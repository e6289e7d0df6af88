//! The scalar operators: one declarative table.
//!
//! A row says everything that the rest of the compiler knows about an operator: its names, how many arguments it
//! takes, which dtype it works in and gives, what it does to fills, and its algebra. What it computes is in
//! `expand`, over primitive operations, and nowhere else. Parser, documentation, simplifier and tests read this
//! table; adding an operator is a row here and an arm there.

use tj_tensor::{DType, Scalar};

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
    /// Quotient rounded down.
    FloorDiv,
    /// Remainder with the sign of the divisor.
    Remainder,
    /// Sign flipped.
    Neg,
    /// Absolute value.
    Abs,
    /// `max(x, 0)`: NaN stays, -0 becomes +0.
    Relu,
    /// `x > 0`.
    Positive,
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
    /// Conversion, total: integers wrap, floats saturate, NaN becomes 0.
    Cast(DType),
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

/// A value that the algebra of an operator names, in whatever dtype it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// 0 or false.
    Zero,
    /// -0.0 for floats, else 0: the exact identity of floating-point addition.
    MinusZero,
    /// 1 or true.
    One,
    /// Least value: -inf, or the least integer, or false.
    Least,
    /// Greatest value: +inf, or the greatest integer, or true.
    Greatest,
    /// All bits set.
    AllOnes,
}

/// "If argument `position` equals `value`, the result is `result`, whatever the other arguments are."
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annihilator {
    /// Which argument.
    pub position: usize,
    /// Its value.
    pub value: Named,
    /// The result.
    pub result: Named,
    /// Where this is plain arithmetic.
    pub holds: Domain,
}

/// Where an algebraic law holds bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// For every value of every dtype.
    Always,
    /// For integers and `bool`; for floats only where the other arguments are finite, or by a fill's rule.
    Exact,
}

/// Algebraic facts, stated where they hold bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algebra {
    /// `f(a, b) = f(b, a)`.
    pub commutative: Option<Domain>,
    /// `f(f(a, b), c) = f(a, f(b, c))`.
    pub associative: Option<Domain>,
    /// `f(a, a) = a`.
    pub idempotent: bool,
    /// `f(e, a) = a` for every `a` (and `f(a, e) = a` if commutative).
    pub identity: Option<Named>,
    /// `f(a, e) = a` for every `a`, when that holds on the right only.
    pub right_identity: Option<Named>,
    /// Values that decide the result.
    pub annihilators: &'static [Annihilator],
    /// `f(a, g(b, c)) = g(f(a, b), f(a, c))`, and where.
    pub distributes_over: &'static [(Op, Domain)],
}

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

const NO_ALGEBRA: Algebra = Algebra {
    commutative: None,
    associative: None,
    idempotent: false,
    identity: None,
    right_identity: None,
    annihilators: &[],
    distributes_over: &[],
};

const fn annihilates(position: usize, value: Named, result: Named, holds: Domain) -> Annihilator {
    Annihilator { position, value, result, holds }
}

const ALWAYS: Option<Domain> = Some(Domain::Always);
const EXACT: Option<Domain> = Some(Domain::Exact);

const ADD: Algebra =
    Algebra { commutative: ALWAYS, associative: EXACT, identity: Some(Named::MinusZero), ..NO_ALGEBRA };
const SUB: Algebra = Algebra { right_identity: Some(Named::Zero), ..NO_ALGEBRA };
const MUL: Algebra = Algebra {
    commutative: ALWAYS,
    associative: EXACT,
    identity: Some(Named::One),
    annihilators: &[
        annihilates(0, Named::Zero, Named::Zero, Domain::Exact),
        annihilates(1, Named::Zero, Named::Zero, Domain::Exact),
    ],
    distributes_over: &[(Op::Add, Domain::Exact), (Op::Sub, Domain::Exact)],
    ..NO_ALGEBRA
};
const DIV: Algebra = Algebra {
    right_identity: Some(Named::One),
    annihilators: &[annihilates(0, Named::Zero, Named::Zero, Domain::Exact)],
    ..NO_ALGEBRA
};
const MAX: Algebra = Algebra {
    commutative: ALWAYS,
    associative: ALWAYS,
    idempotent: true,
    identity: Some(Named::Least),
    annihilators: &[
        annihilates(0, Named::Greatest, Named::Greatest, Domain::Exact),
        annihilates(1, Named::Greatest, Named::Greatest, Domain::Exact),
    ],
    distributes_over: &[(Op::Minimum, Domain::Always)],
    ..NO_ALGEBRA
};
const MIN: Algebra = Algebra {
    commutative: ALWAYS,
    associative: ALWAYS,
    idempotent: true,
    identity: Some(Named::Greatest),
    annihilators: &[
        annihilates(0, Named::Least, Named::Least, Domain::Exact),
        annihilates(1, Named::Least, Named::Least, Domain::Exact),
    ],
    distributes_over: &[(Op::Maximum, Domain::Always)],
    ..NO_ALGEBRA
};
const AND: Algebra = Algebra {
    commutative: ALWAYS,
    associative: ALWAYS,
    idempotent: true,
    identity: Some(Named::AllOnes),
    annihilators: &[
        annihilates(0, Named::Zero, Named::Zero, Domain::Always),
        annihilates(1, Named::Zero, Named::Zero, Domain::Always),
    ],
    distributes_over: &[(Op::Or, Domain::Always)],
    ..NO_ALGEBRA
};
const OR: Algebra = Algebra {
    commutative: ALWAYS,
    associative: ALWAYS,
    idempotent: true,
    identity: Some(Named::Zero),
    annihilators: &[
        annihilates(0, Named::AllOnes, Named::AllOnes, Domain::Always),
        annihilates(1, Named::AllOnes, Named::AllOnes, Domain::Always),
    ],
    distributes_over: &[(Op::And, Domain::Always)],
    ..NO_ALGEBRA
};
const XOR: Algebra =
    Algebra { commutative: ALWAYS, associative: ALWAYS, identity: Some(Named::Zero), ..NO_ALGEBRA };
const SYMMETRIC: Algebra = Algebra { commutative: ALWAYS, ..NO_ALGEBRA };
/// `fmax` and `fmin`: NaN is their identity, which no dtype-independent name says, so it is left out.
const NAN_IGNORING: Algebra =
    Algebra { commutative: ALWAYS, associative: ALWAYS, idempotent: true, ..NO_ALGEBRA };

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

use DTypeRule::{Bits, Choice, Float, Integer, Number, Predicate, Same};

/// Every operator but the casts, one row each.
pub const TABLE: &[OpInfo] = &[
    symbol(row(Op::Add, "add", 2, Same, 1, ADD), "+"),
    symbol(row(Op::Sub, "sub", 2, Number, 1, SUB), "-"),
    symbol(row(Op::Mul, "mul", 2, Same, 1, MUL), "*"),
    symbol(row(Op::Div, "div", 2, Float, 4, DIV), "/"),
    symbol(row(Op::FloorDiv, "floor_divide", 2, Integer, 8, NO_ALGEBRA), "//"),
    symbol(row(Op::Remainder, "remainder", 2, Integer, 8, NO_ALGEBRA), "%"),
    symbol(row(Op::Neg, "neg", 1, Number, 1, NO_ALGEBRA), "-"),
    row(Op::Abs, "abs", 1, Number, 1, NO_ALGEBRA),
    row(Op::Relu, "relu", 1, Number, 2, NO_ALGEBRA),
    row(Op::Positive, "positive", 1, Predicate, 1, NO_ALGEBRA),
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
    symbol(row(Op::And, "and", 2, Bits, 1, AND), "&"),
    symbol(row(Op::Or, "or", 2, Bits, 1, OR), "|"),
    symbol(row(Op::Xor, "xor", 2, Bits, 1, XOR), "^"),
    symbol(row(Op::Not, "not", 1, Bits, 1, NO_ALGEBRA), "~"),
    OpInfo { fill: FillRule::Mask, ..row(Op::Where, "where", 3, Choice, 1, NO_ALGEBRA) },
];

impl Op {
    /// The row of this operator.
    pub fn info(self) -> OpInfo {
        if let Op::Cast(to) = self {
            return row(self, "cast", 1, DTypeRule::To(to), 1, NO_ALGEBRA);
        }
        *TABLE.iter().find(|info| info.op == self).expect("every operator has a row, as a test checks")
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

    /// Dtype in which arguments of these dtypes are combined, and dtype of the result; `None` if undefined.
    /// For `where` the first argument is left out of the promotion.
    pub fn dtypes(self, args: &[DType]) -> Option<(DType, DType)> {
        let info = self.info();
        let promoted = match info.dtypes {
            Choice => args.get(1..)?,
            Same | Number | Float | Predicate | Bits | Integer | DTypeRule::To(_) => args,
        }
        .iter()
        .copied()
        .reduce(DType::promote)?;
        match info.dtypes {
            Same => Some((promoted, promoted)),
            Number => (!promoted.is_bool()).then_some((promoted, promoted)),
            Float => {
                let work = if promoted.is_float() || promoted.is_complex() { promoted } else { DType::F64 };
                Some((work, work))
            }
            Predicate => Some((promoted, DType::Bool)),
            Bits => (promoted.is_bool() || promoted.is_int()).then_some((promoted, promoted)),
            Integer => promoted.is_int().then_some((promoted, promoted)),
            Choice => (args.first() == Some(&DType::Bool)).then_some((promoted, promoted)),
            DTypeRule::To(to) => Some((promoted, to)),
        }
    }
}

impl Named {
    /// The value in a dtype.
    ///
    /// # Panics
    /// On the least or greatest of a complex dtype, which has no order; no row of the table asks for it.
    pub fn scalar(self, dtype: DType) -> Scalar {
        match self {
            Named::Zero => Scalar::zero(dtype),
            Named::MinusZero if dtype.is_float() => Scalar::F64(-0.0).cast(dtype),
            Named::MinusZero => Scalar::zero(dtype),
            Named::One => Scalar::one(dtype),
            Named::Least => Scalar::lowest(dtype).expect("extremes are asked of ordered dtypes only"),
            Named::Greatest => Scalar::greatest(dtype).expect("extremes are asked of ordered dtypes only"),
            Named::AllOnes if dtype.is_bool() => Scalar::Bool(true),
            Named::AllOnes => Scalar::I64(-1).cast(dtype),
        }
    }
}

/// An associative operator as a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReduceOp {
    /// Sum; 0 over nothing.
    Sum,
    /// Product; 1 over nothing.
    Prod,
    /// Greatest; undefined over nothing.
    Max,
    /// Least; undefined over nothing.
    Min,
}

impl ReduceOp {
    /// All of them.
    pub const ALL: [ReduceOp; 4] = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];

    /// Name in every text.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
        }
    }

    /// The scalar operator that combines two values.
    pub fn op(self) -> Op {
        match self {
            ReduceOp::Sum => Op::Add,
            ReduceOp::Prod => Op::Mul,
            ReduceOp::Max => Op::Maximum,
            ReduceOp::Min => Op::Minimum,
        }
    }

    /// The value that changes nothing, bit for bit.
    pub fn identity(self, dtype: DType) -> Scalar {
        self.op()
            .info()
            .algebra
            .identity
            .expect("a reduction combines by an operator with an identity")
            .scalar(dtype)
    }

    /// The value over nothing, if there is one.
    pub fn empty(self, dtype: DType) -> Option<Scalar> {
        match self {
            ReduceOp::Sum => Some(Scalar::zero(dtype)),
            ReduceOp::Prod => Some(Scalar::one(dtype)),
            ReduceOp::Max | ReduceOp::Min => None,
        }
    }

    /// Dtype of the result, in which elements are combined: sums and products of `bool` and narrow integers widen.
    pub fn dtype(self, arg: DType) -> DType {
        match self {
            ReduceOp::Max | ReduceOp::Min => arg,
            ReduceOp::Sum | ReduceOp::Prod => match arg {
                DType::Bool | DType::I8 | DType::I16 | DType::I32 => DType::I64,
                DType::U8 | DType::U16 | DType::U32 => DType::U64,
                DType::I64
                | DType::U64
                | DType::F16
                | DType::BF16
                | DType::F32
                | DType::F64
                | DType::C64
                | DType::C128 => arg,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::expand;
    use crate::prim::Evaluator;

    fn samples(dtype: DType) -> Vec<Scalar> {
        let mut all: Vec<Scalar> =
            [-3.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 7.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
                .iter()
                .map(|&x| Scalar::F64(x).cast(dtype))
                .collect();
        all.extend([Scalar::lowest(dtype), Scalar::greatest(dtype)].into_iter().flatten());
        all
    }

    fn apply(op: Op, args: &[Scalar]) -> Scalar {
        expand(&mut Evaluator, op, args)
    }

    fn same(a: Scalar, b: Scalar) -> bool {
        a == b || (a.to_f64().is_nan() && b.to_f64().is_nan())
    }

    #[test]
    fn names_are_unique_and_found() {
        for info in TABLE {
            assert_eq!(Op::by_name(info.name), Some(info.op));
        }
    }

    /// Every law in the table is tried on all pairs and triples of awkward values.
    #[test]
    fn laws_hold_where_the_table_says() {
        for dtype in [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64] {
            for info in TABLE.iter().filter(|info| info.arity == 2) {
                if info.op.dtypes(&[dtype, dtype]).is_none_or(|(work, _)| work != dtype) {
                    continue;
                }
                let holds = |domain: Domain| domain == Domain::Always || !dtype.is_float();
                let (f, algebra, values) = (info.op, info.algebra, samples(dtype));
                for &a in &values {
                    if let Some(e) = algebra.identity {
                        assert!(same(apply(f, &[e.scalar(dtype), a]), a), "{} identity {a}", info.name);
                    }
                    if let Some(e) = algebra.right_identity {
                        assert!(same(apply(f, &[a, e.scalar(dtype)]), a), "{} right identity {a}", info.name);
                    }
                    if algebra.idempotent {
                        assert!(same(apply(f, &[a, a]), a), "{} idempotent {a}", info.name);
                    }
                    for law in algebra.annihilators.iter().filter(|law| holds(law.holds)) {
                        let mut args = [a, a];
                        args[law.position] = law.value.scalar(dtype);
                        assert_eq!(
                            apply(f, &args),
                            law.result.scalar(dtype),
                            "{} annihilates {a}",
                            info.name
                        );
                    }
                    for &b in &values {
                        if algebra.commutative.is_some_and(holds) {
                            assert!(
                                same(apply(f, &[a, b]), apply(f, &[b, a])),
                                "{} commutes {a} {b}",
                                info.name
                            );
                        }
                        for &c in &values {
                            if algebra.associative.is_some_and(holds) {
                                let left = apply(f, &[apply(f, &[a, b]), c]);
                                let right = apply(f, &[a, apply(f, &[b, c])]);
                                assert!(same(left, right), "{} associates {a} {b} {c}", info.name);
                            }
                            for &(g, domain) in algebra.distributes_over {
                                if !holds(domain) || g.dtypes(&[dtype, dtype]).is_none() {
                                    continue;
                                }
                                let left = apply(f, &[a, apply(g, &[b, c])]);
                                let right = apply(g, &[apply(f, &[a, b]), apply(f, &[a, c])]);
                                assert!(same(left, right), "{} over {} {a} {b} {c}", info.name, g.name());
                            }
                        }
                    }
                }
            }
        }
    }
}
