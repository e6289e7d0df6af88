use tj_tensor::{Complex, DType, Scalar};

mod arrays;
mod calls;
mod sizes;

use super::*;
use crate::trace::trace;

fn x(shape: &[i64]) -> LazyTensor {
    input("x", DType::F32, shape.iter().map(|&d| Dim::from(d))).unwrap()
}

#[test]
fn shapes_of_movement() {
    let cases: Vec<(LazyTensor, &str)> = vec![
        (x(&[2, 3]).transpose(), "f32[3, 2]"),
        (x(&[2, 3]).expand_dims(-1), "f32[2, 3, 1]"),
        (x(&[2, 1, 3]).squeeze(1), "f32[2, 3]"),
        (x(&[7]).index([at(1, None, 1)]), "f32[6]"),
        (x(&[7]).index([at(None, None, -2)]), "f32[4]"),
        (x(&[7]).index([at(-2, None, 1)]), "f32[2]"),
        (x(&[7]).index([at(9, None, 1)]), "f32[0]"),
        (x(&[7, 2]).index([At::Ellipsis, At::Index(0)]), "f32[7]"),
        (x(&[4, 6]).reshape(&[Some(3.into()), None]), "f32[3, 8]"),
        (x(&[1]).broadcast_to(&[3.into(), 5.into()]), "f32[3, 5]"),
        (x(&[3]).max(()), "f32[]"),
        (x(&[3]).mean(axis(0).keepdims()), "f32[1]"),
    ];
    for (tensor, want) in cases {
        assert!(format!("{tensor:?}").ends_with(&format!("{want})")), "{tensor:?} is not {want}");
    }
}

#[test]
fn mistakes_name_the_value_and_the_bound() {
    let cases: Vec<(LazyTensor, &str)> = vec![
        (x(&[2, 3]).sum(2), "sum: axis 2 is out of range for rank 2"),
        (x(&[2, 3]).matmul(&x(&[2, 3])), "matmul: shapes [2, 3] and [2, 3] do not fit: 3 is not 2"),
        (x(&[0]).max(0), "max: axis 0 has size 0, and max over nothing is undefined"),
        (x(&[3]).index([At::Index(3)]), "index: index 3 is out of range for axis 0 of size 3"),
        (x(&[6]).reshape(&[Some(4.into())]), "reshape: [6] has 6 elements, but [4] has 4"),
        (x(&[3]) & x(&[3]), "and is not defined on f32 and f32"),
        (x(&[3]).cast(DType::I32) + (1_i64 << 40), "add: the number 1099511627776 does not fit i32"),
    ];
    for (tensor, want) in cases {
        let error = (tensor * 2.0).sum(()).check().unwrap_err();
        assert_eq!(error.cause.to_string(), want);
        assert!(error.location.file().ends_with("tests.rs"), "{error}");
    }
}

/// What complex numbers have no meaning for, with the line of the call.
#[test]
fn order_and_narrowing_of_complex_numbers_are_refused() {
    let of = |dtype| input("h", dtype, [Dim::from(2), Dim::from(2)]).unwrap();
    let (h, c, d) = (of(DType::F16), of(DType::C64), of(DType::C128));
    let line = line!();
    let cases: Vec<(LazyTensor, &str)> = vec![
        (&h & &h, "and is not defined on f16 and f16"),
        (&c & 1, "and is not defined on c64 and c64"),
        (c.less(&d), "less is not defined on c64 and c128"),
        (c.maximum(0), "maximum is not defined on c64 and c64"),
        (c.max(0), "max is not defined on c64"),
        (c.argmin(0), "argmin is not defined on c64"),
        (c.cumulative_max(0), "cumulative_max is not defined on c64"),
        (c.cast(DType::F32), "cast is not defined on c64"),
        (d.floor_divide(2), "floor_divide is not defined on c128 and c128"),
        (complex(&c, 1), "complex is not defined on c64 and c64"),
        (fft::rfft(&c, None, -1, fft::Norm::Backward), "rfft is not defined on c64"),
    ];
    for (tensor, want) in cases {
        let error = trace(&[], &[tensor]).unwrap_err();
        assert_eq!(error.cause.to_string(), want);
        assert!(error.location.file().ends_with("tests.rs") && error.location.line() > line, "{error}");
    }
}

