//! Moves: every one is an index map, so that it costs nothing until a decision materialises it.

use std::panic::Location;

use smallvec::SmallVec;

use super::elementwise::{Fit, attach, broadcast};
use super::reduce::{Axes, resolve, resolve_axis};
use super::shape::NewShape;
use super::sizes::require_size;
use super::{BROADCAST, Kind, LazyTensor, Shape};
use crate::dim::{Dim, Symbol};
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::guard::{Condition, Guard};

/// One part of an index, as in `x[1:, ::2, None, ..., -1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// A position, counted from the end if negative; drops the axis.
    Index(i64),
    /// Positions `start, start + step, ...` before `stop`, with Python's meaning of negative and absent ends. An end
    /// that is not a number is a position: it is guarded not to be negative.
    Slice {
        /// First position; absent: the first in the direction of `step`.
        start: Option<Dim>,
        /// End, excluded; absent: as far as it goes.
        stop: Option<Dim>,
        /// Not 0.
        step: i64,
    },
    /// A new axis of size 1.
    NewAxis,
    /// As many full slices as are missing.
    Ellipsis,
}

/// A slice with optional ends and a step.
///
/// ```
/// use tj_ir::{at, input, At, Dim};
/// use tj_tensor::DType;
///
/// let x = input("x", DType::F32, [6.into(), 5.into()])?;
/// assert_eq!(x.index([at(1, None, 2), At::Index(-1)]).shape(), [Dim::from(3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn at(start: impl Into<Option<i64>>, stop: impl Into<Option<i64>>, step: i64) -> At {
    At::Slice { start: start.into().map(Dim::from), stop: stop.into().map(Dim::from), step }
}

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

    /// Positions, slices with steps, new axes and an ellipsis, as in NumPy's basic indexing. A position that may
    /// be outside its axis is guarded.
    #[track_caller]
    pub fn index(&self, parts: impl IntoIterator<Item = At>) -> LazyTensor {
        let parts: Vec<At> = parts.into_iter().collect();
        self.attempt(|location| self.try_index(&parts, location))
    }

    pub(super) fn try_index(&self, parts: &[At], location: &'static Location<'static>) -> Attempt {
        let op = "index";
        let used = parts.iter().filter(|p| matches!(p, At::Index(_) | At::Slice { .. })).count();
        let ellipses = parts.iter().filter(|p| **p == At::Ellipsis).count();
        if ellipses > 1 {
            return Err(Cause::Argument { op, problem: "more than one ellipsis".to_string() });
        }
        let Some(missing) = self.rank().checked_sub(used) else {
            let problem = format!("{used} indices for rank {}", self.rank());
            return Err(Cause::Argument { op, problem });
        };
        let trailing = if ellipses == 0 { Some(At::Ellipsis) } else { None };
        let (mut shape, mut map, mut guards) = (Shape::new(), Indices::new(), Vec::new());
        for part in parts.iter().chain(trailing.as_ref()) {
            let axis = map.len();
            match part {
                At::NewAxis => shape.push(Dim::from(1)),
                At::Ellipsis => {
                    for size in &self.shape()[axis..axis + missing] {
                        map.push(position(shape.len()));
                        shape.push(size.clone());
                    }
                }
                At::Index(index) => map.push(self.fixed(axis, *index, &mut guards, location)?),
                At::Slice { start, stop, step } if self.is_deferred(axis, start, stop) => {
                    let (first, length) = self.slice_now(axis, start.as_ref(), stop.as_ref(), *step)?;
                    map.push(first + position(shape.len()) * *step);
                    shape.push(length);
                }
                At::Slice { start, stop, step } => {
                    let size = &self.shape()[axis];
                    for end in [start, stop].into_iter().flatten().filter(|end| end.is_const().is_none()) {
                        match end.known_ge_zero() {
                            Some(true) => {}
                            Some(false) => {
                                let problem = format!("position {end} on axis {axis} is negative");
                                return Err(Cause::Argument { op, problem });
                            }
                            None => guards.push(Guard {
                                condition: Condition::LessEqual(Dim::ZERO, end.clone()),
                                reason: format!("index: {end} is a position on axis {axis}"),
                                location,
                            }),
                        }
                    }
                    let (first, length) = slice_range(size, start.as_ref(), stop.as_ref(), *step)
                        .ok_or_else(|| Cause::Argument { op, problem: "a slice step of 0".to_string() })?;
                    map.push(first + position(shape.len()) * *step);
                    shape.push(length);
                }
            }
        }
        let mut tensor = moved(op, self, shape, map, location);
        attach(&mut tensor, guards);
        Ok(tensor)
    }

    /// Whether the size of an axis and the ends of a slice of it are there already, but not part of the program.
    fn is_deferred(&self, axis: usize, start: &Option<Dim>, stop: &Option<Dim>) -> bool {
        let size = &self.shape()[axis];
        let ends = [start, stop].into_iter().flatten();
        size.is_const().is_none() && size.actual().is_some() && ends.clone().all(|end| end.actual().is_some())
    }

    /// First position and number of positions of a slice of a deferred axis, as deferred numbers: another slice is
    /// the same program. A slice of everything stays that.
    fn slice_now(
        &self,
        axis: usize,
        start: Option<&Dim>,
        stop: Option<&Dim>,
        step: i64,
    ) -> Result<(Dim, Dim), Cause> {
        let size = &self.shape()[axis];
        if step == 1 && start.is_none() && stop.is_none() {
            return Ok((Dim::ZERO, size.clone()));
        }
        // A plain number counts from the back if it is negative; any other end is a position.
        let below = |dim: &&Dim| dim.is_const().is_none() && dim.actual().is_some_and(|now| now < 0);
        if let Some(end) = start.into_iter().chain(stop).find(below) {
            let position = end.actual().unwrap_or(0);
            let problem = format!("position {position} on axis {axis} is negative");
            return Err(Cause::Argument { op: "index", problem });
        }
        let now = |dim: &Dim| Dim::from(dim.actual().unwrap_or(0));
        let (start, stop) = (start.map(now), stop.map(now));
        let (first, length) = slice_range(&now(size), start.as_ref(), stop.as_ref(), step)
            .ok_or_else(|| Cause::Argument { op: "index", problem: "a slice step of 0".to_string() })?;
        let (first, length) = (first.actual().unwrap_or(0), length.actual().unwrap_or(0));
        let deferred = |value: i64| Dim::symbol(&Symbol::deferred(value));
        Ok((deferred(if length == 0 { 0 } else { first }), deferred(length)))
    }

    fn fixed(
        &self,
        axis: usize,
        index: i64,
        guards: &mut Vec<Guard>,
        location: &'static Location<'static>,
    ) -> Result<Dim, Cause> {
        let size = &self.shape()[axis];
        if let (None, Some(now)) = (size.is_const(), size.actual()) {
            let found = if index < 0 { index.saturating_add(now) } else { index };
            if !(0..now).contains(&found) {
                return Err(Cause::Index { op: "index", index, axis, size: now.into() });
            }
            return Ok(Dim::symbol(&Symbol::deferred(found)));
        }
        // `index` fits when `needed <= size`.
        let needed = if index < 0 { index.checked_neg() } else { index.checked_add(1) };
        let outside = || Cause::Index { op: "index", index, axis, size: size.clone() };
        let needed = Dim::from(needed.ok_or_else(outside)?);
        match needed.known_le(size) {
            Some(true) => {}
            Some(false) => return Err(outside()),
            None => guards.push(Guard {
                condition: Condition::LessEqual(needed, size.clone()),
                reason: format!("index {index} into axis {axis}"),
                location,
            }),
        }
        Ok(if index < 0 { size + index } else { Dim::from(index) })
    }

    /// The same elements in row-major order under another shape. At most one size may be left open,
    /// as `None` or -1: it is what is left. Counts that cannot be proven equal are guarded.
    ///
    /// ```
    /// use tj_ir::{input, Dim};
    /// use tj_tensor::DType;
    ///
    /// let n = Dim::new("N", 0..=100)?;
    /// let x = input("x", DType::F32, [n.clone(), 6.into()])?;
    /// let y = x.reshape(&[None, Some(2.into())]);
    /// assert_eq!(y.shape(), [n * 3, 2.into()]);
    /// assert_eq!(x.reshape([-1, 2]).shape(), y.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<NewShape>) -> LazyTensor {
        let shape = shape.into();
        self.attempt(|location| self.try_reshape(shape.as_slice(), location))
    }

    pub(super) fn try_reshape(
        &self,
        wanted: &[Option<Dim>],
        location: &'static Location<'static>,
    ) -> Attempt {
        let op = "reshape";
        let mut guards = Vec::new();
        for (axis, size) in wanted.iter().enumerate() {
            if let Some(size) = size {
                require_size(op, axis, size, &mut guards, location)?;
            }
        }
        let total = Dim::count(self.shape())?;
        let known = Dim::count(&wanted.iter().flatten().cloned().collect::<Shape>())?;
        let open: SmallVec<[usize; 1]> = (0..wanted.len()).filter(|&d| wanted[d].is_none()).collect();
        let unknown = open.len();
        let rest = match open.as_slice() {
            [] => None,
            &[axis] => Some(match total.div_exact(&known) {
                Some(rest) => {
                    // A quotient of counts is not negative, but where `known` is 0 this need not be the quotient.
                    if Dim::ONE.known_le(&known) != Some(true) {
                        require_size(op, axis, &rest, &mut guards, location)?;
                    }
                    rest
                }
                None => {
                    let now = total.actual().zip(known.actual());
                    let (counted, group) =
                        now.map_or((total.clone(), known.clone()), |(t, k)| (t.into(), k.into()));
                    guards.push(Guard {
                        condition: Condition::Divides(group.clone(), counted.clone()),
                        reason: format!("reshape of {counted} elements into groups of {group}"),
                        location,
                    });
                    match now {
                        Some((t, k)) => Dim::symbol(&Symbol::deferred(t.checked_div(k).unwrap_or(0).max(0))),
                        None => total.floordiv(&known),
                    }
                }
            }),
            _ => return Err(Cause::Argument { op, problem: "more than one size is left open".to_string() }),
        };
        let shape: Shape =
            wanted.iter().map(|d| d.clone().or_else(|| rest.clone()).unwrap_or(Dim::from(1))).collect();
        if unknown == 0 {
            let now = total.actual().zip(known.actual());
            let (total, known) = now.map_or((total, known), |(t, k)| (t.into(), k.into()));
            match total.known_eq(&known) {
                Some(true) => {}
                Some(false) => {
                    return Err(Cause::Reshape {
                        from: self.shape().to_vec(),
                        to: shape.to_vec(),
                        counts: Box::new((total, known)),
                    });
                }
                None => guards.push(Guard {
                    condition: Condition::Equal(total, known),
                    reason: format!(
                        "reshape of {} to {}",
                        crate::error::shape_text(self.shape()),
                        crate::error::shape_text(&shape)
                    ),
                    location,
                }),
            }
        } else if known.known_eq(&Dim::from(0)) == Some(true) {
            let problem = "the open size is not determined when another size is 0".to_string();
            return Err(Cause::Argument { op, problem });
        }
        let map = reshape_map(self.shape(), &shape);
        let mut tensor = moved(op, self, shape, map, location);
        attach(&mut tensor, guards);
        Ok(tensor)
    }
}

