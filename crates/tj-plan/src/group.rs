//! The default decisions: what is written into its reader, and what shares a kernel.
//!
//! **Phase A, inlining** (first rule that fits):
//! 1. A reduction, a product of the plan, an operand of a dense contraction, and both what a function of whole tensors
//!    reads and what it gives stay.
//! 2. A query with one reader is written into it, unless that computes elements much more often than before:
//!    `cost * (evaluations - elements)` must not exceed what not storing it saves. An index map that ignores inner
//!    loops is evaluated outside of them, so a value for each row costs nothing in a matrix.
//! 3. A query with several readers is written into all of them if it costs at most [`CHEAP`] and reads at most one
//!    tensor of its own size.
//! 4. An expression never grows beyond [`MAX_NODES`], so that code stays bounded for any program, and no index map
//!    beyond [`MAX_MAP`].
//!
//! **Phase B, grouping.** Queries in program order. A query may join the group of its latest producer (never an
//! earlier one, so that groups in order are a schedule) if both share at least one outer axis and read each other
//! at the same outer position. A dense contraction starts a group; what follows it row by row joins, where a row is
//! its last axis. The results of one call of a function of whole tensors are a group; nothing else joins it.
//!
//! Linear in the plan: each query looks at its own reads.

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use rustc_hash::{FxHashMap, FxHashSet};
use tj_ir::expr::{Source, Sources};
use tj_ir::text::counted;
use tj_ir::{Dim, Expr, ExprId, Function, Op, Tree};

use crate::canonicalise::{MAX_MAP, weight};
use crate::fuse::misfit;
use crate::plan::{Plan, QueryId};
use crate::scheduler::{GroupDecision, Grouping, Reason, Sizes};

/// A query that costs at most this many additions an element is computed again rather than stored.
pub const CHEAP: u32 = 2;

/// Greatest number of nodes in one fused expression: a kernel of this size compiles in about a millisecond.
pub const MAX_NODES: usize = 256;

/// Most queries in one kernel.
pub const MAX_QUERIES: usize = 64;

/// Most nodes in one kernel.
pub const MAX_KERNEL_NODES: usize = 2 * MAX_NODES;

/// Additions that cost as much as moving one byte to memory and back.
const ADDITIONS_A_BYTE: f64 = 0.125;

/// A read of one query by another.
struct Edge {
    /// Where; empty for a call, which reads everything.
    at: Vec<Dim>,
}

/// Queries as nodes, reads as edges from producer to reader.
fn reads_graph(plan: &Plan) -> DiGraph<QueryId, Edge> {
    let mut graph = DiGraph::with_capacity(plan.queries.len(), plan.queries.len());
    for id in plan.query_ids() {
        graph.add_node(id);
    }
    for id in plan.query_ids() {
        for (node, source) in plan.reads(id) {
            let Source::Def(q) = source else { continue };
            let at = if let Expr::Read { at, .. } = plan.arena.node(node) { at.to_vec() } else { Vec::new() };
            graph.add_edge(NodeIndex::new(q as usize), NodeIndex::new(id.index()), Edge { at });
        }
    }
    graph
}

/// See the module.
pub fn default_grouping(plan: &Plan, sizes: &Sizes) -> Grouping {
    let graph = reads_graph(plan);
    let mut reasons = Vec::new();
    let (inline, nodes) = decide_inlining(plan, sizes, &graph, &mut reasons);
    let groups = decide_groups(plan, &graph, &inline, &nodes, &mut reasons);
    Grouping { inline, groups, reasons }
}

/// Cost of one element of a query's own expression, in additions, and its number of nodes.
fn own_cost(plan: &Plan, id: QueryId) -> (u32, usize) {
    let nodes = plan.arena.reachable(&[plan.query(id).body]);
    let cost = nodes.iter().map(|&node| match plan.arena.node(node) {
        Expr::Map { op: Op::Cast(_), .. } => 1,
        Expr::Map { op, .. } => op.info().cost,
        Expr::Const(_)
        | Expr::Number(_)
        | Expr::Size(_)
        | Expr::Read { .. }
        | Expr::Reduce { .. }
        | Expr::Call { .. } => 0,
    });
    (cost.sum(), nodes.len())
}

