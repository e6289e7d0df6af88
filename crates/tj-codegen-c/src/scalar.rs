//! One operation on scalars as a C expression.
//!
//! Operands are texts: names of values, or literals. Every expression has the C type of its result once it is assigned
//! to it, and the bits that the kernel language gives it. `None` means that the language does not define the
//! operation on that type; the half formats in particular are only stored, moved and cast.

use tj_kernel::{BinOp, CmpOp, UnOp};
use tj_tensor::{DType, Scalar};

use crate::helpers::{Helpers, bits_type};
use crate::types::{ctype, is_half};

/// An operation of one operand.
pub(crate) fn unary(h: &mut Helpers, op: UnOp, dtype: DType, a: &str) -> Option<String> {
    let t = ctype(dtype)?;
    if is_half(dtype) {
        return None;
    }
    let suffix = if dtype == DType::F32 { "f" } else { "" };
    Some(match (op, dtype.is_float()) {
        (UnOp::Neg, true) => format!("-{a}"),
        (UnOp::Abs, true) => format!("__builtin_fabs{suffix}({a})"),
        (UnOp::Sqrt, true) => format!("__builtin_sqrt{suffix}({a})"),
        (UnOp::Floor, true) => format!("{}({a})", h.floor(dtype)),
        (UnOp::Not, false) if dtype.is_bool() => format!("!{a}"),
        (UnOp::Not, false) => format!("({t})~{}", wide(dtype, a)),
        (UnOp::Neg, false) if dtype.is_int() => format!("({t})-{}", wide(dtype, a)),
        (UnOp::Abs, false) if dtype.is_signed() => format!("({t})({a} < 0 ? -{} : {a})", wide(dtype, a)),
        (UnOp::Abs, false) if dtype.is_int() => a.to_owned(),
        (UnOp::TrailingZeros, false) if dtype.is_int() => {
            // A bit above all others stands for there being none.
            let bits = 8 * dtype.size();
            match bits {
                64 => format!("{a} == 0 ? 64 : ({t})__builtin_ctzll({a})"),
                _ => format!("({t})__builtin_ctzll({a} | (1ULL << {bits}))"),
            }
        }
        (UnOp::Neg | UnOp::Abs | UnOp::Sqrt | UnOp::Floor | UnOp::TrailingZeros, false)
        | (UnOp::Not | UnOp::TrailingZeros, true) => return None,
    })
}

/// An operation of two operands.
pub(crate) fn binary(h: &mut Helpers, op: BinOp, dtype: DType, a: &str, b: &str) -> Option<String> {
    let t = ctype(dtype)?;
    if is_half(dtype) {
        return None;
    }
    let (float, int, bool) = (dtype.is_float(), dtype.is_int(), dtype.is_bool());
    let infix = |sign: &str| match float {
        true => format!("{a} {sign} {b}"),
        false if dtype.size() < 4 => format!("({t})({a} {sign} {b})"),
        false => format!("{} {sign} {b}", if is_literal(b) { wide(dtype, a) } else { a.to_owned() }),
    };
    Some(match op {
        BinOp::Add if float || int => infix("+"),
        BinOp::Sub if float || int => infix("-"),
        BinOp::Mul if float || int => infix("*"),
        BinOp::Div if float => infix("/"),
        BinOp::FloorDiv | BinOp::Mod if int => format!("{}({a}, {b})", h.division(op, dtype)),
        BinOp::Rem if float => format!("{}({a}, {b})", h.remainder(dtype)),
        BinOp::Max | BinOp::Min if float => format!("{}({a}, {b})", h.extremum(op, dtype)),
        BinOp::Max if int => format!("{a} > {b} ? {a} : {b}"),
        BinOp::Min if int => format!("{a} < {b} ? {a} : {b}"),
        BinOp::And if int || bool => infix("&"),
        BinOp::Or if int || bool => infix("|"),
        BinOp::Xor if int || bool => infix("^"),
        BinOp::Shl | BinOp::Shr if int => format!("{}({a}, {b})", h.shift(op, dtype)),
        BinOp::Sar if int && dtype.is_signed() => format!("{}({a}, {b})", h.shift(op, dtype)),
        BinOp::Add
        | BinOp::Sub
        | BinOp::Mul
        | BinOp::Div
        | BinOp::FloorDiv
        | BinOp::Mod
        | BinOp::Rem
        | BinOp::Max
        | BinOp::Min
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::Shl
        | BinOp::Sar
        | BinOp::Shr => return None,
    })
}

