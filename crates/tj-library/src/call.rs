//! A call, checked once, so that the functions need not look at shapes again.
//!
//! **Invariants** of a [`Call`] that exists: as many arguments and results as the function takes, with equal rows;
//! cores and dtypes as `tj_ir::Function` says; as many bytes as the shapes say; `rows` inside the rows there are. The
//! slices that [`Call::row`] and [`row_mut`] cut are therefore inside their arrays.

use std::ops::Range;

use bytemuck::Pod;
use smallvec::SmallVec;
use tj_ir::{Combine, Field, Function, ReduceOp};
use tj_tensor::DType;

use crate::{Array, ArrayMut, LibraryError};

/// The arguments of one call.
pub(crate) struct Call<'a> {
    /// Name of the function, for messages.
    pub(crate) function: &'static str,
    /// The rows to compute.
    pub(crate) rows: Range<usize>,
    args: &'a [Array<'a>],
    n_row_axes: usize,
}

impl<'a> Call<'a> {
    /// Checks everything that can be told without a value.
    pub(crate) fn new(
        function: Function,
        args: &'a [Array<'a>],
        results: &[ArrayMut<'_>],
        rows: Range<usize>,
    ) -> Result<Call<'a>, LibraryError> {
        let problem = match find_problem(function, args, results, &rows) {
            Ok(n_row_axes) => {
                // Rows that neither read nor write are all alike, and there may be more than can be counted through.
                let (arg_cores, _) = function.core();
                let reads =
                    args.iter().zip(&arg_cores).any(|(a, core)| core.is_some() && !a.bytes.is_empty());
                let idle = !reads && results.iter().all(|result| result.bytes.is_empty());
                let end = if idle { rows.end.min(rows.start.saturating_add(1)) } else { rows.end };
                let rows = rows.start..end;
                return Ok(Call { function: function.name(), rows, args, n_row_axes });
            }
            Err(problem) => problem,
        };
        Err(LibraryError::Shape { function: function.name(), problem })
    }

    /// Extents of an argument behind its rows.
    pub(crate) fn core(&self, arg: usize) -> &'a [usize] {
        &self.args[arg].shape[self.n_row_axes..]
    }

    /// Number of axes that are rows.
    pub(crate) fn n_row_axes(&self) -> usize {
        self.n_row_axes
    }

    /// All elements of an argument.
    pub(crate) fn elements<T: Pod>(&self, arg: usize) -> Result<&'a [T], LibraryError> {
        let bytes = self.args[arg].bytes;
        // No bytes may come from anywhere, such as a literal without alignment.
        if bytes.is_empty() {
            return Ok(&[]);
        }
        bytemuck::try_cast_slice(bytes).map_err(|e| self.broken(&e))
    }

    /// The elements of a result.
    pub(crate) fn elements_mut<'r, T: Pod>(
        &self,
        result: &'r mut ArrayMut<'_>,
    ) -> Result<&'r mut [T], LibraryError> {
        if result.bytes.is_empty() {
            return Ok(&mut []);
        }
        bytemuck::try_cast_slice_mut(result.bytes).map_err(|e| self.broken(&e))
    }

    /// The error of a dtype that [`Call::new`] should have refused.
    pub(crate) fn refuse(&self, dtype: DType) -> LibraryError {
        LibraryError::Shape { function: self.function, problem: format!("does not take {dtype}") }
    }

    fn broken(&self, error: &bytemuck::PodCastError) -> LibraryError {
        LibraryError::Shape { function: self.function, problem: format!("an array is not laid out: {error}") }
    }
}

/// Row `row` of elements that come in rows of `len`.
pub(crate) fn row<T>(elements: &[T], row: usize, len: usize) -> &[T] {
    &elements[row * len..][..len]
}

/// As [`row`].
pub(crate) fn row_mut<T>(elements: &mut [T], row: usize, len: usize) -> &mut [T] {
    &mut elements[row * len..][..len]
}

