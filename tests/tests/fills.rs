//! Fills and what they decide, on every engine: whatever is stored, and whatever the other arguments hold.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    Duplicates, Format, GalleyScheduler, InterpretKernel, InterpretPlan, LazyTensor, Reassociate, Scalar,
    Tensor, Unfused, compute, compute_as, compute_with, defer, maximum, minimum, where_, with_scheduler,
};
use tj_tests::chaos;
use tj_tests::engines::{engines, oracle};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A matrix of 2 x 2 with a fill, in some format; also a strided one, which is told its fill.
fn stored(values: [f64; 4], fill: f64, format: &str) -> Tensor {
    let dense = Tensor::from_shape_vec([2, 2], values.to_vec()).unwrap();
    let dense = dense.with_fill(Some(Scalar::from(fill))).unwrap();
    if format == "strided" { dense } else { dense.with_format(&format.parse().unwrap()).unwrap() }
}

fn dense(values: [f64; 4]) -> LazyTensor {
    defer(Tensor::from_shape_vec([2, 2], values.to_vec()).unwrap())
}

/// What a program gives for every format of its sparse arguments, on every engine: values, and the fill.
#[track_caller]
fn check(
    program: impl Fn(&dyn Fn([f64; 4], f64) -> LazyTensor) -> LazyTensor,
    want: &[f64],
    fill: Option<f64>,
) {
    for format in ["strided", "csr", "csc", "coo", "{d0: hash, d1: bytemap}", "bcsr(2, 2)"] {
        let lazy = program(&|values, fill| defer(stored(values, fill, format)));
        let run = || compute(&lazy).unwrap();
        let found = [
            run(),
            with_scheduler(Unfused, run),
            with_scheduler(InterpretPlan, run),
            with_scheduler(InterpretKernel, run),
        ];
        for result in found {
            let values = result.to_vec::<f64>().unwrap();
            let same = values.iter().zip(want).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
            assert!(same && values.len() == want.len(), "{format}: {values:?}, not {want:?}");
            let same_fill = match (result.fill().map(Scalar::to_f64), fill) {
                (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
                (a, b) => a == b,
            };
            assert!(same_fill, "{format}: {:?}, not {fill:?}", result.fill());
        }
    }
}

#[test]
fn a_fill_of_0_annihilates_products() {
    let other = || dense([NAN, INF, -INF, 5.0]);
    check(|s| s([0.0, 2.0, -0.0, 3.0], 0.0) * other(), &[0.0, INF, 0.0, 15.0], Some(0.0));
    check(|s| other() * s([0.0, 2.0, -0.0, 3.0], 0.0), &[0.0, INF, 0.0, 15.0], Some(0.0));
    check(|s| s([0.0, 2.0, 0.0, NAN], 0.0) * INF, &[0.0, INF, 0.0, NAN], Some(0.0));
    check(|s| s([0.0, 2.0, 0.0, 3.0], 0.0) / dense([0.0, 0.0, NAN, 2.0]), &[0.0, INF, 0.0, 1.5], Some(0.0));
    // Another fill, or none, is arithmetic.
    check(|s| s([0.0, 2.0, 1.0, 3.0], 1.0) * other(), &[NAN, INF, -INF, 15.0], None);
}

#[test]
fn products_of_matrices_annihilate_by_values() {
    // Whether a zero is stored does not matter.
    for zeros in [0.0, -0.0] {
        check(
            |s| s([NAN, 4.0, 5.0, 6.0], 0.0).matmul(&s([0.0, 0.0, zeros, 2.0], 0.0)),
            &[0.0, 8.0, 0.0, 12.0],
            Some(0.0),
        );
    }
    check(
        |s| s([0.0, 0.0, 2.0, 0.0], 0.0).matmul(&dense([INF, 1.0, NAN, 1.0])),
        &[0.0, 0.0, INF, 2.0],
        Some(0.0),
    );
}

/// A product of matrices by its definition: where the left factor is 0, nothing is added.
fn product(a: &[f64], x: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
    let element = |at: usize| {
        let terms = (0..inner).map(|k| (a[at / columns * inner + k], x[k * columns + at % columns]));
        terms.map(|(a, x)| if a == 0.0 { 0.0 } else { a * x }).sum()
    };
    (0..rows * columns).map(element).collect()
}

fn transposed(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..a.len()).map(|at| a[at % rows * columns + at / rows]).collect()
}

