//! The scheduler.

use std::fmt::Write as _;

use tj_plan::derive::{Derivation, Derived, Shape, fill_of, form_of, roots};
use tj_plan::sparse::StoredInput;
use tj_plan::{Plan, Reason, Scheduler};

use crate::cost::{Facts, short};
use crate::search::{Way, search, written};

/// Another way is taken if it is expected to cost less than this part of the one that is written.
const MARGIN: f64 = 0.8;

/// What may be done to the order in which floats are combined. Integers and booleans come out the same in every order, so that
/// these are always expanded where that is shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reassociate {
    /// Nothing: the bits of the default scheduler.
    Never,
    /// Factors are pulled out of sums, and sums of sums are taken apart.
    #[default]
    Factor,
    /// Products of sums are multiplied out as well, which may cancel.
    Expand,
}

/// Decides by the data: which sums are computed first, what is kept, in which order loops run.
///
/// ```
/// use tj_galley::{GalleyScheduler, Reassociate};
/// use tj_plan::Scheduler;
///
/// let exact = GalleyScheduler::exact();
/// assert_eq!(exact.reassociate(), Reassociate::Never);
/// assert_ne!(exact.options_key(), GalleyScheduler::default().options_key());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GalleyScheduler {
    reassociate: Reassociate,
}

impl GalleyScheduler {
    /// One that may do this to the order in which floats are combined.
    pub fn new(reassociate: Reassociate) -> GalleyScheduler {
        GalleyScheduler { reassociate }
    }

    /// One that changes no bit.
    pub fn exact() -> GalleyScheduler {
        GalleyScheduler::new(Reassociate::Never)
    }

    /// What may be done to the order in which floats are combined.
    pub fn reassociate(&self) -> Reassociate {
        self.reassociate
    }

    fn shapes(&self, is_float: bool) -> &'static [Shape] {
        match (self.reassociate, is_float) {
            (Reassociate::Never, true) => &[],
            (Reassociate::Factor, true) => &[Shape::Written, Shape::Split],
            (Reassociate::Expand, true) | (_, false) => &[Shape::Written, Shape::Split, Shape::Expanded],
        }
    }
}

impl Scheduler for GalleyScheduler {
    fn name(&self) -> &str {
        "galley"
    }

    fn options_key(&self) -> u64 {
        self.reassociate as u64
    }

    fn reads_data(&self) -> bool {
        true
    }

    fn derive(&self, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
        let facts = Facts::new(plan, inputs);
        let all = roots(plan);
        let is_measured = self.reassociate != Reassociate::Never;
        let mut derivation = Derivation { is_measured, ..Derivation::default() };
        let fills = fill_of(inputs);
        for root in &all.roots {
            let of = |shape: Shape| form_of(plan, &fills, &all, root.query, shape);
            let Some(form) = of(Shape::Written) else { continue };
            let is_float = form.nodes.iter().any(|node| node.dtype.is_float());
            let Some(before) = written(&facts, &form) else { continue };
            let mut ways: Vec<(Shape, Way)> = Vec::new();
            for &shape in self.shapes(is_float) {
                ways.extend(of(shape).and_then(|form| search(&facts, &form)).map(|way| (shape, way)));
            }
            let mut detail = format!("cost {} as it is written", short(before.cost));
            for (shape, way) in &ways {
                let _ = write!(detail, ", {} {}", short(way.cost), name(*shape));
            }
            let best = ways.into_iter().min_by(|a, b| a.1.cost.total_cmp(&b.1.cost));
            let best = best.filter(|(_, way)| way.cost < MARGIN * before.cost);
            let rule = if best.is_some() { "rearranged" } else { "kept as it is written" };
            derivation.reasons.push(Reason { query: root.query, rule, detail });
            let Some((shape, way)) = best else { continue };
            derivation.reasons.extend(way.priced.iter().map(|step| step.reason(root.query)));
            derivation.queries.push(Derived { query: root.query, shape, steps: way.steps });
        }
        derivation
    }
}

/// How sums are taken, in words.
fn name(shape: Shape) -> &'static str {
    match shape {
        Shape::Written => "in another order",
        Shape::Split => "with sums split",
        Shape::Expanded => "multiplied out",
    }
}
