//! A plan over arguments that are stored by levels, cut into programs.
//!
//! From the last query to the first: what is asked for is computed, and of what that reads, elementwise operators on
//! stored tensors are written in, and so are reductions that are read by one query only where that takes less work than
//! computing them as a whole. So a product of dense matrices under a sparse mask is computed where the mask has entries, and a
//! product of sparse matrices is computed whole before it is added to something. What is left to read is computed by an
//! earlier step.

use rustc_hash::FxHashMap;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId, InputDecl};
use tj_tensor::Scalar;

use super::moves::{self, Moved};
use super::order::{Counts, Order, Question, choose, size};
use super::space::{Space, follow_condition, settle, spaces};
use super::stretches::{self, Stretched};
use super::write::Writer;
use super::{Access, Entries, Nest, StoredInput, plain};
use crate::derive::{Decided, Place};
use crate::plan::{Plan, QueryId};
use crate::scheduler::Sizes;

/// A program among several.
#[derive(Clone, Debug)]
pub struct Step {
    /// What its arguments are.
    pub from: Vec<Source>,
    /// What its results are.
    pub gives: Vec<QueryId>,
    /// What it does.
    pub program: StepProgram,
    /// How many entries its result is expected to have, if it is stored by levels and a scheduler expects something.
    pub expected: Option<u64>,
}

