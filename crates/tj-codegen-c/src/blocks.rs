//! The text of lanes loops.

use tj_kernel::{Block, Stmt, Value};

use crate::CodegenError;
use crate::kernel::{Ctx, Place};
use crate::lanes::{Piece, Plan, plan};

impl Ctx<'_> {
    /// A lanes loop, in the form that `lanes` chooses.
    pub(crate) fn lanes_loop(
        &mut self,
        var: Value,
        lo: Value,
        hi: Value,
        w: u32,
        body: &Block,
    ) -> Result<(), CodegenError> {
        let (v, lo, hi) = (var.0, self.operand(lo)?, self.operand(hi)?);
        if !matches!(self.place, Place::Scalar) {
            return Err(self.bad_lanes(format!("the lanes loop over {var} is inside another")));
        }
        match plan(self.kernel, var, w, body) {
            Plan::Plain => {
                self.text.line("TJ_LANES");
                self.text.open(format_args!("for (i64 v{v} = {lo}; v{v} < {hi}; ++v{v})"));
                self.block(body)?;
                self.text.close();
            }
            Plan::Serial => {
                self.text.open(format_args!("for (i64 v{v} = {lo}; v{v} < {hi}; ++v{v})"));
                self.text.line(format_args!("const i64 lane = (v{v} - {lo}) % {w};"));
                self.place = Place::Serial(w);
                self.block(body)?;
                self.place = Place::Scalar;
                self.text.close();
            }
            Plan::Blocks(pieces, view) => {
                let width = view.width;
                self.place = Place::Block(view);
                self.text.line(format_args!("i64 v{v} = {lo};"));
                self.text
                    .open(format_args!("for (; v{v} < {hi} && {hi} - v{v} >= {width}; v{v} += {width})"));
                self.pieces(&pieces, &width.to_string())?;
                self.text.close();
                self.text.open(format_args!("if (v{v} < {hi})"));
                self.text.line(format_args!("const i64 rest = {hi} - v{v};"));
                self.pieces(&pieces, "rest")?;
                self.text.close();
                self.place = Place::Scalar;
            }
        }
        Ok(())
    }

    /// A block of `count` lanes.
    fn pieces(&mut self, pieces: &[Piece], count: &str) -> Result<(), CodegenError> {
        for piece in pieces {
            match piece {
                Piece::Run { shared, varying } => self.run(shared, varying, count)?,
                Piece::Control(stmt, blocks) => self.control(stmt, |ctx, i| ctx.pieces(&blocks[i], count))?,
            }
        }
        Ok(())
    }

    /// A run: what all lanes share, then a loop over them.
    fn run(&mut self, shared: &[&Stmt], varying: &[&Stmt], count: &str) -> Result<(), CodegenError> {
        shared.iter().try_for_each(|stmt| self.stmt(stmt))?;
        if varying.is_empty() {
            return Ok(());
        }
        let Place::Block(view) = std::mem::replace(&mut self.place, Place::Scalar) else {
            unreachable!("runs are in blocks of lanes");
        };
        for stmt in varying {
            let (name, dtype) = match stmt {
                Stmt::Def(v) if view.crossing.contains(v) => (format!("v{}", v.0), self.kernel.dtype(*v)),
                Stmt::Declare(var, _) => (format!("x{}", var.0), self.kernel.var(*var).dtype),
                Stmt::Def(_)
                | Stmt::Set(..)
                | Stmt::Store { .. }
                | Stmt::For { .. }
                | Stmt::While { .. }
                | Stmt::If { .. }
                | Stmt::Fold { .. }
                | Stmt::Gemm(_)
                | Stmt::Call(_) => continue,
            };
            let t = self.ctype(dtype)?;
            self.text.line(format_args!("_Alignas(64) {t} {name}[{}];", view.width));
        }
        self.place = Place::Lane(view);
        self.text.line("TJ_LANES");
        self.text.open(format_args!("for (i64 lane = 0; lane < {count}; ++lane)"));
        varying.iter().try_for_each(|stmt| self.stmt(stmt))?;
        self.text.close();
        if let Place::Lane(view) = std::mem::replace(&mut self.place, Place::Scalar) {
            self.place = Place::Block(view);
        }
        Ok(())
    }
}
