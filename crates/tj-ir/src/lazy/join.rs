//! Tensors side by side, and tensors with a border.
//!
//! Both are choices between reads by position, so that they fuse with what makes the parts and with what reads the
//! result; see `positions.rs` for why no read is outside of its part.

use std::panic::Location;

use tj_tensor::{DType, Scalar};

use super::create::built;
use super::elementwise::{attach, map, require_equal};
use super::movement::{Attempt, insert_axes, moved, position};
use super::positions::{at_least_one, clamped, positions_along, scalar, size_number};
use super::reduce::resolve_axis;
use super::sizes::require_size;
use super::{LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::Cause;
use crate::expr::Indices;
use crate::op::Op;

/// Tensors one after the other along an axis, or flattened if there is none. Dtypes promote.
///
/// Every element is a choice between one element of each part, by a tree of comparisons of its position, which fuses with
/// what makes the parts and with what reads the result. With `k` parts an element costs `k` reads and `k - 1` choices:
/// beyond eight or so, copying each part into place would be faster, which is not done.
///
/// ```
/// use tj_ir::{concat, zeros, Dim};
/// use tj_tensor::DType;
///
/// let n = Dim::new("N", ..)?;
/// let (a, b) = (zeros([n.clone(), 3.into()], DType::F32), zeros([2, 3], DType::F64));
/// let c = concat(&[a, b], 0);
/// assert_eq!((c.shape(), c.dtype()), ([n + 2, 3.into()].as_slice(), DType::F64));
/// # Ok::<(), tj_ir::DimError>(())
/// ```
///
/// # Errors
/// No tensors; different ranks; other axes that differ; an axis outside the rank.
#[track_caller]
pub fn concat(parts: &[LazyTensor], axis: impl Into<Option<i64>>) -> LazyTensor {
    let (axis, location) = (axis.into(), Location::caller());
    if let Some(failed) = parts.iter().find(|part| part.check().is_err()) {
        return failed.clone();
    }
    built(location, || match axis {
        Some(axis) => join("concat", parts, axis, location),
        None => {
            let flat: Result<Vec<LazyTensor>, Cause> =
                parts.iter().map(|part| part.try_reshape(&[None], location)).collect();
            join("concat", &flat?, 0, location)
        }
    })
}

/// Tensors of one shape, one after the other along a new axis at this position of the result.
///
/// # Errors
/// No tensors; different shapes; an axis outside the new rank.
#[track_caller]
pub fn stack(parts: &[LazyTensor], axis: i64) -> LazyTensor {
    let (op, location) = ("stack", Location::caller());
    if let Some(failed) = parts.iter().find(|part| part.check().is_err()) {
        return failed.clone();
    }
    built(location, || {
        let Some(first) = parts.first() else { return Err(nothing(op)) };
        let at = resolve_axis(op, first.rank() + 1, axis)?;
        if let Some(other) = parts.iter().find(|part| part.rank() != first.rank()) {
            return Err(ranks(op, first, other));
        }
        let parts: Vec<LazyTensor> = parts.iter().map(|part| insert_axes(part, &[at], location)).collect();
        join(op, &parts, at as i64, location)
    })
}

fn nothing(op: &'static str) -> Cause {
    Cause::Argument { op, problem: "needs a tensor at least".to_string() }
}

fn ranks(op: &'static str, first: &LazyTensor, other: &LazyTensor) -> Cause {
    let text = |tensor: &LazyTensor| crate::error::shape_text(tensor.shape());
    let problem = format!("shapes {} and {} have different ranks", text(first), text(other));
    Cause::Argument { op, problem }
}

pub(super) fn join(
    op: &'static str,
    parts: &[LazyTensor],
    axis: i64,
    location: &'static Location<'static>,
) -> Attempt {
    let Some(first) = parts.first() else { return Err(nothing(op)) };
    let rank = first.rank();
    let axis = resolve_axis(op, rank, axis)?;
    let dtype = parts.iter().map(LazyTensor::dtype).fold(first.dtype(), DType::promote);
    let (mut offsets, mut guards) = (vec![Dim::ZERO], Vec::new());
    let mut shape = first.0.shape.clone();
    for part in parts {
        if part.rank() != rank {
            return Err(ranks(op, first, part));
        }
        for d in (0..rank).filter(|&d| d != axis) {
            let sizes = (&first.shape()[d], &part.shape()[d]);
            require_equal(op, first.shape(), part.shape(), sizes, &mut guards, location)?;
            if part.shape()[d].is_const().is_some() {
                shape[d] = part.shape()[d].clone();
            }
        }
        offsets.push(&offsets[offsets.len() - 1] + &part.shape()[axis]);
    }
    shape[axis] = offsets[parts.len()].clone();
    Dim::count(&shape)?;
    let kept: Vec<usize> = (0..parts.len()).filter(|&k| parts[k].shape()[axis] != 0).collect();
    let kept = if kept.is_empty() { vec![0] } else { kept };
    let lone = kept.len() == 1;
    let mut choices: Vec<(Dim, LazyTensor)> = Vec::new();
    for k in kept {
        let part = map(Op::Cast(dtype), [(&parts[k]).into()], location);
        let mut at: Indices = (0..rank).map(position).collect();
        let source = if lone {
            part
        } else {
            at[axis] = clamped(&(position(axis) - &offsets[k]), &part.shape()[axis]);
            at_least_one(&part, axis, location)
        };
        let mut read = moved(op, &source, shape.clone(), at, location);
        attach(&mut read, std::mem::take(&mut guards));
        choices.push((offsets[k].clone(), read));
    }
    let along = positions_along(&shape[axis], axis, rank, location);
    Ok(choose(&along, choices, location))
}

/// The last of the choices whose offset is not above the position, by halves.
fn choose(
    along: &LazyTensor,
    mut choices: Vec<(Dim, LazyTensor)>,
    location: &'static Location<'static>,
) -> LazyTensor {
    // Neighbours are merged in rounds, each keeps the offset of its first.
    while choices.len() > 1 {
        let mut next = Vec::with_capacity(choices.len().div_ceil(2));
        let mut rest = choices.into_iter();
        while let Some((offset, left)) = rest.next() {
            let Some((middle, right)) = rest.next() else {
                next.push((offset, left));
                break;
            };
            let before = map(Op::Less, [along.into(), size_number(&middle, location).into()], location);
            next.push((offset, map(Op::Where, [before.into(), left.into(), right.into()], location)));
        }
        choices = next;
    }
    let (_, whole) = choices.remove(0);
    whole
}

impl LazyTensor {
    /// A border of one number: for each axis, how many elements come before and after.
    ///
    /// ```
    /// use tj_ir::{zeros, Dim};
    /// use tj_tensor::DType;
    /// let x = zeros([2, 3], DType::F32).pad([(0, 0), (1, 2)], 0.5);
    /// assert_eq!(x.shape(), [2, 6].map(Dim::from));
    /// ```
    ///
    /// # Errors
    /// Not one pair an axis; a width that is negative whatever the symbols are.
    #[track_caller]
    pub fn pad<D: Into<Dim>>(
        &self,
        widths: impl IntoIterator<Item = (D, D)>,
        value: impl Into<Scalar>,
    ) -> LazyTensor {
        let widths: Vec<(Dim, Dim)> = widths.into_iter().map(|(a, b)| (a.into(), b.into())).collect();
        let value = value.into().cast(self.dtype());
        self.attempt(|location| self.try_pad(&widths, value, location))
    }

    fn try_pad(&self, widths: &[(Dim, Dim)], value: Scalar, location: &'static Location<'static>) -> Attempt {
        let (op, rank) = ("pad", self.rank());
        if widths.len() != rank {
            let problem = format!("{} pairs of widths for rank {rank}", widths.len());
            return Err(Cause::Argument { op, problem });
        }
        let (mut guards, mut shape) = (Vec::new(), Shape::new());
        for (d, (before, after)) in widths.iter().enumerate() {
            require_size(op, d, before, &mut guards, location)?;
            require_size(op, d, after, &mut guards, location)?;
            shape.push(before + &self.shape()[d] + after);
        }
        Dim::count(&shape)?;
        let mut source = self.clone();
        let mut at: Indices = (0..rank).map(position).collect();
        let mut inside: Option<LazyTensor> = None;
        for (d, (before, after)) in widths.iter().enumerate() {
            let along = positions_along(&shape[d], d, rank, location);
            let end = before + &self.shape()[d];
            let sides = [
                (*before != 0).then_some((Op::GreaterEqual, before)),
                (*after != 0).then_some((Op::Less, &end)),
            ];
            for (op, bound) in sides.into_iter().flatten() {
                let test = map(op, [(&along).into(), size_number(bound, location).into()], location);
                inside = Some(match inside {
                    None => test,
                    Some(mask) => map(Op::And, [mask.into(), test.into()], location),
                });
            }
            if *before != 0 || *after != 0 {
                at[d] = clamped(&(position(d) - before), &self.shape()[d]);
                source = at_least_one(&source, d, location);
            }
        }
        let mut read = moved(op, &source, shape, at, location);
        attach(&mut read, guards);
        Ok(match inside {
            None => read,
            Some(mask) => {
                map(Op::Where, [mask.into(), read.into(), scalar(value, location).into()], location)
            }
        })
    }
}
