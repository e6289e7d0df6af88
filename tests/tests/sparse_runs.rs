//! Elementwise programs over tensors that keep runs agree with the plan's interpreter, keep runs themselves, and no more of
//! them than there are.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

mod common;

use common::programs;
use proptest::prelude::*;
use tensorjit::{
    DType, Format, Indices, InterpretPlan, LazyTensor, Leaf, Level, ReduceOp, Scalar, Tensor, compute,
    compute_as, defer, explain, maximum, minimum, where_,
};
use tj_tests::engines::scheduled;
use tj_tests::rng::Rng;
use tj_tests::sparse::{Run, runs};

/// A tensor of random runs; numbers are small, and a few are special.
fn tensor(rng: &mut Rng, shape: &[usize], transposed: bool, fill: f64, dtype: DType) -> Tensor {
    let keeps_steps = rng.chance(40);
    let [fibers, extent] = match (shape, transposed) {
        (&[n], _) => [1, n],
        (&[rows, columns], false) => [rows, columns],
        (&[rows, columns], true) => [columns, rows],
        _ => panic!("vectors and matrices"),
    };
    let longest = 1 + rng.below(9);
    let (mut positions, mut starts, mut ends, mut values) = (vec![0], vec![], vec![], vec![]);
    let special = rng.chance(30);
    for _ in 0..fibers {
        let mut at = 0;
        while at < extent {
            let end = extent.min(at + 1 + rng.below(longest));
            if keeps_steps || rng.chance(60) {
                starts.push(at);
                ends.push(end);
                let any = rng.pick(&[0.0, -0.0, f64::NAN, f64::INFINITY, fill]);
                values.push(if special && rng.chance(40) { any } else { rng.range(-2, 3) as f64 });
            }
            at = end;
        }
        positions.push(ends.len());
    }
    let indices = |list: &[usize]| Indices::new(list, None).unwrap();
    let (kind, level) = match keeps_steps {
        true => ("steps", Level::Steps { positions: indices(&positions), ends: indices(&ends) }),
        false => (
            "runs",
            Level::Runs { positions: indices(&positions), starts: indices(&starts), ends: indices(&ends) },
        ),
    };
    let (text, mut levels) = match (shape.len(), transposed) {
        (1, _) => (format!("{{d0: {kind}}}"), vec![]),
        (_, false) => (format!("{{d0: dense, d1: {kind}}}"), vec![Level::Dense]),
        (_, true) => (format!("{{d1: dense, d0: {kind}}}"), vec![Level::Dense]),
    };
    levels.push(level);
    let values = Tensor::from_shape_vec([values.len()], values).unwrap().cast(dtype).unwrap();
    let format: Format = text.parse().unwrap();
    Tensor::from_levels(format, shape, levels, Leaf::Values(values), Scalar::from(fill).cast(dtype)).unwrap()
}

/// An expression of some arguments.
fn expression(rng: &mut Rng, arguments: &[LazyTensor]) -> LazyTensor {
    let mut built: Vec<LazyTensor> = arguments.to_vec();
    for _ in 0..1 + rng.below(5) {
        let [a, b, c] = [(); 3].map(|()| built[rng.below(built.len())].clone());
        built.push(match rng.below(12) {
            0 | 1 => a + b,
            2 | 3 => a * b,
            4 => maximum(&a, &b),
            5 => minimum(&a, &b),
            6 => where_(&a.less(&b), &b, &c),
            7 => a * 2.5,
            8 => a + 1.5,
            9 => -a,
            10 => maximum(&a, 0),
            _ => a - b,
        });
    }
    let all = arguments.iter().cloned().reduce(|x, y| x + y).unwrap();
    all * &built[built.len() - 1]
}

/// Reductions along an axis, or all of them; over nothing there is no greatest.
fn folded(rng: &mut Rng, x: &LazyTensor, shape: &[usize]) -> Vec<LazyTensor> {
    let axis = rng.below(shape.len()) as i64;
    let nothing = shape.contains(&0);
    // Sums of these are exact in any order.
    let small = minimum(maximum(x, -16), 16);
    let mut results = vec![small.sum(axis), small.not_equal(0).reduce(ReduceOp::Or, axis), small.sum(())];
    if !nothing {
        results.extend([x.max(axis), x.min(axis), x.less(1).reduce(ReduceOp::And, ())]);
    }
    results
}

fn same(x: Scalar, y: Scalar) -> bool {
    let (a, b) = (x.to_f64(), y.to_f64());
    x == y || (a.is_nan() && b.is_nan()) || (a == 0.0 && b == 0.0)
}

