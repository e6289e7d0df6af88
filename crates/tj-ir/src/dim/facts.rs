//! What is known about atoms, and proofs that an expression is not negative.
//!
//! Two kinds of knowledge: an interval for every atom, and a symbolic range for every loop index. Ranges are taken from
//! a [`Ranges`] only for indices that occur in the expression at hand, and from the ends of those; an expression has no
//! meaning unless its indices have values, so each such range is not empty. That in turn raises bounds: from
//! `0 <= j <= M - 1` follows `M >= 1`.
//!
//! # Proofs
//!
//! `ge_zero(e)` replaces parts of `e` by something never greater until an interval settles it:
//!
//! 1. a polynomial in symbols with `lo <= s` is one in `s - lo >= 0`, where more coefficients show their sign;
//! 2. with `q >= 1`: `q*floordiv(p, q)` lies in `p - q + 1 ..= p`, and `modulo(p, q)` in `0 ..= q - 1`;
//! 3. `min(a, b)` is at most `a` and at most `b`, `max(a, b)` at least each; where the other direction is needed, both
//!    arguments must do;
//! 4. a loop index becomes the end of its range that the sign of its coefficient asks for.
//!
//! Each step spends fuel; without fuel the answer is "not proved".

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::interval::Interval;
use super::opaque::{Opaque, OpaqueKind};
use super::poly::{Atom, Mono, Sum, Term};
use super::{Dim, Ranges, Repr, Symbol};

/// Steps one proof may take. Proofs about shapes take fewer than ten.
const FUEL: u32 = 100;

/// Indices whose ranges one proof looks at; deeper loop nests lose precision only.
const MAX_INDICES: usize = 32;

/// Terms up to which polynomials are shifted or mined for bounds; both are quadratic.
const MAX_TERMS: usize = 16;

/// Knowledge about the atoms of one expression.
pub(super) struct Facts {
    indices: Vec<(u32, Dim, Dim)>,
    intervals: Vec<(Atom, Interval)>,
    /// Answers of `ge_zero`; the same few questions come up at every level of an expression.
    proofs: RefCell<FxHashMap<Dim, bool>>,
}

/// Which end of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Lower,
    Upper,
}

impl Side {
    fn flip(self) -> Side {
        match self {
            Side::Lower => Side::Upper,
            Side::Upper => Side::Lower,
        }
    }
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
        let proved = Prover { facts: self, fuel: Cell::new(FUEL) }.ge_zero(dim);
        self.proofs.borrow_mut().insert(dim.clone(), proved);
        proved
    }

    /// Whether the value is at least 1.
    pub fn positive(&self, dim: &Dim) -> bool {
        self.interval(dim).lo >= 1 || (!self.interval_is_exact(dim) && self.ge_zero(&(dim - 1)))
    }

    /// Whether no argument of the module docs can improve on the interval: each symbol reaches both of its bounds,
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
        Prover { facts: self, fuel: Cell::new(FUEL) }.bound(dim, side)
    }

    /// A lower bound by intervals; argument 1 of the module docs.
    fn lower_bound(&self, dim: &Dim) -> i128 {
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

struct Prover<'a> {
    facts: &'a Facts,
    fuel: Cell<u32>,
}

