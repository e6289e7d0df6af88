//! The order of loops, by the work that it takes.
//!
//! Every order of the loops is tried, with the indices of a reduction at the root among those of the result or inside of
//! them. The work is the sum over loops of how often their bodies run, where a loop runs as often as its tree says: an "and"
//! as often as its shortest list, an "or" as the sum of its lists. Counts are not looked at, so that one program has one order:
//! an axis has [`SIZE`] elements unless it is a number, a list has [`LIST`], and most rows have a list.
//!
//! A scheduler may ask for orders by the sizes and entries of the data ([`Counts::Measured`]). Then costs are what kernels do as
//! nearly as it is known, and an order that was chosen by guess is priced by the data as well, so that the two can be compared.

mod meet;

use rustc_hash::FxHashMap;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId, ReduceOp};

use meet::work;

use super::space::{Space, Tree, is_neutral, visited};
use super::{Access, StoredInput, followed, has_index, plain};
use crate::scheduler::Sizes;

/// Elements of an axis, for guesses.
pub const SIZE: f64 = 4096.0;

/// By what orders are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Guesses, the same for all data.
    Guessed,
    /// The sizes and entries of the data.
    Measured,
}

/// How far a size goes: that of the data, or a guess for every size.
pub fn size(dim: &Dim, counts: Counts) -> f64 {
    match counts {
        Counts::Measured => Sizes.guess(dim).max(1.0),
        Counts::Guessed => dim.is_const().map_or(SIZE, |size| size.max(1) as f64),
    }
}

/// Entries of a list, for guesses.
pub const LIST: f64 = 16.0;

/// What finding a coordinate in a list costs, in steps.
const SEARCH: f64 = 6.0;

/// What an entry costs that is put into another order, in steps: tensors remember that for next time.
const CONVERT: f64 = 1.0;

/// The same where data are known, of an argument, for which a program is called again, and of a result, which nobody remembers.
const CONVERT_KNOWN: [f64; 2] = [0.25, 4.0];

/// Results of at most so many elements are near, wherever they are written to, where data are known.
const NEAR: f64 = 32_768.0;

/// What memory for an element costs that is not written to, in steps, where data are known.
const FRESH: f64 = 0.2;

/// What an entry costs that is added to a row which is collected and sorted, in steps.
const COLLECT: f64 = 3.0;

/// The same where data are known, beside the loops, which run once to count and once to write.
const COLLECT_KNOWN: f64 = 1.5;

/// What reading a dense argument across its rows costs, in steps.
const STRIDE: f64 = 3.0;

/// Results of at least this part of all elements are dense.
const DENSE: f64 = 1.0 / 8.0;

/// What is kept for other steps is dense from here on, where its entries are known: who reads it goes along them.
pub const KEPT_DENSE: f64 = 0.4;

/// More loops are not tried in other orders.
const MAX_TRIED: usize = 5;

/// What orders are chosen for.
pub struct Question<'a> {
    /// The expressions.
    pub arena: &'a ExprArena,
    /// What is computed at every position of the result.
    pub body: ExprId,
    /// The spaces of its nodes.
    pub spaces: &'a FxHashMap<ExprId, Space>,
    /// How far each index runs; the first are the axes of the result.
    pub extents: &'a [Dim],
    /// The number of axes of the result.
    pub rank: usize,
    /// Its reads of what is stored by levels.
    pub accesses: &'a [Access],
    /// How a source is stored.
    pub stored: &'a dyn Fn(Source) -> Option<&'a StoredInput>,
    /// By what an order is chosen.
    pub counts: Counts,
    /// Whether the data are known, so that it can be said what an order takes here, by whatever it was chosen.
    pub is_measured: bool,
    /// Whether the result is for other steps only.
    pub is_kept: bool,
}

/// An order, and what it takes.
#[derive(Clone, Debug)]
pub struct Order {
    /// The loops outside of everything.
    pub loops: Vec<u32>,
    /// What they hold.
    pub inner: ExprId,
    /// The reduction whose indices are among them.
    pub combined: Option<ReduceOp>,
    /// For each access, the order of the dimensions of its levels.
    pub levels: Vec<Vec<usize>>,
    /// Work.
    pub cost: f64,
    /// How many elements of the result are visited.
    pub visited: f64,
    /// How many elements it has.
    pub elements: f64,
    /// Whether the result has so few entries that it is stored by levels.
    pub is_sparse: bool,
    /// What is expected of it here: by the data if they are known.
    pub here: Here,
}

/// What is expected of an order.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    /// Work.
    pub cost: f64,
    /// How many elements of the result are visited.
    pub visited: f64,
}

