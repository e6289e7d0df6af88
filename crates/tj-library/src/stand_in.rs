//! Some functions, plainly, until the crate has all of them.

use std::cmp::Ordering;
use std::ops::Range;

use tj_ir::{Function, ReduceOp};
use tj_tensor::{DType, Scalar};

use crate::{Array, ArrayMut, LibraryError};

/// As [`crate::run`].
pub(crate) fn run(
    function: Function,
    args: &[Array<'_>],
    results: &mut [ArrayMut<'_>],
    rows: Range<usize>,
) -> Result<(), LibraryError> {
    let error = |problem: String| LibraryError::Shape { function: function.name(), problem };
    let x = &args[0];
    let shape = x.shape;
    let out = &mut results[0];
    match function {
        Function::Sort { descending } | Function::Argsort { descending } => {
            let n = shape[shape.len() - 1];
            for (at, row) in rows.enumerate() {
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by(|&a, &b| {
                    let (a, b) = (get(x, row * n + a), get(x, row * n + b));
                    let (a, b) = if descending && !nan(a) && !nan(b) { (b, a) } else { (a, b) };
                    compare(a, b)
                });
                for (i, &from) in order.iter().enumerate() {
                    let sorts = matches!(function, Function::Sort { .. });
                    let value = if sorts { get(x, row * n + from) } else { Scalar::I64(from as i64) };
                    set(out, at * n + i, value);
                }
            }
        }
        Function::Scan { op: ReduceOp::Sum, initial, .. } => {
            let n = shape[shape.len() - 1];
            for (at, row) in rows.enumerate() {
                let m = n + usize::from(initial);
                let mut total = Scalar::zero(x.dtype);
                if initial {
                    set(out, at * m, total);
                }
                for i in 0..n {
                    total = add(total, get(x, row * n + i));
                    set(out, at * m + i + usize::from(initial), total);
                }
            }
        }
        Function::Take => {
            let (n, k) = (shape[shape.len() - 2], shape[shape.len() - 1]);
            let m = args[1].shape[0];
            for (at, row) in rows.enumerate() {
                for j in 0..m {
                    let from = position(&args[1], j, n).map_err(error)?;
                    for c in 0..k {
                        set(out, (at * m + j) * k + c, get(x, (row * n + from) * k + c));
                    }
                }
            }
        }
        Function::TakeAlong => {
            let n = shape[shape.len() - 1];
            let m = args[1].shape[args[1].shape.len() - 1];
            for (at, row) in rows.enumerate() {
                for j in 0..m {
                    let from = position(&args[1], row * m + j, n).map_err(error)?;
                    set(out, at * m + j, get(x, row * n + from));
                }
            }
        }
        _ => return Err(error("is not there yet".to_string())),
    }
    Ok(())
}

fn position(at: &Array<'_>, index: usize, n: usize) -> Result<usize, String> {
    let p = get(at, index).to_i64();
    let from_start = if p < 0 { p + n as i64 } else { p };
    usize::try_from(from_start)
        .ok()
        .filter(|&p| p < n)
        .ok_or_else(|| format!("position {p} is outside of an axis of size {n}"))
}

fn add(a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Scalar::F32(a), Scalar::F32(b)) => Scalar::F32(a + b),
        (Scalar::F64(a), Scalar::F64(b)) => Scalar::F64(a + b),
        (a, b) => Scalar::I64(a.to_i64().wrapping_add(b.to_i64())).cast(a.dtype()),
    }
}

fn nan(a: Scalar) -> bool {
    a.to_f64().is_nan()
}

fn compare(a: Scalar, b: Scalar) -> Ordering {
    if a.dtype().is_float() {
        let (a, b) = (a.to_f64(), b.to_f64());
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    } else if a.dtype() == DType::U64 {
        (a.to_i64() as u64).cmp(&(b.to_i64() as u64))
    } else {
        a.to_i64().cmp(&b.to_i64())
    }
}

fn get(x: &Array<'_>, at: usize) -> Scalar {
    let size = x.dtype.size();
    let mut bits = [0; 16];
    bits[..size].copy_from_slice(&x.bytes[at * size..(at + 1) * size]);
    Scalar::from_bits(x.dtype, u128::from_le_bytes(bits))
}

fn set(x: &mut ArrayMut<'_>, at: usize, value: Scalar) {
    let size = x.dtype.size();
    x.bytes[at * size..(at + 1) * size].copy_from_slice(&value.bits().to_le_bytes()[..size]);
}
