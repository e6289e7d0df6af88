//! Singular values by one-sided Jacobi rotations.
//!
//! **Problem.** nalgebra's decomposition is quick, but where two values remain it loses digits: thousands of times
//! epsilon on graded matrices. **Idea.** Its right factor `v` is unitary, and `a v` has nearly orthogonal columns.
//! Rotating pairs of columns, in `a v` and in `v` alike, makes them orthogonal relative to their own sizes; their norms
//! are then the values. Any unitary `v` will do to begin with: if nalgebra finds none, the identity does.
//!
//! **Why it is right.** Every step is a rotation, whose error is that of rounding; the last sweep has found nothing to
//! rotate, by norms computed afresh. **Cost.** One sweep that only looks, n^2 dot products, if the beginning was good;
//! five to ten sweeps of rotations if it was the identity.

use nalgebra::DMatrix;
use nalgebra::linalg::SVD;

use super::Entry;
use super::orthogonal::without_dust;

/// Steps of nalgebra's iteration, which usually takes two for every value.
const STEPS_A_VALUE: usize = 60;

/// Sweeps; rotations converge quadratically once columns are in order.
const SWEEPS: usize = 60;

/// A column of a matrix near 1 that is shorter has no direction: its square would be subnormal.
const NO_DIRECTION: f64 = 1e-140;

/// Orthogonal columns `a v`, and `v`.
pub(crate) struct Rotated<E> {
    /// Columns in descending order of length.
    pub(crate) columns: DMatrix<E>,
    /// Their lengths.
    pub(crate) values: Vec<f64>,
    /// How many of them have a direction.
    pub(crate) rank: usize,
    pub(crate) v: DMatrix<E>,
}

/// Rotates the columns of `a`, which is finite, near 1 and not empty, with at least as many rows as columns.
pub(crate) fn rotate<E: Entry>(a: &DMatrix<E>) -> Option<Rotated<E>> {
    let (m, n) = a.shape();
    let mut v = beginning(a);
    let mut w = a * &v;
    sort_columns(&mut w, &mut v);
    let tolerance = f64::EPSILON * (m as f64).sqrt();
    for _ in 0..SWEEPS {
        if !sweep(&mut w, &mut v, tolerance) {
            sort_columns(&mut w, &mut v);
            let values: Vec<f64> = (0..n).map(|j| length(&w, j)).collect();
            let rank = values.iter().filter(|value| **value >= NO_DIRECTION).count();
            return Some(Rotated { columns: w, values, rank, v });
        }
    }
    None
}

/// A unitary matrix, the right factor if all went well.
fn beginning<E: Entry>(a: &DMatrix<E>) -> DMatrix<E> {
    let n = a.ncols();
    SVD::try_new_unordered(without_dust(a.clone()), false, true, f64::EPSILON, STEPS_A_VALUE * (n + 1))
        .and_then(|svd| svd.v_t)
        .map(|vh| vh.adjoint())
        .filter(|v| v.iter().all(|x| x.norm1().is_finite()))
        .unwrap_or_else(|| DMatrix::identity(n, n))
}

/// Rotates every pair of columns that is not orthogonal; whether there was one.
fn sweep<E: Entry>(w: &mut DMatrix<E>, v: &mut DMatrix<E>, tolerance: f64) -> bool {
    let n = w.ncols();
    let mut squares: Vec<f64> = (0..n).map(|j| w.column(j).norm_squared()).collect();
    let mut found = false;
    for i in 0..n {
        for j in i + 1..n {
            let (a, b) = (squares[i], squares[j]);
            if a.min(b) < NO_DIRECTION * NO_DIRECTION {
                continue;
            }
            let dot = w.column(i).dotc(&w.column(j));
            let size = dot.modulus();
            if size <= tolerance * a.sqrt() * b.sqrt() {
                continue;
            }
            found = true;
            let zeta = (b - a) / (2.0 * size);
            let tangent = 1f64.copysign(zeta) / (zeta.abs() + 1f64.hypot(zeta));
            let cos = 1.0 / 1f64.hypot(tangent);
            let phase = dot.conjugate().unscale(size);
            turn(w, [i, j], cos, cos * tangent, phase);
            turn(v, [i, j], cos, cos * tangent, phase);
            squares[i] = a - tangent * size;
            squares[j] = b + tangent * size;
        }
    }
    found
}

/// Turns columns `i` and `j`, the latter times `phase`, against each other.
fn turn<E: Entry>(x: &mut DMatrix<E>, [i, j]: [usize; 2], cos: f64, sin: f64, phase: E) {
    let (mut left, mut right) = x.columns_range_pair_mut(i, j);
    for (a, b) in left.iter_mut().zip(right.iter_mut()) {
        let turned = *b * phase;
        *b = a.scale(sin) + turned.scale(cos);
        *a = a.scale(cos) - turned.scale(sin);
    }
}

/// The longest column first.
fn sort_columns<E: Entry>(w: &mut DMatrix<E>, v: &mut DMatrix<E>) {
    let lengths: Vec<f64> = (0..w.ncols()).map(|j| length(w, j)).collect();
    let mut order: Vec<usize> = (0..w.ncols()).collect();
    order.sort_by(|a, b| lengths[*b].total_cmp(&lengths[*a]));
    *w = w.select_columns(&order);
    *v = v.select_columns(&order);
}

/// The length of a column, however short.
fn length<E: Entry>(w: &DMatrix<E>, j: usize) -> f64 {
    let greatest = w.column(j).iter().fold(0.0, |greatest: f64, x| greatest.max(x.norm1()));
    // Below this a reciprocal would be infinite.
    if greatest < f64::MIN_POSITIVE {
        return greatest;
    }
    greatest * w.column(j).iter().map(|x| x.unscale(greatest).modulus_squared()).sum::<f64>().sqrt()
}
