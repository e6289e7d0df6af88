//! How a tensor is stored: a list of levels and a leaf.
//!
//! A tensor that is stored by levels is a tree. Level `l` holds, for each *position* of the level above (the root is the
//! one position 0), a *fiber*: some coordinates and, for each, a position of the level below. The leaf holds a value for
//! each position of the last level. What is not reached is the tensor's fill.
//!
//! A level stores a [`Coordinate`]: a dimension, or a quotient, remainder or difference of dimensions, so that blocked and
//! diagonal storage need no kinds of their own. [`LevelKind`] says how its fibers are kept, with these properties:
//!
//! | kind | coordinates of a fiber | position below | ordered | arrays |
//! |---|---|---|---|---|
//! | `dense` | all | `p * extent + i` | yes | none |
//! | `compressed` | listed | place in the list | as it says | positions, coordinates |
//! | `singleton` | one | `p` | as it says | coordinates |
//! | `bytemap` | those with a byte set | `p * extent + i` | yes | present, a byte a cell |
//! | `bitmap` | those with a bit set | `p * extent + i` | yes | present, a bit a cell |
//! | `hash` | those in a table | slot in the table | no | positions, coordinates |
//! | `runs` | stretches, each with one value; the rest is fill | place in the list | yes | positions, starts, ends |
//! | `steps` | as `runs`, where each stretch starts as the one before ends | place in the list | yes | positions, ends |
//! | `band` | one stretch, each coordinate with a value | `offset[p] + i - start[p]` | yes | starts, offsets |
//! | `blocks` | stretches, each coordinate with a value | `offset[b] + i - start[b]` | yes | positions, starts, offsets |
//! | `interval` | computed from the coordinate above | `p` | yes | none |
//!
//! So an identity matrix is a dense level, an interval of one coordinate, and a leaf that is `iso`: nothing is stored
//! but the 1.
//!
//! In reading order: this file, `format/text.rs` (the one grammar of formats).

mod text;

use crate::TensorError;

/// What a level's coordinate is, in terms of the dimensions' coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Coordinate {
    /// That of a dimension: `d0`.
    Dim(usize),
    /// The number of its block: `d0/2`.
    Quotient {
        /// The dimension.
        dim: usize,
        /// The size of a block; not 0.
        by: usize,
    },
    /// Its place in the block: `d0%2`.
    Remainder {
        /// The dimension.
        dim: usize,
        /// The size of a block; not 0.
        by: usize,
    },
    /// The diagonal, counted from the one of the last coordinate of `minus`: `d1-d0` is stored as
    /// `d1 - d0 + (extent of d0) - 1`.
    Difference {
        /// The dimension that counts up.
        dim: usize,
        /// The dimension that counts down.
        minus: usize,
    },
}

/// The number of bytes of an index in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// Eight bytes.
    U64,
}

/// The widths of a level's arrays; `None` lets whoever builds the level choose: [`Width::U32`] where that is enough, else
/// [`Width::U64`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Widths {
    /// Of coordinates, starts and ends.
    pub index: Option<Width>,
    /// Of positions and offsets.
    pub position: Option<Width>,
}

/// Whether the coordinates of a list come in increasing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// They do.
    Ordered,
    /// They come in any order.
    Unordered,
}

/// Whether a list may hold a coordinate several times, to be told apart by the levels below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repeats {
    /// Each at most once.
    Unique,
    /// Several times; the level below is a [`LevelKind::Singleton`].
    Repeated,
}

/// Where an interval ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// At the start of the dimension.
    Start,
    /// At its end.
    End,
    /// At a coordinate.
    At(usize),
    /// At the coordinate of the level above plus a distance.
    Above(isize),
}

