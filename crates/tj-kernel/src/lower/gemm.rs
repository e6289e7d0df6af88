//! Dense contractions: a library call on a panel of rows, then what follows while the rows are in cache.

use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprId, Op, Symbol};
use tj_plan::group::is_dense_contraction;
use tj_plan::{Plan, QueryId};

use super::address::linear;
use super::nest::Nest;
use super::{Ctx, Local, PANEL};
use crate::ir::{BinOp, Gemm, LoopKind, Matrix, Value};

/// A contraction `c[.., i, j] = sum over k of a[.., i, k] * b[.., k, j]` whose factors are strided matrices.
#[derive(Clone, Debug)]
pub(super) struct GemmCall {
    a: Factor,
    b: Factor,
    /// Extents of i, j, k.
    m: Dim,
    n: Dim,
    k: Dim,
}

/// A factor: element `(r, c)` at `offset + r * row_stride + c * col_stride`; the offset may use batch indices.
#[derive(Clone, Debug)]
struct Factor {
    source: Source,
    offset: Dim,
    row_stride: Dim,
    col_stride: Dim,
}

impl GemmCall {
    /// Rough cost of one row: a fused multiply-add takes the library as long as an addition in lanes.
    pub(super) fn cost(&self) -> Dim {
        &self.n * &self.k
    }
}

/// The library call for a query, if it is one.
pub(super) fn gemm_call(plan: &Plan, id: QueryId) -> Option<GemmCall> {
    if !is_dense_contraction(plan, id) {
        return None;
    }
    let root = plan.root_reduce(id)?;
    let shape = &plan.query(id).shape;
    let rank = shape.len();
    let Expr::Map { op: Op::Mul, args } = plan.arena.node(root.body) else { return None };
    let symbol = |d: usize| Symbol::index(d as u32);
    let (i, j) = (symbol(rank.checked_sub(2)?), symbol(rank - 1));
    // Either factor may have the rows: a product is the same both ways.
    let both = |a: ExprId, b: ExprId| {
        Some((factor(plan, a, &i, &root.index, &j)?, factor(plan, b, &root.index, &j, &i)?))
    };
    let (a, b) = both(args[0], args[1]).or_else(|| both(args[1], args[0]))?;
    Some(GemmCall { a, b, m: shape[rank - 2].clone(), n: shape[rank - 1].clone(), k: root.extent })
}

fn factor(plan: &Plan, id: ExprId, row: &Symbol, col: &Symbol, absent: &Symbol) -> Option<Factor> {
    let Expr::Read { source, at } = plan.arena.node(id) else { return None };
    let address = linear(at, plan.shape_of(*source));
    let row_stride = address.coefficient_of(row)?;
    let col_stride = address.coefficient_of(col)?;
    let offset = address.without(row).without(col);
    let loops = |dim: &Dim| dim.symbols().any(|s| s.as_index().is_some());
    if address.mentions(absent) || loops(&row_stride) || loops(&col_stride) {
        return None;
    }
    Some(Factor { source: *source, offset, row_stride, col_stride })
}

impl Ctx<'_> {
    /// Emits the contraction at the head of a group and the nests that follow it.
    pub(super) fn contraction(&mut self, head: QueryId, call: &GemmCall, nests: &[Nest]) {
        let shape = self.plan.query(head).shape.clone();
        let batch = shape.len() - 2;
        let (lo, hi) = self.b.task();
        if batch == 0 {
            self.panels(head, call, nests, lo, hi);
            return;
        }
        let loops: Vec<super::Loop> =
            (0..batch).map(|d| super::Loop { index: d as u32, extent: shape[d].clone() }).collect();
        self.outer_loops(&loops, 0, &mut |ctx| {
            let zero = ctx.b.int(0);
            let m = ctx.size(&call.m);
            ctx.panels(head, call, nests, zero, m);
        });
    }

    /// Rows `lo..hi` of one matrix.
    fn panels(&mut self, head: QueryId, call: &GemmCall, nests: &[Nest], lo: Value, hi: Value) {
        if !self.is_local(head) {
            self.call(head, call, lo, hi);
            self.rows(nests, call, lo, hi);
            return;
        }
        let dtype = self.plan.query(head).dtype;
        let rows = call.m.min(&Dim::from(PANEL));
        let buffer = self.scratch(format!("panel_{head}"), dtype, &call.n * &rows);
        let zero = self.b.int(0);
        let step = self.b.int(PANEL);
        let rows = self.b.binary(BinOp::Sub, hi, lo);
        let padded = self.b.int(PANEL - 1);
        let padded = self.b.binary(BinOp::Add, rows, padded);
        let count = self.b.binary(BinOp::FloorDiv, padded, step);
        let p = self.b.open_loop();
        let skipped = self.b.binary(BinOp::Mul, p, step);
        let first = self.b.binary(BinOp::Add, lo, skipped);
        let end = self.b.binary(BinOp::Add, first, step);
        let end = self.b.binary(BinOp::Min, hi, end);
        self.locals.insert(head, Local::Panel { buffer, first });
        self.call(head, call, first, end);
        self.rows(nests, call, first, end);
        self.b.close_loop(LoopKind::Serial, p, zero, count);
    }

    fn rows(&mut self, nests: &[Nest], call: &GemmCall, lo: Value, hi: Value) {
        if nests.is_empty() {
            return;
        }
        let row = self.outer as u32 - 1;
        debug_assert_eq!(self.plan.query(self.group.queries[0]).shape[row as usize], call.m);
        self.run_loop(LoopKind::Serial, row, lo, hi, |ctx| {
            for nest in nests {
                ctx.nest(nest, &[], None);
            }
        });
    }

    fn call(&mut self, head: QueryId, call: &GemmCall, lo: Value, hi: Value) {
        let m = self.b.binary(BinOp::Sub, hi, lo);
        let (n, k) = (self.size(&call.n), self.size(&call.k));
        let a = self.matrix(&call.a, Some(lo));
        let b = self.matrix(&call.b, None);
        let one = self.b.int(1);
        let c = match self.locals.get(&head) {
            Some(&Local::Panel { buffer, .. }) => {
                Matrix { buffer, offset: self.b.int(0), row_stride: n, col_stride: one }
            }
            _ => {
                let rank = self.plan.query(head).shape.len();
                let mut at: Vec<Dim> = (0..rank - 2).map(|d| Dim::index(d as u32)).collect();
                at.extend([Dim::from(0), Dim::from(0)]);
                let (buffer, start) = self.locate(Source::Def(head.0), &at);
                let skipped = self.b.binary(BinOp::Mul, lo, n);
                let offset = self.b.binary(BinOp::Add, start, skipped);
                Matrix { buffer, offset, row_stride: n, col_stride: one }
            }
        };
        let dtype = self.plan.query(head).dtype;
        self.b.gemm(Gemm { dtype, m, n, k, a, b, c });
    }

    /// A factor from row `first` on.
    fn matrix(&mut self, factor: &Factor, first: Option<Value>) -> Matrix {
        let buffer = self.source(factor.source);
        let mut offset = self.dim(&factor.offset);
        let row_stride = self.size(&factor.row_stride);
        if let Some(first) = first {
            let skipped = self.b.binary(BinOp::Mul, first, row_stride);
            offset = self.b.binary(BinOp::Add, offset, skipped);
        }
        Matrix { buffer, offset, row_stride, col_stride: self.size(&factor.col_stride) }
    }
}
