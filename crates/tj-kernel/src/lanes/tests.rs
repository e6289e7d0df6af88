use tj_tensor::DType;

use super::{Form, Lanes, Reason, Shape, Stride, Width, loops};
use crate::ir::{Kernel, Value, Var};

/// The lanes loop over %10 of a kernel with buffers @0 to @6 to read, of the types below, and @7 to @13 to write.
/// `before` may declare variables.
fn lanes(width: u32, before: &str, body: &str) -> (Kernel, Lanes) {
    let types = ["f32", "f64", "i32", "i64", "bool", "i8", "u8"];
    let buffers = |access: &str, first: usize| -> String {
        let buffer =
            |(i, t): (usize, &&str)| format!("buffer @{} {access}_{t}: {t}[N] {access}\n", first + i);
        types.iter().enumerate().map(buffer).collect()
    };
    let text = format!(
        "kernel k(grid N cut 1 cost 1) {{
           {} {}
           size #0 = N
           task %0..%1
           %0: i64 = task lo
           %1: i64 = task hi
           %2: i64 = size #0
           %3: i64 = const 2i64
           %4: f32 = const 0.0f32
           %5: f64 = const 0.0f64
           %6: i8 = const 0i8
           %7: bool = const true
           %8: i64 = const 8i64
           %9: i64 = const 9i64
           {before}
           for lanes({width}) %10 in %0..%1 {{ {body} }}
         }}",
        buffers("read", 0),
        buffers("write", types.len()),
    );
    let kernel: Kernel = text.parse().unwrap_or_else(|e| panic!("{e} in\n{text}"));
    let lanes = loops(&kernel).remove(0);
    (kernel, lanes)
}

fn affine(factor: i64, by: Option<u32>) -> Shape {
    Shape::Affine(Stride { factor, by: by.map(Value) })
}

#[test]
fn shapes() {
    for (body, expected) in [
        ("%11: i64 = add %10, %2", affine(1, None)),
        ("%11: i64 = sub %2, %10", affine(-1, None)),
        ("%11: i64 = mul %10, %3", affine(2, None)),
        ("%11: i64 = mul %2, %10", affine(1, Some(2))),
        ("%12: i64 = mul %10, %2 %11: i64 = mul %12, %3", affine(2, Some(2))),
        ("%12: i64 = mul %10, %2 %11: i64 = add %12, %12", affine(2, Some(2))),
        ("%12: i64 = mul %10, %2 %11: i64 = add %12, %10", Shape::Varying),
        ("%12: i64 = mul %10, %2 %11: i64 = mul %12, %2", Shape::Varying),
        ("%11: i64 = sub %10, %10", Shape::Uniform),
        ("%11: i64 = mul %10, %10", Shape::Varying),
        ("%11: i64 = floordiv %10, %3", Shape::Varying),
        ("%11: i64 = mul %2, %3", Shape::Uniform),
        ("%11: f32 = load @0[%10]", Shape::Varying),
        ("%11: f32 = load @0[%2]", Shape::Uniform),
        ("%11: f32 = cast %10", Shape::Varying),
        ("%12: bool = lt %2, %3 %11: i64 = select %12, %10, %10", affine(1, None)),
        ("%12: i64 = add %10, %3 %13: bool = lt %10, %3 %11: i64 = select %13, %10, %12", Shape::Varying),
    ] {
        let (_, lanes) = lanes(32, "", body);
        assert_eq!(lanes.shape(Value(11)), expected, "{body}");
    }
}

#[test]
fn shapes_of_variables_follow_all_assignments() {
    for (set, expected) in [
        ("$0 = %10", affine(1, None)),
        ("%11: i64 = get $0 %12: i64 = add %11, %2 $0 = %12", affine(1, None)),
        ("%11: i64 = get $0 %12: i64 = add %11, %10 $0 = %12", Shape::Varying),
        // The first assignment follows the second one through the loop.
        ("$1 = %3 for %11 in %0..%2 { %12: i64 = get $1 $0 = %12 $1 = %10 }", Shape::Varying),
    ] {
        let (_, lanes) = lanes(32, "", &format!("var $0: i64 = %10 var $1: i64 = %3 {set}"));
        assert_eq!(lanes.var_shape(Var(0)), expected, "{set}");
    }
}

