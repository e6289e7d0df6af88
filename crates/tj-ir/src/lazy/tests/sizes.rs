//! Sizes and ranks that users give.

use super::*;

fn n(bounds: std::ops::RangeInclusive<i64>) -> Dim {
    Dim::new("N", bounds).unwrap()
}

fn some<const R: usize>(shape: [Dim; R]) -> [Option<Dim>; R] {
    shape.map(Some)
}

fn message(tensor: Result<LazyTensor, IrError>) -> String {
    let error = tensor.and_then(|t| t.check()).unwrap_err();
    assert!(error.location.file().ends_with("sizes.rs"), "{error}");
    error.cause.to_string()
}

#[test]
fn sizes_that_are_always_negative_are_refused() {
    let one = || x(&[1]).sum(());
    let small = n(0..=4);
    let cases: Vec<(Result<LazyTensor, IrError>, &str)> = vec![
        (
            input("y", DType::F32, [2.into(), Dim::from(-3)]),
            "input y: the size of axis 1 is -3, which is negative",
        ),
        (input("y", DType::F32, [&small - 5]), "input y: the size of axis 0 is N - 5, which is negative"),
        (
            Ok(x(&[6]).reshape(&some([-2, -3].map(Dim::from)))),
            "reshape: the size of axis 0 is -2, which is negative",
        ),
        (
            Ok(x(&[6]).reshape(&[None, Some(Dim::from(-1))])),
            "reshape: the size of axis 1 is -1, which is negative",
        ),
        (
            Ok(x(&[6]).reshape(&[Some(&small - 10), None])),
            "reshape: the size of axis 0 is N - 10, which is negative",
        ),
        (
            Ok(one().broadcast_to(&[Dim::from(-2), Dim::from(3)])),
            "broadcast_to: the size of axis 0 is -2, which is negative",
        ),
        (
            Ok(x(&[1]).broadcast_to(&[3.into(), i64::MIN.into()])),
            "broadcast_to: the size of axis 1 is -9223372036854775808, which is negative",
        ),
        (
            Ok(one().broadcast_to(&[-&small - 1])),
            "broadcast_to: the size of axis 0 is -N - 1, which is negative",
        ),
        (
            Ok(x(&[6]).index([At::Slice { start: None, stop: Some(&small - 5), step: 1 }])),
            "index: position N - 5 on axis 0 is negative",
        ),
    ];
    for (tensor, want) in cases {
        assert_eq!(message(tensor), want);
    }
    assert_eq!(
        Dim::new("M", -1..=5).unwrap_err().to_string(),
        "bounds -1..=5 of M must satisfy 0 <= lo <= hi"
    );
}

/// The guards of a program, in order.
#[test]
fn sizes_that_may_be_negative_are_guarded() {
    let n = || Dim::new("N", ..).unwrap();
    let m = || Dim::new("M", ..).unwrap();
    let of = |shape: &[Dim]| input("x", DType::F32, shape.iter().cloned()).unwrap();
    let cases: Vec<(LazyTensor, &[&str])> = vec![
        (of(&[n() - 5]), &["0 <= N - 5 because of input x: N - 5 is the size of axis 0"]),
        (
            of(&[n()]).sum(()).broadcast_to(&[2.into(), n() - 5]),
            &["0 <= N - 5 because of broadcast_to: N - 5 is the size of axis 1"],
        ),
        (
            of(&[n()]).reshape(&[Some(n() - 10), None]),
            &[
                "0 <= N - 10 because of reshape: N - 10 is the size of axis 0",
                "N is a multiple of N - 10 because of reshape of N elements into groups of N - 10",
            ],
        ),
        (
            of(&[n()]).reshape(&some([n() - 3, 2.into()])),
            &[
                "0 <= N - 3 because of reshape: N - 3 is the size of axis 0",
                "N == 2*N - 6 because of reshape of [N] to [N - 3, 2]",
            ],
        ),
        // The quotient of polynomials is not the quotient of counts where N is 0.
        (
            of(&[n() * (m() - 3)]).reshape(&[Some(n()), None]),
            &[
                "0 <= M*N - 3*N because of input x: M*N - 3*N is the size of axis 0",
                "0 <= M - 3 because of reshape: M - 3 is the size of axis 1",
            ],
        ),
        // A size is guarded once, wherever it comes from.
        (
            of(&[n() - 1]).reshape(&some([n() - 1, 1.into()])).broadcast_to(&[n() - 1, 7.into()]),
            &["0 <= N - 1 because of input x: N - 1 is the size of axis 0"],
        ),
    ];
    for (tensor, want) in cases {
        let program = trace(&[], &[tensor]).unwrap();
        let guards: Vec<String> = program.guards.iter().map(ToString::to_string).collect();
        assert_eq!(guards, want);
        assert!(program.guards.iter().all(|g| g.location.file().ends_with("sizes.rs")));
    }
}

