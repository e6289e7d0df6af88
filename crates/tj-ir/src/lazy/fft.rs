//! Discrete Fourier transforms.
//!
//! Real numbers of f32 give c64, all others c128. An axis is first cut to the number of points asked for, or filled up with
//! zeros; by [`Norm`] the result is multiplied by 1, 1/n or its root. Transforms over several axes run over the last one
//! first. Sizes may be symbols; one that turns out to be 0 is an error of the call.

mod frequencies;

use std::panic::Location;

use smallvec::SmallVec;
use tj_tensor::{DType, Scalar};

use super::call::{Made, Place, call, from_last, or_failed, reorder, to_last};
use super::complex::conj;
use super::elementwise::{attach, map};
use super::movement::{moved, position};
use super::positions::{at_least_one, clamped, positions_along, scalar, size_number};
use super::reduce::{Axes, resolve, resolve_axis};
use super::{Call, Kind, LazyTensor};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::function::Function;
use crate::guard::{Condition, Guard};
use crate::op::Op;

pub use frequencies::{fftfreq, fftshift, ifftshift, rfftfreq};

/// By what results are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Norm {
    /// Inverse transforms by 1/n.
    #[default]
    Backward,
    /// All by the root of 1/n.
    Ortho,
    /// Transforms that are not inverse by 1/n.
    Forward,
}

/// Which way a transform goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    There,
    Back,
}

/// The transform along an axis, of `n` points, or as many as there are.
///
/// ```
/// use tj_ir::fft::{Norm, fft, irfft, rfft};
/// use tj_ir::{Dim, input};
/// use tj_tensor::DType;
///
/// let x = input("x", DType::F32, [3.into(), 10.into()])?;
/// let y = fft(&x, None, -1, Norm::Backward);
/// assert_eq!((y.dtype(), y.shape()), (DType::C64, x.shape()));
/// let half = rfft(&x, None, -1, Norm::Backward);
/// assert_eq!(half.shape(), [3, 6].map(Dim::from));
/// assert_eq!(irfft(&half, None, -1, Norm::Backward).shape(), x.shape());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn fft(x: &LazyTensor, n: impl Into<Option<Dim>>, axis: i64, norm: Norm) -> LazyTensor {
    or_failed(of_axis("fft", x, n.into(), axis, norm, Way::There, Location::caller()))
}

/// The inverse of [`fft`].
#[track_caller]
pub fn ifft(x: &LazyTensor, n: impl Into<Option<Dim>>, axis: i64, norm: Norm) -> LazyTensor {
    or_failed(of_axis("ifft", x, n.into(), axis, norm, Way::Back, Location::caller()))
}

/// The transform over several axes, or all of them; `sizes` has the number of points of each.
#[track_caller]
pub fn fftn(x: &LazyTensor, sizes: Option<&[Dim]>, axes: impl Into<Axes>, norm: Norm) -> LazyTensor {
    let location = Location::caller();
    or_failed(of_axes("fftn", x, sizes, &axes.into(), norm, Way::There, location))
}

/// The inverse of [`fftn`].
#[track_caller]
pub fn ifftn(x: &LazyTensor, sizes: Option<&[Dim]>, axes: impl Into<Axes>, norm: Norm) -> LazyTensor {
    let location = Location::caller();
    or_failed(of_axes("ifftn", x, sizes, &axes.into(), norm, Way::Back, location))
}

/// The first `n / 2 + 1` points of the transform of real numbers along an axis; the others are their conjugates.
#[track_caller]
pub fn rfft(x: &LazyTensor, n: impl Into<Option<Dim>>, axis: i64, norm: Norm) -> LazyTensor {
    or_failed(try_rfft("rfft", x, n.into(), axis, norm, Way::There, Location::caller()))
}

/// The inverse of [`rfft`]: `n` real numbers of the first `n / 2 + 1` points; left out, n is `2 (m - 1)` for m points.
#[track_caller]
pub fn irfft(x: &LazyTensor, n: impl Into<Option<Dim>>, axis: i64, norm: Norm) -> LazyTensor {
    or_failed(try_irfft("irfft", x, n.into(), axis, norm, Way::Back, Location::caller()))
}

/// [`rfft`] over the last of several axes, then [`fft`] over the others.
#[track_caller]
pub fn rfftn(x: &LazyTensor, sizes: Option<&[Dim]>, axes: impl Into<Axes>, norm: Norm) -> LazyTensor {
    let (axes, location) = (axes.into(), Location::caller());
    let op = "rfftn";
    or_failed(points(op, x, sizes, &axes, location).and_then(|mut points| {
        let Some((axis, n)) = points.pop() else { return Err(no_axes(op, location)) };
        let half = try_rfft(op, x, n, axis, norm, Way::There, location)?;
        over(op, half, &points, norm, Way::There, location)
    }))
}

