use super::*;
use crate::ir::{Access, Buffer, LoopKind, MAX_NESTING, Op, Stmt, UnOp, Value, Var};
use crate::sample::{SampleOptions, sample};
use tj_tensor::DType;

/// A kernel over tasks `0..N` whose declarations and body are `text`; `%0` and `%1` are the task range.
fn kernel(text: &str) -> Kernel {
    let (header, body) = text.split_once("--").unwrap_or(("", text));
    format!(
        "kernel k(grid N cut 1 cost 1) {{
         {header}
         task %0..%1
         %0: i64 = task lo
         %1: i64 = task hi
         {body} }}"
    )
    .parse()
    .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn findings(kernel: &Kernel) -> Vec<String> {
    let findings = verify(kernel).expect_err("the kernel breaks a rule");
    findings.iter().map(|f| format!("{:?}: {}", f.rule, f.what)).collect()
}

/// What breaks rules in `text`, all of it.
fn broken(text: &str, expected: &[&str]) {
    assert_eq!(findings(&kernel(text)), expected, "{text}");
}

#[test]
fn names_and_grids() {
    for (name, good) in [("_k9", true), ("9k", false), ("", false), ("a b", false), ("é", false)] {
        let mut kernel = kernel("");
        kernel.name = name.to_owned();
        assert_eq!(verify(&kernel).is_ok(), good, "{name:?}");
    }
    let mut kernel = kernel("");
    kernel.grid.multiple = 0;
    assert_eq!(findings(&kernel), ["Access: the grid is cut at multiples of 0"]);
}

#[test]
fn ids_are_in_their_tables() {
    broken("store @3[%0] = %1", &["Id: @3 is no buffer"]);
    broken("%2: f32 = load @7[%0]", &["Id: @7 is no buffer"]);
    broken("size #0 = N -- %2: i64 = size #1", &["Id: %2 is size #1, which is none"]);
    broken("%2: i64 = param #0", &["Id: %2 is parameter #0, which is none"]);
    let mut kernel = kernel("%2: i64 = neg %0");
    kernel.values[2].0 = Op::Unary(UnOp::Neg, Value(9));
    assert_eq!(findings(&kernel), ["Id: %9 (the operand of %2) is no value"]);
    kernel.values[2].0 = Op::Get(Var(4));
    kernel.body.push(Stmt::Def(Value(8)));
    kernel.task.1 = Value(7);
    assert_eq!(findings(&kernel), ["Id: %7 is no value", "Id: $4 is no variable", "Id: %8 is no value"]);
}

#[test]
fn definitions_are_unique_and_of_their_kind() {
    broken("%2: i64 = neg %0 %2: i64 = neg %0", &["Definition: %2 is defined twice"]);
    broken("for %2 in %0..%1 {} for %2 in %0..%1 {}", &["Definition: %2 is defined twice"]);
    broken("var $0: i64 = %0 var $0: i64 = %0", &["Definition: $0 is declared twice"]);
    broken("%2: i64 = loopvar", &["Definition: %2 is defined by a statement of its own kind only"]);
    let mut kernel = kernel("%2: i64 = neg %0");
    kernel.body.pop();
    assert_eq!(findings(&kernel), ["Definition: %2 is never defined"]);
    kernel.body.push(Stmt::For {
        var: Value(2),
        lo: Value(0),
        hi: Value(1),
        kind: LoopKind::Serial,
        body: Vec::new(),
    });
    assert_eq!(findings(&kernel), ["Definition: %2 is no loop variable"]);
    kernel.body.pop();
    kernel.body.push(Stmt::Def(Value(2)));
    kernel.task = (Value(1), Value(1));
    assert_eq!(findings(&kernel), ["Definition: %1 is not task lo"]);
}

