//! Places buffers with known lifetimes in one arena, and verifies the placement.
//!
//! This layer knows intervals: a size in bytes, an alignment, a first and a last step. It must never know
//! what the bytes mean: no tensors, no kernels, no symbols.
//!
//! Modules in reading order: `interval` (the question and the answer), `lifetimes` (who meets whom), `bound`
//! (what no plan can beat), `greedy` (placement in a given order), `priority` (which orders), `climb` (better
//! orders), `pack` (the entry point), `verify` (the independent check), `error`.
#![forbid(unsafe_code)]

mod bound;
mod climb;
mod error;
mod greedy;
mod interval;
mod lifetimes;
mod pack;
mod priority;
mod verify;

pub use error::Error;
pub use interval::{DEFAULT_ALIGN, Interval, MAX_BYTES, Plan};
pub use pack::{Effort, pack};
pub use verify::{Violation, verify};
