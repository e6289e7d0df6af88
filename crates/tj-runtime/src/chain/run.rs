//! Runs a chain: arguments into their formats, programs in order, entries into tensors.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_kernel::lower::sparse::{Array, BLOCK, Tasks};
use tj_plan::sparse::{Argument as Wanted, ResultKind};
use tj_plan::{QueryId, Surprise};
use tj_tensor::{
    Buffer, Coordinate, Duplicates, Format, Indices, Leaf, LeafKind, Level, LevelFormat, LevelKind, Order,
    Repeats, Scalar, SliceSpec, Tensor, Widths,
};

use super::gaps::{self, Block};
use super::{Chain, Decider, Instead, NestCode, Part, Rest, Step, Work, room};
use crate::bind::{Binder, Values};
use crate::budget;
use crate::call::{Arguments, Call};
use crate::error::Error;
use crate::executable::Executable;
use crate::options::MaxBytes;
use crate::program::internal;
use crate::report::{Cost, Kept, RunReport};
use crate::walked::Times;

/// What a program of a chain cost, and how long its kernels took.
pub(crate) type Spent = (usize, Cost, Vec<(String, Duration)>);

/// What a run of a chain cost.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub spent: SmallVec<[Spent; 1]>,
    /// What was expected of steps, and found.
    pub kept: Vec<Kept>,
    /// What ran instead of the later steps, and what that cost.
    pub rest: Option<Box<(Arc<Instead>, Ledger)>>,
    /// Whether something was decided on that is kept.
    pub has_decided: bool,
}

impl Ledger {
    /// The report of a run of these programs.
    pub fn report(self, executables: &[&Executable]) -> RunReport {
        let reports = self.spent.into_iter().map(|(number, cost, kernel_times)| {
            let report = cost.report(&executables[number].program);
            RunReport { kernel_times, ..report }
        });
        let report = reports.reduce(RunReport::and_then).unwrap_or_default();
        let report = RunReport { kept: self.kept, ..report };
        match self.rest.map(|rest| *rest) {
            None => report,
            Some((instead, ledger)) => {
                let rest = ledger.report(&instead.chain.executables());
                report.and_then(RunReport { decided_again: rest.decided_again + 1, ..rest })
            }
        }
    }
}

/// What all programs of a run share.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'r> {
    /// Values of the sizes of the whole program.
    pub sizes: &'r [i64],
    pub numbers: &'r [Scalar],
    pub max: MaxBytes,
    pub times: Times,
    /// Who may decide again what is left; nobody, if none.
    pub decider: Option<Decider<'r>>,
}

/// A run, and what it has cost so far.
pub(super) struct Runner<'r> {
    pub terms: Terms<'r>,
    pub(super) spent: SmallVec<[Spent; 1]>,
}

