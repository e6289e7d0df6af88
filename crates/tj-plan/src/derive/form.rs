//! The form of a query in which its reductions may be moved.

use std::sync::Arc;

use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Dim, Op, ReduceOp};
use tj_tensor::{DType, Scalar};

use crate::sparse::space::of_reduce;

/// A set of indices, a bit each.
pub type IndexSet = u64;

/// More indices, and more nodes, are not derived.
pub const MAX_INDICES: usize = 64;

/// See [`MAX_INDICES`].
pub const MAX_NODES: usize = 512;

/// Operators that give finite values for finite ones.
const CLOSED: [Op; 11] = [
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Neg,
    Op::Abs,
    Op::Square,
    Op::Relu,
    Op::Maximum,
    Op::Minimum,
    Op::Sigmoid,
    Op::Tanh,
];

/// A node of a form, by its place.
pub type NodeId = u32;

/// A query whose reductions are taken off.
#[derive(Clone, Debug)]
pub struct Form {
    /// A tree; what was replaced stays here, for what was eliminated.
    pub nodes: Vec<Node>,
    /// What the query is.
    pub root: NodeId,
    /// What is read; the first ones by the query, the others by nobody before it was eliminated.
    pub leaves: Vec<Leaf>,
    /// What is still to be reduced.
    pub reductions: Vec<Reduction>,
    /// What was eliminated, in order.
    pub steps: Vec<super::Step>,
    /// How far each index runs; the first are the axes of the query.
    pub extents: Arc<Vec<Dim>>,
    /// The number of axes of the query.
    pub rank: usize,
}

/// An operator, or what it works on.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Which.
    pub kind: Kind,
    /// Of its value.
    pub dtype: DType,
    /// The indices that it depends on before it is reduced.
    pub indices: IndexSet,
    /// What it is where nothing is stored, if the program alone says so.
    pub fill: Option<Scalar>,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// An element of a leaf.
    Read(u32),
    /// A constant.
    Const(Scalar),
    /// A number that the program receives.
    Number(u32),
    /// A size, or a position.
    Size(Dim),
    /// An operator. One that is associative and commutative takes any number of arguments.
    Map(Op, SmallVec<[NodeId; 4]>),
}

/// What is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaf {
    /// An argument or a query of the plan, at an element.
    Source(Source, Arc<[Dim]>),
    /// The result of a step, at its own axes.
    Step(u32),
}

/// A reduction of the value of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// How values combine.
    pub op: ReduceOp,
    /// Over which index.
    pub index: u8,
    /// Of which node. Several of one node are computed in the order of their ranks.
    pub top: NodeId,
    /// Inner ones have lower ranks.
    pub rank: u32,
}

impl Form {
    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Whether finite arguments give nothing but finite values, unless they overflow: then nothing is lost where fills are not asked
    /// what they decide.
    pub fn is_closed(&self) -> bool {
        self.below(self.root).into_iter().all(|node| match &self.node(node).kind {
            Kind::Read(leaf) => match self.leaves[*leaf as usize] {
                Leaf::Source(source, _) => matches!(source, Source::Input(_)),
                Leaf::Step(_) => true,
            },
            Kind::Const(value) => value.to_f64().is_finite(),
            Kind::Number(_) => false,
            Kind::Size(_) => true,
            Kind::Map(op, _) => CLOSED.contains(op) || matches!(op, Op::Cast(_)),
        })
    }

    /// Whether some operator has terms, so that another [`Shape`](super::Shape) may give another form.
    pub fn has_terms(&self) -> bool {
        let terms = [Op::Add, Op::Sub, Op::Neg, Op::Square, Op::Maximum, Op::Minimum];
        self.nodes.iter().any(|node| matches!(node.kind, Kind::Map(op, _) if terms.contains(&op)))
    }

    /// Whether a node is an element of something.
    pub fn is_read(&self, id: NodeId) -> bool {
        matches!(self.node(id).kind, Kind::Read(_))
    }

