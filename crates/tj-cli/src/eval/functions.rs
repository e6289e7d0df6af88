//! The functions that are not operators of the table: their parameters, and what they call.
//!
//! Names, order and defaults are those of the array API where it has the function; `axis=-1` where it reduces nothing.

use tensorjit::linalg::{self, Factors};
use tensorjit::{
    Along, Axes, Dim, Dot, Indexing, LazyTensor, OptionalOperand, Order, Shifts, Side, along,
    broadcast_arrays, concat, cross, einsum, inner, kron, meshgrid, outer, stack, tensordot, vecdot,
};

mod create;
mod modules;
mod numpy;
mod table;

use super::bound::Bound;
use super::{Value, format_of};
use crate::diagnostic::Diagnostic;

pub(super) use table::FUNCTIONS;

/// Words before a dot that are no receivers.
pub(super) const MODULES: &[&str] = &["linalg", "random", "fft"];

/// What a function gives.
pub(super) enum Results {
    /// A tensor.
    One(LazyTensor),
    /// A tuple.
    Several(Vec<LazyTensor>),
}

/// Calls one of [`FUNCTIONS`].
pub(super) fn run(function: &str, bound: &Bound<'_>) -> Result<Results, Diagnostic> {
    let several = match function {
        "split" => {
            let (parts, span) = bound.need("parts")?;
            let count = usize::try_from(parts.as_int(span)?);
            let count = count.map_err(|_| parts.not("a number of parts", span))?;
            bound.tensor("x")?.split(count, bound.int_or("axis", 0)?)
        }
        "unstack" => bound.tensor("x")?.unstack(bound.int_or("axis", 0)?),
        "nonzero" => bound.tensor("x")?.nonzero(),
        "unique_counts" => <[_; 2]>::from(bound.tensor("x")?.unique_counts()).into(),
        "unique_inverse" => <[_; 2]>::from(bound.tensor("x")?.unique_inverse()).into(),
        "unique_all" => <[_; 4]>::from(bound.tensor("x")?.unique_all()).into(),
        "broadcast_arrays" => broadcast_arrays(&bound.tensors("tensors")?),
        "meshgrid" => meshgrid(&bound.tensors("tensors")?, Indexing::Xy),
        "linalg.slogdet" => <[_; 2]>::from(linalg::slogdet(&bound.tensor("x")?)).into(),
        "linalg.eigh" => <[_; 2]>::from(linalg::eigh(&bound.tensor("x")?)).into(),
        "linalg.qr" => {
            let factors = match bound.given("mode") {
                Some(_) if bound.text("mode")? == "complete" => Factors::Complete,
                Some((_, span)) if bound.text("mode")? != "reduced" => {
                    return Err(Diagnostic::new("`mode` is \"reduced\" or \"complete\"", span));
                }
                _ => Factors::Reduced,
            };
            <[_; 2]>::from(linalg::qr(&bound.tensor("x")?, factors)).into()
        }
        "linalg.svd" => {
            let factors = if bound.flag("full_matrices")? { Factors::Complete } else { Factors::Reduced };
            <[_; 3]>::from(linalg::svd(&bound.tensor("x")?, factors)).into()
        }
        _ => return Ok(Results::One(one(function, bound)?)),
    };
    Ok(Results::Several(several))
}

