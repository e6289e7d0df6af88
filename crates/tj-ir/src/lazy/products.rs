//! Products by name: inner, outer, tensor and Kronecker products, cross products.

use std::panic::Location;

use super::complex::conj;
use super::create::built;
use super::einsum::{Label, Labelled, Labels, contract_all};
use super::elementwise::{attach, broadcast, map, require_equal};
use super::movement::{Attempt, moved, position};
use super::reduce::{Axes, reduce_in, resolve_axis};
use super::{LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, shape_text};
use crate::expr::Indices;
use crate::op::{Op, ReduceOp};
use tj_tensor::DType;

/// Which axes [`tensordot`] sums over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dot {
    /// The last ones of the first tensor and the first ones of the second.
    Last(usize),
    /// Axes of the first and of the second, in pairs.
    Pairs(Vec<i64>, Vec<i64>),
}

impl From<usize> for Dot {
    fn from(count: usize) -> Dot {
        Dot::Last(count)
    }
}

impl From<i32> for Dot {
    /// A negative number is refused where it is used: no tensor has that many axes.
    fn from(count: i32) -> Dot {
        Dot::Last(usize::try_from(count).unwrap_or(usize::MAX))
    }
}

impl<const N: usize> From<([i64; N], [i64; N])> for Dot {
    fn from((first, second): ([i64; N], [i64; N])) -> Dot {
        Dot::Pairs(first.to_vec(), second.to_vec())
    }
}

type Loc = &'static Location<'static>;

fn together(tensors: [&LazyTensor; 2], location: Loc, f: impl FnOnce(Loc) -> Attempt) -> LazyTensor {
    if let Some(failed) = tensors.iter().find(|tensor| tensor.check().is_err()) {
        return (*failed).clone();
    }
    built(location, || f(location))
}

/// Both as one dtype.
fn promoted(a: &LazyTensor, b: &LazyTensor, location: Loc) -> [LazyTensor; 2] {
    let dtype = DType::promote(a.dtype(), b.dtype());
    [a, b].map(|tensor| map(Op::Cast(dtype), [tensor.into()], location))
}

/// Sums over products along pairs of axes; what is left of the first comes before what is left of the second.
///
/// ```
/// use tj_ir::{tensordot, zeros, Dim};
/// use tj_tensor::DType;
/// let (a, b) = (zeros([2, 3, 4], DType::F32), zeros([4, 3, 5], DType::F32));
/// assert_eq!(tensordot(&a, &b, ([1, 2], [1, 0])).shape(), [2, 5].map(Dim::from));
/// assert_eq!(tensordot(&a, &b, 1).rank(), 4);
/// ```
///
/// # Errors
/// More pairs than axes; an axis outside the rank, or named twice; sizes of a pair that differ.
#[track_caller]
pub fn tensordot(a: &LazyTensor, b: &LazyTensor, axes: impl Into<Dot>) -> LazyTensor {
    let axes = axes.into();
    together([a, b], Location::caller(), |location| {
        let op = "tensordot";
        let lists = match axes {
            Dot::Last(count) => {
                if count > a.rank().min(b.rank()) {
                    let problem = format!("{count} axes of ranks {} and {}", a.rank(), b.rank());
                    return Err(Cause::Argument { op, problem });
                }
                let first = (a.rank() - count..a.rank()).map(|d| d as i64).collect();
                (first, (0..count as i64).collect::<Vec<i64>>())
            }
            Dot::Pairs(first, second) => (first, second),
        };
        if lists.0.len() != lists.1.len() {
            let problem = format!("{} axes against {}", lists.0.len(), lists.1.len());
            return Err(Cause::Argument { op, problem });
        }
        // The axes of the first are numbered from 0, those of the second after them; pairs have one label.
        let label = |k: usize| Label::Dots(k);
        let mut labels: [Labels; 2] =
            [(0..a.rank()).map(label).collect(), (a.rank()..a.rank() + b.rank()).map(label).collect()];
        let mut guards = Vec::new();
        let mut paired: Vec<Label> = Vec::new();
        for (&first, &second) in lists.0.iter().zip(&lists.1) {
            let (p, q) = (resolve_axis(op, a.rank(), first)?, resolve_axis(op, b.rank(), second)?);
            if paired.contains(&labels[0][p]) {
                return Err(Cause::RepeatedAxis { op, axis: first });
            }
            if labels[1][q] != label(a.rank() + q) {
                return Err(Cause::RepeatedAxis { op, axis: second });
            }
            let sizes = (&a.shape()[p], &b.shape()[q]);
            require_equal(op, a.shape(), b.shape(), sizes, &mut guards, location)?;
            paired.push(labels[0][p]);
            labels[1][q] = labels[0][p];
        }
        let output = labels.iter().flatten().copied().filter(|label| !paired.contains(label)).collect();
        let tensors = promoted(a, b, location);
        let operands = tensors.into_iter().zip(labels).map(|(tensor, labels)| Labelled { tensor, labels });
        contract_all(op, operands.collect(), &output, guards, location)
    })
}

