//! A partial placement, what follows from it, and what that rests on.
//!
//! Words. The *floor* of a section is an offset that no unplaced piece of the section will be below. The
//! *low* of a piece is the highest floor of its sections, aligned: it cannot be placed lower. A piece is a
//! *candidate* of a section if its low is the section's floor. The *reason* of a section is the set of levels
//! (decisions of the search) from which its floor and the set of pieces below it follow.
//!
//! Invariants, between calls:
//! - A piece is placed at its low, and only if all its sections have that floor, so that no piece still to
//!   come could have gone below it. A floor thus rises over a placed piece, without waste, or over bytes given
//!   up, because nothing can or shall be there.
//! - Every section with pieces left has a candidate: where the last one vanishes, the floor is raised to the
//!   lowest low. What then does not fit is a conflict, whose reason is left in `conflict`.
//!
//! Cost: a placement touches the lifetimes of the pieces it meets, in loops that vectorise.

use std::ops::RangeInclusive;

use super::puzzle::{Piece, Puzzle};
use super::reasons::{self, Reasons};

/// The low of a placed piece: above every floor, so that it is never a candidate.
pub(super) const PLACED: u32 = u32::MAX;

/// There is a conflict; its reason is in [`State::conflict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict;

#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) puzzle: &'a Puzzle,
    /// The height of the arena.
    pub(super) capacity: u32,
    /// The highest offset of each piece.
    ceilings: Vec<u32>,
    pub(super) floor: Vec<u32>,
    /// Units of unplaced pieces in each section.
    pub(super) rest: Vec<u32>,
    /// Candidates of each section.
    pub(super) candidates: Vec<u32>,
    /// Unplaced pieces in both this section and the one before it.
    pub(super) crossing: Vec<u32>,
    pub(super) low: Vec<u32>,
    /// A section that explains the low of each piece.
    pub(super) cause: Vec<u32>,
    pub(super) offsets: Vec<u32>,
    pub(super) unplaced: usize,
    /// The reason of each section.
    pub(super) reasons: Reasons,
    /// The reason of the last conflict.
    pub(super) conflict: Vec<u64>,
    trail: Vec<Change>,
    /// Candidate counts and reasons that changes on the trail replaced.
    old_candidates: Vec<u32>,
    old_reasons: Vec<u64>,
    /// Marks sections whose reason was joined already, by the number of the join.
    joined: Vec<u32>,
    joins: u32,
}

/// What to put back, newest first.
#[derive(Clone, Copy, Debug)]
enum Change {
    Low { piece: u32, low: u32, cause: u32 },
    Place { piece: u32, low: u32, level: u32 },
    Raise { section: u32, floor: u32, candidates: u32 },
}

impl<'a> State<'a> {
    /// `None` if a piece is larger than the arena.
    pub(super) fn new(puzzle: &'a Puzzle, capacity: u64, levels: usize) -> Option<Self> {
        let (pieces, sections) = (puzzle.pieces.len(), puzzle.sections);
        let (capacity, ceilings) = puzzle.arena(capacity)?;
        Some(Self {
            puzzle,
            capacity,
            ceilings,
            floor: vec![0; sections],
            rest: vec![0; sections],
            candidates: vec![0; sections],
            crossing: vec![0; sections],
            low: vec![0; pieces],
            cause: vec![0; pieces],
            offsets: vec![0; pieces],
            unplaced: 0,
            reasons: Reasons::new(sections, levels),
            conflict: vec![0; levels.div_ceil(64)],
            trail: Vec::new(),
            old_candidates: Vec::new(),
            old_reasons: Vec::new(),
            joined: vec![0; sections],
            joins: 0,
        })
    }

