//! The invariants of levels, checked in time proportional to the arrays.
//!
//! Every error names the level, the array, the place in it and the value, since a user who hands over arrays has to find
//! them. Nothing is repaired. Large arrays are first looked through at the speed of memory, in blocks that threads share,
//! for whether anything is wrong; the search for the place is for the error alone. 16 million entries of rows take ten
//! milliseconds or so.

use std::sync::OnceLock;

use super::degrees::Degrees;
use super::{Indices, Leaf, Level, Remembered, Stored, checked_positions, interval, map_parts, packed, room};
use crate::format::{Edge, Format, LeafKind, LevelKind, Repeats, Widths};
use crate::shape::check_extent;
use crate::stored::index::with_width;
use crate::{Buffer, DType, Scalar, TensorError};

impl Stored {
    /// Checks everything the module promises.
    ///
    /// # Errors
    /// [`TensorError::Level`], with the level, the array, the place and the value; [`TensorError::Format`] if the levels are
    /// not those of the format.
    pub fn new(
        format: Format,
        shape: &[usize],
        levels: Vec<Level>,
        leaf: Leaf,
        fill: Scalar,
    ) -> Result<Stored, TensorError> {
        let dtype = match &leaf {
            Leaf::Values(values) => values.dtype(),
            Leaf::Iso(value) => value.dtype(),
            Leaf::Pattern => DType::Bool,
        };
        if fill.dtype() != dtype {
            return Err(TensorError::DType { expected: dtype, found: fill.dtype() });
        }
        let mut stored = Stored::unchecked(format, shape, levels, leaf, fill)?;
        for l in 0..stored.levels.len() {
            let above = l.checked_sub(1).map_or(1, |above| stored.counts[above]);
            let count = stored.check_level(l, above)?;
            stored.counts.push(count);
        }
        stored.check_leaf()?;
        stored.check_once()?;
        Ok(stored)
    }

    /// For levels that were just assembled. Widths of the format become those of the arrays.
    pub(super) fn unchecked(
        mut format: Format,
        shape: &[usize],
        levels: Vec<Level>,
        leaf: Leaf,
        fill: Scalar,
    ) -> Result<Stored, TensorError> {
        let dtype = fill.dtype();
        let fail = |reason: String| Err(TensorError::Format { reason });
        if format.rank() != shape.len() {
            return fail(format!(
                "{format} has rank {}, and shape {shape:?} has {}",
                format.rank(),
                shape.len()
            ));
        }
        for &extent in shape {
            check_extent(extent, shape, dtype)?;
        }
        if format.levels().len() != levels.len() {
            return fail(format!(
                "{format} has {} levels, and {} are given",
                format.levels().len(),
                levels.len()
            ));
        }
        for (l, (kind, level)) in format.levels_mut().iter_mut().zip(&levels).enumerate() {
            if !level.is_of(&kind.kind) {
                return fail(format!("level {l} is {}, and its data is of another kind", kind.kind));
            }
            if let (Some(widths), Some(found)) = (kind.kind.widths_mut(), level.widths()) {
                *widths = found;
            }
        }
        let extents = format.levels().iter().map(|level| level.coordinate.extent(shape)).collect();
        Ok(Stored {
            format,
            shape: shape.to_vec(),
            extents,
            levels,
            counts: vec![],
            leaf,
            dtype,
            fill,
            nnz: OnceLock::new(),
            stores_fill: OnceLock::new(),
            is_finite: OnceLock::new(),
            degrees: Degrees::default(),
            remembered: Remembered::default(),
        })
    }

    pub(super) fn with_counts(mut self, counts: Vec<usize>) -> Stored {
        self.counts = counts;
        self
    }