#[test]
fn uses_follow_definitions_in_scope() {
    broken("%2: i64 = neg %3 %3: i64 = neg %0", &["Scope: %3 (the operand of %2) is not defined there"]);
    broken(
        "for %2 in %0..%1 { %3: i64 = neg %2 } %4: i64 = neg %3",
        &["Scope: %3 (the operand of %4) is not defined there"],
    );
    broken("for %2 in %2..%1 { }", &["Scope: %2 (the first %2) is not defined there"]);
    broken(
        "%2: bool = eq %0, %1 if %2 { %3: i64 = neg %0 } else { %4: i64 = neg %3 }",
        &["Scope: %3 (the operand of %4) is not defined there"],
    );
    broken(
        "while { %2: bool = eq %0, %1 } holds %2 { %3: bool = not %2 } %4: bool = not %3",
        &["Scope: %3 (the operand of %4) is not defined there"],
    );
    broken(
        "while { %2: bool = eq %0, %1 } holds %2 { } %3: bool = not %2",
        &["Scope: %2 (the operand of %3) is not defined there"],
    );
    broken("$0 = %0 var $0: i64 = %0", &["Scope: $0 is not declared where it is used"]);
    broken(
        "for %2 in %0..%1 { var $0: i64 = %0 } %3: i64 = get $0",
        &["Scope: $0 is not declared where it is used"],
    );
}

#[test]
fn operands_have_their_types() {
    let header = "buffer @0 x: f32[N] write\n param #0: f32 -- %2: f32 = param #0 %3: bool = eq %0, %1 ";
    for (body, expected) in [
        ("%4: i64 = sqrt %0", "%4 is i64, which does not fit its operation"),
        ("%4: f32 = not %2", "%4 is f32, which does not fit its operation"),
        ("%4: i64 = div %0, %1", "%4 is i64, which does not fit its operation"),
        ("%4: f32 = mod %2, %2", "%4 is f32, which does not fit its operation"),
        ("%4: bool = add %3, %3", "%4 is bool, which does not fit its operation"),
        ("%4: i64 = fma %0, %0, %0", "%4 is i64, which does not fit its operation"),
        ("%4: i64 = eq %0, %1", "%4 is i64, which does not fit its operation"),
        ("%4: f64 = bitcast %2", "%4 is f64, which does not fit its operation"),
        ("%4: f32 = const 1.0f64", "%4 is f32, which does not fit its operation"),
        ("%4: i32 = task lo", "%4 is i32, which does not fit its operation"),
        ("%4: f64 = param #0", "%4 is f64, which does not fit its operation"),
        ("%4: f64 = load @0[%0]", "%4 is f64, which does not fit its operation"),
        ("%4: f32 = add %2, %0", "%0 (the second operand of %4) is i64, not f32"),
        ("%4: bool = lt %2, %0", "%0 (the second operand of %4) is i64, not f32"),
        ("%4: f32 = select %0, %2, %2", "%0 (the condition of %4) is i64, not bool"),
        ("%4: f32 = load @0[%2]", "%2 (the index of %4) is f32, not i64"),
        ("store @0[%0] = %0", "%0 (an element of @0) is i64, not f32"),
        ("store @0[%2] = %2", "%2 (an index of @0) is f32, not i64"),
        ("for %4 in %0..%2 {}", "%2 (the end of %4) is f32, not i64"),
        ("if %0 {}", "%0 (a condition) is i64, not bool"),
        ("while {} holds %0 {}", "%0 (the condition of a loop) is i64, not bool"),
        ("var $0: f64 = %2", "%2 (the first value of $0) is f32, not f64"),
        ("var $0: i64 = %0 $0 = %2", "%2 (the value of $0) is f32, not i64"),
        ("var $0: i64 = %0 %4: f32 = get $0", "%4 is f32, which does not fit its operation"),
        ("var $0: i64 lanes(4) = %0 %4: i32 = fold add $0", "%4 is i32 where i64 is made"),
        ("var $0: bool lanes(4) = %3 %4: bool = fold add $0", "%4 is add of bool"),
        (
            "gemm f32 (%2, %0, %0) @0[%0, %0, %0] = @1[%0, %0, %0] * @1[%0, %0, %0]",
            "%2 (an extent of gemm) is f32, not i64",
        ),
        ("gemm f64 (%0, %0, %0) @0[%0, %0, %0] = @1[%0, %0, %0] * @1[%0, %0, %0]", "gemm of f64 with @0"),
        ("%4: c64 = const (0.0+0.0j)c64", "%4 is c64, which kernels do not have"),
    ] {
        let mut kernel = kernel(&format!("{header} {body}"));
        let dtype = if body.starts_with("gemm f64") { DType::F64 } else { DType::F32 };
        kernel.buffers.push(Buffer {
            name: "a".to_owned(),
            dtype,
            len: 1.into(),
            access: Access::Read,
            holds: None,
        });
        assert_eq!(findings(&kernel), [format!("Type: {expected}")], "{body}");
    }
}

