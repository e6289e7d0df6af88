//! One program, many callers.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::sync::Barrier;
use std::thread;

use rayon::prelude::*;
use tensorjit::{Backend, CompileOptions, CompiledGraph, DType, Dim, LazyTensor, Tensor, axis, input};
use tj_tests::engines::c_compiler;

/// Threads that call at the same time.
const CALLERS: usize = 32;

/// A product, a reduction along rows that is read back, and one along columns: several kernels, with temporaries.
fn program() -> [LazyTensor; 2] {
    let n = Dim::new("n", ..).unwrap();
    let x = input("x", DType::F32, [n.clone(), n.clone()]).unwrap();
    let y = x.matmul(&x).relu();
    let shares = &y / (y.sum(axis(1).keepdims()).broadcast_to(&[n.clone(), n]) + 1.0);
    [shares.sum(0), shares]
}

fn data(n: usize) -> Tensor {
    let value = |k: usize| ((k * 7919 + n) % 101) as f32 / 50.0 - 1.0;
    (0..n * n).map(value).collect::<Tensor>().reshape([n, n]).unwrap()
}

fn options(threads: usize, backend: Backend) -> CompileOptions {
    CompileOptions { threads, backend, parallel_work: Some(0), ..Default::default() }
}

/// What one thread computes alone, for each size.
fn expected(sizes: &[usize]) -> Vec<Vec<Tensor>> {
    let alone = CompileOptions { threads: 1, fuse: false, ..Default::default() };
    let graph = CompiledGraph::new(&program(), alone).unwrap();
    sizes.iter().map(|&n| graph.call(&[("x", &data(n))]).unwrap()).collect()
}

fn same(got: &[Tensor], want: &[Tensor]) -> bool {
    got.len() == want.len() && got.iter().zip(want).all(|(g, w)| g.bit_eq(w))
}

#[test]
fn many_threads_share_one_program() {
    let backends = [Some(Backend::Cranelift), c_compiler().then_some(Backend::C)];
    let sizes: Vec<usize> = (0..CALLERS).map(|k| k * 3 % 41).collect();
    let want = expected(&sizes);
    for backend in backends.into_iter().flatten() {
        let graph = CompiledGraph::new(&program(), options(3, backend)).unwrap();
        let start = Barrier::new(CALLERS);
        thread::scope(|scope| {
            for (&n, want) in sizes.iter().zip(&want) {
                let (graph, start) = (&graph, &start);
                scope.spawn(move || {
                    let x = data(n);
                    start.wait();
                    for _ in 0..20 {
                        assert!(same(&graph.call(&[("x", &x)]).unwrap(), want), "size {n}");
                    }
                });
            }
        });
        let report = graph.report();
        assert_eq!((report.compilations, report.calls), (1, 20 * CALLERS as u64));
    }
}

#[test]
fn calls_from_workers_of_another_pool() {
    let sizes: Vec<usize> = (0..64).map(|k| k % 37).collect();
    let want = expected(&sizes);
    let graph = CompiledGraph::new(&program(), options(3, Backend::Auto)).unwrap();
    let call = |(&n, want): (&usize, &Vec<Tensor>)| same(&graph.call(&[("x", &data(n))]).unwrap(), want);
    let own = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    assert!(own.install(|| sizes.par_iter().zip(&want).all(call)));
    // A call inside of a task inside of a call's pool.
    let nested = own.install(|| {
        let (a, b) = rayon::join(|| call((&sizes[36], &want[36])), || call((&sizes[35], &want[35])));
        a && b
    });
    assert!(nested);
    // The global pool, too.
    assert!(sizes.par_iter().zip(&want).all(call));
}

#[test]
fn a_sweep_of_sizes_compiles_once() {
    let n = Dim::new("n", ..).unwrap();
    let x = input("x", DType::F64, [n.clone(), 3.into()]).unwrap();
    let y = (&x * 2.0 + 1.0).exp().sum(axis(0)) + x.max(1).sum(());
    let graph = CompiledGraph::new(&[y, x.clone()], CompileOptions::default()).unwrap();
    for n in [0, 1, 2, 7, 1000, 2, 0] {
        let x = Tensor::full([n, 3], 0.5).unwrap();
        let out = graph.call(&[("x", &x)]).unwrap();
        let want = n as f64 * (2.0_f64.exp() + 0.5);
        let got = out[0].to_vec::<f64>().unwrap();
        assert!(
            got.iter().all(|g| (g - n as f64 * 2.0_f64.exp() - n as f64 * 0.5).abs() <= 1e-12 * want),
            "{got:?}"
        );
        assert!(out[1].bit_eq(&x));
        assert_eq!(graph.report().bindings, [("n".to_string(), n as i64)]);
    }
    assert_eq!((graph.report().compilations, graph.report().calls), (1, 7));
}

#[test]
fn results_outlive_their_program() {
    let x = data(300);
    let (first, second) = {
        let graph = CompiledGraph::new(&program(), options(2, Backend::Auto)).unwrap();
        (graph.call(&[("x", &x)]).unwrap(), graph.call(&[("x", &x)]).unwrap())
    };
    assert!(same(&first, &second));
    assert!(!first[1].shares_storage_with(&second[1]));
}
