//! Elements that change places cost what is stored, and results stay sparse.
//!
//! Shapes are such that nothing could be computed element by element.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    At, CompileOptions, CompiledGraph, DType, Dim, Duplicates, Error, InterpretPlan, LazyTensor, Tensor, at,
    compute, compute_as, concat, defer, explain, eye, full, input, kron, maximum, minimum, ones, stack,
    where_, zeros,
};
use tj_tests::engines::scheduled;

/// Rows and columns.
const N: i64 = 1 << 20;

/// A square matrix of `N` rows with these entries.
fn matrix(entries: &[(i64, i64, f64)]) -> Tensor {
    square(N as usize, entries)
}

fn square(size: usize, entries: &[(i64, i64, f64)]) -> Tensor {
    let column = |of: fn(&(i64, i64, f64)) -> i64| Tensor::from(entries.iter().map(of).collect::<Vec<i64>>());
    let values: Vec<f64> = entries.iter().map(|entry| entry.2).collect();
    let columns = [column(|entry| entry.0), column(|entry| entry.1)];
    Tensor::coo([size, size], &columns, values, Duplicates::Refuse).unwrap()
}

/// Rows and columns of what is stored by levels, although all elements fit in memory.
const LARGE: usize = 1 << 10;

fn a() -> LazyTensor {
    a_of(N)
}

fn a_of(n: i64) -> LazyTensor {
    defer(&square(n as usize, &[(0, 0, 1.0), (1, 4, 2.0), (5, 2, 3.0), (n - 1, n - 2, 4.0)]))
}

/// The entries of what a program gives, which is stored by levels.
#[track_caller]
fn entries(lazy: &LazyTensor) -> Vec<(Vec<i64>, f64)> {
    let found = compute(lazy.clone()).unwrap();
    assert!(found.stored().is_some(), "all elements are stored");
    assert_eq!(found.fill().map(|fill| fill.to_f64()), lazy.fill().map(|fill| fill.to_f64()));
    let (columns, values) = found.to_entries().unwrap();
    let columns: Vec<Vec<i64>> = columns.iter().map(|column| column.to_vec().unwrap()).collect();
    let values: Vec<f64> = values.to_vec().unwrap();
    assert_eq!(found.stored_count(), values.len());
    values.into_iter().enumerate().map(|(k, value)| (columns.iter().map(|c| c[k]).collect(), value)).collect()
}

#[track_caller]
fn check<const R: usize>(lazy: &LazyTensor, expected: &[([i64; R], f64)]) {
    let expected: Vec<(Vec<i64>, f64)> = expected.iter().map(|(at, value)| (at.to_vec(), *value)).collect();
    assert_eq!(entries(lazy), expected);
}

#[test]
fn axes_are_reversed_and_stepped_through() {
    check(&a().flip(0), &[([0, N - 2], 4.0), ([N - 6, 2], 3.0), ([N - 2, 4], 2.0), ([N - 1, 0], 1.0)]);
    check(&a().index([at(None, None, 2), at(None, None, 2)]), &[([0, 0], 1.0)]);
    check::<2>(&a().index([at(1, None, 4), at(None, None, -2)]), &[]);
    check(&a().index([at(1, None, 4), at(None, None, -1)]), &[([0, N - 5], 2.0), ([1, N - 3], 3.0)]);
    check(&a().roll(2, 1).index([At::Index(0)]), &[([2], 1.0)]);
    check(&a().roll([1, 3], [0, 1]), &[([0, 1], 4.0), ([1, 3], 1.0), ([2, 7], 2.0), ([6, 5], 3.0)]);
}

#[test]
fn other_shapes_and_borders() {
    let flat = [([0], 1.0), ([N + 4], 2.0), ([5 * N + 2], 3.0), ([N * N - 2], 4.0)];
    check(&a().flatten(), &flat);
    check(
        &a().reshape([N / 4, 4 * N]),
        &[([0, 0], 1.0), ([0, N + 4], 2.0), ([1, N + 2], 3.0), ([N / 4 - 1, 4 * N - 2], 4.0)],
    );
    check(
        &a().flatten().reshape([N, N]).pad([(1, 0), (0, 2)], 0.0),
        &[([1, 0], 1.0), ([2, 4], 2.0), ([6, 2], 3.0), ([N, N - 2], 4.0)],
    );
    check(&a().roll(5, None), &[([0, 3], 4.0), ([0, 5], 1.0), ([1, 9], 2.0), ([5, 7], 3.0)]);
}

