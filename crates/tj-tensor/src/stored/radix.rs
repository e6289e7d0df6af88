//! Sorting entries by their keys, stably.
//!
//! 1. *Partition* by the highest bits: every thread counts the keys of its stretch of the entries, and then moves them to
//!    its own part of each bucket. Parts of a bucket are in the order of the stretches, so that the result is the same for
//!    any number of threads, and entries with equal keys stay in the order in which they were given.
//! 2. Each bucket, small enough for the second-level cache, is sorted by the remaining digits, lowest first, and what has
//!    equal keys is merged while it is there.
//! 3. Where something was merged, the buckets move together.
//!
//! O(n) for keys of bounded width, with one copy of keys and values, and a bucket's worth of scratch for each thread. Keys
//! that share their highest bits make few buckets and little use of threads, but no more work.

use std::ops::Range;
use std::slice::IterMut;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use super::keys::{Array, Key, Source, for_each_block};
use super::{for_parts, part_len};
use crate::{Buffer, TensorError};

/// A bucket of eight-byte keys and as many values takes 128 KiB, and as much scratch: half of a second-level cache.
const BUCKET: usize = 1 << 13;
/// Each bucket is written at two places, whose cache lines have to stay in the second-level cache: 128 KiB of them.
const MOST_BUCKET_BITS: u32 = 10;
/// Counters of a digit fit the first-level cache.
const DIGIT_BITS: u32 = 10;
/// Below this, moving neighbours is faster than counting.
const FEW: usize = 24;

/// Merges neighbours with equal keys, whose values come as bytes, and returns how many entries remain at the front.
pub(super) type Merge<'a, K> = dyn Fn(&mut [K], &mut [u8]) -> usize + Sync + 'a;

/// Entries in order.
pub(super) struct Sorted<K> {
    pub keys: Array<K>,
    /// One each; the buffer may be longer.
    pub values: Buffer,
}

/// Sorts by some of the bits of the keys. Entries that do not differ in them have to be in order already.
pub(super) fn sort<K: Key, V: Pod + Send + Sync>(
    source: &dyn Source<K>,
    from: &[V],
    bits: Range<u32>,
    merge: &Merge<'_, K>,
) -> Result<Sorted<K>, TensorError> {
    let n = from.len();
    let mut keys: Array<K> = Array::zeroed(n)?;
    let mut buffer = Buffer::zeroed(size_of_val(from))?;
    let values: &mut [V] = bytemuck::cast_slice_mut(buffer.as_bytes_mut());
    let bucket_bits = (n / BUCKET).checked_ilog2().map_or(0, |bits| bits + 1);
    let bucket_bits = bucket_bits.min(MOST_BUCKET_BITS).min(bits.end - bits.start);
    let shift = bits.end - bucket_bits;
    let counts = partition(source, from, shift, 1 << bucket_bits, &mut keys, values);

    let mut buckets = vec![];
    let (mut rest, mut rest_values) = (&mut keys[..], &mut *values);
    for &count in &counts {
        let (bucket, after) = std::mem::take(&mut rest).split_at_mut(count);
        let (bucket_values, after_values) = std::mem::take(&mut rest_values).split_at_mut(count);
        buckets.push((bucket, bucket_values));
        (rest, rest_values) = (after, after_values);
    }
    let free: Mutex<Vec<Scratch<K, V>>> = Mutex::new(vec![]);
    let locked = || free.lock().unwrap_or_else(PoisonError::into_inner);
    let finish = |(keys, values): (&mut [K], &mut [V])| {
        let mut scratch = locked().pop().unwrap_or_default();
        scratch.sort(keys, values, bits.start..shift)?;
        locked().push(scratch);
        Ok(merge(keys, bytemuck::cast_slice_mut(values)))
    };
    let mut kept: Vec<Result<usize, TensorError>> = counts.iter().map(|_| Ok(0)).collect();
    if part_len(n) >= n {
        kept.iter_mut().zip(buckets).for_each(|(kept, bucket)| *kept = finish(bucket));
    } else {
        for_parts(kept.iter_mut().zip(buckets).collect(), |(kept, bucket)| *kept = finish(bucket));
    }
    let kept: Vec<usize> = kept.into_iter().collect::<Result<_, _>>()?;

    let (mut from, mut to) = (0, 0);
    for (&count, kept) in counts.iter().zip(kept) {
        if from != to {
            keys.copy_within(from..from + kept, to);
            values.copy_within(from..from + kept, to);
        }
        (from, to) = (from + count, to + kept);
    }
    keys.truncate(to);
    Ok(Sorted { keys, values: buffer })
}

