//! Orthogonal factors by nalgebra: QR by Householder reflections, singular values by Golub and Kahan with rotations of
//! our own after them ([`jacobi`]), eigenvalues of symmetric matrices by implicit QR on the tridiagonal form.
//!
//! **Signs.** The diagonal of `r` is real and not negative, where LAPACK leaves the sign that falls out; the signs of
//! singular vectors and eigenvectors are what the iteration gives. **Ends.** Iterations are bounded, and a matrix that
//! holds an infinity or NaN is refused at once, as LAPACK's do not converge on it. **Scale.** Very large and very small
//! matrices are brought near 1 by a power of two, which costs no digit.

use nalgebra::linalg::{QR, SymmetricEigen};
use nalgebra::{DMatrix, DVector};

use super::jacobi::{self, Rotated};
use super::{Entry, Matrices, Numbers, numbers};
use crate::LibraryError;

/// Steps of an iteration that usually takes two for every value.
const STEPS_A_VALUE: usize = 60;

/// `Function::Qr`.
pub(crate) fn qr<E: Entry>(matrices: &Matrices<'_, E>, complete: bool) -> Numbers {
    let (q, r) = reflect(&matrices.a, complete);
    vec![numbers(&q), numbers(&r)]
}

/// `Function::Svd`.
pub(crate) fn svd<E: Entry>(matrices: &Matrices<'_, E>, full: bool) -> Result<Numbers, LibraryError> {
    let Svd { u, values, vh } = decompose(&matrices.a).ok_or(no_convergence(matrices))?;
    let (u, vh) = if full { (completed(u), completed(vh.adjoint()).adjoint()) } else { (u, vh) };
    Ok(vec![numbers(&u), values, numbers(&vh)])
}

/// `Function::Svdvals`.
pub(crate) fn svdvals<E: Entry>(matrices: &Matrices<'_, E>) -> Result<Numbers, LibraryError> {
    Ok(vec![decompose(&matrices.a).ok_or(no_convergence(matrices))?.values])
}

/// `Function::Eigh`.
pub(crate) fn eigh<E: Entry>(matrices: &Matrices<'_, E>) -> Result<Numbers, LibraryError> {
    let (values, vectors) = diagonalise(&matrices.a).ok_or(no_convergence(matrices))?;
    Ok(vec![values, numbers(&vectors)])
}

/// `Function::Eigvalsh`.
pub(crate) fn eigvalsh<E: Entry>(matrices: &Matrices<'_, E>) -> Result<Numbers, LibraryError> {
    Ok(vec![diagonalise(&matrices.a).ok_or(no_convergence(matrices))?.0])
}

fn no_convergence<E>(matrices: &Matrices<'_, E>) -> LibraryError {
    LibraryError::NoConvergence { function: matrices.function, row: matrices.row }
}

/// A multiple of `a` near 1 and the power of two that it was divided by; most matrices are left as they are.
fn scaled<E: Entry>(a: &DMatrix<E>) -> (DMatrix<E>, i32) {
    let greatest = a.iter().flat_map(|x| x.parts()).fold(0.0, |greatest: f64, x| greatest.max(x.abs()));
    if !greatest.is_finite() || greatest == 0.0 || (1e-100..1e100).contains(&greatest) {
        return (a.clone(), 0);
    }
    let exponent = greatest.log2() as i32;
    (a.map(|x| E::from_parts(&x.parts().map(|x| times_power(x, -exponent)))), exponent)
}

/// Without entries so much smaller than the others that squares of them, and of their rounding errors, leave the range
/// of normal numbers. nalgebra's reflections would be no reflections there; nobody can tell the difference in `a`.
pub(crate) fn without_dust<E: Entry>(a: DMatrix<E>) -> DMatrix<E> {
    let least = 1e-120 * a.iter().fold(0.0, |greatest: f64, x| greatest.max(x.norm1()));
    a.map(|x| if x.norm1() < least { E::zero() } else { x })
}

