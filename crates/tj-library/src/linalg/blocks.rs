//! Triangular factors, halved until they are small.
//!
//! **Idea.** A factorisation of the left half leaves a triangular system and a product, then the factorisation of the
//! rest; a triangular system is halved in the same way. All but the smallest blocks is thus work of the matrix product,
//! which `matrixmultiply` does for nalgebra. **Cost.** That of the usual loops: n^3 / 3 multiplications
//! for LU, half as many for Cholesky, which spends as much here because the product knows nothing of symmetry.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};

use super::Entry;

/// Columns that are done one by one. Larger panels lose to the product, smaller ones to its packing.
const PANEL: usize = 16;

/// `a` becomes its factors, the lower one with an implied diagonal of ones; row `i` was swapped with row `swaps[i]`, in
/// order. `a` has at least as many rows as columns. A column without a pivot is left as it is, with a zero on the
/// diagonal.
pub(crate) fn lu<E: Entry>(mut a: DMatrixViewMut<'_, E>, swaps: &mut [usize]) {
    let n = a.ncols();
    if n <= PANEL {
        return lu_panel(a, swaps);
    }
    let half = n / 2;
    let (left_swaps, right_swaps) = swaps.split_at_mut(half);
    let (mut left, mut right) = a.columns_range_pair_mut(..half, half..);
    lu(left.as_view_mut(), left_swaps);
    left_swaps.iter().enumerate().for_each(|(i, with)| right.swap_rows(i, *with));

    let n_below = left.nrows() - half;
    let (mut top, mut bottom) = right.rows_range_pair_mut(..half, half..);
    solve_unit_lower(left.view((0, 0), (half, half)), top.as_view_mut());
    E::subtract_product(&mut bottom, left.view((half, 0), (n_below, half)), top.as_view());
    lu(bottom, right_swaps);
    for (i, with) in right_swaps.iter_mut().enumerate() {
        *with += half;
        left.swap_rows(half + i, *with);
    }
}

fn lu_panel<E: Entry>(mut a: DMatrixViewMut<'_, E>, swaps: &mut [usize]) {
    for (j, swap) in swaps.iter_mut().enumerate() {
        let mut pivot = j;
        for i in j + 1..a.nrows() {
            if a[(i, j)].norm1() > a[(pivot, j)].norm1() {
                pivot = i;
            }
        }
        *swap = pivot;
        a.swap_rows(j, pivot);
        let diagonal = a[(j, j)];
        if diagonal.is_zero() {
            continue;
        }
        let (mut left, mut right) = a.columns_range_pair_mut(j..j + 1, j + 1..);
        let mut factors = left.rows_range_mut(j + 1..);
        factors.iter_mut().for_each(|x| *x /= diagonal);
        for mut column in right.column_iter_mut() {
            let times = -column[j];
            column.rows_range_mut(j + 1..).axpy(times, &factors.column(0), E::one());
        }
    }
}

/// The lower triangle of `a` becomes the factor; what is above it is neither read nor of use. The error is the first
/// column without a positive pivot.
pub(crate) fn cholesky<E: Entry>(mut a: DMatrixViewMut<'_, E>) -> Result<(), usize> {
    let n = a.ncols();
    if n <= PANEL {
        return cholesky_panel(a);
    }
    let half = n / 2;
    let (mut left, mut right) = a.columns_range_pair_mut(..half, half..);
    cholesky(left.view_mut((0, 0), (half, half)))?;
    let mut below = left.view_mut((half, 0), (n - half, half)).adjoint();
    solve_lower(left.view((0, 0), (half, half)), below.as_view_mut());
    let adjoint = below.adjoint();
    left.view_mut((half, 0), (n - half, half)).copy_from(&adjoint);
    let mut rest = right.rows_range_mut(half..);
    E::subtract_product(&mut rest, adjoint.as_view(), below.as_view());
    cholesky(rest).map_err(|column| half + column)
}

fn cholesky_panel<E: Entry>(mut a: DMatrixViewMut<'_, E>) -> Result<(), usize> {
    let n = a.ncols();
    for j in 0..n {
        let square = (0..j).fold(a[(j, j)].real(), |rest, k| rest - a[(j, k)].modulus_squared());
        // Not a comparison with "less or equal": NaN is no pivot either.
        if square.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return Err(j);
        }
        let root = square.sqrt();
        a[(j, j)] = E::from_real(root);
        for i in j + 1..n {
            let rest = (0..j).fold(a[(i, j)], |rest, k| rest - a[(i, k)] * a[(j, k)].conjugate());
            a[(i, j)] = rest.unscale(root);
        }
    }
    Ok(())
}

