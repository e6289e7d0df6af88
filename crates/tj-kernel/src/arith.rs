//! What every operation means on bits: the one table that the interpreter runs and that back ends may fold with.
//!
//! A value is held as its bits, zero-extended to `u64`, as run-time numbers are in the ABI. Each lookup gives a
//! function on such bits, or `None` where the operation is not defined on the type; the verifier asks the same
//! table, so that what passes it can be run. The rules:
//!
//! | operations | types |
//! |---|---|
//! | `Neg Abs Add Sub Mul Max Min` | integers, f32, f64 |
//! | `Sqrt Floor Div Rem Fma` | f32, f64 |
//! | `FloorDiv Mod Shl Shr TrailingZeros` | integers |
//! | `Sar` | signed integers |
//! | `Not And Or Xor` | bool, integers |
//! | `Compare` | bool, integers, f32, f64 |
//! | `Cast` | any two types but complex ones |
//! | `Bitcast` | equal widths, not complex, not to bool |
//!
//! f16 and bf16 are storage types: they are loaded, moved, stored and cast, and computed with in f32.
//! Complex types do not occur in kernels.

use tj_tensor::{DType, Element, bf16, f16};

use crate::ir::{BinOp, CmpOp, UnOp};

/// A function of one operand, on bits.
pub type Unary = fn(u64) -> u64;
/// A function of two operands, on bits.
pub type Binary = fn(u64, u64) -> u64;
/// A function of three operands, on bits.
pub type Ternary = fn(u64, u64, u64) -> u64;

/// Whether values and buffers of this type occur in kernels.
pub fn is_kernel_type(dtype: DType) -> bool {
    !dtype.is_complex()
}

/// The function of `op` on `dtype`.
///
/// ```
/// use tj_kernel::{UnOp, arith};
/// use tj_tensor::DType;
/// let neg = arith::unary(UnOp::Neg, DType::I8).unwrap();
/// assert_eq!(neg(0x80), 0x80); // -(-128) wraps
/// assert!(arith::unary(UnOp::Sqrt, DType::I8).is_none());
/// ```
pub fn unary(op: UnOp, dtype: DType) -> Option<Unary> {
    match dtype {
        DType::Bool => matches!(op, UnOp::Not).then_some(|a| a ^ 1),
        DType::I8 => int_unary::<i8>(op),
        DType::I16 => int_unary::<i16>(op),
        DType::I32 => int_unary::<i32>(op),
        DType::I64 => int_unary::<i64>(op),
        DType::U8 => int_unary::<u8>(op),
        DType::U16 => int_unary::<u16>(op),
        DType::U32 => int_unary::<u32>(op),
        DType::U64 => int_unary::<u64>(op),
        DType::F32 => float_unary::<f32>(op),
        DType::F64 => float_unary::<f64>(op),
        DType::F16 | DType::BF16 | DType::C64 | DType::C128 => None,
    }
}

/// The function of `op` on two operands of `dtype`.
pub fn binary(op: BinOp, dtype: DType) -> Option<Binary> {
    match dtype {
        DType::Bool => bool_binary(op),
        DType::I8 => int_binary::<i8>(op),
        DType::I16 => int_binary::<i16>(op),
        DType::I32 => int_binary::<i32>(op),
        DType::I64 => int_binary::<i64>(op),
        DType::U8 => int_binary::<u8>(op),
        DType::U16 => int_binary::<u16>(op),
        DType::U32 => int_binary::<u32>(op),
        DType::U64 => int_binary::<u64>(op),
        DType::F32 => float_binary::<f32>(op),
        DType::F64 => float_binary::<f64>(op),
        DType::F16 | DType::BF16 | DType::C64 | DType::C128 => None,
    }
}

/// The comparison `op` on two operands of `dtype`; it gives 0 or 1.
pub fn compare(op: CmpOp, dtype: DType) -> Option<Binary> {
    Some(match dtype {
        DType::Bool => ordered::<u8>(op),
        DType::I8 => ordered::<i8>(op),
        DType::I16 => ordered::<i16>(op),
        DType::I32 => ordered::<i32>(op),
        DType::I64 => ordered::<i64>(op),
        DType::U8 => ordered::<u8>(op),
        DType::U16 => ordered::<u16>(op),
        DType::U32 => ordered::<u32>(op),
        DType::U64 => ordered::<u64>(op),
        DType::F32 => ordered::<f32>(op),
        DType::F64 => ordered::<f64>(op),
        DType::F16 | DType::BF16 | DType::C64 | DType::C128 => return None,
    })
}

