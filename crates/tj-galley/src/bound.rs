//! How many entries there are at most, whatever the data behind the statistics are.
//!
//! **Problem.** An estimate says what is likely. That a result fits, or that a format holds it, has to be certain.
//!
//! **Words.** The *region* of a node is a set of positions outside of which it has one value, which is its fill if it has one. A
//! *constraint* `(X -> Y, d)` of a region says that each assignment of the indices X occurs in it with at most `d` assignments of
//! the indices Y.
//!
//! **Idea.** Statistics of a tensor are such constraints: how many entries there are, how many coordinates of a dimension have
//! some, how many one coordinate has at most (`constraints`). Those of an operator follow from those of its arguments
//! (`propagate`): all of them hold where arguments decide by their fills; sums of them where none does. A reduction forgets
//! indices and keeps constraints, since a result differs from its fill only if something below it does. Then the number of entries is
//! at most the product along any composition of constraints that ends in the indices of the result (`chain`), at most what any
//! fractional cover of these indices by counts gives (`cover`), and tensors that share an index meet as often as the
//! products of their degrees come to (`stars`).
//!
//! **Invariants.** Every number here is an upper bound; what is not known is left out, which makes bounds greater and never
//! wrong. More constraints never make a bound greater. A size that the plan does not know is infinite, and so may be a bound.
//!
//! **Cost.** Bounds are for ways that were chosen, not for the search. Whole dimensions are looked at once for a tensor, and where
//! several counted tensors of some thousand coordinates meet.

mod chain;
mod constraints;
mod cover;
mod propagate;
mod stars;
#[cfg(test)]
mod tests;

use smallvec::SmallVec;
use tj_ir::Dim;
use tj_plan::derive::form::{Form, Kind, Leaf, bit};
use tj_plan::derive::{Elimination, Step};
use tj_plan::plan::Plan;
use tj_plan::sparse::StoredInput;
use tj_tensor::Scalar;

use constraints::{Counts, Region, product};

/// What is certain of the arguments of a plan.
pub struct Bounds {
    /// Of each argument that is stored by levels.
    counts: Vec<Option<Counts>>,
    stars: stars::Stars,
}

/// What is certain of the result of a step.
#[derive(Clone, Debug)]
pub struct Bound {
    entries: f64,
    ways: f64,
    /// Where it may differ from its fill; none if everywhere.
    region: Option<Region>,
}

impl Bound {
    /// At most so many elements differ from the fill; all of them do if there is none.
    pub fn entries(&self) -> f64 {
        self.entries
    }

    /// At most so many elements of what the step combines differ from the fill; all of them do if there is none.
    pub fn ways(&self) -> f64 {
        self.ways
    }
}

impl Bounds {
    /// Reads the statistics of arguments, which are kept with them.
    pub fn new(plan: &Plan, inputs: &[Option<StoredInput>]) -> Bounds {
        let of = |(at, stored): (usize, &Option<StoredInput>)| {
            stored.as_ref()?;
            Counts::of(plan.inputs[at].data.as_ref()?)
        };
        Bounds { counts: inputs.iter().enumerate().map(of).collect(), stars: stars::Stars::default() }
    }

    /// Of the step that was eliminated last from a form, if those before it have these bounds.
    pub fn step(&self, form: &Form, step: &Step, known: &[Bound]) -> Bound {
        let size = |index: u8| extent(&form.extents[usize::from(index)]);
        let all = step.indices();
        let kept = step.axes.iter().fold(0, |kept, &axis| kept | bit(axis));
        let region = self.region(form, step.body, known, &size);
        let sizes = |indices: &mut dyn Iterator<Item = &u8>| product(indices.map(|&index| size(index)));
        let most = |to| region.as_ref().map(|region| region.most(0, to, &size));
        let volume = sizes(&mut step.axes.iter().chain(&step.reduced));
        // What has no fill is combined everywhere.
        let is_filled = form.node(step.body).fill.is_some();
        let ways = most(all).filter(|_| is_filled).map_or(volume, |most| most.min(volume));
        let cells = sizes(&mut step.axes.iter());
        // Over nothing there is no entry, and yet the result may differ from its fill.
        let is_certain = |fill: &Scalar| {
            let empty = step.op.empty(fill.dtype());
            let is_neutral = empty.is_some_and(|empty| empty == *fill || is_zero(empty) && is_zero(*fill));
            is_neutral || step.reduced.iter().all(|&index| (1.0..f64::INFINITY).contains(&size(index)))
        };
        let fill = result_fill(form, known.len()).filter(is_certain);
        match region {
            Some(region) if fill.is_some() && !step.is_dense => {
                let region = region.projected(kept, &size);
                Bound { entries: region.most(0, kept, &size).min(cells), ways, region: Some(region) }
            }
            _ => Bound { entries: cells, ways, region: None },
        }
    }

    /// Of all steps of a way to compute a form; of those before the first one that is not possible.
    pub fn way(&self, form: &Form, steps: &[Elimination]) -> Vec<Bound> {
        let mut form = form.clone();
        let mut known: Vec<Bound> = Vec::new();
        for step in steps {
            let done = match step.reduced.as_slice() {
                [] => form.keep(&step.factors),
                reduced => form.eliminate(reduced),
            };
            let Some(done) = done.cloned() else { break };
            form.keep_in_order(&step.order);
            let done = Step { is_dense: step.is_dense, ..done };
            known.push(self.step(&form, &done, &known));
            if step.is_dense {
                form.keep_dense();
            }
        }
        known
    }
}

/// How far an index runs, at most.
fn extent(dim: &Dim) -> f64 {
    dim.is_const().or_else(|| dim.hint()).map_or(f64::INFINITY, |size| size.max(0) as f64)
}

/// The fill of what a step gave.
fn result_fill(form: &Form, step: usize) -> Option<Scalar> {
    let own = Leaf::Step(step as u32);
    let is_read = |kind: &Kind| matches!(kind, Kind::Read(leaf) if form.leaves[*leaf as usize] == own);
    form.nodes.iter().rev().find(|node| is_read(&node.kind))?.fill
}

fn is_zero(value: Scalar) -> bool {
    !value.dtype().is_complex() && value.to_f64() == 0.0
}

/// Few indices.
type Places = SmallVec<[u8; 6]>;
