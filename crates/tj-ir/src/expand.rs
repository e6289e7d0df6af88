//! What each scalar operator computes, over primitive operations.
//!
//! Written once and used twice: on numbers by the interpreters, and to write kernels. Arguments already have the
//! dtype in which the operator works. f16 and bf16 are computed with in f32 and rounded once at the end of every
//! operator, fused or not.

mod elementary;
mod round;
mod whole;

use smallvec::SmallVec;
use tj_tensor::{DType, Scalar};

use self::elementary::{function, function2};
use crate::elementary::{Elementary, Elementary2};
use crate::op::{Op, ReduceOp, Step, UserOp};
use crate::prim::{BinOp, CmpOp, Machine, UnOp};
use crate::threefry::threefry;

/// Applies `op` to `args`, which have the dtypes that `Op::dtypes` asks for.
///
/// # Panics
/// On a wrong number of arguments or a dtype the operator is not defined on.
pub fn expand<M: Machine>(m: &mut M, op: Op, args: &[M::V]) -> M::V {
    // These look at the bits of a half, or only move it; the steps of a user's operator round one after the other.
    let moves = matches!(op, Op::Cast(_) | Op::Where | Op::Filled | Op::Nextafter | Op::User(_));
    match args.first().map(|&a| m.dtype(a)) {
        Some(half @ (DType::F16 | DType::BF16)) if !moves => in_single(m, op, args, half),
        _ => apply(m, op, args),
    }
}

/// An operator on halves: each is an f32, and what is again a float is rounded to a half.
fn in_single<M: Machine>(m: &mut M, op: Op, args: &[M::V], half: DType) -> M::V {
    let singles: SmallVec<[M::V; 3]> = args.iter().map(|&a| m.cast(a, DType::F32)).collect();
    let result = apply(m, op, &singles);
    if m.dtype(result) == DType::F32 { m.cast(result, half) } else { result }
}

