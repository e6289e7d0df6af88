//! Cases over stored tensors with their right values: what once went wrong here, and what users of other libraries met.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tensorjit::{
    At, Bytes, CompileOptions, DType, Duplicates, Element, Format, InterpretKernel, InterpretPlan,
    LazyTensor, ReduceOp, Scalar, Tensor, Unfused, at, compute, compute_as, defer, einsum, kron, maximum,
    outer, where_, with_scheduler,
};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A tensor with these entries and a fill.
fn entries<T: Element + Into<Scalar>>(shape: &[usize], at: &[(&[i64], T)], fill: T, format: &str) -> Tensor {
    let column = |d: usize| Tensor::from(at.iter().map(|(at, _)| at[d]).collect::<Vec<i64>>());
    let columns: Vec<Tensor> = (0..shape.len()).map(column).collect();
    let values = Tensor::from_shape_vec([at.len()], at.iter().map(|(_, value)| *value).collect()).unwrap();
    let format: Format = format.parse().unwrap();
    Tensor::from_entries(shape, &columns, values, fill.into(), Duplicates::Sum, &format).unwrap()
}

fn dense<T: Element>(shape: &[usize], values: &[T]) -> Tensor {
    Tensor::from_shape_vec(shape, values.to_vec()).unwrap()
}

/// Elements of another tensor that are not the fill.
fn stored<T: Element + Into<Scalar>>(shape: &[usize], values: &[T], fill: T, format: &str) -> Tensor {
    let filled = dense(shape, values).with_fill(Some(fill.into())).unwrap();
    filled.with_format(&format.parse().unwrap()).unwrap()
}

/// What every engine gives, which is the same.
#[track_caller]
fn everywhere(lazy: &LazyTensor) -> Tensor {
    let run = || compute(lazy).unwrap();
    let found = run();
    let others = [
        with_scheduler(Unfused, run),
        with_scheduler(InterpretPlan, run),
        with_scheduler(InterpretKernel, run),
    ];
    for other in others {
        assert_eq!(elements(&found), elements(&other));
        assert_eq!(
            found.fill().map(Scalar::to_f64).map(f64::to_bits),
            other.fill().map(Scalar::to_f64).map(f64::to_bits)
        );
        assert_eq!(found.nnz().unwrap(), other.nnz().unwrap());
    }
    found
}

fn elements(tensor: &Tensor) -> Vec<String> {
    let flat = tensor.to_dense().unwrap().reshape([tensor.count().unwrap()]).unwrap();
    // -0 is 0 here.
    let text = |at| flat.get(&[at]).unwrap().to_string().replace("-0.0", "0.0");
    (0..flat.shape()[0]).map(text).collect()
}

/// Checks the elements of a result.
#[track_caller]
fn check<T: Element>(lazy: &LazyTensor, want: &[T]) -> Tensor {
    let found = everywhere(lazy);
    assert_eq!(elements(&found), elements(&dense(&[want.len()], want)));
    found
}

#[test]
fn no_coordinate_of_a_union_of_intersections_is_visited_twice() {
    let vector = |at: i64, value: f64| defer(entries(&[3], &[(&[at], value)], 0.0, "csf(1)"));
    let (a, b, c) = (vector(0, 1.0), vector(2, 2.0), vector(1, 5.0));
    check(&(&a * &b + &c).sum(()), &[5.0]);
    check(&(&a * &b + &c), &[0.0, 5.0, 0.0]);
}

#[test]
fn entries_that_are_absent_are_not_read() {
    let a = defer(entries(&[1, 1, 1], &[(&[0, 0, 0], 7_i64)], 0, "csf(3)"));
    let b = defer(entries::<i64>(&[1, 1], &[], 0, "csr"));
    let differs = b.not_equal(&b);
    check(&where_(&differs, &a, &differs), &[0_i64]);
}

#[test]
fn results_in_another_order_have_their_own_fill() {
    let a = defer(stored(&[2, 2], &[1.0, 2.0, 1.0, 3.0], 1.0, "csc"));
    let b = defer(stored(&[2, 2], &[1.0, 2.0, 5.0, 1.0], 1.0, "csc"));
    let found = check(&(a * b), &[1.0, 4.0, 5.0, 3.0]);
    assert_eq!((found.fill(), found.nnz().unwrap()), (Some(Scalar::from(1.0)), 3));
}

