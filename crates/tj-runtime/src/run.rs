//! Runs kernels on memory: the only place that calls machine code.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};

use smallvec::SmallVec;
use tj_kernel::abi::{Args, STATUS_OK};

use crate::error::Error;
use crate::host::HOST;
use crate::pool;
use crate::program::{Bound, BoundKernel, Program, Slot, internal};

/// Memory of one call. Addresses stay valid for the whole run, because the caller holds what they point into.
pub(crate) struct CallMemory<'m> {
    /// Row-major data of each argument.
    pub inputs: SmallVec<[*const u8; 8]>,
    /// Each output, `None` for one that no kernel writes.
    pub outputs: SmallVec<[Option<&'m mut [u8]>; 4]>,
    /// At least `Bound::arena_bytes`, aligned to 64 bytes.
    pub arena: &'m mut [u8],
    /// Bits of the run-time numbers, by number of the plan.
    pub numbers: &'m [u64],
}

/// Addresses that threads may share: kernels write disjoint elements, as their tasks promise.
struct Shared<T>(T);

// SAFETY: Only addresses are shared. What lies there is read, or written by the one task that owns the element.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: As above.
unsafe impl<T> Sync for Shared<T> {}

/// Bases of the memory of a call.
struct Bases {
    inputs: SmallVec<[*const u8; 8]>,
    outputs: SmallVec<[*mut u8; 4]>,
    arena: *mut u8,
}

/// Runs all kernels of a program in order.
pub(crate) fn run(program: &Program, bound: &Bound, memory: CallMemory<'_>) -> Result<(), Error> {
    let CallMemory { inputs, mut outputs, arena, numbers } = memory;
    debug_assert!(arena.len() as u64 >= bound.arena_bytes);
    let outputs =
        outputs.iter_mut().map(|o| o.as_mut().map_or(EMPTY.0.as_ptr().cast_mut(), |o| o.as_mut_ptr()));
    let bases = Shared(Bases { inputs, outputs: outputs.collect(), arena: arena.as_mut_ptr() });
    let all = || {
        // Captured whole: its fields alone could not be shared.
        let bases = &bases;
        for (number, kernel) in bound.kernels.iter().enumerate() {
            run_kernel(program, bound, number, kernel, bases, numbers)?;
        }
        Ok(())
    };
    if bound.parallel { pool::enter(all) } else { all() }
}

/// What empty buffers point to: never null, never read.
#[repr(align(64))]
struct Empty([u8; 64]);

static EMPTY: Empty = Empty([0; 64]);

fn run_kernel(
    program: &Program,
    bound: &Bound,
    number: usize,
    kernel: &BoundKernel,
    bases: &Shared<Bases>,
    numbers: &[u64],
) -> Result<(), Error> {
    if kernel.extent == 0 {
        return Ok(());
    }
    let lowered = &program.kernels[number];
    let code = program.code.as_ref().ok_or_else(|| internal("run", &"the program has no code"))?;
    let entry = code.entry(number);
    let params: SmallVec<[u64; 8]> = lowered.numbers.iter().map(|&n| numbers[n as usize]).collect();
    let slots = &program.slots[number];
    let call = |worker: usize, lo: i64, hi: i64| {
        let buffers: SmallVec<[*mut c_void; 16]> =
            slots.iter().map(|slot| address(&bases.0, bound, *slot, worker).cast()).collect();
        let args = Args {
            buffers: buffers.as_ptr(),
            sizes: kernel.sizes.as_ptr(),
            params: params.as_ptr(),
            host: &HOST,
        };
        // SAFETY: The table has one entry for each buffer, size and number of the kernel, in its order, and outlives
        // the call. Each buffer holds the elements that the kernel may touch: inputs were checked against their
        // declared sizes, outputs and arena intervals were made from the same sizes, and `verify` with the guards
        // evaluated at bind proved every access to lie inside. Tasks are disjoint, each worker has its own scratch
        // memory, and `code` keeps the function alive.
        unsafe { entry(&args, lo, hi) }
    };
    let status = if kernel.workers == 1 {
        call(0, 0, kernel.extent)
    } else {
        let next = AtomicI64::new(0);
        let failed = AtomicI64::new(i64::from(STATUS_OK));
        let work = |worker: usize| {
            loop {
                let lo = next.fetch_add(kernel.chunk, Ordering::Relaxed);
                if lo >= kernel.extent {
                    break;
                }
                let status = call(worker, lo, kernel.extent.min(lo + kernel.chunk));
                if status != STATUS_OK {
                    failed.store(i64::from(status), Ordering::Relaxed);
                }
            }
        };
        let work = Shared(work);
        rayon::scope(|scope| {
            let work = &work;
            for worker in 1..kernel.workers {
                scope.spawn(move |_| (work.0)(worker));
            }
            (work.0)(0);
        });
        failed.load(Ordering::Relaxed) as i32
    };
    if status == STATUS_OK {
        Ok(())
    } else {
        Err(internal("run", &format!("kernel {} gave status {status}", lowered.kernel.name)))
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
