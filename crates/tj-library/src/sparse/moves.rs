//! Tensors whose elements are elements of others at other places.
//!
//! **Problem.** What moves elements says where each element of the result comes from. With what is stored it is asked where each
//! entry goes.
//!
//! **Idea.** A result is put together of parts: elements of a tensor (or one value) under conditions on the indices, the fill
//! where no part is. Each part is a system of equations: index maps are equal to the coordinates of an entry, conditions hold.
//! Its solutions are where the entry goes: once, several times, or nowhere. Most systems give an index by a division
//! (`direct`); any other is solved by narrowing ranges (`solve`). So steps, reversed axes, borders, other shapes, tensors
//! beside each other, repetitions and diagonals are one function.
//!
//! **Cost.** Entries of the tensors and of the result, and a sort. What is neither direct nor given by narrowing costs the
//! numbers that are tried.

mod direct;
mod place;
mod solve;

use tj_tensor::{DType, Duplicates, Format, Scalar, Tensor, TensorError};

use super::entries::{Entries, empty_columns, room};
use super::values::{join, single, take};
use crate::LibraryError;
use direct::{Known, digits, merged};
pub use place::Place;
use place::Span;
use solve::{Equation, narrow, solve};

/// What a place under a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// 0.
    Zero,
    /// Anything but 0.
    NotZero,
    /// 0 or greater.
    NotNegative,
}

/// What a part gives.
#[derive(Clone, Copy, Debug)]
pub enum What<'t> {
    /// Elements of a tensor with the fill of the result.
    Tensor(&'t Tensor),
    /// One value, wherever the conditions hold.
    Value(Scalar),
}

/// Where some elements of a result come from. No two parts are at one place.
#[derive(Clone, Debug)]
pub struct Part<'t> {
    /// What it gives.
    pub what: What<'t>,
    /// For each dimension of the tensor, which coordinate the indices of the result give; or where in its list.
    pub at: Vec<Place>,
    /// Where it does so.
    pub when: Vec<(Place, Test)>,
    /// Dimensions whose coordinates are elements of a list, at the places that the indices give.
    pub lists: Vec<(usize, Vec<usize>)>,
}

/// A tensor put together.
#[derive(Clone, Debug)]
pub struct Moves<'t> {
    /// Its shape.
    pub shape: Vec<usize>,
    /// How far indices run that places may use besides those of the result: 0 or 1.
    pub others: Vec<usize>,
    /// Its type.
    pub dtype: DType,
    /// What is where no part is.
    pub fill: Scalar,
    /// The parts.
    pub parts: Vec<Part<'t>>,
}

const NAME: &str = "move";

