//! Transforms against their definition, and back.

use proptest::prelude::*;
use tj_ir::Function;
use tj_tensor::{Complex, DType};

use crate::support::{Owned, call, try_call_cut};

/// The definition.
fn slow(x: &[Complex<f64>], inverse: bool) -> Vec<Complex<f64>> {
    let n = x.len();
    let sign = if inverse { 1.0 } else { -1.0 };
    let turn = |k: usize| Complex::cis(sign * std::f64::consts::TAU * (k % n) as f64 / n as f64);
    (0..n).map(|k| x.iter().enumerate().map(|(j, x)| x * turn(j * k)).sum()).collect()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance)
}

proptest! {
    #[test]
    fn transforms_are_the_sum_and_turn_back(x in prop::collection::vec((-1.0..1.0, -1.0..1.0), 1..70)) {
        let n = x.len();
        let z: Vec<Complex<f64>> = x.iter().map(|(re, im)| Complex::new(*re, *im)).collect();
        let parts = |z: &[Complex<f64>]| z.iter().flat_map(|z| [z.re, z.im]).collect::<Vec<f64>>();
        let tolerance = 1e-15 * (n as f64).powf(1.5) + 1e-15;
        let argument = Owned::new(&[n, 2], &parts(&z));
        for inverse in [false, true] {
            let found = call(Function::Fft { inverse }, &[&argument], DType::F64, &[n, 2]);
            prop_assert!(close(found.elements(), &parts(&slow(&z, inverse)), 8.0 * tolerance));
            let back = call(Function::Fft { inverse: !inverse }, &[&found], DType::F64, &[n, 2]);
            let expected: Vec<f64> = parts(&z).iter().map(|x| x * n as f64).collect();
            prop_assert!(close(back.elements(), &expected, 8.0 * tolerance));
        }

        let real: Vec<f64> = x.iter().map(|(re, _)| *re).collect();
        let spectrum = call(Function::Rfft, &[&Owned::new(&[n], &real)], DType::F64, &[n / 2 + 1, 2]);
        let z: Vec<Complex<f64>> = real.iter().map(|re| Complex::new(*re, 0.0)).collect();
        let expected = parts(&slow(&z, false)[..n / 2 + 1]);
        prop_assert!(close(spectrum.elements(), &expected, 8.0 * tolerance));
        let back = call(Function::Irfft, &[&spectrum], DType::F64, &[n]);
        let expected: Vec<f64> = real.iter().map(|x| x * n as f64).collect();
        prop_assert!(close(back.elements(), &expected, 8.0 * tolerance));

        // f32 against f64.
        let narrow: Vec<f32> = real.iter().map(|x| *x as f32).collect();
        let found = call(Function::Rfft, &[&Owned::new(&[n], &narrow)], DType::F32, &[n / 2 + 1, 2]);
        let found: Vec<f64> = found.elements::<f32>().iter().map(|x| f64::from(*x)).collect();
        prop_assert!(close(&found, spectrum.elements(), 1e-6 * n as f64));
    }

    #[test]
    fn rows_in_pieces_have_the_same_bits(x in prop::collection::vec(-1.0..1.0, 3 * 14), cut in 0usize..=3) {
        let x = Owned::new(&[3, 7, 2], &x);
        let results: [(DType, &[usize]); 1] = [(DType::F64, &[3, 7, 2])];
        let function = Function::Fft { inverse: false };
        let whole = try_call_cut(function, &[&x], &results, 3, &[]).unwrap();
        prop_assert_eq!(whole, try_call_cut(function, &[&x], &results, 3, &[cut]).unwrap());
    }
}

#[test]
fn sizes_of_zero() {
    let nothing = |shape: &[usize]| Owned::zeros(DType::F32, shape);
    call(Function::Fft { inverse: false }, &[&nothing(&[3, 0, 2])], DType::F32, &[3, 0, 2]);
    call(Function::Fft { inverse: true }, &[&nothing(&[0, 3, 2])], DType::F32, &[0, 3, 2]);
    let sum = call(Function::Rfft, &[&nothing(&[2, 0])], DType::F32, &[2, 1, 2]);
    assert_eq!(sum.elements::<f32>(), [0.0; 4]);
    call(Function::Irfft, &[&nothing(&[2, 1, 2])], DType::F32, &[2, 0]);
}
