//! Conversions of vectors, for the pairs of types that `tj_kernel::lanes` allows.
//!
//! The number of vectors changes with the size of the type. The steps are those of [`crate::convert`], on
//! whole vectors: integers widen and narrow by halves and doubles, floats meet integers at 32 bits.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use tj_kernel::CmpOp;
use tj_kernel::lanes::Width;
use tj_tensor::{DType, Scalar};

use crate::convert::{f16_to_single, is_half, single_to_bf16, single_to_f16};
use crate::scalar::{self, bitcast};
use crate::types::{vector_type, width_of};
use crate::vector::{self, Vectors, lower_halves, map, truncate, upper_half, widen, widen_mask};

/// A total conversion.
pub(crate) fn cast(b: &mut FunctionBuilder, width: Width, from: DType, to: DType, x: &[Value]) -> Vectors {
    let target = vector_type(width, to);
    if to.is_bool() {
        let zero = scalar::constant(b, Scalar::zero(from));
        let zero = vector::splat(b, width, from, zero);
        return vector::compare(b, width, CmpOp::Ne, from, x, &zero);
    }
    if from.is_bool() {
        let one = scalar::constant(b, Scalar::one(to));
        let one = vector::splat(b, width, to, one)[0];
        let masks = widen_mask(b, width_of(target), x.into());
        return map(&masks, |m| {
            let m = bitcast(b, m, target);
            b.ins().band(m, one)
        });
    }
    match (from.is_float(), to.is_float()) {
        (false, false) => integers(b, from.is_signed(), x, width_of(target)),
        (false, true) => from_integers(b, from, to, x),
        (true, false) => {
            let x = singles(b, from, x);
            to_integers(b, to, &x)
        }
        (true, true) if from == to => x.into(),
        (true, true) if from == DType::F64 => {
            let pairs = x.chunks(2);
            pairs
                .map(|pair| {
                    let (low, high) = (b.ins().fvdemote(pair[0]), b.ins().fvdemote(pair[1]));
                    lower_halves(b, low, high)
                })
                .collect()
        }
        (true, true) => {
            let x = singles(b, from, x);
            from_singles(b, to, &x)
        }
    }
}

/// Integers of another size: extended, or cut off.
fn integers(b: &mut FunctionBuilder, signed: bool, x: &[Value], to: Width) -> Vectors {
    let mut x: Vectors = x.into();
    loop {
        let found = width_of(b.func.dfg.value_type(x[0]));
        if found == to {
            return x;
        }
        x = match found.bytes() < to.bytes() {
            true => x.iter().flat_map(|&x| widen(b, x, signed)).collect(),
            false => x.chunks(2).map(|pair| truncate(b, pair[0], pair[1])).collect(),
        };
    }
}

fn from_integers(b: &mut FunctionBuilder, from: DType, to: DType, x: &[Value]) -> Vectors {
    let signed = from.is_signed();
    if to != DType::F64 {
        let x = integers(b, signed, x, Width::W32);
        // Small unsigned numbers are positive as signed ones, which convert faster.
        let x = map(&x, |x| match signed || from.size() < 4 {
            true => b.ins().fcvt_from_sint(types::F32X4, x),
            false => b.ins().fcvt_from_uint(types::F32X4, x),
        });
        return from_singles(b, to, &x);
    }
    if from.size() == 8 {
        return map(x, |x| match signed {
            true => b.ins().fcvt_from_sint(types::F64X2, x),
            false => b.ins().fcvt_from_uint(types::F64X2, x),
        });
    }
    let x = integers(b, signed, x, Width::W32);
    let halves = x.iter().flat_map(|&x| [x, upper_half(b, x)]).collect::<Vectors>();
    map(&halves, |x| match signed || from.size() < 4 {
        true => {
            let x = b.ins().swiden_low(x);
            b.ins().fcvt_from_sint(types::F64X2, x)
        }
        false => {
            let x = b.ins().uwiden_low(x);
            b.ins().fcvt_from_uint(types::F64X2, x)
        }
    })
}

/// To integers of at most 32 bits. Narrowing saturates as the conversion has to.
fn to_integers(b: &mut FunctionBuilder, to: DType, x: &[Value]) -> Vectors {
    let mut x = map(x, |x| match to == DType::U32 {
        true => b.ins().fcvt_to_uint_sat(types::I32X4, x),
        false => b.ins().fcvt_to_sint_sat(types::I32X4, x),
    });
    for last in [2, 1] {
        if to.size() <= last {
            let unsigned = !to.is_signed() && to.size() == last;
            x = x
                .chunks(2)
                .map(|pair| match unsigned {
                    true => b.ins().unarrow(pair[0], pair[1]),
                    false => b.ins().snarrow(pair[0], pair[1]),
                })
                .collect();
        }
    }
    x
}

/// Floats that are not f64 as f32.
fn singles(b: &mut FunctionBuilder, from: DType, x: &[Value]) -> Vectors {
    if !is_half(from) {
        return x.into();
    }
    let bits = x.iter().flat_map(|&x| widen(b, x, false)).collect::<Vectors>();
    map(&bits, |x| {
        if from == DType::F16 {
            return f16_to_single(b, x);
        }
        let count = b.ins().iconst(types::I32, 16);
        let x = b.ins().ishl(x, count);
        bitcast(b, x, types::F32X4)
    })
}

/// f32 as another float.
fn from_singles(b: &mut FunctionBuilder, to: DType, x: &[Value]) -> Vectors {
    if to == DType::F64 {
        let halves = x.iter().flat_map(|&x| [x, upper_half(b, x)]).collect::<Vectors>();
        return map(&halves, |x| b.ins().fvpromote_low(x));
    }
    if !is_half(to) {
        return x.into();
    }
    let bits = map(x, |x| if to == DType::F16 { single_to_f16(b, x) } else { single_to_bf16(b, x) });
    bits.chunks(2).map(|pair| truncate(b, pair[0], pair[1])).collect()
}