impl Moves<'_> {
    /// The tensor, in a format. `allow` is asked before so many bytes are taken.
    ///
    /// # Errors
    /// Places beyond what an `i64` holds; what `allow` says; no memory.
    pub fn tensor<E: From<LibraryError>>(
        &self,
        format: &Format,
        allow: &mut dyn FnMut(u64) -> Result<(), E>,
    ) -> Result<Tensor, E> {
        let rank = self.shape.len();
        let extents = self.shape.iter().chain(&self.others);
        let ranges: Vec<Span> = extents.map(|&extent| (0, extent as i64 - 1)).collect();
        let mut written = Written {
            columns: empty_columns(rank, 0)?,
            each: 8 * rank + 16 + self.dtype.size(),
            allowed: 0,
            len: 0,
        };
        let mut values = Vec::with_capacity(self.parts.len());
        if ranges.iter().all(|span| span.0 <= span.1) {
            for part in &self.parts {
                values.push(self.part(part, &ranges, &mut written, allow)?);
            }
        }
        let values = join(self.dtype, &values.iter().collect::<Vec<_>>())?;
        let columns: Vec<Tensor> = written.columns.into_iter().map(Tensor::from).collect();
        let tensor =
            Tensor::from_entries(&self.shape, &columns, values, self.fill, Duplicates::Refuse, format);
        Ok(tensor.map_err(LibraryError::from)?)
    }

    /// Writes where the entries of a part go, and gives their values.
    fn part<E: From<LibraryError>>(
        &self,
        part: &Part<'_>,
        all: &[Span],
        written: &mut Written,
        allow: &mut dyn FnMut(u64) -> Result<(), E>,
    ) -> Result<Tensor, E> {
        let places = part.at.iter().chain(part.when.iter().map(|(place, _)| place));
        if places.into_iter().any(|place| !place.fits(all)) {
            let problem = "an index map of more than an i64 holds".to_string();
            return Err(LibraryError::Argument { function: NAME, problem }.into());
        }
        let entries = match part.what {
            What::Tensor(tensor) => {
                allow(
                    (tensor.stored_count() as u64)
                        .saturating_mul((8 * tensor.rank() + self.dtype.size()) as u64),
                )?;
                Entries::of(tensor)?
            }
            What::Value(value) => {
                Entries { shape: Vec::new(), columns: Vec::new(), values: single(value)?, fill: self.fill }
            }
        };
        let mut entries = entries;
        for (dim, list) in &part.lists {
            entries = listed(entries, *dim, list, allow)?;
        }
        let mut ranges = all.to_vec();
        let when = part.when.iter().map(|(place, test)| Equation::new(place.clone(), *test, all));
        let mut when: Vec<Equation> = when.collect();
        let mut chosen: Vec<usize> = room(0)?;
        if narrow(&when, &mut ranges) {
            when.retain(|equation| !equation.holds(&ranges));
            when.iter_mut().for_each(|equation| equation.place = equation.place.simplified(&ranges));
            let known = part.at.iter().enumerate();
            let known =
                known.map(|(dim, place)| Known { place: place.simplified(&ranges), of: vec![(1, dim)] });
            let known = merged(known.collect(), &entries.shape);
            let mut give = |at: usize, indices: &mut dyn Iterator<Item = i64>| -> Result<(), E> {
                written.push(indices, allow)?;
                chosen.push(at);
                Ok(())
            };
            match digits(&known, &ranges) {
                Some(digits) => {
                    let mut indices: Vec<i64> = ranges.iter().map(|span| span.0).collect();
                    let mut fixed = ranges.clone();
                    for at in 0..entries.len() {
                        if !digits.iter().all(|digits| digits.write(&entries.columns, at, &mut indices)) {
                            continue;
                        }
                        if !when.is_empty() {
                            fixed.iter_mut().zip(&indices).for_each(|(span, &index)| *span = (index, index));
                            if !when.iter().all(|equation| equation.holds(&fixed)) {
                                continue;
                            }
                        }
                        give(at, &mut indices.iter().copied())?;
                    }
                }
                None => {
                    let equation = |known: &Known| Equation {
                        place: known.place.clone(),
                        test: Test::Zero,
                        wanted: (0, 0),
                    };
                    let mut equations: Vec<Equation> = known.iter().map(equation).chain(when).collect();
                    let mut own = ranges.clone();
                    for at in 0..entries.len() {
                        for (equation, known) in equations.iter_mut().zip(&known) {
                            let value = known.value(&entries.columns, at);
                            equation.wanted = (value, value);
                        }
                        own.copy_from_slice(&ranges);
                        solve(&equations, &mut own, &mut |found| {
                            give(at, &mut found.iter().map(|span| span.0))
                        })?;
                    }
                }
            }
        }
        Ok(take(&entries.values, &chosen)?)
    }
}

/// Entries by where in a list the coordinate of a dimension is: as many as there are places.
fn listed<E: From<LibraryError>>(
    entries: Entries,
    dim: usize,
    list: &[usize],
    allow: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<Entries, E> {
    let mut places: Vec<usize> = room(list.len())?;
    places.extend(0..list.len());
    places.sort_by_key(|&place| list[place]);
    let found = |at: usize| {
        let wanted = entries.columns[dim][at].unsigned_abs() as usize;
        let start = places.partition_point(|&place| list[place] < wanted);
        let len = places[start..].partition_point(|&place| list[place] == wanted);
        &places[start..start + len]
    };
    let count: usize = (0..entries.len()).map(|at| found(at).len()).sum();
    let each = 8 * entries.columns.len() + 8 + entries.values.dtype().size();
    allow((count as u64).saturating_mul(each as u64))?;
    let (mut chosen, mut column): (Vec<usize>, Vec<i64>) = (room(count)?, room(count)?);
    for at in 0..entries.len() {
        for &place in found(at) {
            chosen.push(at);
            column.push(place as i64);
        }
    }
    let mut listed = entries.take(&chosen)?;
    listed.columns[dim] = column;
    listed.shape[dim] = list.len();
    Ok(listed)
}

/// Coordinates of the result so far.
struct Written {
    columns: Vec<Vec<i64>>,
    /// Bytes of an entry, with what chooses its value.
    each: usize,
    /// So many entries have been allowed.
    allowed: usize,
    len: usize,
}

impl Written {
    fn push<E: From<LibraryError>>(
        &mut self,
        indices: &mut dyn Iterator<Item = i64>,
        allow: &mut dyn FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.len == self.allowed {
            let more = self.allowed.max(512).saturating_mul(2);
            allow((more as u64).saturating_mul(self.each as u64))?;
            for column in &mut self.columns {
                let bytes = more.saturating_mul(8);
                let reserved = column.try_reserve_exact(more - self.len);
                reserved.map_err(|_| LibraryError::from(TensorError::OutOfMemory { bytes }))?;
            }
            self.allowed = more;
        }
        self.len += 1;
        self.columns.iter_mut().zip(indices).for_each(|(column, index)| column.push(index));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
