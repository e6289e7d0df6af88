//! Data that a computation is given for good: results in their memory, and nothing else changes.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    CompileOptions, CompiledGraph, DType, Duplicates, Error, Format, InterpretKernel, InterpretPlan,
    LazyTensor, Leaf, Scalar, Tensor, compute, compute_reported, defer, defer_owned, explain, input, where_,
    with_scheduler,
};
use tj_tests::rng::Rng;

/// Large enough that memory of results is kept for later runs.
const N: usize = 20_000;

fn numbers(n: usize) -> Tensor {
    Tensor::from_shape_vec([n], (0..n).map(|i| i as f64).collect()).unwrap()
}

fn mask(n: usize) -> Tensor {
    Tensor::from_shape_vec([n], (0..n).map(|i| i % 3 == 0).collect()).unwrap()
}

#[test]
fn a_loop_updates_in_place() {
    let (mask, new) = (mask(N), Tensor::full([N], -1.0).unwrap());
    let mut x = numbers(N);
    let memory = x.data_ptr();
    for step in 0..4 {
        // What a method was called on is alive while the program runs.
        let (next, report) =
            compute_reported(where_(&defer(&mask), defer(&new), defer_owned(x).abs() + 1.0)).unwrap();
        x = next;
        assert_eq!((x.data_ptr(), report.donated_inputs), (memory, 1), "{step}");
        assert_eq!(report.allocations, 0);
    }
    let expected: Vec<f64> = (0..N).map(|i| if i % 3 == 0 { -1.0 } else { i as f64 + 4.0 }).collect();
    assert_eq!(x.to_vec::<f64>().unwrap(), expected);
}

#[test]
fn memory_that_others_hold_stays_as_it_is() {
    let x = numbers(N);
    let view = x.slice(0, tensorjit::SliceSpec { start: Some(1), stop: None, step: 1 }).unwrap();
    let cases: [(Tensor, Tensor); 3] = [
        (x.clone(), x.clone()),
        (view.clone(), view),
        (numbers(N).flip(0).unwrap(), numbers(N).flip(0).unwrap()),
    ];
    for (given, kept) in cases {
        let before = kept.to_vec::<f64>().unwrap();
        let (found, report) = compute_reported(defer_owned(given) * 2.0).unwrap();
        assert_eq!(report.donated_inputs, 0);
        assert_eq!(kept.to_vec::<f64>().unwrap(), before);
        assert_eq!(found.to_vec::<f64>().unwrap(), before.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    }
    assert_eq!(x.to_vec::<f64>().unwrap()[7], 7.0);
}

#[test]
fn only_one_result_takes_the_memory_and_only_where_it_fits() {
    let check = |results: Vec<LazyTensor>, expected: &[Vec<f64>], donated: u64| {
        let (found, report) = compute_reported(results).unwrap();
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.cast(DType::F64).unwrap().to_vec::<f64>().unwrap(), *expected);
        }
        assert_eq!(report.donated_inputs, donated);
    };
    let of = |f: fn(f64) -> f64| (0..N).map(|i| f(i as f64)).collect::<Vec<f64>>();
    let x = defer_owned(numbers(N));
    check(vec![&x + 1.0, &x * 2.0], &[of(|x| x + 1.0), of(|x| 2.0 * x)], 1);
    // Read backwards, of another dtype, of another shape.
    let x = defer_owned(numbers(N));
    check(vec![x.flip(0) + 1.0], &[(0..N).rev().map(|i| i as f64 + 1.0).collect()], 0);
    check(vec![defer_owned(numbers(N)).cast(DType::F32)], &[of(|x| x)], 0);
    check(vec![defer_owned(numbers(N)).sum(0)], &[vec![(N * (N - 1) / 2) as f64]], 0);
    // The argument itself.
    check(vec![defer_owned(numbers(N))], &[of(|x| x)], 0);
    // Two that are given, one result.
    check(vec![defer_owned(numbers(N)) + defer_owned(numbers(N))], &[of(|x| 2.0 * x)], 1);
}

#[test]
fn a_second_computation_is_told() {
    let x = defer_owned(numbers(5));
    assert!(explain(&x + 1.0).is_ok());
    let line = line!() - 2;
    let twice = &x + &x;
    assert_eq!(compute(&twice).unwrap().to_vec::<f64>().unwrap(), [0.0, 2.0, 4.0, 6.0, 8.0]);
    for again in [&twice, &x] {
        let error = compute(again).unwrap_err();
        let message =
            "defer_owned: an earlier computation has taken this tensor; use defer to compute with it again";
        assert!(error.to_string().starts_with(message), "{error}");
        assert!(error.to_string().contains(&format!("owned.rs:{line}:")), "{error}");
    }
    // A mistake is found before anything is taken.
    let x = defer_owned(numbers(5));
    assert!(compute(&x + &defer(&numbers(4))).is_err());
    assert_eq!(compute(x.sum(0)).unwrap().get(&[]).unwrap().to_f64(), 10.0);
}

#[test]
fn every_engine_and_program_takes_what_is_given() {
    let stored = numbers(6).with_fill(Some(0.0.into())).unwrap().with_format(&Format::csf(1)).unwrap();
    let run = || -> Result<Vec<f64>, Error> {
        let dense =
            compute(defer_owned(numbers(6)).exp().log() + defer_owned(Tensor::scalar(Scalar::F64(0.0))))?;
        let sparse = compute(defer_owned(stored.clone()) * 2.0 + defer_owned(numbers(6)))?;
        // In stages the data are read again and again.
        let x = defer_owned(numbers(6));
        let staged = compute(x.masked(&x.greater(2.0)) + x.sum(0))?;
        let complex = compute(defer_owned(numbers(6).cast(DType::C128)?).conj().real())?;
        Ok([dense, sparse, staged, complex].iter().flat_map(|t| t.to_vec::<f64>().unwrap()).collect())
    };
    let expected = run().unwrap();
    assert_eq!(expected[6..15], [0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 19.0, 20.0]);
    assert_eq!(with_scheduler(InterpretPlan, run).unwrap(), expected);
    assert_eq!(with_scheduler(InterpretKernel, run).unwrap(), expected);
}

