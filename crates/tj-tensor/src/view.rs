//! Views: new shapes over the same storage.
//!
//! Of a strided tensor each takes time proportional to the rank and copies nothing, with one exception:
//! [`Tensor::reshape`] copies when no strides can express the new shape. Views of views are views of the storage, so that
//! chains cost nothing later. The fill value is kept.
//!
//! Of a tensor that is stored by levels, orders of dimensions, new dimensions and broadcasts are as cheap; the others
//! (`slice`, `index`, `flip`, `reshape`) move the entries they keep, in a format as close to the old one as there is.

use smallvec::SmallVec;

use crate::shape::{Axis, List, check_extent, row_major_axes, wide_count};
use crate::tensor::{Storage, Strided};
use crate::{Tensor, TensorError};

/// Which coordinates of a dimension to keep, as Python's `start:stop:step`: negative bounds count from the end,
/// bounds beyond the ends are clamped, absent ones mean as far as the step's direction goes.
///
/// ```
/// use tj_tensor::{SliceSpec, Tensor};
/// let x = Tensor::arange(5)?;
/// let backwards = SliceSpec { start: None, stop: Some(1), step: -2 };
/// assert_eq!(x.slice(0, backwards)?.to_vec::<i64>()?, [4, 2]);
/// assert_eq!(x.slice(0, SliceSpec::from(-3..100))?.to_vec::<i64>()?, [2, 3, 4]);
/// # Ok::<(), tj_tensor::TensorError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceSpec {
    /// The first coordinate.
    pub start: Option<i64>,
    /// The coordinate before which to end.
    pub stop: Option<i64>,
    /// The distance between kept coordinates; not 0.
    pub step: i64,
}

impl SliceSpec {
    /// Everything: `::`.
    pub const FULL: SliceSpec = SliceSpec { start: None, stop: None, step: 1 };

    /// For a dimension of a given size, the first coordinate and the number of coordinates; `None` if the step is 0.
    /// With no coordinates, the first is 0.
    pub fn resolve(self, extent: usize) -> Option<(usize, usize)> {
        let (n, step) = (extent as i128, self.step as i128);
        if step == 0 {
            return None;
        }
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let clamp = |bound: i64| {
            let bound = if bound < 0 { bound as i128 + n } else { bound as i128 };
            bound.clamp(low, high)
        };
        let start = self.start.map_or(if step > 0 { low } else { high }, clamp);
        let stop = self.stop.map_or(if step > 0 { high } else { low }, clamp);
        let distance = if step > 0 { stop - start } else { start - stop };
        if distance <= 0 {
            return Some((0, 0));
        }
        let len = (distance - 1) / step.abs() + 1;
        Some((start as usize, len as usize))
    }
}

impl From<std::ops::Range<i64>> for SliceSpec {
    fn from(range: std::ops::Range<i64>) -> SliceSpec {
        SliceSpec { start: Some(range.start), stop: Some(range.end), step: 1 }
    }
}

impl Tensor {
    /// Reorders the dimensions: dimension `d` of the result is dimension `axes[d]` of this tensor.
    pub fn permute(&self, axes: impl AsRef<[usize]>) -> Result<Tensor, TensorError> {
        let (axes, rank) = (axes.as_ref(), self.rank());
        let error = || TensorError::Permutation { axes: axes.to_vec(), rank };
        // `place[d]` is where dimension `d` goes; `rank` means not yet placed.
        let mut place: List<usize> = SmallVec::from_elem(rank, rank);
        if axes.len() != rank {
            return Err(error());
        }
        for (to, &from) in axes.iter().enumerate() {
            match place.get_mut(from) {
                Some(p) if *p == rank => *p = to,
                _ => return Err(error()),
            }
        }
        match &self.storage {
            Storage::Strided(strided) => {
                let old = strided.axes(&self.shape);
                let axes: List<Axis> = axes.iter().map(|&d| old[d]).collect();
                Ok(self.viewed(strided, &axes, strided.offset))
            }
            Storage::Levels(stored) => self.with_stored(stored.permuted(&place), self.fill),
        }
    }

    /// Reverses the order of the dimensions.
    pub fn transpose(&self) -> Tensor {
        match &self.storage {
            Storage::Strided(strided) => {
                let mut axes = strided.axes(&self.shape);
                axes.reverse();
                self.viewed(strided, &axes, strided.offset)
            }
            Storage::Levels(stored) => {
                let place: Vec<usize> = (0..self.rank()).rev().collect();
                Tensor::of_stored(stored.permuted(&place))
            }
        }
    }

