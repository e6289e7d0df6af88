//! Memory for the interpreter and for tests: views of bytes, and owned buffers to take views of.
//!
//! Elements are handled as bits, zero-extended to `u64`, as everywhere in this crate. A view borrows whatever holds
//! the bytes (a tensor, an arena, a test's vector), so that nothing is copied to interpret a kernel.

use std::fmt;

use tj_tensor::{DType, Scalar};

use crate::ir::Buf;

/// What one buffer of a kernel refers to during a call.
#[derive(Debug)]
pub struct Memory<'a> {
    dtype: DType,
    bytes: Bytes<'a>,
}

#[derive(Debug)]
enum Bytes<'a> {
    Shared(&'a [u8]),
    Unique(&'a mut [u8]),
    /// Those of another buffer of the call.
    Of(Buf),
}

impl<'a> Memory<'a> {
    /// Memory for a buffer that is only read.
    pub fn read(dtype: DType, bytes: &'a [u8]) -> Memory<'a> {
        Memory { dtype, bytes: Bytes::Shared(bytes) }
    }

    /// Memory for any buffer.
    pub fn write(dtype: DType, bytes: &'a mut [u8]) -> Memory<'a> {
        Memory { dtype, bytes: Bytes::Unique(bytes) }
    }

    /// The memory of a written buffer of the same call, for one that is declared [`Access::InPlace`].
    ///
    /// [`Access::InPlace`]: crate::ir::Access::InPlace
    pub fn in_place(dtype: DType, written: Buf) -> Memory<'a> {
        Memory { dtype, bytes: Bytes::Of(written) }
    }

    /// The buffer whose memory this is, if it is in place.
    pub(crate) fn holder(&self) -> Option<Buf> {
        match self.bytes {
            Bytes::Of(buffer) => Some(buffer),
            Bytes::Shared(_) | Bytes::Unique(_) => None,
        }
    }

    /// Type of an element.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of whole elements; none if they are those of another buffer.
    pub fn len(&self) -> usize {
        self.bytes().len() / self.dtype.size()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether elements may be changed.
    pub fn is_writable(&self) -> bool {
        matches!(self.bytes, Bytes::Unique(_))
    }

    /// Bits of an element, if it exists.
    pub fn get(&self, index: usize) -> Option<u64> {
        get(self.bytes(), self.dtype.size(), index)
    }

    /// Changes an element; `false` if it does not exist or may not be changed.
    pub fn set(&mut self, index: usize, bits: u64) -> bool {
        match &mut self.bytes {
            Bytes::Shared(_) | Bytes::Of(_) => false,
            Bytes::Unique(bytes) => set(bytes, self.dtype.size(), index, bits),
        }
    }

    /// All bytes, if they may be changed.
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.bytes {
            Bytes::Unique(bytes) => Some(bytes),
            Bytes::Shared(_) | Bytes::Of(_) => None,
        }
    }

    /// All bytes; none if they are those of another buffer.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Shared(bytes) => bytes,
            Bytes::Unique(bytes) => bytes,
            Bytes::Of(_) => &[],
        }
    }
}

fn get(bytes: &[u8], size: usize, index: usize) -> Option<u64> {
    let at = index.checked_mul(size)?;
    let element = bytes.get(at..)?.get(..size)?;
    Some(match *element {
        [a] => a as u64,
        [a, b] => u16::from_ne_bytes([a, b]) as u64,
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]) as u64,
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    })
}

fn set(bytes: &mut [u8], size: usize, index: usize, bits: u64) -> bool {
    let element = index.checked_mul(size).and_then(|at| bytes.get_mut(at..)?.get_mut(..size));
    match element {
        Some([a]) => *a = bits as u8,
        Some(e @ [_, _]) => e.copy_from_slice(&(bits as u16).to_ne_bytes()),
        Some(e @ [_, _, _, _]) => e.copy_from_slice(&(bits as u32).to_ne_bytes()),
        Some(e @ [_, _, _, _, _, _, _, _]) => e.copy_from_slice(&bits.to_ne_bytes()),
        Some(_) | None => return false,
    }
    true
}

/// An owned buffer, aligned for every element type a kernel has.
///
/// ```
/// use tj_kernel::BufferContents;
/// let mut x = BufferContents::of(&[1.5f32, -2.0]);
/// x.set(1, 3.0f32.to_bits() as u64);
/// assert_eq!(x.to_string(), "[1.5f32, 3.0f32]");
/// assert_eq!(x.bytes().len(), 8);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct BufferContents {
    dtype: DType,
    len: usize,
    /// Eight bytes each, which is the strictest alignment of a kernel type.
    words: Vec<u64>,
}

impl BufferContents {
    /// `len` elements whose bits are 0.
    pub fn zeroed(dtype: DType, len: usize) -> BufferContents {
        BufferContents { dtype, len, words: vec![0; (len * dtype.size()).div_ceil(8)] }
    }

    /// One element for each number of `bits`.
    pub fn from_bits(dtype: DType, bits: &[u64]) -> BufferContents {
        let mut contents = BufferContents::zeroed(dtype, bits.len());
        for (index, &bits) in bits.iter().enumerate() {
            contents.set(index, bits);
        }
        contents
    }

    /// The elements of a slice.
    pub fn of<T: tj_tensor::Element>(elements: &[T]) -> BufferContents {
        let bits: Vec<u64> = elements.iter().map(|e| e.into_scalar().bits() as u64).collect();
        BufferContents::from_bits(T::DTYPE, &bits)
    }

    /// Type of an element.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All bytes of the elements.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len * self.dtype.size()]
    }

    /// All bytes of the elements, to change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len * self.dtype.size()]
    }

    /// A view for a call.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory::write(self.dtype, self.bytes_mut())
    }

    /// Bits of an element, which must exist.
    pub fn get(&self, index: usize) -> u64 {
        get(self.bytes(), self.dtype.size(), index).expect("the index is below the length")
    }

    /// Changes an element, which must exist.
    pub fn set(&mut self, index: usize, bits: u64) {
        let size = self.dtype.size();
        assert!(set(self.bytes_mut(), size, index, bits), "element {index} does not exist");
    }

    /// The elements as scalars.
    pub fn scalars(&self) -> impl ExactSizeIterator<Item = Scalar> {
        (0..self.len).map(|i| Scalar::from_bits(self.dtype, self.get(i) as u128))
    }

    /// Whether all elements have the same bits, or are both NaN: what the language promises of two runs.
    pub fn same(&self, other: &BufferContents) -> bool {
        let equal = |(a, b): (Scalar, Scalar)| a == b || (a.to_f64().is_nan() && b.to_f64().is_nan());
        self.dtype == other.dtype && self.len == other.len && self.scalars().zip(other.scalars()).all(equal)
    }
}

impl fmt::Display for BufferContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.scalars()).finish()
    }
}

impl fmt::Debug for BufferContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
