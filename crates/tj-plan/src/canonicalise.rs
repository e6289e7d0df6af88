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
//! A move stays a query of its own if it is an output, if a function of whole tensors reads it, or if an index map composed with it would be heavier than
//! either part and than [`MAX_MAP`]: a chain of reshapes of transposes has maps that grow with every step, each
//! element would pay for all of them, and in the end they would not fit the limits of a [`Dim`].
//!
//! One forward loop over queries; linear in the size of the plan.

use rustc_hash::FxHashMap;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprArena, ExprId, Shape, Tree};

use crate::plan::{Plan, Produces, Query};
use crate::simplify::simplify_node;
use crate::substitute::{compose, is_identity, ranges_of, rename};

/// Greatest weight ([`Dim::weight`]) of a composed index expression; a reshape of rank 4 has about 20.
pub const MAX_MAP: u32 = 64;

/// What a query of the old plan became.
#[derive(Clone)]
enum Became {
    /// A source with the same elements at the same positions.
    Same(Source),
    /// A source with the same elements at other positions.
    Moved(Source, Indices),
}

struct Ctx<'p> {
    plan: &'p Plan,
    arena: ExprArena,
    queries: Vec<Query>,
    became: Vec<Option<Became>>,
    /// New queries by what they compute.
    known: FxHashMap<(Shape, ExprId), Source>,
}

