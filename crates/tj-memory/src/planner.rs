//! Plans for a program whose sizes are known only when it is called.
//!
//! Lifetimes, alignments and storages never change, so they are analysed once. Every tuple of sizes is then
//! packed at bind, in microseconds, verified, and remembered: most programs see few tuples.
//!
//! Greedy packing is not monotone, so a smaller tuple can get a higher peak than a larger one. Where every
//! size has an upper bound and all of them together are representable, the plan at the upper bounds is made
//! once; its offsets hold for every smaller tuple and are used when they need less.

use std::sync::{Arc, Mutex, PoisonError};

use crate::interval::check;
use crate::lifetimes::Lifetimes;
use crate::pack::pack_sizes;
use crate::verify::verify_in_place;
use crate::{Effort, Error, InPlace, Interval, Plan, Storages, pack};

/// How many tuples of sizes are remembered. A lookup compares with each of them, far below the cost of
/// packing.
const MEMO: usize = 16;

/// Sizes and their plan.
type Remembered = (Box<[u64]>, Arc<Plan>);

/// Lifetimes fixed, sizes to come. Shared freely between threads.
///
/// ```
/// use tj_memory::{Interval, Planner};
///
/// // The sizes are upper bounds; `u64::MAX` says that there is none.
/// let planner = Planner::new(&[Interval::new(0, 1, u64::MAX), Interval::new(1, 2, u64::MAX)], &[])?;
/// assert_eq!(planner.plan(&[1024, 64])?.peak, 1088);
/// assert_eq!(planner.plan(&[0, 64])?.peak, 64);
/// # Ok::<(), tj_memory::Error>(())
/// ```
#[derive(Debug)]
pub struct Planner {
    /// As given, with upper bounds as sizes.
    maxima: Vec<Interval>,
    in_place: Vec<InPlace>,
    storages: Storages,
    /// Of the storages.
    lifetimes: Lifetimes,
    maximum: Option<Plan>,
    /// Most recently used last.
    memo: Mutex<Vec<Remembered>>,
}

impl Planner {
    /// Analyses `maxima`, whose sizes are upper bounds, with the in-place pairs the caller has proved safe.
    pub fn new(maxima: &[Interval], in_place: &[InPlace]) -> Result<Self, Error> {
        let lifetimes: Vec<Interval> =
            maxima.iter().map(|interval| Interval { size: 0, ..*interval }).collect();
        check(&lifetimes)?;
        let storages = Storages::new(maxima, in_place)?;
        let merged = storages.merge(maxima);
        let maximum = match pack(&merged, Effort::Compile) {
            Ok(plan) => Some(Plan { offsets: storages.expand(&plan.offsets), ..plan }),
            // Bounds as large as the numbers of an index can be are no bounds for memory.
            Err(Error::TooLarge { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            lifetimes: Lifetimes::new(&merged),
            maxima: maxima.to_vec(),
            in_place: in_place.to_vec(),
            storages,
            maximum,
            memo: Mutex::default(),
        })
    }

    /// The plan at the upper bounds, if there is one: its peak is enough for every call.
    pub fn maximum(&self) -> Option<&Plan> {
        self.maximum.as_ref()
    }

    /// The verified plan for one size an interval.
    pub fn plan(&self, sizes: &[u64]) -> Result<Arc<Plan>, Error> {
        if sizes.len() != self.maxima.len() {
            return Err(Error::Sizes { expected: self.maxima.len(), found: sizes.len() });
        }
        if let Some(plan) = self.recall(sizes) {
            return Ok(plan);
        }
        let intervals: Vec<Interval> =
            self.maxima.iter().zip(sizes).map(|(interval, &size)| Interval { size, ..*interval }).collect();
        check(&intervals)?;
        let mut plan = self.pack(&intervals);
        if let Some(maximum) = self.fitted(sizes)
            && maximum.peak < plan.peak
        {
            plan = Plan { bound: plan.bound, ..maximum };
        }
        verify_in_place(&intervals, &self.in_place, &plan).map_err(Error::Plan)?;
        let plan = Arc::new(plan);
        self.remember(sizes, &plan);
        Ok(plan)
    }

    fn pack(&self, intervals: &[Interval]) -> Plan {
        let merged = self.storages.merge(intervals);
        let (sizes, aligns): (Vec<u64>, Vec<u64>) =
            merged.iter().map(|storage| (storage.size, storage.align)).unzip();
        let plan = pack_sizes(&self.lifetimes, &sizes, &aligns);
        Plan { offsets: self.storages.expand(&plan.offsets), ..plan }
    }

    /// The plan at the upper bounds with the arena cut to `sizes`, if they are within the bounds.
    fn fitted(&self, sizes: &[u64]) -> Option<Plan> {
        let maximum = self.maximum.as_ref()?;
        let within = sizes.iter().zip(&self.maxima).all(|(&size, maximum)| size <= maximum.size);
        let ends = maximum.offsets.iter().zip(sizes).filter(|&(_, &size)| size > 0);
        within.then(|| Plan {
            peak: ends.map(|(offset, size)| offset + size).max().unwrap_or(0),
            offsets: maximum
                .offsets
                .iter()
                .zip(sizes)
                .map(|(&at, &size)| if size > 0 { at } else { 0 })
                .collect(),
            bound: maximum.bound,
        })
    }

    fn recall(&self, sizes: &[u64]) -> Option<Arc<Plan>> {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        let position = memo.iter().position(|(known, _)| **known == *sizes)?;
        memo[position..].rotate_left(1);
        memo.last().map(|(_, plan)| Arc::clone(plan))
    }

    fn remember(&self, sizes: &[u64], plan: &Arc<Plan>) {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        if memo.len() == MEMO {
            memo.remove(0);
        }
        memo.push((sizes.into(), Arc::clone(plan)));
    }
}
