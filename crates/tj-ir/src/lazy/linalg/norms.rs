//! Norms of matrices and vectors.

use std::panic::Location;

use super::{Made, Place, floats, matrices, singular_values};
use crate::error::{Cause, IrError};
use crate::lazy::call::or_failed;
use crate::lazy::complex::{PartsOp, part};
use crate::lazy::elementwise::map;
use crate::lazy::movement::insert_axes;
use crate::lazy::reduce::reduce;
use crate::lazy::{Axes, LazyTensor, axis};
use crate::op::{Op, ReduceOp};

/// What the norm of a matrix is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatrixNorm {
    /// The root of the sum of all squares.
    #[default]
    Frobenius,
    /// The sum of all singular values.
    Nuclear,
    /// The greatest sum of absolute values in a column.
    One,
    /// The least sum of absolute values in a column.
    MinusOne,
    /// The greatest singular value.
    Two,
    /// The least singular value.
    MinusTwo,
    /// The greatest sum of absolute values in a row.
    Infinity,
    /// The least sum of absolute values in a row.
    MinusInfinity,
}

impl MatrixNorm {
    /// Keeps the axes of matrices, with size 1.
    pub fn keepdims(self) -> KeptNorm {
        KeptNorm { norm: self, keepdims: true }
    }
}

/// A norm, and whether the axes of matrices stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeptNorm {
    norm: MatrixNorm,
    keepdims: bool,
}

impl From<MatrixNorm> for KeptNorm {
    fn from(norm: MatrixNorm) -> KeptNorm {
        KeptNorm { norm, keepdims: false }
    }
}

/// Norms of matrices.
///
/// ```
/// use tj_ir::linalg::{MatrixNorm, matrix_norm};
/// use tj_ir::{Dim, input};
/// use tj_tensor::DType;
///
/// let a = input("a", DType::F64, [5.into(), 3.into(), 2.into()])?;
/// assert_eq!(matrix_norm(&a, MatrixNorm::Nuclear).shape(), [Dim::from(5)]);
/// assert_eq!(matrix_norm(&a, MatrixNorm::Nuclear.keepdims()).shape(), [5, 1, 1].map(Dim::from));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn matrix_norm(a: &LazyTensor, norm: impl Into<KeptNorm>) -> LazyTensor {
    let (op, location) = ("matrix_norm", Location::caller());
    let KeptNorm { norm, keepdims } = norm.into();
    let norm_of = |a: LazyTensor| -> Made {
        let values = || singular_values(op, &a, location);
        let over = |op, x: &LazyTensor, d| reduce(op, x, &axis(d), location);
        let sums = |d| over(ReduceOp::Sum, &map(Op::Abs, [(&a).into()], location), d);
        Ok(match norm {
            MatrixNorm::Frobenius => euclid(&a, &Axes::from([-2, -1]), location),
            MatrixNorm::Nuclear => over(ReduceOp::Sum, &values()?, -1),
            MatrixNorm::One => over(ReduceOp::Max, &sums(-2), -1),
            MatrixNorm::MinusOne => over(ReduceOp::Min, &sums(-2), -1),
            MatrixNorm::Two => over(ReduceOp::Max, &values()?, -1),
            MatrixNorm::MinusTwo => over(ReduceOp::Min, &values()?, -1),
            MatrixNorm::Infinity => over(ReduceOp::Max, &sums(-1), -1),
            MatrixNorm::MinusInfinity => over(ReduceOp::Min, &sums(-1), -1),
        })
    };
    let kept = |norms: LazyTensor| match keepdims && norms.check().is_ok() {
        true => insert_axes(&norms, &[a.rank() - 2, a.rank() - 1], location),
        false => norms,
    };
    or_failed(matrices(op, a, location).and_then(norm_of).map(kept))
}

/// Norms over some axes: of order 1 the sum of absolute values, of order 2 the root of the sum of squares, of infinite
/// order the greatest or least absolute value, of order 0 the number of elements that are not 0, of any other order `p` the
/// root of order `p` of the sum of absolute values to the power of `p`.
///
/// ```
/// use tj_ir::linalg::vector_norm;
/// use tj_ir::{Dim, input};
/// use tj_tensor::DType;
///
/// let x = input("x", DType::F32, [5.into(), 3.into()])?;
/// assert_eq!(vector_norm(&x, 1, 2.0).shape(), [Dim::from(5)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn vector_norm(x: &LazyTensor, axes: impl Into<Axes>, order: f64) -> LazyTensor {
    let (op, location, axes) = ("vector_norm", Location::caller(), axes.into());
    let norm_of = |x: LazyTensor| -> Made {
        let size = || map(Op::Abs, [(&x).into()], location);
        Ok(if order == 0.0 {
            let counts = map(Op::NotEqual, [(&x).into(), 0.into()], location);
            let count = reduce(ReduceOp::Sum, &counts, &axes, location);
            map(Op::Cast(x.dtype().real()), [count.into()], location)
        } else if order == 1.0 {
            reduce(ReduceOp::Sum, &size(), &axes, location)
        } else if order == 2.0 {
            euclid(&x, &axes, location)
        } else if order == f64::INFINITY {
            reduce(ReduceOp::Max, &size(), &axes, location)
        } else if order == f64::NEG_INFINITY {
            reduce(ReduceOp::Min, &size(), &axes, location)
        } else if order.is_nan() {
            let problem = "the order is no number".to_string();
            return Err(IrError::new(Cause::Argument { op, problem }, location));
        } else {
            let powers = map(Op::Pow, [size().into(), order.into()], location);
            let sum = reduce(ReduceOp::Sum, &powers, &axes, location);
            map(Op::Pow, [sum.into(), (1.0 / order).into()], location)
        })
    };
    or_failed(floats(op, x, location).and_then(norm_of))
}

/// The root of the sum of squares.
fn euclid(x: &LazyTensor, axes: &Axes, location: Place) -> LazyTensor {
    let square = |x: &LazyTensor| map(Op::Mul, [x.into(), x.into()], location);
    let squares = if x.dtype().is_complex() {
        let [re, im] = [PartsOp::Real, PartsOp::Imag].map(|op| square(&part(op, x, location)));
        map(Op::Add, [re.into(), im.into()], location)
    } else {
        square(x)
    };
    map(Op::Sqrt, [reduce(ReduceOp::Sum, &squares, axes, location).into()], location)
}
