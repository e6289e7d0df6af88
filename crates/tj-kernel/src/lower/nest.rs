//! Nests: which queries of a group share loops, and the loops of one nest.

use tj_ir::expr::{Source, row_lanes};
use tj_ir::{Dim, Expr, ExprId, Tree};
use tj_plan::substitute::is_identity;
use tj_plan::{Group, Plan, QueryId};

use super::{Ctx, Local, Loop};
use crate::ir::{LoopKind, Value};

/// Queries that are computed by the same loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nest {
    pub queries: Vec<QueryId>,
    /// The reduction of those that reduce. Maps stand beside row reductions only, as elements of the reduced rows.
    pub reduce: Option<(Tree, Dim)>,
}

/// Most reductions that share a loop: each needs accumulators.
const MAX_REDUCTIONS: usize = 4;

/// The nests of a group, in order; `skip` queries at its head are computed in another way. A query goes to the
/// latest nest that has its loops and no producer of it behind: there its readers are nearest.
pub(super) fn nests(plan: &Plan, group: &Group, skip: usize) -> Vec<Nest> {
    let mut nests: Vec<Nest> = Vec::new();
    for &id in &group.queries[skip..] {
        let reads = plan.reads(id);
        let producer = |nest: &Nest| {
            nest.queries.iter().any(|q| reads.iter().any(|(_, source)| *source == Source::Def(q.0)))
        };
        let first = nests.iter().rposition(producer).unwrap_or(0);
        let reduce = plan.root_reduce(id).map(|r| (r.tree, r.extent));
        match nests[first..].iter_mut().rev().find(|nest| may_join(plan, nest, id, reduce.as_ref(), &reads)) {
            Some(nest) => {
                nest.queries.push(id);
                nest.reduce = nest.reduce.take().or(reduce);
            }
            None => nests.push(Nest { queries: vec![id], reduce }),
        }
    }
    nests
}

/// Whether a query can be computed in the loops of a nest: over the same elements, using maps of the nest where they
/// stand and its reductions not at all.
fn may_join(
    plan: &Plan,
    nest: &Nest,
    id: QueryId,
    reduce: Option<&(Tree, Dim)>,
    reads: &[(ExprId, Source)],
) -> bool {
    let reductions = nest.reductions(plan);
    let alike = match (&nest.reduce, reduce) {
        (None, None) => true,
        (Some(ours), Some(its)) => {
            let same_lanes = row_lanes(plan.query(id).dtype) == row_lanes(plan.query(reductions[0]).dtype);
            ours == its && same_lanes && reductions.len() < MAX_REDUCTIONS
        }
        (Some((tree, _)), None) | (None, Some((tree, _))) => *tree == Tree::Row,
    };
    alike
        && same_elements(plan, id, nest.queries[0])
        && reads.iter().all(|(node, source)| match (plan.arena.node(*node), source) {
            (Expr::Read { at, .. }, Source::Def(q)) if nest.queries.contains(&QueryId(*q)) => {
                is_identity(at) && !reductions.contains(&QueryId(*q))
            }
            _ => true,
        })
}

/// Whether two queries run over the same: their own elements, or those of the rows that they reduce.
fn same_elements(plan: &Plan, a: QueryId, b: QueryId) -> bool {
    let row = |id| plan.root_reduce(id).filter(|root| root.tree == Tree::Row).map(|root| root.extent);
    let (a_row, b_row) = (row(a), row(b));
    let (a_shape, b_shape) = (&plan.query(a).shape, &plan.query(b).shape);
    a_shape.iter().chain(&a_row).eq(b_shape.iter().chain(&b_row))
}

impl Nest {
    /// Its queries that reduce.
    pub(super) fn reductions(&self, plan: &Plan) -> Vec<QueryId> {
        self.queries.iter().copied().filter(|&id| plan.root_reduce(id).is_some()).collect()
    }

    /// Its other queries.
    pub(super) fn maps(&self, plan: &Plan) -> Vec<QueryId> {
        self.queries.iter().copied().filter(|&id| plan.root_reduce(id).is_none()).collect()
    }
}

