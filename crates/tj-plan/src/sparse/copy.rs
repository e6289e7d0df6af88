//! Copies of expressions that read from somewhere else.

use rustc_hash::FxHashMap;
use tj_ir::{Expr, ExprArena, ExprId};

/// Copies what is below some nodes, but for those that `read` gives another form. `new` says what has been copied.
pub(super) fn copy(
    from: &ExprArena,
    to: &mut ExprArena,
    new: &mut FxHashMap<ExprId, ExprId>,
    roots: &[ExprId],
    read: &mut dyn FnMut(ExprId) -> Option<Expr>,
) {
    for id in from.reachable(roots) {
        if !new.contains_key(&id) {
            let node = read(id).unwrap_or_else(|| from.node(id).map_children(|child| new[&child]));
            new.insert(id, to.intern(node, from.dtype(id)));
        }
    }
}
