//! What can be computed: lazy tensors, and tuples, arrays, slices and vectors of what can be.

use smallvec::SmallVec;
use tj_ir::LazyTensor;
use tj_tensor::{Scalar, Tensor};

/// The lazy tensors of one program.
pub type Lazies = SmallVec<[LazyTensor; 4]>;

/// What [`compute`](crate::compute()) takes. What is not lazy passes through unchanged.
pub trait Compute {
    /// Its value.
    type Output;

    /// Adds the lazy tensors in it, in order.
    fn lazies(&self, into: &mut Lazies);

    /// Its value, from the values of its lazy tensors, in order.
    fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Self::Output;
}

/// Each lazy tensor was given to a program that produces one value for each.
const ONE_EACH: &str = "a program has a value for each lazy tensor";

impl Compute for LazyTensor {
    type Output = Tensor;

    fn lazies(&self, into: &mut Lazies) {
        into.push(self.clone());
    }

    fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Tensor {
        values.next().expect(ONE_EACH)
    }
}

impl Compute for &LazyTensor {
    type Output = Tensor;

    fn lazies(&self, into: &mut Lazies) {
        into.push((*self).clone());
    }

    fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Tensor {
        values.next().expect(ONE_EACH)
    }
}

macro_rules! unchanged {
    ($($type:ty)*) => {
        $(impl Compute for $type {
            type Output = $type;

            fn lazies(&self, _: &mut Lazies) {}

            fn finish(self, _: &mut dyn Iterator<Item = Tensor>) -> $type {
                self
            }
        })*
    };
}

unchanged! { Tensor Scalar bool i32 i64 usize f32 f64 String }

impl Compute for () {
    type Output = ();

    fn lazies(&self, _: &mut Lazies) {}

    fn finish(self, _: &mut dyn Iterator<Item = Tensor>) {}
}

impl Compute for &Tensor {
    type Output = Tensor;

    fn lazies(&self, _: &mut Lazies) {}

    fn finish(self, _: &mut dyn Iterator<Item = Tensor>) -> Tensor {
        self.clone()
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt)+))*) => {
        $(impl<$($name: Compute),+> Compute for ($($name,)+) {
            type Output = ($($name::Output,)+);

            fn lazies(&self, into: &mut Lazies) {
                $(self.$at.lazies(into);)+
            }

            fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Self::Output {
                ($(self.$at.finish(values),)+)
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

impl<T: Compute, const N: usize> Compute for [T; N] {
    type Output = [T::Output; N];

    fn lazies(&self, into: &mut Lazies) {
        self.iter().for_each(|part| part.lazies(into));
    }

    fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Self::Output {
        self.map(|part| part.finish(values))
    }
}

impl<T: Compute> Compute for Vec<T> {
    type Output = Vec<T::Output>;

    fn lazies(&self, into: &mut Lazies) {
        self.iter().for_each(|part| part.lazies(into));
    }

    fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Self::Output {
        self.into_iter().map(|part| part.finish(values)).collect()
    }
}

impl<'t, T> Compute for &'t [T]
where
    &'t T: Compute,
{
    type Output = Vec<<&'t T as Compute>::Output>;

    fn lazies(&self, into: &mut Lazies) {
        self.iter().for_each(|part| part.lazies(into));
    }

    fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Self::Output {
        self.iter().map(|part| part.finish(values)).collect()
    }
}

impl<'t, T, const N: usize> Compute for &'t [T; N]
where
    &'t T: Compute,
{
    type Output = [<&'t T as Compute>::Output; N];

    fn lazies(&self, into: &mut Lazies) {
        self.iter().for_each(|part| part.lazies(into));
    }

    fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Self::Output {
        self.each_ref().map(|part| part.finish(values))
    }
}

impl<'t, T> Compute for &'t Vec<T>
where
    &'t T: Compute,
{
    type Output = Vec<<&'t T as Compute>::Output>;

    fn lazies(&self, into: &mut Lazies) {
        self.as_slice().lazies(into);
    }

    fn finish(self, values: &mut dyn Iterator<Item = Tensor>) -> Self::Output {
        self.as_slice().finish(values)
    }
}
