//! Sorted keys to levels that are lists.
//!
//! Dense levels come first: their cells are numbers that keys give. Then compressed levels: a position begins at each entry
//! that differs from the one before in the level's coordinate or one above. From a level that repeats coordinates on, every
//! entry has a position of its own, and so it has below the last level. Arrays are written in their final widths, in
//! stretches that threads share. O(entries times levels, plus cells of dense levels).

use super::keys::{Key, Layout, Source, for_each_block};
use super::{Indices, Level, checked_positions, for_parts, map_parts, n_parts, part_len, partition, room};
use crate::format::{Format, LeafKind, LevelFormat, LevelKind, Repeats, Width};
use crate::stored::index::with_width;
use crate::{Buffer, TensorError};

/// The levels, and the number of positions of each, of `n` different entries whose keys ascend.
pub(super) fn build<K: Key>(
    entries: &dyn Source<K>,
    n: usize,
    layout: &Layout,
    format: &Format,
    extents: &[usize],
) -> Result<(Vec<Level>, Vec<usize>), TensorError> {
    let (mut levels, mut counts) = (vec![], vec![]);
    let mut above: Starts<K> = Starts::Cells(1);
    for (l, level) in format.levels().iter().enumerate() {
        let (LevelKind::Compressed { repeats, widths, .. } | LevelKind::Singleton { repeats, widths, .. }) =
            level.kind
        else {
            let cells = checked_positions(above.count(n) as u128 * extents[l] as u128)?;
            levels.push(Level::Dense);
            counts.push(cells);
            above = Starts::Cells(cells);
            continue;
        };
        let is_last = l + 1 == format.levels().len();
        let own = if is_last || repeats == Repeats::Repeated || matches!(above, Starts::Each) {
            Starts::Each
        } else {
            Starts::of_changes(entries, n, layout.shift(l))?
        };
        let n_own = own.count(n);
        let of_starts;
        let keys: &dyn Source<K> = match &own {
            Starts::At { keys, .. } => {
                of_starts = &keys[..];
                &of_starts
            }
            Starts::Cells(_) | Starts::Each => entries,
        };
        let positions = match (&above, level.kind) {
            (_, LevelKind::Singleton { .. }) => None,
            (&Starts::Cells(n_cells), _) => {
                let cell = |key: K| (0..l).fold(0, |p, l| p * extents[l] + layout.coordinate(key, l));
                Some(ends_of_cells(n_cells, keys, n_own, widths.position, &cell)?)
            }
            (Starts::At { entries, .. }, _) => {
                Some(Indices::new(&places_among(entries, &own, n_own)?, widths.position)?)
            }
            (Starts::Each, _) => Some(Indices::new(&(0..=n).collect::<Vec<usize>>(), widths.position)?),
        };
        let coordinates = column(keys, n_own, layout, l, extents[l], widths.index)?;
        levels.push(match positions {
            Some(positions) => Level::Compressed { positions, coordinates },
            None => Level::Singleton { coordinates },
        });
        counts.push(n_own);
        above = own;
    }
    Ok((levels, counts))
}

/// Whether levels are dense ones and then lists, with a value for each entry.
pub(super) fn is_buildable(format: &Format) -> bool {
    let lists = |level: &LevelFormat| {
        matches!(level.kind, LevelKind::Compressed { .. } | LevelKind::Singleton { .. })
    };
    let is_dense = |level: &&LevelFormat| level.kind == LevelKind::Dense;
    let n_dense = format.levels().iter().take_while(is_dense).count();
    let inner = &format.levels()[n_dense..];
    format.leaf() == LeafKind::Values && !inner.is_empty() && inner.iter().all(lists)
}

/// Where the positions of a level begin.
enum Starts<K> {
    /// They are cells, some of which have entries.
    Cells(usize),
    /// At some entries, with their keys.
    At { entries: Vec<usize>, keys: Vec<K> },
    /// At every entry.
    Each,
}

impl<K: Key> Starts<K> {
    fn count(&self, n: usize) -> usize {
        match self {
            Starts::Cells(count) => *count,
            Starts::At { entries, .. } => entries.len(),
            Starts::Each => n,
        }
    }

