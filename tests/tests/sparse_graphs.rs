//! Symbolic programs whose inputs are stored by levels, and results in the formats that are asked for.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::sync::Arc;

use tensorjit::{
    Bytes, CompileOptions, CompiledGraph, DType, Dim, Duplicates, Error, Format, InterpretKernel,
    InterpretPlan, LazyTensor, OutputView, Scalar, Tensor, Unfused, at, compute, compute_as, defer, einsum,
    explain, input, minimum, where_, with_scheduler,
};
use tj_tests::engines::scheduled;
use tj_tests::rng::Rng;

const FORMATS: [&str; 9] = [
    "csr",
    "csc",
    "coo(2)",
    "dcsr",
    "bcsr(2, 2)",
    "dia",
    "{d0: dense, d1: compressed(u64, u64)}",
    "{d0: bytemap, d1: hash}",
    "{d0: dense, d1: runs}",
];

fn format(text: &str) -> Format {
    text.parse().unwrap()
}

fn sizes() -> [Dim; 2] {
    ["N", "M"].map(|name| Dim::new(name, ..).unwrap())
}

fn matrix(name: &str, stored: &str) -> LazyTensor {
    input(name, DType::F64, sizes()).unwrap().with_format(&format(stored))
}

/// Small integers, about one of `sparse` other than the fill.
fn data(seed: u64, shape: &[usize], sparse: usize, fill: f64) -> Tensor {
    let mut rng = Rng::new(seed);
    let value = |rng: &mut Rng| if rng.below(sparse) == 0 { rng.below(9) as f64 - 4.0 } else { fill };
    let values = (0..shape.iter().product::<usize>()).map(|_| value(&mut rng)).collect();
    Tensor::from_shape_vec(shape, values).unwrap().with_fill(Some(fill.into())).unwrap()
}

fn stored(seed: u64, shape: &[usize], stored: &str) -> Tensor {
    data(seed, shape, 4, 0.0).with_format(&format(stored)).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dense().unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap()
}

/// Every way to run a graph.
fn options() -> Vec<CompileOptions> {
    vec![
        CompileOptions::default(),
        scheduled(Unfused),
        scheduled(InterpretKernel),
        scheduled(InterpretPlan),
        CompileOptions { threads: 3, parallel_work: Some(0), ..CompileOptions::default() },
    ]
}

/// Programs over two matrices A and B of one shape.
fn programs(a: &LazyTensor, b: &LazyTensor) -> Vec<LazyTensor> {
    vec![
        a + b,
        a * b,
        a * 2.0,
        a.sum(1),
        (a * b).sum(()),
        a.matmul(&b.transpose()),
        einsum("ij,kj,ij->i", &[a, b, b]),
        where_(&a.greater(0), b.exp(), 0.0),
        a.transpose(),
        a.clone(),
        (a + b).sum(0) - 1.0,
    ]
}

#[test]
fn graphs_give_what_lazy_arrays_give() {
    let shapes = [[5, 7], [0, 3], [3, 0], [1, 1], [40, 30]];
    // Each format by one way to run, each way with some.
    let pairs = FORMATS.iter().zip(FORMATS.iter().rev());
    for ((at, (first, second)), options) in pairs.enumerate().zip(options().into_iter().cycle()) {
        // Every second program, so that two formats have all.
        let some = |all: Vec<LazyTensor>| all.into_iter().skip(at % 2).step_by(2).collect::<Vec<_>>();
        let outputs = some(programs(&matrix("A", first), &matrix("B", second)));
        let graph = CompiledGraph::new(&outputs, options.clone()).unwrap();
        for (seed, shape) in shapes.iter().enumerate() {
            let a = stored(seed as u64, shape, first);
            let b = stored(seed as u64 + 9, shape, second);
            // Arguments in another format are converted; so are dense ones.
            let others =
                [&a, &a.with_format(&format(FORMATS[(at + 4) % 9])).unwrap(), &a.to_dense().unwrap()];
            let expected =
                with_scheduler(InterpretPlan, || compute(some(programs(&defer(&a), &defer(&b))))).unwrap();
            for a in others {
                let found = graph.call(&[("B", &b), ("A", a)]).unwrap();
                for ((found, expected), lazy) in found.iter().zip(&expected).zip(&outputs) {
                    assert_eq!(elements(found), elements(expected), "{first} {second} {shape:?}");
                    assert_eq!((found.fill(), found.shape()), (lazy.fill(), expected.shape()));
                    assert_eq!(found.nnz().unwrap(), expected.nnz().unwrap());
                }
            }
        }
        let report = graph.report();
        assert_eq!((report.compilations, report.calls), (1, 3 * shapes.len() as u64));
        assert_eq!(report.bindings, [("N".to_string(), 40), ("M".to_string(), 30)]);
    }
}

