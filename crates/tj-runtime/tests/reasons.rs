//! Why programs were compiled. One test, alone in its process, because the cache is that of the process.
#![cfg(feature = "cranelift")]
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tj_ir::{LazyTensor, defer};
use tj_runtime::{Unfused, cache_entries, clear_cache, compute, explain, with_scheduler};
use tj_tensor::Tensor;

fn full(shape: &[usize]) -> Tensor {
    Tensor::full(shape, 1.0).unwrap()
}

fn program(n: usize) -> LazyTensor {
    let x = defer(&full(&[n, 3]));
    ((&x / 2).exp() + x.sum(()).exp()).sum(1)
}

#[test]
fn the_cache_says_why() {
    clear_cache();
    let why = |e: &LazyTensor| explain(e).unwrap().cache.unwrap();
    assert_eq!(why(&program(4)), "not found: the cache is empty");
    compute(program(4)).unwrap();
    compute(program(5)).unwrap();
    let found = why(&program(9));
    assert!(found.starts_with("found: ") && found.ends_with("because the cache is empty; used once since"));

    let add = |a: &[usize], b: &[usize]| defer(&full(a)) + defer(&full(b)) * 0.25;
    compute(add(&[4, 3], &[4, 3])).unwrap();
    let differs = |e: &LazyTensor, wanted: &str| {
        let text = why(e);
        let (_, parts) = text.split_once("the most similar program in the cache differs in ").unwrap();
        assert!(parts.starts_with(wanted), "{text}");
    };
    differs(&add(&[4, 3], &[1, 3]), "the broadcast pattern of add (");
    differs(&add(&[4, 3], &[3]), "the rank of data (");
    let single = defer(&Tensor::full([4, 3], 1.0_f32).unwrap());
    differs(&(single + defer(&full(&[4, 3])) * 0.25), "the dtype of data (");
    differs(&(defer(&full(&[4, 3])) - defer(&full(&[4, 3])) * 0.25), "the operator of sub (");
    let other = with_scheduler(Unfused, || why(&add(&[4, 3], &[4, 3])));
    assert!(
        other.ends_with("differs in the scheduler") || other.contains("options of the scheduler"),
        "{other}"
    );

    let entries = cache_entries();
    assert_eq!(entries.iter().map(|entry| entry.hits).collect::<Vec<_>>(), [0, 1]);
    assert!(entries[0].reason.contains("differs in") && entries[0].scheduler == "default");
    assert!(entries.iter().all(|entry| !entry.kernels.is_empty() && entry.compile_time.as_nanos() > 0));
}
