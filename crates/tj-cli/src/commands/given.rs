//! Whether what the command line gives is what the program takes.
//!
//! A name that nothing uses is a typing error more often than not, so it is refused and the names there are get listed.

use std::collections::{BTreeMap, HashSet};

use tensorjit::Error;

use super::{Failure, Text};
use crate::args::WorkArgs;
use crate::ast::StmtKind;
use crate::eval::{Evaluated, is_word};
use crate::values::{Extent, InputData};

/// The inputs that a program declares.
pub(super) fn declared(text: &Text) -> Vec<&str> {
    text.program
        .stmts
        .iter()
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::Input { name, .. } => Some(name.text.as_str()),
            StmtKind::Size { .. }
            | StmtKind::Bind { .. }
            | StmtKind::Output { .. }
            | StmtKind::Einop { .. }
            | StmtKind::Result { .. } => None,
        })
        .collect()
}

/// Checks `NAME=DATA` before any data are read or made.
pub(super) fn check_inputs(text: &Text, args: &WorkArgs) -> Result<(), Failure> {
    let declared = declared(text);
    let free = text.program.free_names();
    let mut seen = HashSet::new();
    for name in args.inputs.iter().map(|input| input.name.as_str()) {
        if !seen.insert(name) {
            return Err(Failure::wrong(format!("input {name} is given twice")));
        }
        if declared.contains(&name) || free.iter().any(|used| used.text == name) {
            continue;
        }
        let is_size = text
            .program
            .stmts
            .iter()
            .any(|stmt| matches!(&stmt.kind, StmtKind::Size { name: size, .. } if size.text == name));
        if is_size {
            return Err(Failure::wrong(format!("{name} is a size, not an input; give it by --dim {name}=7")));
        }
        // A word of the language reads as a name.
        let free = free.iter().map(|used| used.text.as_str()).filter(|used| !is_word(used));
        let known: Vec<&str> = declared.iter().copied().chain(free).collect();
        return Err(Failure::wrong(format!("the program has no input {name}; {}", list("inputs", &known))));
    }
    Ok(())
}

/// Checks `--dim`. A size may also be there for data that are made.
pub(super) fn check_sizes(
    evaluated: &Evaluated,
    args: &WorkArgs,
    sizes: &BTreeMap<String, i64>,
) -> Result<(), Failure> {
    for (name, &value) in sizes {
        if let Some((_, dim)) = evaluated.sizes.iter().find(|(known, _)| known == name) {
            let Some(symbol) = dim.as_symbol() else { continue };
            let (lo, hi) = symbol.bounds();
            if !(lo..=hi).contains(&value) {
                let (symbol, origin) = (name.clone(), "given".to_string());
                return Err(Error::OutOfBounds { symbol, value, origin, lo, hi }.into());
            }
        } else if !args.inputs.iter().any(|input| shapes_by(&input.data, name)) {
            let known: Vec<&str> = evaluated.sizes.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Failure::wrong(format!("the program has no size {name}; {}", list("sizes", &known))));
        }
    }
    Ok(())
}

/// Whether a size shapes data that are made.
fn shapes_by(data: &InputData, size: &str) -> bool {
    match data {
        InputData::Random { made: Some(made), .. } | InputData::Ones { made: Some(made) } => {
            made.shape.iter().any(|extent| matches!(extent, Extent::Name(name) if name == size))
        }
        InputData::Random { .. } | InputData::Ones { .. } | InputData::File(_) | InputData::Number(_) => {
            false
        }
    }
}

fn list(what: &str, names: &[&str]) -> String {
    match names {
        [] => format!("it has no {what}"),
        names => format!("its {what} are {}", names.join(", ")),
    }
}