#[test]
fn parts_beside_each_other() {
    let zero = zeros([N, N], DType::F64);
    let all = concat(&[concat(&[a(), a()], 1), concat(&[zero, a().transpose()], 1)], 0);
    let expected = [
        ([0, 0], 1.0),
        ([0, N], 1.0),
        ([1, 4], 2.0),
        ([1, N + 4], 2.0),
        ([5, 2], 3.0),
        ([5, N + 2], 3.0),
        ([N - 1, N - 2], 4.0),
        ([N - 1, 2 * N - 2], 4.0),
        ([N, N], 1.0),
        ([N + 2, N + 5], 3.0),
        ([N + 4, N + 1], 2.0),
        ([2 * N - 2, 2 * N - 1], 4.0),
    ];
    check(&all, &expected);
    check(
        &stack(&[a(), a().flip(1)], 0).index([At::Ellipsis, at(None, 6, 1)]),
        &[([0, 0, 0], 1.0), ([0, 1, 4], 2.0), ([0, 5, 2], 3.0), ([1, N - 1, 1], 4.0)],
    );
    check(
        &a().index([at(None, 2, 1), at(None, 6, 1)]).tile([2, 1]),
        &[([0, 0], 1.0), ([1, 4], 2.0), ([2, 0], 1.0), ([3, 4], 2.0)],
    );
    check(
        &a().index([at(None, 2, 1), at(None, None, 1)]).repeat(2, 0),
        &[([0, 0], 1.0), ([1, 0], 1.0), ([2, 4], 2.0), ([3, 4], 2.0)],
    );
}

#[test]
fn triangles_and_diagonals() {
    check(&a().tril(0), &[([0, 0], 1.0), ([5, 2], 3.0), ([N - 1, N - 2], 4.0)]);
    check(&a().triu(1), &[([1, 4], 2.0)]);
    let size = N as usize;
    let shifted = eye(N, N, 3, DType::F64) - a();
    let found = compute(shifted).unwrap();
    assert_eq!((found.nnz().unwrap(), found.stored().is_some()), (size - 3 + 3, true));
    assert_eq!(found.get(&[1, 4]).unwrap().to_f64(), -1.0);
    let d = defer(&Tensor::from((0..N).map(|i| (i % 3) as f64).collect::<Vec<f64>>()));
    let found = compute(d.diag(0) + a()).unwrap();
    assert_eq!((found.stored().is_some(), found.get(&[1, 1]).unwrap().to_f64()), (true, 1.0));
    assert_eq!(found.nnz().unwrap(), size - size.div_ceil(3) + 4);
    let found = compute(a().fill_diagonal(5.0)).unwrap();
    assert_eq!((found.nnz().unwrap(), found.get(&[0, 0]).unwrap().to_f64()), (size + 3, 5.0));
    let sparse_vector = a().sum(1);
    check(&sparse_vector.diag(1).index([at(None, 9, 1)]), &[([0, 1], 1.0), ([1, 2], 2.0), ([5, 6], 3.0)]);
}

