//! Operations on one element; those that Cranelift has for vectors too serve both.
//!
//! Nothing here traps, and nothing branches but the remainder of floats: the odd cases of integer division and shifts are selected.
//! A bool is an `i8` of 0 or 1.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use tj_kernel::{BinOp, CmpOp, UnOp};
use tj_tensor::{DType, Scalar};

use crate::convert::cast;
use crate::types::machine;

/// A constant.
pub(crate) fn constant(b: &mut FunctionBuilder, scalar: Scalar) -> Value {
    let bits = scalar.bits() as u64;
    match machine(scalar.dtype()) {
        types::F32 => b.ins().f32const(Ieee32::with_bits(bits as u32)),
        types::F64 => b.ins().f64const(Ieee64::with_bits(bits)),
        int => b.ins().iconst(int, bits as i64),
    }
}

/// One operand.
pub(crate) fn unary(b: &mut FunctionBuilder, op: UnOp, dtype: DType, x: Value) -> Value {
    match op {
        UnOp::Neg if dtype.is_float() => b.ins().fneg(x),
        UnOp::Neg => b.ins().ineg(x),
        UnOp::Abs if dtype.is_float() => b.ins().fabs(x),
        UnOp::Abs if dtype.is_signed() => b.ins().iabs(x),
        UnOp::Abs => x,
        UnOp::Sqrt => b.ins().sqrt(x),
        UnOp::Floor => b.ins().floor(x),
        UnOp::Not if dtype.is_bool() => b.ins().bxor_imm_u(x, 1),
        UnOp::Not => b.ins().bnot(x),
        UnOp::TrailingZeros => b.ins().ctz(x),
    }
}

/// Two operands. `known` is the second one if it is a constant, which makes division cheap.
pub(crate) fn binary(
    b: &mut FunctionBuilder,
    op: BinOp,
    dtype: DType,
    x: Value,
    y: Value,
    known: Option<Scalar>,
) -> Value {
    let float = dtype.is_float();
    match op {
        BinOp::Add if float => b.ins().fadd(x, y),
        BinOp::Add => b.ins().iadd(x, y),
        BinOp::Sub if float => b.ins().fsub(x, y),
        BinOp::Sub => b.ins().isub(x, y),
        BinOp::Mul if float => b.ins().fmul(x, y),
        BinOp::Mul => b.ins().imul(x, y),
        BinOp::Div => b.ins().fdiv(x, y),
        BinOp::FloorDiv | BinOp::Mod if dtype.size() < 4 => {
            // The division instructions of small types are as slow as those of i32 and need more set-up.
            let wide = if dtype.is_signed() { DType::I32 } else { DType::U32 };
            let (x, y) = (cast(b, dtype, wide, x), cast(b, dtype, wide, y));
            let quotient = binary(b, op, wide, x, y, known.map(|k| k.cast(wide)));
            cast(b, wide, dtype, quotient)
        }
        BinOp::FloorDiv => floor_div(b, dtype, x, y, known),
        BinOp::Mod => modulo(b, dtype, x, y, known),
        BinOp::Rem => crate::remainder::remainder(b, dtype, x, y),
        BinOp::Max | BinOp::Min if float => extremum(b, op, dtype, x, y, known),
        BinOp::Max if dtype.is_signed() => b.ins().smax(x, y),
        BinOp::Max => b.ins().umax(x, y),
        BinOp::Min if dtype.is_signed() => b.ins().smin(x, y),
        BinOp::Min => b.ins().umin(x, y),
        BinOp::And => b.ins().band(x, y),
        BinOp::Or => b.ins().bor(x, y),
        BinOp::Xor => b.ins().bxor(x, y),
        BinOp::Shl | BinOp::Shr => {
            let ty = machine(dtype);
            let shifted = if op == BinOp::Shl { b.ins().ishl(x, y) } else { b.ins().ushr(x, y) };
            if known.is_some_and(|k| k.bits() < ty.bits() as u128) {
                return shifted;
            }
            // A negative count is a large unsigned one.
            let inside = b.ins().icmp_imm_u(IntCC::UnsignedLessThan, y, ty.bits() as i64);
            let zero = b.ins().iconst(ty, 0);
            b.ins().select(inside, shifted, zero)
        }
        BinOp::Sar => {
            let last = b.ins().iconst(machine(dtype), machine(dtype).bits() as i64 - 1);
            let count = b.ins().umin(y, last);
            b.ins().sshr(x, count)
        }
    }
}

