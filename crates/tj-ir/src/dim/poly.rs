//! Monomials and sorted sums of them: the ring part of sizes.
//!
//! A [`Mono`] is a product of powers of distinct atoms, ascending in atom order; a polynomial is a list of [`Term`]s,
//! strictly ascending in monomial order, no coefficient 0. Monomials are ordered by degree, greatest first, then
//! lexicographically; that order respects multiplication, which exact division relies on. Sums are formed in `i128`
//! and must fit `i64` at the end, otherwise the operation answers `None`.

use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::SmallVec;

use super::opaque::Opaque;
use super::symbol::{Symbol, mix};

/// What a polynomial is a polynomial in.
#[derive(Clone)]
pub(super) enum Atom {
    Symbol(Symbol),
    Opaque(Arc<Opaque>),
}

/// A product of powers of atoms.
#[derive(Clone)]
pub(super) enum Mono {
    Unit,
    Atom(Atom),
    Product(Arc<Product>),
}

/// At least two factors, or one with an exponent above 1.
pub(super) struct Product {
    factors: Factors,
    degree: u32,
    hash: u64,
}

type Factors = SmallVec<[(Atom, u32); 3]>;

/// One summand.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub mono: Mono,
    pub coeff: i64,
}

/// A sum in canonical order.
pub(super) type Terms = SmallVec<[Term; 3]>;

/// More products than this in one multiplication are not formed.
const MAX_PRODUCTS: usize = 1 << 16;

impl Atom {
    pub fn hash_code(&self) -> u64 {
        match self {
            Atom::Symbol(symbol) => symbol.hash_code(),
            Atom::Opaque(opaque) => opaque.hash,
        }
    }

    /// How deeply opaque operations nest.
    pub fn depth(&self) -> u32 {
        match self {
            Atom::Symbol(_) => 0,
            Atom::Opaque(opaque) => opaque.depth,
        }
    }

    /// How many atoms a full print has.
    pub fn weight(&self) -> u32 {
        match self {
            Atom::Symbol(_) => 1,
            Atom::Opaque(opaque) => opaque.weight,
        }
    }

    pub fn contains(&self, test: &mut dyn FnMut(&Symbol) -> bool) -> bool {
        match self {
            Atom::Symbol(symbol) => test(symbol),
            Atom::Opaque(opaque) => opaque.lhs.any_symbol(test) || opaque.rhs.any_symbol(test),
        }
    }
}

impl PartialEq for Atom {
    fn eq(&self, other: &Atom) -> bool {
        match (self, other) {
            (Atom::Symbol(a), Atom::Symbol(b)) => a == b,
            (Atom::Opaque(a), Atom::Opaque(b)) => Arc::ptr_eq(a, b) || a == b,
            (Atom::Symbol(_), Atom::Opaque(_)) | (Atom::Opaque(_), Atom::Symbol(_)) => false,
        }
    }
}

impl Eq for Atom {}

