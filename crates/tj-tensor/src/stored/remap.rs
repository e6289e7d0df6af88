//! Tensors by levels under other coordinates.
//!
//! New orders of dimensions, new dimensions and broadcasts rename or add levels over the same arrays. What else there is
//! moves entries: it lists those it keeps, gives them new coordinates, and builds levels again. The format stays as it is
//! as far as it fits; an interval, which may have become any pattern, becomes a compressed level.

use std::sync::OnceLock;

use super::assemble::{Loose, assemble};
use super::check::is_everything;
use super::degrees::Degrees;
use super::expand::Entries;
use super::{Duplicates, Indices, Leaf, Level, Remembered, Stored, room};
use crate::format::{Coordinate, Edge, Format, LeafKind, LevelFormat, LevelKind};
use crate::{DType, Scalar, TensorError};

impl Stored {
    /// The same arrays with dimensions renamed: dimension `d` becomes `place[d]`.
    pub(crate) fn permuted(&self, place: &[usize]) -> Stored {
        let mut shape = self.shape.clone();
        place.iter().zip(&self.shape).for_each(|(&to, &extent)| shape[to] = extent);
        Stored { format: self.format.clone().permuted(place), shape, ..self.shared() }
    }

    /// With the leaf and the fill in another type.
    pub(crate) fn cast(&self, dtype: DType) -> Result<Stored, TensorError> {
        let (leaf, kind) = match &self.leaf {
            Leaf::Values(values) => (Leaf::Values(values.cast(dtype)?), LeafKind::Values),
            Leaf::Iso(value) => (Leaf::Iso(value.cast(dtype)), LeafKind::Iso),
            Leaf::Pattern => (Leaf::Iso(Scalar::Bool(true).cast(dtype)), LeafKind::Iso),
        };
        let format = self.format.clone().with_leaf(kind)?;
        let (nnz, stores_fill, is_finite) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let fill = self.fill.cast(dtype);
        Ok(Stored { format, leaf, dtype, fill, nnz, stores_fill, is_finite, ..self.shared() })
    }

    /// Every `step`th coordinate of a dimension, `len` of them from `start` on, or backwards.
    pub(crate) fn sliced(
        &self,
        axis: usize,
        start: usize,
        len: usize,
        step: i64,
    ) -> Result<Stored, TensorError> {
        let mut shape = self.shape.clone();
        shape[axis] = len;
        let stride = step.unsigned_abs() as usize;
        let reach = len.saturating_sub(1) * if len > 1 { stride } else { 0 };
        let low = if step < 0 { start - reach } else { start };
        let bound = if len == 0 { 0..0 } else { low..low + reach + 1 };
        let mut entries = self.entries_within(&self.bounds(axis, bound))?;
        if stride > 1 {
            let keep: Vec<bool> =
                entries.dims[axis].iter().map(|&c| c.abs_diff(start).is_multiple_of(stride)).collect();
            entries.retain(&keep);
        }
        entries.dims[axis].iter_mut().for_each(|c| *c = c.abs_diff(start) / stride);
        self.rebuilt(&shape, entries, self.loosened())
    }

    /// One coordinate of a dimension, which is dropped.
    pub(crate) fn indexed(&self, axis: usize, coordinate: usize) -> Result<Stored, TensorError> {
        if let Some(dropped) = self.without_unit(axis) {
            return Ok(dropped);
        }
        let mut shape = self.shape.clone();
        shape.remove(axis);
        let mut entries = self.entries_within(&self.bounds(axis, coordinate..coordinate + 1))?;
        entries.dims.remove(axis);
        let format = self.format_without(axis);
        self.rebuilt(&shape, entries, format)
    }

