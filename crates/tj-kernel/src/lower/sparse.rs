//! From nests over tensors that are stored by levels to kernels that walk them.
//!
//! **Idea.** A *reader* is a read of such a tensor and how far it has gone through its levels. Opening the loop of an index
//! moves every reader whose next level is that index: through a dense level by arithmetic, along a list by a cursor. Which
//! lists a loop walks, and how, follows from the tree of what it computes (`tj_plan::sparse::space`): one list is a counted
//! loop over its entries; several are merged, where an "and" waits for the greatest coordinate and an "or" takes the least;
//! everywhere is a loop over all coordinates. A list that is not walked is followed. Then the body is evaluated as it stands,
//! with the fill for a reader that has no entry: so a tree decides what is visited, and never what is computed.
//!
//! **Results.** A dense result is stored where it is computed, several beside each other if they go along the same lists; what
//! a tree leaves out is filled before. A result that is
//! stored by levels is written into room for all entries that there may be, of which the caller says where each task's begins:
//! by the lengths of lists where a tree of reads bounds what it visits ([`room`]), else by a program with the same loops that
//! counts. A block of tasks writes its entries one after the other, without those that turn out to be the fill, and says how
//! many each task wrote, so that the caller closes the gaps. A reduction among the loops of the result is collected in a row
//! of memory with three layers of bits over it, so that its entries come out in order without sorting.
//!
//! **Invariants.** Index arrays hold what their tensors were checked for (`Buffer::holds`), cursors stop at the ends of
//! their lists, and entries are written only before the start of the next task: `verify` proves all of it. A place that is one of
//! its tensor only where a loop runs, which need not depend on it, is that of no entry where the loop is empty.

mod collect;
mod gates;
mod late;
mod merge;
mod readers;
mod results;
pub mod room;
mod rows;
mod spread;
mod values;
mod walk;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_ir::dim::Ranges;
use tj_ir::expr::Source;
use tj_ir::{Dim, Expr, ExprId, InputDecl, Shape, Symbol};
use tj_plan::sparse::space::{Space, Tree, follow_condition, spaces};
use tj_plan::sparse::{Argument, Nest, Operand, ResultKind};
use tj_plan::{Group, Plan, Produces, Query};
use tj_tensor::{DType, Scalar, Width};

use super::blocks::Share;
use super::{Binding, Ctx, Lowered};
use crate::build::Builder;
use crate::ir::{Buf, Grid};

use readers::Reader;

/// Tasks that write one after the other into the same room, so that between them there are no gaps.
pub const BLOCK: i64 = 64;

/// What a program over levels does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Computes a dense result.
    Dense,
    /// Counts the entries of each task.
    Count,
    /// Writes coordinates and values, given where each task starts.
    Fill,
    /// Writes values, one for each entry of an argument.
    Values,
}

/// An array of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Array {
    /// Where the lists of a level start.
    Positions(usize),
    /// The lists of a level.
    Coordinates(usize),
    /// All elements, or one for each position of the last level.
    Values,
    /// Where the entries of each task start; of no argument.
    Starts,
}

/// A program that computes a nest, or one phase of it.
#[derive(Clone, Debug)]
pub struct NestProgram {
    /// Its inputs are arrays and its queries what it writes: their bodies say nothing.
    pub plan: Plan,
    /// What each input is: an array of an argument.
    pub inputs: Vec<(usize, Array)>,
    /// What the symbols are that follow those of the nest: how many positions a level of an argument has. The phase that
    /// fills has one more, for the entries.
    pub counts: Vec<(usize, usize)>,
    /// In order.
    pub kernels: Vec<Lowered>,
}

/// What the tasks of a nest with a stored result are.
#[derive(Clone, Debug, PartialEq)]
pub enum Tasks {
    /// Coordinates of the first axis of the result, which are not written down.
    Rows,
    /// Entries of the outermost list of a reader.
    Entries,
    /// There is one.
    One,
}

/// What is known of an argument's arrays.
#[derive(Clone, Debug)]
struct Arrays {
    /// For each level that is a list, its arrays.
    lists: Vec<Option<(Buf, Buf)>>,
    values: Buf,
}

