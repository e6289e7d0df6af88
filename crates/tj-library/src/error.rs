//! What a function cannot do.

/// Why a function has no result. Rows are counted in the whole arguments, whichever of them a call asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// Arrays that do not fit the function: a broken invariant of a caller.
    #[error("{function}: {problem}")]
    Shape {
        /// Name of the function.
        function: &'static str,
        /// What does not fit.
        problem: String,
    },
    /// A position that every row reads or writes.
    #[error("{function}: position {position} is outside an axis of size {size}")]
    Position {
        /// Name of the function.
        function: &'static str,
        /// The position as it was given.
        position: i64,
        /// Extent of the axis.
        size: usize,
    },
    /// A position of one row.
    #[error("{function}: position {position} of row {row} is outside an axis of size {size}")]
    RowPosition {
        /// Name of the function.
        function: &'static str,
        /// Where it stands.
        row: usize,
        /// The position as it was given.
        position: i64,
        /// Extent of the axis.
        size: usize,
    },
    /// A count of repetitions.
    #[error("{function}: the count {count} at position {position} is negative")]
    NegativeCount {
        /// Name of the function.
        function: &'static str,
        /// Where it stands.
        position: usize,
        /// The count.
        count: i64,
    },
    /// A position of an array that indexes one of several axes.
    #[error("index: index {position} is out of range for axis {axis} of size {size}")]
    AxisPosition {
        /// Which axis.
        axis: u8,
        /// The position as it was given.
        position: i64,
        /// Extent of the axis.
        size: i64,
    },
    /// A matrix without an inverse.
    #[error("{function}: the matrix of row {row} is singular")]
    Singular {
        /// Name of the function.
        function: &'static str,
        /// Which matrix.
        row: usize,
    },
    /// A matrix that has no Cholesky factor.
    #[error("{function}: the matrix of row {row} is not positive definite, as column {column} shows")]
    NotPositiveDefinite {
        /// Name of the function.
        function: &'static str,
        /// Which matrix.
        row: usize,
        /// The first column whose pivot is not a positive number.
        column: usize,
    },
    /// An iteration that came to its bound, as those over infinities and NaNs do.
    #[error("{function}: the values of row {row} did not converge")]
    NoConvergence {
        /// Name of the function.
        function: &'static str,
        /// Which matrix.
        row: usize,
    },
}
