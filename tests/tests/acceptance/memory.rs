//! Memory.

use tensorjit::{DType, Tensor};
use tj_tests::everywhere;

use crate::{compile, declare, equal, fixed, symbols, tensor};

/// F01: writing the result over an operand that is read more than once. Here the operand is given away.
#[test]
fn f01_an_operand_that_is_given_away_and_read_twice() {
    let [n] = symbols(["n"]);
    let (a, b) = (declare("a", DType::F64, &[&n]), declare("b", DType::F64, &[&n]));
    let (first, second) = (&a * 100 + &a - &b, &a + 2 * &a);
    for length in [2, 100_003] {
        let repeat = |x: [f64; 2]| -> Tensor { x.iter().copied().cycle().take(length).collect() };
        let (a0, b0) = (repeat([3.0, 4.0]), repeat([1.0, 2.0]));
        if length == 2 {
            let out = everywhere(&[first.clone(), second.clone()], &[("a", &a0), ("b", &b0)]);
            equal(&out[0], &repeat([302.0, 402.0]));
            equal(&out[1], &repeat([9.0, 12.0]));
        }
        for threads in [1, 3] {
            let graph = compile(std::slice::from_ref(&first), threads);
            let out = graph.call_donating(vec![("a", a0.clone()), ("b", repeat([1.0, 2.0]))]).unwrap();
            equal(&out[0], &repeat([302.0, 402.0]));
            let graph = compile(std::slice::from_ref(&second), threads);
            let out = graph.call_donating(vec![("a", repeat([3.0, 4.0]))]).unwrap();
            equal(&out[0], &repeat([9.0, 12.0]));
        }
    }
}

/// F11: with buffers used again, values depend on the order of the outputs.
#[test]
fn f11_outputs_in_any_order() {
    let (s, v) = (fixed("s", DType::I64, &[3]), fixed("v", DType::I64, &[]));
    let y = &v - &v;
    let (s0, v0) = (tensor(&[3], &[7_i64, 8, 9]), Tensor::scalar(5_i64));
    let zero = Tensor::scalar(0_i64);
    let orders = [
        (vec![y.clone(), y.clone(), y.clone(), s.clone()], vec![&zero, &zero, &zero, &s0]),
        (vec![s.clone(), y.clone(), y.clone(), y], vec![&s0, &zero, &zero, &zero]),
    ];
    for (outputs, want) in orders {
        for (out, want) in everywhere(&outputs, &[("s", &s0), ("v", &v0)]).iter().zip(&want) {
            equal(out, want);
        }
        let given = tensor(&[3], &[7_i64, 8, 9]);
        let out = compile(&outputs, 0).call_donating(vec![("s", given), ("v", v0.clone())]).unwrap();
        for (out, want) in out.iter().zip(&want) {
            equal(out, want);
        }
    }
}
