//! Runs resolved code.

use rustc_hash::FxHashMap;
use tj_tensor::DType;

use super::call;
use super::resolve::{Code, Inst, Lanes};
use super::{Counts, KernelFault, LanesOrder, Options};
use crate::arith;
use crate::arith::{Binary, Ternary};
use crate::ir::{Access, BinOp, Buf, Call, Gemm, Kernel, Matrix, Value};
use crate::memory::Memory;

/// `k` of a `Gemm` is cut into blocks of this many terms.
const GEMM_BLOCK: i64 = 256;

/// Runs `code`, which was resolved from `kernel`, on memory that was checked against it.
pub(super) fn run(
    options: Options,
    kernel: &Kernel,
    code: &Code,
    memory: &mut [Memory<'_>],
) -> Result<Counts, KernelFault> {
    let stored = kernel
        .buffers
        .iter()
        .zip(memory.iter())
        .map(|(buffer, memory)| match buffer.access {
            Access::Scratch => Some(vec![false; memory.len()]),
            Access::Read | Access::InPlace(_) | Access::Write => None,
        })
        .collect();
    let holder = |(id, memory): (usize, &Memory<'_>)| memory.holder().map_or(id, Buf::index);
    let holders = memory.iter().enumerate().map(holder).collect();
    let mut machine = Machine {
        options,
        kernel,
        memory,
        holders,
        registers: code.registers.clone(),
        loops: vec![Bounds::default(); code.n_loops],
        lanes: None,
        stored,
        touched: FxHashMap::default(),
        counts: Counts::default(),
    };
    machine.run(&code.insts, &code.calls)?;
    Ok(machine.counts)
}

#[derive(Clone, Copy, Default)]
struct Bounds {
    lo: i64,
    hi: i64,
}

/// The iteration of the open lanes loop.
#[derive(Clone, Copy)]
struct Lane {
    lane: usize,
    iteration: i64,
}

struct Machine<'a, 'm> {
    options: Options,
    kernel: &'a Kernel,
    memory: &'a mut [Memory<'m>],
    /// Which buffer has the memory of each.
    holders: Vec<usize>,
    registers: Vec<u64>,
    loops: Vec<Bounds>,
    lanes: Option<Lane>,
    /// Which elements of scratch this call has stored.
    stored: Vec<Option<Vec<bool>>>,
    /// The last iteration of the open lanes loop that touched an element, and whether any has stored to it.
    touched: FxHashMap<(usize, i64), (i64, bool)>,
    counts: Counts,
}

impl Machine<'_, '_> {
    fn run(&mut self, insts: &[Inst], calls: &[Call]) -> Result<(), KernelFault> {
        let mut at = 0;
        while let Some(&inst) = insts.get(at) {
            at += 1;
            match inst {
                Inst::Unary { dst, a, f } => {
                    self.counts.operations += 1;
                    self.registers[dst] = f(self.registers[a]);
                }
                Inst::Binary { dst, a, b, f } => {
                    self.counts.operations += 1;
                    self.registers[dst] = f(self.registers[a], self.registers[b]);
                }
                Inst::Fma { dst, a, b, c, f } => {
                    self.counts.operations += 1;
                    self.registers[dst] = f(self.registers[a], self.registers[b], self.registers[c]);
                }
                Inst::Select { dst, cond, a, b } => {
                    self.counts.operations += 1;
                    self.registers[dst] = self.registers[if self.registers[cond] != 0 { a } else { b }];
                }
                Inst::Copy { dst, a } => self.registers[dst] = self.registers[a],
                Inst::Load { dst, buffer, index } => {
                    self.registers[dst] = self.load(buffer, self.registers[index] as i64)?;
                }
                Inst::Store { buffer, index, value } => {
                    self.store(buffer, self.registers[index] as i64, self.registers[value])?;
                }
                Inst::GetLane { dst, var } => self.registers[dst] = self.registers[var + self.lane()],
                Inst::SetLane { var, value } => {
                    let lane = self.lane();
                    self.registers[var + lane] = self.registers[value];
                }
                Inst::SetAll { var, width, value } => {
                    let value = self.registers[value];
                    self.registers[var..var + width].fill(value);
                }
                Inst::Fold { dst, var, width, f } => self.registers[dst] = self.fold(var, width, f),
                Inst::Enter { id, var, lo, hi, lanes, to } => {
                    let bounds = Bounds { lo: self.registers[lo] as i64, hi: self.registers[hi] as i64 };
                    self.loops[id] = bounds;
                    if lanes.is_some() {
                        self.touched.clear();
                    }
                    match first(bounds, lanes, self.options.lanes_order) {
                        Some(i) => self.start_iteration(bounds, var, lanes, i)?,
                        None => at = to,
                    }
                }
                Inst::Next { id, var, lanes, to } => {
                    let bounds = self.loops[id];
                    match next(bounds, lanes, self.options.lanes_order, self.registers[var] as i64) {
                        Some(i) => {
                            self.start_iteration(bounds, var, lanes, i)?;
                            at = to;
                        }
                        None if lanes.is_some() => self.lanes = None,
                        None => {}
                    }
                }
                Inst::Jump { to } => at = to,
                Inst::Unless { cond, to } => {
                    if self.registers[cond] == 0 {
                        at = to;
                    }
                }
                Inst::Tick => self.tick()?,
                Inst::Gemm(gemm) => self.gemm(&gemm)?,
                Inst::Call(number) => {
                    let sizes = |value: Value| self.registers[value.index()] as i64;
                    call::run(self.kernel, &calls[number], &sizes, self.memory)?;
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), KernelFault> {
        self.counts.iterations += 1;
        if self.counts.iterations > self.options.max_iterations {
            return Err(KernelFault::TooLong {
                kernel: self.kernel.name.clone(),
                limit: self.options.max_iterations,
            });
        }
        Ok(())
    }

    fn start_iteration(
        &mut self,
        bounds: Bounds,
        var: usize,
        lanes: Option<Lanes>,
        iteration: i64,
    ) -> Result<(), KernelFault> {
        self.registers[var] = iteration as u64;
        if let Some(lanes) = lanes {
            let lane = (distance(bounds.lo, iteration) % lanes.width) as usize;
            self.lanes = Some(Lane { lane, iteration });
        }
        self.tick()
    }

    fn lane(&self) -> usize {
        self.lanes.expect("the verifier accepts lane variables only inside lanes loops").lane
    }

    fn fold(&self, var: usize, width: usize, f: Binary) -> u64 {
        let mut elements = self.registers[var..var + width].to_vec();
        let mut half = width / 2;
        while half > 0 {
            for l in 0..half {
                elements[l] = f(elements[l], elements[l + half]);
            }
            half /= 2;
        }
        elements[0]
    }

    fn load(&mut self, buffer: usize, index: i64) -> Result<u64, KernelFault> {
        self.counts.loads += 1;
        let buffer = self.holders[buffer];
        let at = usize::try_from(index).ok();
        let Some((at, bits)) = at.and_then(|at| Some((at, self.memory[buffer].get(at)?))) else {
            return Err(self.out_of_bounds(buffer, index));
        };
        if self.stored[buffer].as_ref().is_some_and(|stored| !stored[at]) {
            return Err(KernelFault::Undefined {
                kernel: self.kernel.name.clone(),
                buffer: self.kernel.buffers[buffer].name.clone(),
                index,
            });
        }
        self.touch(buffer, index, false)?;
        Ok(bits)
    }

    fn store(&mut self, buffer: usize, index: i64, bits: u64) -> Result<(), KernelFault> {
        self.counts.stores += 1;
        match usize::try_from(index) {
            Ok(at) if self.memory[buffer].set(at, bits) => {
                if let Some(stored) = &mut self.stored[buffer] {
                    stored[at] = true;
                }
                self.touch(buffer, index, true)
            }
            Ok(_) | Err(_) => Err(self.out_of_bounds(buffer, index)),
        }
    }

    fn out_of_bounds(&self, buffer: usize, index: i64) -> KernelFault {
        KernelFault::OutOfBounds {
            kernel: self.kernel.name.clone(),
            buffer: self.kernel.buffers[buffer].name.clone(),
            index,
            len: self.memory[buffer].len(),
        }
    }

    /// Records an access, if that was asked for, and finds the one it conflicts with.
    fn touch(&mut self, buffer: usize, index: i64, stores: bool) -> Result<(), KernelFault> {
        let Some(Lane { iteration, .. }) = self.lanes.filter(|_| self.options.check_lanes) else {
            return Ok(());
        };
        let entry = self.touched.entry((buffer, index)).or_insert((iteration, stores));
        let (first, any_stores) = *entry;
        if first != iteration && (any_stores || stores) {
            return Err(KernelFault::LanesConflict {
                kernel: self.kernel.name.clone(),
                buffer: self.kernel.buffers[buffer].name.clone(),
                index,
                first,
                second: iteration,
            });
        }
        *entry = (iteration, any_stores || stores);
        Ok(())
    }

    fn gemm(&mut self, gemm: &Gemm) -> Result<(), KernelFault> {
        let fma = arith::fma(gemm.dtype).expect("the verifier accepts floats only");
        let add = arith::binary(BinOp::Add, gemm.dtype).expect("the verifier accepts floats only");
        let (m, n, k) = (self.int(gemm.m), self.int(gemm.n), self.int(gemm.k));
        for i in 0..m {
            for j in 0..n {
                let mut sum = 0;
                for start in (0..k).step_by(GEMM_BLOCK as usize) {
                    let block = self.chain(gemm, i, j, start..k.min(start + GEMM_BLOCK), fma)?;
                    sum = add(sum, block);
                }
                self.store(gemm.c.buffer.index(), self.element(&gemm.c, i, j), sum)?;
            }
        }
        Ok(())
    }

    /// The fused multiply-adds of one block, from +0, whose bits are 0.
    fn chain(
        &mut self,
        gemm: &Gemm,
        i: i64,
        j: i64,
        terms: std::ops::Range<i64>,
        fma: Ternary,
    ) -> Result<u64, KernelFault> {
        let mut sum = 0;
        for k in terms {
            let a = self.load(gemm.a.buffer.index(), self.element(&gemm.a, i, k))?;
            let b = self.load(gemm.b.buffer.index(), self.element(&gemm.b, k, j))?;
            sum = fma(a, b, sum);
            self.counts.multiply_adds += 1;
        }
        Ok(sum)
    }

    /// Index of an element of a matrix; what overflows is out of bounds in any case.
    fn element(&self, matrix: &Matrix, row: i64, col: i64) -> i64 {
        let (row_stride, col_stride) = (self.int(matrix.row_stride), self.int(matrix.col_stride));
        self.int(matrix.offset)
            .saturating_add(row.saturating_mul(row_stride))
            .saturating_add(col.saturating_mul(col_stride))
    }

    fn int(&self, value: Value) -> i64 {
        debug_assert_eq!(self.kernel.dtype(value), DType::I64);
        self.registers[value.index()] as i64
    }
}

/// `i - lo` for `i >= lo`, which may exceed `i64`.
fn distance(lo: i64, i: i64) -> u64 {
    i.wrapping_sub(lo) as u64
}

fn first(Bounds { lo, hi }: Bounds, lanes: Option<Lanes>, order: LanesOrder) -> Option<i64> {
    if lo >= hi {
        return None;
    }
    Some(match (lanes, order) {
        (None, _) | (_, LanesOrder::Forward) => lo,
        (Some(Lanes { connected: false, .. }), LanesOrder::Shuffled) => hi - 1,
        (Some(lanes), LanesOrder::Shuffled) => lo.wrapping_add(distance(lo, hi).min(lanes.width) as i64 - 1),
    })
}

fn next(Bounds { lo, hi }: Bounds, lanes: Option<Lanes>, order: LanesOrder, i: i64) -> Option<i64> {
    match (lanes, order) {
        (None, _) | (_, LanesOrder::Forward) => Some(i + 1).filter(|&i| i < hi),
        (Some(Lanes { connected: false, .. }), LanesOrder::Shuffled) => (i > lo).then(|| i - 1),
        (Some(lanes), LanesOrder::Shuffled) => {
            if distance(i, hi) > lanes.width {
                return Some(i + lanes.width as i64);
            }
            let lane = distance(lo, i) % lanes.width;
            (lane > 0).then(|| lo.wrapping_add(lane as i64 - 1))
        }
    }
}
