//! Functions of whole tensors, on every engine: as outputs and as temporaries, between fused producers and consumers,
//! for sizes that are symbols.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use tensorjit::{
    At, Combine, CompileOptions, CompiledGraph, DType, Dim, LazyTensor, Order, ReduceOp, Side, Tensor, along,
    input,
};
use tj_tests::chaos;
use tj_tests::engines::{Call, all_outcomes, c_engines, engines, everywhere, same_everywhere};

/// Numbers with repeats, both zeros, NaN and infinities.
fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let special = [f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY];
    let value = |i: usize| {
        let i = (i + 1).wrapping_mul(2_654_435_761 + 2 * seed) >> 7;
        if i % 13 < special.len() { special[i % 13] } else { (i % 50) as f32 / 4.0 - 6.0 }
    };
    let values = (0..shape.iter().product()).map(value).collect();
    Tensor::from_shape_vec(shape, values).unwrap()
}

fn matrix() -> LazyTensor {
    input("x", DType::F32, [Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap()]).unwrap()
}

const SHAPES: [[usize; 2]; 7] = [[0, 3], [3, 0], [1, 1], [2, 7], [7, 2], [1000, 3], [5, 1000]];

/// Every engine, chaos among them, for all shapes of the one input.
fn check(outputs: &[LazyTensor], shapes: &[[usize; 2]]) {
    let tensors: Vec<Tensor> = shapes.iter().map(|shape| numbers(shape, 3)).collect();
    let calls: Vec<Call<'_>> =
        tensors.iter().map(|x| Call { bindings: Vec::new(), inputs: vec![("x", x)] }).collect();
    let mut all = engines();
    all.extend(c_engines());
    for seed in 0..3 {
        all.extend(chaos::engines(seed));
    }
    let outcomes = same_everywhere(outputs, &[], &calls, &all).unwrap();
    for outcome in outcomes {
        outcome.unwrap();
    }
}

#[test]
fn sorts_as_outputs_and_in_between() {
    let x = matrix();
    check(&[x.sort(1, Order::Ascending), x.argsort(0, Order::Descending)], &SHAPES);
    let y = (&x * 2.0 + 1.0).sort(0, Order::Descending);
    check(&[(&y - &x).abs().sum(1), y.transpose()], &SHAPES);
}

#[test]
fn scans_in_both_directions_and_with_a_first_value() {
    let x = matrix();
    let with = x.cumulative_sum(along(0).include_initial());
    check(&[x.cumulative_sum(1), with.sum(0), x.transpose().cumulative_sum(0) * 2.0], &SHAPES);
}

#[test]
fn takes_what_was_sorted() {
    let x = matrix();
    let order = x.argsort(1, Order::Ascending);
    let sorted = x.take_along_axis(&order, 1);
    check(
        &[sorted.equal(x.sort(1, Order::Ascending)), x.take(&order, 0).sum(2)],
        &[[1, 1], [7, 2], [1000, 3]],
    );
}

#[test]
fn what_cannot_be_computed_is_an_error_that_names_the_place() {
    let x = input("x", DType::F32, [Dim::new("N", ..).unwrap(), 2.into()]).unwrap();
    let at = input("at", DType::I64, [Dim::new("K", ..).unwrap()]).unwrap();
    let line = line!() + 1;
    let y = (x.take(&at, 0) + 1.0).sort(0, Order::Ascending);
    let values = numbers(&[4, 2], 1);
    let positions = |list: &[i64]| Tensor::from_shape_vec([list.len()], list.to_vec()).unwrap();
    let [right, wrong] = [positions(&[3, -4, 0]), positions(&[3, 4, -5])];
    let calls = [&right, &wrong, &right]
        .map(|at| Call { bindings: Vec::new(), inputs: vec![("x", &values), ("at", at)] });
    let outcomes = all_outcomes(&[y], &[], &calls);
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let error = outcomes[1].as_ref().unwrap_err();
    assert!(error.starts_with("take: ") && error.contains(&format!("calls.rs:{line}:")), "{error}");
}

#[test]
fn a_program_that_calls_is_not_exported() {
    let graph = CompiledGraph::new(&[matrix().sort(0, Order::Ascending)], CompileOptions::default()).unwrap();
    let folder = std::env::temp_dir();
    let paths = ["o", "h"].map(|end| folder.join(format!("calls_{}.{end}", std::process::id())));
    let error = graph.export_object(&paths[0], &paths[1], &["y"]).unwrap_err().to_string();
    assert!(error.starts_with("sort is computed by this library") && error.contains("calls.rs:"), "{error}");
    assert!(paths.iter().all(|path| !path.exists()));
}

#[test]
fn medians_and_quantiles() {
    let x = matrix();
    check(&[x.median(0), x.quantile(0.3, 1)], &[[1, 1], [2, 7], [7, 2], [1000, 3]]);
    let x = input("x", DType::I32, [Dim::new("N", ..).unwrap()]).unwrap();
    let values = Tensor::from_shape_vec([4], vec![7, -1, 3, 4]).unwrap();
    let outputs = [x.median(0), x.quantile(0.0, 0), x.quantile(0.25, 0), x.quantile(0.75, 0)];
    let found: Vec<f64> =
        everywhere(&outputs, &[("x", &values)]).iter().map(|t| t.to_vec::<f64>().unwrap()[0]).collect();
    assert_eq!(found, [3.5, -1.0, 2.0, 4.75]);
}

/// Positions and updates that are data, with sizes that are symbols.
#[test]
fn scatters_in_order() {
    let x = matrix();
    let order = x.argsort(0, Order::Descending);
    let outputs = [
        x.scatter_along_axis(&order, &(&x * 2.0), 0, Combine::Set),
        x.scatter_along_axis(&order, &x, 0, Combine::Reduce(ReduceOp::Sum)),
        x.scatter(&order.index([At::Ellipsis, At::Index(0)]), &x, 0, Combine::Reduce(ReduceOp::Max)),
        x.sort(0, Order::Ascending).transpose().searchsorted(&x.transpose(), Side::Right).cast(DType::F32),
        x.cumulative_prod(1),
        x.cumulative_min(along(0).include_initial()),
    ];
    check(&outputs, &[[1, 1], [2, 7], [7, 2], [1000, 3]]);
}
