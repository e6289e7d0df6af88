//! What a function cannot do.

use tj_tensor::{Scalar, TensorError};

/// Why a function has no result. Rows are counted in the whole arguments, whichever of them a call asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// Arrays that do not fit the function, by shape or by dtype.
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
    /// An argument that is not an array, and that the function cannot use.
    #[error("{function}: {problem}")]
    Argument {
        /// Name of the function.
        function: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Tensors that share no value for what is not stored.
    #[error("{function}: the fill of tensor {at} is {}, and that of tensor {first} is {}", fills[1], fills[0])]
    Fills {
        /// Name of the function.
        function: &'static str,
        /// The first tensor with a fill.
        first: usize,
        /// The first tensor with another one.
        at: usize,
        /// The fill of either.
        fills: Box<[Scalar; 2]>,
    },
    /// A fill that makes every element of the result count.
    #[error("{function}: the fill is {fill}, and only one of 0 leaves anything unwritten")]
    NonzeroFill {
        /// Name of the function.
        function: &'static str,
        /// The fill.
        fill: Scalar,
    },
    /// A triangular matrix without an inverse.
    #[error("{function}: the diagonal element of row {row} is 0")]
    ZeroDiagonal {
        /// Name of the function.
        function: &'static str,
        /// The first such row that is met.
        row: usize,
    },
    /// A sparse matrix without an inverse.
    #[error("{function}: the matrix is singular: {reason}")]
    SingularMatrix {
        /// Name of the function.
        function: &'static str,
        /// The row or column that shows it, if one is known.
        reason: String,
    },
    /// A sparse matrix that has no Cholesky factor.
    #[error("{function}: the matrix is not positive definite, as column {column} shows")]
    IndefiniteMatrix {
        /// Name of the function.
        function: &'static str,
        /// The first column, in the order of the factorisation, whose pivot is not a positive number.
        column: usize,
    },
    /// What tensors themselves refuse: an axis, a format, memory.
    #[error(transparent)]
    Tensor(Box<TensorError>),
}

/// Boxed, because kernels and plans return errors with this one inside, and most of what they return is no error.
impl From<TensorError> for LibraryError {
    fn from(error: TensorError) -> LibraryError {
        LibraryError::Tensor(Box::new(error))
    }
}
