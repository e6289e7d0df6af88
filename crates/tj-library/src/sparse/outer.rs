//! Elements by lists of coordinates, one list a dimension.
//!
//! **Idea.** Each list is turned around: sorted by what it asks for, with the places where it asks. An entry goes to all
//! combinations of the places of its coordinates. Of a matrix by rows only the rows that are asked for are read.

use std::ops::Range;

use smallvec::SmallVec;
use tj_tensor::{Format, Leaf, Level, LevelKind, Tensor};

use super::entries::{Entries, empty_columns, fill_of, room};
use super::values::take;
use crate::LibraryError;
use crate::gather::resolve;

/// The elements at all combinations of some coordinates: element `i, j` of the result is element `I[i], J[j]` of `x`. Lists may
/// repeat and need no order; negative coordinates count from the end; `None` stands for all coordinates in order.
///
/// O((entries read + lists + result) log n). Of `csr` and formats like it only the rows in the first list are read.
///
/// ```
/// use tj_library::sparse::index_outer;
/// use tj_tensor::Tensor;
/// let x = Tensor::from_shape_vec([2, 3], vec![1, 0, 2, 0, 3, 0])?;
/// let y = index_outer(&x, &[Some(&[1, 0, 0]), Some(&[-1, 1])])?;
/// assert_eq!(y.to_vec::<i32>()?, [0, 3, 2, 0, 2, 0]);
/// assert_eq!(index_outer(&x, &[None, Some(&[0])])?.to_vec::<i32>()?, [1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Not one list for each dimension; a coordinate outside its axis; more results than memory holds.
pub fn index_outer(x: &Tensor, lists: &[Option<&[i64]>]) -> Result<Tensor, LibraryError> {
    let function = "index_outer";
    if lists.len() != x.rank() {
        let problem = format!("got {} lists for shape {:?}", lists.len(), x.shape());
        return Err(LibraryError::Shape { function, problem });
    }
    let mut shape = vec![];
    let mut wanted = vec![];
    for (list, &size) in lists.iter().zip(x.shape()) {
        let mut places = Places::All;
        if let Some(list) = list {
            let mut coordinates: Vec<usize> = room(list.len())?;
            let error = |position| LibraryError::Position { function, position, size };
            resolve(list, size, &mut coordinates).map_err(error)?;
            let mut asked: Vec<(usize, usize)> = room(list.len())?;
            asked.extend(coordinates.into_iter().zip(0..));
            asked.sort_unstable();
            places = Places::Asked(asked);
        }
        shape.push(list.map_or(size, <[i64]>::len));
        wanted.push(places);
    }
    let entries = match wanted.first() {
        Some(Places::Asked(asked)) => match rows(x, asked)? {
            Some(entries) => entries,
            None => Entries::of(x)?,
        },
        Some(Places::All) | None => Entries::of(x)?,
    };

    let ranges = |at: usize| {
        let range = move |(places, column): (&Places, &Vec<i64>)| places.of(column[at] as usize);
        wanted.iter().zip(&entries.columns).map(range)
    };
    let mut n = 0usize;
    for at in 0..entries.len() {
        n = n.saturating_add(ranges(at).map(|range| range.len()).fold(1, usize::saturating_mul));
    }
    let mut from: Vec<usize> = room(n)?;
    let mut columns = empty_columns(x.rank(), n)?;
    for at in 0..entries.len() {
        let ranges: SmallVec<[Range<usize>; 4]> = ranges(at).collect();
        let n_copies = ranges.iter().map(|range| range.len()).product::<usize>();
        for copy in 0..n_copies {
            let mut rest = copy;
            for ((column, places), range) in columns.iter_mut().zip(&wanted).zip(&ranges).rev() {
                column.push(places.place(range.start + rest % range.len()));
                rest /= range.len();
            }
            from.push(at);
        }
    }
    let values = take(&entries.values, &from)?;
    Entries { shape, columns, values, fill: entries.fill }.build()
}

/// Where a list asks for which coordinate.
enum Places {
    /// For each where it is.
    All,
    /// Coordinates and places, sorted.
    Asked(Vec<(usize, usize)>),
}

impl Places {
    /// The numbers of the places that ask for a coordinate.
    fn of(&self, coordinate: usize) -> Range<usize> {
        match self {
            Places::All => coordinate..coordinate + 1,
            Places::Asked(asked) => {
                let first = asked.partition_point(|(c, _)| *c < coordinate);
                first..asked.partition_point(|(c, _)| *c <= coordinate)
            }
        }
    }

    /// A place by its number.
    fn place(&self, number: usize) -> i64 {
        match self {
            Places::All => number as i64,
            Places::Asked(asked) => asked[number].1 as i64,
        }
    }
}

/// The entries of the rows that are asked for, of a matrix stored by rows that are all there.
fn rows(x: &Tensor, asked: &[(usize, usize)]) -> Result<Option<Entries>, LibraryError> {
    let Some(stored) = x.stored() else { return Ok(None) };
    let same_levels = stored.format().levels().iter().zip(Format::csr().levels()).all(|(level, csr)| {
        level.coordinate == csr.coordinate && (level.kind == csr.kind || is_list(&level.kind))
    });
    let (2, true, [Level::Dense, Level::Compressed { positions, coordinates }], Leaf::Values(values)) =
        (x.rank(), same_levels, stored.levels(), stored.leaf())
    else {
        return Ok(None);
    };
    let distinct = || asked.chunk_by(|a, b| a.0 == b.0).map(|equal| equal[0].0);
    let fiber = |row: usize| positions.get(row)..positions.get(row + 1);
    let n = distinct().map(|row| fiber(row).len()).sum();
    let mut places: Vec<usize> = room(n)?;
    let mut columns = empty_columns(2, n)?;
    for row in distinct() {
        let fiber = fiber(row);
        columns[0].extend(std::iter::repeat_n(row as i64, fiber.len()));
        columns[1].extend(fiber.clone().map(|place| coordinates.get(place) as i64));
        places.extend(fiber);
    }
    let values = take(values, &places)?;
    Ok(Some(Entries { shape: x.shape().to_vec(), columns, values, fill: fill_of(x) }.pruned()?))
}

fn is_list(kind: &LevelKind) -> bool {
    matches!(kind, LevelKind::Compressed { .. })
}
