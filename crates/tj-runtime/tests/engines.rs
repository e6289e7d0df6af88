//! Small programs through every layer and every engine: same bits, right numbers.
#![cfg(feature = "cranelift")]
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::sync::Arc;

use tj_ir::{Dim, LazyTensor, axis, concat, input};
use tj_runtime::{CompileOptions, CompiledGraph, InterpretKernel, InterpretPlan, Scheduler, explain_with};
use tj_tensor::{DType, Tensor};

/// Options that must all give the same bits.
fn variants() -> Vec<(&'static str, CompileOptions)> {
    let scheduled = |s: Arc<dyn Scheduler>| CompileOptions { scheduler: Some(s), ..Default::default() };
    vec![
        ("plan", scheduled(Arc::new(InterpretPlan))),
        ("kernel", scheduled(Arc::new(InterpretKernel))),
        ("compiled", CompileOptions::default()),
        ("unfused", CompileOptions { fuse: false, ..Default::default() }),
        ("no reuse", CompileOptions { reuse: false, ..Default::default() }),
        ("one thread", CompileOptions { threads: 1, ..Default::default() }),
        ("three threads", CompileOptions { threads: 3, parallel_work: Some(0), ..Default::default() }),
    ]
}

fn check(program: &[LazyTensor], inputs: &[(&str, &Tensor)]) -> Vec<Tensor> {
    check_calls(program, &[inputs.to_vec()]).swap_remove(0)
}

/// Outputs of each call.
fn check_calls(program: &[LazyTensor], calls: &[Vec<(&str, &Tensor)>]) -> Vec<Vec<Tensor>> {
    let mut first: Vec<Vec<Tensor>> = Vec::new();
    for (name, options) in variants() {
        let graph = CompiledGraph::new(program, options).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (at, inputs) in calls.iter().enumerate() {
            let outputs = graph.call(inputs).unwrap_or_else(|e| panic!("{name}: call {at}: {e}"));
            if first.len() == at {
                first.push(outputs);
                continue;
            }
            for (k, (got, want)) in outputs.iter().zip(&first[at]).enumerate() {
                assert!(
                    got.bit_eq(want),
                    "{name}: call {at}: output {k} is {got:?}, the plan interpreter says {want:?}"
                );
            }
        }
    }
    first
}

fn random(shape: &[usize], seed: u64) -> Tensor {
    let count: usize = shape.iter().product();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    Tensor::from_shape_vec(shape, (0..count).map(|_| next()).collect::<Vec<f32>>()).unwrap()
}

#[test]
fn matmul_chain_with_epilogue_and_sum() {
    let n = Dim::new("N", 0..=4096).unwrap();
    let square = |name: &str| input(name, DType::F32, [n.clone(), n.clone()]).unwrap();
    let (x, a, b, c) = (square("x"), square("a"), square("b"), square("c"));
    let bias = input("bias", DType::F32, [n.clone()]).unwrap();
    let y = (x.matmul(&a).matmul(&b).matmul(&c) + &bias).relu().sum(1);
    for size in [0, 1, 2, 7, 33] {
        let shape = [size, size];
        let data: Vec<Tensor> = (0..4).map(|k| random(&shape, k + 1)).collect();
        let bias = random(&[size], 9);
        let inputs = [("x", &data[0]), ("a", &data[1]), ("b", &data[2]), ("c", &data[3]), ("bias", &bias)];
        let out = check(std::slice::from_ref(&y), &inputs);
        assert_eq!(out[0].shape(), [size]);
    }
    let text = explain_with(&[y], CompileOptions::default()).unwrap().to_string();
    assert!(text.contains("gemm"), "{text}");
}

/// More rows than a panel holds, so that what follows a contraction runs panel by panel.
#[test]
fn panels_of_rows() {
    let n = Dim::new("N", 0..=4096).unwrap();
    let x = input("x", DType::F32, [n, 3.into()]).unwrap();
    let w = input("w", DType::F32, [3.into(), 5.into()]).unwrap();
    let y = (x.matmul(&w) * 2.5).relu().sum(1);
    let w = random(&[3, 5], 2);
    for rows in [255, 256, 257, 600] {
        let x = random(&[rows, 3], 1);
        assert_eq!(check(std::slice::from_ref(&y), &[("x", &x), ("w", &w)])[0].shape(), [rows]);
    }
}

#[test]
fn softmax_and_layernorm_are_row_programs() {
    let (r, c) = (Dim::new("R", ..).unwrap(), Dim::new("C", ..).unwrap());
    let x = input("x", DType::F32, [r, c]).unwrap();
    let e = (&x - x.max(axis(1).keepdims())).exp();
    let softmax = &e / e.sum(axis(1).keepdims());
    let mean = x.mean(axis(1).keepdims());
    let centred = &x - &mean;
    let var = (&centred * &centred).mean(axis(1).keepdims());
    let norm = &centred / (var + 1e-5).sqrt();
    for shape in [[1, 1], [3, 5], [2, 40], [5, 131]] {
        let x0 = random(&shape, 3);
        let out = check(&[softmax.clone(), norm.clone()], &[("x", &x0)]);
        let sums: Vec<f32> =
            out[0].to_vec::<f32>().unwrap().chunks(shape[1]).map(|r| r.iter().sum()).collect();
        assert!(sums.iter().all(|s| (s - 1.0).abs() < 1e-5), "{sums:?}");
    }
}

