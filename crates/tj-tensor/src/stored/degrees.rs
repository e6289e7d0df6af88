//! How many entries each coordinate of a dimension has.
//!
//! Who plans with data asks for that: how often a row meets others follows from how many entries it has. Tensors are immutable,
//! so that it is counted once, for all clones, in time and memory of the entries and the coordinates of the dimension.
//!
//! **Samples.** Of long dimensions planners look at some coordinates only. Each coordinate has a number in `0..1`, the same for all
//! tensors, and is in the sample of a dimension if that number is below its share of the entries, times the size of the
//! sample. So hubs are always in it; and where several dimensions meet, what one of them has in its sample the others mostly have
//! as well, which is what makes sums of products precise (coordinated Poisson sampling: Brewer, Early, Joyce 1972).

use std::sync::{Arc, OnceLock};

use super::{Level, Stored};
use crate::Tensor;
use crate::format::{Coordinate, LevelKind};
use crate::tensor::Storage;

/// A dimension of at most so many coordinates is counted however few entries there are.
const FEW: usize = 1 << 16;

/// Else one of at most so many coordinates for each entry.
const WIDE: usize = 16;

/// Coordinates of a sample, about.
const SAMPLED: f64 = 256.0;

/// What was counted, for each dimension.
#[derive(Default)]
pub(super) struct Degrees(OnceLock<Vec<OnceLock<Counted>>>);

/// Counts, and what follows from them.
type Counted = (Arc<[u32]>, Arc<DegreeSummary>);

/// What a planner asks again and again of how many values each coordinate of a dimension has.
#[derive(Clone, Debug, PartialEq)]
pub struct DegreeSummary {
    /// How many values there are.
    pub total: f64,
    /// How many coordinates have some.
    pub present: usize,
    /// The most that a coordinate has.
    pub greatest: u32,
    /// The squares of how many each has, summed.
    pub squares: u128,
    /// Some coordinates, ascending: each with the probability of its share of the values times 256. Which ones depends on the
    /// counts alone.
    pub sample: Box<[u32]>,
}

impl DegreeSummary {
    /// The number in `0..1` that decides whether a coordinate is in samples; the same for all tensors.
    pub fn draw(coordinate: u32) -> f64 {
        // The finaliser of MurmurHash3.
        let mut x = coordinate ^ 0x5bd1_e995;
        x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
        x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
        f64::from(x ^ (x >> 16)) / 4_294_967_296.0
    }

    fn new(counts: &[u32]) -> DegreeSummary {
        let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
        let is_drawn = |&(at, &count): &(usize, &u32)| {
            count > 0 && DegreeSummary::draw(at as u32) * total < SAMPLED * f64::from(count)
        };
        DegreeSummary {
            total,
            present: counts.iter().filter(|&&count| count > 0).count(),
            greatest: counts.iter().copied().max().unwrap_or(0),
            squares: counts.iter().map(|&count| u128::from(count) * u128::from(count)).sum(),
            sample: counts.iter().enumerate().filter(is_drawn).map(|(at, _)| at as u32).collect(),
        }
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
        self.counted_degrees(axis).map(|(counts, _)| counts.clone())
    }

    /// What follows from [`degrees`](Tensor::degrees): sums, the greatest, and a sample of coordinates. Looked up once for a
    /// tensor.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// let x = Tensor::csr([2, 3], vec![0u32, 1, 3], vec![2u32, 0, 2], vec![1.0, 2.0, 3.0])?;
    /// let columns = x.degree_summary(1).ok_or("x is stored by levels")?;
    /// assert_eq!((columns.total, columns.present, columns.greatest, columns.squares), (3.0, 2, 2, 5));
    /// assert_eq!(*columns.sample, [0, 2]); // few are all in it
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn degree_summary(&self, axis: usize) -> Option<Arc<DegreeSummary>> {
        self.counted_degrees(axis).map(|(_, summary)| summary.clone())
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

    fn counted_degrees(&self, axis: usize) -> Option<&Counted> {
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
            let counts = stored.degrees_of(level, self.shape()[axis]);
            let summary = DegreeSummary::new(&counts);
            (counts, Arc::new(summary))
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
    use super::{DegreeSummary, SAMPLED};
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
        assert_eq!(dense.degree_summary(1), None);
        let runs = dense.with_format(&"{d0: dense, d1: runs}".parse().unwrap()).unwrap();
        assert_eq!(runs.degrees(1), None);
    }

    /// The estimate of a sum over a dimension by a sample of it, each coordinate weighted by how probable it is.
    #[test]
    fn samples_stand_for_all() {
        // A few hubs, and many coordinates with one value each.
        let counts: Vec<u32> = (0..50_000).map(|at| if at % 5000 == 7 { 3000 } else { at % 3 % 2 }).collect();
        let summary = DegreeSummary::new(&counts);
        assert!((60..160).contains(&summary.sample.len()), "{} are drawn", summary.sample.len());
        let hubs = counts.iter().enumerate().filter(|(_, count)| **count == 3000);
        assert!(hubs.into_iter().all(|(at, _)| summary.sample.contains(&(at as u32))));
        let estimate: f64 = summary
            .sample
            .iter()
            .map(|&at| {
                let count = f64::from(counts[at as usize]);
                count / (SAMPLED * count / summary.total).min(1.0)
            })
            .sum();
        assert!((estimate / summary.total - 1.0).abs() < 0.2, "{estimate} of {}", summary.total);
    }
}
