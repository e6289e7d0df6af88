//! Symbolic sizes, operators with their algebra, expressions, and lazy tensors.
//!
//! What this layer knows: what a program *means*. NewShape are integer expressions over bounded symbols ([`dim`]);
//! scalar operators are rows of one table ([`op`]) whose meaning is written over primitive operations ([`prim`],
//! [`expand`], [`elementary`]); tensors are defined by expressions in index notation ([`expr`]); what could not
//! be proven about sizes is a [`guard`]; whole-tensor functions of libraries are a [`Function`]; those whose results have a
//! size that values decide are a [`Selection`], and end a [`Stage`] of a program. A user builds [`LazyTensor`]s ([`lazy`]) and [`trace`] turns them into
//! definitions, in which complex numbers are pairs of real ones. The texts of the layers above are read by the cursor in [`text`]. What it must never know: plans,
//! kernels, loops, storage order.
//!
//! Modules in reading order: `dim`, `prim`, `op`, `expand`, `elementary`, `threefry`, `expr`, `function`, `selection`, `guard`,
//! `lazy`, `context`, `complex`, `trace`, `key`, `stage`, `text`.

#![forbid(unsafe_code)]

mod complex;
mod context;
pub mod dim;
pub mod elementary;
mod error;
pub mod expand;
pub mod expr;
mod fill;
mod function;
pub mod guard;
mod key;
mod lazy;
pub mod op;
pub mod prim;
mod selection;
mod stage;
pub mod text;
mod threefry;
pub mod trace;
mod walk;

pub use context::Context;
pub use dim::{Dim, DimError, Symbol};
pub use error::{Cause, IrError, shape_text};
pub use expr::{Expr, ExprArena, ExprId, Source, Tree};
pub use fill::is_static as is_static_fill;
pub use function::{Combine, Field, Function};
pub use guard::{Condition, Guard};
pub use key::Structure;
pub use lazy::{
    Along, At, Axes, Close, Defer, Dot, End, Indexing, LazyTensor, MAX_RANK, Mode, NewShape, Number, Operand,
    OptionalOperand, Order, Owned, Parts, Reducer, Repeats, ScalarOp, Shape, Shifts, Side, Storage, Window,
    along, arange, arange_in, at, axis, broadcast_arrays, column_stack, complex, concat, constant, convolve,
    correlate, cross, defer, defer_owned, dot, dstack, einop, einsum, empty, eye, full, geomspace, hstack,
    inner, input, interp, kron, linalg, linspace, logspace, maximum, meshgrid, minimum, number, ones, outer,
    size, stack, tensordot, vecdot, vstack, where_, zeros,
};
pub use lazy::{fft, random};
pub use op::{Op, ReduceOp, UserOp};
pub use selection::{Selection, Unique};
pub use stage::{Known, Ready, Stage, broken_guard};
pub use trace::{Definition, InputDecl, Trace};
