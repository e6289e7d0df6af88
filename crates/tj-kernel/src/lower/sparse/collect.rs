//! Rows of a sparse result that a reduction adds to in any order: a product of sparse matrices, above all.
//!
//! A row has a cell for each place, and three layers of bits: one for each cell that holds something, one for each word of
//! those that is not 0, and one for each word of these. Adding to a cell sets three bits at most; going through the bits from
//! the top gives the entries in order, at a cost that follows their number: an empty layer skips 262144 cells by one word. Bits
//! are taken away on the way, so that the row is empty again for the next task. Where entries are counted, a cell counts when
//! its bit is set, and words are emptied without a look at their bits.

use tj_ir::expand::expand;
use tj_ir::{Dim, ReduceOp};
use tj_tensor::DType;

use super::results::Writer;
use super::walk::Range;
use super::{Phase, Walk};
use crate::ir::{BinOp, Buf, CmpOp, LoopKind, UnOp, Value, Var};

/// Bits in a word, as a power of two.
const WORD: i64 = 6;

/// One layer of bits, or the cells below them.
#[derive(Clone, Copy)]
struct Layer {
    words: Buf,
    /// How many there are.
    len: Value,
}

/// A row.
struct Row {
    /// None where entries are only counted.
    cells: Option<Buf>,
    n_cells: Value,
    /// From the bottom.
    layers: [Layer; 3],
}

