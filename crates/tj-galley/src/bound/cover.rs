//! The fractional cover of indices by counts (Atserias, Grohe, Marx).
//!
//! If sets of indices have at most `N_e` assignments each, and weights `w_e` cover every index (`sum over e with v: w_e >= 1`), then all
//! indices together have at most `prod_e N_e^w_e`. That matters where sets go round in a circle: a triangle of `N` edges is at most
//! `N^1.5`. The least cover is the dual of a packing, `max sum y_v` with `sum over v in e: y_v <= log N_e`, which a simplex solves
//! from 0. What it says is made a cover before it is believed, so that no error of it makes a bound too small.

use smallvec::SmallVec;
use tj_plan::derive::form::{IndexSet, bit, members};

use super::Places;
use super::constraints::{Constraint, Size, product};

/// Circles have at least so many sets of several indices.
const LEAST_SETS: usize = 3;

/// More indices, and more sets, are not looked at.
const MOST: [usize; 2] = [12, 24];

/// Pivots of the simplex.
const MOST_PIVOTS: usize = 200;

/// What is no more than this is 0.
const TINY: f64 = 1e-9;

/// How many assignments of some indices there are, at most; infinite if a chain says as much.
pub(super) fn bound(constraints: &[Constraint], to: IndexSet, size: Size<'_>) -> f64 {
    let mut sets: SmallVec<[(IndexSet, f64); 16]> = SmallVec::new();
    let singles = members(to).map(|index| (bit(index), size(index)));
    let counts = constraints.iter().filter(|own| own.from == 0).map(|own| (own.to & to, own.most));
    for (set, most) in counts.chain(singles).filter(|(set, most)| *set != 0 && most.is_finite()) {
        match sets.iter_mut().find(|(known, _)| *known == set) {
            Some((_, known)) => *known = known.min(most),
            None => sets.push((set, most)),
        }
    }
    let is_several = |(set, _): &&(IndexSet, f64)| set.count_ones() > 1;
    let indices: Places = members(to).collect();
    if sets.iter().filter(is_several).count() < LEAST_SETS || indices.len() > MOST[0] {
        return f64::INFINITY;
    }
    sets.sort_by(|a, b| a.1.total_cmp(&b.1));
    sets.truncate(MOST[1]);
    let rows: Vec<Vec<bool>> =
        sets.iter().map(|(set, _)| indices.iter().map(|&index| set & bit(index) != 0).collect()).collect();
    let logs: Vec<f64> = sets.iter().map(|(_, most)| most.max(1.0).ln()).collect();
    let mut weights = packed(&rows, &logs);
    // A cover, whatever was found.
    for (place, &index) in indices.iter().enumerate() {
        let covering = |weights: &[f64]| -> f64 {
            weights.iter().zip(&rows).filter(|(_, row)| row[place]).map(|(weight, _)| weight).sum()
        };
        let covered = covering(&weights);
        if covered >= 1.0 {
            continue;
        }
        let cheapest = (0..rows.len()).filter(|&row| rows[row][place]);
        let Some(cheapest) = cheapest.min_by(|&a, &b| logs[a].total_cmp(&logs[b])) else {
            return product([size(index), f64::INFINITY].into_iter());
        };
        weights[cheapest] += 1.0 - covered;
    }
    weights.iter().zip(&logs).map(|(weight, log)| weight * log).sum::<f64>().exp()
}

/// Weights of rows, the prices of the packing `max sum y` with `row y <= limit` and `y >= 0`.
fn packed(rows: &[Vec<bool>], limits: &[f64]) -> Vec<f64> {
    let (count, width) = (rows.len(), rows.first().map_or(0, Vec::len));
    let all = width + count;
    let mut table: Vec<Vec<f64>> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let own = row.iter().map(|&holds| f64::from(u8::from(holds)));
            let slack = (0..count).map(|other| f64::from(u8::from(other == at)));
            own.chain(slack).chain([limits[at]]).collect()
        })
        .collect();
    let mut gains: Vec<f64> = (0..all).map(|column| if column < width { 1.0 } else { 0.0 }).collect();
    let mut basis: Vec<usize> = (width..all).collect();
    for _ in 0..MOST_PIVOTS {
        // The first that gains, and of rows that allow as little the first variable: this ends (Bland).
        let Some(enters) = (0..all).find(|&column| gains[column] > TINY) else { break };
        let ratio = |row: &usize| table[*row][all] / table[*row][enters];
        let allowing = (0..count).filter(|&row| table[row][enters] > TINY);
        let leaves = allowing.min_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(basis[*a].cmp(&basis[*b])));
        let Some(leaves) = leaves else { break };
        let pivot = table[leaves][enters];
        table[leaves].iter_mut().for_each(|value| *value /= pivot);
        let row = table[leaves].clone();
        for (at, other) in table.iter_mut().enumerate() {
            let factor = other[enters];
            if at != leaves && factor != 0.0 {
                other.iter_mut().zip(&row).for_each(|(value, own)| *value -= factor * own);
            }
        }
        let factor = gains[enters];
        gains.iter_mut().zip(&row).for_each(|(value, own)| *value -= factor * own);
        basis[leaves] = enters;
    }
    gains[width..].iter().map(|price| (-price).max(0.0)).collect()
}
