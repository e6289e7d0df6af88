//! Data as lazy tensors.
//!
//! A deferred tensor shares the storage of the data. Its sizes are deferred symbols, so that they are numbers to whoever
//! asks and unknowns to the compiler: the same program on data of another shape is the same program.

use std::panic::Location;
use std::sync::Arc;

use tj_tensor::{Scalar, Tensor};

use super::{Kind, LazyTensor, Shape};
use crate::dim::{Dim, Symbol};

/// What can be deferred: tensors, and tuples, arrays and vectors of what can be. Numbers and lazy tensors stay what they
/// are.
pub trait Defer {
    /// What it becomes.
    type Lazy;

    /// Defers it.
    #[track_caller]
    fn defer(self) -> Self::Lazy;
}

/// Data as a lazy tensor, or several at once.
///
/// ```
/// use tj_ir::defer;
/// use tj_tensor::Tensor;
///
/// let a = Tensor::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
/// let x = defer(&a);
/// assert_eq!((x.shape()[1].actual(), x.dtype()), (Some(3), a.dtype()));
/// let (x, y) = defer((&a, &a));
/// assert_eq!((&x + &y).shape(), x.shape());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn defer<A: Defer>(data: A) -> A::Lazy {
    data.defer()
}

/// The sizes of data, each a symbol of its own.
pub(super) fn sizes(tensor: &Tensor) -> Shape {
    let axis = |&extent: &usize| match i64::try_from(extent) {
        Ok(extent) => Dim::symbol(&Symbol::deferred(extent)),
        Err(_) => Dim::from(extent),
    };
    tensor.shape().iter().map(axis).collect()
}

impl Defer for &Tensor {
    type Lazy = LazyTensor;

    #[track_caller]
    fn defer(self) -> LazyTensor {
        LazyTensor::node(Kind::Data(Arc::new(self.clone())), sizes(self), self.dtype(), Location::caller())
    }
}

impl Defer for Tensor {
    type Lazy = LazyTensor;

    #[track_caller]
    fn defer(self) -> LazyTensor {
        (&self).defer()
    }
}

impl Defer for &LazyTensor {
    type Lazy = LazyTensor;

    fn defer(self) -> LazyTensor {
        self.clone()
    }
}

macro_rules! unchanged {
    ($($type:ty)*) => {
        $(impl Defer for $type {
            type Lazy = $type;

            fn defer(self) -> $type {
                self
            }
        })*
    };
}

unchanged! { LazyTensor Dim Scalar bool i32 i64 usize f32 f64 }

impl Defer for () {
    type Lazy = ();

    fn defer(self) {}
}

macro_rules! tuples {
    ($(($($name:ident $at:tt)+))*) => {
        $(impl<$($name: Defer),+> Defer for ($($name,)+) {
            type Lazy = ($($name::Lazy,)+);

            #[track_caller]
            fn defer(self) -> Self::Lazy {
                ($(self.$at.defer(),)+)
            }
        })*
    };
}

tuples! {
    (A 0)
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 D 3)
    (A 0 B 1 C 2 D 3 E 4)
    (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}

impl<A: Defer, const N: usize> Defer for [A; N] {
    type Lazy = [A::Lazy; N];

    #[track_caller]
    fn defer(self) -> Self::Lazy {
        self.map(A::defer)
    }
}

impl<A: Defer> Defer for Vec<A> {
    type Lazy = Vec<A::Lazy>;

    #[track_caller]
    fn defer(self) -> Self::Lazy {
        self.into_iter().map(A::defer).collect()
    }
}

impl<'t> Defer for &'t [Tensor] {
    type Lazy = Vec<LazyTensor>;

    #[track_caller]
    fn defer(self) -> Self::Lazy {
        self.iter().map(<&'t Tensor as Defer>::defer).collect()
    }
}
