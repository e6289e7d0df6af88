//! The entries of a tensor as columns, for formats that list them.
//!
//! Formats made of lists alone (`coo`, `csr`, `csc`, `csf`) give all that they store, zeros too, so that what was stored
//! comes back; of any other format the entries are what differs from the fill.

use tj_tensor::{Coordinate, Leaf, Level, LevelKind, Stored, Tensor, TensorError};

/// A column of coordinates for each dimension, and a vector of values.
pub(crate) type Entries = (Vec<Vec<u64>>, Tensor);

/// What differs from the fill, or from 0 where there is none.
pub(crate) fn nonzero(tensor: &Tensor) -> Result<Entries, TensorError> {
    let (coordinates, values) = tensor.to_entries()?;
    let unsigned = |column: &Tensor| Ok(column.to_vec::<i64>()?.into_iter().map(|c| c as u64).collect());
    Ok((coordinates.iter().map(unsigned).collect::<Result<_, TensorError>>()?, values))
}

/// Everything that lists store, or what differs from the fill.
pub(crate) fn stored(tensor: &Tensor) -> Result<Entries, TensorError> {
    match tensor.stored().and_then(|stored| listed(stored)) {
        Some(entries) => Ok(entries),
        None => nonzero(tensor),
    }
}

/// The entries of a format made of lists below dense levels. Their positions come one after the other, so that the leaf
/// needs no reordering.
fn listed(stored: &Stored) -> Option<Entries> {
    let levels = stored.format().levels();
    let is_list =
        |kind: &LevelKind| matches!(kind, LevelKind::Compressed { .. } | LevelKind::Singleton { .. });
    let first = levels.iter().position(|level| level.kind != LevelKind::Dense)?;
    let Leaf::Values(values) = stored.leaf() else { return None };
    if first > 1 || !levels[first..].iter().all(|level| is_list(&level.kind)) {
        return None;
    }
    let mut columns: Vec<Vec<u64>> = vec![vec![]; stored.format().rank()];
    let mut order = vec![];
    let mut positions = vec![0];
    for (l, level) in levels.iter().enumerate() {
        let Coordinate::Dim(dim) = level.coordinate else { return None };
        let mut parents: Vec<usize> = vec![];
        let mut coordinates: Vec<u64> = vec![];
        match &stored.levels()[l] {
            Level::Compressed { positions: bounds, coordinates: list } => {
                for (parent, &p) in positions.iter().enumerate() {
                    for q in bounds.get(p)..bounds.get(p + 1) {
                        parents.push(parent);
                        coordinates.push(list.get(q) as u64);
                    }
                }
                positions = (0..coordinates.len()).collect();
            }
            Level::Singleton { coordinates: list } => {
                parents.extend(0..positions.len());
                coordinates.extend(positions.iter().map(|&p| list.get(p) as u64));
            }
            Level::Dense => {
                parents.resize(stored.extent(l), 0);
                coordinates.extend(0..stored.extent(l) as u64);
                positions = (0..stored.extent(l)).collect();
            }
            Level::Bytemap { .. }
            | Level::Bitmap { .. }
            | Level::Hash { .. }
            | Level::Runs { .. }
            | Level::Steps { .. }
            | Level::Band { .. }
            | Level::Blocks { .. }
            | Level::Interval => return None,
        }
        for &dim in &order {
            let column: &mut Vec<u64> = &mut columns[dim];
            *column = parents.iter().map(|&parent| column[parent]).collect();
        }
        columns[dim] = coordinates;
        order.push(dim);
    }
    Some((columns, values.clone()))
}
