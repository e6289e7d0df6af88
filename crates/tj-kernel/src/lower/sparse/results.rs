//! What the loops of a nest do with values: dense results, and entries that are counted or written.

use tj_ir::expand::expand;
use tj_ir::{Dim, Expr, ExprId, Op, ReduceOp};
use tj_plan::sparse::Nest;
use tj_plan::sparse::space::Tree;
use tj_tensor::{DType, Scalar};

use super::gates::Inner;
use super::walk::Range;
use super::{BLOCK, Phase, Tasks, Walk, inners, nest_spaces, readers, whole_tree};
use crate::ir::{BinOp, Buf, CmpOp, LoopKind, UnOp, Value, Var};
use crate::lower::address::linear;

/// Elements of a loop that stores side by side.
pub(super) const LANES: u32 = 32;

/// Whether a dense result is filled before the loops run: they leave something out, or they add to it and do not start with
/// its axes.
pub(super) fn fills_first(nest: &Nest) -> bool {
    let rank = nest.plan.queries[0].shape.len();
    let leading = nest.loops.iter().take_while(|&&index| (index as usize) < rank).count();
    if nest.combined.is_some() && leading == 0 {
        return true;
    }
    let tree = whole_tree(nest, &nest_spaces(nest));
    let readers = readers::readers(nest);
    // A loop of an axis that walks lists, wherever its reader is by then.
    let listed = |id: ExprId, index: u32| {
        let reader = readers.iter().find(|reader| reader.id == id);
        reader.is_some_and(|reader| reader.levels.iter().any(|level| reader.lists(level, index)))
    };
    let outer = if nest.combined.is_some() { leading } else { nest.loops.len() };
    nest.loops[..outer].iter().any(|&index| tree.at(&|id| listed(id, index)) != Tree::All)
}

