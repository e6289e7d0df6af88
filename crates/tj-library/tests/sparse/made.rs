//! `random` and `Builder`.

use proptest::prelude::*;
use tj_library::sparse::{Builder, random};
use tj_tensor::{DType, Duplicates, Format, Tensor};

/// Distinct cells of a tensor, in row-major order.
fn cells(x: &Tensor) -> Vec<Vec<i64>> {
    let (coordinates, values) = x.to_entries().unwrap();
    let columns: Vec<Vec<i64>> = coordinates.iter().map(|column| column.to_vec().unwrap()).collect();
    (0..values.shape()[0]).map(|at| columns.iter().map(|column| column[at]).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn as_many_as_asked_for(
        shape in prop::collection::vec(0..16usize, 0..4),
        density in 0.0..1.0,
        key: u64,
        dtype in prop::sample::select(&DType::ALL),
    ) {
        let n_cells = shape.iter().product::<usize>();
        let x = random(&shape, density, key, dtype).unwrap();
        prop_assert_eq!(x.nnz().unwrap(), (density * n_cells as f64).round() as usize);
        prop_assert!(x.bit_eq(&random(&shape, density, key, dtype).unwrap()));
        prop_assert_eq!(random(&shape, 1.0, key, dtype).unwrap().nnz().unwrap(), n_cells);
        let fewer = random(&shape, density / 2.0, key, dtype).unwrap();
        let all = cells(&x);
        prop_assert!(cells(&fewer).iter().all(|cell| all.binary_search(cell).is_ok()));
    }

    #[test]
    fn the_order_of_entries_does_not_matter(
        mut entries in prop::collection::btree_map((0..5usize, 0..5usize), -2..3_i64, 0..20),
        shuffle in prop::collection::vec(0..100usize, 20),
        fill in -1..2_i64,
        format in prop::sample::select(&["csr", "csc", "coo(2)", "dcsr", "dia", "dense(2)"][..]),
    ) {
        let format: Format = format.parse().unwrap();
        let build = |entries: &[((usize, usize), i64)]| {
            let mut builder = Builder::new(DType::I64, [5, 5]).with_fill(fill);
            for ((i, j), value) in entries {
                builder.push(&[*i, *j], *value).unwrap();
            }
            builder.finish(Duplicates::Refuse, &format).unwrap()
        };
        let sorted: Vec<_> = entries.clone().into_iter().collect();
        let mut shuffled = sorted.clone();
        for (i, j) in shuffle.iter().enumerate().take(sorted.len()) {
            shuffled.swap(i, j % sorted.len());
        }
        let (x, y) = (build(&sorted), build(&shuffled));
        prop_assert!(x.bit_eq(&y));
        entries.retain(|_, value| *value != fill);
        prop_assert_eq!(x.nnz().unwrap(), entries.len());
        prop_assert!(entries.iter().all(|((i, j), value)| x.get(&[*i, *j]).unwrap() == (*value).into()));
    }
}

#[test]
fn huge_shapes() {
    let shape = [1_usize << 40, 3, 1 << 60];
    let x = random(&shape, 1e-28, 1, DType::F64).unwrap();
    let n = (1e-28 * 3.0 * 2_f64.powi(100)).round() as usize;
    assert_eq!(
        (x.nnz().unwrap(), x.format().to_string()),
        (n, "{d0: compressed(repeated, u64), d1: singleton(repeated), d2: singleton(u64)}".into())
    );
    let message = "random: shape [1152921504606846976, 1152921504606846976, 64] has 2^126 cells or more";
    assert_eq!(random(&[1 << 60, 1 << 60, 64], 0.0, 1, DType::F64).unwrap_err().to_string(), message);
    assert!(random(&shape, 0.5, 1, DType::F64).is_err());
    for density in [-0.1, 1.1, f64::NAN] {
        assert!(random(&[2], density, 1, DType::F64).is_err());
    }
}

/// The bits are the contract: a tensor of a key never changes.
#[test]
fn known_bits() {
    let x = random(&[10, 10], 0.04, 42, DType::F32).unwrap();
    expect_test::expect![[r#"
        (4, 5)  0.67691576
        (4, 8)  0.1953516
        (5, 3)  0.48634958
        (6, 9)  0.34329194
        4 of 100 elements differ from 0.0f32, stored as csr"#]]
    .assert_eq(&x.to_string());
}

/// Rows and columns get about their share, and so do halves of the values' range.
#[test]
fn spread() {
    let x = random(&[64, 64], 0.25, 3, DType::F64).unwrap();
    let cells = cells(&x);
    for axis in [0, 1] {
        let mut counts = [0; 64];
        cells.iter().for_each(|cell| counts[cell[axis] as usize] += 1);
        let chi_squared: f64 = counts.iter().map(|&n| (f64::from(n) - 16.0).powi(2) / 16.0).sum();
        // 63 degrees of freedom: one in a thousand is beyond 104.
        assert!(chi_squared < 104.0, "{chi_squared}");
    }
    let values = x.to_entries().unwrap().1.to_vec::<f64>().unwrap();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert!((mean - 0.5).abs() < 0.04 && values.iter().all(|x| *x > 0.0 && *x <= 1.0));
}

/// Over many keys, each choice of 2 of 5 cells comes about as often.
#[test]
fn few_cells() {
    let mut counts = std::collections::BTreeMap::new();
    for key in 0..3000 {
        *counts.entry(cells(&random(&[5], 0.4, key, DType::Bool).unwrap())).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 10);
    let chi_squared: f64 = counts.values().map(|&n| (f64::from(n) - 300.0).powi(2) / 300.0).sum();
    // 9 degrees of freedom: one in a thousand is beyond 28.
    assert!(chi_squared < 28.0, "{chi_squared}: {counts:?}");
}

#[test]
fn builders_say_what_is_wrong() {
    let mut builder = Builder::new(DType::U8, [2, 2]);
    let message = "coordinate 2 of entry 0 is out of range for axis 1 of size 2";
    assert_eq!(builder.push(&[0, 2], 1_u8).unwrap_err().to_string(), message);
    assert_eq!(builder.push(&[0], 1_u8).unwrap_err().to_string(), "1 indices for a tensor of rank 2");
    assert!(builder.is_empty());
    builder.push(&[1, 1], 200).unwrap();
    builder.push(&[1, 1], 56).unwrap();
    assert_eq!(builder.len(), 2);
    let finish = |duplicates| builder.clone().finish(duplicates, &Format::csr());
    assert_eq!(finish(Duplicates::Sum).unwrap().stored_count(), 0);
    assert_eq!(finish(Duplicates::Last).unwrap().to_vec::<u8>().unwrap(), [0, 0, 0, 56]);
    assert_eq!(
        finish(Duplicates::Refuse).unwrap_err().to_string(),
        "entry 1 has the coordinates [1, 1] of another entry"
    );
    assert!(builder.finish(Duplicates::Sum, &Format::csf(3)).is_err());
    let scalar = Builder::new(DType::F64, [0; 0]).finish(Duplicates::Sum, &Format::coo(0)).unwrap();
    assert_eq!(scalar.item::<f64>().unwrap(), 0.0);
}
