//! The way through keys against the one through columns: the same arrays, byte for byte.

use proptest::prelude::*;

use super::assemble::{Loose, by_columns};
use super::convert::indices;
use super::{Duplicates, Indices, Leaf, Stored};
use crate::format::Format;
use crate::{Scalar, Tensor};

/// Formats by rank, from 1.
const FORMATS: [&[&str]; 3] = [
    &[
        "{d0: compressed}",
        "{d0: compressed(unordered, u64, u16)}",
        "{d0: bytemap}",
        "{d0: hash}",
        "{d0: runs}",
        "{d0/3: compressed, d0%3: dense}",
    ],
    &[
        "csr",
        "csc",
        "dcsr",
        "coo",
        "dia",
        "bcsr(2, 3)",
        "{d0: compressed, d1: dense}",
        "{d1: compressed(u16), d0: bitmap}",
        "{d0: hash, d1: compressed}",
        "{d1: compressed(unordered, repeated), d0: singleton(unordered)}",
    ],
    &[
        "csf(3)",
        "coo(3)",
        "{d2: dense, d0: dense, d1: compressed}",
        "{d1: dense, d2: compressed, d0: compressed}",
        "{d0: compressed, d2: compressed(repeated), d1: singleton}",
        "{d0: bytemap, d2-d1: compressed, d1: blocks}",
        "{d2: compressed(repeated), d1: singleton(repeated), d0: singleton}",
    ],
];

fn formats(rank: usize) -> impl Iterator<Item = Format> {
    FORMATS[rank - 1].iter().map(|text| text.parse().unwrap())
}

/// The arrays of levels and leaf.
fn arrays(stored: &Stored) -> Vec<Vec<u8>> {
    let mut all = vec![];
    for level in stored.levels() {
        let (indices, present) = level.arrays();
        all.extend(indices.iter().map(|array| array.as_bytes().to_vec()));
        all.extend(present.map(|present| present.as_bytes().to_vec()));
    }
    match stored.leaf() {
        Leaf::Values(values) => all.push(values.as_bytes().unwrap().to_vec()),
        Leaf::Iso(_) | Leaf::Pattern => {}
    }
    all
}

#[track_caller]
fn same(found: Tensor, expected: &Stored) {
    let stored = found.stored().unwrap();
    assert_eq!(stored.format(), expected.format());
    assert_eq!(stored.counts, expected.counts);
    assert_eq!(arrays(stored), arrays(expected), "{}", stored.format());
}

fn column(of: impl Iterator<Item = usize>) -> Tensor {
    Tensor::from(of.map(|c| c as i64).collect::<Vec<i64>>())
}

/// Both ways from loose entries.
fn check_entries(shape: &[usize], entries: &[Vec<usize>], values: Tensor, format: &Format) {
    for duplicates in [Duplicates::Sum, Duplicates::Last, Duplicates::Refuse] {
        let columns: Vec<Tensor> = (0..shape.len()).map(|d| column(entries.iter().map(|c| c[d]))).collect();
        let fill = Scalar::from_bits(values.dtype(), 0);
        let found = Tensor::from_entries(shape, &columns, values.clone(), fill, duplicates, format);
        let dims = columns.iter().map(|column| Indices::from_tensor(column, "").unwrap()).collect();
        match by_columns(Loose { shape, dims, values: values.clone(), fill, duplicates }, format) {
            Ok(expected) => {
                let entries = found.as_ref().unwrap().to_entries().unwrap();
                same(found.unwrap(), &expected);
                let others = Tensor::of_stored(expected).columns(fill).unwrap();
                assert_eq!(entries.1.shape(), others.1.shape());
            }
            Err(expected) => assert_eq!(found.err(), Some(expected)),
        }
    }
}