    /// The arguments of a node.
    pub fn args(&self, id: NodeId) -> &[NodeId] {
        match &self.node(id).kind {
            Kind::Map(_, args) => args,
            Kind::Read(_) | Kind::Const(_) | Kind::Number(_) | Kind::Size(_) => &[],
        }
    }

    /// Adds a node, with what follows from its arguments.
    pub(super) fn push(&mut self, kind: Kind, dtype: DType, fill: Option<Scalar>) -> NodeId {
        let indices = match &kind {
            Kind::Map(_, args) => args.iter().fold(0, |all, &arg| all | self.visible(arg)),
            Kind::Size(dim) => set_of(dim),
            Kind::Read(leaf) => self.leaf_indices(*leaf),
            Kind::Const(_) | Kind::Number(_) => 0,
        };
        self.nodes.push(Node { kind, dtype, indices, fill });
        (self.nodes.len() - 1) as NodeId
    }

    /// Adds an operator on nodes.
    pub(super) fn map(&mut self, op: Op, args: SmallVec<[NodeId; 4]>, dtype: DType) -> NodeId {
        let fill = self.fill_of_map(op, &args);
        self.push(Kind::Map(op, args), dtype, fill)
    }

    fn leaf_indices(&self, leaf: u32) -> IndexSet {
        match &self.leaves[leaf as usize] {
            Leaf::Source(_, at) => at.iter().fold(0, |all, dim| all | set_of(dim)),
            Leaf::Step(step) => self.steps[*step as usize].axes.iter().fold(0, |all, &axis| all | bit(axis)),
        }
    }

    pub(super) fn fill_of_map(&self, op: Op, args: &[NodeId]) -> Option<Scalar> {
        let fills: SmallVec<[Option<Scalar>; 4]> = args.iter().map(|&arg| self.visible_fill(arg)).collect();
        super::laws::fill_of_map(op, &fills)
    }

    /// The indices that a node depends on once it is reduced.
    pub fn visible(&self, id: NodeId) -> IndexSet {
        let own = self.reductions.iter().filter(|reduction| reduction.top == id);
        own.fold(self.node(id).indices, |all, reduction| all & !bit(reduction.index))
    }

    /// The fill of a node once it is reduced.
    pub(super) fn visible_fill(&self, id: NodeId) -> Option<Scalar> {
        let own = self.reductions.iter().filter(|reduction| reduction.top == id);
        own.fold(self.node(id).fill, |fill, reduction| of_reduce(reduction.op, fill?))
    }

    /// Brings indices and fills of a node and of what holds it up to date.
    pub(super) fn refresh(&mut self, from: NodeId) {
        let mut next = Some(from);
        while let Some(id) = next {
            if let Kind::Map(op, args) = self.node(id).kind.clone() {
                let indices = args.iter().fold(0, |all, &arg| all | self.visible(arg));
                let fill = self.fill_of_map(op, &args);
                let node = &mut self.nodes[id as usize];
                (node.indices, node.fill) = (indices, fill);
            }
            next = self.parent(id);
        }
    }

    /// The node that holds another one.
    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.below(self.root).into_iter().find(|&node| self.args(node).contains(&id))
    }

    /// A node and all below it, each before its arguments.
    pub fn below(&self, id: NodeId) -> Vec<NodeId> {
        let mut found = vec![id];
        let mut at = 0;
        while at < found.len() {
            found.extend_from_slice(self.args(found[at]));
            at += 1;
        }
        found
    }
}

/// An index as a set.
pub fn bit(index: u8) -> IndexSet {
    1 << index
}

/// The indices in a set, ascending.
pub fn members(set: IndexSet) -> impl Iterator<Item = u8> {
    (0..MAX_INDICES as u8).filter(move |&index| set & bit(index) != 0)
}

/// The indices that an index map depends on.
pub(super) fn set_of(dim: &Dim) -> IndexSet {
    dim.symbols().filter_map(|symbol| symbol.as_index()).fold(0, |all, index| all | bit(index as u8))
}
