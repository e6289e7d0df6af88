//! Tensors that are stored by levels: their arrays, and what is true of them.
//!
//! [`Stored`] is a [`Format`] with data: a [`Level`] for each level, a [`Leaf`], and the fill. These invariants are checked
//! once, when a tensor is made (`stored/check.rs`), so that no reader and no compiled kernel needs a check of its own:
//!
//! 1. positions start at 0, never decrease, and end at the length of the array they point into;
//! 2. coordinates lie below the level's extent; in ordered lists they increase within a fiber (or stay, where they repeat);
//!    stretches do not overlap;
//! 3. every element is stored at most once;
//! 4. the leaf has a value for every position.
//!
//! Storing an element that equals the fill is allowed; [`Tensor::nnz`] does not count it, and conversions drop it.
//!
//! In reading order: `index` (arrays of indices), `check`; `keys` (entries as numbers), `source` (where keys come from),
//! `radix` (their order), `lists` (keys to levels), `spread` (keys to strided arrays), `packed` (the way through keys);
//! `expand`, `sort` and `assemble`, the way through columns for what keys cannot hold and for levels that are no lists;
//! `count` (elements of levels without arrays), `stretches` (where tensors that keep runs are constant), `remap` (views and
//! moves), `convert` (what users call), `remember` (conversions made before), `degrees` (what a planner counts), `print`.

mod assemble;
mod check;
mod convert;
mod count;
mod degrees;
mod expand;
mod index;
mod keys;
mod lists;
mod packed;
pub(crate) mod print;
mod radix;
mod remap;
mod remember;
mod sort;
mod source;
mod spread;
mod stretches;
mod values;

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};

use crate::format::{Coordinate, Edge, Format, LevelKind};
use crate::{Buffer, DType, Scalar, Tensor, TensorError};

pub use convert::Duplicates;
pub(crate) use convert::stored_eq;
pub use degrees::Spread;
pub use index::Indices;
use remember::Remembered;
pub use stretches::Stretches;

/// The data of one level; [`LevelKind`] says what the arrays mean.
#[derive(Clone, Debug)]
pub enum Level {
    /// Nothing.
    Dense,
    /// Where each fiber's list starts (and the last one ends), and the lists.
    Compressed {
        /// One more than there are positions above.
        positions: Indices,
        /// The lists, one after the other.
        coordinates: Indices,
    },
    /// A coordinate for each position above.
    Singleton {
        /// One for each position above.
        coordinates: Indices,
    },
    /// A byte, 0 or 1, for each cell.
    Bytemap {
        /// Positions above times the extent bytes.
        present: Arc<Buffer>,
    },
    /// A bit for each cell, the lowest first, in bytes.
    Bitmap {
        /// Positions above times the extent bits, rounded up to whole bytes.
        present: Arc<Buffer>,
    },
    /// Where each fiber's table starts, and the tables: powers of two of slots, free ones holding the greatest index.
    Hash {
        /// One more than there are positions above.
        positions: Indices,
        /// The tables, one after the other.
        coordinates: Indices,
    },
    /// Where each fiber's stretches start, and the stretches.
    Runs {
        /// One more than there are positions above.
        positions: Indices,
        /// The first coordinate of each.
        starts: Indices,
        /// The coordinate after the last of each.
        ends: Indices,
    },
    /// Where each fiber's stretches start, and the stretches, each starting where the one before ends.
    Steps {
        /// One more than there are positions above.
        positions: Indices,
        /// The coordinate after the last of each.
        ends: Indices,
    },
    /// The one stretch of each fiber.
    Band {
        /// The first coordinate, one for each position above.
        starts: Indices,
        /// Where its values start; one more than there are positions above.
        offsets: Indices,
    },
    /// Where each fiber's stretches start, the stretches, and where their values start.
    Blocks {
        /// One more than there are positions above.
        positions: Indices,
        /// The first coordinate of each.
        starts: Indices,
        /// One more than there are stretches.
        offsets: Indices,
    },
    /// Nothing.
    Interval,
}

/// The values of the last level's positions.
#[derive(Clone)]
pub enum Leaf {
    /// One each: a tensor of rank 1.
    Values(Tensor),
    /// The same for all.
    Iso(Scalar),
    /// `true` for all.
    Pattern,
}

/// A tensor stored by levels, without what a strided tensor has, too. See the module for its invariants.
pub struct Stored {
    format: Format,
    shape: Vec<usize>,
    /// Of each level's coordinate.
    extents: Vec<usize>,
    levels: Vec<Level>,
    /// `counts[l]` is the number of positions that level `l` gives to the one below.
    counts: Vec<usize>,
    leaf: Leaf,
    dtype: DType,
    fill: Scalar,
    nnz: OnceLock<usize>,
    stores_fill: OnceLock<bool>,
    is_finite: OnceLock<bool>,
    degrees: degrees::Degrees,
    remembered: Remembered,
}

