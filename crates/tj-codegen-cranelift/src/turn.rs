//! Lanes loops as vector code, chunk by chunk.
//!
//! A chunk is as many lanes as fill vectors of the loop's width; one turn of the vector loop runs a few chunks. The
//! statements between two control statements are emitted for chunk 0, then again for chunk 1, and so on: few vectors
//! are alive at once, and neighbouring chunks still overlap in the machine. Loops and branches inside are
//! uniform, so that they are emitted once, around the code of all chunks.
//!
//! What all lanes share, and affine values (at lane 0 of chunk 0), are emitted once, with chunk 0; an affine value of
//! another lane is that plus a multiple of its stride. Iterations that do not fill a turn run chunk by chunk, and those
//! that do not fill a chunk one by one.

use std::cell::RefCell;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value as Machine, types};
use cranelift_frontend::Variable;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_kernel::lanes::{Lanes, Shape, Width};
use tj_kernel::{BinOp, Block, Stmt, Value, Var};
use tj_tensor::{DType, Scalar};

use crate::chunk::Rep;
use crate::emit::Emitter;
use crate::scalar;

/// A vector loop being written.
pub(crate) struct Turn<'a> {
    pub(crate) lanes: &'a Lanes,
    pub(crate) width: Width,
    /// Varying values, by chunk.
    pub(crate) reps: Vec<FxHashMap<Value, Rep>>,
    /// Variables of the body that vary, by chunk: of vectors, or of one scalar a lane.
    pub(crate) vars: Vec<FxHashMap<Var, SmallVec<[Variable; 4]>>>,
    /// Element of lane variables in slots at lane 0 of chunk 0.
    pub(crate) element: Option<Machine>,
    /// Whether all lane variables are in their slots.
    pub(crate) spilled: bool,
}

