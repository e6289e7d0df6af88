//! Rule by rule: a plan that breaks it, and what is said.

use std::fmt::Write as _;

use expect_test::expect;
use smallvec::smallvec;
use tj_ir::dim::Dim;
use tj_ir::expr::Source;
use tj_ir::{Expr, ExprId, Field, Function, Op, ReduceOp, Symbol, Tree};
use tj_tensor::DType;

use super::{Form, verify, verify_fused};
use crate::plan::{Plan, QueryId};
use crate::{Fused, debug_verify, parse, parse_fused};

/// All findings, one a line.
fn findings(plan: &Plan, form: Form) -> String {
    match verify(plan, form) {
        Ok(_) => "none".to_owned(),
        Err(findings) => findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

#[track_caller]
fn check(text: &str, form: Form, expected: &str) {
    assert_eq!(findings(&parse(text).unwrap(), form), expected, "{text}");
}

const GOOD: &str = "size N input x: f32[N] number n0: f32 = 3.0f32
    q0 exp: f32[N] = exp(mul(x[i0], n0))
    q1 sum: f32[] = sum<row>(i0 < N: q0[i0])
    produces q0, q1";

/// `GOOD`, broken in a way that no text says.
#[track_caller]
fn broken(change: impl FnOnce(&mut Plan), expected: &str) {
    let mut plan = parse(GOOD).unwrap();
    change(&mut plan);
    assert_eq!(findings(&plan, Form::Canonical), expected, "{plan}");
}

#[test]
fn a_good_plan_has_no_finding() {
    check(GOOD, Form::Traced, "none");
    check(GOOD, Form::Canonical, "none");
}

#[test]
fn ids() {
    broken(|plan| plan.queries[1].body = ExprId(99), "q1: its expression e99 does not exist (Id)");
    broken(|plan| plan.numbers.clear(), "q0: there is no number n0 (Id)");
    broken(
        |plan| plan.produces.0.push(Source::Input(7)),
        "Input(7) is asked for, but there is no such source (Id)",
    );
    let read = |plan: &mut Plan, source| plan.arena.read(source, smallvec![Dim::index(0)], DType::F32);
    broken(
        |plan| plan.queries[0].body = read(plan, Source::Input(7)),
        "q0: there is no Input(7) to read (Id)",
    );
}

#[test]
fn order() {
    let read = |plan: &mut Plan, q| plan.arena.read(Source::Def(q), smallvec![Dim::index(0)], DType::F32);
    broken(|plan| plan.queries[0].body = read(plan, 0), "q0: it reads q0 (Order)");
    broken(
        |plan| plan.queries.swap(0, 1),
        "q0: it reads q0 (Order)\nq0: Def(0) of shape [] is read at [i0] (Rank)",
    );
}

#[test]
fn types() {
    let text = |body: &str| {
        format!("input f: f32[] input i: i32[] input b: bool[] q0 t: f32[] = {body} produces q0")
    };
    let check = |body: &str, expected: &str| check(&text(body), Form::Traced, expected);
    check("add(f[], 1.0f32)", "none");
    check("where(b[], f[], f[])", "none");
    check("cast<f32>(i[])", "none");
    check("i[]", "q0: it is of type f32, its expression of i32 (Type)");
    check(
        "add(f[], cast<f64>(f[]))",
        "q0: it is of type f32, its expression of f64 (Type)\nq0: add on [F32, F64] works in f64 (Type)",
    );
    check("add(f[], i[])", "q0: add on [F32, I32] works in f32 (Type)");
    check("filled(f[], 0.0f32)", "none");
    check("filled(f[], where(b[], 0.0f32, f[]))", "none");
    check("filled(f[], where(b[], where(b[], 0.0f32, f[]), f[]))", "none");
    for other in ["f[]", "where(b[], f[], f[])", "where(b[], 0.0f32, abs(f[]))", "where(b[], f[], 0.0f32)"] {
        let found = "q0: what fills is a constant, or one under conditions (Type)";
        check(&format!("filled(f[], {other})"), found);
    }
    check("where(b[], f[], i[])", "q0: where on [Bool, F32, I32] works in f32 (Type)");
    check(
        "cast<f32>(sum<row>(i0 < 2: cast<f16>(f[])))",
        "q0: a reduction below the root (Reduction)\nq0: sum is not defined on f16 (Type)",
    );
    check("cast<f32>(div(i[], i[]))", "q0: div on [I32, I32] works in f64 (Type)");
    broken(
        |plan| plan.inputs[0].dtype = DType::F64,
        "q0: Read { source: Input(0), at: [i0] } should be of type f64, not f32 (Type)",
    );
    broken(
        |plan| plan.numbers[0] = tj_tensor::Scalar::I64(3),
        "q0: Number(0) should be of type i64, not f32 (Type)",
    );
    let intern = |plan: &mut Plan, node| plan.queries[0].body = plan.arena.intern(node, DType::F32);
    let x = |plan: &mut Plan| plan.arena.read(Source::Input(0), smallvec![Dim::index(0)], DType::F32);
    broken(
        |plan| {
            let x = x(plan);
            intern(plan, Expr::Map { op: Op::Add, args: smallvec![x] });
        },
        "q0: add has 1 arguments, not 2 (Type)",
    );
    broken(
        |plan| {
            let x = x(plan);
            intern(plan, Expr::Map { op: Op::And, args: smallvec![x, x] });
        },
        "q0: and is not defined on [F32, F32] (Type)",
    );
    broken(
        |plan| intern(plan, Expr::Size(Dim::index(0))),
        "q0: Size(i0) should be of type i64, not f32 (Type)",
    );
}

#[test]
fn ranks_and_indices() {
    let text =
        |shape: &str, body: &str| format!("size N input x: f32[N, 4] q0 t: f32{shape} = {body} produces q0");
    let check = |shape: &str, body: &str, expected: &str| check(&text(shape, body), Form::Traced, expected);
    check("[N]", "x[i0]", "q0: Input(0) of shape [N, 4] is read at [i0] (Rank)");
    check("[N]", "x[i0, i1]", "q0: read of Input(0) at [i0, i1]: i1 has no meaning here (Index)");
    check("[N]", "sum<row>(i1 < 4: x[i0, i1])", "none");
    check("[N]", "cast<f32>(size(i1 + 1))", "q0: size(i1 + 1): i1 has no meaning here (Index)");
    check("[i0]", "0.0f32", "q0: shape [i0]: i0 has no meaning here (Index)");
    check(
        "[N]",
        "sum<row>(i1 < i0: x[i0, 0])",
        "q0: extent i0 of its reduction: i0 has no meaning here (Index)",
    );
    self::check(
        "input x: f32[i0] q0 t: f32[] = 0.0f32 guard i0 == 2 because of me\nproduces q0",
        Form::Traced,
        "shape [i0] of input 0: i0 has no meaning here (Index)\nguard i0 == 2: i0 has no meaning here (Index)",
    );
}

#[test]
fn sizes() {
    broken(
        |plan| plan.symbols.clear(),
        "shape [N] of input 0: N is not declared (Size)\nq0: shape [N]: N is not declared (Size)\n\
         q1: extent N of its reduction: N is not declared (Size)",
    );
    broken(
        |plan| plan.symbols[0] = Symbol::declared("N", 1..=9).unwrap(),
        "shape [N] of input 0: N is in 0..=4611686018427387904 here, but declared in 1..=9 (Size)\n\
         q0: shape [N]: N is in 0..=4611686018427387904 here, but declared in 1..=9 (Size)\n\
         q1: extent N of its reduction: N is in 0..=4611686018427387904 here, but declared in 1..=9 (Size)",
    );
    broken(|plan| plan.symbols.push(plan.symbols[0].clone()), "N is an index, or declared twice (Size)");
    broken(
        |plan| plan.inputs[0].shape[0] = Dim::from(i64::MAX) + 1,
        "shape [overflow] of input 0: 9223372036854775807 + 1 does not fit in 64 bits (Size)",
    );
}

#[test]
fn reductions() {
    let text = |shape: &str, body: &str| format!("input x: f32[4, 4] q0 t: f32{shape} = {body} produces q0");
    let check = |shape: &str, body: &str, expected: &str| check(&text(shape, body), Form::Traced, expected);
    check("[4]", "neg(sum<row>(i1 < 4: x[i0, 0]))", "q0: a reduction below the root (Reduction)");
    check("[4]", "sum<row>(i2 < 4: x[i0, 0])", "q0: its reduction runs over i2, not over i1 (Reduction)");
    let contraction = "q0: a contraction that is not the sum of a product (Reduction)";
    check("[4]", "sum<contract>(i1 < 4: x[i0, i1])", contraction);
    check("[4]", "max<contract>(i1 < 4: mul(x[i0, i1], 2.0f32))", contraction);
    broken(
        |plan| {
            let body = plan.arena.read(Source::Def(0), smallvec![Dim::index(0)], DType::F32);
            let (op, tree, extent) = (ReduceOp::Sum, Tree::Row, Dim::from(0));
            let index = Symbol::declared("N", ..).unwrap();
            let node = Expr::Reduce { op, tree, index, extent, body };
            plan.queries[1].body = plan.arena.intern(node, DType::F32);
        },
        "q1: its reduction runs over N, not over i0 (Reduction)",
    );
}

#[test]
fn names() {
    broken(|plan| plan.inputs.push(plan.inputs[0].clone()), "two inputs are called x (Name)");
}

/// What is proved, what is refuted, and what is neither.
#[test]
fn bounds() {
    let text = |sizes: &str, shape: &str, at: &str, guard: &str| {
        format!("{sizes} size K size L input x: f32[N] q0 t: f32{shape} = neg(x[{at}]) {guard}\nproduces q0")
    };
    let check = |sizes: &str, shape: &str, at: &str, guard: &str, expected: &str| {
        let text = text(sizes, shape, at, guard);
        let found = match verify(&parse(&text).unwrap(), Form::Traced) {
            Ok(unproven) => unproven.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            Err(findings) => findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        };
        assert_eq!(found, expected, "{text}");
    };
    let n = "size N";
    check(n, "[N]", "N - 1 - i0", "", "");
    check(n, "[max(0, N - 1)]", "i0 + 1", "", "");
    check(n, "[floordiv(N + 1, 2)]", "2*i0", "", "");
    check(n, "[0]", "-7", "", "");
    check(n, "[]", "0", "", "q0: axis 0 of input 0, of size N, is read at 0");
    check(n, "[]", "0", "guard 1 <= N because of x", "");
    check(n, "[]", "3", "guard 1 <= N because of x", "q0: axis 0 of input 0, of size N, is read at 3");
    check("size N in 1..=9", "[]", "0", "", "");
    check(n, "[K]", "i0", "guard K == N because of x", "");
    check(n, "[K]", "i0", "guard N == L because of x\nguard L == K because of y", "");
    check(n, "[K]", "i0", "guard N == L because of x", "q0: axis 0 of input 0, of size N, is read at i0");
    check(n, "[K]", "K - 1 - i0", "guard K <= N because of x", "");
    check(n, "[K]", "i0 + L", "guard K + L <= N because of x", "");
    check(n, "[]", "0", "guard N == 1 because of squeeze", "");
    check(n, "[floordiv(N, 4), 4]", "4*i0 + i1", "", "");
    check(n, "[3*N]", "floordiv(i0, 3)", "", "");
    check(n, "[N*K]", "floordiv(i0, K)", "", "");
    check(
        n,
        "[N*K + 1]",
        "floordiv(i0, K)",
        "",
        "q0: axis 0 of input 0, of size N, is read at floordiv(i0, K)",
    );
    check(n, "[K, L]", "floordiv(i0*L + i1, 3)", "guard K*L == 3*N because of reshape", "");
    check(n, "[K, N]", "floordiv(i0*N + i1, K)", "", "");
    check(n, "[K, 4]", "4*i0 + i1", "guard N == 4*K because of x", "");
    check(n, "[]", "-1", "", "q0: Input(0) of shape [N] is read at [-1] (Bounds)");
    check(n, "[3]", "N + i0", "", "q0: Input(0) of shape [N] is read at [i0 + N] (Bounds)");
    check(n, "[K]", "N + i0", "", "q0: axis 0 of input 0, of size N, is read at i0 + N");
    check("size N in 0..=9", "[7]", "i0 + 9", "", "q0: Input(0) of shape [N] is read at [i0 + 9] (Bounds)");
}

#[test]
fn canonical_form() {
    let check = |text: &str, expected: &str| {
        check(text, Form::Traced, "none");
        check(text, Form::Canonical, expected);
    };
    check(
        "input x: f32[3, 3] q0 t: f32[3, 3] = x[i1, i0] q1 neg: f32[3, 3] = neg(q0[i0, i1]) produces q1",
        "q0: it only renames axes, which its readers can do (Move)",
    );
    check("input x: f32[3, 3] q0 t: f32[3, 3] = x[i1, i0] produces q0", "none");
    check("input x: f32[3] q0 t: f32[3] = x[i0] produces q0", "q0: it is a copy of what it reads (Move)");
    check(
        "input x: f32[3] q0 a: f32[3] = neg(x[i0]) q1 b: f32[3] = exp(x[i0]) produces q1",
        "q0: nothing that is asked for needs it (Dead)",
    );
    check(
        "input x: f32[3] q0 a: f32[3] = neg(x[i0]) q1 b: f32[3] = neg(x[i0]) produces q0, q1",
        "q1: it computes what q0 computes (Equal)",
    );
}

#[test]
fn groups() {
    let check = |groups: &str, expected: &str| {
        let text = format!(
            "input x: f32[4, 4]
             q0 a: f32[4, 4] = neg(x[i0, i1])
             q1 b: f32[4, 4] = exp(q0[i1, i0])
             q2 c: f32[4] = sum<row>(i1 < 4: q1[i0, i1])
             q3 d: f32[] = sum<row>(i0 < 4: q2[i0])
             q4 e: f32[4, 4, 4] = sum<contract>(i3 < 4: mul(x[i0, i3], x[i3, i2]))
             q5 f: f32[4] = q4[i0, 0, 0]
             produces q3, q5
             {groups}"
        );
        found(&parse_fused(&text).unwrap(), expected);
    };
    fn found(fused: &Fused, expected: &str) {
        let found = match verify_fused(fused) {
            Ok(_) => "none".to_owned(),
            Err(findings) => findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        };
        assert_eq!(found, expected, "{fused}");
    }
    let rest = "group outer 0: q3 group outer 3: q4 group outer 1: q5";
    check(&format!("group outer 2: q0 group outer 1: q1 local, q2 {rest}"), "none");
    check(
        &format!("group outer 2: q0 group outer 1: q1, q2 {rest}"),
        "what is local in group 1 is [true, false], not [false, false] (Group)",
    );
    check(&format!("group outer 2: q0 group outer 1: q1 {rest}"), "q2: it is in no group (Group)");
    check(
        &format!("group outer 2: q0 group outer 1: q1 local, q2, q0 {rest}"),
        "q0: it is in two groups (Group)",
    );
    check(
        &format!("group outer 1: q1 local, q2 group outer 2: q0 {rest}"),
        "q1: it reads q0, which is computed later (Group)",
    );
    check(
        &format!("group outer 1: q0 local, q1 local, q2 {rest}"),
        "q1: it reads q0 of its own group at another outer position (Group)",
    );
    check(
        &format!("group outer 2: q0 group outer 2: q1 local, q2 {rest}"),
        "q2: its group shares 2 outer axes (Group)",
    );
    check(
        &format!("group outer 2: q0 group outer 0: q1 local, q2 {rest}"),
        "q1: it shares a kernel, but no outer axis (Group)\nq2: it shares a kernel, but no outer axis (Group)",
    );
    let plain = "group outer 2: q0 group outer 1: q1 local, q2 group outer 0: q3";
    check(
        &format!("{plain} group outer 1: q4 local, q5"),
        "q4: it is a dense contraction whose group shares 1 outer axis (Group)",
    );

    let mut fused =
        parse_fused("input x: f32[3] q0 a: f32[3] = neg(x[i0]) produces q0 group outer 1: q0").unwrap();
    found(&fused, "none");
    fused.groups[0].queries.push(QueryId(7));
    found(&fused, "group 0 has q7, which does not exist (Id)");
    fused.groups[0].queries.clear();
    found(&fused, "q0: it is in no group (Group)");
    let two = "input x: f32[3] q0 a: f32[3] = neg(x[i0]) q1 b: f32[4] = 1.0f32 produces q0, q1 group outer 1: q0, q1";
    found(&parse_fused(two).unwrap(), "q1: its outer sizes differ from those of its group (Group)");
}

#[test]
fn a_broken_pass_stops_with_its_name_and_the_plan() {
    let stopped = std::panic::catch_unwind(|| {
        let plan = parse("input x: f32[3] q0 t: f32[3] = x[i0] produces q0").unwrap();
        debug_verify("tidy", &plan, Form::Canonical);
    });
    let stopped = stopped.unwrap_err();
    let message = stopped.downcast_ref::<String>().unwrap();
    assert_eq!(
        message,
        "tidy broke the rules of plans:\n  q0: it is a copy of what it reads (Move)\nin\n\
         input x: f32[3]\nq0 t: f32[3] = x[i0]\nproduces q0\n"
    );
}

/// What is said of each query of `GOOD` or of another text that calls.
#[test]
fn calls() {
    let mut said = String::new();
    for (shape, body) in [
        ("f32[4, N]", "sort(0, 0) x output 0"),
        ("i64[4, N]", "argsort(0, 0) x output 0"),
        ("f32[2, N]", "take(0, 0) x, at output 0"),
        ("f32[4, N + 1]", "scan(1, 0) x output 0"),
        ("f32[4, N]", "argsort(0, 0) x output 0"),
        ("f32[5, N]", "sort(0, 0) x output 0"),
        ("f32[4, N + 1]", "scan(0, 0) x output 0"),
        ("f32[4]", "take_along(0, 0) x, at output 0"),
    ] {
        let text =
            format!("size N input x: f32[4, N] input at: i64[2] q0 t: {shape} = call {body} produces q0");
        let found = findings(&parse(&text).unwrap(), Form::Canonical);
        writeln!(said, "{shape} = {body}: {found}").unwrap();
    }
    let sort = Function::Sort { descending: false };
    let (x, none, later) = (Source::Input(0), Source::Input(7), Source::Def(1));
    for (function, args, output) in [
        (sort, vec![none], 0),
        (sort, vec![later], 0),
        (sort, vec![x], 1),
        (sort, vec![x, x], 0),
        (Function::TakeAlong, vec![x, x], 0),
        (Function::Inv { field: Field::Real }, vec![x], 0),
    ] {
        let mut plan = parse(GOOD).unwrap();
        let call = Expr::Call { function, args: args.iter().copied().collect(), output };
        plan.queries[0].body = plan.arena.intern(call, DType::F32);
        let found = findings(&plan, Form::Canonical);
        writeln!(said, "{} of {args:?}, {output}: {found}", function.name()).unwrap();
    }
    let mut plan = parse(GOOD).unwrap();
    let call = plan.arena.intern(Expr::Call { function: sort, args: smallvec![x], output: 0 }, DType::F32);
    plan.queries[0].body = plan.arena.map(Op::Neg, smallvec![call]);
    writeln!(said, "neg of sort: {}", findings(&plan, Form::Canonical)).unwrap();
    expect![[r#"
        f32[4, N] = sort(0, 0) x output 0: none
        i64[4, N] = argsort(0, 0) x output 0: none
        f32[2, N] = take(0, 0) x, at output 0: none
        f32[4, N + 1] = scan(1, 0) x output 0: none
        f32[4, N] = argsort(0, 0) x output 0: q0: it is of type f32, its expression of i64 (Type)
        f32[5, N] = sort(0, 0) x output 0: q0: its rows are not those of an argument of shape [4, N] (Call)
        q0: sort gives [4, N], not [5, N] (Call)
        f32[4, N + 1] = scan(0, 0) x output 0: q0: scan gives [4, N], not [4, N + 1] (Call)
        f32[4] = take_along(0, 0) x, at output 0: q0: take_along does not take ranks [2, 1] (Rank)
        sort of [Input(7)], 0: q0: there is no Input(7) to read (Id)
        sort of [Def(1)], 0: q0: it reads q1 (Order)
        q0: sort does not take ranks [0] (Rank)
        sort of [Input(0)], 1: q0: result 1 of sort of 1 arguments (Call)
        sort of [Input(0), Input(0)], 0: q0: result 0 of sort of 2 arguments (Call)
        take_along of [Input(0), Input(0)], 0: q0: take_along is not defined on [F32, F32] (Type)
        inv of [Input(0)], 0: q0: inv does not take ranks [1] (Rank)
        neg of sort: q0: a call below the root (Call)
    "#]]
    .assert_eq(&said);
}

#[test]
fn groups_of_calls() {
    let check = |groups: &str, expected: &str| {
        let text = format!(
            "input x: f64[5, 3, 3] q0 eigh: f64[5, 3] = call eigh(0, 0) x output 0
             q1 eigh: f64[5, 3, 3] = call eigh(0, 0) x output 1
             q2 exp: f64[5, 3] = exp(q0[i0, i1]) produces q1, q2 {groups}"
        );
        let found = match verify_fused(&parse_fused(&text).unwrap()) {
            Ok(_) => "none".to_owned(),
            Err(findings) => findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        };
        assert_eq!(found, expected, "{groups}");
    };
    check("group outer 0: q0, q1 group outer 2: q2", "none");
    check("group outer 1: q0, q1 group outer 2: q2", "none");
    check("group outer 2: q0 group outer 0: q1 group outer 2: q2", "none");
    let refused = "q2: it shares a kernel with a call that it is no other result of (Group)";
    check("group outer 2: q0 local, q2 group outer 0: q1", refused);
}