/// `a * b + c`, rounded once.
pub fn fma(dtype: DType) -> Option<Ternary> {
    match dtype {
        DType::F32 => Some(|a, b, c| f32::of(a).mul_add(f32::of(b), f32::of(c)).bits()),
        DType::F64 => Some(|a, b, c| f64::of(a).mul_add(f64::of(b), f64::of(c)).bits()),
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
        | DType::C64
        | DType::C128 => None,
    }
}

/// The conversion from one type to another: the casts of `tj_tensor`, which are total.
pub fn cast(from: DType, to: DType) -> Option<Unary> {
    Some(match from {
        DType::Bool => cast_from::<bool>(to)?,
        DType::I8 => cast_from::<i8>(to)?,
        DType::I16 => cast_from::<i16>(to)?,
        DType::I32 => cast_from::<i32>(to)?,
        DType::I64 => cast_from::<i64>(to)?,
        DType::U8 => cast_from::<u8>(to)?,
        DType::U16 => cast_from::<u16>(to)?,
        DType::U32 => cast_from::<u32>(to)?,
        DType::U64 => cast_from::<u64>(to)?,
        DType::F16 => cast_from::<f16>(to)?,
        DType::BF16 => cast_from::<bf16>(to)?,
        DType::F32 => cast_from::<f32>(to)?,
        DType::F64 => cast_from::<f64>(to)?,
        DType::C64 | DType::C128 => return None,
    })
}

/// Whether the bits of `from` may be taken for a value of `to`.
pub fn can_bitcast(from: DType, to: DType) -> bool {
    is_kernel_type(from)
        && is_kernel_type(to)
        && from.size() == to.size()
        && (!to.is_bool() || from.is_bool())
}

/// Zero-extended bits.
pub(crate) trait Bits: Copy {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($t:ty: |$b:ident| $of:expr, |$x:ident| $bits:expr;)*) => {$(
        impl Bits for $t {
            #[inline(always)]
            fn of($b: u64) -> $t { $of }
            #[inline(always)]
            fn bits(self) -> u64 { let $x = self; $bits }
        }
    )*};
}

bits! {
    bool: |b| b as u8 != 0, |x| x as u64;
    i8: |b| b as i8, |x| x as u8 as u64;
    i16: |b| b as i16, |x| x as u16 as u64;
    i32: |b| b as i32, |x| x as u32 as u64;
    i64: |b| b as i64, |x| x as u64;
    u8: |b| b as u8, |x| x as u64;
    u16: |b| b as u16, |x| x as u64;
    u32: |b| b as u32, |x| x as u64;
    u64: |b| b, |x| x;
    f16: |b| f16::from_bits(b as u16), |x| x.to_bits() as u64;
    bf16: |b| bf16::from_bits(b as u16), |x| x.to_bits() as u64;
    f32: |b| f32::from_bits(b as u32), |x| x.to_bits() as u64;
    f64: |b| f64::from_bits(b), |x| x.to_bits();
}

trait Int: Bits + Ord {
    const SIGNED: bool;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn not(self) -> Self;
    fn trailing_zeros(self) -> Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn floor_div(self, o: Self) -> Self;
    fn floor_mod(self, o: Self) -> Self;
    fn shl(self, o: Self) -> Self;
    fn shr(self, o: Self) -> Self;
    fn sar(self, o: Self) -> Self;
}

