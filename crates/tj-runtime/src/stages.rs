//! Programs whose sizes depend on values, stage by stage.
//!
//! A stage is one program, found or compiled as any other, and the selections that its results go into, by the library.
//! What they give are arguments of the next stage, with sizes that are known by then; so another count is the same code.
//! Nothing is held that no later stage needs.

use std::fmt::Write as _;

use smallvec::SmallVec;
use tj_ir::{Guard, Known, LazyTensor, Ready, Stage, broken_guard, shape_text};
use tj_plan::Scheduler;
use tj_tensor::Tensor;

use crate::bind::broken;
use crate::budget;
use crate::compile::compile;
use crate::compute::Ran;
use crate::error::Error;
use crate::explanation::Explanation;
use crate::observe::{self, Clock};
use crate::options::{CompileOptions, MaxBytes};
use crate::program::internal;

/// What a program gives.
type Computed = Result<(Vec<Tensor>, Ran), Error>;

/// Computes `outputs`; `program` computes what needs no stages. No selection takes more than `max`.
pub(crate) fn run(
    outputs: &[LazyTensor],
    max: MaxBytes,
    program: &mut dyn FnMut(&[LazyTensor], &Known) -> Computed,
) -> Result<(Vec<Tensor>, SmallVec<[Ran; 1]>), Error> {
    let mut known = Known::new();
    let mut ran = SmallVec::new();
    while let Some(stage) = Stage::next(outputs, &known)? {
        if !stage.program.is_empty() {
            let (values, cost) = program(&stage.program, &known)?;
            ran.push(cost);
            for (tensor, value) in stage.program.iter().zip(values) {
                known.insert(tensor, Some(value));
            }
        }
        for ready in &stage.selections {
            select(ready, max, &mut known)?;
        }
        known.forget_below(outputs);
    }
    let rest: Vec<LazyTensor> = outputs.iter().filter(|output| !known.contains(output)).cloned().collect();
    let mut values = Vec::new().into_iter();
    if !rest.is_empty() {
        let (computed, cost) = program(&rest, &known)?;
        ran.push(cost);
        values = computed.into_iter();
    }
    let value = |output: &LazyTensor| known.value(output).cloned().or_else(|| values.next());
    let all: Option<Vec<Tensor>> = outputs.iter().map(value).collect();
    Ok((all.ok_or_else(|| internal("stages", &"an output has no value"))?, ran))
}

/// Runs a selection whose arguments are there.
fn select(ready: &Ready, max: MaxBytes, known: &mut Known) -> Result<(), Error> {
    for guard in &ready.guards {
        check(guard, known)?;
    }
    let value = |arg: &LazyTensor| arg.data().or_else(|| known.value(arg)).cloned();
    let args: Option<Vec<Tensor>> = ready.args.iter().map(value).collect();
    let args = args.ok_or_else(|| internal("stages", &"an argument has no value"))?;
    let dense = |arg: Tensor| -> Result<Tensor, Error> {
        if arg.stored().is_none() {
            return Ok(arg.to_contiguous()?);
        }
        budget::check(max, arg.count()?.saturating_mul(arg.dtype().size()) as u64)?;
        Ok(arg.to_dense()?)
    };
    let args: Vec<Tensor> = args.into_iter().map(dense).collect::<Result<_, _>>()?;
    budget::check(max, tj_library::selected_bytes(ready.selection, &args))?;
    let results = tj_library::select(ready.selection, &args)
        .map_err(|cause| Error::library(ready.selection.name(), &cause, ready.location))?;
    let count = results.first().and_then(|result| result.shape().first()).map(|&count| count as i64);
    known.count(&ready.count, count);
    for (tensor, output) in &ready.outputs {
        known.insert(tensor, results.get(*output).cloned());
    }
    Ok(())
}

/// What a selection needs of sizes that earlier ones have found.
fn check(guard: &Guard, known: &Known) -> Result<(), Error> {
    let value = |symbol: &tj_ir::Symbol| known.size(symbol);
    if guard.condition.holds(&value)? {
        return Ok(());
    }
    Err(broken(guard, &value, &|_| None)?)
}

/// An error about a program, in words of the program itself: code that was compiled for an earlier one has that one's sizes.
pub(crate) fn in_own_words(error: Error, outputs: &[LazyTensor], known: &Known) -> Error {
    let Error::Guard { .. } = error else { return error };
    let Some(guard) = broken_guard(outputs, known) else { return error };
    broken(guard, &|symbol| known.size(symbol), &|_| None).unwrap_or(error)
}

/// Compiles every stage and explains it.
pub(crate) fn explain(
    outputs: &[LazyTensor],
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
    explanation: &mut Explanation,
) -> Result<(), Error> {
    let mut known = Known::new();
    while let Some(stage) = Stage::next(outputs, &known)? {
        if !stage.program.is_empty() {
            let compiled = compile(&stage.program, &known, options, scheduler, explanation)?;
            explanation.add_program(&compiled.program);
        }
        stage.program.iter().for_each(|tensor| known.insert(tensor, None));
        for ready in &stage.selections {
            known.count(&ready.count, None);
            ready.outputs.iter().for_each(|(tensor, _)| known.insert(tensor, None));
        }
        Clock::new(explanation).done(observe::Stage::Select, &|| text(&stage.selections));
        known.forget_below(outputs);
    }
    let rest: Vec<LazyTensor> = outputs.iter().filter(|output| !known.contains(output)).cloned().collect();
    if !rest.is_empty() {
        let compiled = compile(&rest, &known, options, scheduler, explanation)?;
        explanation.add_program(&compiled.program);
    }
    Ok(())
}

fn text(selections: &[Ready]) -> String {
    let typed = |tensor: &LazyTensor| format!("{}{}", tensor.dtype(), shape_text(tensor.shape()));
    let mut text = String::new();
    for ready in selections {
        let args: Vec<String> = ready.args.iter().map(typed).collect();
        let outputs: Vec<String> = ready.outputs.iter().map(|(tensor, _)| typed(tensor)).collect();
        let (name, args, outputs) = (ready.selection.name(), args.join(", "), outputs.join(", "));
        let _ = writeln!(text, "{name}({args}) -> {outputs}");
    }
    text
}
