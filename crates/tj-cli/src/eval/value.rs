//! Values of expressions, and arithmetic on those that are not tensors.

use tensorjit::{DType, Dim, LazyTensor, Op, Operand, Scalar, number, size};

use super::checked;
use crate::ast::{BinaryOp, Span};
use crate::diagnostic::Diagnostic;

/// What an expression is worth.
#[derive(Clone, Debug)]
pub enum Value {
    /// A tensor.
    Tensor(LazyTensor),
    /// An integer whose dtype gives way.
    Int(i64),
    /// A float whose dtype gives way.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A size.
    Size(Dim),
    /// A float that sizes decide, whose dtype gives way: a tensor of rank 0.
    Number(LazyTensor),
    /// A word or string.
    Text(String),
    /// `None`.
    None,
    /// A tuple or list.
    Sequence(Vec<Value>),
}

impl Value {
    pub(super) fn is_tensor(&self) -> bool {
        matches!(self, Value::Tensor(_))
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }

    fn kind(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a truth value",
            Value::Size(_) => "a size",
            Value::Number(_) => "a number of sizes",
            Value::Text(_) => "a word",
            Value::None => "None",
            Value::Sequence(_) => "a sequence",
        }
    }

    pub(super) fn not(&self, wanted: &str, span: Span) -> Diagnostic {
        Diagnostic::new(format!("this is {}, not {wanted}", self.kind()), span)
    }

    /// As an operand, in which host numbers stay weak.
    pub(super) fn into_operand(self, span: Span) -> Result<Operand, Diagnostic> {
        Ok(match self {
            Value::Tensor(t) | Value::Number(t) => Operand::Tensor(t),
            Value::Int(n) => Operand::Int(n),
            Value::Float(x) => Operand::Float(x),
            Value::Bool(b) => Operand::Bool(b),
            Value::Size(d) => match d.is_const() {
                Some(n) => Operand::Int(n),
                None => Operand::Tensor(size(&d)),
            },
            Value::Text(_) | Value::None | Value::Sequence(_) => {
                return Err(self.not("a tensor or number", span));
            }
        })
    }

    /// As a tensor; numbers become tensors of rank 0.
    pub(crate) fn into_tensor(self, span: Span) -> Result<LazyTensor, Diagnostic> {
        Ok(match self.into_operand(span)? {
            Operand::Tensor(t) => t,
            Operand::Int(n) => number(n),
            Operand::Float(x) => number(x),
            Operand::Bool(b) => number(b),
            Operand::Complex(z) => number(z),
        })
    }

    pub(super) fn as_int(&self, span: Span) -> Result<i64, Diagnostic> {
        match self {
            Value::Int(n) => Ok(*n),
            Value::Size(d) => d.actual().ok_or_else(|| self.not("a fixed integer", span)),
            other => Err(other.not("an integer", span)),
        }
    }

    pub(super) fn as_float(&self, span: Span) -> Result<f64, Diagnostic> {
        match self {
            Value::Int(n) => Ok(*n as f64),
            Value::Float(x) => Ok(*x),
            other => Err(other.not("a number", span)),
        }
    }

    pub(super) fn as_bool(&self, span: Span) -> Result<bool, Diagnostic> {
        match self {
            Value::Bool(b) => Ok(*b),
            other => Err(other.not("True or False", span)),
        }
    }

    pub(super) fn as_size(&self, span: Span) -> Result<Dim, Diagnostic> {
        match self {
            Value::Int(n) => Ok(Dim::from(*n)),
            Value::Size(d) => Ok(d.clone()),
            other => Err(other.not("a size", span)),
        }
    }

    /// As a number that gives way to the dtype where it goes.
    pub(super) fn as_scalar(&self, span: Span) -> Result<Scalar, Diagnostic> {
        match self {
            Value::Int(n) => Ok((*n).into()),
            Value::Float(x) => Ok((*x).into()),
            Value::Bool(b) => Ok((*b).into()),
            other => Err(other.not("a number", span)),
        }
    }

    pub(super) fn as_items(&self) -> Vec<Value> {
        match self {
            Value::Sequence(items) => items.clone(),
            other => vec![other.clone()],
        }
    }
}

