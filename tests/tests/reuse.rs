//! Programs that are found again: on each pair of sizes the code that other sizes were compiled for gives what a fresh
//! program gives, for every kind of array function.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    At, Close, DType, End, Indexing, InterpretPlan, LazyTensor, Mode, Order, Side, Tensor, Window, along, at,
    axis, clear_cache, column_stack, compute, compute_with, concat, convolve, correlate, cross, defer, dot,
    dstack, einop, einsum, fft, geomspace, hstack, inner, interp, kron, linalg, linspace, meshgrid, outer,
    stack, tensordot, vstack, where_,
};

type Program = fn(&LazyTensor, &LazyTensor) -> LazyTensor;

/// Of two matrices.
const PROGRAMS: &[(&str, Program)] = &[
    ("add", |a, b| (a + b) * 0.5),
    ("where", |a, b| where_(&a.greater(b), a, 0.0) - b),
    ("rows", |a, b| a.sum(axis(0).keepdims()) * b),
    ("columns", |a, b| b - a.mean(axis(1).keepdims())),
    ("softmax", |a, b| a.softmax(1) + b),
    ("matmul", |a, b| a.matmul(&b.transpose())),
    ("matmul of sizes that must meet", |a, b| a.matmul(b)),
    ("einsum", |a, b| einsum("ij,kj->ik", &[a, b])),
    ("einsum of one", |a, b| einsum("ij->j", &[&(a + b)])),
    ("einop", |a, b| einop("C[i, k] += A[i, j] * B[k, j]", &[("A", a), ("B", b)])),
    ("einop of maxima", |a, b| einop("C[i] max= A[i, j] + B[i, j]", &[("A", a), ("B", b)])),
    ("outer", |a, b| outer(&a.flatten(), &b.flatten())),
    ("inner", inner),
    ("kron", kron),
    ("tensordot", |a, b| tensordot(a, b, ([0, 1], [0, 1]))),
    ("cross", |a, b| cross(a, b, -1)),
    ("concat of rows", |a, b| concat(&[a.clone(), b.clone()], 0)),
    ("concat of all", |a, b| concat(&[a.clone(), b.clone(), a.clone()], None)),
    ("stack", |a, b| stack(&[a.clone(), b.clone()], 1)),
    ("flatten", |a, b| a.flatten().sum(0) + b.reshape([-1])),
    ("reshape to groups", |a, b| a.reshape([-1, 2]).sum(1) * b.sum(())),
    ("transposed reshape", |a, b| a.transpose().reshape([-1]) + b.sum(())),
    ("slices", |a, b| a.index([at(1, None, 1)]) - b.index([at(None, -1, 1)])),
    ("steps", |a, b| a.index([at(None, None, -1), at(None, None, 2)]) + b.sum(())),
    ("positions", |a, b| a.index([At::Index(0)]) * b.index([At::Index(-1)])),
    ("flip", |a, b| a.flip(0) + b.flip(1)),
    ("roll", |a, b| a.roll(1, 0) + b),
    ("repeat", |a, b| a.repeat(2, 0) * b.max(())),
    ("tile", |a, b| a.tile([2, 1]) * b.max(())),
    ("pad", |a, b| a.pad([(1, 0), (0, 2)], 7.0) * b.sum(())),
    ("triangles", |a, b| a.tril(0) + b.triu(1)),
    ("diagonal", |a, b| a.diagonal(0) * b.sum(())),
    ("diag", |a, b| a.sum(1).diag(1) + b.sum(())),
    ("unstacked", |a, b| a.squeeze([0]) + b),
    ("meshgrid", |a, b| meshgrid(&[a.sum(0), b.sum(1)], Indexing::Ij).swap_remove(0)),
    ("argmax", |a, b| a.argmax(1) + b.argmin(1)),
    ("statistics", |a, b| a.var(0, 1.0) + b.std(0, 0.0)),
    ("logic", |a, b| a.is_positive().all(0).logical_or(b.is_positive().any(0))),
    ("differences", |a, b| a.diff(1, 1).sum(1) + b.sum(())),
    ("windows", |a, b| a.sliding_window_view([Window::new(1, 2)]).max(-1) + b.sum(())),
    ("scans", |a, b| a.cumulative_sum(1) + b.cumulative_max(along(0))),
    ("sort", |a, b| a.sort(1, Order::Descending) - b.sort(0, Order::Ascending)),
    ("argsort", |a, b| a.argsort(0, Order::Ascending) + b.argsort(0, Order::Descending)),
    ("searchsorted", |a, b| {
        a.sort(1, Order::Ascending).index([At::Index(0)]).searchsorted(&b.sum(1), Side::Left)
    }),
    ("take", |a, b| a.take(&b.argmax(1), 1)),
    ("take along", |a, b| a.take_along_axis(&b.argsort(1, Order::Ascending), 1)),
    ("scatter", |a, b| a.scatter_add(&b.argmax(1), &a.transpose(), 0)),
    ("fft", |a, b| (fft::fft(a, None, -1, fft::Norm::Backward) * 2.0).abs() + b),
    ("products", |a, b| a.prod(0) + b.prod(1).sum(0)),
    ("solve", |a, b| linalg::solve(&(a.matmul(&a.transpose()) + 0.0), b)),
    ("norms", |a, b| linalg::svdvals(a) + b.sum(())),
    ("broadcast", |a, b| a.broadcast_to(b.shape()) + b),
    ("all as one", |a, b| a.flatten() + b.sum(0)),
    ("one difference", |a, b| a.diff(1, 1) + b),
    ("one window", |a, b| a.sliding_window_view([Window::new(1, 4)]).index([At::Ellipsis, At::Index(0)]) + b),
    ("as many positions", |a, b| tensorjit::arange(0, &a.shape()[0] * &a.shape()[1] - 3, 1) + b),
    ("einsum of rows", |a, b| einsum("...i,...i->...", &[a, b])),
    ("clip below", |a, b| a.clip(b.sum(1).sum(0), None)),
    ("roll of both axes", |a, b| a.roll([1, -2], [0, 1]) + b),
    ("kept positions", |a, b| a.argmax(axis(1).keepdims()) + b),
    ("differences with", |a, b| a.diff_with(1, 1, 0, None) + b),
    ("scans in", |a, b| a.cumulative_sum(along(0).in_dtype(DType::I64)) + b),
    ("searchsorted by", |a, b| a.searchsorted_by(b, Side::Left, &a.argsort(1, Order::Ascending))),
    ("kept norms", |a, b| linalg::matrix_norm(a, linalg::MatrixNorm::One.keepdims()) + b),
    ("rows and columns", |a, b| a.at((b.argmax(1), b.argmin(1)))),
    ("columns apart", |a, b| a.expand_dims(1).at((&b.argmax(1), .., &b.argmax(1))) + b.sum(())),
    ("set slices", |a, b| a.set((1.., at(None, None, 2)), 7) + b),
    ("set a row", |a, b| a.set(0, b.sum(0))),
    ("set backwards", |a, b| a.set((.., at(None, None, -2)), b.sum(axis(1).keepdims()))),
    ("set all", |a, b| a.set((.., ..), b)),
    ("add at arrays", |a, b| a.add_at((b.argmax(1), 0), b.sum(1))),
    ("linspace", |a, b| linspace(0.0, End::Excluded(1.0), a.shape()[1].clone(), DType::F64) + b),
    ("geomspace", |a, b| geomspace(1.0, 8.0, a.shape()[1].clone(), DType::F64) + b),
    ("hstack", |a, b| hstack(&[a.clone(), b.clone()])),
    ("vstack", |a, b| vstack(&[a.sum(0), b.clone()])),
    ("dstack", |a, b| dstack(&[a.clone(), b.clone()])),
    ("column stack", |a, b| column_stack(&[a.sum(1), b.clone()])),
    ("split", |a, b| a.split(2, 1).swap_remove(1) + b.sum(())),
    ("rot90", |a, b| a.rot90(1, [0, 1]).rot90(2, [0, 1]) + b.rot90(3, [0, 1])),
    ("close", |a, b| a.isclose(b, Close { absolute: 0.5, ..Close::default() })),
    ("all close", |a, b| a.allclose(b, Close::default())),
    ("array equal", |a, b| a.array_equal(b)),
    ("nan to num", |a, b| (a / b).nan_to_num(1.0, None, -7.0)),
    ("fill diagonal", |a, b| a.fill_diagonal(b.diagonal(0))),
    ("digitize", |a, b| a.digitize(&b.flatten().sort(0, Order::Ascending), Side::Left)),
    ("bincount", |a, b| (a.flatten().square() * 4).cast(DType::I64).bincount(40, b.flatten())),
    ("histogram", |a, b| a.histogram(&b.flatten().sort(0, Order::Ascending), None)),
    ("interp", |a, b| interp(a, &b.sum(0).sort(0, Order::Ascending), &b.sum(0))),
    ("cov", |a, b| a.cov(1.0) + b.sum(())),
    ("corrcoef", |a, b| a.corrcoef() + b.sum(())),
    ("convolve", |a, b| convolve(&a.flatten(), &b.sum(1), Mode::Same)),
    ("correlate", |a, b| correlate(&a.sum(0), &b.flatten(), Mode::Full)),
    ("correlate same", |a, b| correlate(&a.sum(0), &b.sum(1), Mode::Same)),
    ("gradient", |a, b| a.gradient(0.5, 1) + b),
    ("trapezoid", |a, b| a.trapezoid(b.sum(0), 1)),
    ("dot", dot),
    ("percentile", |a, b| a.percentile(30.0, 1) + b.sum(1)),
    ("vector norms", |a, b| linalg::vector_norm(a, 1, 3.0) + b.sum(1)),
    ("nan scans", |a, b| (a / b).nancumsum(1)),
    ("frequencies", |a, b| fft::fftshift(a, ()) + fft::fftfreq(b.shape()[1].clone(), 0.5, DType::F64)),
    ("expand", |a, b| (a.expand_dims(1) - b.expand_dims(0)).square().sum(-1)),
];

