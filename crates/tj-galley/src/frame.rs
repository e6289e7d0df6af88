//! Which coordinates of a dimension stand for all of them.
//!
//! **Problem.** Sums of products of degrees decide what steps cost, and dimensions may have millions of coordinates.
//!
//! **Idea.** Up to a thousand are all looked at. Of more, those that are in the sample of one of the tensors that have such a
//! dimension, each weighted by how improbable it was to be drawn: so estimates of sums are right in the mean, and hubs count
//! exactly. All tensors of a plan with a dimension of that size share the frame, so that their counts can be multiplied.
//!
//! **Cost.** Some hundred coordinates a tensor, looked up once a plan.

use std::sync::Arc;

use smallvec::SmallVec;
use tj_tensor::DegreeSummary;

/// Dimensions of at most so many coordinates are looked at as a whole.
const WHOLE: usize = 1024;

/// The coordinates that are looked at in longer ones, about.
const SAMPLED: f64 = 256.0;

/// Coordinates that are drawn for all tensors together, about.
const MOST: f64 = 2048.0;

/// Some coordinates of a dimension.
#[derive(Debug, PartialEq)]
pub struct Frame {
    /// Which, ascending; none if all.
    at: Option<Box<[u32]>>,
    /// For how many coordinates each stands; empty if each stands for itself.
    weights: Box<[f32]>,
}

/// Counts of the coordinates of a frame.
#[derive(Clone, Debug)]
pub struct Counts {
    /// For each coordinate of the frame.
    pub each: Arc<[f32]>,
    /// How many coordinates of the dimension have some.
    pub present: f64,
    /// Which coordinates these are.
    pub frame: Arc<Frame>,
}

/// What was counted along a dimension of a tensor.
pub type Counted = (Arc<[u32]>, Arc<DegreeSummary>);

impl Frame {
    /// That of all tensors which have a dimension of this size, whose counts are `all`.
    pub fn of(size: usize, all: &[Counted]) -> Frame {
        if size <= WHOLE {
            return Frame { at: None, weights: Box::default() };
        }
        let rate = SAMPLED.min(MOST / all.len().max(1) as f64);
        let mut drawn: Vec<u32> =
            all.iter().flat_map(|(_, summary)| summary.sample.iter().copied()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        let chance = |at: u32| {
            let of = |(counts, summary): &Counted| {
                f64::from(counts.get(at as usize).copied().unwrap_or(0)) / summary.total.max(1.0)
            };
            (rate * all.iter().map(of).fold(0.0, f64::max)).min(1.0)
        };
        let kept = drawn.into_iter().map(|at| (at, chance(at)));
        let kept: Vec<(u32, f64)> = kept.filter(|&(at, chance)| DegreeSummary::draw(at) < chance).collect();
        Frame {
            at: Some(kept.iter().map(|&(at, _)| at).collect()),
            weights: kept.iter().map(|&(_, chance)| (1.0 / chance) as f32).collect(),
        }
    }

    /// The counts of its coordinates, scaled so that they stand for as many values as there are.
    pub fn counts(self: &Arc<Frame>, (counts, summary): &Counted) -> Counts {
        let each: SmallVec<[f32; 32]> = match &self.at {
            None => counts.iter().map(|&count| count as f32).collect(),
            Some(at) => at.iter().map(|&at| counts.get(at as usize).copied().unwrap_or(0) as f32).collect(),
        };
        let found = self.sum(&each);
        let scale = if self.at.is_some() && found > 0.0 { (summary.total / found) as f32 } else { 1.0 };
        Counts {
            each: each.into_iter().map(|count| count * scale).collect(),
            present: summary.present as f64,
            frame: Arc::clone(self),
        }
    }

    /// The sum over all coordinates of the dimension of what is known of those of the frame.
    pub fn sum(&self, values: &[f32]) -> f64 {
        match self.weights.as_ref() {
            [] => in_lanes(values, |at| values[at]),
            weights => in_lanes(values, |at| values[at] * weights[at]),
        }
    }
}

/// A sum in lanes, since floats are not reordered otherwise.
fn in_lanes(values: &[f32], of: impl Fn(usize) -> f32) -> f64 {
    let mut lanes = [0.0_f64; 8];
    let whole = values.len() / 8 * 8;
    for start in (0..whole).step_by(8) {
        for (at, lane) in lanes.iter_mut().enumerate() {
            *lane += f64::from(of(start + at));
        }
    }
    (whole..values.len()).for_each(|at| lanes[0] += f64::from(of(at)));
    lanes.iter().sum()
}

/// `1 - exp(-x)` to within a hundredth, and exactly in the limits.
pub fn share(x: f32) -> f32 {
    let above = x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0))));
    above / (1.0 + above)
}
