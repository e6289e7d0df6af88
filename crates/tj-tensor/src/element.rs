//! The Rust types that may be elements, and the one conversion between any two of them.
//!
//! A cast goes through [`Wide`], the widest value of the source's family, so that 15 types need 30 small functions
//! and not 225. Every cast is total: integers wrap, floats saturate to integers with NaN giving 0, everything
//! nonzero (NaN too) is true, a complex number loses its imaginary part on the way to a real. Casts *to* a float
//! round once, to nearest even: where the target is narrower than f32 the intermediate is rounded *to odd*, which
//! makes the second rounding exact in effect (24 bits of f32 are at least 11 + 2). The conversion of the `half` crate
//! is not used for f64 because it rounds twice on hardware with F16C.

use bytemuck::{CheckedBitPattern, NoUninit, Pod};
use half::{bf16, f16};
use num_complex::Complex;

use crate::{DType, Scalar};

/// A Rust type that can be a tensor's element. Sealed: one type for each [`DType`].
pub trait Element:
    private::Raw + NoUninit + CheckedBitPattern + std::fmt::Debug + Default + PartialEq + Send + Sync
{
    /// The type's name in the dynamic world.
    const DTYPE: DType;

    /// The value as a [`Scalar`] of [`Self::DTYPE`].
    fn into_scalar(self) -> Scalar;

    /// The value of a scalar that has exactly this type.
    fn from_scalar(scalar: Scalar) -> Option<Self>;

    /// Converts to any other element type; total, as described in this module.
    ///
    /// ```
    /// use tj_tensor::Element;
    /// assert_eq!(300i32.cast_to::<u8>(), 44);
    /// assert_eq!(f32::NAN.cast_to::<i64>(), 0);
    /// assert_eq!(1e300f64.cast_to::<i8>(), 127);
    /// ```
    #[inline]
    fn cast_to<U: Element>(self) -> U {
        U::from_wide(self.into_wide())
    }
}

/// A value in the widest type of its family.
#[derive(Clone, Copy)]
pub enum Wide {
    /// Signed integers.
    Signed(i64),
    /// Unsigned integers and bool.
    Unsigned(u64),
    /// Floats.
    Float(f64),
    /// Complex numbers: real, imaginary.
    Complex(f64, f64),
}

pub(crate) mod private {
    use super::{Pod, Wide};

    /// What seals [`super::Element`], and the parts of it that are ours alone.
    pub trait Raw: Copy + 'static {
        /// The stored form, for which every bit pattern is valid; the type itself except for bool.
        type Stored: Pod + Send + Sync;
        /// Reads a stored value.
        fn load(stored: Self::Stored) -> Self;
        /// The value to store.
        fn store(self) -> Self::Stored;
        /// Widens.
        fn into_wide(self) -> Wide;
        /// Narrows.
        fn from_wide(wide: Wide) -> Self;
        /// Sum: integers wrap, bool is or.
        fn plus(self, other: Self) -> Self;
    }
}

/// Implements both traits. `$wide` turns the value into a [`Wide`]; the four arms after it narrow each family.
macro_rules! element {
    (
        $t:ty, $dtype:ident, $stored:ty, $load:expr, $store:expr, $plus:expr,
        $wide:expr, $i:expr, $u:expr, $f:expr, $c:expr
    ) => {
        impl private::Raw for $t {
            type Stored = $stored;

            #[inline]
            fn load(stored: $stored) -> Self {
                let load: fn($stored) -> Self = $load;
                load(stored)
            }

            #[inline]
            fn store(self) -> $stored {
                let store: fn(Self) -> $stored = $store;
                store(self)
            }

            #[inline]
            fn plus(self, other: $t) -> $t {
                let plus: fn($t, $t) -> $t = $plus;
                plus(self, other)
            }

            #[inline]
            fn into_wide(self) -> Wide {
                let wide: fn(Self) -> Wide = $wide;
                wide(self)
            }

            #[inline]
            fn from_wide(wide: Wide) -> Self {
                let (i, u): (fn(i64) -> Self, fn(u64) -> Self) = ($i, $u);
                let (f, c): (fn(f64) -> Self, fn(f64, f64) -> Self) = ($f, $c);
                match wide {
                    Wide::Signed(x) => i(x),
                    Wide::Unsigned(x) => u(x),
                    Wide::Float(x) => f(x),
                    Wide::Complex(re, im) => c(re, im),
                }
            }
        }

        impl Element for $t {
            const DTYPE: DType = DType::$dtype;

            #[inline]
            fn into_scalar(self) -> Scalar {
                Scalar::$dtype(self)
            }

            #[inline]
            fn from_scalar(scalar: Scalar) -> Option<Self> {
                if let Scalar::$dtype(x) = scalar { Some(x) } else { None }
            }
        }
    };
}