/// A matrix with few absent elements is where a scheduler would rather take a dense product, in which one infinite element
/// of the other factor would be NaN for each of them.
#[test]
fn matrices_that_are_nearly_full_annihilate_under_every_scheduler() {
    let [rows, inner, columns] = [6, 300, 5];
    let absent = |at: usize| (at / inner * 7 + at % inner).is_multiple_of(13);
    let a: Vec<f64> =
        (0..rows * inner).map(|at| if absent(at) { 0.0 } else { (at % 5) as f64 - 7.0 }).collect();
    let mut x: Vec<f64> = (0..inner * columns).map(|at| (at % 7) as f64 - 3.0).collect();
    let mut y: Vec<f64> = (0..rows * columns).map(|at| (at % 3) as f64 + 1.0).collect();
    (x[13 * columns + 2], y[columns + 1]) = (INF, INF);
    let right = product(&a, &x, [rows, inner, columns]);
    let left = product(&transposed(&a, rows, inner), &y, [inner, rows, columns]);
    // Elements of both kinds beside each other.
    let column = |values: &[f64], at: usize| values.iter().skip(at).step_by(columns).copied().collect();
    let found: [Vec<f64>; 2] = [column(&right, 2), column(&left, 1)];
    assert!(found.iter().all(|c| c.iter().any(|v| v.is_finite()) && c.iter().any(|v| v.is_infinite())));
    let want = [
        right.clone(),
        transposed(&right, rows, columns),
        right.iter().map(|v| v * 2.0 + 1.0).collect(),
        right.chunks(columns).map(|row| row.iter().sum()).collect(),
        found[0].clone(),
        left,
    ];
    let plain = |shape: &[usize], values: &[f64]| Tensor::from_shape_vec(shape, values.to_vec()).unwrap();
    let (x, y) = (defer(plain(&[inner, columns], &x)), defer(plain(&[rows, columns], &y)));
    let filled = plain(&[rows, inner], &a).with_fill(Some(Scalar::from(0.0))).unwrap();
    let every: Vec<u32> = (0..rows).flat_map(|_| 0..inner as u32).collect();
    let starts: Vec<u32> = (0..=rows).map(|row| (row * inner) as u32).collect();
    let zeros_are_stored = Tensor::csr([rows, inner], starts, every, a).unwrap();
    let mut matrices = vec![("strided", filled.clone()), ("csr with zeros", zeros_are_stored)];
    for format in ["csr", "csc", "bcsr(2, 2)"] {
        matrices.push((format, filled.with_format(&format.parse().unwrap()).unwrap()));
    }
    let mut all = engines();
    all.push(oracle());
    (0..3).for_each(|seed| all.extend(chaos::engines(seed)));
    for (format, matrix) in matrices {
        let a = defer(&matrix);
        let product = a.matmul(&x);
        let programs = vec![
            product.clone(),
            x.transpose().matmul(&a.transpose()),
            &product * 2.0 + 1.0,
            product.sum(1),
            a.matmul(&x.index([tensorjit::at(None, None, 1), tensorjit::At::Index(2)])),
            a.transpose().matmul(&y),
        ];
        for (name, options) in &all {
            let (results, _) = compute_as(programs.clone(), options).unwrap();
            for (at, (result, want)) in results.iter().zip(&want).enumerate() {
                assert_eq!(result.to_vec::<f64>().unwrap(), *want, "program {at}, {format}, {name}");
            }
        }
    }
}

#[test]
fn intermediates_annihilate_by_value() {
    // The sum of the first two is 0 in the first place, and that is its fill.
    let sum = |s: &dyn Fn([f64; 4], f64) -> LazyTensor| {
        s([1.0, 2.0, 0.0, 0.0], 0.0) + s([-1.0, 0.0, 0.0, 4.0], 0.0)
    };
    check(|s| sum(s) * dense([INF, INF, NAN, 1.0]), &[0.0, INF, 0.0, 4.0], Some(0.0));
    check(|s| (s([0.0, 1.0, 0.0, 1.0], 0.0) * NAN).exp(), &[1.0, NAN, 1.0, NAN], Some(1.0));
}

/// As for numbers that are part of a program.
#[test]
fn what_numbers_decide_annihilates_where_it_has_a_name() {
    let other = || dense([INF, NAN, -INF, 2.0]);
    let a = [0.0, 6.0, 0.0, -7.0];
    check(|s| minimum(s(a, 0.0), 2.5) * other(), &[0.0, NAN, 0.0, -14.0], Some(0.0));
    check(|s| (maximum(s(a, 0.0), 2.5) - 2.5) * other(), &[0.0, NAN, 0.0, 0.0], Some(0.0));
    check(|s| maximum(s(a, 0.0), 2.5) * other(), &[INF, NAN, -INF, 5.0], None);
    check(|s| where_(&s(a, 0.0).greater(-3.0), 1.0, other()), &[1.0, 1.0, 1.0, 2.0], Some(1.0));
    check(|s| where_(&s(a, 0.0).greater(4.0), other(), 3.5), &[3.5, NAN, 3.5, 3.5], Some(3.5));
    // Through numbers that have no name, and from fills that are no number.
    check(|s| where_(&(s(a, 0.0) + 2.5).less(3.5), 0.0, other()), &[0.0, NAN, 0.0, 0.0], Some(0.0));
    check(|s| minimum(s([INF, 3.0, INF, -INF], INF), -2.5).abs(), &[2.5, 2.5, 2.5, INF], Some(2.5));
    check(|s| s([NAN, 3.0, 5.0, NAN], NAN) + 2.5, &[NAN, 5.5, 7.5, NAN], Some(NAN));
}