#[test]
fn slices_of_lists_leave_entries_out() {
    let a = defer(stored(&[7], &[9.0, 0.0, 1.0, 0.0, -2.0, 0.0, 8.0], 0.0, "csf(1)"));
    check(&a.index([at(2, -3, 1)]), &[1.0, 0.0]);
    check(&a.index([at(0, 2, 1)]), &[9.0, 0.0]);
    check(&(a.index([at(1, None, 1)]) * 2.0), &[0.0, 2.0, 0.0, -4.0, 0.0, 16.0]);
    // The slice has no columns.
    let a = defer(entries(&[1, 1], &[(&[0, 0], 7_i64)], 0, "csf(2)"));
    check::<i64>(&a.matmul(&a.index([at(None, None, 1), at(3, None, 1)])), &[]);
}

#[test]
fn arguments_that_are_results_are_pruned() {
    let a = Tensor::csr([2, 2], vec![0_u32, 2, 3], vec![0_u32, 1, 1], vec![0.0, 2.0, 3.0]).unwrap();
    let found = compute(defer(&a).permute(&[0, 1])).unwrap();
    assert_eq!((found.stored_count(), elements(&found)), (2, elements(&a)));
}

#[test]
fn searches_follow_searches() {
    let a = defer(entries(&[2, 2, 2, 2], &[(&[0, 0, 1, 0], 3.0), (&[1, 1, 0, 1], 4.0)], 0.0, "csf(4)"));
    let b = defer(dense(&[2], &[10.0, 100.0]));
    check(&einsum("aaba,a->ab", &[&a, &b]), &[0.0, 30.0, 400.0, 0.0]);
    check(&(&a + &b).sum(()), &[887.0]);
}

#[test]
fn reductions_over_nothing() {
    // False is the fill of `all`, and what no element of the result is.
    let some = defer(stored(&[2, 3], &[true, false, true, false, true, true], false, "csr"));
    check(&some.reduce(ReduceOp::And, 1), &[false, false]);
    let none = defer(entries::<bool>(&[2, 0], &[], false, "csr"));
    check(&none.reduce(ReduceOp::And, 1), &[true, true]);
    check(&defer(entries::<bool>(&[2, 0], &[], true, "csr")).reduce(ReduceOp::Or, 1), &[false, false]);
    check(&defer(entries::<f64>(&[2, 0], &[], 0.0, "csr")).prod(1), &[1.0, 1.0]);
    check(&defer(entries::<f64>(&[0, 2], &[], 0.0, "csr")).prod(0), &[1.0, 1.0]);
}

