//! What a scheduler is: something that decides, and never transforms.
//!
//! A scheduler looks at a canonical plan and says which queries are written into their readers and which share a
//! kernel. What it returns is data; `fuse` applies it and proves again that it is legal, so that a bad scheduler can
//! be slow but never wrong. [`DefaultScheduler`] is one implementation, whose methods are the trait's defaults.

use std::fmt;
use std::sync::Arc;

use tj_ir::Dim;
use tj_tensor::Tensor;

use crate::derive::Derivation;
use crate::group::default_grouping;
use crate::plan::{Plan, QueryId};
use crate::sparse::StoredInput;

/// What makes machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The best one that is built in: Cranelift, else C.
    #[default]
    Auto,
    /// Cranelift; needs no toolchain.
    Cranelift,
    /// C, through the machine's gcc or clang.
    C,
}

/// What turns a fused plan into results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Native code.
    Compiled(Backend),
    /// Lowered to kernels, which are interpreted.
    InterpretKernel,
    /// The plan itself is interpreted.
    InterpretPlan,
}

/// Decides how a plan is computed.
pub trait Scheduler: Send + Sync {
    /// Name in texts.
    fn name(&self) -> &str;

    /// Distinguishes schedulers of one name with different options; part of every cache key.
    fn options_key(&self) -> u64 {
        0
    }

    /// What runs the result.
    fn engine(&self) -> Engine {
        Engine::Compiled(Backend::Auto)
    }

    /// The same decisions, compiled by a certain back end.
    ///
    /// ```
    /// use tj_plan::{Backend, DefaultScheduler, Engine, Scheduler};
    ///
    /// assert_eq!(DefaultScheduler.on(Backend::C).engine(), Engine::Compiled(Backend::C));
    /// ```
    fn on(self, backend: Backend) -> On<Self>
    where
        Self: Sized,
    {
        On { scheduler: self, backend }
    }

    /// Whether decisions follow from the data, so that data of other statistics may be computed in another way.
    fn reads_data(&self) -> bool {
        false
    }

    /// Whether plans for these arguments may depend on whether all of them are finite. Then that is part of what a plan is kept
    /// for, and asked at every call.
    fn asks_for_finite(&self, arguments: &[&Tensor]) -> bool {
        let _ = arguments;
        false
    }

    /// Which reductions are computed first, and what is kept of them; `inputs` says how arguments are stored by levels.
    fn derive(&self, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
        let _ = (plan, inputs);
        Derivation::default()
    }

    /// Which queries are written into their readers, and which share a kernel.
    fn group(&self, plan: &Plan, sizes: &Sizes) -> Grouping {
        default_grouping(plan, sizes)
    }

    /// When what is left of a program is decided again while it runs.
    fn surprise(&self) -> Surprise {
        Surprise::default()
    }
}

/// When an intermediate result is so far from what was expected of it that what is left of a program is decided again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Surprise {
    /// Where there are more than so many times as many entries as expected, or fewer than that part of them.
    pub times: u64,
    /// If so many were expected, or are there.
    pub entries: u64,
    /// And what is left takes so many rounds of loops.
    pub left: u64,
}

impl Default for Surprise {
    /// Four times, of a thousand entries; and what is left takes some twenty times what deciding takes.
    fn default() -> Surprise {
        Surprise { times: 4, entries: 1000, left: 1 << 20 }
    }
}

/// A scheduler whose plans a certain back end compiles. One that interprets stays that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct On<S> {
    scheduler: S,
    backend: Backend,
}

impl<S: Scheduler> Scheduler for On<S> {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn options_key(&self) -> u64 {
        self.scheduler.options_key()
    }

    fn engine(&self) -> Engine {
        match self.scheduler.engine() {
            Engine::Compiled(_) => Engine::Compiled(self.backend),
            other @ (Engine::InterpretKernel | Engine::InterpretPlan) => other,
        }
    }

    fn reads_data(&self) -> bool {
        self.scheduler.reads_data()
    }

    fn asks_for_finite(&self, arguments: &[&Tensor]) -> bool {
        self.scheduler.asks_for_finite(arguments)
    }

