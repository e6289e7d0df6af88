//! Files of any format, by the ends of their names.
//!
//! | name | holds | read as |
//! |---|---|---|
//! | `.npy` | one array | strided |
//! | `.npz` | several arrays, or one sparse matrix as SciPy's `save_npz` writes it | strided, or as it was stored |
//! | `.safetensors` | several arrays | strided |
//! | `.mtx`, `.mtx.gz` | one matrix | `coo(2)`, or strided |
//! | `.tns`, `.tns.gz` | one tensor | `coo` |
//!
//! The name decides, not the content: a content that is known to be something else makes an error that says what it is. Only
//! where the name says nothing (a pipe), NumPy's formats are known by their first bytes.

use std::io::SeekFrom;
use std::path::Path;

use indexmap::IndexMap;
use tj_tensor::Tensor;

use crate::error::Place;
use crate::file::ReadSeek;
use crate::text::Progress;
use crate::{IoError, Packing, file, mtx, npy, npz, safetensors, scipy, sniff, tns};

/// The ends of the names of files that are read and written.
pub const SUPPORTED: [&str; 7] = [".npy", ".npz", ".safetensors", ".mtx", ".mtx.gz", ".tns", ".tns.gz"];

/// What a file holds.
#[derive(Clone, Debug)]
pub enum Contents {
    /// One tensor, which has no name.
    One(Tensor),
    /// Any number of them, each with a name.
    Named(IndexMap<String, Tensor>),
}

/// A format, by the end of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Npy,
    Npz,
    Safetensors,
    Mtx,
    Tns,
}

impl Kind {
    pub fn of(place: &Place) -> Result<Kind, IoError> {
        let extension = sniff::extension(&place.file);
        Ok(match extension.as_deref() {
            Some("npy") => Kind::Npy,
            Some("npz") => Kind::Npz,
            Some("safetensors") => Kind::Safetensors,
            Some("mtx" | "mtx.gz") => Kind::Mtx,
            Some("tns" | "tns.gz") => Kind::Tns,
            other => {
                let hint = match other {
                    Some("h5" | "hdf5") => Some("HDF5 is not supported, and no option of the build adds it"),
                    Some("mat") => Some("MATLAB files are not supported; save the arrays as .mtx or .npy"),
                    Some("gz") => Some("say what is packed, as in .mtx.gz"),
                    _ => None,
                };
                let found = match other {
                    Some(extension) => format!("files that end in .{extension} are not known"),
                    None => "the name has no extension".to_owned(),
                };
                return Err(IoError::Extension { place: place.clone(), found, hint });
            }
        })
    }

    /// Whether it holds tensors with names.
    pub fn is_archive(self) -> bool {
        matches!(self, Kind::Npz | Kind::Safetensors)
    }
}

