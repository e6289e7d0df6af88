//! Cases of parameters that the array API has, of indexing with arrays and assignment, and of names that NumPy has.

use tj_ir::{
    At, Axes, Close, End, Mode, Order, Side, along, arange, arange_in, at, axis, column_stack, convolve,
    correlate, dot, dstack, geomspace, hstack, interp, linalg, linspace, logspace, vstack,
};
use tj_tensor::DType;

use super::check;

#[test]
fn parameters() {
    check(&[
        ("arange_float", |_| arange(-1.0, 2.3, 0.3)),
        ("arange_float_down", |_| arange(1, -1.0, -0.25)),
        ("arange_float_none", |_| arange(1.0, -1.0, 0.5)),
        ("arange_in", |_| arange_in(0.0, 1.0, 0.1, DType::F32)),
        ("arange_in_size", |d| arange_in(1, &d.n, 2, DType::F32)),
        ("linspace_open", |d| linspace(-1.0, End::Excluded(2.5), &d.n + 1, DType::F64)),
        ("logspace", |d| logspace(0.0, 3.0, &d.n + 1, 10.0, DType::F64)),
        ("logspace_base", |d| logspace(-1.0, End::Excluded(3.0), &d.n + 1, 2.0, DType::F32)),
        ("geomspace", |d| geomspace(1.0, 1000.0, &d.n + 1, DType::F64)),
        ("geomspace_down", |d| geomspace(-8.0, End::Excluded(-1.0), &d.n + 1, DType::F64)),
        ("clip_above", |d| d.f("a", "nm").clip(None, 1.0)),
        ("clip_below", |d| d.i("a", "nm").clip(d.i("b", "m"), None)),
        ("roll_axes", |d| d.i("a", "nm").roll([1, -2], [0, 1])),
        ("roll_one", |d| d.i("a", "nm").roll(2, [0, 1])),
        ("roll_twice", |d| d.i("a", "nm").roll([1, 1], [0, 0])),
        ("argmax_kept", |d| d.i("a", "nm").argmax(axis(1).keepdims())),
        ("argmin_kept", |d| d.i("a", "nm").argmin(Axes::all().keepdims())),
        ("searchsorted_by", |d| {
            d.i("a", "m").searchsorted_by(
                &d.i("b", "n2"),
                Side::Right,
                &d.i("a", "m").argsort(0, Order::Ascending),
            )
        }),
        ("diff_with", |d| d.i("a", "nm").diff_with(1, 1, 0, d.i("b", "n2"))),
        ("diff_after", |d| d.f("a", "nm").diff_with(2, 0, None, 1.5)),
        ("cumsum_in", |d| d.w("a", "nm").cumulative_sum(along(1).in_dtype(DType::I8))),
        ("cumprod_in", |d| d.i("a", "nm").cumulative_prod(along(0).include_initial().in_dtype(DType::F64))),
        ("trace_in", |d| d.w("a", "2nm").trace_in(0, DType::I8)),
        ("norm_kept", |d| linalg::matrix_norm(&d.f("a", "n32"), linalg::MatrixNorm::Infinity.keepdims())),
        ("norm_order", |d| linalg::vector_norm(&d.f("a", "nm"), 1, 3.0)),
        ("norm_order_kept", |d| linalg::vector_norm(&(d.f("a", "nm") + 9), axis(0).keepdims(), -1.5)),
        ("z_exp2", |d| d.z("a", "nm").exp2()),
    ]);
}

