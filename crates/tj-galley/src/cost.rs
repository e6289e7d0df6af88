//! What a step costs: the rounds of its loops, what it writes, and what it puts into another order first.
//!
//! **Unit.** One round of a loop along a list, some nanoseconds.
//!
//! **Orders of loops** are found by Selinger's dynamic program over sets of indices: what is left to do inside depends on which
//! indices are bound, and not on the order in which they were. A loop goes along the shortest list that may lead it; the others
//! are looked up.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Dim, Op};
use tj_plan::derive::form::{Form, IndexSet, Kind, Leaf, NodeId, bit, members};
use tj_plan::derive::{Step, fill_decides};
use tj_plan::plan::QueryId;
use tj_plan::scheduler::{Reason, Sizes};
use tj_plan::sparse::steps::CALL;
use tj_plan::sparse::{order, plain};

use crate::bound::Bound;
use crate::statistics::Statistics;
use crate::support::{Degrees, Support};

/// What a round costs in which nothing is looked up, and that may run in lanes.
const DENSE: f64 = 0.25;

/// What a multiplication costs in a product of dense matrices.
const GEMM: f64 = 0.04;

/// What it costs to look an entry up in another list.
const LOOK_UP: f64 = 0.7;

/// What it costs to read across the rows of a dense argument.
const STRIDE: f64 = 1.5;

/// What it costs to write an element of a dense result.
const WRITE: f64 = 0.5;

/// What it costs to write an entry of a result that is stored by levels.
const STORE: f64 = 4.0;

/// What it costs to collect a term of a row.
const COLLECT: f64 = 2.0;

/// What it costs to put an entry of an argument into another order, which is remembered, and of an intermediate result.
const CONVERT: [f64; 2] = [2.0, 6.0];

/// Results of at least this part of all elements are dense, and what is kept on the way.
const SPARSE: [f64; 2] = [0.125, order::KEPT_DENSE];

/// What leaves less than this part of a factor is multiplied into it first.
const FILTERS: f64 = 0.6;

/// What it costs to price a step.
pub const PRICING: f64 = 2000.0;

/// Steps that are expected to take more rounds are looked at by samples, if their factors go round in a circle.
const LOOKED_AT: f64 = 3e6;

/// Loops of which all orders are tried.
const MAX_EXACT: usize = 8;

/// A loop that is entered.
struct Entered {
    /// The indices of the loops around it.
    set: IndexSet,
    index: u8,
    /// How often it is entered, and how often its body runs.
    outside: f64,
    inside: f64,
    /// The factors that are put into another order already, a bit each.
    converted: u64,
}

/// What is known of a form and of what it reads.
pub struct Facts<'s> {
    statistics: &'s Statistics<'s>,
    /// How far each index runs.
    sizes: SmallVec<[f64; 16]>,
    /// Whether what is kept may be dense and decide nothing: all arguments are finite.
    pub may_be_dense: bool,
}

/// A step and what it costs.
#[derive(Clone, Debug)]
pub struct Priced {
    /// In all.
    pub cost: f64,
    /// Rounds of its innermost loops.
    pub rounds: f64,
    /// Entries of its result, or elements if it is dense.
    pub count: f64,
    /// At most so many entries, whatever was expected.
    pub most: f64,
    /// Whether it is a product of dense matrices.
    pub is_product: bool,
    /// Entries of its result for each element.
    pub density: f64,
    /// Whether its result is stored by levels.
    pub is_sparse: bool,
    /// Where its result differs from its fill; none if everywhere. Its indices are places among those of the step.
    pub result: Option<Arc<Support>>,
    /// Its loops, outermost first, as places among the axes and what is reduced.
    pub order: SmallVec<[u8; 8]>,
}

/// A number in a few letters.
pub fn short(number: f64) -> String {
    if number < 1e4 { format!("{number:.0}") } else { format!("{number:.1e}") }
}

impl Priced {
    /// Where it is certain that there are no more entries than this, no more are expected.
    pub fn limit(&mut self, bound: &Bound) {
        if self.is_sparse {
            self.most = bound.entries();
            self.count = self.count.min(self.most);
        }
    }

    /// The step in words, of a query that is rearranged.
    pub fn reason(&self, query: QueryId) -> Reason {
        let (cost, rounds, count) = (short(self.cost), short(self.rounds), short(self.count));
        let kept = if self.is_sparse { "entries" } else { "elements" };
        let mut detail = format!("cost {cost}: {rounds} rounds for {count} {kept}");
        if self.most.is_finite() {
            detail += &format!(", at most {}", short(self.most));
        }
        Reason { query, rule: "step", detail }
    }
}