/// A file whose name ends like none of ours, if its content says that NumPy wrote it: a pipe has no end of a name. `unknown`
/// is the error if it does not.
pub(crate) fn by_content(place: &Place, unknown: IoError) -> Result<(Kind, Box<dyn ReadSeek>, u64), IoError> {
    let (mut file, len) = match file::open(place) {
        Ok(open) => open,
        // That there is no such file is not worth knowing if it could not be read anyway.
        Err(IoError::System { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound && place.file.extension().is_some() =>
        {
            return Err(unknown);
        }
        Err(error) => return Err(error),
    };
    let mut start = [0; 6];
    let start = &mut start[..len.min(6) as usize];
    file.read_exact(start).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(place.system("read"))?;
    match start {
        [b'P', b'K', ..] => Ok((Kind::Npz, file, len)),
        // What is cut off within the magic is reported as such.
        [0x93, ..] => Ok((Kind::Npy, file, len)),
        _ => Err(unknown),
    }
}

/// Whether a file of this name holds several tensors, each with a name.
///
/// # Errors
/// A name that ends like none of [`SUPPORTED`].
pub fn is_archive(path: impl AsRef<Path>) -> Result<bool, IoError> {
    Ok(Kind::of(&Place::file(path.as_ref()))?.is_archive())
}

/// Reads the one tensor of a file of any supported format.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.tns");
/// let x = tj_tensor::Tensor::arange(4).unwrap();
/// tj_io::write_any(&path, &x)?;
/// assert!(tj_io::read_any(&path)?.bit_eq(&x));
/// let error = tj_io::read_any("x.h5").unwrap_err().to_string();
/// assert!(error.starts_with("x.h5: files that end in .h5 are not known; supported are .npy, .npz"));
/// # Ok::<(), tj_io::IoError>(())
/// ```
///
/// # Errors
/// A name that ends like none of [`SUPPORTED`]; a file with no tensor or several; whatever the format refuses.
pub fn read_any(path: impl AsRef<Path>) -> Result<Tensor, IoError> {
    read_any_observed(path, &mut |_, _| ())
}

/// As [`read_any`]; while a text file is read, `progress` is told again and again how many bytes of how many are done.
///
/// # Errors
/// As for [`read_any`].
pub fn read_any_observed(path: impl AsRef<Path>, progress: Progress<'_>) -> Result<Tensor, IoError> {
    match read_all_observed(&path, progress)? {
        Contents::One(tensor) => Ok(tensor),
        Contents::Named(mut tensors) => match tensors.pop() {
            Some((_, tensor)) if tensors.is_empty() => Ok(tensor),
            last => {
                let names = tensors.into_keys().chain(last.map(|(name, _)| name)).collect();
                Err(IoError::NotOne { place: Place::file(path.as_ref()), names })
            }
        },
    }
}

/// Reads all tensors of a file of any supported format.
///
/// # Errors
/// A name that ends like none of [`SUPPORTED`]; whatever the format refuses.
pub fn read_all(path: impl AsRef<Path>) -> Result<Contents, IoError> {
    read_all_observed(path, &mut |_, _| ())
}

/// As [`read_all`]; `progress` is told what [`read_any_observed`] tells it.
///
/// # Errors
/// As for [`read_all`].
pub fn read_all_observed(path: impl AsRef<Path>, progress: Progress<'_>) -> Result<Contents, IoError> {
    let path = path.as_ref();
    let place = Place::file(path);
    let (kind, file, len) = match Kind::of(&place) {
        Ok(Kind::Safetensors) => return Ok(Contents::Named(safetensors::read_safetensors(path)?)),
        Ok(Kind::Mtx) => return Ok(Contents::One(mtx::read(&place, progress)?)),
        Ok(Kind::Tns) => return Ok(Contents::One(tns::read(&place, None, progress)?)),
        Ok(kind @ (Kind::Npy | Kind::Npz)) => {
            let (file, len) = file::open(&place)?;
            (kind, file, len)
        }
        Err(unknown) => by_content(&place, unknown)?,
    };
    if kind == Kind::Npy {
        return Ok(Contents::One(npy::read(&place, file, len)?));
    }
    let mut archive = npz::Npz::new(place, file, len)?;
    if scipy::is_sparse(&archive) {
        return Ok(Contents::One(scipy::read(&mut archive)?));
    }
    Ok(Contents::Named(archive.read_all()?))
}

/// Writes one tensor into a file of any supported format, which replaces the file at once. In `.npz` a tensor stored by
/// levels becomes a sparse matrix of SciPy, any other the array `arr_0`; in `.safetensors` it gets the name `tensor`.
///
/// # Errors
/// A name that ends like none of [`SUPPORTED`]; what the format cannot hold; a file that cannot be written.
pub fn write_any(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), IoError> {
    let path = path.as_ref();
    match Kind::of(&Place::file(path))? {
        Kind::Npy => crate::write(path, tensor),
        Kind::Npz if tensor.stored().is_some() => scipy::write_sparse_npz(path, tensor),
        Kind::Npz => npz::write_npz(path, [("arr_0", tensor)], Packing::Stored),
        Kind::Safetensors => safetensors::write_safetensors(path, [("tensor", tensor)]),
        Kind::Mtx => mtx::write_mtx(path, tensor),
        Kind::Tns => tns::write_tns(path, tensor),
    }
}

/// Writes tensors with names into a file of any supported format; if there is one, as [`write_any`] does, but with its name
/// where the format has names.
///
/// # Errors
/// As for [`write_any`]; several tensors for a format that holds one.
pub fn write_all<'a>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let tensors: Vec<(&str, &Tensor)> = tensors.into_iter().collect();
    match (Kind::of(&Place::file(path))?, &tensors[..]) {
        (Kind::Npz, [(_, tensor)]) if tensor.stored().is_some() => scipy::write_sparse_npz(path, tensor),
        (Kind::Npz, _) => npz::write_npz(path, tensors, Packing::Stored),
        (Kind::Safetensors, _) => safetensors::write_safetensors(path, tensors),
        (Kind::Npy | Kind::Mtx | Kind::Tns, [(_, tensor)]) => write_any(path, tensor),
        (Kind::Npy | Kind::Mtx | Kind::Tns, _) => {
            let names = tensors.into_iter().map(|(name, _)| name.to_owned()).collect();
            Err(IoError::NotOne { place: Place::file(path), names })
        }
    }
}
