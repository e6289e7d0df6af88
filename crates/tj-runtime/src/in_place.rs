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

use rustc_hash::{FxHashMap, FxHashSet};
use tj_ir::expr::Source;
use tj_kernel::in_place::Accesses;
use tj_kernel::{Access, Binding, Buf, Lowered};
use tj_memory::InPlace;
use tj_plan::Plan;

use crate::program::Slot;

/// Marks the buffers of kernels that run in this order. Inputs that are given away are named, or `owned`.
pub(crate) fn share_memory(kernels: &mut [Lowered], plan: &Plan, owned: &[bool]) {
    let kept: FxHashSet<Source> = plan.produces.0.iter().copied().collect();
    let mut last: FxHashMap<Binding, usize> = FxHashMap::default();
    let mut n_writers: FxHashMap<Binding, usize> = FxHashMap::default();
    for (number, lowered) in kernels.iter().enumerate() {
        for (&binding, buffer) in lowered.bindings.iter().zip(&lowered.kernel.buffers) {
            last.insert(binding, number);
            *n_writers.entry(binding).or_default() += usize::from(!buffer.access.is_read());
        }
    }
    for (number, lowered) in kernels.iter_mut().enumerate() {
        let gives = |binding: &Binding| match *binding {
            _ if last[binding] != number => None,
            Binding::Input(i) if kept.contains(&Source::Input(i)) => None,
            Binding::Input(i) => {
                let is_owned = owned.get(i as usize) == Some(&true);
                (is_owned || plan.inputs[i as usize].name.is_some()).then_some(Kind::Outside)
            }
            Binding::Query(q) => (!kept.contains(&Source::Def(q.0))).then_some(Kind::Temporary),
            Binding::Blocks(_) | Binding::Scratch => None,
        };
        let takes = |binding: &Binding| match *binding {
            // A call runs one or another of the kernels that write it, and what dies in the last may live in the first.
            _ if n_writers[binding] > 1 => None,
            Binding::Query(q) if kept.contains(&Source::Def(q.0)) => Some(Kind::Outside),
            Binding::Query(_) => Some(Kind::Temporary),
            Binding::Input(_) | Binding::Blocks(_) | Binding::Scratch => None,
        };
        for (read, written) in pairs(lowered, gives, takes) {
            lowered.kernel.buffers[read.index()].access = Access::InPlace(written);
        }
    }
}

/// What lives in the arena goes to what lives there, inputs to outputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Temporary,
    Outside,
}

/// What to mark in one kernel: pairs of a buffer that is read and one that is written. `gives` says what may be taken of a
/// buffer that this kernel is the last to need, `takes` what a buffer may be given.
fn pairs(
    lowered: &Lowered,
    gives: impl Fn(&Binding) -> Option<Kind>,
    takes: impl Fn(&Binding) -> Option<Kind>,
) -> Vec<(Buf, Buf)> {
    let kernel = &lowered.kernel;
    let buffers = |access: Access| {
        let all = (0..).map(Buf).zip(kernel.buffers.iter().zip(&lowered.bindings));
        all.filter(move |(_, (buffer, _))| buffer.access == access)
    };
    let mut accesses: Option<Accesses<'_>> = None;
    let mut pairs: Vec<(Buf, Buf)> = Vec::new();
    for (written, (to, binding)) in buffers(Access::Write) {
        let Some(wanted) = takes(binding) else { continue };
        for (read, (from, donor)) in buffers(Access::Read) {
            let fits = gives(donor) == Some(wanted)
                && from.len == to.len
                && from.dtype.size() == to.dtype.size()
                && pairs.iter().all(|&(taken, _)| taken != read);
            if fits && accesses.get_or_insert_with(|| Accesses::new(kernel)).proves(read, written) {
                pairs.push((read, written));
                if wanted == Kind::Temporary {
                    break;
                }
            }
        }
    }
    pairs
}

/// What the kernels say of buffers that are read in place of others: intervals of the arena that follow each other in one
/// memory, and inputs whose memory an output may take over.
pub(crate) fn shared_memory(kernels: &[Lowered], slots: &[Vec<Slot>]) -> (Vec<InPlace>, Vec<(usize, usize)>) {
    let (mut in_place, mut donations) = (Vec::new(), Vec::new());
    for (lowered, slots) in kernels.iter().zip(slots) {
        for (buffer, slot) in lowered.kernel.buffers.iter().zip(slots) {
            let Access::InPlace(written) = buffer.access else { continue };
            match (*slot, slots[written.index()]) {
                (Slot::Temporary(input), Slot::Temporary(output)) => in_place.push(InPlace { input, output }),
                (Slot::Input(input), Slot::Output(output)) => donations.push((input, output)),
                (Slot::Input(_) | Slot::Output(_) | Slot::Temporary(_) | Slot::Scratch(_), _) => {}
            }
        }
    }
    (in_place, donations)
}
