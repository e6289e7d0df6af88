//! `solve` and `factorise`.
//!
//! Bounds. A factorisation that is stable has, for each right-hand side, a residual of a few times epsilon times the norm of the
//! matrix and that of the solution; the error of the solution is that times the condition. Both are asserted with a factor of n.

use proptest::prelude::*;
use tj_ir::{Field, Function};
use tj_library::sparse::{
    Combine, Diagonal, Method, Triangle, diag, eye, factorise, kron, random, solve, solve_triangular, tril,
    union,
};
use tj_library::{Array, ArrayMut, run};
use tj_tensor::{Complex, DType, Duplicates, Format, Tensor};

type C = Complex<f64>;

fn c128s(x: &Tensor) -> Vec<C> {
    x.cast(DType::C128).unwrap().to_vec().unwrap()
}

fn greatest<'a>(x: impl IntoIterator<Item = &'a C>) -> f64 {
    x.into_iter().map(|x| x.norm()).fold(0.0, f64::max)
}

/// The greatest element of `b - a x`, as a multiple of n, epsilon, the norm of `a` and the greatest element of `x`.
#[track_caller]
fn residual(a: &Tensor, x: &Tensor, b: &Tensor) -> f64 {
    let n = a.shape()[0];
    let n_sides = b.shape().get(1).copied().unwrap_or(1);
    let (coordinates, values) = a.to_entries().unwrap();
    let (rows, columns) = (coordinates[0].to_vec::<i64>().unwrap(), coordinates[1].to_vec::<i64>().unwrap());
    let (values, x, mut rest) = (c128s(&values), c128s(x), c128s(b));
    assert!(x.iter().all(|x| x.is_finite()), "{x:?}");
    let mut norms = vec![0.0; n];
    for ((row, column), value) in rows.iter().zip(&columns).zip(values) {
        norms[*row as usize] += value.norm();
        for side in 0..n_sides {
            rest[*row as usize * n_sides + side] -= value * x[*column as usize * n_sides + side];
        }
    }
    let norm = norms.into_iter().fold(0.0, f64::max);
    greatest(&rest) / (f64::EPSILON * n.max(1) as f64 * norm * greatest(&x).max(f64::MIN_POSITIVE))
}

/// The solution by the dense factorisation of this crate.
fn dense_solution(a: &Tensor, b: &Tensor) -> Vec<f64> {
    let (n, n_sides) = (a.shape()[0], b.shape().get(1).copied().unwrap_or(1));
    let (a, b) = (a.cast(DType::F64).unwrap(), b.cast(DType::F64).unwrap());
    let mut x = vec![0.0; n * n_sides];
    let array = |shape, x| Array { dtype: DType::F64, shape, bytes: bytemuck::cast_slice(x) };
    run(
        Function::Solve { field: Field::Real },
        &[
            array(&[1, n, n], &a.to_vec::<f64>().unwrap()),
            array(&[1, n, n_sides], &b.to_vec::<f64>().unwrap()),
        ],
        &mut [ArrayMut {
            dtype: DType::F64,
            shape: &[1, n, n_sides],
            bytes: bytemuck::cast_slice_mut(&mut x),
        }],
        0..1,
    )
    .unwrap();
    x
}

/// The matrix of differences on a grid of `side` by `side` points.
fn poisson(side: usize) -> Tensor {
    let ones = |n: usize| Tensor::full([n], -1.0).unwrap();
    let two = diag(&Tensor::full([side], 2.0).unwrap(), 0).unwrap();
    let (above, below) = (diag(&ones(side - 1), 1).unwrap(), diag(&ones(side - 1), -1).unwrap());
    let line = union(&[&two, &above, &below], Combine::Sum).unwrap();
    let one = eye(side, side, 0, DType::F64).unwrap();
    union(&[&kron(&one, &line).unwrap(), &kron(&line, &one).unwrap()], Combine::Sum).unwrap()
}

fn vector(n: usize, f: impl Fn(usize) -> f64) -> Tensor {
    Tensor::from((0..n).map(f).collect::<Vec<f64>>())
}

