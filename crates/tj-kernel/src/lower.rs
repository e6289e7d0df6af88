//! From groups of queries to kernels: the only place that looks at both plans and storage.
//!
//! **Shape of a kernel.** A group becomes outer loops over the axes that its queries share, and inside of them
//! *nests*, one after the other:
//!
//! ```text
//! for i0 in task range {            outer axes; the first is the grid
//!   for .. {                        nest: inner axes of its queries, the last one in lanes
//!     q1[..] = ..; q2[..] = ..      queries with equal loops share a nest and pass values in registers,
//!     q3 += q2[..]                  reductions of rows with maps over their elements too
//!   }
//! }
//! ```
//!
//! So a softmax goes over its row three times: maximum; exponentials and their sum; quotients.
//!
//! A query that nothing outside the group needs lives in a register (no inner axes) or in scratch memory of the
//! worker (a row). A dense contraction comes first: a library call computes a panel of rows, and the nests follow
//! while the panel is in cache. Maps whose axes lie next to each other in every operand are one loop. A long reduction
//! with no loop around it that tasks could share is three kernels (`blocks`).
//!
//! **Invariants.** The order in which a reduction combines values follows from its tree (`tj_ir::Tree`) and
//! from nothing else. Tasks write disjoint elements. Every index is inside its buffer whenever it is evaluated;
//! `verify` proves that again from the finished kernel.
//!
//! **Cost.** Linear in the nodes of the group; a body is emitted at most three times (short rows, long rows, blocks as
//! tasks).

mod address;
mod blocks;
mod body;
mod call;
mod collapse;
mod columns;
mod gemm;
mod nest;
mod reduce;
pub mod sparse;

use rustc_hash::FxHashMap;
use tj_ir::dim::Ranges;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprId, Tree};
use tj_plan::{Fused, Group, Plan, QueryId};

use crate::build::Builder;
use crate::ir::{Access, Buf, Grid, Kernel, LoopKind, Value};

use blocks::{Share, parts};
use call::lower_call;
use collapse::collapse;
use gemm::{GemmCall, gemm_call};
use nest::nests;

/// A kernel and what its buffers and numbers are.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// What each buffer is, in the order of `kernel.buffers`.
    pub bindings: Vec<Binding>,
    /// Which number of the plan each parameter is, in the order of `kernel.params`.
    pub numbers: Vec<u32>,
    /// A call runs the kernel only if this size is positive, where there is one. Then its grid may have tasks.
    pub when: Option<Dim>,
}

/// What a buffer of a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// An argument of the program, row-major.
    Input(u32),
    /// The result of a query, row-major; read or written.
    Query(QueryId),
    /// Results of the blocks of a query's reduction: one kernel writes them, a later one folds them.
    Blocks(QueryId),
    /// Memory of the worker.
    Scratch,
}

/// Rows of a contraction that are computed before what follows them: enough that packing the right factor again
/// for each panel costs a few percent, few enough that a panel stays in the second-level cache.
const PANEL: i64 = 256;

/// Kernels of a fused plan, in order.
pub fn lower(fused: &Fused) -> Vec<Lowered> {
    let mut kernels = Vec::new();
    let parts = fused.groups.iter().flat_map(|group| parts(&fused.plan, group));
    for (number, part) in parts.enumerate() {
        for share in part.shares() {
            kernels.push(match fused.plan.root_call(part.group.queries[0]) {
                Some(call) => lower_call(&fused.plan, &part.group, &call, format!("k{number}")),
                None => lower_group(&fused.plan, &part.group, format!("k{number}"), share),
            });
        }
    }
    kernels
}

/// How a query of the group is read by later nests.
#[derive(Clone, Copy)]
enum Local {
    /// One value at each outer position.
    Value(Value),
    /// Scratch: the axes after the outer ones, row-major.
    Row(Buf),
    /// Scratch: rows of a panel that starts at row `first`; then the last axis.
    Panel { buffer: Buf, first: Value },
}

struct Ctx<'p> {
    plan: &'p Plan,
    group: &'p Group,
    share: Share<'p>,
    /// Number of outer loops.
    outer: usize,
    b: Builder,
    buffers: FxHashMap<Source, Buf>,
    bindings: Vec<Binding>,
    numbers: Vec<u32>,
    number_values: FxHashMap<u32, Value>,
    /// The current value of each index.
    index: FxHashMap<u32, Value>,
    locals: FxHashMap<QueryId, Local>,
    /// Values of queries computed earlier in the nest being emitted.
    here: FxHashMap<QueryId, Value>,
    /// Of the indices of the nest being emitted.
    ranges: Ranges,
}

