//! Moves by name: axes in another order, elements in another order, elements several times. All are index maps.

use std::panic::Location;

use smallvec::SmallVec;

use super::call::or_failed;
use super::elementwise::{Fit, attach, broadcast};
use super::movement::{insert_axes, moved, position};
use super::reduce::{Axes, resolve_axis};
use super::select::{Repeats, repeat_by};
use super::sizes::require_size;
use super::{At, BROADCAST, LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;

/// Axis `d` of the result is axis `axes[d]`; `axes` is a permutation.
pub(super) fn permuted(
    name: &'static str,
    arg: &LazyTensor,
    axes: &[usize],
    location: &'static Location<'static>,
) -> LazyTensor {
    let mut at: Indices = (0..arg.rank()).map(position).collect();
    for (d, &axis) in axes.iter().enumerate() {
        at[axis] = position(d);
    }
    let shape = axes.iter().map(|&axis| arg.shape()[axis].clone()).collect();
    moved(name, arg, shape, at, location)
}

/// Everything along one axis but the other axes as they are.
pub(super) fn along(
    name: &'static str,
    arg: &LazyTensor,
    axis: usize,
    size: Dim,
    at: Dim,
    location: &'static Location<'static>,
) -> LazyTensor {
    let mut map: Indices = (0..arg.rank()).map(position).collect();
    map[axis] = at;
    let mut shape = arg.0.shape.clone();
    shape[axis] = size;
    moved(name, arg, shape, map, location)
}

/// By how much [`LazyTensor::roll`] moves: one number, or one for each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shifts(SmallVec<[Dim; 4]>);

macro_rules! shifts {
    ($($from:ty),*) => {
        $(impl From<$from> for Shifts {
            fn from(shift: $from) -> Shifts {
                Shifts(SmallVec::from_iter([Dim::from(shift)]))
            }
        })*
    };
}

shifts!(i32, i64, usize, Dim);

impl From<&Dim> for Shifts {
    fn from(shift: &Dim) -> Shifts {
        Shifts::from(shift.clone())
    }
}

impl<const N: usize> From<[i64; N]> for Shifts {
    fn from(shifts: [i64; N]) -> Shifts {
        Shifts(shifts.into_iter().map(Dim::from).collect())
    }
}

impl<const N: usize> From<[Dim; N]> for Shifts {
    fn from(shifts: [Dim; N]) -> Shifts {
        Shifts(shifts.into_iter().collect())
    }
}

impl From<Vec<Dim>> for Shifts {
    fn from(shifts: Vec<Dim>) -> Shifts {
        Shifts(shifts.into_iter().collect())
    }
}

impl LazyTensor {
    /// Axes in another order: axis `d` of the result is axis `axes[d]`. The array API's name of
    /// [`permute`](LazyTensor::permute).
    #[track_caller]
    pub fn permute_dims(&self, axes: &[i64]) -> LazyTensor {
        self.permute(axes)
    }

    /// The last two axes swapped.
    ///
    /// # Errors
    /// A rank below 2.
    #[track_caller]
    pub fn matrix_transpose(&self) -> LazyTensor {
        self.attempt(|location| {
            let (op, rank) = ("matrix_transpose", self.rank());
            if rank < 2 {
                return Err(Cause::Rank { op, expected: "needs rank 2 at least", rank });
            }
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.swap(rank - 2, rank - 1);
            Ok(permuted(op, self, &axes, location))
        })
    }

    /// Two axes swapped.
    ///
    /// # Errors
    /// An axis outside the rank.
    #[track_caller]
    pub fn swapaxes(&self, first: i64, second: i64) -> LazyTensor {
        self.attempt(|location| {
            let (op, rank) = ("swapaxes", self.rank());
            let (first, second) = (resolve_axis(op, rank, first)?, resolve_axis(op, rank, second)?);
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.swap(first, second);
            Ok(permuted(op, self, &axes, location))
        })
    }

    /// Axes `from` to the positions `to` of the result; the others stay in order.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// assert_eq!(zeros([2, 3, 4], DType::F32).moveaxis(&[0], &[-1]).shape(), [3, 4, 2].map(Dim::from));
    /// ```
    ///
    /// # Errors
    /// Lists of different length; an axis outside the rank, or named twice.
    #[track_caller]
    pub fn moveaxis(&self, from: &[i64], to: &[i64]) -> LazyTensor {
        self.attempt(|location| {
            let (op, rank) = ("moveaxis", self.rank());
            if from.len() != to.len() {
                let problem = format!("{} axes to {} positions", from.len(), to.len());
                return Err(Cause::Argument { op, problem });
            }
            let mut axes: SmallVec<[Option<usize>; 4]> = SmallVec::from_elem(None, rank);
            let mut gone: SmallVec<[usize; 4]> = SmallVec::new();
            for (&from, &to) in from.iter().zip(to) {
                let source = resolve_axis(op, rank, from)?;
                if gone.contains(&source) {
                    return Err(Cause::RepeatedAxis { op, axis: from });
                }
                gone.push(source);
                if axes[resolve_axis(op, rank, to)?].replace(source).is_some() {
                    return Err(Cause::RepeatedAxis { op, axis: to });
                }
            }
            let mut rest = (0..rank).filter(|d| !gone.contains(d));
            let axes: Vec<usize> = axes.into_iter().filter_map(|axis| axis.or_else(|| rest.next())).collect();
            Ok(permuted(op, self, &axes, location))
        })
    }

    /// All elements in row-major order as a vector.
    #[track_caller]
    pub fn flatten(&self) -> LazyTensor {
        self.attempt(|location| self.try_reshape(&[None], location))
    }

    /// The same as [`flatten`](LazyTensor::flatten), by NumPy's other name.
    #[track_caller]
    pub fn ravel(&self) -> LazyTensor {
        self.flatten()
    }

    /// Elements moved towards the end, those that leave come in again at the other side; along some axes, by one shift for
    /// all of them or one each, or over all elements in row-major order.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// let x = zeros([2, 3], DType::F32);
    /// assert_eq!(x.roll(1, 0).shape(), x.shape());
    /// assert_eq!(x.roll([1, -1], [0, 1]).roll(2, None).shape(), x.shape());
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank; several shifts, but not one for each axis.
    #[track_caller]
    pub fn roll(&self, shifts: impl Into<Shifts>, axes: impl Into<Axes>) -> LazyTensor {
        let (Shifts(shifts), axes) = (shifts.into(), axes.into());
        self.attempt(|location| {
            let op = "roll";
            let axes = axes.named();
            if shifts.len() != 1 && shifts.len() != axes.map_or(1, <[i64]>::len) {
                let problem = format!("{} shifts for {} axes", shifts.len(), axes.map_or(1, <[i64]>::len));
                return Err(Cause::Argument { op, problem });
            }
            let Some(axes) = axes else {
                let flat = self.try_reshape(&[None], location)?;
                let size = flat.shape()[0].clone();
                let at = (position(0) - &shifts[0]).modulo(&size);
                let rolled = along(op, &flat, 0, size, at, location);
                let shape: Vec<Option<Dim>> = self.shape().iter().cloned().map(Some).collect();
                return rolled.try_reshape(&shape, location);
            };
            // An axis that is named twice is moved twice.
            let mut by = vec![None; self.rank()];
            for (k, &axis) in axes.iter().enumerate() {
                let entry: &mut Option<Dim> = &mut by[resolve_axis(op, self.rank(), axis)?];
                let shift = &shifts[k % shifts.len()];
                *entry = Some(entry.take().map_or(shift.clone(), |so_far| so_far + shift));
            }
            let at = by.into_iter().enumerate().map(|(d, shift)| match shift {
                Some(shift) => (position(d) - shift).modulo(&self.shape()[d]),
                None => position(d),
            });
            Ok(moved(op, self, self.0.shape.clone(), at.collect(), location))
        })
    }

    /// Each element of an axis, or of all in row-major order, `count` times in a row. Integers that are data give each its
    /// own count; then the size is one that values decide, as that of [`LazyTensor::nonzero`].
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// let n = Dim::new("N", ..)?;
    /// assert_eq!(zeros([2, 3], DType::F32).repeat(n.clone(), 0).shape(), [n * 2, 3.into()]);
    /// # Ok::<(), tj_ir::DimError>(())
    /// ```
    ///
    /// # Errors
    /// A count that is negative whatever the symbols are, or when the call finds one; an axis outside the rank.
    #[track_caller]
    pub fn repeat(&self, count: impl Into<Repeats>, axis: impl Into<Option<i64>>) -> LazyTensor {
        let axis = axis.into();
        let count = match count.into() {
            Repeats::Each(count) => count,
            Repeats::Counts(counts) => {
                return or_failed(repeat_by(self, &counts, axis, Location::caller()));
            }
        };
        self.attempt(|location| {
            let op = "repeat";
            let (source, axis) = match axis {
                Some(axis) => (self.clone(), resolve_axis(op, self.rank(), axis)?),
                None => (self.try_reshape(&[None], location)?, 0),
            };
            let mut guards = Vec::new();
            require_size(op, axis, &count, &mut guards, location)?;
            let size = &source.shape()[axis] * &count;
            let at = position(axis).floordiv(&count);
            let mut tensor = along(op, &source, axis, size, at, location);
            attach(&mut tensor, guards);
            Ok(tensor)
        })
    }

    /// The whole tensor several times along each axis; with fewer counts than axes they are for the last axes, with
    /// more there are new leading axes.
    ///
    /// # Errors
    /// A count that is negative whatever the symbols are.
    #[track_caller]
    pub fn tile<D: Into<Dim>>(&self, counts: impl IntoIterator<Item = D>) -> LazyTensor {
        let counts: Vec<Dim> = counts.into_iter().map(Into::into).collect();
        self.attempt(|location| {
            let op = "tile";
            let rank = counts.len().max(self.rank());
            let count_of = |d: usize| (d + counts.len()).checked_sub(rank).map(|k| counts[k].clone());
            let lead = rank - self.rank();
            let (mut shape, mut at, mut guards) = (Shape::new(), Indices::new(), Vec::new());
            for d in 0..rank {
                let count = count_of(d).unwrap_or(Dim::ONE);
                require_size(op, d, &count, &mut guards, location)?;
                let Some(own) = d.checked_sub(lead) else {
                    shape.push(count);
                    continue;
                };
                let size = &self.shape()[own];
                at.push(if count == 1 { position(d) } else { position(d).modulo(size) });
                shape.push(size * &count);
            }
            let mut tensor = moved(op, self, shape, at, location);
            if tensor.check().is_ok() {
                attach(&mut tensor, guards);
            }
            Ok(tensor)
        })
    }

    /// The parts along an axis, which is dropped. Its size must be a number; if it is not, the one tensor in the
    /// list carries the error.
    #[track_caller]
    pub fn unstack(&self, axis: i64) -> Vec<LazyTensor> {
        let (op, location) = ("unstack", Location::caller());
        let fail = |cause| vec![LazyTensor::failed(IrError::new(cause, location))];
        if self.check().is_err() {
            return vec![self.clone()];
        }
        let axis = match resolve_axis(op, self.rank(), axis) {
            Ok(axis) => axis,
            Err(cause) => return fail(cause),
        };
        let size = &self.shape()[axis];
        let Some(count) = size.is_const() else {
            let problem = format!("axis {axis} has size {size}, which is not a number");
            return fail(Cause::Argument { op, problem });
        };
        let mut shape = self.0.shape.clone();
        shape.remove(axis);
        let part = |k: i64| {
            let mut at: Indices = (0..shape.len()).map(position).collect();
            at.insert(axis, Dim::from(k));
            moved(op, self, shape.clone(), at, location)
        };
        (0..count).map(part).collect()
    }

    /// A slice of one axis, as `x.index` would take it with whole slices of the others.
    ///
    /// # Errors
    /// As [`index`](LazyTensor::index); an axis outside the rank.
    #[track_caller]
    pub fn slice_axis(&self, axis: i64, part: At) -> LazyTensor {
        self.attempt(|location| {
            let axis = resolve_axis("index", self.rank(), axis)?;
            let mut parts = vec![super::at(None, None, 1); axis];
            parts.push(part.clone());
            self.try_index(&parts, location)
        })
    }
}

/// All tensors, broadcast to one shape.
///
/// Where shapes do not fit every tensor of the list carries the error.
#[track_caller]
pub fn broadcast_arrays(tensors: &[LazyTensor]) -> Vec<LazyTensor> {
    let location = Location::caller();
    let mut shape = Shape::new();
    let mut guards = Vec::new();
    for tensor in tensors {
        let next = tensor.check().and_then(|()| {
            broadcast("broadcast_arrays", &shape, tensor.shape(), &mut guards, location)
                .map_err(|cause| IrError::new(cause, location))
        });
        match next {
            Ok(next) => shape = next,
            Err(error) => return tensors.iter().map(|_| LazyTensor::failed(error.clone())).collect(),
        }
    }
    let spread = |tensor: &LazyTensor| {
        let at = Fit::read_at(tensor.shape(), &shape);
        let mut tensor = moved(BROADCAST, tensor, shape.clone(), at, location);
        attach(&mut tensor, guards.clone());
        tensor
    };
    tensors.iter().map(spread).collect()
}

/// Which axes the first two vectors of [`meshgrid`] run along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// The first along axis 1, the second along axis 0.
    Xy,
    /// The first along axis 0, the second along axis 1.
    Ij,
}

