//! Compiled graphs: a program, its memory, and calls.

#[cfg(feature = "cranelift")]
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;
use tj_ir::{Known, LazyTensor};
use tj_plan::Backend;
use tj_tensor::{Buffer, DType, Tensor};

use crate::call::{Arguments, Call, order};
use crate::compile::{Canonical, canonical, compile_plan};
use crate::derive::derived_dense;
use crate::error::Error;
use crate::executable::Executable;
use crate::explanation::Explanation;
use crate::observe::{Clock, Observer, Silent};
use crate::options::{CompileOptions, MaxBytes};
use crate::program::{Program, internal};
use crate::report::{Cost, RunReport, Totals};
use crate::select::Taken;
use crate::view::OutputView;
use crate::walked::{Stores, Times, Walked};

/// A program compiled once for all sizes of its inputs.
///
/// Calls may run at the same time; each has an arena of its own. After an error the next call works.
///
/// Inputs may be stored by levels ([`LazyTensor::with_format`]); then what is compiled, once as well, are kernels that walk
/// what arguments store, and results may be stored by levels too.
///
/// ```
/// use tj_ir::{Dim, input};
/// use tj_runtime::{CompileOptions, CompiledGraph};
/// use tj_tensor::{DType, Tensor};
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// let n = Dim::new("N", 0..=4096)?;
/// let x = input("x", DType::F32, [n, 3.into()])?;
/// let graph = CompiledGraph::new(&[(&x * 2.0).sum(1)], CompileOptions::default())?;
/// for rows in [0, 1, 5] {
///     let x = Tensor::full([rows, 3], 1.5_f32)?;
///     let y = graph.call(&[("x", &x)])?;
///     assert_eq!(y[0].to_vec::<f32>()?, vec![9.0; rows]);
/// }
/// assert_eq!(graph.report().compilations, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// A sparse matrix times a vector, for all sizes and numbers of entries:
///
/// ```
/// use tj_ir::{Dim, input};
/// use tj_runtime::{CompileOptions, CompiledGraph};
/// use tj_tensor::{DType, Format, Tensor};
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// let n = Dim::new("N", ..)?;
/// let a = input("A", DType::F64, [n.clone(), n.clone()])?.with_format(&Format::csr());
/// let x = input("x", DType::F64, [n])?;
/// let graph = CompiledGraph::new(&[a.matmul(&x)], CompileOptions::default())?;
/// for n in [1, 3, 1000] {
///     let rows: Vec<i32> = (0..=n).collect();
///     let columns: Vec<i32> = (0..n).rev().collect();
///     let a = Tensor::csr([n as usize, n as usize], rows, columns, vec![2.0; n as usize])?;
///     let x = Tensor::arange(n as usize)?.cast(DType::F64)?;
///     let y = graph.call(&[("A", &a), ("x", &x)])?;
///     assert_eq!(y[0].get(&[0])?.to_f64(), 2.0 * f64::from(n - 1));
/// }
/// assert_eq!(graph.report().compilations, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CompiledGraph {
    code: Code,
    stores: Stores,
    max_bytes: MaxBytes,
    /// Positions of named inputs among all inputs of the program, in order of declaration.
    named: Vec<(String, usize)>,
}

/// What a graph runs.
#[derive(Debug)]
enum Code {
    /// One program, where every argument is dense.
    Dense(Box<Dense>),
    /// Programs in order, where kernels walk some argument.
    Walked(Box<Walked>),
}

/// One program and what all its calls have cost.
#[derive(Debug)]
struct Dense {
    executable: Executable,
    totals: Mutex<Totals>,
}

impl Dense {
    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, cost: Cost) {
        // What the last call held is dropped after the lock.
        let _before = self.totals().add(cost);
    }

    fn finish(
        &self,
        call: &Call<'_>,
        taken: SmallVec<[(usize, Buffer); 4]>,
    ) -> Result<(Vec<Tensor>, Cost), Error> {
        let numbers = &self.executable.program.fused.plan.numbers;
        let (outputs, cost) = self.executable.finish(call, numbers, taken)?;
        self.count(cost.clone());
        Ok((outputs, cost))
    }
}

