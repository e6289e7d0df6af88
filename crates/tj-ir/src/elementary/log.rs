//! `log`, `log2`, `log10` and `log1p`.
//!
//! 1. *Split.* `x = 2^k (1 + f)` with `1 + f` in `[sqrt(1/2), sqrt(2))`, by integer arithmetic on the
//!    bits; subnormals are scaled up first.
//! 2. *Approximate.* With `s = f / (2 + f)`, `log(1 + f) = 2 atanh(s) = f - h + s (h + z Q(z))` where
//!    `h = f^2/2` and `z = s^2 <= 0.0295`. The division costs less than the eight (f32) or twenty
//!    (f64) coefficients that a polynomial in `f` needs.
//! 3. *Combine* `k` times the logarithm of 2 with the above, small terms first. For bases 2 and 10
//!    the leading part of `f - h` is cut short so that its product with the leading part of the
//!    base's factor is exact.
//! 4. *Special values.* Zero, negative numbers, infinity and NaN are selected at the end.
//!
//! | fit | interval | f32 | f64 |
//! |---|---|---|---|
//! | `Q` | 0..0.02944 | degree 2, error 2^-30.2 | degree 6, error 2^-59.4 |
//!
//! Errors are relative to the function, after rounding of the coefficients.

use super::exp::ln2;
use super::{Arith, Width, constant, mul_add, or_sign_of, poly, word};

/// `(2 atanh(s) / s - 2) / z`.
const Q32: [f32; 3] = [0.66666776, 0.39977577, 0.2987106];
const Q64: [f64; 7] = [
    0.6666666666666734,
    0.3999999999941513,
    0.28571428742371124,
    0.22222198573753538,
    0.18183564299361707,
    0.15314051192575678,
    0.14795943535892672,
];

/// The bits of the float nearest to `sqrt(1/2)`.
const ROOT32: u32 = 0x3f35_04f3;
const ROOT64: u64 = 0x3fe6_a09e_667f_3bcd;

/// The natural logarithm.
pub fn log<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let (k, f) = split(a, x);
    let (h, tail) = approximate(a, f);
    let (ln2_high, ln2_low) = ln2(a);
    let tail = mul_add(a, k, ln2_low, tail);
    let r = combine(a, k, ln2_high, f, h, tail);
    special(a, x, r)
}

/// The logarithm to base 2; exact for powers of two.
pub fn log2<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let (k, f) = split(a, x);
    let factor_high = constant(a, 1.4428711, 1.4426950407214463);
    let factor_low = constant(a, -0.00017605285, 1.6751713164886512e-10);
    let (high, low) = scaled(a, f, factor_high, factor_low);
    let r = add_ordered(a, k, high, low);
    special(a, x, r)
}

/// The logarithm to base 10.
pub fn log10<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let (k, f) = split(a, x);
    let factor_high = constant(a, 0.43432617, 0.4342944818781689);
    let factor_low = constant(a, -3.168997e-5, 2.5082946711645275e-11);
    let (high, low) = scaled(a, f, factor_high, factor_low);
    let unit_high = constant(a, 0.3010254, 0.30102999566395283);
    let unit_low = constant(a, 4.605039e-6, 2.8363394551044964e-14);
    let low = mul_add(a, k, unit_low, low);
    let k = a.mul(k, unit_high);
    let r = add_ordered(a, k, high, low);
    special(a, x, r)
}

/// `log(1 + x)`, accurate near zero.
///
/// `1 + x` rounds to `u`; the rounding error `c`, found exactly, contributes `c/u`.
pub fn log1p<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let one = a.float(1.0);
    let u = a.add(one, x);
    let back = a.sub(u, one);
    let lost = a.sub(x, back);
    let one_back = a.sub(u, back);
    let one_lost = a.sub(one, one_back);
    let c = a.add(one_lost, lost);
    let c = a.div(c, u);

    // `u` is never subnormal.
    let bias = a.float(exponent_offset(a));
    let (k, f) = split_normal(a, u, bias);
    let (h, tail) = approximate(a, f);
    let (ln2_high, ln2_low) = ln2(a);
    let low = mul_add(a, k, ln2_low, c);
    let tail = a.add(tail, low);
    let r = combine(a, k, ln2_high, f, h, tail);
    let r = special(a, u, r);
    or_sign_of(a, r, x)
}

