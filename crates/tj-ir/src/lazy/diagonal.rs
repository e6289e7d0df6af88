//! Triangles and diagonals of matrices: the last two axes, whatever is before them.

use std::panic::Location;

use super::elementwise::{Operand, as_tensor, attach, map, operand_dtype, require_equal};
use super::movement::{moved, position};
use super::positions::{at_least_one, clamped, positions_along, scalar};
use super::reduce::{Axes, reduce, reduce_in};
use super::{LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::op::{Op, ReduceOp};
use tj_tensor::{DType, Scalar};

impl LazyTensor {
    /// The lower triangle of each matrix, zeros above: elements with `column - row <= offset` stay.
    ///
    /// # Errors
    /// A rank below 2.
    #[track_caller]
    pub fn tril(&self, offset: i64) -> LazyTensor {
        self.attempt(|location| triangle("tril", self, Op::LessEqual, offset, location))
    }

    /// The upper triangle of each matrix, zeros below: elements with `column - row >= offset` stay.
    ///
    /// # Errors
    /// A rank below 2.
    #[track_caller]
    pub fn triu(&self, offset: i64) -> LazyTensor {
        self.attempt(|location| triangle("triu", self, Op::GreaterEqual, offset, location))
    }

    /// A diagonal of each matrix, as the last axis: elements with `column - row == offset`.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// assert_eq!(zeros([5, 3, 4], DType::F32).diagonal(2).shape(), [5, 2].map(Dim::from));
    /// ```
    ///
    /// # Errors
    /// A rank below 2.
    #[track_caller]
    pub fn diagonal(&self, offset: i64) -> LazyTensor {
        self.attempt(|location| diagonal("diagonal", self, offset, location))
    }

    /// The sum of a diagonal of each matrix; `bool` and narrow integers widen to 64 bits.
    ///
    /// # Errors
    /// A rank below 2.
    #[track_caller]
    pub fn trace(&self, offset: i64) -> LazyTensor {
        self.attempt(|location| {
            let elements = diagonal("trace", self, offset, location)?;
            Ok(reduce(ReduceOp::Sum, &elements, &Axes::from(-1), location))
        })
    }

    /// [`trace`](LazyTensor::trace) in a dtype of choice: elements are converted first.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn trace_in(&self, offset: i64, dtype: DType) -> LazyTensor {
        self.attempt(|location| {
            let elements = diagonal("trace", self, offset, location)?;
            Ok(reduce_in("trace", ReduceOp::Sum, &elements, &Axes::from(-1), dtype, location))
        })
    }

    /// Another number, or the elements of a vector, on the diagonal of each matrix.
    ///
    /// ```
    /// use tj_ir::zeros;
    /// use tj_tensor::DType;
    /// let x = zeros([3, 4], DType::F32);
    /// assert_eq!(x.fill_diagonal(1.0).shape(), x.shape());
    /// ```
    ///
    /// # Errors
    /// A rank below 2; a value of a higher rank than 1, or of a size that is not that of the diagonal.
    #[track_caller]
    pub fn fill_diagonal(&self, value: impl Into<Operand>) -> LazyTensor {
        let value = value.into();
        self.attempt(|location| filled(self, &value, location))
    }

    /// The square matrix with this vector on a diagonal and zeros elsewhere, or the diagonal of a matrix.
    ///
    /// # Errors
    /// A rank that is not 1 or 2.
    #[track_caller]
    pub fn diag(&self, offset: i64) -> LazyTensor {
        self.attempt(|location| match self.rank() {
            1 => Ok(spread(self, offset, location)),
            2 => diagonal("diag", self, offset, location),
            rank => Err(Cause::Rank { op: "diag", expected: "needs a vector or a matrix", rank }),
        })
    }
}

type Attempt = Result<LazyTensor, Cause>;

fn require_matrix(op: &'static str, arg: &LazyTensor) -> Result<(), Cause> {
    if arg.rank() < 2 {
        return Err(Cause::Rank { op, expected: "needs rank 2 at least", rank: arg.rank() });
    }
    Ok(())
}

