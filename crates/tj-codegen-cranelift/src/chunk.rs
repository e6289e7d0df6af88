//! Values, variables and memory in one chunk of a vectorised loop.

use cranelift_codegen::ir::{InstBuilder, Value as Machine};
use smallvec::{SmallVec, smallvec};
use tj_kernel::lanes::{Form, Shape, Stride, Width};
use tj_kernel::{BinOp, Buf, Op, Value, Var};
use tj_tensor::DType;

use crate::emit::Emitter;
use crate::memory::Memory;
use crate::turn::Turn;
use crate::types::{machine, vector_type};
use crate::vars::VarHome;
use crate::vector::{self, Vectors, count, map};
use crate::{scalar, vector_convert};

/// A varying value in one chunk.
#[derive(Clone)]
pub(crate) enum Rep {
    Vectors(Vectors),
    Each(Each),
}

/// One scalar a lane.
type Each = SmallVec<[Machine; 4]>;

impl Emitter<'_> {
    /// Evaluates a varying value.
    pub(crate) fn chunk_define(&mut self, turn: &Turn, c: usize, value: Value) -> Rep {
        self.pin(value);
        let op = self.kernel.op(value);
        if let Op::Get(var) = op {
            return self.chunk_get(turn, c, var);
        }
        if let Op::Load(buffer, index) = op {
            return self.chunk_load(turn, c, value, buffer, index);
        }
        if turn.lanes.form(value) == Form::Vector {
            return Rep::Vectors(self.chunk_compute(turn, c, value));
        }
        let mut operands = SmallVec::<[Each; 3]>::new();
        op.for_each_operand(|v| operands.push(self.as_each(turn, c, v)));
        let lane = |l| operands.iter().map(|o| o[l]).collect::<SmallVec<[Machine; 3]>>();
        Rep::Each((0..turn.width.lanes()).map(|l| self.compute(value, &lane(l))).collect())
    }

    fn chunk_compute(&mut self, turn: &Turn, c: usize, value: Value) -> Vectors {
        let dtype = self.kernel.dtype(value);
        let width = turn.width;
        match self.kernel.op(value) {
            Op::Unary(op, x) => {
                let x = self.as_vectors(turn, c, x);
                map(&x, |x| vector::unary(&mut self.b, op, dtype, x))
            }
            Op::Binary(op @ (BinOp::Shl | BinOp::Sar | BinOp::Shr), x, count) => {
                let x = self.as_vectors(turn, c, x);
                let known = self.kernel.constant(count);
                let count = self.value(count);
                vector::shift(&mut self.b, op, dtype, &x, count, known)
            }
            Op::Binary(op, x, y) => {
                let known = self.kernel.constant(y);
                let [x, y] = [x, y].map(|v| self.as_vectors(turn, c, v));
                vector::binary(&mut self.b, op, dtype, &x, &y, known)
            }
            Op::Compare(op, x, y) => {
                let operands = self.kernel.dtype(x);
                let [x, y] = [x, y].map(|v| self.as_vectors(turn, c, v));
                vector::compare(&mut self.b, width, op, operands, &x, &y)
            }
            Op::Select(d, x, y) => {
                let [d, x, y] = [d, x, y].map(|v| self.as_vectors(turn, c, v));
                vector::select(&mut self.b, &d, &x, &y)
            }
            Op::Fma(x, y, z) => {
                let [x, y, z] = [x, y, z].map(|v| self.as_vectors(turn, c, v));
                (0..x.len()).map(|i| self.b.ins().fma(x[i], y[i], z[i])).collect()
            }
            // A mask is not the bits of a bool.
            Op::Bitcast(x) | Op::Cast(x) if self.kernel.dtype(x).is_bool() => {
                let x = self.as_vectors(turn, c, x);
                if dtype.is_bool() {
                    x
                } else {
                    vector_convert::cast(&mut self.b, width, DType::Bool, dtype, &x)
                }
            }
            Op::Cast(x) => {
                let from = self.kernel.dtype(x);
                let x = self.as_vectors(turn, c, x);
                vector_convert::cast(&mut self.b, width, from, dtype, &x)
            }
            Op::Bitcast(x) => {
                let x = self.as_vectors(turn, c, x);
                map(&x, |x| scalar::bitcast(&mut self.b, x, vector_type(width, dtype)))
            }
            Op::Const(_)
            | Op::Size(_)
            | Op::Param(_)
            | Op::TaskLo
            | Op::TaskHi
            | Op::LoopVar
            | Op::Folded
            | Op::Get(_)
            | Op::Load(..) => unreachable!("{value} is not computed from vectors"),
        }
    }

    fn chunk_load(&mut self, turn: &Turn, c: usize, value: Value, buffer: Buf, index: Value) -> Rep {
        let dtype = self.kernel.dtype(value);
        let memory = Memory { flags: self.load_flags(buffer, index), ..self.buffer(buffer) };
        let last = turn.width.lanes() - 1;
        if turn.lanes.form(value) == Form::Each {
            return Rep::Each(self.load_each(turn, c, value, memory, index));
        }
        Rep::Vectors(match turn.lanes.shape(index) {
            Shape::Affine(Stride::ONE) => {
                let (address, offset) = self.lane_address(turn, c, 0, memory, index);
                self.load_vectors(turn.width, dtype, memory, address, offset)
            }
            Shape::Affine(Stride { factor: -1, by: None }) => {
                let (address, offset) = self.lane_address(turn, c, last, memory, index);
                let backwards = self.load_vectors(turn.width, dtype, memory, address, offset);
                vector::reverse(&mut self.b, &backwards)
            }
            Shape::Affine(_) | Shape::Varying | Shape::Uniform => {
                let each = self.load_each(turn, c, value, memory, index);
                vector::join(&mut self.b, turn.width, dtype, &each)
            }
        })
    }

    fn load_each(&mut self, turn: &Turn, c: usize, value: Value, memory: Memory, index: Value) -> Each {
        let ty = machine(self.kernel.dtype(value));
        let lanes = 0..turn.width.lanes();
        lanes
            .map(|lane| {
                let (address, offset) = self.lane_address(turn, c, lane, memory, index);
                self.b.ins().load(ty, memory.flags, address, offset)
            })
            .collect()
    }

    fn load_vectors(
        &mut self,
        width: Width,
        dtype: DType,
        memory: Memory,
        address: Machine,
        offset: i32,
    ) -> Vectors {
        if dtype.is_bool() {
            return smallvec![vector::load_mask(&mut self.b, width, memory.flags, address, offset)];
        }
        let ty = vector_type(width, dtype);
        let vectors = 0..count(width, dtype) as i32;
        vectors.map(|i| self.b.ins().load(ty, memory.flags, address, offset + 16 * i)).collect()
    }

    /// Stores a value of all lanes.
    pub(crate) fn chunk_store(&mut self, turn: &Turn, c: usize, buffer: Buf, index: Value, value: Value) {
        let dtype = self.kernel.buffers[buffer.index()].dtype;
        let memory = self.buffer(buffer);
        let next = turn.lanes.shape(index) == Shape::Affine(Stride::ONE);
        if next && turn.lanes.stores_vectors(dtype) {
            let (address, offset) = self.lane_address(turn, c, 0, memory, index);
            let vectors = self.as_vectors(turn, c, value);
            return self.store_vectors(turn.width, dtype.is_bool(), &vectors, memory, address, offset);
        }
        for (lane, x) in self.as_each(turn, c, value).into_iter().enumerate() {
            let (address, offset) = self.lane_address(turn, c, lane, memory, index);
            self.b.ins().store(memory.flags, x, address, offset);
        }
    }

    fn store_vectors(
        &mut self,
        width: Width,
        masks: bool,
        vectors: &[Machine],
        memory: Memory,
        address: Machine,
        offset: i32,
    ) {
        for (i, &x) in vectors.iter().enumerate() {
            match masks {
                true => vector::store_mask(&mut self.b, width, memory.flags, x, address, offset),
                false => {
                    self.b.ins().store(memory.flags, x, address, offset + 16 * i as i32);
                }
            }
        }
    }

    fn chunk_get(&mut self, turn: &Turn, c: usize, var: Var) -> Rep {
        let dtype = self.kernel.var(var).dtype;
        let vectors = turn.width.vectors(dtype);
        match self.turn_home(turn, var) {
            VarHome::Scalar(_) => {
                let values = turn.vars[c][&var].iter().map(|&v| self.b.use_var(v)).collect();
                if vectors.is_some() { Rep::Vectors(values) } else { Rep::Each(values) }
            }
            VarHome::Vectors { vectors: all, .. } => {
                let n = count(turn.width, dtype);
                Rep::Vectors(all[c * n..][..n].iter().map(|&v| self.b.use_var(v)).collect())
            }
            VarHome::Slot(memory) => {
                let (address, first) = self.slot_address(turn, c, memory);
                if vectors.is_some() {
                    return Rep::Vectors(self.load_vectors(turn.width, dtype, memory, address, first));
                }
                let lane = |l: usize| {
                    self.b.ins().load(
                        machine(dtype),
                        memory.flags,
                        address,
                        first + ((l as i32) << memory.shift),
                    )
                };
                Rep::Each((0..turn.width.lanes()).map(lane).collect())
            }
        }
    }

    /// Assigns a variable that varies; a variable of the body comes into being with its first assignment.
    pub(crate) fn chunk_set(&mut self, turn: &mut Turn, c: usize, var: Var, value: Value) {
        let dtype = self.kernel.var(var).dtype;
        let vectors = turn.width.vectors(dtype);
        let values = match vectors {
            Some(_) => self.as_vectors(turn, c, value),
            None => self.as_each(turn, c, value),
        };
        match self.turn_home(turn, var) {
            VarHome::Scalar(_) => {
                let ty = if vectors.is_some() { vector_type(turn.width, dtype) } else { machine(dtype) };
                let variables = turn.vars[c]
                    .entry(var)
                    .or_insert_with(|| values.iter().map(|_| self.b.declare_var(ty)).collect());
                variables.iter().zip(values).for_each(|(&v, x)| self.b.def_var(v, x));
            }
            VarHome::Vectors { vectors: all, .. } => {
                let first = c * values.len();
                all[first..].iter().zip(values).for_each(|(&v, x)| self.b.def_var(v, x));
            }
            VarHome::Slot(memory) => {
                let (address, first) = self.slot_address(turn, c, memory);
                if vectors.is_some() {
                    return self.store_vectors(turn.width, dtype.is_bool(), &values, memory, address, first);
                }
                for (l, x) in values.into_iter().enumerate() {
                    self.b.ins().store(memory.flags, x, address, first + ((l as i32) << memory.shift));
                }
            }
        }
    }

    /// Where a variable is during a turn.
    fn turn_home(&self, turn: &Turn, var: Var) -> VarHome {
        match self.homes[var.index()].clone() {
            VarHome::Vectors { memory, .. } if turn.spilled => VarHome::Slot(memory),
            home @ (VarHome::Scalar(_) | VarHome::Slot(_) | VarHome::Vectors { .. }) => home,
        }
    }

    /// Where the lanes of a chunk are in a slot.
    fn slot_address(&mut self, turn: &Turn, c: usize, memory: Memory) -> (Machine, i32) {
        let element = turn.element.expect("loops with lane variables know their element");
        (self.address(memory, element), ((c * turn.width.lanes()) as i32) << memory.shift)
    }

    /// Address of the element that one lane accesses, and a constant to add.
    fn lane_address(
        &mut self,
        turn: &Turn,
        c: usize,
        lane: usize,
        memory: Memory,
        index: Value,
    ) -> (Machine, i32) {
        let position = (c * turn.width.lanes() + lane) as i64;
        if let Shape::Affine(Stride { factor, by: None }) = turn.lanes.shape(index) {
            let offset = position.checked_mul(factor).and_then(|d| d.checked_mul(1 << memory.shift));
            if let Some(offset) = offset.and_then(|d| i32::try_from(d).ok()) {
                return (self.address(memory, self.value(index)), offset);
            }
        }
        let index = self.as_each(turn, c, index)[lane];
        (self.address(memory, index), 0)
    }

    /// An operand of a vector operation.
    fn as_vectors(&mut self, turn: &Turn, c: usize, value: Value) -> Vectors {
        let dtype = self.kernel.dtype(value);
        let each = match turn.lanes.shape(value) {
            Shape::Uniform => {
                let x = self.value(value);
                return vector::splat(&mut self.b, turn.width, dtype, x);
            }
            Shape::Affine(_) => self.as_each(turn, c, value),
            Shape::Varying => match turn.reps[c][&value].clone() {
                Rep::Vectors(vectors) => return vectors,
                Rep::Each(each) => each,
            },
        };
        vector::join(&mut self.b, turn.width, dtype, &each)
    }

    /// An operand of an operation that is done lane by lane.
    fn as_each(&mut self, turn: &Turn, c: usize, value: Value) -> Each {
        let dtype = self.kernel.dtype(value);
        let lanes = 0..turn.width.lanes();
        match turn.lanes.shape(value) {
            Shape::Uniform => smallvec![self.value(value); lanes.len()],
            Shape::Affine(Stride { factor, by }) => {
                let base = self.value(value);
                let first = c * lanes.len();
                lanes
                    .map(|lane| {
                        let step = factor.wrapping_mul((first + lane) as i64);
                        match by {
                            _ if step == 0 => base,
                            None => self.b.ins().iadd_imm_s(base, step),
                            Some(by) => {
                                let by = self.value(by);
                                let step = self.b.ins().imul_imm_s(by, step);
                                self.b.ins().iadd(base, step)
                            }
                        }
                    })
                    .collect()
            }
            Shape::Varying => match turn.reps[c][&value].clone() {
                Rep::Each(each) => each,
                Rep::Vectors(vectors) => {
                    lanes.map(|l| vector::lane(&mut self.b, dtype, &vectors, l)).collect()
                }
            },
        }
    }
}
