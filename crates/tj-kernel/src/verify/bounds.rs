//! Proves that accesses stay inside their buffers.
//!
//! # Idea
//!
//! Every `i64` value becomes a [`Dim`] where that is possible: arithmetic becomes arithmetic, and what only has a
//! range becomes a fresh index with that range:
//!
//! * a loop variable, from its lower to its upper bound less 1;
//! * the task ends, with `0 <= lo < hi <= extent`, as no kernel is called for an empty range;
//! * the minimum, maximum, remainder or choice of things of which enough is known, so that `max(min(x, hi), 0)` and
//!   `mod(x, n)` are analysable whatever `x` is;
//! * a number cast from a narrow integer or `bool`;
//! * an element of a buffer whose elements have a bound ([`Buffer::holds`](crate::ir::Buffer::holds));
//! * a variable that is assigned: it is taken to stay where its first value can be, and where a value that is assigned
//!   can be outside, the walk starts again with a wider range (first with what was assigned, then with what the conditions
//!   around it allow), or without one. So cursors that never pass an end are proved by induction over what is assigned.
//!
//! An access is proved if `index >= 0` and `len - 1 - index >= 0` hold for all sizes within the bounds of their
//! symbols. Otherwise the ends of the index over all iterations make a guard, together with what must be positive
//! for the access to happen at all. A condition that compares analysable values also narrows the ranges of the
//! loops around it while its block is looked at.
//!
//! # Why it is right
//!
//! The machine wraps and `Dim` does not; but an index that is the true sum and is inside a buffer has not wrapped
//! for good, because sums and products wrap consistently; and sizes of which a `Dim` does not fit 64 bits fail at
//! bind. An access that is not reached for a size needs no proof for it: the guard leaves it out exactly if a loop
//! around has no iteration at any value of the loops around that, or a condition cannot hold.

use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use tj_ir::dim::{Dim, Ranges, Symbol};
use tj_tensor::DType;

use super::{BoundGuard, Finding, Rule};
use crate::ir::{BinOp, Block, Buf, CmpOp, Kernel, Matrix, Op, Stmt, UnOp, Value, Var};

/// Checks every access of a kernel whose form is right.
pub(super) fn check(kernel: &Kernel) -> Result<Vec<BoundGuard>, Vec<Finding>> {
    let mut assigned = cursors(kernel);
    loop {
        let (found, refuted) = walk(kernel, &assigned);
        if refuted.is_empty() {
            return found;
        }
        assigned.extend(refuted);
    }
}

/// What is taken for true of a variable that is assigned.
#[derive(Clone, Debug)]
enum Stays {
    /// It stays where its first value can be.
    First,
    /// It stays between these.
    Between(Dim, Dim),
    /// It stays above this, and below what the conditions around say.
    Above(Dim),
    /// It stays between these, which conditions have said.
    Within(Dim, Dim),
    /// It may be anything.
    Nowhere,
}

/// Further than any size: the end of a variable of which only conditions will say one.
const FAR: i64 = 1 << 62;

impl Stays {
    /// The ends, where they do not depend on the first value.
    fn ends(&self) -> Option<(Dim, Dim)> {
        match self {
            Stays::Between(low, high) | Stays::Within(low, high) => Some((low.clone(), high.clone())),
            Stays::Above(low) => Some((low.clone(), FAR.into())),
            Stays::First | Stays::Nowhere => None,
        }
    }
}

/// Checks every access, given where variables stay; and what would have to be taken for true instead, where that is refuted.
fn walk(
    kernel: &Kernel,
    assigned: &FxHashMap<Var, Stays>,
) -> (Result<Vec<BoundGuard>, Vec<Finding>>, FxHashMap<Var, Stays>) {
    let mut ctx = Ctx {
        kernel,
        assigned,
        stays: FxHashMap::default(),
        refuted: FxHashMap::default(),
        known: vec![Known::default(); kernel.values.len()],
        constants: vec![None; kernel.vars.len()],
        ranges: Ranges::new(),
        narrowed: Ranges::new(),
        wider: Vec::new(),
        next_index: 0,
        enclosing: Vec::new(),
        proved: FxHashSet::default(),
        guards: IndexSet::new(),
        findings: Vec::new(),
    };
    let extent = &kernel.grid.extent;
    ctx.enclosing.push(extent.clone());
    let lo = ctx.fresh(Dim::ZERO, extent - 1);
    let hi = ctx.fresh(&lo + 1, extent.clone());
    ctx.known[kernel.task.0.index()] = Known::exact(lo);
    ctx.known[kernel.task.1.index()] = Known::exact(hi);
    ctx.block(&kernel.body);
    let found =
        if ctx.findings.is_empty() { Ok(ctx.guards.into_iter().collect()) } else { Err(ctx.findings) };
    (found, ctx.refuted)
}

