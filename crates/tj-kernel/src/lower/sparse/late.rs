//! Reductions that are computed only where they decide.
//!
//! `where(unseen, sum(...), level)` needs its sum only where `unseen` holds, and so does a conjunction with something that is
//! known already. A reduction goes along lists, so that a jump around it pays where one around arithmetic would not. Nothing
//! else changes: what is not computed is not used, and what is used twice is computed once.

use rustc_hash::FxHashMap;
use tj_ir::{Expr, ExprId, Op};
use tj_tensor::Scalar;

use super::Walk;
use crate::ir::{Block, Value};

/// An argument that is needed in one case only.
pub(super) struct Late {
    /// What says whether it is needed.
    condition: ExprId,
    /// When it is.
    when: bool,
    /// The argument.
    pub argument: ExprId,
    /// The result where it is not needed.
    otherwise: Otherwise,
}

enum Otherwise {
    Value(ExprId),
    Constant(bool),
}

impl Walk<'_> {
    /// The argument of an operator that may be computed late: it has a reduction, and the others do not.
    fn late(&self, id: ExprId) -> Option<Late> {
        let Expr::Map { op, args } = self.node(id) else { return None };
        let has = |id: ExprId| self.has_open_reduction(id);
        let late = |condition, when, argument, otherwise| Some(Late { condition, when, argument, otherwise });
        match (op, args.as_slice()) {
            (Op::Where, &[c, a, b]) if !has(c) => match (has(a), has(b)) {
                (true, false) => late(c, true, a, Otherwise::Value(b)),
                (false, true) => late(c, false, b, Otherwise::Value(a)),
                (_, _) => None,
            },
            (Op::LogicalAnd | Op::LogicalOr | Op::And | Op::Or, &[x, y])
                if self.nest.plan.arena.dtype(x).is_bool() =>
            {
                let ends = matches!(op, Op::LogicalOr | Op::Or);
                match (has(x), has(y)) {
                    (true, false) => late(y, !ends, x, Otherwise::Constant(ends)),
                    (false, true) => late(x, !ends, y, Otherwise::Constant(ends)),
                    (_, _) => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a reduction below a node has not been computed yet.
    pub fn has_open_reduction(&self, id: ExprId) -> bool {
        let (mut open, mut seen) = (vec![id], Vec::new());
        while let Some(node) = open.pop() {
            if seen.contains(&node) || self.known.contains_key(&node) || self.rows.contains_key(&node) {
                continue;
            }
            if matches!(self.node(node), Expr::Reduce { .. }) {
                return true;
            }
            seen.push(node);
            open.extend_from_slice(self.node(node).children());
        }
        false
    }

    /// The operators below some expressions of which an argument is computed late: its reductions are needed nowhere else, since
    /// they would be computed twice.
    pub fn all_late(&self, ids: &[ExprId]) -> FxHashMap<ExprId, Late> {
        let candidates = self.needed(ids, &|_, _| true).into_iter();
        let candidates = candidates.filter_map(|node| Some((node, self.late(node)?)));
        let is_alone = |(node, late): &(ExprId, Late)| {
            let elsewhere = self.needed(ids, &|from, to| (from, to) != (*node, late.argument));
            let below = self.needed(&[late.argument], &|_, _| true);
            let mut reductions = below.iter().filter(|id| matches!(self.node(**id), Expr::Reduce { .. }));
            !reductions.any(|id| elsewhere.contains(id))
        };
        candidates.filter(is_alone).collect()
    }

    /// What is still to be evaluated for some expressions, if it is asked for along `edges`. What a reduction combines is
    /// evaluated inside of its loops.
    pub fn needed(&self, ids: &[ExprId], edges: &dyn Fn(ExprId, ExprId) -> bool) -> Vec<ExprId> {
        let (mut open, mut needed) = (ids.to_vec(), Vec::new());
        while let Some(node) = open.pop() {
            if needed.contains(&node) || self.known.contains_key(&node) {
                continue;
            }
            needed.push(node);
            if !matches!(self.node(node), Expr::Reduce { .. }) {
                open.extend(self.node(node).children().iter().copied().filter(|&child| edges(node, child)));
            }
        }
        needed
    }

    /// The result of an operator whose late argument is computed where it is needed.
    pub fn computed_late(&mut self, late: &Late) -> Value {
        let condition = self.value(late.condition);
        let needed = self.decided(late.condition).map(|holds| holds == late.when);
        if needed == Some(true) {
            return self.value(late.argument);
        }
        let otherwise = match late.otherwise {
            Otherwise::Value(id) => self.value(id),
            Otherwise::Constant(value) => self.ctx.b.constant(Scalar::Bool(value)),
        };
        if needed == Some(false) {
            return otherwise;
        }
        let result = self.ctx.b.declare(otherwise);
        let block = self.conditional(&mut |walk| {
            let value = walk.value(late.argument);
            walk.ctx.b.set(result, value);
        });
        match late.when {
            true => self.ctx.b.push_if(condition, block, Vec::new()),
            false => self.ctx.b.push_if(condition, Vec::new(), block),
        }
        self.ctx.b.get(result)
    }

    /// A block for a condition: what is evaluated inside is not there outside.
    pub fn conditional(&mut self, body: &mut dyn FnMut(&mut Self)) -> Block {
        let (known, readers) = (self.known.clone(), self.readers.clone());
        self.ctx.b.open_condition();
        body(self);
        (self.known, self.readers) = (known, readers);
        self.ctx.b.close_block()
    }
}
