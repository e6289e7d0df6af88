//! Shapes as numbers: counts that are checked, strides that follow from them.

use smallvec::SmallVec;

use crate::{DType, TensorError};

/// Extents, strides and orders are short; four fit without an allocation.
pub(crate) type List<T> = SmallVec<[T; 4]>;

/// One dimension as views see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub extent: usize,
    pub stride: isize,
}

/// The dimensions of a row-major tensor. Without elements all strides are 0: nothing is ever reached, and the
/// products of the other extents may overflow.
pub(crate) fn row_major_axes(shape: &[usize]) -> List<Axis> {
    let mut stride = if shape.contains(&0) { 0 } else { 1 };
    let mut axes: List<Axis> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let axis = Axis { extent, stride };
            stride *= extent as isize;
            axis
        })
        .collect();
    axes.reverse();
    axes
}

/// The number of elements as far as 128 bits go.
pub(crate) fn wide_count(shape: &[usize]) -> u128 {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1u128, |n, &extent| n.saturating_mul(extent as u128))
}

/// The number of elements of a shape whose bytes are addressable.
pub(crate) fn checked_count(shape: &[usize], dtype: DType) -> Result<usize, TensorError> {
    for &extent in shape {
        check_extent(extent, shape, dtype)?;
    }
    let elements = wide_count(shape);
    match elements.checked_mul(dtype.size() as u128) {
        Some(bytes) if bytes <= isize::MAX as u128 => Ok(elements as usize),
        _ => Err(TensorError::TooLarge { shape: shape.to_vec(), dtype, elements }),
    }
}

/// Every extent is at most `isize::MAX`, so that coordinates are signed numbers; a zero elsewhere in the shape does not lift it.
pub(crate) fn check_extent(extent: usize, shape: &[usize], dtype: DType) -> Result<(), TensorError> {
    if extent > isize::MAX as usize {
        let elements = shape.iter().fold(1u128, |n, &e| n.saturating_mul(e.max(1) as u128));
        return Err(TensorError::TooLarge { shape: shape.to_vec(), dtype, elements });
    }
    Ok(())
}
