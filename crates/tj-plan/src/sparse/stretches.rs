//! Elementwise queries over tensors that keep runs.
//!
//! Such a query has one value wherever none of its arguments changes. So it is the same expression on one axis, that of
//! stretches: every argument is a vector with its value on each of them, and numbers stay numbers. The stretches are found
//! when the program runs ([`tj_tensor::Stretches`]), and their number is a size, so that other runs are the same code. What
//! depends on coordinates, or reads anything that is not kept in runs of the same dimension, is no such query.
//!
//! Such an expression may be folded along its runs ([`Fold`]): a sum takes each value times the length of its stretch, the
//! greatest takes it once. What is not stored is one more stretch of each fiber, so that the fill counts as often as it is there.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprArena, ExprId, InputDecl, Op, ReduceOp, Symbol, Tree};
use tj_tensor::{DType, Format, Scalar, Width};

use super::copy::copy;
use super::space::spaces;
use super::steps::{StepProgram, steps};
use super::write::Writer;
use super::{Nest, StoredInput, plain};
use crate::plan::{Plan, Produces, Query, QueryId};

/// One query over arguments that change at few places.
#[derive(Clone, Debug)]
pub struct Stretched {
    /// Vectors of values by stretches, and numbers of rank 0; one query, whose only axis is the last symbol.
    pub plan: Plan,
    /// The fill of the result, if the program alone says what it is.
    pub fill: Option<Scalar>,
    /// What becomes of the values, if they are folded along the runs.
    pub fold: Option<Fold>,
}

/// A reduction of values by stretches. The last input of the program is the length of each stretch.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Folds the lists of values by fiber, its only argument.
    pub nest: Nest,
    /// What changes nothing: the fill of these lists.
    pub start: Scalar,
}

/// What is asked of queries.
pub(super) struct Question<'q> {
    pub plan: &'q Plan,
    /// How a source is stored, if it is by levels.
    pub stored: &'q dyn Fn(Source) -> Option<&'q StoredInput>,
    /// Whether a query is read as a result, and not written into what reads it.
    pub is_kept: &'q dyn Fn(QueryId) -> bool,
}

/// A query that is computed by stretches.
pub(super) struct Found {
    arena: ExprArena,
    /// What is computed of each stretch.
    body: ExprId,
    /// The reduction of it, and the dimensions of the arguments in the order of their levels.
    reduced: Option<(ReduceOp, Dim, Vec<usize>)>,
    /// What it reads, each once.
    pub sources: Vec<Source>,
    /// The fill, if the program alone says what it is.
    pub fill: Option<Scalar>,
    /// How the result is stored, if it is not folded.
    pub format: Format,
}

