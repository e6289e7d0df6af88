//! Checks that a plan keeps the rules of its form. It reports everything that is wrong and repairs nothing.
//!
//! In every form:
//!
//! | rule | says |
//! |---|---|
//! | [`Rule::Id`] | expressions, inputs, queries and numbers that are mentioned exist |
//! | [`Rule::Order`] | a query reads inputs and earlier queries only |
//! | [`Rule::Type`] | operators have as many arguments as their row of the operator table says, of the dtype that it says, and give the dtype it says; reads, numbers, sizes, reductions and queries have the dtype of what they stand for; what `filled` says is a constant |
//! | [`Rule::Rank`] | a read has one index expression for each axis of its source |
//! | [`Rule::Index`] | indices are `i0 .. i(r-1)` in a query of rank r, and `i(r)` inside of its reduction; shapes, extents and guards have none |
//! | [`Rule::Size`] | sizes are declared in `symbols` with the same bounds, each once, and none overflowed |
//! | [`Rule::Reduction`] | a reduction stands at the root of a query and runs over `i(r)`; a contraction is the sum of a product of two |
//! | [`Rule::Call`] | a function of whole tensors stands at the root of a query, has as many arguments and results as it says, and gives the rows of its arguments and the sizes that follow from them |
//! | [`Rule::Name`] | no two inputs have one name |
//! | [`Rule::Bounds`] | no read is outside of its source whatever the sizes are |
//!
//! In canonical form moreover:
//!
//! | rule | says |
//! |---|---|
//! | [`Rule::Move`] | a query that only moves elements is an output, is read by a function of whole tensors, or its index map is more than a renaming of axes, so that composing it may have been too heavy; it is not a plain copy |
//! | [`Rule::Dead`] | what is asked for depends on every query |
//! | [`Rule::Equal`] | no two queries have the same shape and expression |
//!
//! In fused form, instead of these three:
//!
//! | rule | says |
//! |---|---|
//! | [`Rule::Group`] | every query is in exactly one group; it reads queries of earlier groups, and earlier ones of its own at the same outer position; queries of a group agree in their outer sizes, of which there is one at least unless all are scalars, and all but the last axis if a dense contraction heads the group; the results of a call of a function of whole tensors are with each other only, at any outer position; `local` says what nothing outside needs |
//!
//! Reads are proved to be inside of their source from the ranges of indices and the recorded guards (`bounds.rs`).
//! What can be neither proved nor refuted is no finding: it is returned, as [`Unproven`]. Kernels are proved again
//! from their own text, with guards that are checked when sizes are known.

mod bounds;
mod expressions;
mod groups;

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use tj_ir::expr::Source;
use tj_ir::{Condition, Dim, Expr, Symbol, shape_text};

use crate::canonicalise::weight;
use crate::fuse::Fused;
use crate::plan::{Plan, QueryId};
use crate::substitute::is_identity;

/// Which rules a plan must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// One query an operator.
    Traced,
    /// No moves, no dead queries, no equal ones.
    Canonical,
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Ids are in range.
    Id,
    /// Queries read earlier queries.
    Order,
    /// Dtypes.
    Type,
    /// Index expressions of reads.
    Rank,
    /// Which indices occur where.
    Index,
    /// Declared sizes.
    Size,
    /// Where reductions stand and what they reduce.
    Reduction,
    /// Functions of whole tensors.
    Call,
    /// Names of inputs.
    Name,
    /// Reads are inside of their source.
    Bounds,
    /// Queries that only move.
    Move,
    /// Queries that nothing needs.
    Dead,
    /// Queries that compute the same.
    Equal,
    /// Groups.
    Group,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub rule: Rule,
    /// Where, if it is in a query.
    pub query: Option<QueryId>,
    /// What breaks it.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(query) = self.query {
            write!(f, "{query}: ")?;
        }
        write!(f, "{} ({:?})", self.what, self.rule)
    }
}

impl std::error::Error for Finding {}

/// A read that is inside of its source for some sizes and perhaps not for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unproven {
    /// The query that reads.
    pub query: QueryId,
    /// What it reads.
    pub source: Source,
    /// Along which axis.
    pub axis: usize,
    /// Where.
    pub position: Dim,
    /// The size of that axis.
    pub extent: Dim,
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unproven { query, source, axis, position, extent } = self;
        let source = match source {
            Source::Input(i) => format!("input {i}"),
            Source::Def(q) => format!("q{q}"),
        };
        write!(f, "{query}: axis {axis} of {source}, of size {extent}, is read at {position}")
    }
}