    /// The entries that differ from the one before in the bits from `shift` on.
    fn of_changes(source: &dyn Source<K>, n: usize, shift: u32) -> Result<Starts<K>, TensorError> {
        let parts = map_parts(n, |range| {
            let mut found: Vec<(usize, K)> = vec![];
            let mut before = range.start.checked_sub(1).map(|before| key_at(source, before) >> shift);
            for_each_block(source, range, |start, block| {
                for (at, &key) in (start..).zip(block) {
                    if before.replace(key >> shift) != Some(key >> shift) {
                        found.push((at, key));
                    }
                }
            });
            found
        });
        let count = parts.iter().map(Vec::len).sum();
        let (mut entries, mut keys) = (room(count)?, room(count)?);
        entries.extend(parts.iter().flatten().map(|(at, _)| at));
        keys.extend(parts.iter().flatten().map(|(_, key)| key));
        Ok(Starts::At { entries, keys })
    }
}

/// For each cell, how many of `n` ascending keys lie in cells before it; and their number.
fn ends_of_cells<K: Key>(
    n_cells: usize,
    keys: &dyn Source<K>,
    n: usize,
    width: Option<Width>,
    cell: &(impl Fn(K) -> usize + Sync),
) -> Result<Indices, TensorError> {
    let width = width_of(n, width)?;
    let len = checked_positions(n_cells as u128 + 1)?;
    let mut buffer = Buffer::zeroed(checked_positions(len as u128 * width.bytes() as u128)?)?;
    with_width!(width, T => {
        let positions: &mut [T] = bytemuck::cast_slice_mut(buffer.as_bytes_mut());
        // `positions[c + 1]` is where cell `c` ends.
        let part = n_cells.div_ceil(n_parts(n_cells.max(n))).max(1);
        for_parts(positions[1..].chunks_mut(part).enumerate().collect(), |(i, ends): (usize, &mut [T])| {
            let cells = i * part..i * part + ends.len();
            let first = partition(0, n, |at| cell(key_at(keys, at)) < cells.start);
            let after = partition(first, n, |at| cell(key_at(keys, at)) < cells.end);
            for_each_block(keys, first..after, |start, block| {
                (start + 1..).zip(block).for_each(|(end, &key)| ends[cell(key) - cells.start] = end as T);
            });
            let mut before = first as T;
            for end in ends {
                before = before.max(*end);
                *end = before;
            }
        });
    });
    Ok(Indices::of_buffer(width, len, buffer))
}

/// For each position above, how many of the own ones begin before it; and their number.
fn places_among<K>(above: &[usize], own: &Starts<K>, n_own: usize) -> Result<Vec<usize>, TensorError> {
    let mut positions = room(above.len() + 1)?;
    let mut place = 0;
    for &start in above {
        place = match own {
            Starts::At { entries, .. } => {
                place + entries[place..].iter().take_while(|&&at| at < start).count()
            }
            Starts::Cells(_) | Starts::Each => start,
        };
        positions.push(place);
    }
    positions.push(n_own);
    Ok(positions)
}

fn key_at<K: Key>(source: &dyn Source<K>, at: usize) -> K {
    let mut key = [K::zeroed()];
    source.write(at, &mut key);
    key[0]
}

/// The width asked for, if it holds `max`, or the narrowest of ours.
fn width_of(max: usize, width: Option<Width>) -> Result<Width, TensorError> {
    let width = width.unwrap_or(Width::for_max(max));
    if max > width.max() { Err(TensorError::IndexWidth { value: max, width }) } else { Ok(width) }
}

/// One coordinate of each of `n` keys.
pub(super) fn column<K: Key>(
    keys: &dyn Source<K>,
    n: usize,
    layout: &Layout,
    level: usize,
    extent: usize,
    width: Option<Width>,
) -> Result<Indices, TensorError> {
    let field = layout.field(level);
    let max_within = |range| {
        let mut max = 0;
        for_each_block(keys, range, |_, block| {
            max = block.iter().fold(max, |max, &key| max.max(field.of(key)));
        });
        max
    };
    // Only where coordinates may be too great for the width, or call for a wider one, they are looked at first.
    let enough = width.unwrap_or(Width::U32).max();
    let max = if extent <= enough { 0 } else { map_parts(n, max_within).into_iter().max().unwrap_or(0) };
    let width = width_of(max, width)?;
    let mut buffer = Buffer::zeroed(checked_positions(n as u128 * width.bytes() as u128)?)?;
    with_width!(width, T => {
        let column: &mut [T] = bytemuck::cast_slice_mut(buffer.as_bytes_mut());
        let part = part_len(n);
        for_parts(column.chunks_mut(part).enumerate().collect(), |(i, column): (usize, &mut [T])| {
            let first = i * part;
            for_each_block(keys, first..first + column.len(), |start, block| {
                let to = column[start - first..].iter_mut();
                to.zip(block).for_each(|(to, &key)| *to = field.of(key) as T);
            });
        });
    });
    Ok(Indices::of_buffer(width, n, buffer))
}
