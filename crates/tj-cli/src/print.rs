//! Tree to text.
//!
//! Parsing what was printed gives the same tree, and printing that gives the same text, for every tree within the
//! parser's limits. Parentheses stand where they are needed and nowhere else. Expressions print from an explicit
//! stack, because a chain of a hundred thousand additions is as deep as it is long.

use crate::ast::{
    Arg, BinaryOp, Expr, ExprId, Ident, Precedence, Program, SequenceKind, Stmt, StmtKind, Subscript,
};
use std::fmt;

impl fmt::Display for Program {
    /// One statement a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stmt in &self.stmts {
            write_stmt(self, stmt, f)?;
            f.write_str("\n")?;
        }
        Ok(())
    }
}

/// One statement, without the end of its line.
pub(crate) fn statement(program: &Program, stmt: &Stmt) -> String {
    let mut text = String::new();
    write_stmt(program, stmt, &mut text).expect("writing to a string does not fail");
    text
}

fn write_stmt(program: &Program, stmt: &Stmt, f: &mut impl fmt::Write) -> fmt::Result {
    match &stmt.kind {
        StmtKind::Size { name, bounds } => {
            write!(f, "size {}", name.text)?;
            if let Some(bounds) = bounds {
                write!(f, " in {}..={}", bounds.lower, bounds.upper)?;
            }
        }
        StmtKind::Input { name, dtype, dims, format, fill } => {
            write!(f, "input {}: {}", name.text, dtype.text)?;
            for (i, dim) in dims.iter().enumerate() {
                f.write_str(if i == 0 { "[" } else { ", " })?;
                write_expr(program, *dim, f)?;
            }
            f.write_str(if dims.is_empty() { "" } else { "]" })?;
            format.iter().try_for_each(|format| write!(f, " {}", format.text))?;
            if let Some(fill) = fill {
                f.write_str(" fill ")?;
                write_expr(program, *fill, f)?;
            }
        }
        StmtKind::Bind { name, value } => {
            write!(f, "{} = ", name.text)?;
            write_expr(program, *value, f)?;
        }
        StmtKind::Output { name, value } => {
            write!(f, "output {}", name.text)?;
            if let Some(value) = value {
                f.write_str(" = ")?;
                write_expr(program, *value, f)?;
            }
        }
        StmtKind::Einop { target, indices, op, value } => {
            f.write_str(&target.text)?;
            for (i, Ident { text, .. }) in indices.iter().enumerate() {
                write!(f, "{}{text}", if i == 0 { "[" } else { ", " })?;
            }
            f.write_str(if indices.is_empty() { "" } else { "]" })?;
            write!(f, " {} ", op.symbol())?;
            write_expr(program, *value, f)?;
        }
        StmtKind::Result { value } => write_expr(program, *value, f)?,
    }
    Ok(())
}

/// Writes one expression.
///
/// ```
/// let program = tj_cli::parse_expression("(a+b) * (-(c ** 2))").unwrap();
/// let (root, _) = program.exprs().last().unwrap();
/// let mut text = String::new();
/// tj_cli::print::write_expr(&program, root, &mut text).unwrap();
/// assert_eq!(text, "(a + b) * -c ** 2");
/// ```
pub fn write_expr(program: &Program, id: ExprId, out: &mut impl fmt::Write) -> fmt::Result {
    let mut work = vec![Work::Expr(id, Precedence::Comparison)];
    // What comes next is on top: each form lists its parts in order, and they are turned around.
    let mut parts = Vec::new();
    while let Some(item) = work.pop() {
        match item {
            Work::Text(text) => out.write_str(text)?,
            Work::Expr(id, loosest) => {
                let expr = program.expr(id);
                if precedence(expr) < loosest {
                    parts.extend([Work::Text("("), Work::Expr(id, Precedence::Comparison), Work::Text(")")]);
                } else {
                    write_node(program, expr, out, &mut parts)?;
                }
                work.extend(parts.drain(..).rev());
            }
        }
    }
    Ok(())
}

enum Work<'p> {
    Text(&'p str),
    /// An expression, in parentheses if it binds more loosely than this.
    Expr(ExprId, Precedence),
}

fn precedence(expr: &Expr) -> Precedence {
    match expr {
        Expr::Unary { .. } => Precedence::Unary,
        Expr::Binary { op, .. } => op.precedence(),
        Expr::Int(_)
        | Expr::Float(_)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Str(_)
        | Expr::Name(_)
        | Expr::Call { .. }
        | Expr::Method { .. }
        | Expr::Attribute { .. }
        | Expr::Index { .. }
        | Expr::Sequence { .. } => Precedence::Postfix,
    }
}

