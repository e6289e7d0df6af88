//! What the functions need to know of an element: its order as an integer, and the four reductions.
//!
//! **Order.** Floats are ordered as integers. `flip` turns the bits of a float into an integer whose order is IEEE's
//! `totalOrder`, and back; [`Number::key`] goes on to what sorting means here: both zeros get one key, and all NaNs the
//! greatest.

use bytemuck::Pod;
use tj_ir::ReduceOp;
use tj_tensor::{bf16, f16};

/// A real element. A bool is an `u8` that is 0 or 1.
pub(crate) trait Number: Pod + PartialEq {
    /// The integer of the same size and order.
    type Raw: Pod + Ord;
    /// Bits of a [`Number::key`].
    const WIDTH: u32;
    /// From the bits of a number to an integer of the same order, and back.
    fn flip(raw: Self::Raw) -> Self::Raw;
    /// A number in [`Number::WIDTH`] bits that orders elements; equal for elements that sorting takes for equal.
    fn key(self) -> u64;
    /// Whether it is not a number.
    fn is_nan(self) -> bool;
    /// Whether it is either zero and the type has both.
    fn is_signed_zero(self) -> bool;
    /// What changes no number.
    fn identity(op: ReduceOp) -> Self;
    /// One step of a reduction: integers wrap, floats round once, NaN propagates, `-0 < +0`.
    fn reduce(op: ReduceOp, a: Self, b: Self) -> Self;
}

/// Calls are checked before they run.
const REFUSED: &str = "the check of a call refuses reductions that its dtype has not";

macro_rules! integers {
    ($($T:ident: $U:ident, $sign:expr;)*) => {$(
        impl Number for $T {
            type Raw = $T;
            const WIDTH: u32 = $T::BITS;

            fn flip(raw: $T) -> $T {
                raw
            }

            fn key(self) -> u64 {
                u64::from((self as $U) ^ $sign)
            }

            fn is_nan(self) -> bool {
                false
            }

            fn is_signed_zero(self) -> bool {
                false
            }

            fn identity(op: ReduceOp) -> $T {
                match op {
                    ReduceOp::Sum => 0,
                    ReduceOp::Prod => 1,
                    ReduceOp::Max => $T::MIN,
                    ReduceOp::Min => $T::MAX,
                    ReduceOp::And => !0,
                    ReduceOp::Or | ReduceOp::Xor => 0,
                    ReduceOp::By(_) => unreachable!("{}", REFUSED),
                }
            }

            fn reduce(op: ReduceOp, a: $T, b: $T) -> $T {
                match op {
                    ReduceOp::Sum => a.wrapping_add(b),
                    ReduceOp::Prod => a.wrapping_mul(b),
                    ReduceOp::Max => a.max(b),
                    ReduceOp::Min => a.min(b),
                    ReduceOp::And => a & b,
                    ReduceOp::Or => a | b,
                    ReduceOp::Xor => a ^ b,
                    ReduceOp::By(_) => unreachable!("{}", REFUSED),
                }
            }
        }
    )*};
}

integers! {
    i8: u8, 1 << 7;
    i16: u16, 1 << 15;
    i32: u32, 1 << 31;
    i64: u64, 1 << 63;
    u8: u8, 0;
    u16: u16, 0;
    u32: u32, 0;
    u64: u64, 0;
}

macro_rules! floats {
    ($($T:ident: $I:ident, $U:ident, $wide:ident, $up:expr, $down:expr;)*) => {$(
        impl Number for $T {
            type Raw = $I;
            const WIDTH: u32 = $I::BITS;

            fn flip(raw: $I) -> $I {
                raw ^ (((raw >> ($I::BITS - 1)) as $U) >> 1) as $I
            }

            fn key(self) -> u64 {
                if self.is_nan() {
                    return u64::from($U::MAX);
                }
                let bits = if self.is_signed_zero() { 0 } else { self.to_bits() as $I };
                u64::from((Self::flip(bits) as $U) ^ (1 << ($U::BITS - 1)))
            }

            fn is_nan(self) -> bool {
                self.is_nan()
            }

            fn is_signed_zero(self) -> bool {
                self.to_bits() << 1 == 0
            }

            fn identity(op: ReduceOp) -> $T {
                $down(match op {
                    ReduceOp::Sum => 0.0,
                    ReduceOp::Prod => 1.0,
                    ReduceOp::Max => $wide::NEG_INFINITY,
                    ReduceOp::Min => $wide::INFINITY,
                    ReduceOp::And | ReduceOp::Or | ReduceOp::Xor | ReduceOp::By(_) => {
                        unreachable!("{}", REFUSED)
                    }
                })
            }

            fn reduce(op: ReduceOp, a: $T, b: $T) -> $T {
                // The comparisons are those of `flip`: numbers in order with -0 before +0.
                let less = || Self::flip(a.to_bits() as $I) < Self::flip(b.to_bits() as $I);
                match op {
                    ReduceOp::Sum => $down($up(a) + $up(b)),
                    ReduceOp::Prod => $down($up(a) * $up(b)),
                    ReduceOp::Max | ReduceOp::Min if a.is_nan() => a,
                    ReduceOp::Max | ReduceOp::Min if b.is_nan() => b,
                    ReduceOp::Max => if less() { b } else { a },
                    ReduceOp::Min => if less() { a } else { b },
                    ReduceOp::And | ReduceOp::Or | ReduceOp::Xor | ReduceOp::By(_) => {
                        unreachable!("{}", REFUSED)
                    }
                }
            }
        }
    )*};
}

floats! {
    f16: i16, u16, f32, f16::to_f32, f16::from_f32;
    bf16: i16, u16, f32, bf16::to_f32, bf16::from_f32;
    f32: i32, u32, f32, std::convert::identity, std::convert::identity;
    f64: i64, u64, f64, std::convert::identity, std::convert::identity;
}

/// Runs `$body` with `$T` the type of elements of a dtype that is not complex.
macro_rules! with_number {
    ($call:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            ::tj_tensor::DType::Bool | ::tj_tensor::DType::U8 => {
                type $T = u8;
                $body
            }
            ::tj_tensor::DType::I8 => {
                type $T = i8;
                $body
            }
            ::tj_tensor::DType::I16 => {
                type $T = i16;
                $body
            }
            ::tj_tensor::DType::I32 => {
                type $T = i32;
                $body
            }
            ::tj_tensor::DType::I64 => {
                type $T = i64;
                $body
            }
            ::tj_tensor::DType::U16 => {
                type $T = u16;
                $body
            }
            ::tj_tensor::DType::U32 => {
                type $T = u32;
                $body
            }
            ::tj_tensor::DType::U64 => {
                type $T = u64;
                $body
            }
            ::tj_tensor::DType::F16 => {
                type $T = ::tj_tensor::f16;
                $body
            }
            ::tj_tensor::DType::BF16 => {
                type $T = ::tj_tensor::bf16;
                $body
            }
            ::tj_tensor::DType::F32 => {
                type $T = f32;
                $body
            }
            ::tj_tensor::DType::F64 => {
                type $T = f64;
                $body
            }
            dtype @ (::tj_tensor::DType::C64 | ::tj_tensor::DType::C128) => Err($call.refuse(dtype)),
        }
    };
}

pub(crate) use with_number;
