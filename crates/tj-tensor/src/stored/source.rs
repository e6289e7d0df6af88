//! Keys of what there is: columns of coordinates, lists of levels, cells of a dense array.
//!
//! Each writes keys of any block of entries without the others, in time proportional to the block (and to finding its
//! start), so that threads can share the work.

use super::keys::{Array, Key, Layout, Source};
use super::{Indices, Level, Stored, partition};
use crate::TensorError;
use crate::format::{Coordinate, Format, LevelKind};
use crate::stored::index::with_width;

/// Entries with a column of coordinates for each dimension.
pub(super) struct Columns<'a> {
    dims: &'a [Indices],
    shape: &'a [usize],
    /// What a key holds, and where.
    fields: Vec<(Coordinate, u32)>,
}

impl<'a> Columns<'a> {
    pub fn new(dims: &'a [Indices], shape: &'a [usize], format: &Format, layout: &Layout) -> Columns<'a> {
        let field = |(l, level): (usize, &crate::LevelFormat)| (level.coordinate, layout.shift(l));
        Columns { dims, shape, fields: format.levels().iter().enumerate().map(field).collect() }
    }
}

impl<K: Key> Source<K> for Columns<'_> {
    fn write(&self, start: usize, keys: &mut [K]) {
        keys.fill(K::of(0));
        for &(coordinate, shift) in &self.fields {
            match coordinate {
                Coordinate::Dim(dim) => add(keys, &self.dims[dim], start, |c| K::of(c) << shift),
                Coordinate::Quotient { dim, by } => {
                    add(keys, &self.dims[dim], start, |c| K::of(c / by) << shift);
                }
                Coordinate::Remainder { dim, by } => {
                    add(keys, &self.dims[dim], start, |c| K::of(c % by) << shift);
                }
                Coordinate::Difference { dim, minus } => {
                    // Without entries nothing is written, so that there is a last coordinate.
                    let last = self.shape[minus] - 1;
                    add(keys, &self.dims[dim], start, |c| K::of(c) << shift);
                    add(keys, &self.dims[minus], start, |c| K::of(last - c) << shift);
                }
            }
        }
    }
}

/// Adds a part of each key that one column decides.
fn add<K: Key>(keys: &mut [K], column: &Indices, start: usize, part: impl Fn(usize) -> K) {
    with_width!(column.width(), T => {
        let column = &bytemuck::cast_slice::<u8, T>(column.as_bytes())[start..][..keys.len()];
        keys.iter_mut().zip(column).for_each(|(key, &c)| *key = *key + part(c as usize));
    });
}

/// The positions of a leaf under dense levels, compressed ones and singletons, which are its entries.
pub(super) struct Lists<'a, K> {
    stored: &'a Stored,
    shifts: Vec<u32>,
    /// The innermost level that is not a singleton.
    base: usize,
    above: Above<K>,
}

/// The keys of the positions above a level.
enum Above<K> {
    /// Those of dense levels: extents and shifts.
    Cells(Vec<(usize, u32)>),
    Table(Array<K>),
}

impl<K: Key> Above<K> {
    fn key(&self, position: usize) -> K {
        match self {
            Above::Table(keys) => keys[position],
            Above::Cells(levels) => match levels[..] {
                [] => K::of(0),
                [(_, shift)] => K::of(position) << shift,
                _ => {
                    let mut rest = position;
                    levels.iter().rev().fold(K::of(0), |key, &(extent, shift)| {
                        let coordinate = rest % extent;
                        rest /= extent;
                        key + (K::of(coordinate) << shift)
                    })
                }
            },
        }
    }
}

/// Whether every position of the leaf is an entry under coordinates of its own.
pub(super) fn are_lists(format: &Format) -> bool {
    format.levels().iter().all(|level| {
        let lists = matches!(
            level.kind,
            LevelKind::Dense | LevelKind::Compressed { .. } | LevelKind::Singleton { .. }
        );
        lists && matches!(level.coordinate, Coordinate::Dim(_))
    })
}

