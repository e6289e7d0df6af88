//! Lanes loops: a block of lanes at a time, cut into small loops that compilers vectorise.
//!
//! Compilers vectorise innermost loops without control flow, and little else. So a lanes loop whose body has inner loops,
//! branches or lane variables is turned inside out: it advances by a block of `w` lanes, control flow (which all lanes
//! share) moves outside, and every straight run of statements becomes a loop over the lanes of the block.
//!
//! ```text
//! for lanes(32) %7 in 0..n {            i64 v7 = 0;
//!   declare $0 = 0.0                     for (; v7 < n && n - v7 >= 32; v7 += 32) {
//!   for %8 in 0..m {                       f32 x0[32];
//!     %9 = mul %8, n                       for (lane < 32) x0[lane] = 0.0f;
//!     %10 = add %9, %7                     for (i64 v8 = 0; v8 < m; ++v8) {
//!     %11 = load @0[%10]                     i64 v9 = v8 * n;
//!     %12 = add $0, %11                      i64 v10 = v9 + v7;
//!     $0 = %12                               for (lane < 32) x0[lane] = x0[lane] + b0[v10 + lane];
//!   }                                      }
//!   store @1[%7] = $0                      for (lane < 32) b1[v7 + lane] = x0[lane];
//! }                                      }
//! ```
//!
//! What all lanes share is computed once, before the run it stands in: it depends on nothing that differs between lanes.
//! What grows evenly from lane to lane (an address) is kept as the value of lane 0 and its step. A value that one run
//! makes and another uses lives in an array, which compilers keep in vector registers; trip counts of `w` make that
//! possible. The last block, with fewer lanes, has the same text with its own count.
//!
//! Element `i` of a lane variable meets iteration `i` of each block, which is the rule of the language, since blocks
//! advance by the number of lanes.

use rustc_hash::{FxHashMap, FxHashSet};
use tj_kernel::lanes::{Lanes, Reason, Shape, Stride, analyse};
use tj_kernel::{Access, Block, Kernel, Op, Stmt, Value};

/// A run of statements without control flow, or control flow around others.
pub(crate) enum Piece<'a> {
    /// Statements that all lanes share, to be done once before those that differ.
    Run {
        /// In order.
        shared: Vec<&'a Stmt>,
        /// In order.
        varying: Vec<&'a Stmt>,
    },
    /// A statement with blocks, each cut likewise.
    Control(&'a Stmt, Vec<Vec<Piece<'a>>>),
}

/// What the text of a statement in a block of lanes depends on.
pub(crate) struct View {
    /// Lanes in a block.
    pub width: u32,
    /// How values differ between lanes.
    pub lanes: Lanes,
    /// Values that one run defines and another uses.
    pub crossing: FxHashSet<Value>,
}

/// Bounds of the width of blocks where no lane variable fixes it, and the one outside of them: four vectors of f32
/// with AVX2, which hides the latency of an addition and leaves registers.
const MIN_WIDTH: u32 = 8;
const MAX_WIDTH: u32 = 64;
const DEFAULT_WIDTH: u32 = 32;

/// How to write a lanes loop.
pub(crate) enum Plan<'a> {
    /// The body is a straight run on its own: one plain loop.
    Plain,
    /// Blocks of lanes.
    Blocks(Vec<Piece<'a>>, Box<View>),
    /// One iteration after the other.
    Serial,
}

/// Decides how to write the lanes loop over `var`.
pub(crate) fn plan<'a>(kernel: &Kernel, var: Value, width: u32, body: &'a Block) -> Plan<'a> {
    let lanes = analyse(kernel, var, width, body);
    match lanes.width {
        Err(Reason::Control(_) | Reason::Whole(_) | Reason::Shared(_)) => return Plan::Serial,
        Ok(_) | Err(Reason::LaneCount(_) | Reason::NoGain) => {}
    }
    let straight = body.iter().all(|stmt| stmt.blocks().next().is_none());
    if straight && lanes.lane_vars.is_empty() {
        return Plan::Plain;
    }
    let free = lanes.lane_vars.is_empty() && !(MIN_WIDTH..=MAX_WIDTH).contains(&width);
    let width = if free { DEFAULT_WIDTH } else { width };
    let pieces = cut(kernel, &lanes, body);
    let mut runs =
        Runs { kernel, lanes: &lanes, home: FxHashMap::default(), n_runs: 0, crossing: FxHashSet::default() };
    runs.pieces(&pieces);
    let crossing = runs.crossing;
    Plan::Blocks(pieces, Box::new(View { width, lanes, crossing }))
}

