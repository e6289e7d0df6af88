//! The elementwise functions of the standard.

use tensorjit::op::DTypeRule;
use tensorjit::{DType, Error, LazyTensor, Op, Tensor, compute, number};

use super::line;

/// Name in the standard, operator, arguments, and what it gives. Arguments of operators on bits are integers.
pub const STANDARD: &[(&str, Op, &[f64], f64)] = &[
    ("abs", Op::Abs, &[-1.5], 1.5),
    ("acos", Op::Acos, &[0.5], std::f64::consts::FRAC_PI_3),
    ("acosh", Op::Acosh, &[2.0], 1.3169578969248166),
    ("add", Op::Add, &[1.5, 2.0], 3.5),
    ("asin", Op::Asin, &[0.5], std::f64::consts::FRAC_PI_6),
    ("asinh", Op::Asinh, &[1.0], 0.881373587019543),
    ("atan", Op::Atan, &[1.0], std::f64::consts::FRAC_PI_4),
    ("atan2", Op::Atan2, &[1.0, 1.0], std::f64::consts::FRAC_PI_4),
    ("atanh", Op::Atanh, &[0.5], 0.5493061443340548),
    ("bitwise_and", Op::And, &[6.0, 3.0], 2.0),
    ("bitwise_invert", Op::Not, &[6.0], -7.0),
    ("bitwise_left_shift", Op::ShiftLeft, &[6.0, 2.0], 24.0),
    ("bitwise_or", Op::Or, &[6.0, 3.0], 7.0),
    ("bitwise_right_shift", Op::ShiftRight, &[6.0, 1.0], 3.0),
    ("bitwise_xor", Op::Xor, &[6.0, 3.0], 5.0),
    ("ceil", Op::Ceil, &[1.2], 2.0),
    ("copysign", Op::Copysign, &[1.0, -2.0], -1.0),
    ("cos", Op::Cos, &[0.0], 1.0),
    ("cosh", Op::Cosh, &[1.0], 1.5430806348152437),
    ("divide", Op::Div, &[1.0, 4.0], 0.25),
    ("equal", Op::Equal, &[1.0, 1.0], 1.0),
    ("exp", Op::Exp, &[1.0], std::f64::consts::E),
    ("expm1", Op::Expm1, &[1.0], 1.718281828459045),
    ("floor", Op::Floor, &[-1.2], -2.0),
    ("floor_divide", Op::FloorDiv, &[-7.0, 2.0], -4.0),
    ("greater", Op::Greater, &[2.0, 1.0], 1.0),
    ("greater_equal", Op::GreaterEqual, &[1.0, 2.0], 0.0),
    ("hypot", Op::Hypot, &[3.0, 4.0], 5.0),
    ("isfinite", Op::IsFinite, &[f64::INFINITY], 0.0),
    ("isinf", Op::IsInf, &[f64::INFINITY], 1.0),
    ("isnan", Op::IsNan, &[f64::NAN], 1.0),
    ("less", Op::Less, &[2.0, 1.0], 0.0),
    ("less_equal", Op::LessEqual, &[1.0, 2.0], 1.0),
    ("log", Op::Log, &[std::f64::consts::E], 1.0),
    ("log1p", Op::Log1p, &[1.0], std::f64::consts::LN_2),
    ("log2", Op::Log2, &[8.0], 3.0),
    ("log10", Op::Log10, &[1000.0], 3.0),
    ("logaddexp", Op::Logaddexp, &[0.0, 0.0], std::f64::consts::LN_2),
    ("logical_and", Op::LogicalAnd, &[1.0, 0.0], 0.0),
    ("logical_not", Op::LogicalNot, &[0.0], 1.0),
    ("logical_or", Op::LogicalOr, &[1.0, 0.0], 1.0),
    ("logical_xor", Op::LogicalXor, &[1.0, 1.0], 0.0),
    ("maximum", Op::Maximum, &[1.0, f64::NAN], f64::NAN),
    ("minimum", Op::Minimum, &[1.0, 2.0], 1.0),
    ("multiply", Op::Mul, &[1.5, 2.0], 3.0),
    ("negative", Op::Neg, &[1.5], -1.5),
    ("nextafter", Op::Nextafter, &[1.0, 2.0], 1.0000000000000002),
    ("not_equal", Op::NotEqual, &[1.0, 1.0], 0.0),
    ("pow", Op::Pow, &[2.0, 0.5], std::f64::consts::SQRT_2),
    ("reciprocal", Op::Reciprocal, &[4.0], 0.25),
    ("remainder", Op::Remainder, &[-7.0, 2.0], 1.0),
    ("round", Op::Round, &[2.5], 2.0),
    ("sign", Op::Sign, &[-3.0], -1.0),
    ("signbit", Op::Signbit, &[-0.0], 1.0),
    ("sin", Op::Sin, &[1.0], 0.8414709848078965),
    ("sinh", Op::Sinh, &[1.0], 1.1752011936438014),
    ("square", Op::Square, &[3.0], 9.0),
    ("sqrt", Op::Sqrt, &[2.0], std::f64::consts::SQRT_2),
    ("subtract", Op::Sub, &[1.5, 2.0], -0.5),
    ("tan", Op::Tan, &[1.0], 1.5574077246549023),
    ("tanh", Op::Tanh, &[1.0], 0.7615941559557649),
    ("trunc", Op::Trunc, &[-1.7], -1.0),
    ("where", Op::Where, &[1.0, 2.0, 3.0], 2.0),
];

