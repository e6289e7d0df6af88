//! Runs a chain: arguments into their formats, programs in order, entries into tensors.

use std::time::Duration;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_kernel::lower::sparse::{Array, Tasks};
use tj_plan::sparse::{Argument, ResultKind};
use tj_tensor::{
    Coordinate, Duplicates, Format, Indices, Leaf, LeafKind, Level, LevelFormat, LevelKind, Order, Repeats,
    Scalar, Tensor, Widths,
};

use super::{Chain, NestCode, Part, Work};
use crate::bind::Values;
use crate::budget;
use crate::call::{Arguments, Call};
use crate::error::Error;
use crate::executable::Executable;
use crate::options::MaxBytes;
use crate::program::internal;
use crate::report::Cost;

/// What a program of a chain cost, and how long its kernels took.
pub(crate) type Spent = (usize, Cost, Vec<(String, Duration)>);

/// What all programs of a run share.
struct Runner<'r> {
    /// Values of the sizes of the whole program.
    sizes: &'r [i64],
    numbers: &'r [Scalar],
    max: MaxBytes,
    timed: bool,
    spent: Vec<Spent>,
}

/// Runs a chain on its inputs; gives the results in the order in which they were asked for.
pub(crate) fn run(
    chain: &Chain,
    inputs: &[&Tensor],
    sizes: &[i64],
    numbers: &[Scalar],
    max: MaxBytes,
    timed: bool,
) -> Result<(Vec<Tensor>, Vec<Spent>), Error> {
    let mut runner = Runner { sizes, numbers, max, timed, spent: Vec::new() };
    let mut known: FxHashMap<Source, Tensor> = FxHashMap::default();
    let mut number = 0;
    for step in &chain.steps {
        let mut from = Vec::with_capacity(step.from.len());
        for source in &step.from {
            from.push(match source {
                Source::Input(i) => inputs[*i as usize].clone(),
                Source::Def(_) => {
                    known.get(source).cloned().ok_or_else(|| internal("chain", &"a result is missing"))?
                }
            });
        }
        for source in &step.last_of {
            known.remove(source);
        }
        let results = match &step.work {
            Work::Dense(executable) => {
                let dense = from.iter().map(|tensor| runner.dense(tensor));
                let dense: Vec<Tensor> = dense.collect::<Result<_, _>>()?;
                drop(from);
                let results = runner.call(executable, &dense, &[], number)?;
                number += 1;
                results
            }
            Work::Nest(nest) => {
                let result = runner.nest(nest, &from, number)?;
                number += 1 + usize::from(nest.second.is_some());
                vec![result]
            }
        };
        known.extend(step.gives.iter().copied().zip(results));
    }
    let result = |source: &Source| match source {
        // Whether an expression is its argument is nobody's business: what it stores is what differs from its fill.
        Source::Input(i) => match inputs[*i as usize] {
            tensor if tensor.stored().is_some() && tensor.nnz()? < tensor.stored_count() => {
                Ok(tensor.prune()?)
            }
            tensor => Ok(tensor.clone()),
        },
        Source::Def(_) => known.get(source).cloned().ok_or_else(|| internal("chain", &"a result is missing")),
    };
    let results = chain.produces.iter().map(result).collect::<Result<_, _>>()?;
    Ok((results, runner.spent))
}