    /// Another shape of as many elements.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Result<Stored, TensorError> {
        let mut entries = self.entries()?;
        let mut columns: Vec<Vec<usize>> = vec![];
        for _ in shape {
            columns.push(room(entries.len())?);
        }
        for at in 0..entries.len() {
            let place = entries.dims.iter().zip(&self.shape);
            let mut place = place.fold(0u128, |n, (column, &extent)| n * extent as u128 + column[at] as u128);
            for (column, &extent) in columns.iter_mut().zip(shape).rev() {
                column.push((place % extent as u128) as usize);
                place /= extent as u128;
            }
        }
        entries.dims = columns;
        let same_rank = shape.len() == self.shape.len();
        let format = if same_rank { self.loosened() } else { Format::coo(shape.len()) };
        self.rebuilt(shape, entries, format)
    }

    /// With one more dimension, of size 1.
    pub(crate) fn expanded(&self, axis: usize) -> Stored {
        self.with_outer(axis, 1, LevelKind::Dense)
    }

    /// With dimensions of size 1 repeated, and new ones in front. The shape was checked.
    pub(crate) fn broadcast(&self, shape: &[usize]) -> Result<Stored, TensorError> {
        let n_new = shape.len() - self.shape.len();
        let everything = LevelKind::Interval { low: Edge::Start, high: Edge::End };
        let mut stored = Stored { nnz: OnceLock::new(), ..self.shared() };
        for (axis, &extent) in shape[n_new..].iter().enumerate() {
            if stored.shape[axis] != extent {
                stored = stored.indexed(axis, 0)?.with_outer(axis, extent, everything);
            }
        }
        for &extent in shape[..n_new].iter().rev() {
            stored = stored.with_outer(0, extent, everything);
        }
        Ok(stored)
    }

    /// The same levels and leaf over the same memory.
    fn shared(&self) -> Stored {
        Stored {
            format: self.format.clone(),
            shape: self.shape.clone(),
            extents: self.extents.clone(),
            levels: self.levels.clone(),
            counts: self.counts.clone(),
            leaf: self.leaf.clone(),
            dtype: self.dtype,
            fill: self.fill,
            nnz: self.nnz.clone(),
            stores_fill: self.stores_fill.clone(),
            is_finite: self.is_finite.clone(),
            degrees: Degrees::default(),
            remembered: Remembered::default(),
        }
    }

    /// With a new dimension as the outermost level, of which every coordinate leads to what there is.
    fn with_outer(&self, axis: usize, extent: usize, kind: LevelKind) -> Stored {
        let place: Vec<usize> = (0..self.shape.len()).map(|dim| dim + usize::from(dim >= axis)).collect();
        let mut stored = self.shared();
        let inner = stored.format.clone().permuted(&place);
        let outer = LevelFormat { coordinate: Coordinate::Dim(axis), kind };
        let levels = [outer].into_iter().chain(inner.levels().iter().copied()).collect();
        stored.format = Format::from_parts(self.shape.len() + 1, levels, inner.leaf());
        stored.shape.insert(axis, extent);
        stored.extents.insert(0, extent);
        let data = if kind == LevelKind::Dense { Level::Dense } else { Level::Interval };
        stored.levels.insert(0, data);
        stored.counts.insert(0, 1);
        stored.nnz = OnceLock::new();
        stored
    }

    /// Without a dimension of size 1 whose level stores nothing.
    fn without_unit(&self, axis: usize) -> Option<Stored> {
        let l = self.format.levels().iter().position(|level| level.coordinate == Coordinate::Dim(axis))?;
        let stores_nothing = match self.format.levels()[l].kind {
            LevelKind::Dense => true,
            LevelKind::Interval { low, high } => is_everything(low, high, 1),
            LevelKind::Compressed { .. }
            | LevelKind::Singleton { .. }
            | LevelKind::Bytemap
            | LevelKind::Bitmap
            | LevelKind::Hash { .. }
            | LevelKind::Runs { .. }
            | LevelKind::Steps { .. }
            | LevelKind::Band { .. }
            | LevelKind::Blocks { .. } => false,
        };
        // An interval below speaks of the coordinate of the level above it.
        let speaks = |level: &LevelFormat| {
            matches!(level.kind, LevelKind::Interval { low, high }
                if matches!((low, high), (Edge::Above(_), _) | (_, Edge::Above(_))))
        };
        let used = self.format.levels().get(l + 1).is_some_and(speaks);
        if self.shape[axis] != 1 || !stores_nothing || used {
            return None;
        }
        let mut levels = self.format.levels().to_vec();
        levels.remove(l);
        let counts_down = |level: &LevelFormat| matches!(level.coordinate, Coordinate::Difference { .. });
        if levels.iter().any(counts_down) {
            return None;
        }
        for level in &mut levels {
            level.coordinate = level.coordinate.renamed(|dim| dim - usize::from(dim > axis));
        }
        let format = Format::new(levels, self.format.leaf()).ok()?;
        let mut stored = self.shared();
        stored.format = format;
        stored.shape.remove(axis);
        stored.extents.remove(l);
        stored.levels.remove(l);
        stored.counts.remove(l);
        stored.nnz = OnceLock::new();
        Some(stored)
    }

    fn bounds(&self, axis: usize, bound: std::ops::Range<usize>) -> Vec<std::ops::Range<usize>> {
        let mut bounds: Vec<_> = self.shape.iter().map(|&extent| 0..extent).collect();
        bounds[axis] = bound;
        bounds
    }

    /// The format with compressed levels for intervals and a value for each position.
    fn loosened(&self) -> Format {
        let mut levels = self.format.levels().to_vec();
        for level in &mut levels {
            if matches!(level.kind, LevelKind::Interval { .. }) {
                level.kind = LevelKind::COMPRESSED;
            }
            if let Some(widths) = level.kind.widths_mut() {
                *widths = crate::Widths::default();
            }
        }
        Format::from_parts(self.format.rank(), levels, LeafKind::Values)
    }

    /// The loosened format without a dimension, or coordinates if its levels do not stand without it.
    fn format_without(&self, axis: usize) -> Format {
        let loosened = self.loosened();
        let is_its = |coordinate: Coordinate| match coordinate {
            Coordinate::Dim(dim) | Coordinate::Quotient { dim, .. } | Coordinate::Remainder { dim, .. } => {
                dim == axis
            }
            Coordinate::Difference { dim, minus } => dim == axis || minus == axis,
        };
        let mut levels: Vec<LevelFormat> =
            loosened.levels().iter().filter(|level| !is_its(level.coordinate)).copied().collect();
        for level in &mut levels {
            level.coordinate = level.coordinate.renamed(|dim| dim - usize::from(dim > axis));
        }
        let rank = self.format.rank() - 1;
        let kept = Format::new(levels, LeafKind::Values).ok().filter(|format| format.rank() == rank);
        kept.unwrap_or(Format::coo(rank))
    }

    fn rebuilt(&self, shape: &[usize], entries: Entries, format: Format) -> Result<Stored, TensorError> {
        let values = self.gather_values(&entries.positions)?;
        let (entries, values) = entries.without_fill(values, self.fill)?;
        let (fill, duplicates) = (self.fill, Duplicates::Refuse);
        let dims = entries.dims.into_iter().map(Indices::of_vec).collect();
        assemble(Loose { shape, dims, values, fill, duplicates }, &format)
    }
}