    /// Back to nothing placed. A conflict here has no reason: nothing will ever fit.
    pub(super) fn reset(&mut self) -> Result<(), Conflict> {
        self.floor.fill(0);
        self.rest.fill(0);
        self.candidates.fill(0);
        self.crossing.fill(0);
        self.low.fill(0);
        self.cause.fill(0);
        self.unplaced = self.puzzle.pieces.len();
        self.reasons.clear();
        self.conflict.fill(0);
        self.trail.clear();
        self.old_candidates.clear();
        self.old_reasons.clear();
        for piece in &self.puzzle.pieces {
            for section in piece.sections() {
                self.rest[section] += piece.size;
                self.candidates[section] += 1;
            }
            self.crossing[piece.first as usize + 1..=piece.last as usize].iter_mut().for_each(|n| *n += 1);
        }
        let full = self.rest.iter().any(|&rest| rest > self.capacity);
        if full { Err(Conflict) } else { Ok(()) }
    }

    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Places `piece`, a candidate of a section whose niche has walls on both sides, as decision `level`.
    pub(super) fn place(&mut self, piece: u32, level: usize) -> Result<(), Conflict> {
        let placed = self.puzzle.pieces[piece as usize];
        let low = self.low[piece as usize];
        let top = low + placed.size;
        let span = placed.sections();
        self.trail.push(Change::Place { piece, low, level: level as u32 });
        self.old_candidates.extend_from_slice(&self.candidates[span.clone()]);
        self.offsets[piece as usize] = low;
        self.low[piece as usize] = PLACED;
        self.unplaced -= 1;
        self.rest[span.clone()].iter_mut().for_each(|rest| *rest -= placed.size);
        self.crossing[placed.first as usize + 1..=placed.last as usize].iter_mut().for_each(|n| *n -= 1);
        self.floor[span.clone()].fill(top);
        self.candidates[span.clone()].fill(0);
        for section in span.clone() {
            reasons::insert(self.reasons.row_mut(section), level);
        }
        let mut changed = span.clone();
        for &other in self.puzzle.meets.of(piece as usize) {
            let met = self.puzzle.pieces[other as usize];
            if self.low[other as usize] < top {
                let cause = met.first.max(placed.first);
                self.raise_low(other, top, cause)?;
                changed = hull(&changed, &met.sections());
            } else if self.low[other as usize] == top {
                let both = met.first.max(placed.first) as usize..=met.last.min(placed.last) as usize;
                self.candidates[both].iter_mut().for_each(|n| *n += 1);
            }
        }
        self.settle(changed)
    }

    /// Gives up the bytes at the floor of `section` as decision `level`: no candidate is placed there.
    ///
    /// Whatever is lowest in the section then rests on a piece outside of it, or has a higher low anyway. All
    /// candidates cover the section, so that their lifetimes together are one stretch: what rests on a piece
    /// is a matter of meeting that stretch.
    pub(super) fn skip(&mut self, section: usize, level: usize) -> Result<(), Conflict> {
        let puzzle = self.puzzle;
        let floor = self.floor[section];
        let mut next = PLACED;
        let mut align = u32::MAX;
        let mut stretch = section..=section;
        self.open_reason(section);
        for &piece in puzzle.members.of(section) {
            let low = self.low[piece as usize];
            if low == floor {
                let candidate = &puzzle.pieces[piece as usize];
                align = align.min(candidate.align);
                stretch = hull(&stretch, &candidate.sections());
            } else if low != PLACED {
                next = next.min(low);
                self.join_reason(section, self.cause[piece as usize]);
            }
        }
        let top = |support: &Piece, offset: u32| (offset + support.size).next_multiple_of(align);
        let supports = |support: &Piece, low: u32| {
            let meets = support.first as usize <= *stretch.end() && *stretch.start() <= support.last as usize;
            low != PLACED && meets && !support.covers(section)
        };
        for (support, &low) in puzzle.pieces.iter().zip(&self.low) {
            if supports(support, low) {
                next = next.min(top(support, low));
            }
        }
        for (index, support) in puzzle.pieces.iter().enumerate() {
            // From the floor it would be a support for less; why it cannot come down that far matters.
            if supports(support, self.low[index]) && top(support, floor) < next {
                self.join_reason(section, self.cause[index]);
            }
        }
        // Pieces placed around the candidates could have been supports.
        for around in stretch {
            self.join_reason(section, around as u32);
        }
        reasons::insert(self.reasons.row_mut(section), level);
        self.rise(section, next)?;
        let mut changed = section..=section;
        for &piece in puzzle.members.of(section) {
            if self.low[piece as usize] < next {
                self.raise_low(piece, next, section as u32)?;
                changed = hull(&changed, &puzzle.pieces[piece as usize].sections());
            }
        }
        self.settle(changed)
    }

