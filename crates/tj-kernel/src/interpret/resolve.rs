//! Turns a kernel into a flat list of instructions over one register file.
//!
//! Registers are the values, then the elements of all variables. Constants and arguments are put in their registers
//! once; a definition of one costs nothing at run time. The kernel has passed every rule of the verifier but
//! bounds, so that nothing here can fail.

use std::ops::Range;

use tj_tensor::Scalar;

use crate::arith::{self, Binary, Ternary, Unary};
use crate::ir::{Block, Call, Gemm, Kernel, LoopKind, Op, Stmt, Value, Var};

/// One step of the machine. Numbers are registers, except `to` (a place in the code) and `buffer`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inst {
    Unary {
        dst: usize,
        a: usize,
        f: Unary,
    },
    Binary {
        dst: usize,
        a: usize,
        b: usize,
        f: Binary,
    },
    Fma {
        dst: usize,
        a: usize,
        b: usize,
        c: usize,
        f: Ternary,
    },
    Select {
        dst: usize,
        cond: usize,
        a: usize,
        b: usize,
    },
    Copy {
        dst: usize,
        a: usize,
    },
    Load {
        dst: usize,
        buffer: usize,
        index: usize,
    },
    Store {
        buffer: usize,
        index: usize,
        value: usize,
    },
    /// Reads the element of this lane; the elements start at `var`.
    GetLane {
        dst: usize,
        var: usize,
    },
    SetLane {
        var: usize,
        value: usize,
    },
    SetAll {
        var: usize,
        width: usize,
        value: usize,
    },
    Fold {
        dst: usize,
        var: usize,
        width: usize,
        f: Binary,
    },
    /// Starts loop number `id`, or jumps past it if it has no iteration.
    Enter {
        id: usize,
        var: usize,
        lo: usize,
        hi: usize,
        lanes: Option<Lanes>,
        to: usize,
    },
    /// Starts the next iteration of loop `id` at `to`, or falls through.
    Next {
        id: usize,
        var: usize,
        lanes: Option<Lanes>,
        to: usize,
    },
    Jump {
        to: usize,
    },
    /// Jumps unless the condition holds.
    Unless {
        cond: usize,
        to: usize,
    },
    /// Counts an iteration of a `While`.
    Tick,
    Gemm(Gemm),
    /// A call, by its number.
    Call(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub width: u64,
    /// Whether lane variables connect its iterations.
    pub connected: bool,
}

#[derive(Debug)]
pub(super) struct Code {
    pub insts: Vec<Inst>,
    pub calls: Vec<Call>,
    pub n_loops: usize,
    /// Registers as they are before the first instruction.
    pub registers: Vec<u64>,
}

/// Resolves a kernel whose form is right, for one call.
pub(super) fn resolve(kernel: &Kernel, sizes: &[i64], params: &[Scalar], tasks: Range<i64>) -> Code {
    let mut registers: Vec<u64> = kernel
        .values
        .iter()
        .map(|&(op, _)| match op {
            Op::Const(scalar) => scalar.bits() as u64,
            Op::Size(position) => sizes[position as usize] as u64,
            Op::Param(position) => params[position as usize].bits() as u64,
            Op::TaskLo => tasks.start as u64,
            Op::TaskHi => tasks.end as u64,
            Op::LoopVar
            | Op::Folded
            | Op::Get(_)
            | Op::Load(..)
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Fma(..)
            | Op::Cast(_)
            | Op::Bitcast(_) => 0,
        })
        .collect();
    let mut var_registers = Vec::with_capacity(kernel.vars.len());
    for var in &kernel.vars {
        var_registers.push(registers.len());
        registers.resize(registers.len() + var.lanes.unwrap_or(1) as usize, 0);
    }
    let mut ctx =
        Ctx { kernel, insts: Vec::new(), calls: Vec::new(), n_loops: 0, var_registers, in_lanes: false };
    ctx.block(&kernel.body);
    Code { insts: ctx.insts, calls: ctx.calls, n_loops: ctx.n_loops, registers }
}

struct Ctx<'a> {
    kernel: &'a Kernel,
    insts: Vec<Inst>,
    calls: Vec<Call>,
    n_loops: usize,
    /// The first register of each variable.
    var_registers: Vec<usize>,
    in_lanes: bool,
}

