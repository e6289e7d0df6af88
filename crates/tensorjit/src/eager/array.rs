//! The twins of operators on whole tensors.

use tj_ir::{
    Along, At, Axes, Combine, Dim, Dot, End, Indexing, LazyTensor, NewShape, Number, Order, Parts, Reducer,
    Repeats, Shifts, Side, Window,
};
use tj_runtime::Error;
use tj_tensor::{DType, Scalar, Tensor};

use super::{Argument, OptionalArgument, twins, value};

twins! {
    /// [`LazyTensor::sum`] on data.
    sum(x; axes: impl Into<Axes>) => Tensor = x.sum(axes);
    /// [`LazyTensor::prod`] on data.
    prod(x; axes: impl Into<Axes>) => Tensor = x.prod(axes);
    /// [`LazyTensor::max`] on data.
    max(x; axes: impl Into<Axes>) => Tensor = x.max(axes);
    /// [`LazyTensor::min`] on data.
    min(x; axes: impl Into<Axes>) => Tensor = x.min(axes);
    /// [`LazyTensor::mean`] on data.
    mean(x; axes: impl Into<Axes>) => Tensor = x.mean(axes);
    /// [`LazyTensor::reduce`] on data.
    reduce(x; op: impl Into<Reducer>, axes: impl Into<Axes>) => Tensor = x.reduce(op, axes);
    /// [`LazyTensor::any`] on data.
    any(x; axes: impl Into<Axes>) => Tensor = x.any(axes);
    /// [`LazyTensor::all`] on data.
    all(x; axes: impl Into<Axes>) => Tensor = x.all(axes);
    /// [`LazyTensor::count_nonzero`] on data.
    count_nonzero(x; axes: impl Into<Axes>) => Tensor = x.count_nonzero(axes);
    /// [`LazyTensor::argmax`] on data.
    argmax(x; axis: impl Into<Axes>) => Tensor = x.argmax(axis);
    /// [`LazyTensor::argmin`] on data.
    argmin(x; axis: impl Into<Axes>) => Tensor = x.argmin(axis);
    /// [`LazyTensor::var`] on data.
    var(x; axes: impl Into<Axes>, correction: f64) => Tensor = x.var(axes, correction);
    /// [`LazyTensor::std`] on data.
    std(x; axes: impl Into<Axes>, correction: f64) => Tensor = x.std(axes, correction);
    /// [`LazyTensor::ptp`] on data.
    ptp(x; axes: impl Into<Axes>) => Tensor = x.ptp(axes);
    /// [`LazyTensor::average`] on data.
    average(x, weights; axes: impl Into<Axes>) => Tensor = x.average(axes, &weights);
    /// [`LazyTensor::sum_in`] on data.
    sum_in(x; axes: impl Into<Axes>, dtype: DType) => Tensor = x.sum_in(axes, dtype);
    /// [`LazyTensor::prod_in`] on data.
    prod_in(x; axes: impl Into<Axes>, dtype: DType) => Tensor = x.prod_in(axes, dtype);
    /// [`LazyTensor::nansum`] on data.
    nansum(x; axes: impl Into<Axes>) => Tensor = x.nansum(axes);
    /// [`LazyTensor::nanprod`] on data.
    nanprod(x; axes: impl Into<Axes>) => Tensor = x.nanprod(axes);
    /// [`LazyTensor::nanmax`] on data.
    nanmax(x; axes: impl Into<Axes>) => Tensor = x.nanmax(axes);
    /// [`LazyTensor::nanmin`] on data.
    nanmin(x; axes: impl Into<Axes>) => Tensor = x.nanmin(axes);
    /// [`LazyTensor::nanmean`] on data.
    nanmean(x; axes: impl Into<Axes>) => Tensor = x.nanmean(axes);
    /// [`LazyTensor::nanvar`] on data.
    nanvar(x; axes: impl Into<Axes>, correction: f64) => Tensor = x.nanvar(axes, correction);
    /// [`LazyTensor::nanstd`] on data.
    nanstd(x; axes: impl Into<Axes>, correction: f64) => Tensor = x.nanstd(axes, correction);
    /// [`LazyTensor::softmax`] on data.
    softmax(x; axes: impl Into<Axes>) => Tensor = x.softmax(axes);
    /// [`LazyTensor::log_softmax`] on data.
    log_softmax(x; axes: impl Into<Axes>) => Tensor = x.log_softmax(axes);
    /// [`LazyTensor::logsumexp`] on data.
    logsumexp(x; axes: impl Into<Axes>) => Tensor = x.logsumexp(axes);
    /// [`LazyTensor::median`] on data.
    median(x; axis: i64) => Tensor = x.median(axis);
    /// [`LazyTensor::quantile`] on data.
    quantile(x; q: f64, axis: i64) => Tensor = x.quantile(q, axis);
    /// [`LazyTensor::diff`] on data.
    diff(x; times: u32, axis: i64) => Tensor = x.diff(times, axis);
    /// [`LazyTensor::diff_with`] on data.
    diff_with(x; times: u32, axis: i64, prepend: impl OptionalArgument, append: impl OptionalArgument) => Tensor = x.diff_with(times, axis, prepend.optional(), append.optional());
    /// [`LazyTensor::cumulative_sum`] on data.
    cumulative_sum(x; along: impl Into<Along>) => Tensor = x.cumulative_sum(along);
    /// [`LazyTensor::cumulative_prod`] on data.
    cumulative_prod(x; along: impl Into<Along>) => Tensor = x.cumulative_prod(along);
    /// [`LazyTensor::cumulative_max`] on data.
    cumulative_max(x; along: impl Into<Along>) => Tensor = x.cumulative_max(along);
    /// [`LazyTensor::cumulative_min`] on data.
    cumulative_min(x; along: impl Into<Along>) => Tensor = x.cumulative_min(along);
    /// [`LazyTensor::sort`] on data.
    sort(x; axis: i64, order: Order) => Tensor = x.sort(axis, order);
    /// [`LazyTensor::argsort`] on data.
    argsort(x; axis: i64, order: Order) => Tensor = x.argsort(axis, order);
    /// [`LazyTensor::searchsorted`] on data.
    searchsorted(x, values; side: Side) => Tensor = x.searchsorted(&values, side);
    /// [`LazyTensor::searchsorted_by`] on data.
    searchsorted_by(x, values, sorter; side: Side) => Tensor = x.searchsorted_by(&values, side, &sorter);
    /// [`LazyTensor::take`] on data.
    take(x, indices; axis: i64) => Tensor = x.take(&indices, axis);
    /// [`LazyTensor::take_along_axis`] on data.
    take_along_axis(x, indices; axis: i64) => Tensor = x.take_along_axis(&indices, axis);
    /// [`LazyTensor::scatter`] on data.
    scatter(x, indices, updates; axis: i64, combine: Combine) => Tensor = x.scatter(&indices, &updates, axis, combine);
    /// [`LazyTensor::scatter_add`] on data.
    scatter_add(x, indices, updates; axis: i64) => Tensor = x.scatter_add(&indices, &updates, axis);
    /// [`LazyTensor::scatter_along_axis`] on data.
    scatter_along_axis(x, indices, updates; axis: i64, combine: Combine) => Tensor = x.scatter_along_axis(&indices, &updates, axis, combine);
    /// [`LazyTensor::matmul`] on data.
    matmul(x, y) => Tensor = x.matmul(&y);
    /// [`LazyTensor::transpose`] on data.
    transpose(x) => Tensor = x.transpose();
    /// [`LazyTensor::matrix_transpose`] on data.
    matrix_transpose(x) => Tensor = x.matrix_transpose();
    /// [`LazyTensor::permute_dims`] on data.
    permute_dims(x; axes: &[i64]) => Tensor = x.permute_dims(axes);
    /// [`LazyTensor::swapaxes`] on data.
    swapaxes(x; first: i64, second: i64) => Tensor = x.swapaxes(first, second);
    /// [`LazyTensor::moveaxis`] on data.
    moveaxis(x; from: &[i64], to: &[i64]) => Tensor = x.moveaxis(from, to);
    /// [`LazyTensor::expand_dims`] on data.
    expand_dims(x; axes: impl Into<Axes>) => Tensor = x.expand_dims(axes);
    /// [`LazyTensor::squeeze`] on data.
    squeeze(x; axes: impl Into<Axes>) => Tensor = x.squeeze(axes);
    /// [`LazyTensor::flatten`] on data.
    flatten(x) => Tensor = x.flatten();
    /// [`LazyTensor::reshape`] on data.
    reshape(x; shape: impl Into<NewShape>) => Tensor = x.reshape(shape);
    /// [`LazyTensor::broadcast_to`] on data.
    broadcast_to(x; shape: &[Dim]) => Tensor = x.broadcast_to(shape);
    /// [`LazyTensor::flip`] on data.
    flip(x; axes: impl Into<Axes>) => Tensor = x.flip(axes);
    /// [`LazyTensor::roll`] on data.
    roll(x; shifts: impl Into<Shifts>, axes: impl Into<Axes>) => Tensor = x.roll(shifts, axes);
    /// [`LazyTensor::repeat`] on data.
    repeat(x; count: impl Into<Repeats>, axis: impl Into<Option<i64>>) => Tensor = x.repeat(count, axis);
    /// [`LazyTensor::nonzero`] on data.
    nonzero(x) => Vec<Tensor> = x.nonzero();
    /// [`LazyTensor::argwhere`] on data.
    argwhere(x) => Tensor = x.argwhere();
    /// [`LazyTensor::masked`] on data.
    masked(x, mask) => Tensor = x.masked(&mask);
    /// [`LazyTensor::compress`] on data.
    compress(x, condition; axis: impl Into<Option<i64>>) => Tensor = x.compress(&condition, axis);
    /// [`LazyTensor::unique_values`] on data.
    unique_values(x) => Tensor = x.unique_values();
    /// [`LazyTensor::unique_counts`] on data.
    unique_counts(x) => (Tensor, Tensor) = x.unique_counts();
    /// [`LazyTensor::unique_inverse`] on data.
    unique_inverse(x) => (Tensor, Tensor) = x.unique_inverse();
    /// [`LazyTensor::unique_all`] on data.
    unique_all(x) => (Tensor, Tensor, Tensor, Tensor) = x.unique_all();
    /// [`LazyTensor::tile`] on data.
    tile(x; counts: impl IntoIterator<Item = impl Into<Dim>>) => Tensor = x.tile(counts);
    /// [`LazyTensor::pad`] on data.
    pad(x; widths: impl IntoIterator<Item = (i64, i64)>, value: impl Into<Scalar>) => Tensor = x.pad(widths, value);
    /// [`LazyTensor::index`] on data.
    index(x; parts: impl IntoIterator<Item = At>) => Tensor = x.index(parts);
    /// [`LazyTensor::set`] on data.
    set(x; parts: impl Into<Parts>, value: impl Argument) => Tensor = x.set(parts, value.operand());
    /// [`LazyTensor::add_at`] on data.
    add_at(x; parts: impl Into<Parts>, value: impl Argument) => Tensor = x.add_at(parts, value.operand());
    /// [`LazyTensor::slice_axis`] on data.
    slice_axis(x; axis: i64, part: At) => Tensor = x.slice_axis(axis, part);
    /// [`LazyTensor::sliding_window_view`] on data.
    sliding_window_view(x; windows: impl IntoIterator<Item = Window>) => Tensor = x.sliding_window_view(windows);
    /// [`LazyTensor::tril`] on data.
    tril(x; offset: i64) => Tensor = x.tril(offset);
    /// [`LazyTensor::triu`] on data.
    triu(x; offset: i64) => Tensor = x.triu(offset);
    /// [`LazyTensor::diagonal`] on data.
    diagonal(x; offset: i64) => Tensor = x.diagonal(offset);
    /// [`LazyTensor::diag`] on data.
    diag(x; offset: i64) => Tensor = x.diag(offset);
    /// [`LazyTensor::trace`] on data.
    trace(x; offset: i64) => Tensor = x.trace(offset);
    /// [`LazyTensor::trace_in`] on data.
    trace_in(x; offset: i64, dtype: DType) => Tensor = x.trace_in(offset, dtype);
    /// [`LazyTensor::cast`] on data.
    cast(x; to: DType) => Tensor = x.cast(to);
    /// [`LazyTensor::positive`] on data.
    positive(x) => Tensor = x.positive();
    /// [`LazyTensor::clip`] on data.
    clip(x; low: impl OptionalArgument, high: impl OptionalArgument) => Tensor = x.clip(low.optional(), high.optional());
    /// [`LazyTensor::empty_like`] on data.
    empty_like(x) => Tensor = x.empty_like();
    /// [`LazyTensor::zeros_like`] on data.
    zeros_like(x) => Tensor = x.zeros_like();
    /// [`LazyTensor::ones_like`] on data.
    ones_like(x) => Tensor = x.ones_like();
    /// [`LazyTensor::full_like`] on data.
    full_like(x; value: impl Into<Scalar>) => Tensor = x.full_like(value);
}