/// Number of row axes, or what is wrong.
fn find_problem(
    function: Function,
    args: &[Array<'_>],
    results: &[ArrayMut<'_>],
    rows: &Range<usize>,
) -> Result<usize, String> {
    let (arg_cores, result_cores) = function.core();
    if (args.len(), results.len()) != function.arity() {
        return Err(format!("{} arguments and {} results", args.len(), results.len()));
    }
    let first_core = arg_cores.first().copied().flatten().unwrap_or(0);
    let n_row_axes = args[0].shape.len().checked_sub(first_core).ok_or("too few axes")?;
    let row_shape = &args[0].shape[..n_row_axes];
    let core = |shape: &'_ [usize], n_core: usize| {
        let fits = shape.len() == n_row_axes + n_core && shape.starts_with(row_shape);
        if fits {
            Ok(SmallVec::<[usize; 4]>::from_slice(&shape[n_row_axes..]))
        } else {
            Err(format!("shape {shape:?} has not rows {row_shape:?} and {n_core} more axes"))
        }
    };

    let mut a = SmallVec::<[SmallVec<[usize; 4]>; 3]>::new();
    for (arg, n_core) in args.iter().zip(&arg_cores) {
        need_bytes(arg.shape, arg.bytes.len(), arg.dtype)?;
        a.push(match n_core {
            Some(n_core) => core(arg.shape, *n_core)?,
            None if arg.shape.len() == 1 => SmallVec::from_slice(arg.shape),
            None => return Err(format!("positions of shape {:?}", arg.shape)),
        });
    }
    let n_rows = count(row_shape).ok_or("too many rows")?;
    if rows.start > rows.end || rows.end > n_rows {
        return Err(format!("rows {rows:?} of {n_rows}"));
    }
    let mut r = SmallVec::<[SmallVec<[usize; 4]>; 3]>::new();
    for (result, n_core) in results.iter().zip(&result_cores) {
        let core = core(result.shape, *n_core)?;
        let mut here = core.clone();
        here.push(rows.len());
        need_bytes(&here, result.bytes.len(), result.dtype)?;
        r.push(core);
    }
    check_cores(function, &a, &r)?;
    check_dtypes(function, args, results)?;
    Ok(n_row_axes)
}

/// Number of elements of a shape, if it can be counted.
fn count(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |n, size| n.checked_mul(*size))
}

fn need_bytes(shape: &[usize], found: usize, dtype: DType) -> Result<(), String> {
    match count(shape).and_then(|n| n.checked_mul(dtype.size())) {
        Some(expected) if expected == found => Ok(()),
        _ => Err(format!("{found} bytes for shape {shape:?} of {dtype}")),
    }
}

type Cores = [SmallVec<[usize; 4]>];

/// Whether cores fit: the table at the top of `tj_ir::Function`.
fn check_cores(function: Function, a: &Cores, r: &Cores) -> Result<(), String> {
    let pair = |field: Field, sizes: &[usize]| {
        let mut sizes = SmallVec::<[usize; 4]>::from_slice(sizes);
        if field == Field::Complex {
            sizes.push(2);
        }
        sizes
    };
    let is = |found: &SmallVec<[usize; 4]>, expected: SmallVec<[usize; 4]>| {
        if *found == expected { Ok(()) } else { Err(format!("{found:?} in place of {expected:?}")) }
    };
    let real = |sizes: &[usize]| pair(Field::Real, sizes);
    let square = |field: Field| is(&a[0], pair(field, &[a[0][0], a[0][0]]));
    match function {
        Function::Sort { .. } | Function::Argsort { .. } => is(&r[0], real(&[a[0][0]])),
        Function::Searchsorted { .. } | Function::TakeAlong => is(&r[0], real(&[a[1][0]])),
        Function::Scan { initial, field, .. } => {
            let longer = a[0][0].checked_add(usize::from(initial)).ok_or("too long")?;
            is(&a[0], pair(field, &[a[0][0]]))?;
            is(&r[0], pair(field, &[longer]))
        }
        Function::Locate { .. } => {
            is(&a[1], real(&[1]))?;
            is(&r[0], a[0].clone())
        }
        Function::Take => is(&r[0], real(&[a[1][0], a[0][1]])),
        Function::Scatter { .. } => {
            is(&a[2], real(&[a[1][0], a[0][1]]))?;
            is(&r[0], a[0].clone())
        }
        Function::ScatterAlong { .. } => {
            is(&a[2], a[1].clone())?;
            is(&r[0], a[0].clone())
        }
        Function::Cholesky { field, .. } | Function::Inv { field } => {
            square(field)?;
            is(&r[0], a[0].clone())
        }
        Function::Det { field } => {
            square(field)?;
            is(&r[0], pair(field, &[]))
        }
        Function::Slogdet { field } => {
            square(field)?;
            is(&r[0], pair(field, &[]))?;
            is(&r[1], real(&[]))
        }
        Function::Solve { field } => {
            square(field)?;
            is(&a[1], pair(field, &[a[0][0], a[1][1]]))?;
            is(&r[0], a[1].clone())
        }
        Function::Eigh { field } => {
            square(field)?;
            is(&r[0], real(&[a[0][0]]))?;
            is(&r[1], a[0].clone())
        }
        Function::Eigvalsh { field } => {
            square(field)?;
            is(&r[0], real(&[a[0][0]]))
        }
        Function::Qr { complete, field } => {
            let (m, n) = (a[0][0], a[0][1]);
            let k = if complete { m } else { m.min(n) };
            is(&a[0], pair(field, &[m, n]))?;
            is(&r[0], pair(field, &[m, k]))?;
            is(&r[1], pair(field, &[k, n]))
        }
        Function::Svd { full, field } => {
            let (m, n) = (a[0][0], a[0][1]);
            let k = m.min(n);
            is(&a[0], pair(field, &[m, n]))?;
            is(&r[0], pair(field, &[m, if full { m } else { k }]))?;
            is(&r[1], real(&[k]))?;
            is(&r[2], pair(field, &[if full { n } else { k }, n]))
        }
        Function::Svdvals { field } => {
            is(&a[0], pair(field, &[a[0][0], a[0][1]]))?;
            is(&r[0], real(&[a[0][0].min(a[0][1])]))
        }
        Function::Fft { .. } => {
            is(&a[0], pair(Field::Complex, &[a[0][0]]))?;
            is(&r[0], a[0].clone())
        }
        Function::Rfft => is(&r[0], pair(Field::Complex, &[a[0][0] / 2 + 1])),
        Function::Irfft => is(&a[0], pair(Field::Complex, &[r[0][0] / 2 + 1])),
    }
}

