//! What values decide the size of: coordinates of what is true, masks, distinct values, repetitions.
//!
//! The size of such a result is a symbol that is found out when the result is computed ([`Selection`]). To whoever
//! builds on it, it is an unknown size like a declared one: it meets a literal 1, and 1 as the size of data, as they
//! give way; that it is equal to any other size is checked when both are known. So a selection of one element does not
//! stretch over others, as it would in NumPy, and a program means the same whatever is selected.

use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;
use tj_tensor::{DType, Tensor};

use super::call::{Made, Place, merge_axes, or_failed, positions, reorder};
use super::elementwise::{attach, map, require_equal};
use super::gather::spread;
use super::reduce::resolve_axis;
use super::{Kind, LazyTensor, Selected, Shape};
use crate::dim::{Dim, MAX_SIZE, Symbol};
use crate::error::{Cause, IrError};
use crate::guard::Guard;
use crate::op::Op;
use crate::selection::{Selection, Unique};

/// How often [`LazyTensor::repeat`] repeats.
#[derive(Clone, Debug)]
pub enum Repeats {
    /// Each element as often.
    Each(Dim),
    /// Each element as often as its own count says; a single count is for all.
    Counts(LazyTensor),
}

macro_rules! each {
    ($($from:ty)*) => {
        $(impl From<$from> for Repeats {
            fn from(count: $from) -> Repeats {
                Repeats::Each(Dim::from(count))
            }
        })*
    };
}

each! { i32 i64 u32 usize }

impl From<Dim> for Repeats {
    fn from(count: Dim) -> Repeats {
        Repeats::Each(count)
    }
}

impl From<&Dim> for Repeats {
    fn from(count: &Dim) -> Repeats {
        Repeats::Each(count.clone())
    }
}

impl From<&Tensor> for Repeats {
    #[track_caller]
    fn from(counts: &Tensor) -> Repeats {
        Repeats::Counts(super::defer(counts))
    }
}

impl From<LazyTensor> for Repeats {
    fn from(counts: LazyTensor) -> Repeats {
        Repeats::Counts(counts)
    }
}

impl From<&LazyTensor> for Repeats {
    fn from(counts: &LazyTensor) -> Repeats {
        Repeats::Counts(counts.clone())
    }
}

impl LazyTensor {
    /// Coordinates of the elements that are not zero, in row-major order: one vector an axis, as `i64`. A scalar has no
    /// coordinates and is refused.
    ///
    /// How many there are is a size that values decide. It is found out by [`defer`](crate::defer)red programs as they
    /// run; a program with named inputs is refused.
    ///
    /// ```
    /// use tj_ir::defer;
    /// use tj_tensor::Tensor;
    ///
    /// let x = defer(Tensor::from_shape_vec([2, 2], vec![0, 7, 0, 9])?);
    /// let at = x.nonzero();
    /// assert_eq!((at.len(), at[0].shape() == at[1].shape()), (2, true));
    /// assert_eq!(at[0].shape()[0].to_string(), "nonzero(..)");
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    #[track_caller]
    pub fn nonzero(&self) -> Vec<LazyTensor> {
        match coordinates("nonzero", Selection::Nonzero, self, Location::caller()) {
            Ok(columns) => columns.into_iter().collect(),
            Err(error) => vec![LazyTensor::failed(error); self.rank().max(1)],
        }
    }

    /// Coordinates of the elements that are not zero, in row-major order: one row an element, one column an axis. The size
    /// is as that of [`LazyTensor::nonzero`].
    #[track_caller]
    pub fn argwhere(&self) -> LazyTensor {
        or_failed(coordinates("argwhere", Selection::Argwhere, self, Location::caller()).map(only))
    }

    /// The elements where a mask is true, in row-major order: `x[mask]` of NumPy. A mask of fewer axes is for the leading
    /// ones and selects slices. The size is as that of [`LazyTensor::nonzero`].
    ///
    /// ```
    /// use tj_ir::defer;
    /// use tj_tensor::Tensor;
    ///
    /// let x = defer(Tensor::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?);
    /// assert_eq!(x.masked(&x.greater(2)).rank(), 1);
    /// assert_eq!(x.masked(&x.sum(1).greater(6)).shape()[1].actual(), Some(3));
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    #[track_caller]
    pub fn masked(&self, mask: &LazyTensor) -> LazyTensor {
        or_failed(masked("masked", self, mask, Location::caller()))
    }

