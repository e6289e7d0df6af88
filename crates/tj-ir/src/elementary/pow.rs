//! `pow`.
//!
//! `x^y = 2^(y log2 |x|)`, with the logarithm and the product in two parts, half a significand more than the width:
//! an error in an exponent of up to 1075 would otherwise be one of hundreds of ulps.
//!
//! 1. *Logarithm.* With `|x| = 2^k (1 + f)` and `s = f/(2 + f)` as in `log`, in two parts, `log(1 + f) =
//!    2/3 s (3 + s^2 + 3 s^4 W(s^2))`. The parts that lead have half a significand, so that their products are
//!    exact; so are the differences that give the parts that follow.
//! 2. *Product.* `y` is cut in the same way. Where it overflows, a product in one part decides.
//! 3. *Exponential* as in `exp2`, with the trailing part added to the remainder.
//! 4. *Special values* are those of C: `x^0` and `1^y` are 1 whatever the other is; a negative `x` has powers that
//!    are integers only, and odd ones keep its sign, that of zero and infinity too.
//!
//! | fit | interval | f32 | f64 |
//! |---|---|---|---|
//! | `W` | 0..0.02944 | degree 3, error 2^-41.9 | degree 7, error 2^-69.4 |
//!
//! Errors are relative to the function, after rounding of the coefficients. What is exact is found exactly: before
//! the last rounding, the error is below half an ulp.

use super::exp::{exp2_parts, scale};
use super::log::split;
use super::{Arith, constant, mul_add, poly, top};

/// `(atanh(s) / s - 1 - z / 3) / z^2`.
const W32: [f32; 4] = [0.19999999, 0.1428595, 0.11092411, 0.09733906];
const W64: [f64; 8] = [
    0.1999999999999999,
    0.14285714285722506,
    0.111111111087683,
    0.09090909435156103,
    0.07692278435624432,
    0.06668158704729012,
    0.058374093435608496,
    0.059945059162611745,
];

/// `x` to the power `y`.
pub fn pow<A: Arith>(a: &mut A, x: A::Float, y: A::Float) -> A::Float {
    let size = a.abs(x);
    let (log_high, log_low) = log2_parts(a, size);
    let (zero, one, infinity) = (a.float(0.0), a.float(1.0), a.float(f64::INFINITY));

    let y_high = top(a, y);
    let y_low = a.sub(y, y_high);
    let high = a.mul(y_high, log_high);
    let low = a.mul(y, log_low);
    let low = mul_add(a, y_low, log_high, low);
    // The logarithm as a number that may be infinite or NaN.
    let minus_infinity = a.float(f64::NEG_INFINITY);
    let finite = a.lt(size, infinity);
    let log = a.select(finite, log_high, size);
    let is_zero = a.eq(size, zero);
    let log = a.select(is_zero, minus_infinity, log);
    let rough = a.mul(y, log);
    let rough_size = a.abs(rough);
    let limit = a.float(1e6);
    let in_range = a.lt(rough_size, limit);
    let high = a.select(in_range, high, rough);
    let low = a.select(in_range, low, zero);
    let power = exp2_of(a, high, low);

    // 1 and -1 to any power but NaN.
    let y_is_number = a.eq(y, y);
    let unit = a.select(y_is_number, one, y);
    let is_unit = a.eq(size, one);
    let power = a.select(is_unit, unit, power);
    let power = signed(a, x, y, power);
    let is_one = a.eq(x, one);
    let power = a.select(is_one, one, power);
    let to_zero = a.eq(y, zero);
    a.select(to_zero, one, power)
}