macro_rules! number {
    ($t:ident, $dtype:ident, $family:ident, $wide:ident, $plus:expr) => {
        element!(
            $t,
            $dtype,
            $t,
            |x| x,
            |x| x,
            $plus,
            |x| Wide::$family(x as $wide),
            |x| x as $t,
            |x| x as $t,
            |x| x as $t,
            |re, _| re as $t
        );
    };
}

number!(i8, I8, Signed, i64, i8::wrapping_add);
number!(i16, I16, Signed, i64, i16::wrapping_add);
number!(i32, I32, Signed, i64, i32::wrapping_add);
number!(i64, I64, Signed, i64, i64::wrapping_add);
number!(u8, U8, Unsigned, u64, u8::wrapping_add);
number!(u16, U16, Unsigned, u64, u16::wrapping_add);
number!(u32, U32, Unsigned, u64, u32::wrapping_add);
number!(u64, U64, Unsigned, u64, u64::wrapping_add);
number!(f32, F32, Float, f64, |x, y| x + y);
number!(f64, F64, Float, f64, |x, y| x + y);

element!(
    bool,
    Bool,
    u8,
    |x| x != 0,
    |x| x as u8,
    |x, y| x || y,
    |x| Wide::Unsigned(x as u64),
    |x| x != 0,
    |x| x != 0,
    |x| x != 0.0,
    |re, im| re != 0.0 || im != 0.0
);

macro_rules! half {
    ($t:ident, $dtype:ident) => {
        element!(
            $t,
            $dtype,
            $t,
            |x| x,
            |x| x,
            |x, y| $t::from_f32(x.to_f32() + y.to_f32()),
            |x| Wide::Float(x.to_f32() as f64),
            |x| {
                let magnitude = sticky(x.unsigned_abs());
                $t::from_f32(to_odd(if x < 0 { -magnitude } else { magnitude }))
            },
            |x| $t::from_f32(to_odd(sticky(x))),
            |x| $t::from_f32(to_odd(x)),
            |re, _| $t::from_f32(to_odd(re))
        );
    };
}

half!(f16, F16);
half!(bf16, BF16);

macro_rules! complex {
    ($part:ident, $dtype:ident) => {
        element!(
            Complex<$part>,
            $dtype,
            Complex<$part>,
            |x| x,
            |x| x,
            |x, y| x + y,
            |x| Wide::Complex(x.re as f64, x.im as f64),
            |x| Complex::new(x as $part, 0.0),
            |x| Complex::new(x as $part, 0.0),
            |x| Complex::new(x as $part, 0.0),
            |re, im| Complex::new(re as $part, im as $part)
        );
    };
}

complex!(f32, C64);
complex!(f64, C128);

/// Rounds to odd: toward zero, then sets the last bit if anything was lost.
#[inline]
fn to_odd(x: f64) -> f32 {
    let y = x as f32;
    let back = y as f64;
    if back == x || x.is_nan() {
        return y;
    }
    let bits = y.to_bits();
    f32::from_bits(if back.abs() > x.abs() { bits - 1 } else { bits } | 1)
}

/// The f64 that holds the leading 53 bits of `x` exactly, with the last of them set if any further bit was.
#[inline]
fn sticky(x: u64) -> f64 {
    if x < 1 << 53 { x as f64 } else { ((x & !0x7ff) | if x & 0x7ff != 0 { 0x800 } else { 0 }) as f64 }
}

