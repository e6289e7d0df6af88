//! Dense results that are computed beside each other, in one walk.
//!
//! Results of one shape that read the same lists in the same order of loops would go through them once for each result. Instead
//! the first one's step computes the later ones as well, if what those read is there by then; and reductions that go along the
//! same lists then share their loops, since they have the same index. Entries stay what they are: a result that is stored by
//! levels has a size of its own and a step of its own.

use tj_ir::expr::Source;
use tj_tensor::Scalar;

use super::order::Order;
use super::rows::rows;
use super::steps::{Cutter, Found, Way, queries};
use crate::derive::Place;
use crate::plan::QueryId;

/// Results of one step.
const MAX_RESULTS: usize = 8;

impl Cutter<'_> {
    /// The ways in which queries are computed, in order, each with what it computes.
    pub fn beside(&self, nests: Vec<Option<Way>>) -> Vec<(Vec<QueryId>, Way)> {
        let mut left = nests;
        let mut ways = Vec::new();
        for at in 0..left.len() {
            let Some(mut way) = left[at].take() else { continue };
            let mut ids = vec![QueryId(at as u32)];
            for (later, place) in left.iter_mut().enumerate().skip(at + 1) {
                let id = QueryId(later as u32);
                let (Way::Nest(first), Some(Way::Nest(other))) = (&way, &*place) else { continue };
                if let Some(both) = self.both(&ids, first, id, other) {
                    ids.push(id);
                    way = Way::Nest(Box::new(both));
                    *place = None;
                }
            }
            ways.push((ids, way));
        }
        ways
    }

    /// Queries with another one beside them, if that saves a walk.
    fn both(&self, ids: &[QueryId], found: &Found, id: QueryId, other: &Found) -> Option<Found> {
        let first = ids[0];
        let is_there = |q: &QueryId| q.index() < first.index();
        let is_written_in = |a: &Found, b: &Found| a.queries().iter().any(|q| b.inline.contains(q));
        let read_alike = |source: &Source| self.stored(*source).is_some() && found.sources().contains(source);
        let fits = ids.len() < MAX_RESULTS
            && self.plan.query(first).shape == self.plan.query(id).shape
            && queries(&other.sources()).iter().all(is_there)
            && other.sources().iter().any(read_alike)
            && !is_written_in(found, other)
            && !is_written_in(other, found)
            && self.is_beside(first, found)
            && self.is_beside(id, other);
        if !fits {
            return None;
        }
        let inline: Vec<QueryId> = found.inline.iter().chain(&other.inline).copied().collect();
        let all: Vec<QueryId> = ids.iter().copied().chain([id]).collect();
        let both = self.find(&all, &inline)?;
        (both.order.loops == found.order.loops).then_some(both)
    }

    /// Whether a query has a dense result each element of which is computed once, at its place.
    fn is_beside(&self, id: QueryId, found: &Found) -> bool {
        let order = &found.order;
        let fills = |node| found.spaces[&node].fill;
        let is_stored = |source| self.stored(source).is_some();
        let keeps_rows = order.loops.last().is_some_and(|&last| {
            found.bodies.iter().any(|&body| !rows(&found.arena, body, last, &is_stored, &fills).is_empty())
        });
        order.combined.is_none()
            && found.base.is_none()
            && !keeps_rows
            && self.is_dense(id, order, fills(found.bodies[0]))
    }

    /// Whether the result of a query is dense.
    pub fn is_dense(&self, id: QueryId, order: &Order, fill: Option<Scalar>) -> bool {
        let is_stored =
            |fill| order.is_sparse && !self.plan.query(id).shape.is_empty() && self.may_be_stored(id, fill);
        self.decided.place(id) == Place::Dense || !fill.is_some_and(is_stored)
    }
}
