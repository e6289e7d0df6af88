//! `sinh`, `cosh` and the inverse hyperbolic functions.
//!
//! With `|x| = k ln2 + r` as in `exp`, `sinh(x) = A cosh(r) + B sinh(r)` where `A = sinh(k ln2)` and `B =
//! cosh(k ln2)` are sums of two powers of two: exact where the terms may cancel. It is added up as
//! `A + (B r + (A (cosh(r) - 1) + B (sinh(r) - r)))`. `cosh` exchanges `A` and `B`. Halves of both keep the
//! powers finite up to overflow.
//!
//! The inverse functions are `log1p` of something computed without cancellation; beyond 2^30 (2^60) that is the
//! argument itself, and `ln2` is added.
//!
//! | fit | interval of `z = r^2` | f32 | f64 |
//! |---|---|---|---|
//! | `sinh` | 0..0.1202 | degree 2, error 2^-33.2 | degree 5, error 2^-61.9 |
//! | `cosh` | 0..0.1202 | degree 2, error 2^-32.1 | degree 5, error 2^-67.8 |
//!
//! Errors are relative to the function, after rounding of the coefficients.

use super::exp::{Reduced, reduce};
use super::log::log1p;
use super::{Arith, clamp, constant, mul_add, or_sign_of, poly};

/// `(sinh(r) / r - 1) / z`.
const SINH32: [f32; 3] = [0.16666667, 0.008333249, 0.00019904404];
const SINH64: [f64; 6] = [
    0.16666666666666666,
    0.008333333333333429,
    0.0001984126984125386,
    2.7557319265134385e-6,
    2.5052056827736352e-8,
    1.609081068090566e-10,
];

/// `(cosh(r) - 1) / z`.
const COSH32: [f32; 3] = [0.5, 0.041666355, 0.0013945987];
const COSH64: [f64; 6] = [
    0.5,
    0.041666666666666706,
    0.0013888888888864488,
    2.480158736301661e-5,
    2.755724210627833e-7,
    2.092434773700319e-9,
];

/// The hyperbolic sine.
pub fn sinh<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let parts = parts(a, y);
    let sum = combine(a, parts.difference, parts.sum, &parts);
    // Half of a subnormal is not exact.
    let tiny = constant(a, 2.0_f32.powi(-100), 2.0_f64.powi(-1000));
    let is_tiny = a.lt(y, tiny);
    let s = a.select(is_tiny, y, sum);
    or_sign_of(a, s, x)
}

/// The hyperbolic cosine.
pub fn cosh<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let parts = parts(a, y);
    combine(a, parts.sum, parts.difference, &parts)
}

struct Parts<A: Arith> {
    /// Half of `cosh(k ln2)` and of `sinh(k ln2)`.
    sum: A::Float,
    difference: A::Float,
    r: A::Float,
    /// `sinh(r) - r` and `cosh(r) - 1`.
    odd: A::Float,
    even: A::Float,
}

fn parts<A: Arith>(a: &mut A, y: A::Float) -> Parts<A> {
    let lo = a.float(0.0);
    let hi = constant(a, 89.5, 710.5);
    let y = clamp(a, y, lo, hi);
    let Reduced { r, high, low, k } = reduce(a, y, 1);
    let lost = a.sub(high, r);
    let lost = a.sub(lost, low);

    // 2^(k-2) and 2^(-k-2), the latter from 2^(3-k), whose exponent field is at least 1.
    let (bits, bias) = (a.width().mantissa_bits(), a.width().bias());
    let two = a.int(2);
    let field = a.isub(k, two);
    let field = a.ishl(field, bits);
    let rising = a.bits_to_float(field);
    let top = a.int(2 * bias + 3);
    let field = a.isub(top, k);
    let field = a.ishl(field, bits);
    let falling = a.bits_to_float(field);
    let down = a.float(0.03125);
    let falling = a.mul(falling, down);

    let z = a.mul(r, r);
    let s = poly(a, z, &SINH32, &SINH64);
    let cube = a.mul(r, z);
    let odd = mul_add(a, cube, s, lost);
    let c = poly(a, z, &COSH32, &COSH64);
    let even = a.mul(z, c);
    Parts { sum: a.add(rising, falling), difference: a.sub(rising, falling), r, odd, even }
}

/// Twice `lead cosh(r) + other sinh(r)`.
fn combine<A: Arith>(a: &mut A, lead: A::Float, other: A::Float, parts: &Parts<A>) -> A::Float {
    let rest = a.mul(lead, parts.even);
    let odd = a.mul(other, parts.odd);
    let rest = a.add(rest, odd);
    let rest = mul_add(a, other, parts.r, rest);
    let half = a.add(lead, rest);
    a.add(half, half)
}

/// The inverse hyperbolic sine.
pub fn asinh<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let one = a.float(1.0);
    let square = a.mul(y, y);
    let root = a.add(one, square);
    let root = a.sqrt(root);
    let denominator = a.add(one, root);
    let rest = a.div(square, denominator);
    let u = a.add(y, rest);
    let l = log1p_or_twice(a, u, y);
    or_sign_of(a, l, x)
}

/// The inverse hyperbolic cosine; NaN below 1.
pub fn acosh<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let (one, nan) = (a.float(1.0), a.float(f64::NAN));
    let t = a.sub(x, one);
    let twice = a.add(t, t);
    let square = mul_add(a, t, t, twice);
    let root = a.sqrt(square);
    let u = a.add(t, root);
    let l = log1p_or_twice(a, u, x);
    let outside = a.lt(x, one);
    a.select(outside, nan, l)
}

/// The inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond.
pub fn atanh<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let (half, one) = (a.float(0.5), a.float(1.0));
    let rest = a.sub(one, y);
    let twice = a.add(y, y);
    let u = a.div(twice, rest);
    let l = log1p(a, u);
    let l = a.mul(half, l);
    or_sign_of(a, l, x)
}

/// `log(1 + u)`, or `log(2y)` where `y` is large.
fn log1p_or_twice<A: Arith>(a: &mut A, u: A::Float, y: A::Float) -> A::Float {
    let limit = constant(a, 2.0_f32.powi(30), 2.0_f64.powi(60));
    let large = a.lt(limit, y);
    let zero = a.float(0.0);
    let ln2 = constant(a, std::f32::consts::LN_2, std::f64::consts::LN_2);
    let u = a.select(large, y, u);
    let l = log1p(a, u);
    let more = a.select(large, ln2, zero);
    a.add(l, more)
}
