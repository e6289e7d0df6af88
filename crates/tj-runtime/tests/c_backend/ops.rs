//! Every operation on every type it is defined on, over special values.

use tj_ir::dim::Dim;
use tj_kernel::sample::Sample;
use tj_kernel::{Access, BinOp, BufferContents, Builder, CmpOp, Grid, LoopKind, UnOp, Value, arith};
use tj_tensor::{DType, Scalar};

use crate::run::check;

/// Makes a value from three operands of the input type.
type Make = Box<dyn Fn(&mut Builder, [Value; 3]) -> Value>;

/// An operation to test: what it makes, and of which type.
type Output = (DType, Make);

fn kernel_types() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|&d| arith::is_kernel_type(d))
}

/// Bits where something changes: ends of ranges, signs, the smallest steps, halfway cases of conversions.
fn specials(dtype: DType) -> Vec<u64> {
    let mut values: Vec<Scalar> = Vec::new();
    if dtype.is_float() {
        let magnitudes = [
            0.0,
            0.5,
            1.0,
            1.5,
            2.5,
            3.0,
            0.1,
            127.5,
            128.0,
            255.5,
            256.0,
            32767.5,
            65504.0,
            65519.0,
            65520.0,
            65535.5,
            65536.0,
            8388607.5,
            8388608.0,
            16777217.0,
            2147483520.0,
            2147483647.0,
            2147483648.0,
            4294967040.0,
            4294967296.0,
            4503599627370495.5,
            9007199254740993.0,
            9223372036854774784.0,
            9223372036854775808.0,
            18446744073709549568.0,
            18446744073709551616.0,
            6.103515625e-5,
            5.96e-8,
            2.98e-8,
            2.980232238769531e-8,
            1e-40,
            1.1754944e-38,
            5e-324,
            1e-310,
            3.4028235e38,
            1e39,
            1.797e308,
            f64::INFINITY,
            f64::NAN,
        ];
        values.extend(magnitudes.iter().flat_map(|&m| [m, -m]).map(|x| Scalar::F64(x).cast(dtype)));
    } else {
        let ends = [f64::NEG_INFINITY, f64::INFINITY].map(|x| Scalar::F64(x).cast(DType::I64).to_i64());
        let dense =
            [-9, -8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128];
        values.extend(dense.iter().chain(&ends).map(|&x| Scalar::I64(x).cast(dtype)));
        let bits = 8 * dtype.size() as u32;
        let edges =
            [1u64 << (bits - 1), (1 << (bits - 1)) - 1, u64::MAX >> (64 - bits), (1 << (bits - 1)) + 1];
        values.extend(edges.map(|x| Scalar::from_bits(dtype, x as u128)));
        values.extend(
            [0x1234_5678_9abc_def1u64, 0xfedc_ba98_7654_3210].map(|x| Scalar::from_bits(dtype, x as u128)),
        );
    }
    let mut bits: Vec<u64> = values.iter().map(|v| v.bits() as u64).collect();
    bits.sort_unstable();
    bits.dedup();
    bits
}

/// All pairs, and a third operand that goes its own way.
fn operands(dtype: DType) -> [Vec<u64>; 3] {
    let s = specials(dtype);
    let pairs = || s.iter().flat_map(|&a| s.iter().map(move |&b| (a, b)));
    let third = (0..s.len() * s.len()).map(|i| s[i * 7 % s.len()]).collect();
    [pairs().map(|p| p.0).collect(), pairs().map(|p| p.1).collect(), third]
}

/// A call of a kernel that computes `outputs` from three buffers of `dtype` in one lanes loop.
fn call(name: String, dtype: DType, inputs: &[Vec<u64>; 3], outputs: Vec<Output>) -> Sample {
    let n = inputs[0].len();
    let dim = Dim::from(n);
    let mut b = Builder::new(name, Grid { extent: dim.clone(), multiple: 1, cost: Dim::from(1) });
    let buffers = ["a", "b", "c"].map(|name| b.buffer(name, dtype, dim.clone(), Access::Read));
    let mut contents: Vec<_> = inputs.iter().map(|bits| BufferContents::from_bits(dtype, bits)).collect();
    let results: Vec<_> = outputs
        .iter()
        .map(|(dtype, _)| {
            contents.push(BufferContents::zeroed(*dtype, n));
            b.buffer("result", *dtype, dim.clone(), Access::Write)
        })
        .collect();
    let (lo, hi) = b.task();
    b.for_loop(LoopKind::Lanes(32), lo, hi, |b, i| {
        let operands = buffers.map(|buffer| b.load(buffer, i));
        for ((_, make), &result) in outputs.iter().zip(&results) {
            let value = make(b, operands);
            b.store(result, i, value);
        }
    });
    Sample {
        kernel: b.finish(),
        symbols: vec![],
        sizes: vec![],
        params: vec![],
        contents,
        tasks: 0..n as i64,
    }
}

