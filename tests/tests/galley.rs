//! The scheduler that reads data: the values of the default one at a fraction of the work.

use tensorjit::{
    CompileOptions, DType, Error, Format, GalleyScheduler, InterpretKernel, LazyTensor, Reassociate,
    RunReport, Scalar, Scheduler, Tensor, compute_as, compute_with, defer, einop, explain_with,
    with_scheduler,
};
use tj_plan::derive::{Derivation, Derived, Elimination};
use tj_plan::sparse::StoredInput;
use tj_plan::{Engine, Plan, Surprise};
use tj_tests::engines::scheduled;
use tj_tests::rng::Rng;
use tj_tests::whole::{matrix, values};

/// Galley's plans, interpreted, so that work is counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counted(GalleyScheduler);

impl Scheduler for Counted {
    fn name(&self) -> &str {
        "galley, counted"
    }

    fn options_key(&self) -> u64 {
        self.0.options_key()
    }

    fn engine(&self) -> Engine {
        Engine::InterpretKernel
    }

    fn reads_data(&self) -> bool {
        true
    }

    fn derive(&self, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
        self.0.derive(plan, inputs)
    }

    fn surprise(&self) -> Surprise {
        self.0.surprise()
    }
}

fn work(report: &RunReport) -> u64 {
    report.work.expect("interpreted kernels count")
}

/// The work by the default scheduler and by Galley, whose results are equal.
fn works(program: &LazyTensor, reassociate: Reassociate) -> (u64, u64) {
    let (expected, before) = compute_as(program, &scheduled(InterpretKernel)).expect("the program is right");
    let options = scheduled(Counted(GalleyScheduler::new(reassociate)));
    let (got, after) = compute_as(program, &options).expect("the program is right");
    assert_eq!(values(&got), values(&expected));
    (work(&before), work(&after))
}

#[test]
fn work_is_a_fraction_of_that_of_what_is_written() {
    let rng = &mut Rng::new(1);
    let keys = matrix(rng, 3000, 60, 3000);
    let features = matrix(rng, 60, 50, 600);
    let weights = Tensor::full([50], 2.0).unwrap();
    let model = defer(&keys).matmul(&defer(&features)).matmul(&defer(&weights));
    let (before, after) = works(&model, Reassociate::Factor);
    assert!(after * 4 < before, "a model over a join: {before}, {after}");

    let a = matrix(rng, 80, 80, 500);
    let x = defer(&a);
    let (before, after) = works(&x.matmul(&x).matmul(&x).sum(()), Reassociate::Factor);
    assert!(after * 4 < before, "a path: {before}, {after}");

    let a = matrix(rng, 400, 400, 500);
    let (u, v) = (Tensor::full([400], 1.0).unwrap(), Tensor::full([400], 2.0).unwrap());
    let loss = (defer(&a) - defer(&u).expand_dims(1) * defer(&v)).square().sum(());
    let (before, after) = works(&loss, Reassociate::Expand);
    assert!(after * 10 < before, "a loss: {before}, {after}");
}

#[test]
fn whole_numbers_are_rearranged_by_the_exact_scheduler_too() {
    let a = matrix(&mut Rng::new(2), 80, 80, 500);
    let derived = |a: &Tensor| {
        let x = defer(a);
        let path = x.matmul(&x).matmul(&x).sum(());
        let explanation = explain_with(&[path], scheduled(GalleyScheduler::exact())).unwrap();
        explanation.stage("derive").unwrap().to_string()
    };
    let text = derived(&a.cast(DType::I64).unwrap());
    assert!(text.contains("rearranged"), "{text}");
    let text = derived(&a);
    assert!(text.contains("kept as it is written"), "{text}");
}

#[test]
fn empty_and_scalar_arguments_are_planned_for() {
    let none = matrix(&mut Rng::new(4), 5, 6, 0);
    let one = Tensor::full([6], 1.0).unwrap();
    for program in [
        defer(&none).matmul(&defer(&one)),
        defer(&Tensor::full([0, 6], 1.0).unwrap()).matmul(&defer(&one)),
        (defer(&none) * 2.0).sum(()) + defer(&Tensor::scalar(3.0)),
        defer(&Tensor::scalar(3.0)) * 2.0,
    ] {
        let got = compute_with(&program, &GalleyScheduler::default()).unwrap();
        let expected = compute_with(&program, &tensorjit::DefaultScheduler).unwrap();
        assert_eq!(values(&got), values(&expected));
    }
}

#[test]
fn it_is_chosen_like_any_other() {
    let a = matrix(&mut Rng::new(5), 20, 20, 60);
    let x = defer(&a);
    let program = || x.matmul(&x).matmul(&x).sum(());
    let expected = compute_with(program(), &tensorjit::DefaultScheduler).unwrap();
    let got = with_scheduler(GalleyScheduler::default(), || tensorjit::compute(program())).unwrap();
    assert_eq!(values(&got), values(&expected));
}

/// A square matrix with about half of its elements, none in the first row and the third column.
fn half(n: usize) -> Vec<f64> {
    let value = |at: usize| match (at / n, at % n) {
        (0, _) | (_, 2) => 0.0,
        (i, j) => ((i * 7 + j * 3) % 2 * (1 + (i + j) % 3)) as f64,
    };
    (0..n * n).map(value).collect()
}

