//! The functions that are not operators of the table: their parameters, and what they call.
//!
//! Names, order and defaults are those of the array API where it has the function; `axis=-1` where it reduces nothing.

use tensorjit::linalg::{self, Factors, MatrixNorm, Triangle};
use tensorjit::random::{self, Key};
use tensorjit::{
    Along, Axes, DType, Dim, Dot, Indexing, LazyTensor, Order, Side, along, arange, broadcast_arrays, concat,
    cross, einsum, eye, full, inner, kron, linspace, meshgrid, ones, outer, stack, tensordot, vecdot, zeros,
};

use super::Value;
use super::bound::Bound;
use crate::diagnostic::Diagnostic;

/// Words before a dot that are no receivers.
pub(super) const MODULES: &[&str] = &["linalg", "random"];

/// Functions and their parameters. A star takes all positional arguments that are left.
pub(super) const FUNCTIONS: &[(&str, &[&str])] = &[
    ("sum", &["x", "axis", "keepdims", "dtype"]),
    ("prod", &["x", "axis", "keepdims", "dtype"]),
    ("max", &["x", "axis", "keepdims"]),
    ("min", &["x", "axis", "keepdims"]),
    ("mean", &["x", "axis", "keepdims"]),
    ("any", &["x", "axis", "keepdims"]),
    ("all", &["x", "axis", "keepdims"]),
    ("count_nonzero", &["x", "axis", "keepdims"]),
    ("ptp", &["x", "axis", "keepdims"]),
    ("logsumexp", &["x", "axis", "keepdims"]),
    ("nansum", &["x", "axis", "keepdims"]),
    ("nanprod", &["x", "axis", "keepdims"]),
    ("nanmax", &["x", "axis", "keepdims"]),
    ("nanmin", &["x", "axis", "keepdims"]),
    ("nanmean", &["x", "axis", "keepdims"]),
    ("var", &["x", "axis", "correction", "keepdims"]),
    ("std", &["x", "axis", "correction", "keepdims"]),
    ("nanvar", &["x", "axis", "correction", "keepdims"]),
    ("nanstd", &["x", "axis", "correction", "keepdims"]),
    ("average", &["x", "weights", "axis", "keepdims"]),
    ("argmax", &["x", "axis"]),
    ("argmin", &["x", "axis"]),
    ("median", &["x", "axis"]),
    ("quantile", &["x", "q", "axis"]),
    ("softmax", &["x", "axis"]),
    ("log_softmax", &["x", "axis"]),
    ("cumulative_sum", &["x", "axis", "include_initial"]),
    ("cumulative_prod", &["x", "axis", "include_initial"]),
    ("cumulative_max", &["x", "axis", "include_initial"]),
    ("cumulative_min", &["x", "axis", "include_initial"]),
    ("diff", &["x", "axis", "n"]),
    ("sort", &["x", "axis", "descending"]),
    ("argsort", &["x", "axis", "descending"]),
    ("searchsorted", &["x", "values", "side"]),
    ("nonzero", &["x"]),
    ("argwhere", &["x"]),
    ("compress", &["x", "condition", "axis"]),
    ("unique_values", &["x"]),
    ("unique_counts", &["x"]),
    ("unique_inverse", &["x"]),
    ("unique_all", &["x"]),
    ("take", &["x", "indices", "axis"]),
    ("take_along_axis", &["x", "indices", "axis"]),
    ("scatter_add", &["x", "indices", "updates", "axis"]),
    ("matmul", &["x", "y"]),
    ("tensordot", &["x", "y", "axes"]),
    ("vecdot", &["x", "y", "axis"]),
    ("inner", &["x", "y"]),
    ("outer", &["x", "y"]),
    ("kron", &["x", "y"]),
    ("cross", &["x", "y", "axis"]),
    ("einsum", &["subscripts", "*operands"]),
    ("transpose", &["x"]),
    ("matrix_transpose", &["x"]),
    ("permute", &["x", "*axes"]),
    ("permute_dims", &["x", "*axes"]),
    ("swapaxes", &["x", "first", "second"]),
    ("moveaxis", &["x", "from", "to"]),
    ("reshape", &["x", "*shape"]),
    ("flatten", &["x"]),
    ("broadcast_to", &["x", "*shape"]),
    ("broadcast_arrays", &["*tensors"]),
    ("meshgrid", &["*tensors"]),
    ("expand_dims", &["x", "axis"]),
    ("squeeze", &["x", "axis"]),
    ("flip", &["x", "axis"]),
    ("roll", &["x", "shift", "axis"]),
    ("repeat", &["x", "count", "axis"]),
    ("tile", &["x", "*counts"]),
    ("pad", &["x", "widths", "value"]),
    ("concat", &["tensors", "axis"]),
    ("stack", &["tensors", "axis"]),
    ("unstack", &["x", "axis"]),
    ("tril", &["x", "k"]),
    ("triu", &["x", "k"]),
    ("diagonal", &["x", "k"]),
    ("diag", &["x", "k"]),
    ("trace", &["x", "k"]),
    ("clip", &["x", "min", "max"]),
    ("positive", &["x"]),
    ("cast", &["x", "dtype"]),
    ("astype", &["x", "dtype"]),
    ("arange", &["start", "stop", "step"]),
    ("linspace", &["start", "stop", "num", "dtype"]),
    ("zeros", &["shape", "dtype"]),
    ("ones", &["shape", "dtype"]),
    ("full", &["shape", "value"]),
    ("eye", &["rows", "columns", "k", "dtype"]),
    ("zeros_like", &["x"]),
    ("ones_like", &["x"]),
    ("full_like", &["x", "value"]),
    ("linalg.cholesky", &["x", "upper"]),
    ("linalg.det", &["x"]),
    ("linalg.slogdet", &["x"]),
    ("linalg.inv", &["x"]),
    ("linalg.solve", &["x", "y"]),
    ("linalg.qr", &["x", "mode"]),
    ("linalg.svd", &["x", "full_matrices"]),
    ("linalg.svdvals", &["x"]),
    ("linalg.eigh", &["x"]),
    ("linalg.eigvalsh", &["x"]),
    ("linalg.matrix_rank", &["x", "tolerance"]),
    ("linalg.pinv", &["x", "tolerance"]),
    ("linalg.matrix_power", &["x", "n"]),
    ("linalg.matrix_norm", &["x"]),
    ("linalg.vector_norm", &["x", "axis", "keepdims", "ord"]),
    ("random.bits", &["key", "shape"]),
    ("random.uniform", &["key", "shape", "dtype"]),
    ("random.normal", &["key", "shape", "dtype"]),
    ("random.integers", &["key", "low", "high", "shape", "dtype"]),
];

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
        return of_linalg(module, bound);
    }
    if let Some(module) = function.strip_prefix("random.") {
        return of_random(module, bound);
    }
    match function {
        "arange" | "linspace" | "zeros" | "ones" | "full" | "eye" => return created(function, bound),
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
    let y = |name| bound.tensor(name);
    Ok(match function {
        "cumulative_sum" => x.cumulative_sum(way(&x, bound)?),
        "cumulative_prod" => x.cumulative_prod(way(&x, bound)?),
        "cumulative_max" => x.cumulative_max(way(&x, bound)?),
        "cumulative_min" => x.cumulative_min(way(&x, bound)?),
        "diff" => {
            let (value, span) = bound.get("n").unwrap_or((&Value::Int(1), bound.span));
            let times = u32::try_from(value.as_int(span)?);
            x.diff(times.map_err(|_| value.not("a number of times", span))?, bound.int_or("axis", -1)?)
        }
        "sort" => x.sort(bound.int_or("axis", -1)?, order(bound)?),
        "argsort" => x.argsort(bound.int_or("axis", -1)?, order(bound)?),
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
        "clip" => x.clip(bound.operand("min")?, bound.operand("max")?),
        "positive" => x.positive(),
        "cast" | "astype" => x.cast(bound.dtype("dtype")?),
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
        "argmax" => x.argmax(bound.maybe_int("axis")?),
        "argmin" => x.argmin(bound.maybe_int("axis")?),
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
        "roll" => x.roll(bound.size("shift")?, bound.maybe_int("axis")?),
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
        "trace" => x.trace(offset()?),
        _ => return Err(Diagnostic::new(format!("`{function}` cannot be called"), bound.span)),
    })
}

