//! Long reductions that nothing around them cuts into tasks: their blocks are the tasks.
//!
//! The sum of one long vector, or of the columns of a narrow matrix, has hardly a loop around it to share among
//! threads. But the trees of reductions state blocks, and blocks are independent. So such a group is lowered to three
//! kernels, and each call runs the first or the other two ([`Lowered::when`](super::Lowered)):
//!
//! ```text
//! k0_sum          all of the group, if there is one block; as if there were no other kernels
//! k0_sum_blocks   one task a block (and strip of columns): its result goes to memory that both kernels share
//! k0_sum_fold     folds these results by halves and does the rest of the group
//! ```
//!
//! A group is first cut in *parts*, before each long reduction: in `x - mean(x)` the fold of the sum has to be there
//! before the next blocks are reduced. What one part needs of another goes through memory.
//!
//! **Bits** are those of one kernel: the blocks are the same, and so is the order in which they fold. **Cost**: the
//! expression that is reduced is emitted once more than without, and a second kernel runs if there are several blocks.

use tj_ir::expr::{BLOCK, Source};
use tj_ir::{Dim, Tree};
use tj_plan::{Group, Plan, QueryId, RootReduce};
use tj_tensor::DType;

use super::columns::Sums;
use super::nest::{Nest, nests};
use super::{Binding, Ctx, choose_outer};
use crate::ir::{Access, BinOp, Buf, Grid, LoopKind, Value};

/// Strips that the columns of a block are cut into, each a task. Their number is fixed because bounds of a quotient by
/// a constant are easily proved; the strips that a narrow matrix leaves empty cost nothing.
const STRIPS: i64 = 8;

/// Queries that are lowered together.
pub(super) struct Part {
    pub group: Group,
    /// Its first nest, if that reduces by blocks.
    pub long: Option<Long>,
}

/// A reduction whose blocks are tasks.
pub(super) struct Long {
    tree: Tree,
    /// How far it runs.
    extent: Dim,
    /// Its blocks.
    blocks: Dim,
    /// The extent of the axis that stays, of a column reduction.
    columns: Option<Dim>,
}

/// What a kernel does of its part.
#[derive(Clone, Copy)]
pub(super) enum Share<'l> {
    /// Everything.
    All,
    /// Everything, if there is at most one block.
    OneBlock(&'l Long),
    /// The blocks, if there are several.
    Blocks(&'l Long),
    /// What is left after that.
    Fold(&'l Long),
}

/// The parts of a group, in order.
pub(super) fn parts(plan: &Plan, group: &Group) -> Vec<Part> {
    let shape = &plan.query(group.queries[0]).shape;
    let reduces = || group.queries.iter().any(|&id| plan.root_reduce(id).is_some());
    let column = match (&shape[..], group.outer) {
        ([], _) if reduces() => None,
        ([columns], 1) if reduces() && choose_outer(plan, group, false) == 0 => Some(columns),
        _ => return vec![Part { group: group.clone(), long: None }],
    };
    let mut parts: Vec<(Vec<QueryId>, Option<Long>)> = Vec::new();
    for nest in nests(plan, group, 0) {
        let long = Long::of(&nest, column);
        match parts.last_mut() {
            Some((queries, _)) if long.is_none() => queries.extend(nest.queries),
            _ => parts.push((nest.queries, long)),
        }
    }
    if parts.len() == 1 {
        // In the order of the group.
        return parts.into_iter().map(|(_, long)| Part { group: group.clone(), long }).collect();
    }
    let local = |queries: &[QueryId], id: QueryId| {
        let position = group.queries.iter().position(|&q| q == id);
        let reads = |q: &QueryId| plan.reads(*q).iter().any(|(_, source)| *source == Source::Def(id.0));
        position.is_some_and(|p| group.local[p])
            && group.queries.iter().filter(|q| !queries.contains(q)).all(|q| !reads(q))
    };
    let part = |(queries, long): (Vec<QueryId>, Option<Long>)| {
        let local = queries.iter().map(|&id| local(&queries, id)).collect();
        Part { group: Group { queries, outer: group.outer, local }, long }
    };
    parts.into_iter().map(part).collect()
}

impl Part {
    /// What each of its kernels does, in order.
    pub(super) fn shares(&self) -> Vec<Share<'_>> {
        match &self.long {
            None => vec![Share::All],
            Some(long) if Dim::ONE.known_lt(&long.blocks) == Some(true) => {
                vec![Share::Blocks(long), Share::Fold(long)]
            }
            Some(long) => vec![Share::OneBlock(long), Share::Blocks(long), Share::Fold(long)],
        }
    }
}

impl Long {
    /// The blocks of a nest, if it reduces and may have several.
    fn of(nest: &Nest, column: Option<&Dim>) -> Option<Long> {
        let (tree, extent) = nest.reduce.as_ref()?;
        match tree {
            Tree::Row | Tree::Col => {}
            Tree::Contract | Tree::Chain => return None,
        }
        if extent.known_le(&Dim::from(BLOCK)) == Some(true) {
            return None;
        }
        let blocks = block_count(extent);
        let long = Long { tree: *tree, extent: extent.clone(), blocks, columns: column.cloned() };
        // A size at the limits of what a `Dim` can say stays in one piece.
        (long.tasks().check().is_ok() && long.len().check().is_ok()).then_some(long)
    }

    fn is(&self, tree: Tree, extent: &Dim) -> bool {
        self.tree == tree && self.extent == *extent
    }

    /// Elements of the memory for results of blocks.
    fn len(&self) -> Dim {
        self.columns.as_ref().map_or(self.blocks.clone(), |columns| &self.blocks * columns)
    }

    /// Tasks of the kernel of the blocks.
    fn tasks(&self) -> Dim {
        self.columns.as_ref().map_or(self.blocks.clone(), |_| &self.blocks * STRIPS)
    }
}

/// Blocks of a reduction, at least one. In this form a bound on the last block is a bound on their number.
pub(super) fn block_count(extent: &Dim) -> Dim {
    (extent.ceildiv(&Dim::from(BLOCK)) - 1).max(&Dim::ZERO) + 1
}

/// Columns in a strip: whole lanes.
fn strip(columns: &Dim) -> Dim {
    columns.ceildiv(&Dim::from(STRIPS * MOST_LANES)) * MOST_LANES
}

/// A multiple of the lanes of every dtype.
const MOST_LANES: i64 = 32;

impl<'l> Share<'l> {
    /// What a kernel's name ends in.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Share::All | Share::OneBlock(_) => "",
            Share::Blocks(_) => "_blocks",
            Share::Fold(_) => "_fold",
        }
    }

    /// What must be positive for the kernel to run.
    pub(super) fn when(self) -> Option<Dim> {
        match self {
            Share::All => None,
            Share::OneBlock(long) => Some(2 - &long.blocks),
            Share::Blocks(long) | Share::Fold(long) => Some(&long.blocks - 1),
        }
    }

    /// The grid, from that of a kernel which does everything at the costs of this one.
    pub(super) fn grid(self, whole: Grid) -> Grid {
        match self {
            Share::All | Share::OneBlock(_) | Share::Fold(_) => whole,
            Share::Blocks(long) => {
                let strip = long.columns.as_ref().map_or(Dim::ONE, strip);
                Grid { extent: long.tasks(), multiple: 1, cost: whole.cost * strip }
            }
        }
    }

    /// How often the expression of a query is evaluated for an element; `None` if the kernel leaves it to others.
    pub(super) fn reduced(self, root: Option<RootReduce>) -> Option<Dim> {
        let is_long = |long: &Long| root.as_ref().is_some_and(|root| long.is(root.tree, &root.extent));
        match self {
            Share::Blocks(long) => is_long(long).then(|| Dim::from(BLOCK)),
            Share::Fold(long) if is_long(long) => Some(long.blocks.clone()),
            Share::All | Share::OneBlock(_) | Share::Fold(_) => {
                Some(root.map_or(Dim::ONE, |root| root.extent))
            }
        }
    }

    /// The reduction whose blocks are folded, if it is this one.
    pub(super) fn folds(self, tree: Tree, extent: &Dim) -> Option<&'l Long> {
        match self {
            Share::Fold(long) if long.is(tree, extent) => Some(long),
            Share::All | Share::OneBlock(_) | Share::Blocks(_) | Share::Fold(_) => None,
        }
    }
}

