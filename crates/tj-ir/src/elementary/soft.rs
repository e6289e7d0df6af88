//! `logaddexp`, `softplus`, `log_sigmoid` and `silu`: sums and products with exponentials that neither overflow nor lose
//! their small results.

use super::exp::{exp, exp_of_reduced, reduce, scale};
use super::log::log1p;
use super::{Arith, constant, mul_add};

/// `log(exp(x) + exp(y))`.
///
/// What `x - y` loses in rounding is worth many ulps of a result that is as small as `exp(x - y)`: it is found exactly and
/// joins the exponential.
pub fn logaddexp<A: Arith>(a: &mut A, x: A::Float, y: A::Float) -> A::Float {
    let less = a.lt(x, y);
    let most = a.select(less, y, x);
    let least = a.select(less, x, y);
    // Equal infinities have no difference.
    let (zero, difference) = (a.float(0.0), a.sub(least, most));
    let equal = a.eq(x, y);
    // Neither do they lose anything, nor those whose exponential is nothing beside the greater one.
    let far = constant(a, -110.0, -760.0);
    let near = a.lt(far, difference);
    let back = a.sub(difference, least);
    let least_back = a.sub(difference, back);
    let least_lost = a.sub(least, least_back);
    let most_lost = a.add(most, back);
    let lost = a.sub(least_lost, most_lost);
    let lost = a.select(near, lost, zero);
    let difference = a.select(equal, zero, difference);
    let ratio = exp(a, difference);
    let ratio = mul_add(a, ratio, lost, ratio);
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
