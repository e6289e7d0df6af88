//! Quotients that are integers, their remainders, and powers.

use tj_tensor::{DType, Scalar};

use super::round::copysign;
use super::{like, zero_like};
use crate::prim::{BinOp, CmpOp, Machine, UnOp};

/// The quotient rounded down, as NumPy has it: from the exact remainder, so that it never is an integer too far.
pub(super) fn floor_divide<M: Machine>(m: &mut M, a: M::V, b: M::V) -> M::V {
    if !m.dtype(a).is_float() {
        return m.binary(BinOp::FloorDiv, a, b);
    }
    let zero = zero_like(m, a);
    let rest = m.binary(BinOp::Rem, a, b);
    let whole = m.binary(BinOp::Sub, a, rest);
    let quotient = m.binary(BinOp::Div, whole, b);
    let one = like(m, a, 1.0);
    let less = m.binary(BinOp::Sub, quotient, one);
    let off = rounds_up(m, rest, b);
    let quotient = m.select(off, less, quotient);
    // An integer but for rounding: take the nearest.
    let down = m.unary(UnOp::Floor, quotient);
    let lost = m.binary(BinOp::Sub, quotient, down);
    let half = like(m, a, 0.5);
    let up = m.binary(BinOp::Add, down, one);
    let far = m.compare(CmpOp::Gt, lost, half);
    let nearest = m.select(far, up, down);
    let plain = m.binary(BinOp::Div, a, b);
    let signed_zero = copysign(m, zero, plain);
    let is_zero = m.compare(CmpOp::Eq, quotient, zero);
    let result = m.select(is_zero, signed_zero, nearest);
    let by_zero = m.compare(CmpOp::Eq, b, zero);
    m.select(by_zero, plain, result)
}

/// The remainder with the sign of the divisor, zero too.
pub(super) fn remainder<M: Machine>(m: &mut M, a: M::V, b: M::V) -> M::V {
    if !m.dtype(a).is_float() {
        return m.binary(BinOp::Mod, a, b);
    }
    let zero = zero_like(m, a);
    let rest = m.binary(BinOp::Rem, a, b);
    let moved = m.binary(BinOp::Add, rest, b);
    let off = rounds_up(m, rest, b);
    let result = m.select(off, moved, rest);
    let signed_zero = copysign(m, zero, b);
    let is_zero = m.compare(CmpOp::Eq, rest, zero);
    m.select(is_zero, signed_zero, result)
}

/// Whether a remainder is on the wrong side of zero; false for NaN.
fn rounds_up<M: Machine>(m: &mut M, rest: M::V, b: M::V) -> M::V {
    let zero = zero_like(m, rest);
    let rest_negative = m.compare(CmpOp::Lt, rest, zero);
    let rest_positive = m.compare(CmpOp::Gt, rest, zero);
    let b_negative = m.compare(CmpOp::Lt, b, zero);
    let b_positive = m.compare(CmpOp::Gt, b, zero);
    let down = m.binary(BinOp::And, rest_negative, b_positive);
    let up = m.binary(BinOp::And, rest_positive, b_negative);
    m.binary(BinOp::Or, down, up)
}

/// The power of an integer, by squaring over every bit that an exponent can have.
pub(super) fn power<M: Machine>(m: &mut M, a: M::V, b: M::V) -> M::V {
    let dtype = m.dtype(a);
    let signed = dtype.is_signed();
    let (zero, one) = (zero_like(m, a), integer(m, dtype, 1));
    let n_bits = 8 * dtype.size() - usize::from(signed);
    let (mut result, mut square) = (one, a);
    for bit in 0..n_bits {
        if bit > 0 {
            square = m.binary(BinOp::Mul, square, square);
        }
        let mask = m.constant(Scalar::U64(1 << bit).cast(dtype));
        let taken = m.binary(BinOp::And, b, mask);
        let taken = m.compare(CmpOp::Ne, taken, zero);
        let more = m.binary(BinOp::Mul, result, square);
        result = m.select(taken, more, result);
    }
    if !signed {
        return result;
    }
    // The reciprocal: 1 of 1, and of -1 what its positive power is; 0 of all others, 0 included.
    let minus_one = integer(m, dtype, -1);
    let odd = m.binary(BinOp::And, b, one);
    let odd = m.compare(CmpOp::Ne, odd, zero);
    let alternating = m.select(odd, minus_one, one);
    let is_one = m.compare(CmpOp::Eq, a, one);
    let is_minus_one = m.compare(CmpOp::Eq, a, minus_one);
    let inverse = m.select(is_one, one, zero);
    let inverse = m.select(is_minus_one, alternating, inverse);
    let negative = m.compare(CmpOp::Lt, b, zero);
    m.select(negative, inverse, result)
}

fn integer<M: Machine>(m: &mut M, dtype: DType, value: i64) -> M::V {
    m.constant(Scalar::I64(value).cast(dtype))
}