/// The inverse of [`rfftn`].
#[track_caller]
pub fn irfftn(x: &LazyTensor, sizes: Option<&[Dim]>, axes: impl Into<Axes>, norm: Norm) -> LazyTensor {
    let (axes, location) = (axes.into(), Location::caller());
    let op = "irfftn";
    or_failed(points(op, x, sizes, &axes, location).and_then(|mut points| {
        let Some((axis, n)) = points.pop() else { return Err(no_axes(op, location)) };
        let half = over(op, x.clone(), &points, norm, Way::Back, location)?;
        try_irfft(op, &half, n, axis, norm, Way::Back, location)
    }))
}

/// The transform of numbers whose second half is the conjugate of the first, which is given: `n` real numbers.
#[track_caller]
pub fn hfft(x: &LazyTensor, n: impl Into<Option<Dim>>, axis: i64, norm: Norm) -> LazyTensor {
    let location = Location::caller();
    or_failed(try_irfft("hfft", &conj(x, location), n.into(), axis, norm, Way::There, location))
}

/// The inverse of [`hfft`].
#[track_caller]
pub fn ihfft(x: &LazyTensor, n: impl Into<Option<Dim>>, axis: i64, norm: Norm) -> LazyTensor {
    let location = Location::caller();
    let half = try_rfft("ihfft", x, n.into(), axis, norm, Way::Back, location);
    or_failed(half.map(|half| conj(&half, location)))
}

fn no_axes(op: &'static str, location: Place) -> IrError {
    IrError::new(Cause::Argument { op, problem: "it needs an axis at least".to_string() }, location)
}

type Points = SmallVec<[(i64, Option<Dim>); 4]>;

/// Axes, in order, with the number of points of each.
fn points(
    op: &'static str,
    x: &LazyTensor,
    sizes: Option<&[Dim]>,
    axes: &Axes,
    location: Place,
) -> Made<Points> {
    x.check()?;
    let fail = |cause| IrError::new(cause, location);
    let rank = x.rank();
    let list: SmallVec<[i64; 4]> = match (axes.named(), sizes) {
        (Some(named), _) => SmallVec::from_slice(named),
        // Sizes without axes are those of the last axes.
        (None, Some(sizes)) => (rank.saturating_sub(sizes.len())..rank).map(|d| d as i64).collect(),
        (None, None) => (0..rank).map(|d| d as i64).collect(),
    };
    resolve(op, rank, &Axes::from(list.as_slice())).map_err(fail)?;
    if let Some(sizes) = sizes
        && sizes.len() != list.len()
    {
        let problem = format!("{} sizes for {} axes", sizes.len(), list.len());
        return Err(fail(Cause::Argument { op, problem }));
    }
    Ok(list.into_iter().enumerate().map(|(k, axis)| (axis, sizes.map(|sizes| sizes[k].clone()))).collect())
}

fn of_axes(
    op: &'static str,
    x: &LazyTensor,
    sizes: Option<&[Dim]>,
    axes: &Axes,
    norm: Norm,
    way: Way,
    location: Place,
) -> Made {
    let points = points(op, x, sizes, axes, location)?;
    over(op, as_complex(op, x, location)?, &points, norm, way, location)
}

fn over(op: &'static str, x: LazyTensor, points: &Points, norm: Norm, way: Way, location: Place) -> Made {
    points.iter().rev().try_fold(x, |x, (axis, n)| of_axis(op, &x, n.clone(), *axis, norm, way, location))
}

fn of_axis(
    op: &'static str,
    x: &LazyTensor,
    n: Option<Dim>,
    axis: i64,
    norm: Norm,
    way: Way,
    location: Place,
) -> Made {
    let (x, axis, n) = resized(op, &as_complex(op, x, location)?, n, axis, location)?;
    let function = Function::Fft { inverse: way == Way::Back };
    let made = call(op, function, vec![x], &[], location)?.remove(0);
    Ok(from_last(&scaled(made, &n, norm, way, location), axis, location))
}

fn try_rfft(
    op: &'static str,
    x: &LazyTensor,
    n: Option<Dim>,
    axis: i64,
    norm: Norm,
    way: Way,
    location: Place,
) -> Made {
    x.check()?;
    if x.dtype().is_complex() {
        return Err(IrError::new(Cause::DTypes { op, dtypes: vec![x.dtype()] }, location));
    }
    let real = map(Op::Cast(x.dtype().complex().real()), [x.into()], location);
    let (x, axis, n) = resized(op, &real, n, axis, location)?;
    let made = call(op, Function::Rfft, vec![x], &[], location)?.remove(0);
    Ok(from_last(&scaled(made, &n, norm, way, location), axis, location))
}

