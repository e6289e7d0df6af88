//! Programs over tensors that are stored by levels: what becomes a kernel that walks them, and in which order.
//!
//! **Problem.** A query says what an element is, whatever its arguments are stored as. Over sparse arguments most elements
//! are known without looking, so that a kernel shall visit the others only.
//!
//! **Idea.** What an expression is where nothing is stored follows from the expression ([`space`]): so does an and/or tree of
//! the reads that must have an entry where it is anything else. A [`Nest`] is one query with others written into it, nested
//! reductions included, or several dense ones beside each other, and the order of its loops ([`order`]); lowering walks what the tree says and nothing else.
//! Elementwise queries over tensors that keep runs walk nothing: they are dense programs on [`stretches`] where no argument
//! changes. Elements that only change places are [`moves`] of entries. [`steps`] cuts a plan into nests, stretches, moves and ordinary plans, each a program of its own: a sparse result has a size that only its
//! computation finds, and later steps take it as they take an argument.
//!
//! **Invariants.** The tree holds every position at which the value differs from the fill; more positions cost time and
//! change nothing. Orders of loops decide the order in which floats are summed, and follow from the program and the formats
//! of its arguments alone, never from counts.
//!
//! **Cost.** Orders are tried one by one for up to five indices; else the order of the indices is taken.

mod beside;
mod copy;
mod lay_out;
pub mod moves;
pub mod order;
pub mod rows;
pub mod space;
pub mod steps;
pub mod stretches;
mod update;
pub(crate) mod write;

use tj_ir::expr::{Indices, Source};
use tj_ir::{Dim, ExprId, ReduceOp};
use tj_tensor::{Coordinate, DType, Format, LeafKind, LevelFormat, LevelKind, Scalar, Width, Widths};

use crate::plan::Plan;

/// A query over tensors that are stored by levels, and how it is walked; or several with dense results of one shape.
#[derive(Clone, Debug)]
pub struct Nest {
    /// Arguments, and queries whose bodies may hold reductions anywhere. Reductions in each other have different indices.
    pub plan: Plan,
    /// What each argument of the plan is.
    pub arguments: Vec<Argument>,
    /// How far each index runs, by its number; the first are the axes of the result.
    pub extents: Vec<Dim>,
    /// The width that coordinates of the result need.
    pub width: Width,
    /// The loops outside of everything: the axes of the result, and the indices of the reduction at the root if it runs
    /// among them.
    pub loops: Vec<u32>,
    /// What the loops hold: the body of the first query, or what the reduction at the root combines if its indices are among the
    /// loops; then there is one query.
    pub inner: ExprId,
    /// The reduction at the root, if its indices are among the loops.
    pub combined: Option<ReduceOp>,
    /// How the result is stored.
    pub result: ResultKind,
    /// The fill of the first result, if it has one.
    pub fill: Option<Scalar>,
    /// The work of all loops, for a guess of every size.
    pub cost: f64,
}

/// What a nest reads, and how it wants it.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Every element, row-major, with its axes in this order.
    Dense(Vec<usize>),
    /// By levels.
    Stored(Operand),
}

/// How a kernel reads a tensor that is stored by levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Levels that are dense or sorted lists of dimensions, with widths, and a leaf of values.
    pub format: Format,
    /// The value of what is not stored.
    pub fill: Scalar,
    /// Whether some stored value may equal it.
    pub may_store_fill: bool,
    /// Whether it has so few entries that memory for each coordinate of its longest dimension would dwarf them.
    pub is_hypersparse: bool,
}

/// How the result of a nest is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// Every element, row-major.
    Dense,
    /// What differs from the fill, by levels.
    Stored,
    /// A value for each entry of this argument, whose axes are those of the result in the order of its levels.
    AsArgument(usize),
    /// The elements of this dense argument, but where the condition of the selection at the root may be other than its fill:
    /// there coordinates and values are listed, none left out.
    Updated(usize),
}

/// One level of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandLevel {
    /// Its dimension.
    pub dim: usize,
    /// Types of positions and coordinates, if it is a list.
    pub list: Option<(DType, DType)>,
}

impl Operand {
    /// Its levels, outermost first.
    pub fn levels(&self) -> Vec<OperandLevel> {
        self.format.levels().iter().map(level).collect()
    }
}

