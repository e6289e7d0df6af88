//! Symbolic integers: the sizes of axes and the index maps between them.
//!
//! # Problem
//!
//! Sizes are unknown while a program is built, yet shapes must be compared, reshapes checked, and index maps composed.
//! A [`Dim`] is an integer expression over [`Symbol`]s whose operations simplify as they go, so that comparing two
//! of them is comparing two canonical forms.
//!
//! # Canonical form
//!
//! A `Dim` is a polynomial with `i64` coefficients over *atoms*. An atom is a symbol, or an *opaque* operation
//! `floordiv`, `modulo`, `min` or `max` of two canonical `Dim`s. Invariants:
//!
//! 1. Terms are strictly ordered (degree, greatest first; then lexicographically by atom) and no coefficient is 0.
//!    Atoms are ordered: loop indices by number, declared symbols by name, fresh symbols by id, opaque atoms by
//!    structure. No address and no counter takes part, so equal input prints equal text.
//! 2. Factors of a monomial are distinct, ascending, with exponents of at least 1.
//! 3. A constant is never stored as a list of terms, nor is a lone symbol; so equality is structural, and expressions
//!    equal by the laws of commutative rings are equal, unless an intermediate result overflowed.
//! 4. The arguments of `min` and `max` are ordered; no opaque atom is one that the rules in `rules.rs` can remove.
//!
//! # Meaning
//!
//! The value of a `Dim` is a whole number. `floordiv` rounds down, `modulo` follows the sign of the divisor, and both
//! are total: by 0 they give 0. Every rule preserves the value wherever symbols lie within their bounds;
//! [`Dim::simplify_in`] moreover assumes that the loop indices *occurring in the expression* lie in their ranges. That
//! is what makes `floordiv(i*M + j, M) = i` right although `M` may be 0: the expression has no meaning without a `j`
//! in `0..=M-1`, and if there is one, `M >= 1`.
//!
//! # Overflow and size
//!
//! No operation panics or wraps. A coefficient or exponent that does not fit, an opaque nest deeper than
//! [`MAX_DEPTH`], or more than [`MAX_WEIGHT`] atoms and terms in all turn the result into a *poisoned* `Dim`: it
//! absorbs every further operation, evaluates to an error that names the guilty operation, and nothing is known
//! about it. The depth limit also bounds every recursion in this module.
//!
//! # Why the answers are sound
//!
//! `known_eq`, `known_le` and their kin answer `Some` only from these arguments, each of which holds for every
//! assignment within bounds: the difference is a constant; its interval, computed with outward rounding from the
//! bounds of its symbols, excludes 0; its coefficients have a common divisor that its constant lacks; or it stays
//! non-negative after replacing atoms by something never greater (`prove.rs` lists the replacements). Anything else,
//! overflow during a proof and an exhausted proof budget included, is `None`.
//!
//! # Cost
//!
//! Cloning is at most one reference count. Constants and lone symbols live inline. Hashes, depths and the intervals of
//! opaque atoms are computed once, when a `Dim` is made.

mod arith;
mod error;
mod eval;
mod facts;
mod interval;
mod opaque;
mod poly;
mod prove;
mod query;
mod ranges;
mod rules;
mod simplify;
mod symbol;
mod text;
mod view;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::RangeBounds;
use std::sync::Arc;

pub use error::DimError;
pub use ranges::Ranges;
pub use symbol::{MAX_SIZE, Symbol, SymbolKind};
pub use view::{Factor, Summand};

use facts::Facts;
use interval::Interval;
use opaque::{Opaque, OpaqueKind};
use poly::{Atom, Mono, Term, Terms};
use symbol::mix;

/// Opaque operations nest at most this deep. A shape computation nests a handful; the limit keeps every recursion
/// far from the end of a 2 MiB stack, in debug builds too.
pub const MAX_DEPTH: u32 = 100;

/// A `Dim` has at most this many terms and atoms, counting shared ones each time they would be printed.
pub const MAX_WEIGHT: u32 = 4096;

/// An integer expression over symbols, in canonical form.
///
/// ```
/// use tj_ir::dim::Dim;
/// let n = Dim::new("N", 1..=4096)?;
/// let m = Dim::new("M", ..)?;
/// assert_eq!((&n + 1) * (&n - 1) + 1, &n * &n);
/// assert_eq!((2 * &n + &m - &n).to_string(), "M + N");
/// assert_eq!((&n * 4 + 3).floordiv(&4.into()), n);
/// assert_eq!(n.ceildiv(&4.into()).to_string(), "floordiv(N + 3, 4)");
/// assert_eq!(n.known_le(&4096.into()), Some(true));
/// assert_eq!(n.known_eq(&m), None);
/// # Ok::<(), tj_ir::dim::DimError>(())
/// ```
#[derive(Clone)]
pub struct Dim(Repr);

#[derive(Clone)]
enum Repr {
    Const(i64),
    Symbol(Symbol),
    /// Anything else; see invariant 3.
    Poly(Arc<Poly>),
    Poison(Box<Poison>),
}

struct Poly {
    terms: Terms,
    hash: u64,
    depth: u32,
    weight: u32,
}

