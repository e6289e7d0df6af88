//! What computes a [`Function`]: sorting, scans, gathers, factorisations, transforms.
//!
//! What this layer knows: row-major arrays and the crates that compute on them. What it must never know: expressions,
//! plans, kernels.

#![forbid(unsafe_code)]

mod error;
mod stand_in;

use std::ops::Range;

use tj_ir::Function;
use tj_tensor::DType;

pub use error::LibraryError;

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
/// # Errors
/// What the function cannot compute from the values: a singular matrix, a position outside its axis, no convergence.
pub fn run(
    function: Function,
    args: &[Array<'_>],
    results: &mut [ArrayMut<'_>],
    rows: Range<usize>,
) -> Result<(), LibraryError> {
    stand_in::run(function, args, results, rows)
}
