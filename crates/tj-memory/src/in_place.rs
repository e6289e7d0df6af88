//! Outputs that take over the storage of an input that dies.
//!
//! The caller has proved that a step may write an output over one of its inputs. Here that becomes a union:
//! the members of a chain of such pairs form one *storage* with the first step of the earliest, the last step
//! of the latest, the largest size and the strictest alignment, and it is storages that get packed.
//!
//! Invariant: a storage is a chain. Each interval gives its bytes to at most one output and takes them from
//! at most one input, and the input's last step is the output's first, so that no two members are ever live
//! together except at the step that turns one into the other.

use crate::{Error, Interval};

/// A pair of intervals that may share bytes at the one step where they meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InPlace {
    /// The interval that dies.
    pub input: usize,
    /// The interval that begins at that step.
    pub output: usize,
}

/// Which storage each interval lives in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storages {
    of: Vec<u32>,
    count: usize,
}

impl Storages {
    /// Unites the intervals of every pair.
    ///
    /// ```
    /// use tj_memory::{Effort, InPlace, Interval, Storages, pack};
    ///
    /// let intervals = [Interval::new(0, 1, 256), Interval::new(1, 2, 256)];
    /// let storages = Storages::new(&intervals, &[InPlace { input: 0, output: 1 }])?;
    /// let plan = pack(&storages.merge(&intervals), Effort::Bind)?;
    /// assert_eq!(plan.peak, 256);
    /// assert_eq!(storages.expand(&plan.offsets), [0, 0]);
    /// # Ok::<(), tj_memory::Error>(())
    /// ```
    pub fn new(intervals: &[Interval], pairs: &[InPlace]) -> Result<Self, Error> {
        let mut donor: Vec<Option<usize>> = vec![None; intervals.len()];
        let mut given = vec![false; intervals.len()];
        for &InPlace { input, output } in pairs {
            let fits = intervals.get(input).zip(intervals.get(output)).is_some_and(|(from, to)| {
                // An input born at that very step would be written and overwritten by one step.
                from.last == to.first && from.first < to.first
            });
            if !fits || given[input] || donor[output].is_some() {
                return Err(Error::InPlace { input, output });
            }
            given[input] = true;
            donor[output] = Some(input);
        }
        // An input starts before its output, so by first step every donor is numbered before its heir.
        let mut by_first: Vec<usize> = (0..intervals.len()).collect();
        by_first.sort_by_key(|&interval| intervals[interval].first);
        let mut of = vec![0; intervals.len()];
        let mut count = 0;
        for interval in by_first {
            of[interval] = match donor[interval] {
                Some(donor) => of[donor],
                None => {
                    count += 1;
                    count as u32 - 1
                }
            };
        }
        Ok(Self { of, count })
    }

    /// How many storages there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The storage of `interval`.
    pub fn of(&self, interval: usize) -> usize {
        self.of[interval] as usize
    }

    /// One interval a storage: what to pack.
    pub fn merge(&self, intervals: &[Interval]) -> Vec<Interval> {
        let mut merged: Vec<Option<Interval>> = vec![None; self.count];
        for (interval, &storage) in intervals.iter().zip(&self.of) {
            let merged = merged[storage as usize].get_or_insert(*interval);
            merged.first = merged.first.min(interval.first);
            merged.last = merged.last.max(interval.last);
            merged.size = merged.size.max(interval.size);
            merged.align = merged.align.max(interval.align);
        }
        merged.into_iter().flatten().collect()
    }

    /// Offsets of storages as offsets of intervals.
    pub fn expand(&self, offsets: &[u64]) -> Vec<u64> {
        self.of.iter().map(|&storage| offsets[storage as usize]).collect()
    }
}
