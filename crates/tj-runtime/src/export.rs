//! Writes a program as an object file and a C header, so that other programs can embed it.
//!
//! Symbols of the object begin with the name of the program, so that programs can be linked together. Both files are
//! complete before either appears under its name.

mod header;
mod names;
#[cfg(all(test, feature = "c"))]
mod tests;

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use tj_kernel::Kernel;

use crate::error::Error;
use crate::program::Program;

/// Writes both files. `outputs` are names for the outputs.
pub(crate) fn export(program: &Program, object: &Path, header: &Path, outputs: &[&str]) -> Result<(), Error> {
    let stem = object.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let name = stem.strip_prefix("lib").filter(|rest| !rest.is_empty()).unwrap_or(stem);
    if !names::is_identifier(name) {
        return Err(Error::FileName { path: object.display().to_string() });
    }
    for lowered in &program.kernels {
        if let (Some(call), Some(location)) = (lowered.kernel.call(), program.location(lowered)) {
            return Err(Error::Export { function: call.function.name(), location: location.to_string() });
        }
    }
    let text = header::header(program, name, outputs)?;
    let (object, header) = (target(object)?, target(header)?);
    if object == header {
        return Err(Error::SameFile { path: object.display().to_string() });
    }
    let kernels: Vec<Kernel> =
        program.kernels.iter().map(|lowered| prefixed(&lowered.kernel, name)).collect();
    let kernels: Vec<&Kernel> = kernels.iter().collect();
    let code = tj_codegen_cranelift::emit_object(&kernels, name, &tj_codegen_cranelift::Options::default())
        .map_err(|e| Error::Backend { backend: "cranelift", problem: e.to_string() })?;
    write_both((&object, &code), (&header, text.as_bytes()))
}

/// A kernel under the name that it has among the kernels of other programs.
fn prefixed(kernel: &Kernel, program: &str) -> Kernel {
    Kernel { name: symbol(&kernel.name, program), ..kernel.clone() }
}

fn symbol(kernel: &str, program: &str) -> String {
    format!("{program}_{kernel}")
}

/// The file that a path names, behind links, whether it exists or not.
fn target(path: &Path) -> Result<PathBuf, Error> {
    let failed = |source| file_error(path, source);
    if path.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    if path.exists() {
        return path.canonicalize().map_err(failed);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| failed(ErrorKind::InvalidInput.into()))?;
    Ok(parent.canonicalize().map_err(failed)?.join(name))
}

/// Writes both files or none. Devices and pipes are written to last, and as they are.
fn write_both(object: (&Path, &[u8]), header: (&Path, &[u8])) -> Result<(), Error> {
    let mut drafts: Vec<(PathBuf, &Path)> = Vec::new();
    let outcome = [object, header].into_iter().try_for_each(|(path, bytes)| {
        if is_regular(path) {
            drafts.push((draft(path, bytes)?, path));
        }
        Ok(())
    });
    let outcome = outcome.and_then(|()| {
        for (at, (draft, path)) in drafts.iter().enumerate() {
            if let Err(source) = fs::rename(draft, path) {
                // Nobody takes one file for a whole.
                drafts[..at].iter().for_each(|(_, path)| drop(fs::remove_file(path)));
                return Err(file_error(path, source));
            }
        }
        let special = [object, header].into_iter().filter(|(path, _)| !is_regular(path));
        special
            .into_iter()
            .try_for_each(|(path, bytes)| fs::write(path, bytes).map_err(|source| file_error(path, source)))
    });
    if outcome.is_err() {
        drafts.iter().for_each(|(draft, _)| drop(fs::remove_file(draft)));
    }
    outcome
}

/// Whether the path is free or that of a plain file.
fn is_regular(path: &Path) -> bool {
    path.is_file() || !path.exists()
}

/// Writes bytes to a new file beside a path.
fn draft(path: &Path, bytes: &[u8]) -> Result<PathBuf, Error> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let draft = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
        file.write_all(bytes).inspect_err(|_| drop(fs::remove_file(&draft)))
    };
    write().map_err(|source| file_error(path, source))?;
    Ok(draft)
}

fn file_error(path: &Path, source: io::Error) -> Error {
    Error::File { path: path.display().to_string(), source }
}
