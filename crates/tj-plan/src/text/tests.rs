//! Text forms: each construct by a golden file, errors with their place, the round trip by random programs.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use smallvec::smallvec;
use tj_ir::Op;
use tj_ir::expr::Source;
use tj_tensor::DType;

use crate::plan::Plan;
use crate::sample::sample;
use crate::scheduler::{DefaultScheduler, Scheduler, Sizes};
use crate::{Fused, canonicalise, fuse, parse, verify};

#[track_caller]
fn check(text: &str, expected: Expect) {
    let plan = parse(text).unwrap();
    let printed = plan.to_string();
    expected.assert_eq(&printed);
    assert_eq!(parse(&printed).unwrap().to_string(), printed);
}

#[test]
fn operators_of_users() {
    check(
        "input x: f32[4]
         operator op0_f(f32) { x0 }
         operator op1_f(f32, f32) commutative associative identity 0.0f32 annihilator 0 inf_f32 1.0f32 over maximum
           { x2 = 2.5f32 x3 = mul(x0, x2) x4 = cast<f64>(x3) x5 = cast<f32>(x4) x6 = add(x5, x1) x6 }
         q0 t: f32[4] = op1_f(x[i0], op0_f(x[i0])) q1 s: f32[] = op1_f<row>(i0 < 4: x[i0]) produces q0, q1",
        expect![[r#"
            input x: f32[4]
            operator op0_f(f32) {
              x0
            }
            operator op1_f(f32, f32) commutative associative identity 0.0f32 annihilator 0 inf_f32 1.0f32 over maximum {
              x2 = 2.5f32
              x3 = mul(x0, x2)
              x4 = cast<f64>(x3)
              x5 = cast<f32>(x4)
              x6 = add(x5, x1)
              x6
            }
            q0 t: f32[4] = op1_f(x[i0], op0_f(x[i0]))
            q1 s: f32[] = op1_f<row>(i0 < 4: x[i0])
            produces q0, q1
        "#]],
    );
}

#[test]
fn every_construct() {
    check(
        r#"
        size N in 0..=4096 // a comment
        size größe size s3 in 1..=9
        input x: f32[N, 64] input "q7": bool[ ] input "a \"b\"\n": i8[größe, floordiv(s3 + 1, 2)]
        input in3: f32[4] data input sum: i64[0]
        number n0: f32 = 2.5f32 number n1: bool = true number n2: c64 = (nan(7fc00001)-infj)c64
        q0 matmul: f32[N, N] = sum<contract>(i2 < 64: mul(x[i0, i2], x[min(i1, N - 1), i2]))
        q1 "a word": f32[4] = where("q7"[], cast<f32>(size(3*i0 + N)), maximum(in3[3 - i0], -nan_f32))
        q2 t: i64[] = max<row>(i0 < 0: sum[i0])
        q3 u: bool[] = true
        q4 v: f32[] { e0 = filled(mul(n0, -inf_f32), -inf_f32) mul(e0, e0) }
        q5 w: i8[2] = "a \"b\"\n"[0, 0]
        guard N == 2*größe because of add of [N] and [2*größe]
        guard 1 <= s3 because of max: it is undefined over axis 0 of size 0 // part of the reason
        guard N is a multiple of 4 because of "two\nlines"
        produces q1, x, "q7", in3, "a \"b\"\n"
        "#,
        expect![[r#"
            size N in 0..=4096
            size größe
            size s3 in 1..=9
            input x: f32[N, 64]
            input "q7": bool[]
            input "a \"b\"\n": i8[größe, floordiv(s3 + 1, 2)]
            input in3: f32[4] data
            input sum: i64[0]
            number n0: f32 = 2.5f32
            number n1: bool = true
            number n2: c64 = (nan(7fc00001)-infj)c64
            q0 matmul: f32[N, N] = sum<contract>(i2 < 64: mul(x[i0, i2], x[min(i1, N - 1), i2]))
            q1 "a word": f32[4] = where("q7"[], cast<f32>(size(3*i0 + N)), maximum(in3[-i0 + 3], -nan_f32))
            q2 t: i64[] = max<row>(i0 < 0: sum[i0])
            q3 u: bool[] = true
            q4 v: f32[] {
              e0 = filled(mul(n0, -inf_f32), -inf_f32)
              mul(e0, e0)
            }
            q5 w: i8[2] = "a \"b\"\n"[0, 0]
            guard N == 2*größe because of add of [N] and [2*größe]
            guard 1 <= s3 because of max: it is undefined over axis 0 of size 0 // part of the reason
            guard N is a multiple of 4 because of "two\nlines"
            produces q1, x, "q7", in3, "a \"b\"\n"
        "#]],
    );
    check(
        "produces",
        expect![[r#"
        produces
    "#]],
    );
}

#[test]
fn parts_that_are_shared_deep_or_long_get_names() {
    let nest = |n: usize, leaf: &str| format!("{}{leaf}{}", "neg(".repeat(n), ")".repeat(n));
    let long = |n: usize| (0..n).fold("x[i0]".to_string(), |sum, _| format!("add({sum}, x[i0])"));
    check(
        &format!(
            "input x: f32[4]
             q0 deep: f32[4] = {}
             q1 long: f32[4] = mul({}, {})
             q2 shared: f32[4] = sub(mul(exp(x[i0]), exp(x[i0])), add(exp(x[i0]), x[i0]))
             q3 inside: f32[] = sum<row>(i0 < 4: mul(exp(x[i0]), exp(x[i0])))
             produces q0, q1, q2, q3",
            nest(17, "x[i0]"),
            long(7),
            long(6),
        ),
        expect![[r#"
            input x: f32[4]
            q0 deep: f32[4] {
              e0 = neg(neg(neg(neg(neg(neg(neg(neg(x[i0]))))))))
              e1 = neg(neg(neg(neg(neg(neg(neg(neg(e0))))))))
              neg(e1)
            }
            q1 long: f32[4] {
              e0 = add(add(add(add(add(add(x[i0], x[i0]), x[i0]), x[i0]), x[i0]), x[i0]), x[i0])
              mul(add(e0, x[i0]), e0)
            }
            q2 shared: f32[4] {
              e0 = exp(x[i0])
              sub(mul(e0, e0), add(e0, x[i0]))
            }
            q3 inside: f32[] {
              e0 = exp(x[i0])
              sum<row>(i0 < 4: mul(e0, e0))
            }
            produces q0, q1, q2, q3
        "#]],
    );
}

#[test]
fn groups() {
    let text = "input x: f32[3]
q0 neg: f32[3] = neg(x[i0])
q1 abs: f32[3] = abs(q0[i0])
produces q1
group outer 1: q0 local, q1
";
    let fused: Fused = text.parse().unwrap();
    assert_eq!(fused.groups.len(), 1);
    assert_eq!(fused.groups[0].local, [true, false]);
    assert_eq!(fused.to_string(), text);
}

#[test]
fn a_long_chain_of_shared_parts_prints_and_parses() {
    let mut plan = parse("input x: f32[3] q0 neg: f32[3] = neg(x[i0]) produces q0").unwrap();
    let mut body = plan.queries[0].body;
    for _ in 0..100_000 {
        body = plan.arena.map(Op::Mul, smallvec![body, body]);
    }
    plan.queries[0].body = body;
    let text = plan.to_string();
    assert_eq!(text.lines().count(), 100_000 + 5);
    let parsed = parse(&text).unwrap();
    assert_eq!(parsed.to_string(), text);
    assert_eq!(parsed.arena.len(), 100_002);
}

/// The order of named parts follows the structure, not ids, which differ between plans.
#[test]
fn names_do_not_depend_on_ids() {
    let text = "input x: f32[3]
q0 a: f32[3] = exp(x[i0])
q1 b: f32[3] {
  e0 = neg(x[i0])
  e1 = exp(x[i0])
  add(mul(e0, e0), mul(e1, e1))
}
produces q0, q1
";
    assert_eq!(parse(text).unwrap().to_string(), text);
}

#[test]
fn what_is_parsed_is_located_at_the_caller() {
    let plan = parse("size N q0 t: bool[N] = true guard 1 <= N because of me\nproduces q0").unwrap();
    assert_eq!(plan.queries[0].location.line(), line!() - 1);
    assert_eq!(plan.guards[0].location.file(), file!());
}

#[test]
fn errors_say_where_and_what() {
    let check = |text: &str, expected: &str| {
        assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
    };
    check(
        "",
        "line 1, column 1: expected size, input, number, operator, guard, produces or a query, found the end",
    );
    check("produces y", "line 1, column 10: expected an input or an earlier query, found `y`");
    check("produces\nx", "line 2, column 1: expected the end of the text, found `x`");
    check(
        "size N in 5..=1",
        "line 1, column 6: expected a size and its bounds (bounds 5..=1 of N must satisfy 0 <= lo <= hi), found `N in 5..=1`",
    );
    check("size N in -1", "line 1, column 11: expected a lower bound, found `-1`");
    check("size N\nsize N", "line 2, column 6: expected one declaration for each size, found `N`");
    check("input x: f31[]", "line 1, column 10: expected a type, found `f31[]`");
    check("input x: f32[3", "line 1, column 14: expected sizes and then `]`, found `3`");
    check("input x: f32[N]", "line 1, column 14: expected a size (unknown symbol N), found `N]`");
    check("input x: f32[3 +]", "line 1, column 17: expected a number, a name or (, found `]`");
    check("input x: f32[3,]", "line 1, column 16: expected a number, a name or (, found `]`");
    check("input in1: f32[]", "line 1, column 7: expected in0, or a name, found `in1: f32[]`");
    check("input in0: f32[]", "line 1, column 17: expected `data`, found the end");
    check(
        "input q0: f32[]",
        "line 1, column 7: expected a name that is not that of a query, found `q0: f32[]`",
    );
    check("input \"x", "line 1, column 7: expected a name that ends in `\"`, found `\"x`");
    check(
        "input x: f32[] input x: f32[]",
        "line 1, column 22: expected one input of each name, found `x: f32[]`",
    );
    check("number n1", "line 1, column 8: expected `n0`, found `n1`");
    check("number n0: f32 = 2.5", "line 1, column 18: expected a constant of type f32, found `2.5`");
    check("number n0: f32 = 2.5f64", "line 1, column 18: expected a constant of type f32, found `2.5f64`");
    check(
        "guard 1 == 1",
        "line 1, column 7: expected a condition, `because of` and a reason, found `1 == 1`",
    );
    check(
        "guard 1 < 1 because of x",
        "line 1, column 7: expected a condition, `because of` and a reason, found `1 < 1 because of x`",
    );
    check(
        "guard 1 == K because of x",
        "line 1, column 12: expected a size (unknown symbol K), found `K because of x`",
    );
    check("q1 t", "line 1, column 1: expected query q0, found `q1 t`");
    check("q0 t: f32[]", "line 1, column 12: expected `=` and an expression, or `{`, found the end");
    let body = |body: &str| format!("input x: f32[3]\nq0 t: f32[3] {body}");
    check(&body("= 2"), "line 2, column 16: expected an expression, found `2`");
    check(&body("= nothing(x[i0])"), "line 2, column 16: expected an expression, found `nothing(x[i0])`");
    check(&body("= y[i0]"), "line 2, column 16: expected an input or an earlier query, found `y[i0]`");
    check(&body("= q0[i0]"), "line 2, column 16: expected an input or an earlier query, found `q0[i0]`");
    check(&body("= x[j]"), "line 2, column 18: expected a size (unknown symbol j), found `j]`");
    check(&body("= add(x[i0])"), "line 2, column 25: expected `,`, found `)`");
    check(&body("= neg(x[i0], x[i0])"), "line 2, column 25: expected `)`, found `, x[i0])`");
    check(
        &body("= and(x[i0], true)"),
        "line 2, column 16: expected arguments that and is defined on, not f32, bool, found `and(x[i0], true)`",
    );
    check(
        &body("= sum<tree>(i0 < 3: x[i0])"),
        "line 2, column 20: expected row, col, contract or chain, found `tree>(i0 < 3: x[i0])`",
    );
    check(&body("= sum<row>(3: x[i0])"), "line 2, column 25: expected an index, found `3: x[i0])`");
    check(&body("= sum<row>(i0 < : x[i0])"), "line 2, column 30: expected one size, found `: x[i0])`");
    check(&body("= size(1, 2)"), "line 2, column 21: expected one size, found `1, 2)`");
    check(&body("= n0"), "line 2, column 16: expected a declared number, found `n0`");
    check(&body("= e0"), "line 2, column 16: expected a definition of e0 before, found `e0`");
    check(&body("{ e1 = x[i0] e1 }"), "line 2, column 16: expected e0, found `e1 = x[i0] e1 }`");
    check(&body("{ e0 = x[i0] e0"), "line 2, column 29: expected `}`, found the end");
    let deep = format!("= {}x[i0]{}", "neg(".repeat(66), ")".repeat(66));
    check(
        &body(&deep),
        "line 2, column 276: expected at most 64 nested expressions, found `neg(x[i0])))))))))))`",
    );
}

fn forms(seed: u64) -> Vec<String> {
    let traced = sample(seed, 20).plan;
    let plan = canonicalise(&traced);
    let fused = fuse(&plan, &DefaultScheduler.group(&plan, &Sizes)).unwrap();
    vec![traced.to_string(), plan.to_string(), fused.plan.to_string()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn print_parse_print_is_the_identity(seed: u64) {
        for text in forms(seed) {
            prop_assert_eq!(parse(&text).unwrap().to_string(), text);
        }
        let plan = canonicalise(&sample(seed, 20).plan);
        let text = fuse(&plan, &DefaultScheduler.group(&plan, &Sizes)).unwrap().to_string();
        prop_assert_eq!(text.parse::<Fused>().unwrap().to_string(), text);
    }

    /// A parsed plan is the printed one but for ids: each query has the same nodes in the same places.
    #[test]
    fn parsing_gives_the_plan_back(seed: u64) {
        let plan = sample(seed, 20).plan;
        let parsed = parse(&plan.to_string()).unwrap();
        prop_assert_eq!(&parsed.produces, &plan.produces);
        prop_assert_eq!(&parsed.symbols, &plan.symbols);
        prop_assert_eq!(&parsed.numbers, &plan.numbers);
        for (a, b) in parsed.queries.iter().zip(&plan.queries) {
            prop_assert_eq!((&a.word, &a.shape, a.dtype), (&b.word, &b.shape, b.dtype));
            let nodes = |plan: &Plan, body| plan.arena.reachable(&[body]).len();
            prop_assert_eq!(nodes(&parsed, a.body), nodes(&plan, b.body));
        }
    }

    #[test]
    fn any_name_and_word_survives(name in "\\PC{0,6}|[a-z0-9\"\\\\\n]{0,4}", reason in "\\PC{0,9}|[\"\n\r\\\\ /]{0,4}") {
        let text = "size N input x: f32[N] q0 neg: f32[N] = neg(x[i0]) guard 1 <= N because of x\nproduces x";
        let mut plan = parse(text).unwrap();
        plan.inputs[0].name = Some(name.as_str().into());
        plan.queries[0].word = name.as_str().into();
        plan.guards[0].reason = reason.clone();
        let parsed = parse(&plan.to_string()).unwrap();
        prop_assert_eq!(parsed.inputs[0].name.as_deref(), Some(name.as_str()));
        prop_assert_eq!(&*parsed.queries[0].word, name.as_str());
        prop_assert_eq!(&parsed.guards[0].reason, &reason);
        prop_assert_eq!(&parsed.produces.0, &[Source::Input(0)]);
    }

    #[test]
    fn constants_keep_their_bits(dtype in prop::sample::select(&DType::ALL), bits: u128) {
        let mut plan = Plan::default();
        plan.numbers.push(tj_tensor::Scalar::from_bits(dtype, bits));
        prop_assert_eq!(parse(&plan.to_string()).unwrap().numbers, plan.numbers);
    }

    #[test]
    fn parse_never_panics(seed in 0u64..50, cut: prop::sample::Index, with in "[ -~é\n]{0,3}") {
        for mut text in forms(seed) {
            let at = cut.index(text.len());
            text.replace_range(at..at + 1, &with);
            // What still parses may break any rule, which the verifier says without a panic either.
            if let Ok(plan) = parse(&text) {
                let _ = verify(&plan, crate::Form::Canonical);
                let again = parse(&plan.to_string()).map(|again| again.to_string());
                prop_assert_eq!(again.ok(), Some(plan.to_string()));
            }
        }
    }
}

#[test]
fn calls() {
    check(
        r#"size N input "q7": f64[3, N, N] input x: f32[N] input at: i64[2] input call: f32[2, 2]
        q0 svd: f64[3, N, N] = call svd(0, 0) "q7" output 0
        q1 svd: f64[3, N] = call svd(0, 0) "q7" output 1
        q2 take_along: f32[2] = call take_along(0, 0) x, at output 0
        q3 sort: f32[2] = call sort(1, 0) q2 output 0
        q4 neg: f32[2, 2] = neg(call[i0, i1])
        produces q0, q1, q3, q4"#,
        expect![[r#"
            size N
            input "q7": f64[3, N, N]
            input x: f32[N]
            input at: i64[2]
            input call: f32[2, 2]
            q0 svd: f64[3, N, N] = call svd(0, 0) "q7" output 0
            q1 svd: f64[3, N] = call svd(0, 0) "q7" output 1
            q2 take_along: f32[2] = call take_along(0, 0) x, at output 0
            q3 sort: f32[2] = call sort(1, 0) q2 output 0
            q4 neg: f32[2, 2] = neg(call[i0, i1])
            produces q0, q1, q3, q4
        "#]],
    );
}
