//! Runs kernels slowly and obviously: the oracle of the back ends.
//!
//! A kernel is resolved to a flat list of instructions over a file of registers, each with the function from
//! [`arith`](crate::arith) that its type selects, and that list is run one instruction after the other. Nothing is
//! optimised, nothing is reordered. Every access is checked against the memory that is really there, scratch must
//! be stored before it is loaded, and a kernel that breaks a rule of the verifier is refused, so that a mistake of a
//! lowering pass is a [`KernelFault`] with names in it and never a wrong number.
//!
//! [`Options`] can run lanes loops in another order that the language permits, and can record which iteration
//! touched which element; both show iterations that are not independent although they claim to be.
//!
//! Cost: about 15 ns for an operation with optimisation, 250 ns without (samples of `sample`, one core).

mod call;
mod machine;
mod resolve;

use std::ops::Range;

use thiserror::Error;
use tj_ir::Function;
use tj_library::LibraryError;
use tj_tensor::{DType, Scalar};

use crate::ir::{Access, Kernel};
use crate::memory::Memory;
use crate::verify::{self, Finding};

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Order of the iterations of lanes loops.
    pub lanes_order: LanesOrder,
    /// Fail if two iterations of a lanes loop touch one element and one of them stores to it.
    pub check_lanes: bool,
    /// Fail after this many iterations of all loops.
    pub max_iterations: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { lanes_order: LanesOrder::Forward, check_lanes: false, max_iterations: u64::MAX }
    }
}

/// An order of iterations that the language permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LanesOrder {
    /// From `lo` up.
    Forward,
    /// From the top down; where the loop uses lane variables: lane by lane from the last, each from `lo` up.
    Shuffled,
}

/// Work done by a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Loop bodies started, of `For` and `While`.
    pub iterations: u64,
    /// Arithmetic on scalars: unary, binary, comparisons, selects, casts, fused multiply-adds.
    pub operations: u64,
    /// Elements loaded, those by `Gemm` too.
    pub loads: u64,
    /// Elements stored, those by `Gemm` too.
    pub stores: u64,
    /// Multiply-adds inside `Gemm`.
    pub multiply_adds: u64,
}

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KernelFault {
    /// The call does not fit the kernel's declaration.
    #[error("kernel {kernel}: {what}")]
    Arguments {
        /// Name of the kernel.
        kernel: String,
        /// What does not fit.
        what: String,
    },
    /// The kernel breaks a rule of the language other than bounds and sharing.
    #[error("kernel {kernel} is malformed: {}", findings[0].what)]
    Malformed {
        /// Name of the kernel.
        kernel: String,
        /// Everything that is wrong with it; not empty.
        findings: Vec<Finding>,
    },
    /// An access outside a buffer.
    #[error("kernel {kernel}: element {index} of buffer {buffer}, which has {len}")]
    OutOfBounds {
        /// Name of the kernel.
        kernel: String,
        /// Name of the buffer.
        buffer: String,
        /// Element asked for.
        index: i64,
        /// Number of elements.
        len: usize,
    },
    /// A load from scratch that this call has not stored to.
    #[error("kernel {kernel}: element {index} of scratch buffer {buffer} is loaded before it is stored")]
    Undefined {
        /// Name of the kernel.
        kernel: String,
        /// Name of the buffer.
        buffer: String,
        /// Element asked for.
        index: i64,
    },
    /// Two iterations of a lanes loop are not independent.
    #[error(
        "kernel {kernel}: lanes iterations {first} and {second} share element {index} of buffer {buffer}"
    )]
    LanesConflict {
        /// Name of the kernel.
        kernel: String,
        /// Name of the buffer.
        buffer: String,
        /// Element that both touch.
        index: i64,
        /// The iteration that came first.
        first: i64,
        /// The iteration that came second.
        second: i64,
    },
    /// A function of whole tensors has no result.
    #[error("kernel {kernel}: {cause}")]
    Function {
        /// Name of the kernel.
        kernel: String,
        /// Which function.
        function: Function,
        /// Why.
        cause: LibraryError,
    },
    /// More iterations than [`Options::max_iterations`].
    #[error("kernel {kernel}: more than {limit} iterations")]
    TooLong {
        /// Name of the kernel.
        kernel: String,
        /// The limit.
        limit: u64,
    },
}