/// `b` becomes the solution of `l x = b`, where the diagonal of `l` is taken for ones.
pub(crate) fn solve_unit_lower<E: Entry>(l: DMatrixView<'_, E>, b: DMatrixViewMut<'_, E>) {
    solve_by_halves(l, b, Triangle::Lower, &|l, b| {
        // It cannot fail: it divides by one.
        let _ = l.solve_lower_triangular_with_diag_mut(b, E::one());
    });
}

/// `b` becomes the solution of `l x = b`; the diagonal of `l` holds no zero.
pub(crate) fn solve_lower<E: Entry>(l: DMatrixView<'_, E>, b: DMatrixViewMut<'_, E>) {
    solve_by_halves(l, b, Triangle::Lower, &|l, b| {
        // Nor can this.
        let _ = l.solve_lower_triangular_mut(b);
    });
}

/// `b` becomes the solution of `u x = b`; the diagonal of `u` holds no zero.
pub(crate) fn solve_upper<E: Entry>(u: DMatrixView<'_, E>, b: DMatrixViewMut<'_, E>) {
    solve_by_halves(u, b, Triangle::Upper, &|u, b| {
        // Nor can this.
        let _ = u.solve_upper_triangular_mut(b);
    });
}

#[derive(Clone, Copy)]
enum Triangle {
    Lower,
    Upper,
}

type SolveSmall<'f, E> = &'f dyn Fn(DMatrixView<'_, E>, &mut DMatrixViewMut<'_, E>);

fn solve_by_halves<E: Entry>(
    t: DMatrixView<'_, E>,
    mut b: DMatrixViewMut<'_, E>,
    triangle: Triangle,
    small: SolveSmall<'_, E>,
) {
    let n = t.ncols();
    if n == 0 || b.ncols() == 0 {
        return;
    }
    if n <= PANEL {
        return small(t, &mut b);
    }
    let half = n / 2;
    let first = t.view((0, 0), (half, half));
    let second = t.view((half, half), (n - half, n - half));
    let (mut top, mut bottom) = b.rows_range_pair_mut(..half, half..);
    match triangle {
        Triangle::Lower => {
            solve_by_halves(first, top.as_view_mut(), triangle, small);
            E::subtract_product(&mut bottom, t.view((half, 0), (n - half, half)), top.as_view());
            solve_by_halves(second, bottom, triangle, small);
        }
        Triangle::Upper => {
            solve_by_halves(second, bottom.as_view_mut(), triangle, small);
            E::subtract_product(&mut top, t.view((0, half), (half, n - half)), bottom.as_view());
            solve_by_halves(first, top, triangle, small);
        }
    }
}

/// A square matrix factored.
pub(crate) struct Lu<E> {
    /// Both factors.
    pub(crate) factors: DMatrix<E>,
    /// What rows were swapped with.
    pub(crate) swaps: Vec<usize>,
}

impl<E: Entry> Lu<E> {
    /// Factors a square matrix.
    pub(crate) fn new(mut matrix: DMatrix<E>) -> Lu<E> {
        let mut swaps = vec![0; matrix.ncols()];
        lu(matrix.as_view_mut(), &mut swaps);
        Lu { factors: matrix, swaps }
    }

    /// The diagonal of the upper factor.
    pub(crate) fn pivots(&self) -> impl Iterator<Item = E> {
        (0..self.swaps.len()).map(|i| self.factors[(i, i)])
    }

    /// The solution for right-hand sides `b`, if there is one.
    pub(crate) fn solve(&self, mut b: DMatrix<E>) -> Option<DMatrix<E>> {
        if self.pivots().any(|pivot| pivot.is_zero()) {
            return None;
        }
        self.swaps.iter().enumerate().for_each(|(i, with)| b.swap_rows(i, *with));
        solve_unit_lower(self.factors.as_view(), b.as_view_mut());
        solve_upper(self.factors.as_view(), b.as_view_mut());
        Some(b)
    }
}