/// The dtypes of complex programs; no definition is complex.
#[test]
fn complex_numbers_are_pairs_in_programs() {
    let of = |dtype| input("c", dtype, [Dim::from(2), Dim::from(2)]).unwrap();
    let (c, i) = (of(DType::C64), x(&[2]).cast(DType::I32));
    let cases = [
        (&c + 1, DType::C64),
        (&c * Complex::new(0.0, 1.5), DType::C64),
        (&i * Complex::new(0.0, 1.5), DType::C128),
        (x(&[2]) * Complex::new(0.0, 1.5), DType::C64),
        (&c * &i, DType::C64),
        (c.cast(DType::C128).sum(0), DType::C128),
        (c.abs(), DType::F32),
        (c.isnan(), DType::Bool),
        (c.cast(DType::Bool), DType::Bool),
        (c.matmul(&x(&[2])), DType::C64),
        (linalg::eigh(&c).0, DType::F32),
        (number(Scalar::zero(DType::C128)).broadcast_to(&[3.into()]), DType::C128),
    ];
    for (tensor, dtype) in cases {
        let program = trace(&[], std::slice::from_ref(&tensor)).unwrap();
        assert_eq!(tensor.dtype(), dtype);
        let complex = |dtype: &DType| dtype.is_complex();
        assert!(!program.defs.iter().map(|def| def.dtype).any(|dtype| complex(&dtype)));
        assert!(!program.inputs.iter().map(|input| input.dtype).any(|dtype| complex(&dtype)));
        assert!(!program.numbers.iter().any(|number| number.dtype().is_complex()));
        assert_eq!(program.complex_outputs, [dtype.is_complex()]);
    }
}

/// Two declarations of one name are told apart by what users see.
#[test]
fn complex_inputs_are_declared_as_users_see_them() {
    let c = input("c", DType::C64, [Dim::from(2)]).unwrap();
    let pairs = input("c", DType::F32, [Dim::from(2), Dim::from(2)]).unwrap();
    let error = trace(&[], &[c.abs(), pairs]).unwrap_err();
    assert_eq!(error.cause.to_string(), "input c is declared twice: c64[2] and f32[2, 2]");
}

/// Halves keep their dtype whatever host numbers they meet; two kinds of them meet in f32.
#[test]
fn dtypes_of_halves() {
    let h = input("h", DType::F16, [Dim::from(2), Dim::from(2)]).unwrap();
    let b = h.cast(DType::BF16);
    let c = input("c", DType::C128, [Dim::from(2)]).unwrap();
    let cases = [
        (h.cast(DType::F32).exp().cast(DType::BF16), DType::BF16),
        (&h + x(&[2]), DType::F32),
        (&h + &b, DType::F32),
        (&h * 2.5 + 1, DType::F16),
        (&h + h.cast(DType::I32), DType::F16),
        (b.exp(), DType::BF16),
        (b.less(0), DType::Bool),
        (b.sum(0), DType::BF16),
        (h.mean(()), DType::F16),
        (h.max(1), DType::F16),
        (h.matmul(&h), DType::F16),
        (h.matmul(&b), DType::F32),
        (where_(&h.cast(DType::Bool), h.transpose(), 0.5), DType::F16),
        (h.reshape(&[Some(4.into())]), DType::F16),
        (c.cast(DType::C128), DType::C128),
    ];
    for (tensor, dtype) in cases {
        assert_eq!((tensor.dtype(), trace(&[], &[tensor]).map(|_| ())), (dtype, Ok(())));
    }
}

#[test]
fn inputs_have_names() {
    let error = input("2x", DType::F32, []).unwrap_err();
    assert_eq!(
        error.cause.to_string(),
        "\"2x\" is not a name: letters, digits and _, not starting with a digit"
    );
}