    /// The slices along an axis, or the elements of all in row-major order, for which a condition is not zero. The
    /// condition has the size of the axis.
    #[track_caller]
    pub fn compress(&self, condition: &LazyTensor, axis: impl Into<Option<i64>>) -> LazyTensor {
        or_failed(compress(self, condition, axis.into(), Location::caller()))
    }

    /// The distinct elements in ascending order. Every NaN is distinct from all others and comes last; zeros of both signs
    /// are equal, and the first one stands for both. Complex numbers are ordered by their real parts first.
    ///
    /// The size is as that of [`LazyTensor::nonzero`].
    #[track_caller]
    pub fn unique_values(&self) -> LazyTensor {
        or_failed(unique(Unique::Values, self, Location::caller()).map(only))
    }

    /// The distinct elements as [`LazyTensor::unique_values`] gives them, and how often each occurs.
    #[track_caller]
    pub fn unique_counts(&self) -> (LazyTensor, LazyTensor) {
        let [values, counts] = several(unique(Unique::Counts, self, Location::caller()));
        (values, counts)
    }

    /// The distinct elements as [`LazyTensor::unique_values`] gives them, and for each element of this tensor where it stands
    /// among them.
    #[track_caller]
    pub fn unique_inverse(&self) -> (LazyTensor, LazyTensor) {
        let [values, inverse] = several(unique(Unique::Inverse, self, Location::caller()));
        (values, inverse)
    }

    /// The distinct elements as [`LazyTensor::unique_values`] gives them; the position of the first of each in row-major
    /// order; the inverse of [`LazyTensor::unique_inverse`]; the counts of [`LazyTensor::unique_counts`].
    #[track_caller]
    pub fn unique_all(&self) -> (LazyTensor, LazyTensor, LazyTensor, LazyTensor) {
        let [values, indices, inverse, counts] = several(unique(Unique::All, self, Location::caller()));
        (values, indices, inverse, counts)
    }
}

fn only(mut results: SmallVec<[LazyTensor; 4]>) -> LazyTensor {
    results.remove(0)
}

fn several<const N: usize>(made: Made<SmallVec<[LazyTensor; 4]>>) -> [LazyTensor; N] {
    match made {
        Ok(results) => std::array::from_fn(|k| results[k].clone()),
        Err(error) => std::array::from_fn(|_| LazyTensor::failed(error.clone())),
    }
}

/// The product of sizes that are part of the program: nothing is known of those of data.
fn most(shape: &[Dim]) -> i64 {
    let sizes: Option<Vec<i64>> = shape.iter().map(Dim::is_const).collect();
    let count = sizes.and_then(|sizes| sizes.into_iter().try_fold(1_i64, i64::checked_mul));
    count.map_or(MAX_SIZE, |count| count.clamp(0, MAX_SIZE))
}

/// Results of a selection. `count` goes into shapes, which `shape` gives for each of them.
fn select(
    selection: Selection,
    args: Vec<LazyTensor>,
    at_most: i64,
    shape: impl Fn(&Dim, usize) -> Shape,
    guards: &[Guard],
    location: Place,
) -> Made<SmallVec<[LazyTensor; 4]>> {
    let count = Symbol::counted(selection.name(), at_most);
    let size = Dim::symbol(&count);
    let types: SmallVec<[(usize, DType); 2]> = args.iter().map(|arg| (arg.rank(), arg.dtype())).collect();
    let selected = Arc::new(Selected { selection, args, count });
    let mut made = SmallVec::new();
    for (output, dtype) in selection.dtypes(&types).into_iter().enumerate() {
        let kind = Kind::Select { selected: selected.clone(), output };
        let mut tensor = LazyTensor::node(kind, shape(&size, output), dtype, location);
        attach(&mut tensor, guards.to_vec());
        tensor.check()?;
        made.push(tensor);
    }
    Ok(made)
}

fn coordinates(
    op: &'static str,
    selection: Selection,
    x: &LazyTensor,
    location: Place,
) -> Made<SmallVec<[LazyTensor; 4]>> {
    x.check()?;
    let rank = x.rank();
    if selection == Selection::Nonzero && rank == 0 {
        let expected = "a scalar has no coordinates; take x.flatten() for the one element";
        return Err(IrError::new(Cause::Rank { op, expected, rank }, location));
    }
    let mask = map(Op::Cast(DType::Bool), [x.into()], location);
    let at_most = most(x.shape());
    let shape = |count: &Dim, _| match selection {
        Selection::Argwhere => Shape::from_iter([count.clone(), Dim::from(rank)]),
        Selection::Nonzero | Selection::Masked | Selection::Repeat | Selection::Unique(_) => {
            Shape::from_iter([count.clone()])
        }
    };
    select(selection, vec![mask], at_most, shape, &[], location)
}

