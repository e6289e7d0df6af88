//! What numbers a type holds.

use super::DType;

/// Limits of a floating-point type, or of the parts of a complex one: `finfo` of the array API.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatInfo {
    /// Bits of a number.
    pub bits: u32,
    /// Distance of 1 to the next number.
    pub eps: f64,
    /// Greatest finite number.
    pub max: f64,
    /// Least finite number.
    pub min: f64,
    /// Least positive number with full precision.
    pub smallest_normal: f64,
    /// The real type.
    pub dtype: DType,
}

/// Limits of an integer type: `iinfo` of the array API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntInfo {
    /// Bits of a number.
    pub bits: u32,
    /// Greatest number.
    pub max: u64,
    /// Least number.
    pub min: i64,
    /// The type.
    pub dtype: DType,
}

impl DType {
    /// Limits of this floating-point type; of a complex type those of its parts; of others `None`.
    ///
    /// ```
    /// use tj_tensor::DType;
    /// let info = DType::C64.finfo().unwrap();
    /// assert_eq!((info.bits, info.eps, info.dtype), (32, f64::from(f32::EPSILON), DType::F32));
    /// assert_eq!(DType::BF16.finfo().unwrap().eps, 0.0078125);
    /// assert_eq!(DType::I8.finfo(), None);
    /// ```
    pub fn finfo(self) -> Option<FloatInfo> {
        let dtype = self.real();
        let (eps, max, smallest_normal) = match dtype {
            DType::F16 => (half::f16::EPSILON.into(), half::f16::MAX.into(), half::f16::MIN_POSITIVE.into()),
            DType::BF16 => {
                (half::bf16::EPSILON.into(), half::bf16::MAX.into(), half::bf16::MIN_POSITIVE.into())
            }
            DType::F32 => (f32::EPSILON.into(), f32::MAX.into(), f32::MIN_POSITIVE.into()),
            DType::F64 => (f64::EPSILON, f64::MAX, f64::MIN_POSITIVE),
            DType::Bool
            | DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
            | DType::C64
            | DType::C128 => return None,
        };
        let bits = 8 * dtype.size() as u32;
        Some(FloatInfo { bits, eps, max, min: -max, smallest_normal, dtype })
    }

    /// Limits of this integer type; of others `None`.
    ///
    /// ```
    /// use tj_tensor::DType;
    /// let info = DType::I8.iinfo().unwrap();
    /// assert_eq!((info.min, info.max), (-128, 127));
    /// assert_eq!(DType::U64.iinfo().unwrap().max, u64::MAX);
    /// ```
    pub fn iinfo(self) -> Option<IntInfo> {
        let bits = 8 * self.size() as u32;
        let (min, max) = match (self.is_int(), self.is_signed()) {
            (false, _) => return None,
            (true, true) => (i64::MIN >> (64 - bits), (i64::MAX >> (64 - bits)).cast_unsigned()),
            (true, false) => (0, u64::MAX >> (64 - bits)),
        };
        Some(IntInfo { bits, max, min, dtype: self })
    }

    /// Whether a value of this type meets one of the other in the other: whether promotion casts it so.
    ///
    /// ```
    /// use tj_tensor::DType;
    /// assert!(DType::I8.can_cast(DType::I32));
    /// assert!(!DType::I32.can_cast(DType::I8));
    /// assert!(!DType::I8.can_cast(DType::U8));
    /// ```
    pub const fn can_cast(self, to: DType) -> bool {
        self.promote(to) as u8 == to as u8
    }
}
