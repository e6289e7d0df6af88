//! Kernels to machine code, without a toolchain.
//!
//! What this layer knows: how each statement and operation of a kernel is done by Cranelift, and how lanes loops become
//! vector code. What it must never know: plans, tensors, files, processes.
//!
//! Modules in reading order: [`Options`] (`target`: what may change the code), `module` (kernels in any Cranelift
//! module; object files; texts), [`Jit`] (`jit`: kernels to call now; `executable` owns their memory), `emit` (one
//! kernel as one function), `vectors` (lanes loops), `scalar` and `vector` (operations), `types`.

#![deny(unsafe_code)]

mod emit;
mod error;
mod executable;
mod jit;
mod module;
mod scalar;
mod target;
mod types;
mod vector;
mod vectors;

pub use error::Error;
pub use jit::Jit;
pub use module::{clif, define, disassembly, emit_object};
pub use target::{Features, Options};