/// The tasks of a nest.
pub fn tasks(nest: &Nest) -> Tasks {
    let Some(&first) = nest.loops.first() else { return Tasks::One };
    let spaces = nest_spaces(nest);
    let rank = nest.plan.queries[0].shape.len();
    if first as usize >= rank {
        return Tasks::One;
    }
    let mut readers = readers::readers(nest);
    readers.iter_mut().for_each(Reader::locate_before_loops);
    let walks = |id: ExprId| readers.iter().any(|reader| reader.id == id && reader.walks(first));
    let walkers: Vec<&Reader> = readers.iter().filter(|reader| reader.walks(first)).collect();
    match (whole_tree(nest, &spaces).at(&walks), walkers.as_slice()) {
        (Tree::All, []) if first == 0 => Tasks::Rows,
        // A slice is not all of a list, and a list below a fixed coordinate is not all of a level.
        (Tree::Leaf(_), [reader]) if reader.next == 0 && reader.part(nest).is_none() => Tasks::Entries,
        (Tree::All | Tree::Leaf(_) | Tree::And(_) | Tree::Or(_), _) => Tasks::One,
    }
}

/// The axes of a stored result whose coordinates are written down, in the order of the loops.
pub fn columns(nest: &Nest) -> Vec<u32> {
    let rank = nest.plan.queries[0].shape.len() as u32;
    let skip = usize::from(tasks(nest) == Tasks::Rows);
    let own = nest.loops.iter().copied().filter(|&index| index < rank);
    own.skip(skip).collect()
}

/// How a source is read, if it is stored by levels.
fn stored(nest: &Nest, source: Source) -> Option<&Operand> {
    let Source::Input(i) = source else { return None };
    match &nest.arguments[i as usize] {
        Argument::Stored(operand) => Some(operand),
        Argument::Dense(_) => None,
    }
}

fn nest_spaces(nest: &Nest) -> FxHashMap<ExprId, Space> {
    let fill_of = |source: Source| stored(nest, source).map(|operand| operand.fill);
    let of = |query: &Query| spaces(&nest.plan.arena, query.body, &fill_of);
    let mut spaces: FxHashMap<ExprId, Space> = nest.plan.queries.iter().flat_map(of).collect();
    if let ResultKind::Updated(_) = nest.result {
        follow_condition(&nest.plan.arena, nest.plan.queries[0].body, &mut spaces);
    }
    spaces
}

/// What each result is computed from inside of all loops.
fn inners(nest: &Nest) -> Vec<ExprId> {
    match nest.plan.queries.as_slice() {
        [_] => vec![nest.inner],
        queries => queries.iter().map(|query| query.body).collect(),
    }
}

/// Where some result is visited.
fn whole_tree(nest: &Nest, spaces: &FxHashMap<ExprId, Space>) -> Tree {
    Tree::or(inners(nest).into_iter().map(|inner| spaces[&inner].tree.clone()))
}

/// The type of coordinates.
fn index_dtype(width: Width) -> DType {
    match width {
        Width::U8 => DType::U8,
        Width::U16 => DType::U16,
        Width::U32 => DType::U32,
        Width::U64 => DType::U64,
    }
}

/// Kernels of a nest, or of one phase of it.
pub fn lower_nest(nest: &Nest, phase: Phase) -> NestProgram {
    let layout = layout(nest, phase);
    let group = Group {
        queries: layout.plan.query_ids().collect(),
        outer: 0,
        local: vec![false; layout.plan.queries.len()],
    };
    let mut kernels = Vec::new();
    let kinds: &[Part] = match phase {
        Phase::Dense if results::fills_first(nest) => &[Part::Prefill, Part::Main],
        Phase::Dense | Phase::Count | Phase::Fill | Phase::Values => &[Part::Main],
    };
    for &part in kinds {
        kernels.push(lower_part(nest, phase, part, &layout, &group));
    }
    NestProgram { plan: layout.plan, inputs: layout.inputs, counts: layout.counts, kernels }
}

/// One kernel of a phase.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Fills a dense result.
    Prefill,
    /// Walks.
    Main,
}

/// Inputs and outputs of a program.
struct Layout {
    plan: Plan,
    inputs: Vec<(usize, Array)>,
    counts: Vec<(usize, usize)>,
    /// For each argument, the positions of each of its levels.
    positions: Vec<Vec<Dim>>,
    entries: Option<Symbol>,
    tasks: Dim,
}