    /// Puts everything back that changed since `mark`.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop().expect("the loop condition says that there is one") {
                Change::Low { piece, low, cause } => self.exchange_low(piece, low, cause),
                Change::Place { piece, low, level } => {
                    let placed = self.puzzle.pieces[piece as usize];
                    let span = placed.sections();
                    self.low[piece as usize] = low;
                    self.unplaced += 1;
                    self.rest[span.clone()].iter_mut().for_each(|rest| *rest += placed.size);
                    self.crossing[placed.first as usize + 1..=placed.last as usize]
                        .iter_mut()
                        .for_each(|n| *n += 1);
                    self.floor[span.clone()].fill(low);
                    let old = self.old_candidates.len() - span.clone().count();
                    self.candidates[span.clone()].copy_from_slice(&self.old_candidates[old..]);
                    self.old_candidates.truncate(old);
                    for section in span {
                        reasons::remove(self.reasons.row_mut(section), level as usize);
                    }
                }
                Change::Raise { section, floor, candidates } => {
                    self.floor[section as usize] = floor;
                    self.candidates[section as usize] = candidates;
                    let row = self.reasons.row_mut(section as usize);
                    let old = self.old_reasons.len() - row.len();
                    row.copy_from_slice(&self.old_reasons[old..]);
                    self.old_reasons.truncate(old);
                }
            }
        }
    }

    /// Raises floors until every section with pieces left has a candidate again.
    fn settle(&mut self, sections: RangeInclusive<usize>) -> Result<(), Conflict> {
        for section in sections {
            if self.candidates[section] > 0 || self.rest[section] == 0 {
                continue;
            }
            let mut next = PLACED;
            self.open_reason(section);
            for &piece in self.puzzle.members.of(section) {
                if self.low[piece as usize] != PLACED {
                    next = next.min(self.low[piece as usize]);
                    self.join_reason(section, self.cause[piece as usize]);
                }
            }
            self.rise(section, next)?;
        }
        Ok(())
    }

    /// Sets the floor of a section whose reason was saved and then extended.
    fn rise(&mut self, section: usize, next: u32) -> Result<(), Conflict> {
        if next > self.capacity - self.rest[section] {
            return self.fail(section);
        }
        self.floor[section] = next;
        let members = self.puzzle.members.of(section).iter();
        self.candidates[section] = members.map(|&piece| u32::from(self.low[piece as usize] == next)).sum();
        Ok(())
    }

    fn raise_low(&mut self, piece: u32, low: u32, cause: u32) -> Result<(), Conflict> {
        let low = low.next_multiple_of(self.puzzle.pieces[piece as usize].align);
        if low > self.ceilings[piece as usize] {
            return self.fail(cause as usize);
        }
        let (old, old_cause) = (self.low[piece as usize], self.cause[piece as usize]);
        self.trail.push(Change::Low { piece, low: old, cause: old_cause });
        self.exchange_low(piece, low, cause);
        Ok(())
    }

    fn exchange_low(&mut self, piece: u32, low: u32, cause: u32) {
        let old = std::mem::replace(&mut self.low[piece as usize], low);
        self.cause[piece as usize] = cause;
        let span = self.puzzle.pieces[piece as usize].sections();
        for (candidates, &floor) in self.candidates[span.clone()].iter_mut().zip(&self.floor[span]) {
            *candidates = *candidates + u32::from(floor == low) - u32::from(floor == old);
        }
    }

    /// Saves a section whose reason is about to grow.
    fn open_reason(&mut self, section: usize) {
        let (floor, candidates) = (self.floor[section], self.candidates[section]);
        self.trail.push(Change::Raise { section: section as u32, floor, candidates });
        self.old_reasons.extend_from_slice(self.reasons.row(section));
        self.joins += 1;
        self.joined[section] = self.joins;
    }

    /// Adds the reason of section `cause` to the reason opened last, once.
    fn join_reason(&mut self, section: usize, cause: u32) {
        if std::mem::replace(&mut self.joined[cause as usize], self.joins) != self.joins {
            self.reasons.join(section, cause as usize);
        }
    }

    fn fail(&mut self, section: usize) -> Result<(), Conflict> {
        self.conflict.copy_from_slice(self.reasons.row(section));
        Err(Conflict)
    }
}

fn hull(a: &RangeInclusive<usize>, b: &RangeInclusive<usize>) -> RangeInclusive<usize> {
    *a.start().min(b.start())..=*a.end().max(b.end())
}
