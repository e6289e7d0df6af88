//! Which programs share code, by the fills of their arguments; alone in its process, since it counts what is compiled.

use tensorjit::{Format, Scalar, Tensor, cache_report, compute, defer};

#[test]
fn programs_differ_by_the_names_of_fills_only() {
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