impl Step {
    /// What it takes, in rounds of loops, by the sizes that are known.
    pub fn cost(&self) -> f64 {
        match &self.program {
            StepProgram::Dense(plan) => {
                let rounds = |id| {
                    let reduced = plan.root_reduce(id).map_or(1.0, |reduce| Sizes.guess(&reduce.extent));
                    reduced * Sizes.count(&plan.query(id).shape)
                };
                plan.query_ids().map(rounds).sum()
            }
            StepProgram::Nest(nest) => nest.cost,
            StepProgram::Stretches(_) | StepProgram::Moved(_) => 0.0,
        }
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepProgram {
    /// Queries on dense arguments; they are canonical.
    Dense(Box<Plan>),
    /// One query, or several beside each other, by walking what is stored.
    Nest(Box<Nest>),
    /// One query on stretches where no argument changes.
    Stretches(Box<Stretched>),
    /// One query by moving entries.
    Moved(Box<Moved>),
}

/// Cuts a canonical plan. `inputs` says which arguments are stored by levels, and `fills` what the fill of each product is, if
/// it has one: what has none is dense. What is `owned` may be updated.
pub fn steps(
    plan: &Plan,
    inputs: &[Option<StoredInput>],
    fills: &[Option<Scalar>],
    owned: &[bool],
    decided: &Decided,
) -> Vec<Step> {
    let by = |counts: Counts, inputs: &[Option<StoredInput>]| {
        let mut cutter = Cutter::new(plan, inputs, fills, owned, (decided, counts));
        cutter.foresee();
        let nests = cutter.nests();
        let ways = cutter.beside(nests);
        cutter.lay_out(ways)
    };
    let guessed = by(Counts::Guessed, inputs);
    if !decided.is_measured {
        return guessed;
    }
    // Entries of several tensors meet more or less often than by chance, so that what follows from counts has to be clearly better
    // than what is right for most data.
    let mut best = by(Counts::Measured, inputs);
    let spread: Vec<bool> = spreads(plan, inputs);
    if spread.contains(&true) {
        let kept = inputs.iter().zip(spread);
        let spread: Vec<_> = kept.map(|(input, is_spread)| input.clone().filter(|_| !is_spread)).collect();
        let spread = by(Counts::Measured, &spread);
        if cost(&spread) < cost(&best) {
            best = spread;
        }
    }
    if CALL + cost(&best) < CLEARLY * (CALL + cost(&guessed)) { best } else { guessed }
}

/// What steps cost, by the sizes and entries that are known.
fn cost(steps: &[Step]) -> f64 {
    steps.iter().map(Step::cost).sum()
}

/// What a step costs whatever it does, in rounds: its call, its arguments, its result. What is less than that does not decide.
pub const CALL: f64 = 3000.0;

/// What is less than this part of something is clearly less.
const CLEARLY: f64 = 0.8;

/// Which arguments are spread over memory where orders of loops follow from the data: vectors with long lists of entries beside
/// matrices, whose rows would meet all of such a list again and again.
pub fn spreads(plan: &Plan, inputs: &[Option<StoredInput>]) -> Vec<bool> {
    let has_matrix = inputs.iter().flatten().any(|stored| stored.format.rank() > 1);
    let is_long = |(stored, input): (&Option<StoredInput>, &InputDecl)| {
        let entries = stored.as_ref().and_then(|stored| stored.entries.as_ref());
        let long = |entries: &Entries| SPREAD * entries.count > Sizes.count(&input.shape);
        has_matrix && input.shape.len() == 1 && entries.is_some_and(long)
    };
    inputs.iter().zip(&plan.inputs).map(is_long).collect()
}

/// Vectors with an entry for at most so many elements are spread over memory.
const SPREAD: f64 = 64.0;

/// A query that is computed by walking, before its arguments are numbered.
pub(super) struct Found {
    pub arena: ExprArena,
    /// One for each result.
    pub bodies: Vec<ExprId>,
    pub extents: Vec<Dim>,
    pub accesses: Vec<Access>,
    pub order: Order,
    pub spaces: FxHashMap<ExprId, Space>,
    /// What is written in.
    pub inline: Vec<QueryId>,
    /// What is updated.
    pub base: Option<Source>,
}

impl Found {
    pub fn sources(&self) -> Vec<Source> {
        let of = |node| {
            if let Expr::Read { source, .. } = self.arena.node(node) { Some(*source) } else { None }
        };
        self.arena.reachable(&self.bodies).into_iter().filter_map(of).collect()
    }

    /// The queries that it reads.
    pub fn queries(&self) -> Vec<QueryId> {
        queries(&self.sources())
    }
}

pub(super) fn queries(sources: &[Source]) -> Vec<QueryId> {
    let of = |source: &Source| if let Source::Def(q) = source { Some(QueryId(*q)) } else { None };
    sources.iter().filter_map(of).collect()
}

/// How a query is computed.
pub(super) enum Way {
    /// With others that walk nothing.
    Dense,
    Nest(Box<Found>),
    Stretches(Vec<Source>, Box<Stretched>),
    Moved(Box<Moved>),
}

impl Way {
    /// What it reads, if it has a step of its own.
    pub fn sources(&self) -> Option<Vec<Source>> {
        match self {
            Way::Dense => None,
            Way::Nest(found) => Some(found.sources()),
            Way::Stretches(sources, _) => Some(sources.clone()),
            Way::Moved(moved) => Some(moved.sources()),
        }
    }
}

pub(super) struct Cutter<'p> {
    pub plan: &'p Plan,
    inputs: &'p [Option<StoredInput>],
    fills: &'p [Option<Scalar>],
    /// Which inputs are given for good.
    pub owned: &'p [bool],
    /// What a scheduler says.
    pub decided: &'p Decided,
    /// By what orders are chosen.
    pub counts: Counts,
    produced: Vec<bool>,
    /// How the results of queries would be stored, where that is by levels.
    results: FxHashMap<QueryId, StoredInput>,
    /// Whether a query's own expression reads what is stored by levels.
    touched: Vec<bool>,
    /// Whether a query is folded by stretches.
    folded: Vec<bool>,
    /// Queries that are put together of entries.
    moved: FxHashMap<QueryId, Moved>,
}

impl<'p> Cutter<'p> {
    pub fn new(
        plan: &'p Plan,
        inputs: &'p [Option<StoredInput>],
        fills: &'p [Option<Scalar>],
        owned: &'p [bool],
        (decided, counts): (&'p Decided, Counts),
    ) -> Cutter<'p> {
        Cutter {
            counts,
            plan,
            inputs,
            fills,
            owned,
            decided,
            produced: plan.produced(),
            results: FxHashMap::default(),
            touched: Vec::new(),
            folded: vec![false; plan.queries.len()],
            moved: FxHashMap::default(),
        }
    }
}

impl Cutter<'_> {
    /// Whether a query walks what is stored, by itself or by what is written into it.
    pub fn is_touched(&self, id: QueryId) -> bool {
        self.touched[id.index()]
    }

