//! Neighbouring axes as one loop, where every operand allows it.
//!
//! Axes `d` and `d + 1` of a map merge if in every access the step along `d` is the size of axis `d + 1` times the
//! step along `d + 1`: rows that follow each other in memory, or a value that neither moves. The merged loop
//! runs over the product of sizes, and index `d` is 0.

use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, Symbol};
use tj_plan::{Plan, QueryId};

use super::Loop;
use super::address::linear;
use super::nest::Nest;

/// Loops after merging.
pub(super) struct Merged {
    pub loops: Vec<Loop>,
    /// Indices that are 0 now.
    pub zeroed: Vec<u32>,
}

/// Merges what can be merged; `None` if nothing can.
pub(super) fn collapse(plan: &Plan, nests: &[Nest], outer: usize, loops: &[Loop]) -> Option<Merged> {
    let [nest] = nests else { return None };
    if nest.reduce.is_some() || loops.len() < 2 || outer + 1 != loops.len() {
        return None;
    }
    let accesses = accesses(plan, nest)?;
    let mut merged: Vec<Loop> = vec![loops[loops.len() - 1].clone()];
    let mut zeroed = Vec::new();
    for l in loops[..loops.len() - 1].iter().rev() {
        let inner = &merged[0];
        let fits = accesses.iter().all(|address| {
            let step = |index: u32| address.coefficient_of(&Symbol::index(index));
            match (step(l.index), step(inner.index)) {
                (Some(outer_step), Some(inner_step)) => outer_step == inner_step * inner.extent.clone(),
                _ => false,
            }
        });
        if fits {
            let extent = &l.extent * &inner.extent;
            merged[0] = Loop { index: inner.index, extent };
            zeroed.push(l.index);
        } else {
            merged.insert(0, l.clone());
        }
    }
    (!zeroed.is_empty()).then_some(Merged { loops: merged, zeroed })
}

/// Element indices of everything that a nest of maps reads from and writes to memory; `None` if it uses
/// positions as numbers.
fn accesses(plan: &Plan, nest: &Nest) -> Option<Vec<Dim>> {
    let mut found = Vec::new();
    for &id in &nest.queries {
        let query = plan.query(id);
        let here: Vec<Dim> = (0..query.shape.len()).map(|d| Dim::index(d as u32)).collect();
        found.push(linear(&here, &query.shape));
        for node in plan.arena.reachable(&[query.body]) {
            match plan.arena.node(node) {
                Expr::Read { source: Source::Def(q), .. } if nest.queries.contains(&QueryId(*q)) => {}
                Expr::Read { source, at } => found.push(linear(at, plan.shape_of(*source))),
                Expr::Size(dim) if dim.symbols().any(|s| s.as_index().is_some()) => return None,
                Expr::Size(_) | Expr::Const(_) | Expr::Number(_) | Expr::Map { .. } => {}
                Expr::Reduce { .. } | Expr::Call { .. } => return None,
            }
        }
    }
    Some(found)
}