macro_rules! int {
    ($t:ty, $unsigned:ty, $signed:expr, $negative:expr) => {
        impl Int for $t {
            const SIGNED: bool = $signed;
            fn neg(self) -> $t {
                self.wrapping_neg()
            }
            fn abs(self) -> $t {
                let negative: fn($t) -> bool = $negative;
                if negative(self) { self.wrapping_neg() } else { self }
            }
            fn not(self) -> $t {
                !self
            }
            fn trailing_zeros(self) -> $t {
                <$t>::trailing_zeros(self) as $t
            }
            fn add(self, o: $t) -> $t {
                self.wrapping_add(o)
            }
            fn sub(self, o: $t) -> $t {
                self.wrapping_sub(o)
            }
            fn mul(self, o: $t) -> $t {
                self.wrapping_mul(o)
            }
            fn floor_div(self, o: $t) -> $t {
                if o == 0 {
                    return 0;
                }
                let negative: fn($t) -> bool = $negative;
                let (q, r) = (self.wrapping_div(o), self.wrapping_rem(o));
                if r != 0 && negative(r) != negative(o) { q.wrapping_sub(1) } else { q }
            }
            fn floor_mod(self, o: $t) -> $t {
                if o == 0 {
                    return 0;
                }
                let negative: fn($t) -> bool = $negative;
                let r = self.wrapping_rem(o);
                if r != 0 && negative(r) != negative(o) { r.wrapping_add(o) } else { r }
            }
            fn shl(self, o: $t) -> $t {
                if (o as $unsigned) < <$t>::BITS as $unsigned { self << o } else { 0 }
            }
            fn shr(self, o: $t) -> $t {
                let bits = self as $unsigned;
                if (o as $unsigned) < <$t>::BITS as $unsigned { (bits >> o) as $t } else { 0 }
            }
            fn sar(self, o: $t) -> $t {
                self >> (o as $unsigned).min(<$t>::BITS as $unsigned - 1)
            }
        }
    };
}

int!(i8, u8, true, |x| x < 0);
int!(i16, u16, true, |x| x < 0);
int!(i32, u32, true, |x| x < 0);
int!(i64, u64, true, |x| x < 0);
int!(u8, u8, false, |_| false);
int!(u16, u16, false, |_| false);
int!(u32, u32, false, |_| false);
int!(u64, u64, false, |_| false);

trait Float: Bits + PartialOrd {
    /// -x and |x| act on the sign bit alone, of NaN too.
    fn flip_sign(self) -> Self;
    fn clear_sign(self) -> Self;
    fn is_negative(self) -> bool;
    fn is_nan(self) -> bool;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    fn rem(self, o: Self) -> Self;
}

macro_rules! float {
    ($t:ty, $sign:expr) => {
        impl Float for $t {
            fn flip_sign(self) -> $t {
                <$t>::from_bits(self.to_bits() ^ $sign)
            }
            fn clear_sign(self) -> $t {
                <$t>::from_bits(self.to_bits() & !$sign)
            }
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn sqrt(self) -> $t {
                self.sqrt()
            }
            fn floor(self) -> $t {
                self.floor()
            }
            fn add(self, o: $t) -> $t {
                self + o
            }
            fn sub(self, o: $t) -> $t {
                self - o
            }
            fn mul(self, o: $t) -> $t {
                self * o
            }
            fn div(self, o: $t) -> $t {
                self / o
            }
            fn rem(self, o: $t) -> $t {
                self % o
            }
        }
    };
}

float!(f32, 1 << 31);
float!(f64, 1 << 63);

fn bool_binary(op: BinOp) -> Option<Binary> {
    Some(match op {
        BinOp::And => |a, b| a & b,
        BinOp::Or => |a, b| a | b,
        BinOp::Xor => |a, b| a ^ b,
        BinOp::Add
        | BinOp::Sub
        | BinOp::Mul
        | BinOp::Div
        | BinOp::FloorDiv
        | BinOp::Mod
        | BinOp::Rem
        | BinOp::Max
        | BinOp::Min
        | BinOp::Shl
        | BinOp::Sar
        | BinOp::Shr => return None,
    })
}

fn int_unary<T: Int>(op: UnOp) -> Option<Unary> {
    Some(match op {
        UnOp::Neg => |a| T::of(a).neg().bits(),
        UnOp::Abs => |a| T::of(a).abs().bits(),
        UnOp::Not => |a| T::of(a).not().bits(),
        UnOp::TrailingZeros => |a| T::of(a).trailing_zeros().bits(),
        UnOp::Sqrt | UnOp::Floor => return None,
    })
}

