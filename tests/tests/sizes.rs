//! Sizes that are negative, ranks that are great, and empty arrays with huge other axes, on every engine.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{CompileOptions, CompiledGraph, DType, Dim, LazyTensor, Tensor, at, input};
use tj_tests::engines::{Call, all_outcomes, engines, same_everywhere};

/// The shape of the result, or what the error says.
type Want = Result<&'static [usize], &'static str>;

fn of(name: &str, shape: &[i64]) -> LazyTensor {
    input(name, DType::I64, shape.iter().map(|&n| Dim::from(n))).unwrap()
}

#[test]
fn negative_sizes_are_refused_at_the_call() {
    let n = || Dim::new("N", ..).unwrap();
    let x = || input("x", DType::I64, [n()]).unwrap();
    let cases: Vec<(LazyTensor, usize, Want)> = vec![
        (x().sum(()).broadcast_to(&[n() - 5]), 7, Ok(&[2])),
        (x().sum(()).broadcast_to(&[n() - 5]), 5, Ok(&[0])),
        (
            x().sum(()).broadcast_to(&[n() - 5]),
            3,
            Err("0 <= N - 5 does not hold: N - 5 = -2, N = 3 (axis 0 of input x); \
                 needed by broadcast_to: N - 5 is the size of axis 0 ("),
        ),
        (x().reshape(&[Some(n() - 10), None]), 12, Ok(&[2, 6])),
        (
            x().reshape(&[Some(n() - 10), None]),
            4,
            Err("0 <= N - 10 does not hold: N - 10 = -6, N = 4 (axis 0 of input x); \
                 needed by reshape: N - 10 is the size of axis 0 ("),
        ),
        (
            x().reshape(&[Some(n() - 5), None]),
            2,
            Err("0 <= N - 5 does not hold: N - 5 = -3, N = 2 (axis 0 of input x); \
                 needed by reshape: N - 5 is the size of axis 0 ("),
        ),
    ];
    for (y, extent, want) in cases {
        let x = Tensor::arange(extent).unwrap();
        let call = Call { bindings: Vec::new(), inputs: vec![("x", &x)] };
        let got = all_outcomes(&[y + 0], &[], &[call]).remove(0);
        match (got, want) {
            (Ok(y), Ok(shape)) => assert_eq!(y[0].shape(), shape),
            (Err(error), Err(want)) => assert!(error.starts_with(want), "{error}"),
            (got, want) => panic!("{got:?} is not {want:?}"),
        }
    }
}

