//! What is certain of a set of positions.

use std::sync::Arc;

use smallvec::SmallVec;
use tj_plan::derive::form::{IndexSet, bit, members};
use tj_tensor::{DegreeSummary, Tensor};

use super::{chain, cover};

/// How far indices run.
pub(super) type Size<'s> = &'s dyn Fn(u8) -> f64;

/// More constraints are not kept of a result than this and those that say how large it is.
const MOST_KEPT: usize = 32;

/// What counts are rounded by: they are whole numbers, and logarithms are not exact.
const ROUNDED: f64 = 1e-11;

/// Each assignment of some indices occurs with so many of others, at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Constraint {
    pub from: IndexSet,
    pub to: IndexSet,
    pub most: f64,
}

/// Each coordinate `x` of an index occurs with `degrees[x]` assignments of a set that holds the index, at most.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub index: u8,
    pub set: IndexSet,
    pub degrees: Arc<[u32]>,
    pub spread: Arc<DegreeSummary>,
}

/// Positions, of which all of these hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    pub indices: IndexSet,
    pub constraints: SmallVec<[Constraint; 12]>,
    pub counted: SmallVec<[Counted; 4]>,
}

/// How many entries each coordinate of a dimension has, and what that comes to.
pub(super) type Axis = (Arc<[u32]>, Arc<DegreeSummary>);

/// What is certain of a tensor that is stored by levels.
pub(super) struct Counts {
    pub entries: f64,
    pub axes: SmallVec<[Option<Axis>; 4]>,
}

impl Counts {
    pub fn of(tensor: &Tensor) -> Option<Counts> {
        let entries = tensor.most_entries()? as f64;
        let axis = |axis: usize| {
            let counted = Some((tensor.degrees(axis)?, tensor.degree_summary(axis)?));
            // Counts that do not fit are not known.
            counted.filter(|(_, spread)| spread.greatest < u32::MAX)
        };
        Some(Counts { entries, axes: (0..tensor.rank()).map(axis).collect() })
    }
}

/// A product in which nothing times anything is nothing.
pub(super) fn product(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut all, mut is_none) = (1.0, false);
    for number in numbers {
        is_none |= number == 0.0;
        all *= number;
    }
    if is_none { 0.0 } else { all }
}

/// A whole number that is not below a computed one but by its rounding.
fn whole(most: f64) -> f64 {
    (most * (1.0 + ROUNDED)).floor()
}

impl Region {
    /// No position.
    pub fn nowhere() -> Region {
        let mut region = Region::default();
        region.add(Constraint { from: 0, to: 0, most: 0.0 });
        region
    }

    pub fn is_nowhere(&self) -> bool {
        self.constraints.iter().any(|own| own.most == 0.0)
    }

    /// Adds a constraint; of two of the same indices the smaller one holds.
    pub fn add(&mut self, new: Constraint) {
        let is_same = |own: &&mut Constraint| own.from == new.from && own.to == new.to;
        match self.constraints.iter_mut().find(is_same) {
            Some(own) => own.most = own.most.min(new.most),
            None => self.constraints.push(new),
        }
    }

    /// How many assignments of `to` occur with one of `from`, at most.
    pub fn most(&self, from: IndexSet, to: IndexSet, size: Size<'_>) -> f64 {
        if self.is_nowhere() {
            return 0.0;
        }
        let chain = chain::bound(&self.constraints, from, to, size);
        let cover = cover::bound(&self.constraints, to & !from, size);
        let all = product(members(to & !from).map(size));
        whole(chain.min(cover)).min(all)
    }

    /// The positions at some of the indices.
    pub fn projected(&self, kept: IndexSet, size: Size<'_>) -> Region {
        let mut region = Region { indices: self.indices & kept, ..Region::default() };
        self.sized(kept, size, &mut region);
        let visible = self.constraints.iter().filter(|own| own.from & !kept == 0 && own.to & kept != 0);
        for own in visible.take(MOST_KEPT) {
            region.add(Constraint { to: own.to & kept, ..*own });
        }
        let visible = self.counted.iter().filter(|own| kept & bit(own.index) != 0);
        region.counted = visible.map(|own| Counted { set: own.set & kept, ..own.clone() }).collect();
        region
    }

    /// Adds what this region says of how large it is at some indices: of all of them, of each, and of all others with each.
    pub fn sized(&self, at: IndexSet, size: Size<'_>, region: &mut Region) {
        for key in keys(at) {
            let most = self.most(key.from, key.to, size);
            if most.is_finite() {
                region.add(Constraint { most, ..key });
            }
        }
    }
}

/// What is kept of how large a region is.
pub(super) fn keys(at: IndexSet) -> impl Iterator<Item = Constraint> {
    let key = |from, to| Constraint { from, to, most: f64::INFINITY };
    let each = members(at).filter(move |&index| at != bit(index));
    let each = each.flat_map(move |index| [key(0, bit(index)), key(bit(index), at & !bit(index))]);
    std::iter::once(key(0, at)).chain(each)
}
