//! Random kernels for differential tests: the same call on the interpreter and on a back end must agree.
//!
//! A sample is a well-formed kernel with everything a call needs: sizes, parameters, memory and a task range. It
//! passes the verifier, every guard holds for its sizes, its tasks and the iterations of its lanes loops are
//! independent, and no bit of a computed NaN can reach a result other than a NaN. So two correct back ends agree by
//! [`BufferContents::same`], whatever the order of lanes and however the task range is cut. Special values, empty
//! and odd sizes are frequent. The same seed and options give the same sample on every machine.
//!
//! Shapes of kernels (`shapes.rs`) mirror what lowering makes: elementwise lanes loops, rows reduced by lane variables
//! and folds, columns reduced inside lanes, scratch rows, gathers, cursors in `While`, triangles, small `Gemm`s. Where
//! they read and write is in `places.rs`; what they compute is a random DAG (`expr.rs`).

mod expr;
mod places;
mod shapes;

use std::ops::Range;

use tj_ir::dim::{Dim, Symbol};
use tj_tensor::{DType, Scalar};

use crate::in_place;
use crate::interpret::{Counts, KernelFault, Options, interpret_with};
use crate::ir::{Access, Buf, Kernel};
use crate::memory::{BufferContents, Memory};

/// What samples may contain.
#[derive(Clone, Debug)]
pub struct SampleOptions {
    /// Element types, each taken equally often.
    pub dtypes: Vec<DType>,
    /// Greatest size of an axis.
    pub max_extent: i64,
    /// Greatest number of operations in one expression.
    pub max_operations: u64,
    /// Which shapes.
    pub shapes: Vec<SampleShape>,
}

impl Default for SampleOptions {
    /// Every shape over all types but f16 and bf16, which not every back end has.
    fn default() -> SampleOptions {
        let dtypes =
            DType::ALL.into_iter().filter(|d| !d.is_complex() && !matches!(d, DType::F16 | DType::BF16));
        SampleOptions {
            dtypes: dtypes.collect(),
            max_extent: 70,
            max_operations: 16,
            shapes: SampleShape::ALL.to_vec(),
        }
    }
}

/// The loop structure of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleShape {
    /// One lanes loop, each iteration on its own, with branches and loops that are the same for all lanes.
    Elementwise,
    /// Each row folded over lane variables, then used by a second pass over the row.
    RowReduction,
    /// Each column folded by a serial loop inside a lanes loop.
    ColumnReduction,
    /// Rows kept in scratch between two passes.
    Scratch,
    /// Serial loops over a triangle, with branches that depend on data.
    Triangle,
    /// A cursor that a `While` moves through a row.
    Cursor,
    /// Elements at loaded, clamped indices.
    Gather,
    /// A contraction of a block of rows, with an elementwise epilogue.
    Gemm,
}

impl SampleShape {
    /// All of them.
    pub const ALL: [SampleShape; 8] = [
        SampleShape::Elementwise,
        SampleShape::RowReduction,
        SampleShape::ColumnReduction,
        SampleShape::Scratch,
        SampleShape::Triangle,
        SampleShape::Cursor,
        SampleShape::Gather,
        SampleShape::Gemm,
    ];
}

/// A kernel and a call of it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The kernel.
    pub kernel: Kernel,
    /// The value of each symbol.
    pub symbols: Vec<(Symbol, i64)>,
    /// The value of each of [`Kernel::sizes`].
    pub sizes: Vec<i64>,
    /// The value of each of [`Kernel::params`].
    pub params: Vec<Scalar>,
    /// Memory before the call, by [`Kernel::buffers`].
    pub contents: Vec<BufferContents>,
    /// The tasks of the call; empty if the grid is.
    pub tasks: Range<i64>,
}

impl Sample {
    /// Runs the interpreter on copies of the memory; gives the copies.
    pub fn interpret(&self, options: Options) -> Result<(Vec<BufferContents>, Counts), KernelFault> {
        let mut contents = self.contents.clone();
        let counts = self.interpret_on(options, &mut contents, self.tasks.clone())?;
        Ok((contents, counts))
    }

    /// Runs the interpreter on given memory, for some of the tasks.
    pub fn interpret_on(
        &self,
        options: Options,
        contents: &mut [BufferContents],
        tasks: Range<i64>,
    ) -> Result<Counts, KernelFault> {
        let mut memory: Vec<Memory<'_>> = contents.iter_mut().map(BufferContents::memory).collect();
        interpret_with(options, &self.kernel, &mut memory, &self.sizes, &self.params, tasks)
    }

