//! Wrong calls give exact messages, and the next call works.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    Bytes, CompileOptions, CompiledGraph, DType, Dim, Duplicates, LazyTensor, OutputView, Tensor, compute,
    constant, defer, input,
};

const X: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

fn f32s(shape: &[usize]) -> Tensor {
    Tensor::full(shape, 1.0_f32).unwrap()
}

/// `sum(x @ w + b, axis 1)` over `x[n, k]`, `w[k, 4]`, `b[m]`, with `m` guarded to be 4, and 2 <= n <= 100.
fn program() -> LazyTensor {
    let (n, k) = (Dim::new("n", 2..=100).unwrap(), Dim::new("k", ..).unwrap());
    let m = Dim::new("m", ..).unwrap();
    let x = input("x", DType::F32, [n, k.clone()]).unwrap();
    let w = input("w", DType::F32, [k, 4.into()]).unwrap();
    let b = input("b", DType::F32, [m]).unwrap();
    (x.matmul(&w) + b).sum(1)
}

fn graph(options: CompileOptions) -> CompiledGraph {
    CompiledGraph::new(&[program()], options).unwrap()
}

/// The line that the guard of `+` names.
fn location(line: &str) -> String {
    let text = include_str!("errors.rs");
    let (number, found) = text.lines().enumerate().find(|(_, l)| l.contains(line)).unwrap();
    format!("{}:{}:{}", file!(), number + 1, found.find(line).unwrap() + 1)
}