/// Runs an expression with a type alias bound to the Rust type of a [`DType`].
///
/// ```
/// use tj_tensor::{DType, with_dtype};
/// let size = with_dtype!(DType::F32, T => std::mem::size_of::<T>());
/// assert_eq!(size, 4);
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Bool => $crate::with_dtype!(@ $T, bool, $body),
            $crate::DType::I8 => $crate::with_dtype!(@ $T, i8, $body),
            $crate::DType::I16 => $crate::with_dtype!(@ $T, i16, $body),
            $crate::DType::I32 => $crate::with_dtype!(@ $T, i32, $body),
            $crate::DType::I64 => $crate::with_dtype!(@ $T, i64, $body),
            $crate::DType::U8 => $crate::with_dtype!(@ $T, u8, $body),
            $crate::DType::U16 => $crate::with_dtype!(@ $T, u16, $body),
            $crate::DType::U32 => $crate::with_dtype!(@ $T, u32, $body),
            $crate::DType::U64 => $crate::with_dtype!(@ $T, u64, $body),
            $crate::DType::F16 => $crate::with_dtype!(@ $T, $crate::f16, $body),
            $crate::DType::BF16 => $crate::with_dtype!(@ $T, $crate::bf16, $body),
            $crate::DType::F32 => $crate::with_dtype!(@ $T, f32, $body),
            $crate::DType::F64 => $crate::with_dtype!(@ $T, f64, $body),
            $crate::DType::C64 => $crate::with_dtype!(@ $T, $crate::Complex<f32>, $body),
            $crate::DType::C128 => $crate::with_dtype!(@ $T, $crate::Complex<f64>, $body),
        }
    };
    (@ $T:ident, $t:ty, $body:expr) => {{
        type $T = $t;
        $body
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_floats_saturate() {
        assert_eq!((-1i64).cast_to::<u8>(), 255);
        assert_eq!(u64::MAX.cast_to::<i64>(), -1);
        assert_eq!(i64::MIN.cast_to::<i32>(), 0);
        assert_eq!(f64::NEG_INFINITY.cast_to::<i16>(), i16::MIN);
        assert_eq!((-0.5f32).cast_to::<u64>(), 0);
        assert_eq!(f16::INFINITY.cast_to::<u64>(), u64::MAX);
        assert_eq!(f32::NAN.cast_to::<i32>(), 0);
        assert!(f32::NAN.cast_to::<bool>());
        assert!(!(-0.0f64).cast_to::<bool>());
        assert!(Complex::new(0.0f32, 1.0).cast_to::<bool>());
        assert_eq!(Complex::new(2.5f64, 1.0).cast_to::<i8>(), 2);
        assert_eq!(true.cast_to::<Complex<f32>>(), Complex::new(1.0, 0.0));
    }

    #[test]
    fn integers_reach_f32_with_one_rounding() {
        // Halfway in f64 after a first rounding, not halfway in truth.
        let x = (1i64 << 60) + (1 << 36) + 1;
        assert_eq!(x.cast_to::<f32>(), x as f32);
        assert_ne!(x.cast_to::<f32>(), x as f64 as f32);
    }

    #[test]
    fn halves_round_once() {
        // Every finite f16, the midpoint to its successor, and the f64 values next to that midpoint.
        for bits in 0..0x7bffu16 {
            let (lo, hi) = (f16::from_bits(bits), f16::from_bits(bits + 1));
            let mid = (lo.to_f64() + hi.to_f64()) / 2.0;
            let even = if bits % 2 == 0 { lo } else { hi };
            assert_eq!(mid.cast_to::<f16>(), even);
            assert_eq!(mid.next_down().cast_to::<f16>(), lo);
            assert_eq!(mid.next_up().cast_to::<f16>(), hi);
            assert_eq!((-mid).next_up().cast_to::<f16>(), -lo);
        }
        for bits in 0..0x7f7fu16 {
            let (lo, hi) = (bf16::from_bits(bits), bf16::from_bits(bits + 1));
            let mid = (lo.to_f64() + hi.to_f64()) / 2.0;
            assert_eq!(mid.next_down().cast_to::<bf16>(), lo);
            assert_eq!(mid.next_up().cast_to::<bf16>(), hi);
        }
        assert_eq!(65519.999.cast_to::<f16>(), f16::MAX);
        assert_eq!(65520.cast_to::<f16>(), f16::INFINITY);
        assert_eq!(((1u64 << 63) + (1 << 55) + 1).cast_to::<bf16>().to_bits(), 0x5f01);
        assert_eq!((-(1i64 << 62) - (1 << 54) - 1).cast_to::<bf16>().to_bits(), 0xde81);
    }
}
