//! Entries to levels.
//!
//! Entries come as one column of coordinates a dimension and a vector of values, in any order. [`assemble`] sorts and merges
//! them through keys (`packed`); if keys cannot hold them, [`by_columns`] does it by comparing columns. Levels that are not
//! lists are built here, for all entries at once, outermost first: what a level needs to know of those above is the
//! position that each entry has there. O(n) for n entries with keys, O(n log n) for others, plus what dense levels span.

use super::expand::{gather, stored_values, take};
use super::{
    Duplicates, Indices, Leaf, Level, Stored, checked_positions, interval, level_coordinate, packed, room,
    sort,
};
use crate::element::private::Raw;
use crate::format::{Edge, Format, LeafKind, LevelKind, Repeats, Widths};
use crate::shape::check_extent;
use crate::stored::check::probe;
use crate::{Buffer, Element, Scalar, Tensor, TensorError, with_dtype};

/// What is to be stored.
pub(super) struct Loose<'a> {
    pub shape: &'a [usize],
    /// One column a dimension, within the shape.
    pub dims: Vec<Indices>,
    /// A vector with a value for each entry.
    pub values: Tensor,
    pub fill: Scalar,
    pub duplicates: Duplicates,
}

/// Builds the levels of a format.
pub(super) fn assemble(loose: Loose<'_>, format: &Format) -> Result<Stored, TensorError> {
    for &extent in loose.shape {
        check_extent(extent, loose.shape, loose.fill.dtype())?;
    }
    match packed::of_columns(loose, format)? {
        Ok(stored) => Ok(stored),
        Err(loose) => by_columns(loose, format),
    }
}

/// As [`assemble`], for coordinates of any size, by sorting columns.
pub(super) fn by_columns(loose: Loose<'_>, format: &Format) -> Result<Stored, TensorError> {
    let Loose { shape, dims, values, fill, duplicates } = loose;
    let n = values.shape()[0];
    let dims: Vec<Vec<usize>> = dims.iter().map(Indices::to_vec).collect();
    let mut columns = level_columns(format, shape, &dims, n)?;
    drop(dims);
    let extents: Vec<usize> = format.levels().iter().map(|level| level.coordinate.extent(shape)).collect();
    let mut values = values.to_contiguous()?;
    if let Some(order) = sort::order(&columns, &extents, n)? {
        for column in &mut columns {
            *column = gather(column, &order)?;
        }
        values = take(&values, &order)?;
    }
    let mut sorted = Sorted::new(columns, values, fill);
    sorted.merge(duplicates, format, shape)?;
    sorted.build_all(format, shape)
}

/// Builds the levels of a format for different entries in their order, with a column for each level.
pub(super) fn build(
    columns: Vec<Vec<usize>>,
    values: Tensor,
    fill: Scalar,
    format: &Format,
    shape: &[usize],
) -> Result<Stored, TensorError> {
    Sorted::new(columns, values, fill).build_all(format, shape)
}

/// The dimensions' coordinates of an entry from those of its levels.
pub(super) fn coordinates_of(
    format: &Format,
    shape: &[usize],
    coordinate: impl Fn(usize) -> usize,
) -> Vec<usize> {
    use crate::Coordinate::{Difference, Dim, Quotient, Remainder};
    let mut indices = vec![0; shape.len()];
    for pass in [0, 1] {
        for (l, level) in format.levels().iter().enumerate() {
            let c = coordinate(l);
            match level.coordinate {
                Dim(dim) if pass == 0 => indices[dim] = c,
                Quotient { dim, by } if pass == 0 => indices[dim] += c * by,
                Remainder { dim, .. } if pass == 0 => indices[dim] += c,
                Difference { dim, minus } if pass == 1 => {
                    indices[dim] = (c + indices[minus]).saturating_sub(shape[minus] - 1);
                }
                Dim(_) | Quotient { .. } | Remainder { .. } | Difference { .. } => {}
            }
        }
    }
    indices
}

