//! The tensor: shared values and the levels that find them.
//!
//! Element `i` (one coordinate a dimension) lies at `offset + sum(i[d] * stride[d])` of the value buffer. Three
//! invariants hold for every tensor, so that readers need no check of their own:
//!
//! 1. every element lies in the buffer, whose length is a whole number of elements, aligned to the type;
//! 2. a bool buffer holds only 0 and 1;
//! 3. every extent is at most `isize::MAX`; the *number* of elements is not bounded, because a broadcast view stores
//!    nothing. Whoever needs the number asks [`Tensor::count`], which may fail.
//!
//! Tensors are immutable. Cloning and viewing share the buffer; [`Tensor::try_into_buffer`] gives it back to a sole
//! owner.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::element::private::Raw;
use crate::shape::{Axis, List, check_extent, checked_count, row_major_axes};
use crate::{Buffer, DType, Element, Format, Level, Scalar, TensorError, with_dtype};

/// An immutable array of any rank, cheap to clone and to view.
///
/// ```
/// use tj_tensor::{DType, Tensor};
/// let x = Tensor::from_shape_vec([2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!((x.dtype(), x.shape()), (DType::F32, &[2, 3][..]));
/// let columns = x.transpose();
/// assert!(columns.shares_storage_with(&x));
/// assert_eq!(columns.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), tj_tensor::TensorError>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    pub(crate) dtype: DType,
    pub(crate) shape: List<usize>,
    /// Outermost first.
    pub(crate) levels: List<Level>,
    /// `levels[l]` stores dimension `mode_order[l]`.
    pub(crate) mode_order: List<usize>,
    pub(crate) fill: Option<Scalar>,
    /// Where the element with all coordinates 0 is.
    pub(crate) offset: usize,
    pub(crate) values: Arc<Buffer>,
}

impl Tensor {
    /// A tensor over a row-major vector, whose memory it takes.
    pub fn from_shape_vec<T: Element>(
        shape: impl AsRef<[usize]>,
        values: Vec<T>,
    ) -> Result<Tensor, TensorError> {
        let shape = shape.as_ref();
        let needed = checked_count(shape, T::DTYPE)?;
        if needed != values.len() {
            return Err(TensorError::ElementCount { shape: shape.to_vec(), needed, found: values.len() });
        }
        Ok(Tensor::row_major(T::DTYPE, shape, Buffer::from_vec(values)))
    }

    /// A tensor with every element equal to `value`.
    pub fn full(shape: impl AsRef<[usize]>, value: impl Into<Scalar>) -> Result<Tensor, TensorError> {
        let (shape, value) = (shape.as_ref(), value.into());
        let mut tensor = Tensor::zeros(value.dtype(), shape)?;
        if value.bits() != 0 {
            let values = Arc::get_mut(&mut tensor.values).expect("a new tensor has one owner");
            with_dtype!(value.dtype(), T => {
                let value = T::from_scalar(value).expect("the type is the scalar's own");
                values.stored_mut::<T>().fill(value.store());
            });
        }
        Ok(tensor)
    }

    /// A tensor of zeros (`false` for bool).
    pub fn zeros(dtype: DType, shape: impl AsRef<[usize]>) -> Result<Tensor, TensorError> {
        let shape = shape.as_ref();
        let bytes = checked_count(shape, dtype)? * dtype.size();
        Ok(Tensor::row_major(dtype, shape, Buffer::zeroed(bytes)?))
    }

    /// A tensor of rank 0.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// assert_eq!(Tensor::scalar(2.5f64).item::<f64>(), Ok(2.5));
    /// ```
    pub fn scalar(value: impl Into<Scalar>) -> Tensor {
        let value = value.into();
        let buffer = with_dtype!(value.dtype(), T => {
            Buffer::from_vec(vec![T::from_scalar(value).expect("the type is the scalar's own")])
        });
        Tensor::row_major(value.dtype(), &[], buffer)
    }

    /// The i64 values `0, 1, ..., n - 1`.
    pub fn arange(n: usize) -> Result<Tensor, TensorError> {
        let mut tensor = Tensor::zeros(DType::I64, [n])?;
        let values = Arc::get_mut(&mut tensor.values).expect("a new tensor has one owner");
        for (i, x) in values.stored_mut::<i64>().iter_mut().enumerate() {
            *x = i as i64;
        }
        Ok(tensor)
    }

