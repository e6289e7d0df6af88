//! Complex programs under the plan interpreter.

use tj_ir::{LazyTensor, Op, constant, trace::trace};
use tj_plan::{Form, Plan, canonicalise, debug_verify, interpret};
use tj_tensor::{Complex, Tensor};

/// Values of outputs that are made of data.
fn values(outputs: &[LazyTensor]) -> Vec<Tensor> {
    let traced = trace(&[], outputs).unwrap();
    let complex = traced.complex_outputs.clone();
    let plan = Plan::from_trace(traced);
    debug_verify("trace", &plan, Form::Traced);
    let inputs: Vec<Tensor> = plan.inputs.iter().map(|input| input.data.clone().unwrap()).collect();
    let first = interpret(&plan, &inputs, &|_| None).unwrap();
    let plan = canonicalise(&plan);
    debug_verify("canonicalise", &plan, Form::Canonical);
    let second = interpret(&plan, &inputs, &|_| None).unwrap();
    assert!(first.iter().zip(&second).all(|(a, b)| a.bit_eq(b)));
    let whole = |(t, complex): (Tensor, bool)| if complex { t.as_complex().unwrap() } else { t };
    first.into_iter().zip(complex).map(whole).collect()
}

#[test]
fn scratch() {
    let text = std::fs::read_to_string("/tmp/complex_h5.txt").unwrap();
    let mut by: std::collections::BTreeMap<String, Vec<[f64; 4]>> = Default::default();
    for line in text.lines() {
        let mut w = line.split(' ');
        let n = w.next().unwrap().to_string();
        let v: Vec<f64> = w.map(|x| x.parse().unwrap()).collect();
        by.entry(n).or_default().push([v[0], v[1], v[2], v[3]]);
    }
    for (name, rows) in by {
        let z: Vec<Complex<f64>> = rows.iter().map(|r| Complex::new(r[0], r[1])).collect();
        let z = constant(&Tensor::from(z));
        let op = Op::by_name(&name).unwrap();
        let y = values(&[LazyTensor::map(op, [z.into()])]).remove(0);
        let y: Vec<Complex<f64>> = if y.dtype().is_complex() {
            y.to_vec().unwrap()
        } else {
            y.to_vec::<f64>().unwrap().iter().map(|&x| Complex::new(x, 0.0)).collect()
        };
        for (r, y) in rows.iter().zip(y) {
            let size = r[2].hypot(r[3]);
            let ok = |got: f64, want: f64| {
                got.to_bits() == want.to_bits()
                    || got.is_nan() && want.is_nan()
                    || (got != 0.0 && want != 0.0 && (got - want).abs() <= 1e-13 * want.abs())
                    || (got != 0.0 && want != 0.0 && (got - want).abs() <= 2e-16 * size)
            };
            if !ok(y.re, r[2]) || !ok(y.im, r[3]) {
                eprintln!(
                    "{name}({:e}, {:e}) = ({:e}, {:e}), numpy ({:e}, {:e})",
                    r[0], r[1], y.re, y.im, r[2], r[3]
                );
            }
        }
    }
}
