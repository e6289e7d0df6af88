//! How far the elementary functions are from the truth, and what they cost.
//!
//! An error is counted in units in the last place of the exact result; infinity counts as the first
//! value that does not fit. The bounds were found in optimised builds on many more inputs, and
//! are asserted here on samples that a debug build gets through in seconds.

#[path = "elementary_ulp/double_double.rs"]
mod double_double;

use double_double::{Dd, LN_2, LN_10};
use tj_ir::elementary::{Arith, Elementary, Width, eval_f32, eval_f64};

/// Bounds for `f32` and `f64`, then numbers of operations, as the table in the module's docs has them.
const TABLE: &[(Elementary, f64, f64, u32, u32)] = &[
    (Elementary::Exp, 1.00, 0.97, 29, 39),
    (Elementary::Exp2, 1.06, 1.06, 27, 37),
    (Elementary::Expm1, 1.36, 1.32, 38, 48),
    (Elementary::Log, 0.84, 0.82, 35, 43),
    (Elementary::Log2, 0.87, 0.82, 44, 52),
    (Elementary::Log10, 0.74, 0.74, 47, 55),
    (Elementary::Log1p, 0.87, 0.84, 41, 49),
    (Elementary::Sin, 0.93, 0.90, 147, 208),
    (Elementary::Cos, 0.93, 0.90, 146, 207),
    (Elementary::Tanh, 1.30, 1.29, 41, 57),
    (Elementary::Sigmoid, 2.41, 2.35, 33, 43),
    (Elementary::Erf, 1.25, 1.40, 59, 88),
];

#[test]
fn the_table_has_every_function() {
    let functions: Vec<_> = TABLE.iter().map(|row| row.0).collect();
    assert_eq!(functions, Elementary::ALL);
}

