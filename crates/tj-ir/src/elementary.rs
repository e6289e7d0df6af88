//! Elementary functions as expressions over primitive float and integer operations.
//!
//! **Problem.** A function such as `exp` must give the same bits on every back end, in the
//! interpreter, fused or not, on every machine; and it must vectorise. A math library does
//! neither: its results differ between versions, and a call per element stops vectorisation.
//!
//! **Idea.** Each function is written once, over the trait [`Arith`], whose methods are operations
//! that every target has as one instruction (or two or three) on a vector. An implementation that
//! builds nodes turns a function into part of a kernel; [`Eval32`] and [`Eval64`] evaluate it on
//! scalars and serve as the oracle.
//!
//! **Invariants.**
//! 1. Every float operation is rounded once, in IEEE order, to nearest even: an implementation
//!    must not contract, reassociate or flush subnormals. Given that, bits are equal everywhere,
//!    except the payload and sign of a NaN.
//! 2. There are no branches: both sides of a [`Arith::select`] are computed, and nothing traps or
//!    is undefined whatever the input.
//! 3. NaN in gives NaN out. Clamps are `select(hi < x, hi, x)`, which passes NaN on and is one
//!    `minps`; IEEE `min`/`max` would be seven instructions on x64.
//! 4. No operation rests on what AVX2 lacks: integers only enter and leave floats by bit casts and
//!    the addition of a large constant, shifts are by constants, and never arithmetic.
//!
//! **Accuracy and cost.** Bounds on the error in units in the last place of the exact result, and the
//! number of primitive operations, constants and bit casts not counted. `f32` was compared with `f64`
//! on every value of the interval in which the function changes most and on every 97th bit pattern
//! elsewhere, `f64` with double-double on 10 million inputs a function, pairs for two arguments; `lgamma` in f64 with 6400
//! values computed with 260 bits or more. `acosh` and `pow`, whose worst cases are rare, had 100 million, `gelu` 40 million. A test asserts
//! the bounds on samples, and that the references agree with values of 2000 bits to 2^-68; `examples/elementary_ulp.rs`
//! repeats the whole. What it reached is in `ACCURACY.md`.
//!
//! | function | f32 ulp | operations | f64 ulp | operations |
//! |---|---|---|---|---|
//! | `exp` | 1.00 | 29 | 0.97 | 39 |
//! | `exp2` | 1.06 | 27 | 1.06 | 37 |
//! | `expm1` | 1.36 | 38 | 1.32 | 48 |
//! | `log` | 0.84 | 35 | 0.82 | 43 |
//! | `log2` | 0.87 | 44 | 0.82 | 52 |
//! | `log10` | 0.74 | 47 | 0.74 | 55 |
//! | `log1p` | 0.87 | 41 | 0.84 | 49 |
//! | `sin` | 0.93 | 147 | 0.90 | 208 |
//! | `cos` | 0.93 | 146 | 0.90 | 207 |
//! | `tanh` | 1.30 | 41 | 1.29 | 57 |
//! | `sigmoid` | 2.41 | 33 | 2.35 | 43 |
//! | `erf` | 1.25 | 59 | 1.40 | 88 |
//! | `tan` | 2.45 | 148 | 2.35 | 209 |
//! | `asin` | 1.12 | 36 | 1.12 | 50 |
//! | `acos` | 1.10 | 41 | 1.10 | 55 |
//! | `atan` | 1.95 | 31 | 1.95 | 45 |
//! | `sinh` | 1.35 | 45 | 1.45 | 57 |
//! | `cosh` | 1.80 | 41 | 1.80 | 53 |
//! | `asinh` | 1.80 | 54 | 1.75 | 62 |
//! | `acosh` | 2.20 | 53 | 2.30 | 61 |
//! | `atanh` | 2.05 | 48 | 1.95 | 56 |
//! | `cbrt` | 0.80 | 49 | 0.72 | 55 |
//! | `erfc` | 5.60 | 70 | 6.20 | 108 |
//! | `gelu` | 5.20 | 76 | 6.20 | 114 |
//! | `silu` | 3.30 | 41 | 3.20 | 51 |
//! | `softplus` | 1.70 | 75 | 1.70 | 93 |
//! | `log_sigmoid` | 1.70 | 77 | 1.70 | 95 |
//! | `lgamma` | 5.20 | 200 | 4.00 | 260 |
//! | `pow` | 1.20 | 141 | 1.50 | 159 |
//! | `atan2` | 2.10 | 65 | 2.10 | 79 |
//! | `hypot` | 1.22 | 21 | 1.25 | 21 |
//! | `logaddexp` | 3.00 | 86 | 3.00 | 104 |
//!
//! `logaddexp` cancels where its result is near 0, and so does `lgamma` of negative numbers; their bounds are in ulps of
//! the greatest term there. `pow` is exact where the result is a float.
//!
//! gcc 12 vectorises a loop over any of them. With AVX2, on values in cache, `exp` took 0.7 ns an element
//! in `f32` and 2.2 ns in `f64`, `log` 0.7 and 2.3 ns, `tanh` 1.0 and 3.1 ns, `sin` 3.5 and 12 ns.
//!
//! The polynomials are minimax fits of our own; each module states interval, degree and error, and
//! `tools/fit_elementary.py` derives them.