#[test]
fn blocks_nest_to_a_limit() {
    let nested =
        |depth| kernel(&format!("%2: bool = eq %0, %1 {} {}", "if %2 {".repeat(depth), "}".repeat(depth)));
    assert_eq!(verify(&nested(MAX_NESTING)), Ok(vec![]));
    // The parser has the same limit, so the last block is added by hand.
    let mut kernel = nested(MAX_NESTING);
    let inner = kernel.body.pop().unwrap();
    kernel.body.push(Stmt::If { cond: Value(2), then: vec![inner], els: Vec::new() });
    assert_eq!(findings(&kernel), ["Nesting: blocks nest more than 100 deep"]);
}

#[test]
fn lanes_are_used_by_their_rules() {
    let lanes = "Lanes: ";
    for (text, expected) in [
        (
            "for lanes(4) %2 in %0..%1 { for lanes(4) %3 in %0..%1 {} }",
            "the lanes loop of %3 is inside another",
        ),
        ("for lanes(0) %2 in %0..%1 {}", "the loop of %2 has 0 lanes, not 1 to 256"),
        ("var $0: i64 lanes(257) = %0", "$0 has 257 lanes, not 1 to 256"),
        (
            "var $0: i64 lanes(4) = %0 for lanes(8) %2 in %0..%1 { $0 = %2 }",
            "$0 has 4 lanes in a loop of 8",
        ),
        ("for lanes(4) %2 in %0..%1 { var $0: i64 lanes(4) = %0 }", "lane variable $0 is declared in a lanes loop"),
        ("var $0: i64 lanes(4) = %0 %2: i64 = get $0", "%2 reads lane variable $0 outside lanes loops"),
        ("var $0: i64 = %0 for lanes(4) %2 in %0..%1 { $0 = %2 }", "$0 from outside a lanes loop is assigned inside"),
        ("var $0: i64 = %0 %2: i64 = fold add $0", "$0 is folded but has no lanes"),
        ("var $0: i64 lanes(6) = %0 %2: i64 = fold add $0", "$0 is folded but has 6 lanes"),
        (
            "var $0: i64 lanes(4) = %0 for lanes(4) %2 in %0..%1 { %3: i64 = fold add $0 }",
            "$0 is folded inside a lanes loop",
        ),
        (
            "buffer @0 a: f32[1] read\n buffer @1 c: f32[1] write --
             for lanes(4) %2 in %0..%1 { gemm f32 (%0, %0, %0) @1[%0, %0, %0] = @0[%0, %0, %0] * @0[%0, %0, %0] }",
            "gemm inside a lanes loop",
        ),
    ] {
        broken(text, &[&format!("{lanes}{expected}")]);
    }
    // A variable of the body is one a lane; a variable from outside may be read; a lane variable is set outside.
    let good = "
        var $0: i64 = %0
        var $1: i64 lanes(6) = %0
        $1 = %1
        for lanes(6) %2 in %0..%1 {
          %3: i64 = get $0
          var $2: i64 = %3
          $2 = %2
          $1 = %2
          %4: i64 = get $1
        }";
    assert_eq!(verify(&kernel(good)), Ok(vec![]));
}

