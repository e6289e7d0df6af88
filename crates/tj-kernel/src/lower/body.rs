//! Expressions as values of the kernel.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expand::expand;
use tj_ir::expr::Source;
use tj_ir::prim::Machine;
use tj_ir::{Dim, Expr, ExprId};
use tj_plan::QueryId;
use tj_tensor::{DType, Scalar};

use super::{Ctx, Local};
use crate::build::Builder;
use crate::ir::{BinOp, CmpOp, UnOp, Value};

impl Machine for Builder {
    type V = Value;

    fn dtype(&self, v: Value) -> DType {
        Builder::dtype(self, v)
    }

    fn constant(&mut self, c: Scalar) -> Value {
        Builder::constant(self, c)
    }

    fn unary(&mut self, op: UnOp, a: Value) -> Value {
        Builder::unary(self, op, a)
    }

    fn binary(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        Builder::binary(self, op, a, b)
    }

    fn compare(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        Builder::compare(self, op, a, b)
    }

    fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        Builder::select(self, c, a, b)
    }

    fn cast(&mut self, a: Value, to: DType) -> Value {
        Builder::cast(self, a, to)
    }

    fn bitcast(&mut self, a: Value, to: DType) -> Value {
        Builder::bitcast(self, a, to)
    }
}

impl Ctx<'_> {
    /// The value of an expression without reductions at the current loops.
    pub(super) fn value(&mut self, id: ExprId) -> Value {
        self.values(&[id])[0]
    }

    /// Several expressions at once, sharing what they have in common.
    pub(super) fn values(&mut self, ids: &[ExprId]) -> Vec<Value> {
        let plan = self.plan;
        let mut done: FxHashMap<ExprId, Value> = FxHashMap::default();
        for node in plan.arena.reachable(ids) {
            let value = match plan.arena.node(node) {
                Expr::Const(c) => self.b.constant(*c),
                Expr::Number(n) => self.number(*n, plan.arena.dtype(node)),
                Expr::Size(dim) => self.dim(dim),
                Expr::Read { source, at } => self.read(*source, at),
                Expr::Map { op, args } => {
                    let args: SmallVec<[Value; 3]> = args.iter().map(|arg| done[arg]).collect();
                    expand(&mut self.b, *op, &args)
                }
                Expr::Reduce { .. } => panic!("lower: a reduction below the root of a query"),
                Expr::Call { .. } => panic!("lower: a call among other expressions"),
            };
            done.insert(node, value);
        }
        ids.iter().map(|id| done[id]).collect()
    }

    pub(super) fn number(&mut self, number: u32, dtype: DType) -> Value {
        if let Some(&value) = self.number_values.get(&number) {
            return value;
        }
        let value = self.b.param(dtype);
        self.numbers.push(number);
        self.number_values.insert(number, value);
        value
    }

    fn read(&mut self, source: Source, at: &[Dim]) -> Value {
        if let Source::Def(q) = source {
            if let Some(&value) = self.here.get(&QueryId(q)) {
                return value;
            }
            if let Some(Local::Value(value)) = self.locals.get(&QueryId(q)) {
                return *value;
            }
        }
        let (buffer, index) = self.locate(source, at);
        if self.may_leave_loops(source, at) {
            self.b.load(buffer, index)
        } else {
            self.b.load_here(buffer, index)
        }
    }
}
