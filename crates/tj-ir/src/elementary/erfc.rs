//! `erfc` and `gelu`.
//!
//! `erfc(y) = exp(-y^2) G(t) / (1 + 2y)` for `y >= 0`, where `t = (y - K)/(y + K)` maps all of them to less than -1..1 and
//! `G`, which stays between 1 and 1.3, is a polynomial. The rounding error of `y^2`, up to 2^-17 or 2^-45 of it, is found
//! exactly and joins the reduced argument of the exponential. The power of two comes last, so that small results are
//! rounded once. Of negative numbers it is 2 minus that.
//!
//! `gelu(x) = x erfc(-x/sqrt(2))/2` is `-w` or `x - w` with `w = |x| erfc(|x|/sqrt(2))/2`; the exponent is found from `x`, where an
//! error in `x/sqrt(2)` would show, and the limit at minus infinity is -0.
//!
//! | fit | interval of `t` | f32 | f64 |
//! |---|---|---|---|
//! | `G` | -1..0.68 or 0.75 | `K` 2, degree 10, error 2^-25.5 | `K` 4, degree 24, error 2^-54.6 |
//!
//! Errors are relative to the function, after rounding of the coefficients.

use super::exp::{exp_of_reduced, reduce, scale};
use super::{Arith, constant, poly, top};

const G32: [f32; 11] = [
    1.2769784,
    -0.09276389,
    -0.16603133,
    0.16405314,
    -0.054204196,
    -0.0080438955,
    0.008636205,
    0.0012708433,
    -0.0012533007,
    -0.00036271772,
    2.7746537e-5,
];
const G64: [f64; 25] = [
    1.2329951186255526,
    -0.13962111684056253,
    0.015379652102619911,
    0.06809705425469299,
    -0.10103906603632765,
    0.09373283499833578,
    -0.06633036581158826,
    0.037167515537826296,
    -0.016197734066518064,
    0.005031969972856189,
    -0.0007577732183561432,
    -0.0001992566474710566,
    0.00015062132697466098,
    -2.4399484662085938e-5,
    -1.1220940437894569e-5,
    5.710708758238585e-6,
    2.9170199827711683e-7,
    -8.2764674558461e-7,
    7.699197798638088e-8,
    1.131538492647318e-7,
    -1.9105235223556522e-8,
    -1.6530680446306575e-8,
    1.705907986581444e-9,
    2.083266675895205e-9,
    2.828956213908168e-10,
];

/// One minus the error function, accurate where that is small.
pub fn erfc<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let limit = constant(a, 10.2, 27.4);
    let above = a.lt(limit, y);
    let y = a.select(above, limit, y);
    let (square, lost) = square(a, y);
    let (tail, k) = tail(a, y, square, lost);
    let tail = scale(a, tail, k);
    let (zero, two) = (a.float(0.0), a.float(2.0));
    let rest = a.sub(two, tail);
    let negative = a.lt(x, zero);
    a.select(negative, rest, tail)
}

/// `x` times the probability that a normal variate is less.
pub fn gelu<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let limit = constant(a, 14.4, 38.7);
    let above = a.lt(limit, y);
    let y = a.select(above, limit, y);
    let (square, lost) = square(a, y);
    let half = a.float(0.5);
    let (square, lost) = (a.mul(half, square), a.mul(half, lost));
    let root_half = constant(a, std::f32::consts::FRAC_1_SQRT_2, std::f64::consts::FRAC_1_SQRT_2);
    let scaled = a.mul(y, root_half);
    let (tail, k) = tail(a, scaled, square, lost);
    let w = a.mul(half, tail);
    let w = a.mul(w, y);
    let w = scale(a, w, k);
    let zero = a.float(0.0);
    let minus = a.neg(w);
    let rest = a.sub(x, w);
    let negative = a.lt(x, zero);
    a.select(negative, minus, rest)
}

/// `y^2` and its rounding error.
fn square<A: Arith>(a: &mut A, y: A::Float) -> (A::Float, A::Float) {
    let square = a.mul(y, y);
    let high = top(a, y);
    let low = a.sub(y, high);
    let lost = a.mul(high, high);
    let lost = a.sub(lost, square);
    let cross = a.mul(high, low);
    let lost = a.add(lost, cross);
    let lost = a.add(lost, cross);
    let low = a.mul(low, low);
    (square, a.add(lost, low))
}

/// `exp(-square - lost) G / (1 + 2y)`, but for the power of two in the low bits of the integer.
fn tail<A: Arith>(a: &mut A, y: A::Float, square: A::Float, lost: A::Float) -> (A::Float, A::Int) {
    let minus = a.neg(square);
    let reduced = reduce(a, minus, 2);
    let r = a.sub(reduced.r, lost);
    let e = exp_of_reduced(a, r);
    let (one, centre) = (a.float(1.0), constant(a, 2.0, 4.0));
    let numerator = a.sub(y, centre);
    let denominator = a.add(y, centre);
    let t = a.div(numerator, denominator);
    let g = poly(a, t, &G32, &G64);
    let product = a.mul(e, g);
    let denominator = a.add(y, y);
    let denominator = a.add(one, denominator);
    (a.div(product, denominator), reduced.k)
}
