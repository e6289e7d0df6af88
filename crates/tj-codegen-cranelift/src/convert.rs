//! Conversions of one element, all total.
//!
//! Integers wrap, floats saturate to integers with NaN giving 0, and whatever is not zero is true. f16 and bf16 are
//! 16 bits to the machine: they widen to f32 exactly and are narrowed from it by integer arithmetic. So that a
//! conversion from a wider type to them still rounds once, its f32 is rounded *to odd*: toward zero, with the last
//! bit set if anything was lost (24 bits are at least 11 + 2, so that nearest-even sees what it needs).

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use tj_kernel::CmpOp;
use tj_tensor::{DType, Scalar};

use crate::scalar::{bitcast, choose, compare, constant};
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
        let bits = if to == DType::F16 { single_to_f16(b, single) } else { single_to_bf16(b, single) };
        return b.ins().ireduce(types::I16, bits);
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

pub(crate) fn is_half(dtype: DType) -> bool {
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
/// `bits` is zero-extended; a vector will do.
pub(crate) fn f16_to_single(b: &mut FunctionBuilder, bits: Value) -> Value {
    let int = b.func.dfg.value_type(bits);
    let single = if int.is_vector() { types::F32X4 } else { types::F32 };
    let magnitude = with(b, Bitwise::And, bits, 0x7fff);
    let moved = shift_left(b, magnitude, 13);
    let moved = bitcast(b, moved, single);
    let correction = like(b, int, 0x7780_0000);
    let correction = bitcast(b, correction, single);
    let scaled = b.ins().fmul(moved, correction);
    let scaled = bitcast(b, scaled, int);
    let limit = like(b, int, 0x7bff);
    let special = b.ins().icmp(IntCC::SignedGreaterThan, magnitude, limit);
    let top = with(b, Bitwise::Or, scaled, 0x7f80_0000);
    let absolute = choose(b, special, top, scaled);
    let sign = with(b, Bitwise::And, bits, 0x8000);
    let sign = shift_left(b, sign, 16);
    let result = b.ins().bor(absolute, sign);
    bitcast(b, result, single)
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

/// The bits of the nearest bf16, with anything above them; a vector will do.
pub(crate) fn single_to_bf16(b: &mut FunctionBuilder, x: Value) -> Value {
    let int = b.func.dfg.value_type(x).as_int();
    let bits = bitcast(b, x, int);
    let high = shift_right(b, bits, 16);
    let odd = with(b, Bitwise::And, high, 1);
    let bias = like(b, int, 0x7fff);
    let rounded = b.ins().iadd(bits, odd);
    let rounded = b.ins().iadd(rounded, bias);
    let rounded = shift_right(b, rounded, 16);
    let nan = b.ins().fcmp(FloatCC::Unordered, x, x);
    let quiet = with(b, Bitwise::Or, high, 0x40);
    choose(b, nan, quiet, rounded)
}

/// The bits of the nearest f16, with anything above them; a vector will do. Subnormal results are rounded by adding
/// 0.5, whose last bit weighs as much as theirs; the others by an integer sum that moves the exponent and carries
/// into it.
pub(crate) fn single_to_f16(b: &mut FunctionBuilder, x: Value) -> Value {
    let single = b.func.dfg.value_type(x);
    let int = single.as_int();
    let bits = bitcast(b, x, int);
    let magnitude = with(b, Bitwise::And, bits, 0x7fff_ffff);
    let half_bits = like(b, int, 0x3f00_0000);
    let half = bitcast(b, half_bits, single);
    let absolute = b.ins().fabs(x);
    let subnormal = b.ins().fadd(absolute, half);
    let subnormal = bitcast(b, subnormal, int);
    let subnormal = b.ins().isub(subnormal, half_bits);
    let odd = shift_right(b, magnitude, 13);
    let odd = with(b, Bitwise::And, odd, 1);
    let bias = like(b, int, (112 << 23) - 0xfff);
    let normal = b.ins().iadd(magnitude, odd);
    let normal = b.ins().isub(normal, bias);
    let normal = shift_right(b, normal, 13);
    let least = like(b, int, 0x3880_0000);
    let small = b.ins().icmp(IntCC::SignedLessThan, magnitude, least);
    let finite = choose(b, small, subnormal, normal);
    let infinity = like(b, int, 0x7c00);
    let greatest = like(b, int, 0x477f_ffff);
    let large = b.ins().icmp(IntCC::SignedGreaterThan, magnitude, greatest);
    let number = choose(b, large, infinity, finite);
    let nan = b.ins().fcmp(FloatCC::Unordered, x, x);
    let quiet = like(b, int, 0x7e00);
    let result = choose(b, nan, quiet, number);
    let sign = shift_right(b, bits, 16);
    let sign = with(b, Bitwise::And, sign, 0x8000);
    b.ins().bor(result, sign)
}

/// A number of 32 bits, in every lane if the type is a vector.
fn like(b: &mut FunctionBuilder, ty: Type, bits: u32) -> Value {
    let x = b.ins().iconst(types::I32, bits as i64);
    if ty.is_vector() { b.ins().splat(ty, x) } else { x }
}

enum Bitwise {
    And,
    Or,
}

fn with(b: &mut FunctionBuilder, op: Bitwise, x: Value, bits: u32) -> Value {
    let y = like(b, b.func.dfg.value_type(x), bits);
    match op {
        Bitwise::And => b.ins().band(x, y),
        Bitwise::Or => b.ins().bor(x, y),
    }
}

fn shift_left(b: &mut FunctionBuilder, x: Value, by: i64) -> Value {
    let by = b.ins().iconst(types::I32, by);
    b.ins().ishl(x, by)
}

fn shift_right(b: &mut FunctionBuilder, x: Value, by: i64) -> Value {
    let by = b.ins().iconst(types::I32, by);
    b.ins().ushr(x, by)
}
