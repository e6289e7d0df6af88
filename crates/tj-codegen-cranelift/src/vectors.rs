//! Lanes loops as vector code, chunk by chunk.
//!
//! A vector holds `n` lanes (4 of 32 bits, 2 of 64); one turn of the vector loop runs `chunks` of them. The
//! statements between two control statements are emitted for chunk 0, then again for chunk 1, and so on: few
//! vectors are alive at once, and neighbouring chunks still overlap in the machine. Loops and branches inside
//! are uniform, so that they are emitted once, around the code of all chunks.
//!
//! What all lanes share, and affine values (at lane 0 of chunk 0), are emitted once, with chunk 0; an affine value of
//! another lane is that plus a multiple of its stride. Iterations that do not fill a turn run in a scalar loop.
//!
//! A lane variable of `w` elements whose loops all turn by exactly `w` iterations is kept in `w / n` vector
//! variables: chunk `c` owns elements `c * n ..`. It is spilled to its stack slot around the scalar loop only. Other
//! lane variables stay in their slot.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value as Machine, types};
use cranelift_frontend::Variable;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_kernel::lanes::{Form, Lanes, Shape, Stride, Width};
use tj_kernel::{BinOp, Block, Buf, Kernel, Op, Stmt, Value, Var};
use tj_tensor::DType;

use crate::emit::{Emitter, Memory};
use crate::types::{machine, vector_type};
use crate::{scalar, vector};

/// Operations after unrolling above which code only grows: they no longer fit the micro-operation cache.
const MAX_UNROLLED: usize = 64;
/// The same for loops with lane variables, where turns of less than all lanes cost loads and stores.
const MAX_UNROLLED_LANES: usize = 512;

/// How each lanes loop of a kernel runs.
pub(crate) struct Plan {
    loops: FxHashMap<Value, Lanes>,
    chunks: FxHashMap<Value, usize>,
    kept: Vec<Option<Width>>,
}

/// Where a variable lives.
#[derive(Clone)]
pub(crate) enum VarHome {
    /// One element.
    Scalar(Variable),
    /// An array of lanes on the stack.
    Slot(Memory),
    /// An array of lanes in vectors, with a slot for scalar loops.
    Vectors {
        /// Where scalar loops find it.
        memory: Memory,
        /// Of the loops that use it.
        width: Width,
        /// One a chunk.
        vectors: SmallVec<[Variable; 8]>,
    },
}

impl Plan {
    /// Looks at all lanes loops.
    pub(crate) fn new(kernel: &Kernel) -> Plan {
        let mut plan = Plan {
            loops: FxHashMap::default(),
            chunks: FxHashMap::default(),
            kept: vec![None; kernel.vars.len()],
        };
        let mut refused = vec![false; kernel.vars.len()];
        for lanes in tj_kernel::lanes::loops(kernel) {
            if let Ok(width) = lanes.width {
                let (chunks, whole) = choose_chunks(&lanes, per_vector(width));
                plan.chunks.insert(lanes.var, chunks);
                for &var in &lanes.lane_vars {
                    let dtype = kernel.var(var).dtype;
                    let holds = in_slot(width, dtype);
                    refused[var.index()] |=
                        !whole || !holds || plan.kept[var.index()].is_some_and(|w| w != width);
                    plan.kept[var.index()] = Some(width);
                }
            } else {
                lanes.lane_vars.iter().for_each(|v| refused[v.index()] = true);
            }
            plan.loops.insert(lanes.var, lanes);
        }
        for (kept, refused) in plan.kept.iter_mut().zip(refused) {
            if refused {
                *kept = None;
            }
        }
        plan
    }

    /// What is known of the lanes loop over `var`.
    pub(crate) fn lanes(&self, var: Value) -> Option<&Lanes> {
        self.loops.get(&var)
    }
}

/// Lanes of a vector.
fn per_vector(width: Width) -> usize {
    16 / width.bytes()
}

