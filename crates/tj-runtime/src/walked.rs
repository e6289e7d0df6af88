//! A chain with named arguments: what a compiled graph is whose inputs, or data, are stored by levels.
//!
//! The chain is compiled once for the formats that are declared, before there are arguments. A call brings each argument
//! into its declared format, which a tensor remembers, binds the sizes, checks what must hold of them, and runs the programs
//! of the chain one after the other, each with an arena of its own. The budget holds for each of them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use tj_ir::{Guard, InputDecl, LazyTensor, Storage};
use tj_plan::{Engine, Scheduler};
use tj_tensor::{Format, Scalar, Tensor};

use crate::bind::{Binder, input_name};
use crate::budget;
use crate::call::order;
use crate::chain::{self, Chain, Terms, converted_bytes, declared_width};
use crate::compile::Canonical;
use crate::error::Error;
use crate::observe::Clock;
use crate::options::{CompileOptions, MaxBytes};
use crate::program::ComplexAxes;
use crate::report::RunReport;

/// A chain, what it takes and what all calls have cost.
#[derive(Debug)]
pub(crate) struct Walked {
    pub chain: Chain,
    pub binder: Binder,
    /// Whether each result may be stored by levels.
    pub may_be_stored: Vec<bool>,
    inputs: Vec<InputDecl>,
    guards: Vec<Guard>,
    numbers: Vec<Scalar>,
    total: Mutex<RunReport>,
}

/// Whether a call says how long each kernel took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Ignored,
    Measured,
}

impl Walked {
    /// Compiles a program as a chain, if kernels walk one of its inputs.
    pub fn compile(
        canonical: &Canonical,
        outputs: &[LazyTensor],
        options: &CompileOptions,
        scheduler: &dyn Scheduler,
        clock: &mut Clock<'_>,
    ) -> Result<Option<Walked>, Error> {
        let ComplexAxes { inputs, outputs: results } = &canonical.complex;
        // As for lazy arrays: pairs of numbers and the interpreter of plans are dense.
        let is_dense =
            inputs.iter().chain(results).any(|&c| c) || options.engine(scheduler) == Engine::InterpretPlan;
        let walked = chain::stored_inputs(canonical, scheduler);
        if is_dense || walked.iter().all(Option::is_none) {
            return Ok(None);
        }
        let plan = &canonical.plan;
        // A call may give them away.
        let named: Vec<bool> = plan.inputs.iter().map(|input| input.name.is_some()).collect();
        let fills = chain::fills(outputs);
        let sparse = chain::Sparse { inputs: &walked, owned: &named, fills: &fills };
        let chain = chain::compile_canonical(plan.clone(), sparse, options, scheduler, clock)?;
        Ok(Some(Walked {
            may_be_stored: chain.may_be_stored(&walked),
            binder: Binder::new(&plan.symbols, &plan.inputs, inputs),
            inputs: plan.inputs.clone(),
            guards: plan.guards.clone(),
            numbers: plan.numbers.clone(),
            total: Mutex::default(),
            chain,
        }))
    }

    /// Runs the chain on arguments in their declared formats. An argument that nobody else holds may be written to.
    pub fn call(
        &self,
        named: &[(String, usize)],
        given: Vec<(&str, Tensor)>,
        bindings: &[(&str, i64)],
        max: MaxBytes,
        times: Times,
    ) -> Result<(Vec<Tensor>, RunReport), Error> {
        let borrowed: Vec<(&str, &Tensor)> = given.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let inputs: SmallVec<[&Tensor; 8]> = order(&self.inputs, &self.binder, named, &borrowed)?;
        let values = self.binder.bind(&inputs, bindings)?;
        self.binder.check(&self.guards, &values, bindings)?;
        let mut inputs: Vec<Tensor> = inputs.into_iter().cloned().collect();
        for (name, tensor) in given {
            if let Some((_, at)) = named.iter().find(|(known, _)| known == name) {
                inputs[*at] = tensor;
            }
        }
        let terms = Terms { sizes: &values, numbers: &self.numbers, max, times, decider: None };
        let (results, ledger) = chain::run(&self.chain, inputs, terms)?;
        let report = ledger.report(&self.chain.executables());
        let symbols = self.binder.symbols().iter().zip(&values);
        let bindings = symbols.map(|(symbol, &value)| (symbol.to_string(), value)).collect();
        let report = RunReport { bindings, calls: 1, compilations: 1, ..report };
        let mut total = self.total();
        *total =
            std::mem::take(&mut *total).and_call(RunReport { kernel_times: Vec::new(), ..report.clone() });
        Ok((results, report))
    }

    /// What all calls so far have cost.
    pub fn report(&self) -> RunReport {
        RunReport { compilations: 1, ..self.total().clone() }
    }

    fn total(&self) -> MutexGuard<'_, RunReport> {
        self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a graph was told of its inputs and results, beyond types and sizes.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    /// How each input is stored, by position; empty if nothing is said of any.
    inputs: Vec<(String, Storage)>,
    /// The fill and the format of each result; empty if none has any.
    results: Vec<(Option<Scalar>, Option<Format>)>,
}

