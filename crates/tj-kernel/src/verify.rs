//! Checks that a kernel keeps the rules of the language, and that its accesses stay inside its buffers.
//!
//! A back end trusts what passes here: it looks nothing up, tests nothing and never refuses. The rules:
//!
//! | rule | says |
//! |---|---|
//! | [`Rule::Name`] | the name is a C identifier |
//! | [`Rule::Id`] | every value, variable, buffer, size and parameter that is mentioned is in its table |
//! | [`Rule::Definition`] | every value is defined once, by the kind of statement its operation belongs to; every variable is declared once; the task values are the two ends of the task range |
//! | [`Rule::Scope`] | values and variables are used after their definition, in the block that has it or inside it |
//! | [`Rule::Type`] | operands have the types their operation is defined on (the table of [`arith`]), indices and loop bounds are `i64`, conditions `bool`, stored and assigned values have the type of their place; nothing is complex |
//! | [`Rule::Nesting`] | blocks nest at most [`MAX_NESTING`] deep, so that back ends may recurse over them |
//! | [`Rule::Lanes`] | lanes loops do not nest and have 1 to [`MAX_LANES`] lanes; a lane variable is declared outside lanes loops, used inside loops of exactly its width, set and folded outside; folded widths are powers of two; a plain variable from outside a lanes loop is not assigned inside it; there is no `Gemm` inside |
//! | [`Rule::Uniform`] | loop bounds and conditions inside a lanes loop are the same for all lanes |
//! | [`Rule::Access`] | nothing stores to a `Read` buffer; the result of a `Gemm` is neither of its factors; the grid is cut at positive multiples; an `InPlace` buffer names a written one of its length and width |
//! | [`Rule::InPlace`] | [`in_place`](crate::in_place) proves that an `InPlace` buffer and the one it names may be one memory |
//! | [`Rule::Call`] | there is one call at most; it stands outside of all other statements, takes and gives what its function says, reads buffers that are only read and writes different ones that are not; its extents are sizes, and multiply to the lengths of its buffers, those of its rows to the number of tasks |
//! | [`Rule::Bounds`] | every access is proved inside its buffer, or has a [`BoundGuard`] |
//!
//! Findings are collected, not repaired; those that take proofs are looked at once everything else holds. The interpreter asks
//! for the same rules, but for those that take proofs, before it runs.
//!
//! # Bounds
//!
//! Every `i64` value is derived again as a size expression over the program's symbols and one index for each loop,
//! task end and clamped value (`bounds.rs`). What is proved for all sizes costs nothing at run time; what depends on
//! the sizes becomes a guard, which the runtime evaluates once at bind; what no expression describes, such as a
//! loaded index that nobody clamped, is a finding.

mod bounds;
mod calls;
mod form;
mod uniform;

use std::fmt;

use tj_ir::dim::{Dim, DimError, Symbol};

use crate::in_place::Accesses;
use crate::ir::{Access, Buf, Buffer, Kernel};
#[cfg(doc)]
use crate::{
    arith,
    ir::{MAX_LANES, MAX_NESTING},
};

/// A rule of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The kernel's name.
    Name,
    /// Ids are in range.
    Id,
    /// One definition each.
    Definition,
    /// Use after definition, inside its block.
    Scope,
    /// Types of operands.
    Type,
    /// Depth of blocks.
    Nesting,
    /// Lanes loops and lane variables.
    Lanes,
    /// Control flow inside lanes loops.
    Uniform,
    /// What may be done with a buffer.
    Access,
    /// Reading in place of a written buffer.
    InPlace,
    /// Functions of whole tensors.
    Call,
    /// Indices are inside buffers.
    Bounds,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the kernel.
    pub kernel: String,
    /// Which rule.
    pub rule: Rule,
    /// What breaks it, with ids as in the kernel's text.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}: {} ({:?})", self.kernel, self.what, self.rule)
    }
}

impl std::error::Error for Finding {}