#[test]
fn control_flow_is_uniform_over_lanes() {
    let steers = |value: &str| {
        format!("Uniform: {value} steers control flow but differs between lanes of the loop of %2")
    };
    let header = "buffer @0 x: i64[1] read\n buffer @1 y: i64[1] write\n buffer @2 t: bool[1] scratch -- ";
    for (body, guilty) in [
        ("for %3 in %0..%2 {}", "%2"),
        ("%3: i64 = load @0[%2] for %4 in %3..%1 {}", "%3"),
        ("%3: bool = lt %2, %1 if %3 {}", "%3"),
        ("while { %3: bool = lt %2, %1 } holds %3 {}", "%3"),
        ("store @1[%0] = %0 %3: i64 = load @1[%0] for %4 in %3..%1 {}", "%3"),
        // Through a variable that is assigned later in an outer loop.
        ("var $0: i64 = %0 for %3 in %0..%1 { %4: i64 = get $0 for %5 in %0..%4 {} $0 = %2 }", "%4"),
    ] {
        let found = findings(&kernel(&format!("{header} for lanes(8) %2 in %0..%1 {{ {body} }}")));
        assert_eq!(found[0], steers(guilty), "{body}");
    }
    let lane_variable =
        "var $0: i64 lanes(8) = %0 for lanes(8) %2 in %0..%1 { %3: i64 = get $0 for %4 in %0..%3 {} }";
    broken(lane_variable, &[&steers("%3")]);
    // The same with what all lanes share.
    let good = "
        for lanes(8) %2 in %0..%1 {
          var $0: i64 = %0
          while { %3: i64 = get $0 %4: bool = lt %3, %1 } holds %4 { %5: i64 = neg %0 $0 = %5 }
          %6: bool = load @2[%0]
          if %6 {}
        }";
    assert_eq!(check_form(&kernel(&format!("{header} {good}"))), []);
}

#[test]
fn buffers_are_used_by_their_access() {
    broken("buffer @0 x: i64[N] read -- store @0[%0] = %0", &["Access: @0 is stored to but only read"]);
    let gemm = "gemm f32 (%0, %0, %0) @0[%0, %0, %0] = @0[%0, %0, %0] * @1[%0, %0, %0]";
    broken(
        &format!("buffer @0 c: f32[1] write\n buffer @1 b: f32[1] read -- {gemm}"),
        &["Access: gemm stores to its factor @0"],
    );
    broken(
        &format!("buffer @0 c: f32[1] read\n buffer @1 b: f32[1] read -- {gemm}"),
        &["Access: @0 is stored to but only read", "Access: gemm stores to its factor @0"],
    );
}

#[test]
fn all_findings_are_reported() {
    broken(
        "%2: i64 = sqrt %0 store @9[%2] = %3 %3: i64 = neg %0",
        &["Type: %2 is i64, which does not fit its operation", "Id: @9 is no buffer"],
    );
}

/// What remains to be checked at bind; `proved`, or guards and findings as they print.
fn bounds(text: &str) -> String {
    let kernel = kernel(text);
    match verify(&kernel) {
        Ok(guards) if guards.is_empty() => "proved".to_owned(),
        Ok(guards) => {
            guards.iter().map(|g| g.to_string().replacen("kernel k: ", "", 1)).collect::<Vec<_>>().join("; ")
        }
        Err(findings) => findings.iter().map(|f| f.what.clone()).collect::<Vec<_>>().join("; "),
    }
}

/// A load of `x[index]` in the loops `for %20 in tasks { for %21 in 0..M {`, with `%10 = M`, `%11 = 0`, `%12 = 1`.
fn load(len: &str, index: &str) -> String {
    let body = format!("for %10 in %0..%1 {{ for %11 in %5..%2 {{ {index} %9: f32 = load @0[%8] }} }}");
    bounds(&complete(len, &body))
}

/// Adds the definitions that texts leave out, so that ids have no gaps.
fn complete(len: &str, body: &str) -> String {
    let header = format!(
        "symbol M in 1..=4611686018427387904
         buffer @0 x: f32[{len}] read
         buffer @1 p: i64[N] read
         size #0 = M
         size #1 = N
         size #2 = K --
         %2: i64 = size #0
         %3: i64 = size #1
         %4: i64 = size #2
         %5: i64 = const 0i64
         %6: i64 = const 1i64"
    );
    let filled: Vec<String> = (7..16)
        .map(|id| format!("%{id}"))
        .filter(|id| !body.contains(&format!("{id}: ")) && !body.contains(&format!("{id} in")))
        .map(|id| format!("{id}: i64 = const 0i64"))
        .collect();
    format!("{header} {} {body}", filled.join(" "))
}

