//! Entries in order, through keys.
//!
//! From where entries are (`source`) come keys in the order of the levels to be built; those that are not in order yet are
//! sorted (`radix`), duplicates become one, and the result is built (`lists`) or, for other levels than lists, unpacked to
//! columns (`assemble`). Entries that come from levels or arrays are sorted by no more coordinates than it takes: those
//! that lead from one order to the other. From rows to columns that is the column alone.

use bytemuck::Pod;

use super::assemble::{Loose, build, coordinates_of};
use super::expand::differs;
use super::keys::{Array, Ascent, Key, Layout, Source, ascent, collect, for_each_block, with_key};
use super::source::{Cells, Columns, Lists, are_lists, is_ordered};
use super::{Duplicates, Indices, Leaf, Stored, for_parts, lists, map_parts, part_len, radix, room};
use crate::format::{Coordinate, Format, LevelFormat, Width};
use crate::tensor::Storage;
use crate::{Buffer, DType, Element, Scalar, Tensor, TensorError, with_dtype};

/// Runs an expression with `$V` plain bytes of a size, which any element of that size can be moved as.
macro_rules! with_size {
    ($size:expr, $V:ident => $body:expr) => {
        match $size {
            1 => with_size!(@ 1, $V, $body),
            2 => with_size!(@ 2, $V, $body),
            4 => with_size!(@ 4, $V, $body),
            8 => with_size!(@ 8, $V, $body),
            _ => with_size!(@ 16, $V, $body),
        }
    };
    (@ $n:literal, $V:ident, $body:expr) => {{
        type $V = [u8; $n];
        $body
    }};
}
pub(super) use with_size;

/// Different entries in the order of some coordinates, and their values.
struct InOrder<K> {
    keys: Array<K>,
    values: Tensor,
}

/// Levels from columns of coordinates; the entries back, if keys cannot hold them.
pub(super) fn of_columns<'a>(
    loose: Loose<'a>,
    format: &Format,
) -> Result<Result<Stored, Loose<'a>>, TensorError> {
    let maxima: Vec<usize> = loose.dims.iter().map(Indices::max).collect();
    let bound = |level: &LevelFormat| match level.coordinate {
        Coordinate::Dim(dim) => maxima[dim].saturating_add(1),
        Coordinate::Quotient { dim, by } => maxima[dim] / by + 1,
        Coordinate::Remainder { by, .. } => by,
        difference @ Coordinate::Difference { .. } => difference.extent(loose.shape),
    };
    let layout = Layout::new(&format.levels().iter().map(bound).collect::<Vec<_>>());
    with_key!(layout, K => {
        let columns = Columns::new(&loose.dims, loose.shape, format, &layout);
        let (shape, fill) = (loose.shape, loose.fill);
        let stored = merged::<K, _>(&columns, &layout, &loose, format, |keys, values| {
            levels(keys, values, &layout, format, shape, fill)
        });
        Ok(Ok(stored?))
    }, else Ok(Err(loose)))
}

/// Levels of dimensions from what differs from the fill of a tensor; `None` if the tensor has no lists, the levels are of
/// something else than dimensions, or keys cannot hold the entries.
pub(super) fn of_tensor(
    tensor: &Tensor,
    fill: Scalar,
    format: &Format,
) -> Result<Option<Stored>, TensorError> {
    let Some(order) = dims_of(format) else { return Ok(None) };
    if !has_keys(tensor) {
        return Ok(None);
    }
    let layout = layout_of(tensor.shape(), &order);
    with_key!(layout, K => {
        let stored = in_order_of::<K, _>(tensor, fill, &order, &layout, |keys, values| {
            levels(keys, values, &layout, format, tensor.shape(), fill)
        });
        Ok(Some(stored?))
    }, else Ok(None))
}