/// How the fibers of a level are kept; the table of the module says what each stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelKind {
    /// Every coordinate.
    Dense,
    /// A list of coordinates.
    Compressed {
        /// Their order.
        order: Order,
        /// Whether they repeat.
        repeats: Repeats,
        /// The arrays' widths.
        widths: Widths,
    },
    /// One coordinate a position.
    Singleton {
        /// Their order within equal coordinates above.
        order: Order,
        /// Whether they repeat.
        repeats: Repeats,
        /// The array's width (of coordinates).
        widths: Widths,
    },
    /// A byte for each cell.
    Bytemap,
    /// A bit for each cell.
    Bitmap,
    /// A table with open addressing for each fiber.
    Hash {
        /// The arrays' widths.
        widths: Widths,
    },
    /// Stretches of one value each, with fill between them.
    Runs {
        /// The arrays' widths.
        widths: Widths,
    },
    /// Stretches of one value each that fill the dimension.
    Steps {
        /// The arrays' widths.
        widths: Widths,
    },
    /// One stretch of values.
    Band {
        /// The arrays' widths.
        widths: Widths,
    },
    /// Stretches of values.
    Blocks {
        /// The arrays' widths.
        widths: Widths,
    },
    /// The coordinates between two edges, which share a position.
    Interval {
        /// The first coordinate.
        low: Edge,
        /// The coordinate after the last.
        high: Edge,
    },
}

/// What the leaf keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeafKind {
    /// A value for each position.
    Values,
    /// One value for all of them.
    Iso,
    /// `true` for all of them, and the fill is `false`.
    Pattern,
}

/// One level of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelFormat {
    /// What it stores.
    pub coordinate: Coordinate,
    /// How.
    pub kind: LevelKind,
}

/// The levels of a tensor without their data, outermost first.
///
/// ```
/// use tj_tensor::Format;
/// let csr: Format = "csr".parse()?;
/// assert_eq!(csr, "{d0: dense, d1: compressed}".parse()?);
/// assert_eq!(Format::csf(3).to_string(), "csf(3)");
/// assert!("{d0: dense, d0: compressed}".parse::<Format>().is_err());
/// # Ok::<(), tj_tensor::TensorError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    rank: usize,
    levels: Vec<LevelFormat>,
    leaf: LeafKind,
}

impl Width {
    /// The number of bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Width::U8 => 1,
            Width::U16 => 2,
            Width::U32 => 4,
            Width::U64 => 8,
        }
    }

    /// The greatest index it can hold.
    pub const fn max(self) -> usize {
        match self {
            Width::U8 => u8::MAX as usize,
            Width::U16 => u16::MAX as usize,
            Width::U32 => u32::MAX as usize,
            Width::U64 => usize::MAX,
        }
    }

    /// The width of our choice for indices up to a bound.
    pub(crate) fn for_max(max: usize) -> Width {
        if max <= Width::U32.max() { Width::U32 } else { Width::U64 }
    }
}

impl LevelKind {
    /// A list of coordinates, each once, in order.
    pub const COMPRESSED: LevelKind = LevelKind::Compressed {
        order: Order::Ordered,
        repeats: Repeats::Unique,
        widths: Widths { index: None, position: None },
    };

    /// Whether coordinates come in increasing order within a fiber.
    pub const fn is_ordered(&self) -> bool {
        match self {
            LevelKind::Compressed { order, .. } | LevelKind::Singleton { order, .. } => {
                matches!(order, Order::Ordered)
            }
            LevelKind::Hash { .. } => false,
            LevelKind::Dense
            | LevelKind::Bytemap
            | LevelKind::Bitmap
            | LevelKind::Runs { .. }
            | LevelKind::Steps { .. }
            | LevelKind::Band { .. }
            | LevelKind::Blocks { .. }
            | LevelKind::Interval { .. } => true,
        }
    }

    /// Whether the level below has a position for every coordinate, so that finding one takes constant time.
    pub const fn has_lookup(&self) -> bool {
        match self {
            LevelKind::Dense
            | LevelKind::Bytemap
            | LevelKind::Bitmap
            | LevelKind::Hash { .. }
            | LevelKind::Band { .. }
            | LevelKind::Interval { .. } => true,
            LevelKind::Compressed { .. }
            | LevelKind::Singleton { .. }
            | LevelKind::Runs { .. }
            | LevelKind::Steps { .. }
            | LevelKind::Blocks { .. } => false,
        }
    }

