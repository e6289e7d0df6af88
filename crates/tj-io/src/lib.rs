//! Tensors in files: NumPy's `.npy` and `.npz`, SciPy's sparse `.npz`, Matrix Market's `.mtx`, FROSTT's `.tns`, safetensors.
//!
//! This layer knows file formats. It must never know of expressions or the compiler. Files are untrusted: every
//! length is compared with the bytes that are there before anything is allocated, and an error names the file (and
//! the array within an archive), what was expected and what was found. What is written replaces a file at once or
//! not at all.
//!
//! ```
//! use tj_tensor::Tensor;
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("x.npy");
//! let x = Tensor::from_shape_vec([2, 2], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap();
//! tj_io::write(&path, &x)?;
//! assert!(tj_io::read(&path)?.bit_eq(&x));
//! # Ok::<(), tj_io::IoError>(())
//! ```
//!
//! In reading order: `header` (the dictionary in front of an array), `npy` (one array), `zip` (the part of that
//! format that we need), [`npz`](Npz) (several arrays), [`scipy`](read_sparse_npz) (sparse matrices in them),
//! [`safetensors`](read_safetensors), `text` (lines and words), [`mtx`](read_mtx), [`tns`](read_tns), `entries` (what a
//! tensor stores, as columns), `sniff` (what a file seems to be), [`any`](read_any) (formats by name), [`info`](info()),
//! `file` (opening and replacing), and [`error`](IoError).

#![forbid(unsafe_code)]

mod header;
mod npy;

mod npz;
mod safetensors;
mod scipy;
mod zip;

mod entries;
mod mtx;
mod sniff;
mod text;
mod tns;

mod any;

mod info;

mod file;

mod error;

pub use any::{
    Contents, SUPPORTED, is_archive, read_all, read_all_observed, read_any, read_any_observed, write_all,
    write_any,
};
pub use error::{IoError, Place};
pub use header::Order;
pub use info::{ArrayInfo, Layout, info};
pub use mtx::{read_mtx, write_mtx};
pub use npz::{Npz, Packing, read_npz, write_npz};
pub use safetensors::{read_safetensors, write_safetensors};
pub use scipy::{read_sparse_npz, write_sparse_npz};
pub use text::Progress;
pub use tns::{read_tns, write_tns};

use std::path::Path;

use tj_tensor::Tensor;

/// Reads an `.npy` file. Column-major data give a view with permuted dimensions, not a copy.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor, IoError> {
    let place = Place::file(path.as_ref());
    let (file, len) = file::open(&place)?;
    npy::read(&place, file, len)
}

/// Reads the bytes of an `.npy` file. Errors call the place `<bytes>`.
pub fn read_bytes(bytes: &[u8]) -> Result<Tensor, IoError> {
    npy::read(&Place::file(Path::new("<bytes>")), bytes, bytes.len() as u64)
}

/// Writes an `.npy` file, which replaces the file at once and only if all went well. A tensor that is contiguous in
/// column-major order is written so.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), IoError> {
    let place = Place::file(path.as_ref());
    file::replace(&place, |to| npy::write(&place, to, tensor))
}

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