/// Each entry with another row and another value.
fn mapped(a: &Tensor, f: impl Fn(usize, f64) -> (usize, f64)) -> Tensor {
    let (coordinates, values) = a.to_entries().unwrap();
    let (rows, values) = (coordinates[0].to_vec::<i64>().unwrap(), values.to_vec::<f64>().unwrap());
    let entries = rows.iter().zip(values).map(|(&row, value)| f(row as usize, value));
    let (rows, values): (Vec<i64>, Vec<f64>) = entries.map(|(row, value)| (row as i64, value)).unzip();
    let coordinates = [Tensor::from(rows), coordinates[1].clone()];
    Tensor::coo(a.shape(), &coordinates, Tensor::from(values), Duplicates::Refuse).unwrap()
}

/// A matrix of small integers whose rows, in some order, have more on the diagonal than beside it; and right-hand sides.
fn systems() -> impl Strategy<Value = (Tensor, Tensor)> {
    (0..9usize, 0..4usize, any::<bool>()).prop_flat_map(|(n, sides, is_vector)| {
        let value = prop_oneof![3 => Just(0_i64), 1 => -3..4_i64];
        let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        let shape = if is_vector { vec![n] } else { vec![n, sides] };
        let b = prop::collection::vec(-4..5_i64, shape.iter().product::<usize>());
        (prop::collection::vec(value, n * n), order, b).prop_map(move |(mut values, order, b)| {
            for (row, &column) in order.iter().enumerate() {
                let rest: i64 = values[row * n..][..n].iter().map(|x| x.abs()).sum();
                values[row * n + column] = rest + 1;
            }
            let a = Tensor::from_shape_vec([n, n], values).unwrap();
            (a, Tensor::from_shape_vec(&shape, b).unwrap())
        })
    })
}

const FORMATS: [&str; 7] = ["csr", "csc", "dcsr", "coo(2)", "dense(2)", "bcsr(2, 3)", "{d0: hash, d1: hash}"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn solutions_are_those_of_dense_matrices((a, b) in systems(), format in prop::sample::select(&FORMATS[..])) {
        let expected = dense_solution(&a, &b);
        let format = format.parse::<Format>().unwrap();
        for (dtype, result, epsilon) in [
            (DType::I64, DType::F64, f64::EPSILON),
            (DType::F64, DType::F64, f64::EPSILON),
            (DType::F32, DType::F32, f64::from(f32::EPSILON)),
            (DType::BF16, DType::BF16, 1.0 / 128.0),
            (DType::C64, DType::C64, f64::from(f32::EPSILON)),
            (DType::C128, DType::C128, f64::EPSILON),
        ] {
            let a = a.cast(dtype).unwrap().with_format(&format).unwrap();
            for b in [b.cast(dtype).unwrap(), b.cast(dtype).unwrap().with_format(&Format::coo(b.rank())).unwrap()] {
                let x = solve(&a, &b).unwrap();
                prop_assert_eq!((x.dtype(), x.shape(), x.stored().is_some()), (result, b.shape(), false));
                for (x, expected) in c128s(&x).iter().zip(&expected) {
                    // The condition is below 100: a diagonal is at least 1 more than the rest, and at most 25.
                    prop_assert!((x - expected).norm() <= 100.0 * epsilon * greatest(&c128s(&b)).max(1.0), "{} {}", x, expected);
                }
            }
        }
    }

    #[test]
    fn many_rows_that_are_moved_and_scaled(key in 0..1000u64, shift in 0..200usize) {
        let n = 200;
        let off = random(&[n, n], 0.02, key, DType::F64).unwrap();
        let a = union(&[&off, &diag(&Tensor::full([n], 30.0).unwrap(), 0).unwrap()], Combine::Sum).unwrap();
        let element = |i: usize| (i % 7) as f64 - 3.0;
        let b = vector(n, element);
        let x = solve(&a, &b).unwrap();
        prop_assert!(residual(&a, &x, &b) < 1.0);
        // By powers of 8 nearly as far apart as numbers reach: they are scaled back, exactly.
        let scale = |row: usize| 8f64.powi((row * 7 % 600) as i32 - 300);
        let scaled = mapped(&a, |row, value| (row, value * scale(row)));
        prop_assert!(solve(&scaled, &vector(n, |i| element(i) * scale(i))).unwrap().bit_eq(&x));
        let moved = mapped(&a, |row, value| ((row + shift) % n, value));
        let b = vector(n, |i| element((i + n - shift) % n));
        prop_assert!(residual(&moved, &solve(&moved, &b).unwrap(), &b) < 1.0);
    }
}