/// What a fill decides stays decided, whatever is read as what.
#[test]
fn what_fills_decide_is_kept() {
    let n = 40;
    let strided = Tensor::from_shape_vec([n, n], half(n)).unwrap().with_fill(Some(0.0.into())).unwrap();
    let stored = strided.with_format(&Format::csr()).unwrap();
    let mut far: Vec<f64> = (0..n * n).map(|at| (at % 5) as f64).collect();
    far[2 * n..3 * n].fill(f64::INFINITY);
    let far = Tensor::from_shape_vec([n, n], far).unwrap();
    let near = Tensor::full([n, n], 2.0).unwrap();
    let v = Tensor::full([n], 1.0).unwrap();
    let mut degrees = vec![2.0; n];
    degrees[0] = 0.0;
    let degrees = Tensor::from(degrees);
    let scaled = |c: f64| defer(&stored) * c;
    let quotient = defer(&stored) / defer(&degrees).expand_dims(1);
    let programs = [
        defer(&strided).matmul(&defer(&far)).matmul(&defer(&v)),
        defer(&stored).matmul(&defer(&far)).matmul(&defer(&v)),
        quotient.matmul(&defer(&stored)).matmul(&defer(&near)),
        scaled(2.0).matmul(&defer(&stored)).matmul(&defer(&near)),
        scaled(f64::INFINITY).matmul(&defer(&stored)).matmul(&defer(&near)),
    ];
    for (at, program) in programs.iter().enumerate() {
        let expected = values(&compute_as(program, &CompileOptions::default()).unwrap().0);
        assert!(expected.iter().all(|value| !value.is_nan()), "program {at}");
        for reassociate in [Reassociate::Never, Reassociate::Factor, Reassociate::Expand] {
            let options = scheduled(GalleyScheduler::new(reassociate));
            let got = values(&compute_as(program, &options).unwrap().0);
            assert_eq!(got, expected, "program {at}, {reassociate:?}");
        }
    }
}

/// Whole numbers that wrap around have no order that sums would keep.
#[test]
fn sums_of_whole_numbers_do_not_pass_extremes() {
    let a = Tensor::from_shape_vec([2, 2], vec![1_u8, 2, 1, 2]).unwrap();
    let b = Tensor::full([2, 2], 0_u8).unwrap();
    let v = Tensor::full([2], 254_u8).unwrap();
    let text = "e[i] max= A[i,j] + B[j,k] + V[k]";
    let program = einop(text, &[("A", &defer(&a)), ("B", &defer(&b)), ("V", &defer(&v))]);
    let got = compute_with(&program, &GalleyScheduler::exact()).unwrap();
    let expected = compute_with(&program, &tensorjit::DefaultScheduler).unwrap();
    assert_eq!(got.to_vec::<u8>().unwrap(), expected.to_vec::<u8>().unwrap());
}

/// Derives what no law allows.
#[derive(Clone, Copy, Debug)]
struct Lawless;

impl Scheduler for Lawless {
    fn name(&self) -> &str {
        "lawless"
    }

    fn reads_data(&self) -> bool {
        true
    }

    fn derive(&self, plan: &Plan, _: &[Option<StoredInput>]) -> Derivation {
        let last = plan.query_ids().next_back().expect("a program has a query");
        let steps = vec![Elimination { reduced: vec![9], ..Elimination::default() }];
        let query = Derived { query: last, shape: tj_plan::derive::Shape::Written, steps };
        Derivation { queries: vec![query], ..Derivation::default() }
    }
}

#[test]
fn what_no_law_allows_is_refused() {
    let a = matrix(&mut Rng::new(6), 20, 20, 60);
    let program = defer(&a).matmul(&defer(&a)).sum(());
    let error = compute_with(&program, &Lawless).unwrap_err();
    assert!(matches!(error, Error::Derivation { .. }), "{error}");
    assert!(error.to_string().contains("is not possible now"), "{error}");
}

/// Two factors with entries at the same places: their counts let one expect next to none in common.
#[test]
fn what_is_left_is_decided_again_where_more_is_there_than_expected() {
    let n = 500;
    let mut rng = Rng::new(41);
    let a = matrix(&mut rng, n, n, 1500);
    let lazy = [
        defer(&a),
        defer(&matrix(&mut rng, n, n, 15_000)),
        defer(&matrix(&mut rng, n, n, 15_000)),
        defer(&matrix(&mut rng, n, 50, 10_000)),
    ];
    let [x, c, d, e] = &lazy;
    let b = compute_with(x + 1.0, &GalleyScheduler::exact()).expect("the sum is right");
    let b = b.with_fill(Some(Scalar::from(1.0))).expect("its fill is 1");
    let program = || (x * (defer(&b) - 1.0)).matmul(c).matmul(d).matmul(e);
    let options = scheduled(GalleyScheduler::default());
    let (first, report) = compute_as(program(), &options).expect("the program is right");
    let (expected, _) = compute_as(program(), &CompileOptions::default()).expect("the program is right");
    assert_eq!(values(&first), values(&expected));
    assert_eq!(report.decided_again, 1, "{report:?}");
    let surprise = &report.kept[0];
    assert!(surprise.found > 4 * surprise.expected, "{surprise:?}");
    // Less than half is done of what is done by who is not surprised.
    let counted = |surprise: Surprise| {
        let scheduler = Counted(GalleyScheduler::default().surprised_by(surprise));
        work(&compute_as(program(), &scheduled(scheduler)).expect("the program is right").1)
    };
    let stubborn = counted(Surprise { times: u64::MAX, ..Surprise::default() });
    let open = counted(Surprise::default());
    assert!(2 * open < stubborn, "{open} and {stubborn}");
}
