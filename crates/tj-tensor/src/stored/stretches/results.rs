//! What is computed by stretches, as tensors.

use super::super::expand::{differs, same_bits, stored_values, take};
use super::super::{Indices, Leaf, Level, Stored, room};
use super::{Cursor, Stretches};
use crate::format::{Format, Width};
use crate::{Scalar, SliceSpec, Tensor, TensorError, with_dtype};

impl Stretches<'_> {
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
        let same =
            |known: &Scalar| known.dtype() == computed.dtype() && crate::read::same_number(computed, *known);
        let fill = known.filter(same).unwrap_or(computed);
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

    /// One value for each stretch, as lists by fiber in the format [`Format::of_lists`]: its last coordinate is the number of
    /// the stretch in its fiber, and the dimensions above it are in the order of the levels. The last value is nobody's.
    ///
    /// # Errors
    /// Another number of values; a fill of another type; no memory.
    pub fn lists(&self, values: &Tensor, fill: Scalar) -> Result<Tensor, TensorError> {
        if values.shape() != [self.count()] {
            return Err(TensorError::LeafCount { needed: self.count(), found: values.shape().to_vec() });
        }
        values.expect_dtype(fill.dtype())?;
        let first = self.tensors[0];
        let above = first.levels.len() - 1;
        let n = self.bounds.len();
        let mut coordinates = room(n)?;
        coordinates.extend(self.positions.windows(2).flat_map(|fiber| 0..fiber[1] - fiber[0]));
        let mut shape = first.extents.clone();
        // As many as there are coordinates, and the gaps.
        shape[above] = shape[above].saturating_add(1);
        let mut levels = vec![Level::Dense; above];
        levels.push(Level::Compressed {
            positions: Indices::new(&self.positions, Some(Width::U64))?,
            coordinates: Indices::of_vec(coordinates),
        });
        let values = values.slice(0, SliceSpec { start: Some(0), stop: Some(n as i64), step: 1 })?;
        let mut counts = first.counts.clone();
        counts[above] = n;
        let leaf = Leaf::Values(values.to_contiguous()?);
        let stored = Stored::unchecked(Format::of_lists(shape.len())?, &shape, levels, leaf, fill)?;
        Ok(Tensor::of_stored(stored.with_counts(counts)))
    }

    /// The stretches that a result stores.
    fn kept(&self, values: &Tensor, fill: Scalar, keeps_fill: bool) -> Result<Kept, TensorError> {
        let differs = differs(values, fill)?;
        let goes_on = like_before(values)?;
        let n = self.bounds.len();
        let (stretches, starts, ends) = (room(n)?, room(n)?, room(n)?);
        let mut kept = Kept { stretches, positions: room(self.positions.len())?, starts, ends, nnz: 0 };
        kept.positions.push(0);
        for fiber in self.positions.windows(2) {
            for (at, &(start, end)) in self.bounds.iter().enumerate().take(fiber[1]).skip(fiber[0]) {
                if !differs[at] && !keeps_fill {
                    continue;
                }
                if differs[at] {
                    kept.nnz = kept.nnz.saturating_add(end - start);
                }
                // What ends where this begins is the stretch before, if it is of this fiber.
                match kept.ends.last_mut() {
                    Some(free) if *free == start && at > fiber[0] && goes_on[at] => *free = end,
                    Some(_) | None => {
                        kept.stretches.push(at);
                        kept.starts.push(start);
                        kept.ends.push(end);
                    }
                }
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

/// Whether each value of a vector has the bits of the one before.
fn like_before(values: &Tensor) -> Result<Vec<bool>, TensorError> {
    let mut like = room(values.shape()[0])?;
    with_dtype!(values.dtype(), T => {
        let values = stored_values::<T>(values);
        like.extend(values.first().map(|_| false));
        let pairs = values.iter().zip(values.iter().skip(1));
        like.extend(pairs.map(|(a, b)| same_bits(a, b)));
    });
    Ok(like)
}

impl Stored {
    /// The number of elements that are not the fill, if the last level keeps runs below dense ones: their lengths say so.
    pub(in crate::stored) fn nnz_of_stretches(&self) -> Result<Option<usize>, TensorError> {
        if !self.format.is_stretched() {
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
