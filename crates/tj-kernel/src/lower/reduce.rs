//! Reductions as loops, in exactly the order that their trees state.

use tj_ir::expand::combiner;
use tj_ir::expr::{BLOCK, CONTRACT_BLOCK, row_lanes};
use tj_ir::{Dim, Expr, ExprId, Op, Tree};
use tj_plan::{QueryId, RootReduce};
use tj_tensor::{DType, Scalar};

use super::Ctx;
use super::nest::Nest;
use crate::ir::{BinOp, Buf, CmpOp, LoopKind, Value, Var};

/// One reduction of a nest.
struct Term {
    body: ExprId,
    dtype: DType,
    combine: BinOp,
    identity: Scalar,
    empty: Scalar,
}

impl Ctx<'_> {
    /// Values of the reductions of a nest, over one common extent with one common tree, at the current loops.
    pub(super) fn reductions(&mut self, nest: &Nest, queries: &[QueryId]) -> Vec<Value> {
        let roots: Vec<RootReduce> = queries
            .iter()
            .map(|&id| self.plan.root_reduce(id).expect("a reducing nest holds reductions only"))
            .collect();
        let terms: Vec<Term> = roots
            .iter()
            .zip(queries)
            .map(|(root, &id)| {
                let dtype = self.plan.query(id).dtype;
                let identity = root.op.identity(dtype);
                let empty = root.op.empty(dtype).unwrap_or(identity);
                Term { body: root.body, dtype, combine: combiner(root.op, dtype), identity, empty }
            })
            .collect();
        let RootReduce { tree, index, extent, .. } = &roots[0];
        let index = index.as_index().expect("a reduction runs over an index");
        let n = self.size(extent);
        let results: Vec<Var> = terms
            .iter()
            .map(|term| {
                let empty = self.b.constant(term.empty);
                self.b.declare(empty)
            })
            .collect();
        match tree {
            Tree::Row => self.row(nest, &terms, &results, index, n, extent),
            Tree::Col => self.col(&terms, &results, index, n, extent, &self.plan.query(queries[0]).shape),
            Tree::Contract => self.contract(&terms, &results, index, n, extent),
        }
        results.into_iter().map(|var| self.b.get(var)).collect()
    }

    /// Extends each accumulator by its term at every `index` in `lo..hi`, in order.
    fn chain(&mut self, terms: &[Term], into: &[Var], index: u32, lo: Value, hi: Value) {
        self.run_loop(LoopKind::Serial, index, lo, hi, |ctx| ctx.extend(terms, into));
    }

    /// Extends each accumulator by its term at the current loops.
    fn extend(&mut self, terms: &[Term], into: &[Var]) {
        let bodies: Vec<ExprId> = terms.iter().map(|term| term.body).collect();
        let values = self.values(&bodies);
        for ((term, value), &var) in terms.iter().zip(values).zip(into) {
            let before = self.b.get(var);
            let after = self.b.binary(term.combine, before, value);
            self.b.set(var, after);
        }
    }

    fn accumulators(&mut self, terms: &[Term], lanes: Option<u32>) -> Vec<Var> {
        let declare = |term: &Term| {
            let identity = self.b.constant(term.identity);
            match lanes {
                Some(lanes) => self.b.declare_lanes(lanes, identity),
                None => self.b.declare(identity),
            }
        };
        terms.iter().map(declare).collect()
    }

    /// Fewer elements than lanes: in order. Else lanes in blocks, blocks by halves. Maps over the same elements run
    /// in the loop in lanes, also for a short row, which is then reduced from where they were stored.
    fn row(&mut self, nest: &Nest, terms: &[Term], results: &[Var], index: u32, n: Value, extent: &Dim) {
        let lanes = row_lanes(terms[0].dtype);
        let maps = nest.maps(self.plan);
        let long = |ctx: &mut Self| {
            ctx.in_blocks(terms, results, n, extent, None, |ctx, lo, hi| {
                let accumulators = ctx.accumulators(terms, Some(lanes as u32));
                let kind = LoopKind::Lanes(lanes as u32);
                ctx.run_loop(kind, index, lo, hi, |ctx| {
                    ctx.maps(nest, &maps, false);
                    ctx.extend(terms, &accumulators);
                    ctx.here.clear();
                });
                let folded = accumulators.iter().zip(terms).map(|(&var, term)| ctx.b.fold(var, term.combine));
                folded.collect()
            });
        };
        let short = |ctx: &mut Self| {
            let zero = ctx.b.int(0);
            let empty = ctx.b.compare(CmpOp::Le, n, zero);
            let accumulators = ctx.accumulators(terms, None);
            ctx.chain(terms, &accumulators, index, zero, n);
            for ((term, &var), &result) in terms.iter().zip(&accumulators).zip(results) {
                let total = ctx.b.get(var);
                let nothing = ctx.b.constant(term.empty);
                let total = ctx.b.select(empty, nothing, total);
                ctx.b.set(result, total);
            }
        };
        if Dim::from(lanes).known_le(extent) == Some(true) {
            return long(self);
        }
        let width = self.b.int(lanes);
        let is_short = self.b.compare(CmpOp::Lt, n, width);
        if maps.is_empty() {
            self.if_else(is_short, short, long);
        } else {
            long(self);
            self.if_else(is_short, short, |_| {});
        }
    }

    /// In order in blocks, blocks by halves; every lane of the enclosing loop on its own.
    fn col(&mut self, terms: &[Term], results: &[Var], index: u32, n: Value, extent: &Dim, shape: &[Dim]) {
        // The last axis of the result, whose loop runs in lanes.
        let column = shape.last().map(|columns| (index - 1, columns));
        self.in_blocks(terms, results, n, extent, column, |ctx, lo, hi| {
            let accumulators = ctx.accumulators(terms, None);
            ctx.chain(terms, &accumulators, index, lo, hi);
            accumulators.iter().map(|&var| ctx.b.get(var)).collect()
        });
    }

    /// Cuts `0..n` into blocks, reduces each with `block`, and folds the block results by halves. `results` keep
    /// their value if `n` is 0. Partial results of a column are kept beside those of the other columns.
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
        let one_block = extent.known_le(&Dim::from(BLOCK)) == Some(true);
        if one_block {
            let values = block(self, zero, n);
            for (value, &result) in values.into_iter().zip(results) {
                // Rows without elements are short, and have their own way.
                let total = match column {
                    Some(_) => {
                        let some = self.b.compare(CmpOp::Gt, n, zero);
                        let before = self.b.get(result);
                        self.b.select(some, value, before)
                    }
                    None => value,
                };
                self.b.set(result, total);
            }
            return;
        }
        let count = extent.ceildiv(&Dim::from(BLOCK));
        let columns = column.map_or(Dim::from(1), |(_, columns)| columns.clone());
        let partial: Vec<Buf> = terms
            .iter()
            .map(|term| self.scratch("partial".to_string(), term.dtype, &count * &columns))
            .collect();
        let blocks = self.size(&count);
        let stride = self.size(&columns);
        let position = match column {
            Some((d, _)) => self.index[&d],
            None => zero,
        };
        let step = self.b.int(BLOCK);
        let one = self.b.int(1);
        let many = self.b.compare(CmpOp::Gt, blocks, one);
        let k = self.b.open_loop();
        let lo = self.b.binary(BinOp::Mul, k, step);
        let end = self.b.binary(BinOp::Add, lo, step);
        let hi = self.b.binary(BinOp::Min, n, end);
        let values = block(self, lo, hi);
        for ((value, &buffer), &result) in values.into_iter().zip(&partial).zip(results) {
            self.b.set(result, value);
            let row = self.b.binary(BinOp::Mul, k, stride);
            let slot = self.b.binary(BinOp::Add, row, position);
            self.b.store(buffer, slot, value);
        }
        self.b.close_loop(LoopKind::Serial, k, zero, blocks);
        self.if_else(many, |ctx| ctx.fold_blocks(terms, results, &partial, blocks, stride, position), |_| {});
    }

    /// Partial results `0..blocks` folded by halves, as `tj_ir::expr::fold_halves` does.
    fn fold_blocks(
        &mut self,
        terms: &[Term],
        results: &[Var],
        partial: &[Buf],
        blocks: Value,
        stride: Value,
        position: Value,
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
        let pairs = self.b.binary(BinOp::Sub, m, kept);
        let last = self.b.binary(BinOp::Sub, blocks, one);
        let l = self.b.open_loop();
        for (term, &buffer) in terms.iter().zip(partial) {
            let slot = |ctx: &mut Self, row: Value| {
                let low = ctx.b.binary(BinOp::Min, row, last);
                let row = ctx.b.binary(BinOp::Max, low, zero);
                let start = ctx.b.binary(BinOp::Mul, row, stride);
                ctx.b.binary(BinOp::Add, start, position)
            };
            let other = self.b.binary(BinOp::Add, l, kept);
            let (near, far) = (slot(self, l), slot(self, other));
            let (a, b) = (self.b.load(buffer, near), self.b.load(buffer, far));
            let both = self.b.binary(term.combine, a, b);
            self.b.store(buffer, near, both);
        }
        self.b.close_loop(LoopKind::Serial, l, zero, pairs);
        self.b.set(left, kept);
        let body = self.b.close_block();
        self.b.push_while(head, more, body);
        for (&buffer, &result) in partial.iter().zip(results) {
            let total = self.b.load(buffer, position);
            self.b.set(result, total);
        }
    }

    /// A chain of fused multiply-adds from +0 in blocks; block sums added to +0 in order.
    fn contract(&mut self, terms: &[Term], results: &[Var], index: u32, n: Value, extent: &Dim) {
        let zero = self.b.int(0);
        let step = self.b.int(CONTRACT_BLOCK);
        let blocks = self.size(&extent.ceildiv(&Dim::from(CONTRACT_BLOCK)));
        let k = self.b.open_loop();
        let lo = self.b.binary(BinOp::Mul, k, step);
        let end = self.b.binary(BinOp::Add, lo, step);
        let hi = self.b.binary(BinOp::Min, n, end);
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
            let total = self.b.binary(term.combine, before, block);
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
            | Expr::Reduce { .. } => None,
        };
        match factors {
            Some(factors) => {
                let values = self.values(&factors);
                self.b.fma(values[0], values[1], sum)
            }
            None => {
                let value = self.value(term.body);
                self.b.binary(term.combine, sum, value)
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