fn elements(tensor: &Tensor) -> Vec<Scalar> {
    let flat = tensor.to_dense().unwrap().reshape([tensor.count().unwrap()]).unwrap();
    (0..flat.shape()[0]).map(|at| flat.get(&[at]).unwrap()).collect()
}

/// A result has the right elements, valid levels, the right count of what is not the fill, and no run too many.
fn check(what: &str, got: &Tensor, expected: &Tensor) {
    let (found, wanted) = (elements(got), elements(expected));
    let differing = found.iter().zip(&wanted).position(|(x, y)| !same(*x, *y));
    assert_eq!(differing, None, "{what}: {found:?}, expected {wanted:?}");
    assert_eq!((got.dtype(), got.shape()), (expected.dtype(), expected.shape()), "{what}");
    match (got.fill(), expected.fill()) {
        (Some(x), Some(y)) => assert!(same(x, y), "{what}: fill {x}, expected {y}"),
        (x, y) => assert_eq!(x.is_some(), y.is_some(), "{what}"),
    }
    let Some(stored) = got.stored() else { return };
    let again = Tensor::from_levels(
        stored.format().clone(),
        got.shape(),
        stored.levels().to_vec(),
        stored.leaf().clone(),
        stored.fill(),
    );
    let again = again.unwrap_or_else(|error| panic!("{what}: {error}"));
    let is_fill = |x: &Scalar| {
        x.bits() == stored.fill().bits() || (x.to_f64().is_nan() && stored.fill().to_f64().is_nan())
    };
    let differ = found.iter().filter(|x| !is_fill(x)).count();
    assert_eq!((got.nnz().unwrap(), again.nnz().unwrap()), (differ, differ), "{what}");
    let Leaf::Values(values) = stored.leaf() else { panic!("{what}: a result has values") };
    let bits = |at: usize| values.get(&[at]).unwrap().bits();
    let level = stored.levels().last().unwrap();
    let (positions, starts, ends) = if let Level::Runs { positions, starts, ends } = level {
        (positions.to_vec(), starts.to_vec(), ends.to_vec())
    } else if let Level::Steps { positions, ends } = level {
        let ends = ends.to_vec();
        (positions.to_vec(), [0].into_iter().chain(ends.iter().copied()).take(ends.len()).collect(), ends)
    } else {
        // An argument whose fill has no name is read element by element.
        return;
    };
    for fiber in positions.windows(2) {
        for at in fiber[0] + 1..fiber[1] {
            assert!(ends[at - 1] < starts[at] || bits(at - 1) != bits(at), "{what}: run {at} goes on");
        }
    }
}

proptest! {
    #![proptest_config(programs(120, 1))]

    #[test]
    fn results_keep_runs(seed in any::<u64>().no_shrink()) {
        let mut rng = Rng::new(seed);
        let dtype = rng.pick(&[DType::F64, DType::F64, DType::F32, DType::I32, DType::F16]);
        let fill = || match dtype.is_float() {
            true => vec![0.0, 0.0, 1.0, -1.0, f64::INFINITY, f64::NAN],
            false => vec![0.0, 0.0, 1.0, -1.0],
        };
        let size = |rng: &mut Rng| rng.pick(&[0, 1, 2, 7, 40]);
        let shape: Vec<usize> = if rng.chance(60) { vec![size(&mut rng)] } else { vec![size(&mut rng), size(&mut rng)] };
        let transposed = rng.chance(30);
        let arguments: Vec<Tensor> = (0..1 + rng.below(4))
            .map(|_| { let fill = rng.pick(&fill()); tensor(&mut rng, &shape, transposed, fill, dtype) })
            .collect();
        let lazy: Vec<LazyTensor> = arguments.iter().map(defer).collect();
        let first = expression(&mut rng, &lazy);
        // Results of results, and of computed numbers, are results too.
        let second = expression(&mut rng, &[first.clone(), lazy[0].clone()]);
        let third = &second * lazy[0].sum(());
        let outputs = match rng.below(5) {
            0 => vec![first],
            1 => vec![first, second],
            2 => vec![second, third],
            _ => folded(&mut rng, &first, &shape),
        };
        let (expected, _) = compute_as(outputs.clone(), &scheduled(InterpretPlan)).unwrap();
        // The C compiler takes longer than all else.
        let engines = runs(if seed % 16 == 0 { Run::C } else { Run::Some }, seed);
        for (name, options) in engines {
            let (got, _) = compute_as(outputs.clone(), &options).unwrap();
            for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
                check(&format!("output {at} by {name}"), got, expected);
            }
        }
    }
}