/// The text of what an affine value adds to that of lane 0.
pub(crate) fn step(stride: Stride) -> String {
    match (stride.factor, stride.by) {
        (1, None) => "lane".to_owned(),
        (factor, None) => format!("lane * ({factor})"),
        (1, Some(by)) => format!("lane * v{}", by.0),
        (factor, Some(by)) => format!("lane * ({factor}) * v{}", by.0),
    }
}

/// Whether all lanes share what a statement does.
fn is_shared(lanes: &Lanes, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Def(v) => lanes.shape(*v) != Shape::Varying,
        Stmt::Declare(var, _) | Stmt::Set(var, _) => lanes.var_shape(*var) != Shape::Varying,
        Stmt::Store { .. }
        | Stmt::For { .. }
        | Stmt::While { .. }
        | Stmt::If { .. }
        | Stmt::Fold { .. }
        | Stmt::Gemm(_)
        | Stmt::Call(_) => false,
    }
}

fn cut<'a>(kernel: &Kernel, lanes: &Lanes, block: &'a Block) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let (mut shared, mut varying): (Vec<&Stmt>, Vec<&Stmt>) = (Vec::new(), Vec::new());
    for stmt in block {
        let control = stmt.blocks().next().is_some();
        let is_shared = is_shared(lanes, stmt);
        if control || is_shared && overtakes(kernel, stmt, &varying) {
            pieces.push(Piece::Run {
                shared: std::mem::take(&mut shared),
                varying: std::mem::take(&mut varying),
            });
        }
        if control {
            pieces.push(Piece::Control(stmt, stmt.blocks().map(|b| cut(kernel, lanes, b)).collect()));
        } else if is_shared {
            shared.push(stmt);
        } else {
            varying.push(stmt);
        }
    }
    pieces.push(Piece::Run { shared, varying });
    pieces
}

/// Whether `stmt` loads what a statement of the run may have stored, so that it cannot go before it. Between different
/// lanes that cannot happen; in a loop of one iteration it can.
fn overtakes(kernel: &Kernel, stmt: &Stmt, run: &[&Stmt]) -> bool {
    let Stmt::Def(v) = stmt else { return false };
    let Op::Load(from, _) = kernel.op(*v) else { return false };
    kernel.buffers[from.index()].access != Access::Read
        && run.iter().any(|s| matches!(s, Stmt::Store { buffer, .. } if *buffer == from))
}

/// Finds the run of each varying value, and uses elsewhere.
struct Runs<'a> {
    kernel: &'a Kernel,
    lanes: &'a Lanes,
    home: FxHashMap<Value, u32>,
    n_runs: u32,
    crossing: FxHashSet<Value>,
}

impl Runs<'_> {
    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Run { varying, .. } => {
                    self.n_runs += 1;
                    varying.iter().for_each(|stmt| self.stmt(stmt));
                }
                Piece::Control(_, blocks) => blocks.iter().for_each(|b| self.pieces(b)),
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Def(v) => {
                self.kernel.op(*v).for_each_operand(|operand| self.used(operand));
                self.home.insert(*v, self.n_runs);
            }
            Stmt::Declare(_, v) | Stmt::Set(_, v) => self.used(*v),
            Stmt::Store { index, value, .. } => {
                self.used(*index);
                self.used(*value);
            }
            Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => {}
        }
    }

    fn used(&mut self, value: Value) {
        let here = self.n_runs;
        if self.lanes.shape(value) == Shape::Varying && self.home.get(&value).is_some_and(|&run| run != here)
        {
            self.crossing.insert(value);
        }
    }
}
