//! What is decided again while a chain runs.
//!
//! **Problem.** A scheduler that reads data expects how many entries intermediate results have. Entries that are arranged in
//! blocks, or that avoid each other, are many times fewer or more than their counts say, and what was decided for the steps
//! after that may be wrong by as much.
//!
//! **Idea.** A chain remembers what was expected of its steps, and the plan. Where a result has four times as many entries as
//! expected, or a quarter, and what is left takes long enough to be worth it, what is left is a plan of its own, whose arguments
//! are there: it is derived anew, factorisation included, and runs instead. What came of that is kept with the chain for results
//! of that size, so that it is decided once; often it is that nothing changes. Its code and memory are part of the chain's.
//!
//! **Invariants.** Values do not depend on it, but for the order in which floats are combined, where the scheduler may choose that.
//! Nothing is decided again for arguments that are given for good and may have been written to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use tj_plan::sparse::steps::Step;
use tj_plan::{Form, Left, Plan, QueryId, Scheduler, Surprise, canonicalise, debug_verify, rest};
use tj_tensor::{Scalar, Tensor};

use super::Chain;
use super::compile::{Sparse, compile_rearranged, rearranged};
use crate::derive::{counted, statistics_words};
use crate::error::Error;
use crate::observe::{Clock, Silent};
use crate::options::CompileOptions;
use crate::report::Kept;

/// Plans for what is left that are kept for each step; the one that was used least recently goes first.
const KEPT: usize = 4;

/// Who decides again.
#[derive(Clone, Copy)]
pub(crate) struct Decider<'d> {
    pub scheduler: &'d dyn Scheduler,
    pub options: &'d CompileOptions,
}

/// What is needed to decide again about what is left of a chain.
#[derive(Debug)]
pub(crate) struct Rest {
    /// Without data, and without guards.
    plan: Plan,
    fills: Vec<Option<Scalar>>,
    expected: Vec<Expected>,
    /// The one used last comes last.
    decided: Mutex<Vec<DecidedAgain>>,
}

/// What runs instead of later steps.
#[derive(Debug)]
pub(crate) struct Instead {
    pub chain: Chain,
    /// Its arguments: those of the chain before by their places, and after these what that has computed.
    pub takes: Vec<usize>,
}

/// What is expected of the result of a query.
#[derive(Debug)]
struct Expected {
    query: QueryId,
    entries: u64,
    /// What all later steps take, in rounds of loops.
    left: u64,
}

/// What was decided after a step, for results of some sizes.
#[derive(Debug)]
struct DecidedAgain {
    after: QueryId,
    words: Words,
    /// None if it is what was decided before.
    instead: Option<Arc<Instead>>,
}

/// Of all that what is left reads, what its plan and its code depend on: magnitudes, whether all is finite if that is asked, and how
/// intermediate results are stored.
type Words = SmallVec<[u64; 8]>;

impl Rest {
    /// Of a plan that is cut into steps; none if nothing is expected of them that could be wrong.
    pub fn of(plan: &Plan, steps: &[Step], fills: &[Option<Scalar>], owned: &[bool]) -> Option<Rest> {
        let mut left = 0.0;
        let mut expected = Vec::new();
        for step in steps.iter().rev() {
            if let (Some(entries), [query]) = (step.expected, step.gives.as_slice()) {
                expected.push(Expected { query: *query, entries, left: left as u64 });
            }
            left += step.cost();
        }
        if owned.contains(&true) || expected.iter().all(|expected| expected.left == 0) {
            return None;
        }
        let mut plan = Plan { guards: Vec::new(), ..plan.clone() };
        plan.inputs.iter_mut().for_each(|input| input.data = None);
        Some(Rest { plan, fills: fills.to_vec(), expected, decided: Mutex::default() })
    }

    fn expected(&self, query: QueryId) -> Option<&Expected> {
        self.expected.iter().find(|expected| expected.query == query && expected.left > 0)
    }

