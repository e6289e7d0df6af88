//! All entries of a tensor, as columns.
//!
//! Level by level: each fiber of each entry found so far gives the entries of the next level, and the columns of the levels
//! above repeat along. Time and memory are proportional to the entries times the number of levels; a run counts as the
//! elements it covers.

use std::cmp::Ordering;
use std::ops::Range;

use super::{Leaf, Segment, Stored, for_parts, part_len, room};
use crate::format::Coordinate;
use crate::{Buffer, DType, Element, Scalar, Tensor, TensorError, with_dtype};

/// Entries with the coordinates of their levels.
pub(super) struct Entries {
    /// One column a level.
    pub levels: Vec<Vec<usize>>,
    /// One column a dimension.
    pub dims: Vec<Vec<usize>>,
    /// The position of each in the leaf.
    pub positions: Vec<usize>,
}

impl Entries {
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// The coordinates of one entry.
    pub fn coordinates(&self, at: usize) -> Vec<usize> {
        self.dims.iter().map(|column| column[at]).collect()
    }

    /// Compares two entries by the coordinates of their levels, outermost first.
    pub fn compare(&self, a: usize, b: usize) -> Ordering {
        compare(&self.levels, a, b)
    }

    /// The first entry that is smaller than the one before, if there is one.
    pub fn levels_ordered(&self) -> Option<usize> {
        (1..self.len()).find(|&at| self.compare(at - 1, at).is_gt())
    }
}

/// Compares two rows of columns.
pub(super) fn compare(columns: &[Vec<usize>], a: usize, b: usize) -> Ordering {
    let differing = columns.iter().map(|column| column[a].cmp(&column[b]));
    differing.fold(Ordering::Equal, Ordering::then)
}

impl Stored {
    /// All entries in stored order, without the padding of blocks.
    pub(super) fn entries(&self) -> Result<Entries, TensorError> {
        self.entries_within(&[])
    }

    /// The entries whose dimensions lie within bounds (all, where none are given), without visiting others where a level
    /// of the dimension itself shows it.
    pub(super) fn entries_within(&self, bounds: &[Range<usize>]) -> Result<Entries, TensorError> {
        let mut levels: Vec<Vec<usize>> = vec![];
        let mut positions = vec![0];
        for l in 0..self.levels.len() {
            let above = levels.last().cloned();
            let above_of = |entry: usize| above.as_ref().map_or(0, |column| column[entry]);
            let bound = match self.format.levels()[l].coordinate {
                Coordinate::Dim(dim) => bounds.get(dim).cloned(),
                Coordinate::Quotient { .. }
                | Coordinate::Remainder { .. }
                | Coordinate::Difference { .. } => None,
            };
            let cut = |segment: Segment| match &bound {
                Some(bound) => segment.within(bound),
                None => segment,
            };
            let mut count = 0usize;
            for (entry, &p) in positions.iter().enumerate() {
                self.segments(l, p, above_of(entry), |segment| {
                    count = count.saturating_add(cut(segment).len);
                });
            }
            let mut from: Vec<usize> = room(count)?;
            let mut column: Vec<usize> = room(count)?;
            let mut children: Vec<usize> = room(count)?;
            for (entry, &p) in positions.iter().enumerate() {
                self.segments(l, p, above_of(entry), |segment| {
                    let Segment { start, len, child, each } = cut(segment);
                    from.extend(std::iter::repeat_n(entry, len));
                    column.extend(start..start + len);
                    match each {
                        true => children.extend(child..child + len),
                        false => children.extend(std::iter::repeat_n(child, len)),
                    }
                });
            }
            for column in &mut levels {
                *column = gather(column, &from)?;
            }
            levels.push(column);
            positions = children;
        }
        self.with_dims(levels, positions, bounds)
    }