    /// Checks one level and returns the number of positions it gives.
    fn check_level(&self, l: usize, above: usize) -> Result<usize, TensorError> {
        let extent = self.extents[l];
        let cells = checked_positions(above as u128 * extent as u128);
        let ctx = Ctx { level: l, extent };
        match &self.levels[l] {
            Level::Dense => cells,
            Level::Interval => Ok(above),
            Level::Compressed { positions, coordinates } => {
                ctx.check_positions("positions", positions, above, coordinates.len())?;
                let order = self.format.levels()[l].kind.is_ordered().then(|| self.repeats(l));
                if are_lists(positions, coordinates, extent, order) {
                    return Ok(coordinates.len());
                }
                ctx.check_range("coordinates", coordinates, extent)?;
                if let Some(repeats) = order {
                    for fiber in 0..above {
                        let places = positions.get(fiber)..positions.get(fiber + 1);
                        ctx.check_increasing("coordinates", coordinates, places, repeats)?;
                    }
                }
                Ok(coordinates.len())
            }
            Level::Singleton { coordinates } => {
                ctx.check_len("coordinates", coordinates.len(), above)?;
                ctx.check_range("coordinates", coordinates, extent)?;
                Ok(above)
            }
            Level::Bytemap { present } => {
                let cells = cells?;
                ctx.check_len("present", present.len(), cells)?;
                match present.as_bytes().iter().position(|&byte| byte > 1) {
                    Some(at) => {
                        let value = present.as_bytes()[at].into();
                        Err(ctx.error("present", at, value, "a byte is 0 or 1".into()))
                    }
                    None => Ok(cells),
                }
            }
            Level::Bitmap { present } => {
                let cells = cells?;
                ctx.check_len("present", present.len(), cells.div_ceil(8))?;
                Ok(cells)
            }
            Level::Hash { positions, coordinates } => {
                ctx.check_positions("positions", positions, above, coordinates.len())?;
                ctx.check_tables(positions, coordinates, above)?;
                Ok(coordinates.len())
            }
            Level::Runs { positions, starts, ends } => {
                ctx.check_len("ends", ends.len(), starts.len())?;
                ctx.check_widths("starts", starts, "ends", ends)?;
                ctx.check_positions("positions", positions, above, starts.len())?;
                for fiber in 0..above {
                    let mut free = 0;
                    for run in positions.get(fiber)..positions.get(fiber + 1) {
                        let (start, end) = (starts.get(run), ends.get(run));
                        ctx.check_stretch("starts", run, start, end, free)?;
                        free = end;
                    }
                }
                Ok(starts.len())
            }
            Level::Steps { positions, ends } => {
                ctx.check_positions("positions", positions, above, ends.len())?;
                for fiber in 0..above {
                    let mut free = 0;
                    for run in positions.get(fiber)..positions.get(fiber + 1) {
                        ctx.check_stretch("ends", run, free, ends.get(run), free)?;
                        free = ends.get(run);
                    }
                    if free != extent {
                        let reason = format!("the steps of fiber {fiber} end there and not at {extent}");
                        return Err(ctx.error(
                            "ends",
                            positions.get(fiber + 1).saturating_sub(1),
                            free,
                            reason,
                        ));
                    }
                }
                Ok(ends.len())
            }
            Level::Band { starts, offsets } => {
                ctx.check_len("starts", starts.len(), above)?;
                let count = offsets.len().checked_sub(1).map_or(0, |last| offsets.get(last));
                ctx.check_positions("offsets", offsets, above, count)?;
                for fiber in 0..above {
                    let start = starts.get(fiber);
                    let len = offsets.get(fiber + 1) - offsets.get(fiber);
                    ctx.check_end("starts", fiber, start, len)?;
                }
                Ok(count)
            }
            Level::Blocks { positions, starts, offsets } => {
                ctx.check_positions("positions", positions, above, starts.len())?;
                ctx.check_widths("positions", positions, "offsets", offsets)?;
                let count = offsets.len().checked_sub(1).map_or(0, |last| offsets.get(last));
                ctx.check_positions("offsets", offsets, starts.len(), count)?;
                for fiber in 0..above {
                    let mut free = 0;
                    for block in positions.get(fiber)..positions.get(fiber + 1) {
                        let (start, len) = (starts.get(block), offsets.get(block + 1) - offsets.get(block));
                        ctx.check_end("starts", block, start, len)?;
                        ctx.check_stretch("starts", block, start, start + len, free)?;
                        free = start + len;
                    }
                }
                Ok(count)
            }
        }
    }

    fn repeats(&self, l: usize) -> Repeats {
        match self.format.levels()[l].kind {
            LevelKind::Compressed { repeats, .. } | LevelKind::Singleton { repeats, .. } => repeats,
            LevelKind::Dense
            | LevelKind::Bytemap
            | LevelKind::Bitmap
            | LevelKind::Hash { .. }
            | LevelKind::Runs { .. }
            | LevelKind::Steps { .. }
            | LevelKind::Band { .. }
            | LevelKind::Blocks { .. }
            | LevelKind::Interval { .. } => Repeats::Unique,
        }
    }

