//! Views: new shapes over the same storage.
//!
//! Each takes time proportional to the rank and copies nothing, with one exception: [`Tensor::reshape`] copies when
//! no strides can express the new shape. Views of views are views of the storage, so that chains cost nothing
//! later. The fill value and the format of the dimensions that remain are kept.

use smallvec::SmallVec;

use crate::shape::{Axis, List, check_extent, row_major_axes, wide_count};
use crate::{Level, Tensor, TensorError};

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
        let mut view = self.clone();
        view.shape = axes.iter().map(|&d| self.shape[d]).collect();
        for dim in &mut view.mode_order {
            *dim = place[*dim];
        }
        Ok(view)
    }

    /// Reverses the order of the dimensions.
    pub fn transpose(&self) -> Tensor {
        let mut view = self.clone();
        view.shape.reverse();
        for dim in &mut view.mode_order {
            *dim = self.rank() - 1 - *dim;
        }
        view
    }

    /// Keeps some coordinates of one dimension.
    pub fn slice(&self, axis: usize, spec: SliceSpec) -> Result<Tensor, TensorError> {
        let Axis { extent, stride } = self.axis(axis)?;
        let (start, len) = spec.resolve(extent).ok_or(TensorError::ZeroStep { axis })?;
        let mut view = self.clone();
        view.shape[axis] = len;
        // A step that is never taken may be anything, and without elements none is; others stay in the buffer.
        let stride = if len > 1 { stride.wrapping_mul(spec.step as isize) } else { stride };
        *view.level_mut(axis) = Level::Dense { extent: len, stride };
        if !self.is_empty() && len > 0 {
            view.offset = self.position(axis, start);
        }
        Ok(view)
    }

    /// Fixes the coordinate of one dimension, which is dropped. Negative coordinates count from the end.
    pub fn index(&self, axis: usize, index: i64) -> Result<Tensor, TensorError> {
        let Axis { extent, .. } = self.axis(axis)?;
        let coordinate = if index < 0 { index as i128 + extent as i128 } else { index as i128 };
        if coordinate < 0 || coordinate >= extent as i128 {
            return Err(TensorError::Index { index, axis, extent });
        }
        let mut view = self.clone();
        if !self.is_empty() {
            view.offset = self.position(axis, coordinate as usize);
        }
        view.drop_axis(axis);
        Ok(view)
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
        let n_new = shape.len() - self.rank();
        let repeated = |extent| Level::Dense { extent, stride: 0 };
        let mut view = self.clone();
        view.shape = SmallVec::from_slice(shape);
        view.levels = shape[..n_new].iter().map(|&extent| repeated(extent)).collect();
        view.mode_order = (0..n_new).collect();
        for (level, dim) in self.levels.iter().zip(&self.mode_order) {
            let extent = shape[n_new + dim];
            view.levels.push(if level.extent() == extent { *level } else { repeated(extent) });
            view.mode_order.push(n_new + dim);
        }
        for &extent in shape {
            check_extent(extent, shape, self.dtype)?;
        }
        Ok(view)
    }

    /// Inserts a dimension of size 1 before dimension `axis`, or at the end if `axis` is the rank.
    pub fn expand_dims(&self, axis: usize) -> Result<Tensor, TensorError> {
        if axis > self.rank() {
            return Err(TensorError::Axis { axis, rank: self.rank() + 1 });
        }
        let mut view = self.clone();
        view.shape.insert(axis, 1);
        // The new level goes just outside the level of the dimension it precedes, so that row-major stays row-major.
        let at = self.mode_order.iter().position(|&dim| dim == axis).unwrap_or(self.rank());
        for dim in &mut view.mode_order {
            *dim += usize::from(*dim >= axis);
        }
        view.mode_order.insert(at, axis);
        view.levels.insert(at, Level::Dense { extent: 1, stride: 0 });
        Ok(view)
    }

    /// Drops dimensions of size 1.
    pub fn squeeze(&self, axes: impl AsRef<[usize]>) -> Result<Tensor, TensorError> {
        let mut axes: List<usize> = SmallVec::from_slice(axes.as_ref());
        axes.sort_unstable();
        axes.dedup();
        let mut view = self.clone();
        for &axis in axes.iter().rev() {
            let Axis { extent, .. } = self.axis(axis)?;
            if extent != 1 {
                return Err(TensorError::Squeeze { axis, extent });
            }
            view.drop_axis(axis);
        }
        Ok(view)
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
        let (axes, offset, values) = match regroup(&self.axes(), shape) {
            Some(axes) => (axes, self.offset, self.values.clone()),
            None => {
                let copy = self.to_contiguous()?;
                (row_major_axes(shape), copy.offset, copy.values)
            }
        };
        let mut view = Tensor::from_axes(self.dtype, &axes, offset, values);
        view.fill = self.fill;
        Ok(view)
    }

    /// One dimension, if there is such.
    pub(crate) fn axis(&self, axis: usize) -> Result<Axis, TensorError> {
        let found = self.mode_order.iter().position(|&dim| dim == axis);
        match found.map(|l| self.levels[l]) {
            Some(Level::Dense { extent, stride }) => Ok(Axis { extent, stride }),
            None => Err(TensorError::Axis { axis, rank: self.rank() }),
        }
    }

    fn level_mut(&mut self, axis: usize) -> &mut Level {
        let l = self.mode_order.iter().position(|&dim| dim == axis).expect("the axis was looked up before");
        &mut self.levels[l]
    }

    /// The offset after moving along one dimension. Only for tensors with elements and coordinates within the
    /// extent, so that the result lies in the buffer.
    fn position(&self, axis: usize, coordinate: usize) -> usize {
        let stride = self.axes()[axis].stride;
        self.offset.wrapping_add_signed(stride.wrapping_mul(coordinate as isize))
    }

    fn drop_axis(&mut self, axis: usize) {
        let l = self.mode_order.iter().position(|&dim| dim == axis).expect("the axis was looked up before");
        self.levels.remove(l);
        self.mode_order.remove(l);
        self.shape.remove(axis);
        for dim in &mut self.mode_order {
            *dim -= usize::from(*dim > axis);
        }
    }
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
