//! Random expressions over a pool of values.

use tj_tensor::DType;

use super::{Random, SampleOptions};
use crate::arith;
use crate::build::Builder;
use crate::ir::{BinOp, CmpOp, Kernel, Op, UnOp, Value};

/// What expressions are made from at one place: everything in it is in scope there.
pub(super) type Pool = Vec<Value>;

/// Adds a random number of operations on values of the pool to it.
pub(super) fn grow(random: &mut Random, options: &SampleOptions, b: &mut Builder, pool: &mut Pool) {
    for _ in 0..=random.below(options.max_operations) {
        if let Some(value) = operation(random, options, b, pool) {
            pool.push(value);
        }
    }
}

/// A value of a type: one of the pool, a constant, or a conversion.
pub(super) fn operand(random: &mut Random, b: &mut Builder, pool: &Pool, dtype: DType) -> Value {
    let fitting: Vec<Value> = pool.iter().copied().filter(|&v| b.dtype(v) == dtype).collect();
    match random.below(6) {
        0 => {}
        // What was made last is most likely to be a large expression.
        1 | 2 if !fitting.is_empty() => return fitting[fitting.len() - 1],
        _ if !fitting.is_empty() => return random.pick(&fitting),
        _ if !pool.is_empty() => {
            let other = random.pick(pool);
            return b.cast(other, dtype);
        }
        _ => {}
    }
    let scalar = random.scalar(dtype);
    b.constant(scalar)
}

/// An operation by which elements of a type are combined.
pub(super) fn combine(random: &mut Random, dtype: DType) -> BinOp {
    let candidates =
        [BinOp::Add, BinOp::Mul, BinOp::Max, BinOp::Min, BinOp::Sub, BinOp::And, BinOp::Or, BinOp::Xor];
    let fitting: Vec<BinOp> =
        candidates.into_iter().filter(|&op| arith::binary(op, dtype).is_some()).collect();
    random.pick(&fitting)
}

/// Whether arithmetic is defined on a type.
pub(super) fn is_computed_with(dtype: DType) -> bool {
    !matches!(dtype, DType::F16 | DType::BF16)
}

fn operation(random: &mut Random, options: &SampleOptions, b: &mut Builder, pool: &Pool) -> Option<Value> {
    let dtype = random.pick(&options.dtypes);
    let a = if random.one_in(3) { operand(random, b, pool, dtype) } else { random.pick(pool) };
    let dtype = b.dtype(a);
    Some(match random.below(12) {
        0 | 1 => {
            let op = random.pick(&UnOp::ALL);
            arith::unary(op, dtype)?;
            b.unary(op, a)
        }
        2..=5 => {
            let op = random.pick(&BinOp::ALL);
            arith::binary(op, dtype)?;
            let other = operand(random, b, pool, dtype);
            b.binary(op, a, other)
        }
        6 => {
            let op = random.pick(&CmpOp::ALL);
            arith::compare(op, dtype)?;
            let other = operand(random, b, pool, dtype);
            b.compare(op, a, other)
        }
        7 | 8 => {
            let cond = operand(random, b, pool, DType::Bool);
            let other = operand(random, b, pool, dtype);
            b.select(cond, a, other)
        }
        9 => {
            arith::fma(dtype)?;
            let (x, y) = (operand(random, b, pool, dtype), operand(random, b, pool, dtype));
            b.fma(x, a, y)
        }
        10 => {
            let to = random.pick(&options.dtypes);
            b.cast(a, to)
        }
        _ => {
            let to = random.pick(&options.dtypes);
            let has_stated_bits = !dtype.is_float() || is_moved(b.kernel(), a);
            if !has_stated_bits || !arith::can_bitcast(dtype, to) {
                return None;
            }
            b.bitcast(a, to)
        }
    })
}

/// Whether a value was not computed, so that even the bits of a NaN are known.
fn is_moved(kernel: &Kernel, value: Value) -> bool {
    match kernel.op(value) {
        Op::Const(_) | Op::Param(_) => true,
        Op::Load(buffer, _) => kernel.buffers[buffer.index()].access.is_read(),
        Op::Size(_)
        | Op::TaskLo
        | Op::TaskHi
        | Op::LoopVar
        | Op::Folded
        | Op::Get(_)
        | Op::Unary(..)
        | Op::Binary(..)
        | Op::Compare(..)
        | Op::Select(..)
        | Op::Fma(..)
        | Op::Cast(_)
        | Op::Bitcast(_) => false,
    }
}
