//! What random programs have found, each made small once.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    At, CompiledGraph, DType, Dim, Error, LazyTensor, Mode, Scheduler, Tensor, arange, compute, convolve,
    correlate, defer, input, interp,
};
use tj_plan::{GroupDecision, Grouping, Plan, Sizes};
use tj_tests::engines::{Call, all_outcomes, scheduled};
use tj_tests::everywhere;

fn symbol(name: &str) -> Dim {
    Dim::new(name, ..).unwrap()
}

fn bools(values: &[bool]) -> Tensor {
    Tensor::from(values.to_vec())
}

/// Sums of `bool` are or, products are and; kernels had no such addition.
#[test]
fn arithmetic_on_bool() {
    let n = symbol("n");
    let a = input("a", DType::Bool, [n.clone()]).unwrap();
    let b = input("b", DType::Bool, [n]).unwrap();
    let y = [&a + &b, &a * &b, a.maximum(&b), a.minimum(&b), a.fmax(&b), a.fmin(&b), a.matmul(&b)];
    let (a0, b0) = (bools(&[false, false, true, true]), bools(&[false, true, false, true]));
    let (or, and) = (bools(&[false, true, true, true]), bools(&[false, false, false, true]));
    let out = everywhere(&y, &[("a", &a0), ("b", &b0)]);
    for (out, want) in out.iter().zip([&or, &and, &or, &and, &or, &and]) {
        assert!(out.bit_eq(want), "{out:?} is not {want:?}");
    }
    assert_eq!(out[6].item::<bool>(), Ok(true));
}

/// What follows a product but shares less than its rows took the wrong axis for them.
#[test]
fn batched_product_summed_along_its_rows() {
    let n = symbol("n");
    let x = input("x", DType::F32, [n.clone(), 4.into(), n.clone()]).unwrap();
    let y = input("y", DType::F32, [n, 1.into()]).unwrap();
    let x0 = Tensor::full([3, 4, 3], 0.5_f32).unwrap();
    let y0 = Tensor::full([3, 1], 2.0_f32).unwrap();
    let product = x.matmul(&y);
    let out = everywhere(&[product.sum(1), product.sum(2)], &[("x", &x0), ("y", &y0)]);
    assert_eq!(out[0].to_vec::<f32>().unwrap(), [12.0; 3]);
    assert_eq!(out[1].to_vec::<f32>().unwrap(), [3.0; 12]);
}

/// Partial results of a reduction along columns were laid out by the columns of another query of the group.
#[test]
fn reduction_in_a_group_of_another_rank() {
    let (k, n) = (symbol("k"), symbol("n"));
    let x = input("x", DType::I32, [4.into(), k, n, 2.into()]).unwrap();
    let y: LazyTensor = 1 - &x;
    let x0 =
        Tensor::arange(4 * 4100 * 2).unwrap().cast(DType::I32).unwrap().reshape([4, 4100, 1, 2]).unwrap();
    let out = everywhere(&[y.clone(), y.min(1)], &[("x", &x0)]);
    let want: Vec<i32> = (1..=4).flat_map(|r| [1 - (8200 * r - 2), 1 - (8200 * r - 1)]).collect();
    assert_eq!(out[1].to_vec::<i32>().unwrap(), want);
}

/// A product that underflows to -0 stayed -0 in interpreters, but not in the library: block sums are added to +0.
#[test]
fn products_are_never_negative_zeros() {
    for (dtype, tiny) in [(DType::F32, 1e-30), (DType::F64, 1e-200)] {
        let n = symbol("n");
        let a = input("a", dtype, [n.clone(), 1.into()]).unwrap();
        let b = input("b", dtype, [1.into(), n]).unwrap();
        let full = |shape: [usize; 2], x: f64| Tensor::full(shape, x).unwrap().cast(dtype).unwrap();
        let out = everywhere(&[a.matmul(&b)], &[("a", &full([3, 1], -tiny)), ("b", &full([1, 3], tiny))]);
        assert!(out[0].bit_eq(&full([3, 3], 0.0)), "{:?}", out[0]);
    }
}

