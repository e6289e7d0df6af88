//! Lazy arrays to values: `compute`, and `fuse` around it.
//!
//! A program is read as words ([`Structure`]), its code is found or compiled once ([`cache`](crate::cache)), and run on
//! the data, numbers and sizes that the reading set aside. Nothing of a user's data stays behind. Where sizes depend on
//! values, that is done for each [stage](crate::stages).

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use smallvec::SmallVec;
use tj_ir::{Cause, Defer, Known, LazyTensor, Structure};
use tj_plan::{Backend, Engine, Scheduler};
use tj_tensor::{Buffer, Tensor};

use crate::bind::Values;
use crate::cache::{self, Cached, Compiled, Facts};
use crate::call::{Arguments, Call};
use crate::chain::{self, Decider, Ledger, Spent, Terms, storage_word};
use crate::compile::compile;
use crate::derive::statistics_words;
use crate::error::Error;
use crate::executable::Executable;
use crate::observe::Silent;
use crate::options::{CompileOptions, MaxBytes};
use crate::outputs::{Compute, Lazies};
use crate::program::internal;
use crate::reason::reason;
use crate::report::RunReport;
use crate::select::Taken;
use crate::stages;
use crate::walked::{Times, finished};

thread_local! {
    /// Memory for reading a program, kept from one to the next.
    static STRUCTURE: Cell<Option<Box<Structure>>> = const { Cell::new(None) };
}

/// Computes lazy tensors, all in one program, by the scheduler that applies to this thread.
///
/// Takes a lazy tensor, or a tuple, array, slice or vector of them; what is not lazy passes through. Data that were deferred by
/// [`defer_owned`](tj_ir::defer_owned) are taken, and results may be in their memory.
///
/// ```
/// use tj_ir::defer;
/// use tj_runtime::compute;
/// use tj_tensor::Tensor;
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// let a = Tensor::from_shape_vec([2, 2], vec![1, 2, 3, 4])?;
/// let x = defer(&a);
/// let (mean, total, same) = compute(((&x + &x) / 2, x.sum(()), 7))?;
/// assert_eq!(mean.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
/// assert_eq!((total.to_vec::<i64>()?, same), (vec![10], 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first mistake that a lazy tensor carries, with the line that made it; inputs without data; what the scheduler
/// or back end refuses; more memory than is available.
pub fn compute<C: Compute>(what: C) -> Result<C::Output, Error> {
    let current = Taken::take();
    let scheduler = current.scheduler();
    Ok(run(what, &CompileOptions::default(), &*scheduler, Times::Ignored)?.0)
}

/// As [`compute`], by this scheduler.
///
/// # Errors
/// As there.
pub fn compute_with<C: Compute>(what: C, scheduler: &dyn Scheduler) -> Result<C::Output, Error> {
    let _current = Taken::take();
    Ok(run(what, &CompileOptions::default(), scheduler, Times::Ignored)?.0)
}

/// As [`compute`], with what the run has cost.
///
/// # Errors
/// As there.
pub fn compute_reported<C: Compute>(what: C) -> Result<(C::Output, RunReport), Error> {
    let current = Taken::take();
    let scheduler = current.scheduler();
    let (outputs, ran) = run(what, &CompileOptions::default(), &*scheduler, Times::Ignored)?;
    Ok((outputs, report(ran)))
}

/// As [`compute_reported`], with these options. Inputs that they declare are left out, since data needs none.
///
/// # Errors
/// As [`compute`].
pub fn compute_as<C: Compute>(what: C, options: &CompileOptions) -> Result<(C::Output, RunReport), Error> {
    let current = Taken::take();
    let scheduler = options.scheduler(&current);
    let options = CompileOptions { inputs: Vec::new(), ..options.clone() };
    let (outputs, ran) = run(what, &options, &*scheduler, Times::Ignored)?;
    Ok((outputs, report(ran)))
}

/// As [`compute_reported`], with how long each kernel took; to ask costs some 100 ns a kernel.
///
/// ```
/// use tj_ir::defer;
/// use tj_runtime::compute_timed;
/// use tj_tensor::Tensor;
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// let a = Tensor::full([1000], 2.0)?;
/// let (total, report) = compute_timed(defer(&a).exp().sum(()))?;
/// let (kernel, time) = &report.kernel_times[0];
/// assert!(total.get(&[])?.to_f64() > 7000.0 && !kernel.is_empty() && time.as_nanos() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`compute`].
pub fn compute_timed<C: Compute>(what: C) -> Result<(C::Output, RunReport), Error> {
    let current = Taken::take();
    let scheduler = current.scheduler();
    let (outputs, ran) = run(what, &CompileOptions::default(), &*scheduler, Times::Measured)?;
    Ok((outputs, report(ran)))
}

