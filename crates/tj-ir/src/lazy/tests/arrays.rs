//! What array functions say about mistakes.

use super::*;

fn z(shape: &[i64]) -> LazyTensor {
    zeros(shape, DType::F64)
}

fn check(cases: Vec<(LazyTensor, &str)>) {
    for (tensor, want) in cases {
        let error = tensor.check().unwrap_err();
        assert_eq!(error.cause.to_string(), want);
        assert!(error.location.file().ends_with("arrays.rs"), "{error}");
    }
}

#[test]
fn mistakes_in_arranging() {
    let n = Dim::new("N", ..).unwrap();
    let x = z(&[2, 3]);
    check(vec![
        (zeros([2, -3], DType::F32), "zeros: the size of axis 1 is -3, which is negative"),
        (full([-1], 2.0), "full: the size of axis 0 is -1, which is negative"),
        (arange(0, 5, 0), "arange: a step of 0"),
        (linspace(0.0, 1.0, 5, DType::I32), "linspace: gives f32 or f64, not i32"),
        (x.reshape([4, 2]), "reshape: [2, 3] has 6 elements, but [4, 2] has 8"),
        (x.reshape([-1, -1]), "reshape: more than one size is left open"),
        (concat(&[], 0), "concat: needs a tensor at least"),
        (concat(&[x.clone(), z(&[3])], 0), "concat: shapes [2, 3] and [3] have different ranks"),
        (concat(&[x.clone(), z(&[2, 4])], 0), "concat: shapes [2, 3] and [2, 4] do not fit: 3 is not 4"),
        (concat(std::slice::from_ref(&x), 2), "concat: axis 2 is out of range for rank 2"),
        (concat(&[x.clone(), x.sum(5)], 0), "sum: axis 5 is out of range for rank 2"),
        (stack(&[x.clone(), z(&[2, 4])], 0), "stack: shapes [1, 2, 3] and [1, 2, 4] do not fit: 3 is not 4"),
        (x.pad([(0, 1)], 0.0), "pad: 1 pairs of widths for rank 2"),
        (x.pad([(0, 1), (-2, 0)], 0.0), "pad: the size of axis 1 is -2, which is negative"),
        (x.roll(1, 2), "roll: axis 2 is out of range for rank 2"),
        (x.repeat(-1, 0), "repeat: the size of axis 0 is -1, which is negative"),
        (x.moveaxis(&[0, 0], &[0, 1]), "moveaxis: axis 0 is named twice"),
        (x.expand_dims([0, 0]), "expand_dims: axis 0 is named twice"),
        (x.squeeze(0), "squeeze: axis 0 has size 2, not 1"),
        (x.flip(-3), "flip: axis -3 is out of range for rank 2"),
        (z(&[3]).tril(0), "tril: needs rank 2 at least, got rank 1"),
        (z(&[2, 2, 2]).diag(0), "diag: needs a vector or a matrix, got rank 3"),
        (
            zeros([n.clone()], DType::F32).unstack(0).remove(0),
            "unstack: axis 0 has size N, which is not a number",
        ),
        (meshgrid(std::slice::from_ref(&x), Indexing::Ij).remove(0), "meshgrid: needs vectors, got rank 2"),
        (
            broadcast_arrays(&[x.clone(), z(&[4])]).remove(1),
            "broadcast_arrays: shapes [2, 3] and [4] do not fit: 3 is not 4",
        ),
        (z(&[3, 0]).argmax(1), "argmax: axis 1 has size 0, and argmax over nothing is undefined"),
        (z(&[]).argmax(0), "argmax: axis 0 is out of range for rank 0"),
        (x.var(2, 0.0), "var: axis 2 is out of range for rank 2"),
        (z(&[0]).softmax(0), "softmax: axis 0 has size 0, and softmax over nothing is undefined"),
        (
            x.sliding_window_view([Window::new(1, 4)]),
            "sliding_window_view: a window of 4 elements along axis 1 of size 3",
        ),
        (
            x.sliding_window_view([Window::new(1, 2).stride(0)]),
            "sliding_window_view: a stride of 0 along axis 1",
        ),
    ]);
}

#[test]
fn mistakes_in_random_numbers() {
    use crate::random::{bits, integers, uniform};
    check(vec![
        (bits(0, [-2]), "random_bits: the size of axis 0 is -2, which is negative"),
        (bits(&z(&[2]), [3]), "random_bits: needs a key of rank 0, got rank 1"),
        (bits(&z(&[]), [3]), "random_bits: a key of f64, which is no integer type"),
        (uniform(0, [3], DType::I64), "random_uniform: gives f32 or f64, not i64"),
        (integers(0, 0, 5, [3], DType::F32), "random_integers: gives integers, not f32"),
        (integers(0, 5, 5, [3], DType::I64), "random_integers: there is nothing in 5..5"),
        (integers(0, 0, 257, [3], DType::U8), "random_integers: the number 256 does not fit u8"),
    ]);
}