/// Why an operation has no result. Equality looks at the cause only: every poisoned `Dim` evaluates to an error.
#[derive(Clone)]
struct Poison {
    cause: PoisonCause,
    expr: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PoisonCause {
    Overflow,
    TooDeep,
    TooLarge,
}

impl PoisonCause {
    const ALL: [PoisonCause; 3] = [PoisonCause::Overflow, PoisonCause::TooDeep, PoisonCause::TooLarge];
}

impl Dim {
    /// 0.
    pub const ZERO: Dim = Dim(Repr::Const(0));
    /// 1.
    pub const ONE: Dim = Dim(Repr::Const(1));

    /// A declared symbol as a size; an open bound means 0 or [`MAX_SIZE`].
    pub fn new(name: &str, bounds: impl RangeBounds<i64>) -> Result<Dim, DimError> {
        Ok(Dim(Repr::Symbol(Symbol::declared(name, bounds)?)))
    }

    /// A symbol as a size.
    #[must_use]
    pub fn symbol(symbol: &Symbol) -> Dim {
        Dim(Repr::Symbol(symbol.clone()))
    }

    /// The loop index with this number as an expression.
    #[must_use]
    pub fn index(number: u32) -> Dim {
        Dim(Repr::Symbol(Symbol::index(number)))
    }

    /// The value, if it is the same under every assignment.
    #[must_use]
    pub fn is_const(&self) -> Option<i64> {
        match &self.0 {
            Repr::Const(value) => Some(*value),
            Repr::Symbol(_) | Repr::Poly(_) | Repr::Poison(_) => None,
        }
    }

    /// The symbol, if the expression is nothing else.
    #[must_use]
    pub fn as_symbol(&self) -> Option<&Symbol> {
        match &self.0 {
            Repr::Symbol(symbol) => Some(symbol),
            Repr::Const(_) | Repr::Poly(_) | Repr::Poison(_) => None,
        }
    }

    /// Fails if an operation that made this size overflowed or grew beyond the limits.
    pub fn check(&self) -> Result<(), DimError> {
        match &self.0 {
            Repr::Poison(poison) => Err(poison.error()),
            Repr::Const(_) | Repr::Symbol(_) | Repr::Poly(_) => Ok(()),
        }
    }

    /// A total order for sorting and deterministic maps. It compares structure, not value, which is why `Dim` has no `<`.
    #[must_use]
    pub fn structural_cmp(&self, other: &Dim) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Poly(a), Repr::Poly(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Repr::Poison(a), Repr::Poison(b)) => a.cause.cmp(&b.cause),
            (Repr::Poison(_), _) => Ordering::Greater,
            (_, Repr::Poison(_)) => Ordering::Less,
            (Repr::Const(_) | Repr::Symbol(_) | Repr::Poly(_), _) => {
                let (a, b) = (self.terms(), other.terms());
                let order = |x: &Term, y: &Term| x.mono.cmp(&y.mono).then(x.coeff.cmp(&y.coeff));
                let orders = a.iter().zip(b.iter()).map(|(x, y)| order(x, y));
                orders.into_iter().find(|o| o.is_ne()).unwrap_or(b.len().cmp(&a.len()))
            }
        }
    }

    /// Wraps a canonical list of terms.
    fn from_terms(terms: Terms) -> Dim {
        match terms.as_slice() {
            [] => return Dim::ZERO,
            [Term { mono: Mono::Unit, coeff }] => return Dim(Repr::Const(*coeff)),
            [Term { mono: Mono::Atom(Atom::Symbol(symbol)), coeff: 1 }] => return Dim::symbol(symbol),
            _ => {}
        }
        let (mut hash, mut depth, mut weight) = (5, 0, 0u32);
        for term in &terms {
            hash = mix(mix(hash, term.mono.hash_code()), term.coeff.cast_unsigned());
            for (atom, _) in term.mono.factors() {
                depth = depth.max(atom.depth());
                weight = weight.saturating_add(atom.weight());
            }
            weight = weight.saturating_add(1);
        }
        let cause = if depth > MAX_DEPTH {
            PoisonCause::TooDeep
        } else if weight > MAX_WEIGHT {
            PoisonCause::TooLarge
        } else {
            return Dim(Repr::Poly(Arc::new(Poly { terms, hash, depth, weight })));
        };
        Dim::poison(cause, || text::shortened(&text::TermsDisplay(&terms)))
    }

    /// `lhs op rhs` as an atom, whatever the rules say.
    fn opaque(kind: OpaqueKind, lhs: &Dim, rhs: &Dim) -> Dim {
        let atom = Atom::Opaque(Arc::new(Opaque::new(kind, lhs.clone(), rhs.clone())));
        Dim::from_atom(atom)
    }

    fn from_atom(atom: Atom) -> Dim {
        Dim::from_terms(Terms::from_iter([Term { mono: Mono::Atom(atom), coeff: 1 }]))
    }

    fn from_mono(mono: Mono, coeff: i64) -> Dim {
        if coeff == 0 { Dim::ZERO } else { Dim::from_terms(Terms::from_iter([Term { mono, coeff }])) }
    }

    fn poison(cause: PoisonCause, expr: impl FnOnce() -> String) -> Dim {
        Dim(Repr::Poison(Box::new(Poison { cause, expr: expr().into() })))
    }

    fn is_poisoned(&self) -> bool {
        matches!(self.0, Repr::Poison(_))
    }

    /// The canonical list of terms; empty when poisoned.
    fn terms(&self) -> TermList<'_> {
        match &self.0 {
            Repr::Const(0) | Repr::Poison(_) => TermList::Many(&[]),
            Repr::Const(coeff) => TermList::One(Term { mono: Mono::Unit, coeff: *coeff }),
            Repr::Symbol(symbol) => {
                TermList::One(Term { mono: Mono::Atom(Atom::Symbol(symbol.clone())), coeff: 1 })
            }
            Repr::Poly(poly) => TermList::Many(&poly.terms),
        }
    }

    fn depth(&self) -> u32 {
        match &self.0 {
            Repr::Poly(poly) => poly.depth,
            Repr::Const(_) | Repr::Symbol(_) | Repr::Poison(_) => 0,
        }
    }

    /// Its number of terms and atoms, counting shared ones each time they would be printed: what it costs to print
    /// and to evaluate. At most [`MAX_WEIGHT`].
    #[must_use]
    pub fn weight(&self) -> u32 {
        match &self.0 {
            Repr::Poly(poly) => poly.weight,
            Repr::Const(_) | Repr::Symbol(_) | Repr::Poison(_) => 1,
        }
    }

    fn hash_code(&self) -> u64 {
        match &self.0 {
            Repr::Const(value) => mix(13, value.cast_unsigned()),
            Repr::Symbol(symbol) => mix(17, symbol.hash_code()),
            Repr::Poly(poly) => poly.hash,
            Repr::Poison(poison) => mix(19, poison.cause as u64),
        }
    }

    /// Whether a symbol anywhere in the expression passes the test.
    fn any_symbol(&self, test: &mut dyn FnMut(&Symbol) -> bool) -> bool {
        match &self.0 {
            Repr::Const(_) | Repr::Poison(_) => false,
            Repr::Symbol(symbol) => test(symbol),
            Repr::Poly(poly) => {
                poly.terms.iter().any(|term| term.mono.factors().any(|(atom, _)| atom.contains(test)))
            }
        }
    }

    fn has_index(&self) -> bool {
        self.any_symbol(&mut |symbol| symbol.as_index().is_some())
    }

    fn interval(&self) -> Interval {
        Facts::none().interval(self)
    }
}

