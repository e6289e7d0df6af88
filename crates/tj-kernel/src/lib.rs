//! A small loop language for tensor kernels.
//!
//! What this layer knows: loops, buffers, positions, lanes and accumulators ([`ir`]); how to lower groups of
//! plan queries to them; how to check, print, parse and run them slowly. It is the only place that looks at
//! both plans and levels. What it must never know: C, Cranelift, files, threads.
//!
//! Modules in reading order: [`ir`] (the language and its meaning), [`abi`] (how a compiled kernel is called),
//! [`build`] (making kernels), [`lanes`] (what back ends need to know to vectorise).

#![forbid(unsafe_code)]

pub mod abi;
pub mod build;
pub mod ir;
pub mod lanes;

pub use build::Builder;
pub use ir::{
    Access, BinOp, Block, Buf, Buffer, CmpOp, Gemm, Grid, Kernel, LoopKind, Matrix, Op, Stmt, UnOp, Value,
    Var, VarDecl,
};