/// One loop: an index and how far it runs.
#[derive(Clone, Debug)]
struct Loop {
    index: u32,
    extent: Dim,
}

fn lower_group(plan: &Plan, group: &Group, name: String, share: Share<'_>) -> Lowered {
    let head = group.queries[0];
    let rank = plan.query(head).shape.len();
    // What follows a library call does so row by row; a group that shares fewer axes gets plain loops.
    let call = gemm_call(plan, head).filter(|_| group.queries.len() == 1 || group.outer + 1 >= rank);
    let outer = choose_outer(plan, group, call.is_some());
    let nests = nests(plan, group, if call.is_some() { 1 } else { 0 });
    // If the one axis that all queries share is left to the nests, they split the task range among themselves.
    // A group that shares no axis is one task.
    let split = outer == 0 && group.outer > 0;
    let loops: Vec<Loop> = (plan.query(head).shape.iter().enumerate())
        .map(|(d, extent)| Loop { index: d as u32, extent: extent.clone() })
        .collect();
    let merged = if call.is_none() { collapse(plan, &nests, outer, &loops) } else { None };

    let (outer, loops, zeroed) = match merged {
        Some(merged) => (merged.loops.len() - 1, merged.loops, merged.zeroed),
        None => (outer, loops, Vec::new()),
    };
    let split = split || (outer == 0 && !zeroed.is_empty());
    let grid = share.grid(grid(plan, group, &loops, outer, split, call.as_ref(), share));
    let word = &plan.query(*group.queries.last().unwrap_or(&head)).word;
    let name = format!("{name}_{word}{}", share.suffix());
    let mut ctx = Ctx::new(plan, group, share, outer, Builder::new(name, grid));
    for index in zeroed {
        let zero = ctx.b.int(0);
        ctx.index.insert(index, zero);
    }
    match (call, share) {
        (_, Share::Blocks(long)) => ctx.blocks(&nests[0], long),
        (Some(call), _) => ctx.contraction(head, &call, &nests),
        (None, _) if split => {
            let (lo, hi) = ctx.b.task();
            for nest in &nests {
                ctx.nest(nest, &[], Some((loops[outer].clone(), lo, hi)));
            }
        }
        (None, _) => {
            let inner: Option<Vec<Loop>> =
                (loops.len() > outer && collapsed(&loops, plan, head)).then(|| loops[outer..].to_vec());
            ctx.outer_loops(&loops[..outer], 0, &mut |ctx| {
                for nest in &nests {
                    ctx.nest(nest, inner.as_deref().unwrap_or(&[]), None);
                }
            });
        }
    }
    Lowered { kernel: ctx.b.finish(), bindings: ctx.bindings, numbers: ctx.numbers, when: share.when() }
}

/// Whether loops were merged: then they, not the axes of the queries, say what to run.
fn collapsed(loops: &[Loop], plan: &Plan, head: QueryId) -> bool {
    loops.len() < plan.query(head).shape.len()
}

/// How many of the shared axes become loops around all nests. If every query has the same axes and no row to
/// reduce, the last axis is left to the nests, which run it in lanes.
fn choose_outer(plan: &Plan, group: &Group, has_call: bool) -> usize {
    let rank = plan.query(group.queries[0]).shape.len();
    if has_call {
        return rank - 1;
    }
    let in_lanes = group.queries.iter().all(|&id| {
        plan.query(id).shape.len() == rank && plan.root_reduce(id).is_none_or(|r| r.tree != Tree::Row)
    });
    if in_lanes && group.outer == rank { rank.saturating_sub(1) } else { group.outer }
}

fn grid(
    plan: &Plan,
    group: &Group,
    loops: &[Loop],
    outer: usize,
    split: bool,
    call: Option<&GemmCall>,
    share: Share<'_>,
) -> Grid {
    let mut cost = Dim::from(0);
    // A library call states its own cost.
    for &id in &group.queries[usize::from(call.is_some())..] {
        let query = plan.query(id);
        let inner: Vec<&Dim> = if collapsed(loops, plan, id) {
            loops[1..].iter().map(|l| &l.extent).collect()
        } else {
            query.shape.iter().skip(1).collect()
        };
        let Some(reduced) = share.reduced(plan.root_reduce(id)) else { continue };
        let work: u32 = plan.arena.reachable(&[query.body]).into_iter().map(|node| cost_of(plan, node)).sum();
        cost += inner.into_iter().fold(reduced, |n, d| n * d.clone()) * i64::from(work);
    }
    if let Some(call) = call {
        cost += call.cost();
    }
    let has_grid = split || outer > 0;
    Grid {
        extent: if has_grid { loops[0].extent.clone() } else { Dim::from(1) },
        multiple: match (split, call) {
            (true, _) => 1024,
            (false, Some(_)) => 8,
            (false, None) => 1,
        },
        cost,
    }
}

