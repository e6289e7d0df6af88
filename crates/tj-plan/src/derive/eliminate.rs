//! Takes reductions out of a form, as queries of their own.
//!
//! A reduction goes down from where it stands while the laws let it pass and one argument alone depends on its index. Where it
//! stops at an operator that it would pass, the arguments that depend on the index are combined, and with them those that
//! depend on nothing else than these: they only leave terms out. All else of that operator stays outside.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use smallvec::SmallVec;
use tj_ir::ReduceOp;

use super::form::{Form, IndexSet, Kind, Leaf, Node, NodeId, Reduction, bit, members};
use super::laws::{is_free, passes};
use crate::sparse::plain;
use crate::sparse::space::of_reduce;

/// A query that an elimination gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How values combine.
    pub op: ReduceOp,
    /// The indices of its axes, in order.
    pub axes: SmallVec<[u8; 6]>,
    /// The indices that it reduces, outermost first.
    pub reduced: SmallVec<[u8; 6]>,
    /// What it reduces.
    pub body: NodeId,
    /// Whether its result is dense, whatever it could be.
    pub is_dense: bool,
}

/// Where a reduction is computed.
#[derive(Clone, Debug)]
struct Low {
    node: NodeId,
    /// The arguments of the node that are combined; none if all of it is.
    factors: SmallVec<[NodeId; 4]>,
}

impl Step {
    /// All indices of its loops.
    pub fn indices(&self) -> IndexSet {
        self.axes.iter().chain(&self.reduced).fold(0, |all, &index| all | bit(index))
    }
}

impl Form {
    /// The reduction over an index.
    pub fn reduction(&self, index: u8) -> Option<&Reduction> {
        self.reductions.iter().find(|reduction| reduction.index == index)
    }

    /// The indices that can be eliminated now, each with all others that need no further factor than it does.
    pub fn choices(&self) -> Vec<SmallVec<[u8; 6]>> {
        let lows: SmallVec<[Option<Low>; 12]> = self.reductions.iter().map(|own| self.low(own)).collect();
        let mut choices: Vec<SmallVec<[u8; 6]>> = Vec::new();
        for (reduction, low) in self.reductions.iter().zip(&lows) {
            let Some(low) = low else { continue };
            let mut all: SmallVec<[u8; 6]> = SmallVec::from_slice(&[reduction.index]);
            for (other, own) in self.reductions.iter().zip(&lows) {
                let Some(own) = own else { continue };
                let is_other = other.index != reduction.index && other.op == reduction.op;
                if is_other && self.shares(other, own, low) {
                    all.push(other.index);
                }
            }
            if self.is_ready(low, &all, reduction.op) {
                choices.push(all);
            }
        }
        choices
    }

    /// Eliminates these indices, outermost first, at the place of one of them that suits the others. `None`, and nothing is
    /// changed, if no law allows that now.
    pub fn eliminate(&mut self, indices: &[u8]) -> Option<&Step> {
        let is_twice = |index: &u8| indices.iter().filter(|&own| own == index).count() > 1;
        if indices.iter().any(is_twice) {
            return None;
        }
        let low = indices.iter().find_map(|&leader| self.place_of(indices, leader))?;
        let op = self.reduction(*indices.first()?)?.op;
        Some(self.take(&low, indices, op))
    }

    /// Takes an innermost reduction where it stands, with all that it reduces, and those of the same operator around it: what is computed
    /// if nothing is moved. `None` if there is none.
    pub fn take_whole(&mut self) -> Option<&Step> {
        let holds = |own: &Reduction| {
            let inside = self.below(own.top);
            self.reductions.iter().any(|other| other.top != own.top && inside.contains(&other.top))
        };
        let first = *self.reductions.iter().filter(|own| !holds(own)).min_by_key(|own| own.rank)?;
        let at_top = || self.reductions.iter().filter(|other| other.top == first.top);
        let ends = at_top().filter(|other| other.op != first.op).map(|other| other.rank).min();
        let same = at_top().filter(|other| other.op == first.op && ends.is_none_or(|rank| other.rank < rank));
        let indices: SmallVec<[u8; 6]> = same.map(|other| other.index).collect();
        Some(self.take(&Low { node: first.top, factors: SmallVec::new() }, &indices, first.op))
    }

    /// Combines some factors of one operator and keeps what that gives. `None`, and nothing is changed, if they are none, or have
    /// to be reduced first.
    pub fn keep(&mut self, factors: &[NodeId]) -> Option<&Step> {
        let node = self.parent(*factors.first()?)?;
        let Kind::Map(op, args) = &self.node(node).kind else { return None };
        let is_own = |factor: &NodeId| args.contains(factor);
        let is_twice = |factor: &NodeId| factors.iter().filter(|&own| own == factor).count() > 1;
        if !is_free(*op) || !factors.iter().all(is_own) || factors.iter().any(is_twice) {
            return None;
        }
        let inside: Vec<NodeId> = factors.iter().flat_map(|&factor| self.below(factor)).collect();
        if self.reductions.iter().any(|reduction| inside.contains(&reduction.top)) {
            return None;
        }
        let low = Low { node, factors: SmallVec::from_slice(factors) };
        Some(self.take(&low, &[], ReduceOp::Sum))
    }