/// Runs a chain on its inputs, of which nobody else holds what may be written to; gives the results in the order in which they
/// were asked for.
pub(crate) fn run(
    chain: &Chain,
    mut inputs: Vec<Tensor>,
    terms: Terms<'_>,
) -> Result<(Vec<Tensor>, Ledger), Error> {
    let Terms { sizes, max, decider, .. } = terms;
    let mut runner = Runner { terms, spent: SmallVec::new() };
    let (mut kept, mut has_decided) = (Vec::new(), false);
    let mut spread = 0_u64;
    for &at in &chain.dense {
        let tensor = &mut inputs[at as usize];
        spread = spread.saturating_add(tensor.count()?.saturating_mul(tensor.dtype().size()) as u64);
        budget::check(max, spread)?;
        *tensor = tensor.in_format(&Format::dense(tensor.rank()))?;
    }
    if !chain.guards.is_empty() {
        let binder = Binder::new(&chain.symbols, &[], &[]);
        binder.check(&chain.guards, &sizes.iter().copied().collect(), &[])?;
    }
    let nothing = Tensor::scalar(false);
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
        // What is not needed any more belongs to this step alone.
        for source in &step.last_of {
            match source {
                Source::Input(i) => inputs[*i as usize] = nothing.clone(),
                Source::Def(_) => drop(known.remove(source)),
            }
        }
        let results = match &step.work {
            Work::Dense(executable) => {
                let dense = from.iter().map(|tensor| runner.dense(tensor));
                let dense: Vec<Tensor> = dense.collect::<Result<_, _>>()?;
                drop(from);
                let results = runner.call(executable, &dense, &[], number, &mut |_| Ok(()))?;
                number += 1;
                results
            }
            Work::Moved(moved) => {
                let result = runner.moved(moved, &chain.symbols, &step.from, &from)?;
                drop(from);
                vec![result]
            }
            Work::Stretches(code) => {
                let result = runner.stretches(code, &from, number)?;
                number += 1 + usize::from(code.fold.is_some());
                drop(from);
                vec![result]
            }
            Work::Nest(nest) if matches!(nest.result, ResultKind::Updated(_)) => {
                let ResultKind::Updated(of) = nest.result else { return Err(missing()) };
                let arguments = runner.arguments(nest, &from)?;
                let written = runner.written(nest, &arguments, number)?;
                number += 1 + usize::from(nest.count.is_some());
                drop(arguments);
                let base = from.swap_remove(of);
                drop(from);
                vec![runner.updated(nest, base, &written)?]
            }
            Work::Nest(nest) => {
                let results = runner.nest(nest, &from, number)?;
                number += 1 + usize::from(nest.count.is_some());
                drop(from);
                results
            }
        };
        known.extend(step.gives.iter().copied().zip(results));
        let Some((rest, decider)) = chain.rest.as_ref().zip(decider) else { continue };
        let Some(query) = surprising(rest, step, &known, decider.scheduler.surprise(), &mut kept) else {
            continue;
        };
        let mut computed: Vec<(QueryId, Tensor)> = known
            .iter()
            .filter_map(|(source, tensor)| match source {
                Source::Def(q) => Some((QueryId(*q), tensor.clone())),
                Source::Input(_) => None,
            })
            .collect();
        computed.sort_by_key(|(query, _)| *query);
        let (instead, is_new) = rest.after(query, &inputs, &computed, decider)?;
        has_decided |= is_new;
        if let Some(instead) = instead {
            drop(known);
            inputs.extend(computed.into_iter().map(|(_, tensor)| tensor));
            let taken = instead.takes.iter().map(|&at| inputs[at].clone()).collect();
            drop(inputs);
            let (results, ledger) = run(&instead.chain, taken, terms)?;
            has_decided |= ledger.has_decided;
            let rest = Some(Box::new((instead, ledger)));
            return Ok((results, Ledger { spent: runner.spent, kept, rest, has_decided }));
        }
    }
    let result = |source: &Source| match source {
        // Whether an expression is its argument is nobody's business: what it stores is what differs from its fill.
        Source::Input(i) => match &inputs[*i as usize] {
            tensor if tensor.stored().is_some() && tensor.nnz()? < tensor.stored_count() => {
                Ok(tensor.prune()?)
            }
            tensor => Ok(tensor.clone()),
        },
        Source::Def(_) => known.get(source).cloned().ok_or_else(|| internal("chain", &"a result is missing")),
    };
    let results = chain.produces.iter().map(result).collect::<Result<_, _>>()?;
    Ok((results, Ledger { spent: runner.spent, kept, rest: None, has_decided }))
}

/// A query of a step that is so far from what was expected of it that what is left is decided again.
fn surprising(
    rest: &Rest,
    step: &Step,
    known: &FxHashMap<Source, Tensor>,
    surprise: Surprise,
    kept: &mut Vec<Kept>,
) -> Option<QueryId> {
    let mut found = None;
    for source in &step.gives {
        let (Source::Def(q), Some(tensor)) = (source, known.get(source)) else { continue };
        let Some(own) = rest.kept(QueryId(*q), tensor) else { continue };
        if rest.surprises(QueryId(*q), &own, surprise) {
            found = Some(QueryId(*q));
        }
        kept.push(own);
    }
    found
}