#[test]
fn moves_reductions_and_blocks() {
    let (n, m) = (Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap());
    let x = input("x", DType::F32, [n, m]).unwrap();
    let program = [
        x.sum(0),
        x.sum(()),
        x.transpose().flip(0) * 2.0,
        x.max(0) + x.min(1).sum(()),
        x.reshape(&[None]).sum(0),
        (&x + 1.0).index([tj_ir::at(1, None, 2), tj_ir::At::NewAxis]),
    ];
    let shapes = [[1, 1], [3, 4], [37, 5], [2, 9000], [9001, 2]];
    let data: Vec<Tensor> = shapes.iter().map(|shape| random(shape, 5)).collect();
    check_calls(&program, &data.iter().map(|x| vec![("x", x)]).collect::<Vec<_>>());
}

/// Random elements of any dtype that a cast from f32 gives.
fn of(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
    let x = input("x", DType::F32, shape.iter().map(|&n| Dim::from(n as i64))).unwrap();
    let scaled = if dtype.is_float() { x } else { x * 1e6 };
    let graph = CompiledGraph::new(&[scaled.cast(dtype)], CompileOptions::default()).unwrap();
    graph.call(&[("x", &random(shape, seed))]).unwrap().swap_remove(0)
}

/// Around one block, and several blocks.
const LENGTHS: [usize; 6] = [0, 1, 4095, 4096, 4097, 5 * 4096 + 17];

#[test]
fn a_long_vector_is_reduced_by_blocks() {
    for dtype in [DType::F32, DType::F64, DType::I64] {
        let n = Dim::new("N", 0..=1 << 20).unwrap();
        let x = input("x", dtype, [n.clone()]).unwrap();
        let y = input("y", dtype, [n]).unwrap();
        let off = &x - &y;
        // The first has a reduction that waits for another.
        let centred = &x - x.sum(());
        let any = [(&centred * &centred).sum(()) + 1, (&off * &off).sum(()), x.prod(())];
        let data: Vec<[Tensor; 2]> = LENGTHS.map(|n| [of(dtype, &[n], 1), of(dtype, &[n], 2)]).into();
        let calls: Vec<Vec<(&str, &Tensor)>> = data.iter().map(|[x, y]| vec![("x", x), ("y", y)]).collect();
        check_calls(&any, &calls);
        // There is no maximum of nothing.
        check_calls(&[x.max(()) - y.min(()), x.max(()), y.min(())], &calls[1..]);
    }
    let x = input("x", DType::F32, [Dim::new("N", ..).unwrap()]).unwrap();
    check(&[x.sum(()), x.max(())], &[("x", &random(&[1 << 17], 1))]);
}

#[test]
fn whole_matrices_and_narrow_columns_are_reduced_by_blocks() {
    let (n, m) = (Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap());
    let x = input("x", DType::F32, [n, m]).unwrap();
    let off = &x - x.mean(0);
    let program = [x.sum(()), x.reshape(&[None]).prod(0), (&off * &off).mean(0).sqrt(), x.abs().sum(0) * 2];
    let shapes = [[0, 3], [1, 1], [4096, 1], [4097, 3], [3 * 4096 + 17, 2], [3, 5000], [5000, 0]];
    let data: Vec<Tensor> = shapes.iter().map(|shape| random(shape, 7)).collect();
    check_calls(&program, &data.iter().map(|x| vec![("x", x)]).collect::<Vec<_>>());
    // More than one strip of columns.
    let x = input("x", DType::F64, [Dim::new("N", ..).unwrap(), 67.into()]).unwrap();
    check(&[x.sum(0)], &[("x", &of(DType::F64, &[4097, 67], 8))]);
}

#[test]
fn a_reduction_of_a_known_length_has_no_kernel_for_others() {
    let sum = |n: i64| input("x", DType::F32, [Dim::from(n)]).unwrap().sum(());
    for (n, expected) in [(4096, 1), (4097, 2)] {
        let graph = CompiledGraph::new(&[sum(n)], CompileOptions::default()).unwrap();
        let (_, report) = graph.call_reported(&[], &[("x", &random(&[n as usize], 3))]).unwrap();
        assert_eq!(report.kernels, expected);
        check(&[sum(n)], &[("x", &random(&[n as usize], 3))]);
    }
    let any = input("x", DType::F32, [Dim::new("N", ..).unwrap()]).unwrap().sum(());
    let graph = CompiledGraph::new(&[any], CompileOptions::default()).unwrap();
    for (n, expected) in [(4096, 1), (4097, 2)] {
        let (_, report) = graph.call_reported(&[], &[("x", &random(&[n], 3))]).unwrap();
        assert_eq!((report.kernels, report.temporary_bytes), (expected, if n > 4096 { 64 } else { 0 }));
    }
}

/// A part without elements has none to read, whatever a mask says of it.
#[test]
fn parts_that_may_be_empty() {
    let (n, m) = (Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap());
    let a = input("a", DType::F32, [n.clone()]).unwrap();
    let b = input("b", DType::F32, [m.clone()]).unwrap();
    let program = [
        concat(&[a.clone(), &b * 2.0, a.exp()], 0) + 1.0,
        a.pad([(1, 2)], 0.5).sum(0),
        b.diag(1),
        a.expand_dims(1).broadcast_to(&[n, m]).repeat(2, 1),
    ];
    for (n, m) in [(0, 0), (0, 3), (2, 0), (1, 1), (40, 7)] {
        let (a, b) = (random(&[n], 1), random(&[m], 2));
        let out = check(&program, &[("a", &a), ("b", &b)]);
        let joined = out[0].to_vec::<f32>().unwrap();
        let first = a.to_vec::<f32>().unwrap();
        assert_eq!(joined.len(), 2 * n + m);
        assert!(joined.iter().zip(&first).all(|(joined, x)| *joined == x + 1.0));
        assert_eq!(out[2].shape(), [m + 1, m + 1]);
    }
}
