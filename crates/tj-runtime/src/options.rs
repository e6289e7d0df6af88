//! What a user chooses when a program is compiled.

use std::fmt;
use std::sync::Arc;

use tj_ir::LazyTensor;
use tj_plan::{Backend, Engine, Scheduler, Unfused};

use crate::select::Taken;

/// Everything that changes how a program is compiled and run.
#[derive(Clone)]
pub struct CompileOptions {
    /// Whether queries share kernels. Without it every query is a kernel of its own.
    pub fuse: bool,
    /// Whether temporaries share memory when their lives do not overlap.
    pub reuse: bool,
    /// How many bytes inputs, temporaries and outputs of one call may take together.
    pub max_bytes: MaxBytes,
    /// What makes machine code; `Auto` leaves it to the scheduler.
    pub backend: Backend,
    /// Number of threads of a call; 0 for all that the machine offers. Never changes a bit.
    pub threads: usize,
    /// Work below which a kernel runs on one thread, in operations on one element; `None` for the default, some 60
    /// microseconds. A tuning knob: 0 makes every kernel that can be cut run on all threads. Never changes a bit.
    pub parallel_work: Option<u64>,
    /// Who decides; `None` for the current scheduler, or one that fuses nothing if `fuse` says so.
    pub scheduler: Option<Arc<dyn Scheduler>>,
    /// Inputs that belong to the signature even if no output needs them.
    pub inputs: Vec<LazyTensor>,
}

/// A limit on memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaxBytes {
    /// Three quarters of the memory that is available when a call starts, limits of containers included.
    #[default]
    Auto,
    /// This many bytes.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

/// What `Auto` stands for in this build.
pub(crate) fn built_in(backend: Backend) -> Backend {
    match backend {
        Backend::Auto if cfg!(all(feature = "c", not(feature = "cranelift"))) => Backend::C,
        Backend::Auto => Backend::Cranelift,
        Backend::Cranelift | Backend::C => backend,
    }
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            fuse: true,
            reuse: true,
            max_bytes: MaxBytes::Auto,
            backend: Backend::Auto,
            threads: 0,
            parallel_work: None,
            scheduler: None,
            inputs: Vec::new(),
        }
    }
}

impl CompileOptions {
    /// The scheduler that these options choose, where `current` is what applies otherwise.
    pub(crate) fn scheduler(&self, current: &Taken) -> Arc<dyn Scheduler> {
        match &self.scheduler {
            Some(scheduler) => scheduler.clone(),
            None if self.fuse => current.scheduler(),
            None => Arc::new(Unfused),
        }
    }

    /// The engine of a scheduler, on the back end that these options choose.
    pub(crate) fn engine(&self, scheduler: &dyn Scheduler) -> Engine {
        match (scheduler.engine(), self.backend) {
            (Engine::Compiled(backend), Backend::Auto) => Engine::Compiled(built_in(backend)),
            (Engine::Compiled(_), backend) => Engine::Compiled(backend),
            (other @ (Engine::InterpretKernel | Engine::InterpretPlan), _) => other,
        }
    }
}

impl fmt::Debug for CompileOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileOptions")
            .field("fuse", &self.fuse)
            .field("reuse", &self.reuse)
            .field("max_bytes", &self.max_bytes)
            .field("backend", &self.backend)
            .field("threads", &self.threads)
            .field("parallel_work", &self.parallel_work)
            .field("scheduler", &self.scheduler.as_deref().map(Scheduler::name))
            .finish_non_exhaustive()
    }
}
