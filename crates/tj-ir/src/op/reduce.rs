//! Reductions: associative operators folded over an axis.

use tj_tensor::{DType, Scalar};

use super::Op;

/// An associative operator as a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReduceOp {
    /// Sum; 0 over nothing.
    Sum,
    /// Product; 1 over nothing.
    Prod,
    /// Greatest; undefined over nothing.
    Max,
    /// Least; undefined over nothing.
    Min,
}

impl ReduceOp {
    /// All of them.
    pub const ALL: [ReduceOp; 4] = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];

    /// Name in every text.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
        }
    }

    /// The scalar operator that combines two values.
    pub fn op(self) -> Op {
        match self {
            ReduceOp::Sum => Op::Add,
            ReduceOp::Prod => Op::Mul,
            ReduceOp::Max => Op::Maximum,
            ReduceOp::Min => Op::Minimum,
        }
    }

    /// The value that changes nothing, bit for bit.
    pub fn identity(self, dtype: DType) -> Scalar {
        self.op()
            .info()
            .algebra
            .identity
            .expect("a reduction combines by an operator with an identity")
            .scalar(dtype)
    }

    /// The value over nothing, if there is one.
    pub fn empty(self, dtype: DType) -> Option<Scalar> {
        match self {
            ReduceOp::Sum => Some(Scalar::zero(dtype)),
            ReduceOp::Prod => Some(Scalar::one(dtype)),
            ReduceOp::Max | ReduceOp::Min => None,
        }
    }

    /// Whether partial results may have this dtype: halves are combined in f32, so that a result is rounded once.
    pub fn combines(self, dtype: DType) -> bool {
        !matches!(dtype, DType::F16 | DType::BF16) && self.op().dtypes(&[dtype]).is_some()
    }

    /// Dtype of the result: sums and products of `bool` and narrow integers widen.
    /// Elements are combined in it, but for f16 and bf16. Whether there is arithmetic on it is for [`Op::dtypes`] of [`ReduceOp::op`] to say.
    pub fn dtype(self, arg: DType) -> DType {
        match self {
            ReduceOp::Max | ReduceOp::Min => arg,
            ReduceOp::Sum | ReduceOp::Prod => match arg {
                DType::Bool | DType::I8 | DType::I16 | DType::I32 => DType::I64,
                DType::U8 | DType::U16 | DType::U32 => DType::U64,
                DType::I64
                | DType::U64
                | DType::F16
                | DType::BF16
                | DType::F32
                | DType::F64
                | DType::C64
                | DType::C128 => arg,
            },
        }
    }
}