#[test]
fn infinities_of_tropical_semirings_win() {
    let x = || dense([1.0, -INF, NAN, INF]);
    check(|s| s([INF, INF, INF, 2.0], INF) + x(), &[INF, INF, INF, INF], Some(INF));
    check(|s| x() + s([-INF, 1.0, -INF, -INF], -INF), &[-INF, -INF, -INF, -INF], Some(-INF));
    check(|s| maximum(s([INF, 1.0, INF, 1.0], INF), x()), &[INF, 1.0, INF, INF], Some(INF));
    check(|s| minimum(s([-INF, 1.0, -INF, 1.0], -INF), x()), &[-INF, -INF, -INF, 1.0], Some(-INF));
}

#[test]
fn fills_follow_operators_moves_and_reductions() {
    let some = [0.0, 2.0, 0.0, 3.0];
    check(|s| 1.0 - s(some, 0.0), &[1.0, -1.0, 1.0, -2.0], Some(1.0));
    check(|s| (1.0 - s(some, 0.0)).prod(0), &[1.0, 2.0], Some(1.0));
    check(|s| s(some, 0.0).sum(1), &[2.0, 3.0], Some(0.0));
    check(|s| s([NAN, 1.0, 2.0, 3.0], NAN).max(0), &[NAN, 3.0], Some(NAN));
    check(|s| s([7.0, 1.0, 7.0, 3.0], 7.0).transpose(), &[7.0, 7.0, 1.0, 3.0], Some(7.0));
    check(|s| s([7.0, 1.0, 7.0, 3.0], 7.0) * 2.0 + 1.0, &[15.0, 3.0, 15.0, 7.0], Some(15.0));
    check(|s| s(some, 0.0) + dense([1.0; 4]), &[1.0, 3.0, 1.0, 4.0], None);
    check(|s| s([2.0, 2.0, 2.0, 3.0], 2.0).sum(0), &[4.0, 5.0], None);
    check(|s| s([INF, 2.0, INF, 3.0], INF).sum(1), &[INF, INF], None);
    check(|s| s([NAN, 2.0, 1.0, 3.0], NAN).sum(1), &[NAN, 4.0], None);
}

#[test]
fn other_types() {
    let at = [Tensor::from(vec![1_i64])];
    let ints = defer(Tensor::coo([3], &at, vec![5_i64], Duplicates::Sum).unwrap());
    assert_eq!((&ints * 2).fill(), Some(Scalar::from(0_i64)));
    assert_eq!((&ints + 3).fill(), Some(Scalar::from(3_i64)));
    assert_eq!(ints.equal(0).fill(), Some(Scalar::from(true)));
    assert_eq!((&ints / 2).fill(), Some(Scalar::from(0.0)));
    let found = compute(&ints / defer(Tensor::from(vec![0_i64, 0, 2]))).unwrap();
    assert_eq!(found.to_vec::<f64>().unwrap(), [0.0, INF, 0.0]);
    let all = defer(Tensor::full([3], true).unwrap().with_fill(Some(Scalar::from(true))).unwrap());
    assert_eq!(all.any(()).fill(), Some(Scalar::from(true)));
    let single = Tensor::full([3], 0.0_f32).unwrap().with_fill(Some(Scalar::from(0.0_f32))).unwrap();
    let single = single.with_format(&Format::coo(1)).unwrap();
    let found = compute(defer(&single) * f32::INFINITY).unwrap();
    assert_eq!((found.to_vec::<f32>().unwrap(), found.fill()), (vec![0.0; 3], Some(Scalar::from(0.0_f32))));
}

/// What a stage keeps for a later one keeps its fill.
#[test]
fn stages_know_fills() {
    let s = defer(stored([1.0, 2.0, 0.0, 0.0], 0.0, "csr"));
    let sums = s.sum(0) * 0.0; // reduced, and so kept; 0 is its fill
    let picked = defer(Tensor::from(vec![INF, NAN, 1.0]))
        .masked(&(sums.sum(()) + defer(Tensor::from(vec![1.0, 1.0, 0.0]))).greater(0.0));
    let found = compute(&sums * picked).unwrap();
    assert_eq!(found.to_vec::<f64>().unwrap(), [0.0, 0.0]);
    // What numbers say of it, too, in the program of that stage.
    let limited = |at_most: f64| {
        let picked = defer(Tensor::from(vec![INF, NAN])).masked(&sums.less(at_most));
        compute(minimum(&sums, at_most) * picked).unwrap().to_vec::<f64>().unwrap()
    };
    assert_eq!(limited(0.5), [0.0, 0.0]);
}

