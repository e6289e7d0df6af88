//! Entries as single numbers.
//!
//! The coordinates of an entry lie side by side in the bits of one unsigned integer, the outermost highest. Then comparing
//! keys compares coordinates, duplicates are equal keys, and a coordinate is a shift and a mask away. Keys are as wide as
//! the coordinates need, 31, 63 or 127 bits, because sorting is bound by the bytes it moves. Coordinates that need more
//! stay columns (`assemble`).
//!
//! Where keys come from is a [`Source`], which writes them in blocks on demand, so that the keys in their first order are
//! never stored.

use std::marker::PhantomData;
use std::ops::{Add, Deref, DerefMut, Range, Shl, Shr};

use bytemuck::Pod;

use crate::{Buffer, TensorError};

/// An unsigned integer that holds coordinates.
pub(super) trait Key:
    Pod + Ord + Send + Sync + Add<Output = Self> + Shl<u32, Output = Self> + Shr<u32, Output = Self>
{
    /// A coordinate that fits.
    fn of(coordinate: usize) -> Self;
    /// The lowest bits.
    fn low(self) -> usize;
    /// The sum, from 0 on again where it is too great.
    fn plus(self, other: Self) -> Self;
    /// The number that gives `self` when added to `other`.
    fn minus(self, other: Self) -> Self;
}

macro_rules! key {
    ($($t:ty),*) => {$(
        impl Key for $t {
            #[inline]
            fn of(coordinate: usize) -> $t {
                coordinate as $t
            }

            #[inline]
            fn low(self) -> usize {
                self as usize
            }

            #[inline]
            fn plus(self, other: $t) -> $t {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: $t) -> $t {
                self.wrapping_sub(other)
            }
        }
    )*};
}

key!(u32, u64, u128);

/// Runs an expression with `$K` the narrowest key that holds a layout, or another one if none does. One bit stays free,
/// so that shifting by all bits of a layout is allowed.
macro_rules! with_key {
    ($layout:expr, $K:ident => $body:expr, else $wide:expr) => {
        match $layout.bits() {
            0..32 => {
                type $K = u32;
                $body
            }
            32..64 => {
                type $K = u64;
                $body
            }
            64..128 => {
                type $K = u128;
                $body
            }
            _ => $wide,
        }
    };
}
pub(super) use with_key;

/// Which bits of a key hold which coordinate.
pub(super) struct Layout {
    fields: Vec<Field>,
}

/// The bits of one coordinate.
#[derive(Clone, Copy)]
pub(super) struct Field {
    shift: u32,
    mask: usize,
}

impl Field {
    #[inline]
    pub fn of<K: Key>(self, key: K) -> usize {
        (key >> self.shift).low() & self.mask
    }
}

impl Layout {
    /// For coordinates below some extents, outermost first.
    pub fn new(extents: &[usize]) -> Layout {
        let mut shift = 0u32;
        let field = |&extent: &usize| {
            let bits = usize::BITS - extent.saturating_sub(1).leading_zeros();
            let field = Field { shift, mask: (1usize << (bits % usize::BITS)).wrapping_sub(1) };
            shift += bits;
            field
        };
        let mut fields: Vec<Field> = extents.iter().rev().map(field).collect();
        // The sum of the bits, as a field above all others.
        fields.push(Field { shift, mask: 0 });
        fields.reverse();
        Layout { fields }
    }

    /// The number of bits of a key.
    pub fn bits(&self) -> u32 {
        self.fields[0].shift
    }

    /// Where a coordinate starts.
    pub fn shift(&self, level: usize) -> u32 {
        self.fields[level + 1].shift
    }

    /// The bits of the first coordinates.
    pub fn bits_of_first(&self, levels: usize) -> Range<u32> {
        self.fields[levels].shift..self.bits()
    }

    #[inline]
    pub fn coordinate<K: Key>(&self, key: K, level: usize) -> usize {
        self.field(level).of(key)
    }

    pub fn field(&self, level: usize) -> Field {
        self.fields[level + 1]
    }
}

/// Where the keys of some entries come from, in any order.
pub(super) trait Source<K>: Sync {
    /// Writes those of the entries from `start` on.
    fn write(&self, start: usize, keys: &mut [K]);
}

/// Keys that are there already.
impl<K: Key> Source<K> for &[K] {
    fn write(&self, start: usize, keys: &mut [K]) {
        keys.copy_from_slice(&self[start..start + keys.len()]);
    }
}

/// Few enough to stay in the first-level cache, enough for what a block costs by itself.
const BLOCK: usize = 1024;

/// Calls `f(start, keys)` for the blocks of a range of entries, in order.
pub(super) fn for_each_block<K: Key>(
    source: &dyn Source<K>,
    range: Range<usize>,
    mut f: impl FnMut(usize, &[K]),
) {
    let mut keys = [K::zeroed(); BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let keys = &mut keys[..BLOCK.min(range.end - start)];
        source.write(start, keys);
        f(start, keys);
    }
}

/// All of them.
pub(super) fn collect<K: Key>(source: &dyn Source<K>, n: usize) -> Result<Array<K>, TensorError> {
    let mut keys = Array::zeroed(n)?;
    let part = super::part_len(n);
    super::for_parts(keys.chunks_mut(part).enumerate().collect(), |(i, keys): (usize, &mut [K])| {
        source.write(i * part, keys);
    });
    Ok(keys)
}

/// How the keys of entries follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ascent {
    /// Each is greater than the one before.
    Strict,
    /// None is less than the one before.
    Weak,
    /// Some are.
    None,
}

/// Reads all keys, or, where some thread finds that they are in no order, a part.
pub(super) fn ascent<K: Key>(source: &dyn Source<K>, n: usize) -> Ascent {
    // What is in no order mostly shows it at once.
    let first = BLOCK.min(n);
    if ascent_within(source, 0..first) == Ascent::None {
        return Ascent::None;
    }
    let within = |range: Range<usize>| ascent_within(source, range.start.saturating_sub(1)..range.end);
    super::map_parts(n, within).into_iter().max().unwrap_or(Ascent::Strict)
}

fn ascent_within<K: Key>(source: &dyn Source<K>, range: Range<usize>) -> Ascent {
    let mut found = Ascent::Strict;
    let mut before: Option<K> = None;
    let mut keys = [K::zeroed(); BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let keys = &mut keys[..BLOCK.min(range.end - start)];
        source.write(start, keys);
        if before.is_some_and(|before| before >= keys[0]) || !keys.is_sorted_by(|a, b| a < b) {
            if before.is_some_and(|before| before > keys[0]) || !keys.is_sorted() {
                return Ascent::None;
            }
            found = Ascent::Weak;
        }
        before = keys.last().copied();
    }
    found
}

/// Numbers in a buffer, whose memory large arrays get in huge pages.
pub(super) struct Array<T> {
    buffer: Buffer,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Pod> Array<T> {
    /// Zeros, or an error.
    pub fn zeroed(len: usize) -> Result<Array<T>, TensorError> {
        let bytes = len.saturating_mul(size_of::<T>());
        Ok(Array { buffer: Buffer::zeroed(bytes)?, len, of: PhantomData })
    }

    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(self.buffer.as_bytes())[..self.len]
    }
}

impl<T: Pod> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(self.buffer.as_bytes_mut())[..self.len]
    }
}
