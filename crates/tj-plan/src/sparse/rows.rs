//! Reductions that are computed for a whole row before the row's loop.
//!
//! Inside of a loop over `k`, a reduction such as `sum(j: x[i, j] * b[j, k])` would go through the list of `x` for every `k`, and
//! across the rows of `b`. Nothing of the list depends on `k`: so the loops change places, and a row of memory holds the sums. A
//! product of three factors that is written as two products is factored that way, a fiber at a time.

use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId, ReduceOp};
use tj_tensor::Scalar;

use super::order::chain;
use super::plain;
use super::space::is_neutral;

/// The reductions below `inner`, outermost ones, if each of them can be computed for all of `index` at once, and some of them
/// has to be computed anew for each; else none.
pub fn rows(
    arena: &ExprArena,
    inner: ExprId,
    index: u32,
    is_stored: &dyn Fn(Source) -> bool,
    fill_of: &dyn Fn(ExprId) -> Option<Scalar>,
) -> Vec<ExprId> {
    let (mut open, mut seen, mut found) = (vec![inner], Vec::new(), Vec::new());
    let mut varies = false;
    while let Some(node) = open.pop() {
        if seen.contains(&node) {
            continue;
        }
        seen.push(node);
        let Some((op, _, body)) = chain(arena, node) else {
            open.extend_from_slice(arena.node(node).children());
            continue;
        };
        let neutral = fill_of(body).is_some_and(|fill| is_neutral(op, fill));
        if matches!(op, ReduceOp::By(_)) || !neutral {
            return Vec::new();
        }
        for node in arena.reachable(&[body]) {
            match arena.node(node) {
                Expr::Reduce { .. } => return Vec::new(),
                Expr::Read { source, at } => match along(at, index) {
                    Some(uses) if !(uses && is_stored(*source)) => varies |= uses,
                    Some(_) | None => return Vec::new(),
                },
                Expr::Size(dim) if uses(dim, index) => return Vec::new(),
                Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Map { .. } | Expr::Call { .. } => {}
            }
        }
        found.push(node);
    }
    if varies { found } else { Vec::new() }
}

fn uses(dim: &Dim, index: u32) -> bool {
    dim.symbols().any(|symbol| symbol.as_index() == Some(index))
}

/// Whether a read goes along its last axis with an index; `None` if it goes along another one, or not step by step.
fn along(at: &[Dim], index: u32) -> Option<bool> {
    let used: SmallVec<[usize; 4]> = (0..at.len()).filter(|&axis| uses(&at[axis], index)).collect();
    match used.as_slice() {
        [] => Some(false),
        &[axis] if axis + 1 == at.len() && plain(&at[axis]) == Some(index) => Some(true),
        _ => None,
    }
}
