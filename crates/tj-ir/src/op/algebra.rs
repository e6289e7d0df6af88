//! The algebra of an operator: laws, each stated where it holds bit for bit.
//!
//! The simplifier and the sparse rules use nothing else about an operator; `tests.rs` tries every law on awkward
//! values of every dtype it claims to hold for.

use tj_tensor::{DType, Scalar};

use super::Op;

/// A value that the algebra of an operator names, in whatever dtype it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Any other, converted: -inf is the least of an integer dtype.
    Number(Scalar),
}

impl From<f64> for Named {
    fn from(value: f64) -> Named {
        Named::Number(Scalar::F64(value))
    }
}

impl From<i32> for Named {
    fn from(value: i32) -> Named {
        Named::Number(Scalar::I64(value.into()))
    }
}

impl From<bool> for Named {
    fn from(value: bool) -> Named {
        Named::Number(Scalar::Bool(value))
    }
}

/// "If argument `position` equals `value`, the result is `result`, whatever the other arguments are."
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// For every value of every dtype.
    Always,
    /// For integers and `bool`; for floats only where the other arguments are finite, or by a fill's rule.
    Exact,
    /// For floats, and only by a fill's rule: an element that equals its tensor's fill decides, whatever IEEE says.
    Fill,
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
            Named::Number(value) => value.cast(dtype),
        }
    }
}

pub(super) const NO_ALGEBRA: Algebra = Algebra {
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

pub(super) const ADD: Algebra = Algebra {
    commutative: ALWAYS,
    associative: EXACT,
    identity: Some(Named::MinusZero),
    // The infinities of tropical semirings.
    annihilators: &[
        annihilates(0, Named::Greatest, Named::Greatest, Domain::Fill),
        annihilates(1, Named::Greatest, Named::Greatest, Domain::Fill),
        annihilates(0, Named::Least, Named::Least, Domain::Fill),
        annihilates(1, Named::Least, Named::Least, Domain::Fill),
    ],
    ..NO_ALGEBRA
};
pub(super) const SUB: Algebra = Algebra { right_identity: Some(Named::Zero), ..NO_ALGEBRA };
pub(super) const MUL: Algebra = Algebra {
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
pub(super) const DIV: Algebra = Algebra {
    right_identity: Some(Named::One),
    annihilators: &[annihilates(0, Named::Zero, Named::Zero, Domain::Exact)],
    ..NO_ALGEBRA
};
/// `//`, `%` and shifts: of 0, whatever the second argument is.
pub(super) const OF_ZERO: Algebra =
    Algebra { annihilators: &[annihilates(0, Named::Zero, Named::Zero, Domain::Exact)], ..NO_ALGEBRA };
pub(super) const MAX: Algebra = Algebra {
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
pub(super) const MIN: Algebra = Algebra {
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
pub(super) const AND: Algebra = Algebra {
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
pub(super) const OR: Algebra = Algebra {
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
pub(super) const XOR: Algebra =
    Algebra { commutative: ALWAYS, associative: ALWAYS, identity: Some(Named::Zero), ..NO_ALGEBRA };
/// Of truths: numbers other than 0 are true, and 1 is the one that has a name.
pub(super) const BOTH: Algebra = Algebra {
    commutative: ALWAYS,
    annihilators: &[
        annihilates(0, Named::Zero, Named::Zero, Domain::Always),
        annihilates(1, Named::Zero, Named::Zero, Domain::Always),
    ],
    ..NO_ALGEBRA
};
pub(super) const EITHER: Algebra = Algebra {
    commutative: ALWAYS,
    annihilators: &[
        annihilates(0, Named::One, Named::One, Domain::Always),
        annihilates(1, Named::One, Named::One, Domain::Always),
    ],
    ..NO_ALGEBRA
};
pub(super) const SYMMETRIC: Algebra = Algebra { commutative: ALWAYS, ..NO_ALGEBRA };
/// Associative but for rounding. What changes nothing would change the sign: of -0 in `logaddexp`, of any number in `hypot`.
pub(super) const ROUNDED: Algebra = Algebra { commutative: ALWAYS, associative: EXACT, ..NO_ALGEBRA };
/// `fmax` and `fmin`: NaN is their identity, which no dtype-independent name says, so it is left out.
pub(super) const NAN_IGNORING: Algebra =
    Algebra { commutative: ALWAYS, associative: ALWAYS, idempotent: true, ..NO_ALGEBRA };
