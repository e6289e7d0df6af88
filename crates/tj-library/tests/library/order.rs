//! Sorting, searching and scans against the obvious ways to compute them.

use std::cmp::Ordering;

use crate::support::{Item, Owned, call, try_call_cut};
use proptest::prelude::*;
use tj_ir::{Field, Function, ReduceOp};
use tj_tensor::{DType, bf16, f16};

/// The order of sorting: numbers, with equal zeros, then NaN.
fn order<T: Item>(a: T, b: T) -> Ordering {
    let (a, b) = (a.to_f64(), b.to_f64());
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn stable_positions<T: Item>(x: &[T], descending: bool) -> Vec<i64> {
    let mut positions: Vec<i64> = (0..x.len() as i64).collect();
    positions.sort_by(|a, b| {
        let (a, b) = (x[*a as usize], x[*b as usize]);
        let both_numbers = !a.to_f64().is_nan() && !b.to_f64().is_nan();
        if descending && both_numbers { order(b, a) } else { order(a, b) }
    });
    positions
}

fn check_sorts<T: Item + PartialEq + std::fmt::Debug>(x: &[T]) {
    let n = x.len();
    let owned = Owned::new(&[n], x);
    for descending in [false, true] {
        let positions = stable_positions(x, descending);
        let found = call(Function::Argsort { descending }, &[&owned], DType::I64, &[n]);
        assert_eq!(found.elements::<i64>(), positions, "{x:?}");
        let sorted: Vec<T> = positions.iter().map(|i| x[*i as usize]).collect();
        let found = call(Function::Sort { descending }, &[&owned], T::DTYPE, &[n]);
        assert_eq!(found, Owned::new(&[n], &sorted), "{x:?}");
    }

    let sorted: Vec<T> = stable_positions(x, false).iter().map(|i| x[*i as usize]).collect();
    for right in [false, true] {
        let expected: Vec<i64> = x
            .iter()
            .map(|value| {
                let before = |other: &&T| match order(**other, *value) {
                    Ordering::Less => true,
                    Ordering::Equal => right,
                    Ordering::Greater => false,
                };
                sorted.iter().filter(before).count() as i64
            })
            .collect();
        let args = [&Owned::new(&[n], &sorted), &owned];
        let found = call(Function::Searchsorted { right }, &args, DType::I64, &[n]);
        assert_eq!(found.elements::<i64>(), expected, "{x:?}");
    }
}

/// A step as `tj_ir::Op` has it.
fn step<T: Item>(op: ReduceOp, a: T, b: T) -> f64 {
    let (a, b) = (a.to_f64(), b.to_f64());
    match op {
        ReduceOp::Sum => a + b,
        ReduceOp::Prod => a * b,
        ReduceOp::Max | ReduceOp::Min if a.is_nan() || b.is_nan() => f64::NAN,
        ReduceOp::Max if a == b => {
            if a.is_sign_negative() {
                b
            } else {
                a
            }
        }
        ReduceOp::Min if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        ReduceOp::Max => a.max(b),
        ReduceOp::Min => a.min(b),
        ReduceOp::And | ReduceOp::Or | ReduceOp::Xor | ReduceOp::By(_) => panic!("{op:?} is not of numbers"),
    }
}

/// `round` takes an exact step to the dtype; one of f32 in f64 and then to f32 rounds as f32 does.
fn check_scan<T: Item>(x: &[T], round: impl Fn(f64) -> T, lowest: f64, greatest: f64) {
    let n = x.len();
    for (op, identity) in
        [(ReduceOp::Sum, 0.0), (ReduceOp::Prod, 1.0), (ReduceOp::Max, lowest), (ReduceOp::Min, greatest)]
    {
        let mut expected = vec![identity];
        let mut last = None;
        for x in x {
            let next = last.map_or(*x, |last| round(step(op, last, *x)));
            expected.push(next.to_f64());
            last = Some(next);
        }
        for initial in [false, true] {
            let function = Function::Scan { op, initial, field: Field::Real };
            let m = n + usize::from(initial);
            let found = call(function, &[&Owned::new(&[n], x)], T::DTYPE, &[m]);
            for (found, expected) in found.elements::<T>().iter().zip(&expected[n + 1 - m..]) {
                let (found, bits) = (found.to_f64(), expected.to_bits());
                assert!(
                    found.to_bits() == bits || found.is_nan() && expected.is_nan(),
                    "{op:?}: {found} {expected}"
                );
            }
        }
    }
}

/// Few values, so that many are equal, and the special ones.
fn floats() -> impl Strategy<Value = Vec<f64>> {
    let special =
        prop::sample::select(vec![0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    prop::collection::vec(
        prop_oneof![2 => special, 3 => (-4i8..4).prop_map(f64::from), 3 => -9.0..9.0],
        0..40,
    )
}

proptest! {
    #[test]
    fn floats_sort_and_scan(x in floats()) {
        check_sorts(&x);
        check_scan(&x, |x| x, f64::NEG_INFINITY, f64::INFINITY);
        let y: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        check_sorts(&y);
        check_scan(&y, |x| x as f32, f64::NEG_INFINITY, f64::INFINITY);
        let y: Vec<f16> = x.iter().map(|x| f16::from_f64(*x)).collect();
        check_sorts(&y);
        check_scan(&y, |x| f16::from_f32(x as f32), f64::NEG_INFINITY, f64::INFINITY);
        let y: Vec<bf16> = x.iter().map(|x| bf16::from_f64(*x)).collect();
        check_sorts(&y);
        check_scan(&y, |x| bf16::from_f32(x as f32), f64::NEG_INFINITY, f64::INFINITY);
    }

    #[test]
    fn integers_sort_and_scan(x in prop::collection::vec(any::<i64>(), 0..40)) {
        macro_rules! check {
            ($($T:ident)*) => {$(
                check_sorts(&x.iter().map(|x| *x as $T).collect::<Vec<_>>());
                // So small that every step is exact in f64.
                let small: Vec<$T> = x.iter().map(|x| x.rem_euclid(16) as $T).take(3).collect();
                check_scan(&small, |x| x as i128 as $T, $T::MIN as f64, $T::MAX as f64);
            )*};
        }
        check!(i8 i16 i32 u8 u16 u32);
        // Not exact in the f64 of the oracle's order.
        let x: Vec<i64> = x.iter().map(|x| x >> 12).collect();
        check_sorts(&x);
        check_sorts(&x.iter().map(|x| x.unsigned_abs()).collect::<Vec<u64>>());
    }

    #[test]
    fn rows_in_pieces_have_the_same_bits(x in prop::collection::vec(-9.0..9.0, 24), cut in 0usize..=4) {
        let x = Owned::new(&[2, 2, 6], &x);
        for (function, dtype) in [
            (Function::Sort { descending: true }, DType::F64),
            (Function::Argsort { descending: false }, DType::I64),
            (Function::Scan { op: ReduceOp::Sum, initial: false, field: Field::Real }, DType::F64),
        ] {
            let whole = try_call_cut(function, &[&x], &[(dtype, &[2, 2, 6])], 4, &[]).unwrap();
            let pieces = try_call_cut(function, &[&x], &[(dtype, &[2, 2, 6])], 4, &[cut]).unwrap();
            prop_assert_eq!(whole, pieces);
        }
    }
}

#[test]
fn integers_at_their_bounds() {
    let x = Owned::new(&[5], &[i64::MAX, 0, i64::MIN, i64::MAX - 1, i64::MIN + 1]);
    let found = call(Function::Argsort { descending: false }, &[&x], DType::I64, &[5]);
    assert_eq!(found.elements::<i64>(), [2, 4, 1, 3, 0]);
    let found = call(Function::Argsort { descending: true }, &[&x], DType::I64, &[5]);
    assert_eq!(found.elements::<i64>(), [0, 3, 1, 4, 2]);
    let x = Owned::new(&[3], &[u64::MAX, 0, 1 << 63]);
    let found = call(Function::Sort { descending: false }, &[&x], DType::U64, &[3]);
    assert_eq!(found.elements::<u64>(), [0, 1 << 63, u64::MAX]);
    let x = Owned::new(&[3], &[i64::MAX, 1, 1]);
    let sum = Function::Scan { op: ReduceOp::Sum, initial: true, field: Field::Real };
    assert_eq!(call(sum, &[&x], DType::I64, &[4]).elements::<i64>(), [0, i64::MAX, i64::MIN, i64::MIN + 1]);
}

#[test]
fn bools_are_ordered_and_scanned() {
    let mut x = Owned::zeros(DType::Bool, &[4]);
    x.bytes_mut().copy_from_slice(&[1, 0, 1, 0]);
    let sorted = call(Function::Sort { descending: false }, &[&x], DType::Bool, &[4]);
    assert_eq!(sorted.bytes(), [0, 0, 1, 1]);
    let positions = call(Function::Argsort { descending: true }, &[&x], DType::I64, &[4]);
    assert_eq!(positions.elements::<i64>(), [0, 2, 1, 3]);
    for (op, expected) in [(ReduceOp::Max, [0, 1, 1, 1, 1]), (ReduceOp::Min, [1, 1, 0, 0, 0])] {
        let function = Function::Scan { op, initial: true, field: Field::Real };
        assert_eq!(call(function, &[&x], DType::Bool, &[5]).bytes(), expected);
    }
}

#[test]
fn complex_products() {
    let x = Owned::new(&[1, 3, 2], &[1.0f32, 2.0, 3.0, -1.0, 0.0, 1.0]);
    let function = Function::Scan { op: ReduceOp::Prod, initial: true, field: Field::Complex };
    let found = call(function, &[&x], DType::F32, &[1, 4, 2]);
    assert_eq!(found.elements::<f32>(), [1.0, 0.0, 1.0, 2.0, 5.0, 5.0, -5.0, 5.0]);
}