/// The operator of the table that an infix operator is on tensors.
pub(super) fn tensor_op(op: BinaryOp) -> Option<Op> {
    Op::by_symbol(op.symbol())
}

/// Operands as they meet in one operator: numbers of sizes follow tensors of floats.
pub(super) fn operands(values: &[(Value, Span)]) -> Result<Vec<Operand>, Diagnostic> {
    let dtype_of = |(value, _): &(Value, Span)| match value {
        Value::Tensor(tensor) => Some(tensor.dtype()),
        Value::Int(_)
        | Value::Float(_)
        | Value::Bool(_)
        | Value::Size(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::None
        | Value::Sequence(_) => None,
    };
    let strong = values.iter().filter_map(dtype_of).reduce(DType::promote).map(DType::real);
    let operand = |(value, span): &(Value, Span)| match (value, strong) {
        (Value::Number(number), Some(dtype)) if dtype.is_float() => Ok(Operand::Tensor(number.cast(dtype))),
        (value, _) => value.clone().into_operand(*span),
    };
    values.iter().map(operand).collect()
}

/// Applies an operator to operands of which one is a tensor at least.
pub(super) fn apply(op: Op, args: impl IntoIterator<Item = Operand>) -> LazyTensor {
    let args: Vec<Operand> = args.into_iter().collect();
    // A power to a known number may be a product.
    if let (Op::Pow, [Operand::Tensor(x), exponent]) = (op, args.as_slice()) {
        return x.pow(exponent.clone());
    }
    LazyTensor::map(op, args)
}

/// Minus a number or size that is not a tensor; `None` for anything else.
pub(super) fn host_neg(value: &Value, span: Span) -> Option<Result<Value, Diagnostic>> {
    let zero = match value {
        Value::Int(_) | Value::Size(_) => Value::Int(0),
        Value::Float(x) => return Some(Ok(Value::Float(-x))),
        Value::Number(x) => return Some(Ok(Value::Number(-x))),
        Value::Tensor(_) | Value::Bool(_) | Value::Text(_) | Value::None | Value::Sequence(_) => return None,
    };
    Some(host_binary(BinaryOp::Sub, &zero, value, span))
}

/// The quotient rounded down, unless it overflows; `y` is not 0.
fn floor_div(x: i64, y: i64) -> Option<i64> {
    let rounded_up = x.wrapping_rem(y) != 0 && (x < 0) != (y < 0);
    Some(x.checked_div(y)? - i64::from(rounded_up))
}

/// What a floored division leaves, which has the sign of `y`; `y` is not 0.
fn floor_mod(x: i64, y: i64) -> i64 {
    let rest = x.wrapping_rem(y);
    if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }
}

/// A power with an exponent from 0, unless it overflows.
fn power(x: i64, y: i64) -> Option<i64> {
    match (x, u32::try_from(y)) {
        (_, Ok(y)) => x.checked_pow(y),
        (0 | 1, Err(_)) => Some(x),
        (-1, Err(_)) => Some(if y % 2 == 0 { 1 } else { -1 }),
        (_, Err(_)) => None,
    }
}

fn undefined(op: BinaryOp, a: &Value, b: &Value, span: Span) -> Diagnostic {
    Diagnostic::new(format!("`{}` is not defined on {} and {}", op.symbol(), a.kind(), b.kind()), span)
}

