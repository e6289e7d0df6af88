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

/// Leaves a relative error of 2^-80.
const TERMS: usize = 10;

static INVERSE_FACTORIALS: LazyLock<[Dd; TERMS + 1]> = LazyLock::new(|| {
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
    let mut m = INVERSE_FACTORIALS[TERMS];
    for n in (1..TERMS).rev() {
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
pub fn erf(x: f64) -> Dd {
    let x = Dd::from(x);
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
