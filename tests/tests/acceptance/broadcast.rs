//! Edge shapes.

use tensorjit::{At, CompileOptions, CompiledGraph, DType, Dim, SliceSpec, Tensor, at, axis, input, maximum};
use tj_tests::engines::{Call, all_outcomes};
use tj_tests::everywhere;

use crate::{arange, close, compile, declare, equal, fixed, symbols, tensor};

/// B01: an operand of rank 3 broadcast into rank 8, multiplied and reduced, crashes or hangs a compiler.
#[test]
fn b01_reduction_in_rank_eight() {
    let index = || std::iter::once(At::Ellipsis).chain(vec![At::NewAxis; 5]);
    let wide = [2, 3, 4, 2, 3, 2, 2, 2];
    let (o, m) = (fixed("o", DType::F64, &[2, 3, 4]), fixed("m", DType::F64, &wide));
    let r = (o.index(index()) * m).sum(2);
    let y = maximum(r, 1e-16).log();
    let o0: Tensor = (0..24).map(|k| f64::from(k) / 10.0).collect();
    let o0 = o0.reshape([2, 3, 4]).unwrap();
    let m0 = Tensor::full(wide.map(|n| n as usize), 1.0).unwrap();
    let out = everywhere(&[y], &[("o", &o0), ("m", &m0)]);
    let per_ij = [
        -0.5108256237659905,
        0.7884573603642703,
        1.3350010667323402,
        1.6863989535702288,
        1.9459101490553132,
        2.151762203259462,
    ];
    let want: Vec<f64> = per_ij.iter().flat_map(|&x| [x; 48]).collect();
    close(&out[0], &[2, 3, 2, 3, 2, 2, 2], &want, 1e-12);

    // The size of the report; too large for the interpreters.
    let wide = [10, 4, 5, 8, 8, 8, 8, 8];
    let (o, m) = (fixed("o", DType::F32, &[10, 4, 5]), fixed("m", DType::F32, &wide));
    let y = maximum((o.index(index()) * m).sum(2), 1e-16).log();
    let o0 = Tensor::full([10, 4, 5], 1.0_f32).unwrap();
    let m0 = Tensor::scalar(1.0_f32).broadcast_to(wide.map(|n| n as usize)).unwrap();
    let out = compile(&[y], 0).call(&[("o", &o0), ("m", &m0)]).unwrap();
    assert_eq!(out[0].shape(), [10, 4, 8, 8, 8, 8, 8]);
    let log5 = 5.0_f32.ln();
    assert!(out[0].as_slice::<f32>().unwrap().iter().all(|x| (x - log5).abs() <= 2e-7));
}

/// B03: reducing over an axis of length 1 mixes values of different rows.
#[test]
fn b03_reduction_over_an_axis_of_length_one() {
    let [n, m] = symbols(["n", "m"]);
    for c in [fixed("c", DType::I64, &[2, 1]), declare("c", DType::I64, &[&n, &m])] {
        let y = [c.sum(1), c.prod(1), c.sum(0), c.max(1)];
        let out = everywhere(&y, &[("c", &tensor(&[2, 1], &[4_i64, 7]))]);
        for (out, want) in out.iter().zip([&[4_i64, 7][..], &[4, 7], &[11], &[4, 7]]) {
            equal(out, &tensor(&[want.len()], want));
        }
    }
}

/// B05: max and argmax refuse an empty tensor even when the reduced axis is not the empty one.
#[test]
fn b05_max_of_an_empty_tensor() {
    let [n] = symbols(["n"]);
    let z = input("z", DType::F64, [n, 5.into()]).unwrap();
    let z0 = Tensor::zeros(DType::F64, [0, 5]).unwrap();
    equal(&everywhere(&[z.max(1)], &[("z", &z0)])[0], &Tensor::zeros(DType::F64, [0]).unwrap());
    equal(&everywhere(&[z.argmax(1)], &[("z", &z0)])[0], &Tensor::zeros(DType::I64, [0]).unwrap());
    for y in [z.argmax(0), z.argmax(None)] {
        let call = Call { inputs: vec![("z", &z0)], ..Default::default() };
        let error = all_outcomes(&[y], &[], &[call]).remove(0).unwrap_err();
        assert!(error.contains("n = 0 (axis 0 of input z)"), "{error}");
    }
    for y in [z.max(0), z.max(())] {
        let call = Call { inputs: vec![("z", &z0)], ..Default::default() };
        let error = all_outcomes(&[y], &[], &[call]).remove(0).unwrap_err();
        assert!(error.starts_with("1 <= n does not hold: n = 0 (axis 0 of input z); "), "{error}");
        assert!(error.contains("max: it is undefined over axis 0 of size 0"), "{error}");
    }
    // Sizes that are known already.
    let z = fixed("z", DType::F64, &[0, 5]);
    let error = z.max(0).check().unwrap_err().to_string();
    assert!(error.starts_with("max: axis 0 has size 0, and max over nothing is undefined"), "{error}");
}