impl Order {
    /// This and another result in the same loops, each computed at its place; `None` if the loops differ.
    pub fn beside(self, other: &Order) -> Option<Order> {
        let fits = self.loops == other.loops && self.combined.is_none() && other.combined.is_none();
        let (cost, visited) = (self.cost + other.cost, self.visited.max(other.visited));
        let here = Here {
            cost: self.here.cost + other.here.cost,
            visited: self.here.visited.max(other.here.visited),
        };
        let is_sparse = self.is_sparse && other.is_sparse;
        fits.then_some(Order { cost, visited, here, is_sparse, ..self })
    }
}

/// A chain of reductions by one operator: its indices, and what it combines.
pub fn chain(arena: &ExprArena, root: ExprId) -> Option<(ReduceOp, Vec<u32>, ExprId)> {
    let (mut indices, mut inner, mut by) = (Vec::new(), root, None);
    while let Expr::Reduce { op, index, body, .. } = arena.node(inner) {
        // Halves are rounded after each reduction, and widths differ where a sum of narrow integers begins.
        if by.is_some_and(|by| by != *op) || (by.is_some() && matches!(op, ReduceOp::By(_))) {
            break;
        }
        by = Some(*op);
        indices.extend(index.as_index());
        inner = *body;
    }
    by.map(|op| (op, indices, inner))
}

/// Guesses of how a read goes through its levels.
#[derive(Clone)]
struct Guess {
    /// For each level, what it reads at, and how many entries a list has.
    levels: Vec<(Dim, Option<f64>)>,
}

/// Where a walk through loops is.
#[derive(Clone)]
struct State {
    bound: Vec<bool>,
    /// For each access, whether its last list is spread over memory.
    spread: Vec<bool>,
    next: Vec<usize>,
    /// Steps at the current place beside its visit.
    extra: f64,
    visits: f64,
    cost: f64,
}

/// Chooses an order.
pub fn choose(q: &Question<'_>) -> Order {
    let best = cheapest(q);
    if q.counts == Counts::Measured || !q.is_measured {
        return best;
    }
    let place = if best.combined.is_some() { best.inner } else { q.body };
    let measured = Question { counts: Counts::Measured, ..*q };
    let priced =
        measured.tried(&best.loops, best.inner, best.combined, &q.spaces[&place].tree, Some(best.is_sparse));
    Order { here: priced.here, ..best }
}

fn cheapest(q: &Question<'_>) -> Order {
    let outputs: Vec<u32> = (0..q.rank as u32).collect();
    let mut best: Option<Order> = None;
    let mut consider = |order: Order| {
        if best.as_ref().is_none_or(|best| order.cost < best.cost) {
            best = Some(order);
        }
    };
    let tree = |id: ExprId| &q.spaces[&id].tree;
    for loops in orders(&outputs) {
        consider(q.tried(&loops, q.body, None, tree(q.body), None));
    }
    if let Some((op, reduced, inner)) = chain(q.arena, q.body)
        && q.spaces[&inner].fill.is_some_and(|fill| is_neutral(op, fill))
    {
        let all: Vec<u32> = outputs.iter().chain(&reduced).copied().collect();
        for loops in orders(&all) {
            // Where the reduction is innermost, it needs no place for partial results.
            let first = loops.iter().position(|l| reduced.contains(l)).unwrap_or(loops.len());
            if loops[first..].iter().any(|l| !reduced.contains(l)) {
                consider(q.tried(&loops, inner, Some(op), tree(inner), None));
            }
        }
    }
    best.expect("the order of the indices is always tried")
}

/// All orders of some indices, the given one first; only that one if there are many.
fn orders(indices: &[u32]) -> Vec<Vec<u32>> {
    if indices.len() > MAX_TRIED {
        return vec![indices.to_vec()];
    }
    let mut all = vec![Vec::new()];
    for _ in 0..indices.len() {
        let longer = all.iter().flat_map(|order: &Vec<u32>| {
            let left = indices.iter().filter(|index| !order.contains(index));
            left.map(|&index| order.iter().copied().chain([index]).collect())
        });
        all = longer.collect();
    }
    all
}

