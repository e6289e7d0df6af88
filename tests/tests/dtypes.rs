//! Halves: what can be done with them gives the same bits on every engine. What complex numbers have no meaning for is
//! refused where it is called, before anything is compiled.

use tensorjit::{At, CompiledGraph, DType, Dim, LazyTensor, Tensor, at, constant, input, number, where_};
use tj_tests::engines::{c_engines, engines, everywhere};

/// Values that rounding to 16 bits treats in every way there is.
fn values(count: usize) -> Tensor {
    const AWKWARD: [f32; 16] = [
        0.0,
        -0.0,
        1.0,
        -2.5,
        0.1,
        65504.0,
        65520.0,
        -1e6,
        6e-5,
        6e-8,
        1e-40,
        3.4e38,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        2049.0,
    ];
    let value = |k: usize| AWKWARD[k % 16] * if k < 16 { 1.0 } else { 1.0 + k as f32 / 64.0 };
    (0..count).map(value).collect()
}

#[test]
fn halves_are_moved_and_converted_alike_on_every_engine() {
    for (half, other) in [(DType::F16, DType::BF16), (DType::BF16, DType::F16)] {
        let n = Dim::new("n", ..).unwrap();
        let of = |name, dtype| input(name, dtype, [n.clone(), 8.into()]).unwrap();
        let (h, f, mask) = (of("h", half), of("f", DType::F32), of("mask", DType::Bool));
        let stored = constant(&values(8).cast(half).unwrap());
        // The tests of each back end have every pair of types.
        let plain = [DType::F32, DType::F64, DType::I32, DType::U8, DType::Bool, other];
        let mut program: Vec<LazyTensor> = plain.iter().map(|&dtype| h.cast(dtype)).collect();
        program.extend(plain.iter().map(|&dtype| f.cast(dtype).cast(half)));
        program.extend([
            h.clone(),
            stored.clone(),
            (h.cast(DType::F32) * 2.5).cast(half).cast(other),
            &h + &f,
            &stored * &f + 1,
            h.cast(DType::F32).sum(1).cast(half),
            &h * 2.5 - h.exp(),
            h.maximum(&stored) / 3,
            h.relu().less(0.5),
            h.sum(1),
            h.max(1),
            h.mean(()),
            h.matmul(&h.transpose()),
            (&h + 1).cast(other).nextafter(0),
            h.transpose(),
            h.index([At::Ellipsis, at(None, None, -2)]),
            h.reshape(&[None]),
            where_(&mask, &h, f.cast(half)),
            where_(&mask, &h, 0.3),
            number(0.3_f32).cast(half).broadcast_to(&[n]),
        ]);
        for n in [0, 1, 5] {
            let f = values(n * 8).reshape([n, 8]).unwrap();
            let (h, mask) = (f.cast(half).unwrap(), f.cast(DType::I32).unwrap().cast(DType::Bool).unwrap());
            let outputs = everywhere(&program, &[("h", &h), ("f", &f), ("mask", &mask)]);
            for (k, &dtype) in plain.iter().enumerate() {
                assert!(outputs[k].bit_eq(&h.cast(dtype).unwrap()), "{half} to {dtype}");
            }
        }
    }
}

/// The error is that of the program, so it is the same whatever would have run it.
#[test]
fn order_of_complex_numbers_is_refused() {
    let complex = input("c", DType::C128, [4.into()]).unwrap();
    let line = line!();
    let cases = [
        (complex.less(2), "less is not defined on c128 and c128"),
        (complex.cast(DType::F64), "cast is not defined on c128"),
    ];
    let mut all = engines();
    all.extend(c_engines());
    for (at, (tensor, want)) in cases.into_iter().enumerate() {
        let want = format!("{want} ({}:{}:", file!(), line as usize + 2 + at);
        for (engine, options) in &all {
            let error =
                CompiledGraph::new(std::slice::from_ref(&tensor), options.clone()).unwrap_err().to_string();
            assert!(error.starts_with(&want), "{engine}: {error}, not {want}");
        }
    }
}
