//! The exact remainder of floats, by long division of significands.
//!
//! `x = m 2^e` and `y = n 2^f` with integers `m` and `n`, in f64 whatever the width: an f32 is an f64, and so is its
//! remainder. `m` modulo `n` is doubled `e - f` times, eleven bits at a time, which is what an integer division has
//! room for above 53 bits. That is one loop of at most 191 rounds, and none where `x < 2^11 y`; it is the only loop that
//! an operation of the kernel language turns into. Arguments without a remainder divide by 1, and the result is selected.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::immediates::Ieee64;
use cranelift_codegen::ir::{BlockArg, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;
use tj_tensor::DType;

const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff << 52;
const FRACTION: u64 = (1 << 52) - 1;

/// `x` modulo `y` with the sign of `x`; NaN by zero and of infinities.
pub(crate) fn remainder(b: &mut FunctionBuilder, dtype: DType, x: Value, y: Value) -> Value {
    if dtype == DType::F32 {
        let (x, y) = (b.ins().fpromote(types::F64, x), b.ins().fpromote(types::F64, y));
        let r = of_doubles(b, x, y);
        return b.ins().fdemote(types::F32, r);
    }
    of_doubles(b, x, y)
}

fn of_doubles(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    let infinity = number(b, INFINITY);
    let zero = number(b, 0);
    let magnitude = number(b, !SIGN);
    let x_bits = b.ins().bitcast(types::I64, MemFlagsData::new(), x);
    let p = b.ins().band(x_bits, magnitude);
    let y_bits = b.ins().bitcast(types::I64, MemFlagsData::new(), y);
    let q = b.ins().band(y_bits, magnitude);

    let by_zero = b.ins().icmp(IntCC::Equal, q, zero);
    let endless = b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, p, infinity);
    let by_nan = b.ins().icmp(IntCC::UnsignedGreaterThan, q, infinity);
    let undefined = b.ins().bor(by_zero, endless);
    let undefined = b.ins().bor(undefined, by_nan);
    let less = b.ins().icmp(IntCC::UnsignedLessThan, p, q);
    let trivial = b.ins().bor(undefined, less);

    let (p_exponent, m) = parts(b, p);
    let (q_exponent, n) = parts(b, q);
    let one = number(b, 1);
    let n = b.ins().select(trivial, one, n);
    let left = b.ins().isub(p_exponent, q_exponent);
    let left = b.ins().select(trivial, zero, left);
    let m = b.ins().urem(m, n);

    let [header, body, after] = [(); 3].map(|()| b.create_block());
    b.ins().jump(header, &[BlockArg::Value(left), BlockArg::Value(m)]);
    let left = b.append_block_param(header, types::I64);
    let m = b.append_block_param(header, types::I64);
    b.switch_to_block(header);
    b.ins().brif(left, body, &[], after, &[]);
    b.seal_block(body);
    b.switch_to_block(body);
    let eleven = number(b, 11);
    let step = b.ins().umin(left, eleven);
    let shifted = b.ins().ishl(m, step);
    let next = b.ins().urem(shifted, n);
    let rest = b.ins().isub(left, step);
    b.ins().jump(header, &[BlockArg::Value(rest), BlockArg::Value(next)]);
    b.seal_block(header);
    b.seal_block(after);
    b.switch_to_block(after);

    // Both products are exact: `m` has at most 53 bits, and the result is a multiple of the least subnormal.
    let r = b.ins().fcvt_from_uint(types::F64, m);
    let down = b.ins().f64const(Ieee64::with_bits((1023 - 52) << 52));
    let r = b.ins().fmul(r, down);
    let power = b.ins().ishl_imm_u(q_exponent, 52);
    let power = b.ins().bitcast(types::F64, MemFlagsData::new(), power);
    let r = b.ins().fmul(r, power);
    let r = b.ins().fcopysign(r, x);
    let r = b.ins().select(less, x, r);
    let nan = b.ins().f64const(Ieee64::with_bits(f64::NAN.to_bits()));
    b.ins().select(undefined, nan, r)
}

/// The exponent field and the significand as an integer; subnormals have the field of the least normal.
fn parts(b: &mut FunctionBuilder, bits: Value) -> (Value, Value) {
    let one = number(b, 1);
    let mask = number(b, FRACTION);
    let field = b.ins().ushr_imm_u(bits, 52);
    let exponent = b.ins().umax(field, one);
    let normal = b.ins().umin(field, one);
    let leading = b.ins().ishl_imm_u(normal, 52);
    let fraction = b.ins().band(bits, mask);
    (exponent, b.ins().bor(fraction, leading))
}

fn number(b: &mut FunctionBuilder, bits: u64) -> Value {
    b.ins().iconst(types::I64, bits.cast_signed())
}
