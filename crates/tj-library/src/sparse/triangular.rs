//! Triangular systems.
//!
//! Row by row from the corner: an unknown is its right-hand side less the products of its row with the unknowns known
//! already, divided by the diagonal. Products are subtracted by increasing columns, each rounded.

use std::ops::{Div, Mul, Sub};

use bytemuck::Pod;
use tj_tensor::{Complex, DType, Element, Tensor};

use super::entries::{Entries, is_zero, room};
use super::values::elements;
use crate::LibraryError;

/// Which part of a matrix to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// On the diagonal and below it.
    Lower,
    /// On the diagonal and above it.
    Upper,
}

/// What stands on the diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Diagonal {
    /// What the matrix says.
    Stored,
    /// Ones, whatever the matrix says.
    Unit,
}

/// Solves `a x = b` for one right-hand side (a vector) or several (the columns of a matrix), where `a` is the square matrix of
/// a triangle of `matrix`; the rest of `matrix` is not looked at. The result is dense. Integers count as `f64`; halves are
/// computed in `f32`. O(entries) a right-hand side.
///
/// ```
/// use tj_library::sparse::{Diagonal, Triangle, solve_triangular};
/// use tj_tensor::Tensor;
/// let a = Tensor::csr([2, 2], vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
/// let x = solve_triangular(&a, &Tensor::from(vec![2.0, 9.0]), Triangle::Lower, Diagonal::Stored)?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Shapes that do not fit; a fill that is not 0; a diagonal element that is 0: the error names the first such row that is
/// met.
pub fn solve_triangular(
    matrix: &Tensor,
    b: &Tensor,
    triangle: Triangle,
    diagonal: Diagonal,
) -> Result<Tensor, LibraryError> {
    let function = "solve_triangular";
    let fits = match (matrix.shape(), b.shape()) {
        ([n, m], [rows] | [rows, _]) => n == m && rows == n,
        _ => false,
    };
    if !fits {
        let problem = format!("a matrix of shape {:?} for {:?}", matrix.shape(), b.shape());
        return Err(LibraryError::Shape { function, problem });
    }
    let dtype = matrix.dtype().promote(b.dtype());
    let is_inexact = dtype.is_float() || dtype.is_complex();
    let computed = if matches!(dtype, DType::F16 | DType::BF16) {
        DType::F32
    } else if is_inexact {
        dtype
    } else {
        DType::F64
    };
    let result = if is_inexact { dtype } else { DType::F64 };
    let entries = Entries::of(&matrix.cast(computed)?)?;
    if !is_zero(entries.fill) {
        return Err(LibraryError::NonzeroFill { function, fill: entries.fill });
    }
    let b = b.to_dense()?.cast(computed)?;
    let system = System { entries, triangle, diagonal };
    let x = if computed == DType::C64 {
        system.solve::<Complex<f32>>(&b)?
    } else if computed == DType::C128 {
        system.solve::<Complex<f64>>(&b)?
    } else if computed == DType::F32 {
        system.solve::<f32>(&b)?
    } else {
        system.solve::<f64>(&b)?
    };
    Ok(x.cast(result)?)
}

struct System {
    entries: Entries,
    triangle: Triangle,
    diagonal: Diagonal,
}

impl System {
    fn solve<T>(&self, b: &Tensor) -> Result<Tensor, LibraryError>
    where
        T: Element + Pod + Mul<Output = T> + Sub<Output = T> + Div<Output = T>,
    {
        let n = self.entries.shape[0];
        let n_sides = b.shape().get(1).copied().unwrap_or(1);
        let mut x: Vec<T> = b.to_vec()?;
        let (rows, columns) = (&self.entries.columns[0], &self.entries.columns[1]);
        let values = self.entries.values.to_contiguous()?;
        let values: &[T] = elements(&values);
        // Where the entries of each row are, in the order in which unknowns become known.
        let mut fibers: Vec<std::ops::Range<usize>> = room(n)?;
        let mut next = 0;
        for row in 0..n as i64 {
            let start = next;
            while next < rows.len() && rows[next] == row {
                next += 1;
            }
            fibers.push(start..next);
        }
        for step in 0..n {
            let row = match self.triangle {
                Triangle::Lower => step,
                Triangle::Upper => n - 1 - step,
            };
            let mut pivot = None;
            for at in fibers[row].clone() {
                let column = columns[at] as usize;
                let known = match self.triangle {
                    Triangle::Lower => column < row,
                    Triangle::Upper => column > row,
                };
                if column == row {
                    pivot = Some(values[at]);
                } else if known {
                    for side in 0..n_sides {
                        let product = values[at] * x[column * n_sides + side];
                        x[row * n_sides + side] = x[row * n_sides + side] - product;
                    }
                }
            }
            if self.diagonal == Diagonal::Unit {
                continue;
            }
            let pivot = pivot.filter(|pivot| *pivot != T::default());
            let pivot = pivot.ok_or(LibraryError::ZeroDiagonal { function: "solve_triangular", row })?;
            for unknown in &mut x[row * n_sides..][..n_sides] {
                *unknown = *unknown / pivot;
            }
        }
        Ok(Tensor::from_shape_vec(b.shape(), x)?)
    }
}
