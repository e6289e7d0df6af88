//! Exponentials and hyperbolic functions; those of angles are the same, turned.

use super::{Builder, Parts};
use crate::expr::ExprId;
use crate::op::Op;

impl Builder<'_> {
    /// Where `exp` of a part is near its greatest value: beyond, its root is taken twice.
    fn limit(&self) -> f64 {
        if self.dtype == tj_tensor::DType::F32 { 88.0 } else { 709.0 }
    }

    /// `exp(x) (cos y + i sin y)`.
    pub(super) fn exp(&mut self, z: Parts) -> Parts {
        self.power(Op::Exp, self.limit(), z, z[1])
    }

    /// `2^x (cos t + i sin t)` with the angle `t = y log 2`.
    pub(super) fn exp2(&mut self, z: Parts) -> Parts {
        let limit = if self.dtype == tj_tensor::DType::F32 { 127.0 } else { 1023.0 };
        let angle = self.times(z[1], std::f64::consts::LN_2);
        self.power(Op::Exp2, limit, z, angle)
    }

    /// A real power `op(x)`, turned by an angle that follows from `y`; beyond the limit its root is taken twice.
    fn power(&mut self, op: Op, limit: f64, [x, y]: Parts, angle: ExprId) -> Parts {
        let is_large = self.is_above(x, limit);
        let half = self.times(x, 0.5);
        let exponent = self.choose(is_large, half, x);
        let size = self.one(op, exponent);
        let [re, im] = [Op::Cos, Op::Sin].map(|op| {
            let part = self.one(op, angle);
            let once = self.two(Op::Mul, size, part);
            let twice = self.two(Op::Mul, once, size);
            self.choose(is_large, twice, once)
        });
        // Of an infinite part along an angle that is none: infinity or zero.
        let no_angle = self.is_unbounded(y);
        let is_infinite = self.one(Op::IsInf, x);
        let odd = self.both(no_angle, is_infinite);
        let zero = self.number(0.0);
        let is_right = self.two(Op::Greater, x, zero);
        let size = self.choose(is_right, x, zero);
        let re = self.choose(odd, size, re);
        let is_left = self.one(Op::Not, is_right);
        let vanished = self.both(odd, is_left);
        let im = self.choose(vanished, zero, im);
        let is_real = self.is_zero(y);
        [re, self.choose(is_real, y, im)]
    }

    /// `exp(z) - 1`, accurate near 0: `expm1(x) cos y - 2 sin(y / 2)^2`.
    pub(super) fn expm1(&mut self, [x, y]: Parts) -> Parts {
        let [large, im] = self.exp([x, y]);
        let less = self.one(Op::Expm1, x);
        let cos = self.one(Op::Cos, y);
        let half = self.times(y, 0.5);
        let sin = self.one(Op::Sin, half);
        let square = self.two(Op::Mul, sin, sin);
        let twice = self.two(Op::Add, square, square);
        let product = self.two(Op::Mul, less, cos);
        let re = self.two(Op::Sub, product, twice);
        let is_large = self.is_above(x, self.limit());
        let re = self.choose(is_large, large, re);
        let is_least = self.number(f64::NEG_INFINITY);
        let is_least = self.two(Op::Equal, x, is_least);
        let minus_one = self.number(-1.0);
        [self.choose(is_least, minus_one, re), im]
    }

    /// `exp(|x|) / 2` times a factor where that is large, `other` times it elsewhere.
    fn grown(&mut self, is_large: ExprId, root: ExprId, other: ExprId, factor: ExprId) -> ExprId {
        let half = self.times(root, 0.5);
        let once = self.two(Op::Mul, half, factor);
        let large = self.two(Op::Mul, once, root);
        let plain = self.two(Op::Mul, other, factor);
        self.choose(is_large, large, plain)
    }

    /// Whether the absolute value of a part is large, and the root of its exponential.
    fn grows(&mut self, size: ExprId) -> (ExprId, ExprId) {
        let is_large = self.is_above(size, self.limit());
        let half = self.times(size, 0.5);
        (is_large, self.one(Op::Exp, half))
    }

    /// `sinh x cos y + i cosh x sin y`.
    pub(super) fn sinh(&mut self, [x, y]: Parts) -> Parts {
        let size = self.one(Op::Abs, x);
        let (is_large, root) = self.grows(size);
        let (cos, sin) = (self.one(Op::Cos, y), self.one(Op::Sin, y));
        let (sinh, cosh) = (self.one(Op::Sinh, size), self.one(Op::Cosh, x));
        let one = self.number(1.0);
        let sign = self.two(Op::Copysign, one, x);
        let signed = self.two(Op::Mul, cos, sign);
        let re = self.grown(is_large, root, sinh, signed);
        let im = self.grown(is_large, root, cosh, sin);
        let no_angle = self.is_unbounded(y);
        let (is_infinite, is_zero) = (self.one(Op::IsInf, x), self.is_zero(x));
        let own = self.either(is_infinite, is_zero);
        let odd = self.both(no_angle, own);
        let is_real = self.is_zero(y);
        [self.choose(odd, x, re), self.choose(is_real, y, im)]
    }

    /// `cosh x cos y + i sinh x sin y`.
    pub(super) fn cosh(&mut self, [x, y]: Parts) -> Parts {
        let size = self.one(Op::Abs, x);
        let (is_large, root) = self.grows(size);
        let (cos, sin) = (self.one(Op::Cos, y), self.one(Op::Sin, y));
        let (sinh, cosh) = (self.one(Op::Sinh, size), self.one(Op::Cosh, x));
        let one = self.number(1.0);
        let sign = self.two(Op::Copysign, one, x);
        let signed = self.two(Op::Mul, sin, sign);
        let re = self.grown(is_large, root, cosh, cos);
        let im = self.grown(is_large, root, sinh, signed);
        let no_angle = self.is_unbounded(y);
        let (is_infinite, is_zero) = (self.one(Op::IsInf, x), self.is_zero(x));
        let infinite = self.both(no_angle, is_infinite);
        let zero = self.both(no_angle, is_zero);
        let im = self.choose(zero, x, im);
        let is_real = self.is_zero(y);
        let along = self.two(Op::Mul, y, sign);
        [self.choose(infinite, size, re), self.choose(is_real, along, im)]
    }

    /// Kahan's: with `t = tan y`, `b = 1 + t^2` and `s = sinh x`, `(b s sqrt(1 + s^2) + i t) / (1 + b s^2)`; of a large real
    /// part 1 and `4 sin y cos y exp(-2 |x|)`.
    pub(super) fn tanh(&mut self, [x, y]: Parts) -> Parts {
        let one = self.number(1.0);
        let size = self.one(Op::Abs, x);
        let limit = self.by_width(11.0, 22.0);
        let is_large = self.two(Op::Greater, size, limit);
        let t = self.one(Op::Tan, y);
        let t2 = self.two(Op::Mul, t, t);
        let b = self.two(Op::Add, one, t2);
        let s = self.one(Op::Sinh, x);
        let s2 = self.two(Op::Mul, s, s);
        let sum = self.two(Op::Add, one, s2);
        let root = self.one(Op::Sqrt, sum);
        let bs2 = self.two(Op::Mul, b, s2);
        let whole = self.two(Op::Add, one, bs2);
        let bs = self.two(Op::Mul, b, s);
        let bsr = self.two(Op::Mul, bs, root);
        let re = self.two(Op::Div, bsr, whole);
        let im = self.two(Op::Div, t, whole);

        let minus = self.one(Op::Neg, size);
        let decay = self.one(Op::Exp, minus);
        let (sin, cos) = (self.one(Op::Sin, y), self.one(Op::Cos, y));
        let both = self.two(Op::Mul, sin, cos);
        let four = self.times(both, 4.0);
        let once = self.two(Op::Mul, four, decay);
        let far = self.two(Op::Mul, once, decay);
        let sign = self.two(Op::Copysign, one, x);
        let re = self.choose(is_large, sign, re);
        let im = self.choose(is_large, far, im);

        let no_angle = self.is_unbounded(y);
        let is_infinite = self.one(Op::IsInf, x);
        let odd = self.both(no_angle, is_infinite);
        let zero = self.number(0.0);
        let vanished = self.two(Op::Copysign, zero, y);
        let im = self.choose(odd, vanished, im);
        let (is_imaginary, is_real) = (self.is_zero(x), self.is_zero(y));
        [self.choose(is_imaginary, x, re), self.choose(is_real, y, im)]
    }
}
