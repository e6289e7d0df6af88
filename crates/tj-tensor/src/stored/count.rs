//! How many elements levels without arrays hold, found without visiting them.
//!
//! A dense level has every coordinate; an interval has, below a coordinate `a`, those between two edges that are constant or
//! go with `a`, cut off at the ends of the level. So the number below `a` is a line between a few places where an edge is
//! cut off or meets the other, and lines are summed at once. O(levels).

use super::{Stored, interval};
use crate::format::{Coordinate, Edge, LevelKind};

impl Stored {
    /// The number of elements held, where every level is that of a dimension, and dense or an interval.
    pub(super) fn counted(&self) -> Option<u128> {
        let mut count: u128 = 1;
        // The number of coordinates of the dense level above, whose factor is held back for an interval below it.
        let mut above: Option<usize> = None;
        for (level, &extent) in self.format.levels().iter().zip(&self.extents) {
            // The last block of a dimension may be more than half outside.
            let Coordinate::Dim(_) = level.coordinate else { return None };
            match level.kind {
                LevelKind::Dense => {
                    count = count.checked_mul(above.replace(extent).unwrap_or(1) as u128)?;
                }
                LevelKind::Interval { low, high } => {
                    let follows = matches!(low, Edge::Above(_)) || matches!(high, Edge::Above(_));
                    let n_above = match above.take() {
                        Some(n_above) => n_above,
                        None if follows => return None,
                        None => 1,
                    };
                    count = count.checked_mul(held(low, high, n_above, extent)?)?;
                }
                LevelKind::Compressed { .. }
                | LevelKind::Singleton { .. }
                | LevelKind::Bytemap
                | LevelKind::Bitmap
                | LevelKind::Hash { .. }
                | LevelKind::Runs { .. }
                | LevelKind::Steps { .. }
                | LevelKind::Band { .. }
                | LevelKind::Blocks { .. } => return None,
            }
        }
        count.checked_mul(above.unwrap_or(1) as u128)
    }
}

/// The coordinates of an interval below each of the coordinates `0..n_above`, in all.
fn held(low: Edge, high: Edge, n_above: usize, extent: usize) -> Option<u128> {
    let len = |above: i128| {
        let (start, end) = interval(low, high, above as usize, extent);
        (end - start) as i128
    };
    // Where the line of an edge that goes by `by` reaches a coordinate.
    let reaches = |by: isize, coordinate: usize| coordinate as i128 - by as i128;
    let mut places = vec![0, n_above as i128];
    for edge in [low, high] {
        let Edge::Above(by) = edge else { continue };
        places.extend([reaches(by, 0), reaches(by, extent)]);
        for other in [low, high] {
            match other {
                Edge::At(at) => places.push(reaches(by, at.min(extent))),
                Edge::Start | Edge::End | Edge::Above(_) => {}
            }
        }
    }
    places.retain(|place| (0..=n_above as i128).contains(place));
    places.sort_unstable();
    places.windows(2).filter(|pair| pair[0] < pair[1]).try_fold(0u128, |sum, pair| {
        let ends = len(pair[0]).checked_add(len(pair[1] - 1))?;
        let line = ends.checked_mul(pair[1] - pair[0])? / 2;
        sum.checked_add(line as u128)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_summed_as_they_would_be_one_by_one() {
        let edges = [-7, -3, -1, 0, 1, 2, 6].map(Edge::Above);
        let edges = edges.into_iter().chain([0, 2, 5, 9].map(Edge::At));
        let lows: Vec<Edge> = edges.clone().chain([Edge::Start]).collect();
        let highs: Vec<Edge> = edges.chain([Edge::End]).collect();
        for &low in &lows {
            for &high in &highs {
                for n_above in 0..9 {
                    for extent in 0..6 {
                        let lens = (0..n_above).map(|above| interval(low, high, above, extent));
                        let one_by_one: usize = lens.map(|(start, end)| end - start).sum();
                        let at_once = held(low, high, n_above, extent);
                        assert_eq!(at_once, Some(one_by_one as u128), "{low:?} {high:?} {n_above} {extent}");
                    }
                }
            }
        }
    }
}
