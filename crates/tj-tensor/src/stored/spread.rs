//! Entries to strided arrays.
//!
//! Each entry's key gives its coordinates, and those its place. If the array is in the order of the entries, threads share
//! both: a stretch of entries writes to a stretch of the array. O(entries), plus what it takes to write the fill.

use bytemuck::Pod;

use super::keys::{Key, Layout, Source, for_each_block, with_key};
use super::packed::{bytes_of, dims_of, layout_of, with_size};
use super::source::{Lists, are_lists, is_ordered};
use super::{Stored, for_parts, part_len};
use crate::shape::List;
use crate::{Tensor, TensorError};

/// A strided tensor with the dimensions in an order, outermost first, of what has levels that are lists; `None` for other
/// levels, or if keys cannot hold the coordinates. Its shape is that of the dimensions in the order.
pub(super) fn spread(stored: &Stored, order: &[usize]) -> Result<Option<Tensor>, TensorError> {
    if !are_lists(&stored.format) {
        return Ok(None);
    }
    let shape: List<usize> = order.iter().map(|&dim| stored.shape[dim]).collect();
    let layout = layout_of(&stored.shape, order);
    with_key!(layout, K => {
        let shift = |dim: usize| {
            let level = order.iter().position(|&d| d == dim);
            layout.shift(level.expect("the order names every dimension"))
        };
        let mut dense = Tensor::full(&shape, stored.fill)?;
        let values = stored.leaf_values()?;
        let source = Lists::<K>::new(stored, shift)?;
        let ascends = is_ordered(&stored.format) && dims_of(&stored.format).as_deref() == Some(order);
        with_size!(stored.dtype.size(), V => {
            let to: &mut [V] = bytemuck::cast_slice_mut(dense.new_bytes());
            write::<K, V>(&source, bytes_of(&values), &layout, &shape, ascends, to);
        });
        Ok(Some(dense))
    }, else Ok(None))
}

fn write<K: Key, V: Pod + Send + Sync>(
    source: &dyn Source<K>,
    values: &[V],
    layout: &Layout,
    shape: &[usize],
    ascends: bool,
    mut to: &mut [V],
) {
    let n = values.len();
    let place = |key: K| {
        let dims = shape.iter().enumerate();
        dims.fold(0, |place, (l, &extent)| place * extent + layout.coordinate(key, l))
    };
    let part = if ascends { part_len(n) } else { n.max(1) };
    let mut parts = vec![];
    // From the last part to the first, because a part ends where the next one starts.
    for start in (0..n).step_by(part).rev() {
        let mut first = [K::zeroed()];
        source.write(start, &mut first);
        let base = if ascends { place(first[0]) } else { 0 };
        let (before, own) = to.split_at_mut(base);
        parts.push((start..n.min(start + part), base, own));
        to = before;
    }
    for_parts(parts, |(range, base, to)| {
        for_each_block(source, range, |start, keys| {
            keys.iter().zip(&values[start..]).for_each(|(&key, &value)| to[place(key) - base] = value);
        });
    });
}