twins! {
    /// [`tj_ir::tensordot`] on data.
    tensordot(x, y; axes: impl Into<Dot>) => Tensor = tj_ir::tensordot(&x, &y, axes);
    /// [`tj_ir::vecdot`] on data.
    vecdot(x, y; axis: i64) => Tensor = tj_ir::vecdot(&x, &y, axis);
    /// [`tj_ir::inner`] on data.
    inner(x, y) => Tensor = tj_ir::inner(&x, &y);
    /// [`tj_ir::outer`] on data.
    outer(x, y) => Tensor = tj_ir::outer(&x, &y);
    /// [`tj_ir::kron`] on data.
    kron(x, y) => Tensor = tj_ir::kron(&x, &y);
    /// [`tj_ir::cross`] on data.
    cross(x, y; axis: i64) => Tensor = tj_ir::cross(&x, &y, axis);
    /// [`tj_ir::full`] on data.
    full(; shape: impl Into<NewShape>, value: impl Into<Scalar>) => Tensor = tj_ir::full(shape, value);
    /// [`tj_ir::empty`] on data.
    empty(; shape: impl Into<NewShape>, dtype: DType) => Tensor = tj_ir::empty(shape, dtype);
    /// [`tj_ir::zeros`] on data.
    zeros(; shape: impl Into<NewShape>, dtype: DType) => Tensor = tj_ir::zeros(shape, dtype);
    /// [`tj_ir::ones`] on data.
    ones(; shape: impl Into<NewShape>, dtype: DType) => Tensor = tj_ir::ones(shape, dtype);
    /// [`tj_ir::arange`] on data.
    arange(; start: impl Into<Number>, stop: impl Into<Number>, step: impl Into<Number>) => Tensor = tj_ir::arange(start, stop, step);
    /// [`tj_ir::arange_in`] on data.
    arange_in(; start: impl Into<Number>, stop: impl Into<Number>, step: impl Into<Number>, dtype: DType) => Tensor = tj_ir::arange_in(start, stop, step, dtype);
    /// [`tj_ir::linspace`] on data.
    linspace(; start: f64, stop: impl Into<End>, count: impl Into<Dim>, dtype: DType) => Tensor = tj_ir::linspace(start, stop, count, dtype);
    /// [`tj_ir::eye`] on data.
    eye(; rows: impl Into<Dim>, columns: impl Into<Dim>, offset: i64, dtype: DType) => Tensor = tj_ir::eye(rows, columns, offset, dtype);
}

