//! Each rule as text, and every rule against evaluation on values that break careless ones.

use smallvec::SmallVec;
use tj_ir::expand::expand;
use tj_ir::op::TABLE;
use tj_ir::prim::Evaluator;
use tj_ir::{Expr, ExprArena, ExprId, Op};
use tj_tensor::{DType, Scalar};

use super::simplify_node;
use crate::{canonicalise, parse};

/// The body of a query over `f: f32[]`, `d: f64[]`, `i: i32[]`, `b: bool[]` once its plan is canonical.
#[track_caller]
fn check(body: &str, expected: &str) {
    let types = ["f32", "f64", "i32", "i64", "bool"];
    let text = |dtype: &str| {
        format!(
            "input f: f32[] input d: f64[] input i: i32[] input b: bool[] number n0: f32 = 3.0f32
             q0 t: {dtype}[] = {body} produces q0"
        )
    };
    // The type of the query is that of its body, whatever it says.
    let plan = parse(&text(types[0])).unwrap();
    let plan = parse(&text(plan.arena.dtype(plan.queries[0].body).name())).unwrap();
    let plan = canonicalise(&plan);
    let found = match plan.queries.as_slice() {
        [] => plan.to_string().lines().last().unwrap().to_owned(),
        _ => plan.to_string().lines().find(|line| line.starts_with("q0")).unwrap().to_owned(),
    };
    assert_eq!(found.split_once("= ").map_or(found.as_str(), |(_, body)| body), expected, "{body}");
}

/// An input that is left over is produced as it is.
#[test]
fn identities() {
    check("mul(f[], 1.0f32)", "produces f");
    check("mul(1.0f32, f[])", "produces f");
    check("mul(i[], 1i32)", "produces i");
    check("div(f[], 1.0f32)", "produces f");
    check("sub(f[], 0.0f32)", "produces f");
    check("add(f[], -0.0f32)", "produces f");
    check("add(i[], 0i32)", "produces i");
    check("maximum(f[], -inf_f32)", "produces f");
    check("minimum(inf_f32, f[])", "produces f");
    check("maximum(i[], -2147483648i32)", "produces i");
    check("maximum(f[], f[])", "produces f");
    check("fmin(f[], f[])", "produces f");
    check("and(b[], true)", "produces b");
    check("or(b[], false)", "produces b");
    check("xor(i[], 0i32)", "produces i");
    check("and(i[], -1i32)", "produces i");
}

/// -0 + 0 is +0, 0 - x is not -x, x - -0 may be, and inf and NaN take part in everything.
#[test]
fn what_is_no_identity_for_floats_stays() {
    for body in [
        "add(f[], 0.0f32)",
        "sub(f[], -0.0f32)",
        "sub(0.0f32, f[])",
        "mul(f[], 0.0f32)",
        "mul(f[], -1.0f32)",
        "sub(f[], f[])",
        "div(f[], f[])",
        "div(0.0f32, f[])",
        "div(1.0f32, f[])",
        "equal(f[], f[])",
        "maximum(f[], inf_f32)",
        "add(add(f[], 1.0f32), 2.0f32)",
        "mul(f[], n0)",
        "fmax(f[], -inf_f32)",
    ] {
        check(body, body);
    }
}

#[test]
fn annihilators_of_exact_types() {
    check("mul(i[], 0i32)", "0i32");
    check("mul(0i32, i[])", "0i32");
    check("and(b[], false)", "false");
    check("or(true, b[])", "true");
    check("minimum(i[], -2147483648i32)", "-2147483648i32");
    // Not zero for i = 0.
    check("sub(i[], i[])", "sub(i[], i[])");
}

#[test]
fn constants_fold() {
    check("add(0.1f32, 0.2f32)", "0.3f32");
    check("div(0.0f32, 0.0f32)", "-nan_f32");
    check("floor_divide(1i32, 0i32)", "0i32");
    check("cast<i32>(add(1.5f32, inf_f32))", "2147483647i32");
    check("mul(add(0.5f32, 0.5f32), f[])", "produces f");
    check("neg(neg(neg(f[])))", "neg(f[])");
    // There is no arithmetic in these types, but there are conversions and choices.
    check("cast<f32>(1.5bf16)", "1.5f32");
    check("cast<f32>(where(true, 1.5f16, 2.5f16))", "1.5f32");
    check("where(true, f[], 2.0f32)", "produces f");
    check("where(less(2i32, 1i32), f[], 2.0f32)", "2.0f32");
    check("where(b[], f[], f[])", "produces f");
}

