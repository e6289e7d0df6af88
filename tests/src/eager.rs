//! Each step on its own: a second opinion about what a program means.
//!
//! Moves are views of `tensorjit::Tensor`, whose strides know nothing of index maps; every other step is a program of
//! one operator, traced and interpreted without any rewriting. So this differs from the plan interpreter in all that
//! shapes, index maps, tracing and simplification contribute.

use tensorjit::{LazyTensor, SliceSpec, Tensor, TensorError, constant};
use tj_plan::Plan;

use crate::program::{End, Part, Program, Step};

/// The outputs of a program on row-major or strided inputs, for values of its symbols.
///
/// # Errors
/// A message: the step that failed, and how.
pub fn eager(program: &Program, values: &[i64], inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let shapes = concrete_shapes(program, values)?;
    let mut done: Vec<Tensor> = Vec::with_capacity(program.steps.len());
    for (k, step) in program.steps.iter().enumerate() {
        let result = if let Step::Input(position) = step {
            inputs[*position].clone()
        } else if let Some(moved) = movement(step, values, &shapes[k], &done) {
            moved.map_err(|e| format!("step {k}: {e}"))?
        } else {
            alone(program, k, values, &done).map_err(|e| format!("step {k}: {e}"))?
        };
        if result.shape() != shapes[k] {
            return Err(format!("step {k}: shape {:?}, but its sizes say {:?}", result.shape(), shapes[k]));
        }
        done.push(result);
    }
    Ok(program.outputs.iter().map(|&k| done[k].clone()).collect())
}

/// Shapes of all steps.
///
/// # Errors
/// A step that carries an error, or a size that cannot be computed.
pub fn concrete_shapes(program: &Program, values: &[i64]) -> Result<Vec<Vec<usize>>, String> {
    let built = program.build("").map_err(|e| e.to_string())?;
    built.iter().map(|tensor| shape(program, values, tensor)).collect()
}

/// The shape of one lazy tensor of a program built without prefix.
///
/// # Errors
/// As [`concrete_shapes`].
pub fn shape(program: &Program, values: &[i64], tensor: &LazyTensor) -> Result<Vec<usize>, String> {
    tensor.check().map_err(|e| e.to_string())?;
    let value = |s: &tensorjit::Symbol| {
        let name = s.to_string();
        program.symbols.iter().position(|decl| decl.name == name).map(|at| values[at])
    };
    let extent = |dim: &tensorjit::Dim| {
        let extent = dim.eval(&value).map_err(|e| e.to_string())?;
        usize::try_from(extent).map_err(|_| format!("size {dim} is {extent}"))
    };
    tensor.shape().iter().map(extent).collect()
}

/// A step that only moves elements, as a view.
fn movement(
    step: &Step,
    values: &[i64],
    shape: &[usize],
    done: &[Tensor],
) -> Option<Result<Tensor, TensorError>> {
    let axis = |axis: i64, rank: usize| if axis < 0 { (axis + rank as i64) as usize } else { axis as usize };
    Some(match step {
        Step::Permute(k, axes) => {
            let rank = done[*k].rank();
            done[*k].permute(axes.iter().map(|&a| axis(a, rank)).collect::<Vec<_>>())
        }
        Step::Reshape(k, _) => done[*k].reshape(shape),
        Step::Flip(k, a) => done[*k].flip(axis(*a, done[*k].rank())),
        Step::ExpandDims(k, a) => done[*k].expand_dims(axis(*a, done[*k].rank() + 1)),
        Step::Squeeze(k, axes) => {
            let rank = done[*k].rank();
            done[*k].squeeze(axes.iter().map(|&a| axis(a, rank)).collect::<Vec<_>>())
        }
        Step::BroadcastTo(k, _) => done[*k].broadcast_to(shape),
        Step::Index(k, parts) => index(&done[*k], parts, values),
        Step::Input(_)
        | Step::Number(_)
        | Step::SizeOf(_)
        | Step::Map(..)
        | Step::Clip(..)
        | Step::Reduce(..)
        | Step::Mean(..)
        | Step::Matmul(..)
        | Step::Einsum(..)
        | Step::Concat(..)
        | Step::Stack(..)
        | Step::Arranged(..) => return None,
    })
}

fn index(tensor: &Tensor, parts: &[Part], values: &[i64]) -> Result<Tensor, TensorError> {
    let used = parts.iter().filter(|p| matches!(p, Part::Index(_) | Part::Slice(..))).count();
    let missing = tensor.rank() - used;
    let mut view = tensor.clone();
    let mut axis = 0;
    let end = |end: Option<End>| {
        end.map(|end| match end {
            End::Const(n) => n,
            End::Symbol(s, more) => values[s] + more,
        })
    };
    for part in parts {
        match *part {
            Part::Index(i) => view = view.index(axis, i)?,
            Part::Slice(start, stop, step) => {
                view = view.slice(axis, SliceSpec { start: end(start), stop: end(stop), step })?;
                axis += 1;
            }
            Part::NewAxis => {
                view = view.expand_dims(axis)?;
                axis += 1;
            }
            Part::Ellipsis => axis += missing,
        }
    }
    Ok(view)
}

/// One step as a program of its own, on data.
fn alone(program: &Program, k: usize, values: &[i64], done: &[Tensor]) -> Result<Tensor, String> {
    let step = &program.steps[k];
    if let Step::SizeOf(symbol) = step {
        return Ok(Tensor::scalar(values[*symbol]));
    }
    let data: Vec<LazyTensor> = done.iter().map(constant).collect();
    let tensor = step.apply(&program.inputs, &[], "", &data).map_err(|e| e.to_string())?;
    let trace = tj_ir::trace::trace(&[], &[tensor]).map_err(|e| e.to_string())?;
    let inputs: Vec<Tensor> = trace.inputs.iter().filter_map(|decl| decl.data.clone()).collect();
    let plan = Plan::from_trace(trace);
    let outputs = tj_plan::interpret(&plan, &inputs, &|_| None).map_err(|e| e.to_string())?;
    outputs.into_iter().next().ok_or_else(|| "no output".to_string())
}
