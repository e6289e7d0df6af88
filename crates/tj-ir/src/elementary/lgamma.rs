//! `lgamma`, the logarithm of the size of the gamma function.
//!
//! On `y = |x|`:
//!
//! 1. *Near.* For `u` in 1..2 it is `(u - 1)(u - 2) R(u - 3/2)`, which keeps the zeros at 1 and 2. Below 1 it is that of
//!    `u = y + 1` less `log(y)`; from 2 to 8 that of `u = y - n` plus the logarithm of `(y - 1) ... (y - n)`.
//! 2. *Far.* From 8 on, Stirling's series: `(y - 1/2)(log(y) - 1) + log(2 pi)/2 - 1/2 + S(1/y^2)/y`.
//! 3. *Left.* For negative `x` the reflection `log(pi / |x sin(pi x)|)` less that; the sine is taken of the distance to the
//!    nearest integer, which is exact. Integers are poles.
//!
//! One logarithm serves 1 and 2. To the left, where the function has zeros of its own between all integers, the bound on
//! the error is in ulps of the greatest of the result, 1 and `lgamma(y)`.
//!
//! | fit | interval | f32 | f64 |
//! |---|---|---|---|
//! | `R` | -0.5..0.5 | degree 9, error 2^-25.0 | degree 21, error 2^-54.7 |
//! | `S` | 0..1/64 | degree 2, error 2^-25.0 | degree 6, error 2^-54.0 |
//!
//! Errors are relative to the function for `R`, and to `S` for `S`, which is less than 0.01 of the sum.

use super::log::log;
use super::trig::sin_cos_of_eighth;
use super::{Arith, Width, constant, mul_add, poly};

const R32: [f32; 10] = [
    0.48312896,
    -0.1459599,
    0.06291069,
    -0.031308,
    0.016809266,
    -0.009436432,
    0.005326614,
    -0.0031158868,
    0.0024483649,
    -0.0015264426,
];
const R64: [f64; 22] = [
    0.4831289505409809,
    -0.14595989591430608,
    0.06291140107456482,
    -0.031308487501009376,
    0.016797098631274487,
    -0.009425622448635245,
    0.0054464578390322925,
    -0.0032120740693718296,
    0.0019229163152068608,
    -0.0011644146795448975,
    0.0007115190314447447,
    -0.0004379918311315781,
    0.00027131406655931826,
    -0.00016892804369601688,
    0.00010535327904534082,
    -6.608831841925108e-5,
    4.303396015620974e-5,
    -2.737038991745998e-5,
    1.3174194255436504e-5,
    -8.054764566605103e-6,
    1.2149473000502711e-5,
    -7.989724294859052e-6,
];

const S32: [f32; 3] = [0.083333336, -0.0027777883, 0.00078005827];
const S64: [f64; 7] = [
    0.08333333333333333,
    -0.0027777777777740716,
    0.0007936507898351817,
    -0.000595236607067164,
    0.000841472865580098,
    -0.0018905409494005651,
    0.0050692711346757005,
];

/// The logarithm of the absolute value of the gamma function; infinite at 0 and the negative integers.
pub fn lgamma<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let right = right(a, y);
    let sine = sine(a, y);
    let product = a.mul(y, sine);
    let logarithm = log(a, product);
    let log_pi = constant(a, 1.1447299, 1.1447298858494002);
    let left = a.sub(log_pi, logarithm);
    let left = a.sub(left, right);
    let (zero, infinity) = (a.float(0.0), a.float(f64::INFINITY));
    // The product may underflow, or have no digits left, where the gamma function is just 1/|x|.
    let tiny = constant(a, 2.0_f32.powi(-60), 2.0_f64.powi(-120));
    let is_tiny = a.lt(y, tiny);
    let left = a.select(is_tiny, right, left);
    let pole = a.eq(sine, zero);
    let left = a.select(pole, infinity, left);
    let negative = a.lt(x, zero);
    let result = a.select(negative, left, right);
    let endless = a.eq(y, infinity);
    a.select(endless, infinity, result)
}

/// For `y >= 0`.
fn right<A: Arith>(a: &mut A, y: A::Float) -> A::Float {
    let (zero, half, one, two) = (a.float(0.0), a.float(0.5), a.float(1.0), a.float(2.0));
    let eight = a.float(8.0);
    let below_one = a.lt(y, one);
    let near = a.lt(y, eight);
    let above = a.add(y, one);
    let mut u = a.select(below_one, above, y);
    let mut product = a.select(below_one, y, one);
    for n in 1..=6 {
        let n = a.float(f64::from(n));
        let factor = a.sub(y, n);
        let short = a.lt(factor, one);
        let longer = a.mul(product, factor);
        product = a.select(short, product, longer);
        u = a.select(short, u, factor);
    }
    let argument = a.select(near, product, y);
    let logarithm = log(a, argument);
    let minus = a.neg(logarithm);
    let shift = a.select(below_one, minus, logarithm);

    let three_halves = a.float(1.5);
    let v = a.sub(u, three_halves);
    let r = poly(a, v, &R32, &R64);
    // `y + 1` is rounded, what it exceeds 1 and 2 by is not.
    let (from_one, from_two) = (a.sub(u, one), a.sub(u, two));
    let before = a.sub(y, one);
    let from_one = a.select(below_one, y, from_one);
    let from_two = a.select(below_one, before, from_two);
    let zeros = a.mul(from_one, from_two);
    let base = a.mul(zeros, r);
    let small = a.add(shift, base);

    // A quotient that neither overflows nor is NaN where it is not wanted.
    let large = a.select(near, eight, y);
    let inverse = a.div(one, large);
    let square = a.mul(inverse, inverse);
    let s = poly(a, square, &S32, &S64);
    let s = a.mul(s, inverse);
    let rest = constant(a, 0.41893852, 0.4189385332046728);
    let rest = a.add(s, rest);
    let slope = a.sub(logarithm, one);
    let height = a.sub(large, half);
    let stirling = mul_add(a, height, slope, rest);
    let result = a.select(near, small, stirling);
    let is_zero = a.eq(y, zero);
    let infinity = a.float(f64::INFINITY);
    a.select(is_zero, infinity, result)
}

/// `|sin(pi y)|`, exactly 0 for integers.
fn sine<A: Arith>(a: &mut A, y: A::Float) -> A::Float {
    let unit = match a.width() {
        Width::F32 => 8_388_608.0,
        Width::F64 => 4_503_599_627_370_496.0,
    };
    let unit = a.float(unit);
    let up = a.add(y, unit);
    let whole = a.sub(up, unit);
    let small = a.lt(y, unit);
    let whole = a.select(small, whole, y);
    let distance = a.sub(y, whole);
    let distance = a.abs(distance);
    let (quarter, half) = (a.float(0.25), a.float(0.5));
    let far = a.lt(quarter, distance);
    let other = a.sub(half, distance);
    let turn = a.select(far, other, distance);
    let pi = constant(a, std::f32::consts::PI, std::f64::consts::PI);
    let angle = a.mul(turn, pi);
    let (sine, cosine) = sin_cos_of_eighth(a, angle);
    a.select(far, cosine, sine)
}
