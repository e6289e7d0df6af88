//! Elementwise queries over tensors that keep runs.
//!
//! Such a query has one value wherever none of its arguments changes. So it is the same expression on one axis, that of
//! stretches: every argument is a vector with its value on each of them, and numbers stay numbers. The stretches are found
//! when the program runs ([`tj_tensor::Stretches`]), and their number is a size, so that other runs are the same code. What
//! depends on coordinates, or reads anything that is not kept in runs of the same dimension, is no such query.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId, InputDecl, Symbol};
use tj_tensor::{Format, Scalar};

use super::space::spaces;
use super::write::Writer;
use super::{StoredInput, plain};
use crate::plan::{Plan, Produces, Query, QueryId};

/// One query over arguments that change at few places.
#[derive(Clone, Debug)]
pub struct Stretched {
    /// Vectors of values by stretches, and numbers of rank 0; one query, whose only axis is the last symbol.
    pub plan: Plan,
    /// The fill of the result, if the program alone says what it is.
    pub fill: Option<Scalar>,
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
    body: ExprId,
    /// What it reads, each once.
    pub sources: Vec<Source>,
    /// The fill, if the program alone says what it is.
    pub fill: Option<Scalar>,
    /// How the result is stored.
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
        if !self.is_elementwise(id) || self.plan.query(id).shape.is_empty() {
            return None;
        }
        let mut writer = Writer::new(self.plan);
        let body = writer.query(id, &|q| inline.contains(&q))?;
        Some((writer.arena, body))
    }

    fn accepted(&self, id: QueryId, (arena, body): (ExprArena, ExprId)) -> Option<Found> {
        let shape = &self.plan.query(id).shape;
        let mut sources: Vec<Source> = Vec::new();
        let mut formats: Vec<&Format> = Vec::new();
        for node in arena.reachable(&[body]) {
            match arena.node(node) {
                Expr::Const(_) | Expr::Number(_) | Expr::Map { .. } => {}
                Expr::Size(dim) if dim.symbols().all(|symbol| symbol.as_index().is_none()) => {}
                Expr::Read { source, at } => {
                    if !at.is_empty() {
                        let format = &(self.stored)(*source)?.format;
                        let is_own = at.iter().enumerate().all(|(axis, dim)| plain(dim) == Some(axis as u32));
                        let order = format.stretched()?;
                        if !is_own
                            || self.plan.shape_of(*source) != shape
                            || formats.first().is_some_and(|first| first.stretched() != Some(order))
                        {
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
        let format = Format::of_stretches(formats)?;
        let fill_of = |source: Source| (self.stored)(source).map(|stored| stored.fill);
        let fill = spaces(&arena, body, &fill_of)[&body].fill;
        Some(Found { arena, body, sources, fill, format })
    }
}

impl Found {
    /// The program; `declared` says what a source is as an argument.
    pub fn program(&self, plan: &Plan, id: QueryId, declared: &dyn Fn(Source) -> InputDecl) -> Stretched {
        let count = Symbol::fresh(plan.first_fresh(), 1..).expect("a range without an end is one");
        let axis = || SmallVec::from_iter([Dim::symbol(&count)]);
        let inputs = self.sources.iter().map(|&source| {
            let input = declared(source);
            let shape = if input.shape.is_empty() { SmallVec::new() } else { axis() };
            InputDecl { shape, data: None, ..input }
        });
        let mut arena = ExprArena::new();
        let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in self.arena.reachable(&[self.body]) {
            let node = match self.arena.node(id) {
                Expr::Read { source, at } => {
                    let place = self.sources.iter().position(|known| known == source).unwrap_or(0);
                    let at = at.iter().take(1).map(|_| Dim::index(0)).collect();
                    Expr::Read { source: Source::Input(place as u32), at }
                }
                node @ (Expr::Const(_)
                | Expr::Number(_)
                | Expr::Size(_)
                | Expr::Map { .. }
                | Expr::Reduce { .. }
                | Expr::Call { .. }) => node.map_children(|child| new[&child]),
            };
            let written = arena.intern(node, self.arena.dtype(id));
            new.insert(id, written);
        }
        let query = Query { body: new[&self.body], shape: axis(), ..plan.query(id).clone() };
        let symbols = plan.symbols.iter().cloned().chain([count.clone()]).collect();
        let plan = Plan {
            arena,
            inputs: inputs.collect(),
            queries: vec![query],
            produces: Produces(vec![Source::Def(0)]),
            guards: Vec::new(),
            symbols,
            numbers: plan.numbers.clone(),
        };
        Stretched { plan, fill: self.fill }
    }
}
