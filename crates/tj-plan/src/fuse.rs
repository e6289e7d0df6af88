//! Applies a grouping and proves that it is legal.
//!
//! Needs *canonical*, gives *fused*. Expressions of inlined queries are written into their readers; the others are
//! laid into groups, one a kernel. Every decision is checked, whoever made it:
//!
//! * an inlined query has no reduction and no call, is not produced (a reduction is never computed twice), and is not
//!   given to a function of whole tensors;
//! * every other query is in exactly one group, and reads only inputs, earlier groups and earlier queries of its
//!   own group;
//! * the queries of a group agree in their `outer` leading sizes, and read each other at the same outer position;
//! * queries that share a kernel share an outer axis, along which tasks are cut, unless all are scalars; and all axes
//!   but the last if a dense contraction heads the group, since a library call gives whole rows;
//! * the results of a call share a kernel with other results of the same call only;
//! * no composed index map outgrows the limits of a [`Dim`].
//!
//! So groups in order are a schedule, and contracting them can make no cycle.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use tj_ir::expr::Source;
use tj_ir::text::counted;
use tj_ir::{Dim, Expr, ExprArena, ExprId, Tree};

use crate::group::is_dense_contraction;
use crate::plan::{Plan, Produces, Query, QueryId};
use crate::scheduler::{Grouping, Reason};
use crate::simplify::simplify_node;
use crate::substitute::{Memo, ranges_of, rename, substitute};

/// A plan whose queries are grouped into kernels.
#[derive(Clone, Debug)]
pub struct Fused {
    /// The plan; every query is computed by some group.
    pub plan: Plan,
    /// Kernels in order.
    pub groups: Vec<Group>,
    /// For each query, which of the canonical plan it was: what is inlined is gone, and the others are numbered anew.
    pub origins: Vec<QueryId>,
    /// Why, for `explain`; named by the queries of the canonical plan.
    pub reasons: Vec<Reason>,
}

/// The queries of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// In order.
    pub queries: Vec<QueryId>,
    /// How many leading axes are outer loops that all queries share.
    pub outer: usize,
    /// For each query, whether nothing outside the group needs it.
    pub local: Vec<bool>,
}

/// A decision that would change the meaning of the plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal grouping of {query}: {problem}")]
pub struct IllegalGrouping {
    /// The query.
    pub query: QueryId,
    /// What is wrong.
    pub problem: String,
}

