//! Systems of sparse equations, by factorisation.
//!
//! **Idea.** faer looks for an order of columns in which factors have few entries, and factors one by one or in dense blocks, as
//! fits the structure. Matrices are computed in `f64` or complex `f64`, whatever their dtype, and solutions are rounded.
//!
//! **Singular matrices.** faer divides by pivots that are 0. So rows and columns of zeros are looked for before, and after a
//! factorisation one system is solved to see how large the solution is: a pivot of 0 leaves nothing finite behind it, one that is
//! rounding error gives large numbers. But so do some matrices that are in order. Then a second factorisation, entry by
//! entry, shows pivots, and they decide.
//!
//! **Scale.** Rows are multiplied by powers of two that bring their largest elements near 1: nothing is rounded by that, and
//! pivots are chosen by what they are in their rows.
//!
//! **Bits** depend on the matrix, and on how many right-hand sides are solved for at once: one thread does it all.

mod cholesky;
mod columns;
mod lu;

use std::fmt;

use faer::Par;
use faer::dyn_stack::{MemBuffer, StackReq};
use faer::sparse::FaerError;
use tj_tensor::{Complex, DType, Tensor, TensorError};

use self::cholesky::Cholesky;
use self::columns::{Columns, Number, empty_column};
use self::lu::Lu;
use super::entries::{Entries, fill_of, is_zero, room};
use crate::LibraryError;

/// How to factor a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// By Gaussian elimination with row exchanges, for any square matrix that has an inverse.
    #[default]
    Lu,
    /// For matrices that are symmetric (Hermitian) and positive definite: half the work, and often fewer entries.
    Cholesky,
}

/// A square matrix, factored: as many right-hand sides as are wanted can be solved for. Made by [`factorise`].
pub struct Solver {
    size: usize,
    dtype: DType,
    method: Method,
    factors: Kind,
}

/// Factors by the type of their elements.
enum Kind {
    Real(Factors<f64>),
    Complex(Factors<Complex<f64>>),
}

enum Factors<T> {
    Lu(Lu<T>),
    Cholesky(Cholesky<T>),
}

/// No threads: see the module.
const PAR: Par = Par::Seq;

/// Solves `a x = b` by [`Method::Lu`] for one right-hand side (`b` is a vector) or several (the columns of a matrix). `a` is square,
/// in any format, of any dtype; so is `b`. The result is dense, of the shape of `b`. It has the promoted dtype of both; that of
/// integers is `f64`.
///
/// What matrix is solved for is close to `a` as rounding goes: its elements differ from those of `a` by a few times epsilon of `f64`,
/// relative to the largest of their row, unless pivots grow, which they practically never do. So the relative error of `x` is about
/// epsilon times the condition of `a`. An `a` that is singular up to rounding is refused if it has at most 8192 rows; a larger one
/// may have a solution, of large numbers.
///
/// Time and memory are those of the factors, which depend on the structure: O(n) for a band, O(n^1.5) and O(n log n) for a grid in
/// the plane, O(n^3) and O(n^2) if nothing helps. To use one factorisation several times, see [`factorise`].
///
/// ```
/// use tj_library::sparse::solve;
/// use tj_tensor::Tensor;
/// // [[0, 2], [4, 1]]
/// let a = Tensor::csr([2, 2], vec![0, 1, 3], vec![1, 0, 1], vec![2.0, 4.0, 1.0])?;
/// let x = solve(&a, &Tensor::from(vec![6.0, 11.0]))?;
/// assert_eq!(x.to_vec::<f64>()?, [2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Shapes that do not fit; a fill of `a` that is not 0; an element of `a` that is infinite or NaN; a singular `a`: the error names
/// a row or a column if it can; no memory. Infinities and NaN in `b` go where arithmetic takes them.
pub fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor, LibraryError> {
    let function = "solve";
    fits(function, a.shape(), b)?;
    factored(function, a, Method::Lu)?.solve(b)
}

/// Factors a square matrix, in any format, of any dtype. Cost and accuracy are as for [`solve()`].
///
/// ```
/// use tj_library::sparse::{Method, factorise};
/// use tj_tensor::Tensor;
/// // [[4, 2], [2, 5]]
/// let a = Tensor::csr([2, 2], vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 2.0, 2.0, 5.0])?;
/// let solver = factorise(&a, Method::Cholesky)?;
/// assert_eq!(solver.solve(&Tensor::from(vec![8.0, 12.0]))?.to_vec::<f64>()?, [1.0, 2.0]);
/// assert_eq!(solver.solve(&Tensor::from(vec![4.0, 2.0]))?.to_vec::<f64>()?, [1.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`solve()`]. By [`Method::Cholesky`]: a matrix that is not symmetric (Hermitian), beyond what rounding of `f32` may do; one
/// that is not positive definite: the error names a column that shows it.
pub fn factorise(a: &Tensor, method: Method) -> Result<Solver, LibraryError> {
    factored("factorise", a, method)
}

