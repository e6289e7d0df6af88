//! Files of lines of words: what `.mtx` and `.tns` have in common.
//!
//! The reader goes through a buffer of fixed size and hands out lines in place, so that a file costs no more memory than
//! what is made of it; a line that does not fit is refused. Words are separated by blanks and tabs, and a carriage return
//! at the end of a line does not count. A name that ends in `.gz` is unpacked on the way.
//!
//! Cost: one search for the end of a line, one pass over its bytes, and a conversion for each number.

mod column;

use std::io::{BufReader, BufWriter, Read, Write};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::error::Place;
use crate::{IoError, file};

pub(crate) use column::{Column, Kind, Mirror};

/// Bytes read at once.
const CHUNK: usize = 1 << 16;
/// No line is longer. Matrix Market allows 1024 bytes.
const MAX_LINE: usize = 1 << 20;
/// As much of a word as a message has room for.
const ROOM: usize = 40;

/// Told how many bytes of the file have been read, and how many there are.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// The lines of a file.
pub(crate) struct Lines<'a> {
    place: &'a Place,
    source: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// What of the buffer is not handed out yet.
    start: usize,
    end: usize,
    ended: bool,
    /// Of the line handed out last, from 1.
    number: u64,
    /// Bytes that the text can have at most; `None` if it is packed.
    len: Option<u64>,
}

/// Counts the bytes of a file.
struct Counted<'a, R> {
    inner: R,
    done: u64,
    len: u64,
    progress: Progress<'a>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(bytes)?;
        self.done += n as u64;
        (self.progress)(self.done, self.len);
        Ok(n)
    }
}

impl<'a> Lines<'a> {
    /// Opens a file, unpacking it if its name ends in `.gz`.
    pub fn open(place: &'a Place, progress: Progress<'a>) -> Result<Lines<'a>, IoError> {
        let (inner, len) = file::open(place)?;
        let counted = Counted { inner, done: 0, len, progress };
        if is_packed(place) {
            let unpacked = MultiGzDecoder::new(BufReader::with_capacity(CHUNK, counted));
            return Ok(Lines::new(place, Box::new(unpacked), None));
        }
        Ok(Lines::new(place, Box::new(counted), Some(len)))
    }

    fn new(place: &'a Place, source: Box<dyn Read + 'a>, len: Option<u64>) -> Lines<'a> {
        Lines { place, source, buffer: vec![0; CHUNK], start: 0, end: 0, ended: false, number: 0, len }
    }

    /// How many records to make room for when a file claims some number of at least `bytes` bytes each. A packed file is
    /// not believed at all.
    pub fn room(&self, claimed: usize, bytes: u64) -> usize {
        self.len.map_or(0, |len| claimed.min((len / bytes) as usize))
    }

    /// The first bytes, which stay to be read.
    pub fn peek(&mut self) -> Result<&[u8], IoError> {
        while self.end < 512 && !self.ended {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + 512)])
    }

    /// The next line, without its end.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, IoError> {
        let mut searched = self.start;
        let (start, end) = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let line = (self.start, searched + at);
                self.start = line.1 + 1;
                break line;
            }
            if self.ended {
                if self.start == self.end {
                    return Ok(None);
                }
                let line = (self.start, self.end);
                self.start = self.end;
                break line;
            }
            let pending = self.end - self.start;
            if pending >= MAX_LINE {
                let (expected, found) =
                    (format!("a line of at most {MAX_LINE} bytes"), "a longer one".to_owned());
                self.number += 1;
                return Err(self.error(None, expected, found));
            }
            self.fill()?;
            searched = self.start + pending;
        };
        self.number += 1;
        let line = &self.buffer[start..end];
        let bytes = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(Some(Line { place: self.place, number: self.number, bytes, at: 0 }))
    }

    /// Reads more, keeping what is pending.
    fn fill(&mut self) -> Result<(), IoError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.place.system("read")(e)),
            }
            return Ok(());
        }
    }

    /// An error about the line handed out last.
    pub fn error(
        &self,
        column: Option<usize>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> IoError {
        let (expected, found) = (expected.into(), found.into());
        IoError::Text { place: self.place.clone(), line: self.number.max(1), column, expected, found }
    }
}

