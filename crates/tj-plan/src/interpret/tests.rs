//! Known answers, block boundaries, and every form of random programs against the traced one.

use proptest::prelude::*;
use tj_ir::Symbol;
use tj_ir::expr::{BLOCK, CONTRACT_BLOCK};
use tj_tensor::{DType, Scalar, Tensor};

use super::{InterpretError, interpret, tensor_of};
use crate::plan::{Plan, QueryId};
use crate::sample::{Random, sample};
use crate::scheduler::{DefaultScheduler, GroupDecision, Grouping, Scheduler, Sizes, Unfused};
use crate::{Form, canonicalise, debug_verify, debug_verify_fused, fuse, parse};

fn none(_: &Symbol) -> Option<i64> {
    None
}

fn f32s(items: &[f32]) -> Tensor {
    let items: Vec<Scalar> = items.iter().map(|&x| Scalar::F32(x)).collect();
    tensor_of(DType::F32, &[items.len()], &items).unwrap()
}

fn items(tensor: &Tensor) -> Vec<Scalar> {
    super::read_all(tensor).unwrap().items
}

/// Scalars as text, so that a failure shows them.
fn texts(tensor: &Tensor) -> String {
    items(tensor).iter().map(Scalar::to_string).collect::<Vec<_>>().join(" ")
}

/// Runs a plan without sizes and compares its one output.
#[track_caller]
fn check(plan: &str, inputs: &[Tensor], expected: &str) {
    let plan = parse(plan).unwrap();
    debug_verify("the test", &plan, Form::Traced);
    let outputs = interpret(&plan, inputs, &none).unwrap();
    assert_eq!(texts(&outputs[0]), expected);
}

#[test]
fn expressions() {
    let x = f32s(&[1.0, -2.0, 3.0]);
    check(
        "input x: f32[3] number n0: f32 = 2.5f32
         q0 t: f32[2] { e0 = mul(x[i0 + 1], n0) sub(mul(e0, e0), x[1 - i0]) } produces q0",
        std::slice::from_ref(&x),
        "27.0f32 55.25f32",
    );
    check("q0 t: i64[2, 2] = size(2*i0 + i1) produces q0", &[], "0i64 1i64 2i64 3i64");
    check(
        "input x: f32[3] q0 t: bool[3] = less(x[i0], 0.0f32) q1 u: f32[] = where(q0[1], 1.0f32, x[0])
         produces q1",
        std::slice::from_ref(&x),
        "1.0f32",
    );
    check("input x: f32[3] q0 t: f32[0] = neg(x[i0]) produces q0", &[x], "");
}

#[test]
fn every_tree_of_two_by_two() {
    let x = tensor_of(DType::F32, &[2, 2], &[1.0f32, 2.0, 3.0, 4.0].map(Scalar::F32)).unwrap();
    let plan = |body: &str, shape: &str| format!("input x: f32[2, 2] q0 t: f32{shape} = {body} produces q0");
    let x = std::slice::from_ref(&x);
    check(&plan("sum<row>(i1 < 2: x[i0, i1])", "[2]"), x, "3.0f32 7.0f32");
    check(&plan("prod<col>(i1 < 2: x[i1, i0])", "[2]"), x, "3.0f32 8.0f32");
    check(&plan("max<row>(i1 < 2: x[i0, i1])", "[2]"), x, "2.0f32 4.0f32");
    check(&plan("min<col>(i1 < 2: x[i1, i0])", "[2]"), x, "1.0f32 2.0f32");
    check(
        &plan("sum<contract>(i2 < 2: mul(x[i0, i2], x[i2, i1]))", "[2, 2]"),
        x,
        "7.0f32 10.0f32 15.0f32 22.0f32",
    );
}

