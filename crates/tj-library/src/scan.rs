//! Partial reductions, in order of position.
//!
//! **Bits.** The first partial result is the first element itself; each later one is one step of the reduction, rounded
//! to the dtype once (f16 and bf16 step through f32). The bits are those of the obvious loop, which this is.

use tj_ir::{Field, ReduceOp};
use tj_tensor::{Complex, DType};

use crate::call::{Call, row, row_mut};
use crate::number::{Number, with_number};
use crate::{ArrayMut, LibraryError};

/// `Function::Scan`.
pub(crate) fn scan(
    call: &Call<'_>,
    op: ReduceOp,
    field: Field,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError> {
    match (field, result.dtype) {
        (Field::Complex, DType::F32) => {
            scan_with::<Complex<f32>>(call, Complex::new(1.0, 0.0), |a, b| a * b, result)
        }
        (Field::Complex, DType::F64) => {
            scan_with::<Complex<f64>>(call, Complex::new(1.0, 0.0), |a, b| a * b, result)
        }
        (Field::Complex, dtype) => Err(call.refuse(dtype)),
        (Field::Real, dtype) => with_number!(call, dtype, T => {
            let identity = match (op, dtype) {
                (ReduceOp::Min | ReduceOp::And, DType::Bool) => T::identity(ReduceOp::Prod),
                _ => T::identity(op),
            };
            // One loop an operator: the choice is made outside of it.
            match op {
                ReduceOp::Sum => scan_with::<T>(call, identity, |a, b| T::reduce(ReduceOp::Sum, a, b), result),
                ReduceOp::Prod => scan_with::<T>(call, identity, |a, b| T::reduce(ReduceOp::Prod, a, b), result),
                ReduceOp::Max => scan_with::<T>(call, identity, |a, b| T::reduce(ReduceOp::Max, a, b), result),
                ReduceOp::Min => scan_with::<T>(call, identity, |a, b| T::reduce(ReduceOp::Min, a, b), result),
                ReduceOp::And | ReduceOp::Or | ReduceOp::Xor | ReduceOp::By(_) => {
                    scan_with::<T>(call, identity, |a, b| T::reduce(op, a, b), result)
                }
            }
        }),
    }
}

fn scan_with<T: bytemuck::Pod>(
    call: &Call<'_>,
    identity: T,
    step: impl Fn(T, T) -> T,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError> {
    let (n, n_results) = (call.core(0)[0], result.shape[call.n_row_axes()]);
    let x = call.elements::<T>(0)?;
    let y = call.elements_mut::<T>(result)?;
    for (i, r) in call.rows.clone().enumerate() {
        let (start, y) = row_mut(y, i, n_results).split_at_mut(n_results - n);
        start.fill(identity);
        let mut sum = None;
        for (y, x) in y.iter_mut().zip(row(x, r, n)) {
            let next = sum.map_or(*x, |sum| step(sum, *x));
            *y = next;
            sum = Some(next);
        }
    }
    Ok(())
}