/// Sizes that meet as equal, as 1 and another, not at all; 0 and 1.
const SIZES: &[([usize; 2], [usize; 2])] = &[
    ([3, 4], [3, 4]),
    ([1, 4], [3, 4]),
    ([3, 4], [3, 1]),
    ([2, 2], [2, 2]),
    ([1, 1], [1, 1]),
    ([0, 4], [0, 4]),
    ([3, 0], [3, 0]),
    ([5, 3], [1, 3]),
    ([4, 3], [3, 4]),
    ([5, 5], [5, 5]),
    ([1, 6], [1, 6]),
];

fn data(shape: [usize; 2], seed: usize) -> Tensor {
    let value = |i: usize| ((i * 37 + seed * 11) % 23) as f64 * 0.25 - 2.0;
    Tensor::from_shape_vec(shape, (0..shape[0] * shape[1]).map(value).collect()).unwrap()
}

#[test]
fn code_of_other_sizes_gives_what_fresh_code_gives() {
    let mut compared = 0;
    for (name, program) in PROGRAMS {
        clear_cache();
        let mut outcomes = Vec::new();
        for (number, &(left, right)) in SIZES.iter().chain(SIZES).enumerate() {
            let (a, b) = (data(left, number), data(right, number + 1));
            outcomes.push((a.clone(), b.clone(), compute(program(&defer(&a), &defer(&b)))));
        }
        for (a, b, reused) in outcomes {
            clear_cache();
            let fresh = compute_with(program(&defer(&a), &defer(&b)), &InterpretPlan);
            let sizes = format!("{name} of {:?} and {:?}", a.shape(), b.shape());
            match (reused, fresh) {
                (Ok(reused), Ok(fresh)) => {
                    assert!(reused.bit_eq(&fresh), "{sizes}: {reused:?} is not {fresh:?}");
                    compared += 1;
                }
                (Err(reused), Err(fresh)) => assert_eq!(reused.to_string(), fresh.to_string(), "{sizes}"),
                (reused, fresh) => panic!("{sizes}: {reused:?} is not {fresh:?}"),
            }
        }
    }
    assert!(compared > 600, "only {compared} results");
}
