//! A plan over arguments that are stored by levels, cut into programs.
//!
//! From the last query to the first: what is asked for is computed, and of what that reads, elementwise operators on
//! stored tensors are written in, and so are reductions that are read by one query only where that takes less work than
//! computing them as a whole. So a product of dense matrices under a sparse mask is computed where the mask has entries, and a
//! product of sparse matrices is computed whole before it is added to something. What is left to read is computed by an
//! earlier step.
//!
//! A selection between new values and an argument that is given for good, by a condition that is stored, is walked where the
//! condition has entries: the argument is the rest of the result, in whose memory it may be.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op};
use tj_tensor::Scalar;

use super::order::{Order, Question, choose};
use super::rows::rows;
use super::space::{Space, follow_condition, spaces};
use super::stretches::{self, Stretched};
use super::write::Writer;
use super::{Access, Argument, Nest, Operand, ResultKind, StoredInput, plain};
use crate::plan::{Plan, Produces, Query, QueryId};

/// A program among several.
#[derive(Clone, Debug)]
pub struct Step {
    /// What its arguments are.
    pub from: Vec<Source>,
    /// What its results are.
    pub gives: Vec<QueryId>,
    /// What it does.
    pub program: StepProgram,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepProgram {
    /// Queries on dense arguments; they are canonical.
    Dense(Box<Plan>),
    /// One query by walking what is stored.
    Nest(Box<Nest>),
    /// One query on stretches where no argument changes.
    Stretches(Box<Stretched>),
}

/// Cuts a canonical plan. `inputs` says which arguments are stored by levels, and `fills` what the fill of each product is, if
/// it has one: what has none is dense. What is `owned` may be updated.
pub fn steps(
    plan: &Plan,
    inputs: &[Option<StoredInput>],
    fills: &[Option<Scalar>],
    owned: &[bool],
) -> Vec<Step> {
    let mut cutter = Cutter {
        plan,
        inputs,
        fills,
        owned,
        results: FxHashMap::default(),
        touched: Vec::new(),
        folded: vec![false; plan.queries.len()],
    };
    cutter.foresee();
    let nests = cutter.nests();
    cutter.lay_out(nests)
}

/// A query that is computed by walking, before its arguments are numbered.
struct Found {
    arena: ExprArena,
    body: ExprId,
    extents: Vec<Dim>,
    accesses: Vec<Access>,
    order: Order,
    spaces: FxHashMap<ExprId, Space>,
    /// What is updated.
    base: Option<Source>,
}

impl Found {
    fn sources(&self) -> Vec<Source> {
        let of = |node| {
            if let Expr::Read { source, .. } = self.arena.node(node) { Some(*source) } else { None }
        };
        self.arena.reachable(&[self.body]).into_iter().filter_map(of).collect()
    }

    /// The queries that it reads.
    fn queries(&self) -> Vec<QueryId> {
        queries(&self.sources())
    }
}

fn queries(sources: &[Source]) -> Vec<QueryId> {
    let of = |source: &Source| if let Source::Def(q) = source { Some(QueryId(*q)) } else { None };
    sources.iter().filter_map(of).collect()
}

/// How a query is computed.
enum Way {
    /// With others that walk nothing.
    Dense,
    Nest(Box<Found>),
    Stretches(Vec<Source>, Box<Stretched>),
}

impl Way {
    /// What it reads, if it has a step of its own.
    fn sources(&self) -> Option<Vec<Source>> {
        match self {
            Way::Dense => None,
            Way::Nest(found) => Some(found.sources()),
            Way::Stretches(sources, _) => Some(sources.clone()),
        }
    }
}

struct Cutter<'p> {
    plan: &'p Plan,
    inputs: &'p [Option<StoredInput>],
    fills: &'p [Option<Scalar>],
    /// Which inputs are given for good.
    owned: &'p [bool],
    /// How the results of queries would be stored, where that is by levels.
    results: FxHashMap<QueryId, StoredInput>,
    /// Whether a query's own expression reads what is stored by levels.
    touched: Vec<bool>,
    /// Whether a query is folded by stretches.
    folded: Vec<bool>,
}

