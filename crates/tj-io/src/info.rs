//! What a file holds: of dense files from their headers alone.

use std::path::Path;

use tj_tensor::{DType, Format, Scalar, Tensor};

use crate::any::{self, Kind};
use crate::error::Place;
use crate::header::{Header, Order};
use crate::npz::Npz;
use crate::{IoError, file, npy, safetensors, scipy};

/// One array of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayInfo {
    /// Its name in an archive; `None` in a file that is one array.
    pub name: Option<String>,
    /// The element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<usize>,
    /// How the elements are kept.
    pub layout: Layout,
    /// Bytes of the elements, unpacked; of a tensor stored by levels those of its values in memory.
    pub bytes: u64,
}

/// How the elements of an array are kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Layout {
    /// All of them, in the file.
    Strided(Order),
    /// By levels, once read.
    Levels {
        /// The levels.
        format: Format,
        /// The value of what is not stored.
        fill: Scalar,
        /// The number of values that are stored.
        stored: usize,
        /// The number of elements that differ from the fill.
        nnz: usize,
        /// The bytes of each level's arrays in memory, outermost first.
        level_bytes: Vec<u64>,
    },
}

/// Describes the arrays of a file. Of dense arrays only headers are read; a text file or a sparse matrix has to be read in
/// whole, since its bytes do not say how much of it differs from the fill. Where the name says
/// nothing, the content tells NumPy's formats.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.npy");
/// tj_io::write(&path, &tj_tensor::Tensor::arange(6).unwrap())?;
/// let info = &tj_io::info(&path)?[0];
/// assert_eq!((info.dtype, &info.shape[..], info.bytes), (tj_tensor::DType::I64, &[6][..], 48));
/// # Ok::<(), tj_io::IoError>(())
/// ```
///
/// # Errors
/// As for reading the file.
pub fn info(path: impl AsRef<Path>) -> Result<Vec<ArrayInfo>, IoError> {
    let path = path.as_ref();
    let place = Place::file(path);
    let (kind, mut file, len) = match Kind::of(&place) {
        Ok(Kind::Mtx | Kind::Tns) => return Ok(vec![tensor_info(&place, &any::read_any(path)?)?]),
        Ok(Kind::Safetensors) => {
            let (mut file, len) = file::open(&place)?;
            let arrays = safetensors::read_header(&place, &mut *file, len)?;
            let info = |array: safetensors::Array| {
                let safetensors::Array { name, dtype, shape, bytes, .. } = array;
                ArrayInfo { name: Some(name), dtype, shape, layout: Layout::Strided(Order::RowMajor), bytes }
            };
            return Ok(arrays.into_iter().map(info).collect());
        }
        Ok(kind @ (Kind::Npy | Kind::Npz)) => {
            let (file, len) = file::open(&place)?;
            (kind, file, len)
        }
        Err(unknown) => any::by_content(&place, unknown)?,
    };
    if kind == Kind::Npy {
        let (header, bytes) = npy::read_header(&place, &mut file, len)?;
        return Ok(vec![array_info(None, header, bytes)]);
    }
    let mut archive = Npz::new(place.clone(), file, len)?;
    if scipy::is_sparse(&archive) {
        return Ok(vec![tensor_info(&place, &scipy::read(&mut archive)?)?]);
    }
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
    ArrayInfo { name, dtype, shape, layout: Layout::Strided(order), bytes }
}

fn tensor_info(place: &Place, tensor: &Tensor) -> Result<ArrayInfo, IoError> {
    let (dtype, shape) = (tensor.dtype(), tensor.shape().to_vec());
    let stored = tensor.stored_count();
    let mut bytes = (stored * dtype.size()) as u64;
    let layout = match tensor.stored() {
        None if tensor.is_contiguous() => Layout::Strided(Order::RowMajor),
        None => Layout::Strided(Order::ColumnMajor),
        Some(levels) => {
            if !matches!(levels.leaf(), tj_tensor::Leaf::Values(_)) {
                bytes = 0;
            }
            Layout::Levels {
                format: tensor.format(),
                fill: levels.fill(),
                stored,
                nnz: tensor.nnz().map_err(place.tensor())?,
                level_bytes: levels.levels().iter().map(|level| level.bytes() as u64).collect(),
            }
        }
    };
    Ok(ArrayInfo { name: None, dtype, shape, layout, bytes })
}
