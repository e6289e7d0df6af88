//! Chooses the width of a lanes loop and the form of each value in it.
//!
//! For each width every value gets its form, and the balance of time for one lane is taken, a scalar operation being
//! 16: an operation on vectors of `s`-byte elements costs `s`, and each move of a value between vectors and
//! scalars costs 16 more.

use rustc_hash::{FxHashMap, FxHashSet};
use tj_tensor::DType;

use super::{Form, Lanes, Reason, Shape, Stride, Width};
use crate::ir::{BinOp, Block, Buf, Kernel, Op, Stmt, UnOp, Value};

const SCALAR: i64 = 16;

/// Keeps the forms of the best width, the widest of equals.
pub(super) fn choose(kernel: &Kernel, lanes: &mut Lanes, body: &Block) -> Result<Width, Reason> {
    let mut data = FxHashSet::default();
    find_data(kernel, body, &mut data);
    let mut best = (0, Err(Reason::NoGain));
    for width in Width::ALL {
        let mut forms =
            Forms { kernel, lanes, width, data: &data, forms: FxHashMap::default(), gain: 0, cost: 0 };
        forms.block(body);
        let Forms { forms, gain, cost, .. } = forms;
        let fits = lanes.lane_vars.is_empty() || (lanes.lanes as usize).is_multiple_of(width.lanes());
        // Too few lanes for a vector matter only if nothing narrower fits.
        if gain > best.0 && (fits || best.1 == Err(Reason::NoGain)) {
            best = (gain, if fits { Ok(width) } else { Err(Reason::LaneCount(lanes.lanes)) });
            lanes.forms = forms;
            lanes.cost = cost;
        }
    }
    best.1
}

/// Collects the values that reach memory or a variable. The others are addresses (and stay scalar) or unused.
fn find_data(kernel: &Kernel, block: &Block, data: &mut FxHashSet<Value>) {
    for stmt in block.iter().rev() {
        match stmt {
            Stmt::Declare(_, v) | Stmt::Set(_, v) | Stmt::Store { value: v, .. } => {
                data.insert(*v);
            }
            Stmt::Def(v) if data.contains(v) => {
                let op = kernel.op(*v);
                if !matches!(op, Op::Load(..)) {
                    op.for_each_operand(|operand| {
                        data.insert(operand);
                    });
                }
            }
            Stmt::Def(_)
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => {}
        }
        // The body of a `While` comes after its head.
        let blocks: Vec<&Block> = stmt.blocks().collect();
        blocks.into_iter().rev().for_each(|b| find_data(kernel, b, data));
    }
}

/// The forms for one width, and what it gains and costs.
struct Forms<'a> {
    kernel: &'a Kernel,
    lanes: &'a Lanes,
    width: Width,
    data: &'a FxHashSet<Value>,
    forms: FxHashMap<Value, Form>,
    gain: i64,
    cost: usize,
}

