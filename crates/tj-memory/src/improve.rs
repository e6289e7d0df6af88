//! A lower peak for a plan that exists, by asking the exact search for smaller and smaller arenas.
//!
//! The bound is asked for first, because it is mostly reachable; then the middle between what could not be had
//! and what there is. Stretches of time that are within the target already are left alone.

use std::time::{Duration, Instant};

use crate::solve::{Budget, Fit, fit, peak, stretches};
use crate::{Interval, Plan};

/// Alternatives that the first round of [`improve_for`] spends on one target; each round has four times more.
const FIRST_SLICE: u64 = 1000;

/// Tries a few targets with a total of `alternatives`. Equal inputs give equal plans on every machine.
pub(crate) fn improve_briefly(intervals: &[Interval], plan: &mut Plan, mut alternatives: u64) {
    let stretches = stretches(intervals);
    let mut low = plan.bound;
    let mut target = low;
    while low < plan.peak && alternatives > 0 {
        alternatives /= 2;
        if lower(intervals, &stretches, plan, target, 0, &mut Budget::alternatives(alternatives)) != Fit::Yes
        {
            low = target + 1;
        }
        target = low + (plan.peak - low) / 2;
    }
}

/// Lowers the peak until it is proved to be the lowest, or `limit` is over.
pub(crate) fn improve_for(intervals: &[Interval], plan: &mut Plan, limit: Duration) {
    let end = Instant::now().checked_add(limit);
    let stretches = stretches(intervals);
    let mut proved = plan.bound;
    for round in 0..u64::BITS / 2 {
        let slice = FIRST_SLICE << (2 * round);
        let mut low = proved;
        let mut target = low;
        while low < plan.peak {
            if end.is_some_and(|end| Instant::now() >= end) {
                return;
            }
            let mut budget = Budget::both(slice, end);
            match lower(intervals, &stretches, plan, target, u64::from(round), &mut budget) {
                Fit::Yes => {}
                Fit::No => {
                    proved = proved.max(target + 1);
                    low = target + 1;
                }
                Fit::Unknown => low = target + 1,
            }
            target = low + (plan.peak - low) / 2;
        }
        if plan.peak == proved {
            return;
        }
    }
}

/// Looks for a plan with a peak of at most `target`, and takes it if there is one.
fn lower(
    intervals: &[Interval],
    stretches: &[Vec<usize>],
    plan: &mut Plan,
    target: u64,
    seed: u64,
    budget: &mut Budget,
) -> Fit {
    let mut offsets = plan.offsets.clone();
    for stretch in stretches {
        let end = |&interval: &usize| offsets[interval] + intervals[interval].size;
        if stretch.iter().map(end).max().is_some_and(|peak| peak > target) {
            let fit = fit(intervals, stretch, target, seed, budget, &mut offsets);
            if fit != Fit::Yes {
                return fit;
            }
        }
    }
    plan.peak = peak(intervals, &offsets);
    plan.offsets = offsets;
    Fit::Yes
}
