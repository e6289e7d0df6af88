//! How often loops run along lists that meet.
//!
//! Two lists are merged: all of both is gone along. One that is met again and again is spread over memory instead, before the
//! loop that meets others with it, and looked up from then on. That is what kernels do, and what orders are priced by where data
//! are known.

use rustc_hash::FxHashMap;
use tj_ir::{Dim, ExprId};

use super::super::space::Tree;
use super::super::{Access, plain};
use super::{Counts, Guess, NEAR, Question, State, follows};

/// What it costs to clear an element of the memory over which a list is spread, in steps: memory that is near, and memory that is
/// not, of which each part that runs beside others has its own.
const CLEAR: [f64; 2] = [1.0, 4.0];

/// What an entry costs for which a list that is spread over memory is looked up, in steps, where data are known.
const LOOK_UP: f64 = 1.25;

impl Question<'_> {
    /// Spreads last lists over memory, where data are known, before the loop of an index inside of which others are met with them
    /// again and again: kernels look them up then.
    pub(super) fn spread(&self, guesses: &[Guess], state: &mut State, index: u32) {
        let is_hypersparse =
            |access: &Access| (self.stored)(access.source).is_some_and(|stored| stored.is_hypersparse);
        if self.counts == Counts::Guessed || self.accesses.iter().any(is_hypersparse) {
            return;
        }
        for at in 0..guesses.len() {
            let Some((dim, Some(entries))) = guesses[at].levels.get(state.next[at]) else { continue };
            let Some(own) = plain(dim).filter(|&own| own != index && !state.bound[own as usize]) else {
                continue;
            };
            let is_last = state.next[at] + 1 == guesses[at].levels.len();
            let meets = |other: usize| {
                other != at
                    && mentions(&self.accesses[other], index)
                    && self.comes_later(&guesses[other], &self.accesses[at], own)
            };
            if is_last && !state.spread[at] && (0..guesses.len()).any(meets) {
                state.spread[at] = true;
                // Entries are written, and taken away again.
                let clear = CLEAR[usize::from(self.size(own) > NEAR)] * self.size(own);
                state.cost += clear + state.visits * 2.0 * entries;
            }
        }
    }

    /// Whether a read comes to a list along an index inside of a loop that another read does not depend on.
    fn comes_later(&self, guess: &Guess, other: &Access, index: u32) -> bool {
        let list = guess.levels.iter().position(|(dim, list)| follows(dim, index, true) && list.is_some());
        let indices = |dim: &Dim| -> Vec<u32> { dim.symbols().filter_map(|s| s.as_index()).collect() };
        list.is_some_and(|list| {
            let before = guess.levels[..list].iter().flat_map(|(dim, _)| indices(dim));
            before.into_iter().any(|own| !mentions(other, own))
        })
    }
}

fn mentions(access: &Access, index: u32) -> bool {
    access.at.iter().any(|dim| dim.symbols().any(|symbol| symbol.as_index() == Some(index)))
}

/// How often a loop runs its body, and how many steps it takes. Lists that are spread are looked up beside others.
pub(super) fn work(tree: &Tree, lists: &FxHashMap<ExprId, f64>, size: f64, spread: &[ExprId]) -> (f64, f64) {
    let below = |trees: &[Tree]| -> Vec<(f64, f64)> {
        trees.iter().map(|tree| work(tree, lists, size, spread)).collect()
    };
    match tree {
        Tree::All => (size, size),
        Tree::Leaf(id) => lists.get(id).map_or((size, size), |&n| (n, n)),
        Tree::And(trees) => {
            let parts = below(trees);
            let runs = parts.iter().map(|(runs, _)| *runs).fold(size, f64::min);
            let is_walked = |tree: &Tree| !matches!(tree, Tree::Leaf(id) if spread.contains(id));
            let walked: Vec<f64> =
                parts.iter().zip(trees).filter(|(_, tree)| is_walked(tree)).map(|(part, _)| part.1).collect();
            match walked.as_slice() {
                &[led] if trees.len() > 1 => (runs, LOOK_UP * led),
                [] => (runs, 2.0 * parts.iter().map(|(_, steps)| steps).sum::<f64>()),
                walked => (runs, 2.0 * walked.iter().sum::<f64>()),
            }
        }
        Tree::Or(trees) => {
            let parts = below(trees);
            let runs = parts.iter().map(|(runs, _)| runs).sum::<f64>().min(size);
            (runs, 2.0 * parts.iter().map(|(_, steps)| steps).sum::<f64>())
        }
    }
}