fn one(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
    if let Some(module) = function.strip_prefix("linalg.") {
        return modules::of_linalg(module, bound);
    }
    if let Some(module) = function.strip_prefix("random.") {
        return modules::of_random(module, bound);
    }
    if let Some(module) = function.strip_prefix("fft.") {
        return modules::of_fft(module, bound);
    }
    if let Some(made) = numpy::without_x(function, bound)? {
        return Ok(made);
    }
    match function {
        "arange" | "linspace" | "logspace" | "geomspace" | "empty" | "zeros" | "ones" | "full" | "eye" => {
            return create::created(function, bound);
        }
        "concat" => {
            let axis = match bound.get("axis") {
                Some((Value::None, _)) => None,
                _ => Some(bound.int_or("axis", 0)?),
            };
            return Ok(concat(&bound.tensors("tensors")?, axis));
        }
        "stack" => return Ok(stack(&bound.tensors("tensors")?, bound.int_or("axis", 0)?)),
        "einsum" => {
            let operands = bound.tensors("operands")?;
            return Ok(einsum(&bound.text("subscripts")?, &operands.iter().collect::<Vec<_>>()));
        }
        _ => {}
    }
    let x = bound.tensor("x")?;
    if let Some(reduced) = reduced(function, &x, bound)? {
        return Ok(reduced);
    }
    if let Some(made) = numpy::of_x(function, &x, bound)? {
        return Ok(made);
    }
    let y = |name| bound.tensor(name);
    Ok(match function {
        "cumulative_sum" => x.cumulative_sum(way(&x, bound)?),
        "cumulative_prod" => x.cumulative_prod(way(&x, bound)?),
        "cumulative_max" => x.cumulative_max(way(&x, bound)?),
        "cumulative_min" => x.cumulative_min(way(&x, bound)?),
        "diff" => {
            let (value, span) = bound.get("n").unwrap_or((&Value::Int(1), bound.span));
            let times = u32::try_from(value.as_int(span)?);
            let times = times.map_err(|_| value.not("a number of times", span))?;
            x.diff_with(
                times,
                bound.int_or("axis", -1)?,
                optional(bound, "prepend")?,
                optional(bound, "append")?,
            )
        }
        "sort" => x.sort(bound.int_or("axis", -1)?, order(bound)?),
        "argsort" => x.argsort(bound.int_or("axis", -1)?, order(bound)?),
        "searchsorted" if bound.given("sorter").is_some() => {
            x.searchsorted_by(&y("values")?, side(bound)?, &y("sorter")?)
        }
        "searchsorted" => x.searchsorted(&y("values")?, side(bound)?),
        "argwhere" => x.argwhere(),
        "compress" => x.compress(&y("condition")?, bound.maybe_int("axis")?),
        "unique_values" => x.unique_values(),
        "take" => x.take(&y("indices")?, bound.int_or("axis", 0)?),
        "take_along_axis" => x.take_along_axis(&y("indices")?, bound.int_or("axis", -1)?),
        "scatter_add" => x.scatter_add(&y("indices")?, &y("updates")?, bound.int_or("axis", 0)?),
        "matmul" => x.matmul(&y("y")?),
        "tensordot" => tensordot(&x, &y("y")?, dot(bound)?),
        "vecdot" => vecdot(&x, &y("y")?, bound.int_or("axis", -1)?),
        "inner" => inner(&x, &y("y")?),
        "outer" => outer(&x, &y("y")?),
        "kron" => kron(&x, &y("y")?),
        "cross" => cross(&x, &y("y")?, bound.int_or("axis", -1)?),
        "clip" => x.clip(optional(bound, "min")?, optional(bound, "max")?),
        "positive" => x.positive(),
        "with_format" => {
            let (_, span) = bound.need("format")?;
            x.with_format(&format_of(&bound.text("format")?, span)?)
        }
        "to_dense" => x.to_dense(),
        "cast" | "astype" => x.cast(bound.dtype("dtype")?),
        "empty_like" => x.empty_like(),
        "zeros_like" => x.zeros_like(),
        "ones_like" => x.ones_like(),
        "full_like" => x.full_like(scalar(bound)?),
        _ => moved(function, x, bound)?,
    })
}

/// Functions that combine the elements along axes.
fn reduced(function: &str, x: &LazyTensor, bound: &Bound<'_>) -> Result<Option<LazyTensor>, Diagnostic> {
    let correction = || bound.float_or("correction", 0.0);
    let dtype = bound.given("dtype").is_some();
    Ok(Some(match function {
        "sum" if dtype => x.sum_in(bound.axes()?, bound.dtype("dtype")?),
        "prod" if dtype => x.prod_in(bound.axes()?, bound.dtype("dtype")?),
        "sum" => x.sum(bound.axes()?),
        "prod" => x.prod(bound.axes()?),
        "max" => x.max(bound.axes()?),
        "min" => x.min(bound.axes()?),
        "mean" => x.mean(bound.axes()?),
        "any" => x.any(bound.axes()?),
        "all" => x.all(bound.axes()?),
        "count_nonzero" => x.count_nonzero(bound.axes()?),
        "ptp" => x.ptp(bound.axes()?),
        "logsumexp" => x.logsumexp(bound.axes()?),
        "nansum" => x.nansum(bound.axes()?),
        "nanprod" => x.nanprod(bound.axes()?),
        "nanmax" => x.nanmax(bound.axes()?),
        "nanmin" => x.nanmin(bound.axes()?),
        "nanmean" => x.nanmean(bound.axes()?),
        "var" => x.var(bound.axes()?, correction()?),
        "std" => x.std(bound.axes()?, correction()?),
        "nanvar" => x.nanvar(bound.axes()?, correction()?),
        "nanstd" => x.nanstd(bound.axes()?, correction()?),
        "average" => x.average(bound.axes()?, &bound.tensor("weights")?),
        "argmax" => x.argmax(bound.axes()?),
        "argmin" => x.argmin(bound.axes()?),
        "median" => x.median(bound.int_or("axis", -1)?),
        "quantile" => {
            let (q, span) = bound.need("q")?;
            x.quantile(q.as_float(span)?, bound.int_or("axis", -1)?)
        }
        "softmax" => x.softmax(last(bound)?),
        "log_softmax" => x.log_softmax(last(bound)?),
        _ => return Ok(None),
    }))
}

