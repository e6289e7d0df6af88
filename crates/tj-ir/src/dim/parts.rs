//! A size taken apart, for whoever writes it as code.

use super::opaque::OpaqueKind;
use super::poly::Atom;
use super::{Dim, Symbol};

/// What a size is a product of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Factor {
    /// A symbol.
    Symbol(Symbol),
    /// A quotient rounded down; by 0 it is 0.
    FloorDiv(Dim, Dim),
    /// A remainder with the sign of the divisor; by 0 it is 0.
    Modulo(Dim, Dim),
    /// The lesser of two.
    Min(Dim, Dim),
    /// The greater of two.
    Max(Dim, Dim),
}

/// A summand: a coefficient and factors with their powers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Never 0.
    pub coefficient: i64,
    /// No factor for a constant.
    pub factors: Vec<(Factor, u32)>,
}

impl Dim {
    /// The summands, in canonical order; none for 0 and for a size that overflowed.
    ///
    /// ```
    /// use tj_ir::dim::Dim;
    /// let n = Dim::new("N", ..)?;
    /// let parts = (&n * 3 + 1).parts();
    /// assert_eq!(parts.len(), 2);
    /// assert_eq!((parts[0].coefficient, parts[0].factors.len()), (3, 1));
    /// assert_eq!((parts[1].coefficient, parts[1].factors.len()), (1, 0));
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        if self.check().is_err() {
            return Vec::new();
        }
        let factor = |atom: &Atom| match atom {
            Atom::Symbol(symbol) => Factor::Symbol(symbol.clone()),
            Atom::Opaque(opaque) => {
                let (lhs, rhs) = (opaque.lhs.clone(), opaque.rhs.clone());
                match opaque.kind {
                    OpaqueKind::FloorDiv => Factor::FloorDiv(lhs, rhs),
                    OpaqueKind::Modulo => Factor::Modulo(lhs, rhs),
                    OpaqueKind::Min => Factor::Min(lhs, rhs),
                    OpaqueKind::Max => Factor::Max(lhs, rhs),
                }
            }
        };
        let terms = self.terms();
        let parts = terms.iter().map(|term| Part {
            coefficient: term.coeff,
            factors: term.mono.factors().map(|(atom, power)| (factor(atom), power)).collect(),
        });
        parts.collect()
    }
}

impl From<&Factor> for Dim {
    fn from(factor: &Factor) -> Dim {
        match factor {
            Factor::Symbol(symbol) => Dim::symbol(symbol),
            Factor::FloorDiv(a, b) => a.floordiv(b),
            Factor::Modulo(a, b) => a.modulo(b),
            Factor::Min(a, b) => a.min(b),
            Factor::Max(a, b) => a.max(b),
        }
    }
}