/// An identity is 0 almost everywhere, and 1 wherever one reads along it: numbers decide nothing about what is put together of it.
#[test]
fn numbers_do_not_rely_on_what_holds_almost_everywhere() {
    let n = Dim::new("N", ..).unwrap();
    let x = input("x", DType::F64, [n.clone(), n.clone()]).unwrap().with_format(&"csr".parse().unwrap());
    let identity = eye(n.clone(), n.clone(), 0, DType::F64);
    // The same number everywhere, which would have the fill 0 if it were stored.
    let one = ones([n.clone(), n], DType::F64).with_format(&"csr".parse().unwrap());
    let outputs = [
        minimum((&identity + &x).diagonal(0), 5.0) + minimum(x.diagonal(0), 5.0),
        minimum(eye(1, 1, 0, DType::F64) + &x, 5.0).diagonal(0) + minimum(x.diagonal(0), 5.0),
        ((&identity * 3.5 + &x) - &identity * 2.5).diagonal(0) + minimum(x.diagonal(0), 5.0),
        (minimum(one, 5.0) + minimum(&x, 5.0)).diagonal(0),
        // What follows from places alone is written into what reads it, so that it is a number here.
        (&identity * 3.5).diagonal(0) + minimum(x.diagonal(0), 5.0),
        minimum(&identity + &identity, 3.5).diagonal(0) + minimum(x.diagonal(0), 5.0),
    ];
    let at_one = Tensor::from(vec![1_i64]);
    let tensor = Tensor::coo([4, 4], &[at_one.clone(), at_one], vec![2.0], Duplicates::Refuse).unwrap();
    for options in [CompileOptions::default(), scheduled(InterpretPlan)] {
        let graph = CompiledGraph::new(&outputs, options).unwrap();
        let results = graph.call(&[("x", &tensor)]).unwrap();
        let values = results.iter().map(|result| result.to_dense().unwrap().to_vec::<f64>().unwrap());
        let [twice, once] = [[1.0, 5.0, 1.0, 1.0], [1.0, 3.0, 1.0, 1.0]].map(Vec::from);
        let [scaled, limited] = [[3.5, 5.5, 3.5, 3.5], [2.0, 4.0, 2.0, 2.0]].map(Vec::from);
        assert_eq!(values.collect::<Vec<_>>(), [twice.clone(), twice.clone(), twice, once, scaled, limited]);
    }
    // Of many elements, too, where a result might be stored. An identity of one element is 1.
    let (one, x) = (eye(1, 1, 0, DType::F64), defer(&few(LARGE)));
    for program in [&one * 3.5 + &x, minimum(&one * 7.5 + &x, 3.5), minimum(&one + &x, 5.0) + 2.5] {
        let found = compute(program).unwrap().to_dense().unwrap().to_vec::<f64>().unwrap();
        assert_eq!(found.iter().filter(|x| **x == 3.5).count() / (LARGE * LARGE - 2), 1);
    }
    // What is 1 everywhere, and to be stored: code that relied on its being 0 beside the entries would store no more than these.
    let one = ones([LARGE as i64, LARGE as i64], DType::F64).with_format(&"csr".parse().unwrap());
    for (program, [at_two, at_minus_three]) in [
        (minimum(&one, 5.0) + minimum(&x, 5.0), [3.0, -2.0]),
        (minimum(&one + &x, 3.5), [3.0, -2.0]),
        ((&one + &x).greater(0.5).cast(DType::F64) + &x, [3.0, -3.0]),
        (&one * 3.5 + &x - 2.5, [3.0, -2.0]),
    ] {
        let found = compute(program).unwrap().to_dense().unwrap();
        assert_eq!([[1, 1], [2, 0]].map(|at| found.get(&at).unwrap().to_f64()), [at_two, at_minus_three]);
        assert_eq!(found.to_vec::<f64>().unwrap().iter().filter(|x| **x == 1.0).count(), LARGE * LARGE - 2);
    }
    // What numbers make of stored tensors is as sparse as they are, moved or not, beside an identity too.
    check(&(a() * 3.5).flip(0).index([at(0, 6, 1), at(None, None, 1)]), &[([0, N - 2], 14.0)]);
    let found = entries(&(eye(N, N, 0, DType::F64) + a() * 3.5).index([at(0, 2, 1), at(None, None, 1)]));
    assert_eq!(found, [(vec![0, 0], 4.5), (vec![1, 1], 1.0), (vec![1, 4], 7.0)]);
    // Both sides of a choice have a fill that follows from numbers.
    let both = where_(&defer(&Tensor::from(vec![true])), a().greater(2.5), a().flip(0).greater(3.5));
    check(&both.cast(DType::F64), &[([5, 2], 1.0), ([N - 1, N - 2], 1.0)]);
}