    pub(super) fn check_leaf(&self) -> Result<(), TensorError> {
        let fail = |reason: String| Err(TensorError::Format { reason });
        match (&self.leaf, self.format.leaf()) {
            (Leaf::Values(values), LeafKind::Values) => {
                if values.rank() != 1 || values.shape()[0] != self.leaf_positions() {
                    return Err(TensorError::LeafCount {
                        needed: self.leaf_positions(),
                        found: values.shape().to_vec(),
                    });
                }
                Ok(())
            }
            (Leaf::Iso(_), LeafKind::Iso) => Ok(()),
            (Leaf::Pattern, LeafKind::Pattern) if self.fill == Scalar::Bool(false) => Ok(()),
            (Leaf::Pattern, LeafKind::Pattern) => fail("the fill of a pattern is false".into()),
            (Leaf::Values(_) | Leaf::Iso(_) | Leaf::Pattern, kind) => {
                fail(format!("the leaf of the format keeps {kind:?}, and its data is of another kind"))
            }
        }
    }

    /// Every element is stored once: what sorted lists show by themselves, and other lists by being sorted here.
    fn check_once(&self) -> Result<(), TensorError> {
        let shows = |l: usize| match self.format.levels()[l].kind {
            LevelKind::Compressed { order: crate::Order::Ordered, repeats: Repeats::Unique, .. } => true,
            LevelKind::Compressed { .. } | LevelKind::Singleton { .. } => false,
            LevelKind::Dense
            | LevelKind::Bytemap
            | LevelKind::Bitmap
            | LevelKind::Hash { .. }
            | LevelKind::Runs { .. }
            | LevelKind::Steps { .. }
            | LevelKind::Band { .. }
            | LevelKind::Blocks { .. }
            | LevelKind::Interval { .. } => true,
        };
        if (0..self.levels.len()).all(shows) {
            return Ok(());
        }
        if packed::is_increasing(self)? {
            return Ok(());
        }
        let entries = self.entries()?;
        // Ordered lists with repeats are in order as wholes, as `ordered` promises of them.
        let mut order: Vec<usize> = room(entries.len())?;
        order.extend(0..entries.len());
        let all_ordered = self.format.levels().iter().all(|level| level.kind.is_ordered());
        let in_order = entries.levels_ordered();
        if all_ordered && let Some(at) = in_order {
            let coordinates = entries.coordinates(at);
            return Err(TensorError::Unordered { at, coordinates });
        }
        if !all_ordered {
            order.sort_unstable_by(|&a, &b| entries.compare(a, b));
        }
        match order.windows(2).find(|pair| entries.compare(pair[0], pair[1]).is_eq()) {
            Some(pair) => {
                Err(TensorError::Duplicate { at: pair[1], coordinates: entries.coordinates(pair[1]) })
            }
            None => Ok(()),
        }
    }
}

struct Ctx {
    level: usize,
    extent: usize,
}

impl Ctx {
    fn error(&self, array: &'static str, at: usize, value: usize, reason: String) -> TensorError {
        TensorError::Level { level: self.level, array, at, value, reason }
    }

    fn check_len(&self, array: &'static str, found: usize, needed: usize) -> Result<(), TensorError> {
        if found == needed {
            return Ok(());
        }
        Err(TensorError::LevelLength { level: self.level, array, found, needed })
    }

    fn check_widths(&self, a: &str, x: &Indices, b: &str, y: &Indices) -> Result<(), TensorError> {
        let (level, of_a, of_b) = (self.level, x.width(), y.width());
        if of_a == of_b {
            return Ok(());
        }
        Err(TensorError::Format { reason: format!("level {level}: {a} are {of_a} and {b} are {of_b}") })
    }

    /// From 0 to `end` in `n` steps that never go down.
    fn check_positions(
        &self,
        array: &'static str,
        positions: &Indices,
        n: usize,
        end: usize,
    ) -> Result<(), TensorError> {
        self.check_len(array, positions.len(), n.saturating_add(1))?;
        if positions.get(0) == 0 && positions.get(n) == end && positions.is_sorted() {
            return Ok(());
        }
        if positions.get(0) != 0 {
            return Err(self.error(array, 0, positions.get(0), "the first is 0".into()));
        }
        let mut before = 0;
        for at in 1..=n {
            let value = positions.get(at);
            if value < before {
                return Err(self.error(array, at, value, format!("it is below the one before, {before}")));
            }
            before = value;
        }
        if before != end {
            return Err(self.error(array, n, before, format!("the last is the number of entries, {end}")));
        }
        Ok(())
    }

    fn check_range(&self, array: &'static str, indices: &Indices, extent: usize) -> Result<(), TensorError> {
        let Some(at) = indices.first_from(extent) else { return Ok(()) };
        Err(self.error(array, at, indices.get(at), format!("coordinates are below {extent}")))
    }

