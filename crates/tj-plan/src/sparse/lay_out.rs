//! Steps of the ways in which queries are computed, in order.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId};

use super::copy::copy;
use super::order::{Counts, Order};
use super::rows::rows;
use super::space::spaces;
use super::steps::{Cutter, Found, Step, StepProgram, Way, queries};
use super::{Argument, Nest, Operand, ResultKind, StoredInput, plain};
use crate::plan::{Plan, Produces, Query, QueryId};
use crate::scheduler::Sizes;

impl Cutter<'_> {
    /// Steps in order. Queries that walk nothing and do not wait for a nest share one.
    pub fn lay_out(&self, ways: Vec<(Vec<QueryId>, Way)>) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut waiting: Vec<QueryId> = Vec::new();
        let read_later: Vec<Vec<QueryId>> = self.readers(&ways);
        for (ids, way) in ways {
            let sources = way.sources().unwrap_or_default();
            if queries(&sources).iter().any(|read| waiting.contains(read)) {
                self.flush(&mut waiting, &read_later, &mut steps);
            }
            match way {
                Way::Dense => waiting.extend(ids),
                Way::Nest(found) => steps.push(self.nest_step(ids, *found)),
                Way::Moved(moved) => {
                    steps.push(Step {
                        from: sources,
                        gives: ids,
                        program: StepProgram::Moved(moved),
                        expected: None,
                    });
                }
                Way::Stretches(from, program) => {
                    steps.push(Step {
                        from,
                        gives: ids,
                        program: StepProgram::Stretches(program),
                        expected: None,
                    });
                }
            }
        }
        self.flush(&mut waiting, &read_later, &mut steps);
        updates_last(steps)
    }

    /// For each query, the nests that read it.
    fn readers(&self, ways: &[(Vec<QueryId>, Way)]) -> Vec<Vec<QueryId>> {
        let mut readers = vec![Vec::new(); self.plan.queries.len()];
        for (ids, way) in ways {
            for &id in ids {
                for read in queries(&way.sources().unwrap_or_else(|| self.read_by(id))) {
                    readers[read.index()].push(id);
                }
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
        let own = &self.plan.arena;
        let bodies: Vec<ExprId> = queries.iter().map(|&id| self.plan.query(id).body).collect();
        let mut new = FxHashMap::default();
        copy(own, &mut plan.arena, &mut new, &bodies, &mut |node| {
            if let Expr::Call { function, args, output } = own.node(node) {
                let args = args.iter().map(|&source| place(source)).collect();
                return Some(Expr::Call { function: *function, args, output: *output });
            }
            let Expr::Read { source, at } = own.node(node) else { return None };
            Some(Expr::Read { source: place(*source), at: at.clone() })
        });
        let copied = |&id: &QueryId| {
            let query = self.plan.query(id);
            Query { body: new[&query.body], ..query.clone() }
        };
        plan.queries = queries.iter().map(copied).collect();
        plan.produces = Produces(gives.iter().map(|id| place(Source::Def(id.0))).collect());
        steps.push(Step { from, gives, program: StepProgram::Dense(Box::new(plan)), expected: None });
    }

    /// The work from which on a dense argument is put into another order first.
    fn worth(&self, source: Source) -> f64 {
        match self.counts {
            Counts::Measured => Sizes.count(self.plan.shape_of(source)),
            Counts::Guessed => super::order::SIZE * super::order::SIZE,
        }
    }

    /// A source as an argument.
    pub fn declared(&self, source: Source) -> tj_ir::InputDecl {
        match source {
            Source::Input(i) => self.plan.inputs[i as usize].clone(),
            Source::Def(q) => {
                let query = &self.plan.queries[q as usize];
                tj_ir::InputDecl { name: None, dtype: query.dtype, shape: query.shape.clone(), data: None }
            }
        }
    }

    /// The step of one nest: its arguments are numbered, a source once for each way in which it is read.
    fn nest_step(&self, ids: Vec<QueryId>, found: Found) -> Step {
        let Found { arena, bodies, extents, accesses, order, spaces, base, .. } = found;
        let rank = self.plan.query(ids[0]).shape.len();
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
        copy(&arena, &mut to, &mut new, &bodies, &mut |node| {
            let Expr::Read { source, at } = arena.node(node) else { return None };
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
                (_, _) => Argument::Dense(axes(at, &order, extents.len(), row, self.worth(*source))),
            };
            let at = match &wanted {
                Argument::Dense(axes) => axes.iter().map(|&axis| at[axis].clone()).collect(),
                Argument::Stored(_) => at.clone(),
            };
            Some(Expr::Read { source: Source::Input(argument(*source, wanted)), at })
        });
        let widths = accesses.iter().filter_map(|access| Some(self.stored(access.source)?.width));
        let width = widths.max().unwrap_or(tj_tensor::Width::U64);
        let fill = spaces[&bodies[0]].fill;
        let inner = new[&order.inner];
        let plan = Plan {
            arena: to,
            inputs,
            queries: ids
                .iter()
                .zip(&bodies)
                .map(|(&id, body)| Query { body: new[body], ..self.plan.query(id).clone() })
                .collect(),
            produces: Produces((0..ids.len() as u32).map(Source::Def).collect()),
            guards: Vec::new(),
            symbols: self.plan.symbols.clone(),
            numbers: self.plan.numbers.clone(),
        };
        let updated = base.and_then(|base| from.iter().position(|source| *source == base));
        let result = match updated {
            Some(base) => ResultKind::Updated(base),
            None if self.is_dense(ids[0], &order, fill) => ResultKind::Dense,
            None => same_entries(&plan, &arguments, &order, inner, &extents[..rank]),
        };
        let expected = self.decided.expected.iter().find(|(known, _)| *known == ids[0]);
        let expected = expected.filter(|_| result == ResultKind::Stored).map(|(_, entries)| *entries);
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
            cost: order.here.cost,
        };
        Step { from, gives: ids, program: StepProgram::Nest(Box::new(nest)), expected }
    }
}

