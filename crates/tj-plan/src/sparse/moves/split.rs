//! Axes that are two axes to whoever reads.
//!
//! A Kronecker product reads one factor at the quotients of its indices and the other at the remainders. Moved apart, each
//! factor would have as many entries as the result has elements for each of its own. With two axes in place of each such
//! one both are read at indices, and the product of entries is then given its shape. A factor that has another shape than what
//! it is stored in is read at sums of such digits; it becomes a move by itself, in its own shape.

use tj_ir::dim::Factor;
use tj_ir::expr::Indices;
use tj_ir::{Dim, Expr, Shape};

use super::super::has_index;
use super::super::steps::Cutter;
use super::apart::Apart;
use super::is_unfollowed;
use crate::plan::QueryId;

/// An elementwise query with split axes, if several stored tensors are read so in it.
pub(super) fn split(cutter: &Cutter<'_>, id: QueryId) -> Option<Apart> {
    let (plan, query) = (cutter.plan, cutter.plan.query(id));
    if plan.root_reduce(id).is_some() {
        return None;
    }
    let mut by: Vec<Option<Dim>> = vec![None; query.shape.len()];
    let (mut quotients, mut remainders) = (0, 0);
    for (node, source) in plan.reads(id) {
        let Expr::Read { at, .. } = plan.arena.node(node) else { return None };
        if cutter.stored(source).is_none() || !at.iter().any(is_unfollowed) {
            continue;
        }
        for dim in at.iter().filter(|dim| is_unfollowed(dim)) {
            for Part { index, by: divisor, is_quotient } in parts(dim)? {
                let known = by.get_mut(index as usize)?;
                if *known.get_or_insert_with(|| divisor.clone()) != divisor {
                    return None;
                }
                *(if is_quotient { &mut quotients } else { &mut remainders }) += 1;
            }
        }
    }
    if quotients == 0 || remainders == 0 {
        return None;
    }
    let (mut shape, mut inside, mut read) = (Shape::new(), Indices::new(), Indices::new());
    for (axis, (extent, by)) in query.shape.iter().zip(&by).enumerate() {
        let (index, own) = (Dim::index(axis as u32), Dim::index(shape.len() as u32));
        let Some(by) = by else {
            shape.push(extent.clone());
            inside.push(own);
            read.push(index);
            continue;
        };
        shape.push(extent.div_exact(by)?);
        inside.push(own * by + Dim::index(shape.len() as u32));
        shape.push(by.clone());
        read.extend([index.floordiv(by), index.modulo(by)]);
    }
    Some(Apart { node: query.body, shape, inside, read })
}

/// A quotient or a remainder of an index.
struct Part {
    index: u32,
    by: Dim,
    is_quotient: bool,
}

/// The quotients and remainders of indices in an index map, such as both digits of a row that has been given another shape;
/// `None` if anything else in it depends on indices by more than sums.
fn parts(dim: &Dim) -> Option<Vec<Part>> {
    let mut found = Vec::new();
    for summand in dim.summands().ok()? {
        for (factor, power) in summand.factors {
            let (of, by, is_quotient) = match factor {
                Factor::Symbol(_) => continue,
                Factor::FloorDiv(of, by) => (of, by, true),
                Factor::Modulo(of, by) => (of, by, false),
                Factor::Min(a, b) | Factor::Max(a, b) if !has_index(a) && !has_index(b) => continue,
                Factor::Min(..) | Factor::Max(..) => return None,
            };
            if !has_index(of) && !has_index(by) {
                continue;
            }
            let index = of.as_symbol()?.as_index()?;
            if has_index(by) || power != 1 {
                return None;
            }
            found.push(Part { index, by: by.clone(), is_quotient });
        }
    }
    Some(found)
}
