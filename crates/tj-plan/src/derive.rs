//! Programs rearranged by algebra: which reductions are computed first, and what is kept of them.
//!
//! **Problem.** `sum(A @ B @ C)` says a value and not a way. Whether a program takes the entries of three matrices or all
//! products of two of them follows from which reduction is computed first, and from what is multiplied before that. The laws
//! that allow to choose (`a * sum(b) = sum(a * b)`, `a + min(b) = min(a + b)`, ...) are those of the algebra of its operators.
//!
//! **Idea.** A query, with everything written in that nobody else reads, becomes a [`Form`]: a tree of operators over reads
//! ([`form`]), with its reductions taken off, each pulled up as far as the laws let it (`read`). [`Form::eliminate`] takes
//! reductions at the lowest place that they can have, with the factors that they need there, and gives a query of its own: what
//! it was is then a read. When no reduction is left, the form is written down as queries (`write`). A scheduler says in which
//! order reductions are eliminated ([`Derivation`]); it searches by the same function that applies what it found, which checks
//! each step.
//!
//! **Invariants.** Every elimination is an equation of the algebra table (`laws`), but for the order in which floats are
//! combined. So a derivation can be slow, and never wrong; for floats it may round differently, which a scheduler must be
//! allowed to. What decides by its fill decides in every factorisation, since it is spelled out again for each product. A query
//! whose derivation is empty stays what it is, bit for bit.
//!
//! **Cost.** A form is a vector of small nodes; an elimination copies none of its expressions.

mod eliminate;
mod expand;
pub mod form;
mod laws;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

use tj_tensor::Scalar;

use crate::plan::{Plan, QueryId};
use crate::scheduler::Reason;
use crate::sparse::StoredInput;

pub use eliminate::Step;
pub use form::Form;
pub use laws::{fill_decides, fill_decision};
pub use read::{Roots, form_of, roots};

/// How sums of sums and products of sums are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// As they are written, and each reduction as far up as it goes.
    #[default]
    Written,
    /// As they are written, and each reduction where it is written.
    Still,
    /// A sum of several terms is several sums.
    Split,
    /// A product of sums is a sum of products, and then several sums. For floats that may cancel.
    Expanded,
}

/// How one query is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The query.
    pub query: QueryId,
    /// How its sums are taken.
    pub shape: Shape,
    /// Reductions in the order in which they are eliminated, by the numbers of indices in the form of that shape.
    pub steps: Vec<Elimination>,
}

/// One or several reductions, eliminated at once; or none, but some factors combined and kept, which leave terms out of all that
/// follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elimination {
    /// Their indices, outermost first.
    pub reduced: Vec<u8>,
    /// The factors that are kept if nothing is reduced, by their places in the form.
    pub factors: Vec<u32>,
    /// The indices in whose order axes are kept; others follow, ascending.
    pub order: Vec<u8>,
    /// Whether what is kept is dense, and decides nothing by what it is where nothing is stored: only where all that it meets is
    /// finite.
    pub is_dense: bool,
    /// How many entries its result is expected to have, if it is stored by levels and others follow.
    pub expected: Option<u64>,
}

/// What a scheduler makes of a plan; a query that is not in it is computed as it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derivation {
    /// In any order.
    pub queries: Vec<Derived>,
    /// The arguments that are stored by levels and are read as dense ones, without asking what their fills decide: only where
    /// all that they meet is finite.
    pub dense: Vec<u32>,
    /// Whether orders of loops follow from the sizes and counts of the data, which may round differently, and not from guesses
    /// for all of them.
    pub is_measured: bool,
    /// How many entries the results of queries are expected to have that are computed as they stand.
    pub expected: Vec<(QueryId, u64)>,
    /// Why, for `explain`.
    pub reasons: Vec<Reason>,
}

impl Derivation {
    /// Whether everything is computed as it stands.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty() && self.dense.is_empty()
    }
}

/// What a scheduler says of the steps of a plan.
#[derive(Clone, Debug, Default)]
pub struct Decided {
    /// Where queries are computed; all are free if it is empty.
    pub places: Vec<Place>,
    /// Whether orders of loops follow from the sizes and counts of the data.
    pub is_measured: bool,
    /// How many entries the results of queries are expected to have.
    pub expected: Vec<(QueryId, u64)>,
}