/// What differs from the fill of a tensor, sorted by its dimensions: a column for each of them, and the values. `None` as
/// for [`of_tensor`].
pub(super) fn columns_of(
    tensor: &Tensor,
    fill: Scalar,
    width: Option<Width>,
) -> Result<Option<(Vec<Indices>, Tensor)>, TensorError> {
    let order: Vec<usize> = (0..tensor.rank()).collect();
    if !has_keys(tensor) {
        return Ok(None);
    }
    let layout = layout_of(tensor.shape(), &order);
    with_key!(layout, K => {
        let columns = in_order_of::<K, _>(tensor, fill, &order, &layout, |keys, values| {
            let n = values.shape()[0];
            let column = |&dim: &usize| lists::column(keys, n, &layout, dim, tensor.shape()[dim], width);
            Ok((order.iter().map(column).collect::<Result<_, _>>()?, values))
        });
        Ok(Some(columns?))
    }, else Ok(None))
}

/// Whether the entries of levels that are lists come in the order of their coordinates, each once. Else, or if keys cannot
/// tell, `false`.
pub(super) fn is_increasing(stored: &Stored) -> Result<bool, TensorError> {
    let Some(order) = dims_of(&stored.format).filter(|_| are_lists(&stored.format)) else { return Ok(false) };
    let layout = Layout::new(&stored.extents);
    with_key!(layout, K => {
        let shift = |dim: usize| layout.shift(order.iter().position(|&d| d == dim).unwrap_or(0));
        let source = Lists::<K>::new(stored, shift)?;
        Ok(ascent(&source, stored.leaf_positions()) == Ascent::Strict)
    }, else Ok(false))
}

/// The dimensions in the order of the levels, if that is what levels store.
pub(super) fn dims_of(format: &Format) -> Option<Vec<usize>> {
    let dim = |level: &LevelFormat| match level.coordinate {
        Coordinate::Dim(dim) => Some(dim),
        Coordinate::Quotient { .. } | Coordinate::Remainder { .. } | Coordinate::Difference { .. } => None,
    };
    format.levels().iter().map(dim).collect()
}

fn has_keys(tensor: &Tensor) -> bool {
    tensor.stored().is_none_or(|stored| are_lists(&stored.format))
}

/// Coordinates of the dimensions in an order.
pub(super) fn layout_of(shape: &[usize], order: &[usize]) -> Layout {
    Layout::new(&order.iter().map(|&dim| shape[dim]).collect::<Vec<_>>())
}

/// Gives what differs from the fill of a tensor that has keys to `then`, in the order of some dimensions.
fn in_order_of<K: Key, R>(
    tensor: &Tensor,
    fill: Scalar,
    order: &[usize],
    layout: &Layout,
    then: impl FnOnce(&dyn Source<K>, Tensor) -> Result<R, TensorError>,
) -> Result<R, TensorError> {
    let shift = |dim: usize| {
        let level = order.iter().position(|&d| d == dim);
        layout.shift(level.expect("the order names every dimension"))
    };
    match &tensor.storage {
        Storage::Levels(stored) => {
            let source = Lists::new(stored, shift)?;
            let given = dims_of(&stored.format).filter(|_| is_ordered(&stored.format));
            let n_unsorted = given.map_or(order.len(), |given| unsorted(order, &given));
            sorted(&source, stored.leaf_values()?, fill, n_unsorted, layout, then)
        }
        Storage::Strided(_) => {
            let flat = tensor.to_contiguous()?;
            let flat = flat.reshape([flat.count()?])?;
            let given: Vec<usize> = (0..order.len()).collect();
            let source = Cells { dims: given.iter().map(|&dim| (tensor.shape()[dim], shift(dim))).collect() };
            sorted(&source, flat, fill, unsorted(order, &given), layout, then)
        }
    }
}

/// By how many of the first dimensions of an order to sort, stably, what is in another order: the others have to be in the
/// same order in both.
fn unsorted(order: &[usize], given: &[usize]) -> usize {
    let place = |dim: usize| given.iter().position(|&d| d == dim);
    let misplaced = (1..order.len()).rev().find(|&at| place(order[at - 1]) > place(order[at]));
    misplaced.unwrap_or(0)
}

