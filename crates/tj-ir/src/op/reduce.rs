//! Reductions: operators of two arguments folded over an axis.
//!
//! Every reduction combines by its scalar operator ([`ReduceOp::op`]). Seven have names of their own, because they have an
//! identity that changes nothing bit for bit and are one primitive operation: their partial results start from the
//! identity. All others start from their first element, so that an identity is only what they give over nothing.

use tj_tensor::{DType, Scalar};

use super::Op;

/// An operator as a reduction.
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
    /// Logical or bitwise and; all ones over nothing.
    And,
    /// Logical or bitwise or; 0 over nothing.
    Or,
    /// Logical or bitwise exclusive or; 0 over nothing.
    Xor,
    /// Any other operator of two arguments whose result has their dtype, from the first element on; its identity over
    /// nothing, where it has one.
    By(Op),
}

/// Whether an operator combines two values of one kind: random bits are made of a key and a counter, and what a value is said to
/// be outside of entries is no second value.
fn combines(op: Op) -> bool {
    op.info().arity == 2 && !matches!(op, Op::RandomBits | Op::Filled)
}

impl ReduceOp {
    /// Those with names of their own.
    pub const ALL: [ReduceOp; 7] = [
        ReduceOp::Sum,
        ReduceOp::Prod,
        ReduceOp::Max,
        ReduceOp::Min,
        ReduceOp::And,
        ReduceOp::Or,
        ReduceOp::Xor,
    ];

    /// The reduction that combines by an operator of two arguments.
    ///
    /// ```
    /// use tj_ir::{Op, ReduceOp};
    /// assert_eq!(ReduceOp::of(Op::Add), Some(ReduceOp::Sum));
    /// assert_eq!(ReduceOp::of(Op::Logaddexp), Some(ReduceOp::By(Op::Logaddexp)));
    /// assert_eq!(ReduceOp::of(Op::Exp), None);
    /// assert_eq!(ReduceOp::of(Op::RandomBits), None);
    /// ```
    pub fn of(op: Op) -> Option<ReduceOp> {
        let named = ReduceOp::ALL.into_iter().find(|known| known.op() == op);
        named.or_else(|| combines(op).then_some(ReduceOp::By(op)))
    }

    /// What combines truth values as a logical operator does, whatever they are the truth of.
    pub(crate) fn of_truths(op: Op) -> Option<ReduceOp> {
        let pairs =
            [(Op::LogicalAnd, ReduceOp::And), (Op::LogicalOr, ReduceOp::Or), (Op::LogicalXor, ReduceOp::Xor)];
        pairs.into_iter().find(|(logical, _)| *logical == op).map(|(_, bits)| bits)
    }

    /// The reduction of this name.
    pub fn by_name(name: &str) -> Option<ReduceOp> {
        let named = ReduceOp::ALL.into_iter().find(|op| op.name() == name);
        named.or_else(|| ReduceOp::of(Op::by_name(name)?))
    }

    /// Name in every text.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
            ReduceOp::And | ReduceOp::Or | ReduceOp::Xor | ReduceOp::By(_) => self.op().name(),
        }
    }

    /// The scalar operator that combines two values.
    pub fn op(self) -> Op {
        match self {
            ReduceOp::Sum => Op::Add,
            ReduceOp::Prod => Op::Mul,
            ReduceOp::Max => Op::Maximum,
            ReduceOp::Min => Op::Minimum,
            ReduceOp::And => Op::And,
            ReduceOp::Or => Op::Or,
            ReduceOp::Xor => Op::Xor,
            ReduceOp::By(op) => op,
        }
    }

    /// The value that changes nothing, bit for bit, from which partial results start; `None` if they start from their
    /// first element.
    pub fn start(self, dtype: DType) -> Option<Scalar> {
        if let ReduceOp::By(_) = self { None } else { self.identity(dtype) }
    }

    /// The value that changes nothing, if there is one.
    fn identity(self, dtype: DType) -> Option<Scalar> {
        self.op().info().algebra.identity.map(|identity| identity.scalar(dtype))
    }

    /// The value over nothing, if there is one.
    pub fn empty(self, dtype: DType) -> Option<Scalar> {
        match self {
            ReduceOp::Sum => Some(Scalar::zero(dtype)),
            ReduceOp::Max | ReduceOp::Min => None,
            // These change nothing but a sign.
            ReduceOp::By(Op::Hypot) => Some(Scalar::zero(dtype)),
            ReduceOp::By(Op::Logaddexp) => Scalar::lowest(dtype),
            ReduceOp::Prod | ReduceOp::And | ReduceOp::Or | ReduceOp::Xor | ReduceOp::By(_) => {
                self.identity(dtype)
            }
        }
    }

    /// What a kernel may write where a reduction over nothing has no value: nobody reads it, since a guard has refused
    /// the size.
    pub fn empty_or_any(self, dtype: DType) -> Scalar {
        self.empty(dtype).or_else(|| self.start(dtype)).unwrap_or_else(|| Scalar::zero(dtype))
    }

    /// Whether values may be combined in any order. Otherwise each is combined with the result for those before it.
    pub fn is_reorderable(self) -> bool {
        let algebra = self.op().info().algebra;
        algebra.associative.is_some() && algebra.commutative.is_some()
    }

    /// Whether partial results may have this dtype: halves are combined in f32, so that a result is rounded once.
    pub fn combines(self, dtype: DType) -> bool {
        let closed = || self.op().dtypes(&[dtype, dtype]).is_some_and(|(_, result)| result == dtype);
        !matches!(dtype, DType::F16 | DType::BF16) && closed()
    }

    /// Dtype of the result: sums and products of `bool` and narrow integers widen.
    /// Elements are combined in it, but for f16 and bf16. Whether there is arithmetic on it is for [`Op::dtypes`] of [`ReduceOp::op`] to say.
    pub fn dtype(self, arg: DType) -> DType {
        match self {
            ReduceOp::Max | ReduceOp::Min | ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => arg,
            ReduceOp::By(op) => op.dtypes(&[arg, arg]).map_or(arg, |(work, _)| work),
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
