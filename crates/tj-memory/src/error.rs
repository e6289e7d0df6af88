//! What can be wrong with a question put to this crate.

use thiserror::Error;

use crate::Violation;

/// Why an input was rejected; a plan that fails verification is a list of [`crate::Violation`]s instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An alignment that is zero or not a power of two.
    #[error("interval {interval}: alignment {align} is not a power of two")]
    Alignment {
        /// Position of the interval in the input.
        interval: usize,
        /// The alignment asked for.
        align: u64,
    },
    /// A lifetime that ends before it starts.
    #[error("interval {interval}: last step {last} is before first step {first}")]
    Lifetime {
        /// Position of the interval in the input.
        interval: usize,
        /// Its first step.
        first: u64,
        /// Its last step.
        last: u64,
    },
    /// Sizes with alignment padding add up to more than any offset may reach, so a placement might overflow.
    #[error("interval {interval} of {size} bytes brings all sizes together above {max} bytes", max = crate::MAX_BYTES)]
    TooLarge {
        /// Position of the interval that crosses the limit.
        interval: usize,
        /// Its size.
        size: u64,
    },
    /// More intervals than positions can be numbered with.
    #[error("{count} intervals are more than {max}", max = u32::MAX)]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// A pair whose input does not die exactly where its output begins, or that takes storage twice.
    #[error("interval {output} cannot take the storage of interval {input}")]
    InPlace {
        /// The interval that should die.
        input: usize,
        /// The interval that should begin.
        output: usize,
    },
    /// A tuple of sizes of the wrong length.
    #[error("{found} sizes for {expected} intervals")]
    Sizes {
        /// How many intervals there are.
        expected: usize,
        /// How many sizes were given.
        found: usize,
    },
    /// A plan of our own that failed verification: a bug in this crate, stopped before it corrupts memory.
    #[error("packing produced an invalid plan: {}", .0.first().map_or_else(String::new, ToString::to_string))]
    Plan(Vec<Violation>),
    /// Text that is not a problem.
    #[error("line {line}, column {column}: expected {expected}, found `{found}`")]
    Csv {
        /// Line, from 1.
        line: usize,
        /// Column, from 1, in characters.
        column: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
}
