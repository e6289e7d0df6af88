//! Formats against dense arrays: whatever the levels, the elements are the same.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use proptest::prelude::*;
use tj_tensor::{Duplicates, Format, Scalar, SliceSpec, Tensor, TensorError};

/// Formats by rank that hold any elements.
const FORMATS: [&[&str]; 4] = [
    &["{}"],
    &[
        "{d0: compressed}",
        "{d0: compressed(unordered, u16, u64)}",
        "{d0: bytemap}",
        "{d0: bitmap}",
        "{d0: hash}",
        "{d0: runs}",
        "{d0: steps(u8)}",
        "{d0: band}",
        "{d0: blocks}",
        "{d0/3: compressed, d0%3: dense}",
        "{d0%2: dense, d0/2: hash}",
    ],
    &[
        "csr",
        "csc",
        "dcsr",
        "coo",
        "dia",
        "bcsr(2, 3)",
        "{d0: dense, d1: bytemap}",
        "{d1: bitmap, d0: compressed(u8, u8)}",
        "{d0: hash, d1: hash}",
        "{d0: hash, d1: compressed}",
        "{d0: hash(u64), d1: band}",
        "{d0: dense, d1: runs}",
        "{d0: compressed, d1: steps}",
        "{d1: blocks, d0: blocks}",
        "{d0: band, d1: band}",
        "{d1-d0: dense, d0: hash}",
        "{d0-d1: compressed, d1: bytemap}",
        "{d0: compressed, d1/2: bytemap, d1%2: dense}",
        "{d0: compressed(unordered, repeated), d1: singleton(unordered)}",
    ],
    &[
        "csf(3)",
        "coo(3)",
        "{d2: dense, d0: compressed, d1: hash}",
        "{d0: bytemap, d2-d1: compressed, d1: bitmap}",
        "{d1: hash, d0: hash, d2: runs}",
        "{d0: dense, d1: dense, d2: blocks}",
        "{d2: compressed(repeated), d1: singleton(repeated), d0: singleton}",
    ],
];

/// Few different values, many of them 0, 1 or 2.
fn arrays() -> impl Strategy<Value = Tensor> {
    prop::collection::vec(0..6usize, 0..4).prop_flat_map(|shape| {
        let count = shape.iter().product::<usize>();
        prop::collection::vec(prop_oneof![3 => Just(0i32), 1 => 0..3i32], count)
            .prop_map(move |values| Tensor::from_shape_vec(&shape, values).unwrap())
    })
}

fn formats(rank: usize) -> impl Iterator<Item = Format> {
    FORMATS[rank].iter().map(|text| text.parse().unwrap())
}

#[track_caller]
fn same(found: &Tensor, expected: &Tensor) {
    assert_eq!(found.shape(), expected.shape());
    assert_eq!(found.to_vec::<i32>().unwrap(), expected.to_vec::<i32>().unwrap(), "{}", found.format());
    assert!(found.bit_eq(expected) && expected.bit_eq(found));
}

