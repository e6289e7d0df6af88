//! Covariances and correlations of variables, one a row.

use std::panic::Location;

use super::LazyTensor;
use super::call::reorder;
use super::complex::{PartsOp, conj, part};
use super::contract::try_matmul;
use super::elementwise::map;
use super::movement::{Attempt, insert_axes};
use super::positions::size_number;
use super::reduce::{Axes, reduce};
use super::statistics::{Ops, float_of};
use crate::error::Cause;
use crate::op::{Op, ReduceOp};

type Loc = &'static Location<'static>;

impl LazyTensor {
    /// Covariances of variables, each a row of observations; a vector is one variable, whose variance is the result. The
    /// number of observations counts as `correction` less: 1 for a sample. Integers go to f64.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// assert_eq!(zeros([3, 10], DType::F32).cov(1.0).shape(), [3, 3].map(Dim::from));
    /// ```
    ///
    /// # Errors
    /// A rank that is not 1 or 2.
    #[track_caller]
    pub fn cov(&self, correction: f64) -> LazyTensor {
        self.attempt(|location| {
            let found = covariance("cov", self, correction, location)?;
            Ok(if self.rank() == 1 { found.squeeze(()) } else { found })
        })
    }

    /// Correlations of variables, each a row of observations: covariances divided by both standard deviations, between -1 and 1.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// assert_eq!(zeros([3, 10], DType::F32).corrcoef().shape(), [3, 3].map(Dim::from));
    /// ```
    ///
    /// # Errors
    /// As [`cov`](LazyTensor::cov).
    #[track_caller]
    pub fn corrcoef(&self) -> LazyTensor {
        self.attempt(|location| {
            let ops = Ops(location);
            if self.rank() == 1 {
                // A variable is what it is.
                let variance = covariance("corrcoef", self, 1.0, location)?.squeeze(());
                return Ok(ops.binary(Op::Div, &variance, &variance));
            }
            let found = covariance("corrcoef", self, 1.0, location)?;
            let spread = ops.unary(Op::Sqrt, &part(PartsOp::Real, &found.diagonal(0), location));
            let rows = ops.binary(Op::Div, &found, insert_axes(&spread, &[1], location));
            let whole = ops.binary(Op::Div, &rows, insert_axes(&spread, &[0], location));
            let inside = |x: &LazyTensor| ops.binary(Op::Minimum, &ops.binary(Op::Maximum, x, -1.0), 1.0);
            Ok(if whole.dtype().is_complex() {
                let [re, im] = [PartsOp::Real, PartsOp::Imag].map(|op| inside(&part(op, &whole, location)));
                super::complex::join(re, im, location)
            } else {
                inside(&whole)
            })
        })
    }
}

fn covariance(op: &'static str, x: &LazyTensor, correction: f64, location: Loc) -> Attempt {
    let ops = Ops(location);
    let x = match x.rank() {
        1 => insert_axes(x, &[0], location),
        2 => x.clone(),
        rank => return Err(Cause::Rank { op, expected: "needs variables in rows", rank }),
    };
    let dtype = float_of(op, x.dtype())?;
    let real = dtype.real();
    let x = ops.unary(Op::Cast(dtype), &x);
    let count = map(Op::Cast(real), [size_number(&x.shape()[1], location).into()], location);
    let mean = ops.binary(Op::Div, &reduce(ReduceOp::Sum, &x, &Axes::from(1).keepdims(), location), &count);
    let distance = ops.binary(Op::Sub, &x, &mean);
    let turned = conj(&reorder(&distance, &[1, 0], location), location);
    let products = try_matmul(&distance, &turned, location).map_err(|error| Cause::clone(&error.cause))?;
    let degrees = ops.binary(Op::Maximum, &ops.binary(Op::Sub, &count, correction), 0.0);
    Ok(ops.binary(Op::Div, &products, &degrees))
}
