//! Complex tensors as tensors of pairs of real numbers, and back.
//!
//! A complex number lies in memory as its real part, then its imaginary part. So a complex tensor is a real one with one
//! more axis at the end, of size 2, over the same storage: nothing is copied where strides can say it.

use crate::shape::Axis;
use crate::{Buffer, Tensor, TensorError};

impl Tensor {
    /// A complex tensor as its parts, along one more axis at the end: real, then imaginary. Shares the storage. A tensor
    /// of another type is itself. A fill value is dropped.
    ///
    /// ```
    /// use tj_tensor::{Complex, Tensor};
    /// let z = Tensor::from(vec![Complex::new(1.0f32, 2.0), Complex::new(3.0, -4.0)]);
    /// let parts = z.as_reals()?;
    /// assert!(parts.shares_storage_with(&z));
    /// assert_eq!((parts.shape(), parts.to_vec::<f32>()?), (&[2, 2][..], vec![1.0, 2.0, 3.0, -4.0]));
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// A tensor that is stored by levels and too large to be copied into a strided one.
    pub fn as_reals(&self) -> Result<Tensor, TensorError> {
        let dtype = self.dtype.real();
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        let Some(strided) = self.strided() else { return self.to_dense()?.as_reals() };
        // Twice a stride may be more than fits where no second element is; there it is never taken.
        let wide = |axis: Axis| Axis { extent: axis.extent, stride: axis.stride.wrapping_mul(2) };
        let mut axes: crate::shape::List<Axis> = strided.axes(&self.shape).into_iter().map(wide).collect();
        axes.push(Axis { extent: 2, stride: 1 });
        Ok(Tensor::from_axes(dtype, &axes, 2 * strided.offset, strided.values.clone()))
    }

    /// Pairs along the last axis as complex numbers: undoes [`Tensor::as_reals`]. Copies only if the parts of a number
    /// do not lie side by side, or not in the places of whole numbers. A complex tensor is itself.
    ///
    /// ```
    /// use tj_tensor::{Complex, Tensor};
    /// let parts = Tensor::from_shape_vec([1, 2], vec![1.0f64, 2.0])?;
    /// let z = parts.as_complex()?;
    /// assert!(z.shares_storage_with(&parts));
    /// assert_eq!(z.to_vec::<Complex<f64>>()?, [Complex::new(1.0, 2.0)]);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// A tensor that is not of f32 or f64, or whose last axis is not of size 2; no memory for the copy.
    pub fn as_complex(&self) -> Result<Tensor, TensorError> {
        if self.dtype.is_complex() {
            return Ok(self.clone());
        }
        let dtype = self.dtype.complex();
        let rank = self.rank();
        if dtype.real() != self.dtype || self.shape.last() != Some(&2) {
            return Err(TensorError::Pairs { dtype: self.dtype, shape: self.shape.to_vec() });
        }
        let Some(strided) = self.strided() else { return self.to_dense()?.as_complex() };
        let is_whole = |axis: &Axis| axis.extent <= 1 || axis.stride % 2 == 0;
        let axes = strided.axes(&self.shape);
        let fits = strided.values.len().is_multiple_of(dtype.size())
            && (self.is_empty()
                || strided.offset.is_multiple_of(2)
                    && axes[rank - 1].stride == 1
                    && axes[..rank - 1].iter().all(is_whole));
        if !fits {
            let row_major = self.to_contiguous()?;
            let bytes = Buffer::copy_of(row_major.as_bytes().unwrap_or(&[]))?;
            return Tensor::from_buffer(dtype, &self.shape[..rank - 1], bytes);
        }
        let half = |axis: &Axis| Axis { extent: axis.extent, stride: axis.stride / 2 };
        let axes: crate::shape::List<Axis> = axes[..rank - 1].iter().map(half).collect();
        Ok(Tensor::from_axes(dtype, &axes, strided.offset / 2, strided.values.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Complex, DType, SliceSpec};

    fn numbers() -> Tensor {
        let values: Vec<Complex<f32>> = (0..12).map(|k| Complex::new(k as f32, -0.5 * k as f32)).collect();
        Tensor::from_shape_vec([3, 4], values).unwrap()
    }

    #[test]
    fn views_of_views_share_the_storage() {
        let z = numbers();
        let backwards = SliceSpec { start: None, stop: None, step: -2 };
        let views = [
            z.clone(),
            z.transpose(),
            z.slice(1, backwards).unwrap(),
            z.index(0, -1).unwrap(),
            z.index(0, 1).unwrap().index(0, 2).unwrap(),
            z.slice(0, SliceSpec::from(1..1)).unwrap(),
            z.index(1, 0).unwrap().expand_dims(0).unwrap().broadcast_to([5, 3]).unwrap(),
        ];
        for view in views {
            let parts = view.as_reals().unwrap();
            let shape: Vec<usize> = view.shape().iter().copied().chain([2]).collect();
            assert_eq!((parts.dtype(), parts.shape()), (DType::F32, shape.as_slice()));
            assert_eq!((parts.is_contiguous(), parts.data_ptr()), (view.is_contiguous(), view.data_ptr()));
            let flat: Vec<f32> =
                view.to_vec::<Complex<f32>>().unwrap().iter().flat_map(|z| [z.re, z.im]).collect();
            assert_eq!(parts.to_vec::<f32>().unwrap(), flat);
            let back = parts.as_complex().unwrap();
            assert!(back.bit_eq(&view) && (view.is_empty() || back.shares_storage_with(&z)));
        }
    }

    #[test]
    fn parts_elsewhere_are_copied() {
        let x: Tensor = (0..8).map(f64::from).collect::<Tensor>().reshape([2, 4]).unwrap();
        let columns = x.reshape([2, 2, 2]).unwrap().permute([0, 2, 1]).unwrap();
        let odd = x.reshape([8]).unwrap().slice(0, SliceSpec::from(1..7)).unwrap().reshape([3, 2]).unwrap();
        for (pairs, re, im) in [(columns, 1.0, 3.0), (odd, 3.0, 4.0)] {
            let z = pairs.as_complex().unwrap().reshape([pairs.count().unwrap() / 2]).unwrap();
            assert_eq!(z.to_vec::<Complex<f64>>().unwrap()[1], Complex::new(re, im));
        }
    }

    #[test]
    fn only_pairs_of_floats_are_complex() {
        let refused =
            [Tensor::arange(2).unwrap(), Tensor::zeros(DType::F32, [2, 3]).unwrap(), Tensor::scalar(1.0f64)];
        assert!(refused.iter().all(|t| t.as_complex().is_err()));
        assert!(Tensor::arange(2).unwrap().as_reals().unwrap().bit_eq(&Tensor::arange(2).unwrap()));
    }
}
