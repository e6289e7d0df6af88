//! Nests: which queries of a group share loops, and the loops of one nest.

use tj_ir::expr::{Source, row_lanes};
use tj_ir::{Dim, Expr, Tree};
use tj_plan::substitute::is_identity;
use tj_plan::{Group, Plan, QueryId};

use super::{Ctx, Local, Loop};
use crate::ir::{LoopKind, Value};

/// Queries that are computed by the same loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nest {
    pub queries: Vec<QueryId>,
    /// Their reduction, if they reduce.
    pub reduce: Option<(Tree, Dim)>,
}

/// Most reductions that share a loop: each needs accumulators.
const MAX_REDUCTIONS: usize = 4;

/// The nests of a group, in order; `skip` queries at its head are computed in another way.
pub(super) fn nests(plan: &Plan, group: &Group, skip: usize) -> Vec<Nest> {
    let mut nests: Vec<Nest> = Vec::new();
    for &id in &group.queries[skip..] {
        let reduce = plan.root_reduce(id).map(|r| (r.tree, r.extent));
        match nests.last_mut() {
            Some(nest) if nest.reduce == reduce && may_join(plan, nest, id) => nest.queries.push(id),
            _ => nests.push(Nest { queries: vec![id], reduce }),
        }
    }
    nests
}

/// Whether a query can be computed in the loops of a nest: same axes; maps may use each other's values where
/// they stand, reductions must not use each other at all.
fn may_join(plan: &Plan, nest: &Nest, id: QueryId) -> bool {
    let first = plan.query(nest.queries[0]);
    let query = plan.query(id);
    if query.shape != first.shape {
        return false;
    }
    let mut reads_nest = plan.reads(id).into_iter().filter(|(_, source)| match source {
        Source::Def(q) => nest.queries.contains(&QueryId(*q)),
        Source::Input(_) => false,
    });
    match nest.reduce {
        None => reads_nest.all(|(node, _)| match plan.arena.node(node) {
            Expr::Read { at, .. } => is_identity(at),
            Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Map { .. } | Expr::Reduce { .. } => {
                false
            }
        }),
        Some(_) => {
            let same_lanes = row_lanes(query.dtype) == row_lanes(first.dtype);
            same_lanes && nest.queries.len() < MAX_REDUCTIONS && reads_nest.next().is_none()
        }
    }
}

impl Ctx<'_> {
    /// Emits one nest at the current outer loops. `merged` are its loops if they are not the inner axes of its
    /// queries; `range` is the first loop with its own bounds, if the nest splits the task range.
    pub(super) fn nest(&mut self, nest: &Nest, merged: &[Loop], range: Option<(Loop, Value, Value)>) {
        let shape = &self.plan.query(nest.queries[0]).shape;
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
            Some((Tree::Col | Tree::Contract, _)) | None => loops.pop(),
        };
        self.serial_loops(&loops, &mut |ctx| match &last {
            None => ctx.nest_body(nest, in_registers),
            Some((last, bounds)) => {
                let (lo, hi) = match bounds {
                    Some(bounds) => *bounds,
                    None => (ctx.b.int(0), ctx.size(&last.extent)),
                };
                let lanes = row_lanes(ctx.plan.query(nest.queries[0]).dtype) as u32;
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

    /// Gives each local query of the nest that later nests read a row of scratch memory.
    fn declare_storage(&mut self, nest: &Nest, in_registers: bool, splits: bool) {
        for &id in &nest.queries {
            if in_registers || splits || !self.is_local(id) || !self.read_later(nest, id) {
                continue;
            }
            let query = self.plan.query(id);
            let len = query.shape[self.outer..].iter().fold(Dim::from(1), |n, d| n * d.clone());
            let buffer = self.scratch(format!("row_{id}"), query.dtype, len);
            self.locals.insert(id, Local::Row(buffer));
        }
    }

    /// Whether a query of the group outside of `nest` reads `id`.
    fn read_later(&self, nest: &Nest, id: QueryId) -> bool {
        let others = self.group.queries.iter().filter(|q| !nest.queries.contains(q));
        others.into_iter().any(|&q| self.plan.reads(q).iter().any(|(_, source)| *source == Source::Def(id.0)))
    }

    /// The innermost part: values of all queries of the nest, stored where they are needed.
    fn nest_body(&mut self, nest: &Nest, in_registers: bool) {
        let plan = self.plan;
        self.here.clear();
        let results: Vec<Value> = match nest.reduce {
            None => {
                let mut results = Vec::new();
                for &id in &nest.queries {
                    let value = self.value(plan.query(id).body);
                    self.here.insert(id, value);
                    results.push(value);
                }
                results
            }
            Some(_) => self.reductions(&nest.queries),
        };
        self.here.clear();
        for (&id, value) in nest.queries.iter().zip(results) {
            if in_registers {
                self.locals.insert(id, Local::Value(value));
            }
            let stored = match self.locals.get(&id) {
                Some(Local::Row(_) | Local::Panel { .. }) => true,
                Some(Local::Value(_)) => !self.is_local(id),
                None => !self.is_local(id) || self.read_later(nest, id),
            };
            if stored {
                let shape = &plan.query(id).shape;
                let at: Vec<Dim> = (0..shape.len()).map(|d| Dim::index(d as u32)).collect();
                let (buffer, index) = self.locate(Source::Def(id.0), &at);
                self.b.store(buffer, index, value);
            }
        }
    }
}
