//! Functions whose results have a size that values decide.
//!
//! They take whole tensors and make their results, because nobody knows how long those are before. Masks are counted
//! first, so that results are allocated once; then a loop without branches on values copies. Distinct values come from
//! sorting `(key, position)`, so that the first of equal elements stands for them.
//!
//! **Cost.** O(n); distinct values O(n log n), with 24 bytes an element, 40 if complex. One thread.

use bytemuck::Pod;
use tj_ir::{Selection, Unique};
use tj_tensor::{Buffer, DType, Element, Tensor};

use crate::LibraryError;
use crate::number::Number;

/// Computes the results of a selection. The size that it counts is that of the first axis of the first result.
///
/// # Errors
/// Arguments that do not fit; a negative count; more elements than memory holds.
///
/// ```
/// use tj_ir::Selection;
/// use tj_library::select;
/// use tj_tensor::Tensor;
///
/// let mask = Tensor::from_shape_vec([4], vec![true, false, false, true])?;
/// let x = Tensor::from_shape_vec([4], vec![1.0, 2.0, 3.0, 4.0])?;
/// let results = select(Selection::Masked, &[mask, x])?;
/// assert_eq!(results[0].to_vec::<f64>()?, [1.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn select(selection: Selection, args: &[Tensor]) -> Result<Vec<Tensor>, LibraryError> {
    let call = Selecting { selection };
    let args: Vec<Tensor> =
        args.iter().map(Tensor::to_contiguous).collect::<Result<_, _>>().map_err(|e| call.wrong(e))?;
    match (selection, args.as_slice()) {
        (Selection::Nonzero, [mask]) => call.nonzero(mask),
        (Selection::Argwhere, [mask]) => call.argwhere(mask),
        (Selection::Masked, [mask, x]) => call.masked(mask, x),
        (Selection::Repeat, [x, counts]) => call.repeat(x, counts),
        (Selection::Unique(parts), [x]) => call.unique(parts, x),
        (
            Selection::Nonzero
            | Selection::Argwhere
            | Selection::Masked
            | Selection::Repeat
            | Selection::Unique(_),
            _,
        ) => Err(call.wrong(format!("got {} arguments", args.len()))),
    }
}

/// About as many bytes as a selection of row-major arguments takes, its results included. O(n).
///
/// ```
/// use tj_ir::Selection;
/// use tj_library::selected_bytes;
/// use tj_tensor::Tensor;
///
/// let (x, counts) = (Tensor::from(vec![1.0, 2.0]), Tensor::from(vec![1_i64 << 40, 0]));
/// assert_eq!(selected_bytes(Selection::Repeat, &[x, counts]), 8 << 40);
/// ```
pub fn selected_bytes(selection: Selection, args: &[Tensor]) -> u64 {
    let trues = |mask: &Tensor| count(mask.as_bytes().unwrap_or_default());
    let bytes = match (selection, args) {
        (Selection::Nonzero | Selection::Argwhere, [mask]) => trues(mask).saturating_mul(8 * mask.rank()),
        (Selection::Masked, [mask, x]) => {
            trues(mask).saturating_mul(slice_bytes(x, mask.rank().min(x.rank())))
        }
        (Selection::Repeat, [x, counts]) => {
            let counts = counts.as_slice::<i64>().unwrap_or_default();
            let counts = counts.iter().map(|&count| usize::try_from(count).unwrap_or(0));
            counts.fold(0, usize::saturating_add).saturating_mul(slice_bytes(x, x.rank().min(1)))
        }
        (Selection::Unique(_), [x]) => {
            let each = if x.dtype().is_complex() { 64 } else { 48 };
            x.count().unwrap_or(usize::MAX).saturating_mul(each)
        }
        (
            Selection::Nonzero
            | Selection::Argwhere
            | Selection::Masked
            | Selection::Repeat
            | Selection::Unique(_),
            _,
        ) => 0,
    };
    bytes as u64
}

struct Selecting {
    selection: Selection,
}

type Results = Result<Vec<Tensor>, LibraryError>;

impl Selecting {
    fn wrong(&self, problem: impl ToString) -> LibraryError {
        LibraryError::Shape { function: self.selection.name(), problem: problem.to_string() }
    }

