//! `tj check`, `tj build`, `tj info` and `tj doctor`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tensorjit::{CompileOptions, CompiledGraph, Stage, io};

use super::{Failure, Text, print};
use crate::args::{BuildArgs, CheckArgs, InfoArgs};

/// Types, sizes and guards of a program.
pub(super) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let text = Text::read(&args.program)?;
    let evaluated = text.evaluate(&BTreeMap::new())?;
    let outputs: Vec<_> = evaluated.outputs.iter().map(|(_, lazy)| lazy.clone()).collect();
    let options = CompileOptions {
        inputs: evaluated.inputs.iter().map(|(_, lazy)| lazy.clone()).collect(),
        ..CompileOptions::default()
    };
    let mut explanation = tensorjit::Explanation::default();
    CompiledGraph::observed(&outputs, options, &mut explanation)?;
    let mut shown = String::new();
    let mut line = |word: &str, name: &str, lazy: &tensorjit::LazyTensor| {
        let shape: Vec<String> = lazy.shape().iter().map(ToString::to_string).collect();
        let _ = writeln!(shown, "{word} {name}: {}[{}]", lazy.dtype(), shape.join(", "));
    };
    for (name, lazy) in &evaluated.inputs {
        line("input", name, lazy);
    }
    for (name, lazy) in &evaluated.outputs {
        line("output", name, lazy);
    }
    for guard in explanation.text(Stage::Memory).lines().filter(|l| l.starts_with("guard: ")) {
        let _ = writeln!(shown, "{guard}");
    }
    print(&shown)
}

/// An object file and a header for programs in other languages.
pub(super) fn build(args: &BuildArgs) -> Result<(), Failure> {
    let text = Text::read(&args.program)?;
    let evaluated = text.evaluate(&BTreeMap::new())?;
    let outputs: Vec<_> = evaluated.outputs.iter().map(|(_, lazy)| lazy.clone()).collect();
    let options = CompileOptions {
        inputs: evaluated.inputs.iter().map(|(_, lazy)| lazy.clone()).collect(),
        ..CompileOptions::default()
    };
    let graph = CompiledGraph::new(&outputs, options)?;
    let header = args.header.clone().unwrap_or_else(|| args.output.with_extension("h"));
    let names: Vec<&str> = evaluated.outputs.iter().map(|(name, _)| name.as_str()).collect();
    graph.export_object(&args.output, &header, &names)?;
    Ok(())
}

/// Arrays of a file.
pub(super) fn info(args: &InfoArgs) -> Result<(), Failure> {
    let mut shown = String::new();
    for array in io::info(&args.file)? {
        let name = array.name.as_deref().map_or(String::new(), |name| format!("{name}: "));
        let _ = writeln!(
            shown,
            "{name}{}{:?}, {:?} order, {} bytes",
            array.dtype, array.shape, array.order, array.bytes
        );
    }
    print(&shown)
}

/// What this machine offers.
pub(super) fn doctor() -> Result<(), Failure> {
    print(&tensorjit::doctor())
}
