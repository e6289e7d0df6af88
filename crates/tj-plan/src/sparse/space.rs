//! Where an expression differs from its fill.
//!
//! For each node: its value where no read has an entry, and an and/or tree over reads. At a position outside of the tree the
//! node has that value. An operator that one argument decides needs an entry of that argument; any other needs an entry of
//! some argument. A selection by what is stored (`where(x == 0, 0, x * y)`, by which annihilation is spelled out) is an "and"
//! of the condition and what it lets through. What depends on numbers is one value outside of a tree, too, although the program
//! does not say which; where numbers have been looked at ([`Op::Filled`]), it does again, and what that depends on is what the
//! conditions are outside of their own trees. Reads without a fill are everywhere; but where a reduction runs over entries alone,
//! such as `sum(i: (x[i, j] - mean[j])^2)`, what is combined elsewhere is one value, which is computed once and counted.

mod settle;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expand::expand;
use tj_ir::expr::Source;
use tj_ir::op::Domain;
use tj_ir::prim::Evaluator;
use tj_ir::{Dim, Expr, ExprArena, ExprId, Op, ReduceOp};
use tj_tensor::{DType, Scalar};

pub(super) use settle::settle;
pub use settle::without_outcomes;

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

/// What is known of a node while others are looked at.
#[derive(Clone)]
struct Outside {
    /// Its value outside of the tree; `None` if numbers decide which one it is.
    value: Option<Scalar>,
    tree: Tree,
}

impl Outside {
    fn known(value: Scalar, tree: Tree) -> Outside {
        Outside { value: Some(value), tree }
    }
}

/// The space of every node below `root`; `fill_of` gives the fills of what is stored by levels.
pub fn spaces(
    arena: &ExprArena,
    root: ExprId,
    fill_of: &dyn Fn(Source) -> Option<Scalar>,
) -> FxHashMap<ExprId, Space> {
    let nodes = arena.reachable(&[root]);
    let mut found = outsides(arena, &nodes, fill_of);
    let space = |id: ExprId| match found.remove(&id) {
        Some(Outside { value: Some(fill), tree }) => (id, Space { fill: Some(fill), tree }),
        Some(Outside { value: None, .. }) | None => (id, Space { fill: None, tree: Tree::All }),
    };
    nodes.into_iter().map(space).collect()
}

/// What is known of some nodes, each after its arguments; what is missing is everywhere.
fn outsides(
    arena: &ExprArena,
    nodes: &[ExprId],
    fill_of: &dyn Fn(Source) -> Option<Scalar>,
) -> FxHashMap<ExprId, Outside> {
    let mut found: FxHashMap<ExprId, Outside> = FxHashMap::default();
    for &id in nodes {
        let outside = match arena.node(id) {
            Expr::Const(value) => Some(Outside::known(*value, Tree::NONE)),
            Expr::Number(_) => Some(Outside { value: None, tree: Tree::NONE }),
            Expr::Size(_) | Expr::Call { .. } => None,
            Expr::Read { source, .. } => fill_of(*source).map(|fill| Outside::known(fill, Tree::Leaf(id))),
            Expr::Map { op, args } => {
                let args: SmallVec<[Option<&Outside>; 3]> = args.iter().map(|arg| found.get(arg)).collect();
                of_map(*op, &args)
            }
            Expr::Reduce { op, body, extent, .. } => {
                // Over nothing it may be something else, and then it is so everywhere.
                let has_terms = Dim::ONE.known_le(extent) == Some(true);
                found.get(body).and_then(|body| of_reduction(*op, arena.dtype(id), body, has_terms))
            }
        };
        found.extend(outside.map(|outside| (id, outside)));
    }
    found
}

/// Has a selection looked at where its condition has entries, and nowhere else: elsewhere it is what it lets through there.
pub fn follow_condition(arena: &ExprArena, root: ExprId, spaces: &mut FxHashMap<ExprId, Space>) {
    let Expr::Map { op: Op::Where, args } = arena.node(root) else {
        panic!("sparse: what is updated is a selection, not {:?}", arena.node(root))
    };
    let tree = spaces[&args[0]].tree.clone();
    spaces.insert(root, Space { fill: None, tree });
}