fn created(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
    let dtype = || bound.dtype_or("dtype", DType::F64);
    Ok(match function {
        "arange" => {
            let (start, stop) = match bound.given("stop") {
                Some(_) => (bound.size("start")?, bound.size("stop")?),
                None => (Dim::from(0), bound.size("start")?),
            };
            arange(start, stop, bound.int_or("step", 1)?)
        }
        "linspace" => {
            let ((start, a), (stop, b)) = (bound.need("start")?, bound.need("stop")?);
            linspace(start.as_float(a)?, stop.as_float(b)?, bound.size("num")?, dtype()?)
        }
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

fn of_linalg(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
    let x = bound.tensor("x")?;
    Ok(match function {
        "cholesky" => {
            let upper = bound.flag("upper")?;
            linalg::cholesky(&x, if upper { Triangle::Upper } else { Triangle::Lower })
        }
        "det" => linalg::det(&x),
        "inv" => linalg::inv(&x),
        "solve" => linalg::solve(&x, &bound.tensor("y")?),
        "svdvals" => linalg::svdvals(&x),
        "eigvalsh" => linalg::eigvalsh(&x),
        "matrix_rank" => linalg::matrix_rank(&x, bound.maybe_float("tolerance")?),
        "pinv" => linalg::pinv(&x, bound.maybe_float("tolerance")?),
        "matrix_power" => linalg::matrix_power(&x, bound.int("n")?),
        "matrix_norm" => linalg::matrix_norm(&x, MatrixNorm::Frobenius),
        _ => linalg::vector_norm(&x, bound.axes()?, bound.float_or("ord", 2.0)?),
    })
}

fn of_random(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
    let key = Key::from(bound.int("key")?.cast_unsigned());
    let shape = if bound.given("shape").is_some() { bound.sizes("shape")? } else { Vec::new() };
    let dtype = |otherwise| bound.dtype_or("dtype", otherwise);
    Ok(match function {
        "bits" => random::bits(key, shape),
        "uniform" => random::uniform(key, shape, dtype(DType::F64)?),
        "normal" => random::normal(key, shape, dtype(DType::F64)?),
        _ => random::integers(key, bound.int("low")?, bound.int("high")?, shape, dtype(DType::I64)?),
    })
}

/// The axes that are one probability, by default the last.
fn last(bound: &Bound<'_>) -> Result<Axes, Diagnostic> {
    Ok(if bound.given("axis").is_some() { bound.axes()? } else { Axes::from(-1) })
}

/// Along which axis a cumulative function runs; it can be left out where there is one.
fn way(x: &LazyTensor, bound: &Bound<'_>) -> Result<Along, Diagnostic> {
    let axis = if x.rank() == 1 { bound.int_or("axis", 0)? } else { bound.int("axis")? };
    Ok(if bound.flag("include_initial")? { along(axis).include_initial() } else { along(axis) })
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
    match value {
        Value::Int(n) => Ok((*n).into()),
        Value::Float(x) => Ok((*x).into()),
        Value::Bool(b) => Ok((*b).into()),
        Value::Tensor(_) | Value::Size(_) | Value::Text(_) | Value::None | Value::Sequence(_) => {
            Err(value.not("a number", span))
        }
    }
}