fn int_binary<T: Int>(op: BinOp) -> Option<Binary> {
    Some(match op {
        BinOp::Add => |a, b| T::of(a).add(T::of(b)).bits(),
        BinOp::Sub => |a, b| T::of(a).sub(T::of(b)).bits(),
        BinOp::Mul => |a, b| T::of(a).mul(T::of(b)).bits(),
        BinOp::FloorDiv => |a, b| T::of(a).floor_div(T::of(b)).bits(),
        BinOp::Mod => |a, b| T::of(a).floor_mod(T::of(b)).bits(),
        BinOp::Max => |a, b| T::of(a).max(T::of(b)).bits(),
        BinOp::Min => |a, b| T::of(a).min(T::of(b)).bits(),
        // Operands of one type are zero-extended alike, so that the bits combine whatever the width.
        BinOp::And => |a, b| a & b,
        BinOp::Or => |a, b| a | b,
        BinOp::Xor => |a, b| a ^ b,
        BinOp::Shl => |a, b| T::of(a).shl(T::of(b)).bits(),
        BinOp::Shr => |a, b| T::of(a).shr(T::of(b)).bits(),
        BinOp::Sar if T::SIGNED => |a, b| T::of(a).sar(T::of(b)).bits(),
        BinOp::Sar | BinOp::Div | BinOp::Rem => return None,
    })
}

fn float_unary<T: Float>(op: UnOp) -> Option<Unary> {
    Some(match op {
        UnOp::Neg => |a| T::of(a).flip_sign().bits(),
        UnOp::Abs => |a| T::of(a).clear_sign().bits(),
        UnOp::Sqrt => |a| T::of(a).sqrt().bits(),
        UnOp::Floor => |a| T::of(a).floor().bits(),
        UnOp::Not | UnOp::TrailingZeros => return None,
    })
}

fn float_binary<T: Float>(op: BinOp) -> Option<Binary> {
    Some(match op {
        BinOp::Add => |a, b| T::of(a).add(T::of(b)).bits(),
        BinOp::Sub => |a, b| T::of(a).sub(T::of(b)).bits(),
        BinOp::Mul => |a, b| T::of(a).mul(T::of(b)).bits(),
        BinOp::Div => |a, b| T::of(a).div(T::of(b)).bits(),
        BinOp::Rem => |a, b| T::of(a).rem(T::of(b)).bits(),
        BinOp::Max => |a, b| greater(T::of(a), T::of(b)).bits(),
        BinOp::Min => |a, b| greater(T::of(a).flip_sign(), T::of(b).flip_sign()).flip_sign().bits(),
        BinOp::FloorDiv
        | BinOp::Mod
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::Shl
        | BinOp::Sar
        | BinOp::Shr => return None,
    })
}

fn greater<T: Float>(a: T, b: T) -> T {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() { a } else { b };
    }
    if a > b || (a == b && b.is_negative()) { a } else { b }
}

fn ordered<T: Bits + PartialOrd>(op: CmpOp) -> Binary {
    match op {
        CmpOp::Eq => |a, b| (T::of(a) == T::of(b)) as u64,
        CmpOp::Ne => |a, b| (T::of(a) != T::of(b)) as u64,
        CmpOp::Lt => |a, b| (T::of(a) < T::of(b)) as u64,
        CmpOp::Le => |a, b| (T::of(a) <= T::of(b)) as u64,
        CmpOp::Gt => |a, b| (T::of(a) > T::of(b)) as u64,
        CmpOp::Ge => |a, b| (T::of(a) >= T::of(b)) as u64,
    }
}

fn cast_from<T: Bits + Element>(to: DType) -> Option<Unary> {
    Some(match to {
        DType::Bool => |a| T::of(a).cast_to::<bool>().bits(),
        DType::I8 => |a| T::of(a).cast_to::<i8>().bits(),
        DType::I16 => |a| T::of(a).cast_to::<i16>().bits(),
        DType::I32 => |a| T::of(a).cast_to::<i32>().bits(),
        DType::I64 => |a| T::of(a).cast_to::<i64>().bits(),
        DType::U8 => |a| T::of(a).cast_to::<u8>().bits(),
        DType::U16 => |a| T::of(a).cast_to::<u16>().bits(),
        DType::U32 => |a| T::of(a).cast_to::<u32>().bits(),
        DType::U64 => |a| T::of(a).cast_to::<u64>().bits(),
        DType::F16 => |a| T::of(a).cast_to::<f16>().bits(),
        DType::BF16 => |a| T::of(a).cast_to::<bf16>().bits(),
        DType::F32 => |a| T::of(a).cast_to::<f32>().bits(),
        DType::F64 => |a| T::of(a).cast_to::<f64>().bits(),
        DType::C64 | DType::C128 => return None,
    })
}

#[cfg(test)]
mod tests;
