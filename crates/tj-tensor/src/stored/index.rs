//! Arrays of indices: coordinates, positions, offsets, in the narrowest type that was asked for.

use std::ops::Range;
use std::sync::Arc;

use crate::format::Width;
use crate::tensor::Storage;
use crate::{Buffer, DType, Tensor, TensorError};

/// An array of unsigned indices that tensors share.
#[derive(Clone, Debug)]
pub struct Indices {
    width: Width,
    len: usize,
    buffer: Arc<Buffer>,
}

/// Runs an expression with `$T` the unsigned type of a width.
macro_rules! with_width {
    ($width:expr, $T:ident => $body:expr) => {
        match $width {
            $crate::format::Width::U8 => {
                type $T = u8;
                $body
            }
            $crate::format::Width::U16 => {
                type $T = u16;
                $body
            }
            $crate::format::Width::U32 => {
                type $T = u32;
                $body
            }
            $crate::format::Width::U64 => {
                type $T = u64;
                $body
            }
        }
    };
}

pub(super) use with_width;

impl Indices {
    /// Whole numbers of a width that fill a buffer.
    pub(super) fn of_buffer(width: Width, len: usize, buffer: Buffer) -> Indices {
        Indices { width, len, buffer: Arc::new(buffer) }
    }

    /// Takes a vector as it is.
    pub(super) fn of_vec(values: Vec<usize>) -> Indices {
        let values: Vec<u64> = bytemuck::allocation::cast_vec(values);
        Indices::of_buffer(Width::U64, values.len(), Buffer::from_vec(values))
    }

    /// The greatest of them, 0 if there are none.
    pub(super) fn max(&self) -> usize {
        let bytes = self.as_bytes();
        with_width!(self.width, T => {
            let indices = bytemuck::cast_slice::<u8, T>(bytes);
            let max = |range: Range<usize>| indices[range].iter().fold(0, |max, &x| max.max(x));
            super::map_parts(self.len, max).into_iter().max().unwrap_or(0) as usize
        })
    }

    /// Whether none is below the one before.
    pub(super) fn is_sorted(&self) -> bool {
        let bytes = self.as_bytes();
        with_width!(self.width, T => {
            let indices = bytemuck::cast_slice::<u8, T>(bytes);
            let sorted = |range: Range<usize>| {
                let pairs = indices[range.start..].iter().zip(&indices[range.start + 1..]);
                pairs.take(range.len()).fold(true, |sorted, (a, b)| sorted & (a <= b))
            };
            !super::map_parts(self.len.saturating_sub(1), sorted).contains(&false)
        })
    }

    /// The first that is not below a bound.
    pub(super) fn first_from(&self, bound: usize) -> Option<usize> {
        if self.max() < bound {
            return None;
        }
        (0..self.len).find(|&at| self.get(at) >= bound)
    }

    /// The same as integers with a sign, in the same memory; for indices of eight bytes of which none is too great.
    pub(super) fn into_signed(self) -> Tensor {
        let axis = crate::shape::Axis { extent: self.len, stride: 1 };
        Tensor::from_axes(DType::I64, &[axis], 0, self.buffer)
    }

    /// The values in the width asked for, or in the narrowest of u32 and u64.
    ///
    /// # Errors
    /// A value that the width cannot hold.
    pub fn new(values: &[usize], width: Option<Width>) -> Result<Indices, TensorError> {
        let max = values.iter().copied().max().unwrap_or(0);
        let width = width.unwrap_or(Width::for_max(max));
        if max > width.max() {
            return Err(TensorError::IndexWidth { value: max, width });
        }
        let mut buffer = Buffer::zeroed(values.len() * width.bytes())?;
        with_width!(width, T => {
            let to: &mut [T] = bytemuck::cast_slice_mut(buffer.as_bytes_mut());
            to.iter_mut().zip(values).for_each(|(to, &value)| *to = value as T);
        });
        Ok(Indices { width, len: values.len(), buffer: Arc::new(buffer) })
    }

    /// Integers of any type, without a copy if they lie one after the other from the start of their buffer. `array` is
    /// their name in errors.
    ///
    /// # Errors
    /// A tensor that is not a vector of integers; a negative one.
    pub fn from_tensor(values: &Tensor, array: &'static str) -> Result<Indices, TensorError> {
        let dtype = values.dtype();
        if values.rank() != 1 || !dtype.is_int() {
            return Err(TensorError::IndexArray { array, dtype, shape: values.shape().to_vec() });
        }
        let values = values.to_contiguous()?;
        let len = values.shape()[0];
        if dtype.is_signed()
            && let Some(at) = first_negative(&values)
        {
            let value = values.get(&[at])?.to_i64();
            return Err(TensorError::NegativeIndex { array, at, value });
        }
        let width = match dtype.size() {
            1 => Width::U8,
            2 => Width::U16,
            4 => Width::U32,
            _ => Width::U64,
        };
        let bytes = values.as_bytes().unwrap_or(&[]);
        let buffer = match &values.storage {
            Storage::Strided(strided) if strided.offset == 0 => strided.values.clone(),
            Storage::Strided(_) | Storage::Levels(_) => Arc::new(Buffer::copy_of(bytes)?),
        };
        Ok(Indices { width, len, buffer })
    }

    /// The number of indices.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Their type.
    pub fn width(&self) -> Width {
        self.width
    }

    /// One of them.
    ///
    /// # Panics
    /// If there is no such.
    #[inline]
    pub fn get(&self, i: usize) -> usize {
        let bytes = self.as_bytes();
        with_width!(self.width, T => bytemuck::cast_slice::<u8, T>(bytes)[i] as usize)
    }

    /// All of them as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer.as_bytes()[..self.len * self.width.bytes()]
    }

    /// All of them.
    pub fn to_vec(&self) -> Vec<usize> {
        let bytes = self.as_bytes();
        with_width!(self.width, T => bytemuck::cast_slice::<u8, T>(bytes).iter().map(|&x| x as usize).collect())
    }

    /// The same as an unsigned tensor that shares the memory.
    pub fn to_tensor(&self) -> Tensor {
        let dtype = match self.width {
            Width::U8 => DType::U8,
            Width::U16 => DType::U16,
            Width::U32 => DType::U32,
            Width::U64 => DType::U64,
        };
        let axis = crate::shape::Axis { extent: self.len, stride: 1 };
        Tensor::from_axes(dtype, &[axis], 0, self.buffer.clone())
    }
}

/// The first integer below zero in a contiguous vector of integers with a sign.
fn first_negative(values: &Tensor) -> Option<usize> {
    let (bytes, size) = (values.as_bytes().unwrap_or(&[]), values.dtype().size());
    macro_rules! search {
        ($T:ty) => {{
            let values: &[$T] = bytemuck::cast_slice(bytes);
            // The union of all signs is a vector loop; the search for one of them is for the error alone.
            let negative = |range: Range<usize>| values[range].iter().fold(0, |all, x| all | x) < 0;
            let any = super::map_parts(values.len(), negative).contains(&true);
            if any { values.iter().position(|&x| x < 0) } else { None }
        }};
    }
    match size {
        1 => search!(i8),
        2 => search!(i16),
        4 => search!(i32),
        _ => search!(i64),
    }
}