#[test]
fn results_of_graphs_are_stored() {
    let (a, b) = (matrix("A", "csr"), matrix("B", "csr"));
    let graph = CompiledGraph::new(&[&a + &b, &a * 2.0, &a + 1.0], CompileOptions::default()).unwrap();
    let (x, y) = (stored(1, &[6, 9], "csr"), stored(2, &[6, 9], "csr"));
    let found = graph.call(&[("A", &x), ("B", &y)]).unwrap();
    let formats = ["csr", "csr", "csr"].map(format);
    assert_eq!(found.iter().map(|t| t.stored().is_some()).collect::<Vec<_>>(), [true; 3]);
    for (found, format) in found.iter().zip(&formats) {
        assert!(format.admits(&found.format()), "{}", found.format());
    }
    assert_eq!(found[2].fill(), Some(1.0.into()));
}

/// Numbers of a program are those that it was compiled with; of an argument nothing is known.
#[test]
fn numbers_decide_what_is_stored() {
    let programs = |a: &LazyTensor, t: &LazyTensor| {
        [a.greater(3.0), a.greater(-3.0), minimum(a, 2.5), a + 2.5, a.greater(t)]
    };
    let outputs = programs(&matrix("A", "csr"), &input("t", DType::F64, []).unwrap());
    let a = stored(1, &[6, 9], "csr");
    for (at, options) in options().into_iter().enumerate() {
        let graph = CompiledGraph::new(&outputs, options).unwrap();
        for threshold in [3.0, -3.0] {
            let t = Tensor::scalar(threshold);
            let found = graph.call(&[("A", &a), ("t", &t)]).unwrap();
            for (found, expected) in found.iter().zip(programs(&defer(a.to_dense().unwrap()), &defer(&t))) {
                assert_eq!(elements(found), elements(&compute(expected).unwrap()));
            }
            let fills: Vec<Option<f64>> = found.iter().map(|t| t.fill().map(Scalar::to_f64)).collect();
            assert_eq!(fills, [Some(0.0), Some(1.0), Some(0.0), Some(2.5), None]);
            if at == 0 {
                let kept: Vec<bool> = found.iter().map(|t| t.stored().is_some()).collect();
                assert_eq!(kept, [true, true, true, false, false]);
            }
        }
    }
}

#[test]
fn conversions_are_remembered() {
    let graph = CompiledGraph::new(&[matrix("A", "csc").sum(0)], CompileOptions::default()).unwrap();
    let a = stored(1, &[6, 9], "csr");
    assert_eq!(a.remembered_bytes(), 0);
    graph.call(&[("A", &a)]).unwrap();
    let once = a.remembered_bytes();
    graph.call(&[("A", &a)]).unwrap();
    assert!(once > 0 && a.remembered_bytes() == once);
}

