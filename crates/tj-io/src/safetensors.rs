//! safetensors: named dense arrays.
//!
//! ```text
//! 8 bytes   the length of the header, little-endian; at most 100 MB, as the format says
//! header    {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {...}}
//! data      little-endian, row-major; offsets count from here
//! ```
//!
//! The arrays must cover the data without holes and overlaps, and every length must agree with type and shape. Names
//! are unique. Metadata are ignored, and data need not be aligned. Types we have no tensors of (F8, F6, F4) are refused by
//! name, and with them the file.
//!
//! Written are the widest types first, so that all data are aligned, and names in order within a type. There is no C128 in
//! the format, and no sparse storage: a tensor stored by levels is refused.

use std::collections::HashSet;
use std::fmt;
use std::io::Read as _;
use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use tj_tensor::{Buffer, DType, Tensor};

use crate::error::Place;
use crate::file::{self, ReadSeek};
use crate::{IoError, npy};

/// The format's own limit.
const MAX_HEADER: u64 = 100_000_000;
const METADATA: &str = "__metadata__";

/// What the header says of an array.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// The arrays of a header, in its order.
struct Header(Vec<(String, Entry)>);

/// An array whose place and type are known to be right.
pub(crate) struct Array {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub bytes: u64,
    start: u64,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Header, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of arrays by name")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Header, M::Error> {
                let (mut seen, mut entries) = (HashSet::new(), vec![]);
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(M::Error::custom(format_args!("the name {name:?} twice")));
                    }
                    if name == METADATA {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        entries.push((name, map.next_value()?));
                    }
                }
                Ok(Header(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// The format's name for a type.
fn code(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "BOOL",
        DType::I8 => "I8",
        DType::I16 => "I16",
        DType::I32 => "I32",
        DType::I64 => "I64",
        DType::U8 => "U8",
        DType::U16 => "U16",
        DType::U32 => "U32",
        DType::U64 => "U64",
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::C64 => "C64",
        DType::C128 => return None,
    })
}

/// Reads all arrays of a safetensors file, in the order of its header.
///
/// ```
/// use tj_tensor::Tensor;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.safetensors");
/// let x = Tensor::from(vec![1.0f32, 2.0]);
/// tj_io::write_safetensors(&path, [("x", &x)])?;
/// assert!(tj_io::read_safetensors(&path)?["x"].bit_eq(&x));
/// # Ok::<(), tj_io::IoError>(())
/// ```
///
/// # Errors
/// A file that cannot be read or contradicts itself; an array of a type that is not supported.
pub fn read_safetensors(path: impl AsRef<Path>) -> Result<IndexMap<String, Tensor>, IoError> {
    let place = Place::file(path.as_ref());
    let (mut file, len) = file::open(&place)?;
    let arrays = read_header(&place, &mut *file, len)?;
    let mut order: Vec<usize> = (0..arrays.len()).collect();
    order.sort_by_key(|&at| arrays[at].start);
    let mut tensors: Vec<Option<Tensor>> = vec![None; arrays.len()];
    for at in order {
        let array = &arrays[at];
        let place = place.entry(&array.name);
        let mut buffer = Buffer::zeroed(array.bytes as usize).map_err(place.tensor())?;
        file.read_exact(buffer.as_bytes_mut()).map_err(place.system("read"))?;
        npy::from_little_endian(array.dtype, buffer.as_bytes_mut());
        let tensor = Tensor::from_buffer(array.dtype, &array.shape, buffer).map_err(place.tensor())?;
        tensors[at] = Some(tensor);
    }
    let named = arrays.into_iter().zip(tensors);
    Ok(named.filter_map(|(array, tensor)| Some((array.name, tensor?))).collect())
}