#[test]
fn widths_and_reasons() {
    let add = |t: &str, i: usize| {
        format!("%11: {t} = load @{i}[%10] %12: {t} = add %11, %11 store @{}[%10] = %12", i + 7)
    };
    for (before, body, expected) in [
        ("", add("f32", 0).as_str(), Ok(Width::W32)),
        ("", &add("f64", 1), Ok(Width::W64)),
        ("", &add("i32", 2), Ok(Width::W32)),
        ("", &add("i64", 3), Ok(Width::W64)),
        ("", &add("i8", 5), Ok(Width::W8)),
        // Bools alone are bytes; beside other types they take their width.
        ("", "%11: bool = load @4[%10] %12: bool = not %11 store @11[%10] = %12", Ok(Width::W8)),
        // Two bytes are not worth a vector, four are.
        ("", "%11: f64 = load @1[%10] %12: bool = lt %11, %11 store @11[%10] = %12", Ok(Width::W32)),
        // Two types: the narrower.
        ("", "%11: f32 = load @0[%10] %12: f64 = cast %11 store @8[%10] = %12", Ok(Width::W32)),
        // Addresses are no data.
        (
            "",
            "%11: i32 = load @2[%10] %12: i64 = cast %11 %13: f64 = load @1[%12] %14: f64 = add %13, %13
             %15: f64 = mul %14, %14 store @8[%10] = %15",
            Ok(Width::W64),
        ),
        (
            "",
            "%11: i64 = load @3[%10] %12: i64 = floordiv %11, %10 store @10[%10] = %12",
            Err(Reason::NoGain),
        ),
        ("", "store @10[%10] = %10", Err(Reason::NoGain)),
        (
            "",
            "%11: f32 = load @0[%10] %12: bool = lt %11, %11 if %12 { store @7[%10] = %11 } else {}",
            Err(Reason::Control(Value(12))),
        ),
        ("", "for %11 in %0..%10 { store @10[%10] = %11 }", Err(Reason::Control(Value(10)))),
        ("var $0: i64 = %3", "$0 = %10", Err(Reason::Shared(Var(0)))),
        (
            "",
            "var $0: f32 lanes(6) = %4 %11: f32 = load @0[%10] store @7[%10] = %11",
            Err(Reason::Whole("a lane variable of its own")),
        ),
    ] {
        let (_, lanes) = lanes(32, before, body);
        assert_eq!(lanes.width, expected, "{body}");
    }
}

#[test]
fn lanes_fill_vectors() {
    let sum = |t: &str, i: usize| {
        format!(
            "%11: {t} = load @{i}[%10] %12: {t} = get $0 %13: {t} = add %12, %11 %14: {t} = add %13, %13
             $0 = %14"
        )
    };
    for (width, t, buffer, expected) in [
        (32, "f32", 0, Ok(Width::W32)),
        (2, "f32", 0, Err(Reason::LaneCount(2))),
        (2, "f64", 1, Ok(Width::W64)),
        (6, "f64", 1, Ok(Width::W64)),
        (3, "f64", 1, Err(Reason::LaneCount(3))),
        (8, "i8", 5, Err(Reason::LaneCount(8))),
    ] {
        let zero = ["f32", "f64", "i8"].iter().position(|&z| z == t).expect("it is one of them") + 4;
        let (_, lanes) = lanes(width, &format!("var $0: {t} lanes({width}) = %{zero}"), &sum(t, buffer));
        assert_eq!(lanes.width, expected, "{t}[{width}]");
        assert_eq!(lanes.lane_vars, [Var(0)]);
    }
}

#[test]
fn forms() {
    let (_, lanes) = lanes(
        32,
        "",
        "%11: f32 = load @0[%10] %12: i64 = load @3[%10] %13: i64 = floordiv %12, %10 %14: f32 = load @0[%13]
         %15: f32 = add %11, %14 %16: f32 = mul %15, %15 %17: bool = lt %16, %11 %18: f32 = select %17, %16, %11
         %19: i32 = cast %18 %20: i32 = floordiv %19, %19 %21: f32 = cast %20 %22: f32 = sub %21, %18
         %23: f32 = sub %22, %18 %24: f32 = sub %23, %18 store @7[%10] = %24",
    );
    assert_eq!(lanes.width, Ok(Width::W32));
    for each in [12, 13, 20] {
        assert_eq!(lanes.form(Value(each)), Form::Each, "%{each}");
    }
    for vector in [11, 14, 15, 16, 17, 18, 19, 21, 22] {
        assert_eq!(lanes.form(Value(vector)), Form::Vector, "%{vector}");
    }
}

#[test]
fn vectors_of_each_type() {
    assert_eq!(Width::W32.vectors(DType::F32), Some(1));
    assert_eq!(Width::W32.vectors(DType::F64), Some(2));
    assert_eq!(Width::W8.vectors(DType::I32), Some(4));
    assert_eq!(Width::W8.vectors(DType::F64), None);
    assert_eq!(Width::W64.vectors(DType::F32), None);
    assert_eq!(Width::W64.vectors(DType::Bool), Some(1));
    assert_eq!(Width::W64.vectors(DType::C64), None);
}
