//! What each scalar operator computes, over primitive operations.
//!
//! Written once and used twice: on numbers by the interpreters, and to write kernels. Arguments already have the
//! dtype in which the operator works.

use tj_tensor::{DType, Scalar};

use crate::elementary::{Arith, Elementary, Width};
use crate::op::{Op, ReduceOp};
use crate::prim::{BinOp, CmpOp, Machine, UnOp};
use crate::threefry::threefry;

/// Applies `op` to `args`, which have the dtypes that `Op::dtypes` asks for.
///
/// # Panics
/// On a wrong number of arguments or a dtype the operator is not defined on.
pub fn expand<M: Machine>(m: &mut M, op: Op, args: &[M::V]) -> M::V {
    match (op, args) {
        (Op::Cast(to), &[a]) => cast(m, a, to),
        (Op::Add, &[a, b]) => combine(m, BinOp::Add, a, b),
        (Op::Sub, &[a, b]) => m.binary(BinOp::Sub, a, b),
        (Op::Mul, &[a, b]) => combine(m, BinOp::Mul, a, b),
        (Op::Div, &[a, b]) => m.binary(BinOp::Div, a, b),
        (Op::FloorDiv, &[a, b]) => m.binary(BinOp::FloorDiv, a, b),
        (Op::Remainder, &[a, b]) => m.binary(BinOp::Mod, a, b),
        (Op::Neg, &[a]) => m.unary(UnOp::Neg, a),
        (Op::Abs, &[a]) => m.unary(UnOp::Abs, a),
        (Op::Relu, &[a]) => {
            let zero = zero_like(m, a);
            let low = m.compare(CmpOp::Le, a, zero);
            m.select(low, zero, a)
        }
        (Op::Positive, &[a]) => {
            let zero = zero_like(m, a);
            m.compare(CmpOp::Gt, a, zero)
        }
        (Op::Sqrt, &[a]) => m.unary(UnOp::Sqrt, a),
        (Op::Exp, &[a]) => elementary_function(m, a, Elementary::Exp),
        (Op::Log, &[a]) => elementary_function(m, a, Elementary::Log),
        (Op::Tanh, &[a]) => elementary_function(m, a, Elementary::Tanh),
        (Op::Exp2, &[a]) => elementary_function(m, a, Elementary::Exp2),
        (Op::Expm1, &[a]) => elementary_function(m, a, Elementary::Expm1),
        (Op::Log1p, &[a]) => elementary_function(m, a, Elementary::Log1p),
        (Op::Log2, &[a]) => elementary_function(m, a, Elementary::Log2),
        (Op::Log10, &[a]) => elementary_function(m, a, Elementary::Log10),
        (Op::Sin, &[a]) => elementary_function(m, a, Elementary::Sin),
        (Op::Cos, &[a]) => elementary_function(m, a, Elementary::Cos),
        (Op::Sigmoid, &[a]) => elementary_function(m, a, Elementary::Sigmoid),
        (Op::Erf, &[a]) => elementary_function(m, a, Elementary::Erf),
        (Op::Maximum, &[a, b]) => combine(m, BinOp::Max, a, b),
        (Op::Minimum, &[a, b]) => combine(m, BinOp::Min, a, b),
        (Op::Fmax, &[a, b]) => ignoring_nan(m, BinOp::Max, a, b),
        (Op::Fmin, &[a, b]) => ignoring_nan(m, BinOp::Min, a, b),
        (Op::Equal, &[a, b]) => m.compare(CmpOp::Eq, a, b),
        (Op::NotEqual, &[a, b]) => m.compare(CmpOp::Ne, a, b),
        (Op::Less, &[a, b]) => m.compare(CmpOp::Lt, a, b),
        (Op::LessEqual, &[a, b]) => m.compare(CmpOp::Le, a, b),
        (Op::Greater, &[a, b]) => m.compare(CmpOp::Gt, a, b),
        (Op::GreaterEqual, &[a, b]) => m.compare(CmpOp::Ge, a, b),
        (Op::And, &[a, b]) => m.binary(BinOp::And, a, b),
        (Op::Or, &[a, b]) => m.binary(BinOp::Or, a, b),
        (Op::Xor, &[a, b]) => m.binary(BinOp::Xor, a, b),
        (Op::Not, &[a]) => m.unary(UnOp::Not, a),
        (Op::Where, &[c, a, b]) => m.select(c, a, b),
        (Op::RandomBits, &[key, counter]) => threefry(m, key, counter),
        _ => panic!("operator {} does not take {} arguments", op.name(), args.len()),
    }
}

