//! Hill climbing over orders: what sticks out is placed earlier.
//!
//! The interval that reaches the peak came too late to find a gap below. Moving it forward in the order,
//! sometimes together with a random exchange to leave a plateau, is kept unless the peak grows. The random
//! numbers are seeded by a constant and the budget is counted in placements, never in time: equal inputs give
//! equal plans on every machine.

use crate::greedy::Greedy;

/// Climbs from `order` until the peak is `goal` or `more` says no before a placement. Returns the best
/// placement if it is below `peak`, which is what `order` gave.
pub(crate) fn climb(
    greedy: &mut Greedy<'_>,
    mut order: Vec<u32>,
    peak: u64,
    goal: u64,
    mut more: impl FnMut() -> bool,
) -> Option<(u64, Vec<u64>)> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut best: Option<(u64, Vec<u64>)> = None;
    let mut current = peak;
    let mut offsets = match greedy.place(&order, u64::MAX) {
        Some(_) => greedy.offsets.clone(),
        None => return None,
    };
    let mut trial = order.clone();
    while current > goal && more() {
        let tops: Vec<usize> = (0..order.len())
            .filter(|&position| {
                let interval = order[position] as usize;
                offsets[interval] + greedy.sizes[interval] == current
            })
            .collect();
        trial.copy_from_slice(&order);
        let from = tops[random.below(tops.len())];
        let to = if random.below(4) == 0 { 0 } else { random.below(from + 1) };
        trial[to..=from].rotate_right(1);
        if random.below(4) == 0 {
            let (left, right) = (random.below(order.len()), random.below(order.len()));
            trial.swap(left, right);
        }
        if let Some(peak) = greedy.place(&trial, current + 1) {
            order.copy_from_slice(&trial);
            offsets.copy_from_slice(&greedy.offsets);
            if peak < current {
                current = peak;
                best = Some((peak, offsets.clone()));
            }
        }
    }
    best
}

/// Xorshift with a multiplication: short, fast, and the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `bound`, which must not be zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize * bound) >> 32
    }
}
