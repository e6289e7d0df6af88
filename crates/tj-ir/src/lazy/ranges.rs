//! Numbers at equal distances, or with equal quotients.

use std::panic::Location;

use tj_tensor::{DType, Scalar};

use super::LazyTensor;
use super::create::{built, require_float};
use super::elementwise::{Operand, attach, map};
use super::movement::Attempt;
use super::positions::{positions, scalar, size_number};
use super::sizes::require_size;
use crate::dim::{Dim, Symbol};
use crate::error::Cause;
use crate::op::Op;

/// What [`arange`] begins and ends with: a size, or a float.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// A whole number or a size.
    Size(Dim),
    /// A float.
    Float(f64),
}

macro_rules! number {
    ($($from:ty => |$x:ident| $to:expr),* $(,)?) => {
        $(impl From<$from> for Number {
            fn from($x: $from) -> Number {
                $to
            }
        })*
    };
}

number! {
    i32 => |n| Number::Size(n.into()),
    i64 => |n| Number::Size(n.into()),
    u32 => |n| Number::Size(n.into()),
    usize => |n| Number::Size(n.into()),
    Dim => |n| Number::Size(n),
    &Dim => |n| Number::Size(n.clone()),
    &Symbol => |n| Number::Size(n.into()),
    f32 => |x| Number::Float(x.into()),
    f64 => |x| Number::Float(x),
}

/// Where [`linspace`] and its like end. A number alone is the last one.
///
/// ```
/// use tj_ir::{End, linspace};
/// use tj_tensor::DType;
/// let quarters = linspace(0.0, End::Excluded(1.0), 4, DType::F64); // 0, 0.25, 0.5, 0.75
/// let thirds = linspace(0.0, 1.0, 4, DType::F64);
/// assert_eq!(quarters.shape(), thirds.shape());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// The last number is this.
    Included(f64),
    /// The number after the last would be this.
    Excluded(f64),
}

impl From<f64> for End {
    fn from(stop: f64) -> End {
        End::Included(stop)
    }
}

impl End {
    fn number(self) -> f64 {
        match self {
            End::Included(stop) | End::Excluded(stop) => stop,
        }
    }

    fn map(self, f: impl Fn(f64) -> f64) -> End {
        match self {
            End::Included(stop) => End::Included(f(stop)),
            End::Excluded(stop) => End::Excluded(f(stop)),
        }
    }
}

type Loc = &'static Location<'static>;

/// `start, start + step, ..` before `stop`: `i64` if all three are whole, else `f64`. Sizes may be symbols. Of floats there
/// are `(stop - start) / step`, rounded up, as in NumPy.
///
/// ```
/// use tj_ir::{arange, Dim};
/// use tj_tensor::DType;
/// let n = Dim::new("N", ..)?;
/// assert_eq!(arange(0, n.clone(), 1).shape(), [n]);
/// assert_eq!(arange(7, 0, -2).shape(), [Dim::from(4)]);
/// let tenths = arange(0.0, 1.0, 0.1);
/// assert_eq!((tenths.shape(), tenths.dtype()), ([Dim::from(10)].as_slice(), DType::F64));
/// # Ok::<(), tj_ir::DimError>(())
/// ```
///
/// # Errors
/// A step of 0, or one that is a symbol; a symbol beside a float; floats that are too far apart.
#[track_caller]
pub fn arange(start: impl Into<Number>, stop: impl Into<Number>, step: impl Into<Number>) -> LazyTensor {
    let (numbers, location) = ([start.into(), stop.into(), step.into()], Location::caller());
    let is_float = numbers.iter().any(|number| matches!(number, Number::Float(_)));
    built(location, || range(numbers, if is_float { DType::F64 } else { DType::I64 }, location))
}

/// [`arange`] in a dtype of choice. Floats are added up in that dtype.
///
/// ```
/// use tj_ir::arange_in;
/// use tj_tensor::DType;
/// assert_eq!(arange_in(0, 10, 3, DType::F32).dtype(), DType::F32);
/// ```
///
/// # Errors
/// As [`arange`]; `bool`; an integer dtype for numbers that are none.
#[track_caller]
pub fn arange_in(
    start: impl Into<Number>,
    stop: impl Into<Number>,
    step: impl Into<Number>,
    dtype: DType,
) -> LazyTensor {
    let (numbers, location) = ([start.into(), stop.into(), step.into()], Location::caller());
    built(location, || range(numbers, dtype, location))
}

