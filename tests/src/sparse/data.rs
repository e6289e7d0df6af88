//! Arguments from a seed.

use tensorjit::{DType, Duplicates, Format, Leaf, Scalar, Tensor, TensorError};

use super::{Argument, Storage};
use crate::rng::Rng;

/// What a size is in the second round: others than 0 and 1 change, and stay different from one another.
pub(super) fn resized(size: usize, round: u64) -> usize {
    match (round, size) {
        (0, size) => size,
        (_, 2) => 3,
        (_, 3) => 7,
        (_, 7) => 2,
        (_, 33) => 20,
        (_, size) => size,
    }
}

impl Argument {
    /// The tensor of a seed.
    pub(super) fn tensor(&self, seed: u64, round: u64) -> Result<Tensor, TensorError> {
        let shape: Vec<usize> = self.shape.iter().map(|&size| resized(size, round)).collect();
        let mut rng = Rng::new(seed);
        let fill = self.fill.scalar(self.dtype);
        let count: usize = shape.iter().product();
        let (mut columns, mut values) = (vec![Vec::new(); shape.len()], Vec::new());
        let is_iso = matches!(&self.storage, Storage::Levels(format) if format.ends_with("iso"));
        let is_pattern = matches!(&self.storage, Storage::Levels(format) if format.ends_with("pattern"));
        for cell in 0..count {
            if !rng.chance(self.density) {
                continue;
            }
            let mut rest = cell;
            for (column, &extent) in columns.iter_mut().zip(&shape).rev() {
                column.push((rest % extent) as i64);
                rest /= extent;
            }
            let value = match (is_iso, is_pattern) {
                (true, _) => Scalar::from(if self.dtype.is_bool() { 1.0 } else { 3.0 }).cast(self.dtype),
                (_, true) => Scalar::Bool(true),
                (false, false) => self.value(&mut rng),
            };
            values.push(value);
        }
        let vector = |values: &[Scalar]| -> Result<Tensor, TensorError> {
            if self.dtype == DType::I64 {
                return Tensor::from_shape_vec([values.len()], values.iter().map(|v| v.to_i64()).collect());
            }
            Tensor::from_shape_vec([values.len()], values.iter().map(|v| v.to_f64()).collect())?
                .cast(self.dtype)
        };
        let columns: Vec<Tensor> = columns.into_iter().map(Tensor::from).collect();
        let values = vector(&values)?;
        let rank = shape.len();
        if rank == 0 {
            let value = if values.count()? == 1 { values.get(&[0])? } else { fill };
            return Ok(Tensor::scalar(value));
        }
        let made = |format: &Format| {
            Tensor::from_entries(&shape, &columns, values.clone(), fill, Duplicates::Refuse, format)
        };
        match &self.storage {
            Storage::Plain => made(&Format::coo(rank))?.to_dense(),
            Storage::Filled => made(&Format::coo(rank))?.to_dense()?.with_fill(Some(fill)),
            Storage::Levels(format) => {
                let tensor = format.parse().and_then(|format| made(&format));
                self.explicit(tensor.or_else(|_| made(&Format::csf(rank)))?, fill, &mut rng)
            }
        }
    }

    /// With some of the entries overwritten by the fill, which stay stored.
    fn explicit(&self, tensor: Tensor, fill: Scalar, rng: &mut Rng) -> Result<Tensor, TensorError> {
        let Some(stored) = tensor.stored() else { return Ok(tensor) };
        let Leaf::Values(values) = stored.leaf() else { return Ok(tensor) };
        if self.explicit == 0 {
            return Ok(tensor);
        }
        let count = values.count()?;
        let kept: Vec<bool> = (0..count).map(|_| !rng.chance(self.explicit)).collect();
        let size = self.dtype.size();
        let bytes = values.to_contiguous()?;
        let mut bytes = bytes.as_bytes().map(<[u8]>::to_vec).unwrap_or_default();
        let fill_bytes = fill.bits().to_le_bytes();
        for at in (0..count).filter(|&at| !kept[at]) {
            bytes[at * size..(at + 1) * size].copy_from_slice(&fill_bytes[..size]);
        }
        let buffer = tensorjit::Buffer::copy_of(&bytes)?;
        let values = Tensor::from_buffer(self.dtype, [count], buffer)?;
        let levels = stored.levels().to_vec();
        Tensor::from_levels(stored.format().clone(), tensor.shape(), levels, Leaf::Values(values), fill)
    }

    /// One element: a small integer, which every type holds.
    fn value(&self, rng: &mut Rng) -> Scalar {
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
        let value = if self.special && self.dtype.is_float() && rng.chance(10) {
            rng.pick(&special)
        } else if self.dtype == DType::U8 {
            rng.range(0, 5) as f64
        } else {
            rng.range(-3, 3) as f64
        };
        Scalar::from(value).cast(self.dtype)
    }
}
