//! Sorted keys to levels that are lists.
//!
//! Dense levels come first: their cells are numbers that keys give. Then compressed levels: a position begins at each entry
//! that differs from the one before in the level's coordinate or one above. From a level that repeats coordinates on, every
//! entry has a position of its own, and so it has below the last level. Arrays are written in their final widths, in
//! stretches that threads share. O(entries times levels, plus cells of dense levels).

use super::keys::{Key, Layout};
use super::{Indices, Level, checked_positions, for_parts, map_parts, n_parts, part_len, partition, room};
use crate::format::{Format, LeafKind, LevelFormat, LevelKind, Repeats, Width};
use crate::stored::index::with_width;
use crate::{Buffer, TensorError};

/// The levels, and the number of positions of each.
pub(super) fn build<K: Key>(
    keys: &[K],
    layout: &Layout,
    format: &Format,
    extents: &[usize],
) -> Result<(Vec<Level>, Vec<usize>), TensorError> {
    let n = keys.len();
    let (mut levels, mut counts) = (vec![], vec![]);
    let mut above = Starts::Cells(1);
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
            Starts::At(starts(keys, layout.shift(l))?)
        };
        let n_own = own.count(n);
        let positions = match (&above, level.kind) {
            (_, LevelKind::Singleton { .. }) => None,
            (&Starts::Cells(n_cells), _) => {
                let cell = |k: usize| {
                    let key = keys[own.at(k)];
                    (0..l).fold(0, |p, l| p * extents[l] + layout.coordinate(key, l))
                };
                Some(of_cells(n_cells, n_own, widths.position, cell)?)
            }
            (Starts::At(above), _) => Some(of_starts(above, &own, n_own, widths.position)?),
            (Starts::Each, _) => Some(collect(n + 1, n, widths.position, |k| k)?),
        };
        let coordinate = |k: usize| layout.coordinate(keys[own.at(k)], l);
        let coordinates = collect(n_own, extents[l], widths.index, coordinate)?;
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
enum Starts {
    /// They are cells, some of which have entries.
    Cells(usize),
    /// At some entries.
    At(Vec<usize>),
    /// At every entry.
    Each,
}

impl Starts {
    fn count(&self, n: usize) -> usize {
        match self {
            Starts::Cells(n) => *n,
            Starts::At(starts) => starts.len(),
            Starts::Each => n,
        }
    }

    /// The entry at which a position begins.
    #[inline]
    fn at(&self, position: usize) -> usize {
        match self {
            Starts::At(starts) => starts[position],
            Starts::Cells(_) | Starts::Each => position,
        }
    }
}

/// The entries that differ from the one before in the bits from `shift` on.
fn starts<K: Key>(keys: &[K], shift: u32) -> Result<Vec<usize>, TensorError> {
    let begins = |&at: &usize| at == 0 || keys[at] >> shift != keys[at - 1] >> shift;
    let mut starts = room((0..keys.len()).filter(begins).count())?;
    starts.extend((0..keys.len()).filter(begins));
    Ok(starts)
}

/// For each cell, how many of `n` positions lie in cells before it; and their number. Cells of positions never decrease.
fn of_cells(
    n_cells: usize,
    n: usize,
    width: Option<Width>,
    cell: impl Fn(usize) -> usize + Sync,
) -> Result<Indices, TensorError> {
    let width = width_of(n, width)?;
    let len = checked_positions(n_cells as u128 + 1)?;
    let mut buffer = Buffer::zeroed(checked_positions(len as u128 * width.bytes() as u128)?)?;
    with_width!(width, T => {
        let positions: &mut [T] = bytemuck::cast_slice_mut(buffer.as_bytes_mut());
        // `positions[c + 1]` is where cell `c` ends.
        let ends = &mut positions[1..];
        let part = n_cells.div_ceil(n_parts(n_cells.max(n))).max(1);
        for_parts(ends.chunks_mut(part).enumerate().collect(), |(i, ends): (usize, &mut [T])| {
            let first_cell = i * part;
            let first = partition(0, n, |at| cell(at) < first_cell);
            for at in first..n {
                match ends.get_mut(cell(at) - first_cell) {
                    Some(end) => *end = (at + 1) as T,
                    None => break,
                }
            }
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
fn of_starts(
    above: &[usize],
    own: &Starts,
    n_own: usize,
    width: Option<Width>,
) -> Result<Indices, TensorError> {
    let Starts::At(own) = own else {
        return collect(above.len() + 1, n_own, width, |k| above.get(k).copied().unwrap_or(n_own));
    };
    let mut positions = room(above.len() + 1)?;
    let mut own_before = 0;
    for &start in above {
        while own[own_before] < start {
            own_before += 1;
        }
        positions.push(own_before);
    }
    positions.push(n_own);
    Indices::new(&positions, width)
}

/// The width asked for, if it holds `max`, or the narrowest of ours.
fn width_of(max: usize, width: Option<Width>) -> Result<Width, TensorError> {
    let width = width.unwrap_or(Width::for_max(max));
    if max > width.max() { Err(TensorError::IndexWidth { value: max, width }) } else { Ok(width) }
}

/// Indices that are at most `bound`, one for each number below `n`.
pub(super) fn collect(
    n: usize,
    bound: usize,
    width: Option<Width>,
    index: impl Fn(usize) -> usize + Sync,
) -> Result<Indices, TensorError> {
    let enough = width.unwrap_or(Width::U32);
    let max = if bound <= enough.max() {
        0
    } else {
        map_parts(n, |range| range.map(&index).max()).into_iter().flatten().max().unwrap_or(0)
    };
    let width = width_of(max, width)?;
    let mut buffer = Buffer::zeroed(checked_positions(n as u128 * width.bytes() as u128)?)?;
    with_width!(width, T => {
        let indices: &mut [T] = bytemuck::cast_slice_mut(buffer.as_bytes_mut());
        let part = part_len(n);
        for_parts(indices.chunks_mut(part).enumerate().collect(), |(i, indices): (usize, &mut [T])| {
            indices.iter_mut().zip(i * part..).for_each(|(to, at)| *to = index(at) as T);
        });
    });
    Ok(Indices::of_buffer(width, n, buffer))
}
