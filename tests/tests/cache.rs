//! One compilation a program: other data, sizes, strides, numbers and ends of slices find the code that is there.
//!
//! The counters are those of the process, so that this is one test.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use tensorjit::{
    CacheReport, DefaultScheduler, InterpretPlan, LazyTensor, Scheduler, Tensor, Unfused, at, cache_report,
    clear_cache, compute, compute_with, defer, set_cache_bytes, set_kept_bytes,
};
use tj_plan::{Grouping, Plan, Sizes};

fn full(shape: &[usize], value: f64) -> Tensor {
    Tensor::full(shape, value).unwrap()
}

/// Compilations and hits of what `f` does.
fn counted(f: impl FnOnce()) -> (u64, u64) {
    let before = cache_report();
    f();
    let after = cache_report();
    (after.compilations - before.compilations, after.cache_hits - before.cache_hits)
}

fn total(tensor: &Tensor) -> f64 {
    tensor.to_vec::<f64>().unwrap().iter().sum()
}

#[test]
fn a_program_is_compiled_once() {
    sizes();
    patterns();
    numbers_and_slices();
    strides();
    order_of_definition();
    schedulers();
    a_sweep_of_batches();
    budget();
    kept();
    failures_leave_nothing();
    threads();
    kernels();
}

fn sizes() {
    let sizes = [0, 1, 2, 3, 7, 1000, 1_000_000];
    let both = |rows: usize, columns: usize| {
        let (a, b) = (full(&[rows, columns], 1.0), full(&[rows, columns], 2.0));
        let r = compute((defer(&a) * defer(&b)).sum(1)).unwrap();
        assert_eq!((r.shape(), total(&r)), (&[rows][..], 2.0 * (rows * columns) as f64));
    };
    let found = counted(|| sizes.iter().for_each(|&n| both(n.min(1000), n / 1000 + 1)));
    assert_eq!(found, (1, 6));
    // In any order, 0 and 1 first or last.
    let found = counted(|| {
        clear_cache();
        sizes.iter().rev().for_each(|&n| both(n.min(1000), n / 1000));
    });
    assert_eq!(found, (1, 6));
}

fn patterns() {
    let add = |a: &[usize], b: &[usize]| {
        compute(defer(&full(a, 1.0)) - defer(&full(b, 0.5))).unwrap();
    };
    let found = counted(|| {
        for n in [2, 5, 9] {
            add(&[n, 3], &[n, 3]);
            add(&[n, 3], &[1, 3]);
            add(&[1, 3], &[n, 3]);
            add(&[n, 1], &[1, n]);
        }
        add(&[1, 1], &[1, 1]);
    });
    assert_eq!(found, (4, 9), "one for each pattern of axes that are repeated");
}

fn numbers_and_slices() {
    let a = full(&[12], 2.0);
    let found = counted(|| {
        for (rate, offset) in [(0.5, 3.0), (0.25, 0.25), (1e300, f64::INFINITY), (-7.0, 0.125)] {
            compute(defer(&a) * rate + offset).unwrap();
        }
    });
    assert_eq!(found, (1, 3));
    let found = counted(|| {
        for (start, stop) in [(1, 5), (0, 12), (7, 7), (-3, -1), (11, 3)] {
            let part = compute(defer(&a).index([at(start, stop, 1)]) * 3.0).unwrap();
            let expected = [4, 12, 0, 2, 0][[1, 0, 7, -3, 11].iter().position(|&s| s == start).unwrap()];
            assert_eq!(part.shape(), [expected]);
        }
    });
    assert_eq!(found, (1, 4));
}

fn strides() {
    let a = full(&[6, 8], 1.5);
    let views = [a.clone(), full(&[8, 6], 1.5).permute([1, 0]).unwrap()];
    let found = counted(|| {
        for view in &views {
            assert_eq!(total(&compute((defer(view) * 2.5).sum(0)).unwrap()), 48.0 * 1.5 * 2.5);
        }
    });
    assert_eq!(found, (1, 1));
}

fn order_of_definition() {
    let (a, b) = (full(&[4], 3.0), full(&[5], 4.0));
    let forth = || {
        let (x, y) = (defer(&a), defer(&b));
        let (p, q) = (x.sqrt(), y.abs());
        compute((p.sum(()) * q, p)).unwrap();
    };
    let back = || {
        let y = defer(&b);
        let q = y.abs();
        let p = defer(&a).sqrt();
        compute((p.sum(()) * q, p)).unwrap();
    };
    let found = counted(|| {
        forth();
        back();
    });
    assert_eq!(found, (1, 1));
}

fn schedulers() {
    let a = full(&[4], 3.0);
    let program = || defer(&a).tanh().sum(());
    let found = counted(|| {
        let all: [&dyn Scheduler; 3] = [&DefaultScheduler, &Unfused, &InterpretPlan];
        for scheduler in all.into_iter().chain(all) {
            compute_with(program(), scheduler).unwrap();
        }
    });
    assert_eq!(found, (3, 3), "a scheduler has programs of its own");
}

