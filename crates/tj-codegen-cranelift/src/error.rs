//! What can go wrong while making machine code.

use tj_tensor::DType;

/// Why a kernel was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel computes in a type that has no machine form here.
    #[error("kernel `{kernel}` uses {dtype}, which this back end cannot compute with")]
    Dtype {
        /// Its name.
        kernel: String,
        /// The type.
        dtype: DType,
    },
    /// The machine has no back end, or lacks what ours needs.
    #[error("cannot generate code for this machine: {reason}")]
    Machine {
        /// What is missing.
        reason: String,
    },
    /// Cranelift refused.
    #[error("kernel `{kernel}`: {reason}")]
    Codegen {
        /// Name of the kernel, or of the module.
        kernel: String,
        /// In Cranelift's words.
        reason: String,
    },
}
