//! One kernel as one Cranelift function, statement by statement.
//!
//! Kernel values become Cranelift values, kernel variables become `Variable`s of the frontend, which builds SSA form.
//! Arrays of lanes live in stack slots, or in vector variables where [`crate::vectors`] can keep them. Code is written
//! once from top to bottom; the only recursion is over nested blocks.
//!
//! Cranelift places a pure value as late as it can and hoists it out of loops by itself, so that nothing here
//! cares where a value is computed. For that to hold for memory, loads from buffers that are never written say so
//! (`readonly`, `can_move`), and every buffer is an alias region of its own.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, AliasRegionData, Block as Label, BlockArg, Function, InstBuilder, MemFlagsData, SigRef,
    Signature, StackSlotData, StackSlotKind, Value as Machine, types,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use smallvec::SmallVec;
use tj_kernel::lanes::Lanes;
use tj_kernel::{Access, BinOp, Block, Buf, Gemm, Kernel, LoopKind, Matrix, Op, Stmt, Value, Var};
use tj_tensor::{DType, Scalar};

use crate::scalar;
use crate::types::machine;
use crate::vectors::{Plan, VarHome};

/// Byte offsets in the tables of `tj_kernel::abi`.
mod layout {
    use std::mem::offset_of;
    use tj_kernel::abi::{Args, Host};

    pub(super) const BUFFERS: i32 = offset_of!(Args, buffers) as i32;
    pub(super) const SIZES: i32 = offset_of!(Args, sizes) as i32;
    pub(super) const PARAMS: i32 = offset_of!(Args, params) as i32;
    pub(super) const HOST: i32 = offset_of!(Args, host) as i32;
    pub(super) const GEMM_F32: i32 = offset_of!(Host, gemm_f32) as i32;
    pub(super) const GEMM_F64: i32 = offset_of!(Host, gemm_f64) as i32;
}

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
        config,
        buffers: Vec::new(),
        values: vec![None; kernel.values.len()],
        pins: vec![0; kernel.values.len()],
        conditions: 0,
        homes: Vec::new(),
        args: params[0],
        task: (params[1], params[2]),
        element: None,
        gemm: [None; 2],
        b,
    };
    emitter.open_buffers();
    emitter.open_vars(&plan);
    emitter.block(&plan, &kernel.body);
    let ok = emitter.b.ins().iconst(types::I32, tj_kernel::abi::STATUS_OK as i64);
    emitter.b.ins().return_(&[ok]);
    emitter.b.finalize(config);
}

/// A buffer, or an array of lanes on the stack.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// Address of element 0.
    pub(crate) base: Machine,
    /// What Cranelift may assume of accesses.
    pub(crate) flags: MemFlagsData,
    /// Bytes an element, as a power of two.
    pub(crate) shift: u32,
}