/// Applies `grouping` to a canonical plan.
///
/// # Errors
/// The first decision that is not legal.
pub fn fuse(plan: &Plan, grouping: &Grouping) -> Result<Fused, IllegalGrouping> {
    let illegal =
        |query: QueryId, problem: &dyn fmt::Display| IllegalGrouping { query, problem: problem.to_string() };
    let inline = |id: QueryId| grouping.inline[id.index()];

    if grouping.inline.len() != plan.queries.len() {
        let (found, wanted) = (grouping.inline.len(), plan.queries.len());
        let problem = format!("{found} decisions about inlining for {wanted} queries");
        return Err(illegal(QueryId(found.min(wanted) as u32), &problem));
    }
    let produced = plan.produced();
    let mut arena = ExprArena::new();
    let mut bodies: Vec<Option<ExprId>> = vec![None; plan.queries.len()];
    for id in plan.query_ids() {
        let is_whole = plan.root_reduce(id).is_some() || plan.root_call(id).is_some();
        if inline(id) && (is_whole || produced[id.index()]) {
            return Err(illegal(id, &"a reduction, a call or a product is never written into its readers"));
        }
        if let Some(call) = plan.root_call(id) {
            let inlined =
                |source: &Source| if let Source::Def(q) = source { inline(QueryId(*q)) } else { false };
            if call.args.iter().any(inlined) {
                return Err(illegal(id, &format!("{} reads what is stored only", call.function.name())));
            }
        }
        let body = write_in(plan, &mut arena, &bodies, id, &inline);
        let body = body.ok_or_else(|| illegal(id, &"an index map composed by inlining is too large"))?;
        bodies[id.index()] = Some(body);
    }

    // Groups give the new order.
    let mut new_id: FxHashMap<QueryId, (QueryId, usize)> = FxHashMap::default();
    let mut order: Vec<QueryId> = Vec::new();
    for (g, group) in grouping.groups.iter().enumerate() {
        for &id in &group.queries {
            if id.index() >= plan.queries.len() {
                return Err(illegal(id, &"there is no such query"));
            }
            if inline(id) || new_id.insert(id, (QueryId(order.len() as u32), g)).is_some() {
                return Err(illegal(id, &"it is inlined, or in two groups"));
            }
            order.push(id);
        }
    }
    if let Some(id) = plan.query_ids().find(|id| !inline(*id) && !new_id.contains_key(id)) {
        return Err(illegal(id, &"it is in no group"));
    }

    let mut fused = Plan {
        arena: ExprArena::new(),
        inputs: plan.inputs.clone(),
        queries: Vec::with_capacity(order.len()),
        produces: Produces::default(),
        guards: plan.guards.clone(),
        symbols: plan.symbols.clone(),
        numbers: plan.numbers.clone(),
    };
    let mut renamed: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for &id in &order {
        let body = bodies[id.index()].expect("every query has a body by now");
        let body = rename(&arena, &mut fused.arena, &mut renamed, body, &|q| new_id[&QueryId(q)].0.0);
        fused.queries.push(Query { body, ..plan.query(id).clone() });
    }
    fused.produces = Produces(
        plan.produces
            .0
            .iter()
            .map(|source| match *source {
                Source::Def(q) => Source::Def(new_id[&QueryId(q)].0.0),
                input @ Source::Input(_) => input,
            })
            .collect(),
    );

    let groups = check_groups(&fused, grouping, &order, &new_id)?;
    Ok(Fused { plan: fused, groups, origins: order, reasons: grouping.reasons.clone() })
}

/// The body of `id` in the new arena (still with old names), with inlined reads replaced. `None` if an index map
/// outgrows the limits of a [`Dim`].
fn write_in(
    plan: &Plan,
    arena: &mut ExprArena,
    bodies: &[Option<ExprId>],
    id: QueryId,
    inline: &dyn Fn(QueryId) -> bool,
) -> Option<ExprId> {
    let query = plan.query(id);
    let root = plan.root_reduce(id);
    let product = root.as_ref().and_then(|r| (r.tree == Tree::Contract).then_some(r.body));
    let ranges = ranges_of(&query.shape, root.as_ref().map(|r| (&r.index, &r.extent)));
    let mut memo = Memo::default();
    let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for node_id in plan.arena.reachable(&[query.body]) {
        let dtype = plan.arena.dtype(node_id);
        let node = plan.arena.node(node_id);
        let written = match node {
            Expr::Read { source: Source::Def(q), at } if inline(QueryId(*q)) => {
                let body = bodies[*q as usize].expect("queries read earlier queries only");
                substitute(arena, &mut memo, body, at, &ranges)?
            }
            Expr::Read { .. } | Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Call { .. } => {
                arena.intern(node.clone(), dtype)
            }
            Expr::Map { .. } | Expr::Reduce { .. } => {
                let node = node.map_children(|child| new[&child]);
                // The product of a contraction stays, as `canonicalise` explains.
                if Some(node_id) == product {
                    arena.intern(node, dtype)
                } else {
                    simplify_node(arena, node, dtype)
                }
            }
        };
        new.insert(node_id, written);
    }
    Some(new[&query.body])
}

