//! Canonical plan text in; fused plan text and the reasons out.

use expect_test::{Expect, expect};

use super::{MAX_NODES, MAX_QUERIES};
use crate::plan::Plan;
use crate::scheduler::{DefaultScheduler, Scheduler, Sizes, Unfused};
use crate::{Form, Fused, debug_verify, debug_verify_fused, fuse, parse};

fn fused_by(scheduler: &dyn Scheduler, text: &str) -> Fused {
    let plan = parse(text).unwrap();
    debug_verify("the test", &plan, Form::Canonical);
    let fused = fuse(&plan, &scheduler.group(&plan, &Sizes)).unwrap();
    debug_verify_fused("fuse", &fused);
    fused
}

/// Compares queries, groups and reasons; declarations are the same before and after.
#[track_caller]
fn check_by(scheduler: &dyn Scheduler, text: &str, expected: Expect) {
    let fused = fused_by(scheduler, text);
    let declares =
        |line: &str| ["size", "input", "number", "guard"].iter().any(|word| line.starts_with(word));
    let text = fused.to_string();
    let lines = text.lines().filter(|line| !declares(line)).map(str::to_owned);
    let reasons = fused.reasons.iter().map(|reason| format!("because {reason}"));
    expected.assert_eq(&(lines.chain(reasons).collect::<Vec<_>>().join("\n") + "\n"));
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    check_by(&DefaultScheduler, text, expected);
}

const SOFTMAX: &str = "size N size M input x: f32[N, M]
    q0 max: f32[N] = max<row>(i1 < M: x[i0, i1])
    q1 sub: f32[N, M] = sub(x[i0, i1], q0[i0])
    q2 exp: f32[N, M] = exp(q1[i0, i1])
    q3 sum: f32[N] = sum<row>(i1 < M: q2[i0, i1])
    q4 div: f32[N, M] = div(q2[i0, i1], q3[i0])
    guard 1 <= M because of max: it is undefined over axis 1 of size 0
    produces q4";

const LAYER: &str = "size N size K size M input x: f32[N, K] input w: f32[K, M] input b: f32[M]
    q0 matmul: f32[N, M] = sum<contract>(i2 < K: mul(x[i0, i2], w[i2, i1]))
    q1 add: f32[N, M] = add(q0[i0, i1], b[i1])
    q2 relu: f32[N, M] = relu(q1[i0, i1])
    q3 sum: f32[N] = sum<row>(i1 < M: q2[i0, i1])
    produces q3";