/// One line, of which words are taken off the front.
pub(crate) struct Line<'a> {
    place: &'a Place,
    number: u64,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Line<'a> {
    /// Whether it says nothing, or starts with the mark of a remark.
    pub fn is_remark(&mut self, mark: u8) -> bool {
        self.skip_blanks();
        self.bytes.get(self.at).is_none_or(|&byte| byte == mark)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// The next word.
    pub fn word(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let rest = &self.bytes[self.at..];
        let len = rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
        self.at += len;
        (len > 0).then(|| &rest[..len])
    }

    /// The number of words in the whole line.
    pub fn count(&self) -> usize {
        self.bytes.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty()).count()
    }

    /// All of it.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// An unsigned integer.
    pub fn size(&mut self, expected: &str, fields: usize) -> Result<usize, IoError> {
        let word = self.needed(fields)?;
        match unsigned(word) {
            Some(value) if value <= isize::MAX as u64 => Ok(value as usize),
            _ => Err(self.wrong(expected)),
        }
    }

    /// A coordinate counted from 1, as one counted from 0.
    #[inline]
    pub fn coordinate(&mut self, extent: usize, what: &str, fields: usize) -> Result<usize, IoError> {
        let word = self.needed(fields)?;
        match unsigned(word) {
            Some(value) if value.wrapping_sub(1) < extent as u64 => Ok(value as usize - 1),
            _ => Err(self.wrong(&format!("{what} from 1 to {extent}"))),
        }
    }

    /// The next word of a line that is to have some number of them.
    #[inline]
    pub fn needed(&mut self, fields: usize) -> Result<&'a [u8], IoError> {
        match self.word() {
            Some(word) => Ok(word),
            None => Err(self.wrong_count(fields)),
        }
    }

    /// Nothing more.
    #[inline]
    pub fn end(&mut self, fields: usize) -> Result<(), IoError> {
        self.skip_blanks();
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.wrong_count(fields)) }
    }

    fn wrong_count(&self, fields: usize) -> IoError {
        let plural = if fields == 1 { "" } else { "s" };
        self.error(None, format!("{fields} field{plural}"), self.count().to_string())
    }

    /// An error about the word taken last.
    pub fn wrong(&self, expected: &str) -> IoError {
        let start = self.bytes[..self.at].iter().rposition(|byte| matches!(byte, b' ' | b'\t'));
        let start = start.map_or(0, |at| at + 1);
        self.error(Some(start + 1), expected.to_owned(), shown(&self.bytes[start..self.at]))
    }

    /// An error about the line.
    pub fn error(&self, column: Option<usize>, expected: String, found: String) -> IoError {
        IoError::Text { place: self.place.clone(), line: self.number, column, expected, found }
    }
}

/// Decimal digits.
#[inline]
pub(crate) fn unsigned(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"+").unwrap_or(word);
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut value = 0u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(value)
}

/// Bytes in quotes, as many as a message has room for.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let dots = if bytes.len() > ROOM { "..." } else { "" };
    format!("\"{}{dots}\"", bytes[..bytes.len().min(ROOM)].escape_ascii())
}

fn is_packed(place: &Place) -> bool {
    place.file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// Writes a file of lines, packed if its name ends in `.gz`.
pub(crate) fn write(
    place: &Place,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), IoError> {
    file::replace(place, |to| {
        if is_packed(place) {
            let mut encoder = BufWriter::new(GzEncoder::new(to, Compression::default()));
            write(&mut encoder).map_err(place.system("write"))?;
            let encoder = encoder.into_inner().map_err(|e| place.system("write")(e.into_error()))?;
            encoder.finish().map(|_| ()).map_err(place.system("write"))
        } else {
            write(to).map_err(place.system("write"))
        }
    })
}
