//! Tensors by levels from what users have, and back.
//!
//! A conversion lists the entries that differ from the fill and builds the levels of the other format, in O(n) for n entries
//! (a strided tensor counts as its elements), unless coordinates need more than 127 bits together: then sorting makes it
//! O(n log n). From lists of five million entries to rows or columns it takes about half of SciPy's time on two threads.

use std::sync::Arc;

use super::assemble::{Loose, assemble};
use super::expand::{Entries, differs, finite, holds, stored_values, take};
use super::source::are_lists;
use super::spread::spread;
use super::{Indices, Leaf, Level, Stored, checked_positions, packed, room};
use crate::format::{Coordinate, Format, LeafKind, LevelFormat, LevelKind, Width};
use crate::shape::{List, checked_count, wide_count};
use crate::tensor::Storage;
use crate::{DType, Scalar, Tensor, TensorError, with_dtype};

/// What happens to entries with the same coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Duplicates {
    /// Their values are added, in the order given; of bools, or.
    Sum,
    /// The last one given stays.
    Last,
    /// They are an error, which names the second of them.
    Refuse,
}

impl Tensor {
    /// A tensor with values at some coordinates and zeros elsewhere, in the format `coo`. `coordinates` has a vector of
    /// integers for each dimension, `values` an element for each entry; entries may come in any order.
    ///
    /// ```
    /// use tj_tensor::{Duplicates, Tensor};
    /// let (rows, columns) = (Tensor::from(vec![2i64, 0, 2]), Tensor::from(vec![1i64, 1, 1]));
    /// let values = Tensor::from(vec![1.0, 5.0, 2.0]);
    /// let x = Tensor::coo([3, 2], &[rows, columns], values, Duplicates::Sum)?;
    /// assert_eq!((x.nnz()?, x.format().to_string()), (2, "coo(2)".to_string()));
    /// assert_eq!(x.to_vec::<f64>()?, [0.0, 5.0, 0.0, 0.0, 0.0, 3.0]);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// Vectors of different lengths, or not one for each dimension; a coordinate outside the shape; duplicates that are
    /// refused.
    pub fn coo(
        shape: impl AsRef<[usize]>,
        coordinates: &[Tensor],
        values: impl Into<Tensor>,
        duplicates: Duplicates,
    ) -> Result<Tensor, TensorError> {
        let values = values.into();
        let fill = zero(values.dtype());
        let format = Format::coo(shape.as_ref().len());
        Tensor::from_entries(shape, coordinates, values, fill, duplicates, &format)
    }

    /// As [`Tensor::coo`], with any fill and in any format.
    ///
    /// # Errors
    /// As for [`Tensor::coo`]; a fill of another type; a format of another rank.
    pub fn from_entries(
        shape: impl AsRef<[usize]>,
        coordinates: &[Tensor],
        values: Tensor,
        fill: Scalar,
        duplicates: Duplicates,
        format: &Format,
    ) -> Result<Tensor, TensorError> {
        let shape = shape.as_ref();
        if coordinates.len() != shape.len() {
            return Err(TensorError::IndexCount { found: coordinates.len(), rank: shape.len() });
        }
        if values.rank() != 1 {
            return Err(TensorError::LeafCount { needed: 0, found: values.shape().to_vec() });
        }
        if fill.dtype() != values.dtype() {
            return Err(TensorError::DType { expected: values.dtype(), found: fill.dtype() });
        }
        check_rank(format, shape)?;
        check_blocks(format, shape)?;
        let n = values.shape()[0];
        let mut dims = vec![];
        for (axis, (column, &extent)) in coordinates.iter().zip(shape).enumerate() {
            let column = Indices::from_tensor(column, "coordinates")?;
            if column.len() != n {
                return Err(TensorError::ColumnLength { axis, found: column.len(), needed: n });
            }
            if let Some(at) = column.first_from(extent) {
                return Err(TensorError::Coordinate { axis, at, value: column.get(at), extent });
            }
            dims.push(column);
        }
        built(Loose { shape, dims, values, fill, duplicates }, format)
    }

    /// Compressed sparse rows over arrays that are not copied: where each row starts and the last one ends, the column of
    /// each entry, its value. Columns increase within a row.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// let x = Tensor::csr([2, 3], vec![0i32, 2, 3], vec![0i32, 2, 1], vec![1.0f32, 2.0, 3.0])?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// Arrays that are none such; the error names the array, the place and the value.
    pub fn csr(
        shape: [usize; 2],
        positions: impl Into<Tensor>,
        columns: impl Into<Tensor>,
        values: impl Into<Tensor>,
    ) -> Result<Tensor, TensorError> {
        Tensor::from_lists(Format::csr(), shape, positions.into(), columns.into(), values.into())
    }

