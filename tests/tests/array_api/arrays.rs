//! The functions of the standard on whole arrays.

use tensorjit::fft::{self, Norm};
use tensorjit::linalg::{Factors, MatrixNorm, Triangle};
use tensorjit::{
    DType, Error, Indexing, LazyTensor, Order, Side, Tensor, at, axis, compute, defer, eager as e,
};

use super::{Section, language, missing, partly, there};

const F: DType = DType::F64;

/// 0, 1, 2, 3 in two rows.
fn m() -> Tensor {
    e::reshape(e::arange(0, 4, 1).unwrap(), [2_i64, 2]).unwrap()
}

/// 2 on the diagonal.
fn twice() -> Tensor {
    e::multiply(e::eye(2, 2, 0, F).unwrap(), 2).unwrap()
}

/// 1, 3.
fn pair() -> LazyTensor {
    defer(Tensor::from(vec![1.0, 3.0]))
}

fn v() -> Tensor {
    Tensor::from(vec![3_i64, 1, 2])
}

fn joined(parts: Result<Vec<Tensor>, Error>) -> Result<Tensor, Error> {
    e::concat(parts?, None)
}

fn repeated() -> Tensor {
    Tensor::from(vec![3_i64, 1, 2, 1, 3])
}

/// All sections but the elementwise one.
pub fn sections() -> Vec<Section> {
    const PYTHON: &str = "belongs to a Python package, which there is not yet";
    vec![
        (
            "Constants",
            vec![
                language("e", "std::f64::consts::E"),
                language("inf", "f64::INFINITY"),
                language("nan", "f64::NAN"),
                language("pi", "std::f64::consts::PI"),
                there(
                    "newaxis",
                    "At::NewAxis",
                    (|| e::index(v(), [tensorjit::At::NewAxis, at(1, None, 1)]), &[1.0, 2.0]),
                ),
            ],
        ),
        (
            "Creation functions",
            vec![
                partly(
                    "arange",
                    "arange(start, stop, step)",
                    "integers",
                    (|| e::arange(1, 6, 2), &[1.0, 3.0, 5.0]),
                ),
                there("asarray", "Tensor::from_shape_vec", (|| Ok(v()), &[3.0, 1.0, 2.0])),
                missing(
                    "empty",
                    "memory that was never written cannot be seen; `zeros` fuses into what reads it",
                ),
                missing("empty_like", "as `empty`"),
                there(
                    "eye",
                    "eye(rows, columns, offset, dtype)",
                    (|| e::eye(2, 2, 0, F), &[1.0, 0.0, 0.0, 1.0]),
                ),
                missing("from_dlpack", PYTHON),
                there("full", "full(shape, value)", (|| e::full([2_i64], 7), &[7.0, 7.0])),
                there("full_like", "x.full_like(value)", (|| e::full_like(v(), 7), &[7.0; 3])),
                partly(
                    "linspace",
                    "linspace(start, stop, count, dtype)",
                    "ends at `stop`",
                    (|| e::linspace(0.0, 1.0, 3, F), &[0.0, 0.5, 1.0]),
                ),
                there(
                    "meshgrid",
                    "meshgrid(vectors, indexing)",
                    (
                        || joined(e::meshgrid([&v(), &v()], Indexing::Ij)),
                        &[3., 3., 3., 1., 1., 1., 2., 2., 2., 3., 1., 2., 3., 1., 2., 3., 1., 2.],
                    ),
                ),
                there("ones", "ones(shape, dtype)", (|| e::ones([2_i64], F), &[1.0, 1.0])),
                there("ones_like", "x.ones_like()", (|| e::ones_like(v()), &[1.0; 3])),
                there("tril", "x.tril(offset)", (|| e::tril(m(), 0), &[0.0, 0.0, 2.0, 3.0])),
                there("triu", "x.triu(offset)", (|| e::triu(m(), 0), &[0.0, 1.0, 0.0, 3.0])),
                there("zeros", "zeros(shape, dtype)", (|| e::zeros([2_i64], F), &[0.0, 0.0])),
                there("zeros_like", "x.zeros_like()", (|| e::zeros_like(v()), &[0.0; 3])),
            ],
        ),
        (
            "Data types",
            vec![
                language("bool", "DType::Bool"),
                language("int8, int16, int32, int64", "DType::I8, ..."),
                language("uint8, uint16, uint32, uint64", "DType::U8, ..."),
                language("float32, float64", "DType::F32, DType::F64"),
                language("complex64, complex128", "DType::C64, DType::C128"),
            ],
        ),
        (
            "Data type functions",
            vec![
                there("astype", "x.cast(dtype)", (|| e::cast(v(), DType::U8), &[3.0, 1.0, 2.0])),
                missing("can_cast", "casts are total"),
                missing("finfo", "f32 and f64 have these constants"),
                missing("iinfo", "integer types have these constants"),
                language("isdtype", "dtype.is_float(), .is_int(), .is_complex(), .is_bool()"),
                language("result_type", "DType::promote"),
            ],
        ),
        (
            "Indexing",
            vec![
                there(
                    "integers, slices, `...`, newaxis",
                    "x.at((1.., 0))",
                    (|| e::index(m(), [at(1, None, 1), 0.into()]), &[2.0]),
                ),
                there(
                    "boolean mask",
                    "x.masked(mask)",
                    (|| e::masked(v(), e::greater(v(), 1)?), &[3.0, 2.0]),
                ),
                missing("several integer arrays", "`take` along one axis is there"),
                missing(
                    "assignment",
                    "tensors do not change; `where_`, `scatter` and `scatter_add` give new ones",
                ),
                there(
                    "take",
                    "x.take(indices, axis)",
                    (|| e::take(v(), [2_i64, 0].as_slice(), 0), &[2.0, 3.0]),
                ),
                there(
                    "take_along_axis",
                    "x.take_along_axis(indices, axis)",
                    (|| e::take_along_axis(v(), [2_i64, 0].as_slice(), 0), &[2.0, 3.0]),
                ),
            ],
        ),
        ("Inspection", vec![missing("__array_namespace_info__", PYTHON)]),
        (
            "Linear algebra",
            vec![
                there("matmul", "x.matmul(y)", (|| e::matmul(m(), m()), &[2.0, 3.0, 6.0, 11.0])),
                there(
                    "matrix_transpose",
                    "x.matrix_transpose()",
                    (|| e::matrix_transpose(m()), &[0.0, 2.0, 1.0, 3.0]),
                ),
                there("tensordot", "tensordot(x, y, axes)", (|| e::tensordot(m(), m(), 2), &[14.0])),
                there("vecdot", "vecdot(x, y, axis)", (|| e::vecdot(v(), v(), -1), &[14.0])),
            ],
        ),
        (
            "Manipulation",
            vec![
                there(
                    "broadcast_arrays",
                    "broadcast_arrays(tensors)",
                    (|| joined(e::broadcast_arrays([&v(), &e::arange(0, 1, 1)?])), &[3., 1., 2., 0., 0., 0.]),
                ),
                there(
                    "broadcast_to",
                    "x.broadcast_to(shape)",
                    (|| e::broadcast_to(5, &[2.into()]), &[5.0, 5.0]),
                ),
                there(
                    "concat",
                    "concat(tensors, axis)",
                    (|| e::concat([v(), v()], 0), &[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]),
                ),
                there("expand_dims", "x.expand_dims(axes)", (|| e::expand_dims(v(), 0), &[3.0, 1.0, 2.0])),
                there("flip", "x.flip(axes)", (|| e::flip(v(), 0), &[2.0, 1.0, 3.0])),
                there(
                    "moveaxis",
                    "x.moveaxis(from, to)",
                    (|| e::moveaxis(m(), &[0], &[1]), &[0.0, 2.0, 1.0, 3.0]),
                ),
                there(
                    "permute_dims",
                    "x.permute_dims(axes)",
                    (|| e::permute_dims(m(), &[1, 0]), &[0.0, 2.0, 1.0, 3.0]),
                ),
                there(
                    "repeat",
                    "x.repeat(count, axis)",
                    (|| e::repeat(v(), &v(), 0), &[3.0, 3.0, 3.0, 1.0, 2.0, 2.0]),
                ),
                there("reshape", "x.reshape(shape)", (|| e::reshape(m(), [-1_i64]), &[0.0, 1.0, 2.0, 3.0])),
                partly(
                    "roll",
                    "x.roll(shift, axis)",
                    "one axis, or all as one",
                    (|| e::roll(v(), 1, 0), &[2.0, 3.0, 1.0]),
                ),
                there(
                    "squeeze",
                    "x.squeeze(axes)",
                    (|| e::squeeze(e::expand_dims(v(), 0)?, 0), &[3.0, 1.0, 2.0]),
                ),
                there(
                    "stack",
                    "stack(tensors, axis)",
                    (|| e::stack([v(), v()], 1), &[3.0, 3.0, 1.0, 1.0, 2.0, 2.0]),
                ),
                there("tile", "x.tile(counts)", (|| e::tile(v(), [2]), &[3.0, 1.0, 2.0, 3.0, 1.0, 2.0])),
                there("unstack", "x.unstack(axis)", (|| joined(e::unstack(m(), 1)), &[0.0, 2.0, 1.0, 3.0])),
            ],
        ),
        (
            "Searching",
            vec![
                partly("argmax", "x.argmax(axis)", "without `keepdims`", (|| e::argmax(v(), None), &[0.0])),
                partly("argmin", "x.argmin(axis)", "without `keepdims`", (|| e::argmin(v(), 0), &[1.0])),
                there("count_nonzero", "x.count_nonzero(axes)", (|| e::count_nonzero(m(), ()), &[3.0])),
                there(
                    "nonzero",
                    "x.nonzero()",
                    (|| joined(e::nonzero(m())), &[0.0, 1.0, 1.0, 1.0, 0.0, 1.0]),
                ),
                partly(
                    "searchsorted",
                    "x.searchsorted(values, side)",
                    "without `sorter`",
                    (|| e::searchsorted(e::arange(0, 4, 1)?, v(), Side::Right), &[4.0, 2.0, 3.0]),
                ),
                there(
                    "where",
                    "where_(condition, x, y)",
                    (|| e::where_(e::greater(v(), 1)?, v(), 0), &[3.0, 0.0, 2.0]),
                ),
            ],
        ),
        (
            "Sets",
            vec![
                there(
                    "unique_all",
                    "x.unique_all()",
                    (|| e::unique_all(repeated()).map(|(_, indices, _, _)| indices), &[1.0, 2.0, 0.0]),
                ),
                there(
                    "unique_counts",
                    "x.unique_counts()",
                    (|| e::unique_counts(repeated()).map(|(_, counts)| counts), &[2.0, 1.0, 2.0]),
                ),
                there(
                    "unique_inverse",
                    "x.unique_inverse()",
                    (
                        || e::unique_inverse(repeated()).map(|(_, inverse)| inverse),
                        &[2.0, 0.0, 1.0, 0.0, 2.0],
                    ),
                ),
                there(
                    "unique_values",
                    "x.unique_values()",
                    (|| e::unique_values(repeated()), &[1.0, 2.0, 3.0]),
                ),
            ],
        ),
        (
            "Sorting",
            vec![
                there(
                    "argsort",
                    "x.argsort(axis, order)",
                    (|| e::argsort(v(), 0, Order::Ascending), &[1.0, 2.0, 0.0]),
                ),
                there(
                    "sort",
                    "x.sort(axis, order)",
                    (|| e::sort(v(), 0, Order::Descending), &[3.0, 2.0, 1.0]),
                ),
            ],
        ),
        (
            "Statistics",
            vec![
                partly(
                    "cumulative_prod",
                    "x.cumulative_prod(axis)",
                    "without `dtype`",
                    (|| e::cumulative_prod(v(), 0), &[3.0, 3.0, 6.0]),
                ),
                partly(
                    "cumulative_sum",
                    "x.cumulative_sum(axis)",
                    "without `dtype`",
                    (|| e::cumulative_sum(v(), 0), &[3.0, 4.0, 6.0]),
                ),
                there("max", "x.max(axes)", (|| e::max(m(), axis(0)), &[2.0, 3.0])),
                there("mean", "x.mean(axes)", (|| e::mean(m(), ()), &[1.5])),
                there("min", "x.min(axes)", (|| e::min(m(), 1), &[0.0, 2.0])),
                there(
                    "prod",
                    "x.prod(axes), x.prod_in(axes, dtype)",
                    (|| e::prod_in(v(), (), DType::F32), &[6.0]),
                ),
                there("std", "x.std(axes, correction)", (|| e::std(m(), 1, 0.0), &[0.5, 0.5])),
                there(
                    "sum",
                    "x.sum(axes), x.sum_in(axes, dtype)",
                    (|| e::sum(m(), axis(0).keepdims()), &[2.0, 4.0]),
                ),
                there("var", "x.var(axes, correction)", (|| e::var(m(), 1, 1.0), &[0.5, 0.5])),
            ],
        ),
        (
            "Utility",
            vec![
                there("all", "x.all(axes)", (|| e::all(m(), 1), &[0.0, 1.0])),
                there("any", "x.any(axes)", (|| e::any(m(), ()), &[1.0])),
                partly(
                    "diff",
                    "x.diff(times, axis)",
                    "without `prepend` and `append`",
                    (|| e::diff(v(), 1, 0), &[-2.0, 1.0]),
                ),
            ],
        ),
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
                partly(
                    "matrix_norm",
                    "linalg::matrix_norm(x, norm)",
                    "without `keepdims`",
                    (|| e::linalg::matrix_norm(m(), MatrixNorm::One), &[4.0]),
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
                partly("trace", "x.trace(offset)", "without `dtype`", (|| e::trace(m(), 0), &[3.0])),
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
                    (|| compute(fft::fft(&pair(), None, 0, Norm::Backward)), &[4.0, -2.0]),
                ),
                there(
                    "ifft",
                    "fft::ifft(x, n, axis, norm)",
                    (|| compute(fft::ifft(&pair(), None, 0, Norm::Backward)), &[2.0, -1.0]),
                ),
                there(
                    "fftn",
                    "fft::fftn(x, sizes, axes, norm)",
                    (|| compute(fft::fftn(&pair(), None, (), Norm::Backward)), &[4.0, -2.0]),
                ),
                there(
                    "ifftn",
                    "fft::ifftn(x, sizes, axes, norm)",
                    (|| compute(fft::ifftn(&pair(), None, (), Norm::Backward)), &[2.0, -1.0]),
                ),
                there(
                    "rfft",
                    "fft::rfft(x, n, axis, norm)",
                    (|| compute(fft::rfft(&pair(), None, 0, Norm::Backward)), &[4.0, -2.0]),
                ),
                there(
                    "irfft",
                    "fft::irfft(x, n, axis, norm)",
                    (|| compute(fft::irfft(&pair(), None, 0, Norm::Backward)), &[2.0, -1.0]),
                ),
                there(
                    "rfftn",
                    "fft::rfftn(x, sizes, axes, norm)",
                    (|| compute(fft::rfftn(&pair(), None, (), Norm::Backward)), &[4.0, -2.0]),
                ),
                there(
                    "irfftn",
                    "fft::irfftn(x, sizes, axes, norm)",
                    (|| compute(fft::irfftn(&pair(), None, (), Norm::Backward)), &[2.0, -1.0]),
                ),
                there(
                    "hfft",
                    "fft::hfft(x, n, axis, norm)",
                    (|| compute(fft::hfft(&pair(), None, 0, Norm::Backward)), &[4.0, -2.0]),
                ),
                there(
                    "ihfft",
                    "fft::ihfft(x, n, axis, norm)",
                    (|| compute(fft::ihfft(&pair(), None, 0, Norm::Backward)), &[2.0, -1.0]),
                ),
                there(
                    "fftfreq",
                    "fft::fftfreq(n, distance, dtype)",
                    (|| compute(fft::fftfreq(2, 0.5, F)), &[0.0, -1.0]),
                ),
                there(
                    "rfftfreq",
                    "fft::rfftfreq(n, distance, dtype)",
                    (|| compute(fft::rfftfreq(2, 0.5, F)), &[0.0, 1.0]),
                ),
                there(
                    "fftshift",
                    "fft::fftshift(x, axes)",
                    (|| compute(fft::fftshift(&pair(), ())), &[3.0, 1.0]),
                ),
                there(
                    "ifftshift",
                    "fft::ifftshift(x, axes)",
                    (|| compute(fft::ifftshift(&pair(), ())), &[3.0, 1.0]),
                ),
            ],
        ),
    ]
}
