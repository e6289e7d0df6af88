//! Elementary functions on a [`Machine`].

use tj_tensor::{DType, Scalar};

use crate::elementary::{Arith, Elementary, Elementary2, Width};
use crate::prim::{BinOp, CmpOp, Machine, UnOp};

/// A function of one argument, an f32 or f64.
pub(super) fn function<M: Machine>(m: &mut M, a: M::V, function: Elementary) -> M::V {
    let mut on = OnMachine::new(m, a, function.name());
    function.emit(&mut on, a)
}

/// A function of two arguments, both f32 or both f64.
pub(super) fn function2<M: Machine>(m: &mut M, a: M::V, b: M::V, function: Elementary2) -> M::V {
    let mut on = OnMachine::new(m, a, function.name());
    function.emit(&mut on, a, b)
}

/// Elementary functions on a [`Machine`]: one float width at a time.
struct OnMachine<'m, M> {
    m: &'m mut M,
    width: Width,
    float: DType,
    int: DType,
}

impl<'m, M: Machine> OnMachine<'m, M> {
    fn new(m: &'m mut M, a: M::V, name: &str) -> OnMachine<'m, M> {
        let dtype = m.dtype(a);
        if dtype == DType::F32 {
            return OnMachine { m, width: Width::F32, float: DType::F32, int: DType::I32 };
        }
        assert_eq!(dtype, DType::F64, "elementary function {name} is defined on f32 and f64");
        OnMachine { m, width: Width::F64, float: DType::F64, int: DType::I64 }
    }
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

    fn sqrt(&mut self, x: M::V) -> M::V {
        self.m.unary(UnOp::Sqrt, x)
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
