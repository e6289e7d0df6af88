//! The kernel language: what one native function does, loop by loop.
//!
//! A [`Kernel`] is a tree of blocks. A block is a list of statements; a statement defines one value, changes
//! memory or a variable, or holds further blocks. Values are typed scalars defined exactly once, before use,
//! in an enclosing block, so that a back end walks a kernel once from top to bottom and never searches.
//! Nothing here knows of index names, formats or expressions: only loops, buffers and positions.
//!
//! # Meaning
//!
//! * **Types.** A value has a [`DType`]. `bool` is 0 or 1, one byte in memory. Positions, sizes and loop
//!   variables are `i64`. There is no vector type: see lanes. f16 and bf16 are only moved and cast; there are no
//!   complex values. [`arith`](crate::arith) lists what is defined on which type.
//! * **Arithmetic.** Floats: IEEE 754, each operation rounded on its own, never contracted, subnormals kept,
//!   payload and sign of a computed NaN unspecified. Integers wrap. `FloorDiv` and `Mod` follow the sign of the
//!   divisor; by zero both give 0; `MIN / -1` wraps. Shift counts outside the width give 0, or the sign for an
//!   arithmetic right shift. Float to integer saturates and NaN gives 0; to `bool` is `!= 0`. Nothing traps.
//! * **Order.** Definitions and statements happen in program order. `Load` and `Get` see every earlier store.
//! * **Lanes.** `For { kind: Lanes(w) }` says that its iterations are independent, so that a back end may run
//!   neighbours together, in any order, at any width. Exactly three things connect iterations: memory that no
//!   other iteration touches; variables declared inside the body (one a lane); and *lane variables*, arrays of
//!   `w` elements declared outside, where iteration `i` reads and writes element `(i - lo) mod w` only, in
//!   increasing `i` for one element. That rule fixes the bits of a reduction whatever width the hardware has.
//!   Bounds of loops and conditions of `If` and `While` inside a lanes body are the same for all lanes. Lanes do
//!   not nest.
//! * **Grid.** The task range `lo..hi` of the function (see `abi`) is a pair of values; tasks are independent.
//!
//! A back end chooses vector width and unrolling for lanes loops; everything else is explicit.

use std::fmt;

use tj_ir::Function;
use tj_ir::dim::Dim;
pub use tj_ir::prim::{BinOp, CmpOp, UnOp};
use tj_tensor::{DType, Scalar};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// Position in the table that owns this id.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// A value, defined once.
    Value, "%");
id!(
    /// A mutable variable: an accumulator or a cursor.
    Var, "$");
id!(
    /// A buffer of the kernel.
    Buf, "@");

/// Blocks nest at most this deep, so that whatever walks a kernel may recurse over them.
pub const MAX_NESTING: usize = 100;

/// Lanes loops and lane variables have at most this many lanes.
pub const MAX_LANES: u32 = 256;

/// One native function: `fn(args, lo, hi) -> status`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// A C identifier, unique in its program.
    pub name: String,
    /// Memory it may touch, in the order of the argument table.
    pub buffers: Vec<Buffer>,
    /// Run-time `i64` arguments as size expressions, evaluated at bind.
    pub sizes: Vec<Dim>,
    /// Types of the run-time numbers.
    pub params: Vec<DType>,
    /// All values, by [`Value`]. The type of each is beside its operation.
    pub values: Vec<(Op, DType)>,
    /// All variables, by [`Var`].
    pub vars: Vec<VarDecl>,
    /// How the task range may be cut.
    pub grid: Grid,
    /// The two values that hold the task range.
    pub task: (Value, Value),
    /// What it does.
    pub body: Block,
}

/// Memory as a kernel sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// For messages and texts.
    pub name: String,
    /// Type of an element.
    pub dtype: DType,
    /// Number of elements that may be addressed, `0..len`.
    pub len: Dim,
    /// What the kernel does with it.
    pub access: Access,
    /// `Some(max)`: its elements are integers in `0..=max`, which whoever gives the memory has checked.
    pub holds: Option<Dim>,
}

/// What a kernel may do with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Never written while the kernel runs, by nobody: loads may be moved.
    Read,
    /// Read, but the same memory as this written buffer in calls that want that: no load may move past a store to
    /// it. Never stored to by its own name. [`in_place`](crate::in_place) has proved that no bit depends on it.
    InPlace(Buf),
    /// Shared by all tasks; each element is written by at most one task, and read only by that task.
    Write,
    /// Private to the worker that runs a task; contents undefined at the start of each call.
    Scratch,
}