/// Coordinates of a grid: tensors of one shape, each constant but along the axis of its vector. Numbers of rank 0 count
/// as vectors of one element.
///
/// ```
/// use tj_ir::{Dim, Indexing, arange, meshgrid};
/// let grid = meshgrid(&[arange(0, 3, 1), arange(0, 2, 1)], Indexing::Xy);
/// assert_eq!(grid[0].shape(), [2, 3].map(Dim::from));
/// ```
///
/// # Errors
/// A rank above 1.
#[track_caller]
pub fn meshgrid(vectors: &[LazyTensor], indexing: Indexing) -> Vec<LazyTensor> {
    let (op, location, rank) = ("meshgrid", Location::caller(), vectors.len());
    let place = |k: usize| if indexing == Indexing::Xy && rank > 1 && k < 2 { 1 - k } else { k };
    let mut placed = Vec::new();
    for (k, vector) in vectors.iter().enumerate() {
        let failed = match vector.check() {
            Err(error) => Some(error),
            Ok(()) if vector.rank() > 1 => {
                let cause = Cause::Rank { op, expected: "needs vectors", rank: vector.rank() };
                Some(IrError::new(cause, location))
            }
            Ok(()) => None,
        };
        if let Some(error) = failed {
            return vectors.iter().map(|_| LazyTensor::failed(error.clone())).collect();
        }
        let own = (vector.rank() == 1).then(|| place(k));
        let others: Vec<usize> = (0..rank).filter(|&d| Some(d) != own).collect();
        placed.push(insert_axes(vector, &others, location));
    }
    broadcast_arrays(&placed)
}
