//! Frequencies of the points of a transform, and their order.

use std::panic::Location;

use tj_tensor::DType;

use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::lazy::LazyTensor;
use crate::lazy::call::Place;
use crate::lazy::create::{built, full, require_float};
use crate::lazy::elementwise::map;
use crate::lazy::movement::{moved, position};
use crate::lazy::positions::{positions, size_number};
use crate::lazy::reduce::{Axes, resolve};
use crate::op::Op;

/// Frequencies of the points of [`fft`] for samples that are `distance` apart: `0, 1, .., -2, -1` over `n * distance`.
///
/// ```
/// use tj_ir::{Dim, fft::fftfreq};
/// use tj_tensor::DType;
/// assert_eq!(fftfreq(5, 0.1, DType::F64).shape(), [Dim::from(5)]);
/// ```
///
/// # Errors
/// A dtype other than f32 and f64.
#[track_caller]
pub fn fftfreq(n: impl Into<Dim>, distance: f64, dtype: DType) -> LazyTensor {
    let (n, location) = (n.into(), Location::caller());
    frequencies("fftfreq", &n, n.clone(), distance, dtype, location)
}

/// Frequencies of the points of [`rfft`]: the first half of [`fftfreq`], and never negative.
///
/// # Errors
/// As there.
#[track_caller]
pub fn rfftfreq(n: impl Into<Dim>, distance: f64, dtype: DType) -> LazyTensor {
    let (n, location) = (n.into(), Location::caller());
    let half = n.floordiv(&Dim::from(2)) + 1;
    frequencies("rfftfreq", &n, half, distance, dtype, location)
}

/// Puts frequency 0 into the middle of some axes, or all.
#[track_caller]
pub fn fftshift(x: &LazyTensor, axes: impl Into<Axes>) -> LazyTensor {
    shift("fftshift", x, &axes.into(), |n| n - n.floordiv(&Dim::from(2)), Location::caller())
}

/// Undoes [`fftshift`].
#[track_caller]
pub fn ifftshift(x: &LazyTensor, axes: impl Into<Axes>) -> LazyTensor {
    shift("ifftshift", x, &axes.into(), |n| n.floordiv(&Dim::from(2)), Location::caller())
}

/// Reads each axis from a position on, around.
fn shift(
    op: &'static str,
    x: &LazyTensor,
    axes: &Axes,
    start: impl Fn(&Dim) -> Dim,
    location: Place,
) -> LazyTensor {
    if x.check().is_err() {
        return x.clone();
    }
    let list = match resolve(op, x.rank(), axes) {
        Ok(list) => list,
        Err(cause) => return LazyTensor::failed(IrError::new(cause, location)),
    };
    let at = x.shape().iter().enumerate().map(|(d, n)| match list.contains(&d) {
        true => (position(d) + start(n)).modulo(&n.max(&Dim::ONE)),
        false => position(d),
    });
    moved(op, x, x.0.shape.clone(), at.collect(), location)
}

fn frequencies(
    op: &'static str,
    n: &Dim,
    count: Dim,
    distance: f64,
    dtype: DType,
    location: Place,
) -> LazyTensor {
    built(location, || {
        require_float(op, dtype)?;
        full([count.clone()], 0_i64).check().map_err(|error| Cause::clone(&error.cause))?;
        let at = positions(&count, location);
        let size = size_number(n, location);
        // Those past the middle are negative, of `fft` alone.
        let mut place = at.clone();
        if op == "fftfreq" {
            let middle = size_number(&(n - 1).floordiv(&Dim::from(2)), location);
            let past = map(Op::Greater, [(&at).into(), middle.into()], location);
            let before = map(Op::Sub, [(&at).into(), (&size).into()], location);
            place = map(Op::Where, [past.into(), before.into(), at.into()], location);
        }
        let [place, size] = [place, size].map(|x| map(Op::Cast(DType::F64), [x.into()], location));
        let whole = map(Op::Mul, [size.into(), distance.into()], location);
        let quotient = map(Op::Div, [place.into(), whole.into()], location);
        Ok(map(Op::Cast(dtype), [quotient.into()], location))
    })
}
