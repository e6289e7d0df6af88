//! Placement in a given order, each interval into the smallest gap that holds it.
//!
//! Invariant: after each step the placed intervals are disjoint wherever they meet. The gap test includes
//! the alignment, so a gap that fits only before rounding its start up is no gap.
//!
//! Cost: see [`Lifetimes`]; a placement is abandoned as soon as it cannot beat the peak it has to beat.

use crate::interval::align_up;
use crate::lifetimes::Lifetimes;

/// Sizes to place over fixed lifetimes, with the scratch space to do it many times.
#[derive(Debug)]
pub(crate) struct Greedy<'a> {
    pub(crate) lifetimes: &'a Lifetimes,
    pub(crate) sizes: &'a [u64],
    pub(crate) aligns: &'a [u64],
    /// Where the last call of [`Greedy::place`] put every interval; `UNPLACED` for those it did not reach.
    pub(crate) offsets: Vec<u64>,
    placed: Vec<Placed>,
}

/// Marks an interval without an offset; no offset reaches it because of `MAX_BYTES`.
const UNPLACED: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Placed {
    start: u64,
    end: u64,
    first: u32,
    last: u32,
}

impl<'a> Greedy<'a> {
    pub(crate) fn new(lifetimes: &'a Lifetimes, sizes: &'a [u64], aligns: &'a [u64]) -> Self {
        Self { lifetimes, sizes, aligns, offsets: vec![0; sizes.len()], placed: Vec::new() }
    }

    /// Places the intervals of `order`, which must be all that have bytes, and returns the peak, or `None` as
    /// soon as the peak would not be below `limit`.
    pub(crate) fn place(&mut self, order: &[u32], limit: u64) -> Option<u64> {
        self.placed.clear();
        for (offset, &size) in self.offsets.iter_mut().zip(self.sizes) {
            *offset = if size == 0 { 0 } else { UNPLACED };
        }
        let mut peak = 0;
        for &interval in order {
            let start = match self.lifetimes.met_by(interval) {
                Some(met) => self.gap_among(interval, met),
                None => self.gap_by_scan(interval),
            };
            self.offsets[interval as usize] = start;
            peak = peak.max(start + self.sizes[interval as usize]);
            if peak >= limit {
                return None;
            }
        }
        Some(peak)
    }

    /// The gap among a list of intervals, some of them placed.
    fn gap_among(&mut self, interval: u32, met: &[u32]) -> u64 {
        self.placed.clear();
        for &other in met {
            let start = self.offsets[other as usize];
            if start != UNPLACED && self.sizes[other as usize] > 0 {
                self.placed.push(Placed {
                    start,
                    end: start + self.sizes[other as usize],
                    first: 0,
                    last: 0,
                });
            }
        }
        self.placed.sort_unstable_by_key(|placed| placed.start);
        let mut gap = Gap::new(self.sizes[interval as usize], self.aligns[interval as usize]);
        for placed in &self.placed {
            gap.pass(placed.start, placed.end);
        }
        gap.start()
    }

    /// The gap among all placed intervals, kept sorted by offset.
    fn gap_by_scan(&mut self, interval: u32) -> u64 {
        let size = self.sizes[interval as usize];
        let (first, last) = (self.lifetimes.first[interval as usize], self.lifetimes.last[interval as usize]);
        let mut gap = Gap::new(size, self.aligns[interval as usize]);
        for placed in &self.placed {
            if placed.first <= last && first <= placed.last {
                gap.pass(placed.start, placed.end);
            }
        }
        let start = gap.start();
        let position = self.placed.partition_point(|placed| placed.start < start);
        self.placed.insert(position, Placed { start, end: start + size, first, last });
        start
    }
}

/// The smallest gap between occupied ranges passed in order of their start.
struct Gap {
    size: u64,
    align: u64,
    /// Where the free space after everything passed so far begins.
    free: u64,
    best: u64,
    best_room: u64,
}

impl Gap {
    fn new(size: u64, align: u64) -> Self {
        Self { size, align, free: 0, best: UNPLACED, best_room: u64::MAX }
    }

    #[inline]
    fn pass(&mut self, start: u64, end: u64) {
        if start > self.free {
            let from = align_up(self.free, self.align);
            if from + self.size <= start && start - from < self.best_room {
                self.best = from;
                self.best_room = start - from;
            }
        }
        self.free = self.free.max(end);
    }

    fn start(&self) -> u64 {
        if self.best != UNPLACED { self.best } else { align_up(self.free, self.align) }
    }
}
