//! The C back end against the kernel interpreter, bit by bit.
//!
//! Kernels are compiled many to a unit, twice: for this machine, and for every machine of its kind so that the
//! fallbacks for missing instructions run too. Without a C compiler there is nothing to test, and the tests say so.
#![cfg(feature = "c")]
#![allow(clippy::unwrap_used)] // all of this is tests, which clippy sees only in functions marked so

mod loops;
mod ops;
mod run;
mod samples;
