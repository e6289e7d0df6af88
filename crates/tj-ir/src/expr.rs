//! Expressions: what is computed at one position of a tensor, in index notation.
//!
//! **Idea.** A tensor is *defined* by an expression over index names: `t[i0, i1] = add(x[i0, i1], b[i1])`.
//! Moving data (transpose, broadcast, slice, flip, reshape) is nothing but the index expressions of a read, so
//! moves fuse with everything; a reduction names the index that it runs over. There are no loops, no storage
//! and no order here.
//!
//! **Invariants.** Nodes are hash-consed: equal nodes have equal ids. Children precede parents. Nodes are never
//! removed. So a pass is a loop over ids, equality is id equality, and shared work stays shared. In a definition
//! of rank `r` the indices of the result are `i0 .. i(r-1)` and a reduction runs over `i(r)`.
//!
//! **Cost.** O(1) a node, without recursion anywhere.

use std::fmt;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_tensor::{DType, Scalar};

use crate::dim::{Dim, Symbol};
use crate::function::Function;
use crate::op::{Op, ReduceOp};

/// An expression in an [`ExprArena`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

impl ExprId {
    /// Position in the arena.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ExprId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

impl fmt::Debug for ExprId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a read reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// An argument of the program, by position.
    Input(u32),
    /// A definition, by position.
    Def(u32),
}

/// Index expressions of a read, one for each axis of the source.
pub type Indices = SmallVec<[Dim; 4]>;

/// What a function of whole tensors is given.
pub type Sources = SmallVec<[Source; 3]>;

/// Arguments of an operator.
pub type Args = SmallVec<[ExprId; 3]>;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(Scalar),
    /// A number that the program receives when it runs, by position.
    Number(u32),
    /// A size, or a position along an index, as an `i64`.
    Size(Dim),
    /// The element of a source at a position. Positions lie inside the source wherever the node is evaluated.
    Read {
        /// What is read.
        source: Source,
        /// Where.
        at: Indices,
    },
    /// An operator applied to values of the dtype it works in.
    Map {
        /// The operator.
        op: Op,
        /// Its arguments.
        args: Args,
    },
    /// `body` combined over all `index` in `0..extent`, in the order that `tree` fixes. Over nothing: the empty
    /// value of `op`; where there is none, a guard has refused the size.
    Reduce {
        /// How two values combine.
        op: ReduceOp,
        /// The order of combination, which decides the bits of float results.
        tree: Tree,
        /// The index that `body` may use.
        index: Symbol,
        /// How far it runs.
        extent: Dim,
        /// What is combined.
        body: ExprId,
    },
    /// The element at `i0 .. i(r-1)` of a result of a function of whole tensors. It stands at the root of a definition
    /// only, and no one moves what it reads.
    Call {
        /// The function.
        function: Function,
        /// What it is given, whole.
        args: Sources,
        /// Which of its results.
        output: u32,
    },
}

/// The order in which a reduction combines values. It follows from the logical axes of the program alone, so
/// that no decision of a scheduler can change a bit. A lane, and a block, starts from the identity of the operator if that
/// changes no bit, else from its first element ([`ReduceOp::start`]); where there are fewer elements than lanes, lanes
/// without one are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tree {
    /// The last axis is reduced. With fewer elements than lanes: in index order. Else in blocks of
    /// [`BLOCK`] elements: element `i` of a block goes to lane `i mod W`, lanes fold by halves, blocks fold by
    /// halves ([`fold_halves`]).
    Row,
    /// The last axis is kept: in index order in blocks of [`BLOCK`], blocks fold by halves.
    Col,
    /// A product of two factors, each with an index that the other lacks: a chain of fused multiply-adds from +0
    /// in index order in blocks of [`CONTRACT_BLOCK`], block sums added to +0 in order.
    Contract,
    /// One after the other in index order: what operators need whose values may not be combined in another order.
    Chain,
}

/// Elements in a block of [`Tree::Row`] and [`Tree::Col`].
pub const BLOCK: i64 = 4096;

/// Terms in a block of [`Tree::Contract`].
pub const CONTRACT_BLOCK: i64 = 256;

/// Lanes of [`Tree::Row`]: 128 bytes, but at least 16.
pub fn row_lanes(dtype: DType) -> i64 {
    match dtype.size() {
        0..=4 => 32,
        _ => 16,
    }
}

/// Combines `items` by halves until one is left: of `m` items the last `floor(m / 2)` are combined, one to one,
/// into the first ones. `None` for no items.
pub fn fold_halves<T: Copy>(items: &mut [T], mut combine: impl FnMut(T, T) -> T) -> Option<T> {
    let mut m = items.len();
    while m > 1 {
        let kept = m.div_ceil(2);
        for l in 0..m - kept {
            items[l] = combine(items[l], items[l + kept]);
        }
        m = kept;
    }
    items.first().copied()
}

impl Tree {
    /// All of them.
    pub const ALL: [Tree; 4] = [Tree::Row, Tree::Col, Tree::Contract, Tree::Chain];

    /// Name in every text.
    pub fn name(self) -> &'static str {
        match self {
            Tree::Row => "row",
            Tree::Col => "col",
            Tree::Contract => "contract",
            Tree::Chain => "chain",
        }
    }
}

