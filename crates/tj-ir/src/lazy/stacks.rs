//! Tensors put beside each other by NumPy's names, and taken apart.

use std::panic::Location;

use super::LazyTensor;
use super::create::built;
use super::join::join;
use super::movement::{Attempt, insert_axes};
use super::reduce::resolve_axis;
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::guard::{Condition, Guard};

type Loc = &'static Location<'static>;

/// Tensors one behind the other along axis 1, or vectors along axis 0.
///
/// ```
/// use tj_ir::{hstack, zeros, Dim};
/// use tj_tensor::DType;
/// let x = zeros([2, 3], DType::F32);
/// assert_eq!(hstack(&[x.clone(), x]).shape(), [2, 6].map(Dim::from));
/// ```
///
/// # Errors
/// As [`concat`](super::concat).
#[track_caller]
pub fn hstack(parts: &[LazyTensor]) -> LazyTensor {
    let location = Location::caller();
    joined("hstack", parts, location, |part| at_least(part, 1, location), |rank| i64::from(rank != 1))
}

/// Tensors one behind the other along axis 0; vectors are rows.
///
/// ```
/// use tj_ir::{arange, vstack, Dim};
/// assert_eq!(vstack(&[arange(0, 3, 1), arange(3, 6, 1)]).shape(), [2, 3].map(Dim::from));
/// ```
///
/// # Errors
/// As [`concat`](super::concat).
#[track_caller]
pub fn vstack(parts: &[LazyTensor]) -> LazyTensor {
    let location = Location::caller();
    joined("vstack", parts, location, |part| at_least(part, 2, location), |_| 0)
}

/// Tensors one behind the other along axis 2; vectors and matrices lie in the first two axes.
///
/// ```
/// use tj_ir::{arange, dstack, Dim};
/// assert_eq!(dstack(&[arange(0, 3, 1), arange(3, 6, 1)]).shape(), [1, 3, 2].map(Dim::from));
/// ```
///
/// # Errors
/// As [`concat`](super::concat).
#[track_caller]
pub fn dstack(parts: &[LazyTensor]) -> LazyTensor {
    let location = Location::caller();
    let deep = |part: &LazyTensor| {
        let part = at_least(part, 2, location);
        if part.rank() == 2 { insert_axes(&part, &[2], location) } else { part }
    };
    joined("dstack", parts, location, deep, |_| 2)
}

/// Matrices one behind the other along axis 1; vectors are columns.
///
/// ```
/// use tj_ir::{arange, column_stack, Dim};
/// assert_eq!(column_stack(&[arange(0, 3, 1), arange(3, 6, 1)]).shape(), [3, 2].map(Dim::from));
/// ```
///
/// # Errors
/// As [`concat`](super::concat).
#[track_caller]
pub fn column_stack(parts: &[LazyTensor]) -> LazyTensor {
    let location = Location::caller();
    let column = |part: &LazyTensor| match part.rank() {
        0 => insert_axes(part, &[0, 1], location),
        1 => insert_axes(part, &[1], location),
        _ => part.clone(),
    };
    joined("column_stack", parts, location, column, |_| 1)
}

fn joined(
    op: &'static str,
    parts: &[LazyTensor],
    location: Loc,
    shaped: impl Fn(&LazyTensor) -> LazyTensor,
    axis: impl Fn(usize) -> i64,
) -> LazyTensor {
    if let Some(failed) = parts.iter().find(|part| part.check().is_err()) {
        return failed.clone();
    }
    let parts: Vec<LazyTensor> = parts.iter().map(shaped).collect();
    let rank = parts.first().map_or(0, LazyTensor::rank);
    built(location, || join(op, &parts, axis(rank), location))
}

/// New leading axes up to this rank.
fn at_least(part: &LazyTensor, rank: usize, location: Loc) -> LazyTensor {
    let missing: Vec<usize> = (0..rank.saturating_sub(part.rank())).collect();
    insert_axes(part, &missing, location)
}

