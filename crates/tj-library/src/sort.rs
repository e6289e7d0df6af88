//! Sorting and searching.
//!
//! **Idea.** Elements are sorted as integers, which the standard library does without branches and without room; two
//! equal integers look the same, so that this is stable as far as anybody can see. What is not: the NaNs of floats,
//! which go to the end as they come, and the zeros of both signs, which are equal but do not look it; the run of them
//! is written again in the order of the argument. Positions are sorted as `(key, position)` packed into one integer.
//!
//! **Cost.** O(n log n); Argsort takes 8 or 16 bytes an element for a row.

use tj_tensor::DType;

use crate::call::{Call, row, row_mut};
use crate::number::{Number, with_number};
use crate::{ArrayMut, LibraryError};

/// From where on elements are ordered. NaNs come last either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the least.
    Ascending,
    /// From the greatest.
    Descending,
}

impl Direction {
    pub(crate) fn new(descending: bool) -> Direction {
        if descending { Direction::Descending } else { Direction::Ascending }
    }
}

/// `Function::Sort`.
pub(crate) fn sort(
    call: &Call<'_>,
    direction: Direction,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError> {
    with_number!(call, result.dtype, T => {
        let n = call.core(0)[0];
        let x = call.elements::<T>(0)?;
        let y = call.elements_mut::<T>(result)?;
        for (i, r) in call.rows.clone().enumerate() {
            sort_row(row(x, r, n), direction, row_mut(y, i, n));
        }
        Ok(())
    })
}

fn sort_row<T: Number>(x: &[T], direction: Direction, y: &mut [T]) {
    let mut n_numbers = 0;
    for value in x.iter().filter(|value| !value.is_nan()) {
        y[n_numbers] = *value;
        n_numbers += 1;
    }
    let (numbers, nans) = y.split_at_mut(n_numbers);
    for (slot, value) in nans.iter_mut().zip(x.iter().filter(|value| value.is_nan())) {
        *slot = *value;
    }

    let raw: &mut [T::Raw] = bytemuck::cast_slice_mut(numbers);
    raw.iter_mut().for_each(|raw| *raw = T::flip(*raw));
    raw.sort_unstable();
    if direction == Direction::Descending {
        raw.reverse();
    }
    raw.iter_mut().for_each(|raw| *raw = T::flip(*raw));

    let zero = T::zeroed().key();
    let first_zero = numbers.partition_point(|value| match direction {
        Direction::Ascending => value.key() < zero,
        Direction::Descending => value.key() > zero,
    });
    if numbers.get(first_zero).is_some_and(|value| value.is_signed_zero()) {
        let zeros = x.iter().filter(|value| value.is_signed_zero());
        for (slot, value) in numbers[first_zero..].iter_mut().zip(zeros) {
            *slot = *value;
        }
    }
}

/// `Function::Argsort`.
pub(crate) fn argsort(
    call: &Call<'_>,
    direction: Direction,
    dtype: DType,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError> {
    with_number!(call, dtype, T => {
        let n = call.core(0)[0];
        let x = call.elements::<T>(0)?;
        let y = call.elements_mut::<i64>(result)?;
        let fits = T::WIDTH <= 32 && u32::try_from(n).is_ok();
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        for (i, r) in call.rows.clone().enumerate() {
            let (x, y) = (row(x, r, n), row_mut(y, i, n));
            if fits {
                narrow.clear();
                narrow.extend((0..).zip(x).map(|(i, value)| (ordering_key(*value, direction) << 32) | i));
                narrow.sort_unstable();
                y.iter_mut().zip(&narrow).for_each(|(y, packed)| *y = i64::from(*packed as u32));
            } else {
                wide.clear();
                wide.extend((0..).zip(x).map(|(i, value)| (u128::from(ordering_key(*value, direction)) << 64) | i));
                wide.sort_unstable();
                y.iter_mut().zip(&wide).for_each(|(y, packed)| *y = *packed as u64 as i64);
            }
        }
        Ok(())
    })
}

/// Ascending in every direction, with NaN last. The greatest key belongs to NaN alone, the least to no float at all,
/// and so floats keep theirs apart when the order turns.
fn ordering_key<T: Number>(value: T, direction: Direction) -> u64 {
    let key = value.key();
    match direction {
        Direction::Descending if !value.is_nan() => !key & (u64::MAX >> (64 - T::WIDTH)),
        Direction::Ascending | Direction::Descending => key,
    }
}

/// Which of the positions at which a value may stand.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    First,
    Last,
}

/// `Function::Searchsorted`.
pub(crate) fn searchsorted(
    call: &Call<'_>,
    side: Side,
    dtype: DType,
    result: &mut ArrayMut<'_>,
) -> Result<(), LibraryError> {
    with_number!(call, dtype, T => {
        let (n, m) = (call.core(0)[0], call.core(1)[0]);
        let sorted = call.elements::<T>(0)?;
        let values = call.elements::<T>(1)?;
        let y = call.elements_mut::<i64>(result)?;
        for (i, r) in call.rows.clone().enumerate() {
            let sorted = row(sorted, r, n);
            for (y, value) in row_mut(y, i, m).iter_mut().zip(row(values, r, m)) {
                let key = value.key();
                let position = match side {
                    Side::First => sorted.partition_point(|x| x.key() < key),
                    Side::Last => sorted.partition_point(|x| x.key() <= key),
                };
                *y = position as i64;
            }
        }
        Ok(())
    })
}
