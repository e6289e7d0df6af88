//! Closed intervals of integers, the cheapest kind of knowledge about a size.
//!
//! The ends are `i128`; `i128::MIN` as lower and `i128::MAX` as upper end mean "unbounded" and stick, so that rounding
//! outwards is the only thing that can happen to an interval.

/// Every integer from `lo` to `hi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    pub lo: i128,
    pub hi: i128,
}

impl Interval {
    pub const ALL: Interval = Interval { lo: i128::MIN, hi: i128::MAX };

    /// Rounds outwards: a lower end may not claim "above everything", nor an upper one "below everything".
    pub fn new(lo: i128, hi: i128) -> Interval {
        Interval { lo: lo.min(i128::MAX - 1), hi: hi.max(i128::MIN + 1) }
    }

    pub fn point(value: i64) -> Interval {
        Interval { lo: value.into(), hi: value.into() }
    }

    pub fn intersect(self, other: Interval) -> Interval {
        Interval { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) }
    }

    pub fn add(self, other: Interval) -> Interval {
        let lo = if self.lo == i128::MIN || other.lo == i128::MIN {
            i128::MIN
        } else {
            self.lo.saturating_add(other.lo)
        };
        let hi = if self.hi == i128::MAX || other.hi == i128::MAX {
            i128::MAX
        } else {
            self.hi.saturating_add(other.hi)
        };
        Interval::new(lo, hi)
    }

    pub fn mul(self, other: Interval) -> Interval {
        let corners = [
            times(self.lo, other.lo),
            times(self.lo, other.hi),
            times(self.hi, other.lo),
            times(self.hi, other.hi),
        ];
        hull(corners)
    }

    pub fn pow(self, exponent: u32) -> Interval {
        if exponent == 1 {
            return self;
        }
        if self.lo >= 0 {
            let power = |end: i128| if end == i128::MAX { end } else { end.saturating_pow(exponent) };
            return Interval::new(power(self.lo), power(self.hi));
        }
        if exponent.is_multiple_of(2) {
            let magnitude = self.magnitude();
            return Interval::new(0, times_pow(magnitude, exponent));
        }
        let magnitude = times_pow(self.magnitude(), exponent);
        Interval::new(if magnitude == i128::MAX { i128::MIN } else { -magnitude }, magnitude)
    }

    pub fn min(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.min(other.hi) }
    }

    pub fn max(self, other: Interval) -> Interval {
        Interval { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The quotients `floordiv(a, b)`, where a quotient by 0 is 0.
    pub fn floordiv(self, divisor: Interval) -> Interval {
        if divisor.lo < 0 {
            let magnitude = self.magnitude();
            return Interval::new(if magnitude == i128::MAX { i128::MIN } else { -magnitude }, magnitude);
        }
        let (near, far) = (divisor.lo.max(1), divisor.hi.max(1));
        let low_divisor = if self.lo < 0 { near } else { far };
        let high_divisor = if self.hi < 0 { far } else { near };
        let lo = if self.lo == i128::MIN { i128::MIN } else { self.lo.div_euclid(low_divisor) };
        let hi = if self.hi == i128::MAX { i128::MAX } else { self.hi.div_euclid(high_divisor) };
        if divisor.lo == 0 { Interval::new(lo.min(0), hi.max(0)) } else { Interval::new(lo, hi) }
    }

    /// The remainders `modulo(a, b)`, which follow the sign of `b`; a remainder by 0 is 0.
    pub fn modulo(self, divisor: Interval) -> Interval {
        let lo = if divisor.lo == i128::MIN { i128::MIN } else { (divisor.lo + 1).min(0) };
        let mut hi = if divisor.hi == i128::MAX { i128::MAX } else { (divisor.hi - 1).max(0) };
        if self.lo >= 0 {
            hi = hi.min(self.hi);
        }
        Interval::new(lo, hi)
    }

    fn magnitude(self) -> i128 {
        self.lo.checked_neg().unwrap_or(i128::MAX).max(self.hi)
    }
}

fn hull(corners: [i128; 4]) -> Interval {
    let (mut lo, mut hi) = (corners[0], corners[0]);
    for corner in corners {
        lo = lo.min(corner);
        hi = hi.max(corner);
    }
    Interval::new(lo, hi)
}

/// A product in which the extreme values stand for infinity, and infinity times 0 is 0.
fn times(a: i128, b: i128) -> i128 {
    let infinite = |x: i128| x == i128::MIN || x == i128::MAX;
    let extreme = if (a < 0) == (b < 0) { i128::MAX } else { i128::MIN };
    if a == 0 || b == 0 {
        0
    } else if infinite(a) || infinite(b) {
        extreme
    } else {
        a.checked_mul(b).unwrap_or(extreme)
    }
}

fn times_pow(magnitude: i128, exponent: u32) -> i128 {
    if magnitude == i128::MAX { magnitude } else { magnitude.saturating_pow(exponent) }
}
