//! In which order reductions are eliminated.
//!
//! Greedy first: the cheapest step, again and again. That is a plan, and the bound below which branch and bound looks for a better
//! one, the cheapest steps first. What is left to do depends on which reductions are gone, so that a way to the same ones that
//! costs more is given up. A search that runs out of its budget answers with the best it has.

use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use tj_plan::derive::form::{Form, IndexSet, Kind, Leaf, bit};
use tj_plan::derive::{Elimination, Step};

use crate::cost::{Facts, PRICING, Priced};
use crate::support::Support;

/// Steps that a search prices after the first way, at least and at most.
const BUDGET: [f64; 2] = [24.0, 4000.0];

/// A search may cost this part of the first way that was found.
const WORTH: f64 = 0.1;

/// What holds more than this part of its elements may be a dense tensor.
pub(crate) const FULL: f64 = 0.04;

/// A way to compute a form, and what it is expected to cost.
#[derive(Clone, Debug)]
pub struct Way {
    /// What each step eliminates.
    pub steps: Vec<Elimination>,
    /// What each step costs.
    pub priced: Vec<Priced>,
    /// In all.
    pub cost: f64,
}

/// What is left, and how it came to that.
#[derive(Clone)]
struct State {
    form: Form,
    known: SmallVec<[Option<Arc<Support>>; 8]>,
    /// What each step computes.
    signatures: SmallVec<[u64; 8]>,
    /// The last step; states share those before.
    last: Option<Rc<Taken>>,
    /// Of all steps.
    cost: f64,
}

/// A step that was taken after others.
struct Taken {
    before: Option<Rc<Taken>>,
    step: Elimination,
    priced: Priced,
}

/// Steps of one form that were priced before: the same step comes up after others in any order.
#[derive(Default)]
pub struct Seen {
    steps: FxHashMap<u64, Priced>,
}

impl State {
    fn new(form: &Form) -> State {
        let (known, signatures) = (SmallVec::new(), SmallVec::new());
        State { form: form.clone(), known, signatures, last: None, cost: 0.0 }
    }

    /// The way that led there.
    fn way(&self) -> Way {
        let mut way = Way { steps: Vec::new(), priced: Vec::new(), cost: self.cost };
        let mut at = self.last.as_ref();
        while let Some(taken) = at {
            way.steps.push(taken.step.clone());
            way.priced.push(taken.priced.clone());
            at = taken.before.as_ref();
        }
        way.steps.reverse();
        way.priced.reverse();
        way
    }

    /// After one more step.
    fn after(&self, facts: &Facts<'_>, seen: &mut Seen, choice: &[u8], keeps_dense: bool) -> Option<State> {
        let mut next = self.clone();
        let step = next.form.eliminate(choice)?.clone();
        let is_dense = keeps_dense;
        next.count(
            facts,
            seen,
            &step,
            Elimination { reduced: choice.to_vec(), is_dense, ..Elimination::default() },
        );
        if next.form.reductions.is_empty() {
            next.cost += facts.rest(&next.form, &next.known);
        }
        Some(next)
    }

    /// Counts a step that was just made.
    fn count(&mut self, facts: &Facts<'_>, seen: &mut Seen, step: &Step, done: Elimination) {
        let keeps_dense = done.is_dense;
        let is_result = self.form.reductions.is_empty() && self.form.is_read(self.form.root);
        let signature = self.form.signature(step, &self.signatures);
        let signature = signature ^ u64::from(is_result) ^ (u64::from(keeps_dense) << 1);
        let priced = seen.steps.entry(signature);
        let priced = priced.or_insert_with(|| facts.price(&self.form, step, &self.known, keeps_dense));
        // Roles, since the same step has other indices elsewhere.
        let all: SmallVec<[u8; 8]> = step.axes.iter().chain(&step.reduced).copied().collect();
        let order: Vec<u8> = priced.order.iter().map(|&role| all[usize::from(role)]).collect();
        let mut reduced = done.reduced;
        reduced.sort_by_key(|index| order.iter().position(|own| own == index));
        let result = priced.result.as_ref().map(|support| Arc::new(support.renamed(&all)));
        let mut cost = priced.cost;
        // What is kept has its axes in the order in which it is made, and a result its own.
        let order = if is_result { Vec::new() } else { order };
        self.form.keep_in_order(&order);
        let is_dense = keeps_dense || (facts.may_be_dense && !is_result && !priced.is_sparse);
        if is_dense {
            self.form.keep_dense();
        }
        let made = self.form.steps.last().map_or(0, |step| self.form.signature(step, &self.signatures));
        if self.signatures.contains(&made) {
            cost = 0.0;
        }
        let step = Elimination { reduced, order, is_dense, ..done };
        let priced = Priced { cost, ..priced.clone() };
        self.last = Some(Rc::new(Taken { before: self.last.take(), step, priced }));
        self.known.push(result);
        self.signatures.push(made);
        self.cost += cost;
    }