impl Runner<'_> {
    /// Every element, row-major.
    pub fn dense(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        if tensor.stored().is_some() {
            budget::check(self.terms.max, tensor.count()?.saturating_mul(tensor.dtype().size()) as u64)?;
            return Ok(tensor.to_dense()?);
        }
        Ok(tensor.clone())
    }

    pub fn call(
        &mut self,
        executable: &Executable,
        inputs: &[Tensor],
        counts: &[i64],
        number: usize,
        then: &mut dyn FnMut(&mut [Buffer]) -> Result<(), Error>,
    ) -> Result<Vec<Tensor>, Error> {
        let values: Values = self.terms.sizes.iter().chain(counts).copied().collect();
        let inputs: SmallVec<[&Tensor; 8]> = inputs.iter().collect();
        let program = &executable.program;
        if !program.binder.fits(&inputs, &values) {
            return Err(internal("chain", &"arrays of other sizes than their tensor has"));
        }
        let bound = program.bind(values, &[])?;
        let mut call = Call::bound(program, inputs, bound, self.terms.max, Arguments::Kept)?;
        if self.terms.times == Times::Measured {
            call = call.timed(program);
        }
        let (outputs, cost) = executable.finish_then(&call, self.terms.numbers, SmallVec::new(), then)?;
        self.spent.push((number, cost, call.kernel_times(program)));
        Ok(outputs)
    }

    /// Arguments of a nest as it wants them.
    fn arguments(&self, nest: &NestCode, from: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let mut arguments = Vec::with_capacity(from.len());
        for (tensor, argument) in from.iter().zip(&nest.arguments) {
            arguments.push(match argument {
                Wanted::Dense(axes) => {
                    let dense = self.dense(tensor)?;
                    if axes.is_sorted() { dense } else { dense.permute(axes)? }
                }
                Wanted::Stored(operand) => {
                    let filled = tensor.clone().with_fill(Some(operand.fill))?;
                    match filled.stored() {
                        Some(stored) if *stored.format() == operand.format => filled,
                        Some(_) | None => {
                            budget::check(
                                self.terms.max,
                                converted_bytes(&filled, filled.stored_count(), &operand.format),
                            )?;
                            filled.in_format(&operand.format)?
                        }
                    }
                }
            });
        }
        Ok(arguments)
    }

    pub fn nest(&mut self, nest: &NestCode, from: &[Tensor], number: usize) -> Result<Vec<Tensor>, Error> {
        let arguments = self.arguments(nest, from)?;
        let fill = nest.fill;
        match nest.result {
            ResultKind::Dense => self.part(&nest.main, &arguments, None, number),
            ResultKind::AsArgument(of) => {
                let [values, drops] = two(self.part(&nest.main, &arguments, None, number)?)?;
                let fill = fill.ok_or_else(missing)?;
                Ok(vec![pruned(arguments[of].with_values(values, fill)?, &drops)?])
            }
            ResultKind::Stored => {
                let written = self.written(nest, &arguments, number)?;
                Ok(vec![self.assembled(nest, written)?])
            }
            ResultKind::Updated(_) => Err(missing()),
        }
    }

    /// The entries of a nest: columns of coordinates, values, and where those of each task start.
    fn written(
        &mut self,
        nest: &NestCode,
        arguments: &[Tensor],
        number: usize,
    ) -> Result<Vec<Tensor>, Error> {
        let (starts, number) = match (&nest.room, &nest.count) {
            (Some(room), _) => (room::starts(room, &nest.tasks, arguments)?, number),
            (None, Some(count)) => {
                let counts = self.part(count, arguments, None, number)?;
                (starts(&counts.into_iter().next().ok_or_else(missing)?)?, number + 1)
            }
            (None, None) => return Err(missing()),
        };
        self.part(&nest.main, arguments, Some(starts), number)
    }

    /// Runs one program of a nest. If it writes entries, `starts` says where each task may begin; then the results are
    /// without gaps, and the last one is where the entries of each task start.
    fn part(
        &mut self,
        part: &Part,
        arguments: &[Tensor],
        starts: Option<Vec<i64>>,
        number: usize,
    ) -> Result<Vec<Tensor>, Error> {
        let mut counts = Vec::with_capacity(part.counts.len() + 1);
        for &(argument, level) in &part.counts {
            let stored = arguments[argument].stored().ok_or_else(missing)?;
            counts.push(stored.positions_below(level) as i64);
        }
        let room = starts.as_ref().and_then(|starts| starts.last().copied());
        counts.extend(room);
        let starts = starts.map(|starts| Tensor::from_shape_vec([starts.len()], starts)).transpose()?;
        let mut inputs = Vec::with_capacity(part.inputs.len());
        for &(argument, array) in &part.inputs {
            inputs.push(match (array, arguments.get(argument)) {
                (Array::Starts, _) => starts.clone().ok_or_else(missing)?,
                (array, Some(tensor)) => self::array(tensor, array)?,
                (_, None) => return Err(missing()),
            });
        }
        let Some(starts) = starts else {
            return self.call(&part.executable, &inputs, &counts, number, &mut |_| Ok(()));
        };
        let threads = part.executable.program.threads;
        let mut entries = Vec::new();
        let mut outputs = self.call(&part.executable, &inputs, &counts, number, &mut |buffers| {
            let (counts, lists) = buffers.split_last_mut().ok_or_else(missing)?;
            let counts: &[i64] = bytemuck::try_cast_slice(counts.as_bytes()).map_err(|_| missing())?;
            let starts = starts.as_slice::<i64>().ok_or_else(missing)?;
            let blocks: Vec<Block> = blocks(starts, counts);
            gaps::close(lists, &blocks, threads);
            entries = cumulated(counts);
            Ok(())
        })?;
        outputs.pop();
        let n = entries.last().copied().unwrap_or(0);
        let room = room.unwrap_or(0);
        for output in &mut outputs {
            if n < room {
                let part = output.slice(0, SliceSpec { start: Some(0), stop: Some(n), step: 1 })?;
                // Room that stays empty for the most part is not kept by what lies in it.
                *output = if n < room / 2 { copied(&part)? } else { part };
            }
        }
        outputs.push(Tensor::from(entries));
        Ok(outputs)
    }

    /// Entries as a tensor.
    fn assembled(&self, nest: &NestCode, written: Vec<Tensor>) -> Result<Tensor, Error> {
        let fill = nest.fill.ok_or_else(missing)?;
        let symbols = nest.main.executable.program.binder.symbols();
        let value = |symbol: &tj_ir::Symbol| {
            let at = symbols.iter().position(|known| known == symbol)?;
            self.terms.sizes.get(at).copied()
        };
        let mut shape = Vec::with_capacity(nest.shape.len());
        for dim in &nest.shape {
            shape.push(usize::try_from(dim.eval(&value)?).unwrap_or(0));
        }
        let mut written = written;
        let (starts, values) = (written.pop().ok_or_else(missing)?, written.pop().ok_or_else(missing)?);
        let columns = written;
        let rows = nest.tasks == Tasks::Rows;
        if !nest.columns.is_sorted() {
            let mut order: Vec<usize> = (0..columns.len()).collect();
            order.sort_by_key(|&at| nest.columns[at]);
            let mut coordinates: Vec<Tensor> = order.into_iter().map(|at| columns[at].clone()).collect();
            if rows {
                coordinates.insert(0, rows_of(&starts)?);
            }
            let format = Format::coo(shape.len());
            return Ok(Tensor::from_entries(shape, &coordinates, values, fill, Duplicates::Refuse, &format)?);
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
            true => Indices::from_tensor(&starts, "starts")?,
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
        Ok(Tensor::from_levels(format, shape, levels, Leaf::Values(values), fill)?)
    }
}