/// How many chunks a turn has, and whether that covers the lane variables.
fn choose_chunks(lanes: &Lanes, n: usize) -> (usize, bool) {
    let fitting = |limit: usize| [8, 4, 2].into_iter().find(|c| c * lanes.ops <= limit).unwrap_or(1);
    if lanes.lane_vars.is_empty() {
        return (fitting(MAX_UNROLLED).min(4), true);
    }
    let whole = lanes.lanes as usize / n;
    if whole.is_power_of_two() && whole * lanes.ops <= MAX_UNROLLED_LANES {
        return (whole, true);
    }
    let chunks =
        [4, 2].into_iter().find(|c| c * lanes.ops <= MAX_UNROLLED && whole.is_multiple_of(*c)).unwrap_or(1);
    (chunks, chunks == whole)
}

/// A varying value in one chunk.
#[derive(Clone)]
enum Rep {
    Vector(Machine),
    Each(Each),
}

/// One scalar a lane.
type Each = SmallVec<[Machine; 4]>;

/// A variable of the body in one chunk.
#[derive(Clone)]
enum LaneVar {
    Vector(Variable),
    Each(SmallVec<[Variable; 4]>),
}

/// A vector loop being written.
struct Turn<'a> {
    lanes: &'a Lanes,
    width: Width,
    /// Lanes of a vector.
    n: usize,
    /// Varying values, by chunk.
    reps: Vec<FxHashMap<Value, Rep>>,
    /// Variables of the body that vary, by chunk.
    vars: Vec<FxHashMap<Var, LaneVar>>,
    /// Element of lane variables in slots at lane 0 of chunk 0.
    element: Option<Machine>,
}