impl Ctx<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Def(value) => {
                if let Some(inst) = self.operation(*value) {
                    self.insts.push(inst);
                }
            }
            Stmt::Declare(var, value) => self.set_all(*var, *value),
            Stmt::Set(var, value) => match self.kernel.var(*var).lanes {
                Some(_) if self.in_lanes => {
                    self.insts
                        .push(Inst::SetLane { var: self.var_registers[var.index()], value: value.index() });
                }
                Some(_) | None => self.set_all(*var, *value),
            },
            Stmt::Store { buffer, index, value } => self.insts.push(Inst::Store {
                buffer: buffer.index(),
                index: index.index(),
                value: value.index(),
            }),
            Stmt::For { var, lo, hi, kind, body } => {
                let lanes = match *kind {
                    LoopKind::Serial => None,
                    LoopKind::Lanes(width) => {
                        Some(Lanes { width: width.into(), connected: uses_lane_variables(self.kernel, body) })
                    }
                };
                let (id, var) = (self.n_loops, var.index());
                self.n_loops += 1;
                let enter = self.placeholder();
                let outside = self.in_lanes;
                self.in_lanes |= lanes.is_some();
                self.block(body);
                self.in_lanes = outside;
                self.insts.push(Inst::Next { id, var, lanes, to: enter + 1 });
                let to = self.insts.len();
                self.insts[enter] = Inst::Enter { id, var, lo: lo.index(), hi: hi.index(), lanes, to };
            }
            Stmt::While { head, cond, body } => {
                let start = self.insts.len();
                self.block(head);
                let exit = self.placeholder();
                self.insts.push(Inst::Tick);
                self.block(body);
                self.insts.push(Inst::Jump { to: start });
                self.insts[exit] = Inst::Unless { cond: cond.index(), to: self.insts.len() };
            }
            Stmt::If { cond, then, els } => {
                let test = self.placeholder();
                self.block(then);
                let end = self.placeholder();
                self.insts[test] = Inst::Unless { cond: cond.index(), to: self.insts.len() };
                self.block(els);
                self.insts[end] = Inst::Jump { to: self.insts.len() };
            }
            Stmt::Fold { dst, var, op } => {
                let decl = self.kernel.var(*var);
                self.insts.push(Inst::Fold {
                    dst: dst.index(),
                    var: self.var_registers[var.index()],
                    width: decl.lanes.unwrap_or(1) as usize,
                    f: arith::binary(*op, decl.dtype).expect(VERIFIED),
                });
            }
            Stmt::Gemm(gemm) => self.insts.push(Inst::Gemm(*gemm)),
            Stmt::Call(call) => {
                self.insts.push(Inst::Call(self.calls.len()));
                self.calls.push((**call).clone());
            }
        }
    }

    /// What evaluates a value, unless it is in its register already.
    fn operation(&self, value: Value) -> Option<Inst> {
        let (op, dtype) = (self.kernel.op(value), self.kernel.dtype(value));
        let dst = value.index();
        Some(match op {
            Op::Const(_)
            | Op::Size(_)
            | Op::Param(_)
            | Op::TaskLo
            | Op::TaskHi
            | Op::LoopVar
            | Op::Folded => return None,
            Op::Get(var) => {
                let register = self.var_registers[var.index()];
                match self.kernel.var(var).lanes {
                    None => Inst::Copy { dst, a: register },
                    Some(_) => Inst::GetLane { dst, var: register },
                }
            }
            Op::Load(buffer, index) => Inst::Load { dst, buffer: buffer.index(), index: index.index() },
            Op::Unary(op, a) => {
                Inst::Unary { dst, a: a.index(), f: arith::unary(op, dtype).expect(VERIFIED) }
            }
            Op::Binary(op, a, b) => {
                let f = arith::binary(op, dtype).expect(VERIFIED);
                Inst::Binary { dst, a: a.index(), b: b.index(), f }
            }
            Op::Compare(op, a, b) => {
                let f = arith::compare(op, self.kernel.dtype(a)).expect(VERIFIED);
                Inst::Binary { dst, a: a.index(), b: b.index(), f }
            }
            Op::Select(cond, a, b) => Inst::Select { dst, cond: cond.index(), a: a.index(), b: b.index() },
            Op::Fma(a, b, c) => {
                let f = arith::fma(dtype).expect(VERIFIED);
                Inst::Fma { dst, a: a.index(), b: b.index(), c: c.index(), f }
            }
            Op::Cast(a) => {
                let f = arith::cast(self.kernel.dtype(a), dtype).expect(VERIFIED);
                Inst::Unary { dst, a: a.index(), f }
            }
            Op::Bitcast(a) => Inst::Copy { dst, a: a.index() },
        })
    }

    fn set_all(&mut self, var: Var, value: Value) {
        let (register, value) = (self.var_registers[var.index()], value.index());
        self.insts.push(match self.kernel.var(var).lanes {
            None => Inst::Copy { dst: register, a: value },
            Some(width) => Inst::SetAll { var: register, width: width as usize, value },
        });
    }

    /// Room for a jump whose target is not known yet.
    fn placeholder(&mut self) -> usize {
        self.insts.push(Inst::Tick);
        self.insts.len() - 1
    }
}

const VERIFIED: &str = "the verifier accepts an operation only on types it is defined on";

/// Whether anything in `body` reads or writes a lane variable.
fn uses_lane_variables(kernel: &Kernel, body: &Block) -> bool {
    body.iter().any(|stmt| {
        let var = match *stmt {
            Stmt::Set(var, _) => Some(var),
            Stmt::Def(value) => {
                if let Op::Get(var) = kernel.op(value) {
                    Some(var)
                } else {
                    None
                }
            }
            Stmt::Declare(..)
            | Stmt::Store { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => None,
        };
        var.is_some_and(|var| kernel.var(var).lanes.is_some())
            || stmt.blocks().any(|block| uses_lane_variables(kernel, block))
    })
}
