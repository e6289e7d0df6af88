//! Moves that are part of a larger expression become queries of their own.
//!
//! What a query chooses by place among elements of stored tensors, at places that no list follows, is replaced by a read of a new
//! query at the indices that it depends on. Whether a query's result is stored follows from what it reads, so that another
//! round may find more.

use rustc_hash::{FxHashMap, FxHashSet};
use tj_ir::dim::Ranges;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op, Shape};
use tj_tensor::{DType, Scalar};

use super::super::copy::copy;
use super::super::order::Counts;
use super::super::steps::Cutter;
use super::super::{StoredInput, plain};
use super::pull::pull;
use super::split::split;
use super::{Choice, is_unfollowed};
use crate::derive::Decided;
use crate::plan::{Plan, Produces, Query, QueryId};
use crate::substitute::{Memo, substitute};

/// Rounds, each of which sees results of the one before.
const MAX_ROUNDS: usize = 64;

/// The plan with its moves apart. Arguments are as for [`steps`](super::super::steps::steps).
pub fn apart(plan: Plan, inputs: &[Option<StoredInput>], fills: &[Option<Scalar>], owned: &[bool]) -> Plan {
    if !has_moves(&plan) {
        return plan;
    }
    let mut plan = pull(plan, inputs);
    let free = Decided::default();
    for _ in 0..MAX_ROUNDS {
        if !has_moves(&plan) {
            break;
        }
        let mut cutter = Cutter::new(&plan, inputs, fills, owned, (&free, Counts::Guessed));
        cutter.foresee();
        let next = separated(&cutter);
        match next {
            Some(next) => plan = next,
            None => break,
        }
    }
    plan
}

/// Whether some query of a plan reads where no list follows, or may choose a diagonal.
pub fn has_moves(plan: &Plan) -> bool {
    plan.query_ids().any(|id| may_move(plan, id))
}

/// Whether a query reads where no list follows, or may choose a diagonal.
fn may_move(plan: &Plan, id: QueryId) -> bool {
    plan.arena.reachable(&[plan.query(id).body]).into_iter().any(|node| match plan.arena.node(node) {
        Expr::Read { at, .. } => at.iter().any(is_unfollowed),
        Expr::Map { op, args } => {
            matches!(op, Op::Equal | Op::NotEqual) && plan.arena.dtype(args[0]) == DType::I64
        }
        Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Reduce { .. } | Expr::Call { .. } => false,
    })
}

/// A node that becomes a query.
pub(super) struct Apart {
    pub node: ExprId,
    /// The sizes of the query.
    pub shape: Shape,
    /// Each index of the reader by those of the query.
    pub inside: Indices,
    /// Where the reader reads the query.
    pub read: Indices,
}

impl Apart {
    /// A node that depends on these indices only, which are the axes of its query.
    fn new(node: ExprId, indices: &[u32], extents: &[Dim]) -> Apart {
        let place = |index: u32| indices.iter().position(|&own| own == index).unwrap_or(0) as u32;
        Apart {
            node,
            shape: indices.iter().map(|&index| extents[index as usize].clone()).collect(),
            inside: (0..extents.len() as u32).map(|index| Dim::index(place(index))).collect(),
            read: indices.iter().map(|&index| Dim::index(index)).collect(),
        }
    }
}

