//! `sin`, `cos` and `tan`, accurate for every finite argument.
//!
//! **Problem.** `|x| = q pi/2 + r` needs `q` modulo 4 and `r` to full relative accuracy, although `x`
//! may be 2^1023 and `r` 2^-60. The usual fast path for small `x` with a slow path for large `x` is a
//! branch, and a table indexed by the exponent is a gather. We have neither.
//!
//! **Idea.** Write `2/pi` as digits of `B` bits (12 or 26, half a significand) at absolute weights,
//! balanced so that a digit is at most half the base in magnitude. Of all these only eight matter
//! to a given `x`: those before give multiples of 4 when multiplied with it, those after are too
//! small. A barrel shifter moves the eight into place: each stage compares `x` with a constant
//! power of two and selects between each digit and one 2^stage further on.
//!
//! 1. *Window.* `x` in `[2^(B w - 1), 2^(B w + B - 1))` gets the digits `w..w + 8`.
//! 2. *Multiply.* `x = h + l` with half the bits each, so `Y_j = l a_j + h a_(j+1)` is exact: two
//!    products of half a significand squared with the same least bit. `|Y_0| < 2^(p+2)` for
//!    precision `p`, and each further one is smaller by 2^-B.
//! 3. *Take the integer off.* `Y_0` modulo 16 and `Y_1` modulo 4, then the nearest integer `n` to the sum,
//!    by adding large constants as in `exp`.
//! 4. *Add up.* `|Y_(j+1)|` is less than 2^B times the least bit of `Y_j`, hence the running sum is a multiple
//!    of an ulp of the next term, and Dekker's three-operation sum is exact. If the total is tiny
//!    the errors it finds are zero, otherwise they are so small that adding them up in working
//!    precision is enough. What is left out is below 2^-58 or 2^-127, and no float of the width has
//!    an `x 2/pi` closer to an integer than 2^-30 or 2^-62.
//! 5. *Scale* by `pi/2`, with a leading part so short that its product is exact. `|x| < 0.78` skips
//!    all this by a select.
//! 6. *Approximate.* `sin r = r + r^3 S(z)` and `cos r = 1 - z/2 + z^2 C(z)` with `z = r^2`, both corrected
//!    for the trailing part of `r`; the parity of `n` selects.
//!
//! **Cost.** About three times that of a reduction which fails for large `x`; `sin` and `cos` of the
//! same value share all but the last selects.
//!
//! | fit | interval of `z` | f32 | f64 |
//! |---|---|---|---|
//! | `S` | 0..0.6169 | degree 2, error 2^-27.8 | degree 5, error 2^-57.8 |
//! | `C` | 0..0.6169 | degree 2, error 2^-33.0 | degree 5, error 2^-61.5 |
//!
//! Errors are relative to the function, after rounding of the coefficients.

use super::{Arith, Width, constant, mul_add, poly};

/// `(sin(r) / r - 1) / z`.
const S32: [f32; 3] = [-0.16666654, 0.0083321445, -0.00019515105];
const S64: [f64; 6] = [
    -0.1666666666666663,
    0.008333333333322071,
    -0.00019841269829586143,
    2.7557313621522137e-6,
    -2.505074773181671e-8,
    1.5896228347562678e-10,
];

/// `(cos(r) - 1 + z / 2) / z^2`.
const C32: [f32; 3] = [0.041666646, -0.0013887314, 2.4433159e-5];
const C64: [f64; 6] = [
    0.04166666666666659,
    -0.0013888888888872967,
    2.480158728885141e-5,
    -2.755731417919076e-7,
    2.0875700825062088e-9,
    -1.1358535525005571e-11,
];

/// Balanced digits of `2/pi`; the least bit of the first weighs `2^(p + 2 - B)`.
const DIGITS32: [i32; 18] =
    [0, 0, 652, -415, -583, 913, 85, -1409, 157, 1524, 2005, -713, 1795, 1753, -1450, 1615, 270, 1040];
const DIGITS64: [i32; 47] = [
    0, 0, 5340354, -19096440, 11096033, 15399487, -23433504, 28755243, 13230621, -33013814, 11654639,
    24611523, 28910450, -12039750, 24118053, -27405292, -24342296, -3949212, -27749164, -25308924, 28289398,
    -9924451, 13514771, 23641853, -32912241, -20500374, 27064910, 17350423, 32491842, -10223853, -4349,
    -13623330, 24677467, -12497500, -4809921, 27152278, 5094010, 13102292, -13634281, -18198666, -29401296,
    -30447711, -6489147, 10823125, -10495234, -31198804, -24892670,
];

/// How many digits matter to one argument.
const WINDOW: usize = 8;

