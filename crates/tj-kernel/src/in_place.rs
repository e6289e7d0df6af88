//! Which written buffer may be the same memory as a read one.
//!
//! # Problem
//!
//! A result may take over the memory of an operand that nobody needs any more, if the kernel has read each element of
//! the operand before it overwrites it. Doing that without proof gives wrong numbers only for some sizes and some
//! numbers of threads, so what is not obviously right is refused.
//!
//! # Meaning
//!
//! `(r, w)` is *proved* if the kernel leaves the same bits in every buffer whether `r` and `w` are one memory, or `w`
//! starts as a copy of `r` beside it; for any cut of the task range into calls that run at the same time, and any order
//! of lanes. So it may be done for a kernel that never loads an element of `w` before it stores it; lowering makes
//! no other.
//!
//! # Idea
//!
//! Both have the same number of elements of one width, and for every load of `r` and every store to `w`: whenever they
//! touch the same element, the load comes first, in one call. Words: a load and a store have some loops in *common*, the
//! outermost ones around both. Indices are linear in the variables of loops. Then it is enough that
//!
//! 1. the load is further up in the text of the kernel;
//! 2. if they touch the same element, the variables of all common loops have the same values at the load as at the
//!    store: then they happen in the same iteration of all of these, and the text says which is first;
//! 3. if they touch the same element, one variable that stays inside the task range has the same value at both: then
//!    they happen in the same call. If no common loop is such a loop, the two may have one each (nests
//!    that split the task range); and nothing is asked if there is one task.
//!
//! Equal values are shown as digits of a number are: if `a * x + u = a * y + v` and `|u - v| < a` then `x = y`, so that the
//! term drops out of both sides and the next variable has its turn (`Pair::solve`). A loop that an index does not mention
//! has one iteration, or cuts another loop into blocks: then `lo = c + s * p` and `hi <= lo + s`, so that a value of the
//! inner variable belongs to one `p` (`Loop::block_of`).
//!
//! # Why it is right
//!
//! Indices are inside their buffers, by the verifier's proofs and guards, so the machine's wrapping index is the true
//! number. Each task is run by one call. A `While` repeats what is inside of it without a variable to tell the rounds
//! apart, and a contraction reads and writes in an order of its own: either makes its buffers unfit. Iterations of lanes
//! that share no element before share none afterwards, as their variable is among those of 2.
//!
//! Back ends keep loads of [`Access::InPlace`] buffers before the stores that follow them; to move one up is harmless.
//!
//! # Cost
//!
//! One walk over the kernel, and a few proofs about sizes for each load and store of the pair.

use tj_ir::dim::{Dim, Ranges, Symbol};
use tj_tensor::DType;

#[cfg(doc)]
use crate::ir::Access;
use crate::ir::{Access as A, BinOp, Block, Buf, Kernel, Op, Stmt, Value};

/// All proved pairs `(read, written)` of a kernel.
///
/// ```
/// use tj_kernel::{Buf, in_place};
/// let kernel: tj_kernel::Kernel = "
///     kernel add(grid N cut 1 cost 1) {
///       buffer @0 x: f32[N] read
///       buffer @1 y: f32[1] read
///       buffer @2 z: f32[N] write
///       task %0..%1
///       %0: i64 = task lo
///       %1: i64 = task hi
///       %2: i64 = const 0i64
///       %3: f32 = load @1[%2]
///       for lanes(32) %4 in %0..%1 {
///         %5: f32 = load @0[%4]
///         %6: f32 = add %5, %3
///         store @2[%4] = %6
///       }
///     }".parse()?;
/// assert_eq!(in_place::pairs(&kernel), [(Buf(0), Buf(2))]);
/// # Ok::<(), tj_kernel::ParseError>(())
/// ```
pub fn pairs(kernel: &Kernel) -> Vec<(Buf, Buf)> {
    let bufs = |wanted: fn(A) -> bool| {
        let chosen = kernel.buffers.iter().enumerate().filter(move |(_, buffer)| wanted(buffer.access));
        chosen.map(|(id, _)| Buf(id as u32))
    };
    let accesses = Accesses::new(kernel);
    let all = bufs(A::is_read).flat_map(|read| bufs(|a| a == A::Write).map(move |written| (read, written)));
    all.filter(|&(read, written)| accesses.proves(read, written)).collect()
}

/// Everything a kernel loads and stores, for questions about pairs of buffers.
#[derive(Debug)]
pub struct Accesses<'k> {
    kernel: &'k Kernel,
    /// By buffer.
    loads: Vec<Vec<Site>>,
    stores: Vec<Vec<Site>>,
    /// Buffers with an access that is in no `Site`.
    unfit: Vec<bool>,
    loops: Vec<Loop>,
    /// Of the variables of loads, and of those of stores, which have other numbers.
    ranges: Ranges,
}

/// A load or a store.
#[derive(Debug)]
struct Site {
    /// Its place in the text.
    place: usize,
    /// The loops around it, outermost first.
    loops: Vec<usize>,
    /// Which element; `None` if that is not known.
    index: Option<Dim>,
}

