//! Kernels that walk what is stored, against the plan's interpreter on dense copies.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

use tensorjit::{
    Backend, DefaultScheduler, InterpretKernel, InterpretPlan, LazyTensor, Scheduler, Tensor, compute_with,
    defer,
};

/// Computes by every engine, and compares with the plan's interpreter, bit for bit.
fn check(what: &str, expression: &LazyTensor) -> Tensor {
    let right = compute_with(expression, &InterpretPlan).unwrap();
    let mut first = None;
    for (engine, got) in [
        ("kernel interpreter", compute_with(expression, &InterpretKernel)),
        ("cranelift", compute_with(expression, &DefaultScheduler.on(Backend::Cranelift))),
    ] {
        let got = got.unwrap_or_else(|error| panic!("{what} by {engine}: {error}"));
        let (a, b) = (right.to_dense().unwrap(), got.to_dense().unwrap());
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "{what} by {engine}");
        assert_eq!(right.fill(), got.fill(), "{what} by {engine}");
        first.get_or_insert(got);
    }
    first.unwrap()
}

fn csr() -> Tensor {
    Tensor::csr([4, 5], vec![0u32, 2, 2, 5, 6], vec![1u32, 3, 0, 1, 4, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        .unwrap()
}

fn other() -> Tensor {
    Tensor::csr([4, 5], vec![0u32, 1, 3, 5, 5], vec![3u32, 0, 4, 1, 2], vec![10.0, 20.0, 30.0, 40.0, 50.0])
        .unwrap()
}

fn dense(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_shape_vec(shape, (0..n).map(|i| (i % 7) as f64 - 3.0).collect::<Vec<_>>()).unwrap()
}

#[test]
fn one_step() {
    let (a, b) = (defer(&csr()), defer(&other()));
    let (x, y) = (defer(&dense(&[5])), defer(&dense(&[4, 5])));
    check("A x", &a.matmul(&x));
    check("sum of rows", &a.sum(1));
    check("sum of columns", &a.sum(0));
    check("sum", &a.sum(()));
    let doubled = check("2 A", &(&a * 2.0));
    assert_eq!((doubled.stored_count(), doubled.stored().is_some()), (6, true));
    let sum = check("A + B", &(&a + &b));
    assert_eq!((sum.stored().is_some(), sum.nnz().unwrap()), (true, 9));
    let product = check("A * B", &(&a * &b));
    assert_eq!((product.stored().is_some(), product.nnz().unwrap()), (true, 2));
    check("A * Y", &(&a * &y));
    check("A + Y", &(&a + &y));
    check("A * Y + B", &(&a * &y + &b));
    check("(A + B) * (A - B)", &((&a + &b) * (&a - &b)));
    check("A B'", &a.matmul(&b.transpose()));
    check("A' B", &a.transpose().matmul(&b));
    check("A X", &a.matmul(&defer(&dense(&[5, 3]))));
    check("X A", &defer(&dense(&[3, 4])).matmul(&a));
    check("A * (X Y)", &(&a * defer(&dense(&[4, 3])).matmul(&defer(&dense(&[3, 5])))));
    check("max of rows", &a.max(1));
    check("min of everything", &a.min(()));
    check("prod of rows", &(&a + 1.0).prod(1));
}