impl CompiledGraph {
    /// Compiles the program that computes `outputs`.
    ///
    /// # Errors
    /// The first mistake in the program, a size that depends on values, an illegal decision of the scheduler, or a failing back
    /// end.
    pub fn new(outputs: &[LazyTensor], options: CompileOptions) -> Result<CompiledGraph, Error> {
        CompiledGraph::observed(outputs, options, &mut Silent)
    }

    /// As [`CompiledGraph::new`], showing every stage to an observer.
    ///
    /// # Errors
    /// As there.
    pub fn observed(
        outputs: &[LazyTensor],
        options: CompileOptions,
        observer: &mut dyn Observer,
    ) -> Result<CompiledGraph, Error> {
        let current = Taken::take();
        let scheduler = options.scheduler(&current);
        let mut clock = Clock::new(observer);
        let canonical = canonical(outputs, &Known::new(), &options, &mut clock)?;
        let named = canonical.plan.inputs.iter().enumerate();
        let named =
            named.filter_map(|(at, decl)| decl.name.as_deref().map(|name| (name.to_string(), at))).collect();
        let stores = Stores::new(&canonical, outputs);
        let code = match Walked::compile(&canonical, outputs, &options, &*scheduler, &mut clock)? {
            Some(walked) => Code::Walked(Box::new(walked)),
            None => {
                let Canonical { plan, complex, .. } = canonical;
                let plan = derived_dense(plan, &*scheduler, &mut clock)?;
                let program = compile_plan(plan, complex, &[], &options, &*scheduler, &mut clock)?;
                let executable = Executable::new(program);
                Code::Dense(Box::new(Dense { executable, totals: Mutex::default() }))
            }
        };
        Ok(CompiledGraph { code, stores, max_bytes: options.max_bytes, named })
    }

    /// As [`CompiledGraph::new`], with what became of the program. The arena is shown for sizes that a scheduler would
    /// guess; [`CompiledGraph::explain_run`] has those of a run.
    ///
    /// # Errors
    /// As there.
    pub fn explained(
        outputs: &[LazyTensor],
        options: CompileOptions,
    ) -> Result<(CompiledGraph, Explanation), Error> {
        let mut explanation = Explanation::default();
        let graph = CompiledGraph::observed(outputs, options, &mut explanation)?;
        match &graph.code {
            Code::Dense(dense) => explanation.add_program(&dense.executable.program),
            Code::Walked(walked) => explanation.add_chain(&walked.chain),
        }
        Ok((graph, explanation))
    }

    /// Adds what a run has measured to the explanation of the graph: times, and the arena for its sizes. `report` is
    /// that of [`CompiledGraph::call_timed`].
    pub fn explain_run(&self, explanation: &mut Explanation, report: &RunReport) {
        let Code::Dense(dense) = &self.code else { return explanation.add_run(report) };
        let program = &dense.executable.program;
        let values = program.binder.symbols().iter().map(|symbol| {
            let known = report.bindings.iter().find(|(name, _)| *name == symbol.to_string());
            known.map_or(0, |(_, value)| *value)
        });
        explanation.add_arena(program, values.collect());
        explanation.add_run(report);
    }

    /// Writes the program as an object file and a C header, for programs in other languages: `HEADER` declares
    /// `NAME_check`, `NAME_workspace` and `NAME_run`, where `NAME` is the stem of the object's file name. `outputs` are
    /// names for the first outputs.
    ///
    /// # Errors
    /// A name that C does not take, a program that calls functions of whole tensors or has inputs or results that are stored by
    /// levels, or files that cannot be written; then neither is.
    #[cfg(feature = "cranelift")]
    pub fn export_object(
        &self,
        object: impl AsRef<Path>,
        header: impl AsRef<Path>,
        outputs: &[&str],
    ) -> Result<(), Error> {
        let stored = self.stores.stored_input().or_else(|| self.stores.stored_result());
        let stored = stored.or_else(|| {
            matches!(self.code, Code::Walked(_)).then(|| "data of this one are stored by levels".to_string())
        });
        match (stored, &self.code) {
            (None, Code::Dense(dense)) => {
                let program = &dense.executable.program;
                crate::export::export(program, object.as_ref(), header.as_ref(), outputs)
            }
            (stored, _) => Err(Error::DenseOnly {
                function: "export_object",
                takes: "writes programs on dense arrays",
                found: stored.unwrap_or_default(),
            }),
        }
    }