fn layout(nest: &Nest, phase: Phase) -> Layout {
    let mut symbols = nest.plan.symbols.clone();
    let mut fresh = nest.plan.first_fresh();
    let mut count = |symbols: &mut Vec<Symbol>| {
        let symbol = Symbol::fresh(fresh, 0..).expect("a range without an end is one");
        fresh += 1;
        symbols.push(symbol.clone());
        symbol
    };
    let mut inputs: Vec<(usize, Array)> = Vec::new();
    let mut declared: Vec<InputDecl> = Vec::new();
    let mut counts = Vec::new();
    let mut positions: Vec<Vec<Dim>> = Vec::new();
    let mut declare =
        |of: usize, array: Array, dtype: DType, shape: Shape, name: Option<std::sync::Arc<str>>| {
            inputs.push((of, array));
            declared.push(InputDecl { name, dtype, shape, data: None });
        };
    for (at, (argument, decl)) in nest.arguments.iter().zip(&nest.plan.inputs).enumerate() {
        let name = |part: &str| {
            let own = decl.name.as_deref().map_or(format!("in{at}"), str::to_string);
            Some(format!("{own}{part}").into())
        };
        match argument {
            Argument::Dense(_) => {
                declare(at, Array::Values, decl.dtype, decl.shape.clone(), name(""));
                positions.push(Vec::new());
            }
            Argument::Stored(operand) => {
                let mut above = Dim::ONE;
                let mut of_levels = Vec::new();
                for (l, level) in operand.levels().into_iter().enumerate() {
                    above = match level.list {
                        None => &above * &decl.shape[level.dim],
                        Some((position, coordinate)) => {
                            let symbol = count(&mut symbols);
                            let own = Dim::symbol(&symbol);
                            counts.push((at, l));
                            let starts: Shape = SmallVec::from_iter([&above + 1]);
                            declare(at, Array::Positions(l), position, starts, name(&format!("_p{l}")));
                            let list: Shape = SmallVec::from_iter([own.clone()]);
                            declare(at, Array::Coordinates(l), coordinate, list, name(&format!("_i{l}")));
                            own
                        }
                    };
                    of_levels.push(above.clone());
                }
                let values: Shape = SmallVec::from_iter([above]);
                declare(at, Array::Values, decl.dtype, values, name(""));
                positions.push(of_levels);
            }
        }
    }
    let tasks = match tasks(nest) {
        Tasks::Rows => nest.extents[nest.loops[0] as usize].clone(),
        Tasks::Entries => {
            let readers = readers::readers(nest);
            let first = readers.iter().find(|reader| reader.walks(nest.loops[0]));
            first.map_or(Dim::ONE, |reader| positions[reader.argument][0].clone())
        }
        Tasks::One => Dim::ONE,
    };
    let own = &nest.plan.queries[0];
    let mut entries = None;
    let mut outputs: Vec<(DType, Shape)> = Vec::new();
    let list = |dim: Dim| -> Shape { SmallVec::from_iter([dim]) };
    match phase {
        Phase::Dense => {
            outputs.extend(nest.plan.queries.iter().map(|query| (query.dtype, query.shape.clone())));
        }
        Phase::Count => outputs.push((DType::I64, list(tasks.clone()))),
        Phase::Fill => {
            let symbol = count(&mut symbols);
            let all = Dim::symbol(&symbol);
            entries = Some(symbol);
            declare(usize::MAX, Array::Starts, DType::I64, list(&tasks + 1), Some("starts".into()));
            let column = (index_dtype(nest.width), list(all.clone()));
            outputs.extend(columns(nest).iter().map(|_| column.clone()));
            outputs.push((own.dtype, list(all)));
            // How many of them each task wrote.
            outputs.push((DType::I64, list(tasks.clone())));
        }
        Phase::Values => {
            let ResultKind::AsArgument(of) = nest.result else {
                panic!("lower: values alone are those of an argument's entries")
            };
            let all = positions[of].last().cloned().unwrap_or(Dim::ONE);
            outputs.push((own.dtype, list(all)));
            outputs.push((DType::I64, list(tasks.clone())));
        }
    }
    let mut arena = nest.plan.arena.clone();
    let queries = outputs.into_iter().map(|(dtype, shape)| {
        let body = arena.constant(Scalar::zero(dtype));
        Query { word: own.word.clone(), shape, dtype, body, location: own.location }
    });
    let queries: Vec<Query> = queries.collect();
    let produces = Produces((0..queries.len() as u32).map(Source::Def).collect());
    let plan = Plan {
        arena,
        inputs: declared,
        queries,
        produces,
        guards: Vec::new(),
        symbols,
        numbers: nest.plan.numbers.clone(),
    };
    Layout { plan, inputs, counts, positions, entries, tasks }
}

