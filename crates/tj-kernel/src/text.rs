//! The text form of kernels: a printer and the parser that reads it back.
//!
//! ```text
//! kernel relu(grid N*M cut 64 cost 4) {
//!   symbol N in 0..=4096
//!   buffer @0 x: f32[N*M] read
//!   buffer @1 y: f32[N*M] write
//!   task %0..%1
//!   %0: i64 = task lo
//!   %1: i64 = task hi
//!   %2: f32 = const 0.0f32
//!   for lanes(32) %3 in %0..%1 {
//!     %4: f32 = load @0[%3]
//!     %5: f32 = max %4, %2
//!     store @1[%3] = %5
//!   }
//! }
//! ```
//!
//! Ids are those of the kernel, so that a message that names `%5` can be looked up, and printing what was parsed
//! gives the same text. Constants carry their type and every bit. A kernel that passes the verifier survives the
//! trip unchanged; a text may also describe one that does not, which is what the verifier's tests do. Bounds of
//! symbols are part of the text where they differ from the default; hints are not.
//!
//! Comments run from `//` to the end of the line. Statements end where they are complete, and line ends are spaces,
//! except that a size stands on one line with what it belongs to.

mod parse;
mod print;

pub use parse::parse;
pub use tj_ir::text::ParseError;

use crate::ir::Access;

impl Access {
    /// The word in texts; the buffer of `InPlace` follows it.
    pub fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::InPlace(_) => "inplace",
            Access::Write => "write",
            Access::Scratch => "scratch",
        }
    }
}

#[cfg(test)]
mod tests;