#[test]
fn unproven_sizes_become_guards() {
    let n = Dim::new("N", 0..=10).unwrap();
    let m = Dim::new("M", 0..=10).unwrap();
    let a = input("a", DType::F32, [n.clone()]).unwrap();
    let b = input("b", DType::F32, [m.clone()]).unwrap();
    let program = trace(&[], &[&a + &b, (&a * &a).max(0)]).unwrap();
    let guards: Vec<String> = program.guards.iter().map(|g| g.condition.to_string()).collect();
    assert_eq!(guards.len(), 2);
    assert!(guards.contains(&"1 <= N".to_string()), "{guards:?}");
    assert_eq!(program.symbols.len(), 2);
}

#[test]
fn weak_numbers_keep_the_dtype() {
    let int = x(&[3]).cast(DType::I32);
    assert_eq!((x(&[3]) * 2.5).dtype(), DType::F32);
    assert_eq!((&int * 2).dtype(), DType::I32);
    assert_eq!((&int * 2.5).dtype(), DType::F64);
    assert_eq!((&int / &int).dtype(), DType::F64);
    assert_eq!(int.sum(0).dtype(), DType::I64);
}

#[test]
fn a_million_operations_drop_and_print() {
    let mut y = x(&[2]);
    for _ in 0..500_000 {
        y = y * 0.5 + 1;
    }
    assert_eq!(format!("{y:?}"), "LazyTensor(add: f32[2])");
    let program = trace(&[], std::slice::from_ref(&y)).unwrap();
    assert_eq!(program.defs.len(), 1_000_000);
    assert_eq!(program.numbers.len(), 500_000);
    drop(y);
}

/// A condition that several operators need is recorded once, with the first of them.
#[test]
fn equal_guards_are_recorded_once() {
    let (n, m) = (Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap());
    let a = input("a", DType::F32, [n]).unwrap();
    let b = input("b", DType::F32, [m]).unwrap();
    let program = trace(&[], &[(&a + &b) * (&a - &b), &b + &a]).unwrap();
    let guards: Vec<String> = program.guards.iter().map(ToString::to_string).collect();
    assert_eq!(guards, ["N == M because of add of [N] and [M]", "M == N because of add of [M] and [N]"]);
}

/// The start of a slice is a size of the program, though no shape says so.
#[test]
fn sizes_that_are_only_positions_are_found() {
    let k = Dim::new("K", 0..=5).unwrap();
    let part = At::Slice { start: Some(k.clone()), stop: Some(&k + 1), step: 1 };
    let slice = x(&[10]).index([part]);
    assert_eq!(slice.shape(), [Dim::from(1)]);
    let program = trace(&[], &[slice]).unwrap();
    assert_eq!(program.symbols.iter().map(ToString::to_string).collect::<Vec<_>>(), ["K"]);
}

#[test]
fn sizes_that_overflow_are_mistakes() {
    let n = Dim::new("N", ..).unwrap();
    let huge = x(&[3]).sum(()).broadcast_to(&[&n * i64::MAX * 2]);
    let error = trace(&[], &[huge.sum(())]).unwrap_err();
    let text = "9223372036854775807*N * 2 does not fit in 64 bits";
    assert_eq!(error.cause.to_string(), text);
    assert!(error.location.file().ends_with("tests.rs"), "{error}");

    // Empty, but with more elements in a row than can be counted.
    let large = i64::from(u32::MAX);
    let error =
        x(&[0, large, large]).reshape(&[large, large, 0].map(|n| Some(n.into()))).check().unwrap_err();
    assert_eq!(
        error.cause.to_string(),
        "the number of elements of [4294967295, 4294967295, 0] does not fit in 64 bits"
    );
}

#[test]
fn a_node_is_small() {
    // Small vectors are as tight as this with a feature, which the workspace asks for: else other crates of a build would decide.
    assert!(size_of::<Dim>() == 24 && size_of::<Kind>() <= 48 && size_of::<Node>() <= 192);
}