#[test]
fn sizes_that_are_never_negative_are_not_guarded() {
    let (n, m) = (n(3..=9), Dim::new("M", ..).unwrap());
    let of = |shape: &[Dim]| input("x", DType::F32, shape.iter().cloned()).unwrap();
    let part = At::Slice { start: Some(m.clone()), stop: Some(&m + 2), step: 1 };
    let cases = [
        of(&[0.into(), 1.into()]),
        of(&[&n - 3, &m * &n, m.floordiv(&2.into()), (&m - 4).max(&Dim::ZERO)]),
        of(&[]).broadcast_to(&[&n - 2, m.ceildiv(&n), m.modulo(&n)]),
        of(&[&n * 6]).reshape(&[Some(2.into()), None]),
        of(&[&m * 6]).reshape(&[Some(m.clone()), None]),
        of(&[&m * &n]).reshape(&some([n.clone(), m.clone()])),
        of(std::slice::from_ref(&m)).index([part]),
    ];
    for tensor in cases {
        let program = trace(&[], std::slice::from_ref(&tensor)).unwrap();
        assert_eq!(program.guards, [], "{tensor:?}");
    }
}

#[test]
fn ranks_have_a_limit() {
    let most = x(&[1; MAX_RANK]);
    assert_eq!((most.rank(), most.check()), (32, Ok(())));
    let more = [1; MAX_RANK + 1].map(|n: i64| Dim::from(n));
    let (left, right) = (x(&[1; MAX_RANK]), x(&[1; MAX_RANK]));
    let data = Tensor::zeros(DType::F32, [1; 40]).unwrap();
    let cases: Vec<(Result<LazyTensor, IrError>, &str, usize)> = vec![
        (input("y", DType::F32, more.clone()), "input y", 33),
        (input("y", DType::F32, vec![Dim::ONE; 9000]), "input y", 9000),
        (Ok(constant(&data)), "data", 40),
        (Ok(most.expand_dims(0)), "expand_dims", 33),
        (Ok(most.expand_dims(-1).expand_dims(0).exp() + 1), "expand_dims", 33),
        (Ok(most.index([At::NewAxis, At::Ellipsis, At::NewAxis])), "index", 34),
        (Ok(most.broadcast_to(&more)), "broadcast_to", 33),
        (Ok(most.reshape(&some(more))), "reshape", 33),
        (Ok(number(1.0).broadcast_to(&vec![Dim::ONE; 64]).sum(())), "broadcast_to", 64),
    ];
    for (tensor, what, rank) in cases {
        let want = format!("{what}: a tensor of rank {rank} is not supported; the greatest rank is 32");
        assert_eq!(message(tensor), want);
    }
    for tensor in [&left + &right, left.matmul(&right), left.sum(axis(3).keepdims()), left.transpose()] {
        assert_eq!((tensor.rank(), tensor.check()), (32, Ok(())));
    }
}
