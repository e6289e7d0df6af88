//! Why a kernel has no C text.

use tj_tensor::DType;

/// A kernel that this crate cannot write in C.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// A type without arithmetic here: complex numbers are two reals by the time they reach a kernel.
    #[error("kernel {kernel}: elements of type {dtype} are not supported in C")]
    UnsupportedDType {
        /// Where.
        kernel: String,
        /// The type.
        dtype: DType,
    },
    /// An operation that the kernel language does not define on the type it is used with.
    #[error("kernel {kernel}: {op} is not defined on {dtype}")]
    UnsupportedOp {
        /// Where.
        kernel: String,
        /// The operation.
        op: String,
        /// The type.
        dtype: DType,
    },
    /// A name that C could not use for a function.
    #[error("kernel name {name:?} is {reason}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Blocks within blocks beyond what C compilers take.
    #[error("kernel {kernel}: blocks nest deeper than {bound}")]
    TooDeep {
        /// Where.
        kernel: String,
        /// The deepest allowed.
        bound: usize,
    },
    /// Lane variables and loops that do not fit together.
    #[error("kernel {kernel}: {reason}")]
    BadLanes {
        /// Where.
        kernel: String,
        /// What does not fit.
        reason: String,
    },
}
