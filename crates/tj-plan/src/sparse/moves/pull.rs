//! Plans in which moves are seen as what they are.
//!
//! What is asked of places alone (which side of a diagonal an element is on) stands in queries of its own, as anything
//! elementwise does: here it is written into its readers. And a query that is read once, at other places, is computed at
//! these places if that makes its own reads simpler: another shape and back, as around a product of matrices, is no move at all.

use rustc_hash::FxHashMap;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op, Shape, Symbol, Tree};
use tj_tensor::Scalar;

use super::super::StoredInput;
use super::is_unfollowed;
use crate::plan::{Plan, Query, QueryId};
use crate::substitute::{Memo, compose, ranges_of, substitute};

/// Nodes of what is asked of places.
const MAX_NODES: usize = 24;

/// The plan with both.
pub(super) fn pull(plan: Plan, inputs: &[Option<StoredInput>]) -> Plan {
    let plan = with_places(plan);
    computed_where_read(plan, inputs)
}

/// What is asked of places alone, written into its readers. Queries that nobody reads any more stay where they are.
fn with_places(plan: Plan) -> Plan {
    let mut of_places = vec![false; plan.queries.len()];
    let mut plan = plan;
    for id in plan.query_ids() {
        let query = plan.query(id);
        let root = plan.root_reduce(id);
        // Factors of a product of matrices are computed once.
        if !of_places.contains(&true) || root.as_ref().is_some_and(|root| root.tree == Tree::Contract) {
            of_places[id.index()] = is_of_places(&plan, id, &of_places);
            continue;
        }
        let ranges = ranges_of(&query.shape, root.as_ref().map(|root| (&root.index, &root.extent)));
        let Query { body, .. } = query.clone();
        let mut arena = std::mem::take(&mut plan.arena);
        let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let mut memo = Memo::default();
        for node in arena.reachable(&[body]) {
            let dtype = arena.dtype(node);
            let written = match arena.node(node) {
                Expr::Read { source: Source::Def(q), at } if of_places[*q as usize] => {
                    let (at, asked) = (at.clone(), plan.queries[*q as usize].body);
                    substitute(&mut arena, &mut memo, asked, &at, &ranges)
                }
                Expr::Const(_)
                | Expr::Number(_)
                | Expr::Size(_)
                | Expr::Read { .. }
                | Expr::Map { .. }
                | Expr::Reduce { .. }
                | Expr::Call { .. } => None,
            };
            let copied = arena.node(node).map_children(|child| new[&child]);
            let written = written.unwrap_or_else(|| arena.intern(copied, dtype));
            new.insert(node, written);
        }
        plan.arena = arena;
        plan.queries[id.index()].body = new[&body];
        if let Some(value) = only_value(&plan, id) {
            plan.queries[id.index()].body = plan.arena.constant(value);
        }
        of_places[id.index()] = is_of_places(&plan, id, &of_places);
    }
    plan
}

/// What a query is that reduces at most one number: that number, if nothing reduces to it, too.
fn only_value(plan: &Plan, id: QueryId) -> Option<Scalar> {
    let root = plan.root_reduce(id)?;
    let Expr::Const(value) = plan.arena.node(root.body) else { return None };
    let is_one = root.extent.known_le(&Dim::ONE) == Some(true);
    (is_one && root.op.empty(value.dtype()) == Some(*value)).then_some(*value)
}

fn is_of_places(plan: &Plan, id: QueryId, known: &[bool]) -> bool {
    let query = plan.query(id);
    let nodes = computed(&plan.arena, query.body);
    nodes.len() <= MAX_NODES
        && nodes.into_iter().all(|node| match plan.arena.node(node) {
            Expr::Const(_) | Expr::Number(_) | Expr::Size(_) => true,
            Expr::Read { source: Source::Def(q), .. } => known[*q as usize],
            Expr::Map { op, .. } => op.info().cost <= 1,
            Expr::Read { source: Source::Input(_), .. } | Expr::Reduce { .. } | Expr::Call { .. } => false,
        })
}

/// The nodes that a value is computed of: what is said of it beside ([`Op::Filled`]) reads nothing else.
fn computed(arena: &ExprArena, body: ExprId) -> Vec<ExprId> {
    let (mut open, mut found) = (vec![body], Vec::new());
    while let Some(node) = open.pop() {
        if found.contains(&node) {
            continue;
        }
        found.push(node);
        if let Expr::Map { op: Op::Filled, args } = arena.node(node) {
            open.push(args[0]);
        } else {
            open.extend_from_slice(arena.node(node).children());
        }
        if found.len() > MAX_NODES {
            break;
        }
    }
    found
}

