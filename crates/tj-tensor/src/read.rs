//! Reading elements, copying and comparing.

use smallvec::SmallVec;

use crate::shape::{checked_count, row_major_axes};
use crate::stored::stored_eq;
use crate::tensor::{Storage, Strided};
use crate::walk::{Positions, copy_strided, for_each_run, strided as run};
use crate::{Buffer, DType, Element, Scalar, Tensor, TensorError, with_dtype};

impl Tensor {
    /// The element of a tensor that has exactly one.
    pub fn item<T: Element>(&self) -> Result<T, TensorError> {
        self.expect_dtype(T::DTYPE)?;
        if self.shape.iter().any(|&extent| extent != 1) {
            return Err(TensorError::NotOneElement { shape: self.shape.to_vec() });
        }
        let value = self.get(&SmallVec::<[usize; 4]>::from_elem(0, self.rank()))?;
        Ok(T::from_scalar(value).expect("the dtype was compared"))
    }

    /// The element at given coordinates.
    pub fn get(&self, indices: &[usize]) -> Result<Scalar, TensorError> {
        let rank = self.rank();
        if indices.len() != rank {
            return Err(TensorError::IndexCount { found: indices.len(), rank });
        }
        for (axis, (&index, &extent)) in indices.iter().zip(&self.shape).enumerate() {
            if index >= extent {
                return Err(TensorError::Index { index: index.try_into().unwrap_or(i64::MAX), axis, extent });
            }
        }
        match &self.storage {
            Storage::Strided(strided) => {
                let step = |p: usize, (&i, &stride): (&usize, &isize)| {
                    p.wrapping_add_signed(stride.wrapping_mul(i as isize))
                };
                let position = indices.iter().zip(&strided.strides).fold(strided.offset, step);
                Ok(strided.scalar_at(self.dtype, position))
            }
            Storage::Levels(stored) => Ok(stored.get(indices)),
        }
    }