#[test]
fn double_negation_and_casts() {
    check("neg(neg(f[]))", "produces f");
    check("not(not(b[]))", "produces b");
    check("not(not(i[]))", "produces i");
    check("abs(abs(f[]))", "abs(abs(f[]))");
    check("cast<f32>(f[])", "produces f");
    check("cast<f32>(cast<f64>(f[]))", "produces f");
    check("cast<i32>(cast<i64>(i[]))", "produces i");
    check("cast<i64>(cast<f64>(i[]))", "cast<i64>(i[])");
    check("cast<f32>(cast<i32>(b[]))", "cast<f32>(b[])");
    // These lose something.
    check("cast<f64>(cast<f32>(d[]))", "cast<f64>(cast<f32>(d[]))");
    check("cast<i32>(cast<f32>(i[]))", "cast<i32>(cast<f32>(i[]))");
    check("cast<f32>(cast<i32>(f[]))", "cast<f32>(cast<i32>(f[]))");
    check("cast<i32>(cast<bool>(i[]))", "cast<i32>(cast<bool>(i[]))");
}

const TYPES: [DType; 5] = [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64];

fn values(dtype: DType) -> Vec<Scalar> {
    let numbers =
        [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.7, -2.5e9, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut all: Vec<Scalar> = numbers.iter().map(|&x| Scalar::F64(x).cast(dtype)).collect();
    all.extend([Scalar::lowest(dtype), Scalar::greatest(dtype)].into_iter().flatten());
    all.dedup();
    all
}

/// The value of an expression whose numbers have these values.
fn evaluate(arena: &ExprArena, root: ExprId, numbers: &[Scalar]) -> Scalar {
    let mut done: Vec<Option<Scalar>> = vec![None; arena.len()];
    for id in arena.reachable(&[root]) {
        done[id.index()] = Some(match arena.node(id) {
            Expr::Const(c) => *c,
            Expr::Number(n) => numbers[*n as usize],
            Expr::Map { op, args } => {
                let args: Vec<Scalar> = args.iter().map(|arg| done[arg.index()].unwrap()).collect();
                expand(&mut Evaluator, *op, &args)
            }
            node @ (Expr::Size(_) | Expr::Read { .. } | Expr::Reduce { .. } | Expr::Call { .. }) => {
                panic!("{node:?}")
            }
        });
    }
    done[root.index()].unwrap()
}

/// `node` and what it becomes have the same bits for all values of number 0.
fn check_node(arena: &mut ExprArena, op: Op, args: &[ExprId], of: DType) {
    let args = SmallVec::from_slice(args);
    let dtypes: Vec<DType> = args.iter().map(|&arg| arena.dtype(arg)).collect();
    let (_, dtype) = op.dtypes(&dtypes).unwrap();
    let plain = arena.map(op, args.clone());
    let simple = simplify_node(arena, Expr::Map { op, args }, dtype);
    assert_eq!(arena.dtype(simple), dtype);
    for x in values(of) {
        let (a, b) = (evaluate(arena, plain, &[x]), evaluate(arena, simple, &[x]));
        let both_nan = a.to_f64().is_nan() && b.to_f64().is_nan();
        assert!(
            a == b || both_nan,
            "{:?} at {x} is {a}, but {b} as {:?}",
            arena.node(plain),
            arena.node(simple)
        );
    }
}

#[test]
fn every_operator_with_a_constant_or_itself() {
    for info in TABLE.iter().filter(|info| info.arity == 2) {
        for dtype in TYPES {
            if info.op.dtypes(&[dtype, dtype]).is_none_or(|(work, _)| work != dtype) {
                continue;
            }
            let mut arena = ExprArena::new();
            let x = arena.intern(Expr::Number(0), dtype);
            check_node(&mut arena, info.op, &[x, x], dtype);
            for c in values(dtype) {
                let c = arena.constant(c);
                check_node(&mut arena, info.op, &[x, c], dtype);
                check_node(&mut arena, info.op, &[c, x], dtype);
            }
        }
    }
}

#[test]
fn every_pair_of_unary_operators_and_casts() {
    let casts = TYPES.map(Op::Cast);
    let unary: Vec<Op> =
        TABLE.iter().filter(|info| info.arity == 1).map(|info| info.op).chain(casts).collect();
    for from in TYPES {
        for &inner in &unary {
            for &outer in &unary {
                let mut arena = ExprArena::new();
                let x = arena.intern(Expr::Number(0), from);
                if inner.dtypes(&[from]).is_none_or(|(work, _)| work != from) {
                    continue;
                }
                let y = arena.map(inner, SmallVec::from_slice(&[x]));
                let middle = arena.dtype(y);
                if outer.dtypes(&[middle]).is_some_and(|(work, _)| work == middle) {
                    check_node(&mut arena, outer, &[y], from);
                }
            }
        }
    }
}

#[test]
fn choices() {
    for dtype in TYPES {
        let mut arena = ExprArena::new();
        let x = arena.intern(Expr::Number(0), dtype);
        let one = arena.constant(Scalar::one(dtype));
        for c in [true, false] {
            let c = arena.constant(Scalar::Bool(c));
            check_node(&mut arena, Op::Where, &[c, x, one], dtype);
            check_node(&mut arena, Op::Where, &[c, one, x], dtype);
        }
        let c = arena.cast(x, DType::Bool);
        check_node(&mut arena, Op::Where, &[c, x, x], dtype);
    }
}