/// A symbol that only the start of a slice names was not one of the program's.
#[test]
fn a_symbol_that_no_shape_mentions() {
    let n = symbol("n");
    let x = input("x", DType::F64, [1.into()]).unwrap();
    let y = x.index([At::Slice { start: Some(n), stop: Some((-1).into()), step: 1 }]);
    let x0 = Tensor::from(vec![1.0]);
    let call = |bindings| Call { bindings, inputs: vec![("x", &x0)] };
    let outcomes = all_outcomes(&[y], &[], &[call(vec![("n", 3)]), call(vec![])]);
    assert_eq!(outcomes[0].as_ref().unwrap()[0].shape(), [0]);
    let error = outcomes[1].as_ref().unwrap_err();
    assert_eq!(error, "size n is not determined by any argument; give it as a binding");
}

/// A symbolic end of a slice is a position; a negative one was read out of bounds, which stopped with an internal
/// error.
#[test]
fn a_symbolic_end_that_turns_out_negative() {
    let n = symbol("n");
    let x = input("x", DType::I64, [n.clone()]).unwrap();
    let last = |start: Dim, step| x.index([At::Slice { start: Some(start), stop: None, step }]);
    let until = |stop: Dim, step| x.index([At::Slice { start: None, stop: Some(stop), step }]);
    let y = [last(&n - 5, 1), last(&n - 5, -1), until(&n - 5, 1), until(&n - 5, -1)];
    let want = [vec![2, 3, 4, 5, 6_i64], vec![2, 1, 0], vec![0, 1], vec![6, 5, 4, 3]];
    let (seven, three) = (Tensor::arange(7).unwrap(), Tensor::arange(3).unwrap());
    let call = |x| Call { bindings: vec![], inputs: vec![("x", x)] };
    let outcomes = all_outcomes(&y, &[], &[call(&seven), call(&three)]);
    for (out, want) in outcomes[0].as_ref().unwrap().iter().zip(&want) {
        assert_eq!(&out.to_vec::<i64>().unwrap(), want);
    }
    let error = outcomes[1].as_ref().unwrap_err();
    assert!(
        error.starts_with("0 <= n - 5 does not hold: n - 5 = -2, n = 3 (axis 0 of input x); "),
        "{error}"
    );
}

/// All queries in one kernel that shares no loop.
#[derive(Debug)]
struct OneKernel;

impl Scheduler for OneKernel {
    fn name(&self) -> &str {
        "one-kernel"
    }

    fn group(&self, plan: &Plan, _sizes: &Sizes) -> Grouping {
        let group = GroupDecision { queries: plan.query_ids().collect(), outer: 0 };
        Grouping { groups: vec![group], ..Grouping::separate(plan) }
    }
}

/// A kernel whose queries share no loop was cut along the first axis of its first query. Several such queries are
/// refused now; one is one task.
#[test]
fn queries_that_share_no_loop_in_one_kernel() {
    let n = symbol("n");
    let x = input("x", DType::F32, [n.clone(), n.clone()]).unwrap();
    let v = input("v", DType::F32, [n]).unwrap();
    let doubled = &v * 2.0;
    let programs: Vec<Vec<LazyTensor>> = vec![
        vec![x.matmul(&x)],
        vec![x.exp()],
        vec![x.sum(0)],
        vec![v.exp()],
        vec![x.matmul(&x).sum(0), x.matmul(&x).transpose() + 1.0],
        vec![doubled.clone(), doubled.flip(0) + x.sum(1), x.sum(0).sum(()) + doubled],
        vec![x.transpose() * 0.5, x.exp().sum(1).flip(0)],
    ];
    let data = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        let values: Tensor = (0..count).map(|k| (k * 31 % 17) as f32 - 8.0).collect();
        values.reshape(shape).unwrap()
    };
    for n in [0, 1, 40] {
        let (x0, v0) = (data(&[n, n]), data(&[n]));
        for program in &programs {
            let graph = match CompiledGraph::new(program, scheduled(OneKernel)) {
                Err(Error::Scheduler { .. }) => continue,
                graph => graph.unwrap(),
            };
            let inputs = [("x", &x0), ("v", &v0)];
            let used: Vec<_> = inputs
                .into_iter()
                .filter(|(name, _)| graph.input_names().any(|known| known == *name))
                .collect();
            let want = everywhere(program, &used);
            let got = graph.call(&used).unwrap();
            assert!(got.iter().zip(&want).all(|(g, w)| g.bit_eq(w)), "size {n}: {program:?}");
        }
    }
}