/// The levels again through the check of what users hand over.
fn checked(tensor: &Tensor) -> Tensor {
    let Some(stored) = tensor.stored() else { return tensor.clone() };
    let (levels, leaf) = (stored.levels().to_vec(), stored.leaf().clone());
    Tensor::from_levels(stored.format().clone(), tensor.shape(), levels, leaf, stored.fill()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_format_holds_every_array(array in arrays(), fill in 0..2i32) {
        let array = array.with_fill(Some(Scalar::from(fill))).unwrap();
        let differing = array.to_vec::<i32>().unwrap().iter().filter(|&&x| x != fill).count();
        let all: Vec<Tensor> = formats(array.rank()).map(|format| array.with_format(&format).unwrap()).collect();
        for tensor in &all {
            same(tensor, &array);
            let tensor = checked(tensor);
            same(&tensor, &array);
            prop_assert_eq!(tensor.nnz().unwrap(), differing);
            prop_assert_eq!(tensor.fill(), Some(Scalar::from(fill)));
            let text = tensor.format().to_string();
            prop_assert_eq!(text.parse::<Format>().unwrap().to_string(), text);
            for (at, &value) in array.to_vec::<i32>().unwrap().iter().enumerate() {
                let mut place = at;
                let mut indices: Vec<usize> =
                    array.shape().iter().rev().map(|n| { let i = place % n; place /= n; i }).collect();
                indices.reverse();
                prop_assert_eq!(tensor.get(&indices).unwrap(), Scalar::from(value));
            }
            let (coordinates, values) = tensor.to_entries().unwrap();
            let again = Tensor::from_entries(
                array.shape(), &coordinates, values, Scalar::from(fill), Duplicates::Refuse, &tensor.format(),
            ).unwrap();
            same(&again, &array);
        }
        if let Some((last, others)) = all.split_last() {
            for other in others {
                same(&other.with_format(&last.format()).unwrap(), &array);
            }
        }
    }

    #[test]
    fn views_do_what_they_do_to_dense_arrays(
        array in arrays(),
        axis in 0..4usize,
        (start, stop, step) in (prop::option::of(-7..7i64), prop::option::of(-7..7i64), prop_oneof![-3..0i64, 1..4i64]),
    ) {
        let rank = array.rank();
        let spec = SliceSpec { start, stop, step };
        for format in formats(rank) {
            let tensor = array.with_format(&format).unwrap();
            same(&tensor.transpose(), &array.transpose());
            let new = axis % (rank + 1);
            same(&tensor.expand_dims(new).unwrap(), &array.expand_dims(new).unwrap());
            same(&tensor.expand_dims(new).unwrap().squeeze([new]).unwrap(), &array);
            let count = array.count().unwrap();
            same(&tensor.reshape([count]).unwrap(), &array.reshape([count]).unwrap());
            same(&tensor.cast(tj_tensor::DType::I64).unwrap().cast(tj_tensor::DType::I32).unwrap(), &array);
            prop_assert_eq!(tensor.prune().unwrap().format().to_string(), tensor.format().to_string());
            if rank == 0 { continue; }
            let axis = axis % rank;
            same(&tensor.slice(axis, spec).unwrap(), &array.slice(axis, spec).unwrap());
            checked(&tensor.slice(axis, spec).unwrap());
            same(&tensor.flip(axis).unwrap(), &array.flip(axis).unwrap());
            if array.shape()[axis] > 0 {
                let (one, same_one) = (tensor.index(axis, -1).unwrap(), array.index(axis, -1).unwrap());
                same(&one, &same_one);
                let mut wide = array.shape().to_vec();
                wide[axis] = 3;
                wide.insert(0, 2);
                let spread = |t: &Tensor| t.expand_dims(axis).unwrap().broadcast_to(&wide).unwrap();
                same(&spread(&one), &spread(&same_one));
                checked(&spread(&one));
            }
        }
    }
}

#[test]
fn computed_levels_store_nothing() {
    let ones = |format: &str, x: Vec<i32>| {
        let dense = Tensor::from_shape_vec([3, 4], x).unwrap();
        let tensor = dense.with_format(&format.parse().unwrap()).unwrap();
        same(&tensor, &dense);
        let stored = tensor.stored().unwrap();
        assert_eq!(stored.levels().iter().map(tj_tensor::Level::bytes).sum::<usize>(), 0);
        assert!(dense.with_fill(Some(Scalar::from(1i32))).unwrap().with_format(&tensor.format()).is_err());
    };
    ones("{d0: dense, d1: interval(+0..+1)} iso", vec![7, 0, 0, 0, 0, 7, 0, 0, 0, 0, 7, 0]);
    ones("{d0: dense, d1: interval(..+1)} iso", vec![7, 0, 0, 0, 7, 7, 0, 0, 7, 7, 7, 0]);
    ones("{d0: dense, d1: interval(+0..)} iso", vec![7, 7, 7, 7, 0, 7, 7, 7, 0, 0, 7, 7]);
    ones("{d0: dense, d1: interval(+0..+1)}", vec![1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0]);
    ones("{d0: dense, d1: interval(2..3)} iso", vec![0, 0, 7, 0, 0, 0, 7, 0, 0, 0, 7, 0]);
    let x = Tensor::from_shape_vec([2, 2], vec![1i32, 2, 0, 1]).unwrap();
    let upper = "{d0: dense, d1: interval(+0..)}".parse().unwrap();
    let message = "level 1: the entries are not those of the interval, with equal values";
    assert_eq!(x.with_format(&upper).unwrap_err().to_string(), message);
}

#[test]
fn patterns_and_single_values() {
    let x = Tensor::from_shape_vec([2, 3], vec![true, false, false, false, true, true]).unwrap();
    let pattern = x.with_format(&"{d0: dense, d1: compressed} pattern".parse().unwrap()).unwrap();
    assert!(pattern.bit_eq(&x));
    let numbers = pattern.cast(tj_tensor::DType::F32).unwrap();
    assert_eq!(numbers.format().to_string(), "{d0: dense, d1: compressed} iso");
    assert_eq!(numbers.to_vec::<f32>().unwrap(), [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    let mixed = Tensor::from(vec![0.0, 1.0, 2.0]);
    let iso = "{d0: compressed} iso".parse().unwrap();
    assert_eq!(mixed.with_format(&iso).unwrap_err().to_string(), "a leaf of one value needs equal values");
}

#[test]
fn sizes_whose_product_is_beyond_any_integer() {
    let huge = [1usize << 62, (1 << 31) + 8, 1 << 62, 3, 1, 1 << 40, 2, 9];
    let column = |values: [i64; 3]| Tensor::from(values.to_vec());
    let coordinates: Vec<Tensor> =
        huge.iter().map(|&n| column([n as i64 - 1, 0, (n as i64 - 1).min(5)])).collect();
    let x = Tensor::coo(huge, &coordinates, vec![1.0, 2.0, 4.0], Duplicates::Sum).unwrap();
    assert_eq!(x.nnz().unwrap(), 3);
    let last: Vec<usize> = huge.iter().map(|n| n - 1).collect();
    assert_eq!(x.get(&last).unwrap(), Scalar::from(1.0));
    let y = x.transpose().with_format(&Format::csf(8)).unwrap();
    assert!(y.transpose().bit_eq(&x));
    assert_eq!(x.index(0, 0).unwrap().index(0, 0).unwrap().nnz().unwrap(), 1);
    assert!(matches!(x.to_dense().unwrap_err(), TensorError::TooLarge { .. }));
    assert!(
        x.to_string().contains("3 elements differ from 0.0f64, stored as {d0: compressed(repeated, u64)")
    );
}

#[test]
fn duplicates() {
    let at = || [Tensor::from(vec![0i8, 1, 0]), Tensor::from(vec![0u64, 1, 0])];
    let made = |duplicates| Tensor::coo([2, 2], &at(), vec![1i32, 5, 2], duplicates);
    assert_eq!(made(Duplicates::Sum).unwrap().to_vec::<i32>().unwrap(), [3, 0, 0, 5]);
    assert_eq!(made(Duplicates::Last).unwrap().to_vec::<i32>().unwrap(), [2, 0, 0, 5]);
    let message = made(Duplicates::Refuse).unwrap_err().to_string();
    assert_eq!(message, "entry 1 has the coordinates [0, 0] of another entry");
    let or = Tensor::coo([2, 2], &at(), vec![true, true, false], Duplicates::Sum).unwrap();
    assert_eq!(or.to_vec::<bool>().unwrap(), [true, false, false, true]);
    let wraps = Tensor::coo([1], &[Tensor::from(vec![0i64, 0])], vec![200u8, 100], Duplicates::Sum).unwrap();
    assert_eq!(wraps.to_vec::<u8>().unwrap(), [44]);
}

#[test]
fn a_nan_is_a_fill_as_good_as_any() {
    let x = Tensor::from(vec![f64::NAN, 1.0, -f64::NAN, f64::NAN]);
    let x = x.with_fill(Some(Scalar::from(f64::NAN))).unwrap().with_format(&Format::coo(1)).unwrap();
    assert_eq!((x.nnz().unwrap(), x.stored_count()), (1, 1));
    let zeros = Tensor::from(vec![0.0, -0.0]).with_format(&Format::coo(1)).unwrap();
    assert_eq!(zeros.nnz().unwrap(), 1);
    assert_eq!(zeros.get(&[1]).unwrap(), Scalar::from(-0.0));
}

#[test]
fn stored_fills_are_kept_until_a_conversion() {
    let x = Tensor::csr([2, 2], vec![0i64, 1, 2], vec![0i64, 1], vec![0.0, 3.0]).unwrap();
    assert_eq!((x.stored_count(), x.nnz().unwrap()), (2, 1));
    assert_eq!(x.prune().unwrap().stored_count(), 1);
    assert!(x.bit_eq(&x.prune().unwrap()));
}

#[test]
fn arrays_are_taken_and_not_copied() {
    let columns = Tensor::from(vec![0u32, 2, 1]);
    let address = columns.data_ptr();
    let x = Tensor::csr([2, 3], vec![0i64, 2, 3], columns, vec![1.0, 2.0, 3.0]).unwrap();
    let tj_tensor::Level::Compressed { coordinates, .. } = &x.stored().unwrap().levels()[1] else {
        panic!("csr is dense over compressed")
    };
    assert_eq!(coordinates.to_tensor().data_ptr(), address);
    assert_eq!(x.format().to_string(), "{d0: dense, d1: compressed(u32, u64)}");
    assert!(x.transpose().transpose().bit_eq(&x));
}

#[track_caller]
fn refused(made: Result<Tensor, TensorError>, message: &str) {
    assert_eq!(made.unwrap_err().to_string(), message);
}

#[test]
fn broken_arrays_are_named() {
    let csr = |positions: Vec<i64>, columns: Vec<i64>| {
        let values = vec![1.0; columns.len()];
        Tensor::csr([2, 3], positions, columns, values)
    };
    refused(csr(vec![0, 1], vec![0]), "positions of level 1 has 2 entries, not 3");
    refused(csr(vec![1, 1, 1], vec![0]), "positions[0] of level 1 is 1: the first is 0");
    refused(csr(vec![0, 2, 1], vec![0]), "positions[2] of level 1 is 1: it is below the one before, 2");
    refused(
        csr(vec![0, 1, 3], vec![0, 1]),
        "positions[2] of level 1 is 3: the last is the number of entries, 2",
    );
    refused(csr(vec![0, 1, 2], vec![0, 3]), "coordinates[1] of level 1 is 3: coordinates are below 3");
    refused(csr(vec![0, 1, 2], vec![0, -1]), "coordinates[1] is -1; indices are not negative");
    let order = "coordinates[1] of level 1 is 1: it follows 2, and coordinates of a fiber increase";
    refused(csr(vec![0, 2, 2], vec![2, 1]), order);
    refused(
        Tensor::csr([2, 3], vec![0i64, 1, 2], vec![0i64, 1], vec![1.0]),
        "values have shape [1]; a vector of 2 is needed",
    );
    refused(
        Tensor::csr([2, 3], vec![0.5, 1.0, 2.0], vec![0i64, 1], vec![1.0]),
        "positions are f64[3]; a vector of integers is needed",
    );
    let coo = |axis: Vec<i64>| {
        Tensor::coo([2, 2], &[Tensor::from(vec![0i64, 1]), axis.into()], vec![1, 2i32], Duplicates::Sum)
    };
    refused(coo(vec![0, 2]), "coordinate 2 of entry 1 is out of range for axis 1 of size 2");
    refused(coo(vec![0]), "axis 1 has 1 coordinates for 2 values");
    let x = Tensor::arange(4).unwrap();
    refused(x.with_format(&Format::csr()), "csr has rank 2, and shape [4] has 1");
    refused(
        x.with_format(&"{d0: compressed(u8)}".parse().unwrap())
            .and_then(|x| x.with_format(&"{d0: hash(u8)}".parse().unwrap()))
            .and_then(|_| Tensor::arange(300).unwrap().with_format(&"{d0: compressed(u8)}".parse().unwrap())),
        "index 299 does not fit u8",
    );
}

#[test]
fn printing() {
    let x = Tensor::coo(
        [3, 12],
        &[Tensor::from(vec![2i64, 0]), Tensor::from(vec![11i64, 4])],
        vec![2.5, -1.0],
        Duplicates::Sum,
    );
    let text = "(0,  4)  -1.\n(2, 11)   2.5\n2 of 36 elements differ from 0.0f64, stored as coo(2)";
    assert_eq!(x.unwrap().to_string(), text);
    let long = Tensor::full([100], 1u8).unwrap().with_format(&Format::csf(1)).unwrap().to_string();
    assert_eq!(long.lines().count(), 22);
}
