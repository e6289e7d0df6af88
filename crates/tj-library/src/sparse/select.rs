//! Elements by value, and where they are.

use tj_tensor::{Complex, DType, Scalar, Tensor};

use super::entries::{Entries, cells, empty_columns, is_zero, refuse, room};
use super::values::{Ranking, elements, rank_of, ranks};
use crate::LibraryError;

/// How an element stands to a number. NaN stands to nothing but is unequal to everything; both zeros are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// It is less.
    Lt,
    /// It is less or equal.
    Le,
    /// It is equal.
    Eq,
    /// It is not equal.
    Ne,
    /// It is greater or equal.
    Ge,
    /// It is greater.
    Gt,
}

/// The elements that stand to a number as asked; the others become the fill. The number is rounded to the tensor's dtype if
/// that is a float.
///
/// ```
/// use tj_library::sparse::{Compare, select};
/// use tj_tensor::Tensor;
/// let x = Tensor::from(vec![3.0, -1.0, 0.0, 2.0]);
/// let y = select(&x, Compare::Ge, 2.5)?;
/// assert_eq!((y.to_vec::<f64>()?, y.nnz()?), (vec![3.0, 0.0, 0.0, 0.0], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A number that a tensor of integers or bools cannot hold; an order of complex numbers.
pub fn select(x: &Tensor, compare: Compare, number: impl Into<Scalar>) -> Result<Tensor, LibraryError> {
    let number = in_dtype(number.into(), x.dtype())?;
    let entries = Entries::of(x)?;
    let keep = stands(&entries.values, compare, number)?;
    entries.retain(|_, at| keep[at])?.build()
}

/// The elements of which a test of coordinates and value holds; the others become the fill. Elements that equal the fill stay
/// it, and are not tested.
///
/// ```
/// use tj_library::sparse::filter;
/// use tj_tensor::{Scalar, Tensor};
/// let x = Tensor::from_shape_vec([2, 2], vec![1, 2, 3, 4])?;
/// let even_row = filter(&x, |at, value| at[0] == 0 && value != Scalar::from(1))?;
/// assert_eq!(even_row.to_vec::<i32>()?, [0, 2, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// No memory.
pub fn filter(x: &Tensor, mut test: impl FnMut(&[usize], Scalar) -> bool) -> Result<Tensor, LibraryError> {
    let entries = Entries::of(x)?;
    let mut keep = room(entries.len())?;
    let mut coordinates = vec![0; x.rank()];
    for at in 0..entries.len() {
        coordinates.iter_mut().zip(&entries.columns).for_each(|(to, column)| *to = column[at] as usize);
        keep.push(test(&coordinates, entries.values.get(&[at])?));
    }
    entries.retain(|_, at| keep[at])?.build()
}

/// The coordinates of what is not 0, in row-major order: a vector of `i64` for each dimension. NaN is not 0. O(result), which is
/// every cell if the fill is not 0.
///
/// ```
/// use tj_library::sparse::nonzero;
/// use tj_tensor::Tensor;
/// let x = Tensor::from_shape_vec([2, 2], vec![0, 2, 3, 0])?;
/// let [rows, columns] = &nonzero(&x)?[..] else { unreachable!() };
/// assert_eq!((rows.to_vec::<i64>()?, columns.to_vec::<i64>()?), (vec![0, 1], vec![1, 0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// More results than memory holds.
pub fn nonzero(x: &Tensor) -> Result<Vec<Tensor>, LibraryError> {
    let entries = Entries::of(x)?;
    let differs = stands(&entries.values, Compare::Ne, Scalar::zero(x.dtype()))?;
    if is_zero(entries.fill) {
        let entries = entries.retain(|_, at| differs[at])?;
        return Ok(entries.columns.into_iter().map(Tensor::from).collect());
    }
    // All cells but the zeros, which are entries.
    let zeros = entries.retain(|_, at| !differs[at])?;
    let n = usize::try_from(cells(x.shape()) - zeros.len() as u128).unwrap_or(usize::MAX);
    let mut columns = empty_columns(x.rank(), n)?;
    let mut cell = vec![0_i64; x.rank()];
    let mut next_zero = 0;
    for _ in 0..n + zeros.len() {
        let is_zero =
            next_zero < zeros.len() && zeros.columns.iter().zip(&cell).all(|(c, at)| c[next_zero] == *at);
        if is_zero {
            next_zero += 1;
        } else {
            columns.iter_mut().zip(&cell).for_each(|(column, at)| column.push(*at));
        }
        for (at, &extent) in cell.iter_mut().zip(x.shape()).rev() {
            *at += 1;
            if *at < extent as i64 {
                break;
            }
            *at = 0;
        }
    }
    Ok(columns.into_iter().map(Tensor::from).collect())
}

/// Which elements stand to a number of their dtype.
fn stands(values: &Tensor, compare: Compare, number: Scalar) -> Result<Vec<bool>, LibraryError> {
    let function = "select";
    let dtype = values.dtype();
    if dtype.is_complex() {
        let equal = match compare {
            Compare::Eq => true,
            Compare::Ne => false,
            Compare::Lt | Compare::Le | Compare::Ge | Compare::Gt => return Err(refuse(function, dtype)),
        };
        let number = Tensor::scalar(number.cast(DType::C128)).item::<Complex<f64>>()?;
        let values = values.cast(DType::C128)?.to_contiguous()?;
        let test = |x: &Complex<f64>| (*x == number) == equal;
        let mut keep = room(values.shape()[0])?;
        keep.extend(elements::<Complex<f64>>(&values).iter().map(test));
        return Ok(keep);
    }
    // NaN has the least rank if it goes first, and another one if it goes last.
    let last = Ranking::Sorted(super::Direction::Ascending);
    let (number_rank, number_first) =
        (rank_of(function, number, last)?, rank_of(function, number, Ranking::Least)?);
    let first = ranks(function, values, Ranking::Least)?;
    let holds = |(rank, first): (u64, u64)| {
        let ordered = rank == first && number_rank == number_first;
        match compare {
            Compare::Lt => ordered && rank < number_rank,
            Compare::Le => ordered && rank <= number_rank,
            Compare::Eq => ordered && rank == number_rank,
            Compare::Ne => !ordered || rank != number_rank,
            Compare::Ge => ordered && rank >= number_rank,
            Compare::Gt => ordered && rank > number_rank,
        }
    };
    let mut keep = room(first.len())?;
    keep.extend(ranks(function, values, last)?.into_iter().zip(first).map(holds));
    Ok(keep)
}

/// A number in the dtype of the elements it is compared with.
fn in_dtype(number: Scalar, dtype: DType) -> Result<Scalar, LibraryError> {
    let held = number.cast(dtype);
    let exact = dtype.is_float() || dtype.is_complex() || same(held, number);
    if exact && (dtype.is_complex() || !number.dtype().is_complex()) {
        return Ok(held);
    }
    let problem = format!("{number} is no {dtype}");
    Err(LibraryError::Argument { function: "select", problem })
}

/// Whether an integer or bool is the number it was made of.
fn same(held: Scalar, number: Scalar) -> bool {
    let sign = |x: Scalar| x.to_f64() < 0.0;
    held.cast(number.dtype()) == number && sign(held) == sign(number)
}