impl LazyTensor {
    /// Equal parts along an axis, so many.
    ///
    /// ```
    /// use tj_ir::{arange, Dim};
    /// let parts = arange(0, 6, 1).split(3, 0);
    /// assert_eq!((parts.len(), parts[2].shape()), (3, [Dim::from(2)].as_slice()));
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank; no parts; a size that is not as many times a whole number, found when it is known. Every
    /// part carries the error.
    #[track_caller]
    pub fn split(&self, parts: usize, axis: i64) -> Vec<LazyTensor> {
        let location = Location::caller();
        let fail = |cause| vec![LazyTensor::failed(IrError::new(cause, location)); parts.max(1)];
        if self.check().is_err() {
            return vec![self.clone(); parts.max(1)];
        }
        match split(self, parts, axis, location) {
            Ok(found) => found,
            Err(cause) => fail(cause),
        }
    }

    /// Columns in reverse order: those along axis 1.
    ///
    /// # Errors
    /// A rank below 2.
    #[track_caller]
    pub fn fliplr(&self) -> LazyTensor {
        self.flip(1)
    }

    /// Rows in reverse order: those along axis 0.
    ///
    /// # Errors
    /// A rank of 0.
    #[track_caller]
    pub fn flipud(&self) -> LazyTensor {
        self.flip(0)
    }

    /// Turned by a quarter as many times, from the first of two axes towards the second.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// assert_eq!(zeros([2, 3], DType::F32).rot90(1, [0, 1]).shape(), [3, 2].map(Dim::from));
    /// ```
    ///
    /// # Errors
    /// An axis outside the rank, or the same one twice.
    #[track_caller]
    pub fn rot90(&self, times: i64, axes: [i64; 2]) -> LazyTensor {
        self.attempt(|location| rotated(self, times, axes, location))
    }
}

fn rotated(x: &LazyTensor, times: i64, axes: [i64; 2], location: Loc) -> Attempt {
    let op = "rot90";
    let (first, second) = (resolve_axis(op, x.rank(), axes[0])?, resolve_axis(op, x.rank(), axes[1])?);
    if first == second {
        return Err(Cause::RepeatedAxis { op, axis: axes[1] });
    }
    let mut order: Vec<usize> = (0..x.rank()).collect();
    order.swap(first, second);
    let swapped = |x: &LazyTensor| super::arrange::permuted(op, x, &order, location);
    let (first, second) = (first as i64, second as i64);
    Ok(match times.rem_euclid(4) {
        0 => x.clone(),
        1 => swapped(&x.flip(second)),
        2 => x.flip([first, second]),
        _ => swapped(x).flip(second),
    })
}

fn split(x: &LazyTensor, parts: usize, axis: i64, location: Loc) -> Result<Vec<LazyTensor>, Cause> {
    let op = "split";
    let d = resolve_axis(op, x.rank(), axis)?;
    if parts == 0 {
        return Err(Cause::Argument { op, problem: "0 parts".to_string() });
    }
    let (size, count) = (&x.shape()[d], Dim::from(parts));
    let uneven =
        || Cause::Argument { op, problem: format!("axis {d} has size {size}, not {parts} equal parts") };
    let mut guards = Vec::new();
    let each = match (size.div_exact(&count), size.actual()) {
        (Some(each), _) => each,
        (None, Some(now)) if now % parts as i64 != 0 => return Err(uneven()),
        (None, _) => {
            guards.push(Guard {
                condition: Condition::Divides(count.clone(), size.clone()),
                reason: format!("{op} of axis {d}"),
                location,
            });
            size.floordiv(&count)
        }
    };
    let part = |k: usize| {
        let at = super::movement::position(d) + &each * Dim::from(k);
        let mut part = super::arrange::along(op, x, d, each.clone(), at, location);
        super::elementwise::attach(&mut part, guards.clone());
        part
    };
    Ok((0..parts).map(part).collect())
}
