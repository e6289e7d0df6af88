//! Operations on one vector of 128 bits.
//!
//! A bool is a mask: all bits of a lane set, or none. Only operations that `tj_kernel::lanes` puts in vector form
//! arrive here.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use tj_kernel::lanes::Width;
use tj_kernel::{BinOp, CmpOp, UnOp};
use tj_tensor::{DType, Scalar};

use crate::scalar::{self, bitcast};
use crate::types::{machine, vector_type};

/// All lanes from one scalar.
pub(crate) fn splat(b: &mut FunctionBuilder, width: Width, dtype: DType, x: Value) -> Value {
    let ty = vector_type(width, dtype);
    let x = lane_of(b, ty, dtype, x);
    b.ins().splat(ty, x)
}

/// A vector from one scalar a lane.
pub(crate) fn join(b: &mut FunctionBuilder, width: Width, dtype: DType, lanes: &[Value]) -> Value {
    let ty = vector_type(width, dtype);
    let first = lane_of(b, ty, dtype, lanes[0]);
    let mut vector = b.ins().scalar_to_vector(ty, first);
    for (i, &x) in lanes.iter().enumerate().skip(1) {
        let x = lane_of(b, ty, dtype, x);
        vector = b.ins().insertlane(vector, x, i as u8);
    }
    vector
}

/// A scalar as a lane holds it.
fn lane_of(b: &mut FunctionBuilder, ty: Type, dtype: DType, x: Value) -> Value {
    if dtype.is_bool() { b.ins().bmask(ty.lane_type(), x) } else { x }
}

/// One lane as a scalar.
pub(crate) fn lane(b: &mut FunctionBuilder, dtype: DType, vector: Value, i: usize) -> Value {
    let x = b.ins().extractlane(vector, i as u8);
    if !dtype.is_bool() {
        return x;
    }
    let x = b.ins().ireduce(types::I8, x);
    b.ins().band_imm_u(x, 1)
}

/// One operand.
pub(crate) fn unary(b: &mut FunctionBuilder, op: UnOp, dtype: DType, x: Value) -> Value {
    match op {
        UnOp::Not => b.ins().bnot(x),
        UnOp::Neg | UnOp::Abs | UnOp::Sqrt | UnOp::Floor => scalar::unary(b, op, dtype, x),
    }
}

/// A shift of all lanes by one count, of the same type as a lane.
pub(crate) fn shift(
    b: &mut FunctionBuilder,
    op: BinOp,
    width: Width,
    dtype: DType,
    x: Value,
    count: Value,
) -> Value {
    let lane = machine(dtype);
    let bits = lane.bits() as i64;
    if op == BinOp::Sar {
        let last = b.ins().iconst(lane, bits - 1);
        let count = b.ins().umin(count, last);
        return b.ins().sshr(x, count);
    }
    let shifted = if op == BinOp::Shl { b.ins().ishl(x, count) } else { b.ins().ushr(x, count) };
    let inside = b.ins().icmp_imm_u(IntCC::UnsignedLessThan, count, bits);
    let mask = splat(b, width, DType::Bool, inside);
    b.ins().band(shifted, mask)
}

/// `c ? x : y`, lane by lane.
pub(crate) fn select(b: &mut FunctionBuilder, c: Value, x: Value, y: Value) -> Value {
    let ty = b.func.dfg.value_type(x);
    let c = bitcast(b, c, ty);
    b.ins().bitselect(c, x, y)
}

/// A total conversion between types of one width.
pub(crate) fn cast(b: &mut FunctionBuilder, width: Width, from: DType, to: DType, x: Value) -> Value {
    let target = vector_type(width, to);
    if to.is_bool() {
        let zero = scalar::constant(b, Scalar::zero(from));
        let zero = splat(b, width, from, zero);
        return scalar::compare(b, CmpOp::Ne, from, x, zero);
    }
    if from.is_bool() {
        let one = scalar::constant(b, Scalar::one(to));
        let one = splat(b, width, to, one);
        let x = bitcast(b, x, target);
        return b.ins().band(x, one);
    }
    match (from.is_float(), to.is_float()) {
        (false, true) if from.is_signed() => b.ins().fcvt_from_sint(target, x),
        (false, true) => b.ins().fcvt_from_uint(target, x),
        (true, false) if to.is_signed() => b.ins().fcvt_to_sint_sat(target, x),
        (true, false) => b.ins().fcvt_to_uint_sat(target, x),
        (true, true) | (false, false) => x,
    }
}
