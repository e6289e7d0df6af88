//! Elements of stored tensors at other places: found in plans, and computed from entries.
//!
//! **Problem.** Loops follow lists whose coordinates an index map gives one by one. A step, a reversed axis, another shape, a
//! border, or tensors beside each other read at places that no list follows, and what reads so would be looked up element by
//! element.
//!
//! **Idea.** A choice by place among elements of stored tensors, the fill and constants is a [`Moved`]: it is computed from
//! entries ([`tj_library::moves`]), whose places follow from the index maps. What is part of a larger expression becomes a query of its own
//! ([`apart`]), which the expression then reads at its own indices. Nothing else in a plan changes, and a plan without
//! stored arguments is not looked at.
//!
//! **Invariants.** Parts of one query exclude each other: they are the branches of its choices. A condition that is neither a
//! comparison of places nor made of such, or an index map that is no [`Place`], leaves the query what it was.

mod apart;
mod pull;
mod split;

use std::panic::Location;

use smallvec::SmallVec;
use tj_ir::dim::Factor;
use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, Expr, ExprArena, ExprId, Function, Op, ReduceOp, Symbol};
use tj_library::moves::{Place, Test};
use tj_tensor::{DType, Format, Scalar, Width};

use super::space::is_over_nothing;
use super::{StoredInput, followed, has_index};
use crate::plan::{Plan, Query, QueryId, RootCall};
pub use apart::{apart, has_moves};

/// Parts of one query.
const MAX_PARTS: usize = 32;

/// A query that is put together of entries.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The shape of the result.
    pub shape: Vec<Dim>,
    /// How far a further index runs, if there is one: no further than 1.
    pub others: Vec<Dim>,
    /// The type of its elements.
    pub dtype: DType,
    /// What is where no part is.
    pub fill: Scalar,
    /// The parts.
    pub parts: Vec<MovedPart>,
    /// What stands for numbers of the program in conditions.
    pub numbers: Vec<MovedNumber>,
    /// How it is written.
    pub format: Format,
}

/// A number of the program in index maps, as the difference of two symbols: symbols are not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedNumber {
    /// The number, or 0 if it is negative.
    pub above: Symbol,
    /// The number without its sign if it is negative, or 0.
    pub below: Symbol,
    /// Which it is.
    pub number: u32,
}

/// Some of its elements.
#[derive(Clone, Debug)]
pub struct MovedPart {
    /// What they are elements of, or their value.
    pub what: MovedFrom,
    /// Where they are read.
    pub at: Indices,
    /// Where this is what is read.
    pub when: Vec<(Dim, Test)>,
    /// What coordinates of a dimension are taken from, at the place that its index map gives.
    pub list: Option<MovedList>,
}

/// A list of coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedList {
    /// Of which dimension.
    pub dim: usize,
    /// The list: positions along the dimension, counted from its end if negative.
    pub source: Source,
    /// Which function has it.
    pub function: Function,
    /// The call that asked for it.
    pub location: &'static Location<'static>,
}

/// What elements are moved from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MovedFrom {
    /// A tensor. One that is not stored by levels is spread along a diagonal, each element once.
    Source(Source),
    /// A value.
    Value(Scalar),
    /// A number of the program.
    Number(u32),
}

