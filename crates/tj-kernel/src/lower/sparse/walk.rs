//! Loops over an index: what they walk, and how.

use tj_ir::ExprId;
use tj_plan::sparse::space::Tree;
use tj_tensor::Scalar;

use super::Walk;
use crate::ir::{BinOp, CmpOp, LoopKind, UnOp, Value, Var};

/// A list that a loop goes along.
struct Cursor {
    reader: usize,
    id: ExprId,
    at: Var,
    end: Value,
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
        let walkers: Vec<usize> =
            (0..self.readers.len()).filter(|&at| self.readers[at].walks(index)).collect();
        let ids: Vec<ExprId> = walkers.iter().map(|&at| self.readers[at].id).collect();
        let tree = tree.at(&|id| ids.contains(&id));
        let outside = self.readers.clone();
        match &tree {
            Tree::All if walkers.is_empty() => self.everywhere(index, range, LoopKind::Serial, body),
            Tree::Leaf(_) if walkers.len() == 1 => self.entries(index, walkers[0], range, body),
            Tree::Or(trees) if trees.is_empty() => {}
            Tree::All => self.followed(index, &walkers, body),
            Tree::Leaf(_) | Tree::And(_) | Tree::Or(_) => self.merged(index, &walkers, &tree, body),
        }
        self.readers = outside;
    }

    /// Whether a loop visits every coordinate and follows no list.
    pub fn is_plain(&self, index: u32, tree: &Tree) -> bool {
        let walks = |id: ExprId| self.readers.iter().any(|reader| reader.id == id && reader.walks(index));
        tree.at(&walks) == Tree::All && !self.readers.iter().any(|reader| reader.walks(index))
    }

    /// Binds an index inside of its loop, and runs what is there.
    fn at_coordinate(&mut self, index: u32, coordinate: Value, body: &mut dyn FnMut(&mut Self)) {
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
        let var = self.ctx.b.open_loop();
        let outside = self.readers.clone();
        self.at_coordinate(index, var, body);
        self.readers = outside;
        self.ctx.b.close_loop(kind, var, lo, hi);
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
        let entry = self.ctx.b.open_loop();
        if range != Range::Whole {
            self.task = Some(entry);
        }
        let coordinate = self.coordinate(reader, entry);
        self.enter(reader, entry, None);
        self.at_coordinate(index, coordinate, body);
        self.ctx.b.close_loop(LoopKind::Serial, entry, lo, hi);
    }

    /// Moves a reader to an entry of its list.
    fn enter(&mut self, reader: usize, entry: Value, present: Option<Value>) {
        let reader = &mut self.readers[reader];
        reader.position = Some(entry);
        reader.present = present;
        reader.next += 1;
    }

    fn cursors(&mut self, walkers: &[usize]) -> Vec<Cursor> {
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

    /// Several lists: each round takes a coordinate that no result can be before, and moves what is behind it.
    fn merged(&mut self, index: u32, walkers: &[usize], tree: &Tree, body: &mut dyn FnMut(&mut Self)) {
        let extent = self.nest.extents[index as usize].clone();
        let end = self.ctx.size(&extent);
        let zero = self.ctx.b.int(0);
        let some = self.ctx.b.compare(CmpOp::Lt, zero, end);
        self.ctx.b.open_condition();
        let cursors = self.cursors(walkers);
        let leaves = tree.leaves();
        let (walked, followed): (Vec<Cursor>, Vec<Cursor>) =
            cursors.into_iter().partition(|cursor| leaves.contains(&cursor.id));

        self.ctx.b.open_condition();
        let mut alive = Vec::new();
        for cursor in &walked {
            let entry = self.ctx.b.get(cursor.at);
            alive.push((cursor.id, entry, self.ctx.b.compare(CmpOp::Lt, entry, cursor.end)));
        }
        let is_alive = |id: ExprId| alive.iter().find(|(own, ..)| *own == id).map(|&(_, _, alive)| alive);
        let go_on = self.any_or_all(tree, &|id| is_alive(id));
        let head = self.ctx.b.close_block();

        self.ctx.b.open_condition();
        let mut there: Vec<(ExprId, Value)> = Vec::new();
        for (cursor, &(id, entry, alive)) in walked.iter().zip(&alive) {
            // Where all must be there, the condition of the loop says that they are.
            if is_needed(tree, id) {
                there.push((id, self.coordinate(cursor.reader, entry)));
                continue;
            }
            let var = self.ctx.b.declare(end);
            self.ctx.b.open_condition();
            let coordinate = self.coordinate(cursor.reader, entry);
            self.ctx.b.set(var, coordinate);
            let then = self.ctx.b.close_block();
            self.ctx.b.push_if(alive, then, Vec::new());
            there.push((id, self.ctx.b.get(var)));
        }
        let at = |id: ExprId| there.iter().find(|(own, _)| *own == id).map(|&(_, value)| value);
        let bound = self.least(tree, &|id| at(id));
        // Something is there, so that this changes nothing; it says that the coordinate is one.
        let one = self.ctx.b.int(1);
        let last = self.ctx.b.binary(BinOp::Sub, end, one);
        let coordinate = self.ctx.b.binary(BinOp::Min, bound, last);
        let mut equal: Vec<(ExprId, Value)> = Vec::new();
        for &(id, value) in &there {
            equal.push((id, self.ctx.b.compare(CmpOp::Eq, value, bound)));
        }
        let is_equal = |id: ExprId| equal.iter().find(|(own, _)| *own == id).map(|&(_, value)| value);
        let is_or = matches!(tree, Tree::Or(trees) if trees.iter().all(|t| matches!(t, Tree::Leaf(_))));
        // What is behind may have an entry there, too, so that nothing is visited before it has moved.
        let mut behind = Vec::new();
        for &(_, value) in &there {
            behind.push(self.ctx.b.compare(CmpOp::Lt, value, bound));
        }
        let b = &mut self.ctx.b;
        let waits = match is_or {
            false => behind.iter().copied().reduce(|x, y| b.binary(BinOp::Or, x, y)),
            true => None,
        };
        let member = waits.map(|waits| {
            let all = self.any_or_all(tree, &|id| is_equal(id));
            let ready = self.ctx.b.unary(UnOp::Not, waits);
            self.ctx.b.binary(BinOp::And, all, ready)
        });

        self.ctx.b.open_condition();
        for (cursor, &(id, entry, alive)) in walked.iter().zip(&alive) {
            // Where the loop would end without the entry, there is one at every coordinate that is visited.
            let present = match (is_needed(tree, id), is_equal(id)) {
                (false, Some(equal)) => Some(self.ctx.b.binary(BinOp::And, equal, alive)),
                (_, _) => None,
            };
            self.enter(cursor.reader, entry, present);
        }
        for cursor in &followed {
            self.catch_up(cursor, coordinate);
            let (entry, _, hit) = self.hit(cursor, coordinate);
            self.enter(cursor.reader, entry, Some(hit));
        }
        self.at_coordinate(index, coordinate, body);
        let then = self.ctx.b.close_block();
        match member {
            Some(member) => self.ctx.b.push_if(member, then, Vec::new()),
            None => self.ctx.b.push_block(then),
        }

        let b = &mut self.ctx.b;
        for (at, cursor) in walked.iter().enumerate() {
            let (_, entry, alive) = alive[at];
            // What is behind moves; so does what is here, once this has been visited.
            let moves = match member {
                Some(member) => {
                    let visited = b.binary(BinOp::And, equal[at].1, member);
                    b.binary(BinOp::Or, behind[at], visited)
                }
                None => equal[at].1,
            };
            b.open_condition();
            let step = b.cast(moves, tj_tensor::DType::I64);
            let next = b.binary(BinOp::Add, entry, step);
            b.set(cursor.at, next);
            let then = b.close_block();
            match is_needed(tree, cursor.id) {
                true => b.push_block(then),
                false => b.push_if(alive, then, Vec::new()),
            }
        }
        let round = b.close_block();
        b.push_while(head, go_on, round);
        let then = self.ctx.b.close_block();
        self.ctx.b.push_if(some, then, Vec::new());
    }

    /// Moves a cursor that is not walked up to a coordinate.
    fn catch_up(&mut self, cursor: &Cursor, coordinate: Value) {
        let b = &mut self.ctx.b;
        b.open_condition();
        let no = b.constant(Scalar::Bool(false));
        let less = b.declare(no);
        let entry = b.get(cursor.at);
        let inside = b.compare(CmpOp::Lt, entry, cursor.end);
        b.open_condition();
        let there = self.coordinate(cursor.reader, entry);
        let b = &mut self.ctx.b;
        let before = b.compare(CmpOp::Lt, there, coordinate);
        let step = b.cast(before, tj_tensor::DType::I64);
        let next = b.binary(BinOp::Add, entry, step);
        b.set(cursor.at, next);
        b.set(less, before);
        let then = b.close_block();
        b.push_if(inside, then, Vec::new());
        let more = b.get(less);
        let head = b.close_block();
        b.push_while(head, more, Vec::new());
    }

    /// Whether a tree holds, given whether its leaves do.
    fn any_or_all(&mut self, tree: &Tree, leaf: &dyn Fn(ExprId) -> Option<Value>) -> Value {
        let (op, trees) = match tree {
            Tree::All => return self.ctx.b.constant(Scalar::Bool(true)),
            Tree::Leaf(id) => return leaf(*id).expect("a leaf of the tree of a loop is walked"),
            Tree::And(trees) => (BinOp::And, trees),
            Tree::Or(trees) => (BinOp::Or, trees),
        };
        self.combine(op, trees, &mut |walk, tree| walk.any_or_all(tree, leaf))
    }

    /// A coordinate that no position of a tree is before, given the coordinates of its leaves.
    fn least(&mut self, tree: &Tree, leaf: &dyn Fn(ExprId) -> Option<Value>) -> Value {
        let (op, trees) = match tree {
            Tree::All => return self.ctx.b.int(0),
            Tree::Leaf(id) => return leaf(*id).expect("a leaf of the tree of a loop is walked"),
            Tree::And(trees) => (BinOp::Max, trees),
            Tree::Or(trees) => (BinOp::Min, trees),
        };
        self.combine(op, trees, &mut |walk, tree| walk.least(tree, leaf))
    }

    /// Recursion over a tree, which is as deep as operators alternate in one expression of bounded size.
    fn combine(&mut self, op: BinOp, trees: &[Tree], of: &mut dyn FnMut(&mut Self, &Tree) -> Value) -> Value {
        let mut values = Vec::new();
        for tree in trees {
            values.push(of(self, tree));
        }
        let both = |x, y| self.ctx.b.binary(op, x, y);
        values.into_iter().reduce(both).expect("a tree that is walked has leaves")
    }
}

/// Whether a loop ends as soon as this leaf does.
fn is_needed(tree: &Tree, leaf: ExprId) -> bool {
    match tree {
        Tree::All | Tree::Or(_) => false,
        Tree::Leaf(id) => *id == leaf,
        Tree::And(trees) => trees.iter().any(|tree| is_needed(tree, leaf)),
    }
}