impl Prover<'_> {
    fn burn(&self) -> bool {
        let left = self.fuel.get();
        self.fuel.set(left.saturating_sub(1));
        left > 0
    }

    fn ge_zero(&self, expr: &Dim) -> bool {
        if expr.is_poisoned() {
            return false;
        }
        if self.facts.lower_bound(expr) >= 0 {
            return true;
        }
        if !self.burn() {
            return false;
        }
        self.ge_zero_relaxed(expr) || self.ge_zero_at_ends(expr)
    }

    /// Argument 4, one atom at a time, so that what its end brings in can be relaxed or cancel first.
    fn ge_zero_at_ends(&self, expr: &Dim) -> bool {
        !self.facts.indices.is_empty()
            && expr.has_index()
            && self.replace_one(expr, Side::Lower).is_some_and(|least| self.ge_zero(&least))
    }

    /// Arguments 2 and 3, applied to the most deeply nested opaque atom that occurs linearly.
    fn ge_zero_relaxed(&self, expr: &Dim) -> bool {
        let Some(opaque) = deepest_opaque(expr) else { return false };
        let Some((coeff, rest)) = linear_in(expr, &Atom::Opaque(opaque.clone())) else { return false };
        let negative = if self.ge_zero(&coeff) {
            false
        } else if self.ge_zero(&-&coeff) {
            true
        } else {
            return false;
        };
        let Opaque { kind, lhs, rhs, .. } = &*opaque;
        match kind {
            OpaqueKind::FloorDiv => {
                if !self.ge_zero(&(rhs - 1)) {
                    return false;
                }
                let least = if negative { lhs.clone() } else { lhs - rhs + 1 };
                // rest + coeff*floordiv(lhs, rhs) >= rest + coeff/rhs * least, multiplied by rhs if that is a fraction.
                match coeff.div_exact(rhs) {
                    Some(factor) => self.ge_zero(&(rest + factor * least)),
                    None => self.ge_zero(&(rest * rhs + coeff * least)),
                }
            }
            OpaqueKind::Modulo => {
                self.ge_zero(&(rhs - 1))
                    && self.ge_zero(&if negative { rest + coeff * (rhs - 1) } else { rest })
            }
            OpaqueKind::Min | OpaqueKind::Max => {
                let with = |arg: &Dim| self.ge_zero(&(&rest + &coeff * arg));
                if (*kind == OpaqueKind::Min) == negative {
                    with(lhs) || with(rhs)
                } else {
                    with(lhs) && with(rhs)
                }
            }
        }
    }

    fn bound(&self, expr: &Dim, side: Side) -> Option<Dim> {
        let mut expr = expr.clone();
        while expr.has_index() {
            if !self.burn() {
                return None;
            }
            expr = self.replace_one(&expr, side)?;
        }
        (!expr.is_poisoned()).then_some(expr)
    }

    /// Replaces one atom around an index so that the value can only shrink (grow).
    fn replace_one(&self, expr: &Dim, side: Side) -> Option<Dim> {
        let atom = self.next_to_replace(expr)?;
        let (coeff, rest) = linear_in(expr, &atom)?;
        if self.ge_zero(&coeff) {
            return Some(rest + coeff * self.end_of(&atom, side)?);
        }
        if self.ge_zero(&-&coeff) {
            return Some(rest + coeff * self.end_of(&atom, side.flip())?);
        }
        let (a, b) = (&coeff * self.end_of(&atom, side)?, coeff * self.end_of(&atom, side.flip())?);
        Some(match side {
            Side::Lower => rest + a.min(&b),
            Side::Upper => rest + a.max(&b),
        })
    }

    /// An opaque atom around an index, else an index that no other index's range mentions.
    fn next_to_replace(&self, expr: &Dim) -> Option<Atom> {
        let is_index = |atom: &Atom| matches!(atom, Atom::Symbol(symbol) if symbol.as_index().is_some());
        let mut atoms: Vec<Atom> = Vec::new();
        for term in &*expr.terms() {
            for (atom, _) in term.mono.factors() {
                if atom.contains(&mut |symbol| symbol.as_index().is_some()) && !atoms.contains(atom) {
                    atoms.push(atom.clone());
                }
            }
        }
        if let Some(opaque) = atoms.iter().find(|atom| !is_index(atom)) {
            return Some(opaque.clone());
        }
        let mentions = |other: &Atom, atom: &Atom| {
            let Atom::Symbol(symbol) = other else { return false };
            let range = self.facts.indices.iter().find(|(number, _, _)| Some(*number) == symbol.as_index());
            let found = |end: &Dim| end.any_symbol(&mut |s| Atom::Symbol(s.clone()) == *atom);
            range.is_some_and(|(_, lo, hi)| found(lo) || found(hi))
        };
        let free = |atom: &&Atom| !atoms.iter().any(|other| mentions(other, atom));
        atoms.iter().find(free).cloned()
    }

    /// What an atom around an index is never below (above). All operations are monotone in their left argument, and
    /// `floordiv` stays so for a divisor of 0.
    fn end_of(&self, atom: &Atom, side: Side) -> Option<Dim> {
        let opaque = match atom {
            Atom::Symbol(symbol) => {
                let (_, lo, hi) =
                    self.facts.indices.iter().find(|(n, _, _)| Some(*n) == symbol.as_index())?;
                return Some(if side == Side::Lower { lo.clone() } else { hi.clone() });
            }
            Atom::Opaque(opaque) => opaque,
        };
        let Opaque { kind, lhs, rhs, .. } = &**opaque;
        match kind {
            OpaqueKind::Min => Some(self.bound(lhs, side)?.min(&self.bound(rhs, side)?)),
            OpaqueKind::Max => Some(self.bound(lhs, side)?.max(&self.bound(rhs, side)?)),
            OpaqueKind::FloorDiv | OpaqueKind::Modulo if rhs.has_index() || !self.ge_zero(rhs) => None,
            OpaqueKind::FloorDiv => Some(self.bound(lhs, side)?.floordiv(rhs)),
            OpaqueKind::Modulo if side == Side::Lower => Some(Dim::ZERO),
            OpaqueKind::Modulo if self.ge_zero(&(rhs - 1)) => Some(rhs - 1),
            OpaqueKind::Modulo => Some((rhs - 1).max(&Dim::ZERO)),
        }
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

fn deepest_opaque(expr: &Dim) -> Option<Arc<Opaque>> {
    let mut deepest: Option<Arc<Opaque>> = None;
    for term in &*expr.terms() {
        for (atom, _) in term.mono.factors() {
            if let Atom::Opaque(opaque) = atom
                && deepest.as_ref().is_none_or(|best| opaque.depth > best.depth)
            {
                deepest = Some(opaque.clone());
            }
        }
    }
    deepest
}

/// `(c, r)` with `expr == c*atom + r` and no power of `atom` left at the top of either; `None` if `atom` occurs squared.
pub(super) fn linear_in(expr: &Dim, atom: &Atom) -> Option<(Dim, Dim)> {
    let (mut coeff, mut rest) = (Sum::default(), Sum::default());
    for term in &*expr.terms() {
        match term.mono.exponent_of(atom) {
            0 => rest.push(term.mono.clone(), term.coeff.into()),
            1 => coeff.push(term.mono.without(atom), term.coeff.into()),
            _ => return None,
        }
    }
    Some((Dim::from_terms(coeff.finish()?), Dim::from_terms(rest.finish()?)))
}
