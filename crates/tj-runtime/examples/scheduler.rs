//! A scheduler written outside of the library, against `tj-runtime` alone: it looks at a plan and decides which queries
//! are written into their readers. A bad decision can be slow, never wrong, since every one is proved again.
//!
//! ```sh
//! cargo run -p tj-runtime --example scheduler
//! ```

#![allow(clippy::print_stdout)]

use tj_runtime::{
    Error, GroupDecision, Grouping, Plan, Reason, Scheduler, Sizes, Source, Tensor, compute_reported, defer,
    with_scheduler,
};

/// Writes a query into its readers if there are few, and gives every other one a kernel of its own.
#[derive(Clone, Copy, Debug)]
struct FewReaders {
    /// So many are few.
    limit: usize,
}

impl Scheduler for FewReaders {
    fn name(&self) -> &str {
        "few-readers"
    }

    /// Programs are cached by name and options: other options, other programs.
    fn options_key(&self) -> u64 {
        self.limit as u64
    }

    fn group(&self, plan: &Plan, _: &Sizes) -> Grouping {
        let mut readers = vec![0; plan.queries.len()];
        for (_, source) in plan.query_ids().flat_map(|id| plan.reads(id)) {
            if let Source::Def(query) = source {
                readers[query as usize] += 1;
            }
        }
        let produced = plan.produced();
        let mut grouping = Grouping::default();
        for id in plan.query_ids() {
            let few = readers[id.index()] <= self.limit;
            let inline = few && plan.root_reduce(id).is_none() && !produced[id.index()];
            grouping.inline.push(inline);
            if !inline {
                let outer = plan.query(id).shape.len();
                grouping.groups.push(GroupDecision { queries: vec![id], outer });
            }
            let rule = if inline { "few readers" } else { "a kernel of its own" };
            let detail = format!("{} readers", readers[id.index()]);
            grouping.reasons.push(Reason { query: id, rule, detail });
        }
        grouping
    }
}

fn main() -> Result<(), Error> {
    let a = Tensor::from_shape_vec([4], vec![0.0, 1.0, 2.0, 3.0])?;
    let program = || {
        let x = defer(&a).exp();
        &x / (&x + 1.0)
    };
    for limit in [0, 1, 2] {
        let run = || compute_reported(program());
        let (result, report) = with_scheduler(FewReaders { limit }, run)?;
        println!("at most {limit}: {} kernels, {:?}", report.kernels, result.to_vec::<f64>()?);
    }
    Ok(())
}
