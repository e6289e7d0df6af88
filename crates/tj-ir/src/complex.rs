//! Complex operators, written over the real ones.
//!
//! **Problem.** No plan and no kernel holds a complex number: `trace` splits each into its parts. **Idea.** What an
//! operator makes of parts is written here once, as expressions over real operators at one position, so that every
//! engine computes the same bits and no layer below knows of complex numbers.
//!
//! **Values.** Branch cuts and special values are those of C99 Annex G and the array API, except where NumPy does the
//! plain thing: products and quotients of infinities may be NaN, and a number divided by zero is its parts divided by
//! zero. Nothing overflows or vanishes on the way where the result is a number: arguments are scaled by powers of two
//! that change no bit elsewhere.
//!
//! **Cost.** Both sides of every choice are computed, as in all expressions here: a square root costs some 40 additions, a
//! logarithm 200, an inverse function 250.

mod arc;
mod exp;
mod log;

use smallvec::SmallVec;
use tj_tensor::{DType, Scalar};

use crate::expr::{ExprArena, ExprId};
use crate::op::Op;

/// Real and imaginary part.
pub(crate) type Parts = [ExprId; 2];

/// What an operator makes of complex numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Applied {
    /// A complex number.
    Parts(Parts),
    /// A real number, or a truth value.
    One(ExprId),
}

/// `op` applied to complex numbers whose parts are of this dtype. `condition` is the first argument of `where`.
///
/// # Panics
/// On operators that [`Op::dtypes`] does not define on complex numbers.
pub(crate) fn apply(
    arena: &mut ExprArena,
    dtype: DType,
    op: Op,
    condition: Option<ExprId>,
    args: &[Parts],
) -> Applied {
    let mut b = Builder { arena, dtype };
    let z = args[0];
    let w = args.get(1).copied().unwrap_or(z);
    Applied::Parts(match op {
        Op::Add | Op::Sub => [b.two(op, z[0], w[0]), b.two(op, z[1], w[1])],
        Op::Neg | Op::Round => z.map(|part| b.one(op, part)),
        Op::Where => {
            let condition = condition.expect("where has a condition");
            [0, 1].map(|k| b.choose(condition, z[k], w[k]))
        }
        Op::Mul => b.mul(z, w),
        Op::Square => b.mul(z, z),
        Op::Div => b.div(z, w),
        Op::Reciprocal => {
            // Subtracted from, -0 leaves the sign of what is.
            let one = [b.number(1.0), b.number(-0.0)];
            b.div(one, z)
        }
        Op::Sign => b.sign(z),
        Op::Sqrt => b.sqrt(z),
        Op::Exp => b.exp(z),
        Op::Exp2 => b.exp2(z),
        Op::Expm1 => b.expm1(z),
        Op::Log => b.log(z),
        Op::Log1p => b.log1p(z),
        Op::Log2 => b.log_to(z, std::f64::consts::LOG2_E),
        Op::Log10 => b.log_to(z, std::f64::consts::LOG10_E),
        Op::Pow => b.pow(z, w),
        Op::Sinh => b.sinh(z),
        Op::Cosh => b.cosh(z),
        Op::Tanh => b.tanh(z),
        Op::Sin => b.turned(z, Builder::sinh),
        Op::Cos => {
            let turned = b.turn(z);
            b.cosh(turned)
        }
        Op::Tan => b.turned(z, Builder::tanh),
        Op::Asin => b.asin(z),
        Op::Acos => b.acos(z),
        Op::Acosh => b.acosh(z),
        Op::Atanh => b.atanh(z),
        Op::Asinh => b.turned(z, Builder::asin),
        Op::Atan => b.turned(z, Builder::atanh),
        Op::Abs => return Applied::One(b.two(Op::Hypot, z[0], z[1])),
        Op::Equal | Op::IsFinite => {
            let parts = [0, 1].map(|k| b.compare(op, z[k], w[k]));
            return Applied::One(b.two(Op::And, parts[0], parts[1]));
        }
        Op::NotEqual | Op::IsNan | Op::IsInf => {
            let parts = [0, 1].map(|k| b.compare(op, z[k], w[k]));
            return Applied::One(b.two(Op::Or, parts[0], parts[1]));
        }
        Op::LogicalNot => {
            let truth = b.truth(z);
            return Applied::One(b.one(Op::Not, truth));
        }
        Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor => {
            let (z, w) = (b.truth(z), b.truth(w));
            return Applied::One(b.two(op, z, w));
        }
        Op::Cast(DType::Bool) => return Applied::One(b.truth(z)),
        Op::Cast(to) => z.map(|part| b.arena.cast(part, to.real())),
        Op::FloorDiv
        | Op::Remainder
        | Op::Fmod
        | Op::Relu
        | Op::Positive
        | Op::Ceil
        | Op::Floor
        | Op::Trunc
        | Op::Signbit
        | Op::Copysign
        | Op::Nextafter
        | Op::Sigmoid
        | Op::Erf
        | Op::Atan2
        | Op::Cbrt
        | Op::Hypot
        | Op::Logaddexp
        | Op::Erfc
        | Op::Gelu
        | Op::Silu
        | Op::Softplus
        | Op::LogSigmoid
        | Op::Lgamma
        | Op::Maximum
        | Op::Minimum
        | Op::Fmax
        | Op::Fmin
        | Op::Less
        | Op::LessEqual
        | Op::Greater
        | Op::GreaterEqual
        | Op::ShiftLeft
        | Op::ShiftRight
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::RandomBits
        | Op::Filled
        | Op::User(_) => panic!("trace: {} of complex numbers is refused where it is called", op.name()),
    })
}