    fn check_increasing(
        &self,
        array: &'static str,
        indices: &Indices,
        places: std::ops::Range<usize>,
        repeats: Repeats,
    ) -> Result<(), TensorError> {
        let mut before = None;
        for at in places {
            let value = indices.get(at);
            let fits = before.is_none_or(|before| match repeats {
                Repeats::Unique => before < value,
                Repeats::Repeated => before <= value,
            });
            if !fits {
                let before = before.unwrap_or_default();
                let reason = format!("it follows {before}, and coordinates of a fiber increase");
                return Err(self.error(array, at, value, reason));
            }
            before = Some(value);
        }
        Ok(())
    }

    /// A stretch that starts where there is room and ends within the extent.
    fn check_stretch(
        &self,
        array: &'static str,
        at: usize,
        start: usize,
        end: usize,
        free: usize,
    ) -> Result<(), TensorError> {
        if start < free {
            return Err(self.error(array, at, start, format!("the stretch before ends at {free}")));
        }
        if end <= start || end > self.extent {
            let reason = format!("the stretch {start}..{end} is empty or leaves 0..{}", self.extent);
            return Err(self.error(array, at, if array == "ends" { end } else { start }, reason));
        }
        Ok(())
    }

    fn check_end(&self, array: &'static str, at: usize, start: usize, len: usize) -> Result<(), TensorError> {
        if len > self.extent || start > self.extent - len {
            let reason = format!("{len} coordinates from there leave 0..{}", self.extent);
            return Err(self.error(array, at, start, reason));
        }
        Ok(())
    }

    /// Tables are powers of two, and every coordinate is found from its home slot on.
    fn check_tables(&self, positions: &Indices, coordinates: &Indices, n: usize) -> Result<(), TensorError> {
        let free = coordinates.width().max();
        for fiber in 0..n {
            let (start, end) = (positions.get(fiber), positions.get(fiber + 1));
            let slots = end - start;
            if slots == 0 {
                continue;
            }
            if !slots.is_power_of_two() {
                let reason = format!("the table of fiber {fiber} has {slots} slots, no power of two");
                return Err(self.error("positions", fiber + 1, end, reason));
            }
            for slot in start..end {
                let coordinate = coordinates.get(slot);
                if coordinate == free {
                    continue;
                }
                if coordinate >= self.extent {
                    let reason = format!("coordinates are below {}", self.extent);
                    return Err(self.error("coordinates", slot, coordinate, reason));
                }
                let found = probe(coordinate, slots, |s| {
                    let at = coordinates.get(start + s);
                    at == coordinate || at == free
                });
                if found.is_none_or(|s| start + s != slot) {
                    let reason = "it is stored twice or cannot be reached from its home slot".into();
                    return Err(self.error("coordinates", slot, coordinate, reason));
                }
            }
        }
        Ok(())
    }
}