    /// Compressed sparse columns, as [`Tensor::csr`] with rows and columns exchanged.
    ///
    /// # Errors
    /// As for [`Tensor::csr`].
    pub fn csc(
        shape: [usize; 2],
        positions: impl Into<Tensor>,
        rows: impl Into<Tensor>,
        values: impl Into<Tensor>,
    ) -> Result<Tensor, TensorError> {
        Tensor::from_lists(Format::csc(), shape, positions.into(), rows.into(), values.into())
    }

    fn from_lists(
        format: Format,
        shape: [usize; 2],
        positions: Tensor,
        coordinates: Tensor,
        values: Tensor,
    ) -> Result<Tensor, TensorError> {
        let fill = zero(values.dtype());
        let positions = Indices::from_tensor(&positions, "positions")?;
        let coordinates = Indices::from_tensor(&coordinates, "coordinates")?;
        let levels = vec![Level::Dense, Level::Compressed { positions, coordinates }];
        Tensor::from_levels(format, shape, levels, Leaf::Values(values), fill)
    }

    /// A tensor over the arrays of any levels, which are checked and not copied.
    ///
    /// # Errors
    /// Arrays that break a rule of their level; the error names the level, the array, the place and the value.
    pub fn from_levels(
        format: Format,
        shape: impl AsRef<[usize]>,
        levels: Vec<Level>,
        leaf: Leaf,
        fill: Scalar,
    ) -> Result<Tensor, TensorError> {
        let leaf = match leaf {
            Leaf::Values(values) => Leaf::Values(values.to_contiguous()?),
            leaf @ (Leaf::Iso(_) | Leaf::Pattern) => leaf,
        };
        Ok(Tensor::of_stored(Stored::new(format, shape.as_ref(), levels, leaf, fill)?))
    }

    /// The same elements in another format. What equals the fill is not stored, where the format allows; a tensor without a
    /// fill gets zero for its fill.
    ///
    /// ```
    /// use tj_tensor::{Format, Tensor};
    /// let x = Tensor::from_shape_vec([2, 3], vec![0i64, 7, 0, 0, 0, 7])?;
    /// let runs = x.with_format(&"{d0: dense, d1: compressed} iso".parse()?)?;
    /// assert_eq!((runs.nnz()?, runs.stored_count()), (2, 2));
    /// assert_eq!(runs.with_format(&Format::csc())?.to_vec::<i64>()?, x.to_vec::<i64>()?);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// A format of another rank; one that cannot hold the elements (a leaf of one value, an interval); no memory.
    pub fn with_format(&self, format: &Format) -> Result<Tensor, TensorError> {
        let shape = self.shape();
        check_rank(format, shape)?;
        check_blocks(format, shape)?;
        if format.is_strided() {
            return self.in_order(format);
        }
        let fill = self.fill.unwrap_or(zero(self.dtype));
        let packed = packed::of_tensor(self, fill, format).map_err(|error| explained(format, error))?;
        if let Some(stored) = packed {
            return Ok(Tensor::of_stored(stored));
        }
        let (dims, values) = match packed::columns_of(self, fill, None)? {
            Some(found) => found,
            None => self.columns(fill).map(|(dims, values)| (indices(dims), values))?,
        };
        built(Loose { shape, dims, values, fill, duplicates: Duplicates::Refuse }, format)
    }

    /// Only what differs from the fill, in the same format.
    ///
    /// # Errors
    /// No memory.
    pub fn prune(&self) -> Result<Tensor, TensorError> {
        match &self.storage {
            Storage::Strided(_) => Ok(self.clone()),
            Storage::Levels(stored) => self.with_format(stored.format()),
        }
    }

    /// The same elements, strided, row-major and without a fill.
    ///
    /// # Errors
    /// More elements than memory holds.
    pub fn to_dense(&self) -> Result<Tensor, TensorError> {
        let Storage::Levels(stored) = &self.storage else {
            return self.to_contiguous()?.with_fill(None);
        };
        checked_count(&self.shape, self.dtype)?;
        let row_major: List<usize> = (0..self.rank()).collect();
        if let Some(dense) = spread(stored, &row_major)? {
            return Ok(dense);
        }
        let mut dense = Tensor::full(&self.shape, stored.fill())?;
        let entries = stored.entries()?;
        let values = stored.gather_values(&entries.positions)?;
        with_dtype!(self.dtype, T => {
            let to = dense.new_values::<T>();
            for (at, &value) in stored_values::<T>(&values).iter().enumerate() {
                let place = entries.dims.iter().zip(&self.shape).fold(0, |n, (c, &extent)| n * extent + c[at]);
                to[place] = value;
            }
        });
        Ok(dense)
    }