    /// Where all these indices can be eliminated at once: where one of them is.
    fn place_of(&self, indices: &[u8], leader: u8) -> Option<Low> {
        let first = self.reduction(leader)?;
        let low = self.low(first)?;
        for &index in indices {
            let other = self.reduction(index)?;
            let shares = || self.low(other).is_some_and(|own| self.shares(other, &own, &low));
            if other.op != first.op || (index != leader && !shares()) {
                return None;
            }
        }
        self.is_ready(&low, indices, first.op).then_some(low)
    }

    /// A number for what a step computes, the same for steps that compute the same. Those before it are in `known`.
    pub fn signature(&self, step: &Step, known: &[u64]) -> u64 {
        let mut hasher = FxHasher::default();
        let role = |index: u8| {
            let all = step.axes.iter().chain(&step.reduced);
            all.copied().position(|own| own == index).map_or(u64::MAX, |place| place as u64)
        };
        (step.op, step.axes.len(), step.is_dense).hash(&mut hasher);
        for &index in step.axes.iter().chain(&step.reduced) {
            self.extents[usize::from(index)].hash(&mut hasher);
        }
        self.sign(step.body, known, &role, &mut hasher);
        hasher.finish()
    }

    fn sign(&self, id: NodeId, known: &[u64], role: &dyn Fn(u8) -> u64, hasher: &mut FxHasher) {
        let dim = |dim: &tj_ir::Dim, hasher: &mut FxHasher| match plain(dim) {
            Some(index) => role(index as u8).hash(hasher),
            None => dim.hash(hasher),
        };
        match &self.node(id).kind {
            Kind::Const(value) => (0, value).hash(hasher),
            Kind::Number(number) => (1, number).hash(hasher),
            Kind::Size(size) => {
                2.hash(hasher);
                dim(size, hasher);
            }
            Kind::Map(op, args) => {
                (3, op, args.len()).hash(hasher);
                args.iter().for_each(|&arg| self.sign(arg, known, role, hasher));
            }
            Kind::Read(leaf) => match &self.leaves[*leaf as usize] {
                Leaf::Source(source, at) => {
                    (4, source).hash(hasher);
                    at.iter().for_each(|at| dim(at, hasher));
                }
                Leaf::Step(step) => {
                    (5, known.get(*step as usize)).hash(hasher);
                    let axes = self.steps[*step as usize].axes.iter();
                    axes.for_each(|&axis| role(axis).hash(hasher));
                }
            },
        }
    }

    /// The reductions that have to be looked at together with the first one: those whose nodes hold each other.
    pub fn component(&self) -> IndexSet {
        let Some(first) = self.reductions.first() else { return 0 };
        let mut tops: SmallVec<[NodeId; 6]> = SmallVec::from_slice(&[first.top]);
        let mut all = bit(first.index);
        loop {
            let before = all;
            for other in &self.reductions {
                let meets = |&top: &NodeId| {
                    top == other.top
                        || self.below(top).contains(&other.top)
                        || self.below(other.top).contains(&top)
                };
                if all & bit(other.index) == 0 && tops.iter().any(meets) {
                    all |= bit(other.index);
                    tops.push(other.top);
                }
            }
            if all == before {
                return all;
            }
        }
    }

    /// Keeps the axes of what was eliminated last in this order, as far as it names them.
    pub fn keep_in_order(&mut self, order: &[u8]) {
        if let Some(step) = self.steps.last_mut() {
            let place = |index: &u8| order.iter().position(|own| own == index).unwrap_or(order.len());
            step.axes.sort_by_key(place);
        }
    }

    /// Keeps what was eliminated last as a dense tensor, without a fill.
    pub fn keep_dense(&mut self) {
        let Some(step) = self.steps.last_mut() else { return };
        step.is_dense = true;
        let last = Leaf::Step((self.steps.len() - 1) as u32);
        let is_it = |node: &Node| matches!(node.kind, Kind::Read(leaf) if self.leaves[leaf as usize] == last);
        let found: Vec<NodeId> =
            (0..self.nodes.len()).filter(|&at| is_it(&self.nodes[at])).map(|at| at as NodeId).collect();
        for id in found {
            self.nodes[id as usize].fill = None;
            self.refresh(id);
        }
    }