impl Emitter<'_> {
    /// Runs a lanes loop: whole turns, then single chunks, then the rest one by one.
    pub(crate) fn lanes_loop(&mut self, var: Value, lo: Machine, hi: Machine, body: &Block) {
        let plan = self.plan;
        let lanes = plan.lanes(var);
        let Ok(width) = lanes.width else {
            return self.scalar_lanes(lanes, lo, (lo, hi), body);
        };
        let chunks = plan.chunks(var);
        let runs = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        let distance = self.b.ins().isub(hi, lo);
        let zero = self.b.ins().iconst(types::I64, 0);
        let count = self.b.ins().select(runs, distance, zero);
        let middle = self.turns(lanes, width, chunks, lo, (lo, count), body);
        let kept = lanes.lane_vars.iter().copied().filter(|&v| plan.kept(v).is_some());
        let kept: SmallVec<[Var; 4]> = kept.collect();
        if kept.is_empty() && chunks == 1 {
            return self.scalar_lanes(lanes, lo, (middle, hi), body);
        }
        let rest = self.b.ins().icmp(IntCC::SignedLessThan, middle, hi);
        self.only_if(rest, |e| {
            kept.iter().for_each(|&v| e.spill(v));
            let middle = match chunks {
                1 => middle,
                _ => e.turns(lanes, width, 1, middle, (lo, count), body),
            };
            e.scalar_lanes(lanes, lo, (middle, hi), body);
            kept.iter().for_each(|&v| e.reload(v));
        });
    }

    /// Runs turns of some chunks from iteration `from` on, as long as `count` iterations from `lo` on fill them. Gives
    /// the iteration after the last. Turns that do not start at `lo` find lane variables in their slots.
    fn turns(
        &mut self,
        lanes: &Lanes,
        width: Width,
        chunks: usize,
        from: Machine,
        (lo, count): (Machine, Machine),
        body: &Block,
    ) -> Machine {
        let step = (width.lanes() * chunks) as i64;
        let whole = self.b.ins().band_imm_s(count, -step);
        let to = self.b.ins().iadd(lo, whole);
        let enter = self.b.ins().icmp(IntCC::NotEqual, from, to);
        self.rotated(enter, from, to, step, |e, i| {
            let element = (!lanes.lane_vars.is_empty()).then(|| e.element_of(lanes, lo, i));
            let (reps, vars) = (vec![FxHashMap::default(); chunks], vec![FxHashMap::default(); chunks]);
            let mut turn = Turn { lanes, width, reps, vars, element, spilled: from != lo };
            e.set_loop_var(lanes.var, i);
            e.turn_block(&mut turn, body);
        });
        to
    }

    /// Runs the iterations `lo..hi` of a lanes loop one by one. `first` is the one that owns element 0.
    fn scalar_lanes(&mut self, lanes: &Lanes, first: Machine, (lo, hi): (Machine, Machine), body: &Block) {
        self.counted(lo, hi, |e, i| {
            e.element = (!lanes.lane_vars.is_empty()).then(|| e.element_of(lanes, first, i));
            e.set_loop_var(lanes.var, i);
            e.block(body);
            e.element = None;
        });
    }

    /// Which element of its lane variables iteration `i` owns.
    fn element_of(&mut self, lanes: &Lanes, first: Machine, i: Machine) -> Machine {
        let position = self.b.ins().isub(i, first);
        let count = Scalar::U64(lanes.lanes.into());
        let divisor = scalar::constant(&mut self.b, count);
        scalar::binary(&mut self.b, BinOp::Mod, DType::U64, position, divisor, Some(count))
    }

    fn turn_block(&mut self, turn: &mut Turn, block: &Block) {
        let is_control = |s: &Stmt| s.blocks().next().is_some();
        for run in block.chunk_by(|a, b| !is_control(a) && !is_control(b)) {
            if is_control(&run[0]) {
                self.turn_control(turn, &run[0]);
                continue;
            }
            for c in 0..turn.reps.len() {
                run.iter().for_each(|stmt| self.turn_stmt(turn, c, stmt));
            }
        }
    }

    /// Loops and branches go the same way in all lanes.
    fn turn_control(&mut self, turn: &mut Turn, stmt: &Stmt) {
        // Two closures need the turn, one after the other.
        let turn = RefCell::new(turn);
        let run = |e: &mut Self, block: &Block| e.turn_block(&mut turn.borrow_mut(), block);
        match stmt {
            Stmt::For { var, lo, hi, body, .. } => {
                let (lo, hi) = (self.value(*lo), self.value(*hi));
                self.counted(lo, hi, |e, i| {
                    e.set_loop_var(*var, i);
                    run(e, body);
                });
            }
            Stmt::While { head, cond, body } => self.while_loop(|e| run(e, head), *cond, |e| run(e, body)),
            Stmt::If { cond, then, els } => self.if_else(*cond, |e| run(e, then), |e| run(e, els)),
            Stmt::Def(_)
            | Stmt::Declare(..)
            | Stmt::Set(..)
            | Stmt::Store { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => {
                unreachable!("only control statements have blocks")
            }
        }
    }

    fn turn_stmt(&mut self, turn: &mut Turn, c: usize, stmt: &Stmt) {
        match stmt {
            Stmt::Def(v) => match turn.lanes.shape(*v) {
                Shape::Varying => {
                    let rep = self.chunk_define(turn, c, *v);
                    turn.reps[c].insert(*v, rep);
                }
                Shape::Uniform | Shape::Affine(_) if c == 0 => self.define(*v),
                Shape::Uniform | Shape::Affine(_) => {}
            },
            Stmt::Declare(var, value) | Stmt::Set(var, value) => match turn.lanes.var_shape(*var) {
                Shape::Varying => self.chunk_set(turn, c, *var, *value),
                Shape::Uniform | Shape::Affine(_) if c == 0 => self.set_var(*var, *value),
                Shape::Uniform | Shape::Affine(_) => {}
            },
            Stmt::Store { buffer, index, value } => self.chunk_store(turn, c, *buffer, *index, *value),
            Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Fold { .. }
            | Stmt::Gemm(_)
            | Stmt::Call(_) => {
                unreachable!("no loop with such a statement is vectorised")
            }
        }
    }
}