mod arc;
mod erf;
mod erfc;
mod eval;
mod exp;
mod function;
mod hyperbolic;
mod lgamma;
mod log;
mod pow;
mod roots;
mod soft;
mod tanh;
mod trig;

pub use self::arc::{acos, asin, atan, atan2};
pub use self::erf::erf;
pub use self::erfc::{erfc, gelu};
pub use self::eval::{Eval32, Eval64, eval_f32, eval_f64, eval2_f32, eval2_f64};
pub use self::exp::{exp, exp2, expm1, sigmoid};
pub use self::function::{Elementary, Elementary2};
pub use self::hyperbolic::{acosh, asinh, atanh, cosh, sinh};
pub use self::lgamma::lgamma;
pub use self::log::{log, log1p, log2, log10};
pub use self::pow::pow;
pub use self::roots::{cbrt, hypot};
pub use self::soft::{log_sigmoid, logaddexp, silu, softplus};
pub use self::tanh::tanh;
pub use self::trig::{cos, sin, tan};

/// The float type that an [`Arith`] works in; its integers have the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// `f32` and 32-bit integers.
    F32,
    /// `f64` and 64-bit integers.
    F64,
}

impl Width {
    /// Number of bits of a float or integer.
    pub const fn bits(self) -> u32 {
        match self {
            Width::F32 => 32,
            Width::F64 => 64,
        }
    }

    /// Number of explicit significand bits, which is where the exponent field starts.
    pub const fn mantissa_bits(self) -> u32 {
        match self {
            Width::F32 => 23,
            Width::F64 => 52,
        }
    }

    /// What the exponent field of 1.0 holds.
    pub const fn bias(self) -> i64 {
        match self {
            Width::F32 => 127,
            Width::F64 => 1023,
        }
    }

    /// The word in which only the sign bit is set, as a sign-extended integer.
    pub const fn sign_bit(self) -> i64 {
        match self {
            Width::F32 => i32::MIN as i64,
            Width::F64 => i64::MIN,
        }
    }
}

/// The primitive operations that elementary functions are made of.
///
/// The three associated types keep floats, integers and truth values apart; an implementation that
/// builds expressions may use one id type for all of them. Float operations are IEEE, rounded to
/// nearest even one by one; integer operations wrap.
pub trait Arith {
    /// A float of the working width.
    type Float: Copy;
    /// An integer of the same width.
    type Int: Copy;
    /// The result of a comparison.
    type Truth: Copy;

    /// The working width, which selects constants and degrees.
    fn width(&self) -> Width;

    /// A float constant. `x` must be representable in the working width.
    fn float(&mut self, x: f64) -> Self::Float;
    /// An integer constant: the low bits of `x`.
    fn int(&mut self, x: i64) -> Self::Int;

    /// `x + y`.
    fn add(&mut self, x: Self::Float, y: Self::Float) -> Self::Float;
    /// `x - y`.
    fn sub(&mut self, x: Self::Float, y: Self::Float) -> Self::Float;
    /// `x * y`.
    fn mul(&mut self, x: Self::Float, y: Self::Float) -> Self::Float;
    /// `x / y`.
    fn div(&mut self, x: Self::Float, y: Self::Float) -> Self::Float;
    /// `x` with its sign bit flipped.
    fn neg(&mut self, x: Self::Float) -> Self::Float;
    /// `x` with its sign bit cleared.
    fn abs(&mut self, x: Self::Float) -> Self::Float;

    /// The square root, correctly rounded.
    fn sqrt(&mut self, x: Self::Float) -> Self::Float;