    /// The number of elements that differ from the fill: not 0, if the tensor has none. Does not depend on the format. The
    /// number is remembered by tensors that are stored by levels.
    ///
    /// # Errors
    /// No memory.
    pub fn nnz(&self) -> Result<usize, TensorError> {
        let fill = self.fill.unwrap_or(zero(self.dtype));
        match &self.storage {
            Storage::Strided(_) => {
                let flat = self.to_contiguous()?;
                let flat = flat.reshape([flat.count()?])?;
                Ok(differs(&flat, fill)?.iter().filter(|differs| **differs).count())
            }
            Storage::Levels(stored) => {
                if let Some(&nnz) = stored.nnz.get() {
                    return Ok(nnz);
                }
                let one = match &stored.leaf {
                    Leaf::Values(_) => None,
                    Leaf::Iso(value) => Some(*value),
                    Leaf::Pattern => Some(Scalar::Bool(true)),
                };
                if let (Some(value), Some(count)) = (one, stored.counted()) {
                    let differs = differs(&Tensor::full([1], value)?, fill)?[0];
                    let nnz = if differs { checked_positions(count)? } else { 0 };
                    return Ok(*stored.nnz.get_or_init(|| nnz));
                }
                if let Some(nnz) = stored.nnz_of_stretches()? {
                    return Ok(*stored.nnz.get_or_init(|| nnz));
                }
                let values = if are_lists(stored.format()) {
                    stored.leaf_values()?
                } else {
                    stored.gather_values(&stored.entries()?.positions)?
                };
                let nnz = differs(&values, fill)?.iter().filter(|differs| **differs).count();
                Ok(*stored.nnz.get_or_init(|| nnz))
            }
        }
    }

    /// Whether some value is stored that equals the fill, so that a product with it is not what arithmetic alone would give.
    /// -0 equals 0, and NaN equals NaN. Looked up once for a tensor that is stored by levels.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// let x = Tensor::csr([2, 3], vec![0u32, 1, 2], vec![2u32, 0], vec![1.5, -0.0])?;
    /// assert!(x.stores_fill());
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    pub fn stores_fill(&self) -> bool {
        let Storage::Levels(stored) = &self.storage else { return true };
        *stored.stores_fill.get_or_init(|| {
            let values = match stored.leaf() {
                Leaf::Values(values) => values.to_contiguous(),
                Leaf::Iso(value) => Tensor::full([1], *value),
                Leaf::Pattern => Tensor::full([1], true),
            };
            values.map_or(true, |values| holds(&values, stored.fill()))
        })
    }

    /// Whether neither a stored value nor the fill is infinite or NaN; integers and booleans are finite. Looked up once for a
    /// tensor that is stored by levels, or is all of its memory; of another part of memory, each time.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// assert!(Tensor::from_shape_vec([2], vec![1.0, -0.0])?.is_finite());
    /// assert!(!Tensor::from_shape_vec([2], vec![1.0, f64::NAN])?.is_finite());
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    pub fn is_finite(&self) -> bool {
        let all = |values: &Tensor| values.to_contiguous().is_ok_and(|values| finite(&values));
        match &self.storage {
            Storage::Strided(_) if !self.dtype().is_float() && !self.dtype().is_complex() => true,
            Storage::Strided(strided) => {
                let (buffer, bytes) = (&strided.values, self.as_bytes().map_or(0, <[u8]>::len));
                let is_whole = bytes == buffer.len();
                match buffer.known_finite(self.dtype()) {
                    Some(is_finite) if is_finite || is_whole => is_finite,
                    Some(_) | None => {
                        let is_finite = all(self);
                        if is_whole {
                            buffer.remember_finite(self.dtype(), is_finite);
                        }
                        is_finite
                    }
                }
            }
            Storage::Levels(stored) => *stored.is_finite.get_or_init(|| {
                let fill = Tensor::scalar(stored.fill());
                let leaf = match stored.leaf() {
                    Leaf::Values(values) => all(values),
                    Leaf::Iso(value) => all(&Tensor::scalar(*value)),
                    Leaf::Pattern => true,
                };
                leaf && all(&fill)
            }),
        }
    }

    /// The number of values that are stored: of a strided tensor its elements, else the positions of the leaf.
    pub fn stored_count(&self) -> usize {
        match &self.storage {
            Storage::Strided(_) => self.count().unwrap_or(usize::MAX),
            Storage::Levels(stored) => stored.leaf_positions(),
        }
    }

