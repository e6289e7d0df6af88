//! The plan interpreter: slow, obvious, and the oracle of every test.
//!
//! Queries are computed one after the other, each element on its own, each reduction in the order that its tree
//! states. There is no fusion, no memory plan and no thread here; every other way to run a plan must give the same
//! bits (NaN payloads aside).

mod call;

use std::panic::Location;

use rustc_hash::FxHashMap;
use tj_ir::expand::expand;
use tj_ir::expr::{BLOCK, CONTRACT_BLOCK, Source, fold_halves, row_lanes};
use tj_ir::prim::{BinOp, Evaluator, eval_binary};
use tj_ir::{Dim, DimError, Expr, ExprId, Function, Op, ReduceOp, Symbol, Tree};
use tj_library::LibraryError;
use tj_tensor::{Buffer, DType, Scalar, Tensor, TensorError};

use crate::plan::{Plan, QueryId, RootReduce};

/// Why a plan cannot be interpreted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterpretError {
    /// A size could not be computed.
    #[error(transparent)]
    Size(#[from] DimError),
    /// A tensor could not be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A read outside of its source.
    #[error("{query} reads element {position} of an axis of size {extent}")]
    OutOfBounds {
        /// The query.
        query: QueryId,
        /// Where it read.
        position: i64,
        /// The size.
        extent: usize,
    },
    /// A function of whole tensors has no result.
    #[error("{cause} ({location})")]
    Function {
        /// Which.
        function: Function,
        /// Why.
        cause: LibraryError,
        /// The call that asked for it.
        location: &'static Location<'static>,
    },
    /// An argument does not have the shape that the sizes give.
    #[error("argument {argument} has shape {found:?}, but the sizes give {expected:?}")]
    Shape {
        /// Position of the argument.
        argument: usize,
        /// Its shape.
        found: Vec<usize>,
        /// The shape it should have.
        expected: Vec<usize>,
    },
}

/// A tensor as a list of scalars, row-major.
#[derive(Clone, Debug)]
struct Values {
    shape: Vec<usize>,
    items: Vec<Scalar>,
}

/// Computes what `plan` produces, in any form of the plan. `inputs` are in the order of `plan.inputs`; `value`
/// gives the sizes. Guards are the caller's business.
///
/// # Errors
/// Sizes that overflow or are unbound, shapes that do not fit, reads out of bounds.
pub fn interpret(
    plan: &Plan,
    inputs: &[Tensor],
    value: &dyn Fn(&Symbol) -> Option<i64>,
) -> Result<Vec<Tensor>, InterpretError> {
    let mut sources: FxHashMap<Source, Values> = FxHashMap::default();
    for (position, (decl, tensor)) in plan.inputs.iter().zip(inputs).enumerate() {
        let expected = concrete(&decl.shape, value)?;
        if expected != tensor.shape() {
            return Err(InterpretError::Shape {
                argument: position,
                found: tensor.shape().to_vec(),
                expected,
            });
        }
        sources.insert(Source::Input(position as u32), read_all(tensor)?);
    }
    for id in plan.query_ids() {
        let values = compute(plan, id, &sources, value)?;
        sources.insert(Source::Def(id.0), values);
    }
    let tensor = |source: &Source| {
        let values = &sources[source];
        Ok(tensor_of(plan.dtype_of(*source), &values.shape, &values.items)?)
    };
    plan.produces.0.iter().map(tensor).collect()
}

fn concrete(shape: &[Dim], value: &dyn Fn(&Symbol) -> Option<i64>) -> Result<Vec<usize>, DimError> {
    shape.iter().map(|dim| Ok(usize::try_from(dim.eval(value)?).unwrap_or(0))).collect()
}

fn read_all(tensor: &Tensor) -> Result<Values, TensorError> {
    let shape = tensor.shape().to_vec();
    let mut items = Vec::with_capacity(tensor.count()?);
    let mut at = vec![0; shape.len()];
    if !tensor.is_empty() {
        loop {
            items.push(tensor.get(&at)?);
            if !advance(&mut at, &shape) {
                break;
            }
        }
    }
    Ok(Values { shape, items })
}

/// The next position in row-major order; false after the last.
fn advance(at: &mut [usize], shape: &[usize]) -> bool {
    for d in (0..at.len()).rev() {
        at[d] += 1;
        if at[d] < shape[d] {
            return true;
        }
        at[d] = 0;
    }
    false
}

/// A row-major tensor of scalars of this dtype.
pub(crate) fn tensor_of(dtype: DType, shape: &[usize], items: &[Scalar]) -> Result<Tensor, TensorError> {
    let width = dtype.size();
    let mut buffer = Buffer::zeroed(items.len() * width)?;
    for (bytes, item) in buffer.as_bytes_mut().chunks_exact_mut(width).zip(items) {
        bytes.copy_from_slice(&item.bits().to_le_bytes()[..width]);
    }
    Tensor::from_buffer(dtype, shape, buffer)
}

