//! The text of one kernel: one C statement a value.
//!
//! Values become constants of the C block that corresponds to the kernel's block, so that scopes agree and no value
//! needs a declaration elsewhere. Constants are written where they are used. A lanes loop over lane variables runs in
//! chunks: the inner loop has the constant number of lanes as its trip count, which lets compilers keep an array of
//! accumulators in vector registers; the rest of the range runs the same body again.

use std::fmt::Display;

use tj_kernel::{Access, Block, Gemm, Kernel, LoopKind, Matrix, Op, Stmt, Value, Var};
use tj_tensor::DType;

use crate::CodegenError;
use crate::helpers::{Helpers, bits_type};
use crate::scalar;
use crate::text::{Text, comment};
use crate::types::{ctype, literal};

/// C compilers take 256 brackets within each other (clang's default); the loop around lanes and the function's own
/// need some.
const MAX_DEPTH: usize = 200;

/// Writes the definition of `kernel`; `helpers` receives what it calls.
pub(crate) fn emit_kernel(kernel: &Kernel, helpers: &mut Helpers) -> Result<String, CodegenError> {
    let mut ctx = Ctx { kernel, helpers, text: Text::default(), in_lanes: None };
    ctx.function()?;
    Ok(ctx.text.finish())
}

struct Ctx<'a> {
    kernel: &'a Kernel,
    helpers: &'a mut Helpers,
    text: Text,
    /// Inside a lanes loop over lane variables: how many there are. The element is `[lane]`.
    in_lanes: Option<u32>,
}