fn level_columns(
    format: &Format,
    shape: &[usize],
    dims: &[Vec<usize>],
    n: usize,
) -> Result<Vec<Vec<usize>>, TensorError> {
    let column = |level: &crate::LevelFormat| {
        let mut indices = vec![0; shape.len()];
        let mut column = room(n)?;
        column.extend((0..n).map(|at| {
            indices.iter_mut().zip(dims).for_each(|(index, dim)| *index = dim[at]);
            level_coordinate(level.coordinate, shape, &indices)
        }));
        Ok(column)
    };
    format.levels().iter().map(column).collect()
}

/// Entries in the order of their levels, with the position that each has above the level to be built.
struct Sorted {
    columns: Vec<Vec<usize>>,
    values: Tensor,
    fill: Scalar,
    n_parents: usize,
    /// Never decreasing.
    parents: Vec<usize>,
    /// How many of the positions a reader of the levels so far comes to.
    reached: usize,
}

impl Sorted {
    fn new(columns: Vec<Vec<usize>>, values: Tensor, fill: Scalar) -> Sorted {
        let parents = vec![0; values.shape()[0]];
        Sorted { columns, values, fill, n_parents: 1, parents, reached: 1 }
    }

    fn build_all(mut self, format: &Format, shape: &[usize]) -> Result<Stored, TensorError> {
        let (mut levels, mut counts) = (vec![], vec![]);
        for (l, level) in format.levels().iter().enumerate() {
            let is_last = l + 1 == format.levels().len();
            levels.push(self.build(l, &level.kind, level.coordinate.extent(shape), is_last)?);
            counts.push(self.n_parents);
        }
        let leaf = self.leaf(format.leaf())?;
        Ok(Stored::unchecked(format.clone(), shape, levels, leaf, self.fill)?.with_counts(counts))
    }

    fn n(&self) -> usize {
        self.parents.len()
    }

    /// Leaves one entry for each tuple of coordinates.
    fn merge(&mut self, duplicates: Duplicates, format: &Format, shape: &[usize]) -> Result<(), TensorError> {
        let n = self.n();
        let repeats = |at: usize| super::expand::compare(&self.columns, at - 1, at).is_eq();
        let Some(first) = (1..n).find(|&at| repeats(at)) else { return Ok(()) };
        if let Duplicates::Refuse = duplicates {
            let coordinates = coordinates_of(format, shape, |l| self.columns[l][first]);
            return Err(TensorError::Duplicate { at: first, coordinates });
        }
        let mut kept: Vec<usize> = room(n)?;
        kept.extend((0..n).filter(|&at| at == 0 || !repeats(at)));
        self.values = with_dtype!(self.values.dtype(), T => {
            let from = stored_values::<T>(&self.values);
            let mut buffer = Buffer::zeroed(kept.len() * T::DTYPE.size())?;
            let ends = kept.iter().skip(1).copied().chain([n]);
            for ((to, &start), end) in buffer.stored_mut::<T>().iter_mut().zip(&kept).zip(ends) {
                let add = |sum: T, x: &<T as Raw>::Stored| sum.plus(T::load(*x));
                *to = match duplicates {
                    Duplicates::Last => from[end - 1],
                    Duplicates::Sum | Duplicates::Refuse => {
                        from[start + 1..end].iter().fold(T::load(from[start]), add).store()
                    }
                };
            }
            Tensor::row_major(T::DTYPE, &[kept.len()], buffer)
        });
        for column in &mut self.columns {
            *column = gather(column, &kept)?;
        }
        self.parents.truncate(kept.len());
        Ok(())
    }