/// A condition on sizes under which an access stays inside its buffer.
///
/// The access happens only if every loop around it has an iteration and every condition around it can hold, so that
/// the guard asks for nothing unless all of `enclosing` are positive. Then it asks for `0 <= low` and `high < len`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoundGuard {
    /// Name of the kernel.
    pub kernel: String,
    /// Name of the buffer.
    pub buffer: String,
    /// The least index, over all iterations.
    pub low: Dim,
    /// The greatest index, over all iterations.
    pub high: Dim,
    /// The number of elements.
    pub len: Dim,
    /// What must be positive for the access to happen: the greatest extents of the loops around it, outermost
    /// first, starting with the number of tasks, and conditions in the same form.
    pub enclosing: Vec<Dim>,
}

impl BoundGuard {
    /// Evaluates the guard for the sizes of a call. Fails if a symbol has no value or a value does not fit `i64`.
    pub fn holds(&self, values: &dyn Fn(&Symbol) -> Option<i64>) -> Result<bool, DimError> {
        for extent in &self.enclosing {
            if extent.eval(values)? <= 0 {
                return Ok(true);
            }
        }
        Ok(0 <= self.low.eval(values)? && self.high.eval(values)? < self.len.eval(values)?)
    }
}

impl fmt::Display for BoundGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BoundGuard { kernel, buffer, low, high, len, enclosing } = self;
        write!(f, "kernel {kernel}: {low}..={high} of buffer {buffer} inside 0..{len}")?;
        for (n, extent) in enclosing.iter().enumerate() {
            write!(f, "{} {extent} > 0", if n == 0 { " if" } else { " and" })?;
        }
        Ok(())
    }
}

/// Checks every rule; gives the guards that remain to be evaluated at bind, or everything that is wrong.
///
/// ```
/// let kernel: tj_kernel::Kernel = "
///     kernel shift(grid N cut 1 cost 1) {
///       buffer @0 x: f32[N + K] read
///       buffer @1 y: f32[N] write
///       size #0 = K
///       task %0..%1
///       %0: i64 = task lo
///       %1: i64 = task hi
///       %2: i64 = size #0
///       for lanes(32) %3 in %0..%1 {
///         %4: i64 = add %3, %2
///         %5: f32 = load @0[%4]
///         store @1[%4] = %5
///       }
///     }".parse()?;
/// let guards = tj_kernel::verify(&kernel).unwrap();
/// assert_eq!(guards.len(), 1); // the load is proved, the store is not
/// assert_eq!(guards[0].to_string(), "kernel shift: K..=K + N - 1 of buffer y inside 0..N if N > 0");
/// # Ok::<(), tj_kernel::ParseError>(())
/// ```
pub fn verify(kernel: &Kernel) -> Result<Vec<BoundGuard>, Vec<Finding>> {
    let findings = check_form(kernel);
    if !findings.is_empty() {
        return Err(findings);
    }
    let findings = check_in_place(kernel);
    if !findings.is_empty() {
        return Err(findings);
    }
    let findings = calls::check(kernel);
    if !findings.is_empty() {
        return Err(findings);
    }
    bounds::check(kernel)
}

/// Checks [`Rule::InPlace`].
fn check_in_place(kernel: &Kernel) -> Vec<Finding> {
    let marked = |(id, buffer): (usize, &Buffer)| match buffer.access {
        Access::InPlace(written) => Some((Buf(id as u32), written)),
        Access::Read | Access::Write | Access::Scratch => None,
    };
    let mut marked = kernel.buffers.iter().enumerate().filter_map(marked).peekable();
    if marked.peek().is_none() {
        return Vec::new();
    }
    let accesses = Accesses::new(kernel);
    let unproved = marked.filter(|&(read, written)| !accesses.proves(read, written));
    let what = |(read, written)| format!("{read} may not be read in place of {written}");
    unproved.map(|pair| Finding::new(kernel, Rule::InPlace, what(pair))).collect()
}

/// Checks every rule that takes no proof.
pub(crate) fn check_form(kernel: &Kernel) -> Vec<Finding> {
    let mut findings = form::check(kernel);
    // Uniformity follows definitions, so it needs them to be there.
    if findings.is_empty() {
        uniform::check(kernel, &mut findings);
    }
    findings
}

impl Finding {
    fn new(kernel: &Kernel, rule: Rule, what: String) -> Finding {
        Finding { kernel: kernel.name.clone(), rule, what }
    }
}

#[cfg(test)]
mod tests;
