//! A scheduler that decides at random.
//!
//! Whatever is legal by the rules of `tj_plan::fuse` must give the same bits, however foolish it is: [`Chaos`] draws
//! from all of it. Whatever is not must be refused with [`tensorjit::Error::Scheduler`]: [`Spoiled`] breaks a legal
//! decision in one way.

use tensorjit::{CompileOptions, CompiledGraph, Error, Scheduler};
use tj_ir::{Expr, Source};
use tj_plan::{Backend, Engine, GroupDecision, Grouping, Plan, QueryId, Sizes, fuse};

use crate::check::{Arguments, Case};
use crate::engines::{Named, Outcome, differ, scheduled};
use crate::rng::Rng;

/// Expressions do not grow beyond this many nodes: writing queries into readers at other positions copies them.
const MAX_NODES: usize = 1000;

/// Random legal decisions.
#[derive(Clone, Copy, Debug)]
pub struct Chaos {
    /// Makes the decisions.
    pub seed: u64,
    /// What runs the result.
    pub engine: Engine,
}

impl Scheduler for Chaos {
    fn name(&self) -> &str {
        "chaos"
    }

    fn options_key(&self) -> u64 {
        self.seed
    }

    fn engine(&self) -> Engine {
        self.engine
    }

    fn group(&self, plan: &Plan, _sizes: &Sizes) -> Grouping {
        legal(plan, &mut Rng::new(self.seed))
    }
}

/// Random legal decisions, broken in one way that is mostly illegal.
#[derive(Clone, Copy, Debug)]
pub struct Spoiled {
    /// Makes the decisions.
    pub seed: u64,
}

impl Scheduler for Spoiled {
    fn name(&self) -> &str {
        "spoiled"
    }

    fn group(&self, plan: &Plan, _sizes: &Sizes) -> Grouping {
        let mut rng = Rng::new(self.seed);
        let grouping = legal(plan, &mut rng);
        spoil(grouping, plan, &mut rng)
    }
}

/// Chaos on compiled code with several threads, and on interpreted kernels.
pub fn engines(seed: u64) -> Vec<Named> {
    let compiled = scheduled(Chaos { seed, engine: Engine::Compiled(Backend::Auto) });
    let cut = CompileOptions { threads: 3, parallel_work: Some(0), ..compiled };
    let interpreted = scheduled(Chaos { seed: !seed, engine: Engine::InterpretKernel });
    vec![("chaos, compiled", cut), ("chaos, interpreted kernels", interpreted)]
}

/// Runs a case under spoiled decisions: the outcomes given, or the error that says so. Gives whether it was refused.
///
/// # Errors
/// Anything else, in words.
pub fn check_spoiled(case: &Case, outcomes: &[Outcome], seed: u64) -> Result<bool, String> {
    let outputs = case.program.outputs("").map_err(|e| e.to_string())?;
    let arguments = case.arguments("", &outputs)?;
    let graph = match CompiledGraph::new(&outputs, scheduled(Spoiled { seed })) {
        Ok(graph) => graph,
        Err(Error::Scheduler { .. }) => return Ok(true),
        Err(error) => return Err(format!("spoiled {seed}: {error}")),
    };
    for (arguments, expected) in arguments.iter().zip(outcomes) {
        let call = Arguments::call(arguments);
        let got = graph.call_with_bindings(&call.bindings, &call.inputs).map_err(|e| e.to_string());
        if let Some(problem) = differ(&got, expected) {
            return Err(format!("spoiled {seed}: {problem}"));
        }
    }
    Ok(false)
}

