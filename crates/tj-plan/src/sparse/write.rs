//! Writes queries into each other, reductions included.
//!
//! Reductions beside each other that run as far share an index, so that what both read is one read, and one loop may compute
//! both. A reduction that is nested in another one has an index of its own.

use rustc_hash::FxHashMap;
use tj_ir::dim::Ranges;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprArena, ExprId, Symbol};

use crate::plan::{Plan, QueryId};

/// How deep queries are written into each other, so that the walk may recurse.
const MAX_DEPTH: usize = 32;

/// Nodes of one nest.
const MAX_NODES: usize = 256;

/// An expression that grows.
pub(crate) struct Writer<'p> {
    plan: &'p Plan,
    pub arena: ExprArena,
    /// Of every index so far.
    pub ranges: Ranges,
    pub extents: Vec<Dim>,
    done: FxHashMap<(QueryId, Indices), Written>,
    /// The indices of the reductions around what is written.
    open: Vec<u32>,
    /// Indices of reductions, by what is around them and how far they run.
    beside: FxHashMap<(Vec<u32>, Dim), u32>,
}

/// A query that is written down, and the indices of reductions in it.
#[derive(Clone)]
struct Written {
    node: ExprId,
    indices: Vec<u32>,
}

impl<'p> Writer<'p> {
    pub fn new(plan: &'p Plan) -> Writer<'p> {
        Writer {
            plan,
            arena: ExprArena::new(),
            ranges: Ranges::new(),
            extents: Vec::new(),
            done: FxHashMap::default(),
            open: Vec::new(),
            beside: FxHashMap::default(),
        }
    }

    /// A new index that runs to `extent`.
    fn index(&mut self, extent: &Dim) -> u32 {
        let number = self.extents.len() as u32;
        self.ranges.set_extent(number, extent);
        self.extents.push(extent.clone());
        number
    }

    /// The bodies of queries of one shape at indices of their own, with the queries that `inline` names written in. `None` if
    /// they grow too large.
    pub fn queries(&mut self, ids: &[QueryId], inline: &dyn Fn(QueryId) -> bool) -> Option<Vec<ExprId>> {
        let shape = self.plan.query(*ids.first()?).shape.clone();
        let mut at = Indices::new();
        for extent in &shape {
            at.push(Dim::index(self.index(extent)));
        }
        ids.iter().map(|&id| Some(self.body(id, &at, inline, 0)?.node)).collect()
    }

    /// The index of a reduction over `extent` at the current place.
    fn reduced(&mut self, extent: &Dim) -> u32 {
        let place = (self.open.clone(), extent.clone());
        if let Some(&known) = self.beside.get(&place) {
            return known;
        }
        let number = self.index(extent);
        self.beside.insert(place, number);
        number
    }

    fn body(
        &mut self,
        id: QueryId,
        at: &Indices,
        inline: &dyn Fn(QueryId) -> bool,
        depth: usize,
    ) -> Option<Written> {
        // What a reduction around uses as its index is another one inside of it.
        if let Some(known) = self.done.get(&(id, at.clone()))
            && !known.indices.iter().any(|index| self.open.contains(index))
        {
            return Some(known.clone());
        }
        if depth > MAX_DEPTH || self.arena.len() > MAX_NODES {
            return None;
        }
        let mut at = at.clone();
        let plan = self.plan;
        let key = (id, at.clone());
        let mut indices = Vec::new();
        let around = self.open.len();
        if let Some(root) = plan.root_reduce(id) {
            let extent = self.composed(&root.extent, &at);
            let index = self.reduced(&extent);
            at.push(Dim::index(index));
            indices.push(index);
            self.open.push(index);
        }
        let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for node_id in plan.arena.reachable(&[plan.query(id).body]) {
            let dtype = plan.arena.dtype(node_id);
            let node = match plan.arena.node(node_id) {
                node @ (Expr::Const(_) | Expr::Number(_)) => node.clone(),
                Expr::Size(dim) => Expr::Size(self.checked(dim, &at)?),
                Expr::Read { source, at: inner } => {
                    let inner: Indices =
                        inner.iter().map(|dim| self.checked(dim, &at)).collect::<Option<_>>()?;
                    match *source {
                        Source::Def(q) if inline(QueryId(q)) => {
                            let written = self.body(QueryId(q), &inner, inline, depth + 1)?;
                            indices.extend(written.indices);
                            new.insert(node_id, written.node);
                            continue;
                        }
                        source @ (Source::Input(_) | Source::Def(_)) => Expr::Read { source, at: inner },
                    }
                }
                node @ Expr::Map { .. } => node.map_children(|child| new[&child]),
                Expr::Reduce { op, tree, extent, body, .. } => {
                    let number = at.last().and_then(super::plain)?;
                    let extent = self.composed(extent, &at);
                    let index = Symbol::index(number);
                    Expr::Reduce { op: *op, tree: *tree, index, extent, body: new[body] }
                }
                Expr::Call { .. } => return None,
            };
            let written = self.arena.intern(node, dtype);
            new.insert(node_id, written);
        }
        self.open.truncate(around);
        let written = Written { node: new[&plan.query(id).body], indices };
        self.done.insert(key, written.clone());
        Some(written)
    }

    fn checked(&self, dim: &Dim, at: &Indices) -> Option<Dim> {
        let dim = self.composed(dim, at);
        dim.check().is_ok().then_some(dim)
    }

    fn composed(&self, dim: &Dim, at: &Indices) -> Dim {
        crate::substitute::compose(dim, at, &self.ranges)
    }
}