fn report(ran: SmallVec<[Ran; 1]>) -> RunReport {
    ran.into_iter().map(Ran::report).reduce(RunReport::and_then).unwrap_or_default()
}

/// Applies a function to deferred arguments and computes its result. Several arguments are a tuple, which the function
/// takes as one, so that its types are inferred.
///
/// ```
/// use tj_runtime::fuse;
/// use tj_tensor::Tensor;
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// let a = Tensor::from_shape_vec([3], vec![1.0, 4.0, 9.0])?;
/// let b = Tensor::from_shape_vec([3], vec![1.0, 0.0, 1.0])?;
/// let r = fuse(|(x, y)| (x.sqrt() + y) / 2, (&a, &b))?;
/// assert_eq!(r.to_vec::<f64>()?, [1.0, 1.0, 2.0]);
/// let r = fuse(|x| x * 2, &a)?;
/// assert_eq!(r.to_vec::<f64>()?, [2.0, 8.0, 18.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`compute`].
#[track_caller]
pub fn fuse<A: Defer, R: Compute>(f: impl FnOnce(A::Lazy) -> R, args: A) -> Result<R::Output, Error> {
    compute(f(args.defer()))
}

/// As [`fuse`], by this scheduler.
///
/// # Errors
/// As [`compute`].
#[track_caller]
pub fn fuse_with<A: Defer, R: Compute>(
    f: impl FnOnce(A::Lazy) -> R,
    args: A,
    scheduler: &dyn Scheduler,
) -> Result<R::Output, Error> {
    compute_with(f(args.defer()), scheduler)
}

/// What ran, and what it cost.
pub(crate) struct Ran {
    cached: Arc<Cached>,
    ledger: Ledger,
}

impl Ran {
    /// One program.
    fn one(cached: &Arc<Cached>, spent: Spent) -> Ran {
        let ledger = Ledger { spent: SmallVec::from_iter([spent]), ..Ledger::default() };
        Ran { cached: cached.clone(), ledger }
    }

    fn report(self) -> RunReport {
        self.ledger.report(&self.cached.executables())
    }
}

fn run<C: Compute>(
    what: C,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    times: Times,
) -> Result<(C::Output, SmallVec<[Ran; 1]>), Error> {
    let mut lazies = Lazies::new();
    what.lazies(&mut lazies);
    if lazies.is_empty() {
        return Ok((what.finish(&mut std::iter::empty()), SmallVec::new()));
    }
    let (values, ran) = run_lazies(&lazies, options, scheduler, times)?;
    Ok((what.finish(&mut values.into_iter()), ran))
}

/// Computes lazy tensors, in one program or, if need be, in stages.
fn run_lazies(
    lazies: &[LazyTensor],
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    times: Times,
) -> Result<(Vec<Tensor>, SmallVec<[Ran; 1]>), Error> {
    let program = |lazies: &[LazyTensor], known: &Known, owned| {
        run_program(lazies, known, options, scheduler, times, owned)
    };
    match program(lazies, &Known::new(), UseOfOwned::Take) {
        Ok((values, ran)) => Ok((values, SmallVec::from_iter([ran]))),
        Err(Error::Program(error)) if matches!(*error.cause, Cause::Counted { .. }) => {
            let mut stage = |lazies: &[LazyTensor], known: &Known| program(lazies, known, UseOfOwned::Read);
            stages::run(lazies, options.max_bytes, &mut stage)
        }
        Err(error) => Err(error),
    }
}

fn run_program(
    lazies: &[LazyTensor],
    known: &Known,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    times: Times,
    owned: UseOfOwned,
) -> Result<(Vec<Tensor>, Ran), Error> {
    let mut structure = STRUCTURE.take().unwrap_or_default();
    let ran = structure
        .read_stage(lazies, known)
        .map_err(Error::from)
        .and_then(|()| run_read(lazies, known, &mut structure, options, scheduler, times, owned));
    let has_fills = structure.has_fills() || lazies.iter().any(|lazy| lazy.format().is_some());
    structure.clear();
    STRUCTURE.set(Some(structure));
    let (values, ran) = ran.map_err(|error| stages::in_own_words(error, lazies, known))?;
    if !has_fills {
        return Ok((values, ran));
    }
    let wanted = lazies.iter().map(|lazy| (lazy.fill(), lazy.format()));
    Ok((finished(values, wanted, options.max_bytes)?, ran))
}

