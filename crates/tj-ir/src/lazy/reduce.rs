//! Reductions over axes.
//!
//! A reduction over several axes is, by definition, one over the last of them, then over the one before it, and
//! so on: `x.sum(())` of a matrix has the bits of `x.sum(1).sum(0)`. So one axis a node is all that later
//! layers see. f16 and bf16 are reduced in f32, over all axes, and the result is rounded once.

use std::panic::Location;

use smallvec::SmallVec;
use tj_tensor::DType;

use super::call::{call_one, or_failed, to_last};
use super::complex::by_parts;
use super::elementwise::{attach, map};
use super::movement::{insert_axes, moved, position};
use super::{Kind, LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::function::{Field, Function};
use crate::guard::{Condition, Guard};
use crate::op::{Op, ReduceOp};

/// Which axes a reduction runs over, and whether they stay as axes of size 1.
///
/// ```
/// use tj_ir::{axis, input, Dim};
/// use tj_tensor::DType;
///
/// let x = input("x", DType::F32, [2.into(), 3.into(), 4.into()])?;
/// assert_eq!(x.sum(1).shape(), [Dim::from(2), Dim::from(4)]);
/// assert_eq!(x.sum([0, -1]).shape(), [Dim::from(3)]);
/// assert_eq!(x.sum(()).rank(), 0);
/// assert_eq!(x.sum(axis(1).keepdims()).shape(), [Dim::from(2), Dim::from(1), Dim::from(4)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    list: Option<SmallVec<[i64; 4]>>,
    pub(super) keepdims: bool,
}

/// One axis, counted from the end if negative.
pub fn axis(axis: i64) -> Axes {
    Axes::from(axis)
}

impl Axes {
    /// All axes.
    pub fn all() -> Axes {
        Axes { list: None, keepdims: false }
    }

    /// How many axes are named; `None` if it is all of them.
    pub(super) fn count(&self) -> Option<usize> {
        self.list.as_ref().map(SmallVec::len)
    }

    /// The axes that are named, in the order of the user; `None` if it is all of them.
    pub(super) fn named(&self) -> Option<&[i64]> {
        self.list.as_deref()
    }

    /// Keeps reduced axes, with size 1.
    pub fn keepdims(self) -> Axes {
        Axes { keepdims: true, ..self }
    }
}

impl From<()> for Axes {
    fn from((): ()) -> Axes {
        Axes::all()
    }
}

impl From<Option<i64>> for Axes {
    /// `None` is all axes.
    fn from(axis: Option<i64>) -> Axes {
        axis.map_or(Axes::all(), Axes::from)
    }
}

impl From<i64> for Axes {
    fn from(axis: i64) -> Axes {
        Axes { list: Some(SmallVec::from_slice(&[axis])), keepdims: false }
    }
}

impl From<i32> for Axes {
    fn from(axis: i32) -> Axes {
        Axes::from(i64::from(axis))
    }
}

impl<const N: usize> From<[i64; N]> for Axes {
    fn from(axes: [i64; N]) -> Axes {
        Axes::from(axes.as_slice())
    }
}

impl<const N: usize> From<&[i64; N]> for Axes {
    fn from(axes: &[i64; N]) -> Axes {
        Axes::from(axes.as_slice())
    }
}

impl From<&Vec<i64>> for Axes {
    fn from(axes: &Vec<i64>) -> Axes {
        Axes::from(axes.as_slice())
    }
}

impl From<&[i64]> for Axes {
    fn from(axes: &[i64]) -> Axes {
        Axes { list: Some(SmallVec::from_slice(axes)), keepdims: false }
    }
}

impl LazyTensor {
    /// Sum; 0 over nothing. `bool` and narrow integers widen to 64 bits.
    #[track_caller]
    pub fn sum(&self, axes: impl Into<Axes>) -> LazyTensor {
        reduce(ReduceOp::Sum, self, &axes.into(), Location::caller())
    }

    /// Product; 1 over nothing. `bool` and narrow integers widen to 64 bits. Of complex numbers one after the other,
    /// with memory for all partial products.
    #[track_caller]
    pub fn prod(&self, axes: impl Into<Axes>) -> LazyTensor {
        reduce(ReduceOp::Prod, self, &axes.into(), Location::caller())
    }

    /// Greatest; NaN if any is NaN; not of complex numbers, which have no order. Over an axis of size 0 it is an error, found when sizes are known.
    #[track_caller]
    pub fn max(&self, axes: impl Into<Axes>) -> LazyTensor {
        reduce(ReduceOp::Max, self, &axes.into(), Location::caller())
    }

    /// Least; NaN if any is NaN. Over an axis of size 0 it is an error, found when sizes are known.
    #[track_caller]
    pub fn min(&self, axes: impl Into<Axes>) -> LazyTensor {
        reduce(ReduceOp::Min, self, &axes.into(), Location::caller())
    }

    /// Sum divided by the number of elements; integers and `bool` go to f64; NaN over nothing.
    #[track_caller]
    pub fn mean(&self, axes: impl Into<Axes>) -> LazyTensor {
        mean(self, &axes.into(), Location::caller())
    }
}

