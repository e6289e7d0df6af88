//! The functions of the standard on whole arrays.

use tensorjit::{DType, End, Error, Indexing, Order, Side, Tensor, along, at, axis, eager as e};

use super::{Section, language, missing, noted, there};

pub const F: DType = DType::F64;

/// 0, 1, 2, 3 in two rows.
pub fn m() -> Tensor {
    e::reshape(e::arange(0, 4, 1).unwrap(), [2_i64, 2]).unwrap()
}

pub fn v() -> Tensor {
    Tensor::from(vec![3_i64, 1, 2])
}

pub fn joined(parts: Result<Vec<Tensor>, Error>) -> Result<Tensor, Error> {
    e::concat(parts?, None)
}

fn repeated() -> Tensor {
    Tensor::from(vec![3_i64, 1, 2, 1, 3])
}

/// All sections but the elementwise one and the extensions.
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
                there(
                    "arange",
                    "arange(start, stop, step), arange_in(start, stop, step, dtype)",
                    (|| e::arange_in(1, 2.5, 0.5, DType::F32), &[1.0, 1.5, 2.0]),
                ),
                there("asarray", "Tensor::from_shape_vec", (|| Ok(v()), &[3.0, 1.0, 2.0])),
                noted("empty", "empty(shape, dtype)", "holds zeros", (|| e::empty([2_i64], F), &[0.0, 0.0])),
                noted("empty_like", "x.empty_like()", "holds zeros", (|| e::empty_like(v()), &[0.0; 3])),
                there(
                    "eye",
                    "eye(rows, columns, offset, dtype)",
                    (|| e::eye(2, 2, 0, F), &[1.0, 0.0, 0.0, 1.0]),
                ),
                missing("from_dlpack", PYTHON),
                there("full", "full(shape, value)", (|| e::full([2_i64], 7), &[7.0, 7.0])),
                there("full_like", "x.full_like(value)", (|| e::full_like(v(), 7), &[7.0; 3])),
                noted(
                    "linspace",
                    "linspace(start, stop, count, dtype)",
                    "without `endpoint`: `End::Excluded(stop)`",
                    (|| e::linspace(0.0, End::Excluded(1.0), 4, F), &[0.0, 0.25, 0.5, 0.75]),
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
                language("can_cast", "dtype.can_cast(to)"),
                language("finfo", "dtype.finfo()"),
                language("iinfo", "dtype.iinfo()"),
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
                there(
                    "several integer arrays",
                    "x.at((&rows, .., &columns))",
                    (|| e::index(m(), [[1, 0].into(), [1, 1].into()]), &[3.0, 1.0]),
                ),
                noted(
                    "assignment",
                    "x.set(index, value), x.add_at(index, value)",
                    "give new tensors; so do `scatter` and `scatter_add` along an axis",
                    (|| e::set(m(), (.., 0), 7), &[7.0, 1.0, 7.0, 3.0]),
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
                there(
                    "roll",
                    "x.roll(shifts, axes)",
                    (|| e::roll(m(), [1, 1], [0, 1]), &[3.0, 2.0, 1.0, 0.0]),
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
                there("argmax", "x.argmax(axis)", (|| e::argmax(v(), None), &[0.0])),
                there("argmin", "x.argmin(axis)", (|| e::argmin(m(), axis(1).keepdims()), &[0.0, 0.0])),
                there("count_nonzero", "x.count_nonzero(axes)", (|| e::count_nonzero(m(), ()), &[3.0])),
                there(
                    "nonzero",
                    "x.nonzero()",
                    (|| joined(e::nonzero(m())), &[0.0, 1.0, 1.0, 1.0, 0.0, 1.0]),
                ),
                there(
                    "searchsorted",
                    "x.searchsorted(values, side), x.searchsorted_by(values, side, sorter)",
                    (
                        || e::searchsorted_by(v(), v(), e::argsort(v(), 0, Order::Ascending)?, Side::Left),
                        &[2.0, 0.0, 1.0],
                    ),
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
                there(
                    "cumulative_prod",
                    "x.cumulative_prod(axis)",
                    (|| e::cumulative_prod(v(), 0), &[3.0, 3.0, 6.0]),
                ),
                noted(
                    "cumulative_sum",
                    "x.cumulative_sum(axis)",
                    "`along(axis).in_dtype(dtype).include_initial()` in place of an axis",
                    (
                        || e::cumulative_sum(v(), along(0).in_dtype(DType::F32).include_initial()),
                        &[0.0, 3.0, 4.0, 6.0],
                    ),
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
                there(
                    "diff",
                    "x.diff(times, axis), x.diff_with(times, axis, prepend, append)",
                    (|| e::diff_with(v(), 1, 0, 0, None), &[3.0, -2.0, 1.0]),
                ),
            ],
        ),
    ]
}
