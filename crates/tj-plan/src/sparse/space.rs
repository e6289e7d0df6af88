//! Where an expression differs from its fill.
//!
//! For each node: its value where no read has an entry, and an and/or tree over reads. At a position outside of the tree the
//! node has that value. An operator that one argument decides needs an entry of that argument; any other needs an entry of
//! some argument. A selection by what is stored (`where(x == 0, 0, x * y)`, by which annihilation is spelled out) is an "and"
//! of the condition and what it lets through. Reads without a fill are everywhere; but where a reduction runs over entries alone,
//! such as `sum(i: (x[i, j] - mean[j])^2)`, what is combined elsewhere is one value, which is computed once and counted.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expand::expand;
use tj_ir::expr::Source;
use tj_ir::op::Domain;
use tj_ir::prim::Evaluator;
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op, ReduceOp};
use tj_tensor::Scalar;

/// Where something may differ from its fill.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// Everywhere.
    All,
    /// Where this read has an entry.
    Leaf(ExprId),
    /// Where all do.
    And(Vec<Tree>),
    /// Where one of them does; nowhere, if there is none.
    Or(Vec<Tree>),
}

/// What is known of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// Its value outside of the tree, if the program alone says what it is.
    pub fill: Option<Scalar>,
    /// Where it may have another value.
    pub tree: Tree,
}

impl Tree {
    /// Nowhere.
    pub const NONE: Tree = Tree::Or(Vec::new());

    /// Where one of them is.
    #[must_use]
    pub fn or(trees: impl IntoIterator<Item = Tree>) -> Tree {
        let mut any = Vec::new();
        for tree in trees {
            match tree {
                Tree::All => return Tree::All,
                Tree::Or(inner) => inner.into_iter().for_each(|tree| add(&mut any, tree)),
                Tree::Leaf(_) | Tree::And(_) => add(&mut any, tree),
            }
        }
        // A or (A and B) is A.
        let whole = any.clone();
        any.retain(|tree| !matches!(tree, Tree::And(parts) if parts.iter().any(|part| whole.contains(part))));
        if any.len() == 1 { any.swap_remove(0) } else { Tree::Or(any) }
    }

    fn and(trees: impl IntoIterator<Item = Tree>) -> Tree {
        let mut all = Vec::new();
        for tree in trees {
            match tree {
                Tree::All => {}
                Tree::And(inner) => inner.into_iter().for_each(|tree| add(&mut all, tree)),
                Tree::Or(inner) if inner.is_empty() => return Tree::NONE,
                Tree::Leaf(_) | Tree::Or(_) => add(&mut all, tree),
            }
        }
        // A and (A or B) is A.
        let whole = all.clone();
        all.retain(|tree| !matches!(tree, Tree::Or(parts) if parts.iter().any(|part| whole.contains(part))));
        match all.len() {
            0 => Tree::All,
            1 => all.swap_remove(0),
            _ => Tree::And(all),
        }
    }

    /// The tree at one loop: a read that has no list to walk there is everywhere.
    #[must_use]
    pub fn at(&self, walks: &dyn Fn(ExprId) -> bool) -> Tree {
        match self {
            Tree::All => Tree::All,
            Tree::Leaf(id) if walks(*id) => Tree::Leaf(*id),
            Tree::Leaf(_) => Tree::All,
            Tree::And(trees) => Tree::and(trees.iter().map(|tree| tree.at(walks))),
            Tree::Or(trees) => Tree::or(trees.iter().map(|tree| tree.at(walks))),
        }
    }

    /// The reads in it, each once.
    pub fn leaves(&self) -> Vec<ExprId> {
        let (mut open, mut found) = (vec![self], Vec::new());
        while let Some(tree) = open.pop() {
            match tree {
                Tree::All => {}
                Tree::Leaf(id) if found.contains(id) => {}
                Tree::Leaf(id) => found.push(*id),
                Tree::And(trees) | Tree::Or(trees) => open.extend(trees.iter().rev()),
            }
        }
        found
    }

    /// Whether every position of the tree has an entry of this read.
    pub fn implies(&self, leaf: ExprId) -> bool {
        match self {
            Tree::All => false,
            Tree::Leaf(id) => *id == leaf,
            Tree::And(trees) => trees.iter().any(|tree| tree.implies(leaf)),
            Tree::Or(trees) => !trees.is_empty() && trees.iter().all(|tree| tree.implies(leaf)),
        }
    }
}

fn add(trees: &mut Vec<Tree>, tree: Tree) {
    if !trees.contains(&tree) {
        trees.push(tree);
    }
}

