//! `tj explain`.

use tensorjit::{Backend, CompiledGraph, Explanation, Stage as Seen};

use super::{Failure, Text, Work, given_sizes, print, staged};
use crate::args::{ExplainArgs, Stage};

pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let text = Text::read(&args.work.program)?;
    let work = Work::read(&text, &args.work, &given_sizes(&args.work)?)?;
    let outputs = work.outputs();
    let mut explanation = Explanation::default();
    let graph = match CompiledGraph::observed(&outputs, work.options.clone(), &mut explanation) {
        Ok(graph) => graph,
        Err(error) if staged::is_staged(&error) && args.stages.is_empty() => {
            return print(&tensorjit::explain(&outputs, work.options)?.to_string());
        }
        Err(error) => return Err(error.into()),
    };
    if args.stages.is_empty() {
        return print(&explanation.to_string());
    }
    let mut shown = String::new();
    for stage in &args.stages {
        match stage {
            Stage::Plan => {
                shown.push_str(explanation.text(Seen::Plan));
                shown.push_str(explanation.text(Seen::Fuse));
            }
            Stage::Kernel => shown.push_str(explanation.text(Seen::Kernel)),
            Stage::Memory => shown.push_str(explanation.text(Seen::Memory)),
            Stage::Clif => shown.push_str(&graph.code_text(Backend::Cranelift)),
            Stage::C => shown.push_str(&graph.code_text(Backend::C)),
        }
    }
    print(&shown)
}
