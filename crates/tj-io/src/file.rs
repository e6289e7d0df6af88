//! Opening for reading, and publishing what was written all at once.

use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor, Read, Seek, Write};
use std::path::Path;

use crate::IoError;
use crate::error::Place;

/// What archives are read from.
pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file and its length. A pipe has no length and is read into memory first; a device may never end, so it is refused
/// before it is opened.
pub(crate) fn open(place: &Place) -> Result<(Box<dyn ReadSeek>, u64), IoError> {
    let kind = fs::metadata(&place.file).map_err(place.system("open"))?.file_type();
    if kind.is_dir() {
        return Err(place.system("read")(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    if !kind.is_file() && !is_pipe(kind) {
        return Err(place.system("read")(io::Error::other("neither a regular file nor a pipe")));
    }
    let mut file = File::open(&place.file).map_err(place.system("open"))?;
    let metadata = file.metadata().map_err(place.system("open"))?;
    if metadata.is_file() {
        return Ok((Box::new(file), metadata.len()));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(place.system("read"))?;
    let len = bytes.len() as u64;
    Ok((Box::new(Cursor::new(bytes)), len))
}

#[cfg(unix)]
fn is_pipe(kind: fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
fn is_pipe(_: fs::FileType) -> bool {
    false
}

/// Lets `write` produce a file next to `path`, then renames it, so that readers see the old file or the whole new
/// one and an error leaves the old one. What is not a regular file (`/dev/stdout`, a pipe) is written in place, and a
/// symbolic link is followed. The data are not forced to disk: against a power failure they are no safer than those
/// of any program that writes a file.
pub(crate) fn replace(
    place: &Place,
    write: impl FnOnce(&mut dyn Write) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let existing = fs::metadata(&place.file).ok();
    if existing.as_ref().is_some_and(|m| !m.is_file()) {
        let mut file = File::options().write(true).open(&place.file).map_err(place.system("open"))?;
        return write(&mut file);
    }
    let target = match existing {
        Some(_) => fs::canonicalize(&place.file).map_err(place.system("open"))?,
        None => place.file.clone(),
    };
    let folder = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tj-");
    // A temporary file is private by default; this one is to become what an ordinary write would have left.
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    builder.permissions(permissions);
    let temporary = builder.tempfile_in(folder).map_err(place.system("create"))?;
    let mut writer = BufWriter::new(temporary);
    write(&mut writer)?;
    let temporary = writer.into_inner().map_err(|e| place.system("write")(e.into_error()))?;
    if let Some(existing) = existing {
        temporary.as_file().set_permissions(existing.permissions()).map_err(place.system("write"))?;
    }
    temporary.persist(&target).map_err(|e| place.system("write")(e.error))?;
    Ok(())
}
