//! One kernel as one Cranelift function, statement by statement.
//!
//! Kernel values become Cranelift values, kernel variables become `Variable`s of the frontend, which builds SSA form.
//! Code is written once from top to bottom; the only recursion is over nested blocks. Cranelift places a pure value
//! as late as it can and hoists it out of loops by itself, so that nothing here cares where a value is computed.

use cranelift_codegen::ir::{
    AbiParam, Function, InstBuilder, SigRef, Signature, Type, Value as Machine, types,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use smallvec::SmallVec;
use tj_kernel::{BinOp, Block, Gemm, Kernel, LoopKind, Matrix, Op, Stmt, Value};
use tj_tensor::{DType, Scalar};

use crate::memory::{Memory, layout};
use crate::plan::Plan;
use crate::types::machine;
use crate::vars::VarHome;
use crate::{convert, scalar};

/// The signature of every kernel.
pub(crate) fn signature(config: TargetFrontendConfig) -> Signature {
    let mut signature = Signature::new(config.default_call_conv);
    signature.params.extend([config.pointer_type(), types::I64, types::I64].map(AbiParam::new));
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// Writes the body of `func`, whose signature is [`signature`]. The kernel is valid and its types are checked.
pub(crate) fn function(
    kernel: &Kernel,
    config: TargetFrontendConfig,
    func: &mut Function,
    frontend: &mut FunctionBuilderContext,
) {
    let plan = Plan::new(kernel);
    let mut b = FunctionBuilder::new(func, frontend);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let params: SmallVec<[Machine; 3]> = b.block_params(entry).into();
    let mut emitter = Emitter {
        kernel,
        plan: &plan,
        pointer: config.pointer_type(),
        buffers: Vec::new(),
        values: vec![None; kernel.values.len()],
        pins: vec![0; kernel.values.len()],
        depth: 0,
        homes: Vec::new(),
        args: params[0],
        task: (params[1], params[2]),
        element: None,
        gemm: [None; 2],
        b,
    };
    emitter.open_buffers();
    emitter.open_vars();
    emitter.block(&kernel.body);
    let ok = emitter.b.ins().iconst(types::I32, tj_kernel::abi::STATUS_OK as i64);
    emitter.b.ins().return_(&[ok]);
    emitter.b.finalize(config);
}

/// A function being written.
pub(crate) struct Emitter<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) plan: &'a Plan,
    pub(crate) b: FunctionBuilder<'a>,
    /// The type of addresses.
    pub(crate) pointer: Type,
    /// The argument table.
    pub(crate) args: Machine,
    pub(crate) buffers: Vec<Memory>,
    /// Where the variables live.
    pub(crate) homes: Vec<VarHome>,
    /// Which element of lane variables the iteration of a scalar lanes loop owns.
    pub(crate) element: Option<Machine>,
    /// How many loops and branches each value is bound to stay in.
    pub(crate) pins: Vec<u32>,
    /// Loops and branches around the statement being emitted.
    pub(crate) depth: u32,
    values: Vec<Option<Machine>>,
    task: (Machine, Machine),
    gemm: [Option<SigRef>; 2],
}

