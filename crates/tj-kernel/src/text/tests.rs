use expect_test::{Expect, expect};
use proptest::prelude::*;
use tj_ir::dim::Dim;
use tj_tensor::{DType, Scalar};

use super::*;
use crate::build::Builder;
use crate::ir::{BinOp, CmpOp, Gemm, Grid, Kernel, LoopKind, Matrix, UnOp};
use crate::sample::{SampleOptions, sample};

fn check(kernel: &Kernel, expected: Expect) {
    let text = kernel.to_string();
    expected.assert_eq(&text);
    assert_eq!(text.parse::<Kernel>().as_ref(), Ok(kernel));
}

#[test]
fn an_elementwise_kernel() {
    let (n, m) = (Dim::new("N", 0..=4096).unwrap(), Dim::new("M", ..).unwrap());
    let mut b = Builder::new("relu_add", Grid { extent: &n * &m, multiple: 64, cost: 4.into() });
    let x = b.buffer("x", DType::F32, &n * &m, Access::Read);
    let bias = b.buffer("the \"bias\"", DType::F32, m.clone(), Access::Read);
    let y = b.buffer("y", DType::F32, &n * &m, Access::Write);
    let scale = b.param(DType::F32);
    let ((lo, hi), m) = (b.task(), b.size(&m));
    let zero = b.constant(Scalar::F32(-0.0));
    b.for_loop(LoopKind::Lanes(32), lo, hi, |b, i| {
        let j = b.binary(BinOp::Mod, i, m);
        let (x, bias) = (b.load(x, i), b.load(bias, j));
        let sum = b.fma(x, scale, bias);
        let relu = b.binary(BinOp::Max, sum, zero);
        b.store(y, i, relu);
    });
    check(
        &b.finish(),
        expect![[r#"
            kernel relu_add(grid M*N cut 64 cost 4) {
              symbol N in 0..=4096
              buffer @0 x: f32[M*N] read
              buffer @1 "the \"bias\"": f32[M] read
              buffer @2 y: f32[M*N] write
              size #0 = M
              param #0: f32
              task %0..%1
              %0: i64 = task lo
              %1: i64 = task hi
              %2: f32 = param #0
              %3: i64 = size #0
              %4: f32 = const -0.0f32
              for lanes(32) %5 in %0..%1 {
                %6: i64 = mod %5, %3
                %7: f32 = load @0[%5]
                %8: f32 = load @1[%6]
                %9: f32 = fma %7, %2, %8
                %10: f32 = max %9, %4
                store @2[%5] = %10
              }
            }
        "#]],
    );
}

/// Everything a statement can be. The load in the branch stays there; the one in the loop leaves it.
#[test]
fn a_kernel_of_every_statement() {
    let k = Dim::from(&tj_ir::dim::Symbol::fresh(3, 1..=9).unwrap());
    let mut b = Builder::new("all", Grid { extent: 1.into(), multiple: 1, cost: k.floordiv(&2.into()) });
    let x = b.buffer("x", DType::F64, k.clone(), Access::Read);
    let w = b.buffer("w", DType::F64, 1.into(), Access::Write);
    let t = b.buffer("t", DType::F64, 1.into(), Access::Scratch);
    let (zero, one, size) = (b.int(0), b.int(1), b.size(&k));
    let nan = b.constant(Scalar::from_bits(DType::F64, 0xfff8_0000_0000_0001));
    let sums = b.declare_lanes(4, nan);
    let cursor = b.declare(zero);
    b.for_loop(LoopKind::Serial, zero, size, |b, _| {
        let first = b.load(x, zero);
        b.store(t, zero, first);
    });
    b.for_loop(LoopKind::Lanes(4), zero, size, |b, _| {
        let sum = b.get(sums);
        b.set(sums, sum);
    });
    let total = b.fold(sums, BinOp::Min);
    b.while_loop(
        |b| {
            let at = b.get(cursor);
            b.compare(CmpOp::Lt, at, size)
        },
        |b| b.set(cursor, size),
    );
    let large = b.compare(CmpOp::Gt, total, nan);
    let not = b.unary(UnOp::Not, large);
    let both = b.select(large, large, not);
    b.if_else(
        both,
        |b| {
            let second = b.load(x, one);
            b.store(w, zero, second);
        },
        |b| {
            let total = b.cast(total, DType::U8);
            let total = b.bitcast(total, DType::I8);
            let total = b.cast(total, DType::F64);
            b.store(w, zero, total);
        },
    );
    let matrix = |buffer| Matrix { buffer, offset: zero, row_stride: one, col_stride: size };
    b.gemm(Gemm { dtype: DType::F64, m: one, n: one, k: one, a: matrix(x), b: matrix(t), c: matrix(w) });
    check(
        &b.finish(),
        expect![[r#"
        kernel all(grid 1 cut 1 cost floordiv(s3, 2)) {
          symbol s3 in 1..=9
          buffer @0 x: f64[s3] read
          buffer @1 w: f64[1] write
          buffer @2 t: f64[1] scratch
          size #0 = s3
          task %0..%1
          %0: i64 = task lo
          %1: i64 = task hi
          %2: i64 = const 0i64
          %3: i64 = const 1i64
          %4: i64 = size #0
          %5: f64 = const -nan(7ff8000000000001)_f64
          var $0: f64 lanes(4) = %5
          var $1: i64 = %2
          %7: f64 = load @0[%2]
          for %6 in %2..%4 {
            store @2[%2] = %7
          }
          for lanes(4) %8 in %2..%4 {
            %9: f64 = get $0
            $0 = %9
          }
          %10: f64 = fold min $0
          while {
            %11: i64 = get $1
            %12: bool = lt %11, %4
          } holds %12 {
            $1 = %4
          }
          %13: bool = gt %10, %5
          %14: bool = not %13
          %15: bool = select %13, %13, %14
          %17: u8 = cast %10
          %18: i8 = bitcast %17
          %19: f64 = cast %18
          if %15 {
            %16: f64 = load @0[%3]
            store @1[%2] = %16
          } else {
            store @1[%2] = %19
          }
          gemm f64 (%3, %3, %3) @1[%2, %3, %4] = @0[%2, %3, %4] * @2[%2, %3, %4]
        }
    "#]],
    );
}

#[test]
fn words_are_spaced_freely_and_comments_skipped() {
    let text = "kernel\n\nk // a name
        ( grid  N + cut  cut 2 cost 1 ) { // now
        size #0 = N + 1 // one more
        task %0 .. %1 %0:i64=task lo %1 :i64= task hi%2: i64 = size #0
        if %3 { } %3: bool = lt %1,%0 }";
    let kernel: Kernel = text.parse().unwrap();
    assert_eq!(kernel.grid.extent, Dim::new("N", ..).unwrap() + Dim::new("cut", ..).unwrap());
    assert_eq!(kernel.body.len(), 5);
}

#[test]
fn errors_say_where_and_what() {
    let check = |text: &str, expected: &str| {
        assert_eq!(text.parse::<Kernel>().unwrap_err().to_string(), expected, "{text}");
    };
    let body =
        |body: &str| format!("kernel k(grid 1 cut 1 cost 1) {{\ntask %0..%0\n%0: i64 = task lo\n{body} }}");
    check("", "line 1, column 1: expected `kernel`, found the end");
    check("kernelk", "line 1, column 1: expected `kernel`, found `kernelk`");
    check("kernel 9", "line 1, column 8: expected a name, found `9`");
    check(
        "kernel k(grid 1 + cut 1 cost 1) {\n task %0..%0 %0: i64 = task lo }",
        "line 1, column 15: expected a size (cannot read size \"1 + \" at byte 4: expected a number, a name or (), found `1 + cut 1 cost 1) {`",
    );
    check("kernel k(grid 1 cut - cost", "line 1, column 21: expected a number of tasks, found `- cost`");
    check("kernel k(grid 1 cut 1 cost 1 {", "line 1, column 28: expected a size and then `) {`, found `1 {`");
    check("kernel k(grid 1 cut 1 cost 1) { buffer @1", "line 1, column 40: expected @0, found `@1`");
    check(
        "kernel k(grid 1 cut 1 cost 1) {\n  store",
        "line 2, column 3: expected symbol, buffer, size, param or task, found `store`",
    );
    check(
        "kernel k(grid 1 cut 1 cost 1) { symbol N in 5..=1",
        "line 1, column 40: expected good bounds (bounds 5..=1 of N must satisfy 0 <= lo <= hi), found `N in 5..=1`",
    );
    check(
        "kernel k(grid 1 cut 1 cost 1) { buffer @0 \"x",
        "line 1, column 43: expected a name that ends in `\"`, found `\"x`",
    );
    check(&body("é"), "line 4, column 1: expected a statement or `}`, found `é }`");
    check(&body("%1: i63 = neg %0"), "line 4, column 5: expected a type, found `i63 = neg %0 }`");
    check(&body("%1: i64 = negate %0"), "line 4, column 11: expected an operation, found `negate %0 }`");
    check(
        &body("%1: i64 = const 1"),
        "line 4, column 17: expected a constant with its type, like 2.5f32, found `1 }`",
    );
    check(
        &body("%1: i64 = neg %5"),
        "line 4, column 15: expected a definition of %5 somewhere, found `%5 }`",
    );
    check(
        &body("%2: i64 = neg %0"),
        "line 4, column 19: expected a definition of %1, because later ids are used, found the end",
    );
    check(&body("$0 = %0"), "line 4, column 1: expected a declaration of $0 somewhere, found `$0 = %0 }`");
    check(
        &body("%0: i32 = task lo"),
        "line 4, column 1: expected one definition for each value, found `%0: i32 = task lo }`",
    );
    check(&body("%1: i64 = add %0 %0"), "line 4, column 18: expected `,`, found `%0 }`");
    check(&body("} x"), "line 4, column 3: expected the end of the text, found `x }`");
    let deep = format!("{}{}", "if %0 {".repeat(101), "}".repeat(101));
    check(
        &body(&deep),
        "line 4, column 708: expected at most 100 nested blocks, found `}}}}}}}}}}}}}}}}}}}}`",
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn print_parse_print_is_the_identity(seed: u64) {
        let kernel = sample(seed, &SampleOptions::default()).in_place().kernel;
        let text = kernel.to_string();
        let parsed: Kernel = text.parse().unwrap();
        prop_assert_eq!(parsed.to_string(), text);
        prop_assert_eq!(parsed, kernel);
    }

    #[test]
    fn constants_keep_their_bits(dtype in prop::sample::select(&DType::ALL), bits: u128) {
        let mut b = Builder::new("k", Grid { extent: 1.into(), multiple: 1, cost: 1.into() });
        b.constant(Scalar::from_bits(dtype, bits));
        let kernel = b.finish();
        prop_assert_eq!(kernel.to_string().parse::<Kernel>().unwrap(), kernel);
    }

    #[test]
    fn parse_never_panics(seed in 0u64..50, cut: prop::sample::Index, with in "[ -~é\n]{0,3}") {
        let mut text = sample(seed, &SampleOptions::default()).kernel.to_string();
        let at = cut.index(text.len());
        text.replace_range(at..at + 1, &with);
        // What still parses may break any rule, which the verifier says without a panic either.
        if let Ok(kernel) = text.parse::<Kernel>() {
            let _ = crate::verify::verify(&kernel);
            let _ = kernel.to_string().parse::<Kernel>().map(|again| assert_eq!(again, kernel));
        }
    }
}
