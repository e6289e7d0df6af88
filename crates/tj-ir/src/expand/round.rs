//! Rounding to integers, and operators on the bits of floats. All are exact.

use tj_tensor::{DType, Scalar};

use super::{like, zero_like};
use crate::prim::{BinOp, CmpOp, Machine, UnOp};

/// `-floor(-x)`, which keeps -0 and gives it between -1 and 0.
pub(super) fn ceil<M: Machine>(m: &mut M, a: M::V) -> M::V {
    let minus = m.unary(UnOp::Neg, a);
    let below = m.unary(UnOp::Floor, minus);
    m.unary(UnOp::Neg, below)
}

pub(super) fn trunc<M: Machine>(m: &mut M, a: M::V) -> M::V {
    let size = m.unary(UnOp::Abs, a);
    let whole = m.unary(UnOp::Floor, size);
    copysign(m, whole, a)
}

/// Adding the power of two whose ulp is 1, and taking it off again, rounds as IEEE does; what is not less than it is an
/// integer, or not a number.
pub(super) fn nearest<M: Machine>(m: &mut M, a: M::V) -> M::V {
    let unit = if m.dtype(a) == DType::F32 { 8_388_608.0 } else { 4_503_599_627_370_496.0 };
    let unit = like(m, a, unit);
    let size = m.unary(UnOp::Abs, a);
    let up = m.binary(BinOp::Add, size, unit);
    let whole = m.binary(BinOp::Sub, up, unit);
    let whole = copysign(m, whole, a);
    let small = m.compare(CmpOp::Lt, size, unit);
    m.select(small, whole, a)
}

/// NaN counts as positive: which sign a computed one has depends on the machine.
pub(super) fn signbit<M: Machine>(m: &mut M, a: M::V) -> M::V {
    let dtype = m.dtype(a);
    if !dtype.is_float() {
        let zero = zero_like(m, a);
        return m.compare(CmpOp::Lt, a, zero);
    }
    let bits = m.bitcast(a, integer(dtype));
    let zero = zero_like(m, bits);
    let set = m.compare(CmpOp::Lt, bits, zero);
    let number = is_number(m, a);
    m.binary(BinOp::And, set, number)
}

/// [`copysign`] as an operator, for which NaN counts as positive as in [`signbit`].
pub(super) fn copysign_of_number<M: Machine>(m: &mut M, a: M::V, b: M::V) -> M::V {
    let number = is_number(m, b);
    let zero = zero_like(m, b);
    let b = m.select(number, b, zero);
    copysign(m, a, b)
}

fn is_number<M: Machine>(m: &mut M, a: M::V) -> M::V {
    let half = matches!(m.dtype(a), DType::F16 | DType::BF16);
    let a = if half { m.cast(a, DType::F32) } else { a };
    m.compare(CmpOp::Eq, a, a)
}

pub(super) fn copysign<M: Machine>(m: &mut M, a: M::V, b: M::V) -> M::V {
    let dtype = m.dtype(a);
    let size = m.unary(UnOp::Abs, a);
    let (size, sign) = (m.bitcast(size, integer(dtype)), m.bitcast(b, integer(dtype)));
    let mask = m.constant(sign_bit(dtype));
    let sign = m.binary(BinOp::And, sign, mask);
    let bits = m.binary(BinOp::Or, size, sign);
    m.bitcast(bits, dtype)
}

/// Without its sign, a float is an integer that grows with it. Halves are compared in f32 and stepped in their own bits.
pub(super) fn nextafter<M: Machine>(m: &mut M, a: M::V, b: M::V) -> M::V {
    let dtype = m.dtype(a);
    let half = matches!(dtype, DType::F16 | DType::BF16);
    let [x, y] = [a, b].map(|v| if half { m.cast(v, DType::F32) } else { v });
    let bits = m.bitcast(a, integer(dtype));
    let one = m.constant(Scalar::I64(1).cast(integer(dtype)));
    let outward = m.binary(BinOp::Add, bits, one);
    let inward = m.binary(BinOp::Sub, bits, one);
    let (zero, int_zero) = (zero_like(m, x), zero_like(m, bits));
    let rises = m.compare(CmpOp::Lt, x, y);
    let positive = m.compare(CmpOp::Ge, bits, int_zero);
    // Away from zero where the direction is that of the sign.
    let differ = m.binary(BinOp::Xor, rises, positive);
    let stepped = m.select(differ, inward, outward);
    let is_zero = m.compare(CmpOp::Eq, x, zero);
    let sign = m.constant(sign_bit(dtype));
    let least_negative = m.binary(BinOp::Or, sign, one);
    let least = m.select(rises, one, least_negative);
    let stepped = m.select(is_zero, least, stepped);
    let stepped = m.bitcast(stepped, dtype);
    let equal = m.compare(CmpOp::Eq, x, y);
    let next = m.select(equal, b, stepped);
    let a_is_nan = m.compare(CmpOp::Ne, x, x);
    let b_is_nan = m.compare(CmpOp::Ne, y, y);
    let next = m.select(b_is_nan, b, next);
    m.select(a_is_nan, a, next)
}

/// The signed integer as wide as a float.
fn integer(dtype: DType) -> DType {
    match dtype.size() {
        2 => DType::I16,
        4 => DType::I32,
        _ => DType::I64,
    }
}

fn sign_bit(dtype: DType) -> Scalar {
    Scalar::lowest(integer(dtype)).expect("integers have a least value")
}
