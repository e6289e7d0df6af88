//! What runs cost.

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
}

impl RunReport {
    /// Adds the report of one more call.
    pub(crate) fn add(&mut self, call: &RunReport) {
        let before = std::mem::replace(self, call.clone());
        self.allocations += before.allocations;
        self.kernels += before.kernels;
        self.calls += before.calls;
        self.copied_inputs += before.copied_inputs;
        self.compilations = before.compilations.max(call.compilations);
    }
}