/// `x * 2^exponent`, in two steps because a power may be out of reach where the product is not.
fn times_power(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    x * 2f64.powi(half) * 2f64.powi(exponent - half)
}

fn is_finite<E: Entry>(a: &DMatrix<E>) -> bool {
    a.iter().all(|x| x.parts().iter().all(|x| x.is_finite()))
}

fn reflect<E: Entry>(a: &DMatrix<E>, complete: bool) -> (DMatrix<E>, DMatrix<E>) {
    let (m, n) = a.shape();
    let k = if complete { m } else { m.min(n) };
    if m == 0 || n == 0 {
        return (DMatrix::identity(m, k), DMatrix::zeros(k, n));
    }
    let (a, exponent) = scaled(a);
    let qr = QR::new(without_dust(a));
    let mut r = DMatrix::zeros(k, n);
    r.rows_range_mut(..m.min(n)).copy_from(&qr.r());
    if exponent != 0 {
        r.iter_mut().for_each(|x| *x = E::from_parts(&x.parts().map(|x| times_power(x, exponent))));
    }
    if k == m.min(n) {
        return (qr.q(), r);
    }
    let mut adjoint = DMatrix::identity(m, m);
    qr.q_tr_mul(&mut adjoint);
    (adjoint.adjoint(), r)
}

/// Orthonormal columns with as many more as make them square.
fn completed<E: Entry>(columns: DMatrix<E>) -> DMatrix<E> {
    let (m, k) = columns.shape();
    if m == k {
        return columns;
    }
    let (mut q, _) = reflect(&columns, true);
    q.columns_range_mut(..k).copy_from(&columns);
    q
}

struct Svd<E> {
    u: DMatrix<E>,
    values: Vec<f64>,
    vh: DMatrix<E>,
}

fn decompose<E: Entry>(a: &DMatrix<E>) -> Option<Svd<E>> {
    let (m, n) = a.shape();
    if m < n {
        let Svd { u, values, vh } = decompose(&a.adjoint())?;
        return Some(Svd { u: vh.adjoint(), values, vh: u.adjoint() });
    }
    if n == 0 {
        return Some(Svd { u: DMatrix::zeros(m, 0), values: Vec::new(), vh: DMatrix::zeros(0, 0) });
    }
    if !is_finite(a) {
        return None;
    }
    let (a, exponent) = scaled(a);
    let Rotated { mut columns, values, rank, v } = jacobi::rotate(&a)?;
    for (j, value) in values.iter().take(rank).enumerate() {
        columns.column_mut(j).unscale_mut(*value);
    }
    // Those without a direction may have any that is orthogonal to the others.
    let u = if rank == n {
        columns
    } else {
        completed(columns.columns(0, rank).into_owned()).columns(0, n).into_owned()
    };
    let values = values.iter().map(|value| times_power(*value, exponent)).collect();
    Some(Svd { u, values, vh: v.adjoint() })
}

fn diagonalise<E: Entry>(a: &DMatrix<E>) -> Option<(Vec<f64>, DMatrix<E>)> {
    let n = a.nrows();
    if n == 0 {
        return Some((Vec::new(), DMatrix::zeros(0, 0)));
    }
    let a = DMatrix::from_fn(n, n, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Greater => a[(i, j)],
        std::cmp::Ordering::Equal => E::from_real(a[(i, j)].real()),
        std::cmp::Ordering::Less => a[(j, i)].conjugate(),
    });
    if !is_finite(&a) {
        return None;
    }
    let (a, exponent) = scaled(&a);
    let found = SymmetricEigen::try_new(without_dust(a), f64::EPSILON, STEPS_A_VALUE * (n + 1))?;
    let order = ascending(&found.eigenvalues)?;
    let values = order.iter().map(|i| times_power(found.eigenvalues[*i], exponent)).collect();
    Some((values, found.eigenvectors.select_columns(&order)))
}

/// Positions of values in ascending order; nothing if one is not a number.
fn ascending(values: &DVector<f64>) -> Option<Vec<usize>> {
    if !values.iter().all(|x| x.is_finite()) {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    Some(order)
}
