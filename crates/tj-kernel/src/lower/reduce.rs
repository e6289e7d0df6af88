//! Reductions as loops, in exactly the order that their trees state.

use tj_ir::expand::{combiner, expand};
use tj_ir::expr::{BLOCK, CONTRACT_BLOCK, row_lanes};
use tj_ir::{Dim, Expr, ExprId, Op, Tree};
use tj_plan::{QueryId, RootReduce};
use tj_tensor::{DType, Scalar};

use super::Ctx;
use super::blocks::{Share, block_count};
use super::nest::Nest;
use crate::ir::{BinOp, Buf, CmpOp, LoopKind, Value, Var};

/// One reduction of a nest.
pub(super) struct Term {
    body: ExprId,
    pub dtype: DType,
    /// The operator that combines.
    op: Op,
    /// The same as one primitive, from the identity; `None` if it starts from the first element.
    primitive: Option<BinOp>,
    /// What accumulators hold before the first element.
    pub start: Scalar,
    pub empty: Scalar,
}

/// The elements of an index below `end`: partial results that start from no identity start there.
#[derive(Clone, Copy)]
pub(super) struct First {
    index: u32,
    end: Value,
}

impl Ctx<'_> {
    /// Values of the reductions of a nest, over one common extent with one common tree, at the current loops.
    pub(super) fn reductions(&mut self, nest: &Nest, queries: &[QueryId]) -> Vec<Value> {
        let RootReduce { tree, index, extent, .. } = self.root(queries[0]);
        if let Some(long) = self.share.folds(tree, &extent) {
            return self.fold(nest, long);
        }
        let terms = self.terms(queries);
        let results = self.results(&terms);
        let index = index.as_index().expect("a reduction runs over an index");
        let n = self.size(&extent);
        match tree {
            Tree::Row => self.row(nest, &terms, &results, index, n, &extent),
            Tree::Col => self.col(&terms, &results, index, n, &extent, &self.plan.query(queries[0]).shape),
            Tree::Contract => self.contract(&terms, &results, index, n, &extent),
            Tree::Chain => self.whole_chain(&terms, &results, index, n),
        }
        results.into_iter().map(|var| self.b.get(var)).collect()
    }

    fn root(&self, id: QueryId) -> RootReduce {
        self.plan.root_reduce(id).expect("a reducing nest holds reductions only")
    }

    pub(super) fn terms(&self, queries: &[QueryId]) -> Vec<Term> {
        let term = |&id: &QueryId| {
            let (root, dtype) = (self.root(id), self.plan.query(id).dtype);
            let empty = root.op.empty_or_any(dtype);
            let start = root.op.start(dtype).unwrap_or(empty);
            let primitive = combiner(root.op, dtype);
            Term { body: root.body, dtype, op: root.op.op(), primitive, start, empty }
        };
        queries.iter().map(term).collect()
    }

    /// Variables for results, which are those of nothing at first.
    pub(super) fn results(&mut self, terms: &[Term]) -> Vec<Var> {
        let declare = |term: &Term| {
            let empty = self.b.constant(term.empty);
            self.b.declare(empty)
        };
        terms.iter().map(declare).collect()
    }

    /// Extends each accumulator by its term at every `index` in `lo..hi`, in order.
    fn chain(&mut self, terms: &[Term], into: &[Var], index: u32, lo: Value, hi: Value) {
        let first = self.first(terms, index, lo, 1);
        self.run_loop(LoopKind::Serial, index, lo, hi, |ctx| ctx.extend(terms, into, first));
    }

    /// The first `count` elements of `index` from `lo` on, if a term starts from them.
    pub(super) fn first(&mut self, terms: &[Term], index: u32, lo: Value, count: i64) -> Option<First> {
        terms.iter().any(|term| term.primitive.is_none()).then(|| {
            let count = self.b.int(count);
            First { index, end: self.b.binary(BinOp::Add, lo, count) }
        })
    }

    /// Extends each accumulator by its term at the current loops.
    fn extend(&mut self, terms: &[Term], into: &[Var], first: Option<First>) {
        let values = self.term_values(terms);
        for ((term, value), &var) in terms.iter().zip(values).zip(into) {
            let before = self.b.get(var);
            let after = self.extended(term, before, value, first);
            self.b.set(var, after);
        }
    }

    /// A partial result with one more value. One that starts from no identity is its first value.
    pub(super) fn extended(
        &mut self,
        term: &Term,
        before: Value,
        value: Value,
        first: Option<First>,
    ) -> Value {
        let both = self.combined(term, before, value);
        match first {
            Some(First { index, end }) if term.primitive.is_none() => {
                let is_first = self.b.compare(CmpOp::Lt, self.index[&index], end);
                self.b.select(is_first, value, both)
            }
            Some(_) | None => both,
        }
    }

    fn combined(&mut self, term: &Term, a: Value, b: Value) -> Value {
        expand(&mut self.b, term.op, &[a, b])
    }

    /// What each term adds at the current loops.
    pub(super) fn term_values(&mut self, terms: &[Term]) -> Vec<Value> {
        let bodies: Vec<ExprId> = terms.iter().map(|term| term.body).collect();
        self.values(&bodies)
    }

    fn accumulators(&mut self, terms: &[Term], lanes: Option<u32>) -> Vec<Var> {
        let declare = |term: &Term| {
            let start = self.b.constant(term.start);
            match lanes {
                Some(lanes) => self.b.declare_lanes(lanes, start),
                None => self.b.declare(start),
            }
        };
        terms.iter().map(declare).collect()
    }

    /// Fewer elements than lanes: in order. Else lanes in blocks, blocks by halves. Maps over the same elements run
    /// in the loop in lanes, also for a short row, which is then reduced from where they were stored.
    fn row(&mut self, nest: &Nest, terms: &[Term], results: &[Var], index: u32, n: Value, extent: &Dim) {
        let lanes = row_lanes(terms[0].dtype);
        let short = |ctx: &mut Self| ctx.whole_chain(terms, results, index, n);
        if Dim::from(lanes).known_le(extent) == Some(true) {
            return self.in_blocks(terms, results, n, extent, None, |ctx, lo, hi| {
                ctx.row_block(Some(nest), terms, index, lo, hi)
            });
        }
        let width = self.b.int(lanes);
        let is_short = self.b.compare(CmpOp::Lt, n, width);
        if nest.maps(self.plan).is_empty() {
            self.if_else(is_short, short, |ctx| {
                ctx.in_blocks(terms, results, n, extent, None, |ctx, lo, hi| {
                    ctx.row_block(None, terms, index, lo, hi)
                });
            });
            return;
        }
        self.in_blocks(terms, results, n, extent, None, |ctx, lo, hi| {
            let accumulators = ctx.in_lanes(Some(nest), terms, index, lo, hi);
            // A short row is one block.
            ctx.if_else(is_short, short, |ctx| {
                let values = ctx.folded(terms, &accumulators, lo, hi);
                results.iter().zip(values).for_each(|(&result, value)| ctx.b.set(result, value));
            });
            results.iter().map(|&result| ctx.b.get(result)).collect()
        });
    }

    /// One block of rows: in lanes, which fold by halves. Maps of the nest run along.
    pub(super) fn row_block(
        &mut self,
        nest: Option<&Nest>,
        terms: &[Term],
        index: u32,
        lo: Value,
        hi: Value,
    ) -> Vec<Value> {
        let accumulators = self.in_lanes(nest, terms, index, lo, hi);
        self.folded(terms, &accumulators, lo, hi)
    }

    /// All elements one after the other.
    fn whole_chain(&mut self, terms: &[Term], results: &[Var], index: u32, n: Value) {
        let zero = self.b.int(0);
        let empty = self.b.compare(CmpOp::Le, n, zero);
        let accumulators = self.accumulators(terms, None);
        self.chain(terms, &accumulators, index, zero, n);
        for ((term, &var), &result) in terms.iter().zip(&accumulators).zip(results) {
            let total = self.b.get(var);
            let nothing = self.b.constant(term.empty);
            let total = self.b.select(empty, nothing, total);
            self.b.set(result, total);
        }
    }

    fn in_lanes(
        &mut self,
        nest: Option<&Nest>,
        terms: &[Term],
        index: u32,
        lo: Value,
        hi: Value,
    ) -> Vec<Var> {
        let lanes = row_lanes(terms[0].dtype) as u32;
        let accumulators = self.accumulators(terms, Some(lanes));
        let first = self.first(terms, index, lo, i64::from(lanes));
        self.run_loop(LoopKind::Lanes(lanes), index, lo, hi, |ctx| {
            if let Some(nest) = nest {
                ctx.maps(nest, &nest.maps(ctx.plan), false);
            }
            ctx.extend(terms, &accumulators, first);
            ctx.here.clear();
        });
        accumulators
    }

    /// Lanes of the elements `lo..hi`, folded by halves.
    fn folded(&mut self, terms: &[Term], accumulators: &[Var], lo: Value, hi: Value) -> Vec<Value> {
        let fold = |(&var, term): (&Var, &Term)| match term.primitive {
            Some(op) => self.b.fold(var, op),
            None => self.fold_lanes(term, var, lo, hi),
        };
        accumulators.iter().zip(terms).map(fold).collect()
    }

    /// Lanes folded in memory, where those without an element can be left out.
    fn fold_lanes(&mut self, term: &Term, lanes: Var, lo: Value, hi: Value) -> Value {
        let count = row_lanes(term.dtype);
        let buffer = self.scratch("lanes".to_string(), term.dtype, Dim::from(count));
        let (zero, width) = (self.b.int(0), self.b.int(count));
        let lane = self.b.open_loop();
        let value = self.b.get(lanes);
        self.b.store(buffer, lane, value);
        self.b.close_loop(LoopKind::Lanes(count as u32), lane, zero, width);
        let elements = self.b.binary(BinOp::Sub, hi, lo);
        let start = self.b.constant(term.start);
        let result = self.b.declare(start);
        self.fold_several(std::slice::from_ref(term), &[result], &[buffer], width, elements, None);
        self.b.get(result)
    }

    /// One block of columns: in order.
    pub(super) fn col_block(&mut self, terms: &[Term], index: u32, lo: Value, hi: Value) -> Vec<Value> {
        let accumulators = self.accumulators(terms, None);
        self.chain(terms, &accumulators, index, lo, hi);
        accumulators.iter().map(|&var| self.b.get(var)).collect()
    }

    /// In order in blocks, blocks by halves; every lane of the enclosing loop on its own.
    fn col(&mut self, terms: &[Term], results: &[Var], index: u32, n: Value, extent: &Dim, shape: &[Dim]) {
        // The last axis of the result, whose loop runs in lanes.
        let column = shape.last().map(|columns| (index - 1, columns));
        self.in_blocks(terms, results, n, extent, column, |ctx, lo, hi| ctx.col_block(terms, index, lo, hi));
        if Dim::ONE.known_le(extent) == Some(true) {
            return;
        }
        let zero = self.b.int(0);
        let some = self.b.compare(CmpOp::Gt, n, zero);
        for (term, &result) in terms.iter().zip(results) {
            let (total, nothing) = (self.b.get(result), self.b.constant(term.empty));
            let total = self.b.select(some, total, nothing);
            self.b.set(result, total);
        }
    }

    /// Cuts `0..n` into blocks, reduces each with `block`, and folds the block results by halves. Nothing is a
    /// block, too; what it gives, callers replace. Partial results of a column are kept beside those of the other columns.
    fn in_blocks(
        &mut self,
        terms: &[Term],
        results: &[Var],
        n: Value,
        extent: &Dim,
        column: Option<(u32, &Dim)>,
        mut block: impl FnMut(&mut Self, Value, Value) -> Vec<Value>,
    ) {
        let zero = self.b.int(0);
        let one_block =
            matches!(self.share, Share::OneBlock(_)) || extent.known_le(&Dim::from(BLOCK)) == Some(true);
        if one_block {
            let values = block(self, zero, n);
            for (value, &result) in values.into_iter().zip(results) {
                self.b.set(result, value);
            }
            return;
        }
        let count = block_count(extent);
        let columns = column.map_or(Dim::from(1), |(_, columns)| columns.clone());
        let partial: Vec<Buf> = terms
            .iter()
            .map(|term| self.scratch("partial".to_string(), term.dtype, &count * &columns))
            .collect();
        let blocks = self.size(&count);
        let k = self.b.open_loop();
        let (lo, hi) = self.piece(k, BLOCK, n);
        let values = block(self, lo, hi);
        for ((value, &buffer), &result) in values.into_iter().zip(&partial).zip(results) {
            self.b.set(result, value);
            let slot = self.slot(k, column);
            self.b.store(buffer, slot, value);
        }
        self.b.close_loop(LoopKind::Serial, k, zero, blocks);
        self.fold_blocks(terms, results, &partial, &count, column);
    }

    /// Where the result of a block is: beside those of the other columns.
    fn slot(&mut self, block: Value, column: Option<(u32, &Dim)>) -> Value {
        let Some((index, columns)) = column else { return block };
        let columns = self.size(columns);
        let start = self.b.binary(BinOp::Mul, block, columns);
        self.b.binary(BinOp::Add, start, self.index[&index])
    }

    /// Sets `results` to the results of blocks `0..count`, folded by halves as `tj_ir::expr::fold_halves` does, if there
    /// are several.
    pub(super) fn fold_blocks(
        &mut self,
        terms: &[Term],
        results: &[Var],
        partial: &[Buf],
        count: &Dim,
        column: Option<(u32, &Dim)>,
    ) {
        let blocks = self.size(count);
        let one = self.b.int(1);
        let many = self.b.compare(CmpOp::Gt, blocks, one);
        self.if_else(many, |ctx| ctx.fold_several(terms, results, partial, blocks, blocks, column), |_| {});
    }

    /// Folds `blocks` partial results by halves; only the first `present` of them are there.
    fn fold_several(
        &mut self,
        terms: &[Term],
        results: &[Var],
        partial: &[Buf],
        blocks: Value,
        present: Value,
        column: Option<(u32, &Dim)>,
    ) {
        let zero = self.b.int(0);
        let one = self.b.int(1);
        let two = self.b.int(2);
        let left = self.b.declare(blocks);
        self.b.open_block();
        let m = self.b.get(left);
        let more = self.b.compare(CmpOp::Gt, m, one);
        let head = self.b.close_block();
        self.b.open_block();
        let m = self.b.get(left);
        // More than one block is left, so the clamps change nothing; they state the bounds.
        let sum = self.b.binary(BinOp::Add, m, one);
        let kept = self.b.binary(BinOp::FloorDiv, sum, two);
        let there = if present == blocks { m } else { self.b.binary(BinOp::Min, m, present) };
        let pairs = self.b.binary(BinOp::Sub, there, kept);
        let last = self.b.binary(BinOp::Sub, blocks, one);
        let l = self.b.open_loop();
        for (term, &buffer) in terms.iter().zip(partial) {
            let slot = |ctx: &mut Self, row: Value| {
                let low = ctx.b.binary(BinOp::Min, row, last);
                let row = ctx.b.binary(BinOp::Max, low, zero);
                ctx.slot(row, column)
            };
            let other = self.b.binary(BinOp::Add, l, kept);
            let (near, far) = (slot(self, l), slot(self, other));
            let (a, b) = (self.b.load(buffer, near), self.b.load(buffer, far));
            let both = self.combined(term, a, b);
            self.b.store(buffer, near, both);
        }
        self.b.close_loop(LoopKind::Serial, l, zero, pairs);
        self.b.set(left, kept);
        let body = self.b.close_block();
        self.b.push_while(head, more, body);
        let first = self.slot(zero, column);
        for (&buffer, &result) in partial.iter().zip(results) {
            let total = self.b.load(buffer, first);
            self.b.set(result, total);
        }
    }

    /// A chain of fused multiply-adds from +0 in blocks; block sums added to +0 in order.
    fn contract(&mut self, terms: &[Term], results: &[Var], index: u32, n: Value, extent: &Dim) {
        let zero = self.b.int(0);
        let blocks = self.size(&extent.ceildiv(&Dim::from(CONTRACT_BLOCK)));
        let k = self.b.open_loop();
        let (lo, hi) = self.piece(k, CONTRACT_BLOCK, n);
        for (term, &result) in terms.iter().zip(results) {
            let start = self.b.constant(Scalar::zero(term.dtype));
            let sum = self.b.declare(start);
            self.run_loop(LoopKind::Serial, index, lo, hi, |ctx| {
                let before = ctx.b.get(sum);
                let after = ctx.multiply_add(term, before);
                ctx.b.set(sum, after);
            });
            let block = self.b.get(sum);
            let before = self.b.get(result);
            let total = self.combined(term, before, block);
            self.b.set(result, total);
        }
        self.b.close_loop(LoopKind::Serial, k, zero, blocks);
    }

    fn multiply_add(&mut self, term: &Term, sum: Value) -> Value {
        let factors = match self.plan.arena.node(term.body) {
            Expr::Map { op: Op::Mul, args } if term.dtype.is_float() => Some([args[0], args[1]]),
            Expr::Map { .. }
            | Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => None,
        };
        match factors {
            Some(factors) => {
                let values = self.values(&factors);
                self.b.fma(values[0], values[1], sum)
            }
            None => {
                let value = self.value(term.body);
                self.combined(term, sum, value)
            }
        }
    }

    fn if_else(&mut self, cond: Value, then: impl FnOnce(&mut Self), els: impl FnOnce(&mut Self)) {
        self.b.open_block();
        then(self);
        let then = self.b.close_block();
        self.b.open_block();
        els(self);
        let els = self.b.close_block();
        self.b.push_if(cond, then, els);
    }
}
