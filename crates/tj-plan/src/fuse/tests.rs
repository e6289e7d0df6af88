//! Groupings applied, and one that breaks each rule.

use expect_test::{Expect, expect};

use crate::plan::QueryId;
use crate::scheduler::{GroupDecision, Grouping};
use crate::{Form, Fused, IllegalGrouping, debug_verify, debug_verify_fused, fuse, parse};

/// `inline 0 2; 1: q3 q4; 0: q5`: inlined queries, then groups with their number of outer axes.
fn grouping(text: &str, n_queries: usize) -> Grouping {
    let mut grouping = Grouping { inline: vec![false; n_queries], ..Grouping::default() };
    let id = |word: &str| QueryId(word.trim_start_matches('q').parse().unwrap());
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        if let Some(queries) = part.strip_prefix("inline") {
            for query in queries.split_whitespace() {
                grouping.inline[id(query).index()] = true;
            }
        } else {
            let (outer, queries) = part.split_once(':').unwrap();
            let queries = queries.split_whitespace().map(id).collect();
            grouping.groups.push(GroupDecision { queries, outer: outer.parse().unwrap() });
        }
    }
    grouping
}

const PLAN: &str = "size N size M input x: f32[N, M] input y: f32[M]
    q0 exp: f32[N, M] = exp(x[i0, i1])
    q1 sum: f32[N] = sum<row>(i1 < M: q0[i0, i1])
    q2 neg: f32[M] = neg(y[i0])
    q3 t: f32[N, M] = mul(q0[i0, i1], q2[i1])
    q4 sub: f32[N, M] = sub(q3[i0, i1], q1[i0])
    q5 sum: f32[M] = sum<col>(i1 < N: q4[i1, i0])
    q6 add: f32[M] = add(q5[i0], q5[M - 1 - i0])
    produces q4, q6";

fn apply(plan: &str, decisions: &str) -> Result<Fused, IllegalGrouping> {
    let plan = parse(plan).unwrap();
    debug_verify("the test", &plan, Form::Canonical);
    fuse(&plan, &grouping(decisions, plan.queries.len()))
}

#[track_caller]
fn check(plan: &str, decisions: &str, expected: Expect) {
    let fused = apply(plan, decisions).unwrap();
    debug_verify_fused("fuse", &fused);
    expected.assert_eq(&fused.to_string());
}

#[track_caller]
fn illegal(decisions: &str, expected: &str) {
    assert_eq!(apply(PLAN, decisions).unwrap_err().to_string(), expected, "{decisions}");
}