impl Solver {
    /// Solves for one right-hand side (a vector) or several (the columns of a matrix). The result is dense, of the shape of `b`,
    /// of the dtype that [`solve()`] gives it. O(entries of the factors) a right-hand side.
    ///
    /// # Errors
    /// Shapes that do not fit; no memory.
    pub fn solve(&self, b: &Tensor) -> Result<Tensor, LibraryError> {
        fits("solve", &[self.size, self.size], b)?;
        let dtype = self.dtype.promote(b.dtype());
        let dtype = if dtype.is_float() || dtype.is_complex() { dtype } else { DType::F64 };
        let columns = b.to_dense()?;
        let columns = if b.rank() == 2 { columns.permute([1, 0])? } else { columns };
        let x = match &self.factors {
            Kind::Complex(factors) => factors.solve(&columns)?,
            Kind::Real(factors) if b.dtype().is_complex() => factors.solve_complex(&columns)?,
            Kind::Real(factors) => factors.solve(&columns)?,
        };
        let x = if b.rank() == 2 { x.permute([1, 0])?.to_contiguous()? } else { x };
        Ok(x.cast(dtype)?)
    }

    /// The number of rows, which is that of columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How the matrix was factored.
    pub fn method(&self) -> Method {
        self.method
    }
}

impl fmt::Debug for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Solver { size, dtype, method, factors: _ } = self;
        let mut f = f.debug_struct("Solver");
        f.field("size", size).field("dtype", dtype).field("method", method).finish_non_exhaustive()
    }
}

fn fits(function: &'static str, a: &[usize], b: &Tensor) -> Result<(), LibraryError> {
    square(function, a)?;
    match b.shape() {
        [rows] | [rows, _] if *rows == a[0] => Ok(()),
        shape => {
            let problem = format!("a right-hand side of shape {shape:?} for a matrix of shape {a:?}");
            Err(LibraryError::Shape { function, problem })
        }
    }
}

fn square(function: &'static str, shape: &[usize]) -> Result<usize, LibraryError> {
    match *shape {
        [rows, columns] if rows == columns => Ok(rows),
        _ => {
            let problem = format!("a tensor of shape {shape:?}, which is not a square matrix");
            Err(LibraryError::Shape { function, problem })
        }
    }
}

fn factored(function: &'static str, a: &Tensor, method: Method) -> Result<Solver, LibraryError> {
    let size = square(function, a.shape())?;
    let fill = fill_of(a);
    if !is_zero(fill) {
        return Err(LibraryError::NonzeroFill { function, fill });
    }
    let is_complex = a.dtype().is_complex();
    let computed = if is_complex { DType::C128 } else { DType::F64 };
    // By columns, each by rows.
    let entries = Entries::along(&a.cast(computed)?, 0)?;
    let factors = if is_complex {
        Kind::Complex(Factors::new(function, &entries, method)?)
    } else {
        Kind::Real(Factors::new(function, &entries, method)?)
    };
    Ok(Solver { size, dtype: a.dtype(), method, factors })
}

impl<T: Number> Factors<T> {
    fn new(function: &'static str, entries: &Entries, method: Method) -> Result<Factors<T>, LibraryError> {
        // Before anything is allocated for each column: without empty ones there are at most as many as entries.
        if let Some(column) = empty_column(entries) {
            return Err(match method {
                Method::Cholesky => LibraryError::IndefiniteMatrix { function, column },
                Method::Lu => {
                    let reason = format!("column {column} holds zeros only");
                    LibraryError::SingularMatrix { function, reason }
                }
            });
        }
        let columns = Columns::new(function, entries)?;
        Ok(match method {
            Method::Lu => Factors::Lu(Lu::new(function, columns)?),
            Method::Cholesky => Factors::Cholesky(Cholesky::new(function, &columns)?),
        })
    }

    /// The solutions for a vector, or for the rows of a matrix.
    fn solve(&self, sides: &Tensor) -> Result<Tensor, LibraryError> {
        let mut x: Vec<T> = sides.cast(T::DTYPE)?.to_vec()?;
        self.solve_in_place(&mut x)?;
        Ok(Tensor::from_shape_vec(sides.shape(), x)?)
    }

    fn solve_in_place(&self, x: &mut [T]) -> Result<(), LibraryError> {
        match self {
            Factors::Lu(factors) => factors.solve_in_place(x),
            Factors::Cholesky(factors) => factors.solve_in_place(x),
        }
    }
}

impl Factors<f64> {
    /// The solutions for complex right-hand sides: for their real parts and for their imaginary ones.
    fn solve_complex(&self, sides: &Tensor) -> Result<Tensor, LibraryError> {
        let complex: Vec<Complex<f64>> = sides.cast(DType::C128)?.to_vec()?;
        let mut parts = room(2 * complex.len())?;
        parts.extend(complex.iter().map(|x| x.re).chain(complex.iter().map(|x| x.im)));
        self.solve_in_place(&mut parts)?;
        let (re, im) = parts.split_at(complex.len());
        let x: Vec<_> = re.iter().zip(im).map(|(&re, &im)| Complex::new(re, im)).collect();
        Ok(Tensor::from_shape_vec(sides.shape(), x)?)
    }
}

/// Memory for a step of faer.
fn scratch(size: StackReq) -> Result<MemBuffer, LibraryError> {
    let bytes = size.size_bytes();
    MemBuffer::try_new(size).map_err(|_| TensorError::OutOfMemory { bytes }.into())
}

/// What faer says where it has no memory, or no indices, for factors.
fn no_memory(_: FaerError) -> LibraryError {
    TensorError::OutOfMemory { bytes: usize::MAX }.into()
}