impl Expr {
    /// The operands, in order.
    pub fn children(&self) -> &[ExprId] {
        match self {
            Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Read { .. } | Expr::Call { .. } => &[],
            Expr::Map { args, .. } => args,
            Expr::Reduce { body, .. } => std::slice::from_ref(body),
        }
    }

    /// The same node with other operands.
    pub fn map_children(&self, mut f: impl FnMut(ExprId) -> ExprId) -> Expr {
        match self {
            Expr::Const(_) | Expr::Number(_) | Expr::Size(_) | Expr::Read { .. } | Expr::Call { .. } => {
                self.clone()
            }
            Expr::Map { op, args } => Expr::Map { op: *op, args: args.iter().map(|&a| f(a)).collect() },
            Expr::Reduce { op, tree, index, extent, body } => Expr::Reduce {
                op: *op,
                tree: *tree,
                index: index.clone(),
                extent: extent.clone(),
                body: f(*body),
            },
        }
    }
}

/// Owns expressions.
#[derive(Clone, Debug, Default)]
pub struct ExprArena {
    nodes: Vec<Expr>,
    dtypes: Vec<DType>,
    ids: FxHashMap<Expr, ExprId>,
}

impl ExprArena {
    /// An empty arena.
    pub fn new() -> ExprArena {
        ExprArena::default()
    }

    /// Number of nodes; ids are below it.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of an id.
    pub fn node(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()]
    }

    /// The dtype of an id.
    pub fn dtype(&self, id: ExprId) -> DType {
        self.dtypes[id.index()]
    }

    /// Adds a node of this dtype, or finds the equal one.
    ///
    /// # Panics
    /// When a child is not in the arena, or the equal node has another dtype: broken invariants of a pass.
    pub fn intern(&mut self, node: Expr, dtype: DType) -> ExprId {
        if let Some(&id) = self.ids.get(&node) {
            assert_eq!(self.dtype(id), dtype, "expression arena: {node:?} was interned with another dtype");
            return id;
        }
        for child in node.children() {
            assert!(
                child.index() < self.nodes.len(),
                "expression arena: child {child} of {node:?} is missing"
            );
        }
        let id = ExprId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 expressions fit in memory"));
        self.nodes.push(node.clone());
        self.dtypes.push(dtype);
        self.ids.insert(node, id);
        id
    }

    /// A constant.
    pub fn constant(&mut self, c: Scalar) -> ExprId {
        self.intern(Expr::Const(c), c.dtype())
    }

    /// A read of a source whose elements are of this dtype.
    pub fn read(&mut self, source: Source, at: Indices, dtype: DType) -> ExprId {
        self.intern(Expr::Read { source, at }, dtype)
    }

    /// An operator on arguments that already have the dtype it works in.
    ///
    /// # Panics
    /// When the operator is not defined on these dtypes.
    pub fn map(&mut self, op: Op, args: Args) -> ExprId {
        let dtypes: SmallVec<[DType; 3]> = args.iter().map(|&a| self.dtype(a)).collect();
        let Some((_, result)) = op.dtypes(&dtypes) else {
            panic!("expression arena: {} is not defined on {dtypes:?}", op.name())
        };
        self.intern(Expr::Map { op, args }, result)
    }

    /// `id` as another dtype.
    pub fn cast(&mut self, id: ExprId, to: DType) -> ExprId {
        if self.dtype(id) == to { id } else { self.map(Op::Cast(to), SmallVec::from_slice(&[id])) }
    }

    /// All nodes that `roots` are made of, children first, each once. Linear in their number, no recursion.
    pub fn reachable(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut todo: Vec<ExprId> = roots.to_vec();
        let mut found = Vec::new();
        while let Some(id) = todo.pop() {
            if seen.insert(id) {
                found.push(id);
                todo.extend_from_slice(self.node(id).children());
            }
        }
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_nodes_share_an_id() {
        let mut arena = ExprArena::new();
        let a = arena.constant(Scalar::F32(2.0));
        let b = arena.constant(Scalar::F32(3.0));
        let x = arena.map(Op::Add, SmallVec::from_slice(&[a, b]));
        let y = arena.map(Op::Add, SmallVec::from_slice(&[a, b]));
        assert_eq!(x, y);
        assert_eq!(arena.len(), 3);
        assert_ne!(arena.constant(Scalar::F32(-0.0)), arena.constant(Scalar::F32(0.0)));
        assert_eq!(arena.reachable(&[x]), vec![a, b, x]);
    }

    #[test]
    fn halves_fold_in_a_fixed_order() {
        let mut items: Vec<String> = (0..5).map(|i| i.to_string()).collect::<Vec<_>>();
        let mut slots: Vec<usize> = (0..5).collect();
        let root = fold_halves(&mut slots, |a, b| {
            items[a] = format!("({}{})", items[a], items[b]);
            a
        });
        assert_eq!(root.map(|r| items[r].clone()).as_deref(), Some("(((03)2)(14))"));
        assert_eq!(fold_halves::<u8>(&mut [], |a, _| a), None);
    }
}
