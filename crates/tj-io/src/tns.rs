//! FROSTT: `.tns`, and `.tns.gz`.
//!
//! ```text
//! # tensorjit dtype f32 shape 2 3 4    a remark that only we read, written where the entries say too little
//! # any remark                         anywhere, as are empty lines
//! 1 1 1   1.5                          coordinates from 1, then the value, with blanks and tabs between
//! 2 3 4   -2e-1
//! ```
//!
//! The first entry decides the order: it has as many coordinates as words before the last, at most 64. Each dimension is as
//! long as the greatest coordinate needs, unless the caller or the remark says otherwise; then a coordinate beyond it is
//! an error. Entries come in any order, and those of one place are added. Values are f64, unless the remark says otherwise.
//! The format has no header, so that a file without entries is refused if nobody gives a shape. Refused on writing are
//! tensors of rank 0, complex numbers and fills other than 0.
//!
//! The result is in the format `coo`. Cost: O(n log n) for n entries that are not sorted.

use std::path::Path;

use tj_tensor::{DType, Duplicates, Format, Scalar, Tensor};

use crate::error::Place;
use crate::text::{self, Column, Kind, Line, Lines, Progress, unsigned};
use crate::{IoError, entries};

/// The first words of the remark that only we read.
const REMARK: [&[u8]; 2] = [b"#", b"tensorjit"];
/// No tensor has more dimensions.
const MAX_ORDER: usize = 64;

/// Reads a FROSTT file in the format `coo`. Without a shape each dimension is as long as the coordinates need.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.tns");
/// std::fs::write(&path, "# a remark\n1 2 0.5\n2 1 3\n").unwrap();
/// assert_eq!(tj_io::read_tns(&path, None)?.to_vec::<f64>().unwrap(), [0.0, 0.5, 3.0, 0.0]);
/// assert_eq!(tj_io::read_tns(&path, Some(&[5, 5]))?.shape(), [5, 5]);
/// # Ok::<(), tj_io::IoError>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is not as its module says; the error names the line and what belongs there.
pub fn read_tns(path: impl AsRef<Path>, shape: Option<&[usize]>) -> Result<Tensor, IoError> {
    read(&Place::file(path.as_ref()), shape, &mut |_, _| ())
}

/// What is known before the first entry.
struct Head {
    dtype: DType,
    shape: Option<Vec<usize>>,
}

pub(crate) fn read(
    place: &Place,
    shape: Option<&[usize]>,
    progress: Progress<'_>,
) -> Result<Tensor, IoError> {
    let mut lines = Lines::open(place, progress)?;
    let start = lines.peek()?;
    if start.is_empty() && shape.is_none() || crate::sniff::hint(start).is_some() {
        return Err(crate::sniff::not_this(place, "FROSTT (.tns)", start));
    }
    let mut head = Head { dtype: DType::F64, shape: None };
    let mut values = Column::new(Kind::Double, 0);
    let mut columns: Vec<Vec<u64>> = vec![];
    let mut extents: Vec<usize> = vec![];
    while let Some(mut line) = lines.next_line()? {
        if line.is_remark(b'#') {
            if values.len() == 0 {
                read_remark(&mut line, &mut head)?;
            }
            continue;
        }
        if values.len() == 0 {
            if let Some(shape) = shape {
                head.shape = Some(shape.to_vec());
            }
            let order = order(&line, head.shape.as_deref())?;
            columns = vec![vec![]; order];
            extents = vec![0; order];
            values = Column::new(Kind::of(head.dtype), 0);
        }
        let fields = columns.len() + 1;
        for (dim, column) in columns.iter_mut().enumerate() {
            let extent = head.shape.as_ref().map_or(isize::MAX as usize, |shape| shape[dim]);
            let coordinate = line.coordinate(extent, "a coordinate", fields)?;
            extents[dim] = extents[dim].max(coordinate + 1);
            column.push(coordinate as u64);
        }
        values.push(&mut line, fields)?;
        line.end(fields)?;
    }
    let shape = match (shape, head.shape) {
        (Some(shape), _) => shape.to_vec(),
        (None, Some(shape)) => shape,
        (None, None) if columns.is_empty() => {
            return Err(lines.error(None, "an entry, or a shape given by the caller", "the end of the file"));
        }
        (None, None) => extents,
    };
    drop(lines);
    if values.len() == 0 {
        columns = vec![vec![]; shape.len()];
        values = Column::new(Kind::of(head.dtype), 0);
    }
    let dtype = head.dtype;
    let values = values.into_tensor(dtype).map_err(place.tensor())?.map_err(|at| IoError::Content {
        place: place.clone(),
        what: "values",
        expected: format!("numbers of type {dtype}, as a remark says"),
        found: format!("another as number {}", at + 1),
    })?;
    let coordinates: Vec<Tensor> = columns.into_iter().map(Tensor::from).collect();
    let (fill, format) = (Scalar::zero(dtype), Format::coo(shape.len()));
    Tensor::from_entries(shape, &coordinates, values, fill, Duplicates::Sum, &format).map_err(place.tensor())
}

