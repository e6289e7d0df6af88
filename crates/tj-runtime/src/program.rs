//! A compiled program: kernels in order, where their buffers are, and what must hold of sizes.
//!
//! Nothing here depends on a size. Binding a tuple of sizes gives a [`Bound`]: numbers for every kernel, offsets
//! in the arena, shapes of outputs. Tuples that were seen lately are remembered.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tj_ir::expr::Source;
use tj_ir::{Dim, DimError, Symbol};
use tj_kernel::verify::BoundGuard;
use tj_kernel::{Access, Binding, Lowered};
use tj_memory::{BufferId, Interval, Planner, Step, lifetimes, order_for_peak};
use tj_plan::{Engine, Fused, Plan, QueryId, Sizes};
use tj_tensor::DType;

use crate::bind::{Binder, Values, input_name};
use crate::code::Code;
use crate::error::Error;
use crate::in_place::shared_memory;
use crate::options::CompileOptions;
use crate::pool;

/// How many bound tuples of sizes are remembered.
const REMEMBERED: usize = 16;

/// Work, in additions, below which a kernel runs on one thread. In lanes an addition takes some 0.02 ns, so that this is
/// 60 microseconds, which is what waking the other threads is worth.
const PARALLEL_WORK: u64 = 3_000_000;

/// Pieces a worker, so that one which comes late does less. A library call packs its right factor anew for each piece:
/// it gets one.
const BALANCED: i64 = 4;

/// Executable memory comes in pages: code, constants and relocations have some each.
const PAGES: usize = 16 << 10;

/// A value of a kernel and its instructions, unrolled.
const BYTES_A_VALUE: usize = 100;

/// A node of a plan and its place in the table of nodes.
const BYTES_A_NODE: usize = 200;

/// Which inputs and outputs are complex to users. A program sees them as real tensors with one more axis at the end, for
/// the parts; the memory is the same.
#[derive(Debug)]
pub(crate) struct ComplexAxes {
    pub inputs: Vec<bool>,
    pub outputs: Vec<bool>,
}

impl ComplexAxes {
    /// None is.
    pub fn none(plan: &Plan) -> ComplexAxes {
        ComplexAxes { inputs: vec![false; plan.inputs.len()], outputs: vec![false; plan.produces.0.len()] }
    }
}

/// A program, compiled once for all sizes.
#[derive(Debug)]
pub(crate) struct Program {
    pub fused: Fused,
    pub complex: ComplexAxes,
    /// In the order in which they run.
    pub kernels: Vec<Lowered>,
    /// For each kernel, where each of its buffers is.
    pub slots: Vec<Vec<Slot>>,
    /// Inputs whose memory an output may take over, with that output.
    pub donations: Vec<(usize, usize)>,
    /// What could not be proven about accesses.
    pub bound_guards: Vec<BoundGuard>,
    pub code: Option<Code>,
    pub engine: Engine,
    pub binder: Binder,
    pub threads: usize,
    reuse: bool,
    /// Work below which a kernel runs on one thread.
    parallel_work: u64,
    /// Intervals of the arena: temporaries, then scratch memory.
    intervals: Vec<ArenaInterval>,
    planner: Planner,
    bound: Mutex<Vec<(Values, Arc<Bound>)>>,
}

/// Where a buffer of a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// An argument.
    Input(usize),
    /// An output.
    Output(usize),
    /// Memory of the arena that all workers share.
    Temporary(usize),
    /// Memory of the arena, one piece a worker.
    Scratch(usize),
}

/// Memory of the arena, by elements.
#[derive(Clone, Debug)]
pub(crate) struct ArenaInterval {
    pub name: String,
    pub first: u64,
    pub last: u64,
    pub width: u64,
    pub len: Dim,
    /// The kernel whose workers each have a piece.
    pub scratch_of: Option<usize>,
    /// The kernel without which nothing is there to hold.
    pub filled_by: Option<usize>,
}

/// A program with sizes.
#[derive(Debug)]
pub(crate) struct Bound {
    pub values: Values,
    pub kernels: Vec<BoundKernel>,
    /// Offset of each interval.
    pub offsets: Vec<u64>,
    /// Bytes of one worker's piece of each interval.
    pub pieces: Vec<u64>,
    pub output_shapes: Vec<Vec<usize>>,
    pub output_bytes: u64,
    pub input_bytes: u64,
    pub arena_bytes: u64,
    pub unreused_bytes: u64,
    pub bound_bytes: u64,
    /// Whether some kernel runs on several threads.
    pub parallel: bool,
}