/// The sine of an angle in radians; NaN for infinities.
pub fn sin<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let angle = reduce(a, x);
    let (sine, cosine) = approximate(a, &angle);
    let odd = is_odd(a, angle.quadrant);
    let y = a.select(odd, cosine, sine);
    let y = flip_if_second_bit(a, y, angle.quadrant);
    // Adding the sign bit of an odd function's argument flips the sign.
    let mask = a.int(a.width().sign_bit());
    let sign = a.float_to_bits(x);
    let sign = a.iand(sign, mask);
    let y = a.float_to_bits(y);
    let y = a.iadd(y, sign);
    a.bits_to_float(y)
}

/// The cosine of an angle in radians; NaN for infinities.
pub fn cos<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let angle = reduce(a, x);
    let (sine, cosine) = approximate(a, &angle);
    let odd = is_odd(a, angle.quadrant);
    let y = a.select(odd, sine, cosine);
    let one = a.int(1);
    let quadrant = a.iadd(angle.quadrant, one);
    flip_if_second_bit(a, y, quadrant)
}

/// The tangent of an angle in radians; NaN for infinities.
pub fn tan<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let angle = reduce(a, x);
    let (sine, cosine) = approximate(a, &angle);
    let odd = is_odd(a, angle.quadrant);
    let numerator = a.select(odd, cosine, sine);
    let denominator = a.select(odd, sine, cosine);
    let y = a.div(numerator, denominator);
    // The sign is that of the argument, and the other one in odd quadrants.
    let bits = a.width().bits();
    let mask = a.int(a.width().sign_bit());
    let sign = a.float_to_bits(x);
    let sign = a.iand(sign, mask);
    let parity = a.ishl(angle.quadrant, bits - 1);
    let y = a.float_to_bits(y);
    let y = a.iadd(y, sign);
    let y = a.iadd(y, parity);
    a.bits_to_float(y)
}

/// `|x| = quadrant pi/2 + high + low`.
struct Angle<A: Arith> {
    /// Short, unless `x` needed no reduction and this is all of it.
    high: A::Float,
    low: A::Float,
    /// Only the two lowest bits matter.
    quadrant: A::Int,
}

fn reduce<A: Arith>(a: &mut A, x: A::Float) -> Angle<A> {
    let x = a.abs(x);
    let y = partial_products(a, x);
    let p = precision(a);

    let y0 = remainder(a, y[0], p + 3);
    let y1 = remainder(a, y[1], p + 1);
    let sum = a.add(y0, y1);
    let sum = a.add(sum, y[2]);
    let magic = a.float(1.5 * power_of_2(p - 1));
    let t = a.add(sum, magic);
    let n = a.sub(t, magic);
    let y0 = a.sub(y0, n);
    let sum = a.add(y0, y1);
    let (sum, e2) = add_exactly(a, sum, y[2]);
    let (sum, e3) = add_exactly(a, sum, y[3]);
    let (sum, e4) = add_exactly(a, sum, y[4]);
    let rest = a.add(y[5], y[6]);
    let e = a.add(e2, e3);
    let e = a.add(e, e4);
    let rest = a.add(e, rest);
    let (turn, turn_low) = add_exactly(a, sum, rest);

    let (turn_high, middle) = halves(a, turn);
    let turn_low = a.add(middle, turn_low);
    let factor_high = constant(a, 1.5703125, 1.5707963109016418);
    let factor_low = constant(a, 0.0004838268, 1.5893254773528196e-8);
    let factor = constant(a, std::f32::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2);
    let high = a.mul(turn_high, factor_high);
    let low = a.mul(turn_high, factor_low);
    let low = mul_add(a, turn_low, factor, low);

    let limit = a.float(0.78125);
    let zero = a.float(0.0);
    let small = a.lt(x, limit);
    let t = a.select(small, zero, t);
    Angle { high: a.select(small, x, high), low: a.select(small, zero, low), quadrant: a.float_to_bits(t) }
}