fn of_map(op: Op, args: &[Option<&Outside>]) -> Option<Outside> {
    match (op, args) {
        (Op::Where, &[c, a, b]) => return of_where(c, a, b),
        (Op::Filled, &[of, value]) => {
            let said = value.and_then(|value| Some((value.value?, &value.tree)));
            return match (of, said) {
                (Some(of), Some((value, tree))) => {
                    Some(Outside::known(value, Tree::or([of.tree.clone(), tree.clone()])))
                }
                (of, _) => of.cloned(),
            };
        }
        _ => {}
    }
    let deciding = args.iter().enumerate().filter_map(|(position, arg)| {
        let (fill, tree) = (arg.as_ref()?.value?, &arg.as_ref()?.tree);
        let dtype = fill.dtype();
        let exact = dtype.is_int() || dtype.is_bool();
        let laws = op.info().algebra.annihilators.iter();
        let law = laws.copied().find(|law| {
            let holds = law.holds == Domain::Always || (exact && law.holds == Domain::Exact);
            holds && law.position == position && law.value.scalar(dtype) == fill
        })?;
        Some((op.decided(&law, dtype), tree.clone()))
    });
    let deciding: Vec<(Scalar, Tree)> = deciding.collect();
    if let Some(&(result, _)) = deciding.first() {
        let trees = deciding.into_iter().filter(|(other, _)| *other == result).map(|(_, tree)| tree);
        return Some(Outside::known(result, Tree::and(trees)));
    }
    let args: SmallVec<[&Outside; 3]> = args.iter().copied().collect::<Option<_>>()?;
    let tree = Tree::or(args.iter().map(|arg| arg.tree.clone()));
    let Some(fills) = args.iter().map(|arg| arg.value).collect::<Option<SmallVec<[Scalar; 3]>>>() else {
        return Some(Outside { value: None, tree });
    };
    if fills.iter().any(|fill| fill.dtype().is_complex()) {
        return None;
    }
    Some(Outside::known(expand(&mut Evaluator, op, &fills), tree))
}

fn of_where(c: Option<&Outside>, a: Option<&Outside>, b: Option<&Outside>) -> Option<Outside> {
    let tree = |of: Option<&Outside>| of.map_or(Tree::All, |of| of.tree.clone());
    let [ct, at, bt] = [c, a, b].map(tree);
    let value = |of: Option<&Outside>| of.and_then(|of| of.value);
    let same = value(a).is_some() && value(a) == value(b);
    let (value, tree) = match (value(c), same) {
        (Some(Scalar::Bool(true)), true) => (value(a), Tree::or([at, Tree::and([ct, bt])])),
        (Some(Scalar::Bool(true)), false) => (a?.value, Tree::or([at, ct])),
        (Some(_), true) => (value(b), Tree::or([bt, Tree::and([ct, at])])),
        (Some(_), false) => (b?.value, Tree::or([bt, ct])),
        (None, true) => (value(a), Tree::or([at, bt])),
        // A number says which of two values it is.
        (None, false) => {
            c.and(a).and(b)?;
            (None, Tree::or([ct, at, bt]))
        }
    };
    Some(Outside { value, tree })
}

fn of_reduction(op: ReduceOp, dtype: DType, body: &Outside, has_terms: bool) -> Option<Outside> {
    let value = match body.value {
        Some(fill) => Some(of_reduce(op, fill).filter(|&fill| has_terms || is_over_nothing(op, fill))?),
        // Whatever it is, it stays so.
        None if has_terms || op.empty(dtype).is_none() => match op {
            ReduceOp::Max | ReduceOp::Min | ReduceOp::And | ReduceOp::Or => None,
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Xor | ReduceOp::By(_) => return None,
        },
        None => return None,
    };
    Some(Outside { value, tree: body.tree.clone() })
}

/// What a reduction gives over any number of fills, if that does not depend on the number.
pub(crate) fn of_reduce(op: ReduceOp, fill: Scalar) -> Option<Scalar> {
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
    use tj_ir::Symbol;

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

    /// The greatest of values that are one wherever nothing is stored is that one, unless there may be no value.
    #[test]
    fn numbers_are_one_value() {
        let mut arena = ExprArena::new();
        let at = [0, 1].map(Dim::index).into_iter().collect();
        let x = arena.read(Source::Input(0), at, DType::I64);
        let number = arena.intern(Expr::Number(0), DType::I64);
        let zero = arena.constant(Scalar::I64(0));
        let more = arena.map(Op::Add, SmallVec::from_slice(&[x, number]));
        let mut space = |op: ReduceOp, extent: &Dim| {
            let (index, extent, tree) = (Symbol::index(1), extent.clone(), tj_ir::Tree::Row);
            let body = arena.intern(Expr::Reduce { op, tree, index, extent, body: more }, DType::I64);
            let filled = arena.map(Op::Filled, SmallVec::from_slice(&[body, zero]));
            let mut spaces = spaces(&arena, filled, &|_| Some(Scalar::I64(-3)));
            assert_eq!(spaces[&body], Space { fill: None, tree: Tree::All });
            spaces.remove(&filled).unwrap()
        };
        let [known, open] = [Some(Scalar::I64(0)), None];
        let (some, any) = (Dim::from(4), Dim::new("N", ..).unwrap());
        // Over nothing, `max` is an error, and `or` is 0.
        for (op, extent, fill) in [
            (ReduceOp::Max, &some, known),
            (ReduceOp::Max, &any, known),
            (ReduceOp::Or, &some, known),
            (ReduceOp::Or, &any, open),
            (ReduceOp::Sum, &some, open),
        ] {
            let tree = if fill.is_some() { Tree::Leaf(x) } else { Tree::All };
            assert_eq!(space(op, extent), Space { fill, tree }, "{op:?} below {extent}");
        }
    }
}
