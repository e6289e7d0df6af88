//! Every operation on every type, on values where it could go wrong, against the interpreter.

mod common;

use common::{Case, buffer, check, elementwise, special};
use tj_kernel::{BinOp, Builder, CmpOp, LoopKind, UnOp, Value, arith};
use tj_tensor::{DType, Scalar};

/// All tuples of special values, in a serial loop and in a lanes loop.
fn cases(ins: &[DType], out: DType, f: impl Fn(&mut Builder, &[Value]) -> Value) -> Vec<Case> {
    let lists: Vec<Vec<Scalar>> = ins.iter().map(|&d| special(d)).collect();
    // Enough for vectors of bytes.
    let n: usize = lists.iter().map(Vec::len).product::<usize>().max(70);
    let mut stride = 1;
    let mut buffers = Vec::new();
    for (list, &dtype) in lists.iter().zip(ins) {
        buffers.push(buffer(dtype, (0..n).map(|i| list[i / stride % list.len()])));
        stride *= list.len();
    }
    buffers.push(buffer(out, vec![Scalar::zero(out); n]));
    let case = |kind| Case::new(elementwise(n, kind, ins, out, &f), buffers.clone(), 0..n as i64);
    vec![case(LoopKind::Serial), case(LoopKind::Lanes(32))]
}

fn types() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|d| arith::is_kernel_type(*d))
}

#[test]
fn unary() {
    for dtype in types() {
        let ops = UnOp::ALL.into_iter().filter(|&op| arith::unary(op, dtype).is_some());
        check(ops.flat_map(|op| cases(&[dtype], dtype, |b, x| b.unary(op, x[0]))).collect());
    }
}

#[test]
fn binary() {
    for dtype in types() {
        let ops = BinOp::ALL.into_iter().filter(|&op| arith::binary(op, dtype).is_some());
        check(ops.flat_map(|op| cases(&[dtype, dtype], dtype, |b, x| b.binary(op, x[0], x[1]))).collect());
    }
}

/// Division by a known number has its own code, and so have shifts of all lanes by one count, and limits.
#[test]
fn binary_with_a_constant() {
    for dtype in types().filter(|d| !d.is_bool()) {
        let ops = [
            BinOp::FloorDiv,
            BinOp::Mod,
            BinOp::Rem,
            BinOp::Shl,
            BinOp::Sar,
            BinOp::Shr,
            BinOp::Max,
            BinOp::Min,
        ];
        let ops = ops.into_iter().filter(|&op| arith::binary(op, dtype).is_some());
        let constants = special(dtype);
        let both = ops.flat_map(|op| constants.iter().map(move |&c| (op, c)));
        check(
            both.flat_map(|(op, c)| {
                cases(&[dtype], dtype, move |b, x| {
                    let c = b.constant(c);
                    b.binary(op, x[0], c)
                })
            })
            .collect(),
        );
    }
}

#[test]
fn compare_and_select() {
    for dtype in types() {
        let ops = CmpOp::ALL.into_iter().filter(|&op| arith::compare(op, dtype).is_some());
        let mut all = Vec::new();
        for op in ops {
            all.extend(cases(&[dtype, dtype], DType::Bool, |b, x| b.compare(op, x[0], x[1])));
            all.extend(cases(&[dtype, dtype], dtype, |b, x| {
                let c = b.compare(op, x[0], x[1]);
                b.select(c, x[0], x[1])
            }));
        }
        all.extend(cases(&[DType::Bool, dtype, dtype], dtype, |b, x| b.select(x[0], x[1], x[2])));
        check(all);
    }
}

#[test]
fn fma() {
    for dtype in [DType::F32, DType::F64] {
        check(cases(&[dtype; 3], dtype, |b, x| b.fma(x[0], x[1], x[2])));
    }
}

#[test]
fn cast_and_bitcast() {
    for from in types() {
        let mut all = Vec::new();
        for to in types() {
            all.extend(cases(&[from], to, |b, x| b.cast(x[0], to)));
            if arith::can_bitcast(from, to) {
                all.extend(cases(&[from], to, |b, x| b.bitcast(x[0], to)));
            }
            // Into a type of one width and back, beside work that pays for vectors.
            for wide in [DType::F32, DType::F64] {
                all.extend(cases(&[from, wide], wide, |b, x| {
                    let y = b.cast(x[0], to);
                    let y = b.cast(y, wide);
                    let z = (0..6).fold(x[1], |z, _| b.binary(BinOp::Mul, z, x[1]));
                    b.binary(BinOp::Max, y, z)
                }));
            }
        }
        check(all);
    }
}

#[test]
fn all_f16_and_bf16_patterns_convert() {
    for dtype in [DType::F16, DType::BF16] {
        for (from, to) in [(dtype, DType::F32), (DType::F32, dtype), (DType::F64, dtype)] {
            let n = 1 << 16;
            // Around every value of 16 bits, where rounding decides.
            let bits = (0..n as u128).map(|i| Scalar::from_bits(dtype, i));
            let near = |s: Scalar| {
                Scalar::from_bits(from, s.cast(from).bits() ^ (((s.bits() % 5) << 10) | (s.bits() % 3)))
            };
            let input = buffer(from, bits.map(|s| if from == dtype { s } else { near(s) }));
            let output = buffer(to, vec![Scalar::zero(to); n]);
            let kernel = elementwise(n, LoopKind::Lanes(32), &[from], to, |b, x| b.cast(x[0], to));
            check(vec![Case::new(kernel, vec![input, output], 0..n as i64)]);
        }
    }
}

/// Operations without a vector form, inside loops that vectorise.
#[test]
fn lane_by_lane() {
    for dtype in [DType::I32, DType::U32, DType::I64, DType::U64] {
        let mut all = Vec::new();
        for op in [BinOp::FloorDiv, BinOp::Mod, BinOp::Shl, BinOp::Shr] {
            all.extend(cases(&[dtype, dtype], dtype, |b, x| {
                let y = (0..12).fold(x[0], |y, _| b.binary(BinOp::Sub, y, x[1]));
                let z = b.binary(op, x[0], x[1]);
                b.binary(BinOp::Xor, y, z)
            }));
        }
        check(all);
    }
}
