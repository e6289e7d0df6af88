//! The text form of plans: a printer and the parser that reads it back.
//!
//! ```text
//! size N in 0..=4096
//! input x: f32[N, 64]
//! input in1: f32[64] data
//! number n0: f32 = 2.5f32
//! q0 matmul: f32[N] = sum<contract>(i1 < 64: mul(x[i0, i1], in1[i1]))
//! q1 sub: f32[N] {
//!   e0 = mul(q0[i0], n0)
//!   sub(mul(e0, e0), e0)
//! }
//! q2 sort: f32[N] = call sort(0, 0) q1 output 0
//! guard 1 <= N because of max: it is undefined over axis 0 of size 0
//! produces q2, x
//! group outer 1: q0 local, q1
//! group outer 0: q2
//! ```
//!
//! A query is its name, a word that says where it comes from, its type and its expression. An expression is one
//! line; a part of it gets a name and a line of its own if it is used more than once, nests deeper than [`MAX_NEST`]
//! or has more than [`MAX_INLINE`] nodes, so that the text is linear in the plan, and neither printer nor parser
//! recurses further than that. `call f(a, b)` is a function of whole
//! tensors with its attributes, what it reads and which result is meant; `size(..)` is a size as a number, `n0` a number that the program receives. Bounds of
//! sizes are left out where they are the default. Groups belong to the text of a [`Fused`] plan only.
//!
//! Names and numbers of parts follow the structure of the plan and nothing else: printing, parsing and printing
//! again gives the same text. Three things do not survive the trip: hints of sizes; locations (what is parsed is
//! located where [`parse`] was called); and the data of unnamed inputs, which are parsed as inputs without name and
//! without data.
//!
//! Comments run from `//` to the end of the line, line ends are spaces, except that a size, a guard and what is
//! produced each stand on one line.

mod parse;
mod print;
mod sizes;

use std::str::FromStr;

pub use parse::{parse, parse_fused};
pub use tj_ir::text::ParseError;
use tj_ir::text::is_bare;

#[cfg(doc)]
use crate::fuse::Fused;

/// An expression nests at most this deep on one line.
pub const MAX_NEST: usize = 8;

/// A part of a line has at most this many nodes.
pub const MAX_INLINE: usize = 16;

/// Whether a name of an input can stand in a text without quotes: an identifier that names no query and no unnamed
/// input.
fn is_bare_input(name: &str) -> bool {
    is_bare(name) && number_after::<u32>(name, "q").is_none() && number_after::<u32>(name, "in").is_none()
}

/// The number in a word like `q12`.
fn number_after<T: FromStr>(word: &str, prefix: &str) -> Option<T> {
    let digits = word.strip_prefix(prefix)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests;
