//! Factorisations of matrices, and what follows from them.
//!
//! **Idea.** A row is a matrix. It is read into an nalgebra matrix of f64 or of complex f64, whatever its dtype, and
//! what comes out is rounded: f32 gets nearly correct digits and there is half as much code. Triangular factors are
//! ours, in [`blocks`], because nalgebra's are not blocked and its complex Cholesky factor accepts any matrix;
//! orthogonal ones are nalgebra's, with [`jacobi`] to polish singular values.
//!
//! **Bits** depend on the matrix alone: nothing here has threads, and matrices do not meet.

mod blocks;
mod jacobi;
mod orthogonal;
mod square;

use nalgebra::{ComplexField, DMatrix, DMatrixView, DMatrixViewMut};
use tj_ir::Field;
use tj_tensor::{Complex, DType};

use crate::call::{Call, row, row_mut};
use crate::{ArrayMut, LibraryError};

/// An entry of a matrix.
pub(crate) trait Entry: ComplexField<RealField = f64> + Copy {
    /// Numbers an entry consists of.
    const PARTS: usize;
    /// From that many numbers.
    fn from_parts(parts: &[f64]) -> Self;
    /// Its numbers; the second is of no use if there is one only.
    fn parts(self) -> [f64; 2];
    /// `c - a b` in place of `c`.
    fn subtract_product(c: &mut DMatrixViewMut<'_, Self>, a: DMatrixView<'_, Self>, b: DMatrixView<'_, Self>);
}

impl Entry for f64 {
    const PARTS: usize = 1;

    fn from_parts(parts: &[f64]) -> f64 {
        parts[0]
    }

    fn parts(self) -> [f64; 2] {
        [self, 0.0]
    }

    fn subtract_product(c: &mut DMatrixViewMut<'_, f64>, a: DMatrixView<'_, f64>, b: DMatrixView<'_, f64>) {
        c.gemm(-1.0, &a, &b, 1.0);
    }
}

impl Entry for Complex<f64> {
    const PARTS: usize = 2;

    fn from_parts(parts: &[f64]) -> Complex<f64> {
        Complex::new(parts[0], parts[1])
    }

    fn parts(self) -> [f64; 2] {
        [self.re, self.im]
    }

    // By four real products, because nalgebra has a fast one of real matrices only.
    fn subtract_product(
        c: &mut DMatrixViewMut<'_, Self>,
        a: DMatrixView<'_, Self>,
        b: DMatrixView<'_, Self>,
    ) {
        let (a_re, a_im) = (a.map(|x| x.re), a.map(|x| x.im));
        let (b_re, b_im) = (b.map(|x| x.re), b.map(|x| x.im));
        let mut re = &a_re * &b_re;
        re.gemm(-1.0, &a_im, &b_im, 1.0);
        let mut im = a_re * b_im;
        im.gemm(1.0, &a_im, &b_re, 1.0);
        for (c, (re, im)) in c.iter_mut().zip(re.iter().zip(&im)) {
            *c -= Complex::new(*re, *im);
        }
    }
}

/// A function of `tj_ir::Function` without the field of its entries.
#[derive(Clone, Copy)]
pub(crate) enum Task {
    Cholesky { upper: bool },
    Det,
    Slogdet,
    Inv,
    Solve,
    Qr { complete: bool },
    Svd { full: bool },
    Svdvals,
    Eigh,
    Eigvalsh,
}

/// The arguments of one row.
pub(crate) struct Matrices<'a, E> {
    function: &'static str,
    row: usize,
    /// The first argument.
    pub(crate) a: DMatrix<E>,
    call: &'a Call<'a>,
    dtype: DType,
}

impl<E: Entry> Matrices<'_, E> {
    /// Another argument.
    pub(crate) fn load(&self, arg: usize) -> Result<DMatrix<E>, LibraryError> {
        load(self.call, self.dtype, arg, self.row)
    }
}

/// Computes the rows of a call.
pub(crate) fn run(
    call: &Call<'_>,
    task: Task,
    field: Field,
    dtype: DType,
    results: &mut [ArrayMut<'_>],
) -> Result<(), LibraryError> {
    // Matrices without rows may have so many columns that even a walk over them would never end.
    if call.elements::<u8>(0)?.is_empty() && results.iter().all(|result| result.bytes.is_empty()) {
        return Ok(());
    }
    match field {
        Field::Real => run_with::<f64>(call, task, dtype, results),
        Field::Complex => run_with::<Complex<f64>>(call, task, dtype, results),
    }
}

fn run_with<E: Entry>(
    call: &Call<'_>,
    task: Task,
    dtype: DType,
    results: &mut [ArrayMut<'_>],
) -> Result<(), LibraryError> {
    for (i, r) in call.rows.clone().enumerate() {
        let a = load::<E>(call, dtype, 0, r)?;
        let matrices = Matrices { function: call.function, row: r, a, call, dtype };
        let numbers = match task {
            Task::Cholesky { upper } => square::cholesky(&matrices, upper),
            Task::Det => Ok(square::det(&matrices)),
            Task::Slogdet => Ok(square::slogdet(&matrices)),
            Task::Inv => square::inv(&matrices),
            Task::Solve => square::solve(&matrices),
            Task::Qr { complete } => Ok(orthogonal::qr(&matrices, complete)),
            Task::Svd { full } => orthogonal::svd(&matrices, full),
            Task::Svdvals => orthogonal::svdvals(&matrices),
            Task::Eigh => orthogonal::eigh(&matrices),
            Task::Eigvalsh => orthogonal::eigvalsh(&matrices),
        }?;
        for (result, numbers) in results.iter_mut().zip(&numbers) {
            if dtype == DType::F32 {
                let y = row_mut(call.elements_mut::<f32>(result)?, i, numbers.len());
                y.iter_mut().zip(numbers).for_each(|(y, x)| *y = *x as f32);
            } else {
                row_mut(call.elements_mut::<f64>(result)?, i, numbers.len()).copy_from_slice(numbers);
            }
        }
    }
    Ok(())
}

fn load<E: Entry>(call: &Call<'_>, dtype: DType, arg: usize, r: usize) -> Result<DMatrix<E>, LibraryError> {
    let (m, n) = (call.core(arg)[0], call.core(arg)[1]);
    let len = m * n * E::PARTS;
    let numbers: Vec<f64> = if dtype == DType::F32 {
        row(call.elements::<f32>(arg)?, r, len).iter().map(|x| f64::from(*x)).collect()
    } else {
        row(call.elements::<f64>(arg)?, r, len).to_vec()
    };
    Ok(DMatrix::from_row_iterator(m, n, numbers.chunks_exact(E::PARTS).map(E::from_parts)))
}

/// The numbers of each result of one row.
pub(crate) type Numbers = Vec<Vec<f64>>;

/// The numbers of a matrix, row by row.
pub(crate) fn numbers<E: Entry>(matrix: &DMatrix<E>) -> Vec<f64> {
    let mut numbers = Vec::with_capacity(matrix.len() * E::PARTS);
    for i in 0..matrix.nrows() {
        for x in &matrix.row(i) {
            numbers.extend_from_slice(&x.parts()[..E::PARTS]);
        }
    }
    numbers
}