    /// The coordinates of what differs from the fill, a vector of i64 for each dimension, and the values. Sorted by the
    /// coordinates of the first dimension, then the second.
    ///
    /// ```
    /// use tj_tensor::Tensor;
    /// let x = Tensor::from_shape_vec([2, 2], vec![0i32, 5, 6, 0])?;
    /// let (coordinates, values) = x.to_entries()?;
    /// assert_eq!(coordinates[1].to_vec::<i64>()?, [1, 0]);
    /// assert_eq!(values.to_vec::<i32>()?, [5, 6]);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// No memory.
    pub fn to_entries(&self) -> Result<(Vec<Tensor>, Tensor), TensorError> {
        let fill = self.fill.unwrap_or(zero(self.dtype));
        if let Some((columns, values)) = packed::columns_of(self, fill, Some(Width::U64))? {
            return Ok((columns.into_iter().map(Indices::into_signed).collect(), values));
        }
        let (mut dims, mut values) = self.columns(fill)?;
        if let Some(order) = super::sort::order(&dims, &self.shape, values.shape()[0])? {
            for column in &mut dims {
                *column = super::expand::gather(column, &order)?;
            }
            values = take(&values, &order)?;
        }
        Ok((indices(dims).into_iter().map(Indices::into_signed).collect(), values))
    }

    /// What differs from a fill: a column of coordinates for each dimension, and the values.
    pub(super) fn columns(&self, fill: Scalar) -> Result<(Vec<Vec<usize>>, Tensor), TensorError> {
        let (entries, values) = match &self.storage {
            Storage::Levels(stored) => {
                let entries = stored.entries()?;
                let values = stored.gather_values(&entries.positions)?;
                (entries, values)
            }
            Storage::Strided(_) => return self.dense_columns(fill),
        };
        let (entries, values) = entries.without_fill(values, fill)?;
        let Entries { dims, .. } = entries;
        Ok((dims, values))
    }

    fn dense_columns(&self, fill: Scalar) -> Result<(Vec<Vec<usize>>, Tensor), TensorError> {
        let flat = self.to_contiguous()?;
        let flat = flat.reshape([flat.count()?])?;
        let keep = differs(&flat, fill)?;
        let n = keep.iter().filter(|keep| **keep).count();
        let mut places: Vec<usize> = room(n)?;
        places.extend((0..keep.len()).filter(|&place| keep[place]));
        let mut dims = vec![];
        let mut inner = 1;
        for &extent in self.shape.iter().rev() {
            let mut column = room(n)?;
            column.extend(places.iter().map(|place| place / inner % extent));
            dims.push(column);
            inner *= extent;
        }
        dims.reverse();
        Ok((dims, take(&flat, &places)?))
    }

    /// Strided, with the dimensions in the order of a format's levels.
    fn in_order(&self, format: &Format) -> Result<Tensor, TensorError> {
        let mut order: List<usize> = List::new();
        for level in format.levels() {
            if let Coordinate::Dim(dim) = level.coordinate {
                order.push(dim);
            }
        }
        let mut back = order.clone();
        order.iter().enumerate().for_each(|(to, &dim)| back[dim] = to);
        let spread = match self.stored() {
            Some(stored) => {
                checked_count(&self.shape, self.dtype)?;
                spread(stored, &order)?
            }
            None => None,
        };
        let in_order = match spread {
            Some(in_order) => in_order,
            None => {
                let dense = if self.stored().is_some() { self.to_dense()? } else { self.clone() };
                dense.permute(&order)?.to_contiguous()?
            }
        };
        in_order.permute(&back)?.with_fill(self.fill)
    }

    /// A tensor over levels that hold its invariants.
    pub(crate) fn of_stored(stored: Stored) -> Tensor {
        Tensor::of_shared(Arc::new(stored))
    }

    /// The same, over levels that others use as well.
    pub(super) fn of_shared(stored: Arc<Stored>) -> Tensor {
        Tensor {
            dtype: stored.dtype,
            shape: List::from_slice(&stored.shape),
            fill: Some(stored.fill),
            storage: Storage::Levels(stored),
        }
    }
}

pub(super) fn indices(columns: Vec<Vec<usize>>) -> Vec<Indices> {
    columns.into_iter().map(Indices::of_vec).collect()
}

fn check_rank(format: &Format, shape: &[usize]) -> Result<(), TensorError> {
    if format.rank() == shape.len() {
        return Ok(());
    }
    let reason = format!("{format} has rank {}, and shape {shape:?} has {}", format.rank(), shape.len());
    Err(TensorError::Format { reason })
}

