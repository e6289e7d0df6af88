//! Index maps of known sizes: sums of indices, quotients, remainders, and the lesser or greater of two.
//!
//! What an index map may be at all is asked of a [`Dim`] ([`Place::is_one`]) before there are sizes.

use tj_ir::{Dim, Symbol, dim::Factor};

/// From the least to the greatest, both included; nothing if the first is greater.
pub(super) type Span = (i64, i64);

/// Places are within this of 0, so that sums of two do not overflow.
const FAR: i64 = i64::MAX / 4;

/// A number for each tuple of indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) terms: Vec<(i64, Atom)>,
    pub(super) constant: i64,
}

/// What a place is a sum of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    Index(usize),
    /// By a positive number, rounded down.
    Quotient(Place, i64),
    /// By a positive number.
    Remainder(Place, i64),
    Least(Place, Place),
    Greatest(Place, Place),
}

/// What narrowing has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Narrowed {
    Same,
    Changed,
    /// There is nothing.
    Empty,
}

impl Narrowed {
    fn and(self, next: impl FnOnce() -> Narrowed) -> Narrowed {
        match self {
            Narrowed::Empty => Narrowed::Empty,
            Narrowed::Same => next(),
            Narrowed::Changed => match next() {
                Narrowed::Empty => Narrowed::Empty,
                Narrowed::Same | Narrowed::Changed => Narrowed::Changed,
            },
        }
    }
}

fn has_index(dim: &Dim) -> bool {
    dim.symbols().any(|symbol| symbol.as_index().is_some())
}

impl Place {
    /// Whether an index map is one, whatever its sizes are.
    pub fn is_one(dim: &Dim) -> bool {
        let Ok(summands) = dim.summands() else { return false };
        summands.iter().all(|summand| {
            let mut with_index = summand.factors.iter().filter(|(factor, _)| has_index(&Dim::from(*factor)));
            match (with_index.next(), with_index.next()) {
                (None, _) => true,
                (Some((factor, 1)), None) => match factor {
                    Factor::Symbol(_) => true,
                    Factor::FloorDiv(a, by) | Factor::Modulo(a, by) => {
                        !has_index(by) && Dim::ZERO.known_le(by) == Some(true) && Place::is_one(a)
                    }
                    Factor::Min(a, b) | Factor::Max(a, b) => Place::is_one(a) && Place::is_one(b),
                },
                (Some(_), _) => false,
            }
        })
    }

    /// An index map with numbers for its sizes; `None` if it is none, or too large.
    pub fn new(dim: &Dim, value: &dyn Fn(&Symbol) -> Option<i64>) -> Option<Place> {
        let mut place = Place { terms: Vec::new(), constant: 0 };
        for summand in dim.summands().ok()? {
            let (mut coeff, mut atom) = (summand.coeff, None);
            for (factor, exponent) in summand.factors {
                let whole = Dim::from(factor);
                if !has_index(&whole) {
                    let number = whole.eval(value).ok()?.checked_pow(exponent)?;
                    coeff = coeff.checked_mul(number)?;
                    continue;
                }
                if exponent != 1 || atom.is_some() {
                    return None;
                }
                atom = Some(factor);
            }
            if coeff == 0 {
                continue;
            }
            let Some(factor) = atom else {
                place.constant = place.constant.checked_add(coeff)?;
                continue;
            };
            let atom = match factor {
                Factor::Symbol(symbol) => Atom::Index(symbol.as_index()? as usize),
                Factor::FloorDiv(a, by) | Factor::Modulo(a, by) => {
                    let divisor = by.eval(value).ok()?;
                    if divisor == 0 {
                        continue;
                    }
                    let (a, divisor) = (Place::new(a, value)?, (divisor > 0).then_some(divisor)?);
                    let is_quotient = matches!(factor, Factor::FloorDiv(..));
                    if is_quotient { Atom::Quotient(a, divisor) } else { Atom::Remainder(a, divisor) }
                }
                Factor::Min(a, b) => Atom::Least(Place::new(a, value)?, Place::new(b, value)?),
                Factor::Max(a, b) => Atom::Greatest(Place::new(a, value)?, Place::new(b, value)?),
            };
            place.terms.push((coeff, atom));
        }
        Some(place)
    }

    /// Whether nothing overflows while indices are in their ranges.
    pub(super) fn fits(&self, ranges: &[Span]) -> bool {
        let mut most = self.constant.unsigned_abs() as i128;
        for (coeff, atom) in &self.terms {
            let inner = match atom {
                Atom::Index(_) => true,
                Atom::Quotient(a, _) | Atom::Remainder(a, _) => a.fits(ranges),
                Atom::Least(a, b) | Atom::Greatest(a, b) => a.fits(ranges) && b.fits(ranges),
            };
            if !inner {
                return false;
            }
            let (lo, hi) = atom.range(ranges);
            most += coeff.unsigned_abs() as i128 * i128::from(lo.unsigned_abs().max(hi.unsigned_abs()));
        }
        most <= i128::from(FAR)
    }

