//! One call: arguments matched to the inputs of a program, sizes bound, memory held against the budget.
//!
//! Everything that can fail for reasons of the user fails here, before anything is written. What small programs cost
//! is mostly what happens here, so that nothing is copied or written down which the call does not need.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tj_ir::InputDecl;
use tj_plan::Engine;
use tj_tensor::Tensor;

use crate::arena::with_room;
use crate::bind::{Binder, input_name};
use crate::budget;
use crate::clock::KernelClock;
use crate::error::Error;
use crate::options::MaxBytes;
use crate::program::{Bound, Program, bytes};
use crate::report::Cost;

/// A call whose arguments fit.
pub(crate) struct Call<'t> {
    pub bound: Arc<Bound>,
    /// In the order of the program.
    inputs: SmallVec<[&'t Tensor; 8]>,
    /// Row-major copies of those inputs that are not, by position.
    copies: Vec<(usize, Tensor)>,
    copied_bytes: u64,
    /// Inputs whose memory an output takes over, with that output.
    pub donated: SmallVec<[(usize, usize); 4]>,
    donated_bytes: u64,
    /// How large a new arena is to be: as large as it has to be, and a little larger if the budget allows that.
    pub arena_room: u64,
    /// For a call that shall say how long its kernels take.
    pub clock: Option<KernelClock>,
}

/// Whether the arguments of a call are needed after it.
#[derive(Clone, Copy)]
pub(crate) enum Arguments<'a> {
    /// They stay with the caller.
    Kept,
    /// The call may write to those of these, by position, that nobody else holds.
    Given(&'a dyn Fn(usize) -> bool),
}

impl<'t> Call<'t> {
    /// Matches arguments to inputs. `named` gives the position of each input that has a name.
    pub fn prepare(
        program: &'t Program,
        named: &[(String, usize)],
        max_bytes: MaxBytes,
        given: &[(&str, &'t Tensor)],
        bindings: &[(&str, i64)],
        arguments: Arguments<'_>,
    ) -> Result<Call<'t>, Error> {
        let inputs = order(&program.fused.plan.inputs, &program.binder, named, given)?;
        let values = program.binder.bind(&inputs, bindings)?;
        Call::bound(program, inputs, program.bind(values, bindings)?, max_bytes, arguments)
    }

    /// A call whose sizes are known. `inputs` are in the order of the program and have these sizes.
    pub fn bound(
        program: &Program,
        inputs: SmallVec<[&'t Tensor; 8]>,
        bound: Arc<Bound>,
        max_bytes: MaxBytes,
        arguments: Arguments<'_>,
    ) -> Result<Call<'t>, Error> {
        let strided: SmallVec<[usize; 8]> =
            (0..inputs.len()).filter(|&i| !inputs[i].is_contiguous()).collect();
        let mut copied_bytes = 0_u64;
        for &i in &strided {
            copied_bytes += bytes(inputs[i].shape(), inputs[i].dtype().size())?;
        }
        let mut donated: SmallVec<[(usize, usize); 4]> = SmallVec::new();
        let mut donated_bytes = 0;
        if let Arguments::Given(may) = arguments
            && matches!(program.engine, Engine::Compiled(_))
        {
            for &(input, output) in &program.donations {
                let taken = donated.iter().any(|&(i, k)| i == input || k == output);
                if !taken && may(input) && inputs[input].owns_buffer() {
                    donated.push((input, output));
                    donated_bytes += bytes(inputs[input].shape(), inputs[input].dtype().size())?;
                }
            }
        }
        let held = bound.input_bytes.saturating_add(bound.output_bytes).saturating_add(bound.arena_bytes);
        let needed = (held - donated_bytes).saturating_add(copied_bytes);
        let room = with_room(bound.arena_bytes);
        let arena_room = match budget::check(max_bytes, needed.saturating_add(room - bound.arena_bytes)) {
            Ok(()) => room,
            Err(_) => {
                budget::check(max_bytes, needed)?;
                bound.arena_bytes
            }
        };
        let mut copies = Vec::new();
        for i in strided {
            copies.push((i, inputs[i].to_contiguous()?));
        }
        Ok(Call { bound, inputs, copies, copied_bytes, donated, donated_bytes, arena_room, clock: None })
    }

    /// The same call with other references to its inputs, which are in the order of the program.
    pub fn with_inputs<'u>(self, inputs: SmallVec<[&'u Tensor; 8]>) -> Call<'u> {
        let Call { bound, inputs: _, copies, copied_bytes, donated, donated_bytes, arena_room, clock } = self;
        Call { bound, inputs, copies, copied_bytes, donated, donated_bytes, arena_room, clock }
    }

    /// The same call with a clock.
    pub fn timed(self, program: &Program) -> Call<'t> {
        Call { clock: Some(KernelClock::new(program)), ..self }
    }

    /// An input, row-major.
    pub fn input(&self, position: usize) -> &Tensor {
        let copy = self.copies.iter().find(|(at, _)| *at == position);
        copy.map_or(self.inputs[position], |(_, copy)| copy)
    }

    /// Where the data of the inputs are, row-major.
    pub fn addresses(&self) -> SmallVec<[*const u8; 8]> {
        let mut addresses: SmallVec<[*const u8; 8]> = self.inputs.iter().map(|t| t.data_ptr()).collect();
        for (at, copy) in &self.copies {
            addresses[*at] = copy.data_ptr();
        }
        addresses
    }

    /// Name and time of each kernel, once the call has run, if it has a clock.
    pub fn kernel_times(&self, program: &Program) -> Vec<(String, Duration)> {
        self.clock.as_ref().map_or_else(Vec::new, |clock| clock.times(program))
    }

    /// What the call costs, with what it had to allocate.
    pub fn cost(&self, allocations: u64) -> Cost {
        Cost {
            bound: self.bound.clone(),
            allocations,
            copied_inputs: self.copies.len() as u64,
            copied_bytes: self.copied_bytes,
            donated_inputs: self.donated.len() as u64,
            donated_bytes: self.donated_bytes,
            work: None,
        }
    }
}

/// Arguments in the order of the program's inputs.
pub(crate) fn order<'t>(
    inputs: &'t [InputDecl],
    binder: &Binder,
    named: &[(String, usize)],
    given: &[(&str, &'t Tensor)],
) -> Result<SmallVec<[&'t Tensor; 8]>, Error> {
    let mut found: SmallVec<[Option<&Tensor>; 8]> = inputs.iter().map(|decl| decl.data.as_ref()).collect();
    for &(name, tensor) in given {
        let Some((_, at)) = named.iter().find(|(known, _)| known == name) else {
            let known = named.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_string() } else { known };
            return Err(Error::UnknownInput { name: name.to_string(), known });
        };
        if found[*at].replace(tensor).is_some() {
            return Err(Error::RepeatedInput { name: name.to_string() });
        }
    }
    let each = found.into_iter().zip(inputs).enumerate();
    each.map(|(position, (tensor, decl))| {
        tensor.ok_or_else(|| Error::MissingInput {
            name: input_name(decl, position),
            declared: binder.declared(position).to_string(),
        })
    })
    .collect()
}
