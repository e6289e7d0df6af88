//! Functions whose results have as many elements as values say.
//!
//! **Problem.** How many elements a mask selects is known when the mask is computed, and not before; a program that is
//! compiled for all sizes cannot allocate for it. **Idea.** A [`Selection`] ends a stage of a program: its arguments are
//! computed whole, a library computes its results, and what is built on them is another program, to which they are
//! arguments of a run-time size. What computes it stands in `tj-library`.
//!
//! **Invariants.** The first axis of each result but [`Unique`]'s inverse has the size that is counted. A selection is
//! pure, and its results depend on its arguments alone.

use smallvec::SmallVec;
use tj_tensor::DType;

/// What [`Selection::Unique`] gives beside the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unique {
    /// Nothing.
    Values,
    /// How often each occurs.
    Counts,
    /// Where each element stands among the values; in the shape of the argument.
    Inverse,
    /// Where each occurs first, the inverse, the counts.
    All,
}

/// A function whose results have a size that values decide, `c` below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selection {
    /// `mask bool[n0, .., nr] -> i64[c]` for each axis: coordinates of what is true, in row-major order.
    Nonzero,
    /// `mask bool[n0, .., nr] -> i64[c, r]`: the same, one row an element.
    Argwhere,
    /// `mask bool[n0, .., nr], x[n0, .., nr, ..] -> [c, ..]`: the slices where the mask is true, in row-major order.
    Masked,
    /// `x[n, ..], counts i64[n] -> [c, ..]`: each slice as often as its count says.
    Repeat,
    /// `x[..] -> values [c]`, and more: ascending, one of each. NaNs are distinct and come last; zeros are equal.
    Unique(Unique),
}

impl Selection {
    /// Its name in every text.
    pub fn name(self) -> &'static str {
        match self {
            Selection::Nonzero => "nonzero",
            Selection::Argwhere => "argwhere",
            Selection::Masked => "masked",
            Selection::Repeat => "repeat",
            Selection::Unique(Unique::Values) => "unique_values",
            Selection::Unique(Unique::Counts) => "unique_counts",
            Selection::Unique(Unique::Inverse) => "unique_inverse",
            Selection::Unique(Unique::All) => "unique_all",
        }
    }

    /// Types of its results, for arguments of these ranks and types.
    pub fn dtypes(self, args: &[(usize, DType)]) -> SmallVec<[DType; 4]> {
        let [(rank, first), ..] = *args else { return SmallVec::new() };
        let i = DType::I64;
        match self {
            Selection::Nonzero => SmallVec::from_elem(i, rank),
            Selection::Argwhere => SmallVec::from_slice(&[i]),
            Selection::Masked => args.iter().skip(1).map(|(_, dtype)| *dtype).collect(),
            Selection::Repeat | Selection::Unique(Unique::Values) => SmallVec::from_slice(&[first]),
            Selection::Unique(Unique::Counts | Unique::Inverse) => SmallVec::from_slice(&[first, i]),
            Selection::Unique(Unique::All) => SmallVec::from_slice(&[first, i, i, i]),
        }
    }
}
