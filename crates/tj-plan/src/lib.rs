//! Plans of tensor queries.
//!
//! What this layer knows: a program as queries in order ([`plan`]), their canonical form ([`canonicalise`]), what a
//! scheduler decides ([`scheduler`], [`group`]), and how a decision is applied and proven ([`fuse`]). Its interpreter
//! ([`interpret`]) is the oracle of every test. What it must never know: loops, buffers, formats, code.
//!
//! Modules in reading order: `plan`, `canonicalise` (with `simplify` and `substitute`), `scheduler`, `group`, `fuse`,
//! `interpret`.

#![forbid(unsafe_code)]

pub mod canonicalise;
pub mod fuse;
pub mod group;
pub mod interpret;
pub mod plan;
pub mod scheduler;
mod simplify;
pub mod substitute;
mod text;

pub use canonicalise::canonicalise;
pub use fuse::{Fused, Group, IllegalGrouping, fuse};
pub use interpret::{InterpretError, interpret};
pub use plan::{Plan, Produces, Query, QueryId, RootReduce};
pub use scheduler::{
    DefaultScheduler, Engine, GroupDecision, Grouping, InterpretKernel, InterpretPlan, Reason, Scheduler,
    Sizes, Unfused,
};
