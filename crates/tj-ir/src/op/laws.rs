//! Whether an operator of two arguments keeps the laws that its algebra states, tried on awkward values.

use tj_tensor::{DType, Scalar};

use super::{Algebra, Domain, Op};
use crate::expand::expand;
use crate::prim::Evaluator;

/// Where laws are tried and how results are compared.
pub(crate) struct Trial<'t> {
    pub dtype: DType,
    pub values: &'t [Scalar],
    /// Whether a law that is stated for a domain has to hold.
    pub holds: &'t dyn Fn(Domain) -> bool,
    pub same: &'t dyn Fn(Scalar, Scalar) -> bool,
}

/// Zeros, signs, halves, infinities and NaN, in the dtype.
pub(crate) fn awkward(dtype: DType) -> Vec<Scalar> {
    [-3.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 7.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
        .iter()
        .map(|&x| Scalar::F64(x).cast(dtype))
        .collect()
}

/// The same but for the bits of a NaN.
pub(crate) fn same(a: Scalar, b: Scalar) -> bool {
    a == b || (a.to_f64().is_nan() && b.to_f64().is_nan())
}

/// The same but for rounding, if these are floats.
pub(crate) fn near(a: Scalar, b: Scalar) -> bool {
    let unit = match a.dtype() {
        DType::F64 => 1e-11,
        DType::F32 => 1e-4,
        DType::F16 => 1e-1,
        DType::BF16 => 5e-1,
        DType::Bool
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::I64
        | DType::U8
        | DType::U16
        | DType::U32
        | DType::U64
        | DType::C64
        | DType::C128 => return a == b,
    };
    let (x, y) = (a.to_f64(), b.to_f64());
    same(a, b) || x == y || (x - y).abs() <= unit * x.abs().max(y.abs()).max(1.0)
}

/// The first law that does not hold, with the values that show it.
pub(crate) fn broken(op: Op, algebra: &Algebra, trial: &Trial<'_>) -> Option<String> {
    let Trial { dtype, values, holds, same } = *trial;
    let f = |a: Scalar, b: Scalar| expand(&mut Evaluator, op, &[a, b]);
    let name = op.name();
    for &a in values {
        let mut sides = vec![];
        if let Some(e) = algebra.identity.map(|e| e.scalar(dtype)) {
            sides.push((format!("{e} is no identity: {name}({e}, {a})"), f(e, a), a));
        }
        if let Some(e) = algebra.right_identity.map(|e| e.scalar(dtype)) {
            sides.push((format!("{e} is no identity on the right: {name}({a}, {e})"), f(a, e), a));
        }
        if algebra.idempotent {
            sides.push((format!("not idempotent: {name}({a}, {a})"), f(a, a), a));
        }
        for law in algebra.annihilators.iter().filter(|law| law.holds != Domain::Fill && holds(law.holds)) {
            let value = law.value.scalar(dtype);
            let [x, y] = if law.position == 0 { [value, a] } else { [a, value] };
            let expected = op.decided(law, dtype);
            sides.push((format!("{value} does not decide: {name}({x}, {y})"), f(x, y), expected));
        }
        for &b in values {
            if algebra.commutative.is_some_and(holds) {
                sides.push((format!("not commutative: {name}({a}, {b})"), f(a, b), f(b, a)));
            }
            for &c in values {
                if algebra.associative.is_some_and(holds) {
                    let text = format!("not associative: {name}({name}({a}, {b}), {c})");
                    sides.push((text, f(f(a, b), c), f(a, f(b, c))));
                }
                for &(over, domain) in algebra.distributes_over {
                    if holds(domain) && over.dtypes(&[dtype, dtype]) == Some((dtype, dtype)) {
                        let g = |x: Scalar, y: Scalar| expand(&mut Evaluator, over, &[x, y]);
                        let g_name = over.name();
                        let text =
                            format!("does not distribute over {g_name}: {name}({a}, {g_name}({b}, {c}))");
                        sides.push((text, f(a, g(b, c)), g(f(a, b), f(a, c))));
                    }
                }
            }
        }
        let differs = |(_, left, right): &(String, Scalar, Scalar)| !same(*left, *right);
        if let Some((text, left, right)) = sides.into_iter().find(differs) {
            return Some(format!("{text} is {left}, not {right}"));
        }
    }
    None
}
