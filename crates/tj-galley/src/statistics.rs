//! What is known of the arguments of a plan.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_plan::sparse::StoredInput;
use tj_plan::sparse::steps::spreads;
use tj_plan::{Plan, Sizes};
use tj_tensor::Tensor;

use crate::frame::{Counted, Frame};
use crate::sample::Samples;
use crate::support::{Degrees, Sums};

/// Statistics of the arguments of a plan, for all its queries.
pub struct Statistics<'p> {
    /// Of each argument that is stored by levels.
    arguments: Vec<Option<Argument>>,
    /// Sums that steps have in common.
    pub sums: Sums,
    /// What is looked at where statistics do not say enough.
    pub samples: Samples<'p>,
}

/// An argument that is stored by levels.
#[derive(Clone, Debug)]
pub struct Argument {
    /// How many entries it has.
    pub count: f64,
    /// How many each coordinate of each dimension has.
    pub degrees: SmallVec<[Degrees; 4]>,
    /// How long each dimension is.
    pub shape: SmallVec<[f64; 4]>,
    /// Its dimensions in the order of its levels.
    pub order: SmallVec<[usize; 4]>,
    /// Whether kernels read it as a dense one: no loop is led by its list.
    pub is_spread: bool,
}

/// What orders of loops follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// The sizes and counts of the data.
    Measured,
    /// Guesses that are the same for all data.
    Guessed,
}

impl<'p> Statistics<'p> {
    /// Reads those of the arguments that are stored by levels, as `inputs` says.
    pub fn new(plan: &'p Plan, inputs: &[Option<StoredInput>], loops: Loops) -> Statistics<'p> {
        let all: SmallVec<[(usize, &StoredInput, &Tensor); 8]> = inputs
            .iter()
            .zip(&plan.inputs)
            .enumerate()
            .filter_map(|(at, (stored, input))| Some((at, stored.as_ref()?, input.data.as_ref()?)))
            .collect();
        // What the frame of each size is made of.
        let mut counted: FxHashMap<usize, Vec<Counted>> = FxHashMap::default();
        for (_, _, data) in &all {
            for axis in 0..data.rank() {
                let Some(own) = counted_of(data, axis) else { continue };
                let others = counted.entry(data.shape()[axis]).or_default();
                if !others.iter().any(|other| Arc::ptr_eq(&other.0, &own.0)) {
                    others.push(own);
                }
            }
        }
        let frames: FxHashMap<usize, Arc<Frame>> =
            counted.into_iter().map(|(size, all)| (size, Arc::new(Frame::of(size, &all)))).collect();
        let mut arguments = vec![None; inputs.len()];
        let are_spread = match loops {
            Loops::Measured => spreads(plan, inputs),
            Loops::Guessed => vec![false; inputs.len()],
        };
        for (at, stored, data) in all {
            let count = data.stored_count() as f64;
            let degrees = |axis: usize| {
                let size = data.shape()[axis];
                match counted_of(data, axis) {
                    Some(own) => Degrees::Counted(frames[&size].counts(&own)),
                    None => Degrees::Even((size as f64).min(count)),
                }
            };
            arguments[at] = Some(Argument {
                count,
                degrees: (0..data.rank()).map(degrees).collect(),
                shape: plan.inputs[at].shape.iter().map(|dim| Sizes.guess(dim).max(1.0)).collect(),
                order: stored.order().into_iter().collect(),
                is_spread: are_spread[at],
            });
        }
        Statistics { arguments, sums: Sums::default(), samples: Samples::new(plan) }
    }

    /// Those of an argument, if it is stored by levels and here.
    pub fn argument(&self, input: u32) -> Option<&Argument> {
        self.arguments.get(input as usize)?.as_ref()
    }
}

fn counted_of(data: &Tensor, axis: usize) -> Option<Counted> {
    Some((data.degrees(axis)?, data.degree_summary(axis)?))
}
