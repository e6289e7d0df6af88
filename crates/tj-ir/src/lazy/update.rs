//! Assignment to an index, as a new tensor.
//!
//! **Idea.** What slices and numbers select is a pattern of positions, so that the new tensor is a choice at each position
//! between the old element and one of the value: it fuses with what is before and behind. With arrays of positions the
//! elements of the value are scattered. **Cost.** One pass over the tensor; with arrays three, and memory for its positions.

use std::panic::Location;

use tj_tensor::DType;

use super::call::{as_shape, merge_axes, or_failed};
use super::elementwise::{Operand, as_tensor, attach, map, operand_dtype};
use super::gather::{scatter, spread};
use super::index::Parts;
use super::movement::{Attempt, moved, position};
use super::positions::{at_least_one, clamped, positions, positions_along, size_number};
use super::slice::{Run, Selection};
use super::{At, LazyTensor};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::function::Combine;
use crate::op::{Op, ReduceOp};

type Loc = &'static Location<'static>;

impl LazyTensor {
    /// This tensor with other elements at an index, as `x[index] = value` would leave it. The value broadcasts to what is
    /// selected, and is converted. With arrays of positions that name an element twice the last value stays.
    ///
    /// ```
    /// use tj_ir::{input, zeros};
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F32, [4.into(), 6.into()])?;
    /// let row = zeros([6], DType::F32);
    /// assert_eq!(x.set((1.., 0), 2.5).shape(), x.shape());
    /// assert_eq!(x.set(0, &row).set([3, 1], 1.0).shape(), x.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`index`](LazyTensor::index); a value that does not broadcast to what is selected.
    #[track_caller]
    pub fn set(&self, parts: impl Into<Parts>, value: impl Into<Operand>) -> LazyTensor {
        let (Parts(parts), value) = (parts.into(), value.into());
        self.attempt(|location| update("set", self, &parts, &value, Combine::Set, location))
    }

    /// This tensor with a value added at an index, as `x[index] += value` would leave it; with arrays of positions that name
    /// an element several times all are added.
    ///
    /// ```
    /// use tj_ir::input;
    /// use tj_tensor::DType;
    ///
    /// let x = input("x", DType::F32, [4.into(), 6.into()])?;
    /// assert_eq!(x.add_at((.., 2), 1.0).shape(), x.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`set`](LazyTensor::set).
    #[track_caller]
    pub fn add_at(&self, parts: impl Into<Parts>, value: impl Into<Operand>) -> LazyTensor {
        let (Parts(parts), value) = (parts.into(), value.into());
        let combine = Combine::Reduce(ReduceOp::Sum);
        self.attempt(|location| update("add_at", self, &parts, &value, combine, location))
    }
}

fn update(
    op: &'static str,
    x: &LazyTensor,
    parts: &[At],
    value: &Operand,
    combine: Combine,
    location: Loc,
) -> Attempt {
    let fail = |error: IrError| Cause::clone(&error.cause);
    if let Operand::Tensor(tensor) = value {
        tensor.check().map_err(fail)?;
    }
    let value = as_tensor(value, operand_dtype(value, Some(x.dtype())), op, location).map_err(fail)?;
    let value = map(Op::Cast(x.dtype()), [value.into()], location);
    value.check().map_err(fail)?;
    if parts.iter().any(|part| matches!(part, At::Array(_))) {
        return scattered(op, x, parts, &value, combine, location).map_err(fail);
    }
    let Selection { shape, runs, mut guards } = x.select(op, parts, location)?;
    let mut value = spread(op, &value, &shape, &mut guards, location).map_err(fail)?;
    for d in 0..shape.len() {
        value = at_least_one(&value, d, location);
    }
    // Where a position of the tensor stands in the value, and whether it does.
    let mut at: Indices = shape.iter().map(|_| Dim::ZERO).collect();
    let mut inside: Option<LazyTensor> = None;
    for (d, (run, size)) in runs.iter().zip(x.shape()).enumerate() {
        if let Some(along) = run.along {
            at[along] = clamped(&steps(run, position(d)), &shape[along]);
            if run.step == 1 && run.first == 0 && shape[along] == *size {
                continue;
            }
        }
        let places = positions_along(size, d, x.rank(), location);
        let here = is_selected(run, run.along.map(|along| &shape[along]), &places, location);
        inside = Some(match inside {
            None => here,
            Some(so_far) => map(Op::And, [so_far.into(), here.into()], location),
        });
    }
    let mut new = moved(op, &value, x.0.shape.clone(), at, location);
    attach(&mut new, guards);
    new.check().map_err(fail)?;
    let new = match combine {
        Combine::Set => new,
        Combine::Reduce(_) => map(Op::Add, [x.into(), new.into()], location),
    };
    Ok(match inside {
        None => new,
        Some(inside) => map(Op::Where, [inside.into(), new.into(), x.into()], location),
    })
}

/// How many steps a position is from the first of a run, rounded down.
fn steps(run: &Run, at: Dim) -> Dim {
    let distance = if run.step < 0 { &run.first - at } else { at - &run.first };
    distance.floordiv(&stride(run))
}

fn stride(run: &Run) -> Dim {
    Dim::from(run.step.saturating_abs())
}

/// Whether each of some positions belongs to a run of this length, or is the one that there is.
fn is_selected(run: &Run, length: Option<&Dim>, places: &LazyTensor, location: Loc) -> LazyTensor {
    let apply = |op: Op, a: &LazyTensor, b: &LazyTensor| map(op, [a.into(), b.into()], location);
    let first = size_number(&run.first, location);
    let Some(length) = length else { return apply(Op::Equal, places, &first) };
    let (from, to) = if run.step < 0 { (&first, places) } else { (places, &first) };
    let distance = apply(Op::Sub, from, to);
    let span = size_number(&(length * stride(run)), location);
    let after = map(Op::GreaterEqual, [(&distance).into(), 0.into()], location);
    let before = apply(Op::Less, &distance, &span);
    let mut hit = apply(Op::And, &after, &before);
    if run.step.saturating_abs() != 1 {
        let rest = map(Op::Remainder, [distance.into(), run.step.saturating_abs().into()], location);
        let whole = map(Op::Equal, [rest.into(), 0.into()], location);
        hit = apply(Op::And, &hit, &whole);
    }
    hit
}

/// Elements at positions that are data, by the position of each in row-major order.
fn scattered(
    op: &'static str,
    x: &LazyTensor,
    parts: &[At],
    value: &LazyTensor,
    combine: Combine,
    location: Loc,
) -> Result<LazyTensor, IrError> {
    let fail = |cause| IrError::new(cause, location);
    let count = Dim::count(x.shape()).map_err(|error| fail(error.into()))?;
    let places = as_shape(&positions(&count, location), x.0.shape.clone(), location);
    let places = places.try_index(parts, location).map_err(fail)?;
    debug_assert_eq!(places.dtype(), DType::I64, "positions are of that type");
    let mut guards = Vec::new();
    let mut value = spread(op, value, places.shape(), &mut guards, location)?;
    attach(&mut value, guards);
    let flat = |tensor: &LazyTensor| merge_axes(tensor, 0, tensor.rank(), location);
    let new = or_failed(scatter(&flat(x), &flat(&places), &flat(&value), 0, combine, location));
    new.check()?;
    Ok(as_shape(&new, x.0.shape.clone(), location))
}
