//! The orders in which greedy packing is tried.
//!
//! None of them is best everywhere: size wins on most networks, and each of the others is up to 2.7 times
//! worse alone but wins on some. Ties fall back to the input order, so that equal inputs give equal plans.

use std::cmp::Reverse;

use crate::lifetimes::Lifetimes;

/// What an order puts first, most promising order first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// The largest.
    Size,
    /// The largest product of size and lifetime.
    Area,
    /// Whatever is live at the fullest section, then at the next fullest.
    Breadth,
    /// The longest lived.
    Lifetime,
    /// The first to start, as an allocator at run time would see them.
    Start,
}

impl Priority {
    pub(crate) const ALL: [Self; 5] = [Self::Size, Self::Area, Self::Breadth, Self::Lifetime, Self::Start];

    /// All intervals that have bytes, in this order. `profile` is the bytes live in each section.
    pub(crate) fn order(self, lifetimes: &Lifetimes, sizes: &[u64], profile: &[u64]) -> Vec<u32> {
        let mut order: Vec<u32> =
            (0..sizes.len() as u32).filter(|&interval| sizes[interval as usize] > 0).collect();
        let size = |i: u32| Reverse(sizes[i as usize]);
        let first = |i: u32| lifetimes.first[i as usize];
        let length = |i: u32| lifetimes.last[i as usize] - lifetimes.first[i as usize] + 1;
        match self {
            Self::Size => order.sort_by_key(|&i| (size(i), Reverse(length(i)))),
            Self::Area => {
                order.sort_by_key(|&i| Reverse(u128::from(sizes[i as usize]) * u128::from(length(i))));
            }
            Self::Breadth => {
                let fullest = RangeMax::new(profile);
                order.sort_by_cached_key(|&i| {
                    (Reverse(fullest.max(first(i) as usize, lifetimes.last[i as usize] as usize)), size(i))
                });
            }
            Self::Lifetime => order.sort_by_key(|&i| (Reverse(length(i)), size(i))),
            Self::Start => order.sort_by_key(|&i| (first(i), size(i))),
        }
        order
    }
}

/// Maximum over any range of a fixed array: row `k` holds the maxima of runs of `2^k`.
struct RangeMax {
    rows: Vec<Vec<u64>>,
}

impl RangeMax {
    fn new(values: &[u64]) -> Self {
        let mut rows = vec![values.to_vec()];
        let mut half = 1;
        while 2 * half <= values.len() {
            let below = &rows[rows.len() - 1];
            rows.push((0..=values.len() - 2 * half).map(|i| below[i].max(below[i + half])).collect());
            half *= 2;
        }
        Self { rows }
    }

    fn max(&self, first: usize, last: usize) -> u64 {
        let row = (last - first + 1).ilog2() as usize;
        self.rows[row][first].max(self.rows[row][last + 1 - (1 << row)])
    }
}
