//! A scheduler that reads the data.
//!
//! **Problem.** `sum(A @ B @ C)` may take the entries of three matrices, or all products of two of them, and which way is short
//! depends on how many entries there are and on where they lie.
//!
//! **Idea.** `tj-plan` turns a query into a form from which reductions are eliminated one after the other, in any order that its
//! laws allow ([`tj_plan::derive`]). Here orders are priced and searched. What is stored of a tensor is described by a
//! [`Support`](support::Support): how many entries there are, and how many each coordinate of each dimension has
//! ([`statistics`]); of long dimensions some coordinates stand for all ([`frame`]). Supports of products and of what is kept follow
//! from those of their factors ([`support`]). A step costs the rounds of its loops in their best order, and what it writes
//! ([`cost`]). Orders are found greedily, then by branch and bound below that ([`search`]). What the steps of a way that is
//! chosen cannot exceed is computed beside what is expected ([`bound`]). How often factors meet that go round in a circle can be
//! sampled ([`sample`]).
//!
//! **Invariants.** What is chosen changes the order in which values are combined, and nothing else; for floats that rounds
//! differently, which [`Reassociate`] allows or forbids. A query keeps the way in which it is written unless another one is
//! expected to be shorter by a margin. Estimates decide, and are never trusted for memory.
//!
//! **Source.** The elimination of indices one after the other, priced by estimated entries, with a greedy plan as the bound of an exact
//! search, is that of Galley (Deeds, Ahrens, Balazinska, Suciu: "Galley: Modern Query Optimization for Sparse Tensor
//! Programs", SIGMOD 2025); the estimate of joins by degrees is the configuration model of Chung and Lu.

#![forbid(unsafe_code)]

pub mod bound;
pub mod cost;
pub mod frame;
pub mod sample;
mod scheduler;
pub mod search;
pub mod statistics;
pub mod support;
#[cfg(test)]
mod tests;

pub use scheduler::{GalleyScheduler, Reassociate};

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