    /// Coordinates of dimensions from those of levels; what lies beyond a dimension goes.
    fn with_dims(
        &self,
        levels: Vec<Vec<usize>>,
        positions: Vec<usize>,
        bounds: &[Range<usize>],
    ) -> Result<Entries, TensorError> {
        let formats = self.format.levels();
        let column_of = |wanted: Coordinate| formats.iter().position(|level| level.coordinate == wanted);
        let mut dims: Vec<Option<Vec<usize>>> = vec![None; self.shape.len()];
        let mut inside = vec![true; positions.len()];
        let bound_of = |dim: usize| bounds.get(dim).cloned().unwrap_or(0..self.shape[dim]);
        // Differences need the dimension they count down from, which has a level of its own.
        for pass in [0, 1] {
            for (level, column) in formats.iter().zip(&levels) {
                let (dim, values): (usize, Vec<usize>) = match level.coordinate {
                    Coordinate::Dim(dim) if pass == 0 => (dim, column.clone()),
                    Coordinate::Quotient { dim, by } if pass == 0 => {
                        let remainder = column_of(Coordinate::Remainder { dim, by });
                        let within = &levels[remainder.expect("a format has both or neither")];
                        (dim, column.iter().zip(within).map(|(q, r)| q * by + r).collect())
                    }
                    Coordinate::Difference { dim, minus } if pass == 1 => {
                        let down = dims[minus].as_ref().expect("it has a level of its own");
                        let last = self.shape[minus].saturating_sub(1);
                        // What would be negative wraps, and is beyond the extent.
                        let value = |(c, i): (&usize, &usize)| (c + i).wrapping_sub(last);
                        (dim, column.iter().zip(down).map(value).collect())
                    }
                    Coordinate::Dim(_)
                    | Coordinate::Quotient { .. }
                    | Coordinate::Remainder { .. }
                    | Coordinate::Difference { .. } => continue,
                };
                let bound = bound_of(dim);
                inside.iter_mut().zip(&values).for_each(|(inside, value)| *inside &= bound.contains(value));
                dims[dim] = Some(values);
            }
        }
        let dims = dims.into_iter().map(|column| column.expect("a format gives every dimension")).collect();
        let mut entries = Entries { levels, dims, positions };
        if inside.contains(&false) {
            entries.retain(&inside);
        }
        Ok(entries)
    }

    /// The values of all positions, as a contiguous vector.
    pub(super) fn leaf_values(&self) -> Result<Tensor, TensorError> {
        match &self.leaf {
            Leaf::Values(values) => values.to_contiguous(),
            Leaf::Iso(value) => Tensor::full([self.leaf_positions()], *value),
            Leaf::Pattern => Tensor::full([self.leaf_positions()], true),
        }
    }

    /// The values of some positions, as a vector.
    pub(super) fn gather_values(&self, positions: &[usize]) -> Result<Tensor, TensorError> {
        match &self.leaf {
            Leaf::Values(values) => with_dtype!(self.dtype, T => {
                let values = values.to_contiguous()?;
                let from = stored_values::<T>(&values);
                let mut buffer = Buffer::zeroed(positions.len() * T::DTYPE.size())?;
                let to = buffer.stored_mut::<T>();
                to.iter_mut().zip(positions).for_each(|(to, &p)| *to = from[p]);
                Ok(Tensor::row_major(self.dtype, &[positions.len()], buffer))
            }),
            Leaf::Iso(value) => Tensor::full([positions.len()], *value),
            Leaf::Pattern => Tensor::full([positions.len()], true),
        }
    }
}

impl Segment {
    fn within(self, bound: &Range<usize>) -> Segment {
        let start = self.start.max(bound.start);
        let end = (self.start + self.len).min(bound.end).max(start);
        let step = if self.each { start - self.start } else { 0 };
        Segment { start, len: end - start, child: self.child + step, each: self.each }
    }
}

impl Entries {
    pub(super) fn retain(&mut self, keep: &[bool]) {
        let columns = self.levels.iter_mut().chain(&mut self.dims).chain([&mut self.positions]);
        columns.for_each(|column| retain(column, keep));
    }

    /// Drops the entries whose values are the fill, and their values with them.
    pub fn without_fill(mut self, values: Tensor, fill: Scalar) -> Result<(Entries, Tensor), TensorError> {
        let keep = differs(&values, fill)?;
        if !keep.contains(&false) {
            return Ok((self, values));
        }
        self.retain(&keep);
        let places: Vec<usize> = (0..keep.len()).filter(|&i| keep[i]).collect();
        let values = take(&values, &places)?;
        Ok((self, values))
    }
}

/// Which values of a vector are not the fill: bits differ, and not both are NaN.
pub(super) fn differs(values: &Tensor, fill: Scalar) -> Result<Vec<bool>, TensorError> {
    let values = values.to_contiguous()?;
    let mut differs = room(values.shape()[0])?;
    differs.resize(values.shape()[0], false);
    with_dtype!(fill.dtype(), T => write_differs::<T>(stored_values::<T>(&values), fill, &mut differs));
    Ok(differs)
}

fn write_differs<T: Element>(values: &[T::Stored], fill: Scalar, differs: &mut [bool]) {
    let part = part_len(differs.len());
    let parts = differs.chunks_mut(part).zip(values.chunks(part)).collect();
    let bits = T::from_scalar(fill).expect("the type is the scalar's own").store();
    for_parts(parts, |(differs, values): (&mut [bool], &[T::Stored])| {
        let pairs = differs.iter_mut().zip(values);
        if is_nan(fill) {
            let is_fill = |&x: &T::Stored| crate::read::same_number(T::load(x).into_scalar(), fill);
            pairs.for_each(|(differs, x)| *differs = !is_fill(x));
        } else {
            pairs.for_each(|(differs, x)| *differs = !same_bits(x, &bits));
        }
    });
}