impl Emitter<'_> {
    /// Makes room for a variable.
    pub(crate) fn home(&mut self, plan: &Plan, var: Var) -> VarHome {
        let decl = self.kernel.var(var);
        let Some(lanes) = decl.lanes else {
            return VarHome::Scalar(self.variable(machine(decl.dtype)));
        };
        let memory = self.lane_slot(var, lanes);
        match plan.kept[var.index()] {
            None => VarHome::Slot(memory),
            Some(width) => {
                let ty = vector_type(width, decl.dtype);
                let vectors = (0..lanes as usize / per_vector(width)).map(|_| self.variable(ty)).collect();
                VarHome::Vectors { memory, width, vectors }
            }
        }
    }

    /// Sets all elements of a lane variable.
    pub(crate) fn fill_lanes(&mut self, var: Var, home: &VarHome, value: Machine) {
        let decl = self.kernel.var(var);
        match home {
            VarHome::Scalar(variable) => self.b.def_var(*variable, value),
            VarHome::Slot(memory) => {
                let value = self.slot_value(var, value);
                for i in 0..decl.lanes.unwrap_or(1) {
                    self.b.ins().store(memory.flags, value, memory.base, (i << memory.shift) as i32);
                }
            }
            VarHome::Vectors { vectors, width, .. } => {
                let value = vector::splat(&mut self.b, *width, decl.dtype, value);
                vectors.iter().for_each(|&v| self.b.def_var(v, value));
            }
        }
    }

    /// Runs a lanes loop: whole turns as vectors, the rest one by one.
    pub(crate) fn lanes_loop(&mut self, plan: &Plan, lanes: &Lanes, lo: Machine, hi: Machine, body: &Block) {
        let Ok(width) = lanes.width else {
            return self.scalar_lanes(plan, lanes, lo, (lo, hi), body);
        };
        let n = per_vector(width);
        let chunks = plan.chunks[&lanes.var];
        let step = (n * chunks) as i64;
        let runs = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        let distance = self.b.ins().isub(hi, lo);
        let zero = self.b.ins().iconst(types::I64, 0);
        let count = self.b.ins().select(runs, distance, zero);
        let whole = self.b.ins().band_imm_s(count, -step);
        let middle = self.b.ins().iadd(lo, whole);
        let enter = self.b.ins().icmp_imm_s(IntCC::NotEqual, whole, 0);
        self.rotated(enter, lo, middle, step, |e, i| {
            let element = (!lanes.lane_vars.is_empty()).then(|| e.element_of(lanes, lo, i));
            let mut turn = Turn {
                lanes,
                width,
                n,
                reps: vec![FxHashMap::default(); chunks],
                vars: vec![FxHashMap::default(); chunks],
                element,
            };
            e.set_loop_var(lanes.var, i);
            e.turn_block(&mut turn, body);
        });
        let kept: SmallVec<[Var; 4]> =
            lanes.lane_vars.iter().copied().filter(|v| plan.kept[v.index()].is_some()).collect();
        if kept.is_empty() {
            return self.scalar_lanes(plan, lanes, lo, (middle, hi), body);
        }
        let (tail, after) = (self.b.create_block(), self.b.create_block());
        let rest = self.b.ins().icmp(IntCC::SignedLessThan, middle, hi);
        self.b.ins().brif(rest, tail, &[], after, &[]);
        self.enter(tail);
        kept.iter().for_each(|&v| self.spill(v));
        self.scalar_lanes(plan, lanes, lo, (middle, hi), body);
        kept.iter().for_each(|&v| self.reload(v));
        self.b.ins().jump(after, &[]);
        self.enter(after);
    }

    fn spill(&mut self, var: Var) {
        if let VarHome::Vectors { memory, vectors, .. } = self.homes[var.index()].clone() {
            for (c, &v) in vectors.iter().enumerate() {
                let vector = self.b.use_var(v);
                self.b.ins().store(memory.flags, vector, memory.base, 16 * c as i32);
            }
        }
    }

    fn reload(&mut self, var: Var) {
        if let VarHome::Vectors { memory, width, vectors } = self.homes[var.index()].clone() {
            let ty = vector_type(width, self.kernel.var(var).dtype);
            for (c, &v) in vectors.iter().enumerate() {
                let vector = self.b.ins().load(ty, memory.flags, memory.base, 16 * c as i32);
                self.b.def_var(v, vector);
            }
        }
    }

    /// Combines the elements of a lane variable by halves: whole vectors as long as there are two, then scalars.
    pub(crate) fn fold(&mut self, dst: Value, var: Var, op: BinOp) {
        let decl = self.kernel.var(var);
        let lanes = decl.lanes.expect("the verifier allows folds of lane variables only") as usize;
        let vectorises = !matches!(op, BinOp::FloorDiv | BinOp::Mod | BinOp::Shl | BinOp::Sar | BinOp::Shr);
        let mut vectors: SmallVec<[Machine; 8]> = SmallVec::new();
        let mut elements: SmallVec<[Machine; 32]> = SmallVec::new();
        let width = match self.homes[var.index()].clone() {
            VarHome::Vectors { width, vectors: variables, .. } => {
                vectors.extend(variables.iter().map(|&v| self.b.use_var(v)));
                width
            }
            VarHome::Slot(memory) if decl.dtype.size() >= 4 && lanes.is_multiple_of(16 >> memory.shift) => {
                let width = if decl.dtype.size() == 4 { Width::W32 } else { Width::W64 };
                let ty = vector_type(width, decl.dtype);
                let load = |c| self.b.ins().load(ty, memory.flags, memory.base, 16 * c as i32);
                vectors.extend((0..lanes / per_vector(width)).map(load));
                width
            }
            VarHome::Slot(memory) => {
                for i in 0..lanes {
                    let lane = self.load_slot(var, memory, memory.base, (i << memory.shift) as i32);
                    elements.push(lane);
                }
                Width::W32
            }
            VarHome::Scalar(_) => unreachable!("{var} is a lane variable"),
        };
        while vectorises && vectors.len() > 1 {
            let upper = split_half(&mut vectors);
            for (x, y) in vectors.iter_mut().zip(upper) {
                *x = scalar::binary(&mut self.b, op, decl.dtype, *x, y, None);
            }
        }
        for &v in &vectors {
            elements.extend((0..per_vector(width)).map(|i| vector::lane(&mut self.b, decl.dtype, v, i)));
        }
        while elements.len() > 1 {
            let upper = split_half(&mut elements);
            for (x, y) in elements.iter_mut().zip(upper) {
                *x = scalar::binary(&mut self.b, op, decl.dtype, *x, y, None);
            }
        }
        self.set_value(dst, elements[0]);
    }

    fn turn_block(&mut self, turn: &mut Turn, block: &Block) {
        let is_control = |s: &Stmt| s.blocks().next().is_some();
        for run in block.chunk_by(|a, b| !is_control(a) && !is_control(b)) {
            if is_control(&run[0]) {
                self.turn_control(turn, &run[0]);
                continue;
            }
            for c in 0..turn.reps.len() {
                run.iter().for_each(|stmt| self.turn_stmt(turn, c, stmt));
            }
        }
    }

    /// Loops and branches go the same way in all lanes.
    fn turn_control(&mut self, turn: &mut Turn, stmt: &Stmt) {
        // Two closures need the turn, one after the other.
        let turn = std::cell::RefCell::new(turn);
        let run = |e: &mut Self, block: &Block| e.turn_block(&mut turn.borrow_mut(), block);
        match stmt {
            Stmt::For { var, lo, hi, body, .. } => {
                let (lo, hi) = (self.value(*lo), self.value(*hi));
                self.counted(lo, hi, |e, i| {
                    e.set_loop_var(*var, i);
                    run(e, body);
                });
            }
            Stmt::While { head, cond, body } => self.while_loop(|e| run(e, head), *cond, |e| run(e, body)),
            Stmt::If { cond, then, els } => self.if_else(*cond, |e| run(e, then), |e| run(e, els)),
            Stmt::Def(_)
            | Stmt::Declare(..)
            | Stmt::Set(..)
            | Stmt::Store { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_) => {
                unreachable!("only control statements have blocks")
            }
        }
    }

    fn turn_stmt(&mut self, turn: &mut Turn, c: usize, stmt: &Stmt) {
        match stmt {
            Stmt::Def(v) => match turn.lanes.shape(*v) {
                Shape::Varying => {
                    let rep = self.turn_define(turn, c, *v);
                    turn.reps[c].insert(*v, rep);
                }
                Shape::Uniform | Shape::Affine(_) if c == 0 => self.define(*v),
                Shape::Uniform | Shape::Affine(_) => {}
            },
            Stmt::Declare(var, value) | Stmt::Set(var, value) => match turn.lanes.var_shape(*var) {
                Shape::Varying => self.turn_set(turn, c, *var, *value),
                Shape::Uniform | Shape::Affine(_) if c == 0 => {
                    let value = self.value(*value);
                    if let VarHome::Scalar(variable) = self.homes[var.index()] {
                        self.b.def_var(variable, value);
                    }
                }
                Shape::Uniform | Shape::Affine(_) => {}
            },
            Stmt::Store { buffer, index, value } => {
                let dtype = self.kernel.buffers[buffer.index()].dtype;
                let memory = self.buffer(*buffer);
                let next = turn.lanes.shape(*index) == Shape::Affine(Stride::ONE);
                if next && turn.width.holds(dtype) && !dtype.is_bool() {
                    let (address, offset) = self.lane_address(turn, c, 0, memory, *index);
                    let vector = self.as_vector(turn, c, *value);
                    self.b.ins().store(memory.flags, vector, address, offset);
                    return;
                }
                for (lane, x) in self.as_each(turn, c, *value).into_iter().enumerate() {
                    let (address, offset) = self.lane_address(turn, c, lane, memory, *index);
                    self.b.ins().store(memory.flags, x, address, offset);
                }
            }
            Stmt::For { .. } | Stmt::While { .. } | Stmt::If { .. } | Stmt::Fold { .. } | Stmt::Gemm(_) => {
                unreachable!("no loop with such a statement is vectorised")
            }
        }
    }

    /// Evaluates a varying value in one chunk.
    fn turn_define(&mut self, turn: &Turn, c: usize, value: Value) -> Rep {
        self.pin(value);
        let op = self.kernel.op(value);
        if let Op::Get(var) = op {
            return self.turn_get(turn, c, var);
        }
        if let Op::Load(buffer, index) = op {
            return self.turn_load(turn, c, value, buffer, index);
        }
        if turn.lanes.form(value) == Form::Vector {
            return Rep::Vector(self.turn_vector(turn, c, value));
        }
        let mut operands = SmallVec::<[Each; 3]>::new();
        op.for_each_operand(|v| operands.push(self.as_each(turn, c, v)));
        let lane = |l| operands.iter().map(|o| o[l]).collect::<SmallVec<[Machine; 3]>>();
        Rep::Each((0..turn.n).map(|l| self.compute(value, &lane(l))).collect())
    }

    fn turn_load(&mut self, turn: &Turn, c: usize, value: Value, buffer: Buf, index: Value) -> Rep {
        let dtype = self.kernel.dtype(value);
        let memory = self.buffer(buffer);
        let flags = self.load_flags(buffer, index);
        let vector = turn.lanes.form(value) == Form::Vector;
        if vector && turn.lanes.shape(index) == Shape::Affine(Stride::ONE) {
            let (address, offset) = self.lane_address(turn, c, 0, memory, index);
            let ty = vector_type(turn.width, dtype);
            return Rep::Vector(self.b.ins().load(ty, flags, address, offset));
        }
        let mut each = Each::new();
        for lane in 0..turn.n {
            let (address, offset) = self.lane_address(turn, c, lane, memory, index);
            each.push(self.b.ins().load(machine(dtype), flags, address, offset));
        }
        match vector {
            true => Rep::Vector(vector::join(&mut self.b, turn.width, dtype, &each)),
            false => Rep::Each(each),
        }
    }

    fn turn_vector(&mut self, turn: &Turn, c: usize, value: Value) -> Machine {
        let dtype = self.kernel.dtype(value);
        let width = turn.width;
        match self.kernel.op(value) {
            Op::Unary(op, x) => {
                let x = self.as_vector(turn, c, x);
                vector::unary(&mut self.b, op, dtype, x)
            }
            Op::Binary(op @ (BinOp::Shl | BinOp::Sar | BinOp::Shr), x, count) => {
                let x = self.as_vector(turn, c, x);
                let count = self.value(count);
                vector::shift(&mut self.b, op, width, dtype, x, count)
            }
            Op::Binary(op, x, y) => {
                let (x, y) = (self.as_vector(turn, c, x), self.as_vector(turn, c, y));
                scalar::binary(&mut self.b, op, dtype, x, y, None)
            }
            Op::Compare(op, a, b) => {
                let (x, y) = (self.as_vector(turn, c, a), self.as_vector(turn, c, b));
                scalar::compare(&mut self.b, op, self.kernel.dtype(a), x, y)
            }
            Op::Select(a, b, d) => {
                let (a, b, d) =
                    (self.as_vector(turn, c, a), self.as_vector(turn, c, b), self.as_vector(turn, c, d));
                vector::select(&mut self.b, a, b, d)
            }
            Op::Fma(a, b, d) => {
                let (a, b, d) =
                    (self.as_vector(turn, c, a), self.as_vector(turn, c, b), self.as_vector(turn, c, d));
                self.b.ins().fma(a, b, d)
            }
            Op::Cast(a) => {
                let x = self.as_vector(turn, c, a);
                vector::cast(&mut self.b, width, self.kernel.dtype(a), dtype, x)
            }
            Op::Bitcast(a) => {
                let x = self.as_vector(turn, c, a);
                scalar::bitcast(&mut self.b, x, vector_type(width, dtype))
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

    fn turn_get(&mut self, turn: &Turn, c: usize, var: Var) -> Rep {
        let dtype = self.kernel.var(var).dtype;
        match self.homes[var.index()].clone() {
            VarHome::Scalar(_) => match turn.vars[c][&var].clone() {
                LaneVar::Vector(v) => Rep::Vector(self.b.use_var(v)),
                LaneVar::Each(each) => Rep::Each(each.iter().map(|&v| self.b.use_var(v)).collect()),
            },
            VarHome::Vectors { vectors, .. } => Rep::Vector(self.b.use_var(vectors[c])),
            VarHome::Slot(memory) => {
                let (address, first) = self.slot_address(turn, c, memory);
                if in_slot(turn.width, dtype) {
                    let ty = vector_type(turn.width, dtype);
                    return Rep::Vector(self.b.ins().load(ty, memory.flags, address, first));
                }
                let lane = |l| self.load_slot(var, memory, address, first + ((l as i32) << memory.shift));
                Rep::Each((0..turn.n).map(lane).collect())
            }
        }
    }

    fn turn_set(&mut self, turn: &mut Turn, c: usize, var: Var, value: Value) {
        let dtype = self.kernel.var(var).dtype;
        match self.homes[var.index()].clone() {
            VarHome::Scalar(_) => {
                if !turn.vars[c].contains_key(&var) {
                    let lane_var = match turn.width.holds(dtype) {
                        true => LaneVar::Vector(self.variable(vector_type(turn.width, dtype))),
                        false => LaneVar::Each((0..turn.n).map(|_| self.variable(machine(dtype))).collect()),
                    };
                    turn.vars[c].insert(var, lane_var);
                }
                match turn.vars[c][&var].clone() {
                    LaneVar::Vector(v) => {
                        let vector = self.as_vector(turn, c, value);
                        self.b.def_var(v, vector);
                    }
                    LaneVar::Each(each) => {
                        let values = self.as_each(turn, c, value);
                        each.iter().zip(values).for_each(|(&v, x)| self.b.def_var(v, x));
                    }
                }
            }
            VarHome::Vectors { vectors, .. } => {
                let vector = self.as_vector(turn, c, value);
                self.b.def_var(vectors[c], vector);
            }
            VarHome::Slot(memory) => {
                let (address, first) = self.slot_address(turn, c, memory);
                if in_slot(turn.width, dtype) {
                    let vector = self.as_vector(turn, c, value);
                    self.b.ins().store(memory.flags, vector, address, first);
                    return;
                }
                for (l, x) in self.as_each(turn, c, value).into_iter().enumerate() {
                    let x = self.slot_value(var, x);
                    self.b.ins().store(memory.flags, x, address, first + ((l as i32) << memory.shift));
                }
            }
        }
    }

    /// Where the lanes of a chunk are in a slot.
    fn slot_address(&mut self, turn: &Turn, c: usize, memory: Memory) -> (Machine, i32) {
        let element = turn.element.expect("loops with lane variables know their element");
        (self.address(memory, element), ((c * turn.n) as i32) << memory.shift)
    }

    /// Address of the element that one lane of a chunk accesses, and a constant to add.
    fn lane_address(
        &mut self,
        turn: &Turn,
        c: usize,
        lane: usize,
        memory: Memory,
        index: Value,
    ) -> (Machine, i32) {
        let position = (c * turn.n + lane) as i64;
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
    fn as_vector(&mut self, turn: &Turn, c: usize, value: Value) -> Machine {
        let dtype = self.kernel.dtype(value);
        match turn.lanes.shape(value) {
            Shape::Uniform => {
                let x = self.value(value);
                vector::splat(&mut self.b, turn.width, dtype, x)
            }
            Shape::Affine(_) => {
                let each = self.as_each(turn, c, value);
                vector::join(&mut self.b, turn.width, dtype, &each)
            }
            Shape::Varying => match turn.reps[c][&value].clone() {
                Rep::Vector(vector) => vector,
                Rep::Each(each) => vector::join(&mut self.b, turn.width, dtype, &each),
            },
        }
    }

    /// An operand of an operation that is done lane by lane.
    fn as_each(&mut self, turn: &Turn, c: usize, value: Value) -> Each {
        let dtype = self.kernel.dtype(value);
        match turn.lanes.shape(value) {
            Shape::Uniform => smallvec::smallvec![self.value(value); turn.n],
            Shape::Affine(Stride { factor, by }) => {
                let base = self.value(value);
                let mut each = Each::new();
                for lane in 0..turn.n {
                    let step = factor.wrapping_mul((c * turn.n + lane) as i64);
                    each.push(match by {
                        _ if step == 0 => base,
                        None => self.b.ins().iadd_imm_s(base, step),
                        Some(by) => {
                            let by = self.value(by);
                            let step = self.b.ins().imul_imm_s(by, step);
                            self.b.ins().iadd(base, step)
                        }
                    });
                }
                each
            }
            Shape::Varying => match turn.reps[c][&value].clone() {
                Rep::Each(each) => each,
                Rep::Vector(vector) => {
                    (0..turn.n).map(|l| vector::lane(&mut self.b, dtype, vector, l)).collect()
                }
            },
        }
    }
}

/// Whether lanes lie in a slot as they do in a vector.
fn in_slot(width: Width, dtype: DType) -> bool {
    width.holds(dtype) && (width == Width::W32 || !dtype.is_bool())
}

/// Takes the upper half of a list away.
fn split_half<const N: usize>(list: &mut SmallVec<[Machine; N]>) -> SmallVec<[Machine; N]>
where
    [Machine; N]: smallvec::Array<Item = Machine>,
{
    let half = list.len() / 2;
    list.drain(half..).collect()
}
