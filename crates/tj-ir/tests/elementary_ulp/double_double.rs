//! Unevaluated sums of two `f64`, about 104 bits: the reference that `f64` results are measured
//! against. Error-free transformations after Dekker and Knuth; `mul_add` is exact whatever the target.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::LazyLock;

/// `hi + lo`, where `lo` is at most half an ulp of `hi`.
#[derive(Clone, Copy, Debug)]
pub struct Dd {
    pub hi: f64,
    pub lo: f64,
}

pub const LN_2: Dd = Dd { hi: std::f64::consts::LN_2, lo: 2.3190468138462996e-17 };
pub const LN_10: Dd = Dd { hi: std::f64::consts::LN_10, lo: -2.1707562233822494e-16 };
pub const ROOT_HALF: Dd = Dd { hi: std::f64::consts::FRAC_1_SQRT_2, lo: -4.833646656726457e-17 };
pub const TWO_OVER_ROOT_PI: Dd = Dd { hi: std::f64::consts::FRAC_2_SQRT_PI, lo: 1.533545961316588e-17 };

fn two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    let b_part = hi - a;
    Dd { hi, lo: (a - (hi - b_part)) + (b - b_part) }
}

fn two_product(a: f64, b: f64) -> Dd {
    let hi = a * b;
    Dd { hi, lo: a.mul_add(b, -hi) }
}

impl From<f64> for Dd {
    fn from(hi: f64) -> Dd {
        Dd { hi, lo: 0.0 }
    }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, y: Dd) -> Dd {
        let high = two_sum(self.hi, y.hi);
        let low = two_sum(self.lo, y.lo);
        let high = two_sum(high.hi, high.lo + low.hi);
        two_sum(high.hi, high.lo + low.lo)
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for Dd {
    type Output = Dd;
    fn sub(self, y: Dd) -> Dd {
        self + -y
    }
}

impl Mul for Dd {
    type Output = Dd;
    fn mul(self, y: Dd) -> Dd {
        let p = two_product(self.hi, y.hi);
        two_sum(p.hi, p.lo + (self.hi * y.lo + self.lo * y.hi))
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, y: Dd) -> Dd {
        let q1 = self.hi / y.hi;
        let r = self - y * q1.into();
        let q2 = r.hi / y.hi;
        let r = r - y * q2.into();
        two_sum(q1, q2) + (r.hi / y.hi).into()
    }
}

impl Dd {
    /// Exact for a power of two.
    pub fn scaled(self, power: f64) -> Dd {
        Dd { hi: self.hi * power, lo: self.lo * power }
    }
}

static INVERSE_FACTORIALS: LazyLock<[Dd; 25]> = LazyLock::new(|| {
    let mut n = 0.0;
    let mut factorial = Dd::from(1.0);
    std::array::from_fn(|_| {
        let inverse = Dd::from(1.0) / factorial;
        n += 1.0;
        factorial = factorial * n.into();
        inverse
    })
});

/// `(m, k)` with `exp(x) = 2^k (1 + m)`; `k` is 0, and `m` accurate, near zero.
pub fn expm1_parts(x: Dd) -> (Dd, i32) {
    let k = (x.hi / LN_2.hi).round();
    let r = (x - LN_2 * k.into()).scaled(1.0 / 16.0);
    // Ten terms leave a relative error of 2^-80.
    let mut m = INVERSE_FACTORIALS[10];
    for n in (1..10).rev() {
        m = m * r + INVERSE_FACTORIALS[n];
    }
    m = m * r;
    for _ in 0..4 {
        m = m + m + m * m;
    }
    (m, k as i32)
}

/// `exp(x)` as a double-double and a power of two.
pub fn exp(x: Dd) -> (Dd, i32) {
    let (m, k) = expm1_parts(x);
    (Dd::from(1.0) + m, k)
}

/// `exp(x) - 1`, for `x` up to 700.
pub fn expm1(x: Dd) -> Dd {
    let (m, k) = expm1_parts(x);
    let power = 2.0_f64.powi(k);
    m.scaled(power) + (Dd::from(power) - 1.0.into())
}

/// `log(x)`, for a normal `x`, by one Newton step from the `f64` result.
pub fn log(x: Dd) -> Dd {
    let y = Dd::from(x.hi.ln());
    let (m, k) = expm1_parts(-y);
    let x = x.scaled(2.0_f64.powi(k / 2)).scaled(2.0_f64.powi(k - k / 2));
    let d = (x - 1.0.into()) + x * m;
    y + d - (d * d).scaled(0.5)
}

/// `erf(x)` for `|x| < 6.5`, by the series with positive terms.
pub fn erf(x: Dd) -> Dd {
    let z = x * x;
    let mut term = x;
    let mut sum = x;
    let mut n = 1.0;
    while term.hi.abs() > sum.hi.abs() * 1e-25 {
        n += 2.0;
        term = term * z.scaled(2.0) / n.into();
        sum = sum + term;
    }
    let (e, k) = exp(-z);
    (TWO_OVER_ROOT_PI * sum * e).scaled(2.0_f64.powi(k))
}

const HALF_PI: Dd = Dd { hi: std::f64::consts::FRAC_PI_2, lo: 6.123233995736766e-17 };

/// The binary digits of `2/pi` after the point.
const TWO_OVER_PI: [u64; 20] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];

