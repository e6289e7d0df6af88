//! Wrong results from fusion and compilation.

use tensorjit::{At, CompileOptions, CompiledGraph, DType, Dim, OutputView, Tensor, at, axis};
use tj_tests::everywhere;

use crate::{arange, close, compile, declare, equal, fixed, symbols, tensor};

/// A01: a flip of one operand was merged with a later loop that reads it. Here the operand is given away, so that its
/// memory may be used for the result.
#[test]
fn a01_flip_of_an_operand_that_is_given_away() {
    let [n, m] = symbols(["n", "m"]);
    let (x, y) = (declare("x", DType::F64, &[&n, &m]), declare("y", DType::F64, &[&n, &m]));
    let z = y.sum(axis(1).keepdims()).broadcast_to(&[n.clone(), m.clone()]) + &y;
    let f = x.flip(1) + z;
    let x0 = tensor(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let y0 = tensor(&[2, 3], &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    let want = [7.0, 6.0, 5.0, 14.0, 13.0, 12.0];
    let out = everywhere(std::slice::from_ref(&f), &[("x", &x0), ("y", &y0)]);
    equal(&out[0], &tensor(&[2, 3], &want));
    for threads in [1, 3] {
        let graph = compile(std::slice::from_ref(&f), threads);
        let mut written = [0.0; 6];
        graph
            .call_into(&[("x", &x0), ("y", &y0)], &mut [OutputView::new(&[2, 3], &mut written).unwrap()])
            .unwrap();
        assert_eq!(written, want);
        let given = tensor(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let out = graph.call_donating(vec![("x", given), ("y", y0.clone())]).unwrap();
        equal(&out[0], &tensor(&[2, 3], &want));
    }
}

/// A03: compiling an expression re-associates additions.
#[test]
fn a03_additions_keep_their_order() {
    let [n] = symbols(["n"]);
    for shape in [vec![], vec![&n]] {
        let (a, b) = (declare("a", DType::F64, &shape), declare("b", DType::F64, &shape));
        let y = (&a - (&a + &b)) + &b;
        let extents = vec![37; shape.len()];
        let (a0, b0) = (Tensor::full(&extents, 1e16).unwrap(), Tensor::full(&extents, 3.0).unwrap());
        let out = everywhere(&[y], &[("a", &a0), ("b", &b0)]);
        equal(&out[0], &Tensor::full(&extents, -1.0).unwrap());
    }
}

/// A06: two different reductions over overlapping slices of one array.
#[test]
fn a06_reductions_over_overlapping_slices() {
    let [n] = symbols(["n"]);
    for size in [Dim::from(4), n] {
        let t = declare("t", DType::I64, &[&size]);
        let y = t.index([at(1, 4, 1)]).max(()) - t.index([at(1, 3, 1)]).min(());
        let out = everywhere(&[y], &[("t", &tensor(&[4], &[5_i64, 0, 7, 2]))]);
        equal(&out[0], &Tensor::scalar(7_i64));
    }
}

/// A08: indexing a lazy expression with a non-leading integer when one operand broadcasts.
#[test]
fn a08_indexing_where_an_operand_broadcasts() {
    let (a, b) = (fixed("a", DType::I64, &[2, 3, 4]), fixed("b", DType::I64, &[2, 1, 1]));
    let e = a + b;
    let y = [e.index([at(None, None, 1), At::Index(0)]), e.index([At::Ellipsis, At::Index(0)])];
    let b0 = tensor(&[2, 1, 1], &[100_i64, 200]);
    let out = everywhere(&y, &[("a", &arange(&[2, 3, 4])), ("b", &b0)]);
    equal(&out[0], &tensor(&[2, 4], &[100_i64, 101, 102, 103, 212, 213, 214, 215]));
    equal(&out[1], &tensor(&[2, 3], &[100_i64, 104, 108, 212, 216, 220]));
}

/// A10: a three-way broadcast product gives another answer when grouped in another way.
#[test]
fn a10_products_grouped_in_three_ways() {
    let c = fixed("c", DType::I64, &[2, 2, 1]);
    let a = fixed("a", DType::I64, &[2, 1, 3]);
    let b = fixed("b", DType::I64, &[1, 2, 3]);
    let y = [(&c * &a) * &b, &c * (&a * &b), &c * &a * &b];
    let c0 = tensor(&[2, 2, 1], &[1_i64, 2, 3, 4]);
    let a0 = tensor(&[2, 1, 3], &[1_i64, 0, 2, 0, 1, 1]);
    let b0 = tensor(&[1, 2, 3], &[1_i64, 2, 3, 4, 5, 6]);
    let want = tensor(&[2, 2, 3], &[1_i64, 0, 6, 8, 0, 24, 0, 6, 9, 0, 20, 24]);
    for out in everywhere(&y, &[("c", &c0), ("a", &a0), ("b", &b0)]) {
        equal(&out, &want);
    }
}

/// A12: `sum(A @ A * A)` loses the element type or the initial value. Dense only: there are no sparse tensors yet.
#[test]
fn a12_triangles_of_a_graph() {
    let [n] = symbols(["n"]);
    let a = declare("a", DType::I64, &[&n, &n]);
    let y = (a.matmul(&a) * &a).sum(());
    let a0 = tensor(&[4, 4], &[0_i64, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]);
    let out = everywhere(std::slice::from_ref(&y), &[("a", &a0)]);
    equal(&out[0], &Tensor::scalar(6_i64));
}

/// A15: a row normalisation followed by a reciprocal is wrong only when both are fused.
#[test]
fn a15_normalisation_and_reciprocal() {
    let [n, m] = symbols(["n", "m"]);
    let x = declare("x", DType::F64, &[&n, &m]);
    let whole = [n, m];
    let mean = x.mean(axis(1).keepdims()).broadcast_to(&whole);
    let centred = &x - &mean;
    let var = (&centred * &centred).mean(axis(1).keepdims()).broadcast_to(&whole);
    let y = 1.0 / ((&centred / (var + 1e-5).sqrt()).abs() + 1e-6);
    let x0 = tensor(&[2, 4], &[1.0, 2.0, 3.0, 4.0, 2.0, 2.0, 4.0, 8.0]);
    let out = everywhere(&[y], &[("x", &x0)]);
    let want = [
        0.7453584183583513,
        2.236071921724992,
        2.236071921724992,
        0.7453584183583513,
        1.2247443920112269,
        1.2247443920112269,
        1000000.0,
        0.6123725710055496,
    ];
    close(&out[0], &[2, 4], &want, 1e-12);
}

/// A19: on machines with many cores some runs return memory that was never written. Two inputs in turn, so that
/// memory of an earlier call does not look right.
#[test]
fn a19_every_element_is_written_every_time() {
    let [n] = symbols(["n"]);
    let y = 2.0 * declare("a", DType::F64, &[&n]) + 1.0;
    let up: Tensor = (0..1_000_003).map(f64::from).collect();
    let down: Tensor = (0..1_000_003).map(|k| f64::from(-k)).collect();
    for threads in [0, 3] {
        let options = CompileOptions { threads, ..Default::default() };
        let graph = CompiledGraph::new(std::slice::from_ref(&y), options).unwrap();
        let first = [&up, &down].map(|a| graph.call(&[("a", a)]).unwrap().remove(0));
        let values = first[0].to_vec::<f64>().unwrap();
        assert_eq!(values.iter().sum::<f64>(), 1000006000009.0);
        assert_eq!(values.last(), Some(&2000005.0));
        for _ in 0..250 {
            for (a, want) in [&up, &down].into_iter().zip(&first) {
                let out = graph.call(&[("a", a)]).unwrap();
                assert!(out[0].as_bytes() == want.as_bytes());
            }
        }
    }
}