    /// Builds one level and moves every entry to its position below.
    fn build(
        &mut self,
        l: usize,
        kind: &LevelKind,
        extent: usize,
        is_last: bool,
    ) -> Result<Level, TensorError> {
        match *kind {
            LevelKind::Dense => {
                self.reached = self.reached.saturating_mul(extent);
                self.spread_over_cells(l, extent)?;
                Ok(Level::Dense)
            }
            LevelKind::Bytemap => {
                self.spread_over_cells(l, extent)?;
                self.reached = self.distinct();
                let mut present = Buffer::zeroed(self.n_parents)?;
                let bytes = present.as_bytes_mut();
                self.parents.iter().for_each(|&cell| bytes[cell] = 1);
                Ok(Level::Bytemap { present: present.into() })
            }
            LevelKind::Bitmap => {
                self.spread_over_cells(l, extent)?;
                self.reached = self.distinct();
                let mut present = Buffer::zeroed(self.n_parents.div_ceil(8))?;
                let bytes = present.as_bytes_mut();
                self.parents.iter().for_each(|&cell| bytes[cell / 8] |= 1 << (cell % 8));
                Ok(Level::Bitmap { present: present.into() })
            }
            LevelKind::Compressed { repeats, widths, .. } => {
                let starts = self.starts(l, repeats);
                let (positions, coordinates) = self.lists(l, &starts, widths)?;
                self.enter(&starts);
                Ok(Level::Compressed { positions, coordinates })
            }
            LevelKind::Singleton { repeats, widths, .. } => {
                // Above it every entry has a position of its own, unless coordinates below repeat.
                let starts = self.starts(l, repeats);
                let coordinates = gather(&self.columns[l], &starts)?;
                let coordinates = Indices::new(&coordinates, widths.index)?;
                self.enter(&starts);
                Ok(Level::Singleton { coordinates })
            }
            LevelKind::Hash { widths } => self.tables(l, extent, widths),
            LevelKind::Runs { widths } => self.runs(l, widths),
            LevelKind::Steps { widths } => self.steps(l, extent, widths),
            LevelKind::Band { widths } => self.band(l, widths),
            LevelKind::Blocks { widths } => self.blocks(l, widths),
            LevelKind::Interval { low, high } => self.interval(l, low, high, extent, is_last),
        }
    }