impl Runner<'_> {
    /// Every element, row-major.
    fn dense(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        if tensor.stored().is_some() {
            budget::check(self.max, tensor.count()?.saturating_mul(tensor.dtype().size()) as u64)?;
            return Ok(tensor.to_dense()?);
        }
        Ok(tensor.clone())
    }

    fn call(
        &mut self,
        executable: &Executable,
        inputs: &[Tensor],
        counts: &[i64],
        number: usize,
    ) -> Result<Vec<Tensor>, Error> {
        let values: Values = self.sizes.iter().chain(counts).copied().collect();
        let inputs: SmallVec<[&Tensor; 8]> = inputs.iter().collect();
        let program = &executable.program;
        if !program.binder.fits(&inputs, &values) {
            return Err(internal("chain", &"arrays of other sizes than their tensor has"));
        }
        let bound = program.bind(values, &[])?;
        let mut call = Call::bound(program, inputs, bound, self.max, Arguments::Kept)?;
        if self.timed {
            call = call.timed(program);
        }
        let (outputs, cost) = executable.finish(&call, self.numbers, SmallVec::new())?;
        self.spent.push((number, cost, call.kernel_times(program)));
        Ok(outputs)
    }

    fn nest(&mut self, nest: &NestCode, from: &[Tensor], number: usize) -> Result<Tensor, Error> {
        let mut arguments = Vec::with_capacity(from.len());
        for (tensor, argument) in from.iter().zip(&nest.arguments) {
            arguments.push(match argument {
                Argument::Dense(axes) => {
                    let dense = self.dense(tensor)?;
                    if axes.is_sorted() { dense } else { dense.permute(axes)? }
                }
                Argument::Stored(operand) => {
                    let filled = tensor.clone().with_fill(Some(operand.fill))?;
                    match filled.stored() {
                        Some(stored) if *stored.format() == operand.format => filled,
                        Some(_) | None => {
                            budget::check(self.max, converted_bytes(&filled, &operand.format))?;
                            filled.in_format(&operand.format)?
                        }
                    }
                }
            });
        }
        let first = self.part(&nest.first, &arguments, None, number)?;
        let fill = nest.fill;
        match nest.result {
            ResultKind::Dense => first.into_iter().next().ok_or_else(missing),
            ResultKind::AsArgument(of) => {
                let [values, drops] = two(first)?;
                let fill = fill.ok_or_else(missing)?;
                pruned(arguments[of].with_values(values, fill)?, &drops)
            }
            ResultKind::Stored => {
                let counts = first.into_iter().next().ok_or_else(missing)?;
                let (starts, entries) = starts(&counts)?;
                let second = nest.second.as_ref().ok_or_else(missing)?;
                let written = self.part(second, &arguments, Some((&starts, entries)), number + 1)?;
                self.assembled(nest, &starts, written)
            }
        }
    }

    /// Runs one program of a nest.
    fn part(
        &mut self,
        part: &Part,
        arguments: &[Tensor],
        starts: Option<(&Tensor, i64)>,
        number: usize,
    ) -> Result<Vec<Tensor>, Error> {
        let mut counts = Vec::with_capacity(part.counts.len() + 1);
        for &(argument, level) in &part.counts {
            let stored = arguments[argument].stored().ok_or_else(missing)?;
            counts.push(stored.positions_below(level) as i64);
        }
        counts.extend(starts.map(|(_, entries)| entries));
        let mut inputs = Vec::with_capacity(part.inputs.len());
        for &(argument, array) in &part.inputs {
            inputs.push(match (array, arguments.get(argument)) {
                (Array::Starts, _) => starts.ok_or_else(missing)?.0.clone(),
                (array, Some(tensor)) => self::array(tensor, array)?,
                (_, None) => return Err(missing()),
            });
        }
        self.call(&part.executable, &inputs, &counts, number)
    }

    /// Entries as a tensor.
    fn assembled(&self, nest: &NestCode, starts: &Tensor, written: Vec<Tensor>) -> Result<Tensor, Error> {
        let fill = nest.fill.ok_or_else(missing)?;
        let symbols = nest.first.executable.program.binder.symbols();
        let value = |symbol: &tj_ir::Symbol| {
            let at = symbols.iter().position(|known| known == symbol)?;
            self.sizes.get(at).copied()
        };
        let mut shape = Vec::with_capacity(nest.shape.len());
        for dim in &nest.shape {
            shape.push(usize::try_from(dim.eval(&value)?).unwrap_or(0));
        }
        let mut written = written;
        let (drops, values) = (written.pop().ok_or_else(missing)?, written.pop().ok_or_else(missing)?);
        let columns = written;
        let rows = nest.tasks == Tasks::Rows;
        if !nest.columns.is_sorted() {
            let mut order: Vec<usize> = (0..columns.len()).collect();
            order.sort_by_key(|&at| nest.columns[at]);
            let mut coordinates: Vec<Tensor> = order.into_iter().map(|at| columns[at].clone()).collect();
            if rows {
                coordinates.insert(0, rows_of(starts)?);
            }
            let format = Format::coo(shape.len());
            let result =
                Tensor::from_entries(shape, &coordinates, values, fill, Duplicates::Refuse, &format)?;
            return pruned(result, &drops);
        }
        let rank = shape.len();
        let list =
            |repeats| LevelKind::Compressed { order: Order::Ordered, repeats, widths: Widths::default() };
        let single =
            |repeats| LevelKind::Singleton { order: Order::Ordered, repeats, widths: Widths::default() };
        let mut formats = Vec::with_capacity(rank);
        let mut levels = Vec::with_capacity(rank);
        let first = usize::from(rows);
        if rows {
            formats.push(LevelFormat { coordinate: Coordinate::Dim(0), kind: LevelKind::Dense });
            levels.push(Level::Dense);
        }
        let all = values.count()?;
        let positions = match rows {
            true => Indices::from_tensor(starts, "starts")?,
            false => Indices::new(&[0, all], None)?,
        };
        for (at, column) in columns.iter().enumerate() {
            let dim = first + at;
            let repeats = if dim + 1 < rank { Repeats::Repeated } else { Repeats::Unique };
            let coordinates = Indices::from_tensor(column, "coordinates")?;
            let (kind, level) = match at {
                0 => (list(repeats), Level::Compressed { positions: positions.clone(), coordinates }),
                _ => (single(repeats), Level::Singleton { coordinates }),
            };
            formats.push(LevelFormat { coordinate: Coordinate::Dim(dim), kind });
            levels.push(level);
        }
        let format = Format::new(formats, LeafKind::Values)?;
        pruned(Tensor::from_levels(format, shape, levels, Leaf::Values(values), fill)?, &drops)
    }
}