/// What is known of an `i64`: nothing, an end, or (then both ends are it) an expression.
#[derive(Clone, Default)]
struct Known {
    low: Option<Rc<Dim>>,
    high: Option<Rc<Dim>>,
    exact: Option<Rc<Dim>>,
}

impl Known {
    fn exact(dim: Dim) -> Known {
        let dim = Some(Rc::new(dim));
        Known { low: dim.clone(), high: dim.clone(), exact: dim }
    }
}

struct Ctx<'a> {
    kernel: &'a Kernel,
    /// Variables that are set after their declaration.
    assigned: &'a FxHashMap<Var, Stays>,
    /// The ends between which they are taken to stay.
    stays: FxHashMap<Var, (Rc<Dim>, Rc<Dim>)>,
    refuted: FxHashMap<Var, Stays>,
    known: Vec<Known>,
    /// The value of each variable that is never assigned.
    constants: Vec<Option<Value>>,
    ranges: Ranges,
    /// The same, narrowed by the conditions around the walk. Either may prove more: a narrowed end can be one that
    /// nothing is known about.
    narrowed: Ranges,
    /// What `narrowed` said before, to be said again where a block ends.
    wider: Vec<(u32, Dim, Dim)>,
    next_index: u32,
    /// What must be positive where the walk is, as in [`BoundGuard`].
    enclosing: Vec<Dim>,
    /// Indices and lengths of accesses that are proved.
    proved: FxHashSet<(Dim, Dim)>,
    guards: IndexSet<BoundGuard>,
    findings: Vec<Finding>,
}