    /// After one more step, whose result is kept as it comes, or as a dense tensor if it holds much.
    fn next(&self, facts: &Facts<'_>, seen: &mut Seen, choice: &[u8]) -> SmallVec<[State; 2]> {
        let mut all: SmallVec<[State; 2]> = self.after(facts, seen, choice, false).into_iter().collect();
        let is_full = |state: &State| {
            let is_result = state.form.reductions.is_empty() && state.form.is_read(state.form.root);
            let is_full = |taken: &Rc<Taken>| taken.priced.is_sparse && taken.priced.density > FULL;
            !is_result && state.last.as_ref().is_some_and(is_full)
        };
        if facts.may_be_dense && all.first().is_some_and(is_full) {
            all.extend(self.after(facts, seen, choice, true));
        }
        all
    }

    /// After what leaves most of a factor out is multiplied into it; none if nothing does.
    fn filtered(&self, facts: &Facts<'_>, seen: &mut Seen) -> Option<State> {
        let mut state = self.clone();
        while let Some(factors) = facts.filter(&state.form, &state.known) {
            let mut next = state.clone();
            let step = next.form.keep(&factors)?.clone();
            next.count(
                facts,
                seen,
                &step,
                Elimination { factors: factors.to_vec(), ..Elimination::default() },
            );
            state = next;
        }
        (state.form.steps.len() > self.form.steps.len()).then_some(state)
    }

    /// What can be eliminated now, of what has to be looked at together.
    fn choices(&self) -> Vec<SmallVec<[u8; 6]>> {
        let component = self.form.component();
        let mut choices = self.form.choices();
        choices.retain(|choice| choice.first().is_some_and(|&index| component & bit(index) != 0));
        choices
    }

    /// What is left to do: the reductions, and how what was kept for them lies and how much it is.
    fn left(&self) -> (IndexSet, u64) {
        let left = self.form.reductions.iter().fold(0, |all, reduction| all | bit(reduction.index));
        let mut hasher = FxHasher::default();
        for node in self.form.below(self.form.root) {
            let Kind::Read(leaf) = self.form.node(node).kind else { continue };
            let Leaf::Step(step) = self.form.leaves[leaf as usize] else { continue };
            let count = self.known[step as usize].as_ref().map_or(0.0, |support| support.count);
            (&self.form.steps[step as usize].axes, (4.0 * count.max(1.0).log2()) as u64).hash(&mut hasher);
        }
        (left, hasher.finish())
    }
}

/// The cheapest way that is found, in a search that takes a tenth of the time that what it found first is expected to take, and a
/// little.
pub fn search(facts: &Facts<'_>, form: &Form, seen: &mut Seen) -> Option<Way> {
    let [least, most] = BUDGET;
    search_within(facts, form, seen, &|first| (WORTH * first / PRICING).clamp(least, most) as usize)
}

/// The cheapest way that is found by pricing as many steps as `budget` says for the cost of the first way.
pub(crate) fn search_within(
    facts: &Facts<'_>,
    form: &Form,
    seen: &mut Seen,
    budget: &dyn Fn(f64) -> usize,
) -> Option<Way> {
    let start = State::new(form);
    let filtered = start.filtered(facts, seen);
    let mut best: Option<Way> = None;
    for start in [Some(start), filtered].into_iter().flatten() {
        let greedy = greedy(facts, start.clone(), seen);
        best = best.into_iter().chain(greedy).min_by(|a, b| a.cost.total_cmp(&b.cost));
        let budget = budget(best.as_ref()?.cost);
        let mut search = Search { facts, seen, cheapest: FxHashMap::default(), budget };
        search.below(start, &mut best);
    }
    best
}

/// The cheapest step, again and again.
fn greedy(facts: &Facts<'_>, start: State, seen: &mut Seen) -> Option<Way> {
    let mut state = start;
    while !state.form.reductions.is_empty() {
        let choices = state.choices();
        let next = choices.iter().flat_map(|choice| state.next(facts, seen, choice));
        state = next.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    }
    Some(state.way())
}

/// Each reduction where it stands: what is computed if nothing is moved.
pub fn still(facts: &Facts<'_>, form: &Form, seen: &mut Seen) -> Option<Way> {
    let mut state = State::new(form);
    while !state.form.reductions.is_empty() {
        let step = state.form.take_whole()?.clone();
        let reduced = step.reduced.to_vec();
        state.count(facts, seen, &step, Elimination { reduced, ..Elimination::default() });
    }
    state.cost += facts.rest(&state.form, &state.known);
    Some(state.way())
}

/// Branch and bound.
struct Search<'f, 'p> {
    facts: &'f Facts<'p>,
    seen: &'f mut Seen,
    /// The cheapest way so far to what is left.
    cheapest: FxHashMap<(IndexSet, u64), f64>,
    budget: usize,
}

impl Search<'_, '_> {
    /// Looks for a way on from a state that is cheaper than the best one. As deep as there are reductions.
    fn below(&mut self, state: State, best: &mut Option<Way>) {
        let bound = |best: &Option<Way>| best.as_ref().map_or(f64::INFINITY, |way| way.cost);
        if state.form.reductions.is_empty() {
            if state.cost < bound(best) {
                *best = Some(state.way());
            }
            return;
        }
        let mut next: Vec<State> = Vec::new();
        for choice in state.choices() {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            let after = state.next(self.facts, self.seen, &choice);
            next.extend(after.into_iter().filter(|next| next.cost < bound(best)));
        }
        next.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        for next in next {
            let known = self.cheapest.entry(next.left()).or_insert(f64::INFINITY);
            if next.cost < *known && next.cost < bound(best) {
                *known = next.cost;
                self.below(next, best);
            }
        }
    }
}
