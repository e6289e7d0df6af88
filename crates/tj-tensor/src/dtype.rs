//! Element types and their promotion.
//!
//! Promotion follows the Python array API (2024.12). Where the standard leaves a mix undefined we choose: a float
//! or complex type wins over an integer with its own width (as JAX and torch do), bool gives way to everything, the
//! two half formats meet in f32, and u64 meets a signed integer in f64 (as NumPy does).

mod limits;

use std::fmt;
use std::str::FromStr;

use crate::TensorError;

pub use limits::{FloatInfo, IntInfo};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE half precision.
    F16,
    /// The upper half of an f32.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Two f32: real, imaginary.
    C64,
    /// Two f64: real, imaginary.
    C128,
}

/// The family a type belongs to, weakest in promotion first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    Complex,
}

impl DType {
    /// Every type, in declaration order.
    pub const ALL: [DType; 15] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// Bytes an element occupies.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// The alignment, in bytes, that an element needs in memory.
    pub const fn align(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 | DType::C64 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C128 => 8,
        }
    }

    /// The name used in every text format: `bool`, `i64`, `bf16`, `c128`, ...
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// Whether this is a real floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// Whether this is an integer type, signed or unsigned; bool is not.
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// Whether the type holds negative numbers (complex types count as signed).
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Float | Kind::Complex)
    }

    /// Whether this is `c64` or `c128`.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// The type of the parts of a complex type; every other type is its own.
    ///
    /// ```
    /// use tj_tensor::DType;
    /// assert_eq!((DType::C64.real(), DType::I8.real()), (DType::F32, DType::I8));
    /// ```
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            DType::Bool
            | DType::I8
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
            | DType::F64 => self,
        }
    }

    /// The complex type that this type is computed with where complex numbers are needed: integers and `bool` go to c128,
    /// as they go to f64 where floats are.
    ///
    /// ```
    /// use tj_tensor::DType;
    /// assert_eq!((DType::F32.complex(), DType::I8.complex()), (DType::C64, DType::C128));
    /// ```
    pub const fn complex(self) -> DType {
        match self {
            DType::F16 | DType::BF16 | DType::F32 | DType::C64 => DType::C64,
            DType::Bool
            | DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
            | DType::F64
            | DType::C128 => DType::C128,
        }
    }

    /// Whether this is `bool`.
    pub const fn is_bool(self) -> bool {
        matches!(self, DType::Bool)
    }

    /// The type in which values of two types meet. Commutative.
    ///
    /// ```
    /// use tj_tensor::DType;
    /// assert_eq!(DType::I8.promote(DType::U8), DType::I16);
    /// assert_eq!(DType::I64.promote(DType::F32), DType::F32);
    /// assert_eq!(DType::F16.promote(DType::BF16), DType::F32);
    /// ```
    pub const fn promote(self, other: DType) -> DType {
        let (a, b) = if self.kind() as u8 <= other.kind() as u8 { (self, other) } else { (other, self) };
        let wide = if a.size() > b.size() { a } else { b };
        match (a.kind(), b.kind()) {
            (Kind::Bool, _) => b,
            (Kind::Signed, Kind::Signed) | (Kind::Unsigned, Kind::Unsigned) => wide,
            (Kind::Signed, Kind::Unsigned) if a.size() > b.size() => a,
            (Kind::Signed, Kind::Unsigned) => match b.size() {
                1 => DType::I16,
                2 => DType::I32,
                4 => DType::I64,
                _ => DType::F64,
            },
            (Kind::Signed | Kind::Unsigned, _) => b,
            (Kind::Float, Kind::Float) => match (a, b) {
                (DType::F16, DType::BF16) | (DType::BF16, DType::F16) => DType::F32,
                _ => wide,
            },
            (Kind::Float, _) if matches!(a, DType::F64) => DType::C128,
            (Kind::Float, _) => b,
            (Kind::Complex, _) => wide,
        }
    }

    const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Signed,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Unsigned,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Kind::Float,
            DType::C64 | DType::C128 => Kind::Complex,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = TensorError;

    fn from_str(name: &str) -> Result<DType, TensorError> {
        DType::ALL
            .into_iter()
            .find(|d| d.name() == name)
            .ok_or_else(|| TensorError::UnknownDType { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_table() {
        // Rows and columns in declaration order; the table is the array API's with our choices for the mixes.
        let table = "
            bool i8   i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64  c64  c128
            i8   i8   i16  i32  i64  i16  i32  i64  f64  f16  bf16 f32  f64  c64  c128
            i16  i16  i16  i32  i64  i16  i32  i64  f64  f16  bf16 f32  f64  c64  c128
            i32  i32  i32  i32  i64  i32  i32  i64  f64  f16  bf16 f32  f64  c64  c128
            i64  i64  i64  i64  i64  i64  i64  i64  f64  f16  bf16 f32  f64  c64  c128
            u8   i16  i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64  c64  c128
            u16  i32  i32  i32  i64  u16  u16  u32  u64  f16  bf16 f32  f64  c64  c128
            u32  i64  i64  i64  i64  u32  u32  u32  u64  f16  bf16 f32  f64  c64  c128
            u64  f64  f64  f64  f64  u64  u64  u64  u64  f16  bf16 f32  f64  c64  c128
            f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f32  f32  f64  c64  c128
            bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32  bf16 f32  f64  c64  c128
            f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f64  c64  c128
            f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  c128 c128
            c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c128 c64  c128
            c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128";
        let expected: Vec<DType> = table.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let found: Vec<DType> =
            DType::ALL.iter().flat_map(|&a| DType::ALL.iter().map(move |&b| a.promote(b))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_parse_back() {
        for d in DType::ALL {
            assert_eq!(d.to_string().parse::<DType>().unwrap(), d);
            assert!(d.size().is_multiple_of(d.align()));
        }
        let error = "float".parse::<DType>().unwrap_err();
        assert!(error.to_string().contains("\"float\""), "{error}");
    }
}