impl Walk<'_> {
    /// Fills dense results.
    pub fn prefill(&mut self) {
        let (lo, hi) = self.ctx.b.task();
        for (at, query) in self.nest.plan.queries.iter().enumerate() {
            let dtype = query.dtype;
            let value = match self.nest.combined {
                Some(op) => self.neutral(op, dtype),
                None => self.spaces[&query.body].fill.unwrap_or_else(|| Scalar::zero(dtype)),
            };
            let value = self.ctx.b.constant(value);
            let out = self.output(at);
            self.set_all(out, value, lo, hi);
        }
    }

    /// Sets the elements of a buffer from `lo` to `hi`.
    pub fn set_all(&mut self, buffer: Buf, value: Value, lo: Value, hi: Value) {
        let var = self.ctx.b.open_loop();
        self.ctx.b.store(buffer, var, value);
        self.ctx.b.close_loop(LoopKind::Lanes(LANES), var, lo, hi);
    }

    /// The loops.
    pub fn main(&mut self) {
        let loops = self.nest.loops.clone();
        match (self.phase, self.nest.combined) {
            (Phase::Dense, None) => self.stored_everywhere(&loops),
            (Phase::Dense, Some(op)) => self.added(&loops, op),
            (Phase::Count | Phase::Fill, Some(op)) => self.collected(&loops, op),
            (Phase::Count | Phase::Fill, None) => self.listed(&loops),
            (Phase::Values, _) => self.of_entries(&loops),
        }
    }

    fn inner_tree(&self) -> Tree {
        whole_tree(self.nest, &self.spaces)
    }

    /// The first of `loops` over a range of tasks if there are tasks, with the number of the task for `body`.
    pub fn first(&mut self, loops: &[u32], range: Range, body: &mut dyn FnMut(&mut Self, Option<Value>)) {
        let tree = self.inner_tree();
        match (&self.tasks, loops.first()) {
            (Tasks::Rows, Some(&first)) => {
                self.walk(first, &tree, range, &mut |walk| {
                    let row = walk.ctx.index[&first];
                    body(walk, Some(row));
                });
            }
            (Tasks::Entries, Some(&first)) => {
                self.walk(first, &tree, range, &mut |walk| {
                    let entry = walk.task;
                    body(walk, entry);
                });
            }
            (Tasks::One, _) | (_, None) => body(self, None),
        }
    }

    fn after_first<'l>(&self, loops: &'l [u32]) -> &'l [u32] {
        if self.tasks == Tasks::One { loops } else { &loops[1..] }
    }

    fn at_result(&mut self) -> Value {
        let shape = self.nest.plan.queries[0].shape.clone();
        let at: Vec<Dim> = (0..shape.len() as u32).map(Dim::index).collect();
        self.ctx.dim(&linear(&at, &shape))
    }

    /// Dense results, each element once.
    fn stored_everywhere(&mut self, loops: &[u32]) {
        let tree = self.inner_tree();
        let range = if self.tasks == Tasks::One { Range::Whole } else { Range::Task };
        let Some((&last, outer)) = loops.split_last() else { return self.store_here() };
        let innermost = if outer.is_empty() { range } else { Range::Whole };
        self.loops(outer, range, &tree, &mut |walk| walk.row(last, innermost, &tree));
    }

    /// Stores the element of each result.
    fn store_here(&mut self) {
        let values = self.values(&inners(self.nest));
        let at = self.at_result();
        for (result, value) in values.into_iter().enumerate() {
            let out = self.output(result);
            self.ctx.b.store(out, at, value);
        }
    }

    /// The innermost axis: side by side where that is possible. If lists are followed, first as if they were empty, then at
    /// their entries.
    fn row(&mut self, index: u32, range: Range, tree: &Tree) {
        let inners = inners(self.nest);
        let is_adjacent = |walk: &Self| inners.iter().all(|&inner| walk.is_adjacent(inner, index));
        let is_flat = |walk: &Self| inners.iter().all(|&inner| walk.is_flat(inner));
        let mut store = |walk: &mut Self| walk.store_here();
        let is_last = index as usize + 1 == self.rank();
        if self.is_plain(index, tree) {
            if is_last && range == Range::Whole {
                inners.iter().for_each(|&inner| self.keep_rows(index, inner));
            }
            if is_last && is_flat(self) && is_adjacent(self) {
                self.read_ahead();
                self.everywhere(index, range, LoopKind::Lanes(LANES), &mut store);
            } else {
                self.walk(index, tree, range, &mut store);
            }
            return self.rows.clear();
        }
        let walkers: Vec<usize> =
            (0..self.readers.len()).filter(|&at| self.readers[at].walks(index)).collect();
        let ids: Vec<ExprId> = walkers.iter().map(|&at| self.readers[at].id).collect();
        let is_all = tree.at(&|id| ids.contains(&id)) == Tree::All;
        let last_level = |at: &usize| self.readers[*at].next + 1 == self.readers[*at].levels.len();
        let splits = is_all
            && is_last
            && range == Range::Whole
            && walkers.iter().all(last_level)
            && is_adjacent(self)
            && self
                .nest
                .plan
                .arena
                .reachable(&inners)
                .iter()
                .all(|&node| !matches!(self.node(node), Expr::Reduce { .. }));
        if !splits {
            return self.walk(index, tree, range, &mut store);
        }
        let outside = self.readers.clone();
        for &at in &walkers {
            self.leave_out(at);
        }
        self.read_ahead();
        let lanes = is_flat(self);
        let kind = if lanes { LoopKind::Lanes(LANES) } else { LoopKind::Serial };
        self.everywhere(index, Range::Whole, kind, &mut store);
        self.readers = outside;
        let any = Tree::or(ids.into_iter().map(Tree::Leaf));
        self.walk(index, &any, Range::Whole, &mut store);
    }

    /// A dense result that loops add to.
    fn added(&mut self, loops: &[u32], op: ReduceOp) {
        let (out, inner, tree) = (self.output(0), self.nest.inner, self.inner_tree());
        let rank = self.rank();
        let leading = loops.iter().take_while(|&&index| (index as usize) < rank).count();
        let range = if self.tasks == Tasks::One { Range::Whole } else { Range::Task };
        self.loops(&loops[..leading], range, &tree, &mut |walk| {
            if leading > 0 {
                let start = walk.neutral(op, walk.nest.plan.queries[0].dtype);
                let start = walk.ctx.b.constant(start);
                let mut rest: Vec<u32> =
                    loops[leading..].iter().copied().filter(|&index| (index as usize) < rank).collect();
                rest.sort_unstable();
                walk.started(&rest, out, start);
            }
            walk.inside(&loops[leading..], &tree, out, inner, op);
        });
    }

    /// Sets a part of the result to what a reduction starts from.
    fn started(&mut self, axes: &[u32], out: Buf, start: Value) {
        match axes {
            [] => {
                let at = self.at_result();
                self.ctx.b.store(out, at, start);
            }
            &[index, ..] => {
                // Nothing is read here, so that readers stay where they are.
                let (lo, hi) = (self.ctx.b.int(0), self.ctx.size(&self.nest.extents[index as usize].clone()));
                let kind = if axes.len() == 1 { LoopKind::Lanes(LANES) } else { LoopKind::Serial };
                let var = self.ctx.b.open_loop();
                let before = self.ctx.index.insert(index, var);
                self.started(&axes[1..], out, start);
                match before {
                    Some(value) => self.ctx.index.insert(index, value),
                    None => self.ctx.index.remove(&index),
                };
                self.ctx.b.close_loop(kind, var, lo, hi);
            }
        }
    }

    fn inside(&mut self, loops: &[u32], tree: &Tree, out: Buf, inner: ExprId, op: ReduceOp) {
        let mut add = |walk: &mut Self| {
            let value = walk.value(inner);
            let at = walk.at_result();
            let before = walk.ctx.b.load_here(out, at);
            let after = expand(&mut walk.ctx.b, op.op(), &[before, value]);
            walk.ctx.b.store(out, at, after);
        };
        let Some((&last, outer)) = loops.split_last() else { return add(self) };
        let gates = self.gates(op, inner);
        let mut row = |walk: &mut Self| {
            let is_plain_row = last as usize + 1 == walk.rank() && walk.is_plain(last, tree);
            if is_plain_row {
                walk.keep_rows(last, inner);
            }
            let lanes = is_plain_row && walk.is_flat(inner) && walk.is_adjacent(inner, last);
            if lanes {
                walk.read_ahead();
                walk.everywhere(last, Range::Whole, LoopKind::Lanes(LANES), &mut add);
            } else {
                walk.walk(last, tree, Range::Whole, &mut add);
            }
            walk.rows.clear();
        };
        self.gated(&gates, &mut |walk| walk.gated_loops(outer, tree, (&gates, Inner::Loops), &mut row));
    }

    /// Entries of a stored result: how many each task may have, or coordinates and values.
    fn listed(&mut self, loops: &[u32]) {
        let (inner, tree) = (self.nest.inner, self.inner_tree());
        self.tasks_of(loops, &mut |walk, rest, mut results| {
            walk.loops(rest, Range::Whole, &tree, &mut |walk| match &mut results {
                Results::Counted(count) => {
                    let (n, one) = (walk.ctx.b.get(*count), walk.ctx.b.int(1));
                    let more = walk.ctx.b.binary(BinOp::Add, n, one);
                    walk.ctx.b.set(*count, more);
                }
                Results::Written(writer) => {
                    let value = walk.value(inner);
                    walk.write(writer, None, value);
                }
            });
        });
    }

    /// Runs every task, with the loops that are left inside of it, and stores how many entries it had.
    pub fn tasks_of(&mut self, loops: &[u32], body: &mut dyn FnMut(&mut Self, &[u32], Results<'_>)) {
        let zero = self.ctx.b.int(0);
        let rest = self.after_first(loops).to_vec();
        if self.phase == Phase::Count {
            let out = self.output(0);
            return self.first(loops, Range::Task, &mut |walk, task| {
                let count = walk.ctx.b.declare(zero);
                body(walk, &rest, Results::Counted(count));
                let n = walk.ctx.b.get(count);
                walk.ctx.b.store(out, task.unwrap_or(zero), n);
            });
        }
        let counts = self.output(self.columns.len() + 1);
        let mut task_of = |walk: &mut Self, writer: &mut Writer, task: Value| {
            let before = walk.ctx.b.get(writer.at);
            body(walk, &rest, Results::Written(writer));
            let after = walk.ctx.b.get(writer.at);
            let n = walk.ctx.b.binary(BinOp::Sub, after, before);
            walk.ctx.b.store(counts, task, n);
        };
        if self.tasks == Tasks::One {
            let one = self.ctx.b.int(1);
            let mut writer = self.writer(zero, one);
            return task_of(self, &mut writer, zero);
        }
        // Lists that every block would spread again.
        let outside = self.readers.clone();
        let spread = loops.first().map_or_else(Vec::new, |&first| self.spread_before(first));
        let (lo, hi) = self.ctx.b.task();
        let block = self.ctx.b.open_loop();
        let all = self.ctx.size(&self.n_tasks.clone());
        let size = self.ctx.b.int(BLOCK);
        let start = self.ctx.b.binary(BinOp::Mul, block, size);
        let first = self.ctx.b.binary(BinOp::Min, start, all);
        let end = self.ctx.b.binary(BinOp::Add, start, size);
        let end = self.ctx.b.binary(BinOp::Min, end, all);
        let mut writer = self.writer(first, end);
        self.first(loops, Range::Part(first, end), &mut |walk, task| {
            task_of(walk, &mut writer, task.unwrap_or(zero));
        });
        self.ctx.b.close_loop(LoopKind::Serial, block, lo, hi);
        self.readers = outside;
        for (reader, cells) in spread {
            self.gather(reader, cells);
        }
    }

    /// Where the tasks from `first` to `end` write.
    fn writer(&mut self, first: Value, end: Value) -> Writer {
        let starts = self.ctx.source(tj_ir::expr::Source::Input(self.ctx.plan.inputs.len() as u32 - 1));
        let (lo, end) = (self.ctx.b.load_here(starts, first), self.ctx.b.load_here(starts, end));
        let columns: Vec<Buf> = (0..self.columns.len()).map(|at| self.output(at)).collect();
        let values = self.output(columns.len());
        let at = self.ctx.b.declare(lo);
        Writer { at, end, columns, values }
    }

    /// Writes an entry at the current coordinates, or at these; the next one takes its place if it is the fill.
    pub fn write(&mut self, writer: &mut Writer, coordinates: Option<&[Value]>, value: Value) {
        let own: Vec<Value> = match coordinates {
            Some(coordinates) => coordinates.to_vec(),
            None => self.columns.iter().map(|index| self.ctx.index[index]).collect(),
        };
        let dtype = super::index_dtype(self.nest.width);
        let at = self.ctx.b.get(writer.at);
        // There is room for all entries, so that this holds; it says that no task writes where another one does.
        let inside = self.ctx.b.compare(CmpOp::Lt, at, writer.end);
        self.ctx.b.open_condition();
        for (&column, coordinate) in writer.columns.iter().zip(own) {
            let narrow = self.ctx.b.cast(coordinate, dtype);
            self.ctx.b.store(column, at, narrow);
        }
        self.ctx.b.store(writer.values, at, value);
        let step = match self.nest.fill {
            Some(fill) => {
                let is_fill = self.same_bits(value, fill);
                let counts = self.ctx.b.unary(UnOp::Not, is_fill);
                self.ctx.b.cast(counts, DType::I64)
            }
            None => self.ctx.b.int(1),
        };
        let next = self.ctx.b.binary(BinOp::Add, at, step);
        self.ctx.b.set(writer.at, next);
        let then = self.ctx.b.close_block();
        self.ctx.b.push_if(inside, then, Vec::new());
    }

    /// Counts a value that is the fill, by its bits.
    fn count_fill(&mut self, dropped: Var, value: Value) {
        let Some(fill) = self.nest.fill else { return };
        let is_fill = self.same_bits(value, fill);
        let step = self.ctx.b.cast(is_fill, DType::I64);
        let before = self.ctx.b.get(dropped);
        let after = self.ctx.b.binary(BinOp::Add, before, step);
        self.ctx.b.set(dropped, after);
    }

    /// Whether a value equals the fill; NaN does.
    fn same_bits(&mut self, value: Value, fill: Scalar) -> Value {
        let b = &mut self.ctx.b;
        if fill.dtype().is_float() && fill.to_f64().is_nan() {
            return expand(b, Op::NotEqual, &[value, value]);
        }
        let fill = b.constant(fill);
        let bits = match (b.dtype(value).is_float(), b.dtype(value).size()) {
            (true, 2) => DType::I16,
            (true, 4) => DType::I32,
            (true, 8) => DType::I64,
            (_, _) => return b.compare(CmpOp::Eq, value, fill),
        };
        let (value, fill) = (b.bitcast(value, bits), b.bitcast(fill, bits));
        b.compare(CmpOp::Eq, value, fill)
    }

    /// Values alone, one for each entry of an argument.
    fn of_entries(&mut self, loops: &[u32]) {
        let inner = self.nest.inner;
        let tree = self.inner_tree();
        let Tree::Leaf(leaf) = tree else { panic!("lower: values alone are those of one reader") };
        let (values, drops) = (self.output(0), self.output(1));
        self.first(loops, Range::Task, &mut |walk, task| {
            let zero = walk.ctx.b.int(0);
            let dropped = walk.ctx.b.declare(zero);
            let rest = walk.after_first(loops).to_vec();
            walk.loops(&rest, Range::Whole, &tree, &mut |walk| {
                let value = walk.value(inner);
                let reader = walk.readers.iter().find(|reader| reader.id == leaf);
                let position = reader.and_then(|reader| reader.position);
                let position = position.expect("a reader that has arrived has a position");
                walk.ctx.b.store(values, position, value);
                walk.count_fill(dropped, value);
            });
            let n = walk.ctx.b.get(dropped);
            let task = task.unwrap_or(zero);
            walk.ctx.b.store(drops, task, n);
        });
    }
}

/// Where tasks write their entries, one after the other.
pub(super) struct Writer {
    at: Var,
    end: Value,
    columns: Vec<Buf>,
    values: Buf,
}

/// What is done with the entries of a task.
pub(super) enum Results<'w> {
    /// They are counted.
    Counted(Var),
    /// They are written down.
    Written(&'w mut Writer),
}

impl Results<'_> {
    /// The count.
    pub fn count(&self) -> Option<Var> {
        if let Results::Counted(count) = self { Some(*count) } else { None }
    }

    /// Where they are written.
    pub fn writer(&mut self) -> Option<&mut Writer> {
        if let Results::Written(writer) = self { Some(writer) } else { None }
    }
}
