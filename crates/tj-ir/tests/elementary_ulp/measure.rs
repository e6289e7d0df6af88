//! How far a function is from the truth: references, errors, inputs, and the bounds that are asserted.

#[path = "double_double.rs"]
mod double_double;

use double_double::{Dd, LN_2, LN_10};
use tj_ir::elementary::{Elementary, Elementary2, eval_f32, eval_f64, eval2_f32, eval2_f64};

/// Bounds for `f32` and `f64`, then numbers of operations, as the table in the module's docs has them.
pub const TABLE: &[(Elementary, f64, f64, u32, u32)] = &[
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
    (Elementary::Tan, 2.45, 2.35, 148, 209),
    (Elementary::Asin, 1.12, 1.12, 36, 50),
    (Elementary::Acos, 1.10, 1.10, 41, 55),
    (Elementary::Atan, 1.95, 1.95, 31, 45),
    (Elementary::Sinh, 1.35, 1.45, 45, 57),
    (Elementary::Cosh, 1.80, 1.80, 41, 53),
    (Elementary::Asinh, 1.80, 1.75, 54, 62),
    (Elementary::Acosh, 2.20, 2.30, 53, 61),
    (Elementary::Atanh, 2.05, 1.95, 48, 56),
    (Elementary::Cbrt, 0.80, 0.72, 49, 55),
    (Elementary::Erfc, 5.60, 6.20, 70, 108),
    (Elementary::Gelu, 5.20, 6.20, 76, 114),
    (Elementary::Silu, 3.30, 3.20, 41, 51),
    (Elementary::Softplus, 1.70, 1.70, 75, 93),
    (Elementary::LogSigmoid, 1.70, 1.70, 77, 95),
    (Elementary::Lgamma, 5.20, 4.00, 200, 260),
];

/// The same for functions of two arguments.
pub const TABLE2: &[(Elementary2, f64, f64, u32, u32)] = &[
    (Elementary2::Pow, 1.20, 1.50, 141, 159),
    (Elementary2::Atan2, 2.10, 2.10, 65, 79),
    (Elementary2::Hypot, 1.22, 1.25, 21, 21),
    (Elementary2::Logaddexp, 3.00, 3.00, 86, 104),
];

/// Largest error and where it is.
pub type Worst = (f64, Vec<f64>);

/// Of every `stride`th bit pattern.
pub fn worst32(function: Elementary, stride: usize) -> Worst {
    let mut worst = (0.0, Vec::new());
    for bits in (0..=u32::MAX).step_by(stride) {
        let x = f32::from_bits(bits);
        let want = reference32(function, f64::from(x));
        let error = error32(eval_f32(function, x), want) * unit(function, f64::from(x), want);
        if error > worst.0 {
            worst = (error, vec![f64::from(x)]);
        }
    }
    worst
}

/// Of about `n` samples; of the values in a file for `lgamma`.
pub fn worst64(function: Elementary, n: usize) -> Worst {
    let mut worst = (0.0, Vec::new());
    if function == Elementary::Lgamma {
        for line in include_str!("lgamma.txt").lines() {
            let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            let &[x, hi, lo] = numbers.as_slice() else { panic!("three numbers a line, not {line}") };
            let error = error64(eval_f64(function, x), Some((Dd { hi, lo }, 0))) * unit(function, x, hi);
            if error > worst.0 {
                worst = (error, vec![x]);
            }
        }
        return worst;
    }
    for x in samples(function, n) {
        let error = error64(eval_f64(function, x), reference64(function, x));
        if error > worst.0 {
            worst = (error, vec![x]);
        }
    }
    worst
}

/// Of `n` pairs.
pub fn worst32_of_pairs(function: Elementary2, n: usize) -> Worst {
    let mut worst = (0.0, Vec::new());
    for (x, y) in pairs(function, n, 126.0) {
        let (x, y) = (x as f32, y as f32);
        let (p, q) = (f64::from(x), f64::from(y));
        let (want, unit) = reference32_of_pair(function, p, q);
        let error = error32(eval2_f32(function, x, y), want) * unit;
        if error > worst.0 {
            worst = (error, vec![p, q]);
        }
    }
    worst
}

