//! Complex programs on every engine: equal bits, and what users see at every boundary.

#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::fft::{Norm, fft, ifft, irfft, rfft};
use tensorjit::linalg::{Factors, Triangle, cholesky, eigh, inv, svd};
use tensorjit::{
    CompileOptions, CompiledGraph, Complex, DType, Dim, LazyTensor, OutputView, SliceSpec, Tensor,
    cache_report, complex, compute, constant, defer, input,
};
use tj_tests::engines::{Call, all_outcomes, engines, everywhere};

type C = Complex<f64>;

fn c(re: f64, im: f64) -> C {
    Complex::new(re, im)
}

fn numbers(shape: &[usize]) -> Tensor {
    let value =
        |k: usize| c(((k * k * 7 + k * 3) % 23) as f64 / 4.0 - 2.5, ((k * 5 + 1) % 17) as f64 / 8.0 - 1.0);
    Tensor::from_shape_vec(shape, (0..shape.iter().product()).map(value).collect()).unwrap()
}

fn batch(dtype: DType, rows: i64, columns: i64) -> LazyTensor {
    input("a", dtype, [Dim::new("B", ..).unwrap(), rows.into(), columns.into()]).unwrap()
}

#[test]
fn arithmetic_and_moves() {
    let n = Dim::new("N", ..).unwrap();
    for dtype in [DType::C64, DType::C128] {
        let z = input("z", dtype, [n.clone(), 3.into()]).unwrap();
        let w = input("w", dtype, [3.into(), 4.into()]).unwrap();
        let x = input("x", dtype.real(), [3.into()]).unwrap();
        let program = [
            z.clone(),
            &z * &z + 1.5,
            &z / (&z - c(0.0, 9.5)),
            z.abs(),
            z.sum(1),
            z.sum(0),
            z.mean(()),
            z.prod(1),
            z.matmul(&w),
            &z * &x,
            z.transpose().conj(),
            z.exp().real() + z.imag(),
            z.equal(z.conj()),
            z.cumulative_prod(1),
            z.sqrt().log(),
            z.tanh() - z.asin().pow(&x),
            complex(&x, 2.0),
        ];
        let data = [0, 1, 5].map(|rows| numbers(&[rows, 3]).cast(dtype).unwrap());
        let w = numbers(&[3, 4]).cast(dtype).unwrap();
        let x = Tensor::arange(3).unwrap().cast(dtype.real()).unwrap();
        let call = |z| Call { bindings: Vec::new(), inputs: vec![("z", z), ("w", &w), ("x", &x)] };
        let calls: Vec<Call<'_>> = data.iter().map(call).collect();
        for (outputs, z) in all_outcomes(&program, &[], &calls).into_iter().zip(&data) {
            let outputs = outputs.unwrap();
            assert!(outputs[0].bit_eq(z));
            for (output, lazy) in outputs.iter().zip(&program) {
                assert_eq!((output.dtype(), output.rank()), (lazy.dtype(), lazy.rank()));
            }
        }
    }
}

/// Large arguments, small ones and both sides of a cut, by NumPy.
#[test]
fn nothing_overflows_on_the_way() {
    let z = constant(&Tensor::from(vec![
        c(-1e200, 0.0),
        c(1e200, 1e200),
        c(400.0, 1.0),
        c(3.0, 4.0),
        c(-4.0, -0.0),
    ]));
    let outputs = everywhere(&[z.sqrt(), z.abs(), z.tanh()], &[]);
    let (roots, sizes): (Vec<C>, Vec<f64>) = (outputs[0].to_vec().unwrap(), outputs[1].to_vec().unwrap());
    assert_eq!((roots[0], roots[3], roots[4]), (c(0.0, 1e100), c(2.0, 1.0), c(0.0, -2.0)));
    assert!((sizes[1] / 1.414213562373095e200 - 1.0).abs() < 1e-14 && sizes[3] == 5.0);
    assert_eq!(outputs[2].to_vec::<C>().unwrap()[2], c(1.0, 0.0));
}

/// Everything is near zero, in the same bits on every engine.
#[test]
fn factors_and_transforms_are_undone() {
    for (dtype, tolerance) in [(DType::C64, 1e-4), (DType::C128, 1e-12)] {
        let a = batch(dtype, 3, 3);
        let hermitian = a.matmul(&a.conj().matrix_transpose()) + 1;
        let (u, s, vh) = svd(&a, Factors::Reduced);
        let (w, v) = eigh(&hermitian);
        let low = cholesky(&hermitian, Triangle::Lower);
        let product = |a: &LazyTensor, d: &LazyTensor, b: &LazyTensor| (a * d.expand_dims(1)).matmul(b);
        let plain = Norm::Backward;
        let distance = |x: LazyTensor, y: &LazyTensor| (x - y).abs().max(());
        let program = [
            distance(product(&u, &s, &vh), &a),
            distance(product(&v, &w, &v.conj().matrix_transpose()), &hermitian),
            distance(low.matmul(&low.conj().matrix_transpose()), &hermitian),
            distance(inv(&inv(&(&a + 20))), &(&a + 20)),
            distance(ifft(&fft(&a, None, 1, plain), None, 1, plain), &a),
            distance(irfft(&rfft(&a.real(), None, 2, plain), Dim::from(3), 2, plain), &a.real()),
        ];
        let outputs = everywhere(&program, &[("a", &numbers(&[4, 3, 3]).cast(dtype).unwrap())]);
        for (position, output) in outputs.iter().enumerate() {
            let error = output.cast(DType::F64).unwrap().item::<f64>().unwrap();
            assert!(error < tolerance, "{dtype}, output {position}: {error}");
        }
    }
}