    /// Keeps some coordinates of one dimension.
    pub fn slice(&self, axis: usize, spec: SliceSpec) -> Result<Tensor, TensorError> {
        let extent = self.extent_of(axis)?;
        let (start, len) = spec.resolve(extent).ok_or(TensorError::ZeroStep { axis })?;
        let strided = match &self.storage {
            Storage::Strided(strided) => strided,
            Storage::Levels(stored) => {
                return self.with_stored(stored.sliced(axis, start, len, spec.step)?, self.fill);
            }
        };
        let mut axes = strided.axes(&self.shape);
        // A step that is never taken may be anything, and without elements none is; others stay in the buffer.
        let stride = axes[axis].stride;
        let step = if len > 1 { stride.wrapping_mul(spec.step as isize) } else { stride };
        axes[axis] = Axis { extent: len, stride: step };
        let moves = !self.is_empty() && len > 0;
        let offset = if moves { moved(strided.offset, stride, start) } else { strided.offset };
        Ok(self.viewed(strided, &axes, offset))
    }

    /// Fixes the coordinate of one dimension, which is dropped. Negative coordinates count from the end.
    pub fn index(&self, axis: usize, index: i64) -> Result<Tensor, TensorError> {
        let extent = self.extent_of(axis)?;
        let coordinate = if index < 0 { index as i128 + extent as i128 } else { index as i128 };
        if coordinate < 0 || coordinate >= extent as i128 {
            return Err(TensorError::Index { index, axis, extent });
        }
        let coordinate = coordinate as usize;
        match &self.storage {
            Storage::Strided(strided) => {
                let mut axes = strided.axes(&self.shape);
                let stride = axes.remove(axis).stride;
                let offset =
                    if self.is_empty() { strided.offset } else { moved(strided.offset, stride, coordinate) };
                Ok(self.viewed(strided, &axes, offset))
            }
            Storage::Levels(stored) => self.with_stored(stored.indexed(axis, coordinate)?, self.fill),
        }
    }

    /// Reverses the coordinates of one dimension.
    pub fn flip(&self, axis: usize) -> Result<Tensor, TensorError> {
        self.slice(axis, SliceSpec { start: None, stop: None, step: -1 })
    }

    /// Repeats dimensions of size 1, and puts new ones in front, to reach a shape; stores nothing, however large.
    pub fn broadcast_to(&self, shape: impl AsRef<[usize]>) -> Result<Tensor, TensorError> {
        let shape = shape.as_ref();
        let fits = |(&from, &to): (&usize, &usize)| from == to || from == 1;
        if shape.len() < self.rank() || !self.shape.iter().rev().zip(shape.iter().rev()).all(fits) {
            return Err(TensorError::Broadcast { from: self.shape.to_vec(), to: shape.to_vec() });
        }
        for &extent in shape {
            check_extent(extent, shape, self.dtype)?;
        }
        let n_new = shape.len() - self.rank();
        let strided = match &self.storage {
            Storage::Strided(strided) => strided,
            Storage::Levels(stored) => return self.with_stored(stored.broadcast(shape)?, self.fill),
        };
        let repeated = |extent| Axis { extent, stride: 0 };
        let mut axes: List<Axis> = shape[..n_new].iter().map(|&extent| repeated(extent)).collect();
        for (axis, &extent) in strided.axes(&self.shape).iter().zip(&shape[n_new..]) {
            axes.push(if axis.extent == extent { *axis } else { repeated(extent) });
        }
        Ok(self.viewed(strided, &axes, strided.offset))
    }

    /// Inserts a dimension of size 1 before dimension `axis`, or at the end if `axis` is the rank.
    pub fn expand_dims(&self, axis: usize) -> Result<Tensor, TensorError> {
        if axis > self.rank() {
            return Err(TensorError::Axis { axis, rank: self.rank() + 1 });
        }
        match &self.storage {
            Storage::Strided(strided) => {
                let mut axes = strided.axes(&self.shape);
                axes.insert(axis, Axis { extent: 1, stride: 0 });
                Ok(self.viewed(strided, &axes, strided.offset))
            }
            Storage::Levels(stored) => self.with_stored(stored.expanded(axis), self.fill),
        }
    }

