//! The laws by which reductions move, as far as the order does not matter in which values are combined.

use smallvec::SmallVec;
use tj_ir::expand::expand;
use tj_ir::op::Domain;
use tj_ir::prim::Evaluator;
use tj_ir::{Op, ReduceOp};
use tj_tensor::{DType, Scalar};

/// Whether an operator takes any number of arguments, in any order.
pub(super) fn is_free(op: Op) -> bool {
    let algebra = op.info().algebra;
    algebra.associative.is_some() && algebra.commutative.is_some() && op.info().arity == 2
}

/// Whether `f(.., reduce(x), ..) = reduce(f(.., x, ..))`, where no other argument than `x` depends on the index.
pub(super) fn passes(f: Op, op: ReduceOp, dtype: DType) -> bool {
    let by = op.op();
    if matches!(op, ReduceOp::By(_)) || dtype.is_complex() {
        return false;
    }
    // The lattice laws hold for every order, bits included. Over nothing `or` and `and` have values, and these laws do not hold.
    let self_distributes =
        f == by && f.info().algebra.idempotent && matches!(op, ReduceOp::Max | ReduceOp::Min);
    let stated = || f.info().algebra.distributes_over.iter().any(|(over, _)| *over == by);
    // Whole numbers wrap around, and are not in order then.
    let tropical = dtype.is_float() && matches!((f, op), (Op::Add, ReduceOp::Max | ReduceOp::Min));
    let truths = dtype.is_bool() && (f, op) == (Op::LogicalAnd, ReduceOp::Or);
    self_distributes || (is_free(f) && (stated() || tropical)) || truths
}

/// The fill of an operator on arguments with these fills.
pub(super) fn fill_of_map(op: Op, fills: &[Option<Scalar>]) -> Option<Scalar> {
    // What numbers come to is written down beside the expression.
    if let (Op::Filled, &[_, value]) = (op, fills) {
        return value;
    }
    for (at, fill) in fills.iter().enumerate() {
        let Some(fill) = *fill else { continue };
        let position = if is_free(op) { at.min(1) } else { at };
        if let Some(decided) = decides(op, position, fill) {
            return Some(decided.1);
        }
    }
    let fills: SmallVec<[Scalar; 4]> = fills.iter().copied().collect::<Option<_>>()?;
    if fills.iter().any(|fill| fill.dtype().is_complex()) {
        return None;
    }
    if is_free(op) {
        let mut rest = fills.into_iter();
        let first = rest.next()?;
        return Some(rest.fold(first, |all, next| expand(&mut Evaluator, op, &[all, next])));
    }
    Some(expand(&mut Evaluator, op, &fills))
}

/// What a fill decides at an argument of an operator: the value that does, and the result.
pub(super) fn decides(op: Op, position: usize, fill: Scalar) -> Option<(Scalar, Scalar)> {
    let dtype = fill.dtype();
    let mut laws = op.info().algebra.annihilators.iter();
    let law = laws.find(|law| {
        let applies = law.holds != Domain::Fill || dtype.is_float();
        let equals = || {
            let value = law.value.scalar(dtype);
            value == fill || (value.to_f64() == 0.0 && fill.to_f64() == 0.0)
        };
        law.position == position && !dtype.is_complex() && applies && equals()
    })?;
    Some((law.value.scalar(dtype), op.decided(law, dtype)))
}

/// Whether an argument with this fill decides an operator where it equals it. Operators that take any number of arguments ask
/// for none of their positions.
pub fn fill_decides(op: Op, position: usize, fill: Scalar) -> bool {
    fill_decision(op, position, fill).is_some()
}

/// What an operator is where an argument equals this fill of its, if that decides it. See [`fill_decides`].
pub fn fill_decision(op: Op, position: usize, fill: Scalar) -> Option<Scalar> {
    let position = if is_free(op) { position.min(1) } else { position };
    Some(decides(op, position, fill)?.1)
}
