//! Which programs share code, by fills of arguments and by what numbers decide; alone in its process, since it counts what is
//! compiled.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    Format, LazyTensor, Scalar, Tensor, cache_entries, cache_report, compute, defer, maximum, minimum, where_,
};

#[test]
fn programs_share_code() {
    they_differ_by_the_names_of_fills_only();
    they_differ_by_what_numbers_decide_only();
    what_numbers_decide_is_a_reason();
}

fn they_differ_by_the_names_of_fills_only() {
    let matrix = Tensor::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let ones = defer(Tensor::full([2, 2], 1.0).unwrap());
    let counted = |fill: f64| {
        let filled = matrix.clone().with_fill(Some(Scalar::from(fill))).unwrap();
        let before = cache_report().compilations;
        compute(defer(filled.with_format(&Format::csr()).unwrap()) * &ones).unwrap();
        cache_report().compilations - before
    };
    // Laws take 0 and -0 for one fill; what is not stored has another sign, so that conversions tell them apart.
    assert_eq!([0.0, -0.0, 3.5, 4.5, 0.0, 3.5].map(counted), [1, 1, 1, 0, 0, 0]);
}

const VALUES: [f64; 4] = [0.0, 6.0, 0.0, -5.0];

fn stored() -> LazyTensor {
    let zero = Some(Scalar::from(0.0));
    let matrix = Tensor::from_shape_vec([2, 2], VALUES.to_vec()).unwrap().with_fill(zero).unwrap();
    defer(matrix.with_format(&Format::csr()).unwrap())
}

fn dense() -> LazyTensor {
    defer(Tensor::from_shape_vec([2, 2], VALUES.to_vec()).unwrap())
}

/// For each of some numbers, whether a program is compiled, and whether its result is stored by levels. Values are those of
/// dense arguments, which one program gives for all numbers.
#[track_caller]
fn check(program: fn(LazyTensor, f64, f64) -> LazyTensor, numbers: &[(f64, f64)], want: &[(u64, bool)]) {
    let mut found = Vec::new();
    for (at, &(x, y)) in numbers.iter().enumerate() {
        let before = cache_report().compilations;
        let result = compute(program(stored(), x, y)).unwrap();
        let between = cache_report().compilations;
        let expected = compute(program(dense(), x, y)).unwrap();
        let compiled = (between - before, cache_report().compilations - between);
        assert_eq!(compiled.1, u64::from(at == 0), "dense programs are one");
        found.push((compiled.0, result.stored().is_some()));
        let values = |tensor: Tensor| tensor.cast(tensorjit::DType::F64).unwrap().to_vec::<f64>().unwrap();
        let fill = result.fill().map(Scalar::to_f64);
        assert_eq!(values(result), values(expected.clone()), "{x}, {y}");
        assert_eq!(fill, Some(expected.get(&[0, 0]).unwrap().to_f64()), "the first element is not stored");
    }
    assert_eq!(found, want);
}

fn they_differ_by_what_numbers_decide_only() {
    const INF: f64 = f64::INFINITY;
    let with = |numbers: &[f64]| numbers.iter().map(|&x| (x, 0.0)).collect::<Vec<_>>();
    check(
        |a, x, _| a.greater(x),
        &with(&[4.0, 7.0, 0.5, INF, -3.0, -0.5]),
        &[(1, true), (0, true), (0, true), (0, true), (1, true), (0, true)],
    );
    // Least, greatest, and numbers without a name.
    check(
        |a, x, _| minimum(a, x),
        &with(&[5.0, 0.5, INF, -4.0, -7.5, -INF]),
        &[(1, true), (0, true), (0, true), (1, false), (0, false), (1, true)],
    );
    check(
        |a, x, y| a.clip(x, y),
        &[(-2.5, 7.0), (-INF, 3.0), (3.0, 7.0), (-9.0, -4.0), (-8.0, 4.0)],
        &[(1, true), (0, true), (1, false), (1, false), (0, true)],
    );
    // Of two numbers, and through one that has no name.
    check(
        |a, x, y| maximum(a, x) - y,
        &[(0.5, 0.5), (3.0, 3.0), (3.0, 2.5), (-3.0, 2.5)],
        &[(1, true), (0, true), (1, false), (1, false)],
    );
    check(
        |a, x, y| where_(&a.greater(x), y, &a),
        &[(5.0, 5.0), (3.0, 7.5), (-3.0, 2.5), (-0.5, 7.5), (-0.5, INF)],
        &[(1, true), (0, true), (1, false), (0, false), (1, true)],
    );
    // Numbers that decide nothing: a product has the fill 0, and a sum has no name.
    check(|a, x, _| a * x, &with(&[3.0, 2.5, -4.0]), &[(1, true), (0, true), (0, true)]);
    check(|a, x, _| a + x, &with(&[3.0, 2.5, -4.0]), &[(1, false), (0, false), (0, false)]);
}

fn what_numbers_decide_is_a_reason() {
    let last = |x: f64| {
        compute(stored().less(x)).unwrap();
        cache_entries()[0].reason.clone()
    };
    last(-3.0);
    let reason = last(3.0);
    assert!(reason.contains("the fill that numbers give of less"), "{reason}");
}