/// What is read once, at places that no list follows, as a query at these places, where fewer of its own reads are so.
fn computed_where_read(plan: Plan, inputs: &[Option<StoredInput>]) -> Plan {
    let mut plan = plan;
    let produced = plan.produced();
    let live = plan.live();
    let mut reads = vec![0_usize; plan.queries.len()];
    for id in plan.query_ids().filter(|id| live[id.index()]) {
        for (_, source) in plan.reads(id) {
            if let Source::Def(q) = source {
                reads[q as usize] += 1;
            }
        }
    }
    for id in plan.query_ids().rev().filter(|id| live[id.index()]) {
        for (node, source) in plan.reads(id) {
            let (Source::Def(q), Expr::Read { at, .. }) = (source, plan.arena.node(node)) else { continue };
            let read = QueryId(q);
            let is_single = reads[read.index()] == 1 && !produced[read.index()];
            let is_stored = |(_, source): &(ExprId, Source)| match source {
                Source::Input(i) => inputs.get(*i as usize).is_some_and(Option::is_some),
                Source::Def(_) => false,
            };
            if is_single && at.iter().any(is_unfollowed) && plan.reads(read).iter().any(is_stored) {
                let at = at.clone();
                at_places(&mut plan, id, node, read, &at);
            }
        }
    }
    plan
}

/// How many reads of a body are at places that no list follows.
fn unfollowed(arena: &ExprArena, body: ExprId) -> usize {
    let is_one = |node: &ExprId| match arena.node(*node) {
        Expr::Read { at, .. } => at.iter().any(is_unfollowed),
        Expr::Const(_)
        | Expr::Number(_)
        | Expr::Size(_)
        | Expr::Map { .. }
        | Expr::Reduce { .. }
        | Expr::Call { .. } => false,
    };
    arena.reachable(&[body]).iter().filter(|node| is_one(node)).count()
}

/// Has `read` computed at the places at which a node of `reader` reads it, if that makes its reads simpler.
fn at_places(plan: &mut Plan, reader: QueryId, node: ExprId, read: QueryId, at: &Indices) {
    let root = plan.root_reduce(reader);
    let mut extents: Vec<Dim> = plan.query(reader).shape.to_vec();
    extents.extend(root.map(|root| root.extent));
    let mut indices: Vec<u32> =
        at.iter().flat_map(Dim::symbols).filter_map(|symbol| symbol.as_index()).collect();
    indices.sort_unstable();
    indices.dedup();
    let shape: Shape = indices.iter().map(|&index| extents[index as usize].clone()).collect();
    let reduced = plan.root_reduce(read);
    // The reduction of `read` runs over the index after those of its new shape.
    let index = Symbol::index(shape.len() as u32);
    let own = |symbol: &Symbol| {
        let place = indices.iter().position(|index| Some(*index) == symbol.as_index())?;
        Some(Dim::index(place as u32))
    };
    let mut places: Indices = at.iter().map(|dim| dim.substitute(&own)).collect();
    let without = ranges_of(&shape, None);
    let extent = reduced.as_ref().map(|root| compose(&root.extent, &places, &without));
    let ranges = ranges_of(&shape, extent.as_ref().map(|extent| (&index, extent)));
    let query = plan.query(read).clone();
    let mut body = query.body;
    if let Some(root) = &reduced {
        places.push(Dim::symbol(&index));
        body = root.body;
    }
    if matches!(plan.arena.node(body), Expr::Call { .. }) {
        return;
    }
    let before = unfollowed(&plan.arena, body) + 1;
    let Some(mut moved) = substitute(&mut plan.arena, &mut Memo::default(), body, &places, &ranges) else {
        return;
    };
    if unfollowed(&plan.arena, moved) + 1 >= before {
        return;
    }
    if let (Some(root), Some(extent)) = (reduced, extent) {
        // Its axes are not those of a product of matrices any more.
        let tree = if root.tree == Tree::Contract { Tree::Row } else { root.tree };
        let reduce = Expr::Reduce { op: root.op, tree, index, extent, body: moved };
        moved = plan.arena.intern(reduce, query.dtype);
    }
    plan.queries[read.index()] = Query { body: moved, shape, ..query };
    // The reader has it at its own indices.
    let plain: Indices = indices.iter().map(|&index| Dim::index(index)).collect();
    let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let old = plan.query(reader).body;
    for id in plan.arena.reachable(&[old]) {
        let dtype = plan.arena.dtype(id);
        let copied = if id == node {
            Expr::Read { source: Source::Def(read.0), at: plain.clone() }
        } else {
            plan.arena.node(id).map_children(|child| new[&child])
        };
        let copied = plan.arena.intern(copied, dtype);
        new.insert(id, copied);
    }
    plan.queries[reader.index()].body = new[&old];
}
