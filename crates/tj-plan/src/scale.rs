//! Work grows with the program: every pass over chains, fans, many outputs, many guards, many moves.
//!
//! Counted are nodes of arenas, queries, groups and lines, not seconds. A pass that is quadratic in one of these
//! shapes would not end within the patience of whoever runs the tests.

use tj_ir::trace::trace;
use tj_ir::{Dim, LazyTensor, input};
use tj_tensor::DType;

use crate::plan::Plan;
use crate::scheduler::{DefaultScheduler, Scheduler, Sizes};
use crate::{Form, canonicalise, debug_verify, debug_verify_fused, fuse, parse_fused};

/// Sizes of what the passes make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    traced: usize,
    canonical: usize,
    queries: usize,
    guards: usize,
    fused: usize,
    kernels: usize,
    lines: usize,
}

fn vector(name: &str) -> LazyTensor {
    input(name, DType::F32, [Dim::new("N", ..).unwrap()]).unwrap()
}

fn work(outputs: &[LazyTensor]) -> Work {
    let traced = Plan::from_trace(trace(&[], outputs).unwrap());
    debug_verify("trace", &traced, Form::Traced);
    let plan = canonicalise(&traced);
    debug_verify("canonicalise", &plan, Form::Canonical);
    let fused = fuse(&plan, &DefaultScheduler.group(&plan, &Sizes)).unwrap();
    debug_verify_fused("fuse", &fused);
    let text = fused.to_string();
    assert_eq!(parse_fused(&text).unwrap().groups.len(), fused.groups.len());
    Work {
        traced: traced.arena.len(),
        canonical: plan.arena.len(),
        queries: plan.queries.len(),
        guards: plan.guards.len(),
        fused: fused.plan.arena.len(),
        kernels: fused.groups.len(),
        lines: text.lines().count(),
    }
}

#[test]
fn chains() {
    let chain = |n: usize| {
        let x = vector("x");
        work(&[(0..n).fold(x.clone(), |y, k| if k % 2 == 0 { y.exp() } else { y + &x })])
    };
    let (small, large) = (chain(10_000), chain(100_000));
    assert_eq!((small.traced, small.canonical, small.queries), (20_000, 20_000, 10_000));
    assert_eq!((large.traced, large.canonical, large.queries), (200_000, 200_000, 100_000));
    assert!(small.fused <= 10_200 && large.fused <= 102_000, "{small:?} {large:?}");
    assert!(small.kernels <= 60 && large.kernels <= 600, "{small:?} {large:?}");
    // A line an operator where values are shared, and a few a kernel.
    assert!(large.lines <= 10 * small.lines, "{small:?} {large:?}");
}

/// One query with many readers, one reader of many queries.
#[test]
fn fans() {
    let fan = |n: usize| {
        let x = vector("x").exp();
        let branches: Vec<LazyTensor> = (0..n).map(|k| &x * (k as f64 + 0.5)).collect();
        let mut sums = branches;
        while sums.len() > 1 {
            sums =
                sums.chunks(2).map(|pair| if let [a, b] = pair { a + b } else { pair[0].clone() }).collect();
        }
        work(&sums)
    };
    let (small, large) = (fan(1_000), fan(10_000));
    assert_eq!((small.queries, large.queries), (2_000, 20_000));
    assert!(large.fused <= 11 * small.fused && large.kernels <= 11 * small.kernels, "{small:?} {large:?}");
}

#[test]
fn outputs() {
    let outputs = |n: usize| {
        let x = vector("x");
        let outputs: Vec<LazyTensor> = (0..n).map(|k| (&x * (k as f64 + 0.5)).exp()).collect();
        work(&outputs)
    };
    let (small, large) = (outputs(1_000), outputs(10_000));
    assert_eq!((small.queries, large.queries), (2_000, 20_000));
    assert_eq!((small.kernels, large.kernels), (1_000, 10_000));
    assert!(large.fused <= 10 * small.fused);
}

/// Each addition has sizes of its own that must be equal.
#[test]
fn guards() {
    let guards = |n: usize| {
        let x = vector("x");
        let other = |k: usize| {
            let size = Dim::new(&format!("M{k}"), ..).unwrap();
            input(&format!("y{k}"), DType::F32, [size]).unwrap()
        };
        work(&[(0..n).fold(x, |sum, k| sum + other(k))])
    };
    let (small, large) = (guards(500), guards(5_000));
    assert_eq!((small.queries, large.queries), (500, 5_000));
    assert_eq!((small.guards, large.guards), (500, 5_000));
    assert!(large.lines <= 10 * small.lines, "{small:?} {large:?}");
}

#[test]
fn moves() {
    let moves = |n: usize| {
        let square = [Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap()];
        let x = input("x", DType::F32, square).unwrap();
        work(&[(0..n).fold(x, |y, k| if k % 2 == 0 { y.transpose() } else { y.flip(0) }).exp()])
    };
    let (small, large) = (moves(1_000), moves(10_000));
    assert_eq!((small.queries, large.queries), (1, 1));
    assert_eq!((small.traced, large.traced), (1_002, 10_002));
}
