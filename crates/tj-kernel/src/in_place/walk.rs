//! What a kernel loads and stores, at which index, inside of which loops.

use tj_ir::dim::{Dim, Ranges, Symbol};
use tj_tensor::DType;

use super::{Accesses, Loop, Site, TASK_HI, TASK_LO, has_index};
use crate::ir::{BinOp, Block, Buf, Kernel, Op, Stmt, Value};

/// Upper bounds that are kept of one value; lowering makes two at most.
const MAX_ENDS: usize = 4;

/// All accesses of a kernel; loads and stores mention the same numbers.
pub(super) fn collect(kernel: &Kernel) -> Accesses<'_> {
    let none = || kernel.buffers.iter().map(|_| Vec::new()).collect();
    let accesses = Accesses {
        kernel,
        loads: none(),
        stores: none(),
        unfit: vec![false; kernel.buffers.len()],
        loops: Vec::new(),
        ranges: Ranges::new(),
    };
    let mut walk = Walk {
        accesses,
        exact: vec![None; kernel.values.len()],
        ends: vec![Vec::new(); kernel.values.len()],
        open: Vec::new(),
        place: 0,
        in_while: false,
    };
    let extent = &kernel.grid.extent;
    let (lo, hi) = (Dim::index(TASK_LO), Dim::index(TASK_HI));
    walk.accesses.ranges.set(TASK_LO, Dim::ZERO, extent - 1);
    walk.accesses.ranges.set(TASK_HI, &lo + 1, extent.clone());
    for (value, dim) in [(kernel.task.0, lo), (kernel.task.1, hi)] {
        walk.ends[value.index()] = vec![dim.clone()];
        walk.exact[value.index()] = Some(dim);
    }
    walk.block(&kernel.body);
    walk.accesses
}

/// Collects accesses, with what is known of `i64` values.
struct Walk<'k> {
    accesses: Accesses<'k>,
    /// What a value is, by variables of loops.
    exact: Vec<Option<Dim>>,
    /// What a value is at most.
    ends: Vec<Vec<Dim>>,
    /// Loops around, outermost first.
    open: Vec<usize>,
    place: usize,
    in_while: bool,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.place += 1;
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Def(value) => self.define(*value),
            Stmt::Declare(..) | Stmt::Set(..) | Stmt::Fold { .. } => {}
            Stmt::Store { buffer, index, .. } => {
                let site = self.site(*buffer, *index);
                self.accesses.stores[buffer.index()].push(site);
            }
            Stmt::For { var, lo, hi, body, .. } => {
                self.enter(*var, *lo, *hi);
                self.block(body);
                self.open.pop();
            }
            Stmt::While { head, body, .. } => {
                let outside = std::mem::replace(&mut self.in_while, true);
                self.block(head);
                self.block(body);
                self.in_while = outside;
            }
            Stmt::If { then, els, .. } => {
                self.block(then);
                self.block(els);
            }
            Stmt::Gemm(gemm) => {
                for matrix in [gemm.a, gemm.b, gemm.c] {
                    self.accesses.unfit[matrix.buffer.index()] = true;
                }
            }
            Stmt::Call(call) => {
                for array in call.args.iter().chain(&call.results) {
                    self.accesses.unfit[array.buffer.index()] = true;
                }
            }
        }
    }

    fn site(&mut self, buffer: Buf, index: Value) -> Site {
        self.accesses.unfit[buffer.index()] |= self.in_while;
        Site { place: self.place, loops: self.open.clone(), index: self.exact[index.index()].clone() }
    }

    fn enter(&mut self, var: Value, lo: Value, hi: Value) {
        let number = self.accesses.first_of_stores();
        let (lo, ends) = (self.exact[lo.index()].clone(), self.ends[hi.index()].clone());
        let ranges = &mut self.accesses.ranges;
        let is_at_least_zero = |dim: Dim, ranges: &Ranges| dim.known_ge_zero_in(ranges) == Some(true);
        let mut this = Loop { number, in_task: false, once: false, block_of: None };
        if let Some(lo) = lo {
            this.in_task =
                ends.contains(&Dim::index(TASK_HI)) && is_at_least_zero(&lo - Dim::index(TASK_LO), ranges);
            this.once = ends.iter().any(|end| is_at_least_zero(&lo + 1 - end, ranges));
            this.block_of = self.open.iter().copied().find(|&outer| {
                let symbol = Symbol::index(self.accesses.loops[outer].number);
                let start = lo.without(&symbol);
                // What is left is the same in the whole call.
                let is_fixed = start.symbols().all(|s| s.as_index().is_none_or(|n| n <= TASK_HI));
                let step = lo.coefficient_of(&symbol).and_then(|step| step.is_const());
                let size = step.filter(|&size| size > 0 && is_fixed);
                size.is_some_and(|size| ends.iter().any(|end| is_at_least_zero(&lo + size - end, ranges)))
            });
            // The number of all tasks says more than the ends of one call.
            let end = ends.iter().find(|end| !has_index(end)).or(ends.first());
            if this.in_task {
                ranges.set_extent(number, &self.accesses.kernel.grid.extent);
            } else if let Some(end) = end {
                ranges.set(number, lo, end - 1);
            }
        }
        self.open.push(self.accesses.loops.len());
        self.accesses.loops.push(this);
        self.ends[var.index()] = vec![Dim::index(number)];
        self.exact[var.index()] = Some(Dim::index(number));
    }

    fn define(&mut self, value: Value) {
        let op = self.accesses.kernel.op(value);
        if let Op::Load(buffer, index) = op {
            let site = self.site(buffer, index);
            self.accesses.loads[buffer.index()].push(site);
        }
        if self.accesses.kernel.dtype(value) != DType::I64 {
            return;
        }
        if let Op::Binary(BinOp::Min, a, b) = op {
            let mut ends = self.ends[a.index()].clone();
            ends.extend_from_slice(&self.ends[b.index()]);
            ends.truncate(MAX_ENDS);
            self.ends[value.index()] = ends;
            return;
        }
        let dim = match op {
            Op::Const(scalar) => Some(scalar.to_i64().into()),
            Op::Size(position) => Some(self.accesses.kernel.sizes[position as usize].clone()),
            Op::TaskLo | Op::TaskHi => return,
            Op::Binary(op, a, b) => self.binary(op, a, b),
            Op::Param(_)
            | Op::LoopVar
            | Op::Folded
            | Op::Get(_)
            | Op::Load(..)
            | Op::Unary(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Fma(..)
            | Op::Cast(_)
            | Op::Bitcast(_) => None,
        };
        // A poisoned size, which grew too large, is one nothing is known about.
        if let Some(dim) = dim.filter(|dim| dim.check().is_ok()) {
            self.ends[value.index()] = vec![dim.clone()];
            self.exact[value.index()] = Some(dim);
        }
    }

    fn binary(&self, op: BinOp, a: Value, b: Value) -> Option<Dim> {
        let (x, y) = (self.exact[a.index()].as_ref()?, self.exact[b.index()].as_ref()?);
        match op {
            BinOp::Add => Some(x + y),
            BinOp::Sub => Some(x - y),
            BinOp::Mul => Some(x * y),
            BinOp::FloorDiv => Some(x.floordiv(y)),
            BinOp::Div
            | BinOp::Mod
            | BinOp::Rem
            | BinOp::Max
            | BinOp::Min
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr
            | BinOp::Sar => None,
        }
    }
}
