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
//! What is folded along the runs is a value for each stretch, taken as often as the stretch is long ([`Stretches::lens`]), and
//! the fill as often as nothing is stored: then every fiber has that as one more stretch ([`Stretches::with_gaps`]), and the
//! values are lists by fiber ([`Stretches::lists`]).
//!
//! **Result.** If all tensors keep steps, so does the result; else it keeps runs, without those that are the fill. Neighbours
//! with the same bits become one, so that results of results have no more runs than they need.
//!
//! **Cost.** Linear in runs times tensors, and in fibers.
//!
//! This file cuts tensors into stretches; `results` makes tensors of what is computed on them.

mod results;

use super::expand::stored_values;
use super::{Indices, Level, Stored, room};
use crate::element::private::Raw;
use crate::format::{Coordinate, Format, LeafKind, LevelFormat, LevelKind, Order, Repeats, Width, Widths};
use crate::{Buffer, Element, Tensor, TensorError, with_dtype};

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
    /// The first coordinate of each stretch, and the one after its last. Gaps that are counted are a stretch from 0 on.
    bounds: Vec<(usize, usize)>,
    /// For each tensor, the position in its leaf on each stretch.
    places: Vec<Vec<usize>>,
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
        let dim = |level: &LevelFormat| match level.coordinate {
            Coordinate::Dim(dim) => Some(dim),
            Coordinate::Quotient { .. } | Coordinate::Remainder { .. } | Coordinate::Difference { .. } => {
                None
            }
        };
        if self.is_stretched() { self.levels().iter().map(dim).collect() } else { None }
    }

    fn is_stretched(&self) -> bool {
        let Some((last, above)) = self.levels().split_last() else { return false };
        matches!(last.kind, LevelKind::Runs { .. } | LevelKind::Steps { .. })
            && above.iter().all(|level| level.kind == LevelKind::Dense)
            && self.levels().iter().all(|level| matches!(level.coordinate, Coordinate::Dim(_)))
    }

    /// Whether the levels are of the same dimensions in the same order.
    fn is_in_order_of(&self, other: &Format) -> bool {
        let of = |level: &LevelFormat| level.coordinate;
        self.levels().iter().map(of).eq(other.levels().iter().map(of))
    }

    /// Whether the last level keeps steps, which have no gaps.
    fn keeps_steps(&self) -> bool {
        matches!(self.levels().last(), Some(LevelFormat { kind: LevelKind::Steps { .. }, .. }))
    }

    /// The format of [`Stretches::lists`].
    ///
    /// # Errors
    /// More dimensions than a format may have, or none.
    pub fn of_lists(rank: usize) -> Result<Format, TensorError> {
        let widths = Widths { index: Some(Width::U64), position: Some(Width::U64) };
        let list = LevelKind::Compressed { order: Order::Ordered, repeats: Repeats::Unique, widths };
        let level = |dim| LevelFormat {
            coordinate: Coordinate::Dim(dim),
            kind: if dim + 1 < rank { LevelKind::Dense } else { list },
        };
        Format::new((0..rank).map(level).collect(), LeafKind::Values)
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
        Some(Format::from_parts(first.rank(), levels, LeafKind::Values))
    }
}

/// The runs of one tensor in one fiber, from left to right.
struct Cursor {
    positions: Vec<usize>,
    /// None, if each run starts where the one before ends.
    starts: Option<Vec<usize>>,
    ends: Vec<usize>,
    run: usize,
    after: usize,
    /// The coordinates of the run; beyond all, if there is none left.
    start: usize,
    end: usize,
}

impl Cursor {
    fn new(stored: &Stored) -> Option<Cursor> {
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
        let (positions, starts, ends) = (positions.to_vec(), starts.map(Indices::to_vec), ends.to_vec());
        Some(Cursor { positions, starts, ends, run: 0, after: 0, start: GAP, end: GAP })
    }

    fn enter(&mut self, fiber: usize) {
        (self.run, self.after) = (self.positions[fiber], self.positions[fiber + 1]);
        self.load(0);
    }

