//! The text of a scalar, and back: `7i64`, `2.5f32`, `true`. Every bit survives.

use std::fmt;
use std::str::FromStr;

use super::Scalar;
use crate::{DType, TensorError};

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

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Complex, bf16, f16};

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

    proptest! {
        #[test]
        fn parse_never_panics(text: String) {
            let _ = text.parse::<Scalar>();
        }
    }
}
