//! What fills decide, as it is written and as a form has it.
//!
//! Expressions spell out where a fill decides an operator: `where(x == 0, 0, x * y)`. In a form an operator is that by itself, and
//! selections are written again for each product of a step. So a selection is taken for what the operator means where the fill of
//! its argument is known, and kept where it is not; and an operator that fills would decide of which nobody said so, as a product
//! with values that were told to have none, has no form.

use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Expr, ExprId, Op};
use tj_tensor::{DType, Scalar};

use super::super::form::{Kind, NodeId};
use super::super::laws::decides;
use super::{Env, Reader};

/// `where(value == fill, result, ..)`.
type Law = (ExprId, Scalar, Scalar);

impl Reader<'_> {
    /// An operator on which selections spell out what fills decide: the operator alone, since that is what it means in a form.
    pub(super) fn decided(&mut self, id: ExprId, env: &Env) -> Option<Option<NodeId>> {
        let mut laws: SmallVec<[Law; 2]> = SmallVec::new();
        let mut core = id;
        while let Some((value, fill, result, rest)) = self.selection(core) {
            laws.push((value, fill, result));
            core = rest;
        }
        let Expr::Map { op, args } = self.arena.node(core) else { return None };
        let (op, args) = (*op, args.clone());
        let is_law = |(value, fill, result): &Law| {
            args.iter().enumerate().any(|(position, arg)| {
                arg == value && decides(op, position, *fill).is_some_and(|(_, decided)| decided == *result)
            })
        };
        if laws.is_empty() || !laws.iter().all(is_law) {
            return None;
        }
        // Where some arguments are read as dense ones all is finite, and a product with 0 is 0 by itself. Else an argument whose
        // fill is not known keeps its selection.
        let is_given_up = !self.dense.is_empty() && op == Op::Mul;
        let is_kept = |law: &Law| {
            !is_given_up && self.source(law.0).is_some_and(|source| (self.fill_of)(source).is_none())
        };
        let kept: SmallVec<[Law; 2]> = laws.iter().copied().filter(is_kept).collect();
        // What is kept comes before all that is not, which matters only if these say something else.
        if !kept.is_empty() && laws.iter().any(|law| law.2 != laws[0].2) {
            return None;
        }
        let before = self.form.clone();
        let is_decided = |reader: &Self, node: NodeId| {
            let has_fill = |law: &Law| {
                let position = args.iter().position(|&arg| arg == law.0);
                let arg = position.and_then(|position| reader.form.args(node).get(position).copied());
                let fill = arg.and_then(|arg| reader.form.visible_fill(arg));
                fill.is_some_and(|fill| fill == law.1 || (fill.to_f64() == 0.0 && law.1.to_f64() == 0.0))
            };
            let selected = (0..args.len()).filter(|&at| laws.iter().any(|law| law.0 == args[at]));
            let selected: SmallVec<[usize; 2]> = selected.collect();
            laws.iter().all(|law| kept.contains(law) || has_fill(law))
                && reader.decides_as_written(node, op, &selected)
        };
        let node = self.operator(op, &args, self.arena.dtype(core), env);
        let node = node.filter(|&node| is_given_up || is_decided(self, node));
        let selected = node.and_then(|node| self.select(node, &kept, env));
        if selected.is_none() {
            self.form = before;
        }
        selected.map(Some)
    }

    /// A node under selections.
    fn select(&mut self, node: NodeId, laws: &[Law], env: &Env) -> Option<NodeId> {
        let mut node = node;
        for &(value, fill, result) in laws.iter().rev() {
            let value = self.node(value, env)?;
            let fill = self.form.push(Kind::Const(fill), fill.dtype(), Some(fill));
            let is_fill = self.form.map(Op::Equal, SmallVec::from_slice(&[value, fill]), DType::Bool);
            let dtype = result.dtype();
            let result = self.form.push(Kind::Const(result), dtype, Some(result));
            node = self.form.map(Op::Where, SmallVec::from_slice(&[is_fill, result, node]), dtype);
        }
        Some(node)
    }

    /// What a node reads, if it is a read.
    fn source(&self, id: ExprId) -> Option<Source> {
        match self.arena.node(id) {
            Expr::Read { source, .. } => Some(*source),
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Map { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => None,
        }
    }

    /// Whether the fills of a node's arguments decide it only where arithmetic does, or a selection did. A form has no words for
    /// values that were told to have no fill: in it an operator is what all fills of its arguments make of it.
    pub(super) fn decides_as_written(&self, node: NodeId, written: Op, selected: &[usize]) -> bool {
        let Kind::Map(op, args) = &self.form.node(node).kind else { return true };
        // A product in place of a negation or a square is 0 where its argument is. A sum in place of a difference is not decided
        // by infinities as a sum would be: no law says so of differences.
        if (*op, written) == (Op::Mul, Op::Neg) || (*op, written) == (Op::Mul, Op::Square) {
            return true;
        }
        args.iter().enumerate().all(|(position, &arg)| {
            let is_constant = matches!(self.form.node(arg).kind, Kind::Const(_));
            let decided = self.form.visible_fill(arg).and_then(|fill| decides(*op, position, fill));
            is_constant
                || selected.contains(&position)
                || decided.is_none_or(|(fill, _)| !fill.dtype().is_float())
        })
    }

    /// `where(value == fill, result, rest)` of two constants.
    fn selection(&self, id: ExprId) -> Option<(ExprId, Scalar, Scalar, ExprId)> {
        let Expr::Map { op: Op::Where, args } = self.arena.node(id) else { return None };
        let &[condition, result, rest] = args.as_slice() else { return None };
        let Expr::Map { op: Op::Equal, args } = self.arena.node(condition) else { return None };
        let &[value, fill] = args.as_slice() else { return None };
        let (Expr::Const(fill), Expr::Const(result)) = (self.arena.node(fill), self.arena.node(result))
        else {
            return None;
        };
        Some((value, *fill, *result, rest))
    }
}
