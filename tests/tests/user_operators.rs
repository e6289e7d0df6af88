//! Operators of the user's own: the bits of their bodies written out, on every engine; reductions by them; what is wrong
//! with a definition is said where it is used, and leaves everything usable.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    CompileOptions, CompiledGraph, DType, Dim, LazyTensor, Op, Scalar, ScalarOp, Tensor, compute, defer,
    explain, input, where_,
};
use tj_tests::engines::{Call, Named, engines, same_everywhere};

fn smooth() -> ScalarOp {
    ScalarOp::binary("smooth", |x, y| (x.exp() + y.exp()).log())
        .commutative()
        .associative()
        .identity(f64::NEG_INFINITY)
}

/// Not associative, nor does it commute.
fn skew() -> ScalarOp {
    ScalarOp::binary("skew", |x, y| where_(&x.greater(&y), &x - &y, &y * 0.5))
}

fn some_engines() -> Vec<Named> {
    let mut all = engines();
    all.retain(|(name, _)| ["kernel interpreter", "cranelift, 2 threads"].contains(name));
    all
}

fn numbers(dtype: DType, shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let all: Tensor = (0..count).map(|k| ((k * 37) % 64) as f64 / 8.0 - 3.0).collect();
    all.cast(dtype).unwrap().reshape(shape).unwrap()
}

#[test]
fn the_bits_are_those_of_the_body() {
    let plus = ScalarOp::binary("plus", |x, y| x + y).commutative().associative().identity(0);
    for dtype in [DType::F64, DType::F32, DType::F16, DType::I32] {
        let [n, m] = ["N", "M"].map(|name| Dim::new(name, ..).unwrap());
        let x = input("x", dtype, [n, m.clone()]).unwrap();
        let y = input("y", dtype, [m]).unwrap();
        let half = dtype == DType::F16;
        let sum = |axis: i64| if half { x.sum(axis) } else { x.sum_in(axis, dtype) };
        let outputs = [
            smooth().apply([&x, &y]),
            (x.exp() + y.exp()).log(),
            skew().apply([&x, &y]) * 2,
            where_(&x.greater(&y), &x - &y, &y * 0.5) * 2,
            x.reduce(&plus, 1),
            sum(1),
            x.reduce(&plus, 0),
            sum(0),
        ];
        let data: Vec<_> = [(1, 1), (3, 33), (70, 2), (2, 4100)]
            .map(|(n, m)| (numbers(dtype, &[n, m]), numbers(dtype, &[m])))
            .into();
        let calls: Vec<Call<'_>> = data
            .iter()
            .map(|(x, y)| Call { bindings: Vec::new(), inputs: vec![("x", x), ("y", y)] })
            .collect();
        let found = same_everywhere(&outputs, &[x, y], &calls, &some_engines()).unwrap();
        for results in found {
            let results = results.unwrap();
            for pair in results.chunks(2) {
                assert_eq!(pair[0].to_string(), pair[1].to_string(), "{dtype}");
            }
        }
    }
}

#[test]
fn reductions_follow_what_is_declared() {
    let n = Dim::new("N", ..).unwrap();
    let x = input("x", DType::F32, [n, 3.into()]).unwrap();
    let outputs =
        [x.reduce(&smooth(), 0), x.reduce(&smooth(), 1), x.reduce(&skew(), 1), x.reduce(&smooth(), ())];
    let data: Vec<Tensor> = [0, 1, 40, 4200].map(|n| numbers(DType::F32, &[n, 3])).into();
    let calls: Vec<Call<'_>> =
        data.iter().map(|x| Call { bindings: Vec::new(), inputs: vec![("x", x)] }).collect();
    let found = same_everywhere(&outputs, std::slice::from_ref(&x), &calls, &some_engines()).unwrap();
    assert_eq!(found[0].as_ref().unwrap()[3].get(&[]).unwrap(), Scalar::F32(f32::NEG_INFINITY));

    // One after the other: ((5 skew 3) skew 2) skew 4 = ((2) skew 2) skew 4 = 1 skew 4 = 2.
    let x = defer(Tensor::from(vec![5.0, 3.0, 2.0, 4.0]));
    assert_eq!(compute(&x.reduce(&skew(), 0)).unwrap().get(&[]).unwrap(), Scalar::F64(2.0));

    // Without an identity, and over nothing.
    let nothing = defer(Tensor::from(Vec::<f64>::new()));
    let error = compute(&nothing.reduce(&skew(), 0)).unwrap_err().to_string();
    assert!(error.contains("skew: it is undefined over axis 0 of size 0"), "{error}");
}