    /// A query that is put together of entries.
    pub fn moved(&self, id: QueryId) -> Option<&Moved> {
        self.moved.get(&id)
    }

    pub fn stored(&self, source: Source) -> Option<&StoredInput> {
        match source {
            Source::Input(i) => self.inputs.get(i as usize)?.as_ref(),
            Source::Def(q) => self.results.get(&QueryId(q)),
        }
    }

    /// A query that is computed by stretches. `alone` is asked for as it stands.
    fn stretched(&self, id: QueryId, produced: &[bool], alone: bool) -> Option<stretches::Found> {
        let stored = |source| self.stored(source);
        let is_kept =
            |q: QueryId| (produced[q.index()] || self.moved(q).is_some()) && self.results.contains_key(&q);
        let question = stretches::Question { plan: self.plan, stored: &stored, is_kept: &is_kept };
        let found = if alone { question.alone(id) } else { question.find(id) };
        found.filter(|found| {
            let is_stored = || match found.fill {
                Some(fill) => self.may_be_stored(id, fill),
                None => self.has_fill(id),
            };
            found.is_folded() || is_stored()
        })
    }

    /// Whether what is asked for has a fill.
    fn has_fill(&self, id: QueryId) -> bool {
        let mut asked = self.plan.produces.0.iter().zip(self.fills);
        asked.all(|(source, fill)| *source != Source::Def(id.0) || fill.is_some())
    }

    /// Whether a result may be stored by levels with this fill.
    pub fn may_be_stored(&self, id: QueryId, fill: Scalar) -> bool {
        let asked = self.plan.produces.0.iter().zip(self.fills);
        let mut asked = asked.filter(|(source, _)| **source == Source::Def(id.0));
        asked.all(|(_, wanted)| *wanted == Some(fill))
    }

    /// Finds out which results would be stored by levels.
    pub fn foresee(&mut self) {
        let produced = self.plan.produced();
        let beside = self.beside_stored();
        for id in self.plan.query_ids() {
            let reads = self.plan.reads(id);
            let is_elementwise = |q: u32| self.plan.root_reduce(QueryId(q)).is_none();
            let touched = reads.iter().any(|(_, source)| match *source {
                // What is written into its readers hands on what it reads.
                Source::Def(q) if is_elementwise(q) && self.touched[q as usize] => true,
                source @ (Source::Input(_) | Source::Def(_)) => self.stored(source).is_some(),
            });
            self.touched.push(touched);
            if !(touched || beside[id.index()]) {
                continue;
            }
            if let Some(moved) = moves::find(self.plan, id, &|source| self.stored(source))
                && self.may_be_stored(id, moved.fill)
            {
                let stored = moved.stored(&|source| self.stored(source));
                // What nobody asked for is written as it is read.
                let format = if produced[id.index()] { moved.format.clone() } else { stored.format.clone() };
                self.moved.insert(id, Moved { format, ..moved });
                self.results.insert(id, stored);
                continue;
            }
            if !touched || self.plan.root_call(id).is_some() {
                continue;
            }
            if let Some(found) = self.stretched(id, &produced, true) {
                self.folded[id.index()] = found.is_folded();
                // A fill that only a run finds out has no laws.
                if let (Some(fill), false) = (found.fill, found.is_folded()) {
                    let width =
                        reads.iter().filter_map(|(_, source)| Some(self.stored(*source)?.width)).max();
                    let width = width.unwrap_or(tj_tensor::Width::U64);
                    let stored = StoredInput {
                        format: found.format,
                        fill,
                        is_hypersparse: false,
                        width,
                        may_store_fill: true,
                        entries: None,
                    };
                    self.results.insert(id, stored);
                }
                continue;
            }
            if self.decided.place(id) == Place::Within {
                continue;
            }
            let Some(found) = self.find(&[id], &self.within(id)) else { continue };
            let Some(fill) = found.spaces[&found.bodies[0]].fill else { continue };
            let is_dense = self.decided.place(id) == Place::Dense;
            if !is_dense && found.order.is_sparse && self.may_be_stored(id, fill) {
                let rank = self.plan.query(id).shape.len();
                let width = reads.iter().filter_map(|(_, source)| Some(self.stored(*source)?.width)).max();
                let stored = StoredInput {
                    format: tj_tensor::Format::csf(rank),
                    fill,
                    is_hypersparse: reads
                        .iter()
                        .any(|(_, source)| self.stored(*source).is_some_and(|stored| stored.is_hypersparse)),
                    width: width.unwrap_or(tj_tensor::Width::U64),
                    // -0 is not dropped, and equals 0.
                    may_store_fill: true,
                    entries: self.expected(id, &found.order),
                };
                let format = stored.lists(&(0..rank).collect::<Vec<_>>());
                self.results.insert(id, StoredInput { format, ..stored });
            }
        }
    }