    /// The least and the greatest value, or a span around them. It is exact where ranges are single numbers.
    pub(super) fn range(&self, ranges: &[Span]) -> Span {
        let mut sum = (self.constant, self.constant);
        for (coeff, atom) in &self.terms {
            let (lo, hi) = times(*coeff, atom.range(ranges));
            sum = (sum.0 + lo, sum.1 + hi);
        }
        sum
    }

    /// The same where indices are in these ranges, with fewer choices.
    pub(super) fn simplified(&self, ranges: &[Span]) -> Place {
        let mut simple = Place { terms: Vec::new(), constant: self.constant };
        for (coeff, atom) in &self.terms {
            let (lo, hi) = atom.range(ranges);
            if lo == hi {
                simple.constant += coeff * lo;
                continue;
            }
            let instead = match atom {
                Atom::Index(_) => None,
                Atom::Quotient(a, by) => {
                    let a = a.simplified(ranges);
                    if *by == 1 { Some(a) } else { Some(Place::from(Atom::Quotient(a, *by))) }
                }
                Atom::Remainder(a, by) => {
                    let a = a.simplified(ranges);
                    Some(match one_block(a.range(ranges), *by) {
                        Some(block) => Place { constant: a.constant - block * by, ..a },
                        None => Place::from(Atom::Remainder(a, *by)),
                    })
                }
                Atom::Least(a, b) | Atom::Greatest(a, b) => {
                    let (a, b) = (a.simplified(ranges), b.simplified(ranges));
                    let is_least = matches!(atom, Atom::Least(..));
                    let (of_a, of_b) = (a.range(ranges), b.range(ranges));
                    Some(match (of_a.1 <= of_b.0, of_b.1 <= of_a.0) {
                        (true, _) => {
                            if is_least {
                                a
                            } else {
                                b
                            }
                        }
                        (_, true) => {
                            if is_least {
                                b
                            } else {
                                a
                            }
                        }
                        (false, false) if is_least => Place::from(Atom::Least(a, b)),
                        (false, false) => Place::from(Atom::Greatest(a, b)),
                    })
                }
            };
            match instead {
                None => simple.terms.push((*coeff, atom.clone())),
                Some(place) => {
                    simple.constant += coeff * place.constant;
                    simple.terms.extend(place.terms.into_iter().map(|(inner, atom)| (coeff * inner, atom)));
                }
            }
        }
        simple
    }

    /// Narrows ranges to what holds all indices for which the value is in a span.
    pub(super) fn narrow(&self, (lo, hi): Span, ranges: &mut [Span]) -> Narrowed {
        if let [(coeff, atom)] = self.terms.as_slice() {
            return atom.narrow(divided((lo - self.constant, hi - self.constant), *coeff), ranges);
        }
        let whole = self.range(ranges);
        if whole.0 > hi || whole.1 < lo {
            return Narrowed::Empty;
        }
        if whole.0 >= lo && whole.1 <= hi {
            return Narrowed::Same;
        }
        let mut all = Narrowed::Same;
        for (coeff, atom) in &self.terms {
            let whole = self.range(ranges);
            let own = times(*coeff, atom.range(ranges));
            let wanted = (lo - (whole.1 - own.1), hi - (whole.0 - own.0));
            all = all.and(|| atom.narrow(divided(wanted, *coeff), ranges));
        }
        all
    }

    /// A remainder whose argument may be in several blocks, none inside of it: the argument, and how long a block is.
    pub(super) fn remainder(&self, ranges: &[Span]) -> Option<(&Place, i64)> {
        self.terms.iter().find_map(|(_, atom)| match atom {
            Atom::Index(_) => None,
            Atom::Quotient(a, _) => a.remainder(ranges),
            Atom::Remainder(a, by) => {
                let inner = a.remainder(ranges);
                inner.or_else(|| one_block(a.range(ranges), *by).is_none().then_some((a, *by)))
            }
            Atom::Least(a, b) | Atom::Greatest(a, b) => a.remainder(ranges).or_else(|| b.remainder(ranges)),
        })
    }

