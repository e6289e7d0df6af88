//! All indices for which places have given values, by narrowing ranges and trying what is left.
//!
//! Each equation narrows the ranges of its indices, again and again. What that leaves open is tried: blocks of remainders, or
//! numbers of the shortest range, whichever are fewer. In the end every equation is asked with single numbers, of which ranges
//! are exact.

use super::Test;
use super::place::{Narrowed, Place, Span};

/// After so many rounds the rest is tried.
const ROUNDS: usize = 8;

/// What is wanted of a place.
#[derive(Clone, Debug)]
pub(super) struct Equation {
    pub place: Place,
    pub test: Test,
    /// What a value that passes is in, where that is a span.
    pub wanted: Span,
}

impl Equation {
    pub fn new(place: Place, test: Test, ranges: &[Span]) -> Equation {
        let wanted = match test {
            Test::Zero | Test::NotZero => (0, 0),
            Test::NotNegative => (0, place.range(ranges).1.max(0)),
        };
        Equation { place, test, wanted }
    }

    fn narrow(&self, ranges: &mut [Span]) -> Narrowed {
        match self.test {
            Test::Zero | Test::NotNegative => self.place.narrow(self.wanted, ranges),
            Test::NotZero if self.place.range(ranges) == (0, 0) => Narrowed::Empty,
            Test::NotZero => Narrowed::Same,
        }
    }

    /// Whether it holds wherever indices are in their ranges.
    pub fn holds(&self, ranges: &[Span]) -> bool {
        let (lo, hi) = self.place.range(ranges);
        match self.test {
            Test::Zero | Test::NotNegative => self.wanted.0 <= lo && hi <= self.wanted.1,
            Test::NotZero => lo > 0 || hi < 0,
        }
    }
}

/// Narrows ranges by all equations; `false` if nothing is left.
pub(super) fn narrow(equations: &[Equation], ranges: &mut [Span]) -> bool {
    for _ in 0..ROUNDS {
        let mut changed = false;
        for equation in equations {
            match equation.narrow(ranges) {
                Narrowed::Empty => return false,
                Narrowed::Changed => changed = true,
                Narrowed::Same => {}
            }
        }
        if !changed {
            break;
        }
    }
    true
}

/// Gives all indices within ranges for which all equations hold, each once.
pub(super) fn solve<E>(
    equations: &[Equation],
    ranges: &mut [Span],
    give: &mut dyn FnMut(&[Span]) -> Result<(), E>,
) -> Result<(), E> {
    if !narrow(equations, ranges) {
        return Ok(());
    }
    let open = ranges.iter().enumerate().filter(|(_, span)| span.0 < span.1);
    let Some((index, &(lo, hi))) = open.min_by_key(|(_, span)| span.1 - span.0) else {
        // Narrowing may have ended before the last equation was asked.
        return if equations.iter().all(|equation| equation.holds(ranges)) { give(ranges) } else { Ok(()) };
    };
    if let Some((of, by)) = equations.iter().find_map(|equation| equation.place.remainder(ranges)) {
        let (first, last) = of.range(ranges);
        let blocks = first.div_euclid(by)..=last.div_euclid(by);
        if blocks.end() - blocks.start() < hi - lo {
            for block in blocks {
                let start = block * by;
                let in_block = |equation: &Equation| {
                    let place = equation.place.in_block(of, by, start);
                    Equation { place, ..equation.clone() }
                };
                let own = Equation { place: of.clone(), test: Test::Zero, wanted: (start, start + by - 1) };
                let equations: Vec<Equation> = equations.iter().map(in_block).chain([own]).collect();
                solve(&equations, &mut ranges.to_vec(), give)?;
            }
            return Ok(());
        }
    }
    for number in lo..=hi {
        let mut own = ranges.to_vec();
        own[index] = (number, number);
        solve(equations, &mut own, give)?;
    }
    Ok(())
}
