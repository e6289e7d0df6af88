//! The entries of a tensor as columns of coordinates, and back.

use std::ops::Range;

use tj_tensor::{Complex, DType, Duplicates, Element, Format, Scalar, Tensor, TensorError};

use super::values::{differs, take};
use crate::LibraryError;

/// From this many rows on, a matrix need not be `csr`.
const MANY_ROWS: usize = 1 << 20;

/// Rows for each entry beyond which the positions of `csr` would be most of a matrix with many rows.
const ROWS_PER_ENTRY: usize = 16;

/// What differs from the fill. Columns have one length, that of the values; coordinates lie within the shape.
pub(super) struct Entries {
    pub shape: Vec<usize>,
    /// Coordinates, a column a dimension.
    pub columns: Vec<Vec<i64>>,
    pub values: Tensor,
    pub fill: Scalar,
}

impl Entries {
    /// Those of a tensor, in row-major order.
    pub fn of(x: &Tensor) -> Result<Entries, LibraryError> {
        let (coordinates, values) = x.to_entries()?;
        let columns = coordinates.iter().map(Tensor::to_vec).collect::<Result<_, _>>()?;
        Ok(Entries { shape: x.shape().to_vec(), columns, values, fill: fill_of(x) })
    }

    /// Those of a tensor whose dimension `axis` was moved to the end: grouped by the other dimensions.
    pub fn along(x: &Tensor, axis: usize) -> Result<Entries, LibraryError> {
        if axis >= x.rank() {
            return Err(TensorError::Axis { axis, rank: x.rank() }.into());
        }
        let order: Vec<usize> = (0..x.rank()).filter(|&d| d != axis).chain([axis]).collect();
        Entries::of(&x.permute(order)?)
    }

    pub fn len(&self) -> usize {
        self.values.shape()[0]
    }

    /// The number of cells before an entry, in row-major order. Only for shapes whose cells can be counted.
    pub fn place(&self, at: usize) -> u128 {
        let step = |place: u128, (column, &extent): (&Vec<i64>, &usize)| {
            place * extent as u128 + column[at].unsigned_abs() as u128
        };
        self.columns.iter().zip(&self.shape).fold(0, step)
    }

    /// Some of the entries, in the order of `places`.
    pub fn take(self, places: &[usize]) -> Result<Entries, LibraryError> {
        let moved = |column: &Vec<i64>| gather(column, places);
        let columns = self.columns.iter().map(moved).collect::<Result<_, _>>()?;
        Ok(Entries { columns, values: take(&self.values, places)?, ..self })
    }

    /// The entries for which something holds.
    pub fn retain(self, mut keep: impl FnMut(&Entries, usize) -> bool) -> Result<Entries, LibraryError> {
        let mut places = room(self.len())?;
        places.extend((0..self.len()).filter(|&at| keep(&self, at)));
        if places.len() == self.len() { Ok(self) } else { self.take(&places) }
    }

    /// The stretches of entries that differ in the last dimension only; entries are in row-major order.
    pub fn fibers(&self) -> impl Iterator<Item = Range<usize>> {
        let leading = &self.columns[..self.columns.len().saturating_sub(1)];
        let mut start = 0;
        std::iter::from_fn(move || {
            let n = self.len();
            if start == n {
                return None;
            }
            let same = |at: &usize| leading.iter().all(|column| column[*at] == column[start]);
            let end = (start + 1..n).find(|at| !same(at)).unwrap_or(n);
            let fiber = start..end;
            start = end;
            Some(fiber)
        })
    }

    /// The tensor with these entries, which are distinct and none of which is the fill.
    pub fn build(self) -> Result<Tensor, LibraryError> {
        let format = format_for(&self.shape, self.len());
        let Entries { shape, columns, values, fill } = self;
        let coordinates: Vec<Tensor> = columns.into_iter().map(Tensor::from).collect();
        Ok(Tensor::from_entries(&shape, &coordinates, values, fill, Duplicates::Refuse, &format)?)
    }

    /// Without those whose values have become the fill.
    pub fn pruned(self) -> Result<Entries, LibraryError> {
        let differs = differs(&self.values, self.fill)?;
        self.retain(|_, at| differs[at])
    }
}

/// The format of a result; see the module above.
fn format_for(shape: &[usize], n_entries: usize) -> Format {
    match *shape {
        [rows, _] if rows > MANY_ROWS && rows / ROWS_PER_ENTRY > n_entries => Format::dcsr(),
        [_, _] => Format::csr(),
        _ => Format::coo(shape.len()),
    }
}

