//! Dtypes and special values.

use tensorjit::{DType, Tensor, maximum, minimum};
use tj_tests::everywhere;

use crate::{declare, equal, symbols, tensor};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// C08: maximum, minimum and clip drop NaN, or propagate it from one argument only.
#[test]
fn c08_nan_from_either_side() {
    let [n] = symbols(["n"]);
    let (a, b) = (declare("a", DType::F64, &[&n]), declare("b", DType::F64, &[&n]));
    let y = [maximum(&a, &b), maximum(&b, &a), minimum(&a, &b), a.clip(0.5, 1.5), a.max(()), a.min(())];
    let (a4, b4) = ([NAN, 1.0, NAN, 2.0], [0.0, NAN, NAN, 1.0]);
    let want = [[NAN, NAN, NAN, 2.0], [NAN, NAN, NAN, 2.0], [NAN, NAN, NAN, 1.0], [NAN, 1.0, NAN, 1.5]];
    // A vector body with its tail, too.
    for length in [4, 37] {
        let repeat = |x: &[f64; 4]| -> Tensor { x.iter().copied().cycle().take(length).collect() };
        let out = everywhere(&y, &[("a", &repeat(&a4)), ("b", &repeat(&b4))]);
        for (out, want) in out.iter().zip(&want) {
            equal(out, &repeat(want));
        }
        equal(&out[4], &Tensor::scalar(NAN));
        equal(&out[5], &Tensor::scalar(NAN));
    }
}

/// C10: the simplifier turns `x * 0` and `x - x` into 0, hiding inf and NaN.
#[test]
fn c10_laws_that_floats_do_not_have() {
    let [n] = symbols(["n"]);
    let x = declare("x", DType::F64, &[&n]);
    let y = [&x * 0.0, 0.0 * &x, &x - &x, &x / &x, &x * 0.0 + 1];
    let want = [
        [NAN, NAN, -0.0, 0.0],
        [NAN, NAN, -0.0, 0.0],
        [NAN, NAN, 0.0, 0.0],
        [NAN, NAN, 1.0, NAN],
        [NAN, NAN, 1.0, 1.0],
    ];
    let out = everywhere(&y, &[("x", &tensor(&[4], &[INF, NAN, -3.0, 0.0]))]);
    for (out, want) in out.iter().zip(&want) {
        equal(out, &tensor(&[4], want));
    }
}

/// C15: the sum of booleans stays boolean; comparisons store 255 instead of 1.
#[test]
fn c15_booleans_are_zero_and_one() {
    let [n] = symbols(["n"]);
    let m = declare("x", DType::I64, &[&n]).greater(2);
    let y = [m.sum(()), m.clone(), m.cast(DType::I64) - (!&m).cast(DType::I64), m.mean(())];
    let out = everywhere(&y, &[("x", &tensor(&[5], &[3_i64, 1, 4, 1, 5]))]);
    equal(&out[0], &Tensor::scalar(3_i64));
    assert_eq!(out[1].as_bytes(), Some(&[1, 0, 1, 0, 1][..]));
    equal(&out[2], &tensor(&[5], &[1_i64, -1, 1, -1, 1]));
    equal(&out[3], &Tensor::scalar(0.6));
}

/// C21: integer division truncates.
#[test]
fn c21_true_division_of_integers() {
    let [n] = symbols(["n"]);
    let (a, b) = (declare("a", DType::I32, &[&n]), declare("b", DType::I32, &[&n]));
    let out = everywhere(&[a / b], &[("a", &tensor(&[3], &[1, 7, -7])), ("b", &tensor(&[3], &[2, 2, 2]))]);
    equal(&out[0], &tensor(&[3], &[0.5, 3.5, -3.5]));
}
