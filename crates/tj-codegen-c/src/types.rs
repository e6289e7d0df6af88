//! Names of types and literals.
//!
//! The typedefs carry the names of our element types, so that the text reads like the kernel it came from. `bool` is
//! a byte and the half formats are their bits: no compiler is asked to know them.

use tj_tensor::{DType, Scalar};

/// The C type of a value, or `None` where there is none.
pub(crate) fn ctype(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "u8",
        DType::C64 | DType::C128 => return None,
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
        | DType::F64 => dtype.name(),
    })
}

/// The unsigned type of the same width.
pub(crate) fn unsigned(dtype: DType) -> &'static str {
    match dtype.size() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    }
}

/// Whether the C value is the bits of a number rather than the number.
pub(crate) fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// A literal with the value's bits. Integers rely on conversion to the type of the place where they stand, so
/// that `v3 + 1` stays `v3 + 1`; see `scalar::wide` for the one place where that is not enough.
pub(crate) fn literal(scalar: Scalar) -> Option<String> {
    Some(match scalar {
        Scalar::Bool(x) => u8::from(x).to_string(),
        Scalar::I8(x) => signed(x.into()),
        Scalar::I16(x) => signed(x.into()),
        Scalar::I32(x) => signed(x.into()),
        Scalar::I64(x) => signed(x),
        Scalar::U8(x) => x.to_string(),
        Scalar::U16(x) => x.to_string(),
        Scalar::U32(x) => format!("{x}u"),
        Scalar::U64(x) => format!("{x}u"),
        Scalar::F16(x) => format!("{:#06x} /* {x:?} */", x.to_bits()),
        Scalar::BF16(x) => format!("{:#06x} /* {x:?} */", x.to_bits()),
        Scalar::F32(x) if x.is_nan() => format!("tj_bits_u32_f32({:#x}u)", x.to_bits()),
        Scalar::F64(x) if x.is_nan() => format!("tj_bits_u64_f64({:#x}u)", x.to_bits()),
        Scalar::F32(x) if x.is_infinite() => parenthesised("__builtin_inff()", x < 0.0),
        Scalar::F64(x) if x.is_infinite() => parenthesised("__builtin_inf()", x < 0.0),
        Scalar::F32(x) => parenthesised(&format!("{:?}f", x.abs()), x.is_sign_negative()),
        Scalar::F64(x) => parenthesised(&format!("{:?}", x.abs()), x.is_sign_negative()),
        Scalar::C64(_) | Scalar::C128(_) => return None,
    })
}

fn parenthesised(magnitude: &str, negative: bool) -> String {
    if negative { format!("(-{magnitude})") } else { magnitude.to_owned() }
}

/// The least value of a signed type is no literal in C: its magnitude is out of range before the sign is applied.
fn signed(x: i64) -> String {
    match x {
        i64::MIN => "(-9223372036854775807 - 1)".to_owned(),
        _ if x == i64::from(i32::MIN) => "(-2147483647 - 1)".to_owned(),
        _ if x < 0 => format!("({x})"),
        _ => x.to_string(),
    }
}