    /// Reads the bounds of a run that begins at `free` or later.
    fn load(&mut self, free: usize) {
        (self.start, self.end) = (GAP, GAP);
        if self.run < self.after {
            self.start = self.starts.as_ref().map_or(free, |starts| starts[self.run]);
            self.end = self.ends[self.run];
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
        Stretches::cut(tensors, false)
    }

    /// As [`Stretches::of`], with one stretch more at the end of each fiber: all coordinates at which nothing is stored, of
    /// which there may be none.
    ///
    /// # Errors
    /// As there.
    pub fn with_gaps(tensors: &[&'t Tensor]) -> Result<Stretches<'t>, TensorError> {
        Stretches::cut(tensors, true)
    }

    fn cut(tensors: &[&'t Tensor], with_gaps: bool) -> Result<Stretches<'t>, TensorError> {
        let mut found: Vec<&'t Stored> = room(tensors.len())?;
        let mut cursors: Vec<(Cursor, Vec<usize>)> = room(tensors.len())?;
        let runs = Stretches::bound(tensors);
        for tensor in tensors {
            let stored =
                tensor.stored().map(|stored| &**stored).filter(|stored| stored.format.is_stretched());
            let fits = |stored: &&Stored| {
                found.first().is_none_or(|first| {
                    first.shape == stored.shape && first.format.is_in_order_of(&stored.format)
                })
            };
            let Some((stored, cursor)) =
                stored.filter(fits).and_then(|stored| Some((stored, Cursor::new(stored)?)))
            else {
                let reason = format!("{} of shape {:?} has other stretches", tensor.format(), tensor.shape());
                return Err(TensorError::Format { reason });
            };
            found.push(stored);
            cursors.push((cursor, room(runs)?));
        }
        let Some((first, last)) =
            found.first().and_then(|first| Some((first, first.levels.len().checked_sub(1)?)))
        else {
            return Err(TensorError::Format { reason: "no tensor has no stretches".to_string() });
        };
        let fibers = last.checked_sub(1).map_or(1, |above| first.counts[above]);
        let extent = first.extents[last];
        let (mut positions, mut bounds) = (room(fibers + 1)?, room(runs)?);
        positions.push(0);
        for fiber in 0..fibers {
            cursors.iter_mut().for_each(|(cursor, _)| cursor.enter(fiber));
            let (mut start, mut gaps) = (0, 0);
            while start < extent {
                let (mut end, mut is_stored) = (extent, false);
                for (cursor, places) in &mut cursors {
                    let (place, next) = cursor.at(start);
                    places.push(place);
                    is_stored |= place != GAP;
                    end = end.min(next);
                }
                if is_stored {
                    bounds.push((start, end));
                } else {
                    gaps += end - start;
                    cursors.iter_mut().for_each(|(_, places)| places.truncate(bounds.len()));
                }
                cursors.iter_mut().for_each(|(cursor, _)| cursor.pass(end));
                start = end;
            }
            if with_gaps {
                bounds.push((0, gaps));
                cursors.iter_mut().for_each(|(_, places)| places.push(GAP));
            }
            positions.push(bounds.len());
        }
        let places = cursors.into_iter().map(|(_, places)| places).collect();
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
        with_dtype!(stored.dtype, T => {
            let from = stored_values::<T>(&leaf);
            let fill = T::from_scalar(stored.fill).expect("the fill has the tensor's type").store();
            let mut buffer = Buffer::zeroed(self.count() * stored.dtype.size())?;
            let to = buffer.stored_mut::<T>();
            for (to, &place) in to.iter_mut().zip(&self.places[tensor]) {
                *to = from.get(place).copied().unwrap_or(fill);
            }
            to[self.bounds.len()] = fill;
            Ok(Tensor::row_major(stored.dtype, &[self.count()], buffer))
        })
    }

    /// The number of coordinates of each stretch, and 0 for the fill.
    pub fn lens(&self) -> Tensor {
        let lens = self.bounds.iter().map(|(start, end)| (end - start) as i64);
        Tensor::from(lens.chain([0]).collect::<Vec<i64>>())
    }
}
