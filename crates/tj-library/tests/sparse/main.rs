//! Functions of sparse tensors against what they are of dense arrays, computed cell by cell; and known answers.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod joins;
mod made;
mod moves;
mod rows;
mod selects;
#[cfg(feature = "solve")]
mod solve;
mod support;
mod triangular;
mod unions;