/// The number of coordinates of the first entry.
fn order(line: &Line<'_>, shape: Option<&[usize]>) -> Result<usize, IoError> {
    let found = line.count() - 1;
    match shape {
        Some(shape) if shape.len() != found => {
            let expected = format!("{} coordinates for shape {shape:?}", shape.len());
            Err(line.error(None, expected, found.to_string()))
        }
        _ if !(1..=MAX_ORDER).contains(&found) => Err(line.error(
            None,
            format!("1 to {MAX_ORDER} coordinates and a value"),
            format!("{} words", found + 1),
        )),
        _ => Ok(found),
    }
}

/// `# tensorjit dtype f32 shape 2 3 4`; any other remark is for people.
fn read_remark(line: &mut Line<'_>, head: &mut Head) -> Result<(), IoError> {
    if REMARK.iter().any(|word| line.word() != Some(word)) {
        return Ok(());
    }
    while let Some(word) = line.word() {
        if word == b"dtype" {
            let word = line.word().and_then(|word| std::str::from_utf8(word).ok()).unwrap_or("");
            let dtype = word.parse().ok().filter(|dtype: &DType| !dtype.is_complex());
            head.dtype = dtype.ok_or_else(|| line.wrong("a type of real numbers"))?;
        } else if word == b"shape" {
            let mut shape = vec![];
            while let Some(word) = line.word() {
                let size = unsigned(word).filter(|&size| size <= isize::MAX as u64);
                shape.push(size.ok_or_else(|| line.wrong("the size of a dimension"))? as usize);
            }
            if !(1..=MAX_ORDER).contains(&shape.len()) {
                return Err(line.wrong(&format!("1 to {MAX_ORDER} sizes")));
            }
            head.shape = Some(shape);
        } else {
            return Err(line.wrong("`dtype` or `shape`"));
        }
    }
    Ok(())
}

/// Writes a FROSTT file, which replaces the file at once: what the tensor stores, if it is made of lists, else what differs
/// from 0. Type and shape are put into a remark where the entries do not tell them; there are readers of this format that
/// know no remarks.
///
/// # Errors
/// A tensor of rank 0 or of more than 64 dimensions, of complex numbers, or with a fill other than 0; a file that cannot be
/// written.
pub fn write_tns(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), IoError> {
    let place = Place::file(path.as_ref());
    let cannot = |what| IoError::CannotHold { place: place.clone(), format: ".tns", what };
    let (dtype, shape) = (tensor.dtype(), tensor.shape());
    if !(1..=MAX_ORDER).contains(&shape.len()) {
        return Err(cannot(format!("a tensor of rank {}, only of 1 to {MAX_ORDER}", shape.len())));
    }
    if dtype.is_complex() {
        return Err(cannot(format!("{dtype}; write the real and imaginary parts one by one")));
    }
    if let Some(stored) = tensor.stored()
        && stored.fill() != Scalar::zero(dtype)
    {
        return Err(cannot(format!("the fill {}, only 0; use Tensor::to_dense", stored.fill())));
    }
    let tensor = match tensor.stored() {
        Some(_) => tensor.clone(),
        None => tensor.clone().with_fill(None).map_err(place.tensor())?,
    };
    let (coordinates, values) = entries::stored(&tensor).map_err(place.tensor())?;
    let count = values.shape()[0];
    let values = Column::of(&values).map_err(place.tensor())?;
    let is_inferred = |column: &Vec<u64>, &extent: &usize| {
        column.iter().max().is_some_and(|&greatest| greatest + 1 == extent as u64)
    };
    let mut remark = String::new();
    if dtype != DType::F64 {
        remark += &format!(" dtype {dtype}");
    }
    if !coordinates.iter().zip(shape).all(|(column, extent)| is_inferred(column, extent)) {
        remark += " shape";
        shape.iter().for_each(|extent| remark += &format!(" {extent}"));
    }
    text::write(&place, |to| {
        if !remark.is_empty() {
            writeln!(to, "# tensorjit{remark}")?;
        }
        for at in 0..count {
            for column in &coordinates {
                write!(to, "{} ", column[at] + 1)?;
            }
            values.write(to, at)?;
            to.write_all(b"\n")?;
        }
        Ok(())
    })
}
