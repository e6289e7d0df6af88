//! Which loops programs over sparse arguments become, in text.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use tj_tensor::{DType, Format, Scalar, Width};

use super::moves::apart;
use super::steps::{StepProgram, steps};
use super::{Argument, StoredInput};
use crate::{canonicalise, parse};

/// The steps of a program, whose arguments are stored as their names say: `csr_a`, `csc_a`, `coo_a`, and anything else is
/// dense. One of the name `given` is given for good.
#[track_caller]
fn check(text: &str, expected: Expect) {
    let sizes = "size N in 0..=65536 size M in 0..=65536 size K in 0..=65536 ";
    let plan = canonicalise(&parse(&format!("{sizes}{text}")).unwrap());
    let stored = |input: &tj_ir::InputDecl| {
        let name = input.name.as_deref().unwrap_or_default();
        let (format, _) = name.split_once('_')?;
        let widths = "(u32, u32)";
        let format: Format = match format {
            "csr" => format!("{{d0: dense, d1: compressed{widths}}}"),
            "csc" => format!("{{d1: dense, d0: compressed{widths}}}"),
            "runs" => "{d0: dense, d1: runs}".to_string(),
            "steps" => "{d0: dense, d1: steps}".to_string(),
            other => other.to_string(),
        }
        .parse()
        .unwrap();
        let fill = Scalar::zero(input.dtype);
        Some(StoredInput {
            format,
            fill,
            is_hypersparse: false,
            width: Width::U32,
            may_store_fill: true,
            entries: None,
        })
    };
    let inputs: Vec<Option<StoredInput>> = plan.inputs.iter().map(stored).collect();
    let fills = vec![Some(Scalar::zero(DType::F64)); plan.produces.0.len()];
    let mut found = String::new();
    let owned: Vec<bool> = plan.inputs.iter().map(|input| input.name.as_deref() == Some("given")).collect();
    let plan = apart(plan, &inputs, &fills, &owned);
    for step in steps(&plan, &inputs, &fills, &owned, &crate::derive::Decided::default()) {
        match step.program {
            StepProgram::Dense(plan) => {
                let words: Vec<&str> = plan.queries.iter().map(|query| &*query.word).collect();
                let _ = writeln!(found, "dense {}", words.join(", "));
            }
            StepProgram::Moved(moved) => {
                let parts = moved.parts.iter().map(|part| {
                    let at = part.at.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                    let when = part.when.iter().map(|(dim, test)| format!(" if {dim} {test:?}"));
                    format!("  {:?} at [{at}]{}", part.what, when.collect::<String>())
                });
                let parts: Vec<String> = parts.collect();
                let _ = writeln!(found, "moved by parts\n{}", parts.join("\n"));
            }
            StepProgram::Stretches(stretched) => {
                let query = &stretched.plan.queries[0];
                let (word, fill) = (&query.word, stretched.fill.map(Scalar::to_f64));
                match &stretched.fold {
                    None => writeln!(found, "{word}: by stretches, fill {fill:?}"),
                    Some(fold) => writeln!(found, "{word}: by stretches, folded by {:?}", fold.nest.loops),
                }
                .unwrap();
            }
            StepProgram::Nest(nest) => {
                let arguments = nest.arguments.iter().map(|argument| match argument {
                    Argument::Dense(axes) => format!("dense{axes:?}"),
                    Argument::Stored(operand) => operand.format.to_string(),
                });
                let arguments: Vec<String> = arguments.collect();
                let words: Vec<&str> = nest.plan.queries.iter().map(|query| &*query.word).collect();
                let (word, loops) = (words.join(", "), &nest.loops);
                let combined = nest.combined.map_or("", |op| op.name());
                let _ = writeln!(found, "{word}: loops {loops:?} {combined} -> {:?}", nest.result);
                let _ = writeln!(found, "  {}", arguments.join("; "));
            }
        }
    }
    expected.assert_eq(&found);
}

