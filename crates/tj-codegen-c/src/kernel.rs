//! The text of one kernel: one C statement a value.
//!
//! Values become constants of the C block that corresponds to the kernel's block, so that scopes agree and no value
//! needs a declaration elsewhere. Constants are written where they are used. Lanes loops are cut up by `lanes` and
//! written by `blocks`.

use std::fmt::Display;

use tj_kernel::abi::{Word, call_words};
use tj_kernel::lanes::Shape;
use tj_kernel::{Access, BinOp, Block, Buf, Call, Gemm, Kernel, LoopKind, Matrix, Op, Stmt, Value, Var};
use tj_tensor::DType;

use crate::CodegenError;
use crate::helpers::{Helpers, bits_type};
use crate::lanes::{View, step};
use crate::scalar;
use crate::text::{Text, comment};
use crate::types::{ctype, literal};

/// C compilers take 256 brackets within each other (clang's default); the loop around lanes and the function's own
/// need some.
const MAX_DEPTH: usize = 200;

/// Writes the definition of `kernel`; `helpers` receives what it calls.
pub(crate) fn emit_kernel(kernel: &Kernel, helpers: &mut Helpers) -> Result<String, CodegenError> {
    helpers.round_trips = kernel.values.iter().any(|&(op, to)| {
        let from = if let Op::Cast(from) = op { kernel.dtype(from) } else { to };
        from.is_float() && to.is_int()
    });
    let mut ctx = Ctx { kernel, helpers, text: Text::default(), place: Place::Scalar };
    ctx.function()?;
    Ok(ctx.text.finish())
}

/// A kernel being written.
pub(crate) struct Ctx<'a> {
    pub(crate) kernel: &'a Kernel,
    helpers: &'a mut Helpers,
    pub(crate) text: Text,
    pub(crate) place: Place,
}

