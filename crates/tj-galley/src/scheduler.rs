//! The scheduler.

use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use tj_ir::Source;
use tj_plan::derive::{Derivation, Derived, Form, Shape, fill_of, form_of, roots, without};
use tj_plan::sparse::StoredInput;
use tj_plan::{Plan, Reason, Scheduler, Sizes, Surprise};
use tj_tensor::Tensor;

use crate::bound::Bounds;
use crate::cost::{Facts, short};
use crate::search::{FULL, Seen, Way, search, still};
use crate::statistics::{Loops, Statistics};

/// Another way is taken if it is expected to cost less than this part of the one that is written.
const MARGIN: f64 = 0.66;

/// What it costs to spread an element of an argument over memory, which is remembered.
const SPREAD: f64 = 0.3;

/// Arguments that hold this part of all elements are read as dense ones together.
const DENSE_FROM: [f64; 2] = [0.2, FULL];

/// What may be done to the order in which floats are combined. Integers and booleans come out the same in every order, so that
/// these are always expanded where that is shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reassociate {
    /// Nothing: the bits of the default scheduler.
    Never,
    /// Factors are pulled out of sums, and sums of sums are taken apart. Where there are infinities or NaN, or something overflows,
    /// these may come out elsewhere.
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
    surprise: Surprise,
}

impl GalleyScheduler {
    /// One that may do this to the order in which floats are combined.
    pub fn new(reassociate: Reassociate) -> GalleyScheduler {
        GalleyScheduler { reassociate, ..GalleyScheduler::default() }
    }

    /// One that decides again about what is left of a program where intermediate results are so far from what was expected.
    ///
    /// ```
    /// use tj_galley::GalleyScheduler;
    /// use tj_plan::{Scheduler, Surprise};
    ///
    /// let patient = GalleyScheduler::default().surprised_by(Surprise { times: 100, ..Surprise::default() });
    /// assert_eq!(patient.surprise().times, 100);
    /// ```
    #[must_use]
    pub fn surprised_by(self, surprise: Surprise) -> GalleyScheduler {
        GalleyScheduler { surprise, ..self }
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
        let mut hasher = FxHasher::default();
        (self.reassociate, self.surprise).hash(&mut hasher);
        hasher.finish()
    }

    fn surprise(&self) -> Surprise {
        self.surprise
    }

    fn reads_data(&self) -> bool {
        true
    }

    /// Some matrix is stored by levels and nearly full; or several are, and several are dense, so that what is kept between them may
    /// be.
    fn asks_for_finite(&self, arguments: &[&Tensor]) -> bool {
        let is_matrix = |tensor: &&&Tensor| tensor.rank() > 1 && tensor.dtype().is_float();
        let matrices = || arguments.iter().filter(is_matrix);
        let stored = || matrices().filter(|tensor| tensor.stored().is_some());
        let dense = matrices().filter(|tensor| tensor.stored().is_none());
        let is_any_full = || stored().any(|tensor| is_full(tensor, FULL));
        let are_several = || stored().count() > 1 && dense.count() > 1;
        self.reassociate != Reassociate::Never && (is_any_full() || are_several())
    }

    fn derive(&self, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
        let is_measured = self.reassociate != Reassociate::Never;
        let data = |at: usize| plan.inputs[at].data.as_ref();
        // The key of the program says so only where somebody asks.
        let arguments: Vec<&Tensor> = (0..plan.inputs.len()).filter_map(data).collect();
        let is_finite = is_measured
            && self.asks_for_finite(&arguments)
            && arguments.len() == plan.inputs.len()
            && arguments.iter().all(|tensor| tensor.is_finite());
        let mut best = self.planned(plan, inputs, &[], MARGIN, is_finite);
        for from in DENSE_FROM.into_iter().filter(|_| is_finite) {
            let dense = GalleyScheduler::dense(plan, inputs, from);
            if dense.is_empty() || dense == best.derivation.dense {
                continue;
            }
            // What is not rearranged still asks what fills decide.
            let other = self.planned(plan, inputs, &dense, f64::INFINITY, is_finite);
            // Nor is anything won but by products of matrices.
            if other.is_whole && other.has_product && other.cost < MARGIN * best.cost {
                best = other;
            }
        }
        Derivation { is_measured, ..best.derivation }
    }
}

/// A derivation and what it costs.
struct Planned {
    derivation: Derivation,
    cost: f64,
    /// Whether it rearranges all that reads what is dense.
    is_whole: bool,
    /// Whether some step is a product of dense matrices.
    has_product: bool,
}

impl GalleyScheduler {
    /// Arguments that hold so much that it may be better to read them as dense ones.
    fn dense(plan: &Plan, inputs: &[Option<StoredInput>], from: f64) -> Vec<u32> {
        let is_zero = |at: usize| inputs[at].as_ref().is_some_and(|stored| stored.fill.to_f64() == 0.0);
        let fills = |at: usize| {
            let data = plan.inputs[at].data.as_ref();
            data.is_some_and(|data| data.rank() > 1 && is_full(data, from))
        };
        (0..inputs.len()).filter(|&at| is_zero(at) && fills(at)).map(|at| at as u32).collect()
    }