#[test]
fn the_greatest_rank_works() {
    let mut shape = [1; 32];
    (shape[0], shape[9], shape[30], shape[31]) = (2, 2, 2, 3);
    let extents = shape.map(|n| n as usize);
    let value = Tensor::arange(24).unwrap().reshape(extents).unwrap();
    let x = of("x", &shape);
    let named = |d: usize| Dim::new(&format!("N{d}"), ..).unwrap();
    let some_named = (0..32).map(|d| if shape[d] == 1 { Dim::ONE } else { named(d) });
    let z = input("z", DType::I64, some_named).unwrap();
    let y = x.reshape(&shape.map(|n| Some(Dim::from(n))));
    let square = x.matmul(&x.reshape(&{
        let mut turned = shape;
        turned.swap(30, 31);
        turned.map(|n| Some(Dim::from(n)))
    }));
    let flat = x.reshape(&[Some(24.into())]);
    let outputs = [
        &y + &y,
        x.sum(()),
        (&x * 2).sum([9, 31]),
        square.clone(),
        square.sum(0) + 1,
        (&flat + 1).reshape(&shape.map(|n| Some(Dim::from(n)))),
        x.transpose() + 0,
        x.max(31) * x.min(31),
        &z + 1,
        (&z * 2).sum([9, 31]),
        z.matmul(&z.permute(&(0..30).chain([31, 30]).collect::<Vec<_>>())),
    ];
    // Not in C: a compiler takes minutes for nests as deep as these.
    let call = Call { bindings: Vec::new(), inputs: vec![("x", &value), ("z", &value)] };
    let got = same_everywhere(&outputs, &[], &[call], &engines()).unwrap().remove(0).unwrap();
    let ints = |k: usize| got[k].to_vec::<i64>().unwrap();
    assert_eq!(ints(0), (0..24).map(|n| 2 * n).collect::<Vec<i64>>());
    assert_eq!(ints(1), [276]);
    // Per pair of axes 0 and 30, the sums over axes 9 and 31.
    assert_eq!(ints(2), [48, 84, 192, 228]);
    // The two rows of three of each block times its elements in an order of two columns.
    let products = (0..4).flat_map(|block| {
        let at = move |n: i64| 6 * block + n;
        (0..2).flat_map(move |i| (0..2).map(move |j| (0..3).map(|k| at(3 * i + k) * at(2 * k + j)).sum()))
    });
    let products: Vec<i64> = products.collect();
    assert_eq!(ints(3), products);
    assert_eq!(ints(4), (0..8).map(|n| products[n] + products[n + 8] + 1).collect::<Vec<i64>>());
    assert_eq!(ints(5), (1..=24).collect::<Vec<i64>>());
    assert_eq!(ints(6)[..4], [0, 12, 6, 18].map(|n| ints(6)[0] + n));
    assert_eq!((ints(8), ints(9)), (ints(5), ints(2)));
    let squares = (0..4).flat_map(|block| {
        let at = move |n: i64| 6 * block + n;
        (0..2).flat_map(move |i| (0..2).map(move |j| (0..3).map(|k| at(3 * i + k) * at(3 * j + k)).sum()))
    });
    assert_eq!(ints(10), squares.collect::<Vec<i64>>());
    assert_eq!(ints(7), [0, 15, 48, 99, 168, 255, 360, 483]);

    // C compilers take minutes over nests with a symbol for each axis.
    let all = input("all", DType::I64, (0..32).map(named)).unwrap();
    let graph = CompiledGraph::new(&[&all + 1, (&all * 2).sum([9, 31])], CompileOptions::default()).unwrap();
    let got = graph.call(&[("all", &value)]).unwrap();
    assert_eq!([0, 1].map(|k| got[k].to_vec::<i64>().unwrap()), [ints(5), ints(2)]);
}

#[test]
fn greater_ranks_are_refused_in_words() {
    let x = of("x", &[1; 32]);
    let want = "a tensor of rank 33 is not supported; the greatest rank is 32 (";
    let y = x.expand_dims(3) * 2;
    let error = CompiledGraph::new(&[y], CompileOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("expand_dims: {want}")), "{error}");
    let error = input("y", DType::F32, vec![Dim::ONE; 33]).unwrap_err().to_string();
    assert!(error.starts_with(&format!("input y: {want}")), "{error}");
}

/// Whether sizes are known when the program is compiled or when it is called.
#[test]
fn empty_arrays_with_huge_axes_are_refused_in_words() {
    let huge = [1_i64 << 32, 1 << 32, 0];
    let named = ["A", "B", "C"].map(|name| Dim::new(name, ..).unwrap());
    let value = Tensor::zeros(DType::I64, [0]).unwrap().reshape(huge.map(|n| n as usize)).unwrap();
    let of = |shape| input("x", DType::I64, shape).unwrap();
    let known = "input x: the number of elements of [4294967296, 4294967296, 0] does not fit in 64 bits";
    let (x, y) = (of(named), of(huge.map(Dim::from)));
    let cases: Vec<(LazyTensor, Want)> = vec![
        (&x + 1, Ok(&[1 << 32, 1 << 32, 0])),
        (x.sum(0), Ok(&[1 << 32, 0])),
        (
            x.transpose() * 2,
            Err("input x: the product of the sizes of [4294967296, 4294967296, 0] other than 0 \
                 does not fit in 64 bits"),
        ),
        (&y + 1, Err(known)),
        (y.sum(0), Err(known)),
        (y.index([at(0, 1, 1)]) + 1, Err(known)),
    ];
    for (y, want) in cases {
        let called = CompiledGraph::new(&[y], CompileOptions::default())
            .and_then(|graph| graph.call(&[("x", &value)]));
        let got = called.map(|y| y[0].shape().to_vec()).map_err(|e| e.to_string());
        assert_eq!(got, want.map(<[usize]>::to_vec).map_err(str::to_string));
    }
}
