//! The twins of [`tj_ir::fft`].

use tj_ir::fft::Norm;
use tj_ir::{Axes, Dim};
use tj_tensor::{DType, Tensor};

use super::twins;

twins! {
    /// [`tj_ir::fft::fft`] on data.
    fft(x; n: impl Into<Option<Dim>>, axis: i64, norm: Norm) => Tensor = tj_ir::fft::fft(&x, n, axis, norm);
    /// [`tj_ir::fft::ifft`] on data.
    ifft(x; n: impl Into<Option<Dim>>, axis: i64, norm: Norm) => Tensor = tj_ir::fft::ifft(&x, n, axis, norm);
    /// [`tj_ir::fft::rfft`] on data.
    rfft(x; n: impl Into<Option<Dim>>, axis: i64, norm: Norm) => Tensor = tj_ir::fft::rfft(&x, n, axis, norm);
    /// [`tj_ir::fft::irfft`] on data.
    irfft(x; n: impl Into<Option<Dim>>, axis: i64, norm: Norm) => Tensor = tj_ir::fft::irfft(&x, n, axis, norm);
    /// [`tj_ir::fft::hfft`] on data.
    hfft(x; n: impl Into<Option<Dim>>, axis: i64, norm: Norm) => Tensor = tj_ir::fft::hfft(&x, n, axis, norm);
    /// [`tj_ir::fft::ihfft`] on data.
    ihfft(x; n: impl Into<Option<Dim>>, axis: i64, norm: Norm) => Tensor = tj_ir::fft::ihfft(&x, n, axis, norm);
    /// [`tj_ir::fft::fftn`] on data.
    fftn(x; sizes: Option<&[Dim]>, axes: impl Into<Axes>, norm: Norm) => Tensor = tj_ir::fft::fftn(&x, sizes, axes, norm);
    /// [`tj_ir::fft::ifftn`] on data.
    ifftn(x; sizes: Option<&[Dim]>, axes: impl Into<Axes>, norm: Norm) => Tensor = tj_ir::fft::ifftn(&x, sizes, axes, norm);
    /// [`tj_ir::fft::rfftn`] on data.
    rfftn(x; sizes: Option<&[Dim]>, axes: impl Into<Axes>, norm: Norm) => Tensor = tj_ir::fft::rfftn(&x, sizes, axes, norm);
    /// [`tj_ir::fft::irfftn`] on data.
    irfftn(x; sizes: Option<&[Dim]>, axes: impl Into<Axes>, norm: Norm) => Tensor = tj_ir::fft::irfftn(&x, sizes, axes, norm);
    /// [`tj_ir::fft::fftshift`] on data.
    fftshift(x; axes: impl Into<Axes>) => Tensor = tj_ir::fft::fftshift(&x, axes);
    /// [`tj_ir::fft::ifftshift`] on data.
    ifftshift(x; axes: impl Into<Axes>) => Tensor = tj_ir::fft::ifftshift(&x, axes);
    /// [`tj_ir::fft::fftfreq`] on data.
    fftfreq(; n: impl Into<Dim>, distance: f64, dtype: DType) => Tensor = tj_ir::fft::fftfreq(n, distance, dtype);
    /// [`tj_ir::fft::rfftfreq`] on data.
    rfftfreq(; n: impl Into<Dim>, distance: f64, dtype: DType) => Tensor = tj_ir::fft::rfftfreq(n, distance, dtype);
}
