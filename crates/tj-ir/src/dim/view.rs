//! The structure of a size, for those who translate it.

use super::opaque::OpaqueKind;
use super::poly::{Atom, Term};
use super::{Dim, DimError, Repr, Symbol};

/// One summand of a size: a coefficient times powers of distinct factors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summand<'a> {
    /// Not 0.
    pub coeff: i64,
    /// Factors with exponents of at least 1; empty for the constant summand.
    pub factors: Vec<(Factor<'a>, u32)>,
}

/// A factor of a summand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor<'a> {
    /// An unknown.
    Symbol(&'a Symbol),
    /// The quotient rounded down, 0 for a divisor of 0.
    FloorDiv(&'a Dim, &'a Dim),
    /// The remainder with the sign of the divisor, 0 for a divisor of 0.
    Modulo(&'a Dim, &'a Dim),
    /// The smaller.
    Min(&'a Dim, &'a Dim),
    /// The greater.
    Max(&'a Dim, &'a Dim),
}

impl Dim {
    /// The summands in printing order; none for 0. Nesting is at most [`MAX_DEPTH`](super::MAX_DEPTH) deep, so a
    /// translator may recurse.
    ///
    /// ```
    /// use tj_ir::dim::{Dim, Factor};
    /// let n = Dim::new("N", ..)?;
    /// let size = &n * &n * 2 + n.ceildiv(&4.into());
    /// let summands = size.summands()?;
    /// let n = n.as_symbol().expect("a declared size is a symbol");
    /// assert_eq!((summands[0].coeff, &summands[0].factors[..]), (2, &[(Factor::Symbol(n), 2)][..]));
    /// assert!(matches!(summands[1].factors[..], [(Factor::FloorDiv(_, by), 1)] if *by == 4));
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    pub fn summands(&self) -> Result<Vec<Summand<'_>>, DimError> {
        Ok(match &self.0 {
            Repr::Poison(poison) => return Err(poison.error()),
            Repr::Const(0) => Vec::new(),
            Repr::Const(coeff) => vec![Summand { coeff: *coeff, factors: Vec::new() }],
            Repr::Symbol(symbol) => vec![Summand { coeff: 1, factors: vec![(Factor::Symbol(symbol), 1)] }],
            Repr::Poly(poly) => poly.terms.iter().map(summand).collect(),
        })
    }
}

fn summand(term: &Term) -> Summand<'_> {
    let factors = term.mono.factors().map(|(atom, exponent)| (factor(atom), exponent));
    Summand { coeff: term.coeff, factors: factors.collect() }
}

fn factor(atom: &Atom) -> Factor<'_> {
    match atom {
        Atom::Symbol(symbol) => Factor::Symbol(symbol),
        Atom::Opaque(opaque) => {
            let (lhs, rhs) = (&opaque.lhs, &opaque.rhs);
            match opaque.kind {
                OpaqueKind::FloorDiv => Factor::FloorDiv(lhs, rhs),
                OpaqueKind::Modulo => Factor::Modulo(lhs, rhs),
                OpaqueKind::Min => Factor::Min(lhs, rhs),
                OpaqueKind::Max => Factor::Max(lhs, rhs),
            }
        }
    }
}

impl From<Factor<'_>> for Dim {
    fn from(factor: Factor<'_>) -> Dim {
        match factor {
            Factor::Symbol(symbol) => Dim::symbol(symbol),
            Factor::FloorDiv(a, b) => a.floordiv(b),
            Factor::Modulo(a, b) => a.modulo(b),
            Factor::Min(a, b) => a.min(b),
            Factor::Max(a, b) => a.max(b),
        }
    }
}
