//! What the iterations of a lanes loop have in common.
//!
//! A back end that runs `w` neighbours at once needs to know, for every value of the body, whether all lanes
//! agree on it, whether it grows by the same step from lane to lane (an address), or whether each lane has
//! its own; and then whether running them together pays. [`analyse`] answers both, by one walk over the body
//! that is repeated until the shapes of the body's variables stop changing (a shape only ever moves down
//! uniform, affine, varying, so that this ends).
//!
//! # Width
//!
//! A vectorised loop runs as many lanes at once as elements of its [`Width`] fill 128 bits; values of wider types
//! take two or four such vectors. Every varying value has a [`Form`]: vectors (its type is not narrower than the
//! loop's width, and its operation exists for vectors, as it does on every machine we target), or one scalar a
//! lane. Both mix freely, at the price of moving lanes in and out of vectors. The width with the best balance
//! wins; if none gains, the loop stays scalar and [`Reason`] says why. A bool is a mask of the loop's width.
//!
//! Bits do not depend on any of this.

mod forms;

use std::fmt;

use rustc_hash::FxHashMap;
use tj_tensor::{DType, Scalar};

use crate::ir::{BinOp, Block, Kernel, LoopKind, Op, Stmt, Value, Var};

/// How a value differs between the lanes of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The same in all lanes.
    Uniform,
    /// An `i64` that grows by the same amount from each lane to the next.
    Affine(Stride),
    /// Each lane has its own.
    Varying,
}

/// The step of an affine value: `factor`, times the uniform value `by` if there is one. Never zero by `factor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stride {
    /// Constant part.
    pub factor: i64,
    /// Run-time part: a uniform `i64`.
    pub by: Option<Value>,
}

impl Stride {
    /// Neighbouring lanes are neighbours.
    pub const ONE: Stride = Stride { factor: 1, by: None };
}

/// Bits of the narrowest elements in the vectors of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 16 lanes.
    W8,
    /// 8 lanes.
    W16,
    /// 4 lanes.
    W32,
    /// 2 lanes.
    W64,
}

impl Width {
    /// Every width, widest first.
    pub const ALL: [Width; 4] = [Width::W64, Width::W32, Width::W16, Width::W8];

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Width::W8 => 1,
            Width::W16 => 2,
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }

    /// Iterations that run together, as elements of this width fill 128 bits.
    pub const fn lanes(self) -> usize {
        16 / self.bytes()
    }

    /// How many vectors of 128 bits hold all lanes of a value of this type, if vectors do.
    pub fn vectors(self, dtype: DType) -> Option<usize> {
        let bytes = if dtype.is_bool() { self.bytes() } else { dtype.size() };
        let vectors = bytes / self.bytes();
        (!dtype.is_complex() && (1..=4).contains(&vectors)).then_some(vectors)
    }
}

/// How a vectorised loop keeps a varying value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lanes beside each other in vectors (a bool: a mask).
    Vector,
    /// One scalar a lane.
    Each,
}

/// Why a loop is not vectorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A bound or a condition inside differs between lanes.
    Control(Value),
    /// A statement inside that concerns all lanes at once: a lanes loop, a fold, a contraction, a lane variable.
    Whole(&'static str),
    /// The body sets a variable that all iterations share.
    Shared(Var),
    /// The number of lanes is not a multiple of a vector's.
    LaneCount(u32),
    /// Moving lanes in and out of vectors costs as much as vectors save.
    NoGain,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Control(v) => write!(f, "{v} steers a loop or a branch and differs between lanes"),
            Reason::Whole(what) => write!(f, "it contains {what}"),
            Reason::Shared(v) => write!(f, "all iterations set {v}"),
            Reason::LaneCount(w) => write!(f, "{w} lanes do not fill whole vectors"),
            Reason::NoGain => write!(f, "vectors would save nothing"),
        }
    }
}

