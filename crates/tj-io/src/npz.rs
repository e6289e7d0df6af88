//! Several named arrays in a ZIP archive, as NumPy's `savez` writes them: array `a` is the entry `a.npy`.

use std::path::Path;

use indexmap::IndexMap;
use tj_tensor::Tensor;

use crate::IoError;
use crate::error::Place;
use crate::file::{self, ReadSeek};
use crate::header::Header;
use crate::npy;
use crate::zip::{self, Entry, Method, Writer};

/// Whether the arrays of an archive are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As they are: NumPy's `savez`.
    Stored,
    /// Deflated: NumPy's `savez_compressed`.
    Deflated,
}

/// An open archive, whose arrays are read one at a time.
///
/// ```
/// use tj_io::{Npz, Packing, write_npz};
/// use tj_tensor::Tensor;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.npz");
/// let (a, b) = (Tensor::from(vec![3.0, 4.0]), Tensor::scalar(42i64));
/// write_npz(&path, [("a", &a), ("b", &b)], Packing::Deflated)?;
///
/// let mut archive = Npz::open(&path)?;
/// assert_eq!(archive.names().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(archive.read("b")?.item::<i64>(), Ok(42));
/// # Ok::<(), tj_io::IoError>(())
/// ```
pub struct Npz {
    place: Place,
    file: Box<dyn ReadSeek>,
    len: u64,
    entries: IndexMap<String, Entry>,
}

impl Npz {
    /// Reads the directory of an archive, and no array.
    pub fn open(path: impl AsRef<Path>) -> Result<Npz, IoError> {
        let place = Place::file(path.as_ref());
        let (file, len) = file::open(&place)?;
        Npz::new(place, file, len)
    }

    pub(crate) fn new(place: Place, mut file: Box<dyn ReadSeek>, len: u64) -> Result<Npz, IoError> {
        let mut start = [0; 8];
        let n = len.min(8) as usize;
        file.read_exact(&mut start[..n]).map_err(place.system("read"))?;
        if !start.starts_with(b"PK") {
            let found = start[..n].to_vec();
            return Err(IoError::Magic { place, expected: ".npz", found });
        }
        let mut entries = IndexMap::new();
        for entry in zip::directory(&place, &mut *file, len)? {
            // A name that ends so is a folder, which holds nothing itself.
            if entry.name.ends_with('/') {
                continue;
            }
            let name = entry.name.strip_suffix(".npy").unwrap_or(&entry.name).to_owned();
            if entries.contains_key(&name) {
                return Err(IoError::DuplicateName { place: place.entry(&name) });
            }
            entries.insert(name, entry);
        }
        Ok(Npz { place, file, len, entries })
    }

    /// The names of the arrays, in the order of the archive.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Reads one array. An error concerns this array alone.
    pub fn read(&mut self, name: &str) -> Result<Tensor, IoError> {
        let (place, entry) = self.entry(name)?;
        zip::read_entry(&place, &mut *self.file, self.len, &entry, |reader| {
            npy::read(&place, reader, entry.size)
        })
    }

    /// Reads all arrays.
    pub(crate) fn read_all(&mut self) -> Result<IndexMap<String, Tensor>, IoError> {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        names
            .into_iter()
            .map(|name| {
                let tensor = self.read(&name)?;
                Ok((name, tensor))
            })
            .collect()
    }

    /// Reads an array that is one word.
    pub(crate) fn read_word(&mut self, name: &str) -> Result<String, IoError> {
        let (place, entry) = self.entry(name)?;
        zip::read_entry(&place, &mut *self.file, self.len, &entry, |reader| npy::read_word(&place, reader))
    }

    /// The file.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Reads the header of one array and the number of bytes of its data, without checking these.
    pub(crate) fn header(&mut self, name: &str) -> Result<(Header, u64), IoError> {
        let (place, entry) = self.entry(name)?;
        let mut reader = zip::unpacked(&place, &mut *self.file, self.len, &entry)?;
        npy::read_header(&place, &mut reader, entry.size)
    }

    fn entry(&self, name: &str) -> Result<(Place, Entry), IoError> {
        let place = self.place.entry(name);
        match self.entries.get(name) {
            Some(entry) => Ok((place, entry.clone())),
            None => Err(IoError::NoArray { place, names: self.entries.keys().cloned().collect() }),
        }
    }
}

/// Reads all arrays of an archive, in its order.
pub fn read_npz(path: impl AsRef<Path>) -> Result<IndexMap<String, Tensor>, IoError> {
    Npz::open(path)?.read_all()
}

/// Writes arrays into an archive, which replaces the file at once and only if all went well.
pub fn write_npz<'a>(
    path: impl AsRef<Path>,
    arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    packing: Packing,
) -> Result<(), IoError> {
    let place = Place::file(path.as_ref());
    let mut by_name = IndexMap::new();
    for (name, tensor) in arrays {
        if by_name.insert(name, tensor).is_some() {
            return Err(IoError::DuplicateName { place: place.entry(name) });
        }
    }
    let method = match packing {
        Packing::Stored => Method::Stored,
        Packing::Deflated => Method::Deflate,
    };
    file::replace(&place, |to| {
        let mut writer = Writer::new(to);
        for (name, tensor) in by_name {
            let place = place.entry(name);
            let (header, data) = npy::to_parts(&place, tensor)?;
            let data = data.as_bytes().expect("the parts of an array are contiguous");
            writer.add(&format!("{name}.npy"), [&header, data], method).map_err(place.system("write"))?;
        }
        writer.finish().map_err(place.system("write"))
    })
}
