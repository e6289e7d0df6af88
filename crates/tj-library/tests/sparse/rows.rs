//! `argmax`, `argmin`, `sort_rows`, `top_k`, `keep_top_k`.

use std::cmp::Ordering;

use proptest::prelude::*;
use tj_library::sparse::{Direction, argmax, argmin, keep_top_k, sort_rows, top_k};
use tj_tensor::{DType, Duplicates, Format, Tensor};

use crate::support::{Case, all_cells, any_case, dense, same};

/// The coordinates of a row in order: stable, NaNs last.
fn sorted(row: &[f64], direction: Direction) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&i, &j| {
        let (x, y) = (row[i], row[j]);
        match (x.is_nan(), y.is_nan()) {
            (false, false) => match direction {
                Direction::Ascending => x.partial_cmp(&y).unwrap(),
                Direction::Descending => y.partial_cmp(&x).unwrap(),
            },
            (nan, other) => nan.cmp(&other),
        }
    });
    order
}

fn row(x: &Case, leading: &[usize]) -> Vec<f64> {
    let n = *x.x.shape().last().unwrap();
    (0..n).map(|j| x.at(&[leading, &[j]].concat())).collect()
}

/// The first of the elements that none is before; NaN is before all.
fn first(elements: &[f64], before: Ordering) -> i64 {
    let nan = elements.iter().position(|x| x.is_nan());
    let best = || {
        (0..elements.len())
            .find(|&i| elements.iter().all(|x| x.partial_cmp(&elements[i]) != Some(before)))
            .unwrap()
    };
    nan.unwrap_or_else(best) as i64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn extremes(x in any_case(1..4usize), axis in 0..3usize) {
        let axis = axis % x.x.rank();
        let mut shape = x.x.shape().to_vec();
        let n = shape.remove(axis);
        for (found, before) in [
            (argmax(&x.x, Some(axis)), Ordering::Greater),
            (argmin(&x.x, Some(axis)), Ordering::Less),
        ] {
            if n == 0 {
                prop_assert!(found.is_err());
                continue;
            }
            let expected: Vec<i64> = all_cells(&shape).iter().map(|at| {
                let along: Vec<f64> = (0..n).map(|i| {
                    let mut at = at.clone();
                    at.insert(axis, i);
                    x.at(&at)
                }).collect();
                first(&along, before)
            }).collect();
            same(&found.unwrap(), &Tensor::from_shape_vec(&shape, expected).unwrap(), 0.0);
        }
        let all = x.dense.to_vec::<f64>().unwrap();
        if !all.is_empty() {
            prop_assert_eq!(argmax(&x.x, None).unwrap().item::<i64>().unwrap(), first(&all, Ordering::Greater));
            prop_assert_eq!(argmin(&x.x, None).unwrap().item::<i64>().unwrap(), first(&all, Ordering::Less));
        }
    }

    #[test]
    fn orders(x in any_case(1..4usize), k in 0..5usize) {
        let shape = x.x.shape();
        let n = *shape.last().unwrap();
        let k = k.min(n);
        for direction in [Direction::Ascending, Direction::Descending] {
            let split = |at: &[usize]| {
                let (last, leading) = at.split_last().unwrap();
                (*last, row(&x, leading))
            };
            let expected = dense(shape, |at| {
                let (j, row) = split(at);
                row[sorted(&row, direction)[j]]
            });
            same(&sort_rows(&x.x, direction).unwrap(), &expected, x.fill());

            let mut short = shape.to_vec();
            short[shape.len() - 1] = k;
            let top = top_k(&x.x, k, direction).unwrap();
            let expected = dense(&short, |at| {
                let (j, row) = split(at);
                row[sorted(&row, direction)[j]]
            });
            same(&top.values, &expected, x.fill());
            let expected: Vec<i64> = all_cells(&short).iter().map(|at| {
                let (j, row) = split(at);
                sorted(&row, direction)[j] as i64
            }).collect();
            prop_assert_eq!(top.indices.shape(), &short[..]);
            prop_assert_eq!(top.indices.to_vec::<i64>().unwrap(), expected);

            let expected = dense(shape, |at| {
                let (j, row) = split(at);
                if sorted(&row, direction)[..k].contains(&j) { row[j] } else { x.fill() }
            });
            same(&keep_top_k(&x.x, k, direction).unwrap(), &expected, x.fill());
        }
    }
}