    /// Whether a query is read by one that depends on what is stored: what has entries on a diagonal only is stored, too, there.
    fn beside_stored(&self) -> Vec<bool> {
        let mut depends = vec![false; self.plan.queries.len()];
        let mut beside = vec![false; self.plan.queries.len()];
        for id in self.plan.query_ids() {
            let reads = self.plan.reads(id);
            depends[id.index()] = reads.iter().any(|(_, source)| match source {
                Source::Def(q) => depends[*q as usize],
                source @ Source::Input(_) => self.stored(*source).is_some(),
            });
            if depends[id.index()] {
                let defs = queries(&reads.into_iter().map(|(_, source)| source).collect::<Vec<_>>());
                defs.into_iter().for_each(|q| beside[q.index()] = true);
            }
        }
        beside
    }

    /// Queries of one shape with others written in, their spaces and order; `None` if they have different ones.
    pub fn find(&self, ids: &[QueryId], inline: &[QueryId]) -> Option<Found> {
        let mut writer = Writer::new(self.plan);
        let bodies = writer.queries(ids, &|q| inline.contains(&q))?;
        let (mut arena, extents) = (writer.arena, writer.extents);
        let fill_of = |source: Source| self.stored(source).map(|stored| stored.fill);
        let bodies = settle(&mut arena, &bodies, &fill_of);
        let mut spaces: FxHashMap<ExprId, Space> =
            bodies.iter().flat_map(|&body| spaces(&arena, body, &fill_of)).collect();
        let base = match (ids, bodies.as_slice()) {
            (&[id], &[body]) => self.updated(id, &arena, body, &spaces),
            (_, _) => None,
        };
        if base.is_some() {
            follow_condition(&arena, bodies[0], &mut spaces);
        }
        let mut accesses = Vec::new();
        for node in arena.reachable(&bodies) {
            if let Expr::Read { source, at } = arena.node(node)
                && self.stored(*source).is_some()
            {
                let is_single = self.plan.shape_of(*source).iter().map(|size| *size == Dim::ONE).collect();
                accesses.push(Access { id: node, source: *source, at: at.clone(), is_single });
            }
        }
        let orders = bodies.iter().map(|&body| {
            choose(&Question {
                arena: &arena,
                body,
                spaces: &spaces,
                extents: &extents,
                rank: self.plan.query(ids[0]).shape.len(),
                accesses: &accesses,
                stored: &|source| self.stored(source),
                counts: self.counts,
                is_measured: self.decided.is_measured,
                is_kept: !self.produced[ids[0].index()],
            })
        });
        let order = orders.map(Some).reduce(|all, next| all?.beside(&next?))??;
        Some(Found { arena, bodies, extents, accesses, order, spaces, inline: inline.to_vec(), base })
    }