/// What is known of one lanes loop.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// The loop variable, which names the loop.
    pub var: Value,
    /// Elements of the lane variables used inside.
    pub lanes: u32,
    /// How to vectorise it, or why not.
    pub width: Result<Width, Reason>,
    /// Instructions in the body for each turn of a vectorised loop, for choosing how far to unroll.
    pub cost: usize,
    /// Lane variables used inside, in order of first use.
    pub lane_vars: Vec<Var>,
    shapes: FxHashMap<Value, Shape>,
    var_shapes: FxHashMap<Var, Shape>,
    forms: FxHashMap<Value, Form>,
}

impl Lanes {
    /// How a value differs between the lanes.
    pub fn shape(&self, value: Value) -> Shape {
        self.shapes.get(&value).copied().unwrap_or(Shape::Uniform)
    }

    /// How a variable differs between the lanes.
    pub fn var_shape(&self, var: Var) -> Shape {
        self.var_shapes.get(&var).copied().unwrap_or(Shape::Uniform)
    }

    /// How a vectorised loop keeps a varying value.
    pub fn form(&self, value: Value) -> Form {
        self.forms.get(&value).copied().unwrap_or(Form::Each)
    }

    /// Whether a vectorised loop stores neighbouring elements of this type as vectors.
    pub fn stores_vectors(&self, dtype: DType) -> bool {
        self.width.is_ok_and(|width| forms::in_memory(width, dtype) == Form::Vector)
    }
}

/// Every lanes loop of a kernel, outermost first, in program order.
pub fn loops(kernel: &Kernel) -> Vec<Lanes> {
    fn walk(kernel: &Kernel, block: &Block, out: &mut Vec<Lanes>) {
        for stmt in block {
            if let Stmt::For { var, kind: LoopKind::Lanes(w), body, .. } = stmt {
                out.push(analyse(kernel, *var, *w, body));
            }
            stmt.blocks().for_each(|b| walk(kernel, b, out));
        }
    }
    let mut out = Vec::new();
    walk(kernel, &kernel.body, &mut out);
    out
}

/// Looks at the lanes loop over `var` with the given body.
pub fn analyse(kernel: &Kernel, var: Value, lanes: u32, body: &Block) -> Lanes {
    let mut result = Lanes {
        var,
        lanes,
        width: Err(Reason::NoGain),
        cost: 0,
        lane_vars: Vec::new(),
        shapes: FxHashMap::default(),
        var_shapes: FxHashMap::default(),
        forms: FxHashMap::default(),
    };
    result.shapes.insert(var, Shape::Affine(Stride::ONE));
    let mut walk = Walk { kernel, lanes: &mut result, changed: true, block: None };
    while walk.changed {
        walk.changed = false;
        walk.block(body);
    }
    result.width = match walk.block {
        Some(reason) => Err(reason),
        None => forms::choose(kernel, &mut result, body),
    };
    result
}

