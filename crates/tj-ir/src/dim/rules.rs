//! `floordiv`, `modulo`, `min` and `max`: the rules that make them disappear.
//!
//! Every rule below is an identity of whole numbers with `floor(x / 0) = 0` and `x mod 0 = 0`; its condition is proved
//! from [`Facts`], never assumed. Quotient and remainder follow the same steps, so that `q*floordiv(p, q) +
//! modulo(p, q)` can be recognised again (`simplify.rs`).
//!
//! With `q >= 1`:
//!
//! 1. *split*: `p = a*q + r` gives `a + floordiv(r, q)` and `modulo(r, q)`;
//! 2. *small*: `0 <= r <= q - 1` gives `0` and `r`; `-q <= r <= -1` gives `-1` and `r + q`;
//! 3. *group*: `r = g*x + s`, `q = g*c`, `g >= 1`, `0 <= s <= g - 1` gives `floordiv(x, c)` and `g*modulo(x, c) + s`;
//! 4. *nest*: `floordiv(floordiv(x, a) + k, q) = floordiv(x + a*k, a*q)` for `a >= 1` (for `k = 0`, `a >= 0` and
//!    `q >= 0` do); `floordiv(modulo(x, q*b), q) = modulo(floordiv(x, q), b)` for `b >= 0`;
//! 5. *wrap*: a summand `k*modulo(x, n)` of `r` may be read as `k*x` in `modulo(r, q)` if `n >= 1` and `q` divides `k*n`.
//!
//! A negative constant divisor changes sign with its dividend. Each rule leaves a smaller divisor, fewer or smaller
//! terms, or fewer nested atoms, so the recursion ends.

use super::facts::Facts;
use super::opaque::{Opaque, OpaqueKind};
use super::poly::{Atom, Mono, Term, Terms, gcd};
use super::simplify::pair_remainders;
use super::{Dim, PoisonCause};

/// Terms up to which rule 3 looks for groups; it tries a number of candidates quadratic in it.
const MAX_GROUPED_TERMS: usize = 6;

/// Steps of a division by a sum before rule 1 gives up; each removes one term.
const MAX_DIVISION_STEPS: usize = 64;

impl Dim {
    /// The quotient rounded down; 0 where `divisor` is 0.
    #[must_use]
    pub fn floordiv(&self, divisor: &Dim) -> Dim {
        floordiv(self, divisor, &Facts::none())
    }

    /// The remainder of [`floordiv`](Dim::floordiv), which has the sign of `divisor`; 0 where `divisor` is 0.
    #[must_use]
    pub fn modulo(&self, divisor: &Dim) -> Dim {
        modulo(self, divisor, &Facts::none())
    }

    /// The quotient rounded up; 0 where `divisor` is 0.
    #[must_use]
    pub fn ceildiv(&self, divisor: &Dim) -> Dim {
        if divisor.interval().lo >= 0 {
            let rounded = (self + divisor - 1).floordiv(divisor);
            if !rounded.is_poisoned() {
                return rounded;
            }
        }
        -(-self).floordiv(divisor)
    }

    /// The smaller of both.
    #[must_use]
    pub fn min(&self, other: &Dim) -> Dim {
        apply(OpaqueKind::Min, self, other, &Facts::none())
    }

    /// The greater of both.
    #[must_use]
    pub fn max(&self, other: &Dim) -> Dim {
        apply(OpaqueKind::Max, self, other, &Facts::none())
    }
}

/// The operation on canonical arguments, simplified by what is known.
pub(super) fn apply(kind: OpaqueKind, lhs: &Dim, rhs: &Dim, facts: &Facts) -> Dim {
    match kind {
        OpaqueKind::FloorDiv => floordiv(lhs, rhs, facts),
        OpaqueKind::Modulo => modulo(lhs, rhs, facts),
        OpaqueKind::Min | OpaqueKind::Max => extremum(kind, lhs, rhs, facts),
    }
}

fn extremum(kind: OpaqueKind, lhs: &Dim, rhs: &Dim, facts: &Facts) -> Dim {
    if lhs.is_poisoned() || lhs == rhs {
        return lhs.clone();
    }
    if rhs.is_poisoned() {
        return rhs.clone();
    }
    let (least, greatest) = if facts.ge_zero(&(rhs - lhs)) {
        (lhs, rhs)
    } else if facts.ge_zero(&(lhs - rhs)) {
        (rhs, lhs)
    } else if lhs.structural_cmp(rhs).is_le() {
        return Dim::opaque(kind, lhs, rhs);
    } else {
        return Dim::opaque(kind, rhs, lhs);
    };
    if kind == OpaqueKind::Min { least.clone() } else { greatest.clone() }
}

