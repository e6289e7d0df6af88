//! `diag`, `eye`, `tril`, `triu`, `reshape`, `index_outer`.

use proptest::prelude::*;
use tj_library::sparse::{diag, eye, index_outer, reshape, tril, triu};
use tj_tensor::{DType, Duplicates, Format, Tensor};

use crate::support::{all_cells, any_case, dense, same};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn vectors_become_diagonals_and_return(x in any_case(1..2usize), k in -3..4isize) {
        let n = x.x.shape()[0] + k.unsigned_abs();
        let expected = dense(&[n, n], |at| {
            let on = at[1] as isize - at[0] as isize == k;
            if on { x.at(&[at[0].min(at[1])]) } else { x.fill() }
        });
        let matrix = diag(&x.x, k).unwrap();
        same(&matrix, &expected, x.fill());
        same(&diag(&matrix, k).unwrap(), &x.dense, x.fill());
    }

    #[test]
    fn diagonals_of_matrices(x in any_case(2..3usize), k in -6..7isize) {
        let shape = x.x.shape();
        let on: Vec<f64> = all_cells(shape)
            .iter()
            .filter(|at| at[1] as isize - at[0] as isize == k)
            .map(|at| x.at(at))
            .collect();
        same(&diag(&x.x, k).unwrap(), &Tensor::from(on), x.fill());
    }

    #[test]
    fn triangles(x in any_case(2..4usize), k in -6..7isize) {
        let above = |at: &[usize]| at[at.len() - 1] as isize - at[at.len() - 2] as isize;
        let lower = dense(x.x.shape(), |at| if above(at) <= k { x.at(at) } else { x.fill() });
        same(&tril(&x.x, k).unwrap(), &lower, x.fill());
        let upper = dense(x.x.shape(), |at| if above(at) >= k { x.at(at) } else { x.fill() });
        same(&triu(&x.x, k).unwrap(), &upper, x.fill());
    }

    #[test]
    fn ones_on_a_diagonal(rows in 0..5usize, columns in 0..5usize, k in -6..7isize) {
        let expected = dense(&[rows, columns], |at| f64::from(at[1] as isize - at[0] as isize == k));
        let found = eye(rows, columns, k, DType::F64).unwrap();
        prop_assert!(found.bit_eq(&expected));
        prop_assert!(found.with_format(&Format::csr()).unwrap().bit_eq(&expected));
    }

    #[test]
    fn shapes_of_the_same_elements(x in any_case(0..4usize), to in 0..4usize) {
        let n = x.dense.count().unwrap();
        let halves = if n % 2 == 0 { vec![2, n / 2] } else { vec![n, 1] };
        let shapes = [vec![n], vec![1, n], if n == 1 { vec![] } else { vec![n, 1, 1] }, halves];
        let shape = &shapes[to];
        same(&reshape(&x.x, shape).unwrap(), &x.dense.reshape(shape).unwrap(), x.fill());
    }

    #[test]
    fn lists_of_coordinates(
        x in any_case(1..4usize),
        lists in prop::collection::vec(prop::option::of(prop::collection::vec(0..100_i64, 0..6)), 3),
        negative: bool,
    ) {
        let shape = x.x.shape();
        // An empty axis has no coordinate to ask for.
        let lists: Vec<Option<Vec<i64>>> = lists
            .into_iter()
            .zip(shape)
            .map(|(list, &n)| {
                let n = n as i64;
                let inside = |c: i64| if negative { c % n - n } else { c % n };
                list.map(|list| if n == 0 { vec![] } else { list.into_iter().map(inside).collect() })
            })
            .collect();
        let extents: Vec<usize> = lists.iter().zip(shape).map(|(list, &n)| list.as_ref().map_or(n, Vec::len)).collect();
        let expected = dense(&extents, |at| {
            let from = |(d, &i): (usize, &usize)| {
                lists[d].as_ref().map_or(i, |list| list[i].rem_euclid(shape[d] as i64) as usize)
            };
            x.at(&at.iter().enumerate().map(from).collect::<Vec<_>>())
        });
        let lists: Vec<Option<&[i64]>> = lists.iter().map(Option::as_deref).collect();
        same(&index_outer(&x.x, &lists).unwrap(), &expected, x.fill());
    }
}

/// An entry of a huge matrix.
fn huge() -> Tensor {
    let columns = [Tensor::from(vec![(1_i64 << 61) - 1]), Tensor::from(vec![5_i64])];
    Tensor::coo([1 << 61, 1 << 40], &columns, vec![2.5], Duplicates::Sum).unwrap()
}

