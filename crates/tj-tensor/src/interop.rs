//! Arrays of the ndarray crate, in and out.
//!
//! An owned array becomes a tensor without being copied, whatever its strides. A tensor gives an `ArrayView` of its
//! storage, or a new standard-layout array.

use std::sync::Arc;

use ndarray::{Array, ArrayD, ArrayViewD, Axis as NdAxis, Dimension, IxDyn, ShapeBuilder};

use crate::shape::{Axis, List, row_major_axes, wide_count};
use crate::{Buffer, Element, Tensor, TensorError};

/// Takes the array's memory.
///
/// ```
/// use tj_tensor::Tensor;
/// let array = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]].reversed_axes();
/// let x = Tensor::from(array.clone());
/// assert_eq!(x.strides(), Some(array.strides()));
/// assert_eq!(x.as_ndarray::<f32>()?, array.view().into_dyn());
/// # Ok::<(), tj_tensor::TensorError>(())
/// ```
impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    fn from(array: Array<T, D>) -> Tensor {
        let axes: List<Axis> = array
            .shape()
            .iter()
            .zip(array.strides())
            .map(|(&extent, &stride)| Axis { extent, stride })
            .collect();
        // ndarray keeps every element of the array within the vector, which is the invariant we need.
        let (values, offset) = array.into_raw_vec_and_offset();
        Tensor::from_axes(T::DTYPE, &axes, offset.unwrap_or(0), Arc::new(Buffer::from_vec(values)))
    }
}

impl Tensor {
    /// The elements in place, strides and all. Fails on another dtype, on a tensor that is stored by levels, and where
    /// ndarray cannot hold the shape: it bounds the product of the extents even for a view.
    pub fn as_ndarray<T: Element>(&self) -> Result<ArrayViewD<'_, T>, TensorError> {
        self.expect_dtype(T::DTYPE)?;
        let too_large = || TensorError::TooLarge {
            shape: self.shape().to_vec(),
            dtype: T::DTYPE,
            elements: wide_count(self.shape()),
        };
        let strided =
            self.strided().ok_or_else(|| TensorError::NotStrided { format: self.format().to_string() })?;
        let bytes = &strided.values.as_bytes()[self.byte_range()];
        let values: &[T] = bytemuck::checked::try_cast_slice(bytes)
            .expect("aligned elements with valid bits are an invariant");
        // ndarray wants the lowest address and non-negative strides; it then turns axes around in place.
        let axes = if self.is_empty() { row_major_axes(self.shape()) } else { strided.axes(self.shape()) };
        let positive = |axis: &Axis| if axis.extent > 1 { axis.stride.unsigned_abs() } else { 0 };
        let strides: Vec<usize> = axes.iter().map(positive).collect();
        let shape = IxDyn(self.shape()).strides(IxDyn(&strides));
        let mut view = ArrayViewD::from_shape(shape, values).map_err(|_| too_large())?;
        for (d, axis) in axes.iter().enumerate() {
            if axis.stride < 0 && axis.extent > 1 {
                view.invert_axis(NdAxis(d));
            }
        }
        Ok(view)
    }

    /// A copy as an owned array in standard layout.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>, TensorError> {
        let values = self.to_vec::<T>()?;
        ArrayD::from_shape_vec(IxDyn(self.shape()), values).map_err(|_| TensorError::TooLarge {
            shape: self.shape().to_vec(),
            dtype: T::DTYPE,
            elements: wide_count(self.shape()),
        })
    }
}
