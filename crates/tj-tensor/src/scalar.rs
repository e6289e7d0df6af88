//! One typed value, exact to the bit.
//!
//! Scalars are interned by expressions, so equality and hashing are by type and bits: NaN equals itself, -0 differs
//! from 0. For the same reason the text form carries the type and gives back every bit, NaN payloads included.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use half::{bf16, f16};
use num_complex::Complex;

use crate::{DType, Element, TensorError, with_dtype};

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

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number, then the type: `7i64`, `2.5f32`, `-inf_f64`, `nan_f16`, `nan(7fc00001)_f32`, `(1.0-2.0j)c64`, `true`.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.dtype();
        match *self {
            Scalar::Bool(x) => write!(f, "{x}"),
            Scalar::I8(x) => write!(f, "{x}{dtype}"),
            Scalar::I16(x) => write!(f, "{x}{dtype}"),
            Scalar::I32(x) => write!(f, "{x}{dtype}"),
            Scalar::I64(x) => write!(f, "{x}{dtype}"),
            Scalar::U8(x) => write!(f, "{x}{dtype}"),
            Scalar::U16(x) => write!(f, "{x}{dtype}"),
            Scalar::U32(x) => write!(f, "{x}{dtype}"),
            Scalar::U64(x) => write!(f, "{x}{dtype}"),
            Scalar::F16(_) | Scalar::BF16(_) | Scalar::F32(_) | Scalar::F64(_) => {
                let finite = self.to_f64().is_finite();
                write!(f, "{}{}{dtype}", float_text(*self), if finite { "" } else { "_" })
            }
            Scalar::C64(x) => complex_text(f, x.re.into(), x.im.into(), dtype),
            Scalar::C128(x) => complex_text(f, x.re.into(), x.im.into(), dtype),
        }
    }
}

fn complex_text(f: &mut fmt::Formatter<'_>, re: Scalar, im: Scalar, dtype: DType) -> fmt::Result {
    let im = float_text(im);
    let plus = if im.starts_with('-') { "" } else { "+" };
    write!(f, "({}{plus}{im}j){dtype}", float_text(re))
}

/// The shortest text that gives back the bits of a real float.
fn float_text(x: Scalar) -> String {
    let value = x.to_f64();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        let magnitude = x.bits() & ((1 << (8 * x.dtype().size() - 1)) - 1);
        return match magnitude == quiet_nan(x.dtype()) {
            true => format!("{sign}nan"),
            false => format!("{sign}nan({magnitude:x})"),
        };
    }
    // The shortest text among f32 values gives back the half types too: they are f32 values.
    if x.dtype().size() <= 4 { format!("{:?}", value as f32) } else { format!("{value:?}") }
}

/// The bits of the positive quiet NaN without a payload.
fn quiet_nan(dtype: DType) -> u128 {
    if dtype == DType::F16 {
        0x7e00
    } else if dtype == DType::BF16 {
        0x7fc0
    } else if dtype == DType::F32 {
        0x7fc0_0000
    } else {
        0x7ff8_0000_0000_0000
    }
}

impl FromStr for Scalar {
    type Err = TensorError;

    fn from_str(text: &str) -> Result<Scalar, TensorError> {
        parse(text).ok_or_else(|| TensorError::UnknownScalar { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Scalar> {
    match text {
        "true" => return Some(Scalar::Bool(true)),
        "false" => return Some(Scalar::Bool(false)),
        _ => {}
    }
    // "bf16" ends in "f16", so that the longest name must win.
    let dtype = DType::ALL.into_iter().filter(|d| text.ends_with(d.name())).max_by_key(|d| d.name().len())?;
    let number = text.strip_suffix(dtype.name())?;
    let number = number.strip_suffix('_').unwrap_or(number);
    Some(match dtype {
        DType::Bool => return None,
        DType::I8 => Scalar::I8(number.parse().ok()?),
        DType::I16 => Scalar::I16(number.parse().ok()?),
        DType::I32 => Scalar::I32(number.parse().ok()?),
        DType::I64 => Scalar::I64(number.parse().ok()?),
        DType::U8 => Scalar::U8(number.parse().ok()?),
        DType::U16 => Scalar::U16(number.parse().ok()?),
        DType::U32 => Scalar::U32(number.parse().ok()?),
        DType::U64 => Scalar::U64(number.parse().ok()?),
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => parse_float(number, dtype)?,
        DType::C64 | DType::C128 => {
            let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
            let inner = number.strip_prefix('(')?.strip_suffix("j)")?;
            // The sign that joins the parts is neither the first character nor an exponent's.
            let bytes = inner.as_bytes();
            let split =
                (1..bytes.len()).rev().find(|&i| b"+-".contains(&bytes[i]) && bytes[i - 1] != b'e')?;
            let (re, im) = (parse_float(&inner[..split], part)?, parse_float(&inner[split..], part)?);
            Scalar::from_bits(dtype, re.bits() | im.bits() << (8 * part.size()))
        }
    })
}

fn parse_float(number: &str, dtype: DType) -> Option<Scalar> {
    let (negative, magnitude) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let sign = (negative as u128) << (8 * dtype.size() - 1);
    if magnitude == "nan" {
        return Some(Scalar::from_bits(dtype, sign | quiet_nan(dtype)));
    }
    if let Some(hex) = magnitude.strip_prefix("nan(").and_then(|m| m.strip_suffix(')')) {
        let scalar = Scalar::from_bits(dtype, sign | u128::from_str_radix(hex, 16).ok()?);
        return scalar.to_f64().is_nan().then_some(scalar);
    }
    if magnitude.starts_with(['+', '-']) {
        return None;
    }
    // f32 text is parsed as f32: through f64 it would round twice.
    let value = if dtype == DType::F32 {
        Scalar::F32(magnitude.parse().ok()?)
    } else {
        Scalar::F64(magnitude.parse().ok()?).cast(dtype)
    };
    Some(Scalar::from_bits(dtype, value.bits() | sign))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_forms() {
        for (scalar, text) in [
            (Scalar::from(true), "true"),
            (Scalar::from(7i64), "7i64"),
            (Scalar::from(-7i8), "-7i8"),
            (Scalar::from(2.5f32), "2.5f32"),
            (Scalar::from(1.0f64), "1.0f64"),
            (Scalar::from(-0.0f64), "-0.0f64"),
            (Scalar::from(f16::from_f32(0.1)), "0.099975586f16"),
            (Scalar::from(bf16::from_f32(1.5)), "1.5bf16"),
            (Scalar::from(f64::INFINITY), "inf_f64"),
            (Scalar::from(-f32::INFINITY), "-inf_f32"),
            (Scalar::from_bits(DType::F32, 0x7fc0_0000), "nan_f32"),
            (Scalar::from_bits(DType::F32, 0xffc0_0001), "-nan(7fc00001)_f32"),
            (Scalar::from(Complex::new(1.5f32, -2.0)), "(1.5-2.0j)c64"),
            (Scalar::from(Complex::new(-1e-300f64, f64::INFINITY)), "(-1e-300+infj)c128"),
        ] {
            assert_eq!(scalar.to_string(), text);
            assert_eq!(text.parse::<Scalar>().unwrap(), scalar);
        }
        for text in
            ["", "1", "i8", "256u8", "1.5i8", "truebool", "nan(0)f32", "--1f32", "(1c64", "1.0+2.0jc64"]
        {
            assert!(text.parse::<Scalar>().is_err(), "{text}");
        }
    }

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

        #[test]
        fn parse_never_panics(text: String) {
            let _ = text.parse::<Scalar>();
        }
    }
}
