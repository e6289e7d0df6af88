//! Loops, lanes and their ends, at many sizes.

use std::ops::Range;

use tj_ir::dim::Dim;
use tj_kernel::sample::Sample;
use tj_kernel::{
    Access, BinOp, Buf, BufferContents, Builder, CmpOp, Gemm, Grid, Kernel, LoopKind, Matrix, Op, UnOp, Value,
};
use tj_tensor::{DType, Scalar};

use crate::run::check;

const SIZES: [i64; 12] = [0, 1, 3, 7, 8, 31, 32, 33, 64, 65, 100, 1000];

fn dim(name: &str) -> Dim {
    Dim::new(name, 0..=4096).unwrap()
}

fn builder(name: &str, extent: Dim) -> Builder {
    Builder::new(name, Grid { extent, multiple: 1, cost: Dim::from(1) })
}

fn number(b: &mut Builder, dtype: DType, x: f64) -> Value {
    b.constant(Scalar::F64(x).cast(dtype))
}

/// Numbers that show the order of additions, with a NaN and a zero of each sign now and then.
fn data(dtype: DType, n: i64) -> BufferContents {
    let value = |i: i64| match i % 97 {
        41 => -0.0,
        83 if i % 5 == 0 => f64::NAN,
        k => ((k * 37 % 101) as f64 - 50.0) * 0.37 * if i % 11 == 0 { 1e4 } else { 1.0 },
    };
    let bits: Vec<u64> = (0..n).map(|i| Scalar::F64(value(i)).cast(dtype).bits() as u64).collect();
    BufferContents::from_bits(dtype, &bits)
}

/// A call with buffers of the given lengths, all filled.
fn call(kernel: &Kernel, lens: &[i64], sizes: &[(&str, i64)], tasks: Range<i64>) -> Sample {
    let kernel = kernel.clone();
    let value = |d: &Dim| {
        let text = d.to_string();
        sizes.iter().find(|(name, _)| *name == text).unwrap_or_else(|| panic!("no size {text}")).1
    };
    let contents = kernel.buffers.iter().zip(lens).map(|(b, &len)| data(b.dtype, len)).collect();
    Sample {
        sizes: kernel.sizes.iter().map(value).collect(),
        kernel,
        symbols: vec![],
        params: vec![],
        contents,
        tasks,
    }
}

/// `y = x * x + i`, whole and in part.
#[test]
fn elementwise_tails() {
    let mut calls = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::I32, DType::U8] {
        for lanes in [1, 8, 16, 32, 256] {
            let mut b = builder(&format!("map_{dtype}_{lanes}"), dim("n"));
            let x = b.buffer("x", dtype, dim("n"), Access::Read);
            let y = b.buffer("y", dtype, dim("n"), Access::Write);
            let (lo, hi) = b.task();
            b.for_loop(LoopKind::Lanes(lanes), lo, hi, |b, i| {
                let x = b.load(x, i);
                let square = b.binary(BinOp::Mul, x, x);
                let position = b.cast(i, dtype);
                let sum = b.binary(BinOp::Add, square, position);
                b.store(y, i, sum);
            });
            let kernel = b.finish();
            for n in SIZES {
                calls.push(call(&kernel, &[n, n], &[], 0..n));
                calls.push(call(&kernel, &[n, n], &[], n / 3..n - n / 4));
            }
        }
    }
    check(&calls);
}

/// Every row folded over lane variables, two of them at once.
#[test]
fn rows() {
    let mut calls = Vec::new();
    for (dtype, lanes) in [
        (DType::F32, 32),
        (DType::F32, 1),
        (DType::F32, 2),
        (DType::F32, 8),
        (DType::F64, 16),
        (DType::I64, 16),
        (DType::I8, 64),
        (DType::F32, 256),
    ] {
        let ops = [BinOp::Add, BinOp::Mul, BinOp::Max, BinOp::Min];
        for op in ops.into_iter().take(if lanes == 16 || lanes == 32 { 4 } else { 1 }) {
            let mut b = builder(&format!("rows_{dtype}_{lanes}_{}", op.name()), dim("m"));
            let x = b.buffer("x", dtype, dim("size"), Access::Read);
            let y = b.buffer("y", dtype, dim("m"), Access::Write);
            let n = b.size(&dim("n"));
            let (lo, hi) = b.task();
            let (zero, one) = (number(&mut b, dtype, 0.0), number(&mut b, dtype, 1.0));
            b.for_loop(LoopKind::Serial, lo, hi, |b, row| {
                let (acc, largest) = (b.declare_lanes(lanes, one), b.declare_lanes(lanes, zero));
                let start = b.binary(BinOp::Mul, row, n);
                let end = b.binary(BinOp::Add, start, n);
                b.for_loop(LoopKind::Lanes(lanes), start, end, |b, i| {
                    let x = b.load(x, i);
                    for (var, op) in [(acc, op), (largest, BinOp::Max)] {
                        let old = b.get(var);
                        let new = b.binary(op, old, x);
                        b.set(var, new);
                    }
                });
                let (a, m) = (b.fold(acc, op), b.fold(largest, BinOp::Max));
                let sum = b.binary(BinOp::Sub, a, m);
                b.store(y, row, sum);
            });
            let kernel = b.finish();
            for n in SIZES {
                calls.push(call(&kernel, &[3 * n, 3], &[("n", n)], 0..3));
            }
        }
    }
    check(&calls);
}