impl Emitter<'_> {
    /// The machine value of a kernel value that all lanes share.
    pub(crate) fn value(&self, value: Value) -> Machine {
        self.values[value.index()].expect("the verifier has seen a definition before every use")
    }

    /// Sets the machine value of a kernel value.
    pub(crate) fn set_value(&mut self, value: Value, machine: Machine) {
        self.values[value.index()] = Some(machine);
    }

    /// Sets the variable of a loop, which stays where it is.
    pub(crate) fn set_loop_var(&mut self, var: Value, machine: Machine) {
        self.pins[var.index()] = self.depth;
        self.set_value(var, machine);
    }

    /// The ends of the task range.
    pub(crate) fn task(&self) -> (Machine, Machine) {
        self.task
    }

    /// A new variable of one machine type.
    pub(crate) fn variable(&mut self, ty: Type) -> Variable {
        self.b.declare_var(ty)
    }

    /// Emits the statements of a block.
    pub(crate) fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Def(v) => self.define(*v),
            Stmt::Declare(var, init) => self.declare(*var, *init),
            Stmt::Set(var, value) => self.set_var(*var, *value),
            Stmt::Store { buffer, index, value } => {
                let memory = self.buffer(*buffer);
                let address = self.address(memory, self.value(*index));
                let value = self.value(*value);
                self.b.ins().store(memory.flags, value, address, 0);
            }
            Stmt::For { var, lo, hi, kind, body } => {
                let (lo, hi) = (self.value(*lo), self.value(*hi));
                match kind {
                    LoopKind::Lanes(_) => self.lanes_loop(*var, lo, hi, body),
                    LoopKind::Serial => self.counted(lo, hi, |e, i| {
                        e.set_loop_var(*var, i);
                        e.block(body);
                    }),
                }
            }
            Stmt::While { head, cond, body } => {
                self.while_loop(|e| e.block(head), *cond, |e| e.block(body));
            }
            Stmt::If { cond, then, els } => self.if_else(*cond, |e| e.block(then), |e| e.block(els)),
            Stmt::Fold { dst, var, op } => self.fold(*dst, *var, *op),
            Stmt::Gemm(gemm) => self.gemm(gemm),
            Stmt::Call(call) => self.call(call),
        }
    }

    /// Evaluates a value that all lanes share (or the one lane of a scalar loop).
    pub(crate) fn define(&mut self, value: Value) {
        self.pin(value);
        let op = self.kernel.op(value);
        let dtype = self.kernel.dtype(value);
        let result = match op {
            Op::Const(c) => scalar::constant(&mut self.b, c),
            Op::Size(i) => self.argument(layout::SIZES, i as usize, types::I64),
            Op::Param(i) => self.argument(layout::PARAMS, i as usize, machine(dtype)),
            Op::TaskLo => self.task.0,
            Op::TaskHi => self.task.1,
            Op::Get(var) => self.get_var(var),
            Op::Load(buffer, index) => {
                let flags = self.load_flags(buffer, index);
                let memory = self.buffer(buffer);
                let address = self.address(memory, self.value(index));
                self.b.ins().load(machine(dtype), flags, address, 0)
            }
            Op::Unary(..)
            | Op::Binary(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Fma(..)
            | Op::Cast(_)
            | Op::Bitcast(_) => {
                let mut operands = SmallVec::<[Machine; 3]>::new();
                op.for_each_operand(|v| operands.push(self.value(v)));
                self.compute(value, &operands)
            }
            Op::LoopVar | Op::Folded => unreachable!("the verifier rejects a `Def` of {value}"),
        };
        self.set_value(value, result);
    }

    /// Applies the operation of `value`, which has operands, to scalars.
    pub(crate) fn compute(&mut self, value: Value, operands: &[Machine]) -> Machine {
        let dtype = self.kernel.dtype(value);
        let b = &mut self.b;
        match self.kernel.op(value) {
            Op::Unary(op, _) => scalar::unary(b, op, dtype, operands[0]),
            Op::Binary(op, _, y) => {
                let known = self.kernel.constant(y).or_else(|| greatest_count(self.kernel, op, y));
                scalar::binary(b, op, dtype, operands[0], operands[1], known)
            }
            Op::Compare(op, x, _) => scalar::compare(b, op, self.kernel.dtype(x), operands[0], operands[1]),
            Op::Select(..) => b.ins().select(operands[0], operands[1], operands[2]),
            Op::Fma(..) => b.ins().fma(operands[0], operands[1], operands[2]),
            Op::Cast(x) => convert::cast(b, self.kernel.dtype(x), dtype, operands[0]),
            Op::Bitcast(_) => scalar::bitcast(b, operands[0], machine(dtype)),
            Op::Const(_)
            | Op::Size(_)
            | Op::Param(_)
            | Op::TaskLo
            | Op::TaskHi
            | Op::LoopVar
            | Op::Folded
            | Op::Get(_)
            | Op::Load(..) => unreachable!("{value} has no operands to compute with"),
        }
    }

    fn gemm(&mut self, gemm: &Gemm) {
        let (offset, which) =
            if gemm.dtype == DType::F32 { (layout::GEMM_F32, 0) } else { (layout::GEMM_F64, 1) };
        let sig = match self.gemm[which] {
            Some(sig) => sig,
            None => {
                let mut sig = Signature::new(self.b.func.signature.call_conv);
                let matrix = [self.pointer, types::I64, types::I64];
                let all = [[types::I64; 3], matrix, matrix, matrix].concat();
                sig.params.extend(all.into_iter().map(AbiParam::new));
                let sig = self.b.import_signature(sig);
                self.gemm[which] = Some(sig);
                sig
            }
        };
        let callee = self.host_function(offset);
        let mut args: SmallVec<[Machine; 12]> =
            [gemm.m, gemm.n, gemm.k].into_iter().map(|v| self.value(v)).collect();
        for Matrix { buffer, offset, row_stride, col_stride } in [gemm.a, gemm.b, gemm.c] {
            let memory = self.buffer(buffer);
            let address = self.address(memory, self.value(offset));
            args.extend([address, self.value(row_stride), self.value(col_stride)]);
        }
        self.b.ins().call_indirect(sig, callee, &args);
    }
}

/// The greatest count that a shift may have, if a mask says so: it needs no question then.
fn greatest_count(kernel: &Kernel, op: BinOp, count: Value) -> Option<Scalar> {
    match (op, kernel.op(count)) {
        (BinOp::Shl | BinOp::Shr, Op::Binary(BinOp::And, x, y)) => {
            kernel.constant(y).or_else(|| kernel.constant(x))
        }
        _ => None,
    }
}