pub(super) fn lazies(parts: impl IntoIterator<Item = impl Argument>) -> Vec<LazyTensor> {
    parts.into_iter().map(Argument::lazy).collect()
}

/// [`tj_ir::concat`] on data.
///
/// # Errors
/// As there, and what computing it may meet.
#[track_caller]
pub fn concat(
    parts: impl IntoIterator<Item = impl Argument>,
    axis: impl Into<Option<i64>>,
) -> Result<Tensor, Error> {
    value(tj_ir::concat(&lazies(parts), axis))
}

/// [`tj_ir::stack`] on data.
///
/// # Errors
/// As there, and what computing it may meet.
#[track_caller]
pub fn stack(parts: impl IntoIterator<Item = impl Argument>, axis: i64) -> Result<Tensor, Error> {
    value(tj_ir::stack(&lazies(parts), axis))
}

/// [`LazyTensor::unstack`] on data, whose sizes are known.
///
/// # Errors
/// An axis outside the rank, and what computing it may meet.
#[track_caller]
pub fn unstack(x: impl Argument, axis: i64) -> Result<Vec<Tensor>, Error> {
    let x = x.lazy();
    let at = if axis < 0 { axis + x.rank() as i64 } else { axis };
    let size = usize::try_from(at).ok().and_then(|at| x.shape().get(at)?.actual());
    match size {
        Some(count) => value((0..count).map(|k| x.slice_axis(axis, At::Index(k))).collect::<Vec<_>>()),
        None => value(x.unstack(axis)),
    }
}