    /// What a back end is given for this program, as text.
    pub fn code_text(&self, backend: Backend) -> String {
        let code = |executable: &Executable| crate::explain::code(&executable.program.kernels, backend);
        match &self.code {
            Code::Dense(dense) => code(&dense.executable),
            Code::Walked(walked) => walked.chain.executables().into_iter().map(code).collect(),
        }
    }

    /// Names of the inputs, in order of declaration.
    pub fn input_names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// Names of the sizes, in order of appearance.
    pub fn size_names(&self) -> impl Iterator<Item = String> {
        let binder = match &self.code {
            Code::Dense(dense) => &dense.executable.program.binder,
            Code::Walked(walked) => &walked.binder,
        };
        binder.symbols().iter().map(ToString::to_string)
    }

    /// Computes the outputs.
    ///
    /// # Errors
    /// Arguments that do not fit the declared inputs, guards that do not hold, more memory than allowed; a function of whole
    /// tensors that has no result for these values.
    pub fn call(&self, inputs: &[(&str, &Tensor)]) -> Result<Vec<Tensor>, Error> {
        Ok(self.execute(inputs, &[], Times::Ignored)?.0)
    }

    /// Computes the outputs, with values for sizes that no argument determines.
    ///
    /// # Errors
    /// As [`CompiledGraph::call`], and bindings that contradict the arguments.
    pub fn call_with_bindings(
        &self,
        bindings: &[(&str, i64)],
        inputs: &[(&str, &Tensor)],
    ) -> Result<Vec<Tensor>, Error> {
        Ok(self.execute(inputs, bindings, Times::Ignored)?.0)
    }

    /// Computes the outputs and says what it cost.
    ///
    /// # Errors
    /// As [`CompiledGraph::call`].
    pub fn call_reported(
        &self,
        bindings: &[(&str, i64)],
        inputs: &[(&str, &Tensor)],
    ) -> Result<(Vec<Tensor>, RunReport), Error> {
        let (outputs, spent) = self.execute(inputs, bindings, Times::Ignored)?;
        Ok((outputs, self.spent(spent)))
    }

    /// As [`CompiledGraph::call_reported`], with how long each kernel took.
    ///
    /// # Errors
    /// As [`CompiledGraph::call`].
    pub fn call_timed(
        &self,
        bindings: &[(&str, i64)],
        inputs: &[(&str, &Tensor)],
    ) -> Result<(Vec<Tensor>, RunReport), Error> {
        let (outputs, spent) = self.execute(inputs, bindings, Times::Measured)?;
        Ok((outputs, self.spent(spent)))
    }

    /// Computes the outputs from inputs that the caller gives away. Their memory is free as soon as the call ends,
    /// even if it fails; where that is safe, outputs are written to it. Where kernels walk what some input stores, only a selection
    /// by a sparse condition is: `where_(mask, new, x)` updates `x` where the mask has entries.
    ///
    /// ```
    /// # use tj_ir::{Dim, input};
    /// # use tj_runtime::{CompileOptions, CompiledGraph};
    /// # use tj_tensor::{DType, Tensor};
    /// let x = input("x", DType::F32, [Dim::new("N", ..)?])?;
    /// let graph = CompiledGraph::new(&[&x * 2.0], CompileOptions::default())?;
    /// let x = Tensor::full([1000], 1.5_f32)?;
    /// let memory = x.data_ptr();
    /// let y = graph.call_donating(vec![("x", x)])?;
    /// assert_eq!(y[0].to_vec::<f32>()?, vec![3.0; 1000]);
    /// assert_eq!(y[0].data_ptr(), memory);
    /// assert_eq!(graph.report().donated_inputs, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`CompiledGraph::call`].
    pub fn call_donating(&self, inputs: Vec<(&str, Tensor)>) -> Result<Vec<Tensor>, Error> {
        Ok(self.execute_donating(inputs, &[])?.0)
    }

