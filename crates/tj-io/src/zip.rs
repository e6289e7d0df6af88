//! As much of the ZIP format as `.npz` needs: stored and deflated entries, ZIP64, checksums.
//!
//! Reading goes by the directory at the end of the file, whose numbers are the authoritative ones; the header in
//! front of an entry only says where its data start. (NumPy fills that header with ZIP64 placeholders.) Nothing is
//! allocated on a number's word: the directory is bounded by the file, its entries are counted as they are met, and an
//! entry that claims to be larger than deflate can make it is refused.

use std::io::{self, Read, SeekFrom};

use crc32fast::Hasher;
use flate2::read::DeflateDecoder;
use tj_tensor::TensorError;

use crate::IoError;
use crate::error::Place;
use crate::file::ReadSeek;

mod write;

pub(crate) use write::{Method, Writer};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// A number of 32 bits that says: look into the ZIP64 field.
const ELSEWHERE: u32 = u32::MAX;
/// Deflate makes at most 258 bytes of 2 bits.
const MAX_EXPANSION: u64 = 1032;

/// An entry of the directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub name: String,
    pub size: u64,
    method: u16,
    flags: u16,
    crc: u32,
    packed: u64,
    offset: u64,
}

/// Little-endian numbers off the front of a slice; `None` when it is too short.
struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from(self.u32()?) | u64::from(self.u32()?) << 32)
    }
}

/// Reads the directory of an archive of `len` bytes.
pub(crate) fn directory(place: &Place, file: &mut dyn ReadSeek, len: u64) -> Result<Vec<Entry>, IoError> {
    let error = |expected: &str, found: String| IoError::Archive {
        place: place.clone(),
        what: "directory",
        expected: expected.to_owned(),
        found,
    };
    // The end record is followed by at most 64 KiB of comment.
    let tail_len = len.min(22 + 0xffff);
    let tail_start = len - tail_len;
    let tail = bytes_at(place, file, tail_start, tail_len, len)?;
    let at = (0..tail.len().saturating_sub(21)).rev().find(|&at| {
        let comment = u16::from_le_bytes([tail[at + 20], tail[at + 21]]);
        tail[at..].starts_with(&END.to_le_bytes()) && at + 22 + comment as usize == tail.len()
    });
    let Some(at) = at else {
        return Err(error("an end record", format!("none in the last {tail_len} bytes")));
    };
    let end = tail_start + at as u64;
    let mut record = Numbers(&tail[at + 10..]);
    let short = || error("a whole record", "the end of the file".to_owned());
    let mut count = u64::from(record.u16().ok_or_else(short)?);
    let mut size = u64::from(record.u32().ok_or_else(short)?);
    let mut start = u64::from(record.u32().ok_or_else(short)?);

    if let Some(locator) = end.checked_sub(20) {
        let locator = bytes_at(place, file, locator, 20, len)?;
        let mut locator = Numbers(&locator);
        if locator.u32() == Some(LOCATOR_64) {
            locator.u32();
            let at = locator.u64().ok_or_else(short)?;
            let record = bytes_at(place, file, at, 56, len)?;
            let mut record = Numbers(&record);
            let signature = record.u32().ok_or_else(short)?;
            if signature != END_64 {
                return Err(error("a ZIP64 end record", format!("{signature:#010x}")));
            }
            record.take(28);
            count = record.u64().ok_or_else(short)?;
            size = record.u64().ok_or_else(short)?;
            start = record.u64().ok_or_else(short)?;
        }
    }

    let bytes = bytes_at(place, file, start, size, end)?;
    let mut numbers = Numbers(&bytes);
    let mut entries = Vec::new();
    while !numbers.0.is_empty() {
        entries.push(entry(&mut numbers).ok_or_else(|| {
            error("a whole entry", format!("a damaged one after {} entries", entries.len()))
        })?);
    }
    if entries.len() as u64 != count {
        return Err(error(&format!("{count} entries"), entries.len().to_string()));
    }
    Ok(entries)
}