/// Four outputs a kernel: enough to share loads, few enough to be vectorised one without the other.
fn calls(name: &str, dtype: DType, outputs: Vec<Output>) -> Vec<Sample> {
    let inputs = operands(dtype);
    let mut outputs = outputs.into_iter().peekable();
    let mut calls = Vec::new();
    while outputs.peek().is_some() {
        let some = outputs.by_ref().take(4).collect();
        calls.push(call(format!("{name}_{dtype}_{}", calls.len()), dtype, &inputs, some));
    }
    calls
}

#[test]
fn arithmetic() {
    let mut all = Vec::new();
    for dtype in kernel_types() {
        let mut outputs: Vec<Output> = Vec::new();
        for op in UnOp::ALL.into_iter().filter(|&op| arith::unary(op, dtype).is_some()) {
            outputs.push((dtype, Box::new(move |b, [x, ..]| b.unary(op, x))));
        }
        for op in BinOp::ALL.into_iter().filter(|&op| arith::binary(op, dtype).is_some()) {
            outputs.push((dtype, Box::new(move |b, [x, y, _]| b.binary(op, x, y))));
        }
        if arith::fma(dtype).is_some() {
            outputs.push((dtype, Box::new(|b, [x, y, z]| b.fma(x, y, z))));
        }
        all.extend(calls("arith", dtype, outputs));
    }
    check(&all);
}

#[test]
fn comparisons_and_selections() {
    let mut all = Vec::new();
    for dtype in kernel_types() {
        let mut outputs: Vec<Output> = Vec::new();
        for op in CmpOp::ALL.into_iter().filter(|&op| arith::compare(op, dtype).is_some()) {
            outputs.push((DType::Bool, Box::new(move |b, [x, y, _]| b.compare(op, x, y))));
            outputs.push((
                dtype,
                Box::new(move |b, [x, y, z]| {
                    let c = b.compare(op, x, z);
                    b.select(c, y, z)
                }),
            ));
        }
        all.extend(calls("compare", dtype, outputs));
    }
    check(&all);
}

#[test]
fn conversions() {
    let mut all = Vec::new();
    for from in kernel_types() {
        let mut outputs: Vec<Output> = Vec::new();
        for to in kernel_types().filter(|&to| to != from) {
            outputs.push((to, Box::new(move |b, [x, ..]| b.cast(x, to))));
            if arith::can_bitcast(from, to) {
                outputs.push((to, Box::new(move |b, [x, ..]| b.bitcast(x, to))));
            }
        }
        all.extend(calls("convert", from, outputs));
    }
    check(&all);
}

/// Floats to integers and back: a compiler may want to see a truncation there, with its negative zero.
#[test]
fn round_trips() {
    let mut all = Vec::new();
    for float in kernel_types().filter(|d| d.is_float()) {
        let mut outputs: Vec<Output> = Vec::new();
        for int in kernel_types().filter(|d| d.is_int()) {
            outputs.push((
                float,
                Box::new(move |b, [x, ..]| {
                    let whole = b.cast(x, int);
                    b.cast(whole, float)
                }),
            ));
        }
        all.extend(calls("round_trip", float, outputs));
    }
    check(&all);
}