impl Cutter<'_> {
    fn stored(&self, source: Source) -> Option<&StoredInput> {
        match source {
            Source::Input(i) => self.inputs.get(i as usize)?.as_ref(),
            Source::Def(q) => self.results.get(&QueryId(q)),
        }
    }

    /// A query that is computed by stretches. `alone` is asked for as it stands.
    fn stretched(&self, id: QueryId, produced: &[bool], alone: bool) -> Option<stretches::Found> {
        let stored = |source| self.stored(source);
        let is_kept = |q: QueryId| produced[q.index()] && self.results.contains_key(&q);
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
    fn may_be_stored(&self, id: QueryId, fill: Scalar) -> bool {
        let asked = self.plan.produces.0.iter().zip(self.fills);
        let mut asked = asked.filter(|(source, _)| **source == Source::Def(id.0));
        asked.all(|(_, wanted)| *wanted == Some(fill))
    }

    /// Finds out which results would be stored by levels.
    fn foresee(&mut self) {
        let produced = self.plan.produced();
        for id in self.plan.query_ids() {
            let reads = self.plan.reads(id);
            let is_elementwise = |q: u32| self.plan.root_reduce(QueryId(q)).is_none();
            let touched = reads.iter().any(|(_, source)| match *source {
                // What is written into its readers hands on what it reads.
                Source::Def(q) if is_elementwise(q) && self.touched[q as usize] => true,
                source @ (Source::Input(_) | Source::Def(_)) => self.stored(source).is_some(),
            });
            self.touched.push(touched);
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
                    };
                    self.results.insert(id, stored);
                }
                continue;
            }
            let Some(found) = self.find(id, &|_| false) else { continue };
            let Some(fill) = found.spaces[&found.body].fill else { continue };
            if found.order.is_sparse() && self.may_be_stored(id, fill) {
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
                };
                let format = stored.lists(&(0..rank).collect::<Vec<_>>());
                self.results.insert(id, StoredInput { format, ..stored });
            }
        }
    }

    /// A query with others written in, its spaces and order.
    fn find(&self, id: QueryId, inline: &dyn Fn(QueryId) -> bool) -> Option<Found> {
        let mut writer = Writer::new(self.plan);
        let body = writer.query(id, inline)?;
        let (arena, extents) = (writer.arena, writer.extents);
        let fill_of = |source: Source| self.stored(source).map(|stored| stored.fill);
        let mut spaces = spaces(&arena, body, &fill_of);
        let base = self.updated(id, &arena, body, &spaces);
        if base.is_some() {
            follow_condition(&arena, body, &mut spaces);
        }
        let mut accesses = Vec::new();
        for node in arena.reachable(&[body]) {
            if let Expr::Read { source, at } = arena.node(node)
                && self.stored(*source).is_some()
            {
                accesses.push(Access { id: node, source: *source, at: at.clone() });
            }
        }
        let question = Question {
            arena: &arena,
            body,
            spaces: &spaces,
            extents: &extents,
            rank: self.plan.query(id).shape.len(),
            accesses: &accesses,
            stored: &|source| self.stored(source),
        };
        let order = choose(&question);
        Some(Found { arena, body, extents, accesses, order, spaces, base })
    }

    /// The argument of which a result is an update: it is dense, given for good, and selected at its own places wherever the
    /// condition has no entry.
    fn updated(
        &self,
        id: QueryId,
        arena: &ExprArena,
        body: ExprId,
        spaces: &FxHashMap<ExprId, Space>,
    ) -> Option<Source> {
        let Expr::Map { op: Op::Where, args } = arena.node(body) else { return None };
        let &[condition, yes, no] = args.as_slice() else { return None };
        let Space { fill: Some(Scalar::Bool(fill)), tree } = &spaces[&condition] else { return None };
        let base = if *fill { yes } else { no };
        let Expr::Read { source: source @ Source::Input(i), at } = arena.node(base) else { return None };
        let (query, declared) = (self.plan.query(id), self.declared(*source));
        let is_own = |(axis, dim): (usize, &Dim)| plain(dim) == Some(axis as u32);
        let fits = self.owned.get(*i as usize) == Some(&true)
            && self.stored(*source).is_none()
            && self.plan.produces.0.contains(&Source::Def(id.0))
            && declared.shape == query.shape
            && declared.dtype == query.dtype
            && at.iter().enumerate().all(is_own)
            && !tree.leaves().is_empty();
        fits.then_some(*source)
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

    fn read_by(&self, id: QueryId) -> Vec<Source> {
        self.plan.reads(id).into_iter().map(|(_, source)| source).collect()
    }

    /// The query as a nest, with what it pays to write in; `None` if it walks nothing.
    fn grown(&self, id: QueryId, produced: &[bool], readers: &[usize]) -> Option<Found> {
        let plan = self.plan;
        let mut inline: Vec<QueryId> = Vec::new();
        if plan.root_call(id).is_some() {
            return None;
        }
        let mut found = self.find(id, &|_| false);
        // Each round looks at what is read now; a query that was refused stays so.
        let mut refused: Vec<QueryId> = Vec::new();
        while let Some(current) = &found {
            let mut next = current.queries();
            next.retain(|q| !refused.contains(q));
            next.sort();
            let Some(&candidate) = next.last() else { break };
            let wider = |q: QueryId| q == candidate || inline.contains(&q);
            let is_own = produced[candidate.index()] || self.folded[candidate.index()];
            let longer = (!is_own && plan.root_call(candidate).is_none())
                .then(|| self.find(id, &wider))
                .flatten()
                .filter(|longer| self.pays(id, current, longer, candidate, readers[candidate.index()]));
            match longer {
                Some(longer) => {
                    inline.push(candidate);
                    found = Some(longer);
                }
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
        readers: usize,
    ) -> bool {
        let plan = self.plan;
        let is_reduction = plan.root_reduce(candidate).is_some();
        if !is_reduction && self.touched[candidate.index()] {
            return true;
        }
        if is_reduction && readers > 1 {
            return false;
        }
        // A result of one element has no tasks; those of its parts run side by side.
        if is_reduction && plan.query(reader).shape.is_empty() && !plan.query(candidate).shape.is_empty() {
            return false;
        }
        let Some(alone) = self.find(candidate, &|_| false) else { return false };
        let elements: f64 = plan
            .query(candidate)
            .shape
            .iter()
            .map(|dim| dim.is_const().map_or(super::order::SIZE, |n| n.max(1) as f64))
            .product();
        if is_reduction {
            // The whole is also written and read again.
            return with.order.cost
                <= without.order.cost + alone.order.cost + elements.min(alone.order.visited);
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

    /// Steps in order. Queries that walk nothing and do not wait for a nest share one.
    fn lay_out(&self, nests: Vec<Option<Way>>) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut waiting: Vec<QueryId> = Vec::new();
        let read_later: Vec<Vec<QueryId>> = self.readers(&nests);
        for (at, found) in nests.into_iter().enumerate() {
            let id = QueryId(at as u32);
            let Some(way) = found else { continue };
            let sources = way.sources().unwrap_or_default();
            if queries(&sources).iter().any(|read| waiting.contains(read)) {
                self.flush(&mut waiting, &read_later, &mut steps);
            }
            match way {
                Way::Dense => waiting.push(id),
                Way::Nest(found) => steps.push(self.nest_step(id, *found)),
                Way::Stretches(from, program) => {
                    steps.push(Step { from, gives: vec![id], program: StepProgram::Stretches(program) });
                }
            }
        }
        self.flush(&mut waiting, &read_later, &mut steps);
        steps
    }

    /// For each query, the nests that read it.
    fn readers(&self, nests: &[Option<Way>]) -> Vec<Vec<QueryId>> {
        let mut readers = vec![Vec::new(); self.plan.queries.len()];
        for (at, way) in nests.iter().enumerate() {
            let id = QueryId(at as u32);
            let Some(way) = way else { continue };
            for read in queries(&way.sources().unwrap_or_else(|| self.read_by(id))) {
                readers[read.index()].push(id);
            }
        }
        readers
    }

    /// A step of all queries that wait.
    fn flush(&self, waiting: &mut Vec<QueryId>, readers: &[Vec<QueryId>], steps: &mut Vec<Step>) {
        let queries = std::mem::take(waiting);
        if queries.is_empty() {
            return;
        }
        let produced = self.plan.produced();
        let gives: Vec<QueryId> = queries
            .iter()
            .copied()
            .filter(|id| produced[id.index()] || readers[id.index()].iter().any(|r| !queries.contains(r)))
            .collect();
        let mut from: Vec<Source> = Vec::new();
        for &id in &queries {
            for (_, source) in self.plan.reads(id) {
                let own = matches!(source, Source::Def(q) if queries.contains(&QueryId(q)));
                if !own && !from.contains(&source) {
                    from.push(source);
                }
            }
        }
        let mut plan = Plan {
            arena: ExprArena::new(),
            inputs: from.iter().map(|&source| self.declared(source)).collect(),
            queries: Vec::new(),
            produces: Produces::default(),
            guards: Vec::new(),
            symbols: self.plan.symbols.clone(),
            numbers: self.plan.numbers.clone(),
        };
        let place = |source: Source| match source {
            Source::Def(q) if queries.contains(&QueryId(q)) => {
                Source::Def(queries.iter().position(|id| id.0 == q).unwrap_or(0) as u32)
            }
            source @ (Source::Input(_) | Source::Def(_)) => {
                Source::Input(from.iter().position(|s| *s == source).unwrap_or(0) as u32)
            }
        };
        let mut done = FxHashMap::default();
        for &id in &queries {
            let query = self.plan.query(id);
            let body = copied(&self.plan.arena, &mut plan.arena, &mut done, query.body, &place);
            plan.queries.push(Query { body, ..query.clone() });
        }
        plan.produces = Produces(gives.iter().map(|id| place(Source::Def(id.0))).collect());
        steps.push(Step { from, gives, program: StepProgram::Dense(Box::new(plan)) });
    }

    /// A source as an argument.
    fn declared(&self, source: Source) -> tj_ir::InputDecl {
        match source {
            Source::Input(i) => self.plan.inputs[i as usize].clone(),
            Source::Def(q) => {
                let query = &self.plan.queries[q as usize];
                tj_ir::InputDecl { name: None, dtype: query.dtype, shape: query.shape.clone(), data: None }
            }
        }
    }

    /// The step of one nest: its arguments are numbered, a source once for each way in which it is read.
    fn nest_step(&self, id: QueryId, found: Found) -> Step {
        let Found { arena, body, extents, accesses, order, spaces, base } = found;
        let rank = self.plan.query(id).shape.len();
        let mut from: Vec<Source> = Vec::new();
        let mut arguments: Vec<Argument> = Vec::new();
        let mut inputs = Vec::new();
        let mut new: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let mut to = ExprArena::new();
        let mut argument = |source: Source, argument: Argument| {
            let known = from.iter().zip(&arguments).position(|(f, a)| *f == source && *a == argument);
            known.unwrap_or_else(|| {
                let mut declared = self.declared(source);
                if let Argument::Dense(axes) = &argument {
                    declared.shape = axes.iter().map(|&axis| declared.shape[axis].clone()).collect();
                }
                inputs.push(declared);
                from.push(source);
                arguments.push(argument);
                from.len() - 1
            }) as u32
        };
        let fills = |node: ExprId| spaces[&node].fill;
        let last = order.loops.last().copied();
        let row = last.filter(|&last| {
            (last as usize) < rank
                && !rows(&arena, order.inner, last, &|s| self.stored(s).is_some(), &fills).is_empty()
        });
        for node in arena.reachable(&[body]) {
            let dtype = arena.dtype(node);
            let written = match arena.node(node) {
                Expr::Read { source, at } => {
                    let access = accesses.iter().position(|access| access.id == node);
                    let wanted = match (access, self.stored(*source)) {
                        (Some(access), Some(stored)) => {
                            let levels = &order.levels[access];
                            let own = stored.is_native() && *levels == stored.order();
                            let format = if own { stored.format.clone() } else { stored.lists(levels) };
                            let StoredInput { fill, may_store_fill, is_hypersparse, .. } = *stored;
                            Argument::Stored(Operand { format, fill, may_store_fill, is_hypersparse })
                        }
                        // As it will be the result.
                        (_, _) if base == Some(*source) => Argument::Dense((0..at.len()).collect()),
                        (_, _) => Argument::Dense(axes(at, &order, extents.len(), row)),
                    };
                    let at = match &wanted {
                        Argument::Dense(axes) => axes.iter().map(|&axis| at[axis].clone()).collect(),
                        Argument::Stored(_) => at.clone(),
                    };
                    Expr::Read { source: Source::Input(argument(*source, wanted)), at }
                }
                node @ (Expr::Const(_)
                | Expr::Number(_)
                | Expr::Size(_)
                | Expr::Map { .. }
                | Expr::Reduce { .. }
                | Expr::Call { .. }) => node.map_children(|child| new[&child]),
            };
            let written = to.intern(written, dtype);
            new.insert(node, written);
        }
        let query = self.plan.query(id);
        let widths = accesses.iter().filter_map(|access| Some(self.stored(access.source)?.width));
        let width = widths.max().unwrap_or(tj_tensor::Width::U64);
        let fill = spaces[&body].fill;
        let inner = new[&order.inner];
        let plan = Plan {
            arena: to,
            inputs,
            queries: vec![Query { body: new[&body], ..query.clone() }],
            produces: Produces(vec![Source::Def(0)]),
            guards: Vec::new(),
            symbols: self.plan.symbols.clone(),
            numbers: self.plan.numbers.clone(),
        };
        let updated = base.and_then(|base| from.iter().position(|source| *source == base));
        let result = match (updated, fill) {
            (Some(base), _) => ResultKind::Updated(base),
            (None, Some(fill)) if order.is_sparse() && rank > 0 && self.may_be_stored(id, fill) => {
                same_entries(&plan, &arguments, &order, inner, &extents[..rank])
            }
            (None, Some(_) | None) => ResultKind::Dense,
        };
        let nest = Nest {
            plan,
            arguments,
            extents,
            width,
            loops: order.loops,
            inner,
            combined: order.combined,
            result,
            fill,
            cost: order.cost,
        };
        Step { from, gives: vec![id], program: StepProgram::Nest(Box::new(nest)) }
    }
}

/// The order in which a dense argument is read best: by the loops, where each axis is one. The loop of `row` runs inside of
/// all others.
fn axes(at: &[Dim], order: &Order, indices: usize, row: Option<u32>) -> Vec<usize> {
    let own: Vec<usize> = (0..at.len()).collect();
    let outside = order.loops.iter().copied().filter(|&index| Some(index) != row);
    let nested = (0..indices as u32).filter(|index| !order.loops.contains(index));
    let all: Vec<u32> = outside.chain(nested).chain(row).collect();
    let place = |axis: usize| plain(&at[axis]).and_then(|index| all.iter().position(|&l| l == index));
    let places: Option<SmallVec<[usize; 4]>> = own.iter().map(|&axis| place(axis)).collect();
    let Some(places) = places else { return own };
    // The innermost loop goes through the last axis already, or through few elements.
    let innermost = places.iter().copied().max();
    if places.last().copied() == innermost || order.cost < super::order::SIZE * super::order::SIZE {
        return own;
    }
    let mut sorted = own;
    sorted.sort_by_key(|&axis| places[axis]);
    sorted
}

/// Whether the result has an entry for each entry of an argument: the one read that the tree is, at the axes of the result,
/// in the order of the loops.
fn same_entries(
    plan: &Plan,
    arguments: &[Argument],
    order: &Order,
    inner: ExprId,
    axes: &[Dim],
) -> ResultKind {
    let fill_of = |source: Source| match source {
        Source::Input(i) => match &arguments[i as usize] {
            Argument::Stored(operand) => Some(operand.fill),
            Argument::Dense(_) => None,
        },
        Source::Def(_) => None,
    };
    let space = &spaces(&plan.arena, inner, &fill_of)[&inner];
    let super::space::Tree::Leaf(leaf) = space.tree else { return ResultKind::Stored };
    let Expr::Read { source: Source::Input(i), at } = plan.arena.node(leaf) else {
        return ResultKind::Stored;
    };
    let Argument::Stored(operand) = &arguments[*i as usize] else { return ResultKind::Stored };
    let by_levels: Option<Vec<u32>> = operand.levels().iter().map(|level| plain(&at[level.dim])).collect();
    let is_own = (0..axes.len()).all(|axis| at.get(axis).and_then(plain) == Some(axis as u32));
    let same_shape = plan.inputs[*i as usize].shape.as_slice() == axes;
    let fills_match = space.fill.is_some();
    match by_levels == Some(order.loops.clone())
        && is_own
        && same_shape
        && at.len() == axes.len()
        && fills_match
    {
        true => ResultKind::AsArgument(*i as usize),
        false => ResultKind::Stored,
    }
}

/// Copies an expression with its sources renamed.
fn copied(
    from: &ExprArena,
    to: &mut ExprArena,
    done: &mut FxHashMap<ExprId, ExprId>,
    body: ExprId,
    place: &dyn Fn(Source) -> Source,
) -> ExprId {
    for id in from.reachable(&[body]) {
        if done.contains_key(&id) {
            continue;
        }
        let node = match from.node(id) {
            Expr::Read { source, at } => Expr::Read { source: place(*source), at: at.clone() },
            Expr::Call { function, args, output } => Expr::Call {
                function: *function,
                args: args.iter().map(|&source| place(source)).collect(),
                output: *output,
            },
            node @ (Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Map { .. }
            | Expr::Reduce { .. }) => node.map_children(|child| done[&child]),
        };
        let new = to.intern(node, from.dtype(id));
        done.insert(id, new);
    }
    done[&body]
}
