//! From lazy tensors to values: compiles programs, binds sizes, plans memory and runs.
//!
//! What this layer knows: the pipeline (`compile`, one screen), programs and their memory (`program`, `bind`,
//! `arena`, `budget`), calling machine code (`run`, `code`, `host`, `pool`), and what a user holds: [`CompiledGraph`].
//! What it must never know: file formats, the command line.
//!
//! Modules in reading order: `graph`, `compile`, `observe`, `program`, `bind`, `run`, `code`.

#![deny(unsafe_code)]

mod arena;
mod bind;
mod budget;
mod call;
mod code;
mod compile;
mod crew;
mod doctor;
mod error;
mod explain;
#[cfg(feature = "cranelift")]
mod export;
mod graph;
mod host;
mod in_place;
mod interpret;
mod observe;
mod options;
mod place;
mod pool;
mod program;
mod report;
mod run;
#[cfg(feature = "c")]
pub mod toolchain;
mod view;

pub use doctor::doctor;
pub use error::Error;
pub use graph::{CompiledGraph, explain};
pub use observe::{Explanation, Observer, Silent, Stage};
pub use options::{Backend, CompileOptions, MaxBytes};
pub use report::RunReport;
pub use tj_plan::{
    DefaultScheduler, Engine, Grouping, InterpretKernel, InterpretPlan, Scheduler, Sizes, Unfused,
};
pub use view::OutputView;
