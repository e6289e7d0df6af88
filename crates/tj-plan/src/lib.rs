//! Plans of tensor queries.
//!
//! What this layer knows: a program as queries in order ([`plan`]) with a text form ([`text`]) and a verifier
//! ([`verify`](mod@verify)), their canonical form ([`canonicalise`](mod@canonicalise)), what a scheduler decides
//! ([`scheduler`], [`group`]), how a decision is applied and proven ([`fuse`](mod@fuse)), and which programs queries over
//! stored levels become, in which order of indices ([`sparse`]); and what is left of one that ran in part ([`rest`](mod@rest)). Its interpreter ([`interpret`](mod@interpret)) is the oracle
//! of every test. What it must never know: how loops are written, buffers, code.
//!
//! Modules in reading order: `plan`, `text`, `verify`, `canonicalise` (with `simplify` and `substitute`),
//! `scheduler`, `group`, `fuse`, `interpret`, `sparse`.

#![forbid(unsafe_code)]

pub mod canonicalise;
pub mod derive;
pub mod fuse;
pub mod group;
pub mod interpret;
pub mod plan;
pub mod rest;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod scale;
pub mod scheduler;
mod simplify;
pub mod sparse;
pub mod substitute;
pub mod text;
pub mod verify;

pub use canonicalise::canonicalise;
pub use fuse::{Fused, Group, IllegalGrouping, fuse};
pub use interpret::{InterpretError, interpret};
pub use plan::{Plan, Produces, Query, QueryId, RootCall, RootReduce};
pub use rest::{Left, rest};
pub use scheduler::{
    Backend, DefaultScheduler, Engine, GroupDecision, Grouping, InterpretKernel, InterpretPlan, On, Reason,
    Scheduler, Sizes, Surprise, Unfused,
};
pub use text::{ParseError, parse, parse_fused};
pub use verify::{Finding, Form, Rule, Unproven, debug_verify, debug_verify_fused, verify, verify_fused};

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