/// A layer of a network on 64 sizes of the batch.
fn a_sweep_of_batches() {
    let (w, bias) = (full(&[64, 32], 0.25), full(&[32], 1.0));
    let found = counted(|| {
        for batch in 1..=64 {
            let x = full(&[batch, 64], 1.0);
            let y = compute((defer(&x).matmul(&defer(&w)) + defer(&bias)).relu()).unwrap();
            assert_eq!((y.shape(), total(&y)), (&[batch, 32][..], 17.0 * 32.0 * batch as f64));
        }
    });
    assert_eq!(found, (1, 63));
}

fn chain(length: usize) -> LazyTensor {
    (0..length).fold(defer(&full(&[3], 1.0)), |x, _| x * 1.5)
}

fn budget() {
    clear_cache();
    compute(chain(1)).unwrap();
    let one = cache_report().bytes;
    assert!(one > 0 && cache_report().entries == 1);
    set_cache_bytes(4 * one);
    let before = cache_report().evictions;
    (2..12).for_each(|length| drop(compute(chain(length)).unwrap()));
    let CacheReport { evictions, entries, bytes, max_bytes, .. } = cache_report();
    assert!(evictions - before >= 7 && entries <= 4 && bytes <= max_bytes, "{:?}", cache_report());
    let hits = counted(|| {
        compute(chain(11)).unwrap();
        compute(chain(2)).unwrap();
    });
    assert_eq!(hits, (1, 1), "the last one is still there, the first ones had to go");
    set_cache_bytes(0);
    assert_eq!(cache_report().bytes, 0);
    assert_eq!(compute(chain(1)).unwrap().to_vec::<f64>().unwrap(), [1.5; 3]);
    set_cache_bytes(256 << 20);
}

/// Results of 1 MiB, which their programs keep.
fn kept() {
    clear_cache();
    let before = cache_report().kept_bytes;
    set_kept_bytes(before + (4 << 20));
    let x = full(&[1 << 17], 1.0);
    let large = |length: usize| (0..length).fold(defer(&x), |x, _| x * 1.5);
    for length in 1..12 {
        compute(large(length)).unwrap();
        let kept = cache_report().kept_bytes - before;
        assert!((1 << 20..=5 << 20).contains(&kept), "{kept}");
    }
    let counted = counted(|| drop(compute(large(1)).unwrap()));
    assert_eq!(counted, (0, 1), "the code stays");
    clear_cache();
    assert_eq!(cache_report().kept_bytes, before);
    set_kept_bytes(1 << 30);
}

/// Decides nothing, loudly.
struct Panics;

impl Scheduler for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn group(&self, _: &Plan, _: &Sizes) -> Grouping {
        panic!("no idea")
    }
}

fn failures_leave_nothing() {
    let program = || defer(&full(&[3], 1.0)).sinh_like();
    let entries = cache_report().entries;
    for _ in 0..2 {
        let panicked = catch_unwind(AssertUnwindSafe(|| compute_with(program(), &Panics)));
        assert!(panicked.is_err());
        assert_eq!(cache_report().entries, entries);
    }
    compute(program()).unwrap();
}

trait SinhLike {
    fn sinh_like(&self) -> LazyTensor;
}

impl SinhLike for LazyTensor {
    fn sinh_like(&self) -> LazyTensor {
        (self.exp() - (-self).exp()) / 2.0
    }
}

/// Threads that meet the same new program compile it once.
fn threads() {
    let found = counted(|| {
        std::thread::scope(|scope| {
            for k in 0..8 {
                scope.spawn(move || {
                    let a = full(&[k, 3], 2.0);
                    let r = compute((defer(&a).log2() * 3.5).sum(0)).unwrap();
                    assert_eq!(total(&r), 3.5 * 3.0 * k as f64);
                });
            }
        });
    });
    assert_eq!((found.0 + found.1, found.0), (8, 1));
}

/// Programs that differ share the kernels that do not, while one that has them is there.
fn kernels() {
    let counts = |f: &dyn Fn()| {
        let before = cache_report();
        f();
        let after = cache_report();
        let compiled = after.kernels_compiled - before.kernels_compiled;
        (compiled, after.kernels_shared - before.kernels_shared)
    };
    clear_cache();
    let (a, b) = (full(&[40, 50], 2.0), full(&[70], 3.0));
    let one = || {
        let sum = compute(defer(&a).sum(1)).unwrap();
        assert_eq!(total(&sum), 4000.0);
    };
    let two = || {
        let (sum, root) = compute((defer(&a).sum(1), defer(&b).sqrt() + 1)).unwrap();
        assert_eq!((total(&sum), root.shape()), (4000.0, [70].as_slice()));
    };
    assert_eq!(counts(&one), (1, 0));
    assert_eq!(counts(&two), (1, 1));
    assert_eq!(counts(&two), (0, 0));
    clear_cache();
    assert_eq!(counts(&two), (2, 0));
}
