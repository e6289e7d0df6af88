//! How often factors meet that go round in a circle, by looking at some of them.
//!
//! **Problem.** Degrees do not know whether the ends of a path are connected. In a graph whose hubs lead anywhere they expect a
//! thousand times as many circles as there are; and a product that is kept holds just those pairs that its own factors connect.
//!
//! **Idea.** Start from some entries of one factor, the same ones each time, and go on from vertex to vertex (Li, Wu, Yi, Zhao: "Wander
//! join", SIGMOD 2016): of what all lists there have in common one vertex is taken, which stands for all of them, and after
//! the last vertex they are counted. The mean over what was started from, times how many there are, has no bias. What an earlier step
//! keeps is not there yet; whether it would have an entry is found by looking for one way through its factors.
//!
//! **Invariant.** What is walked is read as a whole: a coordinate of one factor is one of all that have its index.
//!
//! **Cost.** At most `MOST_VISITS` vertices, and a copy of each matrix by columns, which is remembered with it; only matrices whose
//! degrees are counted are walked, so that a position for each row is no burden. Triangles among few entries are counted
//! exactly.

#[cfg(test)]
mod tests;

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::Dim;
use tj_ir::expr::Source;
use tj_plan::derive::form::{Form, IndexSet, Kind, Leaf, NodeId, bit, members};
use tj_plan::derive::{Step, fill_decision};
use tj_plan::plan::Plan;
use tj_plan::scheduler::Sizes;
use tj_plan::sparse::plain;
use tj_tensor::{Format, Indices, Level, Tensor};

/// Entries that are started from.
const STARTS: usize = 2048;

/// Vertices that are looked at, in all.
const MOST_VISITS: usize = 1 << 18;

/// Indices of a form.
const MOST_INDICES: usize = 64;

/// Where samples start, whatever is sampled.
const SEED: u64 = 0x2545_F491_4F6C_DD1D;

/// Sorted lists of coordinates, one for each coordinate before them, or one.
#[derive(Clone)]
struct Lists {
    /// Where each starts, and the last one ends.
    positions: Indices,
    coordinates: Indices,
}

/// A part of the coordinates of some lists.
#[derive(Clone, Copy)]
struct List<'l> {
    coordinates: &'l Indices,
    start: usize,
    end: usize,
}

/// What has to have an entry.
enum Factor {
    Vertex {
        index: u8,
        list: Lists,
    },
    Edge {
        ends: [u8; 2],
        rows: Lists,
        columns: Lists,
    },
    /// What a step keeps, and what that is made of.
    Made {
        axes: IndexSet,
        all: IndexSet,
        parts: Vec<Factor>,
    },
}

/// The arguments of a plan, to be looked at.
pub struct Samples<'p> {
    plan: &'p Plan,
    matrices: RefCell<FxHashMap<usize, Option<[Lists; 2]>>>,
}

/// Coordinates that indices have, as far as they do.
struct Walk {
    at: [usize; MOST_INDICES],
    bound: IndexSet,
    visits: usize,
    random: u64,
}

impl Lists {
    fn of(tensor: &Tensor, format: &Format) -> Option<Lists> {
        let stored = tensor.in_format(format).ok()?;
        let Some(Level::Compressed { positions, coordinates }) = stored.stored()?.levels().last() else {
            return None;
        };
        Some(Lists { positions: positions.clone(), coordinates: coordinates.clone() })
    }

    fn list(&self, at: usize) -> List<'_> {
        let (start, end) = (self.positions.get(at), self.positions.get(at + 1));
        List { coordinates: &self.coordinates, start, end }
    }

    fn count(&self) -> usize {
        self.coordinates.len()
    }

    /// The list that an entry is in.
    fn of_entry(&self, entry: usize) -> usize {
        let (mut low, mut high) = (0, self.positions.len() - 1);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.positions.get(middle) <= entry { low = middle } else { high = middle }
        }
        low
    }
}

impl List<'_> {
    fn len(&self) -> usize {
        self.end - self.start
    }

    fn holds(&self, coordinate: usize) -> bool {
        let (mut low, mut high) = (self.start, self.end);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.coordinates.get(middle) < coordinate { low = middle + 1 } else { high = middle }
        }
        low < self.end && self.coordinates.get(low) == coordinate
    }
}

impl Factor {
    fn indices(&self) -> IndexSet {
        match self {
            Factor::Vertex { index, .. } => bit(*index),
            Factor::Edge { ends, .. } => bit(ends[0]) | bit(ends[1]),
            Factor::Made { axes, .. } => *axes,
        }
    }