/// Sums of products along one axis of both, counted from the end; the other axes broadcast. Of complex numbers
/// those of the first are conjugated. `axis` is negative, as in the array API.
///
/// # Errors
/// An axis that is not negative or outside of a rank; sizes along it that differ; shapes that do not broadcast.
#[track_caller]
pub fn vecdot(a: &LazyTensor, b: &LazyTensor, axis: i64) -> LazyTensor {
    together([a, b], Location::caller(), |location| {
        let op = "vecdot";
        if axis >= 0 {
            return Err(Cause::Axis { op, axis, rank: a.rank().min(b.rank()) });
        }
        let axes = (resolve_axis(op, a.rank(), axis)?, resolve_axis(op, b.rank(), axis)?);
        let sizes = (&a.shape()[axes.0], &b.shape()[axes.1]);
        let mut guards = Vec::new();
        require_equal(op, a.shape(), b.shape(), sizes, &mut guards, location)?;
        let [a, b] = promoted(a, b, location);
        let a = conj(&a, location);
        broadcast(op, a.shape(), b.shape(), &mut guards, location)?;
        let product = map(Op::Mul, [(&a).into(), (&b).into()], location);
        Ok(reduce_in(op, ReduceOp::Sum, &product, &Axes::from(axis), a.dtype(), location))
    })
}

/// Sums of products along the last axes; all other axes of the first come before those of the second.
///
/// # Errors
/// Last sizes that differ.
#[track_caller]
pub fn inner(a: &LazyTensor, b: &LazyTensor) -> LazyTensor {
    together([a, b], Location::caller(), |location| {
        if a.rank() == 0 || b.rank() == 0 {
            return Ok(map(Op::Mul, [a.into(), b.into()], location));
        }
        let (first, second) = (a.rank() - 1, b.rank() - 1);
        let mut guards = Vec::new();
        let op = "inner";
        let sizes = (&a.shape()[first], &b.shape()[second]);
        require_equal(op, a.shape(), b.shape(), sizes, &mut guards, location)?;
        let left: Labels = (0..a.rank()).map(Label::Dots).collect();
        let mut right: Labels = (a.rank()..a.rank() + second).map(Label::Dots).collect();
        let output = left[..first].iter().chain(&right).copied().collect();
        right.push(left[first]);
        let tensors = promoted(a, b, location);
        let operands =
            tensors.into_iter().zip([left, right]).map(|(tensor, labels)| Labelled { tensor, labels });
        contract_all(op, operands.collect(), &output, guards, location)
    })
}

/// NumPy's product of two tensors: of vectors their inner product, of matrices the matrix product, of higher ranks sums along
/// the last axis of the first and the last but one of the second; numbers multiply.
///
/// ```
/// use tj_ir::{dot, zeros, Dim};
/// use tj_tensor::DType;
/// let (a, b) = (zeros([2, 3], DType::F32), zeros([5, 3, 4], DType::F32));
/// assert_eq!(dot(&a, &b).shape(), [2, 5, 4].map(Dim::from));
/// ```
///
/// # Errors
/// Sizes that differ.
#[track_caller]
pub fn dot(a: &LazyTensor, b: &LazyTensor) -> LazyTensor {
    if a.check().is_ok() && b.check().is_ok() && (a.rank() == 0 || b.rank() == 0) {
        return map(Op::Mul, [a.into(), b.into()], Location::caller());
    }
    tensordot(a, b, ([-1], [if b.rank() == 1 { -1 } else { -2 }]))
}

