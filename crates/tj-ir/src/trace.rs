//! From lazy tensors to definitions in index notation.
//!
//! Each node below the outputs becomes one [`Definition`], in post-order, each shared node once; leaves become
//! inputs, constants and run-time numbers. The walk keeps its own stack. Numbers enter the program by class: 0, 1,
//! -1 and 2 are constants, any other is a run-time number, one a node, so that programs which differ only in such
//! numbers are one program.
//!
//! Complex tensors become two real ones ([`complex`]): nothing below knows of complex numbers.
//!
//! Deferred sizes become sizes of the program ([`merge`]): those that meet as equal are one, those that are read over
//! other sizes are 1, the rest is numbered. So the bits and the text of a program depend on no counter.

use std::panic::Location;
use std::sync::Arc;

use indexmap::IndexMap;
use indexmap::map::Entry;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tj_tensor::{DType, Scalar, Tensor};

use crate::dim::{Dim, Symbol};
use crate::error::{Cause, IrError, shape_text};
use crate::expr::{Expr, ExprArena, ExprId, Indices, Source, Tree};
use crate::fill::Fills;
use crate::guard::{Condition, Guard};
use crate::lazy::{Fit, Kind, LazyTensor, Node, Shape, Storage};
use crate::op::{Op, ReduceOp};
use crate::stage::Known;
use crate::walk::post_order;

mod complex;
mod fills;
mod merge;

use complex::{Complex, is_complex};
use merge::Merged;

/// A program in index notation, one definition an operator.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// All expressions.
    pub arena: ExprArena,
    /// Arguments: named ones, and data that is there already.
    pub inputs: Vec<InputDecl>,
    /// What is defined, in program order.
    pub defs: Vec<Definition>,
    /// What is asked for.
    pub outputs: Vec<Source>,
    /// What could not be proven about sizes.
    pub guards: Vec<Guard>,
    /// Values of the run-time numbers.
    pub numbers: Vec<Scalar>,
    /// Every size symbol, in order of appearance.
    pub symbols: Vec<Symbol>,
    /// Which inputs are complex to whoever gives them: here they are real, with one more axis at the end for the parts.
    pub complex_inputs: Vec<bool>,
    /// How each input is stored.
    pub storage: Vec<Storage>,
    /// Which inputs the program is given for good.
    pub owned: Vec<bool>,
    /// Which outputs are complex to whoever asks for them, as `complex_inputs`.
    pub complex_outputs: Vec<bool>,
    /// The deferred or counted symbol that each of `symbols` stands for, if it does.
    pub deferred: Vec<Option<Symbol>>,
}

/// An argument.
#[derive(Clone, Debug)]
pub struct InputDecl {
    /// Its name; data has none.
    pub name: Option<Arc<str>>,
    /// Type of an element.
    pub dtype: DType,
    /// Sizes.
    pub shape: Shape,
    /// The data, if it is there already.
    pub data: Option<Tensor>,
}

/// A tensor defined by an expression: `t[i0, .., i(r-1)] = body`.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Word for texts.
    pub word: Arc<str>,
    /// Sizes.
    pub shape: Shape,
    /// Type of an element.
    pub dtype: DType,
    /// Its value at `i0, .., i(r-1)`.
    pub body: ExprId,
    /// The call that asked for it.
    pub location: &'static Location<'static>,
}

/// Traces `outputs`. `declared` are inputs that belong to the signature even if nothing uses them.
///
/// # Errors
/// The first mistake that an output carries; one name for different inputs; one symbol with different bounds; a size that
/// depends on values.
pub fn trace(declared: &[LazyTensor], outputs: &[LazyTensor]) -> Result<Trace, IrError> {
    trace_stage(declared, outputs, &Known::new())
}