/// Some neighbouring coordinates of a fiber.
#[derive(Clone, Copy)]
struct Segment {
    start: usize,
    len: usize,
    /// The position of the first.
    child: usize,
    /// Whether the others follow, each with a position of its own, or share the first's.
    each: bool,
}

impl Stored {
    /// The levels without their data.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The levels' data, outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The number of coordinates of a level: of a dimension its size.
    pub fn extent(&self, level: usize) -> usize {
        self.extents[level]
    }

    /// The number of positions that a level gives to the one below.
    pub fn positions_below(&self, level: usize) -> usize {
        self.counts[level]
    }

    /// The number of positions of the leaf.
    pub fn leaf_positions(&self) -> usize {
        self.counts.last().copied().unwrap_or(1)
    }

    /// The values.
    pub fn leaf(&self) -> &Leaf {
        &self.leaf
    }

    /// The value of what is not stored.
    pub fn fill(&self) -> Scalar {
        self.fill
    }

    fn value_at(&self, position: usize) -> Scalar {
        match &self.leaf {
            Leaf::Values(values) => values.get(&[position]).expect("the leaf has a value for every position"),
            Leaf::Iso(value) => *value,
            Leaf::Pattern => Scalar::Bool(true),
        }
    }

    /// The element at coordinates within the shape.
    pub(crate) fn get(&self, indices: &[usize]) -> Scalar {
        // Where coordinates repeat there are several candidates until the last level has spoken.
        let mut candidates: SmallVec<[usize; 4]> = smallvec![0];
        let mut above = 0;
        for (l, level) in self.format.levels().iter().enumerate() {
            let coordinate = level_coordinate(level.coordinate, &self.shape, indices);
            let found = candidates.iter().flat_map(|&p| self.find(l, p, above, coordinate));
            candidates = found.collect();
            above = coordinate;
        }
        candidates.first().map_or(self.fill, |&position| self.value_at(position))
    }

    /// The positions below that a coordinate of a fiber has.
    fn find(&self, l: usize, p: usize, above: usize, coordinate: usize) -> SmallVec<[usize; 4]> {
        if let Level::Compressed { positions, coordinates } = &self.levels[l]
            && self.format.levels()[l].kind.is_ordered()
        {
            let (low, high) = (positions.get(p), positions.get(p + 1));
            let first = partition(low, high, |q| coordinates.get(q) < coordinate);
            let after = partition(first, high, |q| coordinates.get(q) <= coordinate);
            return (first..after).collect();
        }
        let mut found = SmallVec::new();
        self.segments(l, p, above, |segment| {
            if (segment.start..segment.start + segment.len).contains(&coordinate) {
                let step = if segment.each { coordinate - segment.start } else { 0 };
                found.push(segment.child + step);
            }
        });
        found
    }

    /// The stretches of the fiber of level `l` at a position, in stored order; `above` is the coordinate of the level above.
    fn segments(&self, l: usize, p: usize, above: usize, mut f: impl FnMut(Segment)) {
        let extent = self.extents[l];
        let one = |start, child| Segment { start, len: 1, child, each: true };
        match &self.levels[l] {
            Level::Dense => f(Segment { start: 0, len: extent, child: p * extent, each: true }),
            Level::Compressed { positions, coordinates } => {
                (positions.get(p)..positions.get(p + 1)).for_each(|q| f(one(coordinates.get(q), q)));
            }
            Level::Singleton { coordinates } => f(one(coordinates.get(p), p)),
            Level::Bytemap { present } => {
                let cells = &present.as_bytes()[p * extent..][..extent];
                let set = cells.iter().enumerate().filter(|(_, byte)| **byte != 0);
                set.for_each(|(i, _)| f(one(i, p * extent + i)));
            }
            Level::Bitmap { present } => {
                let bytes = present.as_bytes();
                let set = (0..extent).filter(|i| {
                    let cell = p * extent + i;
                    bytes[cell / 8] >> (cell % 8) & 1 != 0
                });
                set.for_each(|i| f(one(i, p * extent + i)));
            }
            Level::Hash { positions, coordinates } => {
                let free = coordinates.width().max();
                let slots = positions.get(p)..positions.get(p + 1);
                let taken = slots.filter(|&slot| coordinates.get(slot) != free);
                taken.for_each(|slot| f(one(coordinates.get(slot), slot)));
            }
            Level::Runs { positions, starts, ends } => {
                for run in positions.get(p)..positions.get(p + 1) {
                    let start = starts.get(run);
                    f(Segment { start, len: ends.get(run) - start, child: run, each: false });
                }
            }
            Level::Steps { positions, ends } => {
                let mut start = 0;
                for run in positions.get(p)..positions.get(p + 1) {
                    let end = ends.get(run);
                    f(Segment { start, len: end - start, child: run, each: false });
                    start = end;
                }
            }
            Level::Band { starts, offsets } => {
                let child = offsets.get(p);
                let len = offsets.get(p + 1) - child;
                f(Segment { start: starts.get(p), len, child, each: true });
            }
            Level::Blocks { positions, starts, offsets } => {
                for block in positions.get(p)..positions.get(p + 1) {
                    let child = offsets.get(block);
                    let len = offsets.get(block + 1) - child;
                    f(Segment { start: starts.get(block), len, child, each: true });
                }
            }
            Level::Interval => {
                let LevelKind::Interval { low, high } = self.format.levels()[l].kind else { return };
                let (start, end) = interval(low, high, above, extent);
                f(Segment { start, len: end - start, child: p, each: false });
            }
        }
    }
}

