//! `tj check`, `tj build`, `tj info` and `tj doctor`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use tensorjit::{CompileOptions, CompiledGraph, LazyTensor, Scalar, Stage, io};

use super::save::same_file;
use super::{Failure, Text, print};
use crate::args::{BuildArgs, CheckArgs, InfoArgs};
use crate::ast::StmtKind;
use crate::diagnostic::Diagnostic;
use crate::eval::Evaluated;
use crate::values::Source;

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
    let mut line = |word: &str, name: &str, lazy: &LazyTensor| {
        let shape: Vec<String> = lazy.shape().iter().map(ToString::to_string).collect();
        let format = lazy.format().map_or_else(String::new, |format| format!(" {format}"));
        let fill = lazy.fill().filter(|_| lazy.format().is_some());
        let fill = fill.map_or_else(String::new, |fill| format!(" fill {}", number_text(fill)));
        let _ = writeln!(shown, "{word} {name}: {}[{}]{format}{fill}", lazy.dtype(), shape.join(", "));
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

/// A number as programs write it.
fn number_text(value: Scalar) -> String {
    match value {
        Scalar::Bool(true) => "True".to_string(),
        Scalar::Bool(false) => "False".to_string(),
        value if value.dtype().is_float() => format!("{:?}", value.to_f64()).to_lowercase(),
        value => value.to_i64().to_string(),
    }
}

/// An object file and a header for programs in other languages.
pub(super) fn build(args: &BuildArgs) -> Result<(), Failure> {
    let header = args.header.clone().unwrap_or_else(|| args.output.with_extension("h"));
    check_files(args, &header)?;
    let text = Text::read(&args.program)?;
    let evaluated = text.evaluate(&BTreeMap::new())?;
    refuse_stored(&text, &evaluated)?;
    let outputs: Vec<_> = evaluated.outputs.iter().map(|(_, lazy)| lazy.clone()).collect();
    let options = CompileOptions {
        inputs: evaluated.inputs.iter().map(|(_, lazy)| lazy.clone()).collect(),
        ..CompileOptions::default()
    };
    let graph = CompiledGraph::new(&outputs, options)?;
    let names: Vec<&str> = evaluated.outputs.iter().map(|(name, _)| name.as_str()).collect();
    graph.export_object(&args.output, &header, &names)?;
    Ok(())
}

/// Refuses what is not dense before anything is compiled.
fn refuse_stored(text: &Text, evaluated: &Evaluated) -> Result<(), Failure> {
    for stmt in &text.program.stmts {
        if let StmtKind::Input { name, format: Some(format), .. } = &stmt.kind
            && evaluated.inputs.iter().any(|(known, lazy)| *known == name.text && lazy.format().is_some())
        {
            let message =
                format!("an object file takes dense arrays, but `{}` is stored by levels", name.text);
            return Err(text.refused(&Diagnostic::new(message, format.span)));
        }
    }
    let is_stored = |lazy: &LazyTensor| lazy.format().is_some_and(|format| !format.is_strided());
    match evaluated.outputs.iter().find(|(_, lazy)| is_stored(lazy)) {
        Some((name, _)) => Err(Failure::wrong(format!(
            "an object file gives dense arrays, but output {name} is stored by levels"
        ))),
        None => Ok(()),
    }
}

/// Refuses files that would overwrite each other or the program, and names that promise another format.
fn check_files(args: &BuildArgs, header: &Path) -> Result<(), Failure> {
    let output = &args.output;
    let shown = output.display();
    if let Some("so" | "dylib" | "dll" | "a") = output.extension().and_then(|extension| extension.to_str()) {
        let object = output.with_extension("o");
        let object = object.display();
        let link = match output.extension().and_then(|extension| extension.to_str()) {
            Some("a") => format!("ar rcs {shown} {object}"),
            _ => format!("cc -shared -o {shown} {object} -lm"),
        };
        let message =
            format!("{shown}: an object file is written, not a library; use -o {object}, then `{link}`");
        return Err(Failure::wrong(message));
    }
    if same_file(output, header) {
        let message =
            format!("{shown}: the header would overwrite the object file; give it a name by --header");
        return Err(Failure::wrong(message));
    }
    if let Source::File(program) = &args.program {
        for (what, path) in [("object file", output.as_path()), ("header", header)] {
            if same_file(program, path) {
                let message = format!("{}: the {what} would overwrite the program", path.display());
                return Err(Failure::wrong(message));
            }
        }
    }
    Ok(())
}

/// Arrays of a file.
pub(super) fn info(args: &InfoArgs) -> Result<(), Failure> {
    let mut shown = String::new();
    for array in io::info(&args.file)? {
        let name = array.name.as_deref().map_or(String::new(), |name| format!("{name}: "));
        let _ = write!(shown, "{name}{}{:?}, ", array.dtype, array.shape);
        let _ = match array.layout {
            io::Layout::Strided(order) => writeln!(shown, "{order:?} order, {} bytes", array.bytes),
            io::Layout::Levels { format, fill, stored, nnz, level_bytes } => {
                let levels: Vec<String> = level_bytes.iter().map(u64::to_string).collect();
                let levels = levels.join(" + ");
                writeln!(
                    shown,
                    "{format}, fill {fill}, {stored} stored, {nnz} other than the fill, {levels} bytes of levels, {} \
                     bytes of values",
                    array.bytes
                )
            }
        };
    }
    print(&shown)
}

/// What this machine offers.
pub(super) fn doctor() -> Result<(), Failure> {
    print(&tensorjit::doctor())
}