    /// What was expected of a query and what was found; none if nothing was expected.
    pub fn kept(&self, query: QueryId, found: &Tensor) -> Option<Kept> {
        let expected = self.expected(query)?;
        found.stored()?;
        Some(Kept {
            step: self.plan.query(query).to_string(),
            expected: expected.entries,
            found: found.stored_count() as u64,
        })
    }

    /// Whether that is so far from what was expected that it is worth to decide again.
    pub fn surprises(&self, query: QueryId, kept: &Kept, surprise: Surprise) -> bool {
        let (expected, found) = (kept.expected.max(1), kept.found.max(1));
        let (less, more) = (expected.min(found), expected.max(found));
        let left = self.expected(query).map_or(0, |expected| expected.left);
        let left = if found > expected { left.saturating_mul(found / expected) } else { left };
        more > surprise.times.saturating_mul(less) && more >= surprise.entries && left >= surprise.left
    }

    /// What runs instead of the steps after `query`, if these are not as good, and whether that was decided just now.
    ///
    /// # Errors
    /// What a scheduler or a back end refuses.
    pub fn after(
        &self,
        query: QueryId,
        arguments: &[Tensor],
        computed: &[(QueryId, Tensor)],
        decider: Decider<'_>,
    ) -> Result<(Option<Arc<Instead>>, bool), Error> {
        let results = computed.iter().map(|(_, tensor)| tensor);
        let all: SmallVec<[&Tensor; 8]> = arguments.iter().chain(results.clone()).collect();
        let mut words = statistics_words(&all, decider.scheduler);
        words.extend(results.map(super::storage_word));
        let find = |decided: &mut [DecidedAgain]| {
            let at = decided.iter().position(|known| known.after == query && known.words == words)?;
            decided[at..].rotate_left(1);
            decided.last().map(|known| known.instead.clone())
        };
        if let Some(instead) = find(&mut self.decided()) {
            return Ok((instead, false));
        }
        let instead = self.decide(arguments, computed, decider)?.map(Arc::new);
        let mut decided = self.decided();
        // Another thread may have decided meanwhile.
        if let Some(instead) = find(&mut decided) {
            return Ok((instead, false));
        }
        let mut others = decided.iter().enumerate().filter(|(_, known)| known.after == query);
        let (oldest, count) = (others.next().map(|(at, _)| at), others.count());
        let dropped = oldest.filter(|_| count + 1 >= KEPT).map(|at| decided.remove(at));
        decided.push(DecidedAgain { after: query, words, instead: instead.clone() });
        drop(decided);
        drop(dropped);
        Ok((instead, true))
    }

    /// All chains that were decided on so far.
    pub fn chains(&self) -> Vec<Arc<Instead>> {
        self.decided().iter().filter_map(|known| known.instead.clone()).collect()
    }

    fn decided(&self) -> MutexGuard<'_, Vec<DecidedAgain>> {
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(
        &self,
        arguments: &[Tensor],
        computed: &[(QueryId, Tensor)],
        decider: Decider<'_>,
    ) -> Result<Option<Instead>, Error> {
        let Decider { scheduler, options } = decider;
        let Left { plan, takes } = rest(&self.plan, arguments, computed);
        let plan = canonicalise(&plan);
        debug_verify("what is left", &plan, Form::Canonical);
        let stored = plan.inputs.iter().map(|input| super::stored_input(input.data.as_ref()?));
        let inputs = counted(&plan, stored.collect());
        let owned = vec![false; plan.inputs.len()];
        let sparse = Sparse { inputs: &inputs, owned: &owned, fills: &self.fills };
        let mut silent = Silent;
        let mut clock = Clock::new(&mut silent);
        let apart = rearranged(plan, sparse, scheduler, &mut clock)?;
        if apart.rearranged.is_as_written {
            return Ok(None);
        }
        let chain = compile_rearranged(apart, sparse, options, scheduler, &mut clock)?;
        Ok(Some(Instead { chain, takes }))
    }
}