fn range(numbers: [Number; 3], dtype: DType, location: Loc) -> Attempt {
    let op = "arange";
    if dtype.is_bool() {
        return Err(Cause::DTypes { op, dtypes: vec![dtype] });
    }
    match numbers {
        [Number::Size(start), Number::Size(stop), Number::Size(step)] => {
            let whole = sizes(&start, &stop, &step, location)?;
            Ok(map(Op::Cast(dtype), [whole.into()], location))
        }
        numbers => {
            if dtype.is_int() {
                let problem = format!("numbers that are not whole do not go into {dtype}");
                return Err(Cause::Argument { op, problem });
            }
            let mut floats = [0.0; 3];
            for (float, number) in floats.iter_mut().zip(numbers) {
                *float = match number {
                    Number::Float(x) => x,
                    Number::Size(size) => size.is_const().map(|n| n as f64).ok_or_else(|| {
                        let problem = format!("the size {size} beside a float; it takes numbers then");
                        Cause::Argument { op, problem }
                    })?,
                };
            }
            steps(floats, dtype, location)
        }
    }
}

fn sizes(start: &Dim, stop: &Dim, step: &Dim, location: Loc) -> Attempt {
    let op = "arange";
    let refused = || Cause::Argument { op, problem: format!("a step of {step}") };
    let step_by = step.is_const().filter(|&step| step != 0).ok_or_else(refused)?;
    let stride = Dim::from(step_by.checked_abs().ok_or_else(refused)?);
    let distance = if step_by > 0 { stop - start } else { start - stop };
    let size = distance.ceildiv(&stride).max(&Dim::ZERO);
    size.check()?;
    let at = positions(&size, location);
    let scaled = map(Op::Mul, [at.into(), step_by.into()], location);
    Ok(map(Op::Add, [scaled.into(), size_number(start, location).into()], location))
}

fn steps([start, stop, step]: [f64; 3], dtype: DType, location: Loc) -> Attempt {
    // Sizes go up to 2^62.
    const MOST: f64 = 4611686018427387904.0;
    let quotient = (stop - start) / step;
    // A quotient that is too small for a float is not 0.
    let is_tiny = quotient == 0.0 && quotient.is_sign_positive() && start != stop;
    let count = if is_tiny { 1.0 } else { quotient.ceil() };
    if step == 0.0 || count.is_nan() || count > MOST {
        let problem = format!("{start} to {stop} by {step} has no end");
        return Err(Cause::Argument { op: "arange", problem });
    }
    let number = |x: f64| Scalar::F64(x).cast(dtype);
    // The step is what the second number is away from the first, as it is in NumPy.
    let second = if count > 1.0 { start + step } else { start };
    let step = map(Op::Sub, [number(second), number(start)].map(|x| scalar(x, location).into()), location);
    let at = map(Op::Cast(dtype), [positions(&Dim::from(count.max(0.0) as i64), location).into()], location);
    let scaled = map(Op::Mul, [at.into(), step.into()], location);
    Ok(map(Op::Add, [scaled.into(), scalar(number(start), location).into()], location))
}

/// `count` numbers from `start` to `stop`: `start + i * ((stop - start) / (count - 1))`, and `stop` itself at the end; one
/// number is `start`. An [`End::Excluded`] is left out: the divisor is `count`.
///
/// # Errors
/// A dtype that is not f32 or f64; a count that is negative whatever the symbols are.
#[track_caller]
pub fn linspace(start: f64, stop: impl Into<End>, count: impl Into<Dim>, dtype: DType) -> LazyTensor {
    let (stop, count, location) = (stop.into(), count.into(), Location::caller());
    built(location, || {
        let line = line("linspace", start, stop, &count, dtype, location)?;
        Ok(map(Op::Cast(dtype), [line.into()], location))
    })
}