/// Of `n` pairs.
pub fn worst64_of_pairs(function: Elementary2, n: usize) -> Worst {
    let mut worst = (0.0, Vec::new());
    for (x, y) in pairs(function, n, 1020.0) {
        let got = eval2_f64(function, x, y);
        let (want, unit) = reference64_of_pair(function, x, y);
        let error = error64(got, want) * unit;
        if error > worst.0 {
            worst = (error, vec![x, y]);
        }
    }
    worst
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
        Elementary::Tan => x.tan(),
        Elementary::Asin => x.asin(),
        Elementary::Acos => x.acos(),
        Elementary::Atan => x.atan(),
        Elementary::Sinh => x.sinh(),
        Elementary::Cosh => x.cosh(),
        Elementary::Asinh => x.asinh(),
        Elementary::Acosh if x < 1.0 => f64::NAN,
        Elementary::Acosh => (x - 1.0 + ((x - 1.0) * (x + 1.0)).sqrt()).ln_1p(),
        Elementary::Atanh => x.atanh(),
        Elementary::Cbrt => x.cbrt(),
        Elementary::Silu if x == f64::NEG_INFINITY => 0.0,
        Elementary::Silu => x / (1.0 + (-x).exp()),
        Elementary::Softplus => {
            if x.is_nan() {
                x
            } else {
                x.max(0.0) + (-x.abs()).exp().ln_1p()
            }
        }
        Elementary::LogSigmoid => {
            if x.is_nan() {
                x
            } else {
                x.min(0.0) - (-x.abs()).exp().ln_1p()
            }
        }
        // The standard library has none; ours for `f64` are measured below.
        Elementary::Erf | Elementary::Erfc | Elementary::Gelu | Elementary::Lgamma => eval_f64(function, x),
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

/// What an ulp of a result is worth in the unit that the bound is in: `lgamma` has zeros among the negative numbers.
fn unit(function: Elementary, x: f64, result: f64) -> f64 {
    if function == Elementary::Lgamma && x < 0.0 {
        ulps_of_term(result, eval_f64(function, -x).abs().max(1.0))
    } else {
        1.0
    }
}

/// The function in `f64`, and what an ulp of it is worth in the unit that the bound is in.
fn reference32_of_pair(function: Elementary2, x: f64, y: f64) -> (f64, f64) {
    match function {
        Elementary2::Pow => (x.powf(y), 1.0),
        Elementary2::Atan2 => (x.atan2(y), 1.0),
        Elementary2::Hypot => (x.hypot(y), 1.0),
        Elementary2::Logaddexp => {
            let most = x.max(y);
            let more = (x.min(y) - most).exp().ln_1p();
            (most + more, ulps_of_term(most + more, most.abs().max(more)))
        }
    }
}

/// As [`reference64`].
fn reference64_of_pair(function: Elementary2, x: f64, y: f64) -> (Option<(Dd, i32)>, f64) {
    match function {
        Elementary2::Pow => (Some(double_double::pow(x, y)), 1.0),
        Elementary2::Atan2 => (Some(double_double::atan2_scaled(x, y)), 1.0),
        Elementary2::Hypot => {
            let e = exponent(x.abs().max(y.abs())).clamp(-1000, 1000);
            let part = |v: f64| Dd::from(v * power(-e));
            let sum = part(x) * part(x) + part(y) * part(y);
            (Some((double_double::sqrt(sum), e)), 1.0)
        }
        Elementary2::Logaddexp => {
            let most = x.max(y);
            let difference = Dd::from(x.min(y)) - most.into();
            let (more, k) = match difference.hi > -700.0 {
                true => double_double::softplus_of(difference),
                false => (0.0.into(), 0),
            };
            let more = more.scaled(2.0_f64.powi(k.max(-1000)));
            let sum = Dd::from(most) + more;
            (Some((sum, 0)), ulps_of_term(sum.hi, most.abs().max(more.hi)))
        }
    }
}

/// Where a sum cancels, its error is counted in ulps of the greater term.
fn ulps_of_term(sum: f64, term: f64) -> f64 {
    let e = |x: f64| exponent(x).max(-1022);
    if sum == 0.0 { 2.0_f64.powi(-1000) } else { 2.0_f64.powi((e(sum) - e(term)).min(0)) }
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
        Elementary::Asin | Elementary::Acos => x.abs() <= 1.0,
        Elementary::Atanh => x.abs() < 1.0,
        Elementary::Acosh => x >= 1.0,
        Elementary::Tan | Elementary::Atan | Elementary::Sinh | Elementary::Cosh | Elementary::Asinh => true,
        Elementary::Cbrt | Elementary::Erfc | Elementary::Gelu => true,
        Elementary::Silu | Elementary::Softplus | Elementary::LogSigmoid | Elementary::Lgamma => true,
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
        Elementary::Erf => (double_double::erf(x.clamp(-6.5, 6.5).into()), 0),
        Elementary::Tan | Elementary::Asin | Elementary::Atan | Elementary::Sinh if small => (x.into(), 0),
        Elementary::Asinh | Elementary::Atanh if small => (x.into(), 0),
        Elementary::Tan => (double_double::sin(x, 0) / double_double::sin(x, 1), 0),
        Elementary::Asin => (double_double::asin(x.into()), 0),
        Elementary::Acos => (double_double::acos(x), 0),
        Elementary::Atan => (double_double::atan2(x, 1.0), 0),
        Elementary::Sinh => double_double::sinh_cosh(clamped).0,
        Elementary::Cosh => double_double::sinh_cosh(clamped).1,
        Elementary::Asinh if x.abs() > 1e10 => {
            let l = double_double::log(x.abs().into()) + LN_2;
            (if x < 0.0 { -l } else { l }, 0)
        }
        Elementary::Asinh => (double_double::asinh(x), 0),
        Elementary::Acosh if x > 1e100 => (double_double::log(x.into()) + LN_2, 0),
        Elementary::Acosh => {
            let t = Dd::from(x) - one;
            (double_double::log(one + t + double_double::sqrt(t + t + t * t)), 0)
        }
        Elementary::Atanh if x.abs() < 1e-9 => (Dd::from(x) + Dd::from(x * x * x / 3.0), 0),
        Elementary::Atanh => {
            let ratio = (one + x.into()) / (one - x.into());
            (double_double::log(ratio).scaled(0.5), 0)
        }
        Elementary::Cbrt => (double_double::cbrt(x * if x.abs() < 1.0 { power(900) } else { 1.0 }), {
            if x.abs() < 1.0 { -300 } else { 0 }
        }),
        Elementary::Erfc => double_double::erfc(x.clamp(-6.5, 30.0).into()),
        Elementary::Gelu if x >= 39.0 => (x.into(), 0),
        Elementary::Gelu => {
            let x = x.max(-45.0);
            let (tail, k) = double_double::erfc(-double_double::ROOT_HALF * x.into());
            (tail * (x / 2.0).into(), k)
        }
        Elementary::Silu => {
            let (e, k) = double_double::exp((-clamped.abs()).into());
            let denominator = one + e.scaled(2.0_f64.powi(k.max(-200)));
            if x < 0.0 { (e * clamped.into() / denominator, k) } else { (Dd::from(x) / denominator, 0) }
        }
        Elementary::Lgamma => unreachable!("its values are in a file"),
        Elementary::Softplus => double_double::softplus(x.max(-1100.0)),
        Elementary::LogSigmoid => {
            let (s, k) = double_double::softplus((-x).max(-1100.0));
            (-s, k)
        }
    })
}