    /// The same where the remainder of `of` by `by` is `of - start`.
    pub(super) fn in_block(&self, of: &Place, by: i64, start: i64) -> Place {
        let mut place = Place { terms: Vec::new(), constant: self.constant };
        for (coeff, atom) in &self.terms {
            let inner = |a: &Place| a.in_block(of, by, start);
            let atom = match atom {
                Atom::Remainder(a, own) if a == of && *own == by => {
                    place.constant += coeff * (of.constant - start);
                    place.terms.extend(of.terms.iter().map(|(own, atom)| (coeff * own, atom.clone())));
                    continue;
                }
                Atom::Index(_) => atom.clone(),
                Atom::Quotient(a, by) => Atom::Quotient(inner(a), *by),
                Atom::Remainder(a, by) => Atom::Remainder(inner(a), *by),
                Atom::Least(a, b) => Atom::Least(inner(a), inner(b)),
                Atom::Greatest(a, b) => Atom::Greatest(inner(a), inner(b)),
            };
            place.terms.push((*coeff, atom));
        }
        place
    }

    /// The one thing that it is, if it is no sum.
    pub(super) fn as_atom(&self) -> Option<&Atom> {
        match self.terms.as_slice() {
            [(1, atom)] if self.constant == 0 => Some(atom),
            _ => None,
        }
    }
}

impl From<Atom> for Place {
    fn from(atom: Atom) -> Place {
        Place { terms: vec![(1, atom)], constant: 0 }
    }
}

impl Atom {
    fn range(&self, ranges: &[Span]) -> Span {
        match self {
            Atom::Index(index) => ranges[*index],
            Atom::Quotient(a, by) => {
                let (lo, hi) = a.range(ranges);
                (lo.div_euclid(*by), hi.div_euclid(*by))
            }
            Atom::Remainder(a, by) => {
                let span = a.range(ranges);
                match one_block(span, *by) {
                    Some(_) => (span.0.rem_euclid(*by), span.1.rem_euclid(*by)),
                    None => (0, by - 1),
                }
            }
            Atom::Least(a, b) => {
                let (a, b) = (a.range(ranges), b.range(ranges));
                (a.0.min(b.0), a.1.min(b.1))
            }
            Atom::Greatest(a, b) => {
                let (a, b) = (a.range(ranges), b.range(ranges));
                (a.0.max(b.0), a.1.max(b.1))
            }
        }
    }

    fn narrow(&self, (lo, hi): Span, ranges: &mut [Span]) -> Narrowed {
        match self {
            Atom::Index(index) => {
                let before = ranges[*index];
                let after = (before.0.max(lo), before.1.min(hi));
                ranges[*index] = after;
                match after {
                    _ if after.0 > after.1 => Narrowed::Empty,
                    _ if after == before => Narrowed::Same,
                    _ => Narrowed::Changed,
                }
            }
            Atom::Quotient(a, by) => a.narrow(
                (lo.saturating_mul(*by).max(-FAR), hi.saturating_mul(*by).min(FAR) + (by - 1)),
                ranges,
            ),
            Atom::Remainder(a, by) => {
                let (lo, hi) = (lo.max(0), hi.min(by - 1));
                if lo > hi {
                    return Narrowed::Empty;
                }
                match one_block(a.range(ranges), *by) {
                    Some(block) => a.narrow((block * by + lo, block * by + hi), ranges),
                    None => Narrowed::Same,
                }
            }
            Atom::Least(a, b) => {
                // Both are at least the least, and one is the greatest if the other cannot be.
                let both = a.narrow((lo, FAR), ranges).and(|| b.narrow((lo, FAR), ranges));
                both.and(|| match (a.range(ranges).0 > hi, b.range(ranges).0 > hi) {
                    (true, _) => b.narrow((-FAR, hi), ranges),
                    (_, true) => a.narrow((-FAR, hi), ranges),
                    (false, false) => Narrowed::Same,
                })
            }
            Atom::Greatest(a, b) => {
                let both = a.narrow((-FAR, hi), ranges).and(|| b.narrow((-FAR, hi), ranges));
                both.and(|| match (a.range(ranges).1 < lo, b.range(ranges).1 < lo) {
                    (true, _) => b.narrow((lo, FAR), ranges),
                    (_, true) => a.narrow((lo, FAR), ranges),
                    (false, false) => Narrowed::Same,
                })
            }
        }
    }
}

/// The block of a length that a span lies in, if it is one.
fn one_block((lo, hi): Span, by: i64) -> Option<i64> {
    let block = lo.div_euclid(by);
    (block == hi.div_euclid(by)).then_some(block)
}

fn times(coeff: i64, (lo, hi): Span) -> Span {
    if coeff < 0 { (coeff * hi, coeff * lo) } else { (coeff * lo, coeff * hi) }
}

/// What times a number is in a span. The number is not 0.
fn divided((lo, hi): Span, by: i64) -> Span {
    match by {
        1 => (lo, hi),
        _ if by < 0 => divided((-hi, -lo), -by),
        _ => (-(-lo).div_euclid(by), hi.div_euclid(by)),
    }
}
