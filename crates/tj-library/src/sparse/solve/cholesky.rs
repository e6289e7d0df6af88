//! Cholesky factors.

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::LltError;
use faer::sparse::linalg::cholesky::{
    LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::{Conj, MatMut, Side};

use super::columns::{Columns, Number};
use super::{PAR, no_memory, scratch};
use crate::LibraryError;
use crate::sparse::entries::room;

/// How far `a[i, j]` may be from the conjugate of `a[j, i]`, relative to the elements on the diagonal beside them, which in a
/// positive definite matrix bound both: sums in `f32` come that near.
const ASYMMETRY: f64 = 1.0 / 65536.0;

/// The factor.
pub(super) struct Cholesky<T> {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<T>,
}

impl<T: Number> Cholesky<T> {
    /// Factors a matrix. Of elements that rounding has made differ, those below the diagonal count.
    pub fn new(function: &'static str, columns: &Columns<T>) -> Result<Cholesky<T>, LibraryError> {
        let indefinite = |column| LibraryError::IndefiniteMatrix { function, column };
        check_symmetry(function, columns)?;
        let matrix = columns.view();
        let (side, order) = (Side::Lower, SymmetricOrdering::Amd);
        let symbolic = factorize_symbolic_cholesky(matrix.symbolic(), side, order, Default::default());
        let symbolic = symbolic.map_err(no_memory)?;
        let mut values = room(symbolic.len_val())?;
        values.resize(symbolic.len_val(), T::default());
        let mut memory = scratch(symbolic.factorize_numeric_llt_scratch::<T>(PAR, Default::default()))?;
        let stack = MemStack::new(&mut memory);
        let exact = Default::default();
        let done =
            symbolic.factorize_numeric_llt(&mut values, matrix, side, exact, PAR, stack, Default::default());
        match done.map(|_| ()) {
            Ok(()) => {}
            // Counted from 1.
            Err(LltError::NonPositivePivot { index }) => {
                let place = index.saturating_sub(1);
                return Err(indefinite(symbolic.perm().map_or(place, |order| order.arrays().0[place])));
            }
        }
        Ok(Cholesky { symbolic, values })
    }

    /// `x` becomes the solutions for the right-hand sides in it, one after the other.
    pub fn solve_in_place(&self, x: &mut [T]) -> Result<(), LibraryError> {
        let n = self.symbolic.nrows();
        if x.is_empty() {
            return Ok(());
        }
        let n_sides = x.len() / n;
        let mut memory = scratch(self.symbolic.solve_in_place_scratch::<T>(n_sides, PAR))?;
        let x = MatMut::from_column_major_slice_mut(x, n, n_sides);
        let factors = LltRef::new(&self.symbolic, &self.values);
        factors.solve_in_place_with_conj(Conj::No, x, PAR, MemStack::new(&mut memory));
        Ok(())
    }
}

/// Whether the matrix is symmetric (Hermitian), with positive numbers on its diagonal.
fn check_symmetry<T: Number>(function: &'static str, columns: &Columns<T>) -> Result<(), LibraryError> {
    let diagonal = |at| columns.get(at, at).real();
    if let Some(column) = (0..columns.n()).find(|&at| diagonal(at) <= 0.0) {
        return Err(LibraryError::IndefiniteMatrix { function, column });
    }
    for (row, column, value) in columns.iter() {
        let other = columns.get(column, row);
        let bound = ASYMMETRY * diagonal(row).sqrt() * diagonal(column).sqrt();
        if value.to_conjugate_of(other) > bound {
            let kind = if T::DTYPE.is_complex() { "Hermitian" } else { "symmetric" };
            let (value, other) = (value.into_scalar(), other.into_scalar());
            let problem = format!(
                "the matrix is not {kind}: the element at [{row}, {column}] is {value}, and that at [{column}, {row}] is {other}"
            );
            return Err(LibraryError::Argument { function, problem });
        }
    }
    Ok(())
}