/// The cases that need no knowledge about the divisor: poison, constants, 0, 1 and -1, negative constants.
fn trivial(kind: OpaqueKind, p: &Dim, q: &Dim, facts: &Facts) -> Option<Dim> {
    if p.is_poisoned() || q.is_poisoned() {
        return Some(if p.is_poisoned() { p.clone() } else { q.clone() });
    }
    if let (Some(a), Some(b)) = (p.is_const(), q.is_const()) {
        let value = kind.apply(a.into(), b.into()).and_then(|value| i64::try_from(value).ok());
        let overflow = || Dim::poison(PoisonCause::Overflow, || format!("{}({a}, {b})", kind.name()));
        return Some(value.map_or_else(overflow, Dim::from));
    }
    if *p == 0 {
        return Some(Dim::ZERO);
    }
    let quotient = kind == OpaqueKind::FloorDiv;
    match q.is_const()? {
        0 => Some(Dim::ZERO),
        1 => Some(if quotient { p.clone() } else { Dim::ZERO }),
        divisor if divisor < 0 => {
            let (p, q) = (-p, -q);
            if p.is_poisoned() || q.is_poisoned() {
                return None;
            }
            Some(if quotient { floordiv(&p, &q, facts) } else { -modulo(&p, &q, facts) })
        }
        _ => None,
    }
}

pub(super) fn floordiv(p: &Dim, q: &Dim, facts: &Facts) -> Dim {
    if let Some(result) = trivial(OpaqueKind::FloorDiv, p, q, facts) {
        return result;
    }
    if !facts.positive(q) {
        return nested_quotient(p, q, facts).unwrap_or_else(|| Dim::opaque(OpaqueKind::FloorDiv, p, q));
    }
    let (whole, rest) = split(&joined(p, facts), q);
    if is_small(&rest, q, facts) {
        return whole;
    }
    if raised(&rest, q, facts).is_some() {
        return whole - 1;
    }
    let quotient = if let Some(group) = group(&rest, q, facts) {
        floordiv(&group.inner, &group.divisor, facts)
    } else {
        nested_quotient(&rest, q, facts).unwrap_or_else(|| Dim::opaque(OpaqueKind::FloorDiv, &rest, q))
    };
    whole + quotient
}

pub(super) fn modulo(p: &Dim, q: &Dim, facts: &Facts) -> Dim {
    if let Some(result) = trivial(OpaqueKind::Modulo, p, q, facts) {
        return result;
    }
    if p.div_exact(q).is_some() {
        return Dim::ZERO;
    }
    if let Some(inner) = as_opaque(p, OpaqueKind::Modulo)
        && inner.rhs == *q
    {
        return p.clone();
    }
    if !facts.positive(q) {
        return Dim::opaque(OpaqueKind::Modulo, p, q);
    }
    let (_, rest) = split(&unwrap_remainders(&joined(p, facts), q, facts), q);
    if is_small(&rest, q, facts) {
        return rest;
    }
    if let Some(raised) = raised(&rest, q, facts) {
        return raised;
    }
    match group(&rest, q, facts) {
        Some(group) => group.factor * modulo(&group.inner, &group.divisor, facts) + group.small,
        None => Dim::opaque(OpaqueKind::Modulo, &rest, q),
    }
}

/// Whether `0 <= rest <= q - 1`.
fn is_small(rest: &Dim, q: &Dim, facts: &Facts) -> bool {
    facts.ge_zero(rest) && facts.ge_zero(&(q - rest - 1))
}

/// `rest + q`, if that is small.
fn raised(rest: &Dim, q: &Dim, facts: &Facts) -> Option<Dim> {
    if facts.interval(rest).lo >= 0 {
        return None;
    }
    let raised = rest + q;
    is_small(&raised, q, facts).then_some(raised)
}

/// The dividend with split axes merged again; once rule 1 has taken its share of their terms, it would be too late.
fn joined(p: &Dim, facts: &Facts) -> Dim {
    pair_remainders(p, facts).unwrap_or_else(|| p.clone())
}

