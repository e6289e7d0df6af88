//! Functions of complex numbers: special values and branch cuts as NumPy has them, digits in both precisions.

#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::collections::BTreeMap;

use tj_ir::{LazyTensor, Op, constant, trace::trace};
use tj_plan::{Form, Plan, canonicalise, debug_verify, interpret};
use tj_tensor::{Complex, DType, Tensor};

/// What `numpy/complex.py` gives, by function: a number, and the function of it.
fn expected() -> BTreeMap<&'static str, Vec<[Complex<f64>; 2]>> {
    let mut found: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for line in include_str!("numpy/complex.txt").lines() {
        let (name, numbers) = line.split_once(' ').unwrap();
        let x: Vec<f64> = numbers.split(' ').map(|x| x.parse().unwrap()).collect();
        found.entry(name).or_default().push([Complex::new(x[0], x[1]), Complex::new(x[2], x[3])]);
    }
    found
}

/// An operator on data, as traced and as canonical; both have the same bits.
fn apply(op: Op, data: Tensor) -> Vec<Complex<f64>> {
    let traced = trace(&[], &[LazyTensor::map(op, [constant(&data).into()])]).unwrap();
    let is_complex = traced.complex_outputs[0];
    let plan = Plan::from_trace(traced);
    debug_verify("trace", &plan, Form::Traced);
    let inputs: Vec<Tensor> = plan.inputs.iter().map(|input| input.data.clone().unwrap()).collect();
    let first = interpret(&plan, &inputs, &|_| None).unwrap().remove(0);
    let plan = canonicalise(&plan);
    debug_verify("canonicalise", &plan, Form::Canonical);
    assert!(interpret(&plan, &inputs, &|_| None).unwrap()[0].bit_eq(&first));
    let whole = if is_complex { first.as_complex().unwrap() } else { first };
    whole.cast(DType::C128).unwrap().to_vec().unwrap()
}

/// Equal up to a few roundings of the part itself, or one of the whole number; zeros, signs and NaN exactly.
fn is_near(got: f64, want: f64, size: f64, ulp: f64) -> bool {
    let distance = (got - want).abs();
    got.to_bits() == want.to_bits()
        || got.is_nan() && want.is_nan()
        || got != 0.0 && want != 0.0 && (distance <= 500.0 * ulp * want.abs() || distance <= ulp * size)
}

#[test]
fn functions_have_the_values_of_numpy() {
    for (name, cases) in expected() {
        let data: Vec<Complex<f64>> = cases.iter().map(|case| case[0]).collect();
        let got = apply(Op::by_name(name).unwrap(), Tensor::from(data));
        for ([z, want], got) in cases.into_iter().zip(got) {
            let near = |got, part| is_near(got, part, want.norm(), f64::EPSILON);
            assert!(near(got.re, want.re) && near(got.im, want.im), "{name}({z}) is {got}, not {want}");
        }
    }
}

/// In single precision: of numbers whose results are in its range, those of double precision.
#[test]
fn single_precision_is_double_precision_rounded() {
    for (name, cases) in expected() {
        let op = Op::by_name(name).unwrap();
        let fits = |z: &Complex<f64>| {
            [z.re, z.im].iter().all(|x| *x == 0.0 || !x.is_finite() || (1e-18..1e18).contains(&x.abs()))
        };
        let data: Tensor = cases.iter().map(|case| case[0]).filter(fits).collect();
        let single = data.cast(DType::C64).unwrap();
        let wide = single.cast(DType::C128).unwrap();
        let numbers: Vec<Complex<f64>> = wide.to_vec().unwrap();
        for ((z, want), got) in numbers.into_iter().zip(apply(op, wide)).zip(apply(op, single)) {
            if !fits(&want) {
                continue;
            }
            let near = |got, part| is_near(got, part, want.norm(), f32::EPSILON.into());
            assert!(near(got.re, want.re) && near(got.im, want.im), "{name}({z}) is {got}, not {want}");
        }
    }
}
