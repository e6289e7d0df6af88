//! Arrays that do not fit are refused, whatever is wrong with them.

use proptest::prelude::*;
use tj_ir::{Combine, Field, Function, ReduceOp};
use tj_library::{Array, ArrayMut, LibraryError, run};
use tj_tensor::DType;

use crate::support::{Owned, try_call};

fn every_function() -> Vec<Function> {
    let words = (1..=21).flat_map(|code| (0..16).flat_map(move |a| [[code, a, 0], [code, a, 1]]));
    words.filter_map(Function::from_words).collect()
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    let size =
        prop_oneof![8 => 0usize..4, 2 => Just(2), 1 => prop::sample::select(vec![usize::MAX, 1 << 62])];
    prop::collection::vec(size, 0..5)
}

/// Bytes that fit the shape if those are few, else some.
fn n_bytes(shape: &[usize], dtype: DType) -> usize {
    let n = shape.iter().try_fold(dtype.size(), |n, size| n.checked_mul(*size));
    n.filter(|n| *n < 10_000).unwrap_or(24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_panics(
        function in prop::sample::select(every_function()),
        shapes in prop::collection::vec(shape(), 6),
        dtypes in prop::collection::vec(prop::sample::select(vec![DType::F32, DType::F64, DType::I64, DType::C64]), 6),
        alike in any::<bool>(),
        rows in (0usize..3, 0usize..3),
    ) {
        let words = vec![0u64; 6 * 2000];
        let (n_args, n_results) = function.arity();
        let at = |i: usize| {
            let (shape, dtype) = if alike { (&shapes[0], dtypes[0]) } else { (&shapes[i], dtypes[i]) };
            (dtype, &shape[..], n_bytes(shape, dtype))
        };
        let args: Vec<Array<'_>> = (0..n_args)
            .map(|i| {
                let (dtype, shape, n) = at(i);
                Array { dtype, shape, bytes: &bytemuck::cast_slice(&words)[..n] }
            })
            .collect();
        let mut owned = vec![vec![0u64; 2000]; n_results];
        let mut results: Vec<ArrayMut<'_>> = owned
            .iter_mut()
            .zip(3..)
            .map(|(words, i)| {
                let (dtype, shape, n) = at(i);
                ArrayMut { dtype, shape, bytes: &mut bytemuck::cast_slice_mut(words)[..n] }
            })
            .collect();
        let _ = run(function, &args, &mut results, rows.0..rows.1);
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let x = Owned::zeros(DType::F64, &[2, 3]);
    let field = Field::Real;
    let check = |function: Function, dtype: DType, shape: &[usize], message: &str| {
        let error = try_call(function, &[&x], &[(dtype, shape)]).unwrap_err();
        assert!(matches!(error, LibraryError::Shape { .. }));
        assert_eq!(error.to_string(), message);
    };
    let sort = Function::Sort { descending: false };
    check(sort, DType::F64, &[2, 4], "sort: [4] in place of [3]");
    check(sort, DType::F32, &[2, 3], "sort: f32 in place of f64");
    check(sort, DType::F64, &[2, 3, 1], "sort: shape [2, 3, 1] has not rows [2] and 1 more axes");
    check(Function::Inv { field }, DType::F64, &[2, 3], "inv: [2, 3] in place of [2, 2]");
    check(Function::Take, DType::F64, &[2, 3], "take: 1 arguments and 1 results");
    let mut bytes = [0u8; 8];
    let args = [Array { dtype: DType::F64, shape: &[2, 3], bytes: x.bytes() }];
    let mut results = [ArrayMut { dtype: DType::F64, shape: &[2, 3], bytes: &mut bytes }];
    let error = run(sort, &args, &mut results, 1..2).unwrap_err();
    assert_eq!(error.to_string(), "sort: 8 bytes for shape [3, 1] of f64");
    let error = run(sort, &args, &mut results, 2..3).unwrap_err();
    assert_eq!(error.to_string(), "sort: rows 2..3 of 2");
}

#[test]
fn dtypes_without_a_meaning_are_refused() {
    let check = |function: Function, dtype: DType, shape: &[usize]| {
        let x = Owned::zeros(dtype, shape);
        let error = try_call(function, &[&x], &[(dtype, shape)]).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: does not take {dtype}", function.name()));
    };
    let (real, complex) = (Field::Real, Field::Complex);
    check(Function::Sort { descending: false }, DType::C64, &[2]);
    check(Function::Scan { op: ReduceOp::Sum, initial: false, field: real }, DType::Bool, &[2]);
    check(Function::Scan { op: ReduceOp::Sum, initial: false, field: complex }, DType::F32, &[2, 2]);
    check(Function::Inv { field: real }, DType::I64, &[2, 2]);
    check(Function::Fft { inverse: false }, DType::F16, &[2, 2]);
    let x = Owned::zeros(DType::C128, &[2]);
    let at = Owned::zeros(DType::I64, &[2]);
    let scatter = Function::ScatterAlong { combine: Combine::Reduce(ReduceOp::Sum) };
    let error = try_call(scatter, &[&x, &at, &x], &[(DType::C128, &[2])]).unwrap_err();
    assert_eq!(error.to_string(), "scatter_along: does not take c128");
}

#[test]
fn sizes_of_zero_leave_the_others_free() {
    let huge = 1usize << 62;
    let check = |function: Function, args: &[&[usize]], results: &[&[usize]]| {
        let args: Vec<Array<'_>> =
            args.iter().map(|shape| Array { dtype: DType::F64, shape, bytes: &[] }).collect();
        let mut results: Vec<ArrayMut<'_>> =
            results.iter().map(|shape| ArrayMut { dtype: DType::F64, shape, bytes: &mut [] }).collect();
        let n_row_axes = args[0].shape.len() - function.core().0[0].expect("it has rows");
        let n_rows = args[0].shape[..n_row_axes].iter().product();
        assert_eq!(run(function, &args, &mut results, 0..n_rows), Ok(()));
    };
    let field = Field::Real;
    check(Function::Sort { descending: false }, &[&[huge, 0]], &[&[huge, 0]]);
    check(Function::Inv { field }, &[&[huge, 0, 0]], &[&[huge, 0, 0]]);
    check(Function::Solve { field }, &[&[0, 0], &[0, huge]], &[&[0, huge]]);
    check(Function::Qr { complete: false, field }, &[&[huge, 0]], &[&[huge, 0], &[0, 0]]);
    check(Function::Svd { full: false, field }, &[&[0, huge]], &[&[0, 0], &[0], &[0, huge]]);
    check(Function::Svdvals { field }, &[&[0, 3, 4]], &[&[0, 3]]);
    check(Function::Fft { inverse: false }, &[&[huge, 0, 2]], &[&[huge, 0, 2]]);

    let empty = Owned::zeros(DType::F64, &[0, 0]);
    let one = try_call(Function::Det { field }, &[&empty], &[(DType::F64, &[])]).unwrap();
    assert_eq!(one[0].elements::<f64>(), [1.0]);
    let both =
        try_call(Function::Slogdet { field }, &[&empty], &[(DType::F64, &[]), (DType::F64, &[])]).unwrap();
    assert_eq!((both[0].elements::<f64>(), both[1].elements::<f64>()), (&[1.0][..], &[0.0][..]));
}
