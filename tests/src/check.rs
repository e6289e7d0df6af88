//! One case: a program, sizes, data. All engines agree on it, and with each step on its own.

use tensorjit::{IrError, LazyTensor, Tensor};
use tj_ir::trace::trace;

use crate::data;
use crate::donate::gives_arguments_away;
use crate::eager::{concrete_shapes, eager};
use crate::engines::{Call, Named, Outcome, differ, same_everywhere};
use crate::program::{Program, Step};
use crate::rng::Rng;
use crate::rubbish::writes_every_element;

/// A program with sizes and a seed for its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The program.
    pub program: Program,
    /// Values of its symbols, a list for each call.
    pub values: Vec<Vec<i64>>,
    /// Makes the inputs.
    pub seed: u64,
}

/// Inputs and bindings of one call, owned.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// Arguments by name.
    pub inputs: Vec<(String, Tensor)>,
    /// Values of sizes that no argument determines.
    pub bindings: Vec<(String, i64)>,
}

impl Arguments {
    /// As an engine takes them.
    pub fn call(&self) -> Call<'_> {
        Call {
            bindings: self.bindings.iter().map(|(name, value)| (name.as_str(), *value)).collect(),
            inputs: self.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect(),
        }
    }
}

impl Case {
    /// Whether the program can be built at all, with these sizes.
    pub fn is_well_formed(&self) -> bool {
        self.values.iter().all(|values| concrete_shapes(&self.program, values).is_ok())
            && self.program.outputs("").is_ok_and(|outputs| trace(&[], &outputs).is_ok())
    }

    /// All inputs of the program for one list of sizes, used or not.
    ///
    /// # Errors
    /// A program that cannot be built.
    pub fn inputs(&self, values: &[i64]) -> Result<Vec<Tensor>, String> {
        let shapes = concrete_shapes(&self.program, values)?;
        let tensor = |(position, decl): (usize, &crate::program::InputDecl)| {
            let step = self.program.steps.iter().position(|step| *step == Step::Input(position));
            let shape = match step {
                Some(k) => shapes[k].clone(),
                None => return Tensor::scalar(false),
            };
            let mut rng = Rng::new(self.seed ^ ((position as u64 + 1) << 32));
            let seed = values.iter().fold(rng.bits(), |s, &v| Rng::new(s ^ v as u64).bits());
            data::tensor(decl.dtype, &shape, seed)
        };
        Ok(self.program.inputs.iter().enumerate().map(tensor).collect())
    }

    /// What each call is given under a prefix of names: the inputs that the outputs need, and values of sizes that
    /// no input determines.
    ///
    /// # Errors
    /// A program that cannot be built or traced.
    pub fn arguments(&self, prefix: &str, outputs: &[LazyTensor]) -> Result<Vec<Arguments>, String> {
        let used = trace(&[], outputs).map_err(|e: IrError| e.to_string())?;
        let plain = |name: &str| {
            used.inputs
                .iter()
                .flat_map(|i| &i.shape)
                .any(|d| d.as_symbol().is_some_and(|s| s.to_string() == name))
        };
        let all = Rng::new(self.seed).chance(30);
        let mut calls = Vec::new();
        for values in &self.values {
            let tensors = self.inputs(values)?;
            let named = used.inputs.iter().filter_map(|decl| decl.name.as_deref());
            let inputs = named.map(|name| {
                let digits = name.trim_start_matches(prefix).trim_start_matches('x');
                let position: usize = digits.parse().expect("inputs are named by position");
                (name.to_string(), tensors[position].clone())
            });
            let inputs = inputs.collect();
            let mut bindings = Vec::new();
            for symbol in &used.symbols {
                let name = symbol.to_string();
                let at = self.program.symbols.iter().position(|s| format!("{prefix}{}", s.name) == name);
                let at = at.ok_or_else(|| format!("the program has no symbol {name}"))?;
                if all || !plain(&name) {
                    bindings.push((name, values[at]));
                }
            }
            calls.push(Arguments { inputs, bindings });
        }
        Ok(calls)
    }
}

/// Runs a case on all engines given, and each step on its own.
///
/// # Errors
/// What is different, in words.
pub fn check(case: &Case, engines: &[Named]) -> Result<Vec<Outcome>, String> {
    let outputs = case.program.outputs("").map_err(|e| e.to_string())?;
    let arguments = case.arguments("", &outputs)?;
    let calls: Vec<Call<'_>> = arguments.iter().map(Arguments::call).collect();
    let outcomes = same_everywhere(&outputs, &[], &calls, engines)?;
    writes_every_element(&outputs, &calls, &outcomes)?;
    gives_arguments_away(&outputs, case.arguments("", &outputs)?, &outcomes)?;
    for (outcome, values) in outcomes.iter().zip(&case.values) {
        match outcome {
            Ok(_) => {
                let expected = eager(&case.program, values, &case.inputs(values)?)
                    .map_err(|e| format!("each step on its own: {e}"))?;
                let problem = differ(outcome, &Ok(expected));
                problem.map_or(Ok(()), |p| Err(format!("plan interpreter with sizes {values:?}: {p}")))?;
            }
            // Sizes that do not fit, and nothing else, may make a call fail.
            Err(error) if error.contains("does not hold") || error.contains("but its bounds are") => {}
            Err(error) => return Err(format!("sizes {values:?}: {error}")),
        }
    }
    Ok(outcomes)
}

/// Runs many cases as one program, which is one unit for a C compiler. Only calls that `outcomes` says succeed count.
///
/// # Errors
/// What is different, in words, with the number of the case.
pub fn check_together(cases: &[(Case, Vec<Outcome>)], engines: &[Named]) -> Result<(), (usize, String)> {
    let mut outputs: Vec<LazyTensor> = Vec::new();
    let mut arguments: Vec<Arguments> = Vec::new();
    let mut owners: Vec<usize> = Vec::new();
    for (number, (case, outcomes)) in cases.iter().enumerate() {
        let (Some(Ok(_)), prefix) = (outcomes.first(), format!("p{number}_")) else { continue };
        let whole = |e: String| (number, e);
        let own = case.program.outputs(&prefix).map_err(|e| whole(e.to_string()))?;
        owners.extend(own.iter().map(|_| number));
        arguments.push(case.arguments(&prefix, &own).map_err(whole)?.swap_remove(0));
        outputs.extend(own);
    }
    let expected: Vec<&Tensor> =
        cases.iter().filter_map(|(_, outcomes)| outcomes.first()?.as_ref().ok()).flatten().collect();
    let mut call = Call::default();
    for own in &arguments {
        let Call { bindings, inputs } = own.call();
        call.bindings.extend(bindings);
        call.inputs.extend(inputs);
    }
    for (name, options) in engines {
        let run = || -> Result<Vec<Tensor>, tensorjit::Error> {
            let graph = tensorjit::CompiledGraph::new(&outputs, options.clone())?;
            graph.call_with_bindings(&call.bindings, &call.inputs)
        };
        let got = run().map_err(|e| (usize::MAX, format!("{name}: {e}")))?;
        for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
            if let Some(problem) = differ(&Ok(vec![got.clone()]), &Ok(vec![(*expected).clone()])) {
                return Err((owners[at], format!("{name}: {problem}")));
            }
        }
    }
    Ok(())
}