/// One round; `None` if nothing is to be done.
fn separated(cutter: &Cutter<'_>) -> Option<Plan> {
    let plan = cutter.plan;
    let live = plan.live();
    let found = plan.query_ids().map(|id| if live[id.index()] { in_query(cutter, id) } else { Vec::new() });
    let found: Vec<Vec<Apart>> = found.collect();
    if found.iter().all(Vec::is_empty) {
        return None;
    }
    let mut arena = ExprArena::new();
    let mut queries: Vec<Query> = Vec::new();
    let mut became: Vec<u32> = Vec::new();
    let mut known: FxHashMap<(Shape, ExprId), u32> = FxHashMap::default();
    for (id, found) in plan.query_ids().zip(found) {
        let query = plan.query(id);
        let renamed = |source: Source| match source {
            Source::Def(q) => Source::Def(became[q as usize]),
            source @ Source::Input(_) => source,
        };
        let mut instead: FxHashMap<ExprId, Expr> = FxHashMap::default();
        for Apart { node, shape, inside, read } in found {
            let mut whole = FxHashMap::default();
            copy(&plan.arena, &mut arena, &mut whole, &[node], &mut |node| moved_read(plan, node, &renamed));
            let mut ranges = Ranges::new();
            shape.iter().enumerate().for_each(|(axis, extent)| ranges.set_extent(axis as u32, extent));
            let Some(body) = substitute(&mut arena, &mut Memo::default(), whole[&node], &inside, &ranges)
            else {
                continue;
            };
            let dtype = plan.arena.dtype(node);
            let own = *known.entry((shape.clone(), body)).or_insert_with(|| {
                queries.push(Query { word: "moved".into(), shape, dtype, body, location: query.location });
                queries.len() as u32 - 1
            });
            instead.insert(node, Expr::Read { source: Source::Def(own), at: read });
        }
        let mut new = FxHashMap::default();
        copy(&plan.arena, &mut arena, &mut new, &[query.body], &mut |node| {
            instead.get(&node).cloned().or_else(|| moved_read(plan, node, &renamed))
        });
        queries.push(Query { body: new[&query.body], ..query.clone() });
        became.push(queries.len() as u32 - 1);
    }
    let produces = plan.produces.0.iter().map(|source| match *source {
        Source::Def(q) => Source::Def(became[q as usize]),
        source @ Source::Input(_) => source,
    });
    let produces = Produces(produces.collect());
    Some(Plan { arena, queries, produces, ..plan.clone() })
}

/// A node that reads, with its sources under their new names.
fn moved_read(plan: &Plan, node: ExprId, renamed: &dyn Fn(Source) -> Source) -> Option<Expr> {
    match plan.arena.node(node) {
        Expr::Read { source, at } => Some(Expr::Read { source: renamed(*source), at: at.clone() }),
        Expr::Call { function, args, output } => {
            let args = args.iter().map(|&source| renamed(source)).collect();
            Some(Expr::Call { function: *function, args, output: *output })
        }
        Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Map { .. } | Expr::Reduce { .. } => None,
    }
}

/// The greatest parts of a query that are moves, unless it is one as a whole.
fn in_query(cutter: &Cutter<'_>, id: QueryId) -> Vec<Apart> {
    let plan = cutter.plan;
    if cutter.moved(id).is_some() || plan.root_call(id).is_some() {
        return Vec::new();
    }
    // A diagonal beside what is not stored stays what it is.
    if !cutter.is_touched(id) {
        return Vec::new();
    }
    if let Some(apart) = split(cutter, id) {
        return vec![apart];
    }
    let mut extents: Vec<Dim> = plan.query(id).shape.to_vec();
    extents.extend(plan.root_reduce(id).map(|root| root.extent));
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    // Under a condition a clamped read is at its edge wherever another branch is taken.
    let mut open = vec![(plan.query(id).body, false)];
    while let Some((node, is_chosen)) = open.pop() {
        if !seen.insert((node, is_chosen)) {
            continue;
        }
        let mut is_chosen = is_chosen;
        match plan.arena.node(node) {
            Expr::Read { .. } | Expr::Map { op: Op::Where | Op::Cast(_) | Op::Equal | Op::NotEqual, .. } => {
                let choice = Choice::of(plan, node, &|source| cutter.stored(source));
                let is_read = matches!(plan.arena.node(node), Expr::Read { .. });
                if let Some(choice) = choice.filter(Choice::is_worth_it)
                    && !(is_chosen && is_read && choice.is_clamped())
                {
                    let indices = choice.indices();
                    if !indices.is_empty() {
                        found.push(Apart::new(node, &indices, &extents));
                        continue;
                    }
                }
                is_chosen |= matches!(plan.arena.node(node), Expr::Map { op: Op::Where, .. });
            }
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Map { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => {}
        }
        open.extend(plan.arena.node(node).children().iter().map(|&child| (child, is_chosen)));
    }
    // The same node may have been come to by a way on which it is no edge.
    found.sort_by_key(|apart| apart.node);
    found.dedup_by_key(|apart| apart.node);
    found
}

impl Choice {
    /// The indices that it depends on, in order.
    fn indices(&self) -> Vec<u32> {
        let dims =
            self.parts.iter().flat_map(|part| part.at.iter().chain(part.when.iter().map(|(dim, _)| dim)));
        let symbols = dims.flat_map(Dim::symbols);
        let mut indices: Vec<u32> = symbols.filter_map(|symbol| plain(&Dim::symbol(&symbol))).collect();
        indices.sort_unstable();
        indices.dedup();
        indices
    }
}
