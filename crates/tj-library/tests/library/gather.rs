//! Taking and scattering, by hand and against the obvious loop.

use crate::support::{Owned, call, try_call, try_call_cut};
use proptest::prelude::*;
use tj_ir::{Combine, Function, ReduceOp};
use tj_tensor::DType;

#[test]
fn takes_slices_and_elements() {
    let x = Owned::new(&[2, 3, 2], &[0i16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let at = Owned::new(&[4], &[2i64, 0, -1, -3]);
    let found = call(Function::Take, &[&x, &at], DType::I16, &[2, 4, 2]);
    assert_eq!(found.elements::<i16>(), [4, 5, 0, 1, 4, 5, 0, 1, 10, 11, 6, 7, 10, 11, 6, 7]);

    let x = Owned::new(&[2, 3], &[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let at = Owned::new(&[2, 2], &[1i64, -1, 0, 2]);
    let found = call(Function::TakeAlong, &[&x, &at], DType::F32, &[2, 2]);
    assert_eq!(found.elements::<f32>(), [1.0, 2.0, 3.0, 5.0]);
}

#[test]
fn scatters_in_order() {
    let x = Owned::new(&[3, 2], &[1i32, 2, 3, 4, 5, 6]);
    let at = Owned::new(&[3], &[-1i64, 0, 2]);
    let updates = Owned::new(&[3, 2], &[10i32, 20, 30, 40, 50, 60]);
    for (combine, expected) in [
        (Combine::Set, [30, 40, 3, 4, 50, 60]),
        (Combine::Reduce(ReduceOp::Sum), [31, 42, 3, 4, 65, 86]),
        (Combine::Reduce(ReduceOp::Prod), [30, 80, 3, 4, 2500, 7200]),
        (Combine::Reduce(ReduceOp::Max), [30, 40, 3, 4, 50, 60]),
        (Combine::Reduce(ReduceOp::Min), [1, 2, 3, 4, 5, 6]),
        (Combine::Reduce(ReduceOp::And), [0, 0, 3, 4, 0, 4]),
        (Combine::Reduce(ReduceOp::Or), [31, 42, 3, 4, 63, 62]),
        (Combine::Reduce(ReduceOp::Xor), [31, 42, 3, 4, 61, 46]),
    ] {
        let found = call(Function::Scatter { combine }, &[&x, &at, &updates], DType::I32, &[3, 2]);
        assert_eq!(found.elements::<i32>(), expected, "{combine:?}");
    }
    // 2^60 swallows what comes after it, not what came before.
    let x = Owned::new(&[1, 1], &[0.0f64]);
    let at = Owned::new(&[1, 3], &[0i64, 0, -1]);
    let updates = Owned::new(&[1, 3], &[1.0, 2.0f64.powi(60), -(2.0f64.powi(60))]);
    let function = Function::ScatterAlong { combine: Combine::Reduce(ReduceOp::Sum) };
    assert_eq!(call(function, &[&x, &at, &updates], DType::F64, &[1, 1]).elements::<f64>(), [0.0]);
}

#[test]
fn positions_are_counted_from_the_start() {
    let (at, size) = (Owned::new(&[4], &[0i64, -1, -5, 3]), Owned::new(&[1], &[5i64]));
    let found = call(Function::Locate { axis: 0 }, &[&at, &size], DType::I64, &[4]);
    assert_eq!(found.elements::<i64>(), [0, 4, 0, 3]);
}

#[test]
fn positions_outside_are_named() {
    let x = Owned::new(&[2, 5], &[0u8; 10]);
    for (position, shown) in [(7, "7"), (5, "5"), (-6, "-6"), (i64::MIN, "-9223372036854775808")] {
        let at = Owned::new(&[2, 1], &[0, position]);
        let error = try_call(Function::TakeAlong, &[&x, &at], &[(DType::U8, &[2, 1])]).unwrap_err();
        let expected = format!("take_along: position {shown} of row 1 is outside an axis of size 5");
        assert_eq!(error.to_string(), expected);
        let (axis, size) = (Function::Locate { axis: 3 }, Owned::new(&[1], &[5i64]));
        let error = try_call(axis, &[&at, &size], &[(DType::I64, &[2, 1])]).unwrap_err();
        assert_eq!(error.to_string(), format!("index: index {shown} is out of range for axis 3 of size 5"));
        let (x, at) = (Owned::new(&[5, 1], &[0u8; 5]), Owned::new(&[1], &[position]));
        let error = try_call(Function::Take, &[&x, &at], &[(DType::U8, &[1, 1])]).unwrap_err();
        assert_eq!(error.to_string(), format!("take: position {shown} is outside an axis of size 5"));
    }
}

#[test]
fn sizes_of_zero() {
    let empty = |shape: &[usize]| Owned::zeros(DType::F32, shape);
    let at = |shape: &[usize]| Owned::zeros(DType::I64, shape);
    call(Function::Take, &[&empty(&[0, 3, 2]), &at(&[1])], DType::F32, &[0, 1, 2]);
    call(Function::Take, &[&empty(&[2, 0, 2]), &at(&[0])], DType::F32, &[2, 0, 2]);
    call(Function::Take, &[&empty(&[2, 3, 0]), &at(&[4])], DType::F32, &[2, 4, 0]);
    call(Function::TakeAlong, &[&empty(&[2, 0]), &at(&[2, 0])], DType::F32, &[2, 0]);
    let scatter = Function::Scatter { combine: Combine::Set };
    call(scatter, &[&empty(&[2, 3, 0]), &at(&[4]), &empty(&[2, 4, 0])], DType::F32, &[2, 3, 0]);
    let error = try_call(Function::Take, &[&empty(&[0, 2]), &at(&[1])], &[(DType::F32, &[1, 2])]);
    assert_eq!(error.unwrap_err().to_string(), "take: position 0 is outside an axis of size 0");
}

#[test]
fn copies_every_dtype() {
    for dtype in DType::ALL {
        let mut x = Owned::zeros(dtype, &[3]);
        x.bytes_mut().iter_mut().zip(1..).for_each(|(byte, i)| *byte = i);
        let at = Owned::new(&[2], &[2i64, 1]);
        let found = call(Function::TakeAlong, &[&x, &at], dtype, &[2]);
        let size = dtype.size();
        let expected = [&x.bytes()[2 * size..], &x.bytes()[size..2 * size]].concat();
        assert_eq!(found.bytes(), expected, "{dtype}");
    }
}

proptest! {
    #[test]
    fn scatter_is_a_loop(
        x in prop::collection::vec(-9i32..9, 12),
        updates in prop::collection::vec((-3i64..3, -9i32..9), 8),
        cut in 0usize..=4,
    ) {
        let (at, new): (Vec<i64>, Vec<i32>) = updates.into_iter().unzip();
        let mut expected = x.clone();
        for (i, (at, new)) in at.iter().zip(&new).enumerate() {
            expected[i / 2 * 3 + at.rem_euclid(3) as usize] -= new;
        }
        let new: Vec<i32> = new.iter().map(|x| -x).collect();
        let args = [&Owned::new(&[4, 3], &x), &Owned::new(&[4, 2], &at), &Owned::new(&[4, 2], &new)];
        let function = Function::ScatterAlong { combine: Combine::Reduce(ReduceOp::Sum) };
        let found = try_call_cut(function, &args, &[(DType::I32, &[4, 3])], 4, &[cut]).unwrap();
        prop_assert_eq!(found[0].elements::<i32>(), expected);
    }
}