#[test]
fn affine_indices_are_proved_or_guarded() {
    let flat = "%7: i64 = mul %10, %2 %8: i64 = add %7, %11";
    assert_eq!(load("N*M", flat), "proved");
    assert_eq!(load("N*M + 3", flat), "proved");
    assert_eq!(load("N*K", flat), "0..=M*N - 1 of buffer x inside 0..K*N if N > 0");
    assert_eq!(load("N*M", "%7: i64 = sub %3, %6 %8: i64 = sub %7, %10"), "proved");
    assert_eq!(load("N", "%8: i64 = add %10, %6"), "1..=N of buffer x inside 0..N if N > 0");
    assert_eq!(load("N", "%8: i64 = add %10, %4"), "K..=K + N - 1 of buffer x inside 0..N if N > 0");
    assert_eq!(load("2*N", "%8: i64 = shl %10, %6"), "proved");
    assert_eq!(load("floordiv(N + 1, 2)", "%7: i64 = const 1i64 %8: i64 = sar %10, %7"), "proved");
    assert_eq!(load("M", "%8: i64 = mod %10, %2"), "proved");
    // One element is there because a loop around it runs.
    assert_eq!(load("N", "%8: i64 = const 0i64"), "proved");
    assert_eq!(load("K", "%8: i64 = const 0i64"), "0..=0 of buffer x inside 0..K if N > 0");
}

#[test]
fn clamped_indices_are_analysable_and_others_are_not() {
    let loaded = "%7: i64 = load @1[%10]";
    assert_eq!(load("M", &format!("{loaded} %8: i64 = neg %7")), "%8 of buffer x may be anything");
    let clamp = "%12: i64 = sub %2, %6 %13: i64 = min %7, %12 %8: i64 = max %13, %5";
    assert_eq!(load("M", &format!("{loaded} {clamp}")), "proved");
    assert_eq!(load("N", &format!("{loaded} {clamp}")), "0..=M - 1 of buffer x inside 0..N if N > 0");
    let swapped = "%12: i64 = sub %2, %6 %13: i64 = max %5, %7 %8: i64 = min %12, %13";
    assert_eq!(load("M", &format!("{loaded} {swapped}")), "proved");
    let half = "%8: i64 = max %7, %5";
    assert_eq!(load("M", &format!("{loaded} {half}")), "%8 of buffer x may be anything");
    assert_eq!(load("M", &format!("{loaded} %8: i64 = mod %7, %2")), "proved");
    assert_eq!(load("8", &format!("{loaded} %12: i64 = const 7i64 %8: i64 = and %7, %12")), "proved");
    assert_eq!(load("256", &format!("{loaded} %12: u8 = cast %7 %8: i64 = cast %12")), "proved");
    assert_eq!(
        load(
            "2*N",
            "%12: bool = eq %10, %11 %13: i64 = cast %12 %7: i64 = mul %13, %3 %8: i64 = add %10, %7"
        ),
        "proved"
    );
    let variable = "var $0: i64 = %10 %8: i64 = get $0";
    assert_eq!(load("N", variable), "proved");
    assert_eq!(load("N", &format!("{variable} $0 = %5")), "%8 of buffer x may be anything");
    let counting = "%12: i64 = add %8, %6 $0 = %12";
    assert_eq!(load("N", &format!("{variable} {counting}")), "%8 of buffer x may be anything");
}

#[test]
fn a_loop_with_no_iteration_asks_for_nothing() {
    let text = complete(
        "K",
        "for %10 in %0..%1 { for %11 in %5..%4 { %7: i64 = mul %10, %2 %8: i64 = add %11, %2 %9: f32 = load @0[%8] } }",
    );
    let kernel = kernel(&text);
    let guards = verify(&kernel).unwrap();
    assert_eq!(guards.len(), 1);
    assert_eq!(guards[0].enclosing.iter().map(Dim::to_string).collect::<Vec<_>>(), ["N", "K"]);
    let holds = |n, k, m| {
        let value = move |s: &Symbol| match s.to_string().as_str() {
            "N" => Some(n),
            "K" => Some(k),
            "M" => Some(m),
            _ => None,
        };
        guards[0].holds(&value)
    };
    assert_eq!(holds(1, 1, 1), Ok(false));
    assert_eq!(holds(1, 1, 0), Ok(true));
    assert_eq!(holds(0, 1, 1), Ok(true));
    assert_eq!(holds(1, 0, 1), Ok(true));
    assert!(guards[0].holds(&|_| None).is_err());
}

