use tj_tensor::{DType, Scalar};

use super::*;

/// One line an operation: `name operands = result`.
fn check(table: &str) {
    for line in table.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (call, result) = line.split_once(" = ").unwrap();
        let (name, operands) = call.split_once(' ').unwrap();
        let operands: Vec<Scalar> = operands.split_whitespace().map(|t| t.parse().unwrap()).collect();
        let expected: Scalar = result.parse().unwrap();
        let found = apply(name, &operands, expected.dtype());
        let found = Scalar::from_bits(expected.dtype(), found as u128);
        let nan = |s: Scalar| s.to_f64().is_nan();
        assert!(found == expected || (nan(found) && nan(expected)), "{line}, found {found}");
    }
}

fn apply(name: &str, operands: &[Scalar], result: DType) -> u64 {
    let bits: Vec<u64> = operands.iter().map(|s| s.bits() as u64).collect();
    let dtype = operands[0].dtype();
    match *bits {
        [a] if name == "cast" => cast(dtype, result).unwrap()(a),
        [a] => unary(UnOp::ALL.into_iter().find(|op| op.name() == name).unwrap(), dtype).unwrap()(a),
        [a, b] => match BinOp::ALL.into_iter().find(|op| op.name() == name) {
            Some(op) => binary(op, dtype).unwrap()(a, b),
            None => {
                compare(CmpOp::ALL.into_iter().find(|op| op.name() == name).unwrap(), dtype).unwrap()(a, b)
            }
        },
        [a, b, c] => fma(dtype).unwrap()(a, b, c),
        _ => panic!("{name} of {operands:?}"),
    }
}

#[test]
fn integers_wrap_and_never_trap() {
    check(
        "add 127i8 1i8 = -128i8
         sub 0u32 1u32 = 4294967295u32
         mul 9223372036854775807i64 2i64 = -2i64
         neg -128i8 = -128i8
         neg 1u16 = 65535u16
         abs -32768i16 = -32768i16
         abs -5i64 = 5i64
         abs 200u8 = 200u8
         not 0u8 = 255u8
         not -1i32 = 0i32
         floordiv 7i32 2i32 = 3i32
         floordiv -7i32 2i32 = -4i32
         floordiv 7i32 -2i32 = -4i32
         floordiv -7i32 -2i32 = 3i32
         floordiv -6i32 2i32 = -3i32
         floordiv 5i32 0i32 = 0i32
         floordiv -9223372036854775808i64 -1i64 = -9223372036854775808i64
         floordiv 255u8 2u8 = 127u8
         mod 7i32 3i32 = 1i32
         mod -7i32 3i32 = 2i32
         mod 7i32 -3i32 = -2i32
         mod -7i32 -3i32 = -1i32
         mod -6i32 3i32 = 0i32
         mod 5u64 0u64 = 0u64
         mod -9223372036854775808i64 -1i64 = 0i64
         max -1i8 1i8 = 1i8
         max 255u8 1u8 = 255u8
         min -1i64 1i64 = -1i64
         and 12i32 10i32 = 8i32
         or 12i32 10i32 = 14i32
         xor -1i16 1i16 = -2i16",
    );
}

#[test]
fn shifts_past_the_width_give_zero_or_the_sign() {
    check(
        "shl 1i32 31i32 = -2147483648i32
         shl 1i32 32i32 = 0i32
         shl 1i32 -1i32 = 0i32
         shl 3u8 7u8 = 128u8
         shl 1u8 8u8 = 0u8
         sar -8i32 1i32 = -4i32
         sar -8i32 40i32 = -1i32
         sar -8i32 -1i32 = -1i32
         sar 8i8 9i8 = 0i8
         shr -1i32 28i32 = 15i32
         shr -1i32 32i32 = 0i32
         shr -1i64 -1i64 = 0i64
         shr 255u8 4u8 = 15u8",
    );
}

