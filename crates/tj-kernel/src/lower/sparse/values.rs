//! What expressions are at the current place, reductions included.

use smallvec::SmallVec;
use tj_ir::expand::{combiner, expand};
use tj_ir::expr::{Source, row_lanes};
use tj_ir::{Dim, Expr, ExprId, Op, ReduceOp};
use tj_plan::sparse::order::chain;
use tj_plan::sparse::plain;
use tj_plan::sparse::space::{Tree, is_neutral, visited};
use tj_tensor::{DType, Scalar};

use super::gates::{Gate, Inner};
use super::walk::Range;
use super::{Walk, stored};
use crate::build::Builder;
use crate::ir::{BinOp, CmpOp, LoopKind, UnOp, Value, Var};

/// A chain of reductions by one operator.
struct Reduction {
    op: ReduceOp,
    dtype: DType,
    indices: Vec<u32>,
    /// What it combines.
    inner: ExprId,
    /// Where that is visited.
    tree: Tree,
    /// What it is elsewhere, if that counts.
    left_out: Option<LeftOut>,
}

/// What a reduction combines where it is not visited.
#[derive(Clone, Copy)]
enum LeftOut {
    /// What the program alone says.
    Fill(Scalar),
    /// What it is if no read that depends on its indices has an entry.
    Absent,
}

/// A reduction while its loops run.
struct Sum {
    op: ReduceOp,
    dtype: DType,
    total: Var,
    /// Whether something has been combined, for an operator that starts from its first element.
    any: Option<Var>,
    /// How many places have been visited, if the others count.
    visited: Option<Var>,
}