    fn bytes<'t>(&self, tensor: &'t Tensor) -> Result<&'t [u8], LibraryError> {
        tensor.as_bytes().ok_or_else(|| self.wrong("an argument is not row-major"))
    }

    fn elements<'t, T: Element>(&self, tensor: &'t Tensor) -> Result<&'t [T], LibraryError> {
        tensor.as_slice().ok_or_else(|| self.wrong(format!("an argument is {}", tensor.dtype())))
    }

    /// A mask as bytes that are 0 or 1.
    fn mask<'t>(&self, mask: &'t Tensor) -> Result<&'t [u8], LibraryError> {
        if mask.dtype() != DType::Bool {
            return Err(self.wrong(format!("a mask is bool, not {}", mask.dtype())));
        }
        self.bytes(mask)
    }

    fn made(&self, dtype: DType, shape: &[usize], buffer: Buffer) -> Result<Tensor, LibraryError> {
        Tensor::from_buffer(dtype, shape, buffer).map_err(|e| self.wrong(e))
    }

    fn positions(&self, shape: &[usize], values: Vec<i64>) -> Result<Tensor, LibraryError> {
        Tensor::from_shape_vec(shape, values).map_err(|e| self.wrong(e))
    }

    fn nonzero(&self, mask: &Tensor) -> Results {
        let count = count(self.mask(mask)?);
        let columns = (0..mask.rank()).map(|axis| {
            let mut column = vec![0_i64; count];
            coordinates(self.mask(mask)?, mask.shape(), axis, &mut column, 1);
            self.positions(&[count], column)
        });
        columns.collect()
    }

    fn argwhere(&self, mask: &Tensor) -> Results {
        let (count, rank) = (count(self.mask(mask)?), mask.rank());
        let mut rows = vec![0_i64; count * rank];
        for axis in 0..rank {
            coordinates(self.mask(mask)?, mask.shape(), axis, &mut rows[axis.min(count * rank)..], rank);
        }
        Ok(vec![self.positions(&[count, rank], rows)?])
    }

    fn masked(&self, mask: &Tensor, x: &Tensor) -> Results {
        let lead = mask.rank();
        if x.shape().get(..lead) != Some(mask.shape()) {
            return Err(self.wrong(format!("a mask of shape {:?} for {:?}", mask.shape(), x.shape())));
        }
        let bits = self.mask(mask)?;
        let count = count(bits);
        let shape: Vec<usize> = std::iter::once(count).chain(x.shape()[lead..].iter().copied()).collect();
        let slice = slice_bytes(x, lead);
        let mut buffer = Buffer::zeroed(count * slice).map_err(|e| self.wrong(e))?;
        let (from, to) = (self.bytes(x)?, buffer.as_bytes_mut());
        match slice {
            1 => keep::<u8>(bits, from, to),
            2 => keep::<u16>(bits, from, to),
            4 => keep::<u32>(bits, from, to),
            8 => keep::<u64>(bits, from, to),
            0 => {}
            _ => {
                let kept = from.chunks_exact(slice).zip(bits).filter(|(_, bit)| **bit != 0);
                to.chunks_exact_mut(slice).zip(kept).for_each(|(to, (from, _))| to.copy_from_slice(from));
            }
        }
        Ok(vec![self.made(x.dtype(), &shape, buffer)?])
    }

    fn repeat(&self, x: &Tensor, counts: &Tensor) -> Results {
        if x.shape().first() != counts.shape().first() || counts.rank() != 1 {
            return Err(self.wrong(format!("counts of shape {:?} for {:?}", counts.shape(), x.shape())));
        }
        let counts = self.elements::<i64>(counts)?;
        if let Some((position, &count)) = counts.iter().enumerate().find(|(_, count)| **count < 0) {
            return Err(LibraryError::NegativeCount { function: self.selection.name(), position, count });
        }
        let total = counts.iter().try_fold(0_i64, |total, &count| total.checked_add(count));
        let total = total.and_then(|total| usize::try_from(total).ok());
        let slice = slice_bytes(x, 1);
        let sizes = total.and_then(|total| Some((total, total.checked_mul(slice)?)));
        let (total, length) =
            sizes.ok_or_else(|| self.wrong("the counts add up to more than memory holds"))?;
        let shape: Vec<usize> = std::iter::once(total).chain(x.shape()[1..].iter().copied()).collect();
        let mut buffer = Buffer::zeroed(length).map_err(|e| self.wrong(e))?;
        if slice > 0 {
            let mut to = buffer.as_bytes_mut().chunks_exact_mut(slice);
            for (from, &count) in self.bytes(x)?.chunks_exact(slice).zip(counts) {
                to.by_ref().take(count as usize).for_each(|to| to.copy_from_slice(from));
            }
        }
        Ok(vec![self.made(x.dtype(), &shape, buffer)?])
    }

    fn unique(&self, parts: Unique, x: &Tensor) -> Results {
        macro_rules! real {
            ($T:ty) => {
                distinct(self.elements::<$T>(x)?.iter().map(|x| (x.key(), Number::is_nan(*x))))
            };
        }
        let found = match x.dtype() {
            DType::Bool => distinct(self.bytes(x)?.iter().map(|x| (x.key(), false))),
            DType::I8 => real!(i8),
            DType::I16 => real!(i16),
            DType::I32 => real!(i32),
            DType::I64 => real!(i64),
            DType::U8 => real!(u8),
            DType::U16 => real!(u16),
            DType::U32 => real!(u32),
            DType::U64 => real!(u64),
            DType::F16 => real!(tj_tensor::f16),
            DType::BF16 => real!(tj_tensor::bf16),
            DType::F32 => real!(f32),
            DType::F64 => real!(f64),
            DType::C64 => pairs(bytemuck::cast_slice::<u8, [f32; 2]>(self.bytes(x)?)),
            DType::C128 => pairs(bytemuck::cast_slice::<u8, [f64; 2]>(self.bytes(x)?)),
        };
        let size = x.dtype().size();
        let n_values = found.first.len();
        let mut buffer = Buffer::zeroed(n_values * size).map_err(|e| self.wrong(e))?;
        let from = self.bytes(x)?;
        for (to, &at) in buffer.as_bytes_mut().chunks_exact_mut(size).zip(&found.first) {
            to.copy_from_slice(&from[at as usize * size..][..size]);
        }
        let values = self.made(x.dtype(), &[n_values], buffer)?;
        let counts = |found: &Distinct| self.positions(&[n_values], found.counts.clone());
        let inverse = |found: &Distinct| self.positions(x.shape(), found.inverse.clone());
        Ok(match parts {
            Unique::Values => vec![values],
            Unique::Counts => vec![values, counts(&found)?],
            Unique::Inverse => vec![values, inverse(&found)?],
            Unique::All => {
                let indices = self.positions(&[n_values], found.first.clone())?;
                vec![values, indices, inverse(&found)?, counts(&found)?]
            }
        })
    }
}

