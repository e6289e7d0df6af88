//! Integers of all widths.

use tensorjit::{DType, Element, Scalar, Tensor, where_};
use tj_tests::everywhere;

use crate::{declare, equal, symbols, tensor};

/// C01: u8 addition is done in a wider type, so that the wrap is lost before a cast.
#[test]
fn c01_sums_wrap_before_they_are_cast() {
    let [n] = symbols(["n"]);
    let (a, b) = (declare("a", DType::U8, &[&n]), declare("b", DType::U8, &[&n]));
    let (x, y) = (tensor(&[2], &[200_u8, 100]), tensor(&[2], &[100_u8, 200]));
    let out = everywhere(&[(a + b).cast(DType::I16)], &[("a", &x), ("b", &y)]);
    equal(&out[0], &tensor(&[2], &[44_i16, 44]));
}

/// C04: i8 arithmetic keeps a wide value on one of two paths that are algebraically equal.
#[test]
fn c04_two_ways_to_one_i8() {
    let [n] = symbols(["n"]);
    let [x, y, c] = ["x", "y", "c"].map(|name| declare(name, DType::I8, &[&n]));
    let both = [(&x * (&y + &c)).cast(DType::F32), (&x * &y + &x * &c).cast(DType::F32)];
    let [xs, ys, cs] = [[9_i8, 9], [10, -20], [7, 7]].map(|data| tensor(&[2], &data));
    for out in everywhere(&both, &[("x", &xs), ("y", &ys), ("c", &cs)]) {
        equal(&out, &tensor(&[2], &[-103.0_f32, -117.0]));
    }
}

/// C06: extremes of small integers start from 0 once the array is as long as a vector.
#[test]
fn c06_extremes_do_not_start_from_zero() {
    let [n] = symbols(["n"]);
    let p = declare("p", DType::I8, &[&n]);
    let (m, q) = (-&p, p.cast(DType::U8));
    let y = [p.min(()), p.argmin(None), m.max(()), m.argmax(None), q.min(()), q.argmin(None)];
    let data = [44_i8, 17, 90, 3, 61, 12, 25, 8, 71, 5, 33, 127, 19, 54, 2, 77, 40, 6, 99];
    for length in [19, 15] {
        let out = everywhere(&y, &[("p", &tensor(&[length], &data[..length]))]);
        let scalars: [Tensor; 6] = [
            Tensor::scalar(2_i8),
            Tensor::scalar(14_i64),
            Tensor::scalar(-2_i8),
            Tensor::scalar(14_i64),
            Tensor::scalar(2_u8),
            Tensor::scalar(14_i64),
        ];
        for (out, want) in out.iter().zip(&scalars) {
            equal(out, want);
        }
    }
}

/// C12: the least integer divided by -1 traps and ends the process.
#[test]
fn c12_the_least_integer_by_minus_one() {
    fn check<T: Element + From<i8>>(least: T) {
        let [n] = symbols(["n"]);
        let (a, b) = (declare("a", T::DTYPE, &[&n]), declare("b", T::DTYPE, &[&n]));
        let y = [a.remainder(&b), a.floor_divide(&b)];
        let small = |x: i8| T::from(x);
        let (x, z) = (tensor(&[3], &[least, small(7), small(-7)]), tensor(&[3], &[-1, -1, 2].map(small)));
        let out = everywhere(&y, &[("a", &x), ("b", &z)]);
        equal(&out[0], &tensor(&[3], &[0, 0, 1].map(small)));
        equal(&out[1], &tensor(&[3], &[least, small(-7), small(-4)]));
    }
    check(i8::MIN);
    check(i16::MIN);
    check(i32::MIN);
    check(i64::MIN);
}

/// C13: integer division by zero gives what the hardware leaves, or ends the process.
#[test]
fn c13_integers_by_zero_are_zero() {
    fn check<T: Element>(data: &[T], zero: T) {
        let [n] = symbols(["n"]);
        let (a, z) = (declare("a", T::DTYPE, &[&n]), declare("z", T::DTYPE, &[&n]));
        let y = [a.floor_divide(&z), a.remainder(&z), a.floor_divide(0), a.remainder(0)];
        let zeros = tensor(&[data.len()], &vec![zero; data.len()]);
        for out in everywhere(&y, &[("a", &tensor(&[data.len()], data)), ("z", &zeros)]) {
            equal(&out, &zeros);
        }
    }
    check(&[5, 0, -5, i32::MIN], 0);
    check(&[5, 0, u64::MAX], 0_u64);
}

/// C20: a choice is made by multiplying with the mask, or what is not chosen traps.
#[test]
fn c20_what_is_not_chosen_does_nothing() {
    let [n] = symbols(["n"]);
    let (x, m) = (declare("x", DType::F64, &[&n]), declare("m", DType::Bool, &[&n]));
    let (a, b) = (declare("a", DType::I32, &[&n]), declare("b", DType::I32, &[&n]));
    let safe = b.not_equal(0) & b.not_equal(-1);
    let y = [where_(&m, &x, 0).sum(()), where_(&safe, a.floor_divide(&b), -9)];
    let out = everywhere(
        &y,
        &[
            ("x", &tensor(&[3], &[f64::INFINITY, 2.0, f64::NAN])),
            ("m", &tensor(&[3], &[false, true, false])),
            ("a", &tensor(&[3], &[6, 5, i32::MIN])),
            ("b", &tensor(&[3], &[3, 0, -1])),
        ],
    );
    equal(&out[0], &Tensor::scalar(2.0));
    equal(&out[1], &tensor(&[3], &[2, -9, -9]));
}

/// C21: `u8 / u8` is f64, too.
#[test]
fn c21_true_division_of_bytes() {
    let [n] = symbols(["n"]);
    let (a, b) = (declare("a", DType::U8, &[&n]), declare("b", DType::U8, &[&n]));
    let out = everywhere(&[a / b], &[("a", &tensor(&[1], &[1_u8])), ("b", &tensor(&[1], &[2_u8]))]);
    assert_eq!(out[0].get(&[0]), Ok(Scalar::F64(0.5)));
}
