//! Plan text in, canonical plan text out.

use expect_test::{Expect, expect};

use crate::{Form, Plan, canonicalise, debug_verify, parse};

fn canonical(text: &str) -> Plan {
    let traced = parse(text).unwrap();
    debug_verify("the test", &traced, Form::Traced);
    let plan = canonicalise(&traced);
    debug_verify("canonicalise", &plan, Form::Canonical);
    plan
}

/// Compares queries and products; declarations are the same before and after.
#[track_caller]
fn check(text: &str, expected: Expect) {
    let plan = canonical(text).to_string();
    let declares =
        |line: &str| ["size", "input", "number", "guard"].iter().any(|word| line.starts_with(word));
    let lines: Vec<&str> = plan.lines().filter(|line| !declares(line)).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn the_example_of_the_header() {
    check(
        "size N size M input in0: f32[M, N] data
         q0 t: f32[N, M] = in0[i1, i0]
         q1 mul: f32[N, M] = mul(q0[i0, i1], 1.0f32)
         q2 exp: f32[N, M] = exp(q1[i0, i1])
         q3 exp: f32[N, M] = exp(q0[i0, i1])
         q4 add: f32[N, M] = add(q2[i0, i1], q3[i0, i1])
         produces q4",
        expect![[r#"
            q0 exp: f32[N, M] = exp(in0[i1, i0])
            q1 add: f32[N, M] = add(q0[i0, i1], q0[i0, i1])
            produces q1
        "#]],
    );
}

#[test]
fn moves_compose() {
    check(
        "size N size M input x: f32[N, M] input y: f32[M, N]
         q0 t: f32[M, N] = x[i1, i0]
         q1 t: f32[N, M] = q0[i1, i0]
         q2 exp: f32[N, M] = exp(q1[i0, i1])
         produces q2",
        expect![[r#"
            q0 exp: f32[N, M] = exp(x[i0, i1])
            produces q0
        "#]],
    );
    check(
        // A slice of a flip, then every second element.
        "size N in 4..=100 input x: f32[N]
         q0 flip: f32[N] = x[N - 1 - i0]
         q1 index: f32[N - 2] = q0[i0 + 2]
         q2 index: f32[floordiv(N - 1, 2)] = q1[2*i0]
         q3 exp: f32[floordiv(N - 1, 2)] = exp(q2[i0])
         produces q3",
        expect![[r#"
            q0 exp: f32[floordiv(N + 1, 2) - 1] = exp(x[-2*i0 + N - 3])
            produces q0
        "#]],
    );
    check(
        // [N, M] to [N*M] to [N, M] is nothing; to [M, N] it is no transpose.
        "size N size M input x: f32[N, M]
         q0 reshape: f32[N*M] = x[floordiv(i0, M), modulo(i0, M)]
         q1 reshape: f32[N, M] = q0[i0*M + i1]
         q2 exp: f32[N, M] = exp(q1[i0, i1])
         q3 reshape: f32[M, N] = q0[i0*N + i1]
         q4 exp: f32[M, N] = exp(q3[i0, i1])
         produces q2, q4",
        expect![[r#"
            q0 exp: f32[N, M] = exp(x[i0, i1])
            q1 exp: f32[M, N] = exp(x[floordiv(i0*N + i1, M), modulo(i0*N + i1, M)])
            produces q0, q1
        "#]],
    );
    check(
        // A broadcast, read along the other axis by a reduction.
        "size N size M input x: f32[N]
         q0 broadcast_to: f32[M, N] = x[i1]
         q1 t: f32[N, M] = q0[i1, i0]
         q2 sum: f32[N] = sum<row>(i1 < M: q1[i0, i1])
         produces q2",
        expect![[r#"
            q0 sum: f32[N] = sum<row>(i1 < M: x[i0])
            produces q0
        "#]],
    );
}

#[test]
fn outputs_that_move_stay_and_copies_go() {
    check(
        "size N input x: f32[N, N]
         q0 t: f32[N, N] = x[i1, i0]
         q1 t: f32[N, N] = q0[i1, i0]
         q2 exp: f32[N, N] = exp(q0[i0, i1])
         produces q0, q1, q2, x",
        expect![[r#"
            q0 t: f32[N, N] = x[i1, i0]
            q1 t: f32[N, N] = q0[i1, i0]
            q2 exp: f32[N, N] = exp(q0[i0, i1])
            produces q0, q1, q2, x
        "#]],
    );
    // The same positions of something larger are not a copy.
    check(
        "size N input x: f32[N + 1] q0 index: f32[N] = x[i0] produces q0",
        expect![[r#"
            q0 index: f32[N] = x[i0]
            produces q0
        "#]],
    );
}

#[test]
fn equal_queries_are_one_and_dead_ones_go() {
    check(
        "size N input x: f32[N] input y: f32[N]
         q0 dead: f32[N] = exp(y[i0])
         q1 exp: f32[N] = exp(x[i0])
         q2 exp: f32[N] = exp(x[i0])
         q3 add: f32[N] = add(q1[i0], q2[i0])
         q4 dead: f32[N] = neg(q0[i0])
         q5 sum: f32[] = sum<row>(i0 < N: q1[i0])
         q6 sum: f32[] = sum<row>(i0 < N: q2[i0])
         produces q3, q5, q6",
        expect![[r#"
            q0 exp: f32[N] = exp(x[i0])
            q1 add: f32[N] = add(q0[i0], q0[i0])
            q2 sum: f32[] = sum<row>(i0 < N: q0[i0])
            produces q1, q2, q2
        "#]],
    );
    // Equal expressions over other shapes are other queries, and so are other trees.
    check(
        "q0 t: f32[2] = 1.0f32 q1 t: f32[3] = 1.0f32 produces q0, q1",
        expect![[r#"
            q0 t: f32[2] = 1.0f32
            q1 t: f32[3] = 1.0f32
            produces q0, q1
        "#]],
    );
    check(
        "size N input x: f32[N]
         q0 sum: f32[] = sum<row>(i0 < N: x[i0]) q1 sum: f32[] = sum<col>(i0 < N: x[i0]) produces q0, q1",
        expect![[r#"
            q0 sum: f32[] = sum<row>(i0 < N: x[i0])
            q1 sum: f32[] = sum<col>(i0 < N: x[i0])
            produces q0, q1
        "#]],
    );
}

/// What a simplification no longer reads is dropped, too, and so is what only that one read.
#[test]
fn simplification_may_kill() {
    check(
        "size N input x: i32[N]
         q0 neg: i32[N] = neg(x[i0])
         q1 abs: i32[N] = abs(q0[i0])
         q2 not: i32[N] = not(x[i0])
         q3 mul: i32[N] = mul(q1[i0], 0i32)
         q4 add: i32[N] = add(q3[i0], q2[i0])
         produces q4",
        expect![[r#"
            q0 not: i32[N] = not(x[i0])
            q1 mul: i32[N] = 0i32
            q2 add: i32[N] = add(q1[i0], q0[i0])
            produces q2
        "#]],
    );
}

/// A fused multiply-add rounds once, so the product that it belongs to may not become another.
#[test]
fn the_product_of_a_contraction_stays() {
    check(
        "size N input x: f32[N, N]
         q0 matmul: f32[N, N] = sum<contract>(i2 < N: mul(mul(x[i0, i2], x[i2, i1]), 1.0f32))
         q1 sum: f32[N, N] = sum<col>(i2 < N: mul(mul(x[i0, i2], x[i2, i1]), 1.0f32))
         produces q0, q1",
        expect![[r#"
            q0 matmul: f32[N, N] = sum<contract>(i2 < N: mul(mul(x[i0, i2], x[i2, i1]), 1.0f32))
            q1 sum: f32[N, N] = sum<col>(i2 < N: mul(x[i0, i2], x[i2, i1]))
            produces q0, q1
        "#]],
    );
}

/// Reshapes of transposes, whose composed maps would grow without end, are stored now and then.
#[test]
fn long_chains_of_moves_are_stored_now_and_then() {
    use tj_ir::trace::trace;
    use tj_ir::{Dim, input};
    use tj_tensor::DType;

    let (n, m) = (Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap());
    let x = input("x", DType::F32, [n.clone(), m.clone()]).unwrap();
    let mut y = x.clone();
    for _ in 0..200 {
        y = y.transpose().reshape(&[Some(n.clone()), Some(m.clone())]);
    }
    let traced = Plan::from_trace(trace(&[], &[y.exp()]).unwrap());
    let plan = canonicalise(&traced);
    debug_verify("canonicalise", &plan, Form::Canonical);
    let moves = plan.queries.len() - 1;
    assert!((10..=200).contains(&moves), "{moves}");
    for id in plan.query_ids() {
        for (node, _) in plan.reads(id) {
            if let tj_ir::Expr::Read { at, .. } = plan.arena.node(node) {
                assert!(super::weight(at) <= super::MAX_MAP);
            }
        }
    }
}

/// A function reads what is stored: moves of its arguments are queries of their own, each once.
#[test]
fn what_a_function_reads_is_stored() {
    check(
        "size N size M input x: f32[N, M]
         q0 t: f32[M, N] = x[i1, i0]
         q1 t: f32[N, M] = q0[i1, i0]
         q2 sort: f32[M, N] = call sort(0, 0) q0 output 0
         q3 argsort: i64[M, N] = call argsort(0, 0) q0 output 0
         q4 sort: f32[N, M] = call sort(0, 0) q1 output 0
         q5 t: f32[N, M] = q2[i1, i0]
         q6 add: f32[N, M] = add(q5[i0, i1], q4[i0, i1])
         produces q6, q3",
        expect![[r#"
            q0 t: f32[M, N] = x[i1, i0]
            q1 sort: f32[M, N] = call sort(0, 0) q0 output 0
            q2 argsort: i64[M, N] = call argsort(0, 0) q0 output 0
            q3 sort: f32[N, M] = call sort(0, 0) x output 0
            q4 add: f32[N, M] = add(q1[i1, i0], q3[i0, i1])
            produces q4, q2
        "#]],
    );
}