/// How many are true.
fn count(mask: &[u8]) -> usize {
    mask.iter().map(|&bit| usize::from(bit)).sum()
}

/// Bytes of what one position of the leading axes holds.
fn slice_bytes(x: &Tensor, lead: usize) -> usize {
    // Without elements the other sizes may be any.
    x.shape()[lead..].iter().fold(x.dtype().size(), |bytes, &extent| bytes.saturating_mul(extent))
}

/// Copies the elements at which the mask is 1. `to` has room for these.
fn keep<T: Pod>(mask: &[u8], from: &[u8], to: &mut [u8]) {
    let (from, to): (&[T], &mut [T]) = (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
    let mut next = 0;
    for (&bit, &x) in mask.iter().zip(from) {
        // Written again by the next element if this one does not stay.
        let Some(slot) = to.get_mut(next) else { break };
        *slot = x;
        next += usize::from(bit);
    }
}

/// Coordinates along one axis of what is true, every `step` slots.
fn coordinates(mask: &[u8], shape: &[usize], axis: usize, to: &mut [i64], step: usize) {
    if mask.is_empty() {
        return;
    }
    let inner: usize = shape[axis + 1..].iter().product();
    let mut next = 0;
    for (block, bits) in mask.chunks_exact(inner).enumerate() {
        let coordinate = (block % shape[axis]) as i64;
        for &bit in bits {
            let Some(slot) = to.get_mut(next) else { return };
            *slot = coordinate;
            next += step * usize::from(bit);
        }
    }
}

/// Distinct elements of a tensor.
struct Distinct {
    /// Position of the first of each.
    first: Vec<i64>,
    counts: Vec<i64>,
    /// Which one each element is.
    inverse: Vec<i64>,
}

/// Distinct keys; a key that is not a number differs from all others.
fn distinct<K: Ord + Copy>(keys: impl ExactSizeIterator<Item = (K, bool)>) -> Distinct {
    let n = keys.len();
    let mut sorted: Vec<(K, usize, bool)> =
        keys.enumerate().map(|(position, (key, is_nan))| (key, position, is_nan)).collect();
    sorted.sort_unstable_by_key(|&(key, position, _)| (key, position));
    let mut found = Distinct { first: Vec::new(), counts: Vec::new(), inverse: vec![0; n] };
    let mut before: Option<K> = None;
    for (key, position, is_nan) in sorted {
        if is_nan || before != Some(key) {
            found.first.push(position as i64);
            found.counts.push(0);
            before = Some(key);
        }
        let last = found.first.len() - 1;
        found.counts[last] += 1;
        found.inverse[position] = last as i64;
    }
    found
}

/// Distinct complex numbers, by real part and then imaginary part. Whatever has a NaN comes last.
fn pairs<T: Number>(pairs: &[[T; 2]]) -> Distinct {
    distinct(pairs.iter().map(|[re, im]| {
        let is_nan = re.is_nan() || im.is_nan();
        ((is_nan, re.key(), im.key()), is_nan)
    }))
}