/// Checks every rule of the form; gives the reads that could not be proved, or everything that is wrong.
///
/// ```
/// use tj_plan::{Form, Rule, parse, verify};
///
/// let plan = parse(
///     "size N
///      size M
///      input x: f32[M]
///      q0 neg: f32[N] = neg(x[i0])
///      guard N == M because of a promise
///      produces q0",
/// )?;
/// assert!(verify(&plan, Form::Canonical).unwrap().is_empty());
///
/// let plan = parse("input x: f32[3] q0 neg: f32[4] = neg(x[i0]) produces q0")?;
/// let unproven = verify(&plan, Form::Canonical).unwrap();
/// assert_eq!(unproven[0].to_string(), "q0: axis 0 of input 0, of size 3, is read at i0");
///
/// let plan = parse("input x: f32[3] q0 neg: f32[3] = neg(x[i0]) produces x")?;
/// let findings = verify(&plan, Form::Canonical).unwrap_err();
/// assert_eq!(findings[0].to_string(), "q0: nothing that is asked for needs it (Dead)");
/// # Ok::<(), tj_plan::ParseError>(())
/// ```
///
/// # Errors
/// Every rule that is broken, and where.
pub fn verify(plan: &Plan, form: Form) -> Result<Vec<Unproven>, Vec<Finding>> {
    let mut findings = Vec::new();
    check_declarations(plan, &mut findings);
    let mut unproven = Vec::new();
    expressions::check(plan, &mut findings, &mut unproven);
    // Liveness follows reads, so these need them to be in order.
    if form == Form::Canonical && findings.is_empty() {
        check_canonical(plan, &mut findings);
    }
    if findings.is_empty() { Ok(unproven) } else { Err(findings) }
}

/// Checks every rule of the fused form.
///
/// # Errors
/// Every rule that is broken, and where.
pub fn verify_fused(fused: &Fused) -> Result<Vec<Unproven>, Vec<Finding>> {
    let unproven = verify(&fused.plan, Form::Traced)?;
    let findings = groups::check(fused);
    if findings.is_empty() { Ok(unproven) } else { Err(findings) }
}

/// Stops with the name of the pass if what it made breaks a rule. Does nothing in release builds.
///
/// # Panics
/// On a bug of the pass.
pub fn debug_verify(pass: &str, plan: &Plan, form: Form) {
    if cfg!(debug_assertions)
        && let Err(findings) = verify(plan, form)
    {
        stop(pass, &findings, plan);
    }
}

/// As [`debug_verify`], for the fused form.
///
/// # Panics
/// On a bug of the pass.
pub fn debug_verify_fused(pass: &str, fused: &Fused) {
    if cfg!(debug_assertions)
        && let Err(findings) = verify_fused(fused)
    {
        stop(pass, &findings, fused);
    }
}

fn stop(pass: &str, findings: &[Finding], text: &dyn fmt::Display) -> ! {
    let list: Vec<String> = findings.iter().map(|finding| format!("  {finding}\n")).collect();
    panic!("{pass} broke the rules of plans:\n{}in\n{text}", list.concat())
}

impl Finding {
    fn of(query: QueryId, rule: Rule, what: String) -> Finding {
        Finding { rule, query: Some(query), what }
    }

    fn of_plan(rule: Rule, what: String) -> Finding {
        Finding { rule, query: None, what }
    }
}

