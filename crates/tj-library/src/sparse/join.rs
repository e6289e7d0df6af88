//! Tensors beside each other: the entries of each part, moved by the place of the part.

use tj_tensor::{Tensor, TensorError};

use super::entries::{Entries, extent_sum, fill_of, in_common, room};
use super::values::join;
use crate::LibraryError;

/// The tensors one after the other along an axis.
///
/// ```
/// use tj_library::sparse::concat;
/// use tj_tensor::{Duplicates, Tensor};
/// let (i, j) = (Tensor::from(vec![0_i64, 1]), Tensor::from(vec![2_i64, 0]));
/// let x = Tensor::coo([2, 3], &[i, j], vec![1.0, 2.0], Duplicates::Sum)?;
/// let y = concat(&[&x, &x], 1)?;
/// assert_eq!((y.shape(), y.nnz()?, y.format().to_string()), ([2, 6].as_slice(), 4, "csr".to_string()));
/// assert_eq!(y.to_vec::<f64>()?, [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// No tensors; shapes that differ along other axes; fills that differ; an axis that would be too large.
pub fn concat(tensors: &[&Tensor], axis: usize) -> Result<Tensor, LibraryError> {
    joined("concat", &in_common("concat", tensors)?, axis)
}

/// The tensors one after the other along a new axis.
///
/// ```
/// use tj_library::sparse::stack;
/// use tj_tensor::Tensor;
/// let (x, y) = (Tensor::from(vec![1, 0, 2]), Tensor::from(vec![0, 0, 3]));
/// let rows = stack(&[&x, &y], 0)?;
/// assert_eq!((rows.shape(), rows.nnz()?), ([2, 3].as_slice(), 3));
/// assert_eq!(stack(&[&x, &y], 1)?.to_vec::<i32>()?, [1, 0, 0, 0, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`concat()`].
pub fn stack(tensors: &[&Tensor], axis: usize) -> Result<Tensor, LibraryError> {
    let tensors = in_common("stack", tensors)?;
    let expanded: Vec<Tensor> = tensors.iter().map(|x| x.expand_dims(axis)).collect::<Result<_, _>>()?;
    joined("stack", &expanded, axis)
}

/// A matrix of matrices, row by row. Where there is none, the matrix has its fill; the heights of a row and the widths of a
/// column are those of the matrices in it.
///
/// ```
/// use tj_library::sparse::block;
/// use tj_tensor::Tensor;
/// let x = Tensor::from_shape_vec([1, 2], vec![1, 2])?;
/// let diagonal = block(&[&[Some(&x), None], &[None, Some(&x)]])?;
/// assert_eq!(diagonal.to_vec::<i32>()?, [1, 2, 0, 0, 0, 0, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// No matrix at all, or none in a row or a column; rows of the grid of different lengths; what is no matrix; shapes that do
/// not fit; fills that differ; an axis that would be too large.
pub fn block(grid: &[&[Option<&Tensor>]]) -> Result<Tensor, LibraryError> {
    let function = "block";
    let n_columns = grid.first().map_or(0, |row| row.len());
    if n_columns == 0 {
        return Err(LibraryError::Shape { function, problem: "the grid is empty".into() });
    }
    if let Some(r) = grid.iter().position(|row| row.len() != n_columns) {
        let problem =
            format!("row {r} of the grid has length {}, and row 0 has length {n_columns}", grid[r].len());
        return Err(LibraryError::Shape { function, problem });
    }
    let mut places: Vec<[usize; 2]> = vec![];
    let mut given = vec![];
    /// An extent, and the place of the matrix that it comes from.
    type Known = Option<(usize, [usize; 2])>;
    let mut extents: [Vec<Known>; 2] = [vec![None; grid.len()], vec![None; n_columns]];
    for (r, row) in grid.iter().enumerate() {
        for (c, x) in row.iter().enumerate() {
            let Some(x) = x else { continue };
            let [rows, columns] = *x.shape() else {
                let problem = format!("row {r}, column {c} of the grid has rank {}", x.rank());
                return Err(LibraryError::Shape { function, problem });
            };
            let [heights, widths] = &mut extents;
            for (known, found, what) in
                [(&mut heights[r], rows, "rows"), (&mut widths[c], columns, "columns")]
            {
                let (known, [other_r, other_c]) = *known.get_or_insert((found, [r, c]));
                if known != found {
                    let problem = format!(
                        "the matrix at row {r}, column {c} of the grid has {found} {what}, and that at row {other_r}, column \
                         {other_c} has {known}"
                    );
                    return Err(LibraryError::Shape { function, problem });
                }
            }
            places.push([r, c]);
            given.push(*x);
        }
    }
    for (extents, what) in extents.iter().zip(["row", "column"]) {
        if let Some(at) = extents.iter().position(Option::is_none) {
            let problem = format!("{what} {at} of the grid has no matrix");
            return Err(LibraryError::Shape { function, problem });
        }
    }
    let given = in_common(function, &given)?;
    let extents = extents
        .map(|extents| extents.into_iter().flatten().map(|(extent, _)| extent).collect::<Vec<usize>>());
    let mut shape = vec![];
    for extents in &extents {
        shape.push(extent_sum(function, extents.iter().copied())?);
    }
    let start = |axis: usize, at: usize| extents[axis][..at].iter().sum::<usize>();
    let starts: Vec<Vec<usize>> = places.iter().map(|&[r, c]| vec![start(0, r), start(1, c)]).collect();
    placed(&given, &starts, shape)
}

/// Tensors of one dtype and fill along an axis.
fn joined(function: &'static str, tensors: &[Tensor], axis: usize) -> Result<Tensor, LibraryError> {
    let first = tensors[0].shape();
    if axis >= first.len() {
        return Err(TensorError::Axis { axis, rank: first.len() }.into());
    }
    let others = |shape: &[usize]| {
        shape.iter().enumerate().filter(|(d, _)| *d != axis).map(|(_, n)| *n).collect::<Vec<_>>()
    };
    for (at, x) in tensors.iter().enumerate() {
        if x.rank() != first.len() || others(x.shape()) != others(first) {
            let problem =
                format!("tensor {at} of shape {:?} does not continue {first:?} along axis {axis}", x.shape());
            return Err(LibraryError::Shape { function, problem });
        }
    }
    let mut shape = first.to_vec();
    shape[axis] = extent_sum(function, tensors.iter().map(|x| x.shape()[axis]))?;
    let mut next = 0;
    let starts: Vec<Vec<usize>> = tensors
        .iter()
        .map(|x| {
            let mut start = vec![0; first.len()];
            start[axis] = next;
            next += x.shape()[axis];
            start
        })
        .collect();
    placed(tensors, &starts, shape)
}

/// The tensor of a shape in which each part begins at its start; parts do not overlap.
fn placed(parts: &[Tensor], starts: &[Vec<usize>], shape: Vec<usize>) -> Result<Tensor, LibraryError> {
    let entries: Vec<Entries> = parts.iter().map(Entries::of).collect::<Result<_, _>>()?;
    let n = entries.iter().map(Entries::len).sum();
    let mut columns = vec![];
    for d in 0..shape.len() {
        let mut column = room(n)?;
        for (part, start) in entries.iter().zip(starts) {
            column.extend(part.columns[d].iter().map(|c| c + start[d] as i64));
        }
        columns.push(column);
    }
    let (fill, values) = (fill_of(&parts[0]), entries.iter().map(|part| &part.values).collect::<Vec<_>>());
    let values = join(fill.dtype(), &values)?;
    Entries { shape, columns, values, fill }.build()
}
