//! Kernels to text.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use tj_ir::dim::{Dim, MAX_SIZE, Symbol};
use tj_ir::text::{Quoted, is_bare};

use crate::ir::{Access, Array, Block, Kernel, LoopKind, Matrix, Op, Stmt};

impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grid = &self.grid;
        writeln!(
            f,
            "kernel {}(grid {} cut {} cost {}) {{",
            Name(&self.name),
            grid.extent,
            grid.multiple,
            grid.cost
        )?;
        for symbol in self.symbols() {
            let (lo, hi) = symbol.bounds();
            if (lo, hi) != (0, MAX_SIZE) {
                writeln!(f, "  symbol {symbol} in {lo}..={hi}")?;
            }
        }
        for (id, buffer) in self.buffers.iter().enumerate() {
            let (name, access) = (Name(&buffer.name), buffer.access.name());
            write!(f, "  buffer @{id} {name}: {}[{}] {access}", buffer.dtype, buffer.len)?;
            if let Access::InPlace(written) = buffer.access {
                write!(f, " {written}")?;
            }
            if let Some(max) = &buffer.holds {
                write!(f, " holds 0..={max}")?;
            }
            f.write_str("\n")?;
        }
        for (id, size) in self.sizes.iter().enumerate() {
            writeln!(f, "  size #{id} = {size}")?;
        }
        for (id, dtype) in self.params.iter().enumerate() {
            writeln!(f, "  param #{id}: {dtype}")?;
        }
        writeln!(f, "  task {}..{}", self.task.0, self.task.1)?;
        self.print_block(f, &self.body, 1)?;
        f.write_str("}\n")
    }
}

impl Kernel {
    /// The symbols of all sizes, in order.
    fn symbols(&self) -> BTreeSet<Symbol> {
        let lens = self.buffers.iter().flat_map(|b| std::iter::once(&b.len).chain(&b.holds));
        let sizes = lens.chain(&self.sizes).chain([&self.grid.extent, &self.grid.cost]);
        sizes.flat_map(Dim::symbols).collect()
    }

    fn print_block(&self, f: &mut fmt::Formatter<'_>, block: &Block, depth: usize) -> fmt::Result {
        for stmt in block {
            self.print_stmt(f, stmt, depth)?;
        }
        Ok(())
    }

    fn print_stmt(&self, f: &mut fmt::Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
        let indent = |f: &mut fmt::Formatter<'_>| (0..depth).try_for_each(|_| f.write_str("  "));
        indent(f)?;
        match stmt {
            Stmt::Def(value) => writeln!(f, "{value}: {} = {}", self.dtype(*value), OpText(self.op(*value))),
            Stmt::Declare(var, value) => {
                let decl = self.var(*var);
                write!(f, "var {var}: {}", decl.dtype)?;
                if let Some(lanes) = decl.lanes {
                    write!(f, " lanes({lanes})")?;
                }
                writeln!(f, " = {value}")
            }
            Stmt::Set(var, value) => writeln!(f, "{var} = {value}"),
            Stmt::Store { buffer, index, value } => writeln!(f, "store {buffer}[{index}] = {value}"),
            Stmt::For { var, lo, hi, kind, body } => {
                match kind {
                    LoopKind::Serial => writeln!(f, "for {var} in {lo}..{hi} {{")?,
                    LoopKind::Lanes(width) => writeln!(f, "for lanes({width}) {var} in {lo}..{hi} {{")?,
                }
                self.print_block(f, body, depth + 1)?;
                indent(f)?;
                f.write_str("}\n")
            }
            Stmt::While { head, cond, body } => {
                f.write_str("while {\n")?;
                self.print_block(f, head, depth + 1)?;
                indent(f)?;
                writeln!(f, "}} holds {cond} {{")?;
                self.print_block(f, body, depth + 1)?;
                indent(f)?;
                f.write_str("}\n")
            }
            Stmt::If { cond, then, els } => {
                writeln!(f, "if {cond} {{")?;
                self.print_block(f, then, depth + 1)?;
                indent(f)?;
                if !els.is_empty() {
                    f.write_str("} else {\n")?;
                    self.print_block(f, els, depth + 1)?;
                    indent(f)?;
                }
                f.write_str("}\n")
            }
            Stmt::Fold { dst, var, op } => {
                writeln!(f, "{dst}: {} = fold {} {var}", self.dtype(*dst), op.name())
            }
            Stmt::Gemm(g) => {
                let (c, a, b) = (MatrixText(&g.c), MatrixText(&g.a), MatrixText(&g.b));
                writeln!(f, "gemm {} ({}, {}, {}) {c} = {a} * {b}", g.dtype, g.m, g.n, g.k)
            }
            Stmt::Call(call) => {
                writeln!(f, "call {} {} = {}", call.function, Arrays(&call.results), Arrays(&call.args))
            }
        }
    }
}

/// `@1[%2, %3], @4[%2]`
struct Arrays<'a>(&'a [Array]);

impl Display for Arrays<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, array) in self.0.iter().enumerate() {
            write!(f, "{}{}[", if n == 0 { "" } else { ", " }, array.buffer)?;
            for (n, extent) in array.extents.iter().enumerate() {
                write!(f, "{}{extent}", if n == 0 { "" } else { ", " })?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

struct OpText(Op);

impl Display for OpText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Op::Const(scalar) => write!(f, "const {scalar}"),
            Op::Size(position) => write!(f, "size #{position}"),
            Op::Param(position) => write!(f, "param #{position}"),
            Op::TaskLo => f.write_str("task lo"),
            Op::TaskHi => f.write_str("task hi"),
            // These two are defined by `For` and `Fold`; a `Def` of one is printed so that a message can show it.
            Op::LoopVar => f.write_str("loopvar"),
            Op::Folded => f.write_str("folded"),
            Op::Get(var) => write!(f, "get {var}"),
            Op::Load(buffer, index) => write!(f, "load {buffer}[{index}]"),
            Op::Unary(op, a) => write!(f, "{} {a}", op.name()),
            Op::Binary(op, a, b) => write!(f, "{} {a}, {b}", op.name()),
            Op::Compare(op, a, b) => write!(f, "{} {a}, {b}", op.name()),
            Op::Select(c, a, b) => write!(f, "select {c}, {a}, {b}"),
            Op::Fma(a, b, c) => write!(f, "fma {a}, {b}, {c}"),
            Op::Cast(a) => write!(f, "cast {a}"),
            Op::Bitcast(a) => write!(f, "bitcast {a}"),
        }
    }
}

struct MatrixText<'a>(&'a Matrix);

impl Display for MatrixText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Matrix { buffer, offset, row_stride, col_stride } = self.0;
        write!(f, "{buffer}[{offset}, {row_stride}, {col_stride}]")
    }
}

/// A name, in quotes where it needs them.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_bare(self.0) {
            return f.write_str(self.0);
        }
        Quoted(self.0).fmt(f)
    }
}
