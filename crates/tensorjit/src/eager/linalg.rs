//! The twins of [`tj_ir::linalg`].

use tj_ir::Axes;
use tj_ir::linalg::{Factors, KeptNorm, Triangle};
use tj_tensor::Tensor;

use super::twins;

twins! {
    /// [`tj_ir::linalg::cholesky`] on data.
    cholesky(x; triangle: Triangle) => Tensor = tj_ir::linalg::cholesky(&x, triangle);
    /// [`tj_ir::linalg::det`] on data.
    det(x) => Tensor = tj_ir::linalg::det(&x);
    /// [`tj_ir::linalg::slogdet`] on data.
    slogdet(x) => (Tensor, Tensor) = tj_ir::linalg::slogdet(&x);
    /// [`tj_ir::linalg::inv`] on data.
    inv(x) => Tensor = tj_ir::linalg::inv(&x);
    /// [`tj_ir::linalg::solve`] on data.
    solve(a, b) => Tensor = tj_ir::linalg::solve(&a, &b);
    /// [`tj_ir::linalg::qr`] on data.
    qr(x; factors: Factors) => (Tensor, Tensor) = tj_ir::linalg::qr(&x, factors);
    /// [`tj_ir::linalg::svd`] on data.
    svd(x; factors: Factors) => (Tensor, Tensor, Tensor) = tj_ir::linalg::svd(&x, factors);
    /// [`tj_ir::linalg::svdvals`] on data.
    svdvals(x) => Tensor = tj_ir::linalg::svdvals(&x);
    /// [`tj_ir::linalg::eigh`] on data.
    eigh(x) => (Tensor, Tensor) = tj_ir::linalg::eigh(&x);
    /// [`tj_ir::linalg::eigvalsh`] on data.
    eigvalsh(x) => Tensor = tj_ir::linalg::eigvalsh(&x);
    /// [`tj_ir::linalg::matrix_rank`] on data.
    matrix_rank(x; tolerance: impl Into<Option<f64>>) => Tensor = tj_ir::linalg::matrix_rank(&x, tolerance);
    /// [`tj_ir::linalg::pinv`] on data.
    pinv(x; tolerance: impl Into<Option<f64>>) => Tensor = tj_ir::linalg::pinv(&x, tolerance);
    /// [`tj_ir::linalg::matrix_power`] on data.
    matrix_power(x; power: i64) => Tensor = tj_ir::linalg::matrix_power(&x, power);
    /// [`tj_ir::linalg::matrix_norm`] on data.
    matrix_norm(x; norm: impl Into<KeptNorm>) => Tensor = tj_ir::linalg::matrix_norm(&x, norm);
    /// [`tj_ir::linalg::vector_norm`] on data.
    vector_norm(x; axes: impl Into<Axes>, order: f64) => Tensor = tj_ir::linalg::vector_norm(&x, axes, order);
}
