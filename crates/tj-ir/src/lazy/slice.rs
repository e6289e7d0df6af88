//! Basic indexing: positions, slices with steps, new axes. Every one is an index map.

use std::panic::Location;

use smallvec::SmallVec;

use super::elementwise::attach;
use super::movement::{Attempt, moved, position};
use super::{LazyTensor, Shape};
use crate::dim::{Dim, Symbol};
use crate::error::Cause;
use crate::guard::{Condition, Guard};

/// One part of an index, as in `x[1:, ::2, None, ..., -1]`.
#[derive(Clone, Debug)]
pub enum At {
    /// A position, counted from the end if negative; drops the axis.
    Index(i64),
    /// Positions that are data, counted from the end if negative. Several such arrays broadcast together, and their axes
    /// take the place of theirs if those are neighbours, else they come first: NumPy's advanced indexing. A position
    /// outside of the axis is an error of the call.
    Array(LazyTensor),
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
/// What a basic index selects.
pub(super) struct Selection {
    /// Sizes of the result.
    pub shape: Shape,
    /// How each axis of the tensor is read.
    pub runs: Runs,
    /// What must hold for it.
    pub guards: Vec<Guard>,
}

/// Positions `first, first + step, ..` of an axis along an axis of the result, or the first alone.
pub(super) struct Run {
    pub first: Dim,
    pub step: i64,
    pub along: Option<usize>,
}

pub(super) type Runs = SmallVec<[Run; 4]>;

impl Run {
    fn from(first: Dim, step: i64, along: usize) -> Run {
        Run { first, step, along: Some(along) }
    }
}

impl LazyTensor {
    /// Positions, slices with steps, new axes, an ellipsis and arrays of positions, as in NumPy's indexing. A position that
    /// may be outside its axis is guarded; see [`At`].
    #[track_caller]
    pub fn index(&self, parts: impl IntoIterator<Item = At>) -> LazyTensor {
        let parts: Vec<At> = parts.into_iter().collect();
        self.attempt(|location| self.try_index(&parts, location))
    }

    pub(super) fn try_index(&self, parts: &[At], location: &'static Location<'static>) -> Attempt {
        if parts.iter().any(|part| matches!(part, At::Array(_))) {
            return self.try_index_arrays(parts, location);
        }
        let Selection { shape, runs, guards } = self.select("index", parts, location)?;
        let read = |run: Run| match run.along {
            Some(d) => run.first + position(d) * run.step,
            None => run.first,
        };
        let mut tensor = moved("index", self, shape, runs.into_iter().map(read).collect(), location);
        attach(&mut tensor, guards);
        Ok(tensor)
    }

    /// What parts without arrays select.
    pub(super) fn select(
        &self,
        op: &'static str,
        parts: &[At],
        location: &'static Location<'static>,
    ) -> Result<Selection, Cause> {
        let used = parts.iter().filter(|p| matches!(p, At::Index(_) | At::Slice { .. })).count();
        let ellipses = parts.iter().filter(|p| matches!(p, At::Ellipsis)).count();
        if ellipses > 1 {
            return Err(Cause::Argument { op, problem: "more than one ellipsis".to_string() });
        }
        let Some(missing) = self.rank().checked_sub(used) else {
            let problem = format!("{used} indices for rank {}", self.rank());
            return Err(Cause::Argument { op, problem });
        };
        let trailing = if ellipses == 0 { Some(At::Ellipsis) } else { None };
        let (mut shape, mut runs, mut guards) = (Shape::new(), Runs::new(), Vec::new());
        for part in parts.iter().chain(trailing.as_ref()) {
            let axis = runs.len();
            match part {
                At::NewAxis => shape.push(Dim::from(1)),
                At::Ellipsis => {
                    for size in &self.shape()[axis..axis + missing] {
                        runs.push(Run::from(Dim::ZERO, 1, shape.len()));
                        shape.push(size.clone());
                    }
                }
                At::Index(index) => {
                    let first = self.fixed(axis, *index, &mut guards, location)?;
                    runs.push(Run { first, step: 1, along: None });
                }
                At::Array(_) => {
                    let problem = "an array of positions beside slices that are assigned".to_string();
                    return Err(Cause::Argument { op, problem });
                }
                At::Slice { start, stop, step } if self.is_deferred(axis, start, stop) => {
                    let (first, length) = self.slice_now(axis, start.as_ref(), stop.as_ref(), *step)?;
                    runs.push(Run::from(first, *step, shape.len()));
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
                    runs.push(Run::from(first, *step, shape.len()));
                    shape.push(length);
                }
            }
        }
        Ok(Selection { shape, runs, guards })
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