#[test]
fn a_chain_is_one_query() {
    check(
        "size N input x: f32[N]
         q0 neg: f32[N] = neg(x[i0])
         q1 exp: f32[N] = exp(q0[i0])
         q2 add: f32[N] = add(q1[i0], 1.0f32)
         produces q2",
        expect![[r#"
            q0 add: f32[N] = add(exp(neg(x[i0])), 1.0f32)
            produces q0
            group outer 1: q0
            because q0: inlined (1 reader, cost 1, extra 0, saved 64)
            because q1: inlined (1 reader, cost 13, extra 0, saved 64)
        "#]],
    );
}

#[test]
fn softmax_is_one_kernel() {
    check(
        SOFTMAX,
        expect![[r#"
            q0 max: f32[N] = max<row>(i1 < M: x[i0, i1])
            q1 exp: f32[N, M] = exp(sub(x[i0, i1], q0[i0]))
            q2 sum: f32[N] = sum<row>(i1 < M: q1[i0, i1])
            q3 div: f32[N, M] = div(q1[i0, i1], q2[i0])
            produces q3
            group outer 1: q0 local, q1 local, q2 local, q3
            because q1: inlined (1 reader, cost 1, extra 0, saved 4096)
            because q2: stored (2 readers, cost 13)
            because q2: joined (1 outer axis shared with q0)
            because q3: joined (1 outer axis shared with q0)
            because q4: joined (1 outer axis shared with q0)
        "#]],
    );
}

#[test]
fn layernorm_is_one_kernel() {
    check(
        "size N in 1..=4096 input x: f32[N, 768] input g: f32[768] input b: f32[768] number n0: f32 = 1e-5f32
         q0 sum: f32[N] = sum<row>(i1 < 768: x[i0, i1])
         q1 div: f32[N] = div(q0[i0], 768.0f32)
         q2 sub: f32[N, 768] = sub(x[i0, i1], q1[i0])
         q3 mul: f32[N, 768] = mul(q2[i0, i1], q2[i0, i1])
         q4 sum: f32[N] = sum<row>(i1 < 768: q3[i0, i1])
         q5 div: f32[N] = div(q4[i0], 768.0f32)
         q6 add: f32[N] = add(q5[i0], n0)
         q7 sqrt: f32[N] = sqrt(q6[i0])
         q8 div: f32[N, 768] = div(q2[i0, i1], q7[i0])
         q9 mul: f32[N, 768] = mul(q8[i0, i1], g[i1])
         q10 add: f32[N, 768] = add(q9[i0, i1], b[i1])
         produces q10",
        expect![[r#"
            q0 sum: f32[N] = sum<row>(i1 < 768: x[i0, i1])
            q1 sub: f32[N, 768] = sub(x[i0, i1], div(q0[i0], 768.0f32))
            q2 sum: f32[N] = sum<row>(i1 < 768: mul(q1[i0, i1], q1[i0, i1]))
            q3 add: f32[N, 768] = add(mul(div(q1[i0, i1], sqrt(add(div(q2[i0], 768.0f32), n0))), g[i1]), b[i1])
            produces q3
            group outer 1: q0 local, q1 local, q2 local, q3
            because q1: inlined (1 reader, cost 4, extra 0, saved 64)
            because q2: stored (2 readers, cost 5)
            because q3: inlined (1 reader, cost 1, extra 0, saved 49152)
            because q5: inlined (1 reader, cost 4, extra 0, saved 64)
            because q6: inlined (1 reader, cost 5, extra 0, saved 64)
            because q7: inlined (1 reader, cost 9, extra 0, saved 64)
            because q8: inlined (1 reader, cost 13, extra 0, saved 49152)
            because q9: inlined (1 reader, cost 14, extra 0, saved 49152)
            because q2: joined (1 outer axis shared with q0)
            because q4: joined (1 outer axis shared with q0)
            because q10: joined (1 outer axis shared with q0)
        "#]],
    );
}

#[test]
fn what_follows_a_product_row_by_row_joins_it() {
    check(
        LAYER,
        expect![[r#"
            q0 matmul: f32[N, M] = sum<contract>(i2 < K: mul(x[i0, i2], w[i2, i1]))
            q1 sum: f32[N] = sum<row>(i1 < M: relu(add(q0[i0, i1], b[i1])))
            produces q1
            group outer 1: q0 local, q1
            because q1: inlined (1 reader, cost 1, extra 0, saved 4096)
            because q2: inlined (1 reader, cost 3, extra 0, saved 4096)
            because q3: joined (1 outer axis shared with q0)
        "#]],
    );
}

/// A library call gives whole rows, so what needs columns, or a whole matrix of a batch, cannot follow it.
#[test]
fn what_needs_more_than_a_row_of_a_product_does_not_join_it() {
    check(
        "size B size N size M input x: f32[B, N, M] input y: f32[B, M, N]
         q0 matmul: f32[B, N, N] = sum<contract>(i3 < M: mul(x[i0, i1, i3], y[i0, i3, i2]))
         q1 sum: f32[B, N] = sum<col>(i2 < N: q0[i0, i2, i1])
         q2 sum: f32[B, N] = sum<row>(i2 < N: q0[i0, i1, i2])
         q3 max: f32[B] = max<row>(i1 < N: q2[i0, i1])
         produces q1, q3",
        expect![[r#"
            q0 matmul: f32[B, N, N] = sum<contract>(i3 < M: mul(x[i0, i1, i3], y[i0, i3, i2]))
            q1 sum: f32[B, N] = sum<row>(i2 < N: q0[i0, i1, i2])
            q2 sum: f32[B, N] = sum<col>(i2 < N: q0[i0, i2, i1])
            q3 max: f32[B] = max<row>(i1 < N: q1[i0, i1])
            produces q2, q3
            group outer 2: q0, q1
            group outer 2: q2
            group outer 1: q3
            because q2: joined (2 outer axes shared with q0)
        "#]],
    );
}

/// An operand of a contraction is read once for every row of the other, by a library that reads memory.
#[test]
fn operands_of_a_product_are_stored() {
    check(
        "size N input x: f32[N, N] input y: f32[N, N]
         q0 neg: f32[N, N] = neg(x[i0, i1])
         q1 matmul: f32[N, N] = sum<contract>(i2 < N: mul(q0[i0, i2], y[i2, i1]))
         produces q1",
        expect![[r#"
            q0 neg: f32[N, N] = neg(x[i0, i1])
            q1 matmul: f32[N, N] = sum<contract>(i2 < N: mul(q0[i0, i2], y[i2, i1]))
            produces q1
            group outer 2: q0
            group outer 2: q1
            because q0: stored (operand of a dense contraction)
        "#]],
    );
}

#[test]
fn what_is_broadcast_is_recomputed_only_where_that_is_free() {
    // Along a row, exp(y) is computed again for every column.
    check(
        "size N size M input x: f32[N, M] input y: f32[M]
         q0 exp: f32[M] = exp(y[i0])
         q1 add: f32[N, M] = add(x[i0, i1], q0[i1])
         produces q1",
        expect![[r#"
            q0 exp: f32[M] = exp(y[i0])
            q1 add: f32[N, M] = add(x[i0, i1], q0[i1])
            produces q1
            group outer 1: q0
            group outer 2: q1
            because q0: stored (recomputing costs 48384 additions, storing saves 64)
        "#]],
    );
    // Down a column it is computed once a row.
    check(
        "size N size M input x: f32[N, M] input y: f32[N]
         q0 exp: f32[N] = exp(y[i0])
         q1 add: f32[N, M] = add(x[i0, i1], q0[i0])
         produces q1",
        expect![[r#"
            q0 add: f32[N, M] = add(x[i0, i1], exp(y[i0]))
            produces q0
            group outer 2: q0
            because q0: inlined (1 reader, cost 12, extra 0, saved 64)
        "#]],
    );
    // A single number, too.
    check(
        "size N input x: f32[N] input y: f32[]
         q0 exp: f32[] = exp(y[])
         q1 add: f32[N] = add(x[i0], q0[])
         produces q1",
        expect![[r#"
            q0 add: f32[N] = add(x[i0], exp(y[]))
            produces q0
            group outer 1: q0
            because q0: inlined (1 reader, cost 12, extra 0, saved 1)
        "#]],
    );
}

#[test]
fn several_readers_share_what_is_dear_and_repeat_what_is_cheap() {
    check(
        "size N input x: f32[N]
         q0 add: f32[N] = add(x[i0], 1.0f32)
         q1 exp: f32[N] = exp(x[i0])
         q2 mul: f32[N] = mul(q0[i0], q1[i0])
         q3 sub: f32[N] = sub(q0[i0], q1[i0])
         produces q2, q3",
        expect![[r#"
            q0 exp: f32[N] = exp(x[i0])
            q1 mul: f32[N] = mul(add(x[i0], 1.0f32), q0[i0])
            q2 sub: f32[N] = sub(add(x[i0], 1.0f32), q0[i0])
            produces q1, q2
            group outer 1: q0 local, q1, q2
            because q0: inlined (2 readers, cost 1, extra 64, saved 64)
            because q1: stored (2 readers, cost 12)
            because q2: joined (1 outer axis shared with q1)
            because q3: joined (1 outer axis shared with q1)
        "#]],
    );
    // Cheap, but it reads two tensors, and each reader would.
    check(
        "size N input x: f32[N] input y: f32[N]
         q0 add: f32[N] = add(x[i0], y[i0])
         q1 exp: f32[N] = exp(q0[i0])
         q2 neg: f32[N] = neg(q0[i0])
         produces q1, q2",
        expect![[r#"
            q0 add: f32[N] = add(x[i0], y[i0])
            q1 exp: f32[N] = exp(q0[i0])
            q2 neg: f32[N] = neg(q0[i0])
            produces q1, q2
            group outer 1: q0 local, q1, q2
            because q0: stored (2 readers, cost 1)
            because q1: joined (1 outer axis shared with q0)
            because q2: joined (1 outer axis shared with q0)
        "#]],
    );
}

#[test]
fn outputs_are_stored_and_read_where_they_stand() {
    check(
        "size N size M input x: f32[N] input y: f32[M]
         q0 exp: f32[N] = exp(x[i0])
         q1 exp: f32[M] = exp(y[i0])
         q2 neg: f32[N] = neg(q0[i0])
         q3 sum: f32[] = sum<row>(i0 < N: q2[i0])
         produces q0, q1, q2, q3",
        expect![[r#"
            q0 exp: f32[N] = exp(x[i0])
            q1 neg: f32[N] = neg(q0[i0])
            q2 exp: f32[M] = exp(y[i0])
            q3 sum: f32[] = sum<row>(i0 < N: q1[i0])
            produces q0, q2, q1, q3
            group outer 1: q0, q1
            group outer 1: q2
            group outer 0: q3
            because q2: joined (1 outer axis shared with q0)
        "#]],
    );
}

#[test]
fn another_outer_position_is_another_kernel() {
    check(
        "size N input x: f32[N, N]
         q0 sum: f32[N] = sum<row>(i1 < N: x[i0, i1])
         q1 sub: f32[N, N] = sub(x[i0, i1], q0[i1])
         produces q1",
        expect![[r#"
            q0 sum: f32[N] = sum<row>(i1 < N: x[i0, i1])
            q1 sub: f32[N, N] = sub(x[i0, i1], q0[i1])
            produces q1
            group outer 1: q0
            group outer 2: q1
        "#]],
    );
}

#[test]
fn unfused_is_a_kernel_for_every_query() {
    check_by(
        &Unfused,
        SOFTMAX,
        expect![[r#"
        q0 max: f32[N] = max<row>(i1 < M: x[i0, i1])
        q1 sub: f32[N, M] = sub(x[i0, i1], q0[i0])
        q2 exp: f32[N, M] = exp(q1[i0, i1])
        q3 sum: f32[N] = sum<row>(i1 < M: q2[i0, i1])
        q4 div: f32[N, M] = div(q2[i0, i1], q3[i0])
        produces q4
        group outer 1: q0
        group outer 2: q1
        group outer 2: q2
        group outer 1: q3
        group outer 2: q4
    "#]],
    );
}

/// A plan of `n` queries, each an operator on the one before.
fn chain(n: usize, op: &str) -> String {
    let mut text = "input x: f32[9] q0 t: f32[9] = exp(x[i0])".to_owned();
    for q in 1..n {
        text += &format!(" q{q} t: f32[9] = {}", op.replace('_', &format!("q{}[i0]", q - 1)));
    }
    text + &format!(" produces q{}", n - 1)
}

#[test]
fn expressions_and_kernels_do_not_grow_without_end() {
    // Chains end at the limit of nodes.
    let fused = fused_by(&DefaultScheduler, &chain(1000, "exp(_)"));
    let nodes = |plan: &Plan| -> Vec<usize> {
        plan.queries.iter().map(|query| plan.arena.reachable(&[query.body]).len()).collect()
    };
    let found = nodes(&fused.plan);
    assert!(found.iter().all(|&n| n <= MAX_NODES), "{found:?}");
    assert!(found.len() <= 9, "{found:?}");
    let cut = |reason: &&crate::Reason| reason.detail.contains("nodes, more than 256");
    assert_eq!(fused.reasons.iter().filter(cut).count(), found.len() - 1);

    // Queries that are outputs, each of which reads the one before, share kernels of limited length.
    let text = chain(300, "exp(_)").replace("produces q299", "produces ");
    let outputs: Vec<String> = (0..300).map(|q| format!("q{q}")).collect();
    let fused = fused_by(&DefaultScheduler, &(text + &outputs.join(", ")));
    let lengths: Vec<usize> = fused.groups.iter().map(|group| group.queries.len()).collect();
    assert_eq!(lengths, [MAX_QUERIES, MAX_QUERIES, MAX_QUERIES, MAX_QUERIES, 300 - 4 * MAX_QUERIES]);
}

/// Index maps that would grow too large are not composed.
#[test]
fn heavy_index_maps_are_stored() {
    let fused = fused_by(
        &DefaultScheduler,
        "size N size M size K input x: f32[N*M*K]
         q0 exp: f32[N, M, K] = exp(x[modulo(floordiv(i0*M*K + i1*K + i2, N), M)*K + modulo(i0*K + i2, N)])
         q1 exp: f32[N*M*K] = exp(q0[floordiv(i0, M*K), modulo(floordiv(i0, K), M), modulo(i0, K)])
         produces q1",
    );
    assert_eq!(fused.reasons[0].to_string(), "q0: stored (an index map would have 168 parts, more than 64)");
}

#[test]
fn results_of_a_call_are_a_group() {
    check(
        "size N input x: f64[N, 3, 3]
         q0 add: f64[N, 3, 3] = add(x[i0, i1, i2], x[i0, i2, i1])
         q1 eigh: f64[N, 3] = call eigh(0, 0) q0 output 0
         q2 exp: f64[N, 3] = exp(q1[i0, i1])
         q3 eigh: f64[N, 3, 3] = call eigh(0, 0) q0 output 1
         q4 mul: f64[N, 3, 3] = mul(q3[i0, i1, i2], q2[i0, i2])
         produces q4",
        expect![[r#"
            q0 add: f64[N, 3, 3] = add(x[i0, i1, i2], x[i0, i2, i1])
            q1 eigh: f64[N, 3] = call eigh(0, 0) q0 output 0
            q2 eigh: f64[N, 3, 3] = call eigh(0, 0) q0 output 1
            q3 exp: f64[N, 3] = exp(q1[i0, i1])
            q4 mul: f64[N, 3, 3] = mul(q2[i0, i1, i2], q3[i0, i2])
            produces q4
            group outer 3: q0
            group outer 0: q1, q2
            group outer 1: q3 local, q4
            because q0: stored (given to eigh)
            because q2: stored (recomputing costs 4608 additions, storing saves 384)
            because q3: joined (computed with q1)
            because q4: joined (1 outer axis shared with q2)
        "#]],
    );
}
