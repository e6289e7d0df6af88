//! Plans: named queries in order, what they read, and what the plan produces.
//!
//! **Forms.** The same nodes go through these forms; [`verify`](mod@crate::verify) checks each.
//!
//! 1. *traced*: one query an operator; a query may be a pure move. A reduction stands only at the root of a query.
//! 2. *canonical*: no move is left but as an output or where index maps would grow too large, no two queries are
//!    equal, none is dead, expressions are simplified.
//! 3. *fused*: expressions are written into each other, and queries are laid into the groups that become kernels
//!    ([`Fused`](crate::Fused)).

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use tj_ir::dim::SymbolKind;
use tj_ir::expr::{Source, Sources};
use tj_ir::{Expr, ExprArena, ExprId, Function, Guard, InputDecl, ReduceOp, Shape, Symbol, Trace, Tree};
use tj_tensor::{DType, Scalar};

/// A query in a plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u32);

impl QueryId {
    /// Position in the plan.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q{}", self.0)
    }
}

impl fmt::Debug for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A tensor defined by an expression: `q[i0, .., i(r-1)] = body`.
#[derive(Clone, Debug)]
pub struct Query {
    /// A word that says where it comes from; for texts only.
    pub word: Arc<str>,
    /// Sizes.
    pub shape: Shape,
    /// Type of an element.
    pub dtype: DType,
    /// Its value at `i0, .., i(r-1)`. Reads only inputs and earlier queries.
    pub body: ExprId,
    /// The call that asked for it.
    pub location: &'static Location<'static>,
}

impl fmt::Display for Query {
    /// What it does, and the line that asked for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.word, self.location)
    }
}

/// What a plan ends in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Produces(pub Vec<Source>);

/// Queries in order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// All expressions.
    pub arena: ExprArena,
    /// Arguments. Data that is there already is an argument too.
    pub inputs: Vec<InputDecl>,
    /// In program order: each reads only earlier ones.
    pub queries: Vec<Query>,
    /// What is asked for; `Source::Def` names a query.
    pub produces: Produces,
    /// What must hold of the sizes.
    pub guards: Vec<Guard>,
    /// Every size symbol.
    pub symbols: Vec<Symbol>,
    /// Values of the run-time numbers.
    pub numbers: Vec<Scalar>,
}

/// The reduction at the root of a query.
#[derive(Clone, Debug)]
pub struct RootReduce {
    /// How values combine.
    pub op: ReduceOp,
    /// In which order.
    pub tree: Tree,
    /// The index it runs over.
    pub index: Symbol,
    /// How far.
    pub extent: tj_ir::Dim,
    /// What is combined.
    pub body: ExprId,
}

/// The function of whole tensors at the root of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootCall {
    /// Which.
    pub function: Function,
    /// What it is given. Nothing is moved or computed on the way.
    pub args: Sources,
    /// Which of its results the query is.
    pub output: usize,
}

impl RootCall {
    /// Whether both are results of one call.
    pub fn is_same_call(&self, other: &RootCall) -> bool {
        self.function == other.function && self.args == other.args
    }
}

impl Plan {
    /// The traced form.
    pub fn from_trace(trace: Trace) -> Plan {
        let Trace {
            arena,
            inputs,
            defs,
            outputs,
            guards,
            numbers,
            symbols,
            complex_inputs: _,
            storage: _,
            owned: _,
            complex_outputs: _,
            deferred: _,
        } = trace;
        let queries = defs.into_iter().map(|def| Query {
            word: def.word,
            shape: def.shape,
            dtype: def.dtype,
            body: def.body,
            location: def.location,
        });
        Plan {
            arena,
            inputs,
            queries: queries.collect(),
            produces: Produces(outputs),
            guards,
            symbols,
            numbers,
        }
    }

    /// The first number of a fresh symbol that the plan does not use.
    pub fn first_fresh(&self) -> u64 {
        let numbers = self.symbols.iter().filter_map(|symbol| match symbol.kind() {
            SymbolKind::Fresh(id) => Some(id + 1),
            SymbolKind::Index(_)
            | SymbolKind::Declared(_)
            | SymbolKind::Deferred(_)
            | SymbolKind::Counted(_) => None,
        });
        numbers.max().unwrap_or(0)
    }

    /// A query.
    pub fn query(&self, id: QueryId) -> &Query {
        &self.queries[id.index()]
    }

    /// All queries, in order.
    pub fn query_ids(&self) -> impl DoubleEndedIterator<Item = QueryId> + use<> {
        (0..self.queries.len() as u32).map(QueryId)
    }

    /// The reduction at the root of a query, if there is one.
    pub fn root_reduce(&self, id: QueryId) -> Option<RootReduce> {
        match self.arena.node(self.query(id).body) {
            Expr::Reduce { op, tree, index, extent, body } => Some(RootReduce {
                op: *op,
                tree: *tree,
                index: index.clone(),
                extent: extent.clone(),
                body: *body,
            }),
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Map { .. }
            | Expr::Call { .. } => None,
        }
    }

    /// The function of whole tensors at the root of a query, if there is one.
    pub fn root_call(&self, id: QueryId) -> Option<RootCall> {
        match self.arena.node(self.query(id).body) {
            Expr::Call { function, args, output } => {
                Some(RootCall { function: *function, args: args.clone(), output: *output as usize })
            }
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Map { .. }
            | Expr::Reduce { .. } => None,
        }
    }

    /// Sizes of what a source holds.
    pub fn shape_of(&self, source: Source) -> &Shape {
        match source {
            Source::Input(i) => &self.inputs[i as usize].shape,
            Source::Def(q) => &self.queries[q as usize].shape,
        }
    }

    /// Type of what a source holds.
    pub fn dtype_of(&self, source: Source) -> DType {
        match source {
            Source::Input(i) => self.inputs[i as usize].dtype,
            Source::Def(q) => self.queries[q as usize].dtype,
        }
    }

    /// The reads in the body of a query, each once: the node, what it reads. A call reads each of its arguments.
    pub fn reads(&self, id: QueryId) -> Vec<(ExprId, Source)> {
        let nodes = self.arena.reachable(&[self.query(id).body]);
        let mut reads = Vec::new();
        for node in nodes {
            match self.arena.node(node) {
                Expr::Read { source, .. } => reads.push((node, *source)),
                Expr::Call { args, .. } => reads.extend(args.iter().map(|&source| (node, source))),
                Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Map { .. } | Expr::Reduce { .. } => {
                }
            }
        }
        reads
    }

    /// For each query, whether it is asked for.
    pub fn produced(&self) -> Vec<bool> {
        let mut produced = vec![false; self.queries.len()];
        for source in &self.produces.0 {
            if let Source::Def(q) = source {
                produced[*q as usize] = true;
            }
        }
        produced
    }

    /// For each query, whether it is asked for or what is asked for depends on it.
    pub fn live(&self) -> Vec<bool> {
        let mut live = self.produced();
        for id in self.query_ids().rev() {
            if live[id.index()] {
                for (_, source) in self.reads(id) {
                    if let Source::Def(q) = source {
                        live[q as usize] = true;
                    }
                }
            }
        }
        live
    }
}
