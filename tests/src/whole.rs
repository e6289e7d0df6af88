//! Matrices of small whole numbers, whose sums are exact in any order.

use tensorjit::{DType, Duplicates, Format, Scalar, Tensor};

use crate::rng::Rng;

/// A matrix in rows with so many entries, or a few less where some fall on each other.
///
/// # Panics
/// If there is no memory.
pub fn matrix(rng: &mut Rng, rows: usize, columns: usize, count: usize) -> Tensor {
    let mut cells: Vec<usize> = (0..count).map(|_| rng.below(rows * columns)).collect();
    cells.sort_unstable();
    cells.dedup();
    let column = |f: &dyn Fn(usize) -> usize| -> Tensor {
        cells.iter().map(|&cell| f(cell) as i64).collect::<Vec<i64>>().into()
    };
    let coordinates = [column(&|cell| cell / columns), column(&|cell| cell % columns)];
    let values: Vec<f64> = cells.iter().map(|&cell| (cell % 5) as f64 - 2.0).collect();
    let zero = Scalar::zero(DType::F64);
    let made = Tensor::from_entries(
        [rows, columns],
        &coordinates,
        values.into(),
        zero,
        Duplicates::Refuse,
        &Format::csr(),
    );
    made.expect("cells are in bounds, and each is there once")
}

/// All elements.
///
/// # Panics
/// If these are no floats, or there is no memory.
pub fn values(tensor: &Tensor) -> Vec<f64> {
    let dense = tensor.to_dense().expect("results are small");
    dense.to_vec().expect("results are floats")
}
