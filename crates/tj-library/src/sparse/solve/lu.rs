//! Factors by elimination.

use faer::dyn_stack::MemStack;
use faer::perm::PermRef;
use faer::sparse::SparseColMatRef;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu, simplicial};
use faer::{Conj, MatMut};

use super::columns::{Columns, Number};
use super::{PAR, no_memory, scratch};
use crate::LibraryError;
use crate::sparse::entries::room;

/// Up to this many rows pivots are looked at where a matrix may be singular: without dense blocks that may take ten times as long
/// as the factorisation did.
const ROWS_TO_SEARCH: usize = 1 << 13;

/// A solution larger than that, for a right-hand side near 1, comes of a pivot that rounding has left of 0; or it is right.
const SUSPICIOUS: f64 = (1u64 << 40) as f64;

/// Where elimination has left less than so many roundings of the largest element for each row, it has left nothing.
const ERRORS_A_ROW: f64 = 8.0;

/// Factors of a matrix whose rows were multiplied by `scale`.
pub(super) struct Lu<T> {
    symbolic: SymbolicLu<usize>,
    numeric: NumericLu<usize, T>,
    scale: Vec<f64>,
}

impl<T: Number> Lu<T> {
    /// Factors a matrix without empty columns.
    pub fn new(function: &'static str, mut columns: Columns<T>) -> Result<Lu<T>, LibraryError> {
        let singular = |reason: String| LibraryError::SingularMatrix { function, reason };
        let depends =
            |column: usize| singular(format!("column {column} is a combination of others, up to rounding"));
        let scale = scale_rows(&mut columns)?;
        if let Some(row) = scale.iter().position(|by| !by.is_finite()) {
            return Err(singular(format!("row {row} holds zeros only")));
        }
        let matrix = columns.view();
        let symbolic = factorize_symbolic_lu(matrix.symbolic(), Default::default()).map_err(no_memory)?;
        let mut memory = scratch(symbolic.factorize_numeric_lu_scratch::<T>(PAR, Default::default()))?;
        let stack = MemStack::new(&mut memory);
        let mut numeric = NumericLu::new();
        let done = symbolic.factorize_numeric_lu(&mut numeric, matrix, PAR, stack, Default::default());
        match done.map(|_| ()) {
            Ok(()) => {}
            Err(LuError::SymbolicSingular { index }) => {
                return Err(depends(symbolic.col_perm().arrays().0[index]));
            }
            Err(LuError::Generic(error)) => return Err(no_memory(error)),
        }
        let factors = Lu { symbolic, numeric, scale };
        let mut probe = room(columns.n())?;
        probe.extend((0..columns.n()).map(|row| T::ONE.scaled(probe_element(row))));
        factors.solve_in_place(&mut probe)?;
        if probe.iter().all(|x| x.size() < SUSPICIOUS) {
            return Ok(factors);
        }
        if let Some(column) = dependent_column(matrix, factors.symbolic.col_perm())? {
            return Err(depends(column));
        }
        if probe.iter().all(|x| x.is_number()) {
            return Ok(factors);
        }
        Err(singular("some column is a combination of others, up to rounding".into()))
    }

    /// `x` becomes the solutions for the right-hand sides in it, one after the other.
    pub fn solve_in_place(&self, x: &mut [T]) -> Result<(), LibraryError> {
        let n = self.scale.len();
        if x.is_empty() {
            return Ok(());
        }
        for side in x.chunks_exact_mut(n) {
            side.iter_mut().zip(&self.scale).for_each(|(x, by)| *x = x.scaled(*by));
        }
        let n_sides = x.len() / n;
        let mut memory = scratch(self.symbolic.solve_in_place_scratch::<T>(n_sides, PAR))?;
        let x = MatMut::from_column_major_slice_mut(x, n, n_sides);
        let factors = LuRef::new_unchecked(&self.symbolic, &self.numeric);
        factors.solve_in_place_with_conj(Conj::No, x, PAR, MemStack::new(&mut memory));
        Ok(())
    }
}

