//! Rows in order.
//!
//! **Words.** A row is a fiber of the last axis, of `n` cells. Its entries are *before*, *level with* or *after* the fill in the
//! order asked for. Sorted, a row is what is before, then the fill block with what is level with it, then what is after. The
//! fill block need not be written, so that a sorted row has as many entries as the row had.
//!
//! Only zeros of another sign than the fill are level with it and yet entries. They keep their places among the absent
//! cells, as sorting is stable.

use tj_tensor::Tensor;

use super::Direction;
use super::entries::{Entries, cells, fill_of, room};
use super::values::{Ranking, rank_of, ranks};
use crate::LibraryError;

/// The rows (fibers of the last axis) in order. Stable; NaNs come last in either direction. Absent cells count as the fill, and
/// as many as there are of them stay absent: what comes before the fill starts the row, what comes after it ends the row.
///
/// ```
/// use tj_library::sparse::{Direction, sort_rows};
/// use tj_tensor::Tensor;
/// let x = Tensor::from_shape_vec([1, 5], vec![3, 0, -1, 0, 2])?;
/// let y = sort_rows(&x, Direction::Ascending)?;
/// assert_eq!((y.to_vec::<i32>()?, y.nnz()?), (vec![-1, 0, 0, 2, 3], 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A tensor of rank 0; complex numbers.
pub fn sort_rows(x: &Tensor, direction: Direction) -> Result<Tensor, LibraryError> {
    let rows = Rows::of("sort_rows", x, direction)?;
    let mut order: Vec<usize> = room(rows.entries.len())?;
    let mut coordinates: Vec<i64> = room(rows.entries.len())?;
    for fiber in rows.entries.fibers() {
        let row = rows.row(fiber)?;
        for (place, &at) in row.before.iter().enumerate() {
            order.push(at);
            coordinates.push(place as i64);
        }
        for &(at, block) in &row.level {
            order.push(at);
            coordinates.push((row.before.len() + block) as i64);
        }
        for (place, &at) in row.after.iter().enumerate() {
            order.push(at);
            coordinates.push((rows.n - row.after.len() + place) as i64);
        }
    }
    let mut entries = rows.entries.take(&order)?;
    let last = entries.columns.len() - 1;
    entries.columns[last] = coordinates;
    entries.build()
}

/// What [`top_k`] gives.
#[derive(Clone, Debug)]
pub struct TopK {
    /// The first `k` elements of each row, with the fill of the tensor.
    pub values: Tensor,
    /// Where they were in their rows: dense, `i64`.
    pub indices: Tensor,
}

/// The first `k` elements of each row (fiber of the last axis) in an order, as [`sort_rows`] would put them, with where they
/// came from. O(n log n + `k` a row).
///
/// ```
/// use tj_library::sparse::{Direction, top_k};
/// use tj_tensor::Tensor;
/// let x = Tensor::from_shape_vec([2, 4], vec![0, 5, 0, 7, -1, 0, 0, 0])?;
/// let top = top_k(&x, 2, Direction::Descending)?;
/// assert_eq!(top.values.to_vec::<i32>()?, [7, 5, 0, 0]);
/// assert_eq!(top.indices.to_vec::<i64>()?, [3, 1, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A tensor of rank 0; complex numbers; a `k` beyond the size of the last axis; more results than memory holds.
pub fn top_k(x: &Tensor, k: usize, direction: Direction) -> Result<TopK, LibraryError> {
    let rows = Rows::of("top_k", x, direction)?;
    rows.need(k)?;
    let mut shape = x.shape().to_vec();
    shape[x.rank() - 1] = k;
    // Where there is no memory for as many, `room` says so.
    let n_rows = usize::try_from(cells(&x.shape()[..x.rank() - 1])).unwrap_or(usize::MAX);
    let mut indices: Vec<i64> = room(n_rows.saturating_mul(k))?;
    let n_kept = rows.entries.len().min(n_rows.saturating_mul(k));
    let mut kept: Vec<usize> = room(n_kept)?;
    let mut coordinates: Vec<i64> = room(n_kept)?;
    let row_of = |at: usize| {
        let leading = rows.entries.columns.iter().zip(x.shape()).take(x.rank() - 1);
        leading.fold(0, |row, (column, &extent)| row * extent + column[at] as usize)
    };
    let mut next_row = 0;
    if k > 0 {
        for fiber in rows.entries.fibers() {
            // Rows without entries are the fill, in order.
            let row_number = row_of(fiber.start);
            (next_row..row_number).for_each(|_| indices.extend(0..k as i64));
            next_row = row_number + 1;
            for (place, (coordinate, entry)) in rows.first(rows.row(fiber)?, k)?.into_iter().enumerate() {
                indices.push(coordinate);
                if let Some(at) = entry {
                    kept.push(at);
                    coordinates.push(place as i64);
                }
            }
        }
        (next_row..n_rows).for_each(|_| indices.extend(0..k as i64));
    }
    let indices = Tensor::from_shape_vec(&shape, indices)?;
    let mut entries = rows.entries.take(&kept)?;
    entries.columns.pop();
    entries.columns.push(coordinates);
    let values = Entries { shape, ..entries }.build()?;
    Ok(TopK { values, indices })
}

