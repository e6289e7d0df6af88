//! Statements in index notation.
//!
//! The tree is printed and read again by `einop`, which knows what indices are; only the tensors are found here.

use tensorjit::{LazyTensor, einop};

use super::{Ctx, Value, checked};
use crate::ast::{Expr, ExprId, Stmt};
use crate::diagnostic::Diagnostic;

impl Ctx<'_> {
    pub(super) fn einop(&self, stmt: &Stmt, body: ExprId) -> Result<Value, Diagnostic> {
        let mut operands: Vec<(&str, LazyTensor)> = Vec::new();
        let mut todo = vec![body];
        while let Some(id) = todo.pop() {
            let expr = self.program.expr(id);
            if let Expr::Name(name) = expr {
                if operands.iter().all(|(known, _)| known != name) {
                    let span = self.program.span(id);
                    operands.push((name, self.name(name, span)?.into_tensor(span)?));
                }
            } else if let Expr::Index { base, .. } = expr {
                // What stands in brackets are indices.
                todo.push(*base);
            } else {
                expr.for_each_child(|child| todo.push(child));
            }
        }
        operands.reverse();
        let text = crate::print::statement(self.program, stmt);
        let operands: Vec<(&str, &LazyTensor)> = operands.iter().map(|(name, x)| (*name, x)).collect();
        checked(einop(&text, &operands), stmt.span)
    }
}