/// A kernel with sizes.
#[derive(Debug)]
pub(crate) struct BoundKernel {
    pub sizes: Vec<i64>,
    pub extent: i64,
    /// Threads that share it.
    pub workers: usize,
    /// Tasks in one piece.
    pub chunk: i64,
}

impl BoundKernel {
    /// Pieces of its tasks.
    pub fn pieces(&self) -> i64 {
        (self.extent + self.chunk - 1) / self.chunk
    }
}

/// Groups of the plan in an order that keeps the peak of temporaries low.
pub(crate) fn schedule(fused: &Fused, kernels: Vec<Lowered>) -> Vec<Lowered> {
    let sizes = Sizes;
    let produced = fused.plan.produced();
    let n_queries = produced.len();
    let mut bytes = vec![0; 2 * n_queries];
    for lowered in &kernels {
        for (binding, buffer) in lowered.bindings.iter().zip(&lowered.kernel.buffers) {
            let is_output = matches!(binding, Binding::Query(q) if produced[q.index()]);
            if let Some(BufferId(id)) = shared(*binding, n_queries).filter(|_| !is_output) {
                bytes[id as usize] = sizes.count([&buffer.len]) as u64 * buffer.dtype.size() as u64;
            }
        }
    }
    let steps: Vec<Step> = kernels.iter().map(|kernel| step(kernel, n_queries)).collect();
    let order = order_for_peak(&steps, &bytes);
    let mut slots: Vec<Option<Lowered>> = kernels.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| slots[at].take()).collect()
}

/// What kernels share of the arena, or would if it were not an output: results of queries, then of their blocks.
fn shared(binding: Binding, n_queries: usize) -> Option<BufferId> {
    match binding {
        Binding::Query(q) => Some(BufferId(q.0)),
        Binding::Blocks(q) => Some(BufferId(n_queries as u32 + q.0)),
        Binding::Input(_) | Binding::Scratch => None,
    }
}

/// What a kernel touches of what kernels share.
fn step(lowered: &Lowered, n_queries: usize) -> Step {
    let mut step = Step::default();
    for (binding, buffer) in lowered.bindings.iter().zip(&lowered.kernel.buffers) {
        if let Some(id) = shared(*binding, n_queries) {
            match buffer.access {
                Access::Read | Access::InPlace(_) => step.reads.push(id),
                Access::Write | Access::Scratch => step.writes.push(id),
            }
        }
    }
    step
}