fn level(level: &LevelFormat) -> OperandLevel {
    let Coordinate::Dim(dim) = level.coordinate else {
        panic!("sparse: kernels walk levels of dimensions, not {:?}", level.coordinate)
    };
    let list = if let LevelKind::Compressed { widths, .. } = level.kind {
        Some((dtype(widths.position), dtype(widths.index)))
    } else {
        None
    };
    OperandLevel { dim, list }
}

fn dtype(width: Option<Width>) -> DType {
    match width {
        Some(Width::U8) => DType::U8,
        Some(Width::U16) => DType::U16,
        Some(Width::U32) => DType::U32,
        Some(Width::U64) | None => DType::U64,
    }
}

/// How an argument that is stored by levels comes.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredInput {
    /// Its format, with the widths of its arrays.
    pub format: Format,
    /// Its fill.
    pub fill: Scalar,
    /// Whether it has so few entries that a list of all coordinates of its longest dimension would dwarf them.
    pub is_hypersparse: bool,
    /// The width that coordinates need.
    pub width: Width,
    /// Whether some stored value may equal the fill. Another format is made without such values.
    pub may_store_fill: bool,
    /// How many entries there are, where decisions follow from that.
    pub entries: Option<Entries>,
}

/// How many entries there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    /// In all.
    pub count: f64,
    /// How many coordinates of each dimension have some.
    pub present: Vec<f64>,
}

impl Entries {
    /// How many different coordinates there are of some dimensions.
    pub fn at(&self, dims: &[usize]) -> f64 {
        let all: f64 = dims.iter().map(|&dim| self.present[dim]).product();
        if dims.len() == self.present.len() { self.count } else { all.min(self.count) }
    }
}

impl StoredInput {
    /// Whether kernels read it as it is.
    pub fn is_native(&self) -> bool {
        let native = |level: &LevelFormat| {
            let plain = matches!(level.coordinate, Coordinate::Dim(_));
            plain
                && (level.kind == LevelKind::Dense
                    || matches!(level.kind, LevelKind::Compressed { order, repeats, .. }
                        if order == tj_tensor::Order::Ordered && repeats == tj_tensor::Repeats::Unique))
        };
        let is_all_dense = self.format.levels().iter().all(|level| level.kind == LevelKind::Dense);
        self.format.leaf() == LeafKind::Values && !is_all_dense && self.format.levels().iter().all(native)
    }

    /// Lists over its dimensions in this order; the outermost level is dense if that costs little.
    pub fn lists(&self, order: &[usize]) -> Format {
        let widths = Widths { index: Some(self.width), position: Some(Width::U64) };
        let list = LevelKind::Compressed {
            order: tj_tensor::Order::Ordered,
            repeats: tj_tensor::Repeats::Unique,
            widths,
        };
        let level = |(at, &dim): (usize, &usize)| {
            let kind =
                if at == 0 && order.len() == 2 && !self.is_hypersparse { LevelKind::Dense } else { list };
            LevelFormat { coordinate: Coordinate::Dim(dim), kind }
        };
        let levels: Vec<LevelFormat> = order.iter().enumerate().map(level).collect();
        Format::new(levels, LeafKind::Values).expect("lists of dimensions follow one another in any order")
    }

    /// Its own order of dimensions, as far as it has one.
    pub fn order(&self) -> Vec<usize> {
        if self.is_native() {
            return self.format.levels().iter().map(|l| level(l).dim).collect();
        }
        (0..self.format.rank()).collect()
    }
}

/// The axis that an index map reads one by one, if it does.
pub fn plain(dim: &Dim) -> Option<u32> {
    dim.as_symbol().and_then(tj_ir::Symbol::as_index)
}

/// Whether an index map depends on an index.
pub fn has_index(dim: &Dim) -> bool {
    dim.symbols().any(|symbol| symbol.as_index().is_some())
}

/// The index that an index map follows step by step, and how far ahead of it the map is.
pub fn followed(dim: &Dim) -> Option<(u32, Dim)> {
    let mut indices = dim.symbols().filter(|symbol| symbol.as_index().is_some());
    let symbol = indices.next()?;
    let offset = dim - &Dim::symbol(&symbol);
    let is_one_step = indices.next().is_none() && !offset.mentions(&symbol);
    is_one_step.then_some((symbol.as_index()?, offset))
}

/// A read of an argument that is stored by levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The node.
    pub id: ExprId,
    /// What it reads.
    pub source: Source,
    /// Where.
    pub at: Indices,
    /// Whether each dimension has one coordinate only.
    pub is_single: Vec<bool>,
}

#[cfg(test)]
mod tests;
