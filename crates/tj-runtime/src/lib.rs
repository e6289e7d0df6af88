//! Compiles plans to programs, binds sizes, plans memory and runs.

#[cfg(feature = "c")]
pub mod toolchain;
