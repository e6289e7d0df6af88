//! `exp`, `exp2`, `expm1` and `sigmoid`.
//!
//! `x = k ln2 + r` with `k` an integer and `|r| <= ln2/2`; then `exp(x) = 2^k exp(r)`.
//!
//! 1. *Reduce.* `t = x/ln2 + MAGIC` rounds to an integer because a ulp of `MAGIC` (1.5 * 2^23 or
//!    1.5 * 2^52, plus a small integer) is 1: `t - MAGIC` is `k` as a float, and the low bits of `t`
//!    are `k` plus that small integer. `ln2` is subtracted in two parts, the first so short that
//!    `k` times it, and the difference, are exact.
//! 2. *Approximate.* `exp(r) = 1 + (r + r^2 P(r))`: the last addition, of a small term to 1, makes
//!    half of the error and the rounding of `r` most of the rest.
//! 3. *Scale.* Multiplying by `2^k` in two steps of about `k/2` keeps both factors normal: the first
//!    product is exact, the second rounds once into the subnormals or overflows to infinity.
//!
//! `exp2` needs no `ln2`: `r = x - k` is exact, and `2^r = 1 + r R(r)`.
//!
//! | fit | interval | f32 | f64 |
//! |---|---|---|---|
//! | `P` | -0.3467..0.3467 | degree 4, error 2^-28.2 | degree 9, error 2^-57.8 |
//! | `R` | -0.5..0.5 | degree 6, error 2^-31.1 | degree 11, error 2^-58.6 |
//!
//! Errors are relative to the function, after rounding of the coefficients.

use super::{Arith, Width, clamp, constant, mul_add, or_sign_of, poly};

/// `(exp(r) - 1 - r) / r^2`.
const P32: [f32; 5] = [0.49999994, 0.16666521, 0.041668262, 0.008368681, 0.0013821273];
const P64: [f64; 10] = [
    0.5000000000000011,
    0.16666666666666413,
    0.04166666666652905,
    0.008333333333494487,
    0.001388888894373378,
    0.00019841269506475198,
    2.4801493027229504e-5,
    2.7557586330516386e-6,
    2.763027616858817e-7,
    2.5000118943341037e-8,
];

/// `(2^r - 1) / r`.
const R32: [f32; 7] =
    [std::f32::consts::LN_2, 0.2402265, 0.055504013, 0.00961807, 0.0013341883, 0.00015461296, 1.336323e-5];
const R64: [f64; 12] = [
    std::f64::consts::LN_2,
    0.2402265069591007,
    0.05550410866482204,
    0.009618129107628793,
    0.0013333558146379758,
    0.0001540353039326195,
    1.5252733856227967e-5,
    1.321548681559553e-6,
    1.0178051177148347e-7,
    7.054894570256757e-9,
    4.4566778511690004e-10,
    2.5733268148007563e-11,
];

/// The natural exponential, with gradual underflow.
pub fn exp<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    // Just outside the range of finite, non-zero results; `scale` then underflows or overflows.
    let lo = constant(a, -104.0, -746.0);
    let hi = constant(a, 89.0, 710.0);
    let x = clamp(a, x, lo, hi);
    exp_clamped(a, x)
}

/// The power of two; exact for every integer in range.
pub fn exp2<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let lo = constant(a, -151.0, -1076.0);
    let hi = constant(a, 128.0, 1024.0);
    let x = clamp(a, x, lo, hi);
    let magic = magic(a, 2);
    let t = a.add(x, magic);
    let k = a.sub(t, magic);
    let r = a.sub(x, k);
    let p = poly(a, r, &R32, &R64);
    let one = a.float(1.0);
    let p = mul_add(a, r, p, one);
    let k = a.float_to_bits(t);
    scale(a, p, k)
}

/// `2^(high + low)`, for a sum that was cut short to the range of [`exp2`], as a number near 1 and bits for [`scale`].
pub(super) fn exp2_parts<A: Arith>(a: &mut A, high: A::Float, low: A::Float) -> (A::Float, A::Int) {
    let magic = magic(a, 2);
    let sum = a.add(high, low);
    let t = a.add(sum, magic);
    let k = a.sub(t, magic);
    let fraction = a.sub(high, k);
    let r = a.add(fraction, low);
    let lost = a.sub(fraction, r);
    let lost = a.add(lost, low);
    let p = poly(a, r, &R32, &R64);
    let ln2 = constant(a, std::f32::consts::LN_2, std::f64::consts::LN_2);
    let rest = a.mul(lost, ln2);
    let rest = mul_add(a, r, p, rest);
    let one = a.float(1.0);
    (a.add(one, rest), a.float_to_bits(t))
}

