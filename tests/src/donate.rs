//! Arguments that are given away, so that outputs may be written over them.

use tensorjit::{CompileOptions, CompiledGraph, Error, LazyTensor, Tensor};

use crate::check::Arguments;
use crate::engines::{Outcome, differ};

/// Calls the program with arguments that nobody else holds. Gives how many of them an output was written over.
///
/// # Errors
/// The first difference from `expected`, in words.
pub fn gives_arguments_away(
    outputs: &[LazyTensor],
    arguments: Vec<Arguments>,
    expected: &[Outcome],
) -> Result<u64, String> {
    let options = CompileOptions { threads: 3, parallel_work: Some(0), ..Default::default() };
    let graph = CompiledGraph::new(outputs, options).map_err(|e| e.to_string())?;
    for (arguments, expected) in arguments.into_iter().zip(expected) {
        let Arguments { inputs, bindings } = arguments;
        let (names, tensors): (Vec<String>, Vec<Tensor>) = inputs.into_iter().unzip();
        let bindings: Vec<(&str, i64)> =
            bindings.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        // The call is the only one that holds the tensors.
        let inputs = names.iter().map(String::as_str).zip(tensors).collect();
        let got = graph.call_donating_reported(&bindings, inputs).map_err(|e: Error| e.to_string());
        let problem = differ(&got.map(|(outputs, _)| outputs), expected);
        problem.map_or(Ok(()), |problem| Err(format!("arguments given away: {problem}")))?;
    }
    Ok(graph.report().donated_inputs)
}