/// [`tj_ir::broadcast_arrays`] on data.
///
/// # Errors
/// As there, and what computing it may meet.
#[track_caller]
pub fn broadcast_arrays(tensors: impl IntoIterator<Item = impl Argument>) -> Result<Vec<Tensor>, Error> {
    value(tj_ir::broadcast_arrays(&lazies(tensors)))
}

/// [`tj_ir::meshgrid`] on data.
///
/// # Errors
/// As there, and what computing it may meet.
#[track_caller]
pub fn meshgrid(
    vectors: impl IntoIterator<Item = impl Argument>,
    indexing: Indexing,
) -> Result<Vec<Tensor>, Error> {
    value(tj_ir::meshgrid(&lazies(vectors), indexing))
}

/// [`tj_ir::einsum`] on data.
///
/// # Errors
/// As there, and what computing it may meet.
#[track_caller]
pub fn einsum(subscripts: &str, operands: impl IntoIterator<Item = impl Argument>) -> Result<Tensor, Error> {
    let operands = lazies(operands);
    value(tj_ir::einsum(subscripts, &operands.iter().collect::<Vec<_>>()))
}

/// [`tj_ir::einop`] on data.
///
/// # Errors
/// As there, and what computing it may meet.
#[track_caller]
pub fn einop<'n>(
    text: &str,
    operands: impl IntoIterator<Item = (&'n str, impl Argument)>,
) -> Result<Tensor, Error> {
    let operands: Vec<(&str, LazyTensor)> = operands.into_iter().map(|(name, x)| (name, x.lazy())).collect();
    let named: Vec<(&str, &LazyTensor)> = operands.iter().map(|(name, x)| (*name, x)).collect();
    value(tj_ir::einop(text, &named))
}