/// Runs `kernel` on the tasks of a range.
///
/// `memory` has one view a buffer and `sizes` one number for each entry of [`Kernel::sizes`], in order.
///
/// ```
/// use tj_kernel::{Access, BinOp, BufferContents, Builder, Grid, LoopKind, interpret};
/// use tj_ir::dim::Dim;
/// use tj_tensor::DType;
///
/// let n = Dim::from(4);
/// let mut b = Builder::new("double", Grid { extent: n.clone(), multiple: 1, cost: Dim::from(1) });
/// let x = b.buffer("x", DType::F32, n, Access::Write);
/// let (lo, hi) = b.task();
/// b.for_loop(LoopKind::Lanes(32), lo, hi, |b, i| {
///     let old = b.load(x, i);
///     let new = b.binary(BinOp::Add, old, old);
///     b.store(x, i, new);
/// });
/// let mut contents = BufferContents::of(&[1.0f32, 2.0, 3.0, 4.0]);
/// let counts = interpret(&b.finish(), &mut [contents.memory()], &[], &[], 1..3)?;
/// assert_eq!(contents, BufferContents::of(&[1.0f32, 4.0, 6.0, 4.0]));
/// assert_eq!((counts.iterations, counts.loads, counts.stores), (2, 2, 2));
/// # Ok::<(), tj_kernel::KernelFault>(())
/// ```
pub fn interpret(
    kernel: &Kernel,
    memory: &mut [Memory<'_>],
    sizes: &[i64],
    params: &[Scalar],
    tasks: Range<i64>,
) -> Result<Counts, KernelFault> {
    interpret_with(Options::default(), kernel, memory, sizes, params, tasks)
}

/// Runs `kernel` as [`interpret`] does, in the way that `options` ask for.
pub fn interpret_with(
    options: Options,
    kernel: &Kernel,
    memory: &mut [Memory<'_>],
    sizes: &[i64],
    params: &[Scalar],
    tasks: Range<i64>,
) -> Result<Counts, KernelFault> {
    check_arguments(kernel, memory, sizes, params)
        .map_err(|what| KernelFault::Arguments { kernel: kernel.name.clone(), what })?;
    let findings = verify::check_form(kernel);
    if !findings.is_empty() {
        return Err(KernelFault::Malformed { kernel: kernel.name.clone(), findings });
    }
    let code = resolve::resolve(kernel, sizes, params, tasks);
    machine::run(options, kernel, &code, memory)
}

fn check_arguments(
    kernel: &Kernel,
    memory: &[Memory<'_>],
    sizes: &[i64],
    params: &[Scalar],
) -> Result<(), String> {
    let counts = [
        ("buffers", memory.len(), kernel.buffers.len()),
        ("sizes", sizes.len(), kernel.sizes.len()),
        ("parameters", params.len(), kernel.params.len()),
    ];
    for (what, given, declared) in counts {
        if given != declared {
            return Err(format!("{given} {what} for {declared}"));
        }
    }
    for (given, declared) in memory.iter().zip(&kernel.buffers) {
        if given.dtype() != declared.dtype {
            return Err(format!("buffer {} is {}, given {}", declared.name, declared.dtype, given.dtype()));
        }
        if !declared.access.is_read() && !given.is_writable() {
            return Err(format!("buffer {} is written, given read-only memory", declared.name));
        }
        if let Some(written) = given.holder()
            && declared.access != Access::InPlace(written)
        {
            return Err(format!("buffer {} is not read in place of {written}", declared.name));
        }
    }
    let given: Vec<DType> = params.iter().map(|p| p.dtype()).collect();
    match given == kernel.params {
        true => Ok(()),
        false => Err(format!("parameters of types {given:?} for {:?}", kernel.params)),
    }
}

#[cfg(test)]
mod tests;