/// B07: batched matmul whose left batch axis is a stride-0 broadcast leaves most of the output zero.
#[test]
fn b07_matmul_with_a_broadcast_batch() {
    let want = [
        10, 13, 16, 19, 22, 20, 27, 34, 41, 48, 30, 41, 52, 63, 74, 40, 43, 46, 49, 52, 90, 97, 104, 111,
        118, 140, 151, 162, 173, 184, 70, 73, 76, 79, 82, 160, 167, 174, 181, 188, 250, 261, 272, 283, 294,
        100, 103, 106, 109, 112, 230, 237, 244, 251, 258, 360, 371, 382, 393, 404_i64,
    ];
    let want = tensor(&[4, 3, 5], &want);
    let [b] = symbols(["b"]);
    for dtype in [DType::I64, DType::F32, DType::F64] {
        let want = want.cast(dtype).unwrap();
        let l = tensor(&[1, 3, 2], &[1_i64, 2, 3, 4, 5, 6]).cast(dtype).unwrap();
        let r = arange(&[4, 2, 5]).cast(dtype).unwrap();
        let repeated = l.broadcast_to([4, 3, 2]).unwrap();
        let right = input("r", dtype, [b.clone(), 2.into(), 5.into()]).unwrap();
        // A view that repeats, a lazy broadcast, and an axis of size 1.
        let left = input("l", dtype, [b.clone(), 3.into(), 2.into()]).unwrap();
        equal(&everywhere(&[left.matmul(&right)], &[("l", &repeated), ("r", &r)])[0], &want);
        let left = fixed("l", dtype, &[1, 3, 2]);
        let lazy = left.broadcast_to(&[b.clone(), 3.into(), 2.into()]).matmul(&right);
        let out = everywhere(&[left.matmul(&right), lazy], &[("l", &l), ("r", &r)]);
        equal(&out[0], &want);
        equal(&out[1], &want);
        // The broadcast on the right: transposed, the same numbers.
        let turned = |t: &Tensor| t.permute([0, 2, 1]).unwrap();
        let (right, left) = (turned(&repeated), turned(&r));
        let (x, y) = (fixed("x", dtype, &[4, 5, 2]), fixed("y", dtype, &[4, 2, 3]));
        equal(&everywhere(&[x.matmul(&y)], &[("x", &left), ("y", &right)])[0], &turned(&want));
    }
}

/// B09: reversed and stride-0 inputs give intermittently wrong results.
#[test]
fn b09_reversed_and_repeated_inputs() {
    let [n] = symbols(["n"]);
    let v0 = Tensor::arange(6).unwrap();
    let r0 = v0.flip(0).unwrap();
    let c0 = Tensor::scalar(2.0).broadcast_to([6]).unwrap();
    let (v, r) = (declare("v", DType::I64, &[&n]), declare("r", DType::I64, &[&n]));
    let c = declare("c", DType::F64, &[&n]);
    let y = [&r - 0.25, r.matmul(&v), c.matmul(&r)];
    let inputs = [("v", &v0), ("r", &r0), ("c", &c0)];
    let want =
        [tensor(&[6], &[4.75, 3.75, 2.75, 1.75, 0.75, -0.25]), Tensor::scalar(20_i64), Tensor::scalar(30.0)];
    for (out, want) in everywhere(&y, &inputs).iter().zip(&want) {
        equal(out, want);
    }
    for threads in [1, 3] {
        let graph = compile(&y, threads);
        for _ in 0..200 {
            for (out, want) in graph.call(&inputs).unwrap().iter().zip(&want) {
                equal(out, want);
            }
        }
    }
    let backwards = |step| SliceSpec { start: None, stop: None, step };
    let view = arange(&[4, 6]).slice(0, backwards(-1)).unwrap().slice(1, backwards(-2)).unwrap();
    let want = tensor(&[4, 3], &[23_i64, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1]);
    equal(&everywhere(&[fixed("x", DType::I64, &[4, 3]) * 1], &[("x", &view)])[0], &want);
    let x = fixed("x", DType::I64, &[4, 6]).index([at(None, None, -1), at(None, None, -2)]) * 1;
    equal(&everywhere(&[x], &[("x", &arange(&[4, 6]))])[0], &want);
}