/// Gives different entries without those that equal the fill to `then`, sorted by the first coordinates.
fn sorted<K: Key, R>(
    source: &dyn Source<K>,
    values: Tensor,
    fill: Scalar,
    n_unsorted: usize,
    layout: &Layout,
    then: impl FnOnce(&dyn Source<K>, Tensor) -> Result<R, TensorError>,
) -> Result<R, TensorError> {
    let keep = differs(&values, fill)?;
    let bits = layout.bits_of_first(n_unsorted);
    let mut entries = None;
    if keep.contains(&false) {
        entries = Some(with_size!(values.dtype().size(), V => kept::<K, V>(source, &values, &keep)?));
    }
    drop(keep);
    if n_unsorted > 0 {
        entries = Some(match entries {
            Some(InOrder { keys, values }) => by_bits(&&keys[..], values, bits)?,
            None => by_bits(source, values.clone(), bits)?,
        });
    }
    match entries {
        Some(InOrder { keys, values }) => then(&&keys[..], values),
        None => then(source, values),
    }
}

fn by_bits<K: Key>(
    source: &dyn Source<K>,
    values: Tensor,
    bits: std::ops::Range<u32>,
) -> Result<InOrder<K>, TensorError> {
    let as_they_are = |keys: &mut [K], _: &mut [u8]| keys.len();
    let sorted = with_size!(values.dtype().size(), V => {
        radix::sort::<K, V>(source, bytes_of(&values), bits, &as_they_are)?
    });
    InOrder::new(sorted, values.dtype())
}

/// Some of the entries, in the same order.
fn kept<K: Key, V: Pod + Send + Sync>(
    source: &dyn Source<K>,
    values: &Tensor,
    keep: &[bool],
) -> Result<InOrder<K>, TensorError> {
    let part = part_len(keep.len());
    let counts = map_parts(keep.len(), |range| keep[range].iter().filter(|keep| **keep).count());
    let n = counts.iter().sum();
    let mut keys: Array<K> = Array::zeroed(n)?;
    let mut buffer = Buffer::zeroed(n * size_of::<V>())?;
    let (mut rest, mut rest_values): (&mut [K], &mut [V]) =
        (&mut keys, bytemuck::cast_slice_mut(buffer.as_bytes_mut()));
    let mut parts = vec![];
    for (i, &count) in counts.iter().enumerate() {
        let (own, after) = std::mem::take(&mut rest).split_at_mut(count);
        let (own_values, after_values) = std::mem::take(&mut rest_values).split_at_mut(count);
        parts.push((i * part, own.iter_mut(), own_values.iter_mut()));
        (rest, rest_values) = (after, after_values);
    }
    let from: &[V] = bytes_of(values);
    for_parts(parts, |(start, mut own, mut own_values)| {
        for_each_block(source, start..(start + part).min(keep.len()), |start, keys| {
            for (at, &key) in keys.iter().enumerate().filter(|(at, _)| keep[start + at]) {
                if let (Some(to), Some(to_value)) = (own.next(), own_values.next()) {
                    (*to, *to_value) = (key, from[start + at]);
                }
            }
        });
    });
    InOrder::new(radix::Sorted { keys, values: buffer }, values.dtype())
}

