//! Runs kernels on memory: the only place that calls machine code.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use tj_kernel::abi::{Args, STATUS_OK};

use crate::clock::KernelClock;
use crate::code::Code;
use crate::crew::{self, Stage};
use crate::error::Error;
use crate::host::{Fault, HOST, take_fault};
use crate::program::{Bound, BoundKernel, Program, Slot, internal};

/// Memory of one call. Addresses stay valid for the whole run, because the caller holds what they point into.
pub(crate) struct CallMemory<'m> {
    /// Row-major data of each argument.
    pub inputs: SmallVec<[*const u8; 8]>,
    /// Inputs that are in the memory of an output, whatever address `inputs` has for them.
    pub donated: &'m [(usize, usize)],
    /// Each output, `None` for one that no kernel writes.
    pub outputs: SmallVec<[Option<&'m mut [u8]>; 4]>,
    /// At least `Bound::arena_bytes`, aligned to 64 bytes.
    pub arena: &'m mut [u8],
    /// Bits of the run-time numbers, by number of the plan.
    pub numbers: &'m [u64],
    pub clock: Option<&'m KernelClock>,
}

/// Bases of the memory of a call.
struct Bases {
    inputs: SmallVec<[*const u8; 8]>,
    outputs: SmallVec<[*mut u8; 4]>,
    arena: *mut u8,
}

// SAFETY: Only addresses are shared. What lies there is read, or written by the one task that owns the element.
unsafe impl Sync for Bases {}

/// Runs all kernels of a program in order.
pub(crate) fn run(program: &Program, bound: &Bound, memory: CallMemory<'_>) -> Result<(), Error> {
    let CallMemory { mut inputs, donated, mut outputs, arena, numbers, clock } = memory;
    debug_assert!(arena.len() as u64 >= bound.arena_bytes);
    let Some(code) = program.code.as_ref() else {
        return Err(internal("run", &"the program has no code"));
    };
    let outputs =
        outputs.iter_mut().map(|o| o.as_mut().map_or(EMPTY.0.as_ptr().cast_mut(), |o| o.as_mut_ptr()));
    let outputs: SmallVec<[*mut u8; 4]> = outputs.collect();
    for &(input, output) in donated {
        inputs[input] = outputs[output].cast_const();
    }
    let bases = Bases { inputs, outputs, arena: arena.as_mut_ptr() };
    let failed = AtomicI64::new(NONE);
    let run = Run { program, code, bound, bases, numbers, clock, failed, fault: Mutex::new(None) };
    if bound.parallel {
        let stage = |kernel: &BoundKernel| Stage { pieces: kernel.pieces(), workers: kernel.workers };
        let stages: SmallVec<[Stage; 16]> = bound.kernels.iter().map(stage).collect();
        crew::run(&stages, &|number, worker, piece| run.piece(number, worker, piece));
    } else {
        for (number, kernel) in bound.kernels.iter().enumerate() {
            (0..kernel.pieces()).for_each(|piece| run.piece(number, 0, piece));
        }
    }
    match run.failed.into_inner() {
        NONE => Ok(()),
        number => {
            let lowered = &program.kernels[number as usize];
            let fault = run.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
            Err(match (fault, program.location(lowered)) {
                (Some((_, Fault::Function(function, cause))), Some(location)) => {
                    Error::function(function, &cause, location)
                }
                (Some((_, Fault::Internal(problem))), _) => internal("run", &problem),
                (_, _) => internal("run", &format!("kernel {} gave up", lowered.kernel.name)),
            })
        }
    }
}

/// No kernel has failed.
const NONE: i64 = i64::MAX;

/// What empty buffers point to: never null, never read.
#[repr(align(64))]
struct Empty([u8; 64]);

static EMPTY: Empty = Empty([0; 64]);

/// What all threads of a run share.
struct Run<'r> {
    program: &'r Program,
    code: &'r Code,
    bound: &'r Bound,
    bases: Bases,
    numbers: &'r [u64],
    clock: Option<&'r KernelClock>,
    /// First kernel that gave up.
    failed: AtomicI64,
    /// Why, and in which piece of which kernel: of those that gave up, the first.
    fault: Mutex<Option<((usize, i64), Fault)>>,
}

impl Run<'_> {
    /// Runs one piece of the tasks of a kernel.
    fn piece(&self, number: usize, worker: usize, piece: i64) {
        // Kernels after one that gave up would run on results that are not there.
        if self.failed.load(Ordering::Relaxed) < number as i64 {
            return;
        }
        let kernel = &self.bound.kernels[number];
        let lo = piece * kernel.chunk;
        let hi = kernel.extent.min(lo + kernel.chunk);
        let params = self.program.kernels[number].numbers.iter();
        let params: SmallVec<[u64; 8]> = params.map(|&n| self.numbers[n as usize]).collect();
        let slots = self.program.slots[number].iter();
        let buffers: SmallVec<[*mut c_void; 16]> =
            slots.map(|slot| address(&self.bases, self.bound, *slot, worker).cast()).collect();
        let args = Args {
            buffers: buffers.as_ptr(),
            sizes: kernel.sizes.as_ptr(),
            params: params.as_ptr(),
            host: &HOST,
        };
        let entry = self.code.entry(number);
        if let Some(clock) = self.clock {
            clock.begin(number);
        }
        // SAFETY: The table has one entry for each buffer, size and number of the kernel, in its order, and outlives
        // the call. Each buffer holds the elements that the kernel may touch: inputs were checked against their
        // declared sizes, outputs and arena intervals were made from the same sizes, and `verify` with the guards
        // evaluated at bind proved every access to lie inside. Buffers share memory only where
        // `Access::InPlace` was proved. Tasks are disjoint, each worker has its own scratch
        // memory, and `code` keeps the function alive.
        let status = unsafe { entry(&args, lo, hi) };
        if let Some(clock) = self.clock {
            clock.end(number);
        }
        if status != STATUS_OK {
            self.failed.fetch_min(number as i64, Ordering::Relaxed);
            let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(fault) = take_fault()
                && first.as_ref().is_none_or(|(place, _)| (number, piece) < *place)
            {
                *first = Some(((number, piece), fault));
            }
        }
    }
}

fn address(bases: &Bases, bound: &Bound, slot: Slot, worker: usize) -> *mut u8 {
    match slot {
        Slot::Input(i) => bases.inputs[i].cast_mut(),
        Slot::Output(k) => bases.outputs[k],
        Slot::Temporary(interval) => bases.arena.wrapping_add(bound.offsets[interval] as usize),
        Slot::Scratch(interval) => {
            let piece = bound.pieces[interval] as usize * worker;
            bases.arena.wrapping_add(bound.offsets[interval] as usize + piece)
        }
    }
}
