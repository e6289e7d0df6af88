//! How long each kernel of a call took, for calls that ask.
//!
//! From the first piece that begins to the last one that ends, on whatever threads: what a user waits for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::program::Program;

/// Begin and end of each kernel, in nanoseconds.
pub(crate) struct KernelClock {
    since: Instant,
    kernels: Vec<(AtomicU64, AtomicU64)>,
}

impl KernelClock {
    pub fn new(program: &Program) -> KernelClock {
        let never = || (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        KernelClock { since: Instant::now(), kernels: program.kernels.iter().map(|_| never()).collect() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub fn begin(&self, kernel: usize) {
        self.kernels[kernel].0.fetch_min(self.now(), Ordering::Relaxed);
    }

    pub fn end(&self, kernel: usize) {
        self.kernels[kernel].1.fetch_max(self.now(), Ordering::Relaxed);
    }

    /// Name and time of each kernel, in the order in which they ran; nothing for one that had nothing to do.
    pub fn times(&self, program: &Program) -> Vec<(String, Duration)> {
        let each = program.kernels.iter().zip(&self.kernels);
        each.filter_map(|(lowered, (begin, end))| {
            let time = end.load(Ordering::Relaxed).checked_sub(begin.load(Ordering::Relaxed))?;
            Some((lowered.kernel.name.clone(), Duration::from_nanos(time)))
        })
        .collect()
    }
}
