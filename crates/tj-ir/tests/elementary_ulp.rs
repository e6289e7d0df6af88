//! How far the elementary functions are from the truth, and what they cost.
//!
//! An error is counted in units in the last place of the exact result; infinity counts as the first
//! value that does not fit. The bounds were found in optimised builds on many more inputs (`examples/elementary_ulp.rs`
//! repeats that), and are asserted here on samples that a debug build gets through in seconds.

#[path = "elementary_ulp/measure.rs"]
mod measure;

use measure::{TABLE, TABLE2};
use tj_ir::elementary::{Arith, Elementary, Elementary2, Width, eval_f32, eval_f64, eval2_f32, eval2_f64};

#[test]
fn the_tables_have_every_function() {
    let functions: Vec<_> = TABLE.iter().map(|row| row.0).collect();
    assert_eq!(functions, Elementary::ALL);
    let functions: Vec<_> = TABLE2.iter().map(|row| row.0).collect();
    assert_eq!(functions, Elementary2::ALL);
}

/// A 30000th of an ulp of an `f64`.
#[test]
fn references_are_exact_enough() {
    let (difference, at) = measure::worst_reference();
    assert!(difference <= 2.0_f64.powi(-68), "2^{} at {at}", difference.log2());
}

#[test]
fn f32_errors_are_bounded() {
    let mut wrong = Vec::new();
    let mut check = |name: &str, (error, at): measure::Worst, bound| {
        if error > bound {
            wrong.push(format!("{name}({at:?}) is {error} ulp off"));
        }
    };
    for &(function, bound, ..) in TABLE {
        // A prime stride visits every residue of every low bit field.
        check(function.name(), measure::worst32(function, 99_991), bound);
    }
    for &(function, bound, ..) in TABLE2 {
        check(function.name(), measure::worst32_of_pairs(function, 20_000), bound);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn f64_errors_are_bounded() {
    let mut wrong = Vec::new();
    let mut check = |name: &str, (error, at): measure::Worst, bound| {
        if error > bound {
            wrong.push(format!("{name}({at:?}) is {error} ulp off"));
        }
    };
    for &(function, _, bound, ..) in TABLE {
        check(function.name(), measure::worst64(function, 5_000), bound);
    }
    for &(function, _, bound, ..) in TABLE2 {
        check(function.name(), measure::worst64_of_pairs(function, 5_000), bound);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Input and result, for both widths; `f64` values that a width lacks are rounded to it.
const SPECIAL: &[(Elementary, &[(f64, f64)])] = &[
    (
        Elementary::Exp,
        &[(NAN, NAN), (INF, INF), (-INF, 0.0), (0.0, 1.0), (-0.0, 1.0), (1e4, INF), (-1e4, 0.0)],
    ),
    (
        Elementary::Exp2,
        &[
            (NAN, NAN),
            (INF, INF),
            (-INF, 0.0),
            (0.0, 1.0),
            (-0.0, 1.0),
            (3.0, 8.0),
            (-149.0, 1.401298464324817e-45),
        ],
    ),
    (
        Elementary::Expm1,
        &[(NAN, NAN), (INF, INF), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0), (1e4, INF), (-1e4, -1.0)],
    ),
    (
        Elementary::Log,
        &[(NAN, NAN), (INF, INF), (-INF, NAN), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (1.0, 0.0)],
    ),
    (
        Elementary::Log2,
        &[(NAN, NAN), (INF, INF), (-INF, NAN), (0.0, -INF), (-0.0, -INF), (-1e-40, NAN), (8.0, 3.0)],
    ),
    (
        Elementary::Log10,
        &[
            (NAN, NAN),
            (INF, INF),
            (-INF, NAN),
            (0.0, -INF),
            (-0.0, -INF),
            (-1.0, NAN),
            (1.0, 0.0),
            (1000.0, 3.0),
        ],
    ),
    (
        Elementary::Log1p,
        &[
            (NAN, NAN),
            (INF, INF),
            (-INF, NAN),
            (0.0, 0.0),
            (-0.0, -0.0),
            (-1.0, -INF),
            (-1.5, NAN),
            (1e-40, 1e-40),
        ],
    ),
    (Elementary::Sin, &[(NAN, NAN), (INF, NAN), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0), (-1e-40, -1e-40)]),
    (Elementary::Cos, &[(NAN, NAN), (INF, NAN), (-INF, NAN), (0.0, 1.0), (-0.0, 1.0), (1e-40, 1.0)]),
    (Elementary::Tanh, &[(NAN, NAN), (INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0), (-1e-40, -1e-40)]),
    (Elementary::Sigmoid, &[(NAN, NAN), (INF, 1.0), (-INF, 0.0), (0.0, 0.5), (-0.0, 0.5), (40.0, 1.0)]),
    (
        Elementary::Erf,
        &[(NAN, NAN), (INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0), (6.0, 1.0), (-1e3, -1.0)],
    ),
    (Elementary::Tan, &[(NAN, NAN), (INF, NAN), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0), (-1e-40, -1e-40)]),
    (
        Elementary::Asin,
        &[
            (NAN, NAN),
            (INF, NAN),
            (0.0, 0.0),
            (-0.0, -0.0),
            (1.0, FRAC_PI_2),
            (-1.0, -FRAC_PI_2),
            (-1.5, NAN),
        ],
    ),
    (
        Elementary::Acos,
        &[(NAN, NAN), (INF, NAN), (1.0, 0.0), (0.0, FRAC_PI_2), (-0.0, FRAC_PI_2), (-1.0, PI), (1.5, NAN)],
    ),
    (
        Elementary::Atan,
        &[(NAN, NAN), (INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_4)],
    ),
    (
        Elementary::Sinh,
        &[(NAN, NAN), (INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (-1e4, -INF), (1e-40, 1e-40)],
    ),
    (Elementary::Cosh, &[(NAN, NAN), (INF, INF), (-INF, INF), (0.0, 1.0), (-0.0, 1.0), (1e4, INF)]),
    (Elementary::Asinh, &[(NAN, NAN), (INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (1e-40, 1e-40)]),
    (Elementary::Acosh, &[(NAN, NAN), (INF, INF), (1.0, 0.0), (0.5, NAN), (-3.0, NAN), (-INF, NAN)]),
    (
        Elementary::Atanh,
        &[(NAN, NAN), (1.0, INF), (-1.0, -INF), (-0.0, -0.0), (1.5, NAN), (-INF, NAN), (1e-40, 1e-40)],
    ),
    (
        Elementary::Cbrt,
        &[(NAN, NAN), (INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (-27.0, -3.0), (1e30, 1e10)],
    ),
    (Elementary::Erfc, &[(NAN, NAN), (INF, 0.0), (-INF, 2.0), (0.0, 1.0), (-0.0, 1.0), (30.0, 0.0)]),
    (Elementary::Gelu, &[(NAN, NAN), (INF, INF), (-INF, -0.0), (0.0, 0.0), (-0.0, -0.0), (1e9, 1e9)]),
    (Elementary::Silu, &[(NAN, NAN), (INF, INF), (-INF, -0.0), (0.0, 0.0), (-0.0, -0.0), (-1e9, -0.0)]),
    (Elementary::Softplus, &[(NAN, NAN), (INF, INF), (-INF, 0.0), (0.0, LN_2), (1e9, 1e9), (-1e9, 0.0)]),
    (Elementary::LogSigmoid, &[(NAN, NAN), (INF, -0.0), (-INF, -INF), (0.0, -LN_2), (-1e9, -1e9)]),
    (
        Elementary::Lgamma,
        &[
            (NAN, NAN),
            (INF, INF),
            (-INF, INF),
            (0.0, INF),
            (-0.0, INF),
            (-3.0, INF),
            (-1e30, INF),
            (1.0, 0.0),
            (2.0, 0.0),
        ],
    ),
];

type Row2 = (Elementary2, &'static [(f64, f64, f64)]);

/// The same for two arguments.
const SPECIAL2: &[Row2] = &[
    (
        Elementary2::Pow,
        &[
            (NAN, 0.0, 1.0),
            (1.0, NAN, 1.0),
            (NAN, 1.0, NAN),
            (2.0, NAN, NAN),
            (-1.0, NAN, NAN),
            (-1.0, INF, 1.0),
            (-1.0, -INF, 1.0),
            (0.5, INF, 0.0),
            (0.5, -INF, INF),
            (-1.5, INF, INF),
            (-1.5, -INF, 0.0),
            (INF, 0.5, INF),
            (INF, -0.5, 0.0),
            (-INF, 3.0, -INF),
            (-INF, 2.0, INF),
            (-INF, -3.0, -0.0),
            (-INF, -0.5, 0.0),
            (-0.0, 3.0, -0.0),
            (-0.0, 2.0, 0.0),
            (-0.0, -3.0, -INF),
            (-0.0, -2.0, INF),
            (0.0, -0.5, INF),
            (-0.0, 0.5, 0.0),
            (-8.0, 0.5, NAN),
            (-2.0, 3.0, -8.0),
            (-2.0, -2.0, 0.25),
            (-2.0, 16777216.0, INF),
            (-1.0, 16777215.0, -1.0),
            (3.0, 4.0, 81.0),
            (10.0, 9.0, 1e9),
            (9.0, 0.5, 3.0),
            (1e4, 1e4, INF),
            (1e4, -1e4, 0.0),
            (-1e4, -10001.0, -0.0),
            (4.0, -74.0, 2.802596928649634e-45),
        ],
    ),
    (
        Elementary2::Atan2,
        &[
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (0.0, 0.0, 0.0),
            (-0.0, 0.0, -0.0),
            (0.0, -0.0, PI),
            (-0.0, -1.0, -PI),
            (0.0, 3.0, 0.0),
            (2.0, 0.0, FRAC_PI_2),
            (-2.0, -0.0, -FRAC_PI_2),
            (INF, INF, FRAC_PI_4),
            (-INF, -INF, -3.0 * FRAC_PI_4),
            (1.0, -INF, PI),
            (-1.0, INF, -0.0),
            (INF, 1.0, FRAC_PI_2),
            (1e-40, 1e-40, FRAC_PI_4),
            (3e38, 3e38, FRAC_PI_4),
        ],
    ),
    (
        Elementary2::Hypot,
        &[
            (NAN, 1.0, NAN),
            (NAN, INF, INF),
            (-INF, NAN, INF),
            (-3.0, 4.0, 5.0),
            (-0.0, -0.0, 0.0),
            (3e38, 1e30, 3e38),
            (1e-40, 0.0, 1e-40),
        ],
    ),
    (
        Elementary2::Logaddexp,
        &[
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (INF, INF, INF),
            (INF, -INF, INF),
            (-INF, -INF, -INF),
            (-INF, 3.0, 3.0),
            (0.0, 0.0, LN_2),
            (1e30, 1e30, 1e30),
        ],
    ),
];

fn same(got: f64, want: f64) -> bool {
    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan()
}

#[test]
fn special_values_of_two_arguments_are_exact() {
    let functions: Vec<_> = SPECIAL2.iter().map(|row| row.0).collect();
    assert_eq!(functions, Elementary2::ALL);
    for &(function, rows) in SPECIAL2 {
        for &(x, y, want) in rows {
            let name = function.name();
            let got = eval2_f64(function, x, y);
            assert!(same(got, want), "{name}({x}, {y}) is {got}");
            let got = eval2_f32(function, x as f32, y as f32);
            assert!(same(got.into(), (want as f32).into()), "{name}({x}_f32, {y}_f32) is {got}");
        }
    }
}

#[test]
fn powers_that_are_floats_are_exact() {
    for x in 2..100_u32 {
        let mut power = 1_u64;
        for y in 1.. {
            power *= u64::from(x);
            if power > 1 << 53 {
                break;
            }
            assert_eq!(eval2_f64(Elementary2::Pow, x.into(), y.into()), power as f64, "{x}^{y}");
            if power <= 1 << 24 {
                assert_eq!(eval2_f32(Elementary2::Pow, x as f32, y as f32), power as f32, "{x}^{y}");
            }
        }
    }
}

#[test]
fn special_values_are_exact() {
    let functions: Vec<_> = SPECIAL.iter().map(|row| row.0).collect();
    assert_eq!(functions, Elementary::ALL);
    for &(function, rows) in SPECIAL {
        for &(x, want) in rows {
            let name = function.name();
            let got = eval_f64(function, x);
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{name}({x}) is {got}");
            let (x, want) = (x as f32, want as f32);
            let got = eval_f32(function, x);
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{name}({x}_f32) is {got}"
            );
        }
    }
}

#[test]
fn powers_and_logarithms_of_two_are_exact() {
    for e in -1074..1024 {
        assert_eq!(eval_f64(Elementary::Exp2, f64::from(e)), measure::power(e));
        assert_eq!(eval_f64(Elementary::Log2, measure::power(e)), f64::from(e));
    }
    for e in -149_i16..128 {
        assert_eq!(f64::from(eval_f32(Elementary::Exp2, f32::from(e))), measure::power(e.into()));
        assert_eq!(eval_f32(Elementary::Log2, measure::power(e.into()) as f32), f32::from(e));
    }
}

#[test]
fn exp_grows_into_overflow_and_out_of_underflow() {
    // Both ends lie beyond the finite, non-zero range.
    let ends: [[f32; 4]; 2] = [[88.5, 88.9, 2.8e38, f32::INFINITY], [-104.0, -103.0, 0.0, 1.0e-45]];
    for [from, to, first, last] in ends {
        let mut bits = from.to_bits();
        let mut before = eval_f32(Elementary::Exp, from);
        assert!(before <= first);
        while bits != to.to_bits() {
            bits = if from > 0.0 { bits + 1 } else { bits - 1 };
            let e = eval_f32(Elementary::Exp, f32::from_bits(bits));
            assert!(e >= before, "exp({}) is {e}, less than {before}", f32::from_bits(bits));
            before = e;
        }
        assert!(before >= last);
    }
}

#[test]
fn cosine_survives_the_closest_calls() {
    // The floats of each width that come closest to an odd multiple of pi/2.
    assert_eq!(
        eval_f64(Elementary::Cos, 6_381_956_970_095_103.0 * 2.0_f64.powi(797)),
        -4.687165924254628e-19
    );
    assert_eq!(eval_f32(Elementary::Cos, 16_367_173.0 * 2.0_f32.powi(72)), -1.6147698e-9);
}

/// Counts operations; constants and bit casts are free.
struct Count {
    width: Width,
    n: u32,
}

macro_rules! counted {
    ($($name:ident),*) => { $(fn $name(&mut self, (): (), (): ()) { self.n += 1; })* };
}

impl Arith for Count {
    type Float = ();
    type Int = ();
    type Truth = ();

    fn width(&self) -> Width {
        self.width
    }
    fn float(&mut self, _: f64) {}
    fn int(&mut self, _: i64) {}
    counted!(add, sub, mul, div, iadd, isub, iand, ior, lt, eq);
    fn neg(&mut self, (): ()) {
        self.n += 1;
    }
    fn abs(&mut self, (): ()) {
        self.n += 1;
    }
    fn sqrt(&mut self, (): ()) {
        self.n += 1;
    }
    fn ishl(&mut self, (): (), _: u32) {
        self.n += 1;
    }
    fn ushr(&mut self, (): (), _: u32) {
        self.n += 1;
    }
    fn float_to_bits(&mut self, (): ()) {}
    fn bits_to_float(&mut self, (): ()) {}
    fn select(&mut self, (): (), (): (), (): ()) {
        self.n += 1;
    }
}

#[test]
fn costs_are_as_documented() {
    let mut wrong = Vec::new();
    let mut check = |name: &str, expected: [u32; 2], emit: &dyn Fn(&mut Count)| {
        for (width, ops) in [Width::F32, Width::F64].into_iter().zip(expected) {
            let mut count = Count { width, n: 0 };
            emit(&mut count);
            if count.n != ops {
                wrong.push(format!("{name} in {width:?} takes {}", count.n));
            }
        }
    };
    for &(function, _, _, ops32, ops64) in TABLE {
        check(function.name(), [ops32, ops64], &|count| function.emit(count, ()));
    }
    for &(function, _, _, ops32, ops64) in TABLE2 {
        check(function.name(), [ops32, ops64], &|count| function.emit(count, (), ()));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
