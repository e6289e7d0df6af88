//! Kernels to machine code, without a toolchain.
//!
//! What this layer knows: how each statement and operation of a kernel is done by Cranelift, and how lanes loops become
//! vector code. What it must never know: plans, tensors, files, processes.
//!
//! Modules in reading order: [`Options`] (`target`: what may change the code), `module` (kernels in any Cranelift
//! module; object files; texts), [`Jit`] (`jit`: kernels to call now; `executable` owns their memory), `emit` (one
//! kernel as one function), `call`, `memory`, `control`, `vars`, `plan` (how lanes loops run), `turn` and `chunk` (those that run
//! as vectors), `scalar`, `convert`, `vector` and `vector_convert` (operations), `types`.

#![deny(unsafe_code)]

mod call;
mod chunk;
mod control;
mod convert;
mod emit;
mod error;
mod executable;
mod jit;
mod memory;
mod module;
mod plan;
mod remainder;
mod scalar;
mod target;
mod turn;
mod types;
mod vars;
mod vector;
mod vector_convert;

pub use error::Error;
pub use jit::Jit;
pub use module::{clif, define, disassembly, emit_object};
pub use target::{Features, Options};
