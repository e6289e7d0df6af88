//! From lazy tensors over arguments that are stored by levels to a chain of programs.

use tj_ir::expr::Source;
use tj_ir::{Known, LazyTensor, Symbol};
use tj_kernel::lower::sparse::room::room;
use tj_kernel::lower::sparse::{NestProgram, Phase, columns, lower_nest, tasks};
use tj_plan::derive::Rearranged;
use tj_plan::sparse::moves::{apart, has_moves};
use tj_plan::sparse::steps::{StepProgram, steps};
use tj_plan::sparse::stretches::Fold;
use tj_plan::sparse::{Nest, ResultKind, StoredInput};
use tj_plan::{Engine, Fused, Plan, Scheduler};
use tj_tensor::Scalar;

use super::adapt::Rest;
use super::{Chain, NestCode, Part, Step, StretchCode, Work, declared_input, stored_input};
use crate::compile::{Canonical, canonical, compile_plan, finish};
use crate::derive::{counted, derived};
use crate::error::Error;
use crate::executable::Executable;
use crate::explain;
use crate::observe::{Clock, Observer, Stage};
use crate::options::CompileOptions;
use crate::program::ComplexAxes;

/// A chain, and the deferred or counted symbol that each size of the program stands for.
pub(crate) struct Compiled {
    pub chain: Chain,
    pub deferred: Vec<Option<Symbol>>,
}

/// Compiles a chain once for all sizes and counts.
pub(crate) fn compile(
    outputs: &[LazyTensor],
    known: &Known,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    observer: &mut dyn Observer,
) -> Result<Compiled, Error> {
    let mut clock = Clock::new(observer);
    let mut canonical = canonical(outputs, known, options, &mut clock)?;
    let deferred = std::mem::take(&mut canonical.deferred);
    let inputs = stored_inputs(&canonical, scheduler);
    let Canonical { plan, owned, .. } = canonical;
    let fills = fills(outputs);
    let sparse = Sparse { inputs: &inputs, owned: &owned, fills: &fills };
    let chain = compile_canonical(plan, sparse, options, scheduler, &mut clock)?;
    Ok(Compiled { chain, deferred })
}

/// How each input of a program comes, if kernels walk it.
pub(crate) fn stored_inputs(canonical: &Canonical, scheduler: &dyn Scheduler) -> Vec<Option<StoredInput>> {
    let inputs = canonical.plan.inputs.iter().zip(&canonical.storage);
    let inputs = inputs.map(|(input, storage)| match &input.data {
        Some(data) => stored_input(data),
        None => declared_input(storage),
    });
    let inputs = inputs.collect();
    if scheduler.reads_data() { counted(&canonical.plan, inputs) } else { inputs }
}

/// How the arguments of a plan come, and what its results are to be.
#[derive(Clone, Copy)]
pub(crate) struct Sparse<'s> {
    /// How each argument is stored, if kernels walk it.
    pub inputs: &'s [Option<StoredInput>],
    /// Which arguments may be updated.
    pub owned: &'s [bool],
    /// The fill of each result; what has none is dense.
    pub fills: &'s [Option<Scalar>],
}

/// The fills of results. What is asked for dense is written so.
pub(crate) fn fills(outputs: &[LazyTensor]) -> Vec<Option<Scalar>> {
    let fill = |output: &LazyTensor| match output.format() {
        Some(format) if format.is_strided() => None,
        Some(_) | None => output.fill(),
    };
    outputs.iter().map(fill).collect()
}

/// Compiles a canonical plan.
pub(crate) fn compile_canonical(
    plan: Plan,
    sparse: Sparse<'_>,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    clock: &mut Clock<'_>,
) -> Result<Chain, Error> {
    let apart = rearranged(plan, sparse, scheduler, clock)?;
    compile_rearranged(apart, sparse, options, scheduler, clock)
}

/// A plan as it is cut into steps.
pub(super) struct Apart {
    pub rearranged: Rearranged,
    /// Whether what moves entries was taken out of other queries.
    is_apart: bool,
}

/// Decides how a canonical plan is computed.
pub(super) fn rearranged(
    plan: Plan,
    sparse: Sparse<'_>,
    scheduler: &dyn Scheduler,
    clock: &mut Clock<'_>,
) -> Result<Apart, Error> {
    let Sparse { inputs: given, owned, fills } = sparse;
    let queries = plan.queries.len();
    let plan = apart(plan, given, fills, owned);
    let is_apart = plan.queries.len() != queries;
    // What moves entries is not rearranged.
    let rearranged = match has_moves(&plan) {
        true => Rearranged::as_written(plan, given),
        false => derived(plan, given, scheduler, clock)?,
    };
    Ok(Apart { rearranged, is_apart })
}

