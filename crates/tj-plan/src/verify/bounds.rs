//! Whether a read stays inside of its source.
//!
//! A read at `p` of an axis of size `n` is inside if `p` and `n - 1 - p` are not negative wherever the indices of the
//! query lie in their ranges. That is tried in three steps: as it is; with sizes that a guard makes equal replaced by
//! one of them; and with one more guard at a time, which says that some `g` is not negative, so that `t` is not if
//! `t - g` is not. Failing to find a proof is not an error.
//!
//! A reshape reads at `floordiv(a, b)`. That is below `n` if `a` is below `n * b`; and then `b` is not 0, so the quotient
//! is not negative unless `a` is.
//!
//! Cost: constant for a plain index on an axis of the same size, which is nearly every read. Else some proofs about
//! sizes, at most [`MAX_GUARDS`] of them with guards, however many guards there are.

use rustc_hash::{FxHashMap, FxHashSet};
use tj_ir::dim::{Factor, Ranges, Summand};
use tj_ir::{Condition, Dim, Guard, Symbol};

use crate::plan::RootReduce;
use crate::substitute::ranges_of;

/// Guards that are tried for one read: those that share a size with it, first come first served.
const MAX_GUARDS: usize = 8;

/// Rounds in which sizes are replaced by equal ones. A guard replaces the later size, so one or two do.
const MAX_ROUNDS: usize = 8;

/// The loops around a read.
pub(super) struct Place {
    /// Axes of the query, then its reduction.
    extents: Vec<Dim>,
    ranges: Ranges,
}

impl Place {
    pub fn new(shape: &[Dim], root: Option<&RootReduce>) -> Place {
        let extents: Vec<Dim> = shape.iter().chain(root.map(|r| &r.extent)).cloned().collect();
        let running: Vec<Dim> = extents.iter().map(where_it_runs).collect();
        Place { ranges: ranges_of(&running, None), extents }
    }

    fn map(&self, f: impl Fn(&Dim) -> Dim) -> Place {
        Place::new(&self.extents.iter().map(f).collect::<Vec<_>>(), None)
    }

    fn never_runs(&self) -> bool {
        self.extents.iter().any(|extent| extent.known_le(&Dim::ZERO) == Some(true))
    }

    fn always_runs(&self) -> bool {
        self.extents.iter().all(|extent| Dim::ONE.known_le(extent) == Some(true))
    }
}

/// The same size as long as it is positive: the size of a slice is `max(0, n)`, which is `n` wherever an index along it
/// has a value.
fn where_it_runs(extent: &Dim) -> Dim {
    if let Some(Factor::Max(a, b)) = as_factor(extent) {
        let never_positive = |dim: &Dim| dim.is_const().is_some_and(|c| c <= 0);
        match (never_positive(a), never_positive(b)) {
            (true, _) => return b.clone(),
            (_, true) => return a.clone(),
            (false, false) => {}
        }
    }
    extent.clone()
}

/// The one thing that a size is made of, if it is neither a sum nor a product nor a power.
fn as_factor(dim: &Dim) -> Option<Factor<'_>> {
    match dim.summands().ok()?.as_slice() {
        [Summand { coeff: 1, factors }] => match factors.as_slice() {
            [(factor, 1)] => Some(*factor),
            _ => None,
        },
        _ => None,
    }
}

/// What is known about a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// It is inside of its source.
    Inside,
    /// It happens, and is outside.
    Outside,
    /// Neither is proved.
    Unknown,
}

/// What guards say.
pub(super) struct Bounds {
    /// Sizes that equal something else.
    equal: FxHashMap<Symbol, Dim>,
    /// Other facts, as expressions that are not negative, by the sizes they mention.
    facts: FxHashMap<Symbol, Vec<Dim>>,
}

impl Bounds {
    pub fn new(guards: &[Guard]) -> Bounds {
        let mut bounds = Bounds { equal: FxHashMap::default(), facts: FxHashMap::default() };
        for guard in guards {
            match &guard.condition {
                Condition::Equal(a, b) => bounds.equal(a, b),
                Condition::LessEqual(a, b) => bounds.fact(b - a),
                Condition::Divides(d, n) => bounds.equal(n, &(d * n.floordiv(d))),
            }
        }
        bounds
    }

    fn equal(&mut self, a: &Dim, b: &Dim) {
        let (a, b) = (self.resolve(a), self.resolve(b));
        let size = |dim: &Dim, other: &Dim| dim.as_symbol().filter(|symbol| !other.mentions(symbol)).cloned();
        if let Some(later) = size(&b, &a) {
            self.equal.insert(later, a);
        } else if let Some(later) = size(&a, &b) {
            self.equal.insert(later, b);
        } else {
            self.fact(&a - &b);
            self.fact(b - a);
        }
    }

    fn fact(&mut self, not_negative: Dim) {
        for symbol in not_negative.symbols() {
            self.facts.entry(symbol).or_default().push(not_negative.clone());
        }
    }

    /// The same value with sizes replaced by those that they equal.
    fn resolve(&self, dim: &Dim) -> Dim {
        let mut dim = dim.clone();
        for _ in 0..MAX_ROUNDS {
            if self.equal.is_empty() || !dim.symbols().any(|symbol| self.equal.contains_key(&symbol)) {
                break;
            }
            dim = dim.substitute(&|symbol| self.equal.get(symbol).cloned());
        }
        dim
    }

    /// Whether `position` is inside of an axis of size `extent`.
    pub fn inside(&self, position: &Dim, extent: &Dim, place: &Place) -> Proof {
        if let Some(d) = position.as_symbol().and_then(Symbol::as_index)
            && place.extents.get(d as usize) == Some(extent)
        {
            return Proof::Inside;
        }
        if place.never_runs() {
            return Proof::Inside;
        }
        let ends = [position.clone(), extent - 1 - position];
        let proved = |ends: &[Dim]| ends.iter().all(|end| self.not_negative(end, place));
        if proved(&ends) {
            return Proof::Inside;
        }
        if let Some(Factor::FloorDiv(a, b)) = as_factor(position)
            && [b, extent].iter().all(|size| size.known_ge_zero() == Some(true))
            && proved(&[a.clone(), extent * b - 1 - a])
        {
            return Proof::Inside;
        }
        let refuted = |end: &Dim| end.known_ge_zero_in(&place.ranges) == Some(false);
        if ends.iter().any(refuted) && place.always_runs() { Proof::Outside } else { Proof::Unknown }
    }

    fn not_negative(&self, dim: &Dim, place: &Place) -> bool {
        let holds = |dim: &Dim, place: &Place| dim.known_ge_zero_in(&place.ranges) == Some(true);
        if holds(dim, place) {
            return true;
        }
        if self.equal.is_empty() && self.facts.is_empty() {
            return false;
        }
        let (dim, place) = (self.resolve(dim), place.map(|extent| self.resolve(extent)));
        if holds(&dim, &place) {
            return true;
        }
        let sizes: FxHashSet<Symbol> =
            dim.symbols().chain(place.extents.iter().flat_map(Dim::symbols)).collect();
        let mut sizes: Vec<Symbol> = sizes.into_iter().collect();
        sizes.sort_unstable();
        let facts = sizes.iter().filter_map(|symbol| self.facts.get(symbol)).flatten();
        facts.take(MAX_GUARDS).any(|fact| holds(&(&dim - self.resolve(fact)), &place))
    }
}