#[test]
fn a_grid_by_both_methods() {
    // The condition is 178; 900 rows are enough for dense blocks in the Cholesky factor.
    for side in [1, 2, 20, 30] {
        let a = poisson(side);
        let expected = Tensor::from_shape_vec(
            [side * side, 2],
            (0..2 * side * side).map(|i| (i % 5) as f64).collect::<Vec<_>>(),
        )
        .unwrap();
        let b = product(&a, &expected);
        for method in [Method::Lu, Method::Cholesky] {
            let solver = factorise(&a, method).unwrap();
            assert_eq!((solver.size(), solver.method()), (side * side, method));
            let x = solver.solve(&b).unwrap();
            assert!(residual(&a, &x, &b) < 1.0, "{side} {method:?}");
            let error =
                c128s(&x).iter().zip(c128s(&expected)).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max);
            assert!(error < 1e-12, "{side} {method:?}: {error}");
            assert!(solver.solve(&b).unwrap().bit_eq(&x));
        }
    }
}

fn product(a: &Tensor, x: &Tensor) -> Tensor {
    let n_sides = x.shape()[1];
    let (coordinates, values) = a.to_entries().unwrap();
    let (rows, columns) = (coordinates[0].to_vec::<i64>().unwrap(), coordinates[1].to_vec::<i64>().unwrap());
    let (values, x) = (values.to_vec::<f64>().unwrap(), x.to_vec::<f64>().unwrap());
    let mut b = vec![0.0; a.shape()[0] * n_sides];
    for ((row, column), value) in rows.iter().zip(&columns).zip(values) {
        for side in 0..n_sides {
            b[*row as usize * n_sides + side] += value * x[*column as usize * n_sides + side];
        }
    }
    Tensor::from_shape_vec([a.shape()[0], n_sides], b).unwrap()
}

#[test]
fn dense_blocks() {
    let n = 120;
    let value = |row: usize, column: usize| {
        ((row * 31 + column * 17) % 23) as f64 - 11.0 + if row == column { 300.0 } else { 0.0 }
    };
    let dense = |f: &dyn Fn(usize, usize) -> f64| {
        Tensor::from_shape_vec([n, n], (0..n * n).map(|i| f(i / n, i % n)).collect::<Vec<_>>()).unwrap()
    };
    let b = vector(n, |i| i as f64);
    let a = dense(&value);
    assert!(residual(&a, &solve(&a, &b).unwrap(), &b) < 1.0);
    let symmetric = dense(&|row, column| value(row, column) + value(column, row));
    let x = factorise(&symmetric, Method::Cholesky).unwrap().solve(&b).unwrap();
    assert!(residual(&symmetric, &x, &b) < 1.0);
    let singular = dense(&|row, column| value(if row == 77 { 5 } else { row }, column));
    // Nothing is left of a column but rounding errors.
    let message = solve(&singular, &b).unwrap_err().to_string();
    assert!(message.ends_with("is a combination of others, up to rounding"), "{message}");
}

#[test]
fn solutions_that_are_large_and_right() {
    let n = 100;
    let (one, above) = (Tensor::full([n], 1.0).unwrap(), Tensor::full([n - 1], -2.0).unwrap());
    let a = union(&[&diag(&one, 0).unwrap(), &diag(&above, 1).unwrap()], Combine::Sum).unwrap();
    let x = solve(&a, &vector(n, |row| if row == n - 1 { 1.0 } else { 0.0 })).unwrap();
    assert_eq!(x.get(&[0]).unwrap().to_f64(), 2f64.powi(n as i32 - 1));
}

#[test]
fn a_permuted_triangle() {
    let n = 40;
    let off = random(&[n, n], 0.1, 3, DType::F64).unwrap();
    let a = union(
        &[&tril(&off, -1).unwrap(), &diag(&vector(n, |i| 2.0 + (i % 3) as f64), 0).unwrap()],
        Combine::Sum,
    )
    .unwrap();
    let moved = mapped(&a, |row, value| (row * 7 % n, value));
    let b = vector(n, |i| i as f64);
    let x = solve(&moved, &b).unwrap();
    assert!(residual(&moved, &x, &b) < 1.0);
    let straight =
        solve_triangular(&a, &vector(n, |i| (i * 7 % n) as f64), Triangle::Lower, Diagonal::Stored).unwrap();
    for (x, y) in c128s(&x).iter().zip(c128s(&straight)) {
        assert!((x - y).norm() < 1e-12 * (1.0 + y.norm()), "{x} {y}");
    }
}

