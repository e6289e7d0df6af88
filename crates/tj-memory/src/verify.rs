//! The independent check of a plan. It shares no code with the packer and runs in release builds too.
//!
//! Rules, each with its own [`Violation`]:
//!
//! 1. There is exactly one offset an interval.
//! 2. Every offset is a multiple of the interval's alignment.
//! 3. Every interval ends inside the arena, and its end does not overflow.
//! 4. Two intervals with bytes and a step in common have no byte in common, unless they are an in-place pair
//!    at one offset and the step is the only one they share.
//!
//! The fourth is a sweep over the steps with the live ranges in an ordered set: a range that overlaps any
//! live range overlaps a neighbour in the set, as long as the set itself is disjoint. Once a finding breaks
//! that, later ranges are compared with every live one, so that all pairs are reported.
//!
//! Cost: O(n log n) for a correct plan, and O(n live) for a wrong one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;

use crate::{InPlace, Interval, Plan};

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Rule 1.
    Length {
        /// How many intervals there are.
        intervals: usize,
        /// How many offsets the plan has.
        offsets: usize,
    },
    /// Rule 2.
    Misaligned {
        /// Which interval.
        interval: usize,
        /// Where the plan puts it.
        offset: u64,
        /// What the offset should be a multiple of.
        align: u64,
    },
    /// Rule 3.
    Outside {
        /// Which interval.
        interval: usize,
        /// Where the plan puts it.
        offset: u64,
        /// Its size.
        size: u64,
        /// Bytes of the arena.
        peak: u64,
    },
    /// Rule 4.
    Overlap {
        /// The interval that starts first.
        left: usize,
        /// The interval that starts while `left` is live.
        right: usize,
        /// The step where they meet first.
        step: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { intervals, offsets } => write!(f, "{intervals} intervals but {offsets} offsets"),
            Self::Misaligned { interval, offset, align } => {
                write!(f, "interval {interval}: offset {offset} is not a multiple of {align}")
            }
            Self::Outside { interval, offset, size, peak } => {
                write!(f, "interval {interval}: {size} bytes at {offset} do not end within {peak} bytes")
            }
            Self::Overlap { left, right, step } => {
                write!(f, "intervals {left} and {right} share bytes at step {step}")
            }
        }
    }
}

/// Checks every rule of this module and reports all findings; it repairs none.
///
/// ```
/// use tj_memory::{Interval, Plan, Violation, verify};
///
/// let intervals = [Interval::new(0, 1, 64), Interval::new(1, 2, 64)];
/// let plan = Plan { offsets: vec![0, 0], peak: 128, bound: 128 };
/// assert_eq!(verify(&intervals, &plan), Err(vec![Violation::Overlap { left: 0, right: 1, step: 1 }]));
/// ```
pub fn verify(intervals: &[Interval], plan: &Plan) -> Result<(), Vec<Violation>> {
    verify_in_place(intervals, &[], plan)
}

/// [`verify`] for a plan in which the given pairs may share storage; it knows nothing of how they were
/// merged.
pub fn verify_in_place(intervals: &[Interval], pairs: &[InPlace], plan: &Plan) -> Result<(), Vec<Violation>> {
    if intervals.len() != plan.offsets.len() {
        return Err(vec![Violation::Length { intervals: intervals.len(), offsets: plan.offsets.len() }]);
    }
    let mut found = Vec::new();
    for (interval, (&Interval { size, align, .. }, &offset)) in
        intervals.iter().zip(&plan.offsets).enumerate()
    {
        if align == 0 || offset % align != 0 {
            found.push(Violation::Misaligned { interval, offset, align });
        }
        if offset.checked_add(size).is_none_or(|end| end > plan.peak) {
            found.push(Violation::Outside { interval, offset, size, peak: plan.peak });
        }
    }
    overlaps(intervals, pairs, &plan.offsets, &mut found);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

fn overlaps(intervals: &[Interval], pairs: &[InPlace], offsets: &[u64], found: &mut Vec<Violation>) {
    let mut arrivals: Vec<usize> = (0..intervals.len()).filter(|&i| intervals[i].size > 0).collect();
    arrivals.sort_by_key(|&i| intervals[i].first);
    let mut donors = vec![None; intervals.len()];
    for &InPlace { input, output } in pairs {
        if let (Some(from), Some(to)) = (intervals.get(input), intervals.get(output))
            && from.last == to.first
            && offsets[input] == offsets[output]
        {
            donors[output] = Some(input);
        }
    }
    let end = |i: usize| offsets[i].saturating_add(intervals[i].size);
    // Live ranges by offset; the second part of the key keeps two ranges at one offset apart.
    let mut live: BTreeMap<(u64, usize), u64> = BTreeMap::new();
    let mut departures: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    // Heirs that stand for their longer donors as well until the step is over.
    let mut heirs: Vec<(u64, usize)> = Vec::new();
    let mut disjoint = true;
    for right in arrivals {
        let step = intervals[right].first;
        while let Some((_, heir)) = heirs.pop_if(|&mut (born, _)| born < step) {
            if let Some(to) = live.get_mut(&(offsets[heir], heir)) {
                *to = end(heir);
            }
        }
        while let Some(&Reverse((last, gone))) = departures.peek()
            && last < step
        {
            departures.pop();
            live.remove(&(offsets[gone], gone));
        }
        let mut to = end(right);
        if let Some(donor) = donors[right]
            && let Some(donated) = live.remove(&(offsets[donor], donor))
        {
            to = to.max(donated);
            heirs.push((step, right));
        }
        let before = live.range(..(to, 0));
        if disjoint {
            disjoint = before.clone().next_back().is_none_or(|(_, &end)| end <= offsets[right]);
        }
        if !disjoint {
            let clash = before.filter(|&(_, &end)| end > offsets[right]);
            found.extend(clash.map(|(&(_, left), _)| Violation::Overlap { left, right, step }));
        }
        live.insert((offsets[right], right), to);
        departures.push(Reverse((intervals[right].last, right)));
    }
}
