//! Writing archives.
//!
//! The bytes depend on nothing but the content: every entry has the same date.

use std::io::{self, Write};

use crc32fast::Hasher;
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::{CENTRAL, ELSEWHERE, END, END_64, LOCAL, LOCATOR_64};

/// How the bytes of an entry are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Stored,
    Deflate,
}

/// Writes an archive entry by entry.
pub(crate) struct Writer<'a> {
    to: &'a mut dyn Write,
    at: u64,
    directory: Vec<u8>,
    count: u64,
    /// Numbers from here on go into ZIP64 fields; lower in tests.
    limit: u64,
}

impl<'a> Writer<'a> {
    pub fn new(to: &'a mut dyn Write) -> Writer<'a> {
        Writer { to, at: 0, directory: Vec::new(), count: 0, limit: ELSEWHERE.into() }
    }

    /// Adds an entry whose content is the parts, one after the other. Deflated content is held in memory once.
    pub fn add(&mut self, name: &str, parts: [&[u8]; 2], method: Method) -> io::Result<()> {
        let mut hasher = Hasher::new();
        parts.iter().for_each(|part| hasher.update(part));
        let crc = hasher.finalize();
        let size = parts.iter().map(|part| part.len() as u64).sum();
        let deflated = match method {
            Method::Stored => None,
            Method::Deflate => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                parts.iter().try_for_each(|part| encoder.write_all(part))?;
                Some(encoder.finish()?)
            }
        };
        let packed = deflated.as_ref().map_or(size, |bytes| bytes.len() as u64);
        let offset = self.at;

        // The header in front has room for both sizes or none; the directory for each that needs it.
        let in_front = if size.max(packed) >= self.limit { vec![size, packed] } else { vec![] };
        let wide: Vec<u64> = [size, packed, offset].into_iter().filter(|&x| x >= self.limit).collect();
        let name_len = u16::try_from(name.len()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "the name is longer than 65535 bytes")
        })?;
        let common = |wide: &[u64], sizes: [u32; 2]| {
            let version: u16 = if wide.is_empty() { 20 } else { 45 };
            let mut bytes = version.to_le_bytes().to_vec();
            // Names are UTF-8; the date is the first there is, 1980-01-01.
            let method: u16 = if method == Method::Stored { 0 } else { 8 };
            [0x0800, method, 0, 0x0021].iter().for_each(|x: &u16| bytes.extend(x.to_le_bytes()));
            [crc, sizes[0], sizes[1]].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
            bytes.extend(name_len.to_le_bytes());
            bytes.extend(extra_len(wide).to_le_bytes());
            bytes
        };
        let sizes = if in_front.is_empty() { [packed as u32, size as u32] } else { [ELSEWHERE; 2] };
        let mut local = LOCAL.to_le_bytes().to_vec();
        local.extend(common(&in_front, sizes));
        local.extend(name.as_bytes());
        extend_extra(&mut local, &in_front);
        self.write(&local)?;
        match &deflated {
            Some(bytes) => self.write(bytes)?,
            None => parts.iter().try_for_each(|part| self.write(part))?,
        }

        self.directory.extend(CENTRAL.to_le_bytes());
        // Made by version 4.5 on no system in particular.
        self.directory.extend(45u16.to_le_bytes());
        self.directory.extend(common(&wide, [self.narrow(packed), self.narrow(size)]));
        // No comment, first disk, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(self.narrow(offset).to_le_bytes());
        self.directory.extend(name.as_bytes());
        extend_extra(&mut self.directory, &wide);
        self.count += 1;
        Ok(())
    }

    /// Writes the directory.
    pub fn finish(mut self) -> io::Result<()> {
        let (start, count) = (self.at, self.count);
        let directory = std::mem::take(&mut self.directory);
        self.write(&directory)?;
        let size = directory.len() as u64;
        if start.max(size) >= self.limit || count >= 0xffff {
            let record = self.at;
            let mut bytes = END_64.to_le_bytes().to_vec();
            bytes.extend(44u64.to_le_bytes());
            [45u16; 2].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
            bytes.extend([0; 8]);
            [count, count, size, start].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
            bytes.extend(LOCATOR_64.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(record.to_le_bytes());
            bytes.extend(1u32.to_le_bytes());
            self.write(&bytes)?;
        }
        let short_count = u16::try_from(count).unwrap_or(u16::MAX);
        let mut bytes = END.to_le_bytes().to_vec();
        bytes.extend([0; 4]);
        [short_count; 2].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        [self.narrow(size), self.narrow(start)].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes.extend([0; 2]);
        self.write(&bytes)
    }

    fn narrow(&self, x: u64) -> u32 {
        if x >= self.limit { ELSEWHERE } else { x as u32 }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.to.write_all(bytes)
    }
}

/// The length of a ZIP64 field with its frame.
fn extra_len(wide: &[u64]) -> u16 {
    if wide.is_empty() { 0 } else { 4 + 8 * wide.len() as u16 }
}

fn extend_extra(bytes: &mut Vec<u8>, wide: &[u64]) {
    if !wide.is_empty() {
        bytes.extend(1u16.to_le_bytes());
        bytes.extend((8 * wide.len() as u16).to_le_bytes());
        wide.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::path::Path;

    use super::*;
    use crate::error::Place;
    use crate::zip::{directory, read_entry};

    /// Writes two entries with ZIP64 fields from `limit` on, and reads them back.
    fn check(method: Method, limit: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer { limit, ..Writer::new(&mut bytes) };
        writer.add("first", [b"hello ", &[b'x'; 300]], method).unwrap();
        writer.add("zweites é", [b"", b""], method).unwrap();
        writer.finish().unwrap();

        let place = Place::file(Path::new("x"));
        let len = bytes.len() as u64;
        let mut file = Cursor::new(bytes);
        let entries = directory(&place, &mut file, len).unwrap();
        let contents: Vec<Vec<u8>> = entries
            .iter()
            .map(|entry| {
                read_entry(&place, &mut file, len, entry, |reader| {
                    let mut content = Vec::new();
                    reader.read_to_end(&mut content).unwrap();
                    Ok(content)
                })
                .unwrap()
            })
            .collect();
        assert_eq!(entries[1].name, "zweites é");
        assert_eq!((entries[0].size, entries[1].size), (306, 0));
        assert_eq!(contents[0], [b"hello ".as_slice(), &[b'x'; 300]].concat());
        assert_eq!(contents[1], b"");
        file.into_inner()
    }

    #[test]
    fn what_is_written_is_read() {
        for method in [Method::Stored, Method::Deflate] {
            let plain = check(method, ELSEWHERE.into());
            for limit in [0, 1, 10, 100, 306, 307, 400] {
                assert!(check(method, limit).len() >= plain.len());
            }
            assert_eq!(plain, check(method, ELSEWHERE.into()));
        }
    }
}
