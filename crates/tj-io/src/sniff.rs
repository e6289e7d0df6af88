//! What a file seems to be, by its first bytes: said in errors, never acted upon, because a name is a promise.

use std::path::Path;

use crate::IoError;
use crate::error::Place;
use crate::text::shown;

/// That a file is not what its name says.
pub(crate) fn not_this(place: &Place, expected: &'static str, start: &[u8]) -> IoError {
    let found = match start {
        [] => "it is empty".to_owned(),
        _ => {
            let line = start.split(|byte| *byte == b'\n').next().unwrap_or(start);
            format!("first line is {}", shown(line))
        }
    };
    IoError::NotThis { place: place.clone(), expected, found, hint: hint(start) }
}

/// What bytes at the start of a file mean, as advice.
pub(crate) fn hint(start: &[u8]) -> Option<&'static str> {
    let text = start.trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    Some(match start {
        [0x1f, 0x8b, ..] => "it is packed by gzip; give it a name that ends in .gz",
        [b'P', b'K', 3, 4, ..] => "it is a zip archive, as .npz files are",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "it is a NumPy array; give it a name that ends in .npy",
        [0x89, b'H', b'D', b'F', ..] => "it is an HDF5 file, which is not supported",
        [b'B', b'Z', b'h', ..] => "it is packed by bzip2; unpack it first",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is packed by zstd; unpack it first",
        [_, _, _, _, _, 0, 0, 0, b'{', ..] => {
            "it looks like safetensors; give it a name that ends in .safetensors"
        }
        _ if begins(b"%%MatrixMarket") => "it is a Matrix Market file; give it a name that ends in .mtx",
        _ if begins(b"<") => "it looks like a web page, such as an error message instead of a download",
        _ if is_harwell_boeing(start) => {
            "it looks like Harwell-Boeing, which is not supported; convert it to Matrix Market"
        }
        _ => return None,
    })
}

/// A title with a key behind it, then a line of up to five counts.
fn is_harwell_boeing(start: &[u8]) -> bool {
    let mut lines = start.split(|byte| *byte == b'\n');
    let (Some(title), Some(counts)) = (lines.next(), lines.next()) else { return false };
    let words: Vec<&[u8]> = counts.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let is_count = |word: &&[u8]| word.iter().all(u8::is_ascii_digit);
    title.len() > 60 && title.len() <= 82 && (4..=5).contains(&words.len()) && words.iter().all(is_count)
}

/// The extension that decides, in lower case: that before `.gz`, together with it.
pub(crate) fn extension(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let (stem, last) = name.rsplit_once('.')?;
    match stem.rsplit_once('.') {
        Some((_, inner)) if last == "gz" => Some(format!("{inner}.gz")),
        _ => Some(last.to_owned()),
    }
}