/// Some formats from other ones, and from dense arrays.
fn check_pairs(array: &Tensor, fill: Scalar, n_formats: usize) {
    let array = array.clone().with_fill(Some(fill)).unwrap();
    let formats: Vec<Format> = formats(array.rank()).take(n_formats).collect();
    let all: Vec<Tensor> = formats
        .iter()
        .map(|format| array.with_format(format).unwrap())
        .chain([array.clone(), array.transpose().to_contiguous().unwrap().transpose()])
        .collect();
    for format in &formats {
        let (dims, values) = array.columns(fill).unwrap();
        let (shape, dims, duplicates) = (array.shape(), indices(dims), Duplicates::Refuse);
        let expected = by_columns(Loose { shape, dims, values, fill, duplicates }, format).unwrap();
        for from in &all {
            same(from.with_format(format).unwrap(), &expected);
        }
    }
    for from in &all {
        let mut order: Vec<usize> = (0..array.rank()).collect();
        for _ in 0..array.rank() {
            order.rotate_left(1);
            let dense = from.with_format(&Format::dense_in_order(&order)).unwrap();
            assert!(dense.strides().is_some() && dense.with_fill(None).unwrap().bit_eq(&array));
        }
        assert!(from.to_dense().unwrap().bit_eq(&array));
        assert_eq!(from.nnz().unwrap(), from.to_entries().unwrap().1.shape()[0]);
    }
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![8 => 1..6usize, 1 => Just(0), 1 => 40..70usize], 1..4)
}

