//! `tanh`.
//!
//! On `y = |x|`, with the sign put back at the end, so that `tanh(-0) = -0`:
//!
//! - below 0.65, `y + y^3 P(z) / Q(z)` with `z = y^2`;
//! - above, `1 + -2 / (exp(2y) + 1)`, with `y` clamped where the result is already 1.
//!
//! Both are `start + numerator / denominator`, so that one division serves both.
//!
//! | fit | interval of `y` | f32 | f64 |
//! |---|---|---|---|
//! | `P/Q` | 0..0.65 | degrees 1/1, error 2^-27.2 | degrees 2/3, error 2^-59.7 |
//!
//! Errors are relative to the function, after rounding of the coefficients.

use super::exp::exp_short;
use super::{Arith, constant, or_sign_of, poly};

const P32: [f32; 2] = [-0.82385945, -0.0038012129];
const Q32: [f32; 2] = [2.4715807, 1.0];
const P64: [f64; 3] = [-1615.1699038071279, -99.31107559636372, -0.9644083268551599];
const Q64: [f64; 4] = [4845.509711421386, 2236.137111357538, 112.83697339040337, 1.0];

/// The hyperbolic tangent.
pub fn tanh<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let limit = constant(a, 10.0, 20.0);
    let above = a.lt(limit, y);
    let y = a.select(above, limit, y);

    let double = a.add(y, y);
    let e = exp_short(a, double);
    let one = a.float(1.0);
    let e = a.add(e, one);

    let z = a.mul(y, y);
    let p = poly(a, z, &P32, &P64);
    let y3 = a.mul(y, z);
    let p = a.mul(y3, p);
    let q = poly(a, z, &Q32, &Q64);

    let split = constant(a, 0.65, 0.65);
    let small = a.lt(y, split);
    let minus_two = a.float(-2.0);
    let numerator = a.select(small, p, minus_two);
    let denominator = a.select(small, q, e);
    let start = a.select(small, y, one);
    let rest = a.div(numerator, denominator);
    let t = a.add(start, rest);
    or_sign_of(a, t, x)
}
