//! `atan`, `atan2`, `asin` and `acos`.
//!
//! `atan(n/d)`, for `n >= 0` and `d > 0`, is one of three: `atan(n/d)` itself up to `tan(pi/8)`, `pi/4 +
//! atan((n - d)/(n + d))` up to `tan(3 pi/8)`, and `pi/2 + atan(-d/n)` above. One division and one fit on
//! `|t| <= tan(pi/8)` serve all; the multiples of `pi/4` have a trailing part. `atan2` selects the
//! multiple and the sign of `t` by the half plane, so that it rounds once more for no half.
//!
//! `asin(t)` is `t + t z P(z)`, `z = t^2`, up to 1/2; above, `pi/2 - 2 asin(s)` with `s^2 = (1 - t)/2`,
//! which is exact up to the root. The large terms are subtracted without error.
//!
//! | fit | interval of `z` | f32 | f64 |
//! |---|---|---|---|
//! | `atan` | 0..0.1716 | degree 4, error 2^-30.1 | degree 11, error 2^-61.4 |
//! | `asin` | 0..0.2501 | degree 5, error 2^-31.5 | degree 12, error 2^-59.5 |
//!
//! Errors are relative to the function, after rounding of the coefficients.

use super::{Arith, Width, constant, mul_add, or_sign_of, poly};

/// `(atan(t) / t - 1) / z`.
const ATAN32: [f32; 5] = [-0.33333316, 0.19998492, -0.14243546, 0.105934285, -0.060783245];
const ATAN64: [f64; 12] = [
    -0.33333333333333326,
    0.19999999999997628,
    -0.14285714285385745,
    0.11111111088056166,
    -0.0909090814073772,
    0.0769228268531241,
    -0.06666225838318908,
    0.0587701424844216,
    -0.05218364246591332,
    0.04503417472688858,
    -0.03347204974545958,
    0.015193327567909129,
];

/// `(asin(t) / t - 1) / z`.
const ASIN32: [f32; 6] = [0.1666666, 0.07500508, 0.044516705, 0.0318098, 0.014429847, 0.03752793];
const ASIN64: [f64; 13] = [
    0.1666666666666676,
    0.07499999999970638,
    0.044642857174782447,
    0.03038194269921121,
    0.022372215239401586,
    0.01735160731789222,
    0.013980878812097346,
    0.011398420065189955,
    0.010783094704585284,
    0.003695368845480293,
    0.02173503100482202,
    -0.021039096738283383,
    0.032654271318358095,
];

/// A multiple of `pi/4` in two parts.
fn eighths<A: Arith>(a: &mut A, n: u32) -> (A::Float, A::Float) {
    let n = f64::from(n);
    let (high, low) = match a.width() {
        Width::F32 => {
            let high = (n * std::f64::consts::FRAC_PI_4) as f32;
            let low = (n * std::f64::consts::FRAC_PI_4 - f64::from(high)) as f32;
            (f64::from(high), f64::from(low))
        }
        // The first product is exact, by chance for 3.
        Width::F64 => (n * std::f64::consts::FRAC_PI_4, n * 3.061616997868383e-17),
    };
    (a.float(high), a.float(low))
}

/// The inverse tangent, an angle in radians.
pub fn atan<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let n = a.abs(x);
    let d = a.float(1.0);
    let (low_limit, high_limit) = limits(a);
    let middle = a.lt(low_limit, n);
    let steep = a.lt(high_limit, n);
    let t = tangent(a, n, d, middle, steep);
    let zero = a.float(0.0);
    let (first, first_low) = eighths(a, 1);
    let (second, second_low) = eighths(a, 2);
    let base = a.select(middle, first, zero);
    let base = a.select(steep, second, base);
    let low = a.select(middle, first_low, zero);
    let low = a.select(steep, second_low, low);
    let angle = turned(a, base, low, t);
    or_sign_of(a, angle, x)
}

/// The angle of the point (`x`, `y`), in radians between minus pi and pi.
pub fn atan2<A: Arith>(a: &mut A, y: A::Float, x: A::Float) -> A::Float {
    let (n, d) = (a.abs(y), a.abs(x));
    let (zero, one, infinity) = (a.float(0.0), a.float(1.0), a.float(f64::INFINITY));
    // Of infinities only that they are so matters: the point is on an axis or a diagonal.
    let less = a.lt(n, d);
    let most = a.select(less, d, n);
    let endless = a.eq(most, infinity);
    let axis = |a: &mut A, v| {
        let is = a.eq(v, infinity);
        let coarse = a.select(is, one, zero);
        a.select(endless, coarse, v)
    };
    let (n, d) = (axis(a, n), axis(a, d));
    // Away from overflow and from where few digits are left. A scale is common to both.
    let large = constant(a, 2.0_f32.powi(100), 2.0_f64.powi(1000));
    let small = constant(a, 2.0_f32.powi(-100), 2.0_f64.powi(-900));
    let down = a.float(0.0625);
    let up = constant(a, 2.0_f32.powi(30), 2.0_f64.powi(60));
    let is_large = a.lt(large, most);
    let is_small = a.lt(most, small);
    let factor = a.select(is_large, down, one);
    let factor = a.select(is_small, up, factor);
    let factor = a.select(endless, one, factor);
    let (n, d) = (a.mul(n, factor), a.mul(d, factor));
    let is_zero = a.eq(most, zero);
    let d = a.select(is_zero, one, d);

    let (low_limit, high_limit) = limits(a);
    let low_limit = a.mul(low_limit, d);
    let high_limit = a.mul(high_limit, d);
    let middle = a.lt(low_limit, n);
    let steep = a.lt(high_limit, n);
    let t = tangent(a, n, d, middle, steep);

    let sign = or_sign_of(a, one, x);
    let left = a.lt(sign, zero);
    let minus = a.neg(t);
    let t = a.select(left, minus, t);
    let (first, first_low) = eighths(a, 1);
    let (second, second_low) = eighths(a, 2);
    let (third, third_low) = eighths(a, 3);
    let (fourth, fourth_low) = eighths(a, 4);
    let flat = a.select(left, fourth, zero);
    let flat_low = a.select(left, fourth_low, zero);
    let diagonal = a.select(left, third, first);
    let diagonal_low = a.select(left, third_low, first_low);
    let base = a.select(middle, diagonal, flat);
    let base = a.select(steep, second, base);
    let low = a.select(middle, diagonal_low, flat_low);
    let low = a.select(steep, second_low, low);
    let angle = turned(a, base, low, t);
    let angle = or_sign_of(a, angle, y);
    let is_number = a.eq(x, x);
    let angle = a.select(is_number, angle, x);
    let is_number = a.eq(y, y);
    a.select(is_number, angle, y)
}

