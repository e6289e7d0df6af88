//! Outcomes of numbers under conditions, settled once it is known what is read.
//!
//! `filled(min(e + a, n0), where(e + a == 0, 0, min(e + a, n0)))` says that the result is 0 wherever nothing is stored if `e + a` is
//! 0 there. Of an expression whose reads are known, [`settle`] makes `filled(min(e + a, n0), 0)`, or `min(e + a, n0)` alone. So the
//! conditions are no part of what is computed, and programs that walk nothing drop them ([`without_outcomes`]).
//!
//! ```text
//! filled(x[i0], where(a[i0] == 0, 0, x[i0]))    =>    filled(x[i0], 0)    or    x[i0]
//! ```

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Expr, ExprArena, ExprId, Op};
use tj_tensor::Scalar;

use super::{Outside, Tree, outsides};
use crate::plan::Plan;

/// Nodes in place of `roots`, without conditions below outcomes; `fill_of` gives the fills of what is stored by levels.
pub fn settle(
    arena: &mut ExprArena,
    roots: &[ExprId],
    fill_of: &dyn Fn(Source) -> Option<Scalar>,
) -> Vec<ExprId> {
    let nodes = arena.reachable(roots);
    if !nodes.iter().any(|&id| under_conditions(arena, id).is_some()) {
        return roots.to_vec();
    }
    let known = outsides(arena, &nodes, fill_of);
    let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in nodes {
        let dtype = arena.dtype(id);
        let settled = match under_conditions(arena, id) {
            None => {
                let node = arena.node(id).map_children(|child| new[&child]);
                arena.intern(node, dtype)
            }
            Some((of, value)) => match said(known.get(&of), known.get(&value)) {
                Some(value) => {
                    let value = arena.constant(value);
                    arena.map(Op::Filled, SmallVec::from_slice(&[new[&of], value]))
                }
                None => new[&of],
            },
        };
        new.insert(id, settled);
    }
    roots.iter().map(|root| new[root]).collect()
}

/// The plan for arguments of which nothing is stored by levels.
#[must_use]
pub fn without_outcomes(mut plan: Plan) -> Plan {
    for id in plan.query_ids() {
        let body = plan.query(id).body;
        plan.queries[id.index()].body = settle(&mut plan.arena, &[body], &|_| None)[0];
    }
    plan
}

/// The arguments of an outcome that holds under conditions.
fn under_conditions(arena: &ExprArena, id: ExprId) -> Option<(ExprId, ExprId)> {
    let Expr::Map { op: Op::Filled, args } = arena.node(id) else { return None };
    let &[of, value] = args.as_slice() else { return None };
    (!matches!(arena.node(value), Expr::Const(_))).then_some((of, value))
}

/// What an outcome says of a node whose value is not known otherwise, wherever that node's own reads have no entries. Where other
/// reads had to have none either, it says nothing.
fn said(of: Option<&Outside>, value: Option<&Outside>) -> Option<Scalar> {
    let (of, value) = (of?, value?);
    let [own, both] = [vec![of.tree.clone()], vec![of.tree.clone(), value.tree.clone()]].map(Tree::or);
    value.value.filter(|_| of.value.is_none() && own == both)
}