#[test]
fn mistakes_in_products() {
    let x = z(&[2, 3]);
    check(vec![
        (tensordot(&x, &x, 1), "tensordot: shapes [2, 3] and [2, 3] do not fit: 3 is not 2"),
        (tensordot(&x, &x, 3), "tensordot: 3 axes of ranks 2 and 2"),
        (tensordot(&x, &x, ([0, 0], [0, 1])), "tensordot: axis 0 is named twice"),
        (vecdot(&x, &x, 0), "vecdot: axis 0 is out of range for rank 2"),
        (inner(&x, &z(&[4])), "inner: shapes [2, 3] and [4] do not fit: 3 is not 4"),
        (outer(&x, &x), "outer: needs vectors, got rank 2"),
        (cross(&z(&[2]), &z(&[3]), -1), "cross: axis 0 of [2] has size 2, not 3"),
    ]);
}

#[test]
fn mistakes_in_subscripts() {
    let (v, m) = (z(&[3]), z(&[3, 4]));
    let of = |text: &str, operands: &[&LazyTensor]| einsum(text, operands);
    check(vec![
        (
            of("k,k->k", &[&v, &z(&[3, 3])]),
            "einsum: operand 1: subscript \"k\" has 1 index, but the array has rank 2\n  k,k->k\n    ^",
        ),
        (
            of("ij,jk->ik", &[&m, &m]),
            "einsum: index j has size 4 in operand 0 and size 3 in operand 1\n  ij,jk->ik\n     ^",
        ),
        (of("ij->iz", &[&m]), "einsum: no operand has the index z of the output\n  ij->iz\n       ^"),
        (of("ij->ii", &[&m]), "einsum: the output has the index i twice\n  ij->ii\n       ^"),
        (of("ii", &[&m]), "einsum: index i has size 3 in operand 0 and size 4 in operand 0\n  ii\n   ^"),
        (of("ij", &[&m, &m]), "einsum: 1 list of subscripts for 2 operands\n  ij\n  ^"),
        (of("i1", &[&m]), "einsum: '1' is neither a letter nor \"...\" nor \",\" nor \"->\"\n  i1\n   ^"),
        (of("i->i->i", &[&v]), "einsum: a second \"->\"\n  i->i->i\n      ^"),
        (
            of("i->i,i", &[&v]),
            "einsum: a \",\" after \"->\": there is one list for the output\n  i->i,i\n      ^",
        ),
        (
            of(" ", &[&v]),
            "einsum: the subscripts are empty; they are a list of letters for each operand, as in \"ij,jk->ik\"\n   \n  ^",
        ),
        (of("...i...", &[&m]), "einsum: a second ellipsis\n  ...i...\n      ^"),
        (of("...j->j", &[&m]), "einsum: the output lacks the ellipsis of the operands\n  ...j->j\n        ^"),
        (of("i,j->ij", &[&v, &m.sum(9)]), "sum: axis 9 is out of range for rank 2"),
    ]);
}