/// `exp(x) - 1`, accurate near zero.
///
/// It is `2^k ((1 - 2^-k) + (exp(r) - 1))`. Adding `r` to the parenthesis first makes that sum exact
/// where it cancels, and `c`, what `r` lost in rounding, joins the small rest.
pub fn expm1<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let lo = constant(a, -20.0, -40.0);
    let hi = constant(a, 89.0, 710.0);
    let y = clamp(a, x, lo, hi);
    let Reduced { r, high, low, k } = reduce(a, y, 2);
    let c = a.sub(high, r);
    let c = a.sub(c, low);
    let p = poly(a, r, &P32, &P64);
    let r2 = a.mul(r, r);
    let rest = mul_add(a, r2, p, c);

    // 2^-k as half of 2^(1-k), whose exponent field is 0, and its value 0, for the largest k.
    let top = a.int(3 * a.width().bias() + 1);
    let field = a.isub(top, k);
    let field = a.ishl(field, a.width().mantissa_bits());
    let double = a.bits_to_float(field);
    let half = a.float(0.5);
    let inverse = a.mul(double, half);
    let one = a.float(1.0);
    let lead = a.sub(one, inverse);
    let lead = a.add(lead, r);
    let sum = a.add(lead, rest);
    let e = scale(a, sum, k);
    or_sign_of(a, e, x)
}

/// The logistic function `1 / (1 + exp(-x))`.
///
/// With `z = exp(-|x|)` it is `1 / (1 + z)` or `z / (1 + z)`: neither overflows, and the lower tail
/// keeps its relative accuracy down to the subnormals.
pub fn sigmoid<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let y = a.neg(y);
    let lo = constant(a, -104.0, -746.0);
    let below = a.lt(y, lo);
    let y = a.select(below, lo, y);
    let z = exp_clamped(a, y);
    let zero = a.float(0.0);
    let one = a.float(1.0);
    let negative = a.lt(x, zero);
    let numerator = a.select(negative, z, one);
    let denominator = a.add(one, z);
    a.div(numerator, denominator)
}

/// `exp(x)` for `x` in the range to which [`exp`] clamps.
fn exp_clamped<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let Reduced { r, k, .. } = reduce(a, x, 2);
    let e = exp_of_reduced(a, r);
    scale(a, e, k)
}

/// `exp(x)` for `x` so small in magnitude that `2^k` is normal: one step of scaling is enough.
pub(super) fn exp_short<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let Reduced { r, k, .. } = reduce(a, x, 1);
    let e = exp_of_reduced(a, r);
    times_power_of_2(a, e, k)
}

/// `x = k ln2 + r`, with `r = high - low` rounded.
pub(super) struct Reduced<A: Arith> {
    pub(super) r: A::Float,
    pub(super) high: A::Float,
    pub(super) low: A::Float,
    /// Bits whose low part is `k` plus as many biases as were asked for.
    pub(super) k: A::Int,
}

/// `k` is meant for as many factors as there are biases, see [`scale`].
pub(super) fn reduce<A: Arith>(a: &mut A, x: A::Float, biases: i64) -> Reduced<A> {
    let magic = magic(a, biases);
    let inv_ln2 = constant(a, std::f32::consts::LOG2_E, std::f64::consts::LOG2_E);
    let t = mul_add(a, x, inv_ln2, magic);
    let k = a.sub(t, magic);
    let (ln2_high, ln2_low) = ln2(a);
    let high = a.mul(k, ln2_high);
    let high = a.sub(x, high);
    let low = a.mul(k, ln2_low);
    let r = a.sub(high, low);
    Reduced { r, high, low, k: a.float_to_bits(t) }
}

/// `ln2` in two parts; the first has 9 of 24 or 42 of 53 bits, so that its product with any exponent
/// is exact.
pub(super) fn ln2<A: Arith>(a: &mut A) -> (A::Float, A::Float) {
    let high = constant(a, 355.0 / 512.0, 0.6931471805598903);
    let low = constant(a, -2.1219444e-4, 5.497923018708371e-14);
    (high, low)
}

/// Rounds to an integer what is added to it, and holds that integer plus some biases in its low bits.
pub(super) fn magic<A: Arith>(a: &mut A, biases: i64) -> A::Float {
    let offset = (biases * a.width().bias()) as f64;
    let base = match a.width() {
        Width::F32 => 12_582_912.0,
        Width::F64 => 6_755_399_441_055_744.0,
    };
    a.float(base + offset)
}

/// `exp(r)` for a reduced argument.
pub(super) fn exp_of_reduced<A: Arith>(a: &mut A, r: A::Float) -> A::Float {
    let p = poly(a, r, &P32, &P64);
    let r2 = a.mul(r, r);
    let e = mul_add(a, r2, p, r);
    let one = a.float(1.0);
    a.add(one, e)
}

/// `p * 2^k`, from `k` and two biases in the low bits of `k`.
pub(super) fn scale<A: Arith>(a: &mut A, p: A::Float, k: A::Int) -> A::Float {
    // `times_power_of_2` shifts out what `magic` left above the exponent field.
    let half = a.ushr(k, 1);
    let rest = a.isub(k, half);
    let p = times_power_of_2(a, p, half);
    times_power_of_2(a, p, rest)
}

/// `p * 2^k` for a normal `2^k`, from `k` and one bias in the low bits of `k`.
pub(super) fn times_power_of_2<A: Arith>(a: &mut A, p: A::Float, k: A::Int) -> A::Float {
    let power = a.ishl(k, a.width().mantissa_bits());
    let power = a.bits_to_float(power);
    a.mul(p, power)
}
