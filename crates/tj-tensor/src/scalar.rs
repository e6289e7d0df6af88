//! One typed value, exact to the bit.
//!
//! Scalars are interned by expressions, so equality and hashing are by type and bits: NaN equals itself, -0 differs
//! from 0. For the same reason the text form carries the type and gives back every bit, NaN payloads included.

use std::hash::{Hash, Hasher};

use half::{bf16, f16};
use num_complex::Complex;

use crate::{DType, Element, with_dtype};

mod text;

/// A value of any [`DType`].
///
/// ```
/// use tj_tensor::{DType, Scalar};
/// let x = Scalar::from(2.5f32);
/// assert_eq!(x.dtype(), DType::F32);
/// assert_eq!(x.to_string(), "2.5f32");
/// assert_eq!("2.5f32".parse::<Scalar>().unwrap(), x);
/// assert_eq!(x.cast(DType::I64), Scalar::I64(2));
/// ```
#[derive(Clone, Copy)]
pub enum Scalar {
    /// A `bool`.
    Bool(bool),
    /// An `i8`.
    I8(i8),
    /// An `i16`.
    I16(i16),
    /// An `i32`.
    I32(i32),
    /// An `i64`.
    I64(i64),
    /// A `u8`.
    U8(u8),
    /// A `u16`.
    U16(u16),
    /// A `u32`.
    U32(u32),
    /// A `u64`.
    U64(u64),
    /// An `f16`.
    F16(f16),
    /// A `bf16`.
    BF16(bf16),
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
    /// A complex number of two `f32`.
    C64(Complex<f32>),
    /// A complex number of two `f64`.
    C128(Complex<f64>),
}

/// Runs an expression with the value bound to a name, whatever its type.
macro_rules! with_value {
    ($scalar:expr, $x:ident => $body:expr) => {
        match $scalar {
            Scalar::Bool($x) => $body,
            Scalar::I8($x) => $body,
            Scalar::I16($x) => $body,
            Scalar::I32($x) => $body,
            Scalar::I64($x) => $body,
            Scalar::U8($x) => $body,
            Scalar::U16($x) => $body,
            Scalar::U32($x) => $body,
            Scalar::U64($x) => $body,
            Scalar::F16($x) => $body,
            Scalar::BF16($x) => $body,
            Scalar::F32($x) => $body,
            Scalar::F64($x) => $body,
            Scalar::C64($x) => $body,
            Scalar::C128($x) => $body,
        }
    };
}

impl Scalar {
    /// The value's type.
    pub fn dtype(self) -> DType {
        fn of<T: Element>(_: T) -> DType {
            T::DTYPE
        }
        with_value!(self, x => of(x))
    }

    /// The value in another type. Total: see [`Element::cast_to`].
    pub fn cast(self, dtype: DType) -> Scalar {
        if dtype == self.dtype() {
            return self;
        }
        with_value!(self, x => with_dtype!(dtype, U => x.cast_to::<U>().into_scalar()))
    }

    /// The value as f64: rounded for wide integers, the real part for complex numbers.
    pub fn to_f64(self) -> f64 {
        with_value!(self, x => x.cast_to::<f64>())
    }

    /// The value as i64: wrapped for large u64, saturated for floats.
    pub fn to_i64(self) -> i64 {
        with_value!(self, x => x.cast_to::<i64>())
    }

    /// The bits of the value as stored in little-endian order, zero-extended.
    pub fn bits(self) -> u128 {
        match self {
            Scalar::Bool(x) => x as u128,
            Scalar::I8(x) => x as u8 as u128,
            Scalar::I16(x) => x as u16 as u128,
            Scalar::I32(x) => x as u32 as u128,
            Scalar::I64(x) => x as u64 as u128,
            Scalar::U8(x) => x as u128,
            Scalar::U16(x) => x as u128,
            Scalar::U32(x) => x as u128,
            Scalar::U64(x) => x as u128,
            Scalar::F16(x) => x.to_bits() as u128,
            Scalar::BF16(x) => x.to_bits() as u128,
            Scalar::F32(x) => x.to_bits() as u128,
            Scalar::F64(x) => x.to_bits() as u128,
            Scalar::C64(x) => x.re.to_bits() as u128 | (x.im.to_bits() as u128) << 32,
            Scalar::C128(x) => x.re.to_bits() as u128 | (x.im.to_bits() as u128) << 64,
        }
    }