/// The value of what is not stored: that of a tensor without a fill is 0.
pub(super) fn fill_of(x: &Tensor) -> Scalar {
    x.fill().unwrap_or(Scalar::zero(x.dtype()))
}

/// The tensors with one dtype and one fill.
pub(super) fn in_common(function: &'static str, tensors: &[&Tensor]) -> Result<Vec<Tensor>, LibraryError> {
    let promoted = promoted(function, tensors)?;
    let Some((first, expected)) = promoted.iter().enumerate().find_map(|(i, x)| Some((i, x.fill()?))) else {
        return Ok(promoted);
    };
    let with_fill = |(at, x): (usize, Tensor)| match x.fill() {
        None => Ok(x.with_fill(Some(expected))?),
        Some(found) if found == expected || (is_nan(found) && is_nan(expected)) => Ok(x),
        Some(found) => Err(LibraryError::Fills { function, first, at, fills: Box::new([expected, found]) }),
    };
    promoted.into_iter().enumerate().map(with_fill).collect()
}

/// The tensors with one dtype.
pub(super) fn promoted(function: &'static str, tensors: &[&Tensor]) -> Result<Vec<Tensor>, LibraryError> {
    let dtype = tensors.iter().map(|x| x.dtype()).reduce(DType::promote);
    let Some(dtype) = dtype else {
        return Err(LibraryError::Argument { function, problem: "got no tensor".into() });
    };
    tensors.iter().map(|x| Ok(x.cast(dtype)?)).collect()
}

/// Whether a value is 0 of either sign, or false.
pub(super) fn is_zero(value: Scalar) -> bool {
    // Integers that are not 0 stay so, however they are rounded.
    let wide = Complex::<f64>::from_scalar(value.cast(DType::C128));
    wide.is_some_and(|wide| wide.re == 0.0 && wide.im == 0.0)
}

fn is_nan(fill: Scalar) -> bool {
    fill.dtype().is_float() && fill.to_f64().is_nan()
}

/// An extent that is the sum of others, if a tensor may have it.
pub(super) fn extent_sum(
    function: &'static str,
    extents: impl IntoIterator<Item = usize>,
) -> Result<usize, LibraryError> {
    let sum = extents.into_iter().try_fold(0usize, usize::checked_add);
    sum.filter(|&sum| isize::try_from(sum).is_ok()).ok_or_else(|| too_large(function))
}

/// An extent beyond what a tensor may have.
pub(super) fn too_large(function: &'static str) -> LibraryError {
    let problem = format!("the result has an axis of more than {}", isize::MAX);
    LibraryError::Argument { function, problem }
}

/// What a dtype has not.
pub(super) fn refuse(function: &'static str, dtype: DType) -> LibraryError {
    LibraryError::Shape { function, problem: format!("does not take {dtype}") }
}

/// The number of cells of a shape, saturated.
pub(super) fn cells(shape: &[usize]) -> u128 {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |n: u128, &extent| n.saturating_mul(extent as u128))
}

/// Appends the coordinates of a cell that has so many before it in row-major order.
pub(super) fn push_cell(columns: &mut [Vec<i64>], shape: &[usize], place: u128) {
    // Most places fit 64 bits, of which quotients are several times as fast.
    match u64::try_from(place) {
        Ok(mut place) => {
            for (column, &extent) in columns.iter_mut().zip(shape).rev() {
                column.push((place % extent as u64) as i64);
                place /= extent as u64;
            }
        }
        Err(_) => {
            let mut place = place;
            for (column, &extent) in columns.iter_mut().zip(shape).rev() {
                column.push((place % extent as u128) as i64);
                place /= extent as u128;
            }
        }
    }
}

/// Empty columns with room, or an error.
pub(super) fn empty_columns(rank: usize, n: usize) -> Result<Vec<Vec<i64>>, LibraryError> {
    (0..rank).map(|_| room(n)).collect()
}

/// An empty vector with room, or an error.
pub(super) fn room<T>(n: usize) -> Result<Vec<T>, LibraryError> {
    let mut values = Vec::new();
    let bytes = n.saturating_mul(size_of::<T>());
    values.try_reserve_exact(n).map_err(|_| TensorError::OutOfMemory { bytes })?;
    Ok(values)
}

/// Some elements of a column.
pub(super) fn gather<T: Copy>(column: &[T], places: &[usize]) -> Result<Vec<T>, LibraryError> {
    let mut gathered = room(places.len())?;
    gathered.extend(places.iter().map(|&place| column[place]));
    Ok(gathered)
}
