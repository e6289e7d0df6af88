//! Where the least and the greatest elements are.
//!
//! In a fiber with `m` absent cells, all of them hold the fill, and the first of them stands for all. It is found beside the
//! entries: they are sorted, so that it is the first place where coordinates are not 0, 1, 2 and so on.

use tj_tensor::{Scalar, Tensor};

use super::entries::{Entries, cells, gather, room};
use super::values::{Ranking, rank_of, ranks};
use crate::LibraryError;

/// The coordinate of the greatest element of each fiber along an axis, or the row-major position of the greatest of all: the
/// first of equals, and the first NaN if there is one. Absent cells count as the fill. The result is `i64` with fill 0, which
/// is what a fiber without entries has.
///
/// ```
/// use tj_library::sparse::{argmax, argmin};
/// use tj_tensor::Tensor;
/// let x = Tensor::from_shape_vec([2, 2], vec![8, 6, 5, 0])?;
/// assert_eq!(argmin(&x, None)?.item::<i64>()?, 3);
/// assert_eq!(argmax(&x, Some(1))?.to_vec::<i64>()?, [0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An axis that is not there or empty; complex numbers; a position beyond `i64`.
pub fn argmax(x: &Tensor, axis: Option<usize>) -> Result<Tensor, LibraryError> {
    extreme("argmax", x, axis, Ranking::Greatest)
}

/// The least element, as [`argmax`].
///
/// # Errors
/// As [`argmax`].
pub fn argmin(x: &Tensor, axis: Option<usize>) -> Result<Tensor, LibraryError> {
    extreme("argmin", x, axis, Ranking::Least)
}

fn extreme(
    function: &'static str,
    x: &Tensor,
    axis: Option<usize>,
    ranking: Ranking,
) -> Result<Tensor, LibraryError> {
    let entries = match axis {
        Some(axis) => Entries::along(x, axis)?,
        None => Entries::of(x)?,
    };
    let n_cells = match axis {
        Some(axis) => x.shape()[axis] as u128,
        None => cells(x.shape()),
    };
    if n_cells == 0 {
        let what = axis.map_or("the tensor".into(), |axis| format!("axis {axis}"));
        let problem = format!("{what} has size 0, and {function} over nothing is undefined");
        return Err(LibraryError::Shape { function, problem });
    }
    let fiber_ranks = ranks(function, &entries.values, ranking)?;
    let fill_rank = rank_of(function, entries.fill, ranking)?;

    let Some(axis) = axis else {
        let beyond = || {
            let problem = format!("the position of an element of shape {:?} is no i64", x.shape());
            LibraryError::Argument { function, problem }
        };
        if n_cells == u128::MAX {
            return Err(beyond());
        }
        let place = first_extreme(&fiber_ranks, fill_rank, n_cells, |at| entries.place(at));
        return Ok(Tensor::scalar(i64::try_from(place).map_err(|_| beyond())?));
    };
    let along = &entries.columns[entries.columns.len() - 1];
    let mut found: Vec<i64> = room(entries.len())?;
    let mut firsts: Vec<usize> = room(entries.len())?;
    for fiber in entries.fibers() {
        let place = |at: usize| along[fiber.start + at] as u128;
        let extreme = first_extreme(&fiber_ranks[fiber.clone()], fill_rank, n_cells, place);
        // A fiber without a mark has 0.
        if extreme != 0 {
            found.push(extreme as i64);
            firsts.push(fiber.start);
        }
    }
    let mut shape = x.shape().to_vec();
    shape.remove(axis);
    let leading = &entries.columns[..entries.columns.len() - 1];
    let columns = leading.iter().map(|column| gather(column, &firsts)).collect::<Result<_, _>>()?;
    Entries { shape, columns, values: Tensor::from(found), fill: Scalar::I64(0) }.build()
}

/// The place of the least rank among entries at increasing places of `n_cells` cells, the others of which have one rank.
fn first_extreme(ranks: &[u64], fill_rank: u64, n_cells: u128, place: impl Fn(usize) -> u128) -> u128 {
    let best = (0..ranks.len()).min_by_key(|&at| ranks[at]);
    let absent = (0..ranks.len()).find(|&at| place(at) != at as u128).unwrap_or(ranks.len()) as u128;
    let absent = Some(absent).filter(|absent| *absent < n_cells);
    match (best, absent) {
        (Some(best), Some(absent)) => {
            let entry = (ranks[best], place(best));
            if entry < (fill_rank, absent) { entry.1 } else { absent }
        }
        (Some(best), None) => place(best),
        (None, absent) => absent.unwrap_or(0),
    }
}