/// Reads the header of a file of some length and compares it with that; what is left in the file are the data.
pub(crate) fn read_header(place: &Place, file: &mut dyn ReadSeek, len: u64) -> Result<Vec<Array>, IoError> {
    let wrong = |what, expected: String, found: String| {
        Err(IoError::Content { place: place.clone(), what, expected, found })
    };
    let mut start = Vec::new();
    file.take(8).read_to_end(&mut start).map_err(place.system("read"))?;
    let Some(&length) = start.first_chunk::<8>() else {
        return Err(crate::sniff::not_this(place, "safetensors", &start));
    };
    let length = u64::from_le_bytes(length);
    let bound = MAX_HEADER.min(len.saturating_sub(8));
    if length > bound {
        let hint = crate::sniff::hint(&start).or_else(|| start.is_ascii().then_some("it looks like text"));
        if hint.is_some() {
            return Err(IoError::NotThis {
                place: place.clone(),
                expected: "safetensors",
                found: format!("it starts with {}", crate::text::shown(&start)),
                hint,
            });
        }
        return Err(IoError::HeaderLength { place: place.clone(), claimed: length, bound });
    }
    let mut text = vec![0; length as usize];
    file.read_exact(&mut text).map_err(place.system("read"))?;
    let Header(entries) = match serde_json::from_slice(&text) {
        Ok(header) => header,
        Err(e) => return wrong("header", "a JSON object of arrays".to_owned(), e.to_string()),
    };
    let mut arrays = Vec::with_capacity(entries.len());
    for (name, entry) in entries {
        let place = place.entry(&name);
        arrays.push(array(&place, name, entry)?);
    }
    let mut order: Vec<&Array> = arrays.iter().collect();
    order.sort_by_key(|array| (array.start, array.bytes));
    let mut end = 0;
    for array in order {
        if array.start != end {
            let place = place.entry(&array.name);
            let what = if array.start < end { "overlap" } else { "hole" };
            let (expected, found) = (format!("data from {end} on"), format!("from {} on", array.start));
            return Err(IoError::Content { place, what, expected, found });
        }
        end += array.bytes;
    }
    let data = len - 8 - length;
    match end.cmp(&data) {
        std::cmp::Ordering::Equal => Ok(arrays),
        std::cmp::Ordering::Greater => {
            Err(IoError::Truncated { place: place.clone(), expected: end, found: data })
        }
        std::cmp::Ordering::Less => {
            Err(IoError::Trailing { place: place.clone(), expected: end, found: data })
        }
    }
}

/// Compares what the header says of one array with itself.
fn array(place: &Place, name: String, entry: Entry) -> Result<Array, IoError> {
    let Entry { dtype: descr, shape, data_offsets: [start, end] } = entry;
    let Some(dtype) = DType::ALL.into_iter().find(|&dtype| code(dtype) == Some(&descr)) else {
        let reason = match descr.as_bytes() {
            [b'F', b'8' | b'6' | b'4', ..] => {
                "floats of 8 bits and fewer have no tensors here; convert to F16 or F32 first"
            }
            _ => "no such numbers are known",
        };
        return Err(IoError::ElementType { place: place.clone(), descr, reason });
    };
    let count = npy::count(dtype, &shape).map_err(place.tensor())?;
    let bytes = (count * dtype.size()) as u64;
    if end.checked_sub(start) != Some(bytes) {
        return Err(IoError::Content {
            place: place.clone(),
            what: "data_offsets",
            expected: format!("{bytes} bytes for {dtype}{shape:?}"),
            found: format!("[{start}, {end}]"),
        });
    }
    Ok(Array { name, dtype, shape, bytes, start })
}

/// Writes arrays into a safetensors file, which replaces the file at once.
///
/// # Errors
/// Two of one name, or the name `__metadata__`; c128; a tensor stored by levels; a file that cannot be written.
pub fn write_safetensors<'a>(
    path: impl AsRef<Path>,
    arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<(), IoError> {
    let place = Place::file(path.as_ref());
    let mut by_name: Vec<(&str, &Tensor)> = arrays.into_iter().collect();
    by_name.sort_by_key(|(name, tensor)| (std::cmp::Reverse(tensor.dtype().align()), *name));
    let mut seen = HashSet::new();
    let mut header = serde_json::Map::new();
    let mut data = vec![];
    let mut start = 0;
    for (name, tensor) in by_name {
        let place = place.entry(name);
        let cannot =
            |what: String| Err(IoError::CannotHold { place: place.clone(), format: "safetensors", what });
        if !seen.insert(name) {
            return Err(IoError::DuplicateName { place });
        }
        if name == METADATA {
            return cannot("an array of this name".to_owned());
        }
        if tensor.stored().is_some() {
            return cannot(format!(
                "the format {}; use Tensor::to_dense, or a sparse .npz file",
                tensor.format()
            ));
        }
        let Some(code) = code(tensor.dtype()) else {
            return cannot(format!("{}; write real and imaginary parts, or cast to c64", tensor.dtype()));
        };
        let tensor = tensor.to_contiguous().map_err(place.tensor())?;
        let end = start + tensor.as_bytes().map_or(0, <[u8]>::len);
        let entry =
            serde_json::json!({ "dtype": code, "shape": tensor.shape(), "data_offsets": [start, end] });
        header.insert(name.to_owned(), entry);
        data.push(tensor);
        start = end;
    }
    let mut header = serde_json::Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    file::replace(&place, |to| {
        let length = (header.len() as u64).to_le_bytes();
        to.write_all(&length).and_then(|()| to.write_all(&header)).map_err(place.system("write"))?;
        for tensor in &data {
            let bytes = tensor.as_bytes().expect("the tensors are contiguous");
            npy::write_little_endian(tensor.dtype(), bytes, to).map_err(place.system("write"))?;
        }
        Ok(())
    })
}