/// The primitive that combines two partial results of a reduction.
pub fn combiner(op: ReduceOp, dtype: DType) -> BinOp {
    match (op, dtype.is_bool()) {
        (ReduceOp::Sum | ReduceOp::Max, true) => BinOp::Or,
        (ReduceOp::Prod | ReduceOp::Min, true) => BinOp::And,
        (ReduceOp::Sum, false) => BinOp::Add,
        (ReduceOp::Prod, false) => BinOp::Mul,
        (ReduceOp::Max, false) => BinOp::Max,
        (ReduceOp::Min, false) => BinOp::Min,
    }
}

fn zero_like<M: Machine>(m: &mut M, a: M::V) -> M::V {
    let dtype = m.dtype(a);
    m.constant(Scalar::zero(dtype))
}

fn cast<M: Machine>(m: &mut M, a: M::V, to: DType) -> M::V {
    if m.dtype(a) == to { a } else { m.cast(a, to) }
}

/// Two values by one of the primitives that reductions combine by; on `bool` sums are or, products are and.
fn combine<M: Machine>(m: &mut M, op: BinOp, a: M::V, b: M::V) -> M::V {
    let op = match m.dtype(a).is_bool() {
        true if matches!(op, BinOp::Add | BinOp::Max) => BinOp::Or,
        true => BinOp::And,
        false => op,
    };
    m.binary(op, a, b)
}

fn ignoring_nan<M: Machine>(m: &mut M, op: BinOp, a: M::V, b: M::V) -> M::V {
    let both = combine(m, op, a, b);
    if !m.dtype(a).is_float() {
        return both;
    }
    let a_is_nan = m.compare(CmpOp::Ne, a, a);
    let b_is_nan = m.compare(CmpOp::Ne, b, b);
    let unless_a = m.select(a_is_nan, b, both);
    m.select(b_is_nan, a, unless_a)
}

fn elementary_function<M: Machine>(m: &mut M, a: M::V, function: Elementary) -> M::V {
    let dtype = m.dtype(a);
    let (width, float, int) = if dtype == DType::F32 {
        (Width::F32, DType::F32, DType::I32)
    } else {
        assert_eq!(dtype, DType::F64, "elementary function {} is defined on f32 and f64", function.name());
        (Width::F64, DType::F64, DType::I64)
    };
    function.emit(&mut OnMachine { m, width, float, int }, a)
}

/// Elementary functions on a [`Machine`]: one float width at a time.
struct OnMachine<'m, M> {
    m: &'m mut M,
    width: Width,
    float: DType,
    int: DType,
}

impl<M: Machine> Arith for OnMachine<'_, M> {
    type Float = M::V;
    type Int = M::V;
    type Truth = M::V;

    fn width(&self) -> Width {
        self.width
    }

    fn float(&mut self, x: f64) -> M::V {
        self.m.constant(Scalar::F64(x).cast(self.float))
    }

    fn int(&mut self, x: i64) -> M::V {
        self.m.constant(Scalar::I64(x).cast(self.int))
    }

    fn add(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.binary(BinOp::Add, x, y)
    }

    fn sub(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.binary(BinOp::Sub, x, y)
    }

    fn mul(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.binary(BinOp::Mul, x, y)
    }

    fn div(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.binary(BinOp::Div, x, y)
    }

    fn neg(&mut self, x: M::V) -> M::V {
        self.m.unary(UnOp::Neg, x)
    }

    fn abs(&mut self, x: M::V) -> M::V {
        self.m.unary(UnOp::Abs, x)
    }

    fn iadd(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.binary(BinOp::Add, x, y)
    }

    fn isub(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.binary(BinOp::Sub, x, y)
    }

    fn iand(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.binary(BinOp::And, x, y)
    }

    fn ior(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.binary(BinOp::Or, x, y)
    }

    fn ishl(&mut self, x: M::V, n: u32) -> M::V {
        let n = self.int(i64::from(n));
        self.m.binary(BinOp::Shl, x, n)
    }

    fn ushr(&mut self, x: M::V, n: u32) -> M::V {
        let n = self.int(i64::from(n));
        self.m.binary(BinOp::Shr, x, n)
    }

    fn float_to_bits(&mut self, x: M::V) -> M::V {
        self.m.bitcast(x, self.int)
    }

    fn bits_to_float(&mut self, x: M::V) -> M::V {
        self.m.bitcast(x, self.float)
    }

    fn lt(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.compare(CmpOp::Lt, x, y)
    }

    fn eq(&mut self, x: M::V, y: M::V) -> M::V {
        self.m.compare(CmpOp::Eq, x, y)
    }

    fn select(&mut self, c: M::V, x: M::V, y: M::V) -> M::V {
        self.m.select(c, x, y)
    }
}