/// What numbers make of identities is stored by levels beside stored tensors.
#[test]
fn numbers_and_identities_are_sparse_beside_what_is() {
    let (size, n) = (LARGE, LARGE as i64);
    let a = || a_of(n);
    let identity = || eye(n, n, 0, DType::F64);
    let number = |value: f64| full([n, n], value);
    let counted = |lazy: LazyTensor, count: usize, at: &[([usize; 2], f64)]| {
        let found = compute(lazy).unwrap();
        assert_eq!((found.stored().is_some(), found.nnz().unwrap()), (true, count));
        at.iter().for_each(|(at, value)| assert_eq!(found.get(at).unwrap().to_f64(), *value, "{at:?}"));
    };
    let diagonal = [([0, 0], 4.5), ([7, 7], 3.5), ([1, 4], 2.0), ([4, 1], 0.0)];
    counted(identity() * 3.5 + a(), size + 3, &diagonal);
    counted(identity() * number(3.5) + a(), size + 3, &diagonal);
    counted(identity() * (number(0.875) * 4.0) + a(), size + 3, &diagonal);
    counted(minimum(number(2.5), identity() + a()), size + 3, &[([5, 2], 2.5), ([7, 7], 1.0)]);
    counted(number(2.5).less(a()), 2, &[([0, 0], 0.0), ([5, 2], 1.0)]);
    counted(a() + 3.5 * (identity() * 0.5 + identity() * 0.5), size + 3, &diagonal);
    counted(minimum(identity() + a(), 2.5), size + 3, &[([0, 0], 2.0), ([5, 2], 2.5), ([7, 7], 1.0)]);
    counted((identity() + a()).greater(2.5), 2, &[([0, 0], 0.0), ([5, 2], 1.0)]);
    counted(
        minimum(minimum(identity() * 7.5 + a(), 5.0) + identity(), 5.5).transpose(),
        size + 3,
        &[([0, 0], 5.5), ([4, 1], 2.0), ([2, 5], 3.0), ([7, 7], 5.5)],
    );
    let chosen = where_(&eye(n, n, 1, DType::F64).greater(0.5), 2.5, a());
    counted(chosen, size - 1 + 4, &[([0, 0], 1.0), ([6, 7], 2.5), ([1, 4], 2.0)]);
    // A number that decides otherwise would make all elements 7: these are few.
    let small = |lazy: LazyTensor| lazy.index([at(None, 3, 1), at(None, 2, 1)]);
    let dense = compute(small(maximum(identity() + a(), 7.5))).unwrap();
    assert_eq!((dense.fill().map(|fill| fill.to_f64()), dense.stored().is_some()), (Some(7.5), false));
    assert_eq!(dense.to_vec::<f64>().unwrap(), vec![7.5; 6]);
}

/// Values of programs on elements of `x`, of an identity, and a number.
type Case = (fn(&LazyTensor, &LazyTensor, f64) -> LazyTensor, fn(f64, f64, f64) -> f64);

/// Wherever they are read, and whatever the number decides, values are those of the operators.
#[test]
fn numbers_and_identities_have_the_values_of_their_elements() {
    // What is 0 by a fill decides; an identity by itself does not.
    let cases: [Case; 9] = [
        (|x, e, c| e * c + x, |x, e, c| e * c + x),
        (|x, e, c| e + x - x.full_like(c), |x, e, c| e + x - c),
        (
            |x, e, c| where_(&(x.full_like(c) * 2.0).greater(5.0), x, e * 3.5),
            |x, e, c| if c * 2.0 > 5.0 { x } else { e * 3.5 },
        ),
        (
            |x, e, c| where_(&full((), c).greater(2.5).broadcast_to(x.shape()), x.to_dense() * c, x + e),
            |x, e, c| if c > 2.5 { x * c } else { x + e },
        ),
        (|x, e, c| minimum(e + x, c), |x, e, c| if c.is_nan() { c } else { (e + x).min(c) }),
        (|x, e, c| (e + x) * c - x, |x, e, c| if e + x == 0.0 { -x + 0.0 } else { (e + x) * c - x }),
        (|x, e, c| (e + x).less(c).cast(DType::F64), |x, e, c| f64::from(u8::from(e + x < c))),
        (|x, e, c| where_(&(e + x).greater(c), e * c, x), |x, e, c| if e + x > c { e * c } else { x }),
        (|x, e, c| -(e * c) - x, |x, e, c| -(e * c) - x),
    ];
    let n = Dim::new("N", ..).unwrap();
    let x = input("x", DType::F64, [n.clone(), n.clone()]).unwrap().with_format(&"csr".parse().unwrap());
    let identity = eye(n.clone(), n, 0, DType::F64);
    let tensors: Vec<(usize, Tensor)> = [0, 1, 4].into_iter().map(|size| (size, few(size))).collect();
    let scheduled = [CompileOptions::default(), scheduled(InterpretPlan)];
    for (case, (program, value)) in cases.into_iter().enumerate() {
        for number in [3.5, -2.5, -0.0, f64::INFINITY, f64::NAN] {
            let whole = program(&x, &identity, number);
            let outputs = [
                whole.clone(),
                whole.transpose(),
                whole.flip(1),
                program(&x.transpose(), &identity, number),
                whole.diagonal(0) + x.diagonal(0),
                minimum(program(&x.diagonal(0), &identity.diagonal(0), number), 2.5) * x.diagonal(0),
            ];
            for options in &scheduled {
                let graph = CompiledGraph::new(&outputs, options.clone()).unwrap();
                for (size, tensor) in &tensors {
                    let size = *size;
                    let results = graph.call(&[("x", tensor)]).unwrap();
                    let x = |i: usize, j: usize| tensor.get(&[i, j]).unwrap().to_f64();
                    let of = |x: f64, i: usize, j: usize| value(x, f64::from(u8::from(i == j)), number);
                    let square = |of: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
                        (0..size * size).map(|k| of(k / size, k % size)).collect()
                    };
                    let expected = [
                        square(&|i, j| of(x(i, j), i, j)),
                        square(&|i, j| of(x(j, i), j, i)),
                        square(&|i, j| of(x(i, size - 1 - j), i, size - 1 - j)),
                        square(&|i, j| of(x(j, i), i, j)),
                        (0..size).map(|i| of(x(i, i), i, i) + x(i, i)).collect(),
                        (0..size)
                            .map(|i| {
                                let least = of(x(i, i), i, i);
                                let least = if least.is_nan() { least } else { least.min(2.5) };
                                if x(i, i) == 0.0 { 0.0 } else { least * x(i, i) }
                            })
                            .collect(),
                    ];
                    for (output, (found, expected)) in results.iter().zip(expected).enumerate() {
                        let found: Vec<f64> = found.to_dense().unwrap().to_vec().unwrap();
                        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
                        assert!(
                            found.len() == expected.len() && found.iter().zip(&expected).all(same),
                            "case {case}, {number}, output {output}, size {size}: {found:?}, not {expected:?}"
                        );
                    }
                }
            }
        }
    }
}