impl Walk<'_> {
    /// Counts or writes what a reduction among the loops of the result gives.
    pub fn collected(&mut self, loops: &[u32], op: ReduceOp) {
        let rank = self.rank();
        let (inner, tree) = (self.nest.inner, self.tree(self.nest.inner));
        let leading = loops.iter().take_while(|&&index| (index as usize) < rank).count();
        // Axes inside of the first reduced loop, in the order of the result's columns.
        let axes: Vec<u32> =
            loops[leading..].iter().copied().filter(|&index| (index as usize) < rank).collect();
        let row = self.row_memory(&axes);
        self.tasks_of(loops, &mut |walk, rest, mut results| {
            let left = leading - (loops.len() - rest.len());
            walk.loops(&rest[..left], Range::Whole, &tree, &mut |walk| {
                walk.loops(&rest[left..], Range::Whole, &tree, &mut |walk| {
                    let cell = walk.cell(&axes);
                    walk.touch(&row, cell, inner, op, results.count());
                });
                walk.emptied(&row, &axes, results.writer());
            });
        });
    }

    fn row_memory(&mut self, axes: &[u32]) -> Row {
        let extents: Vec<Dim> = axes.iter().map(|&axis| self.nest.extents[axis as usize].clone()).collect();
        let cells: Dim = extents.iter().product();
        let n_cells = self.ctx.size(&cells);
        let dtype = self.nest.plan.queries[0].dtype;
        let memory =
            (self.phase == Phase::Fill).then(|| self.ctx.scratch("row".to_string(), dtype, cells.clone()));
        let zero = self.ctx.b.int(0);
        let mut words = cells;
        let layers = [(); 3].map(|()| {
            words = words.ceildiv(&Dim::from(1_i64 << WORD));
            let layer = Layer {
                words: self.ctx.scratch("bits".to_string(), DType::I64, words.clone()),
                len: self.ctx.size(&words),
            };
            self.set_all(layer.words, zero, zero, layer.len);
            layer
        });
        Row { cells: memory, n_cells, layers }
    }

    /// The cell at the current coordinates.
    fn cell(&mut self, axes: &[u32]) -> Value {
        let extents: Vec<Dim> = axes.iter().map(|&axis| self.nest.extents[axis as usize].clone()).collect();
        let at: Vec<Dim> = axes.iter().map(|&axis| Dim::index(axis)).collect();
        self.ctx.dim(&crate::lower::address::linear(&at, &extents))
    }

    /// Adds a value to a cell, or counts the cell if it is new.
    fn touch(&mut self, row: &Row, cell: Value, inner: tj_ir::ExprId, op: ReduceOp, count: Option<Var>) {
        let value = row.cells.map(|_| self.value(inner));
        let start = self.neutral(op, self.nest.plan.queries[0].dtype);
        let b = &mut self.ctx.b;
        let (word_bits, mask, one, zero) = (b.int(WORD), b.int((1 << WORD) - 1), b.int(1), b.int(0));
        let word_at = b.binary(BinOp::Sar, cell, word_bits);
        let bit = b.binary(BinOp::And, cell, mask);
        let flag = b.binary(BinOp::Shl, one, bit);
        let word = b.load_here(row.layers[0].words, word_at);
        let set = b.binary(BinOp::And, word, flag);
        let is_new = b.compare(CmpOp::Eq, set, zero);
        b.open_condition();
        let with = b.binary(BinOp::Or, word, flag);
        b.store(row.layers[0].words, word_at, with);
        if let (Some(cells), Some(value)) = (row.cells, value) {
            // As reductions in registers start: so a sum whose only term is -0 is 0 in every order of loops.
            let start = b.constant(start);
            let first = expand(b, op.op(), &[start, value]);
            b.store(cells, cell, first);
        }
        if let Some(count) = count {
            let n = b.get(count);
            let more = b.binary(BinOp::Add, n, one);
            b.set(count, more);
        }
        // The layers above know already if the word was not empty.
        let was_empty = b.compare(CmpOp::Eq, word, zero);
        b.open_condition();
        let mut at = word_at;
        for layer in &row.layers[1..] {
            let bit = b.binary(BinOp::And, at, mask);
            let flag = b.binary(BinOp::Shl, one, bit);
            at = b.binary(BinOp::Sar, at, word_bits);
            let word = b.load_here(layer.words, at);
            let with = b.binary(BinOp::Or, word, flag);
            b.store(layer.words, at, with);
        }
        let then = b.close_block();
        b.push_if(was_empty, then, Vec::new());
        let fresh = b.close_block();
        b.open_condition();
        if let (Some(cells), Some(value)) = (row.cells, value) {
            let before = b.load_here(cells, cell);
            let after = expand(b, op.op(), &[before, value]);
            b.store(cells, cell, after);
        }
        let again = b.close_block();
        b.push_if(is_new, fresh, again);
    }

    /// Takes all entries out of a row, in order, and writes them down where that is asked for.
    fn emptied(&mut self, row: &Row, axes: &[u32], mut writer: Option<&mut Writer>) {
        let zero = self.ctx.b.int(0);
        let [bottom, middle, top] = row.layers;
        let word = self.ctx.b.open_loop();
        self.bits(top, word, middle.len, &mut |walk, at| {
            walk.bits(middle, at, bottom.len, &mut |walk, at| match (&mut writer, row.cells) {
                (Some(writer), Some(cells)) => walk.bits(bottom, at, row.n_cells, &mut |walk, cell| {
                    let value = walk.ctx.b.load_here(cells, cell);
                    let coordinates = walk.coordinates(axes, cell);
                    walk.write(writer, Some(&coordinates), value);
                }),
                (_, _) => walk.ctx.b.store(bottom.words, at, zero),
            });
        });
        self.ctx.b.close_loop(LoopKind::Serial, word, zero, top.len);
    }

    /// Takes the bits of a word, the lowest first; `body` gets the place in the layer below, which has `len`.
    fn bits(&mut self, layer: Layer, at: Value, len: Value, body: &mut dyn FnMut(&mut Self, Value)) {
        let b = &mut self.ctx.b;
        let (zero, one, word_bits) = (b.int(0), b.int(1), b.int(WORD));
        let first = b.load_here(layer.words, at);
        let some = b.compare(CmpOp::Ne, first, zero);
        b.open_condition();
        b.store(layer.words, at, zero);
        let start = b.binary(BinOp::Shl, at, word_bits);
        let last = b.binary(BinOp::Sub, len, one);
        let word = b.declare(first);
        b.open_condition();
        let left = b.get(word);
        let more = b.compare(CmpOp::Ne, left, zero);
        let head = b.close_block();
        b.open_condition();
        let less = b.binary(BinOp::Sub, left, one);
        let rest = b.binary(BinOp::And, left, less);
        b.set(word, rest);
        let number = b.unary(UnOp::TrailingZeros, left);
        let place = b.binary(BinOp::Add, start, number);
        // No bit is set beyond the last place; this says so.
        let place = b.binary(BinOp::Min, place, last);
        body(self, place);
        let b = &mut self.ctx.b;
        let round = b.close_block();
        b.push_while(head, more, round);
        let then = b.close_block();
        b.push_if(some, then, Vec::new());
    }

    /// The coordinates of a cell, beside those of the loops outside.
    fn coordinates(&mut self, axes: &[u32], cell: Value) -> Vec<Value> {
        let mut of_axes: Vec<(u32, Value)> = Vec::new();
        let mut rest = cell;
        for (place, &axis) in axes.iter().enumerate().rev() {
            if place == 0 {
                of_axes.push((axis, rest));
                break;
            }
            let extent = self.ctx.size(&self.nest.extents[axis as usize].clone());
            of_axes.push((axis, self.ctx.b.binary(BinOp::Mod, rest, extent)));
            rest = self.ctx.b.binary(BinOp::FloorDiv, rest, extent);
        }
        let find = |index: &u32| of_axes.iter().find(|(axis, _)| axis == index).map(|&(_, value)| value);
        self.columns.iter().map(|index| find(index).unwrap_or_else(|| self.ctx.index[index])).collect()
    }
}