    fn repeats(&self) -> bool {
        matches!(
            self,
            LevelKind::Compressed { repeats: Repeats::Repeated, .. }
                | LevelKind::Singleton { repeats: Repeats::Repeated, .. }
        )
    }
}

impl Coordinate {
    /// The number of values it has in a tensor of a shape.
    pub(crate) fn extent(self, shape: &[usize]) -> usize {
        match self {
            Coordinate::Dim(dim) => shape[dim],
            Coordinate::Quotient { dim, by } => shape[dim].div_ceil(by),
            Coordinate::Remainder { by, .. } => by,
            Coordinate::Difference { dim, minus } => match (shape[dim], shape[minus]) {
                (0, _) | (_, 0) => 0,
                (n, m) => n.saturating_add(m - 1),
            },
        }
    }

    /// With the dimensions renamed: `place[d]` is the new name of `d`.
    pub(crate) fn renamed(self, place: impl Fn(usize) -> usize) -> Coordinate {
        match self {
            Coordinate::Dim(dim) => Coordinate::Dim(place(dim)),
            Coordinate::Quotient { dim, by } => Coordinate::Quotient { dim: place(dim), by },
            Coordinate::Remainder { dim, by } => Coordinate::Remainder { dim: place(dim), by },
            Coordinate::Difference { dim, minus } => {
                Coordinate::Difference { dim: place(dim), minus: place(minus) }
            }
        }
    }
}

impl Format {
    /// Checks that the levels give every dimension exactly once, and that their kinds can follow one another.
    ///
    /// # Errors
    /// [`TensorError::Format`], which says what is wrong.
    pub fn new(levels: Vec<LevelFormat>, leaf: LeafKind) -> Result<Format, TensorError> {
        let rank = rank_of(&levels)?;
        let format = Format { rank, levels, leaf };
        format.check_kinds()?;
        Ok(format)
    }

    /// Every element, row-major.
    pub fn dense(rank: usize) -> Format {
        Format::dense_in_order(&(0..rank).collect::<Vec<_>>())
    }

    pub(crate) fn dense_in_order(order: &[usize]) -> Format {
        let level = |&dim: &usize| LevelFormat { coordinate: Coordinate::Dim(dim), kind: LevelKind::Dense };
        Format { rank: order.len(), levels: order.iter().map(level).collect(), leaf: LeafKind::Values }
    }

    /// Dimensions in their order, each with a kind. For kinds that can follow one another.
    fn of_kinds(kinds: impl IntoIterator<Item = LevelKind>) -> Format {
        let level = |(dim, kind)| LevelFormat { coordinate: Coordinate::Dim(dim), kind };
        let levels: Vec<LevelFormat> = kinds.into_iter().enumerate().map(level).collect();
        Format { rank: levels.len(), levels, leaf: LeafKind::Values }
    }

    /// Compressed sparse rows.
    pub fn csr() -> Format {
        Format::of_kinds([LevelKind::Dense, LevelKind::COMPRESSED])
    }

    /// Compressed sparse columns.
    pub fn csc() -> Format {
        Format::csr().permuted(&[1, 0])
    }

    /// Compressed sparse rows of which only those with entries are listed.
    pub fn dcsr() -> Format {
        Format::csf(2)
    }

    /// Compressed sparse fibers: a compressed level for each dimension.
    pub fn csf(rank: usize) -> Format {
        Format::of_kinds(vec![LevelKind::COMPRESSED; rank])
    }

