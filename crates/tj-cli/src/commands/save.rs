//! Where outputs go: `-o [NAME=]FILE`, checked before anything runs.

use std::fs;
use std::path::{Path, PathBuf};

use tensorjit::{DType, Scalar, Tensor, io};

use super::Failure;
use crate::values::OutputFile;

/// A file and the positions of the outputs that it gets.
pub(super) struct Destination<'a> {
    path: &'a Path,
    archive: bool,
    outputs: Vec<usize>,
}

impl<'a> Destination<'a> {
    /// Finds the outputs of every file.
    pub(super) fn find(files: &'a [OutputFile], names: &[&str]) -> Result<Vec<Destination<'a>>, Failure> {
        let mut found: Vec<Destination<'a>> = Vec::with_capacity(files.len());
        for file in files {
            let archive = is_archive(&file.path)?;
            let outputs = match &file.name {
                Some(name) => match names.iter().position(|known| known == name) {
                    Some(position) => vec![position],
                    None => {
                        let known = names.join(", ");
                        let message = format!("the program has no output {name}; its outputs are {known}");
                        return Err(Failure::wrong(message));
                    }
                },
                None if archive || names.len() == 1 => (0..names.len()).collect(),
                None => {
                    return Err(Failure::wrong(format!(
                        "the program has several outputs: {}; say which goes to the file, as in -o {}={}, or \
                         save all in one .npz file",
                        names.join(", "),
                        names[0],
                        file.path.display()
                    )));
                }
            };
            if found.iter().any(|other| same_file(other.path, &file.path)) {
                return Err(Failure::wrong(format!("two outputs go to {}", file.path.display())));
            }
            found.push(Destination { path: &file.path, archive, outputs });
        }
        Ok(found)
    }

    /// What to say before an output becomes a file of entries that leaves none out, where inputs had some left out.
    pub(super) fn note(&self, names: &[&str], outputs: &[Tensor]) -> Option<String> {
        if !lists_entries(self.path) {
            return None;
        }
        self.outputs.iter().find_map(|&at| {
            let (name, tensor) = (names[at], &outputs[at]);
            let why = match tensor.fill() {
                _ if tensor.rank() < 2 => return None,
                Some(fill) if tensor.stored().is_some() => match fill.cast(DType::C128) {
                    Scalar::C128(fill) if fill.norm_sqr() == 0.0 => return None,
                    _ => format!("has the fill {fill}, not 0"),
                },
                Some(_) | None => "has no fill".to_string(),
            };
            let count = tensor.shape().iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
            let path = self.path.display();
            Some(format!("note: {name} {why}, so {path} is dense: it lists all {count} elements\n"))
        })
    }

    /// Writes the file; says which outputs it has.
    pub(super) fn write(&self, names: &[&str], outputs: &[Tensor]) -> Result<&[usize], Failure> {
        let own: Vec<&Tensor> = self.outputs.iter().map(|&at| &outputs[at]).collect();
        match self.write_these(names, &own) {
            // How a result is stored is our choice: a file that cannot hold that gets every element.
            Err(io::IoError::CannotHold { .. }) if own.iter().any(|tensor| tensor.stored().is_some()) => {
                let dense: Vec<Tensor> =
                    own.iter().map(|tensor| tensor.to_dense()).collect::<Result<_, _>>()?;
                self.write_these(names, &dense.iter().collect::<Vec<_>>())?;
            }
            written => written?,
        }
        Ok(&self.outputs)
    }

    fn write_these(&self, names: &[&str], tensors: &[&Tensor]) -> Result<(), io::IoError> {
        if self.archive {
            let names = self.outputs.iter().map(|&at| names[at]);
            return io::write_all(self.path, names.zip(tensors.iter().copied()));
        }
        for tensor in tensors {
            if is_device(self.path) {
                io::write(self.path, tensor)?;
            } else {
                io::write_any(self.path, tensor)?;
            }
        }
        Ok(())
    }
}

/// Whether a file holds several arrays, by its extension. A device gets the one array that NumPy writes.
fn is_archive(path: &Path) -> Result<bool, Failure> {
    match io::is_archive(path) {
        Err(_) if is_device(path) => Ok(false),
        known => Ok(known?),
    }
}

/// Whether a file lists the entries of a sparse tensor in text.
fn lists_entries(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.ends_with(".mtx") || name.ends_with(".tns")
}

/// Whether a path leads to a device or pipe, such as /dev/stdout, which has no extension to go by.
fn is_device(path: &Path) -> bool {
    path.extension().is_none() && fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// Whether two paths, of which neither need exist, lead to one file.
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    resolved(a) == resolved(b)
}

/// A path without links and dots, as far as its folders exist.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = fs::canonicalize(path) {
        return path;
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    match (fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
