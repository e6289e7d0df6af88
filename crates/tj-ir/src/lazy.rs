//! Lazy tensors: what a user's program builds, node by node.
//!
//! **Idea.** A [`LazyTensor`] is a shared, immutable node: an input, data, a number, or an operator on other lazy
//! tensors, with its shape and dtype already worked out. Operators never fail: a mistake makes a node that
//! carries the first error and the caller's location, and so does everything built on it; [`LazyTensor::check`]
//! and everything that compiles return it.
//!
//! **Invariants.** Shapes are known at every node, as [`Dim`]s. What the compiler could not prove about them is
//! a [`Guard`] in the node. Nodes drop iteratively, so that a chain of millions does not overflow the stack.
//!
//! **Cost.** One allocation of some 200 bytes a node (for up to four axes); no arena, no ids: `trace` gives those.
//!
//! Modules in reading order: leaves (`build`, `defer`, `owned`, `create`, `positions`), how they and results are stored (`format`), operators (`elementwise`, `operators`, `complex`), moves
//! (`movement`, `index`, `shape`, `arrange`, `diagonal`, `join`, `window`), operators of the user's own (`define`), reductions (`reduce`, `statistics`, `nan`,
//! `normalise`), products (`contract`, `einsum`, `products`, `einop`), functions of whole tensors (`call`, `sort`,
//! `gather`, `linalg`, `fft`), what values decide the size of (`select`), and `random`. All but the kinds of node below are compositions of these kinds, so that no other
//! layer knows of them.

mod advanced;
mod arrange;
mod bins;
mod build;
mod call;
mod close;
mod complex;
mod contract;
mod convolve;
mod covariance;
mod create;
mod defer;
mod define;
mod diagonal;
mod differences;
mod einop;
mod einsum;
mod elementwise;
pub mod fft;
mod format;
mod gather;
mod index;
mod join;
pub mod linalg;
mod movement;
mod nan;
mod normalise;
mod operators;
mod owned;
mod positions;
mod products;
mod quantile;
pub mod random;
mod ranges;
mod reduce;
mod reshape;
mod scalar;
mod select;
mod shape;
mod sizes;
mod slice;
mod sort;
mod stacks;
mod statistics;
#[cfg(test)]
mod tests;
mod update;
mod window;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;
use tj_tensor::{DType, Format, Scalar, Tensor};

use crate::dim::{Dim, Symbol};
use crate::error::{Cause, IrError};
use crate::function::Function;
use crate::guard::Guard;
use crate::op::{Op, ReduceOp};
use crate::selection::Selection;

pub use arrange::{Indexing, Shifts, broadcast_arrays, meshgrid};
pub use bins::interp;
pub use build::{constant, input, number, size};
pub use close::Close;
pub(crate) use complex::PartsOp;
pub use complex::complex;
pub use convolve::{Mode, convolve, correlate};
pub use create::{empty, eye, full, ones, zeros};
pub use defer::{Defer, defer};
pub use define::ScalarOp;
pub use einop::einop;
pub use einsum::einsum;
pub(crate) use elementwise::Fit;
pub use elementwise::Operand;
pub(crate) use format::OwnFill;
pub use format::Storage;
pub use index::Parts;
pub use join::{concat, stack};
pub(crate) use owned::OwnedData;
pub use owned::{Owned, defer_owned};
pub use products::{Dot, cross, dot, inner, kron, outer, tensordot, vecdot};
pub use ranges::{End, Number, arange, arange_in, geomspace, linspace, logspace};
pub use reduce::{Axes, Reducer, axis};
pub use scalar::{OptionalOperand, maximum, minimum, where_};
pub use select::Repeats;
pub use shape::NewShape;
pub use sizes::MAX_RANK;
pub use slice::{At, at};
pub use sort::{Along, Order, Side, along};
pub use stacks::{column_stack, dstack, hstack, vstack};
pub use window::Window;

/// Sizes of a tensor, outermost first.
pub type Shape = SmallVec<[Dim; 4]>;

/// A tensor that is not computed yet.
#[derive(Clone)]
pub struct LazyTensor(pub(crate) Arc<Node>);

/// The name of moves that repeat axes, whose sizes meet those of their result as the arguments of an operator do.
pub(crate) const BROADCAST: &str = "broadcast_to";

/// What a lazy tensor is. Public to `trace` and to printers; users go through [`LazyTensor`].
pub(crate) struct Node {
    pub kind: Kind,
    pub shape: Shape,
    pub dtype: DType,
    pub guards: Box<[Guard]>,
    pub location: &'static Location<'static>,
}