/// The space of every node below `root`; `fill_of` gives the fills of what is stored by levels.
pub fn spaces(
    arena: &ExprArena,
    root: ExprId,
    fill_of: &dyn Fn(Source) -> Option<Scalar>,
) -> FxHashMap<ExprId, Space> {
    let mut spaces: FxHashMap<ExprId, Space> = FxHashMap::default();
    let everywhere = || Space { fill: None, tree: Tree::All };
    for id in arena.reachable(&[root]) {
        let space = match arena.node(id) {
            Expr::Const(value) => Space { fill: Some(*value), tree: Tree::NONE },
            Expr::Number(_) | Expr::Size(_) | Expr::Call { .. } => everywhere(),
            Expr::Read { source, .. } => match fill_of(*source) {
                Some(fill) => Space { fill: Some(fill), tree: Tree::Leaf(id) },
                None => everywhere(),
            },
            Expr::Map { op, args } => {
                let args: SmallVec<[&Space; 3]> = args.iter().map(|arg| &spaces[arg]).collect();
                of_map(*op, &args).unwrap_or_else(everywhere)
            }
            Expr::Reduce { op, body, extent, .. } => {
                let body = &spaces[body];
                let fill = body.fill.and_then(|fill| of_reduce(*op, fill));
                // Over nothing it may be something else, and then it is so everywhere.
                let has_terms = Dim::ONE.known_le(extent) == Some(true);
                let fill = fill.filter(|&fill| has_terms || is_over_nothing(*op, fill));
                fill.map_or_else(everywhere, |fill| Space { fill: Some(fill), tree: body.tree.clone() })
            }
        };
        spaces.insert(id, space);
    }
    spaces
}

/// Has a selection looked at where its condition has entries, and nowhere else: elsewhere it is what it lets through there.
pub fn follow_condition(arena: &ExprArena, root: ExprId, spaces: &mut FxHashMap<ExprId, Space>) {
    let Expr::Map { op: Op::Where, args } = arena.node(root) else {
        panic!("sparse: what is updated is a selection, not {:?}", arena.node(root))
    };
    let tree = spaces[&args[0]].tree.clone();
    spaces.insert(root, Space { fill: None, tree });
}

fn of_map(op: Op, args: &[&Space]) -> Option<Space> {
    if let (Op::Where, &[c, a, b]) = (op, args) {
        return of_where(c, a, b);
    }
    let deciding = args.iter().enumerate().filter_map(|(position, arg)| {
        let fill = arg.fill?;
        let dtype = fill.dtype();
        let exact = dtype.is_int() || dtype.is_bool();
        let laws = op.info().algebra.annihilators.iter();
        let law = laws.copied().find(|law| {
            let holds = law.holds == Domain::Always || (exact && law.holds == Domain::Exact);
            holds && law.position == position && law.value.scalar(dtype) == fill
        })?;
        Some((op.decided(&law, dtype), arg.tree.clone()))
    });
    let deciding: Vec<(Scalar, Tree)> = deciding.collect();
    if let Some(&(result, _)) = deciding.first() {
        let trees = deciding.into_iter().filter(|(other, _)| *other == result).map(|(_, tree)| tree);
        return Some(Space { fill: Some(result), tree: Tree::and(trees) });
    }
    let fills: SmallVec<[Scalar; 3]> = args.iter().map(|arg| arg.fill).collect::<Option<_>>()?;
    if fills.iter().any(|fill| fill.dtype().is_complex()) {
        return None;
    }
    let fill = expand(&mut Evaluator, op, &fills);
    Some(Space { fill: Some(fill), tree: Tree::or(args.iter().map(|arg| arg.tree.clone())) })
}

fn of_where(c: &Space, a: &Space, b: &Space) -> Option<Space> {
    let [ct, at, bt] = [&c.tree, &a.tree, &b.tree].map(Tree::clone);
    let same = a.fill.is_some() && a.fill == b.fill;
    let (fill, tree) = match (c.fill, same) {
        (Some(Scalar::Bool(true)), true) => (a.fill?, Tree::or([at, Tree::and([ct, bt])])),
        (Some(Scalar::Bool(true)), false) => (a.fill?, Tree::or([at, ct])),
        (Some(_), true) => (b.fill?, Tree::or([bt, Tree::and([ct, at])])),
        (Some(_), false) => (b.fill?, Tree::or([bt, ct])),
        (None, true) => (a.fill?, Tree::or([at, bt])),
        (None, false) => return None,
    };
    Some(Space { fill: Some(fill), tree })
}

