//! Inverse functions of angles and hyperbolic ones, after Kahan ("Branch cuts for complex elementary functions", 1987).
//!
//! `1 - z` has the imaginary part `-y`, whose sign says on which side of a cut a number lies, and sums of products of
//! roots never cancel. Large numbers have the angle of their direction, and so have infinite ones.

use std::f64::consts::{FRAC_PI_2, LN_2};

use super::{Builder, Parts};
use crate::expr::ExprId;
use crate::op::Op;

impl Builder<'_> {
    /// `sqrt(1 + z)` and `sqrt(1 - z)`.
    fn roots(&mut self, [x, y]: Parts) -> [Parts; 2] {
        let one = self.number(1.0);
        let (above, below) = (self.two(Op::Add, one, x), self.two(Op::Sub, one, x));
        let minus = self.one(Op::Neg, y);
        [self.sqrt([above, y]), self.sqrt([below, minus])]
    }

    /// `op(a b, c d)`.
    fn products(&mut self, op: Op, [a, b]: Parts, [c, d]: Parts) -> ExprId {
        let (ab, cd) = (self.two(Op::Mul, a, b), self.two(Op::Mul, c, d));
        self.two(op, ab, cd)
    }

    fn is_infinite(&mut self, z: Parts) -> ExprId {
        let parts = z.map(|part| self.one(Op::IsInf, part));
        self.either(parts[0], parts[1])
    }

    /// Whether a number is so large that its inverse functions are those of its direction and `log |2 z|`, and this logarithm.
    fn far(&mut self, z: Parts) -> [ExprId; 2] {
        let greatest = self.greatest(z);
        let bound = self.by_width(2f64.powi(60), 2f64.powi(500));
        let (large, infinite) = (self.two(Op::Greater, greatest, bound), self.is_infinite(z));
        let quarters = z.map(|part| self.times(part, 0.25));
        let size = self.two(Op::Hypot, quarters[0], quarters[1]);
        let (log, shift) = (self.one(Op::Log, size), self.number(3.0 * LN_2));
        [self.either(large, infinite), self.two(Op::Add, log, shift)]
    }

    pub(super) fn asin(&mut self, [x, y]: Parts) -> Parts {
        let [p, q] = self.roots([x, y]);
        let abscissa = self.products(Op::Sub, [p[0], q[0]], [p[1], q[1]]);
        let re = self.two(Op::Atan2, x, abscissa);
        let height = self.products(Op::Sub, [q[0], p[1]], [q[1], p[0]]);
        let im = self.one(Op::Asinh, height);
        let ([far, log], high) = (self.far([x, y]), self.one(Op::Abs, y));
        let direction = self.two(Op::Atan2, x, high);
        let size = self.two(Op::Copysign, log, y);
        let is_imaginary = self.is_zero(x);
        let re = self.choose(far, direction, re);
        [self.choose(is_imaginary, x, re), self.choose(far, size, im)]
    }

    pub(super) fn acos(&mut self, [x, y]: Parts) -> Parts {
        let [p, q] = self.roots([x, y]);
        let half = self.two(Op::Atan2, q[0], p[0]);
        let re = self.two(Op::Add, half, half);
        let height = self.products(Op::Sub, [p[0], q[1]], [p[1], q[0]]);
        let im = self.one(Op::Asinh, height);
        let ([far, log], high) = (self.far([x, y]), self.one(Op::Abs, y));
        let direction = self.two(Op::Atan2, high, x);
        let size = self.two(Op::Copysign, log, y);
        let size = self.one(Op::Neg, size);
        let (is_imaginary, quarter) = (self.is_zero(x), self.number(FRAC_PI_2));
        let re = self.choose(far, direction, re);
        [self.choose(is_imaginary, quarter, re), self.choose(far, size, im)]
    }

    pub(super) fn acosh(&mut self, [x, y]: Parts) -> Parts {
        let one = self.number(1.0);
        let (below, above) = (self.two(Op::Sub, x, one), self.two(Op::Add, x, one));
        let (p, q) = (self.sqrt([below, y]), self.sqrt([above, y]));
        let width = self.products(Op::Add, [p[0], q[0]], [p[1], q[1]]);
        let re = self.one(Op::Asinh, width);
        let half = self.two(Op::Atan2, p[1], q[0]);
        let im = self.two(Op::Add, half, half);
        let [far, log] = self.far([x, y]);
        let direction = self.two(Op::Atan2, y, x);
        let (is_imaginary, quarter) = (self.is_zero(x), self.number(FRAC_PI_2));
        let quarter = self.two(Op::Copysign, quarter, y);
        let im = self.choose(far, direction, im);
        [self.choose(far, log, re), self.choose(is_imaginary, quarter, im)]
    }

    /// `log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4` with the sign of x, and `atan2(2 y, (1 - x) (1 + x) - y^2) / 2`. Where the
    /// squares would vanish the logarithm of their root is taken, where they would overflow `1 / z` is left.
    pub(super) fn atanh(&mut self, z: Parts) -> Parts {
        let [x, y] = z;
        let one = self.number(1.0);
        let size = self.one(Op::Abs, x);
        let distance = self.two(Op::Sub, one, size);
        let squares = self.products(Op::Add, [distance, distance], [y, y]);
        let four = self.times(size, 4.0);
        let ratio = self.two(Op::Div, four, squares);
        let log = self.one(Op::Log1p, ratio);
        let plain = self.times(log, 0.25);
        let root = self.two(Op::Hypot, distance, y);
        let log = self.one(Op::Log, root);
        let ln2 = self.number(LN_2);
        let rest = self.two(Op::Sub, ln2, log);
        let close = self.times(rest, 0.5);
        let bound = self.by_width(2f64.powi(-50), 2f64.powi(-500));
        let is_close = self.two(Op::Less, root, bound);
        let re = self.choose(is_close, close, plain);

        let greatest = self.greatest(z);
        let bound = self.by_width(2f64.powi(50), 2f64.powi(500));
        let is_far = self.two(Op::Greater, greatest, bound);
        let unit = [one, self.number(0.0)];
        let [inverse, _] = self.div(unit, z);
        let inverse = self.one(Op::Abs, inverse);
        // Of infinite numbers nothing is left.
        let (infinite, zero) = (self.is_infinite(z), self.number(0.0));
        let inverse = self.choose(infinite, zero, inverse);
        let far = self.either(is_far, infinite);
        let re = self.choose(far, inverse, re);
        let re = self.two(Op::Copysign, re, x);
        let is_imaginary = self.is_zero(x);
        let re = self.choose(is_imaginary, x, re);

        let (below, above) = (self.two(Op::Sub, one, x), self.two(Op::Add, one, x));
        let abscissa = self.products(Op::Sub, [below, above], [y, y]);
        let twice = self.two(Op::Add, y, y);
        let angle = self.two(Op::Atan2, twice, abscissa);
        let im = self.times(angle, 0.5);
        let quarter = self.number(FRAC_PI_2);
        let quarter = self.two(Op::Copysign, quarter, y);
        let none = self.one(Op::IsNan, y);
        let quarter = self.choose(none, y, quarter);
        [re, self.choose(far, quarter, im)]
    }
}