/// The tensor with the first `k` elements of each row (fiber of the last axis) in an order where they are, as [`sort_rows`]
/// would choose them, and the fill elsewhere. Absent cells that are chosen stay the fill.
///
/// ```
/// use tj_library::sparse::{Direction, keep_top_k};
/// use tj_tensor::Tensor;
/// let x = Tensor::from_shape_vec([2, 4], vec![4, 5, 0, 7, -1, 0, 0, 0])?;
/// assert_eq!(keep_top_k(&x, 2, Direction::Descending)?.to_vec::<i32>()?, [0, 5, 0, 7, 0, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`top_k`].
pub fn keep_top_k(x: &Tensor, k: usize, direction: Direction) -> Result<Tensor, LibraryError> {
    let rows = Rows::of("keep_top_k", x, direction)?;
    rows.need(k)?;
    let mut kept: Vec<usize> = room(rows.entries.len())?;
    for fiber in rows.entries.fibers() {
        let row = rows.row(fiber)?;
        let n_absent = rows.n - row.before.len() - row.level.len() - row.after.len();
        let start = kept.len();
        kept.extend(row.before.iter().take(k));
        let left = k - (kept.len() - start);
        kept.extend(row.level.iter().filter(|(_, block)| *block < left).map(|(at, _)| *at));
        kept.extend(row.after.iter().take(left.saturating_sub(row.level.len() + n_absent)));
        kept[start..].sort_unstable();
    }
    rows.entries.take(&kept)?.build()
}

/// Entries by rows, with their ranks.
struct Rows {
    function: &'static str,
    entries: Entries,
    /// Cells of a row.
    n: usize,
    ranks: Vec<u64>,
    fill_rank: u64,
}

/// The entries of a row in order.
struct Row {
    before: Vec<usize>,
    /// With their places in the fill block.
    level: Vec<(usize, usize)>,
    after: Vec<usize>,
    /// The coordinates of `before` and `after`, increasing.
    elsewhere: Vec<i64>,
}

impl Rows {
    fn of(function: &'static str, x: &Tensor, direction: Direction) -> Result<Rows, LibraryError> {
        let Some(&n) = x.shape().last() else {
            let problem = "a tensor of rank 0 has no rows".into();
            return Err(LibraryError::Shape { function, problem });
        };
        let entries = Entries::of(x)?;
        let ranking = Ranking::Sorted(direction);
        let ranks = ranks(function, &entries.values, ranking)?;
        let fill_rank = rank_of(function, fill_of(x), ranking)?;
        Ok(Rows { function, entries, n, ranks, fill_rank })
    }

    fn need(&self, k: usize) -> Result<(), LibraryError> {
        if k <= self.n {
            return Ok(());
        }
        let problem = format!("cannot take {k} elements of rows of {}", self.n);
        Err(LibraryError::Argument { function: self.function, problem })
    }

    fn row(&self, fiber: std::ops::Range<usize>) -> Result<Row, LibraryError> {
        let n = fiber.len();
        let mut row = Row { before: room(n)?, level: room(n)?, after: room(n)?, elsewhere: room(n)? };
        for at in fiber {
            let coordinate = self.along(at);
            match self.ranks[at].cmp(&self.fill_rank) {
                std::cmp::Ordering::Less => row.before.push(at),
                std::cmp::Ordering::Greater => row.after.push(at),
                std::cmp::Ordering::Equal => {
                    row.level.push((at, coordinate as usize - row.elsewhere.len()));
                    continue;
                }
            }
            row.elsewhere.push(coordinate);
        }
        row.before.sort_unstable_by_key(|&at| (self.ranks[at], at));
        row.after.sort_unstable_by_key(|&at| (self.ranks[at], at));
        Ok(row)
    }

    /// The coordinate of an entry in its row.
    fn along(&self, at: usize) -> i64 {
        self.entries.columns[self.entries.columns.len() - 1][at]
    }

    /// The first `k` cells of a row in order: the coordinate of each, and the entry if it is one.
    fn first(&self, row: Row, k: usize) -> Result<Vec<(i64, Option<usize>)>, LibraryError> {
        let entry = |&at: &usize| (self.along(at), Some(at));
        let mut first = room(k)?;
        first.extend(row.before.iter().take(k).map(entry));
        let mut elsewhere = row.elsewhere.iter().peekable();
        let mut level = row.level.iter().peekable();
        let mut coordinate = 0;
        while first.len() < k && coordinate < self.n as i64 {
            if elsewhere.next_if_eq(&&coordinate).is_none() {
                let entry = level.next_if(|(at, _)| self.along(*at) == coordinate);
                first.push((coordinate, entry.map(|(at, _)| *at)));
            }
            coordinate += 1;
        }
        let left = k - first.len();
        first.extend(row.after.iter().take(left).map(entry));
        Ok(first)
    }
}
