//! What a file holds, from its headers alone.

use std::io::{Seek, SeekFrom};
use std::path::Path;

use tj_tensor::DType;

use crate::error::Place;
use crate::header::{Header, Order};
use crate::npz::Npz;
use crate::{IoError, file, npy};

/// One array of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayInfo {
    /// Its name in an archive; `None` in a file that is one array.
    pub name: Option<String>,
    /// The element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<usize>,
    /// The order of the elements in the file.
    pub order: Order,
    /// Bytes of the elements, unpacked.
    pub bytes: u64,
}

/// Describes the arrays of an `.npy` or `.npz` file, whichever its content says it is, without reading their data.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.npy");
/// tj_io::write(&path, &tj_tensor::Tensor::arange(6).unwrap())?;
/// let info = &tj_io::info(&path)?[0];
/// assert_eq!((info.dtype, &info.shape[..], info.bytes), (tj_tensor::DType::I64, &[6][..], 48));
/// # Ok::<(), tj_io::IoError>(())
/// ```
pub fn info(path: impl AsRef<Path>) -> Result<Vec<ArrayInfo>, IoError> {
    let place = Place::file(path.as_ref());
    let (mut file, len) = file::open(&place)?;
    let mut start = [0; 2];
    let is_archive = len >= 2 && file.read_exact(&mut start).is_ok() && &start == b"PK";
    file.seek(SeekFrom::Start(0)).map_err(place.system("read"))?;
    if !is_archive {
        let (header, bytes) = npy::read_header(&place, &mut file, len)?;
        return Ok(vec![array_info(None, header, bytes)]);
    }
    let mut archive = Npz::new(place, file, len)?;
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    names
        .into_iter()
        .map(|name| {
            let (header, bytes) = archive.header(&name)?;
            Ok(array_info(Some(name), header, bytes))
        })
        .collect()
}

fn array_info(name: Option<String>, header: Header, bytes: u64) -> ArrayInfo {
    let Header { dtype, order, shape, bytes: _ } = header;
    ArrayInfo { name, dtype, shape, order, bytes }
}
