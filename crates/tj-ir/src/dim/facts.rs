//! What is known about atoms.
//!
//! Two kinds of knowledge: an interval for every atom, and a symbolic range for every loop index. Ranges are taken from
//! a [`Ranges`] only for indices that occur in the expression at hand, and from the ends of those; an expression has no
//! meaning unless its indices have values, so each such range is not empty. That in turn raises bounds: from
//! `0 <= j <= M - 1` follows `M >= 1`. `prove.rs` draws the conclusions.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::interval::Interval;
use super::poly::{Atom, Mono, Term};
use super::prove::{self, Side};
use super::{Dim, Ranges, Repr, Symbol};

/// Indices whose ranges one proof looks at; deeper loop nests lose precision only, but kernels need it to be proven
/// safe. A kernel on tensors of the greatest rank has a loop for each axis, and some more for reductions and tiles.
const MAX_INDICES: usize = 2 * crate::lazy::MAX_RANK;

/// Terms up to which polynomials are shifted or mined for bounds; both are quadratic.
const MAX_TERMS: usize = 16;

/// Knowledge about the atoms of one expression.
pub(super) struct Facts {
    indices: Vec<(u32, Dim, Dim)>,
    intervals: Vec<(Atom, Interval)>,
    /// Answers of `ge_zero`; the same few questions come up at every level of an expression.
    proofs: RefCell<FxHashMap<Dim, bool>>,
}

impl Facts {
    /// The bounds of symbols and nothing else.
    pub fn none() -> Facts {
        Facts { indices: Vec::new(), intervals: Vec::new(), proofs: RefCell::default() }
    }

    /// Adds the ranges of the indices in `expr`.
    pub fn about(expr: &Dim, ranges: &Ranges) -> Facts {
        let mut facts = Facts::none();
        let mut pending = index_numbers(expr);
        while let Some(number) = pending.pop() {
            let known = facts.indices.iter().any(|(n, _, _)| *n == number);
            if known || facts.indices.len() == MAX_INDICES {
                continue;
            }
            if let Some((lo, hi)) = ranges.get(number) {
                facts.indices.push((number, lo.clone(), hi.clone()));
                pending.extend(index_numbers(lo));
                pending.extend(index_numbers(hi));
            }
        }
        // Ends may mention indices and sizes refined later; each pass is sound, and three settle triangular nests.
        for _ in 0..3 {
            let mut learned = false;
            for (number, lo, hi) in facts.indices.clone() {
                learned |= facts.refine(&(&hi - &lo));
                let atom = Atom::Symbol(Symbol::index(number));
                let ends = Interval { lo: facts.interval(&lo).lo, hi: facts.interval(&hi).hi };
                learned |= facts.narrow(&atom, ends);
            }
            if !learned {
                break;
            }
        }
        facts
    }

    /// Learns what `expr >= 0` says about the atoms of each term; answers whether that is news.
    fn refine(&mut self, expr: &Dim) -> bool {
        let terms = expr.terms().to_vec();
        let mut learned = false;
        if terms.len() > MAX_TERMS {
            return learned;
        }
        for (nth, term) in terms.iter().enumerate() {
            let others = terms.iter().enumerate().filter(|(other, _)| *other != nth);
            let rest = others.fold(Interval::point(0), |sum, (_, term)| sum.add(self.term_interval(term)));
            if rest.hi == i128::MAX {
                continue;
            }
            // coeff * mono >= -rest.hi
            let quotient = rest.hi.div_euclid(i128::from(term.coeff).abs());
            match &term.mono {
                Mono::Atom(atom) if term.coeff > 0 => {
                    learned |= self.narrow(atom, Interval { lo: -quotient, hi: i128::MAX });
                }
                Mono::Atom(atom) => {
                    learned |= self.narrow(atom, Interval { lo: i128::MIN, hi: quotient });
                }
                Mono::Product(_) if term.coeff > 0 && quotient <= -1 => {
                    let mut atoms = term.mono.factors();
                    if atoms.all(|(atom, _)| self.atom_interval(atom).lo >= 0) {
                        for (atom, _) in term.mono.factors() {
                            learned |= self.narrow(atom, Interval { lo: 1, hi: i128::MAX });
                        }
                    }
                }
                Mono::Product(_) | Mono::Unit => {}
            }
        }
        learned
    }

    fn narrow(&mut self, atom: &Atom, interval: Interval) -> bool {
        let before = self.atom_interval(atom);
        let narrowed = before.intersect(interval);
        match self.intervals.iter_mut().find(|(known, _)| known == atom) {
            Some((_, known)) => *known = narrowed,
            None if narrowed == before => {}
            None => self.intervals.push((atom.clone(), narrowed)),
        }
        narrowed != before
    }

