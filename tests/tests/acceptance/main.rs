//! Mistakes that users of other compilers have met, each once, on every engine.
//!
//! A test is named by the case and its symptom. Right answers come from NumPy or by construction. Where a case names a
//! dtype or an operator that does not exist yet, its comment says so.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

mod broadcast;
mod errors;
mod fusion;
mod integers;
mod memory;
mod robust;
mod shapes;
mod sorting;
mod values;

use tensorjit::{CompileOptions, CompiledGraph, DType, Dim, Element, LazyTensor, Tensor, input};

/// A row-major tensor.
fn tensor<T: Element>(shape: &[usize], data: &[T]) -> Tensor {
    Tensor::from_shape_vec(shape, data.to_vec()).unwrap()
}

/// `0, 1, ..` in a shape.
fn arange(shape: &[usize]) -> Tensor {
    Tensor::arange(shape.iter().product()).unwrap().reshape(shape).unwrap()
}

/// Symbols without bounds.
fn symbols<const N: usize>(names: [&str; N]) -> [Dim; N] {
    names.map(|name| Dim::new(name, ..).unwrap())
}

/// An input with these sizes.
fn declare(name: &str, dtype: DType, shape: &[&Dim]) -> LazyTensor {
    input(name, dtype, shape.iter().map(|dim| (*dim).clone())).unwrap()
}

/// An input with fixed sizes.
fn fixed(name: &str, dtype: DType, shape: &[i64]) -> LazyTensor {
    input(name, dtype, shape.iter().map(|&n| Dim::from(n))).unwrap()
}

/// Same dtype, shape and bits.
#[track_caller]
fn equal(got: &Tensor, want: &Tensor) {
    assert!(got.bit_eq(want), "{got:?} is not {want:?}");
}

/// Same shape, and each element within a relative distance.
#[track_caller]
fn close(got: &Tensor, shape: &[usize], want: &[f64], tolerance: f64) {
    assert_eq!(got.shape(), shape);
    for (k, (g, w)) in got.to_vec::<f64>().unwrap().iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * w.abs(), "element {k} is {g}, not {w}");
    }
}

/// All default options on this machine, with these threads.
fn compile(outputs: &[LazyTensor], threads: usize) -> CompiledGraph {
    CompiledGraph::new(outputs, CompileOptions { threads, parallel_work: Some(0), ..Default::default() })
        .unwrap()
}
