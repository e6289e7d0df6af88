//! A small loop language for tensor kernels.
//!
//! What this layer knows: loops, buffers, positions, lanes and accumulators ([`ir`]); how to lower groups of
//! plan queries to them; how to check, print, parse and run them slowly. It is the only place that looks at
//! both plans and levels. What it must never know: C, Cranelift, files, threads.
//!
//! Modules in reading order: [`ir`] (the language and its meaning), [`arith`] (its operations, on bits), [`abi`] (how
//! a compiled kernel is called), [`build`] (making kernels), [`mod@lower`] (from plans to kernels), [`mod@verify`]
//! (rules, and bounds of accesses), [`in_place`] (which buffers may be one memory), `text` (printing and parsing), [`mod@interpret`] with `memory` (running them
//! slowly), [`lanes`] (what back ends need to know to vectorise), [`mod@sample`] (random kernels for tests of back
//! ends).

#![forbid(unsafe_code)]

pub mod abi;
pub mod arith;
pub mod build;
pub mod in_place;
pub mod interpret;
pub mod ir;
pub mod lanes;
pub mod lower;
mod memory;
pub mod sample;
mod text;
pub mod verify;

pub use build::Builder;
pub use interpret::{Counts, KernelFault, LanesOrder, Options, interpret, interpret_with};
pub use ir::{
    Access, Array, BinOp, Block, Buf, Buffer, Call, CmpOp, Gemm, Grid, Kernel, LoopKind, Matrix, Op, Stmt,
    UnOp, Value, Var, VarDecl,
};
pub use lower::{Binding, Lowered, lower};
pub use memory::{BufferContents, Memory};
pub use text::{ParseError, parse};
pub use verify::{BoundGuard, Finding, Rule, verify};