#[test]
fn known_positions() {
    let item = |x: Tensor| x.item::<i64>().unwrap();
    let x = Tensor::from_shape_vec([2, 2], vec![8, 6, 5, 0]).unwrap();
    assert_eq!(item(argmin(&x, None).unwrap()), 3);
    assert_eq!(item(argmin(&x.with_format(&Format::csr()).unwrap(), None).unwrap()), 3);
    // All stored, in an order of entries that is not that of the positions.
    let values = [6, 6, 2, 3, 9, 8, 2, 4, 9];
    for shuffled in [[0, 1, 2, 3, 4, 5, 6, 7, 8], [8, 6, 4, 2, 0, 7, 5, 3, 1], [6, 2, 4, 8, 1, 0, 3, 5, 7]] {
        let column =
            |f: fn(i64) -> i64| Tensor::from(shuffled.iter().map(|&i| f(i as i64)).collect::<Vec<_>>());
        let stored: Vec<i32> = shuffled.iter().map(|&i: &usize| values[i]).collect();
        let x =
            Tensor::coo([3, 3], &[column(|i| i / 3), column(|i| i % 3)], stored, Duplicates::Refuse).unwrap();
        assert_eq!((item(argmin(&x, None).unwrap()), item(argmax(&x, None).unwrap())), (2, 4));
        assert_eq!(argmin(&x, Some(0)).unwrap().to_vec::<i64>().unwrap(), [2, 2, 0]);
    }
}

#[test]
fn huge_shapes() {
    let column = |c: i64| Tensor::from(vec![c]);
    let n = 1_usize << 40;
    let x = Tensor::coo([n, n], &[column(3), column(9)], vec![-2.0], Duplicates::Sum).unwrap();
    assert_eq!(argmin(&x, None).unwrap().item::<i64>().unwrap(), (3 << 40) + 9);
    assert_eq!(argmax(&x, None).unwrap().item::<i64>().unwrap(), 0);
    let rows = argmin(&x, Some(1)).unwrap();
    assert_eq!((rows.shape(), rows.nnz().unwrap(), rows.get(&[3]).unwrap()), (&[n][..], 1, 9_i64.into()));
    let ascending = sort_rows(&x, Direction::Ascending).unwrap();
    assert_eq!(ascending.get(&[3, 0]).unwrap(), (-2.0).into());
    let descending = sort_rows(&x, Direction::Descending).unwrap();
    assert_eq!(descending.get(&[3, n - 1]).unwrap(), (-2.0).into());
    assert_eq!(keep_top_k(&x, 1, Direction::Descending).unwrap().nnz().unwrap(), 0);
    assert_eq!(
        top_k(&x, n, Direction::Ascending).unwrap_err().to_string(),
        "cannot allocate 18446744073709551615 bytes"
    );
    let far = Tensor::coo([n, n], &[column(n as i64 - 1), column(9)], vec![-2.0], Duplicates::Sum).unwrap();
    let message = "argmin: the position of an element of shape [1099511627776, 1099511627776] is no i64";
    assert_eq!(argmin(&far, None).unwrap_err().to_string(), message);
}

#[test]
fn every_ordered_dtype() {
    for dtype in DType::ALL {
        let x = Tensor::from_shape_vec([2, 3], vec![0, 1, 0, 1, 1, 0]).unwrap().cast(dtype).unwrap();
        if dtype.is_complex() {
            assert_eq!(
                argmax(&x, Some(1)).unwrap_err().to_string(),
                format!("argmax: does not take {dtype}")
            );
            assert!(sort_rows(&x, Direction::Ascending).is_err());
            continue;
        }
        assert_eq!(argmax(&x, Some(1)).unwrap().to_vec::<i64>().unwrap(), [1, 0]);
        assert_eq!(argmin(&x, Some(1)).unwrap().to_vec::<i64>().unwrap(), [0, 2]);
        let expected = Tensor::from_shape_vec([2, 3], vec![1, 0, 0, 1, 1, 0]).unwrap().cast(dtype).unwrap();
        assert!(sort_rows(&x, Direction::Descending).unwrap().bit_eq(&expected));
    }
    assert_eq!(
        sort_rows(&Tensor::scalar(1), Direction::Ascending).unwrap_err().to_string(),
        "sort_rows: a tensor of rank 0 has no rows"
    );
    let message = "top_k: cannot take 3 elements of rows of 2";
    assert_eq!(top_k(&Tensor::from(vec![1, 2]), 3, Direction::Ascending).unwrap_err().to_string(), message);
    let empty = Tensor::zeros(DType::F64, [2, 0]).unwrap();
    let message = "argmax: axis 1 has size 0, and argmax over nothing is undefined";
    assert_eq!(argmax(&empty, Some(1)).unwrap_err().to_string(), message);
}
