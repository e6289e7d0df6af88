//! Moves entries to the places that index maps say.

use std::panic::Location;

use tj_ir::expr::Source;
use tj_ir::{Dim, Function, Symbol};
use tj_library::LibraryError;
use tj_library::moves::{Moves, Part, Place, What, offsets};
use tj_plan::sparse::moves::{Moved, MovedFrom, MovedList, MovedNumber};
use tj_tensor::{Format, Tensor};

use super::FEW;
use super::run::{Runner, missing};
use crate::budget;
use crate::error::Error;

/// What ends a move.
struct Ended(Error);

impl From<LibraryError> for Ended {
    fn from(error: LibraryError) -> Ended {
        Ended(Error::library("move", &error, Location::caller()))
    }
}

impl Runner<'_> {
    /// The result of a query that is put together of entries. Its sources `named` so are `from`.
    pub fn moved(
        &self,
        moved: &Moved,
        symbols: &[Symbol],
        named: &[Source],
        from: &[Tensor],
    ) -> Result<Tensor, Error> {
        let value = |symbol: &Symbol| {
            let number = |number: &MovedNumber, sign: i64| {
                let value = self.terms.numbers.get(number.number as usize)?.to_f64() as i64;
                Some((value * sign).max(0))
            };
            let size = symbols.iter().position(|known| known == symbol).map(|at| self.terms.sizes[at]);
            size.or_else(|| moved.numbers.iter().find(|n| n.above == *symbol).and_then(|n| number(n, 1)))
                .or_else(|| moved.numbers.iter().find(|n| n.below == *symbol).and_then(|n| number(n, -1)))
        };
        let extent =
            |dim: &Dim| -> Result<usize, Error> { Ok(usize::try_from(dim.eval(&value)?).unwrap_or(0)) };
        let extents = |dims: &[Dim]| dims.iter().map(extent).collect::<Result<Vec<usize>, Error>>();
        let place = |dim: &Dim| Place::new(dim, &value).ok_or_else(missing);
        let is_list = |source: &Source| {
            moved.parts.iter().any(|part| part.list.as_ref().is_some_and(|list| list.source == *source))
        };
        let filled = named.iter().zip(from).map(|(source, tensor)| match is_list(source) {
            true => Ok(tensor.clone()),
            false => tensor.clone().with_fill(Some(moved.fill)),
        });
        let filled: Vec<Tensor> = filled.collect::<Result<_, _>>()?;
        let mut parts = Vec::with_capacity(moved.parts.len());
        for part in &moved.parts {
            let what = match part.what {
                MovedFrom::Source(source) => {
                    let at = named.iter().position(|known| *known == source).ok_or_else(missing)?;
                    What::Tensor(&filled[at])
                }
                MovedFrom::Value(value) => What::Value(value),
                MovedFrom::Number(number) => {
                    What::Value(*self.terms.numbers.get(number as usize).ok_or_else(missing)?)
                }
            };
            let at = part.at.iter().map(place).collect::<Result<_, _>>()?;
            let when = part.when.iter().map(|(dim, test)| Ok((place(dim)?, *test)));
            let when = when.collect::<Result<_, Error>>()?;
            let find = |source: Source| named.iter().position(|known| *known == source).ok_or_else(missing);
            let lists = match &part.list {
                Some(list) => vec![(list.dim, self.offsets(list, what, &from[find(list.source)?])?)],
                None => Vec::new(),
            };
            parts.push(Part { what, at, when, lists });
        }
        let moves = Moves {
            shape: extents(&moved.shape)?,
            others: extents(&moved.others)?,
            dtype: moved.dtype,
            fill: moved.fill,
            parts,
        };
        let mut allow = |bytes| budget::check(self.terms.max, bytes).map_err(Ended);
        // A place for each row would dwarf few entries.
        let entries: usize = filled.iter().map(Tensor::stored_count).sum();
        let rows = moves.shape.first().copied().unwrap_or(0);
        let is_listed = moves.shape.len() == 2 && rows / 16 > entries.max(FEW);
        let format = if is_listed { Format::dcsr() } else { moved.format.clone() };
        moves.tensor(&format, &mut allow).map_err(|Ended(error)| error)
    }
    /// Where along its axis a list reads.
    fn offsets(&self, list: &MovedList, what: What<'_>, positions: &Tensor) -> Result<Vec<usize>, Error> {
        let What::Tensor(tensor) = what else { return Err(missing()) };
        // Without rows no position is looked at.
        if tensor.shape()[..list.dim].contains(&0) {
            return Ok(Vec::new());
        }
        let positions = self.dense(positions)?.to_vec::<i64>()?;
        let (size, along) = (tensor.shape()[list.dim], list.function == Function::TakeAlong);
        let offsets = offsets(list.function.name(), &positions, size, along);
        offsets.map_err(|cause| Error::function(list.function, &cause, list.location))
    }
}
