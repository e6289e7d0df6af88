//! Sparse matrices as SciPy's `save_npz` writes them: an `.npz` archive with these arrays.
//!
//! | `format` | further arrays | read as |
//! |---|---|---|
//! | `csr`, `csc` | `indptr`, `indices` | `csr`, `csc` |
//! | `coo` | `row`, `col` | `coo(2)` |
//! | `bsr` | `indptr`, `indices` of blocks | `bcsr` with the blocks' size |
//! | `dia` | `offsets` | `dia` |
//!
//! `shape` has two integers and `data` the values: a vector; of `bsr` the blocks, one after the other; of `dia` a row for each
//! diagonal, where place `j` belongs to column `j`. `_is_array` does not matter here.
//!
//! SciPy allows what our formats do not: indices that do not increase, and repeated ones, whose values are added. Such
//! matrices are sorted and summed; others are taken over without a copy. SciPy also allows more indices than `indptr`
//! reaches; they are dropped, as SciPy does. Everything else is checked: lengths, bounds, order. Only matrices are read.
//!
//! Written are `csr`, `csc` and `coo`, with 32-bit indices where they are enough; what is stored otherwise is written as
//! `coo`. A fill other than 0 is refused.

mod write;

use tj_tensor::{DType, Duplicates, Format, Indices, Leaf, Level, Scalar, Tensor};

use crate::IoError;
use crate::error::Place;
use crate::npz::Npz;

pub use write::write_sparse_npz;

/// Whether an archive is a sparse matrix.
pub(crate) fn is_sparse(archive: &Npz) -> bool {
    let has = |name: &str| archive.names().any(|known| known == name);
    has("format") && has("shape") && has("data")
}

/// Reads a sparse matrix of SciPy, in the format it was stored in.
///
/// # Errors
/// An archive that is none such, or whose arrays contradict each other; the error names the array.
pub fn read_sparse_npz(path: impl AsRef<std::path::Path>) -> Result<Tensor, IoError> {
    let mut archive = Npz::open(path)?;
    read(&mut archive)
}

pub(crate) fn read(archive: &mut Npz) -> Result<Tensor, IoError> {
    let format = archive.read_word("format")?;
    let place = archive.place().clone();
    let shape = indices(archive, "shape")?.to_vec();
    let &[rows, columns] = &shape[..] else {
        return Err(wrong(&place.entry("shape"), "shape", "two sizes", shape.len()));
    };
    let matrix = Matrix { place, shape: [rows, columns], data: archive.read("data")? };
    match format.as_str() {
        "csr" | "csc" => {
            let lists = matrix.lists(archive, format == "csr", [1, 1], 1)?;
            matrix.compressed(lists, format == "csr")
        }
        "bsr" => matrix.blocks(archive),
        "coo" => {
            let (row, column) = (indices(archive, "row")?, indices(archive, "col")?);
            let count = matrix.vector()?;
            for (name, list, extent) in [("row", &row, rows), ("col", &column, columns)] {
                let place = matrix.place.entry(name);
                if list.len() != count {
                    return Err(wrong(&place, "indices", format!("{count}, one for each value"), list.len()));
                }
                check_below(&place, list, extent)?;
            }
            matrix.entries(row.to_vec(), column.to_vec(), matrix.data.clone(), &Format::coo(2))
        }
        "dia" => matrix.diagonals(archive),
        other => {
            let expected = "`csr`, `csc`, `coo`, `bsr` or `dia`";
            Err(wrong(&matrix.place.entry("format"), "format", expected, format!("{other:?}")))
        }
    }
}

/// Where lists start, and the lists; of what is beyond the last one nothing is left.
struct Lists {
    starts: Indices,
    indices: Indices,
    /// Whether the indices of every list increase.
    ordered: bool,
}

/// What every format has.
struct Matrix {
    place: Place,
    shape: [usize; 2],
    data: Tensor,
}

impl Matrix {
    fn fill(&self) -> Scalar {
        Scalar::zero(self.data.dtype())
    }

    /// The number of values of a vector of them.
    fn vector(&self) -> Result<usize, IoError> {
        match self.data.shape() {
            &[count] => Ok(count),
            other => Err(wrong(&self.place.entry("data"), "values", "a vector", format!("shape {other:?}"))),
        }
    }

