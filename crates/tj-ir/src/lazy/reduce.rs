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
use super::{Kind, LazyTensor, ScalarOp, Shape};
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

/// What combines the values of a reduction: an operator of two arguments, or a reduction by name.
#[derive(Clone, Debug)]
pub struct Reducer(Combines);

#[derive(Clone, Debug)]
enum Combines {
    Named(ReduceOp),
    Table(Op),
    Defined(ScalarOp),
}

impl From<&ScalarOp> for Reducer {
    fn from(op: &ScalarOp) -> Reducer {
        Reducer(Combines::Defined(op.clone()))
    }
}

impl From<ReduceOp> for Reducer {
    fn from(op: ReduceOp) -> Reducer {
        Reducer(Combines::Named(op))
    }
}

impl From<Op> for Reducer {
    fn from(op: Op) -> Reducer {
        Reducer(Combines::Table(op))
    }
}

impl Reducer {
    fn over(
        &self,
        arg: &LazyTensor,
        axes: &Axes,
        location: &'static Location<'static>,
    ) -> Result<LazyTensor, IrError> {
        arg.check()?;
        let op = match &self.0 {
            Combines::Defined(op) => {
                let given = arg.dtype();
                let user = op.combiner(accumulated(given)).map_err(|cause| IrError { cause, location })?;
                let dtype = if accumulated(given) == user.result() { given } else { user.result() };
                let by = ReduceOp::By(Op::User(user));
                return Ok(reduce_in(op.name(), by, arg, axes, dtype, location));
            }
            &Combines::Named(op) => op,
            &Combines::Table(op) => match ReduceOp::of_truths(op) {
                Some(bits) => return Ok(reduce_in(op.name(), bits, arg, axes, DType::Bool, location)),
                None => ReduceOp::of(op).ok_or_else(|| refused(op, location))?,
            },
        };
        if let ReduceOp::By(by) = op
            && ReduceOp::of(by).is_none()
        {
            return Err(refused(by, location));
        }
        if op == ReduceOp::By(Op::Hypot) && !arg.dtype().is_complex() {
            // The length of one number is its absolute value.
            let length =
                map(Op::Abs, [map(Op::Cast(op.dtype(arg.dtype())), [arg.into()], location).into()], location);
            return Ok(reduce(op, &length, axes, location));
        }
        Ok(reduce(op, arg, axes, location))
    }
}

/// Why an operator is no reduction.
fn refused(op: Op, location: &'static Location<'static>) -> IrError {
    let problem = match op.info().arity {
        2 => "it does not combine two values of one kind, as a reduction does".to_string(),
        arity => format!("it has {arity} arguments, and a reduction combines two"),
    };
    IrError::new(Cause::Argument { op: op.name(), problem }, location)
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

    /// Values along axes combined by an operator of two arguments, as `ufunc.reduce` of NumPy: sums, products and extremes
    /// as the methods of these names; `logical_and` and its like of truth values. An operator that is declared
    /// associative and commutative combines in the order of a sum ([`Tree`](crate::Tree)), any other one element after the other, along one
    /// axis. Over nothing it gives its identity; where it has none, an axis of size 0 is an error, found when sizes are known.
    ///
    /// ```
    /// use tj_ir::{input, Dim, Op};
    /// use tj_tensor::DType;
    ///
    /// let bits = input("bits", DType::U8, [Dim::new("N", ..)?, 8.into()])?;
    /// assert_eq!(bits.reduce(Op::Xor, 0).dtype(), DType::U8);
    /// assert_eq!(bits.reduce(Op::Logaddexp, ()).dtype(), DType::F64);
    /// let wrong = bits.reduce(Op::Sub, ()).check().unwrap_err();
    /// let text = "sub: it is not associative and commutative, so it reduces one axis, not 2";
    /// assert_eq!(wrong.cause.to_string(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn reduce(&self, op: impl Into<Reducer>, axes: impl Into<Axes>) -> LazyTensor {
        let op: Reducer = op.into();
        or_failed(op.over(self, &axes.into(), Location::caller()))
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
    let given = dtype;
    let dtype = accumulated(dtype);
    let by_operator = matches!(op, ReduceOp::By(_));
    if op.op().dtypes(&[dtype, dtype]).is_none() || by_operator && (dtype.is_complex() || !op.combines(dtype))
    {
        return Err(fail(Cause::DTypes { op: name, dtypes: vec![given] }));
    }
    if list.len() > 1 && !op.is_reorderable() {
        let problem =
            format!("it is not associative and commutative, so it reduces one axis, not {}", list.len());
        return Err(fail(Cause::Argument { op: name, problem }));
    }
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