/// The greater or lesser of two floats, for scalars and vectors. Cranelift's own operation is several times as long on
/// x86, as it also makes every NaN quiet; ours need not, and its operands are often known.
fn extremum(
    b: &mut FunctionBuilder,
    op: BinOp,
    dtype: DType,
    x: Value,
    y: Value,
    known: Option<Scalar>,
) -> Value {
    let max = op == BinOp::Max;
    if let Some(limit) = known.map(Scalar::to_f64).filter(|limit| !limit.is_nan()) {
        // `x` where it is NaN or an equal number; an equal zero must be the right one.
        let zero_wins = limit == 0.0 && limit.is_sign_positive() == max;
        let code = if zero_wins { CmpOp::Le } else { CmpOp::Lt };
        let beyond = if max { compare(b, code, dtype, x, y) } else { compare(b, code, dtype, y, x) };
        return choose(b, beyond, y, x);
    }
    if !cfg!(target_arch = "x86_64") {
        return if max { b.ins().fmax(x, y) } else { b.ins().fmin(x, y) };
    }
    // Each order gives the second operand where the two are equal or unordered; together they have both.
    let less = compare(b, CmpOp::Lt, dtype, x, y);
    let greater = compare(b, CmpOp::Lt, dtype, y, x);
    if !max {
        let (first, second) = (choose(b, less, x, y), choose(b, greater, y, x));
        return b.ins().bor(first, second);
    }
    let (first, second) = (choose(b, greater, x, y), choose(b, less, y, x));
    let both = b.ins().band(first, second);
    // A NaN and another number would lose bits.
    let unordered = b.ins().fcmp(FloatCC::Unordered, x, y);
    match b.func.dfg.value_type(unordered).is_vector() {
        true => {
            let ty = b.func.dfg.value_type(both);
            let mask = bitcast(b, unordered, ty);
            b.ins().bor(both, mask)
        }
        false => {
            let nan = constant(b, Scalar::F64(f64::NAN).cast(dtype));
            b.ins().select(unordered, nan, both)
        }
    }
}

/// `c ? x : y`; of vectors, lane by lane, with a mask.
pub(crate) fn choose(b: &mut FunctionBuilder, c: Value, x: Value, y: Value) -> Value {
    let ty = b.func.dfg.value_type(x);
    if !ty.is_vector() {
        return b.ins().select(c, x, y);
    }
    let mask = bitcast(b, c, ty);
    b.ins().bitselect(mask, x, y)
}

/// The divisor without 0 and -1, which machines trap on, and where it was one of them.
struct Divisor {
    safe: Value,
    zero: Option<Value>,
    minus_one: Option<Value>,
}

fn divisor(b: &mut FunctionBuilder, dtype: DType, y: Value, known: Option<Scalar>) -> Divisor {
    if known.is_some_and(|k| k.bits() != 0 && !(dtype.is_signed() && k.to_i64() == -1)) {
        return Divisor { safe: y, zero: None, minus_one: None };
    }
    let one = b.ins().iconst(machine(dtype), 1);
    let zero = b.ins().icmp_imm_u(IntCC::Equal, y, 0);
    let safe = b.ins().select(zero, one, y);
    if !dtype.is_signed() {
        return Divisor { safe, zero: Some(zero), minus_one: None };
    }
    let minus_one = b.ins().icmp_imm_s(IntCC::Equal, y, -1);
    let safe = b.ins().select(minus_one, one, safe);
    Divisor { safe, zero: Some(zero), minus_one: Some(minus_one) }
}

/// The exponent if a known divisor is a power of two, for which a shift and a mask round down by themselves.
fn power_of_two(dtype: DType, known: Option<Scalar>) -> Option<u32> {
    let bits = known?.bits() as u64;
    let positive = !dtype.is_signed() || known?.to_i64() > 0;
    (positive && bits.is_power_of_two()).then(|| bits.trailing_zeros())
}