fn run_read(
    lazies: &[LazyTensor],
    known: &Known,
    structure: &mut Structure,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    times: Times,
    use_of_owned: UseOfOwned,
) -> Result<(Vec<Tensor>, Ran), Error> {
    add_words(structure, options, scheduler);
    let is_walked = add_storage(structure, lazies, options, scheduler);
    let compile = || compile_cached(lazies, known, structure, options, scheduler, is_walked);
    let cached = cache::find(structure.words(), compile)?;
    let sizes = cached.sizes.iter().map(|&at| structure.value(at));
    let values: Values = sizes.collect();
    let owned = match use_of_owned {
        UseOfOwned::Take => structure.take_owned()?,
        UseOfOwned::Read => Vec::new(),
    };
    if let (Compiled::One(executable), false) = (&cached.code, owned.is_empty()) {
        let (outputs, spent) = run_owned(executable, structure, &owned, values, options.max_bytes, times)?;
        return Ok((outputs, Ran::one(&cached, spent)));
    }
    let inputs: SmallVec<[&Tensor; 8]> = structure.inputs().iter().map(|tensor| &**tensor).collect();
    let executable = match &cached.code {
        Compiled::One(executable) => executable,
        Compiled::Chain(chain) => {
            drop(inputs);
            let arguments = arguments(structure, &owned);
            let terms = Terms {
                sizes: &values,
                numbers: structure.numbers(),
                max: options.max_bytes,
                times,
                decider: Some(Decider { scheduler, options }),
            };
            let ran = chain::run(chain, arguments, terms);
            // A run that fails may have decided before.
            if ran.as_ref().map_or(chain.rest.is_some(), |(_, ledger)| ledger.has_decided) {
                cache::has_grown(structure.words());
            }
            let (outputs, ledger) = ran?;
            return Ok((outputs, Ran { cached: cached.clone(), ledger }));
        }
    };
    if !executable.program.binder.fits(&inputs, &values) {
        return Err(internal("compute", &"a program was found that is for other sizes"));
    }
    let bound = executable.program.bind(values, &[])?;
    let mut call = Call::bound(&executable.program, inputs, bound, options.max_bytes, Arguments::Kept)?;
    if times == Times::Measured {
        call = call.timed(&executable.program);
    }
    let (outputs, cost) = executable.finish(&call, structure.numbers(), SmallVec::new())?;
    let kernel_times = call.kernel_times(&executable.program);
    Ok((outputs, Ran::one(&cached, (0, cost, kernel_times))))
}

/// What a program does with data that are given to it for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UseOfOwned {
    /// It is the only one that needs them.
    Take,
    /// A later stage may need them, too.
    Read,
}

/// Runs a program that is given these inputs for good: outputs are written to the memory of those that nobody else holds,
/// where that is safe.
fn run_owned(
    executable: &Executable,
    structure: &mut Structure,
    owned: &[usize],
    values: Values,
    max: MaxBytes,
    times: Times,
) -> Result<(Vec<Tensor>, Spent), Error> {
    let program = &executable.program;
    if !program.donations.is_empty() {
        // What an earlier run has made is also held here, for later runs.
        owned.iter().for_each(|&at| executable.pools.forget(&structure.inputs()[at]));
    }
    let (call, taken) = {
        let inputs = references(structure);
        if !program.binder.fits(&inputs, &values) {
            return Err(internal("compute", &"a program was found that is for other sizes"));
        }
        let may = |at: usize| owned.contains(&at) && Arc::strong_count(&structure.inputs()[at]) == 1;
        let bound = program.bind(values, &[])?;
        let call = Call::bound(program, inputs, bound, max, Arguments::Given(&may))?;
        let call = call.with_inputs(SmallVec::new());
        let mut taken: SmallVec<[(usize, Buffer); 4]> = SmallVec::new();
        for &(input, output) in &call.donated {
            let buffer = structure.take_input(input).and_then(|tensor| tensor.try_into_buffer().ok());
            taken.push((output, buffer.ok_or_else(|| internal("donation", &"data that others hold"))?));
        }
        (call, taken)
    };
    let mut call = call.with_inputs(references(structure));
    if times == Times::Measured {
        call = call.timed(program);
    }
    let (outputs, cost) = executable.finish(&call, structure.numbers(), taken)?;
    let kernel_times = call.kernel_times(program);
    Ok((outputs, (0, cost, kernel_times)))
}

