//! The twins of functions that NumPy has and the array API has not.

use tj_ir::{Along, Close, Dim, End, Mode, Side};
use tj_runtime::Error;
use tj_tensor::{DType, Tensor};

use super::array::lazies;
use super::{Argument, OptionalArgument, twins, value};

twins! {
    /// [`tj_ir::LazyTensor::ravel`] on data.
    ravel(x) => Tensor = x.ravel();
    /// [`tj_ir::LazyTensor::fliplr`] on data.
    fliplr(x) => Tensor = x.fliplr();
    /// [`tj_ir::LazyTensor::flipud`] on data.
    flipud(x) => Tensor = x.flipud();
    /// [`tj_ir::LazyTensor::rot90`] on data.
    rot90(x; times: i64, axes: [i64; 2]) => Tensor = x.rot90(times, axes);
    /// [`tj_ir::LazyTensor::split`] on data.
    split(x; parts: usize, axis: i64) => Vec<Tensor> = x.split(parts, axis);
    /// [`tj_ir::LazyTensor::isclose`] on data.
    isclose(x, y; close: Close) => Tensor = x.isclose(&y, close);
    /// [`tj_ir::LazyTensor::allclose`] on data.
    allclose(x, y; close: Close) => Tensor = x.allclose(&y, close);
    /// [`tj_ir::LazyTensor::array_equal`] on data.
    array_equal(x, y) => Tensor = x.array_equal(&y);
    /// [`tj_ir::LazyTensor::nan_to_num`] on data.
    nan_to_num(x; nan: f64, posinf: impl Into<Option<f64>>, neginf: impl Into<Option<f64>>) => Tensor = x.nan_to_num(nan, posinf, neginf);
    /// [`tj_ir::LazyTensor::fill_diagonal`] on data.
    fill_diagonal(x; value: impl Argument) => Tensor = x.fill_diagonal(value.operand());
    /// [`tj_ir::LazyTensor::digitize`] on data.
    digitize(x, edges; closed: Side) => Tensor = x.digitize(&edges, closed);
    /// [`tj_ir::LazyTensor::bincount`] on data.
    bincount(x; length: impl Into<Dim>, weights: impl OptionalArgument) => Tensor = x.bincount(length, weights.optional());
    /// [`tj_ir::LazyTensor::histogram`] on data.
    histogram(x, edges; weights: impl OptionalArgument) => Tensor = x.histogram(&edges, weights.optional());
    /// [`tj_ir::interp`] on data.
    interp(x, xp, fp) => Tensor = tj_ir::interp(&x, &xp, &fp);
    /// [`tj_ir::LazyTensor::cov`] on data.
    cov(x; correction: f64) => Tensor = x.cov(correction);
    /// [`tj_ir::LazyTensor::corrcoef`] on data.
    corrcoef(x) => Tensor = x.corrcoef();
    /// [`tj_ir::convolve`] on data.
    convolve(a, v; mode: Mode) => Tensor = tj_ir::convolve(&a, &v, mode);
    /// [`tj_ir::correlate`] on data.
    correlate(a, v; mode: Mode) => Tensor = tj_ir::correlate(&a, &v, mode);
    /// [`tj_ir::LazyTensor::gradient`] on data.
    gradient(x; spacing: f64, axis: i64) => Tensor = x.gradient(spacing, axis);
    /// [`tj_ir::LazyTensor::trapezoid`] on data.
    trapezoid(y; x: impl Argument, axis: i64) => Tensor = y.trapezoid(x.operand(), axis);
    /// [`tj_ir::LazyTensor::nancumsum`] on data.
    nancumsum(x; along: impl Into<Along>) => Tensor = x.nancumsum(along);
    /// [`tj_ir::LazyTensor::nancumprod`] on data.
    nancumprod(x; along: impl Into<Along>) => Tensor = x.nancumprod(along);
    /// [`tj_ir::LazyTensor::percentile`] on data.
    percentile(x; percent: f64, axis: i64) => Tensor = x.percentile(percent, axis);
    /// [`tj_ir::dot`] on data.
    dot(x, y) => Tensor = tj_ir::dot(&x, &y);
    /// [`tj_ir::logspace`] on data.
    logspace(; start: f64, stop: impl Into<End>, count: impl Into<Dim>, base: f64, dtype: DType) => Tensor = tj_ir::logspace(start, stop, count, base, dtype);
    /// [`tj_ir::geomspace`] on data.
    geomspace(; start: f64, stop: impl Into<End>, count: impl Into<Dim>, dtype: DType) => Tensor = tj_ir::geomspace(start, stop, count, dtype);
}

/// Functions of a list of tensors.
macro_rules! stacks {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("[`tj_ir::", stringify!($name), "`] on data.")]
            ///
            /// # Errors
            /// As there, and what computing it may meet.
            #[track_caller]
            pub fn $name(parts: impl IntoIterator<Item = impl Argument>) -> Result<Tensor, Error> {
                value(tj_ir::$name(&lazies(parts)))
            }
        )*
    };
}

stacks!(hstack vstack dstack column_stack);