fn check_groups(
    fused: &Plan,
    grouping: &Grouping,
    order: &[QueryId],
    new_id: &FxHashMap<QueryId, (QueryId, usize)>,
) -> Result<Vec<Group>, IllegalGrouping> {
    let group_of: Vec<usize> = order.iter().map(|id| new_id[id].1).collect();
    let mut needed_outside: FxHashSet<QueryId> = FxHashSet::default();
    for source in &fused.produces.0 {
        if let Source::Def(q) = source {
            needed_outside.insert(QueryId(*q));
        }
    }
    for id in fused.query_ids() {
        let old = order[id.index()];
        let own = group_of[id.index()];
        let group = &grouping.groups[own];
        let outer = group.outer;
        let query = fused.query(id);
        if query.shape.len() < outer {
            let shared = counted(outer, "shared outer axis", "shared outer axes");
            let problem = format!("its rank {} is less than the {shared}", query.shape.len());
            return Err(IllegalGrouping { query: old, problem });
        }
        let call = fused.root_call(id);
        if outer == 0 && group.queries.len() > 1 && !query.shape.is_empty() && call.is_none() {
            let problem = "it shares a kernel with other queries, but no outer axis".to_string();
            return Err(IllegalGrouping { query: old, problem });
        }
        for (node, source) in fused.reads(id) {
            let Source::Def(read) = source else { continue };
            let read = QueryId(read);
            if read >= id {
                let problem = format!("it reads {}, which comes later", order[read.index()]);
                return Err(IllegalGrouping { query: old, problem });
            }
            if group_of[read.index()] != own {
                needed_outside.insert(read);
                continue;
            }
            let Expr::Read { at, .. } = fused.arena.node(node) else { continue };
            let same = at.iter().take(outer).enumerate().all(|(d, dim)| *dim == Dim::index(d as u32));
            if !same {
                let problem =
                    format!("it reads {} of its own group at another outer position", order[read.index()]);
                return Err(IllegalGrouping { query: old, problem });
            }
        }
    }
    let mut groups = Vec::with_capacity(grouping.groups.len());
    for decision in grouping.groups.iter().filter(|g| !g.queries.is_empty()) {
        let queries: Vec<QueryId> = decision.queries.iter().map(|id| new_id[id].0).collect();
        let first = &fused.query(queries[0]).shape;
        if let Some(other) = misfit(fused, &queries) {
            let problem =
                "results of a call share a kernel with each other and with nothing else".to_string();
            return Err(IllegalGrouping { query: order[other.index()], problem });
        }
        if queries.len() > 1 && is_dense_contraction(fused, queries[0]) && decision.outer + 1 < first.len() {
            let problem = format!(
                "what follows a dense contraction of rank {} row by row shares {}, not {}",
                first.len(),
                counted(first.len() - 1, "outer axis", "outer axes"),
                decision.outer
            );
            return Err(IllegalGrouping { query: order[queries[0].index()], problem });
        }
        for &id in &queries[1..] {
            if fused.query(id).shape[..decision.outer] != first[..decision.outer] {
                let problem = "its outer sizes differ from those of its group".to_string();
                return Err(IllegalGrouping { query: order[id.index()], problem });
            }
        }
        let local = queries.iter().map(|id| !needed_outside.contains(id)).collect();
        groups.push(Group { queries, outer: decision.outer, local });
    }
    Ok(groups)
}

/// The first query of a group that does not belong there because of calls: different results of one call are a group,
/// and queries without calls are.
pub(crate) fn misfit(plan: &Plan, group: &[QueryId]) -> Option<QueryId> {
    let (&first, rest) = group.split_first()?;
    let first = plan.root_call(first);
    let mut outputs: Vec<usize> = first.iter().map(|call| call.output).collect();
    rest.iter().copied().find(|&id| match (&first, plan.root_call(id)) {
        (None, None) => false,
        (Some(first), Some(call)) if first.is_same_call(&call) && !outputs.contains(&call.output) => {
            outputs.push(call.output);
            false
        }
        (Some(_), _) | (None, Some(_)) => true,
    })
}

#[cfg(test)]
mod tests;
