//! `solve_triangular`.

use proptest::prelude::*;
use tj_library::sparse::{Diagonal, Triangle, solve_triangular};
use tj_tensor::{Complex, DType, Format, Tensor};

/// A square matrix of small integers without a 0 on its diagonal, an integer solution, and the products.
fn systems() -> impl Strategy<Value = (Tensor, Vec<i64>, usize)> {
    (0..6usize, 1..4usize).prop_flat_map(|(n, sides)| {
        let value = prop_oneof![2 => Just(0_i64), 1 => -3..4_i64];
        let matrix = (
            prop::collection::vec(value, n * n),
            prop::collection::vec(prop_oneof![Just(1_i64), Just(-2)], n),
        );
        let matrix = matrix.prop_map(move |(mut values, diagonal)| {
            diagonal.iter().enumerate().for_each(|(i, d)| values[i * n + i] = *d);
            Tensor::from_shape_vec([n, n], values).unwrap()
        });
        (matrix, prop::collection::vec(-4..5_i64, n * sides), Just(sides))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn solutions_are_found((matrix, x, sides) in systems(), format in prop::sample::select(&["csr", "csc", "coo(2)", "dense(2)"][..])) {
        let n = matrix.shape()[0];
        let a = matrix.to_vec::<i64>().unwrap();
        let stored = matrix.with_format(&format.parse::<Format>().unwrap()).unwrap();
        for triangle in [Triangle::Lower, Triangle::Upper] {
            for diagonal in [Diagonal::Stored, Diagonal::Unit] {
                let element = |i: usize, j: usize| match (diagonal, triangle) {
                    (Diagonal::Unit, _) if i == j => 1,
                    (_, Triangle::Lower) if j > i => 0,
                    (_, Triangle::Upper) if j < i => 0,
                    _ => a[i * n + j],
                };
                let product = |i: usize, s: usize| (0..n).map(|j| element(i, j) * x[j * sides + s]).sum::<i64>();
                let b: Vec<i64> = (0..n * sides).map(|at| product(at / sides, at % sides)).collect();
                let shape = if sides == 1 { vec![n] } else { vec![n, sides] };
                let b = Tensor::from_shape_vec(&shape, b).unwrap();
                // Small integers: nothing is rounded, but right-hand sides may be for bf16.
                for dtype in [DType::I64, DType::F32, DType::F64, DType::C64, DType::C128, DType::BF16] {
                    let (stored, b) = (stored.cast(dtype).unwrap(), b.cast(dtype).unwrap());
                    let found = solve_triangular(&stored, &b, triangle, diagonal).unwrap();
                    prop_assert_eq!(found.dtype(), if dtype == DType::I64 { DType::F64 } else { dtype });
                    prop_assert_eq!(found.shape(), &shape[..]);
                    if dtype != DType::BF16 {
                        prop_assert_eq!(found.cast(DType::I64).unwrap().to_vec::<i64>().unwrap(), &x[..]);
                    }
                }
            }
        }
    }
}

#[test]
fn complex_systems() {
    let i = Complex::new(0.0, 1.0);
    let a = Tensor::from_shape_vec([2, 2], vec![i, 0.0.into(), 1.0.into(), 2.0.into()]).unwrap();
    let b = Tensor::from(vec![i * i, i]);
    let x = solve_triangular(&a, &b, Triangle::Lower, Diagonal::Stored).unwrap();
    assert_eq!(x.to_vec::<Complex<f64>>().unwrap(), [i, 0.0.into()]);
}

#[test]
fn what_has_no_solution_is_named() {
    let solve =
        |a: &Tensor, triangle, diagonal| solve_triangular(a, &Tensor::from(vec![1.0; 3]), triangle, diagonal);
    let a = Tensor::from_shape_vec([3, 3], vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -0.0]).unwrap();
    let message = |triangle| solve(&a, triangle, Diagonal::Stored).unwrap_err().to_string();
    assert_eq!(message(Triangle::Lower), "solve_triangular: the diagonal element of row 1 is 0");
    assert_eq!(message(Triangle::Upper), "solve_triangular: the diagonal element of row 2 is 0");
    assert_eq!(solve(&a, Triangle::Lower, Diagonal::Unit).unwrap().to_vec::<f64>().unwrap(), [1.0, 1.0, 0.0]);
    let ones = a.clone().with_fill(Some(1.0.into())).unwrap();
    let error = solve(&ones, Triangle::Lower, Diagonal::Unit).unwrap_err().to_string();
    assert_eq!(error, "solve_triangular: the fill is 1.0f64, and only one of 0 leaves anything unwritten");
    let wide = Tensor::zeros(DType::F64, [3, 4]).unwrap();
    let error = solve(&wide, Triangle::Lower, Diagonal::Unit).unwrap_err().to_string();
    assert_eq!(error, "solve_triangular: a matrix of shape [3, 4] for [3]");
}
