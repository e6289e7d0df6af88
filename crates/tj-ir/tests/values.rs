//! What operators give, against NumPy 2.4: one line a value in `values.txt`, `name arguments = result`. Lines about negative
//! powers of integers, which NumPy refuses, and about shifts past the width are ours.

use tj_ir::Op;
use tj_ir::expand::expand;
use tj_ir::prim::Evaluator;
use tj_tensor::Scalar;

#[test]
fn operators_give_what_numpy_gives() {
    let mut wrong = Vec::new();
    for line in include_str!("values.txt").lines() {
        let (call, result) = line.split_once(" = ").unwrap();
        let (name, args) = call.split_once(' ').unwrap();
        let args: Vec<Scalar> = args.split(' ').map(|arg| arg.parse().unwrap()).collect();
        let expected: Scalar = result.parse().unwrap();
        let op = Op::by_name(name).unwrap();
        let dtypes: Vec<_> = args.iter().map(|arg| arg.dtype()).collect();
        assert_eq!(op.dtypes(&dtypes), Some((dtypes[0], expected.dtype())), "{line}");
        let found = expand(&mut Evaluator, op, &args);
        let both_nan = found.to_f64().is_nan() && expected.to_f64().is_nan();
        if found.dtype() != expected.dtype() || !(found.bits() == expected.bits() || both_nan) {
            wrong.push(format!("{line}, not {found}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
