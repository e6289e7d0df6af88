//! Matrix Market: `.mtx`, and `.mtx.gz`.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric   the banner; case does not matter
//! %tensorjit dtype f32                              a remark that only we read, where the banner says too little
//! % any remark                                      anywhere, as are empty lines
//! 3 3 2                                             rows, columns, entries; of an array rows and columns
//! 1 1 0.5                                           row and column from 1, value
//! 3 1 -1e3
//! ```
//!
//! | word | choices |
//! |---|---|
//! | layout | `coordinate`: entries in any order, those of one place are added; `array`: values, columns one after the other |
//! | field | `real`, `double` (f64), `integer` (i64), `unsigned-integer` (u64), `complex` (c128, two words), `pattern` (bool, no value; not of an array) |
//! | symmetry | `general`, `symmetric`, `skew-symmetric` (not of patterns and unsigned), `hermitian` (of complex) |
//!
//! Of a matrix that is not general one triangle is in the file; of an array the lower, without the diagonal if it is
//! skew. Both triangles in one file are refused, because nobody can say whether they are to be added. So is a diagonal
//! that contradicts the symmetry, and whatever does not fit the numbers of the size line: no room is made for numbers that
//! the bytes of the file could not fill. `vector` and other objects are not read.
//!
//! Coordinates give a tensor in the format `coo(2)` with fill 0 (`false`, and a pattern for a leaf), arrays a view of
//! columns. Written are general matrices only: finding a symmetry would cost a search that few need.
//!
//! Cost: O(n log n) for n entries that are not sorted; some 64 bytes for each until they are.

mod banner;
mod write;

use std::cmp::Ordering;
use std::path::Path;

use tj_tensor::{DType, Duplicates, Format, LeafKind, Scalar, Tensor};

use self::banner::{Banner, Layout, Symmetry};
use crate::IoError;
use crate::error::Place;
use crate::text::{Column, Kind, Line, Lines, Mirror, Progress, shown};

pub use write::write_mtx;

/// Reads a Matrix Market file: coordinates as `coo(2)`, an array as a dense view of columns.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate integer general\n2 3 2\n1 3 7\n2 1 -4\n").unwrap();
/// let x = tj_io::read_mtx(&path)?;
/// assert_eq!((x.format().to_string(), x.to_vec::<i64>().unwrap()), ("coo(2)".into(), vec![0, 0, 7, -4, 0, 0]));
/// # Ok::<(), tj_io::IoError>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is not as this module says; the error names the line and what belongs there.
pub fn read_mtx(path: impl AsRef<Path>) -> Result<Tensor, IoError> {
    read(&Place::file(path.as_ref()), &mut |_, _| ())
}

/// The numbers in front of the data.
struct Head {
    banner: Banner,
    dtype: DType,
    kind: Kind,
    rows: usize,
    columns: usize,
    /// Of coordinates.
    entries: usize,
}

pub(crate) fn read(place: &Place, progress: Progress<'_>) -> Result<Tensor, IoError> {
    let mut lines = Lines::open(place, progress)?;
    let head = read_head(place, &mut lines)?;
    match head.banner.layout {
        Layout::Coordinate => read_entries(place, &head, lines),
        Layout::Array => read_array(place, &head, lines),
    }
}

/// Everything up to the size line.
fn read_head(place: &Place, lines: &mut Lines<'_>) -> Result<Head, IoError> {
    if !Banner::starts(lines.peek()?) {
        let found = lines.peek()?;
        return Err(crate::sniff::not_this(place, "MatrixMarket", found));
    }
    let mut banner = None;
    let mut dtype = None;
    while let Some(mut line) = lines.next_line()? {
        let Some(banner) = banner else {
            banner = Some(Banner::read(&mut line)?);
            continue;
        };
        if line.is_remark(b'%') {
            if let Some(found) = banner::dtype(&mut line, banner)? {
                dtype = Some(found);
            }
            continue;
        }
        let dtype = dtype.unwrap_or(banner.field.dtype());
        let kind = banner.field.kind(dtype);
        let fields = if banner.layout == Layout::Coordinate { 3 } else { 2 };
        let rows = line.size("the number of rows", fields)?;
        let columns = line.size("the number of columns", fields)?;
        let entries = match banner.layout {
            Layout::Coordinate => line.size("the number of entries", fields)?,
            Layout::Array => 0,
        };
        line.end(fields)?;
        if banner.symmetry != Symmetry::General && rows != columns {
            let expected = format!("as many rows as columns in a {} matrix", banner.symmetry.name());
            return Err(line.error(None, expected, format!("{rows} and {columns}")));
        }
        return Ok(Head { banner, dtype, kind, rows, columns, entries });
    }
    Err(lines.error(None, "a line of sizes", "the end of the file"))
}

