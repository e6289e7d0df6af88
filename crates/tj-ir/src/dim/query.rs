//! Questions about sizes.

use super::facts::Facts;
use super::poly::{Atom, gcd};
use super::prove::{Side, linear_in};
use super::{Dim, Ranges, Repr, Symbol};

impl Dim {
    /// The least and the greatest value by the bounds of the symbols, rounded outwards; `i128::MIN` and `i128::MAX` mean
    /// that there is no such bound.
    #[must_use]
    pub fn bounds(&self) -> (i128, i128) {
        let interval = self.interval();
        (interval.lo, interval.hi)
    }

    /// Expressions without loop indices that the value is never below and never above, while each index lies in its
    /// range. `None` if an index has no range, occurs squared, or occurs in a divisor.
    ///
    /// ```
    /// use tj_ir::dim::{Dim, Ranges};
    /// let (n, i) = (Dim::new("N", ..)?, Dim::index(0));
    /// let mut ranges = Ranges::new();
    /// ranges.set_extent(0, &n);
    /// assert_eq!((&n - 1 - &i).bounds_in(&ranges), Some((0.into(), &n - 1)));
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    #[must_use]
    pub fn bounds_in(&self, ranges: &Ranges) -> Option<(Dim, Dim)> {
        let facts = Facts::about(self, ranges);
        Some((facts.bound(self, Side::Lower)?, facts.bound(self, Side::Upper)?))
    }

    /// Whether both are equal: under every assignment within bounds, under none, or `None` for not known.
    #[must_use]
    pub fn known_eq(&self, other: &Dim) -> Option<bool> {
        let difference = self - other;
        if difference.is_poisoned() {
            return None;
        }
        if let Some(value) = difference.is_const() {
            return Some(value == 0);
        }
        if Facts::none().positive(&difference) || Facts::none().positive(&-&difference) {
            return Some(false);
        }
        if difference.depth() > 0 && difference.simplify_by(&Facts::none()) == 0 {
            return Some(true);
        }
        never_zero_by_divisor(&difference).then_some(false)
    }

    /// Whether `self <= other`; `None` for not known.
    #[must_use]
    pub fn known_le(&self, other: &Dim) -> Option<bool> {
        (other - self).known_ge_zero()
    }

    /// Whether `self < other`; `None` for not known.
    #[must_use]
    pub fn known_lt(&self, other: &Dim) -> Option<bool> {
        (other - self - 1).known_ge_zero()
    }

    /// Whether the value is at least 0; `None` for not known.
    #[must_use]
    pub fn known_ge_zero(&self) -> Option<bool> {
        answer(self, &Facts::none())
    }

    /// Whether the value is at least 0 at every point where the loop indices lie in their ranges, or at none.
    #[must_use]
    pub fn known_ge_zero_in(&self, ranges: &Ranges) -> Option<bool> {
        answer(self, &Facts::about(self, ranges))
    }

    /// Whether `factor` divides the value; `None` for not known. Every number divides 0, and only 0 is a multiple of 0.
    #[must_use]
    pub fn known_multiple_of(&self, factor: i64) -> Option<bool> {
        if factor == 0 {
            return self.known_eq(&Dim::ZERO);
        }
        let rest = self.modulo(&factor.into());
        match rest.is_const() {
            Some(rest) => Some(rest == 0),
            None if rest.is_poisoned() => None,
            None => (rest.known_eq(&Dim::ZERO) == Some(false)).then_some(false),
        }
    }

    /// The symbols of the expression, each once, in their order.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + use<> {
        let mut symbols = Vec::new();
        self.any_symbol(&mut |symbol| {
            symbols.push(symbol.clone());
            false
        });
        symbols.sort_unstable();
        symbols.dedup();
        symbols.into_iter()
    }

    /// Whether a deferred or counted symbol occurs anywhere in the expression.
    #[must_use]
    pub fn any_received(&self) -> bool {
        self.any_symbol(&mut |symbol| symbol.deferred_value().is_some() || symbol.is_counted())
    }

    /// The first counted symbol of the expression that `known` does not know.
    pub(crate) fn first_uncounted(&self, known: &dyn Fn(&Symbol) -> bool) -> Option<Symbol> {
        let mut found = None;
        self.any_symbol(&mut |symbol| {
            let wanted = symbol.is_counted() && !known(symbol);
            if wanted {
                found = Some(symbol.clone());
            }
            wanted
        });
        found
    }

    /// Whether the symbol occurs anywhere in the expression.
    #[must_use]
    pub fn mentions(&self, symbol: &Symbol) -> bool {
        self.any_symbol(&mut |other| other == symbol)
    }

    /// The factor of the symbol if the expression is linear in it: `None` if the symbol occurs to a higher power or
    /// inside an opaque operation, 0 if it does not occur.
    ///
    /// ```
    /// use tj_ir::dim::Dim;
    /// let (i, m) = (Dim::index(0), Dim::new("M", ..)?);
    /// let flat = &i * &m + &i + 3;
    /// let index = i.as_symbol().expect("an index is a symbol");
    /// assert_eq!(flat.coefficient_of(index), Some(&m + 1));
    /// assert_eq!(flat.without(index), 3);
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    #[must_use]
    pub fn coefficient_of(&self, symbol: &Symbol) -> Option<Dim> {
        if self.is_poisoned() {
            return None;
        }
        let wanted = Atom::Symbol(symbol.clone());
        let (coeff, rest) = linear_in(self, &wanted)?;
        (!coeff.mentions(symbol) && !rest.mentions(symbol)).then_some(coeff)
    }

    /// The expression less every term in which the symbol is a factor. Occurrences inside opaque operations stay.
    #[must_use]
    pub fn without(&self, symbol: &Symbol) -> Dim {
        if let Repr::Poison(_) = self.0 {
            return self.clone();
        }
        let gone = Atom::Symbol(symbol.clone());
        let terms = self.terms();
        Dim::from_terms(terms.iter().filter(|term| term.mono.exponent_of(&gone) == 0).cloned().collect())
    }
}

fn answer(dim: &Dim, facts: &Facts) -> Option<bool> {
    if facts.ge_zero(dim) {
        Some(true)
    } else if facts.ge_zero(&(-1 - dim)) {
        Some(false)
    } else {
        None
    }
}

/// Whether all coefficients but the constant term's have a common divisor that it lacks.
fn never_zero_by_divisor(dim: &Dim) -> bool {
    let terms = dim.terms();
    let (varying, constant): (Vec<_>, Vec<_>) = terms.iter().partition(|term| !term.mono.is_unit());
    let divisor = varying.iter().fold(0u64, |divisor, term| gcd(divisor, term.coeff.unsigned_abs()));
    divisor != 0 && constant.iter().any(|term| term.coeff.unsigned_abs() % divisor != 0)
}