fn masked(op: &'static str, x: &LazyTensor, mask: &LazyTensor, location: Place) -> Made {
    x.check()?;
    mask.check()?;
    let fail = |cause| IrError::new(cause, location);
    if !mask.dtype().is_bool() {
        let problem = format!("a mask is bool, not {}; compare, or use take for positions", mask.dtype());
        return Err(fail(Cause::Argument { op, problem }));
    }
    let lead = mask.rank();
    if lead > x.rank() {
        let expected = "needs a mask with no more axes than the tensor";
        return Err(fail(Cause::Rank { op, expected, rank: lead }));
    }
    let mut guards = Vec::new();
    for sizes in x.shape().iter().zip(mask.shape()) {
        require_equal(op, x.shape(), mask.shape(), sizes, &mut guards, location).map_err(fail)?;
    }
    let rest = &x.shape()[lead..];
    let shape = |count: &Dim, _| std::iter::once(count).chain(rest).cloned().collect();
    let args = vec![mask.clone(), x.clone()];
    select(Selection::Masked, args, most(mask.shape()), shape, &guards, location).map(only)
}

/// The axis first, or all axes as one.
fn axis_first(
    op: &'static str,
    x: &LazyTensor,
    axis: Option<i64>,
    location: Place,
) -> Made<(LazyTensor, usize)> {
    x.check()?;
    let Some(axis) = axis else { return Ok((merge_axes(x, 0, x.rank(), location), 0)) };
    let axis = resolve_axis(op, x.rank(), axis).map_err(|cause| IrError::new(cause, location))?;
    let order: SmallVec<[usize; 4]> =
        [axis].into_iter().chain((0..x.rank()).filter(|&d| d != axis)).collect();
    Ok((reorder(x, &order, location), axis))
}

/// Undoes [`axis_first`].
fn axis_back(x: &LazyTensor, axis: usize, location: Place) -> LazyTensor {
    let order: SmallVec<[usize; 4]> = (1..=axis).chain([0]).chain(axis + 1..x.rank()).collect();
    reorder(x, &order, location)
}

fn compress(x: &LazyTensor, condition: &LazyTensor, axis: Option<i64>, location: Place) -> Made {
    let op = "compress";
    let (first, axis) = axis_first(op, x, axis, location)?;
    condition.check()?;
    if condition.rank() != 1 {
        let expected = "needs a vector as condition";
        return Err(IrError::new(Cause::Rank { op, expected, rank: condition.rank() }, location));
    }
    let mask = map(Op::Cast(DType::Bool), [condition.into()], location);
    let selected = masked(op, &first, &mask, location)?;
    Ok(axis_back(&selected, axis, location))
}

pub(super) fn repeat_by(x: &LazyTensor, counts: &LazyTensor, axis: Option<i64>, location: Place) -> Made {
    let op = "repeat";
    let (first, axis) = axis_first(op, x, axis, location)?;
    let counts = positions(op, counts, location)?;
    if counts.rank() > 1 {
        let expected = "needs one count, or a vector of them";
        return Err(IrError::new(Cause::Rank { op, expected, rank: counts.rank() }, location));
    }
    let mut guards = Vec::new();
    let counts = spread(op, &counts, &first.shape()[..1], &mut guards, location)?;
    let rest = first.shape()[1..].to_vec();
    let shape = |count: &Dim, _| std::iter::once(count).chain(&rest).cloned().collect();
    let repeated = select(Selection::Repeat, vec![first.clone(), counts], MAX_SIZE, shape, &guards, location)
        .map(only)?;
    Ok(axis_back(&repeated, axis, location))
}

fn unique(parts: Unique, x: &LazyTensor, location: Place) -> Made<SmallVec<[LazyTensor; 4]>> {
    x.check()?;
    let inverse = match parts {
        Unique::Values | Unique::Counts => None,
        Unique::Inverse => Some(1),
        Unique::All => Some(2),
    };
    let shape = |count: &Dim, output| match Some(output) == inverse {
        true => x.0.shape.clone(),
        false => Shape::from_iter([count.clone()]),
    };
    select(Selection::Unique(parts), vec![x.clone()], most(x.shape()), shape, &[], location)
}