pub(crate) enum Kind {
    /// An argument of the program.
    Input { name: Arc<str>, storage: Storage },
    /// A tensor that is there already.
    Data(Arc<Tensor>),
    /// A tensor that is there until a program takes it.
    Owned(OwnedData),
    /// A number; rank 0.
    Const(Scalar),
    /// A size as a number; rank 0.
    Size(Dim),
    /// The position along its only axis, as `i64`.
    Positions,
    /// A scalar operator on arguments that broadcast and have the dtype it works in.
    Map { op: Op, args: SmallVec<[LazyTensor; 3]> },
    /// Elements of `arg` at other positions: `at` has one index expression for each axis of `arg`.
    Move { name: &'static str, arg: LazyTensor, at: Box<[Dim]> },
    /// The same values, to be stored like this.
    Format { arg: LazyTensor, format: Arc<Format>, fill: OwnFill },
    /// A reduction over one axis.
    Reduce { op: ReduceOp, arg: LazyTensor, axis: usize },
    /// Parts of complex numbers, or complex numbers of parts.
    Parts { op: PartsOp, args: SmallVec<[LazyTensor; 2]> },
    /// A matrix product of ranks of at least 1, in the dtype of both.
    Matmul { args: [LazyTensor; 2] },
    /// A result of a function of whole tensors; its other results share the call.
    Call { call: Arc<Call>, output: usize },
    /// A result of a selection, whose first axis is as long as values say; its other results share it.
    Select { selected: Arc<Selected>, output: usize },
    /// The first mistake.
    Failed(IrError),
}

/// A function of whole tensors and what it is given.
pub(crate) struct Call {
    pub function: Function,
    pub args: Vec<LazyTensor>,
}

/// A selection, what it is given, and the size that it finds out.
pub(crate) struct Selected {
    pub selection: Selection,
    pub args: Vec<LazyTensor>,
    pub count: Symbol,
}

impl LazyTensor {
    /// The only way to make a node; it carries an error instead if there are too many axes.
    pub(crate) fn node(
        kind: Kind,
        shape: Shape,
        dtype: DType,
        location: &'static Location<'static>,
    ) -> LazyTensor {
        let rank = shape.len();
        let node = Node { kind, shape, dtype, guards: Box::default(), location };
        if rank > MAX_RANK {
            let cause = Cause::TooManyAxes { what: node.origin(), rank, limit: MAX_RANK };
            return LazyTensor::failed(IrError::new(cause, location));
        }
        LazyTensor(Arc::new(node))
    }

    pub(crate) fn failed(error: IrError) -> LazyTensor {
        let location = error.location;
        LazyTensor::node(Kind::Failed(error), Shape::new(), DType::F64, location)
    }

    /// Sizes, outermost first. Empty if the tensor carries an error.
    pub fn shape(&self) -> &[Dim] {
        &self.0.shape
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.0.shape.len()
    }

    /// Type of an element.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// The value of every position that is not stored: that of data is given with it ([`Tensor::with_fill`]), and that of an
    /// expression follows. `None` if there is none, or if it is not known before the program has run. Time is proportional to
    /// the expression.
    ///
    /// ```
    /// use tj_ir::defer;
    /// use tj_tensor::{Scalar, Tensor};
    ///
    /// let s = Tensor::from(vec![0.0, 2.0]).with_fill(Some(Scalar::from(0.0)))?;
    /// let (s, d) = (defer(&s), defer(&Tensor::from(vec![1.0, f64::INFINITY])));
    /// assert_eq!((&s * &d).fill(), Some(Scalar::from(0.0)));
    /// assert_eq!((1.0 - &s).fill(), Some(Scalar::from(1.0)));
    /// assert_eq!((&s + &d).fill(), None);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    pub fn fill(&self) -> Option<Scalar> {
        crate::fill::of_lazy(self).map(|fill| fill.value)
    }

    /// The first mistake made in building this tensor.
    ///
    /// # Errors
    /// That mistake, with the location of the call that made it.
    ///
    /// ```
    /// use tj_ir::{input, Dim};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F32, [Dim::from(3), Dim::from(4)])?;
    /// let broken = (&x + &x.transpose()).sum(0) * 2;
    /// let error = broken.check().unwrap_err();
    /// assert!(error.to_string().starts_with("add: shapes [3, 4] and [4, 3] do not fit: 3 is not 4"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<(), IrError> {
        match &self.0.kind {
            Kind::Failed(error) => Err(error.clone()),
            Kind::Input { .. }
            | Kind::Data(_)
            | Kind::Owned(_)
            | Kind::Const(_)
            | Kind::Size(_)
            | Kind::Positions
            | Kind::Map { .. }
            | Kind::Move { .. }
            | Kind::Format { .. }
            | Kind::Reduce { .. }
            | Kind::Parts { .. }
            | Kind::Matmul { .. }
            | Kind::Call { .. }
            | Kind::Select { .. } => Ok(()),
        }
    }

    /// Where it was built.
    pub fn location(&self) -> &'static Location<'static> {
        self.0.location
    }

    /// Name of the input, if it is one.
    pub fn input_name(&self) -> Option<&str> {
        if let Kind::Input { name, .. } = &self.0.kind { Some(name) } else { None }
    }
}

