//! Annihilation by fills, spelled out: `a * b` becomes `where(a == 0, 0, a * b)` if `a` has the fill 0 and arithmetic alone
//! would not say so, since `b` may be an infinity or NaN. And outcomes of numbers, written down: `a > n0` becomes
//! `filled(a > n0, false)` where that is so for the number and the fill of `a`. Where `a` is its fill almost everywhere only, as an
//! identity is 0, that is asked for: `filled(a > n0, where(a == 0, false, a > n0))`, which says nothing where `a` is anything else,
//! and nothing at all once `a` is known to be 1. See [`crate::fill`].

use smallvec::SmallVec;
use tj_tensor::Scalar;

use super::Ctx;
use crate::expr::{Expr, ExprId};
use crate::fill::{Fills, Outcome, annihilator, is_arithmetic};
use crate::lazy::{Kind, LazyTensor, Node};
use crate::op::Op;

impl Ctx<'_> {
    /// Fills of nodes, if there are any; else nothing here costs anything.
    pub(super) fn expect_fills(&mut self, nodes: &[&Node]) {
        let has_fill = |node: &&Node| match (self.known.tensor(node), &node.kind) {
            (Some(data), _) => data.as_ref().is_some_and(|data| data.fill().is_some()),
            (None, Kind::Data(data)) => data.fill().is_some(),
            (None, Kind::Owned(data)) => data.fill.is_some(),
            (None, Kind::Input { storage, .. }) => storage.fill.is_some(),
            (None, Kind::Format { format, .. }) => !format.is_strided(),
            (None, _) => false,
        };
        self.fills = nodes.iter().any(has_fill).then(|| Fills::of(nodes, self.known));
    }

    /// The result of an operator on values, with what is known of its fill although it depends on numbers.
    pub(super) fn with_outcome(&mut self, node: &Node, values: &[ExprId], body: ExprId) -> ExprId {
        let outcome = self.fills.as_ref().and_then(|fills| fills.outcome(node)).cloned();
        let Some(Outcome { value: Some(value), if_filled }) = outcome else { return body };
        let mut value = self.constant(value);
        for (at, fill) in if_filled {
            let is_fill = self.is_fill(values[at], fill);
            value = self.trace.arena.map(Op::Where, SmallVec::from_slice(&[is_fill, value, body]));
        }
        self.trace.arena.map(Op::Filled, SmallVec::from_slice(&[body, value]))
    }

    /// Whether a value is a fill, bit for bit: `op(-0)` need not be what `op(0)` is.
    fn is_fill(&mut self, value: ExprId, fill: Scalar) -> ExprId {
        let constant = self.constant(fill);
        let arena = &mut self.trace.arena;
        if fill.to_f64().is_nan() {
            return arena.map(Op::IsNan, SmallVec::from_slice(&[value]));
        }
        let equal = arena.map(Op::Equal, SmallVec::from_slice(&[value, constant]));
        if !fill.dtype().is_float() || fill.to_f64() != 0.0 {
            return equal;
        }
        let mut sign = arena.map(Op::Signbit, SmallVec::from_slice(&[value]));
        if fill.to_f64().is_sign_positive() {
            sign = arena.map(Op::Not, SmallVec::from_slice(&[sign]));
        }
        arena.map(Op::And, SmallVec::from_slice(&[equal, sign]))
    }

    /// An operator on values that were read of tensors, with what their fills decide.
    pub(super) fn map_filled(
        &mut self,
        op: Op,
        values: SmallVec<[ExprId; 3]>,
        args: &[LazyTensor],
    ) -> ExprId {
        let mapped = self.trace.arena.map(op, values.clone());
        if self.fills.is_none() {
            return mapped;
        }
        let mut result = mapped;
        // The first argument that decides wins.
        for (position, arg) in args.iter().enumerate().rev() {
            let fill = self.fills.as_ref().and_then(|fills| fills.fill(arg));
            let Some(law) = annihilator(op, position, fill) else { continue };
            let dtype = arg.dtype();
            if is_arithmetic(&law, dtype) {
                continue;
            }
            let value = self.constant(law.value.scalar(dtype));
            let decided = self.constant(op.decided(&law, dtype));
            let arena = &mut self.trace.arena;
            let is_fill = arena.map(Op::Equal, SmallVec::from_slice(&[values[position], value]));
            result = arena.map(Op::Where, SmallVec::from_slice(&[is_fill, decided, result]));
        }
        result
    }

    fn constant(&mut self, value: Scalar) -> ExprId {
        self.trace.arena.intern(Expr::Const(value), value.dtype())
    }
}