/// As [`trace`], where what earlier stages have computed are inputs.
///
/// # Errors
/// As there.
pub fn trace_stage(declared: &[LazyTensor], outputs: &[LazyTensor], known: &Known) -> Result<Trace, IrError> {
    for tensor in declared.iter().chain(outputs) {
        tensor.check()?;
    }
    let nodes = post_order(declared.iter().chain(outputs), known);
    let mut ctx = Ctx { merged: merge::merge(&nodes, known), ..Ctx::new(known) };
    ctx.expect_fills(&nodes);
    for node in nodes {
        let traced = ctx.add(node)?;
        ctx.done.insert(node, traced);
    }
    for tensor in outputs {
        let source = ctx.as_source(tensor);
        ctx.trace.outputs.push(source);
        ctx.trace.complex_outputs.push(tensor.dtype().is_complex());
    }
    Ok(ctx.trace)
}

/// What a node became.
#[derive(Clone, Copy)]
enum Traced {
    Source(Source),
    /// A leaf that is the same expression at every position.
    Leaf(ExprId),
    /// The position along an axis, which whoever reads it knows.
    Positions,
    /// Two real tensors, or pairs.
    Complex(Complex),
}

impl Traced {
    /// A source that is whole: pairs, if it is complex.
    fn whole(source: Source, dtype: DType) -> Traced {
        if dtype.is_complex() { Traced::Complex(Complex::Pairs(source)) } else { Traced::Source(source) }
    }
}

struct Ctx<'k> {
    trace: Trace,
    known: &'k Known,
    done: FxHashMap<*const Node, Traced>,
    /// Shapes of the leaves that are positions.
    positions: FxHashMap<*const Node, Shape>,
    merged: Merged,
    /// The index map of the complex move that is split next.
    moved: Option<Indices>,
    /// Deferred symbols that others do not stand for, with their names in the program.
    numbered: IndexMap<Symbol, Symbol>,
    names: IndexMap<Arc<str>, u32>,
    symbols: FxHashMap<Symbol, Symbol>,
    /// Conditions of the guards so far: each is recorded once.
    conditions: FxHashSet<Condition>,
    /// Fills of nodes, if there are any.
    fills: Option<Fills>,
}

