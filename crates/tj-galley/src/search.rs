//! In which order reductions are eliminated.
//!
//! Greedy first: the cheapest step, again and again. That is a plan, and the bound below which branch and bound looks for a better
//! one, the cheapest steps first. What is left to do depends on which reductions are gone, so that a way to the same ones that
//! costs more is given up. A search that runs out of its budget answers with the best it has.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_plan::derive::form::{Form, IndexSet, bit};

use crate::cost::{Facts, Priced};
use crate::support::Support;

/// Steps that one search prices.
const BUDGET: usize = 4000;

/// A way to compute a form, and what it is expected to cost.
#[derive(Clone, Debug)]
pub struct Way {
    /// What each step eliminates, outermost first.
    pub steps: Vec<Vec<u8>>,
    /// What each step costs.
    pub priced: Vec<Priced>,
    /// In all.
    pub cost: f64,
}

#[derive(Clone)]
struct State {
    form: Form,
    known: Vec<Option<Arc<Support>>>,
    way: Way,
}

impl State {
    fn new(form: &Form) -> State {
        let way = Way { steps: Vec::new(), priced: Vec::new(), cost: 0.0 };
        State { form: form.clone(), known: Vec::new(), way }
    }

    /// After one more step, which costs the second.
    fn after(&self, facts: &Facts<'_>, choice: &[u8]) -> Option<State> {
        let mut next = self.clone();
        let step = next.form.eliminate(choice)?.clone();
        let priced = facts.price(&next.form, &step, &next.known);
        // Reductions run in the order of their loops.
        let mut reduced: Vec<u8> = choice.to_vec();
        reduced.sort_by_key(|index| priced.order.iter().position(|own| own == index));
        next.known.push(priced.result.clone());
        next.way.cost += priced.cost;
        next.way.steps.push(reduced);
        next.way.priced.push(priced);
        if next.form.reductions.is_empty() {
            next.way.cost += facts.rest(&next.form, &next.known);
        }
        Some(next)
    }

    fn left(&self) -> IndexSet {
        self.form.reductions.iter().fold(0, |all, reduction| all | bit(reduction.index))
    }
}

/// The cheapest way that is found.
pub fn search(facts: &Facts<'_>, form: &Form) -> Option<Way> {
    let mut best = greedy(facts, form);
    let mut seen: FxHashMap<IndexSet, f64> = FxHashMap::default();
    let mut budget = BUDGET;
    below(facts, State::new(form), &mut best, &mut seen, &mut budget);
    best
}

/// The cheapest step, again and again.
pub fn greedy(facts: &Facts<'_>, form: &Form) -> Option<Way> {
    let mut state = State::new(form);
    while !state.form.reductions.is_empty() {
        let choices = state.form.choices();
        let next = choices.iter().filter_map(|choice| state.after(facts, choice));
        state = next.min_by(|a, b| a.way.cost.total_cmp(&b.way.cost))?;
    }
    Some(state.way)
}

/// One reduction after the other, as they are written.
pub fn written(facts: &Facts<'_>, form: &Form) -> Option<Way> {
    let mut state = State::new(form);
    while !state.form.reductions.is_empty() {
        let choices = state.form.choices();
        let rank = |choice: &SmallVec<[u8; 6]>| {
            choice.first().and_then(|&index| state.form.reduction(index)).map(|reduction| reduction.rank)
        };
        let first = choices.iter().min_by_key(|choice| rank(choice))?;
        let all = state.after(facts, first);
        let one = state.after(facts, &first[..1]);
        state = match (all, one) {
            (Some(all), Some(one)) if one.way.cost < all.way.cost => one,
            (Some(all), _) => all,
            (None, one) => one?,
        };
    }
    Some(state.way)
}

/// Looks for a way below what a state costs that is cheaper than the best one. As deep as there are reductions.
fn below(
    facts: &Facts<'_>,
    state: State,
    best: &mut Option<Way>,
    seen: &mut FxHashMap<IndexSet, f64>,
    budget: &mut usize,
) {
    let bound = |best: &Option<Way>| best.as_ref().map_or(f64::INFINITY, |way| way.cost);
    if state.form.reductions.is_empty() {
        if state.way.cost < bound(best) {
            *best = Some(state.way);
        }
        return;
    }
    let mut next: Vec<State> = Vec::new();
    for choice in state.form.choices() {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        next.extend(state.after(facts, &choice).filter(|next| next.way.cost < bound(best)));
    }
    next.sort_by(|a, b| a.way.cost.total_cmp(&b.way.cost));
    for next in next {
        let known = seen.entry(next.left()).or_insert(f64::INFINITY);
        if next.way.cost < *known && next.way.cost < bound(best) {
            *known = next.way.cost;
            below(facts, next, best, seen, budget);
        }
    }
}
