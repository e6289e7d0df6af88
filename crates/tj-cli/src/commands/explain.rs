//! `tj explain`.

use std::fs;

use tensorjit::{CompiledGraph, Stage as Seen};

use super::run::call_by;
use super::{Failure, Text, Work, given_sizes, print};
use crate::args::{ExplainArgs, Stage};

pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let text = Text::read(&args.work.program)?;
    let sizes = given_sizes(&args.work)?;
    let work = Work::read(&text, &args.work, &sizes)?;
    let (graph, mut explanation) = CompiledGraph::explained(&work.outputs(), work.options.clone())?;
    if args.measure {
        let (_, report) = call_by(CompiledGraph::call_timed, &graph, &work, &sizes)?;
        graph.explain_run(&mut explanation, &report);
    }
    if let Some(html) = &args.html {
        let written = fs::write(html, explanation.to_html());
        return written.map_err(|e| Failure::wrong(format!("{}: {e}", html.display())));
    }
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
            Stage::Memory => {
                shown.push_str(explanation.text(Seen::Memory));
                shown.push_str(&explanation.stage("arena").unwrap_or_default());
            }
            Stage::Clif => shown.push_str(&explanation.clif),
            Stage::C => shown.push_str(&explanation.c),
        }
    }
    shown.push_str(&explanation.stage("run").unwrap_or_default());
    print(&shown)
}
