//! What can go wrong between C text and a loaded function.

use std::path::{Path, PathBuf};

/// Why there is no library. Kernels can always run without one, on another back end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolchainError {
    /// No C compiler answered.
    #[error("no C compiler: tried {}", .tried.join("; "))]
    NoCompiler {
        /// Each command, and what it did.
        tried: Vec<String>,
    },
    /// The compiler refused the text.
    #[error("the C compiler failed ({status}): {command}\n{stderr}\nthe text is kept in {}", .source_file.display())]
    CompilerFailed {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// The beginning of what it said.
        stderr: String,
        /// A copy of the text it was given.
        source_file: PathBuf,
    },
    /// The compiler claimed success, and what it left cannot be used.
    #[error("the C compiler gave no usable library ({reason}): {command}")]
    CompilerGarbage {
        /// The command line.
        command: String,
        /// What is wrong.
        reason: String,
    },
    /// The compiler did not end in time; it was stopped.
    #[error("the C compiler did not end within {seconds} s: {command}")]
    Timeout {
        /// The command line.
        command: String,
        /// The bound.
        seconds: u64,
    },
    /// A file or process of our own.
    #[error("cannot {action} {}: {error}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        error: String,
    },
}

impl ToolchainError {
    pub(super) fn io(action: &'static str, path: &Path, error: &std::io::Error) -> ToolchainError {
        ToolchainError::Io { action, path: path.to_owned(), error: error.to_string() }
    }
}
