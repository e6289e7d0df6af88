//! Lazy arrays: `defer`, `compute`, `fuse`, and what they promise about results, errors and arguments.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    Cause, DefaultScheduler, Error, InterpretKernel, InterpretPlan, LazyTensor, Scheduler, Tensor, Unfused,
    at, axis, broadcast_arrays, compute, compute_reported, compute_with, defer, fuse, fuse_with, fused,
    fused_fn, input, with_scheduler,
};

mod reference;

use reference::{C, D, MEAN};

fn tensor(shape: &[usize], values: &[i64]) -> Tensor {
    Tensor::from_shape_vec(shape, values.to_vec()).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec::<f64>().unwrap()
}

/// The example that the reference documentation works through, in each of its spellings.
#[test]
fn the_worked_example_is_one_kernel() {
    let (c, d) = (tensor(&[10, 10], &C), tensor(&[10, 10], &D));
    let (mean, report) = compute_reported((defer(&c) + defer(&d)) / 2).unwrap();
    assert_eq!((values(&mean), mean.shape()), (MEAN.to_vec(), &[10, 10][..]));
    assert_eq!((report.kernels, report.temporary_bytes), (1, 0));
    let by_fuse = fuse(|(c, d)| (c + d) / 2, (&c, &d)).unwrap();
    assert_eq!(values(&by_fuse), MEAN);
    assert_eq!(values(&add_and_divide(&c, &d).unwrap()), MEAN);
    let by_macro = fused_fn!(|c, d| (c + d) / 2);
    assert_eq!(values(&by_macro((&c, &d)).unwrap()), MEAN);
}

#[fused]
fn add_and_divide(c: LazyTensor, d: LazyTensor) -> LazyTensor {
    (c + d) / 2
}

#[test]
fn every_scheduler_gives_the_same() {
    let (c, d) = (tensor(&[10, 10], &C), tensor(&[10, 10], &D));
    let mean = (defer(&c) + defer(&d)) / 2;
    let schedulers: [&dyn Scheduler; 4] = [&DefaultScheduler, &Unfused, &InterpretKernel, &InterpretPlan];
    for scheduler in schedulers {
        let name = scheduler.name();
        assert_eq!(values(&compute_with(&mean, scheduler).unwrap()), MEAN, "{name}");
        let fused = fuse_with(|(c, d)| (c + d) / 2, (&c, &d), scheduler).unwrap();
        assert_eq!(values(&fused), MEAN, "{name}");
    }
    let (_, report) = with_scheduler(Unfused, || compute_reported(&mean)).unwrap();
    assert_eq!(report.kernels, 3, "a sum, a conversion, a quotient");
}

#[test]
fn tuples_arrays_and_slices_are_one_program() {
    let a = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let x = defer(&a);
    let double = &x * 2;
    let ((sum, same, number), report) = compute_reported((double.sum(1), &a, 7.5)).unwrap();
    assert_eq!(sum.to_vec::<i64>().unwrap(), [12, 30]);
    assert!(same.shares_storage_with(&a), "what is not lazy passes through");
    assert_eq!((number, report.calls), (7.5, 1));
    let rows: [Tensor; 2] = compute([x.index([at(0, 1, 1)]), x.index([at(1, 2, 1)])]).unwrap();
    assert_eq!(rows[1].to_vec::<i64>().unwrap(), [4, 5, 6]);
    let many: Vec<LazyTensor> = (1..4).map(|k| x.sum(()) * k).collect();
    let totals = compute(&many).unwrap();
    let totals: Vec<i64> = totals.iter().map(|t| t.to_vec::<i64>().unwrap()[0]).collect();
    assert_eq!(totals, [21, 42, 63]);
    assert_eq!(compute(many.as_slice()).unwrap().len(), 3);
    let nested = compute(((&x, 1), [&double])).unwrap();
    assert_eq!(nested.1[0].to_vec::<i64>().unwrap(), [2, 4, 6, 8, 10, 12]);
    compute(()).unwrap();
}

/// A result never shares memory with an argument, nor with another result.
#[test]
fn results_are_owned() {
    let a = tensor(&[3], &[1, 2, 3]);
    let x = defer(&a);
    let (same, again) = compute((&x, &x)).unwrap();
    assert!(!same.shares_storage_with(&a) && !same.shares_storage_with(&again));
    assert_eq!(again.to_vec::<i64>().unwrap(), [1, 2, 3]);
}

#[test]
fn a_result_of_rank_zero_is_a_tensor() {
    let a = tensor(&[1, 1], &[7]);
    let x = defer(&a);
    let (sum, reshaped, squeezed, twice) =
        compute((x.sum(()), x.reshape(()), x.squeeze([0, 1]), x.sum(()) + x.sum(()))).unwrap();
    for (tensor, expected) in [(sum, 7), (reshaped, 7), (squeezed, 7), (twice, 14)] {
        assert_eq!((tensor.shape(), tensor.item::<i64>().unwrap()), (&[][..], expected));
    }
}

