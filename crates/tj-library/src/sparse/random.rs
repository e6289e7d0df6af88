//! Random tensors with a number of entries.
//!
//! **Problem.** Distinct random cells of a shape with, say, 2^100 of them, in memory for the entries alone, the same for the
//! same key everywhere. **Idea.** A permutation of the numbers below the number of cells, picked by the key, that can be
//! evaluated anywhere: entry `i` stands at the cell that `i` is mapped to. Entries are distinct by construction, nothing is
//! remembered, and entry `i` depends on the key and `i` alone.
//!
//! The permutation is a Feistel network over the least even number of bits that holds all cells; a number that it maps beyond
//! the cells is mapped again until it is one (at most four times as many numbers as cells: fewer than four steps on average).
//! Its round function and the values are outputs of SplitMix64, which is a counter with a hash.

use tj_tensor::{Complex, DType, Element, Scalar, Tensor, bf16, f16, with_dtype};

use super::entries::{Entries, cells, empty_columns, push_cell, room};
use crate::LibraryError;

/// With fewer, permutations of few cells would not look random.
const ROUNDS: u64 = 10;

/// The step of SplitMix64's counter: 2^64 divided by the golden ratio, odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A tensor with `density` times as many entries as cells, rounded, at cells chosen at random, with random values; 0 elsewhere.
/// Values are uniform: floats in `0..=1` without the 0, integers in all of their range but 0, bools true. The same key gives
/// the same tensor, and of two densities the smaller gives some of the entries of the larger.
///
/// ```
/// use tj_library::sparse::random;
/// use tj_tensor::DType;
/// let x = random(&[1000, 2000], 0.001, 7, DType::F64)?;
/// assert_eq!((x.nnz()?, x.format().to_string()), (2000, "csr".to_string()));
/// assert!(x.bit_eq(&random(&[1000, 2000], 0.001, 7, DType::F64)?));
/// assert!(!x.bit_eq(&random(&[1000, 2000], 0.001, 8, DType::F64)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A density outside `0..=1`; 2^126 cells or more; more entries than memory holds.
pub fn random(shape: &[usize], density: f64, key: u64, dtype: DType) -> Result<Tensor, LibraryError> {
    let fail = |problem: String| Err(LibraryError::Argument { function: "random", problem });
    if !(0.0..=1.0).contains(&density) {
        return fail(format!("the density {density} is not in 0..=1"));
    }
    let n_cells = cells(shape);
    if n_cells >= 1 << 126 {
        return fail(format!("shape {shape:?} has 2^126 cells or more"));
    }
    // A cast of a number beyond the cells would round up to one.
    let wanted = ((density * n_cells as f64).round() as u128).min(n_cells);
    let wanted = if density == 1.0 { n_cells } else { wanted };
    // Where there is no memory for so many, `room` says so.
    let n = usize::try_from(wanted).unwrap_or(usize::MAX);
    let permutation = Permutation::new(key, n_cells);
    let mut columns = empty_columns(shape.len(), n)?;
    for entry in 0..n {
        push_cell(&mut columns, shape, permutation.cell(entry as u128));
    }
    let values = with_dtype!(dtype, T => {
        let mut values: Vec<T> = room(n)?;
        let counter = mix(key ^ STEP);
        values.extend((0..n as u64).map(|entry| {
            let value = value(dtype, bits(counter, 2 * entry), bits(counter, 2 * entry + 1));
            T::from_scalar(value).expect("a value has the dtype asked for")
        }));
        Tensor::from(values)
    });
    Entries { shape: shape.to_vec(), columns, values, fill: Scalar::zero(dtype) }.build()
}

/// A permutation of the numbers below a bound.
struct Permutation {
    keys: [u64; ROUNDS as usize],
    /// Of half a number.
    n_bits: u32,
    bound: u128,
}

impl Permutation {
    fn new(key: u64, bound: u128) -> Permutation {
        let n_bits = (u128::BITS - bound.saturating_sub(1).leading_zeros()).div_ceil(2);
        let counter = mix(key);
        Permutation { keys: std::array::from_fn(|round| bits(counter, round as u64)), n_bits, bound }
    }

    fn cell(&self, number: u128) -> u128 {
        let mut number = self.permuted(number);
        while number >= self.bound {
            number = self.permuted(number);
        }
        number
    }

    fn permuted(&self, number: u128) -> u128 {
        let mask = (1u64 << self.n_bits) - 1;
        let (mut left, mut right) = ((number >> self.n_bits) as u64, number as u64 & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right.wrapping_mul(STEP) ^ key) & mask));
        }
        u128::from(left) << self.n_bits | u128::from(right)
    }
}

/// Output `at` of SplitMix64 from a counter.
fn bits(counter: u64, at: u64) -> u64 {
    mix(counter.wrapping_add(at.wrapping_add(1).wrapping_mul(STEP)))
}

/// The hash of SplitMix64.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A value that is not 0, of random bits; only complex numbers need the second.
fn value(dtype: DType, first: u64, second: u64) -> Scalar {
    // Multiples of 2^-digits, none of which is rounded.
    let unit = |bits: u64, digits: i32| ((bits >> (64 - digits)) + 1) as f64 * 0.5_f64.powi(digits);
    match dtype {
        DType::Bool => Scalar::Bool(true),
        DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 | DType::U32 => {
            let range = (1u64 << (8 * dtype.size())) - 1;
            Scalar::from_bits(dtype, u128::from(first % range) + 1)
        }
        DType::I64 | DType::U64 => Scalar::from_bits(dtype, u128::from(first.max(1))),
        DType::F16 => f16::from_f64(unit(first, 11)).into(),
        DType::BF16 => bf16::from_f64(unit(first, 8)).into(),
        DType::F32 => (unit(first, 24) as f32).into(),
        DType::F64 => unit(first, 53).into(),
        DType::C64 => Complex::new(unit(first, 24) as f32, unit(second, 24) as f32).into(),
        DType::C128 => Complex::new(unit(first, 53), unit(second, 53)).into(),
    }
}