#[test]
fn conditions_narrow_the_loops_around_them() {
    let branch = |cond: &str, body: &str| {
        let text = format!("for %10 in %0..%1 {{ %11: i64 = add %10, %6 {cond} {body} }}");
        bounds(&complete("N", &text))
    };
    let then = "if %7 { %9: f32 = load @0[%11] }";
    let els = "if %7 { } else { %9: f32 = load @0[%11] }";
    assert_eq!(branch("%7: bool = lt %11, %3", then), "proved");
    assert_eq!(branch("%7: bool = ge %11, %3", els), "proved");
    assert!(branch("%7: bool = ne %11, %3", els).ends_with("..=N of buffer x inside 0..N if N > 0"));
    assert_eq!(branch("%8: bool = le %3, %11 %7: bool = not %8", then), "proved");
    assert_eq!(branch("%8: bool = eq %10, %4 %12: bool = lt %11, %3 %7: bool = and %8, %12", then), "proved");
    // A condition on sizes alone becomes a part of the guard.
    assert_eq!(branch("%7: bool = lt %4, %2", then), "1..=N of buffer x inside 0..N if N > 0 and -K + M > 0");
}

#[test]
fn gemm_operands_are_bounded() {
    let gemm = |a: &str, k: &str| {
        let text = format!(
            "symbol K in 1..=1000
             buffer @0 a: f32[{a}] read
             buffer @1 b: f32[{k}*M] read
             buffer @2 c: f32[N*M] write
             size #0 = {k}
             size #1 = M --
             %2: i64 = size #0
             %3: i64 = size #1
             %4: i64 = const 0i64
             %5: i64 = const 1i64
             %6: i64 = sub %1, %0
             %7: i64 = mul %0, %2
             %8: i64 = mul %0, %3
             gemm f32 (%6, %3, %2) @2[%8, %3, %5] = @0[%7, %2, %5] * @1[%4, %3, %5]"
        );
        bounds(&text)
    };
    assert_eq!(gemm("N*K", "K"), "proved");
    assert_eq!(gemm("N*5", "5"), "proved");
    assert_eq!(gemm("N", "K"), "0..=K*N - 1 of buffer a inside 0..N if N > 0 and M > 0");
    let backwards = "
        buffer @0 a: f32[N] read
        buffer @1 b: f32[1] read
        buffer @2 c: f32[N] write
        size #0 = N - 1
        size #1 = N --
        %2: i64 = size #0
        %3: i64 = size #1
        %4: i64 = const 0i64
        %5: i64 = const 1i64
        %6: i64 = const -1i64
        gemm f32 (%3, %5, %5) @2[%4, %5, %5] = @0[%2, %6, %5] * @1[%4, %5, %5]";
    assert_eq!(bounds(backwards), "proved");
}

/// Guards are exact on samples whose buffers are made one element too short: what a guard rejects faults, and what
/// faults is rejected.
#[test]
fn guards_agree_with_the_interpreter() {
    let (mut held, mut failed) = (0, 0);
    for seed in 0..300 {
        let mut sample = sample(seed, &SampleOptions { max_extent: 12, ..SampleOptions::default() });
        let lens: Vec<usize> = sample.contents.iter().map(|c| c.len()).collect();
        let Some(victim) = (0..lens.len()).rev().find(|&v| lens[v] > 0) else { continue };
        let short = lens[victim] - 1;
        let dtype = sample.contents[victim].dtype();
        sample.contents[victim] = crate::BufferContents::zeroed(dtype, short);
        sample.kernel.buffers[victim].len = Dim::from(short);
        sample.tasks = 0..sample.kernel.grid.extent.eval(&|s| sample.value_of(s)).unwrap();
        let guards = verify(&sample.kernel).unwrap_or_else(|f| panic!("seed {seed}: {f:?}"));
        let holds = guards.iter().all(|g| g.holds(&|s| sample.value_of(s)).unwrap());
        let faults = sample.interpret(Default::default()).is_err();
        assert!(!faults || !holds, "seed {seed}: a fault no guard saw\n{}", sample.kernel);
        held += holds as u32;
        failed += !holds as u32;
    }
    assert!(held > 10 && failed > 100, "{held} {failed}");
}

