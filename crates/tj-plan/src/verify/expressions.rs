//! The rules about the expression of each query.

use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op, ReduceOp, Tree, shape_text};
use tj_tensor::DType;

use super::bounds::{Bounds, Place, Proof};
use super::{Finding, Rule, Symbols, Unproven};
use crate::plan::{Plan, QueryId, RootCall};

struct Ctx<'p, 'r> {
    plan: &'p Plan,
    symbols: Symbols<'p>,
    bounds: Bounds,
    findings: &'r mut Vec<Finding>,
    unproven: &'r mut Vec<Unproven>,
}

/// Checks all queries.
pub(super) fn check(plan: &Plan, findings: &mut Vec<Finding>, unproven: &mut Vec<Unproven>) {
    let (symbols, bounds) = (Symbols::new(plan), Bounds::new(&plan.guards));
    let mut ctx = Ctx { plan, symbols, bounds, findings, unproven };
    for id in plan.query_ids() {
        ctx.query(id);
    }
}

impl<'p> Ctx<'p, '_> {
    fn say(&mut self, query: QueryId, rule: Rule, what: String) {
        self.findings.push(Finding::of(query, rule, what));
    }

    /// Checks a size where the indices below `indices` are known.
    fn size(&mut self, query: QueryId, dim: &Dim, indices: usize, what: &dyn Fn() -> String) {
        if let Some(problem) = self.symbols.problem(dim, indices) {
            self.say(query, problem.rule, format!("{}: {}", what(), problem.what));
        }
    }

    fn query(&mut self, id: QueryId) {
        let plan = self.plan;
        let query = plan.query(id);
        if query.body.index() >= plan.arena.len() {
            return self.say(id, Rule::Id, format!("its expression {} does not exist", query.body));
        }
        for dim in &query.shape {
            self.size(id, dim, 0, &|| format!("shape {}", shape_text(&query.shape)));
        }
        let dtype = plan.arena.dtype(query.body);
        if dtype != query.dtype {
            self.say(id, Rule::Type, format!("it is of type {}, its expression of {dtype}", query.dtype));
        }
        let root = plan.root_reduce(id);
        let rank = query.shape.len();
        let place = Place::new(&query.shape, root.as_ref());
        for node in plan.arena.reachable(&[query.body]) {
            // The extent of a reduction is the one expression at a root that stands outside of it.
            let inside = rank + usize::from(root.is_some());
            match plan.arena.node(node) {
                Expr::Const(c) => self.expect(id, node, c.dtype()),
                Expr::Number(n) => match plan.numbers.get(*n as usize) {
                    Some(number) => self.expect(id, node, number.dtype()),
                    None => self.say(id, Rule::Id, format!("there is no number n{n}")),
                },
                Expr::Size(dim) => {
                    self.expect(id, node, DType::I64);
                    self.size(id, dim, inside, &|| format!("size({dim})"));
                }
                Expr::Read { source, at } => self.read(id, node, *source, at, inside, &place),
                Expr::Map { op, args } => self.map(id, node, *op, args),
                Expr::Call { .. } => self.call(id, node),
                Expr::Reduce { op, tree, index, extent, body } => {
                    self.size(id, extent, 0, &|| format!("extent {extent} of its reduction"));
                    self.expect(id, node, plan.arena.dtype(*body));
                    if node != query.body {
                        self.say(id, Rule::Reduction, "a reduction below the root".to_string());
                    }
                    if index.as_index() != Some(rank as u32) {
                        let what = format!("its reduction runs over {index}, not over i{rank}");
                        self.say(id, Rule::Reduction, what);
                    }
                    self.reduce(id, *op, *tree, *body);
                }
            }
        }
    }

    /// Checks the dtype of a node.
    fn expect(&mut self, id: QueryId, node: ExprId, dtype: DType) {
        let found = self.plan.arena.dtype(node);
        if found != dtype {
            let node = self.plan.arena.node(node);
            self.say(id, Rule::Type, format!("{node:?} should be of type {dtype}, not {found}"));
        }
    }

    fn read(&mut self, id: QueryId, node: ExprId, source: Source, at: &[Dim], indices: usize, place: &Place) {
        let plan = self.plan;
        if !self.source(id, source) {
            return;
        }
        self.expect(id, node, plan.dtype_of(source));
        let shape = plan.shape_of(source);
        if shape.len() != at.len() {
            let what = format!("{source:?} of shape {} is read at {}", shape_text(shape), shape_text(at));
            return self.say(id, Rule::Rank, what);
        }
        let sound = self.findings.len();
        for dim in at {
            self.size(id, dim, indices, &|| format!("read of {source:?} at {}", shape_text(at)));
        }
        if self.findings.len() > sound {
            return;
        }
        for (axis, (position, extent)) in at.iter().zip(shape).enumerate() {
            match self.bounds.inside(position, extent, place) {
                Proof::Inside => {}
                Proof::Outside => {
                    let what =
                        format!("{source:?} of shape {} is read at {}", shape_text(shape), shape_text(at));
                    self.say(id, Rule::Bounds, what);
                }
                Proof::Unknown => {
                    let (position, extent) = (position.clone(), extent.clone());
                    self.unproven.push(Unproven { query: id, source, axis, position, extent });
                }
            }
        }
    }

    /// Checks that a source exists, and says so if it is read too early.
    fn source(&mut self, id: QueryId, source: Source) -> bool {
        let known = match source {
            Source::Input(i) => (i as usize) < self.plan.inputs.len(),
            Source::Def(q) => (q as usize) < self.plan.queries.len(),
        };
        if !known {
            self.say(id, Rule::Id, format!("there is no {source:?} to read"));
        }
        if let Source::Def(q) = source
            && q >= id.0
        {
            self.say(id, Rule::Order, format!("it reads q{q}"));
        }
        known
    }

    fn call(&mut self, id: QueryId, node: ExprId) {
        let plan = self.plan;
        if node != plan.query(id).body {
            return self.say(id, Rule::Call, "a call below the root".to_string());
        }
        let Some(RootCall { function, args, output }) = plan.root_call(id) else { return };
        let mut known = true;
        for &arg in &args {
            known &= self.source(id, arg);
        }
        if !known {
            return;
        }
        let (n_args, n_results) = function.arity();
        if args.len() != n_args || output >= n_results {
            let what = format!("result {output} of {} of {} arguments", function.name(), args.len());
            return self.say(id, Rule::Call, what);
        }
        let dtypes: Vec<DType> = args.iter().map(|&arg| plan.dtype_of(arg)).collect();
        match function.dtypes(&dtypes) {
            Some(results) => self.expect(id, node, results[output]),
            None => self.say(id, Rule::Type, format!("{} is not defined on {dtypes:?}", function.name())),
        }
        let shapes: Vec<&[Dim]> = args.iter().map(|&arg| plan.shape_of(arg).as_slice()).collect();
        let Some(rows) = function.rows(&shapes) else {
            let ranks: Vec<usize> = shapes.iter().map(|shape| shape.len()).collect();
            return self.say(id, Rule::Rank, format!("{} does not take ranks {ranks:?}", function.name()));
        };
        let own = plan.query(id).shape.as_slice();
        let differ = |a: &[Dim], b: &[Dim]| {
            a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a.known_eq(b) == Some(false))
        };
        let core = function.core().0;
        for (shape, core) in shapes.iter().zip(core) {
            if core.is_some() && (own.len() < rows || differ(&shape[..rows], &own[..rows])) {
                let what = format!("its rows are not those of an argument of shape {}", shape_text(shape));
                self.say(id, Rule::Call, what);
            }
        }
        if let Some(expected) = function.shape(&shapes, output)
            && differ(&expected, own)
        {
            let what =
                format!("{} gives {}, not {}", function.name(), shape_text(&expected), shape_text(own));
            self.say(id, Rule::Call, what);
        }
    }

    fn map(&mut self, id: QueryId, node: ExprId, op: Op, args: &[ExprId]) {
        let plan = self.plan;
        let arity = op.info().arity;
        if args.len() != arity {
            let what = format!("{} has {} arguments, not {arity}", op.name(), args.len());
            return self.say(id, Rule::Type, what);
        }
        let dtypes: Vec<DType> = args.iter().map(|&arg| plan.arena.dtype(arg)).collect();
        let Some((work, result)) = op.dtypes(&dtypes) else {
            return self.say(id, Rule::Type, format!("{} is not defined on {dtypes:?}", op.name()));
        };
        self.expect(id, node, result);
        // A cast works in what it has, and a user's operator on the dtypes it was defined for; the condition of a choice is `bool`, as the table has said already.
        let choice = usize::from(op == Op::Where);
        let combined = if let Op::Cast(_) | Op::User(_) = op { &[] } else { &dtypes[choice..] };
        if combined.iter().any(|&dtype| dtype != work) {
            self.say(id, Rule::Type, format!("{} on {dtypes:?} works in {work}", op.name()));
        }
        if op == Op::Filled && !may_fill(&plan.arena, args[0], args[1]) {
            self.say(id, Rule::Type, "what fills is a constant, or one under conditions".to_string());
        }
    }

    fn reduce(&mut self, id: QueryId, op: ReduceOp, tree: Tree, body: ExprId) {
        let dtype = self.plan.arena.dtype(body);
        if !op.combines(dtype) {
            self.say(id, Rule::Type, format!("{} is not defined on {dtype}", op.name()));
        }
        if tree != Tree::Contract {
            return;
        }
        let is_product = match self.plan.arena.node(body) {
            Expr::Map { op: Op::Mul, .. } => true,
            Expr::Map { .. }
            | Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => false,
        };
        if op != ReduceOp::Sum || !is_product {
            self.say(id, Rule::Reduction, "a contraction that is not the sum of a product".to_string());
        }
    }
}

/// Whether a node may stand for what another one is where nothing is stored: a constant, perhaps under conditions.
fn may_fill(arena: &ExprArena, of: ExprId, value: ExprId) -> bool {
    let mut value = value;
    while let Expr::Map { op: Op::Where, args } = arena.node(value)
        && let &[_, chosen, otherwise] = args.as_slice()
        && otherwise == of
    {
        value = chosen;
    }
    matches!(arena.node(value), Expr::Const(_))
}
