//! Programs over tensors that are stored by levels: several compiled programs, one after the other.
//!
//! **Idea.** `tj_plan::sparse` cuts a plan into steps. A dense step is compiled like any plan. A nest is one program, which
//! for a result that is stored by levels needs room for its entries: the lengths of its arguments' lists bound them ([`room`]),
//! or another program counts them first. So the memory of a result is known before anything is written; what turns out to be
//! the fill is left out, and the gaps are closed where they are ([`gaps`]). What is constant on stretches of runs is a dense
//! program on a value for each stretch, which the runtime cuts and puts together ([`stretches`]). What only goes to another
//! place is no program: its entries are moved ([`moves`]). What is an argument given for
//! good, but for some elements, is that argument with these written into it ([`update`]). Where a result is not what a scheduler
//! expected, what is left is decided again ([`adapt`]). Each program plans and verifies its own arena, and
//! results pass from one to the next as tensors.
//!
//! **Invariants.** Arguments are brought into the format that a nest was compiled for (a conversion, if need be), and what a
//! tensor stored by levels was checked for when it was made is what its kernels were proved with. The key of a chain holds the
//! format of every argument; counts are sizes, so that other entries, none too, are the same code.

mod adapt;
mod compile;
mod gaps;
mod moves;
mod room;
mod run;
mod stretches;
mod update;

use std::hash::{Hash, Hasher};

use tj_ir::expr::Source;
use tj_ir::{Guard, Storage as Declared, Symbol};
use tj_kernel::lower::sparse::room::Room;
use tj_kernel::lower::sparse::{Array, Tasks};
use tj_plan::sparse::moves::Moved;
use tj_plan::sparse::{Argument, ResultKind, StoredInput};
use tj_tensor::{Format, LevelFormat, LevelKind, Scalar, Tensor, Width};

use crate::executable::Executable;

pub(crate) use adapt::{Decider, Instead, Rest};
pub(crate) use compile::{Sparse, compile, compile_canonical, fills, stored_inputs};
pub(crate) use run::{Ledger, Spent, Terms, converted_bytes, run};

/// Programs in order.
#[derive(Debug)]
pub(crate) struct Chain {
    pub steps: Vec<Step>,
    /// Sizes of the program, in the order of their values.
    pub symbols: Vec<Symbol>,
    /// What must hold of them, if no program checks it.
    pub guards: Vec<Guard>,
    /// What is asked for.
    pub produces: Vec<Source>,
    /// Arguments that are stored by levels and read as dense ones; tensors remember that.
    pub dense: Vec<u32>,
    /// What is needed to decide again while it runs.
    pub rest: Option<Rest>,
}

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    /// What its arguments are.
    pub from: Vec<Source>,
    /// What its results are.
    pub gives: Vec<Source>,
    pub work: Work,
    /// Sources that no later step needs.
    pub last_of: Vec<Source>,
}

/// What a step runs.
#[derive(Debug)]
pub(crate) enum Work {
    /// A program on dense arguments.
    Dense(Box<Executable>),
    /// A nest.
    Nest(Box<NestCode>),
    /// A dense program on a value for each stretch.
    Stretches(Box<StretchCode>),
    /// Entries that go to other places.
    Moved(Box<Moved>),
}

/// A program on the stretches of its arguments.
#[derive(Debug)]
pub(crate) struct StretchCode {
    pub executable: Executable,
    /// Whether each argument is cut into stretches; the others are numbers.
    pub is_cut: Vec<bool>,
    /// The fill of the result, if it is known before.
    pub fill: Option<Scalar>,
    /// What folds the values along the runs, if they are folded, and the fill of the lists that it takes.
    pub fold: Option<(NestCode, Scalar)>,
}

/// A compiled nest.
#[derive(Debug)]
pub(crate) struct NestCode {
    pub arguments: Vec<Argument>,
    pub result: ResultKind,
    pub fill: Option<Scalar>,
    pub tasks: Tasks,
    /// The axes of the result whose coordinates are written down, in order.
    pub columns: Vec<u32>,
    /// The shape of the result.
    pub shape: Vec<tj_ir::Dim>,
    /// How much room entries get, if it is known before they are counted.
    pub room: Option<Room>,
    /// Counts the entries of each task, if that has to be done.
    pub count: Option<Part>,
    /// Computes the result.
    pub main: Part,
}

/// One program of a nest.
#[derive(Debug)]
pub(crate) struct Part {
    pub executable: Executable,
    pub inputs: Vec<(usize, Array)>,
    /// The argument and level that each count is of.
    pub counts: Vec<(usize, usize)>,
}

impl Chain {
    /// Whether each result may be stored by levels, where its values alone decide.
    pub fn may_be_stored(&self, inputs: &[Option<StoredInput>]) -> Vec<bool> {
        let is_stored = |source: &Source| match source {
            Source::Input(i) => inputs[*i as usize].is_some(),
            Source::Def(_) => {
                let step = self.steps.iter().find(|step| step.gives.contains(source));
                step.is_some_and(|step| match &step.work {
                    Work::Dense(_) => false,
                    Work::Nest(nest) => nest.is_stored(),
                    Work::Moved(_) => true,
                    Work::Stretches(code) => code.fold.as_ref().is_none_or(|(nest, _)| nest.is_stored()),
                })
            }
        };
        self.produces.iter().map(is_stored).collect()
    }

