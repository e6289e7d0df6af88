//! The tree of a program.
//!
//! Expressions live in one append-only arena, children before parents, and name each other by [`ExprId`]. A pass
//! is a loop over ids, a tree of any depth drops without recursion, and facts about expressions go in a `Vec`
//! indexed by id. Spelling that carries no meaning is gone: parentheses, comments, trailing commas, and
//! `output a, b`, which is two [`StmtKind::Output`] statements.

mod op;
mod program;

use std::fmt;
use std::ops::Range;

pub use op::{BinaryOp, EinopOp, Precedence, UnaryOp};
pub use program::Program;

/// A range of bytes in the source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The smallest range that covers `self` and `other`, where `other` does not start before `self`.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end }
    }

    /// The range, to slice the source with.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// An expression in [`Program::exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(u32);

impl ExprId {
    /// The position in the arena, for side tables.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ExprId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

/// An expression. Number literals are never negative: `-1` is [`UnaryOp::Neg`] of 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `12`
    Int(u64),
    /// `1.5`, `2e-3`, `inf`, `nan`
    Float(f64),
    /// `True`, `False`
    Bool(bool),
    /// `None`; among subscripts, a new axis.
    None,
    /// `"ij,jk->ik"`; there are no escapes, so the text holds no line break and not both kinds of quote.
    Str(String),
    /// `x`
    Name(String),
    /// `-x`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// What it applies to.
        arg: ExprId,
    },
    /// `a + b`, comparisons included.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The left side.
        left: ExprId,
        /// The right side.
        right: ExprId,
    },
    /// `f(x, axis=1)`
    Call {
        /// What is called.
        function: Ident,
        /// Positional arguments, then keyword arguments with distinct names.
        args: Vec<Arg>,
    },
    /// `x.sum(axis=1)`
    Method {
        /// What stands before the dot.
        receiver: ExprId,
        /// What is called.
        method: Ident,
        /// Positional arguments, then keyword arguments with distinct names.
        args: Vec<Arg>,
    },
    /// `x.T`
    Attribute {
        /// What stands before the dot.
        receiver: ExprId,
        /// What stands after it.
        name: Ident,
    },
    /// `x[1:, ..., None]`; at least one subscript.
    Index {
        /// What is indexed.
        base: ExprId,
        /// One entry between commas.
        subscripts: Vec<Subscript>,
    },
    /// `(1, 2)` or `[1, 2]`
    Sequence {
        /// Which brackets.
        kind: SequenceKind,
        /// The items.
        items: Vec<ExprId>,
    },
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// `axis` in `axis=1`; its span ends before the `=`.
    pub keyword: Option<Ident>,
    /// The value.
    pub value: ExprId,
}

/// One entry of an index.
#[derive(Clone, Debug, PartialEq)]
pub enum Subscript {
    /// `3`, `None`, `mask`
    At(ExprId),
    /// `start:stop:step`, each part optional.
    Slice {
        /// Before the first colon.
        start: Option<ExprId>,
        /// Between the colons.
        stop: Option<ExprId>,
        /// After the second colon.
        step: Option<ExprId>,
        /// The whole slice.
        span: Span,
    },
    /// `...`
    Ellipsis(Span),
}

/// The brackets of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceKind {
    /// `(1, 2)`
    Tuple,
    /// `[1, 2]`
    List,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it says.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// What a statement says.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `size N in 0..=4096`
    Size {
        /// The symbol.
        name: Ident,
        /// Its bounds, if given.
        bounds: Option<Bounds>,
    },
    /// `input A: f64[N, 2 * N] csr fill 0`
    Input {
        /// The name.
        name: Ident,
        /// The element type, not checked.
        dtype: Ident,
        /// One size expression an axis: integers, names, `+ - * // %`, `min` and `max`.
        dims: Vec<ExprId>,
        /// How it is stored, not checked: what is written between the shape and `fill`.
        format: Option<Ident>,
        /// Its fill.
        fill: Option<ExprId>,
    },
    /// `h = relu(x @ w)`
    Bind {
        /// The name.
        name: Ident,
        /// Its value.
        value: ExprId,
    },
    /// `output y = h.sum(1)`, or `output y` for a name bound elsewhere.
    Output {
        /// The name.
        name: Ident,
        /// Its value, if given here.
        value: Option<ExprId>,
    },
    /// `C[i, j] += A[i, k] * B[k, j]`
    Einop {
        /// What is computed.
        target: Ident,
        /// Its indices.
        indices: Vec<Ident>,
        /// How entries that meet are combined.
        op: EinopOp,
        /// The body; names inside subscripts are indices.
        value: ExprId,
    },
    /// The only output of a program given as an expression.
    Result {
        /// Its value.
        value: ExprId,
    },
}

/// The bounds of a size, both included: `0..4096` reads as `0..=4095`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest value.
    pub lower: u64,
    /// The largest value, not below `lower`.
    pub upper: u64,
    /// Where they stand.
    pub span: Span,
}

impl Expr {
    /// Calls `f` on each child, in the order of the text.
    pub fn for_each_child(&self, mut f: impl FnMut(ExprId)) {
        match self {
            Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::None | Expr::Str(_) | Expr::Name(_) => {}
            Expr::Unary { arg, .. } => f(*arg),
            Expr::Binary { left, right, .. } => {
                f(*left);
                f(*right);
            }
            Expr::Call { args, .. } => args.iter().for_each(|arg| f(arg.value)),
            Expr::Method { receiver, args, .. } => {
                f(*receiver);
                args.iter().for_each(|arg| f(arg.value));
            }
            Expr::Attribute { receiver, .. } => f(*receiver),
            Expr::Index { base, subscripts } => {
                f(*base);
                subscripts.iter().for_each(|subscript| subscript.for_each_child(&mut f));
            }
            Expr::Sequence { items, .. } => items.iter().copied().for_each(f),
        }
    }
}

impl Subscript {
    /// Calls `f` on each expression of the entry, in the order of the text.
    pub fn for_each_child(&self, mut f: impl FnMut(ExprId)) {
        match self {
            Subscript::At(id) => f(*id),
            Subscript::Slice { start, stop, step, .. } => {
                [start, stop, step].into_iter().flatten().copied().for_each(f);
            }
            Subscript::Ellipsis(_) => {}
        }
    }
}