impl Program {
    pub fn new(
        fused: Fused,
        complex: ComplexAxes,
        kernels: Vec<Lowered>,
        bound_guards: Vec<BoundGuard>,
        code: Option<Code>,
        engine: Engine,
        options: &CompileOptions,
    ) -> Result<Program, Error> {
        let plan = &fused.plan;
        let mut outputs: FxHashMap<QueryId, usize> = FxHashMap::default();
        for (position, source) in plan.produces.0.iter().enumerate() {
            if let Source::Def(q) = source {
                outputs.entry(QueryId(*q)).or_insert(position);
            }
        }
        let n_queries = plan.queries.len();
        let steps: Vec<Step> = kernels.iter().map(|kernel| step(kernel, n_queries)).collect();
        let order: Vec<usize> = (0..steps.len()).collect();
        let lives = lifetimes(&order, &steps, 2 * n_queries);

        let mut intervals: Vec<ArenaInterval> = Vec::new();
        let mut temporaries: FxHashMap<BufferId, usize> = FxHashMap::default();
        let mut slots = Vec::with_capacity(kernels.len());
        for (number, lowered) in kernels.iter().enumerate() {
            let mut own = Vec::with_capacity(lowered.bindings.len());
            for (binding, buffer) in lowered.bindings.iter().zip(&lowered.kernel.buffers) {
                let output = |q: QueryId| outputs.get(&q).map(|&position| Slot::Output(position));
                let mut temporary = |name: String| {
                    let id = shared(*binding, n_queries).expect("queries and their blocks are shared");
                    let (first, last) = lives[id.0 as usize].unwrap_or((number as u64, number as u64));
                    Slot::Temporary(*temporaries.entry(id).or_insert_with(|| {
                        intervals.push(ArenaInterval {
                            name,
                            first,
                            last,
                            width: buffer.dtype.size() as u64,
                            len: buffer.len.clone(),
                            scratch_of: None,
                            filled_by: matches!(binding, Binding::Blocks(_)).then_some(number),
                        });
                        intervals.len() - 1
                    }))
                };
                own.push(match *binding {
                    Binding::Input(i) => Slot::Input(i as usize),
                    Binding::Query(q) => output(q).unwrap_or_else(|| temporary(q.to_string())),
                    Binding::Blocks(q) => temporary(format!("blocks of {q}")),
                    Binding::Scratch => {
                        intervals.push(ArenaInterval {
                            name: format!("{} of {}", buffer.name, lowered.kernel.name),
                            first: number as u64,
                            last: number as u64,
                            width: buffer.dtype.size() as u64,
                            len: buffer.len.clone(),
                            scratch_of: Some(number),
                            filled_by: Some(number),
                        });
                        Slot::Scratch(intervals.len() - 1)
                    }
                });
            }
            slots.push(own);
        }
        let workers = pool::threads(options.threads);
        let maxima: Vec<Interval> = intervals
            .iter()
            .map(|interval| {
                let elements = u64::try_from(interval.len.bounds().1).unwrap_or(u64::MAX);
                let copies = if interval.scratch_of.is_some() { workers as u64 } else { 1 };
                let bytes = elements.saturating_mul(interval.width).saturating_mul(copies);
                Interval::new(interval.first, interval.last, bytes)
            })
            .collect();
        let (in_place, donations) = shared_memory(&kernels, &slots);
        let planner = Planner::new(&maxima, &in_place).map_err(|e| internal("memory plan", &e))?;
        let binder = Binder::new(&plan.symbols, &plan.inputs, &complex.inputs);
        Ok(Program {
            fused,
            complex,
            kernels,
            slots,
            donations,
            bound_guards,
            code,
            engine,
            binder,
            threads: workers,
            reuse: options.reuse,
            parallel_work: options.parallel_work.unwrap_or(PARALLEL_WORK),
            intervals,
            planner,
            bound: Mutex::new(Vec::new()),
        })
    }