#[test]
fn calls_take_whole_buffers_and_give_a_row_a_task() {
    let declared = "buffer @0 x: f32[4*N] read
        buffer @1 y: f32[4*N] write
        buffer @2 z: i64[4*N] scratch
        size #0 = N
        -- %2: i64 = size #0 %3: i64 = const 4i64 ";
    let mut said = String::new();
    for body in [
        "call sort(0, 0) @1[%2, %3] = @0[%2, %3]",
        "call argsort(1, 0) @2[%2, %3] = @0[%2, %3]",
        "call sort(0, 0) @1[%3, %2] = @0[%3, %2]",
        "call sort(0, 0) @1[%2, %3] = @0[%2]",
        "call sort(0, 0) @1[%2, %0] = @0[%2, %3]",
        "call sort(0, 0) @2[%2, %3] = @0[%2, %3]",
        "call sort(0, 0) @0[%2, %3] = @1[%2, %3]",
        "call sort(0, 0) @1[%2, %3] = @0[%2, %3], @0[%2, %3]",
        "for %4 in %0..%1 { call sort(0, 0) @1[%2, %3] = @0[%2, %3] }",
        "call sort(0, 0) @1[%2, %3] = @0[%2, %3] call argsort(0, 0) @2[%2, %3] = @0[%2, %3]",
        "call eigh(0, 0) @1[%2, %3], @1[%2, %3] = @0[%2, %3]",
    ] {
        let kernel = kernel(&format!("{declared} {body}"));
        assert_eq!(kernel.to_string().parse::<Kernel>().as_ref(), Ok(&kernel));
        said += &match verify(&kernel) {
            Ok(guards) => format!("{body}: {} guards\n", guards.len()),
            Err(_) => format!("{body}: {}\n", findings(&kernel).join("; ")),
        };
    }
    expect_test::expect![[r#"
        call sort(0, 0) @1[%2, %3] = @0[%2, %3]: 0 guards
        call argsort(1, 0) @2[%2, %3] = @0[%2, %3]: 0 guards
        call sort(0, 0) @1[%3, %2] = @0[%3, %2]: Call: sort gives 4 rows in N tasks
        call sort(0, 0) @1[%2, %3] = @0[%2]: Call: sort takes @0 to have N elements, not 4*N
        call sort(0, 0) @1[%2, %0] = @0[%2, %3]: Call: an extent of @1 in sort is no size
        call sort(0, 0) @2[%2, %3] = @0[%2, %3]: Call: sort of [F32] does not give [I64]
        call sort(0, 0) @0[%2, %3] = @1[%2, %3]: Call: sort is given @1, which others write; Access: @0 is stored to but only read
        call sort(0, 0) @1[%2, %3] = @0[%2, %3], @0[%2, %3]: Call: sort takes 2 and gives 1 buffers
        for %4 in %0..%1 { call sort(0, 0) @1[%2, %3] = @0[%2, %3] }: Call: sort is called inside another statement
        call sort(0, 0) @1[%2, %3] = @0[%2, %3] call argsort(0, 0) @2[%2, %3] = @0[%2, %3]: Call: it calls more than one function
        call eigh(0, 0) @1[%2, %3], @1[%2, %3] = @0[%2, %3]: Call: eigh gives two results in @1
    "#]].assert_eq(&said);
}

/// Two sorted lists in rows, walked together: what sparse kernels do.
const MERGE: &str = "kernel merge(grid M cut 1 cost 1) {
  buffer @0 pa: u32[M + 1] read holds 0..=P
  buffer @1 ia: u32[P] read holds 0..=N - 1
  buffer @2 pb: u64[M + 1] read holds 0..=Q
  buffer @3 ib: u32[Q] read holds 0..=N - 1
  buffer @4 x: f32[N] read
  buffer @5 y: f32[M] write
  task %0..%1
  %0: i64 = task lo
  %1: i64 = task hi
  %2: i64 = const 1i64
  for %3 in %0..%1 {
    %4: i64 = add %3, %2
    %5: u32 = load @0[%3]
    %6: i64 = cast %5
    %7: u32 = load @0[%4]
    %8: i64 = cast %7
    %9: u64 = load @2[%3]
    %10: i64 = cast %9
    %11: u64 = load @2[%4]
    %12: i64 = cast %11
    var $0: i64 = %6
    var $1: i64 = %10
    while {
      %13: i64 = get $0
      %14: bool = lt %13, %8
      %15: i64 = get $1
      %16: bool = lt %15, %12
      %17: bool = and %14, %16
    } holds %17 {
      %18: u32 = load @1[%13]
      %19: u32 = load @3[%15]
      %20: bool = le %18, %19
      %21: bool = le %19, %18
      %22: i64 = cast %18
      %23: f32 = load @4[%22]
      store @5[%3] = %23
      %24: i64 = cast %20
      %25: i64 = add %13, %24
      $0 = %25
      %26: i64 = cast %21
      %27: i64 = add %15, %26
      $1 = %27
    }
  }
}
";

fn merge(right: &str, wrong: &str) -> Kernel {
    MERGE.replace(right, wrong).parse().expect("the text is a kernel")
}

#[test]
fn cursors_that_stop_at_their_ends_are_proved() {
    assert_eq!(verify(&merge("", "")), Ok(Vec::new()));
    assert_eq!(merge("", "").to_string().parse(), Ok(merge("", "")));
    // A list that may hold N; cursors that are not compared with their ends; ends that may be anything.
    let beyond = merge("ia: u32[P] read holds 0..=N - 1", "ia: u32[P] read holds 0..=N");
    let found = verify(&beyond).expect("a bound that sizes may break is a guard");
    assert_eq!(
        found[0].to_string(),
        "kernel merge: 0..=N of buffer x inside 0..N if M > 0 and P > 0 and Q > 0"
    );
    for (right, wrong) in [
        ("holds %17", "holds %14"),
        ("holds %17", "holds %16"),
        ("pa: u32[M + 1] read holds 0..=P", "pa: u32[M + 1] read"),
    ] {
        let broken = verify(&merge(right, wrong));
        assert!(broken.as_ref().map_or(true, |guards| !guards.is_empty()), "{wrong}: {broken:?}");
    }
}

/// A loop over rows that ends early, over rows that are given by their ends.
const COUNTED: &str = "buffer @0 p: u32[M + 1] read holds 0..=P
  buffer @1 y: bool[N] write
  size #0 = M --
  %2: i64 = size #0 %3: i64 = const 0i64 %4: i64 = const 1i64 %5: bool = const false
  var $0: bool = %5
  var $1: i64 = %3
  while {
    %6: i64 = get $1
    %7: bool = lt %6, %2
    %8: bool = get $0
    %9: bool = not %8
    %10: bool = and %7, %9
  } holds %10 {
    %11: i64 = add %6, %4
    %12: u32 = load @0[%6]
    %13: u32 = load @0[%11]
    %14: bool = lt %12, %13
    $0 = %14
    $1 = %11
  }
  %15: bool = get $0
  for %16 in %0..%1 { store @1[%16] = %15 }";

#[test]
fn a_variable_that_counts_stays_below_what_its_loop_asks() {
    assert_eq!(verify(&kernel(COUNTED)), Ok(Vec::new()));
    let counted = |right: &str, wrong: &str| kernel(&COUNTED.replace(right, wrong));
    // One round more than there are rows is a guard that no size keeps; no end, no proof.
    let beyond = counted("lt %6, %2", "le %6, %2");
    assert!(verify(&beyond).is_ok_and(|guards| !guards.is_empty()));
    for (right, wrong) in [("holds %10", "holds %9"), ("add %6, %4", "sub %6, %4")] {
        assert!(verify(&counted(right, wrong)).is_err(), "{wrong}");
    }
}