/// By how much the references for `f64` differ from values with 2000 bits, in parts of the value, at most; and where.
#[allow(dead_code, reason = "a test, not the sweep")]
pub fn worst_reference() -> (f64, String) {
    let mut worst = (0.0, String::new());
    for line in include_str!("reference.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| -> f64 { words[at].parse().unwrap_or(f64::NAN) };
        let last = words.len() - 3;
        let (exact, k) = (Dd { hi: number(last), lo: number(last + 1) }, number(last + 2) as i32);
        let one = Elementary::ALL.iter().find(|f| f.name() == words[0]);
        let two = Elementary2::ALL.iter().find(|f| f.name() == words[0]);
        let found = match (one, two) {
            (Some(&function), _) => reference64(function, number(1)),
            (_, Some(&function)) => reference64_of_pair(function, number(1), number(2)).0,
            (None, None) => None,
        };
        let Some((found, j)) = found else { panic!("no reference for {line}") };
        // In two steps, because a power may be out of reach where the product is not.
        let found = found.scaled(power((j - k) / 2)).scaled(power((j - k) - (j - k) / 2));
        let difference = (found - exact).hi / exact.hi;
        let difference = if difference.is_nan() { f64::INFINITY } else { difference.abs() };
        if difference > worst.0 {
            worst = (difference, line.to_string());
        }
    }
    worst
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
pub fn power(e: i32) -> f64 {
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
        Elementary::Tan => (-1000.0, 1000.0),
        Elementary::Asin | Elementary::Acos | Elementary::Atanh => (-1.0, 1.0),
        Elementary::Atan | Elementary::Asinh => (-10.0, 10.0),
        Elementary::Acosh => (1.0, 10.0),
        Elementary::Sinh | Elementary::Cosh => (-712.0, 712.0),
        Elementary::Cbrt => (-8.0, 8.0),
        Elementary::Erfc => (-6.0, 27.5),
        Elementary::Gelu => (-39.0, 9.0),
        Elementary::Silu | Elementary::Softplus | Elementary::LogSigmoid => (-750.0, 40.0),
        Elementary::Lgamma => unreachable!("its values are in a file"),
    };
    let powers = (-1074..1024).flat_map(|e| {
        let bits = power(e).to_bits();
        [bits - 1, bits, bits + 1].map(f64::from_bits).into_iter().flat_map(|x| [x, -x])
    });
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let random = (0..n).map(move |i| {
        let z = splitmix(&mut state);
        let unit = (z >> 11) as f64 * power(-53);
        match i % 4 {
            0 => f64::from_bits(z),
            // From 1 on, at every distance.
            1 if function == Elementary::Acosh => 1.0 + (-52.0 * unit).exp2(),
            1 => 4.0 * unit - 2.0,
            _ => lo + (hi - lo) * unit,
        }
    });
    // The poles are among the special values.
    powers.chain(random).filter(move |&x| {
        let pole = x == 0.0 || x == -1.0 || function == Elementary::Atanh && x == 1.0;
        x.is_finite() && !pole
    })
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Pairs of all magnitudes, those between `2^-range` and `2^range` included, and such as give results that the width has,
/// down to its subnormals.
fn pairs(function: Elementary2, n: usize, range: f64) -> impl Iterator<Item = (f64, f64)> {
    let mut state = 1;
    (0..n).map(move |i| {
        let mut unit = || (splitmix(&mut state) >> 11) as f64 * power(-53);
        // Between 2^-range and 2^range, and of both signs.
        let mut wide =
            |range: f64| ((2.0 * unit() - 1.0) * range).exp2() * if unit() < 0.5 { -1.0 } else { 1.0 };
        match (function, i % 4) {
            (Elementary2::Pow, _) => {
                let x = wide([1.0, range, 10.0, 0.01][i % 4]).abs();
                // The logarithm of the result to base 2.
                let log = if i % 8 < 4 { wide(6.0) * 1.4 } else { wide(1.0) * range * 0.6 };
                (x, log / x.log2().abs().max(1e-3))
            }
            (Elementary2::Atan2 | Elementary2::Hypot, 0) => (wide(range), wide(range)),
            (Elementary2::Atan2 | Elementary2::Hypot, _) => {
                let x = wide([1.0, range - 2.0, 20.0][i % 3]);
                (x, x * wide(2.0))
            }
            (Elementary2::Logaddexp, 0) => (wide(10.0), wide(10.0)),
            // The greater one is about as small as what the other adds.
            (Elementary2::Logaddexp, 1) => {
                let least = -(wide(6.0).abs());
                (least.exp() * wide(2.0), least)
            }
            (Elementary2::Logaddexp, _) => (wide(4.0), wide(4.0)),
        }
    })
}
