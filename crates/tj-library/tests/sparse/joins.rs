//! `concat`, `stack`, `block`, `kron`.

use proptest::prelude::*;
use tj_library::sparse::{block, concat, kron, stack};
use tj_tensor::{DType, Duplicates, Format, Scalar, Tensor};

use crate::support::{Case, any_case, cases, dense, fills, same, shapes};

/// Tensors of one shape but for an axis, and one fill.
fn along_an_axis() -> impl Strategy<Value = (Vec<Case>, usize)> {
    let extents = prop::collection::vec(0..4usize, 1..4);
    (shapes(1..4usize), extents, fills(), 0..3usize).prop_flat_map(|(shape, extents, fill, axis)| {
        let axis = axis % shape.len();
        let parts: Vec<_> = extents
            .into_iter()
            .map(|extent| {
                let mut shape = shape.clone();
                shape[axis] = extent;
                cases(shape, fill)
            })
            .collect();
        (parts, Just(axis))
    })
}

/// Two rows and columns of blocks that fit.
fn grids() -> impl Strategy<Value = Vec<Case>> {
    (prop::array::uniform4(0..4usize), fills()).prop_flat_map(|([h0, h1, w0, w1], fill)| {
        vec![
            cases(vec![h0, w0], fill),
            cases(vec![h0, w1], fill),
            cases(vec![h1, w0], fill),
            cases(vec![h1, w1], fill),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn parts_stand_one_after_the_other((parts, axis) in along_an_axis()) {
        let mut shape = parts[0].x.shape().to_vec();
        shape[axis] = parts.iter().map(|part| part.x.shape()[axis]).sum();
        let expected = dense(&shape, |at| {
            let mut at = at.to_vec();
            let mut part = 0;
            while at[axis] >= parts[part].x.shape()[axis] {
                at[axis] -= parts[part].x.shape()[axis];
                part += 1;
            }
            parts[part].at(&at)
        });
        let tensors: Vec<&Tensor> = parts.iter().map(|part| &part.x).collect();
        same(&concat(&tensors, axis).unwrap(), &expected, parts[0].fill());
    }

    #[test]
    fn a_stack_has_a_new_axis(x in any_case(0..3usize), axis in 0..3usize) {
        let axis = axis.min(x.x.rank());
        let y = x.x.with_format(&Format::coo(x.x.rank())).unwrap();
        let mut shape = x.x.shape().to_vec();
        shape.insert(axis, 2);
        let expected = dense(&shape, |at| {
            let mut at = at.to_vec();
            at.remove(axis);
            x.at(&at)
        });
        same(&stack(&[&x.x, &y], axis).unwrap(), &expected, x.fill());
    }

    #[test]
    fn blocks_stand_beside_each_other(grid in grids(), hidden in 0..5usize) {
        let x: Vec<Option<&Tensor>> =
            grid.iter().enumerate().map(|(i, part)| (i != hidden).then_some(&part.x)).collect();
        let [h0, w0] = *grid[0].x.shape() else { unreachable!() };
        let [h1, w1] = *grid[3].x.shape() else { unreachable!() };
        let expected = dense(&[h0 + h1, w0 + w1], |at| {
            let part = 2 * usize::from(at[0] >= h0) + usize::from(at[1] >= w0);
            let inside = [at[0] - if part >= 2 { h0 } else { 0 }, at[1] - if part % 2 == 1 { w0 } else { 0 }];
            if part == hidden { grid[0].fill() } else { grid[part].at(&inside) }
        });
        same(&block(&[&x[..2], &x[2..]]).unwrap(), &expected, grid[0].fill());
    }

    #[test]
    fn products_of_all_pairs(
        (a, b) in shapes(0..3usize)
            .prop_flat_map(|shape| (cases(shape, 0.0), shapes(0..4usize).prop_flat_map(|shape| cases(shape, 0.0)))),
    ) {
        let rank = a.x.rank().max(b.x.rank());
        let padded = |case: &Case| [vec![1; rank - case.x.rank()], case.x.shape().to_vec()].concat();
        let (m, n) = (padded(&a), padded(&b));
        let shape: Vec<usize> = m.iter().zip(&n).map(|(m, n)| m * n).collect();
        let expected = dense(&shape, |at| {
            let i: Vec<usize> = at.iter().zip(&n).map(|(at, n)| at / n).collect();
            let j: Vec<usize> = at.iter().zip(&n).map(|(at, n)| at % n).collect();
            let (x, y) = (a.at(&i[rank - a.x.rank()..]), b.at(&j[rank - b.x.rank()..]));
            // What is the fill annihilates; -0 is not, as what is stored says.
            let annihilates = |x: f64| x.to_bits() == 0;
            if annihilates(x) || annihilates(y) { 0.0 } else { x * y }
        });
        let found = kron(&a.x, &b.x).unwrap();
        // -0 times a negative number is 0, which is the fill.
        same(&found, &expected, 0.0);
    }
}

fn entries(x: &Tensor) -> (Vec<Vec<i64>>, Tensor) {
    let (coordinates, values) = x.to_entries().unwrap();
    (coordinates.iter().map(|column| column.to_vec().unwrap()).collect(), values)
}

fn at(shape: &[usize], coordinates: &[i64], value: impl Into<Scalar>) -> Tensor {
    let columns: Vec<Tensor> = coordinates.iter().map(|c| Tensor::from(vec![*c])).collect();
    let value = Tensor::full([1], value.into()).unwrap();
    Tensor::coo(shape, &columns, value, Duplicates::Sum).unwrap()
}

#[test]
fn products_beyond_32_and_63_bits() {
    let x = kron(&at(&[70_000], &[69_999], 3.0), &at(&[50_000], &[49_999], 5.0)).unwrap();
    assert_eq!(entries(&x).0, [[3_499_999_999]]);
    assert_eq!(entries(&x).1.to_vec::<f64>().unwrap(), [15.0]);
    let n = 1 << 31;
    let y = kron(&at(&[n, n], &[n as i64 - 1, 7], 2_i64), &at(&[n, n], &[0, n as i64 - 1], 3_i64)).unwrap();
    assert_eq!(entries(&y).0, [[(n as i64 - 1) << 31], [(7 << 31) + n as i64 - 1]]);
    assert_eq!(y.format().to_string(), "{d0: compressed(u64), d1: compressed(u64)}");
    let message = "kron: the result has an axis of more than 9223372036854775807";
    assert_eq!(kron(&y, &at(&[2, 1], &[0, 0], 1_i64)).unwrap_err().to_string(), message);
    assert_eq!(
        concat(&[&at(&[1 << 62], &[5], true), &at(&[1 << 62], &[5], true)], 0).unwrap_err().to_string(),
        "concat: the result has an axis of more than 9223372036854775807"
    );
    let z = concat(&[&at(&[1 << 62], &[5], true), &at(&[1 << 61], &[5], true)], 0).unwrap();
    assert_eq!(entries(&z).0, [[5, (1 << 62) + 5]]);
}

#[test]
fn dtypes_meet_in_one() {
    for a in DType::ALL {
        for b in DType::ALL {
            let (x, y) = (at(&[2], &[1], Scalar::one(a)), at(&[3], &[2], Scalar::one(b)));
            let dtype = a.promote(b);
            let joined = concat(&[&x, &y], 0).unwrap();
            assert_eq!(joined.dtype(), dtype);
            assert_eq!(joined.get(&[4]).unwrap(), Scalar::one(dtype));
            let product = kron(&x, &y).unwrap();
            assert_eq!((product.nnz().unwrap(), product.get(&[5]).unwrap()), (1, Scalar::one(dtype)));
        }
    }
}

#[test]
fn fills_agree_or_are_named() {
    let ones = Tensor::from(vec![1.0, 2.0]).with_fill(Some(1.0.into())).unwrap();
    let zeros = at(&[2], &[1], 1.0);
    let message = "concat: the fill of tensor 2 is 0.0f64, and that of tensor 1 is 1.0f64";
    let plain = Tensor::from(vec![1.0, 3.0]);
    assert_eq!(concat(&[&plain, &ones, &zeros], 0).unwrap_err().to_string(), message);
    let joined = concat(&[&plain, &ones], 0).unwrap();
    assert_eq!((joined.fill(), joined.nnz().unwrap()), (Some(1.0.into()), 2));
    let message = "kron: the fill is 1.0f64, and only one of 0 leaves anything unwritten";
    assert_eq!(kron(&zeros, &ones).unwrap_err().to_string(), message);
}

#[test]
fn what_does_not_fit_is_named() {
    let x = Tensor::zeros(DType::F64, [2, 3]).unwrap();
    let y = Tensor::zeros(DType::F64, [3, 3]).unwrap();
    let refused = |made: Result<Tensor, tj_library::LibraryError>, message: &str| {
        assert_eq!(made.unwrap_err().to_string(), message);
    };
    refused(concat(&[], 0), "concat: got no tensor");
    refused(concat(&[&x], 2), "axis 2 is out of range for rank 2");
    refused(concat(&[&x, &y], 1), "concat: tensor 1 of shape [3, 3] does not continue [2, 3] along axis 1");
    refused(stack(&[&x], 4), "axis 4 is out of range for rank 3");
    refused(block(&[]), "block: the grid is empty");
    refused(block(&[&[Some(&x)], &[None]]), "block: row 1 of the grid has no matrix");
    refused(block(&[&[Some(&x), None]]), "block: column 1 of the grid has no matrix");
    refused(
        block(&[&[Some(&x), Some(&y)]]),
        "block: the matrix at row 0, column 1 of the grid has 3 rows, and that at row 0, column 0 has 2",
    );
    refused(block(&[&[Some(&x)], &[]]), "block: row 1 of the grid has length 0, and row 0 has length 1");
}
