//! Functions of whole tensors, by the library.

use tj_library::ArrayMut;
use tj_tensor::DType;

use super::KernelFault;
use crate::ir::{Array, Buf, Call, Kernel, Value};
use crate::memory::Memory;

/// An array with its extents.
struct Sized {
    buffer: Buf,
    dtype: DType,
    shape: Vec<usize>,
}

/// Computes the rows of the task range. `int` gives the numbers of the call.
pub(super) fn run(
    kernel: &Kernel,
    call: &Call,
    int: &dyn Fn(Value) -> i64,
    memory: &mut [Memory<'_>],
) -> Result<(), KernelFault> {
    let sized = |array: &Array| -> Sized {
        let shape = array.extents.iter().map(|&extent| usize::try_from(int(extent)).unwrap_or(0)).collect();
        Sized { buffer: array.buffer, dtype: kernel.buffers[array.buffer.index()].dtype, shape }
    };
    let outside = |array: &Sized, len: usize| KernelFault::OutOfBounds {
        kernel: kernel.name.clone(),
        buffer: kernel.buffers[array.buffer.index()].name.clone(),
        index: i64::try_from(array.count(0)).unwrap_or(i64::MAX) - 1,
        len,
    };
    let task = |value| usize::try_from(int(value)).unwrap_or(0);
    let rows = task(kernel.task.0)..task(kernel.task.1);
    let args: Vec<Sized> = call.args.iter().map(sized).collect();
    let results: Vec<Sized> = call.results.iter().map(sized).collect();

    let mut views: Vec<Option<&mut Memory<'_>>> = memory.iter_mut().map(Some).collect();
    let mut given = Vec::with_capacity(results.len());
    for (array, core) in results.iter().zip(call.function.core().1) {
        let view = views[array.buffer.index()].take().expect("the verifier accepts distinct results only");
        let len = view.len();
        let row = array.count(array.shape.len() - core).saturating_mul(array.dtype.size());
        let place = rows.start.saturating_mul(row)..rows.end.saturating_mul(row);
        let bytes =
            view.bytes_mut().and_then(|bytes| bytes.get_mut(place)).ok_or_else(|| outside(array, len))?;
        given.push(ArrayMut { dtype: array.dtype, shape: &array.shape, bytes });
    }
    let mut taken = Vec::with_capacity(args.len());
    for array in &args {
        let view = views[array.buffer.index()].as_deref();
        let view = view.expect("the verifier accepts no buffer that is both argument and result");
        let bytes = view.bytes().get(..array.count(0).saturating_mul(array.dtype.size()));
        let bytes = bytes.ok_or_else(|| outside(array, view.len()))?;
        taken.push(tj_library::Array { dtype: array.dtype, shape: &array.shape, bytes });
    }
    tj_library::run(call.function, &taken, &mut given, rows).map_err(|cause| KernelFault::Function {
        kernel: kernel.name.clone(),
        function: call.function,
        cause,
    })
}

impl Sized {
    /// Number of elements along the axes from `axis` on.
    fn count(&self, axis: usize) -> usize {
        self.shape[axis..].iter().fold(1, |n, &extent| n.saturating_mul(extent))
    }
}