impl Question<'_> {
    /// The query as it stands.
    pub fn alone(&self, id: QueryId) -> Option<Found> {
        self.accepted(id, self.written(id, &[])?)
    }

    /// The query with what it reads written in, as far as that is elementwise and does not grow too large.
    pub fn find(&self, id: QueryId) -> Option<Found> {
        let (mut inline, mut best) = (Vec::new(), None);
        while let Some((arena, body)) = self.written(id, &inline) {
            let next = arena.reachable(&[body]).into_iter().filter_map(|node| match arena.node(node) {
                Expr::Read { source: Source::Def(q), at } if !at.is_empty() => Some(QueryId(*q)),
                Expr::Read { .. }
                | Expr::Const(_)
                | Expr::Number(_)
                | Expr::Size(_)
                | Expr::Map { .. }
                | Expr::Reduce { .. }
                | Expr::Call { .. } => None,
            });
            let before = inline.len();
            let next: Vec<QueryId> = next.filter(|&q| self.is_elementwise(q) && !(self.is_kept)(q)).collect();
            next.into_iter().for_each(|q| {
                if !inline.contains(&q) {
                    inline.push(q)
                }
            });
            best = self.accepted(id, (arena, body)).or(best);
            if inline.len() == before {
                break;
            }
        }
        best
    }

    fn is_elementwise(&self, id: QueryId) -> bool {
        self.plan.root_reduce(id).is_none() && self.plan.root_call(id).is_none()
    }

    fn written(&self, id: QueryId, inline: &[QueryId]) -> Option<(ExprArena, ExprId)> {
        if self.plan.root_call(id).is_some() {
            return None;
        }
        let mut writer = Writer::new(self.plan);
        let body = *writer.queries(&[id], &|q| inline.contains(&q))?.first()?;
        Some((writer.arena, body))
    }

    fn accepted(&self, id: QueryId, (arena, body): (ExprArena, ExprId)) -> Option<Found> {
        let shape = &self.plan.query(id).shape;
        let (reduced, body) = if let Expr::Reduce { op, extent, body, .. } = arena.node(body) {
            (is_foldable(*op).then(|| (*op, extent.clone())), *body)
        } else {
            (None, body)
        };
        if reduced.is_none() && (shape.is_empty() || self.plan.root_reduce(id).is_some()) {
            return None;
        }
        // The shape of arguments, and the index of each of their axes: that of the reduction is the last.
        let axes = |axis: usize| match &reduced {
            None => (0..shape.len()).map(|at| (at, shape[at].clone())).collect(),
            Some((_, extent)) => {
                let mut axes: Vec<(usize, Dim)> = shape.iter().cloned().enumerate().collect();
                axes.insert(axis.min(shape.len()), (shape.len(), extent.clone()));
                axes
            }
        };
        let mut sources: Vec<Source> = Vec::new();
        let mut formats: Vec<&Format> = Vec::new();
        for node in arena.reachable(&[body]) {
            match arena.node(node) {
                Expr::Const(_) | Expr::Number(_) | Expr::Map { .. } => {}
                Expr::Size(dim) if dim.symbols().all(|symbol| symbol.as_index().is_none()) => {}
                Expr::Read { source, at } => {
                    if !at.is_empty() {
                        let format = &(self.stored)(*source)?.format;
                        let order = format.stretched()?;
                        let axes = axes(*order.last()?);
                        let read = at.iter().zip(self.plan.shape_of(*source));
                        let is_own = at.len() == axes.len()
                            && read.zip(&axes).all(|((at, extent), (index, of_axis))| {
                                plain(at) == Some(*index as u32) && extent == of_axis
                            });
                        if !is_own || formats.first().is_some_and(|first| first.stretched() != Some(order)) {
                            return None;
                        }
                        formats.push(format);
                    }
                    if !sources.contains(source) {
                        sources.push(*source);
                    }
                }
                Expr::Size(_) | Expr::Reduce { .. } | Expr::Call { .. } => return None,
            }
        }
        let order = formats.first()?.stretched()?;
        let format = Format::of_stretches(formats)?;
        let reduced = reduced.map(|(op, extent)| (op, extent, order));
        let fill_of = |source: Source| (self.stored)(source).map(|stored| stored.fill);
        let fill = spaces(&arena, body, &fill_of)[&body].fill;
        Some(Found { arena, body, reduced, sources, fill, format })
    }
}

impl Found {
    /// Whether it is folded along its runs.
    pub fn is_folded(&self) -> bool {
        self.reduced.is_some()
    }

    /// The program; `declared` says what a source is as an argument. `None` if its values cannot be folded by a nest.
    pub fn program(
        &self,
        plan: &Plan,
        id: QueryId,
        declared: &dyn Fn(Source) -> InputDecl,
    ) -> Option<Stretched> {
        let count = Symbol::fresh(plan.first_fresh(), 1..).expect("a range without an end is one");
        let axis = || SmallVec::from_iter([Dim::symbol(&count)]);
        let mut inputs: Vec<InputDecl> = self
            .sources
            .iter()
            .map(|&source| {
                let input = declared(source);
                let shape = if input.shape.is_empty() { SmallVec::new() } else { axis() };
                InputDecl { shape, data: None, ..input }
            })
            .collect();
        let mut arena = ExprArena::new();
        let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        copy(&self.arena, &mut arena, &mut new, &[self.body], &mut |node| {
            let Expr::Read { source, at } = self.arena.node(node) else { return None };
            let place = self.sources.iter().position(|known| known == source).unwrap_or(0);
            let at = at.iter().take(1).map(|_| Dim::index(0)).collect();
            Some(Expr::Read { source: Source::Input(place as u32), at })
        });
        let query = plan.query(id);
        let mut body = new[&self.body];
        let mut fold = None;
        if let Some((op, extent, order)) = &self.reduced {
            let start = op.start(query.dtype)?;
            let len = arena.intern(
                Expr::Read {
                    source: Source::Input(inputs.len() as u32),
                    at: SmallVec::from_iter([Dim::index(0)]),
                },
                DType::I64,
            );
            inputs.push(InputDecl { name: None, dtype: DType::I64, shape: axis(), data: None });
            body = times(&mut arena, *op, body, len, query.dtype, start);
            fold = Some(Fold { nest: nest(plan, query, *op, extent, order, start)?, start });
        }
        let query = Query { body, shape: axis(), ..query.clone() };
        let symbols = plan.symbols.iter().cloned().chain([count.clone()]).collect();
        let plan = Plan {
            arena,
            inputs,
            queries: vec![query],
            produces: Produces(vec![Source::Def(0)]),
            guards: Vec::new(),
            symbols,
            numbers: plan.numbers.clone(),
        };
        Some(Stretched { plan, fill: self.fill, fold })
    }
}

