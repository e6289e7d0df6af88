//! What runs cost.

use std::sync::Arc;
use std::time::Duration;

use crate::program::{Bound, Program};

/// Counts and bytes of one call, or of all calls of a graph.
///
/// Bytes are of one call; in the report of a graph they are those of its last call. Counts add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Bytes of all arguments.
    pub input_bytes: u64,
    /// Bytes of the arena in which temporaries lived.
    pub temporary_bytes: u64,
    /// Bytes that temporaries would have taken without sharing memory.
    pub unreused_temporary_bytes: u64,
    /// Bytes of all results.
    pub output_bytes: u64,
    /// Everything together.
    pub peak_bytes: u64,
    /// What no placement of the temporaries can go below.
    pub bound_bytes: u64,
    /// Blocks of memory that had to be allocated.
    pub allocations: u64,
    /// Values of the size symbols, in the order of the program.
    pub bindings: Vec<(String, i64)>,
    /// Kernels that ran.
    pub kernels: u64,
    /// Calls that succeeded.
    pub calls: u64,
    /// Times that code was compiled.
    pub compilations: u64,
    /// Copies of arguments that were not row-major.
    pub copied_inputs: u64,
    /// Arguments given away whose memory an output has taken over.
    pub donated_inputs: u64,
    /// Work of kernels that were interpreted; `None` if one ran otherwise. It is the number of loop bodies started, which are
    /// elements computed, steps along lists and cells initialised, and of multiplications inside of dense products. Loops in
    /// lanes count elements. What functions of whole tensors and conversions of arguments do is not in it.
    pub work: Option<u64>,
    /// Kernels in the order in which they ran, and how long each took; empty for calls that do not ask for it.
    pub kernel_times: Vec<(String, Duration)>,
    /// How many entries a scheduler that reads data expected of intermediate results, and how many there were.
    pub kept: Vec<Kept>,
    /// How often what was left of a program was decided again while it ran, because of these.
    pub decided_again: u64,
}

/// An intermediate result that is stored by levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The operator, and the line that asked for it.
    pub step: String,
    /// The entries that were expected.
    pub expected: u64,
    /// The entries that there were.
    pub found: u64,
}

impl RunReport {
    /// The report of a call whose next stage has this one: counts add up, and bytes are those of the stage that takes most.
    pub(crate) fn and_then(mut self, next: RunReport) -> RunReport {
        self.bindings.extend(next.bindings);
        self.kernel_times.extend(next.kernel_times);
        self.kept.extend(next.kept);
        RunReport {
            input_bytes: self.input_bytes.max(next.input_bytes),
            temporary_bytes: self.temporary_bytes.max(next.temporary_bytes),
            unreused_temporary_bytes: self.unreused_temporary_bytes.max(next.unreused_temporary_bytes),
            output_bytes: self.output_bytes.max(next.output_bytes),
            peak_bytes: self.peak_bytes.max(next.peak_bytes),
            bound_bytes: self.bound_bytes.max(next.bound_bytes),
            allocations: self.allocations + next.allocations,
            bindings: self.bindings,
            kernel_times: self.kernel_times,
            kept: self.kept,
            decided_again: self.decided_again + next.decided_again,
            kernels: self.kernels + next.kernels,
            calls: self.calls,
            compilations: self.compilations + next.compilations,
            copied_inputs: self.copied_inputs + next.copied_inputs,
            donated_inputs: self.donated_inputs + next.donated_inputs,
            work: self.work.zip(next.work).map(|(own, next)| own + next),
        }
    }

    /// The report of calls, and of one more that took as much.
    pub(crate) fn and_call(self, next: RunReport) -> RunReport {
        let work = match (self.calls, self.work) {
            (0, _) => next.work,
            (_, own) => own.zip(next.work).map(|(own, next)| own + next),
        };
        RunReport {
            allocations: self.allocations + next.allocations,
            kernels: self.kernels + next.kernels,
            calls: self.calls + next.calls,
            copied_inputs: self.copied_inputs + next.copied_inputs,
            donated_inputs: self.donated_inputs + next.donated_inputs,
            work,
            ..next
        }
    }
}

/// What one call cost, short of a report: most calls are never asked for one.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub bound: Arc<Bound>,
    pub allocations: u64,
    pub copied_inputs: u64,
    pub copied_bytes: u64,
    pub donated_inputs: u64,
    /// Bytes that are those of an input and of an output.
    pub donated_bytes: u64,
    /// Work of its kernels, if they were interpreted.
    pub work: Option<u64>,
}

impl Cost {
    /// Kernels that ran: some have nothing to do for some sizes.
    fn kernels(&self) -> u64 {
        self.bound.kernels.iter().filter(|kernel| kernel.extent > 0).count() as u64
    }

    /// The report of the call.
    pub fn report(&self, program: &Program) -> RunReport {
        let bound = &self.bound;
        let symbols = program.binder.symbols().iter().zip(&bound.values);
        RunReport {
            input_bytes: bound.input_bytes,
            temporary_bytes: bound.arena_bytes,
            unreused_temporary_bytes: bound.unreused_bytes,
            output_bytes: bound.output_bytes,
            peak_bytes: bound.input_bytes + bound.output_bytes + bound.arena_bytes + self.copied_bytes
                - self.donated_bytes,
            bound_bytes: bound.bound_bytes,
            allocations: self.allocations,
            bindings: symbols.map(|(symbol, &value)| (symbol.to_string(), value)).collect(),
            kernels: self.kernels(),
            calls: 1,
            compilations: 1,
            copied_inputs: self.copied_inputs,
            donated_inputs: self.donated_inputs,
            work: self.work,
            kept: Vec::new(),
            decided_again: 0,
            kernel_times: Vec::new(),
        }
    }
}

/// What all calls of a graph cost.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    calls: u64,
    kernels: u64,
    allocations: u64,
    copied_inputs: u64,
    donated_inputs: u64,
    work: u64,
    last: Option<Cost>,
}

impl Totals {
    /// Adds a call; gives back what the one before held.
    pub fn add(&mut self, cost: Cost) -> Option<Cost> {
        self.calls += 1;
        self.kernels += cost.kernels();
        self.allocations += cost.allocations;
        self.copied_inputs += cost.copied_inputs;
        self.donated_inputs += cost.donated_inputs;
        self.work += cost.work.unwrap_or(0);
        self.last.replace(cost)
    }

    /// The report of all calls.
    pub fn report(&self, program: &Program) -> RunReport {
        let last = self.last.as_ref().map_or_else(RunReport::default, |cost| cost.report(program));
        RunReport {
            allocations: self.allocations,
            kernels: self.kernels,
            calls: self.calls,
            compilations: 1,
            copied_inputs: self.copied_inputs,
            donated_inputs: self.donated_inputs,
            work: last.work.map(|_| self.work),
            ..last
        }
    }
}