    /// `x + y`, wrapping.
    fn iadd(&mut self, x: Self::Int, y: Self::Int) -> Self::Int;
    /// `x - y`, wrapping.
    fn isub(&mut self, x: Self::Int, y: Self::Int) -> Self::Int;
    /// Bitwise and.
    fn iand(&mut self, x: Self::Int, y: Self::Int) -> Self::Int;
    /// Bitwise or.
    fn ior(&mut self, x: Self::Int, y: Self::Int) -> Self::Int;
    /// `x << n`, for `n` less than the width.
    fn ishl(&mut self, x: Self::Int, n: u32) -> Self::Int;
    /// `x >> n` with zeros shifted in, for `n` less than the width.
    fn ushr(&mut self, x: Self::Int, n: u32) -> Self::Int;

    /// The bits of `x`.
    fn float_to_bits(&mut self, x: Self::Float) -> Self::Int;
    /// The float whose bits are `x`.
    fn bits_to_float(&mut self, x: Self::Int) -> Self::Float;

    /// `x < y`; false if either is NaN.
    fn lt(&mut self, x: Self::Float, y: Self::Float) -> Self::Truth;
    /// `x == y`; false if either is NaN.
    fn eq(&mut self, x: Self::Float, y: Self::Float) -> Self::Truth;
    /// `if c { x } else { y }`, both computed.
    fn select(&mut self, c: Self::Truth, x: Self::Float, y: Self::Float) -> Self::Float;
}

/// The constant for the working width.
fn constant<A: Arith>(a: &mut A, single: f32, double: f64) -> A::Float {
    let x = match a.width() {
        Width::F32 => f64::from(single),
        Width::F64 => double,
    };
    a.float(x)
}

/// The integer constant for the working width.
fn word<A: Arith>(a: &mut A, single: u32, double: u64) -> A::Int {
    let x = match a.width() {
        Width::F32 => i64::from(single.cast_signed()),
        Width::F64 => double.cast_signed(),
    };
    a.int(x)
}

/// `x * y + z`, rounded twice.
fn mul_add<A: Arith>(a: &mut A, x: A::Float, y: A::Float, z: A::Float) -> A::Float {
    let xy = a.mul(x, y);
    a.add(xy, z)
}

/// The polynomial with the coefficients of the working width, lowest power first.
fn poly<A: Arith>(a: &mut A, x: A::Float, single: &[f32], double: &[f64]) -> A::Float {
    match a.width() {
        Width::F32 => horner(a, x, single.iter().map(|&c| f64::from(c))),
        Width::F64 => horner(a, x, double.iter().copied()),
    }
}

/// Horner's rule: the fewest operations; neighbouring elements hide its latency.
fn horner<A, C>(a: &mut A, x: A::Float, coefficients: C) -> A::Float
where
    A: Arith,
    C: IntoIterator<Item = f64, IntoIter: DoubleEndedIterator>,
{
    let mut highest_first = coefficients.into_iter().rev();
    let highest = highest_first.next().expect("every fit has a coefficient");
    let mut sum = a.float(highest);
    for c in highest_first {
        let c = a.float(c);
        sum = mul_add(a, sum, x, c);
    }
    sum
}

/// `x` limited to `lo..=hi`; NaN stays NaN.
fn clamp<A: Arith>(a: &mut A, x: A::Float, lo: A::Float, hi: A::Float) -> A::Float {
    let above = a.lt(hi, x);
    let x = a.select(above, hi, x);
    let below = a.lt(x, lo);
    a.select(below, lo, x)
}

/// `y` with its sign bit set wherever that of `x` is: the last step of an odd function, and of one
/// that rounds to `x` near zero, so that -0 gives -0.
fn or_sign_of<A: Arith>(a: &mut A, y: A::Float, x: A::Float) -> A::Float {
    let mask = a.int(a.width().sign_bit());
    let x = a.float_to_bits(x);
    let sign = a.iand(x, mask);
    let y = a.float_to_bits(y);
    let y = a.ior(y, sign);
    a.bits_to_float(y)
}

/// `x` cut to half a significand, towards zero: the square is exact, and so is what was cut off.
fn top<A: Arith>(a: &mut A, x: A::Float) -> A::Float {
    let mask = a.int(match a.width() {
        Width::F32 => -1 << 12,
        Width::F64 => -1 << 27,
    });
    let bits = a.float_to_bits(x);
    let bits = a.iand(bits, mask);
    a.bits_to_float(bits)
}