impl Walk<'_> {
    /// The value of an expression.
    pub fn value(&mut self, id: ExprId) -> Value {
        match self.known.get(&id) {
            Some(&known) => known,
            None => self.values(&[id])[0],
        }
    }

    /// The values of some expressions.
    pub fn values(&mut self, ids: &[ExprId]) -> Vec<Value> {
        let late = self.all_late(ids);
        let mut order = self.needed(ids, &|from, to| late.get(&from).is_none_or(|late| late.argument != to));
        order.sort_unstable();
        for at in 0..order.len() {
            let node = order[at];
            self.together(node, &order[at + 1..]);
            if self.known.contains_key(&node) {
                continue;
            }
            let value = match late.get(&node) {
                Some(late) => self.computed_late(late),
                None => self.evaluate(node),
            };
            self.known.insert(node, value);
        }
        ids.iter().map(|id| self.known[id]).collect()
    }

    fn evaluate(&mut self, id: ExprId) -> Value {
        let dtype = self.nest.plan.arena.dtype(id);
        match self.node(id).clone() {
            Expr::Const(value) => self.ctx.b.constant(value),
            Expr::Number(number) => self.ctx.number(number, dtype),
            Expr::Size(dim) => self.ctx.dim(&dim),
            Expr::Read { source, at } => self.read(id, source, &at),
            Expr::Map { op: op @ (Op::Equal | Op::NotEqual), args } if self.misses_fill(&args).is_some() => {
                let present = self.misses_fill(&args).and_then(|reader| self.readers[reader].present);
                match (present, op == Op::Equal) {
                    // It is stored, and so another value.
                    (None, equal) => self.ctx.b.constant(Scalar::Bool(!equal)),
                    (Some(present), true) => self.ctx.b.unary(UnOp::Not, present),
                    (Some(present), false) => present,
                }
            }
            Expr::Map { op: Op::Where, args } if self.decided(args[0]).is_some() => {
                self.known[&args[if self.decided(args[0]) == Some(true) { 1 } else { 2 }]]
            }
            Expr::Map { op, args } => {
                let args: SmallVec<[Value; 3]> = args.iter().map(|arg| self.known[arg]).collect();
                expand(&mut self.ctx.b, op, &args)
            }
            Expr::Reduce { .. } => match self.kept(id) {
                Some(value) => value,
                None => self.reduced(id),
            },
            Expr::Call { .. } => panic!("lower: a call among other expressions"),
        }
    }

    fn read(&mut self, id: ExprId, source: Source, at: &[Dim]) -> Value {
        if let Some(reader) = self.readers.iter().position(|reader| reader.id == id) {
            return self.entry(reader);
        }
        let Source::Input(argument) = source else { panic!("lower: a nest reads arguments only") };
        let input = self.dense[argument as usize].expect("a read without a reader is dense");
        let source = Source::Input(input);
        let (buffer, index) = self.ctx.locate(source, at);
        if self.ctx.may_leave_loops(source, at) {
            self.ctx.b.load(buffer, index)
        } else {
            self.ctx.b.load_here(buffer, index)
        }
    }

    /// What a reader reads: its entry, or the fill.
    fn entry(&mut self, at: usize) -> Value {
        if let Some(value) = self.readers[at].value {
            return value;
        }
        let reader = &self.readers[at];
        assert!(reader.next == reader.levels.len(), "lower: a read is evaluated before its loops");
        let (argument, present, is_readable) = (reader.argument, reader.present, reader.is_readable);
        let position = reader.position.unwrap_or_else(|| self.ctx.b.int(0));
        let values = self.arrays[argument].as_ref().expect("what readers read has been declared").values;
        let fill = self.operand(argument).fill;
        let b = &mut self.ctx.b;
        let value = match present {
            None => b.load_here(values, position),
            Some(present) if is_readable => {
                let loaded = b.load_here(values, position);
                let fill = b.constant(fill);
                selected(b, present, loaded, fill)
            }
            Some(present) => {
                let fill = b.constant(fill);
                let value = b.declare(fill);
                b.open_condition();
                let loaded = b.load_here(values, position);
                b.set(value, loaded);
                let then = b.close_block();
                b.push_if(present, then, Vec::new());
                b.get(value)
            }
        };
        self.readers[at].value = Some(value);
        value
    }

    /// Reads ahead of a loop in lanes, which has no branches.
    pub fn read_ahead(&mut self) {
        for at in 0..self.readers.len() {
            if self.readers[at].next == self.readers[at].levels.len() {
                self.entry(at);
            }
        }
    }

    /// The reader that is compared with its fill, if no stored value equals that. In a wider type it is the same question.
    fn misses_fill(&self, args: &[ExprId]) -> Option<usize> {
        let [x, y] = args else { return None };
        let of = |read: ExprId, value: ExprId| {
            let Expr::Const(value) = self.node(value) else { return None };
            let mut read = read;
            if let Expr::Map { op: Op::Cast(to), args } = self.node(read)
                && is_wider(*to, self.nest.plan.arena.dtype(args[0]))
            {
                read = args[0];
            }
            let at = self.readers.iter().position(|reader| reader.id == read)?;
            let operand = self.operand(self.readers[at].argument);
            let is_fill = operand.fill.cast(value.dtype()) == *value;
            (is_fill && !operand.may_store_fill && !self.readers[at].may_be_fill).then_some(at)
        };
        of(*x, *y).or_else(|| of(*y, *x))
    }

    /// The value of a condition that is the same for all data.
    pub fn decided(&self, condition: ExprId) -> Option<bool> {
        let known = self.known.get(&condition)?;
        match self.ctx.b.kernel().constant(*known) {
            Some(Scalar::Bool(value)) => Some(value),
            _ => None,
        }
    }

    /// A chain of reductions by one operator.
    fn reduced(&mut self, id: ExprId) -> Value {
        let own = self.reduction(id);
        let outside = self.readers.clone();
        let value = match self.in_lanes(&own) {
            Some(value) => value,
            None => {
                let left_out = self.left_out(&own);
                let sum = self.start(own.op, own.dtype, left_out.is_some());
                let (gates, inner) = self.gates_of(&[&own]);
                let last = last_word(own.op, own.dtype).filter(|_| own.indices.len() == 1);
                self.gated(&gates, &mut |walk| {
                    walk.stop = last.map(|word| (sum.total, word));
                    walk.gated_loops(&own.indices, &own.tree, (&gates, inner), &mut |walk| {
                        let value = walk.value(own.inner);
                        walk.add(&sum, value);
                    });
                });
                self.finish(&sum, left_out, &own.indices)
            }
        };
        self.readers = outside;
        value
    }

    fn reduction(&self, id: ExprId) -> Reduction {
        let arena = &self.nest.plan.arena;
        let (op, indices, inner) = chain(arena, id).expect("a reduction is a chain of at least itself");
        let is_stored = |source: Source| stored(self.nest, source).is_some();
        let tree = visited(arena, &self.spaces, (op, &indices, inner), &is_stored);
        let left_out = match (op, self.spaces[&inner].fill) {
            (ReduceOp::By(_), _) => None,
            (_, Some(fill)) => (!is_neutral(op, fill)).then_some(LeftOut::Fill(fill)),
            (_, None) => (tree != Tree::All).then_some(LeftOut::Absent),
        };
        Reduction { op, dtype: arena.dtype(id), indices, inner, tree, left_out }
    }

    /// Where some reductions in the same loops combine nothing that counts, and what is inside of these loops.
    fn gates_of(&self, reductions: &[&Reduction]) -> (Vec<Gate>, Inner) {
        let mut each = reductions.iter().map(|own| match own.left_out {
            None => self.gates(own.op, own.inner),
            Some(_) => Vec::new(),
        });
        let mut gates = each.next().unwrap_or_default();
        each.for_each(|others| gates.retain(|gate| others.contains(gate)));
        let has_loops = reductions.iter().any(|own| self.has_open_reduction(own.inner));
        (gates, if has_loops { Inner::Loops } else { Inner::Arithmetic })
    }

    /// What a reduction combines where it is not visited.
    fn left_out(&mut self, own: &Reduction) -> Option<Value> {
        match own.left_out? {
            LeftOut::Fill(fill) => Some(self.ctx.b.constant(fill)),
            LeftOut::Absent => {
                let (known, readers) = (self.known.clone(), self.readers.clone());
                let is_absent = |walk: &Self, at: usize| {
                    own.indices.iter().any(|&index| walk.readers[at].speaks_of(index))
                };
                for at in 0..self.readers.len() {
                    if is_absent(self, at) {
                        self.leave_out(at);
                    }
                }
                let value = self.value(own.inner);
                (self.known, self.readers) = (known, readers);
                Some(value)
            }
        }
    }

    /// Takes a reader for one that has no entry.
    pub fn leave_out(&mut self, at: usize) {
        let fill = self.operand(self.readers[at].argument).fill;
        let fill = self.ctx.b.constant(fill);
        let reader = &mut self.readers[at];
        reader.value = Some(fill);
        reader.may_be_fill = true;
        reader.next = reader.levels.len();
    }

    /// Computes a reduction and those of `others` that go along the same lists by the same indices in one loop, if there are
    /// any. Then all of them are known.
    fn together(&mut self, id: ExprId, others: &[ExprId]) {
        if !self.is_open_reduction(id) {
            return;
        }
        let own = self.reduction(id);
        // What goes along no list is computed in lanes where it can be.
        if own.indices.iter().all(|&index| self.is_plain(index, &own.tree)) {
            return;
        }
        let mut all = vec![(id, own)];
        for &other in others {
            if self.is_open_reduction(other) {
                let more = self.reduction(other);
                if (&more.indices, &more.tree) == (&all[0].1.indices, &all[0].1.tree) {
                    all.push((other, more));
                }
            }
        }
        if all.len() == 1 {
            return;
        }
        let outside = self.readers.clone();
        let left_out: Vec<Option<Value>> = all.iter().map(|(_, own)| self.left_out(own)).collect();
        let start = |(_, own): &(ExprId, Reduction)| self.start(own.op, own.dtype, own.left_out.is_some());
        let sums: Vec<Sum> = all.iter().map(start).collect();
        let (indices, tree) = (all[0].1.indices.clone(), all[0].1.tree.clone());
        let inners: Vec<ExprId> = all.iter().map(|(_, own)| own.inner).collect();
        let reductions: Vec<&Reduction> = all.iter().map(|(_, own)| own).collect();
        let (gates, inner) = self.gates_of(&reductions);
        self.gated(&gates, &mut |walk| {
            walk.gated_loops(&indices, &tree, (&gates, inner), &mut |walk| {
                let values = walk.values(&inners);
                for (sum, value) in sums.iter().zip(values) {
                    walk.add(sum, value);
                }
            });
        });
        for (((id, own), sum), left_out) in all.iter().zip(&sums).zip(left_out) {
            let value = self.finish(sum, left_out, &own.indices);
            self.known.insert(*id, value);
        }
        self.readers = outside;
    }

    /// Whether a node is a reduction that has not been computed for a row.
    fn is_open_reduction(&self, id: ExprId) -> bool {
        matches!(self.node(id), Expr::Reduce { .. })
            && !self.known.contains_key(&id)
            && !self.rows.contains_key(&id)
    }

    /// Nested loops over some indices, of which the first runs over `range`.
    pub fn loops(&mut self, indices: &[u32], range: Range, tree: &Tree, body: &mut dyn FnMut(&mut Self)) {
        match indices.split_first() {
            None => body(self),
            Some((&first, rest)) => {
                self.walk(first, tree, range, &mut |walk| walk.loops(rest, Range::Whole, tree, body));
            }
        }
    }

    /// A sum over everything along one index, in lanes.
    fn in_lanes(&mut self, own: &Reduction) -> Option<Value> {
        let &Reduction { op, dtype, inner, .. } = own;
        let (tree, &[index]) = (&own.tree, own.indices.as_slice()) else { return None };
        let primitive = combiner(op, dtype)?;
        if !self.is_plain(index, tree) || !self.is_flat(inner) || !self.is_adjacent(inner, index) {
            return None;
        }
        self.read_ahead();
        let start = self.neutral(op, dtype);
        let lanes = row_lanes(dtype) as u32;
        let start = self.ctx.b.constant(start);
        let total = self.ctx.b.declare_lanes(lanes, start);
        self.everywhere(index, Range::Whole, LoopKind::Lanes(lanes), &mut |walk| {
            let value = walk.value(inner);
            let before = walk.ctx.b.get(total);
            let after = walk.ctx.b.binary(primitive, before, value);
            walk.ctx.b.set(total, after);
        });
        Some(self.ctx.b.fold(total, primitive))
    }

    /// Whether an expression has no reductions but those that have been computed, and every reader in it has arrived.
    pub fn is_flat(&self, id: ExprId) -> bool {
        let (mut open, mut seen) = (vec![id], Vec::new());
        while let Some(node) = open.pop() {
            if seen.contains(&node) || self.rows.contains_key(&node) {
                continue;
            }
            seen.push(node);
            open.extend_from_slice(self.node(node).children());
        }
        seen.into_iter().all(|node| match self.node(node) {
            Expr::Reduce { .. } => false,
            Expr::Read { .. } => {
                let reader = self.readers.iter().find(|reader| reader.id == node);
                reader.is_none_or(|reader| reader.next == reader.levels.len())
            }
            Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Map { .. } | Expr::Call { .. } => true,
        })
    }

    /// Whether every read goes along the last axis with an index, or not at all.
    pub fn is_adjacent(&self, id: ExprId, index: u32) -> bool {
        let uses = |dim: &Dim| dim.symbols().any(|symbol| symbol.as_index() == Some(index));
        self.nest.plan.arena.reachable(&[id]).into_iter().all(|node| match self.node(node) {
            Expr::Read { at, .. } => match at.split_last() {
                None => true,
                Some((last, others)) => {
                    !others.iter().any(uses) && (!uses(last) || plain(last) == Some(index))
                }
            },
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Map { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => true,
        })
    }

    /// What a reduction starts from. A sum starts from +0, since places that are left out are.
    pub fn neutral(&self, op: ReduceOp, dtype: DType) -> Scalar {
        match op {
            ReduceOp::Sum => Scalar::zero(dtype),
            ReduceOp::Prod
            | ReduceOp::Max
            | ReduceOp::Min
            | ReduceOp::And
            | ReduceOp::Or
            | ReduceOp::Xor
            | ReduceOp::By(_) => op.start(dtype).unwrap_or_else(|| op.empty_or_any(dtype)),
        }
    }

    fn start(&mut self, op: ReduceOp, dtype: DType, is_counted: bool) -> Sum {
        let start = self.neutral(op, dtype);
        let b = &mut self.ctx.b;
        let start = b.constant(start);
        let total = b.declare(start);
        let any = op.start(dtype).is_none().then(|| {
            let no = b.constant(Scalar::Bool(false));
            b.declare(no)
        });
        let visited = is_counted.then(|| {
            let zero = b.int(0);
            b.declare(zero)
        });
        Sum { op, dtype, total, any, visited }
    }

    fn add(&mut self, sum: &Sum, value: Value) {
        let b = &mut self.ctx.b;
        let before = b.get(sum.total);
        let mut after = expand(b, sum.op.op(), &[before, value]);
        if let Some(any) = sum.any {
            let some = b.get(any);
            after = b.select(some, after, value);
            let yes = b.constant(Scalar::Bool(true));
            b.set(any, yes);
        }
        b.set(sum.total, after);
        if let Some(visited) = sum.visited {
            let (count, one) = (b.get(visited), b.int(1));
            let more = b.binary(BinOp::Add, count, one);
            b.set(visited, more);
        }
    }

    /// The result, with the places that were left out.
    fn finish(&mut self, sum: &Sum, left_out: Option<Value>, indices: &[u32]) -> Value {
        let total = self.ctx.b.get(sum.total);
        let (Some(value), Some(visited)) = (left_out, sum.visited) else { return total };
        let all: Dim = indices.iter().map(|&index| &self.nest.extents[index as usize]).product();
        let all = self.ctx.dim(&all);
        let b = &mut self.ctx.b;
        let visited = b.get(visited);
        let left = b.binary(BinOp::Sub, all, visited);
        let zero = b.int(0);
        let some = b.compare(CmpOp::Gt, left, zero);
        match sum.op {
            ReduceOp::Sum if sum.dtype.is_bool() => {
                let more = expand(b, sum.op.op(), &[total, value]);
                b.select(some, more, total)
            }
            ReduceOp::Sum => {
                let count = b.cast(left, sum.dtype);
                let part = b.binary(BinOp::Mul, value, count);
                let more = b.binary(BinOp::Add, total, part);
                // No place: an infinite fill times 0 would be NaN.
                b.select(some, more, total)
            }
            ReduceOp::Prod => self.power(total, value, left),
            ReduceOp::Max | ReduceOp::Min | ReduceOp::And | ReduceOp::Or | ReduceOp::By(_) => {
                let more = expand(b, sum.op.op(), &[total, value]);
                b.select(some, more, total)
            }
            ReduceOp::Xor => {
                let (one, more) = (b.int(1), expand(b, sum.op.op(), &[total, value]));
                let odd = b.binary(BinOp::And, left, one);
                let odd = b.compare(CmpOp::Eq, odd, one);
                b.select(odd, more, total)
            }
        }
    }

    /// `total` times `base` to the power of `count`, by squaring.
    fn power(&mut self, total: Value, base: Value, count: Value) -> Value {
        let b = &mut self.ctx.b;
        let (product, square, left) = (b.declare(total), b.declare(base), b.declare(count));
        let (zero, one) = (b.int(0), b.int(1));
        b.open_condition();
        let n = b.get(left);
        let more = b.compare(CmpOp::Gt, n, zero);
        let head = b.close_block();
        b.open_condition();
        let (p, s) = (b.get(product), b.get(square));
        let bit = b.binary(BinOp::And, n, one);
        let odd = b.compare(CmpOp::Eq, bit, one);
        let times = expand(b, Op::Mul, &[p, s]);
        let next = b.select(odd, times, p);
        b.set(product, next);
        let squared = expand(b, Op::Mul, &[s, s]);
        b.set(square, squared);
        let half = b.binary(BinOp::Sar, n, one);
        b.set(left, half);
        let body = b.close_block();
        b.push_while(head, more, body);
        b.get(product)
    }
}

