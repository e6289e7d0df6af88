//! From queries to forms: what is written into what, and reductions as far up as they go.

mod decided;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::dim::Ranges;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op};
use tj_tensor::{DType, Scalar};

use super::Shape;
use super::form::{Form, IndexSet, Kind, Leaf, MAX_INDICES, MAX_NODES, NodeId, Reduction, bit, set_of};
use super::laws::{is_free, passes};
use crate::plan::{Plan, QueryId};
use crate::sparse::plain;
use crate::sparse::write::Writer;

/// The queries that forms are made of.
#[derive(Clone, Debug)]
pub struct Roots {
    /// In order.
    pub roots: Vec<Root>,
    own: Vec<bool>,
}

/// A query that is computed for itself.
#[derive(Clone, Debug)]
pub struct Root {
    /// Which.
    pub query: QueryId,
    /// It and all that is written into it, in order.
    pub queries: Vec<QueryId>,
}

/// Finds the queries that are computed for themselves: what is asked for, functions of whole tensors and what they read, and
/// what holds a reduction and is read more than once.
pub fn roots(plan: &Plan) -> Roots {
    let produced = plan.produced();
    let mut readers = vec![0_usize; plan.queries.len()];
    let mut is_whole = vec![false; plan.queries.len()];
    for id in plan.query_ids() {
        let is_call = plan.root_call(id).is_some();
        let mut read: Vec<u32> = Vec::new();
        for (_, source) in plan.reads(id) {
            if let Source::Def(q) = source {
                is_whole[q as usize] |= is_call;
                read.push(q);
            }
        }
        // Reads at several places are several.
        read.into_iter().for_each(|q| readers[q as usize] += 1);
    }
    let mut own = vec![false; plan.queries.len()];
    let mut reduces = vec![false; plan.queries.len()];
    for id in plan.query_ids() {
        let at = id.index();
        let root = plan.root_reduce(id);
        let below = |(_, source): (ExprId, Source)| matches!(source, Source::Def(q) if reduces[q as usize]);
        reduces[at] = root.is_some() || plan.reads(id).into_iter().any(below);
        let is_stuck = root.is_some_and(|root| !is_movable(plan, &root));
        own[at] = produced[at]
            || is_whole[at]
            || is_stuck
            || plan.root_call(id).is_some()
            || (reduces[at] && readers[at] > 1);
        reduces[at] &= !own[at];
    }
    let live = plan.live();
    let all = plan.query_ids().filter(|id| own[id.index()] && live[id.index()]);
    let roots = all.map(|query| Root { query, queries: written_in(plan, query, &own) }).collect();
    Roots { roots, own }
}

fn is_movable(plan: &Plan, root: &crate::plan::RootReduce) -> bool {
    let dtype = plan.arena.dtype(root.body);
    root.op.is_reorderable() && root.op.combines(dtype) && root.op.dtype(dtype) == dtype
}

fn written_in(plan: &Plan, query: QueryId, own: &[bool]) -> Vec<QueryId> {
    let (mut open, mut found) = (vec![query], vec![query]);
    while let Some(id) = open.pop() {
        for (_, source) in plan.reads(id) {
            if let Source::Def(q) = source
                && !own[q as usize]
                && !found.contains(&QueryId(q))
            {
                found.push(QueryId(q));
                open.push(QueryId(q));
            }
        }
    }
    found.sort();
    found
}

/// The form of a query with all that is written into it; `None` if it has none: it is too large, or made of what does not move.
/// Inputs that are `dense` are read without asking what their fills decide.
pub fn form_of(
    plan: &Plan,
    fill_of: &dyn Fn(Source) -> Option<Scalar>,
    roots: &Roots,
    query: QueryId,
    shape: Shape,
    dense: &[u32],
) -> Option<Form> {
    let movable = |id: QueryId| plan.root_reduce(id).is_none_or(|root| is_movable(plan, &root));
    if plan.root_call(query).is_some() || !movable(query) {
        return None;
    }
    let mut writer = Writer::new(plan);
    let bodies = writer.queries(&[query], &|q| !roots.own[q.index()])?;
    let rank = plan.query(query).shape.len();
    let form = Form {
        nodes: Vec::new(),
        root: 0,
        leaves: Vec::new(),
        reductions: Vec::new(),
        steps: Vec::new(),
        extents: Arc::new(writer.extents[..rank].to_vec()),
        rank,
    };
    let mut reader = Reader { plan, arena: &writer.arena, fill_of, dense, shape, visits: 0, form };
    let env: Env = (0..rank as u32).map(|axis| (axis, axis as u8)).collect();
    reader.form.root = reader.node(*bodies.first()?, &env)?;
    let mut form = reader.form;
    match shape {
        Shape::Still => form.settle_still(),
        Shape::Written | Shape::Split | Shape::Expanded => form.settle(),
    }
    form.take_apart(shape)?;
    (!form.reductions.is_empty()).then_some(form)
}

