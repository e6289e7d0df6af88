//! Proofs that an expression is not negative, and bounds without loop indices.
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

use std::cell::Cell;
use std::sync::Arc;

use super::Dim;
use super::facts::Facts;
use super::opaque::{Opaque, OpaqueKind};
use super::poly::{Atom, Sum};

/// Steps one proof may take. Proofs about shapes take fewer than ten.
const FUEL: u32 = 100;

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

/// Whether `expr` is at least 0 wherever the facts hold; `false` if not proved.
pub(super) fn ge_zero(facts: &Facts, expr: &Dim) -> bool {
    Prover { facts, fuel: Cell::new(FUEL) }.ge_zero(expr)
}

/// An expression without loop indices that is never above (below) `expr`.
pub(super) fn bound(facts: &Facts, expr: &Dim, side: Side) -> Option<Dim> {
    Prover { facts, fuel: Cell::new(FUEL) }.bound(expr, side)
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
        expr.has_index() && self.replace_one(expr, Side::Lower).is_some_and(|least| self.ge_zero(&least))
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
            let found = |end: &Dim| end.any_symbol(&mut |s| Atom::Symbol(s.clone()) == *atom);
            self.facts.range_of(other).is_some_and(|(lo, hi)| found(lo) || found(hi))
        };
        let free = |atom: &&Atom| !atoms.iter().any(|other| mentions(other, atom));
        atoms.iter().find(free).cloned()
    }

    /// What an atom around an index is never below (above). All operations are monotone in their left argument, and
    /// `floordiv` stays so for a divisor of 0.
    fn end_of(&self, atom: &Atom, side: Side) -> Option<Dim> {
        let opaque = match atom {
            Atom::Symbol(_) => {
                let (lo, hi) = self.facts.range_of(atom)?;
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