/// Moves entries to buckets by the bits of their keys from `shift` on; returns the sizes of the buckets.
fn partition<K: Key, V: Pod + Send + Sync>(
    source: &dyn Source<K>,
    from: &[V],
    shift: u32,
    n_buckets: usize,
    keys: &mut [K],
    values: &mut [V],
) -> Vec<usize> {
    let n = from.len();
    if n_buckets == 1 {
        source.write(0, keys);
        values.copy_from_slice(from);
        return vec![n];
    }
    let part = part_len(n);
    let stretches: Vec<Range<usize>> =
        (0..n).step_by(part).map(|start| start..(start + part).min(n)).collect();
    let mut counts = vec![vec![0usize; n_buckets]; stretches.len()];
    for_parts(counts.iter_mut().zip(&stretches).collect(), |(counts, stretch)| {
        for_each_block(source, stretch.clone(), |_, keys| {
            keys.iter().for_each(|&key| counts[(key >> shift).low()] += 1);
        });
    });

    let mut places: Vec<Vec<(IterMut<'_, K>, IterMut<'_, V>)>> =
        stretches.iter().map(|_| Vec::with_capacity(n_buckets)).collect();
    let (mut rest, mut rest_values) = (keys, values);
    for bucket in 0..n_buckets {
        for (places, counts) in places.iter_mut().zip(&counts) {
            let (own, after) = std::mem::take(&mut rest).split_at_mut(counts[bucket]);
            let (own_values, after_values) = std::mem::take(&mut rest_values).split_at_mut(counts[bucket]);
            places.push((own.iter_mut(), own_values.iter_mut()));
            (rest, rest_values) = (after, after_values);
        }
    }
    for_parts(places.into_iter().zip(&stretches).collect(), |(mut places, stretch)| {
        for_each_block(source, stretch.clone(), |start, keys| {
            for (&key, &value) in keys.iter().zip(&from[start..]) {
                let (own, own_values) = &mut places[(key >> shift).low()];
                if let (Some(to), Some(to_value)) = (own.next(), own_values.next()) {
                    (*to, *to_value) = (key, value);
                }
            }
        });
    });
    (0..n_buckets).map(|bucket| counts.iter().map(|counts| counts[bucket]).sum()).collect()
}

/// Where a bucket goes and comes back from.
struct Scratch<K, V> {
    arrays: Option<(Array<K>, Array<V>)>,
}

impl<K, V> Default for Scratch<K, V> {
    fn default() -> Scratch<K, V> {
        Scratch { arrays: None }
    }
}

impl<K: Key, V: Pod> Scratch<K, V> {
    fn sort(&mut self, keys: &mut [K], values: &mut [V], bits: Range<u32>) -> Result<(), TensorError> {
        let n = keys.len();
        if bits.is_empty() || n < 2 {
            return Ok(());
        }
        if n <= FEW {
            insertion(keys, values);
            return Ok(());
        }
        let arrays = match self.arrays.take() {
            Some(arrays) if arrays.0.len() >= n => arrays,
            _ => (Array::zeroed(n)?, Array::zeroed(n)?),
        };
        let (other, other_values) = self.arrays.insert(arrays);
        let width = bits.end - bits.start;
        let passes = width.div_ceil(n.ilog2().min(DIGIT_BITS));
        let digit = width.div_ceil(passes);
        let (mut from, mut to) = ((keys, values), (&mut other[..n], &mut other_values[..n]));
        let mut swapped = false;
        for shift in bits.clone().step_by(digit as usize) {
            let mask = (1usize << digit.min(bits.end - shift)) - 1;
            if pass(from.0, from.1, to.0, to.1, shift, mask) {
                (from, to) = (to, from);
                swapped = !swapped;
            }
        }
        if swapped {
            to.0.copy_from_slice(from.0);
            to.1.copy_from_slice(from.1);
        }
        Ok(())
    }
}

/// Moves entries by one digit; not, if all have the same.
fn pass<K: Key, V: Pod>(
    from: &[K],
    from_values: &[V],
    to: &mut [K],
    to_values: &mut [V],
    shift: u32,
    mask: usize,
) -> bool {
    let mut next = [0usize; 1 << DIGIT_BITS];
    let digit = |key: K| (key >> shift).low() & mask;
    from.iter().for_each(|&key| next[digit(key)] += 1);
    if next[digit(from[0])] == from.len() {
        return false;
    }
    let mut sum = 0;
    for count in &mut next[..=mask] {
        sum += std::mem::replace(count, sum);
    }
    for (&key, &value) in from.iter().zip(from_values) {
        let place = &mut next[digit(key)];
        (to[*place], to_values[*place]) = (key, value);
        *place += 1;
    }
    true
}

fn insertion<K: Key, V: Pod>(keys: &mut [K], values: &mut [V]) {
    for at in 1..keys.len() {
        let (key, value) = (keys[at], values[at]);
        let mut to = at;
        while to > 0 && keys[to - 1] > key {
            (keys[to], values[to]) = (keys[to - 1], values[to - 1]);
            to -= 1;
        }
        (keys[to], values[to]) = (key, value);
    }
}