/// Multiplies each row by a power of two that brings its largest element near 1. Returns those; that of a row of zeros is infinite.
fn scale_rows<T: Number>(columns: &mut Columns<T>) -> Result<Vec<f64>, LibraryError> {
    let mut largest = room(columns.n())?;
    largest.resize(columns.n(), 0.0f64);
    for (row, _, value) in columns.iter() {
        largest[row] = largest[row].max(value.size());
    }
    largest.iter_mut().for_each(|x| *x = power_of_two_near_reciprocal(*x));
    for (value, &row) in columns.values.iter_mut().zip(&columns.rows) {
        *value = value.scaled(largest[row]);
    }
    Ok(largest)
}

fn power_of_two_near_reciprocal(x: f64) -> f64 {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    if x == 0.0 {
        return f64::INFINITY;
    }
    let exponent = x.to_bits() >> MANTISSA_BITS;
    // Of 2^e the exponent is stored as 1023 + e, in 1..=2046.
    f64::from_bits((2046 - exponent).clamp(1, 2046) << MANTISSA_BITS)
}

/// Elements between 1 and 2, no two of them alike: what makes a matrix singular is orthogonal to such a vector by accident only.
/// That two rows are the same would be orthogonal to a vector of ones.
fn probe_element(row: usize) -> f64 {
    const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;
    1.0 + (row as f64 * GOLDEN_RATIO).fract()
}

/// The first column, in the order of the factorisation, of which nothing but rounding errors remains when those before it have
/// been eliminated.
fn dependent_column<T: Number>(
    matrix: SparseColMatRef<'_, usize, T>,
    order: PermRef<'_, usize>,
) -> Result<Option<usize>, LibraryError> {
    let n = matrix.ncols();
    if n > ROWS_TO_SEARCH {
        return Ok(None);
    }
    let order_of = order.arrays().0;
    let mut memory = scratch(simplicial::factorize_simplicial_numeric_lu_scratch::<usize, T>(n, n))?;
    let stack = MemStack::new(&mut memory);
    let (mut rows, mut rows_inverse) = (vec![0; n], vec![0; n]);
    let mut factors = simplicial::SimplicialLu::new();
    let done = simplicial::factorize_simplicial_numeric_lu(
        &mut rows,
        &mut rows_inverse,
        &mut factors,
        matrix,
        order,
        stack,
    );
    match done {
        Err(LuError::SymbolicSingular { index }) => return Ok(Some(order_of[index])),
        Err(LuError::Generic(error)) => return Err(no_memory(error)),
        Ok(()) => {}
    }
    let upper = factors.u_factor_unsorted();
    let remains = |index: usize| {
        let largest = matrix.val_of_col(order_of[index]).iter().map(|x| x.size()).fold(0.0, f64::max);
        // The pivot is the last of its column, and the largest that was left to choose from.
        let pivot = upper.val_of_col(index).last().map_or(0.0, |pivot| pivot.size());
        pivot > largest * f64::EPSILON * (ERRORS_A_ROW * n as f64)
    };
    Ok((0..n).find(|&index| !remains(index)).map(|index| order_of[index]))
}

#[cfg(test)]
mod tests {
    use super::power_of_two_near_reciprocal;

    #[test]
    fn scales_are_powers_of_two() {
        for x in [1.0, 1.5, 0.1, 3e200, f64::MAX, f64::MIN_POSITIVE] {
            let by = power_of_two_near_reciprocal(x);
            assert_eq!(by.to_bits() & ((1 << 52) - 1), 0, "{x}");
            assert!((0.5..4.0).contains(&(x * by)), "{x} {by}");
        }
        assert_eq!(power_of_two_near_reciprocal(5e-324), 2f64.powi(1023));
        assert_eq!(power_of_two_near_reciprocal(0.0), f64::INFINITY);
    }
}
