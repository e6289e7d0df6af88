//! The cheapest composition of constraints.
//!
//! Of a set of indices whose assignments are at most `w`, a constraint from some of them leads to a greater set with `w d`: so the
//! bound is a shortest path, found as Dijkstra does. What an index runs over is a constraint, too. All sets may be reached; a search
//! that has seen many ends with the best it has, which is a bound as any path is.

use smallvec::SmallVec;
use tj_plan::derive::form::{IndexSet, bit, members};

use super::constraints::{Constraint, Size, product};

/// Sets that a search goes on from.
const MOST_SETS: usize = 256;

/// How many assignments of `to` occur with one of `from`, at most, if these constraints hold and none says that there are none.
pub(super) fn bound(constraints: &[Constraint], from: IndexSet, to: IndexSet, size: Size<'_>) -> f64 {
    let rest = |set: IndexSet| product(members(to & !set).map(size));
    let mut best = rest(from);
    // Indices that nothing leads on from can wait for the end.
    let leading = constraints.iter().fold(0, |all, own| all | own.from);
    let sizes = members(leading).map(|index| Constraint { from: 0, to: bit(index), most: size(index) });
    let sizes: SmallVec<[Constraint; 8]> = sizes.filter(|own| own.most.is_finite()).collect();
    let mut open: SmallVec<[(IndexSet, f64); 16]> = SmallVec::from_slice(&[(from, 1.0)]);
    let mut done: SmallVec<[IndexSet; 16]> = SmallVec::new();
    while let Some(at) = (0..open.len()).min_by(|&a, &b| open[a].1.total_cmp(&open[b].1)) {
        let (set, weight) = open.swap_remove(at);
        if weight >= best || done.len() == MOST_SETS {
            break;
        }
        done.push(set);
        for constraint in constraints.iter().chain(&sizes) {
            let next = set | constraint.to;
            if constraint.from & !set != 0 || next == set {
                continue;
            }
            let weight = weight * constraint.most;
            let missing = rest(next);
            best = best.min(product([weight, missing].into_iter()));
            // What was reached for less, or holds more and was, leads wherever this does.
            let is_known = done.iter().any(|known| next & !known == 0);
            if weight >= best || is_known {
                continue;
            }
            match open.iter_mut().find(|(known, _)| *known == next) {
                Some((_, known)) => *known = known.min(weight),
                None => open.push((next, weight)),
            }
        }
    }
    best
}
