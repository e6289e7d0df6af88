//! The exact search: a skyline that is filled niche by niche, and jumps back over what does not matter.
//!
//! Problem: decide whether the pieces of a [`Puzzle`] fit. The problem is NP-hard, and greedy packing is a
//! third above the optimum on the instances that matter.
//!
//! Idea. Only bottom-justified placements are considered: each piece lies at 0 or on another one, and any
//! placement can be brought into that shape by letting pieces fall. The floors of the sections form a
//! skyline; take a *niche*, a run of sections at one floor between higher walls, and in it one section. What
//! is lowest there is one of its candidates, at exactly the floor, or there is nothing at that floor. These
//! alternatives are exhaustive and exclude each other, so no placement is met twice, and the niche may be
//! chosen freely: the section with the fewest alternatives is taken, which makes forced moves first and
//! notices dead ends early. Giving up bytes is an alternative only where the section has bytes to spare.
//!
//! Decisions in one stretch of time say nothing about another, so a dead end must not be answered by
//! trying the other stretch again. Every floor carries the set of decisions it follows from (see
//! [`super::state`]); when all alternatives of a decision fail, the search returns to the latest decision in
//! the union of their reasons, and skips all in between.
//!
//! Which order of candidates is good depends on the puzzle. The caller restarts with another [`Taste`] when a
//! run had enough dead ends: most puzzles are easy for most tastes and very hard for some.

use super::puzzle::Puzzle;
use super::reasons;
use super::state::{Conflict, PLACED, State};
use crate::random::Random;

/// The alternative of giving up the bytes at the floor.
const SKIP: u32 = u32::MAX;

/// What a run of the search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Everything is placed.
    Fits,
    /// There is no placement.
    Impossible,
    /// The run had as many dead ends as it may have.
    Stuck,
    /// The budget is used up.
    OutOfBudget,
}

/// How one run decides among equals.
#[derive(Debug)]
pub(super) struct Taste {
    /// Candidates of higher rank are tried first.
    pub(super) rank: Vec<u64>,
    /// How many alternatives a section may have more than another for having no bytes to spare.
    pub(super) tightness: u64,
}

#[derive(Debug)]
pub(super) struct Search<'a> {
    state: State<'a>,
    /// A decision has its level as index.
    decisions: Vec<Decision>,
    /// The alternatives of all decisions, those of the latest at the end.
    alternatives: Vec<u32>,
    /// For each decision why its alternatives are all there are, and why those tried so far failed.
    failed: Vec<u64>,
    levels: usize,
}

#[derive(Debug)]
struct Decision {
    section: usize,
    mark: usize,
    first: usize,
    next: usize,
}

impl<'a> Search<'a> {
    /// `None` if a piece is larger than the arena of `capacity` bytes.
    pub(super) fn new(puzzle: &'a Puzzle, capacity: u64) -> Option<Self> {
        // Every placement is a decision, and giving up bytes is another; a run that gives up bytes more often
        // than there are pieces is as good as stuck.
        let levels = 2 * puzzle.pieces.len() + 64;
        Some(Self {
            state: State::new(puzzle, capacity, levels)?,
            decisions: Vec::new(),
            alternatives: Vec::new(),
            failed: Vec::new(),
            levels,
        })
    }

    /// Where everything is once a run has returned [`Outcome::Fits`].
    pub(super) fn offsets(&self) -> &[u32] {
        &self.state.offsets
    }

    /// Searches from scratch until `dead_ends` dead ends, or until `spend` refuses to pay for an alternative.
    pub(super) fn run(
        &mut self,
        taste: &Taste,
        random: &mut Random,
        mut dead_ends: u64,
        mut spend: impl FnMut() -> bool,
    ) -> Outcome {
        self.decisions.clear();
        self.alternatives.clear();
        self.failed.clear();
        if self.state.reset() == Err(Conflict) {
            return Outcome::Impossible;
        }
        while self.state.unplaced > 0 {
            if self.decisions.len() == self.levels {
                return Outcome::Stuck;
            }
            self.decide(taste, random);
            while !self.advance(&mut spend) {
                let Some(level) = reasons::highest(&self.state.conflict) else { return Outcome::Impossible };
                if dead_ends == 0 {
                    return Outcome::Stuck;
                }
                dead_ends -= 1;
                self.jump(level);
            }
            if !spend() {
                return Outcome::OutOfBudget;
            }
        }
        Outcome::Fits
    }