#[test]
fn entries_in_any_state() {
    // [[0, 2], [4, 1]]
    let coo = |rows: Vec<i64>, columns: Vec<i64>, values: Vec<f64>| {
        Tensor::coo(
            [2, 2],
            &[Tensor::from(rows), Tensor::from(columns)],
            Tensor::from(values),
            Duplicates::Sum,
        )
        .unwrap()
    };
    let explicit = Tensor::csr([2, 2], vec![0, 2, 4], vec![0, 1, 0, 1], vec![0.0, 2.0, 4.0, 1.0]).unwrap();
    let unsorted = Format::csr();
    assert_eq!(explicit.format().to_string(), unsorted.to_string());
    for a in [explicit, coo(vec![1, 0, 1, 1], vec![1, 1, 0, 1], vec![0.5, 2.0, 4.0, 0.5])] {
        assert_eq!(solve(&a, &Tensor::from(vec![6.0, 11.0])).unwrap().to_vec::<f64>().unwrap(), [2.0, 3.0]);
    }
}

#[test]
fn complex_sides_and_matrices() {
    let i = C::new(0.0, 1.0);
    let real = Tensor::from_shape_vec([2, 2], vec![0.0, 2.0, 4.0, 1.0]).unwrap();
    let x = solve(&real, &Tensor::from(vec![2.0 * i, 4.0 + i])).unwrap();
    assert_eq!(x.to_vec::<C>().unwrap(), [1.0.into(), i]);
    let hermitian = Tensor::from_shape_vec([2, 2], vec![2.0.into(), i, -i, 2.0.into()]).unwrap();
    let x = factorise(&hermitian, Method::Cholesky).unwrap().solve(&Tensor::from(vec![3.0, 0.0])).unwrap();
    for (x, expected) in c128s(&x).iter().zip([C::new(2.0, 0.0), i]) {
        assert!((x - expected).norm() < 1e-15, "{x} {expected}");
    }
}

#[test]
fn what_is_not_a_number_in_a_right_hand_side_stays_there() {
    let a = eye(3, 3, 0, DType::F64).unwrap();
    let x =
        solve(&a, &Tensor::from_shape_vec([3, 2], vec![1.0, f64::NAN, 2.0, 0.0, 3.0, 0.0]).unwrap()).unwrap();
    let x = x.to_vec::<f64>().unwrap();
    assert_eq!((x[0], x[2], x[4]), (1.0, 2.0, 3.0));
    assert!(x[1].is_nan());
}

