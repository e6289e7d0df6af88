//! Places buffers with known lifetimes in one arena, and verifies the placement.
//!
//! This layer knows intervals: a size in bytes, an alignment, a first and a last step. It must never know
//! what the bytes mean: no tensors, no kernels, no symbols.
//!
//! Modules in reading order: `interval` (the question and the answer), `lifetimes` (who meets whom), `bound`
//! (what no plan can beat), `greedy` (placement in a given order), `priority` (which orders), `solve` (exact
//! search within a given arena), `improve` (smaller and smaller arenas), `pack` (the entry point), `verify`
//! (the independent check), `in_place` (shared storage), `planner` (sizes that change from call to call),
//! `order` (of steps, before any of this), `csv`, `random`, `error`.
#![forbid(unsafe_code)]

mod bound;
mod csv;
mod error;
mod greedy;
mod improve;
mod in_place;
mod interval;
mod lifetimes;
mod order;
mod pack;
mod planner;
mod priority;
mod random;
mod solve;
mod verify;

pub use bound::fullest_step;
pub use csv::{Problem, parse_csv, to_csv};
pub use error::Error;
pub use in_place::{InPlace, Storages};
pub use interval::{DEFAULT_ALIGN, Interval, MAX_BYTES, Plan};
pub use order::{BufferId, Step, lifetimes, live_peak, order_for_peak};
pub use pack::{Effort, pack};
pub use planner::Planner;
pub use solve::{Answer, solve};
pub use verify::{Violation, verify, verify_in_place};

/// The front page is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
