//! The Kronecker product.

use tj_ir::ReduceOp;
use tj_tensor::{Scalar, Tensor};

use super::entries::{Entries, fill_of, is_zero, promoted, room, too_large};
use super::values::{fold, join, take};
use crate::LibraryError;

/// All products of an element of `a` with one of `b`: that of elements at `i` and `j` stands at `i * n + j`, `n` the extents of
/// `b`. The tensor of less rank gets axes of size 1 in front. Both fills are 0, and so is that of the result: what is not
/// stored annihilates, infinities and NaN included. O(result).
///
/// ```
/// use tj_library::sparse::kron;
/// use tj_tensor::{Duplicates, Tensor};
/// let at = |n: usize, i: i64, value: i64| {
///     Tensor::coo([n], &[Tensor::from(vec![i])], vec![value], Duplicates::Sum)
/// };
/// let x = kron(&at(70_000, 69_999, 3)?, &at(50_000, 49_999, 5)?)?;
/// let (coordinates, values) = x.to_entries()?;
/// assert_eq!(x.shape(), [3_500_000_000]);
/// assert_eq!((coordinates[0].item::<i64>()?, values.item::<i64>()?), (3_499_999_999, 15));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A fill that is not 0; an axis that would be too large.
pub fn kron(a: &Tensor, b: &Tensor) -> Result<Tensor, LibraryError> {
    let function = "kron";
    let mut tensors = promoted(function, &[a, b])?;
    let rank = a.rank().max(b.rank());
    for x in &mut tensors {
        let fill = fill_of(x);
        if !is_zero(fill) {
            return Err(LibraryError::NonzeroFill { function, fill });
        }
        while x.rank() < rank {
            *x = x.expand_dims(0)?;
        }
    }
    let (a, b) = (Entries::of(&tensors[0])?, Entries::of(&tensors[1])?);
    let extent = |(&n, &m): (&usize, &usize)| n.checked_mul(m).filter(|&n| isize::try_from(n).is_ok());
    let shape: Option<Vec<usize>> = a.shape.iter().zip(&b.shape).map(extent).collect();
    let shape = shape.ok_or_else(|| too_large(function))?;
    // Where there is no memory for the products, `room` says so.
    let n = a.len().saturating_mul(b.len());
    // The places of two factors a product, among the values of both. For vectors and matrices this is the order of the
    // result; others are sorted where it is built.
    let mut factors: Vec<usize> = room(n.saturating_mul(2))?;
    let inner: Vec<_> = b.fibers().collect();
    for outer in a.fibers() {
        for inner in &inner {
            for i in outer.clone() {
                factors.extend(inner.clone().flat_map(|j| [i, a.len() + j]));
            }
        }
    }
    let mut columns = vec![];
    for ((high, low), &extent) in a.columns.iter().zip(&b.columns).zip(&b.shape) {
        let mut column = room(n)?;
        let coordinate = |pair: &[usize]| high[pair[0]] * extent as i64 + low[pair[1] - a.len()];
        column.extend(factors.chunks_exact(2).map(coordinate));
        columns.push(column);
    }
    let fill = a.fill;
    let factors = take(&join(fill.dtype(), &[&a.values, &b.values])?, &factors)?;
    let mut starts: Vec<usize> = room(n)?;
    starts.extend((0..n).map(|pair| 2 * pair));
    let values = fold(function, ReduceOp::Prod, &factors, &starts)?;
    Entries { shape, columns, values, fill: Scalar::zero(fill.dtype()) }.pruned()?.build()
}
