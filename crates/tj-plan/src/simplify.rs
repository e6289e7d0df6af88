//! Simplifies one node whose children are simple already.
//!
//! Every rule points one way (fewer nodes, or a cheaper one) and keeps every bit, for inf, NaN and -0 too: laws
//! come from the operator table, where a test tries them on awkward values, and a law that fails for floats is
//! used for integers and `bool` only. So `x * 1`, `x - 0` and `max(x, x)` go; `x * 0`, `x - x`, `x / x` and `x + 0`
//! stay (for floats). Reductions are never touched, and passes keep the product of a contraction from this file.

use smallvec::SmallVec;
use tj_ir::expand::expand;
use tj_ir::expr::Args;
use tj_ir::op::{Domain, Named};
use tj_ir::prim::Evaluator;
use tj_ir::{Expr, ExprArena, ExprId, Op};
use tj_tensor::{DType, Scalar};

/// Interns `node`, or what it simplifies to.
pub fn simplify_node(arena: &mut ExprArena, node: Expr, dtype: DType) -> ExprId {
    if let Expr::Map { op, args } = &node
        && let Some(simple) = simplify_map(arena, *op, args, dtype)
    {
        return simple;
    }
    arena.intern(node, dtype)
}

fn constant(arena: &ExprArena, id: ExprId) -> Option<Scalar> {
    match arena.node(id) {
        Expr::Const(c) => Some(*c),
        Expr::Number(_)
        | Expr::Size(_)
        | Expr::Read { .. }
        | Expr::Map { .. }
        | Expr::Reduce { .. }
        | Expr::Call { .. } => None,
    }
}

fn simplify_map(arena: &mut ExprArena, op: Op, args: &Args, dtype: DType) -> Option<ExprId> {
    let constants: SmallVec<[Option<Scalar>; 3]> = args.iter().map(|&a| constant(arena, a)).collect();
    if let Some(values) = constants.iter().copied().collect::<Option<SmallVec<[Scalar; 3]>>>() {
        let value = expand(&mut Evaluator, op, &values);
        return Some(arena.constant(value));
    }
    match (op, args.as_slice()) {
        (Op::Cast(to), &[a]) => return merge_casts(arena, a, to),
        (Op::Neg, &[a]) => return undo(arena, Op::Neg, a),
        (Op::Not, &[a]) => return undo(arena, Op::Not, a),
        (Op::Where, &[_, a, b]) if a == b => return Some(a),
        // It says nothing, or nothing that is not seen.
        (Op::Filled, &[a, b]) => return (a == b || constants[0].is_some()).then_some(a),
        (Op::Where, &[_, a, b]) => {
            return constants[0].map(|c| if c == Scalar::Bool(true) { a } else { b });
        }
        _ => {}
    }
    // What a user declares may hold but for rounding.
    if let Op::User(_) = op {
        return None;
    }
    let &[a, b] = args.as_slice() else { return None };
    let algebra = op.info().algebra;
    let is = |position: usize, named: Named| constants[position] == Some(named.scalar(dtype));
    if let Some(e) = algebra.identity {
        if is(0, e) {
            return Some(b);
        }
        if algebra.commutative.is_some() && is(1, e) {
            return Some(a);
        }
    }
    if algebra.right_identity.is_some_and(|e| is(1, e)) || (algebra.idempotent && a == b) {
        return Some(a);
    }
    let exact = dtype.is_int() || dtype.is_bool();
    let law = algebra.annihilators.iter().find(|law| {
        let holds = law.holds == Domain::Always || (exact && law.holds == Domain::Exact);
        holds && is(law.position, law.value)
    })?;
    Some(arena.constant(op.decided(law, dtype)))
}

/// `op(op(x))` is `x`.
fn undo(arena: &ExprArena, op: Op, a: ExprId) -> Option<ExprId> {
    match arena.node(a) {
        Expr::Map { op: inner, args } if *inner == op => Some(args[0]),
        Expr::Map { .. }
        | Expr::Const(_)
        | Expr::Number(_)
        | Expr::Size(_)
        | Expr::Read { .. }
        | Expr::Reduce { .. }
        | Expr::Call { .. } => None,
    }
}

/// A cast to the type the argument has, or of a cast that loses nothing.
fn merge_casts(arena: &mut ExprArena, a: ExprId, to: DType) -> Option<ExprId> {
    if arena.dtype(a) == to {
        return Some(a);
    }
    let Expr::Map { op: Op::Cast(middle), args } = arena.node(a) else { return None };
    let (middle, from) = (*middle, args[0]);
    let lossless = matches!(
        (arena.dtype(from), middle),
        (DType::Bool, _) | (DType::I32, DType::I64 | DType::F64) | (DType::F32, DType::F64)
    );
    // From a wider float back to a narrower number rounds once either way, since the first cast is exact.
    lossless.then(|| arena.cast(from, to))
}

#[cfg(test)]
mod tests;