/// First position and number of positions of a slice; `None` for a step of 0. The first position is right
/// whenever the slice is not empty.
fn slice_range(size: &Dim, start: Option<&Dim>, stop: Option<&Dim>, step: i64) -> Option<(Dim, Dim)> {
    let zero = Dim::from(0);
    // A negative end counts from the back; a symbolic one is taken to be a position.
    let from_front = |d: &Dim| match d.is_const() {
        Some(c) if c < 0 => (size + c).max(&Dim::from(if step < 0 { -1 } else { 0 })),
        _ => d.clone(),
    };
    let stride = Dim::from(step.checked_abs()?);
    let (first, distance) = match step {
        0 => return None,
        1.. => {
            let first = start.map_or(zero.clone(), from_front);
            let end = stop.map_or(size.clone(), |d| from_front(d).min(size));
            (first.clone(), end - first)
        }
        _ => {
            let last = size - 1;
            let first = start.map_or(last.clone(), |d| from_front(d).min(&last));
            let end = stop.map_or(Dim::from(-1), from_front);
            (first.clone(), first - end)
        }
    };
    Some((first, distance.ceildiv(&stride).max(&zero)))
}

/// Where each element of the new shape comes from. Equal leading and trailing sizes map one to one.
pub(super) fn reshape_map(old: &[Dim], new: &[Dim]) -> Indices {
    let lead = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let pairs = old[lead..].iter().rev().zip(new[lead..].iter().rev());
    let trail = pairs.take_while(|(a, b)| a == b).count();
    let (old_mid, new_mid) = (lead..old.len() - trail, lead..new.len() - trail);

    let mut ranges = crate::dim::Ranges::new();
    for (d, size) in new.iter().enumerate() {
        ranges.set_extent(d as u32, size);
    }
    let mut linear = Dim::from(0);
    for d in new_mid {
        linear = linear * new[d].clone() + position(d);
    }
    let mut map: Indices = (0..lead).map(position).collect();
    let mut middle: SmallVec<[Dim; 4]> = SmallVec::new();
    let mut stride = Dim::from(1);
    for d in old_mid.clone().rev() {
        let quotient = linear.floordiv(&stride);
        let at = if d == old_mid.start { quotient } else { quotient.modulo(&old[d]) };
        middle.push(at.simplify_in(&ranges));
        stride *= old[d].clone();
    }
    map.extend(middle.into_iter().rev());
    map.extend((new.len() - trail..new.len()).map(position));
    map
}