#[test]
fn a_graph_keeps_what_it_is_built_with() {
    let x = input("x", DType::F64, [4.into()]).unwrap();
    let graph = CompiledGraph::new(&[defer_owned(numbers(4)) + &x], CompileOptions::default()).unwrap();
    for _ in 0..2 {
        let found = graph.call(&[("x", &numbers(4))]).unwrap().remove(0);
        assert_eq!(found.to_vec::<f64>().unwrap(), [0.0, 2.0, 4.0, 6.0]);
    }
}

#[test]
fn a_sparse_mask_selects_from_data_that_are_given() {
    let at = Tensor::from(vec![3_i64, 7]);
    let mask = Tensor::coo([N], &[at], vec![true, true], Duplicates::Refuse).unwrap();
    let next = where_(&defer(&mask), 5.0, defer_owned(numbers(N)));
    let found = compute(next).unwrap().to_vec::<f64>().unwrap();
    assert_eq!((found[3], found[7], found[8], found.len()), (5.0, 5.0, 8.0, N));
}

/// A matrix with about one element of four other than the fill, some of which are stored as the fill.
fn matrix(seed: u64, shape: [usize; 2], format: &str) -> Tensor {
    let mut rng = Rng::new(seed);
    let n = shape[0] * shape[1];
    let all: Vec<f64> = (0..n).map(|_| [0.0, 0.0, 0.0, 1.0, -2.0][rng.below(5)]).collect();
    let dense = Tensor::from_shape_vec(shape, all).unwrap();
    let stored = dense.with_fill(Some(0.0.into())).unwrap().with_format(&format.parse().unwrap()).unwrap();
    // Doubled values with one in four that became 0.
    let values = stored.stored_count();
    let values = Tensor::from((0..values).map(|at| (at % 4) as f64).collect::<Vec<_>>());
    match stored.stored().map(|stored| stored.leaf().clone()) {
        Some(Leaf::Values(_)) => stored.with_values(values, 0.0.into()).unwrap(),
        _ => stored,
    }
}

#[test]
fn an_update_is_the_selection() {
    type Program = fn([&LazyTensor; 2], &LazyTensor) -> Vec<LazyTensor>;
    let programs: [Program; 14] = [
        |[a, _], x| vec![where_(&a.not_equal(0.0), 7.5, x)],
        |[a, _], x| vec![where_(&a.equal(0.0), x, 7.5)],
        |[a, b], x| vec![where_(&a.greater(b), a, x)],
        |[a, b], x| vec![where_(&(a.not_equal(0.0) & b.not_equal(0.0)), x * 2.0 + b, x)],
        |[a, b], x| vec![where_(&(a.not_equal(0.0) | b.not_equal(0.0)), a + b, x)],
        |[a, b], x| {
            vec![where_(
                &a.not_equal(0.0),
                a.matmul(&b.transpose()).sum(1).reshape(&[None, Some(1.into())]),
                x,
            )]
        },
        |[a, _], x| vec![where_(&a.not_equal(0.0), x.flip(0), x)],
        |[a, _], x| vec![where_(&a.not_equal(0.0), x.sum(0), x)],
        // The argument is needed elsewhere, or is not the rest of the result.
        |[a, _], x| vec![where_(&a.not_equal(0.0), 1.0, x), x.sum(0), x.clone()],
        |[a, b], x| vec![where_(&a.not_equal(0.0), 1.0, x), where_(&b.not_equal(0.0), 2.0, x)],
        |[a, _], x| vec![where_(&a.not_equal(0.0), 1.0, x.flip(1))],
        |[a, _], x| vec![where_(&a.not_equal(0.0), 1.0, x) + 1.0],
        |[a, _], x| vec![where_(&a.not_equal(0.0), 1.0, x).transpose()],
        |[a, b], x| vec![where_(&a.not_equal(0.0), 1.0, where_(&b.not_equal(0.0), 2.0, x))],
    ];
    let formats = ["csr", "csc", "coo(2)", "dcsr", "bcsr(2, 2)", "{d0: dense, d1: runs}"];
    for (number, program) in programs.iter().enumerate() {
        let formats = [formats[number % 6], formats[(5 * number + 2) % 6]];
        for shape in [[5, 7], [0, 3], [3, 0], [70, 9]] {
            let [a, b] = [0, 1].map(|k| defer(&matrix(k, shape, formats[k as usize])));
            let base = matrix(2, shape, "csr").to_dense().unwrap().cast(DType::F64).unwrap();
            let expected =
                with_scheduler(InterpretPlan, || compute(program([&a, &b], &defer(&base)))).unwrap();
            // Alone, and beside others that hold the data.
            let own = || defer_owned(compute(defer(&base) + 0.0).unwrap());
            let shared = || defer_owned(base.clone());
            let run = || [own(), shared()].map(|x| compute(program([&a, &b], &x)).unwrap());
            for found in [run(), with_scheduler(InterpretKernel, run)].iter().flatten() {
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.shape(), expected.shape());
                    assert_eq!(
                        found.to_dense().unwrap().to_vec::<f64>().unwrap(),
                        expected.to_dense().unwrap().to_vec::<f64>().unwrap(),
                        "program {number}, {shape:?}, {formats:?}"
                    );
                }
            }
        }
    }
}
