//! From intervals to a plan, with as much effort as the moment allows.
//!
//! 1. The portfolio: greedy packing in each order of [`Priority`], until one reaches the bound.
//! 2. At compile time, if the best is still above the bound by more than [`GOOD_ENOUGH`], a short climb.

use std::time::{Duration, Instant};

use crate::bound::profile;
use crate::climb::climb;
use crate::greedy::Greedy;
use crate::interval::check;
use crate::lifetimes::Lifetimes;
use crate::priority::Priority;
use crate::{Error, Interval, Plan};

/// How hard [`pack`] tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// The portfolio of greedy orders: for every new tuple of sizes.
    Bind,
    /// The portfolio, then a short climb where it pays: once a program. A few milliseconds at most.
    Compile,
    /// Everything there is until the peak equals the bound or the time is over.
    Max(Duration),
}

/// A peak above the bound by no more than one part in this many is left alone: 2 %.
const GOOD_ENOUGH: u64 = 50;

/// Climbing is for at most this many intervals; beyond, a placement is too dear to be tried often.
const CLIMB_MAX: usize = 2000;

/// Work of a climb at compile time in units of [`Lifetimes::work`], about a nanosecond each.
const CLIMB_WORK: usize = 3_000_000;

/// Places `intervals` so that those that meet are disjoint.
///
/// ```
/// use tj_memory::{Effort, Interval, pack};
///
/// let intervals = [Interval::new(0, 1, 256), Interval::new(1, 2, 128), Interval::new(2, 3, 256)];
/// let plan = pack(&intervals, Effort::Bind)?;
/// assert_eq!(plan.peak, 384);
/// assert_eq!(plan.offsets[0], plan.offsets[2]);
/// # Ok::<(), tj_memory::Error>(())
/// ```
pub fn pack(intervals: &[Interval], effort: Effort) -> Result<Plan, Error> {
    check(intervals)?;
    let sizes: Vec<u64> = intervals.iter().map(|interval| interval.size).collect();
    let aligns: Vec<u64> = intervals.iter().map(|interval| interval.align).collect();
    Ok(pack_sizes(&Lifetimes::new(intervals), &sizes, &aligns, effort))
}

/// [`pack`] for checked input whose lifetimes are known already.
pub(crate) fn pack_sizes(lifetimes: &Lifetimes, sizes: &[u64], aligns: &[u64], effort: Effort) -> Plan {
    let profile = profile(lifetimes, sizes, aligns);
    let bound = profile.iter().copied().max().unwrap_or(0);
    let mut plan = Plan { offsets: vec![0; sizes.len()], peak: 0, bound };
    if bound == 0 {
        return plan;
    }
    plan.peak = u64::MAX;
    let mut greedy = Greedy::new(lifetimes, sizes, aligns);
    let mut best_order = Vec::new();
    for priority in Priority::ALL {
        let order = priority.order(lifetimes, sizes, &profile);
        if let Some(peak) = greedy.place(&order, plan.peak) {
            plan.peak = peak;
            plan.offsets.copy_from_slice(&greedy.offsets);
            best_order = order;
        }
        if plan.peak == bound {
            return plan;
        }
    }
    let climbed = match effort {
        Effort::Bind => None,
        Effort::Compile if plan.peak - bound <= bound / GOOD_ENOUGH || sizes.len() > CLIMB_MAX => None,
        Effort::Compile => {
            let mut trials = CLIMB_WORK / lifetimes.work();
            climb(&mut greedy, best_order, plan.peak, bound, || {
                trials = trials.saturating_sub(1);
                trials > 0
            })
        }
        Effort::Max(limit) => {
            let start = Instant::now();
            climb(&mut greedy, best_order, plan.peak, bound, || start.elapsed() < limit)
        }
    };
    if let Some((peak, offsets)) = climbed {
        plan.peak = peak;
        plan.offsets = offsets;
    }
    plan
}