#[test]
fn halves() {
    let a = defer(entries(&[3], &[(&[1], 2.5)], 0.0, "csf(1)"));
    let half = a.cast(DType::F16);
    assert_eq!((elements(&everywhere(&half)).len(), everywhere(&half).nnz().unwrap()), (3, 1));
    check(&half.cast(DType::F64), &[0.0, 2.5, 0.0]);
    let x = defer(dense(&[2, 2], &[1.0, 2.0, 3.0, 4.0]).cast(DType::F16).unwrap());
    check(&einsum("aa,ab->", &[&x, &x]).cast(DType::F64), &[31.0]);
    check(&tensorjit::concat(&[x.clone(), x], 0).cast(DType::F64), &[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn products_of_ones_have_the_fill_one() {
    let s = defer(entries(&[3, 3], &[(&[0, 1], 0.25), (&[2, 2], 1.0)], 0.0, "csr"));
    let found = check(&(1.0 - s).prod(0), &[1.0, 0.75, 0.0]);
    assert_eq!(found.fill(), Some(Scalar::from(1.0)));
}

#[test]
fn fills_that_are_nowhere_do_not_count() {
    for (fill, sum) in [(NAN, NAN), (INF, INF)] {
        let at: [(&[i64], f64); 3] = [(&[0, 0], 1.0), (&[0, 1], 2.0), (&[1, 0], 3.0)];
        check(&defer(entries(&[2, 2], &at, fill, "csr")).sum(1), &[3.0, sum]);
    }
}

#[test]
fn dense_arguments_are_broadcast_by_one_rule() {
    let s = defer(entries(&[3, 1, 2], &[(&[0, 0, 1], 2_i64), (&[2, 0, 0], 3)], 0, "coo(3)"));
    let d = defer(dense(&[4, 2], &[1_i64, 10, 2, 20, 3, 30, 4, 40]));
    let product =
        check(&(&s * &d), &[0_i64, 20, 0, 40, 0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 6, 0, 9, 0, 12, 0]);
    assert_eq!((product.stored().is_some(), product.nnz().unwrap(), product.stored_count()), (true, 8, 8));
    let matrix = check(
        &(&s + &d),
        &[1_i64, 12, 2, 22, 3, 32, 4, 42, 1, 10, 2, 20, 3, 30, 4, 40, 4, 10, 5, 20, 6, 30, 7, 40],
    );
    let vector = check(&(&s + defer(dense(&[2], &[1_i64, 10]))), &[1_i64, 12, 1, 10, 4, 10]);
    assert_eq!((matrix.fill(), vector.fill()), (None, None));
}

#[test]
fn least_and_greatest_see_what_is_not_stored() {
    let at: [(&[i64], i64); 2] = [(&[0], 5), (&[2], 7)];
    check(&defer(entries(&[4], &at, 0, "csf(1)")).min(()), &[0_i64]);
    check(&defer(entries(&[4], &at, 9, "csf(1)")).max(()), &[9_i64]);
    check(&defer(entries(&[2], &[(&[0], 5_i64), (&[1], 7)], 0, "csf(1)")).min(()), &[5_i64]);
    check(&defer(entries::<f64>(&[5, 5], &[], 0.0, "csr")).max(()), &[0.0]);
    let nothing = defer(entries::<f64>(&[0, 5], &[], 0.0, "csr")).max(());
    for found in [compute(&nothing), with_scheduler(InterpretPlan, || compute(&nothing))] {
        assert!(found.unwrap_err().to_string().contains("max"));
    }
}

#[test]
fn positions_of_extremes_are_those_of_elements() {
    let a = defer(stored(&[2, 2], &[8_i64, 6, 5, 0], 0, "csr"));
    let shuffled: [(&[i64], i64); 9] = [
        (&[2, 2], 9),
        (&[0, 1], 6),
        (&[1, 1], 9),
        (&[0, 0], 6),
        (&[2, 0], 2),
        (&[0, 2], 2),
        (&[1, 2], 8),
        (&[1, 0], 3),
        (&[2, 1], 4),
    ];
    let b = defer(entries(&[3, 3], &shuffled, 0, "coo(2)"));
    check(&a.argmin(()), &[3_i64]);
    check(&b.argmin(()), &[2_i64]);
    check(&a.argmax(()), &[0_i64]);
    check(&b.argmax(()), &[4_i64]);
}

#[test]
fn axes_beyond_32_bits() {
    let far = 2_147_483_655_i64;
    let at: [(&[i64], i64); 3] = [(&[0, 0], 1), (&[far, 0], 2), (&[3, 0], 4)];
    let s = defer(entries(&[(1 << 31) + 8, 1], &at, 0, "coo(2)"));
    let options = CompileOptions { max_bytes: Bytes(100 << 20), ..CompileOptions::default() };
    let run = |lazy: LazyTensor| compute_as(lazy, &options).unwrap().0;
    assert_eq!(run(s.sum(())).to_vec::<i64>().unwrap(), [7]);
    assert_eq!(run(s.max(())).to_vec::<i64>().unwrap(), [4]);
    assert_eq!(run(s.index([At::Index(far), At::Index(0)])).to_vec::<i64>().unwrap(), [2]);
    let rows = run(s.sum(1));
    assert_eq!((rows.stored().is_some(), rows.nnz().unwrap()), (true, 3));
}

#[test]
fn stored_zeros_annihilate_as_others_do() {
    let a = defer(stored(&[2, 2], &[NAN, 4.0, 5.0, 6.0], 0.0, "csr"));
    let implicit = entries(&[2, 2], &[(&[1, 1], 2.0)], 0.0, "csr");
    let explicit = Tensor::csr([2, 2], vec![0_u32, 1, 2], vec![0_u32, 1], vec![0.0, 2.0]).unwrap();
    for b in [implicit, explicit] {
        check(&a.matmul(&defer(&b)), &[0.0, 8.0, 0.0, 12.0]);
        check(&a.matmul(&defer(b.with_format(&Format::csc()).unwrap())), &[0.0, 8.0, 0.0, 12.0]);
    }
}

/// A list that leads a loop is asked for again by a part of the tree.
#[test]
fn a_condition_is_asked_twice() {
    let mask =
        defer(stored(&[2, 2, 2], &[true, false, true, true, false, false, false, true], false, "csf(3)"));
    let x = defer(stored(&[2, 2, 2], &[1_i64, 2, 0, 3, 4, 5, 6, 0], 0, "csf(3)"));
    let y = defer(stored(&[2, 2], &[7_i64, 0, 0, 8], 0, "csf(2)"));
    check(&where_(&mask, where_(&mask, &x, &y), 0), &[1_i64, 0, 0, 3, 0, 0, 0, 0]);
    check(&where_(&mask, where_(&mask.logical_not(), &x, &y), 0), &[7_i64, 0, 0, 8, 0, 0, 0, 8]);
}

#[test]
fn products_of_long_vectors() {
    let u = defer(entries(&[70_000], &[(&[69_999], 3_i64)], 0, "csf(1)"));
    let v = defer(entries(&[50_000], &[(&[49_999], 5_i64)], 0, "csf(1)"));
    let options = CompileOptions { max_bytes: Bytes(100 << 20), ..CompileOptions::default() };
    let (found, _) = compute_as(outer(&u, &v), &options).unwrap();
    assert_eq!(found.nnz().unwrap(), 1);
    let (at, values) = found.to_entries().unwrap();
    assert_eq!(
        [&at[0], &at[1], &values].map(|list| list.to_vec::<i64>().unwrap()),
        [[69_999], [49_999], [15]]
    );
    let (found, _) = compute_as(kron(&u, &v), &options).unwrap();
    let (at, values) = found.to_entries().unwrap();
    assert_eq!([&at[0], &values].map(|list| list.to_vec::<i64>().unwrap()), [[3_499_999_999], [15]]);
}

#[test]
fn products_with_empty_rows() {
    let b = defer(stored(&[3, 4], &[2_i64, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0], 0, "csr"));
    let c = defer(stored(&[4, 2], &[0_i64, 5, 6, 0, 0, 0, 0, 7], 0, "csr"));
    check(&b.matmul(&c), &[0_i64, 10, 0, 28, 0, 0]);
    check(&(b.matmul(&c) + defer(dense(&[3, 2], &[0_i64; 6]))), &[0_i64, 10, 0, 28, 0, 0]);
}

#[test]
fn sums_over_the_outermost_axis_accumulate() {
    let at: [(&[i64], i64); 4] = [(&[0, 0, 0], 1), (&[0, 1, 0], 2), (&[1, 0, 0], 3), (&[1, 1, 1], 4)];
    let x = defer(entries(&[2, 2, 2], &at, 0, "csf(3)"));
    let found =
        check(&einsum("ijk,ilm->jklm", &[&x, &x]), &[10_i64, 0, 2, 12, 0, 0, 0, 0, 2, 0, 4, 0, 12, 0, 0, 16]);
    let (at, values) = found.to_entries().unwrap();
    assert_eq!((at[0].shape(), values.shape()), ([7].as_slice(), [7].as_slice()));
}

#[test]
fn dense_rows_are_added_everywhere() {
    let b = defer(stored(&[3, 3], &[1_i64, 0, 0, 0, 0, 0, 0, 2, 3], 0, "csr"));
    let c = defer(dense(&[3], &[10_i64, 20, 30]));
    check(&(&b + &c).sum(1), &[61_i64, 60, 65]);
}

#[test]
fn chains_of_products() {
    let a = || defer(entries::<i64>(&[2, 2], &[], 0, "csr"));
    let b = || defer(stored(&[2, 2], &[0_i64, 1, 0, 0], 0, "csr"));
    let c = || defer(stored(&[2, 2], &[1_i64, 2, 3, 4], 0, "csr"));
    check(&b().matmul(&c()).matmul(&b()), &[0_i64, 3, 0, 0]);
    for chain in [[a(), c(), b()], [b(), a(), b()], [b(), c(), a()]] {
        let found = check(&chain[0].matmul(&chain[1]).matmul(&chain[2]), &[0_i64; 4]);
        assert_eq!(found.nnz().unwrap(), 0);
    }
    let whole = stored(&[2, 2], &[1_i64, 2, 3, 4], 0, "csr");
    assert_eq!(elements(&compute(&whole).unwrap()), elements(&whole));
}

#[test]
fn statistics_of_tall_matrices() {
    let s = defer(entries(&[100_000, 3], &[(&[0, 0], 2.0), (&[5, 0], 4.0), (&[7, 2], 1.0)], 0.0, "csr"));
    let variance = compute(s.var(0, 0.0)).unwrap().to_vec::<f64>().unwrap();
    for (got, want) in variance.iter().zip([0.000_199_996_4, 0.0, 9.9999e-6]) {
        assert!((got - want).abs() <= 1e-10 * want, "{got}, not {want}");
    }
    // An element that is the fill 0 stays 0 whatever it is divided by.
    let rows = compute(&s / s.sum(tensorjit::axis(1).keepdims())).unwrap();
    let (_, values) = rows.to_entries().unwrap();
    assert_eq!((rows.stored().is_some(), rows.fill()), (true, Some(Scalar::from(0.0))));
    assert_eq!(values.to_vec::<f64>().unwrap(), [1.0, 1.0, 1.0]);
}

#[test]
fn duplicates_are_summed_once_and_for_all() {
    let s = entries(&[2, 2], &[(&[0, 0], 1_i64), (&[1, 1], 5), (&[0, 0], 2)], 0, "coo(2)");
    assert_eq!(s.nnz().unwrap(), 2);
    let s = defer(&s);
    check(&s.max(()), &[5_i64]);
    check(&(&s * &s), &[9_i64, 0, 0, 25]);
    check(&s.equal(3), &[true, false, false, false]);
    check(&s.argmax(()), &[3_i64]);
    check(&maximum(&s, 0), &[3_i64, 0, 0, 5]);
}

#[test]
fn results_whose_common_axis_is_last_are_in_order() {
    let x = [5.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0, 1.0, 8.0, 0.0, 0.0];
    let want: Vec<f64> = (0..36).map(|at| x[at / 12 * 4 + at % 4] * x[at / 4 % 3 * 4 + at % 4]).collect();
    for format in ["csr", "coo(2)", "csc", "bcsr(2, 2)"] {
        let (a, b) = (defer(stored(&[3, 4], &x, 0.0, format)), defer(stored(&[3, 4], &x, 0.0, "csr")));
        let found = check(&(a.expand_dims(1) * b.expand_dims(0)), &want);
        assert_eq!(found.nnz().unwrap(), 6);
    }
}

/// The list of a dimension may be longer than the loop that goes along it.
#[test]
fn loops_end_where_their_index_does() {
    for (rows, columns, format) in [(100, 3, "coo(2)"), (100, 3, "csf(2)"), (3, 100, "csr"), (100, 3, "csc")]
    {
        let cells = [(&[0, 0][..], 5.0), (&[2, 2], 7.0), (&[rows - 1, columns - 1], 8.0)];
        let x = defer(entries(&[rows as usize, columns as usize], &cells, 0.0, format));
        check(&x.diagonal(0), &[5.0, 0.0, 7.0]);
        check(&(x.diagonal(0) + x.diagonal(0)), &[10.0, 0.0, 14.0]);
        check(&x.index([at(None, 2, 1), at(None, 2, 1)]).sum(()), &[5.0]);
        check(&x.index([at(None, 3, 1), at(None, 2, 1)]).sum(1), &[5.0, 0.0, 0.0]);
    }
}

#[test]
fn what_is_stored_may_equal_the_fill() {
    let x = defer(dense(&[2], &[INF, 3.0]));
    // Both rows meet infinity: once with a value that differs from the fill, once with one that does not.
    for (zero, want) in [(2.0_f32, [INF, INF]), (0.0, [INF, 0.0]), (-0.0, [INF, 0.0])] {
        let a = Tensor::csr([2, 2], vec![0_u32, 1, 2], vec![0_u32, 0], vec![1.0_f32, zero]).unwrap();
        assert_eq!(a.stores_fill(), zero == 0.0);
        check(&defer(&a).matmul(&x), &want);
        let transposed = defer(a.with_format(&Format::csc()).unwrap());
        check(&transposed.matmul(&x), &want);
    }
}

#[test]
fn sums_that_are_the_fill_are_left_out() {
    let n = 300_usize;
    let at: Vec<[i64; 2]> = (0..n as i64).map(|row| [row, row * 7 % 11]).collect();
    let of = |value: &dyn Fn(usize) -> f64| {
        let at: Vec<(&[i64], f64)> = at.iter().enumerate().map(|(i, at)| (at.as_slice(), value(i))).collect();
        entries(&[n, 11], &at, 0.0, "csr")
    };
    let a = of(&|i| i as f64 + 1.0);
    for every in [1, 2, 3, 300] {
        // One of so many entries stays.
        let b = of(&|i| if i % every == 0 { 1.0 } else { -(i as f64) - 1.0 });
        let found = everywhere(&(defer(&a) + defer(&b)));
        assert_eq!((found.nnz().unwrap(), found.stored_count()), (n.div_ceil(every), n.div_ceil(every)));
    }
    // -0 differs from 0 by its bits.
    let (a, b) = (of(&|_| -1.0), of(&|i| if i < 2 { 0.0 } else { 1.0 }));
    let b = defer(b.with_format(&"csf(2)".parse().unwrap()).unwrap());
    assert_eq!(everywhere(&(defer(a) * b)).nnz().unwrap(), n - 2);
}

#[test]
fn a_list_that_is_met_again_and_again_is_looked_up() {
    let a = [0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 7.0, 1.0, 0.0, 4.0, 0.0];
    let b = [1.0, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, INF, 0.0, 0.0, 4.0, 0.0, 0.0, 5.0, 6.0];
    let mask = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    let mut want = [0.0; 16];
    for (cell, want) in want.iter_mut().enumerate() {
        let (i, j) = (cell / 4, cell % 4);
        let product = |k: usize| if a[4 * i + k] == 0.0 { 0.0 } else { a[4 * i + k] * b[4 * k + j] };
        *want = if mask[cell] == 0.0 { 0.0 } else { (0..4).map(product).sum() };
    }
    let format = ["csr", "csc", "csf(2)"];
    for (x, y) in format.iter().flat_map(|x| format.iter().map(move |y| (x, y))) {
        let (a, b) = (defer(stored(&[4, 4], &a, 0.0, x)), defer(stored(&[4, 4], &b, 0.0, y)));
        check(&(a.matmul(&b) * defer(stored(&[4, 4], &mask, 0.0, "csr"))), &want);
    }
    // A sparse vector meets every row.
    let v = defer(entries(&[4], &[(&[1], 10.0), (&[3], INF)], 0.0, "csf(1)"));
    check(&defer(stored(&[4, 4], &a, 0.0, "csr")).matmul(&v), &[INF, 0.0, INF, 0.0]);
}

#[test]
fn products_of_three_are_computed_a_fiber_at_a_time() {
    let x = entries(&[2, 3, 2], &[(&[0, 1, 0], 2.0), (&[0, 1, 1], -2.0), (&[1, 0, 1], 3.0)], 0.0, "csf(3)");
    let b = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let c = [1.0, INF, 1.0, 5.0];
    let found =
        einsum("ijl,jk,lk->ik", &[&defer(&x), &defer(dense(&[3, 2], &b)), &defer(dense(&[2, 2], &c))]);
    check(&found, &[2.0 * 3.0 - 2.0 * 3.0, INF, 3.0, 3.0 * 2.0 * 5.0]);
}

#[test]
fn selections_under_a_sparse_condition_are_sparse() {
    let m = defer(entries(&[2, 2], &[(&[1, 0], true)], false, "csr"));
    let x = defer(dense(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
    let found = check(&where_(&m, &x, 0.0), &[0.0, 0.0, 3.0, 0.0]);
    assert_eq!((found.fill(), found.stored_count()), (Some(Scalar::from(0.0)), 1));
    // What the fill of the condition selects is 0 whatever it meets.
    check(&(where_(&m, &x, 0.0) * INF), &[0.0, 0.0, INF, 0.0]);
}

#[test]
fn lists_are_read_backwards_beside_themselves() {
    let x = defer(entries(&[1, 1, 1], &[(&[0, 0, 0], 3.0)], 0.0, "csf(3)"));
    check(&(&x - x.flip(2)), &[0.0]);
    let x = defer(entries(&[1, 2, 3], &[(&[0, 0, 0], 3.0), (&[0, 1, 1], 4.0)], 0.0, "csf(3)"));
    check(&(&x - x.flip(2)), &[3.0, 0.0, -3.0, 0.0, 0.0, 0.0]);
}

#[test]
fn what_is_nowhere_has_no_entries() {
    let x = defer(entries(&[2], &[(&[1], 3.0)], 0.0, "csf(1)"));
    let greater = x.greater(&x);
    let found = check(&(greater.logical_and(false) * &greater), &[false, false]);
    assert_eq!(found.stored_count(), 0);
    let x = defer(entries(&[2, 3], &[(&[1, 2], 3_i64)], 0, "csr"));
    check(&where_(&x.greater(&x), x.logical_or(1) * (&x - &x), 0), &[0_i64; 6]);
}

#[test]
fn casts_may_make_a_stored_value_the_fill() {
    let infinite = defer(dense(&[1], &[INF]));
    let a = entries(&[1], &[(&[0], 1e-50)], 0.0, "csf(1)");
    check(&(defer(&a) * 2.0), &[2e-50]);
    let narrow = a.cast(DType::F32).unwrap();
    assert_eq!((a.stores_fill(), narrow.stores_fill()), (false, true));
    check(&(defer(&narrow) * &infinite), &[0.0]);
    // Fills 0 and -0 are one fill to laws, and values that are not stored differ.
    for fill in [0.0, -0.0] {
        let row = entries(&[2], &[(&[0], 3.0)], fill, "csf(1)");
        check(&(defer(row) * defer(dense(&[2], &[1.0, INF]))), &[3.0, 0.0]);
    }
}

#[test]
fn sums_of_one_negative_zero_are_zero_in_every_order() {
    let a = entries(&[2, 2], &[(&[0, 1], -1e-200)], 0.0, "csr");
    let b = entries(&[2, 2], &[(&[1, 0], 1e-200)], 0.0, "csr");
    for format in ["csr", "csc", "csf(2)"] {
        let b = defer(b.with_format(&format.parse().unwrap()).unwrap());
        assert_eq!(everywhere(&defer(&a).matmul(&b)).nnz().unwrap(), 0);
    }
}

#[test]
fn what_decides_nothing_is_not_computed() {
    let a = [0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 5.0, 0.0, 7.0];
    let (x, y) = ([1.0, INF, 4.0], [9.0, 8.0, NAN]);
    for format in ["csr", "csc", "csf(2)", "coo(2)"] {
        let a = defer(stored(&[3, 3], &a, 0.0, format));
        let (x, y) = (defer(dense(&[3], &x)), defer(dense(&[3], &y)));
        let unseen = defer(dense(&[3], &[false, true, true]));
        let product = a.matmul(&x);
        check(&where_(&unseen, &product, &y), &[9.0, 3.0, 5.0 + 28.0]);
        check(&where_(&unseen, &y, &product), &[INF, 8.0, NAN]);
        check(&unseen.logical_and(product.greater(4.0)), &[false, false, true]);
        check(&unseen.logical_or(product.greater(4.0)), &[true, true, true]);
        // The product is needed where the selection is not, too.
        check(&(where_(&unseen, &product * 2.0, &y) + &product), &[INF, 9.0, 99.0]);
        let near = a.not_equal(0.0);
        check(&near.logical_and(x.greater(2.0)).any(1), &[true, false, true]);
        check(&near.logical_and(unseen.expand_dims(1)).any(1), &[false, true, true]);
        check(&near.logical_or(x.greater(2.0)).all(1), &[false, true, true]);
    }
}

#[test]
fn truths_are_looked_for_until_one_is_found() {
    // A diagonal is visited densely; a loop over rows that ends early is proved as one that does not.
    for last in [true, false] {
        let a = stored(&[3, 3], &[false, true, true, false, false, true, true, false, last], false, "csr");
        let trace = einsum("aa->", &[&defer(&a)]);
        assert_eq!(everywhere(&trace).to_vec::<bool>().unwrap(), [last]);
        let all = everywhere(&einsum("aa,bc->cb", &[&defer(&a), &defer(&a)]));
        assert_eq!(all.to_dense().unwrap().to_vec::<bool>().unwrap()[3], last);
    }
}

#[test]
fn reductions_beside_each_other_end_where_they_end() {
    // A search that ends early, over what is looked at everywhere, before sums and extremes of the same lists.
    let a = stored(&[3, 4], &[0.0, 2.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, -4.0, 0.5, 1.0], 0.0, "csr");
    let x = defer(&a);
    let small = maximum(&x, -16).minimum(16);
    let all = [
        small.not_equal(0).reduce(ReduceOp::Or, 1).cast(DType::F64),
        x.max(1),
        x.min(1),
        x.sum(1),
        (&x * &x).sum(1),
        x.mean(1) - x.var(1, 0.0),
    ];
    let run = || compute(all.to_vec()).unwrap();
    let right = with_scheduler(InterpretPlan, run);
    for results in [run(), with_scheduler(Unfused, run), with_scheduler(InterpretKernel, run)] {
        for (at, (got, right)) in results.iter().zip(&right).enumerate() {
            assert_eq!(elements(got), elements(right), "{at}");
        }
    }
    assert_eq!(right[0].to_vec::<f64>().unwrap(), [1.0, 0.0, 1.0]);
    assert_eq!(right[1].to_vec::<f64>().unwrap(), [2.0, 0.0, 3.0]);
    assert_eq!(right[2].to_vec::<f64>().unwrap(), [-1.0, 0.0, -4.0]);
}

#[test]
fn what_is_not_stored_is_combined_as_often_as_it_is_there() {
    // Every cell of a fiber, none, and some are stored; fills that are 0 and not; empty fibers; shifts by numbers and by rows.
    let shift = defer(&dense(&[3, 1], &[1.0, -2.0, 0.5]));
    for fill in [0.0, 2.0] {
        let values = [1.0, 2.0, 3.0, 4.0, fill, fill, fill, fill, -1.0, fill, 0.0, fill];
        for format in ["csr", "csc", "coo"] {
            let x = defer(&stored(&[3, 4], &values, fill, format));
            for of in [
                (&x - &shift),
                (&x + 3.0),
                (&x * &shift).exp(),
                maximum(&x, 0.5),
                where_(&x.less(&shift), &shift, &x),
            ] {
                for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min] {
                    let plain = compute(&of).unwrap().to_dense().unwrap();
                    let want = compute(defer(&plain).reduce(op, 1)).unwrap();
                    let got = everywhere(&of.reduce(op, 1)).to_vec::<f64>().unwrap();
                    for (got, want) in got.into_iter().zip(want.to_vec::<f64>().unwrap()) {
                        assert!(
                            (got - want).abs() <= 1e-12 * want.abs(),
                            "{op:?} {format} {fill}: {got}, not {want}"
                        );
                    }
                }
                everywhere(&of.less(1.0).reduce(ReduceOp::Xor, 1));
                everywhere(&of.less(1.0).reduce(ReduceOp::And, ()));
            }
        }
    }
    let x = stored(&[2, 3], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.0, "csr");
    let deviations = (defer(&x) - defer(&x).mean(tensorjit::axis(1).keepdims())).abs().max(1);
    check(&deviations, &[1.0 - 1.0 / 3.0, 0.0]);
    check(&defer(&stored::<f64>(&[2, 0], &[], 0.0, "csr")).reduce(ReduceOp::Sum, 1), &[0.0, 0.0]);
}

#[test]
fn truths_are_decided_by_what_is_false() {
    let x = stored(&[4], &[0.0, 2.0, 0.0, NAN], 0.0, "coo(1)");
    let y = dense(&[4], &[NAN, 1.0, 1.0, 0.5]);
    let both = check(&defer(&x).logical_and(defer(&y)), &[false, true, false, true]);
    assert_eq!((both.fill(), both.nnz().unwrap()), (Some(Scalar::Bool(false)), 2));
    let ones = stored(&[4], &[1.0, 0.0, 1.0, 1.0], 1.0, "coo(1)");
    let either = check(&defer(&y).logical_or(defer(&ones)), &[true, true, true, true]);
    assert_eq!((either.fill(), either.nnz().unwrap()), (Some(Scalar::Bool(true)), 0));
}

#[test]
fn sums_inside_of_searches_do_not_end_early() {
    let a = stored(&[2, 3], &[0.0, 5.0, 0.0, 1.0, 0.0, 0.0], 0.0, "csr");
    let d = dense(&[2, 3, 2], &[1.0, -1.5, 2.0, 2.5, 3.0, 0.0, 1.0, 1.0, 0.5, 0.5, 2.0, -1.0]);
    let above = defer(&a).greater(defer(&d).sum(2));
    check(&above.reduce(ReduceOp::Or, 1), &[true, false]);
    check(&above.reduce(ReduceOp::And, 1), &[false, false]);
    check(&above.logical_not().reduce(ReduceOp::Or, 1), &[true, true]);
}

#[test]
fn what_several_selections_need_is_computed_once() {
    let a = stored(&[3, 2], &[1.0, 0.0, 2.0, 3.0, 0.0, 0.0], 0.0, "csr");
    let sums = einsum("ij,j->i", &[&defer(&a), &defer(&dense(&[2], &[1.0, 10.0]))]);
    let one = |at: usize| defer(&dense(&[3], &[at == 0, at == 1, true]));
    let zero = defer(&dense(&[3], &[0.0; 3]));
    check(&(where_(&one(0), &sums, &zero) + where_(&one(1), &sums * 2.0, &zero)), &[1.0, 64.0, 0.0]);
    // A tree of selections that doubles with each level is a chain of them.
    let deep = (0..16).fold(sums, |s, level| {
        where_(&one(level % 2), &s, &zero) + where_(&one(1 - level % 2), &s * 2.0, &zero)
    });
    check(&deep, &[256.0, 32.0 * 256.0, 0.0]);
}

/// One element of a diagonal that may have none is read inside of a sum over at most that element: where the sum is over nothing
/// there is no such place.
#[test]
fn diagonals_that_may_be_empty_are_read_nowhere() {
    for format in ["csr", "csc", "coo", "{d0: hash, d1: dense}", "{d1: compressed, d0: dense}"] {
        let x = defer(stored(&[2, 1], &[3, 5], 0, format));
        // Of rows below the second there are no elements; the second row has one.
        for ((first, second), above) in [((-2, -2), 0), ((1, 2), 0), ((-1, 1), 5)] {
            let spread = x.diagonal(first).diag(second);
            for (program, want) in [
                (where_(&x.equal(&x), &spread, 0), [0, above, 0, 0]),
                (&spread + &x, [3, 3 + above, 5, 5]),
                (&spread * &x, [0, 3 * above, 0, 0]),
                (spread, [0, above, 0, 0]),
            ] {
                let found = everywhere(&program);
                assert_eq!(
                    elements(&found),
                    want.map(|value| format!("{value}i32")),
                    "{format} {first} {second}"
                );
            }
        }
    }
}

/// A leaf of one value may be the fill at every position of dense levels, and is so after a copy, too.
#[test]
fn one_value_may_be_the_fill() {
    for values in [vec![true, true], vec![]] {
        let dense = dense(&[values.len()], &values).with_fill(Some(true.into())).unwrap();
        let x = dense.with_format(&"{d0: dense} iso".parse().unwrap()).unwrap();
        let found = everywhere(&defer(&x).permute(&[0]));
        assert_eq!((found.to_vec::<bool>().unwrap(), found.fill()), (values, Some(Scalar::Bool(true))));
    }
}
