//! Functions of whole tensors, by the library, on all rows.

use rustc_hash::FxHashMap;
use tj_ir::Symbol;
use tj_ir::expr::Source;
use tj_library::{Array, ArrayMut};
use tj_tensor::{Buffer, Tensor};

use super::{InterpretError, Values, concrete, read_all, tensor_of};
use crate::plan::{Plan, QueryId, RootCall};

/// The result of the call at the root of a query.
pub(super) fn compute(
    plan: &Plan,
    id: QueryId,
    call: &RootCall,
    sources: &FxHashMap<Source, Values>,
    value: &dyn Fn(&Symbol) -> Option<i64>,
) -> Result<Values, InterpretError> {
    let query = plan.query(id);
    let mut given: Vec<Tensor> = Vec::new();
    for source in &call.args {
        let values = &sources[source];
        given.push(tensor_of(plan.dtype_of(*source), &values.shape, &values.items)?);
    }
    let dtypes: Vec<_> = given.iter().map(Tensor::dtype).collect();
    let dtypes = call.function.dtypes(&dtypes).expect("the verifier knows the types of calls");
    let sizes: Vec<_> = call.args.iter().map(|&source| plan.shape_of(source).as_slice()).collect();
    let rows = call.function.rows(&sizes).expect("the verifier knows the ranks of calls");
    let mut shapes: Vec<Vec<usize>> = Vec::new();
    let mut buffers: Vec<Buffer> = Vec::new();
    for (output, dtype) in dtypes.iter().enumerate() {
        let shape = match call.function.shape(&sizes, output) {
            Some(shape) if output != call.output => concrete(&shape, value)?,
            Some(_) | None => concrete(&query.shape, value)?,
        };
        buffers.push(Buffer::zeroed(shape.iter().product::<usize>() * dtype.size())?);
        shapes.push(shape);
    }
    if shapes[call.output].contains(&0) {
        // As everywhere, what nobody sees is not computed.
        return Ok(Values { shape: shapes.swap_remove(call.output), items: Vec::new() });
    }
    let args: Vec<Array<'_>> = given.iter().map(whole).collect();
    let results = buffers.iter_mut().zip(&shapes).zip(&dtypes);
    let mut results: Vec<ArrayMut<'_>> = results
        .map(|((buffer, shape), &dtype)| ArrayMut { dtype, shape, bytes: buffer.as_bytes_mut() })
        .collect();
    let n_rows = shapes[call.output][..rows].iter().product();
    tj_library::run(call.function, &args, &mut results, 0..n_rows).map_err(|cause| {
        InterpretError::Function { function: call.function, cause, location: query.location }
    })?;
    drop(results);
    let result = buffers.swap_remove(call.output);
    Ok(read_all(&Tensor::from_buffer(query.dtype, &shapes[call.output], result)?)?)
}

fn whole(tensor: &Tensor) -> Array<'_> {
    let bytes = tensor.as_bytes().expect("a tensor that was just made is contiguous");
    Array { dtype: tensor.dtype(), shape: tensor.shape(), bytes }
}