impl Moved {
    /// What it reads, each once.
    pub fn sources(&self) -> Vec<Source> {
        let mut sources = Vec::new();
        for part in &self.parts {
            let what = if let MovedFrom::Source(source) = part.what { Some(source) } else { None };
            let list = part.list.as_ref().map(|list| list.source);
            for source in what.into_iter().chain(list) {
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        sources
    }

    /// How its result is stored.
    pub(super) fn stored(&self, stores: Stores<'_>) -> StoredInput {
        let rank = self.shape.len();
        let sources: Vec<&StoredInput> = self.sources().into_iter().filter_map(stores).collect();
        let narrow = |extent: &Dim| extent.is_const().is_some_and(|n| n as u64 <= Width::U32.max() as u64);
        let width = if self.shape.iter().all(narrow) { Width::U32 } else { Width::U64 };
        let stored = StoredInput {
            format: Format::csf(rank),
            fill: self.fill,
            is_hypersparse: sources.iter().any(|stored| stored.is_hypersparse),
            width,
            may_store_fill: true,
            entries: None,
        };
        let format = stored.lists(&(0..rank).collect::<Vec<_>>());
        StoredInput { format, ..stored }
    }
}

/// How a source is stored, if it is by levels.
pub(super) type Stores<'s> = &'s dyn Fn(Source) -> Option<&'s StoredInput>;

/// Whether no list follows an index map.
pub(super) fn is_unfollowed(dim: &Dim) -> bool {
    has_index(dim) && followed(dim).is_none()
}

/// A query as one that is put together of entries, if it is one and its loops would not follow lists.
pub(super) fn find<'p>(plan: &'p Plan, id: QueryId, stores: Stores<'p>) -> Option<Moved> {
    let query = plan.query(id);
    if query.shape.is_empty() {
        return None;
    }
    if let Some(call) = plan.root_call(id) {
        return taken(query, &call, stores);
    }
    let (mut body, mut others) = (query.body, Vec::new());
    let mut over_nothing = None;
    if let Expr::Reduce { op, extent, body: inner, .. } = plan.arena.node(body) {
        if extent.known_le(&Dim::ONE) != Some(true) || matches!(op, ReduceOp::By(_)) {
            return None;
        }
        if Dim::ONE.known_le(extent) != Some(true) {
            over_nothing = Some(*op);
        }
        others.push(extent.clone());
        body = *inner;
    }
    let choice = Choice::of(plan, body, stores)?;
    let fits = over_nothing.is_none_or(|op| is_over_nothing(op, choice.fill));
    (fits && choice.is_worth_it()).then(|| Moved {
        shape: query.shape.to_vec(),
        others,
        dtype: query.dtype,
        fill: choice.fill,
        parts: choice.parts,
        numbers: choice.numbers,
        format: written(query),
    })
}

/// How a result is written that is asked for.
fn written(query: &Query) -> Format {
    if query.shape.len() == 2 { Format::csr() } else { Format::coo(query.shape.len()) }
}

/// Elements of a stored tensor at the positions of a list along one axis.
fn taken(query: &Query, call: &RootCall, stores: Stores<'_>) -> Option<Moved> {
    let &[source, list] = call.args.as_slice() else { return None };
    let rank = query.shape.len();
    let dim = if call.function == Function::Take {
        rank.checked_sub(2)?
    } else if call.function == Function::TakeAlong && rank == 1 {
        0
    } else {
        return None;
    };
    let list = MovedList { dim, source: list, function: call.function, location: query.location };
    let at = (0..rank as u32).map(Dim::index).collect();
    let part = MovedPart { what: MovedFrom::Source(source), at, when: Vec::new(), list: Some(list) };
    Some(Moved {
        shape: query.shape.to_vec(),
        others: Vec::new(),
        dtype: query.dtype,
        fill: stores(source)?.fill,
        parts: vec![part],
        numbers: Vec::new(),
        format: written(query),
    })
}

/// A choice by place.
struct Choice {
    fill: Scalar,
    parts: Vec<MovedPart>,
    numbers: Vec<MovedNumber>,
}

impl Choice {
    /// What a node chooses, if it does nothing else.
    fn of<'p>(plan: &'p Plan, root: ExprId, stores: Stores<'p>) -> Option<Choice> {
        let mut finder = Finder {
            arena: &plan.arena,
            first_fresh: plan.first_fresh(),
            numbers: Vec::new(),
            leaves: Vec::new(),
        };
        finder.leaves(root, &[])?;
        let is_diagonal = |part: &MovedPart| part.when.iter().any(|(_, test)| *test == Test::Zero);
        let Finder { leaves, numbers, .. } = finder;
        let of_stored = leaves.iter().find_map(|leaf| match leaf.what {
            MovedFrom::Source(source) => stores(source).map(|stored| stored.fill),
            MovedFrom::Value(_) | MovedFrom::Number(_) => None,
        });
        let of_rest = leaves.iter().find_map(|leaf| match leaf.what {
            MovedFrom::Value(value) if !is_diagonal(leaf) => Some(value),
            MovedFrom::Source(_) | MovedFrom::Value(_) | MovedFrom::Number(_) => None,
        });
        let fill = of_stored.or(of_rest)?;
        let mut parts = Vec::new();
        for leaf in leaves {
            let has_fill = match leaf.what {
                MovedFrom::Source(source) => stores(source).is_some_and(|stored| stored.fill == fill),
                MovedFrom::Value(value) if value == fill => continue,
                MovedFrom::Value(_) | MovedFrom::Number(_) => false,
            };
            // What has another value elsewhere is no entry, but along a diagonal.
            let is_other = matches!(leaf.what, MovedFrom::Source(source) if stores(source).is_some());
            if !has_fill && (is_other || !is_diagonal(&leaf)) {
                return None;
            }
            parts.push(leaf);
        }
        let places =
            |part: &MovedPart| part.at.iter().chain(part.when.iter().map(|(dim, _)| dim)).all(Place::is_one);
        (!parts.is_empty() && parts.iter().all(places)).then_some(Choice { fill, parts, numbers })
    }

