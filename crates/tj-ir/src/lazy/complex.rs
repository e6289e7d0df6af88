//! Complex numbers and their parts.
//!
//! A complex tensor is like any other here; `trace` makes two definitions of it. What works on parts, such as a mean or a
//! gather, is built of both and put together again.

use std::panic::Location;

use smallvec::SmallVec;
use tj_tensor::{DType, Scalar};

use super::call::{Made, Place, or_failed};
use super::elementwise::{Operand, as_tensor, attach, broadcast, map, operand_dtype};
use super::{Kind, LazyTensor, Shape};
use crate::error::{Cause, IrError};
use crate::op::Op;

/// What is done with parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PartsOp {
    /// A complex number of a real and an imaginary part.
    Join,
    /// The real part.
    Real,
    /// The imaginary part.
    Imag,
    /// The imaginary part with the other sign.
    Conj,
}

impl PartsOp {
    /// The word for it in texts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PartsOp::Join => "complex",
            PartsOp::Real => "real",
            PartsOp::Imag => "imag",
            PartsOp::Conj => "conj",
        }
    }
}

/// Complex numbers of real and imaginary parts, which broadcast. f32 parts make c64, f64 and integers c128.
///
/// ```
/// use tj_ir::{complex, input};
/// use tj_tensor::DType;
///
/// let x = input("x", DType::F32, [3.into()])?;
/// let z = complex(&x, 1.0);
/// assert_eq!((z.dtype(), z.imag().dtype(), z.abs().dtype()), (DType::C64, DType::F32, DType::F32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Parts that are complex; shapes that do not broadcast.
#[track_caller]
pub fn complex(re: impl Into<Operand>, im: impl Into<Operand>) -> LazyTensor {
    or_failed(try_join([re.into(), im.into()], Location::caller()))
}

impl LazyTensor {
    /// The real part; a real tensor is its own.
    #[track_caller]
    pub fn real(&self) -> LazyTensor {
        part(PartsOp::Real, self, Location::caller())
    }

    /// The imaginary part; zeros for a real tensor.
    #[track_caller]
    pub fn imag(&self) -> LazyTensor {
        if self.check().is_ok() && !self.dtype().is_complex() {
            return self.zeros_like();
        }
        part(PartsOp::Imag, self, Location::caller())
    }

    /// The complex conjugate: the imaginary part with the other sign. A real tensor is its own.
    #[track_caller]
    pub fn conj(&self) -> LazyTensor {
        conj(self, Location::caller())
    }

    /// The angle in radians between minus pi and pi; integers go to f64.
    ///
    /// ```
    /// use tj_ir::number;
    /// use tj_tensor::{Complex, DType};
    /// assert_eq!(number(Complex::new(0.0, 1.0)).angle().dtype(), DType::F64);
    /// ```
    #[track_caller]
    pub fn angle(&self) -> LazyTensor {
        let location = Location::caller();
        let imag = match self.dtype().is_complex() {
            true => Operand::Tensor(part(PartsOp::Imag, self, location)),
            false => Operand::Float(0.0),
        };
        map(Op::Atan2, [imag, part(PartsOp::Real, self, location).into()], location)
    }
}

/// [`LazyTensor::conj`], asked for at `location`.
pub(super) fn conj(z: &LazyTensor, location: Place) -> LazyTensor {
    part(PartsOp::Conj, z, location)
}

/// A part of complex numbers, or what has the same parts; a real tensor is itself.
pub(super) fn part(op: PartsOp, z: &LazyTensor, location: Place) -> LazyTensor {
    if z.check().is_err() || !z.dtype().is_complex() {
        return z.clone();
    }
    let dtype = match op {
        PartsOp::Real | PartsOp::Imag => z.dtype().real(),
        PartsOp::Conj | PartsOp::Join => z.dtype(),
    };
    let args = SmallVec::from_iter([z.clone()]);
    LazyTensor::node(Kind::Parts { op, args }, z.0.shape.clone(), dtype, location)
}

/// Complex numbers of parts of one float dtype.
pub(super) fn join(re: LazyTensor, im: LazyTensor, location: Place) -> LazyTensor {
    or_failed(try_join([re.into(), im.into()], location))
}

/// What `f` makes of each part, as complex numbers.
pub(super) fn by_parts(z: &LazyTensor, location: Place, f: impl Fn(&LazyTensor) -> Made) -> Made {
    let parts = [PartsOp::Real, PartsOp::Imag].map(|op| f(&part(op, z, location)));
    let [re, im] = parts;
    Ok(join(re?, im?, location))
}

fn try_join(args: [Operand; 2], location: Place) -> Made {
    let op = PartsOp::Join.name();
    let fail = |cause| IrError::new(cause, location);
    let mut strong: Option<DType> = None;
    for arg in &args {
        if let Operand::Tensor(t) = arg {
            t.check()?;
            strong = Some(strong.map_or(t.dtype(), |known| known.promote(t.dtype())));
        }
    }
    let dtypes = [&args[0], &args[1]].map(|arg| operand_dtype(arg, strong));
    let dtype = dtypes[0].promote(dtypes[1]);
    if dtype.is_complex() {
        return Err(fail(Cause::DTypes { op, dtypes: dtypes.to_vec() }));
    }
    let dtype = dtype.complex();
    let [re, im] = [&args[0], &args[1]].map(|arg| as_tensor(arg, dtype.real(), op, location));
    let (re, im) = (re?, im?);
    let mut guards = Vec::new();
    let shape: Shape = broadcast(op, re.shape(), im.shape(), &mut guards, location).map_err(fail)?;
    let args = SmallVec::from_iter([re, im]);
    let mut tensor = LazyTensor::node(Kind::Parts { op: PartsOp::Join, args }, shape, dtype, location);
    attach(&mut tensor, guards);
    Ok(tensor)
}

/// A product of as many equal factors, or of their reciprocals.
pub(super) fn whole_power(z: &LazyTensor, power: i64, location: &'static Location<'static>) -> LazyTensor {
    let mut left = power.unsigned_abs();
    let mut square = z.clone();
    let mut product: Option<LazyTensor> = None;
    while left > 0 {
        if left % 2 == 1 {
            product = Some(match product {
                Some(product) => map(Op::Mul, [product.into(), (&square).into()], location),
                None => square.clone(),
            });
        }
        left /= 2;
        if left > 0 {
            square = map(Op::Square, [(&square).into()], location);
        }
    }
    let one = || super::positions::scalar(Scalar::one(z.dtype()), location);
    let product = product.unwrap_or_else(one);
    if power < 0 { map(Op::Reciprocal, [product.into()], location) } else { product }
}