/// One axis of size 1 gives way, whichever it is, and sizes of 0 and 1 are sizes as others.
#[test]
fn broadcasting_follows_the_data() {
    let shapes: &[(&[usize], &[usize], &[usize])] = &[
        (&[2, 3], &[2, 3], &[2, 3]),
        (&[2, 3], &[1, 3], &[2, 3]),
        (&[1, 3], &[2, 1], &[2, 3]),
        (&[2, 1], &[3], &[2, 3]),
        (&[1, 1], &[1], &[1, 1]),
        (&[0, 3], &[1], &[0, 3]),
        (&[0, 1], &[1, 0], &[0, 0]),
        (&[3], &[], &[3]),
    ];
    for &(left, right, expected) in shapes {
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        let a = Tensor::from_shape_vec(left, (0..count(left)).map(|i| i as f64).collect()).unwrap();
        let b = Tensor::from_shape_vec(right, (0..count(right)).map(|i| 10.0 * i as f64).collect()).unwrap();
        let sum = (defer(&a) + defer(&b)) * 0.5;
        let compiled = compute(&sum).unwrap();
        assert_eq!(compiled.shape(), expected, "{left:?} and {right:?}");
        let interpreted = compute_with(&sum, &InterpretPlan).unwrap();
        assert_eq!(values(&compiled), values(&interpreted), "{left:?} and {right:?}");
        let at = |shape: &[usize], i: usize, j: usize| {
            let (rows, columns) = match *shape {
                [] => (1, 1),
                [n] => (1, n),
                [m, n, ..] => (m, n),
            };
            (if rows == 1 { 0 } else { i }) * columns + if columns == 1 { 0 } else { j }
        };
        let mut wanted = Vec::new();
        let (rows, columns) = if expected.len() < 2 { (1, expected[0]) } else { (expected[0], expected[1]) };
        for i in 0..rows {
            for j in 0..columns {
                wanted.push((at(left, i, j) as f64 + 10.0 * at(right, i, j) as f64) * 0.5);
            }
        }
        assert_eq!(values(&compiled), wanted, "{left:?} and {right:?}");
    }
}

#[test]
fn strided_data_is_data() {
    let a = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let turned = a.permute([1, 0]).unwrap();
    let r = compute(defer(&turned) * 10).unwrap();
    assert_eq!((r.shape(), r.to_vec::<i64>().unwrap()), (&[3, 2][..], vec![10, 40, 20, 50, 30, 60]));
}

/// What is wrong is said with the numbers of the data and the line of the operator.
#[test]
fn mistakes_name_sizes_and_the_line() {
    let a = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let x = defer(&a);
    let first = line!();
    let cases: Vec<(LazyTensor, &str)> = vec![
        (&x + x.transpose(), "add: shapes [2, 3] and [3, 2] do not fit: 2 is not 3"),
        (x.matmul(&x), "matmul: shapes [2, 3] and [2, 3] do not fit: 3 is not 2"),
        (x.reshape(&[Some(4.into()), None]), "reshape of 6 elements into groups of 4"),
        (x.reshape(&[Some(4.into()), Some(2.into())]), "reshape: [2, 3] has 6 elements, but [4, 2] has 8"),
        (x.squeeze([0]), "squeeze of axis 0: 2 == 1 does not hold"),
        (x.sum(2), "sum: axis 2 is out of range for rank 2"),
        (x.index([tensorjit::At::Index(2)]), "index: index 2 is out of range for axis 0 of size 2"),
        (
            x.broadcast_to(&[2.into(), 4.into()]),
            "broadcast_to: shapes [2, 3] and [2, 4] do not fit: 3 is not 4",
        ),
        (x.index([at(0, 0, 1)]).max(0), "max: it is undefined over axis 0 of size 0: 1 <= 0 does not hold"),
    ];
    let last = line!();
    for (broken, expected) in cases {
        let error = compute((&broken * 2).sum(axis(0))).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nis not\n{expected}");
        let place = broken.location();
        assert!(place.file().ends_with("defer/main.rs") && (first..last).contains(&place.line()), "{place}");
        assert!(error.contains(&place.to_string()), "{error} does not name {place}");
        assert_eq!(broken.check().unwrap_err().to_string(), error);
    }
    let unknown = input("w", x.dtype(), [3.into()]).unwrap();
    let error = compute(&x * &unknown).unwrap_err();
    let Error::Program(program) = &error else { panic!("{error}") };
    assert!(matches!(&*program.cause, Cause::NoData { name } if name == "w"), "{error}");
    // After all that the next one works.
    assert_eq!(compute(x.sum(())).unwrap().item::<i64>().unwrap(), 21);
}

/// Sizes that are 1 or equal now meet in what only moves, as in operators.
#[test]
fn what_is_repeated_meets_what_it_is_repeated_to() {
    let (row, column) = (tensor(&[1, 3], &[0, 1, 2]), tensor(&[2, 1], &[0, 1]));
    let other = tensor(&[2, 3], &[0, 1, 2, 3, 4, 5]);
    let all = compute(broadcast_arrays(&[defer(&row), defer(&column), defer(&other)])).unwrap();
    assert_eq!(all[0].to_vec::<i64>().unwrap(), [0, 1, 2, 0, 1, 2]);
    assert_eq!(all[1].to_vec::<i64>().unwrap(), [0, 0, 0, 1, 1, 1]);
    assert_eq!(all[2].to_vec::<i64>().unwrap(), [0, 1, 2, 3, 4, 5]);
    let (x, y) = (defer(&row), defer(&other));
    assert_eq!(compute(x.broadcast_to(y.shape())).unwrap().shape(), [2, 3]);
    // The same words on other sizes are other programs where the sizes meet in another way.
    let (x, y) = (defer(&other), defer(&other));
    assert_eq!(compute(x.broadcast_to(y.shape())).unwrap().to_vec::<i64>().unwrap(), [0, 1, 2, 3, 4, 5]);
    let picked = compute(defer(&other).take_along_axis(&defer(&column), 1)).unwrap();
    assert_eq!(picked.to_vec::<i64>().unwrap(), [0, 4]);
    let picked = compute(defer(&other).take_along_axis(&defer(&tensor(&[1, 1], &[0])), 1));
    assert_eq!(picked.unwrap().to_vec::<i64>().unwrap(), [0, 3]);
}