    /// Coordinates, sorted: the first dimension compressed with repeats, the others singletons.
    pub fn coo(rank: usize) -> Format {
        let widths = Widths::default();
        Format::of_kinds((0..rank).map(|dim| {
            let repeats = if dim + 1 < rank { Repeats::Repeated } else { Repeats::Unique };
            let order = Order::Ordered;
            if dim == 0 {
                LevelKind::Compressed { order, repeats, widths }
            } else {
                LevelKind::Singleton { order, repeats, widths }
            }
        }))
    }

    /// Dense blocks of `rows` by `columns`, listed by rows of blocks.
    ///
    /// # Errors
    /// A block without rows or columns.
    pub fn bcsr(rows: usize, columns: usize) -> Result<Format, TensorError> {
        let quotient = |dim, by| Coordinate::Quotient { dim, by };
        let remainder = |dim, by| Coordinate::Remainder { dim, by };
        let level = |(coordinate, kind)| LevelFormat { coordinate, kind };
        let levels = [
            (quotient(0, rows), LevelKind::Dense),
            (quotient(1, columns), LevelKind::COMPRESSED),
            (remainder(0, rows), LevelKind::Dense),
            (remainder(1, columns), LevelKind::Dense),
        ];
        Format::new(levels.map(level).to_vec(), LeafKind::Values)
    }