/// Writes a leaf, or lists the parts of anything else.
fn write_node<'p>(
    program: &Program,
    expr: &'p Expr,
    out: &mut impl fmt::Write,
    parts: &mut Vec<Work<'p>>,
) -> fmt::Result {
    match expr {
        Expr::Int(value) => write!(out, "{value}")?,
        Expr::Float(value) if value.is_nan() => out.write_str("nan")?,
        Expr::Float(value) => write!(out, "{value:?}")?,
        Expr::Bool(value) => out.write_str(if *value { "True" } else { "False" })?,
        Expr::None => out.write_str("None")?,
        Expr::Str(text) => {
            let quote = if text.contains('"') { '\'' } else { '"' };
            write!(out, "{quote}{text}{quote}")?;
        }
        Expr::Name(text) => out.write_str(text)?,
        Expr::Unary { op, arg } => {
            parts.extend([Work::Text(op.symbol()), Work::Expr(*arg, Precedence::Unary)]);
        }
        Expr::Binary { op, left, right } => {
            let (left_loosest, right_loosest) = if *op == BinaryOp::Pow {
                (Precedence::Postfix, Precedence::Unary)
            } else if op.precedence() == Precedence::Comparison {
                (Precedence::Or, Precedence::Or)
            } else {
                (op.precedence(), op.precedence().tighter())
            };
            parts.push(Work::Expr(*left, left_loosest));
            parts.extend([Work::Text(" "), Work::Text(op.symbol()), Work::Text(" ")]);
            parts.push(Work::Expr(*right, right_loosest));
        }
        Expr::Call { function, args } => {
            parts.push(Work::Text(&function.text));
            list_args(args, parts);
        }
        Expr::Method { receiver, method, args } => {
            list_receiver(program, *receiver, parts);
            parts.extend([Work::Text("."), Work::Text(&method.text)]);
            list_args(args, parts);
        }
        Expr::Attribute { receiver, name } => {
            list_receiver(program, *receiver, parts);
            parts.extend([Work::Text("."), Work::Text(&name.text)]);
        }
        Expr::Index { base, subscripts } => {
            list_receiver(program, *base, parts);
            for (i, subscript) in subscripts.iter().enumerate() {
                parts.push(Work::Text(if i == 0 { "[" } else { ", " }));
                list_subscript(subscript, parts);
            }
            parts.push(Work::Text("]"));
        }
        Expr::Sequence { kind, items } => {
            let (open, close) = match kind {
                SequenceKind::Tuple if items.len() == 1 => ("(", ",)"),
                SequenceKind::Tuple => ("(", ")"),
                SequenceKind::List => ("[", "]"),
            };
            parts.push(Work::Text(open));
            for (i, item) in items.iter().enumerate() {
                parts.push(Work::Text(if i == 0 { "" } else { ", " }));
                parts.push(Work::Expr(*item, Precedence::Comparison));
            }
            parts.push(Work::Text(close));
        }
    }
    Ok(())
}

/// What stands before a dot or a bracket. `1.T` would be a malformed number.
fn list_receiver<'p>(program: &Program, id: ExprId, parts: &mut Vec<Work<'p>>) {
    if matches!(program.expr(id), Expr::Int(_) | Expr::Float(_)) {
        parts.extend([Work::Text("("), Work::Expr(id, Precedence::Postfix), Work::Text(")")]);
    } else {
        parts.push(Work::Expr(id, Precedence::Postfix));
    }
}

fn list_args<'p>(args: &'p [Arg], parts: &mut Vec<Work<'p>>) {
    parts.push(Work::Text("("));
    for (i, Arg { keyword, value }) in args.iter().enumerate() {
        parts.push(Work::Text(if i == 0 { "" } else { ", " }));
        if let Some(keyword) = keyword {
            parts.extend([Work::Text(&keyword.text), Work::Text("=")]);
        }
        parts.push(Work::Expr(*value, Precedence::Comparison));
    }
    parts.push(Work::Text(")"));
}

fn list_subscript(subscript: &Subscript, parts: &mut Vec<Work<'_>>) {
    match subscript {
        Subscript::At(id) => parts.push(Work::Expr(*id, Precedence::Comparison)),
        Subscript::Slice { start, stop, step, span: _ } => {
            let part = |id: &ExprId| Work::Expr(*id, Precedence::Comparison);
            parts.extend(start.iter().map(part));
            parts.push(Work::Text(":"));
            parts.extend(stop.iter().map(part));
            if let Some(step) = step {
                parts.extend([Work::Text(":"), part(step)]);
            }
        }
        Subscript::Ellipsis(_) => parts.push(Work::Text("...")),
    }
}

#[cfg(test)]
mod tests;