/// What is told to have no fill is dense, and decides nothing, on every engine, whatever is stored.
#[test]
fn dense_values_of_stored_tensors() {
    let sparse = [0.0, 2.0, -0.0, 3.0];
    let other = || dense([INF, INF, 5.0, NAN]);
    check(|s| s(sparse, 0.0).to_dense(), &sparse, None);
    check(|s| (s(sparse, 0.0) * 2.0).to_dense(), &[0.0, 4.0, 0.0, 6.0], None);
    check(|s| (s(sparse, 0.0) * other()).to_dense(), &[0.0, INF, 0.0, NAN], None);
    check(|s| s(sparse, 0.0).to_dense() * other(), &[NAN, INF, 0.0, NAN], None);
    check(|s| s(sparse, 0.0).to_dense() * s([INF, 0.0, 1.0, 2.0], 0.0), &[NAN, 0.0, 0.0, 6.0], Some(0.0));
    check(|s| (s(sparse, 0.0).to_dense() * other()).sum(1), &[NAN, NAN], None);
    check(
        |s| s([0.0, 2.0, 0.0, 0.0], 0.0).to_dense().matmul(&dense([1.0, 1.0, INF, 1.0])),
        &[INF, 2.0, NAN, 0.0],
        None,
    );
    check(
        |s| s([0.0, 2.0, 0.0, 0.0], 0.0).matmul(&dense([1.0, 1.0, INF, 1.0])),
        &[INF, 2.0, 0.0, 0.0],
        Some(0.0),
    );
    // A fill that was dropped is 0 once the tensor is stored again.
    check(|s| s(sparse, 2.5).to_dense().with_format(&Format::csr()), &sparse, Some(0.0));
    check(|s| minimum(s(sparse, 2.5).to_dense(), 2.5), &[0.0, 2.0, 0.0, 2.5], None);
    // What rearranges products knows that it is not annihilated.
    for scheduler in [GalleyScheduler::new(Reassociate::Expand), GalleyScheduler::exact()] {
        let [a, b] = [[0.0, 2.0, 0.0, 3.0], [1.0, 0.0, 0.0, 2.0]].map(|of| defer(stored(of, 0.0, "csr")));
        let by = dense([INF, 1.0, 1.0, 1.0]);
        let sums = (
            (a.to_dense() * &by * 0.5).sum(0),
            (&a * &by * 0.5).sum(0),
            a.to_dense().matmul(&by).matmul(&b),
            a.matmul(&by).matmul(&b),
            (-a.to_dense() * &b * &by).sum(()),
        );
        let found = compute_with(sums, &scheduler).unwrap();
        let values = [found.0, found.1, found.2, found.3, found.4].map(|x| x.to_vec::<f64>().unwrap());
        let text = format!("{values:?}");
        assert_eq!(text, "[[NaN, 2.5], [0.0, 2.5], [NaN, 4.0, NaN, 6.0], [2.0, 4.0, 3.0, 6.0], [-6.0]]");
    }
    let places: Vec<i64> = (0..640).collect();
    let rows = Tensor::from(places.iter().map(|k| k / 10).collect::<Vec<i64>>());
    let columns = Tensor::from(places.iter().map(|k| (k / 10 + k % 10) % 64).collect::<Vec<i64>>());
    let a = Tensor::coo([64, 64], &[rows, columns], vec![2.0; 640], Duplicates::Refuse).unwrap();
    let mut values = vec![1.0; 64 * 512];
    values[5 * 512 + 3] = INF;
    let by = defer(Tensor::from_shape_vec([64, 512], values).unwrap());
    let vector = defer(Tensor::full([512], 1.0).unwrap());
    for a in [defer(&a).to_dense(), defer(&a)] {
        // Ten rows have an entry where the infinity is; to multiply by the vector first is cheaper.
        let product = a.matmul(&by).matmul(&vector);
        let scheduler = GalleyScheduler::new(Reassociate::Expand);
        let found = compute_with(product, &scheduler).unwrap().to_vec::<f64>().unwrap();
        let count = |of: fn(&f64) -> bool| found.iter().filter(|x| of(x)).count();
        let nan = if a.fill().is_none() { 54 } else { 0 };
        assert_eq!(
            [count(|x| x.is_nan()), count(|x| *x == INF), count(|x| *x == 10240.0)],
            [nan, 10, 54 - nan]
        );
    }
    let stored = defer(stored(sparse, 0.0, "csr"));
    for lazy in [stored.to_dense(), (&stored * 2.0).to_dense(), stored.transpose().to_dense()] {
        assert!(compute(lazy).unwrap().stored().is_none());
    }
}
