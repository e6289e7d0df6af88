//! Whether intervals fit a given arena: exact search with restarts.
//!
//! 1. Stretches of time that no interval connects are separate puzzles ([`puzzle`]).
//! 2. Each is searched ([`search`]) with a random taste and a limit on dead ends, again and again, with
//!    limits that follow the Luby sequence: optimal up to a logarithm when nothing is known about the tastes.
//! 3. A run that is exhausted before its limit is a proof that nothing fits.
//!
//! Bottom-justified search and the benchmarks A to K are from M. Moffitt, MiniMalloc (ASPLOS 2023). Measured
//! on them in release, one thread: 0.02 s a problem on average over twenty seeds, 0.25 s at worst.

mod puzzle;
mod reasons;
mod search;
mod state;

use std::time::{Duration, Instant};

use crate::bound::profile;
use crate::interval::check;
use crate::lifetimes::Lifetimes;
use crate::random::Random;
use crate::{Error, Interval, Plan};

pub(crate) use puzzle::Puzzle;
use search::{Outcome, Search, Taste};

/// Dead ends of the shortest run.
const DEAD_ENDS: u64 = 100;

/// The search keeps sets of decisions for every section, which is quadratic in this.
const MAX_PIECES: usize = 4000;

/// What [`solve`] found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A plan whose peak is at most the capacity.
    Fits(Plan),
    /// There is no such plan.
    Impossible,
    /// Neither was found in the time allowed, or there are too many intervals to search.
    Unknown,
}

/// Looks for a plan within `capacity` bytes until `limit` is over.
///
/// ```
/// use std::time::Duration;
/// use tj_memory::{Answer, Interval, solve, verify};
///
/// let sizes = [(0, 2, 4), (3, 8, 4), (0, 8, 4), (9, 20, 4), (0, 20, 4)];
/// let intervals = sizes.map(|(first, last, size)| Interval::new(first, last, size).with_align(1));
/// let Answer::Fits(plan) = solve(&intervals, 12, Duration::from_secs(1))? else { panic!("it fits") };
/// assert_eq!((plan.peak, verify(&intervals, &plan)), (12, Ok(())));
/// assert_eq!(solve(&intervals, 11, Duration::from_secs(1))?, Answer::Impossible);
/// # Ok::<(), tj_memory::Error>(())
/// ```
pub fn solve(intervals: &[Interval], capacity: u64, limit: Duration) -> Result<Answer, Error> {
    check(intervals)?;
    let sizes: Vec<u64> = intervals.iter().map(|interval| interval.size).collect();
    let aligns: Vec<u64> = intervals.iter().map(|interval| interval.align).collect();
    let bound = profile(&Lifetimes::new(intervals), &sizes, &aligns).into_iter().max().unwrap_or(0);
    if bound > capacity {
        return Ok(Answer::Impossible);
    }
    let Some(puzzles) = puzzles(intervals, capacity) else { return Ok(Answer::Unknown) };
    // A limit beyond what the clock can say is no limit.
    let mut budget = Budget::both(u64::MAX, Instant::now().checked_add(limit));
    let mut offsets = vec![0; intervals.len()];
    for puzzle in &puzzles {
        match fit(puzzle, capacity, 0, &mut budget, &mut offsets) {
            Fit::Yes => {}
            Fit::No => return Ok(Answer::Impossible),
            Fit::Unknown => return Ok(Answer::Unknown),
        }
    }
    Ok(Answer::Fits(Plan { peak: peak(intervals, &offsets), offsets, bound }))
}

/// How much a search may cost, in alternatives tried or in time.
#[derive(Debug)]
pub(crate) struct Budget {
    alternatives: u64,
    end: Option<Instant>,
}

impl Budget {
    /// A limit without a clock, so that what it allows is the same everywhere.
    pub(crate) fn alternatives(alternatives: u64) -> Self {
        Self { alternatives, end: None }
    }

    /// Whatever comes first; no end is no limit in time.
    pub(crate) fn both(alternatives: u64, end: Option<Instant>) -> Self {
        Self { alternatives, end }
    }

    /// Pays for one alternative, if there is enough left.
    fn spend(&mut self) -> bool {
        if self.alternatives == 0 {
            return false;
        }
        self.alternatives -= 1;
        // Reading the clock costs as much as an alternative in a small puzzle.
        if self.alternatives.is_multiple_of(64) && self.end.is_some_and(|end| Instant::now() >= end) {
            self.alternatives = 0;
        }
        self.alternatives > 0
    }
}

