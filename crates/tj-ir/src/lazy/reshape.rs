//! The same elements under another shape.

use std::panic::Location;

use smallvec::SmallVec;

use super::elementwise::attach;
use super::movement::{Attempt, moved, position};
use super::shape::NewShape;
use super::sizes::require_size;
use super::{LazyTensor, Shape};
use crate::dim::{Dim, Symbol};
use crate::error::Cause;
use crate::expr::Indices;
use crate::guard::{Condition, Guard};

impl LazyTensor {
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