fn apply<M: Machine>(m: &mut M, op: Op, args: &[M::V]) -> M::V {
    match (op, args) {
        (Op::Cast(to), &[a]) => cast(m, a, to),
        (Op::Add, &[a, b]) => combine(m, BinOp::Add, a, b),
        (Op::Sub, &[a, b]) => m.binary(BinOp::Sub, a, b),
        (Op::Mul, &[a, b]) => combine(m, BinOp::Mul, a, b),
        (Op::Div, &[a, b]) => m.binary(BinOp::Div, a, b),
        (Op::FloorDiv, &[a, b]) => whole::floor_divide(m, a, b),
        (Op::Remainder, &[a, b]) => whole::remainder(m, a, b),
        (Op::Fmod, &[a, b]) => m.binary(BinOp::Rem, a, b),
        (Op::Pow, &[a, b]) if m.dtype(a).is_float() => function2(m, a, b, Elementary2::Pow),
        (Op::Pow, &[a, b]) => whole::power(m, a, b),
        (Op::Neg, &[a]) => m.unary(UnOp::Neg, a),
        (Op::Abs, &[a]) => m.unary(UnOp::Abs, a),
        (Op::Relu, &[a]) => {
            let zero = zero_like(m, a);
            let low = m.compare(CmpOp::Le, a, zero);
            m.select(low, zero, a)
        }
        (Op::Positive, &[a]) => {
            let zero = zero_like(m, a);
            m.compare(CmpOp::Gt, a, zero)
        }
        (Op::Sign, &[a]) => sign(m, a),
        (Op::Square, &[a]) => m.binary(BinOp::Mul, a, a),
        (Op::Reciprocal, &[a]) => {
            let one = like(m, a, 1.0);
            m.binary(BinOp::Div, one, a)
        }
        (Op::Ceil | Op::Floor | Op::Trunc | Op::Round, &[a]) if m.dtype(a).is_int() => a,
        (Op::Ceil, &[a]) => round::ceil(m, a),
        (Op::Floor, &[a]) => m.unary(UnOp::Floor, a),
        (Op::Trunc, &[a]) => round::trunc(m, a),
        (Op::Round, &[a]) => round::nearest(m, a),
        (Op::IsNan, &[a]) => m.compare(CmpOp::Ne, a, a),
        (Op::IsInf | Op::IsFinite, &[a]) if !m.dtype(a).is_float() => {
            let finite = op == Op::IsFinite;
            m.constant(Scalar::Bool(finite))
        }
        (Op::IsInf, &[a]) => {
            let (size, infinity) = (m.unary(UnOp::Abs, a), like(m, a, f64::INFINITY));
            m.compare(CmpOp::Eq, size, infinity)
        }
        (Op::IsFinite, &[a]) => {
            let (size, infinity) = (m.unary(UnOp::Abs, a), like(m, a, f64::INFINITY));
            m.compare(CmpOp::Lt, size, infinity)
        }
        (Op::Signbit, &[a]) => round::signbit(m, a),
        (Op::Copysign, &[a, b]) => round::copysign_of_number(m, a, b),
        (Op::Nextafter, &[a, b]) => round::nextafter(m, a, b),
        (Op::Sqrt, &[a]) => m.unary(UnOp::Sqrt, a),
        (Op::Exp, &[a]) => function(m, a, Elementary::Exp),
        (Op::Log, &[a]) => function(m, a, Elementary::Log),
        (Op::Tanh, &[a]) => function(m, a, Elementary::Tanh),
        (Op::Exp2, &[a]) => function(m, a, Elementary::Exp2),
        (Op::Expm1, &[a]) => function(m, a, Elementary::Expm1),
        (Op::Log1p, &[a]) => function(m, a, Elementary::Log1p),
        (Op::Log2, &[a]) => function(m, a, Elementary::Log2),
        (Op::Log10, &[a]) => function(m, a, Elementary::Log10),
        (Op::Sin, &[a]) => function(m, a, Elementary::Sin),
        (Op::Cos, &[a]) => function(m, a, Elementary::Cos),
        (Op::Sigmoid, &[a]) => function(m, a, Elementary::Sigmoid),
        (Op::Erf, &[a]) => function(m, a, Elementary::Erf),
        (Op::Tan, &[a]) => function(m, a, Elementary::Tan),
        (Op::Asin, &[a]) => function(m, a, Elementary::Asin),
        (Op::Acos, &[a]) => function(m, a, Elementary::Acos),
        (Op::Atan, &[a]) => function(m, a, Elementary::Atan),
        (Op::Sinh, &[a]) => function(m, a, Elementary::Sinh),
        (Op::Cosh, &[a]) => function(m, a, Elementary::Cosh),
        (Op::Asinh, &[a]) => function(m, a, Elementary::Asinh),
        (Op::Acosh, &[a]) => function(m, a, Elementary::Acosh),
        (Op::Atanh, &[a]) => function(m, a, Elementary::Atanh),
        (Op::Cbrt, &[a]) => function(m, a, Elementary::Cbrt),
        (Op::Erfc, &[a]) => function(m, a, Elementary::Erfc),
        (Op::Gelu, &[a]) => function(m, a, Elementary::Gelu),
        (Op::Silu, &[a]) => function(m, a, Elementary::Silu),
        (Op::Softplus, &[a]) => function(m, a, Elementary::Softplus),
        (Op::Lgamma, &[a]) => function(m, a, Elementary::Lgamma),
        (Op::LogSigmoid, &[a]) => function(m, a, Elementary::LogSigmoid),
        (Op::Atan2, &[a, b]) => function2(m, a, b, Elementary2::Atan2),
        (Op::Hypot, &[a, b]) => function2(m, a, b, Elementary2::Hypot),
        (Op::Logaddexp, &[a, b]) => function2(m, a, b, Elementary2::Logaddexp),
        (Op::Maximum, &[a, b]) => combine(m, BinOp::Max, a, b),
        (Op::Minimum, &[a, b]) => combine(m, BinOp::Min, a, b),
        (Op::Fmax, &[a, b]) => ignoring_nan(m, BinOp::Max, a, b),
        (Op::Fmin, &[a, b]) => ignoring_nan(m, BinOp::Min, a, b),
        (Op::Equal, &[a, b]) => m.compare(CmpOp::Eq, a, b),
        (Op::NotEqual, &[a, b]) => m.compare(CmpOp::Ne, a, b),
        (Op::Less, &[a, b]) => m.compare(CmpOp::Lt, a, b),
        (Op::LessEqual, &[a, b]) => m.compare(CmpOp::Le, a, b),
        (Op::Greater, &[a, b]) => m.compare(CmpOp::Gt, a, b),
        (Op::GreaterEqual, &[a, b]) => m.compare(CmpOp::Ge, a, b),
        (Op::LogicalAnd, &[a, b]) => of_truths(m, BinOp::And, a, b),
        (Op::LogicalOr, &[a, b]) => of_truths(m, BinOp::Or, a, b),
        (Op::LogicalXor, &[a, b]) => of_truths(m, BinOp::Xor, a, b),
        (Op::LogicalNot, &[a]) => {
            let zero = zero_like(m, a);
            m.compare(CmpOp::Eq, a, zero)
        }
        (Op::ShiftLeft, &[a, b]) => m.binary(BinOp::Shl, a, b),
        (Op::ShiftRight, &[a, b]) => {
            let shift = if m.dtype(a).is_signed() { BinOp::Sar } else { BinOp::Shr };
            m.binary(shift, a, b)
        }
        (Op::And, &[a, b]) => m.binary(BinOp::And, a, b),
        (Op::Or, &[a, b]) => m.binary(BinOp::Or, a, b),
        (Op::Xor, &[a, b]) => m.binary(BinOp::Xor, a, b),
        (Op::Not, &[a]) => m.unary(UnOp::Not, a),
        (Op::Where, &[c, a, b]) => m.select(c, a, b),
        (Op::Filled, &[a, _]) => a,
        (Op::User(user), args) => steps(m, user, args),
        (Op::RandomBits, &[key, counter]) => threefry(m, key, counter),
        _ => panic!("operator {} does not take {} arguments", op.name(), args.len()),
    }
}