/// Finds shapes, and what forbids vectors.
struct Walk<'a> {
    kernel: &'a Kernel,
    lanes: &'a mut Lanes,
    changed: bool,
    block: Option<Reason>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Def(v) => {
                let shape = self.value_shape(*v);
                self.lanes.shapes.insert(*v, shape);
            }
            Stmt::Declare(var, init) => {
                if self.kernel.var(*var).lanes.is_some() {
                    self.forbid(Reason::Whole("a lane variable of its own"));
                }
                let shape = self.lanes.shape(*init);
                let old = self.lanes.var_shapes.get(var).copied();
                self.set_var(*var, old.map_or(shape, |old| meet(old, shape)));
            }
            Stmt::Set(var, value) => {
                if self.kernel.var(*var).lanes.is_some() {
                    self.lane_var(*var);
                    self.set_var(*var, Shape::Varying);
                } else if let Some(&old) = self.lanes.var_shapes.get(var) {
                    self.set_var(*var, meet(old, self.lanes.shape(*value)));
                } else {
                    self.forbid(Reason::Shared(*var));
                }
            }
            Stmt::Store { .. } => {}
            Stmt::For { var, lo, hi, kind, body } => {
                if *kind != LoopKind::Serial {
                    self.forbid(Reason::Whole("a lanes loop"));
                }
                self.steer(*lo);
                self.steer(*hi);
                self.lanes.shapes.insert(*var, Shape::Uniform);
                self.block(body);
            }
            Stmt::While { head, cond, body } => {
                self.block(head);
                self.steer(*cond);
                self.block(body);
            }
            Stmt::If { cond, then, els } => {
                self.steer(*cond);
                self.block(then);
                self.block(els);
            }
            Stmt::Fold { .. } => self.forbid(Reason::Whole("a fold")),
            Stmt::Gemm(_) => self.forbid(Reason::Whole("a contraction")),
            Stmt::Call(_) => self.forbid(Reason::Whole("a call")),
        }
    }

    fn forbid(&mut self, reason: Reason) {
        self.block.get_or_insert(reason);
    }

    fn steer(&mut self, value: Value) {
        if self.lanes.shape(value) != Shape::Uniform {
            self.forbid(Reason::Control(value));
        }
    }

    fn lane_var(&mut self, var: Var) {
        if !self.lanes.lane_vars.contains(&var) {
            self.lanes.lane_vars.push(var);
        }
    }

    fn set_var(&mut self, var: Var, shape: Shape) {
        self.changed |= self.lanes.var_shapes.insert(var, shape) != Some(shape);
    }

    fn value_shape(&mut self, value: Value) -> Shape {
        let op = self.kernel.op(value);
        let mut uniform = true;
        op.for_each_operand(|v| uniform &= self.lanes.shape(v) == Shape::Uniform);
        match op {
            Op::Get(var) => match self.kernel.var(var).lanes {
                Some(_) => {
                    self.lane_var(var);
                    Shape::Varying
                }
                None => self.lanes.var_shape(var),
            },
            _ if uniform => Shape::Uniform,
            Op::Binary(op, a, b) if self.kernel.dtype(value) == DType::I64 => self.affine(op, a, b),
            Op::Select(c, a, b) if self.lanes.shape(c) == Shape::Uniform => {
                meet(self.lanes.shape(a), self.lanes.shape(b))
            }
            Op::Const(_)
            | Op::Size(_)
            | Op::Param(_)
            | Op::TaskLo
            | Op::TaskHi
            | Op::LoopVar
            | Op::Folded
            | Op::Load(..)
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Fma(..)
            | Op::Cast(_)
            | Op::Bitcast(_) => Shape::Varying,
        }
    }

    /// Arithmetic on `i64` wraps, and so do strides; the rules hold for all values.
    fn affine(&self, op: BinOp, a: Value, b: Value) -> Shape {
        let constant = |v: Value| self.kernel.constant(v).map(Scalar::to_i64);
        let scale = |s: Stride, by: Value| match (constant(by), s.by) {
            (Some(c), _) => step(s.factor.wrapping_mul(c), s.by),
            (None, None) => step(s.factor, Some(by)),
            (None, Some(_)) => Shape::Varying,
        };
        match (op, self.lanes.shape(a), self.lanes.shape(b)) {
            (BinOp::Add | BinOp::Sub, Shape::Affine(s), Shape::Uniform)
            | (BinOp::Add, Shape::Uniform, Shape::Affine(s)) => Shape::Affine(s),
            (BinOp::Sub, Shape::Uniform, Shape::Affine(s)) => step(s.factor.wrapping_neg(), s.by),
            (BinOp::Add, Shape::Affine(s), Shape::Affine(t)) if s.by == t.by => {
                step(s.factor.wrapping_add(t.factor), s.by)
            }
            (BinOp::Sub, Shape::Affine(s), Shape::Affine(t)) if s.by == t.by => {
                step(s.factor.wrapping_sub(t.factor), s.by)
            }
            (BinOp::Mul, Shape::Affine(s), Shape::Uniform) => scale(s, b),
            (BinOp::Mul, Shape::Uniform, Shape::Affine(s)) => scale(s, a),
            _ => Shape::Varying,
        }
    }
}

fn step(factor: i64, by: Option<Value>) -> Shape {
    if factor == 0 { Shape::Uniform } else { Shape::Affine(Stride { factor, by }) }
}

/// The shape of something that has one of two shapes.
fn meet(a: Shape, b: Shape) -> Shape {
    if a == b { a } else { Shape::Varying }
}

#[cfg(test)]
mod tests;