/// What a reduction gives over any number of fills, if that does not depend on the number.
fn of_reduce(op: ReduceOp, fill: Scalar) -> Option<Scalar> {
    let dtype = fill.dtype();
    match op {
        ReduceOp::Max | ReduceOp::Min | ReduceOp::And | ReduceOp::Or => Some(fill),
        ReduceOp::Sum | ReduceOp::Xor => is_zero(fill).then(|| Scalar::zero(dtype)),
        ReduceOp::Prod => (is_zero(fill) || fill == Scalar::one(dtype)).then_some(fill),
        ReduceOp::By(_) => None,
    }
}

/// Whether a reduction over nothing gives its fill too, or is an error.
pub(super) fn is_over_nothing(op: ReduceOp, fill: Scalar) -> bool {
    let empty = op.empty(fill.dtype());
    empty.is_none_or(|empty| empty == fill || (is_zero(empty) && is_zero(fill)))
}

fn is_zero(value: Scalar) -> bool {
    !value.dtype().is_complex() && value.to_f64() == 0.0
}

/// Whether to combine with a fill changes nothing, so that a reduction need not count what it does not visit.
pub fn is_neutral(op: ReduceOp, fill: Scalar) -> bool {
    let dtype = fill.dtype();
    match op {
        ReduceOp::Sum | ReduceOp::Xor => is_zero(fill),
        ReduceOp::Or => fill == Scalar::zero(dtype),
        ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::And => op.start(dtype) == Some(fill),
        ReduceOp::By(_) => false,
    }
}

/// Where a reduction combines anything but one value that is the same at all other places, although the program alone does not
/// say which: where some read has an entry, if nothing but entries depends on the indices of the reduction.
pub fn varying(
    arena: &ExprArena,
    inner: ExprId,
    indices: &[u32],
    is_stored: &dyn Fn(Source) -> bool,
) -> Option<Tree> {
    let uses =
        |dim: &Dim| dim.symbols().any(|symbol| symbol.as_index().is_some_and(|i| indices.contains(&i)));
    let mut leaves = Vec::new();
    for id in arena.reachable(&[inner]) {
        match arena.node(id) {
            Expr::Read { source, at } if at.iter().any(uses) => {
                leaves.push(is_stored(*source).then_some(Tree::Leaf(id))?);
            }
            Expr::Size(dim) if uses(dim) => return None,
            Expr::Reduce { .. } | Expr::Call { .. } => return None,
            Expr::Read { .. } | Expr::Size(_) | Expr::Const(_) | Expr::Number(_) | Expr::Map { .. } => {}
        }
    }
    (!leaves.is_empty()).then(|| Tree::or(leaves))
}

/// Where a chain of reductions goes: where what it combines differs from its fill, or varies.
pub fn visited(
    arena: &ExprArena,
    spaces: &FxHashMap<ExprId, Space>,
    (op, indices, inner): (ReduceOp, &[u32], ExprId),
    is_stored: &dyn Fn(Source) -> bool,
) -> Tree {
    let space = &spaces[&inner];
    match (op, space.fill) {
        // Without a law for what is left out, nothing is.
        (ReduceOp::By(_), _) => Tree::All,
        (_, Some(_)) => space.tree.clone(),
        (_, None) => varying(arena, inner, indices, is_stored).unwrap_or(Tree::All),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_as_small_as_they_can_be() {
        let [a, b, c] = [0, 1, 2].map(|id| Tree::Leaf(ExprId(id)));
        let or = |x: &Tree, y: &Tree| Tree::or([x.clone(), y.clone()]);
        let and = |x: &Tree, y: &Tree| Tree::and([x.clone(), y.clone()]);
        assert_eq!(or(&a, &a), a);
        assert_eq!(or(&a, &Tree::All), Tree::All);
        assert_eq!(or(&a, &Tree::NONE), a);
        assert_eq!(and(&a, &Tree::All), a);
        assert_eq!(and(&a, &Tree::NONE), Tree::NONE);
        assert_eq!(and(&a, &or(&a, &b)), a);
        assert_eq!(or(&a, &and(&a, &b)), a);
        assert_eq!(and(&c, &or(&a, &b)), Tree::And(vec![c.clone(), Tree::Or(vec![a.clone(), b.clone()])]));
        assert!(and(&c, &or(&a, &b)).implies(ExprId(2)) && !and(&c, &or(&a, &b)).implies(ExprId(0)));
        // A list that is not walked is everywhere.
        let only_a = |id: ExprId| id == ExprId(0);
        assert_eq!(and(&a, &b).at(&only_a), a);
        assert_eq!(or(&a, &b).at(&only_a), Tree::All);
    }
}