impl<'k> Ctx<'k> {
    fn new(known: &'k Known) -> Ctx<'k> {
        Ctx {
            trace: Trace::default(),
            known,
            done: FxHashMap::default(),
            positions: FxHashMap::default(),
            merged: Merged::default(),
            moved: None,
            numbered: IndexMap::default(),
            names: IndexMap::default(),
            symbols: FxHashMap::default(),
            conditions: FxHashSet::default(),
            fills: None,
        }
    }

    fn add(&mut self, node: &Node) -> Result<Traced, IrError> {
        let known = self.known.tensor(node);
        let shape = self.sizes(&node.shape, node.location)?;
        if let Some(data) = known {
            let reals = data.as_ref().map(|data| reals(data, node)).transpose()?;
            return Ok(self.new_input(None, node, shape, reals));
        }
        for guard in &node.guards {
            let condition = guard.condition.try_map(|dim| self.size(dim, node.location))?;
            if self.conditions.insert(condition.clone()) {
                self.trace.guards.push(Guard { condition, ..guard.clone() });
            }
        }
        let rank = shape.len();
        let body = match &node.kind {
            Kind::Failed(error) => return Err(error.clone()),
            Kind::Input { name, storage } => return self.input(name, storage, node, shape),
            Kind::Format { arg, .. } => {
                let traced = self.traced(arg);
                if let Traced::Positions = traced {
                    self.positions.insert(node, shape);
                }
                return Ok(traced);
            }
            Kind::Data(tensor) => {
                let reals = reals(tensor, node)?;
                return Ok(self.new_input(None, node, shape, Some(reals)));
            }
            Kind::Owned(data) => {
                let reals = reals(&*data.owned.look(node.location)?, node)?;
                let traced = self.new_input(None, node, shape, Some(reals));
                self.trace.owned.iter_mut().last().into_iter().for_each(|owned| *owned = true);
                return Ok(traced);
            }
            Kind::Const(value) if node.dtype.is_complex() => return Ok(self.complex_number(*value)),
            Kind::Const(value) => return Ok(Traced::Leaf(self.number(*value))),
            Kind::Size(dim) => {
                let dim = self.size(dim, node.location)?;
                return Ok(Traced::Leaf(self.trace.arena.intern(Expr::Size(dim), DType::I64)));
            }
            Kind::Positions => {
                self.positions.insert(node, shape);
                return Ok(Traced::Positions);
            }
            Kind::Call { call, output } => {
                let args = call.args.iter().map(|arg| self.as_source(arg)).collect();
                let call = Expr::Call { function: call.function, args, output: *output as u32 };
                let body = self.trace.arena.intern(call, node.dtype.real());
                let source = self.define_whole(node, real_shape(node.dtype, shape), body);
                return Ok(Traced::whole(source, node.dtype));
            }
            Kind::Select { .. } => return Err(Known::needed(node)),
            Kind::Map { .. } | Kind::Reduce { .. } | Kind::Matmul { .. } | Kind::Parts { .. }
                if is_complex(node) =>
            {
                return Ok(self.split(node, shape));
            }
            Kind::Parts { .. } => unreachable!("trace: parts are of complex numbers"),
            Kind::Map { op, args } => {
                let args = args.iter().map(|arg| {
                    let at = self.broadcast_at(arg, &node.shape);
                    self.read(arg, at)
                });
                let args: SmallVec<[ExprId; 3]> = args.collect();
                let body = self.map_filled(*op, args.clone(), node.args());
                self.with_outcome(node, &args, body)
            }
            Kind::Move { arg, at, .. } => {
                // A slice may start at a size that no shape mentions.
                let at = self.sizes(at, node.location)?;
                if node.dtype.is_complex() {
                    self.moved = Some(at);
                    return Ok(self.split(node, shape));
                }
                self.read(arg, at)
            }
            Kind::Reduce { op, arg, axis } => {
                let mut at: Indices = (0..rank).map(position).collect();
                at.insert(*axis, position(rank));
                let body = self.read(arg, at);
                let extent = self.shape_of(arg)[*axis].clone();
                self.reduction(*op, *axis, rank, &extent, body, node.dtype)
            }
            Kind::Matmul { args: [a, b] } => self.matmul(a, b, &node.shape, node.dtype),
        };
        Ok(Traced::Source(self.define_whole(node, shape, body)))
    }

    fn define_whole(&mut self, node: &Node, shape: Shape, body: ExprId) -> Source {
        self.trace.defs.push(Definition {
            word: Arc::from(node.word()),
            shape,
            dtype: self.trace.arena.dtype(body),
            body,
            location: node.location,
        });
        Source::Def(self.trace.defs.len() as u32 - 1)
    }

    /// A reduction over an axis of a tensor, whose result has this rank.
    fn reduction(
        &mut self,
        op: ReduceOp,
        axis: usize,
        rank: usize,
        extent: &Dim,
        body: ExprId,
        dtype: DType,
    ) -> ExprId {
        let tree = match op.is_reorderable() {
            true if axis == rank => Tree::Row,
            true => Tree::Col,
            false => Tree::Chain,
        };
        let index = Symbol::index(rank as u32);
        self.trace.arena.intern(Expr::Reduce { op, tree, index, extent: extent.clone(), body }, dtype)
    }

    /// The shape of a tensor in the program.
    fn shape_of(&self, tensor: &LazyTensor) -> Shape {
        match self.traced(tensor) {
            Traced::Leaf(_) => Shape::new(),
            Traced::Positions => self.positions[&Arc::as_ptr(&tensor.0)].clone(),
            Traced::Source(source) => self.source_shape(source),
            Traced::Complex(complex) => self.complex_shape(complex),
        }
    }

    fn source_shape(&self, source: Source) -> Shape {
        match source {
            Source::Input(i) => self.trace.inputs[i as usize].shape.clone(),
            Source::Def(q) => self.trace.defs[q as usize].shape.clone(),
        }
    }

    /// Where an argument is read at a position of a result of these sizes of nodes: at 0 along axes that are 1 in the
    /// program, or that met another size as 1.
    fn broadcast_at(&self, arg: &LazyTensor, result: &[Dim]) -> Indices {
        self.read_at(&self.shape_of(arg), arg.shape(), result)
    }

    fn read_at(&self, merged: &[Dim], own: &[Dim], result: &[Dim]) -> Indices {
        let mut at = Fit::read_at(own, result);
        at.iter_mut().zip(merged).filter(|(_, size)| **size == 1).for_each(|(at, _)| *at = Dim::ZERO);
        at
    }

    fn traced(&self, tensor: &LazyTensor) -> Traced {
        self.done[&Arc::as_ptr(&tensor.0)]
    }

    fn matmul(&mut self, a: &LazyTensor, b: &LazyTensor, result: &[Dim], dtype: DType) -> ExprId {
        let rank = result.len();
        let (at_a, at_b, tree) = self.matmul_indices(a, b, result);
        let extent = self.shape_of(a).last().cloned().unwrap_or(Dim::ONE);
        let factors = [self.read(a, at_a), self.read(b, at_b)];
        let args = [a.clone(), b.clone()];
        let body = self.map_filled(Op::Mul, SmallVec::from_slice(&factors), &args);
        // The tree of contractions is for plain products, which a library computes.
        let is_plain = matches!(self.trace.arena.node(body), Expr::Map { op: Op::Mul, .. });
        let tree = if is_plain { tree } else { Tree::Row };
        self.contraction(tree, rank, &extent, body, dtype)
    }

    fn contraction(&mut self, tree: Tree, rank: usize, extent: &Dim, body: ExprId, dtype: DType) -> ExprId {
        let (op, index, extent) = (ReduceOp::Sum, Symbol::index(rank as u32), extent.clone());
        self.trace.arena.intern(Expr::Reduce { op, tree, index, extent, body }, dtype)
    }

    /// Where the factors of a matrix product are read, and the order of its sums.
    fn matmul_indices(&self, a: &LazyTensor, b: &LazyTensor, result: &[Dim]) -> (Indices, Indices, Tree) {
        let rank = result.len();
        let k = position(rank);
        let (sa, sb) = (self.shape_of(a), self.shape_of(b));
        let batch = rank - usize::from(sa.len() > 1) - usize::from(sb.len() > 1);
        let batch_at = |merged: &[Dim], own: &[Dim]| {
            let axes = own.len().saturating_sub(2);
            self.read_at(&merged[..axes], &own[..axes], &result[..batch])
        };
        let mut at_a = batch_at(&sa, a.shape());
        if sa.len() > 1 {
            at_a.push(position(batch));
        }
        at_a.push(k.clone());
        let mut at_b = batch_at(&sb, b.shape());
        at_b.push(k);
        if sb.len() > 1 {
            at_b.push(position(rank - 1));
        }
        let tree = match (sa.len() > 1, sb.len() > 1) {
            (true, true) => Tree::Contract,
            (_, false) => Tree::Row,
            (false, true) => Tree::Col,
        };
        (at_a, at_b, tree)
    }

    fn input(
        &mut self,
        name: &Arc<str>,
        storage: &Storage,
        node: &Node,
        shape: Shape,
    ) -> Result<Traced, IrError> {
        let Some(&position) = self.names.get(name) else {
            self.names.insert(name.clone(), self.trace.inputs.len() as u32);
            let traced = self.new_input(Some(name.clone()), node, shape, None);
            if let Some(last) = self.trace.storage.last_mut() {
                *last = storage.clone();
            }
            return Ok(traced);
        };
        let first = &self.trace.inputs[position as usize];
        let is_complex = self.trace.complex_inputs[position as usize];
        let known = if is_complex { first.dtype.complex() } else { first.dtype };
        let first_storage = &self.trace.storage[position as usize];
        let is_other = first.shape != real_shape(node.dtype, shape.clone()) || first_storage != storage;
        if known != node.dtype || is_other {
            let sizes = &first.shape[..first.shape.len() - usize::from(is_complex)];
            let cause = Cause::DuplicateInput {
                name: name.to_string(),
                first: format!("{known}{}{first_storage}", shape_text(sizes)),
                second: format!("{}{}{storage}", node.dtype, shape_text(&shape)),
            };
            return Err(IrError::new(cause, node.location));
        }
        Ok(Traced::whole(Source::Input(position), node.dtype))
    }

    fn new_input(
        &mut self,
        name: Option<Arc<str>>,
        node: &Node,
        shape: Shape,
        data: Option<Tensor>,
    ) -> Traced {
        let (dtype, shape) = (node.dtype.real(), real_shape(node.dtype, shape));
        self.trace.inputs.push(InputDecl { name, dtype, shape, data });
        self.trace.complex_inputs.push(node.dtype.is_complex());
        self.trace.storage.push(Storage::default());
        self.trace.owned.push(false);
        Traced::whole(Source::Input(self.trace.inputs.len() as u32 - 1), node.dtype)
    }

    /// A number: a constant if its class is special, else an argument.
    fn number(&mut self, value: Scalar) -> ExprId {
        let dtype = value.dtype();
        if is_constant(value) {
            return self.trace.arena.constant(value);
        }
        let position = self.trace.numbers.len() as u32;
        self.trace.numbers.push(value);
        self.trace.arena.intern(Expr::Number(position), dtype)
    }

    fn read(&mut self, arg: &LazyTensor, at: Indices) -> ExprId {
        match self.traced(arg) {
            Traced::Leaf(id) => id,
            Traced::Positions => {
                // It has one axis.
                let position = at.into_iter().next().unwrap_or(Dim::ZERO);
                self.trace.arena.intern(Expr::Size(position), DType::I64)
            }
            Traced::Source(source) => self.trace.arena.read(source, at, arg.dtype()),
            Traced::Complex(_) => unreachable!("trace: complex numbers are read as parts"),
        }
    }

    /// A leaf that is an output, or given to a function of whole tensors, becomes a definition of its own.
    fn as_source(&mut self, tensor: &LazyTensor) -> Source {
        let body = match self.traced(tensor) {
            Traced::Source(source) => return source,
            Traced::Complex(complex) => return self.pairs(tensor, complex),
            Traced::Leaf(body) => body,
            Traced::Positions => self.trace.arena.intern(Expr::Size(position(0)), DType::I64),
        };
        self.trace.defs.push(Definition {
            word: Arc::from(tensor.0.word()),
            shape: self.shape_of(tensor),
            dtype: tensor.dtype(),
            body,
            location: tensor.location(),
        });
        Source::Def(self.trace.defs.len() as u32 - 1)
    }

    /// Sizes of the program for those of a node.
    fn sizes(&mut self, dims: &[Dim], location: &'static Location<'static>) -> Result<Shape, IrError> {
        dims.iter().map(|dim| self.size(dim, location)).collect()
    }

    /// The size of the program for that of a node: deferred symbols are merged, they and counted ones are
    /// numbered, all are noted.
    fn size(&mut self, dim: &Dim, location: &'static Location<'static>) -> Result<Dim, IrError> {
        if dim.is_const().is_some() {
            return Ok(dim.clone());
        }
        if !dim.any_received() {
            self.note_symbols(dim, location)?;
            return Ok(dim.clone());
        }
        let merged = dim.substitute(&|s| s.deferred_value().map(|_| self.merged.resolve(s)));
        for symbol in merged.symbols() {
            if symbol.deferred_value().is_none() && !symbol.is_counted() {
                continue;
            }
            let next = self.numbered.len() as u64;
            let (_, hi) = symbol.bounds();
            let hint = self.known.size(&symbol);
            if let Entry::Vacant(entry) = self.numbered.entry(symbol) {
                let fresh =
                    Symbol::fresh(next, ..=hi).map_err(|error| IrError::new(error.into(), location))?;
                entry.insert(hint.map_or_else(|| fresh.clone(), |value| fresh.with_hint(value)));
            }
        }
        let named = merged.substitute(&|s| self.numbered.get(s).map(Dim::symbol));
        self.note_symbols(&named, location)?;
        Ok(named)
    }

    fn note_symbols(&mut self, dim: &Dim, location: &'static Location<'static>) -> Result<(), IrError> {
        if dim.is_const().is_some() {
            return Ok(());
        }
        dim.check().map_err(|error| IrError::new(error.into(), location))?;
        for symbol in dim.symbols() {
            if symbol.as_index().is_some() {
                continue;
            }
            match self.symbols.get(&symbol) {
                None => {
                    self.symbols.insert(symbol.clone(), symbol.clone());
                    let deferred = self.numbered.iter().find(|(_, fresh)| **fresh == symbol);
                    self.trace.deferred.push(deferred.map(|(deferred, _)| deferred.clone()));
                    self.trace.symbols.push(symbol);
                }
                Some(known) if known.same_bounds(&symbol) => {}
                Some(known) => {
                    let cause = Cause::ConflictingBounds {
                        name: symbol.to_string(),
                        first: known.bounds(),
                        second: symbol.bounds(),
                    };
                    return Err(IrError::new(cause, location));
                }
            }
        }
        Ok(())
    }
}

/// The real numbers that a number is.
pub(crate) fn number_parts(value: Scalar) -> SmallVec<[Scalar; 2]> {
    match value {
        Scalar::C64(z) => SmallVec::from_slice(&[Scalar::F32(z.re), Scalar::F32(z.im)]),
        Scalar::C128(z) => SmallVec::from_slice(&[Scalar::F64(z.re), Scalar::F64(z.im)]),
        Scalar::Bool(_)
        | Scalar::I8(_)
        | Scalar::I16(_)
        | Scalar::I32(_)
        | Scalar::I64(_)
        | Scalar::U8(_)
        | Scalar::U16(_)
        | Scalar::U32(_)
        | Scalar::U64(_)
        | Scalar::F16(_)
        | Scalar::BF16(_)
        | Scalar::F32(_)
        | Scalar::F64(_) => SmallVec::from_slice(&[value]),
    }
}

/// The sizes that a tensor has in a program, where complex numbers are pairs along a last axis.
pub(crate) fn real_shape(dtype: DType, mut shape: Shape) -> Shape {
    if dtype.is_complex() {
        shape.push(Dim::from(2));
    }
    shape
}

/// Whether a number is part of a program, and not one that the program receives.
pub(crate) fn is_constant(value: Scalar) -> bool {
    // The two that host numbers become first, without a conversion.
    if let Scalar::F64(x) = value {
        return x == 0.0 || x == 1.0 || x == -1.0 || x == 2.0;
    }
    if let Scalar::I64(x) = value {
        return (-1..=2).contains(&x);
    }
    let dtype = value.dtype();
    dtype.is_bool() || [0.0, 1.0, -1.0, 2.0].iter().any(|&x| Scalar::F64(x).cast(dtype) == value)
}

/// Data as plans see it, where complex numbers are pairs of real ones.
fn reals(data: &Tensor, node: &Node) -> Result<Tensor, IrError> {
    data.as_reals().map_err(|error| IrError::new(Cause::Data(error), node.location))
}

fn position(d: usize) -> Dim {
    Dim::symbol(&Symbol::index(d as u32))
}
