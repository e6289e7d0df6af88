//! `+ - * / % & | ^ << >> - !` on lazy tensors and host numbers.
//!
//! On the right of an operator stands anything that is an [`Operand`]. On the left, a host number is `i64`, `f64` or
//! `bool` and nothing else: with one integer and one float type to choose from, the type of a literal follows, and
//! `(1 - &x).sum(0)` compiles. A variable of another type is converted by the caller, `i64::from(n) - &x`, which
//! changes nothing: host numbers take the dtype of the tensor.

use std::ops;
use std::panic::Location;

use super::LazyTensor;
use super::elementwise::{Operand, map};
use crate::op::Op;

macro_rules! binary {
    ($($trait:ident $method:ident $op:ident for $($host:ident)*),* $(,)?) => {
        $(
            impl<R: Into<Operand>> ops::$trait<R> for LazyTensor {
                type Output = LazyTensor;
                #[track_caller]
                fn $method(self, other: R) -> LazyTensor {
                    map(Op::$op, [self.into(), other.into()], Location::caller())
                }
            }

            impl<R: Into<Operand>> ops::$trait<R> for &LazyTensor {
                type Output = LazyTensor;
                #[track_caller]
                fn $method(self, other: R) -> LazyTensor {
                    map(Op::$op, [self.into(), other.into()], Location::caller())
                }
            }

            $(binary!(@host $trait $method $op $host);)*
        )*
    };
    (@host $trait:ident $method:ident $op:ident $host:ident) => {
        impl ops::$trait<LazyTensor> for $host {
            type Output = LazyTensor;
            #[track_caller]
            fn $method(self, other: LazyTensor) -> LazyTensor {
                map(Op::$op, [self.into(), other.into()], Location::caller())
            }
        }

        impl ops::$trait<&LazyTensor> for $host {
            type Output = LazyTensor;
            #[track_caller]
            fn $method(self, other: &LazyTensor) -> LazyTensor {
                map(Op::$op, [self.into(), other.into()], Location::caller())
            }
        }
    };
}

binary! {
    Add add Add for i64 f64,
    Sub sub Sub for i64 f64,
    Mul mul Mul for i64 f64,
    Div div Div for i64 f64,
    Rem rem Remainder for i64 f64,
    BitAnd bitand And for i64 bool,
    BitOr bitor Or for i64 bool,
    BitXor bitxor Xor for i64 bool,
    Shl shl ShiftLeft for i64,
    Shr shr ShiftRight for i64,
}

macro_rules! unary {
    ($($trait:ident $method:ident $op:ident),* $(,)?) => {
        $(
            impl ops::$trait for LazyTensor {
                type Output = LazyTensor;
                #[track_caller]
                fn $method(self) -> LazyTensor {
                    map(Op::$op, [self.into()], Location::caller())
                }
            }

            impl ops::$trait for &LazyTensor {
                type Output = LazyTensor;
                #[track_caller]
                fn $method(self) -> LazyTensor {
                    map(Op::$op, [self.into()], Location::caller())
                }
            }
        )*
    };
}

unary! {
    Neg neg Neg,
    Not not Not,
}