/// Whether the function takes these dtypes.
fn check_dtypes(function: Function, args: &[Array<'_>], results: &[ArrayMut<'_>]) -> Result<(), String> {
    let dtype = args[0].dtype;
    let takes = |truth: bool| if truth { Ok(()) } else { Err(format!("does not take {dtype}")) };
    let same = |found: DType, expected: DType| {
        if found == expected { Ok(()) } else { Err(format!("{found} in place of {expected}")) }
    };
    let reduces = |op: ReduceOp| match op {
        ReduceOp::Sum | ReduceOp::Prod => !dtype.is_complex() && !dtype.is_bool(),
        ReduceOp::Max | ReduceOp::Min => !dtype.is_complex(),
        ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => dtype.is_int() || dtype.is_bool(),
        ReduceOp::By(_) => false,
    };
    let combines = |combine: Combine| match combine {
        Combine::Set => true,
        Combine::Reduce(op) => reduces(op),
    };
    match function {
        Function::Sort { .. } => {
            takes(!dtype.is_complex())?;
            same(results[0].dtype, dtype)
        }
        Function::Argsort { .. } => {
            takes(!dtype.is_complex())?;
            same(results[0].dtype, DType::I64)
        }
        Function::Searchsorted { .. } => {
            takes(!dtype.is_complex())?;
            same(args[1].dtype, dtype)?;
            same(results[0].dtype, DType::I64)
        }
        Function::Scan { op, field, .. } => {
            takes(match field {
                Field::Real => reduces(op),
                Field::Complex => op == ReduceOp::Prod && matches!(dtype, DType::F32 | DType::F64),
            })?;
            same(results[0].dtype, dtype)
        }
        Function::Locate { .. } => {
            same(dtype, DType::I64)?;
            same(args[1].dtype, DType::I64)?;
            same(results[0].dtype, DType::I64)
        }
        Function::Take | Function::TakeAlong => {
            same(args[1].dtype, DType::I64)?;
            same(results[0].dtype, dtype)
        }
        Function::Scatter { combine } | Function::ScatterAlong { combine } => {
            takes(combines(combine))?;
            same(args[1].dtype, DType::I64)?;
            same(args[2].dtype, dtype)?;
            same(results[0].dtype, dtype)
        }
        Function::Cholesky { .. }
        | Function::Det { .. }
        | Function::Slogdet { .. }
        | Function::Inv { .. }
        | Function::Solve { .. }
        | Function::Qr { .. }
        | Function::Svd { .. }
        | Function::Svdvals { .. }
        | Function::Eigh { .. }
        | Function::Eigvalsh { .. }
        | Function::Fft { .. }
        | Function::Rfft
        | Function::Irfft => {
            takes(matches!(dtype, DType::F32 | DType::F64))?;
            args[1..].iter().try_for_each(|arg| same(arg.dtype, dtype))?;
            results.iter().try_for_each(|result| same(result.dtype, dtype))
        }
    }
}
