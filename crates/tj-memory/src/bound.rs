//! The lower bound: what must be live at once, at the worst step.
//!
//! Every offset is a multiple of the smallest alignment `g`, so between two neighbours in the arena there is
//! room for the lower one rounded up to `g`; only the topmost may leave its padding off. The bound at a
//! section is therefore the sum of rounded sizes less the largest padding. Without the rounding a program of
//! odd sizes would never be seen to reach its bound, and every search for better would run to its limit.
//!
//! Cost: O(n log n) when some size has padding, else O(n).

use std::collections::BinaryHeap;

use crate::Interval;
use crate::interval::align_up;
use crate::lifetimes::Lifetimes;

/// Bytes needed by any placement in each section, with the padding none can avoid.
pub(crate) fn profile(lifetimes: &Lifetimes, sizes: &[u64], aligns: &[u64]) -> Vec<u64> {
    let live = || (0..sizes.len()).filter(|&interval| sizes[interval] > 0);
    let grain = live().map(|interval| aligns[interval]).min().unwrap_or(1);
    let mut change = vec![0i64; lifetimes.sections + 1];
    let mut padded: Vec<(u32, u64, u32)> = Vec::new();
    for interval in live() {
        let rounded = align_up(sizes[interval], grain);
        let (first, last) = (lifetimes.first[interval], lifetimes.last[interval]);
        change[first as usize] += rounded as i64;
        change[last as usize + 1] -= rounded as i64;
        if rounded > sizes[interval] {
            padded.push((first, rounded - sizes[interval], last));
        }
    }
    padded.sort_unstable();
    let mut padded = padded.into_iter().peekable();
    let mut paddings: BinaryHeap<(u64, u32)> = BinaryHeap::new();
    let mut bytes = 0i64;
    (0..lifetimes.sections as u32)
        .map(|section| {
            bytes += change[section as usize];
            while let Some((_, padding, last)) = padded.next_if(|&(first, ..)| first == section) {
                paddings.push((padding, last));
            }
            while paddings.peek().is_some_and(|&(_, last)| last < section) {
                paddings.pop();
            }
            bytes as u64 - paddings.peek().map_or(0, |&(padding, _)| padding)
        })
        .collect()
}

/// The first step at which most bytes are live, and the intervals with bytes that are: what to look at when
/// the bound is too high. `None` if no interval has bytes.
///
/// ```
/// use tj_memory::{Interval, fullest_step};
///
/// let intervals = [Interval::new(0, 3, 64), Interval::new(1, 2, 64), Interval::new(3, 4, 32)];
/// assert_eq!(fullest_step(&intervals), Some((1, vec![0, 1])));
/// ```
pub fn fullest_step(intervals: &[Interval]) -> Option<(u64, Vec<usize>)> {
    // Ends come before starts, and take effect after their step.
    let starts = intervals.iter().map(|interval| (interval.first, true, interval.size));
    let ends =
        intervals.iter().filter_map(|interval| Some((interval.last.checked_add(1)?, false, interval.size)));
    let mut events: Vec<(u64, bool, u64)> = starts.chain(ends).collect();
    events.sort_unstable();
    let (mut live, mut most, mut fullest) = (0u128, 0, None);
    for (step, starts, size) in events {
        live = if starts { live + u128::from(size) } else { live.saturating_sub(u128::from(size)) };
        if live > most {
            (most, fullest) = (live, Some(step));
        }
    }
    let live = |step: u64, interval: &Interval| {
        interval.size > 0 && (interval.first..=interval.last).contains(&step)
    };
    fullest.map(|step| (step, (0..intervals.len()).filter(|&i| live(step, &intervals[i])).collect()))
}