    /// Whether loops would look elements up, or go along a diagonal by all elements.
    fn is_worth_it(&self) -> bool {
        self.parts.iter().any(|part| {
            part.at.iter().any(is_unfollowed) || part.when.iter().any(|(_, test)| *test == Test::Zero)
        })
    }

    /// Whether some index map is clamped into its tensor, so that it reads edges again and again.
    fn is_clamped(&self) -> bool {
        self.parts.iter().flat_map(|part| &part.at).any(is_clamped)
    }
}

fn is_clamped(dim: &Dim) -> bool {
    let Ok(summands) = dim.summands() else { return false };
    let mut factors = summands.iter().flat_map(|summand| &summand.factors);
    factors.any(|(factor, _)| match factor {
        Factor::Symbol(_) => false,
        Factor::FloorDiv(a, b) | Factor::Modulo(a, b) => is_clamped(a) || is_clamped(b),
        Factor::Min(..) | Factor::Max(..) => true,
    })
}

struct Finder<'p> {
    arena: &'p ExprArena,
    first_fresh: u64,
    numbers: Vec<MovedNumber>,
    leaves: Vec<MovedPart>,
}

/// Comparisons that hold together.
type When = Vec<(Dim, Test)>;

impl Finder<'_> {
    /// The branches of a choice, each with all conditions on the way.
    fn leaves(&mut self, root: ExprId, when: &[(Dim, Test)]) -> Option<()> {
        let mut open = vec![(root, when.to_vec())];
        while let Some((node, when)) = open.pop() {
            if self.leaves.len() + open.len() > MAX_PARTS {
                return None;
            }
            match self.arena.node(node) {
                Expr::Read { source, at } => {
                    self.leaves.push(MovedPart {
                        what: MovedFrom::Source(*source),
                        at: at.clone(),
                        when,
                        list: None,
                    });
                }
                Expr::Const(value) => {
                    self.leaves.push(MovedPart {
                        what: MovedFrom::Value(*value),
                        at: Indices::new(),
                        when,
                        list: None,
                    });
                }
                Expr::Map { op: Op::Where, args } => {
                    let &[condition, yes, no] = args.as_slice() else { return None };
                    for (branch, wanted) in [(yes, true), (no, false)] {
                        for alternative in self.conditions(condition, wanted)? {
                            open.push((branch, when.iter().cloned().chain(alternative).collect()));
                        }
                    }
                }
                Expr::Number(number) => {
                    self.leaves.push(MovedPart {
                        what: MovedFrom::Number(*number),
                        at: Indices::new(),
                        when,
                        list: None,
                    });
                }
                Expr::Map { op, args } => {
                    // A condition as a value.
                    let is_bool = self.arena.dtype(args[0]) == DType::Bool;
                    let cast = if let (Op::Cast(dtype), true) = (op, is_bool) { Some(*dtype) } else { None };
                    let (condition, dtype) = cast.map_or((node, DType::Bool), |dtype| (args[0], dtype));
                    for wanted in [true, false] {
                        let what = MovedFrom::Value(Scalar::Bool(wanted).cast(dtype));
                        for alternative in self.conditions(condition, wanted)? {
                            let when = when.iter().cloned().chain(alternative).collect();
                            self.leaves.push(MovedPart { what, at: Indices::new(), when, list: None });
                        }
                    }
                }
                Expr::Size(_) | Expr::Reduce { .. } | Expr::Call { .. } => return None,
            }
        }
        Some(())
    }

    /// When a condition has a value: alternatives that exclude each other.
    fn conditions(&mut self, condition: ExprId, wanted: bool) -> Option<Vec<When>> {
        let arena = self.arena;
        match arena.node(condition) {
            Expr::Const(Scalar::Bool(value)) => {
                Some(if *value == wanted { vec![Vec::new()] } else { Vec::new() })
            }
            Expr::Map { op: Op::Not | Op::LogicalNot, args } if arena.dtype(args[0]) == DType::Bool => {
                self.conditions(args[0], !wanted)
            }
            Expr::Map { op: op @ (Op::And | Op::LogicalAnd | Op::Or | Op::LogicalOr), args }
                if args.iter().all(|&arg| arena.dtype(arg) == DType::Bool) =>
            {
                let both = matches!(op, Op::And | Op::LogicalAnd) == wanted;
                let (first, second) = (self.conditions(args[0], wanted)?, self.conditions(args[1], wanted)?);
                let products = |one: &[When], two: &[When]| -> Vec<When> {
                    let product =
                        one.iter().flat_map(|a| two.iter().map(|b| [a.clone(), b.clone()].concat()));
                    product.collect()
                };
                if both {
                    return Some(products(&first, &second));
                }
                // One of them, or else the other.
                let otherwise = self.conditions(args[0], !wanted)?;
                Some(first.iter().cloned().chain(products(&otherwise, &second)).collect())
            }
            Expr::Map { op, args } => {
                let (_, yes, no) = COMPARISONS.into_iter().find(|(known, _, _)| known == op)?;
                let (difference, test) = if wanted { yes } else { no };
                let (a, b) = (self.place(args[0])?, self.place(args[1])?);
                let dim = match difference {
                    Difference::Plain => a - b,
                    Difference::Reversed => b - a,
                    Difference::PlainLessOne => a - b - 1,
                    Difference::ReversedLessOne => b - a - 1,
                };
                dim.check().ok()?;
                Some(vec![vec![(dim, test)]])
            }
            Expr::Const(_)
            | Expr::Number(_)
            | Expr::Size(_)
            | Expr::Read { .. }
            | Expr::Reduce { .. }
            | Expr::Call { .. } => None,
        }
    }

    /// A number that follows from indices, sizes and numbers of the program.
    fn place(&mut self, node: ExprId) -> Option<Dim> {
        let arena = self.arena;
        if arena.dtype(node) != DType::I64 {
            return None;
        }
        match arena.node(node) {
            Expr::Size(dim) => Some(dim.clone()),
            Expr::Const(Scalar::I64(value)) => Some(Dim::from(*value)),
            Expr::Number(number) => {
                let fresh = |at| Symbol::fresh(self.first_fresh + 2 * u64::from(*number) + at, ..).ok();
                let (above, below) = (fresh(0)?, fresh(1)?);
                let dim = Dim::symbol(&above) - Dim::symbol(&below);
                let known = MovedNumber { above, below, number: *number };
                if !self.numbers.contains(&known) {
                    self.numbers.push(known);
                }
                Some(dim)
            }
            Expr::Map { op, args } => {
                let parts: SmallVec<[Dim; 2]> =
                    args.iter().map(|&arg| self.place(arg)).collect::<Option<_>>()?;
                match (op, parts.as_slice()) {
                    (Op::Add, [a, b]) => Some(a + b),
                    (Op::Sub, [a, b]) => Some(a - b),
                    (Op::Neg, [a]) => Some(Dim::ZERO - a),
                    _ => None,
                }
            }
            Expr::Const(_) | Expr::Read { .. } | Expr::Reduce { .. } | Expr::Call { .. } => None,
        }
    }
}

/// Of which numbers something holds: of the first less the second, the other way, or one less.
#[derive(Clone, Copy)]
enum Difference {
    Plain,
    Reversed,
    PlainLessOne,
    ReversedLessOne,
}

type Holds = (Difference, Test);

/// Comparisons of whole numbers: what holds if they do, and if they do not.
const COMPARISONS: [(Op, Holds, Holds); 6] = {
    use Difference::{Plain, PlainLessOne, Reversed, ReversedLessOne};
    use Test::{NotNegative, NotZero, Zero};
    [
        (Op::Less, (ReversedLessOne, NotNegative), (Plain, NotNegative)),
        (Op::LessEqual, (Reversed, NotNegative), (PlainLessOne, NotNegative)),
        (Op::Greater, (PlainLessOne, NotNegative), (Reversed, NotNegative)),
        (Op::GreaterEqual, (Plain, NotNegative), (ReversedLessOne, NotNegative)),
        (Op::Equal, (Plain, Zero), (Plain, NotZero)),
        (Op::NotEqual, (Plain, NotZero), (Plain, Zero)),
    ]
};