/// A nest while it is written as a kernel.
struct Walk<'p> {
    ctx: Ctx<'p>,
    nest: &'p Nest,
    phase: Phase,
    spaces: FxHashMap<ExprId, Space>,
    readers: Vec<Reader>,
    arrays: Vec<Option<Arrays>>,
    /// For each dense argument, which input it is.
    dense: Vec<Option<u32>>,
    /// What is known at the current place, so that it is evaluated once.
    known: FxHashMap<ExprId, crate::ir::Value>,
    tasks: Tasks,
    /// What was asked on the way to the current place.
    open_gates: Vec<gates::Gate>,
    /// The total of the reduction whose loop is opened next, and the value that ends the loop early.
    stop: Option<(crate::ir::Var, bool)>,
    /// Reductions that have been computed for a whole row of an index, and where they are.
    rows: FxHashMap<ExprId, (Buf, u32)>,
    /// For each reader that was spread, its memory.
    cells: FxHashMap<ExprId, Buf>,
    /// The axes whose coordinates are written down.
    columns: Vec<u32>,
    /// How many tasks there are.
    n_tasks: Dim,
    /// The task that runs.
    task: Option<crate::ir::Value>,
}

fn lower_part(nest: &Nest, phase: Phase, part: Part, layout: &Layout, group: &Group) -> Lowered {
    let extent = match (part, phase) {
        (Part::Prefill, _) => nest.plan.queries[0].shape.iter().fold(Dim::ONE, |n, d| n * d.clone()),
        (Part::Main, Phase::Fill) if tasks(nest) != Tasks::One => layout.tasks.ceildiv(&Dim::from(BLOCK)),
        (Part::Main, _) => layout.tasks.clone(),
    };
    let grid = Grid {
        extent,
        multiple: if part == Part::Prefill { 1024 } else { 1 },
        cost: match (part, phase) {
            (Part::Prefill, _) => Dim::ONE,
            (Part::Main, Phase::Fill) => cost(nest, layout) * BLOCK,
            (Part::Main, _) => cost(nest, layout),
        },
    };
    let word = &nest.plan.queries[0].word;
    let name = match (part, phase) {
        (Part::Prefill, _) => format!("fill_{word}"),
        (Part::Main, Phase::Dense) => format!("walk_{word}"),
        (Part::Main, Phase::Count) => format!("count_{word}"),
        (Part::Main, Phase::Fill) => format!("entries_{word}"),
        (Part::Main, Phase::Values) => format!("values_{word}"),
    };
    let mut ranges = Ranges::new();
    for (index, extent) in nest.extents.iter().enumerate() {
        ranges.set_extent(index as u32, extent);
    }
    let ctx = Ctx { ranges, ..Ctx::new(&layout.plan, group, Share::All, 0, Builder::new(name, grid)) };
    let mut walk = Walk {
        ctx,
        nest,
        phase,
        spaces: nest_spaces(nest),
        readers: Vec::new(),
        arrays: vec![None; nest.arguments.len()],
        dense: vec![None; nest.arguments.len()],
        known: FxHashMap::default(),
        open_gates: Vec::new(),
        stop: None,
        rows: FxHashMap::default(),
        cells: FxHashMap::default(),
        tasks: tasks(nest),
        columns: columns(nest),
        n_tasks: layout.tasks.clone(),
        task: None,
    };
    if part == Part::Prefill {
        walk.prefill();
    } else {
        walk.declare(layout);
        walk.readers = readers::readers(nest);
        walk.declare_cells();
        walk.locate();
        walk.main();
    }
    let Ctx { b, bindings, numbers, .. } = walk.ctx;
    Lowered { kernel: b.finish(), bindings, numbers, when: None }
}

/// What an entry costs beside what is computed with it, in additions in lanes: a step that waits for memory.
const ENTRY: i64 = 48;

/// What is computed with each element.
const LANE: i64 = 8;