impl Ctx<'_> {
    /// The kernel of the blocks.
    pub(super) fn blocks(&mut self, nest: &Nest, long: &Long) {
        self.set_ranges(nest.queries[0]);
        let terms = self.terms(&nest.queries);
        let index = self.plan.query(nest.queries[0]).shape.len() as u32;
        let n = self.size(&long.extent);
        let buffers: Vec<Buf> =
            nest.queries.iter().map(|&id| self.block_results(id, self.plan.query(id).dtype, long)).collect();
        let (lo, hi) = self.b.task();
        let task = self.b.open_loop();
        match &long.columns {
            None => {
                let (first, last) = self.piece(task, BLOCK, n);
                let values = self.row_block(None, &terms, index, first, last);
                for (&buffer, value) in buffers.iter().zip(values) {
                    self.b.store(buffer, task, value);
                }
            }
            Some(columns) => {
                let (width, columns) = (self.size(&strip(columns)), self.size(columns));
                let strips = self.b.int(STRIPS);
                let block = self.b.binary(BinOp::FloorDiv, task, strips);
                let strip = self.b.binary(BinOp::Mod, task, strips);
                let (first, last) = self.piece(block, BLOCK, n);
                let (left, right) = self.cut(strip, width, columns);
                let start = self.b.binary(BinOp::Mul, block, columns);
                let sums = Sums { terms: &terms, column: index - 1, into: &buffers, start };
                self.column_blocks(&sums, (left, right), (first, last));
            }
        }
        self.b.close_loop(LoopKind::Serial, task, lo, hi);
    }

    /// The elements of piece `number` of `n` elements, cut every `step`.
    pub(super) fn piece(&mut self, number: Value, step: i64, n: Value) -> (Value, Value) {
        let step = self.b.int(step);
        self.cut(number, step, n)
    }

    fn cut(&mut self, number: Value, step: Value, n: Value) -> (Value, Value) {
        let lo = self.b.binary(BinOp::Mul, number, step);
        let end = self.b.binary(BinOp::Add, lo, step);
        (lo, self.b.binary(BinOp::Min, n, end))
    }

    /// Memory for the results of the blocks of a query.
    pub(super) fn block_results(&mut self, id: QueryId, dtype: DType, long: &Long) -> Buf {
        self.bindings.push(Binding::Blocks(id));
        self.b.buffer(format!("blocks_{id}"), dtype, long.len(), Access::Write)
    }

    /// Results of the reductions of a nest from those of their blocks.
    pub(super) fn fold(&mut self, nest: &Nest, long: &Long) -> Vec<Value> {
        let terms = self.terms(&nest.queries);
        let results = self.results(&terms);
        let buffers: Vec<Buf> =
            nest.queries.iter().map(|&id| self.block_results(id, self.plan.query(id).dtype, long)).collect();
        let column = long.columns.as_ref().map(|columns| (0, columns));
        self.fold_blocks(&terms, &results, &buffers, &long.blocks, column);
        results.into_iter().map(|var| self.b.get(var)).collect()
    }
}