    /// Diagonals: those that have entries are listed, and each is a stretch of values by rows.
    pub fn dia() -> Format {
        let levels = vec![
            LevelFormat {
                coordinate: Coordinate::Difference { dim: 1, minus: 0 },
                kind: LevelKind::COMPRESSED,
            },
            LevelFormat {
                coordinate: Coordinate::Dim(0),
                kind: LevelKind::Band { widths: Widths::default() },
            },
        ];
        Format { rank: 2, levels, leaf: LeafKind::Values }
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[LevelFormat] {
        &self.levels
    }

    /// What the leaf keeps.
    pub fn leaf(&self) -> LeafKind {
        self.leaf
    }

    /// The same levels over another leaf.
    ///
    /// # Errors
    /// As for [`Format::new`].
    pub fn with_leaf(mut self, leaf: LeafKind) -> Result<Format, TensorError> {
        self.leaf = leaf;
        self.check_kinds()?;
        Ok(self)
    }

    /// The format of a tensor with its dimensions renamed: `place[d]` is the new name of `d`.
    pub fn permuted(mut self, place: &[usize]) -> Format {
        for level in &mut self.levels {
            level.coordinate = level.coordinate.renamed(|dim| place[dim]);
        }
        self
    }

    /// Whether every element is stored under its own dimensions, so that strides can say where. A tensor in such a format is
    /// not stored by levels, and needs no fill.
    ///
    /// ```
    /// use tj_tensor::Format;
    /// assert!(Format::dense(2).is_strided() && !Format::csr().is_strided());
    /// ```
    pub fn is_strided(&self) -> bool {
        let plain = |level: &LevelFormat| {
            level.kind == LevelKind::Dense && matches!(level.coordinate, Coordinate::Dim(_))
        };
        self.leaf == LeafKind::Values && self.levels.iter().all(plain)
    }

    /// Whether a tensor of another format has this one: they are the same, but for widths that this one leaves open.
    pub fn admits(&self, other: &Format) -> bool {
        let open = |asked: Option<Width>, found: Option<Width>| asked.is_none() || asked == found;
        let admits = |(asked, found): (&LevelFormat, &LevelFormat)| {
            let (mut asked, mut found) = (*asked, *found);
            let widths =
                asked.kind.widths_mut().map(std::mem::take).zip(found.kind.widths_mut().map(std::mem::take));
            let fit = widths.is_none_or(|(asked, found)| {
                open(asked.index, found.index) && open(asked.position, found.position)
            });
            fit && asked == found
        };
        (self.rank, self.leaf, self.levels.len()) == (other.rank, other.leaf, other.levels.len())
            && self.levels.iter().zip(&other.levels).all(admits)
    }

    pub(crate) fn levels_mut(&mut self) -> &mut [LevelFormat] {
        &mut self.levels
    }

    pub(crate) fn from_parts(rank: usize, levels: Vec<LevelFormat>, leaf: LeafKind) -> Format {
        Format { rank, levels, leaf }
    }

    fn check_kinds(&self) -> Result<(), TensorError> {
        let fail = |reason: String| Err(TensorError::Format { reason });
        for (l, level) in self.levels.iter().enumerate() {
            let above = l.checked_sub(1).map(|above| &self.levels[above].kind);
            let below = self.levels.get(l + 1).map(|below| &below.kind);
            let after_repeats = above.is_some_and(LevelKind::repeats);
            match level.kind {
                LevelKind::Singleton { .. } if !after_repeats => {
                    return fail(format!(
                        "level {l} is a singleton, but no level that repeats coordinates stands above it"
                    ));
                }
                LevelKind::Interval { low, high } => {
                    if l == 0 && matches!((low, high), (Edge::Above(_), _) | (_, Edge::Above(_))) {
                        return fail(
                            "level 0 is an interval around the level above, and there is none".into(),
                        );
                    }
                }
                LevelKind::Runs { .. } | LevelKind::Steps { .. } if below.is_some() => {
                    return fail(format!("level {l} keeps runs, which only the innermost level can"));
                }
                LevelKind::Singleton { .. }
                | LevelKind::Runs { .. }
                | LevelKind::Steps { .. }
                | LevelKind::Dense
                | LevelKind::Compressed { .. }
                | LevelKind::Bytemap
                | LevelKind::Bitmap
                | LevelKind::Hash { .. }
                | LevelKind::Band { .. }
                | LevelKind::Blocks { .. } => {}
            }
            if level.kind.repeats() && !matches!(below, Some(LevelKind::Singleton { .. })) {
                return fail(format!(
                    "level {l} repeats coordinates, so that the level below it must be a singleton"
                ));
            }
        }
        Ok(())
    }
}

/// The number of dimensions that some levels give, each once.
fn rank_of(levels: &[LevelFormat]) -> Result<usize, TensorError> {
    let fail = |reason: String| Err(TensorError::Format { reason });
    // For each dimension, the levels that speak of it.
    let mut of_dim: Vec<Vec<Coordinate>> = Vec::new();
    for level in levels {
        let dim = match level.coordinate {
            Coordinate::Dim(dim) | Coordinate::Difference { dim, .. } => dim,
            Coordinate::Quotient { dim, by } | Coordinate::Remainder { dim, by } => {
                if by == 0 {
                    return fail(format!("dimension {dim} cannot be cut into blocks of size 0"));
                }
                dim
            }
        };
        if dim >= MAX_RANK {
            return fail(format!("dimension {dim} is beyond the greatest rank, {MAX_RANK}"));
        }
        if of_dim.len() <= dim {
            of_dim.resize(dim + 1, Vec::new());
        }
        of_dim[dim].push(level.coordinate);
    }
    for (dim, coordinates) in of_dim.iter().enumerate() {
        match coordinates[..] {
            [Coordinate::Dim(_)] => {}
            [Coordinate::Difference { minus, .. }] => {
                if minus == dim || of_dim.get(minus).map(Vec::as_slice) != Some(&[Coordinate::Dim(minus)]) {
                    return fail(format!(
                        "d{dim}-d{minus} gives dimension {dim} only if dimension {minus} has a level of its own"
                    ));
                }
            }
            [Coordinate::Quotient { by: a, .. }, Coordinate::Remainder { by: b, .. }]
            | [Coordinate::Remainder { by: b, .. }, Coordinate::Quotient { by: a, .. }]
                if a == b => {}
            [] => return fail(format!("no level stores dimension {dim}")),
            _ => {
                return fail(format!(
                    "dimension {dim} is stored by {} levels that do not give it exactly once",
                    coordinates.len()
                ));
            }
        }
    }
    Ok(of_dim.len())
}

/// The greatest rank of a format.
pub(crate) const MAX_RANK: usize = 64;
