//! Stretches on which none of several tensors changes.
//!
//! **Problem.** What is computed element by element of tensors that keep runs is constant where none of them changes. To
//! compute it there once takes as long as there are runs, however long they are.
//!
//! **Idea.** The ends of all runs are merged, fiber by fiber. That gives stretches, and for each tensor a vector with its value
//! on each of them ([`Stretches::values`]): of what is not stored, its fill. Whoever computes a value for each stretch gets a
//! tensor back ([`Stretches::tensor`]). Behind the stretches there is one more place, where every tensor has its fill, so that
//! what is computed there is the fill of the result. Stretches on which no tensor stores anything are left out: there the
//! result is its fill, too.
//!
//! **Result.** If all tensors keep steps, so does the result; else it keeps runs, without those that are the fill. Neighbours
//! with the same bits become one, so that results of results have no more runs than they need.
//!
//! **Cost.** Linear in runs times tensors, and in fibers.

use super::expand::{differs, stored_values, take};
use super::{Indices, Leaf, Level, Stored, room};
use crate::element::private::Raw;
use crate::format::{Coordinate, Format, LeafKind, LevelFormat, LevelKind, Width, Widths};
use crate::{Buffer, Element, Scalar, Tensor, TensorError, with_dtype};

/// The place of a tensor that stores nothing on a stretch.
const GAP: usize = usize::MAX;

/// Where tensors of one shape have one value each.
///
/// ```
/// use tj_tensor::{Stretches, Tensor};
/// let stored = |x: Vec<i64>, format: &str| Tensor::from(x).with_format(&format.parse()?);
/// let x = stored(vec![0, 0, 5, 5, 5, 0, 0, 0], "{d0: runs}")?;
/// let y = stored(vec![7, 7, 7, 8, 8, 8, 0, 0], "{d0: runs}")?;
/// let stretches = Stretches::of(&[&x, &y])?;
/// assert_eq!(stretches.values(0)?.to_vec::<i64>()?, [0, 5, 5, 0, 0]);
/// assert_eq!(stretches.values(1)?.to_vec::<i64>()?, [7, 7, 8, 8, 0]);
/// let sums = stretches.tensor(&Tensor::from(vec![7i64, 12, 13, 8, 0]), None)?;
/// assert_eq!(sums.to_vec::<i64>()?, [7, 7, 12, 13, 13, 8, 0, 0]);
/// # Ok::<(), tj_tensor::TensorError>(())
/// ```
pub struct Stretches<'t> {
    tensors: Vec<&'t Stored>,
    /// Where the stretches of each fiber start, and where those of the last one end.
    positions: Vec<usize>,
    /// The first coordinate of each stretch, and the one after its last.
    bounds: Vec<(usize, usize)>,
    /// For each stretch, the position in the leaf of each tensor.
    places: Vec<usize>,
}

impl Format {
    /// The dimensions in the order of the levels, if the last level keeps runs or steps and all above it are dense: then a
    /// tensor is constant on stretches of the last of these dimensions.
    ///
    /// ```
    /// use tj_tensor::Format;
    /// let format: Format = "{d1: dense, d0: runs}".parse()?;
    /// assert_eq!(format.stretched(), Some(vec![1, 0]));
    /// assert_eq!(Format::csr().stretched(), None);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    pub fn stretched(&self) -> Option<Vec<usize>> {
        let (last, above) = self.levels().split_last()?;
        let dense = above.iter().all(|level| level.kind == LevelKind::Dense);
        if !dense || !matches!(last.kind, LevelKind::Runs { .. } | LevelKind::Steps { .. }) {
            return None;
        }
        let dim = |level: &LevelFormat| match level.coordinate {
            Coordinate::Dim(dim) => Some(dim),
            Coordinate::Quotient { .. } | Coordinate::Remainder { .. } | Coordinate::Difference { .. } => {
                None
            }
        };
        self.levels().iter().map(dim).collect()
    }

    /// Whether the last level keeps steps, which have no gaps.
    fn keeps_steps(&self) -> bool {
        matches!(self.levels().last(), Some(LevelFormat { kind: LevelKind::Steps { .. }, .. }))
    }

    /// The format of what is computed element by element of tensors with these formats, each of which is
    /// [stretched](Format::stretched).
    pub fn of_stretches<'f>(formats: impl IntoIterator<Item = &'f Format>) -> Option<Format> {
        let mut formats = formats.into_iter();
        let first = formats.next()?;
        let keeps_steps = first.keeps_steps() && formats.all(Format::keeps_steps);
        let widths = Widths::default();
        let last = if keeps_steps { LevelKind::Steps { widths } } else { LevelKind::Runs { widths } };
        let mut levels = first.levels().to_vec();
        levels.last_mut()?.kind = last;
        Format::new(levels, LeafKind::Values).ok()
    }
}

/// The runs of one tensor in one fiber, from left to right.
struct Cursor<'t> {
    positions: &'t Indices,
    starts: Option<&'t Indices>,
    ends: &'t Indices,
    run: usize,
    after: usize,
    /// The coordinates of the run; beyond all, if there is none left.
    start: usize,
    end: usize,
}

