//! A dynamic tensor compiler for CPUs.
//!
//! Array programs are written lazily, over tensors whose sizes may be symbols with bounds. They are fused, their
//! memory is planned, they are compiled once for all sizes to native code, every guard is checked, and they run on all
//! cores with the same bits every time.
//!
//! ```
//! use tensorjit::{CompileOptions, CompiledGraph, DType, Dim, Tensor, input};
//!
//! let n = Dim::new("N", 0..=4096)?;
//! let x = input("x", DType::F32, [n, 3.into()])?;
//! let w = input("w", DType::F32, [3.into(), 2.into()])?;
//! let y = x.matmul(&w).relu().sum(-1);
//!
//! let graph = CompiledGraph::new(&[y], CompileOptions::default())?;
//! let w = Tensor::from_shape_vec([3, 2], vec![1.0_f32, -1.0, 2.0, -2.0, 3.0, -3.0])?;
//! for rows in [0, 1, 7] {
//!     let x = Tensor::full([rows, 3], 1.0_f32)?;
//!     let out = graph.call(&[("x", &x), ("w", &w)])?;
//!     assert_eq!(out[0].to_vec::<f32>()?, vec![6.0; rows]);
//! }
//! assert_eq!(graph.report().compilations, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Arrays that are there already are deferred and computed ([`defer`], [`compute()`], [`fuse`]), or given to the
//! [`eager`] twins of the operators.
//!
//! This crate re-exports, and adds the twins; each layer is a crate of its own: `tj-tensor` (tensors), `tj-ir` (what programs mean),
//! `tj-plan` (queries and schedulers), `tj-kernel` (loops), `tj-codegen-cranelift` and `tj-codegen-c` (machine code),
//! `tj-memory` (arenas), `tj-runtime` (compiling and calling), `tj-io` (files).

#![forbid(unsafe_code)]

pub mod eager;
mod fused;

pub use tj_ir::{
    Along, At, Axes, Cause, Close, Combine, Condition, Context, Defer, Dim, DimError, Dot, End, Function,
    Guard, Indexing, IrError, LazyTensor, MAX_RANK, Mode, NewShape, Number, Op, Operand, OptionalOperand,
    Order, Parts, ReduceOp, Reducer, Repeats, ScalarOp, Selection, Shape, Shifts, Side, Symbol, Window,
    along, arange, arange_in, at, axis, broadcast_arrays, column_stack, complex, concat, constant, convolve,
    correlate, cross, defer, defer_owned, dot, dstack, einop, einsum, empty, eye, fft, full, geomspace,
    hstack, inner, input, interp, kron, linalg, linspace, logspace, maximum, meshgrid, minimum, number, ones,
    outer, random, size, stack, tensordot, vecdot, vstack, where_, zeros,
};
pub use tj_macros::fused;
pub use tj_runtime::MaxBytes::Bytes;
pub use tj_runtime::{
    ArenaPiece, ArenaPlan, Backend, CacheEntry, CacheReport, CompileOptions, CompiledGraph, Compute,
    DefaultScheduler, Error, Explanation, GalleyScheduler, InterpretKernel, InterpretPlan, Kept, MaxBytes,
    Observer, On, OutputView, Reassociate, RunReport, Scheduler, Stage, Surprise, Unfused, cache_entries,
    cache_report, clear_cache, compute, compute_as, compute_reported, compute_timed, compute_with, doctor,
    explain, explain_with, fuse, fuse_with, get_scheduler, set_cache_bytes, set_kept_bytes, set_scheduler,
    with_scheduler,
};
pub use tj_tensor::{
    Buffer, Complex, DType, Duplicates, Element, FloatInfo, Format, Indices, IntInfo, Leaf, Level, Scalar,
    SliceSpec, Tensor, TensorError,
};

/// The table of scalar operators.
pub mod op {
    pub use tj_ir::op::{Algebra, Annihilator, DTypeRule, Domain, FillRule, Named, OpInfo, TABLE};
    pub use tj_ir::text::closest;
}

/// Tensor files.
pub mod io {
    pub use tj_io::*;
}

/// Functions of sparse tensors that are there already, at the cost of their entries; and what formats are made of.
///
/// ```
/// use tensorjit::{Tensor, sparse};
/// let a = Tensor::csr([2, 3], vec![0u32, 1, 2], vec![2u32, 0], vec![1.0, 2.0])?;
/// let both = sparse::concat(&[&a, &sparse::tril(&a, 0)?], 0)?;
/// assert_eq!((both.shape(), both.nnz()?), (&[4, 3][..], 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod sparse {
    pub use tj_library::sparse::*;
    pub use tj_tensor::{
        Coordinate, Edge, LeafKind, LevelFormat, LevelKind, Order, Repeats, Stored, Width, Widths,
    };
}

/// Memory plans on their own.
pub mod memory {
    pub use tj_memory::*;
}

/// The README of the repository, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