/// One operator on numbers.
pub fn apply(op: Op, args: &[f64]) -> Result<Tensor, Error> {
    let bits = matches!(op.info().dtypes, DTypeRule::Bits | DTypeRule::Integer);
    let args = args.iter().enumerate().map(|(at, &x)| match (bits, op, at) {
        (true, _, _) => number(x as i64).into(),
        (false, Op::Where, 0) => number(x != 0.0).into(),
        (false, _, _) => number(x).into(),
    });
    compute(LazyTensor::map(op, args))
}

/// The rows of the document; functions that are searched for elsewhere are left out.
pub fn lines(text: &mut String) {
    for &(name, op, args, _) in STANDARD.iter().filter(|(_, op, _, _)| *op != Op::Where) {
        let complex = op.dtypes(&vec![DType::C128; args.len()]).is_some();
        let rule = match op.info().dtypes {
            DTypeRule::Same | DTypeRule::Number | DTypeRule::Choice | DTypeRule::To(_) => "real numbers",
            DTypeRule::Float => "real numbers; integers go to f64",
            DTypeRule::Predicate => "real numbers; gives bool",
            DTypeRule::Bits => "integers and bool",
            DTypeRule::Integer => "integers",
        };
        let ours = match (op, op.info().symbol) {
            (_, Some(symbol)) if args.len() == 2 && symbol.len() < 3 && is_rust(symbol) => {
                format!("`x {symbol} y`")
            }
            (Op::Neg, _) => "`-x`".to_string(),
            (Op::Not, _) => "`!x`".to_string(),
            (_, _) if args.len() == 2 => format!("`x.{name}(y)`"),
            (_, _) => format!("`x.{name}()`"),
        };
        let rule = if complex { rule.replace("real numbers", "numbers") } else { rule.to_string() };
        line(text, &[&format!("`{name}`"), &ours, "yes", &rule]);
    }
    line(text, &["`positive`", "`x.positive()`", "yes", "numbers"]);
    line(text, &["`clip`", "`x.clip(low, high)`", "yes", "real numbers; a bound may be `None`"]);
    for name in ["conj", "imag", "real"] {
        line(text, &[&format!("`{name}`"), &format!("`x.{name}()`"), "yes", "numbers"]);
    }
}

/// Whether lazy tensors have an operator of Rust for it that gives a tensor.
fn is_rust(symbol: &str) -> bool {
    ["+", "-", "*", "/", "%", "&", "|", "^"].contains(&symbol)
}