/// Which queries are inlined, and how many nodes each expression has then.
fn decide_inlining(
    plan: &Plan,
    sizes: &Sizes,
    graph: &DiGraph<QueryId, Edge>,
    reasons: &mut Vec<Reason>,
) -> (Vec<bool>, Vec<usize>) {
    let mut inline = vec![false; plan.queries.len()];
    let produced = plan.produced();
    // Weight of the heaviest index map of each expression, an upper bound once producers are written in.
    let mut maps: Vec<u32> = plan.query_ids().map(|id| own_map(plan, id)).collect();
    // Cost and size of each expression once its inlined producers are written in.
    let mut whole: Vec<(u32, usize)> = plan.query_ids().map(|id| own_cost(plan, id)).collect();
    let mut large_reads: Vec<usize> = plan.query_ids().map(|id| own_large_reads(plan, sizes, id)).collect();
    for id in plan.query_ids() {
        let me = NodeIndex::new(id.index());
        let (cost, nodes) = whole[id.index()];
        let query = plan.query(id);
        let mut say = |rule, detail: String| reasons.push(Reason { query: id, rule, detail });
        if plan.root_reduce(id).is_some() || plan.root_call(id).is_some() || produced[id.index()] {
            continue;
        }
        let readers: Vec<(QueryId, &Edge)> =
            graph.edges(me).map(|edge| (graph[edge.target()], edge.weight())).collect();
        if readers.iter().any(|(reader, _)| is_dense_contraction(plan, *reader)) {
            say("stored", "operand of a dense contraction".to_string());
            continue;
        }
        if let Some(call) = readers.iter().find_map(|(reader, _)| plan.root_call(*reader)) {
            say("stored", format!("given to {}", call.function.name()));
            continue;
        }
        if let Some((_, too_large)) =
            readers.iter().map(|(r, _)| (r, whole[r.index()].1 + nodes)).find(|(_, n)| *n > MAX_NODES)
        {
            say("stored", format!("the expression would have {too_large} nodes, more than {MAX_NODES}"));
            continue;
        }
        let own = maps[id.index()];
        let read_at = readers.iter().map(|(_, edge)| weight(&edge.at)).max().unwrap_or(1);
        if own > 1 && read_at > 1 && own * read_at > MAX_MAP {
            say("stored", format!("an index map would have {} parts, more than {MAX_MAP}", own * read_at));
            continue;
        }
        let elements = sizes.count(&query.shape);
        let evaluations: f64 = readers.iter().map(|(r, edge)| evaluations(plan, sizes, *r, &edge.at)).sum();
        let extra = f64::from(cost) * (evaluations - elements);
        let saved = 2.0 * query.dtype.size() as f64 * elements * ADDITIONS_A_BYTE;
        let several = readers.len() > 1;
        if several && (cost > CHEAP || large_reads[id.index()] > 1) {
            say("stored", format!("{}, cost {cost}", counted(readers.len(), "reader", "readers")));
            continue;
        }
        if !several && extra > saved {
            say("stored", format!("recomputing costs {extra:.0} additions, storing saves {saved:.0}"));
            continue;
        }
        let (number, extra) = (counted(readers.len(), "reader", "readers"), extra.max(0.0));
        say("inlined", format!("{number}, cost {cost}, extra {extra:.0}, saved {saved:.0}"));
        inline[id.index()] = true;
        for (reader, edge) in readers {
            let w = &mut whole[reader.index()];
            *w = (w.0.saturating_add(cost), w.1 + nodes);
            large_reads[reader.index()] += large_reads[id.index()];
            maps[reader.index()] = maps[reader.index()].max(own * weight(&edge.at));
        }
    }
    (inline, whole.into_iter().map(|(_, nodes)| nodes).collect())
}

/// Weight of the heaviest index map in a query's own expression.
fn own_map(plan: &Plan, id: QueryId) -> u32 {
    let nodes = plan.arena.reachable(&[plan.query(id).body]);
    let weights = nodes.into_iter().map(|node| match plan.arena.node(node) {
        Expr::Read { at, .. } => weight(at),
        Expr::Size(dim) => dim.weight(),
        Expr::Const(_) | Expr::Number(_) | Expr::Map { .. } | Expr::Reduce { .. } | Expr::Call { .. } => 1,
    });
    weights.max().unwrap_or(1)
}

/// How many tensors at least as large as the query its expression reads.
fn own_large_reads(plan: &Plan, sizes: &Sizes, id: QueryId) -> usize {
    let elements = sizes.count(&plan.query(id).shape);
    let large = |source: &Source| sizes.count(plan.shape_of(*source)) >= elements;
    plan.reads(id).iter().filter(|(_, source)| large(source)).count()
}

/// How often an expression read at `at` is evaluated by `reader`: loops inside of the innermost index it uses do
/// not count, since it is hoisted out of them.
fn evaluations(plan: &Plan, sizes: &Sizes, reader: QueryId, at: &[Dim]) -> f64 {
    let mut loops: Vec<Dim> = plan.query(reader).shape.to_vec();
    loops.extend(plan.root_reduce(reader).map(|r| r.extent));
    let uses = |d: usize| at.iter().any(|dim| dim.symbols().any(|s| s.as_index() == Some(d as u32)));
    let depth = (0..loops.len()).rev().find(|&d| uses(d)).map_or(0, |d| d + 1);
    sizes.count(&loops[..depth])
}

