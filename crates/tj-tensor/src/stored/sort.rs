//! The order of entries by some columns, outermost first: for coordinates that keys (`keys`) cannot hold, slots of tables,
//! and as the model that the way through keys is tested against.
//!
//! Columns that fit 64 bits together, or 128, are packed into one key an entry; equal keys keep the order of their entries,
//! because the entry's number is the second part of what is sorted. O(n) if the entries are sorted already, else
//! O(n log n), on all threads of the pool.

use rayon::slice::ParallelSliceMut;

use super::expand::compare;
use super::room;
use crate::TensorError;

/// From this many entries on, sorting is shared among threads.
const PARALLEL: usize = 1 << 15;

/// The order in which the rows of the columns increase; `None` if they do so as they are. Equal rows stay in order.
pub(super) fn order(
    columns: &[Vec<usize>],
    extents: &[usize],
    n: usize,
) -> Result<Option<Vec<usize>>, TensorError> {
    if (1..n).all(|at| compare(columns, at - 1, at).is_le()) {
        return Ok(None);
    }
    let count = extents.iter().try_fold(1u128, |count, &extent| count.checked_mul(extent.max(1) as u128));
    let mut order: Vec<usize> = room(n)?;
    match count {
        Some(count) if count <= u64::MAX as u128 => {
            let mut keys: Vec<(u64, usize)> = room(n)?;
            let key = |at: usize| {
                columns.iter().zip(extents).fold(0, |key, (c, &extent)| key * extent as u64 + c[at] as u64)
            };
            keys.extend((0..n).map(|at| (key(at), at)));
            sort(&mut keys);
            order.extend(keys.iter().map(|(_, at)| at));
        }
        Some(_) => {
            let mut keys: Vec<(u128, usize)> = room(n)?;
            let key = |at: usize| {
                columns.iter().zip(extents).fold(0, |key, (c, &extent)| key * extent as u128 + c[at] as u128)
            };
            keys.extend((0..n).map(|at| (key(at), at)));
            sort(&mut keys);
            order.extend(keys.iter().map(|(_, at)| at));
        }
        None => {
            order.extend(0..n);
            order.sort_by(|&a, &b| compare(columns, a, b));
        }
    }
    Ok(Some(order))
}

fn sort<K: Ord + Send>(keys: &mut [(K, usize)]) {
    if keys.len() < PARALLEL { keys.sort_unstable() } else { keys.par_sort_unstable() }
}