impl Node {
    /// The word for it in texts.
    pub(crate) fn word(&self) -> &str {
        match &self.kind {
            Kind::Input { name, .. } => name,
            Kind::Data(_) | Kind::Owned(_) => "data",
            Kind::Const(_) => "number",
            Kind::Size(_) => "size",
            Kind::Positions => "positions",
            Kind::Map { op, .. } => op.name(),
            Kind::Move { name, .. } => name,
            Kind::Format { fill: OwnFill::Kept, .. } => "with_format",
            Kind::Format { fill: OwnFill::Dropped, .. } => "to_dense",
            Kind::Reduce { op, .. } => op.name(),
            Kind::Parts { op, .. } => op.name(),
            Kind::Matmul { .. } => "matmul",
            Kind::Call { call, .. } => call.function.name(),
            Kind::Select { selected, .. } => selected.selection.name(),
            Kind::Failed(_) => "error",
        }
    }

    /// What made it, for messages.
    pub(crate) fn origin(&self) -> String {
        if let Kind::Input { name, .. } = &self.kind {
            format!("input {name}")
        } else {
            self.word().to_string()
        }
    }

    /// The tensors it is built on.
    pub(crate) fn args(&self) -> &[LazyTensor] {
        match &self.kind {
            Kind::Input { .. }
            | Kind::Data(_)
            | Kind::Owned(_)
            | Kind::Const(_)
            | Kind::Size(_)
            | Kind::Positions
            | Kind::Failed(_) => &[],
            Kind::Map { args, .. } => args,
            Kind::Move { arg, .. } | Kind::Format { arg, .. } | Kind::Reduce { arg, .. } => {
                std::slice::from_ref(arg)
            }
            Kind::Parts { args, .. } => args,
            Kind::Matmul { args } => args,
            Kind::Call { call, .. } => &call.args,
            Kind::Select { selected, .. } => &selected.args,
        }
    }

    fn is_leaf(&self) -> bool {
        self.args().is_empty()
    }

    fn take_args(&mut self, into: &mut SmallVec<[LazyTensor; 8]>) {
        match std::mem::replace(&mut self.kind, Kind::Const(Scalar::Bool(false))) {
            Kind::Input { .. }
            | Kind::Data(_)
            | Kind::Owned(_)
            | Kind::Const(_)
            | Kind::Size(_)
            | Kind::Positions
            | Kind::Failed(_) => {}
            Kind::Map { args, .. } => into.extend(args),
            Kind::Move { arg, .. } | Kind::Format { arg, .. } | Kind::Reduce { arg, .. } => into.push(arg),
            Kind::Parts { args, .. } => into.extend(args),
            Kind::Matmul { args } => into.extend(args),
            Kind::Call { call, .. } => {
                into.extend(Arc::into_inner(call).into_iter().flat_map(|call| call.args))
            }
            Kind::Select { selected, .. } => {
                into.extend(Arc::into_inner(selected).into_iter().flat_map(|selected| selected.args))
            }
        }
    }
}

/// Takes the graph apart node by node; the derived drop would recurse as deep as the graph.
impl Drop for Node {
    fn drop(&mut self) {
        // Leaves go without a word.
        if self.args().iter().all(|arg| arg.0.is_leaf()) {
            return;
        }
        let mut todo = SmallVec::new();
        self.take_args(&mut todo);
        while let Some(LazyTensor(node)) = todo.pop() {
            if !node.is_leaf()
                && let Some(mut node) = Arc::into_inner(node)
            {
                node.take_args(&mut todo);
            }
        }
    }
}

/// One line, whatever the size of the graph below.
impl fmt::Debug for LazyTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Kind::Failed(error) = &self.0.kind {
            return write!(f, "LazyTensor(error: {error})");
        }
        write!(f, "LazyTensor({}: {}{})", self.0.word(), self.dtype(), crate::error::shape_text(self.shape()))
    }
}
