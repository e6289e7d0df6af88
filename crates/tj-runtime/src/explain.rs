//! Texts of the stages.

use std::fmt::Write as _;

use tj_ir::expr::Source;
use tj_ir::text::counted;
use tj_kernel::Lowered;
use tj_plan::sparse::steps::{Step, StepProgram};
use tj_plan::sparse::{Argument, ResultKind};
use tj_plan::{Backend, Fused, Plan, QueryId};

use crate::options::built_in;
use crate::program::Program;

/// A plan.
pub(crate) fn plan(plan: &Plan) -> String {
    plan.to_string()
}

/// The reasons of the scheduler, by the queries of the plan, then kernels, by queries that are numbered anew.
pub(crate) fn fused(fused: &Fused) -> String {
    let mut text = String::new();
    for reason in &fused.reasons {
        let _ = writeln!(text, "because {reason}");
    }
    if fused.plan.query_ids().any(|id| fused.origins[id.index()] != id) {
        let new = |id: QueryId| format!("{} is now {id}", fused.origins[id.index()]);
        let new: Vec<String> = fused.plan.query_ids().map(new).collect();
        let _ = writeln!(text, "numbered anew: {}", new.join(", "));
    }
    for (number, group) in fused.groups.iter().enumerate() {
        let queries: Vec<String> = group
            .queries
            .iter()
            .zip(&group.local)
            .map(|(id, local)| if *local { format!("{id} (local)") } else { id.to_string() })
            .collect();
        let outer = counted(group.outer, "outer axis", "outer axes");
        let _ = writeln!(text, "kernel {number}: {} over {outer}", queries.join(", "));
    }
    text.push_str(&fused.plan.to_string());
    text
}

/// The steps of a plan over arguments that are stored by levels.
pub(crate) fn steps(steps: &[Step]) -> String {
    let mut text = String::new();
    for (number, step) in steps.iter().enumerate() {
        let list = |names: Vec<String>| names.join(", ");
        let from = list(step.from.iter().map(source).collect());
        let gives = list(step.gives.iter().map(ToString::to_string).collect());
        match &step.program {
            StepProgram::Dense(plan) => {
                let queries = counted(plan.queries.len(), "query", "queries");
                let _ = writeln!(text, "step {number}: {gives} from {from}: dense, {queries}");
            }
            StepProgram::Moved(moved) => {
                let parts = counted(moved.parts.len(), "part", "parts");
                let _ = writeln!(text, "step {number}: {gives} from {from}: moves entries, {parts}");
            }
            StepProgram::Stretches(stretched) => {
                let folded = if stretched.fold.is_some() { ", folded along them" } else { "" };
                let _ = writeln!(text, "step {number}: {gives} from {from}: by stretches of runs{folded}");
            }
            StepProgram::Nest(nest) => {
                let loops = list(nest.loops.iter().map(|index| format!("i{index}")).collect());
                let result = match nest.result {
                    ResultKind::Dense => "a dense result".to_string(),
                    ResultKind::Stored => "entries".to_string(),
                    ResultKind::AsArgument(of) => format!("the entries of {}", source(&step.from[of])),
                    ResultKind::Updated(of) => format!("{} updated", source(&step.from[of])),
                };
                let combined =
                    nest.combined.map_or(String::new(), |op| format!(", combined by {}", op.name()));
                let _ = writeln!(
                    text,
                    "step {number}: {gives} from {from}: walks {loops}{combined}, gives {result}; work {:.0} by guess",
                    nest.cost
                );
                for (argument, from) in nest.arguments.iter().zip(&step.from) {
                    let how = match argument {
                        Argument::Stored(operand) => format!("as {}", operand.format),
                        Argument::Dense(axes) if axes.is_sorted() => "dense".to_string(),
                        Argument::Dense(axes) => format!("dense with axes {axes:?}"),
                    };
                    let _ = writeln!(text, "  reads {} {how}", source(from));
                }
            }
        }
    }
    text
}

fn source(source: &Source) -> String {
    match source {
        Source::Input(i) => format!("argument {i}"),
        Source::Def(q) => QueryId(*q).to_string(),
    }
}

/// Kernels.
pub(crate) fn kernels(kernels: &[Lowered]) -> String {
    kernels.iter().map(|l| l.kernel.to_string()).collect::<Vec<_>>().join("\n")
}

/// What the back end makes of the kernels.
pub(crate) fn code(kernels: &[Lowered], backend: Backend) -> String {
    match built_in(backend) {
        Backend::C => c(kernels),
        Backend::Auto | Backend::Cranelift => clif(kernels),
    }
}

#[cfg(feature = "c")]
pub(crate) fn c(kernels: &[Lowered]) -> String {
    let kernels: Vec<_> = kernels.iter().map(|l| &l.kernel).collect();
    tj_codegen_c::emit(&kernels).unwrap_or_else(|e| e.to_string())
}

#[cfg(not(feature = "c"))]
pub(crate) fn c(_: &[Lowered]) -> String {
    "this build has no C back end".to_string()
}

#[cfg(feature = "cranelift")]
pub(crate) fn clif(kernels: &[Lowered]) -> String {
    let options = tj_codegen_cranelift::Options::default();
    let texts = kernels
        .iter()
        .map(|l| tj_codegen_cranelift::clif(&l.kernel, &options).unwrap_or_else(|e| e.to_string()));
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(not(feature = "cranelift"))]
pub(crate) fn clif(_: &[Lowered]) -> String {
    "this build has no Cranelift back end".to_string()
}

/// Order of kernels, intervals of the arena, guards.
pub(crate) fn memory(program: &Program) -> String {
    let mut text = String::new();
    for (step, lowered) in program.kernels.iter().enumerate() {
        let _ = writeln!(text, "step {step}: {}", lowered.kernel.name);
    }
    for interval in program.intervals() {
        let copies = if interval.scratch_of.is_some() { " for each worker" } else { "" };
        let _ = writeln!(
            text,
            "{}: steps {}..={}, {} x {} bytes{copies}",
            interval.name, interval.first, interval.last, interval.len, interval.width
        );
    }
    for guard in program.guards() {
        let _ = writeln!(text, "guard: {guard}");
    }
    for (position, source) in program.fused.plan.produces.0.iter().enumerate() {
        let from = match source {
            Source::Input(i) => format!("copy of input {i}"),
            Source::Def(q) => format!("q{q}"),
        };
        let _ = writeln!(text, "output {position}: {from}");
    }
    text
}
