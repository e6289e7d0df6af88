//! Operations on vectors of 128 bits.
//!
//! A value of a vectorised loop is a list of one, two or four vectors (see `tj_kernel::lanes`). A bool is one vector, a
//! mask of the loop's width: all bits of a lane set, or none. Only operations that `tj_kernel::lanes` puts in
//! vector form arrive here.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use smallvec::{SmallVec, smallvec};
use tj_kernel::lanes::Width;
use tj_kernel::{BinOp, CmpOp, UnOp};
use tj_tensor::{DType, Scalar};

use crate::scalar;
use crate::types::{machine, mask_type, vector_type, width_of};

/// The vectors of one value, those of the first lanes first.
pub(crate) type Vectors = SmallVec<[Value; 4]>;

/// All lanes from one scalar.
pub(crate) fn splat(b: &mut FunctionBuilder, width: Width, dtype: DType, x: Value) -> Vectors {
    let ty = vector_type(width, dtype);
    let x = lane_of(b, ty, dtype, x);
    let vector = b.ins().splat(ty, x);
    smallvec![vector; count(width, dtype)]
}

/// How many vectors a value of this type has.
pub(crate) fn count(width: Width, dtype: DType) -> usize {
    width.vectors(dtype).expect("only types that fit a loop's width have vectors in it")
}

/// Vectors from one scalar a lane.
pub(crate) fn join(b: &mut FunctionBuilder, width: Width, dtype: DType, lanes: &[Value]) -> Vectors {
    let ty = vector_type(width, dtype);
    lanes
        .chunks(ty.lane_count() as usize)
        .map(|lanes| {
            let first = lane_of(b, ty, dtype, lanes[0]);
            let mut vector = first_lane(b, ty, first);
            for (i, &x) in lanes.iter().enumerate().skip(1) {
                let x = lane_of(b, ty, dtype, x);
                vector = b.ins().insertlane(vector, x, i as u8);
            }
            vector
        })
        .collect()
}

/// A vector whose first lane is `x`.
fn first_lane(b: &mut FunctionBuilder, ty: Type, x: Value) -> Value {
    if ty.lane_bits() >= 32 {
        return b.ins().scalar_to_vector(ty, x);
    }
    let x = b.ins().uextend(types::I32, x);
    let vector = b.ins().scalar_to_vector(types::I32X4, x);
    reshape(b, vector, ty)
}

/// A scalar as a lane holds it.
fn lane_of(b: &mut FunctionBuilder, ty: Type, dtype: DType, x: Value) -> Value {
    if dtype.is_bool() { b.ins().bmask(ty.lane_type(), x) } else { x }
}

/// One lane as a scalar.
pub(crate) fn lane(b: &mut FunctionBuilder, dtype: DType, vectors: &[Value], i: usize) -> Value {
    let per_vector = b.func.dfg.value_type(vectors[0]).lane_count() as usize;
    let x = b.ins().extractlane(vectors[i / per_vector], (i % per_vector) as u8);
    if !dtype.is_bool() {
        return x;
    }
    let x = if b.func.dfg.value_type(x) == types::I8 { x } else { b.ins().ireduce(types::I8, x) };
    b.ins().band_imm_u(x, 1)
}

/// Applies an operation vector by vector.
pub(crate) fn map(x: &[Value], f: impl FnMut(Value) -> Value) -> Vectors {
    x.iter().copied().map(f).collect()
}

/// One operand.
pub(crate) fn unary(b: &mut FunctionBuilder, op: UnOp, dtype: DType, x: Value) -> Value {
    match op {
        UnOp::Not => b.ins().bnot(x),
        UnOp::Neg | UnOp::Abs | UnOp::Sqrt | UnOp::Floor | UnOp::TrailingZeros => {
            scalar::unary(b, op, dtype, x)
        }
    }
}

/// Two operands, vector by vector; `known` is the second one if it is a constant. Shifts have [`shift`].
pub(crate) fn binary(
    b: &mut FunctionBuilder,
    op: BinOp,
    dtype: DType,
    x: &[Value],
    y: &[Value],
    known: Option<Scalar>,
) -> Vectors {
    let pairs = x.iter().zip(y);
    if op == BinOp::Mul && dtype.size() == 1 {
        return pairs.map(|(&x, &y)| multiply_bytes(b, x, y)).collect();
    }
    pairs.map(|(&x, &y)| scalar::binary(b, op, dtype, x, y, known)).collect()
}