#[test]
fn reductions_over_nothing() {
    let x = f32s(&[]);
    let x = std::slice::from_ref(&x);
    let plan = |body: &str| format!("input x: f32[0] q0 t: f32[] = {body} produces q0");
    check(&plan("sum<row>(i0 < 0: x[i0])"), x, "0.0f32");
    check(&plan("prod<col>(i0 < 0: x[i0])"), x, "1.0f32");
    // A guard has refused these sizes; the interpreter must not stop nevertheless.
    check(&plan("max<row>(i0 < 0: x[i0])"), x, "-inf_f32");
    check(&plan("min<row>(i0 < 0: x[i0])"), x, "inf_f32");
    check(
        "input x: f32[0] q0 t: f32[2, 2] = sum<contract>(i2 < 0: mul(x[i2], x[i2])) produces q0",
        x,
        "0.0f32 0.0f32 0.0f32 0.0f32",
    );
}

/// The sum of -0 over one element is that element, over none +0.
#[test]
fn signs_of_zero() {
    let x = f32s(&[-0.0]);
    let x = std::slice::from_ref(&x);
    check("input x: f32[1] q0 t: f32[] = sum<row>(i0 < 1: x[i0]) produces q0", x, "-0.0f32");
    check("input x: f32[1] q0 t: f32[] = sum<col>(i0 < 1: x[i0]) produces q0", x, "-0.0f32");
    // A contraction starts from +0.
    check(
        "input x: f32[1] q0 t: f32[1, 1] = sum<contract>(i2 < 1: mul(x[i2], 1.0f32)) produces q0",
        x,
        "0.0f32",
    );
}

/// Values whose sum depends on the order in which they are added.
fn rough(n: usize) -> Vec<f32> {
    let mut random = Random(n as u64);
    (0..n)
        .map(|_| (random.below(1 << 24) as f32 - 8e6) * if random.below(2) == 0 { 1.0 } else { 1e-6 })
        .collect()
}

fn halves(mut items: Vec<f32>) -> f32 {
    while items.len() > 1 {
        let kept = items.len().div_ceil(2);
        for l in 0..items.len() - kept {
            items[l] += items[l + kept];
        }
        items.truncate(kept);
    }
    items[0]
}

/// The tree of rows, written again from its definition.
fn row_sum(items: &[f32]) -> f32 {
    if items.len() < 32 {
        return items.iter().fold(-0.0, |sum, x| sum + x);
    }
    let blocks = items.chunks(4096).map(|block| {
        let mut lanes = vec![-0.0f32; 32];
        for (i, x) in block.iter().enumerate() {
            lanes[i % 32] += x;
        }
        halves(lanes)
    });
    halves(blocks.collect())
}

fn col_sum(items: &[f32]) -> f32 {
    halves(items.chunks(4096).map(|block| block.iter().fold(-0.0, |sum, x| sum + x)).collect())
}

fn contract_sum(items: &[f32]) -> f32 {
    let blocks = items.chunks(256).map(|block| block.iter().fold(0.0, |sum, x| x.mul_add(*x, sum)));
    blocks.reduce(|a, b| a + b).unwrap()
}

#[test]
fn block_boundaries() {
    assert_eq!((BLOCK, CONTRACT_BLOCK), (4096, 256));
    for n in [1, 15, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 2 * 4096 + 1, 5 * 4096 + 7] {
        let x = rough(n);
        let tensor = f32s(&x);
        let sum = |body: &str, shape: &str| {
            let plan = format!("input x: f32[{n}] q0 t: f32{shape} = sum{body} produces q0");
            let outputs = interpret(&parse(&plan).unwrap(), std::slice::from_ref(&tensor), &none).unwrap();
            items(&outputs[0])[0]
        };
        assert_eq!(sum(&format!("<row>(i0 < {n}: x[i0])"), "[]"), Scalar::F32(row_sum(&x)), "row {n}");
        assert_eq!(sum(&format!("<col>(i0 < {n}: x[i0])"), "[]"), Scalar::F32(col_sum(&x)), "col {n}");
        let contraction = sum(&format!("<contract>(i2 < {n}: mul(x[i2], x[i2]))"), "[1, 1]");
        assert_eq!(contraction, Scalar::F32(contract_sum(&x)), "contract {n}");
    }
}

