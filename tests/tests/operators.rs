//! Every operator of the table, on awkward values of every dtype: the interpreters and both back ends agree on the bits.

use tensorjit::op::TABLE;
use tensorjit::{DType, LazyTensor, Op, Tensor, input};
use tj_tests::engines::{Call, Named, c_engines, engines, same_everywhere};

/// Values that some operator treats in a way of its own.
const AWKWARD: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -3.0,
    0.5,
    -2.5,
    0.1,
    7.75,
    -12.0,
    40.0,
    -100.0,
    1e-3,
    -1e-40,
    5e-324,
    65504.0,
    -8388609.0,
    1e30,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Every pair of the values that a dtype has.
fn pairs(dtype: DType) -> (Tensor, Tensor) {
    let n = AWKWARD.len();
    let of = |at: &dyn Fn(usize) -> usize| -> Tensor {
        let all: Tensor = (0..n * n).map(|k| AWKWARD[at(k)]).collect();
        all.cast(dtype).expect("floats are cast to every dtype that is not complex")
    };
    (of(&|k| k / n), of(&|k| k % n))
}

/// One of each kind; the tests of random programs and of operations try the rest.
fn chosen() -> Vec<Named> {
    let mut all = engines();
    all.extend(c_engines());
    all.retain(|(name, _)| ["kernel interpreter", "cranelift, 1 thread", "c, 1 thread"].contains(name));
    all
}

fn check(dtypes: &[DType]) {
    let engines = chosen();
    for &dtype in dtypes {
        let (a, b) = pairs(dtype);
        let of = |name| input(name, dtype, [(AWKWARD.len() * AWKWARD.len()).into()]).expect("a name");
        let (x, y) = (of("x"), of("y"));
        let mut defined: Vec<(Op, LazyTensor)> = Vec::new();
        for info in TABLE.iter().filter(|info| info.arity < 3) {
            let args = [&x, &y].map(Into::into).into_iter().take(info.arity);
            let result = LazyTensor::map(info.op, args);
            // What converts its arguments is tried on the dtype it converts them to.
            let work = info.op.dtypes(&[dtype; 2][..info.arity]).map(|(work, _)| work);
            if result.check().is_ok() && work == Some(dtype) {
                defined.push((info.op, result));
            }
        }
        assert!(defined.len() >= 15, "{dtype} has {} operators", defined.len());
        for some in defined.chunks(8) {
            let outputs: Vec<LazyTensor> = some.iter().map(|(_, result)| result.clone()).collect();
            let call = Call { bindings: Vec::new(), inputs: vec![("x", &a), ("y", &b)] };
            let names: Vec<_> = some.iter().map(|(op, _)| op.name()).collect();
            same_everywhere(&outputs, &[x.clone(), y.clone()], &[call], &engines)
                .unwrap_or_else(|problem| panic!("{names:?} on {dtype}: {problem}"));
        }
    }
}

#[test]
fn on_singles() {
    check(&[DType::F32]);
}

#[test]
fn on_doubles() {
    check(&[DType::F64]);
}

#[test]
fn on_halves() {
    check(&[DType::F16, DType::BF16]);
}

#[test]
fn on_integers_and_truth_values() {
    check(&[DType::Bool, DType::I8, DType::U16, DType::I32, DType::I64, DType::U64]);
}
