//! Equations that give each index by divisions.
//!
//! Coordinates of an entry are what index maps give. Quotient and remainder of one number are that number together, so that
//! the maps of another shape become one equation. A sum of indices, each worth more than all later ones together, is a number
//! with digits, as a step, a reversed axis and a place in row-major order are.

use super::place::{Atom, Place, Span};

/// A place, and what it is of an entry: the sum of some of its coordinates, each times a number.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub place: Place,
    pub of: Vec<(i64, usize)>,
}

impl Known {
    pub fn value(&self, columns: &[Vec<i64>], at: usize) -> i64 {
        self.of.iter().map(|&(times, dim)| times * columns[dim][at]).sum()
    }
}

/// Puts quotients and remainders of one number together; `extents` are those of the coordinates.
pub(super) fn merged(mut all: Vec<Known>, extents: &[usize]) -> Vec<Known> {
    while let Some((high, low, place, by)) = pair(&all) {
        let (first, second) = (high.min(low), high.max(low));
        let scaled = |&(times, dim): &(i64, usize)| Some((i64::checked_mul(times, by)?, dim));
        let Some(mut of) = all[high].of.iter().map(scaled).collect::<Option<Vec<_>>>() else { break };
        of.extend_from_slice(&all[low].of);
        let most = of.iter().try_fold(0_i128, |most, &(times, dim)| {
            most.checked_add(i128::from(times.unsigned_abs()) * extents[dim] as i128)
        });
        if most.is_none_or(|most| most > i128::from(i64::MAX / 4)) {
            break;
        }
        all.swap_remove(second);
        all[first] = Known { place, of };
    }
    all
}

/// The first quotient with a remainder by the same number: which they are, of what, and by what.
fn pair(all: &[Known]) -> Option<(usize, usize, Place, i64)> {
    for (low, known) in all.iter().enumerate() {
        let Some(Atom::Remainder(of, by)) = known.place.as_atom() else { continue };
        for (high, known) in all.iter().enumerate() {
            let Some(Atom::Quotient(whole, divisor)) = known.place.as_atom() else { continue };
            if whole == of && divisor == by {
                return Some((high, low, of.clone(), *by));
            }
            // A quotient of a quotient is one by the product.
            if let Some(Atom::Quotient(inner, first)) = of.as_atom()
                && inner == whole
                && first.checked_mul(*by) == Some(*divisor)
            {
                return Some((high, low, of.clone(), *by));
            }
        }
    }
    None
}

/// Digits, most significant first: the index, what one is worth, its range.
#[derive(Clone, Debug)]
pub(super) struct Digits {
    least: i64,
    digits: Vec<(usize, i64, Span)>,
    of: Vec<(i64, usize)>,
}

/// Digits for all indices whose ranges leave them open; `None` if that is not what the equations are.
pub(super) fn digits(all: &[Known], ranges: &[Span]) -> Option<Vec<Digits>> {
    let mut is_open: Vec<bool> = ranges.iter().map(|span| span.0 < span.1).collect();
    let mut found = Vec::with_capacity(all.len());
    for known in all {
        let mut digits = Vec::new();
        for (worth, atom) in &known.place.terms {
            let Atom::Index(index) = atom else { return None };
            if !std::mem::replace(&mut is_open[*index], false) {
                return None;
            }
            digits.push((*index, *worth, ranges[*index]));
        }
        digits.sort_by_key(|(_, worth, _)| std::cmp::Reverse(worth.unsigned_abs()));
        let mut below = 0_i64;
        for (_, worth, (lo, hi)) in digits.iter().rev() {
            if worth.abs() <= below {
                return None;
            }
            below += worth.abs() * (hi - lo);
        }
        let least = known.place.range(ranges).0;
        found.push(Digits { least, digits, of: known.of.clone() });
    }
    is_open.iter().all(|open| !open).then_some(found)
}

impl Digits {
    /// Writes the indices of an entry; `false` if there are none.
    pub fn write(&self, columns: &[Vec<i64>], at: usize, indices: &mut [i64]) -> bool {
        let value: i64 = self.of.iter().map(|&(times, dim)| times * columns[dim][at]).sum();
        let mut rest = value - self.least;
        if rest < 0 {
            return false;
        }
        for &(index, worth, (lo, hi)) in &self.digits {
            let size = worth.abs();
            let digit = if size == 1 { rest } else { rest / size };
            if digit > hi - lo {
                return false;
            }
            rest -= digit * size;
            indices[index] = if worth < 0 { hi - digit } else { lo + digit };
        }
        rest == 0
    }
}
