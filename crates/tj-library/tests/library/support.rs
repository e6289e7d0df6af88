//! Arrays for tests, and calls of functions on them.

use std::ops::Range;

use tj_ir::Function;
use tj_library::{Array, ArrayMut, LibraryError, run};
use tj_tensor::{DType, bf16, f16};

/// An owned array. Words of eight bytes hold the elements, so that they are aligned for every dtype.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    pub dtype: DType,
    pub shape: Vec<usize>,
    words: Vec<u64>,
}

/// A Rust type of elements.
pub trait Item: bytemuck::Pod {
    const DTYPE: DType;
    /// For messages and comparisons.
    fn to_f64(self) -> f64;
}

macro_rules! items {
    ($($T:ident: $D:ident, $to:expr;)*) => {$(
        impl Item for $T {
            const DTYPE: DType = DType::$D;
            fn to_f64(self) -> f64 {
                $to(self)
            }
        }
    )*};
}

items! {
    i8: I8, f64::from;
    i16: I16, f64::from;
    i32: I32, f64::from;
    i64: I64, |x| x as f64;
    u8: U8, f64::from;
    u16: U16, f64::from;
    u32: U32, f64::from;
    u64: U64, |x| x as f64;
    f16: F16, f16::to_f64;
    bf16: BF16, bf16::to_f64;
    f32: F32, f64::from;
    f64: F64, std::convert::identity;
}

impl Owned {
    pub fn zeros(dtype: DType, shape: &[usize]) -> Owned {
        let n_bytes = shape.iter().product::<usize>() * dtype.size();
        Owned { dtype, shape: shape.to_vec(), words: vec![0; n_bytes.div_ceil(8)] }
    }

    pub fn new<T: Item>(shape: &[usize], elements: &[T]) -> Owned {
        let mut owned = Owned::zeros(T::DTYPE, shape);
        owned.bytes_mut().copy_from_slice(bytemuck::cast_slice(elements));
        owned
    }

    pub fn bytes(&self) -> &[u8] {
        let n_bytes = self.shape.iter().product::<usize>() * self.dtype.size();
        &bytemuck::cast_slice(&self.words)[..n_bytes]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let n_bytes = self.shape.iter().product::<usize>() * self.dtype.size();
        &mut bytemuck::cast_slice_mut(&mut self.words)[..n_bytes]
    }

    pub fn elements<T: Item>(&self) -> &[T] {
        assert_eq!(self.dtype, T::DTYPE);
        bytemuck::cast_slice(self.bytes())
    }
}

/// Results of these dtypes and shapes, computed in pieces that end at `cuts`.
pub fn try_call_cut(
    function: Function,
    args: &[&Owned],
    results: &[(DType, &[usize])],
    n_rows: usize,
    cuts: &[usize],
) -> Result<Vec<Owned>, LibraryError> {
    let args: Vec<Array<'_>> =
        args.iter().map(|a| Array { dtype: a.dtype, shape: &a.shape, bytes: a.bytes() }).collect();
    let mut owned: Vec<Owned> = results.iter().map(|(dtype, shape)| Owned::zeros(*dtype, shape)).collect();
    let mut start = 0;
    for end in cuts.iter().copied().chain([n_rows]) {
        let rows: Range<usize> = start..end;
        start = end;
        let mut parts: Vec<ArrayMut<'_>> = owned
            .iter_mut()
            .zip(results)
            .map(|(owned, (dtype, shape))| {
                let per_row = owned.bytes().len() / n_rows.max(1);
                let bytes = &mut owned.bytes_mut()[rows.start * per_row..rows.end * per_row];
                ArrayMut { dtype: *dtype, shape, bytes }
            })
            .collect();
        run(function, &args, &mut parts, rows)?;
    }
    Ok(owned)
}

/// All rows at once. A result without rows of its own has one.
pub fn try_call(
    function: Function,
    args: &[&Owned],
    results: &[(DType, &[usize])],
) -> Result<Vec<Owned>, LibraryError> {
    let n_row_axes = args[0].shape.len() - function.core().0[0].expect("the first argument has rows");
    let n_rows = args[0].shape[..n_row_axes].iter().product();
    try_call_cut(function, args, results, n_rows, &[])
}

/// The only result, or the first.
pub fn call(function: Function, args: &[&Owned], dtype: DType, shape: &[usize]) -> Owned {
    try_call(function, args, &[(dtype, shape)]).expect("it can be computed").swap_remove(0)
}