#[test]
fn f32_errors_are_bounded() {
    let mut wrong = Vec::new();
    // A prime stride visits every residue of every low bit field.
    const STRIDE: usize = 32_749;
    for &(function, bound, ..) in TABLE {
        let mut worst = (0.0, 0.0);
        for bits in (0..=u32::MAX).step_by(STRIDE) {
            let x = f32::from_bits(bits);
            let error = error32(eval_f32(function, x), reference32(function, f64::from(x)));
            if error > worst.0 {
                worst = (error, x);
            }
        }
        if worst.0 > bound {
            wrong.push(format!("{}({:e}) is {} ulp off", function.name(), worst.1, worst.0));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn f64_errors_are_bounded() {
    let mut wrong = Vec::new();
    for &(function, _, bound, ..) in TABLE {
        let mut worst = (0.0, 0.0);
        for x in samples(function, 100_000) {
            let error = error64(eval_f64(function, x), reference64(function, x));
            if error > worst.0 {
                worst = (error, x);
            }
        }
        if worst.0 > bound {
            wrong.push(format!("{}({:e}) is {} ulp off", function.name(), worst.1, worst.0));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The function in `f64`, which is exact enough for `f32`; NaN outside the domain.
fn reference32(function: Elementary, x: f64) -> f64 {
    match function {
        Elementary::Exp => x.exp(),
        Elementary::Exp2 => x.exp2(),
        Elementary::Expm1 => x.exp_m1(),
        Elementary::Log => x.ln(),
        Elementary::Log2 => x.log2(),
        Elementary::Log10 => x.log10(),
        Elementary::Log1p => x.ln_1p(),
        Elementary::Sin => x.sin(),
        Elementary::Cos => x.cos(),
        Elementary::Tanh => x.tanh(),
        Elementary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        // The standard library has none; ours for `f64` is measured below.
        Elementary::Erf => eval_f64(function, x),
    }
}

fn error32(got: f32, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() == want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let end = 2.0_f64.powi(128);
    let got = f64::from(got).clamp(-end, end);
    let want = want.clamp(-end, end);
    (got - want).abs() / 2.0_f64.powi(exponent(want).clamp(-126, 127) - 23)
}

/// `exact * 2^k`, as `(exact, k)`, or `None` outside the domain.
fn reference64(function: Elementary, x: f64) -> Option<(Dd, i32)> {
    let one = Dd::from(1.0);
    let small = x.abs() < 1e-100;
    let in_domain = match function {
        Elementary::Log | Elementary::Log2 | Elementary::Log10 => x > 0.0,
        Elementary::Log1p => x > -1.0,
        Elementary::Exp | Elementary::Exp2 | Elementary::Expm1 => true,
        Elementary::Sin | Elementary::Cos => true,
        Elementary::Tanh | Elementary::Sigmoid | Elementary::Erf => true,
    };
    let clamped = x.clamp(-1100.0, 1100.0);
    in_domain.then(|| match function {
        Elementary::Exp => double_double::exp(clamped.into()),
        Elementary::Exp2 => double_double::exp(LN_2 * clamped.into()),
        Elementary::Expm1 | Elementary::Log1p | Elementary::Sin | Elementary::Tanh if small => (x.into(), 0),
        Elementary::Cos if small => (one, 0),
        Elementary::Sin => (double_double::sin(x, 0), 0),
        Elementary::Cos => (double_double::sin(x, 1), 0),
        Elementary::Expm1 if x > 700.0 => double_double::exp(clamped.into()),
        Elementary::Expm1 => (double_double::expm1(x.max(-100.0).into()), 0),
        Elementary::Log => (double_double::log(x.into()), 0),
        Elementary::Log2 => (double_double::log(x.into()) / LN_2, 0),
        Elementary::Log10 => (double_double::log(x.into()) / LN_10, 0),
        Elementary::Log1p => (double_double::log(one + x.into()), 0),
        Elementary::Tanh => {
            let e = double_double::expm1((2.0 * x.clamp(-30.0, 30.0)).into());
            (e / (e + 2.0.into()), 0)
        }
        Elementary::Sigmoid => {
            let (e, k) = double_double::exp((-clamped.abs()).into());
            let denominator = one + e.scaled(2.0_f64.powi(k.max(-200)));
            if x < 0.0 { (e / denominator, k) } else { (one / denominator, 0) }
        }
        Elementary::Erf if small => (double_double::TWO_OVER_ROOT_PI * (x * power(600)).into(), -600),
        Elementary::Erf => (double_double::erf(x.clamp(-6.5, 6.5)), 0),
    })
}

fn error64(got: f64, want: Option<(Dd, i32)>) -> f64 {
    let Some((want, k)) = want else {
        return if got.is_nan() { 0.0 } else { f64::INFINITY };
    };
    if got.is_nan() {
        return f64::INFINITY;
    }
    // Everything times 2^-k, so that a subnormal result is compared with all digits of the truth.
    let end = 1024 - k;
    let exponent = exponent(want.hi).clamp(-1022 - k, end - 1);
    let overflow = exponent == end - 1 && want.hi.abs() >= 2.0 * power(exponent);
    let want = if overflow { Dd::from((2.0 * power(exponent)).copysign(want.hi)) } else { want };
    let got = if got.is_infinite() {
        (2.0 * power(end - 1)).copysign(got)
    } else {
        got * power(-k / 2) * power(-k + k / 2)
    };
    ((got - want.hi) - want.lo).abs() / power(exponent - 52)
}

/// The exponent of a normal `x`, and something small for zero and subnormals.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// `2^e` for every exponent that `f64` has, unlike `powi`.
fn power(e: i32) -> f64 {
    if e >= -1022 { f64::from_bits(((e + 1023) as u64) << 52) } else { f64::from_bits(1 << (e + 1074)) }
}

/// At least `n` inputs: every power of two with its neighbours, random bit patterns, and the interval
/// in which the function changes.
fn samples(function: Elementary, n: usize) -> impl Iterator<Item = f64> {
    let (lo, hi) = match function {
        Elementary::Exp | Elementary::Expm1 | Elementary::Sigmoid => (-750.0, 712.0),
        Elementary::Exp2 => (-1080.0, 1026.0),
        Elementary::Log | Elementary::Log2 | Elementary::Log10 => (0.0, 4.0),
        Elementary::Log1p => (-1.0, 3.0),
        Elementary::Sin | Elementary::Cos => (-1000.0, 1000.0),
        Elementary::Tanh => (-21.0, 21.0),
        Elementary::Erf => (-6.2, 6.2),
    };
    let powers = (-1074..1024).flat_map(|e| {
        let bits = power(e).to_bits();
        [bits - 1, bits, bits + 1].map(f64::from_bits).into_iter().flat_map(|x| [x, -x])
    });
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let random = (0..n).map(move |i| {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let z = z ^ (z >> 31);
        let unit = (z >> 11) as f64 * power(-53);
        match i % 4 {
            0 => f64::from_bits(z),
            1 => 4.0 * unit - 2.0,
            _ => lo + (hi - lo) * unit,
        }
    });
    // The poles are among the special values.
    powers.chain(random).filter(|&x| x.is_finite() && x != 0.0 && x != -1.0)
}

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
];

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
        assert_eq!(eval_f64(Elementary::Exp2, f64::from(e)), power(e));
        assert_eq!(eval_f64(Elementary::Log2, power(e)), f64::from(e));
    }
    for e in -149_i16..128 {
        assert_eq!(f64::from(eval_f32(Elementary::Exp2, f32::from(e))), power(e.into()));
        assert_eq!(eval_f32(Elementary::Log2, power(e.into()) as f32), f32::from(e));
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
    assert_eq!(eval_f64(Elementary::Cos, 6_381_956_970_095_103.0 * power(797)), -4.687165924254628e-19);
    assert_eq!(eval_f32(Elementary::Cos, 16_367_173.0 * power(72) as f32), -1.6147698e-9);
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
    for &(function, _, _, ops32, ops64) in TABLE {
        for (width, ops) in [(Width::F32, ops32), (Width::F64, ops64)] {
            let mut count = Count { width, n: 0 };
            function.emit(&mut count, ());
            if count.n != ops {
                wrong.push(format!("{} in {width:?} takes {}", function.name(), count.n));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