/// Gives entries in any order to `then`, sorted and with duplicates merged.
fn merged<K: Key, R>(
    source: &dyn Source<K>,
    layout: &Layout,
    loose: &Loose<'_>,
    format: &Format,
    then: impl FnOnce(&dyn Source<K>, Tensor) -> Result<R, TensorError>,
) -> Result<R, TensorError> {
    let (values, dtype) = (loose.values.to_contiguous()?, loose.values.dtype());
    let n = values.shape()[0];
    let merge = with_dtype!(dtype, T => merge::<K, T> as fn(&mut [K], &mut [u8], Duplicates) -> usize);
    let merge = |keys: &mut [K], values: &mut [u8]| merge(keys, values, loose.duplicates);
    let sorted = match ascent(source, n) {
        Ascent::Strict => return then(source, values),
        Ascent::Weak => {
            let mut keys = collect(source, n)?;
            let mut values = Buffer::copy_of(bytes_of(&values))?;
            let n_merged = merge(&mut keys, values.as_bytes_mut());
            keys.truncate(n_merged);
            radix::Sorted { keys, values }
        }
        Ascent::None => {
            let bits = layout.bits_of_first(format.levels().len());
            with_size!(dtype.size(), V => radix::sort::<K, V>(source, bytes_of(&values), bits, &merge)?)
        }
    };
    if loose.duplicates == Duplicates::Refuse
        && let Some(at) = (1..sorted.keys.len()).find(|&at| sorted.keys[at - 1] == sorted.keys[at])
    {
        let coordinate = |l: usize| layout.coordinate(sorted.keys[at], l);
        return Err(TensorError::Duplicate {
            at,
            coordinates: coordinates_of(format, loose.shape, coordinate),
        });
    }
    let InOrder { keys, values } = InOrder::new(sorted, dtype)?;
    then(&&keys[..], values)
}

/// Makes entries with equal keys, which are neighbours, one; returns how many remain at the front.
fn merge<K: Key, T: Element>(keys: &mut [K], values: &mut [u8], duplicates: Duplicates) -> usize {
    let is_second = |at: &usize| keys[at - 1] == keys[*at];
    let first = match duplicates {
        Duplicates::Refuse => None,
        Duplicates::Sum | Duplicates::Last => (1..keys.len()).find(is_second),
    };
    let Some(first) = first else { return keys.len() };
    let values: &mut [T::Stored] = bytemuck::cast_slice_mut(values);
    let mut last = first - 1;
    for at in first..keys.len() {
        if keys[at] != keys[last] {
            last += 1;
            (keys[last], values[last]) = (keys[at], values[at]);
        } else if duplicates == Duplicates::Last {
            values[last] = values[at];
        } else {
            values[last] = T::load(values[last]).plus(T::load(values[at])).store();
        }
    }
    last + 1
}

/// The values of a contiguous vector as plain bytes.
pub(super) fn bytes_of<V: Pod>(values: &Tensor) -> &[V] {
    bytemuck::cast_slice(values.as_bytes().unwrap_or(&[]))
}

impl<K: Key> InOrder<K> {
    fn new(sorted: radix::Sorted<K>, dtype: DType) -> Result<InOrder<K>, TensorError> {
        let radix::Sorted { keys, values } = sorted;
        let values = values.shortened(keys.len() * dtype.size())?;
        Ok(InOrder { values: Tensor::row_major(dtype, &[keys.len()], values), keys })
    }
}

/// Builds the levels of a format for different entries whose keys ascend.
fn levels<K: Key>(
    keys: &dyn Source<K>,
    values: Tensor,
    layout: &Layout,
    format: &Format,
    shape: &[usize],
    fill: Scalar,
) -> Result<Stored, TensorError> {
    let n = values.shape()[0];
    if lists::is_buildable(format) {
        let extents: Vec<usize> =
            format.levels().iter().map(|level| level.coordinate.extent(shape)).collect();
        let (levels, counts) = lists::build(keys, n, layout, format, &extents)?;
        let leaf = Leaf::Values(values);
        return Ok(Stored::unchecked(format.clone(), shape, levels, leaf, fill)?.with_counts(counts));
    }
    let mut columns: Vec<Vec<usize>> = vec![];
    for _ in format.levels() {
        columns.push(room(n)?);
    }
    for_each_block(keys, 0..n, |_, block| {
        for (l, column) in columns.iter_mut().enumerate() {
            column.extend(block.iter().map(|&key| layout.coordinate(key, l)));
        }
    });
    build(columns, values, fill, format, shape)
}
