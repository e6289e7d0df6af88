//! From lazy tensors to definitions in index notation.
//!
//! Each node below the outputs becomes one [`Definition`], in post-order, each shared node once; leaves become
//! inputs, constants and run-time numbers. The walk keeps its own stack. Numbers enter the program by class: 0, 1,
//! -1 and 2 are constants, any other is a run-time number, so that programs which differ only in such numbers are
//! one program.

use std::panic::Location;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tj_tensor::{DType, Scalar, Tensor};

use crate::dim::{Dim, Symbol};
use crate::error::{Cause, IrError, shape_text};
use crate::expr::{Expr, ExprArena, ExprId, Indices, Source, Tree};
use crate::guard::{Condition, Guard};
use crate::lazy::{Kind, LazyTensor, Node, Shape};
use crate::op::{Op, ReduceOp};

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
/// The first mistake that an output carries; one name for different inputs; one symbol with different bounds.
pub fn trace(declared: &[LazyTensor], outputs: &[LazyTensor]) -> Result<Trace, IrError> {
    let mut ctx = Ctx::default();
    for tensor in declared.iter().chain(outputs) {
        tensor.check()?;
    }
    for tensor in declared {
        ctx.visit(tensor)?;
    }
    for tensor in outputs {
        ctx.visit(tensor)?;
        let source = ctx.as_source(tensor);
        ctx.trace.outputs.push(source);
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
}

#[derive(Default)]
struct Ctx {
    trace: Trace,
    done: FxHashMap<*const Node, Traced>,
    names: IndexMap<Arc<str>, u32>,
    numbers: FxHashMap<Scalar, u32>,
    symbols: FxHashMap<Symbol, Symbol>,
    /// Conditions of the guards so far: each is recorded once.
    conditions: FxHashSet<Condition>,
}

impl Ctx {
    fn visit(&mut self, root: &LazyTensor) -> Result<(), IrError> {
        let mut todo: Vec<(&Node, bool)> = vec![(&root.0, false)];
        while let Some((node, args_done)) = todo.pop() {
            if self.done.contains_key(&(node as *const Node)) {
                continue;
            }
            if args_done {
                let traced = self.add(node)?;
                self.done.insert(node, traced);
            } else {
                todo.push((node, true));
                todo.extend(node.args().iter().rev().map(|arg| (&*arg.0, false)));
            }
        }
        Ok(())
    }

    fn add(&mut self, node: &Node) -> Result<Traced, IrError> {
        check_dtype(node)?;
        for dim in &node.shape {
            self.note_symbols(dim, node.location)?;
        }
        for guard in &node.guards {
            if self.conditions.insert(guard.condition.clone()) {
                let (a, b) = guard.condition.sides();
                self.note_symbols(a, node.location)?;
                self.note_symbols(b, node.location)?;
                self.trace.guards.push(guard.clone());
            }
        }
        if let Kind::Move { at, .. } = &node.kind {
            // A slice may start at a size that no shape mentions.
            for dim in at {
                self.note_symbols(dim, node.location)?;
            }
        }
        let rank = node.shape.len();
        let body = match &node.kind {
            Kind::Failed(error) => return Err(error.clone()),
            Kind::Input { name } => return self.input(name, node),
            Kind::Data(tensor) => {
                self.trace.inputs.push(InputDecl {
                    name: None,
                    dtype: node.dtype,
                    shape: node.shape.clone(),
                    data: Some(tensor.clone()),
                });
                return Ok(Traced::Source(Source::Input(self.trace.inputs.len() as u32 - 1)));
            }
            Kind::Const(value) => return Ok(Traced::Leaf(self.number(*value))),
            Kind::Size(dim) => {
                self.note_symbols(dim, node.location)?;
                return Ok(Traced::Leaf(self.trace.arena.intern(Expr::Size(dim.clone()), DType::I64)));
            }
            Kind::Positions => return Ok(Traced::Positions),
            Kind::Map { op, args } => {
                let args = args.iter().map(|arg| self.read(arg, broadcast_indices(arg.shape(), &node.shape)));
                let args: SmallVec<[ExprId; 3]> = args.collect();
                self.trace.arena.map(*op, args)
            }
            Kind::Move { arg, at, .. } => {
                // The start of a slice may not be part of its size.
                for dim in at {
                    self.note_symbols(dim, node.location)?;
                }
                self.read(arg, at.clone())
            }
            Kind::Reduce { op, arg, axis } => {
                let index = Symbol::index(rank as u32);
                let mut at: Indices = (0..rank).map(position).collect();
                at.insert(*axis, Dim::symbol(&index));
                let body = self.read(arg, at);
                let tree = if *axis == rank { Tree::Row } else { Tree::Col };
                let extent = arg.shape()[*axis].clone();
                self.trace.arena.intern(Expr::Reduce { op: *op, tree, index, extent, body }, node.dtype)
            }
            Kind::Matmul { args: [a, b] } => self.matmul(a, b, rank, node.dtype),
        };
        self.trace.defs.push(Definition {
            word: Arc::from(node.word()),
            shape: node.shape.clone(),
            dtype: node.dtype,
            body,
            location: node.location,
        });
        Ok(Traced::Source(Source::Def(self.trace.defs.len() as u32 - 1)))
    }

    fn matmul(&mut self, a: &LazyTensor, b: &LazyTensor, rank: usize, dtype: DType) -> ExprId {
        let index = Symbol::index(rank as u32);
        let k = Dim::symbol(&index);
        let extent = a.shape()[a.rank() - 1].clone();
        let batch = rank - usize::from(a.rank() > 1) - usize::from(b.rank() > 1);
        let batch_at = |shape: &[Dim]| -> Indices {
            let own = shape.len().saturating_sub(2);
            let one = Dim::from(1);
            (0..own).map(|d| if shape[d] == one { Dim::from(0) } else { position(batch - own + d) }).collect()
        };
        let mut at_a = batch_at(a.shape());
        if a.rank() > 1 {
            at_a.push(position(batch));
        }
        at_a.push(k.clone());
        let mut at_b = batch_at(b.shape());
        at_b.push(k);
        if b.rank() > 1 {
            at_b.push(position(rank - 1));
        }
        let factors = [self.read(a, at_a), self.read(b, at_b)];
        let body = self.trace.arena.map(Op::Mul, SmallVec::from_slice(&factors));
        let tree = match (a.rank() > 1, b.rank() > 1) {
            (true, true) => Tree::Contract,
            (_, false) => Tree::Row,
            (false, true) => Tree::Col,
        };
        self.trace.arena.intern(Expr::Reduce { op: ReduceOp::Sum, tree, index, extent, body }, dtype)
    }

    fn input(&mut self, name: &Arc<str>, node: &Node) -> Result<Traced, IrError> {
        let declaration = |dtype: DType, shape: &[Dim]| format!("{dtype}{}", shape_text(shape));
        if let Some(&position) = self.names.get(name) {
            let first = &self.trace.inputs[position as usize];
            if first.dtype != node.dtype || first.shape != node.shape {
                let cause = Cause::DuplicateInput {
                    name: name.to_string(),
                    first: declaration(first.dtype, &first.shape),
                    second: declaration(node.dtype, &node.shape),
                };
                return Err(IrError::new(cause, node.location));
            }
            return Ok(Traced::Source(Source::Input(position)));
        }
        let position = self.trace.inputs.len() as u32;
        self.names.insert(name.clone(), position);
        let (dtype, shape) = (node.dtype, node.shape.clone());
        self.trace.inputs.push(InputDecl { name: Some(name.clone()), dtype, shape, data: None });
        Ok(Traced::Source(Source::Input(position)))
    }

    /// A number: a constant if its class is special, else an argument.
    fn number(&mut self, value: Scalar) -> ExprId {
        let dtype = value.dtype();
        let special = [0.0, 1.0, -1.0, 2.0].iter().any(|&x| Scalar::F64(x).cast(dtype) == value);
        if special || dtype.is_bool() {
            return self.trace.arena.constant(value);
        }
        let next = self.trace.numbers.len() as u32;
        let position = *self.numbers.entry(value).or_insert(next);
        if position == next {
            self.trace.numbers.push(value);
        }
        self.trace.arena.intern(Expr::Number(position), dtype)
    }

    fn read(&mut self, arg: &LazyTensor, at: Indices) -> ExprId {
        match self.done[&Arc::as_ptr(&arg.0)] {
            Traced::Leaf(id) => id,
            Traced::Positions => {
                // It has one axis.
                let position = at.into_iter().next().unwrap_or(Dim::ZERO);
                self.trace.arena.intern(Expr::Size(position), DType::I64)
            }
            Traced::Source(source) => self.trace.arena.read(source, at, arg.dtype()),
        }
    }

    /// A leaf that is an output becomes a definition of its own.
    fn as_source(&mut self, tensor: &LazyTensor) -> Source {
        let body = match self.done[&Arc::as_ptr(&tensor.0)] {
            Traced::Source(source) => return source,
            Traced::Leaf(body) => body,
            Traced::Positions => self.trace.arena.intern(Expr::Size(position(0)), DType::I64),
        };
        self.trace.defs.push(Definition {
            word: Arc::from(tensor.0.word()),
            shape: tensor.0.shape.clone(),
            dtype: tensor.dtype(),
            body,
            location: tensor.location(),
        });
        Source::Def(self.trace.defs.len() as u32 - 1)
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

/// No kernel holds a complex number, so that not even moves and numbers may be one. Operators have been refused where
/// they were called.
fn check_dtype(node: &Node) -> Result<(), IrError> {
    let op = match &node.kind {
        Kind::Move { name, .. } => *name,
        Kind::Const(_) => "number",
        Kind::Input { .. }
        | Kind::Data(_)
        | Kind::Size(_)
        | Kind::Positions
        | Kind::Map { .. }
        | Kind::Reduce { .. }
        | Kind::Matmul { .. }
        | Kind::Failed(_) => return Ok(()),
    };
    let dtype = node.dtype;
    if dtype.is_complex() {
        return Err(IrError::new(Cause::Unsupported { op, dtype }, node.location));
    }
    Ok(())
}

fn position(d: usize) -> Dim {
    Dim::symbol(&Symbol::index(d as u32))
}

/// Where an argument of shape `arg` is read at a position of the broadcast shape.
fn broadcast_indices(arg: &[Dim], shape: &[Dim]) -> Indices {
    let lead = shape.len() - arg.len();
    let one = Dim::from(1);
    arg.iter()
        .enumerate()
        .map(|(d, size)| if *size == one { Dim::from(0) } else { position(lead + d) })
        .collect()
}