/// Where a statement stands.
pub(crate) enum Place {
    /// Outside lanes loops, or in one whose iterations run one after the other without lane variables.
    Scalar,
    /// In a lanes loop whose iterations run one after the other; `lane` is the element of this many.
    Serial(u32),
    /// In a block of lanes, among statements that all of them share.
    Block(Box<View>),
    /// In a block of lanes, in the loop over `lane`.
    Lane(Box<View>),
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
                Access::Read => "read".to_owned(),
                Access::InPlace(w) => format!("read in place of b{}", w.0),
                Access::Write => "written".to_owned(),
                Access::Scratch => "scratch".to_owned(),
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
            let constant = if b.access.is_read() { "const " } else { "" };
            let restrict = if self.may_overlap(Buf(i as u32)) { "" } else { "restrict " };
            self.text.line(format_args!("{constant}{t} *{restrict}b{i} = args->buffers[{i}];"));
        }
        self.block(&kernel.body)?;
        self.text.line("return 0;");
        self.text.close();
        Ok(())
    }

    /// Whether a buffer may be the memory of another one.
    fn may_overlap(&self, buffer: Buf) -> bool {
        let mut others = self.kernel.buffers.iter();
        matches!(self.kernel.buffers[buffer.index()].access, Access::InPlace(_))
            || others.any(|other| other.access == Access::InPlace(buffer))
    }

    pub(crate) fn block(&mut self, block: &Block) -> Result<(), CodegenError> {
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    pub(crate) fn stmt(&mut self, stmt: &Stmt) -> Result<(), CodegenError> {
        match stmt {
            Stmt::Def(v) => self.def(*v)?,
            Stmt::Declare(var, init) => {
                let decl = self.kernel.var(*var);
                let t = self.ctype(decl.dtype)?;
                let init = self.operand(*init)?;
                match (decl.lanes, &self.place) {
                    (None, Place::Lane(_)) => self.text.line(format_args!("x{}[lane] = {init};", var.0)),
                    (None, Place::Scalar | Place::Serial(_) | Place::Block(_)) => {
                        self.text.line(format_args!("{t} x{} = {init};", var.0));
                    }
                    (Some(w), _) => {
                        self.text.line(format_args!("_Alignas(64) {t} x{}[{w}];", var.0));
                        let element = format!("x{}[lane]", var.0);
                        self.text
                            .line(format_args!("for (i64 lane = 0; lane < {w}; ++lane) {element} = {init};"));
                    }
                }
            }
            Stmt::Set(var, value) => {
                let (place, value) = (self.variable(*var)?, self.operand(*value)?);
                self.text.line(format_args!("{place} = {value};"));
            }
            Stmt::Store { buffer, index, value } => {
                let (index, value) = (self.index(*index)?, self.operand(*value)?);
                self.text.line(format_args!("b{}[{index}] = {value};", buffer.0));
            }
            Stmt::For { var, lo, hi, kind: LoopKind::Lanes(w), body } => {
                self.lanes_loop(*var, *lo, *hi, *w, body)?;
            }
            Stmt::For { body, .. } => self.control(stmt, |ctx, _| ctx.block(body))?,
            Stmt::While { head, body, .. } => {
                self.control(stmt, |ctx, i| ctx.block(if i == 0 { head } else { body }))?;
            }
            Stmt::If { then, els, .. } => {
                self.control(stmt, |ctx, i| ctx.block(if i == 0 { then } else { els }))?;
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
                // One loop a step, so that every trip count is a constant.
                let (x, f) = (format!("x{}", var.0), format!("fold{}", dst.0));
                self.text.line(format_args!("_Alignas(64) {t} {f}[{w}];"));
                let (mut from, mut half) = (&x, w / 2);
                while half > 0 {
                    let (a, b) = (format!("{from}[lane]"), format!("{from}[lane + {half}]"));
                    let sum = scalar::binary(self.helpers, *op, decl.dtype, &a, &b)
                        .ok_or_else(|| self.unsupported(op, decl.dtype))?;
                    self.text.line("TJ_ROLLED");
                    self.text
                        .line(format_args!("for (i64 lane = 0; lane < {half}; ++lane) {f}[lane] = {sum};"));
                    (from, half) = (&f, half / 2);
                }
                self.text.line(format_args!("const {t} v{} = {from}[0];", dst.0));
            }
            Stmt::Gemm(gemm) => self.gemm(gemm)?,
            Stmt::Call(call) => self.call(call)?,
        }
        Ok(())
    }

    /// A statement with blocks, which `inner` writes by their number.
    pub(crate) fn control(
        &mut self,
        stmt: &Stmt,
        mut inner: impl FnMut(&mut Self, usize) -> Result<(), CodegenError>,
    ) -> Result<(), CodegenError> {
        if self.text.depth() >= MAX_DEPTH {
            return Err(CodegenError::TooDeep { kernel: self.kernel.name.clone(), bound: MAX_DEPTH });
        }
        match stmt {
            Stmt::For { var, lo, hi, .. } => {
                let (v, lo, hi) = (var.0, self.operand(*lo)?, self.operand(*hi)?);
                self.text.open(format_args!("for (i64 v{v} = {lo}; v{v} < {hi}; ++v{v})"));
                inner(self, 0)?;
            }
            Stmt::While { cond, .. } => {
                self.text.open("for (;;)");
                inner(self, 0)?;
                let cond = self.operand(*cond)?;
                self.text.line(format_args!("if (!{cond}) break;"));
                inner(self, 1)?;
            }
            Stmt::If { cond, els, .. } => {
                let cond = self.operand(*cond)?;
                self.text.open(format_args!("if ({cond})"));
                inner(self, 0)?;
                if !els.is_empty() {
                    self.text.close_open("else");
                    inner(self, 1)?;
                }
            }
            Stmt::Def(_)
            | Stmt::Declare(..)
            | Stmt::Set(..)
            | Stmt::Store { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => unreachable!("only statements with blocks are control flow"),
        }
        self.text.close();
        Ok(())
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
            Op::Load(buffer, index) => Some(format!("b{}[{}]", buffer.0, self.index(index)?)),
            Op::Unary(op, a) => {
                let a = self.operand(a)?;
                scalar::unary(self.helpers, op, dtype, &a)
            }
            Op::Binary(op, a, b) => {
                let (x, y) = (self.operand(a)?, self.operand(b)?);
                let clamp = match (self.kernel.op(a), self.kernel.op(b)) {
                    _ if !matches!(op, BinOp::Max | BinOp::Min) || !dtype.is_float() => None,
                    (_, Op::Const(constant)) => scalar::clamp(op, &x, constant, &y),
                    (Op::Const(constant), _) => scalar::clamp(op, &y, constant, &x),
                    _ => None,
                };
                clamp.or_else(|| scalar::binary(self.helpers, op, dtype, &x, &y))
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
        match &self.place {
            Place::Lane(view) if view.crossing.contains(&value) => {
                self.text.line(format_args!("v{}[lane] = {expression};", value.0));
            }
            Place::Scalar | Place::Serial(_) | Place::Block(_) | Place::Lane(_) => {
                self.text.line(format_args!("const {t} v{} = {expression};", value.0));
            }
        }
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

    fn call(&mut self, call: &Call) -> Result<(), CodegenError> {
        let mut words = Vec::new();
        for word in call_words(self.kernel, call) {
            words.push(match word {
                Word::Known(number) => number.to_string(),
                Word::Size(value) => self.operand(value)?,
            });
        }
        let arrays: Vec<String> = call
            .args
            .iter()
            .chain(&call.results)
            .map(|array| format!("(void *)b{}", array.buffer.0))
            .collect();
        let n = words.len();
        self.text.line(format_args!("/* {} */", call.function));
        self.text.line(format_args!("const i64 words[] = {{{}}};", words.join(", ")));
        self.text.line(format_args!("void *const arrays[] = {{{}}};", arrays.join(", ")));
        self.text
            .line(format_args!("const i32 status = args->host->call(words, {n}, arrays, task_lo, task_hi);"));
        self.text.line("if (status) return status;");
        Ok(())
    }

    fn matrix(&mut self, m: &Matrix) -> Result<String, CodegenError> {
        let (offset, rows, cols) =
            (self.operand(m.offset)?, self.operand(m.row_stride)?, self.operand(m.col_stride)?);
        Ok(format!("b{} + {offset}, {rows}, {cols}", m.buffer.0))
    }

    /// The text of a use of `value`.
    pub(crate) fn operand(&mut self, value: Value) -> Result<String, CodegenError> {
        let Op::Const(scalar) = self.kernel.op(value) else {
            let v = value.0;
            return Ok(match &self.place {
                Place::Lane(view) => match view.lanes.shape(value) {
                    Shape::Varying if view.crossing.contains(&value) => format!("v{v}[lane]"),
                    Shape::Affine(stride) => format!("(v{v} + {})", step(stride)),
                    Shape::Uniform | Shape::Varying => format!("v{v}"),
                },
                Place::Scalar | Place::Serial(_) | Place::Block(_) => format!("v{v}"),
            });
        };
        let dtype = scalar.dtype();
        if matches!(dtype, DType::F32 | DType::F64) && scalar.to_f64().is_nan() {
            self.helpers.bits(bits_type(dtype), dtype);
        }
        literal(scalar)
            .ok_or_else(|| CodegenError::UnsupportedDType { kernel: self.kernel.name.clone(), dtype })
    }

    /// The text of a use of `value` between brackets.
    fn index(&mut self, value: Value) -> Result<String, CodegenError> {
        let text = self.operand(value)?;
        Ok(text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).map_or(text.clone(), str::to_owned))
    }

    /// The place of a variable: of this lane's element for a lane variable.
    fn variable(&mut self, var: Var) -> Result<String, CodegenError> {
        let (scalar, element) = (format!("x{}", var.0), format!("x{}[lane]", var.0));
        let width = match &self.place {
            Place::Scalar => None,
            Place::Serial(w) => Some(*w),
            Place::Block(view) | Place::Lane(view) => Some(view.width),
        };
        match (self.kernel.var(var).lanes, width, &self.place) {
            (Some(w), Some(width), _) if w == width => Ok(element),
            (Some(w), Some(width), _) => {
                Err(self.bad_lanes(format!("{var} has {w} lanes and is used in a loop of {width}")))
            }
            (Some(_), None, _) => {
                Err(self.bad_lanes(format!("{var} is a lane variable used outside a lanes loop")))
            }
            (None, _, Place::Lane(view)) if view.lanes.var_shape(var) == Shape::Varying => Ok(element),
            (None, _, _) => Ok(scalar),
        }
    }

    pub(crate) fn ctype(&self, dtype: DType) -> Result<&'static str, CodegenError> {
        ctype(dtype).ok_or_else(|| CodegenError::UnsupportedDType { kernel: self.kernel.name.clone(), dtype })
    }

    fn unsupported(&self, op: &impl std::fmt::Debug, dtype: DType) -> CodegenError {
        CodegenError::UnsupportedOp { kernel: self.kernel.name.clone(), op: format!("{op:?}"), dtype }
    }

    pub(crate) fn bad_lanes(&self, reason: impl Display) -> CodegenError {
        CodegenError::BadLanes { kernel: self.kernel.name.clone(), reason: reason.to_string() }
    }
}