/// A square matrix with one entry on its diagonal and one beside it, where it has room for them.
fn few(size: usize) -> Tensor {
    square(size, if size > 1 { &[(1, 1, 2.0), (2, 0, -3.0)] } else { &[] })
}

/// A pattern that is 0, and -0 on its diagonal, decides nothing about what numbers make of the diagonal.
#[test]
fn signs_of_zeros_of_patterns() {
    let x = defer(&few(4));
    let on = eye(4, 4, 0, DType::Bool);
    let one = eye(4, 4, 0, DType::F64);
    let (zeros, minus) = (where_(&on, -(&one - &one), &one - &one), -one);
    let signs = |lazy: LazyTensor| {
        let found = compute(lazy.signbit()).unwrap().to_dense().unwrap();
        found.to_vec::<bool>().unwrap()
    };
    // -0 - 0 is -0, but where x is 2.
    assert_eq!(signs((zeros * 2.5).diagonal(0) - x.diagonal(0)), [true; 4]);
    let one = eye(1, 1, 0, DType::F64);
    let zeros = where_(&eye(1, 1, 0, DType::Bool), -(&one - &one), &one - &one);
    let found = signs(zeros * 2.5 - defer(&few(LARGE)));
    assert_eq!(found.iter().filter(|sign| !**sign).count(), 1);
    // What is written down asks for the fill, bit for bit.
    let text = explain(eye(4, 4, 0, DType::F64) * 3.5 + &x).unwrap().to_string();
    let condition = "and(equal(q4[i0, i1], 0.0f64), not(signbit(q4[i0, i1])))";
    assert!(text.contains(&format!("filled(e0, where({condition}, 0.0f64, e0))")), "{text}");
    // -0 everywhere, but where x is -3.
    let all: Vec<bool> = (0..16).map(|at| at != 8).collect();
    assert_eq!(signs(&minus * 2.5 - &x), all);
    let sum = compute(-eye(N, N, 0, DType::F64) * 2.5 - a()).unwrap();
    assert_eq!((sum.stored().is_some(), sum.nnz().unwrap()), (true, N as usize + 3));
    assert_eq!(sum.fill().map(|fill| fill.to_f64().is_sign_negative()), Some(true));
    assert_eq!([[0, 0], [1, 4], [7, 7]].map(|at| sum.get(&at).unwrap().to_f64()), [-3.5, -2.0, -2.5]);
}

