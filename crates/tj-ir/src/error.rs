//! What can be wrong with an expression before any size is known.

use std::panic::Location;
use std::sync::Arc;

use tj_tensor::{DType, TensorError};

use crate::dim::{Dim, DimError};

/// A mistake in building an expression, and where in the user's program it was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause} ({location})")]
pub struct IrError {
    /// What is wrong.
    pub cause: Arc<Cause>,
    /// The call that is wrong.
    pub location: &'static Location<'static>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// Data that cannot be read as the program needs it.
    #[error("defer: {0}")]
    Data(TensorError),
    /// Two shapes that do not fit.
    #[error("{op}: shapes {} and {} do not fit: {} is not {}", shape_text(.left), shape_text(.right), .dims.0, .dims.1)]
    Shapes {
        /// Operator.
        op: &'static str,
        /// Left shape.
        left: Vec<Dim>,
        /// Right shape.
        right: Vec<Dim>,
        /// The two sizes that differ.
        dims: Box<(Dim, Dim)>,
    },
    /// An axis outside the rank.
    #[error("{op}: axis {axis} is out of range for rank {rank}")]
    Axis {
        /// Operator.
        op: &'static str,
        /// The axis asked for.
        axis: i64,
        /// The rank there is.
        rank: usize,
    },
    /// An axis named twice.
    #[error("{op}: axis {axis} is named twice")]
    RepeatedAxis {
        /// Operator.
        op: &'static str,
        /// Which.
        axis: i64,
    },
    /// A rank that does not fit.
    #[error("{op}: {expected}, got rank {rank}")]
    Rank {
        /// Operator.
        op: &'static str,
        /// What would fit.
        expected: &'static str,
        /// What came.
        rank: usize,
    },
    /// Dtypes that an operator is not defined on.
    #[error("{op} is not defined on {}", dtype_text(.dtypes))]
    DTypes {
        /// Operator.
        op: &'static str,
        /// What came.
        dtypes: Vec<DType>,
    },
    /// A host number that does not fit the dtype of the tensor it meets.
    #[error("{op}: the number {number} does not fit {dtype}")]
    Number {
        /// Operator.
        op: &'static str,
        /// The number.
        number: String,
        /// The dtype.
        dtype: DType,
    },
    /// A position outside its axis, whatever the sizes.
    #[error("{op}: index {index} is out of range for axis {axis} of size {size}")]
    Index {
        /// Operator.
        op: &'static str,
        /// Position asked for.
        index: i64,
        /// Axis.
        axis: usize,
        /// Its size.
        size: Dim,
    },
    /// A slice step of zero, or too many indices.
    #[error("{op}: {problem}")]
    Argument {
        /// Operator.
        op: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A mistake in a program text that is an argument, such as the subscripts of `einsum`.
    #[error("{op}: {problem}\n  {text}\n  {}^", " ".repeat(*.at))]
    Text {
        /// Operator.
        op: &'static str,
        /// What is wrong.
        problem: String,
        /// The text, on one line.
        text: String,
        /// The letter of the text that is wrong, counted from 0.
        at: usize,
    },
    /// A size that is negative whatever the symbols are.
    #[error("{what}: the size of axis {axis} is {size}, which is negative")]
    NegativeSize {
        /// The operator, or the input.
        what: String,
        /// Axis of the shape that was asked for.
        axis: usize,
        /// Its size.
        size: Dim,
    },
    /// More axes than a tensor may have.
    #[error("{what}: a tensor of rank {rank} is not supported; the greatest rank is {limit}")]
    TooManyAxes {
        /// The operator, or the input.
        what: String,
        /// The rank asked for.
        rank: usize,
        /// The greatest rank there is.
        limit: usize,
    },
    /// The new shape has another number of elements.
    #[error("reshape: {} has {} elements, but {} has {}", shape_text(.from), .counts.0, shape_text(.to), .counts.1)]
    Reshape {
        /// Old shape.
        from: Vec<Dim>,
        /// New shape.
        to: Vec<Dim>,
        /// Both counts.
        counts: Box<(Dim, Dim)>,
    },
    /// A condition on sizes that are there already and do not meet it.
    #[error("{reason}: {condition} does not hold")]
    Unmet {
        /// What should hold.
        condition: String,
        /// The operator that needs it, and for what.
        reason: String,
    },
    /// An input without data where data is needed.
    #[error("input {name} has no data: compile the program and call it with data, or use defer")]
    NoData {
        /// Its name.
        name: String,
    },
    /// Data that were given to an earlier computation.
    #[error("defer_owned: an earlier computation has taken this tensor; use defer to compute with it again")]
    Taken,
    /// A selection in a program that is compiled for all values.
    #[error(
        "{op}: how many elements the result has depends on values, and a program that is compiled once for all values \
             cannot allocate it: give the data by defer, and call compute or fuse"
    )]
    Counted {
        /// Operator.
        op: String,
    },
    /// A size that something counts which is no part of the program.
    #[error("{what}: nothing in the program counts the size {size}: compute what it is the size of, too")]
    NotCounted {
        /// What has the size.
        what: String,
        /// The size.
        size: String,
    },
    /// A reduction without identity over an axis that is always empty.
    #[error("{op}: axis {axis} has size 0, and {op} over nothing is undefined")]
    EmptyReduction {
        /// Operator.
        op: &'static str,
        /// Axis.
        axis: usize,
    },
    /// One name for two different inputs.
    #[error("input {name} is declared twice: {first} and {second}")]
    DuplicateInput {
        /// Name.
        name: String,
        /// One declaration.
        first: String,
        /// The other.
        second: String,
    },
    /// One name for two symbols with different bounds.
    #[error("size {name} is declared twice: bounds {}..={} and {}..={}", .first.0, .first.1, .second.0, .second.1)]
    ConflictingBounds {
        /// Name.
        name: String,
        /// One declaration.
        first: (i64, i64),
        /// The other.
        second: (i64, i64),
    },
    /// A name that is not an identifier.
    #[error("{name:?} is not a name: letters, digits and _, not starting with a digit")]
    Name {
        /// The text.
        name: String,
    },
    /// Arithmetic on sizes failed.
    #[error(transparent)]
    Size(#[from] DimError),
}

impl IrError {
    /// A mistake at `location`.
    pub fn new(cause: Cause, location: &'static Location<'static>) -> IrError {
        IrError { cause: Arc::new(cause), location }
    }
}

/// A shape in messages: `[N, 4]`. Sizes that are there already are shown as numbers.
pub fn shape_text(shape: &[Dim]) -> String {
    let text = |dim: &Dim| dim.actual().map_or_else(|| dim.to_string(), |value| value.to_string());
    format!("[{}]", shape.iter().map(text).collect::<Vec<_>>().join(", "))
}

pub(crate) fn dtype_text(dtypes: &[DType]) -> String {
    dtypes.iter().map(DType::to_string).collect::<Vec<_>>().join(" and ")
}
