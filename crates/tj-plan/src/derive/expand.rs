//! Sums of sums, and products of sums, taken apart.

use std::sync::Arc;

use smallvec::SmallVec;
use tj_ir::{Dim, Op, ReduceOp};

use super::Shape;
use super::form::{Form, Kind, Leaf, MAX_INDICES, MAX_NODES, NodeId, Reduction, bit};
use super::laws::is_free;

impl Form {
    /// Takes a form apart as `shape` says; `None` if it grows too large.
    pub(super) fn take_apart(&mut self, shape: Shape) -> Option<()> {
        if matches!(shape, Shape::Written | Shape::Still) {
            return Some(());
        }
        loop {
            let split = self.split()?;
            let expanded = shape == Shape::Expanded && self.expand()?;
            if !split && !expanded {
                return Some(());
            }
            self.settle();
            if self.nodes.len() > MAX_NODES {
                return None;
            }
        }
    }

    /// A reduction of what the same operator combines becomes one of each part: `sum(a + b) = sum(a) + sum(b)`.
    fn split(&mut self) -> Option<bool> {
        let found = self.reductions.iter().position(|own| {
            let is_first =
                |other: &Reduction| other.top == own.top && other.op != own.op && other.rank < own.rank;
            let is_same =
                matches!(&self.node(own.top).kind, Kind::Map(op, _) if *op == own.op.op() && is_free(*op));
            // A part without the index is repeated; over nothing only a sum of it is known.
            let keeps = matches!(own.op, ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min);
            is_same && keeps && !self.reductions.iter().any(is_first)
        });
        let Some(found) = found else { return Some(false) };
        let Reduction { op, index, top, rank } = self.reductions.remove(found);
        let args: SmallVec<[NodeId; 4]> = SmallVec::from_slice(self.args(top));
        let mut parts = SmallVec::new();
        let mut own = Some(index);
        for arg in args {
            if self.visible(arg) & bit(index) == 0 {
                parts.push(self.repeated(op, arg, index));
                continue;
            }
            let new = match own.take() {
                Some(index) => index,
                None => {
                    let new = self.fresh(index)?;
                    self.rename(arg, index, new);
                    new
                }
            };
            self.reductions.push(Reduction { op, index: new, top: arg, rank });
            parts.push(arg);
        }
        if let Kind::Map(_, args) = &mut self.nodes[top as usize].kind {
            *args = parts;
        }
        Some(true)
    }

    /// A value combined with itself, as often as an index runs.
    fn repeated(&mut self, op: ReduceOp, node: NodeId, index: u8) -> NodeId {
        if op != ReduceOp::Sum {
            return node;
        }
        let dtype = self.node(node).dtype;
        let extent = self.extents[usize::from(index)].clone();
        let mut count = self.push(Kind::Size(extent), tj_tensor::DType::I64, None);
        if dtype != tj_tensor::DType::I64 {
            count = self.map(Op::Cast(dtype), SmallVec::from_slice(&[count]), dtype);
        }
        self.map(Op::Mul, SmallVec::from_slice(&[count, node]), dtype)
    }

    /// One product of a sum becomes a sum of products.
    fn expand(&mut self) -> Option<bool> {
        for id in self.below(self.root) {
            let Kind::Map(Op::Mul, args) = &self.node(id).kind else { continue };
            let is_sum = |arg: &NodeId| {
                matches!(&self.node(*arg).kind, Kind::Map(Op::Add, _))
                    && !self.reductions.iter().any(|reduction| reduction.top == *arg)
            };
            let Some(at) = args.iter().position(is_sum) else { continue };
            let (args, dtype) = (args.clone(), self.node(id).dtype);
            let terms: SmallVec<[NodeId; 4]> = SmallVec::from_slice(self.args(args[at]));
            let mut products = SmallVec::new();
            for (number, &term) in terms.iter().enumerate() {
                let mut factors = args.clone();
                for (place, factor) in factors.iter_mut().enumerate() {
                    if place == at {
                        *factor = term;
                    } else if number > 0 {
                        *factor = self.copied(*factor)?;
                    }
                }
                products.push(self.map(Op::Mul, factors, dtype));
            }
            self.nodes[id as usize].kind = Kind::Map(Op::Add, products);
            self.refresh(id);
            return Some(true);
        }
        Some(false)
    }

    /// A new index that runs as far as another one.
    fn fresh(&mut self, like: u8) -> Option<u8> {
        let number = self.extents.len();
        let extent = self.extents[usize::from(like)].clone();
        Arc::make_mut(&mut self.extents).push(extent);
        (number < MAX_INDICES).then_some(number as u8)
    }

    /// A copy of all below a node, whose reductions have indices of their own.
    fn copied(&mut self, id: NodeId) -> Option<NodeId> {
        if self.nodes.len() > MAX_NODES {
            return None;
        }
        let node = self.node(id).clone();
        let kind = match node.kind {
            Kind::Map(op, args) => {
                Kind::Map(op, args.iter().map(|&arg| self.copied(arg)).collect::<Option<_>>()?)
            }
            Kind::Read(leaf) => {
                let leaf = self.leaves[leaf as usize].clone();
                self.leaves.push(leaf);
                Kind::Read((self.leaves.len() - 1) as u32)
            }
            kind @ (Kind::Const(_) | Kind::Number(_) | Kind::Size(_)) => kind,
        };
        let copy = self.push(kind, node.dtype, node.fill);
        // A read may have to stay inside of more loops than it mentions.
        if let Kind::Read(_) = self.node(copy).kind {
            self.nodes[copy as usize].indices = node.indices;
        }
        let own: Vec<Reduction> = self.reductions.iter().filter(|own| own.top == id).copied().collect();
        for reduction in own {
            let index = self.fresh(reduction.index)?;
            self.rename(copy, reduction.index, index);
            self.reductions.push(Reduction { index, top: copy, ..reduction });
        }
        Some(copy)
    }

    /// Another index in all below a node.
    fn rename(&mut self, id: NodeId, from: u8, to: u8) {
        let renamed = |dim: &Dim| {
            let is_it = |symbol: &tj_ir::Symbol| symbol.as_index() == Some(u32::from(from));
            dim.substitute(&|symbol| is_it(symbol).then(|| Dim::index(u32::from(to))))
        };
        for node in self.below(id) {
            let (set, other) = (bit(from), bit(to));
            let node = &mut self.nodes[node as usize];
            if node.indices & set == 0 {
                continue;
            }
            node.indices = (node.indices & !set) | other;
            match &mut node.kind {
                Kind::Read(leaf) => {
                    if let Leaf::Source(_, at) = &mut self.leaves[*leaf as usize] {
                        *at = at.iter().map(renamed).collect();
                    }
                }
                Kind::Size(dim) => *dim = renamed(dim),
                Kind::Const(_) | Kind::Number(_) | Kind::Map(..) => {}
            }
        }
    }
}
