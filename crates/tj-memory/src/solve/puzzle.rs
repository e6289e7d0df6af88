//! The question of the exact search: one stretch of time, sizes in units.
//!
//! Sizes and offsets are counted in the largest unit that loses nothing. A bottom-justified placement puts
//! every interval on top of another, so offsets are sums of sizes: if all sizes, padded to the smallest
//! alignment, have a common divisor that respects every alignment, it is the unit and alignments are gone.
//! Otherwise the smallest alignment is the unit.

use crate::Interval;
use crate::interval::align_up;
use crate::lifetimes::Sections;

/// Offsets must leave room for sums, and for a mark above all of them.
const MAX_UNITS: u64 = 1 << 30;

/// An alignment above the capacity leaves offset 0, and so does this one.
const MAX_ALIGN: u64 = 1 << 31;

/// Intervals with bytes that are connected in time, and how high they may reach.
#[derive(Debug)]
pub(super) struct Puzzle {
    pub(super) unit: u64,
    /// Whether units lose nothing, so that an exhausted search is a proof.
    pub(super) exact: bool,
    /// Height of the arena, padded to a whole unit.
    pub(super) capacity: u32,
    pub(super) sections: usize,
    pub(super) pieces: Vec<Piece>,
    /// Pieces live in each section.
    pub(super) members: Lists,
    /// Pieces that each piece meets.
    pub(super) meets: Lists,
}

/// An interval in units and sections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) size: u32,
    pub(super) align: u32,
    /// The highest offset at which it ends within the arena.
    pub(super) ceiling: u32,
}

impl Piece {
    pub(super) fn sections(&self) -> std::ops::RangeInclusive<usize> {
        self.first as usize..=self.last as usize
    }

    pub(super) fn covers(&self, section: usize) -> bool {
        self.sections().contains(&section)
    }
}

/// Lists of numbers in one allocation.
#[derive(Debug)]
pub(super) struct Lists {
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Lists {
    fn collect<I: IntoIterator<Item = u32>>(lists: impl Iterator<Item = I>) -> Self {
        let mut collected = Self { starts: vec![0], items: Vec::new() };
        for list in lists {
            collected.items.extend(list);
            collected.starts.push(collected.items.len());
        }
        collected
    }

    pub(super) fn of(&self, key: usize) -> &[u32] {
        &self.items[self.starts[key]..self.starts[key + 1]]
    }
}

impl Puzzle {
    /// `None` if some interval is larger than the arena. All intervals have bytes.
    pub(super) fn new(intervals: &[Interval], capacity: u64) -> Option<Self> {
        let finest = intervals.iter().map(|interval| interval.align).min()?;
        let coarsest = intervals.iter().map(|interval| interval.align).max()?;
        let divisor = intervals.iter().map(|interval| align_up(interval.size, finest)).fold(0, gcd);
        let mut unit = if divisor % coarsest == 0 { divisor } else { finest };
        let mut exact = true;
        while capacity / unit >= MAX_UNITS {
            unit *= 2;
            exact = false;
        }
        let Sections { first, last, count } = Sections::new(intervals);
        let pieces = intervals.iter().zip(first.iter().zip(&last));
        let pieces = pieces.map(|(interval, (&first, &last))| {
            Some(Piece {
                first,
                last,
                size: interval.size.div_ceil(unit) as u32,
                align: interval.align.div_ceil(unit).min(MAX_ALIGN) as u32,
                ceiling: (capacity.checked_sub(interval.size)? / unit) as u32,
            })
        });
        let pieces: Vec<Piece> = pieces.collect::<Option<_>>()?;
        let mut arrivals: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (piece, &section) in first.iter().enumerate() {
            arrivals[section as usize].push(piece as u32);
        }
        let mut live: Vec<u32> = Vec::new();
        let members = Lists::collect((0..count).map(|section| {
            live.retain(|&piece| pieces[piece as usize].covers(section));
            live.extend(&arrivals[section]);
            live.clone()
        }));
        let meets = Lists::collect((0..pieces.len()).map(|piece| {
            let Piece { first, last, .. } = pieces[piece];
            let early = members.of(first as usize).iter();
            let late = arrivals[first as usize + 1..=last as usize].iter().flatten();
            early.chain(late).copied().filter(move |&other| other as usize != piece)
        }));
        let capacity = capacity.div_ceil(unit) as u32;
        Some(Self { unit, exact, capacity, sections: count, pieces, members, meets })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