#[test]
fn indexing() {
    check(&[
        ("adv_two", |d| d.i("a", "45").at((d.i("i", "n") % 4, d.i("j", "n") % 5))),
        ("adv_grid", |d| d.i("a", "45").at((d.i("i", "n1") % 4, d.i("j", "m") % 5))),
        ("adv_apart", |d| d.i("a", "453").at((d.i("i", "n") % 4, .., d.i("j", "n") % 3))),
        ("adv_number_apart", |d| d.i("a", "453").at((0, .., d.i("j", "nm") % 3))),
        ("adv_number", |d| d.i("a", "453").at((.., 1, d.i("j", "nm") % 3))),
        ("adv_ellipsis", |d| d.i("a", "45").at((d.i("i", "n") % 4, At::Ellipsis, d.i("j", "n") % 5))),
        ("adv_behind", |d| d.i("a", "2453").at((At::Ellipsis, d.i("i", "n") % 5, d.i("j", "mn") % 3))),
        ("adv_new", |d| d.i("a", "453").at((.., At::NewAxis, d.i("i", "n") % 5, d.i("j", "n") % 3))),
        ("adv_new_between", |d| d.i("a", "453").at((d.i("i", "n") % 4, At::NewAxis, d.i("j", "n") % 5))),
        ("adv_negative", |d| d.i("a", "45").at(d.i("i", "n") % 4 - 4)),
        ("adv_slices", |d| d.i("a", "n45").at((at(None, None, -1), d.i("i", "m") % 4, 1..3))),
        ("adv_narrow", |d| d.f("a", "45").at((.., d.w("i", "2") % 5)) + d.f("b", "2")),
        ("adv_complex", |d| d.z("a", "45").at((d.i("i", "n") % 4, d.i("j", "n") % 5))),
        ("set_slices", |d| d.i("a", "nm").set((1.., at(None, None, 2)), 7)),
        ("set_position", |d| d.i("a", "nm").set((0, -1), 9)),
        ("set_row", |d| d.i("a", "nm").set(0, d.i("b", "m"))),
        ("set_steps", |d| d.f("a", "nm").set((at(None, None, -2), ..), d.f("b", "m")) * 2),
        ("set_backwards", |d| d.i("a", "m8").set((.., at(-2, 0, -3)), d.i("b", "m2"))),
        ("set_columns", |d| d.i("a", "nm").set((.., at(1, None, 3)), d.i("b", "n1"))),
        ("set_new", |d| d.i("a", "nm").set((At::NewAxis, at(1, None, 1)), d.i("b", "11m"))),
        ("set_casts", |d| d.w("a", "nm").set(.., &(d.f("b", "nm") * 1.5))),
        ("set_computed", |d| d.f("a", "nm").set((.., 0), d.f("b", "nm").sum(1))),
        ("set_all", |d| d.i("a", "nm").set(At::Ellipsis, 3)),
        ("set_complex", |d| d.z("a", "nm").set((1.., ..), d.f("b", "m"))),
        ("add_at", |d| d.i("a", "nm").add_at((.., at(None, None, 2)), d.i("b", "n1"))),
        ("set_arrays", |d| d.i("a", "45").set((d.i("i", "n") % 4, d.i("j", "n") % 5), d.i("b", "n"))),
        ("set_mixed", |d| d.i("a", "n53").set((.., 1, d.i("j", "2") % 3), 8)),
        ("add_arrays", |d| d.i("a", "45").add_at((d.i("i", "nm") % 4, d.i("j", "m") % 5), 1)),
    ]);
}