/// All products of an element of a vector and an element of another.
///
/// # Errors
/// A rank that is not 1.
#[track_caller]
pub fn outer(a: &LazyTensor, b: &LazyTensor) -> LazyTensor {
    together([a, b], Location::caller(), |location| {
        for tensor in [a, b] {
            if tensor.rank() != 1 {
                let expected = "needs vectors";
                return Err(Cause::Rank { op: "outer", expected, rank: tensor.rank() });
            }
        }
        let column = super::movement::insert_axes(a, &[1], location);
        Ok(map(Op::Mul, [column.into(), b.into()], location))
    })
}

/// The Kronecker product: the second tensor, times each element of the first.
#[track_caller]
pub fn kron(a: &LazyTensor, b: &LazyTensor) -> LazyTensor {
    together([a, b], Location::caller(), |location| {
        let rank = a.rank().max(b.rank());
        let padded = |tensor: &LazyTensor| {
            super::movement::insert_axes(tensor, &(0..rank - tensor.rank()).collect::<Vec<_>>(), location)
        };
        let (a, b) = (padded(a), padded(b));
        let shape: Shape = (0..rank).map(|d| &a.shape()[d] * &b.shape()[d]).collect();
        Dim::count(&shape)?;
        let block: Indices = (0..rank).map(|d| position(d).floordiv(&b.shape()[d])).collect();
        let inside: Indices = (0..rank).map(|d| position(d).modulo(&b.shape()[d])).collect();
        let a = moved("kron", &a, shape.clone(), block, location);
        let b = moved("kron", &b, shape, inside, location);
        Ok(map(Op::Mul, [a.into(), b.into()], location))
    })
}

/// The cross product of vectors of size 3 along one axis, counted from the end; the other axes broadcast.
///
/// # Errors
/// A size along the axis that is not 3; an axis that is not negative or outside of a rank; shapes that do not broadcast.
#[track_caller]
pub fn cross(a: &LazyTensor, b: &LazyTensor, axis: i64) -> LazyTensor {
    together([a, b], Location::caller(), |location| {
        let op = "cross";
        if axis >= 0 {
            return Err(Cause::Axis { op, axis, rank: a.rank().min(b.rank()) });
        }
        let mut guards = Vec::new();
        for tensor in [a, b] {
            let d = resolve_axis(op, tensor.rank(), axis)?;
            let size = &tensor.shape()[d];
            if size.known_eq(&Dim::from(3)) == Some(false) {
                let problem = format!("axis {d} of {} has size {size}, not 3", shape_text(tensor.shape()));
                return Err(Cause::Argument { op, problem });
            }
            require_equal(op, tensor.shape(), &[3.into()], (size, &3.into()), &mut guards, location)?;
        }
        // Element d of the result is a[d + 1] * b[d + 2] - a[d + 2] * b[d + 1], counted around.
        let turned = |tensor: &LazyTensor, by: i64, guards: Vec<_>| {
            let d = (tensor.rank() as i64 + axis) as usize;
            let mut at: Indices = (0..tensor.rank()).map(position).collect();
            at[d] = (position(d) + by).modulo(&Dim::from(3));
            let mut shape = tensor.0.shape.clone();
            shape[d] = Dim::from(3);
            let mut tensor = moved(op, tensor, shape, at, location);
            attach(&mut tensor, guards);
            tensor
        };
        let product = |p: LazyTensor, q: LazyTensor| map(Op::Mul, [p.into(), q.into()], location);
        let left = product(turned(a, 1, guards), turned(b, 2, Vec::new()));
        let right = product(turned(a, 2, Vec::new()), turned(b, 1, Vec::new()));
        Ok(map(Op::Sub, [left.into(), right.into()], location))
    })
}