/// Names, symbols, shapes of inputs, guards, and what is produced.
fn check_declarations(plan: &Plan, findings: &mut Vec<Finding>) {
    let mut say = |rule, what| findings.push(Finding::of_plan(rule, what));
    let mut names = FxHashSet::default();
    for name in plan.inputs.iter().filter_map(|input| input.name.as_deref()) {
        if !names.insert(name) {
            say(Rule::Name, format!("two inputs are called {name}"));
        }
    }
    let mut seen = FxHashSet::default();
    for symbol in &plan.symbols {
        if symbol.as_index().is_some() || !seen.insert(symbol) {
            say(Rule::Size, format!("{symbol} is an index, or declared twice"));
        }
    }
    let symbols = Symbols::new(plan);
    for (position, input) in plan.inputs.iter().enumerate() {
        for problem in input.shape.iter().filter_map(|dim| symbols.problem(dim, 0)) {
            let shape = shape_text(&input.shape);
            say(problem.rule, format!("shape {shape} of input {position}: {}", problem.what));
        }
    }
    for guard in &plan.guards {
        let (a, b) = match &guard.condition {
            Condition::Equal(a, b) | Condition::LessEqual(a, b) | Condition::Divides(a, b) => (a, b),
        };
        for problem in [a, b].into_iter().filter_map(|dim| symbols.problem(dim, 0)) {
            say(problem.rule, format!("guard {}: {}", guard.condition, problem.what));
        }
    }
    for source in &plan.produces.0 {
        let known = match *source {
            Source::Input(i) => (i as usize) < plan.inputs.len(),
            Source::Def(q) => (q as usize) < plan.queries.len(),
        };
        if !known {
            say(Rule::Id, format!("{source:?} is asked for, but there is no such source"));
        }
    }
}

/// Declared sizes, to look up those that are used.
struct Symbols<'p>(FxHashMap<&'p Symbol, (i64, i64)>);

/// What is wrong with a size.
struct Problem {
    rule: Rule,
    what: String,
}

impl<'p> Symbols<'p> {
    fn new(plan: &'p Plan) -> Symbols<'p> {
        Symbols(plan.symbols.iter().map(|symbol| (symbol, symbol.bounds())).collect())
    }

    /// The first rule that a size breaks where the indices below `indices` are known.
    fn problem(&self, dim: &Dim, indices: usize) -> Option<Problem> {
        // Most of them are a number or an index.
        if dim.is_const().is_some() {
            return None;
        }
        if let Some(d) = dim.as_symbol().and_then(Symbol::as_index)
            && (d as usize) < indices
        {
            return None;
        }
        if let Err(error) = dim.check() {
            return Some(Problem { rule: Rule::Size, what: error.to_string() });
        }
        for symbol in dim.symbols() {
            match symbol.as_index() {
                Some(d) if (d as usize) < indices => {}
                Some(_) => {
                    return Some(Problem {
                        rule: Rule::Index,
                        what: format!("{symbol} has no meaning here"),
                    });
                }
                None => match self.0.get(&symbol) {
                    Some(&bounds) if bounds == symbol.bounds() => {}
                    Some((lo, hi)) => {
                        let (own_lo, own_hi) = symbol.bounds();
                        let what =
                            format!("{symbol} is in {own_lo}..={own_hi} here, but declared in {lo}..={hi}");
                        return Some(Problem { rule: Rule::Size, what });
                    }
                    None => {
                        return Some(Problem { rule: Rule::Size, what: format!("{symbol} is not declared") });
                    }
                },
            }
        }
        None
    }
}

fn check_canonical(plan: &Plan, findings: &mut Vec<Finding>) {
    let produced = plan.produced();
    let live = plan.live();
    let mut whole = vec![false; plan.queries.len()];
    for call in plan.query_ids().filter_map(|id| plan.root_call(id)) {
        for source in call.args {
            if let Source::Def(q) = source {
                whole[q as usize] = true;
            }
        }
    }
    let mut known: FxHashMap<_, QueryId> = FxHashMap::default();
    for id in plan.query_ids() {
        let query = plan.query(id);
        let mut say = |rule, what: &str| findings.push(Finding::of(id, rule, what.to_string()));
        if !live[id.index()] {
            say(Rule::Dead, "nothing that is asked for needs it");
        }
        if let Some(first) = known.insert((&query.shape, query.body), id) {
            say(Rule::Equal, &format!("it computes what {first} computes"));
        }
        if let Expr::Read { source, at } = plan.arena.node(query.body) {
            if is_identity(at) && *plan.shape_of(*source) == query.shape {
                say(Rule::Move, "it is a copy of what it reads");
            } else if !produced[id.index()] && !whole[id.index()] && weight(at) == 1 {
                say(Rule::Move, "it only renames axes, which its readers can do");
            }
        }
    }
}

#[cfg(test)]
mod tests;