#[test]
fn mistakes_in_assignments() {
    let (v, m) = (z(&[3]), z(&[3, 4]));
    let of = |text: &str| einop(text, &[("A", &m), ("B", &v)]);
    let deep = format!("C = {}A[0,0] + B[0]{}", "(".repeat(101), ")".repeat(101));
    let deepest = format!("einop: nests more than 100 deep\n  {deep}\n  {}^", " ".repeat(105));
    check(vec![
        (
            of("C[i] = A[i,j] * B[i]"),
            "einop: = combines nothing, but the output lacks the index j\n  C[i] = A[i,j] * B[i]\n       ^",
        ),
        (
            of("C[i] += A[i] * B[i]"),
            "einop: A is read at 1 index, but the array has rank 2\n  C[i] += A[i] * B[i]\n          ^",
        ),
        (
            of("C[i] += A[i,j] * B[j]"),
            "einop: index j has size 4 in A and size 3 in B\n  C[i] += A[i,j] * B[j]\n                     ^",
        ),
        (
            of("C[k] += A[i,j] * B[i]"),
            "einop: no operand has the index k of the output\n  C[k] += A[i,j] * B[i]\n    ^",
        ),
        (of("C[i] += A[i,j]"), "einop: the operand B is not used\n  C[i] += A[i,j]\n  ^"),
        (
            of("C[i] += A[i,j] * D[i]"),
            "einop: there is no operand D; there are A, B\n  C[i] += A[i,j] * D[i]\n                   ^",
        ),
        (of(""), "einop: the text is empty; a statement is such as C[i, j] += A[i, k] * B[k, j]\n  \n  ^"),
        (
            of("ij->ji"),
            "einop: \"->\" is of einsum; a statement is such as C[i, j] += A[i, k] * B[k, j]\n  ij->ji\n    ^",
        ),
        (
            of("C[i] mxa= A[i,j] * B[i]"),
            "einop: there is no operator mxa of two arguments\n  C[i] mxa= A[i,j] * B[i]\n       ^",
        ),
        (
            of("C[i] maximun= A[i,j] * B[i]"),
            "einop: there is no operator maximun of two arguments; did you mean maximum=?\n  C[i] maximun= A[i,j] * B[i]\n       ^",
        ),
        (
            of("C[i] += A[i,j] * squrt(B[i])"),
            "einop: there is no function squrt; did you mean sqrt?\n  C[i] += A[i,j] * squrt(B[i])\n                   ^",
        ),
        (
            of("C[i] += A[i,j] * foo(B[i])"),
            "einop: there is no function foo\n  C[i] += A[i,j] * foo(B[i])\n                   ^",
        ),
        (
            of("C[i] += A[i,j] * exp(B[i], 2)"),
            "einop: exp takes 1 arguments, got 2\n  C[i] += A[i,j] * exp(B[i], 2)\n                   ^",
        ),
        (
            of("C[i] += A[i,j] *"),
            "einop: expected a number, a name or \"(\", found the end\n  C[i] += A[i,j] *\n                  ^",
        ),
        (
            of("C[i] += A[i,j] B[i]"),
            "einop: expected an operator or the end, found \"B\"\n  C[i] += A[i,j] B[i]\n                 ^",
        ),
        (
            of("C[i] A[i,j] + B[i]"),
            "einop: expected an assignment such as \"=\", \"+=\" or \"max=\", found \"A\"\n  C[i] A[i,j] + B[i]\n       ^",
        ),
        (
            of("C[0] += A[i,j] * B[i]"),
            "einop: the output is indexed by names only\n  C[0] += A[i,j] * B[i]\n  ^",
        ),
        (
            of("C[i,i] = A[i,j] * B[i]"),
            "einop: the output has the index i twice\n  C[i,i] = A[i,j] * B[i]\n      ^",
        ),
        (
            of("C[i] |= A[i,j] * B[i]"),
            "einop: |= combines bool and integers, not f64: compare first\n  C[i] |= A[i,j] * B[i]\n       ^",
        ),
        (
            of("C[i] += A[i,7] * B[i]"),
            "einop: A: index: index 7 is out of range for axis 1 of size 4\n  C[i] += A[i,7] * B[i]\n          ^",
        ),
        (
            of("C[i] += A[i,j] $ B[i]"),
            "einop: '$' has no meaning\n  C[i] += A[i,j] $ B[i]\n                 ^",
        ),
        (
            of("C[i] or= A[i,j] < B[i] < 2"),
            "einop: comparisons do not chain: join them with \"and\"\n  C[i] or= A[i,j] < B[i] < 2\n                         ^",
        ),
        (
            of("C = 1 + A[0,99999999999999999999] + B[0]"),
            "einop: 99999999999999999999 is not a position\n  C = 1 + A[0,99999999999999999999] + B[0]\n              ^",
        ),
        (of(&deep), &deepest),
        (einop("C = 1 + 2", &[]), "einop: the right side has no operand\n  C = 1 + 2\n    ^"),
    ]);
}

/// A sum of products is one matrix product; other letters and sums are not.
#[test]
fn products_of_matrices_are_matmuls() {
    let (a, b) = (z(&[3, 4]), z(&[4, 5]));
    let word = |tensor: &LazyTensor| tensor.0.word().to_string();
    assert_eq!(word(&einsum("ik,kj->ij", &[&a, &b])), "matmul");
    assert_eq!(word(&einop("C[i,j] += A[i,k] * B[k,j]", &[("A", &a), ("B", &b)])), "matmul");
    assert_eq!(word(&einop("C[i,j] += A[i,k] * B[k,j] * 1", &[("A", &a), ("B", &b)])), "sum");
    assert_eq!(word(&einsum("ik,kj->ikj", &[&a, &b])), "mul");
    assert_eq!(word(&einsum("bik,bkj->bij", &[&z(&[2, 3, 4]), &z(&[2, 4, 5])])), "matmul");
}

/// A chain of many operators is read in a loop.
#[test]
fn long_assignments_do_not_recurse() {
    let v = z(&[3]);
    let text = format!("C[i] = A[i]{}", " + A[i]".repeat(20_000));
    assert_eq!(einop(&text, &[("A", &v)]).check(), Ok(()));
}
