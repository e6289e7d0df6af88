//! Loops along several lists at once.
//!
//! Each round takes a coordinate that no result can be before, visits it if the tree holds there, and moves what is behind.
//! Nothing in a round jumps by what the lists hold, since that cannot be predicted. While no list has ended, positions and
//! coordinates need no questions either: an innermost loop goes that way first, and a second one, which asks, takes what is
//! left. A tree that needs one list and some of others goes along the one, and the others catch up.

use tj_ir::Expr;
use tj_ir::ExprId;
use tj_plan::sparse::space::Tree;
use tj_tensor::{DType, Scalar};

use super::walk::Cursor;
use super::{Walk, inners};
use crate::ir::{BinOp, CmpOp, LoopKind, UnOp, Value, Var};

/// A list that is brought to coordinates which others give.
struct Follower {
    cursor: Cursor,
    /// The coordinate where it is, or the end of the index where the list has ended.
    there: Var,
}

/// What a loop along several lists is made of.
struct Merge<'t> {
    index: u32,
    tree: &'t Tree,
    /// The lists of the tree.
    walked: Vec<Cursor>,
    /// All others.
    followers: Vec<Follower>,
    /// The end of the index.
    end: Value,
}

/// Whether lists may have ended in a round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The loop stops before.
    None,
    /// Some may.
    Some,
}

