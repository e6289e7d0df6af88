//! Every law of the table, tried on awkward values.

use tj_tensor::{DType, Scalar};

use super::{Domain, Op, TABLE};
use crate::expand::expand;
use crate::prim::Evaluator;

fn samples(dtype: DType) -> Vec<Scalar> {
    let mut all: Vec<Scalar> =
        [-3.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 7.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
            .iter()
            .map(|&x| Scalar::F64(x).cast(dtype))
            .collect();
    all.extend([Scalar::lowest(dtype), Scalar::greatest(dtype)].into_iter().flatten());
    all
}

fn apply(op: Op, args: &[Scalar]) -> Scalar {
    expand(&mut Evaluator, op, args)
}

fn same(a: Scalar, b: Scalar) -> bool {
    a == b || (a.to_f64().is_nan() && b.to_f64().is_nan())
}

#[test]
fn rows_are_in_order_and_found() {
    assert!(TABLE.is_sorted_by(|a, b| a.op < b.op));
    for info in TABLE {
        assert_eq!((Op::by_name(info.name), info.op.info()), (Some(info.op), info));
    }
    for to in DType::ALL {
        assert_eq!(Op::Cast(to).info().op, Op::Cast(to));
    }
}

/// Every law in the table is tried on all pairs and triples of awkward values.
#[test]
fn laws_hold_where_the_table_says() {
    for dtype in [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64] {
        for info in TABLE.iter().filter(|info| info.arity == 2) {
            if info.op.dtypes(&[dtype, dtype]).is_none_or(|(work, _)| work != dtype) {
                continue;
            }
            let holds = |domain: Domain| domain == Domain::Always || !dtype.is_float();
            let (f, algebra, values) = (info.op, info.algebra, samples(dtype));
            for &a in &values {
                if let Some(e) = algebra.identity {
                    assert!(same(apply(f, &[e.scalar(dtype), a]), a), "{} identity {a}", info.name);
                }
                if let Some(e) = algebra.right_identity {
                    assert!(same(apply(f, &[a, e.scalar(dtype)]), a), "{} right identity {a}", info.name);
                }
                if algebra.idempotent {
                    assert!(same(apply(f, &[a, a]), a), "{} idempotent {a}", info.name);
                }
                for law in algebra.annihilators.iter().filter(|law| holds(law.holds)) {
                    let mut args = [a, a];
                    args[law.position] = law.value.scalar(dtype);
                    assert_eq!(apply(f, &args), law.result.scalar(dtype), "{} annihilates {a}", info.name);
                }
                for &b in &values {
                    if algebra.commutative.is_some_and(holds) {
                        assert!(same(apply(f, &[a, b]), apply(f, &[b, a])), "{} commutes {a} {b}", info.name);
                    }
                    for &c in &values {
                        if algebra.associative.is_some_and(holds) {
                            let left = apply(f, &[apply(f, &[a, b]), c]);
                            let right = apply(f, &[a, apply(f, &[b, c])]);
                            assert!(same(left, right), "{} associates {a} {b} {c}", info.name);
                        }
                        for &(g, domain) in algebra.distributes_over {
                            if !holds(domain) || g.dtypes(&[dtype, dtype]).is_none() {
                                continue;
                            }
                            let left = apply(f, &[a, apply(g, &[b, c])]);
                            let right = apply(g, &[apply(f, &[a, b]), apply(f, &[a, c])]);
                            assert!(same(left, right), "{} over {} {a} {b} {c}", info.name, g.name());
                        }
                    }
                }
            }
        }
    }
}