/// Machines have no product of bytes.
fn multiply_bytes(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    let (low_x, low_y) = (b.ins().uwiden_low(x), b.ins().uwiden_low(y));
    let (high_x, high_y) = (b.ins().uwiden_high(x), b.ins().uwiden_high(y));
    let (low, high) = (b.ins().imul(low_x, low_y), b.ins().imul(high_x, high_y));
    truncate(b, low, high)
}

/// A shift of all lanes by one count, of the same type as a lane; `known` if it is a constant.
pub(crate) fn shift(
    b: &mut FunctionBuilder,
    op: BinOp,
    dtype: DType,
    x: &[Value],
    count: Value,
    known: Option<Scalar>,
) -> Vectors {
    let lane = machine(dtype);
    let bits = lane.bits() as i64;
    if op == BinOp::Sar {
        let last = b.ins().iconst(lane, bits - 1);
        let count = b.ins().umin(count, last);
        return map(x, |x| b.ins().sshr(x, count));
    }
    let shifted = map(x, |x| if op == BinOp::Shl { b.ins().ishl(x, count) } else { b.ins().ushr(x, count) });
    if known.is_some_and(|k| k.bits() < bits as u128) {
        return shifted;
    }
    let inside = b.ins().icmp_imm_u(IntCC::UnsignedLessThan, count, bits);
    let inside = b.ins().bmask(lane, inside);
    let mask = b.ins().splat(mask_type(width_of(lane)), inside);
    map(&shifted, |x| b.ins().band(x, mask))
}

/// A comparison; the result is a mask of the loop's width.
pub(crate) fn compare(
    b: &mut FunctionBuilder,
    width: Width,
    op: CmpOp,
    dtype: DType,
    x: &[Value],
    y: &[Value],
) -> Vectors {
    let masks = x.iter().zip(y).map(|(&x, &y)| scalar::compare(b, op, dtype, x, y)).collect();
    narrow_mask(b, width, masks)
}

/// `c ? x : y`, lane by lane.
pub(crate) fn select(b: &mut FunctionBuilder, c: &[Value], x: &[Value], y: &[Value]) -> Vectors {
    let ty = b.func.dfg.value_type(x[0]);
    let masks = widen_mask(b, width_of(ty), c.into());
    let operands = masks.iter().zip(x.iter().zip(y));
    operands.map(|(&m, (&x, &y))| scalar::choose(b, m, x, y)).collect()
}

/// A mask for elements of a width that is not narrower.
pub(crate) fn widen_mask(b: &mut FunctionBuilder, to: Width, mut masks: Vectors) -> Vectors {
    while width_of(b.func.dfg.value_type(masks[0])) != to {
        masks = masks.iter().flat_map(|&m| widen(b, m, true)).collect();
    }
    masks
}

/// A mask of a width that is not wider.
pub(crate) fn narrow_mask(b: &mut FunctionBuilder, to: Width, mut masks: Vectors) -> Vectors {
    while width_of(b.func.dfg.value_type(masks[0])) != to {
        masks = masks
            .chunks(2)
            .map(|pair| match b.func.dfg.value_type(pair[0]) {
                types::I64X2 => truncate(b, pair[0], pair[1]),
                _ => b.ins().snarrow(pair[0], pair[1]),
            })
            .collect();
    }
    masks
}

/// Integers as integers of twice the width: the lower half of the lanes, then the upper half.
pub(crate) fn widen(b: &mut FunctionBuilder, x: Value, signed: bool) -> [Value; 2] {
    match signed {
        true => [b.ins().swiden_low(x), b.ins().swiden_high(x)],
        false => [b.ins().uwiden_low(x), b.ins().uwiden_high(x)],
    }
}

/// The lower halves of the integers of two vectors.
pub(crate) fn truncate(b: &mut FunctionBuilder, low: Value, high: Value) -> Value {
    match b.func.dfg.value_type(low) {
        types::I64X2 => {
            let even = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
            shuffle(b, low, high, even, types::I32X4)
        }
        types::I32X4 => {
            // Sign-extended in place, so that saturation changes nothing.
            let count = b.ins().iconst(types::I32, 16);
            let [low, high] = [low, high].map(|x| {
                let x = b.ins().ishl(x, count);
                b.ins().sshr(x, count)
            });
            b.ins().snarrow(low, high)
        }
        _ => {
            let mask = b.ins().iconst(types::I16, 0xff);
            let mask = b.ins().splat(types::I16X8, mask);
            let (low, high) = (b.ins().band(low, mask), b.ins().band(high, mask));
            b.ins().unarrow(low, high)
        }
    }
}

