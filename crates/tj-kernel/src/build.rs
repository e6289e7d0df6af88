//! Builds kernels: one call a statement, values shared and hoisted as they are made.
//!
//! A pure value goes to the outermost open block where its operands exist, right before the loop that is
//! being built there, and an equal value made before is used again. So loop-invariant code is hoisted and common
//! subexpressions are shared by construction; no pass has to find them. A load from a buffer that nobody writes
//! moves the same way, out of loops but never out of a branch or a `While`: its index depends on the loops it needs,
//! and whenever those loops run, the element exists, but what a condition guards may not exist without it.

use rustc_hash::FxHashMap;
use tj_ir::dim::Dim;
use tj_tensor::{DType, Scalar};

use crate::ir::{
    Access, BinOp, Block, Buf, Buffer, Call, CmpOp, Gemm, Grid, Kernel, LoopKind, Op, Stmt, UnOp, Value, Var,
    VarDecl,
};

/// A kernel under construction.
#[derive(Debug)]
pub struct Builder {
    kernel: Kernel,
    open: Vec<Scope>,
    depth: Vec<u32>,
    size_args: FxHashMap<Dim, u32>,
}

#[derive(Debug, Default)]
struct Scope {
    stmts: Block,
    /// Whether the block may be skipped for a reason other than an empty loop.
    conditional: bool,
    known: FxHashMap<(Op, DType), Value>,
}

impl Builder {
    /// Starts a kernel whose task range runs over `grid`.
    pub fn new(name: impl Into<String>, grid: Grid) -> Builder {
        let kernel = Kernel {
            name: name.into(),
            buffers: Vec::new(),
            sizes: Vec::new(),
            params: Vec::new(),
            values: Vec::new(),
            vars: Vec::new(),
            grid,
            task: (Value(0), Value(1)),
            body: Vec::new(),
        };
        let mut b = Builder {
            kernel,
            open: vec![Scope::default()],
            depth: Vec::new(),
            size_args: FxHashMap::default(),
        };
        let lo = b.pure(Op::TaskLo, DType::I64);
        let hi = b.pure(Op::TaskHi, DType::I64);
        b.kernel.task = (lo, hi);
        b
    }

    /// Ends the kernel.
    pub fn finish(mut self) -> Kernel {
        let scope = self.open.pop().expect("the outermost block is open until the kernel is finished");
        assert!(self.open.is_empty(), "kernel builder: a block was left open");
        self.kernel.body = scope.stmts;
        self.kernel
    }

    /// Declares memory.
    pub fn buffer(&mut self, name: impl Into<String>, dtype: DType, len: Dim, access: Access) -> Buf {
        self.kernel.buffers.push(Buffer { name: name.into(), dtype, len, access, holds: None });
        Buf(self.kernel.buffers.len() as u32 - 1)
    }

    /// Declares memory that is read and holds integers in `0..=max`.
    pub fn index_buffer(&mut self, name: impl Into<String>, dtype: DType, len: Dim, max: Dim) -> Buf {
        let (name, access, holds) = (name.into(), Access::Read, Some(max));
        self.kernel.buffers.push(Buffer { name, dtype, len, access, holds });
        Buf(self.kernel.buffers.len() as u32 - 1)
    }

    /// Declares a run-time number.
    pub fn param(&mut self, dtype: DType) -> Value {
        self.kernel.params.push(dtype);
        self.pure(Op::Param(self.kernel.params.len() as u32 - 1), dtype)
    }

    /// The task range.
    pub fn task(&self) -> (Value, Value) {
        self.kernel.task
    }

    /// The kernel as it is so far, without the statements of blocks that are open.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Type of a value.
    pub fn dtype(&self, value: Value) -> DType {
        self.kernel.dtype(value)
    }

    /// A constant.
    pub fn constant(&mut self, scalar: Scalar) -> Value {
        self.pure(Op::Const(scalar), scalar.dtype())
    }

    /// An `i64` constant.
    pub fn int(&mut self, value: i64) -> Value {
        self.constant(Scalar::I64(value))
    }

    /// A size as a run-time argument, or as a constant if it is one.
    pub fn size(&mut self, dim: &Dim) -> Value {
        if let Some(c) = dim.is_const() {
            return self.int(c);
        }
        let next = self.kernel.sizes.len() as u32;
        let position = *self.size_args.entry(dim.clone()).or_insert(next);
        if position == next {
            self.kernel.sizes.push(dim.clone());
        }
        self.pure(Op::Size(position), DType::I64)
    }

    /// One operand; the type is kept.
    pub fn unary(&mut self, op: UnOp, a: Value) -> Value {
        let dtype = self.dtype(a);
        self.pure(Op::Unary(op, a), dtype)
    }

