//! Compiled graphs: a program, its memory, and calls.

#[cfg(feature = "cranelift")]
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use tj_ir::{Known, LazyTensor};
use tj_plan::Backend;
use tj_tensor::{Buffer, Tensor};

use crate::call::{Arguments, Call, order};
use crate::compile::compile;
use crate::error::Error;
use crate::executable::Executable;
use crate::explanation::Explanation;
use crate::observe::{Observer, Silent};
use crate::options::{CompileOptions, MaxBytes};
use crate::program::internal;
use crate::report::{Cost, RunReport, Totals};
use crate::select::Taken;
use crate::view::OutputView;

/// A program compiled once for all sizes of its inputs.
///
/// Calls may run at the same time; each has an arena of its own. After an error the next call works.
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
#[derive(Debug)]
pub struct CompiledGraph {
    executable: Executable,
    max_bytes: MaxBytes,
    /// Positions of named inputs among all inputs of the program, in order of declaration.
    named: Vec<(String, usize)>,
    totals: Mutex<Totals>,
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
        let program = compile(outputs, &Known::new(), &options, &*scheduler, observer)?.program;
        let plan = &program.fused.plan;
        let named = plan.inputs.iter().enumerate();
        let named =
            named.filter_map(|(at, decl)| decl.name.as_deref().map(|name| (name.to_string(), at))).collect();
        Ok(CompiledGraph {
            executable: Executable::new(program),
            max_bytes: options.max_bytes,
            named,
            totals: Mutex::default(),
        })
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
        explanation.add_program(&graph.executable.program);
        Ok((graph, explanation))
    }

    /// Adds what a run has measured to the explanation of the graph: times, and the arena for its sizes. `report` is
    /// that of [`CompiledGraph::call_timed`].
    pub fn explain_run(&self, explanation: &mut Explanation, report: &RunReport) {
        let program = &self.executable.program;
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
    /// A name that C does not take, a program that calls functions of whole tensors, or files that cannot be written; then
    /// neither is.
    #[cfg(feature = "cranelift")]
    pub fn export_object(
        &self,
        object: impl AsRef<Path>,
        header: impl AsRef<Path>,
        outputs: &[&str],
    ) -> Result<(), Error> {
        crate::export::export(&self.executable.program, object.as_ref(), header.as_ref(), outputs)
    }

    /// What a back end is given for this program, as text.
    pub fn code_text(&self, backend: Backend) -> String {
        crate::explain::code(&self.executable.program.kernels, backend)
    }

    /// Names of the inputs, in order of declaration.
    pub fn input_names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// Names of the sizes, in order of appearance.
    pub fn size_names(&self) -> impl Iterator<Item = String> {
        self.executable.program.binder.symbols().iter().map(ToString::to_string)
    }

    /// Computes the outputs.
    ///
    /// # Errors
    /// Arguments that do not fit the declared inputs, guards that do not hold, more memory than allowed; a function of whole
    /// tensors that has no result for these values.
    pub fn call(&self, inputs: &[(&str, &Tensor)]) -> Result<Vec<Tensor>, Error> {
        Ok(self.execute(inputs, &[])?.0)
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
        Ok(self.execute(inputs, bindings)?.0)
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
        let (outputs, cost) = self.execute(inputs, bindings)?;
        Ok((outputs, cost.report(&self.executable.program)))
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
        let program = &self.executable.program;
        let call = self.prepare(inputs, bindings, Arguments::Kept)?.timed(program);
        let (outputs, cost) = self.finish(&call, SmallVec::new())?;
        Ok((outputs, RunReport { kernel_times: call.kernel_times(program), ..cost.report(program) }))
    }

    /// Computes the outputs from inputs that the caller gives away. Their memory is free as soon as the call ends,
    /// even if it fails; where that is safe, outputs are written to it.
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
        let (outputs, cost) = self.execute_donating(inputs, bindings)?;
        Ok((outputs, cost.report(&self.executable.program)))
    }

    /// Writes the outputs to memory of the caller.
    ///
    /// # Errors
    /// As [`CompiledGraph::call`], and views that do not have the dtype and shape of their output. Nothing is
    /// written then, unless a function of whole tensors had no result: what the views hold then is undefined.
    pub fn call_into(
        &self,
        inputs: &[(&str, &Tensor)],
        outputs: &mut [OutputView<'_>],
    ) -> Result<RunReport, Error> {
        let call = self.prepare(inputs, &[], Arguments::Kept)?;
        if outputs.len() != call.bound.output_shapes.len() {
            return Err(Error::OutputCount {
                found: outputs.len(),
                expected: call.bound.output_shapes.len(),
            });
        }
        let program = &self.executable.program;
        for (position, view) in outputs.iter().enumerate() {
            let (dtype, shape) = program.output_type(&call.bound, position);
            if view.dtype != dtype || view.shape != shape {
                let problem =
                    format!("is {}{:?}, but the result is {dtype}{shape:?}", view.dtype, view.shape);
                return Err(Error::Output { position, problem });
            }
        }
        let views = outputs.iter_mut().map(OutputView::bytes).collect();
        let cost = self.executable.run(&call, &program.fused.plan.numbers, views)?;
        outputs.iter_mut().for_each(OutputView::finish);
        let report = cost.report(&self.executable.program);
        self.count(cost);
        Ok(report)
    }

    /// What all calls so far have cost.
    pub fn report(&self) -> RunReport {
        self.totals().report(&self.executable.program)
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, cost: Cost) {
        // What the last call held is dropped after the lock.
        let _before = self.totals().add(cost);
    }

    fn prepare<'t>(
        &'t self,
        inputs: &[(&str, &'t Tensor)],
        bindings: &[(&str, i64)],
        arguments: Arguments,
    ) -> Result<Call<'t>, Error> {
        let _current = Taken::take();
        Call::prepare(&self.executable.program, &self.named, self.max_bytes, inputs, bindings, arguments)
    }

    fn execute(
        &self,
        inputs: &[(&str, &Tensor)],
        bindings: &[(&str, i64)],
    ) -> Result<(Vec<Tensor>, Cost), Error> {
        let call = self.prepare(inputs, bindings, Arguments::Kept)?;
        self.finish(&call, SmallVec::new())
    }

    fn finish(
        &self,
        call: &Call<'_>,
        taken: SmallVec<[(usize, Buffer); 4]>,
    ) -> Result<(Vec<Tensor>, Cost), Error> {
        let (outputs, cost) =
            self.executable.finish(call, &self.executable.program.fused.plan.numbers, taken)?;
        self.count(cost.clone());
        Ok((outputs, cost))
    }

    fn execute_donating(
        &self,
        mut inputs: Vec<(&str, Tensor)>,
        bindings: &[(&str, i64)],
    ) -> Result<(Vec<Tensor>, Cost), Error> {
        if !self.executable.program.donations.is_empty() {
            // What an earlier call has made is also held here, for later calls.
            inputs.iter().for_each(|(_, tensor)| self.executable.pools.forget(tensor));
        }
        let call = self.prepare(&borrowed(&inputs), bindings, Arguments::Given)?.with_inputs(SmallVec::new());
        let mut taken: SmallVec<[(usize, Buffer); 4]> = SmallVec::new();
        for &(input, output) in &call.donated {
            let is_this = |name: &str| self.named.iter().any(|(known, at)| *at == input && known == name);
            let given = inputs.iter_mut().find(|(name, _)| is_this(name));
            let tensor = given.map(|(_, tensor)| std::mem::replace(tensor, Tensor::scalar(false)));
            let buffer = tensor.and_then(|tensor| tensor.try_into_buffer().ok());
            taken.push((output, buffer.ok_or_else(|| internal("donation", &"an input that others hold"))?));
        }
        let call = call.with_inputs(order(&self.executable.program, &self.named, &borrowed(&inputs))?);
        self.finish(&call, taken)
    }
}

/// References to arguments.
fn borrowed<'a, 't>(inputs: &'t [(&'a str, Tensor)]) -> Vec<(&'a str, &'t Tensor)> {
    inputs.iter().map(|(name, tensor)| (*name, tensor)).collect()
}
