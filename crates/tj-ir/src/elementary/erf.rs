//! `erf`.
//!
//! On `y = |x|`, with the sign put back at the end, so that `erf(-0) = -0`. Below 0.9375 it is
//! `y + y S(z)` with `z = y^2`; above, one minus the complement, which may have an absolute error of
//! an ulp of 1, so that a single fit reaches to where the result is 1:
//!
//! - f32: `S` a polynomial, complement `exp(L(y))`; no division.
//! - f64: `S` and `R` rational, complement `exp(-z) R(y)`; the two share one division.
//!
//! | fit | interval of `y` | f32 | f64 |
//! |---|---|---|---|
//! | `S` | 0..0.9375 | degree 6, error 2^-29.9 | degrees 5/5, error 2^-59.2 |
//! | `L`, `R` | 0.9375..4 or 6 | degree 7, error 2^-32.8 | degrees 5/6, error 2^-58.5 |
//!
//! Errors are relative to the function, after rounding of the coefficients.

use super::exp::exp_short;
use super::{Arith, Width, constant, horner, or_sign_of};

const SMALL32: [f32; 7] =
    [0.12837917, -0.37612632, 0.11283678, -0.026858503, 0.0051988293, -0.0008118025, 8.268563e-5];
const LOG_COMPLEMENT32: [f32; 8] = [
    0.0001792623,
    -1.1295369,
    -0.63330275,
    -0.1083285,
    0.025150632,
    -0.0041828803,
    0.00043689474,
    -2.1305043e-5,
];

const SMALL_P64: [f64; 6] = [
    6307.904602622818,
    -15583.0751780544,
    -2357.4179734327586,
    -430.44876931024623,
    -23.933883215384533,
    -0.9996948382163392,
];
const SMALL_Q64: [f64; 6] =
    [49134.955034642124, 22572.80600840215, 4584.264646764868, 520.4413027634151, 33.52494657887756, 1.0];
/// Minus the numerator of `R`, so that the shared last step is an addition.
const LARGE_P64: [f64; 6] = [
    -65.52183637242243,
    -90.51832041356249,
    -61.47644088935827,
    -24.03905137320143,
    -5.386851373740038,
    -0.5641844327157891,
];
const LARGE_Q64: [f64; 7] = [
    65.52184133671034,
    164.451747009378,
    181.5188059504905,
    113.69740337812368,
    43.11238306174422,
    9.547659756050543,
    1.0,
];

/// The error function.
pub fn erf<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let limit = constant(a, 4.0, 6.0);
    let above = a.lt(limit, y);
    let y = a.select(above, limit, y);
    let z = a.mul(y, y);
    let split = a.float(0.9375);
    let small = a.lt(y, split);
    let one = a.float(1.0);

    let (start, rest) = match a.width() {
        Width::F32 => {
            let s = horner(a, z, SMALL32.map(f64::from));
            let s = a.mul(y, s);
            let l = horner(a, y, LOG_COMPLEMENT32.map(f64::from));
            let complement = exp_short(a, l);
            let minus = a.neg(complement);
            (a.select(small, y, one), a.select(small, s, minus))
        }
        Width::F64 => {
            let small_p = horner(a, z, SMALL_P64);
            let small_p = a.mul(y, small_p);
            let small_q = horner(a, z, SMALL_Q64);
            let minus_z = a.neg(z);
            let e = exp_short(a, minus_z);
            let large_p = horner(a, y, LARGE_P64);
            let large_p = a.mul(e, large_p);
            let large_q = horner(a, y, LARGE_Q64);
            let numerator = a.select(small, small_p, large_p);
            let denominator = a.select(small, small_q, large_q);
            (a.select(small, y, one), a.div(numerator, denominator))
        }
    };
    let e = a.add(start, rest);
    or_sign_of(a, e, x)
}
