//! Writing sparse matrices for SciPy.

use std::path::Path;

use tj_tensor::{Coordinate, Indices, Leaf, Level, LevelKind, Scalar, Tensor, TensorError};

use crate::error::Place;
use crate::zip::{Method, Writer};
use crate::{IoError, entries, file, header, npy};

/// Writes a matrix as SciPy's `save_npz` does: `csr` and `csc` as they are, anything else as `coo`. The file is replaced at
/// once.
///
/// ```
/// use tj_tensor::{Format, Tensor};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.npz");
/// let x = Tensor::from_shape_vec([2, 2], vec![0.0, 3.0, 0.0, 0.0]).unwrap().with_format(&Format::csc()).unwrap();
/// tj_io::write_sparse_npz(&path, &x)?;
/// let back = tj_io::read_sparse_npz(&path)?;
/// assert!(back.bit_eq(&x) && back.format().to_string() == "csc");
/// # Ok::<(), tj_io::IoError>(())
/// ```
///
/// # Errors
/// A tensor that is not a matrix, has a fill other than 0, or a type that NumPy does not have; a file that cannot be written.
pub fn write_sparse_npz(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), IoError> {
    let place = Place::file(path.as_ref());
    let cannot = |what| IoError::CannotHold { place: place.clone(), format: "sparse .npz", what };
    if tensor.rank() != 2 {
        return Err(cannot(format!("a tensor of shape {:?}, only matrices", tensor.shape())));
    }
    let fill = Scalar::zero(tensor.dtype());
    if let Some(stored) = tensor.stored()
        && stored.fill() != fill
    {
        return Err(cannot(format!("the fill {}, only 0; use Tensor::to_dense", stored.fill())));
    }
    let tensor = match tensor.stored() {
        Some(_) => tensor.clone(),
        None => tensor.clone().with_fill(None).map_err(place.tensor())?,
    };
    let (name, arrays) = arrays(&tensor).map_err(place.tensor())?;
    let shape: Vec<i64> = tensor.shape().iter().map(|&extent| extent as i64).collect();
    let shape = Tensor::from(shape);
    file::replace(&place, |to| {
        let mut writer = Writer::new(to);
        for (name, array) in arrays.iter().map(|(name, array)| (*name, array)).chain([("shape", &shape)]) {
            let place = place.entry(name);
            let (header, data) = npy::to_parts(&place, array)?;
            let data = data.as_bytes().expect("the parts of an array are contiguous");
            writer
                .add(&format!("{name}.npy"), [&header, data], Method::Deflate)
                .map_err(place.system("write"))?;
        }
        let header = header::text_header(name.len());
        writer
            .add("format.npy", [&header, name.as_bytes()], Method::Deflate)
            .map_err(place.system("write"))?;
        writer.finish().map_err(place.system("write"))
    })
}

/// The name of the format, and the arrays that it has.
#[expect(clippy::type_complexity, reason = "arrays with their names")]
fn arrays(tensor: &Tensor) -> Result<(&'static str, Vec<(&'static str, Tensor)>), TensorError> {
    let format = tensor.format();
    let name = match format.levels() {
        [outer, inner] if outer.kind == LevelKind::Dense => match (outer.coordinate, inner.coordinate) {
            (Coordinate::Dim(0), Coordinate::Dim(1)) => Some("csr"),
            (Coordinate::Dim(1), Coordinate::Dim(0)) => Some("csc"),
            _ => None,
        },
        _ => None,
    };
    // Arrays of any width are told apart by their levels, not by comparing formats.
    if let (Some(name), Some(stored)) = (name, tensor.stored())
        && let [_, Level::Compressed { positions, coordinates }] = stored.levels()
        && let Leaf::Values(values) = stored.leaf()
    {
        let arrays =
            vec![("indices", signed(coordinates)?), ("indptr", signed(positions)?), ("data", values.clone())];
        return Ok((name, arrays));
    }
    let (mut columns, values) = entries::stored(tensor)?;
    let mut column = || {
        let column: Vec<usize> = columns.remove(0).into_iter().map(|c| c as usize).collect();
        signed(&Indices::new(&column, None)?)
    };
    let (rows, columns) = (column()?, column()?);
    Ok(("coo", vec![("row", rows), ("col", columns), ("data", values)]))
}

/// Indices as SciPy has them: signed, of 32 bits where these are enough.
fn signed(indices: &Indices) -> Result<Tensor, TensorError> {
    let values = indices.to_vec();
    if values.iter().all(|&value| i32::try_from(value).is_ok()) {
        return Ok(values.into_iter().map(|value| value as i32).collect::<Vec<_>>().into());
    }
    Ok(values.into_iter().map(|value| value as i64).collect::<Vec<_>>().into())
}