/// Entries of which many have the same coordinates, and whose sums depend on the order.
fn entries() -> impl Strategy<Value = (Vec<usize>, Vec<Vec<usize>>, Vec<f32>)> {
    shapes().prop_flat_map(|shape| {
        let n = if shape.contains(&0) { 0 } else { 60 };
        let coordinates: Vec<_> = shape.iter().map(|&extent| 0..extent.max(1)).collect();
        let entry =
            (coordinates, prop_oneof![Just(1e8f32), Just(-1e8), -2f32..2.0, Just(0.0), Just(f32::NAN)]);
        (Just(shape), prop::collection::vec(entry, 0..=n)).prop_map(|(shape, entries)| {
            let (coordinates, values) = entries.into_iter().unzip();
            (shape, coordinates, values)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn loose_entries((shape, coordinates, values) in entries()) {
        for format in formats(shape.len()) {
            check_entries(&shape, &coordinates, values.clone().into(), &format);
        }
    }

    #[test]
    fn pairs_of_formats((shape, coordinates, values) in entries(), fill in prop_oneof![Just(0f32), Just(f32::NAN)]) {
        let mut cells = vec![fill; shape.iter().product()];
        for (entry, value) in coordinates.iter().zip(values) {
            cells[entry.iter().zip(&shape).fold(0, |n, (c, extent)| n * extent + c)] = value;
        }
        check_pairs(&Tensor::from_shape_vec(&shape, cells).unwrap(), Scalar::from(fill), usize::MAX);
    }
}

/// Numbers without a pattern.
fn scattered(n: usize, seed: u64, bound: usize) -> impl Iterator<Item = usize> {
    let mix = move |i: usize| {
        let x = (i as u64 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
    };
    (0..n).map(move |i| mix(i) as usize % bound)
}

/// Enough entries for buckets, digits and threads; keys of each width; rows that are hubs, and none.
#[test]
fn many_entries_on_any_number_of_threads() {
    let n = super::PARALLEL + 77;
    let values: Vec<f32> = scattered(n, 3, 1000).map(|x| x as f32 * 1e-3 + 1e5).collect();
    let check = |shape: &[usize], bounds: &[usize], format: &str| {
        let columns: Vec<Tensor> =
            bounds.iter().zip(5..).map(|(&bound, seed)| column(scattered(n, seed, bound))).collect();
        let (fill, duplicates) = (Scalar::from(0f32), Duplicates::Sum);
        let values = Tensor::from(values.clone());
        let format: Format = format.parse().unwrap();
        let dims = columns.iter().map(|column| Indices::from_tensor(column, "").unwrap()).collect();
        let loose = Loose { shape, dims, values: values.clone(), fill, duplicates };
        let expected = by_columns(loose, &format).unwrap();
        let mut tensors = vec![];
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let made = pool.install(|| {
                let made =
                    Tensor::from_entries(shape, &columns, values.clone(), fill, duplicates, &format).unwrap();
                let backwards: Vec<usize> = (0..shape.len()).rev().collect();
                let other = made.with_format(&format.clone().permuted(&backwards)).unwrap();
                (made, other)
            });
            assert_eq!(arrays(made.0.stored().unwrap()), arrays(&expected), "{format} {threads}");
            tensors.push(made.1);
        }
        let first = arrays(tensors[0].stored().unwrap());
        assert!(tensors.iter().all(|tensor| arrays(tensor.stored().unwrap()) == first));
        let back = tensors[0].with_format(&format).unwrap();
        assert_eq!(arrays(back.stored().unwrap()), arrays(&expected), "{format} and back");
    };
    check(&[900, 800], &[900, 800], "csr");
    check(&[900, 800], &[300, 7], "csc");
    check(&[1 << 40, 5], &[3, 5], "coo");
    check(&[1, 1 << 45], &[1, 1 << 45], "{d0: compressed, d1: compressed}");
    check(&[1 << 40, 1 << 40], &[1 << 40, 1 << 40], "dcsr");
    check(&[60, 50, 40], &[60, 50, 40], "csf(3)");
    check(&[60, 50, 40], &[6, 50, 1], "{d2: dense, d0: dense, d1: compressed}");
}

#[test]
fn large_arrays_and_lists() {
    let n = super::PARALLEL;
    let cells: Vec<f64> = scattered(n, 11, 9).map(|x| if x < 6 { 0.0 } else { x as f64 }).collect();
    check_pairs(&Tensor::from_shape_vec([64, n / 64], cells).unwrap(), Scalar::from(0.0), 4);
}

#[test]
fn key_widths() {
    use super::keys::Layout;
    for (extents, bits) in [
        (vec![], 0),
        (vec![0, 1], 0),
        (vec![2, 3], 3),
        (vec![1 << 31], 31),
        (vec![(1 << 31) + 1], 32),
        (vec![usize::MAX, usize::MAX], 128),
    ] {
        assert_eq!(Layout::new(&extents).bits(), bits, "{extents:?}");
    }
    let layout = Layout::new(&[1 << 40, 1, 5]);
    let key = (7u64 << 3) + 4;
    assert_eq!([0, 1, 2].map(|l| layout.coordinate(key, l)), [7, 0, 4]);
}

#[test]
fn conversions_are_remembered() {
    let array = Tensor::from_shape_vec([2, 3], vec![0.0, 1.0, 2.0, 0.0, 3.0, 0.0]).unwrap();
    let x = array.with_format(&Format::csr()).unwrap();
    assert_eq!(x.remembered_bytes(), 0);
    let [csc, coo, csf] = [Format::csc(), Format::coo(2), Format::csf(2)];
    let columns = x.in_format(&csc).unwrap();
    // Four positions and three coordinates of four bytes, three values of eight.
    assert_eq!(x.remembered_bytes(), 4 * 4 + 3 * 4 + 3 * 8);
    assert!(x.clone().in_format(&csc).unwrap().shares_storage_with(&columns));
    let list = columns.in_format(&coo).unwrap();
    assert!(x.in_format(&coo).unwrap().shares_storage_with(&list));
    assert!(list.in_format(&csc).unwrap().shares_storage_with(&columns));
    assert!(
        columns
            .in_format(&"{d0: dense, d1: compressed(u32)}".parse().unwrap())
            .unwrap()
            .shares_storage_with(&x)
    );
    // A third drops the one that was used least recently, which was the list.
    x.in_format(&csf).unwrap();
    assert!(x.in_format(&csc).unwrap().shares_storage_with(&columns));
    assert!(!x.in_format(&coo).unwrap().shares_storage_with(&list));
    let wide: Format = "{d1: dense, d0: compressed(u64)}".parse().unwrap();
    let again = x.in_format(&wide).unwrap();
    assert!(!again.shares_storage_with(&columns) && again.bit_eq(&array));
    columns.forget_conversions();
    assert_eq!((x.remembered_bytes(), columns.remembered_bytes()), (0, 0));
    // What a tensor was converted from may go; then the conversion remembers for itself.
    drop(x);
    let other = columns.in_format(&coo).unwrap();
    assert!(columns.in_format(&coo).unwrap().shares_storage_with(&other));
    let dense = columns.in_format(&Format::dense(2)).unwrap();
    assert!(
        columns.in_format(&Format::dense(2)).unwrap().shares_storage_with(&dense) && dense.bit_eq(&array)
    );
    assert!(array.in_format(&csc).unwrap().bit_eq(&array) && array.remembered_bytes() == 0);
}