/// A vector with a stretch of `long` elements for each value, all of them stored.
fn stretched(values: &[f64], long: usize, kind: &str) -> Tensor {
    let n = values.len();
    let indices = |list: Vec<usize>| Indices::new(&list, None).unwrap();
    let ends = indices((1..=n).map(|at| at * long).collect());
    let positions = indices(vec![0, n]);
    let level = match kind {
        "runs" => Level::Runs { positions, starts: indices((0..n).map(|at| at * long).collect()), ends },
        _ => Level::Steps { positions, ends },
    };
    let leaf = Leaf::Values(Tensor::from(values.to_vec()));
    let format: Format = format!("{{d0: {kind}}}").parse().unwrap();
    Tensor::from_levels(format, [n * long], vec![level], leaf, 0.0.into()).unwrap()
}

/// Far more elements than memory holds: whoever looks at each of them fails.
#[test]
fn elements_are_not_looked_at() {
    let long = 1 << 50;
    for kind in ["runs", "steps"] {
        let x = defer(stretched(&[1.0, 2.0, 2.0, 0.0, -1.0], long, kind));
        let y = defer(stretched(&[1.0, 0.0, 1.0, 0.0, 1.0], long, kind));
        let sum = compute(&x + &y * 2.0).unwrap();
        let ends = if kind == "runs" { vec![3.0, 2.0, 4.0, 1.0] } else { vec![3.0, 2.0, 4.0, 0.0, 1.0] };
        let Some(Leaf::Values(values)) = sum.stored().map(|stored| stored.leaf().clone()) else {
            panic!("{sum:?}")
        };
        assert_eq!(values.to_vec::<f64>().unwrap(), ends);
        assert_eq!((sum.nnz().unwrap(), sum.format().stretched()), (4 * long, Some(vec![0])));
        // Twice the same in a row is one run.
        let flat = compute(maximum(&x, 2.0)).unwrap();
        assert_eq!((flat.stored_count(), flat.fill()), (usize::from(kind == "steps"), Some(2.0.into())));
        // A result is an argument, of another one and of the same program again.
        let again = compute((defer(&sum) - &x) * 0.5 - &y).unwrap();
        assert_eq!(again.nnz().unwrap(), 0);
        let text = explain((&x + &y) * 2.0).unwrap().to_string();
        assert!(text.contains("step 0: q1 from argument 0, argument 1: by stretches of runs"), "{text}");
    }
}

#[test]
fn reductions_take_each_stretch_once() {
    let long = 1 << 40;
    for kind in ["runs", "steps"] {
        let x = defer(stretched(&[1.0, 2.0, 2.0, 0.0, -1.0], long, kind));
        let y = defer(stretched(&[1.0, 0.0, 1.0, 0.0, 1.0], long, kind));
        let n = 5.0 * long as f64;
        for (program, value) in [
            (x.sum(()), 4.0 * long as f64),
            ((&x + 1.0).sum(()), 4.0 * long as f64 + n),
            ((&x * &y).sum(0), 2.0 * long as f64),
            (x.mean(()), 0.8),
            ((&x - &y).min(()), -2.0),
            (x.max(()), 2.0),
        ] {
            assert_eq!(compute(&program).unwrap().to_vec::<f64>().unwrap(), [value], "{kind}");
            let text = explain(&program).unwrap().to_string();
            assert!(text.contains("by stretches of runs, folded along them"), "{text}");
        }
        let any = x.greater(1).reduce(ReduceOp::Or, ());
        assert_eq!(compute(&any).unwrap().to_vec::<bool>().unwrap(), [true]);
    }
}

#[test]
fn other_programs_are_not_cut() {
    let x = stretched(&[1.0, 0.0, 3.0], 2, "runs");
    let list = defer(x.with_format(&"csf(1)".parse().unwrap()).unwrap());
    let (x, dense) = (defer(&x), defer(x.to_dense().unwrap()));
    let column = x.expand_dims(1);
    for program in
        [&x + &list, &x * &dense, column * &x, x.index([tensorjit::at(1, None, 1)]) + 1.0, x.prod(())]
    {
        assert!(!explain(&program).unwrap().to_string().contains("by stretches"));
        let (expected, _) = compute_as(&program, &scheduled(InterpretPlan)).unwrap();
        assert_eq!(elements(&compute(&program).unwrap()), elements(&expected));
    }
}