fn as_opaque(dim: &Dim, kind: OpaqueKind) -> Option<std::sync::Arc<Opaque>> {
    match &*dim.terms() {
        [Term { mono: Mono::Atom(Atom::Opaque(opaque)), coeff: 1 }] if opaque.kind == kind => {
            Some(opaque.clone())
        }
        _ => None,
    }
}

/// Rule 4. For `k = 0` it asks no more of `q` than `q >= 0`.
fn nested_quotient(p: &Dim, q: &Dim, facts: &Facts) -> Option<Dim> {
    let (head, constant) = split_constant(p);
    if let Some(inner) = as_opaque(&head, OpaqueKind::FloorDiv) {
        let a = &inner.rhs;
        let holds = if constant == 0 {
            facts.ge_zero(a) && facts.ge_zero(q)
        } else {
            facts.positive(a) && facts.positive(q)
        };
        let (dividend, divisor) = (&inner.lhs + a * constant, a * q);
        if holds && !dividend.is_poisoned() && !divisor.is_poisoned() {
            return Some(floordiv(&dividend, &divisor, facts));
        }
    }
    let inner = as_opaque(p, OpaqueKind::Modulo)?;
    let b = inner.rhs.div_exact(q)?;
    if facts.positive(q) && facts.ge_zero(&b) {
        return Some(modulo(&floordiv(&inner.lhs, q, facts), &b, facts));
    }
    None
}

/// Rule 5.
fn unwrap_remainders(p: &Dim, q: &Dim, facts: &Facts) -> Dim {
    let mut unwrapped = p.clone();
    for term in &*p.terms() {
        let Mono::Atom(Atom::Opaque(opaque)) = &term.mono else { continue };
        if opaque.kind != OpaqueKind::Modulo {
            continue;
        }
        if (&opaque.rhs * term.coeff).div_exact(q).is_some() && facts.positive(&opaque.rhs) {
            let atom = Dim::from_mono(term.mono.clone(), 1);
            let step = &unwrapped + (&opaque.lhs - atom) * term.coeff;
            if !step.is_poisoned() {
                unwrapped = step;
            }
        }
    }
    if unwrapped == *p { unwrapped } else { unwrap_remainders(&unwrapped, q, facts) }
}

/// `(p - c, c)` for the constant term `c`.
fn split_constant(p: &Dim) -> (Dim, i64) {
    let terms = p.terms();
    match terms.last() {
        Some(Term { mono: Mono::Unit, coeff }) => (Dim::from_terms(terms[..terms.len() - 1].into()), *coeff),
        Some(_) | None => (p.clone(), 0),
    }
}

/// Rule 1: `(a, r)` with `p == a*q + r`. Coefficients are divided towards 0, so that a small negative multiple stays one,
/// but the constant term rounds down, so that it becomes non-negative.
fn split(p: &Dim, q: &Dim) -> (Dim, Dim) {
    let terms = q.terms();
    let [divisor] = &*terms else { return divide_by_sum(p, q) };
    let (mut whole, mut rest) = (Terms::new(), Terms::new());
    for term in &*p.terms() {
        let quotient = term.mono.div(&divisor.mono).and_then(|mono| {
            let (coeff, left) = if term.mono.is_unit() {
                let by = divisor.coeff;
                (term.coeff.checked_div_euclid(by)?, term.coeff.checked_rem_euclid(by)?)
            } else {
                (term.coeff.checked_div(divisor.coeff)?, term.coeff.checked_rem(divisor.coeff)?)
            };
            Some((Term { mono, coeff }, left))
        });
        let Some((quotient, left)) = quotient else {
            rest.push(term.clone());
            continue;
        };
        if left != 0 {
            rest.push(Term { mono: term.mono.clone(), coeff: left });
        }
        if quotient.coeff != 0 {
            whole.push(quotient);
        }
    }
    (Dim::from_terms(whole), Dim::from_terms(rest))
}

