//! `tj plan-memory`.

use std::time::Duration;

use serde_json::json;
use tensorjit::memory::{self, parse_csv, to_csv};

use super::{Failure, print, read_text};
use crate::args::{Effort, PlanMemoryArgs};
use crate::exit::Exit;
use crate::progress::Progress;

/// How long `--effort max` may search.
const MAX_SEARCH: Duration = Duration::from_secs(60);

pub(super) fn plan_memory(args: &PlanMemoryArgs) -> Result<(), Failure> {
    let name = args.file.display().to_string();
    let wrong = |e: &dyn std::fmt::Display| Failure::wrong(format!("{name}: {e}"));
    let text = read_text(&args.file)?;
    let mut problem = parse_csv(&text).map_err(|e| wrong(&e))?;
    let effort = match args.effort {
        Effort::Bind => memory::Effort::Bind,
        Effort::Compile => memory::Effort::Compile,
        Effort::Max => memory::Effort::Max(MAX_SEARCH),
    };
    let progress = Progress::new(None);
    progress.say("packing");
    let plan = memory::pack(&problem.intervals, effort).map_err(|e| wrong(&e))?;
    drop(progress);
    memory::verify(&problem.intervals, &plan).map_err(|violations| Failure {
        exit: Exit::Bug,
        message: format!("error: the plan is wrong: {violations:?}\n"),
    })?;
    if args.json {
        print(&format!(
            "{:#}\n",
            json!({ "peak": plan.peak, "bound": plan.bound, "offsets": plan.offsets })
        ))?;
    } else {
        problem.offsets = Some(plan.offsets.clone());
        print(&format!("{}# peak {}, bound {}\n", to_csv(&problem), plan.peak, plan.bound))?;
    }
    match args.capacity.filter(|&capacity| plan.peak > capacity) {
        None => Ok(()),
        Some(capacity) => Err(Failure {
            exit: Exit::Budget,
            message: format!("error: the peak is {} bytes, above the capacity of {capacity}\n", plan.peak),
        }),
    }
}
