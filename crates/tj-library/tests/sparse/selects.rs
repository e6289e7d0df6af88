//! `select`, `filter`, `nonzero`.

use proptest::prelude::*;
use tj_library::sparse::{Compare, filter, nonzero, select};
use tj_tensor::{Complex, DType, Scalar, Tensor};

use crate::support::{all_cells, any_case, dense, same};

/// What a comparison is of two numbers.
type Holds = fn(&f64, &f64) -> bool;

const ALL: [(Compare, Holds); 6] = [
    (Compare::Lt, f64::lt),
    (Compare::Le, f64::le),
    (Compare::Eq, f64::eq),
    (Compare::Ne, f64::ne),
    (Compare::Ge, f64::ge),
    (Compare::Gt, f64::gt),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn elements_by_value(
        x in any_case(0..4usize),
        number in prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(f64::NAN), Just(0.5), Just(f64::INFINITY)],
    ) {
        for (compare, holds) in ALL {
            let expected = dense(x.x.shape(), |at| if holds(&x.at(at), &number) { x.at(at) } else { x.fill() });
            same(&select(&x.x, compare, number).unwrap(), &expected, x.fill());
        }
        let expected = dense(x.x.shape(), |at| if at.iter().sum::<usize>() % 2 == 0 { x.at(at) } else { x.fill() });
        same(&filter(&x.x, |at, _| at.iter().sum::<usize>() % 2 == 0).unwrap(), &expected, x.fill());
    }

    #[test]
    fn where_elements_are(x in any_case(0..4usize)) {
        let expected: Vec<Vec<usize>> =
            all_cells(x.x.shape()).into_iter().filter(|at| x.at(at) != 0.0).collect();
        let found = nonzero(&x.x).unwrap();
        prop_assert_eq!(found.len(), x.x.rank());
        for (d, column) in found.iter().enumerate() {
            let expected: Vec<i64> = expected.iter().map(|at| at[d] as i64).collect();
            prop_assert_eq!(column.to_vec::<i64>().unwrap(), expected);
        }
    }
}

#[test]
fn numbers_are_exact_for_integers() {
    let x = Tensor::from(vec![1_u8, 200, 3]);
    assert_eq!(select(&x, Compare::Ge, 3_i64).unwrap().to_vec::<u8>().unwrap(), [0, 200, 3]);
    assert_eq!(select(&x, Compare::Ge, 3.0).unwrap().to_vec::<u8>().unwrap(), [0, 200, 3]);
    let refused = |number: Scalar, message: &str| {
        assert_eq!(select(&x, Compare::Lt, number).unwrap_err().to_string(), format!("select: {message}"));
    };
    refused(2.5.into(), "2.5f64 is no u8");
    refused((-1_i64).into(), "-1i64 is no u8");
    refused(300_i64.into(), "300i64 is no u8");
    refused(f64::NAN.into(), "nan_f64 is no u8");
    let large = Tensor::from(vec![u64::MAX, 1]);
    assert_eq!(select(&large, Compare::Gt, u64::MAX - 1).unwrap().nnz().unwrap(), 1);
    let error = select(&large, Compare::Gt, -1_i64).unwrap_err().to_string();
    assert_eq!(error, "select: -1i64 is no u64");
    let halves = Tensor::from(vec![0.1_f32, 0.2]);
    assert_eq!(select(&halves, Compare::Le, 0.1).unwrap().nnz().unwrap(), 1);
    let z = Tensor::from(vec![Complex::new(0.0, 1.0), Complex::new(1.0, 0.0)]);
    assert_eq!(select(&z, Compare::Eq, 1.0).unwrap().nnz().unwrap(), 1);
    assert_eq!(select(&z, Compare::Lt, 1.0).unwrap_err().to_string(), "select: does not take c128");
    assert_eq!(nonzero(&z).unwrap()[0].to_vec::<i64>().unwrap(), [0, 1]);
}

#[test]
fn bools_and_rank_0() {
    let x = Tensor::from(vec![true, false, true]);
    assert_eq!(select(&x, Compare::Eq, false).unwrap().nnz().unwrap(), 0);
    assert_eq!(nonzero(&x).unwrap()[0].to_vec::<i64>().unwrap(), [0, 2]);
    assert!(nonzero(&Tensor::scalar(1)).unwrap().is_empty());
    let huge = Tensor::scalar(1).broadcast_to([1 << 40, 1 << 40]).unwrap();
    assert!(nonzero(&huge).is_err());
    let nan = Tensor::full([2], f64::NAN).unwrap().with_fill(Some(f64::NAN.into())).unwrap();
    assert_eq!(nonzero(&nan).unwrap()[0].shape(), [2]);
    assert_eq!(select(&nan, Compare::Lt, 1.0).unwrap().dtype(), DType::F64);
}