#[test]
fn names() {
    check(&[
        ("ravel", |d| d.i("a", "nm").ravel()),
        ("hstack", |d| hstack(&[d.i("a", "nm"), d.i("b", "n2")])),
        ("hstack_vectors", |d| hstack(&[d.i("a", "n"), d.i("b", "m")])),
        ("vstack", |d| vstack(&[d.i("a", "nm"), d.i("b", "m")])),
        ("dstack", |d| dstack(&[d.i("a", "nm"), d.i("b", "nm2")])),
        ("column_stack", |d| column_stack(&[d.i("a", "n"), d.i("b", "nm")])),
        ("split", |d| d.i("a", "nm").split(2, 1).remove(1)),
        ("rot90", |d| d.i("a", "nm2").rot90(1, [0, 1])),
        ("rot90_half", |d| d.i("a", "nm2").rot90(-2, [2, 0])),
        ("rot90_back", |d| d.i("a", "nm2").rot90(3, [-1, 1])),
        ("fliplr", |d| d.i("a", "nm").fliplr()),
        ("flipud", |d| d.i("a", "nm").flipud()),
        ("isclose", |d| {
            d.nan("a", "nm")
                .isclose(&d.nan("b", "m"), Close { relative: 0.5, absolute: 0.25, equal_nan: true })
        }),
        ("isclose_infinite", |d| (d.f("a", "nm") / 0.0).isclose(&(d.f("b", "nm") / 0.0), Close::default())),
        ("isclose_complex", |d| {
            d.z("a", "nm").isclose(&d.z("b", "nm"), Close { relative: 1.0, ..Close::default() })
        }),
        ("allclose", |d| d.f("a", "nm").allclose(&(d.f("a", "nm") + 1e-9), Close::default())),
        ("array_equal", |d| d.i("a", "nm").array_equal(&d.i("a", "nm"))),
        ("array_unequal", |d| d.i("a", "nm").array_equal(&d.i("a", "nm2"))),
        ("nan_to_num", |d| (d.f("a", "nm") / d.b("b", "nm")).nan_to_num(7.0, None, -5.0)),
        ("fill_diagonal", |d| d.i("a", "nm").fill_diagonal(7)),
        ("fill_diagonal_vector", |d| {
            d.f("a", "nm").fill_diagonal(d.f("b", "9").index([At::Slice {
                start: None,
                stop: Some(d.n.min(&d.m)),
                step: 1,
            }]))
        }),
        ("digitize", |d| d.i("a", "nm").digitize(&arange(-6, 7, 3), Side::Left)),
        ("digitize_right", |d| d.i("a", "nm").digitize(&arange(-6, 7, 3), Side::Right)),
        ("bincount", |d| (d.i("a", "n") % 7).bincount(7, None)),
        ("bincount_weights", |d| (d.w("a", "n") % 7).bincount(8, d.f("b", "n"))),
        ("histogram", |d| d.f("a", "nm").histogram(&linspace(-2.0, 2.0, 5, DType::F64), None)),
        ("histogram_weights", |d| {
            d.f("a", "nm").histogram(&linspace(-2.0, 2.0, &d.n + 1, DType::F64), d.f("b", "nm"))
        }),
        ("interp", |d| interp(&d.f("a", "nm"), &(arange(0, &d.m, 1) - 1), &d.f("b", "m"))),
        ("cov", |d| d.f("a", "3m").cov(1.0)),
        ("cov_vector", |d| d.i("a", "n").cov(0.0)),
        ("cov_complex", |d| d.z("a", "24").cov(1.0)),
        ("corrcoef", |d| d.f("a", "35").corrcoef()),
        ("convolve", |d| convolve(&d.i("a", "n"), &d.i("b", "m"), Mode::Full)),
        ("convolve_same", |d| convolve(&d.f("a", "n"), &d.f("b", "m"), Mode::Same)),
        ("convolve_valid", |d| convolve(&d.f("a", "n"), &d.i("b", "m"), Mode::Valid)),
        ("correlate", |d| correlate(&d.z("a", "n"), &d.z("b", "m"), Mode::Full)),
        ("correlate_same", |d| correlate(&d.i("a", "n"), &d.i("b", "m"), Mode::Same)),
        ("correlate_valid", |d| correlate(&d.i("a", "m"), &d.i("b", "n"), Mode::Valid)),
        ("gradient", |d| d.f("a", "nm").gradient(0.5, 1)),
        ("trapezoid", |d| d.i("a", "nm").trapezoid(0.5, 1)),
        ("trapezoid_at", |d| d.f("a", "nm").trapezoid(d.f("b", "n"), 0)),
        ("nancumsum", |d| d.nan("a", "nm").nancumsum(1)),
        ("nancumprod", |d| d.nan("a", "nm").nancumprod(0)),
        ("percentile", |d| d.f("a", "nm").percentile(30.0, 1)),
        ("dot", |d| dot(&d.i("a", "n3"), &d.i("b", "m32"))),
        ("dot_vector", |d| dot(&d.i("a", "nm"), &d.i("b", "m"))),
        ("dot_number", |d| dot(&d.i("a", "nm"), &d.i("b", ""))),
    ]);
}