    /// The buffer in which two results first differ, with an element: `None` if the results are the same. Scratch
    /// is not a result.
    pub fn difference(&self, a: &[BufferContents], b: &[BufferContents]) -> Option<String> {
        let buffers = self.kernel.buffers.iter().zip(a.iter().zip(b));
        for (buffer, (a, b)) in buffers.filter(|(buffer, _)| buffer.access != Access::Scratch) {
            if a.same(b) {
                continue;
            }
            for (index, (x, y)) in a.scalars().zip(b.scalars()).enumerate() {
                if x != y && !(x.to_f64().is_nan() && y.to_f64().is_nan()) {
                    return Some(format!("{}[{index}] is {x} and {y}", buffer.name));
                }
            }
            return Some(format!("{} differs in length or type", buffer.name));
        }
        None
    }

    /// The same call with buffers read in place of others as far as that is proved, each of another. Those start as
    /// copies, so that a call with one memory for both has the results of a call with two.
    pub fn in_place(&self) -> Sample {
        let mut sample = self.clone();
        let mut taken: Vec<Buf> = Vec::new();
        for (read, written) in in_place::pairs(&self.kernel) {
            if taken.contains(&read) || taken.contains(&written) {
                continue;
            }
            taken.extend([read, written]);
            let donor = &self.contents[read.index()];
            let bits: Vec<u64> = (0..donor.len()).map(|i| donor.get(i)).collect();
            let dtype = self.kernel.buffers[written.index()].dtype;
            sample.contents[written.index()] = BufferContents::from_bits(dtype, &bits);
            sample.kernel.buffers[read.index()].access = Access::InPlace(written);
        }
        sample
    }

    /// The value of a symbol.
    pub fn value_of(&self, symbol: &Symbol) -> Option<i64> {
        self.symbols.iter().find(|(s, _)| s == symbol).map(|&(_, value)| value)
    }
}

/// The sample of a seed.
///
/// ```
/// use tj_kernel::sample::{SampleOptions, sample};
/// let sample = sample(7, &SampleOptions::default());
/// let guards = tj_kernel::verify(&sample.kernel).unwrap();
/// assert!(guards.iter().all(|g| g.holds(&|s| sample.value_of(s)) == Ok(true)));
/// let (results, _) = sample.interpret(Default::default())?;
/// assert_eq!(sample.difference(&results, &results), None);
/// # Ok::<(), tj_kernel::KernelFault>(())
/// ```
pub fn sample(seed: u64, options: &SampleOptions) -> Sample {
    let mut random = Random(seed);
    let (kernel, symbols) = shapes::kernel(&mut random, options);
    let eval = |dim: &Dim| {
        let value = |symbol: &Symbol| symbols.iter().find(|(s, _)| s == symbol).map(|&(_, v)| v);
        dim.eval(&value).expect("every symbol of a sample has a small value")
    };
    let sizes = kernel.sizes.iter().map(eval).collect();
    let params = kernel.params.iter().map(|&dtype| random.scalar(dtype)).collect();
    let contents = kernel
        .buffers
        .iter()
        .map(|buffer| {
            let len = eval(&buffer.len).max(0) as usize;
            let bits: Vec<u64> = (0..len).map(|_| random.scalar(buffer.dtype).bits() as u64).collect();
            BufferContents::from_bits(buffer.dtype, &bits)
        })
        .collect();
    let extent = eval(&kernel.grid.extent).max(0) as u64;
    let tasks = match random.below(4) {
        // Half of the calls are on a part; a part of something is not empty.
        0 | 1 if extent > 0 => {
            let lo = random.below(extent);
            lo as i64..(lo + 1 + random.below(extent - lo)) as i64
        }
        _ => 0..extent as i64,
    };
    Sample { kernel, symbols, sizes, params, contents, tasks }
}

/// SplitMix64: small, fast, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is positive.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A value with a taste for the special.
    fn scalar(&mut self, dtype: DType) -> Scalar {
        let small = Scalar::I64(self.below(11) as i64 - 5).cast(dtype);
        let bits = Scalar::from_bits(dtype, self.next() as u128);
        if dtype.is_float() {
            let fraction = Scalar::F64((self.next() >> 11) as f64 / (1u64 << 51) as f64 - 2.0).cast(dtype);
            return match self.below(16) {
                0 => Scalar::F64(self.pick(&[-0.0, f64::INFINITY, -f64::INFINITY, f64::NAN, 1e-310, 1e39]))
                    .cast(dtype),
                1 => bits,
                2..6 => small,
                _ => fraction,
            };
        }
        match self.below(8) {
            0 => Scalar::I64(self.pick(&[i64::MIN, i64::MAX, -1, 31, 32, 63, 64])).cast(dtype),
            1 => Scalar::F64(self.pick(&[-f64::INFINITY, f64::INFINITY])).cast(dtype),
            2 | 3 => bits,
            _ => small,
        }
    }
}

#[cfg(test)]
mod tests;