    /// From last to first: what has to be computed, and what of it by walking.
    fn nests(&mut self) -> Vec<Option<Way>> {
        let plan = self.plan;
        let mut needed = plan.produced();
        let produced = plan.produced();
        // An elementwise query that is written into several others has what it reads computed as often.
        let mut readers = vec![0_usize; plan.queries.len()];
        for id in plan.query_ids().rev() {
            let hands_on = plan.root_reduce(id).is_none() && !produced[id.index()];
            let times = if hands_on { readers[id.index()].max(1) } else { 1 };
            for (_, source) in plan.reads(id) {
                if let Source::Def(q) = source {
                    readers[q as usize] = readers[q as usize].saturating_add(times);
                }
            }
        }
        let mut nests: Vec<Option<Way>> = plan.query_ids().map(|_| None).collect();
        for id in plan.query_ids().rev() {
            if !needed[id.index()] {
                continue;
            }
            if let Some(moved) = self.moved(id) {
                queries(&moved.sources()).into_iter().for_each(|q| needed[q.index()] = true);
                nests[id.index()] = Some(Way::Moved(Box::new(moved.clone())));
                continue;
            }
            let stretched = self.stretched(id, &produced, false).and_then(|found| {
                let program = found.program(plan, id, &|source| self.declared(source))?;
                Some(Way::Stretches(found.sources, Box::new(program)))
            });
            let way = match stretched {
                Some(way) => way,
                None => match self.grown(id, &produced, &readers) {
                    Some(found) => Way::Nest(Box::new(found)),
                    None => Way::Dense,
                },
            };
            let sources = way.sources().unwrap_or_else(|| self.read_by(id));
            queries(&sources).into_iter().for_each(|q| needed[q.index()] = true);
            nests[id.index()] = Some(way);
        }
        nests
    }

    pub fn read_by(&self, id: QueryId) -> Vec<Source> {
        self.plan.reads(id).into_iter().map(|(_, source)| source).collect()
    }

    /// The query as a nest, with what it pays to write in; `None` if it walks nothing.
    fn grown(&self, id: QueryId, produced: &[bool], readers: &[usize]) -> Option<Found> {
        let plan = self.plan;
        if plan.root_call(id).is_some() {
            return None;
        }
        let mut found = self.find(&[id], &self.within(id));
        // Each round looks at what is read now; a query that was refused stays so.
        let mut refused: Vec<QueryId> = Vec::new();
        while let Some(current) = &found {
            let mut next = current.queries();
            next.retain(|q| !refused.contains(q));
            next.sort();
            let Some(&candidate) = next.last() else { break };
            let mut wider = current.inline.clone();
            wider.push(candidate);
            wider.extend(self.handed_on(candidate, produced));
            let is_own = produced[candidate.index()]
                || self.folded[candidate.index()]
                || matches!(self.decided.place(candidate), Place::Own | Place::Dense)
                || self.moved(candidate).is_some();
            let longer = (!is_own && plan.root_call(candidate).is_none())
                .then(|| self.find(&[id], &wider))
                .flatten()
                .filter(|longer| self.pays(id, current, longer, candidate, (produced, readers)));
            match longer {
                Some(longer) => found = Some(longer),
                None => refused.push(candidate),
            }
        }
        found.filter(|found| !found.accesses.is_empty())
    }