impl Access {
    /// Whether nothing stores to the buffer by its own name.
    pub fn is_read(self) -> bool {
        match self {
            Access::Read | Access::InPlace(_) => true,
            Access::Write | Access::Scratch => false,
        }
    }
}

/// The independent tasks of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Number of tasks; the function may be called on any sub-range but an empty one, once for each task.
    pub extent: Dim,
    /// Cuts fall on multiples of this (a cost hint, never a matter of bits).
    pub multiple: i64,
    /// Rough cost of one task in scalar operations, for deciding whether to go parallel.
    pub cost: Dim,
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VarDecl {
    /// Its type.
    pub dtype: DType,
    /// `Some(w)`: an array of `w` elements, one a lane of a [`LoopKind::Lanes`] loop.
    pub lanes: Option<u32>,
}

/// A list of statements.
pub type Block = Vec<Stmt>;

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    /// Evaluates a value here.
    Def(Value),
    /// Declares a variable (its scope is the rest of the block) and sets it, or every element of it.
    Declare(Var, Value),
    /// Assigns a variable; of a lane variable, the element of this lane in a lanes loop, every element elsewhere.
    Set(Var, Value),
    /// Writes one element.
    Store {
        /// Where.
        buffer: Buf,
        /// Which element, `0..len`.
        index: Value,
        /// What; of the buffer's type.
        value: Value,
    },
    /// Runs `body` for `var` in `lo..hi`.
    For {
        /// The loop variable, an `i64` value whose operation is [`Op::LoopVar`].
        var: Value,
        /// First.
        lo: Value,
        /// One past the last; not more than `lo` means no iteration.
        hi: Value,
        /// What a back end may do with it.
        kind: LoopKind,
        /// Body.
        body: Block,
    },
    /// Evaluates `head`, then stops unless `cond` (defined in `head` or before) is true, then runs `body`; again.
    /// `body` sees what `head` defines.
    While {
        /// Runs before each test.
        head: Block,
        /// A `bool`.
        cond: Value,
        /// Runs while `cond` holds.
        body: Block,
    },
    /// Runs one of two blocks.
    If {
        /// A `bool`.
        cond: Value,
        /// When true.
        then: Block,
        /// When false.
        els: Block,
    },
    /// Defines `dst` as the fold of all elements of a lane variable by halves: for `s = w/2, w/4, ..., 1`,
    /// element `l` becomes `op(element l, element l + s)` for `l < s`; the result is element 0.
    Fold {
        /// A value whose operation is [`Op::Folded`].
        dst: Value,
        /// A lane variable.
        var: Var,
        /// How two elements combine.
        op: BinOp,
    },
    /// A dense contraction `c[i,j] = sum over k of a[i,k] * b[k,j]`, in the bits that [`Gemm`] states.
    Gemm(Gemm),
    /// Rows of the results of a function of whole tensors.
    Call(Box<Call>),
}

/// Operands of [`Stmt::Gemm`]. For each `(i, j)`: `k` is cut into blocks of 256; within a block a chain of fused
/// multiply-adds starts from +0 in the order of `k`; the sums of all blocks are added to +0, in order, so that no
/// result is -0. `k = 0` gives +0. `c` is overwritten and never read; it does not overlap `a` or `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gemm {
    /// f32 or f64.
    pub dtype: DType,
    /// Extents; negative counts as 0.
    pub m: Value,
    /// Columns of `b` and `c`.
    pub n: Value,
    /// The contracted extent.
    pub k: Value,
    /// Left factor, m x k.
    pub a: Matrix,
    /// Right factor, k x n.
    pub b: Matrix,
    /// Result, m x n.
    pub c: Matrix,
}

/// Operands of [`Stmt::Call`]: a function that the host computes, on the rows of the task range. It reads its arguments
/// whole, and overwrites these rows of its results. If it has no result the kernel ends, and gives a status that is not
/// `STATUS_OK`; what it has written by then is undefined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Which.
    pub function: Function,
    /// What it is given.
    pub args: Vec<Array>,
    /// What it gives.
    pub results: Vec<Array>,
}

/// A whole buffer as a row-major array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Array {
    /// Where.
    pub buffer: Buf,
    /// Extents, rows first; sizes or constants.
    pub extents: Vec<Value>,
}

