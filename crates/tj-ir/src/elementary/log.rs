//! `log` and what shares its reduction.

use super::exp::{LN2_HI64, LN2_LO64};
use super::{Arith, constant, mul_add, poly, word};

const Q32: [f32; 3] = [0.66666776, 0.39977583, 0.29870796];
const Q64: [f64; 7] = [
    0.6666666666666734,
    0.39999999999416647,
    0.28571428742026306,
    0.2222219860528431,
    0.18183562838143608,
    0.1531408519960782,
    0.14795629584296666,
];

/// The natural logarithm.
pub fn log<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let (k, f) = split(a, x);
    let half = a.float(0.5);
    let half_f = a.mul(half, f);
    let h = a.mul(half_f, f);
    let tail = log_tail(a, f, h);
    // k ln2 + f - h + tail, the largest terms last.
    let ln2_hi = constant(a, 355.0 / 512.0, LN2_HI64);
    let ln2_lo = constant(a, -2.1219444e-4, LN2_LO64);
    let low = mul_add(a, k, ln2_lo, tail);
    let low = a.sub(h, low);
    let low = a.sub(low, f);
    let high = a.mul(k, ln2_hi);
    let r = a.sub(high, low);
    special(a, x, r)
}

/// `x = 2^k (1 + f)` with `1 + f` in `[sqrt(1/2), sqrt(2))`, for a positive finite `x`.
fn split<A: Arith>(a: &mut A, x: A::Float) -> (A::Float, A::Float) {
    let width = a.width();
    let bits = width.mantissa_bits();
    let power = (1_u64 << bits) as f64;
    let least_normal = constant(a, f32::MIN_POSITIVE, f64::MIN_POSITIVE);
    let up = a.float(power * 2.0);
    let subnormal = a.lt(x, least_normal);
    let scaled = a.mul(x, up);
    let x = a.select(subnormal, scaled, x);

    let x = a.float_to_bits(x);
    let offset = word(a, 0x3f80_0000 - ROOT32, 0x3ff0_0000_0000_0000 - ROOT64);
    let x = a.iadd(x, offset);
    // The exponent field, put under the exponent of 2^bits, is a float again.
    let exponent = a.ushr(x, bits);
    let integer = a.float(power);
    let integer = a.float_to_bits(integer);
    let exponent = a.ior(exponent, integer);
    let exponent = a.bits_to_float(exponent);
    let bias = power + width.bias() as f64;
    let bias_normal = a.float(bias);
    let bias_subnormal = a.float(bias + f64::from(bits + 1));
    let bias = a.select(subnormal, bias_subnormal, bias_normal);
    let k = a.sub(exponent, bias);

    let mask = a.int((1 << bits) - 1);
    let fraction = a.iand(x, mask);
    let root = word(a, ROOT32, ROOT64);
    let m = a.iadd(fraction, root);
    let m = a.bits_to_float(m);
    let one = a.float(1.0);
    (k, a.sub(m, one))
}

/// The bits of the float nearest to `sqrt(1/2)`.
const ROOT32: u32 = 0x3f35_04f3;
const ROOT64: u64 = 0x3fe6_a09e_667f_3bcd;

/// `log(1 + f) - f + h`, where `h = f^2/2`.
fn log_tail<A: Arith>(a: &mut A, f: A::Float, h: A::Float) -> A::Float {
    let two = a.float(2.0);
    let s = a.add(two, f);
    let s = a.div(f, s);
    let z = a.mul(s, s);
    let q = poly(a, z, &Q32, &Q64);
    let r = a.mul(z, q);
    let r = a.add(h, r);
    a.mul(s, r)
}

/// `r` where `x` is positive and finite, otherwise what a logarithm is there.
fn special<A: Arith>(a: &mut A, x: A::Float, r: A::Float) -> A::Float {
    let zero = a.float(0.0);
    let infinity = a.float(f64::INFINITY);
    let minus_infinity = a.float(f64::NEG_INFINITY);
    let nan = a.float(f64::NAN);
    let finite = a.lt(x, infinity);
    let r = a.select(finite, r, x);
    let is_zero = a.eq(x, zero);
    let pole = a.select(is_zero, minus_infinity, nan);
    let positive = a.lt(zero, x);
    a.select(positive, r, pole)
}