/// An index expression, with the frequent cases at hand.
enum Position {
    Index(usize),
    Fixed(i64),
    Any(Dim),
}

/// One node of a query's expression, ready to run.
enum Step {
    Fixed(Scalar),
    Size(Position),
    Read(Source, Vec<Position>),
    Map(Op, Vec<usize>),
}

struct Ctx<'a> {
    id: QueryId,
    sources: &'a FxHashMap<Source, Values>,
    value: &'a dyn Fn(&Symbol) -> Option<i64>,
    steps: Vec<Step>,
    slots: FxHashMap<ExprId, usize>,
}

fn compute(
    plan: &Plan,
    id: QueryId,
    sources: &FxHashMap<Source, Values>,
    value: &dyn Fn(&Symbol) -> Option<i64>,
) -> Result<Values, InterpretError> {
    if let Some(call) = plan.root_call(id) {
        return call::compute(plan, id, &call, sources, value);
    }
    let query = plan.query(id);
    let shape = concrete(&query.shape, value)?;
    let root = plan.root_reduce(id);
    let body = root.as_ref().map_or(query.body, |r| r.body);
    let mut ctx = Ctx { id, sources, value, steps: Vec::new(), slots: FxHashMap::default() };
    for node in plan.arena.reachable(&[body]) {
        let step = ctx.step(plan, plan.arena.node(node))?;
        ctx.slots.insert(node, ctx.steps.len());
        ctx.steps.push(step);
    }
    let mut items = Vec::new();
    if shape.iter().all(|&extent| extent > 0) {
        let mut at = vec![0; shape.len()];
        let mut registers = vec![Scalar::Bool(false); ctx.steps.len()];
        loop {
            let mut index: Vec<i64> = at.iter().map(|&i| i as i64).collect();
            items.push(match &root {
                None => {
                    ctx.run(&index, &mut registers)?;
                    registers[ctx.slots[&body]]
                }
                Some(root) => ctx.reduce(plan, root, query.dtype, &mut index, &mut registers)?,
            });
            if !advance(&mut at, &shape) {
                break;
            }
        }
    }
    Ok(Values { shape, items })
}

impl Ctx<'_> {
    fn position(&self, dim: &Dim) -> Position {
        if let Some(c) = dim.is_const() {
            return Position::Fixed(c);
        }
        let mut symbols = dim.symbols();
        match (symbols.next().and_then(|s| s.as_index()), symbols.next()) {
            (Some(d), None) if *dim == Dim::index(d) => Position::Index(d as usize),
            _ => Position::Any(dim.clone()),
        }
    }

    fn step(&self, plan: &Plan, node: &Expr) -> Result<Step, InterpretError> {
        Ok(match node {
            Expr::Const(c) => Step::Fixed(*c),
            Expr::Number(n) => Step::Fixed(plan.numbers[*n as usize]),
            Expr::Size(dim) => Step::Size(self.position(dim)),
            Expr::Read { source, at } => {
                Step::Read(*source, at.iter().map(|dim| self.position(dim)).collect())
            }
            Expr::Map { op, args } => Step::Map(*op, args.iter().map(|arg| self.slots[arg]).collect()),
            Expr::Reduce { .. } | Expr::Call { .. } => {
                panic!("interpret: {} has a reduction or a call below its root", self.id)
            }
        })
    }

    fn locate(&self, position: &Position, index: &[i64]) -> Result<i64, DimError> {
        match position {
            Position::Index(d) => Ok(index[*d]),
            Position::Fixed(c) => Ok(*c),
            Position::Any(dim) => dim.eval(&|symbol| match symbol.as_index() {
                Some(d) => index.get(d as usize).copied(),
                None => (self.value)(symbol),
            }),
        }
    }

    /// Evaluates all steps at one position.
    fn run(&self, index: &[i64], registers: &mut [Scalar]) -> Result<(), InterpretError> {
        for (slot, step) in self.steps.iter().enumerate() {
            registers[slot] = match step {
                Step::Fixed(c) => *c,
                Step::Size(position) => Scalar::I64(self.locate(position, index)?),
                Step::Read(source, at) => {
                    let values = &self.sources[source];
                    let mut offset = 0;
                    for (position, &extent) in at.iter().zip(&values.shape) {
                        let position = self.locate(position, index)?;
                        let inside = usize::try_from(position).ok().filter(|&p| p < extent);
                        let outside = InterpretError::OutOfBounds { query: self.id, position, extent };
                        offset = offset * extent + inside.ok_or(outside)?;
                    }
                    values.items[offset]
                }
                Step::Map(op, args) => {
                    let args: Vec<Scalar> = args.iter().map(|&slot| registers[slot]).collect();
                    expand(&mut Evaluator, *op, &args)
                }
            };
        }
        Ok(())
    }

    /// All terms of a reduction at one position, combined as its tree says.
    fn reduce(
        &self,
        plan: &Plan,
        root: &RootReduce,
        dtype: DType,
        index: &mut Vec<i64>,
        registers: &mut [Scalar],
    ) -> Result<Scalar, InterpretError> {
        let extent = root.extent.eval(self.value)?.max(0);
        let rank = index.len();
        let factors = match plan.arena.node(root.body) {
            Expr::Map { op: Op::Mul, args } => Some([self.slots[&args[0]], self.slots[&args[1]]]),
            Expr::Map { .. }
            | Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => None,
        };
        let body = self.slots[&root.body];
        let fold = Fold { op: root.op, dtype };
        let mut terms: Vec<Scalar> = Vec::new();
        let mut contraction = Contraction::new(dtype);
        for k in 0..extent {
            index.truncate(rank);
            index.push(k);
            self.run(index, registers)?;
            match (root.tree, factors) {
                (Tree::Contract, Some([a, b])) if dtype.is_float() => {
                    contraction.add(registers[a], registers[b])
                }
                (Tree::Contract, None) if dtype.is_float() => {
                    contraction.add(registers[body], Scalar::one(dtype))
                }
                (Tree::Row | Tree::Col | Tree::Contract | Tree::Chain, _) => terms.push(registers[body]),
            }
        }
        if extent == 0 {
            return Ok(root.op.empty_or_any(dtype));
        }
        Ok(match root.tree {
            Tree::Contract if dtype.is_float() => contraction.total(),
            Tree::Row => fold.row(&terms),
            Tree::Col | Tree::Contract => fold.col(&terms),
            Tree::Chain => fold.known(fold.chain(&terms)),
        })
    }
}