    /// A tensor over row-major bytes. The length, the alignment and the values of bool bytes are checked.
    pub fn from_buffer(
        dtype: DType,
        shape: impl AsRef<[usize]>,
        buffer: Buffer,
    ) -> Result<Tensor, TensorError> {
        let shape = shape.as_ref();
        let needed = checked_count(shape, dtype)? * dtype.size();
        if needed != buffer.len() {
            let found = buffer.len();
            return Err(TensorError::ByteCount { shape: shape.to_vec(), dtype, needed, found });
        }
        check_elements(dtype, &buffer)?;
        Ok(Tensor::row_major(dtype, shape, buffer))
    }

    /// A tensor over bytes in any strided arrangement. Everything is checked, as for [`Self::from_buffer`]; the
    /// buffer must hold whole elements, and may hold more of them than the layout reaches.
    pub fn from_strided(
        dtype: DType,
        shape: impl AsRef<[usize]>,
        strides: impl AsRef<[isize]>,
        offset: usize,
        buffer: Buffer,
    ) -> Result<Tensor, TensorError> {
        let (shape, strides) = (shape.as_ref(), strides.as_ref());
        if shape.len() != strides.len() {
            return Err(TensorError::IndexCount { found: strides.len(), rank: shape.len() });
        }
        check_elements(dtype, &buffer)?;
        let len = buffer.len() / dtype.size();
        let axes: List<Axis> =
            shape.iter().zip(strides).map(|(&extent, &stride)| Axis { extent, stride }).collect();
        let (mut low, mut high) = (offset as i128, offset as i128 + 1);
        for axis in &axes {
            check_extent(axis.extent, shape, dtype)?;
            let reach = (axis.extent.max(1) - 1) as i128 * axis.stride as i128;
            (low, high) = (low.saturating_add(reach.min(0)), high.saturating_add(reach.max(0)));
        }
        let empty = shape.contains(&0);
        if (!empty && (low < 0 || high > len as i128)) || (empty && offset > len) {
            return Err(TensorError::OutOfBuffer {
                shape: shape.to_vec(),
                strides: strides.to_vec(),
                offset,
                len,
            });
        }
        Ok(Tensor::from_axes(dtype, &axes, offset, Arc::new(buffer)))
    }

    /// The same tensor with a declared fill value, which must have its dtype; `None` removes it.
    pub fn with_fill(mut self, fill: Option<Scalar>) -> Result<Tensor, TensorError> {
        if let Some(fill) = fill
            && fill.dtype() != self.dtype
        {
            return Err(TensorError::DType { expected: self.dtype, found: fill.dtype() });
        }
        self.fill = fill;
        Ok(self)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The dimension each level stores.
    pub fn mode_order(&self) -> &[usize] {
        &self.mode_order
    }

    /// The declared fill value.
    pub fn fill(&self) -> Option<Scalar> {
        self.fill
    }

    /// The levels without their data.
    pub fn format(&self) -> Format {
        Format {
            mode_order: self.mode_order.to_vec(),
            kinds: self.levels.iter().map(Level::kind).collect(),
            fill: self.fill,
        }
    }

    /// The distance in elements between neighbours along each dimension.
    pub fn strides(&self) -> Vec<isize> {
        self.axes().iter().map(|axis| axis.stride).collect()
    }

    /// Where the element with all coordinates 0 lies in the storage, in elements.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of elements, or an error if a copy of them would not be addressable.
    pub fn count(&self) -> Result<usize, TensorError> {
        checked_count(&self.shape, self.dtype)
    }

    /// Whether some extent is 0.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether the elements lie one after the other in row-major order. The stride of an extent of 0 or 1 does not
    /// matter, and a tensor without elements is contiguous.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1i128;
        self.is_empty()
            || self.axes().iter().rev().all(|axis| {
                let fits = axis.extent == 1 || axis.stride as i128 == expected;
                expected = expected.saturating_mul(axis.extent as i128);
                fits
            })
    }

    /// The address of the element with all coordinates 0. With no elements, an address that must not be read.
    pub fn data_ptr(&self) -> *const u8 {
        self.values.as_bytes().as_ptr().wrapping_add(self.offset * self.dtype.size())
    }