/// Elements that a block may have beyond what the tensor has.
const MAX_PADDING: u128 = 1 << 24;

/// The sizes of blocks that are stored whole, if the format has any.
fn blocks(format: &Format) -> Option<Vec<usize>> {
    let is_whole = |level: &&LevelFormat| level.kind == LevelKind::Dense;
    let sizes = format.levels().iter().filter(is_whole).filter_map(|level| match level.coordinate {
        Coordinate::Remainder { by, .. } => Some(by),
        Coordinate::Dim(_) | Coordinate::Quotient { .. } | Coordinate::Difference { .. } => None,
    });
    Some(sizes.collect::<Vec<_>>()).filter(|sizes| !sizes.is_empty())
}

/// Refuses blocks of which one would be very much larger than the tensor.
fn check_blocks(format: &Format, shape: &[usize]) -> Result<(), TensorError> {
    let Some(sizes) = blocks(format) else { return Ok(()) };
    let (in_block, in_all) = (wide_count(&sizes), wide_count(shape));
    if in_block <= in_all.saturating_add(MAX_PADDING) {
        return Ok(());
    }
    let reason =
        format!("a block of {format} has {in_block} elements, and all of shape {shape:?} are {in_all}");
    Err(TensorError::Format { reason })
}

/// Says of memory that blocks are what it is for.
fn explained(format: &Format, error: TensorError) -> TensorError {
    match (blocks(format), error) {
        (Some(sizes), TensorError::OutOfMemory { .. }) => {
            let in_block = wide_count(&sizes);
            let reason = format!(
                "no memory for {format}, in which a block has {in_block} elements, stored if one of them is"
            );
            TensorError::Format { reason }
        }
        (_, error) => error,
    }
}

fn built(loose: Loose<'_>, format: &Format) -> Result<Tensor, TensorError> {
    let is_strided = format.is_strided();
    let leaf = if is_strided { LeafKind::Values } else { format.leaf() };
    // Strides say where the elements of dense levels are; what is stored by levels is something else.
    if is_strided {
        let coordinates = Format::coo(format.rank()).with_leaf(leaf)?;
        return Tensor::of_stored(assemble(loose, &coordinates)?).in_order(format);
    }
    Ok(Tensor::of_stored(assemble(loose, format).map_err(|error| explained(format, error))?))
}

/// The zero of a type: `false` for bool.
fn zero(dtype: DType) -> Scalar {
    Scalar::from_bits(dtype, 0)
}

/// Whether tensors of one dtype and shape, at least one of them stored by levels, have the same elements bit for bit,
/// except that any NaN equals any NaN. Compares what differs from the fill if both have the same.
pub(crate) fn stored_eq(a: &Tensor, b: &Tensor) -> bool {
    let entries = |tensor: &Tensor| -> Option<(Vec<Vec<i64>>, Tensor)> {
        let (coordinates, values) = tensor.clone().to_entries().ok()?;
        let columns = coordinates.iter().map(Tensor::to_vec::<i64>).collect::<Result<_, _>>().ok()?;
        Some((columns, values))
    };
    let fill = |tensor: &Tensor| tensor.stored().map(|stored| stored.fill());
    let same_fill = |(x, y): (Scalar, Scalar)| x == y || crate::read::same_number(x, y);
    let fills = match (fill(a), fill(b)) {
        (Some(x), Some(y)) => Some((x, y)),
        (Some(x), None) | (None, Some(x)) => Some((x, x)),
        (None, None) => None,
    };
    if let Some(pair) = fills
        && same_fill(pair)
    {
        let with = |tensor: &Tensor| {
            if tensor.stored().is_some() {
                Ok(tensor.clone())
            } else {
                tensor.clone().with_fill(Some(pair.0))
            }
        };
        let (Ok(a), Ok(b)) = (with(a), with(b)) else { return false };
        return match (entries(&a), entries(&b)) {
            (Some((x, left)), Some((y, right))) => x == y && left.bit_eq(&right),
            _ => false,
        };
    }
    match (a.to_dense(), b.to_dense()) {
        (Ok(a), Ok(b)) => a.bit_eq(&b),
        _ => false,
    }
}

impl Tensor {
    /// The tensor over other levels, whose fill becomes the one given.
    pub(crate) fn with_stored(&self, stored: Stored, fill: Option<Scalar>) -> Result<Tensor, TensorError> {
        Tensor::of_stored(stored).with_fill(fill)
    }
}
