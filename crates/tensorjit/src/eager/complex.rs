//! The twins of functions of complex numbers and their parts.

use tj_runtime::Error;
use tj_tensor::Tensor;

use super::{Argument, twins, value};

twins! {
    /// [`tj_ir::LazyTensor::real`] on data.
    real(z) => Tensor = z.real();
    /// [`tj_ir::LazyTensor::imag`] on data.
    imag(z) => Tensor = z.imag();
    /// [`tj_ir::LazyTensor::conj`] on data.
    conj(z) => Tensor = z.conj();
    /// [`tj_ir::LazyTensor::angle`] on data.
    angle(z) => Tensor = z.angle();
}

/// [`tj_ir::complex()`] on data.
///
/// # Errors
/// As there, and what computing it may meet.
#[track_caller]
pub fn complex(re: impl Argument, im: impl Argument) -> Result<Tensor, Error> {
    value(tj_ir::complex(re.operand(), im.operand()))
}