/// Cuts a plan into steps and compiles them.
pub(super) fn compile_rearranged(
    apart: Apart,
    sparse: Sparse<'_>,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    clock: &mut Clock<'_>,
) -> Result<Chain, Error> {
    let engine = options.engine(scheduler);
    let Sparse { inputs: given, owned, fills } = sparse;
    let Apart { rearranged: Rearranged { mut plan, decided, inputs, .. }, is_apart } = apart;
    let is_dense = |&at: &usize| given[at].is_some() && inputs[at].is_none();
    let dense = (0..inputs.len()).filter(is_dense).map(|at| at as u32).collect();
    let mut guards = std::mem::take(&mut plan.guards);
    let found = steps(&plan, &inputs, fills, owned, &decided);
    clock.done(Stage::Fuse, &|| match is_apart {
        false => explain::steps(&found),
        // Steps name the queries of this plan.
        true => format!("with moves apart:\n{}{}", explain::plan(&plan), explain::steps(&found)),
    });
    let rest = Rest::of(&plan, &found, fills, owned);
    let mut compiled = Vec::with_capacity(found.len());
    let mut unchecked = Vec::new();
    for step in found {
        // What must hold of sizes is checked by the first program that runs, if one runs before entries are moved.
        let is_moved = matches!(step.program, StepProgram::Moved(_));
        if is_moved {
            unchecked.append(&mut guards);
        }
        let guards = std::mem::take(&mut guards);
        let work = match step.program {
            StepProgram::Moved(moved) => Work::Moved(moved),
            StepProgram::Dense(plan) => {
                let plan = Plan { guards, ..*plan };
                let complex = ComplexAxes::none(&plan);
                let mut program = compile_plan(plan, complex, &[], options, scheduler, clock)?;
                program.forget_data();
                Work::Dense(Box::new(Executable::new(program)))
            }
            StepProgram::Stretches(stretched) => {
                let plan = Plan { guards, ..stretched.plan };
                let from = plan.inputs.iter().take(step.from.len());
                let is_cut = from.map(|input| !input.shape.is_empty()).collect();
                let complex = ComplexAxes::none(&plan);
                let mut program = compile_plan(plan, complex, &[], options, scheduler, clock)?;
                program.forget_data();
                let executable = Executable::new(program);
                let fold = match stretched.fold {
                    Some(Fold { nest, start }) => {
                        Some((compile_nest(&nest, Vec::new(), options, engine, clock)?, start))
                    }
                    None => None,
                };
                Work::Stretches(Box::new(StretchCode { executable, is_cut, fill: stretched.fill, fold }))
            }
            StepProgram::Nest(nest) => {
                Work::Nest(Box::new(compile_nest(&nest, guards, options, engine, clock)?))
            }
        };
        let gives = step.gives.into_iter().map(|id| Source::Def(id.0)).collect();
        compiled.push(Step { from: step.from, gives, work, last_of: Vec::new() });
    }
    let produces = plan.produces.0.clone();
    let mut needed = produces.clone();
    for step in compiled.iter_mut().rev() {
        for source in &step.from {
            if !needed.contains(source) {
                needed.push(*source);
                step.last_of.push(*source);
            }
        }
    }
    unchecked.append(&mut guards);
    Ok(Chain { steps: compiled, symbols: plan.symbols, guards: unchecked, produces, dense, rest })
}

fn compile_nest(
    nest: &Nest,
    guards: Vec<tj_ir::Guard>,
    options: &CompileOptions,
    engine: Engine,
    clock: &mut Clock<'_>,
) -> Result<NestCode, Error> {
    let (phase, room) = match nest.result {
        ResultKind::Dense => (Phase::Dense, None),
        ResultKind::AsArgument(_) => (Phase::Values, None),
        ResultKind::Stored | ResultKind::Updated(_) => (Phase::Fill, room(nest)),
    };
    let mut guards = guards;
    let count = match (phase, &room) {
        (Phase::Fill, None) => {
            let guards = std::mem::take(&mut guards);
            Some(part(lower_nest(nest, Phase::Count), guards, options, engine, clock)?)
        }
        (Phase::Dense | Phase::Count | Phase::Fill | Phase::Values, _) => None,
    };
    let main = part(lower_nest(nest, phase), guards, options, engine, clock)?;
    Ok(NestCode {
        arguments: nest.arguments.clone(),
        result: nest.result,
        fill: nest.fill,
        tasks: tasks(nest),
        columns: columns(nest),
        shape: nest.plan.queries[0].shape.to_vec(),
        room,
        count,
        main,
    })
}

fn part(
    program: NestProgram,
    guards: Vec<tj_ir::Guard>,
    options: &CompileOptions,
    engine: Engine,
    clock: &mut Clock<'_>,
) -> Result<Part, Error> {
    let NestProgram { plan, inputs, counts, kernels, .. } = program;
    let plan = Plan { guards, ..plan };
    let (complex, origins) = (ComplexAxes::none(&plan), plan.query_ids().collect());
    let fused = Fused { plan, groups: Vec::new(), origins, reasons: Vec::new() };
    let mut program = finish(fused, complex, kernels, options, engine, clock)?;
    program.forget_data();
    Ok(Part { executable: Executable::new(program), inputs, counts })
}