/// f64 has 16 lanes, and fewer elements than lanes are added in order.
#[test]
fn lanes_follow_the_type() {
    let x: Vec<Scalar> = (0..17).map(|i| Scalar::F64(if i == 0 { 1e16 } else { 1.0 })).collect();
    let sum = |n: usize| {
        let tensor = tensor_of(DType::F64, &[n], &x[..n]).unwrap();
        let plan = format!("input x: f64[{n}] q0 t: f64[] = sum<row>(i0 < {n}: x[i0]) produces q0");
        texts(&interpret(&parse(&plan).unwrap(), &[tensor], &none).unwrap()[0])
    };
    // In order every 1 is lost; in lanes most meet each other before they meet 1e16.
    assert_eq!(sum(15), "1e16f64");
    assert_eq!(sum(16), "1.0000000000000014e16f64");
    assert_eq!(sum(17), "1.0000000000000014e16f64");
}

#[test]
fn integers_contract_as_columns_and_wrap() {
    let x = tensor_of(DType::I32, &[2], &[Scalar::I32(1 << 20), Scalar::I32(3)]).unwrap();
    check(
        "input x: i32[2] q0 t: i32[1, 1] = sum<contract>(i2 < 2: mul(x[i2], x[i2])) produces q0",
        &[x],
        "9i32",
    );
}

#[test]
fn mistakes_are_errors() {
    let plan = parse("input x: f32[3] q0 t: f32[4] = neg(x[i0]) produces q0").unwrap();
    let error = interpret(&plan, &[f32s(&[1.0, 2.0, 3.0])], &none).unwrap_err();
    assert!(matches!(error, InterpretError::OutOfBounds { query: QueryId(0), position: 3, extent: 3 }));
    let error = interpret(&plan, &[f32s(&[1.0])], &none).unwrap_err();
    assert_eq!(error.to_string(), "argument 0 has shape [1], but the sizes give [3]");
    let plan = parse("size N input x: f32[N] produces x").unwrap();
    let error = interpret(&plan, &[f32s(&[])], &none).unwrap_err();
    assert_eq!(error.to_string(), "symbol N in N has no value");
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    let pairs = items(a).into_iter().zip(items(b));
    a.dtype() == b.dtype()
        && a.shape() == b.shape()
        && pairs.into_iter().all(|(x, y)| x == y || (x.to_f64().is_nan() && y.to_f64().is_nan()))
}

/// Writes whatever may be written into its readers, at random.
fn chaos(plan: &Plan, random: &mut Random) -> Grouping {
    let produced = plan.produced();
    let inline: Vec<bool> = plan
        .query_ids()
        .map(|id| plan.root_reduce(id).is_none() && !produced[id.index()] && random.below(3) > 0)
        .collect();
    let groups = plan.query_ids().filter(|id| !inline[id.index()]);
    let groups = groups.map(|id| GroupDecision { queries: vec![id], outer: plan.query(id).shape.len() });
    Grouping { groups: groups.collect(), inline, reasons: Vec::new() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_form_has_the_same_bits(seed: u64) {
        let sample = sample(seed, 14);
        let run = |plan: &Plan| interpret(plan, &sample.inputs, &sample.value()).unwrap();
        debug_verify("trace", &sample.plan, Form::Traced);
        let expected = run(&sample.plan);
        let plan = canonicalise(&sample.plan);
        debug_verify("canonicalise", &plan, Form::Canonical);
        let groupings = [
            DefaultScheduler.group(&plan, &Sizes),
            Unfused.group(&plan, &Sizes),
            chaos(&plan, &mut Random(seed)),
        ];
        let mut forms = vec![plan.clone()];
        for grouping in groupings {
            let fused = fuse(&plan, &grouping).unwrap();
            debug_verify_fused("fuse", &fused);
            forms.push(fused.plan);
        }
        for form in forms {
            let found = run(&form);
            for (a, b) in expected.iter().zip(&found) {
                prop_assert!(same(a, b), "{}\n{form}{} instead of {}", sample.plan, texts(b), texts(a));
            }
        }
    }

    #[test]
    fn canonical_plans_are_left_alone(seed: u64) {
        let plan = canonicalise(&sample(seed, 14).plan);
        prop_assert_eq!(canonicalise(&plan).to_string(), plan.to_string());
    }
}