    fn derive(&self, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
        self.scheduler.derive(plan, inputs)
    }

    fn group(&self, plan: &Plan, sizes: &Sizes) -> Grouping {
        self.scheduler.group(plan, sizes)
    }

    fn surprise(&self) -> Surprise {
        self.scheduler.surprise()
    }
}

/// A shared scheduler, as `get_scheduler` gives it to threads that a user starts.
impl<S: Scheduler + ?Sized> Scheduler for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn options_key(&self) -> u64 {
        (**self).options_key()
    }

    fn engine(&self) -> Engine {
        (**self).engine()
    }

    fn reads_data(&self) -> bool {
        (**self).reads_data()
    }

    fn asks_for_finite(&self, arguments: &[&Tensor]) -> bool {
        (**self).asks_for_finite(arguments)
    }

    fn derive(&self, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
        (**self).derive(plan, inputs)
    }

    fn group(&self, plan: &Plan, sizes: &Sizes) -> Grouping {
        (**self).group(plan, sizes)
    }

    fn surprise(&self) -> Surprise {
        (**self).surprise()
    }
}

/// The default decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultScheduler;

impl Scheduler for DefaultScheduler {
    fn name(&self) -> &str {
        "default"
    }
}

/// One kernel a query and nothing shared: what fusion is measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfused;

impl Scheduler for Unfused {
    fn name(&self) -> &str {
        "unfused"
    }

    fn group(&self, plan: &Plan, _sizes: &Sizes) -> Grouping {
        Grouping::separate(plan)
    }
}

/// The plan interpreter: slow and obvious.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterpretPlan;

impl Scheduler for InterpretPlan {
    fn name(&self) -> &str {
        "interpret"
    }

    fn engine(&self) -> Engine {
        Engine::InterpretPlan
    }
}

/// Kernels as the default scheduler makes them, interpreted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterpretKernel;

impl Scheduler for InterpretKernel {
    fn name(&self) -> &str {
        "interpret-kernel"
    }

    fn engine(&self) -> Engine {
        Engine::InterpretKernel
    }
}

/// What is known about sizes when decisions are made. Decisions may use it; correctness never does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes;

impl Sizes {
    /// A number to decide with: the size itself, its hint, or a guess for each symbol that is at least 64.
    pub fn guess(&self, dim: &Dim) -> f64 {
        if let Some(c) = dim.is_const() {
            return c as f64;
        }
        let value = dim.hint().or_else(|| {
            dim.eval(&|symbol| {
                let (lo, hi) = symbol.bounds();
                Some(symbol.hint().unwrap_or(64.clamp(lo, hi)))
            })
            .ok()
        });
        value.unwrap_or(64) as f64
    }

    /// The product of [`Sizes::guess`] over some sizes.
    pub fn count<'d>(&self, dims: impl IntoIterator<Item = &'d Dim>) -> f64 {
        dims.into_iter().map(|dim| self.guess(dim)).product()
    }
}

/// The decisions of a scheduler about a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouping {
    /// For each query, whether its expression is written into its readers.
    pub inline: Vec<bool>,
    /// Kernels in order, each with its queries in order. Inlined queries are in none.
    pub groups: Vec<GroupDecision>,
    /// Why, for `explain`.
    pub reasons: Vec<Reason>,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDecision {
    /// Its queries; each reads only earlier ones, earlier groups and inputs.
    pub queries: Vec<QueryId>,
    /// How many leading axes all of its queries share as outer loops.
    pub outer: usize,
}

/// A decision in words and numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// About which query.
    pub query: QueryId,
    /// Short name of the rule.
    pub rule: &'static str,
    /// Numbers the rule looked at.
    pub detail: String,
}

impl Grouping {
    /// Every query a kernel of its own.
    pub fn separate(plan: &Plan) -> Grouping {
        let groups = plan.query_ids().map(|id| {
            let outer = plan.query(id).shape.len();
            GroupDecision { queries: vec![id], outer }
        });
        Grouping { inline: vec![false; plan.queries.len()], groups: groups.collect(), reasons: Vec::new() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.query, self.rule, self.detail)
    }
}