    /// Reads `indptr` and `indices` for `rows` (or columns) of blocks.
    fn lists(
        &self,
        archive: &mut Npz,
        by_row: bool,
        block: [usize; 2],
        rank: usize,
    ) -> Result<Lists, IoError> {
        let [rows, columns] = [self.shape[0] / block[0], self.shape[1] / block[1]];
        let (outer, inner) = if by_row { (rows, columns) } else { (columns, rows) };
        let starts = indices(archive, "indptr")?;
        let place = self.place.entry("indptr");
        if starts.len().checked_sub(1) != Some(outer) {
            return Err(wrong(&place, "indices", format!("{outer} + 1"), starts.len()));
        }
        if starts.get(0) != 0 {
            return Err(wrong(&place, "index 0", "0", starts.get(0)));
        }
        if let Some(at) = (0..outer).find(|&at| starts.get(at) > starts.get(at + 1)) {
            let (before, found) = (starts.get(at), starts.get(at + 1));
            return Err(wrong(&place, "indices", format!("at least {before} at {}", at + 1), found));
        }
        let count = starts.get(outer);
        let list = archive.read("indices")?;
        let place = self.place.entry("indices");
        let list = if list.rank() == 1 && list.shape()[0] > count {
            list.slice(0, (0..count as i64).into()).map_err(place.tensor())?
        } else {
            list
        };
        let list = Indices::from_tensor(&list, "indices").map_err(place.tensor())?;
        if list.len() < count {
            return Err(wrong(&place, "indices", format!("at least {count}, as indptr ends"), list.len()));
        }
        check_below(&place, &list, inner)?;
        let values = if self.data.rank() == rank { self.data.shape()[0] } else { 0 };
        if values < count {
            let place = self.place.entry("data");
            return Err(wrong(
                &place,
                "values",
                format!("at least {count}"),
                format!("shape {:?}", self.data.shape()),
            ));
        }
        let increases = |at: usize| {
            let (start, end) = (starts.get(at), starts.get(at + 1));
            (start + 1..end).all(|at| list.get(at - 1) < list.get(at))
        };
        let ordered = (0..outer).all(increases);
        Ok(Lists { starts, indices: list, ordered })
    }

    /// The first values, one for each index.
    fn first_values(&self, lists: &Lists) -> Result<Tensor, IoError> {
        let range = 0..lists.indices.len() as i64;
        let values = self.data.slice(0, range.into()).and_then(|values| values.to_contiguous());
        values.map_err(self.place.entry("data").tensor())
    }

    fn compressed(&self, lists: Lists, by_row: bool) -> Result<Tensor, IoError> {
        let values = self.first_values(&lists)?;
        let format = if by_row { Format::csr() } else { Format::csc() };
        if lists.ordered {
            let Lists { starts, indices, .. } = lists;
            let level = Level::Compressed { positions: starts, coordinates: indices };
            let levels = vec![Level::Dense, level];
            let leaf = Leaf::Values(values);
            let built = Tensor::from_levels(format, self.shape, levels, leaf, self.fill());
            return built.map_err(self.place.tensor());
        }
        let outer = spread(&lists.starts);
        let inner = lists.indices.to_vec();
        let (rows, columns) = if by_row { (outer, inner) } else { (inner, outer) };
        self.entries(rows, columns, values, &format)
    }

    fn blocks(&self, archive: &mut Npz) -> Result<Tensor, IoError> {
        let place = self.place.entry("data");
        let &[_, height, width] = self.data.shape() else {
            return Err(wrong(
                &place,
                "values",
                "a list of blocks",
                format!("shape {:?}", self.data.shape()),
            ));
        };
        let divides = |block: usize, extent: usize| block > 0 && extent.is_multiple_of(block);
        if !divides(height, self.shape[0]) || !divides(width, self.shape[1]) {
            let expected = format!("blocks that fill shape {:?}", self.shape);
            return Err(wrong(&place, "values", expected, format!("blocks of {height} by {width}")));
        }
        let lists = self.lists(archive, true, [height, width], 3)?;
        let format = Format::bcsr(height, width).map_err(place.tensor())?;
        let values = self.first_values(&lists)?;
        let values = values.reshape([values.count().map_err(place.tensor())?]).map_err(place.tensor())?;
        if lists.ordered {
            let Lists { starts, indices, .. } = lists;
            let level = Level::Compressed { positions: starts, coordinates: indices };
            let levels = vec![Level::Dense, level, Level::Dense, Level::Dense];
            let built = Tensor::from_levels(format, self.shape, levels, Leaf::Values(values), self.fill());
            return built.map_err(self.place.tensor());
        }
        let (mut rows, mut columns) = (vec![], vec![]);
        for (at, row) in spread(&lists.starts).into_iter().enumerate() {
            let column = lists.indices.get(at);
            for place in 0..height * width {
                rows.push(row * height + place / width);
                columns.push(column * width + place % width);
            }
        }
        self.entries(rows, columns, values, &format)
    }

