//! Dynamic shapes.

use tensorjit::{CompileOptions, CompiledGraph, DType, Dim, Tensor, input, size, where_};
use tj_tests::engines::{Call, Outcome, all_outcomes};

use crate::{arange, declare, equal, symbols, tensor};

fn call<'a>(inputs: &[(&'a str, &'a Tensor)]) -> Call<'a> {
    Call { inputs: inputs.to_vec(), ..Default::default() }
}

fn only(outcome: &Outcome) -> &Tensor {
    &outcome.as_ref().unwrap()[0]
}

/// E01: an argument that is not used forces a re-compile when its length is 0 or 1. It belongs to the signature
/// because `CompileOptions::inputs` says so.
#[test]
fn e01_an_argument_that_nothing_uses() {
    let (n, m) = (Dim::new("n", 0..=100).unwrap(), Dim::new("m", 0..=100).unwrap());
    let (x, y) = (declare("x", DType::F64, &[&n]), declare("y", DType::I64, &[&m]));
    let f = &y * 3;
    let xs = [vec![], vec![9.0], vec![1.0; 5], vec![9.0]].map(Tensor::from);
    let ys = [vec![1_i64, 2], vec![1, 2, 3], vec![1], vec![]];
    let want = ys.clone().map(|y| Tensor::from(y.iter().map(|v| v * 3).collect::<Vec<i64>>()));
    let ys = ys.map(Tensor::from);
    let calls: Vec<Call<'_>> = xs.iter().zip(&ys).map(|(x, y)| call(&[("x", x), ("y", y)])).collect();
    let declared = [x, y];
    for (outcome, want) in all_outcomes(std::slice::from_ref(&f), &declared, &calls).iter().zip(&want) {
        equal(only(outcome), want);
    }
    let graph =
        CompiledGraph::new(&[f], CompileOptions { inputs: declared.to_vec(), ..Default::default() }).unwrap();
    for (x, y) in xs.iter().zip(&ys) {
        graph.call(&[("x", x), ("y", y)]).unwrap();
    }
    assert_eq!((graph.report().compilations, graph.report().calls), (1, 4));
}

/// E03: the first call has length 1, and the compiler bakes in broadcasting. A declared size never broadcasts here, so
/// that length 1 is an error like 0 and 2, in any order.
#[test]
fn e03_the_first_length_decides_nothing() {
    let [n] = symbols(["n"]);
    let f = declare("x", DType::I64, &[&n]) + input("y", DType::I64, [3.into()]).unwrap();
    let y = tensor(&[3], &[1_i64, 2, 3]);
    let xs = [vec![10_i64], vec![1, 2, 3], vec![1, 2], vec![]].map(Tensor::from);
    let forward: Vec<Call<'_>> = xs.iter().map(|x| call(&[("x", x), ("y", &y)])).collect();
    let backward: Vec<Call<'_>> = forward.iter().rev().cloned().collect();
    let outcomes = all_outcomes(std::slice::from_ref(&f), &[], &forward);
    let mut reversed = all_outcomes(&[f], &[], &backward);
    reversed.reverse();
    for (k, (outcome, other)) in outcomes.iter().zip(&reversed).enumerate() {
        if k == 1 {
            equal(only(outcome), &tensor(&[3], &[2_i64, 4, 6]));
            equal(only(other), only(outcome));
        } else {
            let error = outcome.as_ref().unwrap_err();
            let length = xs[k].shape()[0];
            assert!(error.contains(&format!("does not hold: n = {length} (axis 0 of input x)")), "{error}");
            assert!(error.contains("add of [n] and [3]"), "{error}");
            assert_eq!(other.as_ref().unwrap_err(), error);
        }
    }
}

/// E04: the shape of a result keeps the value of an earlier call.
#[test]
fn e04_each_call_has_its_own_shape() {
    let n = Dim::new("n", 1..=12).unwrap();
    let f = declare("x", DType::I64, &[&n]) + 1;
    let xs = [1, 2, 3, 4, 2].map(|n| Tensor::arange(n).unwrap());
    let calls: Vec<Call<'_>> = xs.iter().map(|x| call(&[("x", x)])).collect();
    for (outcome, x) in all_outcomes(&[f], &[], &calls).iter().zip(&xs) {
        let want: Tensor = x.to_vec::<i64>().unwrap().iter().map(|v| v + 1).collect();
        equal(only(outcome), &want);
    }
}

/// E06: a size above the declared bound is read out of bounds.
#[test]
fn e06_a_size_above_its_bound() {
    let n = Dim::new("n", 0..=8).unwrap();
    let f = declare("x", DType::I64, &[&n]).sum(0);
    let eight = Tensor::arange(8).unwrap();
    let view = eight.slice(0, (0..3).into()).unwrap();
    let nine = Tensor::arange(9).unwrap();
    let outcomes =
        all_outcomes(&[f], &[], &[call(&[("x", &eight)]), call(&[("x", &nine)]), call(&[("x", &view)])]);
    equal(only(&outcomes[0]), &Tensor::scalar(28_i64));
    assert_eq!(
        outcomes[1].as_ref().unwrap_err(),
        "size n is 9 (axis 0 of input x), but its bounds are 0..=8"
    );
    equal(only(&outcomes[2]), &Tensor::scalar(3_i64));
}