    /// Type and extents of an output, as users see it.
    pub fn output_type<'b>(&self, bound: &'b Bound, position: usize) -> (DType, &'b [usize]) {
        let dtype = self.fused.plan.dtype_of(self.fused.plan.produces.0[position]);
        let shape = &bound.output_shapes[position];
        match self.complex.outputs[position] {
            true => (dtype.complex(), &shape[..shape.len() - 1]),
            false => (dtype, shape),
        }
    }

    /// Where the user called what a kernel computes first.
    pub fn location(&self, lowered: &Lowered) -> Option<&'static Location<'static>> {
        let results = lowered.bindings.iter().zip(&lowered.kernel.buffers);
        let mut results = results.filter(|(_, buffer)| buffer.access == Access::Write);
        results.find_map(|(binding, _)| match binding {
            Binding::Query(q) => Some(self.fused.plan.query(*q).location),
            Binding::Input(_) | Binding::Blocks(_) | Binding::Scratch => None,
        })
    }

    /// What must hold of sizes, as text.
    pub fn guards(&self) -> Vec<String> {
        let proven_by_user = self.fused.plan.guards.iter().map(ToString::to_string);
        proven_by_user.chain(self.bound_guards.iter().map(ToString::to_string)).collect()
    }

    pub fn intervals(&self) -> &[ArenaInterval] {
        &self.intervals
    }

    /// Drops the data that the program was compiled with: each call brings its own.
    pub fn forget_data(&mut self) {
        self.fused.plan.inputs.iter_mut().for_each(|input| input.data = None);
    }

    /// What the program takes, roughly: pages of code, and what it knows of itself.
    pub fn estimated_bytes(&self) -> u64 {
        let values: usize = self.kernels.iter().map(|lowered| lowered.kernel.values.len()).sum();
        (PAGES + BYTES_A_VALUE * values + BYTES_A_NODE * self.fused.plan.arena.len()) as u64
    }

    /// The program with sizes: guards checked, memory planned and verified.
    pub fn bind(&self, values: Values, given: &[(&str, i64)]) -> Result<Arc<Bound>, Error> {
        let mut memo = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = memo.iter().position(|(known, _)| *known == values) {
            let found = memo[at].1.clone();
            if at + 1 != memo.len() {
                let entry = memo.remove(at);
                memo.push(entry);
            }
            return Ok(found);
        }
        drop(memo);
        let bound = Arc::new(self.bind_anew(values.clone(), given)?);
        memo = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if memo.len() >= REMEMBERED {
            memo.remove(0);
        }
        memo.push((values, bound.clone()));
        Ok(bound)
    }

    fn bind_anew(&self, values: Values, given: &[(&str, i64)]) -> Result<Bound, Error> {
        let plan = &self.fused.plan;
        self.binder.check(&plan.guards, &values, given)?;
        let value = |symbol: &Symbol| self.binder.value(symbol, &values);
        for guard in &self.bound_guards {
            if !guard.holds(&value).map_err(|cause| self.overflow(cause, &value))? {
                return Err(internal("bounds", guard));
            }
        }
        let bytes_of = |shape: &[Dim], width: usize| -> Result<(Vec<usize>, u64), DimError> {
            let mut extents = Vec::with_capacity(shape.len());
            for dim in shape {
                extents.push(usize::try_from(dim.eval(&value)?).unwrap_or(0));
            }
            Ok((extents.clone(), bytes(&extents, width)?))
        };
        let (mut input_bytes, mut output_bytes) = (0_u64, 0_u64);
        for (position, input) in plan.inputs.iter().enumerate() {
            let name = || format!("input {}", input_name(input, position));
            let needed = bytes_of(&input.shape, input.dtype.size()).map_err(too_large(name))?;
            input_bytes = input_bytes.saturating_add(needed.1);
        }
        let mut output_shapes = Vec::with_capacity(plan.produces.0.len());
        for (position, &source) in plan.produces.0.iter().enumerate() {
            let needed = bytes_of(plan.shape_of(source), plan.dtype_of(source).size());
            let (shape, bytes) = needed.map_err(too_large(|| format!("output {position}")))?;
            output_bytes = output_bytes.saturating_add(bytes);
            output_shapes.push(shape);
        }
        let mut kernels = Vec::with_capacity(self.kernels.len());
        for lowered in &self.kernels {
            let bound = self.bind_kernel(lowered, &value);
            kernels.push(bound.map_err(|cause| self.overflow(cause, &value))?);
        }
        let mut pieces = Vec::with_capacity(self.intervals.len());
        let mut sizes = Vec::with_capacity(self.intervals.len());
        for interval in &self.intervals {
            let is_filled = interval.filled_by.is_none_or(|kernel| kernels[kernel].extent > 0);
            let elements = if is_filled { interval.len.eval(&value)? } else { 0 };
            let elements = u64::try_from(elements).unwrap_or(0);
            let piece = elements.checked_mul(interval.width).ok_or_else(|| no_memory(&interval.len))?;
            let piece = piece.checked_next_multiple_of(64).ok_or_else(|| no_memory(&interval.len))?;
            let workers = interval.scratch_of.map_or(1, |kernel| kernels[kernel].workers as u64);
            sizes.push(piece.checked_mul(workers).ok_or_else(|| no_memory(&interval.len))?);
            pieces.push(piece);
        }
        let unreused = sizes.iter().fold(0_u64, |sum, &size| sum.saturating_add(size));
        let (offsets, arena_bytes, bound_bytes) = if self.reuse {
            let packed = self.planner.plan(&sizes).map_err(|e| internal("memory plan", &e))?;
            (packed.offsets.clone(), packed.peak, packed.bound)
        } else {
            let mut end = 0;
            let place = |size: &u64| {
                let offset = end;
                end += size;
                offset
            };
            let offsets = sizes.iter().map(place).collect();
            (offsets, unreused, unreused)
        };
        Ok(Bound {
            parallel: kernels.iter().any(|k: &BoundKernel| k.workers > 1),
            values,
            kernels,
            offsets,
            pieces,
            output_shapes,
            output_bytes,
            input_bytes,
            arena_bytes,
            unreused_bytes: unreused,
            bound_bytes,
        })
    }

    /// What a kernel cannot count, as a statement about a tensor: an empty one passes every check of its bytes, though
    /// the product of its other extents does not fit.
    fn overflow(&self, cause: DimError, value: &dyn Fn(&Symbol) -> Option<i64>) -> Error {
        let plan = &self.fused.plan;
        let huge = |shape: &[Dim]| {
            let extents: Vec<i64> = shape.iter().map(|dim| dim.eval(value).unwrap_or(i64::MAX)).collect();
            let product = extents.iter().filter(|&&n| n > 0).try_fold(1_i64, |all, &n| all.checked_mul(n));
            let expr = format!("the product of the sizes of {extents:?} other than 0");
            product.is_none().then_some(DimError::Overflow { expr })
        };
        let inputs = plan.inputs.iter().enumerate();
        let inputs = inputs.map(|(n, input)| (&input.shape, format!("input {}", input_name(input, n))));
        let queries = plan.queries.iter();
        let queries = queries.map(|query| (&query.shape, query.to_string()));
        let found = inputs.chain(queries).find_map(|(shape, tensor)| Some((huge(shape)?, tensor)));
        match found {
            Some((cause, tensor)) => Error::TooLarge { tensor, cause: Box::new(cause) },
            None => Error::Size(cause),
        }
    }

    fn bind_kernel(
        &self,
        lowered: &Lowered,
        value: &dyn Fn(&Symbol) -> Option<i64>,
    ) -> Result<BoundKernel, DimError> {
        let kernel = &lowered.kernel;
        let mut sizes = Vec::with_capacity(kernel.sizes.len());
        for dim in &kernel.sizes {
            sizes.push(dim.eval(value)?);
        }
        let runs = lowered.when.as_ref().map_or(Ok(true), |when| when.eval(value).map(|n| n > 0))?;
        // The other axes of an empty result may be so long that to do nothing for each takes for ever.
        let mut written = kernel.buffers.iter().filter(|buffer| buffer.access == Access::Write).peekable();
        let is_empty = written.peek().is_some() && written.all(|buffer| buffer.len.eval(value) == Ok(0));
        let extent = if runs && !is_empty { kernel.grid.extent.eval(value)?.max(0) } else { 0 };
        let work = i128::from(extent) * i128::from(kernel.grid.cost.eval(value).unwrap_or(i64::MAX));
        let multiple = kernel.grid.multiple.max(1);
        let most = (extent + multiple - 1) / multiple;
        let workers =
            if work < i128::from(self.parallel_work) { 1 } else { (self.threads as i64).min(most).max(1) };
        let pieces = match workers {
            1 => 1,
            _ if kernel.has_gemm() => workers,
            _ => BALANCED * workers,
        };
        let chunk = (extent + pieces - 1) / pieces;
        let chunk = ((chunk + multiple - 1) / multiple * multiple).max(1);
        Ok(BoundKernel { sizes, extent, workers: workers as usize, chunk })
    }
}

/// Bytes of a shape, checked.
pub(crate) fn bytes(extents: &[usize], width: usize) -> Result<u64, DimError> {
    if extents.contains(&0) {
        return Ok(0);
    }
    let whole = extents.iter().try_fold(width as u64, |n, &e| n.checked_mul(e as u64));
    whole.filter(|&n| n <= i64::MAX as u64).ok_or_else(|| {
        let count = extents.iter().fold(1_u128, |n, &e| n.saturating_mul(e as u128));
        DimError::Overflow { expr: format!("{count} elements of {width} bytes ({extents:?})") }
    })
}

/// An error that says which tensor is too large.
pub(crate) fn too_large(name: impl Fn() -> String) -> impl Fn(DimError) -> Error {
    move |cause| Error::TooLarge { tensor: name(), cause: Box::new(cause) }
}

fn no_memory(len: &Dim) -> Error {
    Error::Size(DimError::Overflow { expr: format!("bytes of {len} elements") })
}

pub(crate) fn internal(pass: &'static str, problem: &dyn std::fmt::Display) -> Error {
    Error::Internal { pass, problem: problem.to_string() }
}