impl Ctx<'_> {
    /// Emits one nest at the current outer loops. `merged` are its loops if they are not the inner axes of its
    /// queries; `range` is the first loop with its own bounds, if the nest splits the task range.
    pub(super) fn nest(&mut self, nest: &Nest, merged: &[Loop], range: Option<(Loop, Value, Value)>) {
        let head = nest.reductions(self.plan).first().copied().unwrap_or(nest.queries[0]);
        self.set_ranges(head);
        let shape = &self.plan.query(head).shape;
        let mut loops: Vec<(Loop, Option<(Value, Value)>)> = match (&range, merged) {
            (Some((first, lo, hi)), _) => vec![(first.clone(), Some((*lo, *hi)))],
            (None, []) => (shape.iter().enumerate().skip(self.outer))
                .map(|(d, extent)| (Loop { index: d as u32, extent: extent.clone() }, None))
                .collect(),
            (None, merged) => merged.iter().map(|l| (l.clone(), None)).collect(),
        };
        let in_registers = loops.is_empty();
        self.declare_storage(nest, in_registers, range.is_some());
        let last = match nest.reduce {
            Some((Tree::Row, _)) => None,
            Some((Tree::Col | Tree::Contract | Tree::Chain, _)) | None => loops.pop(),
        };
        self.serial_loops(&loops, &mut |ctx| match &last {
            None => ctx.nest_body(nest, in_registers),
            Some((last, bounds)) => {
                let (lo, hi) = match bounds {
                    Some(bounds) => *bounds,
                    None => (ctx.b.int(0), ctx.size(&last.extent)),
                };
                if let Some((Tree::Col, extent)) = &nest.reduce
                    && ctx.share.folds(Tree::Col, extent).is_none()
                {
                    return ctx.columns(nest, extent, last, (lo, hi));
                }
                let lanes = row_lanes(ctx.plan.query(head).dtype) as u32;
                ctx.run_loop(LoopKind::Lanes(lanes), last.index, lo, hi, |ctx| ctx.nest_body(nest, false));
            }
        });
    }

    fn serial_loops(&mut self, loops: &[(Loop, Option<(Value, Value)>)], body: &mut dyn FnMut(&mut Self)) {
        let Some(((first, bounds), rest)) = loops.split_first() else { return body(self) };
        let (lo, hi) = match bounds {
            Some(bounds) => *bounds,
            None => (self.b.int(0), self.size(&first.extent)),
        };
        self.run_loop(LoopKind::Serial, first.index, lo, hi, |ctx| ctx.serial_loops(rest, body));
    }

    /// Gives each local query of the nest that is read from memory a row of scratch memory.
    fn declare_storage(&mut self, nest: &Nest, in_registers: bool, splits: bool) {
        for &id in &nest.queries {
            let element = nest.reduce.is_some() && self.plan.root_reduce(id).is_none();
            let in_register = in_registers && !element;
            if in_register || splits || !self.is_local(id) || !self.read_from_memory(nest, id) {
                continue;
            }
            let query = self.plan.query(id);
            let len = query.shape[self.outer..].iter().fold(Dim::from(1), |n, d| n * d.clone());
            let buffer = self.scratch(format!("row_{id}"), query.dtype, len);
            self.locals.insert(id, Local::Row(buffer));
        }
    }

    /// Whether a query of the group reads `id` where its value is not at hand: in another nest, or in a reduction
    /// of this one, which reads short rows once more.
    fn read_from_memory(&self, nest: &Nest, id: QueryId) -> bool {
        let elsewhere = |q: &&QueryId| !nest.queries.contains(q) || self.plan.root_reduce(**q).is_some();
        let mut readers = self.group.queries.iter().filter(elsewhere);
        readers.any(|&q| self.plan.reads(q).iter().any(|(_, source)| *source == Source::Def(id.0)))
    }

    /// The innermost part: values of all queries of the nest, kept where they are needed.
    fn nest_body(&mut self, nest: &Nest, in_registers: bool) {
        if nest.reduce.is_none() {
            self.maps(nest, &nest.queries, in_registers);
            self.here.clear();
            return;
        }
        let reductions = nest.reductions(self.plan);
        let results = self.reductions(nest, &reductions);
        for (&id, value) in reductions.iter().zip(results) {
            self.keep(nest, id, value, in_registers);
        }
    }

    /// Evaluates maps at the current loops; expressions find their values until `here` is cleared.
    pub(super) fn maps(&mut self, nest: &Nest, maps: &[QueryId], in_registers: bool) {
        self.here.clear();
        let mut values = Vec::with_capacity(maps.len());
        for &id in maps {
            let value = self.value(self.plan.query(id).body);
            self.here.insert(id, value);
            values.push(value);
        }
        for (&id, value) in maps.iter().zip(values) {
            self.keep(nest, id, value, in_registers);
        }
    }

    /// Puts the value of a query where it is read: into a register that later nests see, into memory, or both.
    pub(super) fn keep(&mut self, nest: &Nest, id: QueryId, value: Value, in_registers: bool) {
        if in_registers {
            self.locals.insert(id, Local::Value(value));
        }
        let stored = match self.locals.get(&id) {
            Some(Local::Row(_) | Local::Panel { .. }) => true,
            Some(Local::Value(_)) => !self.is_local(id),
            None => !self.is_local(id) || self.read_from_memory(nest, id),
        };
        if stored {
            let shape = &self.plan.query(id).shape;
            let at: Vec<Dim> = (0..shape.len()).map(|d| Dim::index(d as u32)).collect();
            let (buffer, index) = self.locate(Source::Def(id.0), &at);
            self.b.store(buffer, index, value);
        }
    }
}
