//! How many entries the tasks of a nest may have, by the lengths of lists alone.
//!
//! What an "or" of two reads visits is at most what both have, and what an "and" visits at most what one of them has. So there
//! is room for a sum or a masked value before anything is computed, and the entries need not be counted by walking twice. For
//! more reads than two the room could be a multiple of what is written, and for reductions it is; then counting is better.

use tj_plan::sparse::space::Tree;
use tj_plan::sparse::{Nest, plain};

use super::readers::{Reader, readers};
use super::{Tasks, nest_spaces, tasks};

/// An "or" of more reads than this is counted.
const MAX_SUM: usize = 2;

/// A bound of the entries of each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// What this argument has below the task.
    Entries(usize),
    /// The least of these.
    Least(Vec<Room>),
    /// All of these together.
    Sum(Vec<Room>),
}

/// The room of a nest with a stored result; `None` if its entries have to be counted.
pub fn room(nest: &Nest) -> Option<Room> {
    if nest.combined.is_some() {
        return None;
    }
    let readers = readers(nest);
    of_tree(&nest_spaces(nest)[&nest.inner].tree, nest, &tasks(nest), &readers)
}

fn of_tree(tree: &Tree, nest: &Nest, tasks: &Tasks, readers: &[Reader]) -> Option<Room> {
    match tree {
        Tree::All => None,
        Tree::Leaf(id) => {
            let reader = readers.iter().find(|reader| reader.id == *id)?;
            is_bound(reader, nest, tasks).then_some(Room::Entries(reader.argument))
        }
        Tree::And(trees) => {
            let mut bounds: Vec<Room> =
                trees.iter().filter_map(|tree| of_tree(tree, nest, tasks, readers)).collect();
            if bounds.len() > 1 { Some(Room::Least(bounds)) } else { bounds.pop() }
        }
        Tree::Or(trees) if trees.len() > MAX_SUM => None,
        Tree::Or(trees) => {
            let bounds: Option<Vec<Room>> =
                trees.iter().map(|tree| of_tree(tree, nest, tasks, readers)).collect();
            bounds.map(Room::Sum)
        }
    }
}

/// Whether each position that the loops visit is another entry of a reader, and its outermost level is that of the tasks.
fn is_bound(reader: &Reader, nest: &Nest, tasks: &Tasks) -> bool {
    let indices: Option<Vec<u32>> = reader.levels.iter().map(|level| plain(&reader.at[level.dim])).collect();
    let Some(indices) = indices else { return false };
    let own = &nest.plan.inputs[reader.argument].shape;
    // A part of an axis has other tasks than the argument has positions.
    let is_whole = reader
        .levels
        .iter()
        .zip(&indices)
        .all(|(level, &index)| own[level.dim] == nest.extents[index as usize]);
    let covers = nest.loops.iter().all(|index| indices.contains(index));
    let (Some(outermost), Some(&first)) = (reader.levels.first(), nest.loops.first()) else { return false };
    let begins = match tasks {
        Tasks::Rows => outermost.list.is_none() && indices.first() == Some(&first),
        Tasks::Entries => outermost.list.is_some() && indices.first() == Some(&first),
        Tasks::One => true,
    };
    covers && is_whole && indices.len() == nest.loops.len() && begins
}