    /// Whether a query is better written into `reader` than computed as a whole.
    fn pays(
        &self,
        reader: QueryId,
        without: &Found,
        with: &Found,
        candidate: QueryId,
        (produced, readers): (&[bool], &[usize]),
    ) -> bool {
        let plan = self.plan;
        let is_reduction = plan.root_reduce(candidate).is_some();
        if !is_reduction && self.touched[candidate.index()] {
            return true;
        }
        if is_reduction && readers[candidate.index()] > 1 {
            return false;
        }
        // A result of one element has no tasks; those of its parts run side by side.
        if is_reduction && plan.query(reader).shape.is_empty() && !plan.query(candidate).shape.is_empty() {
            return false;
        }
        let Some(alone) = self.find(&[candidate], &self.handed_on(candidate, produced)) else {
            return false;
        };
        let elements: f64 = plan.query(candidate).shape.iter().map(|dim| size(dim, self.counts)).product();
        if is_reduction {
            // The whole is also written and read again.
            return with.order.cost
                <= without.order.cost + alone.order.cost + elements.min(alone.order.visited);
        }
        if self.is_read_in_place(reader, without, candidate) {
            return true;
        }
        // What walks nothing is evaluated where it is read: not more often than it has elements.
        let cost = f64::from(
            plan.arena
                .reachable(&[plan.query(candidate).body])
                .iter()
                .map(
                    |&node| {
                        if let Expr::Map { op, .. } = plan.arena.node(node) { op.info().cost } else { 0 }
                    },
                )
                .sum::<u32>(),
        );
        cost == 0.0 || with.order.cost <= 2.0 * elements
    }

    /// The queries that are computed as parts of a query, as was decided.
    fn within(&self, id: QueryId) -> Vec<QueryId> {
        let (mut open, mut found) = (vec![id], Vec::new());
        while let Some(id) = open.pop() {
            for q in queries(&self.read_by(id)) {
                if self.decided.place(q) == Place::Within && !found.contains(&q) {
                    found.push(q);
                    open.push(q);
                }
            }
        }
        found
    }

    /// How many entries a result will have, where decisions follow from that.
    fn expected(&self, id: QueryId, order: &Order) -> Option<Entries> {
        let shape = &self.plan.query(id).shape;
        let present = shape.iter().map(|dim| size(dim, Counts::Measured).min(order.here.visited)).collect();
        self.decided.is_measured.then_some(Entries { count: order.here.visited, present })
    }

    /// The elementwise queries on what is stored that a query reads, and that those read: they are written in.
    fn handed_on(&self, id: QueryId, produced: &[bool]) -> Vec<QueryId> {
        let (mut open, mut found) = (vec![id], Vec::new());
        while let Some(id) = open.pop() {
            for q in queries(&self.read_by(id)) {
                let is_elementwise =
                    self.plan.root_reduce(q).is_none() && !produced[q.index()] && self.moved(q).is_none();
                if is_elementwise && self.touched[q.index()] && !found.contains(&q) {
                    found.push(q);
                    open.push(q);
                }
            }
        }
        found
    }

    /// Whether a query is read by another one only at the element that is computed, outside of its reductions.
    fn is_read_in_place(&self, reader: QueryId, found: &Found, candidate: QueryId) -> bool {
        let rank = self.plan.query(reader).shape.len();
        let is_read = |node: ExprId| {
            let Expr::Read { source, at } = found.arena.node(node) else { return None };
            (*source == Source::Def(candidate.0)).then_some(at)
        };
        let (mut open, mut seen) = (found.bodies.clone(), Vec::new());
        while let Some(node) = open.pop() {
            if seen.contains(&node) {
                continue;
            }
            seen.push(node);
            if let Expr::Reduce { body, .. } = found.arena.node(node) {
                if found.arena.reachable(&[*body]).into_iter().any(|inside| is_read(inside).is_some()) {
                    return false;
                }
                continue;
            }
            let is_elsewhere = |at: &tj_ir::expr::Indices| {
                let mut own: Vec<u32> = at.iter().filter_map(plain).collect();
                own.sort_unstable();
                at.len() != rank || !own.into_iter().eq(0..rank as u32)
            };
            if is_read(node).is_some_and(is_elsewhere) {
                return false;
            }
            open.extend_from_slice(found.arena.node(node).children());
        }
        true
    }
}
