//! `cbrt` and `hypot`.
//!
//! `cbrt`: `|x| = 2^(3q + j) m` with `m` in `[sqrt(1/2), sqrt(2))`. A polynomial gives the root of `m` to 13 or 22 bits;
//! cut to half a significand, so that its square is exact, one step of Halley's iteration, which triples the digits,
//! does the rest.
//!
//! `hypot` is the root of a sum of squares, of arguments times a power of two where squares would overflow or lose
//! digits.
//!
//! | fit | interval | f32 | f64 |
//! |---|---|---|---|
//! | `cbrt` | 0.707..1.415 | degree 3, error 2^-13.7 | degree 6, error 2^-22.5 |

use super::exp::{magic, times_power_of_2};
use super::log::split;
use super::{Arith, constant, mul_add, or_sign_of, poly, top};

const ROOT32: [f32; 4] = [0.49250966, 0.7397178, -0.29037914, 0.058220938];
const ROOT64: [f64; 7] = [
    0.39835724167270053,
    1.1970526576604343,
    -1.1870007290155626,
    0.97106542578304,
    -0.5148434827286115,
    0.15575044607250868,
    -0.020381682860605314,
];

/// The cube root.
pub fn cbrt<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let size = a.abs(x);
    let (k, f) = split(a, size);
    let (zero, one) = (a.float(0.0), a.float(1.0));
    let m = a.add(one, f);
    let magic = magic(a, 1);
    let third = constant(a, 0.33333334, 0.3333333333333333);
    let q_bits = mul_add(a, k, third, magic);
    let q = a.sub(q_bits, magic);
    let three = a.float(3.0);
    let multiple = a.mul(q, three);
    let j = a.sub(k, multiple);
    let (below, above) = (a.lt(j, zero), a.lt(zero, j));

    let (half, two) = (a.float(0.5), a.float(2.0));
    let factor = a.select(below, half, one);
    let factor = a.select(above, two, factor);
    let value = a.mul(m, factor);
    let root_down = constant(a, 0.7937005, 0.7937005259840998);
    let root_up = constant(a, 1.2599211, 1.2599210498948732);
    let factor = a.select(below, root_down, one);
    let factor = a.select(above, root_up, factor);
    let t = poly(a, m, &ROOT32, &ROOT64);
    let t = a.mul(t, factor);
    let t = top(a, t);

    let square = a.mul(t, t);
    let r = a.div(value, square);
    let twice = a.add(t, t);
    let denominator = a.add(twice, r);
    let step = a.sub(r, t);
    let step = a.div(step, denominator);
    let root = mul_add(a, t, step, t);
    let q = a.float_to_bits(q_bits);
    let root = times_power_of_2(a, root, q);

    let infinity = a.float(f64::INFINITY);
    let finite = a.lt(size, infinity);
    let root = a.select(finite, root, size);
    let is_zero = a.eq(size, zero);
    let root = a.select(is_zero, size, root);
    or_sign_of(a, root, x)
}

/// `sqrt(x^2 + y^2)`; infinite if any argument is, even if the other is NaN.
pub fn hypot<A: Arith>(a: &mut A, x: A::Float, y: A::Float) -> A::Float {
    let (x, y) = (a.abs(x), a.abs(y));
    let less = a.lt(x, y);
    let most = a.select(less, y, x);
    let one = a.float(1.0);
    let large = constant(a, 2.0_f32.powi(60), 2.0_f64.powi(400));
    let small = constant(a, 2.0_f32.powi(-40), 2.0_f64.powi(-400));
    let up = constant(a, 2.0_f32.powi(100), 2.0_f64.powi(700));
    let down = constant(a, 2.0_f32.powi(-100), 2.0_f64.powi(-700));
    let is_large = a.lt(large, most);
    let is_small = a.lt(most, small);
    let factor = a.select(is_large, down, one);
    let factor = a.select(is_small, up, factor);
    let back = a.select(is_large, up, one);
    let back = a.select(is_small, down, back);
    let (p, q) = (a.mul(x, factor), a.mul(y, factor));
    let (p, q) = (a.mul(p, p), a.mul(q, q));
    let sum = a.add(p, q);
    let root = a.sqrt(sum);
    let root = a.mul(root, back);
    let infinity = a.float(f64::INFINITY);
    let endless = a.eq(x, infinity);
    let root = a.select(endless, infinity, root);
    let endless = a.eq(y, infinity);
    a.select(endless, infinity, root)
}