/// `count` powers of `base`, whose exponents go from `start` to `stop` as in [`linspace`].
///
/// ```
/// use tj_ir::{logspace, Dim};
/// use tj_tensor::DType;
/// let decades = logspace(0.0, 3.0, 4, 10.0, DType::F64); // 1, 10, 100, 1000
/// assert_eq!(decades.shape(), [Dim::from(4)]);
/// ```
///
/// # Errors
/// As [`linspace`].
#[track_caller]
pub fn logspace(
    start: f64,
    stop: impl Into<End>,
    count: impl Into<Dim>,
    base: f64,
    dtype: DType,
) -> LazyTensor {
    let (stop, count, location) = (stop.into(), count.into(), Location::caller());
    built(location, || {
        let exponents = line("logspace", start, stop, &count, dtype, location)?;
        let powers = map(Op::Pow, [scalar(Scalar::F64(base), location).into(), exponents.into()], location);
        Ok(map(Op::Cast(dtype), [powers.into()], location))
    })
}

/// `count` numbers from `start` to `stop`, each as many times the one before.
///
/// ```
/// use tj_ir::{geomspace, Dim};
/// use tj_tensor::DType;
/// let octaves = geomspace(1.0, 8.0, 4, DType::F64); // 1, 2, 4, 8
/// assert_eq!(octaves.shape(), [Dim::from(4)]);
/// ```
///
/// # Errors
/// As [`linspace`]; a start or stop of 0, or of different signs.
#[track_caller]
pub fn geomspace(start: f64, stop: impl Into<End>, count: impl Into<Dim>, dtype: DType) -> LazyTensor {
    let (stop, count, location, op) = (stop.into(), count.into(), Location::caller(), "geomspace");
    built(location, || {
        if !(start * stop.number().signum() > 0.0 && stop.number() != 0.0) {
            let problem = format!("{start} and {} are not of one sign", stop.number());
            return Err(Cause::Argument { op, problem });
        }
        let apply = |op: Op, args: [Operand; 2]| map(op, args, location);
        let exponents =
            line(op, start.abs().log10(), stop.map(|stop| stop.abs().log10()), &count, dtype, location)?;
        let powers = apply(Op::Pow, [scalar(Scalar::F64(10.0), location).into(), exponents.into()]);
        let signed = apply(Op::Mul, [powers.into(), start.signum().into()]);
        // Both ends are exact.
        let at = positions(&count, location);
        let is_first = apply(Op::Equal, [(&at).into(), 0.into()]);
        let exact = map(Op::Where, [is_first.into(), start.into(), signed.into()], location);
        let exact = match stop {
            End::Excluded(_) => exact,
            End::Included(stop) => {
                let last = size_number(&(&count - 1), location);
                let is_first = apply(Op::LessEqual, [(&at).into(), 0.into()]);
                let is_last = apply(Op::Equal, [at.into(), last.into()]);
                let is_last = apply(Op::Greater, [is_last.into(), is_first.into()]);
                map(Op::Where, [is_last.into(), stop.into(), exact.into()], location)
            }
        };
        Ok(map(Op::Cast(dtype), [exact.into()], location))
    })
}

/// What [`linspace`] gives, in f64.
fn line(op: &'static str, start: f64, stop: End, count: &Dim, dtype: DType, location: Loc) -> Attempt {
    let mut guards = Vec::new();
    require_size(op, 0, count, &mut guards, location)?;
    require_float(op, dtype)?;
    let number = |x: f64| Operand::from(scalar(Scalar::F64(x), location));
    let apply = |op: Op, args: [Operand; 2]| Operand::from(map(op, args, location));
    let mut at = positions(count, location);
    attach(&mut at, guards);
    let float = |t: &LazyTensor| Operand::from(map(Op::Cast(DType::F64), [t.into()], location));
    let gaps = match stop {
        End::Included(_) => count - 1,
        End::Excluded(_) => count.clone(),
    };
    let last = size_number(&gaps, location);
    let gaps = apply(Op::Maximum, [float(&last), number(1.0)]);
    let step = apply(Op::Div, [number(stop.number() - start), gaps]);
    let inner = map(Op::Add, [apply(Op::Mul, [float(&at), step]), number(start)], location);
    let End::Included(stop) = stop else { return Ok(inner) };
    let is_last = map(Op::Equal, [(&at).into(), (&last).into()], location);
    // A lone number is the first, not the last.
    let lone = map(Op::Equal, [(&last).into(), 0.into()], location);
    let end = map(Op::Where, [lone.into(), number(start), number(stop)], location);
    Ok(map(Op::Where, [is_last.into(), end.into(), inner.into()], location))
}