/// What steps gave before.
pub type Known = [Option<Arc<Support>>];

/// A factor that leads or is looked up, and the order of its levels.
struct Factor {
    support: Arc<Support>,
    levels: SmallVec<[u8; 4]>,
    is_input: bool,
    /// Whether it is read as a dense one: what it leaves out is computed, and only not kept.
    is_spread: bool,
}

impl<'s> Facts<'s> {
    /// Of a form, and of all that becomes of it by eliminations.
    pub fn new(statistics: &'s Statistics<'s>, form: &Form, may_be_dense: bool) -> Facts<'s> {
        let sizes = form.extents.iter().map(|extent| Sizes.guess(extent).max(1.0)).collect();
        Facts { statistics, sizes, may_be_dense }
    }

    /// How far an index runs.
    pub fn size(&self, index: u8) -> f64 {
        self.sizes[usize::from(index)]
    }

    /// What a step costs, when those before it gave what is `known`. It may be kept as a dense tensor whatever it is.
    pub fn price(&self, form: &Form, step: &Step, known: &Known, keeps_dense: bool) -> Priced {
        let size = |index: u8| self.size(index);
        let all = self.factors(form, step.body, known).into_iter();
        let (spread, factors): (SmallVec<[Factor; 6]>, SmallVec<[Factor; 6]>) =
            all.partition(|factor| factor.is_spread);
        let supports: SmallVec<[&Support; 6]> = factors.iter().map(|factor| &*factor.support).collect();
        let deciding: SmallVec<[&Support; 6]> =
            factors.iter().chain(&spread).map(|factor| &*factor.support).collect();
        let all = step.indices();
        let kept = step.axes.iter().fold(0, |all, &axis| all | bit(axis));
        let cells: f64 = step.axes.iter().map(|&axis| size(axis)).product();
        let mut result =
            (!deciding.is_empty()).then(|| self.statistics.sums.kept(&deciding, all, kept, &size));
        let (mut loops, order, mut rounds) = self.loops(form, step, &factors, &supports);
        if rounds > LOOKED_AT
            && spread.is_empty()
            && let Some(ways) = self.statistics.samples.ways(form, step)
        {
            // Degrees do not see circles: all that runs inside of them, and what is kept, follows what was found.
            let more = (ways / rounds).max(1.0);
            result = result.map(|support| support.limited(more, ways.max(1.0)));
            loops = (loops - rounds).max(0.0) + ways;
            rounds = ways;
        }
        let count = result.as_ref().map_or(cells, |support| support.count.min(cells));
        let first = order.iter().position(|index| step.reduced.contains(index)).unwrap_or(order.len());
        let is_mixed = order[first..].iter().any(|index| step.axes.contains(index));
        let is_kept = !(form.reductions.is_empty() && form.is_read(form.root));
        let density = count / cells;
        let is_sparse = !keeps_dense && count < SPARSE[usize::from(is_kept)] * cells && !step.axes.is_empty();
        let writes = match (is_sparse, is_mixed) {
            (true, true) => STORE * count + COLLECT * rounds,
            (true, false) => STORE * count,
            (false, _) => WRITE * cells,
        };
        let cost = CALL + loops + writes;
        // Of what is dense, every element is visited.
        let result = result.filter(|_| is_sparse || step.axes.is_empty());
        // By their places, so that the same step with other indices is the same.
        let all: SmallVec<[u8; 8]> = step.axes.iter().chain(&step.reduced).copied().collect();
        let role = |index: u8| all.iter().position(|&own| own == index).unwrap_or(0) as u8;
        let order = order.into_iter().map(role).collect();
        let count = if is_sparse { count } else { cells };
        Priced {
            cost,
            rounds,
            count,
            most: f64::INFINITY,
            is_product: supports.is_empty() && self.is_contraction(form, step),
            density,
            is_sparse,
            result: result.map(|support| Arc::new(support.by_role(&role))),
            order,
        }
    }

    /// Factors of a product that leave out most of the largest of them, and that one.
    pub fn filter(&self, form: &Form, known: &Known) -> Option<SmallVec<[NodeId; 4]>> {
        for node in form.below(form.root) {
            let Kind::Map(Op::Mul, args) = &form.node(node).kind else { continue };
            let of = |&arg: &NodeId| {
                let is_leaf = form.is_read(arg) && form.node(arg).fill.is_some();
                Some((arg, self.support(form, arg, known).filter(|_| is_leaf)?))
            };
            let supports: SmallVec<[(NodeId, Arc<Support>); 6]> = args.iter().filter_map(of).collect();
            let (vectors, tables): (Vec<_>, Vec<_>) =
                supports.iter().partition(|(_, support)| support.axes.len() == 1);
            let mut best: Option<(f64, SmallVec<[NodeId; 4]>)> = None;
            for (table, support) in tables {
                let mut kept = 1.0;
                let mut factors: SmallVec<[NodeId; 4]> = SmallVec::from_slice(&[*table]);
                for (vector, own) in &vectors {
                    if own.indices() & support.indices() != 0 {
                        kept *= own.count / members(own.indices()).map(|i| self.size(i)).product::<f64>();
                        factors.push(*vector);
                    }
                }
                let gain = support.count * (1.0 - kept);
                if kept < FILTERS && best.as_ref().is_none_or(|(known, _)| gain > *known) {
                    best = Some((gain, factors));
                }
            }
            if let Some((_, factors)) = best.filter(|(_, factors)| factors.len() < args.len()) {
                return Some(factors);
            }
        }
        None
    }

    /// What it costs to evaluate what is left when nothing is reduced any more.
    pub fn rest(&self, form: &Form, known: &Known) -> f64 {
        if matches!(form.node(form.root).kind, Kind::Read(_)) {
            return 0.0;
        }
        let cells: f64 = (0..form.rank as u8).map(|axis| self.size(axis)).product();
        let count = self.support(form, form.root, known).map_or(cells, |support| 4.0 * support.count);
        CALL + count.min(cells)
    }

    fn loops(
        &self,
        form: &Form,
        step: &Step,
        factors: &[Factor],
        supports: &[&Support],
    ) -> (f64, SmallVec<[u8; 8]>, f64) {
        let size = |index: u8| self.size(index);
        let all = step.indices();
        let volume: f64 = members(all).map(size).product();
        if supports.is_empty() && self.is_contraction(form, step) {
            return (GEMM * volume, members(all).collect(), volume);
        }
        let mut rounds_of: FxHashMap<IndexSet, f64> = FxHashMap::default();
        let mut rounds = |set: IndexSet| {
            *rounds_of.entry(set).or_insert_with(|| self.statistics.sums.joined(supports, set, &size))
        };
        // For each set of bound indices the cheapest way to bind them, and which arguments it puts into another order.
        let mut best: FxHashMap<IndexSet, (f64, SmallVec<[u8; 8]>, u64)> = FxHashMap::default();
        best.insert(0, (0.0, SmallVec::new(), 0));
        let count = all.count_ones() as usize;
        let mut frontier: Vec<IndexSet> = vec![0];
        for _ in 0..count {
            let mut next: Vec<IndexSet> = Vec::new();
            for &set in &frontier {
                let (cost, order, converted) = best[&set].clone();
                for index in members(all & !set) {
                    let outside = if set == 0 { 1.0 } else { rounds(set) };
                    let inside = set | bit(index);
                    let at = Entered { set, index, outside, inside: rounds(inside), converted };
                    let (step_cost, now) = self.bind(form, step, factors, at);
                    let all_cost = cost + step_cost;
                    let known = best.get(&inside);
                    if known.is_none_or(|(known, _, _)| all_cost < *known) {
                        if known.is_none() {
                            next.push(inside);
                        }
                        let mut order = order.clone();
                        order.push(index);
                        best.insert(inside, (all_cost, order, now));
                    }
                }
            }
            if count > MAX_EXACT && next.len() > 1 {
                next.sort_by(|a, b| best[a].0.total_cmp(&best[b].0));
                next.truncate(1);
            }
            frontier = next;
        }
        let (cost, order, _) = best.remove(&all).unwrap_or((volume, members(all).collect(), 0));
        (cost, order, rounds(all))
    }

    /// What it costs to go into the loop of an index inside of others.
    fn bind(&self, form: &Form, step: &Step, factors: &[Factor], at: Entered) -> (f64, u64) {
        let Entered { set, index, outside, inside, converted } = at;
        // Lists that are met there, and levels at which entries are found at once.
        let mut lists: SmallVec<[f64; 4]> = SmallVec::new();
        let mut found: SmallVec<[f64; 4]> = SmallVec::new();
        let mut cost = 0.0;
        let mut now = converted;
        for (at, factor) in factors.iter().enumerate() {
            let own = factor.support.indices();
            if own & bit(index) == 0 {
                continue;
            }
            let before = if own & set == 0 { 1.0 } else { factor.support.count_at(own & set) };
            let fan = factor.support.count_at(own & (set | bit(index))) / before.max(1e-9);
            if factor.levels.first() == Some(&index) {
                found.push(fan)
            } else {
                lists.push(fan)
            }
            let earlier = factor.levels.iter().take_while(|&&level| level != index);
            let own_bit = 1_u64.checked_shl(at as u32).unwrap_or(0);
            if earlier.copied().any(|level| set & bit(level) == 0) && now & own_bit == 0 {
                now |= own_bit;
                cost += CONVERT[usize::from(!factor.is_input)] * factor.support.count;
            }
        }
        let is_innermost = (set | bit(index)) == step.indices();
        if lists.is_empty() && found.is_empty() {
            let size = self.size(index);
            let across = if is_innermost { self.across(form, step.body, index) } else { 0.0 };
            let round = if is_innermost { DENSE + STRIDE * across } else { 1.0 };
            return (cost + outside * size * round, now);
        }
        (cost + outside * meeting(&mut lists, &found) + inside, now)
    }

    /// How many dense arguments are read across their rows by the loop of an index.
    fn across(&self, form: &Form, body: NodeId, index: u8) -> f64 {
        let uses = |dim: &Dim| plain(dim) == Some(u32::from(index));
        let is_across = |node: &NodeId| match &form.node(*node).kind {
            Kind::Read(leaf) => match &form.leaves[*leaf as usize] {
                Leaf::Source(_, at) => {
                    at.split_last().is_some_and(|(last, others)| others.iter().any(uses) && !uses(last))
                }
                Leaf::Step(step) => form.steps[*step as usize]
                    .axes
                    .split_last()
                    .is_some_and(|(last, others)| others.contains(&index) && *last != index),
            },
            Kind::Const(_) | Kind::Number(_) | Kind::Size(_) | Kind::Map(..) => false,
        };
        form.below(body).iter().filter(|node| is_across(node)).count() as f64
    }

    /// Whether a step is a product of dense matrices; what is computed of elements on the way is a query of its own then.
    fn is_contraction(&self, form: &Form, step: &Step) -> bool {
        let Kind::Map(Op::Mul, args) = &form.node(step.body).kind else { return false };
        let &[a, b] = args.as_slice() else { return false };
        let asks = |node: NodeId| form.node(node).fill.is_some() && form.node(node).dtype.is_float();
        let (a_set, b_set) = (form.node(a).indices, form.node(b).indices);
        !asks(a) && !asks(b) && a_set & !b_set != 0 && b_set & !a_set != 0 && step.reduced.len() == 1
    }

    /// The factors that decide where a body differs from what changes nothing.
    fn factors(&self, form: &Form, body: NodeId, known: &Known) -> SmallVec<[Factor; 6]> {
        if let Kind::Map(op, args) = &form.node(body).kind {
            let deciding = args
                .iter()
                .enumerate()
                .filter(|&(at, &arg)| form.node(arg).fill.is_some_and(|fill| fill_decides(*op, at, fill)));
            let factors: SmallVec<[Factor; 6]> =
                deciding.filter_map(|(_, &arg)| self.factor(form, arg, known)).collect();
            if !factors.is_empty() {
                return factors;
            }
        }
        self.factor(form, body, known).into_iter().collect()
    }

    fn factor(&self, form: &Form, node: NodeId, known: &Known) -> Option<Factor> {
        let support = self.support(form, node, known)?;
        let mut is_spread = false;
        let (levels, is_input) = match &form.node(node).kind {
            Kind::Read(leaf) => match &form.leaves[*leaf as usize] {
                Leaf::Source(Source::Input(i), at) => {
                    let own = self.statistics.argument(*i);
                    is_spread = own.is_some_and(|own| own.is_spread);
                    let levels = own.map_or_else(|| (0..at.len()).collect(), |own| own.order.clone());
                    (levels.into_iter().filter_map(|dim| Some(plain(&at[dim])? as u8)).collect(), true)
                }
                Leaf::Source(Source::Def(_), _) => (SmallVec::new(), false),
                Leaf::Step(step) => (form.steps[*step as usize].axes.iter().copied().collect(), false),
            },
            Kind::Const(_) | Kind::Number(_) | Kind::Size(_) | Kind::Map(..) => (SmallVec::new(), false),
        };
        Some(Factor { support, levels, is_input, is_spread })
    }

    /// Where a node differs from its fill; none if that may be everywhere.
    fn support(&self, form: &Form, node: NodeId, known: &Known) -> Option<Arc<Support>> {
        let size = |index: u8| self.size(index);
        match &form.node(node).kind {
            Kind::Const(_) | Kind::Number(_) | Kind::Size(_) => None,
            Kind::Read(leaf) => match &form.leaves[*leaf as usize] {
                Leaf::Step(step) => known.get(*step as usize)?.clone(),
                Leaf::Source(Source::Def(_), _) => None,
                Leaf::Source(Source::Input(i), at) => self.read(*i, at).map(Arc::new),
            },
            Kind::Map(op, args) => {
                form.node(node).fill?;
                let at = form.node(node).indices;
                let deciding = self.factors_of(form, *op, args, known);
                if !deciding.is_empty() {
                    let own: SmallVec<[&Support; 6]> = deciding.iter().map(|support| &**support).collect();
                    return Some(Arc::new(self.statistics.sums.kept(&own, at, at, &size)));
                }
                let mut parts: SmallVec<[Arc<Support>; 4]> = SmallVec::new();
                for &arg in args {
                    if form.node(arg).indices == 0 {
                        continue;
                    }
                    parts.push(self.support(form, arg, known)?);
                }
                let own: SmallVec<[&Support; 6]> = parts.iter().map(|support| &**support).collect();
                (!own.is_empty()).then(|| Arc::new(self.statistics.sums.united(&own, at, &size)))
            }
        }
    }

    fn factors_of(&self, form: &Form, op: Op, args: &[NodeId], known: &Known) -> SmallVec<[Arc<Support>; 6]> {
        let deciding = args
            .iter()
            .enumerate()
            .filter(|&(at, &arg)| form.node(arg).fill.is_some_and(|fill| fill_decides(op, at, fill)));
        deciding.filter_map(|(_, &arg)| self.support(form, arg, known)).collect()
    }

    /// Where an argument is read that has entries.
    fn read(&self, input: u32, at: &[Dim]) -> Option<Support> {
        let argument = self.statistics.argument(input)?;
        let mut count = argument.count;
        let mut axes: SmallVec<[(u8, Degrees); 4]> = SmallVec::new();
        for (axis, dim) in at.iter().enumerate() {
            let size = argument.shape[axis];
            match plain(dim) {
                Some(index) if axes.iter().all(|(own, _)| *own != index as u8) => {
                    let degrees = &argument.degrees[axis];
                    let part = self.size(index as u8) / size;
                    let is_whole = part == 1.0;
                    // Of a slice, the coordinates are not those of others that are read along the index.
                    let part = part.min(1.0);
                    count *= part;
                    let degrees = match is_whole {
                        true => degrees.clone(),
                        false => Degrees::Even(degrees.present() * part),
                    };
                    axes.push((index as u8, degrees));
                }
                // A diagonal, or one coordinate of many.
                Some(_) => count /= size,
                None if dim.is_const().is_some() => count /= size,
                None => {
                    let index = dim.symbols().find_map(|symbol| symbol.as_index())?;
                    count *= (self.size(index as u8) / size).min(1.0);
                    if axes.iter().all(|(own, _)| *own != index as u8) {
                        axes.push((index as u8, Degrees::Even(self.size(index as u8))));
                    }
                }
            }
        }
        axes.sort_by_key(|(index, _)| *index);
        Some(Support { count: count.max(1e-9), axes })
    }
}

/// What it costs to go along lists of these lengths together with levels at which entries are found at once.
fn meeting(lists: &mut [f64], found: &[f64]) -> f64 {
    let led = found.iter().copied().fold(f64::INFINITY, f64::min);
    lists.sort_by(f64::total_cmp);
    let Some((&shortest, others)) = lists.split_first() else {
        return led * (1.0 + LOOK_UP * (found.len() as f64 - 1.0));
    };
    let look_up = LOOK_UP * found.len() as f64 * shortest.min(led);
    let search = |list: f64| 1.0 + (1.0 + list).log2();
    // All along, or from entry to entry of the shortest and by search in the others.
    let merged: f64 = shortest + others.iter().sum::<f64>();
    let sought = if led < shortest {
        led * lists.iter().map(|&list| search(list)).sum::<f64>()
    } else {
        shortest * (1.0 + others.iter().map(|&list| search(list)).sum::<f64>())
    };
    merged.min(sought) + look_up
}