/// An infix operator on numbers and sizes.
pub(super) fn host_binary(op: BinaryOp, a: &Value, b: &Value, span: Span) -> Result<Value, Diagnostic> {
    let unknown = || undefined(op, a, b, span);
    let overflow = || Diagnostic::new(format!("`{}` overflows 64 bits", op.symbol()), span);
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => {
            let (x, y) = (*x, *y);
            let result = match op.symbol() {
                "+" => x.checked_add(y),
                "-" => x.checked_sub(y),
                "*" => x.checked_mul(y),
                "//" if y != 0 => floor_div(x, y),
                "%" if y != 0 => Some(floor_mod(x, y)),
                "**" if y >= 0 => power(x, y),
                "**" if x != 0 => return Ok(Value::Float((x as f64).powf(y as f64))),
                "/" => return Ok(Value::Float(x as f64 / y as f64)),
                "<" => return Ok(Value::Bool(x < y)),
                "<=" => return Ok(Value::Bool(x <= y)),
                ">" => return Ok(Value::Bool(x > y)),
                ">=" => return Ok(Value::Bool(x >= y)),
                "==" => return Ok(Value::Bool(x == y)),
                "!=" => return Ok(Value::Bool(x != y)),
                "//" | "%" | "**" => return Err(Diagnostic::new("division by zero", span)),
                _ => return Err(unknown()),
            };
            result.map(Value::Int).ok_or_else(overflow)
        }
        (Value::Size(_) | Value::Int(_), Value::Size(_) | Value::Int(_)) => {
            let (x, y) = (a.as_size(span)?, b.as_size(span)?);
            let result = match op.symbol() {
                "+" => x + y,
                "-" => x - y,
                "*" => x * y,
                "//" => x.floordiv(&y),
                "%" => x.modulo(&y),
                _ => return as_numbers(op, [a, b], span),
            };
            result.check().map_err(|e| Diagnostic::new(e.to_string(), span))?;
            Ok(Value::Size(result))
        }
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            let float = |v: &Value| match v {
                Value::Int(n) => *n as f64,
                Value::Float(x) => *x,
                Value::Tensor(_)
                | Value::Bool(_)
                | Value::Size(_)
                | Value::Number(_)
                | Value::Text(_)
                | Value::None
                | Value::Sequence(_) => f64::NAN,
            };
            let (x, y) = (float(a), float(b));
            Ok(match op.symbol() {
                "+" => Value::Float(x + y),
                "-" => Value::Float(x - y),
                "*" => Value::Float(x * y),
                "/" => Value::Float(x / y),
                "//" => Value::Float((x / y).floor()),
                "%" => {
                    let rest = x % y;
                    // The remainder has the sign of the divisor.
                    Value::Float(if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest })
                }
                "**" => Value::Float(x.powf(y)),
                "<" => Value::Bool(x < y),
                "<=" => Value::Bool(x <= y),
                ">" => Value::Bool(x > y),
                ">=" => Value::Bool(x >= y),
                "==" => Value::Bool(x == y),
                "!=" => Value::Bool(x != y),
                _ => return Err(unknown()),
            })
        }
        (
            Value::Size(_) | Value::Number(_),
            Value::Int(_) | Value::Float(_) | Value::Size(_) | Value::Number(_),
        )
        | (Value::Int(_) | Value::Float(_), Value::Size(_) | Value::Number(_)) => {
            as_numbers(op, [a, b], span)
        }
        _ => Err(unknown()),
    }
}

/// An infix operator whose result is no size, on sizes that are known as the numbers that they are, and on others as tensors.
fn as_numbers(op: BinaryOp, operands: [&Value; 2], span: Span) -> Result<Value, Diagnostic> {
    let known = |value: &Value| match value {
        Value::Size(size) => size.is_const().map_or_else(|| value.clone(), Value::Int),
        Value::Tensor(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::None
        | Value::Sequence(_) => value.clone(),
    };
    let [a, b] = operands.map(known);
    if ![&a, &b].iter().any(|value| matches!(value, Value::Size(_) | Value::Number(_))) {
        return host_binary(op, &a, &b, span);
    }
    let Some(scalar) = tensor_op(op) else { return Err(undefined(op, &a, &b, span)) };
    match checked(apply(scalar, [a.into_operand(span)?, b.into_operand(span)?]), span)? {
        Value::Tensor(number) if number.dtype() == DType::F64 => Ok(Value::Number(number)),
        other => Ok(other),
    }
}