/// The index that each index of the expression is.
type Env = FxHashMap<u32, u8>;

struct Reader<'a> {
    plan: &'a Plan,
    arena: &'a ExprArena,
    fill_of: &'a dyn Fn(Source) -> Option<Scalar>,
    /// Inputs that decide nothing.
    dense: &'a [u32],
    shape: Shape,
    /// Nodes that were read, those of attempts included.
    visits: usize,
    form: Form,
}

impl Reader<'_> {
    /// A node of the form for an expression, whose depth the writer has bounded.
    fn node(&mut self, id: ExprId, env: &Env) -> Option<NodeId> {
        self.visits += 1;
        if self.form.nodes.len() > MAX_NODES || self.visits > 4 * MAX_NODES {
            return None;
        }
        let dtype = self.arena.dtype(id);
        if dtype.is_complex() {
            return None;
        }
        Some(match self.arena.node(id) {
            Expr::Const(value) => self.form.push(Kind::Const(*value), dtype, Some(*value)),
            Expr::Number(number) => self.form.push(Kind::Number(*number), dtype, None),
            Expr::Size(dim) => {
                let dim = renamed(dim, env)?;
                self.form.push(Kind::Size(dim), dtype, None)
            }
            Expr::Read { source, at } => {
                let at: Arc<[Dim]> = at.iter().map(|dim| renamed(dim, env)).collect::<Option<_>>()?;
                let fill = (self.fill_of)(*source);
                let guards = self.guards(*source, &at, env);
                self.form.leaves.push(Leaf::Source(*source, at));
                let leaf = (self.form.leaves.len() - 1) as u32;
                let node = self.form.push(Kind::Read(leaf), dtype, fill);
                self.form.nodes[node as usize].indices |= guards;
                node
            }
            // What an outcome depends on would be read twice.
            Expr::Map { op: Op::Filled, args } if !matches!(self.arena.node(args[1]), Expr::Const(_)) => {
                return None;
            }
            Expr::Map { op, args } => {
                if let Some(decided) = self.decided(id, env) {
                    return decided;
                }
                let (op, args) = (*op, args.clone());
                let node = self.operator(op, &args, dtype, env)?;
                return self.decides_as_written(node, op, &[]).then_some(node);
            }
            Expr::Reduce { op, index, extent, body, .. } => {
                if extent.symbols().any(|symbol| symbol.as_index().is_some()) {
                    return None;
                }
                let (op, body) = (*op, *body);
                let number = self.form.extents.len();
                if number >= MAX_INDICES {
                    return None;
                }
                Arc::make_mut(&mut self.form.extents).push(extent.clone());
                let mut env = env.clone();
                env.insert(index.as_index()?, number as u8);
                let top = self.node(body, &env)?;
                let rank = self.form.reductions.len() as u32;
                self.form.reductions.push(Reduction { op, index: number as u8, top, rank });
                top
            }
            Expr::Call { .. } => return None,
        })
    }

    /// Indices that a read does not mention and that it may only be read inside of, since its place is one of its source only where
    /// there is a coordinate of theirs: `sum(j < min(n, 1): x[min(i, n - 1)])` reads nothing where `n` is 0.
    fn guards(&self, source: Source, at: &[Dim], env: &Env) -> IndexSet {
        let is_plain = |dim: &Dim| plain(dim).is_some() || dim.is_const().is_some();
        if at.iter().all(is_plain) {
            return 0;
        }
        let extents = &self.form.extents;
        let mut ranges = Ranges::new();
        extents.iter().enumerate().for_each(|(index, extent)| ranges.set_extent(index as u32, extent));
        let is_inside = |(dim, extent): (&Dim, &Dim)| {
            let holds = |dim: &Dim| dim.known_ge_zero_in(&ranges) == Some(true);
            is_plain(dim) || (holds(dim) && holds(&(extent - 1 - dim)))
        };
        let own = at.iter().fold(0, |all, dim| all | set_of(dim));
        let mut guards = 0;
        for (dim, _) in at.iter().zip(self.plan.shape_of(source)).filter(|place| !is_inside(*place)) {
            let sizes = || dim.symbols().filter(|symbol| symbol.as_index().is_none());
            let speaks_of = |index: u8| sizes().any(|size| extents[usize::from(index)].mentions(&size));
            let may_be_empty = |index: u8| Dim::ONE.known_le(&extents[usize::from(index)]) != Some(true);
            let is_guard = |index: &u8| own & bit(*index) == 0 && speaks_of(*index) && may_be_empty(*index);
            let others = env.values().copied().filter(is_guard);
            guards |= others.fold(0, |all, index| all | bit(index));
        }
        guards
    }

    fn operator(&mut self, op: Op, args: &[ExprId], dtype: DType, env: &Env) -> Option<NodeId> {
        let is_rewritten = matches!(self.shape, Shape::Split | Shape::Expanded)
            && (dtype.is_float() || (dtype.is_int() && dtype.is_signed()));
        let minus = |reader: &mut Self, node: NodeId| {
            let value = Scalar::I64(-1).cast(dtype);
            let minus = reader.form.push(Kind::Const(value), dtype, Some(value));
            reader.form.map(Op::Mul, SmallVec::from_slice(&[minus, node]), dtype)
        };
        match (op, args) {
            (Op::Sub, &[a, b]) if is_rewritten => {
                let (a, b) = (self.node(a, env)?, self.node(b, env)?);
                let b = minus(self, b);
                Some(self.form.map(Op::Add, SmallVec::from_slice(&[a, b]), dtype))
            }
            (Op::Neg, &[a]) if is_rewritten => {
                let a = self.node(a, env)?;
                Some(minus(self, a))
            }
            (Op::Square, &[a]) if self.shape == Shape::Expanded => {
                let (a, b) = (self.node(a, env)?, self.node(a, env)?);
                Some(self.form.map(Op::Mul, SmallVec::from_slice(&[a, b]), dtype))
            }
            (op, args) => {
                let args = args.iter().map(|&arg| self.node(arg, env)).collect::<Option<_>>()?;
                Some(self.form.map(op, args, dtype))
            }
        }
    }
}