#[test]
fn floats_follow_ieee() {
    check(
        "add 0.1f64 0.2f64 = 0.30000000000000004f64
         sub inf_f32 inf_f32 = nan_f32
         mul 0.0f32 inf_f32 = nan_f32
         mul 1e-30f32 1e-15f32 = 1e-45f32
         div 1.0f32 0.0f32 = inf_f32
         div -1.0f64 0.0f64 = -inf_f64
         div 0.0f64 0.0f64 = nan_f64
         rem 7.5f64 -2.0f64 = 1.5f64
         rem -7.5f32 2.0f32 = -1.5f32
         rem -6.0f32 3.0f32 = -0.0f32
         rem 1e300f64 7.0f64 = 1.0f64
         rem 1.0f32 inf_f32 = 1.0f32
         rem inf_f64 1.0f64 = nan_f64
         rem 1.0f64 0.0f64 = nan_f64
         sqrt 2.0f32 = 1.4142135f32
         sqrt -0.0f64 = -0.0f64
         sqrt -1.0f64 = nan_f64
         floor -0.5f32 = -1.0f32
         floor -0.0f32 = -0.0f32
         floor 1e30f64 = 1e30f64
         neg 0.0f32 = -0.0f32
         abs -inf_f64 = inf_f64
         max 0.0f32 -0.0f32 = 0.0f32
         max -0.0f32 0.0f32 = 0.0f32
         min 0.0f64 -0.0f64 = -0.0f64
         min -0.0f64 0.0f64 = -0.0f64
         max nan_f32 1.0f32 = nan_f32
         max 1.0f32 nan_f32 = nan_f32
         min nan_f64 -inf_f64 = nan_f64
         min 1.0f64 nan_f64 = nan_f64
         max -inf_f32 -1.0f32 = -1.0f32
         min inf_f32 -1.0f32 = -1.0f32
         fma 1.0000001f32 1.0000001f32 -1.0f32 = 2.3841858e-7f32
         fma 134217729.0f64 134217729.0f64 -18014398777917440.0f64 = 1.0f64
         fma -1.0f64 0.0f64 0.0f64 = 0.0f64
         fma inf_f64 0.0f64 1.0f64 = nan_f64",
    );
}

#[test]
fn sign_operations_act_on_the_bits_of_nan() {
    for (op, from, to) in [(UnOp::Neg, 0x7fc0_0001, 0xffc0_0001u64), (UnOp::Abs, 0xff80_0001, 0x7f80_0001)] {
        assert_eq!(unary(op, DType::F32).unwrap()(from), to);
    }
}

#[test]
fn comparisons() {
    check(
        "eq 0.0f32 -0.0f32 = true
         eq nan_f32 nan_f32 = false
         ne nan_f64 nan_f64 = true
         ne 1.0f64 1.0f64 = false
         lt nan_f32 1.0f32 = false
         le 1.0f32 nan_f32 = false
         gt inf_f64 1.0f64 = true
         ge nan_f64 nan_f64 = false
         lt -1i8 1i8 = true
         lt 255u8 1u8 = false
         ge -1i64 -1i64 = true
         le 2u64 18446744073709551615u64 = true
         gt true false = true
         eq false false = true",
    );
}

#[test]
fn casts_are_total() {
    check(
        "cast 300i32 = 44u8
         cast -1i8 = 255u8
         cast -1i8 = 18446744073709551615u64
         cast 255u8 = -1i8
         cast 4294967295u32 = 4294967295i64
         cast 1e10f32 = 2147483647i32
         cast -1e10f64 = -2147483648i32
         cast -1.5f32 = 0u8
         cast -1.5f32 = -1i8
         cast nan_f32 = 0i64
         cast nan_f32 = true
         cast -0.0f32 = false
         cast 256i32 = true
         cast true = 1.0f64
         cast 16777217i32 = 16777216.0f32
         cast 18446744073709551615u64 = 18446744073709552000.0f64
         cast 1e300f64 = inf_f32
         cast 0.1f64 = 0.1f32
         cast 65520.0f32 = inf_f16
         cast 1.5f16 = 1.5f32
         cast 1.00390625f32 = 1.0bf16",
    );
}

#[test]
fn bool_is_one_bit() {
    check(
        "not true = false
         not false = true
         and true false = false
         or true false = true
         xor true true = false",
    );
}

/// The table of the module's documentation, counted: how many types each operation is defined on.
#[test]
fn every_operation_is_defined_on_its_types() {
    let count = |defined: &dyn Fn(DType) -> bool| DType::ALL.into_iter().filter(|&d| defined(d)).count();
    let unaries = UnOp::ALL.map(|op| (op.name(), count(&|d| unary(op, d).is_some())));
    assert_eq!(unaries, [("neg", 10), ("abs", 10), ("sqrt", 2), ("floor", 2), ("not", 9), ("ctz", 8)]);
    let binaries = BinOp::ALL.map(|op| (op.name(), count(&|d| binary(op, d).is_some())));
    let expected = [
        ("add", 10),
        ("sub", 10),
        ("mul", 10),
        ("div", 2),
        ("floordiv", 8),
        ("mod", 8),
        ("rem", 2),
        ("max", 10),
        ("min", 10),
        ("and", 9),
        ("or", 9),
        ("xor", 9),
        ("shl", 8),
        ("sar", 4),
        ("shr", 8),
    ];
    assert_eq!(binaries, expected);
    assert_eq!(count(&|d| compare(CmpOp::Lt, d).is_some()), 11);
    assert_eq!(count(&|d| cast(DType::BF16, d).is_some()), 13);
    assert_eq!(count(&|d| can_bitcast(DType::U8, d)), 2);
    assert_eq!(count(&|d| can_bitcast(DType::Bool, d)), 3);
}