/// `x` as a multiple of `pi/2` modulo 4 and a rest of at most `pi/4`, for `x >= 1/2`, by exact
/// multiplication with 256 bits of `2/pi`.
fn reduce(x: f64) -> (u64, Dd) {
    let bits = x.to_bits();
    let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
    let exponent = (bits >> 52) as i32 - 1075;
    // The digit that weighs 2 once `2/pi` is scaled by 2^exponent; those before it give multiples of 4.
    let first = exponent - 2;
    let word = |i: i32| usize::try_from(i).ok().and_then(|i| TWO_OVER_PI.get(i)).copied().unwrap_or(0);
    let mut product = [0_u64; 4];
    let mut carry = 0;
    for limb in (0..4).rev() {
        let start = first + 64 * limb as i32;
        let pair =
            (u128::from(word(start.div_euclid(64))) << 64) | u128::from(word(start.div_euclid(64) + 1));
        let digits = (pair << start.rem_euclid(64) >> 64) as u64;
        let sum = u128::from(digits) * u128::from(significand) + carry;
        product[limb] = sum as u64;
        carry = sum >> 64;
    }
    let half = product[0] >> 61 & 1;
    let quadrant = (product[0] >> 62) + half;
    product[0] = product[0] << 2 >> 2;
    if half == 1 {
        // 1 - fraction; the last bit does not matter.
        product = product.map(|limb| !limb);
        product[0] = product[0] << 2 >> 2;
    }
    let mut weight = 4.0;
    let mut fraction = Dd::from(0.0);
    for limb in product {
        for half_limb in [limb >> 32, limb & 0xffff_ffff] {
            weight *= 2.0_f64.powi(-32);
            fraction = fraction + (half_limb as f64 * weight).into();
        }
    }
    let rest = fraction * HALF_PI;
    (quadrant, if half == 1 { -rest } else { rest })
}

/// `sin(x + quarter_turns * pi/2)` for `|x|` above 1e-100.
pub fn sin(x: f64, quarter_turns: u64) -> Dd {
    let (quadrant, r) = if x.abs() < 0.5 { (0, Dd::from(x.abs())) } else { reduce(x.abs()) };
    // sin(-x + turns) = sin(-(x - turns)).
    let (negate, turns) =
        if x < 0.0 { (true, quadrant + 4 - quarter_turns) } else { (false, quadrant + quarter_turns) };
    let first = 1 - (turns % 2) as usize;
    let z = -(r * r);
    let mut sum = INVERSE_FACTORIALS[22 + first];
    for n in (0..11).rev() {
        sum = sum * z + INVERSE_FACTORIALS[2 * n + first];
    }
    let y = if first == 1 { sum * r } else { sum };
    if negate != (turns % 4 >= 2) { -y } else { y }
}

/// `sqrt(x)` for a normal `x`, or 0.
pub fn sqrt(x: Dd) -> Dd {
    let y = x.hi.sqrt();
    if y == 0.0 { x } else { Dd::from(y) + (x - Dd::from(y) * y.into()) / (2.0 * y).into() }
}

/// `cbrt(x)` by one Newton step.
pub fn cbrt(x: f64) -> Dd {
    let y = Dd::from(x.cbrt());
    y + (Dd::from(x) - y * y * y) / (y * y * 3.0.into())
}

/// Sine and cosine of a small or moderate number.
fn sin_cos(x: f64) -> (Dd, Dd) {
    if x.abs() < 1e-100 { (x.into(), 1.0.into()) } else { (sin(x, 0), sin(x, 1)) }
}

