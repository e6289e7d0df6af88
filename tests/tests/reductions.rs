//! Reductions by every operator of two arguments, on every engine: rows, columns and whole arrays, short and in several
//! blocks. The sums of a tree are those of an operator that starts from its first element.

use tensorjit::op::{OpInfo, TABLE};
use tensorjit::{DType, Dim, LazyTensor, Op, ReduceOp, Tensor, input};
use tj_tests::engines::{Call, Named, c_engines, engines, same_everywhere};

/// The interpreter of kernels, and code that cuts blocks into tasks.
const FAST: &[&str] = &["kernel interpreter", "cranelift, 2 threads"];

fn chosen(some: &[&str]) -> Vec<Named> {
    let mut all = engines();
    all.extend(c_engines());
    all.retain(|(name, _)| some.contains(name));
    all
}

/// Numbers of both signs with zeros, few of them large; a NaN and an infinity here and there.
fn numbers(dtype: DType, shape: &[usize], special: bool) -> Tensor {
    let count: usize = shape.iter().product();
    let value = |k: usize| match (k.wrapping_mul(2_654_435_761) >> 7) % 101 {
        0 if special && dtype.is_float() => f64::NAN,
        1 if special && dtype.is_float() => f64::NEG_INFINITY,
        r if dtype.is_float() => (r as f64 - 40.0) / 16.0,
        r => r as f64 - 40.0,
    };
    let all: Tensor = (0..count).map(value).collect();
    let all = all.cast(dtype).expect("floats are cast to every dtype that is not complex");
    all.reshape(shape).expect("as many elements")
}

/// All reductions that a dtype has, some at a time, since a program of all is long.
fn check(dtype: DType, sizes: &[(usize, usize)], takes: impl Fn(&OpInfo) -> bool, engines: &[&str]) {
    let chosen = chosen(engines);
    let [n, m] = ["N", "M"].map(|name| Dim::new(name, ..).expect("a name"));
    let x = input("x", dtype, [n, m]).expect("a name");
    let mut defined: Vec<(&str, Vec<LazyTensor>)> = Vec::new();
    for op in TABLE.iter().filter(|info| takes(info)).filter_map(|info| ReduceOp::of(info.op)) {
        let mut results = vec![x.reduce(op, -1), x.reduce(op, 0), x.flatten().reduce(op, 0)];
        results.retain(|result| result.check().is_ok());
        if !results.is_empty() {
            defined.push((op.name(), results));
        }
    }
    assert!(defined.len() >= 2, "{dtype} has {} reductions", defined.len());
    let data: Vec<Tensor> = (0..2)
        .flat_map(|special| sizes.iter().map(move |&(n, m)| numbers(dtype, &[n, m], special == 1)))
        .collect();
    let calls: Vec<Call<'_>> =
        data.iter().map(|data| Call { bindings: Vec::new(), inputs: vec![("x", data)] }).collect();
    for some in defined.chunks(4) {
        let names: Vec<&str> = some.iter().map(|(name, _)| *name).collect();
        let outputs: Vec<LazyTensor> = some.iter().flat_map(|(_, results)| results.clone()).collect();
        same_everywhere(&outputs, std::slice::from_ref(&x), &calls, &chosen)
            .unwrap_or_else(|problem| panic!("{names:?} on {dtype}: {problem}"));
    }
}

const SHORT: &[(usize, usize)] = &[(1, 1), (0, 3), (2, 33), (33, 2)];

/// Operators with a short body; powers and hashes are long programs, tried elsewhere.
fn cheap(info: &OpInfo) -> bool {
    info.cost < 40
}

#[test]
fn of_floats() {
    check(DType::F64, SHORT, cheap, FAST);
    check(DType::F32, SHORT, cheap, FAST);
}

#[test]
fn of_halves() {
    for dtype in [DType::F16, DType::BF16] {
        check(dtype, SHORT, |info| info.cost < 6, FAST);
    }
}

#[test]
fn of_integers() {
    for dtype in [DType::I8, DType::U16, DType::I32, DType::U64] {
        check(dtype, SHORT, |info| info.cost < 4, FAST);
    }
}

#[test]
fn of_truth_values() {
    check(DType::Bool, SHORT, cheap, FAST);
}

/// Several blocks of 4096, the last with fewer elements than lanes; rows and columns.
#[test]
fn in_blocks() {
    let some = |info: &OpInfo| matches!(info.op, Op::Fmax | Op::Sub | Op::Xor);
    for dtype in [DType::F64, DType::I32] {
        check(dtype, &[(8200, 1), (1, 4101)], some, FAST);
    }
}

#[test]
fn through_c() {
    let some = |info: &OpInfo| matches!(info.op, Op::Fmin | Op::Hypot | Op::Div);
    check(DType::F32, SHORT, some, &["c, unfused, 3 threads"]);
}

/// Random bits are made of a key and a counter: two of them are no third.
#[test]
fn random_bits_combine_nothing() {
    let x = input("x", DType::I64, [Dim::from(4)]).expect("an input is well formed");
    for sum in [x.reduce(Op::RandomBits, ()), x.reduce(ReduceOp::By(Op::RandomBits), 0)] {
        let refused = sum.check().expect_err("it is refused").to_string();
        assert!(refused.contains("random_bits: it does not combine two values of one kind"), "{refused}");
    }
    assert_eq!(ReduceOp::by_name("random_bits"), None);
}
