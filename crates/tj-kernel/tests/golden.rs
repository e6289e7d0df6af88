//! The text of every stage for a few programs; `UPDATE_EXPECT=1` blesses what changed.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use expect_test::{ExpectFile, expect_file};
use tj_ir::trace::trace;
use tj_ir::{Axes, Dim, LazyTensor, axis, input, linalg};
use tj_kernel::{lower, verify};
use tj_plan::{
    DefaultScheduler, Form, Plan, Scheduler, Sizes, canonicalise, debug_verify, debug_verify_fused, fuse,
};
use tj_tensor::DType;

/// Compares trace, plan, fused plan with the scheduler's reasons, and kernels.
fn check(output: &LazyTensor, [traced, planned, fused_, kernels]: [ExpectFile; 4]) {
    let plan = Plan::from_trace(trace(&[], std::slice::from_ref(output)).unwrap());
    debug_verify("trace", &plan, Form::Traced);
    traced.assert_eq(&plan.to_string());

    let plan = canonicalise(&plan);
    debug_verify("canonicalise", &plan, Form::Canonical);
    planned.assert_eq(&plan.to_string());

    let fused = fuse(&plan, &DefaultScheduler.group(&plan, &Sizes)).unwrap();
    debug_verify_fused("fuse", &fused);
    let reasons: String = fused.reasons.iter().map(|reason| format!("// {reason}\n")).collect();
    fused_.assert_eq(&format!("{fused}{reasons}"));

    let lowered = lower(&fused);
    for kernel in &lowered {
        assert_eq!(verify(&kernel.kernel).unwrap(), []);
    }
    let texts: Vec<String> = lowered.iter().map(|lowered| lowered.kernel.to_string()).collect();
    kernels.assert_eq(&texts.join("\n"));
}

fn size(name: &str) -> Dim {
    Dim::new(name, 1..=4096).unwrap()
}

#[test]
fn layer() {
    let x = input("x", DType::F32, [size("N"), 64.into()]).unwrap();
    let w = input("w", DType::F32, [64.into(), size("M")]).unwrap();
    let b = input("b", DType::F32, [size("M")]).unwrap();
    check(
        &(x.matmul(&w) + b).relu().sum(1),
        [
            expect_file!["golden/layer.trace.txt"],
            expect_file!["golden/layer.plan.txt"],
            expect_file!["golden/layer.fuse.txt"],
            expect_file!["golden/layer.kernel.txt"],
        ],
    );
}

#[test]
fn softmax() {
    let x = input("x", DType::F32, [size("N"), size("M")]).unwrap();
    let rows = || -> Axes { axis(1).keepdims() };
    let e = (&x - x.max(rows())).exp();
    check(
        &(&e / e.sum(rows())),
        [
            expect_file!["golden/softmax.trace.txt"],
            expect_file!["golden/softmax.plan.txt"],
            expect_file!["golden/softmax.fuse.txt"],
            expect_file!["golden/softmax.kernel.txt"],
        ],
    );
}

/// A sum of one long vector: its blocks are tasks, if there are several.
#[test]
fn distance() {
    let n = || Dim::new("N", 0..=1 << 30).unwrap();
    let (x, y) = (input("x", DType::F64, [n()]).unwrap(), input("y", DType::F64, [n()]).unwrap());
    let off = &x - &y;
    check(
        &(&off * &off).sum(()).sqrt(),
        [
            expect_file!["golden/distance.trace.txt"],
            expect_file!["golden/distance.plan.txt"],
            expect_file!["golden/distance.fuse.txt"],
            expect_file!["golden/distance.kernel.txt"],
        ],
    );
}

/// Sums of columns: tasks are blocks of rows in strips of columns, if there are several blocks.
#[test]
fn columns() {
    let x = input("x", DType::F32, [Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap()]).unwrap();
    check(
        &x.mean(0),
        [
            expect_file!["golden/columns.trace.txt"],
            expect_file!["golden/columns.plan.txt"],
            expect_file!["golden/columns.fuse.txt"],
            expect_file!["golden/columns.kernel.txt"],
        ],
    );
}

/// A call between what makes its argument and what uses one of its results; the other result is scratch.
#[test]
fn call() {
    let x = input("x", DType::F64, [size("N"), 3.into(), 3.into()]).unwrap();
    let (sign, logarithm) = linalg::slogdet(&(&x + x.permute(&[0, 2, 1])));
    drop(sign);
    check(
        &logarithm.exp(),
        [
            expect_file!["golden/call.trace.txt"],
            expect_file!["golden/call.plan.txt"],
            expect_file!["golden/call.fuse.txt"],
            expect_file!["golden/call.kernel.txt"],
        ],
    );
}