/// Rough work of a task: its share of the entries of what it is a part of, times the entries of a list of what is read anew
/// for each of them, times what is dense inside.
fn cost(nest: &Nest, layout: &Layout) -> Dim {
    let readers = readers::readers(nest);
    let first = nest.loops.first().copied();
    let share = |entries: &Dim, of: &Dim| entries.floordiv(&(of + 1)) + 1;
    let (mut own, mut each) = (Dim::ONE, Dim::ONE);
    for reader in &readers {
        let Some(entries) = layout.positions[reader.argument].last() else { continue };
        if first.is_none_or(|first| reader.speaks_of(first)) {
            own += share(entries, &layout.tasks);
        } else if let [outermost, _, ..] = reader.levels.as_slice() {
            each *= share(entries, &nest.plan.inputs[reader.argument].shape[outermost.dim]);
        }
    }
    let listed = |index: u32| readers.iter().any(|reader| reader.speaks_of(index));
    let dense = (0..nest.extents.len() as u32)
        .filter(|&index| !listed(index) && first != Some(index))
        .fold(Dim::ONE, |n, index| n * nest.extents[index as usize].clone());
    own * each * (dense * LANE + ENTRY)
}

impl Walk<'_> {
    /// Declares the arrays of every argument.
    fn declare(&mut self, layout: &Layout) {
        let mut arrays: Vec<FxHashMap<Array, Buf>> = vec![FxHashMap::default(); self.nest.arguments.len()];
        for (input, &(argument, array)) in layout.inputs.iter().enumerate() {
            let decl = &layout.plan.inputs[input];
            let name = decl.name.as_deref().unwrap_or("in").to_string();
            let len = decl.shape.iter().fold(Dim::ONE, |n, d| n * d.clone());
            let max = match array {
                Array::Values if matches!(self.nest.arguments[argument], Argument::Dense(_)) => {
                    self.dense[argument] = Some(input as u32);
                    continue;
                }
                Array::Values => None,
                Array::Starts => continue,
                Array::Positions(l) => Some(layout.positions[argument][l].clone()),
                Array::Coordinates(l) => {
                    let Argument::Stored(operand) = &self.nest.arguments[argument] else { continue };
                    let dim = operand.levels()[l].dim;
                    Some(&self.nest.plan.inputs[argument].shape[dim] - 1)
                }
            };
            self.ctx.bindings.push(Binding::Input(input as u32));
            let buffer = match max {
                Some(max) => self.ctx.b.index_buffer(name, decl.dtype, len, max),
                None => self.ctx.b.buffer(name, decl.dtype, len, crate::ir::Access::Read),
            };
            arrays[argument].insert(array, buffer);
        }
        for (at, argument) in self.nest.arguments.iter().enumerate() {
            let Argument::Stored(operand) = argument else { continue };
            let found = &arrays[at];
            let list =
                |l: usize| Some((*found.get(&Array::Positions(l))?, *found.get(&Array::Coordinates(l))?));
            self.arrays[at] = Some(Arrays {
                lists: (0..operand.levels().len()).map(list).collect(),
                values: found[&Array::Values],
            });
        }
        if self.phase == Phase::Fill {
            let input = layout.plan.inputs.len() - 1;
            let len = &layout.tasks + 1;
            let all = layout.entries.as_ref().map_or(Dim::ZERO, Dim::symbol);
            self.ctx.bindings.push(Binding::Input(input as u32));
            let buffer = self.ctx.b.index_buffer("starts", DType::I64, len, all);
            self.ctx.buffers.insert(Source::Input(input as u32), buffer);
        }
    }

    /// The operand of an argument that is stored by levels.
    fn operand(&self, argument: usize) -> &Operand {
        match &self.nest.arguments[argument] {
            Argument::Stored(operand) => operand,
            Argument::Dense(_) => panic!("lower: a reader reads what is stored by levels"),
        }
    }

    /// The buffer of an output.
    fn output(&mut self, at: usize) -> Buf {
        self.ctx.source(Source::Def(at as u32))
    }

    /// The tree of a node.
    fn tree(&self, id: ExprId) -> Tree {
        self.spaces[&id].tree.clone()
    }

    fn rank(&self) -> usize {
        self.nest.plan.queries[0].shape.len()
    }

    fn node(&self, id: ExprId) -> &Expr {
        self.nest.plan.arena.node(id)
    }
}
