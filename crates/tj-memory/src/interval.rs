//! The question and the answer: intervals to place, and where they went.

use crate::Error;

/// Alignment of an interval unless its maker says otherwise: a cache line, and the widest vector load.
pub const DEFAULT_ALIGN: u64 = 64;

/// No arena grows beyond this, because no allocation in Rust may (`isize::MAX` on 64-bit machines).
pub const MAX_BYTES: u64 = i64::MAX as u64;

/// A buffer that exists from step `first` to step `last`, both included.
///
/// Two intervals may share bytes if and only if they have no step in common. An interval of zero bytes
/// shares with everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The step that writes it first.
    pub first: u64,
    /// The step that reads it last; never before `first`.
    pub last: u64,
    /// How many bytes it holds.
    pub size: u64,
    /// Its offset is a multiple of this power of two.
    pub align: u64,
}

impl Interval {
    /// An interval of `size` bytes over the inclusive steps `first..=last` with [`DEFAULT_ALIGN`].
    pub const fn new(first: u64, last: u64, size: u64) -> Self {
        Self { first, last, size, align: DEFAULT_ALIGN }
    }

    /// The same interval with another alignment.
    pub const fn with_align(self, align: u64) -> Self {
        Self { align, ..self }
    }

    /// Whether the two share a step.
    pub const fn meets(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Where every interval went.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Plan {
    /// One offset an interval, in input order; 0 for an interval of zero bytes.
    pub offsets: Vec<u64>,
    /// Bytes the arena needs: the highest end of any interval.
    pub peak: u64,
    /// Bytes live at the worst step, with the padding no placement can avoid: no plan has a lower peak.
    pub bound: u64,
}

/// Checks what every entry point relies on: powers of two, lifetimes that run forward, and sums that cannot
/// overflow wherever an interval is put.
pub(crate) fn check(intervals: &[Interval]) -> Result<(), Error> {
    if u32::try_from(intervals.len()).is_err() {
        return Err(Error::TooMany { count: intervals.len() });
    }
    let mut room = MAX_BYTES;
    for (index, &Interval { first, last, size, align }) in intervals.iter().enumerate() {
        if !align.is_power_of_two() {
            return Err(Error::Alignment { interval: index, align });
        }
        if last < first {
            return Err(Error::Lifetime { interval: index, first, last });
        }
        // An offset is raised by less than `align`, whatever lies below it.
        if size > 0 {
            let needed = size.checked_add(align - 1);
            room = needed
                .and_then(|needed| room.checked_sub(needed))
                .ok_or(Error::TooLarge { interval: index, size })?;
        }
    }
    Ok(())
}

/// The first multiple of `align`, a power of two, at or above `offset`.
pub(crate) const fn align_up(offset: u64, align: u64) -> u64 {
    (offset + (align - 1)) & !(align - 1)
}