/// E08: the memory plan of the first call is used for another shape.
#[test]
fn e08_memory_is_planned_for_each_size() {
    let n = Dim::new("n", 1..=16).unwrap();
    let w = [0, 0, 0, -1, 1, 1, 0, 0, 1, 0, -1, 0, 1, 0, 0, 1_i64];
    let rows = [[-3, -2, 0, 3], [10, 4, 3, 7], [26, 12, 7, 11], [42, 20, 11, 15_i64]];
    for dtype in [DType::I64, DType::F32] {
        let x = input("x", dtype, [n.clone(), 4.into()]).unwrap();
        let h = x.matmul(&input("w", dtype, [4.into(), 4.into()]).unwrap());
        let f = where_(&h.greater(0), &h, 0) + &x;
        let w = tensor(&[4, 4], &w).cast(dtype).unwrap();
        let sizes = [4, 1, 7, 16, 1];
        let xs = sizes.map(|n: usize| {
            let x: Vec<i64> = (0..4 * n as i64).map(|k| k - 3).collect();
            tensor(&[n, 4], &x).cast(dtype).unwrap()
        });
        let wants = sizes.map(|n| {
            let row = |r: usize| match r {
                0..4 => rows[r],
                // From row 1 on each row is 16, 8, 4 and 4 more than the one before.
                _ => {
                    [16, 8, 4, 4]
                        .map(|step| step * (r as i64 - 3))
                        .into_iter()
                        .zip(rows[3])
                        .fold(([0; 4], 0), |(mut row, k), (more, last)| {
                            row[k] = last + more;
                            (row, k + 1)
                        })
                        .0
                }
            };
            let data: Vec<i64> = (0..n).flat_map(row).collect();
            tensor(&[n, 4], &data).cast(dtype).unwrap()
        });
        let calls: Vec<Call<'_>> = xs.iter().map(|x| call(&[("x", x), ("w", &w)])).collect();
        for (outcome, want) in all_outcomes(std::slice::from_ref(&f), &[], &calls).iter().zip(&wants) {
            equal(only(outcome), want);
        }
        let graph = CompiledGraph::new(&[f], CompileOptions::default()).unwrap();
        let kept: Vec<Tensor> =
            xs.iter().map(|x| graph.call(&[("x", x), ("w", &w)]).unwrap().remove(0)).collect();
        for (kept, want) in kept.iter().zip(&wants) {
            equal(kept, want);
        }
    }
}

/// E10: a reshape that needs a multiple of 4 fails with an internal error, or truncates.
#[test]
fn e10_a_size_that_must_be_a_multiple() {
    let [n] = symbols(["n"]);
    for dtype in [DType::I64, DType::F64] {
        let f = declare("x", dtype, &[&n]).reshape(&[None, Some(4.into())]).sum(0);
        let xs = [12, 10, 0].map(|n| Tensor::arange(n).unwrap().cast(dtype).unwrap());
        let calls: Vec<Call<'_>> = xs.iter().map(|x| call(&[("x", x)])).collect();
        let outcomes = all_outcomes(&[f], &[], &calls);
        equal(only(&outcomes[0]), &tensor(&[4], &[12_i64, 15, 18, 21]).cast(dtype).unwrap());
        let error = outcomes[1].as_ref().unwrap_err();
        assert!(
            error
                .starts_with("n is a multiple of 4 does not hold: n = 10 (axis 0 of input x), remainder 2; "),
            "{error}"
        );
        equal(only(&outcomes[2]), &Tensor::zeros(dtype, [4]).unwrap());
    }
}

/// E12: a size silently becomes a constant. A size here answers "don't know", so that a host cannot branch on it by
/// accident; a choice that depends on it is part of the program.
#[test]
fn e12_a_size_is_never_a_constant_by_accident() {
    let [n] = symbols(["n"]);
    assert_eq!((n.is_const(), n.known_eq(&5.into()), n == Dim::from(5)), (None, None, false));
    let x = declare("x", DType::I64, &[&n]);
    let f = where_(&size(&n).equal(5), &x * 2, &x + 1);
    let xs = [arange(&[5]), arange(&[6])];
    let calls: Vec<Call<'_>> = xs.iter().map(|x| call(&[("x", x)])).collect();
    let outcomes = all_outcomes(&[f], &[], &calls);
    equal(only(&outcomes[0]), &tensor(&[5], &[0_i64, 2, 4, 6, 8]));
    equal(only(&outcomes[1]), &tensor(&[6], &[1_i64, 2, 3, 4, 5, 6]));
}

/// E14: a free size meets a fixed one in matmul, and the whole compile fails.
#[test]
fn e14_a_free_size_meets_a_fixed_one() {
    let [n, m] = symbols(["n", "m"]);
    let a = input("a", DType::F64, [10.into(), 10.into()]).unwrap();
    let f = a.matmul(&declare("b", DType::F64, &[&n, &m]));
    let eye: Vec<f64> = (0..100).map(|k| f64::from(u8::from(k % 11 == 0))).collect();
    let eye = tensor(&[10, 10], &eye);
    let ones = [10, 11].map(|n| Tensor::full([n, 2], 1.0).unwrap());
    let calls: Vec<Call<'_>> = ones.iter().map(|b| call(&[("a", &eye), ("b", b)])).collect();
    let outcomes = all_outcomes(&[f], &[], &calls);
    equal(only(&outcomes[0]), &ones[0]);
    let error = outcomes[1].as_ref().unwrap_err();
    for part in ["10", "n = 11 (axis 0 of input b)", "matmul of [10, 10] and [n, m]"] {
        assert!(error.contains(part), "{error}");
    }
}