impl Ctx<'_> {
    fn function(&mut self) -> Result<(), CodegenError> {
        let kernel = self.kernel;
        self.text.line(format_args!(
            "/* {}; tasks: {}",
            kernel.name,
            comment(&kernel.grid.extent.to_string())
        ));
        for (i, b) in kernel.buffers.iter().enumerate() {
            let access = match b.access {
                Access::Read => "read",
                Access::Write => "written",
                Access::Scratch => "scratch",
            };
            let (name, len) = (comment(&b.name), comment(&b.len.to_string()));
            self.text.line(format_args!("   b{i}: {name}, {len} x {}, {access}", b.dtype));
        }
        for (i, d) in kernel.sizes.iter().enumerate() {
            self.text.line(format_args!("   size {i}: {}", comment(&d.to_string())));
        }
        self.text.line("*/");
        self.text.open(format_args!(
            "TJ_EXPORT i32 {}(const tj_args *args, i64 task_lo, i64 task_hi)",
            kernel.name
        ));
        for (i, b) in kernel.buffers.iter().enumerate() {
            let t = self.ctype(b.dtype)?;
            let constant = if b.access == Access::Read { "const " } else { "" };
            self.text.line(format_args!("{constant}{t} *restrict b{i} = args->buffers[{i}];"));
        }
        self.block(&kernel.body)?;
        self.text.line("return 0;");
        self.text.close();
        Ok(())
    }

    fn block(&mut self, block: &Block) -> Result<(), CodegenError> {
        if self.text.depth() > MAX_DEPTH {
            return Err(CodegenError::TooDeep { kernel: self.kernel.name.clone(), bound: MAX_DEPTH });
        }
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), CodegenError> {
        match stmt {
            Stmt::Def(v) => self.def(*v)?,
            Stmt::Declare(var, init) => {
                let decl = self.kernel.var(*var);
                let t = self.ctype(decl.dtype)?;
                let init = self.operand(*init)?;
                match decl.lanes {
                    None => self.text.line(format_args!("{t} x{} = {init};", var.0)),
                    Some(w) => {
                        self.text.line(format_args!("_Alignas(64) {t} x{}[{w}];", var.0));
                        self.text.line(format_args!(
                            "for (i64 lane = 0; lane < {w}; ++lane) x{}[lane] = {init};",
                            var.0
                        ));
                    }
                }
            }
            Stmt::Set(var, value) => {
                let (place, value) = (self.variable(*var)?, self.operand(*value)?);
                self.text.line(format_args!("{place} = {value};"));
            }
            Stmt::Store { buffer, index, value } => {
                let (index, value) = (self.operand(*index)?, self.operand(*value)?);
                self.text.line(format_args!("b{}[{index}] = {value};", buffer.0));
            }
            Stmt::For { var, lo, hi, kind, body } => self.for_loop(*var, *lo, *hi, *kind, body)?,
            Stmt::While { head, cond, body } => {
                self.text.open("for (;;)");
                self.block(head)?;
                let cond = self.operand(*cond)?;
                self.text.line(format_args!("if (!{cond}) break;"));
                self.block(body)?;
                self.text.close();
            }
            Stmt::If { cond, then, els } => {
                let cond = self.operand(*cond)?;
                self.text.open(format_args!("if ({cond})"));
                self.block(then)?;
                if !els.is_empty() {
                    self.text.close_open("else");
                    self.block(els)?;
                }
                self.text.close();
            }
            Stmt::Fold { dst, var, op } => {
                let decl = self.kernel.var(*var);
                let t = self.ctype(decl.dtype)?;
                let w = decl.lanes.filter(|w| w.is_power_of_two()).ok_or_else(|| {
                    self.bad_lanes(format!(
                        "the fold of {var} needs a power of two lanes, not {:?}",
                        decl.lanes
                    ))
                })?;
                let fold = format!("f{}", dst.0);
                self.text.line(format_args!("_Alignas(64) {t} {fold}[{w}];"));
                self.text.line(format_args!(
                    "for (i64 lane = 0; lane < {w}; ++lane) {fold}[lane] = x{}[lane];",
                    var.0
                ));
                let (a, b) = (format!("{fold}[lane]"), format!("{fold}[lane + half]"));
                let sum = scalar::binary(self.helpers, *op, decl.dtype, &a, &b)
                    .ok_or_else(|| self.unsupported(op, decl.dtype))?;
                self.text.open(format_args!("for (i64 half = {w} / 2; half > 0; half /= 2)"));
                self.text.line(format_args!("for (i64 lane = 0; lane < half; ++lane) {a} = {sum};"));
                self.text.close();
                self.text.line(format_args!("const {t} v{} = {fold}[0];", dst.0));
            }
            Stmt::Gemm(gemm) => self.gemm(gemm)?,
        }
        Ok(())
    }

    fn for_loop(
        &mut self,
        var: Value,
        lo: Value,
        hi: Value,
        kind: LoopKind,
        body: &Block,
    ) -> Result<(), CodegenError> {
        let (v, lo, hi) = (var.0, self.operand(lo)?, self.operand(hi)?);
        let LoopKind::Lanes(w) = kind else {
            self.text.open(format_args!("for (i64 v{v} = {lo}; v{v} < {hi}; ++v{v})"));
            self.block(body)?;
            self.text.close();
            return Ok(());
        };
        if self.in_lanes.is_some() {
            return Err(self.bad_lanes(format!("the lanes loop over {var} is inside another")));
        }
        if !self.uses_lane_variables(body) {
            self.text.line("TJ_LANES");
            self.text.open(format_args!("for (i64 v{v} = {lo}; v{v} < {hi}; ++v{v})"));
            self.block(body)?;
            self.text.close();
            return Ok(());
        }
        self.in_lanes = Some(w);
        self.text.line(format_args!("i64 c{v} = {lo};"));
        self.text.open(format_args!("for (; c{v} < {hi} && {hi} - c{v} >= {w}; c{v} += {w})"));
        self.text.line("TJ_LANES");
        self.text.open(format_args!("for (i64 lane = 0; lane < {w}; ++lane)"));
        self.lane_body(v, body)?;
        self.text.close();
        self.text.close();
        self.text.open(format_args!("for (i64 lane = 0; lane < {hi} - c{v}; ++lane)"));
        self.lane_body(v, body)?;
        self.text.close();
        self.in_lanes = None;
        Ok(())
    }

    fn lane_body(&mut self, v: u32, body: &Block) -> Result<(), CodegenError> {
        self.text.line(format_args!("const i64 v{v} = c{v} + lane;"));
        self.block(body)
    }

    /// Whether a lane variable is read or written in `body`.
    fn uses_lane_variables(&self, body: &Block) -> bool {
        let laned = |var: Var| self.kernel.var(var).lanes.is_some();
        let mut open: Vec<&Block> = vec![body];
        while let Some(block) = open.pop() {
            for stmt in block {
                let var = match stmt {
                    Stmt::Set(var, _) => Some(*var),
                    Stmt::Def(v) => {
                        if let Op::Get(var) = self.kernel.op(*v) {
                            Some(var)
                        } else {
                            None
                        }
                    }
                    Stmt::Declare(..)
                    | Stmt::Store { .. }
                    | Stmt::For { .. }
                    | Stmt::While { .. }
                    | Stmt::If { .. }
                    | Stmt::Fold { .. }
                    | Stmt::Gemm(_) => None,
                };
                if var.is_some_and(laned) {
                    return true;
                }
                open.extend(stmt.blocks());
            }
        }
        false
    }

    fn def(&mut self, value: Value) -> Result<(), CodegenError> {
        let (op, dtype) = (self.kernel.op(value), self.kernel.dtype(value));
        let h = &mut *self.helpers;
        let expression = match op {
            // Written where it is used.
            Op::Const(_) => return self.ctype(dtype).map(|_| ()),
            Op::Size(i) => Some(format!("args->sizes[{i}]")),
            Op::Param(i) => scalar::from_bits(h, dtype, &format!("args->params[{i}]")),
            Op::TaskLo => Some("task_lo".to_owned()),
            Op::TaskHi => Some("task_hi".to_owned()),
            Op::LoopVar | Op::Folded => None,
            Op::Get(var) => Some(self.variable(var)?),
            Op::Load(buffer, index) => Some(format!("b{}[{}]", buffer.0, self.operand(index)?)),
            Op::Unary(op, a) => {
                let a = self.operand(a)?;
                scalar::unary(self.helpers, op, dtype, &a)
            }
            Op::Binary(op, a, b) => {
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                scalar::binary(self.helpers, op, dtype, &a, &b)
            }
            Op::Compare(op, a, b) => {
                let of = self.kernel.dtype(a);
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                scalar::compare(op, of, &a, &b)
            }
            Op::Select(c, a, b) => {
                Some(format!("{} ? {} : {}", self.operand(c)?, self.operand(a)?, self.operand(b)?))
            }
            Op::Fma(a, b, c) => {
                let (a, b, c) = (self.operand(a)?, self.operand(b)?, self.operand(c)?);
                scalar::fma(self.helpers, dtype, &a, &b, &c)
            }
            Op::Cast(a) => {
                let from = self.kernel.dtype(a);
                let a = self.operand(a)?;
                scalar::cast(self.helpers, from, dtype, &a)
            }
            Op::Bitcast(a) => {
                let from = self.kernel.dtype(a);
                let a = self.operand(a)?;
                scalar::bitcast(self.helpers, from, dtype, &a)
            }
        };
        let t = self.ctype(dtype)?;
        let expression = expression.ok_or_else(|| self.unsupported(&op, dtype))?;
        self.text.line(format_args!("const {t} v{} = {expression};", value.0));
        Ok(())
    }

    fn gemm(&mut self, gemm: &Gemm) -> Result<(), CodegenError> {
        if !matches!(gemm.dtype, DType::F32 | DType::F64) {
            return Err(self.unsupported(&"Gemm", gemm.dtype));
        }
        let (m, n, k) = (self.operand(gemm.m)?, self.operand(gemm.n)?, self.operand(gemm.k)?);
        let (a, b, c) = (self.matrix(&gemm.a)?, self.matrix(&gemm.b)?, self.matrix(&gemm.c)?);
        self.text.line(format_args!("args->host->gemm_{}({m}, {n}, {k}, {a}, {b}, {c});", gemm.dtype));
        Ok(())
    }

    fn matrix(&mut self, m: &Matrix) -> Result<String, CodegenError> {
        let (offset, rows, cols) =
            (self.operand(m.offset)?, self.operand(m.row_stride)?, self.operand(m.col_stride)?);
        Ok(format!("b{} + {offset}, {rows}, {cols}", m.buffer.0))
    }

    /// The text of a use of `value`.
    fn operand(&mut self, value: Value) -> Result<String, CodegenError> {
        let Op::Const(scalar) = self.kernel.op(value) else {
            return Ok(format!("v{}", value.0));
        };
        let dtype = scalar.dtype();
        if matches!(dtype, DType::F32 | DType::F64) && scalar.to_f64().is_nan() {
            self.helpers.bits(bits_type(dtype), dtype);
        }
        literal(scalar)
            .ok_or_else(|| CodegenError::UnsupportedDType { kernel: self.kernel.name.clone(), dtype })
    }

    /// The place of a variable: of this lane's element for a lane variable.
    fn variable(&mut self, var: Var) -> Result<String, CodegenError> {
        match (self.kernel.var(var).lanes, self.in_lanes) {
            (None, _) => Ok(format!("x{}", var.0)),
            (Some(w), Some(lanes)) if w == lanes => Ok(format!("x{}[lane]", var.0)),
            (Some(w), Some(lanes)) => {
                Err(self.bad_lanes(format!("{var} has {w} lanes and is used in a loop of {lanes}")))
            }
            (Some(_), None) => {
                Err(self.bad_lanes(format!("{var} is a lane variable used outside a lanes loop")))
            }
        }
    }

    fn ctype(&self, dtype: DType) -> Result<&'static str, CodegenError> {
        ctype(dtype).ok_or_else(|| CodegenError::UnsupportedDType { kernel: self.kernel.name.clone(), dtype })
    }

    fn unsupported(&self, op: &impl std::fmt::Debug, dtype: DType) -> CodegenError {
        CodegenError::UnsupportedOp { kernel: self.kernel.name.clone(), op: format!("{op:?}"), dtype }
    }

    fn bad_lanes(&self, reason: impl Display) -> CodegenError {
        CodegenError::BadLanes { kernel: self.kernel.name.clone(), reason: reason.to_string() }
    }
}