/// `k` and `f` for a positive finite `x`, and something for any other.
pub(super) fn split<A: Arith>(a: &mut A, x: A::Float) -> (A::Float, A::Float) {
    let bits = a.width().mantissa_bits();
    let least_normal = constant(a, f32::MIN_POSITIVE, f64::MIN_POSITIVE);
    let subnormal = a.lt(x, least_normal);
    let up = a.float((2_u64 << bits) as f64);
    let scaled = a.mul(x, up);
    let x = a.select(subnormal, scaled, x);
    let offset = exponent_offset(a);
    let bias = a.float(offset);
    let bias_scaled = a.float(offset + f64::from(bits + 1));
    let bias = a.select(subnormal, bias_scaled, bias);
    split_normal(a, x, bias)
}

/// What an exponent field, read as the fraction of a float between 2^bits and 2^(bits+1), exceeds
/// the exponent by.
fn exponent_offset<A: Arith>(a: &A) -> f64 {
    ((1_i64 << a.width().mantissa_bits()) + a.width().bias()) as f64
}

fn split_normal<A: Arith>(a: &mut A, x: A::Float, bias: A::Float) -> (A::Float, A::Float) {
    let bits = a.width().mantissa_bits();
    // Moving sqrt(1/2) to 1 makes the exponent field that of the wanted power.
    let x = a.float_to_bits(x);
    let shift = word(a, 1.0_f32.to_bits() - ROOT32, 1.0_f64.to_bits() - ROOT64);
    let x = a.iadd(x, shift);
    let integer = a.int((i64::from(bits) + a.width().bias()) << bits);
    let field = a.ushr(x, bits);
    let field = a.ior(field, integer);
    let field = a.bits_to_float(field);
    let k = a.sub(field, bias);

    let mask = a.int((1 << bits) - 1);
    let fraction = a.iand(x, mask);
    let root = word(a, ROOT32, ROOT64);
    let m = a.iadd(fraction, root);
    let m = a.bits_to_float(m);
    let one = a.float(1.0);
    (k, a.sub(m, one))
}

/// `h` and `s (h + z Q(z))`.
fn approximate<A: Arith>(a: &mut A, f: A::Float) -> (A::Float, A::Float) {
    let half = a.float(0.5);
    let h = a.mul(half, f);
    let h = a.mul(h, f);
    let two = a.float(2.0);
    let s = a.add(two, f);
    let s = a.div(f, s);
    let z = a.mul(s, s);
    let q = poly(a, z, &Q32, &Q64);
    let r = mul_add(a, z, q, h);
    (h, a.mul(s, r))
}

/// `k ln2 + (f - (h - tail))`.
fn combine<A: Arith>(
    a: &mut A,
    k: A::Float,
    ln2_high: A::Float,
    f: A::Float,
    h: A::Float,
    tail: A::Float,
) -> A::Float {
    let low = a.sub(h, tail);
    let low = a.sub(low, f);
    let high = a.mul(k, ln2_high);
    a.sub(high, low)
}

/// `log(1 + f)` times a factor, as a leading part and a rest.
fn scaled<A: Arith>(
    a: &mut A,
    f: A::Float,
    factor_high: A::Float,
    factor_low: A::Float,
) -> (A::Float, A::Float) {
    let (h, tail) = approximate(a, f);
    let high = a.sub(f, h);
    let bits = a.float_to_bits(high);
    let mask = a.int(match a.width() {
        Width::F32 => -1 << 12,
        Width::F64 => -1 << 32,
    });
    let bits = a.iand(bits, mask);
    let high = a.bits_to_float(bits);
    let low = a.sub(f, high);
    let low = a.sub(low, h);
    let low = a.add(low, tail);

    let sum = a.add(low, high);
    let rest = a.mul(sum, factor_low);
    let rest = mul_add(a, low, factor_high, rest);
    (a.mul(high, factor_high), rest)
}

/// `k + high + low`, for `k` zero or larger than `high`.
fn add_ordered<A: Arith>(a: &mut A, k: A::Float, high: A::Float, low: A::Float) -> A::Float {
    let sum = a.add(k, high);
    let lost = a.sub(k, sum);
    let lost = a.add(lost, high);
    let low = a.add(low, lost);
    a.add(sum, low)
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
