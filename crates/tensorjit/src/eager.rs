//! Operators on data: each applies one operator to tensors and computes it at once.
//!
//! Every operator on lazy tensors has a twin here of the same name, by the names of the array API where it has one.
//! Arguments are tensors, by reference or value, lazy tensors, or host numbers, whose dtype gives way as it does there. A
//! twin defers its arguments, applies the operator, and computes by the scheduler that applies to the thread; so a chain
//! of twins gives the bits of the fused program, and pays for every temporary. Mistakes name the caller's line.
//!
//! ```
//! use tensorjit::{Tensor, eager};
//!
//! let a = Tensor::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
//! let b = eager::add(&a, 1)?;
//! assert_eq!(b.to_vec::<f64>()?, [2.0, 3.0, 4.0, 5.0]);
//! let c = eager::einsum("ij,jk->ik", [&a, &b])?;
//! assert_eq!(eager::sum(&c, 0)?.to_vec::<f64>()?, [32.0, 42.0]);
//! assert_eq!(eager::linalg::vector_norm([3.0, 4.0].as_slice(), (), 2.0)?.item::<f64>()?, 5.0);
//!
//! let wrong = eager::matmul(&a, [1.0, 2.0, 3.0].as_slice());
//! assert!(wrong.unwrap_err().to_string().contains("do not fit"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod argument;
mod array;
mod complex;
pub mod fft;
pub mod linalg;
mod numpy;
pub mod random;
mod scalar;

use tj_runtime::{Compute, Error, compute};

pub use argument::{Argument, OptionalArgument};
pub use array::{
    add_at, all, any, arange, arange_in, argmax, argmin, argsort, argwhere, average, broadcast_arrays,
    broadcast_to, cast, clip, compress, concat, count_nonzero, cross, cumulative_max, cumulative_min,
    cumulative_prod, cumulative_sum, diag, diagonal, diff, diff_with, einop, einsum, empty, empty_like,
    expand_dims, eye, flatten, flip, full, full_like, index, inner, kron, linspace, log_softmax, logsumexp,
    masked, matmul, matrix_transpose, max, mean, median, meshgrid, min, moveaxis, nanmax, nanmean, nanmin,
    nanprod, nanstd, nansum, nanvar, nonzero, ones, ones_like, outer, pad, permute_dims, positive, prod,
    prod_in, ptp, quantile, reduce, repeat, reshape, roll, scatter, scatter_add, scatter_along_axis,
    searchsorted, searchsorted_by, set, slice_axis, sliding_window_view, softmax, sort, squeeze, stack, std,
    sum, sum_in, swapaxes, take, take_along_axis, tensordot, tile, trace, trace_in, transpose, tril, triu,
    unique_all, unique_counts, unique_inverse, unique_values, unstack, var, vecdot, zeros, zeros_like,
};
pub use complex::{angle, complex, conj, imag, real};
pub use numpy::{
    allclose, array_equal, bincount, column_stack, convolve, corrcoef, correlate, cov, digitize, dot, dstack,
    fill_diagonal, fliplr, flipud, geomspace, gradient, histogram, hstack, interp, isclose, logspace,
    nan_to_num, nancumprod, nancumsum, percentile, ravel, rot90, split, trapezoid, vstack,
};
pub use scalar::{
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift,
    bitwise_or, bitwise_right_shift, bitwise_xor, cbrt, ceil, copysign, cos, cosh, divide, equal, erf, erfc,
    exp, exp2, expm1, floor, floor_divide, fmax, fmin, fmod, gelu, greater, greater_equal, hypot,
    is_positive, isfinite, isinf, isnan, less, less_equal, lgamma, log, log_sigmoid, log1p, log2, log10,
    logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, multiply, negative,
    nextafter, not_equal, pow, reciprocal, relu, remainder, round, sigmoid, sign, signbit, silu, sin, sinh,
    softplus, sqrt, square, subtract, tan, tanh, trunc, where_,
};

/// Functions of tensors, each the twin of a method or function: tensors first, then what else it takes.
macro_rules! twins {
    ($($(#[$doc:meta])* $name:ident($($x:ident),* $(; $($p:ident: $ty:ty),+)?) => $out:ty = $body:expr;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// What the operator refuses, and what computing it may meet.
        #[track_caller]
        pub fn $name(
            $($x: impl $crate::eager::Argument,)*
            $($($p: $ty),+)?
        ) -> Result<$out, tj_runtime::Error> {
            $(let $x = $crate::eager::Argument::lazy($x);)*
            $crate::eager::value($body)
        })*
    };
}
use twins;

fn value<C: Compute>(lazy: C) -> Result<C::Output, Error> {
    compute(lazy)
}