/// `log2` of a positive finite number; the leading part is short.
fn log2_parts<A: Arith>(a: &mut A, x: A::Float) -> (A::Float, A::Float) {
    let (k, f) = split(a, x);
    let (two, three) = (a.float(2.0), a.float(3.0));
    let d = a.add(two, f);
    let d_back = a.sub(d, two);
    let d_lost = a.sub(f, d_back);
    let s = a.div(f, d);
    let s_high = top(a, s);
    let d_high = top(a, d);
    let d_low = a.sub(d, d_high);
    let d_low = a.add(d_low, d_lost);
    let product = a.mul(s_high, d_high);
    let rest = a.sub(f, product);
    let product = a.mul(s_high, d_low);
    let rest = a.sub(rest, product);
    let s_low = a.div(rest, d);

    let z = a.mul(s, s);
    let w = poly(a, z, &W32, &W64);
    let z3 = a.mul(three, z);
    let z3 = a.mul(z3, z);
    let square = a.mul(s_high, s_high);
    let sum = a.add(s_high, s);
    let cross = a.mul(s_low, sum);
    let r = mul_add(a, z3, w, cross);
    let factor = a.add(three, square);
    let factor = a.add(factor, r);
    let factor_high = top(a, factor);
    let factor_low = a.sub(factor_high, three);
    let factor_low = a.sub(factor_low, square);
    let factor_low = a.sub(r, factor_low);
    let high = a.mul(s_high, factor_high);
    let low = a.mul(s, factor_low);
    let low = mul_add(a, s_low, factor_high, low);

    let log = a.add(high, low);
    let log_high = top(a, log);
    let log_low = a.sub(log_high, high);
    let log_low = a.sub(low, log_low);
    // 2/(3 ln2) in two parts, the first short.
    let unit = constant(a, 0.9617967, 0.9617966939259756);
    let unit_high = constant(a, 0.9616699, 0.9617966860532761);
    let unit_low = constant(a, 0.00012677205, 7.872699542894897e-9);
    let high = a.mul(unit_high, log_high);
    let low = a.mul(unit, log_low);
    let low = mul_add(a, unit_low, log_high, low);

    let log = a.add(high, low);
    let log = a.add(log, k);
    let log_high = top(a, log);
    let taken = a.sub(log_high, k);
    let taken = a.sub(taken, high);
    (log_high, a.sub(low, taken))
}

/// `2^(high + low)`; NaN stays.
fn exp2_of<A: Arith>(a: &mut A, high: A::Float, low: A::Float) -> A::Float {
    let zero = a.float(0.0);
    let sum = a.add(high, low);
    // Beyond the finite, non-zero results.
    let lo = constant(a, -160.0, -1090.0);
    let hi = constant(a, 140.0, 1030.0);
    let below = a.lt(sum, lo);
    let above = a.lt(hi, sum);
    let high = a.select(below, lo, high);
    let high = a.select(above, hi, high);
    let low = a.select(below, zero, low);
    let low = a.select(above, zero, low);
    let (power, k) = exp2_parts(a, high, low);
    scale(a, power, k)
}

/// The power with its sign, and NaN where it is not real.
fn signed<A: Arith>(a: &mut A, x: A::Float, y: A::Float, power: A::Float) -> A::Float {
    let (bits, mantissa) = (a.width().bits(), a.width().mantissa_bits());
    let (zero, infinity) = (a.float(0.0), a.float(f64::INFINITY));
    // From here on an ulp is 1, and from twice that on 2.
    let unit = a.float((1_u64 << mantissa) as f64);
    let even = a.float((2_u64 << mantissa) as f64);
    let size = a.abs(y);
    let rounded = a.add(size, unit);
    let whole = a.sub(rounded, unit);
    let small = a.lt(size, unit);
    // The lowest bit of this tells odd from even, if `y` is an integer at all.
    let odd = a.select(small, rounded, size);
    let huge = a.lt(odd, even);
    let odd = a.select(huge, odd, even);
    let whole = a.select(small, whole, size);
    let is_integer = a.eq(whole, size);

    let parity = a.float_to_bits(odd);
    let parity = a.ishl(parity, bits - 1);
    let parity = a.bits_to_float(parity);
    let parity = a.select(is_integer, parity, zero);
    let parity = a.float_to_bits(parity);
    let sign = a.float_to_bits(x);
    let sign = a.iand(sign, parity);
    let power_bits = a.float_to_bits(power);
    let power = a.ior(power_bits, sign);
    let power = a.bits_to_float(power);

    let nan = a.float(f64::NAN);
    let minus_infinity = a.neg(infinity);
    let unreal = a.select(is_integer, power, nan);
    let negative = a.lt(x, zero);
    let real = a.select(negative, unreal, power);
    let endless = a.eq(x, minus_infinity);
    a.select(endless, power, real)
}
