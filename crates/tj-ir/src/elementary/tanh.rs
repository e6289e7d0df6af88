//! `tanh`.

use super::exp::{exp_minus_1_reduced, reduce, times_power_of_2};
use super::{Arith, constant, poly, with_sign_of};

const P32: [f32; 2] = [-0.82385945, -0.0038011954];
const Q32: [f32; 2] = [2.4715807, 1.0];
const P64: [f64; 3] = [-1615.1699395011121, -99.31107732479998, -0.9644083275316977];
const Q64: [f64; 4] = [4845.5098185033385, 2236.13715937563, 112.83697526258696, 1.0];

/// The hyperbolic tangent.
pub fn tanh<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let limit = constant(a, 10.0, 20.0);
    let above = a.lt(limit, y);
    let y = a.select(above, limit, y);

    let double = a.add(y, y);
    let (r, k) = reduce(a, double, 1);
    let e = exp_minus_1_reduced(a, r);
    let one = a.float(1.0);
    let e = a.add(one, e);
    let e = times_power_of_2(a, e, k);
    let e1 = a.add(e, one);

    let z = a.mul(y, y);
    let p = poly(a, z, &P32, &P64);
    let yz = a.mul(y, z);
    let p = a.mul(yz, p);
    let q = poly(a, z, &Q32, &Q64);

    let split = a.float(0.625);
    let small = a.lt(y, split);
    let minus_two = a.float(-2.0);
    let numerator = a.select(small, p, minus_two);
    let denominator = a.select(small, q, e1);
    let start = a.select(small, y, one);
    let correction = a.div(numerator, denominator);
    let t = a.add(start, correction);
    with_sign_of(a, t, x)
}
