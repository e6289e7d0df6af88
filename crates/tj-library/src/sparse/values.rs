//! Vectors of values of any dtype: moved as bits, combined as numbers, ordered as integers.

use bytemuck::Pod;
use tj_ir::ReduceOp;
use tj_tensor::{Buffer, Complex, DType, Scalar, Tensor};

use super::entries::{refuse, room};
use crate::LibraryError;
use crate::gather::with_bits;
use crate::number::{Number, with_number};
use crate::sort::Direction;

/// Some elements of a vector.
pub(super) fn take(values: &Tensor, places: &[usize]) -> Result<Tensor, LibraryError> {
    let dtype = values.dtype();
    let values = values.to_contiguous()?;
    let mut buffer = zeroed(dtype, places.len())?;
    with_bits!(dtype, T => {
        let (from, to) = (elements::<T>(&values), elements_mut::<T>(&mut buffer));
        to.iter_mut().zip(places).for_each(|(to, &place)| *to = from[place]);
    });
    Ok(Tensor::from_buffer(dtype, [places.len()], buffer)?)
}

/// Vectors of one dtype, one after the other.
pub(super) fn join(dtype: DType, parts: &[&Tensor]) -> Result<Tensor, LibraryError> {
    let n = parts.iter().map(|part| part.shape()[0]).sum();
    let mut buffer = zeroed(dtype, n)?;
    let mut rest = buffer.as_bytes_mut();
    for part in parts {
        let part = part.to_contiguous()?;
        let bytes = part.as_bytes().unwrap_or_default();
        let (here, after) = rest.split_at_mut(bytes.len());
        here.copy_from_slice(bytes);
        rest = after;
    }
    Ok(Tensor::from_buffer(dtype, [n], buffer)?)
}

/// A vector of one value.
pub(super) fn single(value: Scalar) -> Result<Tensor, LibraryError> {
    Ok(Tensor::full([1], value)?)
}

/// Which values are not the fill: their bits differ, and not both are NaN.
pub(super) fn differs(values: &Tensor, fill: Scalar) -> Result<Vec<bool>, LibraryError> {
    let dtype = values.dtype();
    let (values, fill) = (values.to_contiguous()?, single(fill)?);
    let mut differs = room(values.shape()[0])?;
    with_bits!(dtype, T => {
        let fill = elements::<T>(&fill)[0];
        differs.extend(elements::<T>(&values).iter().map(|&x| x != fill));
    });
    if dtype.is_float() {
        let refused = Refused("differs");
        with_number!(refused, dtype, T => {
            if elements::<T>(&fill)[0].is_nan() {
                differs.iter_mut().zip(elements::<T>(&values)).for_each(|(differs, x)| *differs = !x.is_nan());
            }
            Ok(())
        })?;
    }
    Ok(differs)
}

/// For each group of a vector (from a start to the next one) its elements reduced, from the first to the last. A sum of
/// bools is `or`, a product `and`.
pub(super) fn fold(
    function: &'static str,
    op: ReduceOp,
    values: &Tensor,
    starts: &[usize],
) -> Result<Tensor, LibraryError> {
    /// Complex numbers have sums and products only.
    macro_rules! complex {
        ($T:ty) => {{
            let op: fn($T, $T) -> $T = match op {
                ReduceOp::Sum => |a, b| a + b,
                ReduceOp::Prod => |a, b| a * b,
                ReduceOp::Max
                | ReduceOp::Min
                | ReduceOp::And
                | ReduceOp::Or
                | ReduceOp::Xor
                | ReduceOp::By(_) => return Err(refuse(function, values.dtype())),
            };
            fold_with::<$T>(values, starts, op)
        }};
    }
    let dtype = values.dtype();
    if dtype == DType::C64 {
        return complex!(Complex<f32>);
    }
    if dtype == DType::C128 {
        return complex!(Complex<f64>);
    }
    let op = if dtype.is_bool() && op == ReduceOp::Sum { ReduceOp::Or } else { op };
    let refused = Refused(function);
    with_number!(refused, dtype, T => fold_with::<T>(values, starts, |a, b| T::reduce(op, a, b)))
}

fn fold_with<T: Pod>(
    values: &Tensor,
    starts: &[usize],
    op: impl Fn(T, T) -> T,
) -> Result<Tensor, LibraryError> {
    let dtype = values.dtype();
    let values = values.to_contiguous()?;
    let from = elements::<T>(&values);
    let mut buffer = zeroed(dtype, starts.len())?;
    let ends = starts.iter().skip(1).copied().chain([from.len()]);
    for ((to, &start), end) in elements_mut::<T>(&mut buffer).iter_mut().zip(starts).zip(ends) {
        *to = from[start + 1..end].iter().fold(from[start], |a, &b| op(a, b));
    }
    Ok(Tensor::from_buffer(dtype, [starts.len()], buffer)?)
}

/// How elements stand to each other; both zeros are equal.
#[derive(Clone, Copy)]
pub(super) enum Ranking {
    /// As [`Direction`] says: NaNs come last.
    Sorted(Direction),
    /// The least first, but NaNs before it.
    Least,
    /// The greatest first, but NaNs before it.
    Greatest,
}

/// Numbers in the order of the elements: the first in the ranking has the least.
pub(super) fn ranks(
    function: &'static str,
    values: &Tensor,
    ranking: Ranking,
) -> Result<Vec<u64>, LibraryError> {
    let refused = Refused(function);
    with_number!(refused, values.dtype(), T => {
        let values = values.to_contiguous()?;
        let values = elements::<T>(&values);
        let mut ranks = room(values.len())?;
        ranks.extend(values.iter().map(|&x| ranking.rank(x)));
        Ok(ranks)
    })
}

/// The rank of one value.
pub(super) fn rank_of(function: &'static str, value: Scalar, ranking: Ranking) -> Result<u64, LibraryError> {
    Ok(ranks(function, &single(value)?, ranking)?[0])
}

impl Ranking {
    /// The key of no number of a float type is 0, and only that of NaN has all bits of its width; integers have no NaN.
    fn rank<T: Number>(self, x: T) -> u64 {
        match self {
            Ranking::Sorted(Direction::Ascending) => x.key(),
            Ranking::Sorted(Direction::Descending) if x.is_nan() => u64::MAX,
            Ranking::Least | Ranking::Greatest if x.is_nan() => 0,
            Ranking::Least => x.key(),
            Ranking::Sorted(Direction::Descending) | Ranking::Greatest => !x.key(),
        }
    }
}

/// What [`with_number`] asks for.
struct Refused(&'static str);

impl Refused {
    fn refuse(&self, dtype: DType) -> LibraryError {
        refuse(self.0, dtype)
    }
}

fn zeroed(dtype: DType, n: usize) -> Result<Buffer, LibraryError> {
    Ok(Buffer::zeroed(n.saturating_mul(dtype.size()))?)
}

/// The elements of a row-major tensor, as plain numbers of their size.
pub(super) fn elements<T: Pod>(values: &Tensor) -> &[T] {
    match values.as_bytes() {
        Some(bytes) if !bytes.is_empty() => bytemuck::cast_slice(bytes),
        // No bytes may come from anywhere.
        Some(_) | None => &[],
    }
}

fn elements_mut<T: Pod>(buffer: &mut Buffer) -> &mut [T] {
    bytemuck::cast_slice_mut(buffer.as_bytes_mut())
}