    /// The bytes of the storage that the elements span; empty if there are none.
    pub fn byte_range(&self) -> Range<usize> {
        let size = self.dtype.size();
        if self.is_empty() {
            return self.offset * size..self.offset * size;
        }
        let (mut low, mut high) = (self.offset, self.offset);
        for axis in self.axes() {
            let reach = (axis.extent - 1) * axis.stride.unsigned_abs();
            if axis.stride < 0 {
                low -= reach;
            } else {
                high += reach;
            }
        }
        low * size..(high + 1) * size
    }

    /// Whether two tensors look into the same buffer.
    pub fn shares_storage_with(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.values, &other.values)
    }

    /// Whether the tensor is row-major over the whole of a buffer that no other tensor shares. Then
    /// [`Tensor::try_into_buffer`] gives exactly its elements.
    pub fn owns_buffer(&self) -> bool {
        let whole = self.as_bytes().is_some_and(|bytes| bytes.len() == self.values.len());
        whole && Arc::strong_count(&self.values) == 1
    }

    /// The buffer, if no other tensor shares it; else the tensor back. The whole buffer is returned, whatever part of
    /// it the tensor sees.
    #[expect(clippy::result_large_err, reason = "the tensor is what comes back; a box would allocate")]
    pub fn try_into_buffer(self) -> Result<Buffer, Tensor> {
        let Tensor { dtype, shape, levels, mode_order, fill, offset, values } = self;
        Arc::try_unwrap(values).map_err(|values| Tensor {
            dtype,
            shape,
            levels,
            mode_order,
            fill,
            offset,
            values,
        })
    }

    /// Row-major over the whole of a buffer that the caller has checked.
    pub(crate) fn row_major(dtype: DType, shape: &[usize], buffer: Buffer) -> Tensor {
        Tensor::from_axes(dtype, &row_major_axes(shape), 0, Arc::new(buffer))
    }

    /// Levels in the order of the dimensions.
    pub(crate) fn from_axes(dtype: DType, axes: &[Axis], offset: usize, values: Arc<Buffer>) -> Tensor {
        Tensor {
            dtype,
            shape: axes.iter().map(|axis| axis.extent).collect(),
            levels: axes
                .iter()
                .map(|axis| Level::Dense { extent: axis.extent, stride: axis.stride })
                .collect(),
            mode_order: (0..axes.len()).collect(),
            fill: None,
            offset,
            values,
        }
    }

    /// The dimensions in their own order.
    pub(crate) fn axes(&self) -> List<Axis> {
        let mut axes: List<Axis> = SmallVec::from_elem(Axis { extent: 0, stride: 0 }, self.rank());
        for (level, &dim) in self.levels.iter().zip(&self.mode_order) {
            match *level {
                Level::Dense { extent, stride } => axes[dim] = Axis { extent, stride },
            }
        }
        axes
    }
}

/// A vector becomes a tensor of rank 1 without being copied.
impl<T: Element> From<Vec<T>> for Tensor {
    fn from(values: Vec<T>) -> Tensor {
        Tensor::row_major(T::DTYPE, &[values.len()], Buffer::from_vec(values))
    }
}

impl<T: Element> FromIterator<T> for Tensor {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Tensor {
        Tensor::from(values.into_iter().collect::<Vec<T>>())
    }
}

/// The first two invariants, as far as they concern the buffer alone.
fn check_elements(dtype: DType, buffer: &Buffer) -> Result<(), TensorError> {
    let bytes = buffer.as_bytes();
    let address = bytes.as_ptr() as usize;
    if !address.is_multiple_of(dtype.align()) {
        return Err(TensorError::Misaligned { address, dtype });
    }
    if !bytes.len().is_multiple_of(dtype.size()) {
        let needed = bytes.len().next_multiple_of(dtype.size());
        let shape = vec![needed / dtype.size()];
        return Err(TensorError::ByteCount { shape, dtype, needed, found: bytes.len() });
    }
    // The union of all bytes is a vector loop; a search for the culprit, byte by byte, is for the error alone.
    if dtype == DType::Bool
        && bytes.iter().fold(0, |all, b| all | b) > 1
        && let Some(index) = bytes.iter().position(|&b| b > 1)
    {
        return Err(TensorError::NotBool { index, value: bytes[index] });
    }
    Ok(())
}
