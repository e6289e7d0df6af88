//! Several tensors in one.
//!
//! **Idea.** The entries of each tensor are sorted. A heap holds the next entry of each, by coordinates and then by tensor, so
//! that one pass meets all entries of a cell together, in the order of the tensors. What is absent there is the fill: one
//! fill stands for all absent ones where they change nothing after the first (sums of zeros, least, greatest), else each
//! takes its place among the others.
//!
//! **Cost.** O(n log t) for n entries of t tensors; sums of fills that are not 0 cost t an element of the result.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use tj_ir::ReduceOp;
use tj_tensor::Tensor;

use super::entries::{Entries, gather, in_common, is_zero, promoted, room};
use super::values::{fold, join, single, take};
use crate::LibraryError;

/// What an element of a union is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// The sum of all elements there, rounded one after the other; of bools, or.
    Sum,
    /// The least, NaN if one is.
    Min,
    /// The greatest, NaN if one is.
    Max,
    /// That of the first tensor that differs from the fill.
    First,
}

/// Combines tensors of one shape, in one pass. The fill is made of the fills in the same way; `First` needs equal ones.
///
/// ```
/// use tj_library::sparse::{Combine, union};
/// use tj_tensor::Tensor;
/// let [x, y, z] = [vec![1, 0, 2], vec![0, 0, 5], vec![3, 0, -7]].map(Tensor::from);
/// assert_eq!(union(&[&x, &y, &z], Combine::Sum)?.to_vec::<i32>()?, [4, 0, 0]);
/// assert_eq!(union(&[&x, &y, &z], Combine::Min)?.to_vec::<i32>()?, [0, 0, -7]);
/// assert_eq!(union(&[&y, &x, &z], Combine::First)?.to_vec::<i32>()?, [1, 0, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// No tensors; different shapes; for `First` different fills; an order of complex numbers.
pub fn union(tensors: &[&Tensor], combine: Combine) -> Result<Tensor, LibraryError> {
    let function = "union";
    let tensors = match combine {
        Combine::First => in_common(function, tensors)?,
        Combine::Sum | Combine::Min | Combine::Max => promoted(function, tensors)?,
    };
    let shape = tensors[0].shape();
    if let Some(at) = tensors.iter().position(|x| x.shape() != shape) {
        let problem = format!("tensor {at} has shape {:?}, and tensor 0 has {shape:?}", tensors[at].shape());
        return Err(LibraryError::Shape { function, problem });
    }
    let entries: Vec<Entries> = tensors.iter().map(Entries::of).collect::<Result<_, _>>()?;
    let dtype = tensors[0].dtype();
    let fills: Vec<Tensor> = entries.iter().map(|part| single(part.fill)).collect::<Result<_, _>>()?;
    let fills = join(dtype, &fills.iter().collect::<Vec<_>>())?;
    let op = match combine {
        Combine::Sum => Some(ReduceOp::Sum),
        Combine::Min => Some(ReduceOp::Min),
        Combine::Max => Some(ReduceOp::Max),
        Combine::First => None,
    };
    let fill = match op {
        Some(op) => fold(function, op, &fills, &[0])?.get(&[0])?,
        None => entries[0].fill,
    };
    let same_fills = entries.iter().all(|part| part.fill == fill);
    let absent = match combine {
        Combine::First => Absent::Nothing,
        Combine::Sum if is_zero(fill) && same_fills => Absent::Once,
        Combine::Min | Combine::Max if same_fills => Absent::Once,
        Combine::Sum | Combine::Min | Combine::Max => Absent::Each,
    };

    let Merged { operands, starts, firsts } = merge(&entries, absent)?;
    let values: Vec<&Tensor> = entries.iter().map(|part| &part.values).chain([&fills]).collect();
    let values = join(dtype, &values)?;
    let values = match op {
        Some(op) => fold(function, op, &take(&values, &operands)?, &starts)?,
        None => take(&values, &gather(&operands, &starts)?)?,
    };
    let mut columns = vec![];
    for d in 0..shape.len() {
        let mut column = room(firsts.len())?;
        column.extend(firsts.iter().map(|&(part, at)| entries[part].columns[d][at]));
        columns.push(column);
    }
    Entries { shape: shape.to_vec(), columns, values, fill }.pruned()?.build()
}

/// Which fills are operands where some tensors have no entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    Nothing,
    /// That of the first tensor, after all entries: any of them would do.
    Once,
    /// Each at the place of its tensor.
    Each,
}

/// What to combine.
struct Merged {
    /// Places among the values of all tensors, one after the other, and then the fills.
    operands: Vec<usize>,
    /// The first operand of each cell.
    starts: Vec<usize>,
    /// A tensor and an entry of it at each cell.
    firsts: Vec<(usize, usize)>,
}

fn merge(entries: &[Entries], absent: Absent) -> Result<Merged, LibraryError> {
    let mut offsets = vec![0];
    for part in entries {
        offsets.push(offsets[offsets.len() - 1] + part.len());
    }
    let n = offsets[entries.len()];
    let fill_of = |part: usize| n + part;
    let n_operands = match absent {
        Absent::Nothing => n,
        Absent::Once => n.saturating_mul(2),
        Absent::Each => n.saturating_mul(entries.len()),
    };
    let mut merged = Merged { operands: room(n_operands)?, starts: room(n)?, firsts: room(n)? };
    let mut heap: BinaryHeap<Reverse<Head<'_>>> = BinaryHeap::new();
    heap.extend((0..entries.len()).filter_map(|part| Head { entries, part, at: 0 }.valid()).map(Reverse));
    while let Some(Reverse(first)) = heap.pop() {
        merged.starts.push(merged.operands.len());
        merged.firsts.push((first.part, first.at));
        let mut n_present = 0;
        let mut next_part = 0;
        let mut head = first;
        loop {
            if absent == Absent::Each {
                merged.operands.extend((next_part..head.part).map(fill_of));
            }
            merged.operands.push(offsets[head.part] + head.at);
            n_present += 1;
            next_part = head.part + 1;
            heap.extend(Head { at: head.at + 1, ..head }.valid().map(Reverse));
            match heap.peek_mut() {
                Some(next) if next.0.cell().eq(first.cell()) => head = PeekMut::pop(next).0,
                Some(_) | None => break,
            }
        }
        match absent {
            Absent::Once if n_present < entries.len() => merged.operands.push(fill_of(0)),
            Absent::Each => merged.operands.extend((next_part..entries.len()).map(fill_of)),
            Absent::Once | Absent::Nothing => {}
        }
    }
    Ok(merged)
}

/// The next entry of a tensor.
#[derive(Clone, Copy)]
struct Head<'a> {
    entries: &'a [Entries],
    part: usize,
    at: usize,
}

impl<'a> Head<'a> {
    fn valid(self) -> Option<Head<'a>> {
        (self.at < self.entries[self.part].len()).then_some(self)
    }

    fn cell(&self) -> impl Iterator<Item = i64> + use<'a> {
        let at = self.at;
        self.entries[self.part].columns.iter().map(move |column| column[at])
    }
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cell().cmp(other.cell()).then(self.part.cmp(&other.part))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head<'_> {}
