//! Visiting the elements of a strided layout.
//!
//! Neighbouring dimensions that are evenly spaced are first merged; the innermost one that remains is then a *run* of
//! elements a constant distance apart. A contiguous layout is a single run and is copied as one slice.
//!
//! A transposed layout has long jumps within its runs, and would use one element of every cache line it loads. Such
//! copies go in *strips*: [`STRIP`] neighbours of the dimension with the shortest jumps at a time.

use crate::shape::{Axis, List, row_major_axes};

/// Writes go to this many rows at once. More would use more of each loaded line, but rows a power of two apart
/// compete for the eight or more ways of one set of the first-level cache.
const STRIP: usize = 8;
/// Reads come from this many far-apart places before the next strip returns to them, so that their pages stay mapped.
const TILE: usize = 64;

/// Calls `f(start, len, stride)` for runs that together are all elements in row-major order.
pub(crate) fn for_each_run(axes: &[Axis], offset: usize, mut f: impl FnMut(usize, usize, isize)) {
    let mut axes = merged(axes);
    let inner = axes.pop().unwrap_or(Axis { extent: 1, stride: 1 });
    if inner.extent > 0 {
        Positions::new(axes, offset).for_each(|start| f(start, inner.extent, inner.stride));
    }
}

/// Fills `to` with the elements in row-major order, each passed through `f`.
pub(crate) fn copy_strided<A: Copy, B: Copy>(
    axes: &[Axis],
    offset: usize,
    from: &[A],
    to: &mut [B],
    f: impl Fn(A) -> B + Copy,
) {
    let axes = merged(axes);
    if let Some(short) = shorter_than_inner(&axes) {
        return copy_strips(axes, short, offset, from, to, f);
    }
    let mut done = 0;
    for_each_run(&axes, offset, |start, len, stride| {
        let run = &mut to[done..done + len];
        done += len;
        match stride {
            1 => run.iter_mut().zip(&from[start..start + len]).for_each(|(y, &x)| *y = f(x)),
            0 => run.fill(f(from[start])),
            _ => run.iter_mut().zip(strided(start, len, stride)).for_each(|(y, p)| *y = f(from[p])),
        }
    });
}

/// The dimension with the shortest jumps, if those of the innermost one are longer and long.
fn shorter_than_inner(axes: &[Axis]) -> Option<usize> {
    let (inner, outer) = axes.split_last()?;
    let jump = |axis: &Axis| axis.stride.unsigned_abs();
    let short = (0..outer.len()).filter(|&d| jump(&outer[d]) > 0).min_by_key(|&d| jump(&outer[d]))?;
    (jump(inner) >= STRIP && jump(&outer[short]) < jump(inner)).then_some(short)
}

fn copy_strips<A: Copy, B: Copy>(
    mut axes: List<Axis>,
    short: usize,
    offset: usize,
    from: &[A],
    to: &mut [B],
    f: impl Fn(A) -> B,
) {
    let shape: List<usize> = axes.iter().map(|axis| axis.extent).collect();
    let mut rows = row_major_axes(&shape);
    let inner = axes.pop().expect("there is an inner dimension besides the short one");
    rows.pop();
    let (near, row) = (axes.remove(short), rows.remove(short));
    for (start, first) in Positions::new(axes, offset).zip(Positions::new(rows, 0)) {
        for tile in (0..inner.extent).step_by(TILE) {
            let columns = tile..(tile + TILE).min(inner.extent);
            for strip in (0..near.extent).step_by(STRIP) {
                let lanes = strip..(strip + STRIP).min(near.extent);
                for i in columns.clone() {
                    let start = moved(start, inner.stride, i);
                    for lane in lanes.clone() {
                        let p = moved(start, near.stride, lane);
                        to[first + i + lane * row.stride as usize] = f(from[p]);
                    }
                }
            }
        }
    }
}

/// Storage positions in row-major order of the coordinates.
pub(crate) struct Positions {
    axes: List<Axis>,
    coordinates: List<usize>,
    next: Option<usize>,
}

impl Positions {
    pub fn new(axes: List<Axis>, offset: usize) -> Positions {
        let empty = axes.iter().any(|axis| axis.extent == 0);
        let coordinates = axes.iter().map(|_| 0).collect();
        Positions { axes, coordinates, next: (!empty).then_some(offset) }
    }
}

impl Iterator for Positions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let position = self.next.take()?;
        let mut following = position;
        for (axis, coordinate) in self.axes.iter().zip(&mut self.coordinates).rev() {
            if *coordinate + 1 < axis.extent {
                *coordinate += 1;
                self.next = Some(following.wrapping_add_signed(axis.stride));
                break;
            }
            // Back to the start of this dimension, on to the next outer one.
            following = following.wrapping_add_signed(axis.stride.wrapping_mul(-(*coordinate as isize)));
            *coordinate = 0;
        }
        Some(position)
    }
}

/// Drops extents of 1 and joins dimensions that are evenly spaced.
fn merged(axes: &[Axis]) -> List<Axis> {
    let mut merged = List::<Axis>::new();
    for &axis in axes.iter().filter(|axis| axis.extent != 1) {
        match merged.last_mut() {
            Some(outer) if outer.stride as i128 == axis.stride as i128 * axis.extent as i128 => {
                // Extents of a broadcast may multiply beyond any count; such a pair stays as it is.
                match outer.extent.checked_mul(axis.extent) {
                    Some(extent) if extent <= isize::MAX as usize => {
                        *outer = Axis { extent, stride: axis.stride }
                    }
                    _ => merged.push(axis),
                }
            }
            _ => merged.push(axis),
        }
    }
    merged
}

/// Positions a constant distance apart.
pub(crate) fn strided(start: usize, len: usize, stride: isize) -> impl Iterator<Item = usize> {
    (0..len).map(move |i| moved(start, stride, i))
}

/// A position some steps along a dimension. Within a layout this never wraps; it only looks as if it could, because
/// the stride is signed.
#[inline]
fn moved(start: usize, stride: isize, steps: usize) -> usize {
    start.wrapping_add_signed(stride.wrapping_mul(steps as isize))
}