/// The first slot, from a coordinate's home on, of which `stop` holds. `slots` is a power of two.
pub(super) fn probe(coordinate: usize, slots: usize, stop: impl Fn(usize) -> bool) -> Option<usize> {
    let mixed = (coordinate as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let home = (mixed >> 32) as usize;
    (0..slots).map(|step| (home + step) & (slots - 1)).find(|&slot| stop(slot))
}

impl Level {
    fn is_of(&self, kind: &LevelKind) -> bool {
        match self {
            Level::Dense => matches!(kind, LevelKind::Dense),
            Level::Compressed { .. } => matches!(kind, LevelKind::Compressed { .. }),
            Level::Singleton { .. } => matches!(kind, LevelKind::Singleton { .. }),
            Level::Bytemap { .. } => matches!(kind, LevelKind::Bytemap),
            Level::Bitmap { .. } => matches!(kind, LevelKind::Bitmap),
            Level::Hash { .. } => matches!(kind, LevelKind::Hash { .. }),
            Level::Runs { .. } => matches!(kind, LevelKind::Runs { .. }),
            Level::Steps { .. } => matches!(kind, LevelKind::Steps { .. }),
            Level::Band { .. } => matches!(kind, LevelKind::Band { .. }),
            Level::Blocks { .. } => matches!(kind, LevelKind::Blocks { .. }),
            Level::Interval => matches!(kind, LevelKind::Interval { .. }),
        }
    }

    /// The widths of its arrays.
    fn widths(&self) -> Option<Widths> {
        let widths = |index: &Indices, position: Option<&Indices>| {
            Some(Widths { index: Some(index.width()), position: position.map(Indices::width) })
        };
        match self {
            Level::Dense | Level::Bytemap { .. } | Level::Bitmap { .. } | Level::Interval => None,
            Level::Compressed { positions, coordinates } | Level::Hash { positions, coordinates } => {
                widths(coordinates, Some(positions))
            }
            Level::Singleton { coordinates } => widths(coordinates, None),
            Level::Runs { positions, starts, .. } => widths(starts, Some(positions)),
            Level::Steps { positions, ends } => widths(ends, Some(positions)),
            Level::Band { starts, offsets } => widths(starts, Some(offsets)),
            Level::Blocks { starts, offsets, .. } => widths(starts, Some(offsets)),
        }
    }

    /// The bytes of its arrays.
    pub fn bytes(&self) -> usize {
        let (indices, present) = self.arrays();
        indices.iter().map(|array| array.as_bytes().len()).sum::<usize>() + present.map_or(0, |map| map.len())
    }

    /// Its arrays: of indices, and the map of cells.
    pub(super) fn arrays(&self) -> (Vec<&Indices>, Option<&Buffer>) {
        match self {
            Level::Dense | Level::Interval => (vec![], None),
            Level::Bytemap { present } | Level::Bitmap { present } => (vec![], Some(present)),
            Level::Compressed { positions, coordinates } | Level::Hash { positions, coordinates } => {
                (vec![positions, coordinates], None)
            }
            Level::Singleton { coordinates } => (vec![coordinates], None),
            Level::Runs { positions, starts, ends } => (vec![positions, starts, ends], None),
            Level::Steps { positions, ends } => (vec![positions, ends], None),
            Level::Band { starts, offsets } => (vec![starts, offsets], None),
            Level::Blocks { positions, starts, offsets } => (vec![positions, starts, offsets], None),
        }
    }
}

/// Whether an interval covers all of a level, whatever the coordinate above.
pub(super) fn is_everything(low: Edge, high: Edge, extent: usize) -> bool {
    !matches!((low, high), (Edge::Above(_), _) | (_, Edge::Above(_)))
        && interval(low, high, 0, extent) == (0, extent)
}

/// How many coordinates are looked at while they are in the first-level cache.
const BLOCK: usize = 1 << 12;

/// Whether lists hold coordinates below an extent, in order if one is asked for. The positions were checked.
fn are_lists(positions: &Indices, coordinates: &Indices, extent: usize, order: Option<Repeats>) -> bool {
    with_width!(coordinates.width(), C => with_width!(positions.width(), P => {
        let coordinates: &[C] = bytemuck::cast_slice(coordinates.as_bytes());
        let positions: &[P] = bytemuck::cast_slice(positions.as_bytes());
        are_in_order(positions, coordinates, extent, order, |p| p as usize, |c| c as usize)
    }))
}

/// All descents from one coordinate to the next are counted, and have to be as many as there are where fibers begin. So
/// the loop over coordinates knows nothing of fibers, and uses whole vectors however short these are.
fn are_in_order<P: Copy + Sync, C: Copy + Ord + Sync>(
    positions: &[P],
    coordinates: &[C],
    extent: usize,
    order: Option<Repeats>,
    position: impl Fn(P) -> usize + Sync,
    coordinate: impl Fn(C) -> usize + Sync,
) -> bool {
    let n = coordinates.len();
    let is_descent = |at: usize, repeats: Repeats| match repeats {
        Repeats::Unique => coordinates[at - 1] >= coordinates[at],
        Repeats::Repeated => coordinates[at - 1] > coordinates[at],
    };
    let descents = map_parts(n, |range| {
        let mut descents = 0;
        for start in range.clone().step_by(BLOCK) {
            let end = range.end.min(start + BLOCK);
            let max = coordinates[start..end].iter().copied().max();
            if max.is_some_and(|max| coordinate(max) >= extent) {
                return None;
            }
            let pairs = coordinates[start.max(1) - 1..end - 1].iter().zip(&coordinates[start.max(1)..end]);
            let count: u32 = match order {
                None => 0,
                Some(Repeats::Unique) => pairs.map(|(a, b)| u32::from(a >= b)).sum(),
                Some(Repeats::Repeated) => pairs.map(|(a, b)| u32::from(a > b)).sum(),
            };
            descents += count as usize;
        }
        Some(descents)
    });
    let Some(descents) = descents.into_iter().sum::<Option<usize>>() else { return false };
    let Some(repeats) = order else { return true };
    let at_starts = map_parts(positions.len() - 1, |range| {
        let begins = |fiber: &usize| {
            let start = position(positions[*fiber]);
            let after = position(positions[*fiber + 1]);
            start > 0 && after > start && is_descent(start, repeats)
        };
        range.filter(begins).count()
    });
    descents == at_starts.into_iter().sum::<usize>()
}