    /// Two operands of one type.
    pub fn binary(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        debug_assert_eq!(self.dtype(a), self.dtype(b), "operands of {op:?} differ in type");
        if let Some(v) = self.fold_index(op, a, b) {
            return v;
        }
        let dtype = self.dtype(a);
        self.pure(Op::Binary(op, a, b), dtype)
    }

    /// A comparison.
    pub fn compare(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        debug_assert_eq!(self.dtype(a), self.dtype(b), "operands of {op:?} differ in type");
        self.pure(Op::Compare(op, a, b), DType::Bool)
    }

    /// `if c { a } else { b }`, both evaluated.
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        if a == b {
            return a;
        }
        let dtype = self.dtype(a);
        self.pure(Op::Select(c, a, b), dtype)
    }

    /// `a * b + c` rounded once.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let dtype = self.dtype(a);
        self.pure(Op::Fma(a, b, c), dtype)
    }

    /// A total conversion.
    pub fn cast(&mut self, a: Value, to: DType) -> Value {
        if self.dtype(a) == to { a } else { self.pure(Op::Cast(a), to) }
    }

    /// The same bits as another type.
    pub fn bitcast(&mut self, a: Value, to: DType) -> Value {
        if self.dtype(a) == to { a } else { self.pure(Op::Bitcast(a), to) }
    }

    /// An element of a buffer.
    pub fn load(&mut self, buffer: Buf, index: Value) -> Value {
        let Buffer { dtype, access, .. } = self.kernel.buffers[buffer.index()];
        let op = Op::Load(buffer, index);
        match access {
            Access::Read => self.hoisted(op, dtype, self.innermost_condition()),
            Access::InPlace(_) | Access::Write | Access::Scratch => self.ordered(op, dtype),
        }
    }

    /// An element of a buffer, loaded in the open block: its position is inside of the buffer only where this block runs.
    pub fn load_here(&mut self, buffer: Buf, index: Value) -> Value {
        let Buffer { dtype, access, .. } = self.kernel.buffers[buffer.index()];
        let op = Op::Load(buffer, index);
        match access {
            Access::Read => self.hoisted(op, dtype, self.open.len() as u32 - 1),
            Access::InPlace(_) | Access::Write | Access::Scratch => self.ordered(op, dtype),
        }
    }

    /// Writes an element.
    pub fn store(&mut self, buffer: Buf, index: Value, value: Value) {
        self.push(Stmt::Store { buffer, index, value });
    }

    /// Declares a variable in the open block.
    pub fn declare(&mut self, init: Value) -> Var {
        self.new_var(init, None)
    }

    /// Declares a variable of `lanes` elements, all set to `init`.
    pub fn declare_lanes(&mut self, lanes: u32, init: Value) -> Var {
        self.new_var(init, Some(lanes))
    }

    /// Reads a variable.
    pub fn get(&mut self, var: Var) -> Value {
        let dtype = self.kernel.var(var).dtype;
        self.ordered(Op::Get(var), dtype)
    }

    /// Assigns a variable.
    pub fn set(&mut self, var: Var, value: Value) {
        self.push(Stmt::Set(var, value));
    }

    /// Folds the elements of a lane variable.
    pub fn fold(&mut self, var: Var, op: BinOp) -> Value {
        let dtype = self.kernel.var(var).dtype;
        let dst = self.fresh(Op::Folded, dtype, self.open.len() - 1);
        self.push(Stmt::Fold { dst, var, op });
        dst
    }

    /// A dense contraction.
    pub fn gemm(&mut self, gemm: Gemm) {
        self.push(Stmt::Gemm(gemm));
    }

    /// Rows of the results of a function of whole tensors.
    pub fn call(&mut self, call: Call) {
        self.push(Stmt::Call(Box::new(call)));
    }

    /// How deep in blocks a value is defined: values of outer loops are less deep.
    pub fn depth(&self, value: Value) -> u32 {
        self.depth[value.index()]
    }

    /// Opens the body of a loop and gives its variable; `close_loop` ends it.
    pub fn open_loop(&mut self) -> Value {
        self.open.push(Scope::default());
        self.fresh(Op::LoopVar, DType::I64, self.open.len() - 1)
    }

    /// Ends the loop that `open_loop` opened.
    pub fn close_loop(&mut self, kind: LoopKind, var: Value, lo: Value, hi: Value) {
        let body = self.close();
        self.push(Stmt::For { var, lo, hi, kind, body });
    }

    /// Opens a block that is not part of the kernel yet.
    pub fn open_block(&mut self) {
        self.open.push(Scope::default());
    }

    /// Ends the block that `open_block` opened.
    pub fn close_block(&mut self) -> Block {
        self.close()
    }

    /// `while head; cond { body }` of closed blocks.
    pub fn push_while(&mut self, head: Block, cond: Value, body: Block) {
        self.push(Stmt::While { head, cond, body });
    }

    /// The statements of a closed block, here.
    pub fn push_block(&mut self, block: Block) {
        block.into_iter().for_each(|stmt| self.push(stmt));
    }

    /// `if cond { then } else { els }` of closed blocks.
    pub fn push_if(&mut self, cond: Value, then: Block, els: Block) {
        self.push(Stmt::If { cond, then, els });
    }

    /// A loop; `body` receives its variable.
    pub fn for_loop(&mut self, kind: LoopKind, lo: Value, hi: Value, body: impl FnOnce(&mut Builder, Value)) {
        let var = self.open_loop();
        body(self, var);
        self.close_loop(kind, var, lo, hi);
    }

    /// Runs `head`, which gives the condition, then `body` while it holds.
    pub fn while_loop(&mut self, head: impl FnOnce(&mut Builder) -> Value, body: impl FnOnce(&mut Builder)) {
        self.open_condition();
        let cond = head(self);
        let head = self.close();
        self.open_condition();
        body(self);
        let body = self.close();
        self.push(Stmt::While { head, cond, body });
    }

    /// Runs one of two blocks.
    pub fn if_else(&mut self, cond: Value, then: impl FnOnce(&mut Builder), els: impl FnOnce(&mut Builder)) {
        self.open_condition();
        then(self);
        let then = self.close();
        self.open_condition();
        els(self);
        let els = self.close();
        self.push(Stmt::If { cond, then, els });
    }

    /// Opens a block, not part of the kernel yet, that may not run: what is loaded in it stays in it. `close_block` ends it.
    pub fn open_condition(&mut self) {
        self.open.push(Scope { conditional: true, ..Scope::default() });
    }

    fn innermost_condition(&self) -> u32 {
        self.open.iter().rposition(|scope| scope.conditional).unwrap_or(0) as u32
    }

    fn close(&mut self) -> Block {
        self.open.pop().expect("a block that was opened is closed once").stmts
    }

    fn push(&mut self, stmt: Stmt) {
        self.open.last_mut().expect("the outermost block stays open").stmts.push(stmt);
    }

    fn new_var(&mut self, init: Value, lanes: Option<u32>) -> Var {
        let var = Var(self.kernel.vars.len() as u32);
        self.kernel.vars.push(VarDecl { dtype: self.dtype(init), lanes });
        self.push(Stmt::Declare(var, init));
        var
    }

    fn fresh(&mut self, op: Op, dtype: DType, depth: usize) -> Value {
        self.kernel.values.push((op, dtype));
        self.depth.push(depth as u32);
        Value(self.kernel.values.len() as u32 - 1)
    }

    /// Defines a value at the end of the open block.
    fn ordered(&mut self, op: Op, dtype: DType) -> Value {
        let value = self.fresh(op, dtype, self.open.len() - 1);
        self.push(Stmt::Def(value));
        value
    }

    /// Defines a value in the outermost block where its operands exist, or finds the equal one.
    fn pure(&mut self, op: Op, dtype: DType) -> Value {
        self.hoisted(op, dtype, 0)
    }

    /// The same, but in no block outside the one of number `depth`.
    fn hoisted(&mut self, op: Op, dtype: DType, mut depth: u32) -> Value {
        op.for_each_operand(|v| depth = depth.max(self.depth[v.index()]));
        let depth = depth as usize;
        if let Some(&value) = self.open[depth].known.get(&(op, dtype)) {
            return value;
        }
        let value = self.fresh(op, dtype, depth);
        self.open[depth].known.insert((op, dtype), value);
        self.open[depth].stmts.push(Stmt::Def(value));
        value
    }

    /// Folds `i64` arithmetic on constants and neutral elements, which index computations are full of.
    fn fold_index(&mut self, op: BinOp, a: Value, b: Value) -> Option<Value> {
        let constant =
            |v: Value| if let Op::Const(Scalar::I64(c)) = self.kernel.op(v) { Some(c) } else { None };
        if self.dtype(a) != DType::I64 {
            return None;
        }
        match (op, constant(a), constant(b)) {
            (BinOp::Add, Some(x), Some(y)) => Some(self.int(x.wrapping_add(y))),
            (BinOp::Sub, Some(x), Some(y)) => Some(self.int(x.wrapping_sub(y))),
            (BinOp::Mul, Some(x), Some(y)) => Some(self.int(x.wrapping_mul(y))),
            (BinOp::Add, Some(0), None) | (BinOp::Mul, Some(1), None) => Some(b),
            (BinOp::Add | BinOp::Sub, None, Some(0)) | (BinOp::Mul, None, Some(1)) => Some(a),
            (BinOp::Mul, Some(0), None) => Some(a),
            (BinOp::Mul, None, Some(0)) => Some(b),
            _ => None,
        }
    }
}