type Inputs<'a> = Vec<(&'a str, &'a Tensor)>;
type Bindings<'a> = &'a [(&'a str, i64)];

#[test]
fn wrong_arguments() {
    let graph = graph(CompileOptions::default());
    let (x, w, b) = (f32s(&[2, 3]), f32s(&[3, 4]), f32s(&[4]));
    let good = [("x", &x), ("w", &w), ("b", &b)];
    let (wide, narrow, flat) = (f32s(&[2, 5]), f32s(&[1, 3]), f32s(&[6]));
    let (long, doubles) = (f32s(&[101, 3]), Tensor::full([3, 4], 1.0_f64).unwrap());
    let (other, short) = (f32s(&[3, 5]), f32s(&[3]));
    let guard = format!(
        "4 == m does not hold: m = 3 (axis 0 of input b); needed by add of [n, 4] and [m] ({})",
        location("(x.matmul(&w) + b).sum(1)")
    );
    let cases: Vec<(Inputs<'_>, Bindings<'_>, &str)> = vec![
        (vec![("x", &flat), ("w", &w), ("b", &b)], &[], "input x has rank 1, declared f32[n, k]"),
        (vec![("x", &x), ("w", &doubles), ("b", &b)], &[], "input w has dtype f64, declared f32"),
        (vec![("x", &x), ("w", &other), ("b", &b)], &[], "axis 1 of input w has size 5, but declared 4"),
        (
            vec![("x", &wide), ("w", &w), ("b", &b)],
            &[],
            "axis 0 of input w has size 3, but k = 5 (axis 1 of input x)",
        ),
        (
            vec![("x", &long), ("w", &w), ("b", &b)],
            &[],
            "size n is 101 (axis 0 of input x), but its bounds are 2..=100",
        ),
        (
            vec![("x", &narrow), ("w", &w), ("b", &b)],
            &[],
            "size n is 1 (axis 0 of input x), but its bounds are 2..=100",
        ),
        (vec![("x", &x), ("w", &w), ("b", &short)], &[], &guard),
        (vec![("x", &x), ("w", &w)], &[], "input b (f32[m]) is missing"),
        (vec![], &[], "input x (f32[n, k]) is missing"),
        (vec![("x", &x), ("w", &w), ("y", &b)], &[], "the program has no input y; it takes x, w, b"),
        (vec![("x", &x), ("w", &w), ("b", &b), ("x", &x)], &[], "input x is given twice"),
        (good.to_vec(), &[("h", 1)], "the program has no size h; it has n, k, m"),
        (good.to_vec(), &[("k", 3), ("k", 4)], "size k is given twice: 3 and 4"),
        (good.to_vec(), &[("k", 4)], "axis 1 of input x has size 3, but k = 4 (given)"),
    ];
    for (inputs, bindings, want) in cases {
        let error = graph.call_with_bindings(bindings, &inputs).unwrap_err();
        assert_eq!(error.to_string(), want);
        let out = graph.call(&good).unwrap();
        assert_eq!(out[0].to_vec::<f32>().unwrap(), [16.0, 16.0], "after: {want}");
    }
    assert_eq!(graph.call_with_bindings(&[("k", 3), ("k", 3)], &good).unwrap().len(), 1);
}

#[test]
fn sizes_that_no_argument_determines() {
    let n = Dim::new("n", 1..=9).unwrap();
    let y = constant(&Tensor::scalar(2.0)).broadcast_to(&[n]);
    let graph = CompiledGraph::new(&[y], CompileOptions::default()).unwrap();
    let cases: [(&[(&str, i64)], &str); 3] = [
        (&[], "size n is not determined by any argument; give it as a binding"),
        (&[("n", 0)], "size n is 0 (given), but its bounds are 1..=9"),
        (&[("n", -1)], "size n is -1 (given), but its bounds are 1..=9"),
    ];
    for (bindings, want) in cases {
        assert_eq!(graph.call_with_bindings(bindings, &[]).unwrap_err().to_string(), want);
        assert_eq!(graph.call_with_bindings(&[("n", 2)], &[]).unwrap()[0].to_vec::<f64>().unwrap(), [2.0; 2]);
    }
    let name = Tensor::scalar(1.0);
    let error = graph.call_with_bindings(&[("n", 2)], &[("x", &name)]).unwrap_err();
    assert_eq!(error.to_string(), "the program has no input x; it takes none");
}

#[test]
fn sizes_that_are_expressions() {
    let n = Dim::new("n", ..).unwrap();
    let x = input("x", DType::F32, [&n * 2 + 1]).unwrap();
    let y = input("y", DType::F32, [n]).unwrap();
    let (x7, x4) = (f32s(&[7]), f32s(&[4]));
    let graph = CompiledGraph::new(&[x.sum(0)], CompileOptions::default()).unwrap();
    assert_eq!(
        graph.call(&[("x", &x4)]).unwrap_err().to_string(),
        "axis 0 of input x has size 4, but declared 2*n + 1: 2*n + 1 = 4 has no whole solution for n: 3 / 2 leaves 1"
    );
    assert_eq!(graph.call(&[("x", &x7)]).unwrap()[0].item::<f32>(), Ok(7.0));
    let graph = CompiledGraph::new(&[x.sum(0) + y.sum(0)], CompileOptions::default()).unwrap();
    assert_eq!(
        graph.call(&[("x", &x7), ("y", &x4)]).unwrap_err().to_string(),
        "axis 0 of input x has size 7, but 2*n + 1 = 9 with n = 4 (axis 0 of input y)"
    );
}

#[test]
fn counts_of_data_that_overflow() {
    let one = || Tensor::from(vec![1_i64]);
    let x = Tensor::coo([1 << 40, 1 << 41], &[one(), one()], vec![4.0], Duplicates::Sum).unwrap();
    let x = defer(&x);
    assert_eq!(compute(x.sum(())).unwrap().to_vec::<f64>().unwrap(), [4.0]);
    let error = compute(x.mean(())).unwrap_err().to_string();
    assert_eq!(error, "1099511627776*2199023255552 does not fit in 64 bits");
}

#[test]
fn counts_that_overflow() {
    let n = Dim::new("n", ..).unwrap();
    let x = input("x", DType::F32, []).unwrap();
    let graph = CompiledGraph::new(&[x.broadcast_to(&[n.clone(), n])], CompileOptions::default()).unwrap();
    let one = f32s(&[]);
    for n in [1_i64 << 31, 1 << 40, 1 << 62] {
        let error = graph.call_with_bindings(&[("n", n)], &[("x", &one)]).unwrap_err();
        let count = n as u128 * n as u128;
        assert_eq!(
            error.to_string(),
            format!("output 0: {count} elements of 4 bytes ([{n}, {n}]) does not fit in 64 bits")
        );
        assert_eq!(graph.call_with_bindings(&[("n", 2)], &[("x", &one)]).unwrap()[0].shape(), [2, 2]);
    }
}

#[test]
fn budgets_are_checked_before_anything_is_allocated() {
    let graph = graph(CompileOptions { max_bytes: Bytes(10_000), ..Default::default() });
    let (x, w, b) = (f32s(&[2, 3]), f32s(&[3, 4]), f32s(&[4]));
    assert!(graph.call(&[("x", &x), ("w", &w), ("b", &b)]).is_ok());
    // Repeated views store four bytes, but would be copied whole.
    let one = f32s(&[]);
    let large = one.broadcast_to([100, 1 << 40]).unwrap();
    let tall = one.broadcast_to([1 << 40, 4]).unwrap();
    let error = graph.call(&[("x", &large), ("w", &tall), ("b", &b)]).unwrap_err().to_string();
    let (needed, allowed) = numbers(&error);
    assert_eq!(allowed, 10_000, "{error}");
    assert!(needed > (100 * 4) << 40, "{error}");
    assert!(graph.call(&[("x", &x), ("w", &w), ("b", &b)]).is_ok());

    // Exactly what is needed is enough, one byte less is not.
    let needed = graph.call_reported(&[], &[("x", &x), ("w", &w), ("b", &b)]).unwrap().1.peak_bytes;
    for (allowed, fits) in [(needed, true), (needed - 1, false)] {
        let graph = self::graph(CompileOptions { max_bytes: Bytes(allowed), ..Default::default() });
        match graph.call(&[("x", &x), ("w", &w), ("b", &b)]) {
            Ok(_) => assert!(fits),
            Err(error) => {
                assert!(!fits);
                assert_eq!(
                    error.to_string(),
                    format!("the call needs {needed} bytes, but {allowed} are allowed")
                );
            }
        }
    }
}

/// The two numbers of a budget error.
fn numbers(error: &str) -> (u64, u64) {
    let numbers: Vec<u64> = error.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers.len(), 2, "{error}");
    (numbers[0], numbers[1])
}

#[test]
fn outputs_that_do_not_fit() {
    let x = input("x", DType::F32, [Dim::new("n", ..).unwrap(), 3.into()]).unwrap();
    let graph = CompiledGraph::new(&[x.sum(1), x.sum(0)], CompileOptions::default()).unwrap();
    let x = Tensor::from_shape_vec([2, 3], X.to_vec()).unwrap();
    let (mut rows, mut columns, mut wide) = ([0.0_f32; 2], [0.0_f32; 3], [0.0_f64; 2]);
    assert_eq!(
        OutputView::new(&[3], &mut rows).unwrap_err().to_string(),
        "output 0 has 8 bytes, but shape [3] needs 12"
    );
    let error = graph.call_into(&[("x", &x)], &mut [OutputView::new(&[2], &mut rows).unwrap()]);
    assert_eq!(error.unwrap_err().to_string(), "the program has 2 outputs, but 1 view was given");
    assert_eq!(
        graph.call_into(&[("x", &x)], &mut []).unwrap_err().to_string(),
        "the program has 2 outputs, but 0 views were given"
    );
    let mut views = [OutputView::new(&[2], &mut wide).unwrap(), OutputView::new(&[3], &mut columns).unwrap()];
    let error = graph.call_into(&[("x", &x)], &mut views);
    assert_eq!(error.unwrap_err().to_string(), "output 0 is f64[2], but the result is f32[2]");
    let mut views =
        [OutputView::new(&[2], &mut rows).unwrap(), OutputView::new(&[3, 1], &mut columns).unwrap()];
    let error = graph.call_into(&[("x", &x)], &mut views);
    assert_eq!(error.unwrap_err().to_string(), "output 1 is f32[3, 1], but the result is f32[3]");
    assert_eq!((rows, columns), ([0.0; 2], [0.0; 3]));
    let mut views = [OutputView::new(&[2], &mut rows).unwrap(), OutputView::new(&[3], &mut columns).unwrap()];
    graph.call_into(&[("x", &x)], &mut views).unwrap();
    assert_eq!((rows, columns), ([6.0, 15.0], [5.0, 7.0, 9.0]));
}

#[test]
fn programs_that_are_wrong() {
    let size = |name: &str, most: i64| Dim::new(name, 0..=most).unwrap();
    let x = |shape: Vec<Dim>| input("x", DType::F32, shape).unwrap();
    let cases: Vec<(Vec<LazyTensor>, &str)> = vec![
        (vec![x(vec![3.into()]) + x(vec![4.into()])], "add: shapes [3] and [4] do not fit: 3 is not 4 ("),
        (
            vec![x(vec![3.into()]).exp(), x(vec![4.into()]).exp()],
            "input x is declared twice: f32[3] and f32[4] (",
        ),
        (
            vec![x(vec![size("n", 5)]).exp(), input("y", DType::F32, [size("n", 6)]).unwrap()],
            "size n is declared twice: bounds 0..=5 and 0..=6 (",
        ),
    ];
    for (outputs, want) in cases {
        let error = CompiledGraph::new(&outputs, CompileOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error} is not {want}");
        assert!(error.contains("tests/tests/errors.rs:"), "{error}");
    }
}

/// Sizes that values decide are named by what selects, and sizes of data are those of the call, whatever code it runs.
#[test]
fn counts_that_do_not_fit() {
    let numbers = |n: usize| defer(&Tensor::from((0..n as i64).collect::<Vec<i64>>()));
    let fails = |lazy: LazyTensor, line: &str, want: &str| {
        let found = compute(lazy).unwrap_err().to_string();
        assert_eq!(found, format!("{want} ({})", location(line)));
    };
    // All but the first run code that is there.
    for n in [2, 7, 4] {
        let added = numbers(5).masked(&numbers(5).less(3)) + numbers(n);
        let want = format!(
            "masked(..) == {n} does not hold: masked(..) = 3; needed by add of [masked(..)] and [{n}]"
        );
        fails(added, "numbers(5).masked(&numbers(5).less(3)) + numbers(n)", &want);
    }
    let added = numbers(6).masked(&numbers(6).less(1).logical_not()) + numbers(9);
    let want = "masked(..) == 9 does not hold: masked(..) = 5; needed by add of [masked(..)] and [9]";
    fails(added, "numbers(6).masked(&numbers(6).less(1).logical_not()) + numbers(9)", want);
    // Of stored tensors, too.
    for (n, size) in [(4_usize, 3_usize), (6, 5)] {
        let at = Tensor::from(vec![0_i64, 2]);
        let vector = Tensor::coo([size], &[at], vec![1_i64, 2], Duplicates::Refuse).unwrap();
        let product = defer(&vector) * numbers(n).masked(&numbers(n).less(2));
        let want = format!(
            "{size} == masked(..) does not hold: masked(..) = 2; needed by mul of [{size}] and [masked(..)]"
        );
        fails(product, "defer(&vector) * numbers(n).masked(&numbers(n).less(2))", &want);
    }
    // A selection from what a selection gives.
    for n in [3_usize, 8] {
        let first = numbers(n).masked(&numbers(n).less(2));
        let second = first.masked(&numbers(n).less(9));
        let found = compute(second).unwrap_err().to_string();
        assert!(found.contains("needed by masked") && found.contains("masked(..) = 2"), "{found}");
    }
}
