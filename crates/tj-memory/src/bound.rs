//! The lower bound: what must be live at once, at the worst step.
//!
//! Every offset is a multiple of the smallest alignment `g`, so between two neighbours in the arena there is
//! room for the lower one rounded up to `g`; only the topmost may leave its padding off. The bound at a
//! section is therefore the sum of rounded sizes less the largest padding. Without the rounding a program of
//! odd sizes would never be seen to reach its bound, and every search for better would run to its limit.
//!
//! Cost: O(n log n) when some size has padding, else O(n).

use std::collections::BinaryHeap;

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