    /// The coordinates of an index that go with those that are bound, if it lists them.
    fn list(&self, index: u8, walk: &Walk) -> Option<List<'_>> {
        let is_bound = |other: u8| other != index && walk.bound & bit(other) != 0;
        match self {
            Factor::Vertex { index: own, list } => (*own == index).then(|| list.list(0)),
            Factor::Edge { ends: [from, to], rows, columns } => {
                if *to == index && is_bound(*from) {
                    Some(rows.list(walk.at[usize::from(*from)]))
                } else if *from == index && is_bound(*to) {
                    Some(columns.list(walk.at[usize::from(*to)]))
                } else {
                    None
                }
            }
            Factor::Made { .. } => None,
        }
    }
}

impl Walk {
    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % n.max(1) as u64) as usize
    }

    fn bind(&mut self, index: u8, coordinate: usize) {
        self.at[usize::from(index)] = coordinate;
        self.bound |= bit(index);
    }

    /// The coordinates of an index that all factors have which list them; none if no factor does.
    fn common(&mut self, factors: &[Factor], index: u8) -> Option<SmallVec<[usize; 32]>> {
        let lists: SmallVec<[List<'_>; 6]> =
            factors.iter().filter_map(|factor| factor.list(index, self)).collect();
        let shortest = (0..lists.len()).min_by_key(|&at| lists[at].len())?;
        let List { coordinates, start, end } = lists[shortest];
        self.visits += (end - start).max(1);
        let others = || lists.iter().enumerate().filter(|(at, _)| *at != shortest).map(|(_, list)| list);
        let all = (start..end).map(|place| coordinates.get(place));
        Some(all.filter(|&coordinate| others().all(|list| list.holds(coordinate))).collect())
    }

    /// The index that most factors list the coordinates of.
    fn next(&self, factors: &[Factor], left: IndexSet) -> Option<u8> {
        let listed = |index: u8| {
            let is_edge = |factor: &&Factor| factor.indices() != bit(index);
            factors.iter().filter(is_edge).filter(|factor| factor.list(index, self).is_some()).count()
        };
        members(left).filter(|&index| listed(index) > 0).max_by_key(|&index| (listed(index), !index))
    }

    /// Whether what steps keep has entries where its last index has just been bound.
    fn is_made(&mut self, factors: &[Factor], last: IndexSet) -> Option<bool> {
        for factor in factors {
            let Factor::Made { axes, all, parts } = factor else { continue };
            if axes & last != 0 && axes & !self.bound == 0 && !self.exists(parts, *all)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether there is a way through some factors. As deep as they have indices; none if that takes too long to say.
    fn exists(&mut self, factors: &[Factor], all: IndexSet) -> Option<bool> {
        if all & !self.bound == 0 {
            let bound = self.bound;
            for factor in factors {
                let has = match factor {
                    Factor::Vertex { index, list } => list.list(0).holds(self.at[usize::from(*index)]),
                    Factor::Edge { ends: [from, to], rows, .. } => {
                        rows.list(self.at[usize::from(*from)]).holds(self.at[usize::from(*to)])
                    }
                    Factor::Made { all, parts, .. } => self.exists(parts, *all)?,
                };
                if !has {
                    return Some(false);
                }
            }
            self.bound = bound;
            return Some(true);
        }
        let index = self.next(factors, all & !self.bound)?;
        let bound = self.bound;
        for coordinate in self.common(factors, index)? {
            if self.visits > MOST_VISITS {
                return None;
            }
            self.bind(index, coordinate);
            let found = self.exists(factors, all)?;
            self.bound = bound;
            if found {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The ways on from what is bound, where one vertex of each list stands for all. As deep as there are indices.
    fn ways(&mut self, factors: &[Factor], all: IndexSet) -> Option<f64> {
        let left = all & !self.bound;
        if left == 0 {
            return Some(1.0);
        }
        let index = self.next(factors, left)?;
        let common = self.common(factors, index)?;
        let waits = factors.iter().any(|factor| {
            matches!(factor, Factor::Made { axes, .. } if axes & bit(index) != 0 && axes & left == bit(index))
        });
        if common.is_empty() || (left == bit(index) && !waits) {
            return Some(common.len() as f64);
        }
        let chosen = common[self.below(common.len())];
        self.bind(index, chosen);
        if !self.is_made(factors, bit(index))? {
            return Some(0.0);
        }
        Some(common.len() as f64 * self.ways(factors, all)?)
    }
}

impl<'p> Samples<'p> {
    /// Looks at nothing yet.
    pub fn new(plan: &'p Plan) -> Samples<'p> {
        Samples { plan, matrices: RefCell::new(FxHashMap::default()) }
    }

    /// In how many ways the factors of a step are expected to meet, if they go round in a circle and are matrices and vectors that are
    /// stored by levels, or made of such.
    pub fn ways(&self, form: &Form, step: &Step) -> Option<f64> {
        let factors = self.factors(form, step.body)?;
        let all = step.indices();
        let several = factors.iter().filter(|factor| factor.indices().count_ones() > 1);
        if (several.count() as u32) < all.count_ones() || all.count_ones() < 3 {
            return None;
        }
        let edges = factors.iter().filter_map(|factor| match factor {
            Factor::Edge { ends, rows, .. } => Some((*ends, rows)),
            Factor::Vertex { .. } | Factor::Made { .. } => None,
        });
        let (ends, rows) = edges.min_by_key(|(_, rows)| rows.count())?;
        let entries = rows.count();
        let mut walk = Walk { at: [0; MOST_INDICES], bound: 0, visits: 0, random: SEED };
        let (mut sum, mut started) = (0.0, 0_usize);
        while started < entries.min(STARTS) && walk.visits <= MOST_VISITS {
            let entry = if entries <= STARTS { started } else { walk.below(entries) };
            started += 1;
            walk.bound = 0;
            walk.bind(ends[0], rows.of_entry(entry));
            walk.bind(ends[1], rows.coordinates.get(entry));
            if is_bound_right(&factors, &mut walk)? {
                sum += walk.ways(&factors, all)?;
            }
        }
        if started == 0 {
            return Some(0.0);
        }
        let each = entries as f64 / started as f64;
        // None was met: less than one is likely, of which each would have stood for so many.
        Some(if sum == 0.0 && started < entries { 0.5 * each } else { sum * each })
    }

    /// What decides where a node has an entry; none if it is made of anything else than reads.
    fn factors(&self, form: &Form, body: NodeId) -> Option<Vec<Factor>> {
        let Kind::Map(op, args) = &form.node(body).kind else {
            return Some(vec![self.factor(form, body)?]);
        };
        let result = form.node(body).fill?;
        let decides = |&(at, &arg): &(usize, &NodeId)| {
            form.node(arg).fill.and_then(|fill| fill_decision(*op, at, fill)) == Some(result)
        };
        let deciding = args.iter().enumerate().filter(decides);
        let factors: Vec<Factor> = deciding.map(|(_, &arg)| self.factor(form, arg)).collect::<Option<_>>()?;
        (!factors.is_empty()).then_some(factors)
    }

    fn factor(&self, form: &Form, node: NodeId) -> Option<Factor> {
        let Kind::Read(leaf) = form.node(node).kind else { return None };
        match &form.leaves[leaf as usize] {
            Leaf::Source(Source::Def(_), _) => None,
            Leaf::Source(Source::Input(input), at) => {
                let data = self.plan.inputs[*input as usize].data.as_ref()?;
                let whole = |(dim, &len): (&Dim, &usize)| {
                    let index = plain(dim)?;
                    (Sizes.guess(&form.extents[index as usize]) == len as f64).then_some(index as u8)
                };
                let indices: SmallVec<[u8; 2]> =
                    at.iter().zip(data.shape()).map(whole).collect::<Option<_>>()?;
                match *indices.as_slice() {
                    [index] => {
                        data.stored()?;
                        Some(Factor::Vertex { index, list: Lists::of(data, &Format::csf(1))? })
                    }
                    [from, to] if from != to => {
                        let [rows, columns] = self.matrix(*input as usize, data)?;
                        Some(Factor::Edge { ends: [from, to], rows, columns })
                    }
                    _ => None,
                }
            }
            Leaf::Step(step) => {
                let step = &form.steps[*step as usize];
                let parts = self.factors(form, step.body)?;
                let axes = step.axes.iter().fold(0, |all, &axis| all | bit(axis));
                Some(Factor::Made { axes, all: step.indices(), parts })
            }
        }
    }

    fn matrix(&self, input: usize, data: &Tensor) -> Option<[Lists; 2]> {
        data.stored()?;
        (0..2).try_for_each(|axis| data.degrees(axis).map(|_| ()))?;
        let of = || Some([Lists::of(data, &Format::csr())?, Lists::of(data, &Format::csc())?]);
        self.matrices.borrow_mut().entry(input).or_insert_with(of).clone()
    }
}

/// Whether all factors have an entry that are bound by where a walk starts.
fn is_bound_right(factors: &[Factor], walk: &mut Walk) -> Option<bool> {
    let bound = walk.bound;
    for factor in factors {
        let has = match factor {
            _ if factor.indices() & !bound != 0 => true,
            Factor::Vertex { index, list } => list.list(0).holds(walk.at[usize::from(*index)]),
            Factor::Edge { ends: [from, to], rows, .. } => {
                rows.list(walk.at[usize::from(*from)]).holds(walk.at[usize::from(*to)])
            }
            Factor::Made { all, parts, .. } => walk.exists(parts, *all)?,
        };
        walk.bound = bound;
        if !has {
            return Some(false);
        }
    }
    Some(true)
}
