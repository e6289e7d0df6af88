//! Where loop indices run.

use rustc_hash::FxHashMap;

use super::Dim;

/// The inclusive range of each loop index; ends may mention sizes and other indices, but not in a circle.
///
/// ```
/// use tj_ir::dim::{Dim, Ranges};
/// let (i, j, m) = (Dim::index(0), Dim::index(1), Dim::new("M", ..)?);
/// let mut ranges = Ranges::new();
/// ranges.set_extent(1, &m);
/// let flat = &i * &m + &j;
/// assert_eq!(flat.floordiv(&m).simplify_in(&ranges), i);
/// assert_eq!(flat.modulo(&m).simplify_in(&ranges), j);
/// # Ok::<(), tj_ir::dim::DimError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Ranges {
    ends: FxHashMap<u32, (Dim, Dim)>,
}

impl Ranges {
    /// No index has a range.
    #[must_use]
    pub fn new() -> Ranges {
        Ranges::default()
    }

    /// The index runs over `lo..=hi`.
    pub fn set(&mut self, index: u32, lo: Dim, hi: Dim) {
        self.ends.insert(index, (lo, hi));
    }

    /// The index runs over `0..=extent - 1`.
    pub fn set_extent(&mut self, index: u32, extent: &Dim) {
        self.set(index, Dim::ZERO, extent - 1);
    }

    /// The inclusive ends of an index.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<(&Dim, &Dim)> {
        self.ends.get(&index).map(|(lo, hi)| (lo, hi))
    }
}
