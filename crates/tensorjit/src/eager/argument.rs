//! What twins take for a tensor.

use tj_ir::{LazyTensor, Operand, OptionalOperand, defer, number};
use tj_tensor::{Complex, Element, Tensor};

/// What an eager operator takes: a tensor, the values of a vector, a lazy tensor, or a host number, whose dtype gives way
/// to that of tensors beside it.
pub trait Argument {
    /// As an operand of a scalar operator.
    fn operand(self) -> Operand;

    /// As a lazy tensor; a number is one of rank 0, in its own dtype.
    #[track_caller]
    fn lazy(self) -> LazyTensor
    where
        Self: Sized,
    {
        match self.operand() {
            Operand::Tensor(tensor) => tensor,
            Operand::Int(x) => number(x),
            Operand::Float(x) => number(x),
            Operand::Bool(x) => number(x),
            Operand::Complex(x) => number(x),
        }
    }
}

macro_rules! arguments {
    ($($from:ty => |$x:ident| $to:expr),* $(,)?) => {
        $(impl Argument for $from {
            #[track_caller]
            fn operand(self) -> Operand {
                let $x = self;
                Operand::from($to)
            }
        })*
    };
}

arguments! {
    &Tensor => |x| defer(x),
    Tensor => |x| defer(x),
    &LazyTensor => |x| x,
    LazyTensor => |x| x,
    Operand => |x| x,
    i32 => |x| x,
    i64 => |x| x,
    f32 => |x| x,
    f64 => |x| x,
    bool => |x| x,
    Complex<f64> => |z| z,
}

/// What an eager operator takes where there may be nothing: an [`Argument`], or `None`.
pub trait OptionalArgument {
    /// As an operand that may be missing.
    fn optional(self) -> OptionalOperand;
}

macro_rules! optional {
    ($($from:ty),* $(,)?) => {
        $(impl OptionalArgument for $from {
            #[track_caller]
            fn optional(self) -> OptionalOperand {
                OptionalOperand::from(self.operand())
            }
        })*
    };
}

// One by one, so that the type of a plain `None` is known.
optional!(&Tensor, Tensor, &LazyTensor, LazyTensor, Operand, i32, i64, f32, f64, bool, Complex<f64>);

impl<T: Element> OptionalArgument for &[T] {
    #[track_caller]
    fn optional(self) -> OptionalOperand {
        OptionalOperand::from(self.operand())
    }
}

impl OptionalArgument for Option<Operand> {
    fn optional(self) -> OptionalOperand {
        OptionalOperand::from(self)
    }
}

impl<T: Element> Argument for &[T] {
    #[track_caller]
    fn operand(self) -> Operand {
        Operand::from(defer(Tensor::from(self.to_vec())))
    }
}