#[test]
fn fills_are_those_that_are_declared() {
    let a = matrix("A", "csr");
    let one = a.with_fill(1);
    assert_eq!((one.fill(), (&one + 1.0).fill()), (Some(1.0.into()), Some(2.0.into())));
    let graph = CompiledGraph::new(&[&one * 3.0], CompileOptions::default()).unwrap();
    let right = data(1, &[4, 5], 3, 1.0);
    for argument in
        [right.clone(), right.with_format(&format("coo(2)")).unwrap(), right.clone().with_fill(None).unwrap()]
    {
        let found = graph.call(&[("A", &argument)]).unwrap().remove(0);
        assert_eq!(found.fill(), Some(3.0.into()));
        assert_eq!(elements(&found), elements(&right).iter().map(|x| x * 3.0).collect::<Vec<_>>());
    }
    let wrong = graph.call(&[("A", &stored(1, &[4, 5], "csr"))]).unwrap_err();
    assert!(matches!(wrong, Error::Fill { .. }));
    assert_eq!(wrong.to_string(), "input A has fill 0.0f64, declared 1.0f64");
    // A fill without laws is an argument: programs are dense and right.
    let odd = a.with_fill(2.5);
    let graph = CompiledGraph::new(&[&odd * 2.0], CompileOptions::default()).unwrap();
    let right = data(1, &[4, 5], 3, 2.5);
    let found = graph.call(&[("A", &right.with_format(&Format::csr()).unwrap())]).unwrap().remove(0);
    assert_eq!(found.fill(), Some(5.0.into()));
    assert_eq!(elements(&found), elements(&right).iter().map(|x| x * 2.0).collect::<Vec<_>>());
    let messages = [
        ((&a + 1.0).with_fill(0.0), "with_fill: add is no input, so that its fill follows from those"),
        (input("k", DType::I32, [3.into()]).unwrap().with_fill(0.5), "with_fill: 0.5f64 is no value of i32"),
        (
            input("k", DType::I32, []).unwrap().with_fill(1),
            "with_fill: input k is a number, which has no fill",
        ),
        (a.with_format(&Format::csf(3)), "with_format: csf(3) has 3 dimensions, the tensor 2"),
    ];
    for (lazy, message) in messages {
        assert!(lazy.check().unwrap_err().to_string().starts_with(message), "{:?}", lazy.check());
    }
}

#[test]
fn a_fill_annihilates_what_is_infinite() {
    let (a, x) = (matrix("A", "csr"), input("x", DType::F64, sizes()).unwrap());
    let infinite = Tensor::full([2, 2], f64::INFINITY).unwrap();
    let zeros = Tensor::full([2, 2], 0.0).unwrap();
    for options in options() {
        let graph = CompiledGraph::new(&[&a * &x], options).unwrap();
        let found = graph.call(&[("A", &zeros), ("x", &infinite)]).unwrap().remove(0);
        assert_eq!(elements(&found), [0.0; 4]);
    }
}

#[test]
fn one_input_has_one_format() {
    let (csr, csc) = (matrix("A", "csr"), matrix("A", "csc"));
    let error = CompiledGraph::new(&[&csr + &csc], CompileOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string().split(" (").next().unwrap(),
        "input A is declared twice: f64[N, M] csr fill 0.0f64 and f64[N, M] csc fill 0.0f64"
    );
}