/// All 65536 halves outward, and inward the neighbourhood of every half and of every midpoint between two.
#[test]
fn every_half() {
    let cast = |to: DType| -> Output { (to, Box::new(move |b, [x, ..]| b.cast(x, to))) };
    let all_bits: Vec<u64> = (0..1 << 16).collect();
    let mut all = Vec::new();
    for half in [DType::F16, DType::BF16] {
        let inputs = [all_bits.clone(), all_bits.clone(), all_bits.clone()];
        let outputs = [DType::F32, DType::F64, DType::I32].map(cast).into();
        all.push(call(format!("from_{half}"), half, &inputs, outputs));
    }
    let low = [0, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001];
    let around: Vec<f32> =
        (0..1u32 << 16).flat_map(|high| low.map(|low| high << 16 | low)).map(f32::from_bits).collect();
    let singles: Vec<u64> = around.iter().map(|x| x.to_bits().into()).collect();
    let doubles: Vec<u64> = around
        .iter()
        .step_by(5)
        .flat_map(|&x| [-1i64, 0, 1].map(|d| (f64::from(x).to_bits() as i64).wrapping_add(d) as u64))
        .collect();
    for (from, bits) in [(DType::F32, singles), (DType::F64, doubles)] {
        let inputs = [bits.clone(), bits.clone(), bits];
        all.push(call(format!("to_half_{from}"), from, &inputs, [DType::F16, DType::BF16].map(cast).into()));
    }
    // Integers with few bits set, where two roundings would show.
    let mut integers: Vec<u64> = Vec::new();
    for high in 0..64u32 {
        for low in 0..high {
            for mid in [0, high.saturating_sub(8), high.saturating_sub(9)] {
                let x = 1u64 << high | 1 << mid | 1 << low;
                integers.extend([x, x.wrapping_neg(), x - 1]);
            }
        }
    }
    for from in [DType::I64, DType::U64, DType::I32, DType::U32] {
        let bits: Vec<u64> =
            integers.iter().map(|&x| if from.size() == 8 { x } else { x & 0xffff_ffff }).collect();
        let inputs = [bits.clone(), bits.clone(), bits];
        all.push(call(
            format!("int_{from}"),
            from,
            &inputs,
            [DType::F16, DType::BF16, DType::F32].map(cast).into(),
        ));
    }
    check(&all);
}

/// `Max` and `Min` with a constant, which are one comparison.
#[test]
fn clamps() {
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let mut outputs: Vec<Output> = Vec::new();
        for c in [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let c = Scalar::F64(c).cast(dtype);
            for (op, first) in [BinOp::Max, BinOp::Min].into_iter().flat_map(|op| [(op, true), (op, false)]) {
                let make = move |b: &mut Builder, [x, ..]: [Value; 3]| {
                    let c = b.constant(c);
                    if first { b.binary(op, c, x) } else { b.binary(op, x, c) }
                };
                outputs.push((dtype, Box::new(make)));
            }
        }
        all.extend(calls("clamp", dtype, outputs));
    }
    check(&all);
}

/// Constants of all bits, and operations among them: C would give integer literals the type `int`.
#[test]
fn constants() {
    let all = kernel_types().map(|dtype| {
        let mut b = Builder::new(
            format!("constants_{dtype}"),
            Grid { extent: 1.into(), multiple: 1, cost: 1.into() },
        );
        let mut results = Vec::new();
        for bits in specials(dtype) {
            results.push(b.constant(Scalar::from_bits(dtype, bits.into())));
        }
        let pairs = [
            (5, 6),
            (0, 1),
            (65536, 65537),
            (2147483647, 1),
            (-1, 2147483647),
            (3, 40),
            (i64::MIN, -1),
            (7, -2),
        ];
        for (x, y) in pairs {
            let [x, y] = [x, y].map(|x| b.constant(Scalar::I64(x).cast(dtype)));
            let binary = BinOp::ALL.into_iter().filter(|&op| arith::binary(op, dtype).is_some());
            results.extend(binary.map(|op| b.binary(op, x, y)));
            let unary = UnOp::ALL.into_iter().filter(|&op| arith::unary(op, dtype).is_some());
            results.extend(unary.map(|op| b.unary(op, x)));
            for to in kernel_types() {
                let there = b.cast(x, to);
                results.push(b.cast(there, dtype));
            }
        }
        let n = results.len();
        let y = b.buffer("y", dtype, n.into(), Access::Write);
        for (i, value) in results.into_iter().enumerate() {
            let i = b.int(i as i64);
            b.store(y, i, value);
        }
        let contents = vec![BufferContents::zeroed(dtype, n)];
        Sample { kernel: b.finish(), symbols: vec![], sizes: vec![], params: vec![], contents, tasks: 0..1 }
    });
    check(&all.collect::<Vec<_>>());
}