/// The bounds of an interval within a level of some extent; the second is not below the first.
fn interval(low: Edge, high: Edge, above: usize, extent: usize) -> (usize, usize) {
    let edge = |edge| match edge {
        Edge::Start => 0,
        Edge::End => extent,
        Edge::At(at) => at.min(extent),
        Edge::Above(by) => (above as i128 + by as i128).clamp(0, extent as i128) as usize,
    };
    let (start, end) = (edge(low), edge(high));
    (start, end.max(start))
}

/// The first of `low..high` of which `before` does not hold; it holds of a prefix.
fn partition(mut low: usize, mut high: usize, before: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// A level's coordinate of an element.
fn level_coordinate(coordinate: Coordinate, shape: &[usize], indices: &[usize]) -> usize {
    match coordinate {
        Coordinate::Dim(dim) => indices[dim],
        Coordinate::Quotient { dim, by } => indices[dim] / by,
        Coordinate::Remainder { dim, by } => indices[dim] % by,
        Coordinate::Difference { dim, minus } => indices[dim] + (shape[minus] - 1) - indices[minus],
    }
}

/// A count of positions that memory can hold.
fn checked_positions(count: u128) -> Result<usize, TensorError> {
    match usize::try_from(count) {
        Ok(count) if count <= isize::MAX as usize => Ok(count),
        _ => Err(TensorError::OutOfMemory { bytes: usize::MAX }),
    }
}

/// From this many entries on, work is shared among threads: that is some tens of microseconds.
const PARALLEL: usize = 1 << 15;

/// The number of parts in which to do some work.
fn n_parts(work: usize) -> usize {
    if work < PARALLEL { 1 } else { rayon::current_num_threads() }
}

/// The length of the parts in which to do something for each of `n` entries.
fn part_len(n: usize) -> usize {
    n.div_ceil(n_parts(n)).max(1)
}

/// Calls `f` for each part, on threads of the pool if there are several.
fn for_parts<T: Send>(parts: Vec<T>, f: impl Fn(T) + Sync) {
    if parts.len() <= 1 {
        return parts.into_iter().for_each(f);
    }
    // Each part is taken once. The indirection keeps the pool's code from being built for every type of part.
    let parts: Vec<Mutex<Option<T>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    in_pool(parts.len(), &|i| {
        let part = parts[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        part.into_iter().for_each(&f);
    });
}

/// Calls `f` for the ranges of a part each that together are `0..n`; returns what it gives, in order.
fn map_parts<R: Send>(n: usize, f: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let part = part_len(n);
    let ranges = (0..n).step_by(part).map(|start| start..(start + part).min(n));
    let mut results: Vec<(Range<usize>, Option<R>)> = ranges.map(|range| (range, None)).collect();
    for_parts(results.iter_mut().collect(), |(range, result)| *result = Some(f(range.clone())));
    results.into_iter().filter_map(|(_, result)| result).collect()
}

fn in_pool(n: usize, f: &(dyn Fn(usize) + Sync)) {
    (0..n).into_par_iter().for_each(f);
}

/// An empty vector with room, or an error.
fn room<T>(n: usize) -> Result<Vec<T>, TensorError> {
    let mut values = Vec::new();
    let bytes = n.saturating_mul(size_of::<T>());
    values.try_reserve_exact(n).map_err(|_| TensorError::OutOfMemory { bytes })?;
    Ok(values)
}

#[cfg(test)]
mod tests;