/// Functions that put elements elsewhere.
fn moved(function: &str, x: LazyTensor, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
    let offset = || bound.int_or("k", 0);
    Ok(match function {
        "transpose" => x.transpose(),
        "matrix_transpose" => x.matrix_transpose(),
        "permute" | "permute_dims" => x.permute(&bound.ints("axes")?),
        "swapaxes" => x.swapaxes(bound.int("first")?, bound.int("second")?),
        "moveaxis" => x.moveaxis(&bound.ints("from")?, &bound.ints("to")?),
        "reshape" => {
            let open = |d: &Dim| if d.is_const() == Some(-1) { None } else { Some(d.clone()) };
            x.reshape(&bound.sizes("shape")?.iter().map(open).collect::<Vec<_>>())
        }
        "flatten" => x.flatten(),
        "broadcast_to" => x.broadcast_to(&bound.sizes("shape")?),
        "expand_dims" => x.expand_dims(bound.ints("axis")?.as_slice()),
        "squeeze" => x.squeeze(bound.ints("axis")?.as_slice()),
        "flip" => x.flip(bound.axes()?),
        "roll" => x.roll(Shifts::from(bound.sizes("shift")?), bound.axes()?),
        "repeat" => match bound.need("count")?.0 {
            Value::Tensor(counts) => x.repeat(counts, bound.maybe_int("axis")?),
            _ => x.repeat(bound.size("count")?, bound.maybe_int("axis")?),
        },
        "tile" => x.tile(bound.sizes("counts")?),
        "pad" => {
            x.pad(widths(bound)?, if bound.get("value").is_some() { scalar(bound)? } else { 0_i64.into() })
        }
        "tril" => x.tril(offset()?),
        "triu" => x.triu(offset()?),
        "diagonal" => x.diagonal(offset()?),
        "diag" => x.diag(offset()?),
        "trace" if bound.given("dtype").is_some() => x.trace_in(offset()?, bound.dtype("dtype")?),
        "trace" => x.trace(offset()?),
        _ => return Err(Diagnostic::new(format!("`{function}` cannot be called"), bound.span)),
    })
}

/// An argument that may be missing.
fn optional(bound: &Bound<'_>, name: &str) -> Result<OptionalOperand, Diagnostic> {
    let given = bound.given(name).map(|_| bound.operand(name)).transpose()?;
    Ok(OptionalOperand::from(given))
}

/// The axes that are one probability, by default the last.
fn last(bound: &Bound<'_>) -> Result<Axes, Diagnostic> {
    Ok(if bound.given("axis").is_some() { bound.axes()? } else { Axes::from(-1) })
}

/// Along which axis a cumulative function runs; it can be left out where there is one.
fn way(x: &LazyTensor, bound: &Bound<'_>) -> Result<Along, Diagnostic> {
    let axis = if x.rank() == 1 { bound.int_or("axis", 0)? } else { bound.int("axis")? };
    let way = if bound.flag("include_initial")? { along(axis).include_initial() } else { along(axis) };
    Ok(if bound.given("dtype").is_some() { way.in_dtype(bound.dtype("dtype")?) } else { way })
}

fn order(bound: &Bound<'_>) -> Result<Order, Diagnostic> {
    Ok(if bound.flag("descending")? { Order::Descending } else { Order::Ascending })
}

fn side(bound: &Bound<'_>) -> Result<Side, Diagnostic> {
    let Some((_, span)) = bound.given("side") else { return Ok(Side::Left) };
    match bound.text("side")?.as_str() {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        _ => Err(Diagnostic::new("`side` is \"left\" or \"right\"", span)),
    }
}

/// A number of axes, or two lists of them.
fn dot(bound: &Bound<'_>) -> Result<Dot, Diagnostic> {
    let Some((value, span)) = bound.given("axes") else { return Ok(Dot::from(2)) };
    let ints = |value: &Value| -> Result<Vec<i64>, Diagnostic> {
        value.as_items().iter().map(|item| item.as_int(span)).collect()
    };
    match value {
        Value::Sequence(pair) if pair.len() == 2 => Ok(Dot::Pairs(ints(&pair[0])?, ints(&pair[1])?)),
        _ => {
            let count = usize::try_from(value.as_int(span)?);
            Ok(Dot::from(count.map_err(|_| value.not("a number of axes or two lists of axes", span))?))
        }
    }
}

/// `((1, 2), (0, 0))`: how much comes before and after along each axis.
fn widths(bound: &Bound<'_>) -> Result<Vec<(Dim, Dim)>, Diagnostic> {
    let (value, span) = bound.need("widths")?;
    let pair = |item: &Value| match item.as_items().as_slice() {
        [before, after] => Ok((before.as_size(span)?, after.as_size(span)?)),
        _ => Err(item.not("a pair of widths", span)),
    };
    value.as_items().iter().map(pair).collect()
}

fn scalar(bound: &Bound<'_>) -> Result<tensorjit::Scalar, Diagnostic> {
    let (value, span) = bound.need("value")?;
    value.as_scalar(span)
}