#[test]
fn inputs_need_not_be_row_major() {
    let z = input("z", DType::C128, [Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap()]).unwrap();
    let data = numbers(&[4, 6]);
    let backwards = SliceSpec { start: None, stop: None, step: -2 };
    for view in [data.transpose(), data.slice(1, backwards).unwrap(), data.slice(0, (1..3).into()).unwrap()] {
        let outputs = everywhere(&[&z * 1, z.real(), z.clone()], &[("z", &view)]);
        assert!(outputs[0].bit_eq(&view) && outputs[2].bit_eq(&view));
        let real: Vec<f64> = view.to_vec::<C>().unwrap().iter().map(|z| z.re).collect();
        assert_eq!(outputs[1].to_vec::<f64>().unwrap(), real);
    }
}

/// What is wrong with arguments is said of complex tensors; no message speaks of pairs.
#[test]
fn messages_speak_of_complex_tensors() {
    let n = Dim::new("N", ..).unwrap();
    let z = input("z", DType::C64, [n, 2.into()]).unwrap();
    for (engine, options) in engines() {
        let graph = CompiledGraph::new(&[&z + 1], options).unwrap();
        let pairs = Tensor::zeros(DType::F32, [3, 2, 2]).unwrap();
        let wrong = [
            (numbers(&[3, 2]), "input z has dtype c128, declared c64"),
            (pairs, "input z has dtype f32, declared c64"),
            (numbers(&[3]).cast(DType::C64).unwrap(), "input z has rank 1, declared c64[N, 2]"),
            (numbers(&[3, 3]).cast(DType::C64).unwrap(), "axis 1 of input z has size 3, but declared 2"),
        ];
        for (tensor, want) in wrong {
            let error = graph.call(&[("z", &tensor)]).unwrap_err().to_string();
            assert_eq!(error, want, "{engine}");
        }
        let error = graph.call(&[]).unwrap_err().to_string();
        assert_eq!(error, "input z (c64[N, 2]) is missing", "{engine}");
    }
}

#[test]
fn outputs_go_to_memory_of_the_caller() {
    let z = input("z", DType::C128, [3.into()]).unwrap();
    let data = numbers(&[3]);
    let twice: Vec<C> = data.to_vec::<C>().unwrap().iter().map(|z| z + z).collect();
    for (engine, options) in engines() {
        let graph = CompiledGraph::new(&[&z + &z], options).unwrap();
        let mut values = [c(0.0, 0.0); 3];
        graph.call_into(&[("z", &data)], &mut [OutputView::new(&[3], &mut values).unwrap()]).unwrap();
        assert_eq!(values.as_slice(), twice, "{engine}");
        let mut pairs = [0.0; 6];
        let error = graph.call_into(&[("z", &data)], &mut [OutputView::new(&[3, 2], &mut pairs).unwrap()]);
        let want = "output 0 is f64[3, 2], but the result is c128[3]";
        assert_eq!(error.unwrap_err().to_string(), want, "{engine}");
        let given = data.to_vec::<C>().unwrap();
        let outputs = graph.call_donating(vec![("z", Tensor::from(given))]).unwrap();
        assert_eq!(outputs[0].to_vec::<C>().unwrap(), twice, "{engine}");
    }
    let graph = CompiledGraph::new(&[&z + &z], CompileOptions::default()).unwrap();
    let (_, report) = graph.call_reported(&[], &[("z", &data)]).unwrap();
    assert_eq!((report.input_bytes, report.output_bytes), (48, 48));
}

/// Equal programs share code whatever their numbers and sizes are; a part that is 0, 1, -1 or 2 is another program.
#[test]
fn deferred_programs_are_compiled_once() {
    let run = |n: usize, factor: C| {
        let z = numbers(&[n, 2]);
        let value = compute((defer(&z) * factor + 1).sum(0)).unwrap();
        let terms = z.to_vec::<C>().unwrap();
        let sum =
            |column: usize| -> C { terms.iter().skip(column).step_by(2).map(|z| z * factor + 1.0).sum() };
        for (column, value) in value.to_vec::<C>().unwrap().into_iter().enumerate() {
            assert!((value - sum(column)).norm() <= 1e-12 * (1.0 + value.norm()));
        }
    };
    let before = cache_report().compilations;
    for n in [3, 0, 1, 7] {
        run(n, c(n as f64 + 0.5, -0.25));
    }
    assert_eq!(cache_report().compilations, before + 1);
    run(3, c(1.0, -0.25));
    assert_eq!(cache_report().compilations, before + 2);
}