/// Bytes of two vectors in any order, as a vector of another type.
pub(crate) fn shuffle(b: &mut FunctionBuilder, x: Value, y: Value, bytes: [u8; 16], ty: Type) -> Value {
    let (x, y) = (reshape(b, x, types::I8X16), reshape(b, y, types::I8X16));
    let bytes = b.func.dfg.immediates.push(bytes.as_slice().into());
    let shuffled = b.ins().shuffle(x, y, bytes);
    reshape(b, shuffled, ty)
}

/// The same 128 bits with lanes of another size.
pub(crate) fn reshape(b: &mut FunctionBuilder, x: Value, ty: Type) -> Value {
    let little = MemFlagsData::new().with_endianness(Endianness::Little);
    if b.func.dfg.value_type(x) == ty { x } else { b.ins().bitcast(ty, little, x) }
}

/// The upper half of a vector in both halves.
pub(crate) fn upper_half(b: &mut FunctionBuilder, x: Value) -> Value {
    let ty = b.func.dfg.value_type(x);
    shuffle(b, x, x, [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15], ty)
}

/// The lower halves of two vectors.
pub(crate) fn lower_halves(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    let ty = b.func.dfg.value_type(x);
    shuffle(b, x, y, [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23], ty)
}

/// Lanes from last to first. Small lanes are swapped inside larger ones, as moving single bytes takes instructions
/// that not every machine has.
pub(crate) fn reverse(b: &mut FunctionBuilder, x: &[Value]) -> Vectors {
    let ty = b.func.dfg.value_type(x[0]);
    let size = (ty.lane_bits() / 8).max(4) as u8;
    let bytes = std::array::from_fn(|i| 16 - size - (i as u8 / size) * size + i as u8 % size);
    let mut reversed: Vectors = x.iter().rev().map(|&x| shuffle(b, x, x, bytes, ty)).collect();
    for (lane, half) in [(types::I32X4, 16), (types::I16X8, 8)] {
        if ty.lane_bits() <= half {
            let count = b.ins().iconst(types::I32, half as i64);
            reversed = map(&reversed, |x| {
                let x = reshape(b, x, lane);
                let (up, down) = (b.ins().ishl(x, count), b.ins().ushr(x, count));
                let x = b.ins().bor(up, down);
                reshape(b, x, ty)
            });
        }
    }
    reversed
}

/// A mask from one byte a lane.
pub(crate) fn load_mask(
    b: &mut FunctionBuilder,
    width: Width,
    flags: MemFlagsData,
    address: Value,
    offset: i32,
) -> Value {
    // As many bytes as there are lanes, at the low end of a vector.
    let ty = match width {
        Width::W8 => types::I8X16,
        Width::W16 => types::I64,
        Width::W32 => types::I32,
        Width::W64 => types::I16,
    };
    let x = b.ins().load(ty, flags, address, offset);
    let bytes = match width {
        Width::W8 => x,
        Width::W16 | Width::W32 | Width::W64 => {
            let vector = first_lane(b, ty.by(128 / ty.bits()).expect("128 bits are a vector"), x);
            reshape(b, vector, types::I8X16)
        }
    };
    let mut lanes = bytes;
    while width_of(b.func.dfg.value_type(lanes)) != width {
        lanes = b.ins().uwiden_low(lanes);
    }
    b.ins().ineg(lanes)
}

/// A mask to one byte a lane.
pub(crate) fn store_mask(
    b: &mut FunctionBuilder,
    width: Width,
    flags: MemFlagsData,
    mask: Value,
    address: Value,
    offset: i32,
) {
    let bytes = narrow_mask_alone(b, mask);
    let one = b.ins().iconst(types::I8, 1);
    let one = b.ins().splat(types::I8X16, one);
    let bytes = b.ins().band(bytes, one);
    let stored = match width {
        Width::W8 => bytes,
        Width::W16 => {
            let x = reshape(b, bytes, types::I64X2);
            b.ins().extractlane(x, 0)
        }
        Width::W32 => {
            let x = reshape(b, bytes, types::I32X4);
            b.ins().extractlane(x, 0)
        }
        Width::W64 => {
            let x = reshape(b, bytes, types::I16X8);
            b.ins().extractlane(x, 0)
        }
    };
    b.ins().store(flags, stored, address, offset);
}

/// A mask of bytes whose first ones are the lanes of `mask`.
fn narrow_mask_alone(b: &mut FunctionBuilder, mut mask: Value) -> Value {
    while b.func.dfg.value_type(mask) != mask_type(Width::W8) {
        mask = match b.func.dfg.value_type(mask) {
            types::I64X2 => truncate(b, mask, mask),
            _ => b.ins().snarrow(mask, mask),
        };
    }
    mask
}
