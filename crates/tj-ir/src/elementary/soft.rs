//! `logaddexp`, `softplus`, `log_sigmoid` and `silu`: sums and products with exponentials that neither overflow nor lose
//! their small results.

use super::exp::{exp, exp_of_reduced, reduce, scale};
use super::log::log1p;
use super::{Arith, constant};

/// `log(exp(x) + exp(y))`.
pub fn logaddexp<A: Arith>(a: &mut A, x: A::Float, y: A::Float) -> A::Float {
    let less = a.lt(x, y);
    let most = a.select(less, y, x);
    let least = a.select(less, x, y);
    // Equal infinities have no difference.
    let (zero, difference) = (a.float(0.0), a.sub(least, most));
    let equal = a.eq(x, y);
    let difference = a.select(equal, zero, difference);
    let ratio = exp(a, difference);
    let more = log1p(a, ratio);
    a.add(most, more)
}

/// `log(1 + exp(x))`.
pub fn softplus<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let zero = a.float(0.0);
    let size = a.abs(x);
    let minus = a.neg(size);
    let ratio = exp(a, minus);
    let more = log1p(a, ratio);
    let negative = a.lt(x, zero);
    let most = a.select(negative, zero, x);
    a.add(most, more)
}

/// The logarithm of the logistic function.
pub fn log_sigmoid<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let minus = a.neg(x);
    let s = softplus(a, minus);
    a.neg(s)
}

/// `x / (1 + exp(-x))`; -0 at minus infinity.
///
/// With `z = exp(-|x|)` it is `x / (1 + z)` or `x z / (1 + z)`, where the power of two in `z` comes last, so that it is
/// rounded once among the subnormals.
pub fn silu<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let size = a.abs(x);
    let minus = a.neg(size);
    let lo = constant(a, -112.0, -760.0);
    let below = a.lt(minus, lo);
    let y = a.select(below, lo, minus);
    let reduced = reduce(a, y, 2);
    let e = exp_of_reduced(a, reduced.r);
    let z = scale(a, e, reduced.k);
    let (zero, one) = (a.float(0.0), a.float(1.0));
    let denominator = a.add(one, z);
    let small = a.mul(y, e);
    let negative = a.lt(x, zero);
    let numerator = a.select(negative, small, x);
    let s = a.div(numerator, denominator);
    let scaled = scale(a, s, reduced.k);
    a.select(negative, scaled, s)
}