/// `Y_0..Y_6`, whose sum is `x * 2/pi` modulo 4.
fn partial_products<A: Arith>(a: &mut A, x: A::Float) -> [A::Float; WINDOW - 1] {
    // Opposite powers of two keep both the last digits and the products in range.
    let (digits, balance): (&[i32], i32) = match a.width() {
        Width::F32 => (&DIGITS32, 64),
        Width::F64 => (&DIGITS64, 512),
    };
    let bits = digit_bits(a) as i32;
    let first = precision(a) + 2 - bits + balance;
    let zero = a.float(0.0);
    let mut window = [zero; DIGITS64.len()];
    for (i, (slot, &digit)) in window.iter_mut().zip(digits).enumerate() {
        *slot = a.float(f64::from(digit) * power_of_2(first - bits * i as i32));
    }

    let n_windows = digits.len() - WINDOW + 1;
    let mut rest = x;
    for stage in (0..usize::BITS - (n_windows - 1).leading_zeros()).rev() {
        let step = 1_usize << stage;
        let limit = a.float(power_of_2(bits * step as i32 - 1));
        let below = a.lt(rest, limit);
        if stage > 0 {
            let down = a.float(power_of_2(-bits * step as i32));
            let shifted = a.mul(rest, down);
            rest = a.select(below, rest, shifted);
        }
        for i in 0..WINDOW + step - 1 {
            if i + step < digits.len() {
                window[i] = a.select(below, window[i], window[i + step]);
            }
        }
    }

    let down = a.float(power_of_2(-balance));
    let x = a.mul(x, down);
    let (high, low) = halves(a, x);
    std::array::from_fn(|j| {
        let from_low = a.mul(low, window[j]);
        let from_high = a.mul(high, window[j + 1]);
        a.add(from_low, from_high)
    })
}

/// `x` as a leading half with 12 or 27 bits, and the rest.
fn halves<A: Arith>(a: &mut A, x: A::Float) -> (A::Float, A::Float) {
    let mask = a.int(-1 << digit_bits(a));
    let high = a.float_to_bits(x);
    let high = a.iand(high, mask);
    let high = a.bits_to_float(high);
    (high, a.sub(x, high))
}

/// What is left of `x` after rounding to a multiple of an ulp of `2^exponent`, for `|x|` less than half that.
fn remainder<A: Arith>(a: &mut A, x: A::Float, exponent: i32) -> A::Float {
    let magic = a.float(1.5 * power_of_2(exponent));
    let multiple = a.add(x, magic);
    let multiple = a.sub(multiple, magic);
    a.sub(x, multiple)
}

/// The rounded sum and its error, for `x` a multiple of an ulp of `y`.
fn add_exactly<A: Arith>(a: &mut A, x: A::Float, y: A::Float) -> (A::Float, A::Float) {
    let sum = a.add(x, y);
    let added = a.sub(sum, x);
    (sum, a.sub(y, added))
}

/// The sine and cosine of an angle up to `pi/4`.
pub(super) fn sin_cos_of_eighth<A: Arith>(a: &mut A, angle: A::Float) -> (A::Float, A::Float) {
    let (low, quadrant) = (a.float(0.0), a.int(0));
    approximate(a, &Angle { high: angle, low, quadrant })
}

/// The sine and cosine of `high + low`.
fn approximate<A: Arith>(a: &mut A, angle: &Angle<A>) -> (A::Float, A::Float) {
    let r = a.add(angle.high, angle.low);
    let z = a.mul(r, r);
    let s = poly(a, z, &S32, &S64);
    let rz = a.mul(r, z);
    let s = mul_add(a, rz, s, angle.low);
    let sine = a.add(angle.high, s);

    let c = poly(a, z, &C32, &C64);
    let zz = a.mul(z, z);
    let c = a.mul(zz, c);
    let lost = a.sub(angle.high, r);
    let lost = a.add(lost, angle.low);
    let lost = a.mul(r, lost);
    let c = a.sub(c, lost);
    let half = a.float(0.5);
    let one = a.float(1.0);
    let h = a.mul(half, z);
    let lead = a.sub(one, h);
    let lead_lost = a.sub(one, lead);
    let lead_lost = a.sub(lead_lost, h);
    let c = a.add(lead_lost, c);
    (sine, a.add(lead, c))
}

fn is_odd<A: Arith>(a: &mut A, quadrant: A::Int) -> A::Truth {
    let one = a.float(1.0);
    let one = a.float_to_bits(one);
    let parity = a.ishl(quadrant, a.width().bits() - 1);
    let signed = a.ior(parity, one);
    let signed = a.bits_to_float(signed);
    let zero = a.float(0.0);
    a.lt(signed, zero)
}

/// `-y` if the second bit of `quadrant` is set.
fn flip_if_second_bit<A: Arith>(a: &mut A, y: A::Float, quadrant: A::Int) -> A::Float {
    let mask = a.int(a.width().sign_bit());
    let sign = a.ishl(quadrant, a.width().bits() - 2);
    let sign = a.iand(sign, mask);
    let y = a.float_to_bits(y);
    let y = a.iadd(y, sign);
    a.bits_to_float(y)
}

fn precision<A: Arith>(a: &A) -> i32 {
    a.width().mantissa_bits() as i32 + 1
}

fn digit_bits<A: Arith>(a: &A) -> u32 {
    a.width().mantissa_bits().div_ceil(2)
}

/// `2^e` for a normal result.
fn power_of_2(e: i32) -> f64 {
    f64::from_bits(((1023 + e) as u64) << 52)
}