/// One entry of the directory.
fn entry(numbers: &mut Numbers<'_>) -> Option<Entry> {
    if numbers.u32()? != CENTRAL {
        return None;
    }
    numbers.take(4)?;
    let (flags, method) = (numbers.u16()?, numbers.u16()?);
    numbers.take(4)?;
    let crc = numbers.u32()?;
    let (packed, size) = (numbers.u32()?, numbers.u32()?);
    let (n_name, n_extra, n_comment) = (numbers.u16()?, numbers.u16()?, numbers.u16()?);
    numbers.take(8)?;
    let offset = numbers.u32()?;
    let name = String::from_utf8_lossy(numbers.take(n_name.into())?).into_owned();
    let mut extra = Numbers(numbers.take(n_extra.into())?);
    numbers.take(n_comment.into())?;

    let mut wide = Numbers(&[]);
    while let (Some(id), Some(n)) = (extra.u16(), extra.u16()) {
        let field = extra.take(n.into())?;
        if id == 1 {
            wide = Numbers(field);
        }
    }
    // The field holds those of the three that did not fit, in this order.
    let mut widen = |x: u32| if x == ELSEWHERE { wide.u64() } else { Some(x.into()) };
    let (size, packed, offset) = (widen(size)?, widen(packed)?, widen(offset)?);
    Some(Entry { name, size, method, flags, crc, packed, offset })
}

/// Reads an entry: `read` gets its bytes and their number. A wrong checksum is reported rather than the errors it
/// may have caused.
pub(crate) fn read_entry<T>(
    place: &Place,
    file: &mut dyn ReadSeek,
    len: u64,
    entry: &Entry,
    read: impl FnOnce(&mut dyn Read) -> Result<T, IoError>,
) -> Result<T, IoError> {
    let mut reader = Checked { inner: unpacked(place, file, len, entry)?, hasher: Hasher::new() };
    let result = read(&mut reader);
    let rest = io::copy(&mut reader, &mut io::sink()).map_err(place.system("read"));
    let found = reader.hasher.finalize();
    if rest.is_ok() && found != entry.crc {
        return Err(IoError::Checksum { place: place.clone(), expected: entry.crc, found });
    }
    let value = result?;
    rest.map(|_| value)
}

/// The bytes of an entry, unpacked and unchecked, at most one more than it claims to have.
pub(crate) fn unpacked<'a>(
    place: &Place,
    file: &'a mut dyn ReadSeek,
    len: u64,
    entry: &Entry,
) -> Result<Box<dyn Read + 'a>, IoError> {
    let error = |what, expected: &str, found: String| IoError::Archive {
        place: place.clone(),
        what,
        expected: expected.to_owned(),
        found,
    };
    if entry.flags & 1 != 0 {
        return Err(error("flags", "no encryption", format!("{:#06x}", entry.flags)));
    }
    let local = bytes_at(place, file, entry.offset, 30, len)?;
    let mut numbers = Numbers(&local);
    let signature = numbers.u32();
    if signature != Some(LOCAL) {
        return Err(error("entry", "a header", format!("{:#010x}", signature.unwrap_or(0))));
    }
    numbers.take(22);
    let skip = [numbers.u16(), numbers.u16()].iter().flatten().map(|&n| u64::from(n)).sum::<u64>();
    let start = entry.offset + 30 + skip;
    if start.checked_add(entry.packed).is_none_or(|end| end > len) {
        return Err(error(
            "entry",
            &format!("{} bytes at {start}", entry.packed),
            format!("a file of {len}"),
        ));
    }
    let possible = match entry.method {
        0 => entry.packed,
        8 => entry.packed.saturating_mul(MAX_EXPANSION),
        other => return Err(error("compression", "stored (0) or deflate (8)", other.to_string())),
    };
    if entry.size > possible {
        return Err(error("size", &format!("at most {possible} bytes"), entry.size.to_string()));
    }
    file.seek(SeekFrom::Start(start)).map_err(place.system("read"))?;
    let packed = file.take(entry.packed);
    Ok(match entry.method {
        0 => Box::new(packed),
        _ => Box::new(DeflateDecoder::new(packed).take(entry.size.saturating_add(1))),
    })
}

/// Some bytes of the file, whose place was read from it and may be anywhere.
fn bytes_at(
    place: &Place,
    file: &mut dyn ReadSeek,
    start: u64,
    n: u64,
    bound: u64,
) -> Result<Vec<u8>, IoError> {
    if start.checked_add(n).is_none_or(|end| end > bound) {
        let (expected, found) = (format!("{n} bytes at {start}"), format!("an end at {bound}"));
        return Err(IoError::Archive { place: place.clone(), what: "directory", expected, found });
    }
    let mut bytes = Vec::new();
    let out_of_memory = |_| TensorError::OutOfMemory { bytes: n as usize };
    bytes.try_reserve_exact(n as usize).map_err(out_of_memory).map_err(place.tensor())?;
    bytes.resize(n as usize, 0);
    file.seek(SeekFrom::Start(start))
        .and_then(|_| file.read_exact(&mut bytes))
        .map_err(place.system("read"))?;
    Ok(bytes)
}

/// A reader that sums what passes.
struct Checked<R> {
    inner: R,
    hasher: Hasher,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(bytes)?;
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }
}
