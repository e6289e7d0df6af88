//! From lazy tensors to values: compiles programs, binds sizes, plans memory and runs.
//!
//! What this layer knows: the pipeline (`compile`, one screen), programs and their memory (`program`, `bind`,
//! `arena`, `budget`), calling machine code (`run`, `code`, `host`, `pool`), and what a user meets: [`CompiledGraph`] for
//! programs with named inputs, [`compute()`] for data that is there, by the scheduler that `select` finds and with code
//! that `cache` keeps.
//! What it must never know: file formats, the command line.
//!
//! Modules in reading order: `graph`, `compile`, `observe`, `program`, `bind`, `executable`, `run`, `code`, `kernels`, `select`, `outputs`,
//! `compute`, `cache`, `stages`, `chain`, `walked`.

#![deny(unsafe_code)]

mod arena;
mod bind;
mod budget;
mod cache;
mod call;
mod chain;
mod clock;
mod code;
mod compile;
mod compute;
mod crew;
mod derive;
mod doctor;
mod error;
mod executable;
mod explain;
mod explanation;
#[cfg(feature = "cranelift")]
mod export;
mod graph;
mod host;
mod in_place;
mod interpret;
mod kernels;
mod observe;
mod options;
mod outputs;
mod page;
mod place;
mod pool;
mod program;
mod reason;
mod report;
mod run;
mod select;
mod stages;
#[cfg(feature = "c")]
pub mod toolchain;
mod view;
mod walked;

pub use cache::{
    CacheEntry, CacheReport, cache_entries, cache_report, clear_cache, set_cache_bytes, set_kept_bytes,
};
pub use compute::{compute, compute_as, compute_reported, compute_timed, compute_with, fuse, fuse_with};
pub use doctor::doctor;
pub use error::Error;
pub use explanation::{ArenaPiece, ArenaPlan, Explanation, explain, explain_with};
pub use graph::CompiledGraph;
pub use observe::{Observer, Silent, Stage};
pub use options::{CompileOptions, MaxBytes};
pub use outputs::{Compute, Lazies};
pub use report::{Kept, RunReport};
pub use select::{get_scheduler, set_scheduler, with_scheduler};
// What a scheduler outside of this workspace needs, and a user of one.
pub use tj_galley::{GalleyScheduler, Reassociate};
pub use tj_ir::{LazyTensor, Source, defer, defer_owned};
pub use tj_plan::{
    Backend, DefaultScheduler, Engine, GroupDecision, Grouping, InterpretKernel, InterpretPlan, On, Plan,
    QueryId, Reason, Scheduler, Sizes, Surprise, Unfused,
};
pub use tj_tensor::Tensor;
pub use view::OutputView;