/// The body of an operator that a user defined.
fn steps<M: Machine>(m: &mut M, user: UserOp, args: &[M::V]) -> M::V {
    let body = user.body();
    let mut values = args.to_vec();
    for step in &body.steps {
        let value = match step {
            Step::Const(c) => m.constant(*c),
            Step::Apply(op, args) => {
                let args: SmallVec<[M::V; 3]> = args.iter().map(|&arg| values[arg as usize]).collect();
                expand(m, *op, &args)
            }
        };
        values.push(value);
    }
    values[body.output as usize]
}

/// The primitive that combines two partial results of a reduction, if it is one: what [`expand`] makes of its operator.
pub fn combiner(op: ReduceOp, dtype: DType) -> Option<BinOp> {
    let is_bool = dtype.is_bool();
    Some(match op {
        ReduceOp::Sum | ReduceOp::Max if is_bool => BinOp::Or,
        ReduceOp::Prod | ReduceOp::Min if is_bool => BinOp::And,
        ReduceOp::Sum => BinOp::Add,
        ReduceOp::Prod => BinOp::Mul,
        ReduceOp::Max => BinOp::Max,
        ReduceOp::Min => BinOp::Min,
        ReduceOp::And => BinOp::And,
        ReduceOp::Or => BinOp::Or,
        ReduceOp::Xor => BinOp::Xor,
        ReduceOp::By(_) => return None,
    })
}

fn zero_like<M: Machine>(m: &mut M, a: M::V) -> M::V {
    let dtype = m.dtype(a);
    m.constant(Scalar::zero(dtype))
}

/// A number that the dtype of `a` has.
fn like<M: Machine>(m: &mut M, a: M::V, value: f64) -> M::V {
    let dtype = m.dtype(a);
    m.constant(Scalar::F64(value).cast(dtype))
}

/// Whether two are not zero, joined; NaN is not zero.
fn of_truths<M: Machine>(m: &mut M, op: BinOp, a: M::V, b: M::V) -> M::V {
    let [a, b] = [a, b].map(|v| {
        let zero = zero_like(m, v);
        m.compare(CmpOp::Ne, v, zero)
    });
    m.binary(op, a, b)
}

/// NaN is neither above nor below 0, and not equal to it.
fn sign<M: Machine>(m: &mut M, a: M::V) -> M::V {
    let (zero, one) = (zero_like(m, a), like(m, a, 1.0));
    let dtype = m.dtype(a);
    let above = m.compare(CmpOp::Gt, a, zero);
    if !dtype.is_float() && !dtype.is_signed() {
        return m.select(above, one, zero);
    }
    let minus_one = like(m, a, -1.0);
    let below = m.compare(CmpOp::Lt, a, zero);
    let rest = if dtype.is_float() {
        let is_zero = m.compare(CmpOp::Eq, a, zero);
        m.select(is_zero, zero, a)
    } else {
        zero
    };
    let rest = m.select(below, minus_one, rest);
    m.select(above, one, rest)
}

fn cast<M: Machine>(m: &mut M, a: M::V, to: DType) -> M::V {
    if m.dtype(a) == to { a } else { m.cast(a, to) }
}

/// Two values by one of the primitives that reductions combine by; on `bool` sums are or, products are and.
fn combine<M: Machine>(m: &mut M, op: BinOp, a: M::V, b: M::V) -> M::V {
    let op = match m.dtype(a).is_bool() {
        true if matches!(op, BinOp::Add | BinOp::Max) => BinOp::Or,
        true => BinOp::And,
        false => op,
    };
    m.binary(op, a, b)
}

fn ignoring_nan<M: Machine>(m: &mut M, op: BinOp, a: M::V, b: M::V) -> M::V {
    let both = combine(m, op, a, b);
    if !m.dtype(a).is_float() {
        return both;
    }
    let a_is_nan = m.compare(CmpOp::Ne, a, a);
    let b_is_nan = m.compare(CmpOp::Ne, b, b);
    let unless_a = m.select(a_is_nan, b, both);
    m.select(b_is_nan, a, unless_a)
}