#[derive(Debug)]
struct Loop {
    /// Number of its variable as an index of `Dim`.
    number: u32,
    /// Whether its variable stays inside the task range of the call.
    in_task: bool,
    /// Whether it has at most one iteration.
    once: bool,
    /// The loop around it that it is cut into blocks by.
    block_of: Option<usize>,
}

/// Numbers of the ends of the task range.
const TASK_LO: u32 = 0;
const TASK_HI: u32 = 1;

/// Upper bounds that are kept of one value; lowering makes two at most.
const MAX_ENDS: usize = 4;

impl<'k> Accesses<'k> {
    /// Looks at a kernel whose form is right.
    pub fn new(kernel: &'k Kernel) -> Accesses<'k> {
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
        let mut accesses = walk.accesses;
        accesses.rename_stores();
        accesses
    }

    /// Whether the pair is proved.
    pub fn proves(&self, read: Buf, written: Buf) -> bool {
        let [r, w] = [read, written].map(|buffer| &self.kernel.buffers[buffer.index()]);
        r.access.is_read()
            && w.access == A::Write
            && r.len == w.len
            && r.dtype.size() == w.dtype.size()
            && ![read, written].iter().any(|buffer| self.unfit[buffer.index()])
            && (self.loads[read.index()].iter())
                .all(|load| self.stores[written.index()].iter().all(|store| self.keeps_order(load, store)))
    }

    /// Gives the variables around stores numbers of their own, since they have values of their own.
    fn rename_stores(&mut self) {
        let numbers = self.first_of_stores();
        for number in 0..numbers {
            if let Some((lo, hi)) = self.ranges.get(number) {
                let (lo, hi) = (renamed(lo, numbers), renamed(hi, numbers));
                self.ranges.set(number + numbers, lo, hi);
            }
        }
        for store in self.stores.iter_mut().flatten() {
            store.index = store.index.as_ref().map(|index| renamed(index, numbers));
        }
    }

    /// The number that numbers of stores count from.
    fn first_of_stores(&self) -> u32 {
        2 + self.loops.len() as u32
    }

    /// Whether the load comes first, in the same call, whenever both touch one element.
    fn keeps_order(&self, load: &Site, store: &Site) -> bool {
        let (Some(x), Some(y)) = (&load.index, &store.index) else { return false };
        if load.place > store.place {
            return false;
        }
        let n_common = load.loops.iter().zip(&store.loops).take_while(|(a, b)| a == b).count();
        let (common, own) = load.loops.split_at(n_common);
        let mut digits: Vec<(usize, usize)> = common.iter().map(|&l| (l, l)).collect();
        let task_loop = |loops: &[usize]| loops.iter().copied().find(|&l| self.loops[l].in_task);
        if task_loop(common).is_none() {
            digits.extend(task_loop(own).zip(task_loop(&store.loops[n_common..])));
        }
        let equal = Pair { accesses: self, x: x.clone(), y: y.clone() }.solve(digits);
        let one_call = self.kernel.grid.extent.known_le(&Dim::ONE) == Some(true)
            || equal.iter().any(|&(a, b)| self.loops[a].in_task && self.loops[b].in_task);
        let is_equal = |l: usize| equal.contains(&(l, l));
        one_call
            && common.iter().all(|&l| {
                let cuts = |inner: &usize| self.loops[*inner].block_of == Some(l) && is_equal(*inner);
                is_equal(l) || self.loops[l].once || common.iter().any(cuts)
            })
    }
}

/// The index of a load and that of a store, of which equal terms have been taken away.
struct Pair<'a> {
    accesses: &'a Accesses<'a>,
    x: Dim,
    y: Dim,
}

impl Pair<'_> {
    /// Those pairs of loops whose variables are equal whenever `x` and `y` are.
    fn solve(mut self, mut digits: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
        let mut equal = Vec::new();
        while let Some(at) = digits.iter().position(|&digit| self.take(digit)) {
            equal.push(digits.swap_remove(at));
        }
        equal
    }

    /// If the variables are equal whenever `x` and `y` are, takes their terms away.
    fn take(&mut self, (a, b): (usize, usize)) -> bool {
        let loops = &self.accesses.loops;
        let a = Symbol::index(loops[a].number);
        let b = Symbol::index(loops[b].number + self.accesses.first_of_stores());
        let (Some(step), Some(other)) = (self.x.coefficient_of(&a), self.y.coefficient_of(&b)) else {
            return false;
        };
        if step != other || has_index(&step) {
            return false;
        }
        let (x, y) = (self.x.without(&a), self.y.without(&b));
        let rest = &x - &y;
        let is_less = |step: &Dim| {
            [step - 1 - &rest, step - 1 + &rest]
                .iter()
                .all(|slack| slack.known_ge_zero_in(&self.accesses.ranges) == Some(true))
        };
        // Either way the step is not zero.
        let solved = is_less(&step) || is_less(&-&step);
        if solved {
            (self.x, self.y) = (x, y);
        }
        solved
    }
}

fn has_index(dim: &Dim) -> bool {
    dim.symbols().any(|symbol| symbol.as_index().is_some())
}

fn renamed(dim: &Dim, by: u32) -> Dim {
    dim.substitute(&|symbol| symbol.as_index().map(|number| Dim::index(number + by)))
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

#[cfg(test)]
mod tests;
