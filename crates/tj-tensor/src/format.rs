//! How a tensor is stored: a list of levels, and the value of what is not stored.
//!
//! A level stores one dimension. The levels are listed from the outermost to the innermost; level `l` stores
//! dimension `mode_order[l]`, so that permuting a tensor renames dimensions and moves nothing. [`LevelKind`] says how
//! a dimension is stored and belongs to a [`Format`]; [`Level`] is a kind with the data it needs, and belongs to one
//! tensor.

use std::fmt;

use crate::Scalar;

/// How one dimension is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelKind {
    /// Every coordinate, at a constant distance.
    Dense,
}

impl LevelKind {
    /// The name in text: `dense`.
    pub const fn name(self) -> &'static str {
        match self {
            LevelKind::Dense => "dense",
        }
    }
}

/// One dimension as stored by one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Coordinates `0..extent`, each `stride` elements after the one before. The stride may be negative (a flip) or
    /// zero (a broadcast).
    Dense {
        /// The size of the dimension.
        extent: usize,
        /// The distance of neighbours, in elements.
        stride: isize,
    },
}

impl Level {
    /// The level without its data.
    pub const fn kind(&self) -> LevelKind {
        match self {
            Level::Dense { .. } => LevelKind::Dense,
        }
    }

    /// The size of the dimension.
    pub const fn extent(&self) -> usize {
        match self {
            Level::Dense { extent, .. } => *extent,
        }
    }
}

/// The kinds of a tensor's levels, the dimensions they store, and the fill value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// `mode_order[l]` is the dimension that level `l` stores.
    pub mode_order: Vec<usize>,
    /// The level kinds, outermost first.
    pub kinds: Vec<LevelKind>,
    /// The value of every position that is not stored, when the tensor declares one.
    pub fill: Option<Scalar>,
}

impl Format {
    /// Row-major dense storage without a fill.
    pub fn dense(rank: usize) -> Format {
        Format { mode_order: (0..rank).collect(), kinds: vec![LevelKind::Dense; rank], fill: None }
    }
}

/// `{d0: dense, d1: dense}`, with ` fill 0.0f64` after it when there is one.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (l, (dim, kind)) in self.mode_order.iter().zip(&self.kinds).enumerate() {
            write!(f, "{}d{dim}: {}", if l == 0 { "" } else { ", " }, kind.name())?;
        }
        f.write_str("}")?;
        match self.fill {
            Some(fill) => write!(f, " fill {fill}"),
            None => Ok(()),
        }
    }
}
