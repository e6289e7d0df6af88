//! How many entries each coordinate of a dimension has.
//!
//! Who plans with data asks for that: how often a row meets others follows from how many entries it has. Tensors are immutable,
//! so that it is counted once, for all clones, in time and memory of the entries and the coordinates of the dimension.

use std::sync::{Arc, OnceLock};

use super::{Level, Stored};
use crate::Tensor;
use crate::format::{Coordinate, LevelKind};
use crate::tensor::Storage;

/// A dimension of at most so many coordinates is counted however few entries there are.
const FEW: usize = 1 << 16;

/// Else one of at most so many coordinates for each entry.
const WIDE: usize = 16;

/// What was counted, for each dimension.
#[derive(Default)]
pub(super) struct Degrees(OnceLock<Vec<OnceLock<Counted>>>);

/// Counts and what they come to.
struct Counted {
    degrees: Arc<[u32]>,
    spread: Spread,
}

/// How entries are spread over the coordinates of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The number of coordinates that have some.
    pub present: usize,
    /// How many a coordinate has, at most.
    pub greatest: u32,
    /// The squares of how many each has, summed.
    pub squares: u128,
}

impl Spread {
    fn of(degrees: &[u32]) -> Spread {
        let with = |all: Spread, &degree: &u32| Spread {
            present: all.present + usize::from(degree > 0),
            greatest: all.greatest.max(degree),
            squares: all.squares + u128::from(degree) * u128::from(degree),
        };
        degrees.iter().fold(Spread { present: 0, greatest: 0, squares: 0 }, with)
    }
}

impl Tensor {
    /// The number of values that are stored at each coordinate of a dimension, those that equal the fill included; none for a
    /// strided tensor, where runs or computed levels stand for many elements at once, and where there are very few entries for so many
    /// coordinates. Looked up once for a tensor.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// let x = Tensor::csr([2, 3], vec![0u32, 1, 3], vec![2u32, 0, 2], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(x.degrees(0).as_deref(), Some([1, 2].as_slice()));
    /// assert_eq!(x.degrees(1).as_deref(), Some([1, 0, 2].as_slice()));
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn degrees(&self, axis: usize) -> Option<Arc<[u32]>> {
        Some(self.counted(axis)?.degrees.clone())
    }

    /// What [`Tensor::degrees`] come to, where there are any. Looked up once for a tensor.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// let x = Tensor::csr([2, 3], vec![0u32, 1, 3], vec![2u32, 0, 2], vec![1.0, 2.0, 3.0])?;
    /// let rows = x.spread(0).expect("rows are counted");
    /// assert_eq!((rows.present, rows.greatest, rows.squares), (2, 2, 5));
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn spread(&self, axis: usize) -> Option<Spread> {
        Some(self.counted(axis)?.spread)
    }

    /// A number of elements that those which differ from the fill are no more than, known without a look at them; none for a strided
    /// tensor, and where runs or computed levels stand for many elements at once.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// let x = Tensor::csr([2, 3], vec![0u32, 1, 3], vec![2u32, 0, 2], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(x.most_entries(), Some(3));
    /// assert_eq!(x.to_dense()?.most_entries(), None);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    pub fn most_entries(&self) -> Option<usize> {
        let Storage::Levels(stored) = &self.storage else { return None };
        let keeps = stored.format.levels().iter().all(|level| keeps_elements(level.kind));
        keeps.then(|| stored.leaf_positions())
    }

    fn counted(&self, axis: usize) -> Option<&Counted> {
        assert!(axis < self.rank(), "axis {axis} of a tensor of rank {}", self.rank());
        let Storage::Levels(stored) = &self.storage else { return None };
        if !stored.format.levels().iter().all(|level| keeps_elements(level.kind)) {
            return None;
        }
        // Counts for each of a great many coordinates that have none would dwarf the entries.
        if self.shape()[axis] > FEW.max(WIDE.saturating_mul(stored.leaf_positions())) {
            return None;
        }
        let level =
            stored.format.levels().iter().position(|level| level.coordinate == Coordinate::Dim(axis))?;
        let all = stored.degrees.0.get_or_init(|| self.shape().iter().map(|_| OnceLock::new()).collect());
        Some(all[axis].get_or_init(|| {
            let degrees = stored.degrees_of(level, self.shape()[axis]);
            Counted { spread: Spread::of(&degrees), degrees }
        }))
    }
}

/// Whether each element has a place of its own.
fn keeps_elements(kind: LevelKind) -> bool {
    match kind {
        LevelKind::Dense
        | LevelKind::Compressed { .. }
        | LevelKind::Singleton { .. }
        | LevelKind::Bytemap
        | LevelKind::Bitmap
        | LevelKind::Hash { .. }
        | LevelKind::Band { .. }
        | LevelKind::Blocks { .. } => true,
        LevelKind::Runs { .. } | LevelKind::Steps { .. } | LevelKind::Interval { .. } => false,
    }
}

impl Stored {
    fn positions_above(&self, level: usize) -> usize {
        if level == 0 { 1 } else { self.counts[level - 1] }
    }

    fn degrees_of(&self, level: usize, extent: usize) -> Arc<[u32]> {
        // The values below each position that a level gives; none stands for one each.
        let mut below: Option<Vec<u32>> = None;
        for l in (level + 1..self.levels.len()).rev() {
            let weight = |position: usize| below.as_ref().map_or(1, |below| below[position]);
            let sum = |p: usize| match (&self.levels[l], &below) {
                (Level::Compressed { positions, .. }, None) => {
                    (positions.get(p + 1) - positions.get(p)) as u32
                }
                (Level::Dense, None) => self.extents[l] as u32,
                (Level::Singleton { .. }, None) => 1,
                (_, _) => {
                    let mut sum = 0_u32;
                    self.segments(l, p, 0, |segment| {
                        sum = (segment.child..segment.child + segment.len)
                            .map(weight)
                            .fold(sum, u32::saturating_add);
                    });
                    sum
                }
            };
            below = Some((0..self.positions_above(l)).map(sum).collect());
        }
        let mut degrees = vec![0_u32; extent];
        for p in 0..self.positions_above(level) {
            self.segments(level, p, 0, |segment| {
                for at in 0..segment.len {
                    let weight = below.as_ref().map_or(1, |below| below[segment.child + at]);
                    let degree = &mut degrees[segment.start + at];
                    *degree = degree.saturating_add(weight);
                }
            });
        }
        degrees.into()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Format, Tensor};

    #[test]
    fn every_format_counts_the_same() {
        let mut items = vec![0.0; 5 * 7];
        for at in [1, 3, 8, 9, 10, 20, 34] {
            items[at] = at as f64;
        }
        let dense = Tensor::from_shape_vec([5, 7], items).unwrap().with_fill(Some(0.0.into())).unwrap();
        let rows = [2, 3, 1, 0, 1];
        let columns = [0, 2, 1, 2, 0, 0, 2];
        for format in ["csr", "csc", "coo", "dcsr", "{d0: dense, d1: bytemap}", "{d0: dense, d1: bitmap}"] {
            let format: Format = format.parse().unwrap();
            let stored = dense.with_format(&format).unwrap();
            assert_eq!(stored.degrees(0).as_deref(), Some(rows.as_slice()), "{format}");
            assert_eq!(stored.degrees(1).as_deref(), Some(columns.as_slice()), "{format}");
        }
        assert_eq!(dense.degrees(0), None);
        let runs = dense.with_format(&"{d0: dense, d1: runs}".parse().unwrap()).unwrap();
        assert_eq!(runs.degrees(1), None);
    }
}
