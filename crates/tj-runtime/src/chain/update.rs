//! Writes some elements of a tensor that was given for good.
//!
//! The elements are there before the first one is written, so that they may be computed from the tensor itself. If nobody
//! else holds its memory, nothing is copied, and the work follows the elements that are written; else there is one copy.

use tj_kernel::lower::sparse::Tasks;
use tj_tensor::{Buffer, Tensor};

use super::NestCode;
use super::run::{Runner, missing};
use crate::budget;
use crate::error::Error;

impl Runner<'_> {
    /// The base with the entries that a nest has written.
    pub fn updated(&mut self, nest: &NestCode, base: Tensor, written: &[Tensor]) -> Result<Tensor, Error> {
        let [columns @ .., values, starts] = written else { return Err(missing()) };
        let dense = self.dense(&base)?;
        drop(base);
        let (shape, dtype) = (dense.shape().to_vec(), dense.dtype());
        let places = places(nest, &shape, columns, starts, values.count()?)?;
        let mut buffer = if dense.owns_buffer() {
            if let Some((_, cost, _)) = self.spent.last_mut() {
                cost.donated_inputs += 1;
            }
            dense.try_into_buffer().map_err(|_| missing())?
        } else {
            budget::check(self.terms.max, dense.count()?.saturating_mul(dtype.size()) as u64)?;
            Buffer::copy_of(dense.to_contiguous()?.as_bytes().unwrap_or(&[]))?
        };
        let (to, from) = (buffer.as_bytes_mut(), values.as_bytes().unwrap_or(&[]));
        let size = dtype.size();
        for (place, value) in places.into_iter().zip(from.chunks_exact(size)) {
            to[place * size..][..size].copy_from_slice(value);
        }
        Ok(Tensor::from_buffer(dtype, &shape, buffer)?)
    }
}

/// Where each entry lies in a row-major tensor.
fn places(
    nest: &NestCode,
    shape: &[usize],
    columns: &[Tensor],
    starts: &Tensor,
    entries: usize,
) -> Result<Vec<usize>, Error> {
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let mut places = vec![0; entries];
    if nest.tasks == Tasks::Rows {
        let starts = starts.as_slice::<i64>().ok_or_else(missing)?;
        for (row, ends) in starts.windows(2).enumerate() {
            places[ends[0] as usize..ends[1] as usize].fill(row * stride(0));
        }
    }
    for (column, &axis) in columns.iter().zip(&nest.columns) {
        let stride = stride(axis as usize);
        let wide = column.as_slice::<u64>().map(|column| add(&mut places, column, stride));
        let narrow = column.as_slice::<u32>().map(|column| add(&mut places, column, stride));
        wide.or(narrow).ok_or_else(missing)?;
    }
    Ok(places)
}

fn add<T: Copy + TryInto<usize>>(places: &mut [usize], column: &[T], stride: usize) {
    for (place, &coordinate) in places.iter_mut().zip(column) {
        *place += stride * coordinate.try_into().unwrap_or(0);
    }
}
