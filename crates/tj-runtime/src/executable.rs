//! A program with its memory: what runs, for whoever holds it.

use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_plan::Engine;
use tj_tensor::{Buffer, Scalar, Tensor};

use crate::arena::Pools;
use crate::call::Call;
use crate::error::Error;
use crate::interpret;
use crate::program::{Program, bytes};
use crate::report::Cost;
use crate::run::{CallMemory, run};

/// Bits of the run-time numbers of a call.
pub(crate) type Numbers = SmallVec<[u64; 8]>;

/// Bits as kernels take them.
pub(crate) fn number_bits(numbers: &[Scalar]) -> Numbers {
    numbers.iter().map(|n| n.bits() as u64).collect()
}

/// A compiled program, and memory that its calls use again.
#[derive(Debug)]
pub(crate) struct Executable {
    pub program: Program,
    pub pools: Pools,
}

impl Executable {
    pub fn new(program: Program) -> Executable {
        Executable { program, pools: Pools::default() }
    }

    /// Runs a call; `taken` is memory for some outputs, by position.
    pub fn finish(
        &self,
        call: &Call<'_>,
        numbers: &[Scalar],
        taken: SmallVec<[(usize, Buffer); 4]>,
    ) -> Result<(Vec<Tensor>, Cost), Error> {
        if let Engine::Compiled(_) = self.program.engine {
            return self.finish_then(call, numbers, taken, &mut |_| Ok(()));
        }
        let (outputs, work) = interpret::run(&self.program, &call.bound, numbers, &|i| call.input(i))?;
        Ok((outputs, Cost { work, ..call.cost(0) }))
    }

    /// The same, where `then` may move what is in the memory of the outputs before anybody sees it.
    pub fn finish_then(
        &self,
        call: &Call<'_>,
        numbers: &[Scalar],
        mut taken: SmallVec<[(usize, Buffer); 4]>,
        then: &mut dyn FnMut(&mut [Buffer]) -> Result<(), Error>,
    ) -> Result<(Vec<Tensor>, Cost), Error> {
        let plan = &self.program.fused.plan;
        let mut buffers: SmallVec<[Buffer; 4]> = SmallVec::new();
        let mut fresh = 0;
        for (position, (&source, shape)) in plan.produces.0.iter().zip(&call.bound.output_shapes).enumerate()
        {
            if let Some(at) = taken.iter().position(|(output, _)| *output == position) {
                buffers.push(taken.swap_remove(at).1);
                continue;
            }
            let bytes = bytes(shape, plan.dtype_of(source).size())?;
            let (buffer, allocated) = self.pools.output(bytes as usize)?;
            fresh += u64::from(allocated);
            buffers.push(buffer);
        }
        let views = buffers.iter_mut().map(Buffer::as_bytes_mut).collect();
        let mut cost = self.run(call, numbers, views)?;
        cost.allocations += fresh;
        then(&mut buffers)?;
        let mut outputs = Vec::with_capacity(buffers.len());
        for (position, buffer) in buffers.into_iter().enumerate() {
            let (dtype, shape) = self.program.output_type(&call.bound, position);
            let output = Tensor::from_buffer(dtype, shape, buffer)?;
            // Memory that came from the user is aligned for its elements alone, and may be given away again.
            if call.donated.iter().all(|&(_, taken)| taken != position) {
                self.pools.keep(&output);
            }
            outputs.push(output);
        }
        Ok((outputs, cost))
    }

    /// Runs the kernels; outputs that no kernel writes are copied.
    pub fn run(
        &self,
        call: &Call<'_>,
        numbers: &[Scalar],
        mut views: SmallVec<[&mut [u8]; 4]>,
    ) -> Result<Cost, Error> {
        let bound = &call.bound;
        let Engine::Compiled(_) = self.program.engine else {
            let (outputs, work) = interpret::run(&self.program, bound, numbers, &|i| call.input(i))?;
            for (view, output) in views.iter_mut().zip(&outputs) {
                view.copy_from_slice(output.as_bytes().unwrap_or(&[]));
            }
            return Ok(Cost { work, ..call.cost(0) });
        };
        let produces = &self.program.fused.plan.produces.0;
        let (mut arena, fresh) = self.pools.arena(bound.arena_bytes as usize, call.arena_room as usize)?;
        let first = |k: usize| produces.iter().position(|s| *s == produces[k]).unwrap_or(k);
        let outputs = views.iter_mut().enumerate().map(|(k, view)| {
            let written = matches!(produces[k], Source::Def(_)) && first(k) == k;
            written.then_some(&mut **view)
        });
        let numbers = number_bits(numbers);
        let memory = CallMemory {
            inputs: call.addresses(),
            donated: &call.donated,
            outputs: outputs.collect(),
            arena: arena.as_bytes_mut(),
            numbers: &numbers,
            clock: call.clock.as_ref(),
        };
        let ran = run(&self.program, bound, memory);
        self.pools.give_back(arena);
        ran?;
        for k in 0..views.len() {
            match produces[k] {
                Source::Input(i) => {
                    views[k].copy_from_slice(call.input(i as usize).as_bytes().unwrap_or(&[]));
                }
                Source::Def(_) if first(k) < k => {
                    let (before, after) = views.split_at_mut(k);
                    after[0].copy_from_slice(before[first(k)]);
                }
                Source::Def(_) => {}
            }
        }
        Ok(call.cost(u64::from(fresh)))
    }
}