/// Which sign a computed NaN has depends on the machine, so no operator may show it.
#[test]
fn the_sign_of_nan_is_not_seen() {
    let n = symbol("n");
    let x = input("x", DType::F64, [n]).unwrap();
    let nan = [x.maximum(f64::NAN), (&x - &x) / (&x - &x), -(x.maximum(f64::NAN))];
    let y: Vec<LazyTensor> =
        nan.iter().flat_map(|nan| [(x.copysign(nan)), nan.signbit().cast(DType::F64)]).collect();
    let x0 = Tensor::full([40], -2.0).unwrap();
    for (position, out) in everywhere(&y, &[("x", &x0)]).iter().enumerate() {
        let want = if position % 2 == 0 { 2.0 } else { 0.0 };
        assert_eq!(out.to_vec::<f64>().unwrap(), [want; 40]);
    }
}

/// Between points with infinities, what the left point cannot tell the right one may, and two equal ones do.
#[test]
fn lines_to_infinity() {
    let inf = f64::INFINITY;
    let cases = [
        ([0.0, 1.0], [inf, 0.0], inf),
        ([0.0, 1.0], [0.0, -inf], -inf),
        ([0.0, 1.0], [inf, inf], inf),
        ([-inf, 1.0], [3.0, 4.0], 4.0),
        ([0.0, 1.0], [inf, -inf], f64::NAN),
    ];
    for (xp, fp, want) in cases {
        let [x, xp, fp] = [vec![0.5, f64::NAN], xp.into(), fp.into()].map(|v| defer(Tensor::from(v)));
        let found = compute(interp(&x, &xp, &fp)).unwrap().to_vec::<f64>().unwrap();
        assert!(found[0] == want || found[0].is_nan() && want.is_nan(), "{found:?} is not {want}");
        assert!(found[1].is_nan(), "{found:?}");
    }
}

/// A step that is far greater than the distance still leaves the first number.
#[test]
fn a_step_beyond_all_distances() {
    for (stop, step) in [(1e-200, 1e200), (1.0, f64::INFINITY), (-1.0, f64::NEG_INFINITY)] {
        assert_eq!(compute(arange(0.0, stop, step)).unwrap().to_vec::<f64>().unwrap(), [0.0]);
        assert!(compute(arange(0.0, stop, -step)).unwrap().is_empty());
    }
}

/// Beyond its ends a vector has nothing, which an infinity does not turn into NaN.
#[test]
fn convolutions_with_infinities() {
    let inf = f64::INFINITY;
    let [a, v] = [vec![1.0, 2.0, 3.0], vec![inf, 1.0]].map(|x| defer(Tensor::from(x)));
    let both = (convolve(&a, &v, Mode::Full), correlate(&a, &v, Mode::Full));
    let (convolved, correlated) = compute(both).unwrap();
    assert_eq!(convolved.to_vec::<f64>().unwrap(), [inf, inf, inf, 3.0]);
    assert_eq!(correlated.to_vec::<f64>().unwrap(), [1.0, inf, inf, inf]);
}
