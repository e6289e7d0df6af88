//! One array as NumPy's `save` writes it.
//!
//! The reader trusts nothing: it knows how many bytes there are before it starts, and compares every length with
//! them before it allocates. Data go straight into the tensor's buffer. Column-major arrays become views with
//! permuted dimensions, and column-major tensors are written as such, so that neither direction copies.

use std::io::{Read, Write};

use tj_tensor::{Buffer, DType, Scalar, Tensor, TensorError};

use crate::IoError;
use crate::error::Place;
use crate::header::{Bytes, Header, MAGIC, Order};

/// No header is longer, whatever the file holds: an array of rank 64 needs 2 KiB.
const MAX_HEADER: u64 = 1 << 20;

/// A byte source that counts, and turns the system's errors into ours.
struct Source<'a, R> {
    place: &'a Place,
    inner: R,
    /// Bytes that follow.
    left: u64,
}

impl<R: Read> Source<'_, R> {
    /// Reads until the slice is full or the source ends; says how much there was.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, IoError> {
        let mut done = 0;
        while done < bytes.len() {
            match self.inner.read(&mut bytes[done..]) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.place.system("read")(e)),
            }
        }
        self.left = self.left.saturating_sub(done as u64);
        Ok(done)
    }
}

/// Reads the header of an array of `len` bytes in all. What is left in the reader are the data, whose length was
/// compared with the header's claim.
pub(crate) fn read_header(place: &Place, reader: &mut impl Read, len: u64) -> Result<(Header, u64), IoError> {
    let mut source = Source { place, inner: reader, left: len };
    let mut start = [0; 8];
    let found = source.fill(&mut start)?;
    if found < 8 || &start[..6] != MAGIC {
        let found = start[..found].to_vec();
        return Err(IoError::Magic { place: place.clone(), expected: ".npy", found });
    }
    let n_length = match (start[6], start[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (major, minor) => return Err(IoError::Version { place: place.clone(), major, minor }),
    };
    let mut length = [0; 4];
    source.fill(&mut length[..n_length])?;
    let claimed = u64::from(u32::from_le_bytes(length));
    let bound = source.left.min(MAX_HEADER);
    let too_long = || IoError::HeaderLength { place: place.clone(), claimed, bound };
    if claimed > bound {
        return Err(too_long());
    }
    let mut text = vec![0; claimed as usize];
    if source.fill(&mut text)? < text.len() {
        return Err(too_long());
    }
    let header = Header::parse(place, &text)?;

    let count = count(header.dtype, &header.shape).map_err(place.tensor())?;
    let (expected, found) = ((count * header.dtype.size()) as u64, source.left);
    match expected.cmp(&found) {
        std::cmp::Ordering::Equal => Ok((header, expected)),
        std::cmp::Ordering::Greater => Err(IoError::Truncated { place: place.clone(), expected, found }),
        std::cmp::Ordering::Less => Err(IoError::Trailing { place: place.clone(), expected, found }),
    }
}

/// Reads an array of `len` bytes in all, header included.
pub(crate) fn read(place: &Place, mut reader: impl Read, len: u64) -> Result<Tensor, IoError> {
    let (header, expected) = read_header(place, &mut reader, len)?;
    let mut buffer = Buffer::zeroed(expected as usize).map_err(place.tensor())?;
    let mut source = Source { place, inner: reader, left: expected };
    let found = source.fill(buffer.as_bytes_mut())? as u64;
    if found < expected {
        return Err(IoError::Truncated { place: place.clone(), expected, found });
    }
    // The length was known beforehand, but a file may grow and an entry may decompress to more.
    if source.fill(&mut [0])? > 0 {
        return Err(IoError::Trailing { place: place.clone(), expected, found: expected + 1 });
    }
    if header.bytes == Bytes::Swapped {
        swap(header.dtype, buffer.as_bytes_mut());
    }
    match header.order {
        Order::RowMajor => Tensor::from_buffer(header.dtype, &header.shape, buffer).map_err(place.tensor()),
        Order::ColumnMajor => {
            let reversed: Vec<usize> = header.shape.iter().rev().copied().collect();
            Ok(Tensor::from_buffer(header.dtype, &reversed, buffer).map_err(place.tensor())?.transpose())
        }
    }
}

/// The two parts of a written array: the header, and a tensor whose storage holds the data in order.
pub(crate) fn to_parts(place: &Place, tensor: &Tensor) -> Result<(Vec<u8>, Tensor), IoError> {
    if tensor.stored().is_some() {
        let what = format!("the format {}; use Tensor::to_dense, or a sparse .npz file", tensor.format());
        return Err(IoError::CannotHold { place: place.clone(), format: ".npy", what });
    }
    let (dtype, transposed) = (tensor.dtype(), tensor.transpose());
    let (order, data) = if !tensor.is_contiguous() && transposed.is_contiguous() {
        (Order::ColumnMajor, transposed)
    } else {
        (Order::RowMajor, tensor.to_contiguous().map_err(place.tensor())?)
    };
    let header = Header { dtype, bytes: Bytes::Native, order, shape: tensor.shape().to_vec() };
    let header = header.to_bytes().ok_or_else(|| IoError::NoSuchType { place: place.clone(), dtype })?;
    Ok((header, data))
}

/// Writes an array.
pub(crate) fn write(place: &Place, writer: &mut dyn Write, tensor: &Tensor) -> Result<(), IoError> {
    let (header, data) = to_parts(place, tensor)?;
    let data = data.as_bytes().expect("the parts of an array are contiguous");
    writer.write_all(&header).and_then(|()| writer.write_all(data)).map_err(place.system("write"))
}

/// Reads an array that is one short word, such as the name of a format, of either of NumPy's types for text. Whatever its
/// length, a kilobyte is looked at.
pub(crate) fn read_word(place: &Place, reader: impl Read) -> Result<String, IoError> {
    let mut bytes = Vec::new();
    reader.take(1024).read_to_end(&mut bytes).map_err(place.system("read"))?;
    let parts = || {
        let rest = bytes.strip_prefix(MAGIC)?;
        let ([major, _, low, high], _) = rest.split_first_chunk::<4>()?;
        let (header, word) = rest[4..].split_at_checked(usize::from(u16::from_le_bytes([*low, *high])))?;
        let is_text = header.windows(2).any(|pair| matches!(pair, b"|S" | b"<U" | b">U"));
        (*major == 1 && is_text).then_some(word)
    };
    let word = parts().ok_or_else(|| IoError::Content {
        place: place.clone(),
        what: "array",
        expected: "one word".to_owned(),
        found: format!("{} bytes that are none", bytes.len()),
    })?;
    Ok(word.iter().filter(|&&byte| byte != 0).map(|&byte| char::from(byte)).collect())
}

/// Little-endian numbers to this machine's.
pub(crate) fn from_little_endian(dtype: DType, bytes: &mut [u8]) {
    if cfg!(target_endian = "big") {
        swap(dtype, bytes);
    }
}

/// This machine's numbers as little-endian ones.
pub(crate) fn write_little_endian(dtype: DType, bytes: &[u8], to: &mut dyn Write) -> std::io::Result<()> {
    if cfg!(target_endian = "little") {
        return to.write_all(bytes);
    }
    let mut swapped = bytes.to_vec();
    swap(dtype, &mut swapped);
    to.write_all(&swapped)
}

/// The number of elements of a shape, if their bytes can be addressed.
pub(crate) fn count(dtype: DType, shape: &[usize]) -> Result<usize, TensorError> {
    Tensor::scalar(Scalar::zero(dtype)).broadcast_to(shape)?.count()
}

/// Reverses the bytes of every number; a complex element is two numbers.
fn swap(dtype: DType, bytes: &mut [u8]) {
    // Sizes known to the compiler make this a vector shuffle.
    fn swap_each<const N: usize>(bytes: &mut [u8]) {
        bytes.as_chunks_mut::<N>().0.iter_mut().for_each(|number| number.reverse());
    }
    match if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() } {
        2 => swap_each::<2>(bytes),
        4 => swap_each::<4>(bytes),
        8 => swap_each::<8>(bytes),
        _ => {}
    }
}