    fn diagonals(&self, archive: &mut Npz) -> Result<Tensor, IoError> {
        let place = self.place.entry("offsets");
        let offsets = archive.read("offsets")?;
        if offsets.rank() != 1 || !offsets.dtype().is_int() {
            let found = format!("{} of shape {:?}", offsets.dtype(), offsets.shape());
            return Err(wrong(&place, "offsets", "a vector of integers", found));
        }
        let offsets = offsets.cast(DType::I64).map_err(place.tensor())?;
        let offsets: Vec<i64> = offsets.to_vec().map_err(place.tensor())?;
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(wrong(&place, "offsets", "each once", format!("{} twice", pair[0])));
        }
        let data = self.place.entry("data");
        let &[count, length] = self.data.shape() else {
            return Err(wrong(&data, "values", "a row a diagonal", format!("shape {:?}", self.data.shape())));
        };
        if count != offsets.len() {
            return Err(wrong(&data, "values", format!("{} rows, one an offset", offsets.len()), count));
        }
        let [n_rows, n_columns] = self.shape;
        let (mut rows, mut columns, mut places) = (vec![], vec![], vec![]);
        for (diagonal, &offset) in offsets.iter().enumerate() {
            for column in 0..length.min(n_columns) {
                let row = column as i128 - i128::from(offset);
                if (0..n_rows as i128).contains(&row) {
                    rows.push(row as usize);
                    columns.push(column);
                    places.push(diagonal * length + column);
                }
            }
        }
        let values = self.data.to_contiguous().and_then(|flat| flat.reshape([count * length]));
        let values = values.and_then(|flat| gather(&flat, &places)).map_err(data.tensor())?;
        self.entries(rows, columns, values, &Format::dia())
    }

    /// The matrix of some entries, of which those of one place are added.
    fn entries(
        &self,
        rows: Vec<usize>,
        columns: Vec<usize>,
        values: Tensor,
        format: &Format,
    ) -> Result<Tensor, IoError> {
        let tensor = |column: Vec<usize>| -> Tensor {
            column.into_iter().map(|c| c as u64).collect::<Vec<_>>().into()
        };
        let coordinates = [tensor(rows), tensor(columns)];
        Tensor::from_entries(self.shape, &coordinates, values, self.fill(), Duplicates::Sum, format)
            .map_err(self.place.tensor())
    }
}

/// Some values of a vector.
fn gather(values: &Tensor, places: &[usize]) -> Result<Tensor, tj_tensor::TensorError> {
    let size = values.dtype().size();
    let from = values.as_bytes().unwrap_or(&[]);
    let mut buffer = tj_tensor::Buffer::zeroed(places.len() * size)?;
    for (to, &place) in buffer.as_bytes_mut().chunks_exact_mut(size).zip(places) {
        to.copy_from_slice(&from[place * size..][..size]);
    }
    Tensor::from_buffer(values.dtype(), [places.len()], buffer)
}

/// The number of the list that each index is in.
fn spread(starts: &Indices) -> Vec<usize> {
    let lists = 0..starts.len().saturating_sub(1);
    lists.flat_map(|list| std::iter::repeat_n(list, starts.get(list + 1) - starts.get(list))).collect()
}

/// Reads an array of indices.
fn indices(archive: &mut Npz, name: &'static str) -> Result<Indices, IoError> {
    let place = archive.place().entry(name);
    let array = archive.read(name)?;
    // An empty array of indices is an array of f64 when NumPy made it out of nothing.
    let array = if array.is_empty() && array.rank() == 1 {
        Tensor::zeros(DType::I32, [0]).map_err(place.tensor())?
    } else {
        array
    };
    Indices::from_tensor(&array, name).map_err(place.tensor())
}

fn check_below(place: &Place, indices: &Indices, extent: usize) -> Result<(), IoError> {
    match (0..indices.len()).find(|&at| indices.get(at) >= extent) {
        None => Ok(()),
        Some(at) => Err(wrong(place, "indices", format!("less than {extent} at {at}"), indices.get(at))),
    }
}

fn wrong(place: &Place, what: &'static str, expected: impl ToString, found: impl ToString) -> IoError {
    let (expected, found) = (expected.to_string(), found.to_string());
    IoError::Content { place: place.clone(), what, expected, found }
}