impl Ctx<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Def(value) => {
                let op = self.kernel.op(*value);
                if let Op::Load(buffer, index) = op {
                    self.access(buffer, self.exact(index).as_deref(), &index.to_string());
                }
                // Arithmetic on narrow integers wraps: of those, only what is loaded is known.
                if self.kernel.dtype(*value) == DType::I64 || matches!(op, Op::Load(..)) {
                    self.known[value.index()] = self.derive(*value, op);
                }
            }
            Stmt::Declare(var, value) => self.declare(*var, *value),
            Stmt::Set(var, value) => self.assign(*var, *value),
            Stmt::Fold { .. } => {}
            Stmt::Store { buffer, index, .. } => {
                self.access(*buffer, self.exact(*index).as_deref(), &index.to_string());
            }
            Stmt::For { var, lo, hi, body, .. } => {
                let outside = self.enclosing.len();
                let ends = if (*lo, *hi) == self.kernel.task {
                    // Proofs about all tasks are shorter without the ends of one call.
                    Some((Dim::ZERO, &self.kernel.grid.extent - 1))
                } else {
                    let (lo, hi) = (&self.known[lo.index()].low, &self.known[hi.index()].high);
                    lo.as_deref().cloned().zip(hi.as_deref().map(|hi| hi - 1))
                };
                if let Some((lo, last)) = ends {
                    self.enclose(&(&last + 1 - &lo));
                    let index = self.fresh(lo, last);
                    self.known[var.index()] = Known::exact(index);
                }
                self.block(body);
                self.enclosing.truncate(outside);
            }
            Stmt::While { head, cond, body } => {
                self.block(head);
                self.where_it_holds(*cond, true, body);
            }
            Stmt::If { cond, then, els } => {
                self.where_it_holds(*cond, true, then);
                self.where_it_holds(*cond, false, els);
            }
            // Whole buffers, as `calls` has proved.
            Stmt::Call(_) => {}
            Stmt::Gemm(gemm) => {
                let [m, n, k] = [gemm.m, gemm.n, gemm.k].map(|v| self.exact(v));
                for (matrix, rows, cols, third) in
                    [(gemm.a, &m, &k, &n), (gemm.b, &k, &n, &m), (gemm.c, &m, &n, &None)]
                {
                    let outside = self.enclosing.len();
                    let index = self.matrix(&matrix, rows.as_deref(), cols.as_deref());
                    if let Some(third) = third {
                        self.enclose(third);
                    }
                    self.access(matrix.buffer, index.as_ref(), "an element of a gemm factor");
                    self.enclosing.truncate(outside);
                }
            }
        }
    }

    /// Walks a block that runs where `cond` holds, or where it does not.
    fn where_it_holds(&mut self, cond: Value, holds: bool, block: &Block) {
        let outside = (self.enclosing.len(), self.wider.len());
        for positive in self.conditions(cond, holds) {
            self.narrow(&positive);
            self.enclose(&positive);
        }
        self.block(block);
        self.enclosing.truncate(outside.0);
        for (number, lo, hi) in self.wider.drain(outside.1..).rev() {
            self.narrowed.set(number, lo, hi);
        }
    }

    fn declare(&mut self, var: Var, value: Value) {
        let Some(stays) = self.assigned.get(&var) else {
            self.constants[var.index()] = Some(value);
            return;
        };
        let ends = match stays {
            Stays::First => self.ends(value),
            stays => stays.ends().map(|(low, high)| (Rc::new(low), Rc::new(high))),
        };
        if let Some(ends) = ends {
            self.stays.insert(var, ends);
            self.assign(var, value);
        }
    }

    /// Checks that a value is between the ends where its variable is taken to stay.
    fn assign(&mut self, var: Var, value: Value) {
        let Some((low, high)) = self.stays.get(&var).cloned() else { return };
        let known = self.known[value.index()].clone();
        let below = |a: &Option<Rc<Dim>>, b: &Rc<Dim>, ctx: &Self| {
            a.as_ref().is_some_and(|a| {
                let distance = &**b - &**a;
                distance.known_ge_zero_in(&ctx.narrowed) == Some(true)
                    || distance.known_ge_zero_in(&ctx.ranges) == Some(true)
            })
        };
        let above = |a: &Option<Rc<Dim>>, b: &Rc<Dim>, ctx: &Self| {
            a.as_ref().is_some_and(|a| {
                let distance = &**a - &**b;
                distance.known_ge_zero_in(&ctx.narrowed) == Some(true)
                    || distance.known_ge_zero_in(&ctx.ranges) == Some(true)
            })
        };
        let stays_below = below(&known.exact, &high, self) || below(&known.high, &high, self);
        let stays_above = above(&known.exact, &low, self) || above(&known.low, &low, self);
        if stays_below && stays_above {
            return;
        }
        // Once wider by what is assigned, and once by what the conditions around the assignment allow: a third time would be
        // a variable that goes on for ever.
        let far = high.is_const() == Some(FAR);
        let Some((lo, hi)) = self.ends(value) else { return self.refute(var, Stays::Nowhere) };
        let (lo, hi) = (low.min(&lo), if far { (*hi).clone() } else { high.max(&hi) });
        let instead = match self.assigned.get(&var) {
            Some(Stays::First) => Stays::Between(lo, hi),
            Some(Stays::Between(..)) if stays_above => Stays::Above((*low).clone()),
            Some(Stays::Above(_)) if hi.is_const().is_none() => Stays::Within(lo, hi),
            Some(_) | None => Stays::Nowhere,
        };
        self.refute(var, instead);
    }

    /// Takes something else for true of a variable in the next walk, and in the rest of this one: it proves nothing any more,
    /// but what it says of variables that are set to this one is what the next walk will take for true.
    fn refute(&mut self, var: Var, instead: Stays) {
        match instead.ends() {
            Some((low, high)) => self.stays.insert(var, (Rc::new(low), Rc::new(high))),
            None => self.stays.remove(&var),
        };
        self.refuted.insert(var, instead);
    }

    /// The ends of a value over all loops.
    fn ends(&self, value: Value) -> Option<(Rc<Dim>, Rc<Dim>)> {
        let known = &self.known[value.index()];
        let (low, high) = match &known.exact {
            Some(exact) => exact.bounds_in(&self.narrowed).or_else(|| exact.bounds_in(&self.ranges))?,
            None => {
                let (low, _) = known.low.as_ref()?.bounds_in(&self.ranges)?;
                let (_, high) = known.high.as_ref()?.bounds_in(&self.ranges)?;
                (low, high)
            }
        };
        Some((Rc::new(low), Rc::new(high)))
    }

    /// The index of any element of a matrix; encloses it in its extents.
    fn matrix(&mut self, matrix: &Matrix, rows: Option<&Dim>, cols: Option<&Dim>) -> Option<Dim> {
        let (rows, cols) = (rows?, cols?);
        let [offset, row_stride, col_stride] =
            [matrix.offset, matrix.row_stride, matrix.col_stride].map(|v| self.exact(v));
        let row = self.fresh(Dim::ZERO, rows - 1);
        let col = self.fresh(Dim::ZERO, cols - 1);
        self.enclose(rows);
        self.enclose(cols);
        Some(&*offset? + row * &*row_stride? + col * &*col_stride?)
    }

    fn access(&mut self, buffer: Buf, index: Option<&Dim>, what: &str) {
        let decl = &self.kernel.buffers[buffer.index()];
        let Some(index) = index else {
            return self.find(format!("{what} of buffer {} may be anything", decl.name));
        };
        if self.is_inside(index, &decl.len) {
            return;
        }
        let ends = index.bounds_in(&self.narrowed).or_else(|| index.bounds_in(&self.ranges));
        let Some((low, high)) = ends else {
            return self.find(format!("{what} of buffer {} is {index}, which has no bounds", decl.name));
        };
        self.guards.insert(BoundGuard {
            kernel: self.kernel.name.clone(),
            buffer: decl.name.clone(),
            low,
            high,
            len: decl.len.clone(),
            enclosing: self.enclosing.clone(),
        });
    }

    /// Whether `0 <= index < len` wherever the walk is.
    fn is_inside(&mut self, index: &Dim, len: &Dim) -> bool {
        let key = (index.clone(), len.clone());
        if self.proved.contains(&key) {
            return true;
        }
        // Often the ends over all loops fit as they are, which is less work than to prove that all between fits.
        if let Some((low, high)) = index.bounds_in(&self.ranges)
            && low.known_ge_zero() == Some(true)
            && high.known_lt(len) == Some(true)
        {
            self.proved.insert(key);
            return true;
        }
        let ends = [index, &(len - 1 - index)];
        let holds_in = |dim: &Dim, ranges| dim.known_ge_zero_in(ranges) == Some(true);
        if ends.iter().all(|end| holds_in(end, &self.ranges)) {
            // Nothing but the ranges of loops was used, and those are the same wherever the index has a value.
            self.proved.insert(key);
            return true;
        }
        ends.iter().all(|end| {
            // What encloses the place is at least 1; one of them is often all it takes.
            holds_in(end, &self.narrowed)
                || self.enclosing.iter().any(|positive| holds_in(&(*end - positive + 1), &self.narrowed))
        })
    }

    /// Records that `dim` is positive where the walk is, if its greatest value can be said without indices.
    fn enclose(&mut self, dim: &Dim) {
        if let Some((_, greatest)) = dim.bounds_in(&self.ranges)
            && Dim::ONE.known_le(&greatest) != Some(true)
            && !self.enclosing.contains(&greatest)
        {
            self.enclosing.push(greatest);
        }
    }

    /// Narrows the range of the innermost loop in `dim` to where `dim` is positive.
    fn narrow(&mut self, dim: &Dim) {
        let Some(number) = dim.symbols().filter_map(|s| s.as_index()).max() else { return };
        let Some((lo, hi)) = self.narrowed.get(number) else { return };
        let (lo, hi) = (lo.clone(), hi.clone());
        let symbol = Symbol::index(number);
        // Ends mention outer loops only, whose numbers are less: no circle arises.
        let rest = dim.without(&symbol);
        if rest.mentions(&symbol) {
            return;
        }
        match dim.coefficient_of(&symbol).and_then(|c| c.is_const()) {
            Some(1) => self.narrowed.set(number, lo.max(&(1 - rest)), hi.clone()),
            Some(-1) if hi.is_const() == Some(FAR) => self.narrowed.set(number, lo.clone(), rest - 1),
            Some(-1) => self.narrowed.set(number, lo.clone(), hi.min(&(rest - 1))),
            Some(_) | None => return,
        }
        self.wider.push((number, lo, hi));
    }

    /// What is positive where `cond` holds, or where it does not.
    fn conditions(&self, cond: Value, holds: bool) -> Vec<Dim> {
        let mut positive = Vec::new();
        let mut open = vec![(cond, holds)];
        while let Some((cond, holds)) = open.pop() {
            match (self.kernel.op(cond), holds) {
                (Op::Binary(BinOp::And, a, b), true) | (Op::Binary(BinOp::Or, a, b), false) => {
                    open.extend([(b, holds), (a, holds)]);
                }
                (Op::Unary(UnOp::Not, a), _) => open.push((a, !holds)),
                (Op::Compare(op, a, b), _) => {
                    let (Some(a), Some(b)) = (self.exact(a), self.exact(b)) else { continue };
                    let (above, below) = (&*a - &*b, &*b - &*a);
                    match (op, holds) {
                        (CmpOp::Lt, true) | (CmpOp::Ge, false) => positive.push(below),
                        (CmpOp::Le, true) | (CmpOp::Gt, false) => positive.push(below + 1),
                        (CmpOp::Gt, true) | (CmpOp::Le, false) => positive.push(above),
                        (CmpOp::Ge, true) | (CmpOp::Lt, false) => positive.push(above + 1),
                        (CmpOp::Eq, true) | (CmpOp::Ne, false) => positive.extend([above + 1, below + 1]),
                        (CmpOp::Ne, true) | (CmpOp::Eq, false) => {}
                    }
                }
                _ => {}
            }
        }
        positive
    }

    fn derive(&mut self, value: Value, op: Op) -> Known {
        match op {
            Op::Const(scalar) => Known::exact(scalar.to_i64().into()),
            Op::Size(position) => Known::exact(self.kernel.sizes[position as usize].clone()),
            Op::TaskLo | Op::TaskHi | Op::LoopVar => self.known[value.index()].clone(),
            Op::Get(var) => match (self.constants[var.index()], self.stays.get(&var).cloned()) {
                (Some(value), _) => self.known[value.index()].clone(),
                (None, Some((low, high))) => self.between(Some(low), Some(high)),
                (None, None) => Known::default(),
            },
            Op::Load(buffer, _) => match self.kernel.buffers[buffer.index()].holds.clone() {
                Some(max) => self.between(Some(Rc::new(Dim::ZERO)), Some(Rc::new(max))),
                None => Known::default(),
            },
            Op::Unary(UnOp::Neg, a) => self.exact(a).map(|a| Known::exact(-&*a)).unwrap_or_default(),
            Op::Unary(UnOp::TrailingZeros, a) => self.numbers(0, 8 * self.kernel.dtype(a).size() as i64),
            Op::Binary(op, a, b) => self.binary(op, a, b),
            Op::Select(_, a, b) => {
                let (a, b) = (self.known[a.index()].clone(), self.known[b.index()].clone());
                let low = both(a.low, b.low, |a, b| a.min(b));
                self.between(low, both(a.high, b.high, |a, b| a.max(b)))
            }
            Op::Cast(a)
                if self.known[a.index()].exact.is_some() && self.kernel.dtype(value) == DType::I64 =>
            {
                self.known[a.index()].clone()
            }
            Op::Cast(a) => match self.kernel.dtype(a) {
                DType::Bool => self.numbers(0, 1),
                DType::I8 => self.numbers(i8::MIN.into(), i8::MAX.into()),
                DType::I16 => self.numbers(i16::MIN.into(), i16::MAX.into()),
                DType::I32 => self.numbers(i32::MIN.into(), i32::MAX.into()),
                DType::U8 => self.numbers(0, u8::MAX.into()),
                DType::U16 => self.numbers(0, u16::MAX.into()),
                DType::U32 => self.numbers(0, u32::MAX.into()),
                DType::I64 => self.known[a.index()].clone(),
                DType::U64
                | DType::F16
                | DType::BF16
                | DType::F32
                | DType::F64
                | DType::C64
                | DType::C128 => Known::default(),
            },
            Op::Param(_)
            | Op::Folded
            | Op::Unary(UnOp::Abs | UnOp::Sqrt | UnOp::Floor | UnOp::Not, _)
            | Op::Compare(..)
            | Op::Fma(..)
            | Op::Bitcast(_) => Known::default(),
        }
    }

    fn binary(&mut self, op: BinOp, a: Value, b: Value) -> Known {
        let (x, y) = (self.known[a.index()].clone(), self.known[b.index()].clone());
        if let (Some(x), Some(y)) = (&x.exact, &y.exact) {
            if let (BinOp::Max | BinOp::Min, Some(known)) = (op, self.narrower(op, x, y)) {
                return known;
            }
            let dim = match op {
                BinOp::Add => Some(&**x + &**y),
                BinOp::Sub => Some(&**x - &**y),
                BinOp::Mul => Some(&**x * &**y),
                BinOp::FloorDiv => Some(x.floordiv(y).simplify_in(&self.ranges)),
                BinOp::Mod => Some(x.modulo(y).simplify_in(&self.ranges)),
                BinOp::Max => Some(x.max(y).simplify_in(&self.ranges)),
                BinOp::Min => Some(x.min(y).simplify_in(&self.ranges)),
                BinOp::Shl => shift(y).map(|factor| &**x * factor),
                BinOp::Sar => shift(y).map(|divisor| x.floordiv(&divisor.into()).simplify_in(&self.ranges)),
                BinOp::Div | BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shr => None,
            };
            // A poisoned size, which grew too large, is one nothing is known about.
            return dim.filter(|dim| dim.check().is_ok()).map(Known::exact).unwrap_or_default();
        }
        match op {
            BinOp::Min => {
                let low = both(x.low, y.low, |a, b| a.min(b));
                self.between(low, either(x.high, y.high, |a, b| a.min(b)))
            }
            BinOp::Max => {
                let high = both(x.high, y.high, |a, b| a.max(b));
                self.between(either(x.low, y.low, |a, b| a.max(b)), high)
            }
            BinOp::Mod => match y.exact {
                Some(n) if n.known_ge_zero_in(&self.ranges) == Some(true) => {
                    let last = (&*n - 1).max(&Dim::ZERO);
                    self.between(Some(Rc::new(Dim::ZERO)), Some(Rc::new(last)))
                }
                Some(_) | None => Known::default(),
            },
            BinOp::And => match (constant(&x.exact), constant(&y.exact)) {
                (Some(mask), _) | (_, Some(mask)) if mask >= 0 => self.numbers(0, mask),
                (_, _) => Known::default(),
            },
            BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::FloorDiv
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Sar
            | BinOp::Shr => Known::default(),
        }
    }

    /// A clamp that a proof shows to change nothing, but whose ends say more than those of what it clamps: then the ends
    /// are what is known, since guards are made of ends.
    fn narrower(&mut self, op: BinOp, x: &Dim, y: &Dim) -> Option<Known> {
        let clamp = if op == BinOp::Max { x.max(y) } else { x.min(y) };
        let simple = clamp.simplify_in(&self.ranges);
        if simple == clamp {
            return None;
        }
        let ((low, high), (wide_low, wide_high)) =
            (clamp.bounds_in(&self.ranges)?, simple.bounds_in(&self.ranges)?);
        let is_wider = wide_low.known_lt(&low) == Some(true) || high.known_lt(&wide_high) == Some(true);
        is_wider.then(|| self.between(Some(Rc::new(low)), Some(Rc::new(high))))
    }

    fn numbers(&mut self, low: i64, high: i64) -> Known {
        self.between(Some(Rc::new(low.into())), Some(Rc::new(high.into())))
    }

    /// A number of which the ends are known: an index of its own, if both are.
    fn between(&mut self, low: Option<Rc<Dim>>, high: Option<Rc<Dim>>) -> Known {
        match (&low, &high) {
            (Some(lo), Some(hi)) => {
                let index = self.fresh((**lo).clone(), (**hi).clone());
                Known { exact: Some(Rc::new(index)), low, high }
            }
            _ => Known { exact: None, low, high },
        }
    }

    fn fresh(&mut self, lo: Dim, hi: Dim) -> Dim {
        let number = self.next_index;
        self.next_index += 1;
        self.narrowed.set(number, lo.clone(), hi.clone());
        self.ranges.set(number, lo, hi);
        Dim::index(number)
    }

    fn exact(&self, value: Value) -> Option<Rc<Dim>> {
        self.known[value.index()].exact.clone()
    }

    fn find(&mut self, what: String) {
        self.findings.push(Finding::new(self.kernel, Rule::Bounds, what));
    }
}