/// A matrix inside a buffer: element `(r, c)` is at `offset + r * row_stride + c * col_stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Where.
    pub buffer: Buf,
    /// Element index of (0, 0).
    pub offset: Value,
    /// In elements; any sign.
    pub row_stride: Value,
    /// In elements; any sign.
    pub col_stride: Value,
}

/// What a back end may do with a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// One iteration after the other.
    Serial,
    /// Independent iterations; lane variables used inside have this many elements.
    Lanes(u32),
}

/// How a value is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant.
    Const(Scalar),
    /// Size argument by position; `i64`.
    Size(u32),
    /// Run-time number by position.
    Param(u32),
    /// Lower end of the task range; `i64`.
    TaskLo,
    /// Upper end of the task range; `i64`.
    TaskHi,
    /// Variable of a `For`; defined by that statement, never by `Def`.
    LoopVar,
    /// Result of a `Fold`; defined by that statement, never by `Def`.
    Folded,
    /// Current value of a variable (of this lane's element).
    Get(Var),
    /// Element of a buffer.
    Load(Buf, Value),
    /// One operand.
    Unary(UnOp, Value),
    /// Two operands of one type.
    Binary(BinOp, Value, Value),
    /// Two operands of one type, gives `bool`. Comparisons with NaN are false, but `Ne` is true.
    Compare(CmpOp, Value, Value),
    /// `if c { a } else { b }` without a branch: both are evaluated.
    Select(Value, Value, Value),
    /// `a * b + c` rounded once; floats.
    Fma(Value, Value, Value),
    /// Conversion to the value's type, total.
    Cast(Value),
    /// Same bits, other type of the same width; not to `bool`, whose bits are 0 or 1.
    Bitcast(Value),
}

impl Kernel {
    /// The operation that makes `value`.
    pub fn op(&self, value: Value) -> Op {
        self.values[value.index()].0
    }

    /// The type of `value`.
    pub fn dtype(&self, value: Value) -> DType {
        self.values[value.index()].1
    }

    /// The number that `value` is, if it is a constant.
    pub fn constant(&self, value: Value) -> Option<Scalar> {
        if let Op::Const(scalar) = self.op(value) { Some(scalar) } else { None }
    }

    /// The function of whole tensors that it calls, if it does: one at most, among the outermost statements.
    pub fn call(&self) -> Option<&Call> {
        self.body.iter().find_map(|stmt| if let Stmt::Call(call) = stmt { Some(&**call) } else { None })
    }

    /// Whether it calls the library for contractions.
    pub fn has_gemm(&self) -> bool {
        let mut blocks = vec![&self.body];
        while let Some(block) = blocks.pop() {
            for stmt in block {
                if matches!(stmt, Stmt::Gemm(_)) {
                    return true;
                }
                blocks.extend(stmt.blocks());
            }
        }
        false
    }

    /// The declaration of `var`.
    pub fn var(&self, var: Var) -> VarDecl {
        self.vars[var.index()]
    }
}

impl Op {
    /// Calls `f` on every value operand, in order.
    pub fn for_each_operand(self, mut f: impl FnMut(Value)) {
        match self {
            Op::Const(_)
            | Op::Size(_)
            | Op::Param(_)
            | Op::TaskLo
            | Op::TaskHi
            | Op::LoopVar
            | Op::Folded
            | Op::Get(_) => {}
            Op::Load(_, a) | Op::Unary(_, a) | Op::Cast(a) | Op::Bitcast(a) => f(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => {
                f(a);
                f(b);
            }
            Op::Select(a, b, c) | Op::Fma(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
        }
    }

    /// Whether the value depends on its operands alone, so that it may be computed anywhere, any number of times.
    pub fn is_pure(self) -> bool {
        !matches!(self, Op::Get(_) | Op::Load(..) | Op::LoopVar | Op::Folded)
    }
}

impl Stmt {
    /// The blocks inside, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let (a, b) = match self {
            Stmt::Def(_)
            | Stmt::Declare(..)
            | Stmt::Set(..)
            | Stmt::Store { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => (None, None),
            Stmt::For { body, .. } => (Some(body), None),
            Stmt::While { head, body, .. } => (Some(head), Some(body)),
            Stmt::If { then, els, .. } => (Some(then), Some(els)),
        };
        a.into_iter().chain(b)
    }
}