#[test]
fn huge_matrices_move_too() {
    let x = huge();
    let y = reshape(&x, &[1 << 50, 1 << 51]).unwrap();
    assert_eq!(y.get(&[(1 << 50) - 1, (1 << 51) - (1 << 40) + 5]).unwrap(), 2.5.into());
    assert!(reshape(&y, x.shape()).unwrap().bit_eq(&x));
    let last = (1_i64 << 61) - 1;
    let z = index_outer(&x, &[Some(&[0, last, -1]), Some(&[5, 4])]).unwrap();
    assert_eq!(z.to_vec::<f64>().unwrap(), [0.0, 0.0, 2.5, 0.0, 2.5, 0.0]);
    assert_eq!(tril(&x, 0).unwrap().nnz().unwrap(), 1);
    assert_eq!(triu(&x, isize::MIN).unwrap().nnz().unwrap(), 1);
    assert_eq!(diag(&x, 5 - last as isize).unwrap().get(&[5]).unwrap(), 2.5.into());
    for k in [isize::MIN, isize::MAX] {
        assert_eq!(diag(&x, k).unwrap().shape(), [0]);
        assert_eq!(eye(3, 3, k, DType::I8).unwrap().nnz().unwrap(), 0);
        let message = "diag: the result has an axis of more than 9223372036854775807";
        assert_eq!(diag(&Tensor::from(vec![1]), k).unwrap_err().to_string(), message);
    }
}

/// A stored element that equals the fill is one like any other; and views are what they show.
#[test]
fn only_elements_count() {
    let x = Tensor::csr([2, 3], vec![0, 2, 4], vec![0, 2, 0, 1], vec![0.0, 5.0, 6.0, 0.0]).unwrap();
    let dense = x.to_dense().unwrap();
    let column_major = dense.transpose().to_contiguous().unwrap().transpose();
    for x in [&x, &dense, &column_major, &x.transpose().transpose()] {
        let y = index_outer(x, &[Some(&[1, 0, 1]), None]).unwrap();
        assert_eq!(
            (y.stored_count(), y.to_vec::<f64>().unwrap()),
            (3, vec![6.0, 0.0, 0.0, 0.0, 0.0, 5.0, 6.0, 0.0, 0.0])
        );
        assert_eq!(tril(x, 5).unwrap().stored_count(), 2);
        assert_eq!(reshape(x, &[6]).unwrap().stored_count(), 2);
        assert_eq!(diag(x, 0).unwrap().stored_count(), 0);
    }
}

#[test]
fn more_than_memory_holds_is_an_error() {
    let one = Tensor::full([1; 4], 1).unwrap();
    let list = vec![0_i64; 1 << 16];
    let error = index_outer(&one, &[Some(&list[..]); 4]).unwrap_err().to_string();
    assert_eq!(error, "cannot allocate 18446744073709551615 bytes");
    let everything = Tensor::scalar(1).broadcast_to([1 << 40, 1 << 40]).unwrap();
    assert!(tril(&everything, 0).is_err());
    assert!(reshape(&everything, &[1 << 50, 1 << 30]).is_err());
    assert!(triu(&eye(1 << 61, 1 << 61, 0, DType::F64).unwrap(), 0).is_err());
}

#[test]
fn an_identity_stores_one_value() {
    let x = eye(1 << 62, 1 << 62, 0, DType::F32).unwrap();
    assert_eq!(x.format().to_string(), "{d0: dense, d1: interval(+0..+1)} iso");
    assert_eq!(x.get(&[1 << 61, 1 << 61]).unwrap(), 1.0_f32.into());
    assert_eq!(x.nnz().unwrap(), 1 << 62);
    assert_eq!(eye(1 << 62, 1 << 40, -7, DType::F32).unwrap().nnz().unwrap(), 1 << 40);
}

#[test]
fn what_does_not_fit_is_named() {
    let x = Tensor::zeros(DType::F64, [2, 3]).unwrap();
    let refused = |made: Result<Tensor, tj_library::LibraryError>, message: &str| {
        assert_eq!(made.unwrap_err().to_string(), message);
    };
    refused(diag(&x.reshape([1, 2, 3]).unwrap(), 0), "diag: takes a vector or a matrix, not shape [1, 2, 3]");
    refused(tril(&x.reshape([6]).unwrap(), 0), "tril: takes matrices, not shape [6]");
    refused(reshape(&x, &[4]), "shape [2, 3] cannot be reshaped to [4]: 6 elements are not 4");
    refused(
        reshape(&x, &[3, -1_isize as usize]),
        "reshape: size 18446744073709551615 of axis 1 is no size; each has to be given, as none is found by -1",
    );
    refused(index_outer(&x, &[None]), "index_outer: got 1 lists for shape [2, 3]");
    refused(index_outer(&x, &[Some(&[-3]), None]), "index_outer: position -3 is outside an axis of size 2");
}
