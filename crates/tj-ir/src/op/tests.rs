//! Every law of the table, tried on awkward values.

use tj_tensor::{DType, Scalar};

use super::laws::{Trial, awkward, broken, same};
use super::{Domain, Op, TABLE};

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
        let mut values = awkward(dtype);
        values.extend([Scalar::lowest(dtype), Scalar::greatest(dtype)].into_iter().flatten());
        let holds = |domain: Domain| domain == Domain::Always || !dtype.is_float();
        let trial = Trial { dtype, values: &values, holds: &holds, same: &same };
        for info in TABLE.iter().filter(|info| info.arity == 2) {
            if info.op.dtypes(&[dtype, dtype]).is_some_and(|(work, _)| work == dtype) {
                assert_eq!(broken(info.op, &info.algebra, &trial), None, "{} on {dtype}", info.name);
            }
        }
    }
}
