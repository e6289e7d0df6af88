//! Turns kernels into C text.
