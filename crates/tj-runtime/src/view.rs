//! Memory of the caller that outputs are written to.
//!
//! Kernels write bytes. Any bytes are a number, but not every byte is a `bool`, so that truth values go through bytes
//! of our own and are converted once the call has succeeded.

use tj_tensor::{DType, Element};

use crate::error::Error;
use crate::program::bytes;

/// Memory of the caller that an output is written to.
#[derive(Debug)]
pub struct OutputView<'a> {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    memory: Memory<'a>,
}

#[derive(Debug)]
enum Memory<'a> {
    Numbers(&'a mut [u8]),
    Bools { values: &'a mut [bool], bytes: Vec<u8> },
}

impl<'a> OutputView<'a> {
    /// A row-major view of a slice of numbers.
    ///
    /// # Errors
    /// When the slice does not hold exactly the elements of the shape.
    pub fn new<T: Element + bytemuck::Pod>(
        shape: &[usize],
        values: &'a mut [T],
    ) -> Result<OutputView<'a>, Error> {
        let view: &mut [u8] = bytemuck::cast_slice_mut(values);
        check(shape, T::DTYPE, view.len())?;
        Ok(OutputView { dtype: T::DTYPE, shape: shape.to_vec(), memory: Memory::Numbers(view) })
    }

    /// A row-major view of a slice of truth values; a call holds as many bytes more.
    ///
    /// ```
    /// # use tj_ir::input;
    /// # use tj_runtime::{CompileOptions, CompiledGraph, OutputView};
    /// # use tj_tensor::{DType, Tensor};
    /// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
    /// #     return Ok(()); // this build has no back end
    /// # }
    /// let x = input("x", DType::I64, [3.into()])?;
    /// let graph = CompiledGraph::new(&[x.greater(0)], CompileOptions::default())?;
    /// let mut positive = [true; 3];
    /// graph.call_into(&[("x", &Tensor::arange(3)?)], &mut [OutputView::bools(&[3], &mut positive)?])?;
    /// assert_eq!(positive, [false, true, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`OutputView::new`].
    pub fn bools(shape: &[usize], values: &'a mut [bool]) -> Result<OutputView<'a>, Error> {
        check(shape, DType::Bool, values.len())?;
        let bytes = vec![0; values.len()];
        Ok(OutputView { dtype: DType::Bool, shape: shape.to_vec(), memory: Memory::Bools { values, bytes } })
    }

    /// Where kernels write.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Numbers(bytes) => bytes,
            Memory::Bools { bytes, .. } => bytes,
        }
    }

    /// Hands over what kernels have written.
    pub(crate) fn finish(&mut self) {
        match &mut self.memory {
            Memory::Numbers(_) => {}
            Memory::Bools { values, bytes } => {
                for (value, byte) in values.iter_mut().zip(bytes) {
                    *value = *byte != 0;
                }
            }
        }
    }
}

fn check(shape: &[usize], dtype: DType, len: usize) -> Result<(), Error> {
    let needed = bytes(shape, dtype.size())?;
    if len as u64 == needed {
        return Ok(());
    }
    let problem = format!("has {len} bytes, but shape {shape:?} needs {needed}");
    Err(Error::Output { position: 0, problem })
}
