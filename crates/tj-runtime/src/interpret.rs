//! The interpreting engines: the plan itself, or its kernels, without machine code.

use rustc_hash::FxHashMap;
use tj_ir::Symbol;
use tj_ir::expr::Source;
use tj_kernel::{Access, Binding, KernelFault, Memory};
use tj_plan::{Engine, Plan, QueryId};
use tj_tensor::{Buffer, Scalar, Tensor};

use crate::error::Error;
use crate::program::{Bound, Program, internal};

/// Computes all outputs by interpretation, and counts the work of kernels.
pub(crate) fn run<'t>(
    program: &Program,
    bound: &Bound,
    numbers: &[Scalar],
    input: &dyn Fn(usize) -> &'t Tensor,
) -> Result<(Vec<Tensor>, Option<u64>), Error> {
    match program.engine {
        Engine::InterpretPlan => {
            let value = |symbol: &Symbol| program.binder.value(symbol, &bound.values);
            let plan = Plan { numbers: numbers.to_vec(), ..program.fused.plan.clone() };
            let reals = |i| {
                let tensor: &Tensor = input(i);
                let tensor = if tensor.stored().is_some() { tensor.to_dense()? } else { tensor.clone() };
                tensor.as_reals()
            };
            let inputs = (0..plan.inputs.len()).map(reals).collect::<Result<Vec<Tensor>, _>>()?;
            let mut outputs = tj_plan::interpret(&plan, &inputs, &value)?;
            for (output, &complex) in outputs.iter_mut().zip(&program.complex.outputs) {
                if complex {
                    *output = output.as_complex()?;
                }
            }
            Ok((outputs, None))
        }
        Engine::InterpretKernel | Engine::Compiled(_) => {
            let (outputs, work) = run_kernels(program, bound, numbers, input)?;
            Ok((outputs, Some(work)))
        }
    }
}

fn run_kernels<'t>(
    program: &Program,
    bound: &Bound,
    all: &[Scalar],
    input: &dyn Fn(usize) -> &'t Tensor,
) -> Result<(Vec<Tensor>, u64), Error> {
    let plan = &program.fused.plan;
    let value = |symbol: &Symbol| program.binder.value(symbol, &bound.values);
    let mut queries: Vec<Buffer> = Vec::with_capacity(plan.queries.len());
    for id in plan.query_ids() {
        let query = plan.query(id);
        let mut bytes = query.dtype.size() as u64;
        for dim in &query.shape {
            bytes = bytes.saturating_mul(u64::try_from(dim.eval(&value)?).unwrap_or(0));
        }
        queries.push(Buffer::zeroed(usize::try_from(bytes).unwrap_or(usize::MAX))?);
    }
    let mut blocks: FxHashMap<QueryId, Buffer> = FxHashMap::default();
    let mut work = 0;
    for (lowered, kernel) in program.kernels.iter().zip(&bound.kernels) {
        let mut scratch: Vec<Buffer> = Vec::new();
        for (binding, buffer) in lowered.bindings.iter().zip(&lowered.kernel.buffers) {
            let zeroed = || -> Result<Buffer, Error> {
                let elements = usize::try_from(buffer.len.eval(&value)?).unwrap_or(0);
                Ok(Buffer::zeroed(elements * buffer.dtype.size())?)
            };
            match *binding {
                Binding::Scratch => scratch.push(zeroed()?),
                Binding::Blocks(q) if !blocks.contains_key(&q) => {
                    blocks.insert(q, zeroed()?);
                }
                Binding::Blocks(_) | Binding::Input(_) | Binding::Query(_) => {}
            }
        }
        for (binding, buffer) in lowered.bindings.iter().zip(&lowered.kernel.buffers) {
            if let (Binding::Query(read), Access::InPlace(written)) = (binding, buffer.access)
                && let Binding::Query(query) = lowered.bindings[written.index()]
            {
                // A temporary takes over the bytes of the one that it is computed in place of.
                queries.swap(read.index(), query.index());
            }
        }
        let numbers: Vec<Scalar> = lowered.numbers.iter().map(|&n| all[n as usize]).collect();
        // Each query is one buffer of the kernel at most, so that all views can be taken at once.
        let mut views: Vec<Option<&mut Buffer>> = queries.iter_mut().map(Some).collect();
        let mut block_views: FxHashMap<QueryId, &mut Buffer> =
            blocks.iter_mut().map(|(&q, buffer)| (q, buffer)).collect();
        let mut scratch = scratch.iter_mut();
        let mut memory: Vec<Memory<'_>> = Vec::with_capacity(lowered.bindings.len());
        for (binding, buffer) in lowered.bindings.iter().zip(&lowered.kernel.buffers) {
            if let (Binding::Query(_), Access::InPlace(written)) = (binding, buffer.access) {
                memory.push(Memory::in_place(buffer.dtype, written));
                continue;
            }
            memory.push(match binding {
                Binding::Input(i) => {
                    let bytes = input(*i as usize).as_bytes();
                    Memory::read(
                        buffer.dtype,
                        bytes.ok_or_else(|| internal("interpret", &"a strided input"))?,
                    )
                }
                Binding::Query(q) => {
                    let view =
                        views[q.index()].take().ok_or_else(|| internal("interpret", &"a buffer twice"))?;
                    Memory::write(buffer.dtype, view.as_bytes_mut())
                }
                Binding::Blocks(q) => {
                    let view = block_views.remove(q);
                    let view = view.ok_or_else(|| internal("interpret", &"results of blocks twice"))?;
                    Memory::write(buffer.dtype, view.as_bytes_mut())
                }
                Binding::Scratch => {
                    let view = scratch.next().ok_or_else(|| internal("interpret", &"no scratch left"))?;
                    Memory::write(buffer.dtype, view.as_bytes_mut())
                }
            });
        }
        if kernel.extent > 0 {
            let tasks = 0..kernel.extent;
            let counts = tj_kernel::interpret(&lowered.kernel, &mut memory, &kernel.sizes, &numbers, tasks)
                .map_err(|fault| match (fault, program.location(lowered)) {
                (KernelFault::Function { function, cause, .. }, Some(location)) => {
                    Error::function(function, &cause, location)
                }
                (fault, _) => internal("interpret", &fault),
            })?;
            work += counts.iterations + counts.multiply_adds;
        }
    }
    let mut outputs = Vec::with_capacity(plan.produces.0.len());
    for (position, source) in plan.produces.0.iter().enumerate() {
        let bytes = match source {
            Source::Input(i) => Buffer::copy_of(input(*i as usize).as_bytes().unwrap_or(&[]))?,
            Source::Def(q) => Buffer::copy_of(queries[*q as usize].as_bytes())?,
        };
        let (dtype, shape) = program.output_type(bound, position);
        outputs.push(Tensor::from_buffer(dtype, shape, bytes)?);
    }
    Ok((outputs, work))
}