/// Every column folded by a serial loop inside a lanes loop, with strides known only at run time.
#[test]
fn columns() {
    let mut calls = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::I16] {
        for (which, lanes) in [("by_row", 32), ("by_column", 16), ("few", 2)] {
            let mut b = builder(&format!("columns_{dtype}_{which}"), dim("n"));
            let x = b.buffer("x", dtype, dim("size"), Access::Read);
            let y = b.buffer("y", dtype, dim("n"), Access::Write);
            let (m, rs, cs) = (b.size(&dim("m")), b.size(&dim("rs")), b.size(&dim("cs")));
            let (lo, hi) = b.task();
            let (zero, first) = (b.int(0), number(&mut b, dtype, 0.0));
            b.for_loop(LoopKind::Lanes(lanes), lo, hi, |b, j| {
                let (sum, max) = (b.declare(first), b.declare(first));
                b.for_loop(LoopKind::Serial, zero, m, |b, i| {
                    let (r, c) = (b.binary(BinOp::Mul, i, rs), b.binary(BinOp::Mul, j, cs));
                    let at = b.binary(BinOp::Add, r, c);
                    let x = b.load(x, at);
                    for (var, op) in [(sum, BinOp::Add), (max, BinOp::Max)] {
                        let old = b.get(var);
                        let new = b.binary(op, old, x);
                        b.set(var, new);
                    }
                });
                let (s, m) = (b.get(sum), b.get(max));
                let result = b.binary(BinOp::Mul, s, m);
                b.store(y, j, result);
            });
            let kernel = b.finish();
            for (n, m) in SIZES.into_iter().flat_map(|n| [0, 1, 5].map(|m| (n, m))) {
                let (rs, cs) = if which == "by_column" { (1, m) } else { (n, 1) };
                calls.push(call(&kernel, &[n * m, n], &[("m", m), ("rs", rs), ("cs", cs)], 0..n));
            }
        }
    }
    check(&calls);
}

