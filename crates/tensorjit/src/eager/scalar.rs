//! The twins of scalar operators, one for each row of the operator table.

use tj_ir::{LazyTensor, Op};
use tj_runtime::Error;
use tj_tensor::Tensor;

use super::{Argument, value};

macro_rules! scalar {
    ($($op:ident: $name:ident($($x:ident),+);)*) => {
        $(
            #[doc = concat!("The scalar operator [`Op::", stringify!($op), "`] on data.")]
            ///
            /// # Errors
            /// Dtypes that the operator is not defined on, shapes that do not fit, and what computing it may meet.
            #[track_caller]
            pub fn $name($($x: impl Argument),+) -> Result<Tensor, Error> {
                value(LazyTensor::map(Op::$op, [$($x.operand()),+]))
            }
        )*

        #[cfg(test)]
        const TWINS: &[(Op, usize)] = &[$((Op::$op, [$(stringify!($x)),+].len())),*];
    };
}

scalar! {
    Add: add(x, y);
    Sub: subtract(x, y);
    Mul: multiply(x, y);
    Div: divide(x, y);
    FloorDiv: floor_divide(x, y);
    Remainder: remainder(x, y);
    Fmod: fmod(x, y);
    Neg: negative(x);
    Abs: abs(x);
    Relu: relu(x);
    Positive: is_positive(x);
    Sign: sign(x);
    Square: square(x);
    Reciprocal: reciprocal(x);
    Ceil: ceil(x);
    Floor: floor(x);
    Trunc: trunc(x);
    Round: round(x);
    IsNan: isnan(x);
    IsInf: isinf(x);
    IsFinite: isfinite(x);
    Signbit: signbit(x);
    Copysign: copysign(x, y);
    Nextafter: nextafter(x, y);
    Pow: pow(x, y);
    Sqrt: sqrt(x);
    Exp: exp(x);
    Log: log(x);
    Tanh: tanh(x);
    Exp2: exp2(x);
    Expm1: expm1(x);
    Log1p: log1p(x);
    Log2: log2(x);
    Log10: log10(x);
    Sin: sin(x);
    Cos: cos(x);
    Sigmoid: sigmoid(x);
    Erf: erf(x);
    Tan: tan(x);
    Asin: asin(x);
    Acos: acos(x);
    Atan: atan(x);
    Atan2: atan2(y, x);
    Sinh: sinh(x);
    Cosh: cosh(x);
    Asinh: asinh(x);
    Acosh: acosh(x);
    Atanh: atanh(x);
    Cbrt: cbrt(x);
    Hypot: hypot(x, y);
    Logaddexp: logaddexp(x, y);
    Erfc: erfc(x);
    Lgamma: lgamma(x);
    Gelu: gelu(x);
    Silu: silu(x);
    Softplus: softplus(x);
    LogSigmoid: log_sigmoid(x);
    Maximum: maximum(x, y);
    Minimum: minimum(x, y);
    Fmax: fmax(x, y);
    Fmin: fmin(x, y);
    Equal: equal(x, y);
    NotEqual: not_equal(x, y);
    Less: less(x, y);
    LessEqual: less_equal(x, y);
    Greater: greater(x, y);
    GreaterEqual: greater_equal(x, y);
    LogicalAnd: logical_and(x, y);
    LogicalOr: logical_or(x, y);
    LogicalXor: logical_xor(x, y);
    LogicalNot: logical_not(x);
    ShiftLeft: bitwise_left_shift(x, count);
    ShiftRight: bitwise_right_shift(x, count);
    And: bitwise_and(x, y);
    Or: bitwise_or(x, y);
    Xor: bitwise_xor(x, y);
    Not: bitwise_invert(x);
    Where: where_(condition, yes, no);
}

#[cfg(test)]
mod tests {
    use super::TWINS;
    use tj_ir::Op;
    use tj_ir::op::TABLE;

    #[test]
    fn every_scalar_operator_has_a_twin() {
        for row in TABLE {
            let twin = TWINS.iter().find(|(op, _)| *op == row.op);
            match row.op == Op::RandomBits {
                // Its twin takes a key and a shape: `random::bits`.
                true => assert_eq!(twin, None),
                false => assert_eq!(twin.map(|(_, arity)| *arity), Some(row.arity), "{}", row.name),
            }
        }
    }
}
