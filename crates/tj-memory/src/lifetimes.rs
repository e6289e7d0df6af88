//! Who meets whom, independent of sizes.
//!
//! Problem: placing an interval needs the placed intervals it meets, by offset. Comparing it with all of them
//! is quadratic, which is fine for a hundred and not for a hundred thousand.
//!
//! Idea: steps matter only through their order, so they are replaced by *sections*. The set of live intervals
//! only gains members until one of them ends, so one section stands for all steps up to an end. Intervals
//! sorted by first section turn "meets and starts later" into a contiguous run, whose lengths add up to the
//! number of meetings without looking at any pair. When meetings are few, each interval gets the list of
//! those it meets; when they are many, lists would be as long as everything and packing scans instead.
//!
//! Cost: O(n log n), plus O(meetings) when lists are kept.

use crate::Interval;

/// Lists are kept while the average interval meets fewer than one in this many of all others. Walking a list
/// and sorting it by offset costs about six times as much an entry as scanning intervals already in order.
const SCAN_FACTOR: usize = 12;

/// Lifetimes in sections, and nothing more.
pub(crate) struct Sections {
    /// First section of each interval.
    pub(crate) first: Vec<u32>,
    /// Last section of each interval, included.
    pub(crate) last: Vec<u32>,
    /// How many sections there are.
    pub(crate) count: usize,
}

impl Sections {
    pub(crate) fn new(intervals: &[Interval]) -> Self {
        // The latest start up to each end: there the live set is as large as it gets before the end.
        let mut starts: Vec<u64> = intervals.iter().map(|interval| interval.first).collect();
        starts.sort_unstable();
        let latest = |step: u64| starts[starts.partition_point(|&start| start <= step) - 1];
        let mut fullest: Vec<u64> = intervals.iter().map(|interval| latest(interval.last)).collect();
        fullest.sort_unstable();
        fullest.dedup();
        // An interval is live in the sections from its start to its end; the latest start before the end is
        // one.
        let first = |interval: &Interval| fullest.partition_point(|&step| step < interval.first) as u32;
        let last = |interval: &Interval| fullest.partition_point(|&step| step <= interval.last) as u32 - 1;
        Self {
            first: intervals.iter().map(first).collect(),
            last: intervals.iter().map(last).collect(),
            count: fullest.len(),
        }
    }
}

/// Lifetimes in sections, and the meetings between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lifetimes {
    /// First section of each interval.
    pub(crate) first: Vec<u32>,
    /// Last section of each interval, included.
    pub(crate) last: Vec<u32>,
    /// How many sections there are.
    pub(crate) sections: usize,
    /// How many pairs of intervals meet.
    pub(crate) meetings: usize,
    lists: Option<Lists>,
}

/// For each interval those it meets, as one array cut at `starts`.
#[derive(Clone, Debug)]
struct Lists {
    starts: Vec<usize>,
    members: Vec<u32>,
}

impl Lifetimes {
    /// Reads the lifetimes of intervals that passed `interval::check`.
    pub(crate) fn new(intervals: &[Interval]) -> Self {
        let Sections { first, last, count } = Sections::new(intervals);
        let mut lifetimes = Self { first, last, sections: count, meetings: 0, lists: None };
        lifetimes.meet();
        lifetimes
    }

    /// The intervals that `interval` meets in no particular order, or `None` if they are too many to list.
    pub(crate) fn met_by(&self, interval: u32) -> Option<&[u32]> {
        self.lists.as_ref().map(|lists| {
            let interval = interval as usize;
            &lists.members[lists.starts[interval]..lists.starts[interval + 1]]
        })
    }

    /// An estimate of the time to place all intervals once, in units of about a nanosecond.
    pub(crate) fn work(&self) -> usize {
        let n = self.first.len();
        let pairs = if self.lists.is_some() { SCAN_FACTOR / 2 * self.meetings } else { n * n / 2 };
        pairs + 100 * n
    }

    fn meet(&mut self) {
        let n = self.first.len();
        // `before[s]` is how many intervals start in a section before `s`.
        let mut before = vec![0usize; self.sections + 1];
        for &section in &self.first {
            before[section as usize + 1] += 1;
        }
        for section in 0..self.sections {
            before[section + 1] += before[section];
        }
        let mut cursor = before.clone();
        let mut by_first = vec![0u32; n];
        for (interval, &section) in self.first.iter().enumerate() {
            by_first[cursor[section as usize]] = interval as u32;
            cursor[section as usize] += 1;
        }
        // Those after position `p` in `by_first` that start no later than this interval ends.
        let run =
            |position: usize, interval: u32| position + 1..before[self.last[interval as usize] as usize + 1];
        self.meetings =
            by_first.iter().enumerate().map(|(position, &interval)| run(position, interval).len()).sum();
        if self.meetings > n * n / SCAN_FACTOR {
            return;
        }
        let mut starts = vec![0usize; n + 1];
        for (position, &interval) in by_first.iter().enumerate() {
            let run = run(position, interval);
            starts[interval as usize + 1] += run.len();
            for &other in &by_first[run] {
                starts[other as usize + 1] += 1;
            }
        }
        for interval in 0..n {
            starts[interval + 1] += starts[interval];
        }
        let mut cursor = starts.clone();
        let mut members = vec![0u32; 2 * self.meetings];
        let mut push = |interval: u32, member: u32| {
            members[cursor[interval as usize]] = member;
            cursor[interval as usize] += 1;
        };
        for (position, &interval) in by_first.iter().enumerate() {
            for &other in &by_first[run(position, interval)] {
                push(interval, other);
                push(other, interval);
            }
        }
        self.lists = Some(Lists { starts, members });
    }
}