impl Question<'_> {
    fn size(&self, index: u32) -> f64 {
        size(&self.extents[index as usize], self.counts)
    }

    /// The order of levels that suits an order of loops, and whether the read has to be put into it first.
    fn levels(&self, access: &Access, loops: &[u32]) -> (Vec<usize>, bool) {
        let Some(stored) = (self.stored)(access.source) else { return (Vec::new(), false) };
        let own = stored.order();
        let place = |dim: usize| {
            let index = followed(&access.at[dim]);
            let in_loops = index.and_then(|(index, _)| loops.iter().position(|&l| l == index));
            // A fixed row is found before all loops, unless there is no other.
            let is_fixed = !has_index(&access.at[dim]) && !access.is_single[dim];
            if is_fixed { 0 } else { 1 + in_loops.unwrap_or(loops.len()) }
        };
        let mut sorted = own.clone();
        // What no loop outside reads one by one stays behind, in its own order.
        sorted.sort_by_key(|&dim| place(dim));
        let changes = sorted != own || !stored.is_native();
        (sorted, changes)
    }

    fn guess(&self, access: &Access, levels: &[usize]) -> Guess {
        let Some(stored) = (self.stored)(access.source) else { return Guess { levels: Vec::new() } };
        let own = levels == stored.order() && stored.is_native();
        let format = if own { stored.format.clone() } else { stored.lists(levels) };
        let mut positions = 1.0;
        let lists = format.levels().iter().enumerate().map(|(l, level)| {
            let size = followed(&access.at[levels[l]]).map_or(1.0, |(index, _)| self.size(index));
            let is_list = level.kind != tj_tensor::LevelKind::Dense;
            let rows = if stored.is_hypersparse { size / 32.0 } else { size / 2.0 };
            let guessed = if l == 0 && levels.len() > 1 { rows } else { LIST.min(size) };
            let entries = match stored.entries.as_ref().filter(|_| self.counts == Counts::Measured) {
                None => guessed,
                Some(known) => {
                    let below = if is_list { known.at(&levels[..=l]) } else { positions * size };
                    below / std::mem::replace(&mut positions, below.max(1e-9))
                }
            };
            (access.at[levels[l]].clone(), is_list.then_some(entries.max(0.01)))
        });
        Guess { levels: lists.collect() }
    }

    /// What some loops take. Whether the result is stored by levels follows from that, unless it was decided before.
    fn tried(
        &self,
        loops: &[u32],
        inner: ExprId,
        combined: Option<ReduceOp>,
        tree: &Tree,
        is_stored: Option<bool>,
    ) -> Order {
        // Loops of nested reductions come later, in the order in which they are written.
        let all: Vec<u32> = loops
            .iter()
            .copied()
            .chain((0..self.extents.len() as u32).filter(|i| !loops.contains(i)))
            .collect();
        let mut levels = Vec::new();
        let mut guesses = Vec::new();
        let mut convert = 0.0;
        for access in self.accesses {
            let (order, changes) = self.levels(access, &all);
            let guess = self.guess(access, &order);
            if changes {
                convert += self.convert(access.source) * self.entries(access, &guess);
            }
            guesses.push(guess);
            levels.push(order);
        }
        let mut state = State {
            bound: vec![false; self.extents.len()],
            spread: vec![false; self.accesses.len()],
            next: vec![0; self.accesses.len()],
            extra: 0.0,
            visits: 1.0,
            cost: convert,
        };
        self.locate(&guesses, &mut state);
        let (mut visited, mut elements) = (1.0_f64, 1.0);
        let mut outputs = 0;
        for &index in loops {
            self.run(&guesses, &mut state, index, tree);
            if (index as usize) < self.rank {
                outputs += 1;
                elements *= self.size(index);
                visited = visited.max(state.visits).min(elements);
            }
            if outputs == self.rank {
                visited = visited.min(state.visits);
            }
        }
        let mut outside = 1.0;
        if combined.is_some() {
            let first = loops.iter().position(|&l| l as usize >= self.rank).unwrap_or(0);
            outside = loops[..first].iter().map(|&l| self.size(l)).product();
        }
        let is_measured = self.counts == Counts::Measured;
        let dense_from = if is_measured && self.is_kept { KEPT_DENSE } else { DENSE };
        let is_sparse = is_stored.unwrap_or(visited < dense_from * elements);
        if combined.is_some() {
            let mut collect = COLLECT;
            if is_measured && is_sparse {
                state.cost += state.cost - convert;
                collect = COLLECT_KNOWN;
            }
            // Collected rows are as long as the axes inside of the first reduced loop.
            let width: f64 = elements / outside;
            state.cost += if is_sparse { collect * state.visits + outside * width / 512.0 } else { elements };
            // A row that is the whole result takes memory for every element of it.
            if is_sparse && outside <= 1.0 {
                state.cost += if is_measured { FRESH } else { 1.0 } * elements;
            }
            // What is added to all over memory waits for it.
            let is_near = is_measured && elements <= NEAR;
            if loops.first().is_some_and(|&l| l as usize >= self.rank) && !is_near {
                state.cost *= 2.0;
            }
        }
        // A sparse result is written in the order of its axes.
        let in_order = loops.iter().filter(|&&l| (l as usize) < self.rank).is_sorted();
        if is_sparse && !in_order {
            state.cost += self.convert(Source::Def(0)) * visited;
        }
        if combined.is_some()
            && let Some(&last) = loops.last()
        {
            state.cost += state.visits * self.strides(inner, last);
            // A dense result is written across its rows, too.
            let is_across = (last as usize) + 1 < self.rank && !is_sparse;
            if is_measured && is_across {
                state.cost += STRIDE * state.visits;
            }
        }
        let mut cost = state.cost;
        cost += self.nested(&guesses, &state, inner);
        let here = Here { cost, visited };
        Order { loops: loops.to_vec(), inner, combined, levels, cost, visited, elements, is_sparse, here }
    }

    /// What an entry costs that is put into another order.
    fn convert(&self, source: Source) -> f64 {
        match source {
            Source::Input(_) | Source::Def(_) if self.counts == Counts::Guessed => CONVERT,
            Source::Input(_) => CONVERT_KNOWN[0],
            Source::Def(_) => CONVERT_KNOWN[1],
        }
    }

    /// How many entries an argument has.
    fn entries(&self, access: &Access, guess: &Guess) -> f64 {
        let known = (self.stored)(access.source).and_then(|stored| stored.entries.as_ref());
        match known.filter(|_| self.counts == Counts::Measured) {
            Some(known) => known.count,
            None => guess.levels.iter().map(|(_, list)| list.unwrap_or(SIZE)).product(),
        }
    }

    /// What reading dense arguments costs beside, where the loop of `index` is the innermost one around `body`.
    fn strides(&self, body: ExprId, index: u32) -> f64 {
        let uses = |dim: &Dim| dim.symbols().any(|symbol| symbol.as_index() == Some(index));
        let across = self.arena.reachable(&[body]).into_iter().filter(|&node| {
            if let Expr::Read { source, at } = self.arena.node(node)
                && (self.stored)(*source).is_none()
            {
                return at.split_last().is_some_and(|(last, others)| others.iter().any(uses) && !uses(last));
            }
            false
        });
        STRIDE * across.count() as f64
    }

    /// Goes into a loop.
    fn run(&self, guesses: &[Guess], state: &mut State, index: u32, tree: &Tree) {
        self.spread(guesses, state, index);
        let mut lists: FxHashMap<ExprId, f64> = FxHashMap::default();
        let mut spread: Vec<ExprId> = Vec::new();
        for (at, guess) in guesses.iter().enumerate() {
            if let Some((dim, list)) = guess.levels.get(state.next[at])
                && follows(dim, index, list.is_some())
            {
                state.next[at] += 1;
                if let Some(entries) = list {
                    lists.insert(self.accesses[at].id, *entries);
                    let is_last = state.next[at] == guess.levels.len();
                    spread.extend((state.spread[at] && is_last).then_some(self.accesses[at].id));
                }
            }
        }
        let tree = tree.at(&|id| lists.contains_key(&id));
        let size = self.size(index);
        let (runs, steps) = work(&tree, &lists, size, &spread);
        // Lists that are not walked are followed.
        let followed: f64 = lists.iter().filter(|(id, _)| !tree.leaves().contains(id)).map(|(_, n)| n).sum();
        state.cost += state.visits * (steps + followed);
        state.visits *= runs;
        state.bound[index as usize] = true;
        state.extra = 0.0;
        self.locate(guesses, state);
        state.cost += state.visits * state.extra;
    }

    /// Goes through levels whose coordinates are known.
    fn locate(&self, guesses: &[Guess], state: &mut State) {
        for (at, guess) in guesses.iter().enumerate() {
            while let Some((dim, list)) = guess.levels.get(state.next[at]) {
                let known = |s: tj_ir::Symbol| s.as_index().is_none_or(|i| state.bound[i as usize]);
                if !dim.symbols().all(known) {
                    break;
                }
                state.next[at] += 1;
                state.extra += if list.is_some() { SEARCH } else { 0.0 };
            }
        }
    }

    /// The work of the reductions in an expression that is evaluated where `state` is.
    fn nested(&self, guesses: &[Guess], state: &State, body: ExprId) -> f64 {
        let mut cost = 0.0;
        let mut open = vec![body];
        let mut seen = Vec::new();
        while let Some(id) = open.pop() {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let Some((op, indices, inner)) = chain(self.arena, id) else {
                open.extend_from_slice(self.arena.node(id).children());
                continue;
            };
            let mut inside = State { cost: 0.0, ..state.clone() };
            let is_stored = |source| (self.stored)(source).is_some();
            let tree = visited(self.arena, self.spaces, (op, &indices, inner), &is_stored);
            for &index in &indices {
                self.run(guesses, &mut inside, index, &tree);
            }
            if let Some(&last) = indices.last() {
                inside.cost += inside.visits * self.strides(inner, last);
            }
            cost += inside.cost + self.nested(guesses, &inside, inner);
        }
        cost
    }
}

/// Whether a level is gone through by the loop of an index: a dense one is stepped through wherever it is read.
fn follows(dim: &Dim, index: u32, is_list: bool) -> bool {
    if is_list { followed(dim).is_some_and(|(own, _)| own == index) } else { plain(dim) == Some(index) }
}