/// What a node costs in additions; what moves or names a value costs as much as one.
fn cost_of(plan: &Plan, node: ExprId) -> u32 {
    match plan.arena.node(node) {
        Expr::Map { op, .. } => op.info().cost,
        Expr::Read { .. }
        | Expr::Const(_)
        | Expr::Number(_)
        | Expr::Size(_)
        | Expr::Reduce { .. }
        | Expr::Call { .. } => 1,
    }
}

impl<'p> Ctx<'p> {
    fn new(plan: &'p Plan, group: &'p Group, share: Share<'p>, outer: usize, b: Builder) -> Ctx<'p> {
        Ctx {
            plan,
            group,
            share,
            outer,
            b,
            buffers: FxHashMap::default(),
            bindings: Vec::new(),
            numbers: Vec::new(),
            number_values: FxHashMap::default(),
            index: FxHashMap::default(),
            locals: FxHashMap::default(),
            here: FxHashMap::default(),
            ranges: Ranges::new(),
        }
    }
}

impl Ctx<'_> {
    /// Says how far the indices of a query run.
    fn set_ranges(&mut self, id: QueryId) {
        self.ranges = Ranges::new();
        for (d, extent) in self.plan.query(id).shape.iter().enumerate() {
            self.ranges.set_extent(d as u32, extent);
        }
        if let Some(root) = self.plan.root_reduce(id)
            && let Some(index) = root.index.as_index()
        {
            self.ranges.set_extent(index, &root.extent);
        }
    }

    /// Runs `body` inside the outer loops; the first runs over the task range.
    fn outer_loops(&mut self, loops: &[Loop], depth: usize, body: &mut dyn FnMut(&mut Self)) {
        let Some((first, rest)) = loops.split_first() else { return body(self) };
        let (lo, hi) = if depth == 0 { self.b.task() } else { (self.b.int(0), self.size(&first.extent)) };
        self.run_loop(LoopKind::Serial, first.index, lo, hi, |ctx| ctx.outer_loops(rest, depth + 1, body));
    }

    /// A loop that sets `index` for its body.
    fn run_loop(&mut self, kind: LoopKind, index: u32, lo: Value, hi: Value, body: impl FnOnce(&mut Self)) {
        let var = self.b.open_loop();
        let before = self.index.insert(index, var);
        body(self);
        self.b.close_loop(kind, var, lo, hi);
        match before {
            Some(value) => self.index.insert(index, value),
            None => self.index.remove(&index),
        };
    }

    /// The buffer of a source.
    fn source(&mut self, source: Source) -> Buf {
        if let Some(&buffer) = self.buffers.get(&source) {
            return buffer;
        }
        let len = self.plan.shape_of(source).iter().fold(Dim::from(1), |n, d| n * d.clone());
        let (name, access, binding) = match source {
            Source::Input(i) => {
                let name = self.plan.inputs[i as usize].name.as_deref();
                (name.map_or(format!("in{i}"), str::to_string), Access::Read, Binding::Input(i))
            }
            Source::Def(q) => {
                let ours = self.group.queries.contains(&QueryId(q));
                let access = if ours { Access::Write } else { Access::Read };
                (format!("q{q}"), access, Binding::Query(QueryId(q)))
            }
        };
        let buffer = self.b.buffer(name, self.plan.dtype_of(source), len, access);
        self.bindings.push(binding);
        self.buffers.insert(source, buffer);
        buffer
    }

    /// Memory of the worker.
    fn scratch(&mut self, name: String, dtype: tj_tensor::DType, len: Dim) -> Buf {
        self.bindings.push(Binding::Scratch);
        self.b.buffer(name, dtype, len, Access::Scratch)
    }

    fn is_local(&self, id: QueryId) -> bool {
        let position = self.group.queries.iter().position(|&q| q == id);
        position.is_some_and(|p| self.group.local[p])
    }
}
