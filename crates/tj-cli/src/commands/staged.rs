//! Programs that are compiled for the data that are there: those whose sizes depend on values, and those over data that are
//! stored by levels where the program does not say so. Such a program is evaluated once more on the data, and computed as lazy arrays are.

use std::collections::BTreeMap;

use tensorjit::{Cause, Error, LazyTensor, RunReport, Tensor, compute_as, defer};

use super::{Failure, Text, Work};
use crate::eval::Value;

/// Whether a program cannot be compiled because of a size that depends on values.
pub(super) fn is_staged(error: &Error) -> bool {
    matches!(error, Error::Program(error) if matches!(*error.cause, Cause::Counted { .. }))
}

/// Whether some data is stored by levels that the program does not declare so, which decides what code it becomes.
pub(super) fn is_stored(work: &Work) -> bool {
    let declared = |name: &str| work.evaluated.inputs.iter().find(|(known, _)| known == name);
    let is_told = |name: &str| declared(name).is_some_and(|(_, lazy)| lazy.format().is_some());
    work.inputs.iter().any(|(name, tensor)| tensor.stored().is_some() && !is_told(name))
}

/// Computes the outputs on the data of the work.
pub(super) fn run(
    text: &Text,
    work: &Work,
    sizes: &BTreeMap<String, i64>,
) -> Result<(Vec<Tensor>, RunReport), Failure> {
    Ok(compute_as(on_data(text, work, sizes)?, &work.options)?)
}

/// The outputs as lazy tensors over the data of the work.
pub(super) fn on_data(
    text: &Text,
    work: &Work,
    sizes: &BTreeMap<String, i64>,
) -> Result<Vec<LazyTensor>, Failure> {
    let mut sizes = sizes.clone();
    let declared = |name: &str| work.evaluated.inputs.iter().find(|(known, _)| known == name);
    let (mut given, mut values) = (work.given.clone(), BTreeMap::new());
    for (name, tensor) in &work.inputs {
        match declared(name) {
            Some((_, lazy)) => {
                fit(name, lazy, tensor, &mut sizes)?;
                values.insert(name.clone(), Value::Tensor(defer(as_declared(name, lazy, tensor)?)));
            }
            None => {
                given.insert(name.clone(), Value::Tensor(defer(tensor)));
            }
        }
    }
    for (name, dim) in &work.evaluated.sizes {
        let Some(&value) = sizes.get(name) else { continue };
        if let Some((lo, hi)) = dim.as_symbol().map(tensorjit::Symbol::bounds)
            && !(lo..=hi).contains(&value)
        {
            return Err(Failure::wrong(format!("size {name} = {value} is not in {lo}..={hi}")));
        }
        values.insert(name.clone(), Value::Int(value));
    }
    if let Some((name, _)) = work.evaluated.inputs.iter().find(|(name, _)| !values.contains_key(name)) {
        return Err(Failure::wrong(format!("input {name} is missing; give it by {name}=FILE")));
    }
    let evaluated = text.evaluate_on(&given, &values)?;
    Ok(evaluated.outputs.into_iter().map(|(_, lazy)| lazy).collect())
}

/// Data as it is declared to be stored.
fn as_declared(name: &str, lazy: &LazyTensor, tensor: &Tensor) -> Result<Tensor, Failure> {
    let Some(expected) = lazy.fill() else { return Ok(tensor.clone()) };
    if let Some(found) = tensor.fill().filter(|found| *found != expected) {
        return Err(Error::Fill { name: name.to_string(), found, expected }.into());
    }
    let filled = tensor.clone().with_fill(Some(expected))?;
    Ok(lazy.format().map_or_else(|| Ok(filled.clone()), |format| filled.in_format(format))?)
}

/// Checks data against a declaration, and takes the values of sizes from it.
fn fit(
    name: &str,
    lazy: &LazyTensor,
    tensor: &Tensor,
    sizes: &mut BTreeMap<String, i64>,
) -> Result<(), Failure> {
    let shape: Vec<String> = lazy.shape().iter().map(ToString::to_string).collect();
    let wrong = |problem: String| {
        let declared = format!("{}[{}]", lazy.dtype(), shape.join(", "));
        Err(Failure::wrong(format!("input {name}: {problem}, declared {declared}")))
    };
    if tensor.dtype() != lazy.dtype() || tensor.rank() != lazy.rank() {
        return wrong(format!("{}{:?} is given", tensor.dtype(), tensor.shape()));
    }
    for (axis, (dim, &extent)) in lazy.shape().iter().zip(tensor.shape()).enumerate() {
        if let Some(symbol) = dim.as_symbol() {
            sizes.entry(symbol.to_string()).or_insert(extent as i64);
        }
        let size = dim.eval(&|symbol| sizes.get(&symbol.to_string()).copied());
        match size {
            Ok(size) if size == extent as i64 => {}
            Ok(size) => return wrong(format!("axis {axis} has size {extent}, not {dim} = {size}")),
            Err(error) => return wrong(error.to_string()),
        }
    }
    Ok(())
}
