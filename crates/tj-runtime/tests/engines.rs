//! Small programs through every layer and every engine: same bits, right numbers.
#![cfg(feature = "cranelift")]
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::sync::Arc;

use tj_ir::{Dim, LazyTensor, axis, input};
use tj_runtime::{CompileOptions, CompiledGraph, InterpretKernel, InterpretPlan, Scheduler, explain};
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
        ("three threads", CompileOptions { threads: 3, ..Default::default() }),
    ]
}

fn check(program: &[LazyTensor], inputs: &[(&str, &Tensor)]) -> Vec<Tensor> {
    let mut first: Option<Vec<Tensor>> = None;
    for (name, options) in variants() {
        let graph = CompiledGraph::new(program, options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let outputs = graph.call(inputs).unwrap_or_else(|e| panic!("{name}: {e}"));
        match &first {
            None => first = Some(outputs),
            Some(expected) => {
                for (k, (got, want)) in outputs.iter().zip(expected).enumerate() {
                    assert!(
                        got.bit_eq(want),
                        "{name}: output {k} is {got:?}, the plan interpreter says {want:?}"
                    );
                }
            }
        }
    }
    first.unwrap_or_default()
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
    let text = explain(&[y], CompileOptions::default()).unwrap().to_string();
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
    for shape in [[1, 1], [3, 4], [37, 5], [2, 9000], [9001, 2]] {
        check(&program, &[("x", &random(&shape, 5))]);
    }
}
