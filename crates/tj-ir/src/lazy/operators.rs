//! `+ - * / & | ^ - !` on lazy tensors and host numbers.

use std::ops;
use std::panic::Location;

use super::LazyTensor;
use super::elementwise::{Operand, map};
use crate::op::Op;

macro_rules! binary {
    ($($trait:ident $method:ident $op:ident),* $(,)?) => {
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

            binary!(@host $trait $method $op i32 i64 f32 f64);
        )*
    };
    (@host $trait:ident $method:ident $op:ident $($host:ident)*) => {
        $(
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
        )*
    };
}

binary! {
    Add add Add,
    Sub sub Sub,
    Mul mul Mul,
    Div div Div,
    Rem rem Remainder,
    BitAnd bitand And,
    BitOr bitor Or,
    BitXor bitxor Xor,
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
