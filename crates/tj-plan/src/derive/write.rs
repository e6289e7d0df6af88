//! From forms back to queries.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op, ReduceOp, Symbol, Tree};
use tj_tensor::{DType, Scalar};

use super::eliminate::Step;
use super::form::{Form, Kind, Leaf, NodeId, members};
use super::laws::{decides, is_free};
use super::{Decided, Elimination, Place, Rearranged};
use crate::plan::{Plan, Produces, Query, QueryId};
use crate::substitute::rename;

/// A plan that grows.
pub(super) struct Writer<'p> {
    plan: &'p Plan,
    is_measured: bool,
    arena: ExprArena,
    queries: Vec<Query>,
    places: Vec<Place>,
    expected: Vec<(QueryId, u64)>,
    /// What queries of the old plan are in the new one.
    became: FxHashMap<u32, u32>,
    /// New queries by what they compute.
    known: FxHashMap<(tj_ir::Shape, ExprId), u32>,
}

/// Where each index of a form is in a query; none where nobody asks.
type At = [Option<Dim>];

impl<'p> Writer<'p> {
    pub fn new(plan: &'p Plan, is_measured: bool) -> Writer<'p> {
        Writer {
            plan,
            is_measured,
            arena: ExprArena::new(),
            queries: Vec::new(),
            places: Vec::new(),
            expected: Vec::new(),
            became: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    /// Takes queries over as they are, with what is expected of them.
    pub fn keep(&mut self, queries: &[QueryId], expected: &[(QueryId, u64)]) {
        for &id in queries {
            if self.became.contains_key(&id.0) {
                continue;
            }
            let query = self.plan.query(id);
            let became = &self.became;
            let mut done = FxHashMap::default();
            let body = rename(&self.plan.arena, &mut self.arena, &mut done, query.body, &|q| became[&q]);
            let new = self.define(Query { body, ..query.clone() }, Place::Free);
            self.became.insert(id.0, new);
            let own = expected.iter().find(|(known, _)| *known == id);
            self.expected.extend(own.map(|(_, entries)| (QueryId(new), *entries)));
        }
    }

    /// Writes a form, all reductions of which are eliminated as `steps` say, down as the query that it is of.
    pub fn write(&mut self, form: &Form, query: QueryId, steps: &[Elimination]) {
        let mut results: Vec<u32> = Vec::with_capacity(form.steps.len());
        for (step, done) in form.steps.iter().zip(steps) {
            let result = self.step(form, step, &results, query);
            results.push(result);
            self.expected.extend(done.expected.map(|expected| (QueryId(result), expected)));
        }
        let root = self.plan.query(query);
        let is_last = |leaf: &Leaf| {
            let Leaf::Step(step) = leaf else { return None };
            let own = form.steps[*step as usize].axes.iter().copied();
            own.eq(0..form.rank as u8).then(|| results[*step as usize])
        };
        let whole = match form.node(form.root).kind {
            Kind::Read(leaf) => is_last(&form.leaves[leaf as usize]),
            Kind::Const(_) | Kind::Number(_) | Kind::Size(_) | Kind::Map(..) => None,
        };
        let new = whole.unwrap_or_else(|| {
            let at: Vec<Option<Dim>> = (0..form.extents.len())
                .map(|index| (index < form.rank).then(|| Dim::index(index as u32)))
                .collect();
            let body = self.expression(form, form.root, &at, &results);
            self.define(Query { body, ..root.clone() }, Place::Free)
        });
        self.became.insert(query.0, new);
    }

    pub fn finish(self) -> Rearranged {
        let produces = self.plan.produces.0.iter().map(|source| match *source {
            Source::Def(q) => Source::Def(self.became[&q]),
            input @ Source::Input(_) => input,
        });
        let plan = Plan {
            produces: Produces(produces.collect()),
            arena: self.arena,
            queries: self.queries,
            inputs: self.plan.inputs.clone(),
            guards: self.plan.guards.clone(),
            symbols: self.plan.symbols.clone(),
            numbers: self.plan.numbers.clone(),
        };
        let decided = Decided { places: self.places, is_measured: self.is_measured, expected: self.expected };
        Rearranged { plan, decided, inputs: Vec::new(), is_as_written: false }
    }

    fn define(&mut self, query: Query, place: Place) -> u32 {
        let key = (query.shape.clone(), query.body);
        if let Some(&known) = self.known.get(&key) {
            // What another query keeps is there for this one.
            let known_place = &mut self.places[known as usize];
            if matches!(place, Place::Own | Place::Dense) && *known_place != Place::Dense {
                *known_place = place;
            }
            return known;
        }
        self.queries.push(query);
        self.places.push(place);
        let new = (self.queries.len() - 1) as u32;
        self.known.insert(key, new);
        new
    }

    /// The queries of a step, one for each index that it reduces, the innermost one first.
    fn step(&mut self, form: &Form, step: &Step, results: &[u32], query: QueryId) -> u32 {
        let mut at: Vec<Option<Dim>> = vec![None; form.extents.len()];
        let all = step.axes.iter().chain(&step.reduced);
        for (place, &index) in all.clone().enumerate() {
            at[usize::from(index)] = Some(Dim::index(place as u32));
        }
        let shape: tj_ir::Shape = all.map(|&index| form.extents[usize::from(index)].clone()).collect();
        let location = self.plan.query(query).location;
        let kept = self.factors(form, step, results, query);
        let mut body = self.expression_of(form, step.body, &at, results, &kept);
        let dtype = self.arena.dtype(body);
        if step.reduced.is_empty() {
            let place = if step.is_dense { Place::Dense } else { Place::Own };
            return self.define(Query { word: "filter".into(), shape, dtype, body, location }, place);
        }
        let mut new = 0;
        for (depth, _) in step.reduced.iter().enumerate().rev() {
            let rank = step.axes.len() + depth;
            let may_be_product = step.op == ReduceOp::Sum && depth + 1 == step.reduced.len();
            let tree = self.tree(body, rank, may_be_product);
            let (index, extent) = (Symbol::index(rank as u32), shape[rank].clone());
            body = self.arena.intern(Expr::Reduce { op: step.op, tree, index, extent, body }, dtype);
            // One element has no tasks; those of the sums that it is made of run side by side.
            let is_kept = depth == 0 || (depth == 1 && step.axes.is_empty());
            let place = match (is_kept, step.is_dense) {
                (true, true) => Place::Dense,
                (true, false) => Place::Own,
                (false, _) => Place::Within,
            };
            let word = step.op.name().into();
            new = self.define(Query { word, shape: shape[..rank].into(), dtype, body, location }, place);
            let own: Indices = (0..rank as u32).map(Dim::index).collect();
            body = self.arena.read(Source::Def(new), own, dtype);
        }
        new
    }

    /// In which order a reduction over the last index of a query combines.
    fn tree(&self, body: ExprId, rank: usize, may_be_product: bool) -> Tree {
        let index = Symbol::index(rank as u32);
        let uses = |dim: &Dim, symbol: &Symbol| dim.mentions(symbol);
        let reads = |node: ExprId| match self.arena.node(node) {
            Expr::Read { at, .. } => Some(at),
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Map { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => None,
        };
        if may_be_product
            && let Expr::Map { op: Op::Mul, args } = self.arena.node(body)
            && let &[a, b] = args.as_slice()
            && let (Some(a), Some(b)) = (reads(a), reads(b))
        {
            let alone = |own: &Indices, other: &Indices| {
                (0..rank as u32).map(Symbol::index).any(|axis| {
                    own.iter().any(|dim| uses(dim, &axis)) && !other.iter().any(|dim| uses(dim, &axis))
                })
            };
            let both = [a, b].iter().all(|at| at.iter().any(|dim| uses(dim, &index)));
            if both && alone(a, b) && alone(b, a) {
                return Tree::Contract;
            }
        }
        let last = |at: &Indices| at.last().is_some_and(|dim| uses(dim, &index));
        // By what has the most axes: that lies along the index, or across it.
        let reachable = self.arena.reachable(&[body]);
        let widest = reachable.into_iter().filter_map(reads).max_by_key(|at| at.len());
        if rank == 0 || widest.is_some_and(last) { Tree::Row } else { Tree::Col }
    }

    /// Factors that would be computed again for other indices of a step, as queries of their own: their readers may still write
    /// them in.
    fn factors(&mut self, form: &Form, step: &Step, results: &[u32], query: QueryId) -> Vec<(NodeId, u32)> {
        let is_again = |arg: &NodeId| {
            let node = form.node(*arg);
            let is_read = matches!(&node.kind, Kind::Map(Op::Cast(_), _)) || form.args(*arg).is_empty();
            !is_read && node.indices != 0 && step.indices() & !node.indices != 0
        };
        let again: Vec<NodeId> = form.args(step.body).iter().copied().filter(is_again).collect();
        let mut kept = Vec::new();
        for factor in again {
            let axes: SmallVec<[u8; 6]> = members(form.node(factor).indices).collect();
            let mut at: Vec<Option<Dim>> = vec![None; form.extents.len()];
            for (place, &axis) in axes.iter().enumerate() {
                at[usize::from(axis)] = Some(Dim::index(place as u32));
            }
            let body = self.expression(form, factor, &at, results);
            let shape = axes.iter().map(|&axis| form.extents[usize::from(axis)].clone()).collect();
            let Query { location, .. } = *self.plan.query(query);
            let dtype = self.arena.dtype(body);
            let new = Query { word: "factor".into(), shape, dtype, body, location };
            kept.push((factor, self.define(new, Place::Free)));
        }
        kept
    }

    fn expression(&mut self, form: &Form, id: NodeId, at: &At, results: &[u32]) -> ExprId {
        self.expression_of(form, id, at, results, &[])
    }

    /// The expression of a node, where some of the nodes below it are queries.
    fn expression_of(
        &mut self,
        form: &Form,
        id: NodeId,
        at: &At,
        results: &[u32],
        kept: &[(NodeId, u32)],
    ) -> ExprId {
        let node = form.node(id);
        if let Some((_, query)) = kept.iter().find(|(factor, _)| *factor == id) {
            let own = members(node.indices).filter_map(|axis| at[usize::from(axis)].clone()).collect();
            return self.arena.read(Source::Def(*query), own, node.dtype);
        }
        let moved = |dim: &Dim| dim.substitute(&|symbol| at.get(symbol.as_index()? as usize)?.clone());
        match &node.kind {
            Kind::Const(value) => self.arena.constant(*value),
            Kind::Number(number) => self.arena.intern(Expr::Number(*number), node.dtype),
            Kind::Size(dim) => self.arena.intern(Expr::Size(moved(dim)), node.dtype),
            Kind::Read(leaf) => match &form.leaves[*leaf as usize] {
                Leaf::Source(source, own) => {
                    let source = match *source {
                        Source::Def(q) => Source::Def(self.became[&q]),
                        input @ Source::Input(_) => input,
                    };
                    let own = own.iter().map(moved).collect();
                    self.arena.read(source, own, node.dtype)
                }
                Leaf::Step(step) => {
                    let axes = form.steps[*step as usize].axes.iter();
                    let own = axes.filter_map(|&axis| at[usize::from(axis)].clone()).collect();
                    self.arena.read(Source::Def(results[*step as usize]), own, node.dtype)
                }
            },
            Kind::Map(op, args) => {
                let values: SmallVec<[(ExprId, Option<Scalar>); 4]> = args
                    .iter()
                    .map(|&arg| (self.expression_of(form, arg, at, results, kept), form.node(arg).fill))
                    .collect();
                self.operator(*op, &values, node.dtype)
            }
        }
    }

    /// An operator on values with fills, and what these decide.
    fn operator(&mut self, op: Op, values: &[(ExprId, Option<Scalar>)], dtype: DType) -> ExprId {
        if !is_free(op) {
            return self.filled(op, values).0;
        }
        let mut rest = values.iter().copied();
        let Some(mut all) = rest.next() else { return self.arena.constant(Scalar::zero(dtype)) };
        for next in rest {
            all = match (op, self.arena.node(all.0), self.arena.node(next.0)) {
                (Op::Mul, Expr::Const(one), _) if *one == Scalar::one(dtype) => next,
                (_, _, _) => self.filled(op, &[all, next]),
            };
        }
        all.0
    }

    fn filled(&mut self, op: Op, values: &[(ExprId, Option<Scalar>)]) -> (ExprId, Option<Scalar>) {
        let args: SmallVec<[ExprId; 3]> = values.iter().map(|(value, _)| *value).collect();
        let mut result = self.arena.map(op, args);
        for (position, &(value, fill)) in values.iter().enumerate().rev() {
            let is_constant = matches!(self.arena.node(value), Expr::Const(_));
            let Some((decider, decided)) =
                fill.filter(|_| !is_constant).and_then(|fill| decides(op, position, fill))
            else {
                continue;
            };
            // Integers do so by themselves.
            if !decider.dtype().is_float() {
                continue;
            }
            let decider = self.arena.constant(decider);
            let decided = self.arena.constant(decided);
            let is_fill = self.arena.map(Op::Equal, SmallVec::from_slice(&[value, decider]));
            result = self.arena.map(Op::Where, SmallVec::from_slice(&[is_fill, decided, result]));
        }
        let fills: SmallVec<[Option<Scalar>; 4]> = values.iter().map(|(_, fill)| *fill).collect();
        (result, super::laws::fill_of_map(op, &fills))
    }
}