/// With updates of arguments after all that reads these: who is the only one to hold its memory writes into it. An update that
/// others read stays where it is.
fn updates_last(steps: Vec<Step>) -> Vec<Step> {
    let read: FxHashSet<Source> = steps.iter().flat_map(|step| step.from.iter().copied()).collect();
    let waits = |step: &Step| {
        let is_update = match &step.program {
            StepProgram::Nest(nest) => matches!(nest.result, ResultKind::Updated(_)),
            StepProgram::Dense(_) | StepProgram::Stretches(_) | StepProgram::Moved(_) => false,
        };
        is_update && !step.gives.iter().any(|id| read.contains(&Source::Def(id.0)))
    };
    let (updates, mut others): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(waits);
    others.extend(updates);
    others
}

/// The order in which a dense argument is read best: by the loops, where each axis is one. The loop of `row` runs inside of
/// all others. Programs of less work than it is `worth` leave it as it is.
fn axes(at: &[Dim], order: &Order, indices: usize, row: Option<u32>, worth: f64) -> Vec<usize> {
    let own: Vec<usize> = (0..at.len()).collect();
    let outside = order.loops.iter().copied().filter(|&index| Some(index) != row);
    let nested = (0..indices as u32).filter(|index| !order.loops.contains(index));
    let all: Vec<u32> = outside.chain(nested).chain(row).collect();
    let place = |axis: usize| plain(&at[axis]).and_then(|index| all.iter().position(|&l| l == index));
    let places: Option<SmallVec<[usize; 4]>> = own.iter().map(|&axis| place(axis)).collect();
    let Some(places) = places else { return own };
    // The innermost loop goes through the last axis already, or through few elements.
    let innermost = places.iter().copied().max();
    if places.last().copied() == innermost || order.cost < worth {
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