impl<'a, K: Key> Lists<'a, K> {
    /// For levels that are lists; `shifts` says where each dimension's coordinate goes.
    pub fn new(stored: &'a Stored, shifts: impl Fn(usize) -> u32) -> Result<Lists<'a, K>, TensorError> {
        let shift = |level: &crate::LevelFormat| match level.coordinate {
            Coordinate::Dim(dim) => shifts(dim),
            Coordinate::Quotient { .. } | Coordinate::Remainder { .. } | Coordinate::Difference { .. } => 0,
        };
        let shifts: Vec<u32> = stored.format.levels().iter().map(shift).collect();
        let is_dense = |level: &&Level| matches!(level, Level::Dense);
        let n_dense = stored.levels.iter().take_while(is_dense).count();
        let mut lists = Lists { stored, shifts, base: 0, above: Above::Cells(vec![]) };
        lists.enter(n_dense.min(stored.levels.len().saturating_sub(1)));
        loop {
            let end = (lists.base + 1..stored.levels.len()).find(|&l| !lists.is_singleton(l));
            let Some(end) = end else { return Ok(lists) };
            let mut keys = Array::zeroed(stored.counts[end - 1])?;
            lists.write_to(0, &mut keys, end);
            (lists.base, lists.above) = (end, Above::Table(keys));
        }
    }

    fn enter(&mut self, base: usize) {
        let dense = (0..base).map(|l| (self.stored.extents[l], self.shifts[l]));
        (self.base, self.above) = (base, Above::Cells(dense.collect()));
    }

    fn is_singleton(&self, l: usize) -> bool {
        matches!(self.stored.levels[l], Level::Singleton { .. })
    }

    /// The keys of positions of the levels before `end`, of which those after the base are singletons.
    fn write_to(&self, start: usize, keys: &mut [K], end: usize) {
        let Some(base) = self.stored.levels.get(self.base) else { return keys.fill(K::of(0)) };
        if keys.is_empty() {
            return;
        }
        if let Level::Compressed { positions, .. } = base {
            // Where a fiber begins stands by how much its key is greater than the one before; sums of these are the keys.
            // Fibers are mostly short, and a loop over each would end in a branch that cannot be foretold.
            let stop = start + keys.len();
            let fiber = partition(0, positions.len(), |p| positions.get(p) <= start) - 1;
            with_width!(positions.width(), T => {
                let positions = bytemuck::cast_slice::<u8, T>(positions.as_bytes());
                keys.fill(K::of(0));
                let mut before = self.above.key(fiber);
                keys[0] = before;
                let begins = (fiber + 1..).zip(positions[fiber + 1..].iter().map(|&p| p as usize));
                for (fiber, at) in begins.take_while(|&(_, at)| at < stop) {
                    let key = self.above.key(fiber);
                    keys[at - start] = keys[at - start].plus(key.minus(before));
                    before = key;
                }
            });
            let mut sum = K::of(0);
            for key in keys.iter_mut() {
                sum = sum.plus(*key);
                *key = sum;
            }
        } else {
            runs(&self.above, self.stored.extents[self.base], self.shifts[self.base], start, keys);
        }
        for l in self.base..end {
            if let Level::Compressed { coordinates, .. } | Level::Singleton { coordinates } =
                &self.stored.levels[l]
            {
                let shift = self.shifts[l];
                add(keys, coordinates, start, |c| K::of(c) << shift);
            }
        }
    }
}

impl<K: Key> Source<K> for Lists<'_, K> {
    fn write(&self, start: usize, keys: &mut [K]) {
        self.write_to(start, keys, self.stored.levels.len());
    }
}

/// The cells of an array, row-major; there are some.
pub(super) struct Cells {
    /// The extent of each dimension, and where its coordinate goes.
    pub dims: Vec<(usize, u32)>,
}

impl<K: Key> Source<K> for Cells {
    fn write(&self, start: usize, keys: &mut [K]) {
        let Some((&(extent, shift), outer)) = self.dims.split_last() else { return keys.fill(K::of(0)) };
        runs(&Above::Cells(outer.to_vec()), extent, shift, start, keys);
    }
}

/// The keys of the positions of a dense level.
fn runs<K: Key>(above: &Above<K>, extent: usize, shift: u32, start: usize, keys: &mut [K]) {
    if keys.is_empty() {
        return;
    }
    let (mut fiber, mut first, mut rest) = (start / extent, start % extent, keys);
    while !rest.is_empty() {
        let (run, after) = rest.split_at_mut((extent - first).min(rest.len()));
        let base = above.key(fiber);
        run.iter_mut().zip(first..).for_each(|(key, c)| *key = base + (K::of(c) << shift));
        (fiber, first, rest) = (fiber + 1, 0, after);
    }
}

/// Whether levels that are lists are in the order of their coordinates.
pub(super) fn is_ordered(format: &Format) -> bool {
    format.levels().iter().all(|level| level.kind.is_ordered())
}
