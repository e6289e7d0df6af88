//! Writing Matrix Market.

use std::path::Path;

use tj_tensor::{Scalar, Tensor};

use super::banner::{Field, REMARK};
use crate::error::Place;
use crate::text::{self, Column};
use crate::{IoError, entries};

/// Writes a matrix into a Matrix Market file, which replaces the file at once: a tensor stored by levels as coordinates,
/// with the zeros that it stores; any other as an array. Truth values stored by levels become a pattern.
///
/// ```
/// use tj_tensor::{Format, Tensor};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.mtx");
/// let x = Tensor::from_shape_vec([2, 2], vec![0.0, -0.5, 0.0, 0.0]).unwrap();
/// tj_io::write_mtx(&path, &x.with_format(&Format::csr()).unwrap())?;
/// let text = std::fs::read_to_string(&path).unwrap();
/// assert_eq!(text, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -0.5\n");
/// # Ok::<(), tj_io::IoError>(())
/// ```
///
/// # Errors
/// A tensor that is not a matrix, or whose fill is not 0; a file that cannot be written.
pub fn write_mtx(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), IoError> {
    let place = Place::file(path.as_ref());
    let cannot = |what| IoError::CannotHold { place: place.clone(), format: ".mtx", what };
    let &[rows, columns] = tensor.shape() else {
        return Err(cannot(format!("a tensor of shape {:?}, only matrices", tensor.shape())));
    };
    let dtype = tensor.dtype();
    let field = match tensor.stored() {
        Some(_) if dtype.is_bool() => Field::Pattern,
        _ => Field::of(dtype),
    };
    let remark = if dtype == field.dtype() { String::new() } else { format!("{REMARK} dtype {dtype}\n") };
    let head = |layout: &str| format!("%%MatrixMarket matrix {layout} {} general\n{remark}", field.name());
    let Some(stored) = tensor.stored() else {
        let values = tensor.transpose().to_contiguous().map_err(place.tensor())?;
        let count = values.count().map_err(place.tensor())?;
        let values =
            values.reshape([count]).and_then(|values| Column::of(&values)).map_err(place.tensor())?;
        return text::write(&place, |to| {
            writeln!(to, "{}{rows} {columns}", head("array"))?;
            (0..count).try_for_each(|at| {
                values.write(to, at)?;
                to.write_all(b"\n")
            })
        });
    };
    if stored.fill() != Scalar::zero(dtype) {
        return Err(cannot(format!("the fill {}, only 0; use Tensor::to_dense", stored.fill())));
    }
    let entries = match field {
        // A pattern has no words for what is stored and false.
        Field::Pattern => entries::nonzero(tensor),
        Field::Real | Field::Integer | Field::Unsigned | Field::Complex => entries::stored(tensor),
    };
    let (coordinates, values) = entries.map_err(place.tensor())?;
    let count = values.shape()[0];
    let values = match field {
        Field::Pattern => Column::Pattern(count),
        Field::Real | Field::Integer | Field::Unsigned | Field::Complex => {
            Column::of(&values).map_err(place.tensor())?
        }
    };
    text::write(&place, |to| {
        writeln!(to, "{}{rows} {columns} {count}", head("coordinate"))?;
        for (at, (row, column)) in coordinates[0].iter().zip(&coordinates[1]).enumerate() {
            write!(to, "{} {}", row + 1, column + 1)?;
            if field != Field::Pattern {
                to.write_all(b" ")?;
            }
            values.write(to, at)?;
            to.write_all(b"\n")?;
        }
        Ok(())
    })
}
