//! Plans as a scheduler that reads data has them computed.

use std::fmt::Write as _;

use tj_plan::derive::{Decided, Rearranged, rearrange};
use tj_plan::sparse::{Entries, StoredInput};
use tj_plan::{Form, Plan, Scheduler, canonicalise, debug_verify};
use tj_tensor::Tensor;

use crate::error::Error;
use crate::observe::{Clock, Stage};

/// The plan that a scheduler makes of a canonical one, and what it says of its steps.
pub(crate) fn derived(
    plan: Plan,
    inputs: &[Option<StoredInput>],
    scheduler: &dyn Scheduler,
    clock: &mut Clock<'_>,
) -> Result<(Plan, Decided), Error> {
    if !scheduler.reads_data() {
        return Ok((plan, Decided::default()));
    }
    let derivation = scheduler.derive(&plan, inputs);
    let Rearranged { plan, decided } = rearrange(&plan, inputs, &derivation)
        .map_err(|cause| Error::Derivation { scheduler: scheduler.name().to_string(), cause })?;
    debug_verify("derive", &plan, Form::Traced);
    clock.done(Stage::Derive, &|| {
        let mut text = String::new();
        for reason in &derivation.reasons {
            let _ = writeln!(text, "because {reason}");
        }
        text + &plan.to_string()
    });
    Ok((plan, decided))
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
    Ok(canonicalise(&derived(plan, &[], scheduler, clock)?.0))
}

/// How arguments come, with how many entries they have, which is counted once for a tensor.
pub(crate) fn counted(plan: &Plan, inputs: Vec<Option<StoredInput>>) -> Vec<Option<StoredInput>> {
    let with = |(at, stored): (usize, Option<StoredInput>)| {
        let stored = stored?;
        let entries = plan.inputs[at].data.as_ref().map(|data| entries(data));
        Some(StoredInput { entries, ..stored })
    };
    inputs.into_iter().enumerate().map(with).collect()
}

fn entries(tensor: &Tensor) -> Entries {
    let count = tensor.stored_count() as f64;
    let present = |axis: usize| match tensor.degrees(axis) {
        Some(degrees) => degrees.iter().filter(|&&degree| degree > 0).count() as f64,
        None => (tensor.shape()[axis] as f64).min(count),
    };
    Entries { count, present: (0..tensor.rank()).map(present).collect() }
}

/// What is the same for data that a plan is made for once: how large the sizes are and how many entries there are, both up to
/// a factor of two.
pub(crate) fn statistics_word(tensor: &Tensor) -> u64 {
    let magnitude = |count: usize| u64::from(usize::BITS - count.leading_zeros());
    let sizes =
        tensor.shape().iter().fold(0_u64, |all, &size| all.wrapping_mul(67).wrapping_add(magnitude(size)));
    let entries = tensor.stored().map_or(0, |stored| magnitude(stored.leaf_positions()) + 1);
    sizes.wrapping_mul(67).wrapping_add(entries)
}
