//! The extensions of the standard, and names of NumPy that it has not.

use tensorjit::fft::Norm;
use tensorjit::linalg::{Factors, MatrixNorm, Triangle};
use tensorjit::{Close, DType, Mode, Side, Tensor, eager as e};

use super::arrays::{F, joined, m, v};
use super::{Section, there};

/// 2 on the diagonal.
fn twice() -> Tensor {
    e::multiply(e::eye(2, 2, 0, F).unwrap(), 2).unwrap()
}

/// 1, 3.
fn pair() -> Tensor {
    Tensor::from(vec![1.0, 3.0])
}

/// The extensions.
pub fn sections() -> Vec<Section> {
    vec![
        (
            "Extension linalg",
            vec![
                there(
                    "cholesky",
                    "linalg::cholesky(x, triangle)",
                    (
                        || e::linalg::cholesky(e::matmul(twice(), twice())?, Triangle::Lower),
                        &[2.0, 0.0, 0.0, 2.0],
                    ),
                ),
                there(
                    "cross",
                    "cross(x, y, axis)",
                    (|| e::cross(v(), e::flip(v(), 0)?, -1), &[1.0, -5.0, 1.0]),
                ),
                there("det", "linalg::det(x)", (|| e::linalg::det(twice()), &[4.0])),
                there("diagonal", "x.diagonal(offset)", (|| e::diagonal(m(), 1), &[1.0])),
                there("eigh", "linalg::eigh(x)", (|| Ok(e::linalg::eigh(twice())?.0), &[2.0, 2.0])),
                there("eigvalsh", "linalg::eigvalsh(x)", (|| e::linalg::eigvalsh(twice()), &[2.0, 2.0])),
                there("inv", "linalg::inv(x)", (|| e::linalg::inv(twice()), &[0.5, 0.0, 0.0, 0.5])),
                there(
                    "matrix_norm",
                    "linalg::matrix_norm(x, norm)",
                    (|| e::linalg::matrix_norm(m(), MatrixNorm::One.keepdims()), &[4.0]),
                ),
                there(
                    "matrix_power",
                    "linalg::matrix_power(x, power)",
                    (|| e::linalg::matrix_power(m(), 2), &[2.0, 3.0, 6.0, 11.0]),
                ),
                there(
                    "matrix_rank",
                    "linalg::matrix_rank(x, tolerance)",
                    (|| e::linalg::matrix_rank(twice(), None), &[2.0]),
                ),
                there(
                    "outer",
                    "outer(x, y)",
                    (|| e::outer([1_i64, 2].as_slice(), [3_i64, 4].as_slice()), &[3.0, 4.0, 6.0, 8.0]),
                ),
                there(
                    "pinv",
                    "linalg::pinv(x, tolerance)",
                    (|| e::linalg::pinv(twice(), None), &[0.5, 0.0, 0.0, 0.5]),
                ),
                there(
                    "qr",
                    "linalg::qr(x, factors)",
                    (|| e::abs(e::linalg::qr(twice(), Factors::Reduced)?.1), &[2.0, 0.0, 0.0, 2.0]),
                ),
                there("slogdet", "linalg::slogdet(x)", (|| Ok(e::linalg::slogdet(twice())?.0), &[1.0])),
                there(
                    "solve",
                    "linalg::solve(x, y)",
                    (|| e::linalg::solve(twice(), [1.0, 2.0].as_slice()), &[0.5, 1.0]),
                ),
                there(
                    "svd",
                    "linalg::svd(x, factors)",
                    (|| Ok(e::linalg::svd(twice(), Factors::Complete)?.1), &[2.0, 2.0]),
                ),
                there("svdvals", "linalg::svdvals(x)", (|| e::linalg::svdvals(twice()), &[2.0, 2.0])),
                there(
                    "trace",
                    "x.trace(offset), x.trace_in(offset, dtype)",
                    (|| e::trace_in(m(), 0, DType::F32), &[3.0]),
                ),
                there(
                    "vector_norm",
                    "linalg::vector_norm(x, axes, order)",
                    (|| e::linalg::vector_norm([3.0, 4.0].as_slice(), (), 2.0), &[5.0]),
                ),
            ],
        ),
        (
            "Extension fft",
            vec![
                there(
                    "fft",
                    "fft::fft(x, n, axis, norm)",
                    (|| e::fft::fft(pair(), None, 0, Norm::Backward), &[4.0, -2.0]),
                ),
                there(
                    "ifft",
                    "fft::ifft(x, n, axis, norm)",
                    (|| e::fft::ifft(pair(), None, 0, Norm::Backward), &[2.0, -1.0]),
                ),
                there(
                    "fftn",
                    "fft::fftn(x, sizes, axes, norm)",
                    (|| e::fft::fftn(pair(), None, (), Norm::Backward), &[4.0, -2.0]),
                ),
                there(
                    "ifftn",
                    "fft::ifftn(x, sizes, axes, norm)",
                    (|| e::fft::ifftn(pair(), None, (), Norm::Backward), &[2.0, -1.0]),
                ),
                there(
                    "rfft",
                    "fft::rfft(x, n, axis, norm)",
                    (|| e::fft::rfft(pair(), None, 0, Norm::Backward), &[4.0, -2.0]),
                ),
                there(
                    "irfft",
                    "fft::irfft(x, n, axis, norm)",
                    (|| e::fft::irfft(pair(), None, 0, Norm::Backward), &[2.0, -1.0]),
                ),
                there(
                    "rfftn",
                    "fft::rfftn(x, sizes, axes, norm)",
                    (|| e::fft::rfftn(pair(), None, (), Norm::Backward), &[4.0, -2.0]),
                ),
                there(
                    "irfftn",
                    "fft::irfftn(x, sizes, axes, norm)",
                    (|| e::fft::irfftn(pair(), None, (), Norm::Backward), &[2.0, -1.0]),
                ),
                there(
                    "hfft",
                    "fft::hfft(x, n, axis, norm)",
                    (|| e::fft::hfft(pair(), None, 0, Norm::Backward), &[4.0, -2.0]),
                ),
                there(
                    "ihfft",
                    "fft::ihfft(x, n, axis, norm)",
                    (|| e::fft::ihfft(pair(), None, 0, Norm::Backward), &[2.0, -1.0]),
                ),
                there(
                    "fftfreq",
                    "fft::fftfreq(n, distance, dtype)",
                    (|| e::fft::fftfreq(2, 0.5, F), &[0.0, -1.0]),
                ),
                there(
                    "rfftfreq",
                    "fft::rfftfreq(n, distance, dtype)",
                    (|| e::fft::rfftfreq(2, 0.5, F), &[0.0, 1.0]),
                ),
                there("fftshift", "fft::fftshift(x, axes)", (|| e::fft::fftshift(pair(), ()), &[3.0, 1.0])),
                there(
                    "ifftshift",
                    "fft::ifftshift(x, axes)",
                    (|| e::fft::ifftshift(pair(), ()), &[3.0, 1.0]),
                ),
            ],
        ),
    ]
}

