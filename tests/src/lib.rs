//! Differential, golden and acceptance tests of the whole pipeline.
//!
//! One program on the same data must have the same bits whoever runs it. This library makes programs and data from
//! a seed, runs them everywhere, and makes a failure small; the tests beside it say what to run. It knows nothing of
//! the driver: proptest today, a fuzzer tomorrow.
//!
//! Modules in reading order: [`program`] (programs as data), [`generate`] (a program from a seed), [`data`] (tensors
//! from a seed), [`eager`] (each step on its own), [`engines`] (every way to run a program), [`rubbish`] (memory that
//! must be overwritten), [`donate`] (arguments that may be overwritten), [`check`] (all of them agree), [`shrink`] (the smallest program that still fails), [`chaos`]
//! (a scheduler that decides at random), [`wander`] (one that derives at random), [`joins`] (programs in which the order of sums matters), [`sparse`] (programs over tensors that are stored in any way), [`whole`] (matrices whose
//! sums are exact in any order).

#![forbid(unsafe_code)]

pub mod chaos;
pub mod check;
pub mod data;
pub mod donate;
pub mod eager;
pub mod engines;
pub mod generate;
pub mod joins;
pub mod program;
pub mod rng;
pub mod rubbish;
pub mod shrink;
pub mod sparse;
pub mod wander;
pub mod whole;

pub use check::{Case, check};
pub use engines::{everywhere, same_everywhere};