fn missing() -> Error {
    internal("chain", &"something that a nest gives is missing")
}

fn two(tensors: Vec<Tensor>) -> Result<[Tensor; 2], Error> {
    tensors.try_into().map_err(|_| missing())
}

/// Without the entries that equal the fill, if a task says that there are any.
fn pruned(tensor: Tensor, drops: &Tensor) -> Result<Tensor, Error> {
    let any = drops.to_vec::<i64>()?.iter().any(|&n| n > 0);
    Ok(if any { tensor.prune()? } else { tensor })
}

/// Where each task starts, and where the last one ends.
fn starts(counts: &Tensor) -> Result<(Tensor, i64), Error> {
    let counts = counts.to_vec::<i64>()?;
    let mut starts = Vec::with_capacity(counts.len() + 1);
    let mut all = 0_i64;
    starts.push(0);
    for count in counts {
        all += count;
        starts.push(all);
    }
    let len = starts.len();
    Ok((Tensor::from_shape_vec([len], starts)?, all))
}

/// What a tensor takes in a format of dense levels and lists, at most: a dense level has a position for each coordinate.
fn converted_bytes(tensor: &Tensor, format: &Format) -> u64 {
    let entries = tensor.stored_count() as u64;
    let extent = |level: &LevelFormat| match (level.coordinate, level.kind) {
        (Coordinate::Dim(dim), LevelKind::Dense) => tensor.shape()[dim] as u64,
        (_, _) => 1,
    };
    let positions = format.levels().iter().map(extent).fold(1_u64, u64::saturating_mul);
    // Positions and coordinates of each list, at eight bytes.
    let lists = format.levels().iter().filter(|level| level.kind != LevelKind::Dense).count() as u64;
    let of_entries = entries.saturating_mul(16 * lists + tensor.dtype().size() as u64);
    of_entries.saturating_add(positions.saturating_mul(8))
}

/// The row of each entry.
fn rows_of(starts: &Tensor) -> Result<Tensor, Error> {
    let starts = starts.to_vec::<i64>()?;
    let counts = starts.windows(2).enumerate();
    let rows: Vec<i64> = counts
        .flat_map(|(row, ends)| std::iter::repeat_n(row as i64, (ends[1] - ends[0]) as usize))
        .collect();
    Ok(Tensor::from(rows))
}

/// An array of an argument.
fn array(tensor: &Tensor, array: Array) -> Result<Tensor, Error> {
    let Some(stored) = tensor.stored() else { return Ok(tensor.clone()) };
    let level = |l: usize| stored.levels().get(l).ok_or_else(missing);
    Ok(match array {
        Array::Positions(l) => {
            let Level::Compressed { positions, .. } = level(l)? else { return Err(missing()) };
            positions.to_tensor()
        }
        Array::Coordinates(l) => {
            let Level::Compressed { coordinates, .. } = level(l)? else { return Err(missing()) };
            coordinates.to_tensor()
        }
        Array::Values => match stored.leaf() {
            Leaf::Values(values) => values.clone(),
            Leaf::Iso(_) | Leaf::Pattern => return Err(missing()),
        },
        Array::Starts => return Err(missing()),
    })
}
