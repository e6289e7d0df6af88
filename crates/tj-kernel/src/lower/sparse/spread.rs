//! Lists that are spread over memory before a loop in which others are met with them.
//!
//! In `sum(j: a[i, j] * b[j, k])` the list of row `i` of `a` is met with another list of `b` for every `k`. To merge them each
//! time would go through the row of `a` again and again. Instead its values are spread over a row of memory, one cell for each
//! `j`, before the loop over `k`, and taken away after it: then only the lists of `b` are gone along, and what `a` has there is
//! looked up. Places that `a` does not have are visited with its fill, which changes nothing.

use tj_ir::{Dim, Expr, ExprId};
use tj_plan::sparse::space::Tree;
use tj_plan::sparse::{Argument, followed};

use super::readers::Reader;
use super::{Walk, inners};
use crate::ir::{Buf, LoopKind, Value};

impl Walk<'_> {
    /// Memory for every reader that may be spread before some loop, filled with fills. It is emptied after each use.
    pub fn declare_cells(&mut self) {
        let is_small = |argument: &Argument| match argument {
            Argument::Stored(operand) => !operand.is_hypersparse,
            Argument::Dense(_) => true,
        };
        if !self.nest.arguments.iter().all(is_small) {
            return;
        }
        for at in 0..self.readers.len() {
            let Some((index, _)) = self.last_list(&self.readers[at]) else { continue };
            let own = self.readers[at].id;
            let is_met = (0..self.readers.len()).any(|other| other != at && self.meets(other, at, index));
            if !is_met || !self.is_needed_without(own, index) {
                continue;
            }
            let operand = self.operand(self.readers[at].argument);
            let (fill, extent) = (operand.fill, self.nest.extents[index as usize].clone());
            let cells = self.ctx.scratch("spread".to_string(), fill.dtype(), extent.clone());
            let (zero, end) = (self.ctx.b.int(0), self.ctx.size(&extent));
            let value = self.ctx.b.constant(fill);
            self.set_all(cells, value, zero, end);
            self.cells.insert(own, cells);
        }
    }

    /// Spreads what the loop of an index, which is about to be opened, meets again and again.
    pub fn spread_before(&mut self, index: u32) -> Vec<(usize, Buf)> {
        let mut spread = Vec::new();
        for at in 0..self.readers.len() {
            let reader = &self.readers[at];
            let Some(&cells) = self.cells.get(&reader.id) else { continue };
            let Some((own, _)) = self.last_list(reader) else { continue };
            let is_ready = reader.spread.is_none() && reader.next + 1 == reader.levels.len() && own != index;
            let meets = |other: usize| {
                other != at && self.readers[other].speaks_of(index) && self.meets(other, at, own)
            };
            if is_ready && !self.ctx.index.contains_key(&own) && (0..self.readers.len()).any(meets) {
                spread.push((at, cells));
            }
        }
        for &(at, cells) in &spread {
            self.scatter(at, cells);
            self.readers[at].spread = Some(cells);
        }
        spread
    }

    /// The index of the loop along a reader's last level, if that is a list and all of it is gone along.
    fn last_list(&self, reader: &Reader) -> Option<(u32, usize)> {
        let (last, level) = reader.levels.iter().enumerate().next_back()?;
        let (index, offset) = followed(&reader.at[level.dim])?;
        let extent = &self.nest.extents[index as usize];
        let is_whole =
            offset == Dim::ZERO && &self.nest.plan.inputs[reader.argument].shape[level.dim] == extent;
        // An index that is read twice is looked up.
        let is_once =
            reader.at.iter().filter(|dim| dim.symbols().any(|s| s.as_index() == Some(index))).count() == 1;
        (level.list.is_some() && is_whole && is_once).then_some((index, last))
    }

    /// Whether a reader comes to a list along an index later than another one whose last list it is: by a loop that the other
    /// does not depend on.
    fn meets(&self, later: usize, reader: usize, index: u32) -> bool {
        let (later, reader) = (&self.readers[later], &self.readers[reader]);
        let Some(list) = later.levels.iter().position(|level| later.lists(level, index)) else {
            return false;
        };
        let before = &later.levels[..list];
        before.iter().any(|level| {
            let dim = &later.at[level.dim];
            dim.symbols().any(|s| s.as_index().is_some_and(|own| !reader.speaks_of(own)))
        })
    }

    /// Whether the loop along an index still goes along lists alone if one reader is looked up.
    fn is_needed_without(&self, reader: ExprId, index: u32) -> bool {
        let lists = |id: ExprId| {
            let own = self.readers.iter().find(|own| own.id == id);
            id != reader && own.is_some_and(|own| own.levels.iter().any(|level| own.lists(level, index)))
        };
        let arena = &self.nest.plan.arena;
        let nested = arena.reachable(&inners(self.nest)).into_iter().filter_map(|node| {
            let Expr::Reduce { index: own, body, .. } = self.node(node) else { return None };
            let reads = || arena.reachable(&[*body]).contains(&reader);
            (own.as_index() == Some(index) && reads()).then_some(*body)
        });
        let mut loops: Vec<ExprId> = nested.collect();
        if loops.is_empty() {
            loops.extend(inners(self.nest));
        }
        loops.into_iter().all(|body| {
            let tree = &self.spaces[&body].tree;
            tree.implies(reader) && tree.at(&lists) != Tree::All
        })
    }

    /// Writes the values of a reader's list to their cells.
    fn scatter(&mut self, at: usize, cells: Buf) {
        self.each_entry(at, &mut |walk, entry, coordinate| {
            let argument = walk.readers[at].argument;
            let values = walk.arrays[argument].as_ref().expect("what readers read has been declared").values;
            let value = walk.ctx.b.load_here(values, entry);
            walk.ctx.b.store(cells, coordinate, value);
        });
    }

    /// Writes the fill to those cells.
    pub fn gather(&mut self, at: usize, cells: Buf) {
        let fill = self.operand(self.readers[at].argument).fill;
        let fill = self.ctx.b.constant(fill);
        self.each_entry(at, &mut |walk, _, coordinate| walk.ctx.b.store(cells, coordinate, fill));
    }

    fn each_entry(&mut self, at: usize, body: &mut dyn FnMut(&mut Self, Value, Value)) {
        let (lo, hi) = self.walked(at);
        let entry = self.ctx.b.open_loop();
        let coordinate = self.coordinate(at, entry);
        body(self, entry, coordinate);
        self.ctx.b.close_loop(LoopKind::Serial, entry, lo, hi);
    }
}