#[test]
fn what_has_no_solution_is_named() {
    let matrix = |rows: usize, columns: usize, values: Vec<f64>| {
        Tensor::from_shape_vec([rows, columns], values).unwrap()
    };
    let ones = |n: usize| Tensor::from(vec![1.0; n]);
    let check =
        |a: &Tensor, b: &Tensor, expected: &str| assert_eq!(solve(a, b).unwrap_err().to_string(), expected);
    check(
        &matrix(2, 3, vec![1.0; 6]),
        &ones(2),
        "solve: a tensor of shape [2, 3], which is not a square matrix",
    );
    check(&ones(3), &ones(3), "solve: a tensor of shape [3], which is not a square matrix");
    let two = matrix(2, 2, vec![2.0, 1.0, 1.0, 2.0]);
    check(&two, &ones(3), "solve: a right-hand side of shape [3] for a matrix of shape [2, 2]");
    check(
        &two,
        &matrix(1, 2, vec![1.0; 2]),
        "solve: a right-hand side of shape [1, 2] for a matrix of shape [2, 2]",
    );
    let filled = two.clone().with_fill(Some(1.0.into())).unwrap();
    check(&filled, &ones(2), "solve: the fill is 1.0f64, and only one of 0 leaves anything unwritten");
    let zero = |message: &str| format!("solve: the matrix is singular: {message}");
    check(&matrix(1, 1, vec![0.0]), &ones(1), &zero("column 0 holds zeros only"));
    check(&matrix(2, 2, vec![1.0, 0.0, 1.0, 0.0]), &ones(2), &zero("column 1 holds zeros only"));
    check(&matrix(2, 2, vec![1.0, 1.0, 0.0, 0.0]), &ones(2), &zero("row 1 holds zeros only"));
    check(&matrix(2, 2, vec![1.0, 1.0, -0.0, 0.0]), &ones(2), &zero("row 1 holds zeros only"));
    // Whichever order columns are taken in, all three are needed.
    let dependent = matrix(3, 3, vec![1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 1.0, 1.0, 5.0]);
    let message = solve(&dependent, &ones(3)).unwrap_err().to_string();
    assert!(message.ends_with("is a combination of others, up to rounding"), "{message}");
    // Two columns that only one row meets.
    let structural = matrix(3, 3, vec![1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0]);
    let message = solve(&structural, &ones(3)).unwrap_err().to_string();
    assert!(message.ends_with("is a combination of others, up to rounding"), "{message}");
    let infinite = matrix(2, 2, vec![1.0, f64::INFINITY, 0.0, 1.0]);
    check(&infinite, &ones(2), "solve: the element at [0, 1] of the matrix is inf_f64");
    let large = Tensor::coo(
        [1 << 40, 1 << 40],
        &[Tensor::from(vec![0i64]), Tensor::from(vec![0i64])],
        Tensor::from(vec![1.0]),
        Duplicates::Refuse,
    )
    .unwrap();
    assert_eq!(
        factorise(&large, Method::Lu).unwrap_err().to_string(),
        "factorise: the matrix is singular: column 1 holds zeros only"
    );
}

#[test]
fn what_has_no_cholesky_factor_is_named() {
    let message = |n: usize, values: Vec<f64>| {
        let a = Tensor::from_shape_vec([n, n], values).unwrap();
        factorise(&a, Method::Cholesky).unwrap_err().to_string()
    };
    let indefinite =
        |column: usize| format!("factorise: the matrix is not positive definite, as column {column} shows");
    assert_eq!(message(1, vec![-1.0]), indefinite(0));
    assert_eq!(message(2, vec![1.0, 0.0, 0.0, 0.0]), indefinite(1));
    assert_eq!(message(2, vec![1.0, 1.0, 1.0, 0.0]), indefinite(1));
    let either = [indefinite(0), indefinite(1)];
    assert!(either.contains(&message(2, vec![1.0, 2.0, 2.0, 1.0])));
    assert!(either.contains(&message(2, vec![1.0, 1.0, 1.0, 1.0])));
    assert_eq!(
        message(2, vec![2.0, 1.0, 0.0, 2.0]),
        "factorise: the matrix is not symmetric: the element at [0, 1] is 1.0f64, and that at [1, 0] is 0.0f64"
    );
    let i = C::new(0.0, 1.0);
    let a = Tensor::from_shape_vec([2, 2], vec![2.0.into(), i, i, 2.0.into()]).unwrap();
    let message = factorise(&a, Method::Cholesky).unwrap_err().to_string();
    assert!(
        message.starts_with("factorise: the matrix is not Hermitian: the element at [1, 0] is "),
        "{message}"
    );
}

#[test]
fn systems_without_anything() {
    for method in [Method::Lu, Method::Cholesky] {
        for shape in [vec![0], vec![0, 2], vec![0, 0]] {
            let none = Tensor::zeros(DType::F32, [0, 0]).unwrap();
            let x =
                factorise(&none, method).unwrap().solve(&Tensor::zeros(DType::F32, &shape).unwrap()).unwrap();
            assert_eq!((x.shape(), x.dtype()), (&shape[..], DType::F32));
        }
        let one = Tensor::full([1, 1], 4.0).unwrap();
        let x = factorise(&one, method).unwrap().solve(&Tensor::from(vec![2.0])).unwrap();
        assert_eq!(x.to_vec::<f64>().unwrap(), [0.5]);
        let x = factorise(&one, method).unwrap().solve(&Tensor::zeros(DType::F64, [1, 0]).unwrap()).unwrap();
        assert_eq!(x.shape(), [1, 0]);
    }
}
