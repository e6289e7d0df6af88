//! What users read, and the small functions that they ask for.

use tensorjit::{DType, Error, Stage, Tensor, compute, defer, eager, einsum, explain, fuse};

use crate::{arange, equal, tensor};

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::full(shape, 0.0).unwrap()
}

#[track_caller]
fn says(result: Result<Tensor, Error>, words: &[&str]) {
    let text = result.unwrap_err().to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

/// I01: the rank error of `einsum` blames the comma instead of the operand.
#[test]
fn i01_einsum_names_the_operand() {
    let (a, b) = (zeros(&[3]), zeros(&[3, 3]));
    says(eager::einsum("k,k->k", [&a, &b]), &["operand 1", "k", "rank 2"]);
}

/// I04: errors of broadcasting and reshaping do not show the shapes, nor the line.
#[test]
fn i04_shapes_and_lines_are_shown() {
    let (a, b, c) = (zeros(&[2, 3]), zeros(&[4, 3]), arange(&[6]));
    let (d, e) = (zeros(&[4, 5]), &a);
    let shapes = ["[2, 3]", "[4, 3]", "2 is not 4", "errors.rs:"];
    says(eager::add(&a, &b), &shapes);
    says(compute(defer(&a) + defer(&b)), &shapes);
    says(fuse(|(x, y)| x + y, (&a, &b)), &shapes);
    let sizes = ["[6]", "[4, 2]", "6", "8", "errors.rs:"];
    says(eager::reshape(&c, [4_i64, 2]), &sizes);
    says(compute(defer(&c).reshape([4_i64, 2])), &sizes);
    says(fuse(|x| x.reshape([4_i64, 2]), &c), &sizes);
    let sides = ["[2, 3]", "[4, 5]", "3 is not 4", "errors.rs:"];
    says(eager::matmul(e, &d), &sides);
    says(fuse(|(x, y)| x.matmul(&y), (e, &d)), &sides);
}

/// I06: `einsum` cannot take a diagonal.
#[test]
fn i06_einsum_takes_diagonals() {
    let (m, t) = (tensor(&[2, 2], &[1_i64, 2, 3, 4]), arange(&[2, 2, 2]));
    let (x, y) = (defer(&m), defer(&t));
    let out = compute([einsum("ii->i", &[&x]), einsum("ii->", &[&x]), einsum("iij->j", &[&y])]).unwrap();
    equal(&out[0], &tensor(&[2], &[1_i64, 4]));
    equal(&out[1], &Tensor::scalar(5_i64));
    equal(&out[2], &tensor(&[2], &[6_i64, 8]));
}

/// I07: small functions that users keep asking for.
#[test]
fn i07_small_functions_are_there() {
    let x = tensor(&[3], &[-3.0, 0.5, 2.0]);
    let soft = fuse(|x| x.sign() * (x.abs() - 1).maximum(0), &x).unwrap();
    assert_eq!(soft.to_vec::<f64>().unwrap(), [-2.0, 0.0, 1.0]);
    let halves = tensor(&[4], &[0.5, 1.5, 2.5, -0.5]);
    equal(&eager::round(&halves).unwrap(), &tensor(&[4], &[0.0, 2.0, 2.0, -0.0]));
    let lowest = eager::clip(eager::trunc(eager::log1p(eager::expm1(&x).unwrap()).unwrap()).unwrap(), -2, 1);
    assert_eq!(lowest.unwrap().to_vec::<f64>().unwrap(), [-2.0, 0.0, 1.0]);
    let large = eager::hypot(&x, eager::copysign(4, &x).unwrap()).unwrap();
    assert_eq!(large.get(&[0]).unwrap().to_f64(), 5.0);
    let negative = eager::any(eager::logical_not(eager::signbit(&x).unwrap()).unwrap(), ()).unwrap();
    assert_eq!(negative.dtype(), DType::Bool);
}

/// I09: users cannot see what was fused, nor what was compiled again.
#[test]
fn i09_a_program_is_explained() {
    let x = defer(&zeros(&[2, 3]));
    let explained = explain((x.exp() + 1).sum(0)).unwrap();
    for stage in Stage::ALL {
        assert!(!explained.text(stage).is_empty(), "{}", stage.name());
    }
    assert!(explained.text(Stage::Plan).contains("exp"));
    assert!(explained.text(Stage::Fuse).contains("because q0: inlined"), "{explained}");
}