    /// The value with the given bits; bits beyond the type's width are ignored, and any nonzero byte is true.
    pub fn from_bits(dtype: DType, bits: u128) -> Scalar {
        match dtype {
            DType::Bool => Scalar::Bool(bits as u8 != 0),
            DType::I8 => Scalar::I8(bits as i8),
            DType::I16 => Scalar::I16(bits as i16),
            DType::I32 => Scalar::I32(bits as i32),
            DType::I64 => Scalar::I64(bits as i64),
            DType::U8 => Scalar::U8(bits as u8),
            DType::U16 => Scalar::U16(bits as u16),
            DType::U32 => Scalar::U32(bits as u32),
            DType::U64 => Scalar::U64(bits as u64),
            DType::F16 => Scalar::F16(f16::from_bits(bits as u16)),
            DType::BF16 => Scalar::BF16(bf16::from_bits(bits as u16)),
            DType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            DType::F64 => Scalar::F64(f64::from_bits(bits as u64)),
            DType::C64 => {
                Scalar::C64(Complex::new(f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)))
            }
            DType::C128 => {
                Scalar::C128(Complex::new(f64::from_bits(bits as u64), f64::from_bits((bits >> 64) as u64)))
            }
        }
    }

    /// The zero of a type (`false` for bool).
    pub fn zero(dtype: DType) -> Scalar {
        Scalar::Bool(false).cast(dtype)
    }

    /// The one of a type (`true` for bool).
    pub fn one(dtype: DType) -> Scalar {
        Scalar::Bool(true).cast(dtype)
    }

    /// The least value in the order of `minimum`: -inf for floats, `None` for complex types, which have no order.
    pub fn lowest(dtype: DType) -> Option<Scalar> {
        Scalar::extreme(dtype, f64::NEG_INFINITY)
    }

    /// The greatest value: +inf for floats, `true` for bool, `None` for complex types.
    pub fn greatest(dtype: DType) -> Option<Scalar> {
        Scalar::extreme(dtype, f64::INFINITY)
    }

    /// Casts of an infinity saturate, which is the extreme value of every type but bool.
    fn extreme(dtype: DType, infinity: f64) -> Option<Scalar> {
        match dtype {
            DType::C64 | DType::C128 => None,
            DType::Bool => Some(Scalar::Bool(infinity > 0.0)),
            DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
            | DType::F16
            | DType::BF16
            | DType::F32
            | DType::F64 => Some(Scalar::F64(infinity).cast(dtype)),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.dtype() == other.dtype() && self.bits() == other.bits()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype().hash(state);
        self.bits().hash(state);
    }
}

impl<T: Element> From<T> for Scalar {
    fn from(x: T) -> Scalar {
        x.into_scalar()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn extremes() {
        let text = |f: fn(DType) -> Option<Scalar>| -> Vec<String> {
            DType::ALL.iter().filter_map(|&d| f(d)).map(|s| s.to_string()).collect()
        };
        assert_eq!(
            text(Scalar::lowest).join(" "),
            "false -128i8 -32768i16 -2147483648i32 -9223372036854775808i64 0u8 0u16 0u32 0u64 \
             -inf_f16 -inf_bf16 -inf_f32 -inf_f64"
        );
        assert_eq!(
            text(Scalar::greatest).join(" "),
            "true 127i8 32767i16 2147483647i32 9223372036854775807i64 255u8 65535u16 4294967295u32 \
             18446744073709551615u64 inf_f16 inf_bf16 inf_f32 inf_f64"
        );
    }

    proptest! {
        #[test]
        fn bits_and_text_round_trip(dtype in prop::sample::select(&DType::ALL), bits: u128) {
            let scalar = Scalar::from_bits(dtype, bits);
            prop_assert_eq!(Scalar::from_bits(dtype, scalar.bits()), scalar);
            prop_assert_eq!(scalar.to_string().parse::<Scalar>().unwrap(), scalar);
            prop_assert_eq!(scalar.cast(dtype), scalar);
            for other in DType::ALL {
                prop_assert_eq!(scalar.cast(other).dtype(), other);
            }
        }
    }
}
