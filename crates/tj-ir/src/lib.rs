//! Symbolic sizes, operators with their algebra, expressions, and lazy tensors.

pub mod dim;
