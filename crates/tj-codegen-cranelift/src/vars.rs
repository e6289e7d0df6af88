//! Variables, one element or one a lane.
//!
//! A lane variable of `w` elements whose loops all turn by exactly `w` iterations is kept in vector variables. It is
//! spilled to its stack slot around scalar loops only. Other lane variables stay in their slot.

use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value as Machine};
use cranelift_frontend::Variable;
use smallvec::SmallVec;
use tj_kernel::lanes::Width;
use tj_kernel::{BinOp, Value, Var};
use tj_tensor::DType;

use crate::emit::Emitter;
use crate::memory::Memory;
use crate::scalar;
use crate::types::{machine, vector_type, width_of};
use crate::vector::{self, Vectors};

/// Where a variable lives.
#[derive(Clone)]
pub(crate) enum VarHome {
    /// One element.
    Scalar(Variable),
    /// An array of lanes on the stack.
    Slot(Memory),
    /// An array of lanes in vectors.
    Vectors {
        /// Where scalar loops find it.
        memory: Memory,
        /// Of a loop that uses it; all of them if it is a bool, as it is a mask.
        width: Width,
        /// Vectors of all lanes, those of the first lanes first.
        vectors: SmallVec<[Variable; 8]>,
    },
}

impl Emitter<'_> {
    /// Makes room for all variables.
    pub(crate) fn open_vars(&mut self) {
        for i in 0..self.kernel.vars.len() {
            let var = Var(i as u32);
            let decl = self.kernel.var(var);
            let home = match decl.lanes {
                None => VarHome::Scalar(self.variable(machine(decl.dtype))),
                Some(lanes) => self.lane_home(var, decl.dtype, lanes),
            };
            self.homes.push(home);
        }
    }

    fn lane_home(&mut self, var: Var, dtype: DType, lanes: u32) -> VarHome {
        let size = dtype.size() as u32;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size * lanes, 4);
        let slot = self.b.create_sized_stack_slot(data);
        let flags = self.region(self.kernel.buffers.len() + var.index(), format!("lanes of {var}"));
        let base = self.b.ins().stack_addr(self.pointer, slot, 0);
        let memory = Memory { base, flags, shift: size.trailing_zeros() };
        let Some(width) = self.plan.kept(var) else {
            return VarHome::Slot(memory);
        };
        let ty = vector_type(width, dtype);
        let vectors = (0..lanes / ty.lane_count()).map(|_| self.variable(ty)).collect();
        VarHome::Vectors { memory, width, vectors }
    }

    /// Sets a variable, or all elements of a lane variable.
    pub(crate) fn declare(&mut self, var: Var, init: Value) {
        let decl = self.kernel.var(var);
        let value = self.value(init);
        match self.homes[var.index()].clone() {
            VarHome::Scalar(variable) => self.b.def_var(variable, value),
            VarHome::Slot(memory) => {
                for i in 0..decl.lanes.unwrap_or(1) {
                    self.b.ins().store(memory.flags, value, memory.base, (i << memory.shift) as i32);
                }
            }
            VarHome::Vectors { vectors, width, .. } => {
                let value = vector::splat(&mut self.b, width, decl.dtype, value)[0];
                vectors.iter().for_each(|&v| self.b.def_var(v, value));
            }
        }
    }

    /// Reads a variable, or the element of this iteration.
    pub(crate) fn get_var(&mut self, var: Var) -> Machine {
        match self.homes[var.index()] {
            VarHome::Scalar(variable) => self.b.use_var(variable),
            VarHome::Slot(memory) | VarHome::Vectors { memory, .. } => {
                let address = self.element_address(memory);
                self.b.ins().load(machine(self.kernel.var(var).dtype), memory.flags, address, 0)
            }
        }
    }

    /// Assigns a variable, or the element of this iteration.
    pub(crate) fn set_var(&mut self, var: Var, value: Value) {
        let value = self.value(value);
        match self.homes[var.index()] {
            VarHome::Scalar(variable) => self.b.def_var(variable, value),
            VarHome::Slot(memory) | VarHome::Vectors { memory, .. } => {
                let address = self.element_address(memory);
                self.b.ins().store(memory.flags, value, address, 0);
            }
        }
    }

    fn element_address(&mut self, memory: Memory) -> Machine {
        let element = self.element.expect("the verifier allows lane variables in lanes loops only");
        self.address(memory, element)
    }

    /// Brings a lane variable from vectors to its slot.
    pub(crate) fn spill(&mut self, var: Var) {
        let VarHome::Vectors { memory, width, vectors } = self.homes[var.index()].clone() else { return };
        for (i, &v) in vectors.iter().enumerate() {
            let x = self.b.use_var(v);
            if self.kernel.var(var).dtype.is_bool() {
                let offset = (i * width.lanes()) as i32;
                vector::store_mask(&mut self.b, width, memory.flags, x, memory.base, offset);
            } else {
                self.b.ins().store(memory.flags, x, memory.base, 16 * i as i32);
            }
        }
    }

    /// Brings a lane variable from its slot to vectors.
    pub(crate) fn reload(&mut self, var: Var) {
        let VarHome::Vectors { memory, width, vectors } = self.homes[var.index()].clone() else { return };
        let dtype = self.kernel.var(var).dtype;
        for (i, &v) in vectors.iter().enumerate() {
            let x = if dtype.is_bool() {
                let offset = (i * width.lanes()) as i32;
                vector::load_mask(&mut self.b, width, memory.flags, memory.base, offset)
            } else {
                self.b.ins().load(vector_type(width, dtype), memory.flags, memory.base, 16 * i as i32)
            };
            self.b.def_var(v, x);
        }
    }

    /// Combines the elements of a lane variable by halves: vectors as long as there are two, then scalars.
    pub(crate) fn fold(&mut self, dst: Value, var: Var, op: BinOp) {
        let decl = self.kernel.var(var);
        let lanes = decl.lanes.expect("the verifier allows folds of lane variables only") as usize;
        let mut vectors: SmallVec<[Machine; 8]> = SmallVec::new();
        let mut elements: SmallVec<[Machine; 32]> = SmallVec::new();
        match self.homes[var.index()].clone() {
            VarHome::Vectors { vectors: variables, .. } => {
                vectors.extend(variables.iter().map(|&v| self.b.use_var(v)));
            }
            VarHome::Slot(memory) if !decl.dtype.is_bool() && lanes.is_multiple_of(16 >> memory.shift) => {
                let ty = vector_type(width_of(machine(decl.dtype)), decl.dtype);
                let load = |i| self.b.ins().load(ty, memory.flags, memory.base, 16 * i as i32);
                vectors.extend((0..lanes >> (4 - memory.shift)).map(load));
            }
            VarHome::Slot(memory) => {
                let ty = machine(decl.dtype);
                let load =
                    |i: usize| self.b.ins().load(ty, memory.flags, memory.base, (i << memory.shift) as i32);
                elements.extend((0..lanes).map(load));
            }
            VarHome::Scalar(_) => unreachable!("{var} is a lane variable"),
        }
        let vectorises =
            !matches!(op, BinOp::FloorDiv | BinOp::Mod | BinOp::Rem | BinOp::Shl | BinOp::Sar | BinOp::Shr);
        while vectorises && vectors.len() > 1 {
            let upper: Vectors = vectors.drain(vectors.len() / 2..).collect();
            vectors =
                vector::binary(&mut self.b, op, decl.dtype, &vectors, &upper, None).into_iter().collect();
        }
        for &v in &vectors {
            let n = self.b.func.dfg.value_type(v).lane_count() as usize;
            elements.extend((0..n).map(|i| vector::lane(&mut self.b, decl.dtype, &[v], i)));
        }
        while elements.len() > 1 {
            let upper: SmallVec<[Machine; 32]> = elements.drain(elements.len() / 2..).collect();
            for (x, y) in elements.iter_mut().zip(upper) {
                *x = scalar::binary(&mut self.b, op, decl.dtype, *x, y, None);
            }
        }
        self.set_value(dst, elements[0]);
    }
}