/// Rule 1 for a divisor of several terms, taken only if it leaves fewer terms than there were: dividing `N` by `N + 1`
/// would be no simplification.
fn divide_by_sum(p: &Dim, q: &Dim) -> (Dim, Dim) {
    let unchanged = || (Dim::ZERO, p.clone());
    let divisor = q.terms();
    let Some(lead) = divisor.first() else { return unchanged() };
    let (mut whole, mut rest, mut todo) = (Dim::ZERO, Dim::ZERO, p.clone());
    for _ in 0..MAX_DIVISION_STEPS {
        let step = match todo.terms().first() {
            None => break,
            Some(term) => {
                let quotient = term.mono.div(&lead.mono).zip(term.coeff.checked_div(lead.coeff));
                match quotient {
                    Some((mono, coeff)) if coeff != 0 => Ok(Dim::from_mono(mono, coeff)),
                    Some(_) | None => Err(Dim::from_mono(term.mono.clone(), term.coeff)),
                }
            }
        };
        match step {
            Ok(step) => {
                todo -= &step * q;
                whole += step;
            }
            Err(head) => {
                todo -= &head;
                rest += head;
            }
        }
    }
    let done = todo.terms().is_empty() && !todo.is_poisoned() && !whole.is_poisoned() && !rest.is_poisoned();
    if done && rest.terms().len() < p.terms().len() { (whole, rest) } else { unchanged() }
}

/// Rule 3: `r == factor*inner + small`, `q == factor*divisor`.
struct Group {
    factor: Dim,
    inner: Dim,
    small: Dim,
    divisor: Dim,
}

fn group(rest: &Dim, q: &Dim, facts: &Facts) -> Option<Group> {
    let of_divisor = content(&q.terms())?;
    if of_divisor.mono.is_unit() && of_divisor.coeff == 1 {
        return None;
    }
    let terms = rest.terms();
    let summands: Vec<Term> = terms.iter().filter(|term| !term.mono.is_unit()).cloned().collect();
    let mut candidates: Vec<Term> = Vec::new();
    let mut consider = |candidate: Term| {
        let trivial = candidate.mono.is_unit() && candidate.coeff == 1;
        if !trivial && !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    };
    match content(&summands) {
        Some(common) => consider(common_divisor(&common, &of_divisor)),
        None => consider(of_divisor.clone()),
    }
    if summands.len() <= MAX_GROUPED_TERMS {
        for (nth, a) in summands.iter().enumerate() {
            for b in &summands[..=nth] {
                consider(common_divisor(&common_divisor(a, b), &of_divisor));
            }
        }
    }
    candidates.sort_by(|a, b| a.mono.cmp(&b.mono).then(b.coeff.cmp(&a.coeff)));
    candidates.into_iter().find_map(|factor| group_by(rest, q, factor, facts))
}

fn group_by(rest: &Dim, q: &Dim, factor: Term, facts: &Facts) -> Option<Group> {
    if !factor.mono.factors().all(|(atom, _)| facts.positive_atom(atom)) {
        return None;
    }
    let (mut inner, mut small) = (Terms::new(), Terms::new());
    for term in &*rest.terms() {
        let (whole, left) = match term.mono.div(&factor.mono) {
            None => (0, term.coeff),
            Some(_) if term.mono.is_unit() => {
                (term.coeff.div_euclid(factor.coeff), term.coeff.rem_euclid(factor.coeff))
            }
            Some(_) if term.coeff % factor.coeff == 0 => (term.coeff / factor.coeff, 0),
            Some(_) => (0, term.coeff),
        };
        if left != 0 {
            small.push(Term { mono: term.mono.clone(), coeff: left });
        }
        if let (Some(mono), true) = (term.mono.div(&factor.mono), whole != 0) {
            inner.push(Term { mono, coeff: whole });
        }
    }
    let factor = Dim::from_mono(factor.mono, factor.coeff);
    let (inner, small) = (Dim::from_terms(inner), Dim::from_terms(small));
    let divisor = q.div_exact(&factor)?;
    is_small(&small, &factor, facts).then_some(Group { factor, inner, small, divisor })
}

/// The greatest term that divides all; its coefficient is positive. `None` for no terms, or if it would not fit.
fn content(terms: &[Term]) -> Option<Term> {
    let first = terms.first()?;
    let start = Term { mono: first.mono.clone(), coeff: first.coeff.checked_abs()? };
    Some(terms[1..].iter().fold(start, |common, term| common_divisor(&common, term)))
}

fn common_divisor(a: &Term, b: &Term) -> Term {
    // Only gcd(MIN, MIN) does not fit; a smaller common divisor is one, too.
    let coeff = i64::try_from(gcd(a.coeff.unsigned_abs(), b.coeff.unsigned_abs())).unwrap_or(1 << 62);
    Term { mono: a.mono.gcd(&b.mono), coeff }
}
