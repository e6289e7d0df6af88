//! Loops over an index: what they walk, and how.

use tj_ir::ExprId;
use tj_plan::sparse::space::Tree;
use tj_tensor::Scalar;

use super::Walk;
use crate::ir::{BinOp, CmpOp, LoopKind, UnOp, Value, Var};

/// A list that a loop goes along.
pub(super) struct Cursor {
    pub reader: usize,
    pub id: ExprId,
    pub at: Var,
    pub end: Value,
}

/// What a loop visits of the task range.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    /// All.
    Whole,
    /// The part of the task: of its coordinates, or of the entries of the one list.
    Task,
    /// A part of that.
    Part(Value, Value),
}

impl Walk<'_> {
    /// Runs `body` wherever `tree` may be, along one index.
    pub fn walk(&mut self, index: u32, tree: &Tree, range: Range, body: &mut dyn FnMut(&mut Self)) {
        // Only the loops that count end early; what they and all others hold does not.
        let stop = self.stop.take();
        let walkers: Vec<usize> =
            (0..self.readers.len()).filter(|&at| self.readers[at].walks(index)).collect();
        let ids: Vec<ExprId> = walkers.iter().map(|&at| self.readers[at].id).collect();
        let tree = tree.at(&|id| ids.contains(&id));
        let outside = self.readers.clone();
        let spread = self.spread_before(index);
        match &tree {
            Tree::All if walkers.is_empty() => {
                self.stop = stop;
                self.everywhere(index, range, LoopKind::Serial, body);
            }
            Tree::Leaf(_) if walkers.len() == 1 => {
                self.stop = stop;
                self.entries(index, walkers[0], range, body);
            }
            Tree::Or(trees) if trees.is_empty() => {}
            Tree::All => self.followed(index, &walkers, body),
            Tree::Leaf(_) | Tree::And(_) | Tree::Or(_) => self.merged(index, &walkers, &tree, body),
        }
        self.readers = outside;
        for (reader, cells) in spread {
            self.gather(reader, cells);
        }
    }

    /// Whether a loop visits every coordinate and follows no list.
    pub fn is_plain(&self, index: u32, tree: &Tree) -> bool {
        let walks = |id: ExprId| self.readers.iter().any(|reader| reader.id == id && reader.walks(index));
        tree.at(&walks) == Tree::All && !self.readers.iter().any(|reader| reader.walks(index))
    }

    /// Binds an index inside of its loop, and runs what is there.
    pub fn at_coordinate(&mut self, index: u32, coordinate: Value, body: &mut dyn FnMut(&mut Self)) {
        let before = self.ctx.index.insert(index, coordinate);
        let known = std::mem::take(&mut self.known);
        self.locate();
        body(self);
        self.known = known;
        match before {
            Some(value) => self.ctx.index.insert(index, value),
            None => self.ctx.index.remove(&index),
        };
    }

    /// Every coordinate.
    pub fn everywhere(&mut self, index: u32, range: Range, kind: LoopKind, body: &mut dyn FnMut(&mut Self)) {
        let (lo, hi) = match range {
            Range::Task => self.ctx.b.task(),
            Range::Part(lo, hi) => (lo, hi),
            Range::Whole => {
                let extent = self.nest.extents[index as usize].clone();
                (self.ctx.b.int(0), self.ctx.size(&extent))
            }
        };
        let outside = self.readers.clone();
        self.counted(kind, lo, hi, &mut |walk, var| walk.at_coordinate(index, var, body));
        self.readers = outside;
    }

    /// Every entry of one list.
    fn entries(&mut self, index: u32, reader: usize, range: Range, body: &mut dyn FnMut(&mut Self)) {
        if self.readers[reader].part(self.nest).is_none() {
            return self.all_entries(index, reader, range, body);
        }
        // Of a list there may be entries where of a slice there is no coordinate.
        let extent = self.nest.extents[index as usize].clone();
        let (zero, end) = (self.ctx.b.int(0), self.ctx.size(&extent));
        let some = self.ctx.b.compare(CmpOp::Lt, zero, end);
        self.ctx.b.open_condition();
        self.all_entries(index, reader, range, body);
        let then = self.ctx.b.close_block();
        self.ctx.b.push_if(some, then, Vec::new());
    }

    fn all_entries(&mut self, index: u32, reader: usize, range: Range, body: &mut dyn FnMut(&mut Self)) {
        let (lo, hi) = match range {
            Range::Task => self.ctx.b.task(),
            Range::Part(lo, hi) => (lo, hi),
            Range::Whole => self.walked(reader),
        };
        self.counted(LoopKind::Serial, lo, hi, &mut |walk, entry| {
            if range != Range::Whole {
                walk.task = Some(entry);
            }
            let coordinate = walk.coordinate(reader, entry);
            walk.enter(reader, entry, None);
            walk.at_coordinate(index, coordinate, body);
        });
    }

    /// A loop over whole numbers; one that ends early if nothing that is left can change the total.
    fn counted(&mut self, kind: LoopKind, lo: Value, hi: Value, body: &mut dyn FnMut(&mut Self, Value)) {
        let Some((total, last)) = self.stop.take() else {
            let var = self.ctx.b.open_loop();
            body(self, var);
            return self.ctx.b.close_loop(kind, var, lo, hi);
        };
        let b = &mut self.ctx.b;
        let at = b.declare(lo);
        b.open_condition();
        let var = b.get(at);
        let inside = b.compare(CmpOp::Lt, var, hi);
        let total = b.get(total);
        let open = if last { b.unary(UnOp::Not, total) } else { total };
        let more = b.binary(BinOp::And, inside, open);
        let head = b.close_block();
        b.open_condition();
        body(self, var);
        let b = &mut self.ctx.b;
        let one = b.int(1);
        let next = b.binary(BinOp::Add, var, one);
        b.set(at, next);
        let round = b.close_block();
        b.push_while(head, more, round);
    }

    /// Moves a reader to an entry of its list.
    pub fn enter(&mut self, reader: usize, entry: Value, present: Option<Value>) {
        let reader = &mut self.readers[reader];
        reader.position = Some(entry);
        reader.present = present;
        reader.is_readable = false;
        reader.next += 1;
    }

    pub fn cursors(&mut self, walkers: &[usize]) -> Vec<Cursor> {
        let mut cursors = Vec::new();
        for &reader in walkers {
            let (lo, end) = self.walked(reader);
            let id = self.readers[reader].id;
            cursors.push(Cursor { reader, id, at: self.ctx.b.declare(lo), end });
        }
        cursors
    }

    /// Every coordinate, along lists that are not walked.
    fn followed(&mut self, index: u32, walkers: &[usize], body: &mut dyn FnMut(&mut Self)) {
        let cursors = self.cursors(walkers);
        let extent = self.nest.extents[index as usize].clone();
        let (lo, hi) = (self.ctx.b.int(0), self.ctx.size(&extent));
        let var = self.ctx.b.open_loop();
        let mut hits = Vec::new();
        for cursor in &cursors {
            let (entry, inside, hit) = self.hit(cursor, var);
            hits.push((entry, inside, hit));
        }
        for (cursor, &(entry, _, hit)) in cursors.iter().zip(&hits) {
            self.enter(cursor.reader, entry, Some(hit));
        }
        self.at_coordinate(index, var, body);
        let b = &mut self.ctx.b;
        for (cursor, (entry, inside, hit)) in cursors.iter().zip(hits) {
            b.open_condition();
            let step = b.cast(hit, tj_tensor::DType::I64);
            let next = b.binary(BinOp::Add, entry, step);
            b.set(cursor.at, next);
            let then = b.close_block();
            b.push_if(inside, then, Vec::new());
        }
        b.close_loop(LoopKind::Serial, var, lo, hi);
    }

    /// Where a cursor is, whether that is an entry, and whether the entry is at a coordinate.
    fn hit(&mut self, cursor: &Cursor, coordinate: Value) -> (Value, Value, Value) {
        let b = &mut self.ctx.b;
        let entry = b.get(cursor.at);
        let inside = b.compare(CmpOp::Lt, entry, cursor.end);
        let no = b.constant(Scalar::Bool(false));
        let hit = b.declare(no);
        b.open_condition();
        let there = self.coordinate(cursor.reader, entry);
        let b = &mut self.ctx.b;
        let equal = b.compare(CmpOp::Eq, there, coordinate);
        b.set(hit, equal);
        let then = b.close_block();
        b.push_if(inside, then, Vec::new());
        let hit = b.get(hit);
        (entry, inside, b.binary(BinOp::And, hit, inside))
    }
}
