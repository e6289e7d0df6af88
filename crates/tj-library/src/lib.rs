//! What computes a [`Function`]: sorting, scans, gathers, factorisations, transforms; and a [`Selection`](tj_ir::Selection);
//! and [`sparse`], functions of whole tensors that cost what they touch.
//!
//! What this layer knows: row-major arrays and the crates that compute on them, and entries of tensors in any format. What
//! it must never know: expressions, plans, kernels.

#![forbid(unsafe_code)]

mod call;
mod number;

mod fft;
mod gather;
mod linalg;
mod scan;
mod select;
mod sort;

pub mod sparse;

pub mod moves {
    //! Tensors whose elements are elements of others at other places: what compiled programs do at the cost of entries.
    pub use crate::gather::offsets;
    pub use crate::sparse::moves::{Moves, Part, Place, Test, What};
}

mod error;

use std::ops::Range;

use tj_ir::{Field, Function};
use tj_tensor::DType;

use call::Call;
use linalg::Task;
use sort::{Direction, Side};

pub use error::LibraryError;
pub use select::{select, selected_bytes};

/// A row-major argument, whole.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    /// Type of an element.
    pub dtype: DType,
    /// Extents, rows first.
    pub shape: &'a [usize],
    /// All elements, aligned for the dtype.
    pub bytes: &'a [u8],
}

/// A row-major result, of which only the rows that are asked for are here.
#[derive(Debug)]
pub struct ArrayMut<'a> {
    /// Type of an element.
    pub dtype: DType,
    /// Extents of the whole result, rows first.
    pub shape: &'a [usize],
    /// The elements of the rows that are asked for, aligned for the dtype.
    pub bytes: &'a mut [u8],
}

/// Computes rows `rows` of the results of `function`. Shapes and dtypes are as [`Function`] says; the layers above have
/// made sure of that.
///
/// Rows are independent: any division of them into calls gives the same bits. After an error the results hold nothing
/// of use.
///
/// # Errors
/// What the function cannot compute from the values: a singular matrix, a position outside its axis, no convergence.
///
/// ```
/// use tj_ir::Function;
/// use tj_library::{Array, ArrayMut, run};
/// use tj_tensor::DType;
///
/// let x = [3.0f32, f32::NAN, 1.0, 2.0];
/// let mut y = [0.0f32; 4];
/// run(
///     Function::Sort { descending: true },
///     &[Array { dtype: DType::F32, shape: &[4], bytes: bytemuck::cast_slice(&x) }],
///     &mut [ArrayMut { dtype: DType::F32, shape: &[4], bytes: bytemuck::cast_slice_mut(&mut y) }],
///     0..1,
/// )?;
/// assert_eq!(y[..3], [3.0, 2.0, 1.0]);
/// assert!(y[3].is_nan());
/// # Ok::<(), tj_library::LibraryError>(())
/// ```
pub fn run(
    function: Function,
    args: &[Array<'_>],
    results: &mut [ArrayMut<'_>],
    rows: Range<usize>,
) -> Result<(), LibraryError> {
    let call = Call::new(function, args, results, rows)?;
    if call.rows.is_empty() {
        return Ok(());
    }
    let dtype = args[0].dtype;
    let factor = |task: Task, field: Field, results: &mut [ArrayMut<'_>]| {
        linalg::run(&call, task, field, dtype, results)
    };
    match function {
        Function::Sort { descending } => sort::sort(&call, Direction::new(descending), &mut results[0]),
        Function::Argsort { descending } => {
            sort::argsort(&call, Direction::new(descending), dtype, &mut results[0])
        }
        Function::Searchsorted { right } => {
            let side = if right { Side::Last } else { Side::First };
            sort::searchsorted(&call, side, dtype, &mut results[0])
        }
        Function::Scan { op, field, .. } => scan::scan(&call, op, field, &mut results[0]),
        Function::Take => gather::take(&call, &mut results[0]),
        Function::Locate { axis } => gather::locate(&call, axis, &mut results[0]),
        Function::TakeAlong => gather::take_along(&call, &mut results[0]),
        Function::Scatter { combine } => gather::scatter(&call, combine, &mut results[0]),
        Function::ScatterAlong { combine } => gather::scatter_along(&call, combine, &mut results[0]),
        Function::Cholesky { upper, field } => factor(Task::Cholesky { upper }, field, results),
        Function::Det { field } => factor(Task::Det, field, results),
        Function::Slogdet { field } => factor(Task::Slogdet, field, results),
        Function::Inv { field } => factor(Task::Inv, field, results),
        Function::Solve { field } => factor(Task::Solve, field, results),
        Function::Qr { complete, field } => factor(Task::Qr { complete }, field, results),
        Function::Svd { full, field } => factor(Task::Svd { full }, field, results),
        Function::Svdvals { field } => factor(Task::Svdvals, field, results),
        Function::Eigh { field } => factor(Task::Eigh, field, results),
        Function::Eigvalsh { field } => factor(Task::Eigvalsh, field, results),
        Function::Fft { inverse } => fft::fft(&call, inverse, &mut results[0]),
        Function::Rfft => fft::rfft(&call, &mut results[0]),
        Function::Irfft => fft::irfft(&call, &mut results[0]),
    }
}