/// Whether a query is a product of two plain reads that the library routine computes.
pub fn is_dense_contraction(plan: &Plan, id: QueryId) -> bool {
    let Some(root) = plan.root_reduce(id) else { return false };
    if root.tree != Tree::Contract || !plan.query(id).dtype.is_float() {
        return false;
    }
    let is_read = |id: ExprId| match plan.arena.node(id) {
        Expr::Read { .. } => true,
        Expr::Const(_)
        | Expr::Number(_)
        | Expr::Size(_)
        | Expr::Map { .. }
        | Expr::Reduce { .. }
        | Expr::Call { .. } => false,
    };
    match plan.arena.node(root.body) {
        Expr::Map { op: Op::Mul, args } => args.iter().all(|&a| is_read(a)),
        Expr::Map { .. }
        | Expr::Const(_)
        | Expr::Number(_)
        | Expr::Size(_)
        | Expr::Read { .. }
        | Expr::Reduce { .. }
        | Expr::Call { .. } => false,
    }
}

fn decide_groups(
    plan: &Plan,
    graph: &DiGraph<QueryId, Edge>,
    inline: &[bool],
    nodes: &[usize],
    reasons: &mut Vec<Reason>,
) -> Vec<GroupDecision> {
    let mut groups: Vec<GroupDecision> = Vec::new();
    let mut sizes: Vec<usize> = Vec::new();
    // Group of each query; for an inlined one, the latest group it reads.
    let mut latest: Vec<Option<usize>> = vec![None; plan.queries.len()];
    let mut calls: FxHashMap<(Function, Sources), usize> = FxHashMap::default();
    for id in plan.query_ids() {
        if let Some(call) = plan.root_call(id) {
            let known = calls.entry((call.function, call.args)).or_insert(usize::MAX);
            let with = |query: QueryId| misfit(plan, &[query, id]).is_none();
            match groups.get_mut(*known).filter(|group| group.queries.iter().all(|&query| with(query))) {
                Some(group) => {
                    let detail = format!("computed with {}", group.queries[0]);
                    reasons.push(Reason { query: id, rule: "joined", detail });
                    group.queries.push(id);
                }
                None => {
                    *known = groups.len();
                    groups.push(GroupDecision { queries: vec![id], outer: 0 });
                    sizes.push(0);
                }
            }
            latest[id.index()] = Some(*known);
            continue;
        }
        let me = NodeIndex::new(id.index());
        let producers = graph.edges_directed(me, petgraph::Direction::Incoming);
        let from = producers.filter_map(|edge| latest[edge.source().index()]).max();
        if inline[id.index()] {
            latest[id.index()] = from;
            continue;
        }
        let joined = from
            .filter(|&g| sizes[g] + nodes[id.index()] <= MAX_KERNEL_NODES)
            .and_then(|g| shared_outer(plan, graph, inline, &groups[g], id).map(|outer| (g, outer)));
        match joined {
            Some((g, outer)) => {
                let axes = counted(outer, "outer axis", "outer axes");
                let detail = format!("{axes} shared with {}", groups[g].queries[0]);
                reasons.push(Reason { query: id, rule: "joined", detail });
                groups[g].outer = outer;
                groups[g].queries.push(id);
                sizes[g] += nodes[id.index()];
                latest[id.index()] = Some(g);
            }
            None => {
                groups.push(GroupDecision { queries: vec![id], outer: plan.query(id).shape.len() });
                sizes.push(nodes[id.index()]);
                latest[id.index()] = Some(groups.len() - 1);
            }
        }
    }
    groups
}

/// The outer axes that a group and one more query can share, if it may join.
fn shared_outer(
    plan: &Plan,
    graph: &DiGraph<QueryId, Edge>,
    inline: &[bool],
    group: &GroupDecision,
    id: QueryId,
) -> Option<usize> {
    if group.queries.len() >= MAX_QUERIES
        || is_dense_contraction(plan, id)
        || plan.root_call(group.queries[0]).is_some()
    {
        return None;
    }
    let first = &plan.query(group.queries[0]).shape;
    let shape = &plan.query(id).shape;
    let mut outer = group.outer.min(first.iter().zip(shape).take_while(|(a, b)| a == b).count());
    // Reads through inlined queries: follow them only when they keep positions, else be careful.
    let mut todo: Vec<(NodeIndex, usize)> = vec![(NodeIndex::new(id.index()), usize::MAX)];
    let mut seen = FxHashSet::default();
    while let Some((node, limit)) = todo.pop() {
        if !seen.insert((node, limit)) {
            continue;
        }
        for edge in graph.edges_directed(node, petgraph::Direction::Incoming) {
            let at = &edge.weight().at;
            let same = at
                .iter()
                .enumerate()
                .take_while(|(d, dim)| **dim == Dim::index(*d as u32))
                .count()
                .min(limit);
            let source = graph[edge.source()];
            if inline[source.index()] {
                todo.push((edge.source(), same));
            } else if group.queries.contains(&source) {
                outer = outer.min(same);
            }
        }
    }
    if is_dense_contraction(plan, group.queries[0]) {
        // A library call gives whole rows, no less and no more.
        let rows = first.len().saturating_sub(1);
        return (outer >= rows && rows > 0).then_some(rows);
    }
    let scalars = first.is_empty() && shape.is_empty();
    (outer > 0 || scalars).then_some(outer)
}

#[cfg(test)]
mod tests;
