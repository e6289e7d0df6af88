//! Updates of arguments that are given for good.
//!
//! A selection between new values and such an argument, by a condition that is stored, is walked where the condition has
//! entries: the argument is the rest of the result, in whose memory it may be.

use rustc_hash::FxHashMap;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op};
use tj_tensor::Scalar;

use super::plain;
use super::space::Space;
use super::steps::Cutter;
use crate::plan::QueryId;

impl Cutter<'_> {
    /// The argument of which a result is an update: it is dense, given for good, and selected at its own places wherever the
    /// condition has no entry.
    pub fn updated(
        &self,
        id: QueryId,
        arena: &ExprArena,
        body: ExprId,
        spaces: &FxHashMap<ExprId, Space>,
    ) -> Option<Source> {
        let Expr::Map { op: Op::Where, args } = arena.node(body) else { return None };
        let &[condition, yes, no] = args.as_slice() else { return None };
        let Space { fill: Some(Scalar::Bool(fill)), tree } = &spaces[&condition] else { return None };
        let base = if *fill { yes } else { no };
        let Expr::Read { source: source @ Source::Input(i), at } = arena.node(base) else { return None };
        let (query, declared) = (self.plan.query(id), self.declared(*source));
        let is_own = |(axis, dim): (usize, &Dim)| plain(dim) == Some(axis as u32);
        let fits = self.owned.get(*i as usize) == Some(&true)
            && self.stored(*source).is_none()
            && self.plan.produces.0.contains(&Source::Def(id.0))
            && declared.shape == query.shape
            && declared.dtype == query.dtype
            && at.iter().enumerate().all(is_own)
            && !tree.leaves().is_empty();
        fits.then_some(*source)
    }
}