    fn take(&mut self, low: &Low, indices: &[u8], op: ReduceOp) -> &Step {
        let place = low.node;
        let body = match (&self.node(place).kind.clone(), low.factors.as_slice()) {
            (_, []) => {
                let node = self.node(place).clone();
                self.nodes.push(node);
                (self.nodes.len() - 1) as NodeId
            }
            (_, &[only]) => only,
            (Kind::Map(f, _), factors) => {
                let dtype = self.node(place).dtype;
                self.map(*f, SmallVec::from_slice(factors), dtype)
            }
            (Kind::Read(_) | Kind::Const(_) | Kind::Number(_) | Kind::Size(_), _) => place,
        };
        let taken = indices.iter().fold(0, |all, &index| all | bit(index));
        let Node { dtype, fill, indices: all, .. } = *self.node(body);
        let axes = members(all & !taken).collect();
        let reduced = SmallVec::from_slice(indices);
        self.steps.push(Step { op, axes, reduced, body, is_dense: false });
        self.leaves.push(Leaf::Step((self.steps.len() - 1) as u32));
        let kind = Kind::Read((self.leaves.len() - 1) as u32);
        let fill = if indices.is_empty() { fill } else { fill.and_then(|fill| of_reduce(op, fill)) };
        let read = self.push(kind, dtype, fill);
        let rest: SmallVec<[NodeId; 4]> =
            self.args(place).iter().copied().filter(|arg| !low.factors.contains(arg)).collect();
        if low.factors.is_empty() || rest.is_empty() {
            self.nodes[place as usize] = self.node(read).clone();
        } else if let Kind::Map(_, args) = &mut self.nodes[place as usize].kind {
            *args = rest;
            args.push(read);
        }
        self.reductions.retain(|reduction| taken & bit(reduction.index) == 0);
        self.refresh(place);
        &self.steps[self.steps.len() - 1]
    }

    /// Where a reduction is computed; `None` if another one has to be first.
    fn low(&self, reduction: &Reduction) -> Option<Low> {
        let mut node = reduction.top;
        let is_blocked = |node: NodeId, at_top: bool| {
            self.reductions.iter().any(|other| {
                other.top == node && other.op != reduction.op && (!at_top || other.rank < reduction.rank)
            })
        };
        if is_blocked(node, true) {
            return None;
        }
        while let Kind::Map(f, args) = &self.node(node).kind {
            let depends = |arg: &NodeId| self.visible(*arg) & bit(reduction.index) != 0;
            let dtype = self.node(node).dtype;
            let touched: SmallVec<[NodeId; 4]> = args.iter().copied().filter(depends).collect();
            // Of numbers that an operator takes for truths there is no "or".
            if let &[only] = touched.as_slice()
                && passes(*f, reduction.op, dtype)
                && self.node(only).dtype == dtype
            {
                if is_blocked(only, false) {
                    return None;
                }
                node = only;
                continue;
            }
            if is_free(*f) && passes(*f, reduction.op, dtype) && !touched.is_empty() {
                return Some(Low { node, factors: self.related(args, &touched) });
            }
            break;
        }
        Some(Low { node, factors: SmallVec::new() })
    }

    /// The factors that are combined where some are: those that depend on nothing else, too. What depends on no index comes
    /// along only if nothing is left otherwise.
    fn related(&self, args: &[NodeId], touched: &[NodeId]) -> SmallVec<[NodeId; 4]> {
        let all = touched.iter().fold(0, |all, &arg| all | self.visible(arg));
        let is_within = |arg: &NodeId| self.visible(*arg) & !all == 0;
        if args.iter().all(is_within) {
            return SmallVec::from_slice(args);
        }
        args.iter().copied().filter(|arg| is_within(arg) && self.visible(*arg) != 0).collect()
    }

    /// Whether a reduction, whose own place is `low`, may be computed with what is computed at another place.
    fn shares(&self, other: &Reduction, low: &Low, place: &Low) -> bool {
        if low.node == place.node {
            let all = |set: &Low| -> bool {
                set.factors.iter().all(|factor| place.factors.is_empty() || place.factors.contains(factor))
            };
            return place.factors.is_empty() == low.factors.is_empty() && all(low);
        }
        let is_below = |factor: &NodeId| self.below(*factor).contains(&low.node);
        let is_around = self.below(other.top).contains(&place.node);
        is_around && place.factors.iter().any(is_below)
    }

    /// Whether nothing has to be reduced before these indices at their place.
    fn is_ready(&self, low: &Low, indices: &[u8], op: ReduceOp) -> bool {
        let inside: Vec<NodeId> = if low.factors.is_empty() {
            self.below(low.node).into_iter().skip(1).collect()
        } else {
            low.factors.iter().flat_map(|&factor| self.below(factor)).collect()
        };
        let rank = indices.iter().filter_map(|&index| self.reduction(index)).map(|own| own.rank).max();
        self.reductions.iter().filter(|other| !indices.contains(&other.index)).all(|other| {
            let is_first = other.top == low.node && other.op != op && Some(other.rank) < rank;
            !inside.contains(&other.top) && !is_first
        })
    }
}
