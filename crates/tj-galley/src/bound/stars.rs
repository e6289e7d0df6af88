//! How often counted tensors meet at an index that they share.
//!
//! Of coordinate `x` of the index, tensors with `d_f(x)` entries there meet in `prod_f d_f(x)` ways, whatever their other indices are:
//! so the sum over `x` is the number of all ways of a star, a path of two edges being one. That takes a look at whole dimensions, where
//! these are short; else it is at most `|d_f| |d_g|` (Cauchy and Schwarz) times the greatest of the other degrees, which is known.
//! Where equal tensors meet that is exact, too.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_plan::derive::form::bit;

use super::constraints::{Constraint, Counted, Region, product};

/// Dimensions that are looked at.
const SHORT: usize = 1 << 14;

/// Of at most so many tensors that meet, any two are looked at as well as all of them.
const MOST_PAIRED: usize = 4;

/// How tensors meet.
#[derive(Clone, Copy, Debug)]
struct Star {
    /// In all.
    ways: f64,
    /// At one coordinate, at most.
    greatest: f64,
    /// The coordinates at which they do.
    present: f64,
}

/// Stars that were looked at.
#[derive(Default)]
pub(super) struct Stars {
    known: RefCell<FxHashMap<SmallVec<[usize; 6]>, Star>>,
    /// Holds what the keys point to.
    held: RefCell<Vec<Arc<[u32]>>>,
}

/// Degrees, and whether they count, or only whether there are any.
type Factor<'c> = (&'c Counted, bool);

impl Stars {
    /// Adds to a region what follows from where its counted tensors meet.
    pub fn add(&self, region: &mut Region) {
        let mut found: SmallVec<[Constraint; 12]> = SmallVec::new();
        let all: SmallVec<[Counted; 4]> = std::mem::take(&mut region.counted);
        let mut seen = 0;
        for at in all.iter().map(|counted| counted.index) {
            if seen & bit(at) != 0 {
                continue;
            }
            seen |= bit(at);
            let here = || all.iter().filter(|counted| counted.index == at);
            let (leaves, edges): (SmallVec<[&Counted; 4]>, SmallVec<[&Counted; 4]>) =
                here().partition(|counted| counted.set == bit(at));
            if leaves.len() + edges.len() < 2 {
                continue;
            }
            self.meet(&leaves, &edges, at, &mut found);
            if edges.len() > 1 && !leaves.is_empty() {
                edges.iter().for_each(|edge| self.meet(&leaves, &[edge], at, &mut found));
            }
            if (3..=MOST_PAIRED).contains(&edges.len()) {
                for (place, first) in edges.iter().enumerate() {
                    edges[place + 1..]
                        .iter()
                        .for_each(|second| self.meet(&leaves, &[first, second], at, &mut found));
                }
            }
        }
        region.counted = all;
        found.into_iter().for_each(|constraint| region.add(constraint));
    }

    /// What follows from where some that have other indices and all that have none meet.
    fn meet(
        &self,
        leaves: &[&Counted],
        edges: &[&Counted],
        index: u8,
        found: &mut SmallVec<[Constraint; 12]>,
    ) {
        let factors: SmallVec<[Factor<'_>; 6]> =
            leaves.iter().map(|leaf| (*leaf, false)).chain(edges.iter().map(|edge| (*edge, true))).collect();
        let star = self.star(&factors);
        let set = edges.iter().fold(bit(index), |set, edge| set | edge.set);
        found.push(Constraint { from: 0, to: bit(index), most: star.present });
        if set != bit(index) {
            found.push(Constraint { from: 0, to: set, most: star.ways });
            found.push(Constraint { from: bit(index), to: set & !bit(index), most: star.greatest });
        }
    }

    fn star(&self, factors: &[Factor<'_>]) -> Star {
        let lengths = factors.iter().map(|(counted, _)| counted.degrees.len());
        let length = lengths.min().unwrap_or(0);
        if length > SHORT {
            return by_norms(factors);
        }
        let mut key: SmallVec<[usize; 6]> = factors
            .iter()
            .map(|(counted, counts)| counted.degrees.as_ptr() as usize * 2 + usize::from(*counts))
            .collect();
        key.sort_unstable();
        if let Some(star) = self.known.borrow().get(&key) {
            return *star;
        }
        let mut star = Star { ways: 0.0, greatest: 0.0, present: 0.0 };
        for x in 0..length {
            let degree = |(counted, counts): &Factor<'_>| {
                let degree = counted.degrees[x];
                f64::from(if *counts { degree } else { degree.min(1) })
            };
            let ways: f64 = factors.iter().map(degree).product();
            star.ways += ways;
            star.greatest = star.greatest.max(ways);
            star.present += ways.min(1.0);
        }
        self.held.borrow_mut().extend(factors.iter().map(|(counted, _)| Arc::clone(&counted.degrees)));
        self.known.borrow_mut().insert(key, star);
        star
    }
}

/// What is known of a star without a look at its coordinates.
fn by_norms(factors: &[Factor<'_>]) -> Star {
    let greatest =
        |(counted, counts): &Factor<'_>| f64::from(if *counts { counted.spread.greatest } else { 1 });
    let present = |(counted, _): &Factor<'_>| counted.spread.present as f64;
    let squares =
        |factor: &Factor<'_>| if factor.1 { factor.0.spread.squares as f64 } else { present(factor) };
    let mut ways = f64::INFINITY;
    for first in 0..factors.len() {
        for second in first + 1..factors.len() {
            let others = (0..factors.len()).filter(|&other| other != first && other != second);
            let norms = (squares(&factors[first]) * squares(&factors[second])).sqrt();
            ways = ways.min(norms * product(others.map(|other| greatest(&factors[other]))));
        }
    }
    let present = factors.iter().map(present).fold(f64::INFINITY, f64::min);
    Star { ways, greatest: product(factors.iter().map(greatest)), present }
}
