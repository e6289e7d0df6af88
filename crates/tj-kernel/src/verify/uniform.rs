//! Control flow inside lanes loops is the same for all lanes.
//!
//! A value is *varying* if it may differ between iterations of the lanes loop around it: the loop variable, what a
//! lane variable holds, an element at a varying index or of a buffer that the loop stores to, and whatever is made
//! from varying values. A variable declared in the loop is varying if a varying value is ever assigned to it. As
//! control flow is uniform where the rule holds, it makes nothing else vary. Variables feed back through loops, so
//! the derivation repeats until nothing is added, which it does at most once for each variable.

use rustc_hash::FxHashSet;

use super::{Finding, Rule};
use crate::ir::{Block, Buf, Kernel, LoopKind, Op, Stmt, Value, Var};

/// Checks every lanes loop of a kernel whose form is right otherwise.
pub(super) fn check(kernel: &Kernel, findings: &mut Vec<Finding>) {
    let mut blocks = vec![&kernel.body];
    while let Some(block) = blocks.pop() {
        for stmt in block {
            match stmt {
                Stmt::For { var, kind: LoopKind::Lanes(_), body, .. } => {
                    check_loop(kernel, *var, body, findings);
                }
                Stmt::For { .. }
                | Stmt::While { .. }
                | Stmt::If { .. }
                | Stmt::Def(_)
                | Stmt::Declare(..)
                | Stmt::Set(..)
                | Stmt::Store { .. }
                | Stmt::Fold { .. }
                | Stmt::Gemm(_)
                | Stmt::Call(_) => blocks.extend(stmt.blocks()),
            }
        }
    }
}

fn check_loop(kernel: &Kernel, var: Value, body: &Block, findings: &mut Vec<Finding>) {
    let mut stored = FxHashSet::default();
    walk(body, &mut |stmt| {
        if let Stmt::Store { buffer, .. } = stmt {
            stored.insert(*buffer);
        }
    });
    let mut varying = Varying { kernel, stored, values: FxHashSet::default(), vars: FxHashSet::default() };
    varying.values.insert(var);
    loop {
        let before = varying.values.len() + varying.vars.len();
        walk(body, &mut |stmt| varying.derive(stmt));
        if varying.values.len() + varying.vars.len() == before {
            break;
        }
    }
    walk(body, &mut |stmt| {
        let steering = match *stmt {
            Stmt::For { lo, hi, .. } => [Some(lo), Some(hi)],
            Stmt::While { cond, .. } | Stmt::If { cond, .. } => [Some(cond), None],
            Stmt::Def(_)
            | Stmt::Declare(..)
            | Stmt::Set(..)
            | Stmt::Store { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => [None, None],
        };
        for value in steering.into_iter().flatten().filter(|v| varying.values.contains(v)) {
            let what = format!("{value} steers control flow but differs between lanes of the loop of {var}");
            findings.push(Finding::new(kernel, Rule::Uniform, what));
        }
    });
}

struct Varying<'a> {
    kernel: &'a Kernel,
    /// Buffers that the loop stores to.
    stored: FxHashSet<Buf>,
    values: FxHashSet<Value>,
    vars: FxHashSet<Var>,
}

impl Varying<'_> {
    fn derive(&mut self, stmt: &Stmt) {
        match *stmt {
            Stmt::Def(value) => {
                let op = self.kernel.op(value);
                let mut varies = match op {
                    Op::Get(var) => self.kernel.var(var).lanes.is_some() || self.vars.contains(&var),
                    Op::Load(buffer, _) => self.stored.contains(&buffer),
                    Op::Const(_)
                    | Op::Size(_)
                    | Op::Param(_)
                    | Op::TaskLo
                    | Op::TaskHi
                    | Op::LoopVar
                    | Op::Folded
                    | Op::Unary(..)
                    | Op::Binary(..)
                    | Op::Compare(..)
                    | Op::Select(..)
                    | Op::Fma(..)
                    | Op::Cast(_)
                    | Op::Bitcast(_) => false,
                };
                op.for_each_operand(|operand| varies |= self.values.contains(&operand));
                if varies {
                    self.values.insert(value);
                }
            }
            Stmt::Declare(var, value) | Stmt::Set(var, value) => {
                if self.values.contains(&value) {
                    self.vars.insert(var);
                }
            }
            // Inner loops with varying bounds are findings already; their variables need not be.
            Stmt::Store { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => {}
        }
    }
}

/// Visits every statement inside `block`, in program order.
fn walk<'a>(block: &'a Block, f: &mut impl FnMut(&'a Stmt)) {
    for stmt in block {
        f(stmt);
        for inner in stmt.blocks() {
            walk(inner, f);
        }
    }
}