impl Ord for Atom {
    fn cmp(&self, other: &Atom) -> Ordering {
        match (self, other) {
            (Atom::Symbol(a), Atom::Symbol(b)) => a.cmp(b),
            (Atom::Opaque(a), Atom::Opaque(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Atom::Opaque(a), Atom::Opaque(b)) => a.cmp(b),
            (Atom::Symbol(_), Atom::Opaque(_)) => Ordering::Less,
            (Atom::Opaque(_), Atom::Symbol(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Atom) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Mono {
    fn from_factors(factors: Factors) -> Option<Mono> {
        match factors.as_slice() {
            [] => return Some(Mono::Unit),
            [(atom, 1)] => return Some(Mono::Atom(atom.clone())),
            _ => {}
        }
        let mut degree = 0u32;
        let mut hash = 7;
        for (atom, exponent) in &factors {
            degree = degree.checked_add(*exponent)?;
            hash = mix(mix(hash, atom.hash_code()), u64::from(*exponent));
        }
        Some(Mono::Product(Arc::new(Product { factors, degree, hash })))
    }

    pub fn factors(&self) -> impl Iterator<Item = (&Atom, u32)> {
        let (single, several) = match self {
            Mono::Unit => (None, &[][..]),
            Mono::Atom(atom) => (Some((atom, 1)), &[][..]),
            Mono::Product(product) => (None, product.factors.as_slice()),
        };
        single.into_iter().chain(several.iter().map(|(atom, exponent)| (atom, *exponent)))
    }

    pub fn is_unit(&self) -> bool {
        matches!(self, Mono::Unit)
    }

    pub fn degree(&self) -> u32 {
        match self {
            Mono::Unit => 0,
            Mono::Atom(_) => 1,
            Mono::Product(product) => product.degree,
        }
    }

    pub fn exponent_of(&self, wanted: &Atom) -> u32 {
        self.factors().find(|(atom, _)| *atom == wanted).map_or(0, |(_, exponent)| exponent)
    }

    pub fn hash_code(&self) -> u64 {
        match self {
            Mono::Unit => 3,
            Mono::Atom(atom) => atom.hash_code(),
            Mono::Product(product) => product.hash,
        }
    }

    /// The product; `None` if an exponent overflows.
    pub fn mul(&self, other: &Mono) -> Option<Mono> {
        match (self, other) {
            (Mono::Unit, mono) | (mono, Mono::Unit) => Some(mono.clone()),
            (Mono::Atom(_) | Mono::Product(_), Mono::Atom(_) | Mono::Product(_)) => {
                self.merge(other, |a, b| a.checked_add(b))
            }
        }
    }

    /// The quotient; `None` if `other` does not divide.
    pub fn div(&self, other: &Mono) -> Option<Mono> {
        if other.is_unit() {
            return Some(self.clone());
        }
        self.merge(other, |a, b| a.checked_sub(b))
    }

    /// The greatest monomial that divides both.
    pub fn gcd(&self, other: &Mono) -> Mono {
        self.merge(other, |a, b| Some(a.min(b))).expect("exponents shrink, so the degree cannot overflow")
    }

    /// Combines exponents, an absent one being 0.
    fn merge(&self, other: &Mono, combine: impl Fn(u32, u32) -> Option<u32>) -> Option<Mono> {
        let mut factors = Factors::new();
        let (mut left, mut right) = (self.factors().peekable(), other.factors().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((a, _)), Some((b, _))) => a.cmp(b),
            };
            let from_left = if order.is_le() { left.next() } else { None };
            let from_right = if order.is_ge() { right.next() } else { None };
            let exponent_in = |side: Option<(&Atom, u32)>| side.map_or(0, |(_, exponent)| exponent);
            let exponent = combine(exponent_in(from_left), exponent_in(from_right))?;
            if let Some((atom, _)) = from_left.or(from_right)
                && exponent > 0
            {
                factors.push((atom.clone(), exponent));
            }
        }
        Mono::from_factors(factors)
    }

    /// The monomial without any power of `gone`.
    pub fn without(&self, gone: &Atom) -> Mono {
        let kept = self.factors().filter(|(atom, _)| *atom != gone);
        Mono::from_factors(kept.map(|(atom, exponent)| (atom.clone(), exponent)).collect())
            .expect("the degree shrinks, so it cannot overflow")
    }

    pub fn pow(&self, power: u32) -> Option<Mono> {
        let raise = |(atom, exponent): (&Atom, u32)| Some((atom.clone(), exponent.checked_mul(power)?));
        Mono::from_factors(self.factors().map(raise).collect::<Option<Factors>>()?)
    }
}

impl PartialEq for Mono {
    fn eq(&self, other: &Mono) -> bool {
        match (self, other) {
            (Mono::Unit, Mono::Unit) => true,
            (Mono::Atom(a), Mono::Atom(b)) => a == b,
            (Mono::Product(a), Mono::Product(b)) => {
                Arc::ptr_eq(a, b) || (a.hash == b.hash && a.factors == b.factors)
            }
            (Mono::Unit | Mono::Atom(_) | Mono::Product(_), _) => false,
        }
    }
}

impl Eq for Mono {}

impl Ord for Mono {
    /// Less is printed first: the greatest degree, then the greatest power of the first atom.
    fn cmp(&self, other: &Mono) -> Ordering {
        match (self, other) {
            (Mono::Unit, Mono::Unit) => Ordering::Equal,
            (Mono::Atom(a), Mono::Atom(b)) => a.cmp(b),
            (Mono::Product(a), Mono::Product(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Mono::Product(a), Mono::Product(b)) => b.degree.cmp(&a.degree).then_with(|| {
                let factor_order = |(x, y): (&(Atom, u32), &(Atom, u32))| x.0.cmp(&y.0).then(y.1.cmp(&x.1));
                let orders = a.factors.iter().zip(&b.factors).map(factor_order);
                orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            (Mono::Unit | Mono::Atom(_) | Mono::Product(_), _) => other.degree().cmp(&self.degree()),
        }
    }
}

impl PartialOrd for Mono {
    fn partial_cmp(&self, other: &Mono) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `a + factor * b`.
pub(super) fn add_scaled(a: &[Term], b: &[Term], factor: i64) -> Option<Terms> {
    let mut sum = Terms::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match a[i].mono.cmp(&b[j].mono) {
            Ordering::Less => {
                sum.push(a[i].clone());
                i += 1;
            }
            Ordering::Greater => {
                sum.push(Term { mono: b[j].mono.clone(), coeff: b[j].coeff.checked_mul(factor)? });
                j += 1;
            }
            Ordering::Equal => {
                let coeff = i128::from(a[i].coeff) + i128::from(b[j].coeff) * i128::from(factor);
                let coeff = i64::try_from(coeff).ok()?;
                if coeff != 0 {
                    sum.push(Term { mono: a[i].mono.clone(), coeff });
                }
                i += 1;
                j += 1;
            }
        }
    }
    sum.extend(a[i..].iter().cloned());
    for term in &b[j..] {
        sum.push(Term { mono: term.mono.clone(), coeff: term.coeff.checked_mul(factor)? });
    }
    Some(sum)
}

/// What a multiplication found.
pub(super) enum Multiplied {
    Terms(Terms),
    Overflow,
    TooManyTerms,
}

pub(super) fn mul(a: &[Term], b: &[Term]) -> Multiplied {
    if a.len().saturating_mul(b.len()) > MAX_PRODUCTS {
        return Multiplied::TooManyTerms;
    }
    let mut sum = Sum::default();
    for x in a {
        for y in b {
            let Some(mono) = x.mono.mul(&y.mono) else { return Multiplied::Overflow };
            sum.push(mono, i128::from(x.coeff) * i128::from(y.coeff));
        }
    }
    match sum.finish() {
        Some(terms) => Multiplied::Terms(terms),
        None => Multiplied::Overflow,
    }
}

/// Summands in any order, to be sorted once.
#[derive(Default)]
pub(super) struct Sum(Vec<(Mono, i128)>);

impl Sum {
    pub fn push(&mut self, mono: Mono, coeff: i128) {
        self.0.push((mono, coeff));
    }

    pub fn push_all(&mut self, terms: &[Term]) {
        self.0.extend(terms.iter().map(|term| (term.mono.clone(), term.coeff.into())));
    }

    /// The canonical list; `None` if a coefficient does not fit.
    pub fn finish(mut self) -> Option<Terms> {
        self.0.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut terms = Terms::new();
        let mut raw = self.0.into_iter().peekable();
        while let Some((mono, mut coeff)) = raw.next() {
            while let Some((_, more)) = raw.next_if(|next| next.0 == mono) {
                coeff = coeff.checked_add(more)?;
            }
            let coeff = i64::try_from(coeff).ok()?;
            if coeff != 0 {
                terms.push(Term { mono, coeff });
            }
        }
        Some(terms)
    }
}

/// The greatest common divisor; 0 for two zeros.
pub(super) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