    /// Bounds of the value, rounded outwards.
    pub fn interval(&self, dim: &Dim) -> Interval {
        match &dim.0 {
            Repr::Const(value) => Interval::point(*value),
            Repr::Poison(_) => Interval::ALL,
            Repr::Symbol(_) | Repr::Poly(_) => {
                let terms = dim.terms();
                terms.iter().map(|term| self.term_interval(term)).fold(Interval::point(0), Interval::add)
            }
        }
    }

    fn term_interval(&self, term: &Term) -> Interval {
        self.term_interval_by(term, &|atom| self.atom_interval(atom))
    }

    fn term_interval_by(&self, term: &Term, of: &dyn Fn(&Atom) -> Interval) -> Interval {
        let powers = term.mono.factors().map(|(atom, exponent)| of(atom).pow(exponent));
        powers.fold(Interval::point(term.coeff), Interval::mul)
    }

    fn atom_interval(&self, atom: &Atom) -> Interval {
        if let Some((_, known)) = self.intervals.iter().find(|(known, _)| known == atom) {
            return *known;
        }
        match atom {
            Atom::Symbol(symbol) => {
                let (lo, hi) = symbol.bounds();
                Interval { lo: lo.into(), hi: hi.into() }
            }
            Atom::Opaque(opaque) if self.intervals.is_empty() => opaque.interval,
            Atom::Opaque(opaque) => {
                let (lhs, rhs) = (self.interval(&opaque.lhs), self.interval(&opaque.rhs));
                opaque.kind.interval(lhs, rhs).intersect(opaque.interval)
            }
        }
    }

    /// Whether the value is at least 0 under every assignment that agrees with the facts.
    pub fn ge_zero(&self, dim: &Dim) -> bool {
        if dim.is_poisoned() {
            return false;
        }
        let interval = self.interval(dim);
        if interval.lo >= 0 || interval.hi < 0 || self.interval_is_exact(dim) {
            return interval.lo >= 0;
        }
        if let Some(proved) = self.proofs.borrow().get(dim) {
            return *proved;
        }
        let proved = prove::ge_zero(self, dim);
        self.proofs.borrow_mut().insert(dim.clone(), proved);
        proved
    }

    /// Whether the value is at least 1.
    pub fn positive(&self, dim: &Dim) -> bool {
        self.interval(dim).lo >= 1 || (!self.interval_is_exact(dim) && self.ge_zero(&(dim - 1)))
    }

    /// The range of a loop index.
    pub fn range_of(&self, atom: &Atom) -> Option<(&Dim, &Dim)> {
        let Atom::Symbol(symbol) = atom else { return None };
        let number = symbol.as_index()?;
        self.indices.iter().find(|(known, _, _)| *known == number).map(|(_, lo, hi)| (lo, hi))
    }

    /// Whether no argument of `prove.rs` can improve on the interval: each symbol reaches both of its bounds,
    /// independently of the others.
    fn interval_is_exact(&self, dim: &Dim) -> bool {
        let linear = dim.terms().first().is_none_or(|term| term.mono.degree() <= 1);
        linear && dim.depth() == 0 && (self.indices.is_empty() || !dim.has_index())
    }

    pub fn positive_atom(&self, atom: &Atom) -> bool {
        self.atom_interval(atom).lo >= 1
    }

    /// An expression without loop indices that is never above (below) `dim`.
    pub fn bound(&self, dim: &Dim, side: Side) -> Option<Dim> {
        prove::bound(self, dim, side)
    }

    /// A lower bound by intervals, also those of the polynomial in `atom - lo >= 0` for each atom.
    pub fn lower_bound(&self, dim: &Dim) -> i128 {
        let plain = self.interval(dim).lo;
        let terms = dim.terms();
        let degree = terms.first().map_or(0, |term| term.mono.degree());
        if plain >= 0 || !(2..=4).contains(&degree) || terms.len() > MAX_TERMS {
            return plain;
        }
        let shift = |atom: &Atom| match i64::try_from(self.atom_interval(atom).lo) {
            Ok(lo) if lo != i64::MIN => lo,
            Ok(_) | Err(_) => 0,
        };
        let mut sum = Dim::ZERO;
        for term in &*terms {
            let mut product = Dim::from(term.coeff);
            for (atom, exponent) in term.mono.factors() {
                product *= (Dim::from_atom(atom.clone()) + shift(atom)).pow(exponent);
            }
            sum += product;
        }
        if sum.is_poisoned() {
            return plain;
        }
        let shifted = |atom: &Atom| {
            let interval = self.atom_interval(atom);
            interval.add(Interval { lo: -i128::from(shift(atom)), hi: -i128::from(shift(atom)) })
        };
        let of_terms =
            sum.terms().iter().map(|term| self.term_interval_by(term, &shifted)).collect::<Vec<_>>();
        of_terms.into_iter().fold(Interval::point(0), Interval::add).lo.max(plain)
    }
}

fn index_numbers(dim: &Dim) -> Vec<u32> {
    let mut numbers = Vec::new();
    dim.any_symbol(&mut |symbol| {
        numbers.extend(symbol.as_index());
        false
    });
    numbers
}
