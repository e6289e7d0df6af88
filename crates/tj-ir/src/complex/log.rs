//! Logarithms, and powers by them.

use super::{Builder, Parts};
use crate::expr::ExprId;
use crate::op::Op;

impl Builder<'_> {
    /// `log |z|`. Near the unit circle from the distance of `|z|^2` to 1, so that the error stays absolute.
    fn log_size(&mut self, z: Parts) -> ExprId {
        let scale = self.scale(z);
        let [x, y] = z.map(|part| self.two(Op::Mul, part, scale.factor));
        let size = self.two(Op::Hypot, x, y);
        let log = self.one(Op::Log, size);
        let ln2 = std::f64::consts::LN_2;
        let undone = [2.0 * ln2, -f64::from(self.up()) * ln2, 0.0];
        let shift = self.by_scale(scale.is_large, scale.is_small, undone);
        let far = self.two(Op::Add, log, shift);

        let [x, y] = z.map(|part| self.one(Op::Abs, part));
        let (great, less) = (self.two(Op::Maximum, x, y), self.two(Op::Minimum, x, y));
        let one = self.number(1.0);
        let (below, above) = (self.two(Op::Sub, great, one), self.two(Op::Add, great, one));
        let product = self.two(Op::Mul, below, above);
        let square = self.two(Op::Mul, less, less);
        let distance = self.two(Op::Add, product, square);
        let log = self.one(Op::Log1p, distance);
        let near = self.times(log, 0.5);

        let two = self.number(2.0);
        let (from, to) = (self.is_above(great, 0.5), self.two(Op::Less, size, two));
        let is_near = self.both(from, to);
        self.choose(is_near, near, far)
    }

    pub(super) fn log(&mut self, z: Parts) -> Parts {
        [self.log_size(z), self.two(Op::Atan2, z[1], z[0])]
    }

    /// The logarithm to a base, of which that of e is given.
    pub(super) fn log_to(&mut self, z: Parts, of_e: f64) -> Parts {
        self.log(z).map(|part| self.times(part, of_e))
    }

    /// `log(1 + z)`, accurate near 0.
    pub(super) fn log1p(&mut self, [x, y]: Parts) -> Parts {
        let (one, two) = (self.number(1.0), self.number(2.0));
        let sum = self.two(Op::Add, one, x);
        let far = self.log_size([sum, y]);
        let twice = self.two(Op::Add, two, x);
        let product = self.two(Op::Mul, x, twice);
        let square = self.two(Op::Mul, y, y);
        let distance = self.two(Op::Add, product, square);
        let log = self.one(Op::Log1p, distance);
        let near = self.times(log, 0.5);
        let (greatest, half) = (self.greatest([x, y]), self.number(0.5));
        let is_near = self.two(Op::Less, greatest, half);
        [self.choose(is_near, near, far), self.two(Op::Atan2, y, sum)]
    }

    /// `exp(w log z)`. To the power 0 it is 1, to 1 the number, to 2 its product with itself; 0 to a power with a positive
    /// real part is 0, and NaN to others.
    pub(super) fn pow(&mut self, z: Parts, w: Parts) -> Parts {
        let log = self.log(z);
        let exponent = self.mul(w, log);
        let power = self.exp(exponent);
        let square = self.mul(z, z);
        let (zero, one, two) = (self.number(0.0), self.number(1.0), self.number(2.0));
        let is_real = self.is_zero(w[1]);
        let [to_zero, to_one, to_two] = [zero, one, two].map(|n| {
            let equal = self.two(Op::Equal, w[0], n);
            self.both(is_real, equal)
        });
        let truth = self.truth(z);
        let of_zero = self.one(Op::Not, truth);
        let is_right = self.two(Op::Greater, w[0], zero);
        let nan = self.number(f64::NAN);
        let zeros = self.choose(is_right, zero, nan);
        let unit = [one, zero];
        [0, 1].map(|k| {
            let value = self.choose(of_zero, zeros, power[k]);
            let value = self.choose(to_two, square[k], value);
            let value = self.choose(to_one, z[k], value);
            self.choose(to_zero, unit[k], value)
        })
    }
}