/// How values of one dtype combine. A partial result of no value is `None`, unless the operator starts from its identity.
#[derive(Clone, Copy)]
struct Fold {
    op: ReduceOp,
    dtype: DType,
}

impl Fold {
    fn combine(self, a: Scalar, b: Scalar) -> Scalar {
        expand(&mut Evaluator, self.op.op(), &[a, b])
    }

    /// [`Tree::Chain`].
    fn chain<'t>(self, terms: impl IntoIterator<Item = &'t Scalar>) -> Option<Scalar> {
        let extend = |total: Option<Scalar>, term: &Scalar| {
            Some(total.map_or(*term, |total| self.combine(total, *term)))
        };
        terms.into_iter().fold(self.op.start(self.dtype), extend)
    }

    fn halves(self, mut partial: Vec<Option<Scalar>>) -> Option<Scalar> {
        let both = |a: Option<Scalar>, b: Option<Scalar>| match (a, b) {
            (Some(a), Some(b)) => Some(self.combine(a, b)),
            (one, other) => one.or(other),
        };
        fold_halves(&mut partial, both).flatten()
    }

    fn known(self, total: Option<Scalar>) -> Scalar {
        total.unwrap_or_else(|| self.op.empty_or_any(self.dtype))
    }

    /// [`Tree::Row`].
    fn row(self, terms: &[Scalar]) -> Scalar {
        let lanes = row_lanes(self.dtype) as usize;
        if terms.len() < lanes {
            return self.known(self.chain(terms));
        }
        let block = |block: &[Scalar]| {
            self.halves((0..lanes).map(|l| self.chain(block.iter().skip(l).step_by(lanes))).collect())
        };
        self.known(self.halves(terms.chunks(BLOCK as usize).map(block).collect()))
    }

    /// [`Tree::Col`].
    fn col(self, terms: &[Scalar]) -> Scalar {
        self.known(self.halves(terms.chunks(BLOCK as usize).map(|block| self.chain(block)).collect()))
    }
}

/// [`Tree::Contract`] on floats.
struct Contraction {
    total: Scalar,
    block: Scalar,
    terms: i64,
    zero: Scalar,
}

impl Contraction {
    fn new(dtype: DType) -> Contraction {
        let zero = Scalar::zero(dtype);
        Contraction { total: zero, block: zero, terms: 0, zero }
    }

    fn add(&mut self, a: Scalar, b: Scalar) {
        self.block = match (a, b, self.block) {
            (Scalar::F32(a), Scalar::F32(b), Scalar::F32(c)) => Scalar::F32(a.mul_add(b, c)),
            (Scalar::F64(a), Scalar::F64(b), Scalar::F64(c)) => Scalar::F64(a.mul_add(b, c)),
            other => panic!("interpret: a float contraction of {other:?}"),
        };
        self.terms += 1;
        if self.terms == CONTRACT_BLOCK {
            self.close();
        }
    }

    fn close(&mut self) {
        let block = std::mem::replace(&mut self.block, self.zero);
        self.total = eval_binary(BinOp::Add, self.total, block);
        self.terms = 0;
    }

    fn total(mut self) -> Scalar {
        if self.terms > 0 {
            self.close();
        }
        self.total
    }
}

#[cfg(test)]
mod tests;