/// Whether a reduction over equal values follows from their number.
fn is_foldable(op: ReduceOp) -> bool {
    matches!(op, ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min | ReduceOp::And | ReduceOp::Or)
}

/// What a reduction gives over `len` values; over none, what changes nothing.
fn times(
    arena: &mut ExprArena,
    op: ReduceOp,
    value: ExprId,
    len: ExprId,
    dtype: DType,
    start: Scalar,
) -> ExprId {
    let cast = |arena: &mut ExprArena, value: ExprId, to: DType| match arena.dtype(value) == to {
        true => value,
        false => arena.map(Op::Cast(to), SmallVec::from_iter([value])),
    };
    let mut all = cast(arena, value, dtype);
    if op == ReduceOp::Sum {
        // Lengths are not rounded where that can be helped.
        let wide = if dtype == DType::F32 { DType::F64 } else { dtype };
        let (value, len) = (cast(arena, all, wide), cast(arena, len, wide));
        let product = arena.map(Op::Mul, SmallVec::from_iter([value, len]));
        all = cast(arena, product, dtype);
    }
    let none = arena.intern(Expr::Const(Scalar::I64(0)), DType::I64);
    let is_none = arena.map(Op::Equal, SmallVec::from_iter([len, none]));
    let start = arena.intern(Expr::Const(start), dtype);
    arena.map(Op::Where, SmallVec::from_iter([is_none, start, all]))
}

/// Folds lists by fiber, whose dimensions are those of the levels.
fn nest(
    plan: &Plan,
    query: &Query,
    op: ReduceOp,
    extent: &Dim,
    order: &[usize],
    start: Scalar,
) -> Option<Nest> {
    let (&axis, above) = order.split_last()?;
    let of_result = |dim: usize| if dim > axis { dim - 1 } else { dim };
    let index = query.shape.len() as u32;
    // The stretches of a fiber, and its gaps.
    let longest = extent + 1;
    let at: Indices =
        above.iter().map(|&dim| Dim::index(of_result(dim) as u32)).chain([Dim::index(index)]).collect();
    let shape =
        above.iter().map(|&dim| query.shape[of_result(dim)].clone()).chain([longest.clone()]).collect();
    let mut arena = ExprArena::new();
    let read = arena.intern(Expr::Read { source: Source::Input(0), at }, query.dtype);
    let reduce =
        Expr::Reduce { op, tree: Tree::Row, index: Symbol::index(index), extent: longest, body: read };
    let body = arena.intern(reduce, query.dtype);
    let plan = Plan {
        arena,
        inputs: vec![InputDecl { name: None, dtype: query.dtype, shape, data: None }],
        queries: vec![Query { body, ..query.clone() }],
        produces: Produces(vec![Source::Def(0)]),
        guards: Vec::new(),
        symbols: plan.symbols.clone(),
        numbers: plan.numbers.clone(),
    };
    let format = Format::of_lists(order.len()).ok()?;
    let lists = StoredInput {
        format,
        fill: start,
        is_hypersparse: false,
        width: Width::U64,
        may_store_fill: true,
        entries: None,
    };
    // Without a fill, so that the result is dense.
    let mut steps = steps(&plan, &[Some(lists)], &[None], &[], &crate::derive::Decided::default());
    match (steps.pop()?.program, steps.is_empty()) {
        (StepProgram::Nest(nest), true) => Some(*nest),
        _ => None,
    }
}