#[test]
fn products_by_blocks() {
    let small = a().index([at(None, 3, 1), at(None, 5, 1)]);
    check(&kron(&small, &small), &[([0, 0], 1.0), ([1, 4], 2.0), ([3, 20], 2.0), ([4, 24], 4.0)]);
    // Neither factor could be repeated as often as the other is long.
    let vector = |size: usize, at: i64, value: f64| {
        let places = [Tensor::from(vec![0, at])];
        defer(&Tensor::coo([size], &places, vec![1.0, value], Duplicates::Refuse).unwrap())
    };
    let (u, v) = (vector(1 << 30, 5, 2.0), vector(1 << 30, 7, 3.0));
    let size = 1 << 30;
    check(&kron(&u, &v), &[([0], 1.0), ([7], 3.0), ([5 * size], 2.0), ([5 * size + 7], 6.0)]);
    // So could none that has been given another shape.
    let side = 1 << 15;
    let square = |vector: &LazyTensor| vector.reshape([side, side]);
    let product = [([0, 0], 1.0), ([0, 7], 3.0), ([0, 5 * side], 2.0), ([0, 5 * side + 7], 6.0)];
    check(&kron(&square(&u), &square(&v)), &product);
    check(&kron(&square(&(&u * 2.0)), &square(&v)), &product.map(|(at, value)| (at, 2.0 * value)));
    check(
        &(kron(&square(&u), &square(&v)).index([At::Index(0)]) * 2.0),
        &product.map(|(at, value)| ([at[1]], 2.0 * value)),
    );
}

#[test]
fn rows_are_taken_by_a_list() {
    let list = |list: &[i64]| defer(&Tensor::from(list.to_vec()));
    check(&a().take(&list(&[5, -1, 7, 5]), 0), &[([0, 2], 3.0), ([1, N - 2], 4.0), ([3, 2], 3.0)]);
    check(&a().take(&list(&[4, 0]), 1), &[([0, 1], 1.0), ([1, 0], 2.0)]);
    check(&a().flatten().take(&list(&[1, N + 4, -2]), 0), &[([1], 2.0), ([2], 4.0)]);
    let square = defer(&Tensor::from_shape_vec([2, 2], vec![5_i64, 1, 0, 2]).unwrap());
    check(&a().take(&square, 0), &[([0, 0, 2], 3.0), ([0, 1, 4], 2.0), ([1, 0, 0], 1.0)]);
    let refused = compute(a().take(&list(&[0, N]), 0)).unwrap_err();
    assert!(
        refused.to_string().contains(&format!("position {N} is outside an axis of size {N}")),
        "{refused}"
    );
}