    /// Drops dimensions of size 1.
    pub fn squeeze(&self, axes: impl AsRef<[usize]>) -> Result<Tensor, TensorError> {
        let mut dropped: List<usize> = SmallVec::from_slice(axes.as_ref());
        dropped.sort_unstable();
        dropped.dedup();
        for &axis in &dropped {
            let extent = self.extent_of(axis)?;
            if extent != 1 {
                return Err(TensorError::Squeeze { axis, extent });
            }
        }
        match &self.storage {
            Storage::Strided(strided) => {
                let mut axes = strided.axes(&self.shape);
                for &axis in dropped.iter().rev() {
                    axes.remove(axis);
                }
                Ok(self.viewed(strided, &axes, strided.offset))
            }
            Storage::Levels(_) => {
                let drop_one = |tensor: Tensor, &axis: &usize| tensor.index(axis, 0);
                dropped.iter().rev().try_fold(self.clone(), drop_one)
            }
        }
    }

    /// The same elements in row-major order under another shape: a view if strides can say it, else a copy.
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Result<Tensor, TensorError> {
        let shape = shape.as_ref();
        for &extent in shape {
            check_extent(extent, shape, self.dtype)?;
        }
        let (from_count, to_count) = (wide_count(&self.shape), wide_count(shape));
        if from_count != to_count {
            let (from, to) = (self.shape.to_vec(), shape.to_vec());
            return Err(TensorError::Reshape { from, to, from_count, to_count });
        }
        if from_count == u128::MAX {
            let (shape, dtype) = (shape.to_vec(), self.dtype);
            return Err(TensorError::TooLarge { shape, dtype, elements: u128::MAX });
        }
        let strided = match &self.storage {
            Storage::Strided(strided) => strided,
            Storage::Levels(stored) => return self.with_stored(stored.reshaped(shape)?, self.fill),
        };
        match regroup(&strided.axes(&self.shape), shape) {
            Some(axes) => Ok(self.viewed(strided, &axes, strided.offset)),
            None => self.to_contiguous()?.reshape(shape),
        }
    }

    fn extent_of(&self, axis: usize) -> Result<usize, TensorError> {
        self.shape.get(axis).copied().ok_or(TensorError::Axis { axis, rank: self.rank() })
    }

    /// Other axes over the same buffer, which hold only elements of this tensor.
    fn viewed(&self, strided: &Strided, axes: &[Axis], offset: usize) -> Tensor {
        let mut view = Tensor::from_axes(self.dtype, axes, offset, strided.values.clone());
        view.fill = self.fill;
        view
    }
}

/// The offset after some steps along a dimension. Only for tensors with elements and coordinates within the extent, so
/// that the result lies in the buffer.
fn moved(offset: usize, stride: isize, coordinate: usize) -> usize {
    offset.wrapping_add_signed(stride.wrapping_mul(coordinate as isize))
}

/// The strides that show `from` under another shape of the same count, if there are such.
///
/// Both shapes are cut into the shortest groups with equal products; a group can be re-cut exactly if its own
/// dimensions are evenly spaced (each stride is the next one times its extent).
fn regroup(from: &[Axis], shape: &[usize]) -> Option<List<Axis>> {
    if shape.contains(&0) {
        return Some(row_major_axes(shape));
    }
    let from: List<Axis> = from.iter().copied().filter(|axis| axis.extent != 1).collect();
    let mut to: List<Axis> = shape.iter().map(|&extent| Axis { extent, stride: 0 }).collect();
    let (mut i, mut j) = (0, 0);
    while i < from.len() {
        let (first_i, first_j) = (i, j);
        let (mut n_from, mut n_to) = (from[i].extent as u128, 1u128);
        i += 1;
        // Products stay below the total count, which fits.
        while n_from != n_to {
            if n_to < n_from {
                n_to *= to[j].extent as u128;
                j += 1;
            } else {
                n_from *= from[i].extent as u128;
                i += 1;
            }
        }
        let group = &from[first_i..i];
        let even = |pair: &[Axis]| pair[0].stride as i128 == pair[1].stride as i128 * pair[1].extent as i128;
        if !group.windows(2).all(even) {
            return None;
        }
        let mut stride = group[group.len() - 1].stride;
        for axis in to[first_j..j].iter_mut().rev() {
            axis.stride = stride;
            stride = stride.wrapping_mul(axis.extent as isize);
        }
    }
    Some(to)
}
