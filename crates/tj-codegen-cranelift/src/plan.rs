//! How each lanes loop of a kernel runs, and where lane variables live; decided before any code is written.

use rustc_hash::FxHashMap;
use tj_kernel::lanes::{Lanes, Width};
use tj_kernel::{Kernel, Value, Var};

/// Instructions of a turn up to which loops are unrolled: about what hides the latency of a load.
const UNROLLED: usize = 64;
/// The same for loops with lane variables, where turns of less than all lanes cost loads and stores.
const UNROLLED_LANES: usize = 512;

/// Decisions about all lanes loops.
pub(crate) struct Plan {
    loops: FxHashMap<Value, (Lanes, usize)>,
    kept: Vec<Option<Width>>,
}

impl Plan {
    /// Looks at all lanes loops.
    pub(crate) fn new(kernel: &Kernel) -> Plan {
        let mut plan = Plan { loops: FxHashMap::default(), kept: vec![None; kernel.vars.len()] };
        let mut refused = vec![false; kernel.vars.len()];
        for lanes in tj_kernel::lanes::loops(kernel) {
            let chunks = match lanes.width {
                Ok(width) => {
                    let (chunks, whole) = choose_chunks(&lanes, width);
                    for &var in &lanes.lane_vars {
                        let dtype = kernel.var(var).dtype;
                        let other = plan.kept[var.index()].is_some_and(|w| dtype.is_bool() && w != width);
                        refused[var.index()] |= !whole || width.vectors(dtype).is_none() || other;
                        plan.kept[var.index()] = Some(width);
                    }
                    chunks
                }
                Err(_) => {
                    lanes.lane_vars.iter().for_each(|v| refused[v.index()] = true);
                    0
                }
            };
            plan.loops.insert(lanes.var, (lanes, chunks));
        }
        for (kept, refused) in plan.kept.iter_mut().zip(refused) {
            if refused {
                *kept = None;
            }
        }
        plan
    }

    /// What is known of the lanes loop over `var`.
    pub(crate) fn lanes(&self, var: Value) -> &Lanes {
        &self.loops[&var].0
    }

    /// How many chunks a turn of a vectorised loop has.
    pub(crate) fn chunks(&self, var: Value) -> usize {
        self.loops[&var].1
    }

    /// The width of a loop that uses a lane variable, if all of them keep it in vectors.
    pub(crate) fn kept(&self, var: Var) -> Option<Width> {
        self.kept[var.index()]
    }
}

/// How many chunks a turn has, and whether that covers the lane variables.
fn choose_chunks(lanes: &Lanes, width: Width) -> (usize, bool) {
    let fits = |chunks: usize| chunks * lanes.cost <= UNROLLED;
    if lanes.lane_vars.is_empty() {
        return ([4, 2].into_iter().find(|&c| fits(c)).unwrap_or(1), true);
    }
    let whole = lanes.lanes as usize / width.lanes();
    if whole.is_power_of_two() && whole * lanes.cost <= UNROLLED_LANES {
        return (whole, true);
    }
    let chunks = [4, 2].into_iter().find(|&c| fits(c) && whole.is_multiple_of(c)).unwrap_or(1);
    (chunks, chunks == whole)
}