    /// A copy of the elements in row-major order.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, TensorError> {
        self.expect_dtype(T::DTYPE)?;
        let Some(strided) = self.strided() else { return self.to_dense()?.to_vec() };
        let count = self.count()?;
        let mut values = Vec::new();
        let bytes = count * T::DTYPE.size();
        values.try_reserve_exact(count).map_err(|_| TensorError::OutOfMemory { bytes })?;
        let stored = strided.values.stored::<T>();
        for_each_run(&strided.axes(&self.shape), strided.offset, |start, len, stride| match stride {
            1 => values.extend(stored[start..start + len].iter().map(|&x| T::load(x))),
            _ => values.extend(run(start, len, stride).map(|p| T::load(stored[p]))),
        });
        Ok(values)
    }

    /// The elements in place, if they have the type and are contiguous. Constant time, except for bool, whose bytes
    /// are checked once more.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if T::DTYPE != self.dtype {
            return None;
        }
        bytemuck::checked::try_cast_slice(self.as_bytes()?).ok()
    }

    /// The bytes of the elements in place, if they are contiguous.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        let strided = self.strided().filter(|_| self.is_contiguous())?;
        let (start, count) = (strided.offset, self.count().ok()?);
        let size = self.dtype.size();
        strided.values.as_bytes().get(start * size..(start + count) * size)
    }

    /// The same elements in row-major order: a view if they are so already, else a copy.
    pub fn to_contiguous(&self) -> Result<Tensor, TensorError> {
        let Some(strided) = self.strided() else { return self.to_dense() };
        let mut tensor = if self.is_contiguous() {
            self.count()?;
            let axes = row_major_axes(&self.shape);
            Tensor::from_axes(self.dtype, &axes, strided.offset, strided.values.clone())
        } else {
            let buffer = with_dtype!(self.dtype, T => convert::<T, T>(strided, &self.shape)?);
            Tensor::row_major(self.dtype, &self.shape, buffer)
        };
        tensor.fill = self.fill;
        Ok(tensor)
    }

    /// The elements (and the fill) in another type; see [`Element::cast_to`]. A copy, unless the type is the same.
    pub fn cast(&self, dtype: DType) -> Result<Tensor, TensorError> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        let fill = self.fill.map(|fill| fill.cast(dtype));
        match &self.storage {
            Storage::Strided(strided) => {
                let buffer = with_dtype!(self.dtype, T => with_dtype!(dtype, U => convert::<T, U>(strided, &self.shape)?));
                Tensor::row_major(dtype, &self.shape, buffer).with_fill(fill)
            }
            Storage::Levels(stored) => self.with_stored(stored.cast(dtype)?, fill),
        }
    }

    /// Whether two tensors have the same dtype, shape and elements bit for bit, except that any NaN equals any NaN.
    /// Fill and storage do not matter.
    pub fn bit_eq(&self, other: &Tensor) -> bool {
        if self.dtype != other.dtype || self.shape != other.shape {
            return false;
        }
        if let (Some(left), Some(right)) = (self.as_bytes(), other.as_bytes())
            && left == right
        {
            return true;
        }
        let (Some(left), Some(right)) = (self.strided(), other.strided()) else {
            return stored_eq(self, other);
        };
        // Where both repeat, one look is enough; otherwise a broadcast of nothing much could take forever.
        let (mut a, mut b) = (left.axes(&self.shape), right.axes(&self.shape));
        for (x, y) in a.iter_mut().zip(b.iter_mut()) {
            if x.extent > 1 && x.stride == 0 && y.stride == 0 {
                (x.extent, y.extent) = (1, 1);
            }
        }
        let size = self.dtype.size();
        let bytes = (left.values.as_bytes(), right.values.as_bytes());
        Positions::new(a, left.offset).zip(Positions::new(b, right.offset)).all(|(p, q)| {
            bytes.0[p * size..][..size] == bytes.1[q * size..][..size]
                || same_number(left.scalar_at(self.dtype, p), right.scalar_at(self.dtype, q))
        })
    }

    pub(crate) fn expect_dtype(&self, expected: DType) -> Result<(), TensorError> {
        if expected == self.dtype { Ok(()) } else { Err(TensorError::DType { expected, found: self.dtype }) }
    }
}

/// A row-major copy, element by element through a cast, which is nothing when the types are the same.
fn convert<T: Element, U: Element>(strided: &Strided, shape: &[usize]) -> Result<Buffer, TensorError> {
    let count = checked_count(shape, U::DTYPE)?;
    let mut buffer = Buffer::zeroed(count * U::DTYPE.size())?;
    let (from, to) = (strided.values.stored::<T>(), buffer.stored_mut::<U>());
    copy_strided(&strided.axes(shape), strided.offset, from, to, cast_stored::<T, U>);
    Ok(buffer)
}

/// The cast of one stored element.
#[inline]
pub(crate) fn cast_stored<T: Element, U: Element>(x: T::Stored) -> U::Stored {
    if T::DTYPE == U::DTYPE {
        // The types are equal, and a cast through the wide form could change the payload of a NaN.
        return bytemuck::cast(x);
    }
    T::load(x).cast_to::<U>().store()
}

/// Bits that differ are the same number only if both are NaN.
pub(crate) fn same_number(a: Scalar, b: Scalar) -> bool {
    let part = |x: f64, y: f64, bits_equal: bool| bits_equal || (x.is_nan() && y.is_nan());
    match (a, b) {
        (Scalar::C64(a), Scalar::C64(b)) => {
            part(a.re.into(), b.re.into(), a.re.to_bits() == b.re.to_bits())
                && part(a.im.into(), b.im.into(), a.im.to_bits() == b.im.to_bits())
        }
        (Scalar::C128(a), Scalar::C128(b)) => {
            part(a.re, b.re, a.re.to_bits() == b.re.to_bits())
                && part(a.im, b.im, a.im.to_bits() == b.im.to_bits())
        }
        _ => part(a.to_f64(), b.to_f64(), a == b),
    }
}
