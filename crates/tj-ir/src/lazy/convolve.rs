//! Convolution and correlation of vectors: products with all windows of one of them.

use std::panic::Location;

use tj_tensor::DType;

use super::complex::conj;
use super::contract::try_matmul;
use super::create::{built, ones};
use super::elementwise::{attach, map};
use super::movement::{Attempt, moved, position};
use super::{LazyTensor, Shape, Window};
use crate::dim::Dim;
use crate::error::Cause;
use crate::expr::Indices;
use crate::guard::{Condition, Guard};
use crate::op::Op;

type Loc = &'static Location<'static>;

/// Which results of a convolution are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// All where the vectors meet: one less than both sizes together.
    #[default]
    Full,
    /// As many as the longer vector has elements, in the middle.
    Same,
    /// Those where the shorter vector lies within the longer one.
    Valid,
}

/// The convolution of two vectors: sums of `a[k] * v[n - k]`.
///
/// ```
/// use tj_ir::{Dim, Mode, arange, convolve};
/// let (a, v) = (arange(0, 7, 1), arange(0, 3, 1));
/// assert_eq!(convolve(&a, &v, Mode::Full).shape(), [Dim::from(9)]);
/// assert_eq!(convolve(&a, &v, Mode::Valid).shape(), [Dim::from(5)]);
/// ```
///
/// # Errors
/// A rank that is not 1; a vector without elements, found when sizes are known.
#[track_caller]
pub fn convolve(a: &LazyTensor, v: &LazyTensor, mode: Mode) -> LazyTensor {
    product("convolve", a, v, mode, Location::caller())
}

/// The cross-correlation of two vectors: sums of `a[n + k]` times the conjugate of `v[k]`.
///
/// ```
/// use tj_ir::{Dim, Mode, arange, correlate};
/// let (a, v) = (arange(0, 7, 1), arange(0, 3, 1));
/// assert_eq!(correlate(&a, &v, Mode::Same).shape(), [Dim::from(7)]);
/// ```
///
/// # Errors
/// As [`convolve`].
#[track_caller]
pub fn correlate(a: &LazyTensor, v: &LazyTensor, mode: Mode) -> LazyTensor {
    product("correlate", a, v, mode, Location::caller())
}

fn product(op: &'static str, a: &LazyTensor, v: &LazyTensor, mode: Mode, location: Loc) -> LazyTensor {
    if let Some(failed) = [a, v].into_iter().find(|x| x.check().is_err()) {
        return failed.clone();
    }
    built(location, || try_product(op, a, v, mode, location))
}

fn try_product(op: &'static str, a: &LazyTensor, v: &LazyTensor, mode: Mode, location: Loc) -> Attempt {
    let mut guards = Vec::new();
    for x in [a, v] {
        if x.rank() != 1 {
            return Err(Cause::Rank { op, expected: "needs vectors", rank: x.rank() });
        }
        match Dim::ONE.known_le(&x.shape()[0]) {
            Some(true) => {}
            Some(false) => {
                return Err(Cause::Argument { op, problem: "a vector without elements".to_string() });
            }
            None => guards.push(Guard {
                condition: Condition::LessEqual(Dim::ONE, x.shape()[0].clone()),
                reason: format!("{op} needs an element at least"),
                location,
            }),
        }
    }
    let (n, m) = (&a.shape()[0], &v.shape()[0]);
    let (long, short) = (n.max(m), n.min(m));
    // Where the first result stands among all of them, and how many there are.
    let two = Dim::from(2);
    let (first, count) = match mode {
        Mode::Full => (Dim::ZERO, n + m - 1),
        Mode::Valid => (&short - 1, &long - &short + 1),
        Mode::Same if op == "convolve" => ((&short - 1).floordiv(&two), long),
        // A correlation with a longer vector is read from the other end.
        Mode::Same => {
            let below = (&short - 1).floordiv(&two);
            let above = short.floordiv(&two);
            let is_longer = (m - n).min(&Dim::ONE).max(&Dim::ZERO);
            (&below + (above - &below) * is_longer, long)
        }
    };
    let turned = match op {
        "convolve" => {
            let at = Indices::from_iter([m - 1 - position(0)]);
            moved(op, v, v.0.shape.clone(), at, location)
        }
        _ => conj(v, location),
    };
    let edge = m - 1;
    let shape = Shape::from_iter([count, m.clone()]);
    let at = Indices::from_iter([position(0) + first, position(1)]);
    let windows = |x: &LazyTensor| {
        let padded = x.pad([(edge.clone(), edge.clone())], 0_i64);
        let windows = padded.sliding_window_view([Window::new(0, m.clone())]);
        moved(op, &windows, shape.clone(), at.clone(), location)
    };
    let mut of_a = windows(a);
    attach(&mut of_a, guards);
    let product = |x: &LazyTensor, y: &LazyTensor| {
        try_matmul(x, y, location).map_err(|error| Cause::clone(&error.cause))
    };
    let dtype = a.dtype().promote(v.dtype());
    if !(dtype.is_float() || dtype.is_complex()) {
        return product(&of_a, &turned);
    }
    // Beyond the ends of the vector there is nothing, which 0 is not to an infinity.
    let there = windows(&a.full_like(true).cast(DType::Bool));
    let terms = map(Op::Mul, [of_a.into(), turned.into()], location);
    let terms = map(Op::Where, [there.into(), terms.into(), 0_i64.into()], location);
    product(&terms, &ones([m.clone()], dtype))
}
