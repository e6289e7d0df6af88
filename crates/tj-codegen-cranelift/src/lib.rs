//! Turns kernels into machine code with Cranelift.