    /// The cheapest ways for all queries, where one costs less than this part of the way that is written.
    fn planned(
        &self,
        plan: &Plan,
        inputs: &[Option<StoredInput>],
        dense: &[u32],
        margin: f64,
        is_finite: bool,
    ) -> Planned {
        let inputs = &without(inputs, dense);
        let is_measured = self.reassociate != Reassociate::Never;
        let loops = if is_measured { Loops::Measured } else { Loops::Guessed };
        let statistics = Statistics::new(plan, inputs, loops);
        let all = roots(plan);
        let elements = |&at: &u32| Sizes.count(&plan.inputs[at as usize].shape);
        let cost = dense.iter().map(elements).map(|elements| SPREAD * elements).sum();
        let derivation = Derivation { dense: dense.to_vec(), ..Derivation::default() };
        let mut planned = Planned { derivation, cost, is_whole: true, has_product: false };
        let fills = fill_of(inputs);
        for root in &all.roots {
            let of = |shape: Shape| form_of(plan, &fills, &all, root.query, shape, dense);
            let reads = root.queries.iter().flat_map(|&query| plan.reads(query));
            let is_touched = reads
                .into_iter()
                .any(|(_, source)| matches!(source, Source::Input(at) if dense.contains(&at)));
            let Some(form) = of(Shape::Written) else {
                planned.is_whole &= !is_touched;
                continue;
            };
            let facts = |form: &Form| Facts::new(&statistics, form, is_finite && form.is_closed());
            planned.is_whole &= !is_touched || form.is_closed();
            let is_float = form.nodes.iter().any(|node| node.dtype.is_float());
            let mut seen = Seen::default();
            // What is kept is computed before what reads it, or written into that where it is less.
            let inlined = still(&facts(&form), &form, &mut seen);
            let apart = of(Shape::Still).and_then(|form| still(&facts(&form), &form, &mut Seen::default()));
            let before = [inlined, apart].into_iter().flatten().map(|way| way.cost).reduce(f64::min);
            let Some(before) = before else { continue };
            let mut ways: Vec<(Shape, Way)> = Vec::new();
            for &shape in self.shapes(is_float) {
                if shape == Shape::Written {
                    ways.extend(search(&facts(&form), &form, &mut seen).map(|way| (shape, way)));
                } else if form.has_terms() {
                    let other = of(shape);
                    let way = other.and_then(|form| search(&facts(&form), &form, &mut Seen::default()));
                    ways.extend(way.map(|way| (shape, way)));
                }
            }
            let mut detail = format!("cost {} as it is written", short(before));
            for (shape, way) in &ways {
                let _ = write!(detail, ", {} {}", short(way.cost), name(*shape));
            }
            let best = ways.into_iter().min_by(|a, b| a.1.cost.total_cmp(&b.1.cost));
            let best = best.filter(|(_, way)| way.cost < margin * before);
            let rule = if best.is_some() { "rearranged" } else { "kept as it is written" };
            let Derivation { queries, reasons, expected, .. } = &mut planned.derivation;
            reasons.push(Reason { query: root.query, rule, detail });
            let Some((shape, mut way)) = best else {
                planned.cost += before;
                planned.is_whole &= !is_touched;
                if before > self.surprise.left as f64 / UNDERRATED {
                    let inner = root.queries.iter().copied().filter(|&query| query != root.query);
                    let reductions = inner.filter(|&query| plan.root_reduce(query).is_some());
                    let entries = |query| {
                        let form = form_of(plan, &fills, &all, query, Shape::Still, dense)?;
                        let way = still(&facts(&form), &form, &mut Seen::default())?;
                        let last = way.priced.last().filter(|step| step.is_sparse)?;
                        Some((query, last.count as u64))
                    };
                    expected.extend(reductions.filter_map(entries));
                }
                continue;
            };
            if let Some(form) = of(shape) {
                let bounds = Bounds::new(plan, inputs).way(&form, &way.steps);
                way.priced.iter_mut().zip(&bounds).for_each(|(step, bound)| step.limit(bound));
            }
            planned.cost += way.cost;
            planned.has_product |= way.priced.iter().any(|step| step.is_product);
            reasons.extend(way.priced.iter().map(|step| step.reason(root.query)));
            expect(&mut way);
            queries.push(Derived { query: root.query, shape, steps: way.steps });
        }
        planned
    }
}

/// Says what is expected of steps that others follow.
fn expect(way: &mut Way) {
    let last = way.steps.len().saturating_sub(1);
    for (step, priced) in way.steps[..last].iter_mut().zip(&way.priced) {
        step.expected = priced.is_sparse.then_some(priced.count as u64);
    }
}

/// What is computed as it stands, and may take so many times as long as it is expected to, says what is expected of it.
const UNDERRATED: f64 = 64.0;

/// How sums are taken, in words.
fn name(shape: Shape) -> &'static str {
    match shape {
        Shape::Written | Shape::Still => "in another order",
        Shape::Split => "with sums split",
        Shape::Expanded => "multiplied out",
    }
}

/// Whether floats fill more than this part of their elements.
fn is_full(tensor: &Tensor, part: f64) -> bool {
    let elements = tensor.count().unwrap_or(usize::MAX) as f64;
    tensor.dtype().is_float() && tensor.stored_count() as f64 > part * elements
}
