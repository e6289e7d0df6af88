//! Bytes that tensors share.
//!
//! A buffer is either ours or adopted. Ours start on a 64-byte boundary (a cache line, and the widest vector) and
//! come zeroed; the allocation is fallible. Alignment costs no unsafe code: 63 bytes too many are asked for and
//! the first aligned one is where the buffer starts. Asking for zeroed bytes rather than for aligned ones is on
//! purpose: the system's allocator hands out large zeroed blocks without touching them, while an over-aligned zeroed
//! block is written once before anyone uses it.
//!
//! On Linux, large ones are mappings for which huge pages are asked. The first touch of a page costs a microsecond or more,
//! and a huge page is 512 of them: 100 MB of new memory were first written in 15 ms instead of 100. Small buffers are left
//! to the allocator, which gives the same pages again and again.
//!
//! Adopted buffers keep the user's `Vec<T>` as it is, with whatever alignment `T` has.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::element::private::Raw;
use crate::{DType, Element, TensorError};

/// Owned bytes; see the module.
///
/// ```
/// use tj_tensor::Buffer;
/// let mut buffer = Buffer::zeroed(24)?;
/// buffer.as_bytes_mut()[0] = 1;
/// assert_eq!(buffer.as_bytes().as_ptr() as usize % 64, 0);
///
/// let adopted = Buffer::from_vec(vec![1.5f64, 2.5]);
/// assert_eq!(adopted.len(), 16);
/// # Ok::<(), tj_tensor::TensorError>(())
/// ```
pub struct Buffer {
    storage: Storage,
    /// Whether all elements are finite, and of which type they were read: see [`known_finite`](Buffer::known_finite).
    finite: AtomicU8,
}

enum Storage {
    Aligned {
        bytes: Vec<u8>,
        start: usize,
        len: usize,
    },
    #[cfg(target_os = "linux")]
    Mapped {
        pages: memmap2::MmapMut,
        len: usize,
    },
    Adopted(Box<dyn Adopted>),
}

/// From this many bytes on, memory is mapped: two huge pages, so that one of them is whole wherever the mapping lies.
#[cfg(target_os = "linux")]
const MAPPED: usize = 4 << 20;

/// A vector of some plain type, seen as bytes.
trait Adopted: Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl<P: bytemuck::Pod + Send + Sync> Adopted for Vec<P> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}

impl Buffer {
    /// The boundary on which buffers allocated here start.
    pub const ALIGN: usize = 64;

    /// Allocates `len` zero bytes.
    pub fn zeroed(len: usize) -> Result<Buffer, TensorError> {
        let out_of_memory = TensorError::OutOfMemory { bytes: len };
        #[cfg(target_os = "linux")]
        if len >= MAPPED {
            let pages = memmap2::MmapMut::map_anon(len).map_err(|_| out_of_memory)?;
            // A kernel that has no huge pages gives small ones.
            let _ = pages.advise(memmap2::Advice::HugePage);
            return Ok(Buffer::of(Storage::Mapped { pages, len }));
        }
        let padded = len.checked_add(Self::ALIGN - 1).ok_or(out_of_memory.clone())?;
        let bytes: Vec<u8> = bytemuck::allocation::try_zeroed_vec(padded).map_err(|()| out_of_memory)?;
        let start = bytes.as_ptr().align_offset(Self::ALIGN);
        Ok(Buffer::of(Storage::Aligned { bytes, start, len }))
    }

    fn of(storage: Storage) -> Buffer {
        Buffer { storage, finite: AtomicU8::new(0) }
    }

    /// Whether all elements of this type are finite, if that was looked up. Bytes that several own do not change, and who may write
    /// them forgets it.
    pub(crate) fn known_finite(&self, dtype: DType) -> Option<bool> {
        let known = self.finite.load(Ordering::Relaxed);
        (known >> 1 == word(dtype)).then_some(known & 1 == 1)
    }

    /// Remembers that.
    pub(crate) fn remember_finite(&self, dtype: DType, is_finite: bool) {
        self.finite.store(word(dtype) << 1 | u8::from(is_finite), Ordering::Relaxed);
    }

    /// Takes a vector's memory without copying it.
    pub fn from_vec<T: Element>(values: Vec<T>) -> Buffer {
        let stored: Vec<T::Stored> = bytemuck::allocation::cast_vec(values);
        Buffer::of(Storage::Adopted(Box::new(stored)))
    }

    /// Allocates a copy of some bytes.
    pub fn copy_of(bytes: &[u8]) -> Result<Buffer, TensorError> {
        let mut buffer = Buffer::zeroed(bytes.len())?;
        buffer.as_bytes_mut().copy_from_slice(bytes);
        Ok(buffer)
    }

