//! Conversions of one element, all total.
//!
//! Integers wrap, floats saturate to integers with NaN giving 0, and whatever is not zero is true. f16 and bf16 are
//! 16 bits to the machine: they widen to f32 exactly and are narrowed from it by integer arithmetic. So that a
//! conversion from a wider type to them still rounds once, its f32 is rounded *to odd*: toward zero, with the last
//! bit set if anything was lost (24 bits are at least 11 + 2, so that nearest-even sees what it needs).

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::Ieee32;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use tj_kernel::CmpOp;
use tj_tensor::{DType, Scalar};

use crate::scalar::{bitcast, compare, constant};
use crate::types::machine;

/// A total conversion.
pub(crate) fn cast(b: &mut FunctionBuilder, from: DType, to: DType, x: Value) -> Value {
    if from == to {
        return x;
    }
    if is_half(from) {
        return from_half(b, from, to, x);
    }
    if is_half(to) {
        let single = to_single(b, from, x);
        return if to == DType::F16 { single_to_f16(b, single) } else { single_to_bf16(b, single) };
    }
    let (source, target) = (machine(from), machine(to));
    match (from.is_float(), to.is_float()) {
        _ if to.is_bool() => {
            let zero = constant(b, Scalar::zero(from));
            compare(b, CmpOp::Ne, from, x, zero)
        }
        (true, true) if source.bits() < target.bits() => b.ins().fpromote(target, x),
        (true, true) => b.ins().fdemote(target, x),
        (false, true) => {
            // From the next larger integer that holds all values as signed ones, u64 aside.
            match (from.is_signed(), source.bits()) {
                (true, 32 | 64) => b.ins().fcvt_from_sint(target, x),
                (false, 64) => b.ins().fcvt_from_uint(target, x),
                (true, _) => {
                    let x = b.ins().sextend(types::I32, x);
                    b.ins().fcvt_from_sint(target, x)
                }
                (false, _) => {
                    let x = b.ins().uextend(types::I64, x);
                    b.ins().fcvt_from_sint(target, x)
                }
            }
        }
        (true, false) => {
            let wide = if target.bits() < 32 { types::I32 } else { target };
            let x = match to.is_signed() {
                true => b.ins().fcvt_to_sint_sat(wide, x),
                false => b.ins().fcvt_to_uint_sat(wide, x),
            };
            if wide == target { x } else { saturate(b, to, x) }
        }
        (false, false) if source.bits() > target.bits() => b.ins().ireduce(target, x),
        (false, false) if source.bits() == target.bits() => x,
        (false, false) if from.is_signed() => b.ins().sextend(target, x),
        (false, false) => b.ins().uextend(target, x),
    }
}

/// Narrows an `i32` to a smaller type, saturating.
fn saturate(b: &mut FunctionBuilder, to: DType, x: Value) -> Value {
    let bits = machine(to).bits();
    let x = if to.is_signed() {
        let (lo, hi) =
            (b.ins().iconst(types::I32, 0xffff_ffff & (-1i64 << (bits - 1))), (1i64 << (bits - 1)) - 1);
        let hi = b.ins().iconst(types::I32, hi);
        let x = b.ins().smax(x, lo);
        b.ins().smin(x, hi)
    } else {
        let hi = b.ins().iconst(types::I32, (1i64 << bits) - 1);
        b.ins().umin(x, hi)
    };
    b.ins().ireduce(machine(to), x)
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

fn from_half(b: &mut FunctionBuilder, from: DType, to: DType, x: Value) -> Value {
    if to.is_bool() {
        let magnitude = b.ins().band_imm_u(x, 0x7fff);
        return b.ins().icmp_imm_u(IntCC::NotEqual, magnitude, 0);
    }
    let bits = b.ins().uextend(types::I32, x);
    let single = if from == DType::BF16 {
        let bits = b.ins().ishl_imm_u(bits, 16);
        bitcast(b, bits, types::F32)
    } else {
        f16_to_single(b, bits)
    };
    cast(b, DType::F32, to, single)
}

/// The exponent is moved to where f32 has it, then corrected by a product, which also normalises subnormal numbers.
fn f16_to_single(b: &mut FunctionBuilder, bits: Value) -> Value {
    let magnitude = b.ins().band_imm_u(bits, 0x7fff);
    let moved = b.ins().ishl_imm_u(magnitude, 13);
    let moved = bitcast(b, moved, types::F32);
    let correction = b.ins().f32const(Ieee32::with_float(f32::from_bits(0x7780_0000)));
    let scaled = b.ins().fmul(moved, correction);
    let scaled = bitcast(b, scaled, types::I32);
    let special = b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, magnitude, 0x7c00);
    let top = b.ins().bor_imm_u(scaled, 0x7f80_0000);
    let absolute = b.ins().select(special, top, scaled);
    let sign = b.ins().band_imm_u(bits, 0x8000);
    let sign = b.ins().ishl_imm_u(sign, 16);
    let result = b.ins().bor(absolute, sign);
    bitcast(b, result, types::F32)
}