/// The data of a program, where nobody else holds those that it is given for good.
fn arguments(structure: &mut Structure, owned: &[usize]) -> Vec<Tensor> {
    let count = structure.inputs().len();
    let argument = |at: usize| {
        let shared = (*structure.inputs()[at]).clone();
        if owned.contains(&at) {
            drop(structure.take_input(at));
        }
        shared
    };
    (0..count).map(argument).collect()
}

fn references(structure: &Structure) -> SmallVec<[&Tensor; 8]> {
    structure.inputs().iter().map(|tensor| &**tensor).collect()
}

/// Adds how each argument is stored, if kernels shall walk one: then the program is a chain.
pub(crate) fn add_storage(
    structure: &mut Structure,
    lazies: &[LazyTensor],
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
) -> bool {
    if structure.inputs().iter().all(|tensor| tensor.stored().is_none()) {
        return false;
    }
    // The plan's own interpreter is the oracle: it sees dense copies, as programs with complex numbers do.
    let is_complex = structure.inputs().iter().any(|tensor| tensor.dtype().is_complex())
        || lazies.iter().any(|lazy| lazy.dtype().is_complex());
    if is_complex || options.engine(scheduler) == Engine::InterpretPlan {
        return false;
    }
    let words: SmallVec<[u64; 8]> = structure.inputs().iter().map(|tensor| storage_word(tensor)).collect();
    if words.iter().all(|&word| word == 0) {
        return false;
    }
    words.into_iter().for_each(|word| structure.add_word(word));
    true
}

/// What must be equal besides the program: the engine, what the scheduler says of itself, its name.
pub(crate) fn add_words(structure: &mut Structure, options: &CompileOptions, scheduler: &dyn Scheduler) {
    structure.add_word(engine_word(options.engine(scheduler)));
    structure.add_word(options.threads as u64);
    structure.add_word(u64::from(options.reuse));
    structure.add_word(options.parallel_work.map_or(0, |work| work.saturating_add(1)));
    structure.add_word(scheduler.options_key());
    structure.add_text(scheduler.name());
    if scheduler.reads_data() {
        let words = statistics_words(&references(structure), scheduler);
        words.into_iter().for_each(|word| structure.add_word(word));
    }
}

fn compile_cached(
    lazies: &[LazyTensor],
    known: &Known,
    structure: &Structure,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    is_walked: bool,
) -> Result<Cached, Error> {
    let reason = reason(lazies, known, options, scheduler)?;
    let since = Instant::now();
    let (code, deferred) = if is_walked {
        let compiled = chain::compile(lazies, known, options, scheduler, &mut Silent)?;
        (Compiled::Chain(Box::new(compiled.chain)), compiled.deferred)
    } else {
        let compiled = compile(lazies, known, options, scheduler, &mut Silent)?;
        let mut program = compiled.program;
        program.forget_data();
        (Compiled::One(Box::new(Executable::new(program))), compiled.deferred)
    };
    let sizes = deferred.iter().enumerate().map(|(number, deferred)| {
        let deferred = deferred.as_ref();
        let at = deferred.and_then(|deferred| structure.symbols().iter().position(|known| known == deferred));
        at.ok_or_else(|| Error::UnboundSymbol { symbol: format!("size {number}") })
    });
    let sizes = sizes.collect::<Result<_, _>>()?;
    let facts = Facts {
        scheduler: scheduler.name().to_string(),
        reason,
        compile_time: since.elapsed(),
        hits: AtomicU64::new(0),
    };
    Ok(Cached { code, sizes, facts })
}

fn engine_word(engine: Engine) -> u64 {
    match engine {
        Engine::InterpretPlan => 0,
        Engine::InterpretKernel => 1,
        Engine::Compiled(Backend::Auto) => 2,
        Engine::Compiled(Backend::Cranelift) => 3,
        Engine::Compiled(Backend::C) => 4,
    }
}