/// B11: squeeze of a `[1, 1]` array cannot give rank 0.
#[test]
fn b11_rank_zero() {
    let (x, v, s) =
        (fixed("x", DType::I64, &[1, 1]), fixed("v", DType::I64, &[1]), fixed("s", DType::I64, &[]));
    let y = [x.squeeze([0, 1]), x.sum(()), v.reshape(()), &s + &s];
    let seven = |shape: &[usize]| Tensor::full(shape, 7_i64).unwrap();
    let out = everywhere(&y, &[("x", &seven(&[1, 1])), ("v", &seven(&[1])), ("s", &seven(&[]))]);
    for (out, want) in out.iter().zip([7, 7, 7, 14]) {
        assert_eq!(out.item::<i64>(), Ok(want));
        assert_eq!(out.rank(), 0);
    }
}

/// B13: the product of the sizes wraps silently.
#[test]
fn b13_counts_do_not_wrap() {
    let error = Tensor::zeros(DType::F32, [1 << 32, 1 << 32]).unwrap_err().to_string();
    assert!(error.contains("18446744073709551616"), "{error}");
    // No elements are no elements, whatever the other sizes.
    let nothing = Tensor::zeros(DType::F32, [0]).unwrap().reshape([1 << 33, 1 << 33, 0]).unwrap();
    assert_eq!(nothing.count(), Ok(0));
    let x = fixed("x", DType::F32, &[0]);
    let y = x.reshape(&[1 << 33, 1 << 33, 0].map(|n: i64| Some(Dim::from(n))));
    let error = CompiledGraph::new(&[y], CompileOptions::default()).unwrap_err().to_string();
    let want = "the number of elements of [8589934592, 8589934592, 0] does not fit in 64 bits (";
    assert!(error.starts_with(want), "{error}");
    // A broadcast stores nothing, until it is asked for.
    let large = [1 << 40, 1 << 40].map(|n: i64| Dim::from(n));
    let s = fixed("s", DType::F32, &[]).broadcast_to(&large);
    s.check().unwrap();
    let one = Tensor::scalar(1.0_f32);
    let error =
        CompiledGraph::new(std::slice::from_ref(&s), CompileOptions::default()).unwrap_err().to_string();
    assert!(error.contains("1208925819614629174706176 elements"), "{error}");
    let corner = s.index([At::Index(-1), at(7, 9, 1)]);
    equal(&everywhere(&[corner], &[("s", &one)])[0], &Tensor::full([2], 1.0_f32).unwrap());
}

/// B15: chains of moves in rank 8 and more overflow index arrays of fixed size.
#[test]
fn b15_transpose_and_sum_in_rank_eleven() {
    let want = [
        43680, 76448, 51872, 84640, 45728, 78496, 53920, 86688, 44192, 76960, 52384, 85152, 46240, 79008,
        54432, 87200, 43808, 76576, 52000, 84768, 45856, 78624, 54048, 86816, 44320, 77088, 52512, 85280,
        46368, 79136, 54560, 87328_i64,
    ];
    let x = fixed("x", DType::I64, &[2; 11]);
    let y = (x.transpose() * 1).sum([0, 2, 4, 6, 8, 10]);
    let out = everywhere(std::slice::from_ref(&y), &[("x", &arange(&[2; 11]))]);
    equal(&out[0], &tensor(&[2; 5], &want));
    assert_eq!(want.iter().sum::<i64>(), 2096128);
}

/// B17: axes of a rank-0 array are not normalised in one way.
#[test]
fn b17_axes_of_a_scalar() {
    let s = fixed("s", DType::F64, &[]);
    let none: [i64; 0] = [];
    let y = [s.sum(()), s.max(()), s.sum(none), s.sum(axis_less().keepdims())];
    let five = Tensor::scalar(5.0);
    for out in everywhere(&y, &[("s", &five)]) {
        equal(&out, &five);
    }
    equal(&everywhere(&[s.argmax(None)], &[("s", &five)])[0], &Tensor::scalar(0_i64));
    for axis in [0, -1] {
        let error = s.sum(axis).check().unwrap_err().to_string();
        assert!(error.starts_with(&format!("sum: axis {axis} is out of range for rank 0 (")), "{error}");
    }
    assert!(s.sum(axis(0)).check().is_err());
}

/// All axes, of which there are none.
fn axis_less() -> tensorjit::Axes {
    tensorjit::Axes::all()
}