impl Walk<'_> {
    /// Several lists, where their coordinates make a tree hold.
    pub fn merged(&mut self, index: u32, walkers: &[usize], tree: &Tree, body: &mut dyn FnMut(&mut Self)) {
        let extent = self.nest.extents[index as usize].clone();
        let end = self.ctx.size(&extent);
        let zero = self.ctx.b.int(0);
        let some = self.ctx.b.compare(CmpOp::Lt, zero, end);
        self.ctx.b.open_condition();
        let cursors = self.cursors(walkers);
        match leader(tree) {
            Some((leader, rest)) => self.led(index, cursors, leader, &rest, end, body),
            None => {
                let leaves = tree.leaves();
                let (walked, others): (Vec<Cursor>, Vec<Cursor>) =
                    cursors.into_iter().partition(|cursor| leaves.contains(&cursor.id));
                let followers = others.into_iter().map(|cursor| self.follower(cursor, end)).collect();
                let merge = Merge { index, tree, walked, followers, end };
                let outside = self.readers.clone();
                let stops_at_once = merge.walked.iter().all(|cursor| is_needed(tree, cursor.id));
                if !stops_at_once && self.is_innermost(index) {
                    self.rounds(&merge, Ends::None, body);
                    self.readers = outside;
                }
                self.rounds(&merge, Ends::Some, body);
            }
        }
        let then = self.ctx.b.close_block();
        self.ctx.b.push_if(some, then, Vec::new());
    }

    /// Whether no other loop is left to open, so that what runs inside is short.
    fn is_innermost(&self, index: u32) -> bool {
        let all = 0..self.nest.extents.len() as u32;
        let loops = all.filter(|other| *other != index && !self.ctx.index.contains_key(other));
        let nested = |other: u32| {
            self.nest.plan.arena.reachable(&inners(self.nest)).into_iter().any(|node| {
                matches!(self.node(node), Expr::Reduce { index, .. } if index.as_index() == Some(other))
            })
        };
        loops.into_iter().all(|other| !self.nest.loops.contains(&other) && !nested(other))
    }

    /// A loop over the entries of one list, visited where the rest of the tree holds.
    fn led(
        &mut self,
        index: u32,
        cursors: Vec<Cursor>,
        leader: ExprId,
        rest: &Tree,
        end: Value,
        body: &mut dyn FnMut(&mut Self),
    ) {
        let mut first = None;
        let mut followers = Vec::new();
        for cursor in cursors {
            if cursor.id == leader {
                first = Some(cursor);
            } else {
                followers.push(self.follower(cursor, end));
            }
        }
        let first = first.expect("the leaf of a tree is one of its cursors");
        let lo = self.ctx.b.get(first.at);
        let entry = self.ctx.b.open_loop();
        let coordinate = self.coordinate(first.reader, entry);
        let mut hits: Vec<(ExprId, Value, Value)> = Vec::new();
        for follower in &followers {
            self.catch_up(follower, coordinate, end);
            let (at, hit) = self.hit_of(follower, coordinate);
            hits.push((follower.cursor.id, at, hit));
        }
        let hit = |id: ExprId| hits.iter().find(|(own, ..)| *own == id).map(|&(_, _, hit)| hit);
        let member = (*rest != Tree::All).then(|| self.any_or_all(rest, &|id| hit(id)));
        self.ctx.b.open_condition();
        self.enter(first.reader, entry, None);
        for (follower, &(id, at, hit)) in followers.iter().zip(&hits) {
            // What the rest needs is there where it holds.
            let present = (!is_needed(rest, id)).then_some(hit);
            self.enter(follower.cursor.reader, at, present);
        }
        self.at_coordinate(index, coordinate, body);
        let then = self.ctx.b.close_block();
        match member {
            Some(member) => self.ctx.b.push_if(member, then, Vec::new()),
            None => self.ctx.b.push_block(then),
        }
        self.ctx.b.close_loop(LoopKind::Serial, entry, lo, first.end);
    }

    /// Rounds until a list that is needed has ended, or any list.
    fn rounds(&mut self, merge: &Merge<'_>, ends: Ends, body: &mut dyn FnMut(&mut Self)) {
        let &Merge { index, tree, ref walked, ref followers, end } = merge;
        self.ctx.b.open_condition();
        let mut alive = Vec::new();
        for cursor in walked {
            let entry = self.ctx.b.get(cursor.at);
            alive.push((cursor.id, entry, self.ctx.b.compare(CmpOp::Lt, entry, cursor.end)));
        }
        let is_alive = |id: ExprId| alive.iter().find(|(own, ..)| *own == id).map(|&(_, _, alive)| alive);
        let go_on = match ends {
            Ends::Some => self.any_or_all(tree, &|id| is_alive(id)),
            Ends::None => {
                let all = alive.iter().map(|&(_, _, alive)| alive);
                let both = |x, y| self.ctx.b.binary(BinOp::And, x, y);
                all.reduce(both).expect("a tree that is walked has leaves")
            }
        };
        let head = self.ctx.b.close_block();
        // Where the condition of the loop says so, a list has not ended.
        let certain = |id: ExprId| ends == Ends::None || is_needed(tree, id);

        self.ctx.b.open_condition();
        let mut there: Vec<(ExprId, Value)> = Vec::new();
        for (cursor, &(id, entry, alive)) in walked.iter().zip(&alive) {
            if certain(id) {
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
                (false, Some(equal)) if ends == Ends::None => Some(equal),
                (false, Some(equal)) => Some(self.ctx.b.binary(BinOp::And, equal, alive)),
                (_, _) => None,
            };
            self.enter(cursor.reader, entry, present);
            self.readers[cursor.reader].is_readable = ends == Ends::None;
        }
        for follower in followers {
            self.catch_up(follower, coordinate, end);
            let (entry, hit) = self.hit_of(follower, coordinate);
            self.enter(follower.cursor.reader, entry, Some(hit));
        }
        self.at_coordinate(index, coordinate, body);
        let then = self.ctx.b.close_block();
        match member {
            Some(member) => self.ctx.b.push_if(member, then, Vec::new()),
            None => self.ctx.b.push_block(then),
        }

        let b = &mut self.ctx.b;
        for (at, cursor) in walked.iter().enumerate() {
            let (id, entry, alive) = alive[at];
            // What is behind moves; so does what is here, once this has been visited.
            let moves = match member {
                Some(member) => {
                    let visited = b.binary(BinOp::And, equal[at].1, member);
                    b.binary(BinOp::Or, behind[at], visited)
                }
                None => equal[at].1,
            };
            b.open_condition();
            let step = b.cast(moves, DType::I64);
            let next = b.binary(BinOp::Add, entry, step);
            b.set(cursor.at, next);
            let then = b.close_block();
            match certain(id) {
                true => b.push_block(then),
                false => b.push_if(alive, then, Vec::new()),
            }
        }
        let round = b.close_block();
        b.push_while(head, go_on, round);
    }

    /// A list that others bring to their coordinates, at its first entry.
    fn follower(&mut self, cursor: Cursor, end: Value) -> Follower {
        let there = self.ctx.b.declare(end);
        let at = self.ctx.b.get(cursor.at);
        self.look(&cursor, at, there);
        Follower { cursor, there }
    }

    /// Keeps the coordinate of an entry, if it is one.
    fn look(&mut self, cursor: &Cursor, at: Value, there: Var) {
        let inside = self.ctx.b.compare(CmpOp::Lt, at, cursor.end);
        self.ctx.b.open_condition();
        let coordinate = self.coordinate(cursor.reader, at);
        self.ctx.b.set(there, coordinate);
        let then = self.ctx.b.close_block();
        self.ctx.b.push_if(inside, then, Vec::new());
    }

    /// Moves a follower until nothing of it is before a coordinate.
    fn catch_up(&mut self, follower: &Follower, coordinate: Value, end: Value) {
        let b = &mut self.ctx.b;
        b.open_condition();
        let there = b.get(follower.there);
        let before = b.compare(CmpOp::Lt, there, coordinate);
        let at = b.get(follower.cursor.at);
        // A coordinate is that of an entry; this says so.
        let inside = b.compare(CmpOp::Lt, at, follower.cursor.end);
        let before = b.binary(BinOp::And, before, inside);
        let head = b.close_block();
        b.open_condition();
        let one = b.int(1);
        let next = b.binary(BinOp::Add, at, one);
        b.set(follower.cursor.at, next);
        b.set(follower.there, end);
        self.look(&follower.cursor, next, follower.there);
        let step = self.ctx.b.close_block();
        self.ctx.b.push_while(head, before, step);
    }

    /// Where a follower is, and whether that is an entry at a coordinate.
    fn hit_of(&mut self, follower: &Follower, coordinate: Value) -> (Value, Value) {
        let b = &mut self.ctx.b;
        let (at, there) = (b.get(follower.cursor.at), b.get(follower.there));
        let equal = b.compare(CmpOp::Eq, there, coordinate);
        // A coordinate is that of an entry; this says so.
        let inside = b.compare(CmpOp::Lt, at, follower.cursor.end);
        (at, b.binary(BinOp::And, equal, inside))
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

/// Whether a loop ends as soon as this leaf does, as its condition says. More than [`Tree::implies`] it asks that no "or" stands
/// between, of which the verifier could not tell.
fn is_needed(tree: &Tree, leaf: ExprId) -> bool {
    match tree {
        Tree::All | Tree::Or(_) => false,
        Tree::Leaf(id) => *id == leaf,
        Tree::And(trees) => trees.iter().any(|tree| is_needed(tree, leaf)),
    }
}

/// The list that a tree needs, if there is one, and what else it needs. Where it needs several, none of them leads.
fn leader(tree: &Tree) -> Option<(ExprId, Tree)> {
    if let Tree::Leaf(id) = tree {
        return Some((*id, Tree::All));
    }
    let Tree::And(trees) = tree else { return None };
    let (leaves, rest): (Vec<&Tree>, Vec<&Tree>) =
        trees.iter().partition(|tree| matches!(tree, Tree::Leaf(_)));
    let ([Tree::Leaf(id)], [_, ..]) = (leaves.as_slice(), rest.as_slice()) else { return None };
    let rest: Vec<Tree> = rest.into_iter().cloned().collect();
    let rest = if let [only] = rest.as_slice() { only.clone() } else { Tree::And(rest) };
    // Where it leads it has an entry, wherever else the tree asks for it.
    Some((*id, rest.at(&|other| other != *id)))
}
