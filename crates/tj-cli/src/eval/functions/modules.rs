//! Functions of the modules `linalg`, `random` and `fft`.

use tensorjit::fft::{self, Norm};
use tensorjit::linalg::{self, MatrixNorm, Triangle};
use tensorjit::random::{self, Key};
use tensorjit::{Axes, DType, Dim, LazyTensor};

use crate::diagnostic::Diagnostic;
use crate::eval::Value;
use crate::eval::bound::Bound;

pub(super) fn of_linalg(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
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
        "matrix_norm" => {
            let norm = matrix_norm(bound)?;
            match bound.flag("keepdims")? {
                true => linalg::matrix_norm(&x, norm.keepdims()),
                false => linalg::matrix_norm(&x, norm),
            }
        }
        _ => linalg::vector_norm(&x, bound.axes()?, bound.float_or("ord", 2.0)?),
    })
}

pub(super) fn of_random(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
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

pub(super) fn of_fft(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
    let dtype = || bound.dtype_or("dtype", DType::F64);
    match function {
        "fftfreq" => return Ok(fft::fftfreq(bound.size("n")?, bound.float_or("d", 1.0)?, dtype()?)),
        "rfftfreq" => return Ok(fft::rfftfreq(bound.size("n")?, bound.float_or("d", 1.0)?, dtype()?)),
        _ => {}
    }
    let x = bound.tensor("x")?;
    let list = || -> Result<Axes, Diagnostic> {
        match bound.given("axes") {
            None => Ok(Axes::all()),
            Some(_) => Ok(Axes::from(bound.ints("axes")?.as_slice())),
        }
    };
    let points = || if bound.given("n").is_some() { bound.size("n").map(Some) } else { Ok(None) };
    let axis = || bound.int_or("axis", -1);
    let sizes = if bound.given("s").is_some() { Some(bound.sizes("s")?) } else { None };
    let sizes: Option<&[Dim]> = sizes.as_deref();
    let norm = || norm(bound);
    Ok(match function {
        "fft" => fft::fft(&x, points()?, axis()?, norm()?),
        "ifft" => fft::ifft(&x, points()?, axis()?, norm()?),
        "rfft" => fft::rfft(&x, points()?, axis()?, norm()?),
        "irfft" => fft::irfft(&x, points()?, axis()?, norm()?),
        "hfft" => fft::hfft(&x, points()?, axis()?, norm()?),
        "ihfft" => fft::ihfft(&x, points()?, axis()?, norm()?),
        "fftn" => fft::fftn(&x, sizes, list()?, norm()?),
        "ifftn" => fft::ifftn(&x, sizes, list()?, norm()?),
        "rfftn" => fft::rfftn(&x, sizes, list()?, norm()?),
        "irfftn" => fft::irfftn(&x, sizes, list()?, norm()?),
        "fftshift" => fft::fftshift(&x, list()?),
        _ => fft::ifftshift(&x, list()?),
    })
}

fn norm(bound: &Bound<'_>) -> Result<Norm, Diagnostic> {
    let Some((_, span)) = bound.given("norm") else { return Ok(Norm::Backward) };
    match bound.text("norm")?.as_str() {
        "backward" => Ok(Norm::Backward),
        "ortho" => Ok(Norm::Ortho),
        "forward" => Ok(Norm::Forward),
        _ => Err(Diagnostic::new("`norm` is \"backward\", \"ortho\" or \"forward\"", span)),
    }
}

/// The words and numbers of the array API; infinities are written `"inf"` and `"-inf"`.
fn matrix_norm(bound: &Bound<'_>) -> Result<MatrixNorm, Diagnostic> {
    let Some((value, span)) = bound.given("ord") else { return Ok(MatrixNorm::Frobenius) };
    let known = match value {
        Value::Text(word) => match word.as_str() {
            "fro" => Some(MatrixNorm::Frobenius),
            "nuc" => Some(MatrixNorm::Nuclear),
            "inf" => Some(MatrixNorm::Infinity),
            "-inf" => Some(MatrixNorm::MinusInfinity),
            _ => None,
        },
        Value::Int(1) => Some(MatrixNorm::One),
        Value::Int(-1) => Some(MatrixNorm::MinusOne),
        Value::Int(2) => Some(MatrixNorm::Two),
        Value::Int(-2) => Some(MatrixNorm::MinusTwo),
        Value::Tensor(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Bool(_)
        | Value::Size(_)
        | Value::Number(_)
        | Value::None
        | Value::Sequence(_) => None,
    };
    let words = "`ord` is \"fro\", \"nuc\", \"inf\", \"-inf\", 1, -1, 2 or -2";
    known.ok_or_else(|| Diagnostic::new(words, span))
}