#[test]
fn a_stored_argument_of_a_dense_input_is_made_dense() {
    let x = input("x", DType::F64, sizes()).unwrap();
    let a = stored(1, &[6, 9], "csr");
    let graph = CompiledGraph::new(&[&x * f64::INFINITY, x.clone()], CompileOptions::default()).unwrap();
    let found = graph.call(&[("x", &a)]).unwrap();
    // The input has no fill, so that nothing is annihilated.
    assert!(elements(&found[0]).iter().any(|x| x.is_nan()) && found[0].fill().is_none());
    assert_eq!((elements(&found[1]), found[1].stored().is_none()), (elements(&a), true));
    let small = CompileOptions { max_bytes: Bytes(600), ..CompileOptions::default() };
    let graph = CompiledGraph::new(&[x.sum(())], small).unwrap();
    assert!(matches!(graph.call(&[("x", &a)]), Err(Error::Budget { .. })));
    // Beside an input that is stored, too.
    let graph = CompiledGraph::new(&[&x + matrix("A", "csr")], CompileOptions::default()).unwrap();
    let found = graph.call(&[("x", &a), ("A", &a)]).unwrap();
    assert_eq!(elements(&found[0]), elements(&a).iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

#[test]
fn budgets_hold_for_conversions_and_programs() {
    let options = CompileOptions { max_bytes: Bytes(20_000), ..CompileOptions::default() };
    let a = matrix("A", "csr");
    let graph = CompiledGraph::new(&[a.sum(1)], options).unwrap();
    let small = stored(1, &[20, 20], "csr");
    graph.call(&[("A", &small)]).unwrap();
    for too_large in
        [stored(1, &[200, 200], "csr"), stored(1, &[200, 200], "coo(2)"), data(1, &[100, 100], 4, 0.0)]
    {
        assert!(matches!(graph.call(&[("A", &too_large)]), Err(Error::Budget { .. })));
    }
    graph.call(&[("A", &small)]).unwrap();
}

#[test]
fn mistakes_name_the_argument() {
    let (a, b) = (matrix("A", "csr"), matrix("B", "csr"));
    let graph = CompiledGraph::new(&[&a + &b], CompileOptions::default()).unwrap();
    let (x, y) = (stored(1, &[2, 3], "csr"), stored(1, &[2, 4], "csr"));
    let ints = Tensor::full([2, 3], 1_i32).unwrap().with_format(&Format::csr()).unwrap();
    let far = Tensor::csr([1, 5_000_000_000], vec![0_i64, 1], vec![4_999_999_999_i64], vec![1.0]).unwrap();
    let far = [far.clone(), far];
    let vector = Tensor::full([3], 1.0).unwrap();
    let cases: [(Vec<(&str, &Tensor)>, &str); 7] = [
        (vec![("A", &x)], "input B (f64[N, M]) is missing"),
        (vec![("A", &x), ("B", &x), ("C", &x)], "the program has no input C; it takes A, B"),
        (vec![("A", &x), ("B", &x), ("A", &x)], "input A is given twice"),
        (vec![("A", &x), ("B", &y)], "axis 1 of input B has size 4, but M = 3 (axis 1 of input A)"),
        (vec![("A", &x), ("B", &ints)], "input B has dtype i32, declared f64"),
        (vec![("A", &x), ("B", &vector)], "input B has rank 1, declared f64[N, M]"),
        (
            vec![("A", &far[0]), ("B", &far[1])],
            "axis 1 of input A has size 5000000000, but csr has coordinates of u32: declare a format with u64",
        ),
    ];
    for (inputs, message) in cases {
        assert_eq!(graph.call(&inputs).unwrap_err().to_string(), message);
    }
    // What the message asks for.
    let wide = "{d0: dense, d1: compressed(u64)}";
    let graph =
        CompiledGraph::new(&[matrix("A", wide) + matrix("B", wide)], CompileOptions::default()).unwrap();
    let found = graph.call(&[("A", &far[0]), ("B", &far[1])]).unwrap().remove(0);
    assert_eq!((found.nnz().unwrap(), found.shape()), (1, [1, 5_000_000_000].as_slice()));
    assert_eq!(graph.call_with_bindings(&[("M", 3)], &[("A", &x), ("B", &x)]).unwrap()[0].shape(), [2, 3]);
    let error = graph.call_with_bindings(&[("M", 4)], &[("A", &x), ("B", &x)]).unwrap_err();
    assert_eq!(error.to_string(), "axis 1 of input A has size 3, but M = 4 (given)");
}

#[test]
fn guards_are_checked_by_the_names_of_inputs() {
    let [_, m] = sizes();
    let x = input("x", DType::F64, [m + 1]).unwrap();
    let graph = CompiledGraph::new(
        &[matrix("A", "csr").matmul(&x.index([at(1, None, 1)]))],
        CompileOptions::default(),
    );
    let graph = graph.unwrap();
    let x = Tensor::full([4], 1.0).unwrap();
    assert_eq!(graph.call(&[("A", &stored(1, &[2, 3], "csr")), ("x", &x)]).unwrap()[0].shape(), [2]);
    let error = graph.call(&[("A", &stored(1, &[2, 4], "csr")), ("x", &x)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "axis 0 of input x has size 4, but M + 1 = 5 with M = 4 (axis 1 of input A)"
    );
    let y = input("y", DType::F64, [Dim::new("K", ..).unwrap()]).unwrap();
    let graph = CompiledGraph::new(&[matrix("A", "csr").matmul(&y)], CompileOptions::default()).unwrap();
    let error = graph.call(&[("A", &stored(1, &[2, 3], "csr")), ("y", &x)]).unwrap_err().to_string();
    assert!(error.contains("K = 4 (axis 0 of input y), M = 3 (axis 1 of input A)"), "{error}");
}

#[test]
fn calls_run_at_the_same_time() {
    let (a, b) = (matrix("A", "csr"), matrix("B", "csr"));
    let graph = Arc::new(CompiledGraph::new(&[a.matmul(&b.transpose())], CompileOptions::default()).unwrap());
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let graph = graph.clone();
            scope.spawn(move || {
                for size in [3, 20, 60] {
                    let a = stored(seed, &[size, size + 1], "csr");
                    let found = graph.call(&[("A", &a), ("B", &a)]).unwrap().remove(0);
                    let a = defer(&a.to_dense().unwrap());
                    assert_eq!(elements(&found), elements(&compute(a.matmul(&a.transpose())).unwrap()));
                }
            });
        }
    });
    assert_eq!((graph.report().calls, graph.report().compilations), (12, 1));
}