impl Poison {
    fn error(&self) -> DimError {
        let expr = self.expr.to_string();
        match self.cause {
            PoisonCause::Overflow => DimError::Overflow { expr },
            PoisonCause::TooDeep => DimError::TooBig { expr, what: "nested operations", limit: MAX_DEPTH },
            PoisonCause::TooLarge => DimError::TooBig { expr, what: "terms and symbols", limit: MAX_WEIGHT },
        }
    }
}

/// The terms of any representation as a slice.
enum TermList<'a> {
    One(Term),
    Many(&'a [Term]),
}

impl std::ops::Deref for TermList<'_> {
    type Target = [Term];

    fn deref(&self) -> &[Term] {
        match self {
            TermList::One(term) => std::slice::from_ref(term),
            TermList::Many(terms) => terms,
        }
    }
}

impl PartialEq for Dim {
    fn eq(&self, other: &Dim) -> bool {
        match (&self.0, &other.0) {
            (Repr::Const(a), Repr::Const(b)) => a == b,
            (Repr::Symbol(a), Repr::Symbol(b)) => a == b,
            (Repr::Poly(a), Repr::Poly(b)) => Arc::ptr_eq(a, b) || (a.hash == b.hash && a.terms == b.terms),
            (Repr::Poison(a), Repr::Poison(b)) => a.cause == b.cause,
            (Repr::Const(_) | Repr::Symbol(_) | Repr::Poly(_) | Repr::Poison(_), _) => false,
        }
    }
}

impl Eq for Dim {}

impl PartialEq<i64> for Dim {
    fn eq(&self, other: &i64) -> bool {
        self.is_const() == Some(*other)
    }
}

impl Hash for Dim {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash_code());
    }
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        Dim(Repr::Const(value))
    }
}

impl From<i32> for Dim {
    fn from(value: i32) -> Dim {
        Dim(Repr::Const(value.into()))
    }
}

impl From<u32> for Dim {
    fn from(value: u32) -> Dim {
        Dim(Repr::Const(value.into()))
    }
}

impl From<usize> for Dim {
    /// A value above `i64::MAX` gives a poisoned size.
    fn from(value: usize) -> Dim {
        match i64::try_from(value) {
            Ok(value) => Dim(Repr::Const(value)),
            Err(_) => Dim::poison(PoisonCause::Overflow, || value.to_string()),
        }
    }
}

impl From<&Symbol> for Dim {
    fn from(symbol: &Symbol) -> Dim {
        Dim::symbol(symbol)
    }
}

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
