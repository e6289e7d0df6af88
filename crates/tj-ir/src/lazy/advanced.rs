//! Indexing with arrays of positions, which are data.
//!
//! **Idea.** Slices, numbers and new axes are index maps as ever. The axes that arrays index are then put first and made one,
//! of which one `take` reads the positions that all arrays together say. Each array is first located in its own axis, which
//! counts negative positions from the end and refuses those outside.
//! **Cost.** One pass over the positions for each array, and one read of an element or slice for each of them.

use std::panic::Location;

use super::call::{merge_axes, reorder};
use super::elementwise::{attach, broadcast, map};
use super::gather::{located, spread, take};
use super::movement::Attempt;
use super::positions::size_number;
use super::{At, LazyTensor, Shape};
use crate::error::Cause;
use crate::op::Op;

impl LazyTensor {
    pub(super) fn try_index_arrays(&self, parts: &[At], location: &'static Location<'static>) -> Attempt {
        let op = "index";
        let fail = |error: crate::error::IrError| Cause::clone(&error.cause);
        // Where an array stands is a whole slice first.
        let whole = |part: &At| match part {
            At::Array(_) => super::at(None, None, 1),
            At::Index(_) | At::Slice { .. } | At::NewAxis | At::Ellipsis => part.clone(),
        };
        let basic: Vec<At> = parts.iter().map(whole).collect();
        let selection = self.select(op, &basic, location)?;
        let source = self.try_index(&basic, location)?;
        let used = parts.iter().filter(|p| !matches!(p, At::NewAxis | At::Ellipsis)).count();
        let (mut own, mut arrays): (Vec<usize>, Vec<(usize, &LazyTensor)>) = (Vec::new(), Vec::new());
        // An axis of the tensor for each part; numbers beside arrays count as arrays of rank 0.
        let (mut axis, mut before, mut first) = (0, 0, None);
        let mut places = Vec::new();
        for (k, part) in parts.iter().enumerate() {
            match part {
                At::NewAxis => before += 1,
                At::Ellipsis => {
                    axis += self.rank() - used;
                    before += self.rank() - used;
                }
                At::Slice { .. } => {
                    axis += 1;
                    before += 1;
                }
                At::Index(_) | At::Array(_) => {
                    first.get_or_insert(before);
                    places.push(k);
                    if let (At::Array(array), Some(along)) = (part, selection.runs[axis].along) {
                        own.push(along);
                        arrays.push((axis, array));
                    }
                    axis += 1;
                }
            }
        }
        let neighbours = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let front = if neighbours { first.unwrap_or(0) } else { 0 };

        let (mut shape, mut guards) = (Shape::new(), Vec::new());
        for (_, array) in &arrays {
            array.check().map_err(fail)?;
            shape = broadcast(op, &shape, array.shape(), &mut guards, location)?;
        }
        let mut at: Option<LazyTensor> = None;
        for ((axis, array), along) in arrays.iter().zip(&own) {
            let size = &source.shape()[*along];
            let found = located(op, array, *axis, size, location).map_err(fail)?;
            let found = spread(op, &found, &shape, &mut guards, location).map_err(fail)?;
            at = Some(match at {
                None => found,
                Some(so_far) => {
                    let size = size_number(size, location);
                    let rows = map(Op::Mul, [so_far.into(), size.into()], location);
                    map(Op::Add, [rows.into(), found.into()], location)
                }
            });
        }
        let at = at.expect("this is called for parts with an array");
        let rest: Vec<usize> = (0..source.rank()).filter(|d| !own.contains(d)).collect();
        let order: Vec<usize> = own.iter().chain(&rest).copied().collect();
        let merged = merge_axes(&reorder(&source, &order, location), 0, own.len(), location);
        let mut taken = take(&merged, &at, 0, location).map_err(fail)?;
        attach(&mut taken, guards);
        taken.check().map_err(fail)?;
        // The axes of the positions, which are first, go behind `front` of the others.
        let rank = shape.len();
        let order: Vec<usize> =
            (rank..rank + front).chain(0..rank).chain(rank + front..taken.rank()).collect();
        Ok(reorder(&taken, &order, location))
    }
}
