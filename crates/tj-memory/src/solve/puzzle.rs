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

/// Intervals with bytes that are connected in time.
#[derive(Debug)]
pub(crate) struct Puzzle {
    /// The position of each piece among all intervals.
    pub(crate) intervals: Vec<usize>,
    pub(super) unit: u64,
    /// Whether units lose nothing, so that an exhausted search is a proof.
    pub(super) exact: bool,
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
    /// The size before it was padded to a whole unit.
    pub(super) bytes: u64,
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
    /// The puzzle of some of `all` intervals, for arenas of at most `capacity` bytes.
    pub(super) fn new(all: &[Interval], intervals: Vec<usize>, capacity: u64) -> Self {
        let chosen: Vec<Interval> = intervals.iter().map(|&interval| all[interval]).collect();
        let (unit, exact) = unit(&chosen, capacity);
        let Sections { first, last, count } = Sections::new(&chosen);
        let pieces = chosen.iter().zip(first.iter().zip(&last)).map(|(interval, (&first, &last))| Piece {
            first,
            last,
            size: interval.size.div_ceil(unit) as u32,
            align: interval.align.div_ceil(unit).min(MAX_ALIGN) as u32,
            bytes: interval.size,
        });
        let pieces: Vec<Piece> = pieces.collect();
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
            let mut met = members.of(first as usize).to_vec();
            met.extend(arrivals[first as usize + 1..=last as usize].iter().flatten());
            met.retain(|&other| other as usize != piece);
            met
        }));
        Self { intervals, unit, exact, sections: count, pieces, members, meets }
    }

    /// An estimate of the time for one alternative, in units of about a nanosecond: choosing looks at every
    /// section, and placing a piece touches the lifetimes of all that it meets.
    pub(crate) fn cost(&self) -> u64 {
        let length = |&piece: &u32| {
            u64::from(self.pieces[piece as usize].last - self.pieces[piece as usize].first) + 1
        };
        let touched = self.meets.items.iter().map(length).sum::<u64>() / self.pieces.len().max(1) as u64;
        1200 + 2 * self.sections as u64 + touched
    }

    /// An arena of `capacity` bytes in units, rounded up, and the highest offset of each piece in it. `None`
    /// if a piece is larger than the arena.
    pub(super) fn arena(&self, capacity: u64) -> Option<(u32, Vec<u32>)> {
        let highest = |piece: &Piece| Some((capacity.checked_sub(piece.bytes)? / self.unit) as u32);
        let ceilings = self.pieces.iter().map(highest).collect::<Option<_>>()?;
        Some((capacity.div_ceil(self.unit) as u32, ceilings))
    }
}

/// The unit for sizes, and whether it loses nothing.
fn unit(intervals: &[Interval], capacity: u64) -> (u64, bool) {
    let finest = intervals.iter().map(|interval| interval.align).min().unwrap_or(1);
    let coarsest = intervals.iter().map(|interval| interval.align).max().unwrap_or(1);
    let divisor = intervals.iter().map(|interval| align_up(interval.size, finest)).fold(0, gcd);
    let exact = if divisor.is_multiple_of(coarsest) { divisor } else { finest };
    let mut unit = exact;
    while capacity / unit >= MAX_UNITS {
        unit *= 2;
    }
    (unit, unit == exact)
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