fn try_irfft(
    op: &'static str,
    x: &LazyTensor,
    n: Option<Dim>,
    axis: i64,
    norm: Norm,
    way: Way,
    location: Place,
) -> Made {
    let x = as_complex(op, x, location)?;
    let d = resolve_axis(op, x.rank(), axis).map_err(|cause| IrError::new(cause, location))?;
    let n = n.unwrap_or_else(|| (&x.shape()[d] - 1) * 2);
    let mut guards = Vec::new();
    require_points(op, &n, &mut guards, location)?;
    let half = n.floordiv(&Dim::from(2)) + 1;
    let (x, axis, _) = resized(op, &x, Some(half), axis, location)?;
    // The size of the result is a choice that the function cannot make.
    let mut shape = x.0.shape.clone();
    let last = shape.len() - 1;
    shape[last] = n.clone();
    let dtype = x.dtype().real();
    let call = std::sync::Arc::new(Call { function: Function::Irfft, args: vec![x] });
    let mut made = LazyTensor::node(Kind::Call { call, output: 0 }, shape, dtype, location);
    attach(&mut made, guards);
    made.check()?;
    Ok(from_last(&scaled(made, &n, norm, way, location), axis, location))
}

/// As complex numbers.
fn as_complex(op: &'static str, x: &LazyTensor, location: Place) -> Made {
    x.check()?;
    if x.rank() == 0 {
        return Err(IrError::new(Cause::Rank { op, expected: "needs an axis at least", rank: 0 }, location));
    }
    Ok(map(Op::Cast(x.dtype().complex()), [x.into()], location))
}

/// Proves that there is a point, or records a guard, or fails.
fn require_points(op: &'static str, n: &Dim, guards: &mut Vec<Guard>, location: Place) -> Made<()> {
    n.check().map_err(|error| IrError::new(error.into(), location))?;
    match Dim::ONE.known_le(n) {
        Some(true) => Ok(()),
        Some(false) => {
            let problem = format!("{n} points; it needs one at least");
            Err(IrError::new(Cause::Argument { op, problem }, location))
        }
        None => {
            guards.push(Guard {
                condition: Condition::LessEqual(Dim::ONE, n.clone()),
                reason: format!("{op}: {n} is the number of points"),
                location,
            });
            Ok(())
        }
    }
}

/// The axis as the last one, cut or filled up with zeros; where it was, and its size.
fn resized(
    op: &'static str,
    x: &LazyTensor,
    n: Option<Dim>,
    axis: i64,
    location: Place,
) -> Made<(LazyTensor, usize, Dim)> {
    let axis = resolve_axis(op, x.rank(), axis).map_err(|cause| IrError::new(cause, location))?;
    let x = to_last(x, axis, location);
    let last = x.rank() - 1;
    let size = x.shape()[last].clone();
    let n = n.unwrap_or_else(|| size.clone());
    let mut guards = Vec::new();
    require_points(op, &n, &mut guards, location)?;
    let mut shape = x.0.shape.clone();
    shape[last] = n.clone();
    let mut at: Indices = (0..last).map(position).collect();
    let mut resized = if n == size {
        x
    } else if n.known_le(&size) == Some(true) {
        at.push(position(last));
        moved(op, &x, shape, at, location)
    } else {
        at.push(clamped(&position(last), &size));
        let filled = moved(op, &at_least_one(&x, last, location), shape, at, location);
        let place = positions_along(&n, last, last + 1, location);
        let inside = map(Op::Less, [place.into(), size_number(&size, location).into()], location);
        let zero = scalar(Scalar::zero(filled.dtype()), location);
        map(Op::Where, [inside.into(), filled.into(), zero.into()], location)
    };
    if !guards.is_empty() {
        // The guard needs a node of its own.
        let order: SmallVec<[usize; 4]> = (0..=last).collect();
        let at: Indices = order.iter().map(|&d| position(d)).collect();
        resized = moved(op, &reorder(&resized, &order, location), resized.0.shape.clone(), at, location);
        attach(&mut resized, guards);
    }
    resized.check()?;
    Ok((resized, axis, n))
}

/// Multiplied as the norm says.
fn scaled(x: LazyTensor, n: &Dim, norm: Norm, way: Way, location: Place) -> LazyTensor {
    let is_plain = match norm {
        Norm::Backward => way == Way::There,
        Norm::Forward => way == Way::Back,
        Norm::Ortho => false,
    };
    if is_plain {
        return x;
    }
    let count = map(Op::Cast(DType::F64), [size_number(n, location).into()], location);
    let inverse = map(Op::Div, [1.0.into(), count.into()], location);
    let factor = if norm == Norm::Ortho { map(Op::Sqrt, [inverse.into()], location) } else { inverse };
    let factor = map(Op::Cast(x.dtype().real()), [factor.into()], location);
    // A real factor multiplies each part.
    let times = |part: &LazyTensor| Ok(map(Op::Mul, [part.into(), (&factor).into()], location));
    if x.dtype().is_complex() {
        or_failed(super::complex::by_parts(&x, location, times))
    } else {
        or_failed(times(&x))
    }
}