#[test]
fn work_follows_the_entries_of_arguments() {
    let (a, x) = (matrix("A", "csr"), input("x", DType::F64, [sizes()[1].clone()]).unwrap());
    let graph = CompiledGraph::new(&[a.matmul(&x)], scheduled(InterpretKernel)).unwrap();
    let x = Tensor::full([4000], 1.0).unwrap();
    let entry = |n: usize| {
        let starts: Vec<i32> = std::iter::once(0).chain([n as i32; 10]).collect();
        let columns: Vec<i32> = (0..n as i32).map(|at| at * 7).collect();
        Tensor::csr([10, 4000], starts, columns, vec![1.0; n]).unwrap()
    };
    for n in [0, 10, 100, 500] {
        let (found, report) = graph.call_reported(&[], &[("A", &entry(n)), ("x", &x)]).unwrap();
        assert_eq!(elements(&found[0])[0], n as f64);
        assert!(report.work.unwrap() <= 2 * (n as u64 + 10) + 8, "{n}: {:?}", report.work);
    }
    let (_, report) = graph.call_timed(&[], &[("A", &entry(5)), ("x", &x)]).unwrap();
    assert_eq!(report.calls, 1);
    assert_eq!(graph.report().calls, 5);
}

#[test]
fn what_is_for_dense_arrays_alone_says_so() {
    let (a, x) = (matrix("A", "csr"), input("x", DType::F64, [sizes()[1].clone()]).unwrap());
    let graph = CompiledGraph::new(&[a.matmul(&x)], CompileOptions::default()).unwrap();
    let (tensor, vector) = (stored(1, &[3, 4], "csr"), Tensor::full([4], 1.0).unwrap());
    let arguments: [(&str, &Tensor); 2] = [("A", &tensor), ("x", &vector)];
    let expected = elements(&graph.call(&arguments).unwrap()[0]);
    // A dense result is copied to where the caller wants it.
    let mut into = [0.0; 3];
    graph.call_into(&arguments, &mut [OutputView::new(&[3], &mut into).unwrap()]).unwrap();
    assert_eq!(into.to_vec(), expected);
    let mut other = [0.0; 4];
    let error = graph.call_into(&arguments, &mut [OutputView::new(&[4], &mut other).unwrap()]).unwrap_err();
    assert_eq!(error.to_string(), "output 0 is f64[4], but the result is f64[3]");
    assert!(matches!(graph.call_into(&arguments, &mut []), Err(Error::OutputCount { .. })));
    let error = graph.export_object("a.o", "a.h", &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "export_object writes programs on dense arrays, but input A is stored as csr"
    );
    let given = vec![("A", tensor.clone()), ("x", vector.clone())];
    assert_eq!(elements(&graph.call_donating(given).unwrap()[0]), expected);

    let sparse = CompiledGraph::new(&[&a * 2.0], CompileOptions::default()).unwrap();
    let mut into = [0.0; 12];
    let view = OutputView::new(&[3, 4], &mut into).unwrap();
    let error = sparse.call_into(&arguments[..1], &mut [view]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "call_into writes to dense memory, but what output 0 stores follows from its arguments"
    );
    let asked =
        CompiledGraph::new(&[(&x * 2.0).with_format(&format("csf(1)"))], CompileOptions::default()).unwrap();
    let view = OutputView::new(&[3, 4], &mut into).unwrap();
    let error = asked.call_into(&[("x", &vector)], &mut [view]).unwrap_err();
    assert_eq!(error.to_string(), "call_into writes to dense memory, but output 0 is stored as csf(1)");
    let error = asked.export_object("a.o", "a.h", &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "export_object writes programs on dense arrays, but output 0 is stored as csf(1)"
    );
}

