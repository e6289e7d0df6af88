//! Reductions that are computed for a whole row of memory, before the loop that uses them.

use tj_ir::ExprId;
use tj_ir::expand::expand;
use tj_ir::expr::Source;
use tj_plan::sparse::order::chain;
use tj_plan::sparse::rows::rows;

use super::results::LANES;
use super::walk::Range;
use super::{Walk, stored};
use crate::ir::{LoopKind, Value};

impl Walk<'_> {
    /// Computes what reductions below `inner` give for all of `index`, where the lists that they go along allow that. Until
    /// `self.rows` is emptied, they are read from there.
    pub fn keep_rows(&mut self, index: u32, inner: ExprId) {
        let is_stored = |source: Source| stored(self.nest, source).is_some();
        let fills = |node: ExprId| self.spaces[&node].fill;
        for id in rows(&self.nest.plan.arena, inner, index, &is_stored, &fills) {
            self.keep_row(index, id);
        }
    }

    fn keep_row(&mut self, index: u32, id: ExprId) {
        let (op, indices, body) =
            chain(&self.nest.plan.arena, id).expect("a reduction is a chain of at least itself");
        let dtype = self.nest.plan.arena.dtype(id);
        let extent = self.nest.extents[index as usize].clone();
        let row = self.ctx.scratch("sums".to_string(), dtype, extent.clone());
        let start = self.neutral(op, dtype);
        let start = self.ctx.b.constant(start);
        let (zero, end) = (self.ctx.b.int(0), self.ctx.size(&extent));
        self.set_all(row, start, zero, end);
        let tree = self.tree(body);
        let outside = self.readers.clone();
        self.loops(&indices, Range::Whole, &tree, &mut |walk| {
            walk.read_ahead();
            walk.everywhere(index, Range::Whole, LoopKind::Lanes(LANES), &mut |walk| {
                let value = walk.value(body);
                let at = walk.ctx.index[&index];
                let before = walk.ctx.b.load_here(row, at);
                let after = expand(&mut walk.ctx.b, op.op(), &[before, value]);
                walk.ctx.b.store(row, at, after);
            });
        });
        self.readers = outside;
        self.rows.insert(id, (row, index));
    }

    /// What a reduction that was computed for a whole row gives here.
    pub fn kept(&mut self, id: ExprId) -> Option<Value> {
        let (row, index) = *self.rows.get(&id)?;
        let at = *self.ctx.index.get(&index)?;
        Some(self.ctx.b.load_here(row, at))
    }
}