/// The lines after the size line, each of which holds one entry.
fn read_entries(place: &Place, head: &Head, mut lines: Lines<'_>) -> Result<Tensor, IoError> {
    let mirror = head.banner.symmetry.mirror();
    let fields = 2 + head.kind.words();
    let room = lines.room(head.entries, 2 * fields as u64);
    let mut rows: Vec<u64> = Vec::with_capacity(room);
    let mut columns: Vec<u64> = Vec::with_capacity(room);
    let mut values = Column::new(head.kind, room);
    let mut count = 0;
    let mut triangle = None;
    while let Some(mut line) = lines.next_line()? {
        if line.is_remark(b'%') {
            continue;
        }
        if count == head.entries {
            return Err(too_many(&line, count, "entries"));
        }
        let row = line.coordinate(head.rows, "a row", fields)?;
        let column = line.coordinate(head.columns, "a column", fields)?;
        let at = values.len();
        values.push(&mut line, fields)?;
        line.end(fields)?;
        rows.push(row as u64);
        columns.push(column as u64);
        count += 1;
        let Some(mirror) = mirror else { continue };
        let side = row.cmp(&column);
        if side == Ordering::Equal {
            check_diagonal(&line, &values, at, head)?;
            continue;
        }
        if *triangle.get_or_insert(side) != side {
            let (one, other) = match side {
                Ordering::Less => ("below", "above"),
                Ordering::Equal | Ordering::Greater => ("above", "below"),
            };
            let name = head.banner.symmetry.name();
            let expected = format!("entries of a {name} matrix on one side of the diagonal");
            return Err(line.error(None, expected, format!("one {other} it after others {one} it")));
        }
        rows.push(column as u64);
        columns.push(row as u64);
        values.push_mirrored(at, mirror);
    }
    if count < head.entries {
        return Err(lines.error(None, format!("{} entries", head.entries), count.to_string()));
    }
    drop(lines);
    let is_pattern = head.kind == Kind::Pattern;
    let values = finished(place, values, head.dtype)?;
    let leaf = if is_pattern { LeafKind::Pattern } else { LeafKind::Values };
    let format = Format::coo(2).with_leaf(leaf).map_err(place.tensor())?;
    let coordinates = [Tensor::from(rows), Tensor::from(columns)];
    let (shape, fill) = ([head.rows, head.columns], Scalar::zero(head.dtype));
    Tensor::from_entries(shape, &coordinates, values, fill, Duplicates::Sum, &format).map_err(place.tensor())
}

/// The lines after the size line, each of which holds one value.
fn read_array(place: &Place, head: &Head, mut lines: Lines<'_>) -> Result<Tensor, IoError> {
    let Head { rows, columns, kind, .. } = *head;
    let symmetry = head.banner.symmetry;
    let (n, m) = (rows as u128, columns as u128);
    let claimed = match symmetry {
        Symmetry::General => n * m,
        Symmetry::Symmetric | Symmetry::Hermitian => n * (n + 1) / 2,
        Symmetry::Skew => n * n.saturating_sub(1) / 2,
    };
    let fields = kind.words();
    let room = lines.room(usize::try_from(claimed).unwrap_or(usize::MAX), 2 * fields as u64);
    let mut values = Column::new(kind, room);
    // The coordinates of the next value.
    let first = |column: usize| match symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric | Symmetry::Hermitian => column,
        Symmetry::Skew => column + 1,
    };
    let (mut row, mut column) = (first(0), 0);
    while let Some(mut line) = lines.next_line()? {
        if line.is_remark(b'%') {
            continue;
        }
        let at = values.len();
        if at as u128 == claimed {
            return Err(too_many(&line, at, "values"));
        }
        values.push(&mut line, fields)?;
        line.end(fields)?;
        if row == column && symmetry != Symmetry::General {
            check_diagonal(&line, &values, at, head)?;
        }
        row += 1;
        if row >= rows {
            column += 1;
            row = first(column);
        }
    }
    if (values.len() as u128) < claimed {
        return Err(lines.error(None, format!("{claimed} values"), values.len().to_string()));
    }
    drop(lines);
    if let Some(mirror) = symmetry.mirror() {
        values = both_triangles(values, rows, mirror, &first);
    }
    let values = finished(place, values, head.dtype)?;
    Ok(values.reshape([columns, rows]).map_err(place.tensor())?.transpose())
}

/// All values of a matrix, of whose lower triangle there are some from the row `first` of each column on.
fn both_triangles(mut values: Column, n: usize, mirror: Mirror, first: &dyn Fn(usize) -> usize) -> Column {
    let given = values.len();
    (0..given).for_each(|at| values.push_mirrored(at, mirror));
    let zero = values.len();
    values.push_zero();
    // Where each column starts, less its first row.
    let mut starts = vec![];
    let mut at = 0;
    for column in 0..n {
        starts.push((at as isize) - first(column) as isize);
        at += n - first(column).min(n);
    }
    let place = |row: usize, column: usize| (starts[column] + row as isize) as usize;
    let mut places = Vec::with_capacity(n * n);
    for column in 0..n {
        for row in 0..n {
            places.push(match row.cmp(&column) {
                Ordering::Equal if first(column) > column => zero,
                Ordering::Equal | Ordering::Greater => place(row, column),
                Ordering::Less => given + place(column, row),
            });
        }
    }
    values.gathered(&places)
}

fn check_diagonal(line: &Line<'_>, values: &Column, at: usize, head: &Head) -> Result<(), IoError> {
    let Some(mirror) = head.banner.symmetry.mirror() else { return Ok(()) };
    if values.fits_diagonal(at, mirror) {
        return Ok(());
    }
    let what = if mirror == Mirror::Negated { "nothing but 0" } else { "a real number" };
    let expected = format!("{what} on the diagonal of a {} matrix", head.banner.symmetry.name());
    Err(line.error(None, expected, shown(line.bytes())))
}

fn too_many(line: &Line<'_>, n: usize, what: &str) -> IoError {
    line.error(None, format!("no more than {n} {what}"), shown(line.bytes()))
}

/// The values in the type that the file asked for.
fn finished(place: &Place, values: Column, dtype: DType) -> Result<Tensor, IoError> {
    match values.into_tensor(dtype).map_err(place.tensor())? {
        Ok(values) => Ok(values),
        Err(at) => Err(IoError::Content {
            place: place.clone(),
            what: "values",
            expected: format!("numbers of type {dtype}, as a remark says"),
            found: format!("another as number {}", at + 1),
        }),
    }
}