/// An f32 that rounds to the same half as `x` does; to odd where it is not exact.
fn to_single(b: &mut FunctionBuilder, from: DType, x: Value) -> Value {
    match machine(from).bits() {
        _ if from == DType::F32 => x,
        8 | 16 => cast(b, from, DType::F32, x),
        32 => {
            let double = cast(b, from, DType::F64, x);
            to_odd(b, double)
        }
        _ if from == DType::F64 => to_odd(b, x),
        _ => {
            let double = sticky(b, from, x);
            to_odd(b, double)
        }
    }
}

fn to_odd(b: &mut FunctionBuilder, x: Value) -> Value {
    let nearest = b.ins().fdemote(types::F32, x);
    let back = b.ins().fpromote(types::F64, nearest);
    let (absolute, limit) = (b.ins().fabs(back), b.ins().fabs(x));
    let above = b.ins().fcmp(FloatCC::GreaterThan, absolute, limit);
    let above = b.ins().uextend(types::I32, above);
    // True for NaN, which stays one.
    let inexact = b.ins().fcmp(FloatCC::NotEqual, back, x);
    let inexact = b.ins().uextend(types::I32, inexact);
    let bits = bitcast(b, nearest, types::I32);
    let bits = b.ins().isub(bits, above);
    let bits = b.ins().bor(bits, inexact);
    bitcast(b, bits, types::F32)
}

/// An integer of 64 bits as an f64 that holds its leading 53 bits, with the last of them set if any further bit was.
fn sticky(b: &mut FunctionBuilder, from: DType, x: Value) -> Value {
    let magnitude = if from.is_signed() { b.ins().iabs(x) } else { x };
    let small = b.ins().icmp_imm_u(IntCC::UnsignedLessThan, magnitude, 1 << 53);
    let low = b.ins().band_imm_u(magnitude, 0x7ff);
    let lost = b.ins().icmp_imm_u(IntCC::NotEqual, low, 0);
    let lost = b.ins().uextend(types::I64, lost);
    let lost = b.ins().ishl_imm_u(lost, 11);
    let high = b.ins().band_imm_s(magnitude, !0x7ff);
    let high = b.ins().bor(high, lost);
    let kept = b.ins().select(small, magnitude, high);
    let double = b.ins().fcvt_from_uint(types::F64, kept);
    if !from.is_signed() {
        return double;
    }
    let negated = b.ins().fneg(double);
    let negative = b.ins().icmp_imm_s(IntCC::SignedLessThan, x, 0);
    b.ins().select(negative, negated, double)
}

fn single_to_bf16(b: &mut FunctionBuilder, x: Value) -> Value {
    let bits = bitcast(b, x, types::I32);
    let high = b.ins().ushr_imm_u(bits, 16);
    let odd = b.ins().band_imm_u(high, 1);
    let rounded = b.ins().iadd(bits, odd);
    let rounded = b.ins().iadd_imm_u(rounded, 0x7fff);
    let rounded = b.ins().ushr_imm_u(rounded, 16);
    let nan = b.ins().fcmp(FloatCC::Unordered, x, x);
    let quiet = b.ins().bor_imm_u(high, 0x40);
    let result = b.ins().select(nan, quiet, rounded);
    b.ins().ireduce(types::I16, result)
}

/// Subnormal results are rounded by adding 0.5, whose last bit weighs as much as theirs; the others by an integer sum
/// that moves the exponent and carries into it.
fn single_to_f16(b: &mut FunctionBuilder, x: Value) -> Value {
    let bits = bitcast(b, x, types::I32);
    let magnitude = b.ins().band_imm_u(bits, 0x7fff_ffff);
    let half = b.ins().f32const(Ieee32::with_float(0.5));
    let absolute = b.ins().fabs(x);
    let subnormal = b.ins().fadd(absolute, half);
    let subnormal = bitcast(b, subnormal, types::I32);
    let subnormal = b.ins().iadd_imm_s(subnormal, -0x3f00_0000);
    let odd = b.ins().ushr_imm_u(magnitude, 13);
    let odd = b.ins().band_imm_u(odd, 1);
    let normal = b.ins().iadd(magnitude, odd);
    let normal = b.ins().iadd_imm_s(normal, 0xfff - (112 << 23));
    let normal = b.ins().ushr_imm_u(normal, 13);
    let small = b.ins().icmp_imm_u(IntCC::UnsignedLessThan, magnitude, 0x3880_0000);
    let finite = b.ins().select(small, subnormal, normal);
    let infinity = b.ins().iconst(types::I32, 0x7c00);
    let large = b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, magnitude, 0x4780_0000);
    let number = b.ins().select(large, infinity, finite);
    let nan = b.ins().fcmp(FloatCC::Unordered, x, x);
    let quiet = b.ins().iconst(types::I32, 0x7e00);
    let result = b.ins().select(nan, quiet, number);
    let sign = b.ins().ushr_imm_u(bits, 16);
    let sign = b.ins().band_imm_u(sign, 0x8000);
    let result = b.ins().bor(result, sign);
    b.ins().ireduce(types::I16, result)
}