    /// The first bytes, in place unless much would be wasted.
    pub(crate) fn shortened(mut self, new_len: usize) -> Result<Buffer, TensorError> {
        *self.finite.get_mut() = 0;
        match &mut self.storage {
            #[cfg(target_os = "linux")]
            Storage::Mapped { len, .. } if is_most_of(new_len, *len) => *len = new_len,
            Storage::Aligned { len, .. } if is_most_of(new_len, *len) => *len = new_len,
            #[cfg(target_os = "linux")]
            Storage::Mapped { .. } => return Buffer::copy_of(&self.as_bytes()[..new_len]),
            Storage::Aligned { .. } | Storage::Adopted(_) => {
                return Buffer::copy_of(&self.as_bytes()[..new_len]);
            }
        }
        Ok(self)
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.storage {
            Storage::Aligned { bytes, start, len } => &bytes[*start..*start + *len],
            #[cfg(target_os = "linux")]
            Storage::Mapped { pages, len } => &pages[..*len],
            Storage::Adopted(values) => values.bytes(),
        }
    }

    /// All bytes, to be written by their only owner.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        *self.finite.get_mut() = 0;
        match &mut self.storage {
            Storage::Aligned { bytes, start, len } => &mut bytes[*start..*start + *len],
            #[cfg(target_os = "linux")]
            Storage::Mapped { pages, len } => &mut pages[..*len],
            Storage::Adopted(values) => values.bytes_mut(),
        }
    }

    /// The stored elements, for a buffer that is known to be aligned to `T` and to hold whole elements.
    pub(crate) fn stored<T: Element>(&self) -> &[<T as Raw>::Stored] {
        bytemuck::cast_slice(self.as_bytes())
    }

    /// As [`Self::stored`], for writing.
    pub(crate) fn stored_mut<T: Element>(&mut self) -> &mut [<T as Raw>::Stored] {
        bytemuck::cast_slice_mut(self.as_bytes_mut())
    }
}

/// A type, in a byte that is not 0.
fn word(dtype: DType) -> u8 {
    dtype as u8 + 1
}

/// Whether a part of some bytes is so large that the rest is no waste.
fn is_most_of(part: usize, len: usize) -> bool {
    (len - len / 8..=len).contains(&part)
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.storage {
            Storage::Aligned { .. } => "aligned",
            #[cfg(target_os = "linux")]
            Storage::Mapped { .. } => "mapped",
            Storage::Adopted(_) => "adopted",
        };
        write!(f, "Buffer({} bytes, {name})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Tensor};

    #[test]
    fn ours_are_aligned_and_zero() {
        for len in [0, 1, 63, 64, 65, 4096, 1 << 20, (4 << 20) + 1] {
            let buffer = Buffer::zeroed(len).unwrap();
            assert_eq!(buffer.as_bytes().as_ptr() as usize % Buffer::ALIGN, 0);
            assert_eq!(buffer.len(), len);
            assert!(buffer.as_bytes().iter().all(|&b| b == 0));
        }
    }

    #[test]
    fn adopted_vectors_stay_where_they_are() {
        let values = vec![true, false];
        let address = values.as_ptr() as usize;
        let mut buffer = Buffer::from_vec(values);
        assert_eq!(buffer.as_bytes().as_ptr() as usize, address);
        buffer.as_bytes_mut()[1] = 1;
        assert_eq!(buffer.as_bytes(), [1, 1]);
    }

    #[test]
    fn what_is_written_anew_is_looked_at_anew() {
        let tensor = Tensor::from(vec![1.0, 2.0, 3.0]);
        assert!(tensor.is_finite() && tensor.is_finite());
        let mut buffer = tensor.try_into_buffer().unwrap();
        buffer.as_bytes_mut()[16..].copy_from_slice(&f64::NAN.to_le_bytes());
        let tensor = Tensor::from_buffer(DType::F64, [3], buffer).unwrap();
        assert!(!tensor.is_finite() && !tensor.is_finite());
        let part = |start, stop| tensor.slice(0, crate::SliceSpec { start, stop, step: 1 }).unwrap();
        assert!(part(None, Some(2)).is_finite() && !part(Some(1), None).is_finite());
        // The same bytes as other elements.
        let buffer = tensor.clone();
        drop(tensor);
        let buffer = buffer.try_into_buffer().unwrap();
        let low = Tensor::from_buffer(DType::I64, [3], buffer).unwrap();
        assert!(low.is_finite());
    }

    #[test]
    fn a_tensor_wants_its_alignment() {
        let mut buffer = Buffer::zeroed(24).unwrap();
        if let Storage::Aligned { start, len, .. } = &mut buffer.storage {
            (*start, *len) = (*start + 4, 16);
        }
        let address = buffer.as_bytes().as_ptr() as usize;
        let error = Tensor::from_buffer(DType::F64, [2], buffer).unwrap_err();
        assert_eq!(error, TensorError::Misaligned { address, dtype: DType::F64 });
    }

    #[test]
    fn refusal_is_an_error() {
        for bytes in [usize::MAX, isize::MAX as usize] {
            assert_eq!(Buffer::zeroed(bytes).unwrap_err(), TensorError::OutOfMemory { bytes });
        }
    }

    #[test]
    fn threads_may_share_it() {
        fn check<T: Send + Sync>() {}
        check::<Buffer>();
    }
}