    /// Opens a decision about the most promising section.
    fn decide(&mut self, taste: &Taste, random: &mut Random) {
        let section = self.choose(taste, random);
        let state = &self.state;
        let puzzle = state.puzzle;
        let first = self.alternatives.len();
        let reason = self.failed.len();
        self.failed.extend_from_slice(state.reasons.row(section));
        for &piece in puzzle.members.of(section) {
            let low = state.low[piece as usize];
            if low == state.floor[section] {
                self.alternatives.push(piece);
            } else if low != PLACED {
                let cause = state.reasons.row(state.cause[piece as usize] as usize);
                reasons::join(&mut self.failed[reason..], cause);
            }
        }
        // Twins next to each other, so that all but the first go: they are the same alternative.
        self.alternatives[first..].sort_by_key(|&piece| {
            let twin = &puzzle.pieces[piece as usize];
            (std::cmp::Reverse(taste.rank[piece as usize]), twin.first, twin.last, twin.bytes, twin.align)
        });
        let mut kept = first;
        for index in first..self.alternatives.len() {
            let alike = |other: u32| {
                let (a, b) =
                    (&puzzle.pieces[self.alternatives[index] as usize], &puzzle.pieces[other as usize]);
                (a.first, a.last, a.bytes, a.align) == (b.first, b.last, b.bytes, b.align)
            };
            if kept == first || !alike(self.alternatives[kept - 1]) {
                self.alternatives[kept] = self.alternatives[index];
                kept += 1;
            }
        }
        self.alternatives.truncate(kept);
        self.alternatives.push(SKIP);
        self.decisions.push(Decision { section, mark: state.mark(), first, next: first });
    }

    /// The section with the fewest alternatives among those in a niche.
    fn choose(&self, taste: &Taste, random: &mut Random) -> usize {
        let state = &self.state;
        let capacity = u64::from(state.capacity);
        let (mut best, mut least) = (0, u64::MAX);
        let mut left = 0;
        let sections = state.floor.len();
        while left < sections {
            let floor = state.floor[left];
            let mut right = left + 1;
            while right < sections && state.crossing[right] > 0 && state.floor[right] == floor {
                right += 1;
            }
            // What has no piece left is out of the game; what nothing crosses into is a wall.
            let wall = |at: usize, beyond: usize| state.crossing[at] == 0 || state.floor[beyond] > floor;
            let niche = state.rest[left] > 0
                && (left == 0 || wall(left, left - 1))
                && (right == sections || wall(right, right));
            for section in (left..right).filter(|_| niche) {
                let spare = u64::from(state.capacity - floor - state.rest[section]);
                let alternatives = u64::from(state.candidates[section]) + u64::from(spare > 0);
                if alternatives == 1 {
                    return section;
                }
                let score = alternatives * capacity + taste.tightness * spare;
                if score < least || (score == least && random.below(4) == 0) {
                    (best, least) = (section, score);
                }
            }
            left = right;
        }
        best
    }

    /// Takes the next alternative of the latest decision that leads to no conflict. If there is none, the
    /// reason is left as the conflict of the state.
    fn advance(&mut self, spend: &mut impl FnMut() -> bool) -> bool {
        let level = self.decisions.len() - 1;
        let words = self.state.conflict.len();
        let decision = &mut self.decisions[level];
        while let Some(&alternative) = self.alternatives.get(decision.next) {
            decision.next += 1;
            let outcome = match alternative {
                SKIP => self.state.skip(decision.section, level),
                piece => self.state.place(piece, level),
            };
            if outcome == Ok(()) {
                return true;
            }
            spend();
            self.state.undo(decision.mark);
            // A conflict that does not rest on this decision refutes all of its alternatives at once.
            if !reasons::remove(&mut self.state.conflict, level) {
                return false;
            }
            reasons::join(&mut self.failed[level * words..], &self.state.conflict);
        }
        self.state.conflict.copy_from_slice(&self.failed[level * words..]);
        false
    }

    /// Goes back to the decision at `level`, the latest that the conflict rests on.
    fn jump(&mut self, level: usize) {
        let words = self.state.conflict.len();
        if let Some(above) = self.decisions.get(level + 1) {
            self.alternatives.truncate(above.first);
        }
        self.decisions.truncate(level + 1);
        self.failed.truncate((level + 1) * words);
        self.state.undo(self.decisions[level].mark);
        reasons::remove(&mut self.state.conflict, level);
        reasons::join(&mut self.failed[level * words..], &self.state.conflict);
    }
}
