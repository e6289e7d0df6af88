//! Reading and writing at computed positions.
//!
//! **Positions** are counted from the end if they are negative. They are resolved to offsets before a row is touched, so
//! that one outside its axis leaves nothing half done in a row. **Order.** Updates are combined one after another, as
//! they stand: with a position twice, the last one stays, and sums are rounded in this order.

use tj_ir::Combine;

use crate::call::{Call, row, row_mut};
use crate::number::{Number, with_number};
use crate::{ArrayMut, LibraryError};

/// An offset for each position, or the first position that is outside.
pub(crate) fn resolve(at: &[i64], size: usize, offsets: &mut Vec<usize>) -> Result<(), i64> {
    offsets.clear();
    for position in at {
        let from_start = if *position < 0 {
            usize::try_from(position.unsigned_abs()).ok().and_then(|back| size.checked_sub(back))
        } else {
            usize::try_from(*position).ok().filter(|offset| *offset < size)
        };
        offsets.push(from_start.ok_or(*position)?);
    }
    Ok(())
}

/// Offsets of positions that a whole axis is read at, by a function of this name; `along` says that each row has its own.
///
/// # Errors
/// The first position that is outside.
pub fn offsets(
    function: &'static str,
    at: &[i64],
    size: usize,
    along: bool,
) -> Result<Vec<usize>, LibraryError> {
    let mut offsets = Vec::new();
    resolve(at, size, &mut offsets).map_err(|position| match along {
        false => LibraryError::Position { function, position, size },
        true => LibraryError::RowPosition { function, row: 0, position, size },
    })?;
    Ok(offsets)
}

/// The positions of `Function::Take` and `Function::Scatter`, which are those of every row.
fn shared(call: &Call<'_>, size: usize) -> Result<Vec<usize>, LibraryError> {
    let mut offsets = Vec::new();
    resolve(call.elements::<i64>(1)?, size, &mut offsets).map_err(|position| LibraryError::Position {
        function: call.function,
        position,
        size,
    })?;
    Ok(offsets)
}

/// The positions of row `r` of `Function::TakeAlong` and `Function::ScatterAlong`.
fn own(call: &Call<'_>, r: usize, size: usize, offsets: &mut Vec<usize>) -> Result<(), LibraryError> {
    let at = row(call.elements::<i64>(1)?, r, call.core(1)[0]);
    resolve(at, size, offsets).map_err(|position| LibraryError::RowPosition {
        function: call.function,
        row: r,
        position,
        size,
    })
}

/// Runs `$body` with `$T` a type of the size of a dtype, of which no more than copies are wanted.
macro_rules! with_bits {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            ::tj_tensor::DType::Bool | ::tj_tensor::DType::I8 | ::tj_tensor::DType::U8 => {
                type $T = u8;
                $body
            }
            ::tj_tensor::DType::I16
            | ::tj_tensor::DType::U16
            | ::tj_tensor::DType::F16
            | ::tj_tensor::DType::BF16 => {
                type $T = u16;
                $body
            }
            ::tj_tensor::DType::I32 | ::tj_tensor::DType::U32 | ::tj_tensor::DType::F32 => {
                type $T = u32;
                $body
            }
            ::tj_tensor::DType::I64 | ::tj_tensor::DType::U64 | ::tj_tensor::DType::F64 => {
                type $T = u64;
                $body
            }
            ::tj_tensor::DType::C64 => {
                type $T = [u32; 2];
                $body
            }
            ::tj_tensor::DType::C128 => {
                type $T = [u64; 2];
                $body
            }
        }
    };
}

pub(crate) use with_bits;

/// `Function::Take`.
pub(crate) fn take(call: &Call<'_>, result: &mut ArrayMut<'_>) -> Result<(), LibraryError> {
    let (n, k) = (call.core(0)[0], call.core(0)[1]);
    let offsets = shared(call, n)?;
    with_bits!(result.dtype, T => {
        let x = call.elements::<T>(0)?;
        let y = call.elements_mut::<T>(result)?;
        for (i, r) in call.rows.clone().enumerate() {
            let (x, y) = (row(x, r, n * k), row_mut(y, i, offsets.len() * k));
            if k == 1 {
                y.iter_mut().zip(&offsets).for_each(|(y, offset)| *y = x[*offset]);
            } else {
                for (i, offset) in offsets.iter().enumerate() {
                    row_mut(y, i, k).copy_from_slice(row(x, *offset, k));
                }
            }
        }
        Ok(())
    })
}

