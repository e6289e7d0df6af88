//! Reads of what is stored by levels, and how far each has gone.

use rustc_hash::FxHashMap;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprId};
use tj_plan::sparse::{Argument, Nest, OperandLevel, followed, has_index};
use tj_tensor::DType;

use super::Walk;
use crate::ir::{BinOp, Buf, CmpOp, Value};

/// A read, and where it is.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub id: ExprId,
    pub argument: usize,
    pub at: Indices,
    pub levels: Vec<OperandLevel>,
    /// The indices of the loops that it is read inside of, wherever it is read, and that may be empty: then nobody has promised
    /// that its place is one of its tensor.
    pub inside: Vec<u32>,
    /// The level that it has not gone through yet.
    pub next: usize,
    /// Its position in the level before that.
    pub position: Option<Value>,
    /// Whether there is such a position; `None` if there always is.
    pub present: Option<Value>,
    /// Whether the position is one of the level even where it is not the one that is looked for.
    pub is_readable: bool,
    /// Whether what it reads is the fill, or may be.
    pub may_be_fill: bool,
    /// Memory with its last list spread over all coordinates.
    pub spread: Option<Buf>,
    /// What it reads, once that is known.
    pub value: Option<Value>,
}

/// All readers of a nest, before the first loop.
pub(super) fn readers(nest: &Nest) -> Vec<Reader> {
    let arena = &nest.plan.arena;
    let mut found = Vec::new();
    let bodies: Vec<ExprId> = nest.plan.queries.iter().map(|query| query.body).collect();
    let mut inside = loops_around(nest, &bodies);
    for id in arena.reachable(&bodies) {
        if let Expr::Read { source: Source::Input(i), at } = arena.node(id)
            && let Argument::Stored(operand) = &nest.arguments[*i as usize]
        {
            found.push(Reader {
                id,
                argument: *i as usize,
                at: at.clone(),
                levels: operand.levels(),
                inside: inside.remove(&id).unwrap_or_default(),
                next: 0,
                position: None,
                present: None,
                is_readable: false,
                may_be_fill: false,
                spread: None,
                value: None,
            });
        }
    }
    found
}

/// For each node, the indices that may have no value and whose loops are around it wherever it stands: axes of the result, and
/// reductions.
fn loops_around(nest: &Nest, bodies: &[ExprId]) -> FxHashMap<ExprId, Vec<u32>> {
    let arena = &nest.plan.arena;
    let may_be_empty = |index: &u32| Dim::ONE.known_le(&nest.extents[*index as usize]) != Some(true);
    let axes = 0..nest.plan.queries[0].shape.len() as u32;
    let axes: Vec<u32> = axes.filter(may_be_empty).collect();
    let mut around: FxHashMap<ExprId, Vec<u32>> = FxHashMap::default();
    around.extend(bodies.iter().map(|&body| (body, axes.clone())));
    // Parents first.
    for id in arena.reachable(bodies).into_iter().rev() {
        let mut own = around[&id].clone();
        if let Expr::Reduce { index, .. } = arena.node(id) {
            own.extend(index.as_index().filter(may_be_empty));
        }
        for &child in arena.node(id).children() {
            let known = around.entry(child).or_insert_with(|| own.clone());
            known.retain(|index| own.contains(index));
        }
    }
    around
}

impl Reader {
    /// Passes the levels whose coordinates are known before all loops, such as those of a fixed row.
    pub fn locate_before_loops(&mut self) {
        let is_fixed = |level: &&OperandLevel| !has_index(&self.at[level.dim]);
        self.next = self.levels.iter().take_while(is_fixed).count();
    }

    /// Whether its next level is a list that the loop of an index goes along.
    pub fn walks(&self, index: u32) -> bool {
        self.spread.is_none() && self.levels.get(self.next).is_some_and(|level| self.lists(level, index))
    }

    /// Whether a level is a list that the loop of an index goes along.
    pub fn lists(&self, level: &OperandLevel, index: u32) -> bool {
        level.list.is_some() && followed(&self.at[level.dim]).is_some_and(|(own, _)| own == index)
    }

