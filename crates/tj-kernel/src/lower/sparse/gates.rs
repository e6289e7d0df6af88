//! Loops that are left out where a factor is 0.
//!
//! A vector of labels that is read as a dense one is 0 nearly everywhere, and with it all that is multiplied by it. What one
//! factor decides is asked as soon as its indices are known, around the loops over the others: where it makes everything neutral
//! to the reduction, these do not run. Around arithmetic alone a jump does not pay.
//!
//! **Rules.** Of what is reduced, a product of integers is 0 where a factor is, and a selection is its constant where its condition
//! holds; a sum of what is 0 is 0. A product of floats may be anything where one is 0; what is stored by levels says by a selection that
//! it is not. Nothing else changes: what is left out would have been neutral.

use rustc_hash::FxHashSet;
use tj_ir::expr::Source;
use tj_ir::{Expr, ExprId, Op, ReduceOp};
use tj_plan::sparse::space::Tree;
use tj_tensor::Scalar;

use super::Walk;
use super::walk::Range;
use crate::ir::{BinOp, CmpOp, UnOp, Value};

/// Where what is reduced is neutral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Gate {
    /// Where this is 0.
    Zero(ExprId),
    /// Where this condition has this value.
    Is(ExprId, bool),
}

/// What is inside of some loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    Arithmetic,
    /// Other loops.
    Loops,
}

impl Walk<'_> {
    /// Nested loops over some indices, of which what is inside of another one is left out where a gate says so.
    pub fn gated_loops(
        &mut self,
        indices: &[u32],
        tree: &Tree,
        (gates, inner): (&[Gate], Inner),
        body: &mut dyn FnMut(&mut Self),
    ) {
        let Some((&first, rest)) = indices.split_first() else { return body(self) };
        self.walk(first, tree, Range::Whole, &mut |walk| match (rest, inner) {
            ([], Inner::Arithmetic) => body(walk),
            (_, _) => walk.gated(gates, &mut |walk| walk.gated_loops(rest, tree, (gates, inner), body)),
        });
    }

    /// Where something is neutral to a reduction by an operator, as far as single factors say.
    pub fn gates(&self, op: ReduceOp, inner: ExprId) -> Vec<Gate> {
        let mut gates = Vec::new();
        let dtype = self.nest.plan.arena.dtype(inner);
        // Others start from their first element.
        if op.start(dtype).is_some() {
            let mut asked = FxHashSet::default();
            self.forced(inner, self.neutral(op, dtype), &mut asked, &mut gates);
        }
        gates
    }

    /// Where an expression has this value; what was `asked` before is not looked at again.
    fn forced(
        &self,
        id: ExprId,
        value: Scalar,
        asked: &mut FxHashSet<(ExprId, Scalar)>,
        gates: &mut Vec<Gate>,
    ) {
        if !asked.insert((id, value)) {
            return;
        }
        let arena = &self.nest.plan.arena;
        let dtype = arena.dtype(id);
        let is_zero = !dtype.is_float() && !dtype.is_complex() && value == Scalar::zero(dtype);
        let is_value = |id: ExprId| matches!(self.node(id), Expr::Const(own) if *own == value);
        match self.node(id) {
            Expr::Read { .. } if is_zero => gates.push(Gate::Zero(id)),
            Expr::Map { op: Op::Mul | Op::LogicalAnd, args } if is_zero => {
                args.iter().for_each(|&arg| self.forced(arg, Scalar::zero(arena.dtype(arg)), asked, gates));
            }
            Expr::Map { op: Op::Cast(_), args } if value == Scalar::zero(dtype) => {
                let from = arena.dtype(args[0]);
                if !from.is_float() && !from.is_complex() {
                    self.forced(args[0], Scalar::zero(from), asked, gates);
                }
            }
            Expr::Map { op: Op::Where, args } => {
                let (condition, yes, no) = (args[0], args[1], args[2]);
                if is_value(yes) {
                    gates.push(Gate::Is(condition, true));
                    if let Expr::Map { op: Op::Equal, args } = self.node(condition)
                        && let Expr::Const(fill) = self.node(args[1])
                    {
                        self.forced(args[0], *fill, asked, gates);
                    }
                    self.forced(no, value, asked, gates);
                } else if is_value(no) {
                    gates.push(Gate::Is(condition, false));
                    self.forced(yes, value, asked, gates);
                }
            }
            Expr::Reduce { op: ReduceOp::Sum, body, .. } if value == Scalar::zero(dtype) => {
                self.forced(*body, Scalar::zero(arena.dtype(*body)), asked, gates);
            }
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Map { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => {}
        }
    }

    /// Runs `body`, but not where a gate that can be asked here, and was not asked outside, says that nothing comes of it.
    pub fn gated(&mut self, gates: &[Gate], body: &mut dyn FnMut(&mut Self)) {
        let asked: Vec<Gate> = gates
            .iter()
            .copied()
            .filter(|gate| !self.open_gates.contains(gate) && self.is_known(*gate))
            .collect();
        let skips: Vec<Value> = asked.iter().filter_map(|gate| self.skips(*gate)).collect();
        let Some(skip) = skips.into_iter().reduce(|one, other| self.ctx.b.binary(BinOp::Or, one, other))
        else {
            return body(self);
        };
        let outside = self.open_gates.len();
        self.open_gates.extend(asked);
        let block = self.conditional(body);
        self.open_gates.truncate(outside);
        self.ctx.b.push_if(skip, Vec::new(), block);
    }

    /// Whether a gate depends on nothing but dense arguments at indices that are known, wherever it is asked: a loop that a read stays
    /// inside of may be empty.
    fn is_known(&self, gate: Gate) -> bool {
        let (Gate::Zero(id) | Gate::Is(id, _)) = gate;
        let nodes = self.nest.plan.arena.reachable(&[id]);
        let mut reads = 0;
        let is_known = nodes.iter().all(|&node| match self.node(node) {
            Expr::Read { source, at } => {
                reads += 1;
                let dense = match source {
                    Source::Input(argument) => self.dense[*argument as usize].map(Source::Input),
                    Source::Def(_) => None,
                };
                dense.is_some_and(|source| self.ctx.may_leave_loops(source, at))
                    && !self.readers.iter().any(|reader| reader.id == node)
                    && at.iter().flat_map(|dim| dim.symbols()).all(|symbol| {
                        symbol.as_index().is_none_or(|index| self.ctx.index.contains_key(&index))
                    })
            }
            Expr::Const(_) | Expr::Number(_) | Expr::Map { .. } => true,
            Expr::Size(_) | Expr::Reduce { .. } | Expr::Call { .. } => false,
        });
        is_known && reads > 0
    }

    /// Whether nothing comes of what is gated; none if the program says that it does.
    fn skips(&mut self, gate: Gate) -> Option<Value> {
        match gate {
            Gate::Zero(id) => {
                let value = self.value(id);
                let b = &mut self.ctx.b;
                let dtype = b.dtype(value);
                if dtype.is_bool() {
                    return Some(b.unary(UnOp::Not, value));
                }
                let zero = b.constant(Scalar::zero(dtype));
                Some(b.compare(CmpOp::Eq, value, zero))
            }
            Gate::Is(condition, when) => {
                let value = self.value(condition);
                match (self.decided(condition), when) {
                    (Some(holds), _) if holds != when => None,
                    (_, true) => Some(value),
                    (_, false) => Some(self.ctx.b.unary(UnOp::Not, value)),
                }
            }
        }
    }
}
