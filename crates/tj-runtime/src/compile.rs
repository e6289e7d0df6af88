//! The pipeline, on one screen.
//!
//! ```text
//! LazyTensor --trace--> Plan --canonicalise--> Plan --group, fuse--> Fused --lower, verify--> kernels --> code
//! ```
//!
//! A scheduler decides and never transforms; each stage is shown to the observer.

use tj_ir::trace::trace_stage;
use tj_ir::{Dim, DimError, Known, LazyTensor, Storage, Symbol};
use tj_kernel::verify::{BoundGuard, verify};
use tj_kernel::{Lowered, lower};
use tj_plan::sparse::space::without_outcomes;
use tj_plan::{
    Engine, Form, Fused, Plan, Scheduler, Sizes, canonicalise, debug_verify, debug_verify_fused, fuse,
};
use tj_tensor::DType;

use crate::bind::input_name;
use crate::code::Code;
use crate::derive::derived_dense;
use crate::error::Error;
use crate::explain;
use crate::in_place::share_memory;
use crate::observe::{Clock, Observer, Stage};
use crate::options::CompileOptions;
use crate::program::{ComplexAxes, Program, bytes, internal, schedule, too_large};

/// A program, and the deferred or counted symbol that each of its sizes stands for.
pub(crate) struct Compiled {
    pub program: Program,
    pub deferred: Vec<Option<Symbol>>,
}

/// Compiles a program once for all sizes. What is `known` are inputs.
pub(crate) fn compile(
    outputs: &[LazyTensor],
    known: &Known,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    observer: &mut dyn Observer,
) -> Result<Compiled, Error> {
    let mut clock = Clock::new(observer);
    let Canonical { plan, complex, owned, deferred, .. } = canonical(outputs, known, options, &mut clock)?;
    let plan = derived_dense(plan, scheduler, &mut clock)?;
    let program = compile_plan(plan, complex, &owned, options, scheduler, &mut clock)?;
    Ok(Compiled { program, deferred })
}

/// A program as a canonical plan.
pub(crate) struct Canonical {
    pub plan: Plan,
    pub complex: ComplexAxes,
    /// How each input is stored.
    pub storage: Vec<Storage>,
    /// Which inputs the program is given for good.
    pub owned: Vec<bool>,
    pub deferred: Vec<Option<Symbol>>,
}

/// Traces a program and brings it into canonical form.
pub(crate) fn canonical(
    outputs: &[LazyTensor],
    known: &Known,
    options: &CompileOptions,
    clock: &mut Clock<'_>,
) -> Result<Canonical, Error> {
    let mut traced = trace_stage(&options.inputs, outputs, known)?;
    let deferred = std::mem::take(&mut traced.deferred);
    let storage = std::mem::take(&mut traced.storage);
    let owned = std::mem::take(&mut traced.owned);
    let complex = ComplexAxes {
        inputs: std::mem::take(&mut traced.complex_inputs),
        outputs: std::mem::take(&mut traced.complex_outputs),
    };
    let traced = Plan::from_trace(traced);
    debug_verify("trace", &traced, Form::Traced);
    clock.done(Stage::Trace, &|| explain::plan(&traced));

    let plan = canonicalise(&traced);
    debug_verify("canonicalise", &plan, Form::Canonical);
    clock.done(Stage::Plan, &|| explain::plan(&plan));
    Ok(Canonical { plan, complex, storage, owned, deferred })
}

/// Compiles a canonical plan. Besides named inputs those that are `owned` may be given away by a call.
pub(crate) fn compile_plan(
    plan: Plan,
    complex: ComplexAxes,
    owned: &[bool],
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    clock: &mut Clock<'_>,
) -> Result<Program, Error> {
    let engine = options.engine(scheduler);
    let plan = without_outcomes(plan);
    let grouping = scheduler.group(&plan, &Sizes);
    let fused = fuse(&plan, &grouping)
        .map_err(|cause| Error::Scheduler { scheduler: scheduler.name().to_string(), cause })?;
    debug_verify_fused("fuse", &fused);
    check_counts(&fused.plan)?;
    clock.done(Stage::Fuse, &|| explain::fused(&fused));

    let mut kernels = match engine {
        Engine::InterpretPlan => Vec::new(),
        Engine::Compiled(_) | Engine::InterpretKernel => schedule(&fused, lower(&fused)),
    };
    if options.reuse {
        share_memory(&mut kernels, &fused.plan, owned);
    }
    finish(fused, complex, kernels, options, engine, clock)
}

/// From kernels to a program: proofs, code, memory.
pub(crate) fn finish(
    fused: Fused,
    complex: ComplexAxes,
    kernels: Vec<Lowered>,
    options: &CompileOptions,
    engine: Engine,
    clock: &mut Clock<'_>,
) -> Result<Program, Error> {
    let guards = verify_all(&kernels)?;
    clock.done(Stage::Kernel, &|| explain::kernels(&kernels));

    let code = match engine {
        Engine::Compiled(backend) => Some(Code::compile(&kernels, backend)?),
        Engine::InterpretKernel | Engine::InterpretPlan => None,
    };
    clock.done(Stage::Code, &|| match engine {
        Engine::Compiled(backend) => explain::code(&kernels, backend),
        Engine::InterpretKernel | Engine::InterpretPlan => String::new(),
    });

    let program = Program::new(fused, complex, kernels, guards, code, engine, options)?;
    clock.done(Stage::Memory, &|| explain::memory(&program));
    Ok(program)
}

/// Refuses tensors whose number of elements overflows whatever the sizes are; the others are checked at bind.
fn check_counts(plan: &Plan) -> Result<(), Error> {
    for (position, input) in plan.inputs.iter().enumerate() {
        let name = || format!("input {}", input_name(input, position));
        check_count(&input.shape, input.dtype).map_err(too_large(name))?;
    }
    for query in &plan.queries {
        let name = || query.to_string();
        check_count(&query.shape, query.dtype).map_err(too_large(name))?;
    }
    Ok(())
}

fn check_count(shape: &[Dim], dtype: DType) -> Result<(), DimError> {
    let known: Option<Vec<usize>> =
        shape.iter().map(|dim| dim.is_const().and_then(|c| usize::try_from(c).ok())).collect();
    if let Some(extents) = known {
        bytes(&extents, dtype.size())?;
    }
    Dim::count(shape).map(|_| ())
}

/// Proves every access of every kernel, or says which sizes must be checked at bind.
fn verify_all(kernels: &[Lowered]) -> Result<Vec<BoundGuard>, Error> {
    let mut guards: Vec<BoundGuard> = Vec::new();
    for lowered in kernels {
        let found = verify(&lowered.kernel).map_err(|findings| {
            let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
            internal("verify", &format!("{}\n{}", all.join("; "), lowered.kernel))
        })?;
        guards.extend(found);
    }
    Ok(guards)
}
