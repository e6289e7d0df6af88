//! Functions of whole tensors as nodes: types and sizes are checked here, axes are moved to where functions want them.
//!
//! A function works on the last axes of what it is given (see [`Function`]). A user names an axis; it is moved to its
//! place before the call and back behind it. Moves are index maps, so that producers and consumers do them as they go.

use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;
use tj_tensor::DType;

use super::elementwise::{attach, map};
use super::movement::{moved, position};
use super::{Call, Kind, LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::function::Function;
use crate::guard::Guard;
use crate::op::Op;
use crate::trace::real_shape;

/// Where the user called.
pub(super) type Place = &'static Location<'static>;

/// A tensor, or why there is none.
pub(super) type Made<T = LazyTensor> = Result<T, IrError>;

/// The tensor, or one that carries the error.
pub(super) fn or_failed(made: Made) -> LazyTensor {
    made.unwrap_or_else(LazyTensor::failed)
}

/// All results of `function`, whose name for messages is `op`. `guards` are what the sizes of its arguments must keep.
pub(super) fn call(
    op: &'static str,
    function: Function,
    args: Vec<LazyTensor>,
    guards: &[Guard],
    location: Place,
) -> Made<SmallVec<[LazyTensor; 3]>> {
    let fail = |cause| IrError::new(cause, location);
    for arg in &args {
        arg.check()?;
    }
    let refused = || Cause::DTypes { op, dtypes: args.iter().map(LazyTensor::dtype).collect() };
    let (complex_args, complex_results) = function.complex();
    if args.iter().zip(&complex_args).any(|(arg, &complex)| arg.dtype().is_complex() != complex) {
        return Err(fail(refused()));
    }
    // The function sees pairs.
    let dtypes: SmallVec<[DType; 3]> = args.iter().map(|arg| arg.dtype().real()).collect();
    let results = function.dtypes(&dtypes).ok_or_else(|| fail(refused()))?;
    let real = |arg: &LazyTensor| real_shape(arg.dtype(), arg.0.shape.clone());
    let shapes: SmallVec<[Shape; 3]> = args.iter().map(real).collect();
    let shapes: SmallVec<[&[Dim]; 3]> = shapes.iter().map(|shape| &**shape).collect();
    let call = Arc::new(Call { function, args });
    let mut made = SmallVec::new();
    for (output, &dtype) in results.iter().enumerate() {
        let shape = function.shape(&shapes, output).ok_or_else(|| {
            let ranks: Vec<String> = call.args.iter().map(|arg| arg.rank().to_string()).collect();
            fail(Cause::Argument { op, problem: format!("it does not take ranks {}", ranks.join(" and ")) })
        })?;
        let (dtype, shape) = match complex_results[output] {
            true => (dtype.complex(), shape[..shape.len() - 1].iter().cloned().collect()),
            false => (dtype, shape),
        };
        let mut tensor = LazyTensor::node(Kind::Call { call: call.clone(), output }, shape, dtype, location);
        tensor.check()?;
        attach(&mut tensor, guards.to_vec());
        made.push(tensor);
    }
    Ok(made)
}

/// The one result of `function`.
pub(super) fn call_one(
    op: &'static str,
    function: Function,
    args: Vec<LazyTensor>,
    guards: &[Guard],
    location: Place,
) -> Made {
    let mut results = call(op, function, args, guards, location)?;
    debug_assert_eq!(results.len(), 1, "{op} has one result");
    Ok(results.remove(0))
}

/// Axis `d` of the result is axis `order[d]`.
pub(super) fn reorder(arg: &LazyTensor, order: &[usize], location: Place) -> LazyTensor {
    if order.iter().enumerate().all(|(d, &source)| d == source) {
        return arg.clone();
    }
    let mut map: Indices = SmallVec::from_elem(Dim::ZERO, arg.rank());
    let mut shape = Shape::new();
    for (d, &source) in order.iter().enumerate() {
        map[source] = position(d);
        shape.push(arg.shape()[source].clone());
    }
    moved("permute", arg, shape, map, location)
}

/// The axis as the last one.
pub(super) fn to_last(arg: &LazyTensor, axis: usize, location: Place) -> LazyTensor {
    let order: SmallVec<[usize; 4]> = (0..arg.rank()).filter(|&d| d != axis).chain([axis]).collect();
    reorder(arg, &order, location)
}

/// The last axis at `axis` of the result: undoes [`to_last`].
pub(super) fn from_last(arg: &LazyTensor, axis: usize, location: Place) -> LazyTensor {
    let last = arg.rank() - 1;
    let order: SmallVec<[usize; 4]> =
        (0..last).take(axis).chain([last]).chain((0..last).skip(axis)).collect();
    reorder(arg, &order, location)
}

/// Axes `from..to` as one, which is of size 1 if there are none of them.
pub(super) fn merge_axes(arg: &LazyTensor, from: usize, to: usize, location: Place) -> LazyTensor {
    if to == from + 1 {
        return arg.clone();
    }
    let size = arg.shape()[from..to].iter().fold(Dim::ONE, |n, d| n * d.clone());
    let mut shape: Shape = arg.shape()[..from].iter().cloned().collect();
    shape.push(size);
    shape.extend(arg.shape()[to..].iter().cloned());
    as_shape(arg, shape, location)
}

/// The same elements, as many, under another shape.
pub(super) fn as_shape(arg: &LazyTensor, shape: Shape, location: Place) -> LazyTensor {
    if arg.shape() == shape.as_slice() {
        return arg.clone();
    }
    let map = super::reshape::reshape_map(arg.shape(), &shape);
    moved("reshape", arg, shape, map, location)
}

/// Positions as the type that functions take.
pub(super) fn positions(op: &'static str, indices: &LazyTensor, location: Place) -> Made {
    indices.check()?;
    let dtype = indices.dtype();
    if !dtype.is_int() {
        return Err(IrError::new(Cause::DTypes { op, dtypes: vec![dtype] }, location));
    }
    Ok(map(Op::Cast(DType::I64), [indices.into()], location))
}
