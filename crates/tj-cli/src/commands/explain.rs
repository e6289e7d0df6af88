//! `tj explain`.

use std::fs;
use std::path::Path;

use tensorjit::{CompiledGraph, Explanation, Stage as Seen};

use super::run::call_by;
use super::{Failure, Text, Work, given_sizes, print, staged};
use crate::args::{ExplainArgs, Stage};

pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let text = Text::read(&args.work.program)?;
    let sizes = given_sizes(&args.work)?;
    let work = Work::read(&text, &args.work, &sizes)?;
    if staged::is_stored(&work) {
        let mut explanation = tensorjit::explain(staged::on_data(&text, &work, &sizes)?)?;
        if args.measure {
            let (_, report) = tensorjit::compute_timed(staged::on_data(&text, &work, &sizes)?)?;
            explanation.add_run(&report);
        }
        return match &args.html {
            Some(html) => write_page(html, &explanation),
            None => print(&explanation.to_string()),
        };
    }
    let outputs = work.outputs();
    let (graph, mut explanation) = match CompiledGraph::explained(&outputs, work.options.clone()) {
        Ok(explained) => explained,
        Err(error) if staged::is_staged(&error) && args.stages.is_empty() && !args.measure => {
            let explanation = tensorjit::explain_with(&outputs, work.options)?;
            return match &args.html {
                Some(html) => write_page(html, &explanation),
                None => print(&explanation.to_string()),
            };
        }
        Err(error) => return Err(error.into()),
    };
    if args.measure {
        let (_, report) = call_by(CompiledGraph::call_timed, &graph, &work, &sizes)?;
        graph.explain_run(&mut explanation, &report);
    }
    if let Some(html) = &args.html {
        return write_page(html, &explanation);
    }
    if args.stages.is_empty() {
        return print(&explanation.to_string());
    }
    let mut shown = String::new();
    for stage in &args.stages {
        match stage {
            Stage::Plan => {
                shown.push_str(&texts(&explanation, Seen::Plan));
                shown.push_str(&texts(&explanation, Seen::Fuse));
            }
            Stage::Kernel => shown.push_str(&texts(&explanation, Seen::Kernel)),
            Stage::Memory => {
                shown.push_str(&texts(&explanation, Seen::Memory));
                shown.push_str(&explanation.stage("arena").unwrap_or_default());
            }
            Stage::Clif => shown.push_str(&explanation.clif),
            Stage::C => shown.push_str(&explanation.c),
        }
    }
    shown.push_str(&explanation.stage("run").unwrap_or_default());
    print(&shown)
}

/// The texts of a stage, which every program of several goes through.
fn texts(explanation: &Explanation, stage: Seen) -> String {
    let texts = explanation.stages.iter().filter(|(seen, ..)| *seen == stage);
    texts.map(|(_, _, text)| text.as_str()).collect()
}

fn write_page(html: &Path, explanation: &Explanation) -> Result<(), Failure> {
    let written = fs::write(html, explanation.to_html());
    written.map_err(|e| Failure::wrong(format!("{}: {e}", html.display())))
}
