//! Rebuilding expressions: substitution, and simplification where loop indices have ranges.

use super::facts::Facts;
use super::opaque::OpaqueKind;
use super::poly::{Atom, Sum};
use super::prove::linear_in;
use super::rules;
use super::text::shortened;
use super::{Dim, PoisonCause, Ranges, Repr, Symbol};

impl Dim {
    /// Replaces symbols, all at once; a symbol without replacement stays.
    ///
    /// The result is equal wherever the replaced symbols' values lie within their bounds.
    ///
    /// ```
    /// use tj_ir::dim::Dim;
    /// let n = Dim::new("N", ..)?;
    /// let halves = (&n + 1).floordiv(&2.into());
    /// let odd = halves.substitute(&|s| (s.to_string() == "N").then(|| &n * 2 + 1));
    /// assert_eq!(odd, &n + 1);
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    #[must_use]
    pub fn substitute(&self, replacement: &dyn Fn(&Symbol) -> Option<Dim>) -> Dim {
        Rebuild { replacement, facts: None }.dim(self).unwrap_or_else(|| self.clone())
    }

    /// An expression of the same value at every point where the loop indices of `self` lie in their ranges.
    #[must_use]
    pub fn simplify_in(&self, ranges: &Ranges) -> Dim {
        if self.depth() == 0 {
            return self.clone();
        }
        self.simplify_by(&Facts::about(self, ranges))
    }

    pub(super) fn simplify_by(&self, facts: &Facts) -> Dim {
        Rebuild { replacement: &|_| None, facts: Some(facts) }.dim(self).unwrap_or_else(|| self.clone())
    }
}

struct Rebuild<'a> {
    replacement: &'a dyn Fn(&Symbol) -> Option<Dim>,
    /// Rebuild every operation by what is known, or only those whose arguments change.
    facts: Option<&'a Facts>,
}

impl Rebuild<'_> {
    /// The rebuilt expression; `None` if it is the same.
    fn dim(&self, dim: &Dim) -> Option<Dim> {
        match &dim.0 {
            Repr::Const(_) | Repr::Poison(_) => return None,
            Repr::Symbol(symbol) => return (self.replacement)(symbol),
            Repr::Poly(_) => {}
        }
        let mut changed = false;
        let mut sum = Sum::default();
        for term in &*dim.terms() {
            let replaced: Vec<Option<Dim>> = term.mono.factors().map(|(atom, _)| self.atom(atom)).collect();
            if replaced.iter().all(Option::is_none) {
                sum.push(term.mono.clone(), term.coeff.into());
                continue;
            }
            changed = true;
            let mut product = Dim::from(term.coeff);
            for ((atom, exponent), new) in term.mono.factors().zip(replaced) {
                product *= new.unwrap_or_else(|| Dim::from_atom(atom.clone())).pow(exponent);
            }
            if product.is_poisoned() {
                return Some(product);
            }
            sum.push_all(&product.terms());
        }
        let rebuilt = if changed { from_sum(sum, dim) } else { dim.clone() };
        let paired = match self.facts {
            Some(facts) => pair_remainders(&rebuilt, facts),
            None => None,
        };
        paired.or(changed.then_some(rebuilt))
    }

    fn atom(&self, atom: &Atom) -> Option<Dim> {
        let opaque = match atom {
            Atom::Symbol(symbol) => return (self.replacement)(symbol),
            Atom::Opaque(opaque) => opaque,
        };
        let (lhs, rhs) = (self.dim(&opaque.lhs), self.dim(&opaque.rhs));
        let facts = match self.facts {
            None if lhs.is_none() && rhs.is_none() => return None,
            None => &Facts::none(),
            Some(facts) => facts,
        };
        let (lhs, rhs) = (lhs.as_ref().unwrap_or(&opaque.lhs), rhs.as_ref().unwrap_or(&opaque.rhs));
        let rebuilt = rules::apply(opaque.kind, lhs, rhs, facts);
        (rebuilt != Dim::from_atom(atom.clone())).then_some(rebuilt)
    }
}

fn from_sum(sum: Sum, rebuilt_from: &Dim) -> Dim {
    let overflow = || Dim::poison(PoisonCause::Overflow, || shortened(rebuilt_from));
    sum.finish().map_or_else(overflow, Dim::from_terms)
}

/// Joins `c*q*floordiv(r, q) + c*modulo(r, q)` to `c*r` for `q >= 1`, as when an axis is split and merged again.
pub(super) fn pair_remainders(dim: &Dim, facts: &Facts) -> Option<Dim> {
    let mut joined: Option<Dim> = None;
    if dim.depth() == 0 {
        return joined;
    }
    loop {
        let current = joined.as_ref().unwrap_or(dim);
        let terms = current.terms();
        let atoms = terms.iter().flat_map(|term| term.mono.factors().map(|(atom, _)| atom));
        let Some(next) = atoms.filter_map(|atom| pair_remainder(current, atom, facts)).next() else {
            return joined;
        };
        drop(terms);
        joined = Some(next);
    }
}

fn pair_remainder(dim: &Dim, atom: &Atom, facts: &Facts) -> Option<Dim> {
    let Atom::Opaque(remainder) = atom else { return None };
    let (r, q) = (&remainder.lhs, &remainder.rhs);
    if remainder.kind != OpaqueKind::Modulo || !facts.positive(q) {
        return None;
    }
    let (coeff, rest) = linear_in(dim, atom)?;
    let joined = rest + coeff * (r - q * rules::floordiv(r, q, facts));
    // Lighter means that the quotient went, too; the weight descends, so this ends.
    (!joined.is_poisoned() && joined.weight() < dim.weight()).then_some(joined)
}