/// Values and addresses that cross control flow inside lanes: reversed and strided loads, a cursor that all lanes share,
/// a branch that all lanes share, lane variables and plain variables together.
#[test]
fn shared_control_flow_inside_lanes() {
    let mut calls = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let mut b = builder(&format!("control_{dtype}"), Dim::from(1));
        let x = b.buffer("x", dtype, dim("size"), Access::Read);
        let steps = b.buffer("steps", DType::I64, dim("m"), Access::Read);
        let y = b.buffer("y", dtype, dim("n"), Access::Write);
        let total = b.buffer("total", dtype, Dim::from(1), Access::Write);
        let (n, m) = (b.size(&dim("n")), b.size(&dim("m")));
        let (zero, one, two) = (b.int(0), b.int(1), b.int(2));
        let (first, limit) = (number(&mut b, dtype, 1.0), number(&mut b, dtype, 100.0));
        let lanes = b.declare_lanes(16, first);
        b.for_loop(LoopKind::Lanes(16), zero, n, |b, i| {
            let start = b.load(x, i);
            let last = b.binary(BinOp::Sub, n, one);
            let mirrored = b.binary(BinOp::Sub, last, i);
            let twice = b.binary(BinOp::Mul, i, two);
            let (cursor, address, acc) = (b.declare(zero), b.declare(mirrored), b.declare(start));
            b.while_loop(
                |b| {
                    let c = b.get(cursor);
                    let scaled = b.get(acc);
                    let scaled = b.binary(BinOp::Mul, scaled, first);
                    b.set(acc, scaled);
                    b.compare(CmpOp::Lt, c, m)
                },
                |b| {
                    let c = b.get(cursor);
                    let step = b.load(steps, c);
                    let even = b.binary(BinOp::And, step, one);
                    let even = b.compare(CmpOp::Eq, even, zero);
                    b.if_else(
                        even,
                        |b| {
                            let at = b.get(address);
                            let far = b.load(x, at);
                            let old = b.get(acc);
                            let new = b.binary(BinOp::Add, old, far);
                            b.set(acc, new);
                        },
                        |b| {
                            let far = b.load(x, twice);
                            let old = b.get(acc);
                            let new = b.binary(BinOp::Max, old, far);
                            let new = b.binary(BinOp::Sub, new, start);
                            b.set(acc, new);
                            let at = b.get(address);
                            let at = b.binary(BinOp::Add, at, one);
                            b.set(address, at);
                        },
                    );
                    let next = b.binary(BinOp::Add, c, one);
                    b.set(cursor, next);
                },
            );
            let result = b.get(acc);
            let (clipped, root) = (b.binary(BinOp::Min, result, limit), b.unary(UnOp::Floor, result));
            let result = b.binary(BinOp::Add, clipped, root);
            b.store(y, i, result);
            let old = b.get(lanes);
            let new = b.binary(BinOp::Add, old, result);
            b.set(lanes, new);
        });
        let sum = b.fold(lanes, BinOp::Add);
        b.store(total, zero, sum);
        let kernel = b.finish();
        for (n, m) in SIZES.into_iter().flat_map(|n| [0, 1, 6].map(|m| (n, m))) {
            let mut call = call(&kernel, &[3 * n + 10, m, n, 1], &[("n", n), ("m", m)], 0..1);
            call.contents[1] = BufferContents::of(&(0..m).map(|i| i * i / 2).collect::<Vec<i64>>());
            calls.push(call);
        }
    }
    check(&calls);
}

/// A lanes loop of one iteration may load with an address that all lanes share what it has just stored.
#[test]
fn one_lane_reads_its_own_store() {
    let mut b = builder("own", Dim::from(1));
    let y = b.buffer("y", DType::I64, Dim::from(4), Access::Write);
    let (zero, one, three) = (b.int(0), b.int(1), b.int(3));
    let acc = b.declare_lanes(8, one);
    b.for_loop(LoopKind::Lanes(8), zero, one, |b, i| {
        b.store(y, i, three);
        let shared = b.load(y, zero);
        let old = b.get(acc);
        let new = b.binary(BinOp::Add, old, shared);
        b.set(acc, new);
        b.store(y, three, new);
    });
    check(&[call(&b.finish(), &[4], &[], 0..1)]);
}

/// Products of matrices through the host, with every kind of stride, and of nothing.
#[test]
fn gemms() {
    let mut calls = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let mut b = builder(&format!("gemm_{dtype}"), Dim::from(1));
        let [a, x, c] = ["a", "b", "c"].map(|name| {
            let access = if name == "c" { Access::Write } else { Access::Read };
            b.buffer(name, dtype, dim("size"), access)
        });
        let [m, n, k] = ["m", "n", "k"].map(|name| b.size(&dim(name)));
        let (zero, one) = (b.int(0), b.int(1));
        let matrix =
            |buffer: Buf, row_stride, col_stride| Matrix { buffer, offset: zero, row_stride, col_stride };
        let (a, x, c) = (matrix(a, k, one), matrix(x, one, k), matrix(c, n, one));
        b.gemm(Gemm { dtype, m, n, k, a, b: x, c });
        let kernel = b.finish();
        for (m, n, k) in [(0, 3, 3), (3, 2, 0), (3, 5, 7), (2, 2, 600)] {
            calls.push(call(&kernel, &[m * k, k * n, m * n], &[("m", m), ("n", n), ("k", k)], 0..1));
        }
    }
    check(&calls);
}

/// Numbers of every type from the table of arguments.
#[test]
fn parameters() {
    let mut calls = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|d| !d.is_complex()) {
        let mut b = builder(&format!("parameter_{dtype}"), Dim::from(1));
        let y = b.buffer("y", dtype, Dim::from(1), Access::Write);
        let (p, zero) = (b.param(dtype), b.int(0));
        b.store(y, zero, p);
        let kernel = b.finish();
        assert!(matches!(kernel.op(p), Op::Param(0)));
        for x in [-2.5, -0.0, 1.0, f64::INFINITY, f64::NAN] {
            let mut call = call(&kernel, &[1], &[], 0..1);
            call.params = vec![Scalar::F64(x).cast(dtype)];
            calls.push(call);
        }
    }
    check(&calls);
}