/// One of two values by integers of their width: a selection of floats is a jump on some machines, and which entries there are
/// cannot be predicted.
fn selected(b: &mut Builder, condition: Value, yes: Value, no: Value) -> Value {
    let dtype = b.dtype(yes);
    let bits = match (dtype.is_float(), dtype.size()) {
        (true, 4) => DType::I32,
        (true, 8) => DType::I64,
        (_, _) => return b.select(condition, yes, no),
    };
    let (yes, no) = (b.bitcast(yes, bits), b.bitcast(no, bits));
    let chosen = b.select(condition, yes, no);
    b.bitcast(chosen, dtype)
}

/// Whether different values of one type are different values of the other.
fn is_wider(to: DType, from: DType) -> bool {
    let same_kind = (to.is_float() && from.is_float()) || (to.is_int() && from.is_int());
    same_kind && to.is_signed() == from.is_signed() && to.size() > from.size()
}

/// The value that nothing changes any more.
fn last_word(op: ReduceOp, dtype: DType) -> Option<bool> {
    match op {
        ReduceOp::Or | ReduceOp::Sum if dtype.is_bool() => Some(true),
        ReduceOp::And if dtype.is_bool() => Some(false),
        ReduceOp::Sum
        | ReduceOp::Prod
        | ReduceOp::Max
        | ReduceOp::Min
        | ReduceOp::And
        | ReduceOp::Or
        | ReduceOp::Xor
        | ReduceOp::By(_) => None,
    }
}
