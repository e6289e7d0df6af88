//! The one error type of this crate.

use thiserror::Error;

use crate::DType;

/// Why a tensor could not be built, viewed or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TensorError {
    /// A type name that is none of ours.
    #[error(
        "unknown dtype {name:?}; the dtypes are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128"
    )]
    UnknownDType {
        /// The text given.
        name: String,
    },
    /// A text that is not a typed number.
    #[error("{text:?} is not a typed scalar such as 7i64, 2.5f32 or true")]
    UnknownScalar {
        /// The text given.
        text: String,
    },
    /// More elements than memory can address.
    #[error(
        "shape {shape:?} of {dtype} needs {}{elements} elements, more than {} bytes",
        if *elements == u128::MAX { "at least " } else { "" },
        isize::MAX
    )]
    TooLarge {
        /// The shape asked for.
        shape: Vec<usize>,
        /// Its element type.
        dtype: DType,
        /// The number of elements, saturated.
        elements: u128,
    },
    /// The allocator refused.
    #[error("cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// A shape and the data given for it disagree.
    #[error("shape {shape:?} needs {needed} elements, got {found}")]
    ElementCount {
        /// The shape.
        shape: Vec<usize>,
        /// What it needs.
        needed: usize,
        /// What was given.
        found: usize,
    },
    /// Levels that do not make a format, or data that a format does not fit.
    #[error("{reason}")]
    Format {
        /// What is wrong.
        reason: String,
    },
    /// An array of a level breaks a rule.
    #[error("{array}[{at}] of level {level} is {value}: {reason}")]
    Level {
        /// The level, counted from the outermost.
        level: usize,
        /// The array.
        array: &'static str,
        /// The place in it.
        at: usize,
        /// What stands there.
        value: usize,
        /// The rule.
        reason: String,
    },
    /// An array of a level has the wrong length.
    #[error("{array} of level {level} has {found} entries, not {needed}")]
    LevelLength {
        /// The level, counted from the outermost.
        level: usize,
        /// The array.
        array: &'static str,
        /// Its length.
        found: usize,
        /// The length the level needs.
        needed: usize,
    },
    /// A leaf without a value for each position.
    #[error("values have shape {found:?}; a vector of {needed} is needed")]
    LeafCount {
        /// Positions, or entries.
        needed: usize,
        /// The shape given.
        found: Vec<usize>,
    },
    /// An index that its width cannot hold.
    #[error("index {value} does not fit {width}")]
    IndexWidth {
        /// The index.
        value: usize,
        /// The width.
        width: crate::Width,
    },
    /// What is no array of indices.
    #[error("{array} are {dtype}{shape:?}; a vector of integers is needed")]
    IndexArray {
        /// The array.
        array: &'static str,
        /// Its type.
        dtype: DType,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// An index below zero.
    #[error("{array}[{at}] is {value}; indices are not negative")]
    NegativeIndex {
        /// The array.
        array: &'static str,
        /// The place in it.
        at: usize,
        /// What stands there.
        value: i64,
    },
    /// A column of coordinates of another length than the values.
    #[error("axis {axis} has {found} coordinates for {needed} values")]
    ColumnLength {
        /// The axis.
        axis: usize,
        /// Coordinates given.
        found: usize,
        /// Values given.
        needed: usize,
    },
    /// A coordinate outside the shape.
    #[error("coordinate {value} of entry {at} is out of range for axis {axis} of size {extent}")]
    Coordinate {
        /// The axis.
        axis: usize,
        /// The entry.
        at: usize,
        /// The coordinate.
        value: usize,
        /// The size of the axis.
        extent: usize,
    },
    /// Two entries with the same coordinates.
    #[error("entry {at} has the coordinates {coordinates:?} of another entry")]
    Duplicate {
        /// The entry.
        at: usize,
        /// The coordinates.
        coordinates: Vec<usize>,
    },
    /// An entry before which it should stand.
    #[error("entry {at} at {coordinates:?} comes after an entry with greater coordinates")]
    Unordered {
        /// The entry.
        at: usize,
        /// Its coordinates.
        coordinates: Vec<usize>,
    },
    /// A tensor without strides, where they are needed.
    #[error("a tensor stored as {format} has no strides")]
    NotStrided {
        /// The format.
        format: String,
    },
    /// A buffer has the wrong number of bytes.
    #[error("shape {shape:?} of {dtype} needs {needed} bytes, got {found}")]
    ByteCount {
        /// The shape.
        shape: Vec<usize>,
        /// The element type.
        dtype: DType,
        /// Bytes the shape needs.
        needed: usize,
        /// Bytes given.
        found: usize,
    },
    /// A strided layout would leave its buffer.
    #[error("shape {shape:?} with strides {strides:?} at offset {offset} leaves a buffer of {len} elements")]
    OutOfBuffer {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, in elements.
        strides: Vec<isize>,
        /// The offset of the first element.
        offset: usize,
        /// Elements in the buffer.
        len: usize,
    },
    /// A buffer's address does not suit the type.
    #[error("the buffer at {address:#x} is not aligned to the {} bytes that {dtype} needs", dtype.align())]
    Misaligned {
        /// Where the buffer starts.
        address: usize,
        /// The element type.
        dtype: DType,
    },
    /// A byte other than 0 and 1 in a bool tensor.
    #[error("byte {index} of a bool buffer is {value}, neither 0 nor 1")]
    NotBool {
        /// Where.
        index: usize,
        /// What.
        value: u8,
    },
    /// The elements have another type than the one asked for.
    #[error("expected elements of type {expected}, found {found}")]
    DType {
        /// The type asked for.
        expected: DType,
        /// The tensor's type.
        found: DType,
    },
    /// An axis beyond the rank.
    #[error("axis {axis} is out of range for rank {rank}")]
    Axis {
        /// The axis.
        axis: usize,
        /// The number of axes.
        rank: usize,
    },
    /// A list of axes that is not a permutation.
    #[error("axes {axes:?} are not a permutation of the {rank} axes")]
    Permutation {
        /// The list.
        axes: Vec<usize>,
        /// The number of axes.
        rank: usize,
    },
    /// An index beyond an extent.
    #[error("index {index} is out of range for axis {axis} of size {extent}")]
    Index {
        /// The index.
        index: i64,
        /// The axis.
        axis: usize,
        /// Its size.
        extent: usize,
    },
    /// The number of indices is not the rank.
    #[error("{found} indices for a tensor of rank {rank}")]
    IndexCount {
        /// Indices given.
        found: usize,
        /// The rank.
        rank: usize,
    },
    /// A slice with step 0.
    #[error("the step of a slice along axis {axis} is 0")]
    ZeroStep {
        /// The axis.
        axis: usize,
    },
    /// Shapes that do not broadcast.
    #[error("shape {from:?} does not broadcast to {to:?}")]
    Broadcast {
        /// The tensor's shape.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },
    /// An axis that cannot be dropped.
    #[error("axis {axis} has size {extent}; only an axis of size 1 can be squeezed")]
    Squeeze {
        /// The axis.
        axis: usize,
        /// Its size.
        extent: usize,
    },
    /// What is no array of pairs of floats.
    #[error("pairs of f32 or f64 along a last axis of size 2 are complex numbers; {dtype}{shape:?} is not")]
    Pairs {
        /// The element type.
        dtype: DType,
        /// The shape.
        shape: Vec<usize>,
    },
    /// Shapes with different numbers of elements.
    #[error("shape {from:?} cannot be reshaped to {to:?}: {from_count} elements are not {to_count}")]
    Reshape {
        /// The tensor's shape.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
        /// Elements of the tensor.
        from_count: u128,
        /// Elements of the shape asked for.
        to_count: u128,
    },
    /// A single value was asked of a tensor that has several or none.
    #[error("shape {shape:?} does not have exactly one element")]
    NotOneElement {
        /// The shape.
        shape: Vec<usize>,
    },
}
