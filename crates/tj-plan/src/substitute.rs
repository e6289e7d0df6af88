//! Puts the body of one query in the place where another reads it.
//!
//! `t[i0, i1] = exp(u[i1, i0])` with `u[i0, i1] = x[i0, i1] * 2` becomes `t[i0, i1] = exp(x[i1, i0] * 2)`: index
//! expressions of the read are substituted for the indices of the body. Composed index maps are simplified under
//! the ranges of the reading query, so a memo must never be shared between queries. A read at the identity map
//! costs nothing: the body is shared as it is.

use rustc_hash::FxHashMap;
use tj_ir::dim::Ranges;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprArena, ExprId};

/// Whether an index map is `i0, i1, ..`.
pub fn is_identity(at: &[Dim]) -> bool {
    at.iter().enumerate().all(|(d, dim)| *dim == Dim::index(d as u32))
}

/// The ranges of the indices of a query: its axes, then the index of its reduction.
pub fn ranges_of(shape: &[Dim], reduced: Option<(&tj_ir::Symbol, &Dim)>) -> Ranges {
    let mut ranges = Ranges::new();
    for (d, extent) in shape.iter().enumerate() {
        ranges.set_extent(d as u32, extent);
    }
    if let Some((index, extent)) = reduced {
        ranges.set_extent(index.as_index().expect("a reduction runs over an index"), extent);
    }
    ranges
}

/// Index maps composed: `dim` with `at[d]` for index `d`.
pub fn compose(dim: &Dim, at: &[Dim], ranges: &Ranges) -> Dim {
    if dim.is_const().is_some() {
        return dim.clone();
    }
    let replaced = dim.substitute(&|symbol| symbol.as_index().and_then(|d| at.get(d as usize).cloned()));
    replaced.simplify_in(ranges)
}

/// Substitutions made while rewriting one query.
#[derive(Default, Debug)]
pub struct Memo {
    done: FxHashMap<(ExprId, Indices), ExprId>,
}

/// `body` with `at[d]` for index `d`, under the ranges of the query that reads it. `body` has no reduction. `None` if
/// an index map outgrows the limits of a [`Dim`].
///
/// # Panics
/// On a reduction or a call: only a broken pass inlines one.
pub fn substitute(
    arena: &mut ExprArena,
    memo: &mut Memo,
    body: ExprId,
    at: &Indices,
    ranges: &Ranges,
) -> Option<ExprId> {
    if is_identity(at) {
        return Some(body);
    }
    if let Some(&known) = memo.done.get(&(body, at.clone())) {
        return Some(known);
    }
    let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in arena.reachable(&[body]) {
        let dtype = arena.dtype(id);
        let node = match arena.node(id) {
            Expr::Const(_) | Expr::Number(_) => {
                new.insert(id, id);
                continue;
            }
            Expr::Size(dim) => {
                let dim = compose(dim, at, ranges);
                dim.check().ok()?;
                Expr::Size(dim)
            }
            Expr::Read { source, at: inner } => {
                let inner: Indices = inner.iter().map(|dim| compose(dim, at, ranges)).collect();
                if inner.iter().any(|dim| dim.check().is_err()) {
                    return None;
                }
                Expr::Read { source: *source, at: inner }
            }
            node @ Expr::Map { .. } => node.map_children(|child| new[&child]),
            Expr::Reduce { .. } | Expr::Call { .. } => {
                panic!("substitute: reductions and calls are never moved into another query")
            }
        };
        new.insert(id, arena.intern(node, dtype));
    }
    let result = new[&body];
    memo.done.insert((body, at.clone()), result);
    Some(result)
}

/// Copies an expression into another arena, with queries renamed. `done` is shared by all calls for one plan.
pub(crate) fn rename(
    from: &ExprArena,
    to: &mut ExprArena,
    done: &mut FxHashMap<ExprId, ExprId>,
    body: ExprId,
    name: &dyn Fn(u32) -> u32,
) -> ExprId {
    let name = |source| match source {
        Source::Def(q) => Source::Def(name(q)),
        Source::Input(_) => source,
    };
    copy(from, to, done, body, &name)
}

/// Copies an expression into another arena, with another name for each source. `done` is shared by all calls for one plan.
pub(crate) fn copy(
    from: &ExprArena,
    to: &mut ExprArena,
    done: &mut FxHashMap<ExprId, ExprId>,
    body: ExprId,
    name: &dyn Fn(Source) -> Source,
) -> ExprId {
    let mut todo = vec![(body, false)];
    while let Some((id, children_done)) = todo.pop() {
        if done.contains_key(&id) {
            continue;
        }
        let node = from.node(id);
        if !children_done {
            todo.push((id, true));
            todo.extend(node.children().iter().map(|&child| (child, false)));
            continue;
        }
        let node = match node {
            Expr::Read { source, at } => Expr::Read { source: name(*source), at: at.clone() },
            Expr::Call { function, args, output } => Expr::Call {
                function: *function,
                args: args.iter().map(|&source| name(source)).collect(),
                output: *output,
            },
            node @ (Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Map { .. }
            | Expr::Reduce { .. }) => node.map_children(|child| done[&child]),
        };
        let new = to.intern(node, from.dtype(id));
        done.insert(id, new);
    }
    done[&body]
}
