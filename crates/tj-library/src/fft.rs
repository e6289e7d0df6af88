//! Fourier transforms by `rustfft` and `realfft`, of any size, without a scale.
//!
//! The tables of a size are made once for a call; both libraries choose their kernels by what the processor can do.

use bytemuck::{Pod, Zeroable};
use realfft::{FftNum, RealFftPlanner};
use rustfft::{FftDirection, FftPlanner};
use tj_tensor::{Complex, DType};

use crate::call::{Call, row, row_mut};
use crate::{ArrayMut, LibraryError};

/// `Function::Fft`.
pub(crate) fn fft(call: &Call<'_>, inverse: bool, result: &mut ArrayMut<'_>) -> Result<(), LibraryError> {
    let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
    if result.dtype == DType::F32 {
        fft_with::<f32>(call, direction, result)
    } else {
        fft_with::<f64>(call, direction, result)
    }
}

/// `Function::Rfft`.
pub(crate) fn rfft(call: &Call<'_>, result: &mut ArrayMut<'_>) -> Result<(), LibraryError> {
    if result.dtype == DType::F32 { rfft_with::<f32>(call, result) } else { rfft_with::<f64>(call, result) }
}

/// `Function::Irfft`.
pub(crate) fn irfft(call: &Call<'_>, result: &mut ArrayMut<'_>) -> Result<(), LibraryError> {
    if result.dtype == DType::F32 { irfft_with::<f32>(call, result) } else { irfft_with::<f64>(call, result) }
}

fn fft_with<T>(
    call: &Call<'_>,
    direction: FftDirection,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError>
where
    T: FftNum,
    Complex<T>: Pod,
{
    let n = call.core(0)[0];
    if n == 0 {
        return Ok(());
    }
    let plan = FftPlanner::<T>::new().plan_fft(n, direction);
    let mut scratch = vec![Complex::zeroed(); plan.get_inplace_scratch_len()];
    let x = call.elements::<Complex<T>>(0)?;
    let y = call.elements_mut::<Complex<T>>(result)?;
    for (i, r) in call.rows.clone().enumerate() {
        let y = row_mut(y, i, n);
        y.copy_from_slice(row(x, r, n));
        plan.process_with_scratch(y, &mut scratch);
    }
    Ok(())
}

fn rfft_with<T>(call: &Call<'_>, result: &mut ArrayMut<'_>) -> Result<(), LibraryError>
where
    T: FftNum + Pod,
    Complex<T>: Pod,
{
    let n = call.core(0)[0];
    let y = call.elements_mut::<Complex<T>>(result)?;
    if n == 0 {
        // The sum of nothing.
        y.fill(Complex::zeroed());
        return Ok(());
    }
    let plan = RealFftPlanner::<T>::new().plan_fft_forward(n);
    let mut scratch = plan.make_scratch_vec();
    let mut line = plan.make_input_vec();
    let x = call.elements::<T>(0)?;
    for (i, r) in call.rows.clone().enumerate() {
        line.copy_from_slice(row(x, r, n));
        plan.process_with_scratch(&mut line, row_mut(y, i, n / 2 + 1), &mut scratch)
            .map_err(|error| broken(call, &error))?;
    }
    Ok(())
}

fn irfft_with<T>(call: &Call<'_>, result: &mut ArrayMut<'_>) -> Result<(), LibraryError>
where
    T: FftNum + Pod,
    Complex<T>: Pod,
{
    let m = result.shape[call.n_row_axes()];
    if m == 0 {
        return Ok(());
    }
    let plan = RealFftPlanner::<T>::new().plan_fft_inverse(m);
    let mut scratch = plan.make_scratch_vec();
    let mut line = plan.make_input_vec();
    let x = call.elements::<Complex<T>>(0)?;
    let y = call.elements_mut::<T>(result)?;
    for (i, r) in call.rows.clone().enumerate() {
        line.copy_from_slice(row(x, r, m / 2 + 1));
        // A spectrum of real numbers has no imaginary part here, and the plan insists on it.
        line[0].im = T::zero();
        if m.is_multiple_of(2) {
            line[m / 2].im = T::zero();
        }
        plan.process_with_scratch(&mut line, row_mut(y, i, m), &mut scratch)
            .map_err(|error| broken(call, &error))?;
    }
    Ok(())
}

fn broken(call: &Call<'_>, error: &realfft::FftError) -> LibraryError {
    LibraryError::Shape { function: call.function, problem: error.to_string() }
}