/// The angle of the point (`x`, `y`) with a power of two.
pub fn atan2_scaled(y: f64, x: f64) -> (Dd, i32) {
    if y.atan2(x).abs() >= 1e-100 {
        return (atan2(y, x), 0);
    }
    // All digits of a subnormal quotient.
    let (up, down) = if y.abs() < 1.0 { (900, 0) } else { (0, 900) };
    (Dd::from(y * 2.0_f64.powi(up)) / (x * 2.0_f64.powi(-down)).into(), -(up + down))
}

/// The angle of the point (`x`, `y`) by one Newton step.
pub fn atan2(y: f64, x: f64) -> Dd {
    let most = x.abs().max(y.abs());
    let angle = y.atan2(x);
    if angle.abs() < 1e-100 {
        return Dd::from(y) / x.into();
    }
    let e = (most.to_bits() >> 52) as i32 - 1023;
    let scaled = |v: f64| Dd::from(v * 2.0_f64.powi(-e / 2) * 2.0_f64.powi(e / 2 - e));
    let (y, x) = (scaled(y), scaled(x));
    let (sine, cosine) = sin_cos(angle);
    Dd::from(angle) + (y * cosine - x * sine) / (x * cosine + y * sine)
}

/// `asin(x)` away from 1 and -1.
pub fn asin(x: Dd) -> Dd {
    if x.hi.abs() > 0.7 {
        let rest = HALF_PI - acos_near_one(if x.hi < 0.0 { -x } else { x });
        return if x.hi < 0.0 { -rest } else { rest };
    }
    let angle = x.hi.asin();
    let (sine, cosine) = sin_cos(angle);
    Dd::from(angle) + (x - sine) / cosine
}

fn acos_near_one(x: Dd) -> Dd {
    let half = sqrt((Dd::from(1.0) - x).scaled(0.5));
    asin(half).scaled(2.0)
}

/// `acos(x)`.
pub fn acos(x: f64) -> Dd {
    if x > 0.5 {
        acos_near_one(x.into())
    } else if x < -0.5 {
        HALF_PI.scaled(2.0) - acos_near_one((-x).into())
    } else {
        HALF_PI - asin(x.into())
    }
}

/// `sinh(x)` and `cosh(x)`, each with a power of two.
pub fn sinh_cosh(x: f64) -> ((Dd, i32), (Dd, i32)) {
    let y = x.abs();
    let sign = |s: Dd| if x < 0.0 { -s } else { s };
    if y > 40.0 {
        let (e, k) = exp(y.into());
        return ((sign(e), k - 1), (e, k - 1));
    }
    let m = expm1(y.into());
    let e = m + 1.0.into();
    ((sign((m + m / e).scaled(0.5)), 0), ((e + Dd::from(1.0) / e).scaled(0.5), 0))
}

/// `asinh(x)` by one Newton step.
pub fn asinh(x: f64) -> Dd {
    let y = x.asinh();
    let (s, c) = sinh_cosh(y);
    let value = |(v, k): (Dd, i32)| v.scaled(2.0_f64.powi(k));
    Dd::from(y) + (Dd::from(x) - value(s)) / value(c)
}

/// `log(1 + exp(x))` with a power of two.
pub fn softplus(x: f64) -> (Dd, i32) {
    softplus_of(x.into())
}

/// `log(1 + exp(x))` with a power of two.
pub fn softplus_of(x: Dd) -> (Dd, i32) {
    if x.hi > 700.0 {
        return (x, 0);
    }
    let (e, k) = exp(x);
    if x.hi < -80.0 {
        // The next term is smaller by more than 2^-100.
        return (e, k);
    }
    let e = e.scaled(2.0_f64.powi(k));
    (if e.hi < 1e-9 { e - (e * e).scaled(0.5) } else { log(e + 1.0.into()) }, 0)
}

/// `erfc(x)` with a power of two.
pub fn erfc(x: Dd) -> (Dd, i32) {
    if x.hi < 3.0 {
        let x = if x.hi < -6.5 { Dd::from(-6.5) } else { x };
        return (Dd::from(1.0) - erf(x), 0);
    }
    // The continued fraction, from far enough inside.
    let mut rest = x;
    for n in (1..150).rev() {
        rest = x + Dd::from(f64::from(n) / 2.0) / rest;
    }
    let (e, k) = exp(-(x * x));
    (TWO_OVER_ROOT_PI.scaled(0.5) * e / rest, k)
}

/// `x^y` for positive `x`, with a power of two.
pub fn pow(x: f64, y: f64) -> (Dd, i32) {
    exp(log(x.into()) * y.into())
}