    /// How far ahead of the loop's index the next level is read, and how far the index runs, if the loop does not go along
    /// the whole of a list: that of a slice, or of a diagonal in a matrix that is longer than wide.
    pub fn part(&self, nest: &Nest) -> Option<(Dim, Dim)> {
        let level = self.levels.get(self.next)?;
        let (index, offset) = followed(&self.at[level.dim])?;
        let extent = &nest.extents[index as usize];
        let own = &nest.plan.inputs[self.argument].shape[level.dim];
        (offset != Dim::ZERO || own != extent).then(|| (offset, extent.clone()))
    }

    /// Whether it reads at an index.
    pub fn speaks_of(&self, index: u32) -> bool {
        self.at.iter().any(|dim| dim.symbols().any(|symbol| symbol.as_index() == Some(index)))
    }
}

impl Walk<'_> {
    /// Moves every reader through the levels whose coordinates are known by now.
    pub fn locate(&mut self) {
        for at in 0..self.readers.len() {
            while let Some(level) = self.readers[at].levels.get(self.readers[at].next).copied() {
                let dim = self.readers[at].at[level.dim].clone();
                let is_known = |symbol: tj_ir::Symbol| {
                    symbol.as_index().is_none_or(|index| self.ctx.index.contains_key(&index))
                };
                if !dim.symbols().all(is_known) {
                    break;
                }
                let coordinate = self.ctx.dim(&dim);
                match (level.list, self.readers[at].spread) {
                    (None, _) => self.step(at, coordinate, level),
                    (Some(_), None) => self.search(at, coordinate),
                    (Some(_), Some(cells)) => {
                        let value = self.ctx.b.load_here(cells, coordinate);
                        let reader = &mut self.readers[at];
                        reader.value = Some(value);
                        reader.may_be_fill = true;
                    }
                }
                self.readers[at].next += 1;
            }
        }
    }

    fn position(&mut self, at: usize) -> Value {
        match self.readers[at].position {
            Some(position) => position,
            None => self.ctx.b.int(0),
        }
    }

    /// Through a dense level.
    fn step(&mut self, at: usize, coordinate: Value, level: OperandLevel) {
        let position = self.position(at);
        let extent = self.nest.plan.inputs[self.readers[at].argument].shape[level.dim].clone();
        if !self.ctx.is_always_inside(&self.readers[at].at[level.dim], &extent) {
            self.only_where_read(at);
        }
        let extent = self.ctx.size(&extent);
        let start = self.ctx.b.binary(BinOp::Mul, position, extent);
        self.readers[at].position = Some(self.ctx.b.binary(BinOp::Add, start, coordinate));
    }

    /// Takes a reader for one without an entry where a loop that it is read inside of, and that has not been opened yet, is empty.
    fn only_where_read(&mut self, at: usize) {
        let closed = |index: &u32| !self.ctx.index.contains_key(index);
        let closed: Vec<u32> = self.readers[at].inside.iter().copied().filter(closed).collect();
        for index in closed {
            let extent = self.nest.extents[index as usize].clone();
            let (zero, end) = (self.ctx.b.int(0), self.ctx.size(&extent));
            let some = self.ctx.b.compare(CmpOp::Lt, zero, end);
            let present = match self.readers[at].present {
                Some(present) => self.ctx.b.binary(BinOp::And, present, some),
                None => some,
            };
            self.readers[at].present = Some(present);
            self.readers[at].is_readable = false;
        }
    }

    /// The part of a reader's next list that a loop goes along: all of it, if the index is read as it is.
    pub fn walked(&mut self, at: usize) -> (Value, Value) {
        let (lo, hi) = self.fiber(at);
        let Some((offset, extent)) = self.readers[at].part(self.nest) else { return (lo, hi) };
        let (first, end) = (self.ctx.size(&offset), self.ctx.size(&(&offset + &extent)));
        let from = self.lower_bound(at, lo, hi, first);
        let to = self.lower_bound(at, lo, hi, end);
        (from, to)
    }

    /// The coordinate of an entry of a reader's next level as the loop's index.
    pub fn coordinate(&mut self, at: usize, entry: Value) -> Value {
        let own = self.own_coordinate(at, entry);
        let Some((offset, extent)) = self.readers[at].part(self.nest) else { return own };
        let (offset, last) = (self.ctx.size(&offset), self.ctx.size(&(&extent - 1)));
        let b = &mut self.ctx.b;
        let index = b.binary(BinOp::Sub, own, offset);
        // The list was cut to what the loop reads; this says so.
        let zero = b.int(0);
        let low = b.binary(BinOp::Min, index, last);
        b.binary(BinOp::Max, low, zero)
    }

    /// The ends of the list of a reader's next level: an empty one if it has no position.
    fn fiber(&mut self, at: usize) -> (Value, Value) {
        let position = self.position(at);
        let reader = &self.readers[at];
        let (next, argument, present) = (reader.next, reader.argument, reader.present);
        let arrays = self.arrays[argument].as_ref().expect("what readers read has been declared");
        let (positions, _) = arrays.lists[next].expect("a list has its arrays");
        let b = &mut self.ctx.b;
        let Some(present) = present else {
            let one = b.int(1);
            let after = b.binary(BinOp::Add, position, one);
            let (lo, hi) = (b.load(positions, position), b.load(positions, after));
            return (b.cast(lo, DType::I64), b.cast(hi, DType::I64));
        };
        let zero = b.int(0);
        let (low, high) = (b.declare(zero), b.declare(zero));
        b.open_condition();
        let one = b.int(1);
        let after = b.binary(BinOp::Add, position, one);
        let (lo, hi) = (b.load_here(positions, position), b.load_here(positions, after));
        let (lo, hi) = (b.cast(lo, DType::I64), b.cast(hi, DType::I64));
        b.set(low, lo);
        b.set(high, hi);
        let then = b.close_block();
        b.push_if(present, then, Vec::new());
        (b.get(low), b.get(high))
    }

    /// The coordinate of an entry of a reader's next level.
    fn own_coordinate(&mut self, at: usize, entry: Value) -> Value {
        let reader = &self.readers[at];
        let arrays = self.arrays[reader.argument].as_ref().expect("what readers read has been declared");
        let (_, coordinates) = arrays.lists[reader.next].expect("a list has its arrays");
        let loaded = self.ctx.b.load_here(coordinates, entry);
        self.ctx.b.cast(loaded, DType::I64)
    }

    /// Along a list to a coordinate that is known, by halves.
    fn search(&mut self, at: usize, coordinate: Value) {
        let (lo, hi) = self.fiber(at);
        let entry = self.lower_bound(at, lo, hi, coordinate);
        let b = &mut self.ctx.b;
        let no = b.constant(tj_tensor::Scalar::Bool(false));
        let found = b.declare(no);
        let inside = b.compare(CmpOp::Lt, entry, hi);
        b.open_condition();
        let there = self.own_coordinate(at, entry);
        let b = &mut self.ctx.b;
        let equal = b.compare(CmpOp::Eq, there, coordinate);
        b.set(found, equal);
        let then = b.close_block();
        b.push_if(inside, then, Vec::new());
        let found = b.get(found);
        // What is found is in the list; this says so.
        let found = b.binary(BinOp::And, found, inside);
        let reader = &mut self.readers[at];
        reader.position = Some(entry);
        reader.present = Some(found);
        reader.is_readable = false;
    }

    /// The first entry of a list that is not before a coordinate, or its end.
    fn lower_bound(&mut self, at: usize, lo: Value, hi: Value, coordinate: Value) -> Value {
        let b = &mut self.ctx.b;
        let found = b.declare(hi);
        let some = b.compare(CmpOp::Lt, lo, hi);
        b.open_condition();
        let one = b.int(1);
        let last = b.binary(BinOp::Sub, hi, one);
        let (low, high) = (b.declare(lo), b.declare(hi));
        b.open_condition();
        let (x, y) = (b.get(low), b.get(high));
        let more = b.compare(CmpOp::Lt, x, y);
        let head = b.close_block();
        b.open_condition();
        let sum = b.binary(BinOp::Add, x, y);
        let half = b.binary(BinOp::Sar, sum, one);
        // It is below the end already; this says so.
        let middle = b.binary(BinOp::Min, half, last);
        let there = self.own_coordinate(at, middle);
        let b = &mut self.ctx.b;
        let before = b.compare(CmpOp::Lt, there, coordinate);
        let after = b.binary(BinOp::Add, middle, one);
        let low_next = b.select(before, after, x);
        let high_next = b.select(before, y, middle);
        b.set(low, low_next);
        b.set(high, high_next);
        let body = b.close_block();
        b.push_while(head, more, body);
        let first = b.get(low);
        b.set(found, first);
        let then = b.close_block();
        b.push_if(some, then, Vec::new());
        b.get(found)
    }
}