#[test]
fn graphs_over_stored_inputs_are_explained() {
    let (a, b) = (matrix("A", "csr"), matrix("B", "csr"));
    let text = explain(&a + &b).unwrap().to_string();
    assert!(text.contains("walks i0, i1, gives entries"), "{text}");
    let (graph, explanation) = CompiledGraph::explained(&[&a + &b], CompileOptions::default()).unwrap();
    assert!(!explanation.kernels.is_empty() && explanation.c.contains("for"));
    assert_eq!(graph.size_names().collect::<Vec<_>>(), ["N", "M"]);
    assert!(!graph.code_text(tensorjit::Backend::C).is_empty());
}

#[test]
fn data_of_a_graph_may_be_stored() {
    let a = stored(3, &[5, 6], "csr");
    let x = input("x", DType::F64, [6.into()]).unwrap();
    let graph =
        CompiledGraph::new(&[defer(&a).matmul(&x), defer(&a) * 3.0], CompileOptions::default()).unwrap();
    let x = Tensor::arange(6).unwrap().cast(DType::F64).unwrap();
    let found = graph.call(&[("x", &x)]).unwrap();
    let dense = defer(&a.to_dense().unwrap());
    assert_eq!(elements(&found[0]), elements(&compute(dense.matmul(&defer(&x))).unwrap()));
    assert!(found[1].stored().is_some());
}

