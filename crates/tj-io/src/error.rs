//! The one error type of this crate. Every variant says where: a file, or an array within an archive.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tj_tensor::{DType, TensorError};

/// Where something was read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The entry within an archive.
    pub entry: Option<String>,
}

impl Place {
    pub(crate) fn file(path: &Path) -> Place {
        Place { file: path.to_owned(), entry: None }
    }

    pub(crate) fn entry(&self, name: &str) -> Place {
        Place { file: self.file.clone(), entry: Some(name.to_owned()) }
    }

    /// Says where the system failed at what.
    pub(crate) fn system(&self, action: &'static str) -> impl Fn(io::Error) -> IoError {
        move |source| IoError::System { place: self.clone(), action, source }
    }

    /// Says where a tensor cannot exist.
    pub(crate) fn tensor(&self) -> impl Fn(TensorError) -> IoError {
        move |source| IoError::Tensor { place: self.clone(), source: Box::new(source) }
    }
}

/// `dir/x.npz` or `dir/x.npz, entry "a"`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match &self.entry {
            Some(entry) => write!(f, ", entry {entry:?}"),
            None => Ok(()),
        }
    }
}

/// Why a file could not be read or written.
#[derive(Debug, Error)]
pub enum IoError {
    /// The system refused.
    #[error("{place}: cannot {action}: {source}")]
    System {
        /// Where.
        place: Place,
        /// What was tried: `open`, `read`, ...
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file starts like none that is read here.
    #[error("{place}: expected a {expected} file, found {}", describe(found))]
    Magic {
        /// Where.
        place: Place,
        /// The kind of file: `.npy` or `.npz`.
        expected: &'static str,
        /// The first bytes.
        found: Vec<u8>,
    },
    /// A version of the format that did not exist when this was written.
    #[error("{place}: version {major}.{minor} of the .npy format; 1.0, 2.0 and 3.0 are known")]
    Version {
        /// Where.
        place: Place,
        /// Major number.
        major: u8,
        /// Minor number.
        minor: u8,
    },
    /// The header claims to be longer than it may be.
    #[error("{place}: a header of {claimed} bytes, but at most {bound} are possible")]
    HeaderLength {
        /// Where.
        place: Place,
        /// What the file claims.
        claimed: u64,
        /// The lesser of the bytes that follow and our limit.
        bound: u64,
    },
    /// The header is not what NumPy writes.
    #[error("{place}: header byte {at}: expected {expected}, found {found:?}")]
    Header {
        /// Where.
        place: Place,
        /// The byte within the header.
        at: usize,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Elements that are not numbers, or numbers we have no type for.
    #[error("{place}: elements of type {descr} are not supported: {reason}")]
    ElementType {
        /// Where.
        place: Place,
        /// NumPy's description of the type, as in the header.
        descr: String,
        /// Why not, or what to do.
        reason: &'static str,
    },
    /// An element type that the format does not have.
    #[error("{place}: the .npy format has no {dtype}; cast to f32 first")]
    NoSuchType {
        /// Where it was to be written.
        place: Place,
        /// The type.
        dtype: DType,
    },
    /// The data end too soon.
    #[error("{place}: truncated: {expected} bytes of data expected, {found} found")]
    Truncated {
        /// Where.
        place: Place,
        /// Bytes that shape and type need.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The data do not end where they should.
    #[error("{place}: {expected} bytes of data expected, at least {found} found")]
    Trailing {
        /// Where.
        place: Place,
        /// Bytes that shape and type need.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The tensor cannot exist: too large, no memory, a bool that is neither 0 nor 1.
    #[error("{place}: {source}")]
    Tensor {
        /// Where.
        place: Place,
        /// The reason.
        source: Box<TensorError>,
    },
    /// The archive's directory or an entry's frame is damaged or uses a feature that is not supported.
    #[error("{place}: {what}: expected {expected}, found {found}")]
    Archive {
        /// Where.
        place: Place,
        /// The part of the archive.
        what: &'static str,
        /// What belongs there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The bytes of an entry are not those that were stored.
    #[error("{place}: checksum {found:08x} of the data is not the stored {expected:08x}")]
    Checksum {
        /// Where.
        place: Place,
        /// As stored.
        expected: u32,
        /// As computed.
        found: u32,
    },
    /// No array of this name.
    #[error("{place}: no such array; there are {names:?}")]
    NoArray {
        /// Where.
        place: Place,
        /// The names of the arrays in the archive.
        names: Vec<String>,
    },
    /// A word of a text file is not what belongs there.
    #[error("{place}, line {line}{}: expected {expected}, found {found}", column_text(*column))]
    Text {
        /// Where.
        place: Place,
        /// The line, counted from 1.
        line: u64,
        /// The byte within the line, counted from 1, where one word is to blame.
        column: Option<usize>,
        /// What belongs there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The file does not begin as one of its kind.
    #[error("{place}: not a {expected} file: {found}{}", hint_text(*hint))]
    NotThis {
        /// Where.
        place: Place,
        /// The kind of file.
        expected: &'static str,
        /// How it begins.
        found: String,
        /// What it seems to be, and what to do.
        hint: Option<&'static str>,
    },
    /// No format goes by this name.
    #[error("{place}: {found}; supported are {}{}", crate::SUPPORTED.join(", "), hint_text(*hint))]
    Extension {
        /// Where.
        place: Place,
        /// What the name ends in, in words.
        found: String,
        /// What to do.
        hint: Option<&'static str>,
    },
    /// Something that the format has no words for.
    #[error("{place}: a {format} file cannot hold {what}")]
    CannotHold {
        /// Where it was to be written.
        place: Place,
        /// The format.
        format: &'static str,
        /// What it cannot hold, and what to do.
        what: String,
    },
    /// The parts of a file contradict each other.
    #[error("{place}: {what}: expected {expected}, found {found}")]
    Content {
        /// Where.
        place: Place,
        /// The part.
        what: &'static str,
        /// What belongs there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// One tensor was asked for.
    #[error("{place}: one array was expected, and there are {}: {names:?}", names.len())]
    NotOne {
        /// Where.
        place: Place,
        /// The names of the arrays.
        names: Vec<String>,
    },
    /// Two arrays of one name.
    #[error("{place}: the name occurs more than once")]
    DuplicateName {
        /// Where.
        place: Place,
    },
}

fn column_text(column: Option<usize>) -> String {
    column.map_or(String::new(), |column| format!(", column {column}"))
}

fn hint_text(hint: Option<&'static str>) -> String {
    hint.map_or(String::new(), |hint| format!(" ({hint})"))
}

/// The beginning of a file in words.
fn describe(found: &[u8]) -> String {
    match found {
        [] => "an empty file".to_owned(),
        [b'P', b'K', ..] => "a zip archive (.npz holds several arrays; read it as one)".to_owned(),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] if found.len() < 8 => {
            format!("the beginning of one, cut off after {} bytes", found.len())
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "a single .npy array".to_owned(),
        _ => format!("\"{}\"{}", found.escape_ascii(), hint_text(crate::sniff::hint(found))),
    }
}