/// The canonical form of a traced plan.
pub fn canonicalise(plan: &Plan) -> Plan {
    let live = plan.live();
    let produced = plan.produced();
    let mut ctx = Ctx {
        plan,
        arena: ExprArena::new(),
        queries: Vec::new(),
        became: vec![None; plan.queries.len()],
        known: FxHashMap::default(),
    };
    for id in plan.query_ids().filter(|id| live[id.index()]) {
        let query = plan.query(id);
        let body = ctx.rewrite(query);
        let became = match ctx.arena.node(body) {
            Expr::Read { source, at } if is_identity(at) && *ctx.shape_of(*source) == query.shape => {
                Became::Same(*source)
            }
            Expr::Read { source, at } if !produced[id.index()] => Became::Moved(*source, at.clone()),
            Expr::Read { .. }
            | Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Map { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => Became::Same(ctx.define(query, body)),
        };
        ctx.became[id.index()] = Some(became);
    }
    let produces = plan.produces.0.iter().map(|source| match *source {
        Source::Def(old) => match ctx.became[old as usize] {
            Some(Became::Same(new)) => new,
            Some(Became::Moved(..)) | None => panic!("canonicalise: output q{old} was moved away"),
        },
        input @ Source::Input(_) => input,
    });
    let produces = Produces(produces.collect());
    let Ctx { arena, queries, .. } = ctx;
    drop_dead(Plan {
        arena,
        inputs: plan.inputs.clone(),
        queries,
        produces,
        guards: plan.guards.clone(),
        symbols: plan.symbols.clone(),
        numbers: plan.numbers.clone(),
    })
}

impl Ctx<'_> {
    fn shape_of(&self, source: Source) -> &Shape {
        match source {
            Source::Input(i) => &self.plan.inputs[i as usize].shape,
            Source::Def(q) => &self.queries[q as usize].shape,
        }
    }

    /// The new query that computes `body`.
    fn define(&mut self, old: &Query, body: ExprId) -> Source {
        *self.known.entry((old.shape.clone(), body)).or_insert_with(|| {
            self.queries.push(Query { body, ..old.clone() });
            Source::Def(self.queries.len() as u32 - 1)
        })
    }

    /// The body of a query in the new arena: reads follow what their sources became, nodes are simplified.
    fn rewrite(&mut self, query: &Query) -> ExprId {
        let plan = self.plan;
        let old = &plan.arena;
        let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let (reduced, product) = match old.node(query.body) {
            Expr::Reduce { tree, index, extent, body, .. } => {
                (Some((index, extent)), (*tree == Tree::Contract).then_some(*body))
            }
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Map { .. }
            | Expr::Call { .. } => (None, None),
        };
        let ranges = ranges_of(&query.shape, reduced);
        for id in old.reachable(&[query.body]) {
            let dtype = old.dtype(id);
            let node = match old.node(id) {
                Expr::Read { source, at } => {
                    let at: Indices = at.iter().map(|dim| dim.simplify_in(&ranges)).collect();
                    let (source, at) = match source {
                        Source::Input(_) => (*source, at),
                        Source::Def(q) => self.follow(*q, at, |dim, at| compose(dim, at, &ranges)),
                    };
                    Expr::Read { source, at }
                }
                Expr::Size(dim) => Expr::Size(dim.simplify_in(&ranges)),
                Expr::Call { function, args, output } => Expr::Call {
                    function: *function,
                    args: args.iter().map(|&source| self.stored(source)).collect(),
                    output: *output,
                },
                node @ (Expr::Const(_) | Expr::Number(_) | Expr::Map { .. } | Expr::Reduce { .. }) => {
                    node.map_children(|child| new[&child])
                }
            };
            // The tree of a contraction multiplies and adds in one rounding, so its product must stay the one it was:
            // `1 * (a * b)` is not `a * b` there.
            let simple = if Some(id) == product {
                self.arena.intern(node, dtype)
            } else {
                simplify_node(&mut self.arena, node, dtype)
            };
            new.insert(id, simple);
        }
        new[&query.body]
    }

    /// What a read of the old query `q` at `at` reads now.
    fn follow(&mut self, q: u32, at: Indices, compose: impl Fn(&Dim, &[Dim]) -> Dim) -> (Source, Indices) {
        match &self.became[q as usize] {
            Some(Became::Same(source)) => (*source, at),
            Some(Became::Moved(source, inner)) => {
                let composed: Indices = inner.iter().map(|dim| compose(dim, &at)).collect();
                let limit = MAX_MAP.max(weight(&at)).max(weight(inner));
                if weight(&composed) <= limit && composed.iter().all(|dim| dim.check().is_ok()) {
                    return (*source, composed);
                }
                let (source, inner) = (*source, inner.clone());
                (self.store(q, source, inner), at)
            }
            None => panic!("canonicalise: q{q} is read before it is defined, or dead"),
        }
    }

    /// What holds the elements of an old source in their order, for a function that reads it whole.
    fn stored(&mut self, source: Source) -> Source {
        let Source::Def(q) = source else { return source };
        match self.became[q as usize].clone() {
            Some(Became::Same(source)) => source,
            Some(Became::Moved(source, at)) => self.store(q, source, at),
            None => panic!("canonicalise: q{q} is given to a function before it is defined, or dead"),
        }
    }

    /// A query of its own for the old query `q`, which moves elements of `source`.
    fn store(&mut self, q: u32, source: Source, at: Indices) -> Source {
        let moved = self.plan.queries[q as usize].clone();
        let body = self.arena.read(source, at, moved.dtype);
        let stored = self.define(&moved, body);
        self.became[q as usize] = Some(Became::Same(stored));
        stored
    }
}

/// The weight of the heaviest index expression; 1 for a renaming of axes.
pub(crate) fn weight(at: &[Dim]) -> u32 {
    at.iter().map(Dim::weight).max().unwrap_or(1)
}

/// Drops queries that died because simplification removed what read them.
fn drop_dead(plan: Plan) -> Plan {
    let live = plan.live();
    if live.iter().all(|&live| live) {
        return plan;
    }
    let mut new_id: Vec<u32> = Vec::with_capacity(live.len());
    let mut kept = 0;
    for &live in &live {
        new_id.push(kept);
        kept += u32::from(live);
    }
    let name = |q: u32| new_id[q as usize];
    let (mut arena, mut done) = (ExprArena::new(), FxHashMap::default());
    let queries = plan.queries.iter().zip(&live).filter(|(_, live)| **live).map(|(query, _)| {
        let body = rename(&plan.arena, &mut arena, &mut done, query.body, &name);
        Query { body, ..query.clone() }
    });
    let queries = queries.collect();
    let produces = plan.produces.0.iter().map(|source| match *source {
        Source::Def(q) => Source::Def(name(q)),
        input @ Source::Input(_) => input,
    });
    let produces = Produces(produces.collect());
    Plan { arena, queries, produces, ..plan }
}

#[cfg(test)]
mod tests;
