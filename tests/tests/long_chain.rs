//! Programs of 100 000 operations compile and run. Ten times as many: `cargo xtask soak`.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{CompileOptions, CompiledGraph, DType, Dim, LazyTensor, Tensor, input, maximum};

/// Operations of a program here; an environment variable asks for more.
fn operations() -> usize {
    std::env::var("TENSORJIT_CHAIN").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000)
}

fn run(y: LazyTensor, x: &[f64]) -> Vec<f64> {
    let graph = CompiledGraph::new(&[y], CompileOptions::default()).unwrap();
    let x = Tensor::from(x.to_vec());
    graph.call(&[("x", &x)]).unwrap()[0].to_vec().unwrap()
}

fn x() -> LazyTensor {
    input("x", DType::F64, [Dim::new("n", ..).unwrap()]).unwrap()
}

#[test]
fn a_chain_of_elementwise_operations() {
    let mut y = x();
    for _ in 0..operations() / 2 {
        y = y * 0.5 + 1;
    }
    assert_eq!(run(y, &[1.0, 2.0, -3e300]), [2.0; 3]);
}

/// Each step reads the one before twice: as a tree this would have 2^10000 nodes.
#[test]
fn a_chain_of_shared_operations() {
    let mut y = x();
    for _ in 0..operations() / 10 {
        y = maximum(&y, &y * 0.5);
    }
    assert_eq!(run(y, &[1.0, 2.0, 0.0]), [1.0, 2.0, 0.0]);
}

/// Moves and reductions end kernels, so that there are as many as there are steps.
#[test]
fn a_chain_of_reductions() {
    let mut y = x();
    for _ in 0..operations() / 200 {
        let total = y.sum(());
        y = (&y - total) * 0.25;
    }
    assert!(run(y, &[0.0, 0.0, 0.0]).iter().all(|v| *v == 0.0));
}
