//! `exp` and what shares its reduction.
//!
//! `x = k ln2 + r` with `k` an integer and `|r| <= ln2/2`; then `exp(x) = 2^k exp(r)`.
//!
//! 1. *Reduce.* `t = x/ln2 + MAGIC` rounds to an integer because a ulp of `MAGIC` (1.5 * 2^23 or
//!    1.5 * 2^52, plus a small integer) is 1: `t - MAGIC` is `k` as a float, and the low bits of `t`
//!    are `k` plus that small integer. `ln2` is subtracted in two parts, the first short enough
//!    that `k` times it, and the difference, are exact.
//! 2. *Approximate.* `exp(r) = 1 + (r + r^2 P(r))`, so that the last addition, of a small term to 1,
//!    makes almost all the error.
//! 3. *Scale.* Multiplying by `2^k` in two steps of about `k/2` keeps both factors normal: the first
//!    product is exact, the second rounds once into the subnormals or overflows to infinity.
//!
//! | fit | interval | degree | relative error |
//! |---|---|---|---|
//! | f32 | +-0.3467 | P: 5 | 2^-31.2 |
//! | f64 | +-0.3467 | P: 9 | 2^-57 |

use super::{Arith, Width, clamp, constant, poly};

const P32: [f32; 6] = [0.5, 0.16666648, 0.04166648, 0.008337872, 0.0013933352, 0.0001733582];
const P64: [f64; 10] = [
    0.5000000000000011,
    0.16666666666666435,
    0.041666666666525735,
    0.008333333333475417,
    0.0013888888944892344,
    0.00019841269557508494,
    2.4801491665760895e-05,
    2.755753482764659e-06,
    2.7630878912794704e-07,
    2.50192626922619e-08,
];

/// The natural exponential, with gradual underflow.
pub fn exp<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    // Just outside the range of finite, non-zero results, so that overflow and underflow happen in `scale`.
    let lo = constant(a, -104.0, -746.0);
    let hi = constant(a, 89.0, 710.0);
    let x = clamp(a, x, lo, hi);
    let (r, k) = reduce(a, x, 2);
    let e = exp_minus_1_reduced(a, r);
    let one = a.float(1.0);
    let e = a.add(one, e);
    scale(a, e, k)
}

/// `r` and the bits of `t`, whose low bits are `k + biases * bias`.
pub(super) fn reduce<A: Arith>(a: &mut A, x: A::Float, biases: i64) -> (A::Float, A::Int) {
    let offset = (biases * a.width().bias()) as f64;
    let magic = match a.width() {
        Width::F32 => 12582912.0 + offset,
        Width::F64 => 6755399441055744.0 + offset,
    };
    let magic = a.float(magic);
    let inv_ln2 = constant(a, std::f32::consts::LOG2_E, std::f64::consts::LOG2_E);
    let t = a.mul(x, inv_ln2);
    let t = a.add(t, magic);
    let k = a.sub(t, magic);
    let ln2_hi = constant(a, 355.0 / 512.0, LN2_HI64);
    let ln2_lo = constant(a, -2.1219444e-4, LN2_LO64);
    let hi = a.mul(k, ln2_hi);
    let lo = a.mul(k, ln2_lo);
    let r = a.sub(x, hi);
    let r = a.sub(r, lo);
    (r, a.float_to_bits(t))
}

pub(super) const LN2_HI64: f64 = 6.931_471_803_691_238e-1;
pub(super) const LN2_LO64: f64 = 1.908_214_929_270_587_7e-10;

/// `exp(r) - 1` for a reduced argument.
pub(super) fn exp_minus_1_reduced<A: Arith>(a: &mut A, r: A::Float) -> A::Float {
    let p = poly(a, r, &P32, &P64);
    let r2 = a.mul(r, r);
    let e = a.mul(r2, p);
    a.add(r, e)
}

/// `p * 2^k`, from `k + 2 * bias` in the low bits of `k`.
fn scale<A: Arith>(a: &mut A, p: A::Float, k: A::Int) -> A::Float {
    // The shift drops what `MAGIC` left above the exponent field's eight or eleven bits.
    let half = a.ushr(k, 1);
    let rest = a.isub(k, half);
    let p = times_power_of_2(a, p, half);
    times_power_of_2(a, p, rest)
}

/// `p * 2^k` for a normal `2^k`, from `k + bias` in the low bits of `k`.
pub(super) fn times_power_of_2<A: Arith>(a: &mut A, p: A::Float, k: A::Int) -> A::Float {
    let power = a.ishl(k, a.width().mantissa_bits());
    let power = a.bits_to_float(power);
    a.mul(p, power)
}