impl Decided {
    /// Where a query is computed.
    pub fn place(&self, query: QueryId) -> Place {
        self.places.get(query.index()).copied().unwrap_or_default()
    }
}

/// Where a query of a derived plan is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Where its readers find it best.
    #[default]
    Free,
    /// In a step of its own.
    Own,
    /// In a step of its own, whose result is dense.
    Dense,
    /// As a part of its reader.
    Within,
}

/// A derived plan.
#[derive(Clone, Debug)]
pub struct Rearranged {
    /// Queries in order.
    pub plan: Plan,
    /// Where each is computed, and by what.
    pub decided: Decided,
    /// How arguments come, without those that are read as dense ones.
    pub inputs: Vec<Option<StoredInput>>,
    /// Whether everything is computed as it stood.
    pub is_as_written: bool,
}

impl Rearranged {
    /// A plan as it stands, about which nobody decides.
    pub fn as_written(plan: Plan, inputs: &[Option<StoredInput>]) -> Rearranged {
        Rearranged { plan, decided: Decided::default(), inputs: inputs.to_vec(), is_as_written: true }
    }
}

/// A step that no law allows, or that names what does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllegalStep {
    /// Of which query.
    pub query: QueryId,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for IllegalStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "derivation of {}: {}", self.query, self.problem)
    }
}

impl std::error::Error for IllegalStep {}

/// Applies a derivation to a canonical plan. `inputs` says which arguments are stored by levels, and `is_finite` that every
/// element of every argument is finite.
///
/// # Errors
/// The first step that is not legal.
pub fn rearrange(
    plan: &Plan,
    inputs: &[Option<StoredInput>],
    derivation: &Derivation,
    is_finite: bool,
) -> Result<Rearranged, IllegalStep> {
    let roots = roots(plan);
    let inputs = without(inputs, &derivation.dense);
    let mut writer = write::Writer::new(plan, derivation.is_measured);
    for root in &roots.roots {
        let Some(derived) = derivation.queries.iter().find(|derived| derived.query == root.query) else {
            writer.keep(&root.queries, &derivation.expected);
            continue;
        };
        let illegal = |problem: &str| IllegalStep { query: root.query, problem: problem.to_string() };
        let form = form_of(plan, &fill_of(&inputs), &roots, root.query, derived.shape, &derivation.dense);
        let mut form = form.ok_or_else(|| illegal("has no form to derive from"))?;
        let is_any_dense = !derivation.dense.is_empty() || derived.steps.iter().any(|step| step.is_dense);
        if is_any_dense && !(is_finite && form.is_closed()) {
            return Err(illegal("is dense, and not all of it is known to be finite"));
        }
        for step in &derived.steps {
            let done = match step.reduced.as_slice() {
                [] => form.keep(&step.factors),
                reduced => form.eliminate(reduced),
            };
            done.ok_or_else(|| illegal(&format!("{step:?} is not possible now")))?;
            form.keep_in_order(&step.order);
            if step.is_dense {
                form.keep_dense();
            }
        }
        if !form.reductions.is_empty() {
            return Err(illegal("leaves reductions"));
        }
        writer.write(&form, root.query, &derived.steps);
    }
    Ok(Rearranged { inputs, is_as_written: derivation.is_empty(), ..writer.finish() })
}

/// How arguments come if some of them are read as dense ones.
pub fn without(inputs: &[Option<StoredInput>], dense: &[u32]) -> Vec<Option<StoredInput>> {
    let kept = inputs.iter().enumerate().map(
        |(at, input)| {
            if dense.contains(&(at as u32)) { None } else { input.clone() }
        },
    );
    kept.collect()
}

/// The static fill of what an input holds.
pub fn fill_of(inputs: &[Option<StoredInput>]) -> impl Fn(tj_ir::Source) -> Option<Scalar> {
    |source| match source {
        tj_ir::Source::Input(i) => inputs.get(i as usize)?.as_ref().map(|stored| stored.fill),
        tj_ir::Source::Def(_) => None,
    }
}