/// `tan(pi/8)` and `tan(3 pi/8)`.
fn limits<A: Arith>(a: &mut A) -> (A::Float, A::Float) {
    (constant(a, 0.41421357, 0.4142135623730951), constant(a, 2.4142137, 2.414213562373095))
}

/// The tangent of what is left after a multiple of `pi/4`.
fn tangent<A: Arith>(a: &mut A, n: A::Float, d: A::Float, middle: A::Truth, steep: A::Truth) -> A::Float {
    let minus_d = a.neg(d);
    let (difference, sum) = (a.sub(n, d), a.add(n, d));
    let numerator = a.select(middle, difference, n);
    let numerator = a.select(steep, minus_d, numerator);
    let denominator = a.select(middle, sum, d);
    let denominator = a.select(steep, n, denominator);
    a.div(numerator, denominator)
}

/// `base + low + atan(t)`.
fn turned<A: Arith>(a: &mut A, base: A::Float, low: A::Float, t: A::Float) -> A::Float {
    let z = a.mul(t, t);
    let p = poly(a, z, &ATAN32, &ATAN64);
    let cube = a.mul(t, z);
    let rest = mul_add(a, cube, p, low);
    let rest = a.add(t, rest);
    a.add(base, rest)
}

/// The inverse sine, an angle in radians; NaN outside -1..=1.
pub fn asin<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let Arc { t, rest, large } = arc(a, y);
    let zero = a.float(0.0);
    let (base, low) = eighths(a, 2);
    let base = a.select(large, base, zero);
    let low = a.select(large, low, zero);
    let (minus_t, minus_rest) = (a.neg(t), a.neg(rest));
    let twice = a.add(t, t);
    let part = a.select(large, twice, minus_t);
    let double_rest = a.add(rest, rest);
    let rest = a.select(large, double_rest, minus_rest);
    let angle = less(a, base, low, part, rest);
    or_sign_of(a, angle, x)
}

/// The inverse cosine, an angle in radians; NaN outside -1..=1.
pub fn acos<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let y = a.abs(x);
    let Arc { t, rest, large } = arc(a, y);
    let zero = a.float(0.0);
    let left = a.lt(x, zero);
    let (quarter, quarter_low) = eighths(a, 2);
    let (half, half_low) = eighths(a, 4);
    // The parts with the sign with which they are taken off.
    let (minus_t, minus_rest) = (a.neg(t), a.neg(rest));
    let signed = a.select(left, minus_t, t);
    let signed_rest = a.select(left, minus_rest, rest);
    let (twice, twice_rest) = (a.add(signed, signed), a.add(signed_rest, signed_rest));
    let (twice, twice_rest) = (a.neg(twice), a.neg(twice_rest));
    let part = a.select(large, twice, signed);
    let rest = a.select(large, twice_rest, signed_rest);
    let base = a.select(left, half, zero);
    let base = a.select(large, base, quarter);
    let low = a.select(left, half_low, zero);
    let low = a.select(large, low, quarter_low);
    less(a, base, low, part, rest)
}

/// `asin(t) = t + rest`, where `t` is the argument, or the root of half its distance to 1 if that is `large`.
struct Arc<A: Arith> {
    t: A::Float,
    rest: A::Float,
    large: A::Truth,
}

fn arc<A: Arith>(a: &mut A, y: A::Float) -> Arc<A> {
    let (half, one) = (a.float(0.5), a.float(1.0));
    let large = a.lt(half, y);
    let distance = a.sub(one, y);
    let distance = a.mul(distance, half);
    let square = a.mul(y, y);
    let z = a.select(large, distance, square);
    let root = a.sqrt(z);
    let t = a.select(large, root, y);
    let p = poly(a, z, &ASIN32, &ASIN64);
    let cube = a.mul(t, z);
    Arc { t, rest: a.mul(cube, p), large }
}

/// `base - part` and the small rest, for a base that is 0 or greater than the part.
fn less<A: Arith>(a: &mut A, base: A::Float, low: A::Float, part: A::Float, rest: A::Float) -> A::Float {
    let high = a.sub(base, part);
    let lost = a.sub(base, high);
    let lost = a.sub(lost, part);
    let small = a.sub(low, rest);
    let small = a.add(lost, small);
    a.add(high, small)
}