pub(super) fn missing() -> Error {
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
fn starts(counts: &Tensor) -> Result<Vec<i64>, Error> {
    Ok(cumulated(&counts.to_vec::<i64>()?))
}

fn cumulated(counts: &[i64]) -> Vec<i64> {
    let mut starts = Vec::with_capacity(counts.len() + 1);
    let mut all = 0_i64;
    starts.push(0);
    for count in counts {
        all += count;
        starts.push(all);
    }
    starts
}

/// The same elements in memory of their own.
fn copied(list: &Tensor) -> Result<Tensor, Error> {
    let buffer = Buffer::copy_of(list.as_bytes().unwrap_or(&[]))?;
    Ok(Tensor::from_buffer(list.dtype(), list.shape(), buffer)?)
}

/// The room of each block of tasks, and how much of it is taken.
fn blocks(starts: &[i64], counts: &[i64]) -> Vec<Block> {
    let tasks = counts.chunks(BLOCK as usize).enumerate();
    let block = |(at, counts): (usize, &[i64])| {
        let first = at * BLOCK as usize;
        let (start, end) = (starts[first], starts[first + counts.len()]);
        Block {
            start: start as usize,
            room: (end - start) as usize,
            len: counts.iter().sum::<i64>() as usize,
        }
    };
    tasks.map(block).collect()
}

/// What a tensor of so many entries takes in a format of dense levels and lists, at most: a dense level has a position for
/// each coordinate.
pub(crate) fn converted_bytes(tensor: &Tensor, entries: usize, format: &Format) -> u64 {
    let entries = entries as u64;
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