fn floor_div(b: &mut FunctionBuilder, dtype: DType, x: Value, y: Value, known: Option<Scalar>) -> Value {
    if let Some(exponent) = power_of_two(dtype, known) {
        return match dtype.is_signed() {
            true => b.ins().sshr_imm_u(x, exponent as i64),
            false => b.ins().ushr_imm_u(x, exponent as i64),
        };
    }
    let d = divisor(b, dtype, y, known);
    let mut quotient = if dtype.is_signed() {
        let quotient = b.ins().sdiv(x, d.safe);
        let remainder = remainder(b, x, quotient, d.safe);
        let down = rounds_up(b, remainder, d.safe);
        let down = extend_bool(b, down, machine(dtype));
        b.ins().isub(quotient, down)
    } else {
        b.ins().udiv(x, d.safe)
    };
    if let Some(minus_one) = d.minus_one {
        let negated = b.ins().ineg(x);
        quotient = b.ins().select(minus_one, negated, quotient);
    }
    if let Some(by_zero) = d.zero {
        let zero = b.ins().iconst(machine(dtype), 0);
        quotient = b.ins().select(by_zero, zero, quotient);
    }
    quotient
}

/// By zero and by -1 the safe divisor is 1, whose remainder is the 0 we want.
fn modulo(b: &mut FunctionBuilder, dtype: DType, x: Value, y: Value, known: Option<Scalar>) -> Value {
    if let Some(exponent) = power_of_two(dtype, known) {
        return b.ins().band_imm_u(x, ((1u64 << exponent) - 1) as i64);
    }
    let d = divisor(b, dtype, y, known);
    let quotient = if dtype.is_signed() { b.ins().sdiv(x, d.safe) } else { b.ins().udiv(x, d.safe) };
    let remainder = remainder(b, x, quotient, d.safe);
    if !dtype.is_signed() {
        return remainder;
    }
    let up = rounds_up(b, remainder, d.safe);
    let moved = b.ins().iadd(remainder, d.safe);
    b.ins().select(up, moved, remainder)
}

fn remainder(b: &mut FunctionBuilder, x: Value, quotient: Value, y: Value) -> Value {
    let product = b.ins().imul(quotient, y);
    b.ins().isub(x, product)
}

/// Whether a quotient rounded to zero was rounded up: the remainder is not zero and its sign is not the divisor's.
fn rounds_up(b: &mut FunctionBuilder, remainder: Value, y: Value) -> Value {
    let nonzero = b.ins().icmp_imm_u(IntCC::NotEqual, remainder, 0);
    let signs = b.ins().bxor(remainder, y);
    let differ = b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
    b.ins().band(nonzero, differ)
}

fn extend_bool(b: &mut FunctionBuilder, x: Value, ty: Type) -> Value {
    if ty == types::I8 { x } else { b.ins().uextend(ty, x) }
}

/// A comparison, for scalars and vectors. Greater is less the other way round, so that a choice between the operands is
/// one machine instruction.
pub(crate) fn compare(b: &mut FunctionBuilder, op: CmpOp, dtype: DType, x: Value, y: Value) -> Value {
    let (op, x, y) = match op {
        CmpOp::Gt => (CmpOp::Lt, y, x),
        CmpOp::Ge => (CmpOp::Le, y, x),
        CmpOp::Eq | CmpOp::Ne | CmpOp::Lt | CmpOp::Le => (op, x, y),
    };
    if dtype.is_float() {
        let code = match op {
            CmpOp::Eq => FloatCC::Equal,
            CmpOp::Ne => FloatCC::NotEqual,
            CmpOp::Lt | CmpOp::Gt => FloatCC::LessThan,
            CmpOp::Le | CmpOp::Ge => FloatCC::LessThanOrEqual,
        };
        return b.ins().fcmp(code, x, y);
    }
    let signed = match op {
        CmpOp::Eq => IntCC::Equal,
        CmpOp::Ne => IntCC::NotEqual,
        CmpOp::Lt | CmpOp::Gt => IntCC::SignedLessThan,
        CmpOp::Le | CmpOp::Ge => IntCC::SignedLessThanOrEqual,
    };
    b.ins().icmp(if dtype.is_signed() { signed } else { signed.unsigned() }, x, y)
}

/// The same bits as another type of the same size.
pub(crate) fn bitcast(b: &mut FunctionBuilder, x: Value, to: Type) -> Value {
    if b.func.dfg.value_type(x) == to { x } else { b.ins().bitcast(to, MemFlagsData::new(), x) }
}
