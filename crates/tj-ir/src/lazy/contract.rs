//! Matrix products.

use std::panic::Location;

use super::elementwise::{attach, broadcast, map, require_equal};
use super::reduce::accumulated;
use super::{Kind, LazyTensor, Shape};
use crate::error::{Cause, IrError};
use crate::op::Op;

impl LazyTensor {
    /// Matrix product of the last two axes; leading axes broadcast. A vector on the left is a row, on the right
    /// a column, and that axis is dropped. Integers keep their promoted dtype and wrap; f16 and bf16 are multiplied
    /// and added up in f32, and the result is rounded once.
    ///
    /// ```
    /// use tj_ir::{input, Dim};
    /// use tj_tensor::DType;
    ///
    /// let a = input("a", DType::F32, [5.into(), 2.into(), 3.into()])?;
    /// let b = input("b", DType::F32, [3.into(), 4.into()])?;
    /// assert_eq!(a.matmul(&b).shape(), [5, 2, 4].map(Dim::from));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn matmul(&self, other: &LazyTensor) -> LazyTensor {
        let location = Location::caller();
        match try_matmul(self, other, location) {
            Ok(tensor) => tensor,
            Err(error) => LazyTensor::failed(error),
        }
    }
}

/// [`LazyTensor::matmul`], asked for at `location`.
pub(super) fn try_matmul(
    a: &LazyTensor,
    b: &LazyTensor,
    location: &'static Location<'static>,
) -> Result<LazyTensor, IrError> {
    a.check()?;
    b.check()?;
    let fail = |cause| IrError::new(cause, location);
    let op = "matmul";
    for t in [a, b] {
        if t.rank() == 0 {
            return Err(fail(Cause::Rank { op, expected: "needs arguments of rank at least 1", rank: 0 }));
        }
    }
    let dtypes = [a.dtype(), b.dtype()];
    let (dtype, _) =
        Op::Mul.dtypes(&dtypes).ok_or_else(|| fail(Cause::DTypes { op, dtypes: dtypes.to_vec() }))?;
    let work = accumulated(dtype);
    let a = map(Op::Cast(work), [a.into()], location);
    let b = map(Op::Cast(work), [b.into()], location);
    let (sa, sb) = (a.shape(), b.shape());
    let mut guards = Vec::new();
    let contracted = (&sa[a.rank() - 1], &sb[b.rank().saturating_sub(2)]);
    require_equal(op, sa, sb, contracted, &mut guards, location).map_err(fail)?;
    let batch = |s: &[crate::dim::Dim]| s[..s.len().saturating_sub(2)].to_vec();
    let mut shape: Shape = broadcast(op, &batch(sa), &batch(sb), &mut guards, location).map_err(fail)?;
    if a.rank() > 1 {
        shape.push(sa[a.rank() - 2].clone());
    }
    if b.rank() > 1 {
        shape.push(sb[b.rank() - 1].clone());
    }
    let mut tensor = LazyTensor::node(Kind::Matmul { args: [a, b] }, shape, work, location);
    attach(&mut tensor, guards);
    Ok(map(Op::Cast(dtype), [tensor.into()], location))
}
