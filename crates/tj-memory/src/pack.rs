//! From intervals to a plan, with as much effort as the moment allows.
//!
//! 1. The portfolio: greedy packing in each order of [`Priority`], until one reaches the bound.
//! 2. At compile time, if the best is still above the bound by more than [`GOOD_ENOUGH`], a short
//!    exact search.

use std::time::Duration;

use crate::bound::profile;
use crate::greedy::Greedy;
use crate::improve::{improve_briefly, improve_for};
use crate::interval::check;
use crate::lifetimes::Lifetimes;
use crate::priority::Priority;
use crate::{Error, Interval, Plan};

/// How hard [`pack`] tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// The portfolio of greedy orders: for every new tuple of sizes.
    Bind,
    /// The portfolio, then a short exact search where it pays: once a program. A few milliseconds.
    Compile,
    /// Everything there is until the peak equals the bound or the time is over.
    Max(Duration),
}

/// A peak above the bound by no more than one part in this many is left alone: 2 %.
const GOOD_ENOUGH: u64 = 50;

/// What the portfolio may cost in units of [`Lifetimes::work`], about 10 ms: all orders up to thousands of
/// intervals, and only the first few where one takes long.
const PORTFOLIO: usize = 10_000_000;

/// Searching at compile time is for at most this many intervals; beyond, one descent is too dear.
const SEARCH_MAX: usize = 2000;

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
    let mut plan = pack_sizes(&Lifetimes::new(intervals), &sizes, &aligns);
    match effort {
        Effort::Bind => {}
        Effort::Compile => {
            if plan.peak - plan.bound > plan.bound / GOOD_ENOUGH && intervals.len() <= SEARCH_MAX {
                improve_briefly(intervals, &mut plan);
            }
        }
        Effort::Max(limit) => improve_for(intervals, &mut plan, limit),
    }
    Ok(plan)
}

/// The portfolio, for checked input whose lifetimes are known already.
pub(crate) fn pack_sizes(lifetimes: &Lifetimes, sizes: &[u64], aligns: &[u64]) -> Plan {
    let profile = profile(lifetimes, sizes, aligns);
    let bound = profile.iter().copied().max().unwrap_or(0);
    let mut plan = Plan { offsets: vec![0; sizes.len()], peak: 0, bound };
    if bound == 0 {
        return plan;
    }
    plan.peak = u64::MAX;
    let mut greedy = Greedy::new(lifetimes, sizes, aligns);
    let orders = (PORTFOLIO / lifetimes.work().max(1)).clamp(1, Priority::ALL.len());
    for priority in &Priority::ALL[..orders] {
        let order = priority.order(lifetimes, sizes, &profile);
        if let Some(peak) = greedy.place(&order, plan.peak) {
            plan.peak = peak;
            plan.offsets.copy_from_slice(&greedy.offsets);
        }
        if plan.peak == bound {
            break;
        }
    }
    plan
}