/// [`LazyTensor::mean`], asked for at `location`. A complex number is divided by a count part by part.
fn mean(arg: &LazyTensor, axes: &Axes, location: &'static Location<'static>) -> LazyTensor {
    if arg.check().is_err() {
        return arg.clone();
    }
    if arg.dtype().is_complex() {
        return or_failed(by_parts(arg, location, |part| Ok(mean(part, axes, location))));
    }
    let dtypes = [arg.dtype()];
    let Some((_, dtype)) = Op::Div.dtypes(&dtypes) else {
        return LazyTensor::failed(IrError::new(
            Cause::DTypes { op: "mean", dtypes: dtypes.to_vec() },
            location,
        ));
    };
    let work = accumulated(dtype);
    let floats = map(Op::Cast(work), [arg.into()], location);
    let total = reduce(ReduceOp::Sum, &floats, axes, location);
    let count = match resolve("mean", arg.rank(), axes) {
        Ok(list) => list.iter().fold(Dim::from(1), |n, &a| n * arg.shape()[a].clone()),
        Err(cause) => return LazyTensor::failed(IrError::new(cause, location)),
    };
    let count = LazyTensor::node(Kind::Size(count), Shape::new(), DType::I64, location);
    let count = map(Op::Cast(work), [count.into()], location);
    let mean = map(Op::Div, [total.into(), count.into()], location);
    map(Op::Cast(dtype), [mean.into()], location)
}

/// The dtype in which sums and products of this dtype are carried on: f32 for the halves.
pub(super) fn accumulated(dtype: DType) -> DType {
    if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype }
}

/// Axes as positions, ascending.
pub(super) fn resolve(op: &'static str, rank: usize, axes: &Axes) -> Result<SmallVec<[usize; 4]>, Cause> {
    let Some(list) = &axes.list else { return Ok((0..rank).collect()) };
    let mut found = SmallVec::new();
    for &axis in list {
        let position = resolve_axis(op, rank, axis)?;
        if found.contains(&position) {
            return Err(Cause::RepeatedAxis { op, axis });
        }
        found.push(position);
    }
    found.sort_unstable();
    Ok(found)
}

/// One axis as a position, counted from the end if negative.
pub(super) fn resolve_axis(op: &'static str, rank: usize, axis: i64) -> Result<usize, Cause> {
    let positive = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(positive).ok().filter(|&a| a < rank).ok_or(Cause::Axis { op, axis, rank })
}

/// A reduction, asked for at `location`.
pub(super) fn reduce(
    op: ReduceOp,
    arg: &LazyTensor,
    axes: &Axes,
    location: &'static Location<'static>,
) -> LazyTensor {
    reduce_in(op.name(), op, arg, axes, op.dtype(arg.dtype()), location)
}

/// A reduction in a dtype of the caller's choice, under the name that messages use. In `bool` a sum is `or` and a
/// product is `and`.
pub(super) fn reduce_in(
    name: &'static str,
    op: ReduceOp,
    arg: &LazyTensor,
    axes: &Axes,
    dtype: DType,
    location: &'static Location<'static>,
) -> LazyTensor {
    match try_reduce(name, op, arg, axes, dtype, location) {
        Ok(tensor) => tensor,
        Err(error) => LazyTensor::failed(error),
    }
}

fn try_reduce(
    name: &'static str,
    op: ReduceOp,
    arg: &LazyTensor,
    axes: &Axes,
    dtype: DType,
    location: &'static Location<'static>,
) -> Result<LazyTensor, IrError> {
    arg.check()?;
    let fail = |cause| IrError::new(cause, location);
    let list = resolve(name, arg.rank(), axes).map_err(fail)?;
    if op.op().dtypes(&[dtype]).is_none() {
        return Err(fail(Cause::DTypes { op: name, dtypes: vec![dtype] }));
    }
    let given = dtype;
    let dtype = accumulated(dtype);
    let mut tensor = map(Op::Cast(dtype), [arg.into()], location);
    for &axis in list.iter().rev() {
        if op == ReduceOp::Prod && dtype.is_complex() {
            tensor = complex_product(name, &tensor, axis, location)?;
            continue;
        }
        let extent = tensor.shape()[axis].clone();
        let mut guards = Vec::new();
        if op.empty(dtype).is_none() {
            match Dim::from(1).known_le(&extent) {
                Some(true) => {}
                Some(false) => return Err(fail(Cause::EmptyReduction { op: name, axis })),
                None => guards.push(Guard {
                    condition: Condition::LessEqual(Dim::from(1), extent),
                    reason: format!("{name}: it is undefined over axis {axis} of size 0"),
                    location,
                }),
            }
        }
        let mut shape = tensor.0.shape.clone();
        shape.remove(axis);
        tensor = LazyTensor::node(Kind::Reduce { op, arg: tensor, axis }, shape, dtype, location);
        attach(&mut tensor, guards);
        tensor.check()?;
    }
    let tensor = map(Op::Cast(given), [tensor.into()], location);
    Ok(if axes.keepdims && !list.is_empty() { insert_axes(&tensor, &list, location) } else { tensor })
}

/// The product of complex numbers along an axis, which no tree of real sums and products is: the last of all partial
/// products in order of position. Holds all of them.
fn complex_product(
    name: &'static str,
    arg: &LazyTensor,
    axis: usize,
    location: &'static Location<'static>,
) -> Result<LazyTensor, IrError> {
    let function = Function::Scan { op: ReduceOp::Prod, initial: true, field: Field::Complex };
    let products = call_one(name, function, vec![to_last(arg, axis, location)], &[], location)?;
    let last = products.rank() - 1;
    let at: Indices = (0..last).map(position).chain([arg.shape()[axis].clone()]).collect();
    let shape = products.shape()[..last].iter().cloned().collect();
    Ok(moved(name, &products, shape, at, location))
}