/// `Function::TakeAlong`.
pub(crate) fn take_along(call: &Call<'_>, result: &mut ArrayMut<'_>) -> Result<(), LibraryError> {
    let (n, m) = (call.core(0)[0], call.core(1)[0]);
    let mut offsets = Vec::new();
    with_bits!(result.dtype, T => {
        let x = call.elements::<T>(0)?;
        let y = call.elements_mut::<T>(result)?;
        for (i, r) in call.rows.clone().enumerate() {
            own(call, r, n, &mut offsets)?;
            let x = row(x, r, n);
            row_mut(y, i, m).iter_mut().zip(&offsets).for_each(|(y, offset)| *y = x[*offset]);
        }
        Ok(())
    })
}

/// `Function::Locate`.
pub(crate) fn locate(call: &Call<'_>, axis: u8, result: &mut ArrayMut<'_>) -> Result<(), LibraryError> {
    let (at, m, size) = (call.elements::<i64>(0)?, call.core(0)[0], call.elements::<i64>(1)?[0]);
    let found = call.elements_mut::<i64>(result)?;
    for (i, r) in call.rows.clone().enumerate() {
        for (found, &position) in row_mut(found, i, m).iter_mut().zip(row(at, r, m)) {
            *found = if position < 0 { position.wrapping_add(size) } else { position };
            if !(0..size).contains(found) {
                return Err(LibraryError::AxisPosition { axis, position, size });
            }
        }
    }
    Ok(())
}

/// `Function::Scatter`.
pub(crate) fn scatter(
    call: &Call<'_>,
    combine: Combine,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError> {
    let (n, k) = (call.core(0)[0], call.core(0)[1]);
    let offsets = shared(call, n)?;
    let positions = |_: usize, _: &mut Vec<usize>| Ok(());
    match combine {
        Combine::Set => with_bits!(result.dtype, T => {
            scatter_with::<T>(call, [n, k], offsets, positions, |_, new| new, result)
        }),
        Combine::Reduce(op) => with_number!(call, result.dtype, T => {
            scatter_with::<T>(call, [n, k], offsets, positions, |old, new| T::reduce(op, old, new), result)
        }),
    }
}

/// `Function::ScatterAlong`.
pub(crate) fn scatter_along(
    call: &Call<'_>,
    combine: Combine,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError> {
    let n = call.core(0)[0];
    let positions = |r: usize, offsets: &mut Vec<usize>| own(call, r, n, offsets);
    match combine {
        Combine::Set => with_bits!(result.dtype, T => {
            scatter_with::<T>(call, [n, 1], Vec::new(), positions, |_, new| new, result)
        }),
        Combine::Reduce(op) => with_number!(call, result.dtype, T => {
            scatter_with::<T>(call, [n, 1], Vec::new(), positions, |old, new| T::reduce(op, old, new), result)
        }),
    }
}

/// Scatters slices of `k` elements in every row; `positions` writes the offsets of a row if it has its own.
fn scatter_with<T: bytemuck::Pod>(
    call: &Call<'_>,
    [n, k]: [usize; 2],
    mut offsets: Vec<usize>,
    positions: impl Fn(usize, &mut Vec<usize>) -> Result<(), LibraryError>,
    combine: impl Fn(T, T) -> T,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError> {
    let m = call.core(2)[0];
    let x = call.elements::<T>(0)?;
    let updates = call.elements::<T>(2)?;
    let y = call.elements_mut::<T>(result)?;
    for (i, r) in call.rows.clone().enumerate() {
        positions(r, &mut offsets)?;
        let (updates, y) = (row(updates, r, m * k), row_mut(y, i, n * k));
        y.copy_from_slice(row(x, r, n * k));
        for (j, offset) in offsets.iter().enumerate() {
            for (old, new) in row_mut(y, *offset, k).iter_mut().zip(row(updates, j, k)) {
                *old = combine(*old, *new);
            }
        }
    }
    Ok(())
}
