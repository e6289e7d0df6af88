//! Functions of whole tensors: shapes, mistakes, and what is written down about sizes.

use super::*;
use crate::function::Combine;
use crate::linalg;
use crate::op::ReduceOp;

fn i(shape: &[i64]) -> LazyTensor {
    input("i", DType::I32, shape.iter().map(|&d| Dim::from(d))).unwrap()
}

#[test]
fn shapes() {
    let of = |dtype| input("y", dtype, [Dim::from(4)]).unwrap();
    let cases: Vec<(LazyTensor, &str)> = vec![
        (x(&[2, 3, 4]).sort(1, Order::Descending), "f32[2, 3, 4]"),
        (x(&[2, 3, 4]).argsort(0, Order::Ascending), "i64[2, 3, 4]"),
        (of(DType::Bool).cumulative_sum(0), "i64[4]"),
        (of(DType::U8).cumulative_prod(along(-1).include_initial()), "u64[5]"),
        (of(DType::I8).cumulative_max(0), "i8[4]"),
        (of(DType::F16).sort(0, Order::Ascending), "f16[4]"),
        (x(&[5]).take(&i(&[2, 3]), 0), "f32[2, 3]"),
        (x(&[5, 6, 7]).take(&i(&[]), 1), "f32[5, 7]"),
        (x(&[5, 6, 7]).take(&i(&[2, 3]), -1), "f32[5, 6, 2, 3]"),
        (x(&[5, 6]).take_along_axis(&i(&[3, 6]), 0), "f32[3, 6]"),
        (x(&[5, 1]).take_along_axis(&i(&[1, 6]), 1), "f32[5, 6]"),
        (x(&[5, 6]).scatter(&i(&[2, 2]), &x(&[6]), 0, Combine::Set), "f32[5, 6]"),
        (x(&[5, 6]).scatter_add(&i(&[2]), &x(&[5, 1]), 1), "f32[5, 6]"),
        (x(&[9]).searchsorted(&x(&[2, 3]), Side::Left), "i64[2, 3]"),
        (x(&[4, 9]).searchsorted(&x(&[4, 3]), Side::Right), "i64[4, 3]"),
        (linalg::det(&i(&[4, 2, 2])), "f64[4]"),
        (linalg::solve(&x(&[4, 2, 2]), &x(&[1, 2, 3])), "f32[4, 2, 3]"),
        (linalg::matrix_rank(&x(&[4, 2, 3]), None), "i64[4]"),
        (linalg::matrix_power(&x(&[2, 2]), -5), "f32[2, 2]"),
    ];
    for (tensor, want) in cases {
        assert!(format!("{tensor:?}").ends_with(&format!("{want})")), "{tensor:?} is not {want}");
    }
}

#[test]
fn mistakes() {
    let c = input("c", DType::C64, [Dim::from(2), Dim::from(2)]).unwrap();
    let sum = Combine::Reduce(ReduceOp::Sum);
    let cases: Vec<(LazyTensor, &str)> = vec![
        (x(&[2, 3]).sort(2, Order::Ascending), "sort: axis 2 is out of range for rank 2"),
        (c.sort(0, Order::Ascending), "sort is not defined on c64"),
        (x(&[2]).take(&x(&[2]), 0), "take is not defined on f32"),
        (
            x(&[2, 3]).take_along_axis(&i(&[2]), 0),
            "take_along_axis: needs indices with as many axes as the tensor, got rank 1",
        ),
        (
            x(&[2, 3]).take_along_axis(&i(&[2, 2]), 0),
            "take_along_axis: shapes [3] and [2] do not fit: 3 is not 2",
        ),
        (
            x(&[5]).scatter(&i(&[2]), &x(&[3]), 0, Combine::Set),
            "scatter: shapes [3] and [2] do not fit: 3 is not 2",
        ),
        (
            x(&[5]).scatter(&i(&[1]), &x(&[3]), 0, Combine::Set),
            "scatter: shapes [3] and [1] do not fit: 3 is not 1",
        ),
        (
            x(&[5, 4]).scatter_along_axis(&i(&[6, 2]), &x(&[]), 1, sum),
            "scatter_along_axis: shapes [5, 4] and [6, 2] do not fit: 5 is not 6",
        ),
        (x(&[]).searchsorted(&x(&[2]), Side::Left), "searchsorted: needs a vector to search in, got rank 0"),
        (linalg::inv(&x(&[3])), "inv: needs matrices, which have two axes, got rank 1"),
        (linalg::inv(&x(&[3, 2])), "inv: shapes [3, 2] and [3, 2] do not fit: 3 is not 2"),
        (c.scatter(&i(&[1]), &c, 0, Combine::Reduce(ReduceOp::Prod)), "scatter is not defined on c64"),
        (linalg::solve(&x(&[2, 2]), &x(&[3])), "solve: shapes [2, 2] and [3, 1] do not fit: 2 is not 3"),
        (linalg::vector_norm(&x(&[3]), 0, f64::NAN), "vector_norm: the order is no number"),
    ];
    for (tensor, want) in cases {
        let error = tensor.sum(()).check().unwrap_err();
        assert_eq!(error.cause.to_string(), want);
        assert!(error.location.file().ends_with("calls.rs"), "{error}");
    }
}

#[test]
fn sizes_that_may_differ_are_guarded() {
    let [n, m] = ["N", "M"].map(|name| Dim::new(name, ..).unwrap());
    let x = input("x", DType::F32, [n.clone(), m.clone()]).unwrap();
    let at = input("at", DType::I64, [m, n]).unwrap();
    let guards = |outputs: &[LazyTensor]| -> Vec<String> {
        trace(&[], outputs).unwrap().guards.iter().map(|guard| guard.condition.to_string()).collect()
    };
    assert_eq!(guards(&[x.take_along_axis(&at, 1)]), ["N == M"]);
    let (w, v) = linalg::eigh(&x);
    assert_eq!(guards(&[w, v]), ["N == M"]);
    assert_eq!(guards(&[x.sort(0, Order::Ascending), x.cumulative_sum(1)]), [""; 0]);
}

/// Results of one call share it, and what they are made of is dropped without recursion.
#[test]
fn calls_are_shared_and_dropped() {
    let (w, v) = linalg::eigh(&(x(&[4, 4]) + 1.0));
    let traced = trace(&[], &[&w + v.sum(0), w]).unwrap();
    assert_eq!(traced.defs.iter().filter(|def| &*def.word == "eigh").count(), 2);
    assert_eq!(traced.defs.iter().filter(|def| &*def.word == "add").count(), 2);
    let deep = (0..200_000).fold(x(&[4]), |x, _| x.sort(0, Order::Ascending));
    assert_eq!(trace(&[], &[deep]).unwrap().defs.len(), 200_000);
}
