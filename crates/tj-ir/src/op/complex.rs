//! Which operators take complex numbers, and what they give.

use tj_tensor::DType;

use super::Op;

impl Op {
    /// As [`Op::dtypes`], where arguments are promoted to this complex dtype. Complex numbers have no order, and no
    /// conversion to real numbers but for `abs`, the parts, and whether they are zero.
    pub(super) fn complex_dtypes(self, args: &[DType], dtype: DType) -> Option<(DType, DType)> {
        match self {
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Pow
            | Op::Neg
            | Op::Sign
            | Op::Square
            | Op::Reciprocal
            | Op::Round
            | Op::Sqrt
            | Op::Exp
            | Op::Log
            | Op::Tanh
            | Op::Exp2
            | Op::Expm1
            | Op::Log1p
            | Op::Log2
            | Op::Log10
            | Op::Sin
            | Op::Cos
            | Op::Tan
            | Op::Asin
            | Op::Acos
            | Op::Atan
            | Op::Sinh
            | Op::Cosh
            | Op::Asinh
            | Op::Acosh
            | Op::Atanh => Some((dtype, dtype)),
            Op::Abs => Some((dtype, dtype.real())),
            Op::Equal
            | Op::NotEqual
            | Op::IsNan
            | Op::IsInf
            | Op::IsFinite
            | Op::LogicalAnd
            | Op::LogicalOr
            | Op::LogicalXor
            | Op::LogicalNot => Some((dtype, DType::Bool)),
            Op::Where => (args.first() == Some(&DType::Bool)).then_some((dtype, dtype)),
            Op::Cast(to) => (to.is_complex() || to.is_bool()).then_some((dtype, to)),
            Op::FloorDiv
            | Op::Remainder
            | Op::Fmod
            | Op::Relu
            | Op::Positive
            | Op::Ceil
            | Op::Floor
            | Op::Trunc
            | Op::Signbit
            | Op::Copysign
            | Op::Nextafter
            | Op::Sigmoid
            | Op::Erf
            | Op::Atan2
            | Op::Cbrt
            | Op::Hypot
            | Op::Logaddexp
            | Op::Erfc
            | Op::Gelu
            | Op::Silu
            | Op::Softplus
            | Op::LogSigmoid
            | Op::Lgamma
            | Op::Maximum
            | Op::Minimum
            | Op::Fmax
            | Op::Fmin
            | Op::Less
            | Op::LessEqual
            | Op::Greater
            | Op::GreaterEqual
            | Op::ShiftLeft
            | Op::ShiftRight
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Not
            | Op::RandomBits
            | Op::Filled
            | Op::User(_) => None,
        }
    }
}
