//! Moves: every one is an index map, so that it costs nothing until a decision materialises it.

use std::panic::Location;

use smallvec::SmallVec;

use super::elementwise::{Fit, attach, broadcast};
use super::reduce::{Axes, resolve, resolve_axis};
use super::sizes::require_size;
use super::{BROADCAST, Kind, LazyTensor, Shape};
use crate::dim::{Dim, Symbol};
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::guard::{Condition, Guard};
pub(super) fn position(d: usize) -> Dim {
    Dim::symbol(&Symbol::index(d as u32))
}

/// Elements of `arg` at other positions.
pub(super) fn moved(
    name: &'static str,
    arg: &LazyTensor,
    shape: Shape,
    at: Indices,
    location: &'static Location<'static>,
) -> LazyTensor {
    if arg.check().is_err() {
        return arg.clone();
    }
    let at = at.into_iter().collect();
    LazyTensor::node(Kind::Move { name, arg: arg.clone(), at }, shape, arg.dtype(), location)
}

/// Axes of size 1 at these positions of the result.
pub(super) fn insert_axes(
    arg: &LazyTensor,
    at: &[usize],
    location: &'static Location<'static>,
) -> LazyTensor {
    let rank = arg.rank() + at.len();
    let mut shape = Shape::new();
    let mut map = Indices::new();
    let mut old = arg.shape().iter();
    for d in 0..rank {
        if at.contains(&d) {
            shape.push(Dim::from(1));
        } else {
            map.push(position(d));
            shape.extend(old.next().cloned());
        }
    }
    moved("expand_dims", arg, shape, map, location)
}

pub(super) type Attempt = Result<LazyTensor, Cause>;

impl LazyTensor {
    #[track_caller]
    pub(super) fn attempt(&self, f: impl FnOnce(&'static Location<'static>) -> Attempt) -> LazyTensor {
        let location = Location::caller();
        if self.check().is_err() {
            return self.clone();
        }
        f(location).unwrap_or_else(|cause| LazyTensor::failed(IrError::new(cause, location)))
    }

    /// Axes in another order: axis `d` of the result is axis `axes[d]`.
    #[track_caller]
    pub fn permute(&self, axes: &[i64]) -> LazyTensor {
        self.attempt(|location| {
            let op = "permute";
            if axes.len() != self.rank() {
                return Err(Cause::Rank { op, expected: "needs one entry for each axis", rank: self.rank() });
            }
            let mut map: SmallVec<[Option<Dim>; 4]> = SmallVec::from_elem(None, self.rank());
            let mut shape = Shape::new();
            for (d, &axis) in axes.iter().enumerate() {
                let source = resolve_axis(op, self.rank(), axis)?;
                if map[source].replace(position(d)).is_some() {
                    return Err(Cause::RepeatedAxis { op, axis });
                }
                shape.push(self.shape()[source].clone());
            }
            Ok(moved(op, self, shape, map.into_iter().flatten().collect(), location))
        })
    }

    /// Axes in reverse order.
    #[track_caller]
    pub fn transpose(&self) -> LazyTensor {
        let axes: Vec<i64> = (0..self.rank() as i64).rev().collect();
        self.permute(&axes)
    }

    /// New axes of size 1 at these positions of the result, counted from the end if negative.
    #[track_caller]
    pub fn expand_dims(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            let at = resolve("expand_dims", self.rank() + axes.count().unwrap_or(0), &axes)?;
            Ok(insert_axes(self, &at, location))
        })
    }

    /// Drops axes of size 1. An axis whose size is a symbol is guarded to be 1.
    #[track_caller]
    pub fn squeeze(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            let op = "squeeze";
            let one = Dim::from(1);
            let gone = resolve(op, self.rank(), &axes)?;
            let mut guards = Vec::new();
            for &d in &gone {
                let size = &self.shape()[d];
                match size.known_eq(&one) {
                    Some(true) => {}
                    Some(false) => {
                        let problem = format!("axis {d} has size {size}, not 1");
                        return Err(Cause::Argument { op, problem });
                    }
                    None => guards.push(Guard {
                        condition: Condition::Equal(size.clone(), one.clone()),
                        reason: format!("squeeze of axis {d}"),
                        location,
                    }),
                }
            }
            let mut shape = Shape::new();
            let mut map = Indices::new();
            for (d, size) in self.shape().iter().enumerate() {
                if gone.contains(&d) {
                    map.push(Dim::from(0));
                } else {
                    map.push(position(shape.len()));
                    shape.push(size.clone());
                }
            }
            let mut tensor = moved(op, self, shape, map, location);
            attach(&mut tensor, guards);
            Ok(tensor)
        })
    }

    /// Repeats axes of size 1, and new leading axes, to reach `shape`.
    #[track_caller]
    pub fn broadcast_to(&self, shape: &[Dim]) -> LazyTensor {
        self.attempt(|location| {
            let op = BROADCAST;
            let mut guards = Vec::new();
            if self.rank() > shape.len() {
                return Err(Cause::Rank { op, expected: "the new rank must not be less", rank: shape.len() });
            }
            for (axis, size) in shape.iter().enumerate() {
                require_size(op, axis, size, &mut guards, location)?;
            }
            let whole = broadcast(op, self.shape(), shape, &mut guards, location)?;
            // The result of broadcasting must be the shape that was asked for.
            let is_one = |d: usize| shape[d].actual() == Some(1) && whole[d].actual() != Some(1);
            if let Some(d) = (0..shape.len()).find(|&d| whole[d] != shape[d] && is_one(d)) {
                let dims = Box::new((whole[d].clone(), shape[d].clone()));
                return Err(Cause::Shapes { op, left: self.shape().to_vec(), right: shape.to_vec(), dims });
            }
            let map = Fit::read_at(self.shape(), shape);
            let mut tensor = moved(op, self, Shape::from_iter(shape.iter().cloned()), map, location);
            attach(&mut tensor, guards);
            Ok(tensor)
        })
    }

    /// Elements of some axes, or of all, in reverse order.
    #[track_caller]
    pub fn flip(&self, axes: impl Into<Axes>) -> LazyTensor {
        let axes = axes.into();
        self.attempt(|location| {
            let mut map: Indices = (0..self.rank()).map(position).collect();
            for axis in resolve("flip", self.rank(), &axes)? {
                map[axis] = &self.shape()[axis] - 1 - position(axis);
            }
            Ok(moved("flip", self, self.0.shape.clone(), map, location))
        })
    }
}
