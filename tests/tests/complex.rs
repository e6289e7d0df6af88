//! Complex programs on every engine: equal bits, and NumPy's values.

use tensorjit::{
    CompileOptions, CompiledGraph, Complex, DType, Dim, OutputView, SliceSpec, Tensor, compute, defer, input,
};
use tj_tests::engines::{engines, everywhere};

type C = Complex<f64>;

fn c(re: f64, im: f64) -> C {
    Complex::new(re, im)
}

fn numbers(shape: &[usize]) -> Tensor {
    let value =
        |k: usize| c(((k * k * 7 + k * 3) % 23) as f64 / 4.0 - 2.5, ((k * 5 + 1) % 17) as f64 / 8.0 - 1.0);
    Tensor::from_shape_vec(shape, (0..shape.iter().product()).map(value).collect()).unwrap()
}

#[test]
fn arithmetic() {
    let n = Dim::new("N", ..).unwrap();
    for dtype in [DType::C64, DType::C128] {
        let z = input("z", dtype, [n.clone(), 3.into()]).unwrap();
        let w = input("w", dtype, [3.into(), 4.into()]).unwrap();
        let x = input("x", dtype.real(), [3.into()]).unwrap();
        let program = [
            z.clone(),
            &z * &z + 1.5,
            &z / (&z - Complex::new(0.0, 9.5)),
            z.abs(),
            z.sum(1),
            z.sum(0),
            z.mean(()),
            z.prod(1),
            z.matmul(&w),
            &z * &x,
            z.transpose().conj(),
            z.exp().real() + z.imag(),
            z.equal(&z.conj()),
            z.cumulative_prod(1),
            z.sqrt().log(),
        ];
        for rows in [0, 1, 5] {
            let z = numbers(&[rows, 3]).cast(dtype).unwrap();
            let w = numbers(&[3, 4]).cast(dtype).unwrap();
            let x = Tensor::arange(3).unwrap().cast(dtype.real()).unwrap();
            let outputs = everywhere(&program, &[("z", &z), ("w", &w), ("x", &x)]);
            assert!(outputs[0].bit_eq(&z));
            for (output, lazy) in outputs.iter().zip(&program) {
                assert_eq!(output.dtype(), lazy.dtype());
            }
        }
    }
}
