//! Factorisations on every engine: equal bits, and products of factors that give the matrix back.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use tensorjit::{DType, LazyTensor, Tensor, compute, defer, einop, explain, input};
use tj_ir::linalg::{
    Factors, MatrixNorm, Triangle, cholesky, det, eigh, eigvalsh, inv, matrix_norm, matrix_power,
    matrix_rank, pinv, qr, slogdet, solve, svd, svdvals, vector_norm,
};
use tj_ir::{Dim, constant};
use tj_tests::engines::{Call, all_outcomes, everywhere};

/// Well-conditioned numbers.
fn numbers(shape: &[usize]) -> Tensor {
    let value = |i: usize| ((i * i * 7 + i * 3) % 23) as f64 / 4.0 - 2.5;
    Tensor::from_shape_vec(shape, (0..shape.iter().product()).map(value).collect()).unwrap()
}

fn batch(rows: i64, columns: i64) -> LazyTensor {
    input("a", DType::F64, [Dim::new("B", ..).unwrap(), rows.into(), columns.into()]).unwrap()
}

fn symmetric(a: &LazyTensor) -> LazyTensor {
    a.matmul(&a.permute(&[0, 2, 1]))
}

/// How far two tensors are from each other at most.
fn distance(a: &LazyTensor, b: &LazyTensor) -> LazyTensor {
    (a - b).abs().max(())
}

fn identity(n: usize) -> LazyTensor {
    let values = (0..n * n).map(|i| if i / n == i % n { 1.0 } else { 0.0 }).collect();
    constant(&Tensor::from_shape_vec([n, n], values).unwrap())
}

/// Everything is near zero, in the same bits on every engine.
#[track_caller]
fn vanish(outputs: &[LazyTensor], a: &Tensor) {
    for (position, output) in everywhere(outputs, &[("a", a)]).iter().enumerate() {
        for error in output.to_vec::<f64>().unwrap() {
            assert!(error.abs() < 1e-9, "output {position}: {error}");
        }
    }
}

#[test]
fn factors_multiply_to_the_matrix() {
    let a = batch(5, 3);
    for factors in [Factors::Reduced, Factors::Complete] {
        let (q, r) = qr(&a, factors);
        let (u, s, vh) = svd(&a, factors);
        let columns =
            if factors == Factors::Complete { u.index([tj_ir::At::Ellipsis, tj_ir::at(0, 3, 1)]) } else { u };
        let product = (columns * s.expand_dims(1)).matmul(&vh);
        vanish(
            &[distance(&q.matmul(&r), &a), distance(&product, &a), distance(&s, &svdvals(&a))],
            &numbers(&[4, 5, 3]),
        );
    }
    let (square, a) = (symmetric(&batch(3, 4)), numbers(&[6, 3, 4]));
    let (w, v) = eigh(&square);
    let product = (&v * w.expand_dims(1)).matmul(&v.permute(&[0, 2, 1]));
    let (low, up) = (cholesky(&square, Triangle::Lower), cholesky(&square, Triangle::Upper));
    vanish(
        &[
            distance(&product, &square),
            distance(&w, &eigvalsh(&square)),
            distance(&low.matmul(&low.permute(&[0, 2, 1])), &square),
            distance(&low.permute(&[0, 2, 1]), &up),
        ],
        &a,
    );
}

#[test]
fn inverses_and_determinants() {
    let square = symmetric(&batch(3, 4));
    let b = constant(&numbers(&[3, 2]));
    let (sign, logarithm) = slogdet(&square);
    let vector = constant(&numbers(&[3]));
    let inverse = inv(&square);
    vanish(
        &[
            distance(&inverse.matmul(&square), &identity(3)),
            distance(&square.matmul(&solve(&square, &b)), &b),
            distance(&square.matmul(&solve(&square, &vector).expand_dims(-1)), &vector.expand_dims(-1)),
            distance(&(&sign * logarithm.exp() / det(&square)), &identity(1)),
            distance(&pinv(&square, None), &inverse),
            distance(&matrix_power(&square, 0), &identity(3)),
            distance(&matrix_power(&square, -2).matmul(&matrix_power(&square, 3)), &square)
                / matrix_norm(&square, MatrixNorm::Two).max(()),
        ],
        &numbers(&[5, 3, 4]),
    );
}

#[test]
fn ranks_and_norms() {
    let a = batch(2, 2);
    let values =
        Tensor::from_shape_vec([3, 2, 2], vec![3.0, 0.0, 0.0, -4.0, 1.0, 2.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0])
            .unwrap();
    let norm = |norm| matrix_norm(&a, norm);
    let outputs = [
        matrix_rank(&a, None).cast(DType::F64),
        norm(MatrixNorm::Frobenius),
        norm(MatrixNorm::Nuclear),
        norm(MatrixNorm::One),
        norm(MatrixNorm::MinusInfinity),
        norm(MatrixNorm::Two),
        vector_norm(&a, [1, 2], 2.0),
        vector_norm(&a, [1, 2], 0.0),
        vector_norm(&a, 1, f64::INFINITY).sum(1),
    ];
    let expected: [[f64; 3]; 9] = [
        [2.0, 1.0, 0.0],
        [5.0, 5.0, 0.0],
        [7.0, 5.0, 0.0],
        [4.0, 6.0, 0.0],
        [3.0, 3.0, 0.0],
        [4.0, 5.0, 0.0],
        [5.0, 5.0, 0.0],
        [2.0, 4.0, 0.0],
        [7.0, 6.0, 0.0],
    ];
    for (position, (found, expected)) in
        everywhere(&outputs, &[("a", &values)]).iter().zip(expected).enumerate()
    {
        for (found, expected) in found.to_vec::<f64>().unwrap().into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "output {position}: {found}, not {expected}");
        }
    }
}

#[test]
fn what_has_no_inverse_is_named() {
    let a = batch(2, 2);
    let y = inv(&(&a * 2.0)).sum(());
    let values =
        Tensor::from_shape_vec([3, 2, 2], vec![1.0, 2.0, 3.0, 4.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let (singular, regular) = (values.unwrap(), numbers(&[2, 2, 2]));
    let calls = [&singular, &regular].map(|a| Call { bindings: Vec::new(), inputs: vec![("a", a)] });
    let outcomes = all_outcomes(&[y], &[], &calls);
    let error = outcomes[0].as_ref().unwrap_err();
    assert!(
        error.starts_with("inv: ") && error.contains("row 1 is singular") && error.contains("linalg.rs:"),
        "{error}"
    );
    assert!(outcomes[1].is_ok());
}

/// A product of matrices is a call of the library, whichever factor stands first.
#[test]
fn products_in_either_order_are_calls_of_the_library() {
    let a = Tensor::from_shape_vec([2, 3], (0..6).map(f64::from).collect()).unwrap();
    let b = Tensor::from_shape_vec([3, 4], (0..12).map(f64::from).collect()).unwrap();
    for text in ["C[i,j] += A[i,k] * B[k,j]", "C[i,j] += B[k,j] * A[i,k]"] {
        let product = einop(text, &[("A", &defer(&a)), ("B", &defer(&b))]);
        let kernels = explain(&product).unwrap().kernels;
        assert!(kernels.iter().any(|(_, kernel)| kernel.contains("gemm")), "{text}: {kernels:?}");
        let expected = [20.0, 23.0, 26.0, 29.0, 56.0, 68.0, 80.0, 92.0];
        assert_eq!(compute(product).unwrap().to_vec::<f64>().unwrap(), expected, "{text}");
    }
}