impl<'t> Cursor<'t> {
    fn new(stored: &'t Stored) -> Option<Cursor<'t>> {
        let (positions, starts, ends) = match stored.levels.last()? {
            Level::Runs { positions, starts, ends } => (positions, Some(starts), ends),
            Level::Steps { positions, ends } => (positions, None, ends),
            Level::Dense
            | Level::Compressed { .. }
            | Level::Singleton { .. }
            | Level::Bytemap { .. }
            | Level::Bitmap { .. }
            | Level::Hash { .. }
            | Level::Band { .. }
            | Level::Blocks { .. }
            | Level::Interval => return None,
        };
        Some(Cursor { positions, starts, ends, run: 0, after: 0, start: GAP, end: GAP })
    }

    fn enter(&mut self, fiber: usize) {
        (self.run, self.after) = (self.positions.get(fiber), self.positions.get(fiber + 1));
        self.load(0);
    }

    /// Reads the bounds of a run that begins at `free` or later.
    fn load(&mut self, free: usize) {
        (self.start, self.end) = (GAP, GAP);
        if self.run < self.after {
            self.start = self.starts.map_or(free, |starts| starts.get(self.run));
            self.end = self.ends.get(self.run);
        }
    }

    /// The position at a coordinate, and the first one after it where that may be another.
    fn at(&self, coordinate: usize) -> (usize, usize) {
        if self.start <= coordinate { (self.run, self.end) } else { (GAP, self.start) }
    }

    /// Goes on to a coordinate, which is not beyond the end of the run.
    fn pass(&mut self, coordinate: usize) {
        if self.end == coordinate {
            self.run += 1;
            self.load(coordinate);
        }
    }
}

impl<'t> Stretches<'t> {
    /// Of tensors that are [stretched](Format::stretched) in the same order of dimensions, and have one shape.
    ///
    /// # Errors
    /// Other tensors, or none.
    pub fn of(tensors: &[&'t Tensor]) -> Result<Stretches<'t>, TensorError> {
        let mut found: Vec<&'t Stored> = room(tensors.len())?;
        let mut cursors: Vec<Cursor<'t>> = room(tensors.len())?;
        for tensor in tensors {
            let stored = tensor.stored().map(|stored| &**stored);
            let order = stored.and_then(|stored| stored.format.stretched());
            let fits = |first: &Stored| first.shape == tensor.shape() && first.format.stretched() == order;
            match stored.and_then(|stored| Some((stored, Cursor::new(stored)?))) {
                Some((stored, cursor))
                    if order.is_some() && found.first().is_none_or(|first| fits(first)) =>
                {
                    found.push(stored);
                    cursors.push(cursor);
                }
                Some(_) | None => {
                    let reason =
                        format!("{} of shape {:?} has other stretches", tensor.format(), tensor.shape());
                    return Err(TensorError::Format { reason });
                }
            }
        }
        let Some((first, last)) =
            found.first().and_then(|first| Some((first, first.levels.len().checked_sub(1)?)))
        else {
            return Err(TensorError::Format { reason: "no tensor has no stretches".to_string() });
        };
        let fibers = last.checked_sub(1).map_or(1, |above| first.counts[above]);
        let extent = first.extents[last];
        let runs: usize = found.iter().map(|stored| stored.leaf_positions()).sum();
        let mut positions = room(fibers + 1)?;
        let mut bounds = room(runs)?;
        let mut places = room(runs * found.len())?;
        positions.push(0);
        for fiber in 0..fibers {
            cursors.iter_mut().for_each(|cursor| cursor.enter(fiber));
            let mut start = 0;
            while start < extent {
                let (mut end, mut is_stored) = (extent, false);
                for cursor in &cursors {
                    let (place, next) = cursor.at(start);
                    places.push(place);
                    is_stored |= place != GAP;
                    end = end.min(next);
                }
                if is_stored {
                    bounds.push((start, end));
                } else {
                    places.truncate(bounds.len() * found.len());
                }
                cursors.iter_mut().for_each(|cursor| cursor.pass(end));
                start = end;
            }
            positions.push(bounds.len());
        }
        Ok(Stretches { tensors: found, positions, bounds, places })
    }

    /// How many stretches these tensors have at most.
    pub fn bound(tensors: &[&Tensor]) -> usize {
        let runs = tensors.iter().map(|tensor| tensor.stored_count()).fold(0, usize::saturating_add);
        // Each begins where a run begins or where one ends.
        runs.saturating_mul(2)
    }

    /// The number of values that a vector has for them: one for each stretch, and the fill.
    pub fn count(&self) -> usize {
        self.bounds.len() + 1
    }

    /// The value of a tensor on each stretch, and its fill.
    ///
    /// # Errors
    /// No memory.
    pub fn values(&self, tensor: usize) -> Result<Tensor, TensorError> {
        let stored = self.tensors[tensor];
        let leaf = stored.leaf_values()?;
        let places = self.places.iter().skip(tensor).step_by(self.tensors.len());
        with_dtype!(stored.dtype, T => {
            let from = stored_values::<T>(&leaf);
            let fill = T::from_scalar(stored.fill).expect("the fill has the tensor's type").store();
            let mut buffer = Buffer::zeroed(self.count() * stored.dtype.size())?;
            let to = buffer.stored_mut::<T>();
            to.iter_mut().zip(places).for_each(|(to, &place)| *to = from.get(place).copied().unwrap_or(fill));
            to[self.bounds.len()] = fill;
            Ok(Tensor::row_major(stored.dtype, &[self.count()], buffer))
        })
    }

    /// The tensor that has these values on the stretches, and the last of them for its fill. If the fill is NaN and known
    /// before, its bits are those that are known.
    ///
    /// # Errors
    /// Not one value for each stretch and the fill; no memory.
    pub fn tensor(&self, values: &Tensor, known: Option<Scalar>) -> Result<Tensor, TensorError> {
        if values.shape() != [self.count()] {
            return Err(TensorError::LeafCount { needed: self.count(), found: values.shape().to_vec() });
        }
        let values = values.to_contiguous()?;
        let computed = values.get(&[self.bounds.len()])?;
        let fill = known.filter(|&known| crate::read::same_number(computed, known)).unwrap_or(computed);
        let format = Format::of_stretches(self.tensors.iter().map(|stored| &stored.format))
            .expect("there is a tensor, and its last level keeps runs");
        let Kept { stretches, positions, starts, ends, nnz } =
            self.kept(&values, fill, format.keeps_steps())?;
        let first = self.tensors[0];
        let above = first.levels.len() - 1;
        // One width for all coordinates of the dimension, so that other data have the same format.
        let width = Some(Width::for_max(first.extents[above]));
        let (positions, ends) = (Indices::new(&positions, None)?, Indices::new(&ends, width)?);
        let mut levels = vec![Level::Dense; above];
        levels.push(match format.keeps_steps() {
            true => Level::Steps { positions, ends },
            false => Level::Runs { positions, starts: Indices::new(&starts, width)?, ends },
        });
        let mut counts = first.counts.clone();
        counts[above] = stretches.len();
        let leaf = Leaf::Values(take(&values, &stretches)?);
        let stored = Stored::unchecked(format, &first.shape, levels, leaf, fill)?.with_counts(counts);
        stored.nnz.get_or_init(|| nnz);
        Ok(Tensor::of_stored(stored))
    }

    /// The stretches that a result stores.
    fn kept(&self, values: &Tensor, fill: Scalar, keeps_fill: bool) -> Result<Kept, TensorError> {
        let differs = differs(values, fill)?;
        let (size, bytes) = (values.dtype().size(), values.as_bytes().unwrap_or(&[]));
        let bits = |at: usize| &bytes[at * size..(at + 1) * size];
        let n = self.bounds.len();
        let (stretches, starts, ends) = (room(n)?, room(n)?, room(n)?);
        let mut kept = Kept { stretches, positions: room(self.positions.len())?, starts, ends, nnz: 0 };
        kept.positions.push(0);
        for fiber in self.positions.windows(2) {
            // The last one kept, if it is of this fiber.
            let mut last: Option<usize> = None;
            for (at, &(start, end)) in self.bounds.iter().enumerate().take(fiber[1]).skip(fiber[0]) {
                if !differs[at] && !keeps_fill {
                    continue;
                }
                if differs[at] {
                    kept.nnz = kept.nnz.saturating_add(end - start);
                }
                match kept.ends.last_mut() {
                    Some(free) if *free == start && last.is_some_and(|last| bits(last) == bits(at)) => {
                        *free = end;
                    }
                    Some(_) | None => {
                        kept.stretches.push(at);
                        kept.starts.push(start);
                        kept.ends.push(end);
                    }
                }
                last = Some(at);
            }
            kept.positions.push(kept.stretches.len());
        }
        Ok(kept)
    }
}

/// Stretches that are stored, of which neighbours with the same bits are one.
struct Kept {
    stretches: Vec<usize>,
    positions: Vec<usize>,
    starts: Vec<usize>,
    ends: Vec<usize>,
    /// The elements that are not the fill.
    nnz: usize,
}

impl Stored {
    /// The number of elements that are not the fill, if the last level keeps runs below dense ones: their lengths say so.
    pub(super) fn nnz_of_stretches(&self) -> Result<Option<usize>, TensorError> {
        if self.format.stretched().is_none() {
            return Ok(None);
        }
        let Some(mut cursor) = Cursor::new(self) else { return Ok(None) };
        let differs = differs(&self.leaf_values()?, self.fill)?;
        let mut nnz = 0;
        for fiber in 0..cursor.positions.len() - 1 {
            cursor.enter(fiber);
            while cursor.run < cursor.after {
                let len = if differs[cursor.run] { cursor.end - cursor.start } else { 0 };
                nnz = usize::saturating_add(nnz, len);
                cursor.pass(cursor.end);
            }
        }
        Ok(Some(nnz))
    }
}