/// `where(x == 0, 0, product)`, as `trace` spells annihilation out.
fn times(a: &str, b: &str) -> String {
    format!("where(equal({a}, 0.0f64), 0.0f64, where(equal({b}, 0.0f64), 0.0f64, mul({a}, {b})))")
}

#[test]
fn updates() {
    let selection = |mask: &str, body: &str| {
        format!(
            "input {mask}: bool[N, M] input v: f64[M] input given: f64[N, M]
             q0 u: f64[N, M] = where({body}) produces q0"
        )
    };
    check(
        &selection("csr_m", "csr_m[i0, i1], mul(v[i1], given[i0, 0]), given[i0, i1]"),
        expect![[r#"
            u: loops [0, 1]  -> Updated(2)
              csr; dense[0]; dense[0, 1]
        "#]],
    );
    // The argument stays as the result will be, whatever the order of the loops.
    check(
        &selection("csc_m", "csc_m[i0, i1], v[i1], given[i0, i1]"),
        expect![[r#"
        u: loops [0, 1]  -> Updated(2)
          {d0: dense, d1: compressed(u32, u64)}; dense[0]; dense[0, 1]
    "#]],
    );
    check(
        &selection("csr_m", "not(csr_m[i0, i1]), given[i0, i1], v[i1]"),
        expect![[r#"
        u: loops [0, 1]  -> Updated(1)
          csr; dense[0, 1]; dense[0]
    "#]],
    );
    // The rest of these is not the argument at its own places, or everywhere.
    check(
        &selection("csr_m", "csr_m[i0, i1], v[i1], given[i0, 0]"),
        expect![[r#"
        u: loops [0, 1]  -> Dense
          csr; dense[0]; dense[0, 1]
    "#]],
    );
    check(
        &selection("csr_m", "csr_m[i0, i1], given[i0, i1], v[i1]"),
        expect![[r#"
        u: loops [0, 1]  -> Dense
          csr; dense[0, 1]; dense[0]
    "#]],
    );
    check(
        &selection("mask", "mask[i0, i1], v[i1], given[i0, i1]"),
        expect![[r#"
        dense u
    "#]],
    );
}

/// What depends on numbers is one value outside of its tree; where that has been looked at, it is a fill.
#[test]
fn what_numbers_decide() {
    let of = |body: &str| {
        format!(
            "input csr_a: f64[N, M] input x: f64[N, M] number n0: f64 = 2.5f64 number n1: f64 = 2.5f64
             q0 t: f64[N, M] = {body} produces q0"
        )
    };
    check(
        &of("filled(minimum(csr_a[i0, i1], n0), 0.0f64)"),
        expect![[r#"
        t: loops [0, 1]  -> AsArgument(0)
          csr
    "#]],
    );
    check(
        &of("filled(sub(maximum(csr_a[i0, i1], n0), n1), 0.0f64)"),
        expect![[r#"
        t: loops [0, 1]  -> AsArgument(0)
          csr
    "#]],
    );
    check(
        &of("where(filled(greater(csr_a[i0, i1], n0), false), x[i0, i1], csr_a[i0, i1])"),
        expect![[r#"
            t: loops [0, 1]  -> AsArgument(0)
              csr; dense[0, 1]
        "#]],
    );
    // Under a condition on what is read, as it is outside of its entries. Elsewhere, or where something else had to be that, too,
    // nothing is said.
    let under = |condition: &str| {
        of(&format!(
            "filled(minimum(csr_a[i0, i1], n0), where({condition}, 0.0f64, minimum(csr_a[i0, i1], n0)))"
        ))
        .replace("input x", "input csr_b: f64[N, M] input x")
    };
    check(
        &under("equal(csr_a[i0, i1], 0.0f64)"),
        expect![[r#"
        t: loops [0, 1]  -> AsArgument(0)
          csr
    "#]],
    );
    for condition in
        ["equal(csr_a[i0, i1], 1.0f64)", "equal(csr_b[i0, i1], 0.0f64)", "equal(x[i0, i1], 0.0f64)"]
    {
        check(
            &under(condition),
            expect![[r#"
        t: loops [0, 1]  -> Dense
          csr
    "#]],
        );
    }
    // Nobody has looked.
    check(
        &of("minimum(csr_a[i0, i1], n0)"),
        expect![[r#"
        t: loops [0, 1]  -> Dense
          csr
    "#]],
    );
    check(
        &of("where(greater(csr_a[i0, i1], n0), n1, csr_a[i0, i1])"),
        expect![[r#"
        t: loops [0, 1]  -> Dense
          csr
    "#]],
    );
    // Of what is everywhere nothing is left out, whatever is said of it.
    check(
        &of("filled(minimum(add(csr_a[i0, i1], x[i0, i1]), n0), 0.0f64)"),
        expect![[r#"
        t: loops [0, 1]  -> Dense
          csr; dense[0, 1]
    "#]],
    );
}

#[test]
fn products() {
    let product = |a: &str, b: &str, of: &str, by: &str| {
        format!(
            "input {a}: f64[N, M] input {b}: f64[M, K]
             q0 p: f64[N, K] = sum<row>(i2 < M: {}) produces q0",
            times(of, by)
        )
    };
    let (a, b) = ("csr_a[i0, i2]", "csr_b[i2, i1]");
    check(
        &product("csr_a", "csr_b", a, b),
        expect![[r#"
        p: loops [0, 2, 1] sum -> Stored
          csr; csr
    "#]],
    );
    check(
        &product("csr_a", "x", a, "x[i2, i1]"),
        expect![[r#"
        p: loops [0, 2, 1] sum -> Dense
          csr; dense[0, 1]
    "#]],
    );
    check(
        &product("x", "csr_b", "x[i0, i2]", b),
        expect![[r#"
        p: loops [0, 1]  -> Dense
          dense[0, 1]; {d1: dense, d0: compressed(u32, u64)}
    "#]],
    );
    check(
        &product("csr_a", "csc_b", a, "csc_b[i2, i1]"),
        expect![[r#"
        p: loops [0, 2, 1] sum -> Stored
          csr; {d0: dense, d1: compressed(u32, u64)}
    "#]],
    );
    check(
        &format!(
            "input csr_a: f64[N, M] input x: f64[M] q0 y: f64[N] = sum<row>(i1 < M: {}) produces q0",
            times("csr_a[i0, i1]", "x[i1]")
        ),
        expect![[r#"
            y: loops [0]  -> Dense
              csr; dense[0]
        "#]],
    );
    check(
        &format!(
            "input csr_a: f64[M, N] input x: f64[M] q0 y: f64[N] = sum<row>(i1 < M: {}) produces q0",
            times("csr_a[i1, i0]", "x[i1]")
        ),
        expect![[r#"
            y: loops [0]  -> Dense
              {d1: dense, d0: compressed(u32, u64)}; dense[0]
        "#]],
    );
}

#[test]
fn masks_unions_and_parts() {
    check(
        "input csr_a: f64[N, M] input csr_b: f64[N, M]
         q0 s: f64[N, M] = add(csr_a[i0, i1], csr_b[i0, i1]) produces q0",
        expect![[r#"
            s: loops [0, 1]  -> Stored
              csr; csr
        "#]],
    );
    check(
        "input csr_s: f64[N, M] input x: f64[N, K] input y: f64[K, M]
             q0 p: f64[N, M] = sum<contract>(i2 < K: mul(x[i0, i2], y[i2, i1]))
             q1 m: f64[N, M] = where(equal(csr_s[i0, i1], 0.0f64), 0.0f64, mul(csr_s[i0, i1], q0[i0, i1])) produces q1",
        expect![[r#"
            m: loops [0, 1]  -> AsArgument(0)
              csr; dense[0, 1]; dense[1, 0]
        "#]],
    );
    check(
        &format!(
            "input csr_a: f64[N, M] input x: f64[M] input y: f64[N]
             q0 scaled: f64[M] = exp(x[i0])
             q1 y1: f64[N] = sum<row>(i1 < M: {})
             q2 out: f64[N] = add(q1[i0], y[i0]) produces q2",
            times("csr_a[i0, i1]", "q0[i1]")
        ),
        expect![[r#"
            dense scaled
            out: loops [0]  -> Dense
              csr; dense[0]; dense[0]
        "#]],
    );
    check(
        "input csr_a: f64[N, M]
         q0 rows: f64[N] = sum<row>(i1 < M: csr_a[i0, i1])
         q1 all: f64[] = sum<row>(i0 < N: q0[i0]) produces q1",
        expect![[r#"
            rows: loops [0]  -> Dense
              csr
            dense all
        "#]],
    );
}

#[test]
fn stretches_are_of_one_axis_and_elementwise() {
    let with = |body: &str| {
        format!(
            "input runs_a: f64[N, M] input steps_b: f64[N, M] input csr_c: f64[N, M] input x: f64[]
             q0 r: f64[N, M] = {body} produces q0"
        )
    };
    for body in [
        "add(runs_a[i0, i1], steps_b[i0, i1])",
        &times("runs_a[i0, i1]", "x[]"),
        &times("runs_a[i0, i1]", "runs_a[i0, i1]"),
    ] {
        check(
            &with(body),
            expect![[r#"
            r: by stretches, fill Some(0.0)
        "#]],
        );
    }
    // What only a run says is no fill with laws.
    check(
        &with("add(runs_a[i0, i1], x[])"),
        expect![[r#"
        r: by stretches, fill None
    "#]],
    );
    check(
        &with("add(runs_a[i0, i1], csr_c[i0, i1])"),
        expect![[r#"
        r: loops [0, 1]  -> Stored
          {d0: dense, d1: compressed(u32, u64)}; csr
    "#]],
    );
    check(
        &with(&times("runs_a[i0, i1]", "cast<f64>(size(i1))")),
        expect![[r#"
        r: loops [0, 1]  -> AsArgument(0)
          {d0: dense, d1: compressed(u32, u64)}
    "#]],
    );
    check(
        &with(&times("runs_a[i0, i1]", "steps_b[0, i1]")),
        expect![[r#"
        r: loops [1, 0]  -> Stored
          {d1: dense, d0: compressed(u32, u64)}; {d0: dense, d1: compressed(u32, u64)}
    "#]],
    );
    // Along the runs, and across them.
    let sum = |of: &str| {
        format!(
            "input runs_a: f64[N, M] input x: f64[]
             q0 s: f64[N, M] = add(runs_a[i0, i1], x[])
             q1 r: f64[{of}) produces q1"
        )
    };
    check(
        &sum("N] = sum<row>(i1 < M: q0[i0, i1]"),
        expect![[r#"
        r: by stretches, folded by [0]
    "#]],
    );
    check(
        &sum("M] = sum<col>(i1 < N: q0[i1, i0]"),
        expect![[r#"
        r: loops [0]  -> Dense
          {d1: dense, d0: compressed(u32, u64)}; dense[]
    "#]],
    );
    // What is written into its readers, and what is a result.
    check(
        "input runs_a: f64[N, M] input steps_b: f64[N, M]
         q0 s: f64[N, M] = add(runs_a[i0, i1], steps_b[i0, i1])
         q1 t: f64[N, M] = add(q0[i0, i1], runs_a[i0, i1])
         q2 u: f64[N, M] = maximum(q1[i0, i1], q0[i0, i1]) produces q1, q2",
        expect![[r#"
            t: by stretches, fill Some(0.0)
            u: by stretches, fill Some(0.0)
        "#]],
    );
}

#[test]
fn dense_results_along_the_same_lists_are_computed_beside_each_other() {
    let square = times("csr_a[i0, i1]", "csr_a[i0, i1]");
    // Sums of rows, which are not summed again; their quotient reads both at its element.
    check(
        &format!(
            "input csr_a: f64[N, M]
             q0 s: f64[N] = sum<row>(i1 < M: csr_a[i0, i1])
             q1 p: f64[N, M] = {square}
             q2 t: f64[N] = sum<row>(i1 < M: q1[i0, i1])
             q3 m: f64[N] = max<row>(i1 < M: csr_a[i0, i1])
             q4 d: f64[N] = div(q2[i0], q3[i0]) produces q0, q4"
        ),
        expect![[r#"
            s, d: loops [0]  -> Dense
              csr
        "#]],
    );
    // What waits for another result, and what is stored by levels, has a step of its own.
    check(
        &format!(
            "input csr_a: f64[N, M]
             q0 s: f64[N] = sum<row>(i1 < M: csr_a[i0, i1])
             q1 t: f64[N] = sum<row>(i1 < M: mul(csr_a[i0, i1], q0[i0]))
             q2 p: f64[N, M] = {square} produces q0, q1, q2"
        ),
        expect![[r#"
            s: loops [0]  -> Dense
              csr
            t: loops [0]  -> Dense
              csr; dense[0]
            p: loops [0, 1]  -> AsArgument(0)
              csr
        "#]],
    );
}

#[test]
fn moves() {
    // A reversed axis is apart, and what reads it follows lists.
    check(
        &format!(
            "input csr_a: f64[N, M] input csr_b: f64[N, M]
             q0 u: f64[N, M] = {} produces q0",
            times("csr_a[i0, M - 1 - i1]", "csr_b[i0, i1]")
        ),
        expect![[r#"
            moved by parts
              Source(Input(0)) at [i0, -i1 + M - 1]
            u: loops [0, 1]  -> Stored
              {d0: dense, d1: compressed(u64, u64)}; csr
        "#]],
    );
    // Parts beside each other; the condition is a query that is written in.
    check(
        "input csr_a: f64[64, M] input csr_b: f64[32, M]
         q0 first: bool[96, 1] = less(size(i0), 64i64)
         q1 joined: f64[96, M] = where(q0[i0, 0], csr_a[min(i0, 63), i1], csr_b[max(i0 - 64, 0), i1])
         produces q1",
        expect![[r#"
            moved by parts
              Source(Input(1)) at [max(i0 - 64, 0), i1] if i0 - 64 NotNegative
              Source(Input(0)) at [min(i0, 63), i1] if -i0 + 63 NotNegative
        "#]],
    );
    // Another shape and back is none.
    check(
        "input csr_a: f64[N, 8]
         q0 flat: f64[8*N] = mul(csr_a[floordiv(i0, 8), modulo(i0, 8)], 2.0f64)
         q1 back: f64[N, 8] = q0[8*i0 + i1]
         produces q1",
        expect![[r#"
            back: loops [0, 1]  -> Dense
              csr
        "#]],
    );
    // A diagonal beside what is stored is stored; the other is not.
    check(
        "input csr_a: f64[N, N] input x: f64[N]
         q0 on: bool[N, N] = equal(size(i1), size(i0))
         q1 sum: f64[N, N] = add(csr_a[i0, i1], where(q0[i0, i1], x[i0], 0.0f64))
         q2 dense: f64[N, N] = add(x[i1], where(q0[i0, i1], x[i0], 0.0f64))
         produces q1, q2",
        expect![[r#"
            moved by parts
              Source(Input(1)) at [i0] if -i0 + i1 Zero
            sum: loops [0, 1]  -> Stored
              csr; {d0: dense, d1: compressed(u64, u64)}
            dense dense
        "#]],
    );
}