impl Stores {
    pub fn new(canonical: &Canonical, outputs: &[LazyTensor]) -> Stores {
        let inputs = canonical.plan.inputs.iter().zip(&canonical.storage).enumerate();
        let inputs = inputs.map(|(at, (decl, storage))| (input_name(decl, at), storage.clone()));
        let results = outputs.iter().map(|output| (output.fill(), output.format().cloned()));
        let (inputs, results) = (Vec::from_iter(inputs), Vec::from_iter(results));
        let is_plain = |storage: &Storage| storage.fill.is_none() && storage.format.is_none();
        Stores {
            inputs: if inputs.iter().all(|(_, storage)| is_plain(storage)) { Vec::new() } else { inputs },
            results: if results.iter().all(|result| *result == (None, None)) { Vec::new() } else { results },
        }
    }

    /// The first input that is declared with a format.
    pub fn stored_input(&self) -> Option<String> {
        let stored = |(name, storage): &(String, Storage)| {
            storage.format.as_deref().map(|format| format!("input {name} is stored as {format}"))
        };
        self.inputs.iter().find_map(stored)
    }

    /// The first result that is asked for by levels.
    pub fn stored_result(&self) -> Option<String> {
        let stored = |(at, (_, format)): (usize, &(_, Option<Format>))| {
            let format = format.as_ref().filter(|format| !format.is_strided())?;
            Some(format!("output {at} is stored as {format}"))
        };
        self.results.iter().enumerate().find_map(stored)
    }

    /// The arguments whose fill or format is not what is declared, as it is: by their place among what is given. If
    /// `walked`, they are brought into their format; else programs make them dense.
    pub fn converted(
        &self,
        given: &[(&str, &Tensor)],
        walked: bool,
        max: MaxBytes,
    ) -> Result<Vec<(usize, Tensor)>, Error> {
        let mut converted = Vec::new();
        for (at, &(name, tensor)) in given.iter().enumerate() {
            let Some((_, storage)) = self.inputs.iter().find(|(known, _)| known == name) else { continue };
            let Some(fill) = storage.fill else { continue };
            match tensor.fill() {
                // Of a tensor of another dtype the binder says so.
                _ if tensor.dtype() != fill.dtype() => continue,
                Some(found) if found != fill => {
                    return Err(Error::Fill { name: name.to_string(), found, expected: fill });
                }
                Some(_) | None => {}
            }
            let Some(format) = storage.format.as_deref().filter(|_| walked) else { continue };
            // Of another rank, too.
            if tensor.rank() != format.rank() {
                continue;
            }
            let width = declared_width(format);
            if let Some(axis) = tensor.shape().iter().position(|&extent| extent > width.max()) {
                let (name, extent) = (name.to_string(), tensor.shape()[axis]);
                return Err(Error::Width { name, axis, extent, width, format: format.to_string() });
            }
            if tensor.stored().is_some_and(|stored| format.admits(stored.format())) {
                continue;
            }
            let filled = tensor.clone().with_fill(Some(fill))?;
            let entries = if filled.stored().is_some() { filled.stored_count() } else { filled.nnz()? };
            budget::check(max, converted_bytes(&filled, entries, format))?;
            converted.push((at, filled.in_format(format)?));
        }
        Ok(converted)
    }

    /// Results with their fills, in the formats that were asked for.
    pub fn finished(&self, results: Vec<Tensor>, max: MaxBytes) -> Result<Vec<Tensor>, Error> {
        if self.results.is_empty() {
            return Ok(results);
        }
        let wanted = self.results.iter().map(|(fill, format)| (*fill, format.as_ref()));
        finished(results, wanted, max)
    }
}

/// Results with the fills of their expressions, in the formats that were asked for.
pub(crate) fn finished<'f>(
    results: Vec<Tensor>,
    wanted: impl Iterator<Item = (Option<Scalar>, Option<&'f Format>)>,
    max: MaxBytes,
) -> Result<Vec<Tensor>, Error> {
    let finish = |(result, (fill, format)): (Tensor, (Option<Scalar>, Option<&Format>))| {
        if result.stored().is_some() && result.fill() != fill {
            // Then it is spread.
            budget::check(max, result.count()?.saturating_mul(result.dtype().size()) as u64)?;
        }
        let result = result.with_fill(fill)?;
        let Some(format) = format else { return Ok(result) };
        if result.stored().is_some_and(|stored| format.admits(stored.format())) {
            return Ok(result);
        }
        let is_stored = result.stored().is_some();
        let needed = match format.is_strided() {
            true if !is_stored => 0,
            true => result.count()?.saturating_mul(result.dtype().size()) as u64,
            false => {
                let entries = if is_stored { result.stored_count() } else { result.nnz()? };
                converted_bytes(&result, entries, format)
            }
        };
        budget::check(max, needed)?;
        Ok(result.with_format(format)?)
    };
    results.into_iter().zip(wanted).map(finish).collect()
}
