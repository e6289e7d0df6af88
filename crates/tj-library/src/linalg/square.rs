//! What the triangular factors of a square matrix tell: Cholesky, determinants, inverses, solutions.

use nalgebra::DMatrix;

use super::blocks::{self, Lu};
use super::{Entry, Matrices, Numbers, numbers};
use crate::LibraryError;

/// `Function::Cholesky`.
pub(crate) fn cholesky<E: Entry>(matrices: &Matrices<'_, E>, upper: bool) -> Result<Numbers, LibraryError> {
    let mut factor = matrices.a.clone();
    blocks::cholesky(factor.as_view_mut()).map_err(|column| LibraryError::NotPositiveDefinite {
        function: matrices.function,
        row: matrices.row,
        column,
    })?;
    factor.fill_upper_triangle(E::zero(), 1);
    Ok(vec![numbers(&if upper { factor.adjoint() } else { factor })])
}

/// `Function::Det`.
pub(crate) fn det<E: Entry>(matrices: &Matrices<'_, E>) -> Numbers {
    let lu = Lu::new(matrices.a.clone());
    let det = lu.pivots().fold(swaps_sign(&lu), |det, pivot| det * pivot);
    vec![det.parts()[..E::PARTS].to_vec()]
}

/// `Function::Slogdet`: sign, and logarithm of the absolute value, which neither overflows nor underflows.
pub(crate) fn slogdet<E: Entry>(matrices: &Matrices<'_, E>) -> Numbers {
    let lu = Lu::new(matrices.a.clone());
    let (sign, log) = if lu.pivots().any(|pivot| pivot.is_zero()) {
        (E::zero(), f64::NEG_INFINITY)
    } else {
        lu.pivots().fold((swaps_sign(&lu), 0.0), |(sign, log), pivot| {
            let size = pivot.modulus();
            (sign * pivot.unscale(size), log + size.ln())
        })
    };
    vec![sign.parts()[..E::PARTS].to_vec(), vec![log]]
}

/// `Function::Inv`.
pub(crate) fn inv<E: Entry>(matrices: &Matrices<'_, E>) -> Result<Numbers, LibraryError> {
    let n = matrices.a.nrows();
    solution(matrices, DMatrix::identity(n, n))
}

/// `Function::Solve`.
pub(crate) fn solve<E: Entry>(matrices: &Matrices<'_, E>) -> Result<Numbers, LibraryError> {
    solution(matrices, matrices.load(1)?)
}

fn solution<E: Entry>(matrices: &Matrices<'_, E>, b: DMatrix<E>) -> Result<Numbers, LibraryError> {
    let x = Lu::new(matrices.a.clone()).solve(b);
    let x = x.ok_or(LibraryError::Singular { function: matrices.function, row: matrices.row })?;
    Ok(vec![numbers(&x)])
}

/// The determinant of the permutation.
fn swaps_sign<E: Entry>(lu: &Lu<E>) -> E {
    let n_swaps = lu.swaps.iter().enumerate().filter(|(i, with)| i != *with).count();
    if n_swaps.is_multiple_of(2) { E::one() } else { -E::one() }
}