/// A function being written.
pub(crate) struct Emitter<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) b: FunctionBuilder<'a>,
    /// Where the variables live.
    pub(crate) homes: Vec<VarHome>,
    /// Which element of lane variables the iteration of a scalar lanes loop owns.
    pub(crate) element: Option<Machine>,
    config: TargetFrontendConfig,
    buffers: Vec<Memory>,
    values: Vec<Option<Machine>>,
    /// Under how many conditions each value is bound to stay.
    pins: Vec<u32>,
    /// Conditions around the statement being emitted.
    conditions: u32,
    args: Machine,
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
        self.pins[var.index()] = self.conditions;
        self.set_value(var, machine);
    }

    fn argument_flags() -> MemFlagsData {
        MemFlagsData::trusted().with_readonly().with_can_move()
    }

    fn argument(&mut self, table: i32, position: usize, ty: types::Type) -> Machine {
        let flags = Self::argument_flags();
        let table = self.b.ins().load(self.config.pointer_type(), flags, self.args, table);
        self.b.ins().load(ty, flags, table, 8 * position as i32)
    }

    fn region(&mut self, id: usize, name: String) -> MemFlagsData {
        let data = AliasRegionData { user_id: id as u32, description: name.into() };
        let region = self.b.func.dfg.alias_regions.insert(data);
        MemFlagsData::new().with_notrap().with_alias_region(Some(region))
    }

    fn open_buffers(&mut self) {
        for (i, buffer) in self.kernel.buffers.iter().enumerate() {
            let base = self.argument(layout::BUFFERS, i, self.config.pointer_type());
            let mut flags = self.region(i, buffer.name.clone());
            if buffer.access == Access::Read {
                flags = flags.with_readonly();
            }
            self.buffers.push(Memory { base, flags, shift: buffer.dtype.size().trailing_zeros() });
        }
    }

    /// What Cranelift may assume of a load. It may move one that needs what its condition guards, or that has no
    /// condition: elsewhere the element may not exist.
    pub(crate) fn load_flags(&self, buffer: Buf, index: Value) -> MemFlagsData {
        let flags = self.buffer(buffer).flags;
        let bound = self.pins[index.index()] >= self.conditions;
        if flags.readonly() && bound { flags.with_can_move() } else { flags }
    }

    /// Notes under how many conditions a value is bound to stay: those around the innermost thing it is made from
    /// that does not move.
    pub(crate) fn pin(&mut self, value: Value) {
        let op = self.kernel.op(value);
        let moves =
            op.is_pure() || matches!(op, Op::Load(buffer, i) if self.load_flags(buffer, i).can_move());
        let mut pin = if moves { 0 } else { self.conditions };
        op.for_each_operand(|v| pin = pin.max(self.pins[v.index()]));
        self.pins[value.index()] = pin;
    }

    /// The memory of a buffer.
    pub(crate) fn buffer(&self, buffer: Buf) -> Memory {
        self.buffers[buffer.index()]
    }

    /// An array of lanes on the stack. Bools take four bytes, so that vectors of them are masks.
    pub(crate) fn lane_slot(&mut self, var: Var, lanes: u32) -> Memory {
        let dtype = self.kernel.var(var).dtype;
        let bytes = if dtype.is_bool() { 4 } else { dtype.size() as u32 };
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes * lanes, 4);
        let slot = self.b.create_sized_stack_slot(data);
        let flags = self.region(self.kernel.buffers.len() + var.index(), format!("lanes of {var}"));
        let base = self.b.ins().stack_addr(self.config.pointer_type(), slot, 0);
        Memory { base, flags, shift: bytes.trailing_zeros() }
    }

    /// Address of an element.
    pub(crate) fn address(&mut self, memory: Memory, index: Machine) -> Machine {
        let bytes = self.b.ins().ishl_imm_u(index, memory.shift as i64);
        self.b.ins().iadd(memory.base, bytes)
    }

    /// Emits the statements of a block.
    pub(crate) fn block(&mut self, plan: &Plan, block: &Block) {
        for stmt in block {
            self.stmt(plan, stmt);
        }
    }

    fn stmt(&mut self, plan: &Plan, stmt: &Stmt) {
        match stmt {
            Stmt::Def(v) => self.define(*v),
            Stmt::Declare(var, init) => self.declare(*var, *init),
            Stmt::Set(var, value) => {
                let value = self.value(*value);
                self.set_var(*var, value);
            }
            Stmt::Store { buffer, index, value } => {
                let memory = self.buffer(*buffer);
                let address = self.address(memory, self.value(*index));
                let value = self.value(*value);
                self.b.ins().store(memory.flags, value, address, 0);
            }
            Stmt::For { var, lo, hi, kind, body } => {
                let (lo, hi) = (self.value(*lo), self.value(*hi));
                match (kind, plan.lanes(*var)) {
                    (LoopKind::Lanes(_), Some(lanes)) => self.lanes_loop(plan, lanes, lo, hi, body),
                    (LoopKind::Serial | LoopKind::Lanes(_), _) => {
                        self.counted(lo, hi, |e, i| {
                            e.set_loop_var(*var, i);
                            e.block(plan, body);
                        });
                    }
                }
            }
            Stmt::While { head, cond, body } => {
                self.while_loop(|e| e.block(plan, head), *cond, |e| e.block(plan, body));
            }
            Stmt::If { cond, then, els } => {
                self.if_else(*cond, |e| e.block(plan, then), |e| e.block(plan, els));
            }
            Stmt::Fold { dst, var, op } => self.fold(*dst, *var, *op),
            Stmt::Gemm(gemm) => self.gemm(gemm),
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
                let known = if let Op::Const(c) = self.kernel.op(y) { Some(c) } else { None };
                scalar::binary(b, op, dtype, operands[0], operands[1], known)
            }
            Op::Compare(op, x, _) => scalar::compare(b, op, self.kernel.dtype(x), operands[0], operands[1]),
            Op::Select(..) => b.ins().select(operands[0], operands[1], operands[2]),
            Op::Fma(..) => b.ins().fma(operands[0], operands[1], operands[2]),
            Op::Cast(x) => scalar::cast(b, self.kernel.dtype(x), dtype, operands[0]),
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

    fn open_vars(&mut self, plan: &Plan) {
        for i in 0..self.kernel.vars.len() {
            let var = Var(i as u32);
            let home = self.home(plan, var);
            self.homes.push(home);
        }
    }

    fn declare(&mut self, var: Var, init: Value) {
        let value = self.value(init);
        match self.homes[var.index()].clone() {
            VarHome::Scalar(variable) => self.b.def_var(variable, value),
            home @ (VarHome::Slot(_) | VarHome::Vectors { .. }) => self.fill_lanes(var, &home, value),
        }
    }

    fn get_var(&mut self, var: Var) -> Machine {
        match self.homes[var.index()] {
            VarHome::Scalar(variable) => self.b.use_var(variable),
            VarHome::Slot(memory) | VarHome::Vectors { memory, .. } => {
                let address = self.element_address(memory);
                self.load_slot(var, memory, address, 0)
            }
        }
    }

    fn set_var(&mut self, var: Var, value: Machine) {
        match self.homes[var.index()] {
            VarHome::Scalar(variable) => self.b.def_var(variable, value),
            VarHome::Slot(memory) | VarHome::Vectors { memory, .. } => {
                let address = self.element_address(memory);
                let value = self.slot_value(var, value);
                self.b.ins().store(memory.flags, value, address, 0);
            }
        }
    }

    /// A lane from its slot.
    pub(crate) fn load_slot(&mut self, var: Var, memory: Memory, address: Machine, offset: i32) -> Machine {
        let dtype = self.kernel.var(var).dtype;
        if !dtype.is_bool() {
            return self.b.ins().load(machine(dtype), memory.flags, address, offset);
        }
        let mask = self.b.ins().load(types::I32, memory.flags, address, offset);
        let mask = self.b.ins().ireduce(types::I8, mask);
        self.b.ins().band_imm_u(mask, 1)
    }

    /// A lane as its slot holds it.
    pub(crate) fn slot_value(&mut self, var: Var, value: Machine) -> Machine {
        if self.kernel.var(var).dtype.is_bool() { self.b.ins().bmask(types::I32, value) } else { value }
    }

    fn element_address(&mut self, memory: Memory) -> Machine {
        let element = self.element.expect("the verifier allows lane variables in lanes loops only");
        self.address(memory, element)
    }

    /// A new variable of one machine type.
    pub(crate) fn variable(&mut self, ty: types::Type) -> Variable {
        self.b.declare_var(ty)
    }

    /// Runs `body` for `lo..hi`, one at a time.
    pub(crate) fn counted(&mut self, lo: Machine, hi: Machine, body: impl FnOnce(&mut Self, Machine)) {
        let enter = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.rotated(enter, lo, hi, 1, body);
    }

    /// If `enter`, runs `body` for `lo`, `lo + step`, ... until it reaches `hi`. The block before the loop
    /// is where Cranelift puts what it hoists, and it only runs if the loop does.
    pub(crate) fn rotated(
        &mut self,
        enter: Machine,
        lo: Machine,
        hi: Machine,
        step: i64,
        body: impl FnOnce(&mut Self, Machine),
    ) {
        let (before, header, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(enter, before, &[], after, &[]);
        self.enter(before);
        self.b.ins().jump(header, &[BlockArg::Value(lo)]);
        let i = self.b.append_block_param(header, types::I64);
        self.b.switch_to_block(header);
        body(self, i);
        let next = self.b.ins().iadd_imm_s(i, step);
        let more = self.b.ins().icmp(IntCC::NotEqual, next, hi);
        self.b.ins().brif(more, header, &[BlockArg::Value(next)], after, &[]);
        self.b.seal_block(header);
        self.enter(after);
    }

    /// Goes on in a block to which all jumps have been written.
    pub(crate) fn enter(&mut self, block: Label) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    /// `loop { head; if !cond { break } body }`.
    pub(crate) fn while_loop(
        &mut self,
        head: impl FnOnce(&mut Self),
        cond: Value,
        body: impl FnOnce(&mut Self),
    ) {
        let (header, inside, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().jump(header, &[]);
        self.b.switch_to_block(header);
        self.conditions += 1;
        head(self);
        let cond = self.value(cond);
        self.b.ins().brif(cond, inside, &[], after, &[]);
        self.enter(inside);
        body(self);
        self.conditions -= 1;
        self.b.ins().jump(header, &[]);
        self.b.seal_block(header);
        self.enter(after);
    }

    /// Runs one of two blocks.
    pub(crate) fn if_else(&mut self, cond: Value, then: impl FnOnce(&mut Self), els: impl FnOnce(&mut Self)) {
        let (yes, no, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let cond = self.value(cond);
        self.b.ins().brif(cond, yes, &[], no, &[]);
        self.conditions += 1;
        self.enter(yes);
        then(self);
        self.b.ins().jump(after, &[]);
        self.enter(no);
        els(self);
        self.conditions -= 1;
        self.b.ins().jump(after, &[]);
        self.enter(after);
    }

    /// Runs the iterations `lo..hi` of a lanes loop one by one. `first` is iteration number 0, which owns element 0.
    pub(crate) fn scalar_lanes(
        &mut self,
        plan: &Plan,
        lanes: &Lanes,
        first: Machine,
        (lo, hi): (Machine, Machine),
        body: &Block,
    ) {
        self.counted(lo, hi, |e, i| {
            e.element = (!lanes.lane_vars.is_empty()).then(|| e.element_of(lanes, first, i));
            e.set_loop_var(lanes.var, i);
            e.block(plan, body);
            e.element = None;
        });
    }

    /// Which element of its lane variables iteration `i` owns.
    pub(crate) fn element_of(&mut self, lanes: &Lanes, first: Machine, i: Machine) -> Machine {
        let position = self.b.ins().isub(i, first);
        let count = Scalar::U64(lanes.lanes.into());
        let divisor = scalar::constant(&mut self.b, count);
        scalar::binary(&mut self.b, BinOp::Mod, DType::U64, position, divisor, Some(count))
    }

    fn gemm(&mut self, gemm: &Gemm) {
        let pointer = self.config.pointer_type();
        let (offset, which) =
            if gemm.dtype == DType::F32 { (layout::GEMM_F32, 0) } else { (layout::GEMM_F64, 1) };
        let sig = match self.gemm[which] {
            Some(sig) => sig,
            None => {
                let mut sig = Signature::new(self.config.default_call_conv);
                let matrix = [pointer, types::I64, types::I64];
                sig.params.extend(
                    [[types::I64; 3], matrix, matrix, matrix].concat().into_iter().map(AbiParam::new),
                );
                let sig = self.b.import_signature(sig);
                self.gemm[which] = Some(sig);
                sig
            }
        };
        let flags = Self::argument_flags();
        let host = self.b.ins().load(pointer, flags, self.args, layout::HOST);
        let callee = self.b.ins().load(pointer, flags, host, offset);
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
