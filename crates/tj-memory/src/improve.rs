//! A lower peak for a plan that exists, by asking the exact search for smaller and smaller arenas.
//!
//! The bound is asked for first, because it is mostly reachable; then the middle between what could not be
//! had and what there is. Stretches of time that are within the target already are left alone.

use std::time::{Duration, Instant};

use crate::solve::{Budget, Fit, Puzzle, fit, peak, puzzles};
use crate::{Interval, Plan};

/// What [`improve_briefly`] may cost in units of [`Puzzle::cost`], which are about a nanosecond.
const BRIEF: u64 = 3_000_000;

/// Alternatives that the first round of [`improve_for`] spends on one target beyond two descents; each round
/// has four times more.
const FIRST_SLICE: u64 = 1000;

/// The last round of [`improve_for`] has about 10^13 alternatives: more than a day.
const ROUNDS: u32 = 16;

/// Tries a few targets, for a few milliseconds. Equal inputs give equal plans on every machine.
///
/// An attempt has to place every interval once, so that it gets half of what is left, but not less than it
/// needs for one descent with some dead ends.
pub(crate) fn improve_briefly(intervals: &[Interval], plan: &mut Plan) {
    let Some(puzzles) = puzzles(intervals, plan.peak) else { return };
    let pieces: u64 = puzzles.iter().map(|puzzle| puzzle.intervals.len() as u64).sum();
    let descent = pieces + pieces / 4;
    let cost = puzzles.iter().map(Puzzle::cost).max().unwrap_or(1);
    if descent * cost > BRIEF + BRIEF / 4 {
        return;
    }
    // The bound may be out of reach, so that there is always a second attempt.
    let mut left = (BRIEF / cost).max(2 * descent);
    let mut low = plan.bound;
    let mut target = low;
    while low < plan.peak && left >= descent {
        let slice = descent.max(left / 2);
        left -= slice;
        if lower(intervals, &puzzles, plan, target, 0, &mut Budget::alternatives(slice)) != Fit::Yes {
            low = target + 1;
        }
        target = low + plan.peak.saturating_sub(low) / 2;
    }
}

/// Lowers the peak until it is proved to be the lowest, or `limit` is over.
pub(crate) fn improve_for(intervals: &[Interval], plan: &mut Plan, limit: Duration) {
    let end = Instant::now().checked_add(limit);
    let Some(puzzles) = puzzles(intervals, plan.peak) else { return };
    let pieces: u64 = puzzles.iter().map(|puzzle| puzzle.intervals.len() as u64).sum();
    let mut proved = plan.bound;
    for round in 0..ROUNDS {
        let slice = (FIRST_SLICE + 2 * pieces) << (2 * round);
        let mut low = proved;
        let mut target = low;
        while low < plan.peak {
            if end.is_some_and(|end| Instant::now() >= end) {
                return;
            }
            let mut budget = Budget::both(slice, end);
            match lower(intervals, &puzzles, plan, target, u64::from(round), &mut budget) {
                Fit::Yes => {}
                Fit::No => {
                    proved = proved.max(target + 1);
                    low = target + 1;
                }
                Fit::Unknown => low = target + 1,
            }
            target = low + plan.peak.saturating_sub(low) / 2;
        }
        if plan.peak == proved {
            return;
        }
    }
}

/// Looks for a plan with a peak of at most `target`, and takes it if there is one.
fn lower(
    intervals: &[Interval],
    puzzles: &[Puzzle],
    plan: &mut Plan,
    target: u64,
    seed: u64,
    budget: &mut Budget,
) -> Fit {
    let mut offsets = plan.offsets.clone();
    for puzzle in puzzles {
        let ends = puzzle.intervals.iter().map(|&interval| offsets[interval] + intervals[interval].size);
        if ends.max().is_some_and(|peak| peak > target) {
            let fit = fit(puzzle, target, seed, budget, &mut offsets);
            if fit != Fit::Yes {
                return fit;
            }
        }
    }
    plan.peak = peak(intervals, &offsets);
    plan.offsets = offsets;
    Fit::Yes
}
