//! Functions that make tensors of sizes and numbers.

use tensorjit::{
    DType, End, LazyTensor, Number, arange, arange_in, empty, eye, full, geomspace, linspace, logspace, ones,
    zeros,
};

use super::scalar;
use crate::diagnostic::Diagnostic;
use crate::eval::Value;
use crate::eval::bound::Bound;

pub(super) fn created(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
    let dtype = || bound.dtype_or("dtype", DType::F64);
    Ok(match function {
        "arange" => {
            let (start, stop) = match bound.given("stop") {
                Some(_) => (number(bound, "start")?, number(bound, "stop")?),
                None => (Number::from(0), number(bound, "start")?),
            };
            let step = if bound.given("step").is_some() { number(bound, "step")? } else { Number::from(1) };
            match bound.given("dtype") {
                Some(_) => arange_in(start, stop, step, bound.dtype("dtype")?),
                None => arange(start, stop, step),
            }
        }
        "linspace" => {
            let (start, stop) = ends(bound)?;
            linspace(start, stop, bound.size("num")?, dtype()?)
        }
        "logspace" => {
            let (start, stop) = ends(bound)?;
            logspace(start, stop, bound.size("num")?, bound.float_or("base", 10.0)?, dtype()?)
        }
        "geomspace" => {
            let (start, stop) = ends(bound)?;
            geomspace(start, stop, bound.size("num")?, dtype()?)
        }
        "empty" => empty(bound.sizes("shape")?, dtype()?),
        "zeros" => zeros(bound.sizes("shape")?, dtype()?),
        "ones" => ones(bound.sizes("shape")?, dtype()?),
        "full" => full(bound.sizes("shape")?, scalar(bound)?),
        _ => {
            let rows = bound.size("rows")?;
            let columns =
                if bound.given("columns").is_some() { bound.size("columns")? } else { rows.clone() };
            eye(rows, columns, bound.int_or("k", 0)?, dtype()?)
        }
    })
}

fn number(bound: &Bound<'_>, name: &str) -> Result<Number, Diagnostic> {
    let (value, span) = bound.need(name)?;
    match value {
        Value::Float(x) => Ok(Number::from(*x)),
        Value::Tensor(_)
        | Value::Int(_)
        | Value::Bool(_)
        | Value::Size(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::None
        | Value::Sequence(_) => Ok(Number::from(value.as_size(span)?)),
    }
}

/// Where a line begins and ends.
fn ends(bound: &Bound<'_>) -> Result<(f64, End), Diagnostic> {
    let ((start, a), (stop, b)) = (bound.need("start")?, bound.need("stop")?);
    let stop = stop.as_float(b)?;
    let is_open = bound.given("endpoint").is_some() && !bound.flag("endpoint")?;
    Ok((start.as_float(a)?, if is_open { End::Excluded(stop) } else { End::Included(stop) }))
}