fn triangle(
    op: &'static str,
    arg: &LazyTensor,
    keep: Op,
    offset: i64,
    location: &'static Location<'static>,
) -> Attempt {
    require_matrix(op, arg)?;
    let mask = compare(keep, &arg.shape()[arg.rank() - 2..], offset, location);
    let zero = scalar(Scalar::zero(arg.dtype()), location);
    Ok(map(Op::Where, [mask.into(), arg.into(), zero.into()], location))
}

/// `column op row + offset` at each position of a matrix.
fn compare(op: Op, shape: &[Dim], offset: i64, location: &'static Location<'static>) -> LazyTensor {
    let row = positions_along(&shape[0], 0, 2, location);
    let column = positions_along(&shape[1], 1, 2, location);
    let shifted = map(Op::Add, [row.into(), offset.into()], location);
    map(op, [column.into(), shifted.into()], location)
}

fn diagonal(
    op: &'static str,
    arg: &LazyTensor,
    offset: i64,
    location: &'static Location<'static>,
) -> Attempt {
    require_matrix(op, arg)?;
    let batch = arg.rank() - 2;
    let (down, right) = (Dim::from(-offset.min(0)), Dim::from(offset.max(0)));
    let (rows, columns) = (&arg.shape()[batch] - &down, &arg.shape()[batch + 1] - &right);
    let mut shape = Shape::from(&arg.shape()[..batch]);
    shape.push(rows.min(&columns).max(&Dim::ZERO));
    let mut at: Indices = (0..batch).map(position).collect();
    at.push(position(batch) + down);
    at.push(position(batch) + right);
    Ok(moved(op, arg, shape, at, location))
}

fn filled(arg: &LazyTensor, value: &Operand, location: &'static Location<'static>) -> Attempt {
    let op = "fill_diagonal";
    let fail = |error: IrError| Cause::clone(&error.cause);
    require_matrix(op, arg)?;
    let value = as_tensor(value, operand_dtype(value, Some(arg.dtype())), op, location).map_err(fail)?;
    let value = map(Op::Cast(arg.dtype()), [value.into()], location);
    value.check().map_err(fail)?;
    let sides = &arg.shape()[arg.rank() - 2..];
    let hit = compare(Op::Equal, sides, 0, location);
    let value = match value.rank() {
        0 => value,
        1 => {
            let (mut guards, length) = (Vec::new(), sides[0].min(&sides[1]));
            let sizes = (&value.shape()[0], &length);
            require_equal(op, arg.shape(), value.shape(), sizes, &mut guards, location)?;
            let whole = at_least_one(&value, 0, location);
            let at = Indices::from_iter([clamped(&position(0), &length)]);
            let mut column = moved(op, &whole, Shape::from_iter([sides[0].clone(), Dim::ONE]), at, location);
            attach(&mut column, guards);
            column
        }
        rank => return Err(Cause::Rank { op, expected: "needs a number or a vector", rank }),
    };
    Ok(map(Op::Where, [hit.into(), value.into(), arg.into()], location))
}

fn spread(arg: &LazyTensor, offset: i64, location: &'static Location<'static>) -> LazyTensor {
    let size = &arg.shape()[0] + offset.saturating_abs();
    let shape = Shape::from_iter([size.clone(), size]);
    // The element of row r and column c is at the lesser of both.
    let along = position(usize::from(offset < 0));
    let (source, at) = if offset == 0 {
        (arg.clone(), along)
    } else {
        (at_least_one(arg, 0, location), clamped(&along, &arg.shape()[0]))
    };
    let hit = compare(Op::Equal, &shape, offset, location);
    let spread = moved("diag", &source, shape, Indices::from_iter([at]), location);
    let zero = scalar(Scalar::zero(arg.dtype()), location);
    map(Op::Where, [hit.into(), spread.into(), zero.into()], location)
}