/// Builds expressions of one float dtype.
struct Builder<'a> {
    arena: &'a mut ExprArena,
    dtype: DType,
}

/// A factor that brings numbers to where their squares and sums are numbers, and what undoes it.
struct Scale {
    factor: ExprId,
    is_large: ExprId,
    is_small: ExprId,
}

impl Builder<'_> {
    fn number(&mut self, value: f64) -> ExprId {
        self.arena.constant(Scalar::F64(value).cast(self.dtype))
    }

    /// A number that depends on the precision.
    fn by_width(&mut self, single: f64, double: f64) -> ExprId {
        self.number(if self.dtype == DType::F32 { single } else { double })
    }

    fn one(&mut self, op: Op, x: ExprId) -> ExprId {
        self.arena.map(op, SmallVec::from_slice(&[x]))
    }

    fn two(&mut self, op: Op, x: ExprId, y: ExprId) -> ExprId {
        self.arena.map(op, SmallVec::from_slice(&[x, y]))
    }

    fn choose(&mut self, condition: ExprId, yes: ExprId, no: ExprId) -> ExprId {
        self.arena.map(Op::Where, SmallVec::from_slice(&[condition, yes, no]))
    }

    /// `x * value`.
    fn times(&mut self, x: ExprId, value: f64) -> ExprId {
        let value = self.number(value);
        self.two(Op::Mul, x, value)
    }

    /// A predicate of one argument or two.
    fn compare(&mut self, op: Op, x: ExprId, y: ExprId) -> ExprId {
        if op.info().arity == 1 { self.one(op, x) } else { self.two(op, x, y) }
    }

    fn is_zero(&mut self, x: ExprId) -> ExprId {
        let zero = self.number(0.0);
        self.two(Op::Equal, x, zero)
    }

    fn is_above(&mut self, x: ExprId, limit: f64) -> ExprId {
        let limit = self.number(limit);
        self.two(Op::Greater, x, limit)
    }

    fn both(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.two(Op::And, a, b)
    }

    fn either(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.two(Op::Or, a, b)
    }

    fn is_unbounded(&mut self, x: ExprId) -> ExprId {
        let finite = self.one(Op::IsFinite, x);
        self.one(Op::Not, finite)
    }

    /// Whether a number is not zero.
    fn truth(&mut self, z: Parts) -> ExprId {
        let zero = self.number(0.0);
        let parts = z.map(|part| self.two(Op::NotEqual, part, zero));
        self.either(parts[0], parts[1])
    }

    /// `i z`.
    fn turn(&mut self, [x, y]: Parts) -> Parts {
        [self.one(Op::Neg, y), x]
    }

    /// `-i f(i z)`: a function of an angle from its hyperbolic twin, and the other way round.
    fn turned(&mut self, z: Parts, f: fn(&mut Self, Parts) -> Parts) -> Parts {
        let turned = self.turn(z);
        let [x, y] = f(self, turned);
        [y, self.one(Op::Neg, x)]
    }

    fn mul(&mut self, [a, b]: Parts, [c, d]: Parts) -> Parts {
        let (ac, bd) = (self.two(Op::Mul, a, c), self.two(Op::Mul, b, d));
        let (ad, bc) = (self.two(Op::Mul, a, d), self.two(Op::Mul, b, c));
        [self.two(Op::Sub, ac, bd), self.two(Op::Add, ad, bc)]
    }

    /// The greater of the absolute values of the parts.
    fn greatest(&mut self, z: Parts) -> ExprId {
        let [x, y] = z.map(|part| self.one(Op::Abs, part));
        self.two(Op::Maximum, x, y)
    }

    /// The exponent of two by which small numbers are scaled up.
    fn up(&self) -> i32 {
        if self.dtype == DType::F32 { 40 } else { 200 }
    }

    fn scale(&mut self, z: Parts) -> Scale {
        let greatest = self.greatest(z);
        let (large, small) = if self.dtype == DType::F32 { (125, -85) } else { (1021, -800) };
        let is_large = self.is_above(greatest, 2f64.powi(large));
        let small = self.number(2f64.powi(small));
        let is_small = self.two(Op::Less, greatest, small);
        let factor = self.by_scale(is_large, is_small, [0.25, 2f64.powi(self.up()), 1.0]);
        Scale { factor, is_large, is_small }
    }

    /// A number for large, small and other arguments.
    fn by_scale(&mut self, is_large: ExprId, is_small: ExprId, values: [f64; 3]) -> ExprId {
        let [large, small, other] = values.map(|value| self.number(value));
        let rest = self.choose(is_small, small, other);
        self.choose(is_large, large, rest)
    }

    /// What multiplies a result to undo a factor, or its root.
    fn undo(&mut self, scale: &Scale, root: i32) -> ExprId {
        let up = 2f64.powi(-self.up() / root);
        self.by_scale(scale.is_large, scale.is_small, [if root == 2 { 2.0 } else { 4.0 }, up, 1.0])
    }

    /// By the greater part of the divisor (Smith), with the order of products that does not vanish (Baudin).
    fn div(&mut self, z: Parts, w: Parts) -> Parts {
        let (above, below) = (self.scale(z), self.scale(w));
        let [a, b] = z.map(|part| self.two(Op::Mul, part, above.factor));
        let [c, d] = w.map(|part| self.two(Op::Mul, part, below.factor));
        let [wide, high] = [c, d].map(|part| self.one(Op::Abs, part));
        let is_wide = self.two(Op::GreaterEqual, wide, high);
        let great = self.choose(is_wide, c, d);
        let less = self.choose(is_wide, d, c);
        let ratio = self.two(Op::Div, less, great);
        let tiny = self.is_zero(ratio);
        let product = self.two(Op::Mul, less, ratio);
        let whole = self.two(Op::Add, great, product);
        // `part * ratio`, where the ratio may have vanished.
        let share = |s: &mut Self, part: ExprId| {
            let plain = s.two(Op::Mul, part, ratio);
            let quotient = s.two(Op::Div, part, great);
            let other = s.two(Op::Mul, less, quotient);
            s.choose(tiny, other, plain)
        };
        let (part_a, part_b) = (share(self, a), share(self, b));
        // With `c` the greater part: (a + b r) / (c + d r) and (b - a r) / ..; else (a r + b) / .. and (b r - a) / ..
        let re_wide = self.two(Op::Add, a, part_b);
        let re_high = self.two(Op::Add, part_a, b);
        let im_wide = self.two(Op::Sub, b, part_a);
        let im_high = self.two(Op::Sub, part_b, a);
        let re = self.choose(is_wide, re_wide, re_high);
        let im = self.choose(is_wide, im_wide, im_high);
        let undo = self.undo(&above, 1);
        let zero = self.is_zero(great);
        [(re, z[0]), (im, z[1])].map(|(numerator, part)| {
            let quotient = self.two(Op::Div, numerator, whole);
            let scaled = self.two(Op::Mul, quotient, undo);
            let scaled = self.two(Op::Mul, scaled, below.factor);
            let by_zero = self.two(Op::Div, part, wide);
            self.choose(zero, by_zero, scaled)
        })
    }

    /// `z / |z|`; of zeros +0.
    fn sign(&mut self, z: Parts) -> Parts {
        let scale = self.scale(z);
        let scaled = z.map(|part| self.two(Op::Mul, part, scale.factor));
        let size = self.two(Op::Hypot, scaled[0], scaled[1]);
        let (zero, none) = (self.is_zero(size), self.number(0.0));
        let infinite = z.map(|part| self.one(Op::IsInf, part));
        let only = self.two(Op::Xor, infinite[0], infinite[1]);
        let one = self.number(1.0);
        [0, 1].map(|k| {
            let part = self.two(Op::Div, scaled[k], size);
            let part = self.choose(zero, none, part);
            // Beside an infinite part the other vanishes.
            let unit = self.two(Op::Copysign, one, z[k]);
            let far = self.choose(infinite[k], unit, none);
            self.choose(only, far, part)
        })
    }

    /// The root with a real part that is not negative: `t = sqrt((|x| + |z|) / 2)` and `y / 2t`, in this order or the other.
    fn sqrt(&mut self, z: Parts) -> Parts {
        let scale = self.scale(z);
        let [x, y] = z.map(|part| self.two(Op::Mul, part, scale.factor));
        let [wide, high] = [x, y].map(|part| self.one(Op::Abs, part));
        let size = self.two(Op::Hypot, x, y);
        let sum = self.two(Op::Add, wide, size);
        let half = self.times(sum, 0.5);
        let root = self.one(Op::Sqrt, half);
        let twice = self.two(Op::Add, root, root);
        let undo = self.undo(&scale, 2);
        let great = self.two(Op::Mul, root, undo);
        let along = |s: &mut Self, y: ExprId| {
            let quotient = s.two(Op::Div, y, twice);
            s.two(Op::Mul, quotient, undo)
        };
        let (less, less_abs) = (along(self, y), along(self, high));
        let zero = self.number(0.0);
        let is_left = self.two(Op::Less, x, zero);
        let signed = self.two(Op::Copysign, great, z[1]);
        let (re, im) = (self.choose(is_left, less_abs, great), self.choose(is_left, signed, less));
        // Of zero, and of whatever has an infinite imaginary part.
        let is_zero = self.is_zero(twice);
        let is_high = self.one(Op::IsInf, z[1]);
        let re = self.choose(is_zero, zero, re);
        let re = self.choose(is_high, high, re);
        let own = self.either(is_zero, is_high);
        [re, self.choose(own, z[1], im)]
    }
}
