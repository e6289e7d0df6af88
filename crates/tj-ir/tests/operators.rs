//! Operators between lazy tensors and literals, in the forms that a user writes without naming a type. That this file
//! compiles is half of the test.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tj_ir::trace::trace;
use tj_ir::{Dim, Expr, ExprId, LazyTensor, Trace, input};
use tj_tensor::DType;

fn tensor(dtype: DType) -> LazyTensor {
    input("x", dtype, [Dim::from(3)]).unwrap()
}

/// `sub(1.0f32, x)`: the operator and what it is applied to.
fn text(tensor: &LazyTensor) -> String {
    let trace = trace(&[], std::slice::from_ref(tensor)).unwrap();
    expr(&trace, trace.defs.last().unwrap().body)
}

fn expr(trace: &Trace, id: ExprId) -> String {
    match trace.arena.node(id) {
        Expr::Map { op, args } => {
            let args: Vec<String> = args.iter().map(|&arg| expr(trace, arg)).collect();
            format!("{}({})", op.name(), args.join(", "))
        }
        Expr::Const(value) => value.to_string(),
        Expr::Number(n) => trace.numbers[*n as usize].to_string(),
        Expr::Read { .. } => "x".to_string(),
        other @ (Expr::Size(_) | Expr::Reduce { .. } | Expr::Call { .. }) => format!("{other:?}"),
    }
}

#[test]
fn literals_on_either_side() {
    let x = tensor(DType::F32);
    let owned = || x.clone();
    let cases = [
        (1 - &x, "sub(1.0f32, x)"),
        (1 - owned(), "sub(1.0f32, x)"),
        (&x - 1, "sub(x, 1.0f32)"),
        (owned() - 1, "sub(x, 1.0f32)"),
        (2.5 * &x, "mul(2.5f32, x)"),
        (2.5 * owned(), "mul(2.5f32, x)"),
        (&x * 2.5, "mul(x, 2.5f32)"),
        (owned() * 2.5, "mul(x, 2.5f32)"),
        (1 + &x, "add(1.0f32, x)"),
        (&x + 1, "add(x, 1.0f32)"),
        (1 / &x, "div(1.0f32, x)"),
        (1.0 / owned(), "div(1.0f32, x)"),
        (&x / 2, "div(x, 2.0f32)"),
        (-1 * &x, "mul(-1.0f32, x)"),
        (&x - &x, "sub(x, x)"),
        (&x - owned(), "sub(x, x)"),
        (owned() - &x, "sub(x, x)"),
        (owned() - owned(), "sub(x, x)"),
        (-&x, "neg(x)"),
        (-owned(), "neg(x)"),
    ];
    for (result, expected) in cases {
        assert_eq!((text(&result).as_str(), result.dtype()), (expected, DType::F32));
    }
}

#[test]
fn literals_next_to_integers_and_truth_values() {
    let (x, mask) = (tensor(DType::I32), tensor(DType::Bool));
    let cases = [
        (7 % &x, "remainder(7i32, x)", DType::I32),
        (&x % 7, "remainder(x, 7i32)", DType::I32),
        (1 & &x, "and(1i32, x)", DType::I32),
        (&x | 1, "or(x, 1i32)", DType::I32),
        (1 ^ x.clone(), "xor(1i32, x)", DType::I32),
        (!&x, "not(x)", DType::I32),
        (0.5 * &x, "mul(0.5f64, x)", DType::F64),
        (1 / &x, "div(1.0f64, x)", DType::F64),
        (true & &mask, "and(true, x)", DType::Bool),
        (&mask ^ true, "xor(x, true)", DType::Bool),
        (!mask.clone(), "not(x)", DType::Bool),
    ];
    for (result, expected, dtype) in cases {
        assert_eq!((text(&result).as_str(), result.dtype()), (expected, dtype));
    }
}

/// The type of the result is known at once, so that methods may follow.
#[test]
fn operators_chain_into_methods() {
    let x = tensor(DType::F32);
    let rank = |tensor: &LazyTensor| tensor.rank();
    assert_eq!((1 - &x).sum(0).rank(), 0);
    assert_eq!((2.0 * &x + 1).exp().rank(), 1);
    assert_eq!((1 - 2 * &x / 3).max(()).rank(), 0);
    assert_eq!(rank(&(1 / (1 + (-&x).exp()))), 1);
    assert_eq!(x.maximum(1 - &x).rank(), 1);
}

#[test]
fn variables_on_the_left_are_converted_by_the_caller() {
    let x = tensor(DType::F32);
    let (n, a, m, b) = (7_i32, 0.1_f32, 7_i64, 0.1_f64);
    assert_eq!(text(&(i64::from(n) - &x)), text(&(m - &x)));
    assert_eq!(text(&(f64::from(a) * &x)), "mul(0.1f32, x)");
    assert_eq!(text(&(b * &x)), "mul(0.1f32, x)");
    assert_eq!(
        (text(&(&x - n)), text(&(&x * a))),
        ("sub(x, 7.0f32)".to_string(), "mul(x, 0.1f32)".to_string())
    );
}