/// The queries that each query reads once some are written into their readers; inlined ones read nothing.
fn reads(plan: &Plan, inline: &[bool]) -> Vec<Vec<usize>> {
    let mut through: Vec<Vec<usize>> = Vec::with_capacity(plan.queries.len());
    for id in plan.query_ids() {
        let mut found: Vec<usize> = Vec::new();
        for (_, source) in plan.reads(id) {
            match source {
                Source::Def(q) if inline[q as usize] => found.extend(&through[q as usize]),
                Source::Def(q) => found.push(q as usize),
                Source::Input(_) => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        through.push(found);
    }
    through
}

/// Which queries are written into their readers: any that may be, each with the same probability.
fn random_inlining(plan: &Plan, rng: &mut Rng) -> Vec<bool> {
    let percent = rng.pick(&[0, 30, 70, 100]);
    let mut inline = vec![false; plan.queries.len()];
    let mut nodes = vec![0; plan.queries.len()];
    let mut kept = plan.produced();
    for id in plan.query_ids().filter(|&id| plan.root_call(id).is_some()) {
        kept[id.index()] = true;
        for (_, source) in plan.reads(id) {
            if let Source::Def(q) = source {
                kept[q as usize] = true;
            }
        }
    }
    for id in plan.query_ids() {
        let own = plan.arena.reachable(&[plan.query(id).body]);
        let written = own.iter().map(|&node| match plan.arena.node(node) {
            Expr::Read { source: Source::Def(q), .. } if inline[*q as usize] => nodes[*q as usize],
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Map { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => 1,
        });
        nodes[id.index()] = written.sum();
        let may = plan.root_reduce(id).is_none() && !kept[id.index()] && nodes[id.index()] < MAX_NODES / 4;
        inline[id.index()] = may && rng.chance(percent);
    }
    inline
}

/// Any inlining, any order, any groups, any number of shared axes that the rules allow.
pub(crate) fn legal(plan: &Plan, rng: &mut Rng) -> Grouping {
    let inline = random_inlining(plan, rng);
    let reads = reads(plan, &inline);
    let join = rng.pick(&[0, 50, 90]);
    let mut left: Vec<usize> = (0..plan.queries.len()).filter(|&q| !inline[q]).collect();
    let mut groups: Vec<GroupDecision> = Vec::new();
    let mut group_of: Vec<Option<usize>> = vec![None; plan.queries.len()];
    while !left.is_empty() {
        let ready: Vec<usize> =
            left.iter().copied().filter(|&q| reads[q].iter().all(|&r| group_of[r].is_some())).collect();
        let next = rng.pick(&ready);
        left.retain(|&q| q != next);
        let first = reads[next].iter().filter_map(|&r| group_of[r]).max().unwrap_or(0);
        let joined = (rng.chance(join) && first < groups.len())
            .then(|| {
                try_join(plan, &inline, &groups, first + rng.below(groups.len() - first), next, &left, rng)
            })
            .flatten();
        match joined {
            Some((g, outer)) => {
                groups[g].queries.push(QueryId(next as u32));
                groups[g].outer = outer;
                group_of[next] = Some(g);
            }
            None => {
                let rank = plan.queries[next].shape.len();
                let outer = if rng.chance(70) { rank } else { rng.below(rank + 1) };
                groups.push(GroupDecision { queries: vec![QueryId(next as u32)], outer });
                group_of[next] = Some(groups.len() - 1);
            }
        }
    }
    if rng.chance(5) {
        groups
            .insert(rng.below(groups.len() + 1), GroupDecision { queries: Vec::new(), outer: rng.below(3) });
    }
    Grouping { inline, groups, reasons: Vec::new() }
}

/// Puts `next` into group `g`, sharing as many axes as a random number and the rules allow.
fn try_join(
    plan: &Plan,
    inline: &[bool],
    groups: &[GroupDecision],
    g: usize,
    next: usize,
    left: &[usize],
    rng: &mut Rng,
) -> Option<(usize, usize)> {
    let most = groups[g].outer.min(plan.queries[next].shape.len());
    let start = if rng.chance(60) { most } else { rng.below(most + 1) };
    (0..=start).rev().find_map(|outer| {
        let mut groups = groups.to_vec();
        groups[g].queries.push(QueryId(next as u32));
        groups[g].outer = outer;
        // What is not decided yet comes after, one by one, in program order.
        groups.extend(left.iter().map(|&q| GroupDecision { queries: vec![QueryId(q as u32)], outer: 0 }));
        let grouping = Grouping { inline: inline.to_vec(), groups, reasons: Vec::new() };
        fuse(plan, &grouping).is_ok().then_some((g, outer))
    })
}

/// One thing is wrong, or at least unusual.
fn spoil(mut grouping: Grouping, plan: &Plan, rng: &mut Rng) -> Grouping {
    let n = plan.queries.len();
    if n == 0 || grouping.groups.is_empty() {
        grouping.groups.push(GroupDecision { queries: vec![QueryId(n as u32)], outer: 0 });
        return grouping;
    }
    let g = rng.below(grouping.groups.len());
    let group = &mut grouping.groups[g];
    match rng.below(10) {
        0 => grouping.groups.reverse(),
        1 => drop(grouping.groups.remove(g)),
        2 => {
            let again = group.clone();
            grouping.groups.push(again);
        }
        3 => group.queries.push(QueryId((n + rng.below(3)) as u32)),
        4 => {
            let q = rng.below(grouping.inline.len());
            grouping.inline[q] = !grouping.inline[q];
        }
        5 => grouping.inline.truncate(rng.below(n)),
        6 => grouping.inline.resize(n + 3, true),
        7 => group.outer += 1 + rng.below(3),
        8 => group.queries.reverse(),
        _ => {
            let other = rng.below(grouping.groups.len());
            let moved = std::mem::take(&mut grouping.groups[other].queries);
            grouping.groups[g].queries.extend(moved);
        }
    }
    grouping
}
