//! Robustness.

use std::thread;

use tensorjit::{DType, LazyTensor, Tensor, input};

use crate::{compile, equal, tensor};

/// Steps of the chain.
const STEPS: usize = 100_000;

/// A stack on which nothing may recurse as deep as a program is.
const STACK: usize = 512 << 10;

fn chain() -> LazyTensor {
    let mut y = input("x", DType::F64, [2.into()]).unwrap();
    for _ in 0..STEPS {
        y = y * 0.5 + 1;
    }
    y
}

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
}

/// G16: a very long chain of operations overflows the stack when planned, printed or dropped.
#[test]
fn g16_a_long_chain_is_computed_and_dropped() {
    on_a_small_stack(|| {
        let y = chain();
        assert_eq!(format!("{y:?}"), "LazyTensor(add: f64[2])");
        let graph = compile(std::slice::from_ref(&y), 0);
        let out = graph.call(&[("x", &tensor(&[2], &[1.0, 2.0]))]).unwrap();
        equal(&out[0], &Tensor::full([2], 2.0).unwrap());
        drop(y);
    });
}

/// G16, without computing it.
#[test]
fn g16_a_long_chain_is_dropped_without_computing() {
    on_a_small_stack(|| drop(chain()));
}