fn renamed(dim: &Dim, env: &Env) -> Option<Dim> {
    let unknown = dim.symbols().filter_map(|symbol| symbol.as_index()).any(|index| !env.contains_key(&index));
    if unknown {
        return None;
    }
    let new = |symbol: &tj_ir::Symbol| Some(Dim::index(u32::from(*env.get(&symbol.as_index()?)?)));
    Some(dim.substitute(&new))
}

impl Form {
    /// Pulls reductions up as far as they go, and makes one operator of what is nested.
    pub(super) fn settle(&mut self) {
        while self.pull() || self.flatten() {}
        self.refresh_all();
    }

    /// Makes one operator of what is nested, and leaves reductions where they are.
    fn settle_still(&mut self) {
        while self.flatten() {}
        self.refresh_all();
    }

    fn refresh_all(&mut self) {
        // From the leaves up, since all above depend on what is below.
        let below = self.below(self.root);
        for &id in below.iter().rev() {
            if self.args(id).is_empty() {
                self.refresh(id);
            }
        }
    }

    fn pull(&mut self) -> bool {
        let mut changed = false;
        for at in 0..self.reductions.len() {
            let own = self.reductions[at];
            let is_inner =
                |other: &Reduction| other.top == own.top && other.rank > own.rank && other.op != own.op;
            let Some(parent) = self.parent(own.top) else { continue };
            let Kind::Map(op, _) = &self.node(parent).kind else { continue };
            // What the same operator combines is split, and not pulled together.
            if *op != own.op.op()
                && passes(*op, own.op, self.node(parent).dtype)
                && !self.reductions.iter().any(is_inner)
            {
                self.reductions[at].top = parent;
                changed = true;
            }
        }
        changed
    }

    fn flatten(&mut self) -> bool {
        for id in self.below(self.root) {
            let Kind::Map(op, args) = &self.node(id).kind else { continue };
            let (op, dtype) = (*op, self.node(id).dtype);
            let is_nested = |arg: &NodeId| {
                matches!(&self.node(*arg).kind, Kind::Map(inner, _) if *inner == op)
                    && self.node(*arg).dtype == dtype
                    && !self.reductions.iter().any(|reduction| reduction.top == *arg)
            };
            if is_free(op) && args.iter().any(is_nested) {
                let flat = args
                    .iter()
                    .flat_map(|arg| if is_nested(arg) { self.args(*arg).to_vec() } else { vec![*arg] });
                let flat: SmallVec<[NodeId; 4]> = flat.collect();
                self.nodes[id as usize].kind = Kind::Map(op, flat);
                return true;
            }
        }
        false
    }
}