/// What [`fit`] found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    No,
    Unknown,
}

/// One puzzle for each stretch of time that no interval connects to another, or `None` if one is too large.
pub(crate) fn puzzles(intervals: &[Interval], capacity: u64) -> Option<Vec<Puzzle>> {
    let mut by_first: Vec<usize> = (0..intervals.len()).filter(|&i| intervals[i].size > 0).collect();
    by_first.sort_by_key(|&interval| intervals[interval].first);
    let mut stretches: Vec<Vec<usize>> = Vec::new();
    let mut end = 0;
    for interval in by_first {
        let Interval { first, last, .. } = intervals[interval];
        match stretches.last_mut() {
            Some(stretch) if first <= end => stretch.push(interval),
            _ => stretches.push(vec![interval]),
        }
        end = end.max(last);
    }
    let small = |stretch: &Vec<usize>| stretch.len() <= MAX_PIECES;
    let puzzle = |stretch| Puzzle::new(intervals, stretch, capacity);
    stretches.iter().all(small).then(|| stretches.into_iter().map(puzzle).collect())
}

/// Places the intervals of a puzzle within `capacity` bytes; `offsets` changes only if they fit. Another seed
/// is another sequence of tastes.
pub(crate) fn fit(
    puzzle: &Puzzle,
    capacity: u64,
    seed: u64,
    budget: &mut Budget,
    offsets: &mut [u64],
) -> Fit {
    let Some(mut search) = Search::new(puzzle, capacity) else { return Fit::No };
    let mut random = Random::new(seed);
    for round in 1.. {
        let taste = taste(puzzle, &mut random);
        match search.run(&taste, &mut random, DEAD_ENDS * luby(round), || budget.spend()) {
            Outcome::Fits => {
                for (&interval, &offset) in puzzle.intervals.iter().zip(search.offsets()) {
                    offsets[interval] = u64::from(offset) * puzzle.unit;
                }
                return Fit::Yes;
            }
            Outcome::Impossible if puzzle.exact => return Fit::No,
            Outcome::Impossible | Outcome::OutOfBudget => return Fit::Unknown,
            Outcome::Stuck => {}
        }
    }
    Fit::Unknown
}

pub(crate) fn peak(intervals: &[Interval], offsets: &[u64]) -> u64 {
    let used = intervals.iter().zip(offsets).filter(|(interval, _)| interval.size > 0);
    used.map(|(interval, offset)| offset + interval.size).max().unwrap_or(0)
}

/// Ranks by a random mixture of what makes a piece hard to place later: a full section, a long life, a large
/// area, a large size; sometimes with noise. Logarithms, because the mixture is of ratios.
fn taste(puzzle: &Puzzle, random: &mut Random) -> Taste {
    let mut rest = vec![0u64; puzzle.sections];
    for piece in &puzzle.pieces {
        rest[piece.sections()].iter_mut().for_each(|rest| *rest += u64::from(piece.size));
    }
    let mut upto = |most: usize| random.below(most + 1) as u64;
    let fullness = upto(256) * [0, 8, 80, 10_000][upto(3) as usize];
    let (length, area, size) = (upto(256), upto(256), upto(256));
    let noise = upto(1) * upto(128);
    let tightness = [0, 10, 100][upto(2) as usize];
    let rank = puzzle.pieces.iter().map(|piece| {
        let fullest = rest[piece.sections()].iter().copied().max().unwrap_or(0);
        let lifetime = u64::from(piece.last - piece.first) + 1;
        fullness * log2(fullest)
            + length * log2(lifetime)
            + area * log2(lifetime * u64::from(piece.size))
            + size * log2(u64::from(piece.size))
            + noise * upto(1 << 10)
    });
    Taste { rank: rank.collect(), tightness }
}

/// 1024 times the binary logarithm, linear between powers of two: floating point would round differently on
/// other machines, and plans must not.
fn log2(value: u64) -> u64 {
    let exponent = value.max(1).ilog2();
    let mantissa = (u128::from(value.max(1)) << 10 >> exponent) as u64 - 1024;
    1024 * u64::from(exponent) + mantissa
}

/// 1, 1, 2, 1, 1, 2, 4, and so on; `round` starts at 1.
fn luby(mut round: u64) -> u64 {
    loop {
        let power = round.ilog2() + 1;
        if round == (1 << power) - 1 {
            return 1 << (power - 1);
        }
        round -= (1 << (power - 1)) - 1;
    }
}