#[test]
fn results_have_the_format_that_is_asked_for() {
    let dense = data(5, &[6, 8], 3, 0.0).with_fill(None).unwrap();
    let sparse = stored(6, &[6, 8], "csr");
    let one = data(7, &[6, 8], 3, 1.0).with_format(&Format::csr()).unwrap();
    let bases = [
        defer(&dense) * 2.0,
        defer(&sparse) * 2.0,
        defer(&one) * 2.0,
        defer(&sparse).transpose(),
        defer(&sparse),
    ];
    let formats = FORMATS.iter().chain(&["dense(2)", "{d1: dense, d0: dense}"]);
    for (base, text) in bases.iter().flat_map(|base| formats.clone().map(move |text| (base, text))) {
        let format = format(text);
        let asked = base.with_format(&format);
        let expected = compute(base).unwrap();
        let run = || compute((&asked, base)).unwrap();
        for (found, plain) in
            [run(), with_scheduler(InterpretPlan, run), with_scheduler(InterpretKernel, run)]
        {
            assert_eq!(elements(&found), elements(&expected), "{text}");
            assert!(format.admits(&found.format()), "{} is not {text}", found.format());
            assert_eq!((found.fill(), plain.fill()), (asked.fill(), base.fill()));
            if !format.is_strided() {
                assert_eq!(found.fill(), base.fill().or(Some(Scalar::F64(0.0))));
            }
        }
        // Elsewhere nothing but the fill changes.
        assert_eq!(
            elements(&compute(asked.sum(0) + 1.0).unwrap()),
            elements(&compute(base.sum(0) + 1.0).unwrap())
        );
    }
    let input = matrix("A", "csr");
    let graph =
        CompiledGraph::new(&[(&input * 2.0).with_format(&Format::csc())], CompileOptions::default()).unwrap();
    let found = graph.call(&[("A", &sparse)]).unwrap().remove(0);
    assert!(Format::csc().admits(&found.format()));
    assert_eq!(elements(&found), elements(&sparse).iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

#[test]
fn a_result_that_does_not_fit_its_format_says_why() {
    let lower: LazyTensor =
        defer(&data(5, &[3, 3], 1, 0.0)).with_format(&format("{d0: dense, d1: interval(..+1)} iso"));
    let error = compute(&lower).unwrap_err().to_string();
    assert!(error.contains("interval"), "{error}");
    let options = CompileOptions { max_bytes: Bytes(5000), ..CompileOptions::default() };
    let full = defer(&Tensor::full([20, 20], 1.0).unwrap()).with_format(&Format::csr());
    assert!(matches!(compute_as(&full, &options), Err(Error::Budget { .. })));
}

#[test]
fn a_mask_updates_what_is_given_away() {
    let mask = input("mask", DType::Bool, [sizes()[0].clone()]).unwrap().with_format(&format("csf(1)"));
    let x = input("x", DType::F64, [sizes()[0].clone()]).unwrap();
    let graph = CompiledGraph::new(&[where_(&mask, &x + 1.0, &x)], scheduled(InterpretKernel)).unwrap();
    let at = Tensor::from(vec![3_i64, 70_000]);
    let mask = Tensor::coo([100_000], &[at], vec![true, true], Duplicates::Refuse).unwrap();
    let mask = mask.with_format(&format("csf(1)")).unwrap();
    let mut x = Tensor::full([100_000], 1.0).unwrap();
    let memory = x.data_ptr();
    for step in 0..3 {
        let given = vec![("x", x), ("mask", mask.clone())];
        let (mut found, report) = graph.call_donating_reported(&[], given).unwrap();
        x = found.remove(0);
        assert_eq!((x.data_ptr(), report.donated_inputs), (memory, 1), "{step}");
        assert!(report.work.unwrap() < 20);
    }
    // What is kept is copied.
    let (found, report) = graph.call_reported(&[], &[("x", &x), ("mask", &mask)]).unwrap();
    assert_eq!(report.donated_inputs, 0);
    let element = |tensor: &Tensor, at: usize| tensor.get(&[at]).unwrap().to_f64();
    assert_eq!([3, 4, 70_000].map(|at| element(&x, at)), [4.0, 1.0, 4.0]);
    assert_eq!([3, 4, 70_000].map(|at| element(&found[0], at)), [5.0, 1.0, 5.0]);
    assert_eq!(graph.report().donated_inputs, 3);
}

/// Results that are to be dense are, whatever their expressions say.
#[test]
fn results_without_a_fill() {
    let n = Dim::new("N", ..).unwrap();
    let x = input("X", DType::F64, [n.clone(), n]).unwrap().with_format(&Format::csr());
    let outputs = [x.to_dense(), (&x * 2.0).to_dense(), &x * 2.0, x.to_dense() + 1.0];
    let graph = CompiledGraph::new(&outputs, CompileOptions::default()).unwrap();
    for size in [5, 0, 1] {
        let argument = stored(11, &[size, size], "csr");
        let results = graph.call(&[("X", &argument)]).unwrap();
        let kinds: Vec<_> = results.iter().map(|r| (r.stored().is_some(), r.fill().is_some())).collect();
        assert!(!kinds[0].0 && !kinds[1].0 && !kinds[3].0, "{kinds:?}");
        assert_eq!(kinds.iter().map(|kind| kind.1).collect::<Vec<_>>(), [false, false, true, false]);
        let values = elements(&argument);
        let expected = [1.0, 2.0, 2.0, 1.0].map(|by| values.iter().map(|x| x * by).collect::<Vec<_>>());
        for (at, (result, want)) in results.iter().zip(expected).enumerate() {
            let more = if at == 3 { 1.0 } else { 0.0 };
            assert_eq!(elements(result), want.iter().map(|x| x + more).collect::<Vec<_>>());
        }
    }
    // A dense result takes the memory of all elements.
    let at = Tensor::from(vec![1_i64]);
    let large = Tensor::coo([1 << 20, 1 << 20], &[at.clone(), at], vec![2.0], Duplicates::Refuse).unwrap();
    let options = CompileOptions { max_bytes: Bytes(1 << 20), ..Default::default() };
    assert!(matches!(compute_as(defer(&large).to_dense(), &options), Err(Error::Budget { .. })));
}
