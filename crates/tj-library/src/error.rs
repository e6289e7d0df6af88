//! What a function cannot do.

/// Why a function has no result.
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
}
