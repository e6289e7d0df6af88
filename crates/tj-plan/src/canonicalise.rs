//! Brings a traced plan to canonical form.
//!
//! Needs *traced*, gives *canonical*. Queries that nothing asks for are dropped; moves are composed into the reads
//! of their consumers; expressions are simplified; equal queries are merged; the rest keeps program order. What
//! it leaves alone: which queries become kernels.
//!
//! ```text
//! q0[i0, i1] = in0[i1, i0]                 q0[i0, i1] = exp(in0[i1, i0])
//! q1[i0, i1] = q0[i0, i1] * 1        =>    q1[i0, i1] = q0[i0, i1] + q0[i0, i1]
//! q2[i0, i1] = exp(q1[i0, i1])
//! q3[i0, i1] = exp(q0[i0, i1])
//! q4[i0, i1] = q2[i0, i1] + q3[i0, i1]
//! ```
//!
//! One forward loop over queries; linear in the size of the plan.

use rustc_hash::{FxHashMap, FxHashSet};
use tj_ir::expr::{Indices, Source};
use tj_ir::{Expr, ExprArena, ExprId, Shape};

use crate::plan::{Plan, Query};
use crate::simplify::simplify_node;
use crate::substitute::{compose, is_identity, ranges_of};

/// What a query of the old plan became.
#[derive(Clone)]
enum Became {
    /// A source with the same elements at the same positions.
    Same(Source),
    /// A source with the same elements at other positions.
    Moved(Source, Indices),
}

/// The canonical form of a traced plan.
pub fn canonicalise(plan: &Plan) -> Plan {
    let live = live_queries(plan);
    let mut arena = ExprArena::new();
    let mut queries: Vec<Query> = Vec::new();
    let mut became: Vec<Option<Became>> = vec![None; plan.queries.len()];
    let mut known: FxHashMap<(Shape, ExprId), Source> = FxHashMap::default();

    for id in plan.query_ids().filter(|id| live[id.index()]) {
        let query = plan.query(id);
        let body = rewrite(plan, &mut arena, &became, query);
        if let Expr::Read { source, at } = arena.node(body) {
            let same = is_identity(at) && shape_in(plan, &queries, *source) == &query.shape;
            if same {
                became[id.index()] = Some(Became::Same(*source));
                continue;
            }
            if !plan.is_produced(id) {
                became[id.index()] = Some(Became::Moved(*source, at.clone()));
                continue;
            }
        }
        let source = *known.entry((query.shape.clone(), body)).or_insert_with(|| {
            queries.push(Query { body, ..query.clone() });
            Source::Def(queries.len() as u32 - 1)
        });
        became[id.index()] = Some(Became::Same(source));
    }

    let mut produces = plan.produces.clone();
    for source in &mut produces.0 {
        if let Source::Def(old) = *source {
            let Some(Became::Same(new)) = &became[old as usize] else {
                panic!("canonicalise: output q{old} was moved away");
            };
            *source = *new;
        }
    }
    Plan {
        arena,
        inputs: plan.inputs.clone(),
        queries,
        produces,
        guards: plan.guards.clone(),
        symbols: plan.symbols.clone(),
        numbers: plan.numbers.clone(),
    }
}

fn shape_in<'p>(plan: &'p Plan, queries: &'p [Query], source: Source) -> &'p Shape {
    match source {
        Source::Input(i) => &plan.inputs[i as usize].shape,
        Source::Def(q) => &queries[q as usize].shape,
    }
}

/// Which queries the plan's products need.
fn live_queries(plan: &Plan) -> Vec<bool> {
    let mut live = vec![false; plan.queries.len()];
    for source in &plan.produces.0 {
        if let Source::Def(q) = source {
            live[*q as usize] = true;
        }
    }
    for id in plan.query_ids().rev() {
        if live[id.index()] {
            for (_, source) in plan.reads(id) {
                if let Source::Def(q) = source {
                    live[q as usize] = true;
                }
            }
        }
    }
    live
}

/// The body of a query in the new arena: reads follow what their sources became, nodes are simplified.
fn rewrite(plan: &Plan, arena: &mut ExprArena, became: &[Option<Became>], query: &Query) -> ExprId {
    let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let reduced = match plan.arena.node(query.body) {
        Expr::Reduce { index, extent, .. } => Some((index, extent)),
        Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Read { .. } | Expr::Map { .. } => None,
    };
    let ranges = ranges_of(&query.shape, reduced);
    for id in plan.arena.reachable(&[query.body]) {
        let dtype = plan.arena.dtype(id);
        let node = match plan.arena.node(id) {
            Expr::Read { source, at } => {
                let at: Indices = at.iter().map(|dim| dim.simplify_in(&ranges)).collect();
                match source {
                    Source::Input(_) => Expr::Read { source: *source, at },
                    Source::Def(q) => match &became[*q as usize] {
                        Some(Became::Same(source)) => Expr::Read { source: *source, at },
                        Some(Became::Moved(source, inner)) => {
                            let at = inner.iter().map(|dim| compose(dim, &at, &ranges)).collect();
                            Expr::Read { source: *source, at }
                        }
                        None => panic!("canonicalise: q{q} is read before it is defined, or dead"),
                    },
                }
            }
            Expr::Size(dim) => Expr::Size(dim.simplify_in(&ranges)),
            node @ (Expr::Const(_) | Expr::Number(_) | Expr::Map { .. } | Expr::Reduce { .. }) => {
                node.map_children(|child| new[&child])
            }
        };
        new.insert(id, simplify_node(arena, node, dtype));
    }
    new[&query.body]
}

/// Sources that some query or product reads.
pub fn used_sources(plan: &Plan) -> FxHashSet<Source> {
    let mut used: FxHashSet<Source> = plan.produces.0.iter().copied().collect();
    for id in plan.query_ids() {
        used.extend(plan.reads(id).into_iter().map(|(_, source)| source));
    }
    used
}