fn both(a: Option<Rc<Dim>>, b: Option<Rc<Dim>>, f: impl Fn(&Dim, &Dim) -> Dim) -> Option<Rc<Dim>> {
    Some(Rc::new(f(&*a?, &*b?)))
}

fn either(a: Option<Rc<Dim>>, b: Option<Rc<Dim>>, f: impl Fn(&Dim, &Dim) -> Dim) -> Option<Rc<Dim>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Rc::new(f(&a, &b))),
        (one, None) | (None, one) => one,
    }
}

fn constant(dim: &Option<Rc<Dim>>) -> Option<i64> {
    dim.as_ref()?.is_const()
}

/// What a shift by a constant multiplies or divides by.
fn shift(by: &Dim) -> Option<i64> {
    by.is_const().filter(|by| (0..62).contains(by)).map(|by| 1 << by)
}

/// Variables that are assigned: those that decide what is accessed, or what runs, stay somewhere; of others nothing is asked.
fn cursors(kernel: &Kernel) -> FxHashMap<Var, Stays> {
    let mut starts: Vec<(Var, Value)> = Vec::new();
    let mut sets: Vec<(Var, Value)> = Vec::new();
    let mut open: Vec<Value> = Vec::new();
    let mut blocks = vec![&kernel.body];
    while let Some(block) = blocks.pop() {
        for stmt in block {
            match stmt {
                Stmt::Def(value) => {
                    if let Op::Load(_, index) = kernel.op(*value) {
                        open.push(index);
                    }
                }
                Stmt::Set(var, value) => sets.push((*var, *value)),
                Stmt::Store { index, .. } => open.push(*index),
                Stmt::For { lo, hi, .. } => open.extend([*lo, *hi]),
                Stmt::While { cond, .. } | Stmt::If { cond, .. } => open.push(*cond),
                Stmt::Gemm(gemm) => {
                    let matrices = [gemm.a, gemm.b, gemm.c];
                    open.extend(matrices.iter().flat_map(|m| [m.offset, m.row_stride, m.col_stride]));
                    open.extend([gemm.m, gemm.n, gemm.k]);
                }
                Stmt::Declare(var, value) => starts.push((*var, *value)),
                Stmt::Fold { .. } | Stmt::Call(_) => {}
            }
            blocks.extend(stmt.blocks());
        }
    }
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut decide: FxHashSet<Var> = FxHashSet::default();
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        let op = kernel.op(value);
        op.for_each_operand(|operand| open.push(operand));
        if let Op::Get(var) = op
            && decide.insert(var)
        {
            // Where it stays depends on where it starts, which another variable may say.
            let values = starts.iter().chain(&sets);
            open.extend(values.filter(|(of, _)| *of == var).map(|(_, value)| *value));
        }
    }
    // Only kernels that read indices have cursors; in others such proofs would take time and find nothing.
    let has_cursors = kernel.buffers.iter().any(|buffer| buffer.holds.is_some());
    let stays = |var| if has_cursors && decide.contains(&var) { Stays::First } else { Stays::Nowhere };
    sets.into_iter().map(|(var, _)| (var, stays(var))).collect()
}
