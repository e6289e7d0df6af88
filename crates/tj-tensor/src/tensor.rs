//! The tensor: shared values, and how they are found.
//!
//! A tensor is *strided* or *stored by levels* ([`Stored`]). Of a strided one, element `i` (one coordinate a dimension)
//! lies at `offset + sum(i[d] * stride[d])` of the value buffer. Three invariants hold for every strided tensor, so that
//! readers need no check of their own:
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

use crate::element::private::Raw;
use crate::shape::{Axis, List, check_extent, checked_count, row_major_axes};
use crate::{Buffer, DType, Element, Format, Scalar, Stored, TensorError, with_dtype};

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
    pub(crate) fill: Option<Scalar>,
    pub(crate) storage: Storage,
}

/// How the elements are found.
#[derive(Clone)]
pub(crate) enum Storage {
    /// By a distance a dimension.
    Strided(Strided),
    /// By levels, which need not store every element.
    Levels(Arc<Stored>),
}

/// Evenly spaced elements of a buffer.
#[derive(Clone)]
pub(crate) struct Strided {
    /// In elements; negative for a flip, zero for a broadcast.
    pub strides: List<isize>,
    /// Where the element with all coordinates 0 is.
    pub offset: usize,
    pub values: Arc<Buffer>,
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
            with_dtype!(value.dtype(), T => {
                let value = T::from_scalar(value).expect("the type is the scalar's own");
                tensor.new_values::<T>().fill(value.store());
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
        for (i, x) in tensor.new_values::<i64>().iter_mut().enumerate() {
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

    /// The same elements with a declared fill value, which must have the tensor's dtype; `None` removes it. A tensor that
    /// is stored by levels with another fill becomes a strided one.
    pub fn with_fill(mut self, fill: Option<Scalar>) -> Result<Tensor, TensorError> {
        if let Some(fill) = fill
            && fill.dtype() != self.dtype
        {
            return Err(TensorError::DType { expected: self.dtype, found: fill.dtype() });
        }
        if self.stored().is_some() && fill != self.fill {
            self = self.to_dense()?;
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

    /// The levels with their data, for a tensor that is stored by levels; `None` for a strided one.
    pub fn stored(&self) -> Option<&Arc<Stored>> {
        match &self.storage {
            Storage::Strided(_) => None,
            Storage::Levels(stored) => Some(stored),
        }
    }

    /// The declared fill value.
    pub fn fill(&self) -> Option<Scalar> {
        self.fill
    }

    /// How the tensor is stored: its levels without their data. Of a strided tensor the dimensions are listed by their
    /// strides, longest first.
    pub fn format(&self) -> Format {
        match &self.storage {
            Storage::Strided(strided) => {
                let mut order: Vec<usize> = (0..self.rank()).collect();
                order.sort_by_key(|&d| std::cmp::Reverse(strided.strides[d].unsigned_abs()));
                Format::dense_in_order(&order)
            }
            Storage::Levels(stored) => stored.format().clone(),
        }
    }

    /// The distance in elements between neighbours along each dimension; `None` for a tensor that is stored by levels.
    pub fn strides(&self) -> Option<&[isize]> {
        self.strided().map(|strided| &strided.strides[..])
    }

    /// Where the element with all coordinates 0 lies in the storage, in elements; `None` for a tensor that is stored by
    /// levels.
    pub fn offset(&self) -> Option<usize> {
        self.strided().map(|strided| strided.offset)
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
    /// matter, and a strided tensor without elements is contiguous. A tensor that is stored by levels is not.
    pub fn is_contiguous(&self) -> bool {
        let Some(strided) = self.strided() else { return false };
        let mut expected = 1i128;
        self.is_empty()
            || self.shape.iter().zip(&strided.strides).rev().all(|(&extent, &stride)| {
                let fits = extent == 1 || stride as i128 == expected;
                expected = expected.saturating_mul(extent as i128);
                fits
            })
    }

    /// The address of the element with all coordinates 0. With no elements, an address that must not be read; null for a
    /// tensor that is stored by levels.
    pub fn data_ptr(&self) -> *const u8 {
        self.strided().map_or(std::ptr::null(), |strided| {
            strided.values.as_bytes().as_ptr().wrapping_add(strided.offset * self.dtype.size())
        })
    }

    /// The bytes of the storage that the elements of a strided tensor span; empty if there are none.
    pub fn byte_range(&self) -> Range<usize> {
        let size = self.dtype.size();
        let Some(strided) = self.strided() else { return 0..0 };
        let offset = strided.offset;
        if self.is_empty() {
            return offset * size..offset * size;
        }
        let (mut low, mut high) = (offset, offset);
        for axis in strided.axes(&self.shape) {
            let reach = (axis.extent - 1) * axis.stride.unsigned_abs();
            if axis.stride < 0 {
                low -= reach;
            } else {
                high += reach;
            }
        }
        low * size..(high + 1) * size
    }

    /// Whether two tensors look into the same memory.
    pub fn shares_storage_with(&self, other: &Tensor) -> bool {
        match (&self.storage, &other.storage) {
            (Storage::Strided(a), Storage::Strided(b)) => Arc::ptr_eq(&a.values, &b.values),
            (Storage::Levels(a), Storage::Levels(b)) => Arc::ptr_eq(a, b),
            (Storage::Strided(_), Storage::Levels(_)) | (Storage::Levels(_), Storage::Strided(_)) => false,
        }
    }

    /// Whether the tensor is row-major over the whole of a buffer that no other tensor shares. Then
    /// [`Tensor::try_into_buffer`] gives exactly its elements.
    pub fn owns_buffer(&self) -> bool {
        self.strided().is_some_and(|strided| {
            let whole = self.as_bytes().is_some_and(|bytes| bytes.len() == strided.values.len());
            whole && Arc::strong_count(&strided.values) == 1
        })
    }

    /// The buffer of a strided tensor, if no other tensor shares it; else the tensor back. The whole buffer is returned,
    /// whatever part of it the tensor sees.
    #[expect(clippy::result_large_err, reason = "the tensor is what comes back; a box would allocate")]
    pub fn try_into_buffer(self) -> Result<Buffer, Tensor> {
        let Tensor { dtype, shape, fill, storage } = self;
        let storage = match storage {
            Storage::Strided(Strided { strides, offset, values }) => match Arc::try_unwrap(values) {
                Ok(buffer) => return Ok(buffer),
                Err(values) => Storage::Strided(Strided { strides, offset, values }),
            },
            Storage::Levels(stored) => Storage::Levels(stored),
        };
        Err(Tensor { dtype, shape, fill, storage })
    }

    /// Row-major over the whole of a buffer that the caller has checked.
    pub(crate) fn row_major(dtype: DType, shape: &[usize], buffer: Buffer) -> Tensor {
        Tensor::from_axes(dtype, &row_major_axes(shape), 0, Arc::new(buffer))
    }

    /// Over a buffer that the caller has checked.
    pub(crate) fn from_axes(dtype: DType, axes: &[Axis], offset: usize, values: Arc<Buffer>) -> Tensor {
        let strides = axes.iter().map(|axis| axis.stride).collect();
        Tensor {
            dtype,
            shape: axes.iter().map(|axis| axis.extent).collect(),
            fill: None,
            storage: Storage::Strided(Strided { strides, offset, values }),
        }
    }

    /// The strided storage, if that is how the tensor is stored.
    pub(crate) fn strided(&self) -> Option<&Strided> {
        match &self.storage {
            Storage::Strided(strided) => Some(strided),
            Storage::Levels(_) => None,
        }
    }

    /// The elements of a tensor that was just made.
    pub(crate) fn new_values<T: Element>(&mut self) -> &mut [T::Stored] {
        bytemuck::cast_slice_mut(self.new_bytes())
    }

    /// Their bytes.
    pub(crate) fn new_bytes(&mut self) -> &mut [u8] {
        match &mut self.storage {
            Storage::Strided(strided) => Arc::get_mut(&mut strided.values).map(Buffer::as_bytes_mut),
            Storage::Levels(_) => None,
        }
        .expect("a new tensor has one owner and is strided")
    }
}

impl Strided {
    /// The dimensions with their extents.
    pub fn axes(&self, shape: &[usize]) -> List<Axis> {
        shape.iter().zip(&self.strides).map(|(&extent, &stride)| Axis { extent, stride }).collect()
    }

    /// The element at a position of the buffer.
    pub fn scalar_at(&self, dtype: DType, position: usize) -> Scalar {
        with_dtype!(dtype, T => T::load(self.values.stored::<T>()[position]).into_scalar())
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
