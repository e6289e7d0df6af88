//! Where the entries of each task may be written, by the lengths of the lists of arguments.

use tj_kernel::lower::sparse::Tasks;
use tj_kernel::lower::sparse::room::Room;
use tj_tensor::{Level, Stored, Tensor};

use super::run::missing;
use crate::error::Error;

/// Where the entries of each task start, and where those of the last one end.
pub(super) fn starts(room: &Room, tasks: &Tasks, arguments: &[Tensor]) -> Result<Vec<i64>, Error> {
    match room {
        Room::Entries(argument) => below(arguments[*argument].stored().ok_or_else(missing)?, tasks),
        Room::Least(rooms) => {
            let mut least: Option<Vec<i64>> = None;
            for room in rooms {
                let own = starts(room, tasks, arguments)?;
                if least.as_ref().is_none_or(|least| own.last() < least.last()) {
                    least = Some(own);
                }
            }
            least.ok_or_else(missing)
        }
        Room::Sum(rooms) => {
            let mut all: Option<Vec<i64>> = None;
            for room in rooms {
                let own = starts(room, tasks, arguments)?;
                match &mut all {
                    None => all = Some(own),
                    Some(all) => all.iter_mut().zip(own).for_each(|(all, own)| *all += own),
                }
            }
            match (all, tasks) {
                (Some(all), _) => Ok(all),
                // Nothing is visited.
                (None, Tasks::One) => Ok(vec![0, 0]),
                (None, Tasks::Rows | Tasks::Entries) => Err(missing()),
            }
        }
    }
}

/// How many entries a tensor has before each position of its outermost level, or all of it.
fn below(stored: &Stored, tasks: &Tasks) -> Result<Vec<i64>, Error> {
    let n = match tasks {
        Tasks::One => return Ok(vec![0, stored.leaf_positions() as i64]),
        Tasks::Rows | Tasks::Entries => stored.positions_below(0),
    };
    let mut starts: Vec<i64> = (0..=n as i64).collect();
    for (l, level) in stored.levels().iter().enumerate().skip(1) {
        if matches!(level, Level::Dense) {
            let extent = stored.extent(l) as i64;
            starts.iter_mut().for_each(|start| *start *= extent);
            continue;
        }
        let Level::Compressed { positions, .. } = level else { return Err(missing()) };
        match l {
            1 => starts = positions.to_vec().into_iter().map(|start| start as i64).collect(),
            _ => starts.iter_mut().for_each(|start| *start = positions.get(*start as usize) as i64),
        }
    }
    Ok(starts)
}
