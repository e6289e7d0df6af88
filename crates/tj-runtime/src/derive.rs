//! Plans as a scheduler that reads data has them computed.

use std::fmt::Write as _;

use smallvec::SmallVec;
use tj_ir::InputDecl;
use tj_plan::derive::{Rearranged, rearrange};
use tj_plan::sparse::{Entries, StoredInput};
use tj_plan::{Form, Plan, Scheduler, canonicalise, debug_verify};
use tj_tensor::Tensor;

use crate::error::Error;
use crate::observe::{Clock, Stage};

/// The plan that a scheduler makes of a canonical one, and what it says of its steps and arguments.
pub(crate) fn derived(
    plan: Plan,
    inputs: &[Option<StoredInput>],
    scheduler: &dyn Scheduler,
    clock: &mut Clock<'_>,
) -> Result<Rearranged, Error> {
    if !scheduler.reads_data() {
        return Ok(Rearranged::as_written(plan, inputs));
    }
    let derivation = scheduler.derive(&plan, inputs);
    let is_dense = !derivation.dense.is_empty()
        || derivation.queries.iter().any(|query| query.steps.iter().any(|step| step.is_dense));
    let is_finite = |input: &InputDecl| input.data.as_ref().is_some_and(Tensor::is_finite);
    let is_finite = is_dense && plan.inputs.iter().all(is_finite);
    let rearranged = rearrange(&plan, inputs, &derivation, is_finite)
        .map_err(|cause| Error::Derivation { scheduler: scheduler.name().to_string(), cause })?;
    debug_verify("derive", &rearranged.plan, Form::Traced);
    clock.done(Stage::Derive, &|| {
        let mut text = String::new();
        for reason in &derivation.reasons {
            let _ = writeln!(text, "because {reason}");
        }
        text + &rearranged.plan.to_string()
    });
    Ok(rearranged)
}

/// The plan that a scheduler makes of a canonical one whose arguments are dense; it is canonical, too.
pub(crate) fn derived_dense(
    plan: Plan,
    scheduler: &dyn Scheduler,
    clock: &mut Clock<'_>,
) -> Result<Plan, Error> {
    if !scheduler.reads_data() {
        return Ok(plan);
    }
    Ok(canonicalise(&derived(plan, &[], scheduler, clock)?.plan))
}

/// How arguments come, with how many entries they have, which is counted once for a tensor.
pub(crate) fn counted(plan: &Plan, inputs: Vec<Option<StoredInput>>) -> Vec<Option<StoredInput>> {
    let with = |(at, stored): (usize, Option<StoredInput>)| {
        let stored = stored?;
        let entries = plan.inputs[at].data.as_ref().map(entries);
        Some(StoredInput { entries, ..stored })
    };
    inputs.into_iter().enumerate().map(with).collect()
}

fn entries(tensor: &Tensor) -> Entries {
    let count = tensor.stored_count() as f64;
    let present = |axis: usize| match tensor.degree_summary(axis) {
        Some(degrees) => degrees.present as f64,
        None => (tensor.shape()[axis] as f64).min(count),
    };
    Entries { count, present: (0..tensor.rank()).map(present).collect() }
}

/// What is the same for data that a plan is made for once: how large the sizes are and how many entries there are, both up to
/// a factor of two, and whether all of it is finite, if that may be asked for.
pub(crate) fn statistics_words(tensors: &[&Tensor], scheduler: &dyn Scheduler) -> SmallVec<[u64; 8]> {
    let magnitude = |count: usize| u64::from(usize::BITS - count.leading_zeros());
    let asks = scheduler.asks_for_finite(tensors);
    let word = |tensor: &&Tensor| {
        let mut word = u64::from(asks && tensor.dtype().is_float() && tensor.is_finite());
        let entries = tensor.stored().map_or(0, |stored| magnitude(stored.leaf_positions()) + 1);
        for part in tensor.shape().iter().map(|&size| magnitude(size)).chain([entries]) {
            word = word.wrapping_mul(67).wrapping_add(part);
        }
        word
    };
    tensors.iter().map(word).collect()
}