    /// The number of different positions of entries.
    fn distinct(&self) -> usize {
        usize::from(self.n() > 0) + self.parents.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    fn spread_over_cells(&mut self, l: usize, extent: usize) -> Result<(), TensorError> {
        self.n_parents = checked_positions(self.n_parents as u128 * extent as u128)?;
        let column = &self.columns[l];
        self.parents.iter_mut().zip(column).for_each(|(p, &c)| *p = *p * extent + c);
        Ok(())
    }

    /// The entries that begin a coordinate of level `l`.
    fn starts(&self, l: usize, repeats: Repeats) -> Vec<usize> {
        let column = &self.columns[l];
        let begins = |&at: &usize| {
            at == 0
                || repeats == Repeats::Repeated
                || self.parents[at] != self.parents[at - 1]
                || column[at] != column[at - 1]
        };
        (0..self.n()).filter(begins).collect()
    }

    /// Positions and coordinates of lists whose members begin at some entries.
    fn lists(&self, l: usize, starts: &[usize], widths: Widths) -> Result<(Indices, Indices), TensorError> {
        let positions = self.positions(starts)?;
        let coordinates = gather(&self.columns[l], starts)?;
        Ok((Indices::new(&positions, widths.position)?, Indices::new(&coordinates, widths.index)?))
    }

    /// For each position above, how many of some entries come before it; and their number.
    fn positions(&self, starts: &[usize]) -> Result<Vec<usize>, TensorError> {
        let mut positions: Vec<usize> = room(self.n_parents.saturating_add(1))?;
        positions.resize(self.n_parents + 1, 0);
        starts.iter().for_each(|&at| positions[self.parents[at] + 1] += 1);
        for p in 1..positions.len() {
            positions[p] += positions[p - 1];
        }
        Ok(positions)
    }

    /// Gives the entries from each start to the next the same new position.
    fn enter(&mut self, starts: &[usize]) {
        let ends = starts.iter().skip(1).copied().chain([self.parents.len()]);
        for (position, (&start, end)) in starts.iter().zip(ends).enumerate() {
            self.parents[start..end].fill(position);
        }
        self.n_parents = starts.len();
        self.reached = starts.len();
    }

    /// Tables at most half full. Their slots are in no order, so that the entries are sorted once more.
    fn tables(&mut self, l: usize, extent: usize, widths: Widths) -> Result<Level, TensorError> {
        let starts = self.starts(l, Repeats::Unique);
        let counts = self.positions(&starts)?;
        let slots = |count: usize| if count == 0 { 0 } else { (2 * count).next_power_of_two() };
        let mut positions = vec![0];
        for pair in counts.windows(2) {
            positions.push(positions[positions.len() - 1] + slots(pair[1] - pair[0]));
        }
        let n_slots = positions[self.n_parents];
        // The greatest index marks a free slot, so that the width has to hold one more than coordinates need.
        let width = widths.index.unwrap_or(crate::format::Width::for_max(extent));
        let free = width.max();
        if extent > free {
            return Err(TensorError::IndexWidth { value: extent, width });
        }
        let mut table = room(n_slots)?;
        table.resize(n_slots, free);
        let mut slot_of: Vec<usize> = room(starts.len())?;
        for &at in &starts {
            let (coordinate, parent) = (self.columns[l][at], self.parents[at]);
            let first = positions[parent];
            let slot = probe(coordinate, positions[parent + 1] - first, |s| table[first + s] == free);
            let slot = first + slot.expect("tables are at most half full");
            table[slot] = coordinate;
            slot_of.push(slot);
        }
        let ends: Vec<usize> = starts.iter().skip(1).copied().chain([self.n()]).collect();
        for ((&start, &end), &slot) in starts.iter().zip(&ends).zip(&slot_of) {
            self.parents[start..end].fill(slot);
        }
        self.n_parents = n_slots;
        self.reached = starts.len();
        if let Some(order) = sort::order(std::slice::from_ref(&self.parents), &[n_slots], self.n())? {
            self.parents = gather(&self.parents, &order)?;
            for column in &mut self.columns {
                *column = gather(column, &order)?;
            }
            self.values = take(&self.values, &order)?;
        }
        let positions = Indices::new(&positions, widths.position)?;
        Ok(Level::Hash { positions, coordinates: Indices::new(&table, Some(width))? })
    }

    /// The entries that begin a stretch of neighbouring coordinates; with `by_value`, of equal values.
    fn stretches(&self, l: usize, by_value: bool) -> Vec<usize> {
        let column = &self.columns[l];
        let bytes = self.values.as_bytes().unwrap_or(&[]);
        let size = self.values.dtype().size();
        let value = |at: usize| &bytes[at * size..][..size];
        let begins = |&at: &usize| {
            at == 0
                || self.parents[at] != self.parents[at - 1]
                || column[at] > column[at - 1] + 1
                || (by_value && value(at) != value(at - 1))
        };
        (0..self.n()).filter(begins).collect()
    }

    /// The last entries of stretches that begin at some entries.
    fn lasts(&self, starts: &[usize]) -> Vec<usize> {
        let ends = starts.iter().skip(1).copied().chain([self.n()]);
        ends.filter(|&end| end > 0).map(|end| end - 1).collect()
    }

    fn keep_one_each(&mut self, starts: &[usize]) -> Result<(), TensorError> {
        self.values = take(&self.values, starts)?;
        for column in &mut self.columns {
            *column = gather(column, starts)?;
        }
        self.parents.truncate(starts.len());
        let each: Vec<usize> = (0..starts.len()).collect();
        self.enter(&each);
        Ok(())
    }

    fn runs(&mut self, l: usize, widths: Widths) -> Result<Level, TensorError> {
        let starts = self.stretches(l, true);
        let ends = self.lasts(&starts);
        let ends: Vec<usize> = ends.iter().map(|&at| self.columns[l][at] + 1).collect();
        let (positions, starts_at) = self.lists(l, &starts, widths)?;
        // One width for both: that of the ends, which are greater.
        let ends = Indices::new(&ends, widths.index)?;
        let starts_at = Indices::new(&starts_at.to_vec(), Some(ends.width()))?;
        self.keep_one_each(&starts)?;
        Ok(Level::Runs { positions, starts: starts_at, ends })
    }

    fn steps(&mut self, l: usize, extent: usize, widths: Widths) -> Result<Level, TensorError> {
        let starts = self.stretches(l, true);
        let lasts = self.lasts(&starts);
        let (mut positions, mut ends, mut places): (Vec<usize>, Vec<usize>, Vec<Option<usize>>) =
            (vec![0], vec![], vec![]);
        let mut next = 0;
        for parent in 0..self.n_parents {
            let mut free = 0;
            while next < starts.len() && self.parents[starts[next]] == parent {
                let (first, last) = (self.columns[l][starts[next]], self.columns[l][lasts[next]]);
                if first > free {
                    ends.push(first);
                    places.push(None);
                }
                ends.push(last + 1);
                places.push(Some(starts[next]));
                free = last + 1;
                next += 1;
            }
            if free < extent {
                ends.push(extent);
                places.push(None);
            }
            positions.push(ends.len());
        }
        // Gaps take their value from one more element after the entries, the fill.
        let dtype = self.values.dtype();
        self.values = with_dtype!(dtype, T => {
            let from = stored_values::<T>(&self.values);
            let fill = T::from_scalar(self.fill).expect("the fill has the tensor's type").store();
            let mut buffer = Buffer::zeroed(places.len() * dtype.size())?;
            let to = buffer.stored_mut::<T>();
            to.iter_mut().zip(&places).for_each(|(to, place)| *to = place.map_or(fill, |p| from[p]));
            Tensor::row_major(dtype, &[places.len()], buffer)
        });
        self.columns.clear();
        (self.n_parents, self.reached) = (ends.len(), ends.len());
        self.parents = (0..ends.len()).collect();
        Ok(Level::Steps {
            positions: Indices::new(&positions, widths.position)?,
            ends: Indices::new(&ends, widths.index)?,
        })
    }

    fn band(&mut self, l: usize, widths: Widths) -> Result<Level, TensorError> {
        let mut starts = room(self.n_parents)?;
        starts.resize(self.n_parents, 0);
        let mut lens = starts.clone();
        for (at, &parent) in self.parents.iter().enumerate() {
            let c = self.columns[l][at];
            if lens[parent] == 0 {
                starts[parent] = c;
            }
            lens[parent] = c + 1 - starts[parent];
        }
        let offsets = offsets(&lens)?;
        let column = &self.columns[l];
        self.parents.iter_mut().zip(column).for_each(|(p, &c)| *p = offsets[*p] + c - starts[*p]);
        self.n_parents = offsets[lens.len()];
        self.reached = self.n_parents;
        Ok(Level::Band {
            starts: Indices::new(&starts, widths.index)?,
            offsets: Indices::new(&offsets, widths.position)?,
        })
    }

    fn blocks(&mut self, l: usize, widths: Widths) -> Result<Level, TensorError> {
        let starts = self.stretches(l, false);
        let lasts = self.lasts(&starts);
        let column = &self.columns[l];
        let lens: Vec<usize> = starts.iter().zip(&lasts).map(|(&a, &b)| column[b] + 1 - column[a]).collect();
        let offsets = offsets(&lens)?;
        let (positions, starts_at) = self.lists(l, &starts, widths)?;
        let mut below = room(self.n())?;
        for ((&start, &last), &offset) in starts.iter().zip(&lasts).zip(&offsets) {
            below.extend((start..=last).map(|at| offset + column[at] - column[start]));
        }
        self.parents = below;
        self.n_parents = offsets[lens.len()];
        self.reached = self.n_parents;
        let offsets = Indices::new(&offsets, widths.position)?;
        let positions =
            Indices::new(&positions.to_vec(), Some(Ord::max(offsets.width(), positions.width())))?;
        let offsets = Indices::new(&offsets.to_vec(), Some(positions.width()))?;
        Ok(Level::Blocks { positions, starts: starts_at, offsets })
    }

    /// The entries of each position above must be exactly the interval, with equal values.
    fn interval(
        &mut self,
        l: usize,
        low: Edge,
        high: Edge,
        extent: usize,
        is_last: bool,
    ) -> Result<Level, TensorError> {
        let refuse = |reason: &str| Err(TensorError::Format { reason: format!("level {l}: {reason}") });
        if !is_last {
            return refuse("only an innermost level is converted to an interval");
        }
        let starts = self.stretches(l, true);
        let lasts = self.lasts(&starts);
        let mut seen = 0;
        for (&start, &last) in starts.iter().zip(&lasts) {
            let above = if l == 0 { 0 } else { self.columns[l - 1][start] };
            let (from, to) = interval(low, high, above, extent);
            if (self.columns[l][start], self.columns[l][last] + 1) != (from, to) {
                return refuse("the entries are not those of the interval, with equal values");
            }
            seen += 1;
        }
        // Positions above without entries must have empty intervals; dense levels above have such.
        if seen < self.reached {
            return refuse("some position above the interval has no entries");
        }
        let parents: Vec<usize> = starts.iter().map(|&at| self.parents[at]).collect();
        self.values = take(&self.values, &starts)?;
        self.parents = parents;
        Ok(Level::Interval)
    }

    fn leaf(&self, kind: LeafKind) -> Result<Leaf, TensorError> {
        let dtype = self.values.dtype();
        let n = self.n();
        let covered = n == self.reached || kind == LeafKind::Values;
        let refuse = |reason: &str| Err(TensorError::Format { reason: reason.into() });
        if n == 0 && kind == LeafKind::Iso {
            // Whatever positions there are hold the fill.
            return Ok(Leaf::Iso(self.fill));
        }
        if !covered {
            return refuse("a leaf of one value needs levels that store nothing but entries");
        }
        if kind == LeafKind::Values && n == self.n_parents && is_identity(&self.parents) {
            return Ok(Leaf::Values(self.values.clone()));
        }
        with_dtype!(dtype, T => {
            let from = stored_values::<T>(&self.values);
            match kind {
                LeafKind::Values => {
                    let mut values = Tensor::full([self.n_parents], self.fill)?;
                    let to = values.new_values::<T>();
                    self.parents.iter().zip(from).for_each(|(&p, &x)| to[p] = x);
                    Ok(Leaf::Values(values))
                }
                LeafKind::Iso | LeafKind::Pattern => {
                    let same = |pair: &[<T as Raw>::Stored]| {
                        bytemuck::bytes_of(&pair[0]) == bytemuck::bytes_of(&pair[1])
                    };
                    if !from.windows(2).all(same) {
                        return refuse("a leaf of one value needs equal values");
                    }
                    let value = from.first().map(|&x| T::load(x).into_scalar());
                    if kind == LeafKind::Iso {
                        return Ok(Leaf::Iso(value.unwrap_or(self.fill)));
                    }
                    match (value, self.fill) {
                        (None | Some(Scalar::Bool(true)), Scalar::Bool(false)) => Ok(Leaf::Pattern),
                        _ => refuse("a pattern holds true in false"),
                    }
                }
            }
        })
    }
}

fn is_identity(positions: &[usize]) -> bool {
    positions.iter().enumerate().all(|(i, &p)| i == p)
}

/// Running sums, from 0.
fn offsets(lens: &[usize]) -> Result<Vec<usize>, TensorError> {
    let mut offsets = room(lens.len() + 1)?;
    let mut sum = 0u128;
    offsets.push(0);
    for &len in lens {
        sum += len as u128;
        offsets.push(checked_positions(sum)?);
    }
    Ok(offsets)
}