/// A fixed row or column is a list, whatever the order in which the tensor is stored.
#[test]
fn fixed_coordinates_are_found_before_all_loops() {
    let stored = compute(a()).unwrap();
    for format in ["csr", "csc", "coo", "csf(2)"] {
        let a = defer(stored.with_format(&format.parse().unwrap()).unwrap());
        let row = |at: i64| a.index([At::Index(at)]);
        check(&row(5), &[([2], 3.0)]);
        check(&row(-1), &[([N - 2], 4.0)]);
        check::<1>(&row(2), &[]);
        check(&a.index([at(None, None, 1), At::Index(2)]), &[([5], 3.0)]);
        check(&(row(5) * 2.0 + row(1)), &[([2], 6.0), ([4], 2.0)]);
        check::<1>(&(row(5) * row(1)), &[]);
        check(&(&a * &a).index([At::Index(1)]), &[([4], 4.0)]);
        check(&row(5).index([at(1, 9, 1)]), &[([1], 3.0)]);
        check(&(&a * row(1)), &[([1, 4], 4.0)]);
    }
    // A graph is compiled before there are data; the row may be any.
    let n = Dim::new("N", ..).unwrap();
    let x = input("x", DType::F64, [n.clone(), n]).unwrap().with_format(&"csr".parse().unwrap());
    let graph = CompiledGraph::new(
        &[x.index([At::Index(5)]), x.index([at(None, None, 1), At::Index(-2)])],
        CompileOptions::default(),
    )
    .unwrap();
    let results = graph.call(&[("x", &stored)]).unwrap();
    assert!(results.iter().all(|result| result.stored().is_some()));
    assert_eq!(results.iter().map(|result| result.nnz().unwrap()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(results[0].get(&[2]).unwrap().to_f64(), 3.0);
    assert_eq!(results[1].get(&[N as usize - 1]).unwrap().to_f64(), 4.0);
}

/// What is moved is read as anything that is stored.
#[test]
fn programs_read_what_is_moved() {
    let b = a().flip([0, 1]);
    check(&(&b * &b + b.transpose().flip([0, 1])).index([at(None, 2, 1)]), &[([0, 0], 1.0), ([0, 1], 16.0)]);
    let x = defer(&Tensor::full([N as usize], 2.0).unwrap());
    let product = compute(b.matmul(&x)).unwrap();
    assert_eq!([0, 1, N as usize - 6].map(|i| product.get(&[i]).unwrap().to_f64()), [8.0, 0.0, 6.0]);
}

/// Sizes of factors that have been given another shape may be symbols.
#[test]
fn compiled_products_by_blocks() {
    let [n, m] = ["N", "M"].map(|name| Dim::new(name, 1..).unwrap());
    let factor = |name: &str| {
        let x = input(name, DType::F64, [&n * &m]).unwrap().with_format(&"coo(1)".parse().unwrap());
        x.reshape([n.clone(), m.clone()])
    };
    let output = kron(&factor("x"), &factor("y"));
    let graph = CompiledGraph::new(&[output], CompileOptions::default()).unwrap();
    let vector = |at: i64, value: f64| {
        Tensor::coo([1 << 30], &[Tensor::from(vec![0, at])], vec![1.0, value], Duplicates::Refuse).unwrap()
    };
    let bindings = [("N", 1 << 10), ("M", 1 << 20)];
    let results =
        graph.call_with_bindings(&bindings, &[("x", &vector(5, 2.0)), ("y", &vector((1 << 20) + 7, 3.0))]);
    let result = &results.unwrap()[0];
    assert!(result.stored().is_some());
    let found = [[0, 0], [0, 5 << 20], [1, 7], [1, (5 << 20) + 7]]
        .map(|at| result.get(&at.map(|at| at as usize)).unwrap().to_f64());
    assert_eq!((result.nnz().unwrap(), found), (4, [1.0, 2.0, 3.0, 6.0]));
}

/// A graph is compiled once for all sizes.
#[test]
fn compiled_graphs_move_entries() {
    let (n, m) = (Dim::new("N", ..).unwrap(), Dim::new("M", ..).unwrap());
    let x = input("x", DType::F64, [n.clone(), m]).unwrap().with_format(&"csr".parse().unwrap());
    let outputs = [
        x.flip(1),
        concat(&[x.clone(), x.index([at(None, None, 2)])], 0),
        eye(n.clone(), n, 0, DType::F64) + x.matmul(&x.transpose()),
    ];
    let graph = CompiledGraph::new(&outputs, CompileOptions::default()).unwrap();
    for size in [N as usize, 0, 1] {
        let tensor = match size {
            1 => Tensor::coo(
                [1, 3],
                &[Tensor::from(vec![0_i64]), Tensor::from(vec![2_i64])],
                vec![7.0],
                Duplicates::Refuse,
            ),
            0 => Tensor::coo(
                [0, 3],
                &[Tensor::from(Vec::<i64>::new()), Tensor::from(Vec::<i64>::new())],
                Vec::<f64>::new(),
                Duplicates::Refuse,
            ),
            _ => Ok(matrix(&[(0, 0, 1.0), (4, 1, 2.0)])),
        };
        let results = graph.call(&[("x", &tensor.unwrap())]).unwrap();
        let counts: Vec<usize> = results.iter().map(|result| result.nnz().unwrap()).collect();
        assert!(results.iter().all(|result| result.stored().is_some()));
        let expected = match size {
            0 => [0, 0, 0],
            1 => [1, 2, 1],
            _ => [2, 4, N as usize],
        };
        assert_eq!(counts, expected, "{size} rows");
    }
}

#[test]
fn moves_are_held_against_the_budget() {
    let spread = a().index([at(None, 2, 1)]).repeat(1 << 30, 0);
    let options = CompileOptions { max_bytes: tensorjit::MaxBytes::Bytes(1 << 24), ..Default::default() };
    let refused = compute_as(spread, &options).unwrap_err();
    assert!(matches!(refused, Error::Budget { .. }), "{refused}");
}