    /// As [`CompiledGraph::call_donating`], with values for sizes that no argument determines, and says what it cost.
    ///
    /// # Errors
    /// As [`CompiledGraph::call_with_bindings`].
    pub fn call_donating_reported(
        &self,
        bindings: &[(&str, i64)],
        inputs: Vec<(&str, Tensor)>,
    ) -> Result<(Vec<Tensor>, RunReport), Error> {
        let (outputs, spent) = self.execute_donating(inputs, bindings)?;
        Ok((outputs, self.spent(spent)))
    }

    /// Writes the outputs to memory of the caller.
    ///
    /// # Errors
    /// As [`CompiledGraph::call`], views that do not have the dtype and shape of their output, and outputs that may be stored by
    /// levels. Nothing is written then, unless a function of whole tensors had no result: what the views hold then is
    /// undefined.
    pub fn call_into(
        &self,
        inputs: &[(&str, &Tensor)],
        outputs: &mut [OutputView<'_>],
    ) -> Result<RunReport, Error> {
        let stored = self.stores.stored_result();
        if let Some(found) = stored {
            return Err(dense_outputs(found));
        }
        let dense = match &self.code {
            Code::Dense(dense) => dense,
            Code::Walked(walked) => {
                if let Some(position) = walked.may_be_stored.iter().position(|&stored| stored) {
                    let found = format!("what output {position} stores follows from its arguments");
                    return Err(dense_outputs(found));
                }
                check_count(outputs, walked.may_be_stored.len())?;
                // Its programs have results of their own, which are copied.
                let (results, report) = self.call_reported(&[], inputs)?;
                for (position, (view, result)) in outputs.iter().zip(&results).enumerate() {
                    check_view(view, position, result.dtype(), result.shape())?;
                }
                for (view, result) in outputs.iter_mut().zip(&results) {
                    let result = result.to_contiguous()?;
                    view.bytes().copy_from_slice(result.as_bytes().unwrap_or(&[]));
                    view.finish();
                }
                return Ok(report);
            }
        };
        let program = &dense.executable.program;
        self.stores.converted(inputs, false, self.max_bytes)?;
        let call = self.prepare(program, inputs, &[], Arguments::Kept)?;
        check_count(outputs, call.bound.output_shapes.len())?;
        for (position, view) in outputs.iter().enumerate() {
            let (dtype, shape) = program.output_type(&call.bound, position);
            check_view(view, position, dtype, shape)?;
        }
        let views = outputs.iter_mut().map(OutputView::bytes).collect();
        let cost = dense.executable.run(&call, &program.fused.plan.numbers, views)?;
        outputs.iter_mut().for_each(OutputView::finish);
        let report = cost.report(program);
        dense.count(cost);
        Ok(report)
    }

    /// What all calls so far have cost.
    pub fn report(&self) -> RunReport {
        match &self.code {
            Code::Dense(dense) => dense.totals().report(&dense.executable.program),
            Code::Walked(walked) => walked.report(),
        }
    }

    /// The report of a call.
    fn spent(&self, spent: Spent) -> RunReport {
        match (spent, &self.code) {
            (Spent::Report(report), _) => *report,
            (Spent::Cost(cost, kernel_times), Code::Dense(dense)) => {
                RunReport { kernel_times, ..cost.report(&dense.executable.program) }
            }
            (Spent::Cost(..), Code::Walked(_)) => RunReport::default(),
        }
    }

    fn prepare<'t>(
        &'t self,
        program: &'t Program,
        inputs: &[(&str, &'t Tensor)],
        bindings: &[(&str, i64)],
        arguments: Arguments<'_>,
    ) -> Result<Call<'t>, Error> {
        let _current = Taken::take();
        Call::prepare(program, &self.named, self.max_bytes, inputs, bindings, arguments)
    }

    fn execute(
        &self,
        inputs: &[(&str, &Tensor)],
        bindings: &[(&str, i64)],
        times: Times,
    ) -> Result<(Vec<Tensor>, Spent), Error> {
        let dense = match &self.code {
            Code::Walked(walked) => {
                let inputs = inputs.iter().map(|(name, tensor)| (*name, (*tensor).clone())).collect();
                return self.walk(walked, inputs, bindings, times);
            }
            Code::Dense(dense) => dense,
        };
        self.stores.converted(inputs, false, self.max_bytes)?;
        let program = &dense.executable.program;
        let mut call = self.prepare(program, inputs, bindings, Arguments::Kept)?;
        if times == Times::Measured {
            call = call.timed(program);
        }
        let (outputs, cost) = dense.finish(&call, SmallVec::new())?;
        let spent = Spent::Cost(cost, call.kernel_times(program));
        Ok((self.stores.finished(outputs, self.max_bytes)?, spent))
    }

    fn walk(
        &self,
        walked: &Walked,
        mut inputs: Vec<(&str, Tensor)>,
        bindings: &[(&str, i64)],
        times: Times,
    ) -> Result<(Vec<Tensor>, Spent), Error> {
        let _current = Taken::take();
        for (at, tensor) in self.stores.converted(&borrowed(&inputs), true, self.max_bytes)? {
            inputs[at].1 = tensor;
        }
        let (outputs, report) = walked.call(&self.named, inputs, bindings, self.max_bytes, times)?;
        Ok((self.stores.finished(outputs, self.max_bytes)?, Spent::Report(Box::new(report))))
    }

    fn execute_donating(
        &self,
        mut inputs: Vec<(&str, Tensor)>,
        bindings: &[(&str, i64)],
    ) -> Result<(Vec<Tensor>, Spent), Error> {
        let dense = match &self.code {
            Code::Walked(walked) => return self.walk(walked, inputs, bindings, Times::Ignored),
            Code::Dense(dense) => dense,
        };
        self.stores.converted(&borrowed(&inputs), false, self.max_bytes)?;
        let executable = &dense.executable;
        if !executable.program.donations.is_empty() {
            // What an earlier call has made is also held here, for later calls.
            inputs.iter().for_each(|(_, tensor)| executable.pools.forget(tensor));
        }
        let call =
            self.prepare(&executable.program, &borrowed(&inputs), bindings, Arguments::Given(&|_| true))?;
        let call = call.with_inputs(SmallVec::new());
        let mut taken: SmallVec<[(usize, Buffer); 4]> = SmallVec::new();
        for &(input, output) in &call.donated {
            let is_this = |name: &str| self.named.iter().any(|(known, at)| *at == input && known == name);
            let given = inputs.iter_mut().find(|(name, _)| is_this(name));
            let tensor = given.map(|(_, tensor)| std::mem::replace(tensor, Tensor::scalar(false)));
            let buffer = tensor.and_then(|tensor| tensor.try_into_buffer().ok());
            taken.push((output, buffer.ok_or_else(|| internal("donation", &"an input that others hold"))?));
        }
        let Program { fused, binder, .. } = &executable.program;
        let call = call.with_inputs(order(&fused.plan.inputs, binder, &self.named, &borrowed(&inputs))?);
        let (outputs, cost) = dense.finish(&call, taken)?;
        Ok((self.stores.finished(outputs, self.max_bytes)?, Spent::Cost(cost, Vec::new())))
    }
}

/// What a call cost.
enum Spent {
    Report(Box<RunReport>),
    /// Of one program, with the times of its kernels if they were asked for.
    Cost(Cost, Vec<(String, Duration)>),
}

fn dense_outputs(found: String) -> Error {
    Error::DenseOnly { function: "call_into", takes: "writes to dense memory", found }
}

fn check_count(outputs: &[OutputView<'_>], expected: usize) -> Result<(), Error> {
    match outputs.len() {
        found if found == expected => Ok(()),
        found => Err(Error::OutputCount { found, expected }),
    }
}

fn check_view(view: &OutputView<'_>, position: usize, dtype: DType, shape: &[usize]) -> Result<(), Error> {
    if view.dtype == dtype && view.shape == shape {
        return Ok(());
    }
    let problem = format!("is {}{:?}, but the result is {dtype}{shape:?}", view.dtype, view.shape);
    Err(Error::Output { position, problem })
}

/// References to arguments.
fn borrowed<'a, 't>(inputs: &'t [(&'a str, Tensor)]) -> Vec<(&'a str, &'t Tensor)> {
    inputs.iter().map(|(name, tensor)| (*name, tensor)).collect()
}