#[test]
fn laws_that_cannot_be_are_refused() {
    let x = defer(Tensor::from(vec![1.0, 2.0]));
    let product = || ScalarOp::binary("product", |x, y| x * y);
    let laws = [
        (product().distributes_over(Op::Exp), "product: nothing distributes over exp"),
        (product().annihilator(2, 0, 0), "product: there is no argument 2 that could decide"),
    ];
    for (wrong, text) in laws {
        for error in
            [wrong.apply([&x, &x]).check(), x.reduce(&wrong, 0).check(), wrong.check_algebra(DType::F64)]
        {
            assert!(error.unwrap_err().to_string().starts_with(text));
        }
    }
}

#[test]
fn equal_names_of_different_bodies_are_different() {
    let x = defer(Tensor::from(vec![1.0, 2.0]));
    let [a, b] = [1.0, 10.0].map(|by| ScalarOp::unary("scaled", move |x| x * by + by));
    let results = compute((&a.apply([&x]), &b.apply([&x]))).unwrap();
    assert_eq!(results.0.to_string(), Tensor::from(vec![2.0, 3.0]).to_string());
    assert_eq!(results.1.to_string(), Tensor::from(vec![20.0, 30.0]).to_string());
}

#[test]
fn explain_shows_the_body() {
    let x = input("x", DType::F64, [Dim::new("N", ..).unwrap()]).unwrap();
    let text = explain(x.reduce(&smooth(), 0)).unwrap().to_string();
    for part in
        ["operator op0_smooth(f64, f64) commutative associative identity", "x2 = exp(x0)", "op0_smooth<row>"]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn mistakes_leave_everything_usable() {
    let x = defer(Tensor::from(vec![1.0, 2.0]));
    let panics = ScalarOp::unary("panics", |x| if x.rank() > 0 { panic!("on purpose") } else { x });
    let failed = panics.apply([&x]);
    let error = failed.check().unwrap_err();
    assert_eq!(error.cause.to_string(), "panics: its body panicked on f64: on purpose");
    assert_eq!(error.location.file(), file!());
    assert!(compute(&failed).is_err());
    let again = compute(&smooth().apply([&x, &x])).unwrap();
    assert_eq!(again.shape(), [2]);

    let (bits, other) = (ScalarOp::binary("bits", |x, y| x & y), x.clone());
    let reads = ScalarOp::unary("reads", move |x| x + &other);
    let first = ScalarOp::unary("first", |x| x.flip(0));
    for (made, text) in [
        (bits.apply([&x, &x]), "bits: its body fails on f64 and f64: and is not defined on f64 and f64 ("),
        (reads.apply([&x]), "reads: its body reads data, which is no argument of it"),
        (first.apply([&x]), "first: its body is not elementwise: it uses flip"),
        (smooth().apply([&x]), "smooth: takes 2 arguments, got 1"),
        (ScalarOp::unary("two words", |x| x).apply([&x]), "\"two words\" is not a name"),
        (x.reduce(&first, 0), "first: it has 1 arguments, and a reduction combines two"),
    ] {
        let found = made.check().unwrap_err().cause.to_string();
        assert!(found.starts_with(text), "{found}");
    }
}

/// The same program, built again of an equal definition, is found.
#[test]
fn equal_definitions_share_code() {
    let program = |x: &LazyTensor| smooth().apply([x, &(x * 2)]).reduce(&smooth(), 0);
    let mut structure = tj_ir::Structure::new();
    let words = [1, 2].map(|n| {
        structure.read(&[program(&defer(numbers(DType::F64, &[n + 3])))]).unwrap();
        structure.words().to_vec()
    });
    assert_eq!(words[0], words[1]);
    let x = input("x", DType::F64, [4.into()]).unwrap();
    assert!(CompiledGraph::new(&[program(&x)], CompileOptions::default()).is_ok());
}