/// Names that users of NumPy try first.
pub fn numpy() -> Section {
    (
        "Names of NumPy beyond the standard",
        vec![
            there("allclose", "x.allclose(y, close)", (|| e::allclose(v(), v(), Close::default()), &[1.0])),
            there("angle", "x.angle()", (|| e::angle(e::complex(0, 0)?), &[0.0])),
            there("array_equal", "x.array_equal(y)", (|| e::array_equal(v(), m()), &[0.0])),
            there(
                "bincount",
                "x.bincount(length, weights)",
                (|| e::bincount(v(), 4, None), &[0.0, 1.0, 1.0, 1.0]),
            ),
            there(
                "column_stack",
                "column_stack(tensors)",
                (|| e::column_stack([v(), v()]), &[3.0, 3.0, 1.0, 1.0, 2.0, 2.0]),
            ),
            there("convolve", "convolve(a, v, mode)", (|| e::convolve(v(), v(), Mode::Valid), &[13.0])),
            there("corrcoef", "x.corrcoef()", (|| e::corrcoef(m()), &[1.0; 4])),
            there("correlate", "correlate(a, v, mode)", (|| e::correlate(v(), v(), Mode::Valid), &[14.0])),
            there("cov", "x.cov(correction)", (|| e::cov(v(), 1.0), &[1.0])),
            there(
                "digitize",
                "x.digitize(edges, closed)",
                (|| e::digitize(v(), e::arange(0, 4, 1)?, Side::Left), &[4.0, 2.0, 3.0]),
            ),
            there("dot", "dot(x, y)", (|| e::dot(v(), v()), &[14.0])),
            there("dstack", "dstack(tensors)", (|| e::dstack([v(), v()]), &[3.0, 3.0, 1.0, 1.0, 2.0, 2.0])),
            there(
                "fill_diagonal",
                "x.fill_diagonal(value)",
                (|| e::fill_diagonal(m(), 7), &[7.0, 1.0, 2.0, 7.0]),
            ),
            there("fliplr, flipud", "x.fliplr(), x.flipud()", (|| e::fliplr(m()), &[1.0, 0.0, 3.0, 2.0])),
            there(
                "geomspace",
                "geomspace(start, stop, count, dtype)",
                (|| e::geomspace(1.0, 4.0, 3, F), &[1.0, 2.0, 4.0]),
            ),
            there("gradient", "x.gradient(spacing, axis)", (|| e::gradient(v(), 1.0, 0), &[-2.0, -0.5, 1.0])),
            there(
                "histogram",
                "x.histogram(edges, weights)",
                (|| e::histogram(v(), e::arange(0, 4, 1)?, None), &[0.0, 1.0, 2.0]),
            ),
            there("hstack", "hstack(tensors)", (|| e::hstack([v(), v()]), &[3.0, 1.0, 2.0, 3.0, 1.0, 2.0])),
            there(
                "interp",
                "interp(x, xp, fp)",
                (|| e::interp([0.5, 9.0].as_slice(), e::arange(0, 3, 1)?, v()), &[2.0, 2.0]),
            ),
            there(
                "isclose",
                "x.isclose(y, close)",
                (|| e::isclose(v(), 3, Close::default()), &[1.0, 0.0, 0.0]),
            ),
            there(
                "logspace",
                "logspace(start, stop, count, base, dtype)",
                (|| e::logspace(0.0, 2.0, 3, 2.0, F), &[1.0, 2.0, 4.0]),
            ),
            there("median", "x.median(axis)", (|| e::median(v(), 0), &[2.0])),
            there(
                "nan_to_num",
                "x.nan_to_num(nan, posinf, neginf)",
                (|| e::nan_to_num(f64::NAN, 7.0, None, None), &[7.0]),
            ),
            there("nancumprod", "x.nancumprod(axis)", (|| e::nancumprod(v(), 0), &[3.0, 3.0, 6.0])),
            there("nancumsum", "x.nancumsum(axis)", (|| e::nancumsum(v(), 0), &[3.0, 4.0, 6.0])),
            there("percentile", "x.percentile(percent, axis)", (|| e::percentile(v(), 75.0, 0), &[2.5])),
            there("ptp", "x.ptp(axes)", (|| e::ptp(v(), 0), &[2.0])),
            there("quantile", "x.quantile(q, axis)", (|| e::quantile(v(), 0.5, 0), &[2.0])),
            there("ravel", "x.ravel(), x.flatten()", (|| e::ravel(m()), &[0.0, 1.0, 2.0, 3.0])),
            there("rot90", "x.rot90(times, axes)", (|| e::rot90(m(), 1, [0, 1]), &[1.0, 3.0, 0.0, 2.0])),
            there("split", "x.split(parts, axis)", (|| joined(e::split(m(), 2, 1)), &[0.0, 2.0, 1.0, 3.0])),
            there(
                "swapaxes",
                "x.swapaxes(first, second)",
                (|| e::swapaxes(m(), 0, 1), &[0.0, 2.0, 1.0, 3.0]),
            ),
            there("trapezoid", "y.trapezoid(x, axis)", (|| e::trapezoid(v(), 1.0, 0), &[3.5])),
            there("vstack", "vstack(tensors)", (|| e::vstack([v(), v()]), &[3.0, 1.0, 2.0, 3.0, 1.0, 2.0])),
        ],
    )
}
