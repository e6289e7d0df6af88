//! Functions of complex numbers, and those by names that NumPy has.

use tensorjit::{
    Close, LazyTensor, Mode, Operand, OptionalOperand, Side, column_stack, complex, convolve, correlate, dot,
    dstack, hstack, interp, vstack,
};

use super::{optional, way};
use crate::diagnostic::Diagnostic;
use crate::eval::bound::Bound;

/// Functions that do not take a tensor `x` first; `None` for all others.
pub(super) fn without_x(function: &str, bound: &Bound<'_>) -> Result<Option<LazyTensor>, Diagnostic> {
    Ok(Some(match function {
        "complex" => complex(bound.operand("real")?, bound.operand("imag")?),
        "hstack" => hstack(&bound.tensors("tensors")?),
        "vstack" => vstack(&bound.tensors("tensors")?),
        "dstack" => dstack(&bound.tensors("tensors")?),
        "column_stack" => column_stack(&bound.tensors("tensors")?),
        "trapezoid" => {
            let x = if bound.given("x").is_some() { bound.operand("x")? } else { Operand::Float(1.0) };
            bound.tensor("y")?.trapezoid(x, bound.int_or("axis", -1)?)
        }
        _ => return Ok(None),
    }))
}

/// Functions of a tensor `x`; `None` for all others.
pub(super) fn of_x(
    function: &str,
    x: &LazyTensor,
    bound: &Bound<'_>,
) -> Result<Option<LazyTensor>, Diagnostic> {
    let y = |name| bound.tensor(name);
    let axis = || bound.int_or("axis", -1);
    let weights = || -> Result<OptionalOperand, Diagnostic> { optional(bound, "weights") };
    Ok(Some(match function {
        "real" => x.real(),
        "imag" => x.imag(),
        "conj" => x.conj(),
        "angle" => x.angle(),
        "ravel" => x.ravel(),
        "fliplr" => x.fliplr(),
        "flipud" => x.flipud(),
        "rot90" => {
            let axes = if bound.given("axes").is_some() { bound.ints("axes")? } else { vec![0, 1] };
            let [first, second] = axes.as_slice() else {
                return Err(Diagnostic::new("`axes` are two axes", bound.span));
            };
            x.rot90(bound.int_or("k", 1)?, [*first, *second])
        }
        "isclose" => x.isclose(&y("y")?, close(bound)?),
        "allclose" => x.allclose(&y("y")?, close(bound)?),
        "array_equal" => x.array_equal(&y("y")?),
        "nan_to_num" => x.nan_to_num(
            bound.float_or("nan", 0.0)?,
            bound.maybe_float("posinf")?,
            bound.maybe_float("neginf")?,
        ),
        "fill_diagonal" => x.fill_diagonal(bound.operand("value")?),
        "digitize" => x.digitize(&y("bins")?, if bound.flag("right")? { Side::Right } else { Side::Left }),
        "bincount" => x.bincount(bound.size("length")?, weights()?),
        "histogram" => x.histogram(&y("edges")?, weights()?),
        "interp" => interp(x, &y("xp")?, &y("fp")?),
        "cov" => x.cov(bound.float_or("correction", 1.0)?),
        "corrcoef" => x.corrcoef(),
        "convolve" => convolve(x, &y("y")?, mode(bound, Mode::Full)?),
        "correlate" => correlate(x, &y("y")?, mode(bound, Mode::Valid)?),
        "gradient" => x.gradient(bound.float_or("spacing", 1.0)?, axis()?),
        "nancumsum" => x.nancumsum(way(x, bound)?),
        "nancumprod" => x.nancumprod(way(x, bound)?),
        "percentile" => {
            let (q, span) = bound.need("q")?;
            x.percentile(q.as_float(span)?, axis()?)
        }
        "dot" => dot(x, &y("y")?),
        _ => return Ok(None),
    }))
}

fn close(bound: &Bound<'_>) -> Result<Close, Diagnostic> {
    let Close { relative, absolute, .. } = Close::default();
    Ok(Close {
        relative: bound.float_or("rtol", relative)?,
        absolute: bound.float_or("atol", absolute)?,
        equal_nan: bound.flag("equal_nan")?,
    })
}

fn mode(bound: &Bound<'_>, otherwise: Mode) -> Result<Mode, Diagnostic> {
    let Some((_, span)) = bound.given("mode") else { return Ok(otherwise) };
    match bound.text("mode")?.as_str() {
        "full" => Ok(Mode::Full),
        "same" => Ok(Mode::Same),
        "valid" => Ok(Mode::Valid),
        _ => Err(Diagnostic::new("`mode` is \"full\", \"same\" or \"valid\"", span)),
    }
}