/// `Max` or `Min` of `a` and a constant float: knowing its sign, one comparison is enough. `None` for NaN.
pub(crate) fn clamp(op: BinOp, a: &str, constant: Scalar, literal: &str) -> Option<String> {
    let (value, negative) = (constant.to_f64(), constant.to_f64().is_sign_negative());
    // Where the operands are equal, `a` is the result, except that the constant may be the zero that wins.
    let wins = value == 0.0 && (negative == (op == BinOp::Min));
    Some(match op == BinOp::Max {
        _ if value.is_nan() => return None,
        true if wins => format!("{a} <= {literal} ? {literal} : {a}"),
        true => format!("{literal} > {a} ? {literal} : {a}"),
        false if wins => format!("{a} >= {literal} ? {literal} : {a}"),
        false => format!("{literal} < {a} ? {literal} : {a}"),
    })
}

/// A comparison; the result is 0 or 1.
pub(crate) fn compare(op: CmpOp, dtype: DType, a: &str, b: &str) -> Option<String> {
    let sign = match op {
        CmpOp::Eq => "==",
        CmpOp::Ne => "!=",
        CmpOp::Lt => "<",
        CmpOp::Le => "<=",
        CmpOp::Gt => ">",
        CmpOp::Ge => ">=",
    };
    (ctype(dtype).is_some() && !is_half(dtype)).then(|| format!("{a} {sign} {b}"))
}

/// `a * b + c` rounded once.
pub(crate) fn fma(h: &mut Helpers, dtype: DType, a: &str, b: &str, c: &str) -> Option<String> {
    matches!(dtype, DType::F32 | DType::F64).then(|| format!("{}({a}, {b}, {c})", h.fma(dtype)))
}

/// A total conversion, rounded once.
pub(crate) fn cast(h: &mut Helpers, from: DType, to: DType, a: &str) -> Option<String> {
    let t = ctype(to)?;
    ctype(from)?;
    if from == to {
        return Some(a.to_owned());
    }
    if is_half(from) {
        let x = format!("{}({a})", h.widen_half(from));
        return cast(h, DType::F32, to, &x);
    }
    if is_half(to) {
        let x = match (from, to) {
            (DType::F32, _) => a.to_owned(),
            (DType::F64, _) => format!("{}({a})", h.odd()),
            // Exact in f32, or beyond the largest f16, where every rounding gives infinity.
            (_, DType::F16) => h.float(DType::F32, a),
            (DType::I32 | DType::U32, _) => format!("{}({})", h.odd(), h.float(DType::F64, a)),
            (DType::I64 | DType::U64, _) => {
                let odd = format!("{}({a})", h.odd_int(from));
                format!("{}({})", h.odd(), h.float(DType::F64, &odd))
            }
            _ => h.float(DType::F32, a),
        };
        return Some(format!("{}({x})", h.narrow_half(to)));
    }
    Some(match (from.is_float(), to) {
        (_, DType::Bool) => format!("{a} != 0"),
        (false, DType::F32 | DType::F64) if from.is_int() => h.float(to, a),
        (true, DType::F32 | DType::F64) | (false, _) => format!("({t}){a}"),
        (true, _) => format!("{}({a})", h.saturate(from, to)),
    })
}

/// The same bits as another type of the same width.
pub(crate) fn bitcast(h: &mut Helpers, from: DType, to: DType, a: &str) -> Option<String> {
    let t = ctype(to)?;
    ctype(from)?;
    if from.size() != to.size() || to.is_bool() && !from.is_bool() {
        return None;
    }
    let held = |d: DType| d.is_float() && !is_half(d);
    Some(match held(from) || held(to) {
        true => format!("{}({a})", h.bits(from, to)),
        false => format!("({t}){a}"),
    })
}

/// A run-time number from its bits in a `u64`.
pub(crate) fn from_bits(h: &mut Helpers, to: DType, bits: &str) -> Option<String> {
    let t = ctype(to)?;
    let uint = bits_type(to);
    Some(match to == DType::F32 || to == DType::F64 {
        true => format!("{}(({}){bits})", h.bits(uint, to), uint.name()),
        false => format!("({t}){bits}"),
    })
}

/// A first operand that has its full width: C gives a literal the type `int` where that is enough, and an operation
/// among literals would then wrap at 32 bits.
fn wide(dtype: DType, a: &str) -> String {
    if dtype.size() == 8 && is_literal(a) { format!("({}){a}", dtype.name()) } else { a.to_owned() }
}

fn is_literal(a: &str) -> bool {
    a.starts_with(|c: char| c.is_ascii_digit()) || a.starts_with("(-")
}