/// Whether two values have the same bits: one comparison for all types of up to eight bytes, of which the size is known here.
pub(super) fn same_bits<P: bytemuck::NoUninit>(a: &P, b: &P) -> bool {
    let (a, b) = (bytemuck::bytes_of(a), bytemuck::bytes_of(b));
    match (a, b) {
        ([a], [b]) => a == b,
        (&[a, a1], &[b, b1]) => u16::from_ne_bytes([a, a1]) == u16::from_ne_bytes([b, b1]),
        (&[a, a1, a2, a3], &[b, b1, b2, b3]) => {
            u32::from_ne_bytes([a, a1, a2, a3]) == u32::from_ne_bytes([b, b1, b2, b3])
        }
        (&[a, a1, a2, a3, a4, a5, a6, a7], &[b, b1, b2, b3, b4, b5, b6, b7]) => {
            u64::from_ne_bytes([a, a1, a2, a3, a4, a5, a6, a7])
                == u64::from_ne_bytes([b, b1, b2, b3, b4, b5, b6, b7])
        }
        (a, b) => a == b,
    }
}

/// Whether a contiguous vector has an element that equals a scalar.
pub(super) fn holds(values: &Tensor, scalar: Scalar) -> bool {
    with_dtype!(scalar.dtype(), T => any_equal::<T>(stored_values::<T>(values), scalar))
}

fn any_equal<T: Element>(values: &[T::Stored], scalar: Scalar) -> bool {
    let wanted = T::from_scalar(scalar).expect("the type is the scalar's own");
    let any = |range: Range<usize>| match is_nan(scalar) {
        true => values[range].iter().any(|&x| crate::read::same_number(T::load(x).into_scalar(), scalar)),
        // Without a way out, so that it is a loop over vectors.
        false => values[range].iter().fold(false, |any, &x| any | (T::load(x) == wanted)),
    };
    super::map_parts(values.len(), any).contains(&true)
}

/// Whether every value of a contiguous tensor is finite.
pub(super) fn finite(values: &Tensor) -> bool {
    // Those that there are many of, as loops over vectors.
    if let Some(values) = values.as_slice::<f32>() {
        return all_parts(values, f32::is_finite);
    }
    if let Some(values) = values.as_slice::<f64>() {
        return all_parts(values, f64::is_finite);
    }
    with_dtype!(values.dtype(), T => all_finite::<T>(stored_values::<T>(values)))
}

fn all_finite<T: Element>(values: &[T::Stored]) -> bool {
    let is_finite =
        |x: Scalar| matches!(x.cast(DType::C128), Scalar::C128(x) if x.re.is_finite() && x.im.is_finite());
    let may_be_other = T::DTYPE.is_float() || T::DTYPE.is_complex();
    !may_be_other || all_parts(values, |x| is_finite(T::load(x).into_scalar()))
}

/// Whether something holds of all values. Without a way out.
fn all_parts<T: Copy + Sync>(values: &[T], holds: impl Fn(T) -> bool + Sync) -> bool {
    let all = |range: Range<usize>| values[range].iter().fold(true, |all, &x| all & holds(x));
    !super::map_parts(values.len(), all).contains(&false)
}

fn is_nan(x: Scalar) -> bool {
    matches!(x.cast(DType::C128), Scalar::C128(x) if x.re.is_nan() || x.im.is_nan())
}

/// The values of a contiguous vector.
pub(super) fn stored_values<T: Element>(values: &Tensor) -> &[T::Stored] {
    bytemuck::cast_slice(values.as_bytes().unwrap_or(&[]))
}

/// Some elements of a vector.
pub(super) fn take(values: &Tensor, places: &[usize]) -> Result<Tensor, TensorError> {
    let values = values.to_contiguous()?;
    with_dtype!(values.dtype(), T => {
        let from = stored_values::<T>(&values);
        let mut buffer = Buffer::zeroed(places.len() * T::DTYPE.size())?;
        buffer.stored_mut::<T>().iter_mut().zip(places).for_each(|(to, &p)| *to = from[p]);
        Ok(Tensor::row_major(values.dtype(), &[places.len()], buffer))
    })
}

pub(super) fn gather(column: &[usize], places: &[usize]) -> Result<Vec<usize>, TensorError> {
    let mut gathered = room(places.len())?;
    gathered.extend(places.iter().map(|&place| column[place]));
    Ok(gathered)
}

fn retain(column: &mut Vec<usize>, keep: &[bool]) {
    let mut kept = keep.iter();
    column.retain(|_| *kept.next().unwrap_or(&false));
}
