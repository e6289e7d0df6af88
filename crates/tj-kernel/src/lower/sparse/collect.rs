//! Rows of a sparse result that a reduction adds to in any order: a product of sparse matrices, above all.
//!
//! A row has a cell for each place, and three layers of bits: one for each cell that holds something, one for each word of
//! those that is not 0, and one for each word of these. Adding to a cell sets three bits at most; going through the bits from
//! the top gives the entries in order, at a cost that follows their number: an empty layer skips 32768 cells by one word. Bits
//! are taken away on the way, so that the row is empty again for the next task.

use tj_ir::expand::expand;
use tj_ir::{Dim, ReduceOp};
use tj_tensor::DType;

use super::results::Writer;
use super::walk::Range;
use super::{Phase, Walk};
use crate::ir::{BinOp, Buf, CmpOp, LoopKind, Value, Var};

/// Bits in a word, as a power of two.
const WORD: i64 = 5;

/// Cells below one word of the top layer.
const TOP: i64 = 1 << (3 * WORD);

/// A row.
struct Row {
    cells: Option<Buf>,
    /// From the bottom.
    layers: [Buf; 3],
    top: Value,
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
        let count_out = (self.phase == Phase::Count).then(|| self.output(0));
        self.first(loops, &mut |walk, task| {
            let zero = walk.ctx.b.int(0);
            let count = walk.ctx.b.declare(zero);
            let mut writer = (walk.phase == Phase::Fill).then(|| walk.writer(task));
            let rest = if task.is_some() { &loops[1..] } else { loops };
            let left = leading - usize::from(task.is_some());
            walk.loops(&rest[..left], Range::Whole, &tree, &mut |walk| {
                walk.loops(&rest[left..], Range::Whole, &tree, &mut |walk| {
                    let cell = walk.cell(&axes);
                    walk.touch(&row, cell, inner, op);
                });
                walk.emptied(&row, &axes, count, writer.as_mut());
            });
            match (&writer, count_out) {
                (Some(writer), _) => walk.close(writer),
                (None, Some(out)) => {
                    let n = walk.ctx.b.get(count);
                    walk.ctx.b.store(out, task.unwrap_or(zero), n);
                }
                (None, None) => {}
            }
        });
    }

    fn row_memory(&mut self, axes: &[u32]) -> Row {
        let extents: Vec<Dim> = axes.iter().map(|&axis| self.nest.extents[axis as usize].clone()).collect();
        let cells: Dim = extents.iter().product();
        let top = cells.ceildiv(&Dim::from(TOP));
        let layers = [1_i64 << (2 * WORD), 1 << WORD, 1]
            .map(|words| self.ctx.scratch("bits".to_string(), DType::I64, &top * words));
        let dtype = self.nest.plan.queries[0].dtype;
        let cells =
            (self.phase == Phase::Fill).then(|| self.ctx.scratch("row".to_string(), dtype, &top * TOP));
        let zero = self.ctx.b.int(0);
        for (layer, words) in layers.iter().zip([1_i64 << (2 * WORD), 1 << WORD, 1]) {
            let end = self.ctx.size(&(&top * words));
            let var = self.ctx.b.open_loop();
            self.ctx.b.store(*layer, var, zero);
            self.ctx.b.close_loop(LoopKind::Lanes(16), var, zero, end);
        }
        let top = self.ctx.size(&top);
        Row { cells, layers, top }
    }

    /// The cell at the current coordinates.
    fn cell(&mut self, axes: &[u32]) -> Value {
        let extents: Vec<Dim> = axes.iter().map(|&axis| self.nest.extents[axis as usize].clone()).collect();
        let at: Vec<Dim> = axes.iter().map(|&axis| Dim::index(axis)).collect();
        self.ctx.dim(&crate::lower::address::linear(&at, &extents))
    }

    /// Adds a value to a cell.
    fn touch(&mut self, row: &Row, cell: Value, inner: tj_ir::ExprId, op: ReduceOp) {
        let value = row.cells.map(|_| self.value(inner));
        let b = &mut self.ctx.b;
        let (five, mask, one, zero) = (b.int(WORD), b.int((1 << WORD) - 1), b.int(1), b.int(0));
        let word_at = b.binary(BinOp::Sar, cell, five);
        let bit = b.binary(BinOp::And, cell, mask);
        let flag = b.binary(BinOp::Shl, one, bit);
        let word = b.load_here(row.layers[0], word_at);
        let set = b.binary(BinOp::And, word, flag);
        let is_new = b.compare(CmpOp::Eq, set, zero);
        b.open_condition();
        let with = b.binary(BinOp::Or, word, flag);
        b.store(row.layers[0], word_at, with);
        if let (Some(cells), Some(value)) = (row.cells, value) {
            b.store(cells, cell, value);
        }
        // The layers above know already if the word was not empty.
        let was_empty = b.compare(CmpOp::Eq, word, zero);
        b.open_condition();
        let mut at = word_at;
        for &layer in &row.layers[1..] {
            let bit = b.binary(BinOp::And, at, mask);
            let flag = b.binary(BinOp::Shl, one, bit);
            at = b.binary(BinOp::Sar, at, five);
            let word = b.load_here(layer, at);
            let with = b.binary(BinOp::Or, word, flag);
            b.store(layer, at, with);
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

    /// Takes all entries out of a row, in order.
    fn emptied(&mut self, row: &Row, axes: &[u32], count: Var, mut writer: Option<&mut Writer>) {
        let zero = self.ctx.b.int(0);
        let top = self.ctx.b.open_loop();
        self.bits(row.layers[2], top, &mut |walk, middle| {
            walk.bits(row.layers[1], middle, &mut |walk, bottom| {
                walk.bits(row.layers[0], bottom, &mut |walk, cell| match (&mut writer, row.cells) {
                    (Some(writer), Some(cells)) => {
                        let value = walk.ctx.b.load_here(cells, cell);
                        let coordinates = walk.coordinates(axes, cell);
                        walk.write(writer, Some(&coordinates), value);
                    }
                    (_, _) => {
                        let (n, one) = (walk.ctx.b.get(count), walk.ctx.b.int(1));
                        let more = walk.ctx.b.binary(BinOp::Add, n, one);
                        walk.ctx.b.set(count, more);
                    }
                });
            });
        });
        self.ctx.b.close_loop(LoopKind::Serial, top, zero, row.top);
    }

    /// Takes the bits of a word, the lowest first; `body` gets the place in the layer below.
    fn bits(&mut self, layer: Buf, at: Value, body: &mut dyn FnMut(&mut Self, Value)) {
        let b = &mut self.ctx.b;
        let (zero, five) = (b.int(0), b.int(WORD));
        let first = b.load_here(layer, at);
        let some = b.compare(CmpOp::Ne, first, zero);
        b.open_condition();
        b.store(layer, at, zero);
        let start = b.binary(BinOp::Shl, at, five);
        let word = b.declare(first);
        b.open_condition();
        let left = b.get(word);
        let more = b.compare(CmpOp::Ne, left, zero);
        let head = b.close_block();
        b.open_condition();
        let one = b.int(1);
        let less = b.binary(BinOp::Sub, left, one);
        let rest = b.binary(BinOp::And, left, less);
        b.set(word, rest);
        // The lowest bit, and its number: the exponent of the power of two that it is.
        let negative = b.binary(BinOp::Sub, zero, left);
        let low = b.binary(BinOp::And, left, negative);
        let float = b.cast(low, DType::F64);
        let bits = b.bitcast(float, DType::I64);
        let (shift, bias, mask) = (b.int(52), b.int(1023), b.int((1 << WORD) - 1));
        let exponent = b.binary(BinOp::Sar, bits, shift);
        let number = b.binary(BinOp::Sub, exponent, bias);
        let number = b.binary(BinOp::And, number, mask);
        let place = b.binary(BinOp::Add, start, number);
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
