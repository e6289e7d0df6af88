//! Marks which buffers are read in place of written ones.
//!
//! Needs the order of kernels, since memory may be taken over from what nobody reads any more; gives kernels whose
//! buffers say so, which is what code is made from and what the plan of memory follows. Two cases:
//!
//! * a temporary in the memory of a temporary that this kernel is the last to read: each gives and takes once;
//! * an output in the memory of an input that this kernel is the last to read: every such input is marked, and a call that
//!   is given one of them for good writes the output there. In other calls both have memory of their own.
//!
//! Whether it is safe inside of the kernel is proved by `tj_kernel::in_place`, and again by the verifier. What a kernel reads
//! of a temporary or an output it has written before, so that their contents at its start do not matter.

use rustc_hash::FxHashMap;
use tj_ir::expr::Source;
use tj_kernel::in_place::Accesses;
use tj_kernel::{Access, Binding, Buf, Lowered};
use tj_plan::{Plan, QueryId};

/// Marks the buffers of kernels that run in this order.
pub(crate) fn share_memory(kernels: &mut [Lowered], plan: &Plan) {
    let mut last: FxHashMap<Binding, usize> = FxHashMap::default();
    for (number, lowered) in kernels.iter().enumerate() {
        last.extend(lowered.bindings.iter().map(|&binding| (binding, number)));
    }
    for (number, lowered) in kernels.iter_mut().enumerate() {
        let dies = |binding: &Binding| last[binding] == number && !is_kept(plan, binding);
        for (read, written) in pairs(plan, lowered, dies) {
            lowered.kernel.buffers[read.index()].access = Access::InPlace(written);
        }
    }
}

/// Whether the memory of a binding is needed after the last kernel, or is not the program's to give.
fn is_kept(plan: &Plan, binding: &Binding) -> bool {
    match *binding {
        Binding::Input(i) => {
            plan.produces.0.contains(&Source::Input(i)) || plan.inputs[i as usize].name.is_none()
        }
        Binding::Query(q) => is_output(plan, q),
        Binding::Scratch => true,
    }
}

fn is_output(plan: &Plan, query: QueryId) -> bool {
    plan.produces.0.contains(&Source::Def(query.0))
}

/// What to mark in one kernel: pairs of a buffer that is read and one that is written.
fn pairs(plan: &Plan, lowered: &Lowered, dies: impl Fn(&Binding) -> bool) -> Vec<(Buf, Buf)> {
    let kernel = &lowered.kernel;
    let buffers = || (0..).map(Buf).zip(kernel.buffers.iter().zip(&lowered.bindings));
    let mut accesses: Option<Accesses<'_>> = None;
    let mut pairs: Vec<(Buf, Buf)> = Vec::new();
    for (written, (to, binding)) in buffers() {
        let (Access::Write, &Binding::Query(query)) = (to.access, binding) else { continue };
        let to_output = is_output(plan, query);
        for (read, (from, donor)) in buffers() {
            let is_right_kind = match donor {
                Binding::Input(_) => to_output,
                Binding::Query(_) => !to_output,
                Binding::Scratch => false,
            };
            let fits = from.access == Access::Read
                && is_right_kind
                && dies(donor)
                && from.len == to.len
                && from.dtype.size() == to.dtype.size()
                && pairs.iter().all(|&(taken, _)| taken != read);
            if fits && accesses.get_or_insert_with(|| Accesses::new(kernel)).proves(read, written) {
                pairs.push((read, written));
                if !to_output {
                    break;
                }
            }
        }
    }
    pairs
}
