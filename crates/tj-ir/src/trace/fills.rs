//! Annihilation by fills, spelled out: `a * b` becomes `where(a == 0, 0, a * b)` if `a` has the fill 0 and arithmetic alone
//! would not say so, since `b` may be an infinity or NaN. See [`crate::fill`].

use std::sync::Arc;

use smallvec::SmallVec;
use tj_tensor::Scalar;

use super::Ctx;
use crate::expr::{Expr, ExprId};
use crate::fill::{Fill, Filled, annihilator, is_arithmetic, of_node};
use crate::lazy::{Kind, LazyTensor, Node};
use crate::op::Op;

impl Ctx<'_> {
    /// Whether some data has a fill; else nothing here costs anything.
    pub(super) fn expect_fills(&mut self, nodes: &[&Node]) {
        self.has_fills = nodes.iter().any(|node| match (self.known.tensor(node), &node.kind) {
            (Some(data), _) => data.as_ref().is_some_and(|data| data.fill().is_some()),
            (None, Kind::Data(data)) => data.fill().is_some(),
            (None, Kind::Owned(data)) => data.fill.is_some(),
            (None, Kind::Input { storage, .. }) => storage.fill.is_some(),
            (None, Kind::Format { format, .. }) => !format.is_strided(),
            (None, _) => false,
        });
    }

    pub(super) fn note_fill(&mut self, node: &Node) {
        if !self.has_fills {
            return;
        }
        let fill = match self.known.tensor(node) {
            Some(data) => Filled::Tensor(data.as_ref().and_then(|data| Fill::of_data(data))),
            None => of_node(node, &|arg| self.filled(arg)),
        };
        self.fills.insert(node, fill);
    }

    fn filled(&self, arg: &LazyTensor) -> Filled {
        self.fills.get(&Arc::as_ptr(&arg.0)).copied().unwrap_or(Filled::Tensor(None))
    }

    fn fill(&self, arg: &LazyTensor) -> Option<Fill> {
        match self.filled(arg) {
            Filled::Tensor(fill) => fill,
            Filled::Scalar(_) | Filled::Pattern(_) | Filled::Places => None,
        }
    }

    /// An operator on values that were read of tensors, with what their fills decide.
    pub(super) fn map_filled(
        &mut self,
        op: Op,
        values: SmallVec<[ExprId; 3]>,
        args: &[LazyTensor],
    ) -> ExprId {
        let mapped = self.trace.arena.map(op, values.clone());
        if !self.has_fills {
            return mapped;
        }
        let mut result = mapped;
        // The first argument that decides wins.
        for (position, arg) in args.iter().enumerate().rev() {
            let fill = self.fill(arg);
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
