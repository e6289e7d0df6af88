//! Reductions of columns, row by row.
//!
//! **Problem.** Down one column elements are a row apart: each load touches another cache line, and soon another page.
//!
//! **Idea.** A strip of columns has its accumulators in memory, and rows are added to it one after the other, so that what is
//! read lies side by side.
//!
//! **Bits.** In a block each column sees its rows in order, and blocks fold by halves, as the tree states. **Cost.** An accumulator is loaded and stored for each
//! element, in the first-level cache.

use tj_ir::Dim;
use tj_ir::expr::{BLOCK, row_lanes};

use super::blocks::{Share, block_count};
use super::nest::Nest;
use super::reduce::Term;
use super::{Ctx, Loop};
use crate::ir::{BinOp, Buf, CmpOp, LoopKind, Value};

/// Columns of a strip: its accumulators stay in the first-level cache.
const STRIP: i64 = 1024;

/// Half-open range.
type Span = (Value, Value);

/// Where sums of columns go.
pub(super) struct Sums<'s> {
    pub terms: &'s [Term],
    /// The index of columns; that of the reduction comes after it.
    pub column: u32,
    /// A buffer a term: the sum of column `j` is at `start + j`.
    pub into: &'s [Buf],
    pub start: Value,
}

impl Ctx<'_> {
    /// A nest that reduces columns over `extent` rows, for columns `span` of the loop `last`.
    pub(super) fn columns(&mut self, nest: &Nest, extent: &Dim, last: &Loop, span: Span) {
        let terms = self.terms(&nest.queries);
        let one_block =
            matches!(self.share, Share::OneBlock(_)) || extent.known_le(&Dim::from(BLOCK)) == Some(true);
        let count = block_count(extent);
        let len = if one_block { Dim::from(STRIP) } else { &count * &last.extent };
        let scratch = |term: &Term| self.scratch("partial".to_string(), term.dtype, len.clone());
        let partial: Vec<Buf> = terms.iter().map(scratch).collect();
        let zero = self.b.int(0);
        let n = self.size(extent);
        self.strips(span, |ctx, strip| {
            // The sums of one block are read where they are; those of several fold first, beside each other.
            let first = if one_block { ctx.b.binary(BinOp::Sub, zero, strip.0) } else { zero };
            if one_block {
                let sums = Sums { terms: &terms, column: last.index, into: &partial, start: first };
                ctx.add_rows(&sums, strip, (zero, n));
            } else {
                let (blocks, columns) = (ctx.size(&count), ctx.size(&last.extent));
                let k = ctx.b.open_loop();
                let rows = ctx.piece(k, BLOCK, n);
                let start = ctx.b.binary(BinOp::Mul, k, columns);
                ctx.add_rows(&Sums { terms: &terms, column: last.index, into: &partial, start }, strip, rows);
                ctx.b.close_loop(LoopKind::Serial, k, zero, blocks);
            }
            let lanes = LoopKind::Lanes(row_lanes(terms[0].dtype) as u32);
            ctx.run_loop(lanes, last.index, strip.0, strip.1, |ctx| {
                let slot = ctx.b.binary(BinOp::Add, first, ctx.index[&last.index]);
                let results = ctx.results(&terms);
                for (&result, &buffer) in results.iter().zip(&partial) {
                    let sum = ctx.b.load(buffer, slot);
                    ctx.b.set(result, sum);
                }
                if !one_block {
                    ctx.fold_blocks(&terms, &results, &partial, &count, Some((last.index, &last.extent)));
                }
                let some = ctx.b.compare(CmpOp::Gt, n, zero);
                for ((term, result), &id) in terms.iter().zip(results).zip(&nest.queries) {
                    let (total, nothing) = (ctx.b.get(result), ctx.b.constant(term.empty));
                    let total = ctx.b.select(some, total, nothing);
                    ctx.keep(nest, id, total, false);
                }
            });
        });
    }

    /// Reduces `rows` of the columns `span`.
    pub(super) fn column_blocks(&mut self, sums: &Sums<'_>, span: Span, rows: Span) {
        self.strips(span, |ctx, strip| ctx.add_rows(sums, strip, rows));
    }

    fn strips(&mut self, (lo, hi): Span, body: impl FnOnce(&mut Self, Span)) {
        let zero = self.b.int(0);
        let width = self.b.int(STRIP);
        let padding = self.b.int(STRIP - 1);
        let columns = self.b.binary(BinOp::Sub, hi, lo);
        let padded = self.b.binary(BinOp::Add, columns, padding);
        let count = self.b.binary(BinOp::FloorDiv, padded, width);
        let strip = self.b.open_loop();
        let skipped = self.b.binary(BinOp::Mul, strip, width);
        let left = self.b.binary(BinOp::Add, lo, skipped);
        let right = self.b.binary(BinOp::Add, left, width);
        let right = self.b.binary(BinOp::Min, hi, right);
        body(self, (left, right));
        self.b.close_loop(LoopKind::Serial, strip, zero, count);
    }

    /// One strip.
    fn add_rows(&mut self, sums: &Sums<'_>, strip: Span, (first, last): Span) {
        self.lanes(sums, strip, |ctx, slot| {
            for (term, &buffer) in sums.terms.iter().zip(sums.into) {
                let start = ctx.b.constant(term.start);
                ctx.b.store(buffer, slot, start);
            }
        });
        let row = sums.column + 1;
        let start = self.first(sums.terms, row, first, 1);
        self.run_loop(LoopKind::Serial, row, first, last, |ctx| {
            ctx.lanes(sums, strip, |ctx, slot| {
                let values = ctx.term_values(sums.terms);
                for ((&buffer, value), term) in sums.into.iter().zip(values).zip(sums.terms) {
                    let before = ctx.b.load(buffer, slot);
                    let after = ctx.extended(term, before, value, start);
                    ctx.b.store(buffer, slot, after);
                }
            });
        });
    }

    /// Columns in lanes, with the place of each sum.
    fn lanes(&mut self, sums: &Sums<'_>, strip: Span, body: impl FnOnce(&mut Self, Value)) {
        let lanes = LoopKind::Lanes(row_lanes(sums.terms[0].dtype) as u32);
        self.run_loop(lanes, sums.column, strip.0, strip.1, |ctx| {
            let slot = ctx.b.binary(BinOp::Add, sums.start, ctx.index[&sums.column]);
            body(ctx, slot);
        });
    }
}