#[test]
fn inlined_queries_are_written_into_their_readers() {
    check(
        PLAN,
        "inline q2 q0 q3; 1: q1 q4; 1: q5; 1: q6",
        expect![[r#"
            size N
            size M
            input x: f32[N, M]
            input y: f32[M]
            q0 sum: f32[N] = sum<row>(i1 < M: exp(x[i0, i1]))
            q1 sub: f32[N, M] = sub(mul(exp(x[i0, i1]), neg(y[i1])), q0[i0])
            q2 sum: f32[M] = sum<col>(i1 < N: q1[i1, i0])
            q3 add: f32[M] = add(q2[i0], q2[-i0 + M - 1])
            produces q1, q3
            group outer 1: q0 local, q1
            group outer 1: q2
            group outer 1: q3
        "#]],
    );
}

/// Groups are a schedule, and give queries their new names.
#[test]
fn groups_may_be_in_another_order() {
    check(
        PLAN,
        "1: q2; 2: q0; 1: q1; 2: q3; 2: q4; 1: q5; 1: q6",
        expect![[r#"
            size N
            size M
            input x: f32[N, M]
            input y: f32[M]
            q0 neg: f32[M] = neg(y[i0])
            q1 exp: f32[N, M] = exp(x[i0, i1])
            q2 sum: f32[N] = sum<row>(i1 < M: q1[i0, i1])
            q3 t: f32[N, M] = mul(q1[i0, i1], q0[i1])
            q4 sub: f32[N, M] = sub(q3[i0, i1], q2[i0])
            q5 sum: f32[M] = sum<col>(i1 < N: q4[i1, i0])
            q6 add: f32[M] = add(q5[i0], q5[-i0 + M - 1])
            produces q4, q6
            group outer 1: q0
            group outer 2: q1
            group outer 1: q2
            group outer 2: q3
            group outer 2: q4
            group outer 1: q5
            group outer 1: q6
        "#]],
    );
}

#[test]
fn index_maps_are_substituted_and_simplified() {
    check(
        "size N size M input x: f32[N, M]
         q0 exp: f32[N, M] = exp(mul(x[i0, i1], cast<f32>(size(i0*M + i1))))
         q1 t: f32[M*N] = add(q0[floordiv(i0, M), modulo(i0, M)], q0[0, modulo(i0, M)])
         produces q1",
        "inline q0; 1: q1",
        expect![[r#"
            size N
            size M
            input x: f32[N, M]
            q0 t: f32[M*N] = add(exp(mul(x[floordiv(i0, M), modulo(i0, M)], cast<f32>(size(i0)))), exp(mul(x[0, modulo(i0, M)], cast<f32>(size(modulo(i0, M))))))
            produces q0
            group outer 1: q0
        "#]],
    );
    // What is written in may simplify.
    check(
        "size N input x: f32[N] q0 neg: f32[N] = neg(x[i0]) q1 neg: f32[N] = neg(q0[N - 1 - i0]) produces q1",
        "inline q0; 1: q1",
        expect![[r#"
            size N
            input x: f32[N]
            q0 neg: f32[N] = x[-i0 + N - 1]
            produces q0
            group outer 1: q0
        "#]],
    );
    // But not the product of a contraction: see `canonicalise`.
    check(
        "size N input x: f32[N, N]
         q0 mul: f32[N, N] = mul(x[i0, i1], x[i1, i0])
         q1 ones: f32[N, N] = 1.0f32
         q2 matmul: f32[N, N] = sum<contract>(i2 < N: mul(q0[i0, i2], q1[i2, i1]))
         produces q2",
        "inline q0 q1; 2: q2",
        expect![[r#"
            size N
            input x: f32[N, N]
            q0 matmul: f32[N, N] = sum<contract>(i2 < N: mul(mul(x[i0, i2], x[i2, i0]), 1.0f32))
            produces q0
            group outer 2: q0
        "#]],
    );
}

#[test]
fn illegal_inlining() {
    illegal(
        "inline q1; 2: q0; 1: q2; 2: q3; 2: q4; 1: q5; 1: q6",
        "illegal grouping of q1: a reduction, a call or a product is never written into its readers",
    );
    illegal(
        "inline q4; 2: q0; 1: q1; 1: q2; 2: q3; 1: q5; 1: q6",
        "illegal grouping of q4: a reduction, a call or a product is never written into its readers",
    );
    let plan = parse(PLAN).unwrap();
    let error = fuse(&plan, &grouping("", 3)).unwrap_err();
    assert_eq!(error.to_string(), "illegal grouping of q3: 3 decisions about inlining for 7 queries");
}

#[test]
fn illegal_groups() {
    let rest = "1: q2; 2: q3; 2: q4; 1: q5; 1: q6";
    illegal(&format!("2: q0; 1: q7; {rest}"), "illegal grouping of q7: there is no such query");
    illegal(&format!("2: q0; {rest}"), "illegal grouping of q1: it is in no group");
    illegal(
        &format!("2: q0; 1: q1; 1: q1; {rest}"),
        "illegal grouping of q1: it is inlined, or in two groups",
    );
    illegal(
        &format!("inline q0; 2: q0; 1: q1; {rest}"),
        "illegal grouping of q0: it is inlined, or in two groups",
    );
    illegal(&format!("1: q1; 2: q0; {rest}"), "illegal grouping of q1: it reads q0, which comes later");
    illegal(&format!("1: q1 q0; {rest}"), "illegal grouping of q1: it reads q0, which comes later");
    illegal(
        &format!("2: q0 q1; {rest}"),
        "illegal grouping of q1: its rank 1 is less than the 2 shared outer axes",
    );
    illegal(
        &format!("2: q0; 1: q1 q2; {}", &rest[7..]),
        "illegal grouping of q2: its outer sizes differ from those of its group",
    );
    illegal(
        &format!("0: q0 q1; {rest}"),
        "illegal grouping of q0: it shares a kernel with other queries, but no outer axis",
    );
    illegal(
        "2: q0; 1: q1; 1: q2; 2: q3; 2: q4; 1: q5 q6",
        "illegal grouping of q6: it reads q5 of its own group at another outer position",
    );
}

#[test]
fn a_group_behind_a_dense_contraction_takes_whole_rows() {
    let plan = "size B size N input x: f32[B, N, N]
        q0 matmul: f32[B, N, N] = sum<contract>(i3 < N: mul(x[i0, i1, i3], x[i0, i3, i2]))
        q1 sum: f32[B, N] = sum<row>(i2 < N: q0[i0, i1, i2])
        produces q1";
    assert!(apply(plan, "2: q0 q1").is_ok());
    assert_eq!(
        apply(plan, "1: q0 q1").unwrap_err().to_string(),
        "illegal grouping of q0: what follows a dense contraction of rank 3 row by row shares 2 outer axes, not 1"
    );
}

#[test]
fn index_maps_that_outgrow_their_limits_are_illegal() {
    let mut text = "size N size M input x: f32[N, M] q0 t: f32[N, M] = exp(x[i0, i1])".to_owned();
    for q in 1..60 {
        let read = format!("q{}[modulo(i0*M + i1, N), floordiv(i0*M + i1, N)]", q - 1);
        text += &format!(" q{q} t: f32[N, M] = exp({read})");
    }
    let plan = text + " produces q59";
    let inline: Vec<String> = (0..59).map(|q| format!("q{q}")).collect();
    let decisions = format!("inline {}; 2: q59", inline.join(" "));
    let error = apply(&plan, &decisions).unwrap_err();
    assert_eq!(error.problem, "an index map composed by inlining is too large");
}

#[test]
fn calls_keep_to_themselves() {
    let plan = "size N input x: f32[4, N]
        q0 exp: f32[4, N] = exp(x[i0, i1])
        q1 svd: f32[4, min(4, N)] = call svd(0, 0) q0 output 0
        q2 svd: f32[min(4, N)] = call svd(0, 0) q0 output 1
        q3 neg: f32[4, min(4, N)] = neg(q1[i0, i1])
        produces q2, q3";
    let mut said = String::new();
    for decisions in [
        "2: q0; 0: q1 q2; 2: q3",
        "2: q0; 2: q1; 1: q2; 1: q3",
        "inline q0; 2: q1; 1: q2; 2: q3",
        "inline q1; 2: q0; 1: q2; 2: q3",
        "1: q0 q1; 1: q2; 2: q3",
        "2: q0; 1: q1 q3; 1: q2",
    ] {
        let found = apply(plan, decisions).map_or_else(
            |e| e.to_string(),
            |fused| {
                debug_verify_fused("fuse", &fused);
                "none".to_string()
            },
        );
        said += &format!("{decisions}: {found}\n");
    }
    expect![[r#"
        2: q0; 0: q1 q2; 2: q3: none
        2: q0; 2: q1; 1: q2; 1: q3: none
        inline q0; 2: q1; 1: q2; 2: q3: illegal grouping of q1: svd reads what is stored only
        inline q1; 2: q0; 1: q2; 2: q3: illegal grouping of q1: a reduction, a call or a product is never written into its readers
        1: q0 q1; 1: q2; 2: q3: illegal grouping of q1: results of a call share a kernel with each other and with nothing else
        2: q0; 1: q1 q3; 1: q2: illegal grouping of q3: results of a call share a kernel with each other and with nothing else
    "#]].assert_eq(&said);
}
