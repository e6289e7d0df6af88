//! Opening for reading, and publishing what was written all at once.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::IoError;
use crate::error::Place;

/// What archives are read from.
pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file and its length. What is no regular file has no length and may never end, or never begin, so it is refused
/// before it is opened.
pub(crate) fn open(place: &Place) -> Result<(Box<dyn ReadSeek>, u64), IoError> {
    let regular = |metadata: &fs::Metadata| {
        if metadata.is_dir() {
            return Err(place.system("read")(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        if !metadata.is_file() {
            return Err(place.system("read")(io::Error::other("not a regular file")));
        }
        Ok(())
    };
    regular(&fs::metadata(&place.file).map_err(place.system("open"))?)?;
    let file = File::open(&place.file).map_err(place.system("open"))?;
    let metadata = file.metadata().map_err(place.system("open"))?;
    regular(&metadata)?;
    Ok((Box::new(file), metadata.len()))
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