    /// All programs of its steps, in order; none of those that were decided on later.
    pub fn executables(&self) -> Vec<&Executable> {
        let mut all: Vec<&Executable> = Vec::new();
        for step in &self.steps {
            match &step.work {
                Work::Dense(executable) => all.push(executable),
                Work::Moved(_) => {}
                Work::Stretches(code) => {
                    all.push(&code.executable);
                    all.extend(code.fold.iter().flat_map(|(nest, _)| nest.executables()));
                }
                Work::Nest(nest) => all.extend(nest.executables()),
            }
        }
        all
    }

    /// Goes over the programs of its steps and of all that may run instead of some of them.
    pub fn for_each(&self, act: &mut dyn FnMut(&Executable)) {
        self.executables().into_iter().for_each(&mut *act);
        let others = self.rest.iter().flat_map(Rest::chains);
        others.for_each(|instead| instead.chain.for_each(act));
    }
}

impl NestCode {
    /// Whether its result is stored by levels.
    fn is_stored(&self) -> bool {
        match self.result {
            ResultKind::Stored | ResultKind::AsArgument(_) => true,
            ResultKind::Dense | ResultKind::Updated(_) => false,
        }
    }

    /// Its programs, in order.
    fn executables(&self) -> impl Iterator<Item = &Executable> {
        self.count.iter().chain(std::iter::once(&self.main)).map(|part| &part.executable)
    }
}

/// As many positions for each of 16 coordinates are no burden, however few entries there are.
const FEW: usize = 1 << 16;

/// What code depends on in how an argument is stored.
#[derive(Hash)]
struct Storage<'t> {
    format: &'t Format,
    is_hypersparse: bool,
    width: Width,
    may_store_fill: bool,
    /// 0 and -0 are one fill to laws, and two to whoever converts.
    fill: u128,
}

/// How an argument is stored, if kernels walk it.
fn storage(tensor: &Tensor) -> Option<(Storage<'_>, Scalar)> {
    let stored = tensor.stored()?;
    let fill = tensor.fill()?;
    if !tj_ir::is_static_fill(fill) || fill.dtype().is_complex() || tensor.rank() == 0 {
        return None;
    }
    let longest = tensor.shape().iter().copied().max().unwrap_or(0);
    let storage = Storage {
        format: stored.format(),
        is_hypersparse: longest / 16 > stored.leaf_positions().max(FEW),
        width: if longest > Width::U32.max() { Width::U64 } else { Width::U32 },
        may_store_fill: tensor.stores_fill(),
        fill: fill.bits(),
    };
    Some((storage, fill))
}

/// How an argument comes, if kernels walk it.
pub(crate) fn stored_input(tensor: &Tensor) -> Option<StoredInput> {
    let (Storage { format, is_hypersparse, width, may_store_fill, .. }, fill) = storage(tensor)?;
    Some(StoredInput { format: format.clone(), fill, is_hypersparse, width, may_store_fill, entries: None })
}

/// How an input comes that is not there yet, if kernels walk it. Nothing is known of its data: it may store its fill, its
/// indices are `u32` where its format leaves that open, and it is taken for hypersparse if its format lists rows or has wider
/// coordinates.
fn declared_input(declared: &Declared) -> Option<StoredInput> {
    let (format, fill) = (declared.format.as_deref()?, declared.fill?);
    if !tj_ir::is_static_fill(fill) || fill.dtype().is_complex() {
        return None;
    }
    let mut levels = format.levels().to_vec();
    levels.iter_mut().filter_map(|level| level.kind.widths_mut()).for_each(|widths| {
        widths.index.get_or_insert(Width::U32);
        widths.position.get_or_insert(Width::U32);
    });
    let index_width = declared_width(format);
    let is_list = |level: &LevelFormat| matches!(level.kind, LevelKind::Compressed { .. });
    let is_hypersparse =
        format.levels().iter().all(is_list) && (format.rank() > 1 || index_width > Width::U32);
    let format = Format::new(levels, format.leaf()).ok()?;
    Some(StoredInput {
        format,
        fill,
        is_hypersparse,
        width: index_width,
        may_store_fill: true,
        entries: None,
    })
}

/// The width of coordinates of what is declared with a format: more of them cannot be told apart.
pub(crate) fn declared_width(format: &Format) -> Width {
    let mut widths = format.levels().iter().filter_map(|level| level.kind.widths());
    let wide = widths.any(|widths| widths.index == Some(Width::U64));
    if wide { Width::U64 } else { Width::U32 }
}

/// What the key of a program holds of how an argument is stored; 0 if kernels do not walk it.
pub(crate) fn storage_word(tensor: &Tensor) -> u64 {
    let Some((storage, _)) = storage(tensor) else { return 0 };
    let mut hasher = rustc_hash::FxHasher::default();
    storage.hash(&mut hasher);
    // A format that shares its word with another would only be converted.
    hasher.finish() | 1
}
