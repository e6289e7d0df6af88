//! Random tensors: pure functions of a key, a shape and a dtype.
//!
//! Element `i` in row-major order is made of the bits that [`Op::RandomBits`] gives for the key and `i`, so that a random
//! tensor is an expression like any other: it fuses, it is the same in every run, on every back end and at any number
//! of threads, and no array of it need exist. A key is a number or a tensor of rank 0; it is an argument of the
//! program, so that another key is not another program. Different tensors need different keys: [`Key::fold_in`] makes
//! them.
//!
//! ```
//! use tj_ir::random::{Key, normal, uniform};
//! use tj_tensor::DType;
//!
//! let key = Key::from(42);
//! let noise = uniform(key.fold_in(0), [3, 4], DType::F32) + normal(key.fold_in(1), [4], DType::F32) * 0.1;
//! assert_eq!((noise.rank(), noise.dtype()), (2, DType::F32));
//! ```

use std::panic::Location;

use super::create::{built, require_float};
use super::elementwise::{attach, map};
use super::movement::{Attempt, moved, position};
use super::positions::{positions, scalar};
use super::shape::NewShape;
use super::sizes::require_size;
use super::statistics::Ops;
use super::{LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::Cause;
use crate::expand::expand;
use crate::expr::Indices;
use crate::op::Op;
use crate::prim::Evaluator;
use tj_tensor::{DType, Scalar};

type Loc = &'static Location<'static>;

/// Sets keys apart from what their bits are used for.
const FOLD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where random numbers come from: 64 bits.
#[derive(Clone, Debug)]
pub struct Key(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Number(u64),
    Tensor(LazyTensor),
}

impl From<u64> for Key {
    fn from(key: u64) -> Key {
        Key(Kind::Number(key))
    }
}

impl From<i32> for Key {
    fn from(key: i32) -> Key {
        Key::from(i64::from(key).cast_unsigned())
    }
}

impl From<&LazyTensor> for Key {
    fn from(key: &LazyTensor) -> Key {
        Key(Kind::Tensor(key.clone()))
    }
}

impl From<&Key> for Key {
    fn from(key: &Key) -> Key {
        key.clone()
    }
}

impl Key {
    /// Another key, by a number: keys of different numbers are unrelated, and so is what comes from this key itself.
    #[track_caller]
    #[must_use]
    pub fn fold_in(&self, number: u64) -> Key {
        match &self.0 {
            Kind::Number(key) => {
                let args = [Scalar::U64(key ^ FOLD), Scalar::U64(number)];
                Key::from(expand(&mut Evaluator, Op::RandomBits, &args).bits() as u64)
            }
            Kind::Tensor(key) => {
                let location = Location::caller();
                let ops = Ops(location);
                let apart = ops.binary(Op::Xor, key, scalar(Scalar::U64(FOLD), location));
                let number = scalar(Scalar::U64(number), location);
                Key(Kind::Tensor(ops.binary(Op::RandomBits, &apart, &number)))
            }
        }
    }

    fn tensor(&self, op: &'static str, location: Loc) -> Attempt {
        match &self.0 {
            Kind::Number(key) => Ok(scalar(Scalar::U64(*key), location)),
            Kind::Tensor(key) if key.check().is_err() => Ok(key.clone()),
            Kind::Tensor(key) if key.rank() != 0 => {
                Err(Cause::Rank { op, expected: "needs a key of rank 0", rank: key.rank() })
            }
            Kind::Tensor(key) if !key.dtype().is_int() => {
                let problem = format!("a key of {}, which is no integer type", key.dtype());
                Err(Cause::Argument { op, problem })
            }
            Kind::Tensor(key) => Ok(map(Op::Cast(DType::U64), [key.into()], location)),
        }
    }
}

/// 64 random bits an element, as `u64`.
///
/// # Errors
/// A size that is negative whatever the symbols are, or left open; a key that is no integer of rank 0.
#[track_caller]
pub fn bits(key: impl Into<Key>, shape: impl Into<NewShape>) -> LazyTensor {
    let (key, shape, location) = (key.into(), shape.into(), Location::caller());
    built(location, || Source::new("random_bits", &key, &shape, location)?.bits(1, 0))
}

/// Numbers in `0..1`, each multiple of 2^-53 (f64) or 2^-24 (f32) equally likely.
///
/// # Errors
/// As [`bits`]; a dtype that is not f32 or f64.
#[track_caller]
pub fn uniform(key: impl Into<Key>, shape: impl Into<NewShape>, dtype: DType) -> LazyTensor {
    let (key, shape, location) = (key.into(), shape.into(), Location::caller());
    built(location, || {
        let source = Source::new("random_uniform", &key, &shape, location)?;
        source.require_float(dtype)?;
        let bits = source.bits(1, 0)?;
        Ok(if dtype == DType::F32 { source.low_fraction(&bits) } else { source.fraction(&bits, dtype) })
    })
}

/// Numbers of a normal distribution with mean 0 and variance 1, by the method of Box and Muller; at most 8.6 (f64) or
/// 5.8 (f32) from 0.
///
/// # Errors
/// As [`uniform`].
#[track_caller]
pub fn normal(key: impl Into<Key>, shape: impl Into<NewShape>, dtype: DType) -> LazyTensor {
    let (key, shape, location) = (key.into(), shape.into(), Location::caller());
    built(location, || {
        let source = Source::new("random_normal", &key, &shape, location)?;
        source.require_float(dtype)?;
        // A f32 needs 24 bits for the distance and 24 for the angle, which one call has.
        let (distance, angle) = if dtype == DType::F32 {
            let bits = source.bits(1, 0)?;
            (source.low_fraction(&bits), source.fraction(&bits, dtype))
        } else {
            (source.fraction(&source.bits(2, 0)?, dtype), source.fraction(&source.bits(2, 1)?, dtype))
        };
        let ops = Ops(location);
        // 1 - u is never 0.
        let log = ops.unary(Op::Log, &map(Op::Sub, [1.into(), distance.into()], location));
        let radius = ops.unary(Op::Sqrt, &ops.binary(Op::Mul, &log, -2));
        let turn = ops.unary(Op::Cos, &ops.binary(Op::Mul, &angle, std::f64::consts::TAU));
        Ok(ops.binary(Op::Mul, &radius, &turn))
    })
}

/// Integers in `low..high`, by multiplication: of a range of `r` values each is likely as any other up to `r / 2^64`, or
/// `r / 2^32` for ranges of at most 2^32.
///
/// # Errors
/// As [`bits`]; an empty range, or one that the dtype does not hold; a dtype that is no integer type.
#[track_caller]
pub fn integers(
    key: impl Into<Key>,
    low: i64,
    high: i64,
    shape: impl Into<NewShape>,
    dtype: DType,
) -> LazyTensor {
    let (key, shape, location) = (key.into(), shape.into(), Location::caller());
    built(location, || {
        let op = "random_integers";
        if !dtype.is_int() {
            return Err(Cause::Argument { op, problem: format!("gives integers, not {dtype}") });
        }
        if low >= high {
            return Err(Cause::Argument { op, problem: format!("there is nothing in {low}..{high}") });
        }
        for end in [low, high - 1] {
            let held = Scalar::I64(end).cast(dtype);
            if held.cast(DType::I64) != Scalar::I64(end) || (end < 0 && dtype == DType::U64) {
                return Err(Cause::Number { op, number: end.to_string(), dtype });
            }
        }
        let range = high.wrapping_sub(low).cast_unsigned();
        let source = Source::new(op, &key, &shape, location)?;
        let offset = source.scaled(&source.bits(1, 0)?, range);
        let ops = Ops(location);
        let offset = ops.unary(Op::Cast(dtype), &offset);
        Ok(ops.binary(Op::Add, &offset, scalar(Scalar::I64(low).cast(dtype), location)))
    })
}

/// Bits by counter, for a shape.
struct Source {
    op: &'static str,
    key: LazyTensor,
    shape: Shape,
    location: Loc,
}

impl Source {
    fn new(op: &'static str, key: &Key, shape: &NewShape, location: Loc) -> Result<Source, Cause> {
        let shape = shape.as_slice().iter().map(|size| size.clone().unwrap_or(Dim::from(-1))).collect();
        Ok(Source { op, key: key.tensor(op, location)?, shape, location })
    }

    fn require_float(&self, dtype: DType) -> Result<(), Cause> {
        require_float(self.op, dtype)
    }

    /// The bits of counter `i * times + plus` for element `i` in row-major order.
    fn bits(&self, times: i64, plus: i64) -> Attempt {
        let mut guards = Vec::new();
        for (axis, size) in self.shape.iter().enumerate() {
            require_size(self.op, axis, size, &mut guards, self.location)?;
        }
        let count = Dim::count(&self.shape)? * times;
        let linear = self.shape.iter().enumerate().fold(Dim::ZERO, |at, (d, size)| at * size + position(d));
        let at = linear * times + plus;
        count.check()?;
        at.check()?;
        let all = positions(&count, self.location);
        let mut counters = moved(self.op, &all, self.shape.clone(), Indices::from_iter([at]), self.location);
        attach(&mut counters, guards);
        let counters = map(Op::Cast(DType::U64), [counters.into()], self.location);
        Ok(map(Op::RandomBits, [(&self.key).into(), counters.into()], self.location))
    }

    fn number(&self, value: Scalar) -> LazyTensor {
        scalar(value, self.location)
    }

    /// The top bits of 64, as many as the dtype has, as a number below 1: no digit is rounded.
    fn fraction(&self, bits: &LazyTensor, dtype: DType) -> LazyTensor {
        let ops = Ops(self.location);
        let digits = if dtype == DType::F32 { 24 } else { 53 };
        let kept = ops.binary(Op::And, bits, self.number(Scalar::U64(u64::MAX << (64 - digits))));
        let whole = ops.unary(Op::Cast(dtype), &kept);
        ops.binary(Op::Mul, &whole, self.number(Scalar::F64(0.5_f64.powi(64)).cast(dtype)))
    }

    /// The top 24 bits of the lower half.
    fn low_fraction(&self, bits: &LazyTensor) -> LazyTensor {
        let ops = Ops(self.location);
        let word = ops.unary(Op::Cast(DType::U32), bits);
        let kept = ops.binary(Op::And, &word, self.number(Scalar::U32(u32::MAX << 8)));
        let whole = ops.unary(Op::Cast(DType::F32), &kept);
        ops.binary(Op::Mul, &whole, self.number(Scalar::F32(0.5_f32.powi(32))))
    }

    /// `bits * range / 2^64` rounded down; of the lower half and 2^32 where that is enough.
    fn scaled(&self, bits: &LazyTensor, range: u64) -> LazyTensor {
        let ops = Ops(self.location);
        let half = self.number(Scalar::U64(1 << 32));
        let top = |x: &LazyTensor| ops.binary(Op::FloorDiv, x, &half);
        let mask = self.number(Scalar::U64(u64::from(u32::MAX)));
        let low = ops.binary(Op::And, bits, &mask);
        let times = |x: &LazyTensor, y: u64| ops.binary(Op::Mul, x, self.number(Scalar::U64(y)));
        if range <= 1 << 32 {
            return top(&times(&low, range));
        }
        // The upper 64 bits of a product of 128, from products of halves; no sum below overflows.
        let high = top(bits);
        let (range_low, range_high) = (range & u64::from(u32::MAX), range >> 32);
        let carry = top(&times(&low, range_low));
        let first = ops.binary(Op::Add, &times(&high, range_low), &carry);
        let second = ops.binary(Op::Add, &times(&low, range_high), ops.binary(Op::And, &first, &mask));
        let rest = ops.binary(Op::Add, &top(&first), top(&second));
        ops.binary(Op::Add, &times(&high, range_high), &rest)
    }
}