impl Forms<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in block {
            match stmt {
                Stmt::Def(v) if self.lanes.shape(*v) == Shape::Varying => self.define(*v),
                Stmt::Declare(var, v) | Stmt::Set(var, v) if self.lanes.var_shape(*var) == Shape::Varying => {
                    let form = self.plain(self.kernel.var(*var).dtype);
                    self.operand(*v, form);
                }
                Stmt::Def(_) => self.cost += 1,
                Stmt::Store { buffer, index, value } => self.store(*buffer, *index, *value),
                Stmt::Declare(..)
                | Stmt::Set(..)
                | Stmt::For { .. }
                | Stmt::While { .. }
                | Stmt::If { .. }
                | Stmt::Fold { .. }
                | Stmt::Gemm(_)
                | Stmt::Call(_) => {}
            }
            stmt.blocks().for_each(|b| self.block(b));
        }
    }

    fn define(&mut self, value: Value) {
        let op = self.kernel.op(value);
        let form = if self.data.contains(&value) { self.form(value, op) } else { Form::Each };
        self.forms.insert(value, form);
        if let Op::Get(_) = op {
            return;
        }
        let mut bytes = self.bytes(self.kernel.dtype(value));
        if let Op::Load(_, index) = op {
            // Neighbours come as they are, backwards too; others one by one, then put together.
            let stride = self.stride(index);
            let neighbours = stride == Some(1) || stride == Some(-1);
            self.moves((form == Form::Vector && !neighbours) as i64);
            self.operand(index, Form::Each);
            return self.access(form, self.kernel.dtype(value));
        }
        op.for_each_operand(|v| {
            bytes = bytes.max(self.bytes(self.kernel.dtype(v)));
            self.operand(v, form);
        });
        // A mask has to fit what it is compared from, or what it selects.
        let fitting = bytes.saturating_sub(self.width.bytes());
        bytes += fitting * matches!(op, Op::Compare(..) | Op::Select(..) | Op::Cast(_)) as usize;
        self.operation(form, bytes);
    }

    fn store(&mut self, buffer: Buf, index: Value, value: Value) {
        let dtype = self.kernel.buffers[buffer.index()].dtype;
        self.operand(index, Form::Each);
        let form = if self.stride(index) == Some(1) { in_memory(self.width, dtype) } else { Form::Each };
        self.operand(value, form);
        self.access(form, dtype);
    }

    /// Counts a load or a store. Bools in memory are bytes; to bring them to another width costs what they gain.
    fn access(&mut self, form: Form, dtype: DType) {
        self.operation(form, self.bytes(dtype));
        if form == Form::Vector && dtype.is_bool() && self.width != Width::W8 {
            self.gain -= SCALAR - self.bytes(dtype) as i64;
            self.cost += 3;
        }
    }

    /// Counts an operation.
    fn operation(&mut self, form: Form, bytes: usize) {
        match form {
            Form::Vector => {
                self.gain += SCALAR - bytes as i64;
                self.cost += bytes / self.width.bytes();
            }
            Form::Each => self.cost += self.width.lanes(),
        }
    }

    fn moves(&mut self, n: i64) {
        self.gain -= n * SCALAR;
        self.cost += n as usize * self.width.lanes();
    }

    fn bytes(&self, dtype: DType) -> usize {
        if dtype.is_bool() { self.width.bytes() } else { dtype.size() }
    }

    /// The constant number of elements from one lane to the next, if it is one.
    fn stride(&self, index: Value) -> Option<i64> {
        match self.lanes.shape(index) {
            Shape::Affine(Stride { factor, by: None }) => Some(factor),
            Shape::Affine(Stride { by: Some(_), .. }) | Shape::Uniform | Shape::Varying => None,
        }
    }

    /// Counts what it takes to have an operand in a form. Affine values are scalars that need no work.
    fn operand(&mut self, value: Value, form: Form) {
        let moved = match self.lanes.shape(value) {
            Shape::Uniform => false,
            Shape::Affine(_) => form == Form::Vector,
            Shape::Varying => self.forms[&value] != form,
        };
        self.moves(moved as i64);
    }

    fn plain(&self, dtype: DType) -> Form {
        plain(self.width, dtype)
    }

    fn form(&self, value: Value, op: Op) -> Form {
        let dtype = self.kernel.dtype(value);
        let plain = self.plain(dtype);
        match op {
            Op::Get(var) => self.plain(self.kernel.var(var).dtype),
            Op::Load(..) => in_memory(self.width, dtype),
            Op::Unary(_, a) if dtype.is_bool() => self.follow(&[a]),
            Op::Unary(UnOp::TrailingZeros, _) => Form::Each,
            Op::Unary(..) | Op::Fma(..) => plain,
            Op::Binary(BinOp::FloorDiv | BinOp::Mod | BinOp::Rem, ..) => Form::Each,
            Op::Binary(BinOp::Shl | BinOp::Sar | BinOp::Shr, _, count) => {
                if self.lanes.shape(count) == Shape::Uniform { plain } else { Form::Each }
            }
            Op::Binary(_, a, b) if dtype.is_bool() => self.follow(&[a, b]),
            Op::Binary(..) => plain,
            Op::Compare(_, a, b) => {
                let operands = self.kernel.dtype(a);
                if operands.is_bool() { self.follow(&[a, b]) } else { self.plain(operands) }
            }
            Op::Select(c, a, b) if dtype.is_bool() => self.follow(&[c, a, b]),
            Op::Select(..) => plain,
            Op::Cast(a) => {
                let from = self.kernel.dtype(a);
                let held = plain == Form::Vector && self.plain(from) == Form::Vector;
                if held && converts(from, dtype) { Form::Vector } else { Form::Each }
            }
            Op::Bitcast(_) => plain,
            Op::Const(_)
            | Op::Size(_)
            | Op::Param(_)
            | Op::TaskLo
            | Op::TaskHi
            | Op::LoopVar
            | Op::Folded => Form::Each,
        }
    }

    /// Operations on bools stay where their operands are.
    fn follow(&self, operands: &[Value]) -> Form {
        let vector = operands.iter().any(|v| self.forms.get(v) == Some(&Form::Vector));
        if vector { Form::Vector } else { Form::Each }
    }
}

/// The form of neighbouring elements in memory. Two bytes are not worth widening to 64 bits.
pub(super) fn in_memory(width: Width, dtype: DType) -> Form {
    if dtype.is_bool() && width == Width::W64 { Form::Each } else { plain(width, dtype) }
}

/// The form of a type on its own.
fn plain(width: Width, dtype: DType) -> Form {
    if width.vectors(dtype).is_some() { Form::Vector } else { Form::Each }
}

/// Whether vectors convert from one type to the other in a few instructions, rounding once.
fn converts(from: DType, to: DType) -> bool {
    let half = |d: DType| d.is_float() && d.size() == 2;
    match (from.is_float(), to.is_float()) {
        _ if from.is_bool() => true,
        _ if to.is_bool() => !half(from),
        // Only the newest machines have vectors of 64-bit integers from floats.
        (true, false) => from.size() <= 4 && to.size() <= 4,
        (false, true) if half(to) => from.size() <= 2,
        (false, true) => to.size() == 8 || from.size() <= 4,
        (true, true) => !(half(to) && from.size() == 8),
        (false, false) => true,
    }
}
